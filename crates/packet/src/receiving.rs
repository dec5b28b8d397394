//! What becomes of the packets of one flow at its receiver: each is counted, waits until its stamps and the offset of the
//! clocks are known, and leaves with its delay and the parts of that.

use std::collections::VecDeque;
use std::num::NonZeroI64;

use record::FlowInterval;

use crate::arrived::Arrived;
use crate::hardware::HardwareScale;
use crate::header::Purpose;
use crate::over_time::OverTime;
use crate::relation::{Delay, DelayReader, Relation};
use crate::scale::Uncorrected;
use crate::sequence::{Arrival, Arrivals, SequenceTracker};
use crate::stamps::{LaterStamps, Stamp};

/// How long a packet waits for the stamps that a later one brings, beside two intervals and the time to its launch (ns).
const STAMPS_WAIT_NS: i64 = 250_000_000;
/// How long it waits at most (ns): as long as the comparisons of the clocks are kept.
const LONGEST_WAIT_NS: i64 = 8_000_000_000;
/// How long a packet waits for the next exchange of the clocks (ns).
const CLOCKS_WAIT_NS: i64 = 1_000_000_000;

/// A packet of which all is known that will be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The number of its schedule.
    pub sequence: u64,
    /// When the program had it (ns, `CLOCK_REALTIME` of the receiver).
    pub received_ns: i64,
    /// From the sending program to the receiving one; `None` if the clocks could not be compared.
    pub sent_to_received: Option<Delay>,
    /// From the sending program to the kernel's stamp on that node (ns).
    pub sent_to_transmitted_ns: Option<i64>,
    /// From one kernel's stamp to the other's; `None` if one of them or the comparison of the clocks is missing.
    pub transmitted_to_arrived: Option<Delay>,
    /// From the kernel's stamp on this node to the receiving program (ns).
    pub arrived_to_received_ns: Option<i64>,
    /// What the stamps of the network interfaces say of the way from kernel to kernel; `None` where neither interface stamps.
    pub hardware: Option<Box<HardwareParts>>,
}

/// The parts of the way from one kernel's stamp to the other's, by the stamps of the network interfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardwareParts {
    /// From the sending kernel's stamp to that of its interface; `None` if one of them is missing, or its clock was not known then.
    pub transmitted_to_hw_transmitted: Option<Delay>,
    /// From interface to interface; `None` if the stamp of one, or the comparison of the clocks, is missing.
    pub hw_transmitted_to_hw_arrived: Option<Delay>,
    /// From the receiving interface's stamp to that of its kernel; `None` if one of them is missing, or its clock was not known then.
    pub hw_arrived_to_arrived: Option<Delay>,
    /// Stamps of interfaces that contradict the kernel's beyond all errors, which are then not used: a packet was sent before the
    /// driver had it, or the kernel had one before it came.
    pub contradicting: u8,
}

/// What is known of the clocks of both nodes.
#[derive(Clone, Copy, Debug)]
pub struct Clocks<'a> {
    /// How far the system clocks are apart.
    pub relation: &'a Relation,
    /// The clock of the sending interface, if it stamps these packets.
    pub sender: Option<&'a HardwareScale>,
    /// The clock of the receiving interface, if it stamps these packets.
    pub receiver: Option<&'a HardwareScale>,
}

/// What is kept of a packet until it need not wait any longer.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    sequence: u64,
    sent_ns: i64,
    received_ns: i64,
    stack_ns: Stamp,
    hardware_ns: Stamp,
    /// Its own stamps on the sending node, as far as later packets have brought them.
    later: LaterStamps,
}

/// Follows the packets of one flow.
#[derive(Clone, Debug)]
pub struct Receiving {
    tracker: SequenceTracker,
    over_time: OverTime,
    /// How long a packet waits for the stamps that a later one brings (ns).
    stamps_wait_ns: i64,
    waiting: VecDeque<Waiting>,
    /// The highest number of packets sent before one that arrived, plus that one: what is known of how many were sent.
    known_sent: u64,
}

