//! Interrupts: where they may go and where they went.

use units::CpuSet;

use super::Rule;
use super::Severity::{Note, Problem, Warning};
use super::rule::{Found, count, cpus_label, housekeeping, housekeeping_list, isolated, left_out, mask, param_absent};
use crate::catalogue::{Checked, LINUX};
use crate::cmdline::parse_cpu_list;
use crate::irq::{Irq, IrqThread};
use crate::{Preemption, Profile, paths};

/// Interrupts that every CPU has for itself: they cannot be moved, and their affinity means nothing.
///
/// ARM and RISC-V list them among the devices: arch timers (drivers/clocksource/arm_arch_timer.c), the local timer of
/// Cortex-A9 (twd), KVM's timers and performance counters.
const PER_CPU_ACTIONS: [&str; 7] = ["arch_timer", "riscv-timer", "twd", "kvm guest", "arm-pmu", "arm_pmu", "IPI"];

fn is_per_cpu(irq: &Irq) -> bool {
    irq.actions.iter().any(|action| PER_CPU_ACTIONS.iter().any(|known| action.starts_with(known)))
}

fn movable(profile: &Profile) -> impl Iterator<Item = &Irq> {
    profile.irqs.lines.iter().filter(|irq| !irq.actions.is_empty() && !is_per_cpu(irq))
}

/// Those of [`movable`] that touch isolated CPUs and do not serve the real-time task there.
///
/// An interrupt that may arrive on isolated CPUs only, and whose thread somebody raised, was put there on purpose. The
/// affinity alone proves nothing: drivers give every CPU a queue of its own.
fn stray<'a>(profile: &'a Profile, isolated: &CpuSet) -> Vec<&'a Irq> {
    let is_confined = |irq: &Irq| irq.affinity.as_ref().is_some_and(|cpus| cpus.is_subset(isolated));
    let is_raised = |irq: &Irq| irq.threads.iter().any(|thread| thread.rt_priority > DEFAULT_THREAD_PRIORITY);
    movable(profile).filter(|irq| !(is_confined(irq) && is_raised(irq))).collect()
}

fn move_remedy(profile: &Profile, example: Option<&Irq>) -> String {
    let number = example.map_or_else(|| "N".to_owned(), |irq| irq.number.to_string());
    format!("echo {} > /proc/irq/{number}/smp_affinity_list, for each", housekeeping_list(profile))
}

const WANTED: &str = "Leave those where they are that serve the real-time task itself.";

const MANAGED: &str = "Interrupts that refuse with EIO or EPERM are managed by the kernel (NVMe, many network cards). \
                       isolcpus=managed_irq,domain,LIST keeps those away that may also arrive on other CPUs; for those \
                       of isolated CPUs alone take fewer queues, by the driver's options.";

pub(super) static BOOT_AFFINITY: Rule = Rule {
    id: "irqaffinity-includes-isolated-cpus",
    title: "irqaffinity= contradicts the isolation",
    severities: &[Problem],
    what: "irqaffinity= names the CPUs for new interrupts, isolcpus= those to be left alone: one list has CPUs of the \
           other. The kernel adds the boot CPU to irqaffinity= by itself.",
    why: "Every driver that is loaded later may place its interrupts on CPUs that were meant to be quiet.",
    see: "/proc/cmdline, /proc/irq/default_smp_affinity.",
    change: "Give irqaffinity= the housekeeping CPUs only.",
    price: "The housekeeping CPUs take all device interrupts.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/kernel-parameters.txt, irqaffinity=",
        "Linux kernel/irq/irqdesc.c, irq_affinity_setup()",
    ],
    find: |profile| {
        let asked = parse_cpu_list(profile.kernel.param_value("irqaffinity")?, profile.cpus.last())?;
        let overlap = asked.intersection(&isolated(profile)?);
        (!overlap.is_empty()).then(|| {
            let found = Found::problem(format!("irqaffinity= sends interrupts to isolated {}", cpus_label(&overlap)))
                .read_param(profile, "irqaffinity")
                .read_isolated(profile);
            match housekeeping(profile) {
                Some(rest) => found.remedy(format!("Boot with irqaffinity={rest}.")),
                None => found,
            }
        })
    },
};

