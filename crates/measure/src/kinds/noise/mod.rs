//! Time stolen from a thread that never sleeps: every gap between two readings of the clock above a threshold
//! (`left_to_resumed`).
//!
//! It needs nothing but a monotonic clock, so it runs on every architecture. SCHED_OTHER by default: a FIFO loop that
//! never sleeps meets the kernel's throttle, whose gaps are named where FIFO is asked for, and kept apart where they are shown
//! to be its own.

mod hot;
mod plan;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kernel::clock::{KernelClock, Schedule, sleep_until};
use record::{
    Counters, Instrument, Live, Measurement, Moment, NoiseTotals, Place, ReasonCode, Record, Request, Series,
    SeriesDetail,
};
use units::{ClockId, format};

use self::hot::{HotCounts, HotLoop, SoFar};
pub use self::plan::{NoisePlan, NoisePlanError};
use crate::clock_watch::ClockWatch;
use crate::collect::{Collected, Collector, Keeping, MOST_KEPT};
use crate::context::RunContext;
use crate::crew::{
    ArmError, Ground, GroundPlan, LEAD_NS, Member, MemberReport, Meter, Metered, RunEnding, WatchEvidence, Watching,
    Work, now_ns,
};
use crate::interval_sink::{FinishedIntervals, IntervalSink, hand_on_the_rest};
use crate::judge::{Facts, Stops, ThreadEnd, ThreadFacts, judge, keep_apart};
use crate::live::Observer;
use crate::ring::{Pair, Ring, Slot};
use crate::spoil::Losses;
use crate::stop::{Stop, ended_after};
use crate::witness::{
    Grant, LEAST_STOP_NS, LookoutObservations, Measuring, Orders, RequestedScheduling, ThrottleJudgment, ThrottleWatch,
    Witnessed,
};

/// Between two looks at the rings; rare, since each look is itself noise somewhere.
const PERIOD: Duration = Duration::from_millis(250);
/// The latency that is measured.
const LATENCY: &str = "left_to_resumed";
/// Gaps that a ring holds.
const RING_SLOTS: usize = 65_536;
/// How long after its end a thread may take to end.
const GRACE: Duration = Duration::from_secs(3);
/// A gap that lasts longer than this may stand in the interval in which it ended (ns).
const LONGEST_OPEN_GAP_NS: i64 = 1_000_000_000;
/// At least this many turns a gap's threshold has to be above the loop's own turn.
const LEAST_TURNS: u64 = 3;

struct Shared {
    ring: Ring,
    stop: AtomicBool,
    so_far: SoFar,
}

struct Worker {
    cpu: u32,
    shared: Arc<Shared>,
    member: Member<HotCounts>,
}

/// What the drain has of a thread.
struct Gaps {
    collector: Collector,
    totals: NoiseTotals,
    losses: Losses,
}

/// Decides about the intervals that ended by `until_ns`, by what is known to have spoiled any.
fn settle(all: &mut [Gaps], seen: &LookoutObservations, started: Moment, until_ns: i64) {
    let waits: Vec<(i64, i64)> = all.iter().flat_map(|of| of.collector.worst_waits()).collect();
    let spoils = seen.spoils(started.monotonic.as_ns(), &waits);
    for of in all {
        of.collector.settle(until_ns, &[&spoils[..], of.losses.spoils()].concat());
        of.losses.forget_before(of.collector.settled_until_ns());
    }
}

/// What a measuring thread is born with.
struct Job {
    shared: Arc<Shared>,
    threshold_ns: i64,
    /// How long; `None`: until it is ended.
    duration_ns: Option<u64>,
}

