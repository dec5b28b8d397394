//! Scenarios: nodes with their kernels, clocks and boot parameters, the network segments between them, and steps that
//! test them. Pure.

mod built_in;
mod host_ports;
mod segment;

use serde::{Deserialize, Serialize};

use self::built_in::BUILT_IN;
pub(crate) use self::host_ports::netdev;
pub use self::host_ports::{HOST_ADDRESS, HOST_INTERFACE};
pub use self::segment::{Address, Segment, SegmentPort};
use crate::guest::Interface;
use crate::machine::{Architecture, Machine};
use crate::packages::Suite;

/// Largest number of nodes: more than any host emulates at once.
const MAX_NODES: usize = 64;
/// Least memory of a node with a kernel and an initramfs (MiB).
const MIN_MEMORY_MIB: u32 = 128;
/// Least memory of a node that boots an installed system (MiB).
const MIN_DISK_MEMORY_MIB: u32 = 384;
/// Characters with a special meaning in GRUB's settings: a shell reads them between double quotes.
const GRUB_SPECIAL_CHARACTERS: [char; 4] = ['"', '$', '`', '\\'];
/// Largest length of a name (bytes): it becomes part of socket paths, whose length is bounded.
const MAX_NAME: usize = 24;
/// Largest frequency offset (ppm). Oscillators of cheap boards are off by tens of ppm; beyond this a clock is broken.
const MAX_FREQUENCY_OFFSET_PPM: i32 = 10_000;

/// The description of one lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Scenario {
    /// Name of the scenario, and default name of the lab.
    pub name: String,
    /// What it demonstrates, as text for people.
    pub about: String,
    /// The virtual machines, by their names.
    pub node: Vec<Node>,
    /// The network segments between them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segment: Vec<Segment>,
    /// The steps of `punctual lab test`, in this order.
    #[serde(default)]
    pub step: Vec<Step>,
}

/// One step of `punctual lab test`: a command or a reboot, and its expected outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Step {
    /// What the step checks, as text for people.
    pub about: String,
    /// The node that the command runs on; default: the first.
    #[serde(default)]
    pub node: Option<String>,
    /// A command for the node's shell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// Instead of `run`: a subcommand of `punctual lab` that the host runs on this lab, without the lab's name
    /// (`analyzer --between a b`); one of [`STEP_COMMANDS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<String>,
    /// Instead of `run`, for a node with a disk: how to reboot it. The step passes if the node's agent answers
    /// afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reboot: Option<Reboot>,
    /// With `reboot`: how long it may take until the agent answers (s, default 300). With `run`: the command is
    /// repeated until the step passes or this time is over, even if the node reboots meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_s: Option<u64>,
    /// The accepted exit codes; default: 0.
    #[serde(default = "success")]
    pub exit: Vec<i32>,
    /// Texts that the standard output must contain.
    #[serde(default)]
    pub contains: Vec<String>,
    /// Texts that the standard output must not contain.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// With `run`: files and folders of the node, by absolute paths, that `punctual lab test --keep` fetches after the command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
}

/// The subcommands of `punctual lab` that a step may run: those that neither start nor end a lab.
pub const STEP_COMMANDS: [&str; 3] = ["analyzer", "link", "trace"];

fn success() -> Vec<i32> {
    vec![0]
}

/// How to reboot a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reboot {
    /// Its system is asked to reboot.
    Orderly,
    /// Its power is cut: what is not yet on the disk is lost.
    PowerCut,
}

/// Default time limit of a reboot (s): an emulated machine boots in half a minute, and in some minutes if other
/// programs use the host's CPUs.
pub const REBOOT_S: u64 = 300;

