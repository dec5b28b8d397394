//! The sending thread of a flow.

pub(crate) mod hot;
mod numbers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use kernel::packet::End;
use packet::dialog::SentReport;
use packet::header::{Purpose, Session};
use units::ClockId;

use self::hot::{LaunchTimes, SendCounts, SendLoop};
use self::numbers::Numbers;
use super::launch::Launcher;
use crate::crew::{ArmError, Member, Meter, Metered, Work, now_ns};
use crate::ring::Ring;
use crate::witness::Wanted;

/// Sent packets that wait for the drain.
const RING_SLOTS: usize = 16_384;
/// Below this interval (ns) an ordinary thread asks the clock instead of sleeping: on virtual machines a wake-up alone takes 20 us.
const SPINS_BELOW_NS: i64 = 100_000;

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
    plan: SendPlan,
    payload: Vec<u8>,
    numbers: Box<Numbers>,
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
    pub(crate) fn start<E: End + Send + 'static>(
        end: E,
        plan: SendPlan,
        wanted: Wanted,
        watchdog: Arc<AtomicBool>,
    ) -> Result<Self, ArmError> {
        let launched = if plan.launch.is_some() { RING_SLOTS } else { 0 };
        let shared = Arc::new(SendShared::new([RING_SLOTS, launched], watchdog));
        // Filler that no compression on the way makes smaller than it looks matters to nobody here; zeros are plain.
        let payload = vec![0; plan.size];
        let work = Sender { end, plan, payload, numbers: Box::new(Numbers::new()), shared: Arc::clone(&shared) };
        let member = Member::start(&format!("punctual-s{}", wanted.thread), wanted, work)?;
        Ok(Self { member, shared })
    }
}

impl<E: End> Sender<E> {
    fn of(&mut self, shared: &SendShared, start_ns: i64, purpose: Purpose, schedules: u64) -> SendCounts {
        let realtime_ahead_ns = shared.realtime_ahead_ns.load(Ordering::Relaxed);
        // What warms the loop up is nobody's packet: it has no launch time, and is not waited for.
        let launch =
            self.plan.launch.filter(|_| purpose == Purpose::Measured).map(|LaunchPlan { after_ns, launcher }| {
                LaunchTimes { after_ns, ahead_ns: launcher.ahead_ns(realtime_ahead_ns) }
            });
        SendLoop {
            end: &mut self.end,
            session: self.plan.session,
            flow: self.plan.flow,
            purpose,
            payload: &mut self.payload,
            numbers: &mut self.numbers,
            start_ns,
            realtime_ahead_ns,
            interval_ns: self.plan.interval_ns,
            spins: !self.plan.is_real_time && self.plan.interval_ns < SPINS_BELOW_NS,
            schedules,
            launch,
            ring: shared.ring.writer(),
            launched: shared.launched.writer(),
            launched_below: 0,
            stop: &shared.stop,
            watchdog: &shared.watchdog,
            so_far: [&shared.sent, &shared.skipped, &shared.refused],
        }
        .run()
    }
}

impl<E: End + Send> Work for Sender<E> {
    type Counts = SendCounts;

    fn clock(&self) -> ClockId {
        ClockId::Monotonic
    }

    fn warm_up(&mut self, meter: Meter) {
        // A few packets that nobody measures, by the same code; what they leave in the ring is not theirs to leave.
        let spare = SendShared::new([8, 8], Arc::default());
        let start_ns = now_ns(ClockId::Monotonic);
        let interval_ns = std::mem::replace(&mut self.plan.interval_ns, 100_000);
        let _ = meter.around(|| self.of(&spare, start_ns, Purpose::FollowUp, 3));
        self.plan.interval_ns = interval_ns;
    }

    fn measure(mut self, start_ns: i64, meter: Meter) -> Metered<SendCounts> {
        let shared = Arc::clone(&self.shared);
        let schedules = self.plan.schedules;
        meter.hot(|| self.of(&shared, start_ns, Purpose::Measured, schedules))
    }
}
