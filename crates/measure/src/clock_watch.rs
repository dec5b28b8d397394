//! Watches the clocks against each other during a run: steps of the realtime clock, suspends.

use std::time::Duration;

use kernel::clock::{KernelClock, now_ns};
use kernel::clock_set::ClockSet;
use record::{ClockStep, Moment};
use units::{ClockId, Timestamp};

/// A slewed clock gains at most 500 ppm, and 1000 through adjtime(3); twice that is allowed before a change counts
/// as a step.
const MAX_SLEW_PPM: i64 = 2_000;
/// What a preempted reading can add (ns): the tightest of several is taken, so this is generous.
const READING_NS: i64 = 100_000;
const READINGS: usize = 5;

/// Follows the distance of the clocks from the monotonic one.
#[derive(Debug)]
pub(crate) struct ClockWatch {
    measured: ClockId,
    monotonic_ns: i64,
    realtime_offset_ns: i64,
    measured_offset_ns: i64,
    /// A reading as narrow as this is good enough: the looks of a run cost what one reading costs.
    narrow_ns: i64,
    steps: Vec<ClockStep>,
    /// Readings of the measured clock before and after each step, the lower one first (ns).
    stepped_at_ns: Vec<(i64, i64)>,
    /// By what samples from before a step are recognized, until the next look.
    before_step: Option<BeforeStep>,
    /// Absent where the kernel refuses: a step is then noticed at the next look.
    set: Option<ClockSet>,
}

/// The distances before a step that was just noticed.
#[derive(Clone, Copy, Debug)]
struct BeforeStep {
    realtime_offset_ns: i64,
    measured_offset_ns: i64,
    /// When it was noticed: what was sampled up to then, by the clocks as they were, is from before it.
    noticed_monotonic_ns: i64,
}

/// The distance of a clock from the monotonic one, and when that was.
#[derive(Clone, Copy, Debug, Default)]
struct Distance {
    /// What the two readings of the monotonic clock around it lie apart: the bound of the error.
    width_ns: i64,
    /// The clock minus the monotonic one.
    offset_ns: i64,
    monotonic_ns: i64,
}

/// From the tightest of several readings, or the first that is `narrow_ns` or less.
fn distance(clock: ClockId, narrow_ns: i64) -> Distance {
    let (clock, monotonic) = (KernelClock::from(clock), KernelClock::from(ClockId::Monotonic));
    let mut tightest = Distance { width_ns: i64::MAX, ..Distance::default() };
    for _ in 0..READINGS {
        let before = now_ns(monotonic);
        let other = now_ns(clock);
        let width_ns = now_ns(monotonic) - before;
        if width_ns < tightest.width_ns {
            tightest = Distance { width_ns, offset_ns: other - before - width_ns / 2, monotonic_ns: before };
        }
        if width_ns <= narrow_ns {
            break;
        }
    }
    tightest
}

/// A reading of the monotonic clock on both clocks, by how far the realtime clock is ahead of it.
const fn moment_at(monotonic_ns: i64, realtime_ahead_ns: i64) -> Moment {
    let monotonic = Timestamp::from_ns(monotonic_ns);
    Moment { monotonic, realtime: Timestamp::from_ns(monotonic_ns.saturating_add(realtime_ahead_ns)) }
}

/// TAI less UTC, as the kernel knows it (s); `None` where nobody has set it.
pub(crate) fn tai_less_utc_s() -> Option<i32> {
    let Distance { offset_ns, width_ns, .. } = distance(ClockId::Tai, 0);
    let tai_ns = offset_ns - distance(ClockId::Realtime, 0).offset_ns;
    // Whole seconds; a step between the two readings is a matter of chance, and a reading wide enough to hide one is none.
    let seconds = (tai_ns + 500_000_000).div_euclid(1_000_000_000);
    i32::try_from(seconds).ok().filter(|seconds| *seconds != 0 && width_ns < 100_000_000)
}

/// Both of the clocks that a record speaks in, now.
pub(crate) fn moment_now() -> Moment {
    let Distance { offset_ns, monotonic_ns, .. } = distance(ClockId::Realtime, 0);
    moment_at(monotonic_ns, offset_ns)
}

impl ClockWatch {
    pub(crate) fn new(measured: ClockId) -> Self {
        let realtime = distance(ClockId::Realtime, 0);
        let mut watch = Self {
            measured,
            monotonic_ns: realtime.monotonic_ns,
            realtime_offset_ns: realtime.offset_ns,
            measured_offset_ns: 0,
            narrow_ns: 2 * realtime.width_ns,
            steps: Vec::new(),
            stepped_at_ns: Vec::new(),
            before_step: None,
            set: ClockSet::new().ok(),
        };
        watch.measured_offset_ns = watch.measured_offset_ns();
        watch
    }

