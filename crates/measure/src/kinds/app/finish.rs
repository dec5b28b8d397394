//! The record of a followed program.

use analysis::audit::{ObservedProcess, ObservedProgram, ObservedThread, audit, not_looked_for};
use record::{
    AppRun, AppTarget, AppThread, Counters, Detail, Effective, Measurement, MissedRow, Place, ReasonCode, Record,
    Request, Requested, Series, TracingCost, Validity, WorstSample,
};
use trace::EventKind;
use units::{ClockId, approx_f64, format};

use super::cycle::CycleEnd;
use super::thread::Thread;
use super::{Run, interval_maximum_ns, is_meant};
use crate::clock_watch::ClockWatch;
use crate::collect::Collected;
use crate::context::RunContext;
use crate::crew::WatchEvidence;
use crate::instrument::SelfCost;
use crate::judge::{Facts, Stops, judge};
use crate::worst;

/// Threads whose samples a record holds, the busiest first: each has hundreds of kilobytes.
const MOST_SERIES: usize = 256;
/// A thread that ended after fewer wake-ups, beside others with a loop, is counted and not reported.
const FEW: u64 = 16;
/// Threads whose switches were left out, or that were stopped, that are named.
const NAMED_LEFT_OUT: usize = 8;
/// Threads that preempted another one that are named.
const NAMED_PREEMPTERS: usize = 16;

/// The latency of loops that sleep until a moment.
const RETURNED: &str = "scheduled_to_returned";
/// The latency of all threads.
const RUNNING: &str = "runnable_to_running";

/// What the threads of a run add up to.
#[derive(Default)]
struct Sum {
    series: Vec<Series>,
    threads: Vec<AppThread>,
    effective: Vec<Effective>,
    worst: Vec<WorstSample>,
    rows: Vec<MissedRow>,
    seen: Vec<ObservedThread>,
    activations: u64,
    events: u64,
    /// Threads with the times that they got a CPU by no switch that was seen.
    left_out: Vec<(String, u64)>,
    /// Threads that were stopped, how often, and for how long in all (ns).
    stopped: Vec<(String, u64, u64)>,
}

