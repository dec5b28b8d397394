//! Asks the kernel for everything that the loop needs, reads back what was granted, and starts the threads.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use kernel::clock::{self, KernelClock, Schedule};
use kernel::usage::ThreadUsage;
use record::{Effective, ExplainingCost, Moment};
use units::{ClockId, CpuSet};

use super::hot::{HotCounts, HotLoop};
use super::plan::{End, Plan, ThreadPlan};
use crate::clock_watch::ClockWatch;
use crate::dma_latency::DmaLatencyHold;
use crate::explain::{Explainer, Followed, OutlierWatch, Recorder, Threads, Watched, kernel_priority};
use crate::instrument::SelfCost;
use crate::ring::Ring;
use crate::stop::Stop;
use crate::trace_mark::TraceMark;

/// Stack of a measuring thread: far more than the loop needs, little enough to touch.
const STACK_BYTES: usize = 256 * 1024;
/// How long a thread may take to come up before it counts as stuck.
const ARM_TIMEOUT: Duration = Duration::from_secs(5);
/// From the order to start to the first schedule (ns).
const LEAD_NS: i64 = 20_000_000;
/// The same where the start lies on a grid: as much as cyclictest leaves, so that both take the same second.
const ALIGNED_LEAD_NS: i64 = 100_000_000;
/// A real-time thread that ran this long without a sleep is stopped by the kernel (s).
const WATCHDOG_S: u64 = 2;

/// Why a planned run could not start.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// The kernel refused a thread.
    #[error("cannot start measuring thread {thread}: {error}")]
    Thread {
        /// Its number.
        thread: u32,
        /// The kernel's reason.
        error: io::Error,
    },
    /// A thread never came up.
    #[error(
        "measuring thread {thread} did not come up within 5 s: something of higher priority holds its CPU; see 'punctual check'"
    )]
    Stuck {
        /// Its number.
        thread: u32,
    },
    /// SCHED_DEADLINE's admission control.
    #[error(
        "the kernel refused SCHED_DEADLINE with this runtime and period: {error}; the sum of runtime/period of all such threads must stay below sched_rt_runtime_us/sched_rt_period_us, and the threads must be allowed on a whole root domain"
    )]
    Deadline {
        /// The kernel's reason.
        error: io::Error,
    },
    /// The trace cannot be stopped.
    #[error("--breaktrace needs the kernel's trace: {0}")]
    Trace(io::Error),
}

/// What one thread shares with the drain.
#[derive(Debug)]
pub(crate) struct WorkerShared {
    pub(crate) plan: ThreadPlan,
    pub(crate) ring: Ring,
    /// Its outliers, where they are explained.
    pub(crate) watched: Option<Arc<Watched>>,
}

/// What one thread tells at its end.
#[derive(Debug)]
pub(crate) struct WorkerReport {
    pub(crate) counts: HotCounts,
    pub(crate) usage: ThreadUsage,
}

/// One running thread.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) shared: Arc<WorkerShared>,
    pub(crate) effective: Effective,
    /// Why policy or affinity were not granted, in words.
    pub(crate) refusals: Vec<Refusal>,
    pub(crate) migrations_before: Option<u64>,
    pub(crate) handle: JoinHandle<WorkerReport>,
}

/// Something that the kernel did not grant.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    Policy(String),
    Affinity(String),
}

/// Everything is granted or known to be refused; only this can run.
#[derive(Debug)]
pub struct Armed {
    pub(crate) plan: Plan,
    pub(crate) workers: Vec<Worker>,
    /// No schedule after this (ns on the measured clock); lowering it ends the run.
    pub(crate) last_schedule_ns: Arc<AtomicI64>,
    pub(crate) start_ns: Arc<AtomicI64>,
    pub(crate) memory_refused: Option<String>,
    pub(crate) dma: DmaLatencyHold,
    pub(crate) self_cost: SelfCost,
    pub(crate) controller_before: CpuSet,
    /// What records the causes of outliers, where that is asked and can be had.
    pub(crate) recorder: Option<Arc<Recorder>>,
    /// Why there is no recorder though one was asked for.
    pub(crate) no_recorder: Vec<String>,
    /// What recording costs, where it was measured.
    pub(crate) cost: Option<ExplainingCost>,
}

