//! Boot parameters that the kernel cannot follow as written.

use units::CpuSet;

use super::Rule;
use super::Severity::{Note, Warning};
use super::rule::{Found, param_absent};
use crate::catalogue::LINUX;
use crate::cmdline::{Param, parse_cpu_list, parse_isolcpus, uses_last_cpu};
use crate::{Profile, paths};

/// Boot parameters whose value is a list of CPUs.
const CPU_LISTS: [&str; 4] = ["isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity"];

/// What one of [`CPU_LISTS`] says.
enum List {
    Cpus(CpuSet),
    Unreadable(&'static str),
    /// It names the last CPU, which nobody read.
    Unknown,
}

fn read_list(profile: &Profile, name: &str, param: &Param) -> List {
    let Some(value) = param.value.as_deref() else {
        // rcu_nocbs alone is complete: it enables off-loading for CPUs chosen later.
        return if name == "rcu_nocbs" { List::Unknown } else { List::Unreadable("names no CPU") };
    };
    if value.is_empty() {
        return List::Unreadable("names no CPU");
    }
    let last = profile.cpus.last();
    let list = value.rsplit(',').next().unwrap_or(value);
    let names_last = uses_last_cpu(value);
    let names_all = list.eq_ignore_ascii_case("all");
    // lib/bitmap.c, "lib: bitmap: support "N" as an alias for size of bitmap".
    if names_last && profile.kernel.at_least(5, 13) == Some(false) {
        return List::Unreadable("names the last CPU by N, which kernels before 5.13 do not know");
    }
    // b18def121f07, "bitmap_parse: Support 'all' semantics"; in rcu_nocbs= it was known since 5.2
    // (kernel/rcu/tree_plugin.h, rcu_nocb_setup()).
    let (all_since, before) = match name {
        "rcu_nocbs" => ((5, 2), "says all, which kernels before 5.2 do not know here"),
        _ => ((5, 14), "says all, which kernels before 5.14 do not know here"),
    };
    if names_all && profile.kernel.at_least(all_since.0, all_since.1) == Some(false) {
        return List::Unreadable(before);
    }
    if (names_last || names_all) && last.is_none() {
        return List::Unknown;
    }
    let cpus = match name {
        "isolcpus" => parse_isolcpus(value, last).map(|asked| asked.cpus),
        _ => parse_cpu_list(value, last),
    };
    match cpus {
        Some(cpus) if cpus.is_empty() => List::Unreadable("names no CPU"),
        Some(cpus) => List::Cpus(cpus),
        None => List::Unreadable("is not a list of CPUs"),
    }
}

pub(super) static UNREADABLE: Rule = Rule {
    id: "boot-list-unreadable",
    title: "A boot parameter's list of CPUs is not one",
    severities: &[Warning],
    what: "isolcpus=, nohz_full=, rcu_nocbs= and irqaffinity= take lists such as 2-3,6.",
    why: "The kernel drops a list that it cannot read, mostly with one line in the log that nobody sees, and boots \
          without the setting. rcu_nocbs= then takes all CPUs instead, irqaffinity= the boot CPU and those that it \
          read before the fault.",
    see: "/proc/cmdline; `dmesg | grep -i -e housekeeping -e nocb -e malformed`.",
    change: "Write the list with numbers and ranges that rise, for example isolcpus=domain,managed_irq,2-3, and \
             compare with the effective files after a reboot.",
    price: "None.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/kernel-parameters.rst, cpu lists",
        "Linux lib/bitmap-str.c, bitmap_parselist()",
        "Linux kernel/sched/isolation.c",
    ],
    find: |profile| {
        let bad: Vec<(String, String)> = CPU_LISTS
            .iter()
            .flat_map(|name| profile.kernel.params_named(name).map(move |param| (*name, param)))
            .filter_map(|(name, param)| match read_list(profile, name, param) {
                List::Unreadable(why) => Some((paths::CMDLINE.to_owned(), format!("{} {why}", param.text()))),
                List::Cpus(_) | List::Unknown => None,
            })
            .collect();
        (!bad.is_empty())
            .then(|| Found::warning("The kernel cannot read a list of CPUs among its boot parameters").read_many(bad))
    },
};

