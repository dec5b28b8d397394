//! One thread: when it was made runnable, ran, slept, and what it called.

use std::collections::HashMap;
use std::sync::Arc;

use analysis::audit::ObservedFaults;
use record::Preemption;
use trace::{Call, Name, Work};

use super::cycle::{Cycle, Ended, Wait, use_of};
use super::host::Host;
use super::samples::{Frame, Samples};
use super::timers::{Expiry, Offsets};
use crate::witness::LEAST_STOP_NS;

/// The kernel's count of priorities: below this real-time or deadline (include/linux/sched/prio.h, `MAX_RT_PRIO`).
const REAL_TIME_BELOW: i32 = 100;
/// The kernel's numbers of SCHED_FIFO's and SCHED_RR's priorities (include/linux/sched/prio.h); ordinary and idle threads
/// lie above, SCHED_DEADLINE below.
const REAL_TIME_PRIORITIES: std::ops::Range<i32> = 0..100;
/// Threads that preempted this one that are distinguished.
const MOST_PREEMPTERS: usize = 64;
/// Long waits of one thread that are kept, so that a machine that is late all the time does not fill the memory.
const MOST_LONG_WAITS: usize = 65_536;
/// Results of calls that a signal broke off: `EINTR`, and the kernel's own `ERESTART…` (include/linux/errno.h).
const EINTR: i64 = -4;
const ERESTARTSYS: i64 = -512;
const ERESTART_RESTARTBLOCK: i64 = -516;

/// What made a thread runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The function of a timer; with the moment that the timer was set for, where that was seen (ns).
    Timer(Option<i64>),
    /// Another thread; with the moment of the timer that made that one runnable, directly or through others (ns).
    Thread(Option<i64>),
    /// An interrupt that was no timer's: a packet, a device.
    Interrupt,
}

impl Cause {
    /// The moment of the timer at its beginning (ns).
    const fn moment_ns(self) -> Option<i64> {
        match self {
            Self::Timer(moment_ns) | Self::Thread(moment_ns) => moment_ns,
            Self::Interrupt => None,
        }
    }
}

/// Probes that the instrument has placed in a process: faults that they make are not the program's.
#[derive(Debug, Default)]
pub(super) struct Probed {
    /// Where breakpoints stand or stood.
    pub(super) addresses: Vec<u64>,
    /// Whether some are being placed, so that not all addresses are known.
    pub(super) is_changing: bool,
}

impl Probed {
    /// Whether a fault at `address` may come from a breakpoint: the kernel gives its page a private copy.
    fn has_made(&self, address: u64) -> bool {
        self.addresses.iter().any(|probed| probed / LARGEST_PAGE == address / LARGEST_PAGE)
    }
}

/// The largest page of code that Linux is built with (bytes): no more than the pages around the probes are passed over.
const LARGEST_PAGE: u64 = 64 << 10;

/// A call that goes on.
#[derive(Clone, Copy, Debug)]
struct Open {
    wait: Wait,
    number: i64,
    began_ns: u64,
    slept: bool,
    /// The moment of a timer that had expired before the call, which then did not wait (ns).
    overdue_ns: Option<i64>,
}

/// How a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// Ready to go on.
    Runnable,
    /// Waiting for what a program waits for, or ended.
    Waits,
    /// Waiting for something of the kernel's own: a lock, a disk.
    WaitsInKernel,
}

/// What events need besides themselves.
pub(super) struct Around<'a> {
    pub(super) offsets: Offsets,
    pub(super) host: &'a mut dyn Host,
}

