//! The kinds of measurement: one table with everything that the rest of the program needs to know about them.
//!
//! Code outside this crate does not match on the kind of a run. It asks the table: what its samples are called, to which
//! latency a deadline applies, what a run without samples means. A kind that is added here is compared, predicted, imported
//! and drawn without further code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

/// The properties of a kind of measurement: one row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The kind, as records name it.
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
    /// The roles of nodes in a run of this kind, that of the leading node first.
    pub roles: &'static [&'static str],
    /// The latencies that it records.
    pub latencies: &'static [Latency],
    /// The latencies to which a stated deadline applies; empty if the kind takes no deadline.
    pub judged: &'static [&'static str],
    /// The latency by which runs are compared; `None` if they cannot be compared.
    pub compared: Option<&'static str>,
    /// The latencies whose worst cases can be predicted; the first is the default.
    pub predicted: &'static [&'static str],
    /// The latency whose late samples `--explain` explains; `None` if the kind has no explanations. Of runs between nodes it is
    /// a part of the compared latency, and each node explains its own.
    pub explained: Option<&'static str>,
    /// How its samples are drawn.
    pub figure: Figure,
    /// Whether the measured threads sleep between samples, so that they cannot reach a limit on real-time threads.
    pub sleeps: bool,
}

/// A latency: the time between two points.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// The name, made of the two points: `scheduled_to_woke`.
    pub name: &'static str,
    /// Where, by whom and on which clock the first point is taken.
    pub from: &'static str,
    /// Where, by whom and on which clock the second point is taken.
    pub to: &'static str,
    /// Column heading for the time of the second point: `woke at`.
    pub at: &'static str,
    /// What a latency below zero means.
    pub sign: Sign,
}

/// What a latency below zero means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Negative latencies do not occur, unless a clock was set back.
    NotNegative,
    /// The second point was early, which satisfies every deadline.
    NegativeIsEarly,
    /// A negative latency is as bad as a positive one: a deadline applies to the magnitude.
    Magnitude,
}

/// When a sample is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// At each schedule. A late wake-up can skip schedules; a thread without samples did not run.
    Schedules,
    /// Whenever something took time from the measuring thread. No sample means that nothing did in the observed time.
    Disturbances,
    /// Whenever the followed program acts. The program determines which threads it has, and how often they act.
    Program,
    /// One after the other, until the requested number is reached.
    Repetitions,
    /// Whenever the clocks are compared: by a time service, which determines how often, or by this program.
    Comparisons,
    /// At each packet that arrives. One that does not was lost, and is counted.
    Packets,
}

impl Sampling {
    /// Whether a run without samples is a result: nothing happened.
    #[must_use]
    pub const fn is_quiet_without_samples(self) -> bool {
        matches!(self, Self::Disturbances)
    }

    /// Whether a late sample can skip schedules, each of which was then late by that sample less whole intervals.
    #[must_use]
    pub const fn can_skip_schedules(self) -> bool {
        matches!(self, Self::Schedules)
    }

    /// Whether the threads that take the samples have periods, which they could miss.
    #[must_use]
    pub const fn has_periods(self) -> bool {
        !matches!(self, Self::Comparisons | Self::Packets)
    }

    /// Whether rates are per observed time instead of per number of schedules.
    #[must_use]
    pub const fn counts_by_time(self) -> bool {
        matches!(self, Self::Disturbances)
    }
}

/// How the samples of a kind are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// In the main plots of a page: latency histogram, latencies over time and by CPU, and tails.
    Wakeups,
    /// In a latency histogram of its own.
    Gaps,
    /// As minimum, mean and maximum of each series, side by side.
    Costs,
    /// Over time, with their bounds, and in a distribution.
    Offsets,
    /// Between nodes: over time with the error that the clocks allow, in parts from program to program, and in a distribution.
    Delays,
}

impl Figure {
    /// Whether a page of such runs is about how late things are: they decide its headline, and their worst cases are predicted.
    #[must_use]
    pub const fn is_of_latencies(self) -> bool {
        matches!(self, Self::Wakeups | Self::Delays)
    }
}

/// The role of the only node of a run.
pub const MEASURED: &str = "measured";

