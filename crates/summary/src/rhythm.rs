//! What is said of rhythms among late samples.

use record::RhythmScan;
use units::format::{self, span};

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
