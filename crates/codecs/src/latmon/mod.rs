//! The dialog with `latmon`, a service that measures from outside how a machine answers edges (Zephyr,
//! `subsys/net/lib/latmon/latmon.c`; the protocol is that of EVL's latmon).
//!
//! Numbers are big-endian and 32 bits wide. Whoever asks sends a period and a number of cells; a frame comes for each second of
//! pulses. A request that is not valid ends the measuring: then come the frame of what was left of a second where there was any, an
//! empty frame, and the cells.

mod service;

use std::collections::VecDeque;

pub use self::service::{Faults, Service, Truth};

/// The port that it listens at, and to which it announces itself by broadcast.
pub const PORT: u16 = 2306;
/// The most cells of its histogram, each of 1 us; the last one holds all that is above.
pub const MOST_CELLS: u32 = 1_000;
/// The longest period (us).
pub const MOST_PERIOD_US: u32 = 1_000_000;
/// An answer that takes longer is given up (ns), whatever the period is.
pub const GIVEN_UP_AFTER_NS: u64 = 1_000_000;
/// Bytes of a frame.
const FRAME: usize = 24;

/// What it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Time from one answer to the next pulse (us, 1 to 1,000,000); each pulse takes its answer's time besides.
    pub period_us: u32,
    /// Cells of the histogram (0 to 1,000).
    pub cells: u32,
}

impl Request {
    /// The bytes that it is sent.
    #[must_use]
    pub fn bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.period_us.to_be_bytes());
        bytes[4..].copy_from_slice(&self.cells.to_be_bytes());
        bytes
    }

    /// A request that it takes for none: it ends the measuring.
    pub const END: [u8; 8] = [0; 8];

    /// Answers in a frame: those of the first frame's number are a warm-up, and in no frame at all.
    #[must_use]
    pub const fn answers_a_frame(self) -> u32 {
        MOST_PERIOD_US / if self.period_us == 0 { 1 } else { self.period_us }
    }
}

/// What it says of a second of pulses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Sum of all latencies (ns).
    pub sum_ns: u64,
    /// The shortest (ns); `None` without an answer.
    pub min_ns: Option<u64>,
    /// The longest (ns); `None` without an answer.
    pub max_ns: Option<u64>,
    /// Pulses whose answer was given up, and periods that answers took longer than one.
    pub overruns: u32,
    /// How many pulses were answered in it.
    pub samples: u32,
}

/// What it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Of a second, or of what was left of one.
    Frame(Frame),
    /// At the end: how many answers took so many microseconds (rounded down), from 0.
    Histogram(Vec<u32>),
}

/// Why what it said is none of its dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LatmonError {
    /// A frame whose numbers contradict each other.
    #[error(
        "a frame of {samples} answers has {min_ns} ns as the shortest, {max_ns} ns as the longest and a sum of {sum_ns} ns: this is no latmon, or one of another version"
    )]
    Contradicts {
        /// How many answers it claims.
        samples: u32,
        /// The shortest (ns).
        min_ns: u32,
        /// The longest (ns).
        max_ns: u32,
        /// Sum (ns).
        sum_ns: u64,
    },
}

/// Reads what it says, however the bytes are cut.
#[derive(Debug)]
pub struct Reader {
    cells: usize,
    bytes: VecDeque<u8>,
    /// The empty frame was read.
    has_ended: bool,
    /// The histogram was read.
    is_over: bool,
}

impl Reader {
    /// For what follows a request.
    #[must_use]
    pub fn new(request: Request) -> Self {
        let cells = usize::try_from(request.cells.min(MOST_CELLS)).unwrap_or(0);
        Self { cells, bytes: VecDeque::new(), has_ended: false, is_over: false }
    }

    /// Takes over what arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// The next message that arrived as a whole. What an empty frame says comes as one too.
    ///
    /// # Errors
    /// For a frame that contradicts itself.
    pub fn next_message(&mut self) -> Result<Option<Message>, LatmonError> {
        if self.is_over {
            return Ok(None);
        }
        if self.has_ended {
            return Ok(self.histogram());
        }
        if self.bytes.len() < FRAME {
            return Ok(None);
        }
        let [high, low, min_ns, max_ns, overruns, samples] = std::array::from_fn(|_| self.number());
        let sum_ns = u64::from(high) << 32 | u64::from(low);
        let is_empty = samples == 0;
        self.has_ended = is_empty;
        if is_empty {
            // The first version leaves the numbers of the frame before in it.
            return Ok(Some(Message::Frame(Frame { overruns, ..Frame::default() })));
        }
        let least_ns = u64::from(min_ns) * u64::from(samples - 1) + u64::from(max_ns);
        let most_ns = u64::from(max_ns) * u64::from(samples - 1) + u64::from(min_ns);
        if min_ns > max_ns || !(least_ns..=most_ns).contains(&sum_ns) {
            return Err(LatmonError::Contradicts { samples, min_ns, max_ns, sum_ns });
        }
        let (min_ns, max_ns) = (Some(u64::from(min_ns)), Some(u64::from(max_ns)));
        Ok(Some(Message::Frame(Frame { sum_ns, min_ns, max_ns, overruns, samples })))
    }

