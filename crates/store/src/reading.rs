//! What is read of a store.

use std::ops::Deref;
use std::sync::Arc;

use farm::monitor::{BootId, Cause, ContentKind, GapReason, SourceInterval};
use farm::stream::ContentHash;
use histogram::Histogram;

use crate::Node;

/// What a moment of a boot was placed in UTC by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlacedBy {
    /// The node's own wall clock, which something kept right.
    OwnClock,
    /// The hub's clock when something of the node arrived.
    Receipt,
}

/// A moment of a boot in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// ns since 1970.
    pub utc_ns: i64,
    /// How far it may be off (ns).
    pub error_ns: u64,
    /// What it was placed by.
    pub by: PlacedBy,
}

/// What a node does, as far as the hub knows. Only [`Monitoring`](Self::Monitoring) may look good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Figures of all its CPUs arrive.
    Monitoring,
    /// Nothing has arrived for longer than two intervals.
    Silent {
        /// The hub's clock when something last arrived (ns since 1970).
        since_wall_ns: i64,
    },
    /// It sends, and its latest interval ended longer than two intervals ago: it sends what it measured while the hub was away, or one
    /// of the two clocks is wrong.
    Behind {
        /// When its latest interval ended.
        measured_until: Placed,
    },
    /// The agent has said that it ends.
    Stopped {
        /// Why.
        why: GapReason,
        /// When, placed in UTC; absent where it cannot be.
        at: Option<Placed>,
    },
    /// It sends, and monitors nothing: a measurement has the CPUs, or another reason.
    NotMonitored {
        /// Why.
        why: GapReason,
    },
    /// Real-time priority was refused.
    NoPriority,
    /// It sends figures, and something spoiled all of a CPU's latest.
    Invalid {
        /// Codes of the reasons, as in a record.
        reasons: Vec<String>,
    },
    /// Enrolled, and nothing was measured yet.
    Waiting,
    /// Retired: nothing is expected of it.
    Retired,
}

/// The largest latency that stands of a stretch of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maximum {
    /// The latency (ns).
    pub maximum_ns: i64,
    /// The CPU of the maximum, by the kernel's number.
    pub cpu: u32,
    /// When, placed in UTC; absent where it cannot be.
    pub at: Option<Placed>,
    /// What made it late; absent where nobody looked for that.
    pub cause: Option<Cause>,
}

/// The interval that was furthest beyond its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beyond {
    /// By how much (ns).
    pub by_ns: u64,
    /// The limit that it was measured under (ns).
    pub limit_ns: u64,
    /// Its largest latency.
    pub maximum: Maximum,
    /// Whether it is the node's latest interval.
    pub is_latest: bool,
}

/// A node's latest interval against its own history of the same condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgainstItself {
    /// Earlier intervals of the same condition: at least 288 (a day).
    pub intervals: u64,
    /// Those of them whose maximum was as large or larger.
    pub as_large: u64,
}

/// Maxima one after the other (ns), absent where nothing stands. Copies share them: those of ten thousand nodes are copied for each page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maxima(Arc<[Option<i64>]>);

impl From<Vec<Option<i64>>> for Maxima {
    fn from(maxima_ns: Vec<Option<i64>>) -> Self {
        Self(maxima_ns.into())
    }
}

impl Deref for Maxima {
    type Target = [Option<i64>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T: AsRef<[Option<i64>]>> PartialEq<T> for Maxima {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

/// A node on the page of all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetRow {
    /// The node.
    pub node: Arc<Node>,
    /// What it does.
    pub state: NodeState,
    /// Under which condition its latest interval was measured.
    pub condition: Option<ContentHash>,
    /// Its limit (ns), where the condition names one.
    pub limit_ns: Option<u64>,
    /// The largest latency that stands of its latest interval.
    pub latest: Option<Maximum>,
    /// When its latest interval ended; absent where there is none, or it cannot be placed.
    pub measured_until: Option<Placed>,
    /// The largest latency that stands of the day that ends with its latest interval.
    pub day: Option<Maximum>,
    /// The interval of the last day, by the hub's clock, that was furthest beyond its limit; absent where all were within, or had none:
    /// what happened at night is as true in the morning, when somebody looks.
    pub beyond: Option<Beyond>,
    /// The largest latency that stands of all time, of any condition.
    pub ever: Option<Maximum>,
    /// The maxima of the last intervals (ns), up to 48, the latest last; absent where nothing stands.
    pub maxima_ns: Maxima,
    /// The largest latency that stands of each half hour of the day that ends with its latest interval (ns), the latest last; absent
    /// where nothing stands. An interval that lies in two of them counts in both: it is not known in which half its maximum was.
    pub half_hours_ns: Maxima,
    /// Against its own history, where it has enough.
    pub against_itself: Option<AgainstItself>,
    /// Its latest profile.
    pub profile: Option<ContentHash>,
    /// CPUs that are isolated and that nobody monitors.
    pub isolated_and_not_monitored: Vec<u32>,
    /// Its sources of time in its latest interval, by their names; empty where nothing is known of them.
    pub sources: Vec<SourceInterval>,
}

/// What a history is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryAsked {
    /// From when (ns since 1970).
    pub from_utc_ns: i64,
    /// Until when, which is not part of it (ns since 1970).
    pub to_utc_ns: i64,
    /// Points a CPU, at most: twice the pixels.
    pub most_points: usize,
}

/// What points were made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// The intervals themselves (five minutes).
    Intervals,
    /// Hours.
    Hours,
    /// Days.
    Days,
}

