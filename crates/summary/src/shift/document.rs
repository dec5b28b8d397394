//! What a witness says, as the document that `pulse shift` prints and a report reads.

use record::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{DocumentError, parsed};

/// The schema of the document.
pub const SHIFT_SCHEMA: &str = "punctual/shift";
/// Its version.
pub const SHIFT_VERSION: u32 = 1;

/// What a logic analyzer saw of nodes that act together, beside what they say of themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShiftDocument {
    /// Name of the schema: `punctual/shift`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// What the witness says.
    #[serde(flatten)]
    pub shift: ShiftSummary,
}

impl ShiftDocument {
    /// The document of this version.
    #[must_use]
    pub fn new(shift: ShiftSummary) -> Self {
        Self { schema: SHIFT_SCHEMA.to_owned(), version: SHIFT_VERSION, shift }
    }

    /// Reads a document.
    ///
    /// # Errors
    /// If it is no JSON, or of another schema or version.
    pub fn from_json(text: &str) -> Result<Self, DocumentError> {
        parsed(text, SHIFT_SCHEMA, SHIFT_VERSION)
    }
}

/// What a witness came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WitnessVerdict {
    /// It contradicts no node, and each shift with its error is within the limit if there is one.
    Holds,
    /// A shift is beyond the limit, whatever its error.
    Broken,
    /// Whether each shift is within the limit is not certain: its error leaves that open, or is not known. Or pulses have no numbers, and
    /// one line shows more beside which the other has none than its node says it did not make.
    CannotTell,
    /// It contradicts a node, the run is invalid, or nothing can be said of a pair.
    Invalid,
}

/// What a witness says of the nodes of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShiftSummary {
    /// Identity of the run's record.
    pub run: String,
    /// The label under which the run was measured; empty if nobody gave it one.
    pub label: String,
    /// The way of the orders through the systems ("UDP over IPv4"); `None` if it is not known.
    pub path: Option<String>,
    /// From one order to the next (ns).
    pub interval_ns: u64,
    /// How long after its schedule each order was to be carried out (ns).
    pub lead_ns: u64,
    /// Schedules of the run.
    pub scheduled: u64,
    /// Schedules that any node is known to have missed.
    pub missed: u64,
    /// Schedules of which it is not known whether a node missed them.
    pub unknown: u64,
    /// What was ordered and on which line each node was seen, as a sentence without its full stop.
    pub about: String,
    /// What each line shows, the first node's first.
    pub lines: Vec<ShownLine>,
    /// Each node against the first.
    pub pairs: Vec<ShiftPair>,
    /// How far a shift may be from none, against the first node (ns); `None` without a limit.
    pub limit_ns: Option<i64>,
    /// What makes the result invalid, each as a sentence without its full stop.
    pub contradictions: Vec<String>,
    /// Shifts that are beyond the limit, or that may be, each as a sentence without its full stop.
    pub beyond: Vec<String>,
    /// What all of it came to.
    pub verdict: WitnessVerdict,
    /// The same as a sentence.
    pub sentence: String,
}

/// What a line shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShownLine {
    /// Name of the node.
    pub node: String,
    /// The channel, and its file where there are several.
    pub channel: String,
    /// Pulses of which both edges are shown.
    pub pulses: u64,
    /// Those that have the number of an order; `None` where they were paired by time.
    pub numbered: Option<u64>,
    /// Orders between the first and the last numbered one without a pulse; `None` as for `numbered`.
    pub missing: Option<u64>,
    /// Pulses that no order made; `None` as for `numbered`.
    pub extra: Option<u64>,
    /// Pulses neither as wide as ordered nor as a mark is.
    pub odd: u64,
    /// Edges that belong to the one before them: the line bounced.
    pub bounces: u64,
    /// Groups of edges that left the level as it was.
    pub glitches: u64,
    /// Pulses of which the capture shows one edge alone.
    pub cut: u64,
    /// Orders that the node says it carried out.
    pub acted: u64,
    /// Orders of the run.
    pub scheduled: u64,
    /// Orders whose time the capture covers completely; `None` as for `numbered`.
    pub covered: Option<u64>,
    /// How many of those surely have no edge; `None` as for `numbered`.
    pub without_edge: Option<u64>,
    /// What its marks contradict, as a sentence without its full stop; `None` if nothing.
    pub fault: Option<String>,
}

