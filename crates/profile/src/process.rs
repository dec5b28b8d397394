//! Real-time tasks, kernel threads and what may run on isolated CPUs.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

/// A scheduling policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// SCHED_OTHER, the ordinary policy.
    #[default]
    Other,
    /// SCHED_FIFO, real-time without time slices.
    Fifo,
    /// SCHED_RR, real-time with time slices.
    RoundRobin,
    /// SCHED_BATCH, ordinary without interactive wake-ups.
    Batch,
    /// SCHED_IDLE, below every ordinary task.
    Idle,
    /// SCHED_DEADLINE, runtime and period by reservation.
    Deadline,
    /// SCHED_EXT, scheduled by a BPF program.
    Ext,
    /// A number that is newer than this program.
    Unknown,
}

impl Policy {
    /// From the number in `/proc/PID/stat` (include/uapi/linux/sched.h).
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        match number {
            0 => Self::Other,
            1 => Self::Fifo,
            2 => Self::RoundRobin,
            3 => Self::Batch,
            5 => Self::Idle,
            6 => Self::Deadline,
            7 => Self::Ext,
            _ => Self::Unknown,
        }
    }

    /// Whether it outranks ordinary tasks.
    #[must_use]
    pub const fn is_realtime(self) -> bool {
        matches!(self, Self::Fifo | Self::RoundRobin | Self::Deadline)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Other => "OTHER",
            Self::Fifo => "FIFO",
            Self::RoundRobin => "RR",
            Self::Batch => "BATCH",
            Self::Idle => "IDLE",
            Self::Deadline => "DEADLINE",
            Self::Ext => "EXT",
            Self::Unknown => "unknown policy",
        })
    }
}

/// One thread of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Task {
    /// The process (/proc/PID).
    pub pid: u32,
    /// The thread (/proc/PID/task/TID).
    pub tid: u32,
    /// The thread's name; command lines are not read.
    pub comm: String,
    /// Whether it belongs to the kernel.
    pub kernel: bool,
    /// Whether the kernel forbids moving it (PF_NO_SETAFFINITY).
    pub bound: bool,
    /// The scheduling policy of the thread.
    pub policy: Policy,
    /// Real-time priority, 1 to 99; 0 for ordinary tasks.
    pub rt_priority: u32,
    /// The CPU where it ran last.
    pub last_cpu: Option<u32>,
    /// CPUs where it may run (/proc/PID/task/TID/status, Cpus_allowed_list); read only where it matters.
    pub affinity: Option<CpuSet>,
}

impl Task {
    /// Name, number, policy and priority, as a person would say it.
    #[must_use]
    pub fn label(&self) -> String {
        if self.policy.is_realtime() {
            format!("{} (tid {}, {} {})", self.comm, self.tid, self.policy, self.rt_priority)
        } else {
            format!("{} (tid {})", self.comm, self.tid)
        }
    }
}

/// The tasks that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tasks {
    /// How many tasks there were.
    pub task_count: u64,
    /// Real-time tasks of user space.
    pub realtime: Vec<Task>,
    /// Kernel threads with a real-time policy, without the interrupts' threads.
    pub kernel_realtime: Vec<Task>,
    /// Kernel threads that may not run everywhere, without those that the kernel keeps one of on each CPU.
    pub kernel_confined: Vec<Task>,
    /// How many threads the kernel holds on each CPU by itself: ksoftirqd, migration and their like.
    pub kernel_per_cpu_count: u64,
    /// Tasks that could be moved and may run on an isolated CPU.
    pub on_isolated: Vec<Task>,
}

impl Tasks {
    /// Sorts all tasks into what matters.
    #[must_use]
    pub fn sort(tasks: Vec<Task>, online: Option<&CpuSet>, isolated: &CpuSet) -> Self {
        let mut sorted = Self { task_count: u64::try_from(tasks.len()).unwrap_or(u64::MAX), ..Self::default() };
        for task in tasks {
            let is_irq_thread = task.kernel && task.comm.starts_with("irq/");
            let touches_isolated =
                task.affinity.as_ref().is_some_and(|affinity| !affinity.intersection(isolated).is_empty());
            if task.kernel && task.bound && !is_irq_thread {
                sorted.kernel_per_cpu_count += 1;
            } else if touches_isolated && !is_irq_thread {
                sorted.on_isolated.push(task.clone());
            }
            let is_confined = match (online, &task.affinity) {
                (Some(online), Some(affinity)) => !online.is_subset(affinity),
                _ => false,
            };
            if !task.kernel && task.policy.is_realtime() {
                sorted.realtime.push(task);
            } else if task.kernel && task.policy.is_realtime() && !is_irq_thread {
                sorted.kernel_realtime.push(task);
            } else if task.kernel && !task.bound && is_confined && !is_irq_thread {
                sorted.kernel_confined.push(task);
            }
        }
        sorted
    }
}

