//! What can be asked of `clock`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{ClockId, Ns};

use super::{KindRequest, time_of};
use crate::Measurement;

/// What was asked of `clock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClockRequest {
    /// Clocks of test 1, each alone.
    pub clocks: Vec<ClockId>,
    /// Pairs of test 2: clock under test and reference, each both ways round.
    pub pairs: Vec<(ClockId, ClockId)>,
    /// Readings of each kind (1000 and more).
    pub samples: u64,
    /// The CPU to measure on; `None` is the highest isolated one, else the highest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Real-time priority of SCHED_FIFO, or SCHED_OTHER.
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
        // A reading takes a microsecond at the most.
        time_of(self.samples, Ns::from_us(1))
    }

    fn last_for(&mut self, _: Ns) -> bool {
        false
    }
}
