//! The kinds of measurement: one table of what the rest of the program has to know of them.
//!
//! Nothing outside this crate asks which kind a run is of. It asks the table: what its samples are called, which latency a
//! deadline judges, what a run without a sample means. A kind that is added here is compared, predicted, imported and drawn
//! without another line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

/// What the program has to know of a kind of measurement.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Which kind this line of the table is of, as records name it.
    pub measurement: Measurement,
    /// The name that users type.
    pub name: &'static str,
    /// What it measures, as a sentence.
    pub about: &'static str,
    /// What one sample is called: `wake-up`.
    pub sample: &'static str,
    /// What several samples are called: `wake-ups`.
    pub samples: &'static str,
    /// When a sample is taken.
    pub sampling: Sampling,
    /// What a node does in a run of this kind, the leading one's first.
    pub roles: &'static [&'static str],
    /// The latencies that it records.
    pub latencies: &'static [Latency],
    /// The latencies that a stated deadline judges; none where it cannot be stated.
    pub judged: &'static [&'static str],
    /// The latency that runs are compared by; `None` where they cannot be.
    pub compared: Option<&'static str>,
    /// The latencies whose worst cases can be predicted, the one that is looked at unless another is asked for first.
    pub predicted: &'static [&'static str],
    /// The latency whose late samples an explanation is of; `None` where nothing is explained, or of another latency.
    pub explained: Option<&'static str>,
    /// How its samples are drawn.
    pub figure: Figure,
    /// Whether the measured threads sleep between samples, so that no limit on real-time threads can be reached by them.
    pub sleeps: bool,
}

/// A latency: the time between two points.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// By its two points: `scheduled_to_woke`.
    pub name: &'static str,
    /// Where, by whom and on which clock the first point is taken.
    pub from: &'static str,
    /// Where, by whom and on which clock the second point is taken.
    pub to: &'static str,
    /// What stands above a column of the moments of the second point: `woke at`.
    pub at: &'static str,
    /// What a latency below zero means.
    pub sign: Sign,
}

/// What a latency below zero means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// There is none, unless a clock was set back.
    NotNegative,
    /// The second point came before it was due, which keeps every deadline.
    NegativeIsEarly,
    /// It is as bad as one above zero: a deadline judges the magnitude.
    Magnitude,
}

/// When a sample is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// One at each schedule. Late samples swallow schedules, and a thread without a sample did not run.
    Schedules,
    /// One where something took time from the measuring thread: none means that nothing did, in the time that was observed.
    Disturbances,
    /// Whenever a program that is not ours does something: which threads it has, and how often they act, is up to it.
    Program,
    /// As many as are asked, one after the other.
    Repetitions,
}

impl Sampling {
    /// Whether a run without a sample says something: that nothing happened.
    #[must_use]
    pub const fn is_quiet_without_samples(self) -> bool {
        matches!(self, Self::Disturbances)
    }

    /// Whether how often something happened counts by the time that was observed, and not by the number of schedules.
    #[must_use]
    pub const fn counts_by_time(self) -> bool {
        matches!(self, Self::Disturbances)
    }
}

/// How the samples of a kind are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Among the wake-ups, which a page is judged by: the plot of latencies, over time, by CPU, and their tails.
    Wakeups,
    /// A plot of latencies of its own.
    Gaps,
    /// Minimum, mean and maximum of each series side by side.
    Costs,
}

/// The role of the node of a run that only one takes part in.
pub const MEASURED: &str = "measured";

/// From one schedule to the next where nothing else is asked.
pub const DEFAULT_INTERVAL: Ns = Ns::from_us(200);

