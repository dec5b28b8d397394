//! One execution of a measurement, and how its file is read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AppRun, Explanation, Histogram, Manifest, Measurement, MissedRow, RhythmScan, Series, Validity, WorstSample,
};

/// The name of this schema, in the `schema` field of every record.
pub const SCHEMA: &str = "punctual/record";
/// The version that this program writes; it reads all before it.
pub const VERSION: u32 = 1;

/// One run, immutable once written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// `punctual/record`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// Unique name of this run, sortable by its start.
    pub id: String,
    /// What was measured.
    pub measurement: Measurement,
    /// A word for people that tells runs of one session apart: `idle`, `under paper load`.
    #[serde(default)]
    pub label: String,
    /// Whether the numbers mean what was asked.
    pub validity: Validity,
    /// What the run says of the deadline, where one was stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What was asked, granted and around.
    pub manifest: Manifest,
    /// The samples.
    pub series: Vec<Series>,
    /// The worst samples over all threads, worst first, at most 64.
    #[serde(default)]
    pub worst: Vec<WorstSample>,
    /// The longest rows of missed or late periods over all threads, longest first, at most 64.
    #[serde(default)]
    pub rows: Vec<MissedRow>,
    /// What made the worst samples late; absent where that was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Periods among the late samples; absent where nobody looked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rhythm: Option<RhythmScan>,
    /// The program that was followed; `app` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<AppRun>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deciding {
    /// The worst latency (ns).
    pub worst_ns: i64,
    /// The CPU on which it happened; absent where the thread was not pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
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
    /// Written by a later version of this program.
    #[error("it is of schema version {found}, this program reads up to {VERSION}: take a newer punctual")]
    Newer {
        /// What the file says.
        found: u32,
    },
}

#[derive(Deserialize)]
struct Head {
    schema: String,
    version: u32,
}

impl Record {
    /// Reads a record's JSON text.
    ///
    /// # Errors
    /// Where it is not JSON, of another schema, of a later version, or contradicts itself.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        let head: Head = serde_json::from_str(text).map_err(RecordError::Form)?;
        if head.schema != SCHEMA {
            return Err(RecordError::Schema { found: head.schema });
        }
        if head.version > VERSION || head.version == 0 {
            return Err(RecordError::Newer { found: head.version });
        }
        serde_json::from_str(text).map_err(RecordError::Form)
    }

    /// The JSON text, indented for people.
    ///
    /// # Panics
    /// Never: every field has a JSON form.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("every field has a JSON form");
        text.push('\n');
        text
    }

    /// The published JSON Schema.
    #[must_use]
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }

    /// The worst latency of all series with its CPU (ns).
    #[must_use]
    pub fn worst_of_all(&self) -> Option<(u64, Option<u32>)> {
        self.series.iter().filter_map(|s| s.histogram.max_ns().map(|max| (max, s.cpu))).max_by_key(|(max, _)| *max)
    }

    /// Samples of all series.
    #[must_use]
    pub fn samples(&self) -> u64 {
        units::total(
            self.series
                .iter()
                .flat_map(|s| [Some(&s.histogram), s.below_zero.as_ref()])
                .flatten()
                .map(Histogram::count),
        )
    }
}
