//! Looks at a run from outside while it goes on, the same way for every kind of measurement: what the kernel granted, who
//! outranks the measuring threads, whether the process was stopped, the machine suspended, or what the record says of
//! clocks and idle states ceased to be true.
//!
//! A thread on the housekeeping CPUs does it once a second. What changes and changes back between two looks is not seen,
//! but for stops, which the [`Sentinel`] sees however short they are.

mod observations;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::RecvError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use units::format::span;

use kernel::clock::{KernelClock, now_ns};
use record::{Reason, ReasonCode};
use units::{ClockId, CpuSet};

pub(crate) use self::observations::LookoutObservations;
use super::memory::MemoryLock;
use super::read_back::{Grant, ReadBack};
use super::rivals::{Live, Rank, RivalWatch};
use super::stopped::{Resumed, Sentinel, Stop};
use crate::clock_watch::SuspendWatch;
use crate::disruption::{self, DisruptionWatch};
use crate::spoil::Spoil;
use crate::task_stat::read_short;

/// Stack of a thread that looks or waits: it prints nothing and parses little.
pub(crate) const LITTLE_STACK_BYTES: usize = 128 * 1024;
/// Between two looks.
const PERIOD: Duration = Duration::from_secs(1);
/// The same where no sample says when it was taken: it bounds how exactly the length of a stop is known.
const PERIOD_WITHOUT_TIMES: Duration = Duration::from_millis(100);
/// The same where somebody waits for what is seen.
const PERIOD_PUBLISHED: Duration = Duration::from_millis(250);
/// Between two looks at everything but the time (ns).
const WHOLE_LOOK_NS: i64 = 900_000_000;
/// Measuring threads that are asked about at one look; the others come next.
const MOST_THREADS: usize = 64;
/// Later than this after the last, a look came too late to say what happened in between (ns).
const LONGEST_GAP_NS: i64 = 10_000_000_000;
/// How long a thread may take to get to its CPUs before the run goes on without waiting for it.
const PLACED_WITHIN: Duration = Duration::from_secs(2);
/// A process is known to have run until this long before it was found to go on, at the latest (ns).
const BEFORE_NS: i64 = 20_000_000;

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// What the lookout is to look at.
#[derive(Debug)]
pub(crate) struct Orders {
    /// Where it runs.
    pub(crate) housekeeping: CpuSet,
    /// The controller's thread, where it is not the measuring one.
    pub(crate) controller: Option<u32>,
    /// CPUs that pinned threads measure, where the program's other threads must not run.
    pub(crate) measured: CpuSet,
    /// What the measuring threads were granted; none where others' threads are measured.
    pub(crate) grants: Vec<Grant>,
    /// Threads that others can outrank, with their CPUs; none where that is no disturbance.
    pub(crate) ranked: Vec<(CpuSet, Rank)>,
    /// What was asked about memory.
    pub(crate) memory: MemoryLock,
    /// The limit on the wake-up latency from idle states that the run holds (us).
    pub(crate) held_idle_limit_us: Option<u32>,
    /// Whether samples have times, so that a stop is found among them.
    pub(crate) has_times: bool,
    /// Whether what was seen is asked for while the run goes on.
    pub(crate) is_published: bool,
}

impl Orders {
    /// For threads that are pinned and take samples with times, while the calling thread controls them.
    pub(crate) fn of_pinned(
        grants: Vec<Grant>,
        measured: CpuSet,
        (housekeeping, memory): (&CpuSet, MemoryLock),
        is_published: bool,
    ) -> Self {
        Self {
            housekeeping: housekeeping.clone(),
            controller: Some(kernel::sched::thread_id()),
            measured,
            ranked: Self::ranked(&grants, &CpuSet::new()),
            grants,
            memory,
            held_idle_limit_us: None,
            has_times: true,
            is_published,
        }
    }

    /// The rank of each thread with the CPUs that it may run on; `measured` is where unpinned ones run.
    pub(crate) fn ranked(grants: &[Grant], measured: &CpuSet) -> Vec<(CpuSet, Rank)> {
        let of = |grant: &Grant| {
            let cpus = grant.wanted.cpu.map_or_else(|| measured.clone(), |cpu| CpuSet::from_iter([cpu]));
            (cpus, Rank::from(grant.wanted.policy))
        };
        grants.iter().map(of).collect()
    }

