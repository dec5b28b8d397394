//! Scheduling policy, priority and affinity of threads (`sched_setattr(2)`, `sched_setaffinity(2)`).

use std::io;

use rustix::process::Pid;
use units::CpuSet;

/// A scheduling policy with what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_OTHER`, nice 0.
    Other,
    /// `SCHED_FIFO` with its priority, 1 to 99.
    Fifo(u32),
    /// `SCHED_RR` with its priority, 1 to 99.
    RoundRobin(u32),
    /// `SCHED_DEADLINE`; the deadline is the period.
    Deadline {
        /// CPU time that the thread may use in each period (ns, at least 1024).
        runtime_ns: u64,
        /// The period (ns).
        period_ns: u64,
    },
}

impl Policy {
    /// The name that users type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Fifo(_) => "fifo",
            Self::RoundRobin(_) => "rr",
            Self::Deadline { .. } => "deadline",
        }
    }

    /// The priority, 0 where the policy has none.
    #[must_use]
    pub const fn priority(self) -> u32 {
        match self {
            Self::Fifo(priority) | Self::RoundRobin(priority) => priority,
            Self::Other | Self::Deadline { .. } => 0,
        }
    }
}

/// The kernel's name of a policy number as `/proc/PID/stat` and `sched_getattr` give it.
#[must_use]
pub const fn policy_name(number: u32) -> &'static str {
    match number {
        0 => "other",
        1 => "fifo",
        2 => "rr",
        3 => "batch",
        5 => "idle",
        6 => "deadline",
        7 => "ext",
        _ => "unknown",
    }
}

/// `struct sched_attr` in its first published size (include/uapi/linux/sched/types.h, SCHED_ATTR_SIZE_VER0).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

const SCHED_ATTR_SIZE: u32 = 48;

fn pid_t(tid: u32) -> libc::pid_t {
    // A thread id of the kernel's always fits; anything else names no thread and fails there with ESRCH.
    libc::pid_t::try_from(tid).unwrap_or(libc::pid_t::MAX)
}

/// Gives the calling thread a policy.
///
/// # Errors
/// `EPERM` without the right to it, `EINVAL` for a priority outside 1 to 99, `EBUSY` where SCHED_DEADLINE's
/// admission control finds no room.
pub fn set_policy(policy: Policy) -> io::Result<()> {
    let mut attr = SchedAttr { size: SCHED_ATTR_SIZE, priority: policy.priority(), ..SchedAttr::default() };
    attr.policy = match policy {
        Policy::Other => 0,
        Policy::Fifo(_) => 1,
        Policy::RoundRobin(_) => 2,
        Policy::Deadline { runtime_ns, period_ns } => {
            (attr.runtime_ns, attr.deadline_ns, attr.period_ns) = (runtime_ns, period_ns, period_ns);
            6
        }
    };
    // SAFETY: `attr` is a valid sched_attr whose `size` states its length; the call only reads it.
    let status = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The policy (by name) and priority that the kernel has for a thread; 0 is the calling one.
///
/// # Errors
/// Where the thread is gone.
pub fn policy_of(tid: u32) -> io::Result<(&'static str, u32)> {
    let Scheduling { policy, priority, .. } = scheduling_of(tid)?;
    Ok((policy_name(policy), priority))
}

/// How a thread is scheduled, by the kernel's own numbers (include/uapi/linux/sched.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduling {
    /// SCHED_OTHER 0, SCHED_FIFO 1, SCHED_RR 2, SCHED_BATCH 3, SCHED_IDLE 5, SCHED_DEADLINE 6.
    pub policy: u32,
    /// 1 to 99 for SCHED_FIFO and SCHED_RR, else 0.
    pub priority: u32,
    /// -20 to 19, for SCHED_OTHER and SCHED_BATCH.
    pub nice: i32,
}

/// How a thread is scheduled; 0 is the calling one.
///
/// # Errors
/// Where the thread is gone.
pub fn scheduling_of(tid: u32) -> io::Result<Scheduling> {
    attributes_of(tid).map(|attributes| attributes.scheduling)
}

/// All that the kernel says of how a thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Policy, priority and nice value.
    pub scheduling: Scheduling,
    /// CPU time that a SCHED_DEADLINE thread may use in each period (ns), else 0.
    pub runtime_ns: u64,
    /// The period of a SCHED_DEADLINE thread (ns), else 0.
    pub period_ns: u64,
}

impl Attributes {
    /// Whether these are the attributes that [`set_policy`] asks for.
    #[must_use]
    pub const fn is(&self, policy: Policy) -> bool {
        let Scheduling { policy: number, priority, nice } = self.scheduling;
        match policy {
            Policy::Other => number == 0 && nice == 0,
            Policy::Fifo(wanted) => number == 1 && priority == wanted,
            Policy::RoundRobin(wanted) => number == 2 && priority == wanted,
            Policy::Deadline { runtime_ns, period_ns } => {
                number == 6 && self.runtime_ns == runtime_ns && self.period_ns == period_ns
            }
        }
    }
}

