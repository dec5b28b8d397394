//! Asks the kernel for everything that the loop needs, reads back what was granted, and starts the threads.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use kernel::clock::{self, KernelClock, LoopClock, Schedule};
use record::{ExplainingCost, Moment, ReasonCode, RunEnd};
use units::{ClockId, CpuSet};

use super::hot::{Even, HotCounts, HotLoop, Jittered, Onlooker, Steps, Timer};
use super::plan::{Plan, ThreadPlan};
use crate::clock_watch::ClockWatch;
use crate::crew::{ArmError, Ground, GroundPlan, LEAD_NS, Member, Meter, Metered, Work};
use crate::dma_latency::DmaLatencyHold;
use crate::explain::{
    Begin, Explainer, Followed, OutlierWatch, PartsWriter, Recorder, Threads, Watched, kernel_priority, parts_ring,
};
use crate::ring::Ring;
use crate::stop::Stop;
use crate::timetable::Timetable;
use crate::trace_mark::TraceMark;
use crate::witness::{Grant, Orders, RequestedScheduling};

/// From the order to start to the first schedule where it lies on a grid (ns): as much as cyclictest leaves, so that both take the same second.
const ALIGNED_LEAD_NS: i64 = 100_000_000;

/// What one thread shares with the drain.
#[derive(Debug)]
pub(crate) struct WorkerShared {
    pub(crate) plan: ThreadPlan,
    pub(crate) ring: Ring,
    /// Its outliers, where they are explained.
    pub(crate) watched: Option<Arc<Watched>>,
    /// The parts of its wake-ups, where they are recorded.
    pub(crate) parts: Option<Ring>,
}

/// One running thread.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) shared: Arc<WorkerShared>,
    pub(crate) member: Member<HotCounts>,
}

/// Everything is granted or known to be refused; only this can run.
#[derive(Debug)]
pub struct Armed {
    pub(crate) plan: Plan,
    pub(crate) workers: Vec<Worker>,
    /// No schedule after this (ns on the measured clock); lowering it ends the run.
    pub(crate) last_schedule_ns: Arc<AtomicI64>,
    pub(crate) ground: Ground,
    pub(crate) dma: DmaLatencyHold,
    /// What records the causes of outliers, where that is asked and can be had.
    pub(crate) recorder: Option<Arc<Recorder>>,
    /// Why there is no recorder though one was asked for.
    pub(crate) no_recorder: Vec<String>,
    /// What recording costs, where it was measured.
    pub(crate) cost: Option<ExplainingCost>,
}

impl Armed {
    /// Locks memory, moves the controller away, starts the threads and waits until each is ready.
    ///
    /// What the kernel refuses is kept for the record's validity; the run can still be made.
    ///
    /// # Errors
    /// Where no run is possible at all.
    pub fn new(plan: Plan, stop: &Stop) -> Result<Self, ArmError> {
        let ground = Ground::take(GroundPlan {
            clock: plan.config.clock,
            cpu: plan.threads[0].cpu,
            housekeeping: &plan.housekeeping,
            lock_memory: plan.config.lock_memory,
            real_time: true,
        });
        let dma = DmaLatencyHold::take(plan.config.hold_dma_latency_us);
        let trace = match super::plan::marked_break(&plan.config).map(|_| TraceMark::open()).transpose() {
            Ok(trace) => trace.map(Arc::new),
            Err(error) => return Err(ArmError::Trace(error)),
        };
        let mut armed = Self {
            workers: Vec::with_capacity(plan.threads.len()),
            last_schedule_ns: Arc::new(AtomicI64::new(i64::MAX)),
            ground,
            dma,
            recorder: None,
            no_recorder: Vec::new(),
            cost: None,
            plan,
        };
        armed.load_recorder();
        for thread in armed.plan.threads.clone() {
            let worker = armed.start(thread, stop, trace.clone())?;
            armed.workers.push(worker);
        }
        Ok(armed)
    }

    /// Before any thread is real-time: loading changes code that runs on every CPU.
    fn load_recorder(&mut self) {
        if let Some(config) = self.plan.config.explain {
            let threads = Threads {
                real_time: self.plan.threads.iter().all(|thread| thread.policy.priority() > 0),
                may_move: self.plan.threads.iter().any(|thread| thread.cpu.is_none()),
                share_cpus: self.plan.threads.len() > self.plan.measured.len(),
                wakings: false,
            };
            let recorder = Recorder::new(&self.plan.measured, threads, self.plan.config.clock, config);
            if threads.may_move && !recorder.records() {
                let why = "counters explain nothing of threads that are not bound to a CPU: name CPUs, with a policy that allows it";
                self.no_recorder = recorder.missing().into_iter().chain([why.to_owned()]).collect();
                return;
            }
            self.recorder = Some(Arc::new(recorder));
        }
    }

