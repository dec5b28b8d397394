//! All that is said of one run, from its record or from stored columns.

use record::Record;
use serde::Serialize;

use crate::answer::{self, AnswerSummary};
use crate::columns::Columns;
use crate::explanation::{self, ExplanationSummary};
use crate::label;
use crate::load::{self, LoadSummary};
use crate::packet::{self, PacketSummary};
use crate::program::{self, ProgramSummary};
use crate::pulse::{self, PulseSummary};
use crate::rhythm::{self, RhythmSummary};
use crate::run::{
    self, Burst, Coverage, Figures, SeriesSummary, SpoiledSummary, ValiditySummary, VerdictSummary, WorstSummary,
};
use crate::sync::{self, SyncSummary};

/// All that is said of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Unique identifier of the run.
    pub id: String,
    /// The label of the run; the name of its kind if it has none.
    pub label: String,
    /// The kind of measurement, as users type it.
    pub measurement: &'static str,
    /// What the samples are called: `wake-ups`.
    pub samples_are: &'static str,
    /// Host name of the leading node.
    pub node: String,
    /// How far the run can be trusted, and why.
    pub validity: ValiditySummary,
    /// The verdict on the deadline; `None` if none was stated.
    pub verdict: Option<VerdictSummary>,
    /// How long the run took, and how much of it stands; `None` if that is not known.
    pub coverage: Option<Coverage>,
    /// The table of series.
    pub series: Vec<SeriesSummary>,
    /// What it means that many periods were missed; `None` where few were.
    pub missed: Option<String>,
    /// The worst samples, worst first.
    pub worst: Vec<WorstSummary>,
    /// The bursts of missed or late periods, those that missed the most first.
    pub bursts: Vec<Burst>,
    /// The intervals that something spoiled.
    pub spoiled: SpoiledSummary,
    /// What made the worst samples late; `None` if the run did not look for causes.
    pub explanation: Option<ExplanationSummary>,
    /// Rhythms among the late samples; `None` if no scan was requested.
    pub rhythm: Option<RhythmSummary>,
    /// The load; `None` if there was none.
    pub load: Option<LoadSummary>,
    /// The followed program; `None` if the run followed none.
    pub program: Option<ProgramSummary>,
    /// Time services and clocks; `None` if the run followed none.
    pub sync: Option<SyncSummary>,
    /// Packets between nodes; `None` if the run is of another kind.
    pub packets: Option<PacketSummary>,
    /// Nodes that act together; `None` if the run is of another kind.
    pub pulses: Option<PulseSummary>,
    /// Edges that were answered, and what a witness saw; `None` if the run is of another kind.
    pub answers: Option<AnswerSummary>,
}

/// Something of a [`Summary`] that columns lack: a summary of columns does not have it, whatever the run had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The field, as a path from the summary: `series[].figures.mean_ns` of each series.
    pub field: &'static str,
    /// Why columns do not have it, or what they have instead.
    pub why: &'static str,
}

const fn lack(field: &'static str, why: &'static str) -> Lack {
    Lack { field, why }
}

/// All that columns lack.
pub const COLUMNS_LACK: &[Lack] = &[
    lack("validity.not_observable", "no column, and not in the description of the run"),
    lack("validity.lacks", "the description names the format of an import, and not what its source lacks"),
    lack("verdict", "the deadline of the run is in no column: count samples beyond one in the bins"),
    lack("coverage", "start, end and spoiled time are in no column"),
    lack("series", "a series without samples has no row"),
    lack("series[].figures.mean_ns", "bins give the range of each sample, and no sum"),
    lack("series[].figures.sd_ns", "bins give the range of each sample, and no sum of squares"),
    lack("series[].corrected", "the rows are of samples as they were taken"),
    lack("series[].missed_periods", "no column"),
    lack("series[].max_at", "the exact maximum is the end of the last row, and its moment is in no column"),
    lack("series[].error", "an error without a known bound is absent, as if both points were of one clock"),
    lack("series[].gaps", "how long was observed is in no column"),
    lack("series[].mean_of_blocks", "the blocks of readings are in no column"),
    lack("missed", "missed periods are in no column"),
    lack("worst", "single samples are in no column"),
    lack("bursts", "single samples are in no column"),
    lack("spoiled", "what does not stand is in no column"),
    lack("explanation", "no column"),
    lack("rhythm", "no column"),
    lack("load", "no column"),
    lack("program", "no column"),
    lack("sync", "no column: the offsets of a source are series"),
    lack("packets", "of each flow there are the nodes, the delays and how many packets were lost"),
    lack("answers", "what a witness said of its seconds is in no column: its latency is a series"),
    lack("pulses", "the latencies are series; of orders that were not carried out there is the number, and not why"),
];

impl Summary {
    /// All that is said of a run.
    #[must_use]
    pub fn of_record(record: &Record) -> Self {
        let kind = record.measurement.kind();
        Self {
            id: record.id.clone(),
            label: label(record).to_owned(),
            measurement: kind.name,
            samples_are: kind.samples,
            node: record.manifest().node.hostname.clone(),
            validity: run::validity(record),
            verdict: run::verdict(record),
            coverage: run::coverage(record),
            series: run::series(record),
            missed: run::stated_missed(record),
            worst: run::worst(record),
            bursts: run::bursts(record),
            spoiled: run::spoiled(record),
            explanation: explanation::summary(record),
            rhythm: rhythm::summary(record),
            load: load::summary(record),
            program: program::summary(record),
            sync: sync::summary(record),
            packets: packet::summary(record),
            pulses: pulse::summary(record),
            answers: answer::summary(record),
        }
    }

    /// What can be said of a run of which there are only columns. What these lack is listed in [`COLUMNS_LACK`], and is absent; all
    /// else is equal to the summary of the record. `None` if the columns name a kind of measurement that this version does not know.
    #[must_use]
    pub fn of_columns(columns: &Columns) -> Option<Self> {
        let known = Self::of_record(&columns.partial_record()?);
        // An empty field of a partial record says nothing of the run.
        let series = known.series.into_iter().map(|series| SeriesSummary {
            figures: Figures { mean_ns: None, sd_ns: None, ..series.figures },
            missed_periods: None,
            gaps: None,
            ..series
        });
        Some(Self {
            validity: ValiditySummary { state: columns.run.validity, ..known.validity },
            verdict: None,
            coverage: None,
            series: series.collect(),
            missed: None,
            ..known
        })
    }
}

#[cfg(test)]
mod tests;
