//! A record as a file: the form of version 2, and how version 1 is read.
//!
//! In memory each series holds its own intervals, as whoever computes with them wants it. In the file they stand in one list
//! in the order of time, so that a file can grow while a run goes on ([`Growing`](crate::Growing)).

mod growing;
pub(crate) mod v1;

use std::borrow::Cow;

pub use self::growing::GrowingText;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Detail, Histogram, Interval, Measurement, MissedRow, Nodes, Record, RecordError, SCHEMA, Series, Uncertainty,
    VERSION, Validity, Verdict, WorstSample,
};

/// One run, immutable once written.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Record")]
struct RecordWire<'a> {
    /// `punctual/record`.
    schema: Cow<'a, str>,
    /// Version of the schema.
    version: u32,
    /// Unique name of this run, sortable by its start.
    id: Cow<'a, str>,
    /// What was measured.
    measurement: Measurement,
    /// A word for people that distinguishes runs of one session: `idle`, `under paper load`.
    #[serde(default)]
    label: Cow<'a, str>,
    /// Whether the numbers mean what was asked.
    validity: Cow<'a, Validity>,
    /// What the run says of the deadline, where one was stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<Cow<'a, Verdict>>,
    /// The nodes that took part, the leading one first: what was asked of each, granted to it and around.
    nodes: Cow<'a, Nodes>,
    /// The samples: one series for each latency at each place.
    series: Cow<'a, [Series]>,
    /// The worst samples over all places, worst first, at most 64.
    #[serde(default)]
    worst: Cow<'a, [WorstSample]>,
    /// The longest rows of missed or late periods over all places, longest first, at most 64.
    #[serde(default)]
    rows: Cow<'a, [MissedRow]>,
    /// What only some kinds of measurement have.
    #[serde(default, skip_serializing_if = "is_nothing")]
    detail: Cow<'a, Detail>,
    /// The run in pieces, in the order of time.
    #[serde(default)]
    intervals: Vec<IntervalWire<'a>>,
}

fn is_nothing(detail: &Detail) -> bool {
    *detail == Detail::None
}

/// One piece of a run: min(5 minutes, duration / 60) long unless set.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Interval")]
pub(crate) struct IntervalWire<'a> {
    /// Its start, counted from the run's first schedule (ns).
    pub(crate) start_offset_ns: u64,
    /// Its length (ns); the last can be shorter.
    pub(crate) length_ns: u64,
    /// What each series has in it.
    pub(crate) parts: Vec<PartWire<'a>>,
}

/// What a series has in an interval.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "IntervalPart")]
pub(crate) struct PartWire<'a> {
    /// Which of the record's series, from 0.
    pub(crate) series: usize,
    /// Schedules that a late wake-up of this interval swallowed.
    pub(crate) missed_periods: u64,
    /// Its samples, save for those below zero; their exact maximum is the interval maximum.
    pub(crate) histogram: Cow<'a, Histogram>,
    /// Its samples below zero, by their magnitude; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) below_zero: Option<Cow<'a, Histogram>>,
    /// How far any of its samples can be from the truth; absent where the series' own holds for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) uncertainty: Option<Uncertainty>,
}

impl<'a> PartWire<'a> {
    pub(crate) fn of(series: usize, interval: &'a Interval) -> Self {
        Self {
            series,
            missed_periods: interval.missed_periods,
            histogram: Cow::Borrowed(&interval.histogram),
            below_zero: interval.below_zero.as_ref().map(Cow::Borrowed),
            uncertainty: interval.uncertainty,
        }
    }
}

/// The intervals of all series in the order of time: those of several series that begin and end together are one.
pub(crate) fn in_order(series: &[Series]) -> Vec<IntervalWire<'_>> {
    let mut all: Vec<(u64, u64, usize, &Interval)> = Vec::new();
    for (number, one) in series.iter().enumerate() {
        all.extend(one.intervals.iter().map(|it| (it.start_offset_ns, it.length_ns, number, it)));
    }
    // Stable: what a series has stays in its order.
    all.sort_by_key(|(start, length, ..)| (*start, *length));
    let mut merged: Vec<IntervalWire<'_>> = Vec::new();
    for (start_offset_ns, length_ns, number, interval) in all {
        let part = PartWire::of(number, interval);
        match merged.last_mut() {
            Some(last) if (last.start_offset_ns, last.length_ns) == (start_offset_ns, length_ns) => {
                last.parts.push(part);
            }
            _ => merged.push(IntervalWire { start_offset_ns, length_ns, parts: vec![part] }),
        }
    }
    merged
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    schema: Cow<'a, str>,
    version: u32,
}

