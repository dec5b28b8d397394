//! What a lab is made of: nodes with their kernels, clocks and boot parameters, and the segments between them. Pure.

mod segment;

use serde::{Deserialize, Serialize};

pub use self::segment::{Address, Segment, SegmentPort};
use crate::guest::Interface;
use crate::machine::{Architecture, Machine};

/// More machines than any host emulates at once.
const MAX_NODES: usize = 64;
/// Memory that a kernel and its first file system need (MiB).
const MIN_MEMORY_MIB: u32 = 128;
/// Memory that an installed system takes at its start (MiB).
const MIN_DISK_MEMORY_MIB: u32 = 384;
/// Characters that mean something where GRUB's settings are read, which is in a shell, between double quotes.
const GRUB_S_OWN: [char; 4] = ['"', '$', '`', '\\'];
/// A name becomes a folder and a socket, whose paths are bounded.
const MAX_NAME: usize = 24;
/// What is still a bad clock and not a broken one: an oscillator of a cheap board is off by tens of ppm.
const MAX_FREQUENCY_OFFSET_PPM: i32 = 10_000;

/// One lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it shows, for people.
    pub about: String,
    /// Its machines.
    pub node: Vec<Node>,
    /// What joins them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segment: Vec<Segment>,
    /// What `punctual lab test` does with it, in this order.
    #[serde(default)]
    pub step: Vec<Step>,
}

/// Something that must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Step {
    /// What holds, for people.
    pub about: String,
    /// The node that the command runs on; the first where absent.
    #[serde(default)]
    pub node: Option<String>,
    /// For its shell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// Instead of `run`: a command of `punctual lab` for the host that looks at the lab or changes it, without the
    /// lab's name (`analyser --between a b`); one of [`STEP_COMMANDS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<String>,
    /// Instead of `run`, for a node with a disk: how it starts again; the step holds where its agent answers then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reboot: Option<Reboot>,
    /// How long a reboot may take until then (s, 300 where absent); with `run`: the command is run again, also where its
    /// node starts anew meanwhile, until it holds or so much time has passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_s: Option<u64>,
    /// The exit codes that are right.
    #[serde(default = "success")]
    pub exit: Vec<i32>,
    /// Texts that its standard output must contain.
    #[serde(default)]
    pub contains: Vec<String>,
    /// Texts that it must not contain.
    #[serde(default)]
    pub lacks: Vec<String>,
}

/// The commands of `punctual lab` that can be a step: those that neither start nor end a lab.
pub const STEP_COMMANDS: [&str; 2] = ["analyser", "link"];

fn success() -> Vec<i32> {
    vec![0]
}

/// How a machine starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reboot {
    /// Its system is asked to.
    Orderly,
    /// Its power fails: what it has not brought to its disk is lost.
    PowerCut,
}

/// How long a reboot may take where nothing else is said (s): an emulated machine boots in half a minute, and in some
/// minutes where others have the host's CPUs.
pub const REBOOT_S: u64 = 300;

impl Step {
    /// What is wrong with it in a lab of these nodes.
    fn out_of_bounds(&self, nodes: &[Node]) -> Option<String> {
        let node = match &self.node {
            Some(name) => match nodes.iter().find(|node| node.name == *name) {
                Some(node) => node,
                None => return Some(format!("is for node {name}, which it does not have")),
            },
            None => nodes.first()?,
        };
        let does = [!self.run.is_empty(), self.lab.is_some(), self.reboot.is_some()];
        let command = self.lab.as_deref().map(|words| words.split_ascii_whitespace().next().unwrap_or_default());
        match does.iter().filter(|does| **does).count() {
            0 => return Some("has neither 'run' nor 'lab' nor 'reboot': it does nothing".to_owned()),
            1 => {}
            _ => return Some("has more than one of 'run', 'lab' and 'reboot': name one".to_owned()),
        }
        match (command, self.reboot) {
            (Some(_), _) if self.node.is_some() => Some("has 'lab', which is for the host, beside 'node'".to_owned()),
            (Some(command), _) if !STEP_COMMANDS.contains(&command) => {
                Some(format!("has the command 'lab {command}': possible are {}", STEP_COMMANDS.join(" and ")))
            }
            (Some(_), _) if self.within_s.is_some() => {
                Some("has 'within-s', which is for what nodes do, beside 'lab'".to_owned())
            }
            (_, Some(_)) if node.disk.is_none() => {
                Some(format!("reboots node {}, which has no disk to start again from", node.name))
            }
            _ => None,
        }
    }

