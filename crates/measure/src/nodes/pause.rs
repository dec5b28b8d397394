//! Long sleeps of the measuring loops, which end when the run does.

use kernel::clock::{KernelClock, Schedule, SleepEnded, now_ns, sleep_until};
use units::ClockId;

/// From one packet to the next; where it is longer, a sleep looks in between whether the run has ended (ns).
pub(super) const LONG_INTERVAL_NS: i64 = 100_000_000;
/// Between two looks (ns).
const LOOK_NS: i64 = 50_000_000;

/// Sleeps until a moment of CLOCK_MONOTONIC, where the interval is long until the run is over at most. The last part is one
/// sleep to that very moment.
#[inline(always)]
pub(super) fn sleep_looking(until: &Schedule, interval_ns: i64, is_over: impl Fn() -> bool) -> Result<(), SleepEnded> {
    let monotonic = KernelClock::from(ClockId::Monotonic);
    if interval_ns <= LONG_INTERVAL_NS {
        return sleep_until(monotonic, until);
    }
    loop {
        let now = now_ns(monotonic);
        if until.ns() - now <= LONG_INTERVAL_NS {
            return sleep_until(monotonic, until);
        }
        if is_over() {
            return Ok(());
        }
        sleep_until(monotonic, &Schedule::at_ns(now + LOOK_NS))?;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_long_sleep_ends_when_the_run_does_and_a_whole_one_at_its_moment() {
        let now = || now_ns(KernelClock::from(ClockId::Monotonic));
        let began_ns = now();
        let looks = Cell::new(0);
        let is_over = || {
            looks.set(looks.get() + 1);
            looks.get() == 2
        };
        assert_eq!(sleep_looking(&Schedule::at_ns(began_ns + 60_000_000_000), 10_000_000_000, is_over), Ok(()));
        assert!(now() - began_ns < 30_000_000_000 && looks.get() == 2, "it slept on");
        let until_ns = now() + 160_000_000;
        assert_eq!(sleep_looking(&Schedule::at_ns(until_ns), 10_000_000_000, || false), Ok(()));
        assert!(now() >= until_ns);
    }
}
