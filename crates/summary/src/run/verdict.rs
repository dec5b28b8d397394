//! The verdict of a run on its deadline.

use record::{Record, VerdictState};
use serde::Serialize;
use units::format::span;

/// The verdict of a run on its deadline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerdictSummary {
    /// The deadline (ns).
    pub deadline_ns: u64,
    /// Whether the run kept it.
    pub state: VerdictState,
    /// The verdict in words, to be followed by the limit: "does not hold".
    pub word: &'static str,
    /// The deadline in words: "100 us".
    pub limit: String,
    /// The reason, with the number that decides.
    pub reason: String,
    /// Samples above the deadline; `None` if there are no samples.
    pub beyond: Option<u64>,
}

impl VerdictSummary {
    /// The verdict as a sentence without its full stop: "holds 100 us: …".
    #[must_use]
    pub fn sentence(&self) -> String {
        format!("{} {}: {}", self.word, self.limit, self.reason)
    }
}

/// The verdict of a run on the deadline that was stated for it; `None` if there was none.
///
/// It is judged again: a record by an earlier version may have concluded "holds" from very few samples, and a run may have been
/// found invalid after its verdict was stored.
#[must_use]
pub fn verdict(record: &Record) -> Option<VerdictSummary> {
    let verdict = analysis::verdict(record, record.verdict.as_ref()?.deadline_ns);
    Some(VerdictSummary {
        deadline_ns: verdict.deadline_ns,
        state: verdict.state,
        word: match verdict.state {
            VerdictState::Holds => "holds",
            VerdictState::Broken => "does not hold",
            VerdictState::CannotTell => "cannot be told for",
        },
        limit: span(verdict.deadline_ns),
        reason: verdict.reason,
        beyond: verdict.deciding.map(|deciding| deciding.beyond),
    })
}
