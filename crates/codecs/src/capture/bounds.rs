//! Bounds on an offset from captured exchanges, of a clock whose corrections are not known.
//!
//! [`OffsetBounds`](sync::bound::OffsetBounds) measures how its clock is corrected. A capture does not say it, so between two
//! messages the clock may be off by its own drift and by what the kernel corrects at most. A clock that is set shows as an
//! exchange that excludes what was known before, at the latest with the exchange after it: so the bound of an exchange is
//! stated only when the next one does not exclude it.

use sync::bound::OffsetBound;

/// The kernel corrects a clock's rate by at most this much (adjtimex(2), 500 parts per million; parts per billion).
pub const MOST_SLEW_PPB: u32 = 500_000;

/// One side of the bound at the moment of the message that it is from.
#[derive(Clone, Copy, Debug)]
struct Side {
    value_ns: i64,
    at_ns: i64,
}

/// Follows the bounds of one clock against one reference through a capture.
#[derive(Clone, Copy, Debug)]
pub struct CaptureBounds {
    /// How much the clock's rate can differ from the reference's, with all corrections (parts per billion).
    rate_ppb: i64,
    upper: Option<Side>,
    lower: Option<Side>,
}

/// What an exchange makes of the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The bound at the moment of the exchange, before it and with it: the first is what the exchanges until then still allow.
    Narrowed {
        /// Without the exchange; `None` if there was none before.
        before: Option<OffsetBound>,
        /// With it.
        with: OffsetBound,
    },
    /// What was known before is excluded by it: the clock was set, or something that the bound trusts is not true. The bound is
    /// that of this exchange alone.
    Excluded(OffsetBound),
    /// Its own two messages exclude each other.
    Impossible,
}

impl CaptureBounds {
    /// Without a bound yet. `max_drift_ppb` is how much the uncorrected clock differs from the reference's rate at most.
    #[must_use]
    pub const fn new(max_drift_ppb: u32) -> Self {
        // Both fit by far.
        Self { rate_ppb: max_drift_ppb as i64 + MOST_SLEW_PPB as i64, upper: None, lower: None }
    }

    /// Takes an exchange at `at_ns`: the offset was at most `upper_ns` at `upper_at_ns`, and at least `lower_ns` at `lower_at_ns`,
    /// all of the capture's clock.
    pub fn take(
        &mut self,
        at_ns: i64,
        (upper_ns, upper_at_ns): (i64, i64),
        (lower_ns, lower_at_ns): (i64, i64),
    ) -> Taken {
        let own = (Side { value_ns: upper_ns, at_ns: upper_at_ns }, Side { value_ns: lower_ns, at_ns: lower_at_ns });
        let own_now = OffsetBound { lower_ns: self.aged(own.1, at_ns, -1), upper_ns: self.aged(own.0, at_ns, 1) };
        if own_now.is_contradiction() {
            (self.upper, self.lower) = (None, None);
            return Taken::Impossible;
        }
        let before = self.upper.zip(self.lower).map(|(upper, lower)| OffsetBound {
            lower_ns: self.aged(lower, at_ns, -1),
            upper_ns: self.aged(upper, at_ns, 1),
        });
        let with = before.map_or(own_now, |before| OffsetBound {
            lower_ns: before.lower_ns.max(own_now.lower_ns),
            upper_ns: before.upper_ns.min(own_now.upper_ns),
        });
        if with.is_contradiction() {
            (self.upper, self.lower) = (Some(own.0), Some(own.1));
            return Taken::Excluded(own_now);
        }
        // The tighter of each side stays the tighter, since both age alike.
        if before.is_none_or(|before| own_now.upper_ns <= before.upper_ns) {
            self.upper = Some(own.0);
        }
        if before.is_none_or(|before| own_now.lower_ns >= before.lower_ns) {
            self.lower = Some(own.1);
        }
        Taken::Narrowed { before, with }
    }

    /// Forgets everything: another reference, another time scale.
    pub const fn forget(&mut self) {
        (self.upper, self.lower) = (None, None);
    }

    fn aged(&self, side: Side, at_ns: i64, direction: i64) -> i64 {
        let elapsed_ns = i128::from(at_ns).abs_diff(i128::from(side.at_ns));
        let elapsed_ns = i128::try_from(elapsed_ns).unwrap_or(i128::MAX / 4_000_000_000);
        // Rounded up, and one more for the fractions that stamps leave out.
        let widened_ns = elapsed_ns.saturating_mul(i128::from(self.rate_ppb)) / 1_000_000_000 + 1;
        let widened_ns = i64::try_from(widened_ns).unwrap_or(i64::MAX);
        side.value_ns.saturating_add(direction.saturating_mul(widened_ns))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::Random;

    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn a_step_is_noticed_at_the_latest_one_exchange_later() {
        for step_ns in [-3_000_000, 3_000_000] {
            let mut bounds = CaptureBounds::new(100_000);
            let exchange = |bounds: &mut CaptureBounds, second: i64, offset_ns: i64| {
                let at_ns = second * S;
                bounds.take(at_ns, (offset_ns + 20_000, at_ns - 1_000_000), (offset_ns - 20_000, at_ns))
            };
            assert!(matches!(exchange(&mut bounds, 0, 0), Taken::Narrowed { before: None, .. }));
            assert!(matches!(exchange(&mut bounds, 1, 0), Taken::Narrowed { before: Some(_), .. }));
            let Taken::Excluded(now) = exchange(&mut bounds, 2, step_ns) else { panic!("{step_ns}") };
            assert!(now.lower_ns <= step_ns && step_ns <= now.upper_ns, "{now:?}");
            assert!(matches!(exchange(&mut bounds, 3, step_ns), Taken::Narrowed { .. }), "both sides were forgotten");
        }
    }

    #[test]
    fn messages_that_exclude_each_other_leave_nothing() {
        let mut bounds = CaptureBounds::new(100_000);
        assert_eq!(bounds.take(S, (-5_000, S), (5_000, S)), Taken::Impossible);
        assert!(matches!(bounds.take(2 * S, (9, 2 * S), (-9, 2 * S)), Taken::Narrowed { before: None, .. }));
    }

    proptest! {
        /// A clock that drifts and is slewed as much as the kernel does stays within its bound.
        #[test]
        fn the_true_offset_is_within_the_bound(seed in any::<u64>(), rates in prop::collection::vec(-590_000_i64..590_000, 2..40)) {
            let mut random = Random::new(seed);
            let mut bounds = CaptureBounds::new(100_000);
            let (mut at_ns, mut offset_ns) = (0_i64, 77_000_i64);
            for rate_ppb in rates {
                let delay = |random: &mut Random| 2_000 + i64::try_from(random.below(60_000)).unwrap();
                let (forward, backward) = (delay(&mut random), delay(&mut random));
                let upper = (offset_ns + forward, at_ns);
                let gap_ns = 50_000_000;
                at_ns += gap_ns;
                offset_ns += gap_ns / 1_000_000 * rate_ppb / 1_000;
                let lower = (offset_ns - backward, at_ns);
                match bounds.take(at_ns, upper, lower) {
                    Taken::Narrowed { with, .. } => {
                        prop_assert!(with.lower_ns <= offset_ns && offset_ns <= with.upper_ns, "{offset_ns} {with:?}");
                    }
                    other => prop_assert!(false, "{other:?}"),
                }
                at_ns += S;
                offset_ns += S / 1_000_000 * rate_ppb / 1_000;
            }
        }
    }
}
