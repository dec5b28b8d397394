//! What one word of an intent turns: interrupts, power, throttling, and what comes with isolated CPUs.

use units::CpuSet;

use super::off_limits::rest;
use super::{Demand, Group, Site};
use crate::{Mechanism, catalogue};

/// Whether the running kernel itself keeps some of its work off CPUs that are isolated by this mechanism: from the first
/// release on for those of `isolcpus=`, from the second on for those of isolated partitions. The groups of cgroup v1 are none.
fn is_kept_off(mechanism: Mechanism, at_boot: (u32, u32), partition: (u32, u32), site: &Site) -> bool {
    let (major, minor) = match mechanism {
        Mechanism::Isolcpus | Mechanism::Tuned => at_boot,
        Mechanism::Cpuset if site.cgroup2_cpuset.is_none() => return false,
        Mechanism::Cpuset => partition,
    };
    site.profile.kernel.at_least(major, minor) == Some(true)
}

/// Whether the isolated CPUs are, or will be, in full dynticks mode: such ones pull timers until their tick stops, on
/// every release (kernel/time/timer_migration.c, `tmigr_is_isolated`).
fn may_be_nohz_full(isolated: &CpuSet, mechanism: Mechanism, site: &Site) -> bool {
    match mechanism {
        // What a plan asks of the boot loader then.
        Mechanism::Isolcpus | Mechanism::Tuned => site.profile.kernel.has_config("CONFIG_NO_HZ_FULL") != Some(false),
        Mechanism::Cpuset => {
            let nohz_full = site.profile.isolation.nohz_full.as_ref();
            nohz_full.is_some_and(|cpus| !cpus.intersection(isolated).is_empty())
        }
    }
}

impl Demand {
    /// What the kernel does for itself goes to the other CPUs.
    pub(super) fn work(&mut self, isolated: &CpuSet, mechanism: Mechanism, site: &Site) {
        let rest = rest(isolated, site);
        self.kernel_threads(isolated, &rest, site);
        let why = "the kernel's own work leaves the isolated CPUs";
        for name in ["workqueue.cpus", "writeback.cpus"] {
            self.themed_all(name, None, &rest.to_mask(), Group::Work, why, site);
        }
        let why = "the watchdog's timer leaves the isolated CPUs";
        self.themed_all("kernel.watchdog_cpumask", None, &rest.to_string(), Group::Work, why, site);
        // The releases of both are those of the findings memory-statistics-interval and timer-migration.
        if !is_kept_off(mechanism, (6, 5), (6, 8), site) {
            let why = "counters of memory are folded on every CPU, each time";
            self.themed_all("vm.stat_interval", None, "120", Group::Work, why, site);
        }
        // Before 6.9 timers were never pushed to CPUs outside of the scheduling domains.
        let are_pulled = site.profile.kernel.at_least(6, 9) != Some(false);
        let are_kept_off =
            is_kept_off(mechanism, (6, 19), (6, 19), site) && !may_be_nohz_full(isolated, mechanism, site);
        if are_pulled && !are_kept_off {
            let why = "timers stay where they were set, and do not come to an isolated CPU";
            self.themed_all("kernel.timer_migration", None, "0", Group::Work, why, site);
        }
    }

