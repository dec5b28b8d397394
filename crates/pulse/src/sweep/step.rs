//! What a sweep asks for next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conclusion::Conclusion;

/// A run of orders that has to be carried out: order k is sent at `S(k)`, one cycle after the one before it, to be acted on at
/// `S(k) + lead`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderRun {
    /// Which run of the sweep it is, from 1 on. Its outcome has to have the same number.
    pub number: u32,
    /// From one order to the next (ns).
    pub cycle_ns: u64,
    /// How long before its moment each order is sent (ns).
    pub lead_ns: u64,
    /// How many schedules are ordered. An exploration may end early for a reason that has nothing to do with its misses, after
    /// [`LEAST_EXPLORED`](super::LEAST_EXPLORED) schedules.
    pub orders: u64,
}

impl OrderRun {
    /// How long it takes if it is not ended early (ns).
    #[must_use]
    pub const fn time_ns(&self) -> u64 {
        self.orders.saturating_mul(self.cycle_ns)
    }
}

/// How earlier orders lie when a new one arrives at a node.
///
/// A node that waits for the moment of an earlier order may spin, and then takes a new one later, or sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Ordered as early as allowed. Where that is more than a cycle, earlier orders wait at the node, their moments anywhere.
    Longest,
    /// Ordered with the lead that the first exploration suggests, which is less than a cycle: no earlier order waits at the node when
    /// a new one arrives.
    Alone,
    /// The moment of an earlier order comes just when a new one arrives in half of all cases.
    Meeting,
    /// The moments of earlier orders are half a cycle away from those of the first exploration, where they came just when a
    /// new one arrived, or the largest lead is too short for such a meeting.
    Apart,
}

/// What a sweep asks for next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Find out which lead orders need. Nothing is claimed of these orders.
    Explore {
        /// The orders to be sent.
        run: OrderRun,
        /// How earlier orders lie when a new one arrives.
        phase: Phase,
    },
    /// Confirm a lead at a cycle by fresh orders, none of which may be missed.
    Confirm {
        /// The orders to be sent.
        run: OrderRun,
        /// The chance of a wrong claim that this attempt takes.
        alpha_spent: f64,
    },
    /// Nothing more: what came of it.
    Done(Box<Conclusion>),
}

impl Step {
    /// The orders to be sent; `None` at the end.
    #[must_use]
    pub const fn run(&self) -> Option<&OrderRun> {
        match self {
            Self::Explore { run, .. } | Self::Confirm { run, .. } => Some(run),
            Self::Done(_) => None,
        }
    }
}