struct ArmReport {
    effective: Effective,
    refusals: Vec<Refusal>,
}

impl Armed {
    /// Locks memory, moves the controller away, starts the threads and waits until each is ready.
    ///
    /// What the kernel refuses is kept for the record's validity; the run can still be made.
    ///
    /// # Errors
    /// Where no run is possible at all.
    pub fn new(plan: Plan, stop: &Stop) -> Result<Self, ArmError> {
        let controller_before = kernel::sched::affinity_of(0).unwrap_or_default();
        // Measured where the threads will run, before anything is real-time.
        let self_cost = SelfCost::measure(plan.config.clock, plan.threads[0].cpu);
        // A controller that cannot move is told by `housekeeping`, which finish.rs compares with the measured CPUs.
        let _ = kernel::sched::set_affinity(0, &plan.housekeeping);
        let memory_refused =
            plan.config.lock_memory.then(kernel::memory::lock_on_fault).and_then(Result::err).map(|e| e.to_string());
        let dma = DmaLatencyHold::take(plan.config.hold_dma_latency_us);
        let trace = match plan.config.marked_break().map(|_| TraceMark::open()).transpose() {
            Ok(trace) => trace.map(Arc::new),
            Err(error) => return Err(ArmError::Trace(error)),
        };
        // Real-time threads without a watchdog could lock the machine up; a lower hard limit is a watchdog too.
        let _ = kernel::signals::arm_watchdog(WATCHDOG_S);
        let start_ns = Arc::new(AtomicI64::new(0));
        let mut armed = Self {
            workers: Vec::with_capacity(plan.threads.len()),
            last_schedule_ns: Arc::new(AtomicI64::new(i64::MAX)),
            start_ns,
            memory_refused,
            dma,
            self_cost,
            controller_before,
            recorder: None,
            no_recorder: Vec::new(),
            cost: None,
            plan,
        };
        armed.load_recorder();
        for thread in armed.plan.threads.clone() {
            match armed.start(thread, stop, trace.clone()) {
                Ok(worker) => armed.workers.push(worker),
                Err(error) => {
                    armed.abandon();
                    return Err(error);
                }
            }
        }
        Ok(armed)
    }

    /// Before any thread is real-time: loading changes code that runs on every CPU.
    fn load_recorder(&mut self) {
        if let Some(config) = self.plan.config.explain {
            let threads = Threads {
                real_time: self.plan.threads.iter().all(|thread| thread.policy.priority() > 0),
                may_move: self.plan.threads.iter().any(|thread| thread.cpu.is_none()),
            };
            let recorder = Recorder::new(&self.plan.measured, threads, self.plan.config.clock, config);
            if threads.may_move && !recorder.records() {
                let why = "counters tell nothing of threads that no CPU is named for: name CPUs, with a policy that allows it";
                self.no_recorder = recorder.missing().into_iter().chain([why.to_owned()]).collect();
                return;
            }
            self.recorder = Some(Arc::new(recorder));
        }
    }

    /// Explains the outliers of the run, where there is a recorder.
    pub(crate) fn explainer(&self) -> Option<Explainer> {
        let recorder = self.recorder.clone()?;
        let followed = |worker: &Worker| {
            let (policy, prio) = kernel_priority(worker.shared.plan.policy);
            let name = format!("punctual-w{}", worker.shared.plan.thread);
            Some(Followed {
                thread: worker.shared.plan.thread,
                cpu: worker.shared.plan.cpu,
                own: analyse::cause::Thread {
                    tid: worker.effective.tid,
                    name,
                    prio,
                    policy,
                    ..analyse::cause::Thread::default()
                },
                watched: worker.shared.watched.clone()?,
            })
        };
        let threads = self.workers.iter().filter_map(followed).collect();
        let deadline_ns = self.plan.config.deadline.map(units::Ns::unsigned);
        Some(Explainer::new(recorder, self.plan.config.explain.unwrap_or_default(), threads, deadline_ns))
    }

