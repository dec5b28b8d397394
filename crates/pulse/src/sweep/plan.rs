//! What a sweep is asked for, why it is refused, and what it would take.

use units::format::{count, span};

use super::spending::{Spending, chance_of_a_miss, orders_without_a_miss};

/// An exploration has at least so many orders, whatever its time: of fewer, a 99.9 % quantile would be the worst.
pub const LEAST_EXPLORED: u64 = 1_000;
/// The most cycles of a sweep: the chance of a wrong claim is halved with each attempt, and stays a number for so many.
pub const MOST_CYCLES: usize = 64;
/// The most nodes that are ordered together.
pub const MOST_NODES: usize = 1_024;
/// Cycles, leads and the margin are at most this (ns; 1,000 s), so that no sum of them overflows.
const LONGEST_NS: u64 = 1_000_000_000_000;
/// The budget and an exploration are at most this (ns; 11 days).
const MOST_TIME_NS: u64 = 1_000_000_000_000_000;
/// A cycle is at least this (ns): nobody orders by packets a million times a second.
const SHORTEST_CYCLE_NS: u64 = 1_000;
const SECOND_NS: u64 = 1_000_000_000;

/// What is asked of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPlan {
    /// The cycles to try (ns, from 1 us to 1,000 s), in any order, each once.
    pub cycles_ns: Vec<u64>,
    /// The share of missed orders that is allowed at most (1e-9 to 0.1).
    pub max_miss: f64,
    /// How sure all claims of the sweep are together (0.5 to 0.999999): the chance that any of them is wrong is the rest to 1.
    pub confidence: f64,
    /// What is added to the worst lead that was needed (ns, above 0).
    pub margin_ns: u64,
    /// The largest lead that is of use (ns, larger than the margin).
    pub max_lead_ns: u64,
    /// How long each cycle is explored at each of its two phases (ns).
    pub explore_ns: u64,
    /// How long all orders of the sweep may take together (ns).
    pub budget_ns: u64,
    /// How many nodes are ordered together (1 to [`MOST_NODES`]).
    pub nodes: usize,
    /// What else runs meanwhile; claims hold for this load alone.
    pub load: String,
}

/// Why a sweep does not begin.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SweepError {
    /// No cycle, or too many of them.
    #[error("{0} cycles were given: 1 to {MOST_CYCLES} can be tried (--interval)")]
    Cycles(usize),
    /// A cycle that nobody can order at.
    #[error("a cycle of {} is not between 1 us and 1000 s (--interval)", span(*.0))]
    Cycle(u64),
    /// The same cycle a second time.
    #[error("the cycle of {} was given twice (--interval)", span(*.0))]
    Twice(u64),
    /// A share of misses that cannot be shown.
    #[error("at most {0} missed orders cannot be shown: give a share from 1e-9 to 0.1 (--max-miss)")]
    MaxMiss(f64),
    /// A confidence that is none, or that no number of orders reaches.
    #[error("a confidence of {0} is not between 0.5 and 0.999999 (--confidence)")]
    Confidence(f64),
    /// The leads that are allowed leave no room.
    #[error(
        "a largest lead of {} (--max-lead) with a margin of {} (--margin): the margin has to be above 0, and the largest lead larger than \
         it and at most 1000 s",
        span(*max_lead_ns), span(*margin_ns)
    )]
    Lead {
        /// The largest lead that was given (ns).
        max_lead_ns: u64,
        /// The margin that was given (ns).
        margin_ns: u64,
    },
    /// No nodes, or too many of them.
    #[error("{0} nodes: 1 to {MOST_NODES} can be ordered together (--to)")]
    Nodes(usize),
    /// Explorations that are too long.
    #[error("explorations of {} (--explore) are longer than {}", span(*.0), span(MOST_TIME_NS))]
    Explore(u64),
    /// A budget that is too large.
    #[error("{} in all (--budget) is more than {}", span(*.0), span(MOST_TIME_NS))]
    Time(u64),
    /// Not even one cycle can be confirmed in the time.
    #[error(
        "the shortest cycle alone takes {} s to explore and confirm, and {} s are allowed in all: allow more (--budget), explore for a \
         shorter time (--explore), or allow more misses (--max-miss)",
        count(needed_ns.div_ceil(SECOND_NS)), count(budget_ns / SECOND_NS)
    )]
    Budget {
        /// The smallest budget that suffices for it (ns).
        needed_ns: u64,
        /// The budget that was given (ns).
        budget_ns: u64,
    },
}