/// Measures, and makes the record.
///
/// # Errors
/// Where a thread cannot be started.
pub fn measure(
    plan: &NoisePlan,
    context: &RunContext,
    stop: &Stop,
    observer: &mut dyn Observer,
    sink: Option<&dyn IntervalSink>,
) -> Result<Record, ArmError> {
    let ground = Ground::take(GroundPlan {
        clock: ClockId::Monotonic,
        cpu: plan.cpus.first(),
        housekeeping: &plan.housekeeping,
        lock_memory: true,
        // A loop that never sleeps outlives any watchdog; the kernel's throttle bounds it.
        real_time: false,
    });
    let workers: Vec<Worker> =
        (0_u32..).zip(plan.cpus.iter()).map(|(thread, cpu)| start(plan, thread, cpu)).collect::<Result<_, _>>()?;
    let grants: Vec<Grant> = workers.iter().map(|worker| worker.member.grant.clone()).collect();
    let measuring = |worker: &Worker| Measuring {
        tid: worker.member.tid,
        cpu: Some(worker.cpu),
        priority: plan.priority.unwrap_or(0),
    };
    let mut throttle = ThrottleWatch::begin(&workers.iter().map(measuring).collect::<Vec<_>>());
    // Whatever takes the CPU from an ordinary thread that never sleeps is what this measures, rivals too.
    let ranked = if plan.priority.is_some() { Orders::ranked(&grants, &plan.cpus) } else { Vec::new() };
    let known = (&plan.housekeeping, ground.memory());
    let orders = Orders { ranked, ..Orders::of_pinned(grants, plan.cpus.clone(), known, sink.is_some()) };
    let watching = Watching::begin(&plan.cpus, orders);
    observer.begins();
    let started = crate::clock_watch::moment_now();
    watching.run_starts(started);
    throttle.run_begins();
    let start_ns = now_ns(ClockId::Monotonic) + LEAD_NS;
    workers.iter().for_each(|worker| worker.member.begin_at(start_ns));
    let keeping = match (plan.duration_ns, sink) {
        (Some(_), _) => Keeping::All,
        (None, Some(_)) => Keeping::None,
        (None, None) => Keeping::Merged(MOST_KEPT),
    };
    let mut collectors: Vec<Gaps> = (0_u32..)
        .zip(plan.cpus.iter())
        .map(|(thread, cpu)| Gaps {
            collector: Collector::new(thread, Some(cpu), start_ns, plan.interval_maximum_ns, None)
                .keeping(keeping, sink.is_some())
                .judged_later(),
            totals: NoiseTotals::default(),
            losses: Losses::default(),
        })
        .collect();
    let run = Run { plan, context, stop, ground: &ground, started };
    let clocks = watch(&run, &workers, &mut collectors, &mut throttle, Beside { observer, sink, watching: &watching });
    let mut record = run.finish(workers, collectors, watching.end(), &Looked { throttle: &throttle, clocks: &clocks });
    if let (Keeping::None, Some(sink)) = (keeping, sink) {
        hand_on_the_rest(&mut record, sink);
    }
    Ok(record)
}

/// The loop; one copy of its code, so that a first call makes the pages of the next resident.
#[inline(never)]
fn observe(mut hot: HotLoop<'_>, meter: Meter) -> Metered<HotCounts> {
    meter.hot(|| hot.run())
}

fn start(plan: &NoisePlan, thread: u32, cpu: u32) -> Result<Worker, ArmError> {
    let shared =
        Arc::new(Shared { ring: Ring::new(RING_SLOTS), stop: AtomicBool::new(false), so_far: SoFar::default() });
    let wanted = RequestedScheduling { thread, policy: plan.policy(), cpu: Some(cpu) };
    let job = Job { shared: Arc::clone(&shared), threshold_ns: plan.threshold_ns, duration_ns: plan.duration_ns };
    let member = Member::start(&format!("punctual-n{thread}"), wanted, job)?;
    Ok(Worker { cpu, shared, member })
}

impl Work for Job {
    type Counts = HotCounts;

    fn clock(&self) -> ClockId {
        ClockId::Monotonic
    }

    fn warm_up(&mut self, meter: Meter) {
        let clock = KernelClock::from(ClockId::Monotonic);
        // The same code as below, all of it: every turn is a gap, more of them than its own ring takes.
        let spare = Ring::new(8);
        let so_far = SoFar::default();
        so_far.leave(HotCounts::default());
        let warming = HotLoop {
            clock,
            threshold_ns: 0,
            end_ns: now_ns(ClockId::Monotonic) + 1_000_000,
            ring: spare.writer(),
            stop: &self.shared.stop,
            so_far: &so_far,
        };
        let _ = observe(warming, meter);
    }

