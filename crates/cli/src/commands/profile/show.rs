//! A profile for people: the node itself. Devices are in `show_devices`.

use ::profile::cpuset::Cpuset;
use ::profile::process::Task;
use ::profile::{Profile, power::IdleState};
use units::CpuSet;

use super::sheet::Sheet;
use super::show_devices;

/// How many tasks of a kind are listed before the rest is counted.
const TASKS_SHOWN_MAX: usize = 24;
/// Enough of a SHA-256 to distinguish profiles by eye.
const HASH_SHOWN_LEN: usize = 12;

pub(crate) fn show(profile: &Profile, color: bool) -> String {
    let mut sheet = Sheet::new(color);
    node(&mut sheet, profile);
    kernel(&mut sheet, profile);
    cpus(&mut sheet, profile);
    isolation(&mut sheet, profile);
    power(&mut sheet, profile);
    sched(&mut sheet, profile);
    show_devices::irqs(&mut sheet, &profile.irqs, &profile.isolated_cpus());
    tasks(&mut sheet, profile);
    memory(&mut sheet, profile);
    show_devices::net(&mut sheet, &profile.net);
    show_devices::gpio(&mut sheet, &profile.gpio);
    virt(&mut sheet, profile);
    sheet.into_text()
}

/// A set of CPUs in words.
pub(crate) fn set(cpus: &CpuSet) -> String {
    if cpus.is_empty() { "none".to_owned() } else { cpus.to_string() }
}

pub(crate) const fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn sets(cpus: Option<&CpuSet>) -> Option<String> {
    cpus.map(set)
}

fn node(sheet: &mut Sheet, profile: &Profile) {
    let identity = &profile.identity;
    sheet.section("Node");
    sheet.row("name", identity.hostname.as_ref());
    sheet.row("model", identity.model.as_ref());
    sheet.row("firmware", identity.firmware.as_ref());
    sheet.row("processor", identity.cpu_model.as_ref());
    sheet.row("microcode", identity.microcode.as_ref());
    sheet.row("distribution", identity.distribution.as_ref());
    let hash: String = profile.hash().chars().take(HASH_SHOWN_LEN).collect();
    sheet.row("configuration", Some(format!("{hash} (changes only with the settings)")));
}

fn kernel(sheet: &mut Sheet, profile: &Profile) {
    let kernel = &profile.kernel;
    sheet.section("Kernel");
    let arch = kernel.arch.as_ref().map(|arch| format!(" ({arch})")).unwrap_or_default();
    sheet.row("release", kernel.release.as_ref().map(|release| format!("{release}{arch}")));
    sheet.row("build", kernel.version.as_ref());
    let source = kernel.preemption_source.as_deref().map(|source| format!(", from {source}")).unwrap_or_default();
    sheet.row("preemption", Some(format!("{}{source}", kernel.preemption.as_str())));
    let count = kernel.config.len();
    sheet.row("options", kernel.config_source.as_ref().map(|place| format!("{count}, from {place}")));
    sheet.row("command line", kernel.cmdline.as_ref());
    sheet.row("clock source", clocksource(profile));
    sheet.row("broadcast timer", Some(profile.time.broadcast_device.as_deref().unwrap_or("none reported")));
}

fn clocksource(profile: &Profile) -> Option<String> {
    let time = &profile.time;
    let others: Vec<&str> = time
        .clocksources_available
        .iter()
        .map(String::as_str)
        .filter(|name| Some(*name) != time.clocksource.as_deref())
        .collect();
    let others = if others.is_empty() { String::new() } else { format!(", also available: {}", others.join(" ")) };
    time.clocksource.as_ref().map(|name| format!("{name}{others}"))
}

