//! What is said of time services and clocks: their bounds, what they trust, what the service says of itself.

use record::{
    HardBound, Histogram, LatencyRole, Moment, Place, Record, Series, SyncChange, SyncRun, SyncSource, SyncState,
};
use serde::Serialize;
use units::format;

/// What is said of time services and clocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SyncSummary {
    /// The sources of time, in the order of the record.
    pub sources: Vec<SourceSummary>,
    /// What changed, in the order of time.
    pub events: Vec<EventRow>,
    /// Events that the record did not keep.
    pub events_left_out: u64,
    /// What was not followed, and why.
    pub not_followed: Vec<String>,
}

/// What is said of a source of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceSummary {
    /// Its name: "ptp4l eth0 domain 0".
    pub name: String,
    /// The version of the service; `None` if it is not known.
    pub version: Option<String>,
    /// The clock that it compares.
    pub clock: String,
    /// What the clock is compared with.
    pub reference: String,
    /// The state at the end of the run; `None` if none was seen.
    pub state: Option<&'static str>,
    /// Number of offsets; `None` if there are none.
    pub offsets: Option<u64>,
    /// The lowest of them (ns).
    pub lowest_ns: Option<i64>,
    /// Their median (ns).
    pub median_ns: Option<i64>,
    /// The highest of them (ns).
    pub highest_ns: Option<i64>,
    /// The hard bound (ns): lowest and highest; `None` if there is none.
    pub bound_ns: Option<(i64, i64)>,
    /// The longest path delay (ns); `None` if none was seen.
    pub delay_ns: Option<u64>,
    /// The hard bound with what it trusts, or why there is none, without a full stop.
    pub bound: String,
    /// What the service says of itself, without a full stop.
    pub own_estimate: Option<String>,
    /// How far the clocks would have come apart without corrections, without a full stop.
    pub growth: Option<String>,
    /// What could be missed, each without a full stop.
    pub could_be_missed: Vec<String>,
}

/// An event of a source of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventRow {
    /// When it was.
    pub at: Moment,
    /// The name of the source.
    pub source: String,
    /// What happened, in a word or two.
    pub what: &'static str,
    /// What was seen.
    pub detail: String,
    /// Whether it is a change of a state, which can be many.
    pub is_state: bool,
}

/// What is said of time services and clocks; `None` if the run followed none.
#[must_use]
pub fn summary(record: &Record) -> Option<SyncSummary> {
    let run = record.sync()?;
    let mut events: Vec<EventRow> = run
        .events
        .iter()
        .map(|event| EventRow {
            at: event.at,
            source: name_at(run, &event.place),
            what: event.what.word(),
            detail: event.detail.clone(),
            is_state: event.what == SyncChange::State,
        })
        .collect();
    events.sort_by_key(|event| event.at.monotonic.as_ns());
    Some(SyncSummary {
        sources: run.sources.iter().map(|source| source_summary(source, record)).collect(),
        events,
        events_left_out: run.events_left_out,
        not_followed: run.not_followed.clone(),
    })
}

impl SyncSummary {
    /// The events to list where there is room for so many, in the order of time: changes of states, which can be many, give way to
    /// all others.
    #[must_use]
    pub fn shown_events(&self, most: usize) -> Vec<&EventRow> {
        let (states, others): (Vec<_>, Vec<_>) = self.events.iter().enumerate().partition(|(_, event)| event.is_state);
        let mut kept: Vec<(usize, &EventRow)> = others.into_iter().chain(states).take(most).collect();
        kept.sort_by_key(|(number, _)| *number);
        kept.into_iter().map(|(_, event)| event).collect()
    }

    /// How many events are not listed where there is room for so many.
    #[must_use]
    pub fn events_not_shown(&self, most: usize) -> u64 {
        u64::try_from(self.events.len().saturating_sub(most)).unwrap_or(u64::MAX).saturating_add(self.events_left_out)
    }
}

