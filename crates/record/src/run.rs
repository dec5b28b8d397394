//! One execution of a measurement, and how its file is read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AppRun, Explanation, MEASURED, Manifest, Measurement, MissedRow, Node, Nodes, Place, RhythmScan, Series, Sign,
    Validity, WorstSample, wire,
};

/// The name of this schema, in the `schema` field of every record.
pub const SCHEMA: &str = "punctual/record";
/// The version that this program writes; it reads all before it.
pub const VERSION: u32 = 2;

/// One run, immutable once written. What its file looks like stands in [`wire`].
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Unique name of this run, sortable by its start.
    pub id: String,
    /// What was measured.
    pub measurement: Measurement,
    /// A word for people that distinguishes runs of one session: `idle`, `under paper load`.
    pub label: String,
    /// Whether the numbers mean what was asked.
    pub validity: Validity,
    /// What the run says of the deadline, where one was stated.
    pub verdict: Option<Verdict>,
    /// The nodes that took part: what was asked of each, granted to it and around.
    pub nodes: Nodes,
    /// The samples.
    pub series: Vec<Series>,
    /// The worst samples over all places, worst first, at most 64.
    pub worst: Vec<WorstSample>,
    /// The longest rows of missed or late periods over all places, longest first, at most 64.
    pub rows: Vec<MissedRow>,
    /// What only some kinds of measurement have.
    pub detail: Detail,
}

/// What a run has that only some kinds of measurement have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Detail {
    /// Nothing.
    #[default]
    None,
    /// What was found out about late samples.
    LateSamples(LateSamples),
    /// The program that was followed.
    Program(AppRun),
}

/// What was found out about the late samples of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LateSamples {
    /// What made the worst samples late; absent where that was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Periods among the late samples; absent where nobody looked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rhythm: Option<RhythmScan>,
}

/// What a run says of its deadline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The limit (ns).
    pub deadline_ns: u64,
    /// Whether the run kept the deadline, exceeded it, or cannot tell.
    pub state: VerdictState,
    /// The number that decides it; absent where there is no sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deciding: Option<Deciding>,
    /// The conclusion in words, with its reason.
    pub reason: String,
}

/// The conclusion about a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictState {
    /// No sample exceeded it, and the run is not invalid.
    Holds,
    /// At least one sample exceeded it.
    Broken,
    /// The run cannot tell.
    CannotTell,
}

/// The number that decides a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deciding {
    /// The worst latency (ns): of one that is judged by its magnitude it can be below zero.
    pub worst_ns: i64,
    /// Where it was taken.
    #[serde(default)]
    pub place: Place,
    /// Samples behind the conclusion.
    pub samples: u64,
    /// Samples beyond the limit.
    pub beyond: u64,
    /// Schedules swallowed.
    pub missed_periods: u64,
}

/// Why a file is not a record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Not JSON, or not of the record's form.
    #[error(
        "not a record of punctual: {0}; records are JSON files that 'punctual measure … --json' or 'punctual assess' write"
    )]
    Form(serde_json::Error),
    /// JSON of something else.
    #[error("its schema is '{found}', not '{SCHEMA}'")]
    Schema {
        /// What the file says.
        found: String,
    },
    /// Its parts contradict each other.
    #[error("the record contradicts itself: {0}; the file was edited or damaged, take the original")]
    Contradiction(String),
    /// Written by a later version of this program.
    #[error("it is of schema version {found}, this program reads up to {VERSION}: take a newer punctual")]
    Newer {
        /// What the file says.
        found: u32,
    },
}

impl Record {
    /// A valid run of one node, in which nothing was measured yet.
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
        }
    }

    /// Reads a record's JSON text, of this version or of one before it.
    ///
    /// # Errors
    /// Where it is not JSON, of another schema, of a later version, or contradicts itself.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        wire::read(text)
    }

    /// The JSON text, indented for people.
    #[must_use]
    pub fn to_json(&self) -> String {
        wire::write(self)
    }

    /// The published JSON Schema.
    #[must_use]
    pub fn json_schema() -> serde_json::Value {
        wire::schema()
    }

    /// What was asked of the leading node, granted to it and around.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.nodes.first().manifest
    }

    /// The same, to be changed while the record is put together.
    pub const fn manifest_mut(&mut self) -> &mut Manifest {
        &mut self.nodes.first_mut().manifest
    }

    /// Names the leading node in all series, worst samples and rows that name none.
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

    /// What made the worst samples late; `None` where that was not asked.
    #[must_use]
    pub const fn explanation(&self) -> Option<&Explanation> {
        match &self.detail {
            Detail::LateSamples(late) => late.explanation.as_ref(),
            _ => None,
        }
    }

    /// Periods among the late samples; `None` where nobody looked for them.
    #[must_use]
    pub const fn rhythm(&self) -> Option<&RhythmScan> {
        match &self.detail {
            Detail::LateSamples(late) => late.rhythm.as_ref(),
            _ => None,
        }
    }

    /// The program that was followed; `None` where none was.
    #[must_use]
    pub const fn app(&self) -> Option<&AppRun> {
        match &self.detail {
            Detail::Program(app) => Some(app),
            _ => None,
        }
    }

    /// What was found out about the late samples, to be added to; what stood there of another kind is gone.
    pub fn late_samples_mut(&mut self) -> &mut LateSamples {
        if !matches!(self.detail, Detail::LateSamples(_)) {
            self.detail = Detail::LateSamples(LateSamples::default());
        }
        match &mut self.detail {
            Detail::LateSamples(late) => late,
            Detail::None | Detail::Program(_) => unreachable!("it was set above"),
        }
    }

    /// What a sample below zero means of a series.
    #[must_use]
    pub fn sign(&self, series: &Series) -> Sign {
        self.measurement.kind().sign(&series.name)
    }

    /// The worst latency of all series that a deadline judges (ns, with its sign), and where it was taken.
    #[must_use]
    pub fn worst_of_all(&self) -> Option<(i64, &Place)> {
        let judged = self.series.iter().filter(|series| series.judged);
        let worst =
            judged.filter_map(|series| Some((self.sign(series), series.worst_ns(self.sign(series))?, &series.place)));
        // An early sample is no worse than a late one, however early.
        let rank = |(sign, ns): (Sign, i64)| {
            if sign == Sign::Magnitude { ns.unsigned_abs() } else { u64::try_from(ns).unwrap_or(0) }
        };
        worst.max_by_key(|(sign, ns, _)| rank((*sign, *ns))).map(|(_, ns, place)| (ns, place))
    }

    /// Samples of all series.
    #[must_use]
    pub fn samples(&self) -> u64 {
        units::total(self.series.iter().map(Series::taken))
    }
}