fn cpus(sheet: &mut Sheet, profile: &Profile) {
    let cpus = &profile.cpus;
    sheet.section("CPUs");
    sheet.row("online", sets(cpus.online.as_ref()));
    sheet.row("present, possible", cpus.present.as_ref().zip(cpus.possible.as_ref()).map(|(a, b)| format!("{a}, {b}")));
    let smt = cpus.smt_active.map(|active| if active { "active" } else { "not active" });
    let smt = smt.into_iter().chain(cpus.smt_control.as_deref()).collect::<Vec<_>>().join(", control ");
    sheet.row("SMT", Some(smt).filter(|text| !text.is_empty()));
    let cores: Vec<String> = cpus.cores.iter().map(|core| core.to_string().replace(',', "+")).collect();
    sheet.row("cores", (!cores.is_empty()).then(|| format!("{}: {}", cores.len(), cores.join(" "))));
    let named = |(name, cpus): (String, &CpuSet)| format!("{name}: {cpus}");
    if cpus.packages.len() > 1 {
        let packages: Vec<String> = cpus.packages.iter().map(|(id, cpus)| named((id.to_string(), cpus))).collect();
        sheet.row("packages", Some(packages.join("; ")));
    }
    if cpus.nodes.len() > 1 {
        let nodes: Vec<String> = cpus.nodes.iter().map(|(id, cpus)| named((id.to_string(), cpus))).collect();
        sheet.row("memory nodes", Some(nodes.join("; ")));
    }
    if cpus.capacities.len() > 1 {
        let kinds: Vec<String> = cpus.capacities.iter().map(|(id, cpus)| named((id.to_string(), cpus))).collect();
        sheet.row("capacities", Some(kinds.join("; ")));
    }
    if cpus.core_types.len() > 1 {
        let kinds: Vec<String> = cpus.core_types.iter().map(|(name, cpus)| named((name.clone(), cpus))).collect();
        sheet.row("kinds of cores", Some(kinds.join("; ")));
    }
    let caches: Vec<String> = cpus
        .last_level_caches
        .iter()
        .map(|cache| {
            format!("L{} {} on {}", cache.level, cache.size.as_deref().unwrap_or("of unknown size"), cache.cpus)
        })
        .collect();
    sheet.row("last-level caches", (!caches.is_empty()).then(|| caches.join("; ")));
    if !cpus.thermal_throttle_counts.is_empty() {
        let throttled: Vec<String> =
            cpus.thermal_throttle_counts.iter().map(|(cpu, count)| format!("CPU {cpu}: {count} times")).collect();
        sheet.row("slowed by heat", Some(throttled.join(", ")));
    }
}

fn isolation(sheet: &mut Sheet, profile: &Profile) {
    let isolation = &profile.isolation;
    sheet.section("Isolation");
    let isolated = profile.isolated_cpus();
    let is_known = isolation.isolated.is_some() || !isolated.is_empty();
    sheet.row("isolated", is_known.then(|| set(&isolated)));
    let nohz_full = sets(isolation.nohz_full.as_ref());
    let built_in = profile.kernel.has_config("CONFIG_NO_HZ_FULL");
    let nohz_full = nohz_full.or_else(|| (built_in == Some(false)).then(|| "not built in".to_owned()));
    sheet.row("nohz_full", nohz_full);
    sheet.row("rcu_nocbs asked", sets(isolation.rcu_nocbs.as_ref()));
    sheet.row("work queues", sets(isolation.workqueue_cpus.as_ref()));
    sheet.rows("cpusets", &profile.cpusets.iter().map(cpuset).collect::<Vec<_>>(), "none sets CPUs apart");
}

fn cpuset(cpuset: &Cpuset) -> String {
    let mut words = vec![format!("v{} {}:", cpuset.version, cpuset.path)];
    let mut add = |name: &str, cpus: &Option<CpuSet>| {
        words.extend(cpus.as_ref().map(|cpus| format!("{name} {},", set(cpus))));
    };
    add("asked", &cpuset.cpus);
    add("effective", &cpuset.effective_cpus);
    add("exclusive", &cpuset.exclusive_cpus);
    words.extend(cpuset.partition.as_ref().map(|partition| format!("partition {partition},")));
    words.extend(cpuset.cpu_exclusive.filter(|on| *on).map(|_| "exclusive,".to_owned()));
    words.extend(cpuset.sched_load_balance.map(|on| format!("load balancing {},", on_off(on))));
    words.join(" ").trim_end_matches([',', ':']).to_owned()
}

fn power(sheet: &mut Sheet, profile: &Profile) {
    let power = &profile.power;
    sheet.section("Frequency and idle");
    let policies: Vec<String> = show_devices::frequencies(&power.frequency_policies);
    sheet.rows("frequency", &policies, "no driver: fixed, or left to the firmware");
    if !power.frequency_policies.is_empty() {
        sheet.row("boost", power.boost.map(on_off));
    }
    if let Some(status) = &power.pstate_status {
        sheet.row("P-state driver", Some(status));
    }
    let driver = power.idle_driver.as_deref();
    let governor = power.idle_governor.as_deref().map(|name| format!(", governor {name}")).unwrap_or_default();
    sheet.row("idle driver", driver.map(|name| format!("{name}{governor}")));
    let groups: Vec<String> = power
        .idle
        .iter()
        .map(|group| format!("{}: {}", group.cpus, group.states.iter().map(idle_state).collect::<Vec<_>>().join(", ")))
        .collect();
    sheet.rows("idle states", &groups, "none reported");
    sheet.row("latency bound", power.dma_latency_us.map(latency_bound));
    if !power.resume_latency_us.is_empty() {
        let own: Vec<String> = power.resume_latency_us.iter().map(|(bound, cpus)| format!("{cpus}: {bound}")).collect();
        sheet.row("own bounds (us)", Some(own.join("; ")));
    }
}

