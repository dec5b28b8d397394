//! All threads of a program, as they come, change and go. Pure but for what it asks its host.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use analysis::audit::Detail;
use trace::{Abi, Body, Call, Event, Name, Work};

use super::host::Host;
use super::samples::Frame;
use super::thread::{Around, Cause, Left, Probed, Thread};
use super::timers::{ExecutionContext, Timers};
use crate::clock_watch::ClockWatch;

/// Threads that are kept account of; a program that makes more is followed in these.
const MOST_THREADS: usize = 4_096;

/// Thread ids are spread already; the common hasher costs more than the rest of an event.
#[derive(Default)]
pub(super) struct TidHasher(u64);

impl Hasher for TidHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    }

    fn write_u32(&mut self, tid: u32) {
        // Fibonacci hashing: the upper bits, which the table uses too, depend on all of the number.
        self.0 = u64::from(tid).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Places that are remembered, as a power of two.
const RECENT: usize = 512;
/// Instead of a place: a thread that is not followed.
const NOT_FOLLOWED: u32 = u32::MAX;

/// Where the threads stand that events named last, followed or not: a look at one place, before the table is searched.
struct Recent([(u32, u32); RECENT]);

impl Recent {
    fn new() -> Self {
        // No thread has this number: numbers end at 2^22 (include/linux/threads.h, `PID_MAX_LIMIT`).
        Self([(u32::MAX, NOT_FOLLOWED); RECENT])
    }

    #[inline(always)]
    fn entry(&mut self, tid: u32) -> &mut (u32, u32) {
        &mut self.0[usize::try_from(tid).unwrap_or(0) % RECENT]
    }
}

/// A process that was seen.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) name: Name,
    /// Its calls by their numbers.
    pub(super) calls: Option<Arc<[Call]>>,
    /// Locked and resident (bytes), as last read.
    pub(super) memory: Option<(u64, u64)>,
}

/// The threads and processes of a program.
pub(super) struct Followed {
    frame: Frame,
    pub(super) threads: Vec<Thread>,
    by_tid: HashMap<u32, usize, BuildHasherDefault<TidHasher>>,
    recent: Recent,
    timers: Timers,
    pub(super) processes: HashMap<u32, Process>,
    /// By process: what the instrument itself has placed in its memory.
    pub(super) probed: HashMap<u32, Probed>,
    tables: Vec<(Abi, Arc<[Call]>)>,
    /// Threads beyond those that are kept account of.
    pub(super) too_many: u64,
}

impl Followed {
    pub(super) fn new(frame: Frame) -> Self {
        Self {
            frame,
            threads: Vec::new(),
            by_tid: HashMap::default(),
            recent: Recent::new(),
            timers: Timers::default(),
            processes: HashMap::new(),
            probed: HashMap::new(),
            tables: Vec::new(),
            too_many: 0,
        }
    }

    /// Takes in a thread that is there already; nothing where it is known.
    pub(super) fn add(&mut self, tid: u32, pid: u32, name: Name, host: &mut dyn Host) {
        if self.by_tid.contains_key(&tid) {
            return;
        }
        if !self.processes.contains_key(&pid) {
            let calls = self.calls_of(pid, host);
            self.processes.insert(pid, Process { pid, name, calls, memory: None });
        }
        let calls = self.processes.get(&pid).and_then(|process| process.calls.clone());
        if let Some(thread) = self.insert(tid, pid, name) {
            thread.calls = calls;
            thread.resolve_policy(host);
        }
    }

    fn insert(&mut self, tid: u32, pid: u32, name: Name) -> Option<&mut Thread> {
        if self.threads.len() >= MOST_THREADS {
            self.too_many += 1;
            return None;
        }
        self.place(tid, self.threads.len());
        self.threads.push(Thread::new(tid, pid, name, self.frame));
        self.threads.last_mut()
    }