impl Step {
    /// Why the step is invalid in a lab of these nodes; `None` if it is valid.
    fn out_of_bounds(&self, nodes: &[Node]) -> Option<String> {
        let node = match &self.node {
            Some(name) => match nodes.iter().find(|node| node.name == *name) {
                Some(node) => node,
                None => return Some(format!("is for node {name}, which the scenario does not have")),
            },
            None => nodes.first()?,
        };
        let does = [!self.run.is_empty(), self.lab.is_some(), self.reboot.is_some()];
        let command = self.lab.as_deref().map(|words| words.split_ascii_whitespace().next().unwrap_or_default());
        match does.iter().filter(|does| **does).count() {
            0 => return Some("has neither 'run' nor 'lab' nor 'reboot': name one of them".to_owned()),
            1 => {}
            _ => return Some("has more than one of 'run', 'lab' and 'reboot': name only one".to_owned()),
        }
        match (command, self.reboot) {
            (Some(_), _) if self.node.is_some() => {
                Some("has both 'lab', which runs on the host, and 'node': remove one".to_owned())
            }
            (Some(command), _) if !STEP_COMMANDS.contains(&command) => {
                Some(format!("has the command 'lab {command}': allowed are {}", STEP_COMMANDS.join(", ")))
            }
            (Some(_), _) if self.within_s.is_some() => {
                Some("has both 'within-s', which is only for 'run' and 'reboot', and 'lab': remove one".to_owned())
            }
            _ if !self.keep.is_empty() && self.run.is_empty() => {
                Some("has 'keep', which is only for 'run': remove it".to_owned())
            }
            _ if self.keep.iter().any(|path| !path.starts_with('/') || path.ends_with('/')) => {
                Some("keeps a path that does not begin with '/', or ends with it: name a file or folder".to_owned())
            }
            _ if self.run.contains("punctual-proof") && !node.proof => {
                Some(format!("runs punctual-proof, which node {} gets with 'proof = true' alone", node.name))
            }
            (_, Some(_)) if node.disk.is_none() => {
                Some(format!("reboots node {}, which has no disk to boot from", node.name))
            }
            _ => None,
        }
    }

    /// Why the outcome of its command is wrong; `None` if it is as expected.
    #[must_use]
    pub fn fault(&self, exit: i32, output: &str) -> Option<String> {
        if !self.exit.contains(&exit) {
            return Some(format!("the exit code is {exit} instead of {:?}", self.exit));
        }
        if let Some(missing) = self.contains.iter().find(|text| !output.contains(text.as_str())) {
            return Some(format!("the output lacks '{missing}'"));
        }
        self.lacks
            .iter()
            .find(|text| output.contains(text.as_str()))
            .map(|text| format!("the output contains '{text}'"))
    }
}

/// The description of one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Node {
    /// Name, unique in the lab.
    pub name: String,
    /// The kernel that QEMU loads, with an initramfs made by the lab; a node has this or `disk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelName>,
    /// The installed system that it boots through BIOS and GRUB. Packages are really installed, boot parameters are in
    /// GRUB's configuration, and files persist over a reboot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskName>,
    /// Number of CPUs (1 to 16, on armhf 1 to 8).
    #[serde(default = "one")]
    pub cpus: u32,
    /// Memory (MiB, 128 to 16384, on armhf 128 to 3072).
    #[serde(default = "default_memory")]
    pub memory_mib: u32,
    /// Parameters that are added to the kernel's command line.
    #[serde(default)]
    pub boot: String,
    /// Debian packages whose programs the node gets.
    #[serde(default)]
    pub packages: Vec<String>,
    /// The release that these packages are from, for a node with `kernel`; default: `debian-12`, whichever its kernel is.
    #[serde(default, skip_serializing_if = "Suite::is_default")]
    pub packages_from: Suite,
    /// Kernel modules to load at boot, with their dependencies.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Shell commands that run at each boot, before the node counts as up.
    #[serde(default)]
    pub setup: Vec<String>,
    /// Time of its battery-backed clock at power-on (UTC, `2026-01-01T00:00:00`); default: the host's time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
    /// By how much all its clocks run faster than the host's (ppm, -10000 to 10000; negative: slower). Default: the
    /// kernel measures its counter itself, accurate to some ppm. The resolution is 0.5 ppm or better, since the kernel
    /// takes the counter's frequency in whole kHz. Only on amd64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_offset_ppm: Option<i32>,
    /// Whether the host records what this node writes to its parallel port (0x378), with the host's time. Only on
    /// amd64.
    #[serde(default)]
    pub analyzer: bool,
    /// Events of QEMU's devices that the host writes down, by their names in QEMU (`qemu-system-arm -trace help`), each with the host's
    /// time. Not beside `analyzer`, which has QEMU's only log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<String>,
    /// Whether its clock counts the instructions of its one CPU, so that the host's timing does not affect it. Only on
    /// amd64 and with `kernel`.
    #[serde(default)]
    pub deterministic: bool,
    /// Whether it gets `punctual-proof` too, which injects faults. Only on amd64 and with `kernel`.
    #[serde(default)]
    pub proof: bool,
    /// TCP ports of the host's loopback address that the node reaches, each as the same port of [`HOST_ADDRESS`]. It
    /// reaches nothing else of the host, and nothing beyond the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_ports: Vec<u16>,
}

impl Node {
    /// Why it cannot be traced as described; `None` if it can.
    fn trace_error(&self) -> Option<String> {
        let Self { name, trace, .. } = self;
        if self.analyzer && !trace.is_empty() {
            return Some(format!("node {name} has both 'analyzer' and 'trace': QEMU has one log, remove one"));
        }
        trace.iter().find(|event| !is_event(event)).map(|event| {
            format!("node {name} traces '{event}': an event has lower-case letters, digits and underscores")
        })
    }