/// The default time from one schedule to the next.
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
    /// Timer wake-up latency, as cyclictest measures it.
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
    /// Cost of reading clocks, each alone and in pairs.
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
                to: "the next reading of the same clock, with nothing in between",
                at: "read at",
                sign: Sign::NegativeIsEarly,
            },
            Latency {
                name: "reference_to_reference",
                from: "a reading of the reference clock by the measuring thread",
                to: "the next reading of the reference clock, with a reading of the clock under test in between",
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
                from: "the moment that a timer was set for whose expiry made a thread runnable (the kernel's hrtimer_start and hrtimer_expire_entry, on CLOCK_MONOTONIC)",
                to: "the return of the system call in which the thread waited (sys_exit), plus the time from there to a reading of the clock",
                at: "returned at",
                sign: Sign::NegativeIsEarly,
            },
            Latency {
                name: "runnable_to_running",
                from: "the kernel makes a thread runnable (sched_waking, on CLOCK_MONOTONIC)",
                to: "the thread gets a CPU (sched_switch)",
                at: "ran at",
                sign: Sign::NotNegative,
            },
        ],
        judged: &["scheduled_to_returned", "runnable_to_running"],
        compared: Some("runnable_to_running"),
        // The first latency starts earlier, at the requested wake-up time; only loops that sleep on a timer have it.
        predicted: &["scheduled_to_returned", "runnable_to_running"],
        explained: None,
        figure: Figure::Wakeups,
        sleeps: false,
    }
    /// How far clocks are apart, as time services and this program compare them.
    Sync {
        name: "sync",
        sample: "offset",
        samples: "offsets",
        sampling: Sampling::Comparisons,
        roles: &[MEASURED],
        latencies: &[
            Latency {
                name: "reference_to_clock",
                from: "the time of the reference (grand master, server or hardware clock) at one instant, as far as the time stamps of an exchange show it",
                to: "the time of this node's clock at the same instant",
                at: "at",
                sign: Sign::Magnitude,
            },
            Latency {
                name: "sent_to_received",
                from: "a message of an exchange is sent, as stamped by its sender",
                to: "it is received, as stamped by its receiver; the mean of both directions, so that the offset cancels out",
                at: "received at",
                sign: Sign::NegativeIsEarly,
            },
        ],
        judged: &["reference_to_clock"],
        compared: Some("reference_to_clock"),
        predicted: &[],
        explained: None,
        figure: Figure::Offsets,
        sleeps: true,
    }
    /// Delay of packets from a program on one node to a program on another, with what the clocks allow as its error.
    Packet {
        name: "packet",
        sample: "packet",
        samples: "packets",
        sampling: Sampling::Packets,
        roles: &["initiator", "partner"],
        latencies: &[
            Latency {
                name: "sent_to_received",
                from: "the sending program's reading of its CLOCK_REALTIME right before it hands the packet to the kernel",
                to: "the receiving program's reading of its CLOCK_REALTIME right after it has the packet, less the offset of the two clocks",
                at: "received at",
                sign: Sign::NegativeIsEarly,
            },
            Latency {
                name: "scheduled_to_sent",
                from: "the time at which the packet was to be sent, on the sender's clock",
                to: "the sending program's reading of that clock right before it hands the packet to the kernel",
                at: "sent at",
                sign: Sign::NotNegative,
            },
            Latency {
                name: "sent_to_transmitted",
                from: "the sending program's reading of its CLOCK_REALTIME right before it hands the packet to the kernel",
                to: "the kernel's stamp (SOF_TIMESTAMPING_TX_SOFTWARE) when it hands the packet to the network's driver, on the same clock",
                at: "transmitted at",
                sign: Sign::NotNegative,
            },
            Latency {
                name: "launch_to_transmitted",
                from: "the time at which the sending system was to let the packet go (SO_TXTIME), where one was given",
                to: "the sending kernel's stamp (SOF_TIMESTAMPING_TX_SOFTWARE) when it hands the packet to the network's driver, which etf does ahead of that time by its delta",
                at: "transmitted at",
                sign: Sign::NegativeIsEarly,
            },
            Latency {
                name: "transmitted_to_arrived",
                from: "the sending kernel's stamp (SOF_TIMESTAMPING_TX_SOFTWARE)",
                to: "the receiving kernel's stamp (SOF_TIMESTAMPING_RX_SOFTWARE), less the offset of the two clocks (an import from isochron subtracts nothing)",
                at: "arrived at",
                sign: Sign::NegativeIsEarly,
            },
            Latency {
                name: "transmitted_to_hw_transmitted",
                from: "the sending kernel's stamp (SOF_TIMESTAMPING_TX_SOFTWARE)",
                to: "the sending interface's stamp (SOF_TIMESTAMPING_TX_HARDWARE), by its clock, compared with that node's",
                at: "transmitted at",
                sign: Sign::NegativeIsEarly,
            },
            Latency {
                name: "hw_transmitted_to_hw_arrived",
                from: "the sending interface's stamp (SOF_TIMESTAMPING_TX_HARDWARE)",
                to: "the receiving interface's stamp (SOF_TIMESTAMPING_RX_HARDWARE), less the offset of the two clocks (an import from isochron subtracts nothing)",
                at: "arrived at",
                sign: Sign::NegativeIsEarly,
            },
            Latency {
                name: "hw_arrived_to_arrived",
                from: "the receiving interface's stamp (SOF_TIMESTAMPING_RX_HARDWARE), by its clock, compared with that node's",
                to: "the receiving kernel's stamp (SOF_TIMESTAMPING_RX_SOFTWARE)",
                at: "arrived at",
                sign: Sign::NegativeIsEarly,
            },
            Latency {
                name: "arrived_to_received",
                from: "the receiving kernel's stamp (SOF_TIMESTAMPING_RX_SOFTWARE)",
                to: "the receiving program's reading of its CLOCK_REALTIME right after it has the packet",
                at: "received at",
                sign: Sign::NotNegative,
            },
            Latency {
                name: "scheduled_to_woke",
                from: "of an import from isochron: the time for which the sending program asked to be woken, on the sender's CLOCK_TAI",
                to: "that program's first reading of the same clock after its sleep",
                at: "woke at",
                sign: Sign::NotNegative,
            },
            Latency {
                name: "woke_to_received",
                from: "of an import from isochron: the sending program's first reading of its CLOCK_TAI after its sleep, before it prepares the packet",
                to: "the receiving program's reading of its CLOCK_TAI once it has the packet, with nothing subtracted for the two clocks",
                at: "received at",
                sign: Sign::NegativeIsEarly,
            },
            Latency {
                name: "woke_to_transmitted",
                from: "of an import from isochron: the sending program's first reading of its CLOCK_TAI after its sleep, before it prepares the packet",
                to: "the sending kernel's stamp (SOF_TIMESTAMPING_TX_SOFTWARE), put on TAI by isochron",
                at: "transmitted at",
                sign: Sign::NotNegative,
            },
            Latency {
                name: "queued_to_transmitted",
                from: "of an import from isochron: the sending kernel's stamp before the queueing discipline (SOF_TIMESTAMPING_TX_SCHED)",
                to: "the sending kernel's stamp (SOF_TIMESTAMPING_TX_SOFTWARE), on the same clock",
                at: "transmitted at",
                sign: Sign::NotNegative,
            },
            Latency {
                name: "scheduled_to_hw_transmitted",
                from: "of an import from isochron: the time at which the packet was to be on the wire, on TAI",
                to: "the sending interface's stamp (SOF_TIMESTAMPING_TX_HARDWARE), on its own clock",
                at: "transmitted at",
                sign: Sign::NegativeIsEarly,
            },
            Latency {
                name: "hw_arrived_to_received",
                from: "of an import from isochron: the receiving interface's stamp (SOF_TIMESTAMPING_RX_HARDWARE), on its own clock",
                to: "the receiving program's reading of its CLOCK_TAI once it has the packet",
                at: "received at",
                sign: Sign::NegativeIsEarly,
            },
            Latency {
                name: "asked_to_answered",
                from: "a kernel sends a question to the partner (its stamp)",
                to: "the same kernel receives the answer, less the time that the partner held the question (by that kernel's stamps): the round trip",
                at: "answered at",
                sign: Sign::NotNegative,
            },
        ],
        judged: &["sent_to_received"],
        compared: Some("sent_to_received"),
        predicted: &["sent_to_received"],
        explained: Some("arrived_to_received"),
        figure: Figure::Delays,
        sleeps: true,
    }
}

