//! Reads a file piece by piece: lines however the pieces are cut, and an identity of the whole.

use std::io::BufRead as _;

use super::source::Imported;
use crate::error::ForeignError;

/// Longer lines are in no log (bytes); they are counted, and their content is not kept.
const MOST_LINE_BYTES: usize = 64 << 10;

/// Reads one format piece by piece.
pub(super) trait StreamReader {
    /// Takes the next bytes.
    fn feed(&mut self, bytes: &[u8]) -> Result<(), ForeignError>;

    /// Ends with the file.
    fn finish(self: Box<Self>) -> Result<Imported, ForeignError>;
}

/// Puts lines together.
#[derive(Debug, Default)]
pub(super) struct Lines {
    held: Vec<u8>,
    /// Whether the end of the line is waited for whose beginning was too long.
    is_skipping: bool,
    number: u64,
    too_long: Option<(u64, u64)>,
}

impl Lines {
    /// Takes the next bytes, and hands over each line that is whole with its number, from 1, without its end.
    pub(super) fn feed(&mut self, bytes: &[u8], take: &mut impl FnMut(u64, &[u8])) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let mut after = rest;
            // Reading from a slice cannot fail.
            let length = after.skip_until(b'\n').unwrap_or(rest.len());
            let (piece, next) = rest.split_at(length.min(rest.len()));
            rest = next;
            let Some((b'\n', line)) = piece.split_last() else {
                self.hold(piece);
                return;
            };
            if self.is_skipping {
                self.is_skipping = false;
                self.held.clear();
                continue;
            }
            self.number += 1;
            if self.held.is_empty() && line.len() <= MOST_LINE_BYTES {
                take(self.number, line);
                continue;
            }
            self.number -= 1;
            self.hold(line);
            if std::mem::take(&mut self.is_skipping) {
                continue;
            }
            self.number += 1;
            let whole = std::mem::take(&mut self.held);
            take(self.number, &whole);
            // Its memory is used again.
            self.held = whole;
            self.held.clear();
        }
    }

    fn hold(&mut self, piece: &[u8]) {
        if self.is_skipping {
            return;
        }
        if self.held.len() + piece.len() > MOST_LINE_BYTES {
            self.number += 1;
            let (first, count) = self.too_long.unwrap_or((self.number, 0));
            self.too_long = Some((first, count + 1));
            self.is_skipping = true;
            self.held.clear();
        } else {
            self.held.extend_from_slice(piece);
        }
    }

    /// The beginning of a last line that has no end.
    pub(super) fn unfinished(&self) -> &[u8] {
        &self.held
    }

    /// Number of the line after the last one that ended.
    pub(super) const fn next_number(&self) -> u64 {
        self.number + 1
    }

    /// What lines were too long, in words; `None` if none was.
    pub(super) fn too_long_words(&self) -> Option<String> {
        self.too_long.map(|(first, count)| {
            format!(
                "{} lines of more than {}, first line {first}: they were not read",
                units::format::count(count),
                units::format::bytes(MOST_LINE_BYTES as u64)
            )
        })
    }
}

/// A number that is the same for the same bytes, however they are cut into pieces. As RFC 9923's FNV-1a, but over words of eight
/// bytes, so that it costs little.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity {
    hash: u64,
    held: [u8; 8],
    /// Bytes that are held.
    length: usize,
    total: u64,
}

impl Default for Identity {
    fn default() -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, held: [0; 8], length: 0, total: 0 }
    }
}

impl Identity {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.total = self.total.wrapping_add(bytes.len() as u64);
        let mut rest = bytes;
        if self.length > 0 {
            for byte in rest.iter().take(8 - self.length) {
                self.held[self.length] = *byte;
                self.length += 1;
                rest = &rest[1..];
            }
            if self.length < 8 {
                return;
            }
            self.mix(self.held);
            self.length = 0;
        }
        let mut words = rest.chunks_exact(8);
        for word in &mut words {
            if let Some(word) = word.first_chunk::<8>() {
                self.mix(*word);
            }
        }
        for byte in words.remainder() {
            self.held[self.length] = *byte;
            self.length += 1;
        }
    }

    const fn mix(&mut self, word: [u8; 8]) {
        // The high bits of a product depend on all bits below, the low ones only on lower ones: both are mixed.
        let product = (self.hash ^ u64::from_le_bytes(word)).wrapping_mul(0x0000_0100_0000_01b3);
        self.hash = product ^ product >> 32;
    }

    pub(super) fn value(mut self) -> u64 {
        let mut last = [0; 8];
        last[..self.length].copy_from_slice(&self.held[..self.length]);
        self.mix(last);
        self.mix(self.total.to_le_bytes());
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], piece: usize) -> (Vec<(u64, String)>, Vec<u8>, Option<String>) {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        for bytes in text.chunks(piece) {
            lines.feed(bytes, &mut |number, line| seen.push((number, String::from_utf8_lossy(line).into_owned())));
        }
        (seen, lines.unfinished().to_vec(), lines.too_long_words())
    }

    #[test]
    fn lines_are_the_same_however_the_pieces_are_cut() {
        let long = "x".repeat(MOST_LINE_BYTES + 1);
        let text = format!("one\n\ntwo\r\n{long}\n{long}{long}\nlast\ntorn");
        let expected = [(1, "one"), (2, ""), (3, "two\r"), (6, "last")].map(|(number, line)| (number, line.to_owned()));
        for piece in [1, 3, 1_000, 65_536, 1 << 20] {
            let (seen, torn, too_long) = lines(text.as_bytes(), piece);
            assert_eq!(seen, expected, "{piece}");
            assert_eq!(torn, b"torn");
            assert!(too_long.unwrap().starts_with("2 lines of more than 64.0 KiB, first line 4"));
        }
    }

    #[test]
    fn the_identity_is_of_the_bytes_and_not_of_the_pieces() {
        let identity = |bytes: &[u8], piece: usize| {
            let mut identity = Identity::default();
            bytes.chunks(piece).for_each(|bytes| identity.take(bytes));
            identity.value()
        };
        let text = b"a log of twenty-nine bytes....";
        for piece in 1..40 {
            assert_eq!(identity(text, piece), identity(text, 100), "{piece}");
        }
        assert_ne!(identity(b"a", 1), identity(b"a\0", 1));
        assert_ne!(identity(b"", 1), identity(b"\0", 1));
        assert_ne!(identity(b"12345678abcdefgh", 9), identity(b"abcdefgh12345678", 9));
    }
}
