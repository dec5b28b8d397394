//! The kernel as built: preemption, timers, debugging.

use super::Rule;
use super::Severity::{Note, Problem, Warning};
use super::rule::{Found, is_off, isolated, left_out};
use crate::catalogue::LINUX;
use crate::{Kernel, Preemption, paths};

/// Whether the kernel is known not to be PREEMPT_RT though its model is unknown: its build string and its configuration would
/// say so.
fn is_known_ordinary(kernel: &Kernel) -> bool {
    let source = kernel.preemption_source.as_deref().and_then(|source| source.split_once(": "));
    source.is_some_and(|(place, value)| place == paths::VERSION || value.starts_with("CONFIG_"))
}

pub(super) static PREEMPTION: Rule = Rule {
    id: "kernel-not-realtime",
    title: "The kernel is not PREEMPT_RT",
    severities: &[Problem, Warning],
    what: "The preemption model decides how soon a task that became ready may interrupt the kernel while it works for \
           somebody else. Only PREEMPT_RT turns most spinlocks into sleeping locks, and it always runs interrupt \
           handlers as threads.",
    why: "Without PREEMPT_RT the wait for a spinlock section, an interrupt handler or softirq work has no bound that \
          anyone tests for: typical maxima are hundreds of microseconds to milliseconds under load, even where the \
          average is fine.",
    see: "`uname -v` says PREEMPT_RT; kernels with the patches of the real-time project also have \
          /sys/kernel/realtime, which is 1; with dynamic preemption /sys/kernel/debug/sched/preempt shows the model in \
          parentheses.",
    change: "Boot a kernel built with CONFIG_PREEMPT_RT=y (in mainline since 6.12 for x86-64, arm64 and RISC-V; 7.3 \
             has it for 32-bit ARM and LoongArch too; distributions ship it as linux-image-rt, kernel-rt or Ubuntu \
             realtime).",
    price: "Throughput of interrupt-heavy loads falls by some percent, and drivers outside mainline may not build or \
            may hold raw locks for long.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/core-api/real-time/theory.rst",
        "Linux kernel/Kconfig.preempt",
        "Linux Documentation/admin-guide/kernel-parameters.txt, preempt=",
    ],
    find: |profile| {
        let kernel = &profile.kernel;
        let severity = match kernel.preemption {
            Preemption::None | Preemption::Voluntary => Problem,
            Preemption::Lazy | Preemption::Full => Warning,
            Preemption::Unknown if is_known_ordinary(kernel) => Warning,
            Preemption::Realtime | Preemption::Unknown => return None,
        };
        let mut found =
            Found::new(severity, format!("The kernel is not PREEMPT_RT: preemption is {}", kernel.preemption.as_str()));
        found = match kernel.preemption_source.as_deref().and_then(|source| source.split_once(": ")) {
            Some((source, value)) => found.read(source, value),
            None => found.read("preemption model", kernel.preemption.as_str()),
        };
        found = found.read_known(paths::RELEASE, kernel.release.as_deref()).remedy(PREEMPTION.change);
        let dynamic = kernel.has_config("CONFIG_PREEMPT_DYNAMIC") == Some(true);
        if dynamic && kernel.preemption != Preemption::Full {
            found = found.remedy("Halfway, without another kernel: boot with preempt=full.");
        }
        Some(found)
    },
};

pub(super) static HIGH_RESOLUTION: Rule = Rule {
    id: "high-resolution-timers-off",
    title: "High-resolution timers are off",
    severities: &[Problem],
    what: "High-resolution timers let a sleep end at any nanosecond instead of at the next tick.",
    why: "Every sleep is rounded up to the tick, so a wake-up is late by up to 1 to 10 ms, whatever its priority.",
    see: "CONFIG_HIGH_RES_TIMERS in the configuration, highres= in /proc/cmdline; /proc/timer_list says \
          `.hres_active: 1` when they work.",
    change: "Drop highres=off from the boot parameters, and use a kernel with CONFIG_HIGH_RES_TIMERS=y.",
    price: "None worth naming; they are the default on every current distribution.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/timers/highres.rst",
        "Linux Documentation/admin-guide/kernel-parameters.txt, highres=",
    ],
    find: |profile| {
        let kernel = &profile.kernel;
        let found = Found::problem("High-resolution timers are off: sleeps end only at ticks");
        if kernel.param_value("highres").is_some_and(is_off) {
            return Some(found.read_param(profile, "highres").remedy("Drop highres=off from the boot parameters."));
        }
        left_out(profile, "CONFIG_HIGH_RES_TIMERS").then(|| {
            found.read_config(profile, "CONFIG_HIGH_RES_TIMERS").remedy("Use a kernel with CONFIG_HIGH_RES_TIMERS=y.")
        })
    },
};

