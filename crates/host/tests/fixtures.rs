//! Each captured or faithfully built host is read as what it is.

#![allow(clippy::unwrap_used, reason = "a test stops where something is missing")]

use std::fs;

use crate::common::{files, profile};
use profile::process::Policy;
use profile::{IssueReason, Preemption, Profile};
use units::CpuSet;

fn cpus(text: &str) -> CpuSet {
    text.parse().unwrap()
}

fn realtime(profile: &Profile) -> Vec<(&str, Policy, u32)> {
    profile.tasks.realtime.iter().map(|task| (task.comm.as_str(), task.policy, task.rt_priority)).collect()
}

#[test]
fn all_read_without_unexpected_issues() {
    for host in fixtures::hosts() {
        let (profile, issues) = crate::common::read(&fixtures::host(&host));
        // The guest has no debugfs, which holds the fair server.
        let expected = usize::from(host == "guest-kvm-two-vcpus");
        assert_eq!(issues.len(), expected, "{host}: {issues:?}");
        assert!(issues.iter().all(|issue| issue.reason == IssueReason::Missing), "{host}: {issues:?}");
        // The lab's guest is a kernel and what the lab needs in it.
        let is_bare = host == "guest-qemu-armhf";
        assert_eq!(profile.identity.distribution.is_none(), is_bare, "{host}");
        assert_eq!(profile.net.interfaces.is_empty(), is_bare, "{host}");
        assert!(profile.identity.cpu_model.is_some(), "{host}");
        assert!(!profile.kernel.config.is_empty() && profile.kernel.arch.is_some(), "{host}");
        assert!(profile.cpus.cores.len() > 1 && profile.cpus.online.is_some(), "{host}");
        assert!(!profile.irqs.lines.is_empty() && profile.tasks.task_count > 20, "{host}");
        assert!(profile.time.clocksource.is_some() && profile.memory.total_kib.is_some(), "{host}");
        assert!(!profile.virt.vulnerabilities.is_empty(), "{host}");
    }
}

#[test]
fn all_are_listed_small_and_documented() {
    assert!(fixtures::hosts().len() >= 8, "the folder was read");
    for host in fixtures::hosts() {
        let files = files(&fixtures::host(&host));
        let size: u64 = files.iter().map(|file| fs::metadata(file).unwrap().len()).sum();
        assert!(files.len() <= 400 && size < 150_000, "{host}: {} files, {size} bytes", files.len());
        assert!(fs::read_to_string(fixtures::notes(&host).join("README.md")).unwrap().contains("\n\n"), "{host}");
        assert_eq!(profile(&host).identity.hostname.as_deref(), Some("node"), "{host}");
    }
}

/// No hybrid of Intel's has `cpu_capacity`; the names of its performance counters show its kinds of cores.
#[test]
fn a_hybrid_names_its_kinds_of_cores() {
    let tree = crate::common::copy("laptop-intel-pstate");
    assert!(crate::common::read(tree.path()).0.cpus.core_types.is_empty());
    crate::common::write(tree.path(), "sys/devices/cpu_core/cpus", "0-1\n");
    crate::common::write(tree.path(), "sys/devices/cpu_atom/cpus", "2-3\n");
    crate::common::write(tree.path(), "proc/sys/vm/compact_unevictable_allowed", "1\n");
    let (profile, _) = crate::common::read(tree.path());
    let kinds: Vec<(&str, String)> =
        profile.cpus.core_types.iter().map(|(name, cpus)| (name.as_str(), cpus.to_string())).collect();
    assert_eq!(kinds, [("cpu_atom", "2-3".to_owned()), ("cpu_core", "0-1".to_owned())]);
    assert_eq!(profile.memory.compact_unevictable_allowed, Some(true));
    let found: Vec<String> = profile::check::check(&profile).into_iter().map(|finding| finding.id).collect();
    assert!(
        found.iter().any(|id| id == "cores-differ") && found.iter().any(|id| id == "locked-pages-move"),
        "{found:?}"
    );
}

