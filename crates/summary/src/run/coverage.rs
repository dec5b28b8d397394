//! How long a run took, and how much of it stands.

use record::Record;
use serde::Serialize;
use units::format::span;

/// How long a run took, and how much of it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// From the first schedule to the end (ns).
    pub measured_ns: u64,
    /// The same less the intervals that something spoiled (ns).
    pub standing_ns: u64,
    /// The duration in words: "48.3 s".
    pub measured: String,
    /// What numbers and verdict cover, to follow a comma: "in the 46.3 s of 48.3 s that stand"; `None` if that is the whole run.
    pub standing: Option<String>,
}

/// How long a run took; `None` if its source does not say.
#[must_use]
pub fn coverage(record: &Record) -> Option<Coverage> {
    let (measured_ns, standing_ns) = (record.measured_ns(), record.standing_ns());
    (measured_ns != 0 || !record.manifest().is_imported()).then(|| Coverage {
        measured_ns,
        standing_ns,
        measured: span(measured_ns),
        standing: record.covers().map(|covers| format!("in the {covers} that stand")),
    })
}
