//! A run so far, as a person or a program looks at it while it goes on: figures that are replaced a few times a second, and that
//! nothing is concluded from.

use histogram::Bin;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Place, SyncState, Uncertainty};

/// A run so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Live {
    /// Time since the first schedule (ns).
    pub elapsed_ns: u64,
    /// Time that the run will take (ns); absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// What is measured, in the order in which it was found.
    #[serde(default)]
    pub series: Vec<LiveSeries>,
    /// The samples of all threads in bins, ascending; empty where nobody looks at them.
    #[serde(default, skip)]
    pub bins: Vec<Bin>,
}

/// What was measured at one place so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveSeries {
    /// The place; that of a thread of a followed program has its number among those that are shown.
    pub place: Place,
    /// What is measured there.
    pub detail: LiveDetail,
    /// Samples so far.
    #[serde(default)]
    pub samples: u64,
    /// What the samples come to; absent until there is one, and where offsets are followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<LiveFigures>,
    /// Schedules that late wake-ups skipped so far.
    #[serde(default)]
    pub missed_periods: u64,
}

/// What samples come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveFigures {
    /// The latest (ns).
    pub last_ns: i64,
    /// The smallest so far (ns).
    pub min_ns: u64,
    /// The mean so far (ns).
    pub mean_ns: f64,
    /// The largest so far (ns).
    pub max_ns: u64,
    /// The error of the latest; absent where it is not known, or there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertainty: Option<Uncertainty>,
}

/// What is measured at a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LiveDetail {
    /// Latencies of a thread.
    Thread {
        /// Its kernel id.
        tid: u32,
        /// Real-time priority (0 for ordinary threads).
        priority: u32,
        /// Its interval (ns); 0 where it has none.
        interval_ns: u64,
    },
    /// How late packets are sent by this node.
    Sent {
        /// Packets that were sent.
        sent: u64,
    },
    /// Delays of packets that this node receives.
    Received {
        /// Packets that were sent, as far as this node knows.
        sent: u64,
        /// Packets that arrived.
        arrived: u64,
    },
    /// A clock that is compared with a reference.
    Clock {
        /// The source of time, or the node: `ptp4l eth0`, `chronyd`.
        name: String,
        /// The state that was seen last; absent until it answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<SyncState>,
        /// The last offset (ns).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset_ns: Option<i64>,
        /// The lower and the upper bound in force (ns).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound_ns: Option<(i64, i64)>,
    },
}

impl LiveSeries {
    /// A clock that is compared.
    #[must_use]
    pub fn clock(name: &str, state: Option<SyncState>, offset_ns: Option<i64>, bound_ns: Option<(i64, i64)>) -> Self {
        Self {
            place: Place::Port { port: name.to_owned(), domain: None },
            detail: LiveDetail::Clock { name: name.to_owned(), state, offset_ns, bound_ns },
            samples: 0,
            figures: None,
            missed_periods: 0,
        }
    }

    /// The largest sample so far (ns), 0 before the first.
    #[must_use]
    pub fn max_ns(&self) -> u64 {
        self.figures.map_or(0, |figures| figures.max_ns)
    }
}
