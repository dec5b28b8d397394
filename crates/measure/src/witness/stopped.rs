//! Whether this process was stopped: by SIGSTOP, a debugger, or a frozen control group.
//!
//! A thread of its own, the *sentinel*, blocks every signal and waits for a message that comes at the end of the run.
//! Such a wait can end early, with `EINTR`, only where the kernel itself takes the thread out of it: to stop it for
//! SIGSTOP, SIGTSTP or a debugger, or to freeze it for a control group or a suspend (signal(7), "Interruption of system
//! calls and library functions by stop signals"). A thread that merely gets no CPU, and a machine whose hypervisor runs
//! something else, never see that: so a busy host cannot be taken for a stop. It costs nothing while nothing happens.
//!
//! Not seen: a hypervisor that pauses the whole machine (that is stolen time, where it is counted at all), and a stop of
//! single measuring threads by a debugger, of which [`ReadBack`](super::read_back::ReadBack) sees what lasts a second.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use kernel::clock::{KernelClock, now_ns};
use units::{ClockId, CpuSet, format};

/// Without a timeout the kernel would restart an interrupted wait unnoticed (socket(7)).
const TIMEOUT: Duration = Duration::from_secs(86_400);
/// A measuring thread can wake this much before the sentinel does (ns).
const SAME_MOMENT_NS: i64 = 20_000_000;

/// One stop of this process, by a signal or a debugger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// This process was seen running then (ns, CLOCK_MONOTONIC), and not again before it went on.
    pub(crate) seen_running_ns: i64,
    /// When the process went on (ns, CLOCK_MONOTONIC).
    pub(crate) resumed: Resumed,
}

/// When a process went on after a stop (ns, CLOCK_MONOTONIC): between these two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resumed {
    /// When the sentinel ran, less all the time that it waited for a CPU, before the stop too.
    pub(crate) earliest_ns: i64,
    /// When the sentinel ran.
    pub(crate) latest_ns: i64,
}

impl Stop {
    /// The longest of the `waits`, each from a schedule to the wake-up (ns, CLOCK_MONOTONIC), that it swallowed; without what the
    /// thread waited for a CPU afterwards, which is no part of the stop. `None` where none of them is one.
    fn swallowed(&self, waits: &[(i64, i64)]) -> Option<(i64, i64)> {
        let Resumed { earliest_ns, latest_ns } = self.resumed;
        let swallowed =
            waits.iter().filter(|(from_ns, to_ns)| *from_ns < earliest_ns && *to_ns >= earliest_ns - SAME_MOMENT_NS);
        let (from_ns, to_ns) = swallowed.max_by_key(|(from_ns, to_ns)| to_ns - from_ns)?;
        let to_ns = *to_ns.min(&latest_ns);
        (to_ns - from_ns <= latest_ns - self.seen_running_ns).then_some((*from_ns, to_ns))
    }

    /// Since when the process did not run, at the earliest (ns, CLOCK_MONOTONIC).
    pub(crate) fn began_ns(&self, waits: &[(i64, i64)]) -> i64 {
        self.swallowed(waits).map_or(self.seen_running_ns, |(from_ns, _)| from_ns)
    }

    /// How long it lasted, in words: since the first schedule that it swallowed, where that is among the `waits`, else at
    /// most since the process was seen running.
    pub(crate) fn length(&self, waits: &[(i64, i64)]) -> String {
        match self.swallowed(waits) {
            Some((from_ns, to_ns)) => format!("for {}", format::span(to_ns - from_ns)),
            None => format!("for up to {}", format::span(self.resumed.latest_ns - self.seen_running_ns)),
        }
    }
}

/// A thread that notices stops of this process.
#[derive(Debug)]
pub(crate) struct Sentinel {
    resumed: Arc<Mutex<Vec<Resumed>>>,
    end: UnixDatagram,
    thread: JoinHandle<()>,
}

