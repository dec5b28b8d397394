//! Network interfaces, as far as files say it.

use super::{Knob, Values};
use crate::{Form, KnobScope};

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "threaded-napi",
        about: "1: packets are taken in by threads, whose CPUs and priority can be chosen",
        cost: "throughput",
        scope: KnobScope::Interface,
        path: "/sys/class/net/{}/threaded",
        form: Form::Integer,
        values: Values::Integer(0, 1),
        source: "Documentation/networking/napi.rst",
    },
    Knob {
        name: "napi-defer-hard-irqs",
        about: "how often the kernel looks again by a timer before it enables the card's interrupt",
        cost: "CPU time, where nothing polls",
        scope: KnobScope::Interface,
        path: "/sys/class/net/{}/napi_defer_hard_irqs",
        form: Form::Integer,
        values: Values::Integer(0, i32::MAX as i64),
        source: "Documentation/networking/napi.rst",
    },
    Knob {
        name: "gro-flush-timeout-ns",
        about: "how long packets may wait to be joined, or for a program that polls (ns)",
        cost: "",
        scope: KnobScope::Interface,
        path: "/sys/class/net/{}/gro_flush_timeout",
        form: Form::Integer,
        values: Values::Integer(0, i64::MAX),
        source: "Documentation/networking/napi.rst",
    },
];