pub(super) static ABSENT_CPUS: Rule = Rule {
    id: "boot-list-names-absent-cpus",
    title: "A boot parameter names CPUs that the machine lacks",
    severities: &[Warning],
    what: "A list of CPUs among the boot parameters reaches beyond the CPUs that the kernel made room for.",
    why: "Depending on its version and configuration the kernel drops the excess or the whole list, so the CPUs that \
          do exist may not be isolated either. It happens when a configuration moves to a smaller board or a virtual \
          machine with fewer CPUs.",
    see: "/proc/cmdline against /sys/devices/system/cpu/possible.",
    change: "Correct the list; on 5.13 and newer, N stands for the last CPU, for example 2-N.",
    price: "None.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/kernel-parameters.rst, cpu lists",
        "Linux lib/bitmap-str.c, bitmap_parselist()",
    ],
    find: |profile| {
        let possible = profile.cpus.possible.as_ref().or(profile.cpus.present.as_ref())?;
        let place = if profile.cpus.possible.is_some() { paths::POSSIBLE } else { paths::PRESENT };
        let mut absent = CpuSet::new();
        let mut readings = Vec::new();
        for name in CPU_LISTS {
            for param in profile.kernel.params_named(name) {
                if let List::Cpus(cpus) = read_list(profile, name, param) {
                    let beyond = cpus.difference(possible);
                    if !beyond.is_empty() {
                        absent = absent.union(&beyond);
                        readings.push((paths::CMDLINE.to_owned(), param.text()));
                    }
                }
            }
        }
        (!absent.is_empty()).then(|| {
            Found::warning(format!("Boot parameters name CPUs that do not exist: {absent}"))
                .read_many(readings)
                .read(place, possible)
        })
    },
};

/// Parameters of which one occurrence is meant: a second with another value wins, loses or is refused, by parameter.
const SINGLE: [&str; 15] = [
    "isolcpus",
    "nohz_full",
    "rcu_nocbs",
    "irqaffinity",
    "nohz",
    "idle",
    "intel_idle.max_cstate",
    "processor.max_cstate",
    "intel_pstate",
    "amd_pstate",
    "preempt",
    "clocksource",
    "mitigations",
    "skew_tick",
    "maxcpus",
];

pub(super) static DUPLICATES: Rule = Rule {
    id: "boot-parameters-contradict",
    title: "A boot parameter is given twice with different values",
    severities: &[Warning],
    what: "The same boot parameter stands on the command line more than once, with values that differ: typically \
           once from the distribution's default and once from a tuning tool.",
    why: "For most parameters the last one wins, but isolcpus= and nohz_full= refuse a second list that differs from \
          the first, so the effective setting is not what the later one says.",
    see: "/proc/cmdline.",
    change: "Keep one occurrence; look for the second source in /etc/default/grub, /etc/default/grub.d, \
             /etc/kernel/cmdline, grubby, and the tuning tool's own boot loader fragment.",
    price: "None.",
    checked: LINUX,
    sources: &[
        "Linux kernel/sched/isolation.c, housekeeping_setup()",
        "Linux Documentation/admin-guide/kernel-parameters.rst",
    ],
    find: |profile| {
        let contradicting: Vec<&str> = SINGLE
            .into_iter()
            .filter(|name| {
                let mut values = profile.kernel.params_named(name).map(|param| param.value.as_deref());
                let first = values.next();
                values.any(|value| Some(value) != first)
            })
            .collect();
        let names = contradicting.join("=, ");
        (!contradicting.is_empty()).then(|| {
            let found = Found::warning(format!("Given more than once with different values: {names}="));
            contradicting.iter().fold(found, |found, name| found.read_param(profile, name))
        })
    },
};

/// ACPI_PROCESSOR_MAX_POWER (include/acpi/processor.h).
const ACPI_STATES_MAX: u32 = 8;