    /// A requested feature that only amd64 supports, if the node has another architecture.
    fn unsupported_feature(&self) -> Option<&'static str> {
        if self.architecture() == Architecture::Amd64 {
            None
        } else if self.frequency_offset_ppm.is_some() {
            Some("frequency-offset-ppm, which needs an x86 time-stamp counter, is not possible there")
        } else if self.analyzer {
            Some("analyzer, which listens on the parallel port, is not possible there")
        } else if self.deterministic {
            Some("deterministic is not possible there")
        } else if self.proof {
            Some("proof is not possible there")
        } else {
            None
        }
    }
}

const fn one() -> u32 {
    1
}

const fn default_memory() -> u32 {
    512
}

impl Node {
    /// Why it cannot boot as described; `None` if it can.
    fn boot_error(&self) -> Option<String> {
        let Self { name, memory_mib, boot, .. } = self;
        match (self.kernel, self.disk) {
            (None, None) => Some(format!("node {name} has neither a kernel nor a disk: there is nothing to boot")),
            (Some(_), Some(disk)) => Some(format!(
                "node {name} has both a kernel and a disk: {} boots its own kernel, name one of the two",
                disk.name()
            )),
            (None, Some(_)) if *memory_mib < MIN_DISK_MEMORY_MIB => Some(format!(
                "node {name} has {memory_mib} MiB of memory: an installed system needs at least {MIN_DISK_MEMORY_MIB}"
            )),
            (_, _)
                if self.deterministic
                    && (self.cpus != 1 || self.disk.is_some() || self.frequency_offset_ppm.is_some()) =>
            {
                Some(format!(
                    "node {name} is deterministic: it must have one CPU, a kernel, no disk and no frequency offset"
                ))
            }
            (None, Some(disk)) if !self.packages_from.is_default() => Some(format!(
                "node {name} boots {} from its disk and gets packages of that release: packages-from is for nodes with \
                 a kernel",
                disk.name()
            )),
            (None, Some(_)) if self.proof => {
                Some(format!("node {name} boots from a disk: punctual-proof is only for nodes with a kernel"))
            }
            (None, Some(_)) if self.frequency_offset_ppm.is_some() => Some(format!(
                "node {name} has a frequency offset, which depends on the host and so cannot be in the boot loader's \
                 configuration of an installed system: only a node with a kernel can have one"
            )),
            (None, Some(_)) => boot.chars().find(|c| GRUB_SPECIAL_CHARACTERS.contains(c) || c.is_control()).map(|found| {
                format!(
                    "node {name} has {found:?} in its boot parameters, which is a special character in GRUB's configuration"
                )
            }),
            (Some(_), None) => None,
        }
    }
}

/// A kernel of Debian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KernelName {
    /// Linux 6.12 with PREEMPT_RT, amd64.
    #[serde(rename = "6.12-rt")]
    Rt612,
    /// Linux 6.1 with PREEMPT_RT, amd64.
    #[serde(rename = "6.1-rt")]
    Rt61,
    /// Linux 6.1 with PREEMPT_RT, armhf.
    #[serde(rename = "6.1-rt-armhf")]
    Rt61Armhf,
}

impl KernelName {
    /// The architecture it is built for.
    #[must_use]
    pub const fn architecture(self) -> Architecture {
        match self {
            Self::Rt612 | Self::Rt61 => Architecture::Amd64,
            Self::Rt61Armhf => Architecture::Armhf,
        }
    }
}

impl Node {
    /// The architecture of its kernel.
    #[must_use]
    pub fn architecture(&self) -> Architecture {
        // Installed systems are for PCs only.
        self.kernel.map_or(Architecture::Amd64, KernelName::architecture)
    }
}

/// An installed system with Debian's PREEMPT_RT kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiskName {
    /// Debian 12 with Linux 6.12, amd64.
    #[serde(rename = "debian-12")]
    Debian12,
    /// Debian 13 with Linux 6.12, amd64.
    #[serde(rename = "debian-13")]
    Debian13,
}

impl DiskName {
    /// Its name in a scenario file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debian12 => "debian-12",
            Self::Debian13 => "debian-13",
        }
    }
}

/// Why a text is not a valid scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// Not TOML, or not the form of a scenario; the text names line and column.
    #[error("this is not the form of a scenario (see the output of 'punctual lab show rt-basic'): {0}")]
    Form(String),
    /// A value is out of bounds.
    #[error("scenario {scenario}: {what}")]
    Bounds {
        /// Name of the scenario.
        scenario: String,
        /// What is out of bounds, with the bound.
        what: String,
    },
}

