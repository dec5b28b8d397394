//! The request for a run of `noise`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{CpuSet, Ns};

use super::{KindRequest, RunLength};
use crate::Measurement;

/// The parameters of a run of `noise`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NoiseRequest {
    /// CPUs to measure; `None`: the isolated CPUs, or all if none is isolated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuSet>,
    /// How long the loop runs (10 ms to 24 h, or `unlimited`).
    pub duration: RunLength,
    /// Gaps shorter than this are not counted (above 0).
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub threshold: Ns,
    /// Real-time priority under SCHED_FIFO; `None`: SCHED_OTHER.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// The deadline: the length that no gap may exceed.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Ns>,
}

impl Default for NoiseRequest {
    fn default() -> Self {
        Self {
            cpus: None,
            duration: RunLength::For(Ns::from_s(10)),
            threshold: Ns::from_us(1),
            priority: None,
            deadline: None,
        }
    }
}

impl KindRequest for NoiseRequest {
    fn measurement(&self) -> Measurement {
        Measurement::Noise
    }

    fn deadline(&self) -> Option<Ns> {
        self.deadline
    }

    fn takes(&self) -> Option<Ns> {
        self.duration.limit()
    }

    fn real_time_priority(&self) -> Option<u32> {
        self.priority
    }

    fn last_for(&mut self, duration: Ns) -> bool {
        self.duration = RunLength::For(duration);
        true
    }
}
