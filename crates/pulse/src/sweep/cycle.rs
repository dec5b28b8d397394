//! What is known of a cycle while it is tried: explorations, the lead that they suggest, and attempts to confirm one.

use super::conclusion::{Answer, Attempt, Claim, Explored, Failure, PhaseDifference};
use super::outcome::{Burst, NodeCount, Outcome};
use super::plan::SweepPlan;
use super::spending::{miss_rate_at_least, miss_rate_at_least_in_bursts};
use super::step::{OrderRun, Phase};
use crate::account::BURST_NS;

/// How often the lead is raised at a cycle. A system whose worst case is bounded is found by then: each failed attempt shows a
/// longer lead that was needed. One that needs more each time has no worst case that can be found by trying.
pub(super) const MOST_RAISES: u32 = 8;
/// Leads are rounded up to this (ns): people read them.
const LEAD_STEP_NS: u64 = 1_000;

/// The cycle that is being tried.
#[derive(Clone, Debug, Default)]
pub(super) struct Trying {
    pub(super) cycle_ns: u64,
    pub(super) explored: Vec<Explored>,
    pub(super) phase_difference: Option<PhaseDifference>,
    pub(super) attempts: Vec<Attempt>,
    /// The longest lead that was needed so far, as far as it counts for the lead to choose (ns).
    worst_ns: u64,
}

/// What follows from an outcome.
pub(super) enum Verdict {
    /// The cycle needs another run.
    GoOn,
    /// What is to be said of the cycle.
    Answered(Answer),
}

impl Trying {
    pub(super) fn new(cycle_ns: u64) -> Self {
        Self { cycle_ns, ..Self::default() }
    }

    /// The lead to try next (ns): the worst that was needed and the margin, in whole microseconds; at most the largest lead.
    pub(super) fn lead_ns(&self, plan: &SweepPlan) -> u64 {
        let wanted_ns = self.worst_ns.saturating_add(plan.margin_ns);
        wanted_ns.div_ceil(LEAD_STEP_NS).saturating_mul(LEAD_STEP_NS).min(plan.max_lead_ns)
    }

    /// Lead (ns) and phase of the next exploration; `None` after the second.
    pub(super) fn exploration(&self, plan: &SweepPlan) -> Option<(u64, Phase)> {
        let Some(first) = self.explored.first() else { return Some((plan.max_lead_ns, Phase::Longest)) };
        if self.explored.len() > 1 {
            return None;
        }
        let (cycle_ns, lead_ns) = (self.cycle_ns, self.lead_ns(plan));
        if lead_ns < cycle_ns {
            return Some((lead_ns, Phase::Alone));
        }
        // Here the largest lead is at least a cycle, so that half a cycle less is a lead, too.
        let apart = (plan.max_lead_ns.saturating_sub(cycle_ns / 2), Phase::Apart);
        let arrives_ns = first.needed.map_or(0, |needed| needed.p50_ns);
        let Some(room_ns) = plan.max_lead_ns.checked_sub(arrives_ns.saturating_add(cycle_ns)) else {
            return Some(apart);
        };
        // Orders that were sent whole cycles before arrive now: the earlier one's moment is then the median's arrival.
        let from_meeting_ns = room_ns % cycle_ns;
        let away_ns = from_meeting_ns.min(cycle_ns - from_meeting_ns);
        Some(if away_ns < cycle_ns / 8 { apart } else { (plan.max_lead_ns - from_meeting_ns, Phase::Meeting) })
    }

