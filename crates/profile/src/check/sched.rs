//! Throttles, servers and detectors of the scheduler.

use units::CpuSet;

use super::Rule;
use super::Severity::{Note, Warning};
use super::rule::{Found, cpus_label, isolated};
use crate::bandwidth::CpuQuota;
use crate::catalogue::LINUX;
use crate::sched::FairServer;
use crate::{Kernel, paths};

pub(super) static FAIR_SERVER: Rule = Rule {
    id: "fair-server-on-isolated-cpus",
    title: "Ordinary tasks may take time from real-time tasks on isolated CPUs",
    severities: &[Warning, Note],
    what: "Since 6.12 a deadline server on each CPU gives ordinary tasks up to 50 ms of each second when real-time \
           tasks leave them nothing. It does so whatever kernel.sched_rt_runtime_us says, -1 included. 7.3 has a \
           second such server, ext_server, for the tasks of a BPF scheduler.",
    why: "A real-time task that polls or computes without pause is stopped for up to 50 ms in one piece as soon as \
          any ordinary task, a kernel worker for instance, waits on its CPU.",
    see: "/sys/kernel/debug/sched/fair_server/cpuN/runtime, in nanoseconds; ext_server beside it where the kernel has \
          one.",
    change: "echo 0 > /sys/kernel/debug/sched/fair_server/cpuN/runtime for each isolated CPU, and the same for \
             ext_server.",
    price: "Kernel work that is stuck on the CPU behind a real-time task waits for ever; some of it (RCU, flushing \
            of work) then stalls the whole system. Safe only where the real-time task sleeps regularly or the CPU is \
            well isolated.",
    checked: LINUX,
    sources: &[
        "Linux kernel/sched/fair.c, fair_server_init()",
        "Linux kernel/sched/debug.c, fair_server",
        "Linux Documentation/scheduler/sched-deadline.rst",
    ],
    find: |profile| {
        let isolated = isolated(profile)?;
        let (fair_cpus, mut readings) = active_servers(&profile.sched.fair_servers, &isolated, paths::FAIR_SERVER);
        let (ext_cpus, more) = active_servers(&profile.sched.ext_servers, &isolated, paths::EXT_SERVER);
        readings.extend(more);
        let found = match (fair_cpus.is_empty(), ext_cpus.is_empty()) {
            (false, true | false) => {
                let cpus = cpus_label(&fair_cpus);
                Found::warning(format!("Ordinary tasks may stop busy real-time tasks on isolated {cpus}"))
            }
            // It does nothing before such a scheduler is loaded.
            (true, false) => {
                let cpus = cpus_label(&ext_cpus);
                Found::note(format!("Tasks of a BPF scheduler may stop busy real-time tasks on isolated {cpus}"))
            }
            (true, true) => return None,
        };
        Some(found.read_many(readings).read_isolated(profile))
    },
};

/// The isolated CPUs on which servers take time, with what was read of each.
fn active_servers(servers: &[FairServer], isolated: &CpuSet, folder: &str) -> (CpuSet, Vec<(String, String)>) {
    let mut all = CpuSet::new();
    let mut readings = Vec::new();
    for server in servers.iter().filter(|server| server.runtime_ns > 0) {
        let cpus = server.cpus.intersection(isolated);
        if !cpus.is_empty() {
            let budget = format!("runtime {} ns of each {} ns", server.runtime_ns, server.period_ns);
            readings.push((format!("{folder}/cpuN, {}", cpus_label(&cpus)), budget));
            all = all.union(&cpus);
        }
    }
    (all, readings)
}

