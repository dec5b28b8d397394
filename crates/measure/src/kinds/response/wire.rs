//! The two lines and the wire between them, as the loops know it.

use std::io;

use kernel::gpio::{EdgeLine, OutputLine, Waited};
use kernel::handover::CallFailed;

use super::ResponseError;

/// Edges that are tried before a pair of lines is taken for one that no wire joins.
const TRIES: u32 = 3;
/// How long the event of each of them is waited for (ms).
const TRY_MS: i32 = 200;
/// The error of a write that names none (`EIO`).
const UNNAMED_ERRNO: i32 = 5;

/// An output and an input that a wire joins. Nothing of it allocates or locks.
pub(super) trait Wire: Send + Sync + 'static {
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
pub(super) fn errno_of(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(UNNAMED_ERRNO)
}

/// Two lines of GPIO chips.
pub(super) struct LoopBack {
    pub(super) output: OutputLine,
    pub(super) input: EdgeLine,
}

impl Wire for LoopBack {
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

/// Whether an edge of the output brings an event of the input, before any thread is started. The output is inactive afterwards.
///
/// # Errors
/// If none comes, with what to do.
pub(super) fn try_edges(wire: &impl Wire, (output, input): (&str, &str)) -> Result<(), ResponseError> {
    let mut follows = true;
    for _ in 0..TRIES {
        wire.set(true).map_err(ResponseError::Write)?;
        let came = matches!(wire.wait(TRY_MS), Ok(Waited::Edge(_)));
        follows &= wire.is_active().is_ok_and(|is_active| is_active);
        wire.set(false).map_err(ResponseError::Write)?;
        follows &= wire.is_active().is_ok_and(|is_active| !is_active);
        if came {
            // What rang on the wire is no event of the run.
            while matches!(wire.wait(0), Ok(Waited::Edge(_))) {}
            return Ok(());
        }
    }
    let (output, input) = (output.to_owned(), input.to_owned());
    Err(if follows { ResponseError::NoEvents { output, input } } else { ResponseError::NotJoined { output, input } })
}
