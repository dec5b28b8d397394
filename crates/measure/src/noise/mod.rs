//! Time stolen from a thread that never sleeps: every gap between two readings of the clock above a threshold
//! (`left_to_resumed`).
//!
//! It needs nothing but a monotonic clock, so it runs on every architecture. SCHED_OTHER by default: a FIFO loop that
//! never sleeps meets the kernel's throttle, whose gaps are named where FIFO is asked for, and kept apart where they are shown
//! to be its own.

mod hot;
mod plan;

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use kernel::clock::{KernelClock, Schedule, now_ns, sleep_until};
use kernel::usage::ThreadUsage;
use record::{Counters, Instrument, Measurement, NoiseTotals, Place, Record, Request, Series, SeriesDetail};
use units::{ClockId, format};

use self::hot::{HotCounts, HotLoop};
pub use self::plan::{NoisePlan, NoisePlanError};
use crate::clock_watch::ClockWatch;
use crate::collect::Collector;
use crate::context::RunContext;
use crate::instrument::SelfCost;
use crate::judge::{Facts, Stops, ThreadEnd, ThreadFacts, judge};
use crate::live::{LiveView, Observer};
use crate::ring::{Pair, Ring, Slot};
use crate::stop::Stop;
use crate::witness::{
    Grant, LEAST_STOP_NS, Lookout, Measuring, MemoryLock, Orders, ReadBack, Seen, ThrottleJudgement, ThrottleWatch,
    Wanted, Witness, Witnessed,
};

/// Between two looks at the rings; rare, since each look is itself noise somewhere.
const PERIOD: Duration = Duration::from_millis(250);
/// The latency that is measured.
const LATENCY: &str = "left_to_resumed";
/// Gaps that a ring holds.
const RING_SLOTS: usize = 65_536;
/// How long after its end a thread may take to end.
const GRACE: Duration = Duration::from_secs(3);
/// How long a thread may take to come up before the run begins without it.
const ARM_TIMEOUT: Duration = Duration::from_secs(5);
/// From the order to start to the first turn (ns).
const LEAD_NS: i64 = 20_000_000;
/// At least this many turns a gap's threshold has to be above the loop's own turn.
const LEAST_TURNS: u64 = 3;

struct Shared {
    ring: Ring,
    /// What the thread was granted, once it has asked.
    grant: OnceLock<Grant>,
    stop: AtomicBool,
    start_ns: AtomicI64,
}

struct Report {
    counts: HotCounts,
    usage: ThreadUsage,
    /// How often the scheduler moved it during its loop; `None` where the kernel does not tell.
    migrations: Option<u64>,
    /// What the kernel said of the thread once its loop was over; `None` where there was no loop.
    at_end: Option<ReadBack>,
}