impl Receiving {
    /// Follows a flow from a moment on (ns, `CLOCK_REALTIME` of this node). `bringing_ns` is how long it takes until a later
    /// packet brings the stamps of one that has arrived: about an interval, and the time from a schedule to a packet's launch.
    #[must_use]
    pub fn from(start_ns: i64, bringing_ns: i64) -> Self {
        Self {
            tracker: SequenceTracker::default(),
            over_time: OverTime::from(start_ns),
            stamps_wait_ns: bringing_ns.saturating_mul(2).saturating_add(STAMPS_WAIT_NS).min(LONGEST_WAIT_NS),
            waiting: VecDeque::new(),
            known_sent: 0,
        }
    }

    /// Takes the next packets in the order in which they arrived.
    pub fn take_all(&mut self, all: &[Arrived]) {
        let mut last_ns = None;
        for arrived in all {
            // What was counted up to here belongs to the interval before.
            if let Some(last_ns) = last_ns.filter(|_| self.over_time.is_after(arrived.received_ns)) {
                self.over_time.take(last_ns, self.tracker.arrivals(), self.known_sent);
            }
            self.count(arrived);
            last_ns = Some(arrived.received_ns);
        }
        if let Some(last_ns) = last_ns {
            self.over_time.take(last_ns, self.tracker.arrivals(), self.known_sent);
        }
    }

    #[inline(always)]
    fn count(&mut self, arrived: &Arrived) {
        let Arrived { header, hardware_ns, stack_ns, received_ns } = arrived;
        header.earlier().for_each(|stamps| self.bring(stamps));
        let (sequence, sent_before) = (header.sequence(), header.sent_before());
        if header.purpose() == Purpose::FollowUp {
            self.known_sent = self.known_sent.max(sent_before);
            return;
        }
        self.known_sent = self.known_sent.max(sent_before.saturating_add(1));
        if matches!(self.tracker.take(sequence), Arrival::InOrder | Arrival::Reordered) {
            self.waiting.push_back(Waiting {
                sequence,
                sent_ns: header.sent_ns(),
                received_ns: *received_ns,
                stack_ns: *stack_ns,
                hardware_ns: *hardware_ns,
                later: LaterStamps { sequence, ..LaterStamps::default() },
            });
        }
    }

    /// Stamps belong to a packet that arrived shortly before, if it arrived.
    fn bring(&mut self, stamps: LaterStamps) {
        let mut at = self.waiting.len();
        while let Some(one) = at.checked_sub(1).and_then(|before| self.waiting.get_mut(before)) {
            if one.sequence == stamps.sequence {
                one.later = one.later.earliest(stamps);
                return;
            }
            at -= 1;
        }
    }

    /// Hands out the packets that need not wait any longer, in the order in which they arrived: at `now_ns` of this node's system
    /// clock. At the end of a run none waits any longer.
    pub fn settle(&mut self, clocks: &Clocks<'_>, now_ns: i64, is_end: bool, out: &mut Vec<Settled>) {
        let stamps_from_ns = now_ns.saturating_sub(self.stamps_wait_ns);
        let clocks_from_ns = now_ns.saturating_sub(CLOCKS_WAIT_NS);
        let settled_to_ns = clocks.relation.settled_to_ns().unwrap_or(i64::MIN);
        let mut reader = DelayReader::new(clocks.relation);
        let mut count = 0;
        for waiting in &self.waiting {
            let received_ns = waiting.received_ns;
            let has_stamps = || received_ns < stamps_from_ns || waiting.has_stamps(clocks);
            let has_clocks = || {
                let is_settled = received_ns < settled_to_ns;
                received_ns < clocks_from_ns
                    || is_settled && (!clocks.has_hardware() || waiting.has_hardware_clocks(clocks))
            };
            if !(is_end || has_stamps() && has_clocks()) {
                break;
            }
            let one = if clocks.has_hardware() { None } else { waiting.settled_near(&reader) };
            match one {
                Some(one) => out.push(one),
                None => out.push(waiting.settled(clocks, &mut reader)),
            }
            count += 1;
        }
        self.waiting.drain(..count);
    }

    /// What was counted so far.
    #[must_use]
    pub const fn arrivals(&self) -> Arrivals {
        self.tracker.arrivals()
    }

    /// What was counted over time, at most [`record::PacketFlow::MOST_INTERVALS`] intervals.
    #[must_use]
    pub fn over_time(&self) -> &[FlowInterval] {
        self.over_time.intervals()
    }

