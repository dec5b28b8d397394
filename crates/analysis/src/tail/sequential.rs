//! How often a claim is decided wrongly if it is tested repeatedly, as `--until-sure` does. The processes have a known
//! tail; the claims about them are true, borderline or false.
//!
//! A claim states that with this probability nothing exceeds the limit within this time. Of the runs whose claim is
//! false, at most 1 in 100 may end as shown; of those whose claim is true, at most 1 in 100 may end as broken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::When;
use super::assemble::{answered, so_far};
use super::blocks::Blocks;
use super::claim::{Claim, ClaimState};
use super::judge::Judgment;
use super::rehearse::RehearsalOptions;
use super::simulate::{KINDS, Kind, Length, Process, process};
use super::watch::Watch;

/// Number of intervals of the longest run, which ends at its duration.
const RUN: usize = 480;
/// The claims: the stated probability, and the horizon in intervals. A run can show the first two without any model
/// before its end, and the last one only by the fits.
const CLAIMS: [(f64, usize); 3] = [(0.9, 24), (0.99, 4), (0.9, 200)];
/// Number of horizons from which the limit is determined.
const TIMES: usize = 60;
/// True chances that the limit is exceeded, as multiples of the chance that the claim allows: from clearly true (0.1)
/// through borderline (1) to clearly false (8).
const MULTIPLES: [f64; 6] = [0.1, 0.5, 1.0, 2.0, 4.0, 8.0];

/// How claims of one kind about one kind of process were decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionRow {
    /// Name of the process.
    pub name: String,
    /// Whether an answer can be sound; absent if no run can decide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sound: Option<bool>,
    /// The probability that was claimed (0 to 1).
    pub confidence: f64,
    /// The future time span of the claim, as a multiple of the longest run.
    pub horizon: f64,
    /// The true chance that the future time span exceeds the limit (0 to 1).
    pub chance: f64,
    /// Number of runs.
    pub runs: u64,
    /// Number of runs that ended as shown.
    pub shown: u64,
    /// Of the runs that ended as shown, the number whose future time span then exceeded the limit.
    pub wrong: u64,
    /// Number of runs that ended as broken.
    pub broken: u64,
    /// Number of tests of all runs together.
    pub looks: u64,
}

/// One claim about one process.
struct Case {
    watch: Watch,
    claim: Claim,
    horizon: usize,
    /// Index among the rows of this kind of process.
    row: usize,
}

/// Decides claims about simulated processes, with an equal number of processes of each kind.
pub(super) fn decisions(options: &RehearsalOptions) -> Vec<DecisionRow> {
    let runs = options.watched / KINDS.len() as u64;
    KINDS.into_iter().zip(0..).flat_map(|(kind, number)| decided(kind, number, runs, options)).collect()
}

/// Decides each claim about `runs` processes of a kind.
pub(super) fn decided(kind: Kind, number: u64, runs: u64, options: &RehearsalOptions) -> Vec<DecisionRow> {
    let row = |(confidence, horizon, chance)| DecisionRow {
        name: kind.word().to_owned(),
        sound: kind.is_sound(),
        confidence,
        horizon: crate::float(horizon) / crate::float(RUN),
        chance,
        ..DecisionRow::default()
    };
    let mut rows: Vec<DecisionRow> = asked().map(row).collect();
    for run in 0..runs {
        let seed = options.seed.wrapping_mul(1_000_003) ^ (number << 32) ^ run ^ (1 << 62);
        let process = process(kind, Length::Blocks(RUN + longest_horizon() * (1 + TIMES)), seed);
        follow(&process, options.resamples, &mut rows);
    }
    rows
}

fn longest_horizon() -> usize {
    CLAIMS.iter().map(|(_, horizon)| *horizon).max().unwrap_or(0)
}

/// Each claim combined with each true chance: probability, horizon (intervals), chance.
fn asked() -> impl Iterator<Item = (f64, usize, f64)> {
    CLAIMS.into_iter().flat_map(|(confidence, horizon)| {
        MULTIPLES.into_iter().map(move |multiple| (confidence, horizon, (1.0 - confidence) * multiple))
    })
}

/// Follows one run and decides all claims about it.
fn follow(process: &Process, resamples: u32, rows: &mut [DecisionRow]) {
    let blocks = &process.whole.blocks;
    let block_ns = process.whole.block_ns;
    let case = |(row, (confidence, horizon, chance)): (usize, (f64, usize, f64))| {
        let limit_ns = limit(process, horizon, chance);
        let claim = Claim { limit_ns, horizon_ns: block_ns * horizon as u64, confidence };
        Case { watch: Watch::new(claim), claim, horizon, row }
    };
    let mut open: Vec<Case> = asked().enumerate().map(case).collect();
    rows.iter_mut().for_each(|row| row.runs += 1);
    let mut worst_ns = 0;
    let judged = |whole: usize| so_far(&process.whole.first(whole), resamples);
    let mut end = |case: &Case, whole: usize, state: ClaimState| {
        let row = &mut rows[case.row];
        if state == ClaimState::Broken {
            row.broken += 1;
            return;
        }
        row.shown += 1;
        let to_come = blocks.iter().skip(whole).take(case.horizon);
        row.wrong += u64::from(to_come.map(|block| block.max_ns).max().unwrap_or(0) > case.claim.limit_ns);
    };
    let mut looks = vec![0; open.len()];
    for (whole, block) in (1..=RUN).zip(blocks) {
        worst_ns = worst_ns.max(block.max_ns);
        let (mut judgment, mut seen): (Option<Judgment>, Option<Blocks>) = (None, None);
        open.retain_mut(|case| {
            if !case.watch.is_due(whole, worst_ns) {
                return true;
            }
            looks[case.row] += 1;
            let seen = seen.get_or_insert_with(|| process.whole.first(whole));
            let judgment = || judgment.get_or_insert_with(|| judged(whole)).clone();
            let is_decided = case.watch.look_at(seen, judgment, whole, worst_ns);
            if let Some(answer) = case.watch.decided() {
                end(case, whole, answer.state);
            }
            !is_decided
        });
    }
    // The claims that are still undecided get the answer of a finished run.
    if !open.is_empty() {
        let judgment = judged(RUN);
        for case in &open {
            looks[case.row] += 1;
            let state = answered(&judgment, worst_ns, case.claim, When::Once).state;
            if matches!(state, ClaimState::Shown | ClaimState::Broken) {
                end(case, RUN, state);
            }
        }
    }
    rows.iter_mut().zip(looks).for_each(|(row, looks)| row.looks += looks);
}

/// The limit (ns) that a span of `horizon` intervals exceeds with this chance, determined from a part of the process
/// after every run and its horizon.
fn limit(process: &Process, horizon: usize, chance: f64) -> u64 {
    let later = process.whole.blocks.get(RUN + longest_horizon()..).unwrap_or_default();
    let mut maxima: Vec<u64> =
        later.chunks_exact(horizon).filter_map(|time| time.iter().map(|block| block.max_ns).max()).collect();
    maxima.sort_unstable();
    let at = usize::try_from(units::round_u64(crate::float(maxima.len()) * (1.0 - chance))).unwrap_or(0);
    maxima.get(at.saturating_sub(1)).copied().unwrap_or(0).max(1)
}