    /// What the lookout has to look at.
    pub(crate) fn orders(&self, is_published: bool) -> Orders {
        let grants: Vec<Grant> = self.workers.iter().map(|worker| worker.member.grant.clone()).collect();
        let pinned = self.plan.threads.iter().all(|thread| thread.cpu.is_some());
        Orders {
            housekeeping: self.plan.housekeeping.clone(),
            controller: Some(kernel::sched::thread_id()),
            measured: if pinned { self.plan.measured.clone() } else { CpuSet::new() },
            ranked: Orders::ranked(&grants, &self.plan.measured),
            grants,
            memory: self.ground.memory(),
            held_idle_limit_us: self.plan.config.hold_dma_latency_us,
            has_times: true,
            is_published,
        }
    }

    /// Explains the outliers of the run, where there is a recorder.
    pub(crate) fn explainer(&self) -> Option<Explainer> {
        let recorder = self.recorder.clone()?;
        let jittered = self.plan.config.jitter;
        let followed = |worker: &Worker| {
            let (policy, prio) = kernel_priority(worker.shared.plan.policy);
            let name = format!("punctual-w{}", worker.shared.plan.thread);
            Some(Followed {
                thread: worker.shared.plan.thread,
                begin: Begin::Timer,
                cpu: worker.shared.plan.cpu,
                interval_ns: jittered
                    .is_none()
                    .then(|| i64::try_from(worker.shared.plan.interval_ns).unwrap_or(i64::MAX)),
                own: analysis::cause::Thread {
                    tid: worker.member.tid,
                    name,
                    prio,
                    policy,
                    ..analysis::cause::Thread::default()
                },
                watched: worker.shared.watched.clone()?,
            })
        };
        let threads = self.workers.iter().filter_map(followed).collect();
        let deadline_ns = self.plan.config.deadline.map(units::Ns::unsigned);
        let config = self.plan.config.explain.unwrap_or_default();
        Some(Explainer::new(recorder, config, threads, deadline_ns).judged_later())
    }

    fn start(&self, thread: ThreadPlan, stop: &Stop, trace: Option<Arc<TraceMark>>) -> Result<Worker, ArmError> {
        let number = thread.thread;
        let deadline = matches!(thread.policy, kernel::sched::Policy::Deadline { .. });
        let explained = self.recorder.as_ref();
        let above_ns = self.plan.config.explain.and_then(|explain| explain.above).map_or(i64::MAX, |above| above.0);
        let watched = explained.map(|_| Arc::new(Watched::new(above_ns)));
        let recorded = explained.cloned().zip(watched.clone());
        let has_parts = explained.is_some_and(|recorder| recorder.wake_up(thread.cpu).is_some());
        let parts = has_parts.then(|| parts_ring(thread.ring_slots));
        let shared = Arc::new(WorkerShared { ring: Ring::new(thread.ring_slots), plan: thread, watched, parts });
        let wanted = RequestedScheduling { thread: number, policy: shared.plan.policy, cpu: shared.plan.cpu };
        let job = Job {
            shared: Arc::clone(&shared),
            config_clock: self.plan.config.clock,
            end: self.plan.config.end,
            break_ns: self.plan.config.breaktrace.map_or(i64::MAX, |limit| limit.0),
            last_schedule_ns: Arc::clone(&self.last_schedule_ns),
            watchdog: stop.watchdog(),
            trace,
            recorded,
        };
        let member = Member::start(&format!("punctual-w{number}"), wanted, job)?;
        let is_refusal = |reason: &&record::Reason| reason.code == ReasonCode::SchedulingNotGranted;
        match member.grant.refusals.iter().find(is_refusal).filter(|_| deadline) {
            Some(refusal) => Err(ArmError::Deadline { error: io::Error::other(refusal.detail.clone()) }),
            None => Ok(Worker { shared, member }),
        }
    }

