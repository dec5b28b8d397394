//! Watches lines of GPIO chips by the kernel's own stamps of their edges, as a logic analyzer would: a witness for nodes that act.
//!
//! The kernel's clock of edges has faults of its own: it serves the lines of a chip one after the other, and reads a level late. Both are
//! measured with one signal on all lines (`calibrate`).

mod calibrate;
mod order;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use codecs::logic::kernel_events::{self, Calibrated, LineEvent};
use kernel::clock::KernelClock;
use kernel::gpio::WatchedLines;
use units::{ClockId, Ns};

pub use self::calibrate::{Calibration, CalibrationError, LEAST_EDGES, calibrate};
use self::order::{InOrder, StampedEdge};
use crate::gpio_line::{LineError, take_watched};
use crate::stop::Stop;

/// How long the edges of one look are waited for (ms), where several chips are looked at in turn.
const LOOK_MS: i32 = 20;
/// Edges of all lines come to the file in their order once they are so old (ns): the kernel's threads that report them are late by less.
const SETTLED_NS: i64 = 500_000_000;
/// Between two words of how far it is.
const PROGRESS: Duration = Duration::from_millis(500);

/// Why lines cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// A line cannot be had.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The chip fails.
    #[error("the lines cannot be read: {0}")]
    Read(io::Error),
    /// The file cannot be written.
    #[error("what was seen cannot be written: {0}")]
    Write(io::Error),
}

/// A line that is to be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedLine {
    /// What it is called in the capture.
    pub name: String,
    /// The line: `CHIP/LINE`.
    pub line: String,
}

/// What was seen of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Edges.
    pub edges: u64,
    /// Edges that the kernel had no room for.
    pub lost: u64,
}

/// How far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchProgress {
    /// How long it has been watching (ns).
    pub elapsed_ns: u64,
    /// What was seen of each line.
    pub lines: Vec<LineCounts>,
}

/// What lines did, for who wants all of it: `(line, at_ns, event)`, in the order of time.
pub type SeenEvent = (usize, i64, LineEvent);

/// Lines of one chip.
struct OfChip {
    watched: WatchedLines,
    /// Which of all lines each is.
    lines: Vec<usize>,
}

/// Lines that are watched.
pub struct LineWatch {
    chips: Vec<OfChip>,
    names: Vec<String>,
}

impl LineWatch {
    /// Takes the lines as inputs.
    ///
    /// # Errors
    /// Where one cannot be had, or its chip reports no edges.
    pub fn take(lines: &[WatchedLine]) -> Result<Self, LineError> {
        let named: Vec<&str> = lines.iter().map(|line| &*line.line).collect();
        let taken = take_watched(&named)?;
        let chips = taken.into_iter().map(|(watched, lines)| OfChip { watched, lines }).collect();
        Ok(Self { chips, names: lines.iter().map(|line| line.name.clone()).collect() })
    }

    /// Watches for so long, or until it is stopped, and writes a capture down as it comes.
    ///
    /// # Errors
    /// Where a chip fails, or the capture cannot be written.
    pub fn run(
        &self,
        calibrated: Option<Calibrated>,
        duration: Option<Ns>,
        stop: &Stop,
        capture: &mut dyn Write,
        progress: &mut dyn FnMut(&WatchProgress),
    ) -> Result<WatchProgress, WatchError> {
        let levels = self.levels()?;
        let (start_ns, began) = (now_ns(), Instant::now());
        let mut order = InOrder::new(start_ns, &levels);
        // Edges that came before the levels were read say what these are now.
        self.look(&mut order, 0)?;
        order.begin();
        let lines: Vec<(&str, bool)> = self.names.iter().map(String::as_str).zip(order.levels()).collect();
        let write = |to: &mut dyn Write, text: &str| to.write_all(text.as_bytes()).map_err(WatchError::Write);
        write(capture, &kernel_events::head(&lines, calibrated))?;
        let mut said = Instant::now();
        let is_over = || {
            stop.ended_early() || duration.is_some_and(|time| began.elapsed() >= Duration::from_nanos(time.unsigned()))
        };
        loop {
            let is_last = is_over();
            self.look(&mut order, if is_last { 0 } else { LOOK_MS })?;
            let now_ns = now_ns();
            let settled_ns = if is_last { i64::MAX } else { now_ns - SETTLED_NS };
            for (line, at_ns, event) in order.take_until(settled_ns) {
                write(capture, &kernel_events::event(at_ns, line, event))?;
            }
            let so_far = WatchProgress {
                elapsed_ns: u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX),
                lines: order.counts(),
            };
            if is_last {
                write(capture, &kernel_events::end((now_ns - start_ns).max(order.last_ns())))?;
                capture.flush().map_err(WatchError::Write)?;
                return Ok(so_far);
            }
            if said.elapsed() >= PROGRESS {
                said = Instant::now();
                capture.flush().map_err(WatchError::Write)?;
                progress(&so_far);
            }
        }
    }

    fn levels(&self) -> Result<Vec<bool>, WatchError> {
        let mut levels = vec![false; self.names.len()];
        for chip in &self.chips {
            let of_chip = chip.watched.levels().map_err(WatchError::Read)?;
            for (line, is_high) in chip.lines.iter().zip(of_chip) {
                if let Some(level) = levels.get_mut(*line) {
                    *level = is_high;
                }
            }
        }
        Ok(levels)
    }

    /// Takes over what the kernel has, and waits for so many milliseconds for each chip that has nothing.
    fn look(&self, order: &mut InOrder, timeout_ms: i32) -> Result<(), WatchError> {
        for chip in &self.chips {
            loop {
                let edges = chip.watched.edges(timeout_ms).map_err(WatchError::Read)?;
                for edge in &edges {
                    if let Some(line) = chip.lines.get(edge.line) {
                        let (at_ns, is_high, number) = (edge.at_ns, edge.is_rising, edge.number);
                        order.add(StampedEdge { line: *line, at_ns, is_high, number });
                    }
                }
                // A signal that never rests must not keep it from writing.
                if edges.is_empty() || timeout_ms > 0 {
                    break;
                }
            }
        }
        Ok(())
    }
}

fn now_ns() -> i64 {
    kernel::clock::now_ns(KernelClock::from(ClockId::Monotonic))
}
