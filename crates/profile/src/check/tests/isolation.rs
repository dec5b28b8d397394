//! Rules about isolated CPUs: what was asked for, and what still runs there.

use std::collections::BTreeMap;

use super::super::Severity::{Note, Problem, Warning};
use super::base::{boot, configure, irq, isolate, realtime, service};
use super::{check, check_silent, cpus, ordinary};
use crate::irq::{Irq, IrqThread};
use crate::process::{Policy, Task};
use crate::{Cpuset, Profile};

fn partition(state: &str) -> Cpuset {
    Cpuset {
        version: 2,
        path: "/sys/fs/cgroup/rt.slice".to_owned(),
        effective_cpus: Some(cpus("2-3")),
        partition: Some(state.to_owned()),
        ..Cpuset::default()
    }
}

/// Isolates at run time instead of at boot.
fn partition_only(p: &mut Profile) {
    isolate(p, "");
    p.isolation.nohz_full = Some(cpus(""));
    boot(p, "ro");
    p.cpusets = vec![partition("isolated")];
}

#[test]
fn asked_and_effective() {
    let id = "isolation-not-effective";
    let found = check(id, Problem, |p| isolate(p, ""));
    assert_eq!(found.evidence[1].value, "(empty)");
    check(id, Problem, |p| isolate(p, "2"));
    check_silent(id, |p| p.isolation.isolated = None);
    check_silent(id, |p| {
        isolate(p, "");
        p.cpusets = vec![partition("isolated")];
    });
}

#[test]
fn nohz_full() {
    let id = "nohz-full-not-effective";
    check(id, Problem, |p| configure(p, "CONFIG_NO_HZ_FULL", "n"));
    check(id, Problem, |p| {
        boot(p, "isolcpus=nohz,domain,2-3");
        p.isolation.nohz_full = Some(cpus(""));
    });
    check_silent(id, |p| {
        p.kernel.config.clear();
        p.isolation.nohz_full = None;
    });
    check_silent(id, |p| boot(p, "nohz_full=0,2-3"));
    // As seen on Linux 6.12: the flag's list stands, the parameter's is refused.
    let two_lists = check(id, Problem, |p| {
        boot(p, "isolcpus=nohz,2-3 nohz_full=1");
        p.isolation.nohz_full = Some(cpus("2-3"));
    });
    assert!(two_lists.remedy.iter().any(|step| step.contains("same list")), "{:?}", two_lists.remedy);

    check("nohz-off-with-nohz-full", Problem, |p| boot(p, "nohz=off nohz_full=2-3"));
    check_silent("nohz-off-with-nohz-full", |p| boot(p, "nohz=off"));

    check("nohz-full-not-isolated", Warning, |p| isolate(p, "3"));
    check_silent("nohz-full-not-isolated", |p| p.isolation.isolated = None);
}

#[test]
fn partitions() {
    let id = "cpuset-partition-invalid";
    let reason = "isolated invalid (Cpu list in cpuset.cpus not exclusive)";
    let found = check(id, Problem, |p| p.cpusets = vec![partition(reason)]);
    assert_eq!(found.evidence[0].value, reason);
    assert!(found.title.contains("rt.slice"));
    check(id, Problem, |p| p.cpusets = vec![partition("root invalid"), partition("isolated invalid")]);
    check_silent(id, |p| p.cpusets = vec![partition("isolated"), partition("member")]);
}

#[test]
fn flags_without_domain() {
    let id = "isolcpus-without-domain";
    let irq_only = |p: &mut Profile| boot(p, "isolcpus=managed_irq,2-3");
    let found = check(id, Problem, |p| {
        irq_only(p);
        isolate(p, "");
    });
    assert!(found.remedy[0].contains("isolcpus=domain,managed_irq,2-3"), "{found:?}");
    check_silent(id, |p| {
        irq_only(p);
        isolate(p, "");
        p.cpusets = vec![partition("isolated")];
    });
    check_silent(id, |p| {
        irq_only(p);
        p.isolation.isolated = None;
    });
    // Without flags the domain is meant, and whether it came about is another finding's matter.
    check_silent(id, |p| {
        boot(p, "isolcpus=2-3");
        isolate(p, "");
    });
}

