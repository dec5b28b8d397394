//! The kernel's own trace, marked and stopped at the sample that broke the limit.

use std::fs::{File, OpenOptions};
use std::io;
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

    /// Leaves the mark and stops the trace; a failed write changes nothing about the sample.
    pub(crate) fn mark_and_stop(&self) {
        use std::io::Write as _;
        let _ = (&self.marker).write(b"punctual: latency above the limit of --breaktrace");
        let _ = (&self.tracing_on).write(b"0");
    }
}
