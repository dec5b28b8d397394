//! The record of one run, and reading and writing its file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AnswerRun, AppRun, Counters, Explanation, MEASURED, Manifest, Measurement, MissedRow, Node, Nodes, PacketRun,
    Place, PulseRun, ReasonCode, RhythmScan, Series, Sign, SyncRun, Validity, WorstSample, wire,
};

/// The name of this schema, in the `schema` field of every record.
pub const SCHEMA: &str = "punctual/record";
/// The schema version that this program writes; it reads all earlier versions too.
pub const VERSION: u32 = 2;

/// The record of one run, immutable once written. The module `wire` defines its file format.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Unique identifier of this run; identifiers sort by the start of the run.
    pub id: String,
    /// The kind of measurement.
    pub measurement: Measurement,
    /// A label that distinguishes the runs of one session for people: `idle`, `under paper load`.
    pub label: String,
    /// Whether the run measured what was requested.
    pub validity: Validity,
    /// The verdict on the deadline; absent if none was stated.
    pub verdict: Option<Verdict>,
    /// The nodes that took part: what was requested of each, what the kernel granted, and the conditions of the run.
    pub nodes: Nodes,
    /// The samples: one series for each latency at each place.
    pub series: Vec<Series>,
    /// The worst samples over all places, worst first, at most 64.
    pub worst: Vec<WorstSample>,
    /// The longest bursts of missed or late periods over all places, longest first, at most 64.
    pub rows: Vec<MissedRow>,
    /// What was found out about the late samples, beside whatever the kind adds.
    pub late_samples: LateSamples,
    /// Results that only some kinds of measurement have.
    pub detail: Detail,
}

/// Results of a run that only some kinds of measurement have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Detail {
    /// The run has no such results.
    #[default]
    None,
    /// The followed program.
    Program(AppRun),
    /// Time services and clocks.
    Sync(SyncRun),
    /// Packets between two nodes.
    Packet(PacketRun),
    /// Nodes that act at ordered times.
    Pulse(PulseRun),
    /// Edges that were answered.
    Answer(AnswerRun),
}

/// Analysis of the late samples of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LateSamples {
    /// What made the worst samples late; absent if no explanation was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Rhythms among the late samples; absent if no scan was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rhythm: Option<RhythmScan>,
}

/// The verdict of a run on its deadline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The deadline (ns).
    pub deadline_ns: u64,
    /// Whether the run kept the deadline, exceeded it, or is inconclusive.
    pub state: VerdictState,
    /// The numbers that decide the verdict; absent if there are no samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deciding: Option<Deciding>,
    /// The verdict in words, with its reason.
    pub reason: String,
}

/// The conclusion of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictState {
    /// No sample exceeded the deadline, and the run is not invalid.
    Holds,
    /// At least one sample exceeded the deadline.
    Broken,
    /// The run is inconclusive: it is invalid, or it measured too little.
    CannotTell,
}

/// The numbers that decide a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deciding {
    /// The worst latency (ns). It can be negative if the deadline applies to the magnitude.
    pub worst_ns: i64,
    /// Where the worst latency was measured.
    #[serde(default)]
    pub place: Place,
    /// Number of samples that the verdict is based on.
    pub samples: u64,
    /// Samples above the deadline.
    pub beyond: u64,
    /// Schedules that late wake-ups skipped.
    pub missed_periods: u64,
}

/// Why a file cannot be read as a record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file is not JSON, or does not have the form of a record.
    #[error(
        "not a record of punctual: {0}; records are the JSON files that 'punctual measure … --json' and 'punctual assess' write"
    )]
    Form(serde_json::Error),
    /// The file has another schema.
    #[error("its schema is '{found}', not '{SCHEMA}'")]
    Schema {
        /// The schema that the file names.
        found: String,
    },
    /// Parts of the record contradict each other.
    #[error("the record contradicts itself: {0}; the file was edited or damaged, use the original")]
    Contradiction(String),
    /// A version wrote the file that was never released.
    #[error(
        "it has schema version {found}, which no release has written, and this program reads from {VERSION} on: measure again"
    )]
    Unreleased {
        /// The version that the file names.
        found: u32,
    },
    /// A later version of this program wrote the file.
    #[error("it has schema version {found}, and this program reads versions up to {VERSION}: use a newer punctual")]
    Newer {
        /// The version that the file names.
        found: u32,
    },
}

impl Record {
    /// A valid record of a run on one node, without any samples yet.
    #[must_use]
    pub fn empty(id: String, measurement: Measurement, manifest: Manifest) -> Self {
        Self {
            id,
            measurement,
            label: String::new(),
            validity: Validity::default(),
            verdict: None,
            nodes: Node::alone(MEASURED, manifest).into(),
            series: Vec::new(),
            worst: Vec::new(),
            rows: Vec::new(),
            detail: Detail::None,
            late_samples: LateSamples::default(),
        }
    }

    /// What was counted of a measuring thread of the first node, by its number from 0; `None` if the record has none.
    #[must_use]
    pub fn counters_of_thread(&self, thread: u32) -> Option<Counters> {
        let is_it = |series: &&Series| series.place.thread_number() == Some(thread);
        self.series.iter().find(is_it).map(|series| series.counters.clone())
    }