    fn measure(self, start_ns: i64, meter: Meter) -> Metered<HotCounts> {
        let clock = KernelClock::from(ClockId::Monotonic);
        let hot = HotLoop {
            clock,
            threshold_ns: self.threshold_ns,
            end_ns: self.duration_ns.map_or(i64::MAX, |ns| start_ns.saturating_add_unsigned(ns)),
            ring: self.shared.ring.writer(),
            stop: &self.shared.stop,
            so_far: &self.shared.so_far,
        };
        let _ = sleep_until(clock, &Schedule::at_ns(start_ns));
        observe(hot, meter)
    }
}

/// Who follows a run while it goes on.
struct Beside<'a> {
    observer: &'a mut dyn Observer,
    sink: Option<&'a dyn IntervalSink>,
    watching: &'a Watching,
}

/// Drains the rings until the run is over; with a sink it also hands on what ends.
fn watch(
    run: &Run<'_>,
    workers: &[Worker],
    collectors: &mut [Gaps],
    throttle: &mut ThrottleWatch,
    beside: Beside<'_>,
) -> ClockWatch {
    let Beside { observer, sink, watching } = beside;
    let plan = run.plan;
    let mut clocks = ClockWatch::new(ClockId::Monotonic);
    let mut intervals = FinishedIntervals::default();
    let mut drained_ns = now_ns(ClockId::Monotonic);
    let began = Instant::now();
    let mut end = plan.duration_ns.map(|ns| began + Duration::from_nanos(ns) + GRACE);
    loop {
        let finished = workers.iter().all(|worker| worker.member.is_finished());
        clocks.look();
        let looked_ns = now_ns(ClockId::Monotonic);
        let since_ns = std::mem::replace(&mut drained_ns, looked_ns);
        for (of, worker) in collectors.iter_mut().zip(workers) {
            of.losses.look(worker.shared.ring.dropped(), (since_ns, looked_ns), run.started.monotonic.as_ns());
        }
        let gaps: Vec<Vec<Pair>> = workers.iter().map(|worker| waiting(&worker.shared.ring)).collect();
        let long: Vec<Vec<Pair>> = gaps.iter().map(|of| of.iter().copied().filter(is_long).collect()).collect();
        let judged = throttle.look(now_ns(ClockId::Monotonic), &long);
        for ((Gaps { collector, totals, .. }, gaps), judged) in collectors.iter_mut().zip(gaps).zip(judged) {
            let mut judged = judged.into_iter();
            for pair in gaps {
                let gap_ns = u64::try_from(pair.second_ns - pair.first_ns).unwrap_or(0);
                let judgment = if is_long(&pair) { judged.next() } else { None };
                // A stop that is no more than likely may have been anything: it stays among the gaps.
                if judgment == Some(ThrottleJudgment::Shown) {
                    totals.throttle_gaps += 1;
                    totals.throttle_ns += gap_ns;
                } else {
                    collector.take(pair, &clocks);
                }
            }
        }
        let is_last = finished || end.is_some_and(|end| Instant::now() > end);
        if is_last {
            return clocks;
        }
        if let Some(sink) = sink {
            let passed_ns = now_ns(ClockId::Monotonic).saturating_sub(LONGEST_OPEN_GAP_NS);
            collectors.iter_mut().for_each(|of| of.collector.pass(passed_ns));
            if collectors.iter().any(|of| of.collector.has_unsettled()) {
                let seen = watching.seen_so_far();
                settle(collectors, &seen, run.started, seen.looked_until_ns());
            }
            intervals.collect(collectors.iter_mut().map(|of| &mut of.collector));
            if intervals.are_due(collectors.len()) {
                let looked = Looked { throttle, clocks: &clocks };
                intervals.hand_to(sink, run.so_far(workers, collectors, &looked, watching));
            }
        }
        if run.stop.ended_early() {
            end.get_or_insert_with(|| Instant::now() + GRACE);
            for worker in workers {
                worker.shared.stop.store(true, Ordering::Release);
                worker.member.call_off();
            }
        }
        observer.observe(&Live {
            elapsed_ns: u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX),
            duration_ns: plan.duration_ns,
            series: collectors.iter().map(|of| of.collector.live()).collect(),
            bins: Vec::new(),
        });
        clocks.sleep(PERIOD);
    }
}

