//! Finds out how long before its moment an order has to be sent so that nodes act on it in time, at which cycle, and how sure
//! that is.
//!
//! A lead is a latency. Ordered early enough, each order shows the lead that it needed, so one run tells what every lead would do:
//! an *exploration*. Only the cycle has to be varied. A lead that explorations suggest is then *confirmed* by fresh orders at exactly
//! that lead and cycle, none of which may be missed. Only this is a claim.
//!
//! # Which cycle and which lead
//!
//! A user who gives several cycles has two questions: how fast can these nodes be ordered, and how soon can they act on an order?
//! So each cycle has its own answer: the shortest lead that is confirmed at it. The sweep's answer is the shortest cycle that holds
//! ([`Conclusion::shortest_cycle`]), with the shortest lead of all cycles beside it ([`Conclusion::shortest_lead`]).
//!
//! Cycles are tried from the shortest up, each to its end before the next one:
//! - Most users want to know about the shortest cycle, and its orders take the least time. A budget that is too small leaves out the
//!   longest cycles, which matter the least.
//! - The first attempt is the cheapest in orders ([`orders_without_a_miss`]), and the shortest cycle is the most likely to need several.
//! - An exploration directly before the attempt knows the machine as it is then.
//!
//! A longer cycle is tried even after a shorter one holds, since its lead can be shorter.
//!
//! # What becomes of misses
//!
//! An order that came too late says how much lead it needed: the next attempt has that and the margin. An order that never came says
//! nothing about leads: the cycle fails by loss, and the lead is not raised for it. Explorations fail a cycle only where they show more
//! losses, or more orders beyond the largest lead, than are allowed, also where misses come in bursts
//! ([`miss_rate_at_least_in_bursts`]). An attempt gives up for want of lead only at the largest one.
//!
//! # What a claim is worth
//!
//! See [`orders_without_a_miss`] for the number of orders, [`Answer::Holds`] for the sentence, and [`burst_interval_ns`] for what is
//! left of it where misses come in bursts.

mod conclusion;
mod cycle;
mod of_record;
mod outcome;
mod plan;
mod spending;
mod step;

use cycle::{Trying, Verdict};
use spending::Spending;

pub use conclusion::{
    Answer, Attempt, Claim, Conclusion, CycleConclusion, Explored, Failure, PhaseDifference, SweepVerdict,
};
pub use of_record::NoOutcome;
pub use outcome::{Burst, NeededLead, NodeCount, Outcome, OutcomeError};
pub use plan::{CycleForecast, LEAST_EXPLORED, MOST_CYCLES, MOST_NODES, SweepError, SweepForecast, SweepPlan};
pub use spending::{
    burst_interval_ns, chance_of_a_miss, miss_rate_at_least, miss_rate_at_least_in_bursts, miss_rate_below,
    orders_without_a_miss,
};
pub use step::{OrderRun, Phase, Step};

/// A sweep: says which run of orders is next, and takes what that came to, until there is nothing more to find out.
#[derive(Clone, Debug)]
pub struct Sweep {
    plan: SweepPlan,
    spending: Spending,
    alpha_spent: f64,
    spent_ns: u64,
    /// Runs that were asked for.
    runs: u32,
    trying: Trying,
    concluded: Vec<CycleConclusion>,
    step: Step,
}

impl Sweep {
    /// Begins a sweep, or says why it cannot be carried out.
    pub fn new(plan: SweepPlan) -> Result<Self, SweepError> {
        let plan = plan.checked()?;
        let mut sweep = Self {
            spending: Spending::new(plan.alpha()),
            alpha_spent: 0.0,
            spent_ns: 0,
            runs: 0,
            trying: Trying::new(plan.cycles_ns.first().copied().unwrap_or_default()),
            concluded: Vec::new(),
            step: Step::Done(Box::new(conclusion(&plan))),
            plan,
        };
        sweep.step = sweep.choose();
        Ok(sweep)
    }

    /// What the sweep takes if each cycle is confirmed at its first attempt.
    #[must_use]
    pub fn forecast(&self) -> SweepForecast {
        self.plan.forecast()
    }

    /// What is to be done next. It stays the same until its outcome is taken.
    #[must_use]
    pub const fn next(&self) -> &Step {
        &self.step
    }

