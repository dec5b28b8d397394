//! What arrives of a node, what of it is kept, and what is answered.

use farm::monitor::{
    BatchBody, BootId, ContentKind, CpuHistogram, Interval, MonitorEntry, NotAllowed, RawEntry, SentAt, WallTime,
};
use farm::stream::{
    Base, Body, ContentHash, GoneReason, Item, NodeKey, Place as ChainPlace, Says, Span, StreamId, Taken,
};

use crate::coding::{Row, compress, histograms_to_bytes, rows_to_bytes};

/// The most bytes of a version.
const MOST_VERSION_BYTES: usize = 64;

/// What a piece of a stream is. The numbers stand in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Damaged = 0,
    Removed = 1,
    Emptied = 2,
    Interval = 3,
    Histograms = 4,
    Content = 5,
    Gap = 6,
    Begin = 7,
    End = 8,
    Unknown = 9,
}

impl Kind {
    const ALL: [Self; 10] = [
        Self::Damaged,
        Self::Removed,
        Self::Emptied,
        Self::Interval,
        Self::Histograms,
        Self::Content,
        Self::Gap,
        Self::Begin,
        Self::End,
        Self::Unknown,
    ];

    /// Its number.
    pub(crate) const fn number(self) -> u8 {
        self as u8
    }

    /// The one with a number.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// How much a piece of it says.
    pub(crate) const fn says(self) -> Says {
        match self {
            Self::Damaged | Self::Removed => Says::Gone,
            Self::Emptied => Says::Emptied,
            _ => Says::Full,
        }
    }

    /// Whether an entry of it says what the wall clock said, or should.
    pub(crate) const fn tells_time(self) -> bool {
        matches!(self, Self::Interval | Self::Histograms | Self::Gap | Self::Begin)
    }

    /// Of a body without an entry.
    pub(crate) const fn of_gone(reason: GoneReason) -> Self {
        match reason {
            GoneReason::Damaged => Self::Damaged,
            GoneReason::Removed => Self::Removed,
        }
    }
}

/// A content, compressed.
#[derive(Clone, Debug)]
pub(crate) struct KeptContent {
    pub(crate) hash: ContentHash,
    pub(crate) kind: ContentKind,
    pub(crate) compressed: Vec<u8>,
}

/// An entry in the form that is kept.
#[derive(Clone, Debug)]
pub(crate) struct KeptEntry {
    pub(crate) kind: Kind,
    /// The boot; none of an entry that is not known.
    pub(crate) boot: Option<BootId>,
    /// When it begins (ns, CLOCK_BOOTTIME).
    pub(crate) start_ns: i64,
    pub(crate) length_ns: u64,
    pub(crate) wall: Option<WallTime>,
    pub(crate) condition: Option<ContentHash>,
    /// The largest latency of an interval that stands (ns).
    pub(crate) worst_ns: Option<i64>,
    pub(crate) body: Vec<u8>,
    pub(crate) content: Option<KeptContent>,
}

impl KeptEntry {
    /// An entry, with what was read of it.
    fn new(raw: &RawEntry, entry: MonitorEntry) -> Self {
        let plain = |kind, boot: &BootId, start_ns| Self {
            kind,
            boot: Some(boot.clone()),
            start_ns,
            length_ns: 0,
            wall: None,
            condition: None,
            worst_ns: None,
            body: raw.0.get().as_bytes().to_vec(),
            content: None,
        };
        match entry {
            MonitorEntry::Begin(begin) => Self { wall: begin.wall, ..plain(Kind::Begin, &begin.boot, begin.start_ns) },
            MonitorEntry::Interval(interval) => Self::of_interval(&interval),
            MonitorEntry::Histograms(histograms) => {
                let times = histograms.times;
                let cpus: Vec<(u32, &histogram::Histogram)> =
                    histograms.cpus.iter().map(|CpuHistogram { cpu, histogram }| (*cpu, histogram)).collect();
                Self {
                    length_ns: times.length_ns,
                    wall: times.wall,
                    condition: Some(histograms.condition),
                    body: histograms_to_bytes(&cpus),
                    ..plain(Kind::Histograms, &times.boot, times.start_ns)
                }
            }
            MonitorEntry::Content(content) => {
                let hash = ContentHash::of(&content.text);
                let compressed = compress(content.text.as_bytes());
                Self {
                    // What else an entry of a content says stands beside it.
                    body: Vec::new(),
                    content: Some(KeptContent { hash, kind: content.kind, compressed }),
                    ..plain(Kind::Content, &content.boot, content.since_ns)
                }
            }
            MonitorEntry::Gap { times, .. } => {
                Self { length_ns: times.length_ns, wall: times.wall, ..plain(Kind::Gap, &times.boot, times.start_ns) }
            }
            MonitorEntry::End { boot, at_ns, .. } => plain(Kind::End, &boot, at_ns),
            MonitorEntry::Unknown => Self { boot: None, ..plain(Kind::Unknown, &BootId(String::new()), 0) },
        }
    }

