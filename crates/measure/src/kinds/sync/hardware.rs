//! A PTP hardware clock against the system clock: the narrowest of several windows, whose width is the error.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use ::sync::bound::{OffsetBound, OffsetBounds};
use ::sync::follow::{About, Followed, Follower, Part, SeriesName, Shown};
use kernel::phc::HardwareClock;
use record::{Interval, Moment, Place, SourceChoice, SyncChange, SyncService, SyncState};
use units::ClockName;

use super::live::LiveSource;
use super::source::{NotFollowed, Source};
use crate::clocks::Now;

const CLASS: &str = "/sys/class/ptp";
/// From one comparison to the next (ns). External time stamps of some devices are lost while others poll their clock, so it is
/// not polled more often than a servo would.
const EVERY_NS: i64 = 1_000_000_000;
/// The file in which a driver states how wrong its clock can be (ns): that of Amazon's ENA has it.
const ERROR_FILE: &str = "device/phc_error_bound";
/// What such a driver says where it does not know it: all bits of the number.
const UNKNOWN_ERROR_NS: u64 = 0xffff_ffff;
const TRUSTS_ERROR: &str = ", and states truly how wrong the hardware clock is (phc_error_bound), by which the window is widened: it \
                            holds for true time";
const TRUSTS: &str =
    "the driver reads the register between the two readings of the system clock, or latches both at once";

/// Follows one of them.
pub(crate) struct Hardware {
    name: String,
    clock: HardwareClock,
    follower: Follower,
    next_ns: i64,
    last: Option<(i64, Option<OffsetBound>)>,
    /// Where the driver states how wrong the clock can be, if it does.
    stated_error: Option<PathBuf>,
    /// The clock against the one that nobody corrects: that it was set.
    readings: OffsetBounds,
}

/// How wrong a hardware clock can be, as its driver states it (ns); `None` where it does not know.
fn stated_error_ns(file: &Path) -> Option<i64> {
    let stated: u64 = crate::kernel_text::read(file).ok()?.trim().parse().ok()?;
    (stated != UNKNOWN_ERROR_NS).then(|| i64::try_from(stated).ok()).flatten()
}

/// The window in which a hardware clock was read, as a bound; `None` where the driver states the clock's error, and does not know
/// it now.
fn bound_of(window: OffsetBound, stated_error: Option<&Path>) -> Option<OffsetBound> {
    let error_ns = stated_error.map_or(Some(0), stated_error_ns)?;
    Some(OffsetBound {
        lower_ns: window.lower_ns.saturating_sub(error_ns),
        upper_ns: window.upper_ns.saturating_add(error_ns),
    })
}

/// The hardware clocks of this machine: `ptp0`, …, and why one cannot be read. A limit applies to them where they alone were asked
/// for: beside a time service they are one clock in its chain.
pub(crate) fn all(started: Moment, interval_ns: u64, is_judged: bool) -> (Vec<Hardware>, Vec<String>) {
    let mut names: Vec<String> = std::fs::read_dir(CLASS)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for name in names {
        let device = PathBuf::from("/dev").join(&name);
        match HardwareClock::open(&device) {
            Ok(clock) => found.push(Hardware::begin(name, clock, started, interval_ns, is_judged)),
            Err(error) => refused.push(format!("{}: {error}", device.display())),
        }
    }
    (found, refused)
}

impl Hardware {
    fn begin(name: String, clock: HardwareClock, started: Moment, interval_ns: u64, is_judged: bool) -> Self {
        let folder = Path::new(CLASS).join(&name);
        let driver = crate::kernel_text::read(folder.join("clock_name"));
        let stated_error = Some(folder.join(ERROR_FILE)).filter(|file| file.is_file());
        let about = About {
            service: SyncService::Phc,
            place: Place::Port { port: name.clone(), domain: None },
            clock: Some(ClockName::Phc(name.clone())),
            trusts: format!("{TRUSTS}{}", if stated_error.is_some() { TRUSTS_ERROR } else { "" }),
            is_judged,
            without_bound: "the device could not be compared with the system clock".to_owned(),
        };
        let mut follower = Follower::new(about, started, interval_ns);
        if let Ok(driver) = driver {
            follower.version(driver.trim().to_owned());
        }
        follower.reference(started, "the system clock (CLOCK_REALTIME)");
        Self { name, clock, follower, next_ns: 0, last: None, stated_error, readings: OffsetBounds::new(0) }
    }
}