/// A thread that was seen.
pub(super) struct Thread {
    frame: Frame,
    pub(super) tid: u32,
    pub(super) pid: u32,
    pub(super) name: Name,
    pub(super) earlier_names: Vec<String>,
    pub(super) calls: Option<Arc<[Call]>>,
    /// By the kernel's count, as last seen; boosted by a lock's inheritance too.
    priority: Option<i32>,
    /// Its own policy and priority, as the kernel reported when asked.
    pub(super) policy: Option<(&'static str, u32)>,
    pub(super) policy_changes: u64,
    pub(super) ask_policy: bool,
    /// Whether it was ever seen at a real-time priority; samples before that do not count.
    pub(super) real_time: bool,
    /// The real-time thread that made it.
    pub(super) made_by: Option<String>,
    /// Whether somebody set its policy.
    pub(super) set_on_purpose: bool,
    runnable_ns: Option<u64>,
    /// Whether it has a CPU, by the last switch or by what it did since; absent before either.
    has_cpu: Option<bool>,
    /// Switches that gave it a CPU and were not written down: it runs, and was not seen to begin.
    pub(super) arrivals_left_out: u64,
    /// How often it was stopped, by a signal or by a debugger, and for how long in all (ns).
    pub(super) halts: (u64, u64),
    halted_ns: Option<u64>,
    call: Option<Open>,
    restart: Option<Open>,
    /// What made it runnable last, within the call that goes on.
    cause: Option<Cause>,
    /// The moment of the timer that made it runnable last, directly or through other threads (ns).
    pub(super) moment_ns: Option<i64>,
    /// Whether it waits for something of the kernel's own, a lock or a disk, within a call.
    waits_in_kernel: bool,
    /// The last wait that has ended and that no timer is known to have ended.
    last_wait: Option<Ended>,
    preempted_ns: Option<(u64, Name)>,
    /// Whether what it waits for is the end of a stop by a limit of the kernel's on real-time threads.
    is_stopped: bool,
    /// Such stops, and how long they were in all (ns).
    pub(super) stops: u64,
    pub(super) stopped_ns: u64,
    /// Waits after a wake-up (ns) at whose end the CPU was taken from an ordinary or idle thread: a limit of the kernel's on
    /// real-time threads can have made them, or a kernel that did not switch at once.
    pub(super) long_waits_ns: Vec<u64>,
    preempters: HashMap<Name, Preemption>,
    pub(super) preempted: u64,
    pub(super) sleeps: u64,
    pub(super) run: Samples,
    pub(super) cycle: Cycle,
    pub(super) faults: ObservedFaults,
    pub(super) stack_faults: ObservedFaults,
    /// Those of `faults` that may have been of its stack: it had ended before its stack could be asked for.
    pub(super) unplaced_faults: u64,
    pub(super) events: u64,
    pub(super) ended: bool,
}

impl Thread {
    pub(super) fn new(tid: u32, pid: u32, name: Name, frame: Frame) -> Self {
        Self {
            frame,
            tid,
            pid,
            name,
            earlier_names: Vec::new(),
            calls: None,
            priority: None,
            policy: None,
            policy_changes: 0,
            ask_policy: true,
            real_time: false,
            made_by: None,
            set_on_purpose: false,
            runnable_ns: None,
            has_cpu: None,
            arrivals_left_out: 0,
            halts: (0, 0),
            halted_ns: None,
            call: None,
            restart: None,
            cause: None,
            moment_ns: None,
            waits_in_kernel: false,
            last_wait: None,
            preempted_ns: None,
            is_stopped: false,
            stops: 0,
            stopped_ns: 0,
            long_waits_ns: Vec::new(),
            preempters: HashMap::new(),
            preempted: 0,
            sleeps: 0,
            run: Samples::new(frame, false),
            cycle: Cycle::new(frame),
            faults: ObservedFaults::default(),
            stack_faults: ObservedFaults::default(),
            unplaced_faults: 0,
            events: 0,
            ended: false,
        }
    }

    pub(super) fn rename(&mut self, name: Name) {
        if self.name != name {
            self.earlier_names.push(std::mem::replace(&mut self.name, name).text());
        }
    }

    /// Whether `wanted` is its number or one of its names.
    pub(super) fn is_called(&self, wanted: &str) -> bool {
        self.name.text() == wanted
            || self.earlier_names.iter().any(|name| name == wanted)
            || wanted.parse() == Ok(self.tid)
    }

    #[inline]
    fn seen_at(&mut self, priority: i32) {
        if self.priority != Some(priority) {
            self.priority = Some(priority);
            self.ask_policy = true;
            if priority < REAL_TIME_BELOW && !self.real_time {
                self.become_real_time();
            }
        }
    }

    /// What it did before does not count.
    fn become_real_time(&mut self) {
        self.real_time = true;
        self.run = Samples::new(self.frame, false);
        self.cycle = Cycle::new(self.frame);
        self.runnable_ns = None;
        self.preempters.clear();
        (self.preempted, self.sleeps, self.arrivals_left_out) = (0, 0, 0);
        (self.stops, self.stopped_ns) = (0, 0);
        self.long_waits_ns.clear();
        self.halts = (0, 0);
    }

    /// Another program's loop is another loop.
    pub(super) fn forget_loop(&mut self) {
        self.cycle = Cycle::new(self.frame);
        self.call = None;
        self.last_wait = None;
    }

    /// Asks the kernel for its own policy: the priority in events may be lent.
    pub(super) fn resolve_policy(&mut self, host: &mut dyn Host) {
        self.ask_policy = false;
        let Some(policy) = host.policy(self.tid).filter(|_| !self.ended) else { return };
        let is_real_time = matches!(policy.0, "fifo" | "rr" | "deadline");
        if self.real_time && self.policy.is_some_and(|before| before != policy) {
            self.policy_changes += 1;
        }
        // By the kernel's own word, since the switch that would have shown it may have been left out of the trace.
        if is_real_time && !self.real_time {
            self.become_real_time();
        }
        // Only lent: it never had one of its own.
        if !is_real_time && self.policy.is_none_or(|(name, _)| !matches!(name, "fifo" | "rr" | "deadline")) {
            self.real_time = false;
        }
        self.policy = Some(policy);
    }

