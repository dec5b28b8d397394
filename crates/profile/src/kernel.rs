//! Kernel, preemption model, configuration and command line.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cmdline::{Param, same_name};
use crate::paths;

/// How willingly the kernel lets a task be preempted while it works for another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preemption {
    /// Only on return to user space.
    None,
    /// At marked places too.
    Voluntary,
    /// Nearly everywhere, but ordinary tasks wait for the tick.
    Lazy,
    /// Nearly everywhere.
    Full,
    /// PREEMPT_RT: also inside most locks and interrupt handlers.
    Realtime,
    /// Nothing readable tells.
    #[default]
    Unknown,
}

impl Preemption {
    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none (server)",
            Self::Voluntary => "voluntary (desktop)",
            Self::Lazy => "lazy",
            Self::Full => "full (low-latency desktop)",
            Self::Realtime => "real-time (PREEMPT_RT)",
            Self::Unknown => "unknown",
        }
    }
}

/// Kernel, preemption model, configuration and command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Kernel {
    /// For example `6.12.9-rt` (/proc/sys/kernel/osrelease).
    pub release: Option<String>,
    /// The build string (/proc/sys/kernel/version).
    pub version: Option<String>,
    /// Machine architecture (/proc/sys/kernel/arch, else from the configuration).
    pub arch: Option<String>,
    /// The preemption model in use.
    pub preemption: Preemption,
    /// What told the preemption model: a file and its value.
    pub preemption_source: Option<String>,
    /// The boot parameters as one line, without those for init (/proc/cmdline).
    pub cmdline: Option<String>,
    /// The boot parameters one by one.
    pub params: Vec<Param>,
    /// Where the configuration was read: /proc/config.gz or /boot/config-RELEASE.
    pub config_source: Option<String>,
    /// The whole configuration; empty where it could not be read.
    pub config: BTreeMap<String, String>,
}

impl Kernel {
    /// Whether an option is built in or a module; `None` where no configuration could be read.
    #[must_use]
    pub fn has_config(&self, name: &str) -> Option<bool> {
        if self.config.is_empty() {
            return None;
        }
        Some(self.config.get(name).is_some_and(|value| value != "n"))
    }

    /// Where the configuration was read, for evidence.
    #[must_use]
    pub fn config_place(&self) -> &str {
        self.config_source.as_deref().unwrap_or(paths::CONFIG)
    }

    /// The configuration's line for an option, as `.config` would write it.
    #[must_use]
    pub fn config_line(&self, name: &str) -> String {
        match self.config.get(name).map(String::as_str) {
            None => format!("{name} is absent"),
            Some("n") => format!("# {name} is not set"),
            Some(value) => format!("{name}={value}"),
        }
    }

    /// All occurrences of a boot parameter, in order.
    pub fn params_named<'a>(&'a self, name: &str) -> std::vec::IntoIter<&'a Param> {
        self.params.iter().filter(|param| same_name(&param.name, name)).collect::<Vec<_>>().into_iter()
    }

    /// The last occurrence of a boot parameter, which for most parameters wins.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params_named(name).next_back()
    }

    /// The value of the last occurrence.
    #[must_use]
    pub fn param_value(&self, name: &str) -> Option<&str> {
        self.param(name)?.value.as_deref()
    }

    /// Whether the kernel is at least this version; `None` where the release could not be read.
    #[must_use]
    pub fn at_least(&self, major: u32, minor: u32) -> Option<bool> {
        let (have_major, have_minor) = parse_release(self.release.as_deref()?)?;
        Some((have_major, have_minor) >= (major, minor))
    }
}

/// Major and minor number of a release.
#[must_use]
pub fn parse_release(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.trim().split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The architecture that the configuration was made for, in `uname -m` words.
#[must_use]
pub fn arch_of_config(config: &BTreeMap<String, String>) -> Option<String> {
    const ARCHITECTURES: [(&str, &str); 5] = [
        ("CONFIG_X86_64", "x86_64"),
        ("CONFIG_X86_32", "i686"),
        ("CONFIG_ARM64", "aarch64"),
        ("CONFIG_ARM", "armv7l"),
        ("CONFIG_RISCV", "riscv64"),
    ];
    let is_set = |name: &str| config.get(name).is_some_and(|value| value == "y");
    ARCHITECTURES.iter().find(|(name, _)| is_set(name)).map(|(_, arch)| (*arch).to_owned())
}

/// What is known about preemption, in the order of trust.
#[derive(Clone, Copy, Debug, Default)]
pub struct PreemptionHints<'a> {
    /// /sys/kernel/realtime.
    pub realtime: Option<&'a str>,
    /// /proc/sys/kernel/version.
    pub version: Option<&'a str>,
    /// /sys/kernel/debug/sched/preempt.
    pub dynamic: Option<&'a str>,
    /// The boot parameter `preempt=`.
    pub boot: Option<&'a str>,
}

