//! A run as a stream of events, for whoever asked for it and is not the process that measures.
//!
//! A record is the fold of its events: cut after any of them, what was told until then is what the run's own file held at that
//! moment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Interval, Live, Measurement, Record, RecordError, Series};

/// What becomes of a run, one after the other; as text each is one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum RunEvent {
    /// Nothing was measured. It is the last event.
    Refused {
        /// What the one who asked can do about it.
        class: RefusalClass,
        /// Why, and the remedy.
        why: String,
    },
    /// All that can be refused was not: the run begins.
    Started {
        /// The kind of measurement.
        measurement: Measurement,
        /// The label that the record will have.
        label: String,
        /// How long it will take (ns); absent where it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ns: Option<u64>,
    },
    /// The run so far. It replaces the one before; one that nobody had read yet is never sent.
    Live {
        /// The latest figure of each thread, flow and clock.
        live: Live,
    },
    /// Intervals have ended.
    Intervals {
        /// The record of all until then, as it would be were the run cut short now, with the intervals that ended since the last
        /// such event.
        #[schemars(with = "crate::wire::RecordWire<'static>")]
        record: Box<Record>,
    },
    /// The record of all until now, as it would be were the run cut short now, with all its intervals: of a kind whose series come
    /// and go, so that no interval of it is final. It replaces what was told before; one that nobody had read yet is never sent.
    SoFar {
        /// The record so far.
        #[schemars(with = "crate::wire::RecordWire<'static>")]
        record: Box<Record>,
    },
    /// Something that whoever asked should know, and that the record says too, where it decides anything.
    Warning {
        /// The warning as a sentence for people, in English.
        text: String,
    },
    /// The reader did not keep up: so many of the events that tell of intervals were not sent. What they held is in the file of
    /// the run, if it has one.
    Gap {
        /// Events of intervals that were left out since the last event.
        events: u64,
    },
    /// The connection to the node that carries the run out was lost after it had begun. Whether it goes on there, and what became
    /// of it, is not known here; what was told until then stands. It is the last event.
    Lost {
        /// How the connection was lost.
        why: String,
    },
    /// The run has ended. It is the last event.
    Finished {
        /// Its record, with the intervals that ended since the last event that told of any; with all of them after records so far.
        #[schemars(with = "crate::wire::RecordWire<'static>")]
        record: Box<Record>,
    },
}

impl RunEvent {
    /// The event as one line of JSON, with its end.
    #[must_use]
    pub fn to_line(&self) -> String {
        let text =
            serde_json::to_string(self).unwrap_or_else(|error| unreachable!("every field has a JSON form: {error}"));
        // As a file has it, and as it will be read back.
        let mut line = units::printable::json(&text).into_owned();
        line.push('\n');
        line
    }

    /// Reads a line; nothing in its strings steers a terminal or breaks a line, whoever wrote it.
    ///
    /// # Errors
    /// Where it is none.
    pub fn from_line(line: &str) -> Result<Self, RecordError> {
        serde_json::from_str(&units::printable::json(line)).map_err(RecordError::Form)
    }
}

schemars::only_where_made! {
    impl RunEvent {
        /// The JSON Schema of an event, which `docs/schema` publishes.
        #[must_use]
        pub fn json_schema() -> serde_json::Value {
            schemars::schema_for!(Self).to_value()
        }
    }
}

/// What can be done about a run that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalClass {
    /// The request has to be changed.
    Usage,
    /// The run would have been invalid; it can be asked for all the same.
    Refused,
    /// Something of the machine failed.
    Failed,
}

/// A record so far, made of the events of its run.
#[derive(Clone, Debug, Default)]
pub struct Fold {
    record: Option<Record>,
    /// Whether each record that is told has all intervals.
    are_whole: bool,
    is_finished: bool,
    missing: u64,
}

