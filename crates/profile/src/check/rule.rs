//! A rule: identity, explanation and the look at a profile.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use units::CpuSet;

use super::{Evidence, Finding, Severity};
use crate::{Profile, paths};

/// A rule of the audit with its long explanation.
#[derive(Serialize, JsonSchema)]
pub struct Rule {
    /// Kebab-case, never reused for something else.
    pub id: &'static str,
    /// What is found, in one line, for any machine.
    pub title: &'static str,
    /// The severities that the finding can have, most severe first.
    pub severities: &'static [Severity],
    /// What the setting or condition is.
    pub what: &'static str,
    /// Why it costs latency.
    pub why: &'static str,
    /// How to see it by hand.
    pub see: &'static str,
    /// How to change it.
    pub change: &'static str,
    /// What the change costs.
    pub price: &'static str,
    /// Kernel documents, source files, standards and papers behind it.
    pub sources: &'static [&'static str],
    /// Looks at a profile; a rule is silent on what is unknown.
    #[serde(skip)]
    pub(super) find: fn(&Profile) -> Option<Found>,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Rule {
    pub(super) fn apply(&self, profile: &Profile) -> Option<Finding> {
        let found = (self.find)(profile)?;
        let remedy = if found.remedy.is_empty() { vec![self.change.to_owned()] } else { found.remedy };
        Some(Finding {
            id: self.id.to_owned(),
            severity: found.severity,
            title: found.title,
            evidence: found.evidence,
            why: self.why.to_owned(),
            remedy,
        })
    }
}

/// What a rule saw on this machine.
#[derive(Debug)]
pub(super) struct Found {
    severity: Severity,
    title: String,
    evidence: Vec<Evidence>,
    remedy: Vec<String>,
}

impl Found {
    pub(super) fn problem(title: impl Into<String>) -> Self {
        Self::new(Severity::Problem, title)
    }

    pub(super) fn warning(title: impl Into<String>) -> Self {
        Self::new(Severity::Warning, title)
    }

    pub(super) fn note(title: impl Into<String>) -> Self {
        Self::new(Severity::Note, title)
    }

    pub(super) fn new(severity: Severity, title: impl Into<String>) -> Self {
        Self { severity, title: title.into(), evidence: Vec::new(), remedy: Vec::new() }
    }

    /// Adds what was read.
    pub(super) fn read(mut self, source: impl Into<String>, value: impl fmt::Display) -> Self {
        self.evidence.push(Evidence { source: source.into(), value: value.to_string() });
        self
    }

    /// Adds what was read, where it is known.
    pub(super) fn read_known(self, source: impl Into<String>, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.read(source, value),
            None => self,
        }
    }

    /// Adds the first of many readings and says how many more there are: a list of hundreds helps nobody.
    pub(super) fn read_many(mut self, readings: Vec<(String, String)>) -> Self {
        let rest = readings.len().saturating_sub(SHOWN);
        self.evidence.extend(readings.into_iter().take(SHOWN).map(|(source, value)| Evidence { source, value }));
        if rest > 0 { self.read("and more", format!("{rest} others alike")) } else { self }
    }

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

    /// Adds a step or alternative of the way out; without any, the rule's general advice is given.
    pub(super) fn remedy(mut self, step: impl Into<String>) -> Self {
        self.remedy.push(step.into());
        self
    }
}

/// How many readings of one kind a finding lists.
const SHOWN: usize = 8;

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
