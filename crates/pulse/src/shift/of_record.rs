//! What the record of a run says of how a node acted, in the mean over some of its orders.
//!
//! A record has the latencies of all orders of a node, and not which order had which. A capture shows some of the orders. Their mean
//! cannot be below that of as many of the least latencies, nor above that of as many of the greatest ones; and where nearly all orders
//! are shown, the sum of all latencies leaves the few others little to differ by.

use record::{ActsBy, LatencyRole, PulseNode, PulseRun, Record, Series};

use super::split::{NodeMeans, Part};

/// By how much a latency of a record may be wrong, to either side (ps): both readings of the clock are whole nanoseconds.
const READING_ERROR_PS: i64 = 1_000;

/// What a record states of a node, in the mean over some of its orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatedMeans {
    /// What it cannot be outside of, whichever orders they are: a contradiction is judged by these.
    pub bounds: NodeMeans,
    /// What it most likely is: the mean offset of the clocks, and the mean latencies of all orders. Without errors.
    pub likely: NodeMeans,
}

/// Why a record states no means of a node, in words for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotStated {
    /// Nobody knows how far its clock was from the server's.
    #[error("the clock of {node} was not compared with the server's")]
    Clock {
        /// Name of the node.
        node: String,
    },
    /// It has no latency of its acts.
    #[error("the record has no latencies of what {node} did")]
    Acts {
        /// Name of the node.
        node: String,
    },
    /// Some acts are not in the record.
    #[error("the record lacks {dropped} acts of {node}")]
    Dropped {
        /// Name of the node.
        node: String,
        /// Acts that the node could not record.
        dropped: u64,
    },
}

impl StatedMeans {
    /// What the record states of a node's acts, in the mean over `orders` of them.
    ///
    /// # Errors
    /// If it does not state one of the parts.
    pub fn of_node(record: &Record, run: &PulseRun, node: &PulseNode, orders: u64) -> Result<Self, NotStated> {
        let name = || node.node.clone();
        let (lower_ns, upper_ns) = node.clock_ahead_ns.ok_or_else(|| NotStated::Clock { node: name() })?;
        let clock_ahead = Part::between(lower_ns.saturating_mul(1_000), upper_ns.saturating_mul(1_000));
        let of_role = |role| {
            let series = series(record, node, role).ok_or_else(|| NotStated::Acts { node: name() })?;
            if series.counters.dropped > 0 {
                return Err(NotStated::Dropped { node: name(), dropped: series.counters.dropped });
            }
            Means::of_some(series, orders).ok_or_else(|| NotStated::Acts { node: name() })
        };
        let (acted, returned) = (of_role(LatencyRole::OrderedAct)?, of_role(LatencyRole::OutputCost)?);
        let likely_ps = mean_ahead_ns(run, node).map_or(clock_ahead.ps, |ns| {
            units::round_i64(ns * 1e3).clamp(lower_ns.saturating_mul(1_000), upper_ns.saturating_mul(1_000))
        });
        let exact = |ps: i64| Part { ps, error_ps: 0 };
        Ok(Self {
            bounds: NodeMeans {
                clock_ahead,
                ordered_to_acted: Part::between(
                    acted.lower_ps.saturating_sub(READING_ERROR_PS),
                    acted.upper_ps.saturating_add(READING_ERROR_PS),
                ),
                acted_to_returned_ps: returned.upper_ps.saturating_add(READING_ERROR_PS),
            },
            likely: NodeMeans {
                clock_ahead: exact(likely_ps),
                ordered_to_acted: exact(acted.all_ps),
                acted_to_returned_ps: returned.all_ps,
            },
        })
    }
}

/// How far ahead of the server's the clock was that the node acts by, in the mean of all exchanges (ns). By the exchange itself it is
/// none: the node takes what the exchange shows off.
fn mean_ahead_ns(run: &PulseRun, node: &PulseNode) -> Option<f64> {
    if run.by == ActsBy::Exchange {
        return Some(0.0);
    }
    let server = &run.packets.flows.iter().find(|flow| flow.flow == node.flow)?.from;
    run.packets.clocks.iter().find_map(|clocks| {
        let sign = match (&clocks.node, &clocks.partner) {
            (own, partner) if *own == node.node && partner == server => 1.0,
            (own, partner) if own == server && *partner == node.node => -1.0,
            _ => return None,
        };
        clocks.offset.map(|offset| sign * offset.mean_ns)
    })
}

