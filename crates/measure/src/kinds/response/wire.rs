//! Whether a wire joins the two lines, before anything is measured.

use kernel::gpio::Waited;

use super::ResponseError;
use crate::wire::Wire;

/// Edges that are tried before a pair of lines is taken for one that no wire joins.
const TRIES: u32 = 3;
/// How long the event of each of them is waited for (ms).
const TRY_MS: i32 = 200;

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
