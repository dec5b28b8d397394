//! A message with its signature, which says who wrote it, for whom and for what.
//!
//! ```text
//! punctual-signed 1 batch <node's key> <hub's key> <signature>
//! {"stream": …}
//! ```
//! The first line is text, its keys and the signature in hexadecimal digits; what follows is the message. Signed is the first line
//! without the signature and the message: a signature is good for no other purpose and no other hub, whoever carries it. A message may
//! be compressed before it is signed ([`is_compressed`](super::is_compressed)): nobody decompresses what a stranger has sent.

use std::fmt;
use std::str::FromStr;

use crate::stream::{NODE_KEY_BYTES, NodeKey};

/// Length of a signature (bytes; Ed25519, RFC 8032).
pub const SIGNATURE_BYTES: usize = 64;

const NAME: &str = "punctual-signed";
const FORM: &str = "1";
/// The most bytes of the first line: the longest purpose with two keys and a signature has fewer.
const MOST_HEAD: usize = 512;

/// A hub: its public key, by which nodes know its marks. It stays the same through restores and changes of certificates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HubKey(pub [u8; NODE_KEY_BYTES]);

impl fmt::Display for HubKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        NodeKey(self.0).fmt(f)
    }
}

impl fmt::Debug for HubKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&NodeKey(self.0), f)
    }
}

/// What a signature is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A node asks to be enrolled.
    Enrolment,
    /// A hub has enrolled a node.
    Enrolled,
    /// A node sends entries.
    Batch,
    /// A hub says what is committed.
    Mark,
    /// A node says which places in a chain it has.
    Places,
    /// A hub says which of these it has too.
    Common,
    /// A node shows the enrolment that the hub has signed and does not remember.
    Return,
    /// A node proves that a connection is its own, and waits for news.
    Listen,
    /// A hub tells a node the news.
    Told,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Enrolment,
        Self::Enrolled,
        Self::Batch,
        Self::Mark,
        Self::Places,
        Self::Common,
        Self::Return,
        Self::Listen,
        Self::Told,
    ];

    /// Its word in an envelope.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Enrolment => "enrolment",
            Self::Enrolled => "enrolled",
            Self::Batch => "batch",
            Self::Mark => "mark",
            Self::Places => "places",
            Self::Common => "common",
            Self::Return => "return",
            Self::Listen => "listen",
            Self::Told => "told",
        }
    }

    /// Whether nodes write it; hubs write the others.
    #[must_use]
    pub const fn is_a_node_s(self) -> bool {
        matches!(self, Self::Enrolment | Self::Batch | Self::Places | Self::Return | Self::Listen)
    }
}

/// Why bytes are no envelope, or not one that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// It does not begin as envelopes do.
    #[error("this is no signed message: one begins with 'punctual-signed 1', a purpose, two keys and a signature")]
    Foreign,
    /// Its form is one that this program does not know.
    #[error("a signed message of another form than 1: install a newer punctual here")]
    OtherForm,
    /// Signed for something else.
    #[error("a message that was signed for something else than what it was sent for")]
    OtherPurpose,
    /// Signed for another hub.
    #[error("a message that was signed for another hub")]
    OtherHub,
    /// Not signed by the key that it names.
    #[error("a message that was not signed by the key that it names, or was changed since")]
    NotSigned,
}

/// A message with who signed it, for which hub, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// What the signature is for.
    pub purpose: Purpose,
    /// The node that it is of, or to.
    pub node: NodeKey,
    /// The hub that it is to, or of.
    pub hub: HubKey,
    /// Over [`Envelope::signed`].
    pub signature: [u8; SIGNATURE_BYTES],
    /// The message.
    pub message: Vec<u8>,
}

impl Envelope {
    /// Puts a message into one; `sign` signs what it is given.
    pub fn sign(
        purpose: Purpose,
        node: NodeKey,
        hub: HubKey,
        message: Vec<u8>,
        sign: impl FnOnce(&[u8]) -> [u8; SIGNATURE_BYTES],
    ) -> Self {
        let mut envelope = Self { purpose, node, hub, signature: [0; SIGNATURE_BYTES], message };
        envelope.signature = sign(&envelope.signed());
        envelope
    }

    /// What is signed.
    #[must_use]
    pub fn signed(&self) -> Vec<u8> {
        let head = format!("{NAME} {FORM} {} {} {}\n", self.purpose.word(), self.node, self.hub);
        [head.as_bytes(), &self.message].concat()
    }

