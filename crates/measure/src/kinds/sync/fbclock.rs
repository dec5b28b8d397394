//! The fbclock daemon, over the memory that it shares: the system clock against the hardware clock that it bounds.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use ::sync::bound::OffsetBound;
use ::sync::follow::{About, Followed, Follower, Part, SeriesName, Shown};
use codecs::fbclock::{Anchor, BYTES_1, FbClock, FbClockError, ReadBy, SECTION_BYTES};
use kernel::phc::HardwareClock;
use record::{Interval, Moment, Place, SourceChoice, SyncService, SyncState};
use units::ClockId;

use super::live::LiveSource;
use super::shared_memory;
use super::source::{NotFollowed, Source};
use crate::clocks::{self, Now};

/// Where the daemon shares its memory: version 2, then version 1.
const KNOWN: [&str; 2] = ["/run/fbclock_data_v2", "/run/fbclock_data_v1"];
/// The hardware clock that the daemon speaks of.
const DEVICE: &str = "/dev/fbclock/ptp";
/// From one reading to the next (ns).
const EVERY_NS: i64 = 1_000_000_000;
/// The daemon writes a hundred times a second, and for less than a microsecond.
const TRIES: usize = 8;
const TRUSTS: &str = "the fbclock daemon's formulas hold, which take the error of the hardware clock from offset, path delay and \
                      frequency of the PTP client; an asymmetric path is not in them";
const NO_BOUND: &str = "the fbclock daemon stated no bound";

/// Follows one daemon through a run.
pub(crate) struct Daemon {
    path: PathBuf,
    device: PathBuf,
    follower: Follower,
    next_ns: i64,
    last: Option<(i64, OffsetBound)>,
}

/// Whether a path has the second version of the memory: the daemon's own library goes by the name, too.
fn is_second(path: &Path) -> bool {
    path.to_string_lossy().ends_with("_v2")
}

fn read(path: &Path) -> Result<FbClock, String> {
    let refused = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = if is_second(path) { SECTION_BYTES } else { BYTES_1 };
    let mut last = FbClockError::Torn;
    for _ in 0..TRIES {
        let reading = shared_memory::read(path, bytes, bytes).map_err(|error| refused(&error))?;
        let decoded = if is_second(path) {
            FbClock::decode_2(&reading.before, &reading.after)
        } else {
            FbClock::decode_1(&reading.whole)
        };
        match decoded {
            Ok(read) => return Ok(read),
            Err(error) => last = error,
        }
        if last != FbClockError::Torn {
            break;
        }
    }
    Err(refused(&last))
}

/// The system clock less UTC as the daemon bounds it: lowest, most likely and highest (ns).
fn offset(now: &Now, read: &FbClock, anchor: Anchor) -> Result<(i64, OffsetBound), FbClockError> {
    let system_ns = match anchor.by {
        ReadBy::Realtime => now.realtime.clock_ns,
        ReadBy::MonotonicRaw => now.realtime.raw_ns,
    };
    let phc_ns = read.phc_at(anchor, system_ns)?;
    around(read, phc_ns, (now.realtime.clock_ns, now.realtime.clock_ns), now.realtime.error_ns)
}

/// The same from a reading of the hardware clock between two of the system clock.
fn around(
    read: &FbClock,
    phc_ns: i64,
    (before_ns, after_ns): (i64, i64),
    error_ns: i64,
) -> Result<(i64, OffsetBound), FbClockError> {
    let utc_ns = read.utc_ns(phc_ns)?;
    let wrong_ns = i64::try_from(read.error_at(phc_ns)?).unwrap_or(i64::MAX).saturating_add(error_ns);
    let bound = OffsetBound {
        lower_ns: before_ns.saturating_sub(utc_ns).saturating_sub(wrong_ns),
        upper_ns: after_ns.saturating_sub(utc_ns).saturating_add(wrong_ns),
    };
    Ok((before_ns.saturating_add((after_ns - before_ns) / 2).saturating_sub(utc_ns), bound))
}

impl Daemon {
    /// The daemon that shares its memory at a path, or at the known ones; else why there is none.
    pub(crate) fn find(path: Option<&str>, started: Moment, interval_ns: u64) -> Result<Self, String> {
        let found = shared_memory::find(path, &KNOWN, |candidate| read(candidate).map(drop));
        let path = found.map_err(|why| format!("no memory of an fbclock daemon: {why}"))?;
        Ok(Self::begin(path, started, interval_ns))
    }

    /// Whether a daemon may run here: its memory is there.
    pub(crate) fn may_run(path: Option<&str>) -> bool {
        shared_memory::may_run(path, &KNOWN)
    }

    fn begin(path: PathBuf, started: Moment, interval_ns: u64) -> Self {
        let about = About {
            service: SyncService::Fbclock,
            place: Place::Port { port: "fbclock".to_owned(), domain: None },
            clock: Some(ClockId::Realtime.into()),
            trusts: TRUSTS.to_owned(),
            is_judged: true,
            without_bound: NO_BOUND.to_owned(),
        };
        let mut follower = Follower::new(about, started, interval_ns);
        follower.reference(started, "the hardware clock that the fbclock daemon bounds");
        follower.could_miss("changes between two readings, 1 s apart".to_owned());
        Self { path, device: PathBuf::from(DEVICE), follower, next_ns: 0, last: None }
    }