    fn start(&self, thread: ThreadPlan, stop: &Stop, trace: Option<Arc<TraceMark>>) -> Result<Worker, ArmError> {
        let number = thread.thread;
        let deadline = matches!(thread.policy, kernel::sched::Policy::Deadline { .. });
        let explained = self.recorder.as_ref();
        let above_ns = self.plan.config.explain.and_then(|explain| explain.above).map_or(i64::MAX, |above| above.0);
        let watched = explained.map(|_| Arc::new(Watched::new(above_ns)));
        let recorded = explained.cloned().zip(watched.clone());
        let shared = Arc::new(WorkerShared { ring: Ring::new(thread.ring_slots), plan: thread, watched });
        let (report, reported) = mpsc::sync_channel::<ArmReport>(1);
        let job = Job {
            shared: Arc::clone(&shared),
            config_clock: self.plan.config.clock,
            end: self.plan.config.end,
            break_ns: self.plan.config.breaktrace.map_or(i64::MAX, |limit| limit.0),
            memory_locked: self.memory_refused.is_none() && self.plan.config.lock_memory,
            start_ns: Arc::clone(&self.start_ns),
            last_schedule_ns: Arc::clone(&self.last_schedule_ns),
            watchdog: stop.watchdog(),
            trace,
            recorded,
        };
        let handle = thread::Builder::new()
            .name(format!("punctual-w{number}"))
            .stack_size(STACK_BYTES)
            .spawn(move || job.run(&report))
            .map_err(|error| ArmError::Thread { thread: number, error })?;
        match reported.recv_timeout(ARM_TIMEOUT) {
            Ok(ArmReport { refusals, .. }) if deadline && refusals.iter().any(|r| matches!(r, Refusal::Policy(_))) => {
                let why =
                    refusals.into_iter().find_map(|r| if let Refusal::Policy(why) = r { Some(why) } else { None });
                Err(ArmError::Deadline { error: io::Error::other(why.unwrap_or_default()) })
            }
            Ok(ArmReport { effective, refusals }) => Ok(Worker {
                migrations_before: crate::witness::migrations(effective.tid),
                shared,
                effective,
                refusals,
                handle,
            }),
            Err(_) => Err(ArmError::Stuck { thread: number }),
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
        if let End::After(duration) = self.plan.config.end {
            self.last_schedule_ns.store(start_ns.saturating_add(duration.0), Ordering::Release);
        }
        self.start_ns.store(start_ns, Ordering::Release);
        (clocks.moment(start_ns), start_ns, Duration::from_nanos(u64::try_from(wait_ns).unwrap_or(0)))
    }

    fn abandon(&mut self) {
        self.last_schedule_ns.store(i64::MIN, Ordering::Release);
        self.start_ns.store(i64::MIN, Ordering::Release);
        self.restore();
    }

    /// Gives back what was taken for the run.
    pub(crate) fn restore(&self) {
        let _ = kernel::sched::set_affinity(0, &self.controller_before);
        let _ = kernel::signals::arm_watchdog(0);
    }
}

/// What a measuring thread is born with.
struct Job {
    shared: Arc<WorkerShared>,
    config_clock: ClockId,
    end: End,
    break_ns: i64,
    memory_locked: bool,
    start_ns: Arc<AtomicI64>,
    last_schedule_ns: Arc<AtomicI64>,
    watchdog: Arc<AtomicBool>,
    trace: Option<Arc<TraceMark>>,
    /// The recorder of the run and what this thread shares with its explainer.
    recorded: Option<(Arc<Recorder>, Arc<Watched>)>,
}

impl Job {
    fn run(self, report: &mpsc::SyncSender<ArmReport>) -> WorkerReport {
        // All of this is only setting up.
        kernel::signals::block_all_but_watchdog();
        let mut refusals = Vec::new();
        let plan = &self.shared.plan;
        if let Some(cpu) = plan.cpu {
            if let Err(error) = crate::partition::pin(cpu) {
                refusals.push(Refusal::Affinity(format!("thread {} was not let onto CPU {cpu}: {error}", plan.thread)));
            }
        }
        kernel::sched::set_least_timer_slack();
        kernel::memory::touch_stack();
        if let Err(error) = kernel::sched::set_policy(plan.policy) {
            let (name, priority) = (plan.policy.name(), plan.policy.priority());
            refusals.push(Refusal::Policy(format!(
                "thread {} was refused policy {name} priority {priority}: {error}",
                plan.thread
            )));
        }
        let clock = KernelClock::from(self.config_clock);
        self.warm_up(clock);
        let tid = kernel::sched::thread_id();
        let (policy, priority) = kernel::sched::policy_of(0).unwrap_or(("unknown", 0));
        let affinity = kernel::sched::affinity_of(0).unwrap_or_default();
        let effective = Effective {
            thread: plan.thread,
            tid,
            policy: policy.to_owned(),
            priority,
            affinity,
            memory_locked: self.memory_locked,
        };
        // The controller that gave up waiting has dropped its end; then there is nothing to do but end.
        let _ = report.send(ArmReport { effective, refusals });
        let start_ns = self.wait_for_start();
        if start_ns == i64::MIN {
            return WorkerReport { counts: HotCounts::default(), usage: ThreadUsage::default() };
        }
        let interval_ns = i64::try_from(plan.interval_ns).unwrap_or(i64::MAX);
        let switches = self.recorded.as_ref().map(|(recorder, _)| recorder.switches(plan.cpu)).unwrap_or_default();
        let hot = HotLoop {
            clock,
            interval_ns,
            next: Schedule::at_ns(start_ns.saturating_add(plan.first_offset_ns)),
            last_schedule_ns: &self.last_schedule_ns,
            samples: if let End::Samples(samples) = self.end { samples } else { u64::MAX },
            break_ns: self.break_ns,
            ring: self.shared.ring.writer(),
            watchdog: &self.watchdog,
            trace: self.trace.as_deref(),
            outliers: self.recorded.as_ref().and_then(|(recorder, watched)| {
                let taken = recorder.taken(plan.cpu)?;
                Some(OutlierWatch { watched, armed: &switches, taken, may_move: plan.cpu.is_none() })
            }),
        };
        let before = ThreadUsage::now().unwrap_or_default();
        // This is the tool's loop.
        let counts = kernel::hot_section::enter(|| hot.run());
        let usage = ThreadUsage::now().unwrap_or_default().since(&before);
        WorkerReport { counts, usage }
    }

