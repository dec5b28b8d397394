//! Both clocks at one moment, and whether one of them was set. Used in the loops.

use kernel::clock::{KernelClock, now_ns};

/// A change of CLOCK_REALTIME against CLOCK_MONOTONIC that is larger than this and a tenth of the time passed is a step (ns): a
/// kernel corrects its clock by 0.05 % of the time, or as fast as adjtimex(2) is told, by at most 10 %.
const STEP_NS: i64 = 1_000_000;

/// The clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) monotonic_ns: i64,
    pub(crate) realtime_ns: i64,
    /// How much later than the first clock the second one was read at most (ns): long where the thread was interrupted in between.
    between_ns: i64,
}

#[inline(always)]
pub(crate) fn realtime() -> i64 {
    now_ns(KernelClock::from(units::ClockId::Realtime))
}

#[inline(always)]
pub(crate) fn monotonic() -> i64 {
    now_ns(KernelClock::from(units::ClockId::Monotonic))
}

impl Now {
    #[inline(always)]
    pub(crate) fn read() -> Self {
        let (monotonic_ns, realtime_ns) = (monotonic(), realtime());
        Self { monotonic_ns, realtime_ns, between_ns: monotonic() - monotonic_ns }
    }

    /// The same clocks later, by one of them: how far they are apart changes little in a short time.
    #[inline(always)]
    pub(crate) const fn at_monotonic(self, monotonic_ns: i64) -> Self {
        let passed_ns = monotonic_ns.wrapping_sub(self.monotonic_ns);
        Self { monotonic_ns, realtime_ns: self.realtime_ns.wrapping_add(passed_ns), ..self }
    }

    /// Whether CLOCK_REALTIME was set between an earlier moment and this one.
    #[inline(always)]
    pub(crate) const fn is_stepped_since(&self, earlier: &Self) -> bool {
        let passed_ns = self.monotonic_ns.wrapping_sub(earlier.monotonic_ns);
        let moved_ns = self.realtime_ns.wrapping_sub(earlier.realtime_ns);
        let allowed_ns = STEP_NS + passed_ns / 10 + self.between_ns + earlier.between_ns;
        moved_ns.wrapping_sub(passed_ns).unsigned_abs() > allowed_ns.unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_told_from_a_correction() {
        let earlier = Now { monotonic_ns: 5_000_000_000, realtime_ns: 1_000_000_000_000, between_ns: 0 };
        let after = |passed_ns, moved_ns| Now {
            monotonic_ns: earlier.monotonic_ns + passed_ns,
            realtime_ns: earlier.realtime_ns + moved_ns,
            between_ns: 0,
        };
        for (passed_ns, moved_ns, is_stepped) in [
            (50_000_000, 50_000_000, false),
            (50_000_000, 54_000_000, false),
            (50_000_000, 57_000_000, true),
            (50_000_000, 43_000_000, true),
            (0, 900_000, false),
            (0, -1_100_000, true),
            (1_000_000, 37_001_000_000, true),
        ] {
            assert_eq!(after(passed_ns, moved_ns).is_stepped_since(&earlier), is_stepped, "{passed_ns} {moved_ns}");
        }
    }
    #[test]
    fn an_interruption_between_the_readings_of_both_clocks_is_no_step() {
        let at = |ns: i64, between_ns: i64| Now {
            monotonic_ns: ns,
            realtime_ns: 1_000_000_000_000 + ns + between_ns,
            between_ns,
        };
        let (before, interrupted, behind) = (at(0, 50), at(2_000_000, 30_000_000), at(40_000_000, 50));
        assert!(!interrupted.is_stepped_since(&before) && !behind.is_stepped_since(&interrupted));
        // What is more than the interruption explains is a step.
        let stepped = Now { realtime_ns: interrupted.realtime_ns + 32_000_000, ..interrupted };
        assert!(stepped.is_stepped_since(&before));
    }
}
