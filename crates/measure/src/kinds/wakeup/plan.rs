//! Validates what was asked of `wakeup` against the machine, and sizes every buffer. Pure.

use std::sync::Arc;

use kernel::sched::Policy;
use record::{Placement, PolicyChoice, Requested, RunEnd, Stagger, WakeupRequest};
use units::{ClockId, CpuSet, Ns, format};

use crate::collect::MOST_KEPT;
use crate::crew::plan::{RING_NS, RING_SLOTS, default_interval_maximum};
use crate::machine::Machine;
use crate::timetable::Timetable;

/// The shortest interval that is accepted: entering and leaving a timer interrupt alone takes microseconds.
pub const MIN_INTERVAL_NS: u64 = 10_000;
/// What one finished interval of one thread takes, compressed (bytes; measured: 300 to 900).
const BYTES_PER_INTERVAL: u64 = 1_024;
/// Random places that are kept for a thread, a power of two: 13 s of schedules at 200 us.
const JITTER_PLACES: usize = 65_536;

/// The limit whose breach is marked in the kernel's trace.
pub(super) fn marked_break(request: &WakeupRequest) -> Option<Ns> {
    request.breaktrace.filter(|_| request.breaktrace_marks)
}

/// Why a run cannot be planned; each says what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A CPU that the machine does not have.
    #[error("CPU {cpu} does not exist: this machine has CPUs {present}")]
    CpuAbsent {
        /// The CPU that was asked.
        cpu: u32,
        /// Those that exist.
        present: CpuSet,
    },
    /// A CPU that is switched off.
    #[error(
        "CPU {cpu} is offline; online are {online}. Bring it back with: echo 1 > /sys/devices/system/cpu/cpu{cpu}/online"
    )]
    CpuOffline {
        /// The CPU that was asked.
        cpu: u32,
        /// Those that are online.
        online: CpuSet,
    },
    /// A CPU outside this process's cpuset.
    #[error(
        "CPU {cpu} is outside this process's cpuset, which allows {allowed}; start punctual in a cgroup that has it"
    )]
    CpuNotAllowed {
        /// The CPU that was asked.
        cpu: u32,
        /// Those that are allowed.
        allowed: CpuSet,
    },
    /// An empty list of CPUs.
    #[error("the list of CPUs is empty: name at least one, for example --cpus 1")]
    NoCpus,
    /// No thread at all, or far too many.
    #[error("{0} threads cannot measure: ask for 1 to 4096")]
    Threads(u32),
    /// An interval of nothing.
    #[error("the interval is {0}: it must be at least 10us")]
    IntervalZero(Ns),
    /// An interval that timers cannot serve.
    #[error("the interval {interval} is below the {} that this machine's timers can do ({why})", format::span(*.minimum_ns))]
    IntervalTooShort {
        /// What was asked.
        interval: Ns,
        /// The shortest that is accepted (ns).
        minimum_ns: u64,
        /// Where the bound comes from.
        why: &'static str,
    },
    /// A run of no length, or shorter than two intervals.
    #[error("the run would last {duration}, less than two intervals of {interval}: lengthen --duration")]
    TooShort {
        /// What was asked.
        duration: Ns,
        /// The longest interval of a thread.
        interval: Ns,
    },
    /// No samples asked.
    #[error("0 samples measure nothing: ask for at least 2")]
    NoSamples,
    /// Priority out of range.
    #[error("priority {0} is out of range: real-time priorities are 1 to 99")]
    Priority(u32),
    /// A clock that cannot be slept on.
    #[error("one cannot sleep on the clock {0}: take monotonic, realtime or tai")]
    Clock(ClockId),
    /// A limit that is not above zero.
    #[error("{what} is {value}: it must be above zero")]
    NotPositive {
        /// Name of the field.
        what: &'static str,
        /// The value that was given.
        value: Ns,
    },
    /// More intervals than memory holds.
    #[error(
        "the run would be cut into {intervals} intervals for each of {threads} threads, about {needed}; {available} are available. Lengthen --interval-maximum to at least {remedy}"
    )]
    Memory {
        /// How many intervals of a thread.
        intervals: u64,
        /// How many threads.
        threads: u32,
        /// What they would take.
        needed: String,
        /// What there is.
        available: String,
        /// The interval length that would do.
        remedy: String,
    },
    /// SCHED_DEADLINE with a runtime that is no part of the period.
    #[error("the runtime {runtime} of SCHED_DEADLINE must lie between 1024ns and the interval {interval}")]
    Runtime {
        /// What was asked.
        runtime: Ns,
        /// The longest interval of a thread.
        interval: Ns,
    },
    /// SCHED_DEADLINE with schedules that its period does not have.
    #[error("--jitter moves each schedule, which the period of SCHED_DEADLINE does not allow: take another policy")]
    DeadlineJitter,
    /// SCHED_DEADLINE on given CPUs.
    #[error(
        "SCHED_DEADLINE threads cannot be pinned to CPUs {cpus}: the kernel admits them only to a whole root domain. Leave --cpus away, or start punctual inside an exclusive cpuset (cpuset.cpus.partition = root) of just these CPUs"
    )]
    DeadlinePinned {
        /// The CPUs that were asked.
        cpus: CpuSet,
    },
}

