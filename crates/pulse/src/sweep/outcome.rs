//! What a run of orders came to, and whether that can be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::step::OrderRun;

/// The lead that schedules needed: from the moment for which the order was to be sent until the last of the nodes was armed
/// (`scheduled_to_armed`). Schedules that a node did not receive are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NeededLead {
    /// What half of the schedules needed at most (ns).
    pub p50_ns: u64,
    /// What 99 % of them needed at most (ns).
    pub p99_ns: u64,
    /// What 99.9 % of them needed at most (ns).
    pub p999_ns: u64,
    /// What the worst of them needed (ns).
    pub worst_ns: u64,
}

/// Misses less than [`BURST_NS`](crate::account::BURST_NS) apart: they are not independent of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Burst {
    /// How many schedules were missed in it, at least 1.
    pub misses: u64,
    /// From its first miss to its last (ns); 0 for a single one.
    pub span_ns: u64,
}

/// What one of the nodes did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeCount {
    /// Orders that it missed for a reason that no lead mends: lost, skipped, refused, dropped, or late all the same.
    pub lost: u64,
    /// Orders for which it was armed too late.
    pub late: u64,
    /// The longest lead that it needed (ns); `None` where that is not known of any order.
    pub worst_ns: Option<u64>,
}

/// What a run of orders came to. A schedule of several nodes is one trial, and missed if any of them missed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The number of the run that was asked for ([`OrderRun::number`]).
    pub number: u32,
    /// How many schedules were ordered. A confirmation that ends early is taken with a miss alone: without one it shows nothing.
    /// A node that is gone loses its orders, which is not the same as an early end.
    pub orders: u64,
    /// Schedules that were missed for a reason that no lead mends: an order was lost, skipped, refused, dropped, or late all the same.
    pub lost: u64,
    /// Other schedules, for which a node was armed later than the lead allows.
    pub late: u64,
    /// The lead that was needed; `None` if all schedules were lost.
    pub needed: Option<NeededLead>,
    /// How many bursts of misses there were.
    pub bursts: u64,
    /// The one with the most misses.
    pub longest_burst: Option<Burst>,
    /// What each node did, in the order of the nodes.
    pub nodes: Vec<NodeCount>,
    /// How long the run took (ns).
    pub took_ns: u64,
}

/// Why an outcome is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutcomeError {
    /// The sweep has come to its end.
    #[error("the sweep has ended: nothing more was asked for")]
    Ended,
    /// Of another run than the one that was asked for. A run that was taken already is one, too: its orders are not fresh.
    #[error("it is of run {got}, and run {asked} was asked for")]
    WrongRun {
        /// The run that was asked for.
        asked: u32,
        /// The run that it is of.
        got: u32,
    },
    /// It ended before anything was shown. Its orders are left out ([`Sweep::discard`](super::Sweep::discard)).
    #[error("it ended after {orders} of {asked} orders without a miss: carry the run out again")]
    Incomplete {
        /// The orders of the run.
        orders: u64,
        /// How many were asked for.
        asked: u64,
    },
    /// Its numbers contradict each other.
    #[error("its numbers contradict each other: {0}")]
    Contradiction(&'static str),
}

impl Outcome {
    /// Schedules that were missed, for either reason.
    #[must_use]
    pub const fn misses(&self) -> u64 {
        self.lost.saturating_add(self.late)
    }

    /// Whether these numbers can be of this run.
    pub(super) fn check(&self, run: &OrderRun, nodes: usize) -> Result<(), OutcomeError> {
        if self.number != run.number {
            return Err(OutcomeError::WrongRun { asked: run.number, got: self.number });
        }
        let impossible = [
            (self.orders == 0, "no order was sent"),
            (self.orders > run.orders, "more orders were sent than asked for"),
            (self.lost.checked_add(self.late).is_none_or(|misses| misses > self.orders), "more misses than orders"),
            (
                self.needed.is_none() != (self.lost == self.orders),
                "the lead that was needed is known of lost orders alone",
            ),
            (self.needed.is_some_and(|needed| !needed.is_ascending()), "a quantile is above a higher one"),
            (
                (self.late > 0) != self.needed.is_some_and(|needed| needed.worst_ns > run.lead_ns),
                "an order is late if the worst needed more than the lead, and only then",
            ),
            (!self.are_bursts_possible(run), "so many misses do not make such bursts"),
            (self.nodes.len() != nodes, "another number of nodes"),
            (!self.are_nodes_possible(), "the nodes' misses do not make those of the schedules"),
        ];
        let found = impossible.into_iter().find(|(is_so, _)| *is_so);
        found.map_or(Ok(()), |(_, what)| Err(OutcomeError::Contradiction(what)))
    }

    fn are_bursts_possible(&self, run: &OrderRun) -> bool {
        let Some(longest) = self.longest_burst else { return self.bursts == 0 && self.misses() == 0 };
        let (misses, others) = (self.misses(), self.bursts.saturating_sub(1));
        // Each other burst has a miss at least, and no more than the longest one.
        let least = longest.misses.saturating_add(others);
        let most = longest.misses.saturating_mul(self.bursts);
        let least_span_ns = longest.misses.saturating_sub(1).saturating_mul(run.cycle_ns);
        let most_span_ns = self.orders.saturating_sub(1).saturating_mul(run.cycle_ns);
        longest.misses > 0
            && (least..=most).contains(&misses)
            && (least_span_ns..=most_span_ns).contains(&longest.span_ns)
    }

    fn are_nodes_possible(&self) -> bool {
        let each = |node: &NodeCount| {
            let misses = node.lost.checked_add(node.late);
            node.lost <= self.lost
                && misses.is_some_and(|misses| misses <= self.orders)
                && node.worst_ns.is_none() == (node.lost == self.orders)
        };
        self.nodes.iter().all(each)
            && units::total(self.nodes.iter().map(|node| node.lost)) >= self.lost
            && units::total(self.nodes.iter().map(|node| node.late)) >= self.late
    }
}

impl NeededLead {
    const fn is_ascending(&self) -> bool {
        self.p50_ns <= self.p99_ns && self.p99_ns <= self.p999_ns && self.p999_ns <= self.worst_ns
    }
}