    /// Policy and priority, the kernel's answer or else what the events showed.
    pub(super) fn scheduling(&self) -> (String, u32) {
        match (self.policy, self.priority) {
            (Some((name, priority)), _) => (name.to_owned(), priority),
            (None, Some(priority)) if priority < 0 => ("deadline".to_owned(), 0),
            (None, Some(priority)) if priority < REAL_TIME_BELOW => {
                ("real-time".to_owned(), u32::try_from(REAL_TIME_BELOW - 1 - priority).unwrap_or(0))
            }
            _ => ("other".to_owned(), 0),
        }
    }

    pub(super) fn waking(&mut self, time_ns: u64, cause: Cause) {
        // The kernel makes nobody runnable who is: an earlier wake-up belongs to a wait that is over.
        self.runnable_ns = Some(time_ns);
        // The end of a wait of the kernel's own is no reason for the call's return.
        if !self.waits_in_kernel {
            self.cause = Some(cause);
            self.moment_ns = cause.moment_ns();
        }
    }

    pub(super) fn off_cpu(&mut self, time_ns: u64, priority: i32, state: Left, to: Name, to_priority: i32) {
        let runnable = state == Left::Runnable;
        self.seen_at(priority);
        self.has_had_cpu();
        self.has_cpu = Some(false);
        if runnable {
            // An earlier wake-up came while it still ran: it did not wait for a CPU then.
            self.runnable_ns = None;
            self.preempted_ns = Some((time_ns, to));
            // No thread of a lower class gets the CPU of a ready real-time thread, but by one of the kernel's limits.
            self.is_stopped = REAL_TIME_PRIORITIES.contains(&priority) && to_priority >= REAL_TIME_PRIORITIES.end;
        } else {
            self.waits_in_kernel = state == Left::WaitsInKernel;
            self.sleeps += 1;
            if let Some(call) = &mut self.call {
                call.slept = true;
            }
        }
    }

    /// It left its CPU to stand still, by a signal or by a debugger.
    pub(super) fn halted(&mut self, time_ns: u64) {
        self.halts.0 += 1;
        self.halted_ns = Some(time_ns);
    }

    /// It got a CPU, from a thread of the other priority.
    pub(super) fn on_cpu(&mut self, time_ns: u64, priority: i32, from_priority: i32) {
        if let Some(since_ns) = self.halted_ns.take() {
            self.halts.1 += time_ns.saturating_sub(since_ns);
        }
        self.seen_at(priority);
        self.has_cpu = Some(true);
        self.waits_in_kernel = false;
        if let Some(runnable_ns) = self.runnable_ns.take() {
            self.run.take(signed(runnable_ns), signed(time_ns));
            let length_ns = time_ns.saturating_sub(runnable_ns);
            let is_limited = REAL_TIME_PRIORITIES.contains(&priority) && from_priority >= REAL_TIME_PRIORITIES.end;
            let is_kept = signed(length_ns) >= LEAST_STOP_NS && self.long_waits_ns.len() < MOST_LONG_WAITS;
            if is_limited && is_kept {
                self.long_waits_ns.push(length_ns);
            }
        }
        if let Some((since_ns, by)) = self.preempted_ns.take() {
            let length_ns = time_ns.saturating_sub(since_ns);
            self.preempted += 1;
            if std::mem::take(&mut self.is_stopped) {
                self.stops += 1;
                self.stopped_ns += length_ns;
            }
            if self.preempters.len() < MOST_PREEMPTERS || self.preempters.contains_key(&by) {
                let preemption = self.preempters.entry(by).or_default();
                preemption.times += 1;
                preemption.total_ns += length_ns;
                preemption.longest_ns = preemption.longest_ns.max(length_ns);
            }
        }
    }

    /// It does something, or gives way, so it had a CPU: where it was not seen to get one, that switch was left out.
    fn has_had_cpu(&mut self) {
        if self.has_cpu.replace(true) == Some(false) {
            self.arrivals_left_out += 1;
            (self.runnable_ns, self.preempted_ns, self.is_stopped) = (None, None, false);
        }
    }

