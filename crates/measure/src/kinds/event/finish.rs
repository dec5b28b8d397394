//! Makes the record of a run, while it goes on and at its end, and says how far it can be trusted.

use record::{
    Effective, HandOverTotals, Instrument, Measurement, Moment, Place, ReasonCode, Record, Request, RunEnd, Series,
    SeriesDetail,
};
use units::{Ns, format};

use super::drain::{Collecting, Drained, thread_at};
use super::pair::{CLOCK, Running};
use super::plan::EventPlan;
use crate::clock_watch::ClockWatch;
use crate::collect::{Collected, Collector};
use crate::context::RunContext;
use crate::crew::{Ground, Outcome, RunEnding, WatchEvidence, Watching, now_ns};
use crate::interval_sink::{FinishedIntervals, IntervalSink};
use crate::judge::{Facts, Stops, judge, keep_apart};
use crate::stop::{Stop, ended_after};
use crate::witness::{Grant, ThrottleWatch, Witnessed};

/// The latency that is judged.
const WOKE: &str = "handed_to_woke";
/// What the waking call cost.
const RETURNED: &str = "handed_to_returned";

/// What stays the same from the start of a run to its record.
pub(super) struct Run<'a> {
    pub(super) plan: &'a EventPlan,
    pub(super) context: &'a RunContext,
    pub(super) stop: &'a Stop,
    pub(super) ground: &'a Ground,
    pub(super) started: Moment,
}

/// What the drain looked at beside the hand-overs.
pub(super) struct Looked<'a> {
    throttle: &'a ThrottleWatch,
    clocks: &'a ClockWatch,
    highest_fill: usize,
}

impl<'a> Looked<'a> {
    pub(super) const fn of(drained: &'a Drained) -> Self {
        Self { throttle: &drained.throttle, clocks: &drained.clocks, highest_fill: drained.highest_fill }
    }
}

/// What one thread of a pair has come to: one latency of the pair.
struct Half {
    collected: Collected,
    thread: Outcome,
}

impl Half {
    /// Of a thread that has not reported: what others know of it.
    fn so_far(collected: Collected, grant: &Grant, place: String, dropped: u64, witnessed: &Witnessed) -> Self {
        let taken = collected.samples.saturating_add(collected.spoiled.samples);
        Self { thread: Outcome::so_far(grant, place, taken, dropped, witnessed), collected }
    }
}

/// What a pair has come to.
struct Measured {
    place: Place,
    woke: Half,
    returned: Half,
    totals: HandOverTotals,
}

impl Measured {
    /// Of threads that have not reported.
    fn so_far<H>(
        running: &Running<H>,
        totals: HandOverTotals,
        [woke, returned]: [Collected; 2],
        witnessed: &Witnessed,
    ) -> Self {
        let (place, shared) = (running.plan.place(), &running.shared);
        let at = |role| thread_at(&place, role);
        Self {
            woke: Half::so_far(woke, &running.sleeper.grant, at("woken"), shared.woke.dropped(), witnessed),
            returned: Half::so_far(returned, &running.waker.grant, at("waking"), shared.returned.dropped(), witnessed),
            totals,
            place,
        }
    }
}