struct Worker {
    cpu: u32,
    shared: Arc<Shared>,
    handle: JoinHandle<Report>,
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
) -> std::io::Result<Record> {
    let affinity_before = kernel::sched::affinity_of(0).unwrap_or_default();
    let self_cost = SelfCost::measure(ClockId::Monotonic, plan.cpus.first());
    // A controller that cannot move is found by the lookout, which reads back where it may run.
    let _ = kernel::sched::set_affinity(0, &plan.housekeeping);
    let memory = MemoryLock::take(true);
    let clock = KernelClock::from(ClockId::Monotonic);
    let mut workers = Vec::new();
    for (thread, cpu) in (0_u32..).zip(plan.cpus.iter()) {
        match start(plan, thread, cpu) {
            Ok(worker) => workers.push(worker),
            Err(error) => {
                workers.iter().for_each(|worker| worker.shared.start_ns.store(i64::MIN, Ordering::Release));
                return Err(error);
            }
        }
    }
    let grants = grants(plan, &workers);
    let measuring = |(grant, worker): (&Grant, &Worker)| Measuring {
        tid: grant.first.as_ref().map_or(0, |first| first.tid),
        cpu: Some(worker.cpu),
        priority: plan.priority.unwrap_or(0),
    };
    let mut throttle = ThrottleWatch::begin(&grants.iter().zip(&workers).map(measuring).collect::<Vec<_>>());
    let witness = Witness::begin(&plan.cpus);
    let lookout = Lookout::begin(Orders {
        housekeeping: plan.housekeeping.clone(),
        controller: Some(kernel::sched::thread_id()),
        measured: plan.cpus.clone(),
        // Whatever takes the CPU from an ordinary thread that never sleeps is what this measures, rivals too.
        ranked: if plan.priority.is_some() { Orders::ranked(&grants, &plan.cpus) } else { Vec::new() },
        grants,
        memory,
        held_idle_limit_us: None,
        has_times: true,
        is_published: false,
    });
    let started = crate::clock_watch::moment_now();
    lookout.run_starts_at(started.monotonic.as_ns());
    throttle.run_begins();
    let start_ns = now_ns(clock) + LEAD_NS;
    workers.iter().for_each(|worker| worker.shared.start_ns.store(start_ns, Ordering::Release));
    let mut collectors: Vec<(Collector, NoiseTotals)> = (0_u32..)
        .zip(plan.cpus.iter())
        .map(|(thread, cpu)| {
            (Collector::new(thread, Some(cpu), start_ns, plan.interval_maximum_ns, None), NoiseTotals::default())
        })
        .collect();
    let clocks = watch(plan, &workers, &mut collectors, &mut throttle, stop, observer);
    let witnessed = witness.so_far();
    let seen = lookout.end();
    let ended = crate::clock_watch::moment_now();
    // Failing to move back leaves the controller where it can do no harm.
    let _ = kernel::sched::set_affinity(0, &affinity_before);
    let finish = Finish { plan, context, stop, self_cost, clocks, witnessed, seen, throttle, started, ended };
    Ok(finish.record(workers, collectors))
}

/// What the threads were granted, once they have come up; nothing is known of one that does not in time.
fn grants(plan: &NoisePlan, workers: &[Worker]) -> Vec<Grant> {
    let give_up_at = Instant::now() + ARM_TIMEOUT;
    while workers.iter().any(|worker| worker.shared.grant.get().is_none()) && Instant::now() < give_up_at {
        thread::sleep(Duration::from_millis(5));
    }
    let of = |(thread, worker): (u32, &Worker)| {
        worker.shared.grant.get().cloned().unwrap_or_else(|| Grant {
            wanted: Wanted { thread, policy: plan.policy(), cpu: Some(worker.cpu) },
            first: None,
            refusals: Vec::new(),
        })
    };
    (0_u32..).zip(workers).map(of).collect()
}

/// The loop; one copy of its code, so that a first call makes the pages of the next resident.
#[inline(never)]
fn observe(hot: &mut HotLoop<'_>) -> HotCounts {
    kernel::hot_section::enter(|| hot.run())
}

