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
    /// Nearly everywhere in the kernel.
    Full,
    /// PREEMPT_RT: also inside most locks and interrupt handlers.
    Realtime,
    /// Nothing readable shows the model.
    #[default]
    Unknown,
}

impl Preemption {
    /// The model as text for people.
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
    /// The evidence for the preemption model: a file and its value.
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

    /// Whether the kernel was built for x86; `None` where the architecture is unknown.
    #[must_use]
    pub fn is_x86(&self) -> Option<bool> {
        self.arch.as_deref().map(|arch| matches!(arch, "x86_64" | "i386" | "i486" | "i586" | "i686"))
    }

    /// Whether `preempt=` with this word chooses a model that the kernel has, provided that it can choose at all
    /// (`CONFIG_PREEMPT_DYNAMIC`); `None` where that is unknown.
    #[must_use]
    pub fn offers_preempt(&self, word: &str) -> Option<bool> {
        let realtime = match self.preemption {
            Preemption::Unknown => None,
            model => Some(model == Preemption::Realtime),
        };
        self.offers(word, realtime)
    }

    /// The same of a kernel that is not PREEMPT_RT, before its preemption model is known.
    #[must_use]
    pub fn obeys_preempt(&self, word: &str) -> Option<bool> {
        self.offers(word, Some(false))
    }

    fn offers(&self, word: &str, realtime: Option<bool>) -> Option<bool> {
        let has_lazy = self.has_lazy();
        match word {
            "full" => Some(true),
            "lazy" => has_lazy,
            // kernel/sched/core.c, sched_dynamic_mode(); the second condition came in 7.0 (7dadeaa6e851, "sched: Further
            // restrict the preemption modes").
            "none" | "voluntary" => match (realtime, self.at_least(7, 0), has_lazy) {
                (Some(true), ..) | (_, Some(true), Some(true)) => Some(false),
                (Some(false), Some(false), _) | (Some(false), _, Some(false)) => Some(true),
                _ => None,
            },
            _ => Some(false),
        }
    }

