//! The exchange by which the clocks of the two nodes are compared, in a thread of its own: not on a measured CPU, and without
//! real-time priority, since the kernel stamps its messages.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use kernel::packet::udp::UdpEnd;
use kernel::packet::{End, ReceiveError};
use packet::header::{NotOurs, Session};
use packet::probe::{ExchangeTimes, PROBE_BYTES, Probe, ProbeKind};
use sync::bound::ClockReading;
use units::{ClockId, CpuSet};

use crate::crew::now_ns;
use crate::sync::clocks;

/// From one exchange to the next (ns). Between two of them bounds grow by the drift of the clocks: 2 us at 100 parts per million.
const PERIOD_NS: i64 = 20_000_000;
/// How long an exchange may take (ns).
const EXCHANGE_NS: i64 = 1_000_000_000;
/// How long the thread waits before it looks whether it is to end (ns).
const LONGEST_WAIT_NS: i64 = 50_000_000;

/// A complete exchange, or what else was seen.
#[derive(Clone, Debug)]
pub(crate) struct Exchanged {
    /// Whether this node asked.
    pub(crate) is_asker: bool,
    /// Comparisons of this node's clocks.
    pub(crate) own: Vec<ClockReading>,
    /// Comparisons of the partner's clocks.
    pub(crate) partner: Vec<ClockReading>,
    pub(crate) times: ExchangeTimes,
}

/// What both threads share.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// Exchanges that were begun.
    begun: AtomicU64,
}

/// The thread that exchanges messages.
pub(crate) struct ClockExchange {
    shared: Arc<Shared>,
    seen: Receiver<Exchanged>,
    thread: Option<JoinHandle<()>>,
}

impl ClockExchange {
    /// Begins. The end's partner is set to `partner`.
    ///
    /// # Errors
    /// Where the partner's address is of another family, or no thread is to be had.
    pub(crate) fn begin(
        mut end: UdpEnd,
        partner: SocketAddr,
        session: Session,
        asks: bool,
        housekeeping: &CpuSet,
    ) -> Result<Self, String> {
        end.set_partner(partner).map_err(|error| error.to_string())?;
        let (send, seen) = channel();
        let shared = Arc::new(Shared::default());
        let (theirs, cpus) = (Arc::clone(&shared), housekeeping.clone());
        let thread = std::thread::Builder::new()
            .name("punctual-clocks".to_owned())
            .spawn(move || {
                kernel::signals::block_all_but_watchdog();
                let _ = kernel::sched::set_affinity(0, &cpus);
                kernel::sched::set_least_timer_slack();
                let talk = Talk { end, session, shared: &theirs, send: &send, sent: 0 };
                if asks { talk.ask() } else { talk.answer() }
            })
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self { shared, seen, thread: Some(thread) })
    }

    /// The exchanges that were completed since the last call.
    pub(crate) fn take(&self) -> impl Iterator<Item = Exchanged> {
        self.seen.try_iter()
    }

    /// Exchanges that were begun so far, by a question that was sent or came.
    pub(crate) fn begun(&self) -> u64 {
        self.shared.begun.load(Ordering::Relaxed)
    }

    /// Ends the exchange.
    pub(crate) fn end(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for ClockExchange {
    fn drop(&mut self) {
        self.end();
    }
}

/// A message that came, and when.
struct Came {
    probe: Probe,
    at_ns: i64,
}

struct Talk<'a> {
    end: UdpEnd,
    session: Session,
    shared: &'a Shared,
    send: &'a Sender<Exchanged>,
    sent: u64,
}

fn monotonic_ns() -> i64 {
    now_ns(ClockId::Monotonic)
}

