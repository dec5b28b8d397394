//! Makes the record of a run, while it goes on and at its end, and says how far it can be trusted.

use record::{
    EdgeTotals, Instrument, Measurement, Moment, ReasonCode, Record, Request, RunEnd, Series, SeriesDetail, Validity,
};
use units::{Ns, format};

use super::drain::Drained;
use super::plan::ResponsePlan;
use super::threads::{CLOCK, Running};
use super::wire::Wire;
use crate::clock_watch::ClockWatch;
use crate::collect::{Collected, Collector};
use crate::context::RunContext;
use crate::crew::{Ground, Outcome, RunEnding, WatchEvidence, Watching, now_ns};
use crate::interval_sink::{FinishedIntervals, IntervalSink};
use crate::judge::{Facts, Stops, judge, keep_apart};
use crate::stop::{Stop, ended_after};
use crate::witness::{ThrottleWatch, Witnessed};

/// The latency that is judged.
const WHOLE: &str = "acted_to_woke";
/// Its first part.
const TO_EVENT: &str = "acted_to_event";
/// Its second part.
const FROM_EVENT: &str = "event_to_woke";
/// What the write cost.
const RETURNED: &str = "acted_to_returned";

/// What stays the same from the start of a run to its record.
pub(super) struct Run<'a> {
    pub(super) plan: &'a ResponsePlan,
    pub(super) context: &'a RunContext,
    pub(super) stop: &'a Stop,
    pub(super) ground: &'a Ground,
    pub(super) started: Moment,
}

/// What the drain looked at beside the edges.
pub(super) struct Looked<'a> {
    throttle: &'a ThrottleWatch,
    clocks: &'a ClockWatch,
    highest_fill: u64,
}

impl<'a> Looked<'a> {
    pub(super) const fn of(drained: &'a Drained) -> Self {
        Self { throttle: &drained.throttle, clocks: &drained.clocks, highest_fill: drained.highest_fill }
    }
}

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