/// A kernel that does not have the model that `preempt=` asks for takes the one that it was built for.
#[test]
fn a_preemption_model_that_is_gone_is_not_reported_as_the_one_in_use() {
    let tree = crate::common::copy("laptop-intel-pstate");
    let release = |text: &str| crate::common::write(tree.path(), "proc/sys/kernel/osrelease", text);
    crate::common::write(tree.path(), "proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC\n");
    crate::common::write(tree.path(), "proc/cmdline", "ro preempt=none\n");
    let _ = fs::remove_dir_all(tree.path().join("sys/kernel/debug"));
    let config = "CONFIG_X86_64=y\nCONFIG_PREEMPT_DYNAMIC=y\nCONFIG_PREEMPT_LAZY=y\n";
    for (text, expected) in [("6.19.3\n", Preemption::None), ("7.3.4\n", Preemption::Lazy)] {
        release(text);
        crate::common::write(tree.path(), &format!("boot/config-{}", text.trim()), config);
        assert_eq!(crate::common::read(tree.path()).0.kernel.preemption, expected, "{text}");
    }
}

#[test]
fn a_tuned_machine() {
    let profile = profile("rt-x86-tuned");
    assert_eq!(profile.kernel.preemption, Preemption::Realtime);
    assert_eq!(profile.kernel.config_source.as_deref(), Some("/boot/config-6.12.43+deb13-rt-amd64"));
    assert_eq!(profile.isolated_cpus(), cpus("2-3"));
    assert_eq!(profile.isolation.nohz_full, Some(cpus("2-3")));
    assert_eq!(profile.isolation.rcu_nocbs, Some(cpus("2-3")));
    assert_eq!(profile.isolation.workqueue_cpus, Some(cpus("0-1")));
    assert_eq!((profile.sched.rt_runtime_us, profile.sched.timer_migration), (Some(-1), Some(false)));
    let servers: Vec<(String, u64)> =
        profile.sched.fair_servers.iter().map(|server| (server.cpus.to_string(), server.runtime_ns)).collect();
    assert_eq!(servers, [("0-1".to_owned(), 50_000_000), ("2-3".to_owned(), 0)]);
    assert!(profile.power.frequency_policies.iter().all(|policy| policy.governor.as_deref() == Some("performance")));
    assert_eq!(profile.power.slowest_allowed_state(2).and_then(|state| state.exit_latency_us), Some(1));

    let fieldbus = profile.irqs.lines.iter().find(|line| line.number == 136).unwrap();
    assert_eq!((fieldbus.affinity.clone(), fieldbus.arrived_on()), (Some(cpus("2")), cpus("2")));
    assert_eq!(fieldbus.threads.iter().map(|thread| thread.rt_priority).collect::<Vec<_>>(), [91]);
    assert_eq!(profile.irqs.default_affinity, Some(cpus("0-1")));

    assert_eq!(
        realtime(&profile),
        [
            ("ptp4l", Policy::Fifo, 60),
            ("phc2sys", Policy::Fifo, 59),
            ("motion-cycle", Policy::Fifo, 80),
            ("fieldbus", Policy::Fifo, 85)
        ]
    );
    assert!(profile.services.named("ptp4l").is_some() && profile.services.named("irqbalance").is_none());
    assert_eq!(profile.services.tuned_profile.as_deref(), Some("realtime"));
    let port = profile.net.interfaces.iter().find(|nic| nic.name == "enp3s0").unwrap();
    assert_eq!((port.driver.as_deref(), port.rx_queue_count, port.speed_mbps), (Some("igc"), 2, Some(1000)));
    assert_eq!(port.ethtool.timestamping.as_ref().and_then(|stamps| stamps.phc_index), Some(1));
    let clocks: Vec<_> = profile.net.phcs.iter().map(|phc| (phc.index, phc.interfaces.join(","))).collect();
    assert_eq!(clocks, [(0, "enp2s0".to_owned()), (1, "enp3s0".to_owned())]);
    assert_eq!(profile.virt.guest, Some(false));
}

#[test]
fn an_armhf_board() {
    let profile = profile("a20-olinuxino-lime2");
    assert_eq!(profile.identity.model.as_deref(), Some("Olimex A20-OLinuXino-LIME2"));
    assert_eq!(profile.identity.cpu_model.as_deref(), Some("ARM Cortex-A7"));
    assert_eq!((profile.kernel.arch.as_deref(), profile.kernel.preemption), (Some("armv7l"), Preemption::Realtime));
    assert_eq!((profile.isolated_cpus(), profile.isolation.nohz_full.clone()), (cpus("1"), None));
    assert_eq!(profile.power.frequency_policies[0].cpus, cpus("0-1"));
    assert_eq!(profile.time.clocksource.as_deref(), Some("arch_sys_counter"));
    let echo = profile.irqs.lines.iter().find(|line| line.actions == ["gpio-echo"]).unwrap();
    assert_eq!((echo.chip.as_str(), echo.arrived_on()), ("sunxi_pio_edge", cpus("1")));
    assert_eq!(echo.threads[0].rt_priority, 95);
    let chips: Vec<_> = profile.gpio.iter().map(|chip| (chip.label.as_deref(), chip.line_count)).collect();
    assert_eq!(chips, [(Some("1c20800.pinctrl"), Some(288)), (Some("axp20x-gpio"), Some(4))]);
    // Nothing on this architecture says that a board is no virtual machine.
    assert_eq!((profile.virt.guest, profile.memory.transparent_huge_pages), (None, None));
}