impl Fold {
    /// Takes the next event.
    pub fn take(&mut self, event: RunEvent) {
        match event {
            RunEvent::Intervals { record } => self.replace(*record),
            RunEvent::SoFar { record } => {
                self.are_whole = true;
                self.record = Some(*record);
            }
            RunEvent::Finished { record } if self.are_whole => {
                self.record = Some(*record);
                self.is_finished = true;
            }
            RunEvent::Finished { record } => {
                self.replace(*record);
                self.is_finished = true;
            }
            RunEvent::Gap { events } => self.missing = self.missing.saturating_add(events),
            RunEvent::Refused { .. }
            | RunEvent::Started { .. }
            | RunEvent::Live { .. }
            | RunEvent::Warning { .. }
            | RunEvent::Lost { .. } => {}
        }
    }

    /// The record until now; `None` before the first interval has ended.
    #[must_use]
    pub const fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    /// The record until now, without what else was told.
    #[must_use]
    pub fn into_record(self) -> Option<Record> {
        self.record
    }

    /// Whether the run has ended and was not cut short.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Events that were lost on the way, so that the record lacks intervals.
    #[must_use]
    pub const fn missing(&self) -> u64 {
        self.missing
    }

    /// The newer record, with all intervals that were told before.
    fn replace(&mut self, mut newer: Record) {
        if let Some(older) = self.record.take() {
            for (position, mut series) in older.series.into_iter().enumerate() {
                // Others may have come before it meanwhile.
                let at = match newer.series.get(position) {
                    Some(same) if same.is_of_the_same(&series) => Some(position),
                    _ => newer.series.iter().position(|one| one.is_of_the_same(&series)),
                };
                if let Some(newer) = at.and_then(|at| newer.series.get_mut(at)) {
                    let fresh = std::mem::take(&mut newer.intervals);
                    series.intervals.extend(fresh);
                    newer.intervals = series.intervals;
                }
            }
        }
        self.record = Some(newer);
    }
}

/// What of a finished record was told already.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Each series, without what was measured, and where the last interval ended that was told of it (ns after the start).
    ends_ns: Vec<(Series, u64)>,
}

impl Told {
    /// The event for intervals that ended, each with the number of its series, and the record until then; intervals that it has
    /// itself are left out.
    pub fn intervals(&mut self, intervals: &[(usize, Interval)], mut so_far: Record) -> RunEvent {
        so_far.series.iter_mut().for_each(|series| series.intervals.clear());
        self.note(intervals, &so_far);
        for (place, interval) in intervals {
            if let Some(series) = so_far.series.get_mut(*place) {
                series.intervals.push(interval.clone());
            }
        }
        RunEvent::Intervals { record: Box::new(so_far) }
    }

    /// The last event of a run that has ended.
    #[must_use]
    pub fn finished(&self, record: Record) -> RunEvent {
        RunEvent::Finished { record: Box::new(self.untold(record)) }
    }

    /// A record without the intervals that were told.
    #[must_use]
    pub fn untold(&self, mut record: Record) -> Record {
        for series in &mut record.series {
            let told_ns = self.ends_ns.iter().find(|(of, _)| of.is_of_the_same(series)).map_or(0, |(_, ns)| *ns);
            series.intervals.retain(|interval| end_ns(interval) > told_ns);
        }
        record
    }

    /// Notes that intervals are told, each with the number of its series in a record.
    pub fn note(&mut self, intervals: &[(usize, Interval)], of: &Record) {
        for (place, interval) in intervals {
            // Where series begin late, the number of another one changes.
            let Some(series) = of.series.get(*place) else { continue };
            match self.ends_ns.iter_mut().find(|(of, _)| of.is_of_the_same(series)) {
                Some((_, ns)) => *ns = end_ns(interval),
                None => self.ends_ns.push((series.identity(), end_ns(interval))),
            }
        }
    }
}

const fn end_ns(interval: &Interval) -> u64 {
    interval.start_offset_ns.saturating_add(interval.length_ns)
}

#[cfg(test)]
mod tests;
