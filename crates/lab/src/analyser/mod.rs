//! A logic analyser: at which moments of the host's clock did guests raise a line of their parallel ports?
//!
//! A guest whose node says `analyser = true` has a parallel port at 0x378 with nothing behind it, and QEMU logs each
//! write to it with the host's CLOCK_REALTIME, in microseconds. `punctual inject pulse` in the guest writes pulses at
//! stated moments of the guest's own clock. So the host sees, by a clock that is no guest's, when a guest *acted* on its
//! time, and how far two guests are apart.
//!
//! **What it sees.** The delay from the guest's decision to the log is in it: the way out of the emulated processor,
//! some ten microseconds, about the same for all guests. Whenever the host does not run a guest's CPU, that guest acts
//! late, and the analyser says so, rightly: one emulated CPU that waits for one of the host's is late by milliseconds.
//! Medians of some tens of pulses stand; single pulses and extremes tell more of the host than of a clock. It has no
//! electrical meaning, and it does not know why a guest was late. A step of the host's clock meanwhile is in it too.
//!
//! **What is a pulse.** Bit 0 of the data register is the line; bits 1 to 7 are a *label*, set while the line is low. A
//! pulse is a write to the data register that differs from the write before it in bit 0 alone, and raises it. Whatever a
//! driver or firmware writes to find the port out (0xaa, 0x55, the control register) is none, since it moves other bits
//! too, and the first write of all, before which the state is unknown, is none either.
//!
//! **Which pulses belong together.** Two, of node a and of node b, with the same label, each the nearest of that label
//! to the other, and no farther apart than the window. The label is the number of the moment modulo 128, so clocks that
//! are whole intervals apart are not taken for equal. A pulse with another one of its label and node nearer than two
//! windows could be taken for that: both are set aside as ambiguous. A pulse without partner counts as unmatched where
//! both nodes pulsed before and after it; at the ends of a recording one of them may have begun earlier.

mod compare;
mod recording;
mod trace;

use std::path::{Path, PathBuf};

pub use compare::{Comparison, DEFAULT_WINDOW_NS, NodeResult, Pair, Shift, compare};
pub use recording::{RecordError, recorded, until_pairs};
pub use trace::{Log, Pulse, TraceError};

/// The I/O port of the data register.
pub const DATA_PORT: u64 = 0x378;
/// Labels are counted modulo this: seven bits.
pub const LABELS: u8 = 128;

/// Where QEMU logs what a node writes.
pub(crate) fn log_path(folder: &Path, node: &str) -> PathBuf {
    folder.join(format!("{node}.analyser"))
}

/// The two bytes that make up a pulse with a label (of which the lowest seven bits count): the line low, then high.
#[must_use]
pub const fn pulse_bytes(label: u8) -> [u8; 2] {
    let low = label << 1;
    [low, low | LINE]
}

/// The bit that is the line.
const LINE: u8 = 1;
