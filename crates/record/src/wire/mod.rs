//! The file format of records.
//!
//! In memory each series holds its own intervals, which suits computations. In the file, the intervals of all series form
//! one list in chronological order, so that a file can grow during a run ([`GrowingText`]).

mod growing;

use std::borrow::Cow;

pub use self::growing::GrowingText;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Detail, Histogram, Interval, LateSamples, Measurement, MissedRow, Moment, Nodes, Place, Record, RecordError,
    SCHEMA, Series, Uncertainty, VERSION, Validity, Verdict, WorstSample,
};

/// The record of one run, immutable once written.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Record")]
pub(crate) struct RecordWire<'a> {
    /// Name of the schema: `punctual/record`.
    schema: Cow<'a, str>,
    /// Version of the schema.
    version: u32,
    /// Unique identifier of this run; identifiers sort by the start of the run.
    id: Cow<'a, str>,
    /// The kind of measurement.
    measurement: Measurement,
    /// A label that distinguishes the runs of one session for people: `idle`, `under paper load`.
    #[serde(default)]
    label: Cow<'a, str>,
    /// Whether the run measured what was requested.
    validity: Cow<'a, Validity>,
    /// The verdict on the deadline; absent if none was stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<Cow<'a, Verdict>>,
    /// The nodes that took part, the leading one first: what was requested of each, what the kernel granted, and the
    /// conditions of the run.
    nodes: Cow<'a, Nodes>,
    /// The samples: one series for each latency at each place.
    series: Cow<'a, [Series]>,
    /// The worst samples over all places, worst first, at most 64.
    #[serde(default)]
    worst: Cow<'a, [WorstSample]>,
    /// The longest bursts of missed or late periods over all places, longest first, at most 64.
    #[serde(default)]
    rows: Cow<'a, [MissedRow]>,
    /// What was found out about the late samples.
    #[serde(default, skip_serializing_if = "is_empty")]
    late_samples: Cow<'a, LateSamples>,
    /// Results that only some kinds of measurement have.
    #[serde(default, skip_serializing_if = "is_none")]
    detail: Cow<'a, Detail>,
    /// The intervals of the run, in chronological order.
    #[serde(default)]
    intervals: Vec<IntervalWire<'a>>,
}

fn is_empty(late_samples: &LateSamples) -> bool {
    *late_samples == LateSamples::default()
}

fn is_none(detail: &Detail) -> bool {
    *detail == Detail::None
}

/// One interval of a run; by default min(5 minutes, duration / 60) long.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Interval")]
pub(crate) struct IntervalWire<'a> {
    /// Start of the interval, counted from the run's first schedule (ns).
    pub(crate) start_offset_ns: u64,
    /// Length (ns); the last interval can be shorter.
    pub(crate) length_ns: u64,
    /// The parts of the interval, one for each series that has an interval of this start and length.
    pub(crate) parts: Vec<PartWire<'a>>,
}

/// The part of a series that falls into an interval. The series is named and not numbered, so that an interval can be understood
/// by itself, and a record may have more series than it had when the interval ended.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "IntervalPart")]
pub(crate) struct PartWire<'a> {
    /// Name of the node of the series; absent for the leading node of a record that is still being assembled.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub(crate) node: Cow<'a, str>,
    /// The latency of the series.
    pub(crate) name: Cow<'a, str>,
    /// What distinguishes it from series of the same name and place; absent if that is nothing.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub(crate) variant: Cow<'a, str>,
    /// Where it was measured.
    pub(crate) place: Cow<'a, Place>,
    /// Schedules that late wake-ups of this interval skipped.
    pub(crate) missed_periods: u64,
    /// The samples, except those below zero; their exact maximum is the interval maximum.
    pub(crate) histogram: Cow<'a, Histogram>,
    /// Samples below zero, by their magnitude; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) below_zero: Option<Cow<'a, Histogram>>,
    /// Bounds on the error of the samples; absent if those of the series apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) uncertainty: Option<Uncertainty>,
    /// When the worst sample was taken; absent if that was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_at: Option<Moment>,
}

impl<'a> PartWire<'a> {
    pub(crate) fn new(series: &'a Series, interval: &'a Interval) -> Self {
        Self {
            node: series.node.as_str().into(),
            name: series.name.as_str().into(),
            variant: series.variant.as_str().into(),
            place: Cow::Borrowed(&series.place),
            missed_periods: interval.missed_periods,
            histogram: Cow::Borrowed(&interval.histogram),
            below_zero: interval.below_zero.as_ref().map(Cow::Borrowed),
            uncertainty: interval.uncertainty,
            max_at: interval.max_at,
        }
    }
}

