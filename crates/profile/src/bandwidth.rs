//! CPU bandwidth of control groups: a quota of time in each period, which stops ordinary threads that used it up.
//!
//! Real-time threads are not subject to it (Documentation/scheduler/sched-bwc.rst; cgroup-v2.rst, `cpu.max`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cpuset::CgroupMounts;

/// The default period of version 2 where `cpu.max` names none (us).
const DEFAULT_PERIOD_US: u64 = 100_000;

/// A quota of a control group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuQuota {
    /// The group's folder as named on the node, for example `/sys/fs/cgroup/system.slice`.
    pub path: String,
    /// CPU time of the group's ordinary threads together in each period, in microseconds
    /// (cpu.max, or cpu.cfs_quota_us in version 1).
    pub quota_us: u64,
    /// That period, in microseconds (cpu.max, or cpu.cfs_period_us in version 1).
    pub period_us: u64,
}

/// How often and how long a group was stopped by its quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttled {
    /// Periods in which it was stopped (nr_throttled).
    pub periods: u64,
    /// How long, over all CPUs (ns; throttled_usec, or throttled_time in version 1).
    pub time_ns: u64,
}

/// Reads `cpu.max`: `max 100000`, or a quota and a period in microseconds; `None` where there is no quota.
#[must_use]
pub fn parse_cpu_max(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_ascii_whitespace();
    let quota_us = words.next()?.parse().ok()?;
    Some((quota_us, words.next().and_then(|word| word.parse().ok()).unwrap_or(DEFAULT_PERIOD_US)))
}

/// Reads `cpu.stat` of either version; `None` where the group has no bandwidth control.
#[must_use]
pub fn parse_cpu_stat(text: &str) -> Option<Throttled> {
    let value = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse::<u64>().ok())
    };
    let time_ns = value("throttled_usec").map(|us| us.saturating_mul(1_000)).or_else(|| value("throttled_time"));
    Some(Throttled { periods: value("nr_throttled")?, time_ns: time_ns.unwrap_or(0) })
}

/// The lines of `/proc/self/cgroup` that name the group with the `cpu` controller; the others name what else runs.
#[must_use]
pub fn reduce_own_groups(text: &str) -> String {
    crate::text::lines_where(text, |line| {
        let controllers = line.split(':').nth(1);
        controllers.is_some_and(|list| list.is_empty() || list.split(',').any(|one| one == "cpu"))
    })
}

/// The folders of a process's group and of those above it, the highest first, in the hierarchy that holds the `cpu`
/// controller; from its `/proc/PID/cgroup`. None where that lies outside what the mounts show.
#[must_use]
pub fn own_groups(text: &str, mounts: &CgroupMounts) -> Vec<String> {
    let path_of = |is_wanted: &dyn Fn(&str) -> bool| {
        text.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            is_wanted(controllers).then_some(path)
        })
    };
    let version_1 = path_of(&|controllers| controllers.split(',').any(|one| one == "cpu"));
    let (path, mount) = match (version_1, path_of(&str::is_empty)) {
        (Some(path), _) => (path, mounts.v1_cpu.as_deref()),
        (None, Some(path)) => (path, mounts.v2.as_deref()),
        (None, None) => return Vec::new(),
    };
    let parts: Vec<&str> = path.trim().split('/').filter(|part| !part.is_empty()).collect();
    let (Some(mount), false) = (mount, parts.contains(&"..")) else { return Vec::new() };
    let folder = |count: usize| parts[..count].iter().fold(mount.to_owned(), |folder, part| format!("{folder}/{part}"));
    (0..=parts.len()).map(folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpuset::parse_mounts;

    #[test]
    fn quotas_and_what_they_stopped() {
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        assert_eq!(parse_cpu_max("50000 100000\n"), Some((50_000, 100_000)));
        assert_eq!(parse_cpu_max("50000"), Some((50_000, 100_000)));
        assert_eq!(parse_cpu_max(""), None);
        let version_2 = "usage_usec 5\nnr_periods 40\nnr_throttled 12\nthrottled_usec 340000\nnr_bursts 0\n";
        assert_eq!(parse_cpu_stat(version_2), Some(Throttled { periods: 12, time_ns: 340_000_000 }));
        let version_1 = "nr_periods 40\nnr_throttled 12\nthrottled_time 340000000\n";
        assert_eq!(parse_cpu_stat(version_1), parse_cpu_stat(version_2));
        assert_eq!(parse_cpu_stat("usage_usec 5\n"), None, "the root group of version 2 has no quota");
    }

    #[test]
    fn the_hierarchy_with_the_controller_is_taken() {
        let mounts = parse_mounts(
            "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\ncgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n",
        );
        let check = |text: &str, expected: &[&str]| assert_eq!(own_groups(text, &mounts), expected);
        check("", &[]);
        check(
            "4:memory:/a\n0::/b/c\n",
            &["/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/b", "/sys/fs/cgroup/unified/b/c"],
        );
        check("4:memory:/a\n1:cpu,cpuacct:/\n0::/b/c\n", &["/sys/fs/cgroup/cpu,cpuacct"]);
        check("1:cpu,cpuacct:/../outside\n", &[]);
        assert_eq!(own_groups("0::/a\n", &CgroupMounts::default()), Vec::<String>::new());
        assert_eq!(reduce_own_groups("4:memory:/a\n3:cpuset:/x\n1:cpu:/b\n0::/c\n"), "1:cpu:/b\n0::/c\n");
    }
}
