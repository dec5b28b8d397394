//! Frequencies, idle states and heat.

use units::CpuSet;

use super::Rule;
use super::Severity::{Note, Warning};
use super::rule::{Found, cpus_label, isolated};
use crate::catalogue::LINUX;
use crate::power::FrequencyPolicy;
use crate::{Profile, paths};

/// The slowest way out of idle that passes without a remark, in microseconds: shallow states (C1, WFI) leave within one
/// or two, the first deep ones of x86 and ARM take from some tens on, as long as a good PREEMPT_RT system's worst case.
const TOLERATED_EXIT_US: u64 = 20;

pub(super) static DEEP_IDLE: Rule = Rule {
    id: "deep-idle-states",
    title: "CPUs may sleep so deeply that waking takes long",
    severities: &[Warning, Note],
    what: "An idle CPU switches off clocks, caches and voltage in steps; each deeper state takes longer to leave. \
           Isolated CPUs are judged, or all where none is isolated. A note where it is unknown whether some process \
           holds a bound in /dev/cpu_dma_latency.",
    why: "A timer or interrupt that wakes the CPU is served only after the state is left, tens to several hundred \
          microseconds later, and caches may have to be filled again.",
    see: "/sys/devices/system/cpu/cpuN/cpuidle/stateM/{name,latency,disable}.",
    change: "Switch the deep states off for the CPUs that matter (echo 1 > .../cpuN/cpuidle/stateM/disable, or n/a \
             or a bound in microseconds in .../cpuN/power/pm_qos_resume_latency_us), or let the program hold \
             /dev/cpu_dma_latency while it runs.",
    price: "More power and heat, and less turbo for the other cores; limit it to the CPUs and the time that need it.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/pm/cpuidle.rst",
        "Linux Documentation/power/pm_qos_interface.rst",
        "Linux Documentation/ABI/testing/sysfs-devices-power, pm_qos_resume_latency_us",
    ],
    find: |profile| {
        let power = &profile.power;
        if profile.kernel.param_value("idle") == Some("poll") && profile.kernel.is_x86() != Some(false) {
            return None;
        }
        let judged = isolated(profile).or_else(|| profile.cpus.online.clone())?;
        let slow: Vec<(u32, _)> = judged
            .iter()
            .filter_map(|cpu| Some((cpu, power.slowest_allowed_state(cpu)?)))
            .filter(|(_, state)| state.exit_latency_us > Some(TOLERATED_EXIT_US))
            .collect();
        let worst_us = slow.iter().filter_map(|(_, state)| state.exit_latency_us).max()?;
        let cpus: CpuSet = slow.iter().map(|(cpu, _)| *cpu).collect();
        let title = format!("{} may sleep so deeply that waking takes {worst_us} us", cpus_label(&cpus));
        let found = if power.dma_latency_us.is_some() { Found::warning(title) } else { Found::note(title) };
        let readings = slow
            .iter()
            .map(|(cpu, state)| {
                let exit_us = state.exit_latency_us.unwrap_or_default();
                (
                    format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{}", state.index),
                    format!("{}, latency {exit_us} us, not disabled", state.name),
                )
            })
            .collect();
        let found = found.read_many(readings).read(
            paths::DMA_LATENCY,
            power
                .dma_latency_us
                .map_or_else(|| "not readable: a bound held there is unknown".to_owned(), |us| format!("{us} us")),
        );
        let first = slow.first().map_or(0, |(cpu, _)| *cpu);
        Some(
            found
                .remedy(format!(
                    "echo {TOLERATED_EXIT_US} > /sys/devices/system/cpu/cpu{first}/power/pm_qos_resume_latency_us, \
                     for each of {}.",
                    cpus_label(&cpus)
                ))
                .remedy("Or let the real-time program hold /dev/cpu_dma_latency open with a bound while it runs."),
        )
    },
};

