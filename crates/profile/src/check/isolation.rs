//! Isolated CPUs: what was asked for against what is in force, and which kernel work still runs there.

use units::CpuSet;

use super::Rule;
use super::Severity::{Note, Problem, Warning};
use super::rule::{Found, cpus_label, housekeeping, is_off, isolated, left_out, mask};
use crate::catalogue::LINUX;
use crate::cmdline::{Isolcpus, parse_cpu_list, parse_isolcpus};
use crate::{Profile, paths};

pub(super) static NOT_EFFECTIVE: Rule = Rule {
    id: "isolation-not-effective",
    title: "isolcpus= was asked for and is not in force",
    severities: &[Problem],
    what: "isolcpus= takes CPUs out of the scheduler's load balancing; /sys/devices/system/cpu/isolated shows which \
           CPUs it got.",
    why: "The scheduler places ordinary tasks on CPUs that were meant for real-time work, and the \
          user who set the parameter does not expect them there.",
    see: "isolcpus= in /proc/cmdline against /sys/devices/system/cpu/isolated; `dmesg | grep -i housekeeping`.",
    change: "Correct the list (CPUs that exist, one isolcpus= only, and at least one CPU that neither isolcpus= nor \
             nohz_full= names) and reboot. Kernels before 5.18 also refuse an isolcpus= whose CPUs differ from those \
             of nohz_full=, and a kernel without CONFIG_NO_HZ_FULL drops the whole isolcpus= that has the flag nohz. \
             Or isolate with a cpuset partition at run time.",
    price: "Isolated CPUs do no other work: the rest of the system has fewer CPUs.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/kernel-parameters.txt, isolcpus=",
        "Linux kernel/sched/isolation.c",
        "Linux drivers/base/cpu.c, print_cpus_isolated()",
    ],
    find: |profile| {
        let effective = profile.isolation.isolated.as_ref()?;
        let mut asked = profile.kernel.params_named("isolcpus");
        let param = asked.next()?;
        // Which of several lists counts is another finding's matter.
        if asked.next().is_some() {
            return None;
        }
        let wanted = parse_isolcpus(param.value.as_deref()?, profile.cpus.last()).filter(Isolcpus::isolates_domain)?;
        let missing = wanted.cpus.difference(&profile.isolated_cpus());
        (!missing.is_empty()).then(|| {
            Found::problem(format!(
                "{} should be isolated and {}",
                cpus_label(&missing),
                if missing.len() == 1 { "is not" } else { "are not" }
            ))
            .read_param(profile, "isolcpus")
            .read(paths::ISOLATED, shown(effective))
        })
    },
};

pub(super) static NONE_ISOLATED: Rule = Rule {
    id: "no-cpu-set-apart",
    title: "No CPU is isolated for real-time work",
    severities: &[Note],
    what: "The machine has several CPUs, and the scheduler, interrupts and kernel work use all of them.",
    why: "Real-time tasks share caches, interrupts and kernel work with everything else; priority alone does not \
          keep these away.",
    see: "/sys/devices/system/cpu/isolated is empty, and no cpuset.cpus.partition says isolated.",
    change: "For deadlines below some hundred microseconds isolate a CPU: isolcpus=domain,managed_irq,LIST with \
             nohz_full= and rcu_nocbs= at boot, or a cpuset partition of kind isolated at run time; then move \
             interrupts and kernel work away, which the other findings guide.",
    price: "The CPU does no other work.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/kernel-parameters.txt, isolcpus=",
        "Linux Documentation/admin-guide/cgroup-v2.rst, Cpuset",
    ],
    find: |profile| {
        let from_boot = profile.isolation.isolated.as_ref()?;
        let online = profile.cpus.online.as_ref().filter(|cpus| cpus.len() > 1)?;
        profile.isolated_cpus().is_empty().then(|| {
            Found::note("No CPU is isolated for real-time work")
                .read(paths::ISOLATED, shown(from_boot))
                .read(paths::ONLINE, online)
        })
    },
};

/// A list of CPUs as a person would want to see it, also where it is empty.
fn shown(cpus: &CpuSet) -> String {
    if cpus.is_empty() { "(empty)".to_owned() } else { cpus.to_string() }
}

