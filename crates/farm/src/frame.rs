//! The frames of a connection: a byte with the version, four with the length (most significant first), then that many bytes
//! of JSON.
//!
//! ```text
//! 01 00 00 00 0d {"answer":42}
//! 01 00 00 00 00                a heartbeat
//! ```

use std::mem;

use serde::Serialize;
use serde::de::DeserializeOwned;
use units::printable;

/// The version of the frames, which is the first byte of each.
pub const VERSION: u8 = 1;
/// The most bytes of JSON in a frame before the partner has proved that it has the token.
pub const MOST_BEFORE_TRUST: usize = 4 * 1024;
/// The most bytes of JSON in a frame between partners: the record of a run of days has about 20 MiB.
pub const MOST_AFTER_TRUST: usize = 64 * 1024 * 1024;
/// A frame without content, which shows that the sender is alive.
pub const HEARTBEAT: [u8; HEADER_BYTES] = [VERSION, 0, 0, 0, 0];

const HEADER_BYTES: usize = 5;
/// Characters of a reader's error that are kept: it may quote what was sent.
const MOST_OF_AN_ERROR: usize = 200;

/// Why a frame cannot be written or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The first byte is another one.
    #[error(
        "a frame of version {0}, and this program reads version {VERSION}: install the same punctual on both nodes"
    )]
    OtherVersion(u8),
    /// Longer than allowed.
    #[error("a message of {bytes} bytes, and at most {most} are allowed")]
    TooLong {
        /// Bytes of JSON.
        bytes: usize,
        /// The bound.
        most: usize,
    },
    /// The content is not JSON, or not what was expected.
    #[error("a message that cannot be read ({0}): install the same punctual on both nodes")]
    Content(String),
    /// The value has no JSON form.
    #[error("the value has no JSON form ({0})")]
    NoJson(String),
}

/// A value as a frame.
///
/// # Errors
/// If its JSON is longer than `most` bytes, or it has none.
pub fn encode<T: Serialize + ?Sized>(value: &T, most: usize) -> Result<Vec<u8>, FrameError> {
    let mut frame = HEARTBEAT.to_vec();
    serde_json::to_writer(&mut frame, value).map_err(|error| FrameError::NoJson(error.to_string()))?;
    let bytes = frame.len() - HEADER_BYTES;
    let length = u32::try_from(bytes).ok().filter(|_| bytes <= most);
    let Some(length) = length else { return Err(FrameError::TooLong { bytes, most }) };
    for (place, byte) in frame.iter_mut().skip(1).zip(length.to_be_bytes()) {
        *place = byte;
    }
    Ok(frame)
}

/// The value in a frame's content.
///
/// # Errors
/// If it is not JSON, or not of the type.
pub fn decode<T: DeserializeOwned>(content: &[u8]) -> Result<T, FrameError> {
    let refused = |text: String| FrameError::Content(printable::line(&text).chars().take(MOST_OF_AN_ERROR).collect());
    let text = std::str::from_utf8(content).map_err(|error| refused(error.to_string()))?;
    // What a partner calls its host, threads and interfaces comes to a terminal of ours.
    serde_json::from_str(&printable::json(text)).map_err(|error| refused(error.to_string()))
}

/// One received frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The sender is alive.
    Heartbeat,
    /// JSON, for [`decode`].
    Content(Vec<u8>),
}

impl Frame {
    fn new(content: Vec<u8>) -> Self {
        if content.is_empty() { Self::Heartbeat } else { Self::Content(content) }
    }
}

/// Puts frames together from bytes as they come. Memory grows with what has come, never with what a header announces.
#[derive(Debug)]
pub struct FrameReader {
    buffer: Vec<u8>,
    /// Bytes at the beginning of the buffer that were handed out.
    consumed: usize,
    most: usize,
}

