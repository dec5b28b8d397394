//! Predictions from the first part of a run, compared with what happened in the rest.

use record::Record;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::assemble::check_one_condition;
use super::blocks::Blocks;
use super::judge::{Effort, Judgment};
use super::refusal::RefusalCode;
use super::sequential::{DecisionRow, decisions};
use super::simulate::{KINDS, Kind, Length, process};

/// A process is this many times as long as its first part.
const TIMES: usize = 10;

/// Name of the schema of a rehearsal's document.
pub const REHEARSAL_SCHEMA: &str = "punctual/tail-rehearsal";
/// Version of the schema that this program writes.
pub const REHEARSAL_VERSION: u32 = 1;

/// How often predictions came true.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rehearsal {
    /// Name of the schema: `punctual/tail-rehearsal`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// The share of outcomes that a stated interval should contain (0 to 1).
    pub stated: f64,
    /// Length of the predicted time span, in lengths of the first part.
    pub times: u64,
    /// Number of resamples of each process or record.
    pub resamples: u32,
    /// Seed of the random numbers; the same seed gives the same document.
    pub seed: u64,
    /// The results of each kind of process, or of each record.
    pub rows: Vec<RehearsalRow>,
    /// How claims were decided about processes that were tested repeatedly, as with `--until-sure`; empty for records.
    #[serde(default)]
    pub decisions: Vec<DecisionRow>,
}

/// How often the predictions for one kind of process, or for one record, came true.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RehearsalRow {
    /// Name of the kind of process, or of the record.
    pub name: String,
    /// Whether an answer can be sound; absent for records, and for processes whose first part does not show what
    /// follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sound: Option<bool>,
    /// Number of processes.
    pub processes: u64,
    /// Number of processes with a prediction.
    pub answered: u64,
    /// Number of predictions whose interval contained the worst case of the rest.
    pub covered: u64,
    /// Number of predictions whose interval ended below the worst case of the rest.
    pub above: u64,
    /// Number of predictions whose upper end at 99 % was exceeded.
    pub above_99: u64,
    /// Median of the predictions' upper ends, as a multiple of the worst latency of the first part.
    pub reach: f64,
    /// Why the other processes were refused: the first reason of each refusal, with its count.
    pub refused: Vec<RefusedCount>,
    /// Prediction and outcome of single runs, in a sentence each; empty for simulated processes.
    #[serde(default)]
    pub told: Vec<String>,
}

/// Name of the row for all recorded runs together.
pub const TOGETHER: &str = "all, one after the other";

/// How often answers were refused for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedCount {
    /// Code of the reason.
    pub code: RefusalCode,
    /// Number of refusals for this reason.
    pub count: u64,
}

/// Options of a rehearsal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RehearsalOptions {
    /// Number of simulated processes of all kinds together.
    pub processes: u64,
    /// Number of simulated runs, of all kinds together, that are tested repeatedly until claims about them are decided.
    pub watched: u64,
    /// The share of outcomes that a stated interval should contain (0.5 to 0.99).
    pub level: f64,
    /// Number of resamples of each process or record.
    pub resamples: u32,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for RehearsalOptions {
    fn default() -> Self {
        Self { processes: 1_000, watched: 300, level: 0.9, resamples: 500, seed: 1 }
    }
}

impl Rehearsal {
    fn new(options: &RehearsalOptions, rows: Vec<RehearsalRow>, decisions: Vec<DecisionRow>) -> Self {
        Self {
            schema: REHEARSAL_SCHEMA.to_owned(),
            version: REHEARSAL_VERSION,
            stated: options.level,
            times: TIMES as u64 - 1,
            resamples: options.resamples,
            seed: options.seed,
            rows,
            decisions,
        }
    }
}

