//! What is a kind's own about a half: who receives, what is collected beside the packets, and what the record says of it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use kernel::packet::PacketEndpoint;
use record::{Detail, Measurement, PacketRequest, PacketRun, Place, Record, Request, Requested, Series, WorstSample};

use super::clocks_seen::ClocksSeen;
use super::delays::Delays;
use super::plan::Role;
use super::receive::{ReceivePlan, Receives};
use crate::clock_watch::ClockWatch;
use crate::crew::ArmError;
use crate::witness::RequestedScheduling;

/// Starts the thread that receives a flow.
pub(crate) trait ReceiverStart {
    /// Starts it; it receives once it is given its start.
    ///
    /// # Errors
    /// Where no thread is to be had.
    fn start<E: PacketEndpoint + Send + 'static>(
        self,
        end: E,
        plan: ReceivePlan,
        wanted: RequestedScheduling,
        watchdog: Arc<AtomicBool>,
    ) -> Result<Receives, ArmError>;
}

/// A thread that takes each packet and does nothing more with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainReceiver;

impl ReceiverStart for PlainReceiver {
    fn start<E: PacketEndpoint + Send + 'static>(
        self,
        end: E,
        plan: ReceivePlan,
        wanted: RequestedScheduling,
        watchdog: Arc<AtomicBool>,
    ) -> Result<Receives, ArmError> {
        Receives::start(end, plan, wanted, watchdog)
    }
}

/// What a kind makes of a half beside its packets.
pub(crate) trait Beside {
    /// The kind.
    fn measurement(&self) -> Measurement;

    /// The request as the record has it.
    fn request(&self, packets: &PacketRequest) -> Request;

    /// What was requested, as the manifest has it.
    fn requested(&self, of_packets: Requested) -> Requested {
        of_packets
    }

    /// The node's role in the table of kinds.
    fn role(&self, role: Role) -> &'static str {
        role.name()
    }

    /// Takes over what was handed out since the last call.
    fn take_over(&mut self, _clocks: &ClockWatch, _seen: &ClocksSeen) {}

    /// The thread that receives did not end when it was told to: what it uses is not to be taken away from it.
    fn is_stuck(&mut self) {}

    /// Whether it is done with so many packets that arrived, the last of which were sent so long ago: the run does not end before that.
    fn is_done(&self, _arrived: u64, _since_sent: Duration) -> bool {
        true
    }

    /// Visits everything that is collected, each with its place.
    fn each_series(&mut self, _visit: &mut dyn FnMut(&Place, &mut Delays)) {}

    /// Adds the series of what was collected, and their worst samples; `is_over` where the run is, and they have their intervals.
    fn add_series(&self, _is_over: bool, _series: &mut Vec<Series>, _worst: &mut Vec<WorstSample>) {}

    /// What the record has beside its series.
    fn detail(&self, packets: PacketRun) -> Detail {
        Detail::Packet(packets)
    }

    /// Adds what makes the half worse than its packets are.
    fn judge(&self, _record: &mut Record) {}
}

/// Packets and nothing beside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketsAlone;

impl Beside for PacketsAlone {
    fn measurement(&self) -> Measurement {
        Measurement::Packet
    }

    fn request(&self, packets: &PacketRequest) -> Request {
        Request::Packet(packets.clone())
    }
}
