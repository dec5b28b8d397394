//! What one node asks of another: a typed job, never a command line.

use std::fmt;

use record::{AppTarget, Request};
use serde::{Deserialize, Serialize};
use units::Ns;

/// What one node asks of another.
///
/// A measurement of two nodes is a variant of its own, which holds the partner's half of it. Whoever adds a variant adds its
/// line to each function below; the compiler names them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "kebab-case")]
pub enum Job {
    /// A measurement that the asked node takes by itself.
    Measure(Request),
    /// Its half of a measurement of packets between both nodes.
    Packet(packet::dialog::PacketJob),
}

/// What a job does to the node that is asked, which is what its policy allows or denies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobClass {
    /// Measures, and leaves every setting as it was.
    Measurement,
    /// Changes settings of the kernel (`punctual tune`).
    Tune,
    /// Sets time services up (`punctual sync apply`).
    SyncApply,
    /// Switches outputs, such as the lines of a GPIO chip, to which machines may be connected.
    Output,
}

impl JobClass {
    /// Every class.
    pub const ALL: [Self; 4] = [Self::Measurement, Self::Tune, Self::SyncApply, Self::Output];

    /// The name in a policy file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measurement => "measurement",
            Self::Tune => "tune",
            Self::SyncApply => "sync-apply",
            Self::Output => "output",
        }
    }
}

impl fmt::Display for JobClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Job {
    /// What the job does to the node that is asked.
    #[must_use]
    pub const fn class(&self) -> JobClass {
        match self {
            Self::Measure(_) | Self::Packet(_) => JobClass::Measurement,
        }
    }

    /// How long the job takes according to its parameters; `None` if it runs until it is stopped.
    #[must_use]
    pub fn takes(&self) -> Option<Ns> {
        match self {
            Self::Measure(request) => request.takes(),
            Self::Packet(job) => Request::Packet(job.request.clone()).takes(),
        }
    }

    /// The network interfaces that the job itself names, by their names on the node that is asked.
    #[must_use]
    pub const fn interfaces(&self) -> &[String] {
        match self {
            Self::Measure(_) | Self::Packet(_) => &[],
        }
    }

    /// Whether the job sends and receives on the interface over which the asking node is connected.
    #[must_use]
    pub const fn uses_connection(&self) -> bool {
        match self {
            Self::Measure(_) => false,
            Self::Packet(_) => true,
        }
    }

    /// The command line that the job would start on the asked node. No policy allows one.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        match self {
            Self::Measure(Request::App(app)) => match &app.target {
                AppTarget::Command { command } => Some(command),
                AppTarget::Process { .. } => None,
            },
            Self::Measure(_) | Self::Packet(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use record::WakeupRequest;

    use super::*;

    #[test]
    fn a_job_reads_back_and_a_command_line_is_none() {
        let job = Job::Measure(Request::Wakeup(WakeupRequest::default()));
        let text = serde_json::to_string(&job).unwrap();
        assert!(text.starts_with(r#"{"job":"measure","kind":"wakeup","#), "{text}");
        assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job);
        for text in [
            r#"{"job": "run", "command": "reboot"}"#,
            r#"{"job": "measure"}"#,
            r#"{"job": "measure", "kind": "wakeup", "intervall": "1ms"}"#,
            r#"{"kind": "wakeup"}"#,
        ] {
            assert!(serde_json::from_str::<Job>(text).is_err(), "{text}");
        }
    }
}