/// What one cycle takes if nothing has to be repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CycleForecast {
    /// From one order to the next (ns).
    pub cycle_ns: u64,
    /// How long it is explored, at both phases together (ns).
    pub explore_ns: u64,
    /// How many orders without a miss confirm it.
    pub confirm_orders: u64,
    /// How long these take (ns).
    pub confirm_ns: u64,
    /// The chance of a wrong claim that this takes.
    pub alpha: f64,
    /// How often (0 to 1) a system that misses a tenth of what is allowed is not confirmed by them.
    pub fails_though_ten_times_better: f64,
}

/// What a sweep takes if each cycle is confirmed at its first attempt; known beforehand.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepForecast {
    /// The cycles in the order in which they are tried, the shortest first.
    pub cycles: Vec<CycleForecast>,
    /// How long all of them take together (ns). An attempt more takes a little longer than the one before it.
    pub total_ns: u64,
}

impl SweepPlan {
    /// The chance that any claim of the sweep is wrong.
    pub(super) fn alpha(&self) -> f64 {
        1.0 - self.confidence
    }

    /// How many orders explore a cycle at one phase.
    pub(super) fn explore_orders(&self, cycle_ns: u64) -> u64 {
        (self.explore_ns / cycle_ns.max(1)).max(LEAST_EXPLORED)
    }

    /// How long it takes to explore a cycle at both phases (ns).
    pub(super) fn explore_cycle_ns(&self, cycle_ns: u64) -> u64 {
        self.explore_orders(cycle_ns).saturating_mul(cycle_ns).saturating_mul(2)
    }

    /// How many orders an attempt takes, and for how long (ns).
    pub(super) fn confirm(&self, cycle_ns: u64, alpha: f64) -> (u64, u64) {
        let orders = orders_without_a_miss(self.max_miss, alpha);
        (orders, orders.saturating_mul(cycle_ns))
    }

    /// The plan with its cycles in order, or why it cannot be carried out.
    pub(super) fn checked(mut self) -> Result<Self, SweepError> {
        if self.cycles_ns.is_empty() || self.cycles_ns.len() > MOST_CYCLES {
            return Err(SweepError::Cycles(self.cycles_ns.len()));
        }
        self.cycles_ns.sort_unstable();
        if let Some(cycle_ns) = self.cycles_ns.iter().find(|ns| !(SHORTEST_CYCLE_NS..=LONGEST_NS).contains(*ns)) {
            return Err(SweepError::Cycle(*cycle_ns));
        }
        let mut neighbors = self.cycles_ns.iter().zip(self.cycles_ns.iter().skip(1));
        if let Some((cycle_ns, _)) = neighbors.find(|(one, other)| one == other) {
            return Err(SweepError::Twice(*cycle_ns));
        }
        if !(1e-9..=0.1).contains(&self.max_miss) {
            return Err(SweepError::MaxMiss(self.max_miss));
        }
        if !(0.5..=0.999_999).contains(&self.confidence) {
            return Err(SweepError::Confidence(self.confidence));
        }
        let (max_lead_ns, margin_ns) = (self.max_lead_ns, self.margin_ns);
        if margin_ns == 0 || max_lead_ns <= margin_ns || max_lead_ns > LONGEST_NS {
            return Err(SweepError::Lead { max_lead_ns, margin_ns });
        }
        if self.nodes == 0 || self.nodes > MOST_NODES {
            return Err(SweepError::Nodes(self.nodes));
        }
        if self.explore_ns > MOST_TIME_NS {
            return Err(SweepError::Explore(self.explore_ns));
        }
        if self.budget_ns > MOST_TIME_NS {
            return Err(SweepError::Time(self.budget_ns));
        }
        let shortest = self.forecast().cycles.first().copied();
        let needed_ns = shortest.map_or(0, |cycle| cycle.explore_ns.saturating_add(cycle.confirm_ns));
        if needed_ns > self.budget_ns {
            return Err(SweepError::Budget { needed_ns, budget_ns: self.budget_ns });
        }
        Ok(self)
    }

    /// What the sweep takes if each cycle is confirmed at its first attempt.
    pub(super) fn forecast(&self) -> SweepForecast {
        let mut spending = Spending::new(self.alpha());
        let forecast = |cycle_ns: &u64| {
            let alpha = spending.spend();
            let (confirm_orders, confirm_ns) = self.confirm(*cycle_ns, alpha);
            CycleForecast {
                cycle_ns: *cycle_ns,
                explore_ns: self.explore_cycle_ns(*cycle_ns),
                confirm_orders,
                confirm_ns,
                alpha,
                fails_though_ten_times_better: chance_of_a_miss(self.max_miss / 10.0, confirm_orders),
            }
        };
        let cycles: Vec<CycleForecast> = self.cycles_ns.iter().map(forecast).collect();
        let total_ns = units::total(cycles.iter().flat_map(|cycle| [cycle.explore_ns, cycle.confirm_ns]));
        SweepForecast { cycles, total_ns }
    }
}
