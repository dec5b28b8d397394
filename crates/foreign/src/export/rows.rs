//! One row a bin: what every form in rows has in common, so that none of them holds other rows than another.

use record::{Histogram, Record, Series};

/// What a row counts.
pub(super) struct Row {
    /// `bin`; `below-zero`, by the magnitude; or `unplaced`, for samples of which only the range is known.
    pub(super) kind: &'static str,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) count: u64,
}

/// Every series with the run that it is of.
pub(super) fn series_of(records: &[Record]) -> impl Iterator<Item = (&Record, &Series)> {
    records.iter().flat_map(|record| record.series.iter().map(move |series| (record, series)))
}

/// All samples of a series.
pub(super) fn rows(series: &Series) -> impl Iterator<Item = Row> + '_ {
    let below = series.below_zero.iter().flat_map(|below| of("below-zero", below));
    of("bin", &series.histogram).chain(below)
}

fn of<'a>(kind: &'static str, histogram: &'a Histogram) -> impl Iterator<Item = Row> + 'a {
    let bins = histogram.bins().map(move |bin| Row { kind, from_ns: bin.from_ns, to_ns: bin.to_ns, count: bin.count });
    let unplaced = histogram.unplaced().zip(histogram.max_ns()).map(|(unplaced, max_ns)| Row {
        kind: "unplaced",
        from_ns: unplaced.from_ns,
        to_ns: max_ns,
        count: unplaced.count,
    });
    bins.chain(unplaced)
}