/// The CPUs that `nohz_full=` or `isolcpus=nohz,` ask for; `None` where nothing readable asks.
fn nohz_full_asked(profile: &Profile) -> Option<CpuSet> {
    let last = profile.cpus.last();
    let direct = profile.kernel.param_value("nohz_full").and_then(|value| parse_cpu_list(value, last));
    direct.or_else(|| isolcpus_nohz(profile)).filter(|cpus| !cpus.is_empty())
}

/// The CPUs that isolcpus= asks this for, by its flag nohz.
fn isolcpus_nohz(profile: &Profile) -> Option<CpuSet> {
    let list = parse_isolcpus(profile.kernel.param_value("isolcpus")?, profile.cpus.last())?;
    list.flags.iter().any(|flag| flag == "nohz").then_some(list.cpus)
}

pub(super) static NOHZ_FULL_NOT_EFFECTIVE: Rule = Rule {
    id: "nohz-full-not-effective",
    title: "nohz_full= was asked for and is not in force",
    severities: &[Problem],
    what: "nohz_full= stops the periodic tick on CPUs that run a single task; it needs CONFIG_NO_HZ_FULL, which many \
           distributions leave out.",
    why: "The parameter is ignored, with no more than a line in the kernel's log, and the tick interrupts the CPUs \
          100 to 1000 times a second.",
    see: "/sys/devices/system/cpu/nohz_full, CONFIG_NO_HZ_FULL in the configuration, and whether `LOC` rises in \
          /proc/interrupts while the task runs.",
    change: "Use a kernel with CONFIG_NO_HZ_FULL=y, or drop the parameter and accept the tick.",
    price: "Each entry into the kernel on such a CPU costs more, as time is accounted there; a task that makes many \
            system calls may get slower.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/timers/no_hz.rst",
        "Linux kernel/sched/isolation.c, housekeeping_setup()",
        "Linux drivers/base/cpu.c, print_cpus_nohz_full()",
    ],
    find: |profile| {
        let asked = nohz_full_asked(profile)?;
        let found = || {
            let name = if profile.kernel.param("nohz_full").is_some() { "nohz_full" } else { "isolcpus" };
            Found::problem(format!("{} should run without the tick and cannot", cpus_label(&asked)))
                .read_param(profile, name)
        };
        if left_out(profile, "CONFIG_NO_HZ_FULL") {
            return Some(found().read_config(profile, "CONFIG_NO_HZ_FULL"));
        }
        let effective = profile.isolation.nohz_full.as_ref()?;
        // The boot CPU keeps time for the others and is taken off the list where the kernel can suspend
        // (kernel/time/tick-sched.c, tick_nohz_init()).
        let missing = asked.difference(effective).difference(&[0].into_iter().collect());
        (!missing.is_empty()).then(|| {
            let found = found().read(paths::NOHZ_FULL, shown(effective));
            match isolcpus_nohz(profile) {
                // Both set the same kind of housekeeping; a second list that differs is refused with a line in the log.
                Some(first) if profile.kernel.param("nohz_full").is_some() && first != asked => {
                    found.read_param(profile, "isolcpus").remedy(
                        "isolcpus=nohz,LIST and nohz_full=LIST name different CPUs: the kernel takes the first it \
                         meets and refuses the other. Give both the same list, or drop the flag nohz of isolcpus=.",
                    )
                }
                _ => found,
            }
        })
    },
};

pub(super) static NOHZ_OFF: Rule = Rule {
    id: "nohz-off-with-nohz-full",
    title: "nohz=off defeats nohz_full=",
    severities: &[Problem],
    what: "nohz=off keeps the tick running on every CPU at all times; nohz_full= asks to stop it on some. They \
           exclude each other.",
    why: "With nohz=off no CPU ever enters tickless operation, so the CPUs of nohz_full= are interrupted at every \
          tick.",
    see: "/proc/cmdline.",
    change: "Drop nohz=off, or drop nohz_full= where an always running tick is wanted (it avoids the cost of \
             stopping and restarting it).",
    price: "Without nohz=off the way into and out of idle is longer, since the tick is stopped and restarted there.",
    checked: LINUX,
    sources: &["Linux Documentation/timers/no_hz.rst", "Linux kernel/time/tick-sched.c, setup_tick_nohz()"],
    find: |profile| {
        let off = profile.kernel.param_value("nohz").is_some_and(is_off);
        let asked = nohz_full_asked(profile)?;
        off.then(|| {
            Found::problem(format!("nohz=off keeps the tick on {}, against nohz_full=", cpus_label(&asked)))
                .read_param(profile, "nohz")
                .read_param(profile, "nohz_full")
        })
    },
};

