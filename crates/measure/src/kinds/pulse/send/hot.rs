//! The loop that sends orders to all nodes. Nothing here allocates, locks, formats, logs or faults; a tidy test reads this file
//! for words that would.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ::pulse::order::Order;
use kernel::clock::{KernelClock, Schedule, sleep_until};
use kernel::packet::{PacketEndpoint, SendError};
use packet::header::{Header, Purpose, Session};
use packet::stamps::{EarlierStamps, LaterStamps, stamp};
use units::ClockId;

use crate::kinds::pulse::now::{Now, monotonic, realtime};
use crate::nodes::send::numbers::{NO_SEQUENCE, Numbers, signed};
use crate::ring::{Pair, RingWriter};

/// Packets that bring the last stamps to each node, each a period after the one before.
const FOLLOW_UPS: u64 = 3;
/// From one of these to the next, at most (ns).
const FOLLOW_UP_APART_NS: i64 = 10_000_000;
/// A sleep that is longer is taken in pieces: whether the run is over, or the clock was set, is looked for in between (ns).
const LONGEST_SLEEP_NS: i64 = 50_000_000;

/// The orders for one node.
pub(crate) struct Recipient<'a, E> {
    pub(crate) end: &'a mut E,
    pub(crate) session: Session,
    pub(crate) flow: u8,
    pub(crate) payload: &'a mut [u8],
    pub(crate) numbers: &'a mut Numbers,
    pub(crate) earlier: EarlierStamps,
    /// When orders were to be sent, and were.
    pub(crate) ring: RingWriter<'a>,
    pub(crate) sent: u64,
    pub(crate) refused: u64,
    /// The first refusal.
    pub(crate) refusal: Option<SendError>,
    /// How many were sent and refused, for others to read.
    pub(crate) so_far: [&'a AtomicU64; 2],
}

/// What is ordered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Orders {
    /// From a schedule to the act (ns).
    pub(crate) lead_ns: i64,
    /// How long the output is active (ns).
    pub(crate) active_ns: i64,
    /// Every how many orders one is marked; 0: none is.
    pub(crate) mark: u64,
}

/// All that the loop touches, prepared beforehand.
pub(crate) struct SendLoop<'a, 'e, E> {
    pub(crate) to: &'a mut [Recipient<'e, E>],
    pub(crate) orders: Orders,
    /// The first schedule (ns, CLOCK_REALTIME).
    pub(crate) start_ns: i64,
    pub(crate) interval_ns: i64,
    /// Orders to send to each node, skipped schedules among them.
    pub(crate) schedules: u64,
    /// How many schedules were skipped, for others to read.
    pub(crate) skipped: &'a AtomicU64,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) watchdog: &'a AtomicBool,
}

/// What the loop counted, for all nodes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SendCounts {
    pub(crate) skipped: u64,
    /// Schedules that passed.
    pub(crate) scheduled: u64,
    /// When it was seen that the clock was set (ns, CLOCK_MONOTONIC): no schedule that follows means anything. `None` if it was not.
    pub(crate) stepped_ns: Option<i64>,
}

impl<E: PacketEndpoint> SendLoop<'_, '_, E> {
    /// Sends an order to each node at each schedule. One that comes too late for the next schedule skips that: it never bursts.
    #[inline(never)]
    pub(crate) fn run(mut self) -> SendCounts {
        let mut counts = SendCounts::default();
        let mut sequence = 0;
        let mut before = Now::read();
        while sequence < self.schedules && !self.is_stopped() {
            let scheduled_ns = self.start_ns + signed(sequence) * self.interval_ns;
            let now = Now::read();
            if now.is_stepped_since(&before) {
                counts.stepped_ns = Some(now.monotonic_ns);
                break;
            }
            before = now;
            let left_ns = scheduled_ns - now.realtime_ns;
            if left_ns > 0 {
                let until = Schedule::at_ns(now.monotonic_ns + left_ns.min(LONGEST_SLEEP_NS));
                let _ = sleep_until(KernelClock::from(ClockId::Monotonic), &until);
                // The clock may have been set in that time, or the clocks run apart by a little; and a sleep can be interrupted.
                continue;
            }
            self.send_all(sequence, scheduled_ns);
            // What is late for the next schedule skips it, in one step however late it is.
            let late_ns = realtime() - scheduled_ns;
            let passed = if late_ns < self.interval_ns { 1 } else { (late_ns / self.interval_ns + 1).unsigned_abs() };
            let passed = passed.min(self.schedules - sequence);
            counts.skipped += passed - 1;
            sequence += passed;
            self.skipped.store(counts.skipped, Ordering::Relaxed);
        }
        counts.scheduled = sequence;
        self.follow_up(sequence);
        counts
    }

