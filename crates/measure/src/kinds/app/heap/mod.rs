//! Calls of the memory allocator inside the loops of real-time threads, counted by probes on its functions: what it serves
//! from memory that it has makes no system call, and shows in no other event.
//!
//! A probe makes each call some microseconds longer, also for the process's other threads. So probes are placed in a thread's
//! process once its loop is recognized, and removed after [`LONGEST`] or [`ENOUGH`] calls, whichever comes first. They are
//! counters of this process (`kernel::perf`): with its end, however that comes, the kernel takes them out.

mod account;
mod probes;

use std::collections::HashMap;
use std::thread::JoinHandle;

use analysis::audit::ObservedAllocations;
use record::AllocationLook;
use units::format;

use self::account::{Account, Reading};
use self::probes::Probes;
use super::follow::Followed;
use super::thread::Thread;

/// Calls after which a thread's loop is known to allocate.
const ENOUGH: u64 = 1_000;
/// How long one thread's calls are counted (ns).
const LONGEST_NS: u64 = 10_000_000_000;
/// Threads that are probed.
const MOST_THREADS: usize = 8;

type Placed = Result<(Probes, Reading), String>;

/// What goes on with the probes of one thread.
enum Phase {
    /// They are being placed, on a thread of our own: it takes the kernel long.
    Placing(JoinHandle<Placed>),
    Counting(Probes),
    /// They are being removed, on a thread of our own.
    Removing(JoinHandle<()>),
    Over,
}

struct Watched {
    label: String,
    pid: u32,
    phase: Phase,
    functions: Vec<String>,
    call_ns: Option<u64>,
    account: Option<Account>,
    failed: Vec<String>,
}

/// The threads whose calls are counted.
pub(super) struct HeapWatch {
    watched: HashMap<u32, Watched>,
    left_out: Vec<u32>,
}

/// What came of it.
#[derive(Default)]
pub(super) struct HeapEnd {
    pub(super) look: AllocationLook,
    by_tid: HashMap<u32, Vec<ObservedAllocations>>,
}

impl HeapEnd {
    /// What a thread called inside its loop.
    pub(super) fn of_thread(&self, tid: u32) -> Vec<ObservedAllocations> {
        self.by_tid.get(&tid).cloned().unwrap_or_default()
    }
}

impl HeapWatch {
    pub(super) fn new() -> Self {
        Self { watched: HashMap::new(), left_out: Vec::new() }
    }

    /// Begins with threads whose loop is recognized by now, and goes on with the others. `is_wanted` names the threads that
    /// the run is about.
    pub(super) fn look(&mut self, followed: &mut Followed, is_wanted: impl Fn(&Thread) -> bool) {
        for thread in followed.threads.iter().filter(|thread| is_wanted(thread)) {
            let is_due = thread.real_time && thread.cycle.is_recognized() && !thread.ended;
            if !is_due || self.watched.contains_key(&thread.tid) || self.left_out.contains(&thread.tid) {
                continue;
            }
            if self.watched.len() >= MOST_THREADS {
                self.left_out.push(thread.tid);
                continue;
            }
            let (pid, tid) = (thread.pid, thread.tid);
            let placing =
                std::thread::Builder::new().name("punctual-probes".to_owned()).spawn(move || Probes::place(pid, tid));
            let (phase, failed) = match placing {
                Ok(placing) => (Phase::Placing(placing), Vec::new()),
                Err(error) => (Phase::Over, vec![error.to_string()]),
            };
            let label = format!("thread {} ({tid})", thread.name.text());
            let watched = Watched { label, pid, phase, functions: Vec::new(), call_ns: None, account: None, failed };
            self.watched.insert(tid, watched);
        }
        for (tid, watched) in &mut self.watched {
            watched.go_on(false);
            if let Phase::Counting(probes) = &watched.phase {
                let last_turn_ns = followed
                    .threads
                    .iter()
                    .find(|thread| thread.tid == *tid)
                    .and_then(|thread| thread.cycle.last_turn_ns());
                if let Some(account) = &mut watched.account {
                    account.look(last_turn_ns, || probes.read());
                }
            }
            watched.stop_if_enough();
        }
        self.mark_probed(followed);
    }

