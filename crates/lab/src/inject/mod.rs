//! Known faults, made by this program inside a machine under test: the truth that an instrument has to find again.
//!
//! Each injector logs when it truly began and ended, by its own readings of the clock; [`Injection`] is one line of that
//! log. What needs interrupts off is the kernel module's (`modules/inject`), whose log [`Injection::from_module_line`]
//! reads.

mod clock_step;
mod delays;
mod explained;
mod hog;
mod pulse;
mod truth;

pub use clock_step::{ClockStepPlan, step_clock};
pub use delays::{DelaysPlan, MAX_DELAY_NS, MODULE_FOLDER, delays};
pub use explained::{Explained, explained};
pub use hog::{HogPlan, MAX_HOG_NS, hog};
pub use pulse::{MAX_PULSES, MIN_INTERVAL, PulsePlan, PulseTruth, pulse};
pub use truth::{ClockStep, Delay, Injection, Kind, LineError};

/// Why a fault was not made.
#[derive(Debug, thiserror::Error)]
pub enum InjectError {
    /// The moment has gone by.
    #[error("the moment {at_ns} ns of CLOCK_MONOTONIC is past: it is {now_ns} now; name a later one")]
    Past {
        /// What was asked (ns).
        at_ns: i64,
        /// What the clock shows (ns).
        now_ns: i64,
    },
    /// A length that would lock the machine up, or none.
    #[error("a hog of {length_ns} ns is out of range: 1 to {MAX_HOG_NS}, which leaves the machine alive")]
    Length {
        /// What was asked (ns).
        length_ns: i64,
    },
    /// A plan that cannot be kept.
    #[error("{what}")]
    Plan {
        /// What, with its bound.
        what: String,
    },
    /// The kernel refused something.
    #[error("the kernel refused {what}: {error}")]
    Refused {
        /// What was asked of it.
        what: String,
        /// Its reason.
        error: std::io::Error,
    },
}

impl InjectError {
    fn refused(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::Refused { what: what.into(), error }
    }
}

/// Sleeps until `at_ns` on CLOCK_MONOTONIC, however often a signal ends the sleep.
fn sleep_until(at_ns: i64) -> Result<(), InjectError> {
    let clock = kernel::clock::KernelClock::from(units::ClockId::Monotonic);
    let now_ns = kernel::clock::now_ns(clock);
    if now_ns >= at_ns {
        return Err(InjectError::Past { at_ns, now_ns });
    }
    let schedule = kernel::clock::Schedule::at_ns(at_ns);
    while kernel::clock::now_ns(clock) < at_ns {
        // Only a signal ends it early, and the loop then sleeps again.
        let _ = kernel::clock::sleep_until(clock, &schedule);
    }
    Ok(())
}