    fn calls_of(&mut self, pid: u32, host: &mut dyn Host) -> Option<Arc<[Call]>> {
        let abi = host.abi(pid)?;
        if let Some((_, table)) = self.tables.iter().find(|(known, _)| *known == abi) {
            return Some(Arc::clone(table));
        }
        let table: Arc<[Call]> = abi.table().into();
        self.tables.push((abi, Arc::clone(&table)));
        Some(table)
    }

    fn place(&mut self, tid: u32, place: usize) {
        self.by_tid.insert(tid, place);
        *self.recent.entry(tid) = (tid, u32::try_from(place).unwrap_or(NOT_FOLLOWED));
    }

    fn displace(&mut self, tid: u32) -> Option<usize> {
        *self.recent.entry(tid) = (tid, NOT_FOLLOWED);
        self.by_tid.remove(&tid)
    }

    #[inline]
    fn thread_mut(&mut self, tid: u32) -> Option<&mut Thread> {
        let entry = self.recent.entry(tid);
        if entry.0 != tid {
            let place = self.by_tid.get(&tid).and_then(|place| u32::try_from(*place).ok());
            *entry = (tid, place.unwrap_or(NOT_FOLLOWED));
        }
        // Beyond all threads where it is not followed.
        let thread = self.threads.get_mut(usize::try_from(entry.1).unwrap_or(usize::MAX))?;
        thread.events += 1;
        Some(thread)
    }

    /// Takes an event in; they come in the order of time.
    #[inline]
    pub(super) fn event(&mut self, cpu: u32, event: &Event, around: &mut Around<'_>) {
        let time_ns = event.time_ns;
        match event.body {
            Body::Switch { from, from_priority, runnable, interruptible, stopped, to, to_priority, to_name } => {
                if let Some(thread) = self.thread_mut(from) {
                    let state = match (runnable, interruptible || stopped) {
                        (true, _) => Left::Runnable,
                        (false, true) => Left::Waits,
                        (false, false) => Left::WaitsInKernel,
                    };
                    thread.off_cpu(time_ns, from_priority, state, to_name, to_priority);
                    if stopped {
                        thread.halted(time_ns);
                    }
                }
                if let Some(thread) = self.thread_mut(to) {
                    thread.on_cpu(time_ns, to_priority, from_priority);
                }
            }
            Body::Waking { tid, .. } => {
                let cause = match self.timers.cause(cpu, event.level, event.tid) {
                    Some(moment_ns) => Cause::Timer(moment_ns),
                    None if event.level.is_interrupt() => Cause::Interrupt,
                    None => Cause::Thread(self.thread_mut(event.tid).and_then(|thread| thread.moment_ns)),
                };
                if let Some(thread) = self.thread_mut(tid) {
                    thread.waking(time_ns, cause);
                }
            }
            Body::Enter { number, arguments } => {
                if let Some(thread) = self.thread_mut(event.tid) {
                    thread.enter(time_ns, number, &arguments);
                }
            }
            Body::Exit { number, result } => {
                let Some(thread) = self.thread_mut(event.tid) else { return };
                let ended = thread.exit(time_ns, number, result, around);
                if let Some(wait) = ended.filter(|wait| wait.what.call.work() == Work::Schedule) {
                    debug_assert_eq!(wait.what.detail, Detail::Nothing);
                    self.scheduling_was_set(event.tid, wait.on, around.host);
                }
            }
            Body::TimerStart { timer, function, expires_ns } => {
                let missed = self.timers.start(timer, function, expires_ns);
                if let Some(expiry) = missed.filter(|_| !event.level.is_interrupt()) {
                    let is_sleep_s = self.frame.sleep_function == Some(expiry.function);
                    if let Some(thread) = self.thread_mut(event.tid) {
                        thread.sets_again(&expiry, is_sleep_s);
                    }
                }
            }
            Body::TimerExpire { timer, now_ns } => {
                let at = ExecutionContext { cpu, level: event.level, tid: event.tid };
                self.timers.expire(at, timer, now_ns, time_ns, &around.offsets);
            }
            Body::TimerDone { .. } => self.timers.done(cpu, event.level),
            Body::Fault { address } => {
                if !event.level.is_interrupt() {
                    if let Some(thread) = self.thread_mut(event.tid) {
                        thread.cycle.fault(address, time_ns);
                    }
                }
            }
            Body::New { tid, name, same_process } => self.made(event.tid, tid, name, same_process),
            Body::Rename { tid, name } => self.renamed(tid, name),
            Body::End { tid } => self.ended(tid),
            Body::Exec { tid, old_tid } => self.runs_another_program(tid, old_tid, around.host),
        }
    }