#[test]
fn everything_and_the_boot_cpu() {
    check("every-cpu-isolated", Problem, |p| isolate(p, "0-3"));
    check_silent("every-cpu-isolated", |p| {
        isolate(p, "0-3");
        p.cpus.online = None;
    });
    check("boot-cpu-isolated", Warning, |p| isolate(p, "0,3"));
    check_silent("boot-cpu-isolated", |p| isolate(p, "1-3"));
}

#[test]
fn nothing_set_apart() {
    let id = "no-cpu-set-apart";
    check(id, Note, |p| isolate(p, ""));
    check_silent(id, partition_only);
    check_silent(id, |p| p.isolation.isolated = None);
    check_silent(id, |p| {
        isolate(p, "");
        p.cpus.online = Some(cpus("0"));
    });
}

#[test]
fn kernel_work() {
    let found = check("work-queues-on-isolated-cpus", Warning, |p| p.isolation.workqueue_cpus = Some(cpus("0-3")));
    assert_eq!(found.remedy, ["echo 3 > /sys/devices/virtual/workqueue/cpumask"]);
    check_silent("work-queues-on-isolated-cpus", |p| {
        p.isolation.workqueue_cpus = Some(cpus("0-3"));
        isolate(p, "");
    });

    check("watchdog-on-isolated-cpus", Warning, |p| p.sched.watchdog_cpus = Some(cpus("0-3")));
    check_silent("watchdog-on-isolated-cpus", |p| {
        p.sched.watchdog_cpus = Some(cpus("0-3"));
        p.sched.soft_watchdog = Some(false);
    });

    let id = "tick-on-isolated-cpus";
    let ticking = |p: &mut Profile| {
        boot(p, "isolcpus=2-3");
        p.isolation.nohz_full = Some(cpus(""));
    };
    let tick = check(id, Note, ticking);
    assert!(tick.title.contains("1000 times"), "{tick:?}");
    check(id, Note, |p| {
        ticking(p);
        p.isolation.nohz_full = None;
        configure(p, "CONFIG_NO_HZ_FULL", "n");
    });
    check_silent(id, |p| p.isolation.nohz_full = None);
    // That it was asked for and is not in force is a graver finding.
    check_silent(id, |p| p.isolation.nohz_full = Some(cpus("")));
}

#[test]
fn rcu() {
    check("rcu-nocbs-not-built-in", Warning, |p| configure(p, "CONFIG_RCU_NOCB_CPU", "n"));
    check_silent("rcu-nocbs-not-built-in", |p| {
        configure(p, "CONFIG_RCU_NOCB_CPU", "n");
        boot(p, "isolcpus=2-3");
    });

    let id = "rcu-callbacks-on-isolated-cpus";
    check(id, Warning, |p| {
        boot(p, "isolcpus=2-3");
        p.isolation.rcu_nocbs = None;
        p.isolation.nohz_full = Some(cpus(""));
    });
    let partly = |p: &mut Profile| {
        p.isolation.rcu_nocbs = Some(cpus("3"));
        p.isolation.nohz_full = Some(cpus(""));
    };
    check(id, Warning, partly);
    // What has no tick has its callbacks moved, by whichever parameter: `isolcpus=nohz,` is no nohz_full=.
    check_silent(id, |p| {
        partly(p);
        boot(p, "isolcpus=nohz,domain,2-3");
        p.isolation.nohz_full = Some(cpus("2"));
    });
    // Nobody moves callbacks where neither is built in, whatever nohz_full= asks for.
    let without = check(id, Warning, |p| {
        boot(p, "isolcpus=2-3 nohz_full=2-3");
        configure(p, "CONFIG_NO_HZ_FULL", "n");
        configure(p, "CONFIG_RCU_NOCB_CPU", "n");
    });
    assert!(without.remedy[0].starts_with("Use a kernel with CONFIG_RCU_NOCB_CPU=y"), "{without:?}");
    check_silent(id, |p| {
        p.isolation.rcu_nocbs = None;
        p.kernel.cmdline = None;
        p.kernel.params.clear();
    });
    check_silent(id, |p| {
        boot(p, "isolcpus=2-3");
        p.isolation.rcu_nocbs = None;
        configure(p, "CONFIG_RCU_NOCB_CPU_DEFAULT_ALL", "y");
    });
}

