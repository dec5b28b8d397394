//! What a comparison says: the document that `punctual compare --json` prints.

use record::{Measurement, Place, ValidityState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::ContextDifference;
use super::gate::GateResult;
use profile::differences::ProfileDifferences;

/// The name of this schema.
pub const COMPARISON_SCHEMA: &str = "punctual/comparison";
/// The version that this program writes.
pub const COMPARISON_VERSION: u32 = 1;

/// Two groups of runs side by side, with a verdict. All differences are B - A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Name of the schema: `punctual/comparison`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// What was measured.
    pub measurement: Measurement,
    /// The latency by its two points, as in the glossary.
    pub latency: String,
    /// What is concluded of B against A, with its reason.
    pub verdict: ComparisonVerdict,
    /// The first group.
    pub a: GroupSummary,
    /// The second group.
    pub b: GroupSummary,
    /// Mean and quantiles side by side: those that both groups have samples for.
    pub quantities: Vec<QuantityComparison>,
    /// Worst cases, by the maxima of repetitions.
    pub worst: WorstComparison,
    /// The place of the source of time whose offsets are compared; absent for kinds without sources, and where the runs have none
    /// in common.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Where the samples lie, with their sign; absent where none is below zero, or where one below zero is as good as zero. All
    /// other numbers are of magnitudes then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<SignedComparison>,
    /// How it was judged.
    pub method: Method,
    /// What this comparison could have seen, and how much longer it takes to see less.
    pub reach: Vec<Reach>,
    /// What else than the wanted change differs between the groups, the gravest first.
    pub context: Vec<ContextDifference>,
    /// What differs between the profiles of both groups, where both are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profiles: Option<ProfileDifferences>,
    /// What a reader has to know beside the numbers.
    pub notes: Vec<String>,
    /// What a pipeline asked (`--fail-on`, `--pass-on`), with the answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateResult>,
}

/// The conclusion of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonVerdict {
    /// In a word.
    pub state: ComparisonState,
    /// In words, with the number that decides it.
    pub reason: String,
    /// The rows that B is shown to be worse in, by their names, whatever the margin; a lower latency is better.
    pub worse: Vec<String>,
    /// Those that B is shown to be better in.
    pub better: Vec<String>,
    /// What decides: the worst case, or the rate beyond the deadline where one is stated.
    #[serde(default)]
    pub worst_case: PartState,
    /// Mean and quantiles up to p99.9, by the margin.
    #[serde(default)]
    pub body: PartState,
}

/// The conclusion in a word. The worst case decides, or the rate beyond the deadline where one is stated; the body counts
/// where it changes by more than the margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonState {
    /// B's worst case is worse, and its body is not shown to be better by more than the margin.
    Worse,
    /// B's worst case is better, and its body is not shown to be worse by more than the margin.
    Better,
    /// Worst case and body are opposed, the body by more than the margin: which counts more is for people to say.
    Trade,
    /// B's body is worse by more than the margin; of the worst case nothing is shown.
    WorseBody,
    /// B's body is better by more than the margin; of the worst case nothing is shown.
    BetterBody,
    /// The body differs, and is not shown to do so by more than the margin; of the worst case nothing is shown.
    NotBeyondMargin,
    /// Nothing was shown, which is not the same as equal.
    NoDifferenceShown,
    /// The samples lie elsewhere by more than the margin, and are not shown to be nearer to zero or farther from it.
    Elsewhere,
    /// A run is invalid: the numbers do not mean what was asked.
    Invalid,
}

/// What is shown of one part of a comparison: of what decides, or of the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartState {
    /// B is worse; of the body: by more than the margin in at least one row.
    Worse,
    /// B is better; of the body: by more than the margin in at least one row, and worse so in none.
    Better,
    /// The body differs, and is not shown to do so by more than the margin.
    NotBeyondMargin,
    /// Runs enough, and no difference shown.
    NotShown,
    /// Inconclusive: too few runs, runs of unequal lengths, or maxima that contradict each other.
    #[default]
    CannotTell,
}

