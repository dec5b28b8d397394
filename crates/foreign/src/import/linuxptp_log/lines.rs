//! Lines of a log that are counted, and those that a journal has twice.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use codecs::linuxptp::log::{LogLine, Program};

/// Lines of a kind: how many, and the first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) count: u64,
    pub(super) first_line: u64,
}

impl Counted {
    pub(super) fn add(&mut self, line: u64) {
        if self.count == 0 {
            self.first_line = line;
        }
        self.count += 1;
    }
}

/// The last lines that a program wrote to a log and to its standard output, of which a journal has both.
#[derive(Debug, Default)]
pub(super) struct Recent {
    /// Program, its time, a number of what it said, and whether that came from the standard output.
    lines: VecDeque<(Program, i64, u64, bool)>,
    has_both: [bool; 2],
}

/// So many lines apart the two copies of a line can be.
const MOST_APART: usize = 64;

impl Recent {
    /// Whether a line was read already, as the other of two copies.
    pub(super) fn is_double(&mut self, read: &LogLine<'_>, line: &[u8]) -> bool {
        // A log without a journal's beginnings has one copy of each.
        if read.before.is_empty() {
            return false;
        }
        self.has_both[usize::from(read.is_from_output)] = true;
        let Some(uptime_ns) = read.uptime_ns else { return false };
        // What follows the last bracket or colon of the beginning is the same in both.
        let said = line.rsplit(|byte| *byte == b']').next().unwrap_or(line);
        let said = said.strip_prefix(b":").unwrap_or(said).trim_ascii();
        let said = super::super::source::fnv1a(said);
        let copy = (read.program, uptime_ns, said, !read.is_from_output);
        if self.has_both == [true; 2] {
            if let Some(at) = self.lines.iter().position(|recent| *recent == copy) {
                self.lines.remove(at);
                return true;
            }
        }
        if self.lines.len() == MOST_APART {
            self.lines.pop_front();
        }
        self.lines.push_back((read.program, uptime_ns, said, read.is_from_output));
        false
    }
}

/// Whether two names are the same. Most are empty, and comparing no bytes at no address costs some processors as much as all the
/// rest of a line: a masked load from an address that is none.
pub(super) fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && (one.is_empty() || one == other)
}

/// Whether two tags are the same but for one digit that stands alone, and is the level of each tag's line.
pub(super) fn differ_by_level(one: (&[u8], &RangeInclusive<u8>), other: (&[u8], &RangeInclusive<u8>)) -> bool {
    if one.0.len() != other.0.len() {
        return false;
    }
    let mut different = one.0.iter().zip(other.0).enumerate().filter(|(_, (a, b))| a != b);
    let (Some((at, (a, b))), None) = (different.next(), different.next()) else { return false };
    let stands_alone = [at.checked_sub(1), at.checked_add(1)]
        .into_iter()
        .flatten()
        .filter_map(|beside| one.0.get(beside))
        .all(|byte| !byte.is_ascii_alphanumeric());
    let is_level = |byte: u8, levels: &RangeInclusive<u8>| byte.is_ascii_digit() && levels.contains(&(byte - b'0'));
    stands_alone && is_level(*a, one.1) && is_level(*b, other.1)
}
