//! The sending thread of a flow.

pub(crate) mod hot;
pub(crate) mod numbers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use kernel::packet::PacketEndpoint;
use packet::dialog::SentReport;
use packet::header::{Purpose, Session};
use units::ClockId;

use self::hot::{LaunchTimes, SendCounts, SendLoop};
use self::numbers::Numbers;
use super::launch::Launcher;
use crate::crew::{ArmError, Member, Meter, Metered, Work, now_ns};
use crate::ring::Ring;
use crate::witness::RequestedScheduling;

/// Sent packets that wait for the drain.
const RING_SLOTS: usize = 16_384;
/// Below this interval (ns) an ordinary thread asks the clock instead of sleeping: on virtual machines a wake-up alone takes 20 us.
const SPINS_BELOW_NS: i64 = 100_000;

/// The interval (ns) and the number of packets that the loop is warmed up with.
const WARM_UP_INTERVAL_NS: i64 = 100_000;
const WARM_UP_PACKETS: u64 = 3;

/// What the sending thread and the controller share.
#[derive(Debug)]
pub(crate) struct SendShared {
    pub(crate) ring: Ring,
    /// Launch times, and when the driver had the packets (ns of CLOCK_REALTIME).
    pub(crate) launched: Ring,
    pub(crate) stop: AtomicBool,
    pub(crate) watchdog: Arc<AtomicBool>,
    pub(crate) sent: AtomicU64,
    pub(crate) skipped: AtomicU64,
    pub(crate) refused: AtomicU64,
    /// CLOCK_REALTIME less CLOCK_MONOTONIC at the start (ns).
    pub(crate) realtime_ahead_ns: AtomicI64,
}

impl SendShared {
    fn new([slots, launched]: [usize; 2], watchdog: Arc<AtomicBool>) -> Self {
        Self {
            ring: Ring::new(slots),
            launched: Ring::new(launched),
            stop: AtomicBool::new(false),
            watchdog,
            sent: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            realtime_ahead_ns: AtomicI64::new(0),
        }
    }

    /// What was sent so far.
    pub(crate) fn report(&self) -> SentReport {
        let [sent, skipped, refused] =
            [&self.sent, &self.skipped, &self.refused].map(|count| count.load(Ordering::Relaxed));
        SentReport { sent, skipped, refused }
    }
}

/// What is sent.
#[derive(Clone, Debug)]
pub(crate) struct SendPlan {
    pub(crate) session: Session,
    pub(crate) flow: u8,
    pub(crate) size: usize,
    pub(crate) interval_ns: i64,
    /// Whether the thread is real-time, and so has to sleep between two packets.
    pub(crate) is_real_time: bool,
    pub(crate) schedules: u64,
    /// When packets are to leave, where that is asked for.
    pub(crate) launch: Option<LaunchPlan>,
}

/// When packets are to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchPlan {
    /// How long after its schedule each is to leave (ns).
    pub(crate) after_ns: i64,
    pub(crate) launcher: Launcher,
}

/// What the thread is born with.
struct Sender<E> {
    end: E,
    /// What the loop is warmed up with; absent where the path has none.
    rehearsal: Option<E>,
    plan: SendPlan,
    payload: Vec<u8>,
    numbers: Box<Numbers>,
    /// The numbers of the packets that the loop is warmed up with.
    rehearsed: Box<Numbers>,
    shared: Arc<SendShared>,
}

/// A sending thread.
pub(crate) struct Sending {
    pub(crate) member: Member<SendCounts>,
    pub(crate) shared: Arc<SendShared>,
}

impl Sending {
    /// Starts it; it sends once it is given its start.
    ///
    /// # Errors
    /// Where no thread is to be had.
    pub(crate) fn start<E: PacketEndpoint + Send + 'static>(
        end: E,
        plan: SendPlan,
        wanted: RequestedScheduling,
        watchdog: Arc<AtomicBool>,
    ) -> Result<Self, ArmError> {
        let launched = if plan.launch.is_some() { RING_SLOTS } else { 0 };
        let shared = Arc::new(SendShared::new([RING_SLOTS, launched], watchdog));
        // Filler that no compression on the way makes smaller than it looks matters to nobody here; zeros are plain.
        let payload = vec![0; plan.size];
        let rehearsal = end.rehearsal();
        let work = Sender {
            end,
            rehearsal,
            plan,
            payload,
            numbers: Box::new(Numbers::new()),
            rehearsed: Box::new(Numbers::new()),
            shared: Arc::clone(&shared),
        };
        let member = Member::start(&format!("punctual-s{}", wanted.thread), wanted, work)?;
        Ok(Self { member, shared })
    }
}

impl<E: PacketEndpoint + Send> Work for Sender<E> {
    type Counts = SendCounts;

    fn clock(&self) -> ClockId {
        ClockId::Monotonic
    }

    /// A few packets that nobody measures, by the same code, to an end that reaches itself alone. What they are counted by is
    /// not the run's either.
    fn warm_up(&mut self, meter: Meter) {
        let Some(rehearsal) = &mut self.rehearsal else {
            kernel::memory::make_program_resident();
            return;
        };
        let spare = SendShared::new([8, 8], Arc::default());
        // Its stamps are numbered from the first packet that it sent, in a warm-up before.
        let numbers = &mut *self.rehearsed;
        let hot = SendLoop {
            end: rehearsal,
            session: self.plan.session,
            flow: self.plan.flow,
            purpose: Purpose::Measured,
            payload: &mut self.payload,
            numbers,
            start_ns: now_ns(ClockId::Monotonic),
            realtime_ahead_ns: 0,
            interval_ns: WARM_UP_INTERVAL_NS,
            spins: !self.plan.is_real_time && self.plan.interval_ns < SPINS_BELOW_NS,
            schedules: WARM_UP_PACKETS,
            launch: None,
            ring: spare.ring.writer(),
            launched: spare.launched.writer(),
            launched_below: 0,
            stop: &spare.stop,
            watchdog: &spare.watchdog,
            so_far: [&spare.sent, &spare.skipped, &spare.refused],
        };
        let _ = sends(hot, meter);
    }

    fn measure(mut self, start_ns: i64, meter: Meter) -> Metered<SendCounts> {
        let shared = Arc::clone(&self.shared);
        let realtime_ahead_ns = shared.realtime_ahead_ns.load(Ordering::Relaxed);
        let hot = SendLoop {
            end: &mut self.end,
            session: self.plan.session,
            flow: self.plan.flow,
            purpose: Purpose::Measured,
            payload: &mut self.payload,
            numbers: &mut self.numbers,
            start_ns,
            realtime_ahead_ns,
            interval_ns: self.plan.interval_ns,
            spins: !self.plan.is_real_time && self.plan.interval_ns < SPINS_BELOW_NS,
            schedules: self.plan.schedules,
            launch: self.plan.launch.map(|LaunchPlan { after_ns, launcher }| LaunchTimes {
                after_ns,
                ahead_ns: launcher.ahead_ns(realtime_ahead_ns),
            }),
            ring: shared.ring.writer(),
            launched: shared.launched.writer(),
            launched_below: 0,
            stop: &shared.stop,
            watchdog: &shared.watchdog,
            so_far: [&shared.sent, &shared.skipped, &shared.refused],
        };
        sends(hot, meter)
    }
}

/// Sends, and reads what that used; one copy of this code, so that the rehearsal makes it resident up to the second reading.
#[inline(never)]
fn sends<E: PacketEndpoint>(hot: SendLoop<'_, E>, meter: Meter) -> Metered<SendCounts> {
    meter.hot(|| hot.run())
}
