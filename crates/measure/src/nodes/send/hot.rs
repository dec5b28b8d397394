//! The loop that sends. Nothing here allocates, locks, formats, logs or faults; a tidy test reads this file for words that
//! would.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kernel::clock::{KernelClock, Schedule, now_ns, sleep_until};
use kernel::packet::{Launch, PacketEndpoint, SendError};
use packet::header::{Header, Purpose, Session};
use packet::stamps::{EarlierStamps, LaterStamps, stamp};

use super::numbers::{NO_SEQUENCE, Numbers, signed};
use crate::nodes::pause::{LONG_INTERVAL_NS, sleep_looking};
use crate::ring::{Pair, RingWriter};

/// Packets that bring the last stamps, each a period after the one before.
const FOLLOW_UPS: u64 = 3;
/// A sleep that keeps failing would be a loop that never sleeps.
const MAX_INTERRUPTED_SLEEPS: u64 = 1_000;

/// All that the loop touches, prepared beforehand.
pub(crate) struct SendLoop<'a, E> {
    pub(super) end: &'a mut E,
    pub(super) session: Session,
    pub(super) flow: u8,
    /// What the packets are for: those that warm the loop up are not measured.
    pub(super) purpose: Purpose,
    pub(super) payload: &'a mut [u8],
    pub(super) numbers: &'a mut Numbers,
    /// The first schedule, on CLOCK_MONOTONIC (ns).
    pub(super) start_ns: i64,
    /// CLOCK_REALTIME less CLOCK_MONOTONIC at the start (ns).
    pub(super) realtime_ahead_ns: i64,
    pub(super) interval_ns: i64,
    /// Whether it waits by asking the clock: where a wake-up would take as long as an interval.
    pub(super) spins: bool,
    /// Packets to send, skipped schedules among them.
    pub(super) schedules: u64,
    pub(super) launch: Option<LaunchTimes>,
    pub(super) ring: RingWriter<'a>,
    /// When packets were to leave, and when the driver had them.
    pub(super) launched: RingWriter<'a>,
    /// Of these sequence numbers it is written down: a packet that was doubled on its way has two stamps.
    pub(super) launched_below: u64,
    pub(super) stop: &'a AtomicBool,
    pub(super) watchdog: &'a AtomicBool,
    /// How many were sent, skipped and refused, for others to read.
    pub(super) so_far: [&'a AtomicU64; 3],
}

/// When packets are to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchTimes {
    /// How long after its schedule (ns).
    pub(super) after_ns: i64,
    /// The clock of these times less CLOCK_REALTIME (ns).
    pub(super) ahead_ns: i64,
}

/// Between two looks for stamps while the last packets wait for their launch (ns): as the kernel keeps only so many for a socket.
const LOOK_NS: i64 = 20_000_000;

/// What the loop counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SendCounts {
    pub(crate) sent: u64,
    pub(crate) skipped: u64,
    pub(crate) refused: u64,
    pub(crate) interrupted_sleeps: u64,
    /// The first refusal.
    pub(crate) refusal: Option<SendError>,
    /// Packets that the queueing discipline dropped since their launch time passed while they waited there.
    pub(crate) launch_missed: u64,
}