impl Scenario {
    /// The built-in scenario of this name.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        Self::all_built_in().find(|scenario| scenario.name == name)
    }

    /// All built-in scenarios.
    pub fn all_built_in() -> impl Iterator<Item = Self> {
        BUILT_IN.iter().filter_map(|text| Self::parse(text).ok())
    }

    /// The TOML text of the built-in scenario of this name.
    #[must_use]
    pub fn built_in_text(name: &str) -> Option<&'static str> {
        BUILT_IN.into_iter().find(|text| Self::parse(text).is_ok_and(|scenario| scenario.name == name))
    }

    /// Parses a scenario from TOML.
    ///
    /// # Errors
    /// If the text is not the form of a scenario, or a value is out of bounds.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self =
            toml::from_str(text).map_err(|error| ScenarioError::Form(error.to_string().trim().to_owned()))?;
        match scenario.out_of_bounds() {
            Some(what) => Err(ScenarioError::Bounds { scenario: scenario.name, what }),
            None => Ok(scenario),
        }
    }

    /// The network interfaces of the node with index `place`: in the order of the segments, then the one to the host.
    #[must_use]
    pub fn interfaces(&self, place: usize) -> Vec<Interface> {
        let mut interfaces = segment::interfaces(&self.segment, &self.node, place);
        interfaces
            .extend(self.node.get(place).and_then(|node| host_ports::interface(node, segment::mac(0, place + 1))));
        interfaces
    }

    fn out_of_bounds(&self) -> Option<String> {
        if !is_name(&self.name) {
            return Some(bad_name(&self.name));
        }
        if self.node.is_empty() {
            return Some("it has no [[node]]: there is nothing to boot".to_owned());
        }
        if self.node.len() > MAX_NODES {
            return Some(format!("it has {} nodes: at most {MAX_NODES} are possible", self.node.len()));
        }
        for (place, node) in self.node.iter().enumerate() {
            let Node { name, cpus, memory_mib, .. } = node;
            if !is_name(name) {
                return Some(bad_name(name));
            }
            if self.node[..place].iter().any(|other| other.name == *name) {
                return Some(format!("two nodes are named {name}"));
            }
            let Machine { max_cpus, max_memory_mib, .. } = node.architecture().machine();
            if !(1..=max_cpus).contains(cpus) {
                return Some(format!("node {name} has {cpus} CPUs: 1 to {max_cpus} are possible"));
            }
            if !(MIN_MEMORY_MIB..=max_memory_mib).contains(memory_mib) {
                return Some(format!(
                    "node {name} has {memory_mib} MiB of memory: {MIN_MEMORY_MIB} to {max_memory_mib} are possible"
                ));
            }
            if let Some(what) = node.unsupported_feature() {
                return Some(format!("node {name} is not amd64: {what}"));
            }
            if let Some(what) = node.trace_error() {
                return Some(what);
            }
            if let Some(ppm) = node.frequency_offset_ppm.filter(|ppm| ppm.abs() > MAX_FREQUENCY_OFFSET_PPM) {
                return Some(format!(
                    "node {name} has a frequency offset of {ppm} ppm: -{MAX_FREQUENCY_OFFSET_PPM} to \
                     {MAX_FREQUENCY_OFFSET_PPM} are possible"
                ));
            }
        }
        if let Some(what) = segment::out_of_bounds(&self.segment, &self.node) {
            return Some(what);
        }
        if let Some(what) = host_ports::out_of_bounds(&self.node, &self.segment) {
            return Some(what);
        }
        if let Some(what) = self.node.iter().find_map(Node::boot_error) {
            return Some(what);
        }
        for step in &self.step {
            if let Some(what) = step.out_of_bounds(&self.node) {
                return Some(format!("the step '{}' {what}", step.about));
            }
        }
        None
    }
}

/// Whether a word can name a node or a lab: letters, digits and dashes, since files and sockets have that name too.
#[must_use]
pub fn is_name(word: &str) -> bool {
    (1..=MAX_NAME).contains(&word.len())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        && !word.starts_with('-')
}

fn bad_name(name: &str) -> String {
    format!("'{name}' is not a valid name: 1 to {MAX_NAME} letters, digits and dashes, not beginning with a dash")
}

/// Whether a word can be the name of an event of QEMU: lower-case letters, digits and underscores. A comma or an asterisk would be more to QEMU
/// than a name.
fn is_event(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests;