    fn of_interval(interval: &Interval) -> Self {
        let row = Row::of(interval);
        Self {
            kind: Kind::Interval,
            boot: Some(interval.times.boot.clone()),
            start_ns: row.start_ns,
            length_ns: row.length_ns,
            wall: interval.times.wall,
            condition: Some(interval.condition),
            worst_ns: row.worst().map(|(_, figures)| figures.maximum_ns),
            body: rows_to_bytes(std::slice::from_ref(&row)),
            content: None,
        }
    }
}

/// A batch, read and brought into the form that is kept. Made outside of the thread that writes: this is most of the work.
#[derive(Clone, Debug)]
pub struct ReadyBatch {
    pub(crate) stream: StreamId,
    pub(crate) base: Base,
    /// The place after the stream's first sequence, where the batch begins there.
    pub(crate) first_place: Option<ChainPlace>,
    pub(crate) version: String,
    pub(crate) items: Vec<Item<KeptEntry>>,
    /// Bytes of its entries, as sent.
    pub(crate) bytes: u64,
    /// When it was sent, by the node's own clock.
    pub(crate) sent: Option<SentAt>,
}

impl ReadyBatch {
    /// Reads the entries of a batch, which [`BatchBody::from_json`] has looked at.
    ///
    /// # Errors
    /// Where an entry is none.
    pub fn new(batch: &BatchBody) -> Result<Self, NotAllowed> {
        let entry = |item: &Item<RawEntry>| item.body.full().map(RawEntry::entry).transpose();
        let entries = batch.items.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
        Ok(Self::of(batch, entries))
    }

    /// Reads a batch, and looks at what must hold of it ([`BatchBody::from_json`]). Each entry is read once.
    ///
    /// # Errors
    /// Where it is none, or not allowed, with what of it.
    pub fn from_json(json: &[u8]) -> Result<Self, NotAllowed> {
        let (batch, entries) = BatchBody::with_entries(json)?;
        Ok(Self::of(&batch, entries))
    }

    /// Of a batch with what was read of its entries.
    fn of(batch: &BatchBody, entries: Vec<Option<MonitorEntry>>) -> Self {
        let item = |(item, entry): (&Item<RawEntry>, Option<MonitorEntry>)| {
            let body = match (&item.body, entry) {
                (Body::Full(raw), Some(entry)) => Body::Full(KeptEntry::new(raw, entry)),
                (Body::Gone(reason), _) => Body::Gone(*reason),
                (Body::Emptied | Body::Full(_), _) => Body::Emptied,
            };
            Item { span: item.span, before: item.before, after: item.after, within: item.within.clone(), body }
        };
        let bytes = batch.items.iter().filter_map(|item| item.body.full()).map(|raw| raw.0.get().len());
        Self {
            stream: batch.stream,
            base: batch.base,
            first_place: batch.first_place(),
            version: short_line(&batch.version),
            items: batch.items.iter().zip(entries).map(item).collect(),
            bytes: u64::try_from(bytes.sum::<usize>()).unwrap_or(u64::MAX),
            sent: batch.sent.clone().filter(SentAt::is_allowed),
        }
    }

    /// The stream that it is of.
    #[must_use]
    pub const fn stream(&self) -> StreamId {
        self.stream
    }
}

/// A text of a node's as one short line that steers no terminal.
fn short_line(text: &str) -> String {
    let mut line = units::printable::line(text).into_owned();
    let end = (0..=line.len().min(MOST_VERSION_BYTES)).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    line.truncate(end);
    line
}

/// A batch of a node that is enrolled; its signature was looked at.
#[derive(Clone, Debug)]
pub struct Arriving {
    /// The node.
    pub node: NodeKey,
    /// What it sent.
    pub batch: ReadyBatch,
    /// When it was received, by the hub's clock (ns since 1970).
    pub received_wall_ns: i64,
    /// How long ago it may have been sent (ns): the round trip of the connection.
    pub round_trip_ns: u64,
}

/// What became of a batch: it is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// What became of the items.
    pub taken: Taken,
    /// The last sequence of the stream that is held; 0 for none.
    pub sequence: u64,
    /// The place in the chain after it.
    pub hash: ChainPlace,
    /// Stretches up to there of which the node said that they are gone.
    pub lacks: Vec<Span>,
}

/// How much a node may send in a day (UTC, by the hub's clock).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// New streams: starts of the agent, and histories that part.
    pub streams: u64,
    /// Entries.
    pub entries: u64,
    /// Bytes of entries, as sent.
    pub bytes: u64,
}

impl Default for Quotas {
    /// An agent that restarts every five minutes, a spool of 16 MiB sent four times over, and its entries.
    fn default() -> Self {
        Self { streams: 288, entries: 200_000, bytes: 64 << 20 }
    }
}