#[test]
fn an_armhf_guest() {
    let profile = profile("guest-qemu-armhf");
    assert_eq!(profile.identity.cpu_model.as_deref(), Some("ARM Cortex-A15"));
    assert_eq!((profile.kernel.arch.as_deref(), profile.kernel.preemption), (Some("armv7l"), Preemption::Realtime));
    assert_eq!((profile.isolated_cpus(), profile.isolation.nohz_full.clone()), (cpus("1"), Some(cpus("1"))));
    assert_eq!(profile.virt.guest, Some(true));
    assert_eq!(profile.virt.guest_source.as_deref(), Some("/proc/device-tree/model: linux,dummy-virt"));
    assert!(profile.power.frequency_policies.is_empty() && profile.power.idle_driver.is_none());
    // The timer's interrupt belongs to each processor itself, whatever its affinity says.
    let timer = profile.irqs.lines.iter().find(|line| line.actions == ["arch_timer"]).unwrap();
    assert_eq!(timer.arrived_on(), cpus("0-1"));
}

#[test]
fn a_guest() {
    let profile = profile("guest-kvm-two-vcpus");
    assert_eq!(profile.virt.guest, Some(true));
    assert!(profile.virt.steal_ms.is_some_and(|ms| ms > 1000));
    assert_eq!((profile.kernel.at_least(6, 12), profile.sched.fair_servers.len()), (Some(true), 0));
    assert_eq!(profile.power.idle_driver.as_deref(), Some("haltpoll"));
    assert_eq!(
        profile.cpusets.iter().map(|set| (set.version, set.path.as_str())).collect::<Vec<_>>(),
        [(1, "/sys/fs/cgroup/cpuset")]
    );
    assert_eq!(profile.sched.root_group_rt_runtime_us, Some(950_000));
    let nic = &profile.net.interfaces[0];
    assert_eq!(
        (nic.driver.as_deref(), nic.ethtool.timestamping.as_ref().map(|t| t.tx_hardware)),
        (Some("virtio_net"), Some(false))
    );
}

#[test]
fn a_server() {
    let profile = profile("server-two-sockets");
    assert_eq!(profile.kernel.preemption, Preemption::Voluntary);
    assert!(
        profile.kernel.preemption_source.as_deref().is_some_and(|s| s.starts_with("/sys/kernel/debug/sched/preempt"))
    );
    assert_eq!((profile.cpus.cores.len(), profile.cpus.smt_active), (16, Some(true)));
    assert_eq!(profile.cpus.packages.get(&1), Some(&cpus("8-15,24-31")));
    assert_eq!(profile.cpus.nodes.get(&0), Some(&cpus("0-7,16-23")));
    assert_eq!(
        profile.cpus.last_level_caches.iter().map(|cache| cache.cpus.to_string()).collect::<Vec<_>>(),
        ["0-7,16-23", "8-15,24-31"]
    );
    // Nothing at boot; the valid partition alone isolates. Its child confines without being a partition.
    assert_eq!(profile.isolation.isolated, Some(CpuSet::new()));
    assert_eq!(profile.isolated_cpus(), cpus("12-15,28-31"));
    assert_eq!(
        profile.cpusets.iter().map(|set| set.path.as_str()).collect::<Vec<_>>(),
        ["/sys/fs/cgroup/rt.slice", "/sys/fs/cgroup/rt.slice/vm.scope"]
    );
    assert_eq!(profile.services.irqbalance_banned_cpus, Some(cpus("12-15,28-31")));
    assert!(profile.power.frequency_policies.is_empty() && profile.power.idle.is_empty());
    assert_eq!(profile.net.virtual_interface_count, 2);
    assert_eq!(profile.net.interfaces[0].ethtool.channels.as_ref().map(|c| c.combined_max_count), Some(32));
    let stray: CpuSet = profile
        .irqs
        .lines
        .iter()
        .map(|line| line.arrived_on().intersection(&profile.isolated_cpus()))
        .fold(CpuSet::new(), |all, cpus| all.union(&cpus));
    assert_eq!(stray, cpus("12,28"));
    let movable: Vec<&str> = profile.tasks.on_isolated.iter().map(|task| task.comm.as_str()).collect();
    assert_eq!(movable, ["CPU 0/KVM", "CPU 1/KVM"]);
}

