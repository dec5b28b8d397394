//! What came of a sweep: for each cycle a lead that is confirmed, or the reason why there is none, with all numbers that its sentence
//! needs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::outcome::{Burst, NeededLead, NodeCount};
use super::spending::{burst_interval_ns, miss_rate_below};
use super::step::{OrderRun, Phase};

/// What came of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conclusion {
    /// Each cycle that was asked for, the shortest first.
    pub cycles: Vec<CycleConclusion>,
    /// The share of missed orders that was allowed.
    pub max_miss: f64,
    /// The chance that any claim of the sweep is wrong: 1 - confidence.
    pub alpha: f64,
    /// How much of it the attempts took, which is always less.
    pub alpha_spent: f64,
    /// How long all runs took together (ns).
    pub spent_ns: u64,
    /// How many nodes were ordered together.
    pub nodes: usize,
    /// What else ran meanwhile; all of this holds for this load alone.
    pub load: String,
}

impl Conclusion {
    /// The shortest cycle that holds, which is the answer to "how fast can these nodes be ordered"; `None` if none does.
    #[must_use]
    pub fn shortest_cycle(&self) -> Option<&Claim> {
        self.claims().min_by_key(|claim| claim.cycle_ns)
    }

    /// The shortest lead that is confirmed at any cycle, which is the answer to "how soon can they act on an order"; of two equal
    /// ones that at the shorter cycle.
    #[must_use]
    pub fn shortest_lead(&self) -> Option<&Claim> {
        self.claims().min_by_key(|claim| (claim.lead_ns, claim.cycle_ns))
    }

    /// What the sweep answers, as a whole. One that was ended is no answer to what was asked, whatever it has confirmed until then.
    #[must_use]
    pub fn verdict(&self) -> SweepVerdict {
        let answers = || self.cycles.iter().map(|cycle| &cycle.answer);
        if answers().any(|answer| matches!(answer, Answer::Stopped { .. })) {
            SweepVerdict::CannotTell
        } else if self.claims().next().is_some() {
            SweepVerdict::Holds
        } else if answers().next().is_some() && answers().all(Answer::is_shown_to_fail) {
            SweepVerdict::Broken
        } else {
            SweepVerdict::CannotTell
        }
    }

    /// All that is claimed. That every one of these holds is as sure as was asked for.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.cycles.iter().filter_map(|cycle| match &cycle.answer {
            Answer::Holds(claim) => Some(claim),
            _ => None,
        })
    }
}

/// What a sweep answers, as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepVerdict {
    /// At one of its cycles at least a lead is confirmed.
    Holds,
    /// At each of its cycles it is shown that no lead suffices, or none was found although all that was needed was tried.
    Broken,
    /// It was ended, or no lead is confirmed and one may suffice at some cycle.
    CannotTell,
}

/// What came of one cycle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CycleConclusion {
    /// From one order to the next (ns).
    pub cycle_ns: u64,
    /// The lead that holds, or why there is none.
    pub answer: Answer,
    /// What the explorations showed.
    pub explored: Vec<Explored>,
    /// By how much the lead that was needed differed from one phase to the other, where it did by at least the margin.
    ///
    /// "Whether a node still waits for an earlier order when a new one arrives changes the lead that is needed by 62 us: a lead that
    /// is confirmed holds at this cycle, and at a slightly different one it may not."
    /// What would make it false: a machine that changed between the two explorations, for another reason.
    pub phase_difference: Option<PhaseDifference>,
    /// All attempts to confirm a lead, in order.
    pub attempts: Vec<Attempt>,
}

/// An exploration. Nothing is claimed of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Explored {
    /// How earlier orders lay when new ones arrived.
    pub phase: Phase,
    /// How long before its moment each order was sent (ns).
    pub lead_ns: u64,
    /// How many schedules were ordered.
    pub orders: u64,
    /// Schedules that were missed for a reason that no lead mends: an order was lost, skipped, refused, dropped, or late all the same.
    pub lost: u64,
    /// Other schedules that needed more than this lead.
    pub late: u64,
    /// The lead that was needed; `None` where that is not known of any order.
    pub needed: Option<NeededLead>,
    /// The burst with the most misses.
    pub longest_burst: Option<Burst>,
    /// What each node did, in the order of the nodes.
    pub nodes: Vec<NodeCount>,
}

