//! Of what a machine has one knob, or several.

use profile::Profile;
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
            Self::Irq => profile.irqs.lines.iter().map(|irq| irq.number.to_string()).collect(),
            Self::Interface => profile.net.interfaces.iter().map(|nic| nic.name.clone()).collect(),
        }
    }

    /// How a person calls one.
    #[must_use]
    pub fn label(self, name: &str) -> String {
        match self {
            Self::Machine => String::new(),
            Self::Cpu => format!("CPU {name}"),
            Self::Irq => format!("IRQ {name}"),
            Self::FrequencyPolicy | Self::Interface => name.to_owned(),
        }
    }
}
