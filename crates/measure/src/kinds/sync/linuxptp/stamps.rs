//! The raw time stamps of one ptp4l: exchanges, and the hard bound that follows from them.

use std::path::Path;

use ::sync::bound::{ClockReading, OffsetBound, OffsetBounds};
use ::sync::exchange::{Exchange, Pairing, Received, Sent};
use ::sync::growth::Steering;
use codecs::linuxptp::{DelayRecord, PortIdentity, SyncRecord, Timestamp};
use kernel::phc::HardwareClock;
use record::Moment;
use units::ClockName;

use crate::clocks::{self, Now};

/// A half of an exchange as it came in.
#[derive(Clone, Copy, Debug)]
enum Half {
    Received(Received),
    Sent(Sent),
}

/// What the stamps until a moment show.
#[derive(Clone, Debug, Default)]
pub(super) struct Concluded {
    /// The moment of all of this.
    pub(super) at: Moment,
    /// Exchanges that were completed since the last time.
    pub(super) exchanges: Vec<Exchange>,
    /// The bound now.
    pub(super) bound: Option<OffsetBound>,
    /// By how much the clock was set since (ns).
    pub(super) step_ns: Option<i64>,
    /// The clock of the stamps could be read before, and cannot any more: from then on nothing bounds its offset.
    pub(super) is_blind: bool,
    /// Another port than before answers.
    pub(super) other_parent: Option<PortIdentity>,
    /// How the clock is steered now; `None` if that is not known.
    pub(super) steering: Option<Steering>,
    /// The correction of the clock's rate against the uncorrected one (parts per billion).
    pub(super) frequency_ppb: Option<f64>,
}

impl Concluded {
    fn at(at: Moment) -> Self {
        Self { at, ..Self::default() }
    }
}

/// Follows the stamps of one ptp4l through a run.
pub(super) struct Stamps {
    max_drift_ppb: u32,
    bounds: OffsetBounds,
    pairing: Pairing,
    waiting: Vec<Half>,
    parent: Option<PortIdentity>,
    other_parent: Option<PortIdentity>,
    hardware: Option<HardwareClock>,
    is_hardware: bool,
    /// By how many seconds the master's time scale is ahead of the clock's.
    scale_s: i64,
    last: Option<ClockReading>,
}

impl Stamps {
    pub(super) const fn new(max_drift_ppb: u32) -> Self {
        Self {
            max_drift_ppb,
            bounds: OffsetBounds::new(max_drift_ppb),
            pairing: Pairing::new(),
            waiting: Vec::new(),
            parent: None,
            other_parent: None,
            hardware: None,
            is_hardware: false,
            scale_s: 0,
            last: None,
        }
    }

    pub(super) const fn max_drift_ppb(&self) -> u32 {
        self.max_drift_ppb
    }

    /// Whether the stamps on this side are of the system clock.
    pub(super) const fn is_of_system_clock(&self) -> bool {
        !self.is_hardware
    }

    /// Which clock the stamps on this side are of.
    pub(super) fn follow(&mut self, clock: &ClockName) {
        if let ClockName::Phc(name) = clock {
            self.is_hardware = true;
            self.hardware = HardwareClock::open(&Path::new("/dev").join(name)).ok();
        }
    }

    /// By how many seconds the master's time scale is ahead of the clock's: TAI of UTC.
    pub(super) fn set_scale(&mut self, scale_s: i64) {
        if std::mem::replace(&mut self.scale_s, scale_s) != scale_s {
            self.forget();
        }
    }

    /// Forgets everything that rests on the reference that was followed.
    pub(super) fn forget(&mut self) {
        self.bounds.forget();
        self.pairing.forget();
        self.waiting.clear();
    }

    /// A Sync message.
    pub(super) fn received(&mut self, from: PortIdentity, record: &SyncRecord) {
        self.check_parent(from);
        let Some((t1_ns, t2_ns)) = self.reference_ns(record.t1).zip(ns(record.t2)) else { return };
        self.waiting.push(Half::Received(Received { t1_ns, t2_ns, held_ns: record.correction.floor_ns() }));
    }

    /// An answered Delay_Req message.
    pub(super) fn sent(&mut self, from: PortIdentity, record: &DelayRecord) {
        self.check_parent(from);
        let Some((t3_ns, t4_ns)) = ns(record.t3).zip(self.reference_ns(record.t4)) else { return };
        self.waiting.push(Half::Sent(Sent { t3_ns, t4_ns, held_ns: record.correction.floor_ns() }));
    }

    fn check_parent(&mut self, from: PortIdentity) {
        if self.parent.replace(from).is_some_and(|before| before != from) {
            self.forget();
            self.other_parent = Some(from);
        }
    }

    /// A stamp of the reference on the time scale of this clock.
    fn reference_ns(&self, stamp: Timestamp) -> Option<i64> {
        ns(stamp)?.checked_sub(self.scale_s.checked_mul(1_000_000_000)?)
    }

    /// The clock of the stamps against the uncorrected one, and when.
    fn reading(&mut self, now: &Now) -> Option<(Moment, ClockReading)> {
        if !self.is_hardware {
            return Some((now.moment, now.realtime));
        }
        let hardware = self.hardware.as_mut()?;
        // `now` may be of when a message came in, some time ago, and the clock has moved since.
        let fresh = clocks::now();
        let compared = hardware.compare().ok()?;
        let then = fresh.when(compared.middle_ns());
        Some((then.moment, then.other(compared.offset_ns(), compared.width_ns())))
    }

