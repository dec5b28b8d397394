//! Of what a machine has one knob, or several.

use profile::Profile;
use profile::net::Nic;
use profile::power::IdleState;
use units::CpuSet;

/// Of what there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobScope {
    /// Of the machine.
    Machine,
    /// Of each CPU; the name is its number.
    Cpu,
    /// Of each set of CPUs with one frequency; the name is the folder's, `policy0`.
    FrequencyPolicy,
    /// Of each interrupt; the name is its number.
    Irq,
    /// Of each network interface; the name is its own.
    Interface,
    /// Of each idle state of each CPU; the name is `3/cpuidle/state2`.
    IdleState,
    /// Of each receiving queue of an interface; the name is `eth0/queues/rx-0`.
    ReceiveQueue,
    /// Of each sending queue of an interface; the name is `eth0/queues/tx-0`.
    TransmitQueue,
}

impl KnobScope {
    /// The names of those that touch `cpus`; of all, where none are named.
    #[must_use]
    pub fn names(self, profile: &Profile, cpus: Option<&CpuSet>) -> Vec<String> {
        match self {
            Self::Machine => vec![String::new()],
            Self::Cpu => {
                let online = profile.cpus.online.clone().unwrap_or_default();
                cpus.map_or_else(|| online.clone(), |cpus| cpus.intersection(&online))
                    .iter()
                    .map(|cpu| cpu.to_string())
                    .collect()
            }
            Self::FrequencyPolicy => {
                let touches = |of: &CpuSet| cpus.is_none_or(|cpus| !cpus.intersection(of).is_empty());
                let policies = profile.power.frequency_policies.iter().filter(|policy| touches(&policy.cpus));
                policies.map(|policy| policy.name.clone()).collect()
            }
            Self::IdleState => idle_states(profile, cpus).map(|(cpu, state)| state_name(cpu, state)).collect(),
            Self::Irq => profile.irqs.lines.iter().map(|irq| irq.number.to_string()).collect(),
            Self::Interface | Self::ReceiveQueue | Self::TransmitQueue => {
                profile.net.interfaces.iter().flat_map(|nic| self.names_of(nic)).collect()
            }
        }
    }

    /// Whether it is of a network interface, or of something that interfaces have.
    #[must_use]
    pub const fn is_of_interface(self) -> bool {
        matches!(self, Self::Interface | Self::ReceiveQueue | Self::TransmitQueue)
    }

    /// The names of those that one network interface has.
    #[must_use]
    pub fn names_of(self, nic: &Nic) -> Vec<String> {
        let queues = |kind: &str, count: u64| (0..count).map(|n| format!("{}/queues/{kind}-{n}", nic.name)).collect();
        match self {
            Self::Interface => vec![nic.name.clone()],
            Self::ReceiveQueue => queues("rx", nic.rx_queue_count),
            Self::TransmitQueue => queues("tx", nic.tx_queue_count),
            _ => Vec::new(),
        }
    }

    /// How a person calls one.
    #[must_use]
    pub fn label(self, name: &str) -> String {
        match self {
            Self::Machine => String::new(),
            Self::Cpu => format!("CPU {name}"),
            Self::Irq => format!("IRQ {name}"),
            Self::IdleState => format!("CPU {}", name.split('/').next().unwrap_or(name)),
            Self::FrequencyPolicy | Self::Interface => name.to_owned(),
            Self::ReceiveQueue | Self::TransmitQueue => name.replacen("/queues/", " ", 1),
        }
    }
}

/// The idle states of these CPUs, of all where none are named, with their CPUs, in the order of these.
pub(crate) fn idle_states<'a>(
    profile: &'a Profile,
    cpus: Option<&'a CpuSet>,
) -> impl Iterator<Item = (u32, &'a IdleState)> {
    let online = profile.cpus.online.clone().unwrap_or_default();
    let wanted = cpus.map_or_else(|| online.clone(), |cpus| cpus.intersection(&online));
    let cpus: Vec<u32> = wanted.iter().collect();
    cpus.into_iter().flat_map(|cpu| {
        let group = profile.power.idle.iter().find(|group| group.cpus.contains(cpu));
        group.into_iter().flat_map(move |group| group.states.iter().map(move |state| (cpu, state)))
    })
}

/// The name of one among all idle states.
pub(crate) fn state_name(cpu: u32, state: &IdleState) -> String {
    format!("{cpu}/cpuidle/state{}", state.index)
}