pub(super) static PARTITION_INVALID: Rule = Rule {
    id: "cpuset-partition-invalid",
    title: "A cpuset partition is not in force",
    severities: &[Problem],
    what: "A version 2 control group becomes a partition by writing root or isolated into cpuset.cpus.partition; the \
           kernel may refuse, and then says `invalid` with a reason in the same file instead of failing the write.",
    why: "The group's CPUs are still balanced and shared with everybody, although a partition was asked for.",
    see: "cpuset.cpus.partition of the group.",
    change: "Remove the reason that the kernel gives: its CPUs must be exclusive (cpuset.cpus.exclusive, which 6.12 \
             has and 6.1 lacks), the parent must be a partition or hold the CPUs, and at least one CPU must remain \
             for the parent's own tasks; then write the kind again.",
    price: "Tasks outside the group can no longer use its CPUs.",
    checked: LINUX,
    sources: &["Linux Documentation/admin-guide/cgroup-v2.rst, Cpuset", "Linux kernel/cgroup/cpuset.c, perr_strings"],
    find: |profile| {
        let invalid: Vec<(String, String)> = profile
            .cpusets
            .iter()
            .filter(|set| set.partition_state().is_some_and(|state| state.invalid.is_some()))
            .map(|set| {
                (
                    format!("{}/cpuset.cpus.partition", set.path),
                    set.partition.clone().unwrap_or_default().trim().to_owned(),
                )
            })
            .collect();
        let title = match &invalid[..] {
            [] => return None,
            [(place, _)] => {
                format!("The partition {} is not in force", place.trim_end_matches("/cpuset.cpus.partition"))
            }
            many => format!("{} cpuset partitions are not in force", many.len()),
        };
        Some(Found::problem(title).read_many(invalid))
    },
};

pub(super) static WITHOUT_DOMAIN: Rule = Rule {
    id: "isolcpus-without-domain",
    title: "isolcpus= has flags but not `domain`",
    severities: &[Problem],
    what: "Without flags isolcpus= isolates from the scheduler's load balancing. As soon as any flag is given, only \
           what is named is done: isolcpus=managed_irq,2-3 moves managed interrupts away and nothing else.",
    why: "The scheduler still places ordinary tasks on these CPUs.",
    see: "isolcpus= in /proc/cmdline against /sys/devices/system/cpu/isolated.",
    change: "Write isolcpus=domain,managed_irq,LIST, or isolate the CPUs with a cpuset partition of kind isolated.",
    price: "Isolated CPUs do no other work.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/kernel-parameters.txt, isolcpus=",
        "Linux kernel/sched/isolation.c, housekeeping_isolcpus_setup()",
    ],
    find: |profile| {
        let param = profile.kernel.param("isolcpus")?;
        let asked = parse_isolcpus(param.value.as_deref()?, profile.cpus.last())?;
        // Whether a partition does the rest is known only where the effective isolation was read.
        let from_boot = profile.isolation.isolated.as_ref()?;
        let open = asked.cpus.difference(&profile.isolated_cpus());
        let fires = !asked.isolates_domain() && !open.is_empty();
        fires.then(|| {
            Found::problem(format!("isolcpus= without `domain` does not keep tasks off {}", cpus_label(&open)))
                .read_param(profile, "isolcpus")
                .read(paths::ISOLATED, shown(from_boot))
                .remedy(format!("Boot with isolcpus=domain,{},{}.", asked.flags.join(","), asked.cpus))
                .remedy(
                    "Or isolate these CPUs with a cpuset partition of kind isolated, which can be undone at run time.",
                )
        })
    },
};