fn waiting(ring: &Ring) -> Vec<Pair> {
    let mut pairs = Vec::new();
    ring.drain(|slots| pairs.extend(slots.iter().map(Slot::pair)));
    pairs
}

/// Whether a limit of the kernel's on real-time threads can have made this gap.
fn is_long(gap: &Pair) -> bool {
    gap.second_ns - gap.first_ns >= LEAST_STOP_NS
}

/// What stays the same from the start of a run to its record.
struct Run<'a> {
    plan: &'a NoisePlan,
    context: &'a RunContext,
    stop: &'a Stop,
    ground: &'a Ground,
    started: Moment,
}

/// What the drain looked at beside the gaps.
struct Looked<'a> {
    throttle: &'a ThrottleWatch,
    clocks: &'a ClockWatch,
}

/// What a measuring thread has come to.
struct Measured {
    cpu: u32,
    collected: Collected,
    totals: NoiseTotals,
    counters: Counters,
    facts: ThreadFacts,
    grant: Grant,
}

impl Measured {
    /// Of a thread that has not reported: what others know of it, and what its loop left.
    fn so_far(worker: &Worker, collected: Collected, mut totals: NoiseTotals, witnessed: &Witnessed) -> Self {
        count(&mut totals, &worker.shared.so_far.counts());
        let dropped = worker.shared.ring.dropped();
        let counters = Counters {
            dropped,
            steal_ns: witnessed.steal_ns.get(&worker.cpu).copied(),
            smi: witnessed.smi.get(&worker.cpu).copied(),
            ..Counters::default()
        };
        let facts = ThreadFacts {
            place: format!("CPU {}", worker.cpu),
            end: ThreadEnd::Whole,
            taken: Some(totals.turns),
            dropped,
            faults: None,
            migrations: None,
            lacks: None,
        };
        Self { cpu: worker.cpu, collected, totals, counters, facts, grant: worker.member.grant.clone() }
    }
}

fn count(totals: &mut NoiseTotals, counts: &HotCounts) {
    totals.turns = counts.turns;
    totals.observed_ns = u64::try_from(counts.observed_ns).unwrap_or(0);
    totals.shortest_turn_ns = u64::try_from(counts.shortest_turn_ns).unwrap_or(0);
}

