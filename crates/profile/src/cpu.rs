//! Processors and how they share cores, caches and memory.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

/// Processors and how they share cores, caches and memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cpus {
    /// CPUs that run (/sys/devices/system/cpu/online).
    pub online: Option<CpuSet>,
    /// CPUs that are plugged in (/sys/devices/system/cpu/present).
    pub present: Option<CpuSet>,
    /// CPUs that could ever be plugged in (/sys/devices/system/cpu/possible).
    pub possible: Option<CpuSet>,
    /// `on`, `off`, `forceoff`, `notsupported` or `notimplemented` (/sys/devices/system/cpu/smt/control).
    pub smt_control: Option<String>,
    /// Whether any core runs more than one thread (/sys/devices/system/cpu/smt/active).
    pub smt_active: Option<bool>,
    /// One entry per core, the threads that share it (/sys/devices/system/cpu/cpuN/topology/thread_siblings_list).
    pub cores: Vec<CpuSet>,
    /// The CPUs of each package (/sys/devices/system/cpu/cpuN/topology/physical_package_id).
    pub packages: BTreeMap<i64, CpuSet>,
    /// The CPUs of each NUMA node (/sys/devices/system/node/nodeN/cpulist).
    pub nodes: BTreeMap<u32, CpuSet>,
    /// One entry per last-level cache (/sys/devices/system/cpu/cpuN/cache/indexM).
    pub last_level_caches: Vec<Cache>,
    /// Relative capacity of each kind of core, 1024 the fastest (/sys/devices/system/cpu/cpuN/cpu_capacity).
    pub capacities: BTreeMap<u64, CpuSet>,
    /// The kinds of cores of an Intel hybrid by the names of their performance counters: `cpu_core`, `cpu_atom`,
    /// `cpu_lowpower` (/sys/devices/NAME/cpus); empty elsewhere.
    pub core_types: BTreeMap<String, CpuSet>,
    /// How often cores slowed down from heat since boot, by CPU, zeros left out
    /// (/sys/devices/system/cpu/cpuN/thermal_throttle/core_throttle_count).
    pub thermal_throttle_counts: BTreeMap<u32, u64>,
}

/// A cache and who shares it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// 2 or 3, mostly.
    pub level: u32,
    /// The size as the kernel writes it, for example `8192K`.
    pub size: Option<String>,
    /// The CPUs that share it.
    pub cpus: CpuSet,
}

/// The facts in one CPU's folder of sysfs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuFacts {
    /// The CPU's number.
    pub cpu: u32,
    /// The threads of its core (`topology/thread_siblings_list`).
    pub siblings: Option<CpuSet>,
    /// `topology/physical_package_id`; -1 if the firmware does not report it.
    pub package: Option<i64>,
    /// Relative capacity, 1024 for the fastest (`cpu_capacity`).
    pub capacity: Option<u64>,
    /// How often the core slowed down from heat since boot (`thermal_throttle/core_throttle_count`).
    pub throttle_count: Option<u64>,
    /// The highest `cache/indexN`.
    pub last_level_cache: Option<Cache>,
}

/// The names that Intel's hybrids give to the performance counters of their kinds of cores, fastest kind first
/// (arch/x86/events/intel/core.c, `intel_hybrid_pmu_type_map`).
pub const CORE_TYPES: [&str; 3] = ["cpu_core", "cpu_atom", "cpu_lowpower"];

impl Cpus {
    /// Adds the facts of one CPU.
    pub fn add(&mut self, facts: CpuFacts) {
        if let Some(core) = facts.siblings {
            if !self.cores.contains(&core) {
                self.cores.push(core);
            }
        }
        if let Some(package) = facts.package {
            self.packages.entry(package).or_default().insert(facts.cpu);
        }
        if let Some(capacity) = facts.capacity {
            self.capacities.entry(capacity).or_default().insert(facts.cpu);
        }
        if let Some(count) = facts.throttle_count.filter(|&count| count > 0) {
            self.thermal_throttle_counts.insert(facts.cpu, count);
        }
        if let Some(cache) = facts.last_level_cache {
            if !self.last_level_caches.contains(&cache) {
                self.last_level_caches.push(cache);
            }
        }
    }

    /// The highest CPU that the kernel made room for: what `N` stands for in boot parameters.
    #[must_use]
    pub fn last(&self) -> Option<u32> {
        self.possible.as_ref().or(self.present.as_ref()).or(self.online.as_ref())?.last()
    }

    /// The threads that share a core with one of `cpus` and are not in it.
    #[must_use]
    pub fn siblings_outside(&self, cpus: &CpuSet) -> CpuSet {
        self.cores
            .iter()
            .filter(|core| !core.intersection(cpus).is_empty())
            .fold(CpuSet::new(), |all, core| all.union(&core.difference(cpus)))
    }
}

/// Reads a CPU's number from its folder's name, `cpu12`.
#[must_use]
pub fn parse_folder(name: &str, prefix: &str) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?;
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders() {
        assert_eq!(parse_folder("cpu12", "cpu"), Some(12));
        assert_eq!(parse_folder("cpuidle", "cpu"), None);
        assert_eq!(parse_folder("cpu", "cpu"), None);
    }

    #[test]
    fn siblings() {
        let cpus = Cpus { cores: vec!["0,2".parse().unwrap(), "1,3".parse().unwrap()], ..Cpus::default() };
        assert_eq!(cpus.siblings_outside(&"3".parse().unwrap()).to_string(), "1");
        assert!(cpus.siblings_outside(&"1,3".parse().unwrap()).is_empty());
    }
}
