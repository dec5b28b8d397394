//! Where a boot's times lie in UTC. Pure.
//!
//! A boot has a list of *relations*: at this moment of CLOCK_BOOTTIME it was that time in UTC, give or take so much. They come from the
//! node's own clock where something kept it right, else from the hub's clock when the node sent something in that boot. Between two of
//! them the offset is interpolated; how far it may be off is what both allow, since an oscillator that nobody corrects drifts, and may be
//! brought back before the later one. Where the clock was right at each entry of six hours, what it said bounds all of them.

use std::collections::BTreeMap;

use crate::{Placed, PlacedBy};

/// A millisecond (ns).
const MS: i64 = 1_000_000;
/// How far CLOCK_BOOTTIME may be off after a suspend (ns): the kernel measures its length by a battery's clock, whose seconds it reads at
/// both ends (kernel/time/timekeeping.c, drivers/rtc/class.c).
const SUSPEND_NS: u64 = 2_000_000_000;

/// Of each stretch of a boot that is so long the best relation is kept (ns): six hours.
pub(crate) const SPAN_NS: i64 = 6 * 3_600 * 1_000_000_000;
/// How much an oscillator that nobody corrects may be off (parts per million): twice what crystals of boards are sold with.
const DRIFT_PPM: u64 = 200;
/// How much later than its receipt an entry may be placed before the node's clock is not believed (ns): a day, since the hub's own clock
/// may have been set.
const IMPOSSIBLE_NS: i64 = 86_400 * 1_000_000_000;

/// A moment that was seen on two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    /// ns, CLOCK_BOOTTIME.
    pub(crate) boot_ns: i64,
    /// ns since 1970.
    pub(crate) utc_ns: i64,
    /// How far that may be off (ns).
    pub(crate) error_ns: u64,
    /// Whether it is of the node's own clock; else it is of the hub's, which saw it later by an unknown time.
    pub(crate) is_own: bool,
}

impl Relation {
    pub(crate) const fn offset_ns(&self) -> i64 {
        self.utc_ns.saturating_sub(self.boot_ns)
    }

    /// The better one of two of a kind: whichever comes first, the same stays.
    pub(crate) fn better(self, other: Self) -> Self {
        let key = |of: &Self| {
            // What arrived soonest after it was written is nearest; of a clock's own what is surest.
            let first = if of.is_own { i128::from(of.error_ns) } else { i128::from(of.offset_ns()) };
            (first, of.boot_ns, of.utc_ns, of.error_ns)
        };
        if key(&other) < key(&self) { other } else { self }
    }

    /// By how much the offset may have changed until another moment (ns).
    fn drift_ns(&self, boot_ns: i64) -> u64 {
        self.boot_ns.abs_diff(boot_ns) / 1_000_000 * DRIFT_PPM
    }
}

/// What the node's own clock said at the beginnings of all entries of a stretch of a boot ([`SPAN_NS`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockSpan {
    /// UTC less CLOCK_BOOTTIME is at least this (ns) ...
    pub(crate) lowest_ns: i64,
    /// ... and at most this, where something kept the clock right.
    pub(crate) highest_ns: i64,
    /// Whether it was not right at the beginning of some entry: then the two hold of the others alone.
    pub(crate) is_broken: bool,
}

impl ClockSpan {
    /// What a clock that is right says, in whole milliseconds: so that it rarely changes.
    pub(crate) fn right(offset_ns: i64, error_ns: u64) -> Self {
        let lowest_ns = offset_ns.saturating_sub_unsigned(error_ns).div_euclid(MS) * MS;
        let highest_ns =
            offset_ns.saturating_add_unsigned(error_ns).div_euclid(MS).saturating_add(1).saturating_mul(MS);
        Self { lowest_ns, highest_ns, is_broken: false }
    }

    /// What one that is not says.
    pub(crate) const fn broken() -> Self {
        Self { lowest_ns: i64::MAX, highest_ns: i64::MIN, is_broken: true }
    }

    /// What both say, in whatever order.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            lowest_ns: self.lowest_ns.min(other.lowest_ns),
            highest_ns: self.highest_ns.max(other.highest_ns),
            is_broken: self.is_broken || other.is_broken,
        }
    }
}

/// All that is known of a boot's time in UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Relations {
    /// By their moment.
    own: Vec<Relation>,
    receipts: Vec<Relation>,
    /// Stretches in which the clock was right throughout, by their number.
    right: BTreeMap<i64, ClockSpan>,
    /// When suspends began (ns, CLOCK_BOOTTIME).
    suspends: Vec<i64>,
}