impl FrameReader {
    /// A reader of frames with at most `most` bytes of JSON each.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self { buffer: Vec::new(), consumed: 0, most }
    }

    /// Sets another bound for the frames to come.
    pub const fn set_most(&mut self, most: usize) {
        self.most = most;
    }

    /// Takes bytes as they come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes that were taken and not handed out yet.
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        self.buffer.len() - self.consumed
    }

    /// Whether [`Self::next_frame`] has something to say.
    #[must_use]
    pub fn has_frame(&self) -> bool {
        !matches!(self.next_length(), Ok(None))
    }

    /// Bytes of JSON in the next frame, if it is there as a whole.
    fn next_length(&self) -> Result<Option<usize>, FrameError> {
        let rest = self.buffer.get(self.consumed..).unwrap_or_default();
        let Some(version) = rest.first() else { return Ok(None) };
        if *version != VERSION {
            return Err(FrameError::OtherVersion(*version));
        }
        let Some(length) = rest.get(1..HEADER_BYTES).and_then(|four| <[u8; 4]>::try_from(four).ok()) else {
            return Ok(None);
        };
        let bytes = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if bytes > self.most {
            return Err(FrameError::TooLong { bytes, most: self.most });
        }
        Ok((rest.len() - HEADER_BYTES >= bytes).then_some(bytes))
    }

    /// The next frame; `None` until all of it has come.
    ///
    /// # Errors
    /// If the bytes are no frame, or one that is too long. Nothing can be read after that.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let Some(length) = self.next_length()? else { return Ok(None) };
        let begin = self.consumed + HEADER_BYTES;
        let end = begin + length;
        if end == self.buffer.len() {
            // Nothing follows, as is usual after a long one: it is handed out without a copy.
            let mut content = mem::take(&mut self.buffer);
            content.drain(..begin);
            self.consumed = 0;
            return Ok(Some(Frame::new(content)));
        }
        let frame = Frame::new(self.buffer.get(begin..end).unwrap_or_default().to_vec());
        self.consumed = end;
        if self.consumed >= self.buffer.len() / 2 {
            // At most as many bytes are moved as were handed out since the last time.
            self.buffer.drain(..self.consumed);
            self.consumed = 0;
        }
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(letters: &str) -> Frame {
        Frame::Content(format!("\"{letters}\"").into_bytes())
    }

    #[test]
    fn a_frame_is_a_version_a_length_and_json() {
        let frame = encode("ab", MOST_BEFORE_TRUST).unwrap();
        assert_eq!(frame, [&[1, 0, 0, 0, 4][..], b"\"ab\""].concat());
        let mut reader = FrameReader::new(MOST_BEFORE_TRUST);
        reader.push(&[&frame[..], &HEARTBEAT, &frame[..3]].concat());
        assert!(reader.has_frame());
        assert_eq!(reader.next_frame(), Ok(Some(text("ab"))));
        assert_eq!(reader.next_frame(), Ok(Some(Frame::Heartbeat)));
        assert_eq!((reader.next_frame(), reader.has_frame(), reader.pending_bytes()), (Ok(None), false, 3));
        reader.push(&frame[3..]);
        assert_eq!(reader.next_frame(), Ok(Some(text("ab"))));
        assert_eq!(reader.pending_bytes(), 0);
    }

    #[test]
    fn a_bound_is_held_on_both_sides_and_before_the_content_has_come() {
        let longest = "a".repeat(MOST_BEFORE_TRUST - 2);
        let frame = encode(&longest, MOST_BEFORE_TRUST).unwrap();
        let too_long = Err(FrameError::TooLong { bytes: MOST_BEFORE_TRUST + 1, most: MOST_BEFORE_TRUST });
        assert_eq!(encode(&format!("{longest}a"), MOST_BEFORE_TRUST), too_long);
        let mut reader = FrameReader::new(MOST_BEFORE_TRUST);
        reader.push(&frame);
        assert_eq!(reader.next_frame(), Ok(Some(text(&longest))));
        reader.push(&[1, 0, 0, 0x10, 1]);
        assert_eq!(reader.next_frame().map(|_| Vec::new()), too_long);
        reader.set_most(MOST_AFTER_TRUST);
        assert_eq!(reader.next_frame(), Ok(None));
        let mut reader = FrameReader::new(MOST_AFTER_TRUST);
        reader.push(&[1, 0xff, 0xff, 0xff, 0xff]);
        assert!(reader.has_frame() && reader.next_frame().is_err());
    }

    #[test]
    fn a_long_stream_of_frames_keeps_no_more_than_what_waits() {
        let frame = encode(&"a".repeat(1_000), MOST_BEFORE_TRUST).unwrap();
        let mut reader = FrameReader::new(MOST_BEFORE_TRUST);
        // A part of the next one is always there, so that the buffer is never empty.
        reader.push(&frame[..500]);
        for _ in 0..1_000 {
            reader.push(&frame[500..]);
            reader.push(&frame[..500]);
            assert!(reader.next_frame().unwrap().is_some());
            assert!(reader.buffer.len() <= 4 * frame.len(), "{} bytes", reader.buffer.len());
        }
    }

    #[test]
    fn bytes_of_another_protocol_are_refused() {
        for (bytes, version) in [(&b"GET / HTTP/1.1"[..], b'G'), (&[2, 0], 2), (&[0], 0)] {
            let mut reader = FrameReader::new(MOST_AFTER_TRUST);
            reader.push(bytes);
            assert_eq!(reader.next_frame(), Err(FrameError::OtherVersion(version)));
        }
    }

    #[test]
    fn content_of_another_type_is_an_error_of_bounded_length_without_control_characters() {
        assert_eq!(decode::<u32>(b"7"), Ok(7));
        let error = decode::<u32>(format!("\"\u{1b}[2J{}\"", "a".repeat(9_999)).as_bytes()).unwrap_err().to_string();
        assert!(error.len() < 400 && !error.contains('\u{1b}'), "{error}");
    }

    proptest! {
        #[test]
        fn frames_come_back_however_the_bytes_are_cut(
            messages in prop::collection::vec("[a-z]{0,300}", 1..20),
            cuts in prop::collection::vec(1..97_usize, 1..400),
        ) {
            let bytes: Vec<u8> = messages.iter().flat_map(|message| encode(message, MOST_BEFORE_TRUST).unwrap()).collect();
            let mut reader = FrameReader::new(MOST_BEFORE_TRUST);
            let mut read = Vec::new();
            let (mut rest, mut cuts) = (&bytes[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                reader.push(piece);
                rest = after;
                while let Some(frame) = reader.next_frame().unwrap() {
                    read.push(frame);
                }
            }
            let expected: Vec<Frame> = messages.iter().map(|message| text(message)).collect();
            prop_assert_eq!(read, expected);
            prop_assert_eq!(reader.pending_bytes(), 0);
        }
    }
}
