//! What a stream, a stretch of it and a place in its chain are called.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Length of a node's public key (bytes; Ed25519, RFC 8032).
pub const NODE_KEY_BYTES: usize = 32;

/// A node: its public key. Nothing else of a node is its identity: names and addresses change, and boots repeat in copies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeKey(pub [u8; NODE_KEY_BYTES]);

/// Length of a place in a chain (bytes).
pub const PLACE_BYTES: usize = 16;

/// A place in the chain of a stream: the hash of all entries up to there, its first 16 bytes. It tells two histories of one node from
/// each other; against others a batch is signed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Place(pub [u8; PLACE_BYTES]);

/// SHA-256 of a content, which has it for a name: a condition, a profile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentHash(pub [u8; 32]);

/// Why a text is no key and no hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("hexadecimal digits in lower case are expected, two for each byte")]
pub struct NotHexadecimal;

/// Bytes as hexadecimal digits in lower case.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Bytes of hexadecimal digits in lower case, two for each of them.
///
/// # Errors
/// Where a character is no such digit, or one is left over.
pub fn bytes_of_hexadecimal(text: &str) -> Result<Vec<u8>, NotHexadecimal> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(NotHexadecimal),
    };
    let pairs = text.as_bytes().chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(NotHexadecimal);
    }
    pairs.map(|pair| Ok((digit(pair[0])? << 4) | digit(pair[1])?)).collect()
}

fn from_hexadecimal<const BYTES: usize>(text: &str) -> Result<[u8; BYTES], NotHexadecimal> {
    if text.len() != 2 * BYTES {
        return Err(NotHexadecimal);
    }
    bytes_of_hexadecimal(text)?.try_into().map_err(|_| NotHexadecimal)
}

/// Text forms of bytes: hexadecimal digits in lower case, and no other.
macro_rules! as_hexadecimal {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hexadecimal(&self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // Enough to tell one from another by eye.
                f.write_str(&hexadecimal(&self.0[..4]))
            }
        }

        impl From<$name> for String {
            fn from(of: $name) -> Self {
                hexadecimal(&of.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotHexadecimal;

            fn try_from(text: String) -> Result<Self, NotHexadecimal> {
                from_hexadecimal(&text).map(Self)
            }
        }

        impl std::str::FromStr for $name {
            type Err = NotHexadecimal;

            fn from_str(text: &str) -> Result<Self, NotHexadecimal> {
                from_hexadecimal(text).map(Self)
            }
        }
    };
}

as_hexadecimal!(NodeKey);
as_hexadecimal!(Place);
as_hexadecimal!(ContentHash);

impl ContentHash {
    /// Of a content.
    #[must_use]
    pub fn of(content: &str) -> Self {
        Self::of_bytes(content.as_bytes())
    }

    /// SHA-256 of bytes that are no text: a certificate.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

/// A stream of entries: what one start of a node's agent wrote. No two starts share one, whatever was copied or set back: the
/// number is drawn at random at each start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamId {
    /// How often the agent has started on this node, as its own files tell; it orders streams for people and proves nothing.
    pub start: u64,
    /// Drawn at random when the agent started.
    pub random: u64,
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.start, self.random)
    }
}

impl Place {
    /// The place before the first entry of a stream.
    #[must_use]
    pub fn origin(node: &NodeKey, stream: StreamId) -> Self {
        Self::of(&[b"punctual stream 1\0", &node.0, &stream.start.to_le_bytes(), &stream.random.to_le_bytes()])
    }

    /// The place after an entry that follows.
    #[must_use]
    pub fn then(&self, entry: &[u8]) -> Self {
        Self::of(&[b"punctual entry 1\0", &self.0, entry])
    }

    /// Of a list of places, each with its sequence: an answer names the question that it answers by it.
    #[must_use]
    pub fn of_places(places: &[(u64, Self)]) -> Self {
        let bytes: Vec<u8> =
            places.iter().flat_map(|(sequence, place)| sequence.to_le_bytes().into_iter().chain(place.0)).collect();
        Self::of(&[b"punctual places 1\0", &bytes])
    }

    fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        parts.iter().for_each(|part| hash.update(part));
        let mut place = [0; PLACE_BYTES];
        place.copy_from_slice(&hash.finalize()[..PLACE_BYTES]);
        Self(place)
    }
}

/// Where a stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Base {
    /// The sequence before its first; 0 but for a branch.
    pub sequence: u64,
    /// The place after that.
    pub place: Place,
    /// The stream that it is a branch of: of two copies of a node one goes on in it, and the other one goes on here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_of: Option<StreamId>,
}

impl Base {
    /// Of a stream that an agent's start began.
    #[must_use]
    pub fn of_start(node: &NodeKey, stream: StreamId) -> Self {
        Self { sequence: 0, place: Place::origin(node, stream), branch_of: None }
    }

    /// The stream that begins here, where `next` is the place after its first sequence. Whoever has the same history makes the same
    /// branch of it.
    #[must_use]
    pub fn branch(&self, next: &Place) -> Option<StreamId> {
        let of = self.branch_of?;
        let numbers = [of.start, of.random, self.sequence].map(u64::to_le_bytes).concat();
        let mut random = [0; 8];
        random.copy_from_slice(&Place::of(&[b"punctual branch 1\0", &numbers, &self.place.0, &next.0]).0[..8]);
        Some(StreamId { start: of.start, random: u64::from_le_bytes(random) })
    }