/// A span of time of one CPU and one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// When it begins (ns since 1970).
    pub start_utc_ns: i64,
    /// How long it is (ns), with what was not monitored in it.
    pub length_ns: u64,
    /// How far its place in UTC may be off (ns).
    pub placed_error_ns: u64,
    /// The largest latency that stands (ns); absent where nothing does.
    pub maximum_ns: Option<i64>,
    /// When that was (ns since 1970).
    pub maximum_utc_ns: Option<i64>,
    /// The largest latency that something spoiled (ns).
    pub spoiled_ns: Option<i64>,
    /// Wake-ups that stand.
    pub samples: u64,
    /// Schedules that were swallowed.
    pub missed_periods: u64,
    /// Wake-ups later than the limit.
    pub beyond_limit: u64,
    /// Time in it that was not monitored (ns).
    pub not_monitored_ns: u64,
    /// Under which condition it was measured.
    pub condition: ContentHash,
    /// Codes of the reasons that spoiled something.
    pub reasons: Vec<String>,
    /// What made the largest late; absent where nobody looked for that.
    pub cause: Option<Cause>,
}

/// One CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuHistory {
    /// The CPU, by the kernel's number.
    pub cpu: u32,
    /// By their time.
    pub points: Vec<Point>,
}

/// A source of time in a span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePoint {
    /// When it begins (ns since 1970).
    pub start_utc_ns: i64,
    /// How long it is (ns).
    pub length_ns: u64,
    /// What is known of the source: the worst of all intervals in the span.
    pub worst: SourceInterval,
}

/// A source of time: its name, and what was known of it by time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceHistory {
    /// Its name, as the node calls it.
    pub source: String,
    /// By their time; no point where it was not known.
    pub points: Vec<SourcePoint>,
}

/// Why nothing was monitored, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GapWhy {
    /// The node has said why.
    Said(GapReason),
    /// The next that is known is of a later boot, and nothing announced an end: the machine was off, or was stopped without a word.
    NoWord,
    /// Something is missing that might say it.
    Unknown,
}

/// A stretch in which nothing was monitored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapSpan {
    /// When it begins (ns since 1970).
    pub start_utc_ns: i64,
    /// How long it is (ns).
    pub length_ns: u64,
    /// Why.
    pub why: GapWhy,
    /// Which CPUs; all of them where none is named.
    pub cpus: Vec<u32>,
}

/// What was measured on a node in a stretch of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// What its points were made of.
    pub tier: Tier,
    /// CPU by CPU.
    pub cpus: Vec<CpuHistory>,
    /// The node's sources of time, by their names.
    pub sources: Vec<SourceHistory>,
    /// When nothing was monitored.
    pub gaps: Vec<GapSpan>,
    /// Intervals whose time cannot be, or is not known: they are kept and not drawn.
    pub not_placed: u64,
}

/// The wake-ups of one CPU in a stretch of time under one condition.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanHistogram {
    /// The CPU, by the kernel's number.
    pub cpu: u32,
    /// What it was measured under, by the hash of its text.
    pub condition: ContentHash,
    /// The wake-ups that stand.
    pub histogram: Histogram,
    /// Hours that it is made of; the first and the last of a boot may be shorter.
    pub hours: u64,
    /// When the first of these hours begins (ns since 1970).
    pub start_utc_ns: i64,
    /// When the last of them ends (ns since 1970).
    pub end_utc_ns: i64,
}

/// A content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// What it is.
    pub kind: ContentKind,
    /// The content.
    pub text: String,
}

/// When a content began to hold on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentAt {
    /// What it is.
    pub kind: ContentKind,
    /// Its name.
    pub hash: ContentHash,
    /// The boot that its times are counted in.
    pub boot: BootId,
    /// Since when (ns, CLOCK_BOOTTIME).
    pub since_ns: i64,
    /// Since when, in UTC; absent where it cannot be placed.
    pub since: Option<Placed>,
}