pub(super) static TIMER_MIGRATION: Rule = Rule {
    id: "timer-migration",
    title: "Awake CPUs may run the timers of sleeping ones",
    severities: &[Note],
    what: "With kernel.timer_migration=1 timers that are not bound to a CPU are run by CPUs that are awake anyway, to \
           let the others sleep; since 6.9 an awake CPU fetches the expired timers of sleeping ones. Since 6.19 the \
           CPUs of isolcpus= and of isolated cpuset partitions take no part; those of nohz_full= do until their tick \
           stops.",
    why: "An isolated CPU that is awake with its real-time task may run timers of others.",
    see: "/proc/sys/kernel/timer_migration; trace the event timer_expire_entry on the CPU.",
    change: "sysctl kernel.timer_migration=0.",
    price: "Sleeping CPUs wake for their own timers, which costs some power.",
    checked: LINUX,
    sources: &[
        "Linux kernel/time/timer_migration.c, tmigr_is_isolated()",
        "Linux kernel/time/timer.c, timer_migration_handler()",
    ],
    find: |profile| {
        isolated(profile)?;
        // Before 6.9 timers were pushed, and never to CPUs outside the scheduling domains (get_nohz_timer_target());
        // 7ee988770326, "timers: Implement the hierarchical pull model", changed that, and 7dec062cfcf2,
        // "timers/migration: Exclude isolated cpus from hierarchy", set isolated CPUs free again in 6.19.
        let pulls = profile.kernel.at_least(6, 9) == Some(true) && profile.kernel.at_least(6, 19) == Some(false);
        (pulls && profile.sched.timer_migration == Some(true)).then(|| {
            Found::note("Isolated CPUs that are awake may run timers of sleeping ones")
                .read(paths::TIMER_MIGRATION, 1)
                .read_known(paths::RELEASE, profile.kernel.release.as_deref())
                .read_isolated(profile)
        })
    },
};

pub(super) static NUMA_BALANCING: Rule = Rule {
    id: "numa-balancing",
    title: "Memory moves between nodes by itself",
    severities: &[Warning],
    what: "Automatic NUMA balancing unmaps pages now and then to see who uses them, and moves them closer. PREEMPT_RT \
           kernels are built without it.",
    why: "Each sampled page costs a page fault in the task that uses it, and moving it costs tens of microseconds; \
          locked memory is not exempt from the faults.",
    see: "/proc/sys/kernel/numa_balancing; numa_hint_faults in /proc/vmstat.",
    change: "sysctl kernel.numa_balancing=0, or boot with numa_balancing=disable, and place memory with numactl or \
             mbind().",
    price: "Programs that do not place their memory may run more slowly on machines with several nodes.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/sysctl/kernel.rst, numa_balancing",
        "Linux kernel/sched/fair.c, task_numa_work()",
        "Linux init/Kconfig, NUMA_BALANCING",
    ],
    find: |profile| {
        let mode = profile.sched.numa_balancing.filter(|&mode| mode > 0)?;
        Some(Found::warning("Memory is unmapped and moved between nodes by itself").read(paths::NUMA_BALANCING, mode))
    },
};

pub(super) static THROTTLING: Rule = Rule {
    id: "realtime-throttling",
    title: "How real-time tasks are throttled",
    severities: &[Note],
    what: "kernel.sched_rt_runtime_us bounds what SCHED_FIFO and SCHED_RR tasks may take of each \
           kernel.sched_rt_period_us, 950 of 1000 ms by default; -1 lifts the bound. From 6.12 on the fair server \
           does this work instead, and the setting only bounds what SCHED_DEADLINE tasks may reserve, save on kernels \
           with CONFIG_RT_GROUP_SCHED, which still throttle.",
    why: "Where it acts, a task that does not sleep is stopped for the rest of the period, 50 ms by default; where \
          it is lifted, a real-time task that hangs takes its CPU for ever.",
    see: "/proc/sys/kernel/sched_rt_runtime_us; the kernel logs `sched: RT throttling activated` once a boot and names no \
          CPU, so that the log does not show any later stop. Each run of `punctual measure` says whether a \
          measuring thread was stopped: reason rt-throttled.",
    change: "sysctl kernel.sched_rt_runtime_us=-1 for tasks that poll without pause on CPUs of their own; otherwise \
             leave the default. All real-time tasks of a CPU share the bound, so that one which sleeps is stopped too where \
             the others, or a delay of its own, use it up. From 6.12 on that does not stop the fair \
             server: see fair-server-on-isolated-cpus.",
    price: "Without throttling a runaway real-time task can lock the machine up; run a watchdog.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/scheduler/sched-rt-group.rst",
        "sched(7), Limiting the CPU usage of real-time and deadline processes",
        "Linux kernel/sched/rt.c",
    ],
    find: |profile| {
        let runtime_us = profile.sched.rt_runtime_us?;
        // Since 6.12 only groups have a budget, the root group too (5f6bd380c7bd, "sched/rt: Remove default bandwidth
        // control"; kernel/sched/rt.c, update_curr_rt()).
        let has_groups = profile.kernel.has_config("CONFIG_RT_GROUP_SCHED") == Some(true);
        let throttles = profile.kernel.at_least(6, 12).map(|newer| !newer || has_groups);
        let title = match (runtime_us, throttles, profile.sched.rt_period_us) {
            (-1, Some(true), _) => {
                "Real-time throttling is off: a real-time task that hangs takes its CPU for ever".to_owned()
            }
            (runtime, Some(true), Some(period))
                if i64::try_from(period).is_ok_and(|period| runtime >= 0 && runtime < period) =>
            {
                format!("Real-time tasks are stopped when they take more than {runtime} of {period} us")
            }
            _ => return None,
        };
        let found = Found::note(title)
            .read(paths::RT_RUNTIME, runtime_us)
            .read_known(paths::RT_PERIOD, profile.sched.rt_period_us)
            .read_known(paths::RELEASE, profile.kernel.release.as_deref());
        Some(if has_groups { found.read_config(profile, "CONFIG_RT_GROUP_SCHED") } else { found })
    },
};