    /// How many packets the sender has sent at least, as those that arrived say.
    #[must_use]
    pub const fn known_sent(&self) -> u64 {
        self.known_sent
    }
}

impl Waiting {
    /// Whether all stamps have come that a later packet brings.
    #[inline]
    const fn has_stamps(&self, clocks: &Clocks<'_>) -> bool {
        self.later.stack_ns.is_some() && (clocks.sender.is_none() || self.later.hardware_ns.is_some())
    }

    /// Whether all readings of interfaces' clocks have come between which its stamps lie.
    fn has_hardware_clocks(&self, clocks: &Clocks<'_>) -> bool {
        let relation = clocks.relation;
        let is_settled = |scale: Option<&HardwareScale>, near: &dyn Fn() -> Option<Uncorrected>| {
            scale.is_none_or(|scale| near().is_none_or(|near| scale.is_settled(near.ns)))
        };
        is_settled(clocks.sender, &|| relation.on_partner(self.later.stack_ns?.get()))
            && is_settled(clocks.receiver, &|| relation.on_own(self.received_ns))
    }

    /// Where all its stamps are there, and it lies near the packet before.
    #[inline(always)]
    fn settled_near(&self, reader: &DelayReader<'_>) -> Option<Settled> {
        let Waiting { sequence, sent_ns, received_ns, .. } = *self;
        let (transmitted_ns, arrived_ns) = (self.later.stack_ns?.get(), self.stack_ns?.get());
        let (whole, between) = reader.near_delays((sent_ns, received_ns), (transmitted_ns, arrived_ns))?;
        Some(Settled {
            sequence,
            received_ns,
            sent_to_received: Some(whole),
            sent_to_transmitted_ns: Some(transmitted_ns.wrapping_sub(sent_ns)),
            transmitted_to_arrived: between,
            arrived_to_received_ns: Some(received_ns.wrapping_sub(arrived_ns)),
            hardware: None,
        })
    }

    #[cold]
    #[inline(never)]
    fn settled(&self, clocks: &Clocks<'_>, reader: &mut DelayReader<'_>) -> Settled {
        let Waiting { sequence, sent_ns, received_ns, .. } = *self;
        let [transmitted_ns, arrived_ns] = [self.later.stack_ns, self.stack_ns].map(|stamp| stamp.map(NonZeroI64::get));
        let kernels = transmitted_ns.zip(arrived_ns);
        let (sent_to_received, transmitted_to_arrived) = reader.delays((sent_ns, received_ns), kernels);
        Settled {
            sequence,
            received_ns,
            sent_to_received,
            sent_to_transmitted_ns: transmitted_ns.map(|ns| ns.saturating_sub(sent_ns)),
            transmitted_to_arrived,
            arrived_to_received_ns: arrived_ns.map(|ns| received_ns.saturating_sub(ns)),
            hardware: clocks.has_hardware().then(|| Box::new(hardware_parts(self, clocks))),
        }
    }
}

impl Clocks<'_> {
    /// Whether at least one interface stamps: without, no time of an interface need be converted.
    const fn has_hardware(&self) -> bool {
        self.sender.is_some() || self.receiver.is_some()
    }
}

/// Where at least one interface stamps.
#[inline(never)]
fn hardware_parts(waiting: &Waiting, clocks: &Clocks<'_>) -> HardwareParts {
    let Waiting { hardware_ns, stack_ns, later, .. } = *waiting;
    let relation = clocks.relation;
    // A stamp of an interface on its node's uncorrected clock, and the kernel's of the same packet.
    let sent = clocks.sender.and_then(|scale| {
        let kernel = relation.on_partner(later.stack_ns?.get())?;
        Some((scale.uncorrected(later.hardware_ns?.get(), kernel.ns)?, kernel))
    });
    let came = clocks.receiver.and_then(|scale| {
        let kernel = relation.on_own(stack_ns?.get())?;
        Some((scale.uncorrected(hardware_ns?.get(), kernel.ns)?, kernel))
    });
    let to_wire = sent.map(|(left, kernel)| on_one_node(kernel, left));
    let from_wire = came.map(|(reached, kernel)| on_one_node(reached, kernel));
    // The way cannot be walked backwards.
    let is_possible = |part: &Delay| part.ns.saturating_add_unsigned(part.above_ns) >= 0;
    let contradicting = [to_wire, from_wire].iter().flatten().filter(|part| !is_possible(part)).count();
    let (to_wire, from_wire) = (to_wire.filter(is_possible), from_wire.filter(is_possible));
    let between = match (to_wire.and(sent), from_wire.and(came)) {
        (Some((left, _)), Some((reached, _))) => relation.delay_between(left, reached),
        _ => None,
    };
    HardwareParts {
        transmitted_to_hw_transmitted: to_wire,
        hw_transmitted_to_hw_arrived: between,
        hw_arrived_to_arrived: from_wire,
        contradicting: u8::try_from(contradicting).unwrap_or(u8::MAX),
    }
}