fn source_summary(source: &SyncSource, record: &Record) -> SourceSummary {
    let spread = source.spread.as_ref();
    let path_delay = record.measurement.kind().by_role(LatencyRole::PathDelay).map(|latency| latency.name);
    let is_delay = |series: &&Series| series.place == source.place && Some(series.name.as_str()) == path_delay;
    SourceSummary {
        name: source.name(),
        version: source.version.clone(),
        clock: source.clock_words(),
        reference: reference(source).to_owned(),
        state: source.states.last().map(|last| last.state.word()),
        offsets: spread.map(|spread| spread.count),
        lowest_ns: spread.map(|spread| spread.lowest_ns),
        median_ns: spread.map(|spread| spread.median_ns),
        highest_ns: spread.map(|spread| spread.highest_ns),
        bound_ns: bound_of(source),
        delay_ns: record.series.iter().find(is_delay).map(|series| &series.histogram).and_then(Histogram::max_ns),
        bound: bound_sentence(source),
        own_estimate: own_estimate_sentence(source),
        growth: source.growth_in_words(),
        could_be_missed: source.could_be_missed.clone(),
    }
}

/// The name of the source at a place, or the place itself if no source has it.
#[must_use]
pub fn name_at(run: &SyncRun, place: &Place) -> String {
    let source = run.sources.iter().find(|source| source.place == *place);
    source.map_or_else(|| place.to_string(), SyncSource::name)
}

/// The offsets of a source: the series to which a limit applies if there is a bound.
#[must_use]
pub fn offsets<'a>(record: &'a Record, source: &SyncSource) -> Option<&'a Series> {
    let kind = record.measurement.kind();
    record.series.iter().find(|series| series.place == source.place && kind.judges(&series.name))
}

/// The hard bound of a source as numbers (ns): lowest and highest; `None` if there is none.
#[must_use]
pub const fn bound_of(source: &SyncSource) -> Option<(i64, i64)> {
    match &source.bound {
        HardBound::Stated { lowest_ns, highest_ns, .. } => Some((*lowest_ns, *highest_ns)),
        HardBound::Missing { .. } => None,
    }
}

/// The judged source whose bound reaches farthest from zero, with that bound (ns); `None` if no judged source has one.
#[must_use]
pub fn farthest_bound(record: &Record) -> Option<(&SyncSource, (i64, i64))> {
    let sources = &record.sync()?.sources;
    let judged = sources.iter().filter(|source| offsets(record, source).is_some_and(|series| series.judged));
    judged
        .filter_map(|source| Some((source, bound_of(source)?)))
        .max_by_key(|(_, (lowest_ns, highest_ns))| lowest_ns.unsigned_abs().max(highest_ns.unsigned_abs()))
}

/// "-37.3 us to 15.2 us".
#[must_use]
pub fn range((lowest_ns, highest_ns): (i64, i64)) -> String {
    format!("{} to {}", format::latency(lowest_ns), format::latency(highest_ns))
}

/// What the clock is compared with; a source can have found nothing yet.
#[must_use]
pub fn reference(source: &SyncSource) -> &str {
    if source.reference.is_empty() { "nothing yet" } else { &source.reference }
}

/// The hard bound with what it trusts, or why there is none.
#[must_use]
pub fn bound_sentence(source: &SyncSource) -> String {
    let gives = source.spread.is_none() && source.states.last().is_some_and(|last| last.state == SyncState::Reference);
    match &source.bound {
        HardBound::Stated { lowest_ns, highest_ns, narrowest_ns, widest_ns, trusts } => format!(
            "within {}; widest {} at one moment, narrowest {}; trusts that {trusts}",
            range((*lowest_ns, *highest_ns)),
            format::latency(*widest_ns),
            range(*narrowest_ns)
        ),
        HardBound::Missing { .. } if gives => "it gives the time, and compares its clock with none".to_owned(),
        HardBound::Missing { reason } => format!("no hard bound: {reason}"),
    }
}

/// What the service says of itself; `None` if it says nothing.
#[must_use]
pub fn own_estimate_sentence(source: &SyncSource) -> Option<String> {
    source.own_estimate.map(|own| {
        format!(
            "rms {}, largest {}, of {} values; its own estimate, which cannot see an asymmetric path",
            format::latency(units::round_u64(own.rms_ns)),
            format::latency(own.largest_ns),
            format::count(own.count)
        )
    })
}