fn idle_state(state: &IdleState) -> String {
    let latency = state.exit_latency_us.map_or_else(|| "?".to_owned(), |us| us.to_string());
    let off = if state.disabled == Some(true) { " (off)" } else { "" };
    format!("{} {latency} us{off}", state.name)
}

/// `PM_QOS_CPU_LATENCY_DEFAULT_VALUE`, include/linux/pm_qos.h: nobody asks for anything.
const NO_LATENCY_BOUND_US: u64 = 2_000_000_000;

fn latency_bound(us: u64) -> String {
    if us >= NO_LATENCY_BOUND_US { "nobody holds one".to_owned() } else { format!("{us} us") }
}

fn sched(sheet: &mut Sheet, profile: &Profile) {
    let sched = &profile.sched;
    sheet.section("Scheduler");
    let throttle = sched.rt_runtime_us.map(|runtime| match (runtime, sched.rt_period_us) {
        (..0, _) => "off".to_owned(),
        (runtime, Some(period)) => format!("{runtime} us of each {period} us"),
        (runtime, None) => format!("{runtime} us of an unknown period"),
    });
    sheet.row("RT throttle", throttle);
    if let Some(runtime) = sched.root_group_rt_runtime_us {
        sheet.row("RT root group", Some(format!("{runtime} us")));
    }
    let servers: Vec<String> = sched
        .fair_servers
        .iter()
        .map(|server| {
            let of = if server.runtime_ns == 0 {
                "off".to_owned()
            } else {
                format!("{} of each {}", units::format::span(server.runtime_ns), units::format::span(server.period_ns))
            };
            format!("{}: {of}", server.cpus)
        })
        .collect();
    let is_older = profile.kernel.at_least(6, 12) == Some(false);
    sheet.row(
        "fair server",
        if servers.is_empty() { is_older.then(|| "not in this kernel".to_owned()) } else { Some(servers.join("; ")) },
    );
    sheet.row("timer migration", sched.timer_migration.map(on_off));
    if let Some(on) = sched.autogroup {
        sheet.row("autogroup", Some(on_off(on)));
    }
    if let Some(level) = sched.numa_balancing {
        sheet.row("NUMA balancing", Some(on_off(level != 0)));
    }
    sheet.row("watchdogs", watchdogs(profile));
    let hung = sched.hung_task_timeout_s.map(|s| if s == 0 { "never".to_owned() } else { format!("after {s} s") });
    sheet.row("hung task reports", hung);
}

fn watchdogs(profile: &Profile) -> Option<String> {
    let sched = &profile.sched;
    let word = |name: &str, on: Option<bool>| on.map(|on| format!("{name} {}", on_off(on)));
    let mut words: Vec<String> =
        [word("hard", sched.nmi_watchdog), word("soft", sched.soft_watchdog)].into_iter().flatten().collect();
    if words.is_empty() {
        return None;
    }
    words.extend(sched.watchdog_cpus.as_ref().map(|cpus| format!("on {}", set(cpus))));
    Some(words.join(", "))
}

fn tasks(sheet: &mut Sheet, profile: &Profile) {
    let tasks = &profile.tasks;
    sheet.section("Tasks");
    let (all, own) = (tasks.task_count, tasks.kernel_per_cpu_count);
    sheet.row("count", Some(format!("{all}, of which the kernel binds {own} to their CPUs")));
    let running: Vec<&str> = profile.services.running.iter().map(|service| service.name.as_str()).collect();
    sheet.row(
        "timing services",
        Some(if running.is_empty() { "none of those known".to_owned() } else { running.join(", ") }),
    );
    if let Some(name) = &profile.services.tuned_profile {
        sheet.row("tuned profile", Some(name));
    }
    if let Some(cpus) = &profile.services.irqbalance_banned_cpus {
        sheet.row("irqbalance spares", Some(set(cpus)));
    }
    list(sheet, "real-time", &tasks.realtime);
    list(sheet, "kernel, real-time", &tasks.kernel_realtime);
    list(sheet, "kernel, confined", &tasks.kernel_confined);
    if !profile.isolated_cpus().is_empty() {
        let movable: Vec<Task> =
            tasks.on_isolated.iter().filter(|task| !tasks.realtime.contains(task)).cloned().collect();
        list(sheet, "may run on isolated", &movable);
    }
}

