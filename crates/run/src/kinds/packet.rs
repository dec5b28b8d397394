//! Delays of packets between this node and a partner.

use kernel::sched::Policy;
use measure::packet::{self as measured, Dialog, Ends, NodeThreads, PacketError, Role, Setup};
use measure::{Machine, Stop};
use packet::dialog::Message;
use record::{Live, PacketRequest, Record, RunEnd};
use units::CpuSet;

use super::{About, Explaining};
use crate::error::RunError;
use crate::partner::{Connected, Part};
use crate::prepared::Beside;
use crate::surroundings::Surroundings;

#[derive(Debug)]
pub(super) struct Planned {
    request: PacketRequest,
    part: Part,
    explaining: Explaining,
    housekeeping: CpuSet,
}

impl Planned {
    pub(super) fn new(
        request: PacketRequest,
        part: Option<&Part>,
        explaining: Explaining,
        machine: &Machine,
    ) -> Result<Self, RunError> {
        let part = part.cloned().unwrap_or_else(|| Part::asking(&request, None));
        measured::check(
            &request,
            part.role,
            NodeThreads { cpu: part.cpu, sched_priority: part.sched_priority },
            machine,
        )
        .map_err(RunError::usage)?;
        Ok(Self { request, part, explaining, housekeeping: machine.housekeeping(&machine.isolated) })
    }
}

impl super::Planned for Planned {
    fn about(&self) -> About {
        About {
            measured: CpuSet::new(),
            housekeeping: self.housekeeping.clone(),
            policy: self.part.sched_priority.map(Policy::Fifo),
            length_ns: match self.request.end {
                RunEnd::After(length) => Some(length.unsigned()),
                RunEnd::Samples(_) | RunEnd::WhenTold => None,
            },
            heading: String::new(),
            hands_on: true,
            tells_turns: false,
            no_load: Some("packets are measured without a load of their own; start it beside"),
            measures_cost_first: self.part.explain.is_some() && self.explaining == Explaining::MeasuredFirst,
        }
    }

    fn measure_cost(&mut self, surroundings: &Surroundings<'_>, stop: &Stop) {
        if let (Some(explain), Explaining::MeasuredFirst) = (self.part.explain, &self.explaining) {
            let threads = NodeThreads { cpu: self.part.cpu, sched_priority: self.part.sched_priority };
            let cost = measured::receiving_cost(&self.request, threads, explain, surroundings.machine, stop);
            self.explaining = Explaining::Known(cost);
        }
    }

    fn measure(mut self: Box<Self>, surroundings: &Surroundings<'_>, beside: Beside<'_>) -> Result<Record, RunError> {
        let Beside { context, stop, watch, sink, partners, .. } = beside;
        self.measure_cost(surroundings, stop);
        let Self { request, part, explaining, .. } = *self;
        let Some(Connected { node, addresses: (local, reaches), session, partner }) = partners.into_iter().next()
        else {
            return Err(RunError::usage("packets are measured with a partner, and none is connected"));
        };
        let setup = Setup {
            request: &request,
            role: part.role,
            threads: NodeThreads { cpu: part.cpu, sched_priority: part.sched_priority },
            session,
            node,
            machine: surroundings.machine,
            context,
            stop,
            sink,
            explain: part.explain.map(|explain| (explain, explaining.cost())),
        };
        let ends = Ends::open(&request, part.role, part.hardware_stamps, local, reaches).map_err(|error| {
            let error = PacketError::from(error);
            // One that was asked for nothing yet has nothing to hear.
            if part.role == Role::Partner {
                say_why(partner.dialog(), &error);
            }
            RunError::failed(error)
        })?;
        let others = partner
            .agree(ends.endpoints(node, measured::wants_half(sink, request.end)), &mut || {})
            .map_err(RunError::failed)?;
        watch.begins();
        let dialog = partner.dialog();
        let mut observe = |so_far: &Live| watch.live(so_far);
        let measured = match part.role {
            Role::Initiator => measured::lead(&setup, ends, &others, dialog, &mut observe),
            Role::Partner => measured::follow(&setup, ends, &others, dialog, &mut observe),
        };
        measured.map_err(|error| {
            say_why(dialog, &error);
            RunError::failed(error)
        })
    }
}

/// Tells the partner why the run does not take place, unless it is the one that said so or is gone.
pub(super) fn say_why(dialog: &mut dyn Dialog, error: &PacketError) {
    if !matches!(error, PacketError::Gone(_) | PacketError::Refused(_)) {
        let _ = dialog.say(&Message::Refused { why: error.to_string() });
    }
}
