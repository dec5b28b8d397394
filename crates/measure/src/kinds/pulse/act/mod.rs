//! The thread of a node that takes orders and acts.

pub(crate) mod acting_clock;
pub(crate) mod hot;
pub(crate) mod output;
pub(crate) mod pending;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use ::pulse::order::{LEAST_BYTES, Order};
use kernel::packet::PacketEndpoint;
use packet::arrived::Arrived;
use packet::header::{Header, Purpose, Session};
use packet::sequence::SequenceTracker;
use packet::stamps::EarlierStamps;
use record::ActsBy;
use rtrb::{Consumer, Producer, RingBuffer};
use units::ClockId;

use self::acting_clock::{ActingClock, Ahead};
use self::hot::{ActLoop, Bounds, Done, Fate};
use self::output::Output;
use self::pending::Pending;
use super::guard::Guard;
use super::guard::state::GuardState;
use crate::crew::{ArmError, Member, Meter, Metered, Work, now_ns};
use crate::nodes::ReceiverStart;
use crate::nodes::receive::hot::{ReceiveCounts, Strangers};
use crate::nodes::receive::{ReceivePlan, ReceiveShared, Receives};
use crate::witness::RequestedScheduling;

/// Packets, and orders that were done with, that wait for the drain: 0.3 s of 50,000 a second.
const RING_SLOTS: usize = 16_384;
/// How long the thread sleeps to the time of an act alone, at most (ns).
const LAST_SLEEP_NS: i64 = 50_000;
/// How long the loop is warmed up (ns).
const WARM_UP_NS: i64 = 2_000_000;
/// Orders that the loop is warmed up with over an end of its own, and how far apart they are (ns).
const WARM_UP_ORDERS: u64 = 8;
const WARM_UP_APART_NS: i64 = 100_000;
/// Orders that are armed to find out how long that takes.
const ARMED: usize = 400;
/// The number among them that does not come.
const LEFT_OUT: u64 = 20;
/// Which of these, the shortest first, says it (percent): what interrupts one of them is no part of arming.
const ARMING_PERCENT: usize = 99;

/// What is acted on, and by which clock.
#[derive(Debug)]
pub(crate) struct ActPlan {
    pub(crate) bounds: Bounds,
    pub(crate) by: ActsBy,
    pub(crate) lead_ns: i64,
    pub(crate) spin_ns: i64,
    /// From one order to the next (ns).
    pub(crate) interval_ns: i64,
}

impl ActPlan {
    /// How long the thread sleeps to the time of an act alone, before it asks the clock (ns): as long as it takes nearly any machine to
    /// wake it, and not long for an order that comes meanwhile. Where the clock is asked for longer, none of it is needed.
    pub(crate) fn last_sleep_ns(&self) -> i64 {
        let longest_ns = LAST_SLEEP_NS.min(self.interval_ns / 10);
        if self.spin_ns >= longest_ns { 0 } else { longest_ns }
    }
}

/// What the acting thread and the controller share.
#[derive(Debug, Default)]
pub(crate) struct ActShared {
    pub(crate) clock: ActingClock,
    /// What became of orders and found no place in the ring.
    pub(crate) dropped: AtomicU64,
    /// How often the driver did not make the output safe.
    pub(crate) unsafe_failures: AtomicU64,
    /// How long it takes to let an order wait for its time (ns), once that was measured.
    pub(crate) arming_ns: AtomicI64,
    /// Set where nothing more may be switched.
    pub(crate) halt: AtomicBool,
}

/// Starts the acting thread in the place of one that only receives.
pub(crate) struct ActorStart {
    plan: ActPlan,
    output: Output,
    /// What the guard of the output is told; absent of one that switches nothing.
    state: Option<Arc<GuardState>>,
    shared: Arc<ActShared>,
    pub(crate) done: Producer<Done>,
}

/// What the controller has of an acting thread beside what it receives.
pub(crate) struct Acting {
    pub(crate) shared: Arc<ActShared>,
    pub(crate) guard: Option<Guard>,
    pub(crate) done: Consumer<Done>,
}

/// An acting thread that can be started, and what its controller takes of it.
pub(crate) fn prepare(plan: ActPlan, output: Output, guard: Option<Guard>) -> (ActorStart, Acting) {
    let (mut producer, mut consumer) = RingBuffer::new(RING_SLOTS);
    // Memory that the allocator only promised would fault in the loop.
    while producer.push(BLANK).is_ok() {}
    while consumer.pop().is_ok() {}
    let shared = Arc::new(ActShared::default());
    // By its own clock a node acts from the beginning.
    if plan.by == ActsBy::Service {
        shared.clock.set(Ahead::default());
    }
    let state = guard.as_ref().map(|guard| Arc::clone(&guard.state));
    let start = ActorStart { plan, output, state, shared: Arc::clone(&shared), done: producer };
    (start, Acting { shared, guard, done: consumer })
}

const BLANK: Done =
    Done { sequence: 0, fate: Fate::Dropped, scheduled_ns: 0, armed_ns: 0, ordered_ns: 0, acted_ns: 0, returned_ns: 0 };

