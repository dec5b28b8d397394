//! The text of a record's file that grows during its run.
//!
//! A finished file has its intervals at the end, after the parts that people look for first. A growing file has them in the
//! middle: the tail, which every new interval can change, comes last, so that only it is rewritten. Both forms are read as
//! the same record.

use std::borrow::Cow;

use serde::Serialize;

use super::{IntervalWire, PartWire, RecordWire, pretty};
use crate::{Interval, Record, SCHEMA, VERSION};

/// One level of indentation, as serde_json's pretty printer writes it.
const INDENT: &str = "  ";

/// The text before the first interval.
const OPEN: &str = ",\n  \"intervals\": [";
/// The text after the last interval.
const CLOSE: &str = "\n  ]";
/// The end of the file.
const END: &str = "\n}\n";

#[derive(Serialize)]
struct Head<'a> {
    schema: &'a str,
    version: u32,
    id: &'a str,
    measurement: crate::Measurement,
    label: &'a str,
}

/// Makes the parts of a growing file, and of the finished one; they are concatenated without separators.
#[derive(Clone, Copy, Debug)]
pub struct GrowingText;

impl GrowingText {
    /// The start of a growing file, up to its first interval.
    #[must_use]
    pub fn head(record: &Record) -> String {
        let head = Head {
            schema: SCHEMA,
            version: VERSION,
            id: &record.id,
            measurement: record.measurement,
            label: &record.label,
        };
        without_end(&pretty(&head)) + OPEN
    }

    /// The text of finished intervals, given in chronological order, each with the index of its series among those of the record.
    /// Consecutive intervals with the same start and length become one entry. `are_first` means that the file has no interval
    /// yet.
    #[must_use]
    pub fn intervals(finished: &[(usize, Interval)], of: &Record, are_first: bool) -> String {
        let mut merged: Vec<IntervalWire<'_>> = Vec::new();
        for (number, interval) in finished {
            let Some(series) = of.series.get(*number) else { continue };
            let part = PartWire::new(series, interval);
            match merged.last_mut() {
                Some(last)
                    if (last.start_offset_ns, last.length_ns) == (interval.start_offset_ns, interval.length_ns) =>
                {
                    last.parts.push(part);
                }
                _ => merged.push(IntervalWire {
                    start_offset_ns: interval.start_offset_ns,
                    length_ns: interval.length_ns,
                    parts: vec![part],
                }),
            }
        }
        let mut text = String::new();
        for (at, interval) in merged.iter().enumerate() {
            text.push_str(if are_first && at == 0 { "\n" } else { ",\n" });
            text.push_str(&indented(&pretty(interval), 2));
        }
        text
    }

    /// The text after the last interval of a growing file: the rest of the record in its current state.
    #[must_use]
    pub fn tail(record: &Record) -> String {
        let mut text = pretty(&RecordWire::new(record, Vec::new()));
        // Cut out of the whole in place, as it can be long: without the members that the head contains already, and the empty list
        // of intervals.
        let before_intervals = text.rfind(OPEN).unwrap_or(text.len());
        text.truncate(before_intervals);
        let after_head = text.find("\n  \"validity\":").unwrap_or(0);
        text.replace_range(..after_head, &format!("{CLOSE},"));
        text.push_str(END);
        text
    }

    /// The start of a finished file, up to its first interval.
    #[must_use]
    pub fn finished_head(record: &Record) -> String {
        let mut text = pretty(&RecordWire::new(record, Vec::new()));
        let before_intervals = text.rfind(OPEN).unwrap_or(text.len());
        text.replace_range(before_intervals.., OPEN);
        text
    }

    /// The text after the last interval of a finished file.
    #[must_use]
    pub fn finished_tail() -> String {
        format!("{CLOSE}{END}")
    }
}

/// Removes the closing brace of an object.
fn without_end(object: &str) -> String {
    object.strip_suffix("\n}").unwrap_or(object).to_owned()
}

/// Indents each line by `levels` levels. This is safe because JSON strings contain no line breaks.
fn indented(text: &str, levels: usize) -> Cow<'_, str> {
    let indent = INDENT.repeat(levels);
    Cow::Owned(text.lines().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Histogram, Manifest, Measurement, Place, Series};

    fn histogram(ns: u64) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.record_n(ns, 3);
        histogram
    }

    fn record(threads: u32) -> Record {
        let mut record = Record::empty("1".to_owned(), Measurement::Wakeup, Manifest::default());
        // The label looks like parts of the file, to confuse a search for them.
        record.label = "\",\n  \"intervals\": [\n  \"validity\":".to_owned();
        record.series = (0..threads)
            .map(|thread| Series {
                name: "scheduled_to_woke".to_owned(),
                place: Place::thread(thread, Some(thread)),
                ..Series::default()
            })
            .collect();
        record.with_node_named()
    }

    fn interval(number: u64, ns: u64) -> Interval {
        Interval { start_offset_ns: number * 1_000, length_ns: 1_000, histogram: histogram(ns), ..Interval::default() }
    }

    #[test]
    fn a_growing_file_reads_as_the_record_and_a_finished_one_equals_its_text() {
        for threads in 1..3 {
            let mut whole = record(threads);
            let mut batches: Vec<Vec<(usize, Interval)>> = Vec::new();
            for number in 0..4 {
                let all = whole.series.iter_mut().enumerate().map(|(at, series)| {
                    let one = interval(number, 1_000 + 7 * number + at as u64);
                    series.histogram.merge(&one.histogram);
                    series.intervals.push(one.clone());
                    (at, one)
                });
                batches.push(all.collect());
            }
            // The writer of a growing file has the record without its intervals.
            let mut bare = whole.clone();
            bare.series.iter_mut().for_each(|series| series.intervals.clear());
            let texts: Vec<String> =
                batches.iter().enumerate().map(|(at, batch)| GrowingText::intervals(batch, &bare, at == 0)).collect();
            let grown = GrowingText::head(&bare) + &texts.concat() + &GrowingText::tail(&bare);
            assert_eq!(Record::from_json(&grown).unwrap(), whole.clone().with_printable_texts(), "{grown}");
            let finished = GrowingText::finished_head(&bare) + &texts.concat() + &GrowingText::finished_tail();
            assert_eq!(finished, whole.to_json());
        }
    }

    #[test]
    fn intervals_may_be_appended_out_of_order_across_series() {
        let mut whole = record(2);
        let (early, late) = (interval(0, 5), interval(1, 9));
        let mut text = GrowingText::head(&whole);
        text += &GrowingText::intervals(&[(0, early.clone()), (0, late.clone())], &whole, true);
        text += &GrowingText::intervals(&[(1, early.clone())], &whole, false);
        text += &GrowingText::tail(&whole);
        whole.series[0].intervals = vec![early.clone(), late];
        whole.series[1].intervals = vec![early];
        assert_eq!(Record::from_json(&text).unwrap(), whole.with_printable_texts());
    }
}