    /// Whether the kernel has the lazy preemption model: none before 6.13, by the architecture since.
    fn has_lazy(&self) -> Option<bool> {
        const OPTION: &str = "CONFIG_ARCH_HAS_PREEMPT_LAZY";
        if self.config.get(OPTION).is_some_and(|value| value == "y") {
            return Some(true);
        }
        if !self.at_least(6, 13)? {
            return Some(false);
        }
        // Which architectures came later is not kept here: only a configuration that was read can lack the option.
        let lacks = (!self.config.is_empty()).then_some(false);
        let Some(arch) = self.arch.as_deref() else { return lacks };
        // x86 had it at once; which others followed before 7.0 is not kept here. From 7.0 on these have it.
        let has = matches!(arch, "x86_64" | "aarch64" | "riscv64" | "loongarch64" | "s390x") || arch.starts_with("ppc");
        let is_x86 = self.is_x86() == Some(true);
        if is_x86 || (has && self.at_least(7, 0)?) { Some(true) } else { lacks }
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
    /// Content of /sys/kernel/realtime.
    pub realtime: Option<&'a str>,
    /// Content of /proc/sys/kernel/version.
    pub version: Option<&'a str>,
    /// Content of /sys/kernel/debug/sched/preempt.
    pub dynamic: Option<&'a str>,
    /// The boot parameter `preempt=`.
    pub boot: Option<&'a str>,
    /// Whether the kernel has the model that `boot` names, from [`Kernel::obeys_preempt`]; `None` if unknown.
    pub boot_is_obeyed: Option<bool>,
    /// Whether the kernel has the lazy model, from [`Kernel::obeys_preempt`]; `None` if unknown.
    pub has_lazy: Option<bool>,
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
    let is_set = |name: &str| config.get(name).is_some_and(|value| value == "y");
    // Since 6.13 such kernels have PREEMPT_DYNAMIC too, and stay real-time whatever `preempt=` chooses.
    if let Some(name) = ["CONFIG_PREEMPT_RT", "CONFIG_PREEMPT_RT_FULL"].into_iter().find(|name| is_set(name)) {
        return found(Preemption::Realtime, config_place, &format!("{name}=y"));
    }
    if let Some((value, model)) = hints.dynamic.and_then(|v| Some((v, model_named(&crate::text::chosen(v)?)?))) {
        return found(model, paths::PREEMPT_DYNAMIC, value);
    }
    let dynamic = is_set("CONFIG_PREEMPT_DYNAMIC") || hints.version.is_some_and(|v| v.contains("PREEMPT_DYNAMIC"));
    if let Some(value) = hints.boot.filter(|_| dynamic) {
        match (hints.boot_is_obeyed, model_named(value)) {
            (Some(true), Some(model)) => return found(model, paths::CMDLINE, &format!("preempt={value}")),
            // Which model it chose is unknown, and that the kernel is not real-time is known.
            (None, Some(_)) => {
                return match hints.version.filter(|version| version.contains("PREEMPT_DYNAMIC")) {
                    Some(version) => found(Preemption::Unknown, paths::VERSION, version),
                    None => found(Preemption::Unknown, config_place, "CONFIG_PREEMPT_DYNAMIC=y"),
                };
            }
            // The kernel ignores it and takes the model that it was built for.
            _ => {}
        }
    }
    const MODELS: [(&str, Preemption); 4] = [
        ("CONFIG_PREEMPT_LAZY", Preemption::Lazy),
        ("CONFIG_PREEMPT", Preemption::Full),
        ("CONFIG_PREEMPT_VOLUNTARY", Preemption::Voluntary),
        ("CONFIG_PREEMPT_NONE", Preemption::None),
    ];
    if let Some((name, model)) = MODELS.into_iter().find(|(name, _)| is_set(name)) {
        return found(model, config_place, &format!("{name}=y"));
    }
    match hints.version {
        // PREEMPT_DYNAMIC alone does not show the model in use, but it shows that the model is not real-time.
        Some(version) if version.contains("PREEMPT_DYNAMIC") => found(Preemption::Unknown, paths::VERSION, version),
        Some(version) if version.contains("PREEMPT") => {
            // Kernels built for lazy preemption say the same as those built for full (init/Makefile, PREEMPT_BUILD).
            let model = if hints.has_lazy == Some(false) { Preemption::Full } else { Preemption::Unknown };
            found(model, paths::VERSION, version)
        }
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
        let known_lazy = |has_lazy| PreemptionHints { has_lazy, ..version("#1 SMP PREEMPT Fri") };
        check(known_lazy(Some(false)), "", Preemption::Full);
        check(known_lazy(Some(true)), "", Preemption::Unknown);
        check(known_lazy(None), "", Preemption::Unknown);
        check(version("#1 SMP PREEMPT_DYNAMIC Fri"), "", Preemption::Unknown);
        let boot = PreemptionHints { boot: Some("full"), boot_is_obeyed: Some(true), ..none };
        check(boot, "CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_PREEMPT_VOLUNTARY=y", Preemption::Full);
        check(boot, "CONFIG_PREEMPT_VOLUNTARY=y", Preemption::Voluntary);
        // A kernel that does not have the model takes the one that it was built for.
        let built_lazy = "CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_PREEMPT_LAZY=y";
        check(
            PreemptionHints { boot: Some("none"), boot_is_obeyed: Some(false), ..none },
            built_lazy,
            Preemption::Lazy,
        );
        check(PreemptionHints { boot: Some("none"), boot_is_obeyed: None, ..none }, built_lazy, Preemption::Unknown);
        let dynamic = PreemptionHints { dynamic: Some("none voluntary full (lazy)"), ..boot };
        check(dynamic, "CONFIG_PREEMPT_DYNAMIC=y", Preemption::Lazy);
        // Since 6.13 kernels with PREEMPT_RT let `preempt=` choose too.
        check(dynamic, "CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_PREEMPT_RT=y", Preemption::Realtime);
    }

    #[test]
    fn a_model_that_is_unknown_is_not_real_time_where_the_kernel_can_choose_it() {
        let source = |hints: PreemptionHints<'_>, config: &str| {
            let found = preemption(hints, &crate::kconfig::parse(config), "/proc/config.gz");
            assert_eq!(found.0, Preemption::Unknown, "{hints:?}");
            found.1
        };
        let boot = PreemptionHints { boot: Some("none"), boot_is_obeyed: None, ..PreemptionHints::default() };
        let version = PreemptionHints { version: Some("#1 SMP PREEMPT_DYNAMIC Fri"), ..boot };
        let evidence = source(version, "");
        assert_eq!(evidence.as_deref(), Some("/proc/sys/kernel/version: #1 SMP PREEMPT_DYNAMIC Fri"));
        let evidence = source(boot, "CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_PREEMPT=y");
        assert_eq!(evidence.as_deref(), Some("/proc/config.gz: CONFIG_PREEMPT_DYNAMIC=y"));
        assert_eq!(source(boot, ""), None);
    }

