//! The thread of the server, which sends orders to all nodes.

pub(crate) mod hot;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kernel::packet::{PacketEndpoint, SendError};
use packet::dialog::SentReport;
use packet::header::Session;
use packet::stamps::EarlierStamps;
use units::ClockId;

use self::hot::{Orders, Recipient, SendCounts, SendLoop};
use crate::crew::{ArmError, Member, Meter, Metered, Work, now_ns};
use crate::nodes::send::numbers::Numbers;
use crate::ring::Ring;
use crate::witness::RequestedScheduling;

/// Sent orders that wait for the drain.
const RING_SLOTS: usize = 16_384;
/// The interval (ns) and the number of orders that the loop is warmed up with.
const WARM_UP_INTERVAL_NS: i64 = 100_000;
const WARM_UP_ORDERS: u64 = 3;

/// What the sending thread and the controller share.
#[derive(Debug)]
pub(crate) struct SendShared {
    /// Of each node.
    pub(crate) nodes: Box<[NodeShared]>,
    pub(crate) skipped: AtomicU64,
    pub(crate) stop: AtomicBool,
    watchdog: Arc<AtomicBool>,
}

/// What is shared of one node.
#[derive(Debug)]
pub(crate) struct NodeShared {
    /// When orders were to be sent, and were (ns, CLOCK_REALTIME).
    pub(crate) ring: Ring,
    sent: AtomicU64,
    refused: AtomicU64,
}

impl SendShared {
    fn new(nodes: usize, slots: usize, watchdog: Arc<AtomicBool>) -> Self {
        let node = |_| NodeShared { ring: Ring::new(slots), sent: AtomicU64::new(0), refused: AtomicU64::new(0) };
        let (skipped, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { nodes: (0..nodes).map(node).collect(), skipped, stop, watchdog }
    }

    /// What was sent to a node so far.
    pub(crate) fn report(&self, node: usize) -> SentReport {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (sent, refused) = self.nodes.get(node).map_or((0, 0), |node| (of(&node.sent), of(&node.refused)));
        SentReport { sent, skipped: of(&self.skipped), refused }
    }
}

/// What is sent, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendPlan {
    pub(crate) orders: Orders,
    pub(crate) size: usize,
    pub(crate) interval_ns: i64,
    pub(crate) schedules: u64,
}

/// What the thread has for each node.
struct Prepared<E> {
    end: E,
    /// What the loop is warmed up with; absent where the path has none.
    rehearsal: Option<E>,
    session: Session,
    payload: Vec<u8>,
    numbers: Box<Numbers>,
    /// The numbers of the packets that the loop is warmed up with.
    rehearsed: Box<Numbers>,
}

/// What the thread is born with.
struct Sender<E> {
    nodes: Vec<Prepared<E>>,
    plan: SendPlan,
    shared: Arc<SendShared>,
}

/// What the loop counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentCounts {
    pub(crate) all: SendCounts,
    /// The first refusal of the server's system for each node.
    pub(crate) refusals: Vec<Option<SendError>>,
}

/// The sending thread.
pub(crate) struct Sending {
    pub(crate) member: Member<SentCounts>,
    pub(crate) shared: Arc<SendShared>,
}

impl Sending {
    /// Starts it; it sends once it is given its start. The nodes have the flows of their order.
    ///
    /// # Errors
    /// Where no thread is to be had.
    pub(crate) fn start<E: PacketEndpoint + Send + 'static>(
        ends: Vec<(E, Session)>,
        plan: SendPlan,
        wanted: RequestedScheduling,
        watchdog: Arc<AtomicBool>,
    ) -> Result<Self, ArmError> {
        let shared = Arc::new(SendShared::new(ends.len(), RING_SLOTS, watchdog));
        let prepared = |(end, session): (E, Session)| Prepared {
            rehearsal: end.rehearsal(),
            end,
            session,
            payload: vec![0; plan.size],
            numbers: Box::new(Numbers::new()),
            rehearsed: Box::new(Numbers::new()),
        };
        let work = Sender { nodes: ends.into_iter().map(prepared).collect(), plan, shared: Arc::clone(&shared) };
        let member = Member::start(&format!("punctual-s{}", wanted.thread), wanted, work)?;
        Ok(Self { member, shared })
    }
}

fn recipient<'a, E>(
    flow: usize,
    (end, session): (&'a mut E, Session),
    payload: &'a mut [u8],
    numbers: &'a mut Numbers,
    shared: &'a NodeShared,
) -> Recipient<'a, E> {
    Recipient {
        end,
        session,
        flow: u8::try_from(flow).unwrap_or(u8::MAX),
        payload,
        numbers,
        earlier: EarlierStamps::default(),
        ring: shared.ring.writer(),
        sent: 0,
        refused: 0,
        refusal: None,
        so_far: [&shared.sent, &shared.refused],
    }
}

impl<E: PacketEndpoint + Send> Work for Sender<E> {
    type Counts = SentCounts;

    fn clock(&self) -> ClockId {
        ClockId::Realtime
    }

    /// A few orders that nobody obeys, by the same code, to ends that reach themselves alone.
    fn warm_up(&mut self, meter: Meter) {
        let spare = SendShared::new(self.nodes.len(), 8, Arc::default());
        let mut to: Vec<Recipient<'_, E>> = Vec::with_capacity(self.nodes.len());
        for (flow, (node, shared)) in self.nodes.iter_mut().zip(&spare.nodes).enumerate() {
            let Some(rehearsal) = &mut node.rehearsal else { break };
            to.push(recipient(flow, (rehearsal, node.session), &mut node.payload, &mut node.rehearsed, shared));
        }
        if to.is_empty() {
            drop(to);
            kernel::memory::make_program_resident();
            return;
        }
        let hot = SendLoop {
            to: &mut to,
            orders: self.plan.orders,
            start_ns: now_ns(ClockId::Realtime) + WARM_UP_INTERVAL_NS,
            interval_ns: WARM_UP_INTERVAL_NS,
            schedules: WARM_UP_ORDERS,
            skipped: &spare.skipped,
            stop: &spare.stop,
            watchdog: &spare.watchdog,
        };
        let _ = sends(hot, meter);
    }

    fn measure(mut self, start_ns: i64, meter: Meter) -> Metered<SentCounts> {
        let shared = Arc::clone(&self.shared);
        let (plan, mut to) = (self.plan, Vec::with_capacity(self.nodes.len()));
        for (flow, (node, shared)) in self.nodes.iter_mut().zip(&shared.nodes).enumerate() {
            to.push(recipient(flow, (&mut node.end, node.session), &mut node.payload, &mut node.numbers, shared));
        }
        let hot = SendLoop {
            to: &mut to,
            orders: plan.orders,
            start_ns,
            interval_ns: plan.interval_ns,
            schedules: plan.schedules,
            skipped: &shared.skipped,
            stop: &shared.stop,
            watchdog: &shared.watchdog,
        };
        sends(hot, meter).map(|all| SentCounts { all, refusals: to.iter().map(|to| to.refusal).collect() })
    }
}

/// Sends, and reads what that used; one copy of this code, so that the rehearsal makes it resident up to the second reading.
#[inline(never)]
fn sends<E: PacketEndpoint>(hot: SendLoop<'_, '_, E>, meter: Meter) -> Metered<SendCounts> {
    meter.hot(|| hot.run())
}
