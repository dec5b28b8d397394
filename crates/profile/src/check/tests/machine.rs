//! Rules about power, topology, memory, the scheduler and virtual machines.

use super::super::Severity::{Note, Warning};
use super::base::{boot, configure, idle_state, isolate, realtime};
use super::{check, check_silent, cpus};
use crate::bandwidth::CpuQuota;
use crate::process::{Policy, Task};
use crate::{Preemption, Profile};

#[test]
fn deep_idle() {
    let id = "deep-idle-states";
    let deep = |p: &mut Profile| p.power.idle[1].states = vec![idle_state(3, "C6", 133, false)];
    let found = check(id, Warning, deep);
    assert_eq!(found.title, "CPUs 2-3 may sleep so deeply that waking takes 133 us");
    check(id, Warning, |p| isolate(p, ""));
    check(id, Note, |p| {
        deep(p);
        p.power.dma_latency_us = None;
    });
    check_silent(id, |p| {
        deep(p);
        p.power.dma_latency_us = Some(10);
    });
    check_silent(id, |p| {
        deep(p);
        p.power.add_resume_latency(2, "n/a");
        p.power.add_resume_latency(3, "20");
    });
    check_silent(id, |p| {
        deep(p);
        boot(p, "idle=poll");
    });
    check_silent(id, |p| p.power.idle[1].states = vec![idle_state(1, "WFI", 20, false)]);
    check_silent(id, |p| {
        deep(p);
        p.power.idle[1].states[0].disabled = None;
    });
}

#[test]
fn governors() {
    let set = |p: &mut Profile, index: usize, governor: &str| {
        p.power.frequency_policies[index].governor = Some(governor.to_owned());
    };
    check("governors-differ", Warning, |p| set(p, 2, "schedutil"));
    check_silent("governors-differ", |p| p.power.frequency_policies[2].governor = None);

    let id = "governor-not-performance";
    let hardware = check(id, Warning, |p| set(p, 0, "powersave"));
    assert!(hardware.title.contains("the hardware chooses"), "{hardware:?}");
    let slow = check(id, Warning, |p| {
        set(p, 0, "powersave");
        p.power.frequency_policies[0].driver = Some("acpi-cpufreq".to_owned());
    });
    assert!(slow.title.contains("the lowest frequency"), "{slow:?}");
    check(id, Warning, |p| set(p, 0, "ondemand"));
    check_silent(id, |p| {
        set(p, 0, "ondemand");
        p.power.frequency_policies[0].scaling_min_khz = Some(3_000_000);
    });
}

#[test]
fn frequencies_and_heat() {
    check("thermal-throttling", Warning, |p| p.cpus.thermal_throttle_counts = [(1, 12)].into_iter().collect());
    check_silent("thermal-throttling", |p| p.cpus.thermal_throttle_counts = [(1, 0)].into_iter().collect());
    let boost = check("frequency-boost", Note, |p| p.power.boost = Some(true));
    assert!(boost.evidence[0].source.ends_with("no_turbo"), "{boost:?}");
    check_silent("frequency-boost", |p| p.power.boost = None);
    check("frequency-capped", Note, |p| p.power.frequency_policies[0].scaling_max_khz = Some(2_000_000));
    check_silent("frequency-capped", |p| p.power.frequency_policies[0].hardware_max_khz = None);
    check("latency-request-held", Note, |p| p.power.dma_latency_us = Some(0));
    check_silent("latency-request-held", |p| p.power.dma_latency_us = None);
    check("idle-polls", Note, |p| boot(p, "idle=poll"));
    check("idle-polls", Warning, |p| {
        boot(p, "idle=poll");
        p.cpus.smt_active = Some(true);
    });
    check_silent("idle-polls", |p| boot(p, "idle=nomwait"));
    check_silent("idle-polls", |p| {
        boot(p, "idle=poll");
        p.kernel.arch = Some("aarch64".to_owned());
    });
    check_silent("idle-polls", |p| {
        boot(p, "idle=poll");
        p.kernel.arch = None;
    });
}

