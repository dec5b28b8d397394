//! Makes the record of a finished run, and says how far it can be trusted.

use std::collections::BTreeMap;

use record::{
    CauseClass, Certainty, Counters, End, ExplainedSample, Explanation, Instrument, Measurement, MissedRow, ReasonCode,
    Record, Request, Series, Validity, WakeupParts, WorstSample,
};
use units::format;

use super::arm::{Armed, Worker, WorkerReport};
use super::drain::Drained;
use super::hot::{HotCounts, MAX_INTERRUPTED_SLEEPS};
use super::plan::Plan;
use super::rhythm::LateWakeups;
use crate::collect::Collected;
use crate::context::{RunContext, run_id};
use crate::explain::{PartsCollector, is_dear};
use crate::judge::{ClockFacts, Facts, Stops, ThreadEnd, ThreadFacts, judge};
use crate::stop::Stop;
use crate::witness::{Seen, Witnessed};
use crate::worst;

pub(super) fn record(
    armed: Armed,
    mut drained: Drained,
    (witnessed, mut seen): (&Witnessed, Seen),
    started: record::Moment,
    context: &RunContext,
    stop: &Stop,
) -> Record {
    let ended = crate::clock_watch::moment_now();
    let Armed { plan, workers, dma, self_cost, no_recorder, cost, .. } = armed;
    let effective = workers.iter().map(|worker| worker.grant.effective(seen.memory_locked)).collect();
    let ring_slots = workers.first().map_or(0, |worker| worker.shared.ring.capacity());
    let highest_fill = drained.highest_fill;
    let clock_steps = drained.clocks.steps().to_vec();
    let late = LateWakeups::take(&plan, &mut drained.threads, drained.clocks.measured_less_monotonic_ns());
    let mut series = Vec::with_capacity(workers.len());
    let mut worst_samples: Vec<WorstSample> = Vec::new();
    let mut rows: Vec<MissedRow> = Vec::new();
    let mut broke_off = Vec::new();
    let mut threads = Vec::new();
    for (worker, collected) in workers.into_iter().zip(drained.threads) {
        let grant = worker.grant.clone();
        let thread = worker.shared.plan.thread;
        let cpu = worker.shared.plan.cpu;
        worst_samples.extend_from_slice(&collected.worst);
        rows.extend(collected.rows.iter().map(|row| MissedRow {
            thread,
            cpu,
            first_scheduled: drained.clocks.moment(row.first_scheduled_ns),
            periods: row.periods,
            missed_periods: row.missed_periods,
            worst_ns: row.worst_ns,
            recovery_ns: row.recovery_ns,
        }));
        let is_stuck = drained.stuck.contains(&thread);
        let (one, report, end) = series_of(worker, collected, witnessed, is_stuck);
        seen.compare_end(&grant, report.at_end.as_ref());
        if report.counts.broke_at_ns > 0 {
            broke_off.push(format!("thread {thread} at {}", format::latency(report.counts.broke_at_ns)));
        }
        threads.push(thread_facts(&one, end));
        series.push(one);
    }
    worst_samples.sort_by_key(|s| (std::cmp::Reverse(s.latency_ns), s.scheduled.monotonic_ns));
    worst_samples.truncate(worst::KEPT);
    rows.sort_by_key(|row| std::cmp::Reverse((row.periods, row.worst_ns)));
    rows.truncate(analyse::KEPT_ROWS);
    let ended_early = if broke_off.is_empty() {
        stop.ended_early().then(|| interrupted_after(&plan, started, ended))
    } else {
        Some(format!("broken off by --breaktrace: {}", broke_off.join(", ")))
    };
    let clock = plan.config.clock;
    let mut validity = judge(&Facts {
        measurement: Measurement::Wakeup,
        witnessed,
        seen: &seen,
        throttle: &drained.throttle,
        stops: Stops::Spoil,
        threads: &threads,
        clock: clock.can_step().then(|| ClockFacts { name: clock.to_string(), steps: &clock_steps, started }),
        watchdog_fired: stop.watchdog_fired(),
        ended_early,
        worst: &worst_samples,
    });
    if let Some(cost) = cost.as_ref().filter(|cost| is_dear(cost)) {
        validity.add(
            ReasonCode::ExplainingCosts,
            format!(
                "median {} without, {} with it; mean {} and {}",
                format::latency(cost.median_without_ns),
                format::latency(cost.median_with_ns),
                format::latency(units::round_u64(cost.mean_without_ns)),
                format::latency(units::round_u64(cost.mean_with_ns)),
            ),
        );
    }
    let parts = parts_of(&drained.parts, &series);
    let explanation = drained
        .explainer
        .map(|explainer| Explanation { parts, ..explainer.finish(cost) })
        .or_else(|| (!no_recorder.is_empty()).then(|| Explanation { missing: no_recorder, ..Explanation::default() }));
    if let Some(explanation) = &explanation {
        judge_causes(&mut validity, explanation);
    }
    let mut manifest = context.manifest(Request::Wakeup(plan.config.clone()), plan.requested(), started, ended);
    manifest.effective = effective;
    manifest.dma_latency = dma.told().clone();
    manifest.instrument = Instrument {
        ring_slots: u64::try_from(ring_slots).unwrap_or(u64::MAX),
        ring_highest_fill: u64::try_from(highest_fill).unwrap_or(u64::MAX),
        ..self_cost.told()
    };
    manifest.clock_steps = clock_steps;
    seen.describe(&mut manifest);
    let mut record = Record {
        schema: record::SCHEMA.to_owned(),
        version: record::VERSION,
        id: run_id(Measurement::Wakeup.name(), started),
        measurement: Measurement::Wakeup,
        label: context.label.clone(),
        validity,
        verdict: None,
        manifest,
        series,
        worst: worst_samples,
        rows,
        explanation,
        rhythm: None,
        app: None,
    };
    if plan.config.scan_rhythms {
        // Nothing is measured any more, and the scan takes megabytes.
        kernel::memory::unlock();
        record.rhythm = Some(late.scan(&plan, &record));
    }
    if let Some(deadline) = plan.config.deadline {
        record.verdict = Some(analyse::verdict(&record, deadline.unsigned()));
    }
    record
}

