//! The exchange by which the clocks of the two nodes are compared, in a thread of its own: not on a measured CPU, and without
//! real-time priority, since the kernel stamps its messages. What is said when, and which stamps belong together, is decided by
//! [`packet::exchange`]; here are the socket and the clocks.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use kernel::packet::udp::UdpEndpoint;
use kernel::packet::{PacketEndpoint, ReceiveError};
use packet::exchange::{Answerer, Asker, Came, Message, PERIOD_NS, Spoken};
use packet::header::Session;
use packet::probe::{PROBE_BYTES, Probe, ProbeKind};
use sync::bound::ClockReading;
use units::{ClockId, CpuSet};

use crate::clocks;
use crate::crew::now_ns;

pub(crate) use packet::exchange::Exchanged;

/// How long the thread waits before it looks whether it is to end (ns).
const LONGEST_WAIT_NS: i64 = 50_000_000;

/// What both threads share.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// Exchanges that were begun.
    begun: AtomicU64,
    /// Exchanges that were completed.
    complete: AtomicU64,
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
        mut end: UdpEndpoint,
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
                let before = clocks::now().realtime;
                let side = if asks {
                    Side::Asker(Asker::new(monotonic_ns(), before.raw_ns))
                } else {
                    Side::Answerer(Answerer::new(before.raw_ns))
                };
                Talk { end, session, shared: &theirs, send: &send, sent: 0, side, before }.run();
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

    /// Exchanges that were completed so far.
    pub(crate) fn complete(&self) -> u64 {
        self.shared.complete.load(Ordering::Relaxed)
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

enum Side {
    Asker(Asker),
    Answerer(Answerer),
}

struct Talk<'a> {
    end: UdpEndpoint,
    session: Session,
    shared: &'a Shared,
    send: &'a Sender<Exchanged>,
    /// Messages that the kernel took: its stamps name each by how many were before it.
    sent: u64,
    side: Side,
    /// A comparison of the clocks from before the last time that nothing had come.
    before: ClockReading,
}

fn monotonic_ns() -> i64 {
    now_ns(ClockId::Monotonic)
}

impl Talk<'_> {
    fn run(mut self) {
        while !self.shared.stop.load(Ordering::Relaxed) {
            if self.listen().is_err() {
                // An interface that is down comes up again, and the partner goes on.
                std::thread::sleep(std::time::Duration::from_nanos(PERIOD_NS.unsigned_abs()));
            }
            while let Some(stamp) = self.end.sent_stamp() {
                let Some(stack_ns) = stamp.stack_ns else { continue };
                match &mut self.side {
                    Side::Asker(asker) => asker.stamped(stamp.number, stack_ns),
                    Side::Answerer(answerer) => answerer.stamped(stamp.number, stack_ns),
                }
            }
            self.say_all();
            self.hand_over();
        }
    }

    /// Takes the next message, or waits until there may be one or something is to be said.
    fn listen(&mut self) -> Result<(), ReceiveError> {
        let (session, now) = (self.session, clocks::now().realtime);
        let came = self.end.receive(|received| {
            let at_ns = received.stack_ns.unwrap_or_else(|| now_ns(ClockId::Realtime));
            // What others send to this port is nothing of theirs and nothing of ours.
            Probe::read(&session, received.payload).ok().map(|probe| (probe, at_ns))
        })?;
        match (came, &mut self.side) {
            (Some(Some((probe, at_ns))), Side::Asker(asker)) => asker.came(&Came { probe, at_ns, before: self.before }),
            (Some(Some((probe, at_ns))), Side::Answerer(answerer)) => {
                let has_begun = answerer.came(&Came { probe, at_ns, before: self.before });
                self.shared.begun.fetch_add(has_begun.into(), Ordering::Relaxed);
            }
            (Some(None), _) => {}
            (None, side) => {
                // Whatever comes from now on came after this comparison.
                self.before = now;
                let until_ns = monotonic_ns() + LONGEST_WAIT_NS;
                let until_ns = match side {
                    Side::Answerer(answerer) if answerer.awaits_stamp() => {
                        std::thread::yield_now();
                        return Ok(());
                    }
                    Side::Answerer(_) => until_ns,
                    Side::Asker(asker) => until_ns.min(asker.wake_ns()),
                };
                self.end.wait(until_ns)?;
            }
        }
        Ok(())
    }

    fn say_all(&mut self) {
        loop {
            let now_ns = monotonic_ns();
            let message = match &mut self.side {
                Side::Asker(asker) => asker.next(now_ns),
                Side::Answerer(answerer) => answerer.next(now_ns),
            };
            let Some(message) = message else { return };
            let spoken = self.say(&message);
            match &mut self.side {
                Side::Asker(asker) => asker.said(&message, &spoken),
                Side::Answerer(answerer) => answerer.said(&message, &spoken),
            }
            let has_begun = message.kind == ProbeKind::Question;
            self.shared.begun.fetch_add(has_begun.into(), Ordering::Relaxed);
        }
    }

    fn say(&mut self, message: &Message) -> Spoken {
        let reading = clocks::now().realtime;
        let mut bytes = [0; PROBE_BYTES];
        message.with(reading).write(&self.session, &mut bytes);
        let (before_ns, now_ns) = (now_ns(ClockId::Realtime), monotonic_ns());
        let transmission = self.end.send(&bytes, None).ok().map(|()| self.sent);
        self.sent += u64::from(transmission.is_some());
        Spoken { transmission, before_ns, reading, now_ns }
    }

    fn hand_over(&mut self) {
        loop {
            let exchanged = match &mut self.side {
                Side::Asker(asker) => asker.take(),
                Side::Answerer(answerer) => answerer.take(),
            };
            let Some(mut exchanged) = exchanged else { return };
            exchanged.own.push(clocks::now().realtime);
            self.shared.complete.fetch_add(1, Ordering::Relaxed);
            let _ = self.send.send(exchanged);
        }
    }
}