pub(super) static RT_GROUPS: Rule = Rule {
    id: "rt-group-scheduling",
    title: "Control groups may refuse real-time policies",
    severities: &[Warning],
    what: "CONFIG_RT_GROUP_SCHED gives each control group its own real-time budget, and a new group's budget is zero.",
    why: "In a group without budget sched_setscheduler() fails with EPERM even for root, so a service or container \
          that asks for SCHED_FIFO runs as an ordinary task, often without saying so.",
    see: "`chrt -f 1 true` inside the service or container; CONFIG_RT_GROUP_SCHED in the configuration.",
    change: "Use a kernel without CONFIG_RT_GROUP_SCHED, or boot with rt_group_sched=0 where the kernel knows it \
             (6.16 and newer), or give each group a budget in cpu.rt_runtime_us (version 1 groups only).",
    price: "Without group budgets any process with the right to real-time policies may use all CPUs' real-time \
            bandwidth.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/scheduler/sched-rt-group.rst",
        "Linux Documentation/admin-guide/cgroup-v2.rst, CPU",
        "Linux kernel/sched/syscalls.c, __sched_setscheduler()",
    ],
    find: |profile| {
        let kernel = &profile.kernel;
        if kernel.has_config("CONFIG_RT_GROUP_SCHED") != Some(true) {
            return None;
        }
        // The parameter came in 6.16 together with the option for its default (e34e0131fea1, "sched: Add commadline
        // option for RT_GROUP_SCHED toggling"), and takes 0 and 1 only (kernel/sched/core.c, setup_rt_group_sched()).
        let default_off = "CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED";
        let knows_it = kernel.at_least(6, 16) != Some(false) || kernel.config.contains_key(default_off);
        let off = match kernel.param_value("rt_group_sched") {
            Some("0") => knows_it,
            Some("1") => false,
            _ => kernel.has_config(default_off) == Some(true),
        };
        // Without any limit the check is skipped: rt_bandwidth_enabled() is false.
        if off || profile.sched.rt_runtime_us == Some(-1) {
            return None;
        }
        Some(
            Found::warning("Control groups have real-time budgets of their own, and may refuse SCHED_FIFO")
                .read_config(profile, "CONFIG_RT_GROUP_SCHED")
                .read_known(paths::RT_RUNTIME, profile.sched.rt_runtime_us),
        )
    },
};

/// Options that cost time at every lock, allocation or memory access (lib/Kconfig.debug, lib/Kconfig.k*san,
/// kernel/trace/Kconfig), each with the option that makes it harmless, if there is one.
const COSTLY: [(&str, Option<&str>); 12] = [
    ("CONFIG_PROVE_LOCKING", None),
    ("CONFIG_DEBUG_LOCK_ALLOC", None),
    ("CONFIG_LOCK_STAT", None),
    ("CONFIG_KASAN", Some("CONFIG_KASAN_HW_TAGS")),
    ("CONFIG_KCSAN", None),
    ("CONFIG_KMSAN", None),
    ("CONFIG_DEBUG_OBJECTS", None),
    ("CONFIG_DEBUG_KMEMLEAK", Some("CONFIG_DEBUG_KMEMLEAK_DEFAULT_OFF")),
    ("CONFIG_DEBUG_PAGEALLOC_ENABLE_DEFAULT", None),
    ("CONFIG_SLUB_DEBUG_ON", None),
    ("CONFIG_IRQSOFF_TRACER", None),
    ("CONFIG_PREEMPT_TRACER", None),
];

/// Options whose cost is small and everywhere.
const MILD: [&str; 2] = ["CONFIG_DEBUG_PREEMPT", "CONFIG_DEBUG_ATOMIC_SLEEP"];

pub(super) static DEBUG: Rule = Rule {
    id: "kernel-debug-options",
    title: "Debugging options are built into the kernel",
    severities: &[Warning, Note],
    what: "Options that check every lock, allocation or memory access, meant for finding bugs in the kernel.",
    why: "They lengthen exactly the sections that nothing can preempt, lock validation by a factor and memory \
          sanitizers by several, so a worst case measured with them says little about the machine.",
    see: "The kernel's configuration (/proc/config.gz or /boot/config-RELEASE).",
    change: "Use a production kernel, built without the options shown.",
    price: "Bugs of the kernel and its drivers are then found later; keep a debug kernel for tests that do not \
            measure time.",
    checked: LINUX,
    sources: &[
        "Linux lib/Kconfig.debug",
        "Linux Documentation/dev-tools/kasan.rst",
        "Linux kernel/trace/Kconfig, IRQSOFF_TRACER",
    ],
    find: |profile| {
        let has = |name: &str| profile.kernel.has_config(name) == Some(true);
        let costly: Vec<&str> = COSTLY
            .iter()
            .filter(|(name, harmless)| has(name) && !harmless.is_some_and(has))
            .map(|(name, _)| *name)
            .collect();
        let mild: Vec<&str> = MILD.into_iter().filter(|name| has(name)).collect();
        let found = match (costly.is_empty(), mild.is_empty()) {
            (false, _) => Found::warning("Costly debugging options are built into the kernel"),
            (true, false) => Found::note("Debugging options with a small cost are built into the kernel"),
            (true, true) => return None,
        };
        Some(costly.into_iter().chain(mild).fold(found, |found, name| found.read_config(profile, name)))
    },
};