fn start(plan: &NoisePlan, thread: u32, cpu: u32) -> std::io::Result<Worker> {
    let shared = Arc::new(Shared {
        ring: Ring::new(RING_SLOTS),
        grant: OnceLock::new(),
        stop: AtomicBool::new(false),
        start_ns: AtomicI64::new(0),
    });
    let theirs = Arc::clone(&shared);
    let (policy, threshold_ns, duration_ns) = (plan.policy(), plan.threshold_ns, plan.duration_ns);
    let handle =
        thread::Builder::new().name(format!("punctual-n{thread}")).stack_size(256 * 1024).spawn(move || {
            kernel::signals::block_all_but_watchdog();
            // Nobody else sets it.
            let _ = theirs.grant.set(Grant::ask(Wanted { thread, policy, cpu: Some(cpu) }));
            let clock = KernelClock::from(ClockId::Monotonic);
            let start_ns = loop {
                match theirs.start_ns.load(Ordering::Acquire) {
                    0 => {
                        let _ = sleep_until(clock, &Schedule::at_ns(now_ns(clock) + 2_000_000));
                    }
                    start_ns => break start_ns,
                }
            };
            if start_ns == i64::MIN {
                return Report {
                    counts: HotCounts::default(),
                    usage: ThreadUsage::default(),
                    migrations: None,
                    at_end: None,
                };
            }
            // The same code as below, all of it: every turn is a gap, more of them than its own ring takes.
            let spare = Ring::new(8);
            let _ = observe(&mut HotLoop {
                clock,
                threshold_ns: 0,
                end_ns: now_ns(clock) + 1_000_000,
                ring: spare.writer(),
                stop: &theirs.stop,
            });
            let _ = ThreadUsage::now();
            let mut hot = HotLoop {
                clock,
                threshold_ns,
                end_ns: start_ns.saturating_add_unsigned(duration_ns),
                ring: theirs.ring.writer(),
                stop: &theirs.stop,
            };
            let tid = kernel::sched::thread_id();
            let moves_before = crate::witness::migrations(tid);
            let _ = sleep_until(clock, &Schedule::at_ns(start_ns));
            let before = ThreadUsage::now().unwrap_or_default();
            let counts = observe(&mut hot);
            let usage = ThreadUsage::now().unwrap_or_default().since(&before);
            let moved = |before: u64| Some(crate::witness::migrations(tid)?.saturating_sub(before));
            Report { counts, usage, migrations: moves_before.and_then(moved), at_end: ReadBack::of_calling_thread() }
        })?;
    Ok(Worker { cpu, shared, handle })
}

