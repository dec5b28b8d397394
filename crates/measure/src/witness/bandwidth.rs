//! CPU bandwidth of this process's control groups: whether a quota stopped ordinary threads during the run.
//!
//! Real-time threads are not subject to it; the load, the controller, and a measuring thread of SCHED_OTHER are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use profile::bandwidth::{Throttled, own_groups, parse_cpu_max, parse_cpu_stat};
use profile::cpuset::parse_mounts;
use record::{Reason, ReasonCode};
use units::format::span;

/// A control group as it was at one look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// Quota and period (us), where there is a quota.
    pub(super) quota_us: Option<(u64, u64)>,
    pub(super) throttled: Throttled,
}

/// The folders of this process's group and of those above it that hold the `cpu` controller; `root` is `/`, but in tests.
pub(super) fn own_folders(root: &Path) -> Vec<PathBuf> {
    folders_of(root, "self")
}

/// The same of any process, by its folder in `/proc`: its number, or `self`.
pub(super) fn folders_of(root: &Path, process: &str) -> Vec<PathBuf> {
    let text = |path: &str| crate::kernel_text::read(root.join(path)).unwrap_or_default();
    let mounts = parse_mounts(&text("proc/mounts"));
    let folders = own_groups(&text(&format!("proc/{process}/cgroup")), &mounts);
    folders.iter().map(|folder| root.join(folder.trim_start_matches('/'))).collect()
}

/// Reads those groups that have bandwidth control, by their folders.
pub(super) fn read(root: &Path) -> BTreeMap<PathBuf, Group> {
    let read = |folder: PathBuf| {
        let text = |file: &str| crate::kernel_text::read(folder.join(file)).ok();
        let number = |file: &str| text(file)?.trim().parse::<u64>().ok();
        let version_1 = || number("cpu.cfs_quota_us").zip(number("cpu.cfs_period_us"));
        let quota_us = text("cpu.max").as_deref().and_then(parse_cpu_max).or_else(version_1);
        let throttled = parse_cpu_stat(&text("cpu.stat")?)?;
        Some((folder, Group { quota_us, throttled }))
    };
    own_folders(root).into_iter().filter_map(read).collect()
}

/// The period (ns) of the quota that leaves this process's groups the smallest share of a CPU; `None` where they have none.
pub(crate) fn tightest_period_ns(root: &Path) -> Option<u64> {
    let quotas = read(root).into_values().filter_map(|group| group.quota_us);
    let share = |quota_us: u64, of_other_us: u64| u128::from(quota_us) * u128::from(of_other_us);
    let tightest = quotas.min_by(|(one_us, of_one_us), (other_us, of_other_us)| {
        share(*one_us, *of_other_us).cmp(&share(*other_us, *of_one_us))
    });
    tightest.map(|(_, period_us)| period_us.saturating_mul(1_000))
}

/// What the groups' quotas stopped between two looks.
pub(super) fn reasons(before: &BTreeMap<PathBuf, Group>, after: &BTreeMap<PathBuf, Group>) -> Vec<Reason> {
    let stopped = |(folder, later): (&PathBuf, &Group)| {
        let earlier = before.get(folder)?;
        let periods = later.throttled.periods.checked_sub(earlier.throttled.periods).filter(|periods| *periods > 0)?;
        let time_ns = later.throttled.time_ns.saturating_sub(earlier.throttled.time_ns);
        let quota = later.quota_us.or(earlier.quota_us).map_or_else(String::new, |(quota_us, period_us)| {
            format!(" of {} in each {}", span(quota_us.saturating_mul(1_000)), span(period_us.saturating_mul(1_000)))
        });
        let times = if periods == 1 { "in one period".to_owned() } else { format!("in {periods} periods") };
        Some(Reason {
            code: ReasonCode::CpuBandwidthUsedUp,
            detail: format!(
                "{}: the quota{quota} stopped its ordinary threads {times}, {} over all CPUs; real-time threads are \
                 not subject to it",
                folder.display(),
                span(time_ns)
            ),
        })
    };
    after.iter().filter_map(stopped).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), files);
        folder
    }

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
    }

    #[test]
    fn a_quota_of_a_group_above_that_stopped_threads_is_told() {
        let machine = machine(&[
            ("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
            ("proc/self/cgroup", "0::/user.slice/run-7.scope\n"),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 5\n"),
            ("sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/user.slice/cpu.stat", "nr_periods 9\nnr_throttled 2\nthrottled_usec 1000\n"),
            ("sys/fs/cgroup/user.slice/run-7.scope/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/user.slice/run-7.scope/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"),
        ]);
        let before = read(machine.path());
        assert_eq!(before.len(), 2, "the root group has no quota");
        assert_eq!(tightest_period_ns(machine.path()), Some(100_000_000));
        assert_eq!(reasons(&before, &before), []);
        write(
            machine.path(),
            &[("sys/fs/cgroup/user.slice/cpu.stat", "nr_periods 30\nnr_throttled 14\nthrottled_usec 341000\n")],
        );
        let found = reasons(&before, &read(machine.path()));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].code, ReasonCode::CpuBandwidthUsedUp);
        let words =
            "user.slice: the quota of 50 ms in each 100 ms stopped its ordinary threads in 12 periods, 340 ms over";
        assert!(found[0].detail.contains(words), "{}", found[0].detail);
    }

    #[test]
    fn the_tightest_of_several_quotas_determines_the_period() {
        let quotas = |above: &str, own: &str| {
            let stat = "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n";
            let machine = machine(&[
                ("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
                ("proc/self/cgroup", "0::/a/b\n"),
                ("sys/fs/cgroup/a/cpu.max", above),
                ("sys/fs/cgroup/a/cpu.stat", stat),
                ("sys/fs/cgroup/a/b/cpu.max", own),
                ("sys/fs/cgroup/a/b/cpu.stat", stat),
            ]);
            tightest_period_ns(machine.path())
        };
        assert_eq!(quotas("20000 200000\n", "50000 100000\n"), Some(200_000_000));
        assert_eq!(quotas("50000 100000\n", "8000 20000\n"), Some(20_000_000));
        assert_eq!(quotas("max 100000\n", "max 100000\n"), None);
    }

    #[test]
    fn version_1_is_read_too() {
        let machine = machine(&[
            ("proc/mounts", "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"),
            ("proc/self/cgroup", "1:cpu:/box\n"),
            ("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "20000\n"),
            ("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/box/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"),
        ]);
        let before = read(machine.path());
        write(
            machine.path(),
            &[("sys/fs/cgroup/cpu/box/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 80000000\n")],
        );
        let found = reasons(&before, &read(machine.path()));
        assert!(found[0].detail.contains("the quota of 20 ms in each 100 ms"), "{found:?}");
        assert!(found[0].detail.contains("in one period, 80 ms over all CPUs"), "{found:?}");
    }
}
