//! The scheduler, its throttles, timers and watchdogs.

use super::{How, Knob, Values};
use crate::{Form, KnobScope};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "kernel.sched_rt_runtime_us",
        about: "how long real-time tasks may run in each period before others get the CPU; -1: as long as they like. \
                From 6.12 on the fair server decides that, except with CONFIG_RT_GROUP_SCHED",
        cost: "safety: a real-time task that never sleeps keeps its CPU for good",
        scope: KnobScope::Machine,
        path: "/proc/sys/kernel/sched_rt_runtime_us",
        how: How::File,
        form: Form::Integer,
        values: Values::Integer(-1, 1_000_000),
        source: "Documentation/scheduler/sched-rt-group.rst",
    },
    Knob {
        name: "fair-server.runtime-ns",
        about: "how long ordinary tasks may take a CPU from real-time ones in each period (ns); 0: never (6.12 and \
                newer)",
        cost: "safety: a real-time task that never sleeps keeps its CPU for good",
        scope: KnobScope::Cpu,
        path: "/sys/kernel/debug/sched/fair_server/cpu{}/runtime",
        how: How::File,
        form: Form::Integer,
        values: Values::Integer(0, 1_000_000_000),
        source: "kernel/sched/debug.c, sched_fair_server_runtime_write()",
    },
    Knob {
        name: "ext-server.runtime-ns",
        about: "how long tasks of a BPF scheduler may take a CPU from real-time ones in each period (ns); 0: never (on \
                kernels that have such a server)",
        cost: "safety: a real-time task that never sleeps keeps its CPU for good",
        scope: KnobScope::Cpu,
        path: "/sys/kernel/debug/sched/ext_server/cpu{}/runtime",
        how: How::File,
        form: Form::Integer,
        values: Values::Integer(0, 1_000_000_000),
        source: "kernel/sched/debug.c, sched_ext_server_runtime_write()",
    },
    Knob {
        name: "kernel.timer_migration",
        about: "1: timers may move to another CPU when theirs is idle",
        cost: "",
        scope: KnobScope::Machine,
        path: "/proc/sys/kernel/timer_migration",
        how: How::File,
        form: Form::Integer,
        values: Values::Integer(0, 1),
        source: "kernel/time/timer.c",
    },
    Knob {
        name: "kernel.numa_balancing",
        about: "0: the kernel moves no pages between memory nodes on its own; 1: it does; 2: between fast and slow \
                memory; 3: both",
        cost: "throughput on machines with several memory nodes",
        scope: KnobScope::Machine,
        path: "/proc/sys/kernel/numa_balancing",
        how: How::File,
        form: Form::Integer,
        values: Values::Integer(0, 3),
        source: "Documentation/admin-guide/sysctl/kernel.rst",
    },
    Knob {
        name: "kernel.nmi_watchdog",
        about: "1: a CPU that hangs with interrupts off is noticed, by a non-maskable interrupt or, on kernels with \
                the buddy detector, by another CPU",
        cost: "safety: hard lock-ups go unnoticed",
        scope: KnobScope::Machine,
        path: "/proc/sys/kernel/nmi_watchdog",
        how: How::File,
        form: Form::Integer,
        values: Values::Integer(0, 1),
        source: "Documentation/admin-guide/lockup-watchdogs.rst",
    },
    Knob {
        name: "kernel.soft_watchdog",
        about: "1: a task that does not let others run is noticed by a timer on each CPU",
        cost: "safety: soft lock-ups go unnoticed",
        scope: KnobScope::Machine,
        path: "/proc/sys/kernel/soft_watchdog",
        how: How::File,
        form: Form::Integer,
        values: Values::Integer(0, 1),
        source: "Documentation/admin-guide/lockup-watchdogs.rst",
    },
    Knob {
        name: "kernel.watchdog_cpumask",
        about: "the CPUs that the watchdogs watch",
        cost: "safety: lock-ups of the other CPUs go unnoticed",
        scope: KnobScope::Machine,
        path: "/proc/sys/kernel/watchdog_cpumask",
        how: How::File,
        form: Form::CpuList,
        values: Values::Cpus,
        source: "Documentation/admin-guide/lockup-watchdogs.rst",
    },
];