/// What the thread is born with.
struct Actor<E> {
    end: E,
    /// What the loop is warmed up with; absent where the path has none.
    rehearsal: Option<E>,
    session: Session,
    flow: u8,
    start: ActorStart,
    pending: Box<Pending>,
    tracker: SequenceTracker,
    ring: Producer<Arrived>,
    receive_shared: Arc<ReceiveShared>,
}

impl ReceiverStart for ActorStart {
    fn start<E: PacketEndpoint + Send + 'static>(
        self,
        end: E,
        plan: ReceivePlan,
        wanted: RequestedScheduling,
        watchdog: Arc<AtomicBool>,
    ) -> Result<Receives, ArmError> {
        let ReceivePlan { session, flow, .. } = plan;
        let (ring, taken) = Receives::ring(&session);
        let receive_shared = Arc::new(ReceiveShared { watchdog, ..ReceiveShared::default() });
        let work = Actor {
            rehearsal: end.rehearsal(),
            end,
            session,
            flow,
            start: self,
            pending: Box::default(),
            tracker: SequenceTracker::default(),
            ring,
            receive_shared: Arc::clone(&receive_shared),
        };
        let member = Member::start(&format!("punctual-a{}", wanted.thread), wanted, work)?;
        Ok(Receives { member, shared: receive_shared, ring: taken })
    }
}

/// The header of a packet that is measured and brings nothing.
const HEADER: Header = Header {
    purpose: Purpose::Measured,
    flow: 0,
    sequence: 0,
    sent_before: 0,
    sent_ns: 0,
    earlier: EarlierStamps::NONE,
};

/// The bytes of a packet with an order, as they are on the way.
fn bytes_of(session: &Session, flow: u8, sequence: u64, (act_at_ns, active_ns): (i64, i64)) -> [u8; LEAST_BYTES] {
    let mut bytes = [0; LEAST_BYTES];
    let header = Header { flow, sequence, sent_before: sequence, ..HEADER };
    let order = Order { act_at_ns, until_ns: act_at_ns + active_ns };
    header.write_with(session, Some(order.words()), &mut bytes);
    bytes
}

impl<E: PacketEndpoint> Actor<E> {
    /// Finds out how long it takes to let an order wait, from the reading of the clock once it has arrived: by the same code, of
    /// orders that nobody sent and whose time is so far away that they are never carried out.
    fn measure_arming(&mut self) {
        let (mut ring, mut arrived) = RingBuffer::new(ARMED);
        let (mut done, _) = RingBuffer::new(8);
        let (strangers, clock, counted, flag) =
            (Strangers::default(), ActingClock::default(), AtomicU64::new(0), AtomicBool::new(false));
        clock.set(Ahead::default());
        let mut took_ns = [0; ARMED];
        let far_ns = now_ns(ClockId::Realtime) + 5_000_000_000;
        let mut end = Repeated { payload: [0; LEAST_BYTES] };
        // One number is left out, as where a packet is lost: what is done then is to be resident, too.
        let sequences = (0..).filter(|sequence| *sequence != LEFT_OUT);
        for (took_ns, sequence) in took_ns.iter_mut().zip(sequences) {
            // Each finds as many waiting as there can be in a run that is not too dense.
            if self.pending.is_full() {
                while self.pending.take().is_some() {}
            }
            end.payload = bytes_of(
                &self.session,
                self.flow,
                sequence,
                (far_ns + WARM_UP_APART_NS * i64::try_from(sequence).unwrap_or(0), WARM_UP_APART_NS / 2),
            );
            let mut hot = ActLoop {
                end: &mut end,
                output: &Output::Nothing,
                guarded: None,
                session: self.session,
                flow: self.flow,
                clock: &clock,
                is_by_own_clock: true,
                bounds: Bounds { longest_ns: i64::MAX, least_apart_ns: 0 },
                lead_ns: 0,
                arming_ns: 0,
                spin_ns: 0,
                last_sleep_ns: 0,
                pending: &mut self.pending,
                tracker: &mut self.tracker,
                ring: &mut ring,
                done: &mut done,
                strangers: &strangers,
                dropped: &counted,
                unsafe_failures: &counted,
                stop: &flag,
                watchdog: &flag,
                halt: &flag,
                end_ns: i64::MAX,
            };
            *took_ns = hot.arm_one();
        }
        while arrived.pop().is_ok() {}
        while self.pending.take().is_some() {}
        self.tracker = SequenceTracker::default();
        took_ns.sort_unstable();
        let arming_ns = took_ns.get(ARMED * ARMING_PERCENT / 100).copied().unwrap_or(0);
        self.start.shared.arming_ns.store(arming_ns, Ordering::Relaxed);
    }