pub(super) static PREEMPT_IGNORED: Rule = Rule {
    id: "preempt-parameter-ignored",
    title: "preempt= asks for a preemption model that this kernel does not offer",
    severities: &[Warning],
    what: "preempt= chooses the preemption model at boot, on kernels with CONFIG_PREEMPT_DYNAMIC only. lazy exists \
           since 6.13. none and voluntary do not exist on a PREEMPT_RT kernel, and since 7.0 on no kernel of an \
           architecture that has lazy: x86, arm64, RISC-V, LoongArch, POWER and s390.",
    why: "The kernel ignores the parameter and takes the model that it was built for; the user who set it counts on \
          another one.",
    see: "preempt= in /proc/cmdline against CONFIG_PREEMPT_DYNAMIC in the configuration and the release; \
          /sys/kernel/debug/sched/preempt lists the models and has the one in use in parentheses.",
    change: "Drop the parameter, or ask for a model that the kernel has (full and, since 6.13, lazy), or use a kernel \
             with CONFIG_PREEMPT_RT=y.",
    price: "None.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/kernel-parameters.txt, preempt=",
        "Linux kernel/Kconfig.preempt (7dadeaa6e851, \"sched: Further restrict the preemption modes\")",
        "Linux kernel/sched/core.c, sched_dynamic_mode()",
    ],
    find: |profile| {
        let kernel = &profile.kernel;
        let asked = kernel.param_value("preempt")?;
        if left_out(profile, "CONFIG_PREEMPT_DYNAMIC") {
            return Some(
                Found::warning("preempt= is ignored: this kernel's preemption model is fixed")
                    .read_param(profile, "preempt")
                    .read_config(profile, "CONFIG_PREEMPT_DYNAMIC"),
            );
        }
        (kernel.offers_preempt(asked) == Some(false)).then(|| {
            let others: Vec<&str> =
                ["full", "lazy"].into_iter().filter(|model| kernel.offers_preempt(model) == Some(true)).collect();
            let found = Found::warning(format!("preempt={asked} is ignored: this kernel has no such model"))
                .read_param(profile, "preempt")
                .read("preemption model", kernel.preemption_source.as_deref().unwrap_or(kernel.preemption.as_str()))
                .read_known(paths::RELEASE, kernel.release.as_deref());
            if others.is_empty() {
                found.remedy("Drop the parameter.")
            } else {
                found.remedy(format!("Drop the parameter; this kernel offers {}.", others.join(" and ")))
            }
        })
    },
};

pub(super) static KFENCE_KEYS: Rule = Rule {
    id: "kfence-static-keys",
    title: "The memory sampler patches running code",
    severities: &[Note],
    what: "KFENCE samples memory errors; with CONFIG_KFENCE_STATIC_KEYS it arms each sample by patching the kernel's \
           code.",
    why: "Patching code interrupts every CPU, isolated ones too, once per sampling interval (100 ms by default).",
    see: "/sys/module/kfence/parameters/sample_interval and CONFIG_KFENCE_STATIC_KEYS; `CAL` rises in \
          /proc/interrupts.",
    change: "Boot with kfence.sample_interval=0, or use a kernel without CONFIG_KFENCE_STATIC_KEYS.",
    price: "Memory errors of the kernel are sampled no longer.",
    checked: LINUX,
    sources: &["Linux lib/Kconfig.kfence, KFENCE_STATIC_KEYS", "Linux Documentation/dev-tools/kfence.rst"],
    find: |profile| {
        let kernel = &profile.kernel;
        isolated(profile)?;
        if kernel.has_config("CONFIG_KFENCE_STATIC_KEYS") != Some(true)
            || kernel.has_config("CONFIG_KFENCE") != Some(true)
        {
            return None;
        }
        // Whether the default was changed must be known.
        kernel.cmdline.as_ref()?;
        let default = kernel.config.get("CONFIG_KFENCE_SAMPLE_INTERVAL").map(String::as_str);
        let interval_ms: u64 = kernel.param_value("kfence.sample_interval").or(default)?.parse().ok()?;
        (interval_ms > 0).then(|| {
            Found::note(format!("The memory sampler patches running code every {interval_ms} ms"))
                .read_config(profile, "CONFIG_KFENCE_STATIC_KEYS")
                .read_config(profile, "CONFIG_KFENCE_SAMPLE_INTERVAL")
                .read_param(profile, "kfence.sample_interval")
        })
    },
};
