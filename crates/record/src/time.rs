//! Points in time, with the clocks that they were read on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{ClockName, Monotonic, Ns, Realtime, Timestamp, format};

/// A point in time on both system clocks of a node. The clocks of two nodes differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// `CLOCK_MONOTONIC` (ns since boot).
    #[serde(rename = "monotonic_ns")]
    pub monotonic: Timestamp<Monotonic>,
    /// `CLOCK_REALTIME` (ns since 1970-01-01 UTC).
    #[serde(rename = "realtime_ns")]
    pub realtime: Timestamp<Realtime>,
}

impl Moment {
    /// The moment `later` nanoseconds later on both clocks, assuming that neither clock was stepped in between.
    #[must_use]
    pub const fn plus(self, later: Ns) -> Self {
        Self { monotonic: self.monotonic.plus(later), realtime: self.realtime.plus(later) }
    }
}

/// One of the two points between which a latency lies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The time of the point on the system clocks of its node.
    pub at: Moment,
    /// The node where the point was taken; absent if it is the node of the series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The reading of the clock on which the point was taken; absent if that is one of the two system clocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<ClockReading>,
}

impl From<Moment> for Point {
    fn from(at: Moment) -> Self {
        Self { at, node: None, reading: None }
    }
}

/// A reading of a clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockReading {
    /// Name of the clock.
    pub clock: ClockName,
    /// The time that it read (ns since its own epoch).
    pub ns: i64,
}

/// The clocks of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeClocks {
    /// The clocks on which the node's points were taken.
    #[serde(default)]
    pub read: Vec<ClockName>,
    /// TAI minus UTC according to the node's kernel (s; adjtimex(2), `tai`). Absent if it was never set: `CLOCK_TAI` then
    /// reads the same as `CLOCK_REALTIME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tai_less_utc_s: Option<i32>,
}

/// Bounds on the error of a sample: the true value of `x` lies between `x - below_ns` and `x + above_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Uncertainty {
    /// By how much the true value can be lower (ns): a hard bound. The largest number of 64 bits where no bound is known.
    pub below_ns: u64,
    /// By how much the true value can be higher (ns): a hard bound. The largest number of 64 bits where no bound is known.
    pub above_ns: u64,
    /// Estimated standard deviation of the error (ns), which is not a bound; absent if there is no estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_ns: Option<u64>,
}

impl Uncertainty {
    /// The two points were read from clocks of which nobody knows how far they were apart. A limit cannot be held against such
    /// a value, and no two of them differ for certain: whoever does not know this constant sees a bound that is too wide for both.
    pub const UNKNOWN: Self = Self { below_ns: u64::MAX, above_ns: u64::MAX, spread_ns: None };

    /// Whether no bound is known on at least one side.
    #[must_use]
    pub const fn is_unknown(self) -> bool {
        self.below_ns == u64::MAX || self.above_ns == u64::MAX
    }

    /// By how much a value can be wrong: "±2.1 us", both sides if they differ, or "not known".
    #[must_use]
    pub fn in_words(self) -> String {
        if self.is_unknown() {
            return "not known".to_owned();
        }
        let (below, above) = (format::latency(self.below_ns), format::latency(self.above_ns));
        if below == above { format!("\u{b1}{below}") } else { format!("-{below} +{above}") }
    }

    /// The larger of each bound, so that the result holds for the samples of both.
    #[must_use]
    pub fn widest(self, other: Self) -> Self {
        Self {
            below_ns: self.below_ns.max(other.below_ns),
            above_ns: self.above_ns.max(other.above_ns),
            spread_ns: self.spread_ns.max(other.spread_ns),
        }
    }
}
