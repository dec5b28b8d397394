//! Converts times of a node's system clock to the clock of that node that nobody corrects (`CLOCK_MONOTONIC_RAW`), by comparisons
//! of both.

use std::cell::Cell;
use std::collections::VecDeque;

use sync::bound::ClockReading;
use units::clamp_i64;

use crate::header::unsigned;

/// Comparisons that are kept: those of the last ten seconds.
pub(crate) const KEPT: usize = 1_024;
/// Between two comparisons a clock's rate is corrected by at most this (parts per billion): adjtime(3) by 500 parts per million,
/// the kernel's own frequency by as much, and some services by the length of a tick. More is a step.
const MOST_CORRECTION_PPB: i64 = 2_000_000;
/// Smaller changes of a clock are no step (ns): they are part of the error.
const LEAST_STEP_NS: i64 = 20_000;
/// Corrections that cancel each other between two comparisons, some 20 ms apart, are taken to be no larger than this (parts
/// per billion): services change their corrections a few times a second at most.
const HIDDEN_PPB: i64 = 1_000;
/// A time from one comparison to the next that is as long as this shows at which rate a clock was corrected (ns). The comparisons
/// of one exchange are so close together that their errors show instead.
pub(crate) const TELLING_NS: i64 = 4_000_000;
/// What it makes that a time along a line is rounded down, and the line's share before (ns): the latter is below one up to 18
/// minutes from comparison to comparison, and far below a bend's part beyond.
const ROUNDING_NS: i64 = 2;

/// A time between two comparisons or exchanges that is longer (ns; 13 days) is not prepared for, and neither is an error or a bound
/// beyond [`FARTHEST_NS`] (36 years): sums of those that are prepared cannot overflow.
pub(crate) const LONGEST_NS: i64 = 1 << 50;
/// What drifts make in a time as short as this is less than the error of any comparison (ns).
const SHORT_NS: i64 = 100_000;
/// See [`LONGEST_NS`].
pub(crate) const FARTHEST_NS: i64 = 1 << 60;

/// A share of a time in units of 2^-40, made once for many packets, so that none of them divides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share(i64);

impl Share {
    const BITS: u32 = 40;

    /// What `part` is of a positive `whole`, rounded down.
    pub(crate) fn of(part: i64, whole: i64) -> Self {
        Self(clamp_i64((i128::from(part) << Self::BITS).div_euclid(i128::from(whole.max(1)))))
    }

    /// At least so many parts per billion.
    pub(crate) fn at_least_ppb(ppb: i64) -> Self {
        Self(Self::of(ppb, 1_000_000_000).0.saturating_add(1))
    }

    /// This share of a time, rounded down (ns).
    #[inline]
    pub(crate) fn of_ns(self, ns: i64) -> i64 {
        clamp_i64((i128::from(self.0) * i128::from(ns)) >> Self::BITS)
    }

    /// As [`Self::of_ns`], of a time up to [`LONGEST_NS`] whose share fits 64 bits: what does not is wrong.
    #[inline(always)]
    pub(crate) fn of_short_ns(self, ns: i64) -> i64 {
        #[expect(clippy::cast_possible_truncation, reason = "the caller knows that it fits")]
        let share_ns = ((i128::from(self.0) * i128::from(ns)) >> Self::BITS) as i64;
        share_ns
    }

    /// This share of a time before or after, rounded up (ns).
    #[inline]
    pub(crate) fn beyond_ns(self, ns: i64) -> i64 {
        self.of_ns(ns.saturating_abs()).saturating_add(1)
    }
}

/// What `ppb` parts per billion are of a time, rounded up (ns).
pub(crate) fn part_ns(elapsed_ns: i64, ppb: i64) -> i64 {
    scaled(elapsed_ns.saturating_abs(), ppb, 1_000_000_000).saturating_add(1)
}

/// `ns` times `factor` by a positive `divisor`, rounded down.
fn scaled(ns: i64, factor: i64, divisor: i64) -> i64 {
    let divisor = divisor.max(1);
    let exact = || clamp_i64((i128::from(ns) * i128::from(factor)).div_euclid(i128::from(divisor)));
    // A division of 128 bits takes ten times the instructions.
    ns.checked_mul(factor).map_or_else(exact, |product| product.div_euclid(divisor))
}

