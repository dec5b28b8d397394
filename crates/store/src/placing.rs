//! Where a boot's times lie in UTC. Pure.
//!
//! A boot has a list of *relations*: at this moment of CLOCK_BOOTTIME it was that time in UTC, give or take so much. They come from the
//! node's own clock where something kept it right, else from the hub's clock when something of the node arrived. Between two of them the
//! offset is interpolated; outside it may have drifted.

use crate::{Placed, PlacedBy};

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
    const fn offset_ns(&self) -> i64 {
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

/// All that is known of a boot's time in UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Relations {
    /// By their moment.
    own: Vec<Relation>,
    receipts: Vec<Relation>,
}

impl Relations {
    /// Of relations in any order.
    pub(crate) fn new(relations: impl IntoIterator<Item = Relation>) -> Self {
        let mut all = Self::default();
        for relation in relations {
            if relation.is_own { all.own.push(relation) } else { all.receipts.push(relation) }
        }
        all.own.sort_by_key(|relation| (relation.boot_ns, relation.error_ns, relation.utc_ns));
        all
    }

    /// A moment of the boot in UTC; `None` where nothing is known, or what the node's clock says cannot be.
    pub(crate) fn place(&self, boot_ns: i64) -> Option<Placed> {
        if self.own.is_empty() {
            return self.place_by_receipts(boot_ns);
        }
        if self.is_impossible() {
            return None;
        }
        self.place_by_own(boot_ns)
    }

    /// Moments of the boot that may lie in a stretch of UTC: none outside of these does.
    pub(crate) fn may_lie_in(&self, from_utc_ns: i64, to_utc_ns: i64) -> Option<(i64, i64)> {
        let known = if self.own.is_empty() { &self.receipts } else { &self.own };
        let lowest = known.iter().map(Relation::offset_ns).min()?;
        let highest = known.iter().map(Relation::offset_ns).max()?;
        Some((from_utc_ns.saturating_sub(highest), to_utc_ns.saturating_sub(lowest)))
    }

    fn place_by_own(&self, boot_ns: i64) -> Option<Placed> {
        let at = self.own.partition_point(|relation| relation.boot_ns <= boot_ns);
        let (before, after) = (at.checked_sub(1).and_then(|at| self.own.get(at)), self.own.get(at));
        let (offset_ns, error_ns) = match (before, after) {
            (Some(before), Some(after)) => {
                let (first, last) = (before.offset_ns(), after.offset_ns());
                let length = i128::from(after.boot_ns.saturating_sub(before.boot_ns)).max(1);
                let since = i128::from(boot_ns.saturating_sub(before.boot_ns));
                let change = i128::from(last.saturating_sub(first)) * since / length;
                let offset_ns = first.saturating_add(i64::try_from(change).unwrap_or(0));
                // Where it changed by a step, nobody knows when.
                (offset_ns, before.error_ns.max(after.error_ns).saturating_add(first.abs_diff(last)))
            }
            (Some(only), None) | (None, Some(only)) => {
                (only.offset_ns(), only.error_ns.saturating_add(only.drift_ns(boot_ns)))
            }
            (None, None) => return None,
        };
        Some(Placed { utc_ns: boot_ns.saturating_add(offset_ns), error_ns, by: PlacedBy::OwnClock })
    }

    /// Nothing arrives before it was written: each receipt says that the offset is at most its own.
    fn place_by_receipts(&self, boot_ns: i64) -> Option<Placed> {
        let most = |receipt: &&Relation| i128::from(receipt.offset_ns()) + i128::from(receipt.drift_ns(boot_ns));
        let nearest = self.receipts.iter().min_by_key(|receipt| (most(receipt), receipt.boot_ns))?;
        let error_ns = nearest.error_ns.saturating_add(nearest.drift_ns(boot_ns));
        Some(Placed { utc_ns: boot_ns.saturating_add(nearest.offset_ns()), error_ns, by: PlacedBy::Receipt })
    }

    /// Whether something would have arrived long before it was written.
    fn is_impossible(&self) -> bool {
        self.receipts.iter().any(|receipt| {
            self.place_by_own(receipt.boot_ns).is_some_and(|placed| {
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

    #[test]
    fn a_moment_between_two_is_interpolated_and_one_outside_may_have_drifted() {
        let relations = Relations::new([own(3_000, 100_010, 7), own(1_000, 98_000, 5)]);
        let between = relations.place(2_000 * S).unwrap();
        assert_eq!((between.utc_ns, between.by), (99_005 * S, PlacedBy::OwnClock));
        assert_eq!(between.error_ns, 7 + 10 * 1_000_000_000, "the step of 10 s may have been at any time");
        let before = relations.place(0).unwrap();
        assert_eq!((before.utc_ns, before.error_ns), (97_000 * S, 5 + 200_000_000), "1,000 s at 200 ppm");
        let after = relations.place(4_000 * S).unwrap();
        assert_eq!((after.utc_ns, after.error_ns), (101_010 * S, 7 + 200_000_000));
        assert_eq!(Relations::default().place(3), None);
    }

    #[test]
    fn without_a_clock_of_its_own_the_receipt_that_came_soonest_counts() {
        // What was written at 1,000 s arrived a week late; at 700,000 s the hub was there again.
        let relations = Relations::new([receipt(1_000, 1_600_000), receipt(700_000, 1_700_000)]);
        let early = relations.place(1_000 * S).unwrap();
        assert_eq!((early.utc_ns, early.by), (1_001_000 * S, PlacedBy::Receipt));
        assert_eq!(early.error_ns, 1_000 + 699_000 * 200_000);
        // A board that drifts is followed by later receipts.
        let drifting = Relations::new([receipt(0, 1_000), receipt(10_000_000, 10_001_500)]);
        assert_eq!(drifting.place(0).unwrap().utc_ns, 1_000 * S);
        assert_eq!(drifting.place(10_000_000 * S).unwrap().utc_ns, 10_001_500 * S);
    }

    #[test]
    fn a_clock_of_years_to_come_is_not_believed() {
        let year = 365 * 86_400;
        assert_eq!(Relations::new([own(10, 5 * year, 5), receipt(10, 2 * year)]).place(10), None);
        assert!(
            Relations::new([own(10, 5 * year, 5), receipt(10, 9 * year)]).place(10).is_some(),
            "it was kept for long"
        );
        assert!(Relations::new([own(10, 5 * year + 3_600, 5), receipt(10, 5 * year)]).place(10).is_some());
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
        let relations = Relations::new([own(1_000, 98_000, 5), own(3_000, 100_500, 7), own(9_000, 106_000, 1)]);
        let (from, to) = relations.may_lie_in(99_000 * S, 101_000 * S).unwrap();
        for boot_ns in (0..10_000).map(|s| s * S) {
            let utc_ns = relations.place(boot_ns).unwrap().utc_ns;
            assert!(!(99_000 * S..101_000 * S).contains(&utc_ns) || (from..=to).contains(&boot_ns));
        }
    }
}