fn governor_readings<'a>(policies: impl Iterator<Item = &'a FrequencyPolicy>) -> Vec<(String, String)> {
    policies
        .filter_map(|policy| {
            let governor = policy.governor.as_deref()?;
            let driver = policy.driver.as_ref().map_or_else(String::new, |driver| format!(", driver {driver}"));
            Some((
                format!("{}/{}/scaling_governor", paths::CPUFREQ, policy.name),
                format!("{governor} on {}{driver}", cpus_label(&policy.cpus)),
            ))
        })
        .collect()
}

pub(super) static GOVERNORS_DIFFER: Rule = Rule {
    id: "governors-differ",
    title: "CPUs have different frequency governors",
    severities: &[Warning],
    what: "The frequency governor decides how fast a CPU runs; not all CPUs have the same one.",
    why: "Mostly a tool set some CPUs and missed others, for example those that came online later; a task that moves \
          meets another speed.",
    see: "`grep . /sys/devices/system/cpu/cpufreq/policy*/scaling_governor`.",
    change: "Set the governor wanted on all policies, or on purpose by group of CPUs and then bind the tasks: \
             cpupower frequency-set -g performance.",
    price: "See governor-not-performance.",
    checked: LINUX,
    sources: &["Linux Documentation/admin-guide/pm/cpufreq.rst"],
    find: |profile| {
        let policies = &profile.power.frequency_policies;
        let mut governors = policies.iter().filter_map(|policy| policy.governor.as_deref());
        let first = governors.next()?;
        let other = governors.find(|governor| *governor != first)?;
        Some(
            Found::warning(format!("CPUs have different frequency governors: {first} and {other}"))
                .read_many(governor_readings(policies.iter())),
        )
    },
};

/// Whether the policy leaves the speed open: with equal bounds no governor has a choice.
fn speed_is_open(policy: &FrequencyPolicy) -> bool {
    match (policy.scaling_min_khz, policy.scaling_max_khz) {
        (Some(min), Some(max)) => min < max,
        _ => true,
    }
}

pub(super) static GOVERNOR: Rule = Rule {
    id: "governor-not-performance",
    title: "The frequency governor is not performance",
    severities: &[Warning],
    what: "schedutil, ondemand and conservative follow the load; powersave means the lowest frequency, except with \
           intel_pstate and amd-pstate in active mode, where it lets the hardware choose between the bounds.",
    why: "A cyclic task is idle most of the time, so its CPU is slow when it wakes: the same code takes several \
          times as long, and a change of frequency may stop the CPU for tens of microseconds.",
    see: "`grep . /sys/devices/system/cpu/cpufreq/policy*/scaling_{driver,governor,min_freq,max_freq}`.",
    change: "cpupower frequency-set -g performance, or equal scaling_min_freq and scaling_max_freq; persist it in a \
             unit, a udev rule or tuned.",
    price: "More power and heat at idle; on boards without cooling the processor may then throttle, which is worse: \
            watch the temperature.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/pm/cpufreq.rst, Generic Scaling Governors",
        "Linux Documentation/admin-guide/pm/intel_pstate.rst, Active Mode",
        "Linux Documentation/admin-guide/pm/amd-pstate.rst",
    ],
    find: |profile| {
        let slow: Vec<&FrequencyPolicy> = profile
            .power
            .frequency_policies
            .iter()
            .filter(|policy| {
                policy.governor.as_deref().is_some_and(|governor| governor != "performance" && governor != "userspace")
            })
            .filter(|policy| speed_is_open(policy))
            .collect();
        let first = slow.first()?;
        let cpus = slow.iter().fold(CpuSet::new(), |all, policy| all.union(&policy.cpus));
        let governor = first.governor.as_deref().unwrap_or_default();
        // intel_pstate and amd-pstate in active mode bring their own governor of this name.
        let is_hardware_choice =
            matches!(first.driver.as_deref(), Some("intel_pstate" | "amd-pstate-epp" | "amd_pstate_epp"));
        let meaning = match governor {
            "powersave" if is_hardware_choice => "the hardware chooses the speed by load",
            "powersave" => "the lowest frequency",
            _ => "the speed follows the load",
        };
        let found = Found::warning(format!("The governor of {} is {governor}: {meaning}", cpus_label(&cpus)))
            .read_many(governor_readings(slow.iter().copied()));
        let place = |file: &str| format!("{}/{}/{file}", paths::CPUFREQ, first.name);
        Some(
            found
                .read_known(place("scaling_min_freq"), first.scaling_min_khz.map(|khz| format!("{khz} kHz")))
                .read_known(place("scaling_max_freq"), first.scaling_max_khz.map(|khz| format!("{khz} kHz")))
                .read_known(place("energy_performance_preference"), first.energy_preference.as_deref()),
        )
    },
};

