//! Where in a node a series was measured.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where in a node samples are taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Place {
    /// A measuring thread.
    Thread {
        /// The measured CPU; absent if the thread was not pinned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpu: Option<u32>,
        /// Number of the thread, from 0.
        thread: u32,
    },
    /// A pair of threads, of which one wakes the other.
    Pair {
        /// The measured CPU: that of the woken thread.
        cpu: u32,
        /// The CPU of the thread that wakes it; the same where both share one.
        waker_cpu: u32,
        /// Number of the pair, from 0.
        pair: u32,
    },
    /// A flow of packets.
    Flow {
        /// Number of the flow, from 0.
        flow: u32,
        /// Direction of the packets, as seen by the node.
        direction: Direction,
        /// The queue of the network interface; absent if any queue may have been used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queue: Option<u32>,
    },
    /// A port of a time service.
    Port {
        /// The network interface, or the device of a clock.
        port: String,
        /// The PTP domain; absent if the service has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        domain: Option<u8>,
    },
    /// A line of a GPIO chip.
    Line {
        /// Device of the GPIO chip.
        chip: String,
        /// Number of the line.
        line: u32,
    },
}

/// Direction of packets, as seen by the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The node sends them.
    Sent,
    /// The node receives them.
    Received,
    /// To the partner and back.
    RoundTrip,
}

impl Default for Place {
    fn default() -> Self {
        Self::Thread { cpu: None, thread: 0 }
    }
}

impl Place {
    /// A thread that is pinned to `cpu`, or not pinned if that is `None`.
    #[must_use]
    pub const fn thread(thread: u32, cpu: Option<u32>) -> Self {
        Self::Thread { cpu, thread }
    }

    /// The CPU, of a pair that of the woken thread; `None` if the place is no thread, or a thread that is not pinned.
    #[must_use]
    pub const fn cpu(&self) -> Option<u32> {
        match self {
            Self::Thread { cpu, .. } => *cpu,
            Self::Pair { cpu, .. } => Some(*cpu),
            _ => None,
        }
    }

    /// The place as the end of a sentence: " on CPU 3"; empty for a thread that is not pinned.
    #[must_use]
    pub fn clause(&self) -> String {
        match self {
            Self::Thread { cpu: None, .. } => String::new(),
            _ => format!(" on {self}"),
        }
    }

    /// The number of the thread, or of the pair of threads; `None` if the place is neither.
    #[must_use]
    pub const fn thread_number(&self) -> Option<u32> {
        match self {
            Self::Thread { thread, .. } => Some(*thread),
            Self::Pair { pair, .. } => Some(*pair),
            _ => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Thread { cpu: Some(cpu), .. } => format!("CPU {cpu}"),
            Self::Thread { cpu: None, thread } => format!("thread {thread}"),
            Self::Pair { cpu, waker_cpu, .. } if cpu == waker_cpu => format!("CPU {cpu}"),
            Self::Pair { cpu, waker_cpu, .. } => format!("CPU {waker_cpu} to {cpu}"),
            Self::Flow { flow, direction, queue } => {
                let direction = match direction {
                    Direction::Sent => "sent",
                    Direction::Received => "received",
                    Direction::RoundTrip => "round trip",
                };
                let queue = queue.map_or_else(String::new, |queue| format!(", queue {queue}"));
                format!("flow {flow} {direction}{queue}")
            }
            Self::Port { port, domain } => {
                format!("{port}{}", domain.map_or_else(String::new, |domain| format!(" domain {domain}")))
            }
            Self::Line { chip, line } => format!("{chip} line {line}"),
        };
        f.pad(&text)
    }
}
