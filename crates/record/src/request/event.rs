//! The request for a run of `event`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{CpuSet, Ns};

use super::{KindRequest, PolicyChoice, RunEnd, time_of};
use crate::Measurement;

/// By what one thread wakes the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventMeans {
    /// `write(2)` to an eventfd, blocking `read(2)`.
    #[default]
    Eventfd,
    /// One byte through a pipe.
    Pipe,
    /// `FUTEX_WAKE` and `FUTEX_WAIT`.
    Futex,
    /// `FUTEX_UNLOCK_PI` and `FUTEX_LOCK_PI`: a lock with priority inheritance.
    FutexPi,
    /// A real-time signal to the thread, for which it waits with `sigwaitinfo(2)`.
    Signal,
    /// `mq_send(3)` and `mq_receive(3)`: a POSIX message queue.
    Mqueue,
    /// `pthread_cond_signal(3)` and `pthread_cond_wait(3)` of the C library, with a mutex that inherits priorities.
    Condvar,
}

impl EventMeans {
    /// All of them, in the order of the documents.
    pub const ALL: [Self; 7] =
        [Self::Eventfd, Self::Pipe, Self::Futex, Self::FutexPi, Self::Signal, Self::Mqueue, Self::Condvar];

    /// The name that users type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eventfd => "eventfd",
            Self::Pipe => "pipe",
            Self::Futex => "futex",
            Self::FutexPi => "futex-pi",
            Self::Signal => "signal",
            Self::Mqueue => "mqueue",
            Self::Condvar => "condvar",
        }
    }
}

impl fmt::Display for EventMeans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for EventMeans {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = || Self::ALL.map(Self::name).join(", ");
        Self::ALL.into_iter().find(|means| means.name() == text).ok_or_else(|| format!("'{text}' is none of {}", all()))
    }
}

/// The CPUs of a pair of threads, of which one wakes the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CpuPair {
    /// The CPU of the thread that wakes.
    pub waker: u32,
    /// The CPU of the thread that is woken, which is the measured one.
    pub woken: u32,
}

impl FromStr for CpuPair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let pair = text.split_once(',').and_then(|(waker, woken)| number(waker).zip(number(woken)));
        let (waker, woken) = pair.ok_or_else(|| {
            format!("'{text}' is no pair of CPUs: write the one that wakes and the one that is woken, for example 1,2")
        })?;
        Ok(Self { waker, woken })
    }
}

/// On which CPUs the pairs of threads run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PairPlacement {
    /// A pair on each isolated CPU, or on each CPU if none is isolated.
    Default,
    /// A pair on each CPU of the set, both threads on that one CPU.
    Pinned(CpuSet),
    /// Each pair on these two CPUs.
    Between(Vec<CpuPair>),
}

/// The parameters of a run of `event`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct EventRequest {
    /// By what one thread wakes the other.
    pub means: EventMeans,
    /// On which CPUs the pairs of threads run.
    pub placement: PairPlacement,
    /// Scheduling policy of all threads; not `deadline`.
    pub policy: PolicyChoice,
    /// Real-time priority of the woken threads (2 to 99 for FIFO and RR); that of their wakers is one less.
    pub priority: u32,
    /// Time from one schedule to the next (at least 20 us).
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub interval: Ns,
    /// When the run ends.
    pub end: RunEnd,
    /// The deadline: the latency from the hand-over to the wake-up that no sample may exceed.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Ns>,
    /// Length of an interval of the record, each of which has its own maximum and histogram. `None`:
    /// min(5 minutes, duration / 60).
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub interval_maximum: Option<Ns>,
}

impl Default for EventRequest {
    fn default() -> Self {
        Self {
            means: EventMeans::default(),
            placement: PairPlacement::Default,
            policy: PolicyChoice::Fifo,
            priority: 98,
            interval: Ns::from_ms(1),
            end: RunEnd::After(Ns::from_s(60)),
            deadline: None,
            interval_maximum: None,
        }
    }
}

impl KindRequest for EventRequest {
    fn measurement(&self) -> Measurement {
        Measurement::Event
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_means_is_typed_as_it_is_written_and_a_pair_of_cpus_says_which_is_which() {
        for means in EventMeans::ALL {
            assert_eq!(means.name().parse(), Ok(means));
            assert_eq!(serde_json::to_value(means).unwrap(), means.name());
        }
        assert!("fifo".parse::<EventMeans>().unwrap_err().contains("futex-pi"));
        assert_eq!("1,2".parse(), Ok(CpuPair { waker: 1, woken: 2 }));
        for odd in ["1", "1-2", "1,2,3", "", "a,b", "-1,2"] {
            assert!(odd.parse::<CpuPair>().is_err(), "{odd}");
        }
    }
}