    /// Reads a record from its JSON text, of this schema version or an earlier one.
    ///
    /// # Errors
    /// If the text is not JSON, has another schema or a later version, or contradicts itself.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        wire::read(text)
    }

    /// The same record without anything in its texts that steers a terminal or breaks a line, as its file has it.
    #[must_use]
    pub fn with_printable_texts(self) -> Self {
        let text = wire::raw(&self);
        match units::printable::json(&text) {
            std::borrow::Cow::Borrowed(_) => self,
            std::borrow::Cow::Owned(shown) => Self::from_json(&shown).unwrap_or(self),
        }
    }

    /// The record as JSON text, indented for people.
    #[must_use]
    pub fn to_json(&self) -> String {
        wire::write(self)
    }

    /// What was requested of the leading node, what the kernel granted, and the conditions of the run.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.nodes.first().manifest
    }

    /// The manifest of the leading node, for changes while the record is assembled.
    pub const fn manifest_mut(&mut self) -> &mut Manifest {
        &mut self.nodes.first_mut().manifest
    }

    /// Fills in the name of the leading node in all series, worst samples and bursts that have no node name.
    #[must_use]
    pub fn with_node_named(mut self) -> Self {
        let name = &self.nodes.first().name;
        let all = self.series.iter_mut().map(|one| &mut one.node);
        let all = all.chain(self.worst.iter_mut().map(|one| &mut one.node));
        for node in all.chain(self.rows.iter_mut().map(|one| &mut one.node)).filter(|node| node.is_empty()) {
            node.clone_from(name);
        }
        self
    }

    /// What made the worst samples late; `None` if no explanation was requested.
    #[must_use]
    pub const fn explanation(&self) -> Option<&Explanation> {
        self.late_samples.explanation.as_ref()
    }

    /// Rhythms among the late samples; `None` if no scan was requested.
    #[must_use]
    pub const fn rhythm(&self) -> Option<&RhythmScan> {
        self.late_samples.rhythm.as_ref()
    }

    /// The followed program; `None` if the run followed none.
    #[must_use]
    pub const fn app(&self) -> Option<&AppRun> {
        match &self.detail {
            Detail::Program(app) => Some(app),
            _ => None,
        }
    }

    /// What became of the packets; `None` for other kinds of measurement.
    #[must_use]
    pub const fn packets(&self) -> Option<&PacketRun> {
        match &self.detail {
            Detail::Packet(run) => Some(run),
            Detail::Pulse(run) => Some(&run.packets),
            _ => None,
        }
    }

    /// What became of the orders to act; `None` for other kinds of measurement.
    #[must_use]
    pub const fn pulses(&self) -> Option<&PulseRun> {
        match &self.detail {
            Detail::Pulse(run) => Some(run),
            _ => None,
        }
    }

    /// "at least " where the longest sample that is judged is a lower bound of the true one, since a witness gave answers up without
    /// saying how late they were; empty elsewhere.
    #[must_use]
    pub fn at_least(&self) -> &'static str {
        let latencies = self.measurement.kind().latencies;
        let is_of_witness = |series: &Series| latencies.iter().any(|one| one.retold_by == Some(series.name.as_str()));
        let is_judged = self.series.iter().any(|series| series.judged && is_of_witness(series));
        if is_judged && self.validity.has(ReasonCode::WitnessOverran) { "at least " } else { "" }
    }

    /// Edges that were answered, and what a witness says of it; `None` for other kinds of measurement.
    #[must_use]
    pub const fn answers(&self) -> Option<&AnswerRun> {
        match &self.detail {
            Detail::Answer(run) => Some(run),
            _ => None,
        }
    }

    /// What was seen of time services and clocks; `None` for other kinds of measurement.
    #[must_use]
    pub const fn sync(&self) -> Option<&SyncRun> {
        match &self.detail {
            Detail::Sync(sync) => Some(sync),
            _ => None,
        }
    }

    /// What a sample below zero means in a series of this record.
    #[must_use]
    pub fn sign(&self, series: &Series) -> Sign {
        self.measurement.kind().sign(&series.name)
    }

    /// The worst latency of all series that a deadline applies to (ns, with its sign), and where it was measured.
    #[must_use]
    pub fn worst_of_all(&self) -> Option<(i64, &Place)> {
        let judged = self.series.iter().filter(|series| series.judged);
        let worst =
            judged.filter_map(|series| Some((self.sign(series), series.worst_ns(self.sign(series))?, &series.place)));
        // If early is harmless, every early sample ranks as zero: no late sample ranks below it.
        let rank = |(sign, ns): (Sign, i64)| {
            if sign == Sign::Magnitude { ns.unsigned_abs() } else { u64::try_from(ns).unwrap_or(0) }
        };
        worst.max_by_key(|(sign, ns, _)| rank((*sign, *ns))).map(|(_, ns, place)| (ns, place))
    }

    /// Number of samples of all series.
    #[must_use]
    pub fn samples(&self) -> u64 {
        units::total(self.series.iter().map(Series::taken))
    }
}

schemars::only_where_made! {
    impl Record {
        /// The published JSON Schema of records.
        #[must_use]
        pub fn json_schema() -> serde_json::Value {
            wire::schema()
        }
    }
}
