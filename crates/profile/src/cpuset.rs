//! Control groups that confine or partition CPUs, both versions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

/// A control group that sets `cpuset.cpus` or is a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cpuset {
    /// 1 or 2.
    pub version: u32,
    /// The group's folder as named on the node, for example /sys/fs/cgroup/rt.slice.
    pub path: String,
    /// CPUs asked for (cpuset.cpus); `None` where the file is empty or unreadable.
    pub cpus: Option<CpuSet>,
    /// CPUs granted (cpuset.cpus.effective, or cpuset.effective_cpus in version 1).
    pub effective_cpus: Option<CpuSet>,
    /// CPUs reserved for partitions below (cpuset.cpus.exclusive.effective, version 2, kernel 6.7 and newer).
    pub exclusive_cpus: Option<CpuSet>,
    /// `member`, `root`, `isolated`, or one of these followed by `invalid (reason)`
    /// (cpuset.cpus.partition, version 2).
    pub partition: Option<String>,
    /// Whether no sibling may share the CPUs (cpuset.cpu_exclusive, version 1).
    pub cpu_exclusive: Option<bool>,
    /// Whether the scheduler balances load inside (cpuset.sched_load_balance, version 1).
    pub sched_load_balance: Option<bool>,
}

impl Cpuset {
    /// What the kernel says about the partition, taken apart.
    #[must_use]
    pub fn partition_state(&self) -> Option<PartitionState> {
        parse_partition(self.partition.as_deref()?)
    }

    /// Whether this is a partition without load balancing, and in force.
    #[must_use]
    pub fn is_valid_isolated_partition(&self) -> bool {
        self.partition_state().is_some_and(|state| state.kind == "isolated" && state.invalid.is_none())
    }

    /// The CPUs that the group really has.
    #[must_use]
    pub const fn granted(&self) -> Option<&CpuSet> {
        match &self.effective_cpus {
            Some(cpus) => Some(cpus),
            None => self.cpus.as_ref(),
        }
    }
}

/// A partition's kind, and the kernel's reason where it is not in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionState {
    /// `member`, `root` or `isolated`.
    pub kind: String,
    /// The reason in the kernel's words, empty where it gives none.
    pub invalid: Option<String>,
}

/// Reads `cpuset.cpus.partition` (Documentation/admin-guide/cgroup-v2.rst):
/// `isolated` or `isolated invalid (Cpu list in cpuset.cpus not exclusive)`.
#[must_use]
pub fn parse_partition(text: &str) -> Option<PartitionState> {
    let text = text.trim();
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    if kind.is_empty() {
        return None;
    }
    let invalid = rest.trim().strip_prefix("invalid").map(|reason| {
        let reason = reason.trim();
        reason.strip_prefix('(').and_then(|r| r.strip_suffix(')')).unwrap_or(reason).to_owned()
    });
    Some(PartitionState { kind: kind.to_owned(), invalid })
}

/// Where control groups that know CPU sets are mounted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CgroupMounts {
    /// The unified hierarchy.
    pub v2: Option<String>,
    /// The version 1 hierarchy with the cpuset controller.
    pub v1_cpuset: Option<String>,
    /// The version 1 hierarchy with the cpu controller.
    pub v1_cpu: Option<String>,
}

/// Reads `/proc/mounts` for the hierarchies that matter.
#[must_use]
pub fn parse_mounts(text: &str) -> CgroupMounts {
    let mut mounts = CgroupMounts::default();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, place, kind, options, ..] = fields[..] else { continue };
        match kind {
            "cgroup2" => {
                mounts.v2.get_or_insert_with(|| place.to_owned());
            }
            "cgroup" => {
                // One hierarchy can hold several controllers.
                for option in options.split(',') {
                    match option {
                        "cpuset" => mounts.v1_cpuset.get_or_insert_with(|| place.to_owned()),
                        "cpu" => mounts.v1_cpu.get_or_insert_with(|| place.to_owned()),
                        _ => continue,
                    };
                }
            }
            _ => {}
        }
    }
    mounts
}

/// The lines of `/proc/mounts` that the reader needs; the others name a machine's disks.
#[must_use]
pub fn reduce_mounts(text: &str) -> String {
    crate::text::lines_where(text, |line| {
        matches!(line.split_whitespace().nth(2), Some("cgroup" | "cgroup2" | "debugfs"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions() {
        let invalid = parse_partition("isolated invalid (Cpu list in cpuset.cpus not exclusive)\n").unwrap();
        assert_eq!(invalid.kind, "isolated");
        assert_eq!(invalid.invalid.as_deref(), Some("Cpu list in cpuset.cpus not exclusive"));
        assert_eq!(parse_partition("root invalid").unwrap().invalid.as_deref(), Some(""));
        assert_eq!(parse_partition("member\n").unwrap().invalid, None);
        assert_eq!(parse_partition(" \n"), None);
    }

    #[test]
    fn mounts() {
        let text = "/dev/sda1 / ext4 rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n\
                    cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n";
        let mounts = parse_mounts(text);
        assert_eq!(mounts.v2.as_deref(), Some("/sys/fs/cgroup/unified"));
        assert_eq!(mounts.v1_cpuset.as_deref(), Some("/sys/fs/cgroup/cpuset"));
        assert_eq!(mounts.v1_cpu.as_deref(), Some("/sys/fs/cgroup/cpu"));
        assert_eq!(parse_mounts(&reduce_mounts(text)), mounts);
        assert!(!reduce_mounts(text).contains("sda1"));
    }
}
