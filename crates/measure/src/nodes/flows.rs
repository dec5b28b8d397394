//! The flows of a node: the threads that send and receive, and what was collected of each.

use std::time::Instant;

use kernel::packet::PacketEndpoint;
use packet::dialog::SentReport;
use packet::receiving::{Receiving, Settled};
use packet::worst::WorstPackets;

use super::delays::{Delays, HardwareDelays};
use super::launch::Launcher;
use super::plan::PacketPlan;
use super::receive::{ReceivePlan, Receives, Recorded};
use super::send::{LaunchPlan, SendPlan, Sending};
use super::{PacketError, ReceiverStart, Setup};
use crate::witness::RequestedScheduling;

/// What a flow that this node sends has come to.
pub(super) struct SentFlow {
    pub(super) sending: Sending,
    pub(super) lateness: Delays,
    /// How far from their launch times packets reached the driver; empty if they have none.
    pub(super) launched: Delays,
    pub(super) report: Option<SentReport>,
}

/// What a flow that this node receives has come to.
pub(super) struct ReceivedFlow {
    pub(super) receives: Receives,
    pub(super) receiving: Receiving,
    /// When some were taken over last.
    pub(super) last_came: Option<Instant>,
    /// Room for those that are taken over at once.
    pub(super) settled: Vec<Settled>,
    pub(super) counted: Counted,
    pub(super) worst: WorstPackets,
    pub(super) delays: Delays,
    pub(super) to_driver: Delays,
    pub(super) between: Delays,
    pub(super) to_program: Delays,
    /// What the stamps of the interfaces show of `between`.
    pub(super) hardware: HardwareDelays,
}

/// What is counted of packets that arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    /// Packets whose clocks could not be compared.
    pub(super) unrelated: u64,
    /// The largest error of a delay by the comparisons of each node's clocks (ns).
    pub(super) reading_error_ns: u64,
    pub(super) without_transmitted: u64,
    pub(super) without_arrived: u64,
}

/// Starts the threads that the plan has.
#[expect(clippy::too_many_arguments, reason = "each is used once, right here")]
pub(super) fn start_threads<
    R: PacketEndpoint + Send + 'static,
    S: PacketEndpoint + Send + 'static,
    T: ReceiverStart,
>(
    plan: &PacketPlan,
    setup: &Setup<'_>,
    receiver: R,
    sender: S,
    series: &dyn Fn(&'static str) -> Delays,
    launcher: Option<Launcher>,
    recorded: Option<Recorded>,
    receiver_start: T,
) -> Result<(Option<SentFlow>, Option<ReceivedFlow>), PacketError> {
    let wanted = |thread| RequestedScheduling { thread, policy: plan.policy, cpu: plan.cpu };
    let send_plan = || SendPlan {
        session: setup.session,
        flow: plan.own_flow(),
        size: usize::try_from(plan.request.size).unwrap_or(0),
        interval_ns: plan.interval_ns,
        is_real_time: plan.policy.priority() > 0,
        schedules: plan.schedules,
        launch: plan
            .request
            .launch_time
            .zip(launcher)
            .map(|(after, launcher)| LaunchPlan { after_ns: after.0, launcher }),
    };
    let receive_plan = move || ReceivePlan {
        session: setup.session,
        flow: plan.partner_flow(),
        mode: plan.request.receive,
        interval_ns: plan.interval_ns,
        is_real_time: plan.policy.priority() > 0,
        recorded,
    };
    let sent = |sending| SentFlow {
        sending,
        lateness: series("scheduled_to_sent"),
        launched: series("launch_to_transmitted"),
        report: None,
    };
    let received = |receives| ReceivedFlow {
        receives,
        // Of the moment at which the run begins.
        receiving: Receiving::from(0, plan.bringing_ns()),
        last_came: None,
        settled: Vec::new(),
        counted: Counted::default(),
        worst: WorstPackets::default(),
        delays: series("sent_to_received"),
        to_driver: series("sent_to_transmitted"),
        between: series("transmitted_to_arrived"),
        to_program: series("arrived_to_received"),
        hardware: HardwareDelays::new(series),
    };
    let watchdog = || setup.stop.watchdog();
    let receives = if plan.receives() {
        Some(received(receiver_start.start(receiver, receive_plan(), wanted(1), watchdog())?))
    } else {
        None
    };
    let sends =
        if plan.sends() { Some(sent(Sending::start(sender, send_plan(), wanted(0), watchdog())?)) } else { None };
    Ok((sends, receives))
}