    fn take_reading(&self) -> Result<(Moment, i64, OffsetBound), String> {
        let read = read(&self.path)?;
        // The clocks after the memory: what the daemon wrote is then never of later.
        let now = clocks::now();
        let found = match read.anchor {
            Some(anchor) => offset(&now, &read, anchor),
            None => {
                let compared = HardwareClock::open(&self.device)
                    .and_then(|mut clock| clock.compare())
                    .map_err(|error| format!("{}: {error}", self.device.display()))?;
                around(&read, compared.phc_ns, (compared.before_ns, compared.after_ns), 0)
            }
        };
        found.map(|(offset_ns, bound)| (now.moment, offset_ns, bound)).map_err(|error| error.to_string())
    }
}

impl Source for Daemon {
    fn kind(&self) -> Option<SourceChoice> {
        Some(SourceChoice::Fbclock)
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn take(&mut self) {}

    fn look(&mut self, now: &Now) {
        if now.realtime.raw_ns < self.next_ns {
            return;
        }
        self.next_ns = now.realtime.raw_ns + EVERY_NS;
        match self.take_reading() {
            Ok((at, offset_ns, bound)) => {
                self.follower.state(at, SyncState::Locked, "");
                let shown = Shown { offset_ns, delay_ns: None, frequency_ppb: None };
                self.follower.offset(at, shown, Some(bound));
                self.last = Some((offset_ns, bound));
            }
            Err(why) => {
                self.follower.state(now.moment, SyncState::Lost, &why);
                self.last = None;
            }
        }
    }

    fn live(&self) -> LiveSource {
        LiveSource {
            name: "fbclock".to_owned(),
            state: self.follower.current_state(),
            offset_ns: self.last.map(|(offset_ns, _)| offset_ns),
            bound: self.last.map(|(_, bound)| bound),
        }
    }

    fn hand_on(&mut self, at: Moment) -> Vec<(SeriesName, Interval)> {
        self.follower.hand_on(at)
    }

    fn system_clock_was_set(&mut self, at: Moment) {
        self.follower.cut(at);
    }

    fn so_far(&self, part: Part) -> Result<Followed, NotFollowed> {
        Ok(self.follower.so_far(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAI_NS: i64 = 37_000_000_000;

    /// The memory of version 2: a hardware clock so far ahead of UTC as the system clock has it.
    fn memory(counter: u64, now: &Now, ahead_ns: i64, error_ns: u32) -> Vec<u8> {
        let phc_ns = now.realtime.clock_ns + TAI_NS + ahead_ns;
        let mut bytes = counter.to_ne_bytes().to_vec();
        bytes.extend(phc_ns.to_ne_bytes());
        bytes.extend(error_ns.to_ne_bytes());
        bytes.extend(0_u32.to_ne_bytes());
        bytes.extend(0_u64.to_ne_bytes());
        bytes.extend(36_i16.to_ne_bytes());
        bytes.extend(37_i16.to_ne_bytes());
        bytes.extend(4_u32.to_ne_bytes());
        bytes.extend(phc_ns.to_ne_bytes());
        bytes.extend(now.realtime.raw_ns.to_ne_bytes());
        bytes.extend(0_i64.to_ne_bytes());
        bytes
    }

    #[test]
    fn the_system_clock_is_held_against_the_hardware_clock_with_the_daemons_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data_v2");
        let now = clocks::now();
        // The hardware clock is 5 ms ahead of the system clock's UTC, so that is 5 ms late.
        std::fs::write(&path, memory(2, &now, 5_000_000, 2_000)).unwrap();
        let mut daemon = Daemon::find(path.to_str(), now.moment, 1_000_000_000).ok().unwrap();
        daemon.look(&now);
        let (offset_ns, bound) = daemon.last.unwrap();
        // The system clock's rate is corrected by 500 ppm at most meanwhile; this takes a second at the very most.
        assert!((-5_600_000..=-4_400_000).contains(&offset_ns), "{offset_ns}");
        assert!(bound.lower_ns <= offset_ns - 2_000 && bound.upper_ns >= offset_ns + 2_000, "{bound:?}");
        assert!(bound.width_ns() < 1_000_000, "{bound:?}");
        daemon.next_ns = 0;
        std::fs::write(&path, memory(3, &now, 0, 2_000)).unwrap();
        daemon.look(&clocks::now());
        let followed = daemon.so_far(Part::Until(clocks::now().moment)).unwrap();
        let states: Vec<SyncState> = followed.parts[0].source.states.iter().map(|change| change.state).collect();
        assert_eq!(states, [SyncState::Locked, SyncState::Lost]);
        assert!(followed.events[0].detail.contains("being written"), "{:?}", followed.events);
    }

    #[test]
    fn what_is_no_memory_of_the_daemons_is_refused_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes, words) in
            [("none_v2", 0, "No such file"), ("short_v2", 9, "it has 9 bytes"), ("other_v1", 48, "does not fit")]
        {
            let path = folder.path().join(name);
            if bytes > 0 {
                std::fs::write(&path, vec![1; bytes]).unwrap();
            }
            let Err(why) = Daemon::find(path.to_str(), Moment::default(), 1) else { panic!("{name}") };
            assert!(why.contains(words), "{why}");
        }
    }
}
