//! What stands in the envelopes: JSON, of a form that grows by fields that older programs leave out.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::stream::{Base, Entry as _, GoneReason, Item, NodeKey, Place, Span, StreamId};

use super::entry::MOST_LENGTH_NS;
use super::{BootId, MonitorEntry, NotAllowed, quick};

/// The most bytes of a batch, as sent (4 MiB): a week of a machine with 64 CPUs comes in several.
pub const MOST_BATCH_BYTES: usize = 4 << 20;
/// The most items of a batch.
pub const MOST_ITEMS: usize = 4_096;

/// Whether a message, which else is a JSON object, is one that was compressed (zlib, RFC 1950) before it was signed: the first byte of
/// such a stream is no brace.
#[must_use]
pub fn is_compressed(message: &[u8]) -> bool {
    message.first().is_some_and(|first| *first != b'{')
}

/// An entry as its node wrote it: these very bytes stand in the chain.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawEntry(pub Box<RawValue>);

impl RawEntry {
    /// The bytes of an entry that is written now.
    ///
    /// # Errors
    /// Where it has no JSON form, which none of the entries lacks.
    pub fn new(entry: &MonitorEntry) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(entry).map(Self)
    }

    /// The entry.
    ///
    /// # Errors
    /// Where it is none, or one that is not allowed.
    pub fn entry(&self) -> Result<MonitorEntry, NotAllowed> {
        let Some(interval) = quick::interval(self.0.get()) else { return MonitorEntry::from_json(self.0.get()) };
        let entry = MonitorEntry::Interval(interval);
        entry.check()?;
        Ok(entry)
    }
}

impl PartialEq for RawEntry {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl crate::stream::Entry for RawEntry {
    fn merged(&self, later: &Self) -> Option<Self> {
        let merged = self.entry().ok()?.merged(&later.entry().ok()?)?;
        Self::new(&merged).ok()
    }

    fn may_be_emptied(&self) -> bool {
        self.entry().is_ok_and(|entry| entry.may_be_emptied())
    }

    fn without_counts(&self) -> Self {
        let without = self.entry().ok().and_then(|entry| Self::new(&entry.without_counts()).ok());
        without.unwrap_or_else(|| self.clone())
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.get().as_bytes().to_vec()
    }
}

/// A node asks to be enrolled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EnrolmentBody {
    /// The secret of the token, in hexadecimal digits: over a connection to the hub whose certificate the token names.
    pub secret: String,
    /// The name that the node gives itself: its host name.
    pub name: String,
    /// Version of its program.
    pub version: String,
}

/// A hub has enrolled a node. The node keeps it, signed, and shows it to a hub that was restored to before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EnrolledBody {
    /// The node.
    pub node: NodeKey,
    /// Its name on the hub.
    pub name: String,
    /// The hub's life in which it was enrolled.
    pub epoch: u64,
    /// SHA-256 of the certificate that the hub will use next, in hexadecimal digits; absent where it has not made one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_certificate: Option<String>,
}

/// A node shows its enrolment to a hub that does not remember it: it was restored to before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReturnBody {
    /// The envelope with the [`EnrolledBody`], as the hub signed it.
    pub enrolment: String,
    /// Version of the program that sends it.
    #[serde(default)]
    pub version: String,
}

/// Entries of one stream, in their order, each following on the one before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BatchBody {
    /// The stream that the message is about.
    pub stream: StreamId,
    /// Where it begins.
    pub base: Base,
    /// What follows on the hub's last mark; none where the node only asks for it.
    pub items: Vec<Item<RawEntry>>,
    /// Version of the program that sends it.
    #[serde(default)]
    pub version: String,
    /// When it is sent, by the node's own clock; absent of an agent of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<SentAt>,
}

/// A moment of a boot. With the moment at which the hub receives it, it says where the boot's times lie in UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SentAt {
    /// The boot in which the message is sent: its entries may be of earlier ones.
    pub boot: BootId,
    /// ns, CLOCK_BOOTTIME.
    pub at_ns: i64,
}

impl SentAt {
    /// The most bytes of a boot's name.
    const MOST_BOOT: usize = 128;

    /// Whether it can be a moment of a boot.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        let is_moment = u64::try_from(self.at_ns).is_ok_and(|at_ns| at_ns <= MOST_LENGTH_NS);
        is_moment && self.boot.0.len() <= Self::MOST_BOOT
    }
}