pub(super) static ARRIVALS: Rule = Rule {
    id: "interrupts-arrive-on-isolated-cpus",
    title: "Device interrupts arrive on isolated CPUs",
    severities: &[Problem, Note],
    what: "The counters of /proc/interrupts rose for a device on an isolated CPU. Counted over a window they show \
           about now; counted since boot they may stem from before the isolation. Interrupts that may arrive on \
           isolated CPUs only, and whose thread has a priority above the kernel's 50, are taken for the real-time \
           task's own.",
    why: "Each interrupt takes microseconds from the real-time task, at moments that the device chooses.",
    see: "/proc/interrupts, read twice; /proc/irq/N/smp_affinity_list and effective_affinity_list.",
    change: "Move each interrupt to the housekeeping CPUs through /proc/irq/N/smp_affinity_list, unless it belongs \
             to the real-time task itself.",
    price: "The housekeeping CPUs take the interrupts; a device used by the real-time task may be served faster \
            where the task runs.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/core-api/irq/irq-affinity.rst",
        "Linux Documentation/filesystems/proc.rst, /proc/interrupts",
    ],
    find: |profile| {
        let isolated = isolated(profile)?;
        let mut arrived = stray(profile, &isolated);
        arrived.retain(|irq| !irq.arrived_on().intersection(&isolated).is_empty());
        let first = *arrived.first()?;
        let cpus = arrived.iter().fold(CpuSet::new(), |all, irq| all.union(&irq.arrived_on().intersection(&isolated)));
        let readings = arrived
            .iter()
            .map(|irq| {
                let counts: Vec<String> = irq
                    .arrived_counts
                    .iter()
                    .filter(|(cpu, _)| isolated.contains(**cpu))
                    .map(|(cpu, count)| format!("CPU {cpu}: {count}"))
                    .collect();
                (format!("{}, {}", paths::INTERRUPTS, irq.label()), counts.join(", "))
            })
            .collect();
        let found = match profile.irqs.window_ns {
            Some(_) => Found::problem(format!("Device interrupts arrive on isolated {}", cpus_label(&cpus))),
            None => Found::note(format!(
                "Device interrupts arrived on isolated {} at some time since boot",
                cpus_label(&cpus)
            )),
        };
        Some(
            found
                .read_many(readings)
                .read_isolated(profile)
                .remedy(move_remedy(profile, Some(first)))
                .remedy(WANTED)
                .remedy(MANAGED),
        )
    },
};

pub(super) static AIMED: Rule = Rule {
    id: "interrupts-allowed-on-isolated-cpus",
    title: "Device interrupts may arrive on isolated CPUs",
    severities: &[Warning, Note],
    what: "/proc/irq/N/smp_affinity_list names the CPUs where an interrupt may arrive, effective_affinity_list where \
           the hardware sends it now. isolcpus= alone leaves both alone. A warning where the hardware sends it to an \
           isolated CPU, a note where it merely may. Interrupts that may arrive on isolated CPUs only, and whose \
           thread has a priority above the kernel's 50, are taken for the real-time task's own.",
    why: "The next interrupt of the device takes microseconds from the real-time task; a change of affinity may take \
          effect only at the next interrupt, hours later.",
    see: "`grep . /proc/irq/*/effective_affinity_list /proc/irq/*/smp_affinity_list`.",
    change: "Move each interrupt to the housekeeping CPUs through /proc/irq/N/smp_affinity_list, and boot with \
             irqaffinity= for those to come.",
    price: "The housekeeping CPUs take the interrupts; a device used by the real-time task may be served faster \
            where the task runs.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/core-api/irq/irq-affinity.rst",
        "Linux Documentation/admin-guide/kernel-parameters.txt, isolcpus=managed_irq",
    ],
    find: |profile| {
        let isolated = isolated(profile)?;
        let touches = |cpus: &CpuSet| !cpus.intersection(&isolated).is_empty();
        let mut aimed = stray(profile, &isolated);
        let mut allowed = aimed.clone();
        aimed.retain(|irq| irq.effective_affinity.as_ref().is_some_and(touches));
        allowed.retain(|irq| irq.affinity.as_ref().is_some_and(touches));
        let (found, lines) = match (aimed.len(), allowed.len()) {
            (0, 0) => return None,
            (0, number) => {
                (Found::note(format!("{} can be sent to isolated CPUs", count(number, "device interrupt"))), allowed)
            }
            (number, _) => {
                (Found::warning(format!("Aimed at isolated CPUs: {}", count(number, "device interrupt"))), aimed)
            }
        };
        let first = lines.first().copied();
        let readings = lines
            .iter()
            .map(|irq| {
                let list =
                    |cpus: &Option<CpuSet>| cpus.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
                (
                    format!("/proc/irq/{}, {}", irq.number, irq.actions.join(", ")),
                    format!("allowed {}, effective {}", list(&irq.affinity), list(&irq.effective_affinity)),
                )
            })
            .collect();
        Some(
            found
                .read_many(readings)
                .read_isolated(profile)
                .remedy(move_remedy(profile, first))
                .remedy(WANTED)
                .remedy(MANAGED),
        )
    },
};

