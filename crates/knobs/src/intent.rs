//! What a user wants of a node, from a TOML file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::CpuSet;

use crate::time::TimeIntent;
use crate::tuned::TunedProfile;

/// The mechanism that isolates CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// An isolated partition of cgroup v2, at run time (Documentation/admin-guide/cgroup-v2.rst, `cpuset.cpus.partition`).
    #[default]
    Cpuset,
    /// `isolcpus=` and its companions on the kernel's command line, from the next start on.
    Isolcpus,
    /// A profile of TuneD's, where that is installed: in part at run time, in part from the next start on.
    Tuned,
}

/// Where interrupts go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Irqs {
    /// To CPUs that are not isolated.
    Housekeeping,
    /// They stay where they are.
    Unchanged,
}

/// What saving energy may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PowerWish {
    /// Nothing that saves energy at the price of time: on the isolated CPUs, else on all.
    Steady,
    /// As it is.
    Unchanged,
}

/// Whether the kernel may take CPUs away from real-time tasks that never sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RtThrottling {
    /// It may not: neither by the throttle nor by the fair server, whichever this kernel has.
    Off,
    /// As it is.
    Unchanged,
}

/// A value of a single knob, as TOML writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KnobValue {
    /// A number, in the knob's unit.
    Number(i64),
    /// A switch: `true` or `false`.
    Switch(bool),
    /// A text, as the knob takes it.
    Text(String),
}

impl KnobValue {
    /// As it is written to the kernel.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Switch(on) => u8::from(*on).to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// What is wanted. What is not named stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Intent {
    /// CPUs to isolate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolate: Option<CpuSet>,
    /// The mechanism that isolates them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<Mechanism>,
    /// Which profile of TuneD's, where it is the mechanism; without it `realtime` on kernels with PREEMPT_RT, else
    /// `cpu-partitioning`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuned_profile: Option<TunedProfile>,
    /// Where interrupts go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irqs: Option<Irqs>,
    /// What saving energy may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerWish>,
    /// Whether real-time tasks are throttled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rt_throttling: Option<RtThrottling>,
    /// Idle states of the isolated CPUs, else of all, by the names that the kernel gives them, in which `*` stands
    /// for any text: `"C6*" = "off"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub idle: BTreeMap<String, KnobValue>,
    /// Single knobs by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub knob: BTreeMap<String, KnobValue>,
    /// How threads of the kernel are scheduled, by their names, in which `*` stands for any text: `"irq/*-eth0" = "fifo 80"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub thread: BTreeMap<String, String>,
    /// Parameters of the kernel's command line, from the next start on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub boot: BTreeMap<String, KnobValue>,
    /// Knobs of network interfaces, by interface and name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nic: BTreeMap<String, BTreeMap<String, KnobValue>>,
    /// Files of the kernel's that are no known knobs, below `/sys` and `/proc`, by their paths.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub file: BTreeMap<String, KnobValue>,
    /// Time service: how this node gets the time, or gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeIntent>,
}

/// Why a text is no intent.
#[derive(Debug, thiserror::Error)]
pub enum IntentError {
    /// Not TOML, or something in it is not known.
    #[error("not an intent: {0}")]
    Form(#[from] toml::de::Error),
    /// It wants nothing.
    #[error(
        "it asks for nothing: name at least one of isolate, irqs, power, rt-throttling, [knob], [idle], [thread], [boot], [nic.INTERFACE], [file] and [time]"
    )]
    Empty,
}

impl Intent {
    /// Reads a TOML text.
    ///
    /// # Errors
    /// With the line, where something is not known or not of its form.
    pub fn from_toml(text: &str) -> Result<Self, IntentError> {
        let intent: Self = toml::from_str(text)?;
        if intent == Self::default() { Err(IntentError::Empty) } else { Ok(intent) }
    }

    /// As TOML, which reads back the same.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // All its fields are of TOML's own kinds.
        toml::to_string(self).unwrap_or_default()
    }

    /// Whether a part of it is written for the boot loader: by us, or by TuneD, both of whose profiles give parameters to the
    /// kernel.
    #[must_use]
    pub fn needs_restart(&self) -> bool {
        let is_at_boot = matches!(self.mechanism(), Mechanism::Isolcpus | Mechanism::Tuned);
        !self.boot.is_empty() || (self.isolate.is_some() && is_at_boot)
    }

    /// The mechanism that isolates CPUs, if any are to be isolated.
    #[must_use]
    pub fn mechanism(&self) -> Mechanism {
        self.mechanism.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_back_and_refuses_what_it_does_not_know() {
        let text = "isolate = \"2-3\"\nmechanism = \"isolcpus\"\nirqs = \"housekeeping\"\npower = \"steady\"\n\
                    rt-throttling = \"off\"\n\n[idle]\nC6 = \"off\"\n\n[knob]\n\"vm.swappiness\" = 10\n\n[nic.eth0]\nthreaded-napi = true\n";
        let intent = Intent::from_toml(text).unwrap();
        assert_eq!(Intent::from_toml(&intent.to_toml()).unwrap(), intent);
        assert_eq!(intent.nic["eth0"]["threaded-napi"].text(), "1");
        let refused = |text: &str| Intent::from_toml(text).unwrap_err().to_string();
        assert!(refused("isolate = \"3-2\"").contains("runs downwards"), "{}", refused("isolate = \"3-2\""));
        assert!(refused("isolat = \"2\"").contains("line 1"));
        assert!(refused("power = \"fast\"").contains("steady"));
        assert!(refused("").contains("asks for nothing"));
    }

    #[test]
    fn what_the_kernel_is_told_at_its_start_needs_one() {
        let needs = |text: &str| Intent::from_toml(text).unwrap().needs_restart();
        let by = |mechanism: &str| needs(&format!("isolate = \"2-3\"\nmechanism = \"{mechanism}\"\n"));
        assert!(by("isolcpus") && by("tuned") && needs("[boot]\nthreadirqs = true\n"));
        assert!(!by("cpuset") && !needs("isolate = \"2-3\"\n") && !needs("power = \"steady\"\n"));
    }
}
