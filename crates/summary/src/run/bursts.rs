//! The bursts of a run: consecutive periods that were missed or late.

use record::{MissedRow, Moment, Place, Record};
use serde::Serialize;
use units::format::span;

/// A burst: consecutive periods that were missed or late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Burst {
    /// Name of the node in this run.
    pub node: String,
    /// Where the periods were missed.
    pub place: Place,
    /// When the first late wake-up was scheduled.
    pub first_scheduled: Moment,
    /// Periods in the burst: late wake-ups and the schedules that they skipped.
    pub periods: u64,
    /// Of these, schedules that were skipped; 0 if the periods were late and none was missed.
    pub missed_periods: u64,
    /// The worst latency in the burst (ns).
    pub worst_ns: i64,
    /// Time from the first missed schedule to the first wake-up that was again in time (ns); `None` if there is none.
    pub recovery_ns: Option<u64>,
    /// That time in words, or that the run ended before; `None` if nothing was missed, so that there is nothing to recover from.
    pub recovery: Option<String>,
}

/// The bursts of a run, the one that missed the most periods first, among equals the one with the worst latency.
#[must_use]
pub fn bursts(record: &Record) -> Vec<Burst> {
    let mut all: Vec<Burst> = record.rows.iter().map(Burst::from).collect();
    all.sort_by_key(|burst| std::cmp::Reverse((burst.missed_periods, burst.worst_ns)));
    all
}

impl From<&MissedRow> for Burst {
    fn from(row: &MissedRow) -> Self {
        let recovery = match (row.missed_periods, row.recovery_ns) {
            (0, _) => None,
            (_, Some(recovery_ns)) => Some(span(recovery_ns)),
            (_, None) => Some("not within the run".to_owned()),
        };
        Self {
            node: row.node.clone(),
            place: row.place.clone(),
            first_scheduled: row.first_scheduled,
            periods: row.periods,
            missed_periods: row.missed_periods,
            worst_ns: row.worst_ns,
            recovery_ns: row.recovery_ns,
            recovery,
        }
    }
}