fn series<'a>(record: &'a Record, node: &PulseNode, role: LatencyRole) -> Option<&'a Series> {
    let name = record.measurement.kind().by_role(role)?.name;
    let is_of = |series: &&Series| {
        series.name == name && matches!(series.place, record::Place::Flow { flow, .. } if flow == node.flow)
    };
    record.series.iter().find(is_of).filter(|series| series.taken() > 0)
}

/// The mean of latencies (ps).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Means {
    /// Of all of them.
    all_ps: i64,
    /// The least that it can be of some of them.
    lower_ps: i64,
    /// The most that it can be of some of them.
    upper_ps: i64,
}

impl Means {
    /// Of `orders` of the samples of a series, whichever they are; `None` if the series does not place all of its samples.
    fn of_some(series: &Series, orders: u64) -> Option<Self> {
        let above = &series.histogram;
        let below = series.below_zero.as_ref();
        if above.unplaced().is_some() || below.is_some_and(|below| below.unplaced().is_some()) {
            return None;
        }
        let mut bins: Vec<(i128, i128, u64)> = Vec::new();
        for bin in below.into_iter().flat_map(record::Histogram::bins_from_highest) {
            bins.push((-i128::from(bin.to_ns), -i128::from(bin.from_ns), bin.count));
        }
        bins.extend(above.bins().map(|bin| (i128::from(bin.from_ns), i128::from(bin.to_ns), bin.count)));
        let all = series.taken();
        let some = orders.clamp(1, all.max(1));
        let others = all.saturating_sub(some);
        let total_ns = i128::from(above.sum_ns()) - below.map_or(0, |below| i128::from(below.sum_ns()));
        let lowest_ns = |count| sum_ns(bins.iter().map(|(from_ns, _, count)| (*from_ns, *count)), count);
        let highest_ns = |count| sum_ns(bins.iter().rev().map(|(_, to_ns, count)| (*to_ns, *count)), count);
        let least_ns = lowest_ns(some).max(total_ns - highest_ns(others));
        let most_ns = highest_ns(some).min(total_ns - lowest_ns(others));
        let mean_ps = |sum_ns: i128, count: u64| (sum_ns * 1_000).div_euclid(i128::from(count.max(1)));
        Some(Self {
            all_ps: units::clamp_i64(mean_ps(total_ns, all)),
            lower_ps: units::clamp_i64(mean_ps(least_ns, some)),
            upper_ps: units::clamp_i64(mean_ps(most_ns, some) + 1),
        })
    }
}

