//! Where in a node a series was measured.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where in a node samples are taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Place {
    /// By a thread.
    Thread {
        /// The measured CPU; absent where the thread was not pinned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpu: Option<u32>,
        /// The measuring thread, from 0.
        thread: u32,
    },
    /// On a flow of packets.
    Flow {
        /// Which flow, from 0.
        flow: u32,
        /// Which way.
        direction: Direction,
        /// The queue of the network interface; absent where any may have been used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queue: Option<u32>,
    },
    /// On a port of a time service.
    Port {
        /// The network interface, or the device of a clock.
        port: String,
        /// The PTP domain; absent where the service has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        domain: Option<u8>,
    },
    /// On a line of a GPIO chip.
    Line {
        /// The chip's device.
        chip: String,
        /// The line's number.
        line: u32,
    },
}

/// Which way packets go, as the node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The node sends them.
    Sent,
    /// The node receives them.
    Received,
    /// There and back.
    RoundTrip,
}

impl Default for Place {
    fn default() -> Self {
        Self::Thread { cpu: None, thread: 0 }
    }
}

impl Place {
    /// A thread on a CPU, or on none in particular.
    #[must_use]
    pub const fn thread(thread: u32, cpu: Option<u32>) -> Self {
        Self::Thread { cpu, thread }
    }

    /// The CPU; `None` where it is not one CPU's.
    #[must_use]
    pub const fn cpu(&self) -> Option<u32> {
        match self {
            Self::Thread { cpu, .. } => *cpu,
            _ => None,
        }
    }

    /// Behind what happened there, in a sentence: " on CPU 3"; empty for a thread that any CPU may have run.
    #[must_use]
    pub fn clause(&self) -> String {
        match self {
            Self::Thread { cpu: None, .. } => String::new(),
            _ => format!(" on {self}"),
        }
    }

    /// The number of the thread; `None` where it is not a thread's.
    #[must_use]
    pub const fn thread_number(&self) -> Option<u32> {
        match self {
            Self::Thread { thread, .. } => Some(*thread),
            _ => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Thread { cpu: Some(cpu), .. } => format!("CPU {cpu}"),
            Self::Thread { cpu: None, thread } => format!("thread {thread}"),
            Self::Flow { flow, direction, queue } => {
                let way = match direction {
                    Direction::Sent => "sent",
                    Direction::Received => "received",
                    Direction::RoundTrip => "round trip",
                };
                let queue = queue.map_or_else(String::new, |queue| format!(", queue {queue}"));
                format!("flow {flow} {way}{queue}")
            }
            Self::Port { port, domain } => {
                format!("{port}{}", domain.map_or_else(String::new, |domain| format!(" domain {domain}")))
            }
            Self::Line { chip, line } => format!("{chip} line {line}"),
        };
        f.pad(&text)
    }
}