impl Run<'_> {
    /// The record of a run that still goes on, judged as if it had been cut short now.
    pub(super) fn so_far<W: Wire>(
        &self,
        running: &Running<W>,
        drained: &Drained,
        looked: &Looked<'_>,
        watching: &Watching,
    ) -> Record {
        let evidence = watching.so_far();
        let of = &drained.of;
        let parts = [&of.whole, &of.to_event, &of.from_event, &of.returned].map(Collector::collected);
        let measured = Measured::so_far(running, self.plan, of.totals(), parts, &evidence.witnessed);
        self.record(measured, &evidence, looked, RunEnding::cut_short_now())
    }

    /// The record of a run that is over. Intervals that it does not keep are handed on.
    pub(super) fn finish<W: Wire>(
        &self,
        mut running: Running<W>,
        mut drained: Drained,
        mut evidence: WatchEvidence,
        sink: Option<&dyn IntervalSink>,
    ) -> Record {
        let now_ns = now_ns(CLOCK);
        let (acting, waiting) = (running.acting.report(), running.waiting.report());
        let known = acting.report.as_ref().map_or(0, |report| report.counts.schedules);
        drained.of.end(self.most_schedules().min(known), now_ns, &drained.clocks);
        let ends = [acting.report.as_ref().map(|of| of.ended_ns), waiting.report.as_ref().map(|of| of.ended_ns)];
        let ended_ns = ends.into_iter().flatten().max();
        if let Some(report) = &acting.report {
            evidence.seen.compare_end(&running.acting.grant, report.at_end.as_ref());
        }
        if let Some(report) = &waiting.report {
            evidence.seen.compare_end(&running.waiting.grant, report.at_end.as_ref());
        }
        drained.settle(&evidence.seen, self.started.monotonic.as_ns(), i64::MAX);
        let mut rest = FinishedIntervals::default();
        let keeps_intervals = self.plan.duration_ns.is_some() || sink.is_none();
        if !keeps_intervals {
            rest.collect(drained.collectors());
        }
        let Drained { of, throttle, clocks, highest_fill } = drained;
        let totals = of.totals();
        let parts = [of.whole, of.to_event, of.from_event, of.returned].map(|of| of.finish(now_ns));
        let mut measured = Measured::so_far(&running, self.plan, totals, parts, &evidence.witnessed);
        if let Some(counts) = measured.waiting.reported(waiting, |counts| counts.interrupted_waits) {
            measured.totals.overflowed = counts.overflowed;
        }
        if let Some(counts) = measured.acting.reported(acting, |counts| counts.interrupted_sleeps) {
            measured.totals.not_back = counts.not_back;
            measured.acting.facts.lacks = (counts.failed_errno != 0).then(|| {
                let error = std::io::Error::from_raw_os_error(counts.failed_errno);
                (ReasonCode::OutputFailed, format!("a write failed, so it ended: {error}"))
            });
        }
        let ended = clocks.moment_of_monotonic(ended_ns.unwrap_or(now_ns));
        let ended_early = self.stop.ended_early().then(|| self.interrupted_after(ended));
        let looked = Looked { throttle: &throttle, clocks: &clocks, highest_fill };
        let record = self.record(measured, &evidence, &looked, RunEnding { ended, ended_early });
        if let Some(sink) = sink.filter(|_| !keeps_intervals) {
            let rest = rest.take();
            if !rest.is_empty() {
                sink.take(rest, record.clone());
            }
        }
        record
    }

    /// Schedules that a run can have; those beyond its end are none.
    fn most_schedules(&self) -> u64 {
        match self.plan.request.end {
            RunEnd::After(duration) => u64::try_from(duration.0 / self.plan.interval_ns + 1).unwrap_or(0),
            RunEnd::Samples(_) | RunEnd::WhenTold => u64::MAX,
        }
    }

    fn interrupted_after(&self, ended: Moment) -> String {
        let elapsed_ns = ended.monotonic.since(self.started.monotonic).0;
        match self.plan.request.end {
            RunEnd::After(duration) => ended_after(elapsed_ns, Some(duration.unsigned())),
            RunEnd::Samples(samples) => {
                format!("after {}, before {} edges", format::span(elapsed_ns), format::count(samples))
            }
            RunEnd::WhenTold => ended_after(elapsed_ns, None),
        }
    }

    fn record(
        &self,
        measured: Measured,
        evidence: &WatchEvidence,
        looked: &Looked<'_>,
        RunEnding { ended, ended_early }: RunEnding,
    ) -> Record {
        let WatchEvidence { witnessed, seen } = evidence;
        let (plan, place) = (self.plan, self.plan.place());
        let Measured { whole, to_event, from_event, returned, waiting, acting, totals } = measured;
        let worst = crate::worst::worst_of(whole.worst_at(WHOLE, &place));
        let mut rows = whole.rows_at(&place, looked.clocks);
        rows.sort_by_key(|row| std::cmp::Reverse((row.periods, row.worst_ns)));
        rows.truncate(analysis::KEPT_ROWS);
        let parts = [&whole, &to_event, &from_event, &returned];
        let too_late: Vec<_> = parts.into_iter().flat_map(|of| of.known_too_late.iter().cloned()).collect();
        let effective = vec![waiting.grant.effective(seen.memory_locked), acting.grant.effective(seen.memory_locked)];
        let mut validity = judge(&Facts {
            measurement: Measurement::Response,
            witnessed,
            seen,
            stops: Stops::Spoil(looked.throttle),
            threads: &[waiting.facts, acting.facts],
            // The monotonic clock is never stepped.
            clock: None,
            watchdog_fired: self.stop.watchdog_fired(),
            ended_early,
            worst: &worst,
        });
        judge_edges(&totals, plan, &mut validity);
        let series = |of: Collected, name: &str, counters, detail| Series {
            judged: name == WHOLE,
            // The others follow no schedule of their own.
            interval_ns: (name == WHOLE).then(|| plan.interval_ns.unsigned_abs()),
            detail,
            ..of.into_series(name, place.clone(), counters)
        };
        let none = SeriesDetail::None;
        let series = vec![
            series(whole, WHOLE, &waiting.counters, SeriesDetail::Edges(totals)),
            series(to_event, TO_EVENT, &acting.counters, none),
            series(from_event, FROM_EVENT, &waiting.counters, none),
            series(returned, RETURNED, &acting.counters, none),
        ];
        let measured_ns = ended.monotonic.since(self.started.monotonic).unsigned();
        let validity = keep_apart(&validity, &series, &too_late, measured_ns);
        let request = Request::Response(plan.request.clone());
        let mut record = self.context.record(request, plan.requested(), self.started, ended);
        record.validity = validity;
        (record.series, record.worst, record.rows) = (series, worst, rows);
        let manifest = record.manifest_mut();
        manifest.effective = effective;
        manifest.clock_steps = looked.clocks.steps().to_vec();
        manifest.instrument = Instrument {
            ring_slots: u64::try_from(plan.ring_slots).unwrap_or(u64::MAX),
            ring_highest_fill: looked.highest_fill,
            ..self.ground.instrument()
        };
        manifest.others_cpu_used = witnessed.others_cpu_used;
        seen.describe(manifest);
        let mut record = record.with_node_named();
        if let Some(deadline) = plan.request.deadline {
            record.verdict = Some(analysis::verdict(&record, Ns::unsigned(deadline)));
        }
        record
    }
}

/// What edges without an event, and events without an edge, make of the run.
fn judge_edges(totals: &EdgeTotals, plan: &ResponsePlan, validity: &mut Validity) {
    let overflowed = match totals.overflowed {
        0 => String::new(),
        events => format!("; the kernel had no room for {} events", format::count(events)),
    };
    if totals.lost > 0 {
        let within = format::span(plan.lost_after_ns);
        let (lost, edges) = (format::count(totals.lost), format::count(totals.edges));
        validity.add(
            ReasonCode::EdgesLost,
            format!("{lost} of {edges} edges brought no event within {within}{overflowed}"),
        );
    }
    if totals.extra > 0 {
        let (extra, edges) = (format::count(totals.extra), format::count(totals.edges));
        validity.add(ReasonCode::EdgesUnasked, format!("{extra} events beside those of {edges} edges{overflowed}"));
    }
}
