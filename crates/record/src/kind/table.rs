//! The table of the kinds of measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::packets::{
    ARRIVED_TO_RECEIVED, ASKED_TO_ANSWERED, HW_ARRIVED_TO_ARRIVED, HW_TRANSMITTED_TO_HW_ARRIVED, SCHEDULED_TO_SENT,
    SENT_TO_RECEIVED, SENT_TO_TRANSMITTED, TRANSMITTED_TO_ARRIVED, TRANSMITTED_TO_HW_TRANSMITTED,
};
use super::{Figure, Kind, Latency, LatencyRole, MEASURED, Sampling, Sign};

/// What most latencies have in common.
pub(super) const LATENCY: Latency = Latency {
    name: "",
    words: "",
    from: "",
    to: "",
    at: "at",
    sign: Sign::Magnitude,
    part_of: &[],
    retold_by: None,
    role: LatencyRole::Way,
    way: "",
};

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
        most_partners: 0,
        latencies: &[
            Latency {
            name: "scheduled_to_woke",
            words: "schedule to wake-up",
            from: "the absolute time for which a thread asked to be woken, on the measured clock (CLOCK_MONOTONIC by default)",
            to: "the thread's first reading of that clock after the sleep returned",
            at: "woke at",
            sign: Sign::NotNegative,
            ..LATENCY
            },
            Latency {
                name: "scheduled_to_timer",
                words: "from the schedule to the timer's interrupt",
                from: "the absolute time for which a thread asked to be woken",
                to: "the kernel begins the function of its timer (hrtimer_expire_entry), with --explain, on the same clock",
                at: "expired at",
                sign: Sign::NotNegative,
                part_of: &["scheduled_to_woke"],
                ..LATENCY
            },
            Latency {
                name: "timer_to_runnable",
                words: "until the thread could run",
                from: "the kernel begins the function of the thread's timer",
                to: "the kernel makes the thread runnable (sched_waking)",
                at: "runnable at",
                sign: Sign::NotNegative,
                part_of: &["scheduled_to_woke"],
                ..LATENCY
            },
            Latency {
                name: "runnable_to_running",
                words: "until it ran",
                from: "the kernel makes the thread runnable (sched_waking)",
                to: "the thread gets its CPU (sched_switch)",
                at: "ran at",
                sign: Sign::NotNegative,
                part_of: &["scheduled_to_woke"],
                ..LATENCY
            },
            Latency {
                name: "running_to_woke",
                words: "until it was back in its own code",
                from: "the thread gets its CPU (sched_switch)",
                to: "the thread's first reading of the measured clock after the sleep returned",
                at: "woke at",
                sign: Sign::NotNegative,
                part_of: &["scheduled_to_woke"],
                ..LATENCY
            },
        ],
        judged: &["scheduled_to_woke"],
        compared: Some("scheduled_to_woke"),
        imported: &["scheduled_to_user_return", "scheduled_to_thread", "scheduled_to_irq"],
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
        most_partners: 0,
        latencies: &[
            Latency {
                name: "read_to_read",
                words: "one clock, read twice (test 1)",
                from: "a reading of the clock under test by the measuring thread",
                to: "the next reading of the same clock, with nothing in between",
                at: "read at",
                sign: Sign::NegativeIsEarly,
                ..LATENCY
            },
            Latency {
                name: "reference_to_reference",
                words: "a clock between two readings of a reference (test 2)",
                from: "a reading of the reference clock by the measuring thread",
                to: "the next reading of the reference clock, with a reading of the clock under test in between",
                at: "read at",
                sign: Sign::NegativeIsEarly,
                ..LATENCY
            },
        ],
        judged: &[],
        compared: None,
        imported: &[],
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
        most_partners: 0,
        latencies: &[Latency {
            name: "left_to_resumed",
            words: "time stolen",
            from: "the last reading of CLOCK_MONOTONIC before a gap, by a thread that never sleeps",
            to: "the same thread's first reading after the gap",
            at: "resumed at",
            sign: Sign::NotNegative,
            ..LATENCY
        }],
        judged: &["left_to_resumed"],
        compared: Some("left_to_resumed"),
        imported: &[],
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
        most_partners: 0,
        latencies: &[
            Latency {
                name: "scheduled_to_returned",
                words: "from the moment a timer was set for to the return of the wait",
                from: "the moment that a timer was set for whose expiry made a thread runnable (the kernel's hrtimer_start and hrtimer_expire_entry, on CLOCK_MONOTONIC)",
                to: "the return of the system call in which the thread waited (sys_exit), plus the time from there to a reading of the clock",
                at: "returned at",
                sign: Sign::NegativeIsEarly,
                ..LATENCY
            },
            Latency {
                name: "runnable_to_running",
                words: "from being made runnable to running",
                from: "the kernel makes a thread runnable (sched_waking, on CLOCK_MONOTONIC)",
                to: "the thread gets a CPU (sched_switch)",
                at: "ran at",
                sign: Sign::NotNegative,
                ..LATENCY
            },
        ],
        judged: &["scheduled_to_returned", "runnable_to_running"],
        compared: Some("runnable_to_running"),
        imported: &[],
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
        most_partners: 0,
        latencies: &[
            Latency {
                name: "reference_to_clock",
                words: "offset",
                from: "the time of the reference (grand master, server or hardware clock) at one instant, as far as the time stamps of an exchange show it",
                to: "the time of this node's clock at the same instant",
                at: "at",
                sign: Sign::Magnitude,
                ..LATENCY
            },
            Latency {
                name: "sent_to_received",
                words: "delay of messages",
                from: "a message of an exchange is sent, as stamped by its sender",
                to: "it is received, as stamped by its receiver; the mean of both directions, so that the offset cancels out",
                at: "received at",
                sign: Sign::NegativeIsEarly,
                role: LatencyRole::PathDelay,
                ..LATENCY
            },
        ],
        judged: &["reference_to_clock"],
        compared: Some("reference_to_clock"),
        imported: &[],
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
        most_partners: 1,
        latencies: &[
            SENT_TO_RECEIVED,
            SCHEDULED_TO_SENT,
            Latency {
                name: "woke_to_transmitted",
                words: "the sender's wake-up to driver",
                from: "of an import from isochron: the sending program's first reading of its CLOCK_TAI after its sleep, before it prepares the packet",
                to: "the sending kernel's stamp (SOF_TIMESTAMPING_TX_SOFTWARE), put on TAI by isochron",
                at: "transmitted at",
                sign: Sign::NotNegative,
                part_of: &["woke_to_received"],
                ..LATENCY
            },
            SENT_TO_TRANSMITTED,
            Latency {
                name: "launch_to_transmitted",
                words: "launch time to sending driver",
                from: "the time at which the sending system was to let the packet go (SO_TXTIME), where one was given",
                to: "the sending kernel's stamp (SOF_TIMESTAMPING_TX_SOFTWARE) when it hands the packet to the network's driver, which etf does ahead of that time by its delta",
                at: "transmitted at",
                sign: Sign::NegativeIsEarly,
                role: LatencyRole::LaunchLateness,
                ..LATENCY
            },
            TRANSMITTED_TO_ARRIVED,
            TRANSMITTED_TO_HW_TRANSMITTED,
            HW_TRANSMITTED_TO_HW_ARRIVED,
            HW_ARRIVED_TO_ARRIVED,
            ARRIVED_TO_RECEIVED,
            Latency {
                name: "scheduled_to_woke",
                words: "schedule to the sender's wake-up",
                from: "of an import from isochron: the time for which the sending program asked to be woken, on the sender's CLOCK_TAI",
                to: "that program's first reading of the same clock after its sleep",
                at: "woke at",
                sign: Sign::NotNegative,
                ..LATENCY
            },
            Latency {
                name: "woke_to_received",
                words: "the sender's wake-up to receiving program",
                from: "of an import from isochron: the sending program's first reading of its CLOCK_TAI after its sleep, before it prepares the packet",
                to: "the receiving program's reading of its CLOCK_TAI once it has the packet, with nothing subtracted for the two clocks",
                at: "received at",
                sign: Sign::NegativeIsEarly,
                way: "from the sender's wake-up to the receiving program",
                ..LATENCY
            },
            Latency {
                name: "queued_to_transmitted",
                words: "queueing discipline and driver",
                from: "of an import from isochron: the sending kernel's stamp before the queueing discipline (SOF_TIMESTAMPING_TX_SCHED)",
                to: "the sending kernel's stamp (SOF_TIMESTAMPING_TX_SOFTWARE), on the same clock",
                at: "transmitted at",
                sign: Sign::NotNegative,
                ..LATENCY
            },
            Latency {
                name: "scheduled_to_hw_transmitted",
                words: "schedule to the sending interface's stamp",
                from: "of an import from isochron: the time at which the packet was to be on the wire, on TAI",
                to: "the sending interface's stamp (SOF_TIMESTAMPING_TX_HARDWARE), on its own clock",
                at: "transmitted at",
                sign: Sign::NegativeIsEarly,
                ..LATENCY
            },
            Latency {
                name: "hw_arrived_to_received",
                words: "the receiving interface's stamp to program",
                from: "of an import from isochron: the receiving interface's stamp (SOF_TIMESTAMPING_RX_HARDWARE), on its own clock",
                to: "the receiving program's reading of its CLOCK_TAI once it has the packet",
                at: "received at",
                sign: Sign::NegativeIsEarly,
                ..LATENCY
            },
            ASKED_TO_ANSWERED,
        ],
        judged: &["sent_to_received"],
        compared: Some("sent_to_received"),
        imported: &["woke_to_received", "hw_transmitted_to_hw_arrived", "transmitted_to_arrived", "hw_arrived_to_received", "arrived_to_received", "woke_to_transmitted", "queued_to_transmitted", "scheduled_to_hw_transmitted", "scheduled_to_woke"],
        predicted: &["sent_to_received"],
        explained: Some("arrived_to_received"),
        figure: Figure::Delays,
        sleeps: true,
    }
    /// Hand-over from one thread to another: by an eventfd, a pipe, a futex, a signal, a message queue or a condition variable.
    Event {
        name: "event",
        sample: "hand-over",
        samples: "hand-overs",
        sampling: Sampling::Schedules,
        roles: &[MEASURED],
        most_partners: 0,
        latencies: &[
            Latency {
                name: "handed_to_woke",
                words: "hand-over to wake-up",
                from: "the waking thread's reading of CLOCK_MONOTONIC right before its waking call",
                to: "the woken thread's first reading of the same clock after its wait returned",
                at: "woke at",
                sign: Sign::NotNegative,
                way: "from the waking call to the woken thread",
                ..LATENCY
            },
            Latency {
                name: "handed_to_returned",
                words: "what the waking call cost its caller",
                from: "the waking thread's reading of CLOCK_MONOTONIC right before its waking call",
                to: "the same thread's reading right after the call returned; where both threads share a CPU the woken one ran in between, until it waited again",
                at: "returned at",
                sign: Sign::NotNegative,
                ..LATENCY
            },
        ],
        judged: &["handed_to_woke"],
        compared: Some("handed_to_woke"),
        imported: &[],
        predicted: &["handed_to_woke"],
        explained: None,
        figure: Figure::Wakeups,
        sleeps: true,
    }
    /// Cost of writing a GPIO line.
    Gpio {
        name: "gpio",
        sample: "write",
        samples: "writes",
        sampling: Sampling::Repetitions,
        roles: &[MEASURED],
        most_partners: 0,
        latencies: &[
            Latency {
                name: "acted_to_returned",
                words: "what writing the line takes",
                from: "the measuring thread's reading of CLOCK_MONOTONIC right before it writes the line",
                to: "the same thread's reading right after the driver has written it; the edge lies in between",
                at: "returned at",
                sign: Sign::NotNegative,
                role: LatencyRole::OutputCost,
                ..LATENCY
            },
        ],
        judged: &[],
        compared: None,
        imported: &[],
        predicted: &[],
        explained: None,
        figure: Figure::Costs,
        sleeps: false,
    }
    /// How late nodes act that are ordered by packets to switch an output at one instant.
    Pulse {
        name: "pulse",
        sample: "order",
        samples: "orders",
        sampling: Sampling::Packets,
        roles: &["server", "node"],
        most_partners: 64,
        latencies: &[
            Latency {
                name: "ordered_to_acted",
                words: "ordered time to the act",
                from: "the time at which the node was ordered to act, on the clock that it acts by",
                to: "the acting thread's reading of that clock right before it switches the output",
                at: "acted at",
                sign: Sign::NotNegative,
                role: LatencyRole::OrderedAct,
                ..LATENCY
            },
            Latency {
                name: "acted_to_returned",
                words: "what switching the output takes",
                from: "the acting thread's reading of its CLOCK_REALTIME right before it switches the output",
                to: "the same thread's reading right after the driver has switched it; the edge lies in between",
                at: "returned at",
                sign: Sign::NotNegative,
                role: LatencyRole::OutputCost,
                ..LATENCY
            },
            Latency {
                name: "scheduled_to_armed",
                words: "the lead that the order needed",
                from: "the time at which the server was to send the order, on the clock that the node acts by",
                to: "the acting thread's reading of that clock once it has the order, plus what it takes until it waits for nothing more than the ordered time, measured before the run",
                at: "armed at",
                sign: Sign::NegativeIsEarly,
                role: LatencyRole::NeededLead,
                ..LATENCY
            },
            SCHEDULED_TO_SENT,
            SENT_TO_RECEIVED,
            SENT_TO_TRANSMITTED,
            Latency { part_of: &["sent_to_received"], ..TRANSMITTED_TO_ARRIVED },
            TRANSMITTED_TO_HW_TRANSMITTED,
            HW_TRANSMITTED_TO_HW_ARRIVED,
            HW_ARRIVED_TO_ARRIVED,
            Latency { part_of: &["sent_to_received"], ..ARRIVED_TO_RECEIVED },
            ASKED_TO_ANSWERED,
        ],
        judged: &["ordered_to_acted"],
        compared: Some("ordered_to_acted"),
        imported: &[],
        predicted: &["ordered_to_acted", "scheduled_to_armed"],
        explained: None,
        figure: Figure::Orders,
        sleeps: false,
    }
    /// Response to an edge of a GPIO line, from the write of an output to the thread that waits for the input joined with it.
    Response {
        name: "response",
        sample: "response",
        samples: "responses",
        sampling: Sampling::Schedules,
        roles: &[MEASURED],
        most_partners: 0,
        latencies: &[
            Latency {
                name: "acted_to_woke",
                words: "edge to the thread that waits for it",
                from: "the acting thread's reading of CLOCK_MONOTONIC right before it writes the output",
                to: "the waiting thread's first reading of the same clock once it has read the kernel's event of the input",
                at: "woke at",
                sign: Sign::NotNegative,
                way: "from the write to the waiting thread",
                ..LATENCY
            },
            Latency {
                name: "acted_to_event",
                words: "edge to the kernel's event",
                from: "the acting thread's reading of CLOCK_MONOTONIC right before it writes the output",
                to: "the kernel's stamp of the edge of the input, on the same clock: taken by the handler of its interrupt, or by the interrupt's thread where the chip sits behind a bus that sleeps",
                at: "seen at",
                sign: Sign::NotNegative,
                part_of: &["acted_to_woke"],
                ..LATENCY
            },
            Latency {
                name: "event_to_woke",
                words: "the kernel's event to the thread",
                from: "the kernel's stamp of the edge of the input, on CLOCK_MONOTONIC",
                to: "the waiting thread's first reading of the same clock once it has read the event",
                at: "woke at",
                sign: Sign::NotNegative,
                part_of: &["acted_to_woke"],
                ..LATENCY
            },
            Latency {
                name: "acted_to_returned",
                words: "what writing the output takes",
                from: "the acting thread's reading of CLOCK_MONOTONIC right before it writes the output",
                to: "the same thread's reading right after the driver has written it; where both threads share a CPU the interrupt and the waiting thread ran in between",
                at: "returned at",
                sign: Sign::NotNegative,
                ..LATENCY
            },
        ],
        judged: &["acted_to_woke"],
        compared: Some("acted_to_woke"),
        imported: &[],
        predicted: &["acted_to_woke"],
        explained: None,
        figure: Figure::Wakeups,
        sleeps: true,
    }
    /// Answer to an edge that somebody else makes, by an output: our own stamps of it, and those of a witness that makes the edges.
    Answer {
        name: "answer",
        sample: "answer",
        samples: "answers",
        sampling: Sampling::Edges,
        roles: &[MEASURED],
        most_partners: 0,
        latencies: &[
            Latency {
                name: "event_to_answered",
                words: "the kernel's event to the answer",
                from: "the kernel's stamp of the falling edge of the input, on CLOCK_MONOTONIC: taken by the handler of its interrupt, or by the interrupt's thread where the chip sits behind a bus that sleeps",
                to: "the answering thread's reading of the same clock right after the driver has made the output high; the rising edge lies a little before",
                at: "answered at",
                sign: Sign::NotNegative,
                way: "from the kernel's event to the answer",
                retold_by: Some("edge_to_answer"),
                ..LATENCY
            },
            Latency {
                name: "event_to_woke",
                words: "the kernel's event to the thread",
                from: "the kernel's stamp of the falling edge of the input, on CLOCK_MONOTONIC",
                to: "the answering thread's first reading of the same clock once it has read the event",
                at: "woke at",
                sign: Sign::NotNegative,
                part_of: &["event_to_answered"],
                ..LATENCY
            },
            Latency {
                name: "woke_to_answered",
                words: "the thread to the answer",
                from: "the answering thread's first reading of CLOCK_MONOTONIC once it has read the event",
                to: "the same thread's reading right after the driver has made the output high",
                at: "answered at",
                sign: Sign::NotNegative,
                part_of: &["event_to_answered"],
                ..LATENCY
            },
            Latency {
                name: "edge_to_answer",
                words: "edge to answer, by the witness",
                from: "the witness's own counter right after it has made the edge",
                to: "the same counter once its interrupt has seen the answer: with what that takes",
                at: "seen at",
                sign: Sign::NotNegative,
                ..LATENCY
            },
        ],
        judged: &["event_to_answered", "edge_to_answer"],
        compared: Some("event_to_answered"),
        imported: &[],
        predicted: &["event_to_answered"],
        explained: None,
        figure: Figure::Wakeups,
        sleeps: true,
    }
}