/// From one moment of a node to another: the errors of both are all there are.
fn on_one_node(from: Uncorrected, to: Uncorrected) -> Delay {
    let error_ns = from.error_ns.saturating_add(to.error_ns).unsigned_abs();
    let ns = to.ns.saturating_sub(from.ns);
    Delay { ns, below_ns: error_ns, above_ns: error_ns, spread_ns: 0, reading_error_ns: error_ns }
}

#[cfg(test)]
mod tests {
    use sync::bound::ClockReading;

    use super::*;
    use crate::hardware::HardwareReading;
    use crate::header::{Header, LARGEST_HEADER_BYTES, NotOurs, Session};
    use crate::scale::TELLING_NS;
    use crate::stamps::stamp;

    const SESSION: Session = Session { number: 7, key: [9; 16] };

    /// The packet as it comes over the network.
    fn came(header: &Header, at_ns: i64) -> Arrived {
        let mut payload = [0; LARGEST_HEADER_BYTES];
        header.write(&SESSION, &mut payload);
        Arrived::read(&SESSION, header.flow, &payload, [Some(at_ns - 10), None], at_ns).unwrap()
    }

    fn header(sequence: u64, at_ns: i64, earlier: LaterStamps) -> Header {
        let (purpose, sent_before, sent_ns) = (Purpose::Measured, sequence, at_ns - 50);
        Header { purpose, flow: 0, sequence, sent_before, sent_ns, earlier: earlier.into() }
    }

    fn arrived(sequence: u64, at_ns: i64, earlier: LaterStamps) -> Arrived {
        came(&header(sequence, at_ns, earlier), at_ns)
    }

    #[test]
    fn packets_of_another_flow_are_foreign() {
        let mut payload = [0; LARGEST_HEADER_BYTES];
        header(0, 1_000, LaterStamps::default()).write(&SESSION, &mut payload);
        assert_eq!(Arrived::read(&SESSION, 1, &payload, [None; 2], 5).err(), Some(NotOurs::Foreign));
    }

    /// Two nodes with one clock, whose messages take 40 ns.
    fn related(until_ns: i64) -> Relation {
        let mut relation = Relation::new(100_000);
        // The last one shows how straight the clocks went before it.
        for at_ns in (0..=until_ns).step_by(1_000).chain([until_ns + TELLING_NS]) {
            let reading = ClockReading { raw_ns: at_ns, clock_ns: at_ns, error_ns: 0 };
            relation.own_reading(reading);
            relation.partner_reading(reading);
            relation.exchange((at_ns - 40, at_ns), (at_ns, at_ns + 40));
        }
        relation
    }

    fn stamps(sequence: u64, stack_ns: i64) -> LaterStamps {
        LaterStamps { sequence, stack_ns: stamp(Some(stack_ns)), hardware_ns: None }
    }

    fn all(receiving: &mut Receiving, relation: &Relation, now_ns: i64, is_end: bool) -> Vec<Settled> {
        let clocks = Clocks { relation, sender: None, receiver: None };
        let mut out = Vec::new();
        receiving.settle(&clocks, now_ns, is_end, &mut out);
        out
    }

