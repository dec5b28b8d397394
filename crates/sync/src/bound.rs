//! Hard bounds on the offset of a clock, from raw time stamps of messages in both directions.
//!
//! No message arrives before it was sent. So if a message from the reference is stamped `t1` at its sender and `t2` on the
//! clock, the clock is ahead of the reference by at most `t2 - t1`; and by at least `-(t4 - t3)` if a message to the reference
//! is stamped `t3` on the clock and `t4` there. Neither depends on a servo, a filter or the symmetry of the path.
//!
//! A bound is older than the moment at which it is asked for. Between the two, the clock was corrected, which is measured
//! against a clock that nobody corrects (`CLOCK_MONOTONIC_RAW`), and that one drifts from the reference by at most the stated
//! rate. All bounds on one side age alike, so the tightest stays the tightest and is the only one that is kept.

use record::TrackPoint;
use units::clamp_i64;

/// A comparison of the clock with one that nobody corrects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The clock that nobody corrects: `CLOCK_MONOTONIC_RAW` (ns).
    pub raw_ns: i64,
    /// The clock at the same moment (ns).
    pub clock_ns: i64,
    /// The largest error of the comparison (ns): the width of the window in which both were read.
    pub error_ns: i64,
}

/// Lower and upper bound of an offset (ns): the clock less the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetBound {
    /// The offset is not below this (ns).
    pub lower_ns: i64,
    /// The offset is not above this (ns).
    pub upper_ns: i64,
}

impl OffsetBound {
    /// How far the bounds lie apart (ns); 0 if they contradict each other.
    #[must_use]
    pub fn width_ns(self) -> u64 {
        u64::try_from(i128::from(self.upper_ns) - i128::from(self.lower_ns)).unwrap_or(0)
    }

    /// The largest magnitude that the offset can have (ns).
    #[must_use]
    pub fn largest_ns(self) -> u64 {
        self.lower_ns.unsigned_abs().max(self.upper_ns.unsigned_abs())
    }

    /// Whether no offset satisfies both bounds: one of the assumptions is false.
    #[must_use]
    pub const fn is_contradiction(self) -> bool {
        self.lower_ns > self.upper_ns
    }

    /// The narrower of the two; a contradiction is wider than every other one, since it bounds nothing.
    #[must_use]
    pub fn narrower(self, other: Self) -> Self {
        let width = |bound: Self| (bound.is_contradiction(), bound.width_ns());
        if width(other) < width(self) { other } else { self }
    }

    /// The narrowest bound that contains both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self { lower_ns: self.lower_ns.min(other.lower_ns), upper_ns: self.upper_ns.max(other.upper_ns) }
    }
}

/// One side of the bound, at the moment of a reading.
#[derive(Clone, Copy, Debug)]
struct Side {
    value_ns: i64,
    at: ClockReading,
}

/// Follows the bounds on the offset of one clock from one reference.
#[derive(Clone, Copy, Debug)]
pub struct OffsetBounds {
    max_drift_ppb: u32,
    upper: Option<Side>,
    lower: Option<Side>,
    last: Option<ClockReading>,
    rate: Rate,
    /// The correction of the clock's rate that its device states, at the last comparison and at the one before.
    stated: Option<(i64, i64)>,
}

/// How much the clock's rate was corrected lately.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    /// The comparison from which the next rate is computed.
    from: Option<ClockReading>,
    /// The clock's rate less that of the uncorrected clock (parts per billion), and how wrong that can be.
    correction_ppb: i64,
    error_ppb: i64,
    /// Lowest and highest stated correction since `from`, and in the time before of which the rate is.
    swing: Option<(i64, i64)>,
    swing_before: Option<(i64, i64)>,
}

/// The hull of two ranges, of which either may be missing.
fn hull_of_ranges(one: Option<(i64, i64)>, other: Option<(i64, i64)>) -> Option<(i64, i64)> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

/// Comparisons that lie closer together say little of a rate (ns).
const LEAST_RATE_NS: i64 = 50_000_000;
/// How wrong a rate can be of which nothing is known: the kernel corrects by 500 parts per million at most, adjtime(3) by as much.
const UNKNOWN_RATE_PPB: i64 = 1_000_000;