    /// What is wrong with how its command ended; `None` where all is as it must be.
    #[must_use]
    pub fn fault(&self, exit: i32, output: &str) -> Option<String> {
        if !self.exit.contains(&exit) {
            return Some(format!("it ended with exit code {exit} instead of {:?}", self.exit));
        }
        if let Some(missing) = self.contains.iter().find(|text| !output.contains(text.as_str())) {
            return Some(format!("its output lacks '{missing}'"));
        }
        self.lacks.iter().find(|text| output.contains(text.as_str())).map(|text| format!("its output has '{text}'"))
    }
}

/// One machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Node {
    /// Its name, unique in the lab.
    pub name: String,
    /// The kernel that it starts with, with the first file system that the lab makes; a node has this or `disk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelName>,
    /// The installed system that it starts from, through a BIOS and GRUB. Its packages are installed ones, its boot
    /// parameters stand in GRUB's configuration, and what it writes is still there after a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskName>,
    /// Its CPUs (1 to 16, on armhf to 8).
    #[serde(default = "one")]
    pub cpus: u32,
    /// Its memory (MiB, 128 to 16384, on armhf to 3072).
    #[serde(default = "default_memory")]
    pub memory_mib: u32,
    /// Added to the kernel's command line.
    #[serde(default)]
    pub boot: String,
    /// Debian packages whose programs it has.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Kernel modules that are loaded at the start; what they need comes along.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Commands for its shell, run at each start before it counts as up.
    #[serde(default)]
    pub setup: Vec<String>,
    /// What its realtime clock shows when it is switched on (UTC, `2026-01-01T00:00:00`); the host's time where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
    /// By how much all its clocks run faster than the host's (ppm, -10000 to 10000; slower where negative); where absent
    /// the kernel measures its counter itself, to some ppm. Steps of 0.5 ppm and less, since the kernel is told its
    /// counter's frequency in whole kHz. On amd64 alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_offset_ppm: Option<i32>,
    /// Whether the host records what this node writes to its parallel port, 0x378, with the host's time. On amd64 alone.
    #[serde(default)]
    pub analyser: bool,
    /// Whether its clock counts its one CPU's instructions, so that nothing that the host does shows in it. On amd64, with
    /// a kernel.
    #[serde(default)]
    pub deterministic: bool,
}

impl Node {
    /// What is asked of it that only amd64 has.
    fn not_on_its_machine(&self) -> Option<&'static str> {
        if self.architecture() == Architecture::Amd64 {
            None
        } else if self.frequency_offset_ppm.is_some() {
            Some("frequency-offset-ppm, the rate of a counter that the kernel is told, is not possible there")
        } else if self.analyser {
            Some("analyser, which listens at the parallel port, is not possible there")
        } else if self.deterministic {
            Some("deterministic is not possible there")
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
    /// What is wrong with how it starts.
    fn unfit_system(&self) -> Option<String> {
        let Self { name, memory_mib, boot, .. } = self;
        match (self.kernel, self.disk) {
            (None, None) => Some(format!("node {name} has neither a kernel nor a disk: there is nothing to start")),
            (Some(_), Some(disk)) => Some(format!(
                "node {name} has a kernel beside its disk: {} starts with its own, name one of the two",
                disk.name()
            )),
            (None, Some(_)) if *memory_mib < MIN_DISK_MEMORY_MIB => Some(format!(
                "node {name} has {memory_mib} MiB of memory: an installed system takes {MIN_DISK_MEMORY_MIB} and more"
            )),
            (_, _)
                if self.deterministic
                    && (self.cpus != 1 || self.disk.is_some() || self.frequency_offset_ppm.is_some()) =>
            {
                Some(format!(
                    "node {name} is deterministic: it has one CPU, a kernel and no disk, and a clock of its own rate"
                ))
            }
            (None, Some(_)) if self.frequency_offset_ppm.is_some() => Some(format!(
                "node {name} has a frequency offset, which depends on the host and so cannot stand in the \
                 configuration of an installed system's boot loader: a node with a kernel can have one"
            )),
            (None, Some(_)) => boot.chars().find(|c| GRUB_S_OWN.contains(c) || c.is_control()).map(|found| {
                format!(
                    "node {name} has {found:?} in its boot parameters, which GRUB's configuration takes for its own"
                )
            }),
            (Some(_), None) => None,
        }
    }
}

/// A kernel of Debian's.
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
    /// What it runs on.
    #[must_use]
    pub const fn architecture(self) -> Architecture {
        match self {
            Self::Rt612 | Self::Rt61 => Architecture::Amd64,
            Self::Rt61Armhf => Architecture::Armhf,
        }
    }
}