impl Sentinel {
    /// Begins to wait.
    ///
    /// # Errors
    /// Where no thread or socket is to be had.
    pub(crate) fn begin(housekeeping: CpuSet) -> std::io::Result<Self> {
        let (end, wait) = UnixDatagram::pair()?;
        wait.set_read_timeout(Some(TIMEOUT))?;
        let resumed = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&resumed);
        let thread =
            super::lookout::spawn("punctual-stop", super::lookout::LITTLE_STACK_BYTES, housekeeping, move || {
                let mut message = [0_u8; 1];
                let mut waited_ns = run_delay_ns();
                loop {
                    let received = wait.recv(&mut message);
                    let now_ns = now_ns(KernelClock::from(ClockId::Monotonic));
                    match received {
                        Err(error) if error.kind() == ErrorKind::Interrupted => {
                            // It went on when it could run again, which on a busy CPU is before it did.
                            let waits_ns = run_delay_ns();
                            let earliest_ns = now_ns - waits_ns.saturating_sub(waited_ns);
                            waited_ns = waits_ns;
                            let resumed = Resumed { earliest_ns, latest_ns: now_ns };
                            shared.lock().unwrap_or_else(PoisonError::into_inner).push(resumed);
                        }
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                        // Its message, or a socket that is gone with its run.
                        Ok(_) | Err(_) => return,
                    }
                }
            })?;
        Ok(Self { resumed, end, thread })
    }

    /// When the process went on, since the last call.
    pub(crate) fn take(&self) -> Vec<Resumed> {
        std::mem::take(&mut *self.resumed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the sentinel; what it still saw is returned.
    pub(crate) fn end(self) -> Vec<Resumed> {
        // Where the message does not arrive the thread is gone already.
        let _ = self.end.send(&[0]);
        let _ = self.thread.join();
        std::mem::take(&mut *self.resumed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How long the calling thread was able to run and waited for a CPU (ns; Documentation/scheduler/sched-stats.rst); 0
/// where the kernel does not say.
fn run_delay_ns() -> i64 {
    let text = crate::kernel_text::read("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_ascii_whitespace().nth(1).and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn sample(scheduled_ms: i64, latency_ms: i64) -> (i64, i64) {
        (scheduled_ms * MS, (scheduled_ms + latency_ms) * MS)
    }

    #[test]
    fn a_stop_is_as_long_as_the_schedules_that_it_swallowed() {
        let resumed = Resumed { earliest_ns: 2_000 * MS, latest_ns: 2_001 * MS };
        let stop = Stop { seen_running_ns: 1_000 * MS, resumed };
        let check = |waits: &[(i64, i64)], expected: &str| assert_eq!(stop.length(waits), expected);
        check(&[sample(1_499, 502), sample(1_498, 501), sample(1_990, 5)], "for 502 ms");
        // What got no CPU afterwards is no part of the stop.
        check(&[sample(1_499, 701)], "for 502 ms");
        // It woke before the sentinel did.
        check(&[sample(1_499, 490)], "for 490 ms");
        // Late for reasons of their own: before it, after it, and since before the process was last seen running.
        check(&[sample(1_100, 300), sample(2_001, 5)], "for up to 1 s");
        check(&[sample(900, 1_200)], "for up to 1 s");
        check(&[], "for up to 1 s");
        assert_eq!(stop.began_ns(&[sample(1_499, 502)]), 1_499 * MS);
        assert_eq!(stop.began_ns(&[sample(1_100, 300)]), 1_000 * MS);
    }

    #[test]
    fn a_busy_thread_and_signals_are_no_stop() {
        let sentinel = Sentinel::begin(kernel::sched::affinity_of(0).unwrap_or_default()).unwrap();
        // A process that goes on without having been stopped.
        kernel::process::signal(std::process::id(), kernel::process::Signal::Continue).unwrap();
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_millis(50) {
            std::hint::black_box(run_delay_ns());
        }
        assert!(sentinel.take().is_empty());
        assert!(sentinel.end().is_empty());
    }
}