impl Rate {
    /// Takes a comparison, with the correction that the device states then.
    fn take(&mut self, now: ClockReading, stated_ppb: Option<i64>) {
        let stated = stated_ppb.map(|ppb| (ppb, ppb));
        let Some(from) = self.from else {
            // What is stated leaves the error of the oscillator open.
            let correction_ppb = stated_ppb.unwrap_or(0);
            *self = Self {
                from: Some(now),
                correction_ppb,
                error_ppb: UNKNOWN_RATE_PPB,
                swing: stated,
                swing_before: None,
            };
            return;
        };
        self.swing = hull_of_ranges(self.swing, stated);
        let elapsed_ns = now.raw_ns.saturating_sub(from.raw_ns);
        if elapsed_ns < LEAST_RATE_NS {
            return;
        }
        let change_ns = now.clock_ns.saturating_sub(from.clock_ns).saturating_sub(elapsed_ns);
        let ppb = |ns: i64| clamp_i64(i128::from(ns) * 1_000_000_000 / i128::from(elapsed_ns));
        let error_ppb = ppb(from.error_ns.saturating_add(now.error_ns)).saturating_add(1);
        let correction_ppb = ppb(change_ns);
        *self = Self { from: Some(now), correction_ppb, error_ppb, swing: stated, swing_before: self.swing };
    }

    /// How wrong the rate can be between a stamp and the last comparison (parts per billion): it may have been corrected
    /// otherwise in between.
    fn largest_error_ppb(&self) -> i64 {
        let swing = hull_of_ranges(self.swing, self.swing_before).map_or(0, |(low, high)| high.saturating_sub(low));
        self.error_ppb.saturating_add(swing)
    }
}

/// Rounded up to whole ns, plus one for the fractions that the stamps leave out.
fn drift_ns(elapsed_ns: i64, ppb: i64) -> i64 {
    let product = i128::from(elapsed_ns.unsigned_abs()) * i128::from(ppb.unsigned_abs());
    i64::try_from(product / 1_000_000_000 + 1).unwrap_or(i64::MAX)
}

impl OffsetBounds {
    /// Without a bound yet. `max_drift_ppb` is how much the rate of the uncorrected clock differs from the reference's at most
    /// (parts per billion).
    #[must_use]
    pub const fn new(max_drift_ppb: u32) -> Self {
        Self {
            max_drift_ppb,
            upper: None,
            lower: None,
            last: None,
            rate: Rate { from: None, correction_ppb: 0, error_ppb: 0, swing: None, swing_before: None },
            stated: None,
        }
    }

    /// Forgets all bounds: the reference changed, or the clock was set.
    pub const fn forget(&mut self) {
        (self.upper, self.lower) = (None, None);
    }

    /// The correction of the clock's rate that its device states (parts per billion), `None` where it states none. To be
    /// called before each comparison: a servo may correct a hardware clock by several parts per hundred, which is no step.
    pub fn state_correction(&mut self, ppb: Option<i64>) {
        self.stated = ppb.map(|ppb| (ppb, self.stated.map_or(ppb, |(last, _)| last)));
    }

    /// Takes a new comparison of the clocks. Returns by how much the clock was set in between (ns), if no correction of its rate
    /// explains the change; the bounds are then forgotten.
    pub fn compare(&mut self, now: ClockReading) -> Option<i64> {
        let stated_ppb = self.stated.map(|(ppb, _)| ppb);
        let Some(last) = self.last.replace(now) else {
            self.rate.take(now, stated_ppb);
            return None;
        };
        let elapsed_ns = now.raw_ns.saturating_sub(last.raw_ns);
        let change_ns = now.clock_ns.saturating_sub(last.clock_ns).saturating_sub(elapsed_ns);
        // What the stated corrections explain: one of them was in force first, the other one then.
        let explained_ns = |ppb: i64| clamp_i64(i128::from(elapsed_ns) * i128::from(ppb) / 1_000_000_000);
        let (now_ppb, before_ppb) = self.stated.unwrap_or_default();
        let (one_ns, other_ns) = (explained_ns(now_ppb), explained_ns(before_ppb));
        let nearest_ns = change_ns.clamp(one_ns.min(other_ns), one_ns.max(other_ns));
        let unexplained_ns = change_ns.saturating_sub(nearest_ns);
        // A rate is corrected by at most 500 parts per million (1000 by adjtime(3)), and what else a device does it states; an
        // oscillator is not off by more either. Twice that, and the errors, is a step.
        let largest_ns = drift_ns(elapsed_ns, 2_000_000).saturating_add(last.error_ns).saturating_add(now.error_ns);
        if elapsed_ns <= 0 || unexplained_ns.unsigned_abs() > largest_ns.unsigned_abs().max(20_000) {
            self.forget();
            self.rate = Rate::default();
            self.rate.take(now, stated_ppb);
            return Some(unexplained_ns);
        }
        self.rate.take(now, stated_ppb);
        None
    }

