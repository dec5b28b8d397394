//! Delays of packets between two nodes (`sent_to_received`), with what the nodes' clocks allow as their error.

use packet::dialog::Endpoints;
use record::{Live, Record, SyncRequest};

use crate::context::RunContext;
use crate::machine::Machine;
use crate::nodes::halves::Joining;
use crate::nodes::{self, OfKind, PacketsAlone, PlainReceiver};
pub use crate::nodes::{
    Dialog, Ends, EndsError, HardwareError, NodeThreads, PacketError, PacketPlanError, PartnerGone, RESTORER_COMMAND,
    Role, Setup, check, check_way, check_ways_from, receiving_cost, restore, wants_half,
};
use crate::stop::Stop;

/// The node that asks: its ends are open, and the partner has answered with its own.
///
/// # Errors
/// If the run does not take place. Once it has begun there is a record, whatever happens.
pub fn lead(
    setup: &Setup<'_>,
    ends: Ends,
    partner: &Endpoints,
    dialog: &mut dyn Dialog,
    observe: &mut dyn FnMut(&Live),
) -> Result<Record, PacketError> {
    nodes::lead(setup, ends, partner, of_kind(), dialog, observe)
}

/// The node that was asked: its ends are open, and it has answered with them.
///
/// # Errors
/// As [`lead`].
pub fn follow(
    setup: &Setup<'_>,
    ends: Ends,
    initiator: &Endpoints,
    dialog: &mut dyn Dialog,
    observe: &mut dyn FnMut(&Live),
) -> Result<Record, PacketError> {
    nodes::follow(setup, ends, initiator, of_kind(), dialog, observe)
}

fn of_kind() -> OfKind<'static, PlainReceiver> {
    OfKind {
        start: PlainReceiver,
        beside: Box::new(PacketsAlone),
        flow: None,
        follow_services,
        // Nothing follows from both halves but what their join says.
        joining: Joining { join: packet::join::join, goes_on: |_| (), conclude_so_far: |_| () },
    }
}

/// The time services beside the packets.
fn follow_services(request: &SyncRequest, machine: &Machine, stop: &Stop) -> Result<Record, String> {
    crate::kinds::sync::measure(request, machine, &RunContext::default(), stop, &mut |_| {}, None)
        .map_err(|error| error.to_string())
}
