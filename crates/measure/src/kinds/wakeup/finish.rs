//! Makes the record of a finished run, and says how far it can be trusted.

use record::{
    Counters, Explanation, Instrument, Measurement, Moment, Place, Record, Request, RunEnd, Series, WakeupParts,
};
use units::format;

use super::arm::{Armed, Worker};
use super::drain::{Drained, SoFar};
use super::hot::MAX_INTERRUPTED_SLEEPS;
use super::plan::Plan;
use super::rhythm::LateWakeups;
use crate::clock_watch::ClockWatch;
use crate::collect::Collected;
use crate::context::RunContext;
use crate::crew::{Ground, MemberReport, WatchEvidence, Watching};
use crate::explain::PartsCollector;
use crate::interval_sink::CUT_SHORT;
use crate::judge::{ClockFacts, Facts, Stops, ThreadEnd, ThreadFacts, judge, keep_apart};
use crate::stop::{Stop, ended_after};
use crate::witness::{Grant, LookoutObservations, ThrottleWatch, Witnessed};
use crate::worst;

/// The latency that is measured.
const LATENCY: &str = "scheduled_to_woke";
/// What a run has come to, at its end or while it goes on.
pub(super) struct Known<'a> {
    pub(super) plan: &'a Plan,
    pub(super) context: &'a RunContext,
    pub(super) witnessed: &'a Witnessed,
    pub(super) seen: &'a LookoutObservations,
    pub(super) throttle: &'a ThrottleWatch,
    pub(super) clocks: &'a ClockWatch,
    pub(super) started: Moment,
    pub(super) ended: Moment,
    pub(super) ended_early: Option<String>,
    pub(super) watchdog_fired: bool,
    /// What the instrument itself costs, with its rings.
    pub(super) instrument: Instrument,
    pub(super) dma: record::DmaLatency,
    pub(super) threads: Vec<Measured>,
}

/// What a measuring thread has come to.
pub(super) struct Measured {
    pub(super) place: Place,
    pub(super) interval_ns: u64,
    pub(super) collected: Collected,
    pub(super) counters: Counters,
    pub(super) end: ThreadEnd,
    pub(super) grant: Grant,
}

impl Known<'_> {
    /// The record, without what follows from the whole of it: causes, rhythms, verdict.
    pub(super) fn record(self) -> Record {
        let plan = self.plan;
        let (mut series, mut worst_samples, mut rows, mut facts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut too_late = Vec::new();
        let mut effective = Vec::new();
        for measured in self.threads {
            let Measured { place, interval_ns, collected, counters, end, grant } = measured;
            effective.push(grant.effective(self.seen.memory_locked));
            worst_samples.extend(collected.worst_at(LATENCY, &place));
            rows.extend(collected.rows_at(&place, self.clocks));
            too_late.extend(collected.known_too_late.iter().cloned());
            let one = Series { interval_ns: Some(interval_ns), ..collected.into_series(LATENCY, place, &counters) };
            facts.push(thread_facts(&one, end));
            series.push(one);
        }
        let worst_samples = worst::worst_of(worst_samples);
        rows.sort_by_key(|row| std::cmp::Reverse((row.periods, row.worst_ns)));
        rows.truncate(analysis::KEPT_ROWS);
        let clock = plan.config.clock;
        let clock_steps = self.clocks.steps();
        let validity = judge(&Facts {
            measurement: Measurement::Wakeup,
            witnessed: self.witnessed,
            seen: self.seen,
            stops: Stops::Spoil(self.throttle),
            threads: &facts,
            clock: clock.can_step().then(|| ClockFacts {
                name: clock.to_string(),
                steps: clock_steps,
                started: self.started,
            }),
            watchdog_fired: self.watchdog_fired,
            ended_early: self.ended_early,
            worst: &worst_samples,
        });
        let measured_ns = self.ended.monotonic.since(self.started.monotonic).unsigned();
        let validity = keep_apart(&validity, &series, &too_late, measured_ns);
        let request = Request::Wakeup(plan.config.clone());
        let mut record = self.context.record(request, plan.requested(), self.started, self.ended);
        record.validity = validity;
        (record.series, record.worst, record.rows) = (series, worst_samples, rows);
        let manifest = record.manifest_mut();
        manifest.effective = effective;
        manifest.dma_latency = self.dma;
        manifest.instrument = self.instrument;
        manifest.others_cpu_used = self.witnessed.others_cpu_used;
        manifest.clock_steps = clock_steps.to_vec();
        self.seen.describe(manifest);
        record.with_node_named()
    }
}

