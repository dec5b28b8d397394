//! What stands at the top of a page besides its verdict: the conditions of the measurement, its totals, what makes it late, and what to
//! change.

use record::Certainty;
use schemars::JsonSchema;
use serde::Serialize;

use crate::exact::Exact;

/// One condition of the measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConditionView {
    /// Name of the condition: `kernel`, `load`, …
    pub name: String,
    /// The condition in words; null if it is not known, as in many imports.
    pub value: Option<String>,
}

/// The sums over all runs of wake-ups that are not invalid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TotalsView {
    /// What the samples are called: `wake-ups`.
    pub what: String,
    /// Number of samples to which a deadline applies.
    pub samples: Exact,
    /// Samples above the deadline of their run; null if no run has one.
    pub beyond: Option<Exact>,
    /// Sum of the durations of the runs (ns); 0 if it is not known.
    pub observed_ns: Exact,
    /// Schedules that late wake-ups skipped; null if no source counted them.
    pub missed_periods: Option<Exact>,
    /// Number of runs that the sums cover.
    pub runs: Exact,
    /// Number of runs of wake-ups that are invalid and left out.
    pub invalid_runs: Exact,
    /// The sums in one line: "4 800 530 wake-ups in 20 min, 7 beyond the deadline, 34 periods missed."
    pub sentence: String,
}

/// What makes wake-ups late, over all runs of the page.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LateCausesView {
    /// Heading of the table.
    pub heading: String,
    /// The samples of which the shares are parts, in words: `wake-ups beyond 100 us`.
    pub of: String,
    /// Number of these samples.
    pub total: Exact,
    /// The causes, the one with the most samples first; then samples without a known cause, then those not examined. The
    /// samples of all rows add up to the total.
    pub rows: Vec<LateCauseView>,
    /// What counters and rhythms say besides, in whole sentences.
    pub notes: Vec<String>,
}

/// One cause of late wake-ups.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LateCauseView {
    /// The cause in words: `interrupt: eth0 (interrupt 126)`.
    pub cause: String,
    /// Certainty of the cause, the lowest of all its samples; null if the samples were not examined.
    pub certainty: Option<Certainty>,
    /// Number of samples with this cause.
    pub samples: Exact,
    /// Share of the total (0 to 1).
    pub share: f64,
    /// The share in words: `19 %`. Those of all rows add up to 100 %.
    pub percent: String,
    /// The worst latency with this cause (ns); null if it is not known.
    pub worst_ns: Option<Exact>,
    /// What to change against it; null if nothing is known.
    pub remedy: Option<String>,
    /// Name of a finding of `check` that has more about it.
    pub finding: Option<String>,
}

/// The recommendations of an assessment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AssessmentView {
    /// Heading of the list of changes; it depends on whether the deadline holds.
    pub changes_heading: String,
    /// Recommended changes, the most promising first.
    pub changes: Vec<ChangeView>,
}

/// A recommended change.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChangeView {
    /// The change in a few words.
    pub title: String,
    /// Why the change matters on this machine.
    pub why: String,
    /// Commands or settings that make the change.
    pub how: Vec<String>,
    /// Name of the finding that recommends it.
    pub finding: Option<String>,
    /// Estimated share of the samples above the deadline that the change would remove (0 to 1); null if no measurement
    /// supports an estimate.
    pub removes_share_of_beyond: Option<f64>,
    /// The worst latency attributed to what the change removes (ns).
    pub worst_ns: Option<Exact>,
    /// Certainty of the attribution: "shown" or "likely".
    pub sureness: Option<String>,
    /// Number of samples that the estimate is based on.
    pub basis_samples: Option<Exact>,
}
