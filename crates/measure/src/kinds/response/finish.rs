//! Makes the record of a run, while it goes on and at its end.

use record::{EdgeTotals, Measurement, ReasonCode, Record, Request, Series, SeriesDetail};
use units::format;

use super::drain::Edges;
use super::plan::ResponsePlan;
use super::threads::Running;
use crate::collect::{Collected, Collector};
use crate::crew::drain::{CLOCK, Drained, Looked};
use crate::crew::{Came, Outcome, Run, RunEnding, WatchEvidence, Watching, lacks, now_ns};
use crate::interval_sink::IntervalSink;
use crate::wire::Wire;
use crate::witness::Witnessed;

/// The latency that is judged.
const WHOLE: &str = "acted_to_woke";
/// Its first part.
const TO_EVENT: &str = "acted_to_event";
/// Its second part.
const FROM_EVENT: &str = "event_to_woke";
/// What the write cost.
const RETURNED: &str = "acted_to_returned";

/// What a run has come to.
struct Measured {
    whole: Collected,
    to_event: Collected,
    from_event: Collected,
    returned: Collected,
    waiting: Outcome,
    acting: Outcome,
    totals: EdgeTotals,
}

impl Measured {
    /// Of threads that have not reported; the latencies in the order of the record's series.
    fn so_far<W: Wire>(
        running: &Running<W>,
        plan: &ResponsePlan,
        totals: EdgeTotals,
        [whole, to_event, from_event, returned]: [Collected; 4],
        witnessed: &Witnessed,
    ) -> Self {
        let (clause, shared) = (plan.place().clause(), &running.shared);
        let taken = |of: &Collected| of.samples.saturating_add(of.spoiled.samples);
        let place = format!("the waiting thread{clause}");
        let waiting = Outcome::so_far(&running.waiting.grant, place, taken(&whole), shared.woke.dropped(), witnessed);
        let place = format!("the acting thread{clause}");
        let acting = Outcome::so_far(&running.acting.grant, place, taken(&returned), shared.acted.dropped(), witnessed);
        Self { whole, to_event, from_event, returned, waiting, acting, totals }
    }
}

/// The record of a run that still goes on, judged as if it had been cut short now.
pub(super) fn so_far<W: Wire>(
    run: &Run<'_, ResponsePlan>,
    running: &Running<W>,
    of: &Edges,
    looked: &Looked<'_>,
    watching: &Watching,
) -> Record {
    let evidence = watching.so_far();
    let parts = [&of.whole, &of.to_event, &of.from_event, &of.returned].map(Collector::collected);
    let measured = Measured::so_far(running, run.plan, of.totals(), parts, &evidence.witnessed);
    run.record(came(run.plan, measured, looked), &evidence, looked, RunEnding::cut_short_now())
}

/// The record of a run that is over. Intervals that it does not keep are handed on.
pub(super) fn finish<W: Wire>(
    run: &Run<'_, ResponsePlan>,
    mut running: Running<W>,
    mut drained: Drained<Edges>,
    mut evidence: WatchEvidence,
    sink: Option<&dyn IntervalSink>,
) -> Record {
    let (now_ns, length) = (now_ns(CLOCK), &run.plan.length);
    let (acting, waiting) = (running.acting.report(), running.waiting.report());
    let known = acting.report.as_ref().map_or(0, |report| report.counts.schedules);
    drained.of.end(length.most_schedules(0).min(known), now_ns, &drained.clocks);
    let ends = [evidence.compare_end(&running.acting, &acting), evidence.compare_end(&running.waiting, &waiting)];
    let ended_ns = ends.into_iter().flatten().max();
    let rest = run.settle_all(&mut drained.of, length, &evidence, sink.is_some());
    let totals = drained.of.totals();
    let drained = drained.map(|of| [of.whole, of.to_event, of.from_event, of.returned].map(|of| of.finish(now_ns)));
    let looked = drained.looked();
    let mut measured = Measured::so_far(&running, run.plan, totals, drained.of.clone(), &evidence.witnessed);
    if let Some(counts) = measured.waiting.reported(waiting, |counts| counts.interrupted_waits) {
        measured.totals.overflowed = counts.overflowed;
    }
    if let Some(counts) = measured.acting.reported(acting, |counts| counts.interrupted_sleeps) {
        measured.totals.not_back = counts.not_back;
        let failed = (ReasonCode::OutputFailed, "a write failed, so it ended");
        measured.acting.facts.lacks = lacks(counts.failed_errno, failed);
    }
    let ended = looked.clocks.moment_of_monotonic(ended_ns.unwrap_or(now_ns));
    let ending = run.ending(length, ended, "edges");
    let record = run.record(came(run.plan, measured, &looked), &evidence, &looked, ending);
    rest.hand_on(sink, &record);
    record
}

/// What the threads have come to, for the record.
fn came(plan: &ResponsePlan, measured: Measured, looked: &Looked<'_>) -> Came {
    let place = plan.place();
    let Measured { whole, to_event, from_event, returned, waiting, acting, totals } = measured;
    let (worst, rows) = (whole.worst_at(WHOLE, &place), whole.rows_at(&place, looked.clocks));
    let parts = [&whole, &to_event, &from_event, &returned];
    let too_late = parts.into_iter().flat_map(|of| of.known_too_late.iter().cloned()).collect();
    let series = |of: Collected, name: &str, of_thread: &Outcome, detail| Series {
        judged: name == WHOLE,
        // The others follow no schedule of their own.
        interval_ns: (name == WHOLE).then(|| plan.length.interval_ns.unsigned_abs()),
        detail,
        ..of.into_series(name, place.clone(), &of_thread.counters)
    };
    let none = SeriesDetail::None;
    Came {
        measurement: Measurement::Response,
        request: Request::Response(plan.request.clone()),
        requested: plan.requested(),
        series: vec![
            series(whole, WHOLE, &waiting, SeriesDetail::Edges(totals)),
            series(to_event, TO_EVENT, &acting, none),
            series(from_event, FROM_EVENT, &waiting, none),
            series(returned, RETURNED, &acting, none),
        ],
        worst,
        rows,
        too_late,
        threads: vec![waiting, acting],
        also: of_edges(&totals, plan),
        deadline: plan.request.deadline,
        ring_slots: plan.length.ring_slots,
    }
}

/// What edges without an event, and events without an edge, make of the run.
fn of_edges(totals: &EdgeTotals, plan: &ResponsePlan) -> Vec<(ReasonCode, String)> {
    let mut also = Vec::new();
    let overflowed = match totals.overflowed {
        0 => String::new(),
        events => format!("; the kernel had no room for {} events", format::count(events)),
    };
    if totals.lost > 0 {
        let within = format::span(plan.lost_after_ns);
        let (lost, edges) = (format::count(totals.lost), format::count(totals.edges));
        also.push((
            ReasonCode::EdgesLost,
            format!("{lost} of {edges} edges brought no event within {within}{overflowed}"),
        ));
    }
    if totals.extra > 0 {
        let (extra, edges) = (format::count(totals.extra), format::count(totals.edges));
        also.push((ReasonCode::EdgesUnasked, format!("{extra} events beside those of {edges} edges{overflowed}")));
    }
    also
}