/// The record of a run that still goes on: what its finished intervals hold, judged as if it had been cut short now.
pub(super) fn so_far(
    armed: &Armed,
    so_far: SoFar<'_>,
    watching: &Watching,
    started: Moment,
    context: &RunContext,
) -> Record {
    let ended = crate::clock_watch::moment_now();
    let WatchEvidence { witnessed, seen } = watching.so_far();
    let measured = |(worker, collected): (&Worker, Collected)| Measured {
        place: place_of(worker),
        interval_ns: worker.shared.plan.interval_ns,
        collected,
        counters: counters_beside(worker, &witnessed),
        end: ThreadEnd::Whole,
        grant: worker.member.grant.clone(),
    };
    let known = Known {
        plan: &armed.plan,
        context,
        witnessed: &witnessed,
        seen: &seen,
        throttle: so_far.throttle,
        clocks: so_far.clocks,
        started,
        ended,
        ended_early: Some(CUT_SHORT.to_owned()),
        watchdog_fired: so_far.watchdog_fired,
        instrument: instrument(&armed.ground, &armed.workers, so_far.highest_fill),
        dma: armed.dma.state().clone(),
        threads: armed.workers.iter().zip(so_far.threads).map(measured).collect(),
    };
    with_verdict(known.record(), &armed.plan)
}

pub(super) fn with_verdict(mut record: Record, plan: &Plan) -> Record {
    if let Some(deadline) = plan.config.deadline {
        record.verdict = Some(analysis::verdict(&record, deadline.unsigned()));
    }
    record
}

pub(super) fn record(
    armed: Armed,
    mut drained: Drained,
    evidence: WatchEvidence,
    started: Moment,
    context: &RunContext,
    stop: &Stop,
) -> Record {
    let WatchEvidence { witnessed, mut seen } = evidence;
    let Armed { plan, mut workers, dma, ground, no_recorder, cost, .. } = armed;
    let mut collected = drained.settle(&plan, &seen, started);
    let late = LateWakeups::take(&plan, &mut collected, drained.clocks.measured_less_monotonic_ns());
    let mut broke_off = Vec::new();
    let mut threads = Vec::new();
    let mut ended_ns = None;
    for (worker, collected) in workers.iter_mut().zip(collected) {
        let thread = worker.shared.plan.thread;
        let mut counters = counters_beside(worker, &witnessed);
        let MemberReport { report, end } = worker.member.report();
        let end = if drained.stuck.contains(&thread) && end == ThreadEnd::Whole { ThreadEnd::Stuck } else { end };
        if let Some(report) = &report {
            seen.compare_end(&worker.member.grant, report.at_end.as_ref());
            if report.counts.broke_at_ns > 0 {
                broke_off.push(format!("thread {thread} at {}", format::latency(report.counts.broke_at_ns)));
            }
            report.add_to(&mut counters);
            ended_ns = ended_ns.max(Some(report.ended_ns));
            counters.interrupted_sleeps = report.counts.interrupted_sleeps;
        }
        let interval_ns = worker.shared.plan.interval_ns;
        let grant = worker.member.grant.clone();
        threads.push(Measured { place: place_of(worker), interval_ns, collected, counters, end, grant });
    }
    let ended =
        ended_ns.map_or_else(crate::clock_watch::moment_now, |ended_ns| drained.clocks.moment_of_monotonic(ended_ns));
    let ended_early = if broke_off.is_empty() {
        stop.ended_early().then(|| interrupted_after(&plan, started, ended))
    } else {
        Some(format!("broken off by --breaktrace: {}", broke_off.join(", ")))
    };
    let known = Known {
        plan: &plan,
        context,
        witnessed: &witnessed,
        seen: &seen,
        throttle: &drained.throttle,
        clocks: &drained.clocks,
        started,
        ended,
        ended_early,
        watchdog_fired: stop.watchdog_fired(),
        instrument: instrument(&ground, &workers, drained.highest_fill),
        dma: dma.state().clone(),
        threads,
    };
    let mut record = known.record();
    let parts = parts_of(&drained.parts, &record.series);
    let explanation = drained
        .explainer
        .map(|explainer| Explanation { parts, ..explainer.finish(cost, |thread| record.counters_of_thread(thread)) })
        .or_else(|| (!no_recorder.is_empty()).then(|| Explanation { missing: no_recorder, ..Explanation::default() }));
    if let Some(explanation) = explanation {
        crate::explain::judge(&explanation, &mut record.validity);
        record.late_samples.explanation = Some(explanation);
    }
    if plan.config.scan_rhythms {
        // Nothing is measured any more, and the scan takes megabytes.
        kernel::memory::unlock();
        let rhythm = late.scan(&plan, &record);
        record.late_samples.rhythm = Some(rhythm);
    }
    with_verdict(record, &plan)
}

