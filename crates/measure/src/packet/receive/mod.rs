//! The receiving thread of a flow.

pub(crate) mod hot;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

use kernel::packet::End;
use packet::arrived::Arrived;
use packet::header::{HEADER_BYTES, Header, Purpose, Session};
use packet::stamps::EarlierStamps;
use record::ReceiveMode;
use rtrb::{Consumer, Producer, RingBuffer};
use units::ClockId;

use self::hot::{ReceiveCounts, ReceiveLoop, Strangers};
use crate::crew::{ArmError, Member, Meter, Metered, Work, now_ns};
use crate::explain::{OutlierWatch, Recorder, Watched};
use crate::witness::Wanted;

/// Received packets that wait for the drain: 0.3 s of 50,000 a second.
const RING_SLOTS: usize = 16_384;
/// How long a warm-up takes (ns).
const WARM_UP_NS: i64 = 1_000_000;

/// What the receiving thread and the controller share.
#[derive(Debug, Default)]
pub(crate) struct ReceiveShared {
    pub(crate) strangers: Strangers,
    pub(crate) stop: AtomicBool,
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

/// A packet that nobody sent: it is read as if it had come, which touches the code that reads.
fn blank(session: &Session) -> Option<Arrived> {
    let mut bytes = [0; HEADER_BYTES];
    let header = Header {
        purpose: Purpose::FollowUp,
        flow: 0,
        sequence: 0,
        sent_before: 0,
        sent_ns: 0,
        earlier: EarlierStamps::default(),
    };
    header.write(session, &mut bytes);
    Arrived::read((session, header.flow), &bytes, [None; 2], 0).ok()
}

impl Receives {
    /// Starts it; it receives once it is given its start.
    ///
    /// # Errors
    /// Where no thread is to be had.
    pub(crate) fn start<E: End + Send + 'static>(
        end: E,
        plan: ReceivePlan,
        wanted: Wanted,
        watchdog: Arc<AtomicBool>,
    ) -> Result<Self, ArmError> {
        let (mut ring, mut taker) = RingBuffer::new(RING_SLOTS);
        // Memory that the allocator only promised would fault in the loop.
        if let Some(blank) = blank(&plan.session) {
            while ring.push(blank).is_ok() {}
        }
        while taker.pop().is_ok() {}
        let shared = Arc::new(ReceiveShared { watchdog, ..ReceiveShared::default() });
        let work = Receiver { end, plan, ring, shared: Arc::clone(&shared) };
        let member = Member::start(&format!("punctual-r{}", wanted.thread), wanted, work)?;
        Ok(Self { member, shared, ring: taker })
    }
}

impl<E: End> Receiver<E> {
    fn of(
        &mut self,
        shared: &ReceiveShared,
        stop: &AtomicBool,
        mode: ReceiveMode,
        end_ns: i64,
        outliers: Option<OutlierWatch<'_>>,
    ) -> ReceiveCounts {
        ReceiveLoop {
            end: &mut self.end,
            session: self.plan.session,
            flow: self.plan.flow,
            mode,
            interval_ns: self.plan.interval_ns,
            is_real_time: self.plan.is_real_time,
            ring: &mut self.ring,
            strangers: &shared.strangers,
            stop,
            end_ns,
            watchdog: &shared.watchdog,
            outliers,
        }
        .run()
    }
}

impl<E: End + Send> Work for Receiver<E> {
    type Counts = ReceiveCounts;

    fn clock(&self) -> ClockId {
        ClockId::Monotonic
    }

    fn warm_up(&mut self, meter: Meter) {
        // What comes already is counted like what comes later.
        let (shared, goes_on) = (Arc::clone(&self.shared), AtomicBool::new(false));
        let _ = blank(&self.plan.session);
        // An outlier that nobody explains: its code is resident then.
        let (watched, taken, armed) = (Watched::new(0), AtomicBool::new(false), AtomicU32::new(1));
        let switches = [&armed];
        let watch = || OutlierWatch { watched: &watched, armed: &switches, taken: &taken, may_move: true, parts: None };
        let _ = meter.around(|| {
            watch().look(0, 1);
            for mode in [ReceiveMode::Poll, ReceiveMode::Block, ReceiveMode::Schedule] {
                let _ = self.of(&shared, &goes_on, mode, now_ns(ClockId::Monotonic) + WARM_UP_NS, None);
            }
        });
    }

    fn measure(mut self, _: i64, meter: Meter) -> Metered<ReceiveCounts> {
        let shared = Arc::clone(&self.shared);
        let mode = self.plan.mode;
        let recorded = self.plan.recorded.clone();
        let switches = recorded.as_ref().map(|of| of.recorder.switches(None)).unwrap_or_default();
        let outliers = recorded.as_ref().and_then(|Recorded { recorder, watched, may_move }| {
            let taken = recorder.taken(None)?;
            Some(OutlierWatch { watched, armed: &switches, taken, may_move: *may_move, parts: None })
        });
        meter.hot(|| self.of(&shared, &shared.stop, mode, i64::MAX, outliers))
    }
}

#[cfg(test)]
mod tests;