/// The second exploration less the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseDifference {
    /// By how much the median is longer (ns).
    pub p50_ns: i64,
    /// By how much the 99 % quantile is longer (ns).
    pub p99_ns: i64,
    /// By how much the worst is longer (ns). It decides nothing, since a single order makes it.
    pub worst_ns: i64,
}

/// An attempt to confirm a lead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// How long before its moment each order was sent (ns).
    pub lead_ns: u64,
    /// How many orders without a miss were asked for.
    pub asked: u64,
    /// How many orders were sent.
    pub orders: u64,
    /// The chance of a wrong claim that it took.
    pub alpha_spent: f64,
    /// Schedules that were missed for a reason that no lead mends: an order was lost, skipped, refused, dropped, or late all the same.
    pub lost: u64,
    /// Other schedules that needed more than the lead.
    pub late: u64,
    /// The longest lead that was needed (ns); `None` where that is not known of any order.
    pub worst_ns: Option<u64>,
    /// The burst with the most misses.
    pub longest_burst: Option<Burst>,
}

/// What is known of a lead at a cycle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "kebab-case", rename_all_fields = "snake_case")]
pub enum Answer {
    /// "At a cycle of 500 us, ordered 320 us ahead, none of 529,832 orders in 265 s was lost or late. If orders are missed
    /// independently of each other, fewer than 1 in 100,000 are. Bursts of misses are rarer than one in 50 s. All with 99 % confidence
    /// for the whole sweep, under the load 'stress'."
    ///
    /// What would make it false: another load, a machine or network that changes later, bursts with a rhythm longer than the confirmation,
    /// and 1 in 100 sweeps. The share of missed orders is no more than `max_miss` only where no burst misses more than one order;
    /// [`Claim::miss_rate_below_in_bursts`] states what it is otherwise.
    Holds(Claim),
    /// "At a cycle of 250 us 24,103 of 120,000 orders were missed for a reason that no lead mends." With [`Failure::is_shown_worse`]: "At
    /// least 19 % are missed if each is independently of the others, and at least 3 % if they come in bursts like those that were seen."
    /// Without it: "Whether more than 1 in 100,000 are missed is not known; that it is fewer was not shown."
    ///
    /// What would make it false: a fault of the witness that says what arrived, or something that happened once, such as a
    /// cable that was touched. A system that loses a tenth of what is allowed ends here as often as the forecast says.
    Loses(Failure),
    /// "At a cycle of 250 us 3 of 81,000 orders needed more than the largest lead, the worst of them 12.4 ms: 2.4 ms more."
    ///
    /// What would make it false: a larger lead that is allowed, or a clock that was set during the run.
    TooLate(Failure),
    /// "The lead was raised 8 times, from 310 us to 480 us, and some order always needed more: no worst case was found."
    ///
    /// What would make it false: a longer exploration, which sees the worst case before the first attempt, or a machine that has
    /// settled.
    Unsettled {
        /// The lead of the first attempt (ns).
        first_lead_ns: u64,
        /// The lead of the last attempt, which did not suffice either (ns).
        last_lead_ns: u64,
        /// The longest lead that was needed (ns).
        worst_ns: u64,
        /// How often the lead was raised.
        raised: u32,
    },
    /// "Whether a lead holds at a cycle of 2 ms cannot be told: the sweep was ended, since a node could no longer be reached."
    ///
    /// What would make it false: nothing; what was confirmed before it at other cycles stands, since each attempt had its own part of
    /// the chance.
    Stopped {
        /// Why, as the end of a sentence.
        why: String,
        /// The lead that would be tried next (ns), where the cycle was explored.
        lead_ns: Option<u64>,
    },
    /// "Whether a lead holds at a cycle of 2 ms cannot be told: that takes 1,199 s, and 600 s are left." With a lead:
    /// "320 us sufficed for all orders so far, which is no claim."
    ///
    /// What would make it false: nothing; a larger budget would answer it.
    OutOfTime {
        /// How long the next step takes, and an attempt after it if that is an exploration (ns).
        needed_ns: u64,
        /// What is left of the budget (ns).
        left_ns: u64,
        /// The lead that would be tried next (ns), where the cycle was explored.
        lead_ns: Option<u64>,
    },
}

impl Answer {
    /// Whether the cycle fails, and not only was not confirmed.
    const fn is_shown_to_fail(&self) -> bool {
        match self {
            Self::Loses(failure) | Self::TooLate(failure) => failure.is_shown_worse,
            Self::Unsettled { .. } => true,
            Self::Holds(_) | Self::Stopped { .. } | Self::OutOfTime { .. } => false,
        }
    }
}

