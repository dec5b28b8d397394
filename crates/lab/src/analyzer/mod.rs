//! A logic analyzer: records at which moments of the host's clock guests raise a line of their parallel ports.
//!
//! A guest whose node has `analyzer = true` gets a parallel port at 0x378 with nothing attached, and QEMU logs each
//! write to it with the host's CLOCK_REALTIME in microseconds. In the guest, `punctual-proof inject pulse` writes pulses at
//! stated moments of the guest's own clock. So an independent clock shows when a guest *acted* on its time, and how far
//! two guests are apart.
//!
//! **What it measures.** The times include the delay from the guest's decision to the log: leaving the emulated processor
//! takes some ten microseconds, about the same for all guests. Whenever the host does not run a guest's CPU, that guest
//! acts late, and the analyzer rightly shows that: an emulated CPU that waits for a CPU of the host is late by
//! milliseconds. Medians of some tens of pulses are reliable; single pulses and extremes say more about the host than
//! about a clock. The analyzer measures nothing electrical, and does not know why a guest was late. A step of the
//! host's clock falsifies it too.
//!
//! **What is a pulse.** Bit 0 of the data register is the line; bits 1 to 7 are a *label*, set while the line is low. A
//! pulse is a write to the data register that raises bit 0 and changes no other bit. The writes with which a driver or
//! firmware probes the port (0xaa, 0x55, the control register) are not pulses, since they change other bits too. The
//! very first write is not a pulse either, since the state before it is unknown.
//!
//! **Which pulses are paired.** A pulse of node a and one of node b with the same label, if each is the nearest of that
//! label to the other, and they are no farther apart than the window. The label is the number of the moment modulo 128,
//! so that clocks which are whole intervals apart are not mistaken for equal. If two pulses of one node with the same
//! label are nearer than two windows, they could be mistaken for each other: both are left out as ambiguous. A pulse
//! without a partner counts as unmatched if both nodes pulsed before and after it; at the ends of a recording one node
//! may have begun earlier.

mod compare;
mod recording;
mod trace;

use std::path::{Path, PathBuf};

pub use compare::{Comparison, DEFAULT_WINDOW_NS, NodeResult, Pair, Shift, compare};
pub use recording::{RecordError, recorded, until_pairs, whole_log};
pub use trace::{Log, Pulse, TraceError};

/// The I/O port of the data register.
pub const DATA_PORT: u64 = 0x378;
/// Number of labels: they have seven bits.
pub const LABELS: u8 = 128;

/// The file in which QEMU logs a node's writes.
pub(crate) fn log_path(folder: &Path, node: &str) -> PathBuf {
    folder.join(format!("{node}.analyzer"))
}

/// The two bytes of a pulse with this label (its lowest seven bits): the line low, then high.
#[must_use]
pub const fn pulse_bytes(label: u8) -> [u8; 2] {
    let low = label << 1;
    [low, low | LINE]
}

/// The bit of the line in the data register.
const LINE: u8 = 1;
