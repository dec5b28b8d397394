//! What to change against a cause on this machine, and the related finding of `check`.
//!
//! A remedy is a function of the cause and of the machine: it never recommends what the machine has already, or cannot
//! have.

use profile::kernel::Preemption;
use record::{CauseClass, Owner};

use super::arrival::BEFORE_WAKING;
use super::surroundings::{IdleStates, Surroundings};

/// The name under which a stop of a SCHED_DEADLINE measuring thread is summed.
pub(super) const OWN_BUDGET: &str = "the measuring thread's SCHED_DEADLINE budget";

/// Advice against a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// What to do, in one sentence.
    pub words: String,
    /// The related finding of `check`.
    pub finding: Option<&'static str>,
}

fn remedy_of(words: impl Into<String>, finding: Option<&'static str>) -> Remedy {
    Remedy { words: words.into(), finding }
}

/// What to change against a cause of this class and name, whose thread is `owner`'s.
#[must_use]
pub fn remedy(class: CauseClass, name: &str, owner: Owner, of: &Surroundings) -> Remedy {
    if owner == Owner::Instrument {
        return remedy_of(
            "this is a thread of the measurement itself and says nothing of the machine: leave it a CPU that is not measured \
             (--cpus)",
            None,
        );
    }
    if name.ends_with(BEFORE_WAKING) {
        return remedy_of(
            "look at what else the CPU that takes the packets has to do: give the interface's interrupt a CPU of its own \
             ('punctual tune plan' with [irqs]), or that CPU less to do",
            None,
        );
    }
    match class {
        CauseClass::InterruptsOff | CauseClass::PreemptionOff => not_preemptible(class, owner, of),
        CauseClass::Interrupt => interrupt(name, of),
        CauseClass::Softirq if of.preemption == Preemption::Realtime => remedy_of(
            "softirqs run in threads here: give the program a priority above those threads, or move the interrupts and timers \
             that raise it to other CPUs",
            Some("interrupts-allowed-on-isolated-cpus"),
        ),
        CauseClass::Softirq => remedy_of(
            format!(
                "move the interrupts and timers that raise it to other CPUs{}",
                or_realtime(of, ", where softirqs run in threads")
            ),
            Some(if of.interrupts_have_threads {
                "interrupts-allowed-on-isolated-cpus"
            } else {
                "interrupts-not-threaded"
            }),
        ),
        CauseClass::Thread => thread(name, owner),
        CauseClass::TimerFunction => timer_function(name, of),
        CauseClass::Nmi if of.nmi_watchdog == Some(false) => remedy_of(
            "the NMI watchdog is off: look for profilers (perf), and for hardware errors in the kernel's log",
            None,
        ),
        CauseClass::Nmi => remedy_of("switch the NMI watchdog and profilers off", Some("nmi-watchdog")),
        CauseClass::Smi if of.is_virtual == Some(true) => {
            remedy_of("this is the firmware of the host: it can be changed there alone", Some("virtual-machine"))
        }
        CauseClass::Smi => remedy_of(
            "look for firmware settings: USB legacy support, power and thermal management, error reporting",
            None,
        ),
        CauseClass::IdleExit => idle_exit(of),
        CauseClass::Frequency => frequency(of),
        CauseClass::PageFault => remedy_of(
            "lock the program's memory and touch it before it starts (mlockall); where that is done, look for what moves \
             locked pages: vm.compact_unevictable_allowed, kernel.numa_balancing",
            Some("locked-pages-move"),
        ),
        CauseClass::Migration => remedy_of("pin the thread to one CPU", None),
        CauseClass::Throttle if name == OWN_BUDGET => {
            let but = if of.fair_server == Some(true) {
                "; where it used less, the fair server of waiting ordinary threads was due before it"
            } else {
                ""
            };
            remedy_of(
                format!(
                    "give the thread a larger runtime (--runtime, sched_runtime of sched_setattr), where it uses up what it has \
                     in a period{but}"
                ),
                None,
            )
        }
        CauseClass::Throttle => throttle(of),
        CauseClass::Steal => remedy_of(
            "measure on bare metal, or give the virtual CPUs physical ones of their own",
            Some("host-takes-time"),
        ),
        CauseClass::OwnSleep => remedy_of(
            "a receiver that has to react to such packets asks without a pause (--receive poll) at an interval of which its \
             pauses are a small part, or lets packets wake it (--receive block)",
            None,
        ),
        CauseClass::Unknown => remedy_of("look at the timeline; a longer run may catch it with more evidence", None),
    }
}

