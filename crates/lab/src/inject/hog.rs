//! A real-time thread that takes a CPU for a known time.

use kernel::clock::{KernelClock, now_ns};
use kernel::sched::{Policy, set_affinity, set_policy};
use units::{ClockId, CpuSet};

use super::truth::{Delay, Injection, Kind};
use super::{InjectError, sleep_until};

/// The longest that a hog may be (ns): below the soft lockup detector's patience by far, and what the kernel's real-time
/// throttle (950 ms of each second by default) still lets pass whole.
pub const MAX_HOG_NS: i64 = 900_000_000;

/// How long the thread sleeps after it gave the CPU back (ns): what its process does next, printing and ending, takes a
/// millisecond of SCHED_OTHER time, which a measurement of SCHED_OTHER threads would see as part of the hog.
const REST_NS: i64 = 30_000_000;

/// What a hog is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HogPlan {
    /// The CPU that it takes.
    pub cpu: u32,
    /// Its SCHED_FIFO priority (1 to 99).
    pub priority: u32,
    /// When it asks to be woken (ns of CLOCK_MONOTONIC).
    pub start_ns: i64,
    /// How long it stays (ns, up to [`MAX_HOG_NS`]).
    pub length_ns: i64,
}

/// Waits for its moment, takes the CPU, gives it back, and tells what truly happened.
///
/// The calling thread is SCHED_OTHER again before this returns: what it does afterwards, printing or ending, delays no
/// real-time thread. It runs until `length_ns` after its first reading, so a late start is not a short hog.
///
/// # Errors
/// Where the moment is past or the kernel refuses priority or CPU; the thread is SCHED_OTHER then as well.
pub fn hog(plan: &HogPlan) -> Result<Injection, InjectError> {
    if !(1..=MAX_HOG_NS).contains(&plan.length_ns) {
        return Err(InjectError::Length { length_ns: plan.length_ns });
    }
    let clock = KernelClock::from(ClockId::Monotonic);
    // A refused lock costs a fault at worst, and the log tells the truth all the same.
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
    // Nothing between the last reading and this: what would stand here would prolong the hog unlogged.
    let released = set_policy(Policy::Other);
    slept?;
    sleep_until(true_end_ns.saturating_add(REST_NS)).or_else(|late| match late {
        // So late that the rest is over already, as on a machine with much to do.
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
    fn it_stays_at_least_as_long_as_asked_and_leaves_no_priority_behind() {
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
        // On a busy machine the moment may be past before the thread has its CPU.
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
    fn what_would_lock_the_machine_up_is_refused() {
        for length_ns in [0, -1, MAX_HOG_NS + 1] {
            let plan = HogPlan { cpu: 0, priority: 1, start_ns: i64::MAX, length_ns };
            assert!(matches!(hog(&plan), Err(InjectError::Length { .. })), "{length_ns}");
        }
    }

    #[test]
    fn a_moment_that_is_past_is_told_and_not_made_up_for() {
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