/// One measuring thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadPlan {
    /// Number of the thread, from 0.
    pub thread: u32,
    /// The CPU it is pinned to.
    pub cpu: Option<u32>,
    /// Scheduling policy that is asked for.
    pub policy: Policy,
    /// Its own interval (ns).
    pub interval_ns: u64,
    /// From the start of the run to its first schedule (ns).
    pub first_offset_ns: i64,
    /// Places of its ring.
    pub ring_slots: usize,
    /// From the start of each interval to the schedule in it (ns), over and over; absent where schedules are at equal
    /// distances.
    pub offsets: Option<Arc<[i64]>>,
}

impl ThreadPlan {
    /// Its schedules where they are not at equal distances; the run starts at `start_ns` of the measured clock.
    pub(crate) fn timetable(&self, start_ns: i64) -> Option<Timetable> {
        Some(Timetable {
            first_ns: start_ns.saturating_add(self.first_offset_ns),
            interval_ns: i64::try_from(self.interval_ns).unwrap_or(i64::MAX),
            offsets: self.offsets.clone()?,
        })
    }
}

/// A validated run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The measuring threads.
    pub threads: Vec<ThreadPlan>,
    /// What was asked, with defaults filled in.
    pub config: WakeupRequest,
    /// CPUs that are measured (all that the scheduler may use where unpinned).
    pub measured: CpuSet,
    /// CPUs of the controller and the drain thread.
    pub housekeeping: CpuSet,
    /// Length of an interval of the record (ns).
    pub interval_maximum_ns: u64,
    /// Time that the run will take (ns), where it is known.
    pub duration_ns: Option<u64>,
}

impl Plan {
    /// Validates `config` for `machine`.
    ///
    /// # Errors
    /// Whatever could not mean what it says on this machine, before anything is touched.
    pub fn new(config: WakeupRequest, machine: &Machine) -> Result<Self, PlanError> {
        let interval_ns = check_interval(&config, machine)?;
        check_numbers(&config)?;
        let cpus = check_cpus(&config, machine)?;
        let pinned = !matches!(config.placement, Placement::Unpinned);
        let count =
            config.threads.unwrap_or_else(|| if pinned { u32::try_from(cpus.len()).unwrap_or(u32::MAX) } else { 1 });
        if count == 0 || count > 4_096 {
            return Err(PlanError::Threads(count));
        }
        let duration_ns = match config.end {
            RunEnd::After(duration) if duration.unsigned() < 2 * interval_ns => {
                return Err(PlanError::TooShort { duration, interval: config.interval });
            }
            RunEnd::After(duration) => Some(duration.unsigned()),
            RunEnd::Samples(0 | 1) => return Err(PlanError::NoSamples),
            RunEnd::Samples(samples) => Some(samples.saturating_mul(interval_ns)),
            RunEnd::WhenTold => None,
        };
        let interval_maximum_ns =
            config.interval_maximum.map_or_else(|| default_interval_maximum(duration_ns, interval_ns), Ns::unsigned);
        check_memory(duration_ns, interval_maximum_ns, count, machine)?;
        // Fewer threads than CPUs leave the rest of them alone.
        let used = usize::try_from(count).unwrap_or(usize::MAX);
        let measured = if pinned { cpus.iter().take(used).collect() } else { machine.usable() };
        let threads = (0..count)
            .zip(cpus.iter().collect::<Vec<_>>().into_iter().cycle())
            .map(|(thread, cpu)| thread_plan(&config, thread, count, pinned.then_some(cpu), interval_ns))
            .collect();
        let housekeeping = config
            .controller_cpus
            .clone()
            .unwrap_or_else(|| machine.housekeeping(if pinned { &measured } else { &cpus }));
        Ok(Self { threads, measured, housekeeping, interval_maximum_ns, duration_ns, config })
    }