/// How the hard lock-up detector looks at a CPU.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HardDetector {
    /// By a non-maskable interrupt, or by an architecture's own means.
    Interrupt,
    /// By the timer of another CPU: no interrupt of its own.
    Buddy,
    /// The configuration could not be read, or does not show it.
    Unknown,
}

fn hard_detector(kernel: &Kernel) -> HardDetector {
    let has = |name: &str| kernel.config.get(name).is_some_and(|value| value == "y");
    if has("CONFIG_HARDLOCKUP_DETECTOR_BUDDY") {
        HardDetector::Buddy
    } else if has("CONFIG_HARDLOCKUP_DETECTOR_PERF") || has("CONFIG_HARDLOCKUP_DETECTOR_ARCH") {
        HardDetector::Interrupt
    } else if kernel.at_least(6, 5) == Some(false) {
        // "watchdog/hardlockup: detect hard lockups using secondary (buddy) CPUs" came in 6.5.
        HardDetector::Interrupt
    } else {
        HardDetector::Unknown
    }
}

pub(super) static CPU_QUOTA: Rule = Rule {
    id: "cpu-quota",
    title: "A control group bounds the CPU time of what runs here",
    severities: &[Warning],
    what: "The control group in which this was read, or one above it, has a quota of CPU time. When its ordinary tasks \
           have used that up within a period, 100 ms by default, all of them are stopped until the next. Real-time tasks \
           (SCHED_FIFO, SCHED_RR, SCHED_DEADLINE) are not subject to it. Other groups' quotas, and the host's where \
           this is a guest, are not seen here.",
    why: "Whatever an application does outside its real-time threads stops for tens of milliseconds at a time, at one \
          phase of the period: a real-time thread that waits for such a helper, for a lock or for data, waits as long. \
          Before 6.18 a task may be stopped inside the kernel too, and holds the kernel's locks meanwhile; since then it is \
          stopped on its way back to user space. A load that is run in the group is smaller than asked.",
    see: "cpu.max and nr_throttled of cpu.stat in the group's folder; in version 1 cpu.cfs_quota_us.",
    change: "systemctl set-property UNIT CPUQuota= (empty), docker run without --cpus, or echo max > .../cpu.max; or run \
             the program in a group without a quota.",
    price: "The group may then take all the time that its weight (cpu.weight) leaves it.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/scheduler/sched-bwc.rst",
        "Linux Documentation/admin-guide/cgroup-v2.rst, cpu.max",
        "Linux kernel/sched/fair.c (e1fad12dcb66, \"sched/fair: Switch to task based throttle model\")",
        "systemd.resource-control(5), CPUQuota=",
    ],
    find: |profile| {
        // What all running CPUs together cannot use up stops nobody.
        let running = profile.cpus.online.as_ref().and_then(|cpus| u64::try_from(cpus.len()).ok());
        let quotas: Vec<&CpuQuota> = profile
            .sched
            .cpu_quotas
            .iter()
            .filter(|quota| running.is_none_or(|cpus| quota.quota_us <= quota.period_us.saturating_mul(cpus)))
            .collect();
        // The tightest, by its share of a CPU.
        let share = |quota: &CpuQuota| quota.quota_us.saturating_mul(1_000_000) / quota.period_us.max(1);
        let tightest = quotas.iter().min_by_key(|quota| share(quota))?;
        let (quota_us, period_us) = (tightest.quota_us, tightest.period_us);
        let readings = quotas
            .iter()
            .map(|quota| (quota.path.clone(), format!("{} of each {} us", quota.quota_us, quota.period_us)))
            .collect();
        Some(
            Found::warning(format!("Ordinary tasks here are stopped after {quota_us} of each {period_us} us"))
                .read_many(readings),
        )
    },
};