/// Samples of both signs: where they lie, beside how far from zero they are. A question of its own, with the level for itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SignedComparison {
    /// Mean and quantiles with their sign: those that both groups have samples for.
    pub quantities: Vec<QuantityComparison>,
    /// The samples of A.
    pub a: SignedRange,
    /// The samples of B.
    pub b: SignedRange,
    /// What is shown.
    pub state: SignedState,
    /// What is shown in words, with both numbers; a part of a sentence.
    pub text: String,
}

/// The samples of one group, with their sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedRange {
    /// The lowest (ns).
    pub lowest_ns: i64,
    /// The highest (ns).
    pub highest_ns: i64,
}

/// What is shown of where samples lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SignedState {
    /// They lie elsewhere, by more than the margin in at least one row.
    Elsewhere,
    /// They lie elsewhere, and are not shown to do so by more than the margin.
    NotBeyondMargin,
    /// Runs enough, and no difference shown.
    NotShown,
    /// Inconclusive: too few runs.
    #[default]
    CannotTell,
}

/// One group of runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupSummary {
    /// What people call it: a label, or its files.
    pub name: String,
    /// The worst of its runs' validities.
    pub validity: ValidityState,
    /// Its runs, in the order given.
    pub runs: Vec<RunSummary>,
    /// Samples of all runs.
    pub samples: u64,
    /// Schedules that late wake-ups swallowed; absent where a run comes from a program that does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed_periods: Option<u64>,
    /// Exact smallest (ns); absent without a sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<u64>,
    /// Exact largest (ns); absent without a sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// Population standard deviation (ns); absent where the values of some samples are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd_ns: Option<f64>,
}

/// One run of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// Its unique name.
    pub id: String,
    /// Host name of the machine.
    pub node: String,
    /// A word for people.
    pub label: String,
    /// How far it can be trusted.
    pub validity: ValidityState,
    /// Why, the worst first: code and what was seen.
    pub reasons: Vec<String>,
    /// Number of samples.
    pub samples: u64,
    /// Schedules that late wake-ups swallowed; absent where a run comes from a program that does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed_periods: Option<u64>,
    /// Exact largest (ns); absent without a sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// From the first schedule to the end (ns), without the intervals that something spoiled.
    pub duration_ns: u64,
    /// Pieces that it was cut into.
    pub pieces: u64,
}

/// One quantity of both groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantityComparison {
    /// `mean`, `p50`, `p99.9`, …; of noise first `stolen in 1 s`: what a CPU lost in each second.
    pub name: String,
    /// The share of samples that does not exceed it, 0 to 1; absent for means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Of A (ns).
    pub a_ns: f64,
    /// Of B (ns).
    pub b_ns: f64,
    /// B - A (ns).
    pub difference_ns: f64,
    /// B - A in per cent of A; absent where A is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference_percent: Option<f64>,
    /// Where the difference would lie were the runs repeated, each row by itself; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<DifferenceInterval>,
    /// How often chance alone makes such a difference or a greater one; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The same within the level that the whole verdict has: what the verdict goes by. Absent for rows that decide nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_together: Option<f64>,
}

impl QuantityComparison {
    /// Whether the difference is less likely by chance alone than `level`, among all rows of the verdict.
    pub(super) fn is_unlikely(&self, level: f64) -> bool {
        self.p_together.is_some_and(|p| p <= level)
    }

    /// Whether 0 lies in the interval, so that what chance makes of the runs and what repeating them would make must
    /// not both be believed. Of few runs the one asks for less than the other.
    pub(super) fn is_doubtful(&self) -> bool {
        self.interval.is_some_and(|interval| interval.low_ns <= 0.0 && interval.high_ns >= 0.0)
    }
}

/// A confidence interval of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DifferenceInterval {
    /// Its lower end (ns).
    pub low_ns: f64,
    /// Its upper end (ns).
    pub high_ns: f64,
}