/// Predicts simulated processes with known tails, an equal number of each kind.
#[must_use]
pub fn rehearse(options: &RehearsalOptions) -> Rehearsal {
    let kinds = KINDS.len() as u64;
    let row = |(kind, number): (Kind, u64)| {
        let mut row = RehearsalRow { name: kind.word().to_owned(), sound: kind.is_sound(), ..RehearsalRow::default() };
        let processes = options.processes / kinds + u64::from(number < options.processes % kinds);
        let mut reach = Vec::new();
        for process_number in 0..processes {
            let seed = options.seed.wrapping_mul(1_000_003) ^ (number << 32) ^ process_number;
            let process = process(kind, Length::Times(TIMES), seed);
            row.add(&process.whole, process.first, options, &mut reach);
        }
        row.finish(reach);
        row
    };
    Rehearsal::new(options, KINDS.into_iter().zip(0..).map(row).collect(), decisions(options))
}

/// Predicts the rest of recorded runs from their first tenth: for each run by itself, and for all runs one after the
/// other if they were measured on one machine under one load.
#[must_use]
pub fn rehearse_records(records: &[&Record], options: &RehearsalOptions) -> Rehearsal {
    let row = |records: &[&Record], name: String| {
        let latency = check_one_condition(records, None).map_or("", |(_, latency)| latency);
        let blocks = Blocks::from_records(records, latency);
        let mut row = RehearsalRow { name, ..RehearsalRow::default() };
        let mut reach = Vec::new();
        let first = blocks.blocks.len() / TIMES;
        if first > 0 {
            let sentence = row.add(&blocks, first, options, &mut reach);
            row.told.push(sentence);
        }
        row.finish(reach);
        row
    };
    let name = |record: &Record| {
        if record.label.is_empty() { record.id.clone() } else { format!("{}, {}", record.id, record.label) }
    };
    let mut rows: Vec<RehearsalRow> = records.iter().map(|record| row(&[record], name(record))).collect();
    let mut together = records.to_vec();
    together.sort_by_key(|record| record.manifest().started.realtime.as_ns());
    if together.len() > 1 && check_one_condition(&together, None).is_ok() {
        rows.push(row(&together, TOGETHER.to_owned()));
    }
    Rehearsal::new(options, rows, Vec::new())
}

impl RehearsalRow {
    /// Adds one process; returns its prediction and outcome in a sentence.
    fn add(&mut self, whole: &Blocks, first: usize, options: &RehearsalOptions, reach: &mut Vec<f64>) -> String {
        let effort = Effort { resamples: options.resamples, seed: options.seed };
        let seen = whole.first(first);
        let rest = whole.blocks.iter().skip(first);
        let rest_ns = units::total(rest.clone().map(|block| block.length_ns));
        let outcome = rest.map(|block| block.max_ns).max().map_or(0.0, units::approx_f64);
        self.processes += 1;
        let judged = Judgment::new(&seen, None, &effort);
        let answer = judged.prediction(1.0).map(|prediction| {
            let within = judged.expected(&prediction, rest_ns, options.level)?;
            Ok((within, prediction.expected(judged.blocks_in(rest_ns), 0.98).high))
        });
        let refusal = match answer {
            Some(Ok((expected, most))) => {
                let seen_worst = seen.maxima().into_iter().fold(0.0, f64::max);
                self.answered += 1;
                self.covered += u64::from((expected.low..=expected.high).contains(&outcome));
                self.above += u64::from(outcome > expected.high);
                self.above_99 += u64::from(outcome > most);
                reach.push(expected.high / seen_worst);
                return format!(
                    "predicted {} to {}, observed {}",
                    units::format::latency(expected.low),
                    units::format::latency(expected.high),
                    units::format::latency(outcome)
                );
            }
            Some(Err(refusal)) => Some(refusal),
            None => judged.refusals.first().cloned(),
        };
        let Some(refusal) = refusal else { return String::new() };
        match self.refused.iter_mut().find(|refused| refused.code == refusal.code) {
            Some(refused) => refused.count += 1,
            None => self.refused.push(RefusedCount { code: refusal.code, count: 1 }),
        }
        format!("refused: {} (observed {})", refusal.reason, units::format::latency(outcome))
    }

    fn finish(&mut self, mut reach: Vec<f64>) {
        reach.sort_unstable_by(f64::total_cmp);
        self.reach = reach.get(reach.len() / 2).map_or(0.0, |reach| (reach * 100.0).round() / 100.0);
        self.refused.sort_by_key(|refused| std::cmp::Reverse(refused.count));
    }
}