impl Relations {
    /// Of what is known of a boot, in any order.
    pub(crate) fn new(
        relations: impl IntoIterator<Item = Relation>,
        spans: impl IntoIterator<Item = (i64, ClockSpan)>,
        suspends: impl IntoIterator<Item = i64>,
    ) -> Self {
        let mut all = Self::default();
        for relation in relations {
            if relation.is_own { all.own.push(relation) } else { all.receipts.push(relation) }
        }
        for known in [&mut all.own, &mut all.receipts] {
            known.sort_by_key(|relation| (relation.boot_ns, relation.error_ns, relation.utc_ns));
        }
        all.right = spans.into_iter().filter(|(_, span)| !span.is_broken).collect();
        all.suspends = suspends.into_iter().collect();
        all.suspends.sort_unstable();
        all
    }

    /// The beginning of an entry in UTC; `None` where nothing is known, or what the node's clock says cannot be.
    pub(crate) fn place(&self, boot_ns: i64) -> Option<Placed> {
        if self.own.is_empty() {
            return self.place_by(&self.receipts, boot_ns);
        }
        if self.is_impossible() {
            return None;
        }
        self.place_by(&self.own, boot_ns)
    }

    /// Moments of the boot that may lie in a stretch of UTC: none outside of these does.
    pub(crate) fn may_lie_in(&self, from_utc_ns: i64, to_utc_ns: i64) -> Option<(i64, i64)> {
        let known = if self.own.is_empty() { &self.receipts } else { &self.own };
        let lowest = known.iter().map(Relation::offset_ns).min()?;
        let highest = known.iter().map(Relation::offset_ns).max()?;
        Some((from_utc_ns.saturating_sub(highest), to_utc_ns.saturating_sub(lowest)))
    }

    /// Between which two values UTC less CLOCK_BOOTTIME lies at a moment, by one relation (ns): its oscillator may have drifted since,
    /// whatever another one says of before and after, and each suspend is measured by a battery's clock, in seconds.
    fn bounds(&self, of: &Relation, boot_ns: i64) -> (i64, i64) {
        let (from, to) = (of.boot_ns.min(boot_ns), of.boot_ns.max(boot_ns));
        let before = |moment: i64| self.suspends.partition_point(|suspend| *suspend < moment);
        let suspends = u64::try_from(before(to) - before(from)).unwrap_or(u64::MAX);
        let moved_ns = of.drift_ns(boot_ns).saturating_add(suspends.saturating_mul(SUSPEND_NS));
        let lowest_ns = of.offset_ns().saturating_sub_unsigned(of.error_ns.saturating_add(moved_ns));
        // What was received was sent before.
        let above_ns = if of.is_own { of.error_ns.saturating_add(moved_ns) } else { moved_ns };
        (lowest_ns, of.offset_ns().saturating_add_unsigned(above_ns))
    }

    /// By the two relations around a moment, or the nearest one: in between of both, and within what both allow.
    fn place_by(&self, known: &[Relation], boot_ns: i64) -> Option<Placed> {
        let at = known.partition_point(|relation| relation.boot_ns <= boot_ns);
        let before = at.checked_sub(1).and_then(|at| known.get(at));
        let around = [before, known.get(at)];
        let mut both = around.into_iter().flatten();
        let (first, last) = (both.next()?, both.next());
        let last = last.unwrap_or(first);
        let length = i128::from(last.boot_ns.saturating_sub(first.boot_ns)).max(1);
        let since = i128::from(boot_ns.saturating_sub(first.boot_ns)).clamp(0, length);
        let change = i128::from(last.offset_ns().saturating_sub(first.offset_ns())) * since / length;
        let offset_ns = first.offset_ns().saturating_add(i64::try_from(change).unwrap_or(0));
        let right = self.right.get(&boot_ns.div_euclid(SPAN_NS)).filter(|_| first.is_own);
        let right = right.map(|span| (span.lowest_ns, span.highest_ns));
        let all = [Some(self.bounds(first, boot_ns)), Some(self.bounds(last, boot_ns)), right];
        let all = || all.into_iter().flatten();
        let lowest_ns = all().map(|(lowest, _)| lowest).max()?;
        let highest_ns = all().map(|(_, highest)| highest).min()?;
        let (offset_ns, lowest_ns, highest_ns) = if lowest_ns <= highest_ns {
            (offset_ns.clamp(lowest_ns, highest_ns), lowest_ns, highest_ns)
        } else {
            // They contradict each other: nobody knows which of them is right.
            (offset_ns, all().map(|(lowest, _)| lowest).min()?, all().map(|(_, highest)| highest).max()?)
        };
        let error_ns = offset_ns.abs_diff(lowest_ns).max(highest_ns.abs_diff(offset_ns));
        let by = if first.is_own { PlacedBy::OwnClock } else { PlacedBy::Receipt };
        Some(Placed { utc_ns: boot_ns.saturating_add(offset_ns), error_ns, by })
    }

