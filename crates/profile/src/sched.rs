//! Scheduler settings, throttles and watchdogs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

use crate::bandwidth::CpuQuota;

/// Scheduler settings, throttles and watchdogs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Sched {
    /// Time that real-time tasks may take of each period, in microseconds; -1 means all of it
    /// (/proc/sys/kernel/sched_rt_runtime_us).
    pub rt_runtime_us: Option<i64>,
    /// That period, in microseconds (/proc/sys/kernel/sched_rt_period_us).
    pub rt_period_us: Option<u64>,
    /// The root group's own budget, in microseconds, with RT_GROUP_SCHED and version 1 groups
    /// (/sys/fs/cgroup/cpu/cpu.rt_runtime_us).
    pub root_group_rt_runtime_us: Option<i64>,
    /// Budgets that ordinary tasks get when real-time tasks take everything, equal CPUs together
    /// (/sys/kernel/debug/sched/fair_server/cpuN).
    pub fair_servers: Vec<FairServer>,
    /// The same for tasks of a BPF scheduler, on kernels that have such a server beside the fair one
    /// (/sys/kernel/debug/sched/ext_server/cpuN).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ext_servers: Vec<FairServer>,
    /// Quotas of CPU time of the control group in which this was read, and of those above it; they concern ordinary
    /// tasks (cpu.max, or cpu.cfs_quota_us).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpu_quotas: Vec<CpuQuota>,
    /// Whether timers move to busy CPUs (/proc/sys/kernel/timer_migration).
    pub timer_migration: Option<bool>,
    /// Grouping of tasks by session (/proc/sys/kernel/sched_autogroup_enabled).
    pub autogroup: Option<bool>,
    /// Automatic migration of memory between nodes; 0 is off (/proc/sys/kernel/numa_balancing).
    pub numa_balancing: Option<u64>,
    /// Whether the hard lock-up detector runs (/proc/sys/kernel/nmi_watchdog).
    pub nmi_watchdog: Option<bool>,
    /// Whether the soft lock-up detector runs (/proc/sys/kernel/soft_watchdog).
    pub soft_watchdog: Option<bool>,
    /// CPUs that the detectors watch (/proc/sys/kernel/watchdog_cpumask).
    pub watchdog_cpus: Option<CpuSet>,
    /// When a task counts as hung, in seconds; 0 is never (/proc/sys/kernel/hung_task_timeout_secs).
    pub hung_task_timeout_s: Option<u64>,
}

/// The budget of a fair server, or of the one for a BPF scheduler's tasks, on some CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FairServer {
    /// The CPUs that it applies to.
    pub cpus: CpuSet,
    /// Time for ordinary tasks in each period, in nanoseconds; 0 switches the server off.
    pub runtime_ns: u64,
    /// The period, in nanoseconds.
    pub period_ns: u64,
}

impl Sched {
    /// Adds one CPU's fair server.
    pub fn add_fair_server(&mut self, cpu: u32, runtime_ns: u64, period_ns: u64) {
        add_server(&mut self.fair_servers, cpu, runtime_ns, period_ns);
    }

    /// Adds one CPU's server of a BPF scheduler's tasks.
    pub fn add_ext_server(&mut self, cpu: u32, runtime_ns: u64, period_ns: u64) {
        add_server(&mut self.ext_servers, cpu, runtime_ns, period_ns);
    }
}

fn add_server(servers: &mut Vec<FairServer>, cpu: u32, runtime_ns: u64, period_ns: u64) {
    let same = |server: &&mut FairServer| server.runtime_ns == runtime_ns && server.period_ns == period_ns;
    match servers.iter_mut().find(same) {
        Some(server) => server.cpus.insert(cpu),
        None => servers.push(FairServer { cpus: [cpu].into_iter().collect(), runtime_ns, period_ns }),
    }
}