    fn controller_cpus(&self) -> CpuSet {
        self.controller.and_then(|tid| kernel::sched::affinity_of(tid).ok()).unwrap_or_default()
    }
}

/// The looking thread and the sentinel.
#[derive(Debug)]
pub(crate) struct Lookout {
    start_ns: Arc<AtomicI64>,
    /// What was seen until the last look, where somebody wants to know before the end.
    published: Arc<Mutex<Option<LookoutObservations>>>,
    looking: Looking,
}

/// A thread of the program's own beside the measuring ones: on the housekeeping CPUs, without real-time priority, and
/// without signals. Returns once it is there.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    stack_bytes: usize,
    housekeeping: CpuSet,
    job: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let (arrive, arrived) = std::sync::mpsc::sync_channel(1);
    let thread = thread::Builder::new().name(name.to_owned()).stack_size(stack_bytes).spawn(move || {
        kernel::signals::block_all();
        // The starting thread may be a measuring thread, whose place it must not share. A refusal of the affinity is
        // found where it is read back; SCHED_OTHER is refused only to a thread that has it, with a nice value.
        let _ = kernel::sched::set_policy(kernel::sched::Policy::Other);
        let _ = kernel::sched::set_affinity(0, &housekeeping);
        // Where nobody waits for it any more, it goes to work all the same.
        let _ = arrive.send(());
        job()
    })?;
    // It is born with the CPU and the priority of the calling thread, and gets there only while that one waits.
    let _ = arrived.recv_timeout(PLACED_WITHIN);
    Ok(thread)
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn monotonic_ns() -> i64 {
    now_ns(KernelClock::from(ClockId::Monotonic))
}

fn clock_source() -> Option<String> {
    read_short(CLOCK_SOURCE).ok().map(|name| name.trim().to_owned())
}

impl Lookout {
    /// Begins to look, once all measuring threads exist and have what they asked for. Where no thread is to be had, the
    /// run is looked at before and after it alone, which its record says.
    pub(crate) fn begin(orders: Orders) -> Self {
        let start_ns = Arc::new(AtomicI64::new(monotonic_ns()));
        let looks = Looks::new(orders, Arc::clone(&start_ns));
        let mut first = looks.so_far();
        let published = Arc::clone(&looks.published);
        let looking = looks.begin();
        if matches!(looking, Looking::Nobody(_)) {
            // Nothing is seen before the end, and nobody need wait for it: what is found then is about the whole run.
            first.looked_until_ns = i64::MAX;
        }
        let mut so_far = locked(&published);
        // The thread may have looked again meanwhile.
        so_far.get_or_insert(first);
        drop(so_far);
        Self { start_ns, published, looking }
    }

    /// Sets when the run begins (ns, CLOCK_MONOTONIC): times in the reasons count from there, and earlier stops are none.
    pub(crate) fn run_starts_at(&self, start_ns: i64) {
        self.start_ns.store(start_ns, Ordering::Relaxed);
    }

    /// What was seen until the last look, a second ago at most where the looking thread gets a CPU. Where there is none, what
    /// was seen before the run.
    pub(crate) fn so_far(&self) -> LookoutObservations {
        // It is set at the beginning and never cleared.
        locked(&self.published).clone().unwrap_or_else(|| unreachable!("there was a first look"))
    }

    /// Looks once more and concludes.
    pub(crate) fn end(self) -> LookoutObservations {
        let looks = self.looking.end();
        looks.conclude()
    }
}

/// The thread or process that looks.
#[derive(Debug)]
enum Looking {
    Thread { end: UnixDatagram, thread: JoinHandle<Result<Looks, RecvError>> },
    Nobody(Box<Looks>),
}