impl Run<'_> {
    /// The record of what was followed until now.
    pub(super) fn record(&self, evidence: &WatchEvidence, context: &RunContext) -> Record {
        let WatchEvidence { witnessed, seen: observations } = evidence;
        let mut validity = judge(&Facts {
            measurement: Measurement::App,
            witnessed,
            seen: observations,
            stops: Stops::OfProgram,
            threads: &[],
            clock: None,
            watchdog_fired: false,
            ended_early: self.ended_early.clone(),
            worst: &[],
        });
        let threads = &self.followed.threads;
        let count = threads.len();
        let any_real_time = threads.iter().any(|thread| thread.real_time);
        let names = names(threads);
        let (chosen, others) = self.choose(threads, any_real_time);
        let mut sum = Sum::default();
        let ended_ns = self.ended_at.monotonic.as_ns();
        let any_loop = chosen.iter().any(|thread| thread.cycle.is_recognized());
        let mut without_samples = Vec::new();
        let mut short_lived = 0;
        for thread in chosen {
            let number = u32::try_from(sum.threads.len()).unwrap_or(u32::MAX);
            if self.lacks_arrivals(thread) {
                sum.left_out.push((thread.name.text(), thread.arrivals_left_out));
            }
            let passed_by = any_loop && thread.ended && thread.run.taken < FEW;
            if !thread.cycle.is_recognized() && (thread.run.taken == 0 || passed_by) {
                short_lived += u64::from(thread.ended && thread.real_time);
                without_samples.push(seen_of(thread, None));
                continue;
            }
            if thread.halts.0 > 0 {
                sum.stopped.push((thread.name.text(), thread.halts.0, thread.halts.1));
            }
            if thread.stops > 0 {
                let (stops, ns) = (thread.stops, i64::try_from(thread.stopped_ns).unwrap_or(i64::MAX));
                validity.add(
                    ReasonCode::RtThrottled,
                    format!(
                        "{} (thread {}): {stops} stops, {} in all, in which the kernel gave its CPU to ordinary threads \
                         though it was ready",
                        thread.name.text(),
                        thread.tid,
                        format::span(ns)
                    ),
                );
            }
            if let Some(words) = self.ground.limits.likely_stops(&thread.long_waits_ns) {
                let detail = format!("{} (thread {}) after it was woken: {words}", thread.name.text(), thread.tid);
                validity.add(ReasonCode::RtThrottleLikely, detail);
            }
            self.add(&mut sum, thread, number, ended_ns);
        }
        let left_out = count - sum.threads.len();
        self.judge_followed(&mut validity, &sum, &names);
        let mut seen = ObservedProgram {
            threads: sum.seen,
            processes: self.processes(&sum.threads),
            any_real_time,
            others: others.iter().map(|thread| seen_of(thread, None)).filter(|thread| thread.real_time).collect(),
        };
        seen.others.extend(without_samples.into_iter().filter(|thread| thread.real_time));
        let findings = audit(&seen);
        sum.worst = worst::worst_of(sum.worst);
        sum.rows.sort_by_key(|row| std::cmp::Reverse((row.periods, row.worst_ns)));
        sum.rows.truncate(analysis::KEPT_ROWS);

        let elapsed_ns = self.ended_at.monotonic.since(self.ground.started.monotonic).unsigned().max(1);
        let app = AppRun {
            command: match &self.ground.config.target {
                AppTarget::Command { command } => Some(command.to_string()),
                AppTarget::Process { .. } => None,
            },
            pid: self.ground.pid,
            ended: self.ended.map(str::to_owned),
            threads: sum.threads,
            threads_left_out: u64::try_from(left_out).unwrap_or(0) + self.followed.too_many,
            real_time_threads_left_out: short_lived,
            tracing: TracingCost {
                events: self.events,
                lost_events: self.lost,
                event_ns: self.ground.event_ns,
                return_ns: self.ground.return_ns,
                events_per_activation: (sum.activations > 0)
                    .then(|| approx_f64(sum.events) / approx_f64(sum.activations)),
                own_cpu: approx_f64(self.own_ns) / approx_f64(elapsed_ns),
            },
            allocations: Some(self.heap.look.clone()),
            not_looked_for: not_looked_for(&seen),
            findings,
        };
        let request = Request::App(self.ground.config.clone());
        let requested = self.requested(&app.threads);
        let mut record = context.record(request, requested, self.ground.started, self.ended_at);
        record.validity = validity;
        (record.series, record.worst, record.rows) = (sum.series, sum.worst, sum.rows);
        record.detail = Detail::Program(app);
        let manifest = record.manifest_mut();
        manifest.effective = sum.effective;
        manifest.clock_steps = self.clocks.steps().to_vec();
        manifest.instrument = SelfCost::measure(ClockId::Monotonic, None).into_record();
        observations.describe(manifest);
        let mut record = record.with_node_named();
        if let Some(deadline) = self.ground.config.deadline {
            record.verdict = Some(analysis::verdict(&record, deadline.unsigned()));
        }
        record
    }

    /// The threads that were asked for, the busiest first, and the rest.
    fn choose<'t>(&self, threads: &'t [Thread], any_real_time: bool) -> (Vec<&'t Thread>, Vec<&'t Thread>) {
        let is_wanted = |thread: &&Thread| {
            let is_chosen = !self.ground.config.threads.is_empty() || thread.real_time || !any_real_time;
            is_chosen && is_meant(self.ground.config, thread)
        };
        let (mut chosen, mut others): (Vec<&Thread>, Vec<&Thread>) = threads.iter().partition(is_wanted);
        if chosen.len() > MOST_SERIES {
            chosen.sort_by_key(|thread| std::cmp::Reverse(thread.run.taken));
            others.extend(chosen.split_off(MOST_SERIES));
        }
        (chosen, others)
    }

    fn add(&self, sum: &mut Sum, thread: &Thread, number: u32, ended_ns: i64) {
        // Copies, one thread's at a time: the run may go on.
        let (cycle, run) = (thread.cycle.clone(), thread.run.clone());
        let interrupted = cycle.interrupted;
        let mut end = cycle.finish(self.clocks);
        let (policy, priority) = thread.scheduling();
        let counters = Counters {
            voluntary_switches: Some(thread.sleeps),
            involuntary_switches: Some(thread.preempted),
            minor_faults: Some(thread.faults.times + thread.stack_faults.times),
            interrupted_sleeps: interrupted,
            ..Counters::default()
        };
        let named = Named { place: Place::thread(number, None), clocks: self.clocks, name: thread.name.text() };
        let returned = end.samples.take().and_then(|samples| samples.finish(ended_ns, self.clocks));
        let mut period_ns = None;
        let has_returned = returned.is_some();
        if let Some((collected, period)) = returned {
            period_ns = period;
            named.add_worst(sum, RETURNED, &collected, period);
            sum.series.push(named.series(RETURNED, collected, period, &counters));
        }
        // What is not there may have been the worst.
        if let Some((collected, _)) = run.finish(ended_ns, self.clocks).filter(|_| !self.lacks_arrivals(thread)) {
            if !has_returned {
                named.add_worst(sum, RUNNING, &collected, None);
            }
            sum.series.push(named.series(RUNNING, collected, None, &counters));
        }
        let periods = end.periods.snapshot();
        period_ns = period_ns.or_else(|| end.periodic.and_then(|_| periods.quantile_ns(0.5)));
        sum.seen.push(ObservedThread { allocations: self.heap.of_thread(thread.tid), ..seen_of(thread, Some(&end)) });
        sum.activations += end.activations;
        sum.events += thread.events;
        sum.effective.push(Effective {
            thread: number,
            tid: thread.tid,
            policy: policy.clone(),
            priority,
            affinity: kernel::sched::affinity_of(thread.tid).unwrap_or_default(),
            memory_locked: self
                .followed
                .processes
                .get(&thread.pid)
                .and_then(|process| process.memory)
                .is_some_and(|(locked, resident)| locked > 0 && locked >= resident),
        });
        let mut preempted_by = thread.preempted_by();
        preempted_by.truncate(NAMED_PREEMPTERS);
        sum.threads.push(AppThread {
            thread: number,
            tid: thread.tid,
            pid: thread.pid,
            name: thread.name.text(),
            earlier_names: thread.earlier_names.clone(),
            policy,
            priority,
            policy_changes: thread.policy_changes,
            waits_by: end.wait.map(|wait| wait.text()),
            activations: end.activations,
            period_ns,
            turn_causes: end.causes,
            periods,
            preempted: thread.preempted,
            preempted_ns: units::total(thread.preempted_by().iter().map(|preemption| preemption.total_ns)),
            preempted_by,
            ended: thread.ended,
        });
    }

    /// Whether it got a CPU by switches that nobody saw. Where events were lost, the record says so already.
    fn lacks_arrivals(&self, thread: &Thread) -> bool {
        thread.arrivals_left_out > 0 && self.lost == 0
    }

    /// What only following the program's own threads can say of the run.
    fn judge_followed(&self, validity: &mut Validity, sum: &Sum, names: &str) {
        if self.lost > 0 {
            let detail = format!(
                "the kernel's buffers had no room for {} events or more, beside the {} that were read: what happened then is \
                 unknown",
                format::count(self.lost),
                format::count(self.events)
            );
            validity.add(ReasonCode::SamplesDropped, detail);
        }
        if !sum.left_out.is_empty() {
            let named = sum.left_out.iter().take(NAMED_LEFT_OUT);
            let mut whose: Vec<String> =
                named.map(|(name, times)| format!("{name}: {}", format::count(*times))).collect();
            if let Some(more) = sum.left_out.len().checked_sub(NAMED_LEFT_OUT).filter(|more| *more > 0) {
                whose.push(format!("and {more} more"));
            }
            let detail = format!(
                "the kernel left switches to these threads out of its trace ({}): when they began to run is not known, \
                 so runnable_to_running is not measured for them, and there may be more preemptions than those reported",
                whose.join(", ")
            );
            validity.add(ReasonCode::EvidenceMissing, detail);
        }
        if !sum.stopped.is_empty() {
            let of = |(name, times, ns): &(String, u64, u64)| {
                let length = format::span(*ns);
                let times = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
                format!("thread {name} of the program {times}, for {length} in all")
            };
            let each: Vec<String> = sum.stopped.iter().take(NAMED_LEFT_OUT).map(of).collect();
            validity.add(ReasonCode::Stopped, each.join("; "));
        }
        if sum.series.iter().all(|series| series.histogram.is_empty()) {
            let asked = &self.ground.config.threads;
            let whom = if asked.is_empty() { "any thread".to_owned() } else { asked.join(", ") };
            validity
                .add(ReasonCode::NoSamples, format!("no wake-up of {whom} was seen; the threads seen were: {names}"));
        }
        if let (AppTarget::Command { command }, Some(how)) = (&self.ground.config.target, self.ended) {
            // What shells end with where they find no such command, or may not run it (POSIX, 2.8.2).
            if matches!(how, "exit status 126" | "exit status 127") {
                validity.add(ReasonCode::NoSamples, format!("'{command}' could not be run: {how}"));
            }
        }
        let lacks =
            |kind: EventKind, what: &str| self.missing.contains(&kind).then(|| format!("{what} ({})", kind.folder()));
        let missing: Vec<String> = [
            lacks(EventKind::Enter, "system calls, and with them scheduled_to_returned and most of the audit"),
            lacks(EventKind::TimerStart, "the moments that timers are set for, and with them scheduled_to_returned"),
            lacks(EventKind::TimerExpire, "the expiry of timers, and with it scheduled_to_returned"),
            lacks(EventKind::FaultUser, "page faults"),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !missing.is_empty() {
            validity.add(ReasonCode::EvidenceMissing, format!("the kernel has no events of {}", missing.join("; ")));
        }
    }

    fn requested(&self, threads: &[AppThread]) -> Requested {
        let first = threads.first();
        let period_ns = first.and_then(|thread| thread.period_ns);
        Requested {
            cpus: self.ground.cpus.clone(),
            threads: u32::try_from(threads.len()).unwrap_or(u32::MAX),
            policy: first.map(|thread| thread.policy.clone()).unwrap_or_default(),
            priority: first.map_or(0, |thread| thread.priority),
            pinned: false,
            clock: Some(ClockId::Monotonic),
            interval_ns: period_ns.filter(|_| threads.len() == 1),
            duration_ns: self.ground.config.duration.map(units::Ns::unsigned),
            deadline_ns: self.ground.config.deadline.map(units::Ns::unsigned),
            interval_maximum_ns: Some(interval_maximum_ns(self.ground.config)),
            ..Requested::default()
        }
    }

    fn processes(&self, threads: &[AppThread]) -> Vec<ObservedProcess> {
        let mut processes: Vec<ObservedProcess> = self
            .followed
            .processes
            .values()
            .filter(|process| threads.iter().any(|thread| thread.pid == process.pid))
            .map(|process| ObservedProcess {
                pid: process.pid,
                name: process.name.text(),
                locked_bytes: process.memory.map(|(locked, _)| locked),
                resident_bytes: process.memory.map(|(_, resident)| resident),
                calls_known: process.calls.is_some(),
            })
            .collect();
        processes.sort_by_key(|process| process.pid);
        processes
    }
}

