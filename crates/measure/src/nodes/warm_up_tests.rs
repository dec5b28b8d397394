//! What warms the loops up, over ends that say who touched them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kernel::packet::{Counters, Launch, PacketEndpoint, ReceiveError, Received, SendError, SentStamp};
use kernel::sched::Policy;
use packet::header::{Genuine, HEADER_BYTES, Header, Purpose, Session};
use record::ReceiveMode;
use units::ClockId;

use super::receive::{ReceivePlan, Receives};
use super::send::{SendPlan, Sending};
use crate::crew::now_ns;
use crate::witness::RequestedScheduling;

const SESSION: Session = Session { number: 3, key: [5; 16] };

/// How often each of two ends was touched, and what the real one sent.
#[derive(Debug, Default)]
struct Touched {
    real: AtomicU64,
    rehearsal: AtomicU64,
    measured: AtomicU64,
    follow_ups: AtomicU64,
}

/// An end that has one packet for each wait, as the partner's warm-up once left some in the socket, or reaches itself.
struct Watched {
    touched: Arc<Touched>,
    is_rehearsal: bool,
    has_packet: bool,
    sequence: u64,
}

impl Watched {
    fn real(touched: &Arc<Touched>) -> Self {
        Self { touched: Arc::clone(touched), is_rehearsal: false, has_packet: true, sequence: 0 }
    }

    fn touch(&self) {
        let which = if self.is_rehearsal { &self.touched.rehearsal } else { &self.touched.real };
        which.fetch_add(1, Ordering::SeqCst);
    }
}

impl PacketEndpoint for Watched {
    fn send(&mut self, payload: &[u8], _: Option<Launch>) -> Result<(), SendError> {
        self.touch();
        self.has_packet = true;
        let header = Genuine::read(&SESSION, payload).map_err(|_| SendError::NoPartner)?;
        if !self.is_rehearsal {
            let of_purpose = match header.purpose() {
                Purpose::Measured => &self.touched.measured,
                Purpose::FollowUp => &self.touched.follow_ups,
            };
            of_purpose.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }

    fn receive<R>(&mut self, take: impl FnOnce(Received<'_>) -> R) -> Result<Option<R>, ReceiveError> {
        self.touch();
        if !std::mem::take(&mut self.has_packet) {
            return Ok(None);
        }
        let mut bytes = [0; HEADER_BYTES];
        let (flow, sequence) = (0, self.sequence);
        let earlier = packet::stamps::EarlierStamps::default();
        let header = Header { purpose: Purpose::Measured, flow, sequence, sent_before: 0, sent_ns: 0, earlier };
        header.write(&SESSION, &mut bytes);
        self.sequence += 1;
        Ok(Some(take(Received::of_unknown_way(&bytes))))
    }

    fn wait(&mut self, deadline_ns: i64) -> Result<bool, ReceiveError> {
        self.touch();
        if !self.has_packet {
            let left_ns = deadline_ns.saturating_sub(now_ns(ClockId::Monotonic)).clamp(0, 1_000_000);
            std::thread::sleep(Duration::from_nanos(left_ns.unsigned_abs()));
        }
        Ok(self.has_packet)
    }

    fn sent_stamp(&mut self) -> Option<SentStamp> {
        self.touch();
        None
    }

    fn counters(&mut self) -> Counters {
        self.touch();
        Counters::default()
    }

    fn largest_payload(&self) -> usize {
        HEADER_BYTES
    }

    fn rehearsal(&self) -> Option<Self> {
        Some(Self { touched: Arc::clone(&self.touched), is_rehearsal: true, has_packet: false, sequence: 0 })
    }
}

fn wanted(thread: u32) -> RequestedScheduling {
    RequestedScheduling { thread, policy: Policy::Other, cpu: None }
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < give_up, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn nothing_touches_the_real_end_of_a_receiver_before_it_listens_however_long_its_interval() {
    for mode in [ReceiveMode::Block, ReceiveMode::Poll, ReceiveMode::Schedule] {
        let touched = Arc::new(Touched::default());
        // With the interval of the run a warm-up that polls would sleep for minutes.
        let plan = ReceivePlan {
            session: SESSION,
            flow: 0,
            mode,
            interval_ns: 10_000_000_000_000,
            is_real_time: true,
            recorded: None,
        };
        let mut receives =
            Receives::start(Watched::real(&touched), plan, wanted(1), Arc::new(AtomicBool::new(false))).unwrap();
        assert_eq!(touched.real.load(Ordering::SeqCst), 0, "{mode:?}: armed, and not begun");
        assert!(touched.rehearsal.load(Ordering::SeqCst) > 0, "{mode:?}: it was warmed up");
        receives.listen().unwrap();
        // What is in the ring is what the real end brought, from the first on.
        until("the first packet", || receives.ring.slots() > 0);
        let first = receives.ring.pop().unwrap();
        assert_eq!(first.header.sequence(), 0, "{mode:?}");
        assert_eq!(receives.shared.strangers.dropped.load(Ordering::SeqCst), 0, "{mode:?}");
        receives.shared.stop.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_sender_sends_what_is_measured_and_what_brings_its_stamps_and_nothing_before() {
    let touched = Arc::new(Touched::default());
    let plan = SendPlan {
        session: SESSION,
        flow: 0,
        size: HEADER_BYTES,
        interval_ns: 100_000,
        is_real_time: true,
        schedules: 5,
        launch: None,
    };
    let sending = Sending::start(Watched::real(&touched), plan, wanted(0), Arc::new(AtomicBool::new(false))).unwrap();
    assert_eq!(touched.real.load(Ordering::SeqCst), 0, "armed, and not begun");
    assert!(touched.rehearsal.load(Ordering::SeqCst) > 0, "it was warmed up");
    sending.member.begin_at(now_ns(ClockId::Monotonic));
    until("its end", || sending.member.is_finished());
    let report = sending.shared.report();
    let [measured, follow_ups] = [&touched.measured, &touched.follow_ups].map(|count| count.load(Ordering::SeqCst));
    assert_eq!((measured, measured + report.skipped, follow_ups), (report.sent, 5, 3));
}