impl Kind {
    /// Whether a run needs a second node.
    #[must_use]
    pub const fn needs_partner(&self) -> bool {
        self.roles.len() > 1
    }

    /// Column heading for the time at which samples of a latency were complete; `at` for a latency not in the table.
    #[must_use]
    pub fn at(&self, latency: &str) -> &'static str {
        self.latencies.iter().find(|known| known.name == latency).map_or("at", |known| known.at)
    }

    /// What a value below zero means for a latency. A latency that is not in the table, such as one from an imported file,
    /// is assumed to be as bad below zero as above.
    #[must_use]
    pub fn sign(&self, latency: &str) -> Sign {
        self.latencies.iter().find(|known| known.name == latency).map_or(Sign::Magnitude, |known| known.sign)
    }

    /// Whether a deadline applies to a latency: to those in `judged`, and to every latency that is not in the table.
    #[must_use]
    pub fn judges(&self, latency: &str) -> bool {
        self.judged.contains(&latency) || self.latencies.iter().all(|known| known.name != latency)
    }

    /// Whether a stated deadline applies to exactly one latency, and runs are compared by that same latency.
    #[must_use]
    pub fn states_deadline_of_compared(&self) -> bool {
        matches!((self.judged, self.compared), ([judged], Some(compared)) if *judged == compared)
    }
}

impl Measurement {
    /// The kind's row of the table.
    #[must_use]
    pub fn kind(self) -> &'static Kind {
        &KINDS[self as usize]
    }

    /// The name that users type.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.kind().name
    }

    /// The kind that users type as `name`; `None` if there is none.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        KINDS.iter().find(|kind| kind.name == name).map(|kind| kind.measurement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_the_table_belongs_to_its_kind_and_names_only_latencies_that_it_has() {
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
