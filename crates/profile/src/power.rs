//! Frequencies and idle states.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

/// Frequencies and idle states.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Power {
    /// Frequency policies (/sys/devices/system/cpu/cpufreq/policyN).
    pub frequency_policies: Vec<FrequencyPolicy>,
    /// Whether frequencies above the nominal one are allowed
    /// (/sys/devices/system/cpu/cpufreq/boost, or intel_pstate/no_turbo reversed).
    pub boost: Option<bool>,
    /// `active`, `passive` or `off` (/sys/devices/system/cpu/intel_pstate/status or amd_pstate/status).
    pub pstate_status: Option<String>,
    /// The driver of idle states (/sys/devices/system/cpu/cpuidle/current_driver).
    pub idle_driver: Option<String>,
    /// The governor of idle states (/sys/devices/system/cpu/cpuidle/current_governor).
    pub idle_governor: Option<String>,
    /// Idle states, CPUs with the same states together (/sys/devices/system/cpu/cpuN/cpuidle/stateM).
    pub idle: Vec<IdleGroup>,
    /// The wake-up latency that some process holds for the whole system, in microseconds; a huge number means none
    /// (/dev/cpu_dma_latency).
    pub dma_latency_us: Option<u64>,
    /// CPUs by their own wake-up latency bound, as written: `0` means none, `n/a` means no latency at all is allowed
    /// (/sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us); zeros are left out.
    pub resume_latency_us: BTreeMap<String, CpuSet>,
}

/// A group of CPUs that change frequency together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FrequencyPolicy {
    /// The folder's name, `policy0`.
    pub name: String,
    /// The CPUs (affected_cpus).
    pub cpus: CpuSet,
    /// For example `intel_pstate`, `acpi-cpufreq`, `cpufreq-dt` (scaling_driver).
    pub driver: Option<String>,
    /// For example `performance`, `schedutil`, `powersave` (scaling_governor).
    pub governor: Option<String>,
    /// The lowest frequency allowed now, in kilohertz (scaling_min_freq).
    pub scaling_min_khz: Option<u64>,
    /// The highest frequency allowed now, in kilohertz (scaling_max_freq).
    pub scaling_max_khz: Option<u64>,
    /// The lowest frequency of the hardware, in kilohertz (cpuinfo_min_freq).
    pub hardware_min_khz: Option<u64>,
    /// The highest frequency of the hardware, in kilohertz (cpuinfo_max_freq).
    pub hardware_max_khz: Option<u64>,
    /// How long a change takes, in nanoseconds (cpuinfo_transition_latency).
    pub transition_latency_ns: Option<u64>,
    /// The hint to the hardware, for example `balance_performance` (energy_performance_preference).
    pub energy_preference: Option<String>,
}

/// CPUs with the same idle states.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleGroup {
    /// The CPUs that it applies to.
    pub cpus: CpuSet,
    /// Their states, shallow first.
    pub states: Vec<IdleState>,
}

/// An idle state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IdleState {
    /// The folder's number.
    pub index: u32,
    /// For example `POLL`, `C1`, `C6`, `WFI` (name).
    pub name: String,
    /// Time to leave the state, in microseconds (latency).
    pub exit_latency_us: Option<u64>,
    /// Shortest stay that pays off, in microseconds (residency).
    pub residency_us: Option<u64>,
    /// Whether someone switched the state off (disable).
    pub disabled: Option<bool>,
}

impl Power {
    /// Adds one CPU's idle states.
    pub fn add_idle(&mut self, cpu: u32, states: Vec<IdleState>) {
        match self.idle.iter_mut().find(|group| group.states == states) {
            Some(group) => group.cpus.insert(cpu),
            None => self.idle.push(IdleGroup { cpus: [cpu].into_iter().collect(), states }),
        }
    }

    /// Adds one CPU's own wake-up latency bound; `0`, the default, means that there is none.
    pub fn add_resume_latency(&mut self, cpu: u32, text: &str) {
        let text = text.trim();
        if !text.is_empty() && text != "0" {
            self.resume_latency_us.entry(text.to_owned()).or_default().insert(cpu);
        }
    }

    /// The wake-up latency bound in force for a CPU, in microseconds: the tightest of the system's and its own.
    #[must_use]
    pub fn latency_bound_us(&self, cpu: u32) -> Option<u64> {
        let own = self.resume_latency_us.iter().filter(|(_, cpus)| cpus.contains(cpu)).filter_map(|(text, _)| {
            // "n/a" is the kernel's word for a bound of nothing (Documentation/ABI/testing/sysfs-devices-power).
            if text == "n/a" { Some(0) } else { text.parse().ok() }
        });
        own.chain(self.dma_latency_us).min()
    }

    /// The slowest idle state that a CPU may still enter.
    #[must_use]
    pub fn slowest_allowed_state(&self, cpu: u32) -> Option<&IdleState> {
        let bound = self.latency_bound_us(cpu).unwrap_or(u64::MAX);
        self.idle
            .iter()
            .find(|group| group.cpus.contains(cpu))?
            .states
            .iter()
            .filter(|state| state.disabled == Some(false) && state.exit_latency_us.is_some_and(|us| us <= bound))
            .max_by_key(|state| state.exit_latency_us)
    }
}

/// Reads the four bytes of `/dev/cpu_dma_latency`; negative cannot be (kernel/power/qos.c).
#[must_use]
pub fn parse_dma_latency(bytes: &[u8]) -> Option<u64> {
    u64::try_from(i32::from_ne_bytes(bytes.try_into().ok()?)).ok()
}

/// Reads a list of CPUs separated by blanks, as `affected_cpus` has it.
#[must_use]
pub fn parse_spaced_cpus(text: &str) -> Option<CpuSet> {
    text.split_whitespace().map(|word| word.parse().ok().filter(|&cpu| cpu < 32_768)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(name: &str, us: u64, disabled: bool) -> IdleState {
        IdleState { name: name.into(), exit_latency_us: Some(us), disabled: Some(disabled), ..IdleState::default() }
    }

    #[test]
    fn slowest_state_respects_switches_and_bounds() {
        let mut power = Power::default();
        power.add_idle(0, vec![state("POLL", 0, false), state("C1", 2, false), state("C6", 133, false)]);
        power.add_idle(1, vec![state("POLL", 0, false), state("C1", 2, false), state("C6", 133, true)]);
        let slowest = |power: &Power, cpu| power.slowest_allowed_state(cpu).map(|s| s.name.clone());
        assert_eq!(slowest(&power, 0).as_deref(), Some("C6"));
        assert_eq!(slowest(&power, 1).as_deref(), Some("C1"));
        power.add_resume_latency(0, "n/a\n");
        assert_eq!(slowest(&power, 0).as_deref(), Some("POLL"));
        assert_eq!(slowest(&power, 9), None);
    }

    #[test]
    fn bytes_and_lists() {
        assert_eq!(parse_dma_latency(&2_000_000_000_i32.to_ne_bytes()), Some(2_000_000_000));
        assert_eq!(parse_dma_latency(&[0, 0]), None);
        assert_eq!(parse_spaced_cpus("0 1 4\n").map(|c| c.to_string()).as_deref(), Some("0-1,4"));
        assert_eq!(parse_spaced_cpus("x"), None);
    }
}