/// Decides the preemption model, with the source that decided.
#[must_use]
pub fn preemption(
    hints: PreemptionHints<'_>,
    config: &BTreeMap<String, String>,
    config_place: &str,
) -> (Preemption, Option<String>) {
    let found = |model, source: &str, value: &str| (model, Some(format!("{source}: {}", value.trim())));
    if let Some(value) = hints.realtime.filter(|value| value.trim() == "1") {
        return found(Preemption::Realtime, paths::REALTIME, value);
    }
    // 5.x and newer write PREEMPT_RT, patched 4.x kernels "PREEMPT RT".
    if let Some(value) = hints.version.filter(|v| v.contains("PREEMPT_RT") || v.contains("PREEMPT RT")) {
        return found(Preemption::Realtime, paths::VERSION, value);
    }
    if let Some((value, model)) = hints.dynamic.and_then(|v| Some((v, model_named(&crate::text::chosen(v)?)?))) {
        return found(model, paths::PREEMPT_DYNAMIC, value);
    }
    let is_set = |name: &str| config.get(name).is_some_and(|value| value == "y");
    let dynamic = is_set("CONFIG_PREEMPT_DYNAMIC") || hints.version.is_some_and(|v| v.contains("PREEMPT_DYNAMIC"));
    if let Some((value, model)) = hints.boot.filter(|_| dynamic).and_then(|v| Some((v, model_named(v)?))) {
        return found(model, paths::CMDLINE, &format!("preempt={value}"));
    }
    const MODELS: [(&str, Preemption); 6] = [
        ("CONFIG_PREEMPT_RT", Preemption::Realtime),
        ("CONFIG_PREEMPT_RT_FULL", Preemption::Realtime),
        ("CONFIG_PREEMPT_LAZY", Preemption::Lazy),
        ("CONFIG_PREEMPT", Preemption::Full),
        ("CONFIG_PREEMPT_VOLUNTARY", Preemption::Voluntary),
        ("CONFIG_PREEMPT_NONE", Preemption::None),
    ];
    if let Some((name, model)) = MODELS.into_iter().find(|(name, _)| is_set(name)) {
        return found(model, config_place, &format!("{name}=y"));
    }
    match hints.version {
        // PREEMPT_DYNAMIC alone does not tell the model in use, but it does tell that it is not real-time.
        Some(version) if version.contains("PREEMPT_DYNAMIC") => found(Preemption::Unknown, paths::VERSION, version),
        Some(version) if version.contains("PREEMPT") => found(Preemption::Full, paths::VERSION, version),
        _ => (Preemption::Unknown, None),
    }
}

fn model_named(word: &str) -> Option<Preemption> {
    Some(match word {
        "none" => Preemption::None,
        "voluntary" => Preemption::Voluntary,
        "full" => Preemption::Full,
        "lazy" => Preemption::Lazy,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(hints: PreemptionHints<'_>, config: &str, expected: Preemption) {
        assert_eq!(
            preemption(hints, &crate::kconfig::parse(config), "/proc/config.gz").0,
            expected,
            "{hints:?} {config}"
        );
    }

    #[test]
    fn models() {
        let none = PreemptionHints::default();
        check(none, "", Preemption::Unknown);
        check(none, "CONFIG_PREEMPT_RT=y\nCONFIG_PREEMPT=y", Preemption::Realtime);
        check(none, "CONFIG_PREEMPT_VOLUNTARY=y", Preemption::Voluntary);
        let version = |v| PreemptionHints { version: Some(v), ..none };
        check(version("#1 SMP PREEMPT RT Fri"), "", Preemption::Realtime);
        check(version("#1 SMP PREEMPT Fri"), "", Preemption::Full);
        check(version("#1 SMP PREEMPT_DYNAMIC Fri"), "", Preemption::Unknown);
        let boot = PreemptionHints { boot: Some("full"), ..none };
        check(boot, "CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_PREEMPT_VOLUNTARY=y", Preemption::Full);
        check(boot, "CONFIG_PREEMPT_VOLUNTARY=y", Preemption::Voluntary);
        let dynamic = PreemptionHints { dynamic: Some("none voluntary full (lazy)"), ..boot };
        check(dynamic, "CONFIG_PREEMPT_DYNAMIC=y", Preemption::Lazy);
    }

    #[test]
    fn releases() {
        assert_eq!(parse_release("6.12.9-rt1"), Some((6, 12)));
        assert_eq!(parse_release("6"), None);
        assert_eq!(Kernel::default().at_least(6, 12), None);
    }
}