/// All that the kernel says of how a thread is scheduled; 0 is the calling one.
///
/// # Errors
/// Where the thread is gone.
pub fn attributes_of(tid: u32) -> io::Result<Attributes> {
    let mut attr = SchedAttr::default();
    // SAFETY: `attr` is valid and writable for SCHED_ATTR_SIZE bytes, which is passed as the limit.
    let status = unsafe { libc::syscall(libc::SYS_sched_getattr, pid_t(tid), &raw mut attr, SCHED_ATTR_SIZE, 0) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    let scheduling = Scheduling { policy: attr.policy, priority: attr.priority, nice: attr.nice };
    // Since 6.12 the kernel fills in the time slice of SCHED_OTHER threads, where SCHED_DEADLINE has its runtime.
    let is_deadline = attr.policy == 6;
    let (runtime_ns, period_ns) = if is_deadline { (attr.runtime_ns, attr.period_ns) } else { (0, 0) };
    Ok(Attributes { scheduling, runtime_ns, period_ns })
}

/// Gives a thread a policy without a runtime of its own; 0 is the calling one.
///
/// # Errors
/// `ESRCH` where it is gone, `EPERM` without the right to it, `EINVAL` for numbers that do not fit the policy.
pub fn set_scheduling_of(tid: u32, scheduling: Scheduling) -> io::Result<()> {
    let Scheduling { policy, priority, nice } = scheduling;
    let attr = SchedAttr { size: SCHED_ATTR_SIZE, policy, priority, nice, ..SchedAttr::default() };
    // SAFETY: `attr` is a valid sched_attr whose `size` states its length; the call only reads it.
    let status = unsafe { libc::syscall(libc::SYS_sched_setattr, pid_t(tid), &raw const attr, 0) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The CPU that the calling thread runs on now; 0 if the kernel does not report it.
#[must_use]
pub fn current_cpu() -> u32 {
    // SAFETY: the call has no arguments and touches no memory of ours.
    u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// The kernel id of the calling thread.
#[must_use]
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// Restricts a thread to some CPUs; 0 is the calling one.
///
/// # Errors
/// `EINVAL` where none of them is online and inside the thread's cpuset; also for CPUs beyond 1023,
/// which the C library's set cannot hold.
pub fn set_affinity(tid: u32, cpus: &CpuSet) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    for cpu in cpus.iter() {
        let index = usize::try_from(cpu).map_err(io::Error::other)?;
        if index >= rustix::thread::CpuSet::MAX_CPU {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("CPU {cpu} is beyond 1023")));
        }
        set.set(index);
    }
    Ok(rustix::thread::sched_setaffinity(Pid::from_raw(pid_t(tid)), &set)?)
}

/// The CPUs that a thread may run on; 0 is the calling one.
///
/// # Errors
/// Where the thread is gone.
pub fn affinity_of(tid: u32) -> io::Result<CpuSet> {
    let set = rustix::thread::sched_getaffinity(Pid::from_raw(pid_t(tid)))?;
    // No further than the last of them: most machines have few of the CPUs that the mask has room for.
    let members = usize::try_from(set.count()).unwrap_or(usize::MAX);
    let all = (0_u32..).zip(0..rustix::thread::CpuSet::MAX_CPU);
    Ok(all.filter(|&(_, i)| set.is_set(i)).map(|(cpu, _)| cpu).take(members).collect())
}

/// Lets the kernel delay this thread's timers by no more than a nanosecond (real-time policies never are).
pub fn set_least_timer_slack() {
    // Without it a SCHED_OTHER thread's timers may be 50 us late by design; failure leaves that default.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sched_attr_has_the_kernel_s_size() {
        assert_eq!(size_of::<SchedAttr>(), usize::try_from(SCHED_ATTR_SIZE).unwrap());
        assert_eq!(std::mem::offset_of!(SchedAttr, runtime_ns), 24);
    }

    #[test]
    fn what_is_set_is_read_back() {
        std::thread::spawn(|| {
            let all = affinity_of(0).unwrap();
            let one: CpuSet = all.first().into_iter().collect();
            set_affinity(0, &one).unwrap();
            assert_eq!(affinity_of(thread_id()).unwrap(), one);
            assert_eq!(policy_of(0).unwrap(), ("other", 0));
            let attributes = attributes_of(0).unwrap();
            // The nice value is inherited from whoever runs the tests.
            let expected = Attributes { scheduling: scheduling_of(0).unwrap(), runtime_ns: 0, period_ns: 0 };
            assert_eq!(attributes, expected);
            assert_eq!(attributes.is(Policy::Other), attributes.scheduling.nice == 0);
            assert!(!attributes.is(Policy::Fifo(1)));
            assert!(set_affinity(0, &CpuSet::new()).is_err());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_priority_out_of_range_is_refused() {
        assert!(set_policy(Policy::Fifo(100)).is_err());
    }
}
