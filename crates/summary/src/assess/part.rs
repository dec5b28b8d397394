//! The parts of an assessment: what each measured, and whether it can support a conclusion.

use std::borrow::Cow;

use record::{Histogram, Place, Record};
use units::format;

use super::{AssessmentInput, capitalized, latency, lowered};
use crate::late::samples_above;

/// A part of an assessment.
#[derive(Clone, Copy, Debug, Default)]
pub enum Part<'a> {
    /// This part was not requested.
    #[default]
    NotAsked,
    /// The part was requested and did not take place; the text is the reason, to follow "because".
    Missing(&'a str),
    /// The record of the run that measured this part.
    Measured(&'a Record),
}

impl<'a> Part<'a> {
    /// A measured part from its run, or a missing one from the reason why there is no run.
    #[must_use]
    pub fn from_result(result: Result<&'a Record, &'a str>) -> Self {
        result.map_or_else(Self::Missing, Self::Measured)
    }

    /// The record of the run, if the part was measured.
    #[must_use]
    pub const fn record(self) -> Option<&'a Record> {
        match self {
            Self::Measured(record) => Some(record),
            Self::NotAsked | Self::Missing(_) => None,
        }
    }
}

/// One run of wake-ups compared with the deadline.
pub(super) struct Judged<'a> {
    pub(super) record: &'a Record,
    /// The condition of the run, for use in a sentence: "under load 'paper'".
    pub(super) when: String,
    /// The worst latency (ns) with its place; `None` without a sample.
    pub(super) worst: Option<(u64, &'a Place)>,
    pub(super) samples: u64,
    /// Samples beyond the deadline.
    pub(super) beyond: u64,
    pub(super) missed: u64,
    /// The 99.9 % quantile (ns); `None` if there are too few samples for it.
    typical_ns: Option<u64>,
}

impl<'a> Judged<'a> {
    pub(super) fn new(record: &'a Record, when: String, deadline_ns: u64) -> Self {
        let mut all = Histogram::new();
        judged(record).for_each(|series| all.merge(&series));
        let missed = units::total(record.series.iter().map(|series| series.counters.missed_periods));
        Self {
            record,
            when,
            worst: record.worst_of_all().map(|(worst_ns, place)| (worst_ns.unsigned_abs(), place)),
            samples: record.samples(),
            beyond: samples_above(record, deadline_ns),
            missed,
            typical_ns: all.stated_quantile_ns(0.999),
        }
    }

    /// The line of this run under the conclusion; `None` without a sample.
    pub(super) fn line(&self) -> Option<String> {
        let (worst_ns, place) = self.worst?;
        let typical = self.typical_ns.map_or_else(String::new, |ns| format!(", 99.9 % within {}", latency(ns)));
        let mut text = format!(
            "{}: worst {}{}{typical}, of {} wake-ups",
            capitalized(&self.when),
            latency(worst_ns),
            place.clause(),
            format::count(self.samples)
        );
        if self.beyond > 0 {
            text.push_str(&format!("; {} beyond the deadline", format::count(self.beyond)));
        }
        if self.missed > 0 {
            text.push_str(&format!(", {} periods missed", format::count(self.missed)));
        }
        text.push_str(if self.record.validity.is_invalid() { "; the run is invalid." } else { "." });
        Some(text)
    }
}

/// The histogram of each series that a deadline applies to.
fn judged(record: &Record) -> impl Iterator<Item = Cow<'_, Histogram>> {
    record.series.iter().filter(|series| series.judged).map(|series| series.judged_samples(record.sign(series)))
}

/// The reasons why "holds" cannot be concluded although no valid wake-up is beyond the deadline. Empty: it can be concluded.
pub(super) fn obstacles(input: &AssessmentInput<'_>, runs: &[Judged<'_>]) -> Vec<String> {
    let mut all = Vec::new();
    for (part, what, is_needed) in [
        (input.idle, "idle", true),
        (input.held, "with idle states disabled", false),
        (input.loaded, "under load", true),
        (input.noise, "with a thread that never sleeps", false),
    ] {
        match part {
            Part::NotAsked if is_needed => all.push(format!("nothing was measured {what}")),
            Part::NotAsked => {}
            Part::Missing(why) => all.push(format!("nothing was measured {what}, because {why}")),
            Part::Measured(record) => all.extend(obstacle(record, what)),
        }
    }
    if let Some(first) = runs.first() {
        let cpus = &first.record.manifest().requested.cpus;
        let noise = input.noise.record().map(|noise| (noise, "with a thread that never sleeps"));
        let mut others = runs.iter().map(|run| (run.record, run.when.as_str())).chain(noise);
        let other = others.find(|(record, _)| record.manifest().requested.cpus != *cpus);
        all.extend(other.map(|(record, when)| {
            format!("CPU {cpus} was measured {}, and CPU {} {when}", first.when, record.manifest().requested.cpus)
        }));
    }
    all
}

/// The reason why a run cannot support "holds", if there is one.
fn obstacle(record: &Record, what: &str) -> Option<String> {
    if record.validity.is_invalid() {
        let why = record.validity.reasons().first().map_or("", |reason| reason.code.info().meaning);
        let why = lowered(why.trim().trim_end_matches('.'));
        return Some(format!("the run {what} is invalid ({why})"));
    }
    let kind = record.measurement.kind();
    if !kind.sampling.is_quiet_without_samples() && record.worst_of_all().is_none() {
        return Some(format!("no {} was measured {what}", kind.sample));
    }
    let shortfall = record.shortfall()?;
    Some(format!("too little was measured {what}: {shortfall}"))
}
