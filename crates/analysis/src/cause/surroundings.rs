//! What of a machine decides which remedy makes sense: facts out of its profile, as they are in force.

use profile::Profile;
use profile::irq::parse_thread_name;
use profile::kernel::Preemption;
use units::CpuSet;

/// A state that takes longer to leave (us) is a deep one.
pub const DEEP_EXIT_US: u64 = 10;

/// Whether the measured CPUs may go into deep idle states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleStates {
    /// Nothing readable shows it.
    #[default]
    Unknown,
    /// At least one of them may.
    Allowed,
    /// The deep states are disabled, or a bound keeps the CPUs out of them.
    Disabled,
}

/// What of a machine decides which remedy makes sense.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The CPUs that were measured.
    pub measured: CpuSet,
    /// The kernel's preemption model.
    pub preemption: Preemption,
    /// Whether this is a virtual machine; `None` if unknown.
    pub is_virtual: Option<bool>,
    /// Whether the processor is x86, which has boot parameters of its own; `None` if unknown.
    pub is_x86: Option<bool>,
    /// Whether handlers of interrupts run in threads: PREEMPT_RT, or `threadirqs`.
    pub interrupts_have_threads: bool,
    /// The CPUs that are kept free of the scheduler's balancing, by `isolcpus=` or a cpuset partition.
    pub isolated: CpuSet,
    /// CPUs in full dynticks mode.
    pub nohz_full: CpuSet,
    /// Whether the measured CPUs may go into deep idle states.
    pub idle_states: IdleStates,
    /// Whether every measured CPU has the governor `performance`; `None` where none has a governor.
    pub governor_is_performance: Option<bool>,
    /// Whether the watchdog that uses non-maskable interrupts is on; `None` where unreadable.
    pub nmi_watchdog: Option<bool>,
    /// Whether `sched_rt_runtime_us` stops no real-time thread: it is -1, or the kernel is 6.12 or newer, where it bounds groups
    /// alone, and has none (`CONFIG_RT_GROUP_SCHED`).
    pub throttle_is_off: bool,
    /// Whether a fair server may run on a measured CPU; `None` if the kernel reports none.
    pub fair_server: Option<bool>,
}

impl Surroundings {
    /// Reads them out of a machine's profile.
    #[must_use]
    pub fn from_profile(profile: &Profile, measured: &CpuSet) -> Self {
        let kernel = &profile.kernel;
        let has_threads = |irq: &profile::irq::Irq| irq.threads.iter().any(|of| parse_thread_name(&of.comm).is_some());
        Self {
            measured: measured.clone(),
            preemption: kernel.preemption,
            is_virtual: profile.virt.guest,
            is_x86: kernel.is_x86(),
            interrupts_have_threads: kernel.preemption == Preemption::Realtime
                || kernel.param("threadirqs").is_some() && profile.irqs.lines.iter().any(has_threads),
            isolated: profile.isolated_cpus(),
            nohz_full: profile.isolation.nohz_full.clone().unwrap_or_default(),
            idle_states: idle_states(profile, measured),
            governor_is_performance: governor_is_performance(profile, measured),
            nmi_watchdog: profile.sched.nmi_watchdog,
            throttle_is_off: profile.sched.rt_runtime_us == Some(-1)
                || kernel.at_least(6, 12) == Some(true) && kernel.has_config("CONFIG_RT_GROUP_SCHED") == Some(false),
            fair_server: (!profile.sched.fair_servers.is_empty()).then(|| {
                let of_measured = |server: &&profile::sched::FairServer| !server.cpus.intersection(measured).is_empty();
                profile.sched.fair_servers.iter().filter(of_measured).any(|server| server.runtime_ns > 0)
            }),
        }
    }

    /// Whether all measured CPUs are isolated.
    #[must_use]
    pub fn measured_are_isolated(&self) -> bool {
        !self.measured.is_empty() && self.measured.iter().all(|cpu| self.isolated.contains(cpu))
    }

    /// Whether all measured CPUs are in full dynticks mode.
    #[must_use]
    pub fn measured_are_nohz_full(&self) -> bool {
        !self.measured.is_empty() && self.measured.iter().all(|cpu| self.nohz_full.contains(cpu))
    }
}

