//! Services that touch timing.

use super::Rule;
use super::Severity::{Note, Warning};
use super::rule::Found;
use crate::catalogue::Checked;
use crate::paths;
use crate::services::Service;

pub(super) static PTP_ORDINARY: Rule = Rule {
    id: "time-sync-not-realtime",
    title: "Time synchronization runs as an ordinary task",
    severities: &[Warning],
    what: "ptp4l, phc2sys or ts2phc have no real-time policy, so any load may keep them from running.",
    why: "A correction that comes late, or a clock pair read with a pause between its halves, shifts the clock by up \
          to the length of the pause: spikes of microseconds to milliseconds under load, also in every measurement \
          that uses the clock.",
    see: "`ps -eLo rtprio,cls,comm | grep -e ptp4l -e phc2sys -e ts2phc`.",
    change: "Set CPUSchedulingPolicy=fifo and CPUSchedulingPriority=, below the control tasks and above bulk \
             traffic's interrupt threads, in their units; keep them off isolated CPUs.",
    price: "Very little: they run for microseconds, some times per second.",
    checked: Checked::Independent("the behavior of the programs of linuxptp"),
    sources: &["seapath/ansible issue 857", "ptp4l(8), phc2sys(8)", "systemd.exec(5), CPUSchedulingPolicy="],
    find: |profile| {
        let ordinary: Vec<&Service> = ["ptp4l", "phc2sys", "ts2phc"]
            .into_iter()
            .filter_map(|name| profile.services.named(name))
            .filter(|service| !service.policy.is_realtime())
            .collect();
        let names = ordinary.iter().map(|service| service.name.as_str()).collect::<Vec<_>>().join(" and ");
        (!ordinary.is_empty()).then(|| {
            let readings = ordinary
                .iter()
                .map(|service| (format!("running services, {}", service.name), format!("policy {}", service.policy)))
                .collect();
            Found::warning(format!("{names} without a real-time policy")).read_many(readings)
        })
    },
};

/// Profiles that ship with tuned and are made for something else than latency; unknown names are the user's own and not
/// judged.
const TUNED_OTHERS: [&str; 12] = [
    "accelerator-performance",
    "balanced",
    "balanced-battery",
    "desktop",
    "hpc-compute",
    "laptop-ac-powersave",
    "laptop-battery-powersave",
    "network-throughput",
    "powersave",
    "throughput-performance",
    "virtual-guest",
    "virtual-host",
];

pub(super) static TUNED_PROFILE: Rule = Rule {
    id: "tuned-profile-not-realtime",
    title: "tuned applies a profile that is not made for latency",
    severities: &[Warning],
    what: "tuned sets governors, idle states, sysctls and boot parameters according to its active profile, again at \
           each start.",
    why: "Settings made by hand or by another tool are overwritten, with values chosen for throughput or power.",
    see: "`tuned-adm active`, /etc/tuned/active_profile; `tuned-adm verify` checks whether the profile is in force.",
    change: "tuned-adm profile realtime (with isolated_cores in /etc/tuned/realtime-variables.conf), or a profile of \
             your own, or stop tuned.",
    price: "The realtime profile draws more power and changes boot parameters: read them before the reboot.",
    checked: Checked::Independent("the behavior of TuneD and its profiles"),
    sources: &["tuned-profiles(7)", "redhat-performance/tuned profiles/realtime/tuned.conf"],
    find: |profile| {
        profile.services.named("tuned")?;
        let active = profile.services.tuned_profile.as_deref()?;
        active.split_whitespace().all(|name| TUNED_OTHERS.contains(&name)).then_some(())?;
        if active.trim().is_empty() {
            return None;
        }
        Some(
            Found::warning(format!("tuned applies the profile {}", active.trim()))
                .read(paths::TUNED_PROFILE, active.trim())
                .read("running services", "tuned"),
        )
    },
};

pub(super) static POWER_PROFILES: Rule = Rule {
    id: "power-profiles-switch",
    title: "A desktop service may change governors by itself",
    severities: &[Note],
    what: "power-profiles-daemon or tuned-ppd switch governors, energy preferences and boost when the user, the \
           battery or the temperature asks for it.",
    why: "The speed of the CPUs changes after it was set and measured.",
    see: "`powerprofilesctl get`.",
    change: "systemctl disable --now power-profiles-daemon (or tuned-ppd), and set the governor in a unit of your \
             own.",
    price: "The desktop's power menu no longer works.",
    checked: Checked::Independent("the behavior of power-profiles-daemon and tuned-ppd"),
    sources: &["power-profiles-daemon(8)", "tuned-ppd(8)"],
    find: |profile| {
        // The kernel keeps 15 characters of a name.
        let (_, service) = [("power-profiles-", "power-profiles-daemon"), ("tuned-ppd", "tuned-ppd")]
            .into_iter()
            .find(|(name, _)| profile.services.named(name).is_some())?;
        Some(Found::note("A desktop service may change governors by itself").read("running services", service))
    },
};
