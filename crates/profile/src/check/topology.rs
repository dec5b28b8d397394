//! How CPUs share cores, and which run.

use units::CpuSet;

use super::Rule;
use super::Severity::{Note, Warning};
use super::rule::{Found, cpus_label, isolated};
use crate::catalogue::LINUX;
use crate::paths;

pub(super) static SIBLING: Rule = Rule {
    id: "smt-sibling-not-isolated",
    title: "The other thread of an isolated core does ordinary work",
    severities: &[Warning],
    what: "Two CPUs are threads of one core, and only one of them is isolated.",
    why: "The threads share execution units, first-level cache and translation buffers, so ordinary work on one \
          slows the other by up to half, from one instant to the next, where no scheduler can prevent it.",
    see: "/sys/devices/system/cpu/cpuN/topology/thread_siblings_list.",
    change: "Isolate both threads of a core and leave one idle, or switch the second threads off: boot with nosmt, \
             or echo off > /sys/devices/system/cpu/smt/control.",
    price: "The capacity of the second thread, about a quarter of a core for most loads.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/cputopology.rst",
        "Linux Documentation/ABI/testing/sysfs-devices-system-cpu, smt",
    ],
    find: |profile| {
        let isolated = isolated(profile)?;
        let outside = profile.cpus.siblings_outside(&isolated);
        let running =
            profile.cpus.online.as_ref().map_or_else(|| outside.clone(), |online| outside.intersection(online));
        (!running.is_empty()).then(|| {
            let readings = profile
                .cpus
                .cores
                .iter()
                .filter(|core| !core.intersection(&isolated).is_empty() && !core.intersection(&running).is_empty())
                .filter_map(|core| {
                    let cpu = core.intersection(&isolated).first()?;
                    Some((format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), core.to_string()))
                })
                .collect();
            Found::warning(format!("{} share a core with isolated CPUs and are not isolated", cpus_label(&running)))
                .read_many(readings)
                .read_isolated(profile)
                .remedy(format!("Isolate {} as well and leave them idle.", cpus_label(&running)))
                .remedy(format!(
                    "Or take them off: echo 0 > /sys/devices/system/cpu/cpu{}/online, and so on.",
                    running.first().unwrap_or(0)
                ))
                .remedy("Or boot with nosmt.")
        })
    },
};

pub(super) static SMT: Rule = Rule {
    id: "smt-active",
    title: "Cores run two threads",
    severities: &[Note],
    what: "Simultaneous multithreading offers each core as two or more CPUs.",
    why: "What runs on the second thread changes the speed of the first by up to half, and no priority governs that.",
    see: "/sys/devices/system/cpu/smt/active.",
    change: "Boot with nosmt, echo off > /sys/devices/system/cpu/smt/control, or switch it off in the firmware.",
    price: "The capacity of the second threads, about a quarter of a core each for most loads.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/ABI/testing/sysfs-devices-system-cpu, smt",
        "Linux Documentation/admin-guide/kernel-parameters.txt, nosmt",
    ],
    find: |profile| {
        (profile.cpus.smt_active == Some(true)).then(|| {
            Found::note("Cores run two threads, which slow each other")
                .read(paths::SMT_ACTIVE, 1)
                .read_known(paths::SMT_CONTROL, profile.cpus.smt_control.as_deref())
        })
    },
};

pub(super) static BOOT_CPU: Rule = Rule {
    id: "boot-cpu-isolated",
    title: "CPU 0 is isolated",
    severities: &[Warning],
    what: "CPU 0, the one that the kernel boots on, is among the isolated CPUs.",
    why: "Much of the kernel ends up on CPU 0 for want of another choice: interrupts that the platform wires there, \
          the time-keeping tick, firmware calls and work of drivers that bind to the first CPU.",
    see: "/sys/devices/system/cpu/isolated; the column CPU0 of /proc/interrupts.",
    change: "Isolate other CPUs, and keep CPU 0 for the rest of the system.",
    price: "None, where another CPU is as fast.",
    checked: LINUX,
    sources: &["Linux kernel/sched/isolation.c", "Linux Documentation/timers/no_hz.rst, the boot CPU"],
    find: |profile| {
        isolated(profile)?
            .contains(0)
            .then(|| Found::warning("CPU 0 is isolated, where much of the kernel cannot leave").read_isolated(profile))
    },
};

