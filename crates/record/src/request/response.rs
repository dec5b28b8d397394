//! The request for a run of `response`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

use super::{KindRequest, LocalLine, PolicyChoice, RunEnd, time_of};
use crate::Measurement;

/// The parameters of a run of `response`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ResponseRequest {
    /// The line whose edges are responded to: it is made an output, switched on and off once an interval, and left inactive.
    pub output: LocalLine,
    /// The line that a wire joins with it: it is made an input, and the kernel reports its edges to the measured thread.
    pub input: LocalLine,
    /// Whether the low level of both lines is the active one.
    pub active_low: bool,
    /// The CPU of the measured thread, which waits for the edges. `None`: the isolated CPU with the highest number, or the highest
    /// if none is isolated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// The CPU of the thread that makes the edges. `None`: another one than the measured, not isolated where there is such a one;
    /// the measured one if there is no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acting_cpu: Option<u32>,
    /// Scheduling policy of both threads; not `deadline`.
    pub policy: PolicyChoice,
    /// Real-time priority of the measured thread (2 to 99 for FIFO and RR). The thread that makes the edges has 1, so that the
    /// kernel's thread that reports an edge runs before it.
    pub priority: u32,
    /// Time from one edge to the next (at least 100 us); the line is active for the first half of it.
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub interval: Ns,
    /// When the run ends.
    pub end: RunEnd,
    /// The deadline: the latency from the edge to the thread that no sample may exceed.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Ns>,
    /// Length of an interval of the record, each of which has its own maximum and histogram. `None`:
    /// min(5 minutes, duration / 60).
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub interval_maximum: Option<Ns>,
}

impl Default for ResponseRequest {
    fn default() -> Self {
        Self {
            output: LocalLine(String::new()),
            input: LocalLine(String::new()),
            active_low: false,
            cpu: None,
            acting_cpu: None,
            policy: PolicyChoice::Fifo,
            priority: 98,
            interval: Ns::from_ms(1),
            end: RunEnd::After(Ns::from_s(60)),
            deadline: None,
            interval_maximum: None,
        }
    }
}

impl KindRequest for ResponseRequest {
    fn measurement(&self) -> Measurement {
        Measurement::Response
    }

    fn deadline(&self) -> Option<Ns> {
        self.deadline
    }

    fn takes(&self) -> Option<Ns> {
        match self.end {
            RunEnd::After(duration) => Some(duration),
            RunEnd::Samples(samples) => time_of(samples, self.interval),
            RunEnd::WhenTold => None,
        }
    }

    fn real_time_priority(&self) -> Option<u32> {
        match self.policy {
            PolicyChoice::Fifo | PolicyChoice::RoundRobin => Some(self.priority),
            PolicyChoice::Other | PolicyChoice::Deadline { .. } => None,
        }
    }

    fn last_for(&mut self, duration: Ns) -> bool {
        self.end = RunEnd::After(duration);
        true
    }
}