    /// Lets the threads go: all begin on a grid that starts a little later. Returns the start of the run on both clocks
    /// and on the measured one, and how far away it is.
    pub(crate) fn go(&self) -> (Moment, i64, Duration) {
        let clock = KernelClock::from(self.plan.config.clock);
        // Looked at first: afterwards nothing stands between reading the clock and the order.
        let clocks = ClockWatch::new(self.plan.config.clock);
        let now_ns = clock::now_ns(clock);
        let start_ns = start_after(now_ns, self.plan.config.align_to.map(|grid| grid.0));
        let wait_ns = start_ns - now_ns;
        if let RunEnd::After(duration) = self.plan.config.end {
            self.last_schedule_ns.store(start_ns.saturating_add(duration.0), Ordering::Release);
        }
        self.workers.iter().for_each(|worker| worker.member.begin_at(start_ns));
        (clocks.moment(start_ns), start_ns, Duration::from_nanos(u64::try_from(wait_ns).unwrap_or(0)))
    }
}

/// What a measuring thread is born with.
struct Job {
    shared: Arc<WorkerShared>,
    config_clock: ClockId,
    end: RunEnd,
    break_ns: i64,
    last_schedule_ns: Arc<AtomicI64>,
    watchdog: Arc<AtomicBool>,
    trace: Option<Arc<TraceMark>>,
    /// The recorder of the run and what this thread shares with its explainer.
    recorded: Option<(Arc<Recorder>, Arc<Watched>)>,
}

impl Work for Job {
    type Counts = HotCounts;

    fn clock(&self) -> ClockId {
        self.config_clock
    }

    fn warm_up(&mut self, meter: Meter) {
        const INTERVAL_NS: i64 = 100_000;
        let now_ns = clock::now_ns(KernelClock::from(self.config_clock));
        let next = Schedule::at_ns(now_ns - WARM_UP_STALL_NS);
        let run = LoopRun { job: self, is_warm_up: true, meter };
        if self.shared.plan.offsets.is_some() {
            let table = Timetable { first_ns: now_ns, interval_ns: INTERVAL_NS, offsets: Arc::from([0]) };
            run.by_steps(Jittered { table, turn: 0 }, next);
        } else {
            run.by_steps(Even(INTERVAL_NS), next);
        }
    }

    fn measure(self, start_ns: i64, meter: Meter) -> Metered<HotCounts> {
        let plan = &self.shared.plan;
        let run = LoopRun { job: &self, is_warm_up: false, meter };
        match plan.timetable(start_ns) {
            None => {
                let interval_ns = i64::try_from(plan.interval_ns).unwrap_or(i64::MAX);
                run.by_steps(Even(interval_ns), Schedule::at_ns(start_ns.saturating_add(plan.first_offset_ns)))
            }
            Some(table) => {
                let next = Schedule::at_ns(table.schedule_ns(0));
                run.by_steps(Jittered { table, turn: 0 }, next)
            }
        }
    }
}

/// One run of the loop: the measuring one, or the warm-up before it, which runs all that the loop may run into, so that none of
/// it faults in the measuring one.
struct LoopRun<'a> {
    job: &'a Job,
    is_warm_up: bool,
    meter: Meter,
}