impl Node {
    /// What it is.
    #[must_use]
    pub fn architecture(&self) -> Architecture {
        // Installed systems are PCs'.
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
    /// Its name in a scenario.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debian12 => "debian-12",
            Self::Debian13 => "debian-13",
        }
    }
}

/// Why a text is no scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// Not TOML, or not of the form; says line and column.
    #[error("the scenario is not of the form that the built-in ones have ('punctual lab show rt-basic'): {0}")]
    Form(String),
    /// Something is out of bounds.
    #[error("scenario {scenario}: {what}")]
    Bounds {
        /// Which.
        scenario: String,
        /// What, with its bound.
        what: String,
    },
}

const BUILT_IN: [&str; 15] = [
    include_str!("../scenarios/rt-basic.toml"),
    include_str!("../scenarios/rt-contradictions.toml"),
    include_str!("../scenarios/armhf.toml"),
    include_str!("../scenarios/two-nodes.toml"),
    include_str!("../scenarios/three-nodes.toml"),
    include_str!("../scenarios/grub-boot.toml"),
    include_str!("../scenarios/tune.toml"),
    include_str!("../scenarios/explain.toml"),
    include_str!("../scenarios/rhythm.toml"),
    include_str!("../scenarios/spoilers.toml"),
    include_str!("../scenarios/app.toml"),
    include_str!("../scenarios/tails.toml"),
    include_str!("../scenarios/which-knob.toml"),
    include_str!("../scenarios/campaign-boot.toml"),
    include_str!("../scenarios/foreign.toml"),
];