    #[test]
    fn the_parts_of_a_delay_add_up_to_the_whole() {
        let mut receiving = Receiving::from(0, 1_000_000);
        receiving.take_all(&[arrived(0, 5_000, LaterStamps::default())]);
        let relation = related(8_000);
        assert!(all(&mut receiving, &relation, 5_500, false).is_empty(), "its stamp may come yet");
        receiving.take_all(&[arrived(1, 6_000, stamps(0, 4_970))]);
        let settled = all(&mut receiving, &relation, 6_500, false);
        let [one] = &settled[..] else { panic!("{settled:?}") };
        let whole = one.sent_to_received.unwrap();
        let between = one.transmitted_to_arrived.unwrap();
        assert_eq!((one.sequence, whole.ns), (0, 50));
        assert_eq!((one.sent_to_transmitted_ns, between.ns, one.arrived_to_received_ns), (Some(20), 20, Some(10)),);
        // The way of the exchange's messages, and what rounding makes.
        assert!((40..57).contains(&whole.below_ns) && (40..57).contains(&whole.above_ns), "{whole:?}");
    }

    /// An interface's clock that is `ahead_ns` ahead of the uncorrected one, at its rate.
    fn clock_ahead_by(ahead_ns: i64) -> HardwareScale {
        let mut scale = HardwareScale::default();
        for number in 0..8 {
            let raw_ns = number * 250_000_000;
            scale.take(HardwareReading { raw_ns, clock_ns: raw_ns + ahead_ns, error_ns: 1, correction_ppb: 0 });
        }
        scale
    }

    #[test]
    fn stamps_of_interfaces_split_the_way_between_the_kernels_and_what_contradicts_them_does_not() {
        const YEARS_NS: i64 = 94_672_800_000_000_000;
        // Both nodes have one system clock, and exchanges in the right second.
        let at_ns = 1_000_000_000;
        let mut relation = Relation::new(100_000);
        for raw_ns in (0..1_200).map(|number| number * 1_000_000) {
            let reading = ClockReading { raw_ns, clock_ns: raw_ns, error_ns: 0 };
            relation.own_reading(reading);
            relation.partner_reading(reading);
            relation.exchange((raw_ns - 40, raw_ns), (raw_ns, raw_ns + 40));
        }
        let (sender, receiver) = (clock_ahead_by(-YEARS_NS), clock_ahead_by(YEARS_NS));
        let settle = |hardware_sent_ns: i64, hardware_came_ns: i64| {
            let mut receiving = Receiving::from(0, 1_000_000);
            let came = stamp(Some(hardware_came_ns + YEARS_NS));
            receiving.take_all(&[Arrived { hardware_ns: came, ..arrived(0, at_ns, LaterStamps::default()) }]);
            receiving.take_all(&[arrived(1, at_ns + 1_000, stamps(0, at_ns - 30))]);
            let clocks = Clocks { relation: &relation, sender: Some(&sender), receiver: Some(&receiver) };
            let mut out = Vec::new();
            receiving.settle(&clocks, at_ns + 2_000, false, &mut out);
            assert!(out.is_empty(), "the interface's stamp may come yet");
            let left =
                LaterStamps { stack_ns: None, hardware_ns: stamp(Some(hardware_sent_ns - YEARS_NS)), ..stamps(0, 0) };
            receiving.take_all(&[arrived(2, at_ns + 3_000, left)]);
            receiving.settle(&clocks, at_ns + 4_000, false, &mut out);
            assert_eq!(out.len(), 1, "the next one has no stamp yet");
            out.remove(0)
        };
        let one = settle(at_ns - 25, at_ns - 12);
        let HardwareParts {
            transmitted_to_hw_transmitted,
            hw_transmitted_to_hw_arrived,
            hw_arrived_to_arrived,
            contradicting,
        } = *one.hardware.unwrap();
        let parts =
            [transmitted_to_hw_transmitted, hw_transmitted_to_hw_arrived, hw_arrived_to_arrived].map(Option::unwrap);
        assert_eq!((parts.map(|part| part.ns), contradicting), ([5, 13, 2], 0));
        assert_eq!(parts.iter().map(|part| part.ns).sum::<i64>(), one.transmitted_to_arrived.unwrap().ns);
        // The error of one node's part is that of the conversion; that between the nodes has both, and the clocks'.
        let largest = |part: Delay| part.below_ns.max(part.above_ns);
        assert!(largest(parts[0]) >= 3 && largest(parts[1]) >= 46, "{parts:?}");
        // Sent long before the driver had it: then nothing between the interfaces is known.
        let before = settle(at_ns - 50_000, at_ns - 12).hardware.unwrap();
        assert_eq!((before.transmitted_to_hw_transmitted, before.hw_transmitted_to_hw_arrived), (None, None));
        assert_eq!((before.hw_arrived_to_arrived.map(|part| part.ns), before.contradicting), (Some(2), 1));
    }