pub(super) static DEFAULT_AFFINITY: Rule = Rule {
    id: "default-irq-affinity-includes-isolated-cpus",
    title: "New interrupts may go to isolated CPUs",
    severities: &[Warning],
    what: "/proc/irq/default_smp_affinity names the CPUs for interrupts that are yet to be requested. It holds all \
           CPUs unless irqaffinity= says otherwise; isolcpus= does not change it.",
    why: "Bringing up a network interface or plugging in a device places its interrupts on CPUs that were meant to \
          be quiet.",
    see: "/proc/irq/default_smp_affinity (a hexadecimal mask).",
    change: "Boot with irqaffinity=HOUSEKEEPING-CPUS, or write their mask into /proc/irq/default_smp_affinity early.",
    price: "The housekeeping CPUs take all device interrupts.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/core-api/irq/irq-affinity.rst",
        "Linux kernel/irq/irqdesc.c, init_irq_default_affinity()",
    ],
    find: |profile| {
        let default = profile.irqs.default_affinity.as_ref()?;
        let overlap = default.intersection(&isolated(profile)?);
        (!overlap.is_empty()).then(|| {
            let found = Found::warning(format!("New interrupts may go to isolated {}", cpus_label(&overlap)))
                .read(paths::DEFAULT_AFFINITY, format!("{} (CPUs {default})", mask(default)))
                .read_isolated(profile);
            match housekeeping(profile) {
                Some(rest) => found.remedy(format!("Boot with irqaffinity={rest}.")).remedy(format!(
                    "Now: echo {} > {}",
                    mask(&rest),
                    paths::DEFAULT_AFFINITY
                )),
                None => found,
            }
        })
    },
};

pub(super) static BALANCER: Rule = Rule {
    id: "irqbalance-and-isolated-cpus",
    title: "irqbalance may move interrupts onto isolated CPUs",
    severities: &[Warning, Note],
    what: "irqbalance moves interrupts between CPUs while the system runs. Without a ban list it leaves the CPUs of \
           isolcpus= and nohz_full= alone, but knows nothing of cpuset partitions; a ban list of its own replaces \
           that knowledge.",
    why: "Interrupts turn up on a quiet CPU some time after everything was arranged and measured, and affinities set \
          by hand are undone.",
    see: "IRQBALANCE_BANNED_CPULIST in /etc/default/irqbalance or /etc/sysconfig/irqbalance; `systemctl status \
          irqbalance`.",
    change: "Stop irqbalance (systemctl disable --now irqbalance) and set affinities once, or put the isolated CPUs \
             into IRQBALANCE_BANNED_CPULIST.",
    price: "Without irqbalance, interrupt load stays where it was placed, also when it grows.",
    checked: Checked::Independent("the behavior of irqbalance"),
    sources: &["irqbalance(1), IRQBALANCE_BANNED_CPULIST", "irqbalance cputree.c, setup_banned_cpus()"],
    find: |profile| {
        profile.services.named("irqbalance")?;
        let isolated = isolated(profile)?;
        let banned = profile.services.irqbalance_banned_cpus.as_ref();
        let from_boot = profile.isolation.isolated.clone().unwrap_or_default();
        let known =
            profile.isolation.nohz_full.as_ref().map_or_else(|| from_boot.clone(), |cpus| from_boot.union(cpus));
        let open = isolated.difference(banned.unwrap_or(&known));
        let found = if !open.is_empty() {
            Found::warning(format!("irqbalance may move interrupts onto isolated {}", cpus_label(&open)))
        } else if banned.is_none() {
            Found::note("irqbalance moves interrupts by itself, and knows the isolated CPUs from the kernel alone")
        } else {
            return None;
        };
        let ban = banned.map_or_else(|| "no list of banned CPUs".to_owned(), |cpus| format!("banned CPUs {cpus}"));
        Some(
            found
                .read("running services", "irqbalance")
                .read("/etc/default/irqbalance or /etc/sysconfig/irqbalance", ban)
                .read_isolated(profile)
                .remedy("systemctl disable --now irqbalance, and set affinities once.")
                .remedy(format!("Or IRQBALANCE_BANNED_CPULIST={isolated} in its settings, and restart it.")),
        )
    },
};