/// The advice to change the kernel, where that would change anything.
fn or_realtime(of: &Surroundings, why: &str) -> String {
    match of.preemption {
        Preemption::Realtime => String::new(),
        Preemption::Unknown => format!(", or take a PREEMPT_RT kernel if this is none{why}"),
        _ => format!(", or take a PREEMPT_RT kernel{why}"),
    }
}

/// How to keep other threads away, as far as that is not done.
fn keep_off(of: &Surroundings, who: &str) -> (String, Option<&'static str>) {
    if of.measured_are_isolated() {
        (
            format!("pin {who} to other CPUs: the measured ones are isolated, and it ran there all the same"),
            Some("ordinary-tasks-on-isolated-cpus"),
        )
    } else {
        (format!("keep {who} off the measured CPUs (isolation, affinity)"), Some("no-cpu-set-apart"))
    }
}

/// A thread kept interrupts or preemption off.
fn not_preemptible(class: CauseClass, owner: Owner, of: &Surroundings) -> Remedy {
    let is_realtime = of.preemption == Preemption::Realtime;
    let who = if owner == Owner::Load { "programs that do what the load did" } else { "that thread" };
    let (words, finding) = keep_off(of, who);
    let driver = match class {
        CauseClass::InterruptsOff => "; where it is a driver's code, report it with the functions below",
        _ if is_realtime => "; PREEMPT_RT leaves few such sections: report it with the functions in the timeline",
        _ => "",
    };
    let finding = if is_realtime { finding } else { Some("kernel-not-realtime") };
    remedy_of(format!("{words}{driver}{}", or_realtime(of, "")), finding)
}

fn interrupt(name: &str, of: &Surroundings) -> Remedy {
    // A device's has a number, by which it can be moved; the processor's own belong to each CPU.
    if !name.contains("(interrupt ") {
        return if of.measured_are_isolated() {
            remedy_of(
                "it is the processor's own interrupt and cannot be moved: look for what on other CPUs asks something of this one",
                None,
            )
        } else {
            remedy_of(
                "it is the processor's own interrupt and cannot be moved: isolate the measured CPUs, so that the kernel asks \
                 less of them",
                Some("no-cpu-set-apart"),
            )
        };
    }
    let threads = if of.interrupts_have_threads { "" } else { ", or let it have a thread: boot with threadirqs" };
    remedy_of(
        format!("move that interrupt to another CPU: 'punctual tune plan' with [irqs]{threads}"),
        Some("interrupts-allowed-on-isolated-cpus"),
    )
}

fn thread(name: &str, owner: Owner) -> Remedy {
    if owner == Owner::Load {
        return remedy_of(
            "the load itself ran at a priority that yours does not exceed: start it at a lower one, or measure at a higher one",
            None,
        );
    }
    if name.starts_with("migration/") {
        return remedy_of(
            "it is the kernel's thread that stops a CPU, and no priority exceeds it: look for what makes it run (tracers that \
             come and go, CPUs that go offline, threads that are pinned again)",
            None,
        );
    }
    if name.contains("(deadline") {
        return remedy_of(
            "every SCHED_DEADLINE thread outranks all others: give it other CPUs",
            Some("realtime-tasks-roam"),
        );
    }
    // Where it has the highest priority, that is what is wrong with it: nothing can be placed above it.
    let finding = if name.contains(" 99)") { "realtime-priority-99" } else { "realtime-tasks-roam" };
    remedy_of(
        "give that thread a lower priority than yours, or other CPUs: 'punctual tune plan' with [thread]",
        Some(finding),
    )
}

