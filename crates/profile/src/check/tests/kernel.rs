//! Rules about the kernel, its boot parameters and its clock.

use super::super::Severity::{Note, Problem, Warning};
use super::base::{boot, configure};
use super::{check, check_silent, cpus};
use crate::{Preemption, Profile};

#[test]
fn preemption() {
    let id = "kernel-not-realtime";
    check(id, Problem, |p| p.kernel.preemption = Preemption::Voluntary);
    check(id, Warning, |p| p.kernel.preemption = Preemption::Lazy);
    let dynamic = check(id, Problem, |p| {
        p.kernel.preemption = Preemption::None;
        configure(p, "CONFIG_PREEMPT_DYNAMIC", "y");
    });
    assert!(dynamic.remedy.iter().any(|step| step.contains("preempt=full")));
    check_silent(id, |p| p.kernel.preemption = Preemption::Unknown);
    // A build string without PREEMPT_RT shows that much, whatever the model is.
    let by_version = check(id, Warning, |p| {
        p.kernel.preemption = Preemption::Unknown;
        p.kernel.preemption_source = Some("/proc/sys/kernel/version: #1 SMP PREEMPT_DYNAMIC Fri".to_owned());
    });
    assert!(by_version.evidence.iter().any(|one| one.value.contains("PREEMPT_DYNAMIC")), "{by_version:?}");
    check(id, Warning, |p| {
        p.kernel.preemption = Preemption::Unknown;
        p.kernel.preemption_source = Some("/proc/config.gz: CONFIG_PREEMPT_DYNAMIC=y".to_owned());
    });
}

#[test]
fn high_resolution_timers() {
    let id = "high-resolution-timers-off";
    check(id, Problem, |p| boot(p, "highres=off"));
    check(id, Problem, |p| configure(p, "CONFIG_HIGH_RES_TIMERS", "n"));
    check_silent(id, |p| boot(p, "highres=on"));
    let forget = |p: &mut Profile| drop(p.kernel.config.remove("CONFIG_HIGH_RES_TIMERS"));
    check_silent(id, forget);
    check(id, Problem, |p| {
        forget(p);
        (0..500).for_each(|number| configure(p, &format!("CONFIG_DRIVER_{number}"), "n"));
    });
}

#[test]
fn rt_groups() {
    let id = "rt-group-scheduling";
    check(id, Warning, |p| configure(p, "CONFIG_RT_GROUP_SCHED", "y"));
    check_silent(id, |p| {
        configure(p, "CONFIG_RT_GROUP_SCHED", "y");
        boot(p, "rt_group_sched=0");
        p.kernel.release = Some("6.16.0".to_owned());
    });
    check(id, Warning, |p| {
        configure(p, "CONFIG_RT_GROUP_SCHED", "y");
        boot(p, "rt_group_sched=0");
    });
    check_silent(id, |p| {
        configure(p, "CONFIG_RT_GROUP_SCHED", "y");
        p.sched.rt_runtime_us = Some(-1);
    });
    check_silent(id, |p| {
        configure(p, "CONFIG_RT_GROUP_SCHED", "y");
        configure(p, "CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED", "y");
    });
}

#[test]
fn debug_options() {
    let id = "kernel-debug-options";
    let found = check(id, Warning, |p| configure(p, "CONFIG_PROVE_LOCKING", "y"));
    assert_eq!(found.evidence[0].value, "CONFIG_PROVE_LOCKING=y");
    check(id, Note, |p| configure(p, "CONFIG_DEBUG_PREEMPT", "y"));
    check_silent(id, |p| {
        configure(p, "CONFIG_DEBUG_KMEMLEAK", "y");
        configure(p, "CONFIG_DEBUG_KMEMLEAK_DEFAULT_OFF", "y");
    });
}

#[test]
fn preempt_parameter() {
    let id = "preempt-parameter-ignored";
    let on_realtime = |text: &'static str| {
        move |p: &mut Profile| {
            boot(p, text);
            configure(p, "CONFIG_PREEMPT_DYNAMIC", "y");
            p.kernel.preemption = Preemption::Realtime;
        }
    };
    assert!(check(id, Warning, on_realtime("preempt=none")).title.contains("no such model"));
    check(id, Warning, on_realtime("preempt=lazy"));
    check_silent(id, |p| {
        on_realtime("preempt=lazy")(p);
        p.kernel.release = Some("6.13.0".to_owned());
    });
    let dynamic = |release: &'static str, text: &'static str| {
        move |p: &mut Profile| {
            boot(p, text);
            configure(p, "CONFIG_PREEMPT_DYNAMIC", "y");
            p.kernel.preemption = Preemption::Full;
            p.kernel.release = (!release.is_empty()).then(|| release.to_owned());
        }
    };
    check_silent(id, dynamic("6.19.3", "preempt=none"));
    let gone = check(id, Warning, dynamic("7.0.0-rc3", "preempt=voluntary"));
    assert!(gone.remedy.iter().any(|step| step.contains("full and lazy")), "{gone:?}");
    check_silent(id, dynamic("", "preempt=none"));
    check(id, Warning, dynamic("", "preempt=realtime"));
    check(id, Warning, |p| boot(p, "preempt=full"));
    check_silent(id, |p| {
        boot(p, "preempt=full");
        configure(p, "CONFIG_PREEMPT_DYNAMIC", "y");
    });
    check_silent(id, |p| {
        boot(p, "preempt=full");
        p.kernel.config.clear();
    });
}

