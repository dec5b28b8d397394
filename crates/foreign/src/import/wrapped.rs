//! What a file is wrapped in before its format begins: compression by gzip, a byte-order mark, UTF-16.
//!
//! Programs that save other programs' output add these without being asked: `logrotate`, mail, an editor, a shell of Windows.
//! None of it changes a number, so it is taken off. What cannot be taken off is named ([`what_it_is`]).

use std::borrow::Cow;
use std::io::Write as _;

use flate2::write::MultiGzDecoder;

use crate::error::ForeignError;

/// A text that is read as a whole may unpack to this size (bytes); the largest table of any program has a thousandth of it.
const MOST_UNPACKED_BYTES: usize = 1 << 30;

const GZIP: &[u8] = b"\x1f\x8b\x08";
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// First bytes of files that people take for a program's output, and what they are.
const OTHER_FILES: &[(&[u8], &str)] = &[
    (b"\xfd7zXZ\0", "compressed by xz: unpack it with 'xz -d'"),
    (b"BZh", "compressed by bzip2: unpack it with 'bzip2 -d'"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd: unpack it with 'zstd -d'"),
    (b"\x04\x22\x4d\x18", "compressed by lz4: unpack it with 'lz4 -d'"),
    (b"PK\x03\x04", "a ZIP archive: unpack it, and name the files in it"),
    (b"LPKSHHRH", "a journal of systemd: 'journalctl --file FILE -o short-iso' prints its lines"),
    (b"\x17\x08\x44tracing", "a recording of trace-cmd, which holds events and no result"),
    (b"PERFILE2", "a recording of perf, which holds events and no result"),
    (b"%PDF-", "a PDF document: import what the program itself printed"),
    (b"\x7fELF", "a program"),
];

/// What a file is whose beginning is known and that no format can read; `None` if that is not known.
#[must_use]
pub fn what_it_is(head: &[u8]) -> Option<String> {
    let known = OTHER_FILES.iter().find(|(mark, _)| head.starts_with(mark)).map(|(_, what)| *what);
    let start = head.trim_ascii_start();
    let begins = |mark: &str| start.get(..mark.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(mark.as_bytes()));
    let page = (begins("<!doctype html") || begins("<html")).then_some("a page of HTML: save the text that it shows");
    // A tar archive has its mark behind the first name.
    let archive =
        (head.get(257..262) == Some(b"ustar")).then_some("a tar archive: unpack it, and name the files in it");
    known.or(page).or(archive).map(|what| format!("it is {what}"))
}

/// Takes off what a file is wrapped in, piece by piece.
#[derive(Default)]
pub(super) struct Unwrapper {
    gzip: Gzip,
    encoding: Encoding,
}

enum Gzip {
    /// The first bytes, until it is known what they begin.
    Undecided(Vec<u8>),
    None,
    /// Compressed, in one part or in several, one after the other.
    Parts(Box<MultiGzDecoder<Vec<u8>>>),
}

enum Encoding {
    Undecided(Vec<u8>),
    Bytes,
    Utf16 { is_big: bool, odd: Option<u8>, high: Option<u16> },
}

impl Default for Gzip {
    fn default() -> Self {
        Self::Undecided(Vec::new())
    }
}

impl Default for Encoding {
    fn default() -> Self {
        Self::Undecided(Vec::new())
    }
}

fn cannot_unpack(error: &std::io::Error) -> ForeignError {
    ForeignError::Text(format!("it is compressed by gzip, and what was compressed cannot be unpacked: {error}"))
}

impl Unwrapper {
    /// Takes the next bytes, and hands over what they hold.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        hand_over: &mut dyn FnMut(&[u8]) -> Result<(), ForeignError>,
    ) -> Result<(), ForeignError> {
        if let Gzip::Undecided(held) = &mut self.gzip {
            held.extend_from_slice(bytes);
            if held.len() < GZIP.len() {
                return Ok(());
            }
            let held = std::mem::take(held);
            self.gzip = if held.starts_with(GZIP) {
                Gzip::Parts(Box::new(MultiGzDecoder::new(Vec::new())))
            } else {
                Gzip::None
            };
            return self.unpack(&held, hand_over);
        }
        self.unpack(bytes, hand_over)
    }

    fn unpack(
        &mut self,
        bytes: &[u8],
        hand_over: &mut dyn FnMut(&[u8]) -> Result<(), ForeignError>,
    ) -> Result<(), ForeignError> {
        let Gzip::Parts(decoder) = &mut self.gzip else { return self.encoding.take(bytes, hand_over) };
        // A small piece at a time: what a byte unpacks to can be a thousand times as large.
        for piece in bytes.chunks(4_096) {
            decoder.write_all(piece).map_err(|error| cannot_unpack(&error))?;
            let unpacked = std::mem::take(decoder.get_mut());
            self.encoding.take(&unpacked, hand_over)?;
        }
        Ok(())
    }

    /// Ends with the file.
    pub(super) fn finish(
        mut self,
        hand_over: &mut dyn FnMut(&[u8]) -> Result<(), ForeignError>,
    ) -> Result<(), ForeignError> {
        match &mut self.gzip {
            Gzip::Undecided(held) => {
                let held = std::mem::take(held);
                self.encoding.take(&held, hand_over)?;
            }
            Gzip::None => {}
            Gzip::Parts(decoder) => {
                let finished = decoder.try_finish();
                let unpacked = std::mem::take(decoder.get_mut());
                self.encoding.take(&unpacked, hand_over)?;
                finished.map_err(|_| {
                    let what = "it is compressed by gzip, and was cut off or damaged: what is missing is not known";
                    ForeignError::Text(what.to_owned())
                })?;
            }
        }
        self.encoding.finish(hand_over)
    }
}

