//! A jump of the realtime clock by a known amount at a known moment.

use kernel::clock::{KernelClock, now_ns};
use record::Moment;
use units::{ClockId, Timestamp};

use super::truth::{ClockStep, Injection};
use super::{InjectError, sleep_until};

/// What is asked of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStepPlan {
    /// When (ns of CLOCK_MONOTONIC).
    pub at_ns: i64,
    /// By how much the realtime clock jumps, forward positive (ns).
    pub step_ns: i64,
}

/// Waits for the moment, moves the clock, and tells when that was, on both clocks before and after.
///
/// # Errors
/// Where the moment is past, or the kernel does not let the clock be moved.
pub fn step_clock(plan: &ClockStepPlan) -> Result<Injection, InjectError> {
    sleep_until(plan.at_ns)?;
    let before = moment();
    kernel::clock::step_realtime(plan.step_ns).map_err(InjectError::refused("a step of the realtime clock"))?;
    let after = moment();
    Ok(Injection::ClockStep(ClockStep { asked_at_ns: plan.at_ns, step_ns: plan.step_ns, before, after }))
}

/// Both clocks, the monotonic one first: the step lies between `before` and `after` on it.
fn moment() -> Moment {
    Moment {
        monotonic: Timestamp::from_ns(now_ns(KernelClock::from(ClockId::Monotonic))),
        realtime: Timestamp::from_ns(now_ns(KernelClock::from(ClockId::Realtime))),
    }
}
