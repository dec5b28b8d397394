//! What was seen of a program: what the rules look at.

use trace::Call;

/// A program as it was seen while it ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedProgram {
    /// The threads that were followed.
    pub threads: Vec<ObservedThread>,
    /// The processes of the threads.
    pub processes: Vec<ObservedProcess>,
    /// Whether any thread had a real-time policy.
    pub any_real_time: bool,
    /// Real-time threads that were not followed, since others were named.
    pub others: Vec<ObservedThread>,
}

/// One followed thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedThread {
    /// Name, as the kernel shows it.
    pub name: String,
    /// Its kernel id.
    pub tid: u32,
    /// Process id of the thread.
    pub pid: u32,
    /// Its policy by its name.
    pub policy: String,
    /// Its real-time priority, 0 where it has none.
    pub priority: u32,
    /// Whether its policy is a real-time one.
    pub real_time: bool,
    /// The thread whose policy it has only because that made it, and nobody has set it since; `None` also where the run
    /// did not see how it came about.
    pub inherited_from: Option<String>,
    /// Its periodic loop, where one was recognized.
    pub periodic: Option<ObservedLoop>,
    /// What it called inside the loop beside what the loop waits for; nothing of its start-up.
    pub calls: Vec<ObservedCall>,
    /// Calls of the memory allocator inside the loop, where they were counted.
    pub allocations: Vec<ObservedAllocations>,
    /// Pages that it had to wait for inside the loop.
    pub faults: ObservedFaults,
    /// The same, of its stack.
    pub stack_faults: ObservedFaults,
    /// Those of `faults` that may have been of its stack: where that was could not be asked any more.
    pub unplaced_faults: u64,
}

impl ObservedThread {
    /// Name, number, policy and priority, as a person would say it.
    #[must_use]
    pub fn label(&self) -> String {
        if self.priority > 0 {
            format!("thread {} ({}, {} {})", self.name, self.tid, self.policy, self.priority)
        } else {
            format!("thread {} ({}, {})", self.name, self.tid, self.policy)
        }
    }
}

/// A periodic loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedLoop {
    /// What it waits for.
    pub wait: Use,
    /// Turns after the start-up.
    pub turns: u64,
}

/// A system call with what matters of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Use {
    /// The system call.
    pub call: Call,
    /// What matters of its arguments.
    pub detail: Detail,
}

/// What matters of a system call's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detail {
    /// No argument matters.
    Nothing,
    /// The file descriptor.
    Descriptor(u32),
    /// A sleep for a time or until a time.
    Sleep {
        /// The clock's number (include/uapi/linux/time.h).
        clock: u32,
        /// Until a moment, rather than for a time.
        absolute: bool,
    },
    /// An operation on a word that threads share.
    Futex {
        /// The operation without its flags (include/uapi/linux/futex.h).
        operation: u8,
        /// The time-out is on the realtime clock.
        realtime: bool,
        /// The word said that a lock was taken and waited for.
        contended: bool,
    },
}

/// `CLOCK_REALTIME` (include/uapi/linux/time.h).
pub const CLOCK_REALTIME: u32 = 0;

impl Use {
    /// As a person would write it: `clock_nanosleep(monotonic, absolute)`.
    #[must_use]
    pub fn text(&self) -> String {
        let name = self.call.name();
        match self.detail {
            Detail::Nothing => name,
            Detail::Descriptor(number) => format!("{name}({number})"),
            Detail::Sleep { clock, absolute } => {
                let clock = match clock {
                    CLOCK_REALTIME => "realtime",
                    1 => "monotonic",
                    7 => "boottime",
                    11 => "tai",
                    _ => "another clock",
                };
                format!("{name}({clock}, {})", if absolute { "absolute" } else { "relative" })
            }
            Detail::Futex { operation, .. } => {
                let operation = match operation {
                    0 | 9 => "wait",
                    1 | 10 => "wake",
                    6 | 13 => "lock with inheritance",
                    11 => "wait with inheritance",
                    _ => "other",
                };
                format!("{name}({operation})")
            }
        }
    }
}

/// What a file descriptor stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Target {
    /// The call has none, or nobody could see.
    #[default]
    Unknown,
    /// A terminal device.
    Terminal(String),
    /// A file on a file system, by its path.
    File(String),
    /// A pipe or FIFO.
    Pipe,
    /// A socket of any family.
    Socket,
    /// A socket of datagrams on this machine, as the system log has.
    LogSocket,
    /// A device that is no terminal, by its path.
    Device(String),
    /// Something of the kernel's own: a timer, an event counter, …
    Kernel(String),
}

impl Target {
    /// What it is called in a finding.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Unknown => "something that could not be read".to_owned(),
            Self::Terminal(path) => format!("terminal {path}"),
            Self::File(path) => format!("file {path}"),
            Self::Pipe => "a pipe".to_owned(),
            Self::Socket => "a socket".to_owned(),
            Self::LogSocket => "a local datagram socket, as the system log's".to_owned(),
            Self::Device(path) => format!("device {path}"),
            Self::Kernel(what) => what.clone(),
        }
    }
}

/// How one system call was used inside a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedCall {
    /// The call with what matters of its arguments.
    pub what: Use,
    /// What its file descriptor stands for.
    pub target: Target,
    /// How often it was called inside the loop.
    pub times: u64,
    /// How often the thread slept in it.
    pub slept_times: u64,
    /// How long it took in all (ns).
    pub total_ns: u64,
    /// How long the longest one took (ns).
    pub longest_ns: u64,
    /// When it was first used inside the loop, from the start of the run (ns).
    pub first_ns: u64,
}

/// Calls of one function of the memory allocator inside a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedAllocations {
    /// The function with its file: `malloc (libc.so.6)`.
    pub function: String,
    /// How often the thread called it inside the loop.
    pub times: u64,
    /// For how long its calls were counted (ns).
    pub counted_ns: u64,
}

/// Page faults of one thread inside its loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObservedFaults {
    /// How many there were.
    pub times: u64,
    /// When the first was, from the start of the run (ns).
    pub first_ns: u64,
}

/// One followed process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedProcess {
    /// Its kernel id.
    pub pid: u32,
    /// Name, as the kernel shows it.
    pub name: String,
    /// Memory that it has locked (`VmLck`, bytes), the last time it was seen alive.
    pub locked_bytes: Option<u64>,
    /// Memory that is resident (`VmRSS`, bytes), at the same time.
    pub resident_bytes: Option<u64>,
    /// Whether its system calls have the numbers of an interface that is known here.
    pub calls_known: bool,
}