fn timer_function(name: &str, of: &Surroundings) -> Remedy {
    let is_tick = name.starts_with("tick_");
    match (is_tick, of.measured_are_nohz_full()) {
        (true, true) => remedy_of(
            "nohz_full is in force, and the tick stops only while a single thread wants the CPU: keep others off it",
            Some("tick-on-isolated-cpus"),
        ),
        (true, false) => {
            remedy_of("keep the tick off the measured CPUs: nohz_full, with isolation", Some("tick-on-isolated-cpus"))
        }
        (false, _) => remedy_of(
            "keep that timer off the measured CPUs: isolation, timer migration, or other CPUs for the program that set it",
            Some("timer-migration"),
        ),
    }
}

fn idle_exit(of: &Surroundings) -> Remedy {
    match (of.idle_states, of.is_virtual) {
        (IdleStates::Disabled, _) => {
            // idle= is a parameter of x86 alone; nohlt is the generic one (kernel/sched/idle.c).
            let parameter = match of.is_x86 {
                Some(true) => "idle=poll",
                Some(false) => "nohlt (where the kernel has CONFIG_GENERIC_IDLE_POLL_SETUP)",
                None => "idle=poll (x86) or nohlt (others)",
            };
            remedy_of(
                format!(
                    "the deep idle states are disabled already: what is left goes with {parameter}, or with cpuidle.off=1"
                ),
                None,
            )
        }
        (_, Some(true)) => remedy_of(
            "an idle virtual CPU goes back to its host: hold /dev/cpu_dma_latency, or have the host let it poll (haltpoll)",
            Some("deep-idle-states"),
        ),
        _ => remedy_of(
            "disable that idle state: hold /dev/cpu_dma_latency, or 'punctual tune plan' with [idle]",
            Some("deep-idle-states"),
        ),
    }
}

fn frequency(of: &Surroundings) -> Remedy {
    match (of.governor_is_performance, of.is_virtual) {
        (None, Some(true)) => {
            remedy_of("the host sets the frequency: it can be fixed there alone", Some("virtual-machine"))
        }
        (None, _) => remedy_of(
            "no governor of frequencies was found: look after cooling, and for the firmware's settings of boost and power limits",
            Some("thermal-throttling"),
        ),
        (Some(true), _) => remedy_of(
            "the governor is 'performance' already: set equal minimum and maximum frequencies, and look after cooling and boost",
            Some("thermal-throttling"),
        ),
        (Some(false), _) => remedy_of(
            "use the governor 'performance' and equal minimum and maximum frequencies; look after cooling",
            Some("governor-not-performance"),
        ),
    }
}

fn throttle(of: &Surroundings) -> Remedy {
    let sure = "where the program is sure to sleep";
    match (of.throttle_is_off, of.fair_server) {
        (true, Some(true)) => remedy_of(
            format!("set the fair server's runtime to 0 on these CPUs, {sure}"),
            Some("fair-server-on-isolated-cpus"),
        ),
        (true, _) => remedy_of(
            "sched_rt_runtime_us stops no real-time thread here: what is left is the fair server of Linux 6.12 and newer, whose \
             runtime stands in /sys/kernel/debug/sched/fair_server/cpuN/runtime",
            Some("fair-server-on-isolated-cpus"),
        ),
        (false, Some(true)) => remedy_of(
            format!("set sched_rt_runtime_us to -1, and the fair server's runtime to 0 on these CPUs, {sure}"),
            Some("fair-server-on-isolated-cpus"),
        ),
        (false, _) => remedy_of(format!("set sched_rt_runtime_us to -1, {sure}"), Some("realtime-throttling")),
    }
}

#[cfg(test)]
mod tests;