/// A thread as the record names it.
struct Named<'a> {
    place: Place,
    clocks: &'a ClockWatch,
    name: String,
}

impl Named<'_> {
    fn series(&self, latency: &str, collected: Collected, interval_ns: Option<u64>, counters: &Counters) -> Series {
        let series = collected.into_series(latency, self.place.clone(), counters);
        Series { variant: self.name.clone(), interval_ns, ..series }
    }

    /// Worst samples and rows, of the latency that speaks for the thread.
    fn add_worst(&self, sum: &mut Sum, latency: &str, collected: &Collected, period_ns: Option<u64>) {
        sum.worst.extend(collected.worst_at(latency, &self.place));
        if period_ns.is_some() {
            sum.rows.extend(collected.rows_at(&self.place, self.clocks));
        }
    }
}

/// A thread as the rules look at it.
fn seen_of(thread: &Thread, end: Option<&CycleEnd>) -> ObservedThread {
    let (policy, priority) = thread.scheduling();
    ObservedThread {
        name: thread.name.text(),
        tid: thread.tid,
        pid: thread.pid,
        policy,
        priority,
        real_time: thread.real_time,
        inherited_from: thread.made_by.clone().filter(|_| !thread.set_on_purpose),
        periodic: end.and_then(|end| end.periodic),
        calls: end.map(|end| end.calls.clone()).unwrap_or_default(),
        allocations: Vec::new(),
        faults: thread.faults,
        stack_faults: thread.stack_faults,
        unplaced_faults: thread.unplaced_faults,
    }
}

/// The names of some threads, each once.
fn names(threads: &[Thread]) -> String {
    let mut names: Vec<String> = threads.iter().map(|thread| thread.name.text()).collect();
    names.sort();
    names.dedup();
    let rest = names.len().saturating_sub(8);
    names.truncate(8);
    if rest > 0 { format!("{} and {rest} more", names.join(", ")) } else { names.join(", ") }
}