    /// Takes what the run that was asked for came to. After an error nothing has changed.
    pub fn take(&mut self, outcome: &Outcome) -> Result<(), OutcomeError> {
        let run = *self.step.run().ok_or(OutcomeError::Ended)?;
        outcome.check(&run, self.plan.nodes)?;
        let least = match self.step {
            Step::Explore { .. } => LEAST_EXPLORED,
            _ if outcome.misses() > 0 => 1,
            _ => run.orders,
        };
        if outcome.orders < least {
            return Err(OutcomeError::Incomplete { orders: outcome.orders, asked: run.orders });
        }
        let at_least_ns = outcome.orders.saturating_mul(run.cycle_ns);
        self.spent_ns = self.spent_ns.saturating_add(outcome.took_ns.max(at_least_ns));
        let verdict = match self.step {
            Step::Explore { phase, .. } => self.trying.explore(&run, phase, outcome, &self.plan),
            Step::Confirm { alpha_spent, .. } => self.trying.attempt(&run, alpha_spent, outcome, &self.plan),
            Step::Done(_) => return Err(OutcomeError::Ended),
        };
        if let Verdict::Answered(answer) = verdict {
            self.conclude(answer);
        }
        self.step = self.choose();
        Ok(())
    }

    /// The run that was asked for, which took so long (ns), shows nothing: it is carried out again, under another number. An attempt
    /// takes its part of the chance anew, with as many orders as that asks for, since what kept it from being looked at can be what
    /// made it miss.
    pub fn discard(&mut self, took_ns: u64) {
        if self.step.run().is_some() {
            self.spent_ns = self.spent_ns.saturating_add(took_ns);
            self.step = self.choose();
        }
    }

    /// Ends the sweep: what was confirmed until now stands, and of the cycles that are left it is said why there is no answer.
    pub fn stop(&mut self, why: &str) {
        if self.step.run().is_none() {
            return;
        }
        while self.concluded.len() < self.plan.cycles_ns.len() {
            let lead_ns = (!self.trying.explored.is_empty()).then(|| self.trying.lead_ns(&self.plan));
            self.conclude(Answer::Stopped { why: why.to_owned(), lead_ns });
        }
        self.step = self.choose();
    }

    /// Ends the cycle that is being tried and goes on to the next one.
    fn conclude(&mut self, answer: Answer) {
        let next_ns = self.plan.cycles_ns.get(self.concluded.len() + 1).copied().unwrap_or_default();
        let ended = std::mem::replace(&mut self.trying, Trying::new(next_ns));
        self.concluded.push(CycleConclusion {
            cycle_ns: ended.cycle_ns,
            answer,
            explored: ended.explored,
            phase_difference: ended.phase_difference,
            attempts: ended.attempts,
        });
    }

    /// The next step of the cycle that is being tried, or of the next one that there is time for.
    fn choose(&mut self) -> Step {
        while self.concluded.len() < self.plan.cycles_ns.len() {
            let cycle_ns = self.trying.cycle_ns;
            let (confirm_orders, confirm_ns) = self.plan.confirm(cycle_ns, self.spending.next_alpha());
            let exploration = self.trying.exploration(&self.plan);
            let lead_ns = exploration.map_or_else(|| self.trying.lead_ns(&self.plan), |(lead_ns, _)| lead_ns);
            let explore_orders = self.plan.explore_orders(cycle_ns);
            let left_ns = self.plan.budget_ns.saturating_sub(self.spent_ns);
            // No exploration without time for an attempt after it: it would find out nothing that can be claimed.
            let explorations = 2_u64.saturating_sub(units::total(self.trying.explored.iter().map(|_| 1)));
            let explore_ns = explore_orders.saturating_mul(cycle_ns).saturating_mul(explorations);
            let needed_ns = confirm_ns.saturating_add(explore_ns);
            if needed_ns > left_ns {
                let tried_ns = (!self.trying.explored.is_empty()).then(|| self.trying.lead_ns(&self.plan));
                self.conclude(Answer::OutOfTime { needed_ns, left_ns, lead_ns: tried_ns });
                continue;
            }
            self.runs += 1;
            let orders = if exploration.is_some() { explore_orders } else { confirm_orders };
            let run = OrderRun { number: self.runs, cycle_ns, lead_ns, orders };
            return if let Some((_, phase)) = exploration {
                Step::Explore { run, phase }
            } else {
                let alpha_spent = self.spending.spend();
                self.alpha_spent += alpha_spent;
                Step::Confirm { run, alpha_spent }
            };
        }
        Step::Done(Box::new(Conclusion {
            cycles: std::mem::take(&mut self.concluded),
            alpha_spent: self.alpha_spent,
            spent_ns: self.spent_ns,
            ..conclusion(&self.plan)
        }))
    }
}

/// The conclusion before anything was found out.
fn conclusion(plan: &SweepPlan) -> Conclusion {
    Conclusion {
        cycles: Vec::new(),
        max_miss: plan.max_miss,
        alpha: plan.alpha(),
        alpha_spent: 0.0,
        spent_ns: 0,
        nodes: plan.nodes,
        load: plan.load.clone(),
    }
}

#[cfg(test)]
mod tests;