impl Talk<'_> {
    fn is_over(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    /// Sends a message, and gives when it was sent: by the kernel's stamp, and where there is none by a reading before.
    fn say(&mut self, kind: ProbeKind, number: u64, sent_ns: i64, received_ns: i64) -> Option<(i64, ClockReading)> {
        let reading = clocks::now().realtime;
        let mut bytes = [0; PROBE_BYTES];
        Probe { kind, number, sent_ns, received_ns, reading }.write(&self.session, &mut bytes);
        let before_ns = now_ns(ClockId::Realtime);
        self.end.send(&bytes, None).ok()?;
        let this = self.sent;
        self.sent += 1;
        // A driver that hands packets on by itself stamps them later.
        let until_ns = monotonic_ns() + 200_000;
        loop {
            while let Some(stamp) = self.end.sent_stamp() {
                if let Some(stack_ns) = stamp.stack_ns.filter(|_| stamp.number == this) {
                    return Some((stack_ns, reading));
                }
            }
            if monotonic_ns() >= until_ns {
                return Some((before_ns, reading));
            }
            std::thread::yield_now();
        }
    }

    /// The next message of the partner's, until a moment of CLOCK_MONOTONIC.
    fn hear(&mut self, until_ns: i64) -> Result<Option<Came>, ReceiveError> {
        loop {
            if self.is_over() || !self.end.wait(until_ns.min(monotonic_ns() + LONGEST_WAIT_NS))? {
                if self.is_over() || monotonic_ns() >= until_ns {
                    return Ok(None);
                }
                continue;
            }
            let session = self.session;
            let came = self.end.receive(|received| {
                let at_ns = received.stack_ns.unwrap_or_else(|| now_ns(ClockId::Realtime));
                Probe::read(&session, received.payload).map(|probe| Came { probe, at_ns })
            })?;
            match came {
                Some(Ok(came)) => return Ok(Some(came)),
                // What others send to this port is nothing of theirs and nothing of ours.
                Some(Err(NotOurs::Foreign | NotOurs::Forged)) | None => {}
            }
        }
    }

    /// Waits for one message of an exchange; others, of exchanges that were given up, are passed over.
    fn hear_message(&mut self, kind: ProbeKind, number: u64, until_ns: i64) -> Option<Came> {
        loop {
            let came = self.hear(until_ns).ok()??;
            if (came.probe.kind, came.probe.number) == (kind, number) {
                return Some(came);
            }
        }
    }

    fn complete(&self, is_asker: bool, [own, partner]: [Vec<ClockReading>; 2], times: ExchangeTimes) {
        let _ = self.send.send(Exchanged { is_asker, own, partner, times });
    }

    fn ask(mut self) {
        let mut next_ns = monotonic_ns();
        let mut number = 0;
        while !self.is_over() {
            let wait_ns = u64::try_from(next_ns - monotonic_ns()).unwrap_or(0);
            std::thread::sleep(std::time::Duration::from_nanos(wait_ns));
            // Two, one right after the other: the first warms caches up, the second is the shorter one by far.
            for _ in 0..2 {
                self.shared.begun.fetch_add(1, Ordering::Relaxed);
                let _ = self.exchange(number);
                number += 1;
            }
            next_ns = (next_ns + PERIOD_NS).max(monotonic_ns());
        }
    }

    fn exchange(&mut self, number: u64) -> Option<()> {
        let until_ns = monotonic_ns() + EXCHANGE_NS;
        let (t1_ns, first) = self.say(ProbeKind::Question, number, 0, 0)?;
        let answer = self.hear_message(ProbeKind::Answer, number, until_ns)?;
        let stamp = self.hear_message(ProbeKind::AnswerStamp, number, until_ns)?;
        let (_, last) = self.say(ProbeKind::QuestionStamp, number, t1_ns, answer.at_ns)?;
        let times =
            ExchangeTimes { t1_ns, t2_ns: answer.probe.received_ns, t3_ns: stamp.probe.sent_ns, t4_ns: answer.at_ns };
        self.complete(true, [vec![first, last], vec![answer.probe.reading, stamp.probe.reading]], times);
        Some(())
    }

    fn answer(mut self) {
        /// What is known of the exchange that goes on.
        struct Open {
            number: u64,
            t2_ns: i64,
            t3_ns: i64,
            own: Vec<ClockReading>,
            partner: ClockReading,
        }
        let mut open: Option<Open> = None;
        while !self.is_over() {
            let Ok(came) = self.hear(monotonic_ns() + EXCHANGE_NS) else {
                // An interface that is down comes up again, and the partner asks on.
                std::thread::sleep(std::time::Duration::from_nanos(PERIOD_NS.unsigned_abs()));
                continue;
            };
            let Some(Came { probe, at_ns }) = came else { continue };
            match probe.kind {
                ProbeKind::Question => {
                    self.shared.begun.fetch_add(1, Ordering::Relaxed);
                    let Some((t3_ns, first)) = self.say(ProbeKind::Answer, probe.number, 0, at_ns) else { continue };
                    let Some((_, last)) = self.say(ProbeKind::AnswerStamp, probe.number, t3_ns, 0) else { continue };
                    let (number, t2_ns) = (probe.number, at_ns);
                    open = Some(Open { number, t2_ns, t3_ns, own: vec![first, last], partner: probe.reading });
                }
                ProbeKind::QuestionStamp => {
                    let Some(open) = open.take().filter(|open| open.number == probe.number) else { continue };
                    let times = ExchangeTimes {
                        t1_ns: probe.sent_ns,
                        t2_ns: open.t2_ns,
                        t3_ns: open.t3_ns,
                        t4_ns: probe.received_ns,
                    };
                    let own = open.own.into_iter().chain([clocks::now().realtime]).collect();
                    self.complete(false, [own, vec![open.partner, probe.reading]], times);
                }
                ProbeKind::Answer | ProbeKind::AnswerStamp => {}
            }
        }
    }
}
