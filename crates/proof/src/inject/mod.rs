//! Injects known faults into a machine under test: the truth that an instrument has to find.
//!
//! Each injector logs its true start and end by its own readings of the clock; [`Injection`](lab::injection::Injection)
//! is one line of that log. The kernel module `modules/inject` makes the delays that need interrupts off.

mod clock_step;
mod command;
mod delays;
mod explained;
mod hog;
mod pulse;

pub(crate) use command::InjectArgs;
use hog::MAX_HOG_NS;

/// Why a fault was not injected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InjectError {
    /// The requested moment is past.
    #[error("the moment {at_ns} ns of CLOCK_MONOTONIC is past: now it is {now_ns} ns; choose a later moment")]
    Past {
        /// The requested moment (ns).
        at_ns: i64,
        /// The current time (ns).
        now_ns: i64,
    },
    /// The length is not positive, or would lock up the machine.
    #[error(
        "a hog of {length_ns} ns is out of range: 1 to {MAX_HOG_NS} ns are possible, so that the machine stays responsive"
    )]
    Length {
        /// The requested length (ns).
        length_ns: i64,
    },
    /// The plan is invalid.
    #[error("{what}")]
    Plan {
        /// What is invalid, with its bound.
        what: String,
    },
    /// The kernel refused an operation.
    #[error("the kernel refused {what}: {error}")]
    Refused {
        /// The operation that failed, in words.
        what: String,
        /// The kernel's error.
        error: std::io::Error,
    },
}

impl InjectError {
    fn refused(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::Refused { what: what.into(), error }
    }
}

/// Sleeps until `at_ns` on CLOCK_MONOTONIC, even if signals interrupt the sleep.
fn sleep_until(at_ns: i64) -> Result<(), InjectError> {
    let clock = kernel::clock::KernelClock::from(units::ClockId::Monotonic);
    let now_ns = kernel::clock::now_ns(clock);
    if now_ns >= at_ns {
        return Err(InjectError::Past { at_ns, now_ns });
    }
    let schedule = kernel::clock::Schedule::at_ns(at_ns);
    while kernel::clock::now_ns(clock) < at_ns {
        // Only a signal ends the sleep early; then the loop sleeps again.
        let _ = kernel::clock::sleep_until(clock, &schedule);
    }
    Ok(())
}