/// Worst cases of both groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorstComparison {
    /// What stands for a repetition.
    pub unit: Unit,
    /// The maximum of each of A's that has a sample (ns).
    pub a_maxima_ns: Vec<u64>,
    /// The maximum of each of B's that has a sample (ns).
    pub b_maxima_ns: Vec<u64>,
    /// The median of A's maxima (ns); absent where none has a sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a_median_ns: Option<f64>,
    /// The median of B's maxima (ns); absent where none has a sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b_median_ns: Option<f64>,
    /// B's median minus A's (ns); absent where one of them is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_difference_ns: Option<f64>,
    /// The same in per cent of A's; absent where that is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_difference_percent: Option<f64>,
    /// How often chance alone ranks the maxima as differently; absent where they cannot be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The same within the level that the whole verdict has; absent where a rate decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_together: Option<f64>,
    /// Whether the largest value of all contradicts the ranks, so that nothing is concluded from them.
    #[serde(default)]
    pub is_contradictory: bool,
    /// How often the deadline was exceeded, which then decides; absent where none is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateComparison>,
    /// How they were compared, or why not.
    pub note: String,
}

/// How often each unit exceeded the deadline, over about equally long parts of the runs.
///
/// It is counted from bins, on both sides alike: a sample counts as late from the first bin above the deadline on, so that
/// one beyond it by less than a bin's width (0.1 %) may not count. A record's own `late_samples` are exact, but are those of
/// whole runs and of the deadline that was stated when it was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateComparison {
    /// The deadline (ns).
    pub deadline_ns: u64,
    /// Of each of A's units the periods that were late by more than that: wake-ups, and the schedules they skipped that were so late
    /// themselves; of noise the gaps.
    pub a_beyond: Vec<u64>,
    /// Of each of A's units all periods; of noise the time observed (ns).
    pub a_exposure: Vec<u64>,
    /// Of each of B's units the periods that were late by more than that: wake-ups, and the schedules they skipped that were so late
    /// themselves; of noise the gaps.
    pub b_beyond: Vec<u64>,
    /// Of each of B's units all periods; of noise the time observed (ns).
    pub b_exposure: Vec<u64>,
    /// How many of all A's, and of all B's, periods beyond the deadline are schedules that a late wake-up skipped.
    #[serde(default)]
    pub missed_beyond: [u64; 2],
    /// Of how long a part of each run these are, from its beginning (ns); absent where all of each run counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_ns: Option<u64>,
    /// The sums of both sides in words, and which part of the runs they are of where that is not all.
    pub text: String,
    /// How often chance alone ranks the rates as differently; absent where they cannot be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The same within the level that the whole verdict has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_together: Option<f64>,
}

/// What changes sides in the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Whole runs are permuted.
    Run,
    /// Blocks of neighboring intervals of the one run on each side: no repetitions.
    Block,
}

/// How a comparison was judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Method {
    /// The probability of seeing a difference where there is none, over all rows together.
    pub level: f64,
    /// How often both groups were resampled.
    pub resamples: u32,
    /// Where the random numbers began; the same seed gives the same document.
    pub seed: u64,
    /// What changes sides.
    pub unit: Unit,
    /// Units of A.
    pub a_units: u64,
    /// Units of B.
    pub b_units: u64,
    /// Length of the pieces that runs were cut into (ns).
    pub piece_ns: u64,
    /// Pieces to a block.
    pub block_pieces: u64,
    /// How alike neighboring pieces are, 0 to 1.
    pub correlation: f64,
    /// No p-value below this is possible with these units.
    pub smallest_p: f64,
    /// The change of the body that counts (ns); one below it never outweighs the worst case.
    #[serde(default)]
    pub margin_ns: f64,
    /// The step that the samples of both sides are compared in, that of the coarser source (ns); 0 where it is a nanosecond. No
    /// difference up to it is claimed.
    #[serde(default)]
    pub step_ns: f64,
}

/// What could have been seen of one quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reach {
    /// Name of the item.
    pub name: String,
    /// A true difference that four of five such comparisons would show (ns).
    pub visible_ns: f64,
    /// The difference that somebody wants to see (ns).
    pub wanted_ns: f64,
    /// How many times longer both sides have to be measured for that (runs: how many times as many); at most 1 where it
    /// would have been seen.
    pub times_longer: f64,
}
