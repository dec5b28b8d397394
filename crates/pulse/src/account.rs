//! What became of each order: the server knows what it sent, each node what it did, and both together what was lost.

use record::{OrderCounts, PulseTrials};

use crate::numbers::OrderNumbers;

/// Missed schedules that are less apart are one burst (ns).
pub const BURST_NS: u64 = 1_000_000_000;

/// What the server knows of the orders for a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Orders that it sent.
    pub sent: u64,
    /// Orders for which it was too late.
    pub skipped: u64,
    /// Orders that its system did not take.
    pub refused: u64,
}

/// What a node knows of its orders. Each that arrived is one of these, counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Obeyed {
    /// Orders that were carried out.
    pub acted: u64,
    /// Of those, the ones later than the tolerance.
    pub beyond: u64,
    /// Orders that left less than the arming time.
    pub too_late: u64,
    /// Orders that the node refused.
    pub refused: u64,
    /// Orders that were dropped while they waited.
    pub dropped: u64,
}

impl Obeyed {
    /// Orders that arrived. A partner says what it likes, so that a sum beyond 64 bits is the most that these hold.
    #[must_use]
    pub const fn arrived(&self) -> u64 {
        self.acted.saturating_add(self.too_late).saturating_add(self.refused).saturating_add(self.dropped)
    }
}

/// A node counted more orders than were sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{arrived} orders arrived and {sent} were sent: one of both counted wrongly")]
pub struct Contradiction {
    /// Orders that arrived, by the node.
    pub arrived: u64,
    /// Orders that were sent, by the server.
    pub sent: u64,
}

/// What became of the orders for a node: each scheduled one is counted once. `may_still_come` says that what is missing may have
/// been on its way when the run ended: then nobody knows that it is lost.
///
/// # Errors
/// If both contradict each other.
pub fn orders(sent: Option<Sent>, obeyed: Option<Obeyed>, may_still_come: bool) -> Result<OrderCounts, Contradiction> {
    let arrived = obeyed.map_or(0, |obeyed| obeyed.arrived());
    // Where the server's half is missing, what arrived is all that is known to have been scheduled.
    let Sent { sent, skipped, refused } = sent.unwrap_or(Sent { sent: arrived, ..Sent::default() });
    let missing = sent.checked_sub(arrived).ok_or(Contradiction { arrived, sent })?;
    let is_known = obeyed.is_some() && !may_still_come;
    let obeyed = obeyed.unwrap_or_default();
    Ok(OrderCounts {
        scheduled: sent.saturating_add(skipped).saturating_add(refused),
        skipped,
        acted: obeyed.acted,
        lost: if is_known { missing } else { 0 },
        too_late: obeyed.too_late,
        refused: refused.saturating_add(obeyed.refused),
        dropped: obeyed.dropped,
        unknown: if is_known { 0 } else { missing },
        beyond: obeyed.beyond,
    })
}

/// The numbers of a node's orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeNumbers {
    /// Those that it carried out within the tolerance.
    pub kept: OrderNumbers,
    /// Those that were too late.
    pub too_late: OrderNumbers,
    /// Of the orders from this number on nothing is known, since the node did not tell of its run to the end; `None`: it did.
    pub known_below: Option<u64>,
}

impl NodeNumbers {
    /// Up to which number is known what became of its orders: from there on the node told nothing, or had no room for more gaps.
    fn known_below(&self) -> u64 {
        let cut = [&self.kept, &self.too_late].into_iter().filter(|numbers| numbers.is_cut()).map(OrderNumbers::end);
        cut.chain(self.known_below).min().unwrap_or(u64::MAX)
    }

    /// Some of its numbers, with all those below `scheduled` of which nothing is known.
    fn or_unknown(&self, numbers: &OrderNumbers, scheduled: u64) -> OrderNumbers {
        numbers.or(&OrderNumbers::between(self.known_below(), scheduled))
    }
}

