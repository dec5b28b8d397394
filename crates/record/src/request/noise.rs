//! What can be asked of `noise`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{CpuSet, Ns};

use super::KindRequest;
use crate::Measurement;

/// What was asked of `noise`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NoiseRequest {
    /// CPUs to measure; `None` is the isolated ones, else all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuSet>,
    /// How long (ns, 10 ms to a day).
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub duration: Ns,
    /// Gaps below this are not counted (ns, above 0).
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub threshold: Ns,
    /// Real-time priority of SCHED_FIFO; `None` is SCHED_OTHER.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// The limit that no gap may exceed.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Ns>,
}

impl Default for NoiseRequest {
    fn default() -> Self {
        Self { cpus: None, duration: Ns::from_s(10), threshold: Ns::from_us(1), priority: None, deadline: None }
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
        Some(self.duration)
    }

    fn last_for(&mut self, duration: Ns) -> bool {
        self.duration = duration;
        true
    }
}
