//! The kernel's own trace, marked and stopped at the sample that broke the limit.

use std::fs::File;
use std::io::Write as _;

use kernel::tracefs::{TraceError, Tracefs};

/// Open files of tracefs, so that the loop needs two writes and nothing else.
#[derive(Debug)]
pub struct TraceMark {
    marker: File,
    tracing_on: File,
}

impl TraceMark {
    /// Opens the marker and the switch of the global trace.
    ///
    /// # Errors
    /// Where tracefs cannot be reached, or the right to write to it is missing.
    pub fn open() -> Result<Self, TraceError> {
        let tracefs = Tracefs::find()?;
        Ok(Self { marker: tracefs.open_to_write("trace_marker")?, tracing_on: tracefs.open_to_write("tracing_on")? })
    }

    /// Makes a mark and throws it away, so that the code that makes it is resident.
    pub(crate) fn warm_up() {
        std::hint::black_box(mark(i64::MAX, i64::MIN));
    }

    /// Leaves the mark and stops the trace; a failed write changes nothing about the sample.
    pub(crate) fn mark_and_stop(&self, latency_ns: i64, limit_ns: i64) {
        let (text, length) = mark(latency_ns, limit_ns);
        let _ = (&self.marker).write(&text[..length]);
        let _ = (&self.tracing_on).write(b"0");
    }
}

/// The mark's text in a buffer on the stack, since a measuring thread writes it; the words are those that scripts look
/// for in cyclictest's.
fn mark(latency_ns: i64, limit_ns: i64) -> ([u8; MARK_BYTES], usize) {
    let mut text = [0; MARK_BYTES];
    let mut rest = text.as_mut_slice();
    // It has room for the longest.
    let _ = write!(rest, "punctual: hit latency threshold ({latency_ns} ns > {limit_ns} ns)");
    let left = rest.len();
    (text, MARK_BYTES - left)
}

const MARK_BYTES: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_mark_fits() {
        let (text, length) = mark(i64::MIN, i64::MIN);
        let expected = "punctual: hit latency threshold (-9223372036854775808 ns > -9223372036854775808 ns)";
        assert_eq!(std::str::from_utf8(&text[..length]).unwrap(), expected);
    }
}
