//! A step of CLOCK_REALTIME by a known amount at a known moment.

use kernel::clock::{KernelClock, now_ns};
use record::Moment;
use units::{ClockId, Timestamp};

use super::{InjectError, sleep_until};
use lab::injection::{ClockStep, Injection};

/// The requested clock step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockStepPlan {
    /// Time of the step (ns of CLOCK_MONOTONIC).
    pub(crate) at_ns: i64,
    /// Size of the step (ns, positive: forwards).
    pub(crate) step_ns: i64,
}

/// Waits for the moment and steps the clock; returns the readings of both clocks before and after.
///
/// # Errors
/// If the moment is past, or the kernel does not allow the step.
pub(crate) fn step_clock(plan: &ClockStepPlan) -> Result<Injection, InjectError> {
    sleep_until(plan.at_ns)?;
    let before = moment();
    kernel::clock::step_realtime(plan.step_ns).map_err(InjectError::refused("a step of the realtime clock"))?;
    let after = moment();
    Ok(Injection::ClockStep(ClockStep { asked_at_ns: plan.at_ns, step_ns: plan.step_ns, before, after }))
}

/// Reads both clocks, CLOCK_MONOTONIC first: on it, the step is between `before` and `after`.
fn moment() -> Moment {
    Moment {
        monotonic: Timestamp::from_ns(now_ns(KernelClock::from(ClockId::Monotonic))),
        realtime: Timestamp::from_ns(now_ns(KernelClock::from(ClockId::Realtime))),
    }
}