    /// A thread set the policy of `target`, 0 for its own; in a container by the number that it has there.
    fn scheduling_was_set(&mut self, by: u32, target: u64, host: &mut dyn Host) {
        let pid = self.by_tid.get(&by).map_or(by, |&place| self.threads[place].pid);
        let named = u32::try_from(target).ok().filter(|target| *target != 0);
        let Some(target) = named.map_or(Some(by), |number| host.outside(pid, number)) else { return };
        if let Some(&place) = self.by_tid.get(&target) {
            let thread = &mut self.threads[place];
            thread.set_on_purpose = true;
            // At once: the threads that it makes next inherit this, and no switch may come before them.
            thread.resolve_policy(host);
        }
    }

    fn made(&mut self, by: u32, tid: u32, name: Name, same_process: bool) {
        let Some(&maker) = self.by_tid.get(&by) else { return };
        let maker = &self.threads[maker];
        let made_by = maker.real_time.then(|| maker.name.text());
        let (pid, calls) = (if same_process { maker.pid } else { tid }, maker.calls.clone());
        if !same_process {
            self.processes.insert(tid, Process { pid, name, calls: calls.clone(), memory: None });
        }
        if let Some(thread) = self.insert(tid, pid, name) {
            thread.calls = calls;
            thread.made_by = made_by;
        }
    }

    fn renamed(&mut self, tid: u32, name: Name) {
        if let Some(thread) = self.thread_mut(tid) {
            thread.rename(name);
            if thread.tid == thread.pid {
                if let Some(process) = self.processes.get_mut(&tid) {
                    process.name = name;
                }
            }
        }
    }

    fn ended(&mut self, tid: u32) {
        if let Some(place) = self.displace(tid) {
            self.threads[place].ended = true;
        }
    }

    fn runs_another_program(&mut self, tid: u32, old_tid: u32, host: &mut dyn Host) {
        if tid != old_tid {
            // The thread that called it goes on under the number of its process.
            if let Some(place) = self.displace(old_tid) {
                self.ended(tid);
                self.threads[place].tid = tid;
                self.place(tid, place);
            }
        }
        let calls = self.calls_of(tid, host);
        if let Some(process) = self.processes.get_mut(&tid) {
            process.calls.clone_from(&calls);
            process.memory = None;
        }
        if let Some(thread) = self.thread_mut(tid) {
            thread.calls = calls;
            thread.forget_loop();
        }
    }

    /// Counts what was noted, and asks the kernel for what the events left open: after each batch of them.
    pub(super) fn ask(&mut self, host: &mut dyn Host, clocks: &ClockWatch, memory: bool) {
        for thread in &mut self.threads {
            thread.run.flush(clocks);
            thread.cycle.flush(clocks);
            if thread.ask_policy && !thread.ended {
                thread.resolve_policy(host);
            }
        }
        self.sort_faults(host, false);
        if memory {
            for process in self.processes.values_mut() {
                process.memory = host.memory(process.pid).or(process.memory);
            }
        }
    }

    /// Sorts each thread's page faults, as far as they can be by now.
    pub(super) fn sort_faults(&mut self, host: &mut dyn Host, last: bool) {
        for thread in &mut self.threads {
            thread.sort_faults(host, self.probed.get(&thread.pid), last);
        }
    }

    /// Whether all threads that were ever seen have ended.
    pub(super) fn is_empty(&self) -> bool {
        self.by_tid.is_empty()
    }
}
