//! HdrHistogram's interval log, version 1.3: one line per series and interval, with values in nanoseconds.
//!
//! ```text
//! #[Histogram log format version 1.3]
//! #[StartTime: 1700000000.000 (seconds since epoch)]
//! "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
//! Tag=scheduled_to_woke-cpu2-thread0,0.000,1.000,0.041,HISTFAAA…
//! ```
//! As in HdrHistogram's own writer, timestamps are seconds from the start, and `Interval_Max` is in milliseconds.
//! Samples below zero have a separate tag, and are given by their magnitude.

use std::fmt::Write as _;

use record::{Histogram, Record, Series};

use super::{ExportFormat, tag};
use crate::error::ExportError;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "hdr",
    what: "HdrHistogram's interval log, version 1.3, in nanoseconds",
    endings: &["hlog", "hdr"],
    binary: false,
    write,
};

fn write(records: &[Record]) -> Result<Vec<u8>, ExportError> {
    // An import may not know when it was measured: it then starts together with the first of the others.
    let starts = records.iter().map(|record| record.manifest().started.realtime.as_ns());
    let start_ns = starts.filter(|start_ns| *start_ns != 0).min().unwrap_or(0);
    let mut text = format!(
        "#[Written by punctual {}; values are nanoseconds]\n#[Histogram log format version 1.3]\n\
         #[StartTime: {} (seconds since epoch)]\n",
        env!("CARGO_PKG_VERSION"),
        seconds(start_ns),
    );
    for record in records {
        for series in &record.series {
            if let Some(unplaced) = series.histogram.unplaced() {
                let _ = writeln!(
                    text,
                    "#[{}: {} samples are between {} and {} ns, their values were not kept; they are counted at the latter]",
                    tag_of(record, series, records.len(), ""),
                    unplaced.count,
                    unplaced.from_ns,
                    series.histogram.max_ns().unwrap_or(0)
                );
            }
        }
    }
    text.push_str("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n");
    for record in records {
        let after_ns = record.manifest().started.realtime.as_ns().saturating_sub(start_ns).max(0);
        for series in &record.series {
            let tag = tag_of(record, series, records.len(), "");
            let pieces = units::total(series.intervals.iter().map(|interval| interval.histogram.count()));
            if pieces == series.histogram.count() && !series.intervals.is_empty() {
                for interval in &series.intervals {
                    let begin_ns = after_ns.saturating_add(i64::try_from(interval.start_offset_ns).unwrap_or(i64::MAX));
                    line(&mut text, &tag, begin_ns, interval.length_ns, &interval.histogram);
                }
            } else {
                line(&mut text, &tag, after_ns, length_ns(record), &series.histogram);
            }
            if let Some(below) = &series.below_zero {
                let tag = tag_of(record, series, records.len(), "-below-zero");
                line(&mut text, &tag, after_ns, length_ns(record), below);
            }
        }
    }
    Ok(text.into_bytes())
}

fn length_ns(record: &Record) -> u64 {
    let manifest = &record.manifest();
    u64::try_from(manifest.ended.monotonic.as_ns().saturating_sub(manifest.started.monotonic.as_ns())).unwrap_or(0)
}

/// The tag of a series, unique in the file. A comma ends a tag, and for some readers a blank does too, so both become `_`.
fn tag_of(record: &Record, series: &Series, records: usize, suffix: &str) -> String {
    let run = if records > 1 { format!("{}-", record.id) } else { String::new() };
    let whole = format!("{run}{}{suffix}", tag(series));
    whole.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

fn line(text: &mut String, tag: &str, begin_ns: i64, length_ns: u64, histogram: &Histogram) {
    let length_ns = i64::try_from(length_ns).unwrap_or(i64::MAX);
    let max_us = histogram.max_ns().unwrap_or(0) / 1_000;
    let _ = writeln!(
        text,
        "Tag={tag},{},{},{}.{:03},{}",
        seconds(begin_ns),
        seconds(length_ns),
        max_us / 1_000,
        max_us % 1_000,
        placed(histogram).encode()
    );
}

/// Puts every sample into a bin. Unplaced samples count at the maximum, so that none is lost or looks better than it was.
fn placed(histogram: &Histogram) -> Histogram {
    let (Some(unplaced), Some(max_ns)) = (histogram.unplaced(), histogram.max_ns()) else { return histogram.clone() };
    let mut whole = Histogram::new();
    histogram.bins().for_each(|bin| whole.record_n(bin.from_ns, bin.count));
    whole.record_n(max_ns, unplaced.count);
    whole
}

fn seconds(ns: i64) -> String {
    let ms = ns.max(0) / 1_000_000;
    format!("{}.{:03}", ms / 1_000, ms % 1_000)
}

#[cfg(test)]
mod tests {
    use record::Unplaced;

    use super::*;

    #[test]
    fn no_sample_is_lost() {
        let mut histogram = Histogram::new();
        histogram.record_n(5_000, 3);
        histogram.record_n(90_000, 1);
        histogram.add_unplaced(Unplaced { count: 6, from_ns: 10_000 });
        let whole = placed(&histogram);
        assert_eq!((whole.count(), whole.max_ns(), whole.unplaced()), (10, Some(90_000), None));
        assert_eq!(whole.count_above(10_000), 7);
    }
}
