//! Watches lines of GPIO chips by the kernel's own stamps of their edges, as a logic analyzer would: a witness for nodes that act.
//!
//! The kernel's clock of edges has faults of its own: it serves the lines of a chip one after the other, and reads a level late. Both are
//! measured with one signal on all lines (`calibrate`). And an interrupt can be kept waiting, more under one load than under another: how
//! late stamps are at most is found out while edges are watched, by looks at the levels (`looks`).

mod calibrate;
mod looking;
mod looks;
mod order;

use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use codecs::logic::kernel_events::{self, Calibrated, LineEvent};
use kernel::clock::KernelClock;
use kernel::gpio::WatchedLines;
use units::{ClockId, Ns};

pub use self::calibrate::{Calibration, CalibrationError, LEAST_EDGES, calibrate};
pub use self::looking::Looks;
use self::looking::{Looking, LooksEnded};
use self::looks::{Beside, FirstLook};
pub use self::looks::{Lateness, WhyUnknown};
use self::order::{InOrder, StampedEdge};
use crate::gpio_line::{LineError, take_watched};
use crate::stop::Stop;

/// How long the edges of one look are waited for (ms), where several chips are looked at in turn.
const LOOK_MS: i32 = 20;
/// Edges of all lines come to the file in their order once they are so old (ns). One that the kernel reports later than that parts its
/// line.
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
    /// Edges that were reported so late that later ones stood in the capture: they are not in it.
    pub late: u64,
}

/// How far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchProgress {
    /// How long it has been watching (ns).
    pub elapsed_ns: u64,
    /// What was seen of each line.
    pub lines: Vec<LineCounts>,
}

/// What was seen of lines until the end.
#[derive(Debug)]
pub struct Watched {
    /// How long it was, and what was seen of each line.
    pub all: WatchProgress,
    /// How late the stamps were at most.
    pub lateness: Lateness,
    /// Why the watch ended before its time, where a chip failed: the capture has what was seen until then.
    pub failed: Option<io::Error>,
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

    /// Watches for so long, or until it is stopped, and writes a capture down as it comes. One more thread reads the levels of the lines
    /// again and again meanwhile, as `looks` says.
    ///
    /// # Errors
    /// Where a chip fails at once, or the capture cannot be written.
    pub fn run(
        &self,
        (calibrated, looks): (Option<Calibrated>, Looks),
        duration: Option<Ns>,
        stop: &Stop,
        capture: &mut dyn Write,
        progress: &mut dyn FnMut(&WatchProgress),
    ) -> Result<Watched, WatchError> {
        let looking = Looking::default();
        let (begin, begun) = mpsc::channel();
        thread::scope(|scope| {
            // However this one ends, the other one does.
            let _end = looking.end_with();
            let looker = scope.spawn(|| {
                let begin = move |first| {
                    let _ = begin.send(first);
                };
                let chips: Vec<&[usize]> = self.chips.iter().map(|chip| &*chip.lines).collect();
                let read = |chip: usize| {
                    let chip = self.chips.get(chip).ok_or(io::ErrorKind::NotFound)?;
                    chip.watched.level_bits()
                };
                looking.run(looks, (&chips, self.names.len()), read, begin)
            });
            let looks_ended = || looker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let Ok(first) = begun.recv() else {
                // It panicked, and so does this one.
                return Err(WatchError::Read(looks_ended().failed.unwrap_or_else(|| io::ErrorKind::Other.into())));
            };
            let first = first.map_err(WatchError::Read)?;
            let mut looked = Looked { beside: Beside::new(&first), looking: &looking };
            let begun = self.watch(calibrated, (duration, stop), capture, (&mut looked, &first), progress)?;
            looking.end();
            self.finish(begun, looked, looks_ended(), capture)
        })
    }

