//! Interrupts and work that the kernel hands from CPU to CPU.

use super::{How, Knob, Values};
use crate::{Form, KnobScope};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "irq.default-cpus",
        about: "where interrupts go that are set up from now on",
        cost: "",
        scope: KnobScope::Machine,
        path: "/proc/irq/default_smp_affinity",
        how: How::File,
        form: Form::CpuMask,
        values: Values::Cpus,
        source: "Documentation/core-api/irq/irq-affinity.rst",
    },
    Knob {
        name: "irq.cpus",
        about: "where an interrupt may arrive",
        cost: "throughput: the remaining CPUs serve all interrupts",
        scope: KnobScope::Irq,
        path: "/proc/irq/{}/smp_affinity_list",
        how: How::File,
        form: Form::CpuList,
        values: Values::Cpus,
        source: "Documentation/core-api/irq/irq-affinity.rst",
    },
    Knob {
        name: "workqueue.cpus",
        about: "where work may run that is bound to no CPU",
        cost: "",
        scope: KnobScope::Machine,
        path: "/sys/devices/virtual/workqueue/cpumask",
        how: How::File,
        form: Form::CpuMask,
        values: Values::Cpus,
        source: "Documentation/core-api/workqueue.rst",
    },
    Knob {
        name: "writeback.cpus",
        about: "where dirty pages are written back from",
        cost: "",
        scope: KnobScope::Machine,
        path: "/sys/devices/virtual/workqueue/writeback/cpumask",
        how: How::File,
        form: Form::CpuMask,
        values: Values::Cpus,
        source: "Documentation/core-api/workqueue.rst",
    },
];
