//! A real-time thread that occupies a CPU for a known time.

use kernel::clock::{KernelClock, now_ns};
use kernel::sched::{Policy, set_affinity, set_policy};
use units::{ClockId, CpuSet};

use super::{InjectError, sleep_until};
use lab::injection::{Delay, Injection, Kind};

/// Longest hog (ns): far below the soft lockup detector's limit, and short enough that the kernel's real-time throttle
/// (950 ms of each second by default) does not interrupt it.
pub(crate) const MAX_HOG_NS: i64 = 900_000_000;

/// How long the thread sleeps after it has released the CPU (ns). Printing and ending takes its process a millisecond
/// as SCHED_OTHER, which a measurement of SCHED_OTHER threads would see as part of the hog.
const REST_NS: i64 = 30_000_000;

/// The requested hog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HogPlan {
    /// The CPU to occupy.
    pub(crate) cpu: u32,
    /// SCHED_FIFO priority (1 to 99).
    pub(crate) priority: u32,
    /// Requested wake-up time (ns of CLOCK_MONOTONIC).
    pub(crate) start_ns: i64,
    /// How long it occupies the CPU (ns, 1 to [`MAX_HOG_NS`]).
    pub(crate) length_ns: i64,
}

/// Waits for its start time, occupies the CPU, releases it, and returns what really happened.
///
/// The calling thread is SCHED_OTHER again before this returns: printing or ending afterwards does not delay real-time
/// threads. It runs until `length_ns` after its first reading, so a late start does not make the hog shorter.
///
/// # Errors
/// If the moment is past, or the kernel refuses priority or CPU; the thread is SCHED_OTHER then as well.
pub(crate) fn hog(plan: &HogPlan) -> Result<Injection, InjectError> {
    if !(1..=MAX_HOG_NS).contains(&plan.length_ns) {
        return Err(InjectError::Length { length_ns: plan.length_ns });
    }
    let clock = KernelClock::from(ClockId::Monotonic);
    // If locking is refused, the worst case is a page fault, and the log is still true.
    let _ = kernel::memory::lock_on_fault();
    kernel::memory::touch_stack();
    set_affinity(0, &CpuSet::from_iter([plan.cpu])).map_err(InjectError::refused(format!("CPU {}", plan.cpu)))?;
    set_policy(Policy::Fifo(plan.priority))
        .map_err(InjectError::refused(format!("SCHED_FIFO priority {}", plan.priority)))?;
    let slept = sleep_until(plan.start_ns);
    let true_start_ns = now_ns(clock);
    let mut true_end_ns = true_start_ns;
    if slept.is_ok() {
        while true_end_ns - true_start_ns < plan.length_ns {
            true_end_ns = now_ns(clock);
        }
    }
    // No code between the last reading and this: it would prolong the hog without being logged.
    let released = set_policy(Policy::Other);
    slept?;
    sleep_until(true_end_ns.saturating_add(REST_NS)).or_else(|late| match late {
        // On a busy machine the time for the sleep may be over already.
        InjectError::Past { .. } => Ok(()),
        other => Err(other),
    })?;
    released.map_err(InjectError::refused("SCHED_OTHER after the hog"))?;
    Ok(Injection::Delay(Delay {
        kind: Kind::Hog,
        cpu: plan.cpu,
        priority: plan.priority,
        asked_start_ns: plan.start_ns,
        asked_length_ns: plan.length_ns,
        true_start_ns,
        true_end_ns,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lasts_at_least_as_long_as_requested_and_drops_its_priority() {
        let once = || {
            std::thread::spawn(|| {
                let cpu = kernel::sched::affinity_of(0).unwrap().first().unwrap();
                let start_ns = now_ns(KernelClock::from(ClockId::Monotonic)) + 20_000_000;
                let outcome = hog(&HogPlan { cpu, priority: 1, start_ns, length_ns: 100_000 });
                assert_eq!(kernel::sched::policy_of(0).unwrap().0, "other");
                outcome
            })
            .join()
            .unwrap()
        };
        // On a busy machine the moment may be past before the thread gets its CPU.
        let mut outcome = once();
        for _ in 0..100 {
            if matches!(outcome, Err(InjectError::Past { .. })) {
                outcome = once();
            }
        }
        match outcome {
            Ok(Injection::Delay(delay)) => {
                assert!(delay.true_start_ns >= delay.asked_start_ns);
                assert!(delay.true_end_ns - delay.true_start_ns >= delay.asked_length_ns);
            }
            Err(InjectError::Refused { .. }) => println!("not run: real-time priorities are not granted here"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lengths_that_would_lock_up_the_machine_are_refused() {
        for length_ns in [0, -1, MAX_HOG_NS + 1] {
            let plan = HogPlan { cpu: 0, priority: 1, start_ns: i64::MAX, length_ns };
            assert!(matches!(hog(&plan), Err(InjectError::Length { .. })), "{length_ns}");
        }
    }

    #[test]
    fn a_moment_that_is_past_is_an_error() {
        std::thread::spawn(|| {
            let cpu = kernel::sched::affinity_of(0).unwrap().first().unwrap();
            let outcome = hog(&HogPlan { cpu, priority: 1, start_ns: 1, length_ns: 1 });
            assert!(matches!(outcome, Err(InjectError::Past { .. } | InjectError::Refused { .. })), "{outcome:?}");
            assert_eq!(kernel::sched::policy_of(0).unwrap().0, "other");
        })
        .join()
        .unwrap();
    }
}