pub(super) static NMI_WATCHDOG: Rule = Rule {
    id: "nmi-watchdog",
    title: "The hard lock-up detector runs",
    severities: &[Note],
    what: "A performance counter raises a non-maskable interrupt on each watched CPU after kernel.watchdog_thresh \
           seconds of busy time, 10 by default. The buddy detector (CONFIG_HARDLOCKUP_DETECTOR_BUDDY, since 6.5) has \
           the same switch and uses no such interrupt: each CPU's watchdog timer looks after the next CPU.",
    why: "The interrupt takes a few microseconds that nothing can mask, and the counter is missing for profiling.",
    see: "/proc/sys/kernel/nmi_watchdog; CONFIG_HARDLOCKUP_DETECTOR_PERF or _BUDDY in the configuration; whether row \
          NMI of /proc/interrupts rises.",
    change: "sysctl kernel.nmi_watchdog=0, or boot with nmi_watchdog=0.",
    price: "A CPU that hangs with interrupts off is no longer reported; a hardware watchdog can take over.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/lockup-watchdogs.rst",
        "Linux lib/Kconfig.debug, HARDLOCKUP_DETECTOR_PREFER_BUDDY",
        "Linux kernel/watchdog_perf.c, kernel/watchdog_buddy.c",
        "Linux Documentation/admin-guide/sysctl/kernel.rst, nmi_watchdog",
    ],
    find: |profile| {
        if profile.sched.nmi_watchdog != Some(true) {
            return None;
        }
        let title = match hard_detector(&profile.kernel) {
            HardDetector::Interrupt => "The hard lock-up detector interrupts every watched CPU",
            HardDetector::Unknown => {
                "The hard lock-up detector runs; whether it interrupts the watched CPUs is unknown"
            }
            // Its timer is that of the soft lock-up detector, which is another finding's matter.
            HardDetector::Buddy => return None,
        };
        Some(
            Found::note(title)
                .read(paths::NMI_WATCHDOG, 1)
                .read_known(paths::WATCHDOG_CPUS, profile.sched.watchdog_cpus.as_ref()),
        )
    },
};

pub(super) static AUTOGROUP: Rule = Rule {
    id: "autogroup",
    title: "Tasks share time by session",
    severities: &[Note],
    what: "Autogrouping gives each login session the same share of a CPU, and nice values count only inside a \
           session. Real-time tasks are not touched.",
    why: "Ordinary tasks that were given a nice value, for example the drain or logging thread of a real-time \
          program, get another share than expected.",
    see: "/proc/sys/kernel/sched_autogroup_enabled, /proc/PID/autogroup. It has no effect where a control group's \
          CPU controller already holds the tasks.",
    change: "sysctl kernel.sched_autogroup_enabled=0, or boot with noautogroup.",
    price: "A heavy build in one terminal makes the other terminals slower.",
    checked: LINUX,
    sources: &["sched(7), The autogroup feature"],
    find: |profile| {
        (profile.sched.autogroup == Some(true)).then(|| {
            Found::note("Ordinary tasks share time by session, not by nice value alone").read(paths::AUTOGROUP, 1)
        })
    },
};