#[test]
fn cpu_quota() {
    let quota = |path: &str, quota_us| CpuQuota { path: path.to_owned(), quota_us, period_us: 100_000 };
    let found = check("cpu-quota", Warning, |p| p.sched.cpu_quotas = vec![quota("/a", 150_000), quota("/a/b", 50_000)]);
    assert_eq!(found.title, "Ordinary tasks here are stopped after 50000 of each 100000 us");
    assert_eq!(found.evidence.len(), 2);
    check_silent("cpu-quota", |p| p.sched.cpu_quotas.clear());
    // Four CPUs can use up 400 ms in a period, and no more.
    check_silent("cpu-quota", |p| p.sched.cpu_quotas = vec![quota("/a", 500_000)]);
    check("cpu-quota", Warning, |p| p.sched.cpu_quotas = vec![quota("/a", 400_000)]);
    let found = check("cpu-quota", Warning, |p| p.sched.cpu_quotas = vec![quota("/a", 500_000), quota("/a/b", 50_000)]);
    assert_eq!(found.evidence.len(), 1, "{found:?}");
}

#[test]
fn topology() {
    check("smt-active", Note, |p| p.cpus.smt_active = Some(true));
    check_silent("smt-active", |p| p.cpus.smt_active = None);
    check("cpus-offline", Note, |p| p.cpus.online = Some(cpus("0,2-3")));
    check("cpus-offline", Warning, |p| p.cpus.online = Some(cpus("0-2")));
    check_silent("cpus-offline", |p| {
        p.cpus.online = Some(cpus("0,2-3"));
        p.cpus.smt_control = Some("off".to_owned());
    });
    check_silent("cpus-offline", |p| p.cpus.present = None);
    check("cores-differ", Note, |p| {
        p.cpus.capacities = [(446, cpus("0-1")), (1024, cpus("2-3"))].into_iter().collect();
    });
    check_silent("cores-differ", |p| p.cpus.capacities = [(1024, cpus("0-3"))].into_iter().collect());
    let hybrid = check("cores-differ", Note, |p| {
        p.cpus.capacities = [(1024, cpus("0")), (1010, cpus("1")), (640, cpus("2-3"))].into_iter().collect();
        p.cpus.core_types =
            [("cpu_core".to_owned(), cpus("0-1")), ("cpu_atom".to_owned(), cpus("2-3"))].into_iter().collect();
    });
    assert!(hybrid.title.contains("2 kinds"), "{hybrid:?}");
    assert!(hybrid.evidence.iter().any(|one| one.source.contains("cpu_atom") && one.value == "2-3"), "{hybrid:?}");
    check_silent("cores-differ", |p| {
        p.cpus.core_types = [("cpu_core".to_owned(), cpus("0-3"))].into_iter().collect();
    });
}

#[test]
fn memory() {
    check("transparent-huge-pages", Warning, |p| p.memory.transparent_huge_pages = Some("always".to_owned()));
    check_silent("transparent-huge-pages", |p| p.memory.transparent_huge_pages = Some("never".to_owned()));
    check("swap", Note, |p| p.memory.swap_total_kib = Some(1_000_000));
    check("swap", Warning, |p| {
        p.memory.swap_total_kib = Some(1_000_000);
        p.memory.swap_used_kib = Some(40);
    });
    check_silent("swap", |p| p.memory.swap_total_kib = None);
    check("same-page-merging", Warning, |p| p.memory.ksm_run = Some(1));
    check_silent("same-page-merging", |p| p.memory.ksm_run = Some(2));
    check("locked-pages-move", Warning, |p| p.memory.compact_unevictable_allowed = Some(true));
    check("locked-pages-move", Note, |p| {
        p.memory.compact_unevictable_allowed = Some(true);
        p.kernel.preemption = Preemption::Full;
    });
    check_silent("locked-pages-move", |p| p.memory.compact_unevictable_allowed = Some(false));
    check_silent("locked-pages-move", |p| p.memory.compact_unevictable_allowed = None);
    check("memory-low", Warning, |p| p.memory.available_kib = Some(399_999));
    check_silent("memory-low", |p| p.memory.available_kib = Some(400_000));
    check_silent("memory-low", |p| p.memory.available_kib = None);
}

