//! Services that change the same settings by rules of their own.

use super::{How, Knob, Values};
use crate::{Form, KnobScope};

pub(super) const KNOBS: &[Knob] = &[Knob {
    name: "service.irqbalance",
    about: "the service that moves interrupts between CPUs every few seconds",
    cost: "throughput: interrupts stay where they are put, also under a load that another CPU could share",
    scope: KnobScope::Machine,
    path: "irqbalance.service",
    how: How::Service,
    form: Form::Text,
    values: Values::Words(&["active", "inactive"]),
    source: "irqbalance(1), systemctl(1)",
}];
