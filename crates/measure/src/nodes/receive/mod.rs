//! The receiving thread of a flow.

pub(crate) mod hot;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use kernel::packet::PacketEndpoint;
use packet::arrived::Arrived;
use packet::header::{HEADER_BYTES, Header, Purpose, Session};
use packet::stamps::EarlierStamps;
use record::ReceiveMode;
use rtrb::{Consumer, Producer, RingBuffer};
use units::ClockId;

use self::hot::{ReceiveCounts, ReceiveLoop, Strangers};
use crate::crew::{ArmError, COMES_UP_WITHIN, Member, Meter, Metered, Work, now_ns, why_stuck};
use crate::explain::{OutlierWatch, Recorder, Watched};
use crate::witness::RequestedScheduling;

/// Received packets that wait for the drain: 0.3 s of 50,000 a second.
const RING_SLOTS: usize = 16_384;
/// How long each kind of loop is warmed up (ns).
const WARM_UP_NS: i64 = 1_000_000;
/// The interval of packets that a loop is warmed up with (ns): that of the run may be seconds, and a loop sleeps a part of it.
const WARM_UP_INTERVAL_NS: i64 = 100_000;
/// Packets that each kind of loop is warmed up with.
const WARM_UP_PACKETS: u64 = 3;

/// What the receiving thread and the controller share.
#[derive(Debug, Default)]
pub(crate) struct ReceiveShared {
    pub(crate) strangers: Strangers,
    pub(crate) stop: AtomicBool,
    /// Set once the loop is about to look for its first packet.
    pub(crate) listens: AtomicBool,
    pub(crate) watchdog: Arc<AtomicBool>,
}

/// What records the causes of late packets, and what the receiver shares with who explains them.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) watched: Arc<Watched>,
    /// Whether the receiver may run on any CPU.
    pub(crate) may_move: bool,
}

/// What is received, and how.
#[derive(Clone, Debug)]
pub(crate) struct ReceivePlan {
    pub(crate) session: Session,
    pub(crate) flow: u8,
    pub(crate) mode: ReceiveMode,
    pub(crate) interval_ns: i64,
    pub(crate) is_real_time: bool,
    /// Absent where late packets are not explained.
    pub(crate) recorded: Option<Recorded>,
}

/// What the thread is born with.
struct Receiver<E> {
    end: E,
    /// What the loop is warmed up with; absent where the path has none.
    rehearsal: Option<E>,
    plan: ReceivePlan,
    ring: Producer<Arrived>,
    shared: Arc<ReceiveShared>,
}

/// A receiving thread.
pub(crate) struct Receives {
    pub(crate) member: Member<ReceiveCounts>,
    pub(crate) shared: Arc<ReceiveShared>,
    pub(crate) ring: Consumer<Arrived>,
}

/// A sequence number for the arithmetic of schedules.
#[inline(always)]
fn signed(sequence: u64) -> i64 {
    i64::try_from(sequence).unwrap_or(i64::MAX)
}

/// A packet that nobody measures, as its bytes are on the way.
fn bytes_of(session: &Session, flow: u8, purpose: Purpose, sequence: u64) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    let header = Header { purpose, flow, sequence, sent_before: 0, sent_ns: 0, earlier: EarlierStamps::default() };
    header.write(session, &mut bytes);
    bytes
}

/// A packet that nobody sent: it is read as if it had come, which touches the code that reads.
fn blank(session: &Session) -> Option<Arrived> {
    let bytes = bytes_of(session, 0, Purpose::FollowUp, 0);
    Arrived::read(session, 0, &bytes, [None; 2], 0).ok()
}

impl Receives {
    /// The ring that a receiving thread hands its packets over in.
    pub(crate) fn ring(session: &Session) -> (Producer<Arrived>, Consumer<Arrived>) {
        let (mut ring, mut taker) = RingBuffer::new(RING_SLOTS);
        // Memory that the allocator only promised would fault in the loop.
        if let Some(blank) = blank(session) {
            while ring.push(blank).is_ok() {}
        }
        while taker.pop().is_ok() {}
        (ring, taker)
    }

