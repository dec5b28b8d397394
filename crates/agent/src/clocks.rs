//! What the clocks of this boot say of a moment of CLOCK_MONOTONIC, on which is measured.

use std::collections::VecDeque;

use farm::monitor::{BootId, WallTime};
use units::ClockId;

/// CLOCK_BOOTTIME goes on while the machine sleeps and CLOCK_MONOTONIC does not: a difference that changed by this was a suspend, and
/// by less the time between two readings (ns).
const LEAST_SUSPEND_NS: i64 = 1_000_000;

/// A smaller step of the system clock is not told from the time between two readings (ns).
const LEAST_STEP_NS: i64 = 1_000;

/// What the clocks said at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) monotonic_ns: i64,
    pub(crate) boottime_ns: i64,
    pub(crate) wall: WallTime,
    /// Whether something keeps the system clock right, as the kernel says; absent where it does not say.
    pub(crate) is_synchronized: Option<bool>,
    /// How long it took to read the clocks (ns).
    pub(crate) took_ns: i64,
}

impl Look {
    /// Reads all clocks, one right after the other.
    pub(crate) fn now() -> Self {
        let read = |clock: ClockId| kernel::clock::now_ns(clock.into());
        let discipline = kernel::discipline::read().ok();
        let (before_ns, boottime_ns, realtime_ns, after_ns) =
            (read(ClockId::Monotonic), read(ClockId::Boottime), read(ClockId::Realtime), read(ClockId::Monotonic));
        let says = discipline.as_ref().map(|discipline| discipline.is_synchronized);
        let is_synchronized = says == Some(true);
        let error_ns =
            discipline.filter(|_| is_synchronized).and_then(|discipline| u64::try_from(discipline.max_error_ns).ok());
        Self {
            monotonic_ns: before_ns + (after_ns - before_ns) / 2,
            boottime_ns,
            wall: WallTime { ns: realtime_ns, is_synchronized, error_ns },
            is_synchronized: says,
            took_ns: after_ns - before_ns,
        }
    }

    /// By how much the system clock was set since an earlier look (ns); `None` where it was not, or by no more than reading takes.
    ///
    /// The kernel keeps CLOCK_REALTIME at a fixed distance from CLOCK_BOOTTIME, through suspends and corrections of its rate
    /// (kernel/time/timekeeping.c): what changes the distance has set the clock.
    pub(crate) fn step_since(&self, before: &Self) -> Option<i64> {
        let distance_ns = |of: &Self| of.wall.ns.saturating_sub(of.boottime_ns);
        let step_ns = distance_ns(self).saturating_sub(distance_ns(before));
        let unsure_ns = self.took_ns.saturating_add(before.took_ns).saturating_add(LEAST_STEP_NS);
        (step_ns.unsigned_abs() > unsure_ns.unsigned_abs()).then_some(step_ns)
    }
}

/// A time in which the machine slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Suspend {
    /// When it began at the latest (ns, CLOCK_BOOTTIME).
    pub(crate) start_ns: i64,
    /// How long it was (ns).
    pub(crate) length_ns: u64,
}

/// The clocks, as far back as it is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    boot: BootId,
    /// How far back looks are kept (ns).
    keeps_ns: i64,
    looks: VecDeque<Look>,
    /// By how much CLOCK_BOOTTIME is ahead, from a moment of CLOCK_MONOTONIC on (ns).
    ahead: Vec<(i64, i64)>,
}

impl Clocks {
    pub(crate) fn new(boot: BootId, keeps_ns: i64, first: Look) -> Self {
        let ahead = vec![(i64::MIN, first.boottime_ns - first.monotonic_ns)];
        Self { boot, keeps_ns, looks: VecDeque::from([first]), ahead }
    }

    pub(crate) const fn boot(&self) -> &BootId {
        &self.boot
    }

    /// By how much the system clock was set between the last look and this one (ns); `None` where it was not.
    pub(crate) fn step(&self, look: &Look) -> Option<i64> {
        look.step_since(self.looks.back()?)
    }