/// The parts of all wake-ups, beside the series of their threads; `None` where none were recorded.
fn parts_of(parts: &[Option<PartsCollector>], series: &[Series]) -> Option<WakeupParts> {
    let mut all = WakeupParts::default();
    for (parts, series) in parts.iter().zip(series) {
        let Some((parts, cpu)) = parts.as_ref().zip(series.cpu) else { continue };
        all.seen += parts.seen;
        all.not_seen += series.counters.samples.saturating_sub(parts.seen);
        all.histograms.extend(parts.finish(series.thread, cpu));
    }
    (!all.histograms.is_empty()).then_some(all)
}

/// A stop by a limit of the kernel's that a recording shows, however short it was.
fn judge_causes(validity: &mut Validity, explanation: &Explanation) {
    let is_stop = |of: &&ExplainedSample| of.class == CauseClass::Throttle && of.certainty == Certainty::Shown;
    if let Some(stop) = explanation.samples.iter().find(is_stop).filter(|_| !validity.has(ReasonCode::RtThrottled)) {
        validity.add(ReasonCode::RtThrottled, format!("CPU {}: {}", stop.cpu, stop.evidence));
    }
}

/// What is known of a thread beside its samples.
fn thread_facts(series: &Series, end: ThreadEnd) -> ThreadFacts {
    let counters = &series.counters;
    let is_known = !matches!(end, ThreadEnd::Stuck | ThreadEnd::Died);
    ThreadFacts {
        place: format!("thread {}", series.thread),
        end: match end {
            ThreadEnd::Whole if counters.interrupted_sleeps > MAX_INTERRUPTED_SLEEPS => {
                ThreadEnd::SleepsFailed(counters.interrupted_sleeps)
            }
            end => end,
        },
        // What was drained is there, however the thread ended.
        taken: Some(series.taken()),
        dropped: counters.dropped,
        faults: is_known.then_some((counters.minor_faults, counters.major_faults)),
        migrations: series.cpu.and(counters.migrations),
        too_coarse: None,
    }
}

fn interrupted_after(plan: &Plan, started: record::Moment, ended: record::Moment) -> String {
    let elapsed = format::span(ended.monotonic_ns - started.monotonic_ns);
    match plan.config.end {
        End::After(duration) => format!("after {elapsed} of {}", format::span(duration.0)),
        End::Samples(samples) => format!("after {elapsed}, before {} samples", format::count(samples)),
        End::WhenTold => format!("after {elapsed}, as it had to be: no duration was stated"),
    }
}

fn series_of(
    worker: Worker,
    collected: Collected,
    witnessed: &Witnessed,
    is_stuck: bool,
) -> (Series, WorkerReport, ThreadEnd) {
    let migrations_after = crate::witness::migrations(worker.tid);
    let plan = worker.shared.plan.clone();
    let dropped = worker.shared.ring.dropped();
    // A thread that is stuck is left to the process's end; what it counted stays unknown.
    let ended = worker.handle.is_finished().then(|| worker.handle.join());
    let end = match ended {
        Some(Err(_)) => ThreadEnd::Died,
        _ if is_stuck => ThreadEnd::Stuck,
        _ => ThreadEnd::Whole,
    };
    let report = ended.and_then(Result::ok).unwrap_or(WorkerReport {
        counts: HotCounts::default(),
        usage: kernel::usage::ThreadUsage::default(),
        at_end: None,
    });
    let per_cpu = |map: &BTreeMap<u32, u64>| plan.cpu.and_then(|cpu| map.get(&cpu).copied());
    let corrected = (!collected.swallowed.is_empty()).then(|| {
        let mut corrected = collected.total.clone();
        corrected.merge(&collected.swallowed);
        corrected
    });
    let stalls = collected.stalls;
    let series = Series {
        name: "scheduled_to_woke".to_owned(),
        variant: String::new(),
        cpu: plan.cpu,
        thread: plan.thread,
        interval_ns: Some(plan.interval_ns),
        histogram: collected.total,
        below_zero: (!collected.below_zero.is_empty()).then_some(collected.below_zero),
        corrected,
        intervals: collected.intervals,
        counters: Counters {
            samples: collected.samples,
            dropped,
            missed_periods: stalls.missed_periods,
            late_samples: stalls.late_samples,
            rows: stalls.rows,
            longest_row_periods: stalls.longest_row_periods,
            longest_recovery_ns: stalls.longest_recovery_ns,
            corrections_left_out: collected.corrections_left_out,
            voluntary_switches: report.usage.voluntary_switches,
            involuntary_switches: report.usage.involuntary_switches,
            minor_faults: report.usage.minor_faults,
            major_faults: report.usage.major_faults,
            migrations: worker
                .migrations_before
                .zip(migrations_after)
                .map(|(before, after)| after.saturating_sub(before)),
            interrupted_sleeps: report.counts.interrupted_sleeps,
            steal_ns: per_cpu(&witnessed.steal_ns),
            smi: per_cpu(&witnessed.smi),
        },
        max_at: collected.max_at,
        block_mean_median_ns: None,
        noise: None,
    };
    (series, report, end)
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
