//! What can be asked of `app`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

use super::KindRequest;
use crate::Measurement;

/// Which program is followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppTarget {
    /// One to be started, by the shell.
    Command {
        /// The command line.
        command: String,
    },
    /// One that runs.
    Process {
        /// Its process number, as this program's own process numbers are counted.
        pid: u32,
    },
}

/// What was asked of `app`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AppRequest {
    /// The program that is started or followed.
    pub target: AppTarget,
    /// Names or numbers of threads; none means its real-time threads, and all where it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<String>,
    /// How long; `None` until it ends.
    #[serde(default, with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub duration: Option<Ns>,
    /// Whether it may end before: a run that was given no time is over with its program.
    #[serde(default)]
    pub may_end: bool,
    /// The limit that no latency may exceed.
    #[serde(default, with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Ns>,
    /// Length of an interval of the record.
    #[serde(default, with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub interval_maximum: Option<Ns>,
}

impl AppRequest {
    /// Nothing is asked but the program.
    #[must_use]
    pub const fn of(target: AppTarget) -> Self {
        Self { target, threads: Vec::new(), duration: None, may_end: false, deadline: None, interval_maximum: None }
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

    fn last_for(&mut self, duration: Ns) -> bool {
        (self.duration, self.may_end) = (Some(duration), false);
        true
    }
}