pub(super) static THREADIRQS: Rule = Rule {
    id: "interrupts-not-threaded",
    title: "Interrupt handlers run in interrupt context",
    severities: &[Note],
    what: "Without PREEMPT_RT, and without the boot parameter threadirqs, most handlers run to their end before any \
           task, whatever its priority.",
    why: "A slow handler of an unimportant device delays the most important task, and no priority can be given to it.",
    see: "Threads named irq/N-NAME exist for the devices where handlers are threaded.",
    change: "Boot with threadirqs, or better a PREEMPT_RT kernel, where this is always so; then give the threads \
             that matter their priority with chrt.",
    price: "A thread switch per interrupt: some microseconds more for the device, some percent of throughput.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/kernel-parameters.txt, threadirqs",
        "Linux kernel/irq/manage.c, setup_forced_irqthreads()",
    ],
    find: |profile| {
        let kernel = &profile.kernel;
        let known_ordinary = !matches!(kernel.preemption, Preemption::Realtime | Preemption::Unknown);
        let possible = !left_out(profile, "CONFIG_IRQ_FORCED_THREADING");
        (known_ordinary && possible && param_absent(profile, "threadirqs")).then(|| {
            Found::note("Interrupt handlers run in interrupt context, before any task")
                .read("preemption model", kernel.preemption.as_str())
                .read(paths::CMDLINE, "threadirqs is absent")
        })
    },
};

/// The priority that the kernel gives to an interrupt thread (kernel/sched/syscalls.c, sched_set_fifo()).
const DEFAULT_THREAD_PRIORITY: u32 = 50;

/// The priority of a driver's second handler where its first one is forced into a thread: 51d0656959bc, "genirq/manage:
/// Reduce priority of forced secondary interrupt handler", since 6.19 (kernel/irq/manage.c, irq_thread()).
const SECONDARY_THREAD_PRIORITY: u32 = 49;

/// Whether nobody has changed the priority that the kernel gave to an interrupt thread.
///
/// A second handler's thread has 49 or 50, by the kernel's release; its name shows it: `irq/N-s-NAME`.
fn has_default_priority(thread: &IrqThread) -> bool {
    let is_secondary = thread.comm.split('-').nth(1) == Some("s");
    thread.rt_priority == DEFAULT_THREAD_PRIORITY || (is_secondary && thread.rt_priority == SECONDARY_THREAD_PRIORITY)
}

pub(super) static THREAD_PRIORITIES: Rule = Rule {
    id: "interrupt-threads-alike",
    title: "All interrupt threads have the same priority",
    severities: &[Note],
    what: "The kernel starts every interrupt thread at SCHED_FIFO 50 and leaves it to the administrator to say which \
           device matters more. Since 6.19 a driver's second handler (irq/N-s-NAME), where the first is forced into a \
           thread too, starts at 49, so that the first one preempts it.",
    why: "The network card that carries the cyclic traffic or PTP waits behind disk and USB interrupts on the same \
          CPU.",
    see: "`ps -eLo rtprio,cls,comm | grep irq/`.",
    change: "Raise the threads of the devices that matter, for example chrt -f -p 80 $(pgrep 'irq/.*eth0'), at each \
             boot; threads of devices used by a real-time task must outrank it when it waits for them.",
    price: "Whatever runs above the other interrupt threads delays their devices.",
    checked: LINUX,
    sources: &[
        "Linux kernel/irq/manage.c, irq_thread()",
        "Linux kernel/sched/syscalls.c, sched_set_fifo() and sched_set_fifo_secondary()",
        "Linux Documentation/core-api/real-time/theory.rst",
    ],
    find: |profile| {
        let threads: Vec<_> =
            profile.irqs.lines.iter().flat_map(|irq| irq.threads.iter().map(move |thread| (irq, thread))).collect();
        let alike = threads.iter().all(|(_, thread)| has_default_priority(thread));
        // Without a network card among them there is mostly nothing to rank.
        let names_a_card = |irq: &Irq| {
            let cards = &profile.net.interfaces;
            irq.actions.iter().any(|action| cards.iter().any(|nic| !nic.name.is_empty() && action.contains(&nic.name)))
        };
        let has_network = threads.iter().any(|(irq, _)| names_a_card(irq));
        (threads.len() >= 2 && alike && has_network).then(|| {
            let readings = threads
                .iter()
                .map(|(irq, thread)| (irq.label(), format!("{}, priority {}", thread.comm, thread.rt_priority)))
                .collect();
            Found::note(format!("All {} interrupt threads have the kernel's priority", threads.len()))
                .read_many(readings)
        })
    },
};
