//! The kernel's own trace, marked and stopped at the sample that broke the limit.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Open files of tracefs, so that the loop needs two writes and nothing else.
#[derive(Debug)]
pub struct TraceMark {
    marker: File,
    tracing_on: File,
}

/// Where tracefs is mounted: its own place, or the older one inside debugfs.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

impl TraceMark {
    /// Opens the marker and the switch of the global trace.
    ///
    /// # Errors
    /// Where tracefs is not mounted or the right to write to it is missing; the path is in the error.
    pub fn open() -> io::Result<Self> {
        let place =
            PLACES.iter().map(Path::new).find(|place| place.join("trace_marker").exists()).ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::NotFound,
                    "tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing",
                )
            })?;
        let open = |name: &str| {
            let path: PathBuf = place.join(name);
            OpenOptions::new()
                .write(true)
                .open(&path)
                .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))
        };
        Ok(Self { marker: open("trace_marker")?, tracing_on: open("tracing_on")? })
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
