//! Converts the scan for rhythms to the view, with the sentences that both forms of the page show.

use record::{Record, RhythmEnd, RhythmScan};
use units::format::{self, span};

use crate::view::{RhythmScanView, RhythmView};

/// The view of the scan; `None` if no scan was requested.
pub(crate) fn view(record: &Record) -> Option<RhythmScanView> {
    let scan = record.rhythm()?;
    let exact = |values: &[u64]| values.iter().map(|value| (*value).into()).collect();
    Some(RhythmScanView {
        sentence: sentence(scan),
        rhythms: scan
            .rhythms
            .iter()
            .map(|rhythm| RhythmView {
                sentence: analyse::rhythm::sentence(rhythm),
                period: analyse::rhythm::period(rhythm.period_ns, rhythm.period_uncertainty_ns),
                period_ns: rhythm.period_ns,
                width_ns: rhythm.width_ns.into(),
                end: match rhythm.end {
                    RhythmEnd::Begins => "begin".to_owned(),
                    RhythmEnd::Ends => "end".to_owned(),
                },
                folded_ns: exact(&rhythm.folded_ns),
                folded_latency_ns: exact(&rhythm.folded_latency_ns),
            })
            .collect(),
        hidden: scan.hidden.clone(),
    })
}

/// The range of periods that was scanned, the number of samples, and whether there are no further rhythms.
pub(crate) fn sentence(scan: &RhythmScan) -> String {
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