pub(super) static THROTTLED: Rule = Rule {
    id: "thermal-throttling",
    title: "Cores were slowed down from heat",
    severities: &[Warning],
    what: "The processor reached its temperature limit since boot and lowered its clock to cool down.",
    why: "While throttled, all code takes longer, in steps and stretches that depend on the weather, and no setting \
          of the kernel prevents it.",
    see: "/sys/devices/system/cpu/cpuN/thermal_throttle/core_throttle_count.",
    change: "Better cooling, a cap below the sustainable frequency (scaling_max_freq, no turbo), or less load.",
    price: "A cap lowers the average speed, and makes it constant.",
    checked: LINUX,
    sources: &["Linux drivers/thermal/intel/therm_throt.c", "Intel SDM volume 3, Power and Thermal Management"],
    find: |profile| {
        let counts = &profile.cpus.thermal_throttle_counts;
        let cpus: CpuSet = counts.iter().filter(|(_, count)| **count > 0).map(|(cpu, _)| *cpu).collect();
        (!cpus.is_empty()).then(|| {
            let readings = counts
                .iter()
                .map(|(cpu, count)| {
                    (
                        format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count"),
                        count.to_string(),
                    )
                })
                .collect();
            Found::warning(format!("{} were slowed down from heat since boot", cpus_label(&cpus))).read_many(readings)
        })
    },
};

/// What /dev/cpu_dma_latency reads while nobody asks: PM_QOS_CPU_LATENCY_DEFAULT_VALUE (include/linux/pm_qos.h).
const NO_REQUEST_US: u64 = 2_000_000_000;

pub(super) static LATENCY_REQUEST: Rule = Rule {
    id: "latency-request-held",
    title: "Some process bounds the wake-up latency of the whole system",
    severities: &[Note],
    what: "A process holds /dev/cpu_dma_latency open with a bound, as cyclictest, tuned and audio servers do, and no \
           CPU enters an idle state that takes longer to leave.",
    why: "Results are better while it lives, and change when it ends: a system that was only ever measured by a tool \
          that holds such a bound is slower in production.",
    see: "`od -An -tu4 /dev/cpu_dma_latency` (microseconds); `fuser -v /dev/cpu_dma_latency` names the holders.",
    change: "Nothing, where it is meant to last; otherwise make it permanent through tuned's force_latency, or \
             disable the idle states.",
    price: "More power and heat on all CPUs.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/power/pm_qos_interface.rst",
        "rt-tests issue 7 (cyclictest improves other programs)",
    ],
    find: |profile| {
        let bound_us = profile.power.dma_latency_us.filter(|&us| us < NO_REQUEST_US)?;
        Some(
            Found::note(format!("Some process holds the wake-up latency at {bound_us} us"))
                .read(paths::DMA_LATENCY, format!("{bound_us} us")),
        )
    },
};

