//! The request for a run of `answer`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

use super::{KindRequest, LocalAddress, LocalLine, PolicyChoice, RunEnd, time_of};
use crate::Measurement;

/// The parameters of a run of `answer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AnswerRequest {
    /// The line whose falling edges are answered: it is made an input.
    pub input: LocalLine,
    /// The line that answers each of them by a rising edge: it is made an output, low between answers and afterwards.
    pub output: LocalLine,
    /// The board that makes the edges and stamps the answers, which runs `latmon`: its address or name, with a port where it is
    /// another than 2306; `announced`: the first one that announces itself. Absent: somebody else makes the edges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<LocalAddress>,
    /// What the witness adds to each latency itself, as its user has calibrated it with both of its pins connected.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub witness_cost: Option<Ns>,
    /// The CPU of the thread that answers. `None`: the isolated CPU with the highest number, or the highest if none is isolated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Scheduling policy of this thread; not `deadline`.
    pub policy: PolicyChoice,
    /// Its real-time priority (1 to 99 for FIFO and RR).
    pub priority: u32,
    /// Time from one answer to the next edge, for which a witness is asked (whole microseconds, 20 us to 1 s).
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub interval: Ns,
    /// When the run ends.
    pub end: RunEnd,
    /// The deadline: the latency from the edge to the answer that no sample may exceed, by our own stamps and by the witness.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Ns>,
    /// Length of an interval of the record, each of which has its own maximum and histogram. `None`:
    /// min(5 minutes, duration / 60).
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub interval_maximum: Option<Ns>,
}

/// The word for a witness that is found by its announcement.
pub const ANNOUNCED: &str = "announced";

impl Default for AnswerRequest {
    fn default() -> Self {
        Self {
            input: LocalLine(String::new()),
            output: LocalLine(String::new()),
            witness: None,
            witness_cost: None,
            cpu: None,
            policy: PolicyChoice::Fifo,
            priority: 98,
            interval: Ns::from_ms(1),
            end: RunEnd::After(Ns::from_s(60)),
            deadline: None,
            interval_maximum: None,
        }
    }
}

impl KindRequest for AnswerRequest {
    fn measurement(&self) -> Measurement {
        Measurement::Answer
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