    /// What the record says was asked.
    #[must_use]
    pub fn requested(&self) -> Requested {
        let ns = |value: Option<Ns>| value.map(Ns::unsigned);
        Requested {
            cpus: self.measured.clone(),
            threads: u32::try_from(self.threads.len()).unwrap_or(u32::MAX),
            policy: self.threads[0].policy.name().to_owned(),
            priority: self.threads[0].policy.priority(),
            pinned: self.threads[0].cpu.is_some(),
            clock: Some(self.config.clock),
            interval_ns: Some(self.config.interval.unsigned()),
            duration_ns: if let RunEnd::After(duration) = self.config.end { Some(duration.unsigned()) } else { None },
            samples: if let RunEnd::Samples(samples) = self.config.end { Some(samples) } else { None },
            deadline_ns: ns(self.config.deadline),
            interval_maximum_ns: Some(self.interval_maximum_ns),
            intervals_on_utc: self.config.intervals_on_utc,
            threshold_ns: None,
            breaktrace_ns: ns(self.config.breaktrace),
            align_to_ns: ns(self.config.align_to),
            jitter_seed: self.config.jitter,
        }
    }
}

fn check_interval(config: &WakeupRequest, machine: &Machine) -> Result<u64, PlanError> {
    let interval_ns = config.interval.unsigned();
    if interval_ns == 0 {
        return Err(PlanError::IntervalZero(config.interval));
    }
    let (minimum_ns, why) = if machine.timer_resolution_ns > MIN_INTERVAL_NS / 2 {
        (2 * machine.timer_resolution_ns, "two ticks: this kernel runs without high-resolution timers")
    } else {
        (MIN_INTERVAL_NS, "a timer interrupt and a wake-up take microseconds themselves")
    };
    if interval_ns < minimum_ns {
        return Err(PlanError::IntervalTooShort { interval: config.interval, minimum_ns, why });
    }
    Ok(interval_ns)
}

fn check_numbers(config: &WakeupRequest) -> Result<(), PlanError> {
    if !matches!(config.clock, ClockId::Monotonic | ClockId::Realtime | ClockId::Tai | ClockId::Boottime) {
        return Err(PlanError::Clock(config.clock));
    }
    if matches!(config.policy, PolicyChoice::Fifo | PolicyChoice::RoundRobin) && !(1..=99).contains(&config.priority) {
        return Err(PlanError::Priority(config.priority));
    }
    if let PolicyChoice::Deadline { runtime } = config.policy {
        if runtime.0 < 1_024 || runtime > config.interval {
            return Err(PlanError::Runtime { runtime, interval: config.interval });
        }
    }
    if config.jitter.is_some() && matches!(config.policy, PolicyChoice::Deadline { .. }) {
        return Err(PlanError::DeadlineJitter);
    }
    for (what, value) in [
        ("the deadline", config.deadline),
        ("the bound of recovery", config.recovered_within),
        ("the interval of maxima", config.interval_maximum),
        ("the limit of --breaktrace", config.breaktrace),
        ("the grid of --align-to", config.align_to),
    ] {
        if let Some(value) = value.filter(|value| value.0 <= 0) {
            return Err(PlanError::NotPositive { what, value });
        }
    }
    Ok(())
}

