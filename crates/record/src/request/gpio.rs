//! The request for a run of `gpio`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

use super::{KindRequest, LocalLine, time_of};
use crate::Measurement;

/// The parameters of a run of `gpio`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct GpioRequest {
    /// The line that is written: it is made an output, switched as fast as that goes, and left inactive.
    pub line: LocalLine,
    /// Whether its low level is the active one.
    pub active_low: bool,
    /// Writes of each series (at least 1000).
    pub samples: u64,
    /// The CPU to measure on; `None`: the isolated CPU with the highest number, or the highest if none is isolated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Real-time priority under SCHED_FIFO; `None`: SCHED_OTHER.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
}

impl Default for GpioRequest {
    fn default() -> Self {
        Self { line: LocalLine(String::new()), active_low: false, samples: 1_000_000, cpu: None, priority: None }
    }
}

impl KindRequest for GpioRequest {
    fn measurement(&self) -> Measurement {
        Measurement::Gpio
    }

    fn deadline(&self) -> Option<Ns> {
        None
    }

    fn takes(&self) -> Option<Ns> {
        // Assumes two microseconds for each of the six writes of three series.
        time_of(self.samples, Ns::from_us(12))
    }

    fn real_time_priority(&self) -> Option<u32> {
        self.priority
    }

    fn last_for(&mut self, _: Ns) -> bool {
        false
    }
}