impl Run<'_> {
    /// The record of a run that still goes on, judged as if it had been cut short now.
    pub(super) fn so_far<H>(
        &self,
        running: &[Running<H>],
        drained: &Drained,
        looked: &Looked<'_>,
        watching: &Watching,
    ) -> Record {
        let evidence = watching.so_far();
        let measured = |(running, of): (&Running<H>, &Collecting)| {
            let halves = [&of.woke, &of.returned].map(Collector::collected);
            Measured::so_far(running, of.totals(), halves, &evidence.witnessed)
        };
        let pairs = running.iter().zip(&drained.pairs).map(measured).collect();
        self.record(pairs, &evidence, looked, RunEnding::cut_short_now())
    }

    /// The record of a run that is over. Intervals that it does not keep are handed on.
    pub(super) fn finish<H>(
        &self,
        running: Vec<Running<H>>,
        mut drained: Drained,
        mut evidence: WatchEvidence,
        sink: Option<&dyn IntervalSink>,
    ) -> Record {
        let now_ns = now_ns(CLOCK);
        let mut ended_ns = None;
        let mut reports = Vec::new();
        for (mut running, of) in running.into_iter().zip(&mut drained.pairs) {
            let (waker, sleeper) = (running.waker.report(), running.sleeper.report());
            let known = waker.report.as_ref().map(|report| report.counts.schedules);
            of.end(self.most_schedules(running.plan.first_offset_ns).min(known.unwrap_or(0)), now_ns);
            let ends = [waker.report.as_ref().map(|of| of.ended_ns), sleeper.report.as_ref().map(|of| of.ended_ns)];
            ended_ns = ends.into_iter().flatten().chain(ended_ns).max();
            let waker_at_end = waker.report.as_ref().map(|report| report.at_end.as_ref());
            let sleeper_at_end = sleeper.report.as_ref().map(|report| report.at_end.as_ref());
            for (grant, at_end) in [(&running.waker.grant, waker_at_end), (&running.sleeper.grant, sleeper_at_end)] {
                if let Some(at_end) = at_end {
                    evidence.seen.compare_end(grant, at_end);
                }
            }
            reports.push((running, waker, sleeper));
        }
        drained.settle(&evidence.seen, self.started.monotonic.as_ns(), i64::MAX);
        let mut rest = FinishedIntervals::default();
        let keeps_intervals = self.plan.duration_ns.is_some() || sink.is_none();
        if !keeps_intervals {
            rest.collect(drained.collectors());
        }
        let collecting = std::mem::take(&mut drained.pairs);
        let pairs = reports.into_iter().zip(collecting).map(|((running, waker, sleeper), of)| {
            let totals = of.totals();
            let halves = [of.woke.finish(now_ns), of.returned.finish(now_ns)];
            let mut measured = Measured::so_far(&running, totals, halves, &evidence.witnessed);
            if let Some(counts) = measured.woke.thread.reported(sleeper, |counts| counts.interrupted_waits) {
                measured.totals.spurious = counts.spurious;
            }
            if let Some(counts) = measured.returned.thread.reported(waker, |counts| counts.interrupted_sleeps) {
                measured.totals.not_back = counts.not_back;
                measured.returned.thread.facts.lacks = (counts.failed_errno != 0).then(|| {
                    let error = std::io::Error::from_raw_os_error(counts.failed_errno);
                    (ReasonCode::ThreadDied, format!("a waking call failed, so it ended: {error}"))
                });
            }
            measured
        });
        let pairs = pairs.collect();
        let ended = drained.clocks.moment_of_monotonic(ended_ns.unwrap_or(now_ns));
        let ended_early = self.stop.ended_early().then(|| self.interrupted_after(ended));
        let record = self.record(pairs, &evidence, &Looked::of(&drained), RunEnding { ended, ended_early });
        if let Some(sink) = sink.filter(|_| !keeps_intervals) {
            let rest = rest.take();
            if !rest.is_empty() {
                sink.take(rest, record.clone());
            }
        }
        record
    }

    /// Schedules that a pair can have in all; those beyond the end of the run are none.
    fn most_schedules(&self, first_offset_ns: i64) -> u64 {
        match self.plan.request.end {
            RunEnd::After(duration) => {
                let after_first_ns = duration.0.saturating_sub(first_offset_ns);
                u64::try_from(after_first_ns / self.plan.interval_ns + 1).unwrap_or(0)
            }
            RunEnd::Samples(_) | RunEnd::WhenTold => u64::MAX,
        }
    }

    fn interrupted_after(&self, ended: Moment) -> String {
        let elapsed_ns = ended.monotonic.since(self.started.monotonic).0;
        match self.plan.request.end {
            RunEnd::After(duration) => ended_after(elapsed_ns, Some(duration.unsigned())),
            RunEnd::Samples(samples) => {
                format!("after {}, before {} hand-overs", format::span(elapsed_ns), format::count(samples))
            }
            RunEnd::WhenTold => ended_after(elapsed_ns, None),
        }
    }

    fn record(
        &self,
        pairs: Vec<Measured>,
        evidence: &WatchEvidence,
        looked: &Looked<'_>,
        RunEnding { ended, ended_early }: RunEnding,
    ) -> Record {
        let WatchEvidence { witnessed, seen } = evidence;
        let plan = self.plan;
        let (mut woken, mut waking) = (Vec::new(), Vec::new());
        let (mut worst, mut rows, mut too_late, mut facts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut effective: [Vec<Effective>; 2] = Default::default();
        for measured in pairs {
            let Measured { place, woke, returned, totals } = measured;
            worst.extend(woke.collected.worst_at(WOKE, &place));
            rows.extend(woke.collected.rows_at(&place, looked.clocks));
            for half in [&woke, &returned] {
                too_late.extend(half.collected.known_too_late.iter().cloned());
                facts.push(half.thread.facts.clone());
            }
            effective[0].push(woke.thread.grant.effective(seen.memory_locked));
            effective[1].push(returned.thread.grant.effective(seen.memory_locked));
            let series = |half: Half, name: &str, detail| {
                let counters = half.thread.counters;
                Series {
                    variant: plan.request.means.name().to_owned(),
                    judged: name == WOKE,
                    // What the call costs follows no schedule of its own.
                    interval_ns: (name == WOKE).then(|| plan.interval_ns.unsigned_abs()),
                    detail,
                    ..half.collected.into_series(name, place.clone(), &counters)
                }
            };
            woken.push(series(woke, WOKE, SeriesDetail::HandOvers(totals)));
            waking.push(series(returned, RETURNED, SeriesDetail::None));
        }
        let worst = crate::worst::worst_of(worst);
        rows.sort_by_key(|row| std::cmp::Reverse((row.periods, row.worst_ns)));
        rows.truncate(analysis::KEPT_ROWS);
        let series: Vec<Series> = woken.into_iter().chain(waking).collect();
        let validity = judge(&Facts {
            measurement: Measurement::Event,
            witnessed,
            seen,
            stops: Stops::Spoil(looked.throttle),
            threads: &facts,
            // The monotonic clock is never stepped.
            clock: None,
            watchdog_fired: self.stop.watchdog_fired(),
            ended_early,
            worst: &worst,
        });
        let measured_ns = ended.monotonic.since(self.started.monotonic).unsigned();
        let validity = keep_apart(&validity, &series, &too_late, measured_ns);
        let request = Request::Event(plan.request.clone());
        let mut record = self.context.record(request, plan.requested(), self.started, ended);
        record.validity = validity;
        (record.series, record.worst, record.rows) = (series, worst, rows);
        let manifest = record.manifest_mut();
        manifest.effective = effective.concat();
        manifest.clock_steps = looked.clocks.steps().to_vec();
        manifest.instrument = Instrument {
            ring_slots: u64::try_from(plan.ring_slots).unwrap_or(u64::MAX),
            ring_highest_fill: u64::try_from(looked.highest_fill).unwrap_or(u64::MAX),
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
