//! An output and an input of GPIO chips, as loops know them that measure responses and answers.

use std::io;

use kernel::gpio::{EdgeLine, OutputLine, Waited};
use kernel::handover::CallFailed;

/// The error of a write that names none (`EIO`).
const UNNAMED_ERRNO: i32 = 5;

/// An output and an input. Nothing of it allocates or locks.
pub(crate) trait Wire: Send + Sync + 'static {
    /// Makes the output active or inactive.
    fn set(&self, active: bool) -> io::Result<()>;

    /// Waits for the next edge of the input to active, for so many milliseconds at most, without an end where that is below zero.
    fn wait(&self, timeout_ms: i32) -> Result<Waited, CallFailed>;

    /// Ends the wait of another thread, and each one from now on that would last.
    fn end_waits(&self);

    /// Whether the input is active.
    fn is_active(&self) -> io::Result<bool>;
}

/// The kernel's number of the error of a write.
#[cold]
pub(crate) fn errno_of(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(UNNAMED_ERRNO)
}

/// Two lines of GPIO chips.
pub(crate) struct TwoLines {
    pub(crate) output: OutputLine,
    pub(crate) input: EdgeLine,
}

impl Wire for TwoLines {
    #[inline(always)]
    fn set(&self, active: bool) -> io::Result<()> {
        self.output.set(active)
    }

    #[inline(always)]
    fn wait(&self, timeout_ms: i32) -> Result<Waited, CallFailed> {
        self.input.wait(timeout_ms)
    }

    fn end_waits(&self) {
        self.input.end_waits();
    }

    fn is_active(&self) -> io::Result<bool> {
        self.input.is_active()
    }
}
