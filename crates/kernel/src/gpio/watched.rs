//! Several lines of a chip of which each edge is reported.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use super::{EVENT_RISING, GET_VALUES, RawEvent, RawValues, ask};

/// Lines that this process has as inputs, of which each edge is reported to it.
#[derive(Debug)]
pub struct WatchedLines {
    pub(super) file: OwnedFd,
    /// Their numbers, in the order of the request.
    pub(super) offsets: Vec<u32>,
}

/// An edge of a watched line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchedEdge {
    /// Which line, counted from 0 in the order in which they were taken.
    pub line: usize,
    /// The kernel's stamp (ns, CLOCK_MONOTONIC).
    pub at_ns: i64,
    /// Whether it led to the high level. The level is read after the edge: of a pulse that is over by then, both edges lead to one level.
    pub is_rising: bool,
    /// Its number among the edges of this line, from 1 on.
    pub number: u32,
}

impl WatchedLines {
    /// Whether each line is high, in the order in which they were taken.
    ///
    /// # Errors
    /// Where the driver cannot read them.
    pub fn levels(&self) -> io::Result<Vec<bool>> {
        let bits = self.level_bits()?;
        Ok((0..self.offsets.len()).map(|line| bits >> line & 1 == 1).collect())
    }

    /// The same as bits, the lowest for the line that was taken first: one system call, and nothing is allocated.
    ///
    /// # Errors
    /// Where the driver cannot read them.
    #[inline]
    pub fn level_bits(&self) -> io::Result<u64> {
        let all = self.offsets.len();
        let mut values = RawValues { bits: 0, mask: if all >= 64 { u64::MAX } else { (1 << all) - 1 } };
        ask(self.file.as_raw_fd(), GET_VALUES, &mut values)?;
        Ok(values.bits & values.mask)
    }

    /// The edges that came within so many milliseconds: those that are there, or those that come first. They are in the order in which
    /// the kernel has stamped them of each line.
    ///
    /// # Errors
    /// `ENODEV` where the chip is gone. A signal that ends the wait is no error.
    pub fn edges(&self, timeout_ms: i32) -> io::Result<Vec<WatchedEdge>> {
        let mut file = libc::pollfd { fd: self.file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid and writable structure, as is stated.
        let found = unsafe { libc::poll(&raw mut file, 1, timeout_ms) };
        if found < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(Vec::new()) } else { Err(error) };
        }
        if found == 0 {
            return Ok(Vec::new());
        }
        let mut raw = [RawEvent::default(); 64];
        // SAFETY: the array is valid and writable for its length, and any bytes are values of it.
        let read = unsafe { libc::read(self.file.as_raw_fd(), raw.as_mut_ptr().cast(), size_of_val(&raw)) };
        let Ok(read) = usize::try_from(read) else { return Err(io::Error::last_os_error()) };
        let edge = |event: &RawEvent| {
            Some(WatchedEdge {
                line: self.offsets.iter().position(|offset| *offset == event.offset)?,
                at_ns: i64::try_from(event.timestamp_ns).unwrap_or(i64::MAX),
                is_rising: event.id == EVENT_RISING,
                number: event.sequence_of_line,
            })
        };
        Ok(raw.iter().take(read / size_of::<RawEvent>()).filter_map(edge).collect())
    }
}