fn idle_states(profile: &Profile, measured: &CpuSet) -> IdleStates {
    let power = &profile.power;
    // Other architectures do not know this parameter.
    if profile.kernel.param_value("idle") == Some("poll") && profile.kernel.is_x86() != Some(false) {
        return IdleStates::Disabled;
    }
    // A state of which it is not known whether it is deep, or disabled, may be an allowed deep one.
    let is_known = |state: &profile::power::IdleState| state.exit_latency_us.is_some() && state.disabled.is_some();
    let all_known = |cpu| power.idle.iter().any(|group| group.cpus.contains(cpu) && group.states.iter().all(is_known));
    let deep = |cpu| power.slowest_allowed_state(cpu).is_some_and(|state| state.exit_latency_us > Some(DEEP_EXIT_US));
    if measured.iter().any(deep) {
        IdleStates::Allowed
    } else if !measured.is_empty() && measured.iter().all(all_known) {
        IdleStates::Disabled
    } else {
        IdleStates::Unknown
    }
}

fn governor_is_performance(profile: &Profile, measured: &CpuSet) -> Option<bool> {
    let of_measured = |policy: &&profile::power::FrequencyPolicy| !policy.cpus.intersection(measured).is_empty();
    let mut governors =
        profile.power.frequency_policies.iter().filter(of_measured).filter_map(|p| p.governor.as_deref());
    let first = governors.next()?;
    Some(first == "performance" && governors.all(|governor| governor == "performance"))
}

#[cfg(test)]
mod tests {
    use profile::cmdline::Param;
    use profile::power::IdleState;

    use super::*;

    fn state(name: &str, exit_us: u64, disabled: bool) -> IdleState {
        IdleState {
            index: 1,
            name: name.to_owned(),
            exit_latency_us: Some(exit_us),
            residency_us: None,
            disabled: Some(disabled),
        }
    }

    #[test]
    fn deep_states_that_are_disabled_are_told_from_those_that_are_allowed() {
        let measured: CpuSet = [1].into_iter().collect();
        let mut profile = Profile::default();
        let of = |profile: &Profile| Surroundings::from_profile(profile, &measured).idle_states;
        assert_eq!(of(&profile), IdleStates::Unknown);
        profile.kernel.params = vec![Param { name: "idle".to_owned(), value: Some("poll".to_owned()) }];
        assert_eq!(of(&profile), IdleStates::Disabled);
        profile.kernel.arch = Some("aarch64".to_owned());
        assert_eq!(of(&profile), IdleStates::Unknown, "idle=poll is of x86");
        profile.power.add_idle(1, vec![state("C1", 2, false), state("C6", 133, false)]);
        assert_eq!(of(&profile), IdleStates::Allowed);
        profile.power.idle.clear();
        profile.power.add_idle(1, vec![state("C1", 2, false), state("C6", 133, true)]);
        assert_eq!(of(&profile), IdleStates::Disabled);
        profile.power.idle.clear();
        profile
            .power
            .add_idle(1, vec![state("C1", 2, false), IdleState { exit_latency_us: None, ..state("C6", 133, false) }]);
        assert_eq!(of(&profile), IdleStates::Unknown);
        // Of the other CPU nothing is known.
        profile.power.idle.clear();
        profile.power.add_idle(1, vec![state("C1", 2, false)]);
        let both: CpuSet = [1, 2].into_iter().collect();
        assert_eq!(Surroundings::from_profile(&profile, &both).idle_states, IdleStates::Unknown);
    }

    #[test]
    fn from_6_12_on_the_bound_stops_groups_alone() {
        let mut profile = Profile::default();
        let measured: CpuSet = [1].into_iter().collect();
        let is_off = |profile: &Profile| Surroundings::from_profile(profile, &measured).throttle_is_off;
        profile.sched.rt_runtime_us = Some(950_000);
        profile.kernel.config.insert("CONFIG_SMP".to_owned(), "y".to_owned());
        for (release, expected) in [("6.6.30-rt30", false), ("6.12.9", true)] {
            profile.kernel.release = Some(release.to_owned());
            assert_eq!(is_off(&profile), expected, "{release}");
        }
        profile.kernel.config.insert("CONFIG_RT_GROUP_SCHED".to_owned(), "y".to_owned());
        assert!(!is_off(&profile));
        profile.sched.rt_runtime_us = Some(-1);
        assert!(is_off(&profile));
    }

    #[test]
    fn isolation_counts_where_it_covers_all_that_was_measured() {
        let mut profile = Profile::default();
        profile.isolation.isolated = Some([2, 3].into_iter().collect());
        let of = |cpus: &[u32]| Surroundings::from_profile(&profile, &cpus.iter().copied().collect());
        assert!(of(&[2, 3]).measured_are_isolated());
        assert!(!of(&[1, 2]).measured_are_isolated());
        assert!(!of(&[]).measured_are_isolated());
    }
}