pub(super) static EVERY_CPU: Rule = Rule {
    id: "every-cpu-isolated",
    title: "No CPU is left for everything else",
    severities: &[Problem],
    what: "Every running CPU is isolated.",
    why: "Without balancing, ordinary tasks stay wherever they were started, mostly on one CPU, and interrupts and \
          kernel work have nowhere else to go.",
    see: "/sys/devices/system/cpu/isolated against /sys/devices/system/cpu/online.",
    change: "Leave at least one CPU, best CPU 0, out of isolcpus= and the isolated partitions.",
    price: "One CPU fewer for real-time work.",
    checked: LINUX,
    sources: &["Linux kernel/sched/isolation.c", "Linux Documentation/admin-guide/kernel-parameters.txt, isolcpus="],
    find: |profile| {
        let online = profile.cpus.online.as_ref().filter(|cpus| !cpus.is_empty())?;
        let isolated = isolated(profile)?;
        online.is_subset(&isolated).then(|| {
            Found::problem("Every CPU is isolated: none is left for the rest of the system")
                .read_isolated(profile)
                .read(paths::ONLINE, online)
        })
    },
};

pub(super) static WORK_QUEUES: Rule = Rule {
    id: "work-queues-on-isolated-cpus",
    title: "Unbound kernel work may run on isolated CPUs",
    severities: &[Warning],
    what: "Work queues that are not bound to a CPU run their work on any CPU of \
           /sys/devices/virtual/workqueue/cpumask. At boot the kernel leaves out the CPUs of isolcpus=, and before \
           7.1 those of nohz_full= too.",
    why: "File systems, drivers and networking queue work there, and a worker thread then runs on a CPU that should \
          be quiet.",
    see: "/sys/devices/virtual/workqueue/cpumask; trace the event workqueue_execute_start on the CPU.",
    change: "Write the mask of the housekeeping CPUs into /sys/devices/virtual/workqueue/cpumask at boot.",
    price: "The housekeeping CPUs do that work too.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/core-api/workqueue.rst",
        "Linux kernel/workqueue.c, workqueue_init_early() (2ab739383113, \"workqueue: Remove HK_TYPE_WQ from affecting \
         wq_unbound_cpumask\")",
    ],
    find: |profile| {
        let cpus = profile.isolation.workqueue_cpus.as_ref()?;
        let overlap = cpus.intersection(&isolated(profile)?);
        (!overlap.is_empty()).then(|| {
            let found = Found::warning(format!("Unbound kernel work may run on isolated {}", cpus_label(&overlap)))
                .read(paths::WORKQUEUE, format!("{} (CPUs {cpus})", mask(cpus)))
                .read_isolated(profile);
            match housekeeping(profile) {
                Some(rest) => found.remedy(format!("echo {} > {}", mask(&rest), paths::WORKQUEUE)),
                None => found,
            }
        })
    },
};

pub(super) static NOHZ_FULL_UNISOLATED: Rule = Rule {
    id: "nohz-full-not-isolated",
    title: "CPUs without a tick are not isolated",
    severities: &[Warning],
    what: "nohz_full= silences the tick, but does not keep tasks away: that takes isolcpus= or a cpuset partition.",
    why: "As soon as two ordinary tasks are ready on the CPU the tick returns, and every entry into the kernel there \
          costs more than on an ordinary CPU.",
    see: "/sys/devices/system/cpu/nohz_full against /sys/devices/system/cpu/isolated.",
    change: "Isolate the same CPUs, with isolcpus=domain,managed_irq,LIST or a cpuset partition, or take them out of \
             nohz_full=.",
    price: "Isolated CPUs do no other work.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/timers/no_hz.rst",
        "Linux Documentation/admin-guide/kernel-parameters.txt, nohz_full=",
    ],
    find: |profile| {
        let tickless = profile.isolation.nohz_full.as_ref()?;
        let from_boot = profile.isolation.isolated.as_ref()?;
        let open = tickless.difference(&profile.isolated_cpus());
        (!open.is_empty()).then(|| {
            Found::warning(format!("{} run without a tick but also take ordinary tasks", cpus_label(&open)))
                .read(paths::NOHZ_FULL, tickless)
                .read(paths::ISOLATED, shown(from_boot))
        })
    },
};

