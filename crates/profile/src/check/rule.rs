//! What the rules of `check` share: readings that many of them show, and how they put CPUs and counts.

use units::CpuSet;

pub(super) use crate::catalogue::Found;
use crate::{Profile, paths};

impl Found {
    /// Adds a boot parameter as it stands on the command line.
    pub(super) fn read_param(self, profile: &Profile, name: &str) -> Self {
        profile.kernel.params_named(name).fold(self, |found, param| found.read(paths::CMDLINE, param.text()))
    }

    /// Adds a line of the kernel's configuration.
    pub(super) fn read_config(self, profile: &Profile, name: &str) -> Self {
        self.read(profile.kernel.config_place(), profile.kernel.config_line(name))
    }

    /// Adds which CPUs are isolated, from each source that isolates.
    pub(super) fn read_isolated(self, profile: &Profile) -> Self {
        let from_boot = profile.isolation.isolated.as_ref().filter(|cpus| !cpus.is_empty());
        let found = self.read_known(paths::ISOLATED, from_boot);
        profile.cpusets.iter().filter(|set| set.is_valid_isolated_partition()).fold(found, |found, set| {
            let cpus = set.granted().map_or_else(String::new, |cpus| format!(", CPUs {cpus}"));
            found.read(format!("{}/cpuset.cpus.partition", set.path), format!("isolated{cpus}"))
        })
    }
}

/// The isolated CPUs, where there are any.
pub(super) fn isolated(profile: &Profile) -> Option<CpuSet> {
    Some(profile.isolated_cpus()).filter(|cpus| !cpus.is_empty())
}

/// `cpus` without the isolated ones, for remedies; `None` where that would leave nobody or is unknown.
pub(super) fn housekeeping(profile: &Profile) -> Option<CpuSet> {
    let online = profile.cpus.online.as_ref()?;
    Some(online.difference(&profile.isolated_cpus())).filter(|cpus| !cpus.is_empty())
}

/// The housekeeping CPUs for a command line that a person copies, or a word in their place.
pub(super) fn housekeeping_list(profile: &Profile) -> String {
    housekeeping(profile).map_or_else(|| "HOUSEKEEPING-CPUS".to_owned(), |cpus| cpus.to_string())
}

/// CPUs as a hexadecimal mask in groups of 32 bits, as the kernel reads it.
pub(super) fn mask(cpus: &CpuSet) -> String {
    let word_count = cpus.last().map_or(0, |last| last / 32) + 1;
    let word =
        |index: u32| (0..32).filter(|bit| cpus.contains(index * 32 + bit)).fold(0_u32, |word, bit| word | 1 << bit);
    let words: Vec<String> = (0..word_count)
        .rev()
        .enumerate()
        .map(
            |(position, index)| {
                if position == 0 { format!("{:x}", word(index)) } else { format!("{:08x}", word(index)) }
            },
        )
        .collect();
    words.join(",")
}

/// How many options a configuration has at least when it is whole: even the smallest kernels have some hundred set and
/// as many more marked as not set, while an excerpt has some tens.
const WHOLE_CONFIG_OPTIONS: usize = 400;

/// Whether an option is certainly not built in: marked so, or absent from a configuration that is whole.
pub(super) fn left_out(profile: &Profile, option: &str) -> bool {
    let config = &profile.kernel.config;
    match config.get(option) {
        Some(value) => value == "n",
        // An option whose conditions are unmet is not mentioned; neither is one that an excerpt dropped.
        None => config.len() >= WHOLE_CONFIG_OPTIONS,
    }
}

/// `1 task` or `2 tasks`.
pub(super) fn count(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// `CPU 2` or `CPUs 2-3`.
pub(super) fn cpus_label(cpus: &CpuSet) -> String {
    if cpus.len() == 1 { format!("CPU {cpus}") } else { format!("CPUs {cpus}") }
}

/// Whether the kernel takes a switch among its boot parameters for off: it looks at the first letters only
/// (lib/kstrtox.c, kstrtobool()).
pub(super) fn is_off(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    value.starts_with(['0', 'n']) || value.starts_with("of")
}

/// Whether a boot parameter's value is absent, with certainty: the command line was read.
pub(super) fn param_absent(profile: &Profile, name: &str) -> bool {
    profile.kernel.cmdline.is_some() && profile.kernel.param(name).is_none()
}