/// A confirmed lead, with all that limits what it says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// From one order to the next (ns).
    pub cycle_ns: u64,
    /// How long before its moment each order was sent (ns).
    pub lead_ns: u64,
    /// How many schedules were ordered at exactly this lead and cycle, none of which was missed.
    pub orders: u64,
    /// How long that took (ns): `orders` times the cycle.
    pub time_ns: u64,
    /// The chance that this claim is wrong, which is this attempt's part of the sweep's.
    pub alpha_spent: f64,
    /// The share of orders that is missed at most, if each is missed independently of the others.
    pub miss_rate_below: f64,
    /// Bursts of misses are rarer than one in this time (ns). This is all that is shown where misses come in bursts.
    pub burst_interval_ns: u64,
    /// The longest burst of misses that was seen at this cycle, in explorations and attempts that failed, some at shorter leads;
    /// `None` if no order was missed.
    pub longest_burst: Option<Burst>,
    /// How many orders a burst is assumed to miss at most in `miss_rate_below_in_bursts`: those of the longest burst that was seen, or 1.
    pub assumed_burst_misses: u64,
    /// The share of orders that is missed at most, if no burst misses more than `assumed_burst_misses` (0 to 1).
    pub miss_rate_below_in_bursts: f64,
    /// The lead that the orders of the confirmation needed.
    pub needed: NeededLead,
    /// What each node needed in the confirmation, in the order of the nodes.
    pub nodes: Vec<NodeCount>,
    /// What else ran meanwhile: the claim holds for this load alone.
    pub load: String,
}

/// The orders that show why a cycle fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Whether an attempt to confirm a lead showed it; else explorations did.
    pub is_of_attempt: bool,
    /// How long before its moment each order was sent (ns); of several explorations that of the last.
    pub lead_ns: u64,
    /// How many schedules were ordered.
    pub orders: u64,
    /// Schedules that were missed for a reason that no lead mends: an order was lost, skipped, refused, dropped, or late all the same.
    pub lost: u64,
    /// Other schedules that needed more than the lead.
    pub late: u64,
    /// The longest lead that was needed (ns); `None` where that is not known of any order.
    pub worst_ns: Option<u64>,
    /// The share of orders that is missed at least, for the reason that the cycle fails by, if each is independently of the others. It
    /// is as sure as the sweep was asked to be, by itself.
    pub miss_rate_at_least: f64,
    /// How many orders a burst is assumed to miss at most in `miss_rate_at_least_in_bursts`: those of the longest burst that was seen,
    /// and no more than are sent in two seconds, since misses a second apart are taken to be independent.
    pub assumed_burst_misses: u64,
    /// The share of orders that is missed at least, for the same reason and as sure, if no burst misses more than `assumed_burst_misses`.
    pub miss_rate_at_least_in_bursts: f64,
    /// Whether `miss_rate_at_least_in_bursts` is more than what was allowed. If not, all that is known is that the cycle was not confirmed.
    pub is_shown_worse: bool,
    /// The burst with the most misses.
    pub longest_burst: Option<Burst>,
    /// What each node missed, in the order of the nodes.
    pub nodes: Vec<NodeCount>,
}

impl Claim {
    /// The claim of a run without a miss.
    pub(super) fn new(
        run: &OrderRun,
        alpha_spent: f64,
        needed: NeededLead,
        nodes: Vec<NodeCount>,
        (longest_burst, load): (Option<Burst>, String),
    ) -> Self {
        let time_ns = run.time_ns();
        let burst_interval_ns = burst_interval_ns(time_ns, alpha_spent);
        let assumed_burst_misses = longest_burst.map_or(1, |burst| burst.misses);
        // In the time of one burst so many orders are sent, of which it misses so many.
        let per_order = units::approx_f64(run.cycle_ns) / units::approx_f64(burst_interval_ns.max(1));
        let miss_rate_below_in_bursts = (units::approx_f64(assumed_burst_misses) * per_order).min(1.0);
        Self {
            cycle_ns: run.cycle_ns,
            lead_ns: run.lead_ns,
            orders: run.orders,
            time_ns,
            alpha_spent,
            miss_rate_below: miss_rate_below(run.orders, alpha_spent),
            burst_interval_ns,
            longest_burst,
            assumed_burst_misses,
            miss_rate_below_in_bursts,
            needed,
            nodes,
            load,
        }
    }
}
