//! The system clock itself during a run: that it was set, by a leap second, after a suspend or by somebody.

use ::sync::bound::{ClockReading, OffsetBounds};
use kernel::discipline::{self, LeapState};
use units::format::{latency, span};

use crate::clock_watch::SuspendWatch;

/// How far from a whole second the step of a leap second is seen: by what the clock is corrected meanwhile (ns).
const LEAP_NEAR_NS: i64 = 50_000_000;
const SECOND_NS: i64 = 1_000_000_000;

/// What can have set the clock: how long the machine slept since it was asked last, and what the kernel says of leap seconds.
#[derive(Debug)]
pub(crate) struct Occasions {
    suspends: SuspendWatch,
    suspended_ns: i64,
}

impl Occasions {
    pub(crate) fn begin() -> Self {
        Self { suspends: SuspendWatch::new(), suspended_ns: 0 }
    }

    /// A step that was seen just now, in words.
    pub(crate) fn step_words(&mut self, step_ns: i64) -> String {
        let suspended_ns = self.suspends.suspended_ns();
        let slept_ns = suspended_ns - std::mem::replace(&mut self.suspended_ns, suspended_ns);
        let leap = discipline::read().map_or(LeapState::None, |read| read.leap);
        step_words(step_ns, slept_ns, leap)
    }
}

/// A step in words, with its cause where that is known: `slept_ns` is how long the machine was suspended since the look before.
fn step_words(step_ns: i64, slept_ns: i64, leap: LeapState) -> String {
    let is_about = |wanted_ns: i64| (step_ns - wanted_ns).abs() <= LEAP_NEAR_NS;
    let by = if step_ns.abs() < LEAP_NEAR_NS { latency(step_ns) } else { span(step_ns) };
    let set = format!("the clock was set by {by}");
    if slept_ns > 0 {
        return format!("the machine was suspended for {}, and its clock went on by {}", span(slept_ns), span(step_ns));
    }
    // Right after a second that was left out the kernel is in the same state as after one that was inserted.
    match leap {
        LeapState::Insert | LeapState::Now if is_about(-SECOND_NS) => format!("a leap second was inserted: {set}"),
        LeapState::Delete | LeapState::Now if is_about(SECOND_NS) => format!("a second was left out: {set}"),
        _ => set,
    }
}

/// Watches the system clock against the one that nobody corrects.
pub(crate) struct SystemClock {
    readings: OffsetBounds,
    occasions: Occasions,
}

impl SystemClock {
    pub(crate) fn begin() -> Self {
        // Nothing drifts here: the bounds of an offset are not asked for.
        Self { readings: OffsetBounds::new(0), occasions: Occasions::begin() }
    }

    /// What became of it since the last look: that it was set, in words.
    pub(crate) fn look(&mut self, reading: ClockReading) -> Option<String> {
        self.readings.compare(reading).map(|step_ns| self.occasions.step_words(step_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_named_with_what_made_it() {
        let leap = |step_ns, leap| step_words(step_ns, 0, leap);
        assert_eq!(leap(-1_000_000_400, LeapState::Now), "a leap second was inserted: the clock was set by -1 s");
        assert!(leap(-999_990_000, LeapState::Insert).starts_with("a leap second was inserted"));
        assert!(leap(1_000_000_000, LeapState::Now).starts_with("a second was left out"));
        assert!(leap(1_000_000_000, LeapState::Delete).starts_with("a second was left out"));
        // Somebody sets the clock on the day of a leap second.
        for (step_ns, state) in
            [(-3_000_000, LeapState::Insert), (1_000_000_000, LeapState::Insert), (-1_000_000_000, LeapState::None)]
        {
            assert!(leap(step_ns, state).starts_with("the clock was set by"), "{step_ns} {state:?}");
        }
        let slept = step_words(5_210_000_000, 5_000_000_000, LeapState::None);
        assert!(
            slept.starts_with("the machine was suspended for 5 s") && slept.contains("went on by 5.2 s"),
            "{slept}"
        );
    }

    #[test]
    fn a_clock_that_is_slewed_was_not_set_and_one_that_is_set_was() {
        let mut clock = SystemClock::begin();
        let mut seen = Vec::new();
        let mut at = ClockReading { raw_ns: 0, clock_ns: 0, error_ns: 200 };
        for look in 0..40 {
            at.raw_ns += 250_000_000;
            // Slewed by 500 parts per million, and set once by 3 ms.
            at.clock_ns += 250_125_000 + if look == 20 { 3_000_000 } else { 0 };
            seen.extend(clock.look(at));
        }
        assert_eq!(seen.len(), 1, "{seen:?}");
        assert!(seen[0].starts_with("the clock was set by 3"), "{seen:?}");
    }
}