fn check_cpus(config: &WakeupRequest, machine: &Machine) -> Result<CpuSet, PlanError> {
    let usable = machine.usable();
    let deadline = matches!(config.policy, PolicyChoice::Deadline { .. });
    let cpus = match &config.placement {
        Placement::Pinned(cpus) => cpus.clone(),
        Placement::Default => {
            let isolated = machine.isolated.intersection(&usable);
            if isolated.is_empty() { usable } else { isolated }
        }
        Placement::Unpinned => return Ok(usable),
    };
    if cpus.is_empty() {
        return Err(PlanError::NoCpus);
    }
    for cpu in cpus.iter() {
        if !machine.present.contains(cpu) {
            return Err(PlanError::CpuAbsent { cpu, present: machine.present.clone() });
        }
        if !machine.online.contains(cpu) {
            return Err(PlanError::CpuOffline { cpu, online: machine.online.clone() });
        }
        if !machine.allowed.contains(cpu) {
            return Err(PlanError::CpuNotAllowed { cpu, allowed: machine.allowed.clone() });
        }
    }
    if deadline && cpus != machine.usable() {
        return Err(PlanError::DeadlinePinned { cpus });
    }
    Ok(cpus)
}

fn check_memory(
    duration_ns: Option<u64>,
    interval_maximum_ns: u64,
    threads: u32,
    machine: &Machine,
) -> Result<(), PlanError> {
    // A run of unknown length keeps no more than so many.
    let intervals = duration_ns.map_or(MOST_KEPT, |duration_ns| duration_ns / interval_maximum_ns + 1);
    let duration_ns = duration_ns.unwrap_or(0);
    let needed = intervals.saturating_mul(u64::from(threads)).saturating_mul(BYTES_PER_INTERVAL);
    let available = machine.available_bytes / 4;
    if needed <= available {
        return Ok(());
    }
    let affordable = (available / BYTES_PER_INTERVAL / u64::from(threads)).max(1);
    let remedy_s = duration_ns / affordable / 1_000_000_000 + 1;
    Err(PlanError::Memory {
        intervals,
        threads,
        needed: format::bytes(needed),
        available: format::bytes(available),
        remedy: format!("{remedy_s}s"),
    })
}

fn thread_plan(
    config: &WakeupRequest,
    thread: u32,
    threads: u32,
    cpu: Option<u32>,
    first_interval_ns: u64,
) -> ThreadPlan {
    let interval_ns =
        first_interval_ns.saturating_add(config.interval_step.unsigned().saturating_mul(u64::from(thread)));
    let priority = config.priority_of(thread);
    let policy = match config.policy {
        PolicyChoice::Fifo => Policy::Fifo(priority),
        PolicyChoice::RoundRobin => Policy::RoundRobin(priority),
        PolicyChoice::Other => Policy::Other,
        PolicyChoice::Deadline { runtime } => {
            Policy::Deadline { runtime_ns: runtime.unsigned(), period_ns: interval_ns }
        }
    };
    let slots = (RING_NS / interval_ns).clamp(*RING_SLOTS.start(), *RING_SLOTS.end());
    let signed_interval_ns = i64::try_from(interval_ns).unwrap_or(i64::MAX);
    let first_offset_ns = match config.stagger {
        Stagger::Even => signed_interval_ns / i64::from(threads) * i64::from(thread),
        Stagger::AfterInterval { all, each } => {
            signed_interval_ns.saturating_add(all.0).saturating_add(each.0.saturating_mul(i64::from(thread)))
        }
    };
    let ring_slots = usize::try_from(slots).unwrap_or(4_096);
    // Each thread has places of its own.
    let offsets = config
        .jitter
        .map(|seed| analysis::rhythm::offsets(interval_ns, seed.wrapping_add(u64::from(thread)), JITTER_PLACES).into());
    ThreadPlan { thread, cpu, policy, interval_ns, first_offset_ns, ring_slots, offsets }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_unknown_length_has_intervals_of_five_minutes_and_plans_for_no_day() {
        const S: u64 = 1_000_000_000;
        assert_eq!(default_interval_maximum(None, 200_000), 300 * S);
        assert_eq!(default_interval_maximum(Some(60 * S), 200_000), S);
        assert_eq!(default_interval_maximum(Some(86_400 * S), 200_000), 300 * S);
        // Intervals of a millisecond would be 86 million in a day; the run keeps as many as it has room for.
        let machine = Machine { available_bytes: 1 << 30, ..Machine::read() };
        assert_eq!(check_memory(None, 1_000_000, 4, &machine), Ok(()));
        assert!(check_memory(Some(86_400 * S), 1_000_000, 4, &machine).is_err());
    }
}