#[test]
fn an_arm64_board() {
    let profile = profile("raspberry-pi-4");
    assert_eq!(profile.kernel.preemption, Preemption::Full);
    assert_eq!(profile.kernel.config_source.as_deref(), Some("/proc/config.gz"));
    assert_eq!(profile.identity.cpu_model.as_deref(), Some("ARM Cortex-A72"));
    assert_eq!(profile.power.frequency_policies[0].governor.as_deref(), Some("ondemand"));
    assert_eq!(profile.kernel.param_value("smsc95xx.macaddr"), Some("hidden"));
    let usb = profile.irqs.lines.iter().find(|line| line.actions == ["xhci_hcd"]).unwrap();
    assert_eq!(usb.chip, "BRCM STB PCIe MSI");
    assert_eq!(profile.net.interfaces.iter().map(|nic| nic.speed_mbps).collect::<Vec<_>>(), [Some(1000), None]);
    assert_eq!(profile.memory.transparent_huge_pages.as_deref(), Some("always"));
}

#[test]
fn a_laptop() {
    let profile = profile("laptop-intel-pstate");
    assert_eq!((profile.kernel.preemption, profile.power.boost), (Preemption::Voluntary, Some(true)));
    assert_eq!(profile.power.pstate_status.as_deref(), Some("active"));
    assert!(profile.power.frequency_policies.iter().all(|policy| policy.governor.as_deref() == Some("powersave")
        && policy.energy_preference.as_deref() == Some("balance_performance")));
    assert_eq!(profile.power.slowest_allowed_state(7).map(|state| state.name.as_str()), Some("C3_ACPI"));
    assert!(profile.services.named("irqbalance").is_some() && profile.services.named("thermald").is_some());
    assert_eq!(realtime(&profile), [("data-loop.0", Policy::RoundRobin, 20)]);
    assert_eq!(profile.cpus.thermal_throttle_counts.keys().copied().collect::<CpuSet>(), cpus("1,5"));
    assert_eq!(profile.isolated_cpus(), CpuSet::new());
}

#[test]
fn a_machine_full_of_contradictions() {
    let profile = profile("rt-x86-contradictions");
    assert_eq!(profile.kernel.preemption, Preemption::Realtime);
    assert_eq!(profile.kernel.params_named("isolcpus").count(), 2);
    assert_eq!(profile.isolated_cpus(), cpus("2-3"), "the refused partition isolates nothing");
    assert_eq!((profile.kernel.has_config("CONFIG_NO_HZ_FULL"), &profile.isolation.nohz_full), (Some(false), &None));
    assert_eq!(profile.irqs.default_affinity, Some(cpus("0-3")));
    let partition = profile.cpusets.iter().find(|set| set.path.ends_with("rt.slice")).unwrap();
    let reason = partition.partition_state().unwrap().invalid.unwrap();
    assert_eq!(reason, "Cpu list in cpuset.cpus not exclusive");
    let governors: std::collections::BTreeSet<_> =
        profile.power.frequency_policies.iter().filter_map(|policy| policy.governor.as_deref()).collect();
    assert_eq!(governors.into_iter().collect::<Vec<_>>(), ["performance", "powersave"]);
    assert_eq!(profile.time.clocksource.as_deref(), Some("hpet"));
    assert_eq!(profile.sched.timer_migration, Some(true));
    assert_eq!(profile.power.idle_driver.as_deref(), Some("acpi_idle"));
    assert_eq!(profile.cpus.siblings_outside(&profile.isolated_cpus()), cpus("6-7"));
    assert!(profile.services.named("irqbalance").is_some());
    assert!(realtime(&profile).contains(&("multipathd", Policy::Fifo, 99)));
    assert_eq!(profile.net.interfaces[0].rps_cpus, Some(cpus("2-3")));
}
