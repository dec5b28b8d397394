//! The writes. Nothing here allocates, locks, formats, logs or faults; a tidy test reads this file for words that would.

use std::io;

use kernel::clock::{KernelClock, now_ns};
use kernel::gpio::OutputLine;

/// Which writes one sample is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writes {
    /// The line becomes active and inactive again, as in the paper.
    Both,
    /// It becomes active.
    Up,
    /// It becomes inactive.
    Down,
}

/// Fills `out` with how long the writes of each sample took, from the reading before them to the reading after them (ns). Between two
/// samples the line is inactive.
#[inline(never)]
pub(super) fn writes(line: &OutputLine, which: Writes, clock: KernelClock, out: &mut [i64]) -> io::Result<()> {
    // One loop for each, so that no choice is made between two readings.
    match which {
        Writes::Both => {
            for slot in out {
                let before_ns = now_ns(clock);
                line.set(true)?;
                line.set(false)?;
                let after_ns = now_ns(clock);
                *slot = after_ns - before_ns;
            }
        }
        Writes::Up => {
            for slot in out {
                let before_ns = now_ns(clock);
                line.set(true)?;
                let after_ns = now_ns(clock);
                line.set(false)?;
                *slot = after_ns - before_ns;
            }
        }
        Writes::Down => {
            for slot in out {
                line.set(true)?;
                let before_ns = now_ns(clock);
                line.set(false)?;
                let after_ns = now_ns(clock);
                *slot = after_ns - before_ns;
            }
        }
    }
    Ok(())
}