    /// Takes the stamps of a message from the reference: `t1_ns` by its sender, `t2_ns` on the clock. Compare the clocks first,
    /// as soon as possible after `t2_ns`.
    pub fn received(&mut self, t1_ns: i64, t2_ns: i64) {
        let Some(side) = self.side(t2_ns.saturating_sub(t1_ns), t2_ns, 1) else { return };
        if self.upper.is_none_or(|held| side.value_ns < self.aged(held, side.at, 1)) {
            self.upper = Some(side);
        }
    }

    /// Takes the stamps of a message to the reference: `t3_ns` on the clock, `t4_ns` there. Compare the clocks first.
    pub fn sent(&mut self, t3_ns: i64, t4_ns: i64) {
        let Some(side) = self.side(t3_ns.saturating_sub(t4_ns), t3_ns, -1) else { return };
        if self.lower.is_none_or(|held| side.value_ns > self.aged(held, side.at, -1)) {
            self.lower = Some(side);
        }
    }

    /// A bound at the moment of the last comparison, from one at a stamp before it. Between the two the clock is taken to have
    /// been corrected at the rate last seen, within the stated drift.
    fn side(&self, value_ns: i64, stamp_ns: i64, direction: i64) -> Option<Side> {
        let at = self.last?;
        let since_ns = at.clock_ns.saturating_sub(stamp_ns);
        let corrected_ns = i128::from(since_ns) * i128::from(self.rate.correction_ppb) / 1_000_000_000;
        let drift_ns =
            drift_ns(since_ns, (i64::from(self.max_drift_ppb) * 2).saturating_add(self.rate.largest_error_ppb()));
        let value_ns = value_ns
            .saturating_add(clamp_i64(corrected_ns))
            .saturating_add(direction.saturating_mul(drift_ns.saturating_add(at.error_ns)));
        Some(Side { value_ns, at })
    }

    /// One side at a later moment; `direction` is 1 for the upper one and -1 for the lower one.
    fn aged(&self, side: Side, now: ClockReading, direction: i64) -> i64 {
        let elapsed_ns = now.raw_ns.saturating_sub(side.at.raw_ns);
        let corrected_ns = now.clock_ns.saturating_sub(side.at.clock_ns).saturating_sub(elapsed_ns);
        let widened_ns = drift_ns(elapsed_ns, i64::from(self.max_drift_ppb)).saturating_add(if elapsed_ns == 0 {
            0
        } else {
            side.at.error_ns.saturating_add(now.error_ns)
        });
        side.value_ns.saturating_add(corrected_ns).saturating_add(direction.saturating_mul(widened_ns))
    }

    /// By how much the clock's rate is corrected against the uncorrected clock (parts per billion); `None` if that is not known yet.
    #[must_use]
    pub fn correction_ppb(&self) -> Option<f64> {
        (self.rate.error_ppb > 0 && self.rate.error_ppb < UNKNOWN_RATE_PPB)
            .then(|| units::approx_f64_i64(self.rate.correction_ppb))
    }

    /// The bound at the moment of the last comparison; `None` if a side is missing.
    #[must_use]
    pub fn now(&self) -> Option<OffsetBound> {
        let (now, upper, lower) = (self.last?, self.upper?, self.lower?);
        Some(OffsetBound { lower_ns: self.aged(lower, now, -1), upper_ns: self.aged(upper, now, 1) })
    }
}

impl From<(i64, i64)> for OffsetBound {
    fn from((lower_ns, upper_ns): (i64, i64)) -> Self {
        Self { lower_ns, upper_ns }
    }
}

impl From<OffsetBound> for (i64, i64) {
    fn from(bound: OffsetBound) -> Self {
        (bound.lower_ns, bound.upper_ns)
    }
}