    /// Takes what an exploration came to.
    pub(super) fn explore(&mut self, run: &OrderRun, phase: Phase, outcome: &Outcome, plan: &SweepPlan) -> Verdict {
        self.explored.push(Explored {
            phase,
            lead_ns: run.lead_ns,
            orders: outcome.orders,
            lost: outcome.lost,
            late: outcome.late,
            needed: outcome.needed,
            longest_burst: outcome.longest_burst,
            nodes: outcome.nodes.clone(),
        });
        let lost = units::total(self.explored.iter().map(|explored| explored.lost));
        let all: Vec<&Explored> = self.explored.iter().collect();
        if let Some(failure) = shown(lost, &all, (run.cycle_ns, plan)) {
            return Verdict::Answered(Answer::Loses(failure));
        }
        // Late by the largest lead: no other one would have mended it.
        let longest: Vec<&Explored> =
            self.explored.iter().filter(|explored| explored.lead_ns == plan.max_lead_ns).collect();
        let late = units::total(longest.iter().map(|explored| explored.late));
        if let Some(failure) = shown(late, &longest, (run.cycle_ns, plan)) {
            return Verdict::Answered(Answer::TooLate(failure));
        }
        let worst_ns = |explored: &Explored| explored.needed.map_or(0, |needed| needed.worst_ns);
        self.worst_ns = self.explored.iter().map(worst_ns).max().unwrap_or(0);
        self.phase_difference = self.find_phase_difference(plan);
        // With a lead shorter than the cycle no earlier order waits: then the other phase says nothing of it, if it differs.
        if let (Some(_), Some(second)) = (self.phase_difference, self.explored.get(1)) {
            let both_ns = std::mem::replace(&mut self.worst_ns, worst_ns(second));
            if second.phase != Phase::Alone || self.lead_ns(plan) >= self.cycle_ns {
                self.worst_ns = both_ns;
            }
        }
        Verdict::GoOn
    }

    fn find_phase_difference(&self, plan: &SweepPlan) -> Option<PhaseDifference> {
        let [first, second] = self.explored.as_slice() else { return None };
        let (first, second) = (first.needed?, second.needed?);
        let less = |one: u64, other: u64| units::clamp_i64(i128::from(one) - i128::from(other));
        let difference = PhaseDifference {
            p50_ns: less(second.p50_ns, first.p50_ns),
            p99_ns: less(second.p99_ns, first.p99_ns),
            worst_ns: less(second.worst_ns, first.worst_ns),
        };
        let is_large = |ns: i64| ns.unsigned_abs() >= plan.margin_ns;
        (is_large(difference.p50_ns) || is_large(difference.p99_ns)).then_some(difference)
    }

    /// The longest burst of misses that was seen at this cycle.
    fn longest_burst(&self) -> Option<Burst> {
        let explored = self.explored.iter().map(|explored| explored.longest_burst);
        explored.chain(self.attempts.iter().map(|attempt| attempt.longest_burst)).flatten().max()
    }

    /// Takes what an attempt came to.
    pub(super) fn attempt(&mut self, run: &OrderRun, alpha_spent: f64, outcome: &Outcome, plan: &SweepPlan) -> Verdict {
        if let Some(needed) = outcome.needed.filter(|_| outcome.misses() == 0) {
            let with = (self.longest_burst(), plan.load.clone());
            let claim = Claim::new(run, alpha_spent, needed, outcome.nodes.clone(), with);
            self.note(run, alpha_spent, outcome);
            return Verdict::Answered(Answer::Holds(claim));
        }
        self.note(run, alpha_spent, outcome);
        let failure = |misses: u64| {
            let shown = Shown::new(misses, outcome.orders, (outcome.longest_burst, run.cycle_ns), plan.alpha());
            Failure {
                is_of_attempt: true,
                lead_ns: run.lead_ns,
                orders: outcome.orders,
                lost: outcome.lost,
                late: outcome.late,
                worst_ns: outcome.needed.map(|needed| needed.worst_ns),
                miss_rate_at_least: shown.at_least,
                assumed_burst_misses: shown.together,
                miss_rate_at_least_in_bursts: shown.at_least_in_bursts,
                is_shown_worse: shown.at_least_in_bursts > plan.max_miss,
                longest_burst: outcome.longest_burst,
                nodes: outcome.nodes.clone(),
            }
        };
        if outcome.lost > 0 {
            return Verdict::Answered(Answer::Loses(failure(outcome.lost)));
        }
        let worst_ns = outcome.needed.map_or(0, |needed| needed.worst_ns);
        // What the sentence says is of the largest lead: until an attempt had that, the next one has more.
        if run.lead_ns >= plan.max_lead_ns {
            return Verdict::Answered(Answer::TooLate(failure(outcome.late)));
        }
        self.worst_ns = self.worst_ns.max(worst_ns);
        let tried = u32::try_from(self.attempts.len()).unwrap_or(u32::MAX);
        if tried > MOST_RAISES {
            return Verdict::Answered(Answer::Unsettled {
                first_lead_ns: self.attempts.first().map_or(run.lead_ns, |attempt| attempt.lead_ns),
                last_lead_ns: run.lead_ns,
                worst_ns: self.worst_ns,
                raised: tried.saturating_sub(1),
            });
        }
        Verdict::GoOn
    }

