//! The text of a record's file that grows while its run goes on.
//!
//! A file that is finished has its intervals last, behind what people look for first. One that grows has them in the middle:
//! what is judged anew with each interval is the end, and only that is written again. Both are the same record to a reader.

use std::borrow::Cow;

use serde::Serialize;

use super::{IntervalWire, PartWire, RecordWire, pretty};
use crate::{Interval, Record, SCHEMA, VERSION};

/// One level deeper, as the pretty printer indents.
const INDENT: &str = "  ";

/// Before the first interval.
const OPEN: &str = ",\n  \"intervals\": [";
/// Behind the last one.
const CLOSE: &str = "\n  ]";
/// The end of a file whose intervals stand last.
const END: &str = "\n}\n";

#[derive(Serialize)]
struct Head<'a> {
    schema: &'a str,
    version: u32,
    id: &'a str,
    measurement: crate::Measurement,
    label: &'a str,
}

/// Makes the parts of such a file; they follow each other without anything between.
#[derive(Clone, Copy, Debug)]
pub struct GrowingText;

impl GrowingText {
    /// What a file that grows begins with, up to its first interval.
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

    /// Finished intervals, each with the number of its series, in the order of time; those of several series that begin and
    /// end together are one. `are_first` where no interval stands before them in the file.
    #[must_use]
    pub fn intervals(finished: &[(usize, Interval)], are_first: bool) -> String {
        let mut merged: Vec<IntervalWire<'_>> = Vec::new();
        for (series, interval) in finished {
            let part = PartWire::of(*series, interval);
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

    /// What stands behind the last interval of a file that grows: the rest of the record, as it is judged now.
    #[must_use]
    pub fn tail(record: &Record) -> String {
        let whole = pretty(&RecordWire::of(record, Vec::new()));
        // The members of the head stand before the intervals already, and the empty list of intervals is no member of the rest.
        let after_head = whole.find("\n  \"validity\":").unwrap_or(0);
        let before_intervals = whole.rfind(OPEN).unwrap_or(whole.len());
        format!("{CLOSE},{}{END}", &whole[after_head..before_intervals])
    }

    /// What a finished file begins with, up to its first interval.
    #[must_use]
    pub fn finished_head(record: &Record) -> String {
        let whole = pretty(&RecordWire::of(record, Vec::new()));
        whole[..whole.rfind(OPEN).unwrap_or(whole.len())].to_owned() + OPEN
    }

    /// What stands behind the last interval of a finished file.
    #[must_use]
    pub fn finished_tail() -> String {
        format!("{CLOSE}{END}")
    }
}

/// Without the brace that closes an object.
fn without_end(object: &str) -> String {
    object.strip_suffix("\n}").unwrap_or(object).to_owned()
}

/// Each line as many levels deeper. No text of JSON spans lines.
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
        // A label that looks like parts of the file.
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
    fn a_file_that_grew_is_the_same_record_and_a_finished_one_the_same_text() {
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
            // Without its intervals, as whoever writes as they end has it.
            let mut bare = whole.clone();
            bare.series.iter_mut().for_each(|series| series.intervals.clear());
            let texts: Vec<String> =
                batches.iter().enumerate().map(|(at, batch)| GrowingText::intervals(batch, at == 0)).collect();
            let grown = GrowingText::head(&bare) + &texts.concat() + &GrowingText::tail(&bare);
            assert_eq!(Record::from_json(&grown).unwrap(), whole, "{grown}");
            let finished = GrowingText::finished_head(&bare) + &texts.concat() + &GrowingText::finished_tail();
            assert_eq!(finished, whole.to_json());
        }
    }

    #[test]
    fn intervals_that_came_late_stand_behind_others() {
        let mut whole = record(2);
        let (early, late) = (interval(0, 5), interval(1, 9));
        let mut text = GrowingText::head(&whole);
        text += &GrowingText::intervals(&[(0, early.clone()), (0, late.clone())], true);
        text += &GrowingText::intervals(&[(1, early.clone())], false);
        text += &GrowingText::tail(&whole);
        whole.series[0].intervals = vec![early.clone(), late];
        whole.series[1].intervals = vec![early];
        assert_eq!(Record::from_json(&text).unwrap(), whole);
    }
}