pub(super) static RCU_NOT_BUILT_IN: Rule = Rule {
    id: "rcu-nocbs-not-built-in",
    title: "rcu_nocbs= was asked for and is not built in",
    severities: &[Warning],
    what: "rcu_nocbs= lets threads run the RCU callbacks of the listed CPUs elsewhere; it needs CONFIG_RCU_NOCB_CPU.",
    why: "The parameter is ignored, and callbacks that free memory run on the CPUs that should be quiet, in softirq \
          context or, on PREEMPT_RT, in the thread rcuc/N.",
    see: "CONFIG_RCU_NOCB_CPU in the configuration; threads named rcuop/N or rcuos/N exist where it works.",
    change: "Use a kernel with CONFIG_RCU_NOCB_CPU=y.",
    price: "The threads cost time on the housekeeping CPUs, and callbacks are run a little later.",
    checked: LINUX,
    sources: &[
        "Linux kernel/rcu/Kconfig, RCU_NOCB_CPU",
        "Linux Documentation/admin-guide/kernel-parameters.txt, rcu_nocbs=",
    ],
    find: |profile| {
        profile.kernel.param("rcu_nocbs")?;
        left_out(profile, "CONFIG_RCU_NOCB_CPU").then(|| {
            Found::warning("rcu_nocbs= is ignored: the kernel cannot move RCU callbacks")
                .read_param(profile, "rcu_nocbs")
                .read_config(profile, "CONFIG_RCU_NOCB_CPU")
        })
    },
};

pub(super) static RCU_CALLBACKS: Rule = Rule {
    id: "rcu-callbacks-on-isolated-cpus",
    title: "RCU callbacks run on isolated CPUs",
    severities: &[Warning],
    what: "RCU callbacks are deferred work, mostly freeing of memory, that by default runs on the CPU that queued it.",
    why: "They run in softirq context, or in the thread rcuc/N on PREEMPT_RT, in batches whose length depends on what \
          the system did before.",
    see: "rcu_nocbs= and nohz_full= in /proc/cmdline (the CPUs without a tick are included); /proc/softirqs, row RCU.",
    change: "Boot a kernel with CONFIG_RCU_NOCB_CPU=y and rcu_nocbs= for the isolated CPUs, and keep the threads rcuo* \
             on housekeeping CPUs.",
    price: "Queueing a callback costs more on these CPUs, and the threads take time elsewhere.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/kernel-per-CPU-kthreads.rst",
        "Linux kernel/rcu/tree_nocb.h, rcu_init_nohz()",
        "Linux Documentation/admin-guide/kernel-parameters.txt, rcu_nocbs=",
    ],
    find: |profile| {
        let isolated = isolated(profile)?;
        let kernel = &profile.kernel;
        if kernel.has_config("CONFIG_RCU_NOCB_CPU_DEFAULT_ALL") == Some(true) {
            return None;
        }
        kernel.cmdline.as_ref()?;
        let nobody_asked = kernel.param("rcu_nocbs").is_none() && nohz_full_asked(profile).is_none();
        let moved = if left_out(profile, "CONFIG_NO_HZ_FULL") && kernel.param("rcu_nocbs").is_none() {
            // A kernel without it ignores nohz_full=, and with it what that implies (kernel/sched/isolation.c).
            CpuSet::new()
        } else {
            let asked = profile.isolation.rcu_nocbs.clone().or_else(|| nobody_asked.then(CpuSet::new))?;
            // Whatever stopped the tick on a CPU, `isolcpus=nohz,` too, moves its callbacks (rcu_init_nohz()).
            profile.isolation.nohz_full.as_ref().map_or_else(|| asked.clone(), |tickless| asked.union(tickless))
        };
        let open = isolated.difference(&moved);
        (!open.is_empty()).then(|| {
            let found = Found::warning(format!("RCU callbacks run on isolated {}", cpus_label(&open)));
            let found = if nobody_asked { found.read(paths::CMDLINE, "rcu_nocbs= is absent") } else { found };
            let found = found.read_param(profile, "rcu_nocbs").read_param(profile, "nohz_full").read_isolated(profile);
            if left_out(profile, "CONFIG_RCU_NOCB_CPU") {
                found
                    .read_config(profile, "CONFIG_RCU_NOCB_CPU")
                    .remedy(format!("Use a kernel with CONFIG_RCU_NOCB_CPU=y, and boot it with rcu_nocbs={isolated}."))
            } else {
                found.remedy(format!("Boot with rcu_nocbs={isolated}."))
            }
        })
    },
};