    fn note(&mut self, run: &OrderRun, alpha_spent: f64, outcome: &Outcome) {
        self.attempts.push(Attempt {
            lead_ns: run.lead_ns,
            asked: run.orders,
            orders: outcome.orders,
            alpha_spent,
            lost: outcome.lost,
            late: outcome.late,
            worst_ns: outcome.needed.map(|needed| needed.worst_ns),
            longest_burst: outcome.longest_burst,
        });
    }
}

/// What misses show of the share that is missed.
struct Shown {
    /// How many orders a burst is assumed to miss at most.
    together: u64,
    at_least: f64,
    at_least_in_bursts: f64,
}

impl Shown {
    fn new(misses: u64, orders: u64, (longest, cycle_ns): (Option<Burst>, u64), alpha: f64) -> Self {
        // Of misses that depend on those of the same second and the next one alone, what two seconds hold counts as one burst.
        let most = BURST_NS.saturating_mul(2).div_ceil(cycle_ns.max(1));
        let together = longest.map_or(1, |burst| burst.misses).min(misses).min(most).max(1);
        Self {
            together,
            at_least: miss_rate_at_least(misses, orders, alpha),
            at_least_in_bursts: miss_rate_at_least_in_bursts(misses, orders, together, alpha),
        }
    }
}

/// What so many misses of explorations show, if that is more than is allowed.
fn shown(misses: u64, explored: &[&Explored], (cycle_ns, plan): (u64, &SweepPlan)) -> Option<Failure> {
    let orders = units::total(explored.iter().map(|explored| explored.orders));
    let longest_burst = explored.iter().filter_map(|explored| explored.longest_burst).max();
    // It is looked at after each of the two explorations, and may be wrong at either with half of the chance.
    let shown = Shown::new(misses, orders, (longest_burst, cycle_ns), plan.alpha() / 2.0);
    (shown.at_least_in_bursts > plan.max_miss).then(|| Failure {
        is_of_attempt: false,
        lead_ns: explored.last().map_or(0, |last| last.lead_ns),
        orders,
        lost: units::total(explored.iter().map(|explored| explored.lost)),
        late: units::total(explored.iter().map(|explored| explored.late)),
        worst_ns: explored.iter().filter_map(|explored| Some(explored.needed?.worst_ns)).max(),
        miss_rate_at_least: shown.at_least,
        assumed_burst_misses: shown.together,
        miss_rate_at_least_in_bursts: shown.at_least_in_bursts,
        is_shown_worse: true,
        longest_burst,
        nodes: explored.iter().fold(Vec::new(), |nodes, explored| joined(&nodes, &explored.nodes)),
    })
}

/// What each node did in both.
fn joined(one: &[NodeCount], other: &[NodeCount]) -> Vec<NodeCount> {
    let before = one.iter().copied().chain(std::iter::repeat(NodeCount::default()));
    let both = other.iter().zip(before).map(|(node, before)| NodeCount {
        lost: before.lost.saturating_add(node.lost),
        late: before.late.saturating_add(node.late),
        worst_ns: before.worst_ns.max(node.worst_ns),
    });
    both.collect()
}