#[test]
fn scheduler() {
    check("numa-balancing", Warning, |p| p.sched.numa_balancing = Some(1));
    check_silent("numa-balancing", |p| p.sched.numa_balancing = None);
    check("nmi-watchdog", Note, |p| p.sched.nmi_watchdog = Some(true));
    check_silent("nmi-watchdog", |p| p.sched.nmi_watchdog = None);
    let detector = |option: &'static str, release: &'static str| {
        move |p: &mut Profile| {
            p.sched.nmi_watchdog = Some(true);
            p.kernel.release = Some(release.to_owned());
            if !option.is_empty() {
                configure(p, option, "y");
            }
        }
    };
    check_silent("nmi-watchdog", detector("CONFIG_HARDLOCKUP_DETECTOR_BUDDY", "6.12.9"));
    let by_interrupt = "interrupts every watched CPU";
    for (option, release) in [("CONFIG_HARDLOCKUP_DETECTOR_PERF", "6.12.9"), ("", "6.1.90")] {
        assert!(check("nmi-watchdog", Note, detector(option, release)).title.contains(by_interrupt));
    }
    assert!(check("nmi-watchdog", Note, detector("", "6.12.9")).title.contains("unknown"));
    check("autogroup", Note, |p| p.sched.autogroup = Some(true));
    check_silent("autogroup", |p| p.sched.autogroup = None);

    let id = "realtime-throttling";
    let older = |p: &mut Profile| p.kernel.release = Some("6.6.30-rt30".to_owned());
    check(id, Note, older);
    let off = check(id, Note, |p| {
        older(p);
        p.sched.rt_runtime_us = Some(-1);
    });
    assert!(off.title.contains("is off"), "{off:?}");
    check_silent(id, |p| p.sched.rt_runtime_us = Some(-1));
    check(id, Note, |p| configure(p, "CONFIG_RT_GROUP_SCHED", "y"));
    check_silent(id, |p| p.kernel.release = None);
    check_silent(id, |p| {
        older(p);
        p.sched.rt_period_us = None;
    });
}

#[test]
fn top_priority() {
    let id = "realtime-priority-99";
    check(id, Warning, |p| p.tasks.realtime.push(realtime("multipathd", 99, "0-1")));
    // What ps shows at 99 of the kernel's own is the stop class.
    check_silent(id, |p| p.tasks.realtime.push(Task { kernel: true, ..realtime("migration/0", 99, "0") }));
    check_silent(id, |p| {
        let mut task = realtime("deadline", 99, "0-3");
        task.policy = Policy::Deadline;
        p.tasks.realtime.push(task);
    });
}

#[test]
fn interrupt_threads() {
    let id = "interrupts-not-threaded";
    let full = |p: &mut Profile| p.kernel.preemption = Preemption::Full;
    check(id, Note, full);
    check_silent(id, |p| {
        full(p);
        boot(p, "threadirqs");
    });
    check_silent(id, |p| p.kernel.preemption = Preemption::Unknown);

    let id = "interrupt-threads-alike";
    let threads = |p: &mut Profile, priorities: [u32; 2]| {
        for (line, rt_priority) in p.irqs.lines.iter_mut().zip(priorities) {
            line.threads = vec![crate::irq::IrqThread {
                comm: format!("irq/{}-x", line.number),
                rt_priority,
                ..crate::irq::IrqThread::default()
            }];
        }
    };
    check(id, Note, |p| threads(p, [50, 50]));
    check_silent(id, |p| threads(p, [80, 50]));
    check_silent(id, |p| threads(p, [50, 49]));
    check(id, Note, |p| {
        threads(p, [50, 49]);
        p.irqs.lines[1].threads[0].comm = "irq/25-s-nvme0q".to_owned();
    });
    check_silent(id, |p| {
        threads(p, [50, 48]);
        p.irqs.lines[1].threads[0].comm = "irq/25-s-nvme0q".to_owned();
    });
    check_silent(id, |p| {
        threads(p, [50, 50]);
        p.irqs.lines[0].actions = vec!["xhci_hcd".to_owned()];
    });
}

#[test]
fn virtual_machines() {
    let guest = |p: &mut Profile| {
        p.virt.guest = Some(true);
        p.virt.guest_source = Some("/proc/cpuinfo: flags has hypervisor".to_owned());
    };
    let found = check("virtual-machine", Note, guest);
    assert_eq!(found.evidence[0].source, "/proc/cpuinfo");
    check_silent("virtual-machine", |p| p.virt.guest = None);
    check("host-takes-time", Warning, |p| {
        guest(p);
        p.virt.steal_ms = Some(500);
    });
    check_silent("host-takes-time", guest);
    check_silent("host-takes-time", |p| p.virt.steal_ms = Some(500));

    let id = "mitigations";
    let active = check(id, Note, |p| {
        p.virt.vulnerabilities.insert("spectre_v2".to_owned(), "Mitigation: Retpolines".to_owned());
    });
    assert!(!active.remedy.iter().any(|step| step.contains("mitigations=off")), "{active:?}");
    check(id, Note, |p| boot(p, "mitigations=off"));
    check_silent(id, |p| {
        p.virt.vulnerabilities.insert("spectre_v2".to_owned(), "Vulnerable".to_owned());
    });
}
