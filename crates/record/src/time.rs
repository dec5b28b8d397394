//! Times with the clock that they were read on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{ClockName, Monotonic, Ns, Realtime, Timestamp};

/// A moment on both of the clocks that people and programs reason with. The clocks of two nodes are not the same.
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
    /// The moment that much later, on both clocks: neither was stepped meanwhile.
    #[must_use]
    pub const fn plus(self, later: Ns) -> Self {
        Self { monotonic: self.monotonic.plus(later), realtime: self.realtime.plus(later) }
    }
}

/// One of the two points between which a latency lies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// When it was, on the system clocks of its node.
    pub at: Moment,
    /// The node where it was taken, where that is another one than the series'.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What the clock read on which it was taken, where that is neither of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<ClockReading>,
}

impl From<Moment> for Point {
    fn from(at: Moment) -> Self {
        Self { at, node: None, reading: None }
    }
}

/// What a clock read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockReading {
    /// Which clock.
    pub clock: ClockName,
    /// Its time (ns since its own zero).
    pub ns: i64,
}

/// The clocks of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeClocks {
    /// The clocks on which its points were taken.
    #[serde(default)]
    pub read: Vec<ClockName>,
    /// TAI less UTC, as the node's kernel knows it (s; adjtimex(2), `tai`); absent where it was never set, so that
    /// `CLOCK_TAI` reads as `CLOCK_REALTIME` does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tai_less_utc_s: Option<i32>,
}

/// How far a sample can be from the truth: the true value of `x` lies between `x - below_ns` and `x + above_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Uncertainty {
    /// By how much the truth can be lower (ns): a hard bound.
    pub below_ns: u64,
    /// By how much the truth can be higher (ns): a hard bound.
    pub above_ns: u64,
    /// The standard deviation of what is not known (ns), where there is an estimate; no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_ns: Option<u64>,
}

impl Uncertainty {
    /// The widest of both, which bounds the samples of either.
    #[must_use]
    pub fn widest(self, other: Self) -> Self {
        Self {
            below_ns: self.below_ns.max(other.below_ns),
            above_ns: self.above_ns.max(other.above_ns),
            spread_ns: self.spread_ns.max(other.spread_ns),
        }
    }
}