fn list(sheet: &mut Sheet, name: &str, tasks: &[Task]) {
    let all = lines(tasks);
    let mut shown: Vec<String> = all.iter().take(TASKS_SHOWN_MAX).cloned().collect();
    if let Some(rest) = all.len().checked_sub(TASKS_SHOWN_MAX).filter(|&rest| rest > 0) {
        shown.push(format!("and {rest} more (--json lists all)"));
    }
    sheet.rows(name, &shown, "none");
}

/// One line for each task, and one for all the threads that the kernel keeps one of on each CPU.
fn lines(tasks: &[Task]) -> Vec<String> {
    let mut lines: Vec<(String, CpuSet)> = Vec::new();
    for task in tasks {
        let per_cpu = task.comm.rsplit_once('/').filter(|_| task.kernel && task.bound);
        let Some((stem, cpu)) = per_cpu.and_then(|(stem, cpu)| Some((stem, cpu.parse::<u32>().ok()?))) else {
            let cpus = task.affinity.as_ref().map(|cpus| format!(" on {}", set(cpus))).unwrap_or_default();
            lines.push((format!("{}{cpus}", task.label()), CpuSet::new()));
            continue;
        };
        let label = format!("{stem}/* ({} {}), one on each of ", task.policy, task.rt_priority);
        match lines.iter_mut().find(|(other, _)| *other == label) {
            Some((_, cpus)) => cpus.insert(cpu),
            None => lines.push((label, [cpu].into_iter().collect())),
        }
    }
    lines.into_iter().map(|(label, cpus)| if cpus.is_empty() { label } else { format!("{label}{cpus}") }).collect()
}

fn memory(sheet: &mut Sheet, profile: &Profile) {
    let memory = &profile.memory;
    let size = |kib: u64| units::format::bytes(kib.saturating_mul(1024));
    sheet.section("Memory");
    let available = memory.available_kib.map(|kib| format!(", {} available", size(kib))).unwrap_or_default();
    sheet.row("total", memory.total_kib.map(|kib| format!("{}{available}", size(kib))));
    let swap = memory.swap_total_kib.zip(memory.swap_used_kib).map(|(total, used)| match total {
        0 => "none".to_owned(),
        _ => format!("{}, {} used", size(total), size(used)),
    });
    sheet.row("swap", swap);
    sheet.row("swappiness", memory.swappiness.map(|value| value.to_string()));
    // PREEMPT_RT kernels are built without them.
    let no_thp = profile.kernel.has_config("CONFIG_TRANSPARENT_HUGEPAGE") == Some(false);
    let thp = memory.transparent_huge_pages.as_deref().or(no_thp.then_some("not built in"));
    sheet.row("transparent pages", thp);
    let huge = memory.huge_page_count.zip(memory.huge_page_kib);
    sheet.row("huge pages", huge.map(|(count, kib)| format!("{count} of {}", size(kib))));
    sheet.row("page merging", memory.ksm_run.map(|run| on_off(run == 1)));
    let moves = memory.compact_unevictable_allowed.map(|moves| if moves { "moved by compaction" } else { "stay" });
    sheet.row("locked pages", moves);
    sheet.row("statistics folded", memory.stat_interval_s.map(|s| format!("every {s} s")));
}

fn virt(sheet: &mut Sheet, profile: &Profile) {
    let virt = &profile.virt;
    sheet.section("Virtualisation and mitigations");
    let source = virt.guest_source.as_deref().map(|source| format!(", from {source}")).unwrap_or_default();
    sheet.row("guest", virt.guest.map(|guest| format!("{}{source}", if guest { "yes" } else { "no" })));
    let steal = virt.steal_ms.map(|ms| match i64::try_from(ms).unwrap_or(i64::MAX) {
        0 => "nothing".to_owned(),
        ms => units::format::span(ms.saturating_mul(1_000_000)),
    });
    sheet.row("stolen since boot", steal);
    if virt.vulnerabilities.is_empty() {
        sheet.row("mitigations", None::<String>);
        return;
    }
    let affected: Vec<String> = virt
        .vulnerabilities
        .iter()
        .filter(|(_, state)| state.as_str() != "Not affected")
        .map(|(name, state)| format!("{name}: {state}"))
        .collect();
    let spared = virt.vulnerabilities.len() - affected.len();
    sheet.rows("mitigations", &affected, "none needed");
    if spared > 0 {
        sheet.row("not affected by", Some(format!("{spared} others")));
    }
}
