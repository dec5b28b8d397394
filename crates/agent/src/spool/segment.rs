//! The text of a segment: lines, each with a checksum, so that a damaged one costs itself alone.
//!
//! ```text
//! punctual-spool 1
//! 5f0a1c22 {"item":{"stream":{"start":1,"random":7},"age-s":300,"item":{…}}}
//! ```
//! The checksum is CRC-32 (as in zip) of the JSON that follows. JSON of one line has no line end in it, so a reader finds the next
//! line after whatever stands between.

use farm::monitor::RawEntry;
use farm::stream::{Acknowledgment, Item, Place, StreamId, StreamState};
use flate2::Crc;
use serde::{Deserialize, Serialize};

/// The first line of a segment.
pub const HEAD: &str = "punctual-spool 1\n";
/// The length of a checksum and the space after it.
const CHECKSUM: usize = 9;

/// A line of a segment: what of the spool is so from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// The latest life of the hub that was seen.
    Epoch(u64),
    /// How far a stream is.
    Stream(StreamState),
    /// Places before what was removed of a stream.
    Earlier(EarlierLine),
    /// A piece that was merged across the end of a closed stream: its branch has the later part.
    Split(ItemLine),
    /// A piece of a stream.
    Item(ItemLine),
    /// When what was acknowledged: all that is known of it.
    Acknowledged(Vec<Acknowledgment>),
}

/// Places before what was removed of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EarlierLine {
    /// The stream.
    pub stream: StreamId,
    /// Each with its sequence.
    pub places: Vec<(u64, Place)>,
}

/// A piece of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ItemLine {
    /// The stream.
    pub stream: StreamId,
    /// When it was written (s of the agent's running time: no clock that anybody sets decides what is removed).
    pub age_s: u64,
    /// The piece.
    pub item: Item<RawEntry>,
}

/// A line with its place in its segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The line.
    pub line: Line,
    /// Where it begins (bytes).
    pub offset: u64,
    /// How long it is, with its end (bytes).
    pub length: u32,
}

/// What a segment has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// The lines whose checksums fit, in their order.
    pub lines: Vec<Placed>,
    /// Lines that are damaged, or not finished.
    pub damaged: usize,
    /// Where the last line ends whose checksum fits (bytes).
    pub good_bytes: u64,
}

/// The text of a line.
///
/// # Errors
/// Where it has no JSON form, which none lacks.
pub fn text(line: &Line) -> Result<Vec<u8>, serde_json::Error> {
    Ok(framed(&serde_json::to_vec(line)?))
}

/// A line with this JSON, which has no line end in it.
#[must_use]
pub fn framed(json: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{:08x} ", checksum(json)).into_bytes();
    bytes.extend_from_slice(json);
    bytes.push(b'\n');
    bytes
}

/// Reads a line, with or without its end; `None` where its checksum does not fit, or it is none.
#[must_use]
pub fn line(bytes: &[u8]) -> Option<Line> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let (sum, json) = bytes.split_at_checked(CHECKSUM)?;
    let sum = std::str::from_utf8(sum.strip_suffix(b" ")?).ok()?;
    // No sign and no capital digits: one text for one number.
    if format!("{:08x}", checksum(json)) != sum {
        return None;
    }
    serde_json::from_slice(json).ok()
}

/// Reads a segment. Whatever the bytes are, it gives the lines that are whole.
#[must_use]
pub fn parse(bytes: &[u8]) -> Segment {
    let mut segment = Segment::default();
    let mut rest = bytes;
    let mut offset = 0;
    if let Some(after) = rest.strip_prefix(HEAD.as_bytes()) {
        offset = HEAD.len() as u64;
        segment.good_bytes = offset;
        rest = after;
    } else if !rest.is_empty() {
        segment.damaged += 1;
    }
    while !rest.is_empty() {
        let length = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        let (one, after) = rest.split_at(length);
        let end = offset + length as u64;
        match (line(one).filter(|_| one.ends_with(b"\n")), u32::try_from(length)) {
            (Some(line), Ok(length)) => {
                segment.lines.push(Placed { line, offset, length });
                segment.good_bytes = end;
            }
            _ => segment.damaged += 1,
        }
        (rest, offset) = (after, end);
    }
    segment
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(epoch: u64) -> Vec<u8> {
        text(&Line::Epoch(epoch)).unwrap()
    }

    fn epochs(bytes: &[u8]) -> (Vec<u64>, usize) {
        let segment = parse(bytes);
        let epoch = |placed: &Placed| match placed.line {
            Line::Epoch(epoch) => epoch,
            _ => panic!("{placed:?}"),
        };
        (segment.lines.iter().map(epoch).collect(), segment.damaged)
    }

    #[test]
    fn each_changed_byte_costs_its_line_and_no_other() {
        let whole = [HEAD.as_bytes(), &of(1), &of(2), &of(3)].concat();
        assert_eq!(epochs(&whole), (vec![1, 2, 3], 0));
        let first_line = HEAD.len();
        for at in first_line..whole.len() {
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[at] ^= 1 << bit;
                let (found, damaged) = epochs(&changed);
                // A line's end that is none any more takes the next line along.
                assert!(found.len() + 2 >= 3 && found.iter().all(|epoch| (1..=3).contains(epoch)), "{at}: {found:?}");
                assert!(damaged > 0, "{at}");
            }
        }
        for length in first_line..whole.len() {
            let segment = parse(&whole[..length]);
            assert!(usize::try_from(segment.good_bytes).unwrap() <= length);
            assert_eq!(parse(&whole[..usize::try_from(segment.good_bytes).unwrap()]).damaged, 0, "{length}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_segment_of_what_is_whole(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let segment = parse(&bytes);
            prop_assert!(segment.good_bytes <= bytes.len() as u64);
        }
    }
}
