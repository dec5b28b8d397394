//! Services that touch timing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

use crate::process::{Policy, Task};
use crate::time_program::TimeProgram;

/// Names of services that touch timing, cut to the 15 characters that the kernel keeps (TASK_COMM_LEN).
pub const WATCHED: [&str; 16] = [
    "auditd",
    "chronyd",
    "irqbalance",
    "ksmtuned",
    "multipathd",
    "ntpd",
    "phc2sys",
    "pipewire",
    "power-profiles-",
    "ptp4l",
    "rtkit-daemon",
    "systemd-timesyn",
    "thermald",
    "ts2phc",
    "tuned",
    "tuned-ppd",
];

/// Services that touch timing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Services {
    /// Those that run.
    pub running: Vec<Service>,
    /// Programs that concern themselves with a clock, in the order of their names.
    pub time_programs: Vec<TimeProgram>,
    /// The profile that tuned says is active (/etc/tuned/active_profile).
    pub tuned_profile: Option<String>,
    /// CPUs that irqbalance is configured to leave alone (/etc/default/irqbalance or /etc/sysconfig/irqbalance);
    /// `None` if neither file names any.
    pub irqbalance_banned_cpus: Option<CpuSet>,
}

/// A running service.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Service {
    /// Its name, cut to 15 characters.
    pub name: String,
    /// Scheduling policy of its first thread.
    pub policy: Policy,
    /// Real-time priority of its first thread.
    pub rt_priority: u32,
}

impl Services {
    /// Whether a service runs.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Service> {
        self.running.iter().find(|service| service.name == name)
    }

    /// Takes the services out of all tasks.
    pub fn add_tasks(&mut self, tasks: &[Task]) {
        self.running = tasks
            .iter()
            .filter(|task| task.pid == task.tid && !task.kernel && WATCHED.contains(&task.comm.as_str()))
            .map(|task| Service { name: task.comm.clone(), policy: task.policy, rt_priority: task.rt_priority })
            .collect();
        self.running.sort();
        self.running.dedup();
    }
}

/// Reads irqbalance's settings: `IRQBALANCE_BANNED_CPULIST=2-3` or the older mask `IRQBALANCE_BANNED_CPUS=c`.
#[must_use]
pub fn parse_irqbalance(text: &str) -> Option<CpuSet> {
    let value = |key: &str| {
        text.lines()
            .filter_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='))
            .next_back()
            .map(|value| value.trim().trim_matches('"').to_owned())
            .filter(|value| !value.is_empty())
    };
    value("IRQBALANCE_BANNED_CPULIST")
        .and_then(|list| list.parse().ok())
        .or_else(|| value("IRQBALANCE_BANNED_CPUS").and_then(|mask| CpuSet::from_mask(&mask)))
}

/// The lines of irqbalance's settings that the reader needs.
#[must_use]
pub fn reduce_irqbalance(text: &str) -> String {
    crate::text::lines_where(text, |line| line.trim_start().starts_with("IRQBALANCE_BANNED_CPU"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn irqbalance() {
        let banned = |text: &str| parse_irqbalance(text).map(|cpus| cpus.to_string());
        assert_eq!(banned("IRQBALANCE_BANNED_CPULIST=\"2-3\"\n").as_deref(), Some("2-3"));
        assert_eq!(banned("IRQBALANCE_BANNED_CPUS=0000000c\n").as_deref(), Some("2-3"));
        assert_eq!(banned("#IRQBALANCE_BANNED_CPUS=\nIRQBALANCE_ONESHOT=\n"), None);
    }
}
