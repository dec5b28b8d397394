//! The receiving loop over an end that fails now and then, as one whose interface goes down and comes up again.

use kernel::packet::{Counters, Launch, PacketEndpoint, ReceiveError, Received, SendError, SentStamp};

use super::*;

const SESSION: Session = Session { number: 3, key: [5; 16] };
/// The kernel's number for "Network is down".
const ENETDOWN: i32 = 100;

/// Fails so many times, then has so many packets, then ends the loop.
struct Fails<'a> {
    failures: u64,
    packets: u64,
    stop: &'a AtomicBool,
}

impl PacketEndpoint for Fails<'_> {
    fn send(&mut self, _: &[u8], _: Option<Launch>) -> Result<(), SendError> {
        Err(SendError::NoPartner)
    }

    fn receive<R>(&mut self, take: impl FnOnce(Received<'_>) -> R) -> Result<Option<R>, ReceiveError> {
        if self.failures > 0 {
            self.failures -= 1;
            return Err(ReceiveError { errno: ENETDOWN });
        }
        if self.packets == 0 {
            self.stop.store(true, Ordering::Relaxed);
            return Ok(None);
        }
        let mut bytes = [0; HEADER_BYTES];
        let header = Header {
            purpose: Purpose::Measured,
            flow: 0,
            sequence: self.packets,
            sent_before: 0,
            sent_ns: 0,
            earlier: EarlierStamps::default(),
        };
        header.write(&SESSION, &mut bytes);
        self.packets -= 1;
        let received = Received::of_unknown_way(&bytes);
        Ok(Some(take(received)))
    }

    fn wait(&mut self, _: i64) -> Result<bool, ReceiveError> {
        Ok(true)
    }

    fn sent_stamp(&mut self) -> Option<SentStamp> {
        None
    }

    fn counters(&mut self) -> Counters {
        Counters::default()
    }

    fn largest_payload(&self) -> usize {
        HEADER_BYTES
    }

    fn rehearsal(&self) -> Option<Self> {
        None
    }
}

#[test]
fn what_comes_after_the_kernel_refused_to_receive_is_taken_too() {
    for mode in [ReceiveMode::Block, ReceiveMode::Poll, ReceiveMode::Schedule] {
        let stop = AtomicBool::new(false);
        let (mut ring, mut taker) = RingBuffer::new(16);
        let mut end = Fails { failures: 2, packets: 5, stop: &stop };
        let counts = ReceiveLoop {
            end: &mut end,
            session: SESSION,
            flow: 0,
            mode,
            interval_ns: 100_000,
            is_real_time: false,
            ring: &mut ring,
            strangers: &Strangers::default(),
            stop: &stop,
            end_ns: i64::MAX,
            watchdog: &AtomicBool::new(false),
            outliers: None,
        }
        .run();
        assert_eq!((counts.failures, counts.failure), (2, Some(ReceiveError { errno: ENETDOWN })), "{mode:?}");
        assert_eq!(std::iter::from_fn(|| taker.pop().ok()).count(), 5, "{mode:?}");
    }
}

#[test]
fn a_number_that_no_packet_can_have_yet_moves_nothing_that_is_expected() {
    const INTERVAL_NS: i64 = 1_000_000;
    for (sequence, since_began_ns, expected) in [
        (0, 0, true),
        (5, 5_100_000, true),
        (7, 5_100_000, false),
        (1 << 44, 5_100_000, false),
        (i64::MAX, i64::MAX / 2, false),
        (-1, 5_100_000, false),
    ] {
        assert_eq!(hot::can_be_due(sequence, since_began_ns, INTERVAL_NS), expected, "{sequence}");
    }
}