    /// All of it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        use fmt::Write as _;
        let mut head = format!("{NAME} {FORM} {} {} {} ", self.purpose.word(), self.node, self.hub);
        for byte in self.signature {
            // Writing to a string cannot fail.
            let _ = write!(head, "{byte:02x}");
        }
        head.push('\n');
        [head.as_bytes(), &self.message].concat()
    }

    /// Reads one that was sent for this purpose; nothing of it is trusted before [`verify`](Self::verify).
    ///
    /// # Errors
    /// Where it is none, or for something else.
    pub fn from_bytes(bytes: &[u8], purpose: Purpose) -> Result<Self, EnvelopeError> {
        let end = bytes.iter().take(MOST_HEAD).position(|byte| *byte == b'\n').ok_or(EnvelopeError::Foreign)?;
        let head = std::str::from_utf8(&bytes[..end]).map_err(|_| EnvelopeError::Foreign)?;
        let mut words = head.split(' ');
        let mut next = || words.next().ok_or(EnvelopeError::Foreign);
        if next()? != NAME {
            return Err(EnvelopeError::Foreign);
        }
        if next()? != FORM {
            return Err(EnvelopeError::OtherForm);
        }
        if next()? != purpose.word() {
            return Err(EnvelopeError::OtherPurpose);
        }
        let key = |word: &str| NodeKey::from_str(word).map_err(|_| EnvelopeError::Foreign);
        let (node, hub) = (key(next()?)?, HubKey(key(next()?)?.0));
        let word = next()?;
        let mut signature = [0; SIGNATURE_BYTES];
        // Twice as many digits as a key.
        let halves = word.is_char_boundary(SIGNATURE_BYTES).then(|| word.split_at(SIGNATURE_BYTES));
        let (first, second) = halves.filter(|_| word.len() == 2 * SIGNATURE_BYTES).ok_or(EnvelopeError::Foreign)?;
        signature[..SIGNATURE_BYTES / 2].copy_from_slice(&key(first)?.0);
        signature[SIGNATURE_BYTES / 2..].copy_from_slice(&key(second)?.0);
        if words.next().is_some() {
            return Err(EnvelopeError::Foreign);
        }
        Ok(Self { purpose, node, hub, signature, message: bytes[end + 1..].to_vec() })
    }

    /// The message, where its writer signed it, for this hub; `is_signed` tells whether a key has signed bytes.
    ///
    /// # Errors
    /// Where it is another hub's, or the writer did not sign it.
    pub fn verify(
        &self,
        hub: HubKey,
        is_signed: impl FnOnce(&[u8; NODE_KEY_BYTES], &[u8], &[u8; SIGNATURE_BYTES]) -> bool,
    ) -> Result<&[u8], EnvelopeError> {
        if self.hub != hub {
            return Err(EnvelopeError::OtherHub);
        }
        let writer = if self.purpose.is_a_node_s() { self.node.0 } else { self.hub.0 };
        if !is_signed(&writer, &self.signed(), &self.signature) {
            return Err(EnvelopeError::NotSigned);
        }
        Ok(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A signature of the tests: whoever knows the key can make one.
    fn sign(key: &[u8; 32], bytes: &[u8]) -> [u8; SIGNATURE_BYTES] {
        use sha2::{Digest as _, Sha512};
        let mut hash = Sha512::new();
        hash.update(key);
        hash.update(bytes);
        hash.finalize().into()
    }

    fn is_signed(key: &[u8; 32], bytes: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
        sign(key, bytes) == *signature
    }

    #[test]
    fn a_signature_is_good_for_its_purpose_its_hub_and_its_bytes_alone() {
        let (node, hub) = (NodeKey([1; 32]), HubKey([2; 32]));
        let message = b"{\"stream\": 1}\n".to_vec();
        for purpose in Purpose::ALL {
            let writer = if purpose.is_a_node_s() { node.0 } else { hub.0 };
            let envelope = Envelope::sign(purpose, node, hub, message.clone(), |bytes| sign(&writer, bytes));
            let bytes = envelope.to_bytes();
            let read = Envelope::from_bytes(&bytes, purpose).unwrap();
            assert_eq!((&read, read.verify(hub, is_signed)), (&envelope, Ok(&message[..])));
            assert_eq!(read.verify(HubKey([3; 32]), is_signed), Err(EnvelopeError::OtherHub));
            for other in Purpose::ALL.into_iter().filter(|other| *other != purpose) {
                assert_eq!(Envelope::from_bytes(&bytes, other), Err(EnvelopeError::OtherPurpose));
                let taken_for = Envelope { purpose: other, ..read.clone() };
                assert_eq!(taken_for.verify(hub, is_signed), Err(EnvelopeError::NotSigned));
            }
            // Each byte counts.
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[at] ^= 1;
                let taken = Envelope::from_bytes(&changed, purpose)
                    .and_then(|one| one.verify(hub, is_signed).map(<[u8]>::to_vec));
                assert!(taken.is_err(), "byte {at}");
            }
            for length in 0..bytes.len() {
                let cut = Envelope::from_bytes(&bytes[..length], purpose);
                assert!(cut.and_then(|one| one.verify(hub, is_signed).map(<[u8]>::to_vec)).is_err(), "{length} bytes");
            }
        }
        assert_eq!(Envelope::from_bytes(b"punctual-signed 2 batch\n", Purpose::Batch), Err(EnvelopeError::OtherForm));
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..700)) {
            for purpose in Purpose::ALL {
                let _ = Envelope::from_bytes(&bytes, purpose);
            }
        }
    }
}