    fn watch(
        &self,
        calibrated: Option<Calibrated>,
        (duration, stop): (Option<Ns>, &Stop),
        capture: &mut dyn Write,
        (looked, first): (&mut Looked<'_>, &[FirstLook]),
        progress: &mut dyn FnMut(&WatchProgress),
    ) -> Result<Begun, WatchError> {
        let (start_ns, began) = (now_ns(), Instant::now());
        let levels: Vec<bool> = first.iter().map(|first| first.is_high).collect();
        let mut order = InOrder::new(start_ns, &levels);
        // Edges that came before the levels were read say what these are now.
        self.look(&mut order, looked, 0).map_err(WatchError::Read)?;
        order.begin();
        let lines: Vec<(&str, bool)> = self.names.iter().map(String::as_str).zip(order.levels()).collect();
        write(capture, &kernel_events::head(&lines, calibrated))?;
        let mut said = Instant::now();
        let is_over = || {
            let is_time = duration.is_some_and(|time| began.elapsed() >= Duration::from_nanos(time.unsigned()));
            is_time || stop.ended_early() || looked.looking.has_failed()
        };
        let mut failed = None;
        while !is_over() {
            match self.look(&mut order, looked, LOOK_MS) {
                Ok(read_until_ns) => write_events(capture, order.take_until(read_until_ns - SETTLED_NS))?,
                // What was seen until then is kept.
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
            if said.elapsed() >= PROGRESS {
                said = Instant::now();
                capture.flush().map_err(WatchError::Write)?;
                progress(&WatchProgress { elapsed_ns: elapsed_ns(began), lines: order.counts() });
            }
        }
        Ok(Begun { order, start_ns, began, failed })
    }

    /// Writes what is left, and the end.
    fn finish(
        &self,
        begun: Begun,
        mut looked: Looked<'_>,
        looks: LooksEnded,
        capture: &mut dyn Write,
    ) -> Result<Watched, WatchError> {
        let Begun { mut order, start_ns, began, failed } = begun;
        let elapsed_ns = elapsed_ns(began);
        // Stamps of edges that the last look showed may still be on their way.
        let rest = self.look(&mut order, &mut looked, LOOK_MS).and_then(|_| self.look(&mut order, &mut looked, 0));
        let failed = failed.or(looks.failed).or(rest.err());
        let (lateness, known_until_ns) = looked.beside.end(looks.last_ns);
        write_events(capture, order.take_until(known_until_ns))?;
        let within_ns = match lateness {
            Lateness::Within(ns) => Some(ns),
            Lateness::Unknown(..) => None,
        };
        let until_ns = known_until_ns.saturating_sub(start_ns).max(order.last_ns());
        write(capture, &kernel_events::end(until_ns, within_ns))?;
        capture.flush().map_err(WatchError::Write)?;
        Ok(Watched { all: WatchProgress { elapsed_ns, lines: order.counts() }, lateness, failed })
    }

    /// Takes over what the kernel has, and waits for so many milliseconds for each chip that has nothing. Until when all edges were read
    /// that the kernel had stamped by then (ns): of a chip with more of them than were read, until the last one.
    fn look(&self, order: &mut InOrder, looked: &mut Looked<'_>, timeout_ms: i32) -> io::Result<i64> {
        let mut read_until_ns = i64::MAX;
        for chip in &self.chips {
            loop {
                let asked_ns = now_ns();
                let edges = chip.watched.edges(timeout_ms)?;
                for edge in &edges {
                    if let Some(line) = chip.lines.get(edge.line) {
                        let (at_ns, is_high, number) = (edge.at_ns, edge.is_rising, edge.number);
                        let edge = StampedEdge { line: *line, at_ns, is_high, number };
                        order.add(edge);
                        looked.beside.edge(edge);
                    }
                }
                // A signal that never rests must not keep it from writing.
                if edges.is_empty() || timeout_ms > 0 {
                    read_until_ns = read_until_ns.min(edges.last().map_or(asked_ns, |last| last.at_ns));
                    break;
                }
            }
        }
        looked.settle();
        Ok(read_until_ns)
    }
}

/// A watch that has begun.
struct Begun {
    order: InOrder,
    start_ns: i64,
    began: Instant,
    /// Why it ended before its time.
    failed: Option<io::Error>,
}

/// What looks have shown beside the edges.
struct Looked<'a> {
    beside: Beside,
    looking: &'a Looking,
}

impl Looked<'_> {
    fn settle(&mut self) {
        self.looking.take().into_iter().for_each(|change| self.beside.change(change));
        self.beside.settle();
    }
}

fn write(to: &mut dyn Write, text: &str) -> Result<(), WatchError> {
    to.write_all(text.as_bytes()).map_err(WatchError::Write)
}

fn write_events(to: &mut dyn Write, events: Vec<SeenEvent>) -> Result<(), WatchError> {
    events.into_iter().try_for_each(|(line, at_ns, event)| write(to, &kernel_events::event(at_ns, line, event)))
}

fn elapsed_ns(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn now_ns() -> i64 {
    kernel::clock::now_ns(KernelClock::from(ClockId::Monotonic))
}