/// What became of the schedules, by what each node did; `None` where that is not known.
#[must_use]
pub fn trials(scheduled: u64, interval_ns: u64, nodes: &[Option<NodeNumbers>]) -> PulseTrials {
    let all = OrderNumbers::below(scheduled);
    let known = || nodes.iter().flatten();
    // Whatever a node did not tell of was missed by none, as far as is known.
    let kept_by_known = known().fold(all.clone(), |both, node| both.and(&node.or_unknown(&node.kept, scheduled)));
    // What no node missed otherwise than by an order that was too late.
    let but_for_lead =
        known().fold(all, |both, node| both.and(&node.or_unknown(&node.kept.or(&node.too_late), scheduled)));
    let known_below =
        nodes.iter().map(|node| node.as_ref().map_or(0, NodeNumbers::known_below)).min().unwrap_or(u64::MAX);
    let missing = kept_by_known.missing_below(scheduled);
    let bursts = missing.bursts(BURST_NS.div_ceil(interval_ns.max(1)));
    let (count, missed) = (kept_by_known.count(), missing.count());
    let kept = kept_by_known.and(&OrderNumbers::below(known_below)).count();
    let unknown = count - kept;
    PulseTrials {
        scheduled,
        kept,
        missed,
        too_late: but_for_lead.count().saturating_sub(count),
        unknown,
        longest_burst: bursts.longest,
        longest_burst_ns: bursts.longest_span.saturating_mul(interval_ns),
        bursts: bursts.count,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What becomes of an order, in the case that is played through.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fate {
        Skipped,
        RefusedBySender,
        Lost,
        TooLate,
        RefusedByNode,
        Dropped,
        Beyond,
        Kept,
    }

    fn fate() -> impl Strategy<Value = Fate> {
        use Fate::{Beyond, Dropped, Kept, Lost, RefusedByNode, RefusedBySender, Skipped, TooLate};
        prop::sample::select(vec![
            Skipped,
            RefusedBySender,
            Lost,
            TooLate,
            RefusedByNode,
            Dropped,
            Beyond,
            Kept,
            Kept,
            Kept,
        ])
    }

    fn played(fates: &[Fate]) -> (Sent, Obeyed, NodeNumbers) {
        let (mut sent, mut obeyed, mut numbers) = (Sent::default(), Obeyed::default(), NodeNumbers::default());
        for (number, fate) in (0..).zip(fates) {
            match fate {
                Fate::Skipped => sent.skipped += 1,
                Fate::RefusedBySender => sent.refused += 1,
                _ => sent.sent += 1,
            }
            match fate {
                Fate::Skipped | Fate::RefusedBySender | Fate::Lost => {}
                Fate::TooLate => {
                    obeyed.too_late += 1;
                    numbers.too_late.push(number);
                }
                Fate::RefusedByNode => obeyed.refused += 1,
                Fate::Dropped => obeyed.dropped += 1,
                Fate::Beyond => (obeyed.acted, obeyed.beyond) = (obeyed.acted + 1, obeyed.beyond + 1),
                Fate::Kept => {
                    obeyed.acted += 1;
                    numbers.kept.push(number);
                }
            }
        }
        (sent, obeyed, numbers)
    }

    proptest! {
        #[test]
        fn every_order_is_counted_once(fates in prop::collection::vec(fate(), 0..300), halves in 0_u8..4, may_still_come: bool) {
            let (sent, obeyed, _) = played(&fates);
            let (has_sent, has_obeyed) = (halves & 1 == 0, halves & 2 == 0);
            let counts = orders(has_sent.then_some(sent), has_obeyed.then_some(obeyed), may_still_come).unwrap();
            let OrderCounts { scheduled, skipped, acted, lost, too_late, refused, dropped, unknown, beyond } = counts;
            prop_assert_eq!(scheduled, skipped + acted + lost + too_late + refused + dropped + unknown);
            prop_assert!(beyond <= acted);
            if has_sent {
                prop_assert_eq!(scheduled, u64::try_from(fates.len()).unwrap());
            }
            if has_sent && has_obeyed && !may_still_come {
                let of = |fate| u64::try_from(fates.iter().filter(|one| **one == fate).count()).unwrap();
                prop_assert_eq!((lost, too_late, dropped, unknown), (of(Fate::Lost), of(Fate::TooLate), of(Fate::Dropped), 0));
                prop_assert_eq!(counts.kept(), of(Fate::Kept));
                prop_assert_eq!(counts.missed(), scheduled - of(Fate::Kept));
            }
        }

        #[test]
        fn a_schedule_is_kept_where_every_node_keeps_it(
            all in prop::collection::vec((fate(), fate(), fate()), 1..200),
            interval_ns in 1_u64..3_000_000_000,
            below in 0_usize..220,
        ) {
            let of = |pick: fn(&(Fate, Fate, Fate)) -> Fate| played(&all.iter().map(pick).collect::<Vec<_>>()).2;
            let nodes = [of(|all| all.0), of(|all| all.1), of(|all| all.2)].map(Some);
            let scheduled = u64::try_from(all.len()).unwrap();
            let seen = trials(scheduled, interval_ns, &nodes);
            let is_kept = |(a, b, c): &(Fate, Fate, Fate)| [a, b, c].iter().all(|one| **one == Fate::Kept);
            let kept = u64::try_from(all.iter().filter(|one| is_kept(one)).count()).unwrap();
            prop_assert_eq!((seen.kept, seen.missed, seen.unknown), (kept, scheduled - kept, 0));
            let is_by_lead = |(a, b, c): &(Fate, Fate, Fate)| {
                let all = [a, b, c];
                all.iter().any(|one| **one == Fate::TooLate) && all.iter().all(|one| matches!(one, Fate::TooLate | Fate::Kept))
            };
            prop_assert_eq!(seen.too_late, u64::try_from(all.iter().filter(|one| is_by_lead(one)).count()).unwrap());
            prop_assert!(seen.bursts <= seen.missed && seen.longest_burst <= seen.missed);
            // One node of which is known what it did up to some number alone: what another missed after that is missed, and the rest
            // unknown.
            let [one, two, _] = nodes;
            let below = below.min(all.len());
            let part = NodeNumbers { known_below: u64::try_from(below).ok(), ..played(&all[..below].iter().map(|all| all.2).collect::<Vec<_>>()).2 };
            let seen = trials(scheduled, interval_ns, &[one.clone(), two.clone(), Some(part)]);
            let kept = u64::try_from(all[..below].iter().filter(|one| is_kept(one)).count()).unwrap();
            let by_others = |(a, b, _): &&(Fate, Fate, Fate)| *a == Fate::Kept && *b == Fate::Kept;
            let unknown = u64::try_from(all[below..].iter().filter(by_others).count()).unwrap();
            prop_assert_eq!((seen.kept, seen.unknown, seen.missed), (kept, unknown, scheduled - kept - unknown));
            // One node that does not tell: nothing is known to be kept.
            let seen = trials(scheduled, interval_ns, &[one, two, None]);
            prop_assert_eq!((seen.kept, seen.missed + seen.unknown), (0, scheduled));
        }
    }

    #[test]
    fn misses_less_than_a_second_apart_are_one_burst() {
        let mut kept = OrderNumbers::default();
        (0..100).filter(|number| ![10, 11, 60, 61, 62, 99].contains(number)).for_each(|number| kept.push(number));
        let of = |interval_ns| {
            let seen = trials(100, interval_ns, &[Some(NodeNumbers { kept: kept.clone(), ..NodeNumbers::default() })]);
            (seen.bursts, seen.longest_burst)
        };
        // Between 11 and 60 lie 49 intervals, between 62 and 99 lie 37: of 25 ms those are 1.225 s and 0.925 s.
        assert_eq!(of(25_000_000), (2, 4));
        assert_eq!(of(1_000_000), (1, 6));
        assert_eq!(of(999_999_999), (3, 3));
        // From one schedule to the next is not less than a second.
        assert_eq!(of(1_000_000_000), (6, 1));
    }

    #[test]
    fn more_orders_than_were_sent_are_a_contradiction() {
        let sent = Sent { sent: 3, ..Sent::default() };
        let obeyed = Obeyed { acted: 4, ..Obeyed::default() };
        assert_eq!(orders(Some(sent), Some(obeyed), false), Err(Contradiction { arrived: 4, sent: 3 }));
        // Numbers that no sum holds, too.
        let obeyed = Obeyed { acted: u64::MAX, too_late: 1, refused: u64::MAX, dropped: 7, beyond: 0 };
        assert_eq!(orders(Some(sent), Some(obeyed), false), Err(Contradiction { arrived: u64::MAX, sent: 3 }));
        let sent = Sent { sent: u64::MAX, skipped: 1, refused: 1 };
        assert_eq!(orders(Some(sent), None, false).map(|counts| counts.scheduled), Ok(u64::MAX));
        assert!(orders(None, Some(obeyed), false).is_ok());
    }
}