pub(super) static WATCHDOG: Rule = Rule {
    id: "watchdog-on-isolated-cpus",
    title: "The lock-up detectors run on isolated CPUs",
    severities: &[Warning],
    what: "On each CPU of kernel.watchdog_cpumask a timer and a thread of the highest scheduling class prove that the \
           CPU still schedules, every two fifths of kernel.watchdog_thresh: every 4 s by default.",
    why: "Both interrupt the real-time task for some microseconds, at a period that no average shows.",
    see: "/proc/sys/kernel/watchdog_cpumask, /proc/sys/kernel/soft_watchdog, /proc/sys/kernel/nmi_watchdog.",
    change: "sysctl kernel.watchdog_cpumask=HOUSEKEEPING-CPUS, or boot with nohz_full=, which sets it, or nowatchdog.",
    price: "A lock-up of an isolated CPU is no longer reported.",
    checked: LINUX,
    sources: &["Linux Documentation/admin-guide/lockup-watchdogs.rst", "Linux kernel/watchdog.c"],
    find: |profile| {
        let sched = &profile.sched;
        let watched = sched.watchdog_cpus.as_ref()?;
        let on = sched.soft_watchdog == Some(true) || sched.nmi_watchdog == Some(true);
        let overlap = watched.intersection(&isolated(profile)?);
        (on && !overlap.is_empty()).then(|| {
            let found = Found::warning(format!("The lock-up detectors interrupt isolated {}", cpus_label(&overlap)))
                .read(paths::WATCHDOG_CPUS, watched)
                .read_known(paths::SOFT_WATCHDOG, sched.soft_watchdog.map(u8::from))
                .read_known(paths::NMI_WATCHDOG, sched.nmi_watchdog.map(u8::from));
            match housekeeping(profile) {
                Some(rest) => found.remedy(format!("sysctl kernel.watchdog_cpumask={rest}")),
                None => found,
            }
        })
    },
};

pub(super) static TICK: Rule = Rule {
    id: "tick-on-isolated-cpus",
    title: "The tick interrupts isolated CPUs",
    severities: &[Note],
    what: "A CPU that runs a task takes CONFIG_HZ timer interrupts per second, unless it is listed in nohz_full= and \
           nothing on it needs the tick. One ordinary task alone or SCHED_FIFO tasks do not need it; two ordinary \
           tasks, two SCHED_RR tasks or a SCHED_DEADLINE task do.",
    why: "Each tick takes one to several microseconds from a task that computes or polls; a task that mostly sleeps \
          hardly meets it.",
    see: "Row LOC of /proc/interrupts (arch_timer on ARM) while the task runs; CONFIG_HZ in the configuration.",
    change: "Boot with nohz_full= for the isolated CPUs on a kernel with CONFIG_NO_HZ_FULL=y, or a kernel with a \
             lower CONFIG_HZ.",
    price: "With nohz_full= every entry into the kernel costs more: worth it for tasks that poll, often a loss for \
            tasks that sleep and wake.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/timers/no_hz.rst",
        "Linux kernel/sched/core.c, sched_can_stop_tick()",
        "Linux Documentation/admin-guide/kernel-per-CPU-kthreads.rst",
    ],
    find: |profile| {
        let built_out = left_out(profile, "CONFIG_NO_HZ_FULL");
        let tickless = profile.isolation.nohz_full.clone().or_else(|| built_out.then(CpuSet::new))?;
        // Where the tick was to be stopped and is not, a graver finding says so.
        let asked = nohz_full_asked(profile).unwrap_or_default();
        let ticking = isolated(profile)?.difference(&tickless).difference(&asked);
        let rate_hz = profile.kernel.config.get("CONFIG_HZ").and_then(|value| value.parse::<u32>().ok());
        let often = rate_hz.map_or_else(String::new, |rate| format!(" {rate} times a second"));
        (!ticking.is_empty()).then(|| {
            let found = Found::note(format!("The tick interrupts busy isolated {}{often}", cpus_label(&ticking)))
                .read_known(paths::NOHZ_FULL, profile.isolation.nohz_full.as_ref().map(shown))
                .read_isolated(profile);
            let found = if built_out { found.read_config(profile, "CONFIG_NO_HZ_FULL") } else { found };
            if rate_hz.is_some() { found.read_config(profile, "CONFIG_HZ") } else { found }
        })
    },
};
