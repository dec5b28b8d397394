//! cyclictest's histogram, as its `-h` prints it: whole microseconds, one column per thread.
//!
//! The table extends to the highest latency, but to at most [`MAX_ROWS`] rows. Samples above it are counted as overflows,
//! as in cyclictest; minimum, mean and maximum still include them.

use std::fmt::Write as _;

use record::{Histogram, Record, Series};

use super::ExportFormat;
use crate::error::ExportError;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "cyclictest",
    what: "cyclictest's histogram text, in microseconds",
    endings: &["hist", "txt"],
    binary: false,
    write,
};

/// A tenth of a second, in rows of 1 us.
const MAX_ROWS: u64 = 100_000;

fn write(records: &[Record]) -> Result<Vec<u8>, ExportError> {
    let [record] = records else {
        return Err(ExportError::OneRunOnly { format: FORMAT.name, count: records.len() });
    };
    if record.measurement.kind().compared != Some("scheduled_to_woke") {
        return Err(ExportError::CannotHold {
            format: FORMAT.name,
            what: format!(
                "it is a run of {}, and cyclictest measures wake-ups; use csv, json or hdr",
                record.measurement.name()
            ),
        });
    }
    let series: Vec<&Series> = record.series.iter().collect();
    if let Some(below) = series.iter().find(|series| series.below_zero.is_some()) {
        return Err(ExportError::CannotHold {
            format: FORMAT.name,
            what: format!("{} has samples below zero; use csv", super::tag(below)),
        });
    }
    let columns: Vec<Column> = series.iter().map(|series| Column::from_histogram(&series.histogram)).collect();
    let rows = columns.iter().map(Column::rows).max().unwrap_or(0);
    let mut text = String::from("# Histogram\n");
    let mut at = vec![0; columns.len()];
    for row in 0..rows {
        let _ = write!(text, "{row:06}");
        for (number, (column, at)) in columns.iter().zip(&mut at).enumerate() {
            let samples = column.bins.get(*at).filter(|bin| bin.0 == row).map_or(0, |bin| bin.1);
            *at += usize::from(samples > 0);
            let _ = write!(text, "{}{samples:06}", if number == 0 { ' ' } else { '\t' });
        }
        text.push('\n');
    }
    let mut line = |name: &str, width: usize, value: &dyn Fn(&Column) -> u64| {
        let _ = write!(text, "# {name}:");
        for column in &columns {
            let _ = write!(text, " {:0width$}", value(column));
        }
        text.push('\n');
    };
    line("Total", 9, &|column| column.placed());
    line("Min Latencies", 5, &|column| column.min_us);
    line("Avg Latencies", 5, &|column| column.avg_us);
    line("Max Latencies", 5, &|column| column.max_us);
    line("Histogram Overflows", 5, &|column| column.overflow);
    text.push_str("# Histogram Overflow at cycle number:\n");
    for thread in 0..columns.len() {
        let _ = writeln!(text, "# Thread {thread}:");
    }
    text.push('\n');
    Ok(text.into_bytes())
}

/// A thread's samples in whole microseconds.
#[derive(Default)]
struct Column {
    bins: Vec<(u64, u64)>,
    overflow: u64,
    min_us: u64,
    avg_us: u64,
    max_us: u64,
}

impl Column {
    fn from_histogram(histogram: &Histogram) -> Self {
        let mut column = Self {
            overflow: histogram.unplaced().map_or(0, |unplaced| unplaced.count),
            min_us: histogram.min_ns().unwrap_or(0) / 1_000,
            max_us: histogram.max_ns().unwrap_or(0) / 1_000,
            ..Self::default()
        };
        // End the table at the lowest possible value of unplaced samples, so that they are overflows.
        let end_us = histogram.unplaced().map_or(MAX_ROWS, |unplaced| (unplaced.from_ns / 1_000).min(MAX_ROWS));
        let mut sum_us: u128 = 0;
        let mut add = |value: u64, samples: u64| {
            sum_us += u128::from(value) * u128::from(samples);
            if value >= end_us {
                column.overflow = column.overflow.saturating_add(samples);
                return;
            }
            match column.bins.last_mut() {
                Some(last) if last.0 == value => last.1 = last.1.saturating_add(samples),
                _ if samples > 0 => column.bins.push((value, samples)),
                _ => {}
            }
        };
        for bin in histogram.bins() {
            // Count a bin at its upper end, so that no sample looks better than it was, and the minimum at its exact value.
            // This also restores imported values in whole microseconds, although their bins start lower.
            let first = u64::from(Some(bin.from_ns) == histogram.min_ns());
            add(bin.from_ns / 1_000, first);
            add(bin.to_ns / 1_000, bin.count - first);
        }
        // As in cyclictest, the mean is that of values truncated to whole microseconds. If samples are unplaced, only the
        // source's sum includes them.
        let of_all = if histogram.unplaced().is_some() { u128::from(histogram.sum_ns() / 1_000) } else { sum_us };
        column.avg_us = u64::try_from(of_all / u128::from(histogram.count().max(1))).unwrap_or(u64::MAX);
        column
    }

    fn rows(&self) -> u64 {
        self.bins.last().map_or(1, |bin| bin.0 + 1)
    }

    fn placed(&self) -> u64 {
        units::total(self.bins.iter().map(|bin| bin.1))
    }
}