impl Looking {
    fn end(self) -> Looks {
        match self {
            Self::Thread { end, thread } => {
                // Where the message does not arrive the thread is gone already.
                let _ = end.send(&[0]);
                match thread.join() {
                    Ok(Ok(looks)) => looks,
                    Ok(Err(_)) => unreachable!("what it looks with was sent before this"),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Self::Nobody(mut looks) => {
                looks.look(true);
                *looks
            }
        }
    }
}

/// What the looking thread knows.
#[derive(Debug)]
struct Looks {
    orders: Orders,
    start_ns: Arc<AtomicI64>,
    sentinel: Option<Sentinel>,
    rivals: RivalWatch<Live>,
    suspend: SuspendWatch,
    /// How long the machine had been suspended at the last look (ns).
    suspended_ns: i64,
    disruptions: DisruptionWatch,
    /// Moments at which this process is known to have run (ns), the last few.
    ran_ns: Vec<i64>,
    whole_look_ns: i64,
    longest_gap_ns: i64,
    next_thread: usize,
    resolution_ns: Option<u64>,
    published: Arc<Mutex<Option<LookoutObservations>>>,
    seen: LookoutObservations,
}

impl Looks {
    fn new(orders: Orders, start_ns: Arc<AtomicI64>) -> Self {
        let (memory_locked, reason) = orders.memory.read_back();
        let seen = LookoutObservations {
            memory_locked,
            reasons: reason.into_iter().chain(orders.grants.iter().flat_map(Grant::reasons)).collect(),
            named: BTreeSet::new(),
            stops: Vec::new(),
            suspended_ns: 0,
            disrupted: Vec::new(),
            looked_until_ns: i64::MIN,
            idle_limit_us: crate::dma_latency::effective_us(),
            clock_source: clock_source(),
            online_cpus: crate::kernel_text::read(ONLINE).ok().and_then(|text| text.parse().ok()),
            housekeeping: orders.controller_cpus(),
            measured: orders.measured.clone(),
        };
        let sentinel = Sentinel::begin(orders.housekeeping.clone());
        let mut looks = Self {
            rivals: RivalWatch::new(Live, orders.ranked.clone()),
            suspend: SuspendWatch::new(),
            suspended_ns: 0,
            disruptions: DisruptionWatch::begin(Path::new(disruption::DEVICE)),
            ran_ns: Vec::new(),
            whole_look_ns: i64::MIN,
            longest_gap_ns: 0,
            next_thread: 0,
            resolution_ns: resolution_ns(),
            orders,
            start_ns,
            sentinel: None,
            published: Arc::default(),
            seen,
        };
        match sentinel {
            Ok(sentinel) => looks.sentinel = Some(sentinel),
            Err(error) => looks.lacks(&format!("stops of this process (no thread to be had: {error})")),
        }
        if let Some(why) = looks.disruptions.refusal().map(str::to_owned) {
            looks.lacks(&format!("moves of this virtual machine to another host ({why})"));
        }
        looks.look(true);
        looks
    }

    fn lacks(&mut self, what: &str) {
        self.seen.add(ReasonCode::EvidenceMissing, format!("not looked for during the run: {what}"));
    }

    fn begin(mut self) -> Looking {
        let (end, wait) = match UnixDatagram::pair() {
            Ok(pair) => pair,
            Err(error) => {
                self.lacks(&format!("rivals and changed settings ({error})"));
                return Looking::Nobody(Box::new(self));
            }
        };
        // Handed over once the thread is there, so that nothing is lost where none is to be had.
        let (give, take) = std::sync::mpsc::sync_channel::<Self>(1);
        let housekeeping = self.orders.housekeeping.clone();
        match spawn("punctual-look", LITTLE_STACK_BYTES, housekeeping, move || {
            take.recv().map(|looks| looks.run(&wait))
        }) {
            Ok(thread) => match give.send(self) {
                Ok(()) => Looking::Thread { end, thread },
                Err(unsent) => Looking::Nobody(Box::new(unsent.0)),
            },
            Err(error) => {
                self.lacks(&format!("rivals and changed settings (no thread to be had: {error})"));
                Looking::Nobody(Box::new(self))
            }
        }
    }

    fn run(mut self, wait: &UnixDatagram) -> Self {
        let period = match (self.orders.has_times, self.orders.is_published) {
            (true, false) => PERIOD,
            (true, true) => PERIOD_PUBLISHED,
            (false, _) => PERIOD_WITHOUT_TIMES,
        };
        // Refused only for a period of nothing.
        let _ = wait.set_read_timeout(Some(period));
        self.seen.housekeeping = self.seen.housekeeping.union(&kernel::sched::affinity_of(0).unwrap_or_default());
        loop {
            match wait.recv(&mut [0]) {
                Err(error) if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&error.kind()) => {
                    self.look(false);
                }
                // Its message, or a socket that is gone with its run.
                Ok(_) | Err(_) => {
                    self.look(true);
                    return self;
                }
            }
        }
    }

    fn look(&mut self, whole: bool) {
        let now_ns = monotonic_ns();
        let resumed = self.sentinel.as_ref().map(Sentinel::take).unwrap_or_default();
        self.note_stops(&resumed);
        if let Some(last_ns) = self.ran_ns.last() {
            if resumed.is_empty() {
                self.longest_gap_ns = self.longest_gap_ns.max(now_ns - last_ns);
            }
        }
        if self.ran_ns.len() == 8 {
            self.ran_ns.remove(0);
        }
        let since_ns = self.ran_ns.last().copied().unwrap_or(now_ns);
        self.ran_ns.push(now_ns);
        self.look_at_time(since_ns, now_ns);
        // The thread that notices stops had from the look before until now to say so. It did not run while the process was stopped,
        // and neither did this one.
        self.seen.looked_until_ns = since_ns;
        if whole || now_ns.saturating_sub(self.whole_look_ns) >= WHOLE_LOOK_NS {
            self.whole_look_ns = now_ns;
            self.look_at_threads(now_ns);
            self.look_at_machine(now_ns);
            self.rivals.look(now_ns);
            if self.orders.is_published {
                *locked(&self.published) = Some(self.so_far());
            }
        } else if self.orders.is_published {
            if let Some(published) = locked(&self.published).as_mut() {
                published.look_at_times_of(&self.seen, self.start_ns.load(Ordering::Relaxed));
            }
        }
    }

    fn note_stops(&mut self, resumed: &[Resumed]) {
        for &resumed in resumed {
            let before_ns = resumed.earliest_ns - BEFORE_NS;
            let looks = self.ran_ns.iter().copied().filter(|ran_ns| *ran_ns <= before_ns);
            let stops = self.seen.stops.last().map(|stop| stop.resumed.latest_ns);
            let first_look = self.ran_ns.first().copied();
            let seen_running_ns = looks.chain(stops).max().or(first_look).unwrap_or(before_ns).min(resumed.latest_ns);
            self.seen.stops.push(Stop { seen_running_ns, resumed });
        }
    }

    fn look_at_threads(&mut self, now_ns: i64) {
        let count = self.orders.grants.len();
        for at in (0..count.min(MOST_THREADS)).map(|n| (self.next_thread + n) % count) {
            let grant = &self.orders.grants[at];
            if let Some(now) = grant.first.as_ref().and_then(|first| ReadBack::read(first.tid)) {
                self.seen.add_changes(grant, &now, &|| time_in_run(&self.start_ns, now_ns));
            }
        }
        self.next_thread = (self.next_thread + MOST_THREADS) % count.max(1);
    }

    /// Whether the machine stood still since the last look, or its clocks did.
    fn look_at_time(&mut self, since_ns: i64, now_ns: i64) {
        let start_ns = Arc::clone(&self.start_ns);
        let when = || time_in_run(&start_ns, now_ns);
        let between = |code, detail| Spoil {
            from_ns: since_ns,
            to_ns: now_ns,
            noticed_ns: now_ns,
            reason: Reason { code, detail },
        };
        if let Some(disrupted) = self.disruptions.look() {
            let detail = format!("{}, seen {}", disrupted.words(), when());
            self.seen.disrupted.push(between(ReasonCode::VmDisrupted, detail.clone()));
            self.seen.add_once(ReasonCode::VmDisrupted, detail);
        }
        let suspended_ns = self.suspend.suspended_ns();
        if suspended_ns > self.suspended_ns {
            let detail = format!("suspended for {}, seen {}", span(suspended_ns - self.suspended_ns), when());
            self.suspended_ns = suspended_ns;
            self.seen.disrupted.push(between(ReasonCode::Suspended, detail));
        }
    }

    fn look_at_machine(&mut self, now_ns: i64) {
        let start_ns = Arc::clone(&self.start_ns);
        let when = || time_in_run(&start_ns, now_ns);
        let limit_us = crate::dma_latency::effective_us();
        if limit_us != self.seen.idle_limit_us {
            let (before, now) = (limit_text(self.seen.idle_limit_us), limit_text(limit_us));
            let detail = format!("it changed from {before} to {now}, seen {}", when());
            self.seen.add_once(ReasonCode::IdleLimit, detail);
        }
        let source = clock_source();
        if source != self.seen.clock_source {
            let name = |source: &Option<String>| source.clone().unwrap_or_else(|| "unknown".to_owned());
            let detail = format!("from {} to {}, seen {}", name(&self.seen.clock_source), name(&source), when());
            self.seen.add_once(ReasonCode::ClockSourceChanged, detail);
        }
        if let Some((before_ns, now_ns)) = self.resolution_ns.zip(resolution_ns()).filter(|(before, now)| before != now)
        {
            let (before, now) = (span(before_ns), span(now_ns));
            let detail = format!("the resolution of timers from {before} to {now}, seen {}", when());
            self.seen.add_once(ReasonCode::ClockSourceChanged, detail);
        }
    }

    fn conclude(mut self) -> LookoutObservations {
        let resumed = self.sentinel.take().map(Sentinel::end).unwrap_or_default();
        self.note_stops(&resumed);
        self.so_far()
    }

    /// What all looks until now saw.
    fn so_far(&self) -> LookoutObservations {
        let Self { orders, rivals, start_ns, longest_gap_ns, suspend, .. } = self;
        let mut seen = self.seen.clone();
        // A run can wait a long time for the moment that it begins at.
        let start_ns = start_ns.load(Ordering::Relaxed);
        seen.stops.retain(|stop| stop.resumed.latest_ns > start_ns);
        seen.suspended_ns = suspend.suspended_ns();
        seen.housekeeping = seen.housekeeping.union(&orders.controller_cpus());
        if let Some(detail) = rivals.text(start_ns) {
            seen.add(ReasonCode::RivalRealtime, detail);
        }
        if !orders.ranked.is_empty() {
            if let Some(why) = unseen_rivals() {
                seen.add(ReasonCode::EvidenceMissing, why.to_owned());
            }
        }
        seen.judge_gap(*longest_gap_ns);
        if let Some(held_us) = orders.held_idle_limit_us {
            // A smaller limit of somebody else's is in force then, and holds this one too.
            if seen.idle_limit_us.is_none_or(|in_force_us| in_force_us > held_us) {
                let in_force = limit_text(seen.idle_limit_us);
                seen.add(ReasonCode::IdleLimit, format!("{held_us} us were asked for, and {in_force} was in force"));
            }
        }
        seen
    }
}

/// `2 s into the run`.
fn time_in_run(start_ns: &AtomicI64, now_ns: i64) -> String {
    let start_ns = start_ns.load(Ordering::Relaxed);
    format!("{} into the run", span(now_ns.saturating_sub(start_ns).max(0)))
}

/// Why some threads that outrank the measuring ones are not seen here, where that is so.
pub(super) fn unseen_rivals() -> Option<&'static str> {
    if !kernel::tracefs::counts_like_the_trace() {
        return Some("threads that outrank the measuring ones are not seen outside of this container");
    }
    // What hides process 1 hides all of other users.
    let is_hidden = fs::read_dir("/proc/1/task").is_err();
    is_hidden
        .then_some("threads of other users that outrank the measuring ones are not seen: /proc hides them (hidepid)")
}

fn resolution_ns() -> Option<u64> {
    kernel::clock::resolution_ns(KernelClock::from(ClockId::Monotonic)).ok()
}

fn limit_text(limit_us: Option<u32>) -> String {
    limit_us.map_or_else(|| "no limit".to_owned(), |us| format!("{us} us"))
}

#[cfg(test)]
mod tests;