    /// Whether a stream of a node can begin here, with `next` the place after its first sequence.
    #[must_use]
    pub fn fits(&self, node: &NodeKey, stream: StreamId, next: &Place) -> bool {
        if self.branch_of.is_some() {
            return self.branch(next) == Some(stream);
        }
        *self == Self::of_start(node, stream)
    }
}

/// A stretch of a stream: the sequences from the first to the last, both included. Sequences are counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "(u64, u64)", into = "(u64, u64)")]
pub struct Span {
    first: u64,
    last: u64,
}

/// Why two numbers are no stretch of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sequences {0} to {1} are no stretch of a stream: they are counted from 1, the first not after the last")]
pub struct NoSpan(u64, u64);

impl TryFrom<(u64, u64)> for Span {
    type Error = NoSpan;

    fn try_from((first, last): (u64, u64)) -> Result<Self, NoSpan> {
        Self::new(first, last).ok_or(NoSpan(first, last))
    }
}

impl From<Span> for (u64, u64) {
    fn from(span: Span) -> Self {
        (span.first, span.last)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last { write!(f, "{}", self.first) } else { write!(f, "{}-{}", self.first, self.last) }
    }
}

impl Span {
    /// The sequences from the first to the last; `None` where they are none.
    #[must_use]
    pub const fn new(first: u64, last: u64) -> Option<Self> {
        if first == 0 || first > last { None } else { Some(Self { first, last }) }
    }

    /// One sequence (at least 1).
    #[must_use]
    pub const fn one(sequence: u64) -> Self {
        let sequence = if sequence == 0 { 1 } else { sequence };
        Self { first: sequence, last: sequence }
    }

    /// Its first sequence.
    #[must_use]
    pub const fn first(self) -> u64 {
        self.first
    }

    /// Its last sequence.
    #[must_use]
    pub const fn last(self) -> u64 {
        self.last
    }

    /// The sequence before its first one; 0 where it begins the stream.
    #[must_use]
    pub const fn before(self) -> u64 {
        self.first - 1
    }

    /// How many sequences it has: at least one.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.last - self.first + 1
    }

    /// Whether all of the other one lies in this one.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    /// Whether they have a sequence in common.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Whether it is a node of the one binary tree over all sequences: 1, 2, 1-2, 3, 4, 3-4, 1-4, … Two of these are apart from each
    /// other, or one lies in the other.
    #[must_use]
    pub const fn is_aligned(self) -> bool {
        self.count().is_power_of_two() && self.before() % self.count() == 0
    }

    /// The node of the tree that this one and its neighbor make; `None` where this is none, or at the end of all numbers.
    #[must_use]
    pub fn parent(self) -> Option<Self> {
        let count = self.count().checked_mul(2).filter(|_| self.is_aligned())?;
        let before = self.before() - self.before() % count;
        Some(Self { first: before + 1, last: before.checked_add(count)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_the_tree_are_apart_or_one_lies_in_the_other() {
        let all = (1..=16).flat_map(|first| (first..=16).map(move |last| Span::new(first, last).unwrap()));
        let aligned: Vec<Span> = all.filter(|span| span.is_aligned()).collect();
        assert_eq!(aligned.len(), 16 + 8 + 4 + 2 + 1);
        for one in &aligned {
            for other in &aligned {
                assert!(!one.overlaps(*other) || one.contains(*other) || other.contains(*one), "{one} {other}");
            }
            let parent = one.parent().unwrap();
            assert!(parent.is_aligned() && parent.contains(*one) && parent.count() == 2 * one.count());
        }
        assert_eq!(Span::new(2, 3).unwrap().parent(), None);
        assert_eq!(Span::new(1, 1 << 63).unwrap().parent(), None);
        assert!(serde_json::from_str::<Span>("[0, 3]").is_err() && serde_json::from_str::<Span>("[4, 3]").is_err());
        assert_eq!(serde_json::from_str::<Span>("[3, 4]").unwrap(), Span::new(3, 4).unwrap());
    }

    #[test]
    fn a_place_in_a_chain_depends_on_all_before_it() {
        let (node, stream) = (NodeKey([7; 32]), StreamId { start: 1, random: 2 });
        let origin = Place::origin(&node, stream);
        let places = [
            origin,
            Place::origin(&NodeKey([8; 32]), stream),
            Place::origin(&node, StreamId { start: 2, random: 1 }),
            origin.then(b"a"),
            origin.then(b"b"),
            origin.then(b"a").then(b"b"),
            origin.then(b"b").then(b"a"),
            origin.then(b"ab"),
        ];
        let different: std::collections::BTreeSet<_> = places.iter().collect();
        assert_eq!(different.len(), places.len());
        assert_eq!(origin.to_string().parse(), Ok(origin));
        assert_eq!("F".repeat(32).parse::<Place>(), Err(NotHexadecimal), "one text for one value");
    }
}