impl Encoding {
    fn take(
        &mut self,
        bytes: &[u8],
        hand_over: &mut dyn FnMut(&[u8]) -> Result<(), ForeignError>,
    ) -> Result<(), ForeignError> {
        match self {
            Self::Undecided(held) => {
                held.extend_from_slice(bytes);
                if held.len() < 4 { Ok(()) } else { self.decide(hand_over) }
            }
            Self::Bytes => hand_over(bytes),
            Self::Utf16 { is_big, odd, high } => {
                let mut text = String::with_capacity(bytes.len() / 2);
                for byte in bytes {
                    let Some(first) = odd.take() else {
                        *odd = Some(*byte);
                        continue;
                    };
                    let pair = [first, *byte];
                    let unit = if *is_big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) };
                    let units = [high.take(), Some(unit)];
                    if units[0].is_none() && (0xd800..0xdc00).contains(&unit) {
                        *high = Some(unit);
                        continue;
                    }
                    let letters = char::decode_utf16(units.into_iter().flatten());
                    text.extend(letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)));
                }
                hand_over(text.as_bytes())
            }
        }
    }

    /// Chooses by the first bytes; without a mark, ASCII in UTF-16 has a zero as every other byte.
    fn decide(&mut self, hand_over: &mut dyn FnMut(&[u8]) -> Result<(), ForeignError>) -> Result<(), ForeignError> {
        let Self::Undecided(held) = self else { return Ok(()) };
        let held = std::mem::take(held);
        let is_letter = |byte: u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
        let utf16 = |is_big| Self::Utf16 { is_big, odd: None, high: None };
        let (encoding, mark) = match *held.as_slice() {
            [0xef, 0xbb, 0xbf, ..] => (Self::Bytes, UTF8_MARK.len()),
            [0xff, 0xfe, ..] => (utf16(false), 2),
            [0xfe, 0xff, ..] => (utf16(true), 2),
            [a, 0, b, 0, ..] if is_letter(a) && is_letter(b) => (utf16(false), 0),
            [0, a, 0, b, ..] if is_letter(a) && is_letter(b) => (utf16(true), 0),
            _ => (Self::Bytes, 0),
        };
        *self = encoding;
        self.take(held.get(mark..).unwrap_or(&[]), hand_over)
    }

    fn finish(mut self, hand_over: &mut dyn FnMut(&[u8]) -> Result<(), ForeignError>) -> Result<(), ForeignError> {
        if let Self::Undecided(held) = &self {
            if !held.is_empty() {
                self.decide(hand_over)?;
            }
        }
        Ok(())
    }
}

/// A whole file without what it is wrapped in.
///
/// # Errors
/// If it is compressed and damaged, or larger than any output of a program.
pub fn unwrapped(bytes: &[u8]) -> Result<Cow<'_, [u8]>, ForeignError> {
    let is_plain = !bytes.starts_with(GZIP)
        && !bytes.starts_with(UTF8_MARK)
        && !bytes
            .get(..4)
            .is_some_and(|head| head.contains(&0) || head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff"));
    if is_plain {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut plain = Vec::new();
    let mut take = |piece: &[u8]| {
        plain.extend_from_slice(piece);
        if plain.len() > MOST_UNPACKED_BYTES {
            let most = units::format::bytes(MOST_UNPACKED_BYTES as u64);
            return Err(ForeignError::Text(format!(
                "it unpacks to more than {most}, which no output of a program has"
            )));
        }
        Ok(())
    };
    let mut unwrapper = Unwrapper::default();
    unwrapper.take(bytes, &mut take)?;
    unwrapper.finish(&mut take)?;
    Ok(Cow::Owned(plain))
}

/// As much of the beginning of a file as its first bytes hold.
pub(super) fn unwrapped_head(head: &[u8]) -> Cow<'_, [u8]> {
    let mut plain = Vec::new();
    let mut take = |piece: &[u8]| {
        plain.extend_from_slice(piece);
        // Enough was seen; what follows is unpacked once more by whoever reads the file.
        if plain.len() > super::HEAD_BYTES { Err(ForeignError::Text(String::new())) } else { Ok(()) }
    };
    let mut unwrapper = Unwrapper::default();
    // A head ends anywhere: that it cannot be finished says nothing.
    if unwrapper.take(head, &mut take).is_ok() {
        let _ = unwrapper.finish(&mut take);
    }
    Cow::Owned(plain)
}