/// The number of elements before the first one that is not `before` another moment: as `partition_point`, but what is asked for
/// is nearly always among the last, so those are looked at first, in steps that double.
pub(crate) fn count_before<T>(all: &VecDeque<T>, before: impl Fn(&T) -> bool) -> usize {
    let (mut high, mut step) = (all.len(), 1);
    let mut low = loop {
        let Some(at) = high.checked_sub(step) else { break 0 };
        if before(&all[at]) {
            break at + 1;
        }
        (high, step) = (at, step * 2);
    };
    while low < high {
        let middle = low.midpoint(high);
        if before(&all[middle]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Converts times of a node's system clock to its uncorrected clock.
#[derive(Clone, Debug, Default)]
pub struct Scale {
    readings: VecDeque<ClockReading>,
    /// What is known of the time from each comparison to the next one: one fewer than there are comparisons.
    stretches: VecDeque<Stretch>,
    /// The stretch that was asked for last: the times of one packet, and those of the next one, nearly always lie in the same.
    near: Cell<usize>,
}

/// The time between two comparisons, and the straight line through both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    from: ClockReading,
    /// How long it is on the system clock (ns), at most [`LONGEST_NS`].
    whole_ns: i64,
    /// How much more the uncorrected clock passed, as a share of the system clock's time.
    more: Share,
    /// How long it is on the uncorrected clock (ns).
    raw_ns: i64,
    /// How much the clock was corrected (parts per billion of the uncorrected time).
    correction_ppb: i64,
    /// What both comparisons can be wrong by together (ns).
    errors_ns: i64,
    /// The larger error of both comparisons, what rounding makes, and the step that may be in between (ns).
    error_ns: i64,
    /// By how much the clock may have been set in between (ns): what no correction of its rate explains.
    step_ns: i64,
    /// How far it may have bent off the straight line, as a share of the time to the nearer comparison.
    bend: Share,
}

/// A time of the uncorrected clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncorrected {
    /// The time (ns).
    pub ns: i64,
    /// How wrong it can be (ns).
    pub error_ns: i64,
}

impl Stretch {
    fn between(from: ClockReading, to: ClockReading) -> Self {
        let whole_ns = to.clock_ns.saturating_sub(from.clock_ns).clamp(1, LONGEST_NS);
        let raw_ns = to.raw_ns.saturating_sub(from.raw_ns);
        let change_ns = to.clock_ns.saturating_sub(from.clock_ns).saturating_sub(raw_ns);
        Self {
            from,
            whole_ns,
            more: Share::of(raw_ns.saturating_sub(whole_ns), whole_ns),
            raw_ns,
            correction_ppb: scaled(change_ns, 1_000_000_000, raw_ns),
            errors_ns: from.error_ns.saturating_add(to.error_ns),
            error_ns: 0,
            step_ns: 0,
            bend: Share::default(),
        }
    }

    const fn is_telling(&self) -> bool {
        self.raw_ns >= TELLING_NS
    }

    /// What the times before and after it, as far as they show a rate, say of the line through it.
    ///
    /// Where the rate was changed in between, the line is off by at most the part that is nearer, at the change, and the rate lies
    /// between those before and after. What lies outside of these, by more than errors explain, was a small step, at any moment:
    /// the line is off by as much of it as a service can have hidden by a change of the rate at the same time.
    fn compare(&mut self, (from, to): (&ClockReading, &ClockReading), beside: [Option<&Self>; 2]) {
        let own_ppb = self.correction_ppb;
        let known = || beside.into_iter().flatten();
        let rates = || known().map(|other| other.correction_ppb);
        // Nothing is known of the rate before the first one: it may be all new.
        let (lowest_ppb, highest_ppb) = (rates().min().unwrap_or(0), rates().max().unwrap_or(0));
        let hull_ppb = highest_ppb.saturating_sub(lowest_ppb);
        let outside_ppb = lowest_ppb.saturating_sub(own_ppb).max(own_ppb.saturating_sub(highest_ppb)).max(0);
        let errors_beside_ns =
            known().map(|other| scaled(other.errors_ns, self.raw_ns, other.raw_ns)).max().unwrap_or(0);
        let errors_ns = self.errors_ns.saturating_add(errors_beside_ns).saturating_add(ROUNDING_NS);
        let outside_ns = part_ns(self.raw_ns, outside_ppb);
        self.step_ns = if outside_ns > errors_ns {
            outside_ns.saturating_add(errors_ns).saturating_add(part_ns(self.raw_ns, hull_ppb)).min(FARTHEST_NS)
        } else {
            0
        };
        let change_ppb = if self.is_telling() {
            // Where one side is not known yet, the other one stands for both.
            let changes = || rates().map(|other| own_ppb.saturating_sub(other).saturating_abs());
            let both = changes().fold(0, i64::saturating_add);
            match changes().count() {
                0 => own_ppb.saturating_abs(),
                1 => both.saturating_mul(2),
                _ => both,
            }
        } else {
            hull_ppb
        };
        self.bend = Share::at_least_ppb(change_ppb.min(MOST_CORRECTION_PPB).saturating_add(HIDDEN_PPB));
        let window_ns = from.error_ns.max(to.error_ns).saturating_add(ROUNDING_NS);
        self.error_ns = window_ns.saturating_add(self.step_ns).clamp(0, FARTHEST_NS);
    }

    /// Between two comparisons the clock was corrected at about the rate that both show. `None` where the moment is not between
    /// these two.
    #[inline(always)]
    pub(crate) fn at(&self, clock_ns: i64) -> Option<Uncorrected> {
        let passed_ns = clock_ns.wrapping_sub(self.from.clock_ns);
        // A difference that does not fit is below zero, and so a huge number without its sign.
        if clock_ns <= self.from.clock_ns || unsigned(passed_ns) > unsigned(self.whole_ns) {
            return None;
        }
        let nearer_ns = passed_ns.min(self.whole_ns - passed_ns);
        let more_ns = self.more.of_short_ns(passed_ns);
        Some(Uncorrected {
            ns: self.from.raw_ns.wrapping_add(passed_ns).wrapping_add(more_ns),
            error_ns: self.error_ns + self.bend.of_short_ns(nearer_ns) + 1,
        })
    }
}

impl Stretch {
    /// How long it was on the uncorrected clock from one time in this stretch to a later one, at most [`SHORT_NS`]; `None` for
    /// others.
    #[inline(always)]
    pub(crate) fn passed(&self, from_ns: i64, to_ns: i64) -> Option<Uncorrected> {
        let passed_ns = to_ns.wrapping_sub(from_ns);
        // Computed before it is known to be wanted, as a number with a sign: the processor has one instruction for that.
        let (bend_ns, more_ns) = (self.bend.of_short_ns(passed_ns), self.more.of_short_ns(passed_ns));
        let since_ns = to_ns.wrapping_sub(self.from.clock_ns);
        let is_in_it =
            self.from.clock_ns < from_ns && from_ns <= to_ns && unsigned(since_ns) <= unsigned(self.whole_ns);
        if !is_in_it || passed_ns > SHORT_NS {
            return None;
        }
        // A step can lie between the two.
        if self.step_ns != 0 {
            return None;
        }
        // How far it can have bent off the line differs between both by no more than what it can bend in that time; the line's
        // own slope is wrong by the errors of two comparisons in far longer.
        Some(Uncorrected { ns: passed_ns + more_ns, error_ns: bend_ns + ROUNDING_NS })
    }
}

/// Whether no correction of the clock's rate explains how it changed from one comparison to a later one.
pub(crate) fn is_step(last: ClockReading, now: ClockReading) -> bool {
    let elapsed_ns = now.raw_ns.saturating_sub(last.raw_ns);
    let change_ns = now.clock_ns.saturating_sub(last.clock_ns).saturating_sub(elapsed_ns);
    let errors_ns = last.error_ns.saturating_add(now.error_ns);
    let explained_ns = part_ns(elapsed_ns, MOST_CORRECTION_PPB).saturating_add(errors_ns).max(LEAST_STEP_NS);
    change_ns.unsigned_abs() > explained_ns.unsigned_abs()
}

impl Scale {
    /// The stretch that was asked for last.
    pub(crate) fn near(&self) -> Option<&Stretch> {
        self.stretches.get(self.near.get())
    }

    /// Takes the next comparison. Returns by how much the system clock was set since the last one (ns), if no correction of its
    /// rate explains the change; all earlier comparisons are then forgotten.
    pub fn take(&mut self, now: ClockReading) -> Option<i64> {
        // The partner's own can be any number.
        let now = ClockReading { error_ns: now.error_ns.clamp(0, FARTHEST_NS), ..now };
        let Some(last) = self.last() else {
            self.readings.push_back(now);
            return None;
        };
        let elapsed_ns = now.raw_ns.saturating_sub(last.raw_ns);
        if elapsed_ns <= 0 {
            // The messages came in another order than they were sent.
            return None;
        }
        let change_ns = now.clock_ns.saturating_sub(last.clock_ns).saturating_sub(elapsed_ns);
        if is_step(last, now) {
            self.readings.clear();
            self.stretches.clear();
            self.readings.push_back(now);
            return Some(change_ns);
        }
        if elapsed_ns >= TELLING_NS {
            self.thin_out();
        }
        if self.readings.len() == KEPT {
            self.readings.pop_front();
            self.stretches.pop_front();
            // What has lost the one before it: as far as the first that shows a rate.
            let until = self.stretches.iter().position(Stretch::is_telling).unwrap_or(0);
            (0..=until).for_each(|at| self.compare(at));
        }
        let last = self.readings.back().copied().unwrap_or(now);
        self.readings.push_back(now);
        self.stretches.push_back(Stretch::between(last, now));
        let newest = self.stretches.len() - 1;
        let has_one_after = if self.stretches[newest].is_telling() {
            // Back to the last that showed a rate before, and what lies between.
            let before = self.stretches.iter().rev().skip(1).position(Stretch::is_telling);
            before.map_or(0, |back| newest - 1 - back)
        } else {
            newest
        };
        (has_one_after..=newest).for_each(|at| self.compare(at));
        None
    }

    /// Keeps of the comparisons of an exchange, which are close together, the first and the last.
    fn thin_out(&mut self) {
        let close = self.stretches.iter().rev().take_while(|stretch| !stretch.is_telling()).count();
        if close < 2 {
            return;
        }
        let first = self.readings.len() - 1 - close;
        self.readings.drain(first + 1..first + close);
        self.stretches.truncate(self.stretches.len() - close);
        if let (Some(from), Some(to)) = (self.readings.get(first), self.readings.get(first + 1)) {
            self.stretches.push_back(Stretch::between(*from, *to));
            self.compare(self.stretches.len() - 1);
        }
    }

    /// Compares the time from one comparison to the next with those before and after it that show a rate.
    fn compare(&mut self, at: usize) {
        let beside = [
            self.stretches.range(..at).rev().find(|stretch| stretch.is_telling()).copied(),
            self.stretches.range(at + 1..).find(|stretch| stretch.is_telling()).copied(),
        ];
        let (Some(from), Some(to)) = (self.readings.get(at), self.readings.get(at + 1)) else { return };
        if let Some(stretch) = self.stretches.get_mut(at) {
            stretch.compare((from, to), [beside[0].as_ref(), beside[1].as_ref()]);
        }
    }

    /// The last comparison.
    #[must_use]
    pub fn last(&self) -> Option<ClockReading> {
        self.readings.back().copied()
    }

    /// The same moment on the uncorrected clock; `None` without a comparison.
    #[inline]
    #[must_use]
    pub fn uncorrected(&self, clock_ns: i64) -> Option<Uncorrected> {
        let in_stretch = |number: usize| self.stretches.get(number).and_then(|stretch| stretch.at(clock_ns));
        in_stretch(self.near.get()).or_else(|| self.search(clock_ns))
    }

    /// The same, wherever it lies.
    #[cold]
    fn search(&self, clock_ns: i64) -> Option<Uncorrected> {
        let after = count_before(&self.readings, |reading| reading.clock_ns < clock_ns);
        match (after.checked_sub(1), self.readings.get(after)) {
            (Some(before), Some(_)) => {
                self.near.set(before);
                let near = self.readings.get(before)?;
                self.stretches.get(before)?.at(clock_ns).or_else(|| Some(beside(near, clock_ns)))
            }
            (Some(last), None) => self.readings.get(last).map(|near| beside(near, clock_ns)),
            (None, first) => first.map(|near| beside(near, clock_ns)),
        }
    }
}

/// Outside of the comparisons the clock may have been corrected at any rate that is possible.
fn beside(near: &ClockReading, clock_ns: i64) -> Uncorrected {
    let away_ns = clock_ns.saturating_sub(near.clock_ns);
    Uncorrected {
        ns: near.raw_ns.saturating_add(away_ns),
        error_ns: near.error_ns.saturating_add(part_ns(away_ns, MOST_CORRECTION_PPB)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_short_time_is_the_difference_of_its_ends(
            mut corrections_ppb in prop::array::uniform3(-900_000_i64..900_000), at in 1..19_000_000_i64, long in 0..2 * SHORT_NS,
        ) {
            // A rate that lies between those around it is no step.
            corrections_ppb.sort_unstable();
            let mut scale = Scale::default();
            let (mut raw_ns, mut clock_ns) = (0, 0);
            scale.take(ClockReading { raw_ns, clock_ns, error_ns: 50 });
            for correction_ppb in corrections_ppb {
                raw_ns += 20_000_000;
                clock_ns += 20_000_000 + 20 * correction_ppb / 1_000;
                scale.take(ClockReading { raw_ns, clock_ns, error_ns: 50 });
            }
            let stretch = scale.stretches[1];
            let (from_ns, to_ns) = (stretch.from.clock_ns + at, stretch.from.clock_ns + at + long);
            let found = stretch.passed(from_ns, to_ns);
            let ends = stretch.at(from_ns).zip(stretch.at(to_ns)).filter(|_| long <= SHORT_NS);
            prop_assert_eq!(found.is_some(), ends.is_some());
            if let Some((found, (from, to))) = found.zip(ends) {
                prop_assert!((found.ns - (to.ns - from.ns)).abs() <= ROUNDING_NS, "{:?} {:?} {:?}", found, from, to);
                // The clock may bend in all of that time as it may between the ends of the stretch.
                let bend_ns = stretch.bend.of_ns(long);
                prop_assert!((bend_ns..=bend_ns + 2 * ROUNDING_NS).contains(&found.error_ns), "{:?} {}", found, bend_ns);
            }
        }

        #[test]
        fn a_share_of_a_time_is_that_of_a_division(part in -2_000_000..2_000_000_i64, whole in 1..1_000_000_000_i64, along in 0.0..1.0) {
            let ns = units::round_i64(units::approx_f64_i64(whole) * along);
            let exact = i128::from(part) * i128::from(ns);
            let lowest = exact.div_euclid(i128::from(whole));
            let found = i128::from(Share::of(part, whole).of_ns(ns));
            prop_assert!((lowest - 1..=lowest).contains(&found), "{} of {}", found, lowest);
        }

        #[test]
        fn what_a_rate_allows_is_never_less_than_exact_nor_much_more(ppb in 0..2_000_000_i64, ns in -4_000_000_000_000..4_000_000_000_000_i64) {
            let least = i128::from(ppb) * i128::from(ns.abs());
            for found in [part_ns(ns, ppb), Share::at_least_ppb(ppb).beyond_ns(ns)] {
                let found = i128::from(found) * 1_000_000_000;
                prop_assert!(found >= least && found <= least + 10_000_000_000, "{} of {}", found, least);
            }
        }

        #[test]
        fn parts_are_the_same_whether_their_products_fit_64_bits_or_not(elapsed_ns in any::<i64>(), shift in 0_u32..63) {
            let elapsed_ns = elapsed_ns >> shift;
            let exact = (i128::from(elapsed_ns.saturating_abs()) * 1_000_000).div_euclid(1_000_000_000);
            prop_assert_eq!(i128::from(part_ns(elapsed_ns, 1_000_000)), exact + 1);
        }

        #[test]
        fn a_search_from_the_end_finds_what_any_search_does(
            mut all in proptest::collection::vec(0_u8..40, 0..30), below in 0_u8..42,
        ) {
            all.sort_unstable();
            let expected = all.partition_point(|one| *one < below);
            prop_assert_eq!(count_before(&all.into(), |one| *one < below), expected);
        }
    }
}
