//! What can happen on a CPU, from any recorder.

use record::Owner;

/// The number that stands for an unknown policy.
pub const POLICY_NOT_TOLD: u32 = u32::MAX;

/// A thread as the scheduler knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Its number; 0 is the idle task.
    pub tid: u32,
    /// Name of the thread.
    pub name: String,
    /// The kernel's own priority, where less is more: -1 deadline, 0 to 98 real-time (99 less the priority that users
    /// give), 100 to 139 others (`include/linux/sched/prio.h`).
    pub prio: i32,
    /// The policy's number (`sched_setscheduler(2)`), or [`POLICY_NOT_TOLD`].
    pub policy: u32,
    /// Whether the load, this program or somebody else started it.
    pub owner: Owner,
}

impl Thread {
    /// Its name with number, policy and priority as users know them.
    #[must_use]
    pub fn words(&self) -> String {
        if self.tid == 0 {
            return "idle".to_owned();
        }
        format!("{} (thread {}, {}{})", self.name, self.tid, self.policy_words(), self.owner_words())
    }

    /// Its name without its number: threads of one name and policy are one cause.
    #[must_use]
    pub fn group_words(&self) -> String {
        if self.tid == 0 {
            "idle".to_owned()
        } else {
            format!("{} ({}{})", self.name, self.policy_words(), self.owner_words())
        }
    }

    const fn owner_words(&self) -> &'static str {
        match self.owner {
            Owner::Other => "",
            Owner::Load => ", of the load",
            Owner::Instrument => ", of punctual itself",
        }
    }

    /// Policy and priority as users know them. A priority above what the policy gives was lent by a lock.
    #[must_use]
    pub fn policy_words(&self) -> String {
        let real_time = 99 - self.prio;
        match (self.policy, self.prio) {
            (6, _) | (_, ..0) => "deadline".to_owned(),
            (1, _) => format!("fifo {real_time}"),
            (2, _) => format!("rr {real_time}"),
            (POLICY_NOT_TOLD, ..=98) => format!("real-time {real_time}"),
            (POLICY_NOT_TOLD, _) => "not real-time".to_owned(),
            (policy, 0..=99) => format!("{}, lent priority {real_time}", other(policy)),
            (policy, _) => other(policy).to_owned(),
        }
    }

    /// Whether it has its priority from a lock that a thread of that priority waits for.
    #[must_use]
    pub fn is_lent(&self) -> bool {
        matches!(self.policy, 0 | 3 | 5 | 7) && (0..=99).contains(&self.prio)
    }

    /// Whether the scheduler prefers it to, or will not take it off the CPU for, a thread of that priority.
    #[must_use]
    pub fn outranks(&self, prio: i32) -> bool {
        // Ordinary threads share a CPU by their weights: whatever these are, each runs before another now and then.
        self.tid != 0 && (self.prio <= prio || is_ordinary(prio) || self.is_of_stop_class())
    }

    /// Whether it is of the class above SCHED_DEADLINE: its threads say that they are SCHED_FIFO 99
    /// (`sched_set_stop_task()`, kernel/sched/core.c).
    fn is_of_stop_class(&self) -> bool {
        self.prio == 0 && self.name.starts_with("migration/")
    }
}

/// Whether a thread of that priority, as the kernel counts, shares the CPU with others by weight.
pub(super) const fn is_ordinary(prio: i32) -> bool {
    prio >= 100
}

fn other(policy: u32) -> &'static str {
    match policy {
        3 => "batch",
        5 => "idle policy",
        7 => "ext",
        _ => "other",
    }
}

/// Something that interrupts whatever ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A device's interrupt, by its number and name.
    Irq(u32, String),
    /// An interrupt of the processor itself.
    Vector(String),
    /// A softirq by its name.
    Softirq(String),
    /// A timer's function.
    TimerFunction(String),
}

/// A kind of event on a CPU that can make a wake-up late, with what was recorded about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// One thread gave way to another. Switches between the idle task and the measuring thread may be missing
    /// ([`Evidence::own_switches`](super::Evidence::own_switches)).
    Switch {
        /// The number of the one that gave way.
        from: u32,
        /// Its priority, as the kernel counts.
        from_prio: i32,
        /// The one that got the CPU.
        to: Thread,
    },
    /// An interruption began.
    Enter(Frame),
    /// An interruption ended.
    Leave(Frame),
    /// The timer of a sleeping thread fired late: when it was to (ns, on the measured clock), and the functions that led
    /// to where its interrupt was taken, the innermost first.
    LateTimer {
        /// When it was to fire (ns on the measured clock).
        expires_ns: i64,
        /// Functions, the innermost first; empty where they are not known.
        stack: Vec<String>,
        /// How long it took the recorder to find these (ns): a part of the latency that it made itself.
        followed_for_ns: i64,
    },
    /// The scheduler's tick began, by more than [`LATE_TICK_NS`](super::LATE_TICK_NS) later than it was due.
    LateTick {
        /// When it was due (ns, CLOCK_MONOTONIC).
        due_ns: i64,
    },
    /// The CPU went into an idle state.
    IdleEntry {
        /// Name of the idle state, as the driver gives it.
        state: String,
        /// How long the way out takes at most, as the driver says (ns); absent where it does not.
        exit_latency_ns: Option<u64>,
    },
    /// It came out.
    IdleExit,
    /// A page fault of the thread that ran.
    PageFault {
        /// The address that was touched.
        address: u64,
        /// What touched it.
        at: String,
    },
    /// A non-maskable interrupt ended.
    Nmi {
        /// Name of its handler.
        handler: String,
        /// How long it took (ns).
        length_ns: u64,
    },
    /// The CPU's frequency was set (kHz).
    Frequency(u32),
    /// A measuring thread was moved from one CPU to another. It is recorded on the CPU that does it, which may be a third one.
    Moved {
        /// The thread's number.
        tid: u32,
        /// The CPU that it leaves.
        from: u32,
        /// The CPU that it goes to.
        to: u32,
    },
    /// A measuring thread that slept was woken, on the CPU that woke it.
    Woken {
        /// The thread's number.
        tid: u32,
    },
    /// Up to the next switch the running thread is unknown: the kernel left a switch out.
    Untold,
}

/// Something that happened on a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happened (ns, CLOCK_MONOTONIC).
    pub time_ns: i64,
    /// The kind of event, with its details.
    pub what: What,
}