    /// Tells which page faults may be the probes' own.
    fn mark_probed(&self, followed: &mut Followed) {
        for watched in self.watched.values() {
            let probed = followed.probed.entry(watched.pid).or_default();
            if let Phase::Counting(probes) = &watched.phase {
                for address in &probes.addresses {
                    if !probed.addresses.contains(address) {
                        probed.addresses.push(*address);
                    }
                }
            }
        }
        for (pid, probed) in &mut followed.probed {
            let is_placing = |one: &Watched| one.pid == *pid && matches!(one.phase, Phase::Placing(_));
            probed.is_changing = self.watched.values().any(is_placing);
        }
    }

    /// Removes all probes, and says what was counted.
    pub(super) fn end(mut self, followed: &mut Followed) -> HeapEnd {
        for watched in self.watched.values_mut() {
            watched.go_on(true);
        }
        self.mark_probed(followed);
        for watched in self.watched.values_mut() {
            watched.remove();
            if let Phase::Removing(removing) = std::mem::replace(&mut watched.phase, Phase::Over) {
                let _ = removing.join();
            }
        }
        self.so_far()
    }

    /// What was counted until now.
    pub(super) fn so_far(&self) -> HeapEnd {
        let mut end = HeapEnd::default();
        let mut all: Vec<(&u32, &Watched)> = self.watched.iter().collect();
        all.sort_by_key(|(tid, _)| **tid);
        for (tid, watched) in all {
            watched.conclude(*tid, &mut end);
        }
        if !self.left_out.is_empty() {
            let many = format!("{} more threads: at most {MOST_THREADS} are probed", self.left_out.len());
            end.look.not_looked_for.push(many);
        }
        if end.look.threads.is_empty() && end.look.not_looked_for.is_empty() {
            let why = "no loop of a real-time thread was recognized, or it ended at once";
            end.look.not_looked_for.push(why.to_owned());
        }
        end
    }
}

impl Watched {
    /// Takes the probes over once they are placed; waits for that where it is the end.
    fn go_on(&mut self, waits: bool) {
        if !matches!(&self.phase, Phase::Placing(placing) if waits || placing.is_finished()) {
            return;
        }
        let Phase::Placing(placing) = std::mem::replace(&mut self.phase, Phase::Over) else { return };
        match placing.join() {
            Ok(Ok((probes, first))) => {
                self.functions.clone_from(&probes.functions);
                self.failed.clone_from(&probes.failed);
                self.call_ns = probes.call_ns;
                self.account = Some(Account::new(first));
                self.phase = Phase::Counting(probes);
            }
            Ok(Err(reason)) => self.failed.push(reason),
            Err(_) => self.failed.push("the probes could not be placed".to_owned()),
        }
    }

    fn stop_if_enough(&mut self) {
        let Some(account) = &self.account else { return };
        let called = units::total(account.times().unwrap_or_default());
        if called >= ENOUGH || account.counted_ns() >= LONGEST_NS {
            self.remove();
        }
    }

    fn remove(&mut self) {
        if !matches!(self.phase, Phase::Counting(_)) {
            return;
        }
        let Phase::Counting(probes) = std::mem::replace(&mut self.phase, Phase::Over) else { return };
        // The kernel takes as long as to place them; where no thread can be had, they are dropped here.
        let removing = std::thread::Builder::new().name("punctual-probes".to_owned()).spawn(move || drop(probes));
        if let Ok(removing) = removing {
            self.phase = Phase::Removing(removing);
        }
    }

    fn conclude(&self, tid: u32, end: &mut HeapEnd) {
        let look = &mut end.look;
        look.not_looked_for.extend(self.failed.iter().map(|why| format!("{}: {why}", self.label)));
        let Some(account) = &self.account else { return };
        let Some(times) = account.times() else {
            look.not_looked_for
                .push(format!("{}: the run or its loop ended before its calls could be counted", self.label));
            return;
        };
        let counted_ns = account.counted_ns();
        look.threads.push(format!("{} for {}", self.label, format::span(counted_ns)));
        for function in &self.functions {
            if !look.functions.contains(function) {
                look.functions.push(function.clone());
            }
        }
        look.call_ns = look.call_ns.or(self.call_ns);
        let calls = self.functions.iter().cloned().zip(times);
        let seen = calls.map(|(function, times)| ObservedAllocations { function, times, counted_ns }).collect();
        end.by_tid.insert(tid, seen);
    }
}