    /// Takes what came in since the last time, and says what it shows.
    pub(super) fn conclude(&mut self, now: &Now) -> Concluded {
        let mut concluded = Concluded { other_parent: self.other_parent.take(), ..Concluded::at(now.moment) };
        let Some((at, reading)) = self.reading(now) else {
            self.waiting.clear();
            concluded.is_blind = self.last.is_some();
            return concluded;
        };
        if self.last.is_some_and(|last| last.raw_ns >= reading.raw_ns) {
            return concluded;
        }
        self.last = Some(reading);
        concluded.at = at;
        self.bounds.state_correction(self.hardware.as_ref().and_then(HardwareClock::correction_ppb));
        concluded.step_ns = self.bounds.compare(reading);
        if concluded.step_ns.is_some() {
            self.pairing.forget();
            // Their stamps may be of the time before.
            self.waiting.clear();
            return concluded;
        }
        for half in std::mem::take(&mut self.waiting) {
            match half {
                Half::Received(message) => {
                    self.bounds.received(message.t1_ns, message.t2_ns);
                    self.pairing.received(message);
                }
                Half::Sent(message) => {
                    self.bounds.sent(message.t3_ns, message.t4_ns);
                    concluded.exchanges.extend(self.pairing.sent(message));
                }
            }
        }
        concluded.frequency_ppb = self.bounds.correction_ppb();
        // Most kernels show the rate of a hardware clock only to who may change it (kernel/time/posix-clock.c).
        let rate_ppb = (!self.is_hardware).then(kernel::discipline::rate_ppb).and_then(Result::ok);
        concluded.steering = rate_ppb.map(|frequency_ppb| Steering {
            less_uncorrected_ns: reading.clock_ns.saturating_sub(reading.raw_ns),
            frequency_ppb,
        });
        concluded.bound = self.bounds.now();
        concluded
    }
}

fn ns(stamp: Timestamp) -> Option<i64> {
    i64::try_from(stamp.as_ns()).ok()
}

/// The hardware clock of an interface: `ptp0`.
pub(super) fn hardware_clock_of(interface: &str) -> Option<String> {
    let folder = Path::new("/sys/class/net").join(interface).join("device/ptp");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("ptp"))
        .collect();
    names.sort();
    names.into_iter().next()
}

#[cfg(test)]
mod tests {
    use codecs::linuxptp::{ClockIdentity, TimeInterval};
    use units::ClockId;

    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;
    /// A day on which a second is inserted, in the time of the reference (ns).
    const MIDNIGHT_NS: i64 = 1_483_228_800 * SECOND_NS;

    fn stamp(ns: i64) -> Timestamp {
        let (seconds, nanoseconds) = (ns.div_euclid(SECOND_NS), ns.rem_euclid(SECOND_NS));
        Timestamp { seconds: u64::try_from(seconds).unwrap(), nanoseconds: u32::try_from(nanoseconds).unwrap() }
    }

    /// The clock is ahead of its reference by 50 us, and repeats the second before midnight, as Linux does it; the reference has done so
    /// at the same moment, so that both go on together. Messages take 20 us.
    #[test]
    fn a_leap_second_is_one_step_and_the_offsets_after_it_are_right_again() {
        let parent = PortIdentity { clock: ClockIdentity(*b"gm1\xff\xfeclk"), port: 1 };
        let mut stamps = Stamps::new(100_000);
        stamps.follow(&ClockName::from(ClockId::Realtime));
        let (mut steps, mut offsets, mut bounds) = (Vec::new(), Vec::new(), Vec::new());
        for eighth in 0..80 {
            let raw_ns = (eighth + 1) * SECOND_NS / 8;
            let reference_ns = MIDNIGHT_NS - 5 * SECOND_NS + raw_ns - if eighth >= 40 { SECOND_NS } else { 0 };
            let clock_ns = reference_ns + 50_000;
            let interval = TimeInterval::default();
            // After the step an answer comes first: it must not be paired with a message from before.
            if eighth != 41 {
                stamps.received(
                    parent,
                    &SyncRecord {
                        sequence_id: 1,
                        t1: stamp(reference_ns - 40_000),
                        correction: interval,
                        scaled_cumulative_rate_offset: 0,
                        t2: stamp(clock_ns - 20_000),
                    },
                );
            }
            let (t3, t4) = (stamp(clock_ns - 20_000), stamp(reference_ns));
            stamps.sent(parent, &DelayRecord { sequence_id: 1, t3, correction: interval, t4 });
            let realtime = ClockReading { raw_ns, clock_ns, error_ns: 100 };
            let concluded = stamps.conclude(&Now { moment: Moment::default(), realtime });
            steps.extend(concluded.step_ns.map(|step_ns| (eighth, step_ns)));
            offsets.extend(concluded.exchanges.iter().map(|exchange| exchange.offset_ns));
            bounds.extend(concluded.bound.map(|bound| (eighth, bound)));
        }
        assert_eq!(steps.len(), 1, "{steps:?}");
        assert_eq!((steps[0].0, (steps[0].1 + SECOND_NS).abs() < 1_000), (40, true), "{steps:?}");
        assert!(offsets.len() > 70 && offsets.iter().all(|ns| (ns - 50_000).abs() < 100), "{offsets:?}");
        // What was known before is void: the first bound after it rests on new stamps alone.
        assert!(!bounds.iter().any(|(eighth, _)| [40, 41].contains(eighth)), "{bounds:?}");
        assert!(bounds.iter().all(|(_, bound)| bound.lower_ns <= 50_000 && bound.upper_ns >= 50_000), "{bounds:?}");
    }
}