#[test]
fn kfence() {
    let id = "kfence-static-keys";
    let keys = |p: &mut Profile| {
        for name in ["CONFIG_KFENCE", "CONFIG_KFENCE_STATIC_KEYS"] {
            configure(p, name, "y");
        }
        configure(p, "CONFIG_KFENCE_SAMPLE_INTERVAL", "100");
    };
    check(id, Note, keys);
    check_silent(id, |p| {
        keys(p);
        boot(p, "kfence.sample_interval=0");
    });
}

#[test]
fn unreadable_lists() {
    let id = "boot-list-unreadable";
    check(id, Warning, |p| boot(p, "isolcpus=2-x"));
    check(id, Warning, |p| boot(p, "nohz_full="));
    check(id, Warning, |p| boot(p, "isolcpus=nohz"));
    check(id, Warning, |p| boot(p, "irqaffinity=3-1"));
    let on = |p: &mut Profile, release: &str, line: &str| {
        boot(p, line);
        p.kernel.release = Some(release.to_owned());
    };
    check(id, Warning, |p| on(p, "5.12.0", "nohz_full=2-N"));
    check_silent(id, |p| on(p, "5.13.0", "nohz_full=2-N"));
    check(id, Warning, |p| on(p, "5.13.0", "irqaffinity=all"));
    check_silent(id, |p| on(p, "5.14.0", "irqaffinity=all"));
    check_silent(id, |p| on(p, "5.10.0", "rcu_nocbs=all"));
    check_silent(id, |p| boot(p, "nohz_full=2-N isolcpus=domain,managed_irq,2-N rcu_nocbs=all"));
    check_silent(id, |p| boot(p, "rcu_nocbs"));
    check_silent(id, |p| {
        boot(p, "nohz_full=2-N");
        p.cpus = crate::Cpus::default();
    });
}

#[test]
fn absent_cpus() {
    let id = "boot-list-names-absent-cpus";
    let found = check(id, Warning, |p| boot(p, "isolcpus=2-7"));
    assert!(found.title.contains("4-7"), "{found:?}");
    check_silent(id, |p| p.cpus = crate::Cpus { online: Some(cpus("0-1")), ..crate::Cpus::default() });
}

#[test]
fn duplicates() {
    let id = "boot-parameters-contradict";
    let found = check(id, Warning, |p| boot(p, "isolcpus=2 isolcpus=3 idle=poll idle=poll"));
    assert!(!found.title.contains("idle"), "{found:?}");
    check_silent(id, |p| boot(p, "console=ttyS0 console=tty0 nohz_full=2-3 nohz_full=2-3"));
}

#[test]
fn idle_limits() {
    let id = "idle-limit-ignored";
    check(id, Warning, |p| boot(p, "processor.max_cstate=1"));
    check(id, Warning, |p| {
        boot(p, "intel_idle.max_cstate=0");
        p.power.idle_driver = Some("acpi_idle".to_owned());
    });
    check(id, Warning, |p| {
        boot(p, "intel_idle.max_cstate=1");
        p.power.idle_driver = Some("acpi_idle".to_owned());
    });
    check(id, Warning, |p| {
        boot(p, "intel_idle.max_cstate=0 processor.max_cstate=9");
        p.power.idle_driver = Some("acpi_idle".to_owned());
    });
    check_silent(id, |p| boot(p, "intel_idle.max_cstate=1 processor.max_cstate=1"));
    check_silent(id, |p| {
        boot(p, "processor.max_cstate=1");
        p.power.idle_driver = None;
    });
}

#[test]
fn skew_tick() {
    let id = "ticks-coincide";
    check(id, Note, |p| p.cpus.online = Some(cpus("0-31")));
    check_silent(id, |p| {
        p.cpus.online = Some(cpus("0-31"));
        boot(p, "skew_tick=1");
    });
}

#[test]
fn clock_source() {
    let id = "clock-source-slow";
    check(id, Warning, |p| p.time.clocksource = Some("hpet".to_owned()));
    check(id, Warning, |p| p.time.clocksource = Some("pit".to_owned()));
    check(id, Problem, |p| p.time.clocksource = Some("jiffies".to_owned()));
    check_silent(id, |p| p.time.clocksource = Some("arch_sys_counter".to_owned()));
}

#[test]
fn tsc() {
    let id = "tsc-rejected";
    let rejected = |p: &mut Profile| p.time.clocksources_available = vec!["hpet".to_owned()];
    check(id, Warning, rejected);
    check_silent(id, |p| {
        rejected(p);
        p.virt.guest = Some(true);
    });
    check_silent(id, |p| {
        rejected(p);
        p.time.tsc_flags.clear();
    });
    check_silent(id, |p| p.time.clocksources_available.clear());
}
