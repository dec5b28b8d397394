//! What is said of a first part, held against what came after it.

use record::Record;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::assemble::of_one_condition;
use super::blocks::Blocks;
use super::judge::{Effort, Judgement};
use super::refusal::RefusalCode;
use super::sequential::{DecisionRow, decisions};
use super::simulate::{KINDS, Kind, Length, process};

/// A process is as long as its first part times this.
const TIMES: usize = 10;

/// The name of this schema.
pub const REHEARSAL_SCHEMA: &str = "punctual/tail-rehearsal";
/// The version that this program writes.
pub const REHEARSAL_VERSION: u32 = 1;

/// How answers held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rehearsal {
    /// Name of the schema: `punctual/tail-rehearsal`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// The part of outcomes that a stated interval should hold (0 to 1).
    pub stated: f64,
    /// Length of the predicted time span, in lengths of the first part.
    pub times: u64,
    /// How often each was resampled.
    pub resamples: u32,
    /// Where the random numbers began; the same seed gives the same document.
    pub seed: u64,
    /// Each kind of process, or each record.
    pub rows: Vec<RehearsalRow>,
    /// How claims were decided about which processes were looked at again and again, as with `--until-sure`; none for
    /// records.
    #[serde(default)]
    pub decisions: Vec<DecisionRow>,
}

/// How the answers of one kind held.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RehearsalRow {
    /// What it is of.
    pub name: String,
    /// Whether an answer can be sound; absent for records, and for what no first part can show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sound: Option<bool>,
    /// Number of processes.
    pub processes: u64,
    /// Those that were answered.
    pub answered: u64,
    /// Answers whose interval held the worst of the rest.
    pub covered: u64,
    /// Answers whose interval ended below it.
    pub above: u64,
    /// Answers whose upper end at 99 % was exceeded.
    pub above_99: u64,
    /// The middle of the answers' upper ends, as a multiple of the worst that was seen.
    pub reach: f64,
    /// Why the others were refused: each kind with how often it came first.
    pub refused: Vec<RefusedCount>,
    /// What was said of single runs; none for simulated processes.
    #[serde(default)]
    pub told: Vec<String>,
}

/// The row of recorded runs taken together.
pub const TOGETHER: &str = "all, one after the other";

/// How often answers were refused for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedCount {
    /// Code of the reason.
    pub code: RefusalCode,
    /// Number of refusals for this reason.
    pub count: u64,
}

/// How to rehearse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RehearsalOptions {
    /// Simulated processes, over all kinds.
    pub processes: u64,
    /// Simulated runs that are looked at again and again until claims about them are decided, over all kinds.
    pub watched: u64,
    /// The part of outcomes that a stated interval should hold (0.5 to 0.99).
    pub level: f64,
    /// How often to resample each.
    pub resamples: u32,
    /// Where the random numbers begin.
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

/// Foretells simulated processes whose tails are known, equally many of each kind.
#[must_use]
pub fn rehearse(options: &RehearsalOptions) -> Rehearsal {
    let kinds = KINDS.len() as u64;
    let row = |(kind, number): (Kind, u64)| {
        let mut row = RehearsalRow { name: kind.word().to_owned(), sound: kind.is_sound(), ..RehearsalRow::default() };
        let own = options.processes / kinds + u64::from(number < options.processes % kinds);
        let mut reach = Vec::new();
        for process_number in 0..own {
            let seed = options.seed.wrapping_mul(1_000_003) ^ (number << 32) ^ process_number;
            let process = process(kind, Length::Times(TIMES), seed);
            row.take(&process.whole, process.first, options, &mut reach);
        }
        row.finish(reach);
        row
    };
    Rehearsal::new(options, KINDS.into_iter().zip(0..).map(row).collect(), decisions(options))
}

/// Foretells the rest of recorded runs from their first tenth: of each by itself, and of all together, one after the other,
/// where they are of one machine under one load.
#[must_use]
pub fn rehearse_records(records: &[&Record], options: &RehearsalOptions) -> Rehearsal {
    let row = |records: &[&Record], name: String| {
        let latency = of_one_condition(records, None).map_or("", |(_, latency)| latency);
        let blocks = Blocks::of(records, latency);
        let mut row = RehearsalRow { name, ..RehearsalRow::default() };
        let mut reach = Vec::new();
        let first = blocks.blocks.len() / TIMES;
        if first > 0 {
            let said = row.take(&blocks, first, options, &mut reach);
            row.told.push(said);
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
    if together.len() > 1 && of_one_condition(&together, None).is_ok() {
        rows.push(row(&together, TOGETHER.to_owned()));
    }
    Rehearsal::new(options, rows, Vec::new())
}

impl RehearsalRow {
    /// Takes one process in; what was said of it, in a sentence.
    fn take(&mut self, whole: &Blocks, first: usize, options: &RehearsalOptions, reach: &mut Vec<f64>) -> String {
        let effort = Effort { resamples: options.resamples, seed: options.seed };
        let seen = whole.first(first);
        let rest = whole.blocks.iter().skip(first);
        let rest_ns = units::total(rest.clone().map(|block| block.length_ns));
        let outcome = rest.map(|block| block.max_ns).max().map_or(0.0, units::approx_f64);
        self.processes += 1;
        let judged = Judgement::of(&seen, None, &effort);
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
                    "foretold {} to {}, came {}",
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
        format!("refused: {} (came {})", refusal.reason, units::format::latency(outcome))
    }

    fn finish(&mut self, mut reach: Vec<f64>) {
        reach.sort_unstable_by(f64::total_cmp);
        self.reach = reach.get(reach.len() / 2).map_or(0.0, |reach| (reach * 100.0).round() / 100.0);
        self.refused.sort_by_key(|refused| std::cmp::Reverse(refused.count));
    }
}