/// Reads a record of this version or of one before it.
pub(crate) fn read(text: &str) -> Result<Record, RecordError> {
    let head: Head<'_> = serde_json::from_str(text).map_err(RecordError::Form)?;
    if head.schema != SCHEMA {
        return Err(RecordError::Schema { found: head.schema.into_owned() });
    }
    match head.version {
        1 => v1::read(text),
        VERSION => serde_json::from_str::<RecordWire<'_>>(text).map_err(RecordError::Form)?.into_record(),
        found => Err(RecordError::Newer { found }),
    }
}

impl<'a> RecordWire<'a> {
    fn of(record: &'a Record, intervals: Vec<IntervalWire<'a>>) -> Self {
        Self {
            schema: SCHEMA.into(),
            version: VERSION,
            id: record.id.as_str().into(),
            measurement: record.measurement,
            label: record.label.as_str().into(),
            validity: Cow::Borrowed(&record.validity),
            verdict: record.verdict.as_ref().map(Cow::Borrowed),
            nodes: Cow::Borrowed(&record.nodes),
            series: Cow::Borrowed(&record.series),
            worst: Cow::Borrowed(&record.worst),
            rows: Cow::Borrowed(&record.rows),
            detail: Cow::Borrowed(&record.detail),
            intervals,
        }
    }

    fn into_record(self) -> Result<Record, RecordError> {
        let record = Record {
            id: self.id.into_owned(),
            measurement: self.measurement,
            label: self.label.into_owned(),
            validity: self.validity.into_owned(),
            verdict: self.verdict.map(Cow::into_owned),
            nodes: self.nodes.into_owned(),
            series: self.series.into_owned(),
            worst: self.worst.into_owned(),
            rows: self.rows.into_owned(),
            detail: self.detail.into_owned(),
        };
        let mut record = record.with_node_named();
        for (at, interval) in self.intervals.into_iter().enumerate() {
            let IntervalWire { start_offset_ns, length_ns, parts } = interval;
            for part in parts {
                let all = record.series.len();
                let Some(series) = record.series.get_mut(part.series) else {
                    return Err(contradiction(format!(
                        "intervals[{at}] is of series {}, of which there are {all}",
                        part.series
                    )));
                };
                if series.intervals.last().is_some_and(|last| last.start_offset_ns > start_offset_ns) {
                    return Err(contradiction(format!("intervals[{at}] begins before the one before it")));
                }
                series.intervals.push(Interval {
                    start_offset_ns,
                    length_ns,
                    missed_periods: part.missed_periods,
                    histogram: part.histogram.into_owned(),
                    below_zero: part.below_zero.map(Cow::into_owned),
                    uncertainty: part.uncertainty,
                });
            }
        }
        check(&record)?;
        Ok(record)
    }
}

/// What a file can state, and no run can be.
fn check(record: &Record) -> Result<(), RecordError> {
    let kind = record.measurement.kind();
    if let Some(node) = record.nodes.iter().find(|node| !kind.roles.contains(&node.role.as_str())) {
        let known = kind.roles.join(", ");
        return Err(contradiction(format!(
            "node '{}' was '{}', and nodes of '{}' are: {known}",
            node.name, node.role, kind.name
        )));
    }
    let named = record.series.iter().map(|one| (&one.node, "series"));
    let named = named.chain(record.worst.iter().map(|one| (&one.node, "worst")));
    for (node, list) in named.chain(record.rows.iter().map(|one| (&one.node, "rows"))) {
        if !record.nodes.has(node) {
            return Err(contradiction(format!("{list} name a node '{node}' that is not among its nodes")));
        }
    }
    Ok(())
}

fn contradiction(what: String) -> RecordError {
    RecordError::Contradiction(what)
}

/// The JSON text, indented for people.
pub(crate) fn write(record: &Record) -> String {
    let mut text = pretty(&RecordWire::of(record, in_order(&record.series)));
    text.push('\n');
    text
}

pub(crate) fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|error| unreachable!("every field has a JSON form: {error}"))
}

pub(crate) fn schema() -> serde_json::Value {
    schemars::schema_for!(RecordWire<'static>).to_value()
}

impl Serialize for Record {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RecordWire::of(self, in_order(&self.series)).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Record {
    /// Of this version alone; files are read by [`Record::from_json`].
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RecordWire::deserialize(deserializer)?.into_record().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