    /// A few turns into a ring of their own, so that code and data of the loop are resident.
    fn warm_up(&self, clock: KernelClock) {
        let ring = Ring::new(8);
        HotLoop {
            clock,
            interval_ns: 100_000,
            next: Schedule::at_ns(clock::now_ns(clock)),
            last_schedule_ns: &self.last_schedule_ns,
            samples: 4,
            break_ns: i64::MAX,
            ring: ring.writer(),
            watchdog: &self.watchdog,
            trace: None,
            outliers: None,
        }
        .run();
        let _ = ThreadUsage::now();
    }

    /// Sleeps in short steps until the order comes and the start is near: no lock that a starved thread could hold, and
    /// a run that is called off while it waits for its grid ends at once.
    fn wait_for_start(&self) -> i64 {
        let (step, measured) = (KernelClock::from(ClockId::Monotonic), KernelClock::from(self.config_clock));
        loop {
            let start_ns = self.start_ns.load(Ordering::Acquire);
            let called_off = self.last_schedule_ns.load(Ordering::Acquire) == i64::MIN;
            if start_ns != 0 && (called_off || start_ns.saturating_sub(clock::now_ns(measured)) <= LEAD_NS) {
                return start_ns;
            }
            let _ = clock::sleep_until(step, &Schedule::at_ns(clock::now_ns(step) + 2_000_000));
        }
    }
}

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