/// The sum of the first `left` samples of bins, each of which has one value (ns) and a count.
fn sum_ns(bins: impl Iterator<Item = (i128, u64)>, mut left: u64) -> i128 {
    let mut sum_ns = 0;
    for (value_ns, count) in bins {
        let taken = count.min(left);
        sum_ns += value_ns * i128::from(taken);
        left -= taken;
    }
    sum_ns
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::{ClockRelation, Histogram, Spread};
    use samples::pulses;

    use super::*;

    fn means(record: &Record, orders: u64) -> Result<StatedMeans, NotStated> {
        let run = record.pulses().unwrap();
        StatedMeans::of_node(record, run, &run.nodes[0], orders)
    }

    #[test]
    fn of_all_orders_the_means_are_exact_and_the_clock_s_is_the_mean_offset() {
        let clocks = |node: &str, partner: &str, mean_ns| ClockRelation {
            node: node.to_owned(),
            partner: partner.to_owned(),
            offset: Some(Spread { count: 1, median_ns: 0, lowest_ns: 0, highest_ns: 0, mean_ns, deviation_ns: 0.0 }),
            ..ClockRelation::default()
        };
        let stated = means(&pulses(|run| run.packets.clocks = vec![clocks("b", "a", 700.0)]), 1_000).unwrap();
        assert_eq!(stated.bounds.clock_ahead, Part { ps: 500_000, error_ps: 1_500_000 });
        assert_eq!(stated.likely.clock_ahead.ps, 700_000);
        // 999 of 40 ns and one of 23 us; 999 of 6 us and one of 7 us.
        assert_eq!(stated.likely.ordered_to_acted.ps, 62_960);
        assert_eq!(stated.likely.acted_to_returned_ps, 6_001_000);
        let acted = stated.bounds.ordered_to_acted;
        assert!((acted.ps - 62_960).abs() <= 1 && acted.error_ps <= READING_ERROR_PS + 1, "{acted:?}");
        // What the server says of the node has the other sign; and a mean that the bounds exclude is not taken.
        let by_server = means(&pulses(|run| run.packets.clocks = vec![clocks("a", "b", 700.0)]), 1_000).unwrap();
        assert_eq!(by_server.likely.clock_ahead.ps, -700_000);
        let excluded = means(&pulses(|run| run.packets.clocks = vec![clocks("b", "a", 9_000.0)]), 1_000).unwrap();
        assert_eq!(excluded.likely.clock_ahead.ps, 2_000_000);
        // By the exchange the node takes the offset off.
        let exchange = pulses(|run| {
            run.packets.clocks = vec![clocks("b", "a", 700.0)];
            run.by = ActsBy::Exchange;
        });
        assert_eq!(means(&exchange, 1_000).unwrap().likely.clock_ahead.ps, 0);
    }

    #[test]
    fn of_some_orders_the_means_may_differ_by_which_they_are() {
        let of = |orders| means(&pulses(|_| ()), orders).unwrap().bounds.ordered_to_acted;
        // A single one may be any, and of 999 the 23 us may or may not be one.
        let (one, most) = (of(1), of(999));
        assert!(one.ps - one.error_ps <= 40_000 && one.ps + one.error_ps >= 23_000_000, "{one:?}");
        assert!(most.ps - most.error_ps <= 40_000 && most.ps - most.error_ps >= 38_000, "{most:?}");
        assert!((62_900..=65_000).contains(&(most.ps + most.error_ps)), "{most:?}");
    }

    #[test]
    fn what_is_not_stated_is_said() {
        let mut without = pulses(|run| run.nodes[0].clock_ahead_ns = None);
        assert_eq!(means(&without, 1).unwrap_err().to_string(), "the clock of b was not compared with the server's");
        without = pulses(|_| ());
        without.series.retain(|series| series.name != "acted_to_returned");
        assert_eq!(means(&without, 1), Err(NotStated::Acts { node: "b".to_owned() }));
        without = pulses(|_| ());
        without.series[0].counters.dropped = 3;
        assert_eq!(means(&without, 1), Err(NotStated::Dropped { node: "b".to_owned(), dropped: 3 }));
    }

    proptest! {
        /// The mean of any of the latencies is within the bounds.
        #[test]
        fn the_mean_of_any_orders_is_within_the_bounds(
            latencies in prop::collection::vec((-50_000..2_000_000_i64, any::<bool>()), 1..60),
        ) {
            let (mut above, mut below) = (Histogram::new(), Histogram::new());
            for (ns, _) in &latencies {
                if *ns < 0 { &mut below } else { &mut above }.record_n(ns.unsigned_abs(), 1);
            }
            let series = Series { histogram: above, below_zero: Some(below), ..Series::default() };
            let shown: Vec<i64> = latencies.iter().filter(|(_, is_shown)| *is_shown).map(|(ns, _)| *ns).collect();
            prop_assume!(!shown.is_empty());
            let count = i64::try_from(shown.len()).unwrap();
            let means = Means::of_some(&series, shown.len() as u64).unwrap();
            let mean_ps = shown.iter().sum::<i64>() * 1_000;
            prop_assert!(means.lower_ps * count <= mean_ps && mean_ps <= means.upper_ps * count, "{:?}", means);
            if shown.len() == latencies.len() {
                prop_assert!(means.upper_ps - means.lower_ps <= 1);
            }
        }
    }
}
