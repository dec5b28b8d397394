//! Packets and messages between two nodes of any bytes: what has no right tag is refused; whatever a partner with the session's
//! key says of its clocks and stamps, no packet is counted twice or lost, and no sum overflows.
//!
//! Input: what the two nodes do, one after the other, as `arbitrary` spells it.
#![no_main]

use std::hash::Hasher;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use packet::arrived::Arrived;
use packet::exchange::{Answerer, Asker, Came, Spoken};
use packet::hardware::{HardwareReading, HardwareScale};
use packet::header::{Genuine, HEADER_BYTES, Header, LARGEST_HEADER_BYTES, NotOurs, Purpose, Session, WORDS_BYTES};
use packet::probe::{PROBE_BYTES, Probe};
use packet::receiving::{Clocks, Receiving};
use packet::relation::Relation;
use packet::stamps::{EarlierStamps, LaterStamps, stamp};
use siphasher::sip::SipHasher13;
use sync::bound::ClockReading;

const SESSION: Session = Session { number: 0x0102_0304_0506_0708, key: [9; 16] };
const TAG_BYTES: usize = 8;

/// Times lie near each other more often than not, or nothing would ever be computed from two of them.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Time {
    Near(u32),
    Any(i64),
}

impl Time {
    fn ns(self) -> i64 {
        match self {
            Self::Near(ns) => ns.into(),
            Self::Any(ns) => ns,
        }
    }
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Stamps {
    before: u8,
    stack: Option<Time>,
    hardware: Option<Time>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    /// The partner's program writes a packet, and it comes in a payload of this length.
    Packet {
        sequence: u64,
        sent_before: u64,
        is_follow_up: bool,
        sent: Time,
        earlier: Vec<Stamps>,
        bytes: u8,
        came: [Time; 2],
        words: Option<[u64; 2]>,
    },
    /// A packet of any bytes comes, with a right tag behind so many words of them.
    Sealed {
        body: Vec<u8>,
        came: [Time; 2],
    },
    /// Something comes.
    Bytes(Vec<u8>),
    /// A message with a right tag comes, of this kind and these words.
    Message {
        kind: u8,
        words: [Time; 6],
    },
    Own([Time; 3]),
    Exchange([Time; 4]),
    /// The clock of an interface is read, of this node or of the partner.
    Interface {
        is_own: bool,
        clocks: [Time; 3],
        correction_ppb: i32,
    },
    Settle(Time),
}

fn tag(parts: [&[u8]; 2]) -> [u8; TAG_BYTES] {
    let mut hasher = SipHasher13::new_with_key(&SESSION.key);
    // The product hashes words as the network has them.
    parts.into_iter().flatten().copied().for_each(|byte| hasher.write_u8(byte));
    hasher.finish().to_be_bytes()
}

/// The first two words of whatever belongs to the session.
fn front(kind: u8) -> Vec<u8> {
    let mut bytes = b"PNCP".to_vec();
    bytes.extend([2, kind, 0, 0]);
    bytes.extend(SESSION.number.to_be_bytes());
    bytes
}

struct Node {
    relation: Relation,
    receiving: Receiving,
    asker: Asker,
    answerer: Answerer,
    messages: u64,
    interfaces: [HardwareScale; 2],
    has_interface: [bool; 2],
    /// Packets that came, and those that left again with their delay.
    taken: u64,
    settled: u64,
}

impl Node {
    fn settle(&mut self, now_ns: i64, is_end: bool) {
        let [sender, receiver] = &self.interfaces;
        let [has_sender, has_receiver] = self.has_interface;
        let clocks = Clocks {
            relation: &self.relation,
            sender: has_sender.then_some(sender),
            receiver: has_receiver.then_some(receiver),
        };
        let mut out = Vec::new();
        self.receiving.settle(&clocks, now_ns, is_end, &mut out);
        self.settled += out.len() as u64;
        for one in out {
            // Between the kernels there is one only if both have stamped. Where that was near the programs' times, there is one if there
            // is one between these; a stamp that is minutes away may be of a time of which nothing is known.
            let stamps = [one.sent_to_transmitted_ns, one.arrived_to_received_ns];
            let are_near = stamps.iter().all(|ns| ns.is_some_and(|ns| (0..=100_000).contains(&ns)));
            assert!(one.transmitted_to_arrived.is_none() || stamps.iter().all(Option::is_some), "{one:?}");
            assert!(one.sent_to_received.is_none() || one.transmitted_to_arrived.is_some() || !are_near, "{one:?}");
            assert_eq!(one.hardware.is_some(), has_sender || has_receiver);
        }
    }

    /// Both sides of the clocks' exchange take a message, whatever it says.
    fn hear(&mut self, probe: Probe) {
        let now_ns = probe.reading.raw_ns;
        let came = Came { probe, at_ns: probe.reading.clock_ns, before: probe.reading };
        self.asker.came(&came);
        self.answerer.came(&came);
        for transmission in self.messages.saturating_sub(3)..self.messages {
            self.asker.stamped(transmission, probe.sent_ns);
            self.answerer.stamped(transmission, probe.received_ns);
        }
        for _ in 0..4 {
            let asked = self.asker.next(now_ns);
            let Some(message) = asked.or_else(|| self.answerer.next(now_ns)) else { break };
            let transmission = (self.messages % 5 != 4).then_some(self.messages);
            self.messages += 1;
            let spoken = Spoken { transmission, before_ns: probe.sent_ns, reading: probe.reading, now_ns };
            if asked.is_some() { self.asker.said(&message, &spoken) } else { self.answerer.said(&message, &spoken) }
        }
        while let Some(exchanged) = self.asker.take().or_else(|| self.answerer.take()) {
            let times = exchanged.times;
            assert!(times.t1_ns <= times.t4_ns && times.t2_ns <= times.t3_ns, "{exchanged:?}");
        }
    }