    #[test]
    fn releases() {
        for (release, expected) in [
            ("6.12.9-rt1", (6, 12)),
            ("6.12.0-rt", (6, 12)),
            ("6.1.0-18-rt-amd64", (6, 1)),
            ("7.0-rc3", (7, 0)),
            ("7.3.4+deb13-amd64", (7, 3)),
            ("4.19-rt", (4, 19)),
            ("10.0", (10, 0)),
        ] {
            assert_eq!(parse_release(release), Some(expected), "{release}");
        }
        assert_eq!(parse_release("6"), None);
        assert_eq!((parse_release("rolling"), parse_release("v6.1"), parse_release("")), (None, None, None));
        assert_eq!(Kernel::default().at_least(6, 12), None);
        let release = |text: &str| Kernel { release: Some(text.to_owned()), ..Kernel::default() };
        assert_eq!(release("6.9").at_least(6, 12), Some(false));
        assert_eq!(release("6.100").at_least(6, 12), Some(true));
    }

    #[test]
    fn preempt_offers_what_the_release_and_the_architecture_have() {
        let offers = |release: &str, arch: &str, preemption, word: &str| {
            let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            Kernel { release: known(release), arch: known(arch), preemption, ..Kernel::default() }.offers_preempt(word)
        };
        let (full, realtime) = (Preemption::Full, Preemption::Realtime);
        assert_eq!(offers("6.12.9", "x86_64", full, "none"), Some(true));
        assert_eq!(offers("6.19.3", "x86_64", full, "voluntary"), Some(true));
        assert_eq!(offers("7.0.0-rc3", "x86_64", full, "voluntary"), Some(false));
        assert_eq!(offers("7.3.4", "aarch64", full, "none"), Some(false));
        assert_eq!(offers("7.3.4", "armv7l", full, "none"), None, "it may have got the lazy model since");
        assert_eq!(offers("6.12.9", "x86_64", realtime, "none"), Some(false));
        assert_eq!(offers("6.12.9", "x86_64", full, "lazy"), Some(false));
        assert_eq!(offers("6.13.0", "x86_64", full, "lazy"), Some(true));
        assert_eq!(offers("6.13.0", "s390x", full, "lazy"), None);
        let configured = |arch: Option<&str>, config: &str| Kernel {
            release: Some("7.3.4".to_owned()),
            arch: arch.map(str::to_owned),
            preemption: full,
            config: crate::kconfig::parse(config),
            ..Kernel::default()
        };
        for arch in [Some("armv7l"), None] {
            assert_eq!(configured(arch, "CONFIG_PREEMPT=y").offers_preempt("none"), Some(true), "{arch:?}");
            let lazy = configured(arch, "CONFIG_ARCH_HAS_PREEMPT_LAZY=y");
            assert_eq!(
                (lazy.offers_preempt("none"), lazy.offers_preempt("lazy")),
                (Some(false), Some(true)),
                "{arch:?}"
            );
        }
        // What is unknown stays so.
        assert_eq!(offers("", "x86_64", full, "none"), None);
        assert_eq!(offers("7.3.4", "", full, "none"), None);
        assert_eq!(offers("6.12.9", "x86_64", Preemption::Unknown, "none"), None);
        assert_eq!(offers("", "", Preemption::Unknown, "full"), Some(true));
        assert_eq!(offers("6.12.9", "x86_64", full, "rt"), Some(false));
    }
}
