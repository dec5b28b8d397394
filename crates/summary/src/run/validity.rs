//! How far a run can be trusted, and why.

use record::{Origin, Reason, Record, Validity, ValidityState};
use serde::Serialize;

/// How far a run can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValiditySummary {
    /// The state that the worst reason causes.
    pub state: ValidityState,
    /// The reasons for that state, the worst first.
    pub reasons: Vec<ReasonSummary>,
    /// Disturbances that could not be observed on this machine, in words; they do not change the state.
    pub not_observable: Vec<String>,
    /// What the source of an imported run does not contain, in words.
    pub lacks: Vec<String>,
    /// Why the run is no result, as the end of a sentence; `None` if it is one.
    pub invalid_because: Option<String>,
}

/// A reason why a run is degraded or invalid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReasonSummary {
    /// Name of the reason in the table of reasons: `rt-throttled`.
    pub code: String,
    /// The state that the reason causes.
    pub state: ValidityState,
    /// What happened to the run, as sentences.
    pub meaning: String,
    /// The first of these sentences, without its full stop.
    pub caveat: String,
    /// What to do about it.
    pub remedy: String,
    /// What was seen in this run, with numbers and places; empty if nothing more is known.
    pub detail: String,
}

/// How far a run can be trusted, with all reasons and all that its source lacks.
#[must_use]
pub fn validity(record: &Record) -> ValiditySummary {
    let lacks = match &record.manifest().origin {
        Origin::Punctual => Vec::new(),
        Origin::Imported { lacks, .. } => lacks.clone(),
    };
    ValiditySummary { lacks, ..ValiditySummary::from(&record.validity) }
}

impl From<&Validity> for ValiditySummary {
    fn from(validity: &Validity) -> Self {
        let reasons: Vec<ReasonSummary> = validity.reasons().iter().map(ReasonSummary::from).collect();
        Self {
            state: validity.state(),
            not_observable: validity.not_observable().iter().map(|not| not.detail.clone()).collect(),
            lacks: Vec::new(),
            invalid_because: validity.is_invalid().then(|| because(&reasons)),
            reasons,
        }
    }
}

impl From<&Reason> for ReasonSummary {
    fn from(reason: &Reason) -> Self {
        let info = reason.code.info();
        let meaning = info.meaning.trim();
        Self {
            code: serde_json::to_value(reason.code)
                .ok()
                .and_then(|code| Some(code.as_str()?.to_owned()))
                .unwrap_or_default(),
            state: info.state,
            meaning: meaning.to_owned(),
            caveat: meaning.split_once(". ").map_or(meaning, |(first, _)| first).trim_end_matches('.').to_owned(),
            remedy: info.remedy.trim().to_owned(),
            detail: reason.detail.clone(),
        }
    }
}

/// The worst reason with what was seen, as the end of a sentence: "the kernel throttled the threads (CPU 2)".
fn because(reasons: &[ReasonSummary]) -> String {
    let worst = reasons.iter().find(|reason| reason.state == ValidityState::Invalid).or(reasons.first());
    worst.map_or_else(
        || "it is marked invalid".to_owned(),
        |reason| {
            let meaning = reason.meaning.trim_end_matches('.');
            let mut letters = meaning.chars();
            let first = letters.next().map(|letter| letter.to_lowercase().to_string()).unwrap_or_default();
            let seen = if reason.detail.is_empty() { String::new() } else { format!(" ({})", reason.detail) };
            format!("{first}{}{seen}", letters.as_str())
        },
    )
}
