//! Findings about clock sources.

use super::Rule;
use super::Severity::{Problem, Warning};
use super::rule::Found;
use crate::catalogue::LINUX;
use crate::{Profile, paths};

/// Clock sources read over a bus or a port, one CPU at a time, and what a reading costs.
const SLOW: [(&str, &str); 3] =
    [("hpet", "about a microsecond"), ("acpi_pm", "several microseconds"), ("pit", "several microseconds")];

/// Clock sources that advance with the tick only.
const COARSE: [&str; 2] = ["jiffies", "refined-jiffies"];

pub(super) static SOURCE: Rule = Rule {
    id: "clock-source-slow",
    title: "The clock source is slow or coarse",
    severities: &[Problem, Warning],
    what: "Every reading of the time goes to the clock source: a register of the CPU (tsc, arch_sys_counter), a \
           device (hpet, acpi_pm, pit), or no more than a count of ticks (jiffies).",
    why: "A device is read over a bus in one to several microseconds, CPUs queue for it, and each reading is a \
          system call; with a count of ticks neither timers nor measurements are finer than the tick.",
    see: "/sys/devices/system/clocksource/clocksource0/current_clocksource and available_clocksource; `dmesg | grep \
          -i clocksource` says why tsc was given up.",
    change: "Find out why the better source was rejected (firmware update, tsc=reliable only where the TSCs are \
             known to agree); drop clocksource= from the boot parameters; where it is available, write its name into \
             current_clocksource.",
    price: "tsc=reliable silences the check that found the fault: on hardware whose TSCs do drift, time then jumps \
            between CPUs.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/timers/timekeeping.rst",
        "Linux Documentation/admin-guide/kernel-parameters.txt, clocksource= and tsc=",
        "Linux drivers/clocksource/acpi_pm.c",
    ],
    find: |profile| {
        let source = profile.time.clocksource.as_deref()?;
        let found = if COARSE.contains(&source) {
            Found::problem(format!("The clock source {source} counts ticks only"))
        } else {
            let (_, cost) = SLOW.iter().find(|(name, _)| *name == source)?;
            Found::warning(format!("The clock source is {source}: each reading takes {cost}"))
        };
        let available =
            (!profile.time.clocksources_available.is_empty()).then(|| profile.time.clocksources_available.join(" "));
        Some(
            found
                .read(paths::CLOCKSOURCE, source)
                .read_known(paths::CLOCKSOURCES, available)
                .read_param(profile, "clocksource")
                .read_param(profile, "tsc"),
        )
    },
};

pub(super) static TSC_REJECTED: Rule = Rule {
    id: "tsc-rejected",
    title: "The kernel does not trust the time-stamp counter",
    severities: &[Warning],
    what: "The processor has a constant time-stamp counter, but the kernel took it off the list of clock sources: it \
           drifted against another clock, differed between sockets, or tsc=unstable was given.",
    why: "All time then comes from a slower source, and the fault behind it (firmware, SMIs, sockets out of step) \
          often costs latency by itself.",
    see: "/sys/devices/system/clocksource/clocksource0/available_clocksource lacks tsc; `dmesg | grep -i -e tsc -e \
          clocksource`.",
    change: "Update the firmware, look for SMIs with the hwlat tracer, and drop tsc=unstable.",
    price: "None for finding the cause; tsc=reliable only hides it.",
    checked: LINUX,
    sources: &[
        "Linux kernel/time/clocksource.c, clocksource_watchdog()",
        "Linux arch/x86/kernel/tsc.c, mark_tsc_unstable()",
    ],
    find: |profile| {
        let time = &profile.time;
        let trusted_by_maker = time.tsc_flags.iter().any(|flag| flag == "constant_tsc");
        let listed =
            time.clocksources_available.is_empty() || time.clocksources_available.iter().any(|source| source == "tsc");
        // A guest is often not shown a usable counter, and has its host's clock instead.
        if !trusted_by_maker || listed || profile.virt.guest != Some(false) {
            return None;
        }
        Some(rejected(profile))
    },
};

fn rejected(profile: &Profile) -> Found {
    Found::warning("The kernel does not trust this machine's time-stamp counter")
        .read(paths::CLOCKSOURCES, profile.time.clocksources_available.join(" "))
        .read(paths::CPUINFO, profile.time.tsc_flags.join(" "))
        .read_param(profile, "tsc")
}