/// The intervals of all series in chronological order. Intervals of several series with the same start and length become
/// one entry.
pub(crate) fn merged_intervals(series: &[Series]) -> Vec<IntervalWire<'_>> {
    let mut all: Vec<(u64, u64, &Series, &Interval)> = Vec::new();
    for one in series {
        all.extend(one.intervals.iter().map(|it| (it.start_offset_ns, it.length_ns, one, it)));
    }
    // The sort is stable: the intervals of a series keep their order.
    all.sort_by_key(|(start, length, ..)| (*start, *length));
    let mut merged: Vec<IntervalWire<'_>> = Vec::new();
    for (start_offset_ns, length_ns, one, interval) in all {
        let part = PartWire::new(one, interval);
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

/// What makes a record of one version one of the next.
struct Upgrade {
    from: u32,
    to_next: fn(&mut serde_json::Value),
}

/// One for each version that a release has written, since each stays readable; there was no release yet.
const UPGRADES: &[Upgrade] = &[];

/// Reads a record of this version or an earlier one. No string of it holds what steers a terminal or breaks a line, whoever
/// wrote it: such characters are shown by their numbers.
pub(crate) fn read(text: &str) -> Result<Record, RecordError> {
    read_with(text, UPGRADES)
}

fn read_with(text: &str, upgrades: &[Upgrade]) -> Result<Record, RecordError> {
    let text = &*units::printable::json(text);
    let head: Head<'_> = serde_json::from_str(text).map_err(RecordError::Form)?;
    if head.schema != SCHEMA {
        return Err(RecordError::Schema { found: head.schema.into_owned() });
    }
    if head.version > VERSION {
        return Err(RecordError::Newer { found: head.version });
    }
    if head.version == VERSION {
        return serde_json::from_str::<RecordWire<'_>>(text).map_err(RecordError::Form)?.into_record();
    }
    let mut file: serde_json::Value = serde_json::from_str(text).map_err(RecordError::Form)?;
    for from in head.version..VERSION {
        let upgrade = upgrades.iter().find(|upgrade| upgrade.from == from);
        (upgrade.ok_or(RecordError::Unreleased { found: head.version })?.to_next)(&mut file);
        file["version"] = (from + 1).into();
    }
    serde_json::from_value::<RecordWire<'static>>(file).map_err(RecordError::Form)?.into_record()
}

impl<'a> RecordWire<'a> {
    fn new(record: &'a Record, intervals: Vec<IntervalWire<'a>>) -> Self {
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
            late_samples: Cow::Borrowed(&record.late_samples),
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
            late_samples: self.late_samples.into_owned(),
            detail: self.detail.into_owned(),
        };
        let mut record = record.with_node_named();
        check(&record)?;
        for (at, interval) in self.intervals.into_iter().enumerate() {
            let IntervalWire { start_offset_ns, length_ns, parts } = interval;
            for (position, part) in parts.into_iter().enumerate() {
                let Some(series) = series_of(&mut record, &part, position) else {
                    return Err(contradiction(format!(
                        "intervals[{at}] is of '{}' at {}, which is no series of the record",
                        part.name, part.place
                    )));
                };
                let is_after = |last: &Interval| (last.start_offset_ns, last.length_ns) <= (start_offset_ns, length_ns);
                if !series.intervals.last().is_none_or(is_after) {
                    return Err(contradiction(format!(
                        "intervals[{at}] begins before the one before it, or with it and is shorter"
                    )));
                }
                series.intervals.push(Interval {
                    start_offset_ns,
                    length_ns,
                    missed_periods: part.missed_periods,
                    histogram: part.histogram.into_owned(),
                    below_zero: part.below_zero.map(Cow::into_owned),
                    uncertainty: part.uncertainty,
                    max_at: part.max_at,
                });
            }
        }
        Ok(record)
    }
}

/// The series that a part of an interval is of. Parts come in the order of the series: it is nearly always at their `position`.
fn series_of<'a>(record: &'a mut Record, part: &PartWire<'_>, position: usize) -> Option<&'a mut Series> {
    let leading = record.nodes.first().name.as_str();
    let node = if part.node.is_empty() { leading } else { &part.node };
    let is_it = |one: &Series| {
        (&one.place, one.name.as_str(), one.variant.as_str(), one.node.as_str())
            == (&*part.place, &*part.name, &*part.variant, node)
    };
    let at = match record.series.get(position) {
        Some(one) if is_it(one) => position,
        _ => record.series.iter().position(is_it)?,
    };
    record.series.get_mut(at)
}

/// Rejects states that the file format can express but no run can have.
fn check(record: &Record) -> Result<(), RecordError> {
    let kind = record.measurement.kind();
    if let Some(node) = record.nodes.iter().find(|node| !kind.roles.contains(&node.role.as_str())) {
        let known = kind.roles.join(", ");
        return Err(contradiction(format!(
            "node '{}' has the role '{}', but the roles of '{}' are: {known}",
            node.name, node.role, kind.name
        )));
    }
    let named = record.series.iter().map(|one| (&one.node, "series"));
    let named = named.chain(record.worst.iter().map(|one| (&one.node, "worst")));
    for (node, list) in named.chain(record.rows.iter().map(|one| (&one.node, "rows"))) {
        if !record.nodes.has(node) {
            return Err(contradiction(format!("{list} name a node '{node}' that is not in the list of nodes")));
        }
    }
    Ok(())
}

fn contradiction(what: String) -> RecordError {
    RecordError::Contradiction(what)
}

/// The record as JSON text, indented for people.
pub(crate) fn write(record: &Record) -> String {
    let mut text = pretty(&RecordWire::new(record, merged_intervals(&record.series)));
    text.push('\n');
    text
}

/// The record as JSON text with its strings as they are.
pub(crate) fn raw(record: &Record) -> String {
    serde_json::to_string(record).unwrap_or_else(|error| unreachable!("every field has a JSON form: {error}"))
}

pub(crate) fn pretty(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value)
        .unwrap_or_else(|error| unreachable!("every field has a JSON form: {error}"));
    // As it will be read back.
    match units::printable::json(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(shown) => shown,
    }
}

schemars::only_where_made! {
    pub(crate) fn schema() -> serde_json::Value {
        schemars::schema_for!(RecordWire<'static>).to_value()
    }
}

impl Serialize for Record {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RecordWire::new(self, merged_intervals(&self.series)).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Record {
    /// Reads only the current version; use [`Record::from_json`] to read files.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RecordWire::deserialize(deserializer)?.into_record().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