fn watch(
    plan: &NoisePlan,
    workers: &[Worker],
    collectors: &mut [(Collector, NoiseTotals)],
    throttle: &mut ThrottleWatch,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> ClockWatch {
    let mut clocks = ClockWatch::new(ClockId::Monotonic);
    let began = Instant::now();
    let end = began + Duration::from_nanos(plan.duration_ns) + GRACE;
    loop {
        let finished = workers.iter().all(|worker| worker.handle.is_finished());
        clocks.look();
        let gaps: Vec<Vec<Pair>> = workers.iter().map(|worker| waiting(&worker.shared.ring)).collect();
        let long: Vec<Vec<Pair>> = gaps.iter().map(|of| of.iter().copied().filter(is_long).collect()).collect();
        let judged = throttle.look(now_ns(ClockId::Monotonic.into()), &long);
        for (((collector, totals), gaps), judged) in collectors.iter_mut().zip(gaps).zip(judged) {
            let mut judged = judged.into_iter();
            for pair in gaps {
                let gap_ns = u64::try_from(pair.second_ns - pair.first_ns).unwrap_or(0);
                let judgement = if is_long(&pair) { judged.next() } else { None };
                // A stop that is no more than likely may have been anything: it stays among the gaps.
                if judgement == Some(ThrottleJudgement::Shown) {
                    totals.throttle_gaps += 1;
                    totals.throttle_ns += gap_ns;
                } else {
                    totals.stolen_ns += gap_ns;
                    collector.take(pair, &clocks);
                }
            }
        }
        if finished || Instant::now() > end {
            return clocks;
        }
        if stop.ended_early() {
            workers.iter().for_each(|worker| worker.shared.stop.store(true, Ordering::Release));
        }
        observer.observe(&LiveView {
            elapsed_ns: u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX),
            duration_ns: Some(plan.duration_ns),
            threads: collectors.iter().map(|(collector, _)| collector.live()).collect(),
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

struct Finish<'a> {
    plan: &'a NoisePlan,
    context: &'a RunContext,
    stop: &'a Stop,
    self_cost: SelfCost,
    clocks: ClockWatch,
    witnessed: Witnessed,
    seen: Seen,
    throttle: ThrottleWatch,
    started: record::Moment,
    ended: record::Moment,
}

impl Finish<'_> {
    fn record(mut self, workers: Vec<Worker>, collectors: Vec<(Collector, NoiseTotals)>) -> Record {
        let plan = self.plan;
        let (mut series, mut effective, mut worst) = (Vec::new(), Vec::new(), Vec::new());
        let mut threads = Vec::new();
        let ended_ns = now_ns(KernelClock::from(ClockId::Monotonic));
        for ((thread, worker), (collector, mut totals)) in (0_u32..).zip(workers).zip(collectors) {
            let collected = collector.finish(ended_ns);
            let place = Place::thread(thread, Some(worker.cpu));
            worst.extend(collected.worst_at(LATENCY, &place));
            let dropped = worker.shared.ring.dropped();
            let mut facts = ThreadFacts {
                place: format!("CPU {}", worker.cpu),
                end: ThreadEnd::Whole,
                taken: None,
                dropped,
                faults: None,
                migrations: None,
                too_coarse: None,
            };
            if !worker.handle.is_finished() {
                threads.push(ThreadFacts { end: ThreadEnd::Stuck, ..facts });
                continue;
            }
            let Ok(report) = worker.handle.join() else {
                threads.push(ThreadFacts { end: ThreadEnd::Died, ..facts });
                continue;
            };
            if let Some(grant) = worker.shared.grant.get() {
                self.seen.compare_end(grant, report.at_end.as_ref());
                effective.push(grant.effective(self.seen.memory_locked));
            }
            totals.turns = report.counts.turns;
            totals.observed_ns = u64::try_from(report.counts.observed_ns).unwrap_or(0);
            totals.shortest_turn_ns = u64::try_from(report.counts.shortest_turn_ns).unwrap_or(0);
            facts.taken = Some(totals.turns);
            facts.faults = Some((report.usage.minor_faults, report.usage.major_faults));
            facts.migrations = report.migrations;
            let is_coarse =
                totals.turns > 0 && plan.threshold_ns.unsigned_abs() < LEAST_TURNS * totals.shortest_turn_ns;
            facts.too_coarse = is_coarse.then(|| {
                format!(
                    "a turn of the loop takes {} itself, too close to the threshold of {}",
                    format::span(report.counts.shortest_turn_ns),
                    format::span(plan.threshold_ns)
                )
            });
            threads.push(facts);
            let counters = Counters {
                dropped,
                voluntary_switches: Some(report.usage.voluntary_switches),
                involuntary_switches: Some(report.usage.involuntary_switches),
                minor_faults: Some(report.usage.minor_faults),
                major_faults: Some(report.usage.major_faults),
                migrations: report.migrations,
                steal_ns: self.witnessed.steal_ns.get(&worker.cpu).copied(),
                smi: self.witnessed.smi.get(&worker.cpu).copied(),
                ..Counters::default()
            };
            let detail = SeriesDetail::Gaps(totals);
            series.push(Series { detail, ..collected.into_series(LATENCY, place, &counters) });
        }
        let worst = crate::worst::of_all(worst);
        let elapsed = || format::span(self.ended.monotonic.as_ns() - self.started.monotonic.as_ns());
        let validity = judge(&Facts {
            measurement: Measurement::Noise,
            witnessed: &self.witnessed,
            seen: &self.seen,
            throttle: &self.throttle,
            stops: Stops::KeptApart,
            threads: &threads,
            // The monotonic clock is never stepped.
            clock: None,
            watchdog_fired: self.stop.watchdog_fired(),
            ended_early: self
                .stop
                .ended_early()
                .then(|| format!("after {} of {}", elapsed(), format::span(plan.duration_ns))),
            worst: &worst,
        });
        let request = Request::Noise(plan.request.clone());
        let mut record = self.context.record(request, plan.requested(), self.started, self.ended);
        record.validity = validity;
        (record.series, record.worst) = (series, worst);
        let manifest = record.manifest_mut();
        manifest.effective = effective;
        manifest.clock_steps = self.clocks.steps().to_vec();
        manifest.instrument =
            Instrument { ring_slots: u64::try_from(RING_SLOTS).unwrap_or(u64::MAX), ..self.self_cost.told() };
        self.seen.describe(manifest);
        let mut record = record.with_node_named();
        if let Some(deadline_ns) = record.manifest().requested.deadline_ns {
            record.verdict = Some(analyse::verdict(&record, deadline_ns));
        }
        record
    }
}