pub(super) static OFFLINE: Rule = Rule {
    id: "cpus-offline",
    title: "CPUs are switched off",
    severities: &[Warning, Note],
    what: "CPUs that are plugged in do not run. A warning where isolated CPUs are among them.",
    why: "Tasks that were meant for these CPUs run elsewhere or fail to start, and lists of CPUs made for all of \
          them no longer fit.",
    see: "/sys/devices/system/cpu/online against /sys/devices/system/cpu/present.",
    change: "echo 1 > /sys/devices/system/cpu/cpuN/online, unless it was done on purpose; look for maxcpus= and \
             nosmt in /proc/cmdline.",
    price: "Taking a CPU down stops all others for a moment (stop_machine), and either way kernel threads and \
            scheduling domains are rearranged: do it before real-time work starts.",
    checked: LINUX,
    sources: &["Linux Documentation/core-api/cpu_hotplug.rst", "Linux kernel/cpu.c, takedown_cpu()"],
    find: |profile| {
        let present = profile.cpus.present.as_ref()?;
        let online = profile.cpus.online.as_ref().filter(|cpus| !cpus.is_empty())?;
        let off = present.difference(online);
        let isolated_off = off.intersection(&profile.isolated_cpus());
        // Second threads that were switched off on purpose need no remark.
        let on_purpose = matches!(profile.cpus.smt_control.as_deref(), Some("off" | "forceoff"));
        let found = if !isolated_off.is_empty() {
            Found::warning(format!("Isolated {} do not run", cpus_label(&isolated_off)))
        } else if !off.is_empty() && !on_purpose {
            Found::note(format!("{} do not run", cpus_label(&off)))
        } else {
            return None;
        };
        Some(found.read(paths::PRESENT, present).read(paths::ONLINE, online))
    },
};

pub(super) static CORES_DIFFER: Rule = Rule {
    id: "cores-differ",
    title: "The machine has cores of different speed",
    severities: &[Note],
    what: "Fast and slow cores share the machine (big.LITTLE, hybrid processors). ARM and RISC-V kernels give each a \
           capacity, 1024 for the fastest. On Intel's hybrids that file is missing (6.1, 6.12), or may say 1024 of all \
           (7.3); there each kind of core has performance counters of its own, whose names show the kind: cpu_core, \
           cpu_atom, cpu_lowpower.",
    why: "The same task takes longer on one CPU than on another, and wakes from idle at different speed: a result is \
          one of the CPU it was measured on.",
    see: "/sys/devices/system/cpu/cpuN/cpu_capacity; /sys/devices/cpu_core/cpus and /sys/devices/cpu_atom/cpus.",
    change: "Bind the real-time task to one kind of core, and measure on that kind.",
    price: "None.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/scheduler/sched-capacity.rst",
        "Linux drivers/base/arch_topology.c (7.3: topology.c), cpu_capacity_show()",
        "Linux arch/x86/events/intel/core.c, intel_hybrid_pmu_type_map",
    ],
    find: |profile| {
        let cpus = &profile.cpus;
        let by_capacity = cpus.capacities.iter().rev().map(|(capacity, cpus): (&u64, &CpuSet)| {
            ("/sys/devices/system/cpu/cpuN/cpu_capacity".to_owned(), format!("{capacity} on {}", cpus_label(cpus)))
        });
        let by_name = cpus
            .core_types
            .iter()
            .map(|(name, cpus): (&String, &CpuSet)| (format!("/sys/devices/{name}/cpus"), cpus.to_string()));
        // If both are known, the capacities also distinguish cores of one kind that may turbo a little higher.
        let readings: Vec<(String, String)> =
            if cpus.core_types.len() > 1 { by_name.collect() } else { by_capacity.collect() };
        (readings.len() > 1)
            .then(|| Found::note(format!("The machine has {} kinds of cores", readings.len())).read_many(readings))
    },
};