    /// Clocks that read the same, and what was noticed of them, as a test states it.
    #[cfg(test)]
    pub(crate) fn scripted(measured: ClockId, steps: Vec<ClockStep>) -> Self {
        Self {
            measured,
            monotonic_ns: 0,
            realtime_offset_ns: 0,
            measured_offset_ns: 0,
            narrow_ns: 0,
            stepped_at_ns: vec![(0, 0); steps.len()],
            steps,
            before_step: None,
            set: None,
        }
    }

    /// Sleeps for `period`, or until somebody sets the realtime clock.
    pub(crate) fn sleep(&self, period: Duration) {
        let period_ns = i64::try_from(period.as_nanos()).unwrap_or(i64::MAX);
        if self.set.as_ref().is_none_or(|set| set.wait(period_ns).is_err()) {
            std::thread::sleep(period);
        }
    }

    /// Looks again; call it a few times a second, and take over what was sampled right after it.
    pub(crate) fn look(&mut self) {
        let Distance { offset_ns, monotonic_ns, .. } = distance(ClockId::Realtime, self.narrow_ns);
        let change_ns = offset_ns - self.realtime_offset_ns;
        self.before_step = None;
        let before_ns = self.monotonic_ns.saturating_add(self.measured_offset_ns);
        let stepped = is_step(change_ns, monotonic_ns - self.monotonic_ns);
        if stepped {
            let noticed = moment_at(monotonic_ns, offset_ns);
            self.steps.push(ClockStep { noticed, step_ns: change_ns });
            self.before_step = Some(BeforeStep {
                realtime_offset_ns: self.realtime_offset_ns,
                measured_offset_ns: self.measured_offset_ns,
                noticed_monotonic_ns: monotonic_ns,
            });
        }
        self.monotonic_ns = monotonic_ns;
        self.realtime_offset_ns = offset_ns;
        self.measured_offset_ns = self.measured_offset_ns();
        if stepped {
            let after_ns = monotonic_ns.saturating_add(self.measured_offset_ns);
            self.stepped_at_ns.push((before_ns.min(after_ns), before_ns.max(after_ns)));
        }
    }

    fn measured_offset_ns(&self) -> i64 {
        match self.measured {
            ClockId::Monotonic => 0,
            ClockId::Realtime => self.realtime_offset_ns,
            other => distance(other, self.narrow_ns).offset_ns,
        }
    }

    /// A reading of the monotonic clock on both of the record's clocks, by the distance last seen.
    pub(crate) const fn moment_of_monotonic(&self, monotonic_ns: i64) -> Moment {
        moment_at(monotonic_ns, self.realtime_offset_ns)
    }

    /// A reading of the measured clock on both of the record's clocks, by the distance last seen; right after a step by
    /// the one before it, where the reading is from before.
    pub(crate) fn moment(&self, measured_ns: i64) -> Moment {
        if let Some(before) = &self.before_step {
            let monotonic_ns = measured_ns - before.measured_offset_ns;
            if monotonic_ns <= before.noticed_monotonic_ns {
                return moment_at(monotonic_ns, before.realtime_offset_ns);
            }
        }
        let monotonic_ns = measured_ns - self.measured_offset_ns;
        moment_at(monotonic_ns, self.realtime_offset_ns)
    }

    /// How far the measured clock is ahead of CLOCK_MONOTONIC (ns).
    pub(crate) const fn measured_less_monotonic_ns(&self) -> i64 {
        self.measured_offset_ns
    }

    /// How far CLOCK_REALTIME, which shows UTC, is ahead of the measured clock (ns).
    pub(crate) const fn utc_ahead_ns(&self) -> i64 {
        self.realtime_offset_ns - self.measured_offset_ns
    }

    /// When each of the [`steps`](Self::steps) was (ns on the measured clock): between the two, by readings before and after it,
    /// the lower one first.
    pub(crate) fn stepped_at_ns(&self) -> &[(i64, i64)] {
        &self.stepped_at_ns
    }

    /// Steps seen so far.
    pub(crate) fn steps(&self) -> &[ClockStep] {
        &self.steps
    }
}

/// Whether the machine was suspended: CLOCK_BOOTTIME goes on then, CLOCK_MONOTONIC does not.
#[derive(Debug)]
pub(crate) struct SuspendWatch {
    first: Distance,
}