    fn take(&mut self, arrived: Arrived) {
        self.taken += u64::from(arrived.header.purpose() == Purpose::Measured);
        self.receiving.take_all(&[arrived]);
        let arrivals = self.receiving.arrivals();
        assert_eq!(arrivals.once + arrivals.doubled + arrivals.too_old, self.taken);
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Packet { sequence, sent_before, is_follow_up, sent, earlier, bytes, came, words } => {
                let mut known = EarlierStamps::default();
                for one in earlier.iter().take(8) {
                    known.take(LaterStamps {
                        sequence: sequence.wrapping_sub(u64::from(one.before)),
                        stack_ns: stamp(one.stack.map(Time::ns)),
                        hardware_ns: stamp(one.hardware.map(Time::ns)),
                    });
                }
                let purpose = if is_follow_up { Purpose::FollowUp } else { Purpose::Measured };
                let header = Header { purpose, flow: 1, sequence, sent_before, sent_ns: sent.ns(), earlier: known };
                let mut payload = vec![0; usize::from(bytes)];
                header.write_with(&SESSION, words, &mut payload);
                let words_bytes = if words.is_some() { WORDS_BYTES } else { 0 };
                let [stack, received] = came.map(Time::ns);
                match Arrived::read(&SESSION, 1, &payload, [Some(stack), None], received) {
                    Ok(arrived) => {
                        let came = &arrived.header;
                        assert_eq!((came.purpose(), came.flow(), came.sequence()), (purpose, 1, sequence));
                        assert_eq!((came.sent_ns(), came.sent_before()), (sent.ns(), sent_before & ((1 << 48) - 1)));
                        assert_eq!(packet::header::words(&payload), words);
                        self.take(arrived);
                    }
                    Err(error) => {
                        assert!(payload.len() < HEADER_BYTES + words_bytes && error == NotOurs::Foreign);
                    }
                }
            }
            Step::Sealed { body, came } => {
                let mut payload = front(0);
                payload.extend(&body[..(body.len() / 8 * 8).min(2 * LARGEST_HEADER_BYTES)]);
                payload.extend(tag([&payload[16..], &[]]));
                let [stack, received] = came.map(Time::ns);
                if let Ok(arrived) = Arrived::read(&SESSION, 1, &payload, [None, Some(stack)], received) {
                    let _ = packet::header::words(&payload);
                    self.take(arrived);
                }
            }
            Step::Bytes(bytes) => {
                assert!(Genuine::read(&SESSION, &bytes).is_err() && Probe::read(&SESSION, &bytes).is_err());
                let mut ours = front(bytes.first().map_or(0, |kind| kind % 24));
                ours.extend(&bytes);
                ours.resize(ours.len().max(PROBE_BYTES), 0);
                assert!(Genuine::read(&SESSION, &ours).is_err() && Probe::read(&SESSION, &ours).is_err());
            }
            Step::Message { kind, words } => {
                let mut bytes = front(16 + kind % 5);
                bytes.extend(words.iter().flat_map(|word| word.ns().to_be_bytes()));
                bytes.extend([0; 8]);
                bytes.extend(tag([&bytes[..8], &bytes[16..]]));
                match Probe::read(&SESSION, &bytes) {
                    Ok(probe) => {
                        let mut again = [0; PROBE_BYTES];
                        probe.write(&SESSION, &mut again);
                        assert_eq!(bytes, again);
                        self.relation.partner_reading(probe.reading);
                        self.hear(probe);
                    }
                    Err(error) => assert!(kind % 5 == 4 && error == NotOurs::Foreign, "{error:?}"),
                }
            }
            Step::Own(clocks) => {
                let [raw_ns, clock_ns, error_ns] = clocks.map(Time::ns);
                self.relation.own_reading(ClockReading { raw_ns, clock_ns, error_ns });
            }
            Step::Exchange(times) => {
                let [sent, came, went, arrived] = times.map(Time::ns);
                self.relation.exchange((sent, came), (went, arrived));
            }
            Step::Interface { is_own, clocks, correction_ppb } => {
                let [raw_ns, clock_ns, error_ns] = clocks.map(Time::ns);
                self.has_interface[usize::from(is_own)] = true;
                let reading = HardwareReading { raw_ns, clock_ns, error_ns, correction_ppb: correction_ppb.into() };
                self.interfaces[usize::from(is_own)].take(reading);
            }
            Step::Settle(now) => self.settle(now.ns(), false),
        }
    }
}

fuzz_target!(|run: (u32, Vec<Step>)| {
    let (max_drift_ppb, steps) = run;
    let mut node = Node {
        relation: Relation::new(max_drift_ppb),
        receiving: Receiving::from(0, 1_000_000),
        asker: Asker::new(0, 0),
        answerer: Answerer::new(0),
        messages: 0,
        interfaces: Default::default(),
        has_interface: [false; 2],
        taken: 0,
        settled: 0,
    };
    steps.into_iter().for_each(|step| node.step(step));
    node.settle(0, true);
    assert_eq!(node.settled, node.receiving.arrivals().once);
});
