//! The worst samples of a run, with what is known of their causes.

use record::{Certainty, ExplainedSample, Moment, Place, Record};
use serde::Serialize;

/// One of the worst samples of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorstSummary {
    /// Its number among the worst, from 1.
    pub number: usize,
    /// Name of the node in this run.
    pub node: String,
    /// Where it was taken.
    pub place: Place,
    /// The latency (ns).
    pub latency_ns: i64,
    /// Number of the sample among those of its place, from 0.
    pub sample: u64,
    /// Schedules that the late wake-up skipped.
    pub missed_periods: u64,
    /// When the first of the latency's two points was; for a wake-up, when it was scheduled.
    pub from: Moment,
    /// When the second of the latency's two points was.
    pub to: Moment,
    /// The cause with its certainty, `unknown` if it was examined without finding one, `not explained` if nothing was recorded of
    /// it; `None` if the run did not look for causes.
    pub cause: Option<String>,
}

/// The worst samples of a run, worst first.
#[must_use]
pub fn worst(record: &Record) -> Vec<WorstSummary> {
    let explanation = record.explanation();
    let samples = (1..).zip(&record.worst).map(|(number, sample)| WorstSummary {
        number,
        node: sample.node.clone(),
        place: sample.place.clone(),
        latency_ns: sample.latency_ns,
        sample: sample.sample,
        missed_periods: sample.missed_periods,
        from: sample.from.at,
        to: sample.to.at,
        cause: explanation.map(|found| found.sample_of(sample).map_or_else(|| "not explained".to_owned(), cause_words)),
    });
    samples.collect()
}

/// The cause of a sample with its certainty: "thread: hog (fifo 99) (shown)"; "unknown".
#[must_use]
pub fn cause_words(sample: &ExplainedSample) -> String {
    let name = sample.class.with_name(&sample.name);
    match sample.certainty {
        Certainty::Unknown if name == sample.certainty.word() => name,
        certainty => format!("{name} ({})", certainty.word()),
    }
}