macro_rules! kinds {
    ($($(#[doc = $about:literal])+ $variant:ident { $($field:tt)+ })+) => {
        /// A kind of measurement.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum Measurement {
            $($(#[doc = $about])+ $variant,)+
        }

        /// Every kind of measurement, in the order of the documents.
        pub static KINDS: &[Kind] = &[
            $(Kind { measurement: Measurement::$variant, about: concat!($($about),+), $($field)+ },)+
        ];
    };
}

kinds! {
    /// Timer wake-up latency, as cyclictest's.
    Wakeup {
        name: "wakeup",
        sample: "wake-up",
        samples: "wake-ups",
        sampling: Sampling::Schedules,
        roles: &[MEASURED],
        latencies: &[Latency {
            name: "scheduled_to_woke",
            from: "the absolute time for which a thread asked to be woken, on the measured clock (CLOCK_MONOTONIC by default)",
            to: "the thread's first reading of that clock after the sleep returned",
            at: "woke at",
            sign: Sign::NotNegative,
        }],
        judged: &["scheduled_to_woke"],
        compared: Some("scheduled_to_woke"),
        predicted: &["scheduled_to_woke"],
        explained: Some("scheduled_to_woke"),
        figure: Figure::Wakeups,
        sleeps: true,
    }
    /// Cost of reading clocks, alone and across.
    Clock {
        name: "clock",
        sample: "reading",
        samples: "readings",
        sampling: Sampling::Repetitions,
        roles: &[MEASURED],
        latencies: &[
            Latency {
                name: "read_to_read",
                from: "a reading of the clock under test by the measuring thread",
                to: "the next reading of the same clock, with nothing between",
                at: "read at",
                sign: Sign::NegativeIsEarly,
            },
            Latency {
                name: "reference_to_reference",
                from: "a reading of the reference clock by the measuring thread",
                to: "the next reading of the reference clock, with one of the clock under test between",
                at: "read at",
                sign: Sign::NegativeIsEarly,
            },
        ],
        judged: &[],
        compared: None,
        predicted: &[],
        explained: None,
        figure: Figure::Costs,
        sleeps: false,
    }
    /// Time stolen from a thread that never sleeps.
    Noise {
        name: "noise",
        sample: "gap",
        samples: "gaps",
        sampling: Sampling::Disturbances,
        roles: &[MEASURED],
        latencies: &[Latency {
            name: "left_to_resumed",
            from: "the last reading of CLOCK_MONOTONIC before a gap, by a thread that never sleeps",
            to: "the same thread's first reading after the gap",
            at: "resumed at",
            sign: Sign::NotNegative,
        }],
        judged: &["left_to_resumed"],
        compared: Some("left_to_resumed"),
        predicted: &["left_to_resumed"],
        explained: None,
        figure: Figure::Gaps,
        sleeps: false,
    }
    /// Latencies of the threads of a user's own program.
    App {
        name: "app",
        sample: "latency of the program",
        samples: "latencies of the program",
        sampling: Sampling::Program,
        roles: &[MEASURED],
        latencies: &[
            Latency {
                name: "scheduled_to_returned",
                from: "the moment that a thread's sleep asked for (the kernel's hrtimer_start, on CLOCK_MONOTONIC)",
                to: "the return of the sleep's system call (sys_exit), and the way from there to a reading of the clock",
                at: "returned at",
                sign: Sign::NegativeIsEarly,
            },
            Latency {
                name: "runnable_to_running",
                from: "a thread is being made runnable (sched_waking, on CLOCK_MONOTONIC)",
                to: "it gets a CPU (sched_switch)",
                at: "ran at",
                sign: Sign::NotNegative,
            },
        ],
        judged: &["scheduled_to_returned", "runnable_to_running"],
        compared: Some("runnable_to_running"),
        // The first one begins earlier, where the program asked to be woken; only loops that sleep until a moment have it.
        predicted: &["scheduled_to_returned", "runnable_to_running"],
        explained: None,
        figure: Figure::Wakeups,
        sleeps: false,
    }
}

impl Kind {
    /// What stands above a column of the moments at which samples of a latency were complete.
    #[must_use]
    pub fn at(&self, latency: &str) -> &'static str {
        self.latencies.iter().find(|known| known.name == latency).map_or("at", |known| known.at)
    }

    /// What a value below zero means of one of its latencies. Of a latency that is not in the table, as a foreign file may
    /// have one, nothing better is known than that it may be as bad as one above zero.
    #[must_use]
    pub fn sign(&self, latency: &str) -> Sign {
        self.latencies.iter().find(|known| known.name == latency).map_or(Sign::Magnitude, |known| known.sign)
    }

    /// Whether a deadline judges a latency: those of the table that it says so of, and any that is not in the table.
    #[must_use]
    pub fn judges(&self, latency: &str) -> bool {
        self.judged.contains(&latency) || self.latencies.iter().all(|known| known.name != latency)
    }

    /// Whether a deadline that a run states is one of the latency that it is compared by, and of no other.
    #[must_use]
    pub fn states_deadline_of_compared(&self) -> bool {
        matches!((self.judged, self.compared), ([judged], Some(compared)) if *judged == compared)
    }
}

impl Measurement {
    /// Its line of the table.
    #[must_use]
    pub fn kind(self) -> &'static Kind {
        &KINDS[self as usize]
    }

    /// The name that users type.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.kind().name
    }

    /// The kind of that name; `None` where there is none.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        KINDS.iter().find(|kind| kind.name == name).map(|kind| kind.measurement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_table_is_its_own_kind_s_and_names_latencies_that_it_has() {
        for kind in KINDS {
            assert_eq!(kind.measurement.kind().name, kind.name);
            assert_eq!(Measurement::by_name(kind.name), Some(kind.measurement));
            assert_eq!(serde_json::to_value(kind.measurement).unwrap(), kind.name);
            let has = |name: &str| kind.latencies.iter().any(|latency| latency.name == name);
            let named = kind.judged.iter().chain(&kind.compared).chain(kind.predicted).chain(&kind.explained);
            assert!(named.into_iter().all(|name| has(name)), "{}", kind.name);
            for latency in kind.latencies {
                assert!(latency.name.split("_to_").count() == 2, "{}", latency.name);
            }
        }
        assert_eq!(Measurement::by_name("cyclictest"), None);
    }
}
