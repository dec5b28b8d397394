//! What is said of time services and clocks: their bounds, what they trust, what the service says of itself.

use record::{HardBound, Place, Record, Series, SyncRun, SyncSource, SyncState};
use units::format;

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