    #[inline(always)]
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.watchdog.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn send_all(&mut self, sequence: u64, scheduled_ns: i64) {
        let Orders { lead_ns, active_ns, mark } = self.orders;
        let is_long = mark > 0 && ::pulse::marks::is_long(sequence, mark);
        let act_at_ns = scheduled_ns + lead_ns;
        let order = Order { act_at_ns, until_ns: act_at_ns + if is_long { 2 * active_ns } else { active_ns } };
        for to in &mut *self.to {
            let sent_ns = to.send(sequence, Some(&order));
            to.ring.push(Pair { first_ns: scheduled_ns, second_ns: sent_ns });
        }
        for to in &mut *self.to {
            to.take_stamps();
            to.so_far[0].store(to.sent, Ordering::Relaxed);
            to.so_far[1].store(to.refused, Ordering::Relaxed);
        }
    }

    /// Brings the last stamps, and says how many packets there were, more than once since each can be lost.
    fn follow_up(&mut self, sequence: u64) {
        let apart_ns = self.interval_ns.min(FOLLOW_UP_APART_NS);
        for number in 0..FOLLOW_UPS {
            let until = Schedule::at_ns(monotonic() + apart_ns);
            let _ = sleep_until(KernelClock::from(ClockId::Monotonic), &until);
            for to in &mut *self.to {
                to.take_stamps();
                to.send(sequence + number, None);
            }
        }
    }
}

impl<E: PacketEndpoint> Recipient<'_, E> {
    /// Sends an order, or what brings stamps alone; when that began (ns, CLOCK_REALTIME).
    #[inline(always)]
    fn send(&mut self, sequence: u64, order: Option<&Order>) -> i64 {
        let purpose = if order.is_some() { Purpose::Measured } else { Purpose::FollowUp };
        let sent_ns = realtime();
        let (flow, sent_before, earlier) = (self.flow, self.sent, self.earlier);
        let header = Header { purpose, flow, sequence, sent_before, sent_ns, earlier };
        header.write_with(&self.session, order.map(Order::words), self.payload);
        match self.end.send(self.payload, None) {
            Ok(()) => {
                self.numbers.take(if order.is_some() { sequence } else { NO_SEQUENCE });
                self.sent += u64::from(order.is_some());
                self.earlier.brought();
            }
            Err(error) if order.is_some() => {
                self.refused += 1;
                self.refusal.get_or_insert(error);
            }
            Err(_) => {}
        }
        sent_ns
    }

    /// Takes the stamps that have arrived, up to one of the last packet: what comes after that is taken with the next packet's.
    #[inline(always)]
    fn take_stamps(&mut self) {
        let mut is_last = false;
        while let Some(sent) = if is_last { None } else { self.end.sent_stamp() } {
            is_last = self.numbers.is_last(sent.number);
            let sequence = self.numbers.sequence(sent.number);
            if sequence != NO_SEQUENCE {
                let [stack_ns, hardware_ns] = [sent.stack_ns, sent.hardware_ns].map(stamp);
                self.earlier.take(LaterStamps { sequence, stack_ns, hardware_ns });
            }
        }
    }
}