#[test]
fn interrupts() {
    let id = "irqaffinity-includes-isolated-cpus";
    let found = check(id, Problem, |p| boot(p, "isolcpus=2-3 irqaffinity=0-3"));
    assert_eq!(found.remedy, ["Boot with irqaffinity=0-1."]);
    check(id, Problem, |p| boot(p, "isolcpus=2-3 irqaffinity=N"));
    check_silent(id, |p| {
        boot(p, "irqaffinity=N");
        p.cpus.possible = Some(cpus("0-1"));
    });

    let id = "default-irq-affinity-includes-isolated-cpus";
    check(id, Warning, |p| p.irqs.default_affinity = Some(cpus("0-3")));
    check_silent(id, |p| p.irqs.default_affinity = None);

    let id = "interrupts-allowed-on-isolated-cpus";
    check(id, Warning, |p| p.irqs.lines.push(irq(30, "nvme0q3", "3")));
    check(id, Note, |p| p.irqs.lines.push(irq(30, "xhci_hcd", "0-3")));
    check_silent(id, |p| p.irqs.lines.push(irq(30, "arch_timer", "0-3")));
    check(id, Warning, |p| p.irqs.lines.push(served(irq(30, "fieldbus", "3"), 50)));
    check(id, Note, |p| p.irqs.lines.push(served(irq(30, "fieldbus", "0-3"), 90)));
    check_silent(id, |p| p.irqs.lines.push(served(irq(30, "fieldbus", "3"), 90)));
    let many = check(id, Warning, |p| p.irqs.lines.extend((30..60).map(|number| irq(number, "nvme", "2"))));
    assert!(many.evidence.iter().any(|evidence| evidence.value == "22 others alike"), "{many:?}");

    let id = "interrupts-arrive-on-isolated-cpus";
    let arrive = |p: &mut Profile| p.irqs.lines[0].arrived_counts = BTreeMap::from([(0, 3), (3, 7)]);
    let found = check(id, Problem, arrive);
    assert_eq!(found.evidence[0].value, "CPU 3: 7");
    check(id, Note, |p| {
        arrive(p);
        p.irqs.window_ns = None;
    });
    check_silent(id, |p| {
        arrive(p);
        isolate(p, "2");
    });
    check_silent(id, |p| p.irqs.lines.push(served(irq(30, "fieldbus", "3"), 90)));
}

/// The interrupt with a thread of this priority.
fn served(irq: Irq, rt_priority: u32) -> Irq {
    Irq { threads: vec![IrqThread { rt_priority, ..IrqThread::default() }], ..irq }
}

#[test]
fn irqbalance() {
    let id = "irqbalance-and-isolated-cpus";
    let run = |p: &mut Profile| p.services.running.push(service("irqbalance", Policy::Other));
    check(id, Note, run);
    check(id, Warning, |p| {
        run(p);
        p.services.irqbalance_banned_cpus = Some(cpus("2"));
    });
    check(id, Warning, |p| {
        partition_only(p);
        run(p);
    });
    check_silent(id, |p| {
        run(p);
        p.services.irqbalance_banned_cpus = Some(cpus("2-3"));
    });
    check_silent(id, |p| {
        run(p);
        isolate(p, "");
    });
}

#[test]
fn siblings() {
    let id = "smt-sibling-not-isolated";
    let pairs = |p: &mut Profile| {
        p.cpus.cores = vec![cpus("0,2"), cpus("1,3")];
        p.cpus.smt_active = Some(true);
    };
    let found = check(id, Warning, pairs);
    assert!(found.title.contains("0-1"), "{found:?}");
    check_silent(id, |p| {
        pairs(p);
        p.cpus.online = Some(cpus("2-3"));
    });
    check_silent(id, |p| p.cpus.cores = vec![cpus("0-1"), cpus("2-3")]);
}

