//! A PTP hardware clock against the system clock: the narrowest of several windows, whose width is the error.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use ::sync::bound::OffsetBound;
use ::sync::follow::{About, Followed, Follower, Part, Shown};
use kernel::phc::HardwareClock;
use record::{Interval, Moment, Place, SyncChange, SyncService, SyncState};
use units::ClockName;

use super::clocks::Now;
use super::live::LiveSource;
use super::source::Source;

const CLASS: &str = "/sys/class/ptp";
/// From one comparison to the next (ns). External time stamps of some devices are lost while others poll their clock, so it is
/// not polled more often than a servo would.
const EVERY_NS: i64 = 1_000_000_000;
const TRUSTS: &str =
    "the driver reads the register between the two readings of the system clock, or latches both at once";

/// Follows one of them.
pub(crate) struct Hardware {
    name: String,
    clock: HardwareClock,
    follower: Follower,
    next_ns: i64,
    last: Option<(i64, OffsetBound)>,
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
            Ok(clock) => found.push(Hardware::begin(name, clock, started, (interval_ns, is_judged))),
            Err(error) => refused.push(format!("{}: {error}", device.display())),
        }
    }
    (found, refused)
}

impl Hardware {
    fn begin(name: String, clock: HardwareClock, started: Moment, (interval_ns, is_judged): (u64, bool)) -> Self {
        let driver = std::fs::read_to_string(Path::new(CLASS).join(&name).join("clock_name"));
        let about = About {
            service: SyncService::Phc,
            place: Place::Port { port: name.clone(), domain: None },
            clock: ClockName::Phc(name.clone()),
            trusts: TRUSTS.to_owned(),
            is_judged,
            without_bound: "the device could not be compared with the system clock".to_owned(),
        };
        let mut follower = Follower::new(about, started, interval_ns);
        if let Ok(driver) = driver {
            follower.version(driver.trim().to_owned());
        }
        follower.reference(started, "the system clock (CLOCK_REALTIME)");
        Self { name, clock, follower, next_ns: 0, last: None }
    }
}

impl Source for Hardware {
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
                let read_at = now.when(compared.middle_ns()).moment;
                self.follower.state(now.moment, SyncState::Locked, "");
                let bound = OffsetBound {
                    lower_ns: compared.phc_ns.saturating_sub(compared.after_ns),
                    upper_ns: compared.phc_ns.saturating_sub(compared.before_ns),
                };
                let offset_ns = compared.offset_ns();
                let shown = Shown { offset_ns, delay_ns: None, frequency_ppb: None };
                self.follower.offset(read_at, shown, Some(bound));
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
            bound: self.last.map(|(_, bound)| bound),
        }
    }

    fn hand_on(&mut self, at: Moment) -> Vec<(&'static str, Interval)> {
        self.follower.hand_on(at)
    }

    fn so_far(&self, part: Part) -> Result<Followed, String> {
        Ok(self.follower.so_far(part))
    }
}