/// All of a stream up to there is committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MarkBody {
    /// The stream that the message is about.
    pub stream: StreamId,
    /// The last sequence that is committed; 0 for none.
    pub sequence: u64,
    /// The place in the chain after it.
    pub hash: Place,
    /// The hub's life.
    pub epoch: u64,
    /// Stretches up to there of which the hub was told that they are gone: what the node has of these it sends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<Span>,
}

/// Places in the chain of a stream, of which the hub is to say the last one that it has too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlacesBody {
    /// The stream that the message is about.
    pub stream: StreamId,
    /// Ends of pieces: the sequence, and the place after it.
    pub places: Vec<(u64, Place)>,
}

/// The end of what a node and the hub have in common of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CommonBody {
    /// The stream that the message is about.
    pub stream: StreamId,
    /// Its last sequence that both have; 0 for none.
    pub sequence: u64,
    /// The last sequence that the hub has.
    pub end: u64,
    /// The question that is answered, [`Place::of_places`].
    pub of: Place,
    /// The hub's life.
    pub epoch: u64,
}

/// Why a hub took nothing of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refused {
    /// The message is none, or not allowed.
    Malformed,
    /// It was not signed by the node that it names, or for another hub.
    NotSigned,
    /// The node is not enrolled here: it shows its enrolment, or asks for one.
    NotEnrolled,
    /// The node's enrolment was taken back.
    Revoked,
    /// The token is none, was used by another node, or ended.
    Token,
    /// The node is enrolled already, by another token.
    AlreadyEnrolled,
    /// The node was enrolled by a later life of this hub: an old one has woken up.
    OldHub,
    /// More than this node may send: it tries again later.
    Quota,
    /// The hub cannot write: it tries again later.
    Busy,
}

/// A hub's answer where it took nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RefusedBody {
    /// Why.
    pub refused: Refused,
    /// The same as a sentence for people, with the remedy.
    pub why: String,
}

impl BatchBody {
    /// The place after the first sequence of the stream, where the batch begins there.
    #[must_use]
    pub fn first_place(&self) -> Option<Place> {
        let first = self.items.first().filter(|item| item.span.before() == self.base.sequence)?;
        first.head().place(self.base.sequence + 1)
    }

    /// Reads one, and looks at what must hold of it whatever is held: the items follow on each other, pieces of the tree are aligned,
    /// and the place after a single entry is that of its bytes.
    ///
    /// # Errors
    /// Where it is none, or not allowed, with what of it.
    pub fn from_json(json: &[u8]) -> Result<Self, NotAllowed> {
        Self::with_entries(json).map(|(batch, _)| batch)
    }

    /// The same, with what was read of the entry of each item: to read them is most of the work. `None` of items without one.
    ///
    /// # Errors
    /// Where it is none, or not allowed, with what of it.
    pub fn with_entries(json: &[u8]) -> Result<(Self, Vec<Option<MonitorEntry>>), NotAllowed> {
        let batch: Self = serde_json::from_slice(json).map_err(|error| NotAllowed::new(&error))?;
        if batch.items.len() > MOST_ITEMS {
            return Err(NotAllowed::new(&format!("{} items, and at most {MOST_ITEMS} are allowed", batch.items.len())));
        }
        let mut end: Option<(u64, Place)> = None;
        let mut entries = Vec::with_capacity(batch.items.len());
        for item in &batch.items {
            let span = item.span;
            if end.is_some_and(|end| end != (span.before(), item.before)) {
                return Err(NotAllowed::new(&format!("item {span} does not follow on the one before it")));
            }
            end = Some((span.last(), item.after));
            let places = item.within.len() as u64;
            if places != 0 && places != span.count() - 1 {
                return Err(NotAllowed::new(&format!("item {span} with {places} places within it")));
            }
            let Some(entry) = item.body.full() else {
                entries.push(None);
                continue;
            };
            if !span.is_aligned() || places != span.count() - 1 {
                return Err(NotAllowed::new(&format!("item {span} is no piece of the tree, or lacks its places")));
            }
            if span == Span::one(span.first()) && item.after != item.before.then(&entry.bytes()) {
                return Err(NotAllowed::new(&format!("the place after {span} is not that of its bytes")));
            }
            entries.push(Some(entry.entry()?));
        }
        Ok((batch, entries))
    }

    /// Reasons why sequences are gone, for people.
    #[must_use]
    pub const fn gone_words(reason: GoneReason) -> &'static str {
        match reason {
            GoneReason::Damaged => "the node's file of it was damaged",
            GoneReason::Removed => "the node had removed it before the hub was restored",
        }
    }
}
