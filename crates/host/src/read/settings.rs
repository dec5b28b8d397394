//! Single settings: isolation, scheduler, clock sources, memory, virtualisation.

use std::collections::BTreeMap;

use profile::bandwidth::{CpuQuota, own_groups, parse_cpu_max, reduce_own_groups};
use profile::cpuset::CgroupMounts;
use profile::identity::CpuInfo;
use profile::isolation::{Isolation, parse_cpu_file};
use profile::kernel::Kernel;
use profile::virt::{GuestHints, Virt, parse_steal_ms, reduce_stat};
use profile::{Cpus, Memory, Sched, Time, cmdline, paths, text};
use units::CpuSet;

use crate::source::Source;

/// `/proc/stat` counts every interrupt since boot, on one line.
const STAT_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// A process is in one group of each hierarchy.
const OWN_GROUPS_MAX_BYTES: u64 = 64 * 1024;
/// The release in which ordinary tasks got a budget of their own against real-time ones (kernel/sched/fair.c).
const FAIR_SERVER_SINCE: (u32, u32) = (6, 12);

pub(crate) fn isolation(source: &Source<'_>, kernel: &Kernel, cpus: &Cpus) -> Isolation {
    let asked = |name: &str| {
        let lists = kernel.params_named(name).filter_map(|param| param.value.as_deref());
        lists
            .filter_map(|list| cmdline::parse_cpu_list(list, cpus.last()))
            .fold(CpuSet::new(), |all, set| all.union(&set))
    };
    Isolation {
        isolated: source.value(paths::ISOLATED, parse_cpu_file),
        nohz_full: source.value(paths::NOHZ_FULL, parse_cpu_file),
        rcu_nocbs: kernel.cmdline.is_some().then(|| asked("rcu_nocbs").union(&asked("nohz_full"))),
        workqueue_cpus: source.value(paths::WORKQUEUE, CpuSet::from_mask),
    }
}

/// The quotas of CPU time that concern this process.
fn cpu_quotas(source: &Source<'_>, mounts: &CgroupMounts) -> Vec<CpuQuota> {
    let Some(groups) = source.reduced(paths::OWN_GROUPS, OWN_GROUPS_MAX_BYTES, reduce_own_groups) else {
        return Vec::new();
    };
    let quota = |path: String| {
        let number = |file: &str| source.value(&format!("{path}/{file}"), text::signed);
        let version_1 = || {
            // -1 means none.
            let quota_us = u64::try_from(number("cpu.cfs_quota_us")?).ok()?;
            Some((quota_us, u64::try_from(number("cpu.cfs_period_us")?).ok()?))
        };
        let version_2 = source.text(&format!("{path}/cpu.max")).as_deref().and_then(parse_cpu_max);
        let (quota_us, period_us) = version_2.or_else(version_1)?;
        Some(CpuQuota { path, quota_us, period_us })
    };
    own_groups(&groups, mounts).into_iter().filter_map(quota).collect()
}