/// The hull of the bounds of a track's points; `None` if no point has one.
#[must_use]
pub fn hull_of(track: &[TrackPoint]) -> Option<OffsetBound> {
    let bounds = track.iter().filter_map(|point| point.bound_ns);
    bounds.map(OffsetBound::from).reduce(OffsetBound::hull)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::Random;

    use super::*;

    /// A clock and a reference whose offset is known at each moment, and a path between them.
    struct World {
        random: Random,
        raw_ns: i64,
        /// The clock less the reference.
        offset_ns: f64,
        drift_ppb: i64,
        correction_ppb: i64,
        clock_ns: i64,
    }

    #[allow(clippy::cast_possible_truncation, reason = "well below 2^53")]
    fn rounded(ns: f64) -> i64 {
        ns.round() as i64
    }

    impl World {
        fn advance(&mut self, by_ns: i64) {
            let rate = |ppb: i64| units::approx_f64_i64(by_ns) * units::approx_f64_i64(ppb) / 1e9;
            self.raw_ns += by_ns;
            // The reference passes `by_ns` less the drift of the uncorrected clock.
            self.offset_ns += rate(self.drift_ppb) + rate(self.correction_ppb);
            self.clock_ns += by_ns + rounded(rate(self.correction_ppb));
        }

        /// A comparison that is as wrong as it says.
        fn reading(&mut self) -> ClockReading {
            let wrong_ns = i64::try_from(self.random.below(101)).unwrap() - 50;
            ClockReading { raw_ns: self.raw_ns, clock_ns: self.clock_ns + wrong_ns, error_ns: 50 }
        }

        fn reference_ns(&self) -> i64 {
            self.clock_ns - rounded(self.offset_ns)
        }

        fn delay(&mut self, least_ns: i64) -> i64 {
            let queued = if self.random.below(10) == 0 { 3_000_000 } else { 20_000 };
            least_ns + i64::try_from(self.random.below(queued)).unwrap()
        }
    }

    fn follow(
        seed: u64,
        drift_ppb: i64,
        corrections: &[i64],
        forward_ns: i64,
        backward_ns: i64,
    ) -> Vec<(f64, OffsetBound)> {
        let mut world = World {
            random: Random::new(seed),
            raw_ns: 5_000_000_000,
            offset_ns: 123_456.0,
            drift_ppb,
            correction_ppb: 0,
            clock_ns: 1_700_000_000_000_000_000,
        };
        let mut bounds = OffsetBounds::new(100_000);
        let mut seen = Vec::new();
        for &correction in corrections {
            world.correction_ppb = correction;
            for _ in 0..8 {
                world.advance(60_000_000);
                // One right after the other, as when several messages come in.
                for _ in 0..2 {
                    world.advance(10_000);
                    let reading = world.reading();
                    assert_eq!(bounds.compare(reading), None);
                }
                let t1 = world.reference_ns();
                let delay = world.delay(forward_ns);
                world.advance(delay);
                let t2 = world.clock_ns;
                world.advance(700_000);
                let reading = world.reading();
                assert_eq!(bounds.compare(reading), None);
                bounds.received(t1, t2);
                let t3 = world.clock_ns;
                let delay = world.delay(backward_ns);
                world.advance(delay);
                let t4 = world.reference_ns();
                world.advance(900_000);
                let reading = world.reading();
                assert_eq!(bounds.compare(reading), None);
                bounds.sent(t3, t4);
                seen.extend(bounds.now().map(|bound| (world.offset_ns, bound)));
            }
        }
        seen
    }

    proptest! {
        #[test]
        fn the_true_offset_is_within_the_bound(
            seed in any::<u64>(),
            drift_ppb in -99_000_i64..99_000,
            corrections in prop::collection::vec(-50_000_i64..50_000, 1..12),
            forward_ns in 1_000_i64..500_000,
            backward_ns in 1_000_i64..500_000,
        ) {
            for (offset_ns, bound) in follow(seed, drift_ppb, &corrections, forward_ns, backward_ns) {
                let truth = rounded(offset_ns);
                prop_assert!(bound.lower_ns <= truth && truth <= bound.upper_ns, "{truth} {bound:?}");
            }
        }
    }

    #[test]
    fn the_bound_is_as_tight_as_the_fastest_messages_and_hides_no_asymmetry() {
        let narrowest = |forward_ns, backward_ns| {
            let all = follow(7, 0, &[0; 12], forward_ns, backward_ns);
            all.iter().map(|(_, bound)| bound.width_ns()).min().unwrap()
        };
        let (even, uneven) = (narrowest(10_000, 10_000), narrowest(10_000, 500_000));
        assert!((20_000..60_000).contains(&even), "{even}");
        assert!((510_000..560_000).contains(&uneven), "{uneven}");
    }

    #[test]
    fn a_step_is_noticed_and_forgets_the_bounds() {
        let mut bounds = OffsetBounds::new(100_000);
        let at = |raw_ns: i64, ahead_ns: i64| ClockReading { raw_ns, clock_ns: raw_ns + ahead_ns, error_ns: 50 };
        assert_eq!(bounds.compare(at(0, 0)), None);
        bounds.received(-1_000, 0);
        bounds.sent(0, 1_000);
        assert!(bounds.now().is_some());
        // A slew of 500 parts per million is none.
        assert_eq!(bounds.compare(at(100_000_000, 50_000)), None);
        assert!(bounds.now().is_some());
        assert_eq!(bounds.compare(at(200_000_000, 10_050_000)), Some(10_000_000));
        assert_eq!(bounds.now(), None);
    }

    #[test]
    fn a_fast_correction_that_the_device_states_is_no_step_and_widens_what_is_not_known() {
        let at = |raw_ns: i64, ahead_ns: i64| ClockReading { raw_ns, clock_ns: raw_ns + ahead_ns, error_ns: 50 };
        // 6500 parts per million: in 100 ms 650 us.
        let follow = |stated: [Option<i64>; 3], ahead_ns: [i64; 3]| {
            let mut bounds = OffsetBounds::new(100_000);
            let mut steps = Vec::new();
            for (place, (stated, ahead_ns)) in (0..).zip(stated.into_iter().zip(ahead_ns)) {
                bounds.state_correction(stated);
                steps.push(bounds.compare(at(place * 100_000_000, ahead_ns)));
            }
            (steps, bounds)
        };
        let slewed = [0, 0, 650_000];
        let (steps, _) = follow([None; 3], slewed);
        assert_eq!(steps, [None, None, Some(650_000)]);
        let (steps, mut bounds) = follow([Some(0), Some(0), Some(6_500_000)], slewed);
        assert_eq!(steps, [None; 3]);
        // 10 ms before the last comparison the clock may have been corrected or not: 65 us either way.
        let stamp_ns = 200_000_000 + 650_000 - 10_000_000;
        bounds.received(stamp_ns - 1_000, stamp_ns);
        bounds.sent(stamp_ns, stamp_ns + 1_000);
        let bound = bounds.now().unwrap();
        assert!(bound.lower_ns <= 0 && bound.upper_ns >= 65_000, "{bound:?}");
        // A step on top of it is one, by what the correction does not explain.
        let (steps, _) = follow([Some(0), Some(0), Some(6_500_000)], [0, 0, 5_650_000]);
        assert_eq!(steps, [None, None, Some(5_000_000)]);
        let (steps, _) = follow([Some(-6_500_000), Some(-6_500_000), Some(0)], [0, -650_000, 4_500_000]);
        assert_eq!(steps, [None, None, Some(5_150_000)]);
    }

    #[test]
    fn a_bound_ages_by_the_stated_drift_alone_if_nothing_is_corrected() {
        let mut bounds = OffsetBounds::new(100_000);
        let at = |raw_ns: i64| ClockReading { raw_ns, clock_ns: raw_ns, error_ns: 0 };
        bounds.compare(at(0));
        bounds.received(-1_000, 0);
        bounds.sent(0, 1_000);
        let first = bounds.now().unwrap();
        assert_eq!(first.width_ns(), 2_000 + 4);
        bounds.compare(at(1_000_000_000));
        assert_eq!(bounds.now().unwrap().width_ns(), first.width_ns() + 200_000);
    }

    #[test]
    fn bounds_that_exclude_each_other_say_so() {
        let bound = OffsetBound { lower_ns: 10, upper_ns: 5 };
        assert!(bound.is_contradiction());
        assert_eq!(bound.width_ns(), 0);
        assert_eq!(OffsetBound { lower_ns: -7, upper_ns: 5 }.largest_ns(), 7);
    }

    proptest! {
        /// What a partner says of the clock of its interface is compared too.
        #[test]
        fn readings_and_corrections_of_any_size_break_nothing(
            said in prop::collection::vec((prop::array::uniform3(any::<i64>()), any::<Option<i64>>()), 1..20),
        ) {
            let mut bounds = OffsetBounds::new(u32::MAX);
            for ([raw_ns, clock_ns, error_ns], correction_ppb) in said {
                bounds.state_correction(correction_ppb);
                bounds.compare(ClockReading { raw_ns, clock_ns, error_ns });
                bounds.received(error_ns, clock_ns);
                bounds.sent(raw_ns, error_ns);
                let _ = bounds.now();
            }
        }
    }
}
