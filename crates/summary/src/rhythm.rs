//! What is said of rhythms among late samples.

use record::{Record, RhythmScan};
use serde::Serialize;
use units::format::{self, span};

/// What is said of rhythms among the late samples of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RhythmSummary {
    /// Each rhythm, as a sentence without its full stop.
    pub rhythms: Vec<String>,
    /// Known periods that the sampling hides, without a full stop.
    pub hidden: Vec<String>,
    /// The range of periods that was scanned, the number of samples, and whether there are no further rhythms.
    pub scanned: String,
}

/// What is said of rhythms among the late samples of a run; `None` if no scan was requested.
#[must_use]
pub fn summary(record: &Record) -> Option<RhythmSummary> {
    let scan = record.rhythm()?;
    Some(RhythmSummary {
        rhythms: scan.rhythms.iter().map(analysis::rhythm::sentence).collect(),
        hidden: scan.hidden.clone(),
        scanned: sentence(scan),
    })
}

/// The range of periods that was scanned, the number of samples, and whether there are no further rhythms.
#[must_use]
pub fn sentence(scan: &RhythmScan) -> String {
    if let Some(why) = &scan.not_scanned {
        return format!("No scan for rhythms took place: {why}.");
    }
    let found = if scan.rhythms.is_empty() { "No rhythm" } else { "No other rhythm" };
    format!(
        "{found} with a period from {} to {} was found among {} wake-ups later than {}.",
        span(scan.shortest_period_ns),
        span(scan.longest_period_ns),
        format::count(scan.late_samples),
        span(scan.above_ns)
    )
}