/// The shift of a node against the first one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShiftPair {
    /// The node that the other is held against.
    pub first: String,
    /// The node whose shift it is: positive if it was later.
    pub second: String,
    /// How pulses of one order were told, or why nothing can be said, as a sentence without its full stop.
    pub paired: String,
    /// Whether it was by the numbers that the marks spell; else orders are counted from the first pulse that both lines show.
    pub by_numbers: bool,
    /// Orders between the first and the last of both lines that are not in the figures, as a sentence without its full stop; `None` if
    /// there are none.
    pub not_matched: Option<String>,
    /// The shift; `None` if nothing can be said.
    pub figures: Option<ShiftFigures>,
    /// What the mean shift is made of: the clocks, the acting, the output and the rest; empty if it is not known.
    pub parts: Vec<PartRow>,
    /// Why it is not known, as a sentence without its full stop.
    pub not_split: Option<String>,
    /// The shift over time; blocks without an order are left out.
    pub blocks: Vec<BlockRow>,
}

/// The shift of two nodes, over all orders that both lines show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShiftFigures {
    /// Orders of which both lines have a pulse.
    pub orders: u64,
    /// Orders of which the first line alone has a pulse with a number.
    pub only_first: u64,
    /// Orders of which the second line alone has one.
    pub only_second: u64,
    /// Orders of which neither has one.
    pub neither: u64,
    /// Least shift (ps).
    pub min_ps: i64,
    /// Mean shift (ps).
    pub mean_ps: f64,
    /// Greatest shift (ps).
    pub max_ps: i64,
    /// Population standard deviation of the shift (ps).
    pub deviation_ps: f64,
    /// The shift nearest to none, without its sign (ps).
    pub nearest_ps: i64,
    /// Mean of the shift without its sign (ps): how far apart both switched.
    pub mean_distance_ps: f64,
    /// From the first to the last of these orders (ps, on the capture's clock).
    pub span_ps: i64,
    /// Median of the shift (ns), from its histogram.
    pub p50_ns: Option<i64>,
    /// What 99 of 100 shifts are within, to either side (ns), from their histogram; `None` of fewer than 1,000 orders.
    pub within_p99_ns: Option<u64>,
    /// The shift farthest from none (ps).
    pub worst_ps: i64,
    /// The order that had it: its number, or with pulses paired by time its place among the pulses, from 0 on.
    pub worst_order: u64,
    /// When the first line switched for it (ps, on the capture's clock).
    pub worst_at_ps: i64,
    /// By how much each shift may be off, to either side (ps); `None` if that is not known.
    pub error_ps: Option<i64>,
    /// How fast the capture's clock goes against the server's (parts per billion); `None` where pulses were paired by time.
    pub capture_rate_ppb: Option<i64>,
    /// How long a block is (ps).
    pub block_ps: i64,
    /// Shifts of orders at which the second node was later, or at the same time (rounded to ns).
    pub later: Histogram,
    /// Shifts of orders at which it was earlier, without the sign (rounded to ns).
    pub earlier: Histogram,
}

/// A part of the mean shift.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartRow {
    /// `clock`, the latency from the ordered time to the act, `output` or `rest`.
    pub name: String,
    /// The same in words.
    pub words: String,
    /// What it most likely is (ps).
    pub likely_ps: i64,
    /// The least that it can be (ps).
    pub lower_ps: i64,
    /// The most that it can be (ps).
    pub upper_ps: i64,
}

/// The shift in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockRow {
    /// When it begins (ps, on the capture's clock).
    pub from_ps: i64,
    /// Orders in it.
    pub orders: u64,
    /// Least shift (ps).
    pub min_ps: i64,
    /// Mean shift (ps).
    pub mean_ps: f64,
    /// Greatest shift (ps).
    pub max_ps: i64,
}