pub(super) static IDLE_LIMIT_IGNORED: Rule = Rule {
    id: "idle-limit-ignored",
    title: "A limit of idle states is meant for another driver",
    severities: &[Warning],
    what: "intel_idle.max_cstate= limits the driver intel_idle, processor.max_cstate= the driver acpi_idle; only one \
           of the two drives the CPUs. intel_idle.max_cstate=0 limits nothing: it switches intel_idle off, and \
           acpi_idle takes over.",
    why: "The limit is not in force, and the CPUs sleep as deeply as the other driver lets them.",
    see: "/sys/devices/system/cpu/cpuidle/current_driver against /proc/cmdline, and the states in \
          /sys/devices/system/cpu/cpu0/cpuidle.",
    change: "Give the limit to the driver in use, or both limits: intel_idle.max_cstate=1 processor.max_cstate=1.",
    price: "Shallow idle states draw more power and heat, and may lower the highest turbo frequency.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/pm/intel_idle.rst, Kernel Command Line Options and Module Parameters",
        "Linux Documentation/admin-guide/pm/cpuidle.rst, Idle States Control Via Kernel Command Line",
    ],
    find: |profile| {
        let kernel = &profile.kernel;
        let driver = profile.power.idle_driver.as_deref()?;
        let intel = kernel.param_value("intel_idle.max_cstate");
        let acpi = kernel.param_value("processor.max_cstate");
        // A higher number than the driver has states only overrides limits for particular machines
        // (drivers/acpi/processor_idle.c, set_max_cstate()).
        let acpi_limits = acpi.is_some_and(|limit| !limit.parse().is_ok_and(|limit: u32| limit > ACPI_STATES_MAX));
        let polls = kernel.param_value("idle") == Some("poll");
        let title = match (driver, intel, acpi_limits) {
            _ if polls => return None,
            ("intel_idle", None, true) => {
                "processor.max_cstate= does not limit intel_idle, which drives the idle states".to_owned()
            }
            ("acpi_idle", Some("0"), false) => {
                "intel_idle.max_cstate=0 only handed the idle states to acpi_idle, without a limit".to_owned()
            }
            ("acpi_idle", Some(limit), false) if limit != "0" => {
                format!("intel_idle.max_cstate={limit} does not limit acpi_idle, which drives the idle states")
            }
            _ => return None,
        };
        Some(
            Found::warning(title)
                .read("/sys/devices/system/cpu/cpuidle/current_driver", driver)
                .read_param(profile, "intel_idle.max_cstate")
                .read_param(profile, "processor.max_cstate"),
        )
    },
};

/// From how many CPUs on the ticks' contention is worth a word: the kernel says "larger systems" and names no number.
const LARGER_SYSTEM_CPUS: usize = 16;

pub(super) static SKEW_TICK: Rule = Rule {
    id: "ticks-coincide",
    title: "The ticks of many CPUs coincide",
    severities: &[Note],
    what: "By default all CPUs take their tick at the same moment; skew_tick=1 spreads the ticks over half of the \
           period.",
    why: "Coinciding ticks contend for the time-keeping and RCU locks, which is a periodic delay that grows with the \
          number of CPUs.",
    see: "skew_tick= in /proc/cmdline, /sys/devices/system/cpu/online.",
    change: "Boot with skew_tick=1.",
    price: "Slightly more power, as idle CPUs wake at different moments.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/kernel-parameters.txt, skew_tick=",
        "Linux kernel/time/tick-sched.c, tick_setup_sched_timer()",
    ],
    find: |profile| {
        let online = profile.cpus.online.as_ref()?;
        let fires = online.len() >= LARGER_SYSTEM_CPUS && param_absent(profile, "skew_tick");
        fires.then(|| {
            Found::note(format!("The ticks of {} CPUs coincide", online.len()))
                .read(paths::ONLINE, online)
                .read(paths::CMDLINE, "skew_tick= is absent")
        })
    },
};
