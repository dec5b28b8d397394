//! What of a machine decides which remedy makes sense: facts out of its profile, as they are in force.

use profile::Profile;
use profile::irq::parse_thread_name;
use profile::kernel::Preemption;
use units::CpuSet;

/// A state that takes longer to leave (us) is a deep one.
pub(crate) const DEEP_EXIT_US: u64 = 10;

/// Whether the measured CPUs may go into deep idle states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleStates {
    /// Nothing readable tells.
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
    /// Whether this is a virtual machine; `None` where nothing tells.
    pub is_virtual: Option<bool>,
    /// Whether handlers of interrupts run in threads: PREEMPT_RT, or `threadirqs`.
    pub interrupts_have_threads: bool,
    /// Isolated CPUs.
    pub isolated: CpuSet,
    /// CPUs in full dynticks mode.
    pub nohz_full: CpuSet,
    /// Whether the measured CPUs may go into deep idle states.
    pub idle_states: IdleStates,
    /// Whether every measured CPU has the governor `performance`; `None` where none has a governor.
    pub governor_is_performance: Option<bool>,
    /// Whether the watchdog that uses non-maskable interrupts is on; `None` where unreadable.
    pub nmi_watchdog: Option<bool>,
    /// Whether real-time threads may use a CPU up: `sched_rt_runtime_us` is -1.
    pub throttle_is_off: bool,
    /// Whether a fair server may run on a measured CPU; `None` where the kernel tells of none.
    pub fair_server: Option<bool>,
}

impl Surroundings {
    /// Reads them out of a machine's profile.
    #[must_use]
    pub fn of_profile(profile: &Profile, measured: &CpuSet) -> Self {
        let kernel = &profile.kernel;
        let has_threads = |irq: &profile::irq::Irq| irq.threads.iter().any(|of| parse_thread_name(&of.comm).is_some());
        Self {
            measured: measured.clone(),
            preemption: kernel.preemption,
            is_virtual: profile.virt.guest,
            interrupts_have_threads: kernel.preemption == Preemption::Realtime
                || kernel.param("threadirqs").is_some() && profile.irqs.lines.iter().any(has_threads),
            isolated: profile.isolated_cpus(),
            nohz_full: profile.isolation.nohz_full.clone().unwrap_or_default(),
            idle_states: idle_states(profile, measured),
            governor_is_performance: governor_is_performance(profile, measured),
            nmi_watchdog: profile.sched.nmi_watchdog,
            throttle_is_off: profile.sched.rt_runtime_us == Some(-1),
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
    if profile.kernel.param_value("idle") == Some("poll") {
        return IdleStates::Disabled;
    }
    let known = measured.iter().any(|cpu| power.idle.iter().any(|group| group.cpus.contains(cpu)));
    let deep = |cpu| power.slowest_allowed_state(cpu).is_some_and(|state| state.exit_latency_us > Some(DEEP_EXIT_US));
    match (known, measured.iter().any(deep)) {
        (false, _) => IdleStates::Unknown,
        (true, true) => IdleStates::Allowed,
        (true, false) => IdleStates::Disabled,
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
        let of = |profile: &Profile| Surroundings::of_profile(profile, &measured).idle_states;
        assert_eq!(of(&profile), IdleStates::Unknown);
        profile.power.add_idle(1, vec![state("C1", 2, false), state("C6", 133, false)]);
        assert_eq!(of(&profile), IdleStates::Allowed);
        profile.power.idle.clear();
        profile.power.add_idle(1, vec![state("C1", 2, false), state("C6", 133, true)]);
        assert_eq!(of(&profile), IdleStates::Disabled);
    }

    #[test]
    fn isolation_counts_where_it_covers_all_that_was_measured() {
        let mut profile = Profile::default();
        profile.isolation.isolated = Some([2, 3].into_iter().collect());
        let of = |cpus: &[u32]| Surroundings::of_profile(&profile, &cpus.iter().copied().collect());
        assert!(of(&[2, 3]).measured_are_isolated());
        assert!(!of(&[1, 2]).measured_are_isolated());
        assert!(!of(&[]).measured_are_isolated());
    }
}
