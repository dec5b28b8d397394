//! How threads are scheduled, as people write it: `fifo 80`.

use std::fmt;
use std::str::FromStr;

/// How a thread is scheduled (sched(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// SCHED_OTHER, with its nice value, -20 to 19.
    Other(i32),
    /// SCHED_BATCH, with its nice value.
    Batch(i32),
    /// SCHED_IDLE, below every ordinary task.
    Idle,
    /// SCHED_FIFO, with its priority, 1 to 99.
    Fifo(u32),
    /// SCHED_RR, with its priority.
    RoundRobin(u32),
}

/// Why a text is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is written 'fifo 80', 'rr 80' (1 to 99), 'other 0', 'batch 0' (nice, -20 to 19) or 'idle', not '{0}'")]
pub struct SchedulingError(String);

impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(nice) => write!(f, "other {nice}"),
            Self::Batch(nice) => write!(f, "batch {nice}"),
            Self::Idle => f.write_str("idle"),
            Self::Fifo(priority) => write!(f, "fifo {priority}"),
            Self::RoundRobin(priority) => write!(f, "rr {priority}"),
        }
    }
}

impl FromStr for Scheduling {
    type Err = SchedulingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = text.split_ascii_whitespace();
        let (policy, number, more) = (words.next(), words.next(), words.next());
        let nice = || number?.parse().ok().filter(|nice| (-20..=19).contains(nice));
        let priority = || number?.parse().ok().filter(|priority| (1..=99).contains(priority));
        let found = match (policy, more) {
            (Some("other"), None) => nice().map(Self::Other),
            (Some("batch"), None) => nice().map(Self::Batch),
            (Some("idle"), None) if number.is_none() => Some(Self::Idle),
            (Some("fifo"), None) => priority().map(Self::Fifo),
            (Some("rr"), None) => priority().map(Self::RoundRobin),
            _ => None,
        };
        found.ok_or_else(|| SchedulingError(text.to_owned()))
    }
}

/// Whether a name is of a pattern, in which `*` stands for any text.
#[must_use]
pub fn is_like(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| is_like(after, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_back_and_its_bounds_hold() {
        for text in ["fifo 80", "rr 1", "other -20", "batch 19", "idle"] {
            assert_eq!(text.parse::<Scheduling>().unwrap().to_string(), text);
        }
        for text in ["fifo", "fifo 0", "fifo 100", "rr -1", "other 20", "idle 1", "deadline", "", "fifo 80 x"] {
            assert!(text.parse::<Scheduling>().is_err(), "{text}");
        }
    }

    #[test]
    fn patterns_match_whole_names() {
        assert!(is_like("irq/*-eth0", "irq/24-eth0") && is_like("*", "") && is_like("a*b*c", "a-b-b-c"));
        assert!(!is_like("irq/*-eth0", "irq/24-eth0-rx") && !is_like("irq", "irq/1") && !is_like("a*b", "a"));
    }
}