pub(crate) fn sched(source: &Source<'_>, kernel: &Kernel, mounts: &CgroupMounts) -> Sched {
    let switch = |path: &str| source.value(path, text::switch);
    let number = |path: &str| source.value(path, text::number);
    let mut sched = Sched {
        rt_runtime_us: source.value(paths::RT_RUNTIME, text::signed),
        rt_period_us: number(paths::RT_PERIOD),
        root_group_rt_runtime_us: source.value(paths::ROOT_GROUP_RT_RUNTIME, text::signed),
        timer_migration: switch(paths::TIMER_MIGRATION),
        autogroup: switch(paths::AUTOGROUP),
        numa_balancing: number(paths::NUMA_BALANCING),
        nmi_watchdog: switch(paths::NMI_WATCHDOG),
        soft_watchdog: switch(paths::SOFT_WATCHDOG),
        watchdog_cpus: source.value(paths::WATCHDOG_CPUS, |text| text.trim().parse().ok()),
        hung_task_timeout_s: number(paths::HUNG_TASK),
        cpu_quotas: cpu_quotas(source, mounts),
        ..Sched::default()
    };
    let server = |folder: &str, cpu: u32| {
        let value = |file: &str| number(&format!("{folder}/cpu{cpu}/{file}"));
        value("runtime").zip(value("period"))
    };
    for cpu in source.numbered(paths::FAIR_SERVER, "cpu") {
        if let Some((runtime_ns, period_ns)) = server(paths::FAIR_SERVER, cpu) {
            sched.add_fair_server(cpu, runtime_ns, period_ns);
        }
    }
    // No kernel has this file alone, and a folder that may not be read is reported once.
    let ext_cpus = if sched.fair_servers.is_empty() { Vec::new() } else { source.numbered(paths::EXT_SERVER, "cpu") };
    for cpu in ext_cpus {
        if let Some((runtime_ns, period_ns)) = server(paths::EXT_SERVER, cpu) {
            sched.add_ext_server(cpu, runtime_ns, period_ns);
        }
    }
    let (major, minor) = FAIR_SERVER_SINCE;
    if sched.fair_servers.is_empty() && kernel.at_least(major, minor) == Some(true) {
        let effect = "what ordinary tasks take from real-time ones is unknown: debugfs is not mounted, or this process may not look into \
             it, or the kernel is built without SCHED_DEBUG (to 6.14)";
        source.missing(paths::FAIR_SERVER, effect);
    }
    sched
}

pub(crate) fn time(source: &Source<'_>, cpuinfo: &CpuInfo) -> Time {
    const FLAGS: [&str; 4] = ["constant_tsc", "nonstop_tsc", "tsc_known_freq", "tsc_deadline_timer"];
    Time {
        clocksource: source.value(paths::CLOCKSOURCE, text::line),
        clocksources_available: source.text(paths::CLOCKSOURCES).map(|list| text::words(&list)).unwrap_or_default(),
        broadcast_device: source.value("/sys/devices/system/clockevents/broadcast/current_device", text::line),
        discipline: super::timekeeping::discipline(source),
        tsc_flags: cpuinfo.flags.iter().filter(|flag| FLAGS.contains(&flag.as_str())).cloned().collect(),
    }
}

pub(crate) fn memory(source: &Source<'_>) -> Memory {
    let number = |path: &str| source.value(path, text::number);
    let mut memory = Memory {
        transparent_huge_pages: source.value(paths::THP, text::chosen),
        ksm_run: number(paths::KSM),
        swappiness: number(paths::SWAPPINESS),
        stat_interval_s: number(paths::STAT_INTERVAL),
        compact_unevictable_allowed: source.value(paths::COMPACT_UNEVICTABLE, text::switch),
        ..Memory::default()
    };
    if let Some(text) = source.text(paths::MEMINFO) {
        memory.add_meminfo(&text);
        if memory.total_kib.is_none() {
            source.odd(paths::MEMINFO);
        }
    }
    memory
}

/// Whether this is a virtual machine, with the evidence.
pub(crate) fn guest(source: &Source<'_>, cpuinfo: &CpuInfo, model: Option<&str>) -> (Option<bool>, Option<String>) {
    let hypervisor_type = source.text("/sys/hypervisor/type");
    let device_tree = source.text("/proc/device-tree/hypervisor/compatible");
    profile::virt::guest(GuestHints {
        cpu_flags: &cpuinfo.flags,
        hypervisor_type: hypervisor_type.as_deref(),
        model,
        device_tree: device_tree.as_deref(),
    })
}

pub(crate) fn virt(source: &Source<'_>, cpuinfo: &CpuInfo, model: Option<&str>) -> Virt {
    let (guest, guest_source) = guest(source, cpuinfo, model);
    let mut vulnerabilities = BTreeMap::new();
    for name in source.files(paths::VULNERABILITIES) {
        if let Some(state) = source.value(&format!("{}/{name}", paths::VULNERABILITIES), text::line) {
            vulnerabilities.insert(name, state);
        }
    }
    let stat = source.reduced(paths::STAT, STAT_MAX_BYTES, reduce_stat);
    Virt { guest, guest_source, steal_ms: stat.as_deref().and_then(parse_steal_ms), vulnerabilities }
}
