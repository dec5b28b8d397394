//! What to change against each class of cause, and the finding of `check` that tells more.

use record::CauseClass;

/// What to change, and the finding that tells more.
pub(super) const fn remedy(class: CauseClass) -> (&'static str, Option<&'static str>) {
    match class {
        CauseClass::InterruptsOff => (
            "keep that thread off the measured CPUs (isolation, affinity); where it is a driver's, report it with the functions below, or take a PREEMPT_RT kernel",
            Some("kernel-not-realtime"),
        ),
        CauseClass::PreemptionOff => {
            ("take a PREEMPT_RT kernel, or keep that thread off the measured CPUs", Some("kernel-not-realtime"))
        }
        CauseClass::Interrupt => (
            "move that interrupt to another CPU: 'punctual tune plan' with [irqs]",
            Some("interrupts-allowed-on-isolated-cpus"),
        ),
        CauseClass::Softirq => (
            "move the interrupts and timers that raise it to other CPUs, or take a PREEMPT_RT kernel, where softirqs run in threads",
            Some("interrupts-not-threaded"),
        ),
        CauseClass::Thread => (
            "give that thread a lower priority than yours, or other CPUs: 'punctual tune plan' with [thread]",
            Some("realtime-tasks-roam"),
        ),
        CauseClass::TimerFunction => (
            "keep that timer off the measured CPUs: nohz_full for the tick, isolation and timer migration for others",
            Some("tick-on-isolated-cpus"),
        ),
        CauseClass::Nmi => ("switch the NMI watchdog and profilers off", Some("nmi-watchdog")),
        CauseClass::Smi => {
            ("look for firmware settings: USB legacy support, power and thermal management, error reporting", None)
        }
        CauseClass::IdleExit => (
            "forbid that idle state: hold /dev/cpu_dma_latency, or 'punctual tune plan' with [idle]",
            Some("deep-idle-states"),
        ),
        CauseClass::Frequency => (
            "use the governor 'performance' and equal minimum and maximum frequencies; look after cooling",
            Some("governor-not-performance"),
        ),
        CauseClass::PageFault => ("lock the program's memory and touch it before it starts: mlockall", None),
        CauseClass::Migration => ("pin the thread to one CPU", None),
        CauseClass::Throttle => (
            "set sched_rt_runtime_us to -1, and the fair server's runtime to 0 on these CPUs, where the program is sure to sleep",
            Some("fair-server-on-isolated-cpus"),
        ),
        CauseClass::Steal => {
            ("measure on bare metal, or give the virtual CPUs physical ones of their own", Some("host-takes-time"))
        }
        CauseClass::Unknown => ("look at the timeline; a longer run may catch it with more evidence", None),
    }
}
