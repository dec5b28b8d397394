//! Captures of logic analyzers: when lines changed their level, as the analyzer's program wrote it to a file.
//!
//! A form is a file here: [`kernel_events`], [`qemu_port`], [`saleae_binary`], [`saleae_csv`], [`sigrok_csv`], [`sigrok_session`], [`vcd`]; [`read()`] tells
//! them apart.

pub mod kernel_events;
pub mod qemu_port;
mod read;
pub mod saleae_binary;
pub mod saleae_csv;
pub mod sigrok_csv;
mod sigrok_rate;
pub mod sigrok_session;
pub mod vcd;

pub use read::read;

/// Picoseconds of a second. A captured moment is a count of them from the capture's own zero: analyzers go below the nanosecond, and 106
/// days have room.
pub const PS: i64 = 1_000_000_000_000;
/// The most channels of a capture; no analyzer has as many.
const MOST_CHANNELS: usize = 1_024;

/// What a capture shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogicCapture {
    /// Its channels, in the order of the file.
    pub channels: Vec<LogicChannel>,
    /// How far apart two moments are at least that the file can tell apart (ps), where it says so.
    pub resolution_ps: Option<i64>,
}

/// A line of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogicChannel {
    /// What the file calls it.
    pub name: String,
    /// The stretches in which its level is known, in the order of time; between two of them nothing is known.
    pub spans: Vec<LogicSpan>,
}

/// A stretch of time in which each change of a line is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogicSpan {
    /// When it begins (ps).
    pub from_ps: i64,
    /// Until when it is known (ps): the moment of what comes next, or of the last that the file has.
    pub until_ps: i64,
    /// Whether the line is high when it begins.
    pub begins_high: bool,
    /// When the level changes (ps), in the order of time: up and down in turn.
    pub edges_ps: Vec<i64>,
}

impl LogicSpan {
    /// The edges, each with whether it goes up.
    pub fn edges(&self) -> impl Iterator<Item = (i64, bool)> + '_ {
        let mut is_high = self.begins_high;
        self.edges_ps.iter().map(move |at_ps| {
            is_high = !is_high;
            (*at_ps, is_high)
        })
    }
}

/// Why a file is no capture that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogicError {
    /// There is nothing in it.
    #[error("it is empty: did the analyzer's program write it to its end?")]
    Empty,
    /// None of the forms that are known.
    #[error(
        "it is none of the captures that can be read: Saleae's binary export (.bin) and text export (.csv), sigrok's session file (.sr) and \
         text export (.csv), a value change dump (.vcd), QEMU's log of a parallel port, what 'punctual pulse watch' writes"
    )]
    Unknown,
    /// An archive that cannot be unpacked.
    #[error("it is a ZIP archive, and no capture can be read from it: {0}")]
    Archive(String),
    /// A member of an archive cannot be.
    #[error("'{name}' in it: {what}")]
    Member {
        /// The member's name.
        name: String,
        /// Why it cannot be, in words for people.
        what: String,
    },
    /// Other bytes at its start.
    #[error("it does not begin as {0} does")]
    Foreign(&'static str),
    /// A version that is not known.
    #[error("version {0} of Saleae's binary form is not known here: 0 and 1 are")]
    Version(i32),
    /// Voltages instead of levels.
    #[error("it has voltages, and no levels: export the digital channels")]
    Analog,
    /// It ends too early.
    #[error("it ends at byte {bytes}, within {what}: it was cut off")]
    Short {
        /// How long it is.
        bytes: usize,
        /// What was expected.
        what: &'static str,
    },
    /// Bytes behind its end.
    #[error("{0} bytes follow its end")]
    Rest(usize),
    /// Something at a byte of it cannot be.
    #[error("byte {at}: {what}")]
    Byte {
        /// The offset of it, from 0 on (bytes).
        at: usize,
        /// Why it cannot be, in words for people.
        what: String,
    },
    /// A line of it cannot be.
    #[error("line {line}: {what}")]
    Line {
        /// The number of the line, from 1 on.
        line: usize,
        /// Why it cannot be, in words for people.
        what: String,
    },
}

/// Why a moment cannot follow the one before it.
const BACKWARDS: &str = "its time is before that of the one before it";

/// Makes the spans of a channel of what its level is from moment to moment.
#[derive(Clone, Debug, Default)]
struct Levels {
    spans: Vec<LogicSpan>,
    /// What it is now; `None` where that is not known.
    now: Option<bool>,
}

impl Levels {
    /// From this moment on, no earlier than those before, the level is this one, or not known.
    fn put(&mut self, at_ps: i64, level: Option<bool>) {
        if level == self.now {
            return;
        }
        match (level, self.now, self.spans.last_mut()) {
            (Some(_), Some(_), Some(span)) => span.edges_ps.push(at_ps),
            (Some(begins_high), ..) => {
                self.spans.push(LogicSpan { from_ps: at_ps, until_ps: at_ps, begins_high, edges_ps: Vec::new() });
            }
            (None, _, Some(span)) => span.until_ps = at_ps,
            (None, _, None) => {}
        }
        self.now = level;
    }

    /// The file ends at this moment.
    fn end(mut self, at_ps: i64) -> Vec<LogicSpan> {
        if let Some(span) = self.spans.last_mut().filter(|_| self.now.is_some()) {
            span.until_ps = at_ps;
        }
        self.spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_become_spans_and_what_is_not_known_parts_them() {
        let mut levels = Levels::default();
        let said = [
            (0, Some(true)),
            (5, Some(true)),
            (7, Some(false)),
            (9, Some(true)),
            (12, None),
            (20, Some(false)),
            (21, None),
        ];
        said.into_iter().for_each(|(at, level)| levels.put(at, level));
        let spans = levels.end(30);
        assert_eq!(spans.len(), 2);
        assert_eq!((spans[0].from_ps, spans[0].until_ps), (0, 12));
        assert_eq!(spans[0].edges().collect::<Vec<_>>(), [(7, false), (9, true)]);
        assert_eq!((spans[1].from_ps, spans[1].until_ps, spans[1].begins_high), (20, 21, false));
    }

    #[test]
    fn a_level_that_is_known_to_the_end_is_known_until_then() {
        let mut levels = Levels::default();
        levels.put(3, Some(false));
        assert_eq!(levels.end(30)[0].until_ps, 30);
    }
}
