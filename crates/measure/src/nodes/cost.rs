//! What explaining costs a receiver: packets over the loopback interface, without and with the recorder.
//!
//! Measured before a run and not within it: to load and unload programs changes code that every CPU runs. The partner has no
//! part in it, so the way is UDP within this node, whatever the run takes.

use std::time::{Duration, Instant};

use kernel::packet::udp::{UdpEndpoint, UdpPlan};
use kernel::packet::{SocketOptions, Stamps};
use packet::header::{Purpose, Session};
use record::{EvidenceSource, ExplainRequest, ExplainingCost, HistogramRecorder, PacketRequest};
use units::{ClockId, CpuSet};

use super::NodeThreads;
use super::explain::Explaining;
use super::plan::{PacketPlan, Role};
use super::receive::{ReceivePlan, Receives};
use super::send::{SendPlan, Sending};
use crate::crew::{Ground, GroundPlan, LEAD_NS, now_ns};
use crate::explain::cost_of_pieces;
use crate::machine::Machine;
use crate::stop::Stop;
use crate::witness::RequestedScheduling;
use kernel::sched::Policy;

/// How long a piece takes (ns).
const PIECE_NS: i64 = 250_000_000;
/// Packets of a piece, at least, where the interval is long.
const LEAST_PACKETS: i64 = 50;
/// Packets of a piece, at most.
const MOST_PACKETS: i64 = 10_000;
/// How long the last packet may be on its way, and a thread take to end.
const STRAGGLERS: Duration = Duration::from_millis(20);
const GRACE: Duration = Duration::from_secs(3);
/// Nobody else's packets have it: the socket is bound to a port of the loopback interface that nobody knows.
const SESSION: Session = Session { number: 0, key: [0; 16] };
const STAMPS: Stamps = Stamps { queued: false, stack: true, hardware: false };

/// What explaining costs this node's receiver, by four short runs: without, with, with, without. `None` where one does not
/// come about, as where the sender would have the receiver's CPU; then the cost is not known.
#[must_use]
pub fn receiving_cost(
    request: &PacketRequest,
    threads: NodeThreads,
    explain: ExplainRequest,
    machine: &Machine,
    stop: &Stop,
) -> Option<ExplainingCost> {
    // The node that asks for it receives.
    let request = PacketRequest { direction: record::PacketDirection::From, ..request.clone() };
    let plan = PacketPlan::new(&request, Role::Initiator, threads, machine).ok()?;
    let others: CpuSet = plan.housekeeping.iter().filter(|cpu| Some(*cpu) != plan.cpu).collect();
    let sender_cpu = plan.cpu.map_or(Some(None), |_| others.last().map(Some))?;
    // At most what is asked for: events have a cost of their own.
    let explain = ExplainRequest { source: explain.source.filter(|of| *of != EvidenceSource::Counters), ..explain };
    let piece = |explains: bool| {
        let explaining = explains.then(|| Explaining::load(explain, None, &plan, &machine.online));
        one_piece(&plan, explaining, sender_cpu, stop).filter(|_| !stop.ended_early())
    };
    let pieces = [piece(false)?, piece(true)?, piece(true)?, piece(false)?];
    cost_of_pieces(&pieces.map(|piece| piece.snapshot()))
}

/// How long packets took from the kernel to the program.
fn one_piece(
    plan: &PacketPlan,
    mut explaining: Option<Explaining>,
    sender_cpu: Option<u32>,
    stop: &Stop,
) -> Option<HistogramRecorder> {
    let at = ([127, 0, 0, 1], 0).into();
    let open = |connects| {
        let options = SocketOptions::default();
        UdpEndpoint::open(&UdpPlan { options, connects, stamps: STAMPS, ..UdpPlan::new(at) }).ok()
    };
    let (receiver, mut sender) = (open(false)?, open(true)?);
    sender.set_partner(receiver.local()).ok()?;
    let recorded = match &explaining {
        // Without a recorder there is nothing that could cost anything.
        Some(explaining) => Some(explaining.recorded()?),
        None => None,
    };
    let is_real_time = plan.policy.priority() > 0;
    let _ground = Ground::take(GroundPlan {
        clock: ClockId::Monotonic,
        cpu: plan.cpu,
        housekeeping: &plan.housekeeping,
        lock_memory: true,
        real_time: is_real_time,
    });
    let receive_plan = ReceivePlan {
        session: SESSION,
        flow: 0,
        mode: plan.request.receive,
        interval_ns: plan.interval_ns,
        is_real_time,
        recorded,
    };
    let schedules = (PIECE_NS / plan.interval_ns).clamp(LEAST_PACKETS, MOST_PACKETS).unsigned_abs();
    let send_plan = SendPlan {
        session: SESSION,
        flow: 0,
        size: usize::try_from(plan.request.size).unwrap_or(0),
        interval_ns: plan.interval_ns,
        is_real_time: false,
        schedules,
        launch: None,
    };
    let wanted = RequestedScheduling { thread: 1, policy: plan.policy, cpu: plan.cpu };
    let mut receives = Receives::start(receiver, receive_plan, wanted, stop.watchdog()).ok()?;
    let wanted = RequestedScheduling { thread: 0, policy: Policy::Other, cpu: sender_cpu };
    let sending = Sending::start(sender, send_plan, wanted, stop.watchdog());
    if let Ok(sending) = &sending {
        if let Some(explaining) = &mut explaining {
            explaining.begin(&receives, plan);
        }
        receives.listen().ok()?;
        sending.member.begin_at(now_ns(ClockId::Monotonic) + LEAD_NS);
        let takes_ns = plan.interval_ns.saturating_mul(i64::try_from(schedules).unwrap_or(i64::MAX));
        let until = Instant::now() + GRACE + Duration::from_nanos(takes_ns.unsigned_abs());
        while !sending.member.is_finished() && !stop.ended_early() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        sending.shared.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        sending.member.call_off();
        std::thread::sleep(STRAGGLERS);
    }
    receives.shared.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    receives.member.call_off();
    let until = Instant::now() + GRACE;
    let is_finished =
        || receives.member.is_finished() && sending.as_ref().is_ok_and(|sending| sending.member.is_finished());
    while !is_finished() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut delays = HistogramRecorder::default();
    while let Ok(arrived) = receives.ring.pop() {
        let ns = arrived.stack_ns.map(|stack_ns| arrived.received_ns.saturating_sub(stack_ns.get()));
        if let (Some(Ok(ns)), Purpose::Measured) = (ns.map(u64::try_from), arrived.header.purpose()) {
            delays.record(ns);
        }
    }
    (is_finished() && delays.count() > 0).then_some(delays)
}
