//! The frames of a connection: a byte with the version, four with the length (most significant first), then that many bytes
//! of JSON.
//!
//! ```text
//! 01 00 00 00 0d {"answer":42}
//! 01 00 00 00 00                a heartbeat
//! ```

use serde::Serialize;
use serde::de::DeserializeOwned;

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
    serde_json::from_slice(content).map_err(|error| {
        let text = error.to_string();
        let printable = text.chars().map(|letter| if letter.is_control() { '?' } else { letter });
        FrameError::Content(printable.take(MOST_OF_AN_ERROR).collect())
    })
}

/// One received frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The sender is alive.
    Heartbeat,
    /// JSON, for [`decode`].
    Content(Vec<u8>),
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
        let content = self.buffer.get(begin..begin + length).unwrap_or_default();
        let frame = if content.is_empty() { Frame::Heartbeat } else { Frame::Content(content.to_vec()) };
        self.consumed = begin + length;
        if self.consumed == self.buffer.len() {
            self.buffer = Vec::new();
            self.consumed = 0;
        } else if self.consumed >= self.buffer.len() / 2 {
            // At most as many bytes are moved as were handed out since the last time.
            self.buffer.drain(..self.consumed);
            self.consumed = 0;
        }
        Ok(Some(frame))
    }
}
