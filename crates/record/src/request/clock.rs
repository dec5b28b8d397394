//! The request for a run of `clock`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{ClockId, Ns};

use super::{KindRequest, time_of};
use crate::Measurement;

/// The parameters of a run of `clock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClockRequest {
    /// Clocks that are each read alone (test 1).
    pub clocks: Vec<ClockId>,
    /// Pairs of a clock under test and a reference clock; each pair is also measured with the roles swapped (test 2).
    pub pairs: Vec<(ClockId, ClockId)>,
    /// Readings per series (at least 1000).
    pub samples: u64,
    /// The CPU to measure on; `None`: the isolated CPU with the highest number, or the highest if none is isolated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Real-time priority under SCHED_FIFO; `None`: SCHED_OTHER.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
}

impl Default for ClockRequest {
    fn default() -> Self {
        Self {
            clocks: vec![ClockId::Monotonic, ClockId::Realtime],
            pairs: vec![(ClockId::Realtime, ClockId::Monotonic)],
            samples: 1_000_000,
            cpu: None,
            priority: None,
        }
    }
}

impl KindRequest for ClockRequest {
    fn measurement(&self) -> Measurement {
        Measurement::Clock
    }

    fn deadline(&self) -> Option<Ns> {
        None
    }

    fn takes(&self) -> Option<Ns> {
        // Assumes at most one microsecond per reading.
        time_of(self.samples, Ns::from_us(1))
    }

    fn real_time_priority(&self) -> Option<u32> {
        self.priority
    }

    fn last_for(&mut self, _: Ns) -> bool {
        false
    }
}