    /// A few orders that nobody measures, by the same code, to an end that reaches itself alone; they switch nothing.
    fn rehearse(&mut self, meter: Meter) {
        let Some(rehearsal) = &mut self.rehearsal else {
            kernel::memory::make_program_resident();
            return;
        };
        let (mut ring, _arrived) = RingBuffer::new(64);
        let (mut done, _fates) = RingBuffer::new(64);
        let (strangers, clock, counted, flag) =
            (Strangers::default(), ActingClock::default(), AtomicU64::new(0), AtomicBool::new(false));
        clock.set(Ahead::default());
        let from_ns = now_ns(ClockId::Realtime) + WARM_UP_APART_NS;
        for sequence in 0..WARM_UP_ORDERS {
            let at_ns = from_ns + WARM_UP_APART_NS * i64::try_from(sequence).unwrap_or(0);
            // Refused at most, as in a network namespace whose loopback interface is down.
            let order = (at_ns, WARM_UP_APART_NS / 2);
            let _ = rehearsal.send(&bytes_of(&self.session, self.flow, sequence, order), None);
        }
        let hot = ActLoop {
            end: &mut *rehearsal,
            output: &Output::Nothing,
            guarded: None,
            session: self.session,
            flow: self.flow,
            clock: &clock,
            is_by_own_clock: true,
            bounds: Bounds { longest_ns: i64::MAX, least_apart_ns: 0 },
            lead_ns: 0,
            arming_ns: 0,
            spin_ns: self.start.plan.spin_ns,
            last_sleep_ns: self.start.plan.last_sleep_ns(),
            pending: &mut self.pending,
            tracker: &mut self.tracker,
            ring: &mut ring,
            done: &mut done,
            strangers: &strangers,
            dropped: &counted,
            unsafe_failures: &counted,
            stop: &flag,
            watchdog: &flag,
            halt: &flag,
            end_ns: now_ns(ClockId::Monotonic) + WARM_UP_NS,
        };
        let _ = acts(hot, &AtomicBool::new(false), meter);
        while rehearsal.sent_stamp().is_some() {}
        self.tracker = SequenceTracker::default();
    }
}

/// An end that has the same payload whenever it is asked.
struct Repeated {
    payload: [u8; LEAST_BYTES],
}

impl PacketEndpoint for Repeated {
    fn send(&mut self, _: &[u8], _: Option<kernel::packet::Launch>) -> Result<(), kernel::packet::SendError> {
        Ok(())
    }

    fn receive<R>(
        &mut self,
        take: impl FnOnce(kernel::packet::Received<'_>) -> R,
    ) -> Result<Option<R>, kernel::packet::ReceiveError> {
        Ok(Some(take(kernel::packet::Received::of_unknown_way(&self.payload))))
    }

    fn wait(&mut self, _: i64) -> Result<bool, kernel::packet::ReceiveError> {
        Ok(true)
    }

    fn sent_stamp(&mut self) -> Option<kernel::packet::SentStamp> {
        None
    }

    fn counters(&mut self) -> kernel::packet::Counters {
        kernel::packet::Counters::default()
    }

    fn largest_payload(&self) -> usize {
        LEAST_BYTES
    }

    fn rehearsal(&self) -> Option<Self> {
        None
    }
}

impl<E: PacketEndpoint + Send> Work for Actor<E> {
    type Counts = ReceiveCounts;

    fn clock(&self) -> ClockId {
        ClockId::Monotonic
    }

    fn warm_up(&mut self, meter: Meter) {
        self.rehearse(meter);
        self.measure_arming();
    }

    fn measure(mut self, _: i64, meter: Meter) -> Metered<ReceiveCounts> {
        let ActorStart { plan, output, state, shared, mut done } = self.start;
        let receive_shared = Arc::clone(&self.receive_shared);
        let hot = ActLoop {
            end: &mut self.end,
            output: &output,
            guarded: state.as_deref(),
            session: self.session,
            flow: self.flow,
            clock: &shared.clock,
            is_by_own_clock: plan.by == ActsBy::Service,
            bounds: plan.bounds,
            lead_ns: plan.lead_ns,
            arming_ns: shared.arming_ns.load(Ordering::Relaxed),
            spin_ns: plan.spin_ns,
            last_sleep_ns: plan.last_sleep_ns(),
            pending: &mut self.pending,
            tracker: &mut self.tracker,
            ring: &mut self.ring,
            done: &mut done,
            strangers: &receive_shared.strangers,
            dropped: &shared.dropped,
            unsafe_failures: &shared.unsafe_failures,
            stop: &receive_shared.stop,
            watchdog: &receive_shared.watchdog,
            halt: &shared.halt,
            end_ns: i64::MAX,
        };
        acts(hot, &receive_shared.listens, meter)
    }
}

/// Acts, and reads what that used; one copy of this code, so that the rehearsal makes it resident up to the second reading.
#[inline(never)]
fn acts<E: PacketEndpoint>(hot: ActLoop<'_, E>, listens: &AtomicBool, meter: Meter) -> Metered<ReceiveCounts> {
    meter.hot(|| {
        listens.store(true, Ordering::Release);
        hot.run()
    })
}

#[cfg(test)]
mod tests;
