//! Converts the scan for rhythms to the view.

use record::{Record, RhythmEnd};
use summary::rhythm::sentence;

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
                sentence: analysis::rhythm::sentence(rhythm),
                period: analysis::rhythm::period(rhythm.period_ns, rhythm.period_uncertainty_ns),
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