impl Run<'_> {
    /// The record of a run that still goes on, judged as if it had been cut short now.
    fn so_far(&self, workers: &[Worker], collectors: &[Gaps], looked: &Looked<'_>, watching: &Watching) -> Record {
        let evidence = watching.so_far();
        let measured = |(worker, of): (&Worker, &Gaps)| {
            Measured::so_far(worker, of.collector.collected(), of.totals, &evidence.witnessed)
        };
        let threads = workers.iter().zip(collectors).map(measured).collect();
        self.record(threads, &evidence, looked, RunEnding::cut_short_now())
    }

    /// The record of a run that is over.
    fn finish(
        &self,
        workers: Vec<Worker>,
        mut collectors: Vec<Gaps>,
        mut evidence: WatchEvidence,
        looked: &Looked<'_>,
    ) -> Record {
        let mut threads = Vec::new();
        let now_ns = now_ns(ClockId::Monotonic);
        collectors.iter_mut().for_each(|of| of.collector.end(now_ns));
        settle(&mut collectors, &evidence.seen, self.started, i64::MAX);
        let mut ended_ns = None;
        for (mut worker, of) in workers.into_iter().zip(collectors) {
            let mut measured = Measured::so_far(&worker, of.collector.finish(now_ns), of.totals, &evidence.witnessed);
            let MemberReport { report, end } = worker.member.report();
            measured.facts.end = end;
            if let Some(report) = report {
                evidence.seen.compare_end(&measured.grant, report.at_end.as_ref());
                report.add_to(&mut measured.counters);
                ended_ns = ended_ns.max(Some(report.ended_ns));
                count(&mut measured.totals, &report.counts);
                measured.facts.taken = Some(report.counts.turns);
                measured.facts.faults = Some(report.faults());
                measured.facts.migrations = report.migrations();
            }
            threads.push(measured);
        }
        let ended = looked.clocks.moment_of_monotonic(ended_ns.unwrap_or(now_ns));
        let elapsed_ns = ended.monotonic.since(self.started.monotonic).0;
        let ended_early = self.stop.ended_early().then(|| ended_after(elapsed_ns, self.plan.duration_ns));
        self.record(threads, &evidence, looked, RunEnding { ended, ended_early })
    }

    fn record(
        &self,
        threads: Vec<Measured>,
        evidence: &WatchEvidence,
        looked: &Looked<'_>,
        RunEnding { ended, ended_early }: RunEnding,
    ) -> Record {
        let WatchEvidence { witnessed, seen } = evidence;
        let plan = self.plan;
        let (mut series, mut effective, mut worst, mut facts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut too_late = Vec::new();
        for (number, measured) in (0_u32..).zip(threads) {
            let Measured { cpu, collected, totals, counters, facts: mut fact, grant } = measured;
            let place = Place::thread(number, Some(cpu));
            worst.extend(collected.worst_at(LATENCY, &place));
            effective.push(grant.effective(seen.memory_locked));
            let is_coarse =
                totals.turns > 0 && plan.threshold_ns.unsigned_abs() < LEAST_TURNS * totals.shortest_turn_ns;
            fact.lacks = is_coarse.then(|| {
                let detail = format!(
                    "a turn of the loop takes {} itself, too close to the threshold of {}",
                    format::span(totals.shortest_turn_ns),
                    format::span(plan.threshold_ns)
                );
                (ReasonCode::EvidenceMissing, detail)
            });
            facts.push(fact);
            too_late.extend(collected.known_too_late.iter().cloned());
            let spoiled_ns = collected.spoiled.length_ns;
            let totals = NoiseTotals {
                observed_ns: totals.observed_ns.saturating_sub(spoiled_ns),
                stolen_ns: collected.total.sum_ns(),
                ..totals
            };
            let detail = SeriesDetail::Gaps(totals);
            series.push(Series { detail, ..collected.into_series(LATENCY, place, &counters) });
        }
        let worst = crate::worst::worst_of(worst);
        let validity = judge(&Facts {
            measurement: Measurement::Noise,
            witnessed,
            seen,
            stops: Stops::KeptApart(looked.throttle),
            threads: &facts,
            // The monotonic clock is never stepped.
            clock: None,
            watchdog_fired: self.stop.watchdog_fired(),
            ended_early,
            worst: &worst,
        });
        let measured_ns = ended.monotonic.since(self.started.monotonic).unsigned();
        let validity = keep_apart(&validity, &series, &too_late, measured_ns);
        let request = Request::Noise(plan.request.clone());
        let mut record = self.context.record(request, plan.requested(), self.started, ended);
        record.validity = validity;
        (record.series, record.worst) = (series, worst);
        let manifest = record.manifest_mut();
        manifest.effective = effective;
        manifest.clock_steps = looked.clocks.steps().to_vec();
        manifest.instrument =
            Instrument { ring_slots: u64::try_from(RING_SLOTS).unwrap_or(u64::MAX), ..self.ground.instrument() };
        manifest.others_cpu_used = witnessed.others_cpu_used;
        seen.describe(manifest);
        let mut record = record.with_node_named();
        if let Some(deadline_ns) = record.manifest().requested.deadline_ns {
            record.verdict = Some(analysis::verdict(&record, deadline_ns));
        }
        record
    }
}