    fn histogram(&mut self) -> Option<Message> {
        if self.bytes.len() < 4 * self.cells {
            return None;
        }
        self.is_over = true;
        Some(Message::Histogram((0..self.cells).map(|_| self.number()).collect()))
    }

    /// The next number; the caller has looked that it is there.
    fn number(&mut self) -> u32 {
        let bytes = std::array::from_fn(|_| self.bytes.pop_front().unwrap_or(0));
        u32::from_be_bytes(bytes)
    }
}

/// The address in an announcement: text, without an end mark.
#[must_use]
pub fn announced(datagram: &[u8]) -> Option<core::net::Ipv4Addr> {
    let text = std::str::from_utf8(datagram).ok()?;
    text.trim_end_matches(['\0', '\n']).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: Request = Request { period_us: 1_000, cells: 3 };

    fn frame(numbers: [u32; 6]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    /// All messages of bytes that arrive in pieces of this size.
    fn read(bytes: &[u8], piece: usize) -> Vec<Message> {
        let mut reader = Reader::new(REQUEST);
        let mut all = Vec::new();
        for piece in bytes.chunks(piece) {
            reader.push(piece);
            while let Some(message) = reader.next_message().unwrap() {
                all.push(message);
            }
        }
        all
    }

    #[test]
    fn the_request_has_the_period_and_the_cells() {
        assert_eq!(REQUEST.bytes(), [0, 0, 3, 232, 0, 0, 0, 3]);
        assert_eq!((REQUEST.answers_a_frame(), Request { period_us: 300, cells: 0 }.answers_a_frame()), (1_000, 3_333));
    }

    #[test]
    fn a_dialog_is_read_however_it_is_cut() {
        // A second, what was left of one, the end, and the cells.
        let mut bytes = frame([1, 5, 1_000, 8_000_000, 2, 1_000]);
        bytes.extend(frame([0, 60_000, 20_000, 40_000, 0, 2]));
        bytes.extend(frame([0, 60_000, u32::MAX, 0, 1, 0]));
        bytes.extend([7_u32, 0, 995].iter().flat_map(|number| number.to_be_bytes()));
        bytes.extend([0xAB; 40]);
        let second =
            Frame { sum_ns: (1 << 32) + 5, min_ns: Some(1_000), max_ns: Some(8_000_000), overruns: 2, samples: 1_000 };
        let rest = Frame { sum_ns: 60_000, min_ns: Some(20_000), max_ns: Some(40_000), overruns: 0, samples: 2 };
        let end = Frame { overruns: 1, ..Frame::default() };
        let expected =
            [Message::Frame(second), Message::Frame(rest), Message::Frame(end), Message::Histogram(vec![7, 0, 995])];
        for piece in [1, 7, 24, 1_000] {
            assert_eq!(read(&bytes, piece), expected, "{piece}");
        }
    }

    #[test]
    fn a_frame_that_contradicts_itself_is_refused() {
        for numbers in [
            [0, 10, 8, 4, 0, 2],
            // Shorter in sum than its parts can be, and longer.
            [0, 100, 50, 51, 0, 2],
            [0, 102, 50, 51, 0, 2],
            [0, 103, 50, 51, 0, 2],
            [0x4854_5450, 0x2f31_2e31, 0x2034_3030, 0x2042_6164, 0x2052_6571, 0x7565_7374],
        ] {
            let mut reader = Reader::new(REQUEST);
            reader.push(&frame(numbers));
            assert!(reader.next_message().unwrap_err().to_string().contains("no latmon"), "{numbers:?}");
        }
        let mut reader = Reader::new(REQUEST);
        reader.push(&frame([0, 101, 50, 51, 0, 2]));
        assert!(matches!(reader.next_message(), Ok(Some(Message::Frame(_)))), "both bounds are possible");
    }

    #[test]
    fn more_cells_than_there_can_be_are_not_waited_for() {
        let mut reader = Reader::new(Request { period_us: 1_000, cells: 2 * MOST_CELLS });
        reader.push(&frame([0; 6]));
        reader.push(&[0; 4 * 1_000]);
        let all = [reader.next_message().unwrap(), reader.next_message().unwrap()];
        assert!(matches!(&all[1], Some(Message::Histogram(cells)) if cells.len() == 1_000), "{all:?}");
    }

    #[test]
    fn an_announcement_is_an_address_in_text() {
        assert_eq!(announced(b"192.168.1.58"), Some([192, 168, 1, 58].into()));
        assert_eq!(announced(b"192.168.1.58\0"), Some([192, 168, 1, 58].into()));
        assert_eq!((announced(b"latmon"), announced(b""), announced(&[0xFF, 0x31])), (None, None, None));
    }
}