    /// Whether something would have arrived long before it was written.
    fn is_impossible(&self) -> bool {
        self.receipts.iter().any(|receipt| {
            self.place_by(&self.own, receipt.boot_ns).is_some_and(|placed| {
                let earliest = placed.utc_ns.saturating_sub_unsigned(placed.error_ns);
                earliest > receipt.utc_ns.saturating_add(IMPOSSIBLE_NS)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn own(boot_s: i64, utc_s: i64, error_ns: u64) -> Relation {
        Relation { boot_ns: boot_s * S, utc_ns: utc_s * S, error_ns, is_own: true }
    }

    fn receipt(boot_s: i64, utc_s: i64) -> Relation {
        Relation { is_own: false, ..own(boot_s, utc_s, 1_000) }
    }

    fn of(relations: impl IntoIterator<Item = Relation>) -> Relations {
        Relations::new(relations, [], [])
    }

    #[test]
    fn a_moment_between_two_is_interpolated_and_one_outside_may_have_drifted() {
        let relations = of([own(3_000, 100_010, 7), own(1_000, 98_000, 5)]);
        let between = relations.place(2_000 * S).unwrap();
        assert_eq!((between.utc_ns, between.by), (99_005 * S, PlacedBy::OwnClock));
        assert_eq!(between.error_ns, 7 + 5 * 1_000_000_000 + 200_000_000, "the step of 10 s may have been at any time");
        let before = relations.place(0).unwrap();
        assert_eq!((before.utc_ns, before.error_ns), (97_000 * S, 5 + 200_000_000), "1,000 s at 200 ppm");
        let after = relations.place(4_000 * S).unwrap();
        assert_eq!((after.utc_ns, after.error_ns), (101_010 * S, 7 + 200_000_000));
        assert_eq!(Relations::default().place(3), None);
    }

    #[test]
    fn without_a_clock_of_its_own_it_is_placed_by_what_was_received() {
        // A board that drifts is followed by later receipts; between them it may have drifted back and forth.
        let drifting = of([receipt(0, 1_000), receipt(10_000_000, 10_001_500)]);
        assert_eq!(drifting.place(0).unwrap(), Placed { utc_ns: 1_000 * S, error_ns: 1_000, by: PlacedBy::Receipt });
        assert_eq!(drifting.place(10_000_000 * S).unwrap().utc_ns, 10_001_500 * S);
        let middle = drifting.place(5_000_000 * S).unwrap();
        assert_eq!((middle.utc_ns, middle.error_ns), (5_001_250 * S, 750 * 1_000_000_000 + 1_000));
    }

    #[test]
    fn a_clock_that_was_right_throughout_bounds_what_lies_between() {
        let spans = |span| [(0, span)];
        let relations = [own(1_000, 11_000, 5_000_000), own(9_000, 19_000, 5_000_000)];
        let right = ClockSpan::right(10_000 * S, 5_000_000);
        let placed = |span, suspends: &[i64]| {
            Relations::new(relations, spans(span), suspends.iter().copied()).place(5_000 * S).unwrap()
        };
        assert_eq!((placed(right, &[]).utc_ns, placed(right, &[]).error_ns), (15_000 * S, 6_000_000));
        // Where it was not, its oscillator has had 4,000 s to drift, and a suspend its own error.
        let broken = right.and(ClockSpan::broken());
        assert_eq!(placed(broken, &[]).error_ns, 5_000_000 + 4_000 * 200_000);
        assert_eq!(placed(broken, &[2_000 * S]).error_ns, 5_000_000 + 4_000 * 200_000, "the later one knows better");
        assert_eq!(placed(broken, &[2_000 * S, 6_000 * S]).error_ns, 2_000_000_000 + 5_000_000 + 4_000 * 200_000);
    }

    #[test]
    fn a_clock_of_years_to_come_is_not_believed() {
        let year = 365 * 86_400;
        assert_eq!(of([own(10, 5 * year, 5), receipt(10, 2 * year)]).place(10), None);
        assert!(of([own(10, 5 * year, 5), receipt(10, 9 * year)]).place(10).is_some(), "it was kept for long");
        assert!(of([own(10, 5 * year + 3_600, 5), receipt(10, 5 * year)]).place(10).is_some());
    }

    #[test]
    fn the_better_one_does_not_depend_on_the_order() {
        let all = [own(5, 100, 9), own(3, 99, 9), own(4, 200, 10)];
        let best = |order: [usize; 3]| order.into_iter().map(|at| all[at]).reduce(Relation::better);
        assert!([[0, 1, 2], [2, 1, 0], [1, 2, 0]].into_iter().all(|order| best(order) == Some(all[1])));
        assert_eq!(receipt(10, 500).better(receipt(400, 600)), receipt(400, 600));
    }

    #[test]
    fn whatever_lies_in_a_stretch_of_utc_is_looked_for() {
        let relations = of([own(1_000, 98_000, 5), own(3_000, 100_500, 7), own(9_000, 106_000, 1)]);
        let (from, to) = relations.may_lie_in(99_000 * S, 101_000 * S).unwrap();
        for boot_ns in (0..10_000).map(|s| s * S) {
            let utc_ns = relations.place(boot_ns).unwrap().utc_ns;
            assert!(!(99_000 * S..101_000 * S).contains(&utc_ns) || (from..=to).contains(&boot_ns));
        }
    }
}
