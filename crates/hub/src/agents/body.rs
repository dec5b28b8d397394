//! Bodies of agents' requests: bounded in time, in bytes as sent, and in bytes as they are once they are decompressed.
//!
//! The signature is over the bytes as they are sent: what a stranger sends is never decompressed.

use std::io::Read as _;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use farm::monitor::{Envelope, EnvelopeError, HubKey, MOST_BATCH_BYTES, Purpose, Refused, is_compressed};
use farm::stream::NodeKey;
use flate2::read::ZlibDecoder;
use http_body_util::BodyExt as _;
use tokio::time::timeout;

use super::refusal::Refusal;
use crate::door::{NoRoom, Room, Visitor};
use crate::keys::is_signed;
use crate::limits::Limits;

/// The most bytes of an envelope: a batch behind its first line.
const MOST_BYTES: usize = MOST_BATCH_BYTES + 512;

/// A body as it was sent.
pub(super) struct Received {
    bytes: Vec<u8>,
    room: Room,
}

/// A message that its sender has signed, as it was sent.
pub(super) struct Signed {
    /// Who.
    pub(super) node: NodeKey,
    message: Vec<u8>,
    room: Room,
}

/// The text of a message.
pub(super) struct Message {
    /// JSON, as far as is known.
    pub(super) text: Vec<u8>,
    /// Kept until what was made of the message is no longer needed.
    pub(super) room: Room,
}

/// Receives the body of a request.
///
/// # Errors
/// Where it says no length, is too large or too slow, or too much is there already.
pub(super) async fn receive(limits: &Limits, visitor: &Visitor, request: Request) -> Result<Received, Refusal> {
    let (head, body) = request.into_parts();
    let length = length(&head.headers)?;
    check_encoding(&head.headers)?;
    let mut room = visitor.room();
    let bytes = timeout(limits.body, collect(body, length, &mut room)).await.map_err(|_| {
        let why = format!("a body that did not come within {} s", limits.body.as_secs());
        Refusal::new(StatusCode::REQUEST_TIMEOUT, Refused::Malformed, &why)
    })??;
    Ok(Received { bytes, room })
}

/// Room is taken for what has come, and not for what is promised.
async fn collect(mut body: Body, length: usize, room: &mut Room) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Refusal::malformed(&error))?;
        let Some(piece) = frame.data_ref() else { continue };
        if piece.len() > length.saturating_sub(bytes.len()) {
            return Err(Refusal::malformed(&"more bytes than its Content-Length says"));
        }
        room.take(piece.len())?;
        bytes.extend_from_slice(piece);
    }
    Ok(bytes)
}

fn length(headers: &HeaderMap) -> Result<usize, Refusal> {
    let said =
        headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok()).ok_or_else(|| {
            Refusal::new(StatusCode::LENGTH_REQUIRED, Refused::Malformed, "a message comes with its Content-Length")
        })?;
    usize::try_from(said).ok().filter(|length| *length <= MOST_BYTES).ok_or_else(|| too_large(&format!("{said} bytes")))
}

/// What is compressed is the message, below its signature.
fn check_encoding(headers: &HeaderMap) -> Result<(), Refusal> {
    match headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes) {
        None | Some(b"identity") => Ok(()),
        Some(_) => {
            let why = "a message has no Content-Encoding: compress it (zlib) before it is signed";
            Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Refused::Malformed, why))
        }
    }
}

fn too_large(found: &str) -> Refusal {
    let why = format!("a message of {found}, and at most {MOST_BYTES} bytes are allowed: send it in several");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, Refused::Malformed, &why)
}

impl Received {
    /// The message that was sent for this purpose to this hub.
    ///
    /// # Errors
    /// Where it is none, its sender did not sign it, or it is too large.
    pub(super) fn verified(self, purpose: Purpose, hub: HubKey) -> Result<Signed, Refusal> {
        let envelope = Envelope::from_bytes(&self.bytes, purpose)?;
        envelope.verify(hub, is_signed)?;
        Ok(Signed { node: envelope.node, message: envelope.message, room: self.room })
    }
}

impl Signed {
    /// The text of the message: for those alone who are known, since it may become much larger than what was sent.
    ///
    /// # Errors
    /// Where it is too large, or cannot be decompressed.
    pub(super) fn opened(mut self) -> Result<Message, Refusal> {
        if is_compressed(&self.message) {
            self.message = decompress(&self.message)?;
            self.room.take(self.message.len())?;
        }
        Ok(self.unopened())
    }

    /// The text of a message that is never compressed.
    pub(super) fn unopened(self) -> Message {
        Message { text: self.message, room: self.room }
    }
}

impl From<NoRoom> for Refusal {
    fn from(_: NoRoom) -> Self {
        Self::busy("too many messages arrive just now")
    }
}

/// Decompresses no more than is allowed, whatever the bytes would become.
fn decompress(bytes: &[u8]) -> Result<Vec<u8>, Refusal> {
    let mut all = Vec::new();
    let most = u64::try_from(MOST_BATCH_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let read = ZlibDecoder::new(bytes).take(most).read_to_end(&mut all);
    read.map_err(|error| Refusal::malformed(&format!("the message cannot be decompressed: {error}")))?;
    if all.len() > MOST_BATCH_BYTES { Err(too_large("more when it is decompressed")) } else { Ok(all) }
}

impl From<EnvelopeError> for Refusal {
    fn from(error: EnvelopeError) -> Self {
        match error {
            EnvelopeError::OtherHub | EnvelopeError::NotSigned => {
                Self::new(StatusCode::UNAUTHORIZED, Refused::NotSigned, &error.to_string())
            }
            EnvelopeError::Foreign | EnvelopeError::OtherForm | EnvelopeError::OtherPurpose => Self::malformed(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    #[test]
    fn a_bomb_is_refused_when_it_is_as_large_as_is_allowed() {
        let mut bomb = ZlibEncoder::new(Vec::new(), Compression::best());
        for _ in 0..64 {
            bomb.write_all(&vec![0; 1 << 20]).unwrap();
        }
        let bomb = bomb.finish().unwrap();
        assert!(bomb.len() < 100_000, "{}", bomb.len());
        assert_eq!(decompress(&bomb).unwrap_err().status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert!(decompress(b"no zlib").is_err());
        let mut fits = ZlibEncoder::new(Vec::new(), Compression::fast());
        fits.write_all(&vec![7; MOST_BATCH_BYTES]).unwrap();
        assert_eq!(decompress(&fits.finish().unwrap()).unwrap().len(), MOST_BATCH_BYTES);
    }
}