impl SuspendWatch {
    pub(crate) fn new() -> Self {
        Self { first: distance(ClockId::Boottime, 0) }
    }

    /// How long the machine was suspended since the watch began (ns).
    pub(crate) fn suspended_ns(&self) -> i64 {
        between(self.first, distance(ClockId::Boottime, 0))
    }
}

/// How much two distances differ beyond the bounds of their errors; both clocks tick alike, so the rest is a suspend.
fn between(first: Distance, now: Distance) -> i64 {
    let ns = now.offset_ns - first.offset_ns;
    // A reading that was preempted is wide; where all were, a difference as wide says nothing.
    if ns > READING_NS + (first.width_ns + now.width_ns) / 2 { ns } else { 0 }
}

fn is_step(change_ns: i64, elapsed_ns: i64) -> bool {
    change_ns.abs() > READING_NS + elapsed_ns / 1_000_000 * MAX_SLEW_PPM
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slew_is_no_step_and_a_step_no_slew() {
        assert!(!is_step(25_000, 50_000_000), "500 ppm over 50 ms");
        assert!(!is_step(-50_000, 50_000_000));
        assert!(is_step(1_000_000, 50_000_000));
        assert!(is_step(-1_000_000, 50_000_000));
        assert!(!is_step(1_900_000, 1_000_000_000), "a look after a whole second allows for a second's slew");
    }

    #[test]
    fn a_suspend_is_what_no_reading_s_error_explains() {
        const MS: i64 = 1_000_000;
        let at = |offset_ns: i64, width_ns: i64| Distance { width_ns, offset_ns, monotonic_ns: 0 };
        let hour = 3_600_000 * MS;
        assert_eq!(between(at(hour, 80), at(hour + 3_000 * MS, 80)), 3_000 * MS);
        assert_eq!(between(at(hour, 80), at(hour + 40, 80)), 0);
        assert_eq!(between(at(hour, 80), at(hour + 9 * MS, 20 * MS)), 0, "preempted between the readings");
        assert_eq!(between(at(hour, 20 * MS), at(hour + 9 * MS, 80)), 0);
        assert_eq!(between(at(hour, 20 * MS), at(hour + 30 * MS, 80)), 30 * MS);
        assert_eq!(SuspendWatch::new().suspended_ns(), 0);
    }

    #[test]
    fn what_was_sampled_before_a_step_is_told_by_the_clocks_as_they_were() {
        let hour = 3_600_000_000_000;
        for (clock, on_clock) in [(ClockId::Monotonic, 0), (ClockId::Realtime, hour)] {
            let mut watch = ClockWatch::new(clock);
            let now = moment_now();
            // As if the clock had stood an hour further ahead until this look.
            watch.realtime_offset_ns += hour;
            watch.measured_offset_ns += on_clock;
            watch.look();
            assert_eq!(watch.steps().len(), 1);
            let sampled_ns =
                if clock == ClockId::Monotonic { now.monotonic.as_ns() } else { now.realtime.as_ns() + hour };
            let before = watch.moment(sampled_ns);
            assert!((before.monotonic.as_ns() - now.monotonic.as_ns()).abs() < 1_000_000, "{before:?} {now:?}");
            assert!((before.realtime.as_ns() - now.realtime.as_ns() - hour).abs() < 1_000_000, "{before:?} {now:?}");
            watch.look();
            assert_eq!(watch.steps().len(), 1);
            let later = moment_now();
            let after = watch.moment(if clock == ClockId::Monotonic {
                later.monotonic.as_ns()
            } else {
                later.realtime.as_ns()
            });
            assert!((after.realtime.as_ns() - later.realtime.as_ns()).abs() < 1_000_000, "{after:?} {later:?}");
        }
    }

    #[test]
    fn moments_agree_with_the_clocks() {
        for clock in [ClockId::Monotonic, ClockId::Realtime, ClockId::Tai] {
            let watch = ClockWatch::new(clock);
            let before = moment_now();
            let between = watch.moment(now_ns(KernelClock::from(clock)));
            let after = moment_now();
            let slack = 1_000_000;
            assert!(
                before.monotonic.as_ns() - slack <= between.monotonic.as_ns()
                    && between.monotonic.as_ns() <= after.monotonic.as_ns() + slack
            );
            assert!(
                before.realtime.as_ns() - slack <= between.realtime.as_ns()
                    && between.realtime.as_ns() <= after.realtime.as_ns() + slack
            );
        }
    }
}