    #[test]
    fn of_the_stamps_of_a_packet_that_was_doubled_on_its_way_the_first_counts() {
        let relation = related(20_000);
        for doubled in [[4_970, 4_990], [4_990, 4_970]] {
            let mut receiving = Receiving::from(0, 1_000_000);
            receiving.take_all(&[arrived(0, 5_000, LaterStamps::default())]);
            receiving.take_all(&[arrived(1, 6_000, stamps(0, doubled[0]))]);
            receiving.take_all(&[arrived(2, 7_000, stamps(0, doubled[1]))]);
            let out = all(&mut receiving, &relation, 8_000, true);
            assert_eq!(out[0].sent_to_transmitted_ns, Some(20), "{doubled:?}");
        }
    }

    #[test]
    fn a_packet_waits_for_the_next_exchange_and_not_for_ever() {
        let mut receiving = Receiving::from(0, 1_000_000);
        receiving.take_all(&[arrived(0, 9_000, LaterStamps::default())]);
        receiving.take_all(&[arrived(1, 9_100, stamps(0, 8_970))]);
        let relation = related(8_000);
        assert!(all(&mut receiving, &relation, 10_000, false).is_empty());
        let late = all(&mut receiving, &relation, 9_000 + CLOCKS_WAIT_NS + 1, false);
        assert_eq!(late.len(), 1, "the other one is younger");
        assert!(late[0].sent_to_received.is_some(), "by the exchange before it");
        assert_eq!(all(&mut receiving, &relation, 9_200, true).len(), 1);
    }

    #[test]
    fn packets_that_are_taken_together_stand_in_their_own_intervals() {
        // A packet each 7 ms; each tenth is lost.
        let at_ns = |number: u64| 5_000 + i64::try_from(number).unwrap() * 7_000_000;
        let all: Vec<Arrived> = (0..200)
            .filter(|number| number % 10 != 3)
            .map(|number| arrived(number, at_ns(number), LaterStamps::default()))
            .collect();
        let (mut together, mut single) = (Receiving::from(0, 1_000_000), Receiving::from(0, 1_000_000));
        together.take_all(&all);
        all.iter().for_each(|one| single.take_all(std::slice::from_ref(one)));
        assert_eq!(together.over_time(), single.over_time());
        assert_eq!(together.over_time().len(), 14, "of 100 ms each");
    }

    #[test]
    fn copies_and_stamps_of_lost_packets_make_no_delay() {
        let mut receiving = Receiving::from(0, 1_000_000);
        let relation = related(20_000);
        receiving.take_all(&[arrived(0, 5_000, LaterStamps::default())]);
        receiving.take_all(&[arrived(0, 5_100, LaterStamps::default())]);
        receiving.take_all(&[arrived(3, 6_000, stamps(1, 4_970))]);
        receiving.take_all(&[arrived(2, 6_100, LaterStamps::default())]);
        receiving.take_all(&[arrived(4, 6_200, stamps(3, 5_960))]);
        let out = all(&mut receiving, &relation, 7_000, true);
        assert_eq!(out.iter().map(|one| one.sequence).collect::<Vec<_>>(), [0, 3, 2, 4]);
        assert_eq!(out.iter().filter(|one| one.sent_to_transmitted_ns.is_some()).count(), 1);
        let counted = receiving.arrivals();
        assert_eq!((counted.once, counted.doubled, counted.reordered), (4, 1, 1));
        assert_eq!(receiving.known_sent(), 5);
        let follow_up = Header { purpose: Purpose::FollowUp, sent_before: 7, ..header(9, 8_000, stamps(2, 1)) };
        receiving.take_all(&[came(&follow_up, 8_000)]);
        assert_eq!((receiving.known_sent(), receiving.arrivals().once), (7, 4));
        let [over_time] = receiving.over_time() else { panic!("{:?}", receiving.over_time()) };
        assert_eq!((over_time.sent, over_time.arrived, over_time.missing), (7, 4, 3));
        assert_eq!((over_time.doubled, over_time.reordered), (1, 1));
    }
}
