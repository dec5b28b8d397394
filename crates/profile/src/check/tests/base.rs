//! Machines to spoil.

use units::CpuSet;

use crate::irq::Irq;
use crate::kernel::Preemption;
use crate::power::{FrequencyPolicy, IdleState};
use crate::process::{Policy, Task};
use crate::services::Service;
use crate::time::{Discipline, Leap};
use crate::time_program::{Chronyd, Ptp4l, PtpPort, TimeProgram, TimeSettings};
use crate::{Profile, cmdline, kconfig};

pub(crate) fn cpus(text: &str) -> CpuSet {
    text.parse().unwrap()
}

/// Gives the machine other boot parameters.
pub(crate) fn boot(profile: &mut Profile, line: &str) {
    profile.kernel.cmdline = Some(line.to_owned());
    profile.kernel.params = cmdline::parse(line);
}

/// Changes one option of the configuration.
pub(crate) fn configure(profile: &mut Profile, name: &str, value: &str) {
    profile.kernel.config.insert(name.to_owned(), value.to_owned());
}

/// Isolates other CPUs in all the ways that the well-configured machine uses.
pub(crate) fn isolate(profile: &mut Profile, list: &str) {
    profile.isolation.isolated = Some(cpus(list));
}

pub(crate) fn ordinary(name: &str, affinity: &str) -> Task {
    Task { pid: 700, tid: 701, comm: name.to_owned(), affinity: Some(cpus(affinity)), ..Task::default() }
}

pub(crate) fn realtime(name: &str, rt_priority: u32, affinity: &str) -> Task {
    Task { policy: Policy::Fifo, rt_priority, ..ordinary(name, affinity) }
}

pub(crate) fn service(name: &str, policy: Policy) -> Service {
    Service { name: name.to_owned(), policy, rt_priority: u32::from(policy.is_realtime()) }
}

pub(crate) fn idle_state(index: u32, name: &str, exit_us: u64, disabled: bool) -> IdleState {
    IdleState {
        index,
        name: name.to_owned(),
        exit_latency_us: Some(exit_us),
        residency_us: Some(exit_us * 2),
        disabled: Some(disabled),
    }
}

pub(crate) fn irq(number: u32, action: &str, affinity: &str) -> Irq {
    Irq {
        number,
        chip: "PCI-MSIX".to_owned(),
        actions: vec![action.to_owned()],
        affinity: Some(cpus(affinity)),
        effective_affinity: Some([cpus(affinity).first().unwrap()].into_iter().collect()),
        arrived_counts: [(cpus(affinity).first().unwrap(), 1000)].into_iter().collect(),
        ..Irq::default()
    }
}

const BOOT: &str = "BOOT_IMAGE=/vmlinuz root=/dev/sda2 ro isolcpus=domain,managed_irq,2-3 \
                    nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1 nmi_watchdog=0";

const CONFIG: &str = "\
CONFIG_PREEMPT_RT=y
CONFIG_HIGH_RES_TIMERS=y
CONFIG_NO_HZ_FULL=y
CONFIG_RCU_NOCB_CPU=y
CONFIG_HZ=1000
CONFIG_IRQ_FORCED_THREADING=y
# CONFIG_RT_GROUP_SCHED is not set
# CONFIG_PREEMPT_DYNAMIC is not set
# CONFIG_PROVE_LOCKING is not set
";

