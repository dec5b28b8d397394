//! The CPUs that are effectively isolated; what was asked for is in the boot parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

/// The CPUs that are isolated, by mechanism.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Isolation {
    /// CPUs outside every scheduling domain (/sys/devices/system/cpu/isolated).
    pub isolated: Option<CpuSet>,
    /// CPUs in full dynticks mode (/sys/devices/system/cpu/nohz_full); absent where not built in.
    pub nohz_full: Option<CpuSet>,
    /// CPUs whose RCU callbacks were asked to run elsewhere: `rcu_nocbs=` and `nohz_full=` together (/proc/cmdline).
    pub rcu_nocbs: Option<CpuSet>,
    /// CPUs of unbound work queues (/sys/devices/virtual/workqueue/cpumask).
    pub workqueue_cpus: Option<CpuSet>,
}

/// Reads `/sys/devices/system/cpu/{isolated,nohz_full,online,…}`.
///
/// `nohz_full` reads ` (null)` on kernels that have the option built in and unused (drivers/base/cpu.c).
#[must_use]
pub fn parse_cpu_file(text: &str) -> Option<CpuSet> {
    let text = text.trim();
    if text == "(null)" { Some(CpuSet::new()) } else { text.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_nobody() {
        assert_eq!(parse_cpu_file("  (null)\n"), Some(CpuSet::new()));
        assert_eq!(parse_cpu_file("\n"), Some(CpuSet::new()));
        assert_eq!(parse_cpu_file("2-3\n").map(|c| c.to_string()).as_deref(), Some("2-3"));
        assert_eq!(parse_cpu_file("?"), None);
    }
}
