//! The rows that CSV and Parquet share, one per bin, so that both formats have the same content.

use record::{Histogram, Record, Series};

/// One row: a range of values and the number of samples in it.
pub(super) struct Row {
    /// `bin`; `below-zero`, by the magnitude; or `unplaced`, for samples of which only the range is known.
    pub(super) kind: &'static str,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) count: u64,
}

/// Every series, with the record that contains it.
pub(super) fn series_of(records: &[Record]) -> impl Iterator<Item = (&Record, &Series)> {
    records.iter().flat_map(|record| record.series.iter().map(move |series| (record, series)))
}

/// The rows of all samples of a series.
pub(super) fn rows(series: &Series) -> impl Iterator<Item = Row> + '_ {
    let below = series.below_zero.iter().flat_map(|below| histogram_rows("below-zero", below));
    histogram_rows("bin", &series.histogram).chain(below)
}

fn histogram_rows<'a>(kind: &'static str, histogram: &'a Histogram) -> impl Iterator<Item = Row> + 'a {
    let bins = histogram.bins().map(move |bin| Row { kind, from_ns: bin.from_ns, to_ns: bin.to_ns, count: bin.count });
    let unplaced = histogram.unplaced().zip(histogram.max_ns()).map(|(unplaced, max_ns)| Row {
        kind: "unplaced",
        from_ns: unplaced.from_ns,
        to_ns: max_ns,
        count: unplaced.count,
    });
    bins.chain(unplaced)
}