impl LoopRun<'_> {
    /// With the clock in the form that takes the least.
    fn by_steps(self, steps: impl Steps, next: Schedule) -> Metered<HotCounts> {
        let clock = KernelClock::from(self.job.config_clock);
        match LoopClock::new(clock) {
            Some(clock) => self.with_clock(clock, steps, next),
            None => self.with_clock(clock, steps, next),
        }
    }

    fn with_clock(self, clock: impl Timer, steps: impl Steps, next: Schedule) -> Metered<HotCounts> {
        if self.is_warm_up { self.warm(clock, steps, next) } else { self.measure(clock, steps, next) }
    }

    fn measure(self, clock: impl Timer, steps: impl Steps, next: Schedule) -> Metered<HotCounts> {
        let job = self.job;
        let plan = &job.shared.plan;
        let switches = job.recorded.as_ref().map(|(recorder, _)| recorder.switches(plan.cpu)).unwrap_or_default();
        if let Some((recorder, _)) = &job.recorded {
            recorder.record_parts_of(plan.cpu, kernel::sched::thread_id());
        }
        let outliers = job.recorded.as_ref().and_then(|(recorder, watched)| {
            let taken = recorder.taken(plan.cpu)?;
            let parts = recorder.wake_up(plan.cpu).zip(job.shared.parts.as_ref());
            let parts = parts.map(|(wake_up, ring)| PartsWriter { wake_up, ring: ring.writer() });
            Some(OutlierWatch { watched, armed: &switches, taken, may_move: plan.cpu.is_none(), parts })
        });
        let hot = HotLoop {
            clock,
            steps,
            next,
            last_schedule_ns: &job.last_schedule_ns,
            samples: if let RunEnd::Samples(samples) = job.end { samples } else { u64::MAX },
            break_ns: job.break_ns,
            ring: job.shared.ring.writer(),
            watchdog: &job.watchdog,
            trace: job.trace.as_deref(),
            outliers: (),
        };
        run_watched(hot, outliers, self.meter)
    }

    /// More samples than the ring takes, a stall, an outlier. With a ring, switches and counters of its own.
    fn warm(self, clock: impl Timer, steps: impl Steps, next: Schedule) -> Metered<HotCounts> {
        let job = self.job;
        let (ring, parts) = (Ring::new(8), Ring::new(8));
        let (watched, taken) = (Watched::new(0), AtomicBool::new(false));
        let (armed, moment) = (AtomicU32::new(1), AtomicI64::new(0));
        let switches = [&armed];
        let recorder = job.recorded.as_ref().map(|(recorder, _)| recorder);
        let outliers =
            recorder.filter(|recorder| recorder.taken(job.shared.plan.cpu).is_some()).map(|_| OutlierWatch {
                watched: &watched,
                armed: &switches,
                taken: &taken,
                may_move: true,
                parts: Some(PartsWriter { wake_up: [&moment; 3], ring: parts.writer() }),
            });
        if job.trace.is_some() {
            TraceMark::warm_up();
        }
        let warming = HotLoop {
            clock,
            steps,
            next,
            last_schedule_ns: &job.last_schedule_ns,
            samples: 4,
            break_ns: i64::MAX,
            ring: ring.writer(),
            watchdog: &job.watchdog,
            trace: None,
            outliers: (),
        };
        run_watched(warming, outliers, self.meter)
    }
}

/// Runs the loop with who looks at its wake-ups, where somebody does: the loop is compiled for both.
fn run_watched<'a>(
    hot: HotLoop<'a, impl Steps, (), impl Timer>,
    outliers: Option<OutlierWatch<'a>>,
    meter: Meter,
) -> Metered<HotCounts> {
    match outliers {
        None => metered(hot, meter),
        Some(outliers) => metered(hot.watched_by(outliers), meter),
    }
}

/// Runs the loop; one copy of this code, so that the warm-up makes it resident.
#[inline(never)]
fn metered(hot: HotLoop<'_, impl Steps, impl Onlooker, impl Timer>, meter: Meter) -> Metered<HotCounts> {
    meter.hot(|| hot.run())
}

/// How late the first wake-up of a warm-up is (ns): several of its intervals.
const WARM_UP_STALL_NS: i64 = 1_000_000;

/// Where a run starts that is let go now: soon, or at the next multiple of the grid that leaves time enough.
fn start_after(now_ns: i64, grid_ns: Option<i64>) -> i64 {
    match grid_ns {
        None => now_ns + LEAD_NS,
        Some(grid_ns) => {
            let earliest_ns = now_ns + ALIGNED_LEAD_NS;
            let into_grid_ns = earliest_ns.rem_euclid(grid_ns);
            if into_grid_ns == 0 { earliest_ns } else { earliest_ns.saturating_add(grid_ns - into_grid_ns) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_on_a_grid_is_the_next_multiple_that_leaves_time() {
        const S: i64 = 1_000_000_000;
        assert_eq!(start_after(5 * S, None), 5 * S + LEAD_NS);
        assert_eq!(start_after(5 * S, Some(S)), 6 * S);
        // What cyclictest takes too: the second after the next where less than 100 ms are left.
        assert_eq!(start_after(5 * S + 900_000_000, Some(S)), 6 * S);
        assert_eq!(start_after(5 * S + 900_000_001, Some(S)), 7 * S);
        assert_eq!(start_after(0, Some(200_000)), ALIGNED_LEAD_NS);
        assert_eq!(start_after(-3 * S, Some(S)), -2 * S, "a clock before its epoch has a grid too");
        assert_eq!(start_after(7, Some(i64::MAX)), i64::MAX, "the farthest start there is");
    }
}
