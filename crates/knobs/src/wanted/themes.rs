//! What one word of an intent turns: interrupts, power, throttling, and what comes with CPUs set apart.

use units::CpuSet;

use super::{Demand, Group, Site};
use crate::catalogue;

impl Demand {
    /// What the kernel does for itself goes to the other CPUs.
    pub(super) fn work(&mut self, isolated: &CpuSet, site: &Site) {
        let rest = site.profile.cpus.online.clone().unwrap_or_default().difference(isolated);
        self.kernel_threads(isolated, &rest, site);
        let why = "the kernel's own work leaves the CPUs that are set apart";
        for name in ["workqueue.cpus", "writeback.cpus"] {
            self.themed_all(name, None, &rest.to_mask(), Group::Work, why, site);
        }
        let why = "the watchdog's timer leaves the CPUs that are set apart";
        self.themed_all("kernel.watchdog_cpumask", None, &rest.to_string(), Group::Work, why, site);
        let why = "counters of memory are folded on every CPU, each time";
        self.themed_all("vm.stat_interval", None, "120", Group::Work, why, site);
        let why = "timers stay where they were set, and do not come to a CPU that is set apart";
        self.themed_all("kernel.timer_migration", None, "0", Group::Work, why, site);
    }

    pub(super) fn irqs(&mut self, isolated: Option<&CpuSet>, site: &Site) {
        let Some(isolated) = isolated else {
            self.conflict(
                "irqs = \"housekeeping\"",
                "no CPU is set apart, so none is kept for housekeeping",
                "say which with isolate = \"…\"",
            );
            return;
        };
        let rest = site.profile.cpus.online.clone().unwrap_or_default().difference(isolated);
        let why = "interrupts leave the CPUs that are set apart";
        self.themed_all("irq.default-cpus", None, &rest.to_mask(), Group::Irqs, why, site);
        let Some(knob) = catalogue::find("irq.cpus") else { return };
        for irq in &site.profile.irqs.lines {
            let Some(affinity) = &irq.affinity else { continue };
            if affinity.intersection(isolated).is_empty() {
                continue;
            }
            let kept = affinity.difference(isolated);
            let to = if kept.is_empty() { &rest } else { &kept };
            self.themed(knob, &[irq.number.to_string()], &to.to_string(), Group::Irqs, why);
            if let Some(last) = self.wanted.last_mut() {
                last.of = irq.label();
            }
        }
        if site.profile.services.named("irqbalance").is_some() {
            // Stopped, not told to leave these CPUs alone: it would go on moving what is put elsewhere here, and neither
            // what is in force nor what was there before could be told any more.
            let why = "irqbalance would move interrupts by rules of its own";
            self.themed_all("service.irqbalance", None, "inactive", Group::Services, why, site);
            if let Some(last) = self.wanted.last_mut() {
                last.is_named = true;
            }
        }
    }

    /// What a person should know who sets CPUs apart and leaves interrupts where they are.
    pub(super) fn balanced(&mut self, isolated: &CpuSet, site: &Site) {
        let services = &site.profile.services;
        let is_banned = services.irqbalance_banned_cpus.as_ref().is_some_and(|banned| isolated.is_subset(banned));
        if services.named("irqbalance").is_some() && !is_banned {
            self.notes.push(format!(
                "irqbalance runs, and may send interrupts to CPU {isolated}: irqs = \"housekeeping\" stops it, \
                 IRQBALANCE_BANNED_CPULIST in its own settings (in older versions IRQBALANCE_BANNED_CPUS, a mask) keeps it \
                 away from them"
            ));
        }
    }

    pub(super) fn steady(&mut self, isolated: Option<&CpuSet>, site: &Site) {
        let why = "the frequency does not change";
        self.themed_all("cpu.governor", isolated, "performance", Group::Power, why, site);
        self.themed_all("cpu.energy-preference", isolated, "performance", Group::Power, why, site);
        let why = "an idle CPU has no way out of a deep state before it";
        self.themed_all("cpu.resume-latency-us", isolated, "n/a", Group::Power, why, site);
        if !site.profile.power.idle.is_empty() {
            // For kernels that do not have the former; it is of all CPUs.
            self.themed_all("cpu.dma-latency-us", None, "0", Group::Power, why, site);
        }
    }

    pub(super) fn unthrottled(&mut self, isolated: Option<&CpuSet>, site: &Site) {
        let why = "nothing takes a CPU from a real-time task that needs it longer";
        self.themed_all("kernel.sched_rt_runtime_us", None, "-1", Group::Throttle, why, site);
        self.themed_all("fair-server.runtime-ns", isolated, "0", Group::Throttle, why, site);
    }
}