/// What the readings of both clocks say. The kernel rounds each of them down to whole nanoseconds, so the true difference can be
/// one larger or smaller; with hardware that latches both at one moment, that is all the error there is.
const fn window_of(compared: &kernel::phc::Comparison) -> OffsetBound {
    OffsetBound {
        lower_ns: compared.phc_ns.saturating_sub(compared.after_ns).saturating_sub(1),
        upper_ns: compared.phc_ns.saturating_sub(compared.before_ns).saturating_add(1),
    }
}

impl Source for Hardware {
    fn kind(&self) -> Option<SourceChoice> {
        Some(SourceChoice::Phc)
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
        match self.clock.compare() {
            Ok(compared) => {
                // Readings take their time, in which a clock drifts: the offset is of the moment at which it was read.
                let then = now.when(compared.middle_ns());
                let read_at = then.moment;
                self.readings.state_correction(self.clock.correction_ppb());
                if let Some(step_ns) = self.readings.compare(then.other(compared.offset_ns(), compared.width_ns())) {
                    self.follower.step(read_at, step_ns);
                }
                self.follower.state(now.moment, SyncState::Locked, "");
                let window = window_of(&compared);
                let offset_ns = compared.offset_ns();
                let shown = Shown { offset_ns, delay_ns: None, frequency_ppb: None };
                let bound = bound_of(window, self.stated_error.as_deref());
                self.follower.offset(read_at, shown, bound);
                self.last = Some((offset_ns, bound));
            }
            Err(error) => {
                if self.follower.current_state() != Some(SyncState::Lost) {
                    self.follower.event(now.moment, SyncChange::Source, format!("cannot be read: {error}"));
                }
                self.follower.state(now.moment, SyncState::Lost, "");
            }
        }
    }

    fn live(&self) -> LiveSource {
        LiveSource {
            name: self.name.clone(),
            state: self.follower.current_state(),
            offset_ns: self.last.map(|(offset_ns, _)| offset_ns),
            bound: self.last.and_then(|(_, bound)| bound),
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

    #[test]
    fn clocks_that_are_latched_at_one_moment_are_known_to_a_nanosecond_and_no_better() {
        let method = kernel::phc::Method::Precise;
        // In truth 1000.9 and 500.0, or 1000.0 and 500.9.
        let window = window_of(&kernel::phc::Comparison { method, phc_ns: 1_000, before_ns: 500, after_ns: 500 });
        assert_eq!(window, OffsetBound { lower_ns: 499, upper_ns: 501 });
        let method = kernel::phc::Method::Extended;
        let window = window_of(&kernel::phc::Comparison { method, phc_ns: 1_000, before_ns: 500, after_ns: 540 });
        assert_eq!(window, OffsetBound { lower_ns: 459, upper_ns: 501 });
    }

    #[test]
    fn the_error_that_a_driver_states_widens_the_window_and_an_unknown_one_leaves_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("phc_error_bound");
        let window = OffsetBound { lower_ns: -100, upper_ns: 300 };
        assert_eq!(bound_of(window, None), Some(window));
        std::fs::write(&file, "15000\n").unwrap();
        assert_eq!(bound_of(window, Some(&file)), Some(OffsetBound { lower_ns: -15_100, upper_ns: 15_300 }));
        for unknown in ["4294967295\n", "-1\n", "", "soon"] {
            std::fs::write(&file, unknown).unwrap();
            assert_eq!(bound_of(window, Some(&file)), None, "{unknown}");
        }
        assert_eq!(bound_of(window, Some(&folder.path().join("gone"))), None);
    }
}
