//! The files that both the reader opens and the findings name, so that the two cannot drift apart.

/// CPUs taken out of scheduling domains by `isolcpus=`.
pub const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
/// CPUs in full dynticks mode.
pub const NOHZ_FULL: &str = "/sys/devices/system/cpu/nohz_full";
/// CPUs that run.
pub const ONLINE: &str = "/sys/devices/system/cpu/online";
/// CPUs that are plugged in.
pub const PRESENT: &str = "/sys/devices/system/cpu/present";
/// CPUs that could ever be plugged in.
pub const POSSIBLE: &str = "/sys/devices/system/cpu/possible";
/// Whether the kernel uses the cores' second threads.
pub const SMT_CONTROL: &str = "/sys/devices/system/cpu/smt/control";
/// Whether second threads are running.
pub const SMT_ACTIVE: &str = "/sys/devices/system/cpu/smt/active";
/// The kernel's boot parameters.
pub const CMDLINE: &str = "/proc/cmdline";
/// The kernel's configuration, where it carries its own.
pub const CONFIG: &str = "/proc/config.gz";
/// The kernel's build string.
pub const VERSION: &str = "/proc/sys/kernel/version";
/// The kernel's release.
pub const RELEASE: &str = "/proc/sys/kernel/osrelease";
/// Present and 1 where PREEMPT_RT is built in.
pub const REALTIME: &str = "/sys/kernel/realtime";
/// The preemption model in use, with PREEMPT_DYNAMIC.
pub const PREEMPT_DYNAMIC: &str = "/sys/kernel/debug/sched/preempt";
/// Where new interrupts go.
pub const DEFAULT_AFFINITY: &str = "/proc/irq/default_smp_affinity";
/// Interrupt counts by CPU.
pub const INTERRUPTS: &str = "/proc/interrupts";
/// CPUs of unbound work queues.
pub const WORKQUEUE: &str = "/sys/devices/virtual/workqueue/cpumask";
/// Budget of real-time tasks per period.
pub const RT_RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
/// The period of that budget.
pub const RT_PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";
/// Where the fair server's budget is set, one folder per CPU.
pub const FAIR_SERVER: &str = "/sys/kernel/debug/sched/fair_server";
/// Where the budget of a BPF scheduler's tasks is set, one folder per CPU.
pub const EXT_SERVER: &str = "/sys/kernel/debug/sched/ext_server";
/// Whether timers move to busy CPUs.
pub const TIMER_MIGRATION: &str = "/proc/sys/kernel/timer_migration";
/// Grouping of tasks by session.
pub const AUTOGROUP: &str = "/proc/sys/kernel/sched_autogroup_enabled";
/// Automatic migration of memory between NUMA nodes.
pub const NUMA_BALANCING: &str = "/proc/sys/kernel/numa_balancing";
/// The hard lock-up detector.
pub const NMI_WATCHDOG: &str = "/proc/sys/kernel/nmi_watchdog";
/// The soft lock-up detector.
pub const SOFT_WATCHDOG: &str = "/proc/sys/kernel/soft_watchdog";
/// CPUs that the lock-up detectors watch.
pub const WATCHDOG_CPUS: &str = "/proc/sys/kernel/watchdog_cpumask";
/// When a task counts as hung.
pub const HUNG_TASK: &str = "/proc/sys/kernel/hung_task_timeout_secs";
/// The clock source in use.
pub const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// The clock sources that could be used.
pub const CLOCKSOURCES: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
/// The folder of frequency policies.
pub const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";
/// The folder of idle settings.
pub const CPUIDLE: &str = "/sys/devices/system/cpu/cpuidle";
/// The system-wide wake-up latency bound held by some process.
pub const DMA_LATENCY: &str = "/dev/cpu_dma_latency";
/// Transparent huge pages.
pub const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// Kernel same-page merging.
pub const KSM: &str = "/sys/kernel/mm/ksm/run";
/// Sizes of memory and of its uses.
pub const MEMINFO: &str = "/proc/meminfo";
/// Eagerness to swap.
pub const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
/// How often counters of virtual memory are folded together.
pub const STAT_INTERVAL: &str = "/proc/sys/vm/stat_interval";
/// Whether compaction may move locked pages.
pub const COMPACT_UNEVICTABLE: &str = "/proc/sys/vm/compact_unevictable_allowed";
/// Times spent, by CPU.
pub const STAT: &str = "/proc/stat";
/// The folder of mitigations.
pub const VULNERABILITIES: &str = "/sys/devices/system/cpu/vulnerabilities";
/// The processor's own description.
pub const CPUINFO: &str = "/proc/cpuinfo";
/// The profile that tuned says is active.
pub const TUNED_PROFILE: &str = "/etc/tuned/active_profile";
/// The node's name.
pub const HOSTNAME: &str = "/proc/sys/kernel/hostname";
/// The distribution's name.
pub const OS_RELEASE: &str = "/etc/os-release";
/// The folder of control group version 1's CPU budgets.
pub const ROOT_GROUP_RT_RUNTIME: &str = "/sys/fs/cgroup/cpu/cpu.rt_runtime_us";
/// The control groups of the process that reads it.
pub const OWN_GROUPS: &str = "/proc/self/cgroup";
/// What is mounted where.
pub const MOUNTS: &str = "/proc/mounts";
/// The folder of CPUs.
pub const CPUS: &str = "/sys/devices/system/cpu";
/// The folder of devices; the performance counters of each kind of core of a hybrid processor stand there.
pub const DEVICES: &str = "/sys/devices";
/// The folder of NUMA nodes.
pub const NODES: &str = "/sys/devices/system/node";
/// The folder of network interfaces.
pub const NET: &str = "/sys/class/net";
/// The folder of PTP hardware clocks.
pub const PTP: &str = "/sys/class/ptp";
/// The folder of interrupts' affinities.
pub const IRQ: &str = "/proc/irq";