pub(super) static IDLE_POLL: Rule = Rule {
    id: "idle-polls",
    title: "Idle CPUs poll",
    severities: &[Warning, Note],
    what: "idle=poll, a parameter of x86, keeps every idle CPU in a loop at full speed instead of letting it sleep. A \
           warning where cores run two threads.",
    why: "Waking is fastest, but the heat takes turbo from the busy cores and may make them throttle, and a polling \
          thread takes half of its core from the other thread.",
    see: "idle= in /proc/cmdline; temperature and frequency under load.",
    change: "Bound the exit latency instead, on the CPUs that need it: \
             /sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us or cpu_dma_latency.",
    price: "The exit latency of the state that is left, one or two microseconds for C1.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/kernel-parameters.txt, idle=",
        "Linux Documentation/admin-guide/pm/cpuidle.rst",
    ],
    find: |profile| {
        // Only x86 knows it, and takes the idle states out of use (arch/x86/kernel/process.c, idle_setup()).
        if profile.kernel.param_value("idle") != Some("poll") || profile.kernel.is_x86() != Some(true) {
            return None;
        }
        let found = if profile.cpus.smt_active == Some(true) {
            Found::warning("Idle CPUs poll, and take half of each core from its other thread")
                .read(paths::SMT_ACTIVE, 1)
        } else {
            Found::note("Idle CPUs poll at full power")
        };
        Some(found.read_param(profile, "idle"))
    },
};

pub(super) static BOOST: Rule = Rule {
    id: "frequency-boost",
    title: "Frequencies above the nominal one are allowed",
    severities: &[Note],
    what: "Turbo or boost raises the clock while power and heat allow it, depending on how many cores are busy.",
    why: "Execution time varies with what the other cores do and how warm it is; heavy vector code lowers the clock \
          of its neighbors.",
    see: "/sys/devices/system/cpu/cpufreq/boost or /sys/devices/system/cpu/intel_pstate/no_turbo.",
    change: "echo 0 > /sys/devices/system/cpu/cpufreq/boost, or echo 1 > \
             /sys/devices/system/cpu/intel_pstate/no_turbo.",
    price: "A quarter of the peak speed or more; worth it only where a constant execution time counts for more than \
            a short one.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/pm/cpufreq.rst, Frequency Boost Support",
        "Linux Documentation/admin-guide/pm/intel_pstate.rst, Turbo",
    ],
    find: |profile| {
        let (place, allowed, forbidden) = if boost_is_intel(profile) {
            ("/sys/devices/system/cpu/intel_pstate/no_turbo", 0, 1)
        } else {
            ("/sys/devices/system/cpu/cpufreq/boost", 1, 0)
        };
        (profile.power.boost == Some(true)).then(|| {
            Found::note("The clock may rise above its nominal frequency, as heat and other cores allow")
                .read(place, allowed)
                .remedy(format!("echo {forbidden} > {place}"))
        })
    },
};

fn boost_is_intel(profile: &Profile) -> bool {
    profile
        .power
        .frequency_policies
        .iter()
        .any(|policy| matches!(policy.driver.as_deref(), Some("intel_pstate" | "intel_cpufreq")))
}

pub(super) static CAPPED: Rule = Rule {
    id: "frequency-capped",
    title: "CPUs are kept below their highest frequency",
    severities: &[Note],
    what: "scaling_max_freq is below what the hardware offers: set by an administrator, a power profile or a cooling \
           device.",
    why: "All code takes longer in proportion, the path from interrupt to task too; where a cooling device set it, \
          it changes by itself.",
    see: "`grep . /sys/devices/system/cpu/cpufreq/policy*/{scaling,cpuinfo}_max_freq`.",
    change: "Raise scaling_max_freq, unless the cap is there to keep the speed constant or the board cool.",
    price: "More power and heat.",
    checked: LINUX,
    sources: &["Linux Documentation/admin-guide/pm/cpufreq.rst, Policy Interface in sysfs"],
    find: |profile| {
        let readings: Vec<(String, String)> = profile
            .power
            .frequency_policies
            .iter()
            .filter_map(|policy| {
                let (cap, hardware) = policy.scaling_max_khz.zip(policy.hardware_max_khz)?;
                (cap < hardware).then(|| {
                    (
                        format!("{}/{}/scaling_max_freq", paths::CPUFREQ, policy.name),
                        format!("{cap} of {hardware} kHz on {}", cpus_label(&policy.cpus)),
                    )
                })
            })
            .collect();
        (!readings.is_empty()).then(|| Found::note("CPUs are kept below their highest frequency").read_many(readings))
    },
};