impl Scenario {
    /// A built-in one.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        Self::all_built_in().find(|scenario| scenario.name == name)
    }

    /// All built-in ones; a test reads each.
    pub fn all_built_in() -> impl Iterator<Item = Self> {
        BUILT_IN.iter().filter_map(|text| Self::parse(text).ok())
    }

    /// The text of a built-in one.
    #[must_use]
    pub fn built_in_text(name: &str) -> Option<&'static str> {
        BUILT_IN.into_iter().find(|text| Self::parse(text).is_ok_and(|scenario| scenario.name == name))
    }

    /// Reads a scenario.
    ///
    /// # Errors
    /// Where it is not of the form, or cannot be.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self =
            toml::from_str(text).map_err(|error| ScenarioError::Form(error.to_string().trim().to_owned()))?;
        match scenario.out_of_bounds() {
            Some(what) => Err(ScenarioError::Bounds { scenario: scenario.name, what }),
            None => Ok(scenario),
        }
    }

    /// The network interfaces of the node at `place`, in the order of the segments.
    #[must_use]
    pub fn interfaces(&self, place: usize) -> Vec<Interface> {
        segment::interfaces(&self.segment, &self.node, place)
    }

    fn out_of_bounds(&self) -> Option<String> {
        if !is_name(&self.name) {
            return Some(bad_name(&self.name));
        }
        if self.node.is_empty() {
            return Some("it has no [[node]]: there is nothing to start".to_owned());
        }
        if self.node.len() > MAX_NODES {
            return Some(format!("it has {} nodes: up to {MAX_NODES} are possible", self.node.len()));
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
            if let Some(what) = node.not_on_its_machine() {
                return Some(format!("node {name} is no amd64: {what}"));
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
        if let Some(what) = self.node.iter().find_map(Node::unfit_system) {
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

/// Whether a word can name a node or a lab: letters, digits and dashes, since it names files and sockets too.
#[must_use]
pub fn is_name(word: &str) -> bool {
    (1..=MAX_NAME).contains(&word.len())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        && !word.starts_with('-')
}

fn bad_name(name: &str) -> String {
    format!("'{name}' is no name: 1 to {MAX_NAME} letters, digits and dashes, not beginning with a dash")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_built_in_scenario_can_be_read_and_found_by_its_name() {
        assert_eq!(Scenario::all_built_in().count(), BUILT_IN.len());
        for scenario in Scenario::all_built_in() {
            assert!(Scenario::built_in_text(&scenario.name).is_some());
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_bound() {
        let node = "[[node]]\nname = \"a\"\nkernel = \"6.12-rt\"\n";
        let check = |text: &str, part: &str| {
            let error = Scenario::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        let head = "name = \"x\"\nabout = \"\"\n";
        check(&format!("{head}{node}cpus = 17\n"), "1 to 16 are possible");
        check(&format!("{head}{node}memory-mib = 1\n"), "128 to 16384");
        let board = node.replace("6.12-rt", "6.1-rt-armhf");
        check(&format!("{head}{board}cpus = 9\n"), "1 to 8 are possible");
        check(&format!("{head}{board}memory-mib = 4096\n"), "128 to 3072");
        check(&format!("{head}{board}analyser = true\n"), "no amd64: analyser");
        check(&format!("{head}{board}frequency-offset-ppm = 10\n"), "no amd64: frequency-offset-ppm");
        check(&format!("{head}{board}deterministic = true\n"), "no amd64: deterministic");
        check(&format!("{head}{node}deterministic = true\ncpus = 2\n"), "it has one CPU");
        check(&format!("{head}{node}{node}"), "two nodes are named a");
        check(&format!("{head}node = []\n"), "nothing to start");
        check(&format!("{head}{node}cpu = 1\n"), "line 6");
        check(&format!("{head}{node}frequency-offset-ppm = -10001\n"), "-10000 to 10000");
        let disk = "[[node]]\nname = \"a\"\ndisk = \"debian-13\"\n";
        check(&format!("{head}{disk}kernel = \"6.12-rt\"\n"), "debian-13 starts with its own");
        check(&format!("{head}{disk}memory-mib = 383\n"), "takes 384 and more");
        check(&format!("{head}{disk}frequency-offset-ppm = 1\n"), "a node with a kernel can have one");
        check(&format!("{head}{disk}boot = 'a=\"b\"'\n"), "has '\"' in its boot parameters");
        check(&format!("{head}[[node]]\nname = \"a\"\n"), "neither a kernel nor a disk");
        check(&format!("{head}{}", disk.replace("13", "11")), "debian-12");
        assert!(Scenario::parse(&format!("{head}{disk}boot = 'isolcpus=1'\n")).is_ok());
        check("name = \"../x\"\nabout = \"\"\nnode = []\n", "no name");
    }

    #[test]
    fn a_step_holds_or_says_what_is_wrong() {
        let step = Step {
            about: String::new(),
            node: None,
            run: String::new(),
            lab: None,
            reboot: None,
            within_s: None,
            exit: vec![0, 1],
            contains: vec!["isolated".to_owned()],
            lacks: vec!["problem".to_owned()],
        };
        assert_eq!(step.fault(1, "isolated 2-3"), None);
        assert_eq!(step.fault(3, "isolated 2-3").unwrap(), "it ended with exit code 3 instead of [0, 1]");
        assert_eq!(step.fault(0, "").unwrap(), "its output lacks 'isolated'");
        assert_eq!(step.fault(0, "isolated, a problem").unwrap(), "its output has 'problem'");
        let text = "name = \"x\"\nabout = \"\"\n[[node]]\nname = \"a\"\nkernel = \"6.12-rt\"\n\
                    [[step]]\nabout = \"s\"\nnode = \"b\"\nrun = \"true\"\n";
        assert!(Scenario::parse(text).unwrap_err().to_string().contains("node b, which it does not have"));
    }

    #[test]
    fn a_step_does_one_thing() {
        let check = |node: &str, step: &str, part: &str| {
            let text = format!(
                "name = \"x\"\nabout = \"\"\n[[node]]\nname = \"a\"\n{node}\n[[step]]\nabout = \"s\"\n{step}\n"
            );
            match Scenario::parse(&text) {
                Ok(_) => assert_eq!(part, ""),
                Err(error) => assert!(!part.is_empty() && error.to_string().contains(part), "{error}"),
            }
        };
        let (kernel, disk) = ("kernel = \"6.12-rt\"", "disk = \"debian-13\"");
        check(disk, "reboot = \"power-cut\"\nwithin-s = 60", "");
        check(disk, "reboot = \"orderly\"\nrun = \"true\"", "more than one of");
        check(disk, "reboot = \"later\"", "power-cut");
        check(disk, "", "nor 'reboot': it does nothing");
        check(disk, "run = \"true\"\nwithin-s = 60", "");
        check(disk, "lab = \"link\"\nwithin-s = 60", "is for what nodes do");
        check(kernel, "reboot = \"orderly\"", "reboots node a, which has no disk");
        check(kernel, "lab = \"analyser --between a b\"", "");
        check(kernel, "run = \"true\"\nlab = \"link\"", "more than one of");
        check(kernel, "node = \"a\"\nlab = \"link\"", "beside 'node'");
        check(kernel, "lab = \"down\"", "'lab down': possible are analyser and link");
        check(kernel, "lab = \"\"", "possible are");
    }

    proptest! {
        #[test]
        fn odd_text_is_no_panic(text in ".{0,200}") {
            let _ = Scenario::parse(&text);
        }
    }
}