    /// Takes a look; the suspend since the one before, where there was one.
    pub(crate) fn take(&mut self, look: Look) -> Option<Suspend> {
        let before = self.looks.back().copied();
        self.looks.push_back(look);
        while self.looks.len() > 2
            && self.looks.front().is_some_and(|first| first.monotonic_ns < look.monotonic_ns - self.keeps_ns)
        {
            self.looks.pop_front();
        }
        let (ahead_ns, was_ns) = (look.boottime_ns - look.monotonic_ns, self.ahead.last().map_or(0, |(_, ns)| *ns));
        let slept_ns = ahead_ns - was_ns;
        if slept_ns < LEAST_SUSPEND_NS {
            return None;
        }
        // CLOCK_MONOTONIC stood still meanwhile: what was measured between the looks counts as before it.
        self.ahead.push((look.monotonic_ns, ahead_ns));
        let start_ns = before.map_or(look.boottime_ns - slept_ns, |before| before.boottime_ns);
        Some(Suspend { start_ns, length_ns: slept_ns.unsigned_abs() })
    }

    /// A moment of CLOCK_MONOTONIC on CLOCK_BOOTTIME (ns). The same moment gives the same number each time.
    pub(crate) fn boottime_ns(&self, monotonic_ns: i64) -> i64 {
        let ahead = self.ahead.iter().rev().find(|(from_ns, _)| *from_ns <= monotonic_ns);
        monotonic_ns.saturating_add(ahead.map_or(0, |(_, ahead_ns)| *ahead_ns))
    }

    /// What the wall clock said at a moment of CLOCK_MONOTONIC, from the look that was closest to it; `None` where nobody looked within
    /// a minute of it.
    pub(crate) fn wall(&self, monotonic_ns: i64) -> Option<WallTime> {
        const NEAR_NS: u64 = 60_000_000_000;
        let look = self.looks.iter().min_by_key(|look| look.monotonic_ns.abs_diff(monotonic_ns))?;
        let away_ns = monotonic_ns - look.monotonic_ns;
        (away_ns.unsigned_abs() <= NEAR_NS).then(|| WallTime { ns: look.wall.ns.saturating_add(away_ns), ..look.wall })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(monotonic_s: i64, boottime_s: i64, wall_s: i64) -> Look {
        let ns = |s: i64| s * 1_000_000_000;
        let wall = WallTime { ns: ns(wall_s), is_synchronized: true, error_ns: None };
        Look {
            monotonic_ns: ns(monotonic_s),
            boottime_ns: ns(boottime_s),
            wall,
            is_synchronized: Some(true),
            took_ns: 0,
        }
    }

    #[test]
    fn a_clock_that_is_set_is_told_from_a_suspend_and_from_a_slow_reading() {
        let before = look(100, 100, 5_000);
        assert_eq!(look(101, 101, 5_001).step_since(&before), None);
        assert_eq!(look(101, 3_701, 8_601).step_since(&before), None, "both clocks go on in a suspend");
        assert_eq!(look(101, 101, 4_999).step_since(&before), Some(-2_000_000_000));
        // Stopped between two readings: it may have been that.
        let mut slow = look(101, 101, 5_001);
        (slow.wall.ns, slow.took_ns) = (slow.wall.ns + 40_000, 50_000);
        assert_eq!(slow.step_since(&before), None);
        slow.took_ns = 10_000;
        assert_eq!(slow.step_since(&before), Some(40_000));
    }

    #[test]
    fn a_suspend_moves_what_comes_after_it_and_nothing_before() {
        let mut clocks = Clocks::new(BootId("b".to_owned()), 300_000_000_000, look(100, 100, 5_000));
        assert_eq!(clocks.take(look(101, 101, 5_001)), None);
        // A reading that took some microseconds is none.
        let mut late = look(102, 102, 5_002);
        late.boottime_ns += 40_000;
        assert_eq!(clocks.take(late), None);
        let slept = clocks.take(look(103, 3_703, 8_603)).unwrap();
        assert_eq!((slept.start_ns, slept.length_ns), (102_000_040_000, 3_600_000_000_000));
        assert_eq!(clocks.boottime_ns(101_500_000_000), 101_500_000_000);
        assert_eq!(clocks.boottime_ns(104_000_000_000), 3_704_000_000_000);
        assert_eq!(clocks.wall(101_400_000_000).unwrap().ns, 5_001_400_000_000);
        assert_eq!(clocks.wall(500_000_000_000), None);
    }
}
