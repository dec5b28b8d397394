//! What was collected of one thread, and how it stands in a record.

use analysis::rhythm::LateWakeup;
use analysis::{Row, StallTotals};
use record::{
    Counters, Histogram, Interval, MissedRow, Moment, Place, Reason, Series, Spoiled, Uncertainty, WorstSample,
};

use crate::clock_watch::ClockWatch;
use crate::worst::KeptSample;

/// The samples of one thread, accumulated: those of the intervals that stand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collected {
    pub(crate) total: Histogram,
    pub(crate) below_zero: Histogram,
    pub(crate) swallowed: Histogram,
    pub(crate) corrections_left_out: u64,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) stalls: StallTotals,
    pub(crate) rows: Vec<Row>,
    pub(crate) worst: Vec<KeptSample>,
    pub(crate) max_at: Option<Moment>,
    /// All wake-ups later than `late_above_ns`, in the order of time, on the measured clock.
    pub(crate) late: Vec<LateWakeup>,
    pub(crate) late_above_ns: u64,
    pub(crate) samples: u64,
    /// The widest error of a sample; `None` where they have none.
    pub(crate) uncertainty: Option<Uncertainty>,
    /// The intervals that do not stand.
    pub(crate) spoiled: Spoiled,
    /// What spoiled intervals that had been counted when it was noticed.
    pub(crate) known_too_late: Vec<Reason>,
}

impl Collected {
    /// As a series of a record. `counters` has what was counted beside the samples.
    pub(crate) fn into_series(self, name: &str, place: Place, counters: &Counters) -> Series {
        let corrected = (!self.swallowed.is_empty()).then(|| {
            let mut corrected = self.total.clone();
            corrected.merge(&self.swallowed);
            corrected
        });
        Series {
            name: name.to_owned(),
            place,
            corrected,
            histogram: self.total,
            below_zero: (!self.below_zero.is_empty()).then_some(self.below_zero),
            intervals: self.intervals,
            spoiled: self.spoiled,
            counters: Counters {
                samples: self.samples,
                missed_periods: self.stalls.missed_periods,
                late_samples: self.stalls.late_samples,
                rows: self.stalls.rows,
                longest_row_periods: self.stalls.longest_row_periods,
                longest_recovery_ns: self.stalls.longest_recovery_ns,
                corrections_left_out: self.corrections_left_out,
                ..counters.clone()
            },
            max_at: self.max_at,
            uncertainty: self.uncertainty,
            ..Series::default()
        }
    }

    /// The worst samples as they stand in a record.
    pub(crate) fn worst_at(&self, name: &str, place: &Place) -> Vec<WorstSample> {
        self.worst.iter().map(|sample| sample.at(place, name)).collect()
    }

    /// The longest rows as they stand in a record.
    pub(crate) fn rows_at(&self, place: &Place, clocks: &ClockWatch) -> Vec<MissedRow> {
        let row = |row: &Row| MissedRow {
            node: String::new(),
            place: place.clone(),
            first_scheduled: clocks.moment(row.first_scheduled_ns),
            periods: row.periods,
            missed_periods: row.missed_periods,
            worst_ns: row.worst_ns,
            recovery_ns: row.recovery_ns,
        };
        self.rows.iter().map(row).collect()
    }
}