    pub(super) fn enter(&mut self, time_ns: u64, number: i64, arguments: &[u64; 4]) {
        // It runs: an earlier wake-up came before it had gone to sleep.
        self.runnable_ns = None;
        self.has_had_cpu();
        self.cause = None;
        let Some(calls) = &self.calls else { return };
        let call = Call::from_number(number, calls);
        if call == Call::RestartSyscall {
            self.call = self.restart.take().map(|call| Open { number, ..call });
            return;
        }
        self.call =
            Some(Open { wait: use_of(call, arguments), number, began_ns: time_ns, slept: false, overdue_ns: None });
    }

    /// It sets a timer again that had expired while nobody waited: it was too busy to. The wait that returned at once for
    /// that reason was due at the moment of the timer.
    pub(super) fn sets_again(&mut self, expired: &Expiry, is_sleep_s: bool) {
        let Some(call) = &mut self.call else { return };
        match call.wait.what.call.work() {
            // Its own time-out, that has nothing to do with the one before.
            _ if is_sleep_s => {}
            Work::Input | Work::Timer | Work::Wait => {
                let since = |wait: &Ended| wait.ended_ns >= expired.began_ns;
                if let Some(wait) = self.last_wait.take().filter(since) {
                    self.cycle.was_due(&wait, expired.scheduled_ns);
                } else if call.wait.what.call.work() != Work::Timer {
                    call.overdue_ns = Some(expired.scheduled_ns);
                }
            }
            _ => {}
        }
    }

    /// A call has ended; returns its wait, if the program's interface is known.
    pub(super) fn exit(&mut self, time_ns: u64, number: i64, result: i64, around: &mut Around<'_>) -> Option<Wait> {
        self.runnable_ns = None;
        self.has_had_cpu();
        let call = self.call.take().filter(|call| call.number == number)?;
        let cause = self.cause.take();
        let moment_ns = match cause {
            Some(Cause::Timer(moment_ns)) => moment_ns,
            _ => call.overdue_ns,
        };
        let by_timer = matches!(cause, Some(Cause::Timer(_)));
        if result == ERESTART_RESTARTBLOCK && !by_timer {
            self.restart = Some(call);
            return None;
        }
        // A signal is how these end, and a timer's signal is what a program may wait for in any call.
        let ends_by_signal = by_timer || matches!(call.wait.what.call, Call::Pause | Call::SigSuspend);
        let broken = !ends_by_signal && (result == EINTR || (ERESTART_RESTARTBLOCK..=ERESTARTSYS).contains(&result));
        let ended = Ended {
            wait: call.wait,
            began_ns: call.began_ns,
            ended_ns: time_ns,
            slept: call.slept,
            scheduled_ns: moment_ns.filter(|_| !broken),
            cause,
            broken,
        };
        if call.wait.what.call.work() == Work::Wait {
            self.last_wait = Some(ended).filter(|ended| ended.scheduled_ns.is_none());
        }
        let (pid, host) = (self.pid, &mut *around.host);
        self.cycle.ended(&ended, &mut |descriptor| host.target(pid, descriptor));
        (result >= 0).then_some(call.wait)
    }

    /// Sorts out which faults inside the loop were of its stack; those that are still undecided wait for the next call.
    /// `probed` is what the instrument itself has placed in the memory of its process.
    pub(super) fn sort_faults(&mut self, host: &mut dyn Host, probed: Option<&Probed>, last: bool) {
        if self.cycle.taken_faults.is_empty() {
            return;
        }
        let stack = host.stack(self.pid, self.tid);
        if stack.is_none() && !last && !self.ended {
            return;
        }
        if probed.is_some_and(|probed| probed.is_changing) && !last {
            return;
        }
        let area = probed.and_then(|_| host.probe_area(self.pid));
        let start_ns = u64::try_from(self.frame.first_ns).unwrap_or(0);
        for (address, time_ns) in self.cycle.taken_faults.drain(..) {
            let is_in_area = area.is_some_and(|(from, to)| (from..to).contains(&address));
            if is_in_area || probed.is_some_and(|probed| probed.has_made(address)) {
                continue;
            }
            // Where its stack was can no longer be asked: it is a page fault, of what is not known.
            self.unplaced_faults += u64::from(stack.is_none());
            let is_stack = stack.is_some_and(|(from, to)| (from..to).contains(&address));
            let faults = if is_stack { &mut self.stack_faults } else { &mut self.faults };
            if faults.times == 0 {
                faults.first_ns = time_ns.saturating_sub(start_ns);
            }
            faults.times += 1;
        }
    }

    /// Who preempted it, the longest in all first.
    pub(super) fn preempted_by(&self) -> Vec<Preemption> {
        let named = |(name, preemption): (&Name, &Preemption)| Preemption { name: name.text(), ..preemption.clone() };
        let mut all: Vec<Preemption> = self.preempters.iter().map(named).collect();
        all.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
        all
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}
