//! Bodies of agents' requests: bounded in time, in bytes as sent, and in bytes as they are once they are decompressed.

use std::io::Read as _;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use farm::monitor::{Envelope, EnvelopeError, HubKey, MOST_BATCH_BYTES, Purpose, Refused};
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
    is_compressed: bool,
    room: Room,
}

/// A message, which its sender has signed.
pub(super) struct Message {
    /// Who.
    pub(super) node: NodeKey,
    /// What.
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
    let is_compressed = is_compressed(&head.headers)?;
    let mut room = visitor.room();
    let bytes = timeout(limits.body, collect(body, length, &mut room)).await.map_err(|_| {
        let why = format!("a body that did not come within {} s", limits.body.as_secs());
        Refusal::new(StatusCode::REQUEST_TIMEOUT, Refused::Malformed, &why)
    })??;
    Ok(Received { bytes, is_compressed, room })
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

fn is_compressed(headers: &HeaderMap) -> Result<bool, Refusal> {
    match headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes) {
        None | Some(b"identity") => Ok(false),
        Some(b"deflate") => Ok(true),
        Some(_) => {
            let why = "a message is sent as it is, or by Content-Encoding: deflate (zlib)";
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
    pub(super) fn verified(mut self, purpose: Purpose, hub: HubKey) -> Result<Message, Refusal> {
        if self.is_compressed {
            self.bytes = decompress(&self.bytes)?;
            self.room.take(self.bytes.len())?;
        }
        let envelope = Envelope::from_bytes(&self.bytes, purpose)?;
        envelope.verify(hub, is_signed)?;
        Ok(Message { node: envelope.node, text: envelope.message, room: self.room })
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
    let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let read = ZlibDecoder::new(bytes).take(most).read_to_end(&mut all);
    read.map_err(|error| Refusal::malformed(&format!("the message cannot be decompressed: {error}")))?;
    if all.len() > MOST_BYTES { Err(too_large("more when it is decompressed")) } else { Ok(all) }
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
        fits.write_all(&vec![7; MOST_BYTES]).unwrap();
        assert_eq!(decompress(&fits.finish().unwrap()).unwrap().len(), MOST_BYTES);
    }
}
