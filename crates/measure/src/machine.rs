//! What a plan needs to know of the machine before it asks for anything.

use kernel::clock::KernelClock;
use units::{ClockId, CpuSet};

/// The machine as far as plans depend on it; a test states it instead of reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// CPUs that are online.
    pub online: CpuSet,
    /// CPUs that exist.
    pub present: CpuSet,
    /// CPUs that the kernel isolated at boot (`/sys/devices/system/cpu/isolated`), and those of partitions that threads of
    /// this process may join.
    pub isolated: CpuSet,
    /// CPUs that this process may use (its cpuset and affinity), those partitions included.
    pub allowed: CpuSet,
    /// Resolution of timers on CLOCK_MONOTONIC (ns): 1 with high-resolution timers, else a tick.
    pub timer_resolution_ns: u64,
    /// Memory that is free or can be freed (bytes).
    pub available_bytes: u64,
}

fn cpu_list(path: &str) -> Option<CpuSet> {
    crate::kernel_text::read(path).ok()?.parse().ok()
}

impl Machine {
    /// Reads this machine; what cannot be read is taken from what the process itself may do.
    #[must_use]
    pub fn read() -> Self {
        let affinity = kernel::sched::affinity_of(0).unwrap_or_default();
        let online = cpu_list("/sys/devices/system/cpu/online").unwrap_or_else(|| affinity.clone());
        let isolated_at_boot = cpu_list("/sys/devices/system/cpu/isolated").unwrap_or_default();
        let partitioned = crate::partition::joinable_cpus();
        let allowed = allowed(&affinity, allowed_by_cpuset(), &online, &isolated_at_boot);
        let isolated = isolated_at_boot.union(&partitioned);
        Self {
            present: cpu_list("/sys/devices/system/cpu/present").unwrap_or_else(|| online.clone()),
            allowed: allowed.union(&partitioned),
            timer_resolution_ns: kernel::clock::resolution_ns(KernelClock::from(ClockId::Monotonic)).unwrap_or(1),
            available_bytes: available_bytes().unwrap_or(64 << 20),
            online,
            isolated,
        }
    }

    /// CPUs that this process may use and that are online.
    #[must_use]
    pub fn usable(&self) -> CpuSet {
        self.allowed.intersection(&self.online)
    }

    /// CPUs for the controller and the drain thread: usable ones that are not measured, or all where none is left.
    #[must_use]
    pub fn housekeeping(&self, measured: &CpuSet) -> CpuSet {
        let usable = self.allowed.intersection(&self.online);
        let free = usable.difference(measured);
        let preferred = free.difference(&self.isolated);
        [preferred, free, usable].into_iter().find(|cpus| !cpus.is_empty()).unwrap_or_default()
    }
}

/// CPUs that this process may use.
///
/// The kernel keeps isolated CPUs out of the affinity that a process is born with, yet lets it ask for them: then its
/// cpuset is the bound. Any narrower affinity was somebody's choice (taskset, systemd's CPUAffinity) and is the bound.
fn allowed(affinity: &CpuSet, cpuset: Option<CpuSet>, online: &CpuSet, isolated: &CpuSet) -> CpuSet {
    let cpuset = cpuset.unwrap_or_else(|| online.clone());
    let born_with = cpuset.intersection(online).difference(isolated);
    if born_with.is_subset(affinity) { cpuset.union(affinity) } else { affinity.clone() }
}

fn allowed_by_cpuset() -> Option<CpuSet> {
    let status = crate::kernel_text::read("/proc/self/cgroup").ok()?;
    status.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let candidates = if controllers.split(',').any(|c| c == "cpuset") {
            vec![format!("/sys/fs/cgroup/cpuset{path}/cpuset.effective_cpus")]
        } else if controllers.is_empty() {
            vec![format!("/sys/fs/cgroup{path}/cpuset.cpus.effective")]
        } else {
            return None;
        };
        candidates.iter().find_map(|file| cpu_list(file)).filter(|cpus| !cpus.is_empty())
    })
}

/// `MemAvailable` of `/proc/meminfo` (bytes).
pub(crate) fn available_bytes() -> Option<u64> {
    let text = crate::kernel_text::read("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(online: &str, isolated: &str) -> Machine {
        let online: CpuSet = online.parse().unwrap();
        Machine {
            present: online.clone(),
            allowed: online.clone(),
            isolated: isolated.parse().unwrap(),
            online,
            timer_resolution_ns: 1,
            available_bytes: 1 << 30,
        }
    }

    #[test]
    fn a_narrowed_affinity_binds_and_the_one_born_with_does_not() {
        let check = |affinity: &str, cpuset: Option<&str>, isolated: &str, expected: &str| {
            let set = |text: &str| text.parse::<CpuSet>().unwrap();
            let allowed = allowed(&set(affinity), cpuset.map(set), &set("0-3"), &set(isolated));
            assert_eq!(allowed.to_string(), expected);
        };
        check("0-3", None, "", "0-3");
        check("0-1", None, "2-3", "0-3");
        check("0", None, "", "0");
        check("0", None, "2-3", "0");
        check("0-1", Some("0-1"), "", "0-1");
        check("0-1", Some("0-2"), "2", "0-2");
    }

    #[test]
    fn the_controller_keeps_off_measured_cpus_while_another_is_left() {
        let check = |online, isolated, measured: &str, expected: &str| {
            let housekeeping = machine(online, isolated).housekeeping(&measured.parse().unwrap());
            assert_eq!(housekeeping.to_string(), expected);
        };
        check("0-3", "2-3", "2-3", "0-1");
        check("0-3", "2-3", "0-1", "2-3");
        check("0-3", "2-3", "2", "0-1");
        check("0-1", "", "0-1", "0-1");
        check("0", "", "0", "0");
    }
}
