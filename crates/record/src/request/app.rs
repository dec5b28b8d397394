//! The request for a run of `app`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

use super::{KindRequest, LocalCommand};
use crate::Measurement;

/// The program whose threads are followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppTarget {
    /// A command that is started through the shell.
    Command {
        /// The command line.
        command: LocalCommand,
    },
    /// A process that is running already.
    Process {
        /// Process ID, in the PID namespace of this program.
        pid: u32,
    },
}

/// The parameters of a run of `app`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AppRequest {
    /// The program to start or to follow.
    pub target: AppTarget,
    /// Names or IDs of the threads to follow. If empty: its real-time threads, or all threads if it has no real-time ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<String>,
    /// How long to follow the program; `None`: until it ends.
    #[serde(default, with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub duration: Option<Ns>,
    /// Whether the program may end before the duration is over: a run without a stated duration ends with its program.
    #[serde(default)]
    pub may_end: bool,
    /// The deadline: the latency that no sample may exceed.
    #[serde(default, with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Ns>,
    /// Whether the deadline counts from the wake-up where no timer ended a wait (a packet, another thread). Otherwise a run
    /// with such turns says nothing of the deadline, since nobody knows when they were due.
    #[serde(default)]
    pub from_wake_up: bool,
    /// Length of an interval of the record, each of which has its own maximum and histogram.
    #[serde(default, with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub interval_maximum: Option<Ns>,
}

impl AppRequest {
    /// A request to follow `target`, with the defaults for everything else.
    #[must_use]
    pub const fn new(target: AppTarget) -> Self {
        Self {
            target,
            threads: Vec::new(),
            duration: None,
            may_end: false,
            deadline: None,
            from_wake_up: false,
            interval_maximum: None,
        }
    }
}

impl KindRequest for AppRequest {
    fn measurement(&self) -> Measurement {
        Measurement::App
    }

    fn deadline(&self) -> Option<Ns> {
        self.deadline
    }

    fn takes(&self) -> Option<Ns> {
        self.duration
    }

    fn real_time_priority(&self) -> Option<u32> {
        None
    }

    fn last_for(&mut self, duration: Ns) -> bool {
        (self.duration, self.may_end) = (Some(duration), false);
        true
    }
}
