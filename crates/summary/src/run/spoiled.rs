//! The intervals of a run that something spoiled: in none of its other numbers.

use record::{Record, Series, SpoiledInterval};
use serde::Serialize;
use units::format;

use super::series::lane;

/// The intervals of a run that something spoiled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpoiledSummary {
    /// Number of intervals over all series.
    pub intervals: u64,
    /// Neighbors of the same reasons joined, series by series, in chronological order.
    pub rows: Vec<SpoiledRow>,
    /// How many intervals the record did not keep one by one, as a sentence; `None` if it kept all.
    pub not_kept: Option<String>,
}

/// Neighboring intervals that the same reasons spoiled, with the figures that they would have had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpoiledRow {
    /// Label of the series.
    pub lane: String,
    /// Start, counted from the run's first schedule (ns).
    pub start_offset_ns: u64,
    /// Length (ns).
    pub length_ns: u64,
    /// Number of samples.
    pub samples: u64,
    /// The worst of the samples in words; `None` if there are none.
    pub worst: Option<String>,
    /// Schedules that late wake-ups skipped.
    pub missed_periods: u64,
    /// What spoiled it, in words.
    pub why: String,
}

/// The intervals of a run that something spoiled.
#[must_use]
pub fn spoiled(record: &Record) -> SpoiledSummary {
    let mut summary = SpoiledSummary::default();
    let mut not_kept = 0;
    for series in &record.series {
        summary.intervals = summary.intervals.saturating_add(series.spoiled.count);
        let kept = u64::try_from(series.spoiled.intervals.len()).unwrap_or(u64::MAX);
        not_kept += series.spoiled.count.saturating_sub(kept);
        let lane = lane(series, &record.series);
        summary.rows.extend(rows(series, &lane));
    }
    summary.not_kept = (not_kept > 0).then(|| format!("{} more were not kept one by one.", format::count(not_kept)));
    summary
}

/// The intervals of a series that something spoiled, neighbors of the same reasons joined, with the label of the series.
#[must_use]
pub fn rows(series: &Series, lane: &str) -> Vec<SpoiledRow> {
    let row = |stretch: SpoiledInterval| SpoiledRow {
        lane: lane.to_owned(),
        start_offset_ns: stretch.start_offset_ns,
        length_ns: stretch.length_ns,
        samples: stretch.samples,
        worst: stretch.worst_ns.map(format::latency),
        missed_periods: stretch.missed_periods,
        why: stretch.reasons.iter().map(|reason| reason.detail.as_str()).collect::<Vec<_>>().join("; "),
    };
    series.spoiled.stretches().into_iter().map(row).collect()
}