    pub(super) fn irqs(&mut self, isolated: Option<&CpuSet>, site: &Site) {
        let Some(isolated) = isolated else {
            self.conflict(
                "irqs = \"housekeeping\"",
                "no CPU is isolated, so none is kept for housekeeping",
                "say which with isolate = \"…\"",
            );
            return;
        };
        let rest = rest(isolated, site);
        let why = "interrupts leave the isolated CPUs";
        let why_default = "interrupts that are set up later stay off the isolated CPUs";
        self.themed_all("irq.default-cpus", None, &rest.to_mask(), Group::Irqs, why_default, site);
        let Some(knob) = catalogue::find("irq.cpus") else { return };
        for irq in &site.profile.irqs.lines {
            let Some(affinity) = &irq.affinity else { continue };
            if affinity.intersection(isolated).is_empty() {
                continue;
            }
            let kept = affinity.intersection(&rest);
            let to = if kept.is_empty() { &rest } else { &kept };
            self.themed(knob, &[irq.number.to_string()], &to.to_string(), Group::Irqs, why);
            if let Some(last) = self.wanted.last_mut() {
                last.of = irq.label();
            }
        }
        if site.profile.services.named("irqbalance").is_some() {
            // Stopped, not configured to leave these CPUs alone: it would go on moving the interrupts that are placed
            // here, so that neither verify nor revert could work.
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
        // Few kernels have it, and users need no message that theirs does not.
        if !site.profile.sched.ext_servers.is_empty() {
            self.themed_all("ext-server.runtime-ns", isolated, "0", Group::Throttle, why, site);
        }
    }
}

#[cfg(test)]
mod tests {
    use profile::Profile;

    use super::*;
    use crate::boot::BootFiles;
    use crate::time::TimeSite;
    use crate::{Cgroup1, Intent, RtThrottling};

    #[test]
    fn what_the_kernel_keeps_off_isolated_cpus_by_itself_is_not_set() {
        let wanted = |release: &str, mechanism: Mechanism, is_v1: bool| {
            let mut profile = Profile::default();
            profile.kernel.release = (!release.is_empty()).then(|| release.to_owned());
            profile.cpus.online = "0-3".parse().ok();
            let cgroup1 = Cgroup1 { path: "/sys/fs/cgroup/cpuset".to_owned(), mems: "0".to_owned() };
            let site = Site {
                profile,
                cgroup2_cpuset: (!is_v1).then(|| "/sys/fs/cgroup".to_owned()),
                cgroup1_cpuset: is_v1.then_some(cgroup1),
                tuned: None,
                boot: BootFiles::default(),
                time: TimeSite::default(),
            };
            let intent = Intent { isolate: "2-3".parse().ok(), mechanism: Some(mechanism), ..Intent::default() };
            let demand = Demand::from_intent(&intent, &site);
            ["vm.stat_interval", "kernel.timer_migration"].map(|knob| demand.wanted.iter().any(|one| one.knob == knob))
        };
        for (release, at_boot, partition, of_v1) in [
            ("6.1.0-37-amd64", [true, false], [true, false], [true, false]),
            ("6.5.0", [false, false], [true, false], [true, false]),
            ("6.8.0-48-generic", [false, false], [false, false], [true, false]),
            ("6.9.1", [false, true], [false, true], [true, true]),
            ("6.18.44", [false, true], [false, true], [true, true]),
            // The plan asks for nohz_full= as well where the kernel may have it, and such CPUs pull timers.
            ("6.19.0", [false, true], [false, false], [true, true]),
            ("", [true, true], [true, true], [true, true]),
        ] {
            assert_eq!(wanted(release, Mechanism::Isolcpus, false), at_boot, "{release}");
            assert_eq!(wanted(release, Mechanism::Cpuset, false), partition, "{release}");
            assert_eq!(wanted(release, Mechanism::Cpuset, true), of_v1, "{release}, cgroup v1");
        }
    }

    #[test]
    fn the_server_of_a_bpf_scheduler_is_switched_off_where_there_is_one() {
        let wanted = |has_server: bool| {
            let mut profile = Profile::default();
            profile.cpus.online = "0-3".parse().ok();
            if has_server {
                profile.sched.add_ext_server(3, 50_000_000, 1_000_000_000);
            }
            let site = Site {
                profile,
                cgroup2_cpuset: None,
                cgroup1_cpuset: None,
                tuned: None,
                boot: BootFiles::default(),
                time: TimeSite::default(),
            };
            let intent = Intent { rt_throttling: Some(RtThrottling::Off), ..Intent::default() };
            let demand = Demand::from_intent(&intent, &site);
            demand.wanted.iter().filter(|one| one.knob == "ext-server.runtime-ns").count()
        };
        assert_eq!((wanted(true), wanted(false)), (4, 0));
    }
}