/// PF_KTHREAD, include/linux/sched.h.
const PF_KTHREAD: u64 = 0x0020_0000;
/// PF_NO_SETAFFINITY, include/linux/sched.h.
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;

/// Reads `/proc/PID/task/TID/stat` (proc_pid_stat(5)); `pid` is left for the caller to set.
#[must_use]
pub fn parse_stat(text: &str) -> Option<Task> {
    // The name stands in parentheses and may itself hold blanks and parentheses.
    let open = text.find('(')?;
    let close = text.rfind(')')?;
    let tid = text.get(..open)?.trim().parse().ok()?;
    let comm = text.get(open + 1..close)?.to_owned();
    let fields: Vec<&str> = text.get(close + 1..)?.split_whitespace().collect();
    // The manual counts fields from 1 and the state, first here, is the third.
    let field = |manual: usize| fields.get(manual - 3)?.parse::<u64>().ok();
    let flags = field(9)?;
    Some(Task {
        pid: tid,
        tid,
        comm,
        kernel: flags & PF_KTHREAD != 0,
        bound: flags & PF_NO_SETAFFINITY != 0,
        policy: Policy::from_number(field(41)?),
        rt_priority: u32::try_from(field(40)?).ok()?,
        last_cpu: field(39).and_then(|cpu| u32::try_from(cpu).ok()),
        affinity: None,
    })
}

/// The same line with every field that the reader does not need written as 0: the others reveal users,
/// memory and times.
#[must_use]
pub fn reduce_stat(text: &str) -> String {
    let Some((open, close)) = text.find('(').zip(text.rfind(')')) else { return String::new() };
    let (Some(head), Some(tail)) = (text.get(..=close), text.get(close + 1..)) else { return String::new() };
    if open > close {
        return String::new();
    }
    let mut out = head.to_owned();
    for (field, manual) in tail.split_whitespace().zip(3_u32..) {
        out.push(' ');
        out.push_str(match manual {
            3 => "S",
            9 | 39 | 40 | 41 => field,
            42.. => break,
            _ => "0",
        });
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Reads the CPUs where a task may run from `/proc/PID/task/TID/status`.
#[must_use]
pub fn parse_status_affinity(text: &str) -> Option<CpuSet> {
    crate::text::keyed(text, ':', "Cpus_allowed_list")?.parse().ok()
}

/// The one line of `status` that the reader needs; the others reveal users and memory.
#[must_use]
pub fn reduce_status(text: &str) -> String {
    crate::text::lines_where(text, |line| line.starts_with("Cpus_allowed_list:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "17 (migration/1) S 2 0 0 0 -1 69238848 0 0 0 0 0 12 0 0 -100 0 1 0 2 0 0 \
                        18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 17 1 99 1 0 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn kernel_threads() {
        let task = parse_stat(STAT).unwrap();
        assert_eq!((task.comm.as_str(), task.policy, task.rt_priority), ("migration/1", Policy::Fifo, 99));
        assert!(task.kernel && task.bound);
        assert_eq!(task.last_cpu, Some(1));
    }

    #[test]
    fn names_with_parentheses() {
        let task = parse_stat(&STAT.replace("migration/1", "a) R (b")).unwrap();
        assert_eq!(task.comm, "a) R (b");
        assert_eq!(parse_stat(")("), None);
        assert_eq!(parse_stat("1 (x) S 2"), None);
    }

    #[test]
    fn reduction_keeps_what_is_read() {
        let reduced = reduce_stat(STAT);
        assert_eq!(parse_stat(&reduced), parse_stat(STAT));
        assert!(!reduced.contains("18446744073709551615"));
        assert_eq!(reduce_stat(&reduced), reduced);
        assert_eq!(reduce_stat(")("), "");
    }

    #[test]
    fn sorting() {
        let isolated: CpuSet = "2-3".parse().unwrap();
        let online: CpuSet = "0-3".parse().unwrap();
        let bound = Task { kernel: true, bound: true, affinity: Some("2".parse().unwrap()), ..Task::default() };
        let stray = Task { comm: "cron".into(), affinity: Some("0-3".parse().unwrap()), ..Task::default() };
        let app =
            Task { policy: Policy::Fifo, rt_priority: 80, affinity: Some("3".parse().unwrap()), ..Task::default() };
        let tasks = Tasks::sort(vec![bound, stray, app], Some(&online), &isolated);
        assert_eq!((tasks.task_count, tasks.kernel_per_cpu_count), (3, 1));
        assert_eq!((tasks.on_isolated.len(), tasks.realtime.len()), (2, 1));
    }

    #[test]
    fn affinity() {
        let status = "Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\n";
        assert_eq!(parse_status_affinity(&reduce_status(status)).map(|c| c.to_string()).as_deref(), Some("0-3"));
    }
}