impl<E: PacketEndpoint> SendLoop<'_, E> {
    /// Sends a packet at each schedule. One that comes too late for the next schedule skips that: it never bursts.
    #[inline(never)]
    pub(crate) fn run(mut self) -> SendCounts {
        let (monotonic, realtime) =
            (KernelClock::from(units::ClockId::Monotonic), KernelClock::from(units::ClockId::Realtime));
        let mut counts = SendCounts::default();
        let mut earlier = EarlierStamps::default();
        let missed_before = self.end.counters().launch_missed;
        let mut sequence = 0;
        let mut next = Schedule::at_ns(self.start_ns);
        while sequence < self.schedules && !self.stop.load(Ordering::Relaxed) {
            if self.spins {
                while now_ns(monotonic) < next.ns() {
                    std::hint::spin_loop();
                }
            } else if sleep_looking(&next, self.interval_ns, || self.is_stopped()).is_err() {
                counts.interrupted_sleeps += 1;
                if counts.interrupted_sleeps > MAX_INTERRUPTED_SLEEPS || self.watchdog.load(Ordering::Relaxed) {
                    break;
                }
                continue;
            }
            if self.interval_ns > LONG_INTERVAL_NS && self.is_stopped() {
                break;
            }
            let scheduled_ns = next.ns() + self.realtime_ahead_ns;
            let sent_ns = now_ns(realtime);
            let header =
                Header { purpose: self.purpose, flow: self.flow, sequence, sent_before: counts.sent, sent_ns, earlier };
            let refused = counts.refused;
            self.send(&header, scheduled_ns, &mut counts);
            if counts.refused == refused {
                earlier.brought();
            }
            self.ring.push(Pair { first_ns: scheduled_ns, second_ns: sent_ns });
            self.take_stamps(&mut earlier);
            // What is late for the next schedule skips it, in one step however late it is.
            let late_ns = now_ns(monotonic) - next.ns();
            let passed = if late_ns < self.interval_ns { 1 } else { late_ns / self.interval_ns + 1 };
            counts.skipped += passed.unsigned_abs() - 1;
            sequence += passed.unsigned_abs();
            self.leave(&counts);
            next = Schedule::at_ns(next.ns() + passed * self.interval_ns);
        }
        // Schedules after the last one were not skipped.
        counts.skipped -= sequence.saturating_sub(self.schedules).min(counts.skipped);
        self.leave(&counts);
        self.wait_for_launches(&mut earlier);
        // Those that bring the last stamps are not counted.
        counts.launch_missed = self.end.counters().launch_missed - missed_before;
        self.follow_up(counts.sent, earlier, sequence, next);
        self.wait_for_launches(&mut EarlierStamps::default());
        counts
    }

    #[inline(always)]
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.watchdog.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn leave(&self, counts: &SendCounts) {
        let [sent, skipped, refused] = self.so_far;
        sent.store(counts.sent, Ordering::Relaxed);
        skipped.store(counts.skipped, Ordering::Relaxed);
        refused.store(counts.refused, Ordering::Relaxed);
    }

    #[inline(always)]
    fn send(&mut self, header: &Header, scheduled_ns: i64, counts: &mut SendCounts) {
        header.write(&self.session, self.payload);
        let launch = self.launch.map(|times| Launch { at_ns: scheduled_ns + times.after_ns + times.ahead_ns });
        match self.end.send(self.payload, launch) {
            Ok(()) if header.purpose == Purpose::Measured => {
                self.numbers.take(header.sequence);
                counts.sent += 1;
            }
            Ok(()) => self.numbers.take(NO_SEQUENCE),
            Err(error) => {
                counts.refused += 1;
                counts.refusal.get_or_insert(error);
            }
        }
    }

    /// Takes the stamps that have arrived, up to one of the last packet: what comes after that is taken with the next packet's.
    #[inline(always)]
    fn take_stamps(&mut self, earlier: &mut EarlierStamps) {
        let mut is_last = false;
        while let Some(sent) = if is_last { None } else { self.end.sent_stamp() } {
            is_last = self.numbers.is_last(sent.number);
            let sequence = self.numbers.sequence(sent.number);
            if sequence != NO_SEQUENCE {
                // Of a packet that was doubled on its way each kind comes twice.
                if let (Some(times), Some(stack_ns), true) =
                    (self.launch, sent.stack_ns, sequence >= self.launched_below)
                {
                    self.launched_below = sequence + 1;
                    let launch_ns =
                        self.start_ns + self.realtime_ahead_ns + signed(sequence) * self.interval_ns + times.after_ns;
                    self.launched.push(Pair { first_ns: launch_ns, second_ns: stack_ns });
                }
                let [stack_ns, hardware_ns] = [sent.stack_ns, sent.hardware_ns].map(stamp);
                earlier.take(LaterStamps { sequence, stack_ns, hardware_ns });
            }
        }
    }

    /// Sleeps until the last packet is to have left, and takes stamps meanwhile: whoever is told before that all were sent
    /// would take the rest for lost.
    fn wait_for_launches(&mut self, earlier: &mut EarlierStamps) {
        let Some(times) = self.launch else { return };
        let monotonic = KernelClock::from(units::ClockId::Monotonic);
        let until_ns = now_ns(monotonic) + times.after_ns;
        let mut now = now_ns(monotonic);
        while now < until_ns && !self.is_stopped() {
            let _ = sleep_until(monotonic, &Schedule::at_ns(until_ns.min(now + LOOK_NS)));
            self.take_stamps(earlier);
            now = now_ns(monotonic);
        }
    }

    /// Brings the last stamps, and says how many packets there were, more than once since each can be lost.
    fn follow_up(&mut self, sent: u64, mut earlier: EarlierStamps, sequence: u64, next: Schedule) {
        let (monotonic, realtime) =
            (KernelClock::from(units::ClockId::Monotonic), KernelClock::from(units::ClockId::Realtime));
        // Nobody waits for the schedules of a run that was ended.
        let reached_ns = now_ns(monotonic);
        let first_ns = if self.is_stopped() { reached_ns } else { next.ns().max(reached_ns) };
        for number in 0..FOLLOW_UPS {
            let at_ns = first_ns + signed(number) * self.interval_ns.min(10_000_000);
            let _ = sleep_looking(&Schedule::at_ns(at_ns), self.interval_ns, || self.is_stopped());
            self.take_stamps(&mut earlier);
            let sent_ns = now_ns(realtime);
            let header = Header {
                purpose: Purpose::FollowUp,
                flow: self.flow,
                // Stamps say to which number before they belong.
                sequence: sequence + number,
                sent_before: sent,
                sent_ns,
                earlier,
            };
            // Not counted among the measured ones, refused or not.
            let mut counts = SendCounts::default();
            self.send(&header, sent_ns, &mut counts);
            if counts.refused == 0 {
                earlier.brought();
            }
        }
    }
}