/// An x86 machine with PREEMPT_RT and four cores, two of them isolated, on which everything is right.
pub(crate) fn good() -> Profile {
    let mut profile = Profile::default();
    let kernel = &mut profile.kernel;
    kernel.release = Some("6.12.9-rt".to_owned());
    kernel.arch = Some("x86_64".to_owned());
    kernel.preemption = Preemption::Realtime;
    kernel.preemption_source = Some("/sys/kernel/realtime: 1".to_owned());
    kernel.config_source = Some("/proc/config.gz".to_owned());
    kernel.config = kconfig::parse(CONFIG);
    boot(&mut profile, BOOT);

    let all = Some(cpus("0-3"));
    profile.cpus.online.clone_from(&all);
    profile.cpus.present.clone_from(&all);
    profile.cpus.possible.clone_from(&all);
    profile.cpus.smt_control = Some("notsupported".to_owned());
    profile.cpus.smt_active = Some(false);
    profile.cpus.cores = (0..4).map(|cpu| [cpu].into_iter().collect()).collect();
    profile.cpus.nodes = [(0, cpus("0-3"))].into_iter().collect();

    isolate(&mut profile, "2-3");
    profile.isolation.nohz_full = Some(cpus("2-3"));
    profile.isolation.rcu_nocbs = Some(cpus("2-3"));
    profile.isolation.workqueue_cpus = Some(cpus("0-1"));

    profile.power.frequency_policies = (0..4)
        .map(|cpu| FrequencyPolicy {
            name: format!("policy{cpu}"),
            cpus: [cpu].into_iter().collect(),
            driver: Some("intel_pstate".to_owned()),
            governor: Some("performance".to_owned()),
            scaling_min_khz: Some(800_000),
            scaling_max_khz: Some(3_000_000),
            hardware_min_khz: Some(800_000),
            hardware_max_khz: Some(3_000_000),
            ..FrequencyPolicy::default()
        })
        .collect();
    profile.power.boost = Some(false);
    profile.power.idle_driver = Some("intel_idle".to_owned());
    profile.power.dma_latency_us = Some(2_000_000_000);
    for cpu in 0..4 {
        let deep_is_off = cpu >= 2;
        let states =
            vec![idle_state(0, "POLL", 0, false), idle_state(1, "C1", 2, false), idle_state(2, "C6", 133, deep_is_off)];
        profile.power.add_idle(cpu, states);
    }

    profile.irqs.default_affinity = Some(cpus("0-1"));
    profile.irqs.window_ns = Some(1_000_000_000);
    profile.irqs.lines = vec![irq(24, "eth0", "0-1"), irq(25, "nvme0q1", "1")];

    let sched = &mut profile.sched;
    sched.rt_runtime_us = Some(950_000);
    sched.rt_period_us = Some(1_000_000);
    sched.timer_migration = Some(false);
    sched.autogroup = Some(false);
    sched.numa_balancing = Some(0);
    sched.nmi_watchdog = Some(false);
    sched.soft_watchdog = Some(true);
    sched.watchdog_cpus = Some(cpus("0-1"));
    for cpu in 0..4 {
        sched.add_fair_server(cpu, if cpu < 2 { 50_000_000 } else { 0 }, 1_000_000_000);
    }

    profile.time.clocksource = Some("tsc".to_owned());
    profile.time.clocksources_available = vec!["tsc".to_owned(), "hpet".to_owned(), "acpi_pm".to_owned()];
    profile.time.tsc_flags = vec!["constant_tsc".to_owned(), "nonstop_tsc".to_owned()];
    profile.tasks.realtime = vec![realtime("control", 80, "3")];
    profile.tasks.on_isolated = vec![realtime("control", 80, "3"), ordinary("control-log", "2-3")];

    let memory = &mut profile.memory;
    memory.total_kib = Some(8_000_000);
    memory.available_kib = Some(6_000_000);
    memory.swap_total_kib = Some(0);
    memory.swap_used_kib = Some(0);
    memory.transparent_huge_pages = Some("madvise".to_owned());
    memory.ksm_run = Some(0);
    memory.stat_interval_s = Some(10);
    memory.compact_unevictable_allowed = Some(false);

    profile.virt.guest = Some(false);
    profile.virt.steal_ms = Some(0);
    profile.virt.vulnerabilities = [("meltdown".to_owned(), "Not affected".to_owned())].into_iter().collect();
    profile.net.interfaces = vec![nic()];
    profile.services.running = vec![service("chronyd", Policy::Other), service("ptp4l", Policy::Fifo)];
    profile.services.time_programs = vec![
        time_program("chronyd", TimeSettings::Chronyd(chronyd())),
        time_program("ptp4l", TimeSettings::Ptp4l(ptp4l())),
    ];
    profile.time.discipline = Some(Discipline { is_synchronized: true, leap: Leap::None, tai_less_utc_s: 37 });
    profile.net.phcs = vec![crate::net::Phc {
        index: 0,
        interfaces: vec!["eth0".to_owned()],
        ahead_of_system_ns: Some(37_000_000_150),
        ..crate::net::Phc::default()
    }];
    profile.tasks.kernel_per_cpu_count = 24;
    profile
}

/// A program that may set the system clock and sees this machine's interfaces.
pub(crate) fn time_program(name: &str, settings: TimeSettings) -> TimeProgram {
    TimeProgram {
        name: name.to_owned(),
        may_set_system_clock: Some(true),
        shares_network: Some(true),
        configuration: Some("command line".to_owned()),
        settings: Some(settings),
        ptp: None,
    }
}

/// chronyd as Debian configures it.
pub(crate) fn chronyd() -> Chronyd {
    Chronyd { corrects_clock: true, step_threshold_ns: Some(1_000_000_000), step_limit: 3, ..Chronyd::default() }
}

/// ptp4l that follows a grand master over eth0, with stamps in hardware.
pub(crate) fn ptp4l() -> Ptp4l {
    Ptp4l {
        ports: vec![PtpPort {
            interface: "eth0".to_owned(),
            neighbor_delay_threshold_ns: 20_000_000,
            ..PtpPort::default()
        }],
        client_only: true,
        servo: "pi".to_owned(),
        ..Ptp4l::default()
    }
}

/// An interface that does everything right.
fn nic() -> crate::net::Nic {
    use crate::net::{Coalescing, EnergyEfficient, Ethtool, Nic, Timestamping};
    Nic {
        name: "eth0".to_owned(),
        driver: Some("igc".to_owned()),
        state: Some("up".to_owned()),
        rps_cpus: Some(CpuSet::new()),
        napi_defer_hard_irqs: Some(0),
        gro_flush_timeout_ns: Some(0),
        ethtool: Ethtool {
            timestamping: Some(Timestamping {
                tx_hardware: true,
                rx_hardware: true,
                phc_index: Some(0),
                ..Timestamping::default()
            }),
            coalescing: Some(Coalescing::default()),
            energy_efficient: Some(EnergyEfficient::default()),
            ..Ethtool::default()
        },
        ..Nic::default()
    }
}
