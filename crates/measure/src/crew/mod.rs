//! What every kind of measurement by threads of our own does alike: taking what the run needs of this process, starting the
//! threads, reading back what they were granted, letting them begin together, and giving all back.
//!
//! `Ground::take` → `Member::start` for each thread → `Watching::begin` → `Member::begin_at` → the drain → `Member::report`,
//! `Watching::end`. A kind brings its [`Work`], and what it made of its samples. Kinds whose threads write pairs of stamps into
//! rings share their `plan` (how long, how it is cut), the `drain` (the loop that empties the rings) and the `record` besides.

pub(crate) mod drain;
pub(crate) mod give_up;
pub(crate) mod hot;
mod member;
mod outcome;
pub(crate) mod plan;
mod record;
mod stuck;

use std::sync::atomic::{AtomicUsize, Ordering};

use ::record::{Instrument, Moment};
use kernel::clock::KernelClock;
use units::{ClockId, CpuSet};

pub use self::member::ArmError;
pub(crate) use self::member::{Member, MemberReport, Meter, Metered, Order, Report, Work, serve};
pub(crate) use self::outcome::{MOST_FAILURES, Outcome, lacks};
pub(crate) use self::record::{Came, Run};
pub(crate) use self::stuck::{COMES_UP_WITHIN, why_stuck};
use crate::instrument::SelfCost;
use crate::interval_sink::CUT_SHORT;
use crate::stop::WATCHDOG_S;
use crate::witness::{Lookout, LookoutObservations, MemoryLock, Orders, Witness, Witnessed};

/// From the order to start to the first schedule (ns).
pub(crate) const LEAD_NS: i64 = 20_000_000;

/// Runs of this process that exist now.
static GROUNDS: AtomicUsize = AtomicUsize::new(0);

/// What a run needs of this process before its threads exist. Dropped, it gives all back.
#[derive(Debug)]
pub(crate) struct Ground {
    memory: MemoryLock,
    self_cost: SelfCost,
    /// Where the calling thread, the controller, was allowed to run.
    controller_before: CpuSet,
    has_watchdog: bool,
}

/// What a run asks of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroundPlan<'a> {
    /// The clock that is measured on.
    pub(crate) clock: ClockId,
    /// The first of the measured CPUs, where the loop's own cost is measured.
    pub(crate) cpu: Option<u32>,
    /// Where the controller goes; where it stays if it cannot is found by the lookout, which reads back where it may run.
    pub(crate) housekeeping: &'a CpuSet,
    /// Whether memory is to be locked.
    pub(crate) lock_memory: bool,
    /// Whether a thread may be real-time: one that does not sleep could lock the machine up without a watchdog.
    pub(crate) real_time: bool,
}

impl<'a> GroundPlan<'a> {
    /// For real-time threads whose rings are drained ([`drain`]).
    pub(crate) const fn of_drained(cpu: Option<u32>, housekeeping: &'a CpuSet) -> Self {
        Self { clock: drain::CLOCK, cpu, housekeeping, lock_memory: true, real_time: true }
    }
}

impl Ground {
    /// Measures the instrument's own cost, moves the controller away, locks memory and sets the watchdog: in this order, since
    /// the cost is measured where the threads will run, before anything is real-time.
    pub(crate) fn take(plan: GroundPlan<'_>) -> Self {
        let controller_before = kernel::sched::affinity_of(0).unwrap_or_default();
        let self_cost = SelfCost::measure(plan.clock, plan.cpu);
        let _ = kernel::sched::set_affinity(0, plan.housekeeping);
        GROUNDS.fetch_add(1, Ordering::Relaxed);
        let memory = MemoryLock::take(plan.lock_memory);
        if plan.real_time {
            // A lower hard limit is a watchdog too.
            let _ = kernel::signals::arm_watchdog(WATCHDOG_S);
        }
        Self { memory, self_cost, controller_before, has_watchdog: plan.real_time }
    }

    /// What was asked about memory.
    pub(crate) fn memory(&self) -> MemoryLock {
        self.memory.clone()
    }

    /// What the instrument itself costs, as the record has it at the end of a run.
    pub(crate) fn instrument(&self) -> Instrument {
        self.self_cost.clone().into_record()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        GROUNDS.fetch_sub(1, Ordering::Relaxed);
        // Failing to move back leaves the controller where it can do no harm.
        let _ = kernel::sched::set_affinity(0, &self.controller_before);
        if self.has_watchdog {
            let _ = kernel::signals::arm_watchdog(0);
        }
    }
}

/// Who looks at a run from outside: the counters of the machine before and after, and the lookout while it goes on.
#[derive(Debug)]
pub(crate) struct Watching {
    witness: Witness,
    lookout: Lookout,
}

impl Watching {
    /// Begins to look at these CPUs, once all measuring threads exist and have what they asked for.
    pub(crate) fn begin(cpus: &CpuSet, orders: Orders) -> Self {
        let watching = Self { witness: Witness::begin(cpus), lookout: Lookout::begin(orders) };
        // The set-up is over; the threads warm up again when they get their start. Threads of another run of this process
        // would take page faults.
        if GROUNDS.load(Ordering::Relaxed) <= 1 {
            kernel::memory::release_startup_pages();
        }
        watching
    }

    /// Sets when the run begins: times in the reasons count from there.
    pub(crate) fn run_starts(&self, started: Moment) {
        self.lookout.run_starts_at(started.monotonic.as_ns());
    }

    /// What was seen until now.
    pub(crate) fn so_far(&self) -> WatchEvidence {
        WatchEvidence { witnessed: self.witness.so_far(), seen: self.lookout.so_far() }
    }

    /// What the lookout has seen until now.
    pub(crate) fn seen_so_far(&self) -> LookoutObservations {
        self.lookout.so_far()
    }

    /// Looks once more and concludes.
    pub(crate) fn end(self) -> WatchEvidence {
        WatchEvidence { witnessed: self.witness.end(), seen: self.lookout.end() }
    }
}

/// What witness and lookout saw of a run beside its samples.
pub(crate) struct WatchEvidence {
    /// What the machine's counters said before and after.
    pub(crate) witnessed: Witnessed,
    /// What was seen by looking at the run while it took place.
    pub(crate) seen: LookoutObservations,
}

impl WatchEvidence {
    /// Looks whether a thread that has ended still had what it was granted; when it ended (ns).
    pub(crate) fn compare_end<C: Send + 'static>(&mut self, of: &Member<C>, reported: &MemberReport<C>) -> Option<i64> {
        let report = reported.report.as_ref()?;
        self.seen.compare_end(&of.grant, report.at_end.as_ref());
        Some(report.ended_ns)
    }
}

/// When a measurement ended.
pub(crate) struct RunEnding {
    /// The moment.
    pub(crate) ended: Moment,
    /// Why it ended before its time, in words, where it did.
    pub(crate) ended_early: Option<String>,
}

impl RunEnding {
    /// Of one that goes on, as if it were cut short now.
    pub(crate) fn cut_short_now() -> Self {
        Self { ended: crate::clock_watch::moment_now(), ended_early: Some(CUT_SHORT.to_owned()) }
    }
}

/// A reading of a clock.
pub(crate) fn now_ns(clock: ClockId) -> i64 {
    kernel::clock::now_ns(KernelClock::from(clock))
}