    /// Starts it; it receives once it is given its start.
    ///
    /// # Errors
    /// Where no thread is to be had.
    pub(crate) fn start<E: PacketEndpoint + Send + 'static>(
        end: E,
        plan: ReceivePlan,
        wanted: RequestedScheduling,
        watchdog: Arc<AtomicBool>,
    ) -> Result<Self, ArmError> {
        let (ring, taker) = Self::ring(&plan.session);
        let shared = Arc::new(ReceiveShared { watchdog, ..ReceiveShared::default() });
        let rehearsal = end.rehearsal();
        let work = Receiver { end, rehearsal, plan, ring, shared: Arc::clone(&shared) };
        let member = Member::start(&format!("punctual-r{}", wanted.thread), wanted, work)?;
        Ok(Self { member, shared, ring: taker })
    }

    /// Lets it receive, and waits until it does: a partner that hears only then that it may send meets a loop that is warm.
    ///
    /// # Errors
    /// Where the thread does not get that far.
    pub(crate) fn listen(&self) -> Result<(), ArmError> {
        self.member.begin_at(now_ns(ClockId::Monotonic));
        let until = Instant::now() + COMES_UP_WITHIN;
        while !self.shared.listens.load(Ordering::Acquire) {
            let wanted = self.member.grant.wanted;
            if self.member.is_finished() {
                let error = std::io::Error::other("it ended before it received anything");
                return Err(ArmError::Thread { thread: wanted.thread, error });
            }
            if Instant::now() > until {
                return Err(ArmError::Stuck { thread: wanted.thread, why: why_stuck(wanted) });
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }
}

impl Drop for Receives {
    /// A run that is given up before it began leaves no loop behind.
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.member.call_off();
    }
}

impl<E: PacketEndpoint> Receiver<E> {
    /// A few turns of every kind of loop, over an end of their own and with packets of their own. Nothing of it depends on the
    /// plan of the run, and nothing is left of it.
    fn rehearse(session: Session, rehearsal: &mut E, meter: Meter) {
        let (mut ring, _taker) = RingBuffer::new(16);
        let (spare, watchdog) = (Strangers::default(), AtomicBool::new(false));
        for mode in [ReceiveMode::Poll, ReceiveMode::Block, ReceiveMode::Schedule] {
            for sequence in 0..WARM_UP_PACKETS {
                // Refused at most, as in a network namespace whose loopback interface is down.
                let _ = rehearsal.send(&bytes_of(&session, 0, Purpose::Measured, sequence), None);
            }
            let hot = ReceiveLoop {
                end: &mut *rehearsal,
                session,
                flow: 0,
                mode,
                interval_ns: WARM_UP_INTERVAL_NS,
                is_real_time: true,
                ring: &mut ring,
                strangers: &spare,
                stop: &AtomicBool::new(false),
                end_ns: now_ns(ClockId::Monotonic) + WARM_UP_NS,
                watchdog: &watchdog,
                outliers: None,
            };
            let _ = receives(hot, &AtomicBool::new(false), meter);
            while rehearsal.sent_stamp().is_some() {}
        }
    }
}

impl<E: PacketEndpoint + Send> Work for Receiver<E> {
    type Counts = ReceiveCounts;

    fn clock(&self) -> ClockId {
        ClockId::Monotonic
    }

    fn warm_up(&mut self, meter: Meter) {
        let session = self.plan.session;
        let _ = blank(&session);
        // An outlier that nobody explains: its code is resident then.
        let (watched, taken, armed) = (Watched::new(0), AtomicBool::new(false), AtomicU32::new(1));
        let switches = [&armed];
        let watch = || OutlierWatch { watched: &watched, armed: &switches, taken: &taken, may_move: true, parts: None };
        watch().look(0, 1);
        match &mut self.rehearsal {
            Some(rehearsal) => Self::rehearse(session, rehearsal, meter),
            None => drop(kernel::memory::make_program_resident()),
        }
    }

    fn measure(mut self, _: i64, meter: Meter) -> Metered<ReceiveCounts> {
        let shared = Arc::clone(&self.shared);
        let recorded = self.plan.recorded.clone();
        let switches = recorded.as_ref().map(|of| of.recorder.switches(None)).unwrap_or_default();
        let outliers = recorded.as_ref().and_then(|Recorded { recorder, watched, may_move }| {
            let taken = recorder.taken(None)?;
            Some(OutlierWatch { watched, armed: &switches, taken, may_move: *may_move, parts: None })
        });
        let hot = ReceiveLoop {
            end: &mut self.end,
            session: self.plan.session,
            flow: self.plan.flow,
            mode: self.plan.mode,
            interval_ns: self.plan.interval_ns,
            is_real_time: self.plan.is_real_time,
            ring: &mut self.ring,
            strangers: &shared.strangers,
            stop: &shared.stop,
            end_ns: i64::MAX,
            watchdog: &shared.watchdog,
            outliers,
        };
        receives(hot, &shared.listens, meter)
    }
}

/// Receives, and reads what that used; one copy of this code, so that the rehearsal makes it resident up to the second reading.
#[inline(never)]
fn receives<E: PacketEndpoint>(hot: ReceiveLoop<'_, E>, listens: &AtomicBool, meter: Meter) -> Metered<ReceiveCounts> {
    meter.hot(|| {
        listens.store(true, Ordering::Release);
        hot.run()
    })
}

#[cfg(test)]
mod tests;