#[test]
fn tasks() {
    let id = "ordinary-tasks-on-isolated-cpus";
    check(id, Warning, |p| p.tasks.on_isolated.push(ordinary("dockerd", "0-3")));
    check_silent(id, |p| p.tasks.on_isolated.push(Task { affinity: None, ..ordinary("dockerd", "0-3") }));
    check_silent(id, |p| p.tasks.on_isolated.push(realtime("control", 80, "0-3")));

    let id = "kernel-threads-on-isolated-cpus";
    let stray = |release: &'static str| {
        move |p: &mut Profile| {
            p.tasks.on_isolated.push(Task { kernel: true, ..ordinary("kswapd0", "0-3") });
            p.kernel.release = (!release.is_empty()).then(|| release.to_owned());
        }
    };
    for (release, by_nohz_full) in
        [("6.1.0-18-rt-amd64", true), ("6.19.9", true), ("7.0-rc3", false), ("7.3.4", false), ("", false)]
    {
        let found = check(id, Note, stray(release));
        assert_eq!(found.remedy.iter().any(|step| step.contains("nohz_full=")), by_nohz_full, "{release}: {found:?}");
        assert!(found.remedy[0].contains("taskset -c -p 0-1"), "{found:?}");
    }
    let without_nohz_full = check(id, Note, |p| {
        stray("6.1.90")(p);
        configure(p, "CONFIG_NO_HZ_FULL", "n");
    });
    assert_eq!(without_nohz_full.remedy.len(), 1, "{without_nohz_full:?}");
    check_silent(id, |p| p.tasks.on_isolated.push(Task { kernel: true, bound: true, ..ordinary("kworker/2:0", "2") }));

    let id = "realtime-tasks-roam";
    check(id, Note, |p| p.tasks.realtime.push(realtime("servo", 70, "0-3")));
    check_silent(id, |p| p.tasks.realtime.push(realtime("servo", 70, "0-1")));
    check_silent(id, |p| {
        p.tasks.realtime.push(Task { policy: Policy::Deadline, ..realtime("servo", 0, "0-3") });
    });
}

#[test]
fn servers_and_timers() {
    let id = "fair-server-on-isolated-cpus";
    check(id, Warning, |p| p.sched.fair_servers[1].runtime_ns = 50_000_000);
    check_silent(id, |p| p.sched.fair_servers.clear());
    let ext_server = |runtime_ns: u64| move |p: &mut Profile| p.sched.add_ext_server(3, runtime_ns, 1_000_000_000);
    let finding = check(id, Note, ext_server(50_000_000));
    assert!(finding.title.contains("BPF scheduler"), "{finding:?}");
    check_silent(id, ext_server(0));
    let finding = check(id, Warning, |p| {
        p.sched.fair_servers[1].runtime_ns = 50_000_000;
        ext_server(50_000_000)(p);
    });
    assert!(finding.evidence.iter().any(|read| read.source.contains("ext_server")), "{finding:?}");
    check("timer-migration", Note, |p| p.sched.timer_migration = Some(true));
    check_silent("timer-migration", |p| {
        p.sched.timer_migration = Some(true);
        isolate(p, "");
    });
    for release in ["6.6.30-rt30", "6.19.0"] {
        check_silent("timer-migration", |p| {
            p.sched.timer_migration = Some(true);
            p.kernel.release = Some(release.to_owned());
        });
    }
    let folding = |p: &mut Profile, release: &str, seconds| {
        p.kernel.release = Some(release.to_owned());
        p.memory.stat_interval_s = Some(seconds);
    };
    check("memory-statistics-interval", Note, |p| folding(p, "6.1.90", 1));
    check_silent("memory-statistics-interval", |p| folding(p, "6.1.90", 10));
    check_silent("memory-statistics-interval", |p| folding(p, "6.5.0", 1));
    for (release, folds) in [("6.7.0", true), ("6.8.0", false)] {
        let on_partition = |p: &mut Profile| {
            partition_only(p);
            folding(p, release, 1);
        };
        if folds {
            check("memory-statistics-interval", Note, on_partition);
        } else {
            check_silent("memory-statistics-interval", on_partition);
        }
    }
    // A CPU without a tick is left out as well, whatever isolates it.
    check_silent("memory-statistics-interval", |p| {
        partition_only(p);
        p.isolation.nohz_full = Some(cpus("2-3"));
        folding(p, "6.7.0", 1);
    });
    check_silent("memory-statistics-interval", |p| {
        partition_only(p);
        p.memory.stat_interval_s = Some(1);
        p.kernel.release = None;
    });
    check("packet-steering-to-isolated-cpus", Warning, |p| p.net.interfaces[0].rps_cpus = Some(cpus("0-3")));
    check_silent("packet-steering-to-isolated-cpus", |p| p.net.interfaces[0].rps_cpus = Some(cpus("0-1")));
}