/// What the instrument itself costs, with its rings.
fn instrument(ground: &Ground, workers: &[Worker], highest_fill: usize) -> Instrument {
    let ring_slots = workers.first().map_or(0, |worker| worker.shared.ring.capacity());
    Instrument {
        ring_slots: u64::try_from(ring_slots).unwrap_or(u64::MAX),
        ring_highest_fill: u64::try_from(highest_fill).unwrap_or(u64::MAX),
        ..ground.instrument()
    }
}

fn place_of(worker: &Worker) -> Place {
    Place::thread(worker.shared.plan.thread, worker.shared.plan.cpu)
}

/// What was counted beside the samples by others than the thread itself.
fn counters_beside(worker: &Worker, witnessed: &Witnessed) -> Counters {
    let cpu = worker.shared.plan.cpu;
    Counters {
        dropped: worker.shared.ring.dropped(),
        steal_ns: cpu.and_then(|cpu| witnessed.steal_ns.get(&cpu).copied()),
        smi: cpu.and_then(|cpu| witnessed.smi.get(&cpu).copied()),
        ..Counters::default()
    }
}

/// The parts of all wake-ups, beside the series of their threads; `None` where none were recorded.
fn parts_of(parts: &[Option<PartsCollector>], series: &[Series]) -> Option<WakeupParts> {
    let mut all = WakeupParts::default();
    for (parts, series) in parts.iter().zip(series) {
        let Some((parts, cpu)) = parts.as_ref().zip(series.place.cpu()) else { continue };
        all.seen += parts.seen;
        all.not_seen += series.counters.samples.saturating_sub(parts.seen);
        all.histograms.extend(parts.finish(series.place.thread_number().unwrap_or(0), cpu));
    }
    (!all.histograms.is_empty()).then_some(all)
}

/// What is known of a thread beside its samples.
fn thread_facts(series: &Series, end: ThreadEnd) -> ThreadFacts {
    let counters = &series.counters;
    let is_known = !matches!(end, ThreadEnd::Stuck | ThreadEnd::Died);
    ThreadFacts {
        place: format!("thread {}", series.place.thread_number().unwrap_or(0)),
        end: match end {
            ThreadEnd::Whole if counters.interrupted_sleeps > MAX_INTERRUPTED_SLEEPS => {
                ThreadEnd::SleepsFailed(counters.interrupted_sleeps)
            }
            end => end,
        },
        // What was drained is there, however the thread ended.
        taken: Some(series.taken().saturating_add(series.spoiled.samples)),
        dropped: counters.dropped,
        faults: counters.minor_faults.zip(counters.major_faults).filter(|_| is_known),
        migrations: series.place.cpu().and(counters.migrations),
        lacks: None,
    }
}

fn interrupted_after(plan: &Plan, started: Moment, ended: Moment) -> String {
    let elapsed_ns = ended.monotonic.since(started.monotonic).0;
    match plan.config.end {
        RunEnd::After(duration) => ended_after(elapsed_ns, Some(duration.unsigned())),
        RunEnd::Samples(samples) => {
            format!("after {}, before {} samples", format::span(elapsed_ns), format::count(samples))
        }
        RunEnd::WhenTold => ended_after(elapsed_ns, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_whose_sleeps_fail_has_ended_for_that() {
        let end_of = |interrupted_sleeps, end| {
            let counters = Counters { interrupted_sleeps, ..Counters::default() };
            thread_facts(&Series { counters, ..Series::default() }, end).end
        };
        assert_eq!(end_of(MAX_INTERRUPTED_SLEEPS, ThreadEnd::Whole), ThreadEnd::Whole);
        assert_eq!(end_of(1_001, ThreadEnd::Whole), ThreadEnd::SleepsFailed(1_001));
        assert_eq!(end_of(1_001, ThreadEnd::Stuck), ThreadEnd::Stuck);
    }
}
