//! Exchanges put together from frames that are written here: masters, domains, one-step Sync, relays, time scales, time lost.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use codecs::capture::exchanges::{Captured, Exchanges};
use codecs::capture::file::Frame;
use record::{HardBound, SyncChange};

const S: i64 = 1_000_000_000;
const EPOCH: i64 = 1_700_000_000 * S;

/// A network of which one machine captures: each message is put into the capture as that machine saw it.
struct Network {
    exchanges: Exchanges,
    domain: u8,
    master: u8,
    /// What the master's time is ahead of UTC, and says so.
    tai_s: i64,
    /// The capturing clock less UTC (ns).
    offset_ns: i64,
    knows_direction: bool,
    requester: u8,
    relay_ns: i64,
    /// By how much the clock is set between the Sync and the request of an exchange.
    set_within_exchange_ns: i64,
    are_requests_received: bool,
    /// How long after each message its copies are captured (ns).
    copies_after_ns: Vec<i64>,
    /// Copies that are still to be captured: when, which way, of which link, and what.
    later: Vec<(i64, Option<bool>, u16, Vec<u8>)>,
}

impl Network {
    fn new() -> Self {
        Self {
            exchanges: Exchanges::new(100_000),
            domain: 0,
            master: 1,
            tai_s: 0,
            offset_ns: 0,
            knows_direction: true,
            requester: 9,
            relay_ns: 0,
            set_within_exchange_ns: 0,
            are_requests_received: false,
            copies_after_ns: Vec::new(),
            later: Vec::new(),
        }
    }

    fn message(&self, kind: u8, source: u8, sequence: u16, flags: u16, correction_ns: i64, body: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([0x88, 0xf7]);
        let length = u16::try_from(34 + body.len()).unwrap();
        frame.extend([kind, 2]);
        frame.extend(length.to_be_bytes());
        frame.extend([self.domain, 0]);
        frame.extend(flags.to_be_bytes());
        frame.extend((correction_ns << 16).to_be_bytes());
        frame.extend([0; 4]);
        frame.extend([0, 0, 0, 0xff, 0xfe, 0, 0, source, 0, 1]);
        frame.extend(sequence.to_be_bytes());
        frame.extend([0, 0]);
        frame.extend(body);
        frame
    }

    fn stamp(&self, utc_ns: i64) -> Vec<u8> {
        let ns = utc_ns + self.tai_s * S;
        let seconds = u64::try_from(ns / S).unwrap().to_be_bytes();
        [&seconds[2..], &u32::try_from(ns % S).unwrap().to_be_bytes()].concat()
    }

    fn captured(&mut self, utc_ns: i64, is_outgoing: bool, bytes: &[u8]) {
        let is_outgoing = self.knows_direction.then_some(is_outgoing);
        self.put(utc_ns + self.offset_ns, is_outgoing, 1, bytes);
    }

    /// Captures a frame after the copies that come before it, in the order of time.
    fn put(&mut self, at_ns: i64, is_outgoing: Option<bool>, link_type: u16, bytes: &[u8]) {
        self.put_copies(at_ns);
        self.take(at_ns, is_outgoing, link_type, bytes);
        for after_ns in self.copies_after_ns.clone() {
            self.later.push((at_ns + after_ns, is_outgoing, link_type, bytes.to_vec()));
        }
    }

    fn put_copies(&mut self, until_ns: i64) {
        self.later.sort_by_key(|copy| copy.0);
        let due = self.later.partition_point(|copy| copy.0 <= until_ns);
        for (at_ns, is_outgoing, link_type, bytes) in self.later.drain(..due).collect::<Vec<_>>() {
            self.take(at_ns, is_outgoing, link_type, &bytes);
        }
    }

    fn take(&mut self, at_ns: i64, is_outgoing: Option<bool>, link_type: u16, bytes: &[u8]) {
        let frame = Frame { at_ns: Some(at_ns), resolution_ns: 0, link_type, is_outgoing, is_cut: false, bytes };
        self.exchanges.take(&frame);
    }

    fn finish(mut self) -> Captured {
        self.put_copies(i64::MAX);
        self.exchanges.finish()
    }

    fn sync(&mut self, utc_ns: i64, sequence: u16, forward_ns: i64) {
        let sync = self.message(0x0, self.master, sequence, 0x0200, 0, &[0; 10]);
        self.captured(utc_ns + forward_ns, false, &sync);
    }

    fn follow_up(&mut self, utc_ns: i64, sequence: u16, sent_ns: i64) {
        let bytes = self.message(0x8, self.master, sequence, 0, 0, &self.stamp(sent_ns));
        self.captured(utc_ns, false, &bytes);
    }

    fn request(&mut self, utc_ns: i64, sequence: u16) {
        let request = self.message(0x1, self.requester, sequence, 0, 0, &[0; 10]);
        self.captured(utc_ns, true, &request);
    }

    fn response(&mut self, utc_ns: i64, sequence: u16, received_ns: i64, requester: u8) {
        let mut body = self.stamp(received_ns);
        body.extend([0, 0, 0, 0xff, 0xfe, 0, 0, requester, 0, 1]);
        let answer = self.message(0x9, self.master, sequence, 0, 0, &body);
        self.captured(utc_ns, false, &answer);
    }

    /// A message between client port 40000 and server, as it is captured in a raw frame of IPv4.
    fn ntp(&mut self, utc_ns: i64, is_question: bool, stamps: [u64; 3]) {
        let (ends, ports) = if is_question {
            ([10, 0, 0, 1, 10, 0, 0, 2], [40_000_u16, 123])
        } else {
            ([10, 0, 0, 2, 10, 0, 0, 1], [123, 40_000])
        };
        let mut bytes = vec![0x45, 0, 0, 76, 0, 0, 0, 0, 64, 17, 0, 0];
        bytes.extend(ends);
        bytes.extend([ports[0], ports[1], 56, 0].iter().flat_map(|word| word.to_be_bytes()));
        bytes.extend([if is_question { 0x23 } else { 0x24 }, 1, 6, 0xe0]);
        bytes.resize(28 + 24, 0);
        bytes.extend(stamps.iter().flat_map(|stamp| stamp.to_be_bytes()));
        self.put(utc_ns + self.offset_ns, Some(is_question), 101, &bytes);
    }

    fn announce(&mut self, utc_ns: i64) {
        let mut body = vec![0; 10];
        body.extend(i16::try_from(self.tai_s).unwrap().to_be_bytes());
        body.extend([0; 7]);
        body.extend([0, 0, 0, 0xff, 0xfe, 0, 0, self.master]);
        body.extend([0, 0, 0x20]);
        let flags = if self.tai_s == 0 { 0 } else { 8 };
        let bytes = self.message(0xb, self.master, 0, flags, 0, &body);
        self.captured(utc_ns, false, &bytes);
    }

    /// A Sync in one step that is on its way for `forward_ns`, then a request that is for `backward_ns`.
    fn exchange(&mut self, utc_ns: i64, sequence: u16, forward_ns: i64, backward_ns: i64) {
        let sync = self.message(0x0, self.master, sequence, 0, self.relay_ns, &self.stamp(utc_ns));
        self.captured(utc_ns + forward_ns, false, &sync);
        let sent_ns = utc_ns + 100_000_000;
        let request = self.message(0x1, self.requester, sequence, 0, 0, &[0; 10]);
        self.offset_ns += self.set_within_exchange_ns;
        self.captured(sent_ns, !self.are_requests_received, &request);
        let mut body = self.stamp(sent_ns + backward_ns);
        body.extend([0, 0, 0, 0xff, 0xfe, 0, 0, self.requester, 0, 1]);
        let answer = self.message(0x9, self.master, sequence, 0, 0, &body);
        self.captured(sent_ns + backward_ns + 50_000, false, &answer);
    }

    fn exchanges(&mut self, from_s: i64, count: u16) {
        for number in 0..count {
            self.exchange(EPOCH + (from_s + i64::from(number)) * S, number, 10_000, 20_000);
        }
    }
}

fn bound(captured: &Captured, source: usize) -> (i64, i64) {
    match &captured.followed[source].parts[0].source.bound {
        HardBound::Stated { lowest_ns, highest_ns, .. } => (*lowest_ns, *highest_ns),
        other => panic!("{other:?}"),
    }
}

/// A time as NTP writes it.
fn ntp_stamp(utc_ns: i64) -> u64 {
    let (seconds, within_ns) = (u64::try_from(utc_ns / S).unwrap(), u64::try_from(utc_ns % S).unwrap());
    ((seconds + 2_208_988_800) << 32) | ((within_ns << 32) / 1_000_000_000)
}

/// Offsets that were seen, of exchanges that all were equally long in both directions.
fn offsets(captured: &Captured) -> (u64, i64, i64) {
    let spread = captured.followed[0].parts[0].source.spread.unwrap();
    (captured.offsets, spread.lowest_ns, spread.highest_ns)
}

#[test]
fn a_frame_that_is_captured_twice_is_one_message() {
    // As of a bridge and its port, and as of a replay after everything else of the exchange.
    for after_ns in [5_000, 3_000_000, 250_000_000] {
        let mut network = Network { offset_ns: 5_000, copies_after_ns: vec![after_ns], ..Network::new() };
        network.announce(EPOCH);
        for number in 0..5 {
            let at_ns = EPOCH + i64::from(number + 1) * S;
            network.sync(at_ns, number, 10_000);
            network.follow_up(at_ns + 300_000, number, at_ns);
            network.request(at_ns + 2_000_000, number);
            network.response(at_ns + 2_100_000, number, at_ns + 2_010_000, network.requester);
        }
        let captured = network.finish();
        assert_eq!(offsets(&captured), (5, 5_000, 5_000), "{after_ns}");
        let (lowest_ns, highest_ns) = bound(&captured, 0);
        assert!(lowest_ns <= 5_000 && 5_000 <= highest_ns && captured.contradictions.is_empty(), "{after_ns}");
        assert!(notes(&captured).contains("20 messages are copies"), "{}", notes(&captured));
    }
}

#[test]
fn a_follow_up_of_an_older_sync_with_the_same_number_is_none_of_a_newer_one_s() {
    let mut network = Network::new();
    network.announce(EPOCH);
    // The Follow_Up of the first is lost; the master is started anew, and of its Sync with the same number only that came.
    network.sync(EPOCH + S, 3, 10_000);
    network.follow_up(EPOCH + 9 * S, 3, EPOCH + 9 * S - 300_000);
    network.request(EPOCH + 9 * S + 1_000_000, 1);
    network.response(EPOCH + 9 * S + 1_100_000, 1, EPOCH + 9 * S + 1_010_000, 9);
    let captured = network.finish();
    assert_eq!(captured.offsets, 0, "{:?}", captured.followed);
}

#[test]
fn an_answer_is_of_the_request_that_it_names_and_of_no_older_one() {
    let mut network = Network::new();
    network.announce(EPOCH);
    for second in [1, 20] {
        let at_ns = EPOCH + second * S;
        network.sync(at_ns, 1, 10_000);
        network.follow_up(at_ns + 300_000, 1, at_ns);
        // The first is never answered, and the port is started anew: the same number.
        network.request(at_ns + 1_000_000, 7);
        // What another port asked with it is none of this one's.
        network.response(at_ns + 1_050_000, 7, at_ns + 1_010_000, 8);
        if second == 20 {
            network.response(at_ns + 1_100_000, 7, at_ns + 1_010_000, 9);
        }
    }
    // Whose the answer is cannot be known: that of the first may have been under way for as long.
    let captured = network.finish();
    assert_eq!(captured.offsets, 0, "{:?}", captured.followed);
}

#[test]
fn a_question_of_ntp_is_answered_once_and_an_answer_of_interleaved_mode_has_no_time_of_its_own() {
    for after_ns in [4_000, 200_000_000] {
        let mut network = Network { offset_ns: 70_000, copies_after_ns: vec![after_ns], ..Network::new() };
        for number in 1..6 {
            let at_ns = EPOCH + number * 64 * S;
            let cookie = 0x1234_5678_9abc_0000 + u64::try_from(number).unwrap();
            network.ntp(at_ns, true, [0, 0, cookie]);
            let [received, sent] = [at_ns + 10_000, at_ns + 20_000].map(ntp_stamp);
            network.ntp(at_ns + 30_000, false, [cookie, received, sent]);
        }
        let at_ns = EPOCH + 400 * S;
        network.ntp(at_ns, true, [0, 0, 77]);
        network.ntp(at_ns + 30_000, false, [77, ntp_stamp(at_ns + 10_000), ntp_stamp(at_ns - 64 * S)]);
        let captured = network.finish();
        let (count, lowest_ns, highest_ns) = offsets(&captured);
        assert_eq!(count, 5, "{after_ns}: {}", notes(&captured));
        assert!(lowest_ns >= 69_990 && highest_ns <= 70_010, "{after_ns}: {lowest_ns} {highest_ns}");
    }
}

fn notes(captured: &Captured) -> String {
    captured.notes.join("; ")
}

#[test]
fn one_step_sync_of_a_master_on_tai_bounds_a_clock_on_utc() {
    let mut network = Network { tai_s: 37, offset_ns: 5_000, ..Network::new() };
    network.announce(EPOCH);
    network.exchanges(1, 5);
    let captured = network.exchanges.finish();
    assert_eq!((captured.followed.len(), captured.offsets), (1, 5));
    // 10 us there and 20 us back: the servo would be 5 us off, the bound is not.
    let spread = captured.followed[0].parts[0].source.spread.unwrap();
    assert_eq!((spread.lowest_ns, spread.highest_ns), (0, 0));
    let (lowest_ns, highest_ns) = bound(&captured, 0);
    assert!(lowest_ns <= 5_000 - 20_000 && 5_000 + 10_000 <= highest_ns, "{lowest_ns} {highest_ns}");
    // Between two exchanges a second passes: 600 ppm of it at most on each side.
    assert!(lowest_ns > -700_000 && highest_ns < 700_000, "{lowest_ns} {highest_ns}");
    assert_eq!(captured.followed[0].parts[0].source.reference, "grand master 000000.fffe.000001");
}

#[test]
fn what_relays_say_moves_the_offset_and_never_tightens_the_bound() {
    for relay_ns in [8_000, -8_000] {
        let mut network = Network { relay_ns, ..Network::new() };
        network.announce(EPOCH);
        network.exchanges(1, 3);
        let captured = network.exchanges.finish();
        assert_eq!(captured.followed[0].parts[0].source.spread.unwrap().lowest_ns, (10_000 - relay_ns - 20_000) / 2);
        let first = captured.followed[0].parts[0].source.track[0].bound_ns.unwrap();
        let upper_ns = if relay_ns < 0 { 18_000 } else { 10_000 };
        // And what the tenth of a second until the request adds at 600 ppm, less what the message was on its way.
        assert!((upper_ns + 59_990..=upper_ns + 60_001).contains(&first.1), "{relay_ns}: {first:?}");
    }
}

#[test]
fn the_bound_of_an_exchange_waits_for_the_next_one() {
    let mut network = Network::new();
    network.announce(EPOCH);
    network.exchanges(1, 3);
    // The clock is set back between the two messages of an exchange: what was known of the lower side is not true any more, and
    // only the next exchange shows it.
    network.set_within_exchange_ns = -30_000_000;
    network.exchange(EPOCH + 4 * S, 4, 10_000, 20_000);
    network.set_within_exchange_ns = 0;
    network.exchange(EPOCH + 5 * S, 5, 10_000, 20_000);
    network.exchange(EPOCH + 6 * S, 6, 10_000, 20_000);
    let captured = network.exchanges.finish();
    // The step cuts the run: four exchanges before it was seen, two after.
    let parts = &captured.followed[0].parts;
    assert_eq!(parts.iter().map(|part| part.series[0].taken()).collect::<Vec<_>>(), [4, 2]);
    let track = || parts.iter().flat_map(|part| &part.source.track);
    let bounds: Vec<Option<(i64, i64)>> = track().filter(|point| point.count > 0).map(|point| point.bound_ns).collect();
    assert_eq!(bounds.len(), 6);
    assert!(bounds[0].is_some() && bounds[1].is_some(), "{bounds:?}");
    assert_eq!(bounds[3], None, "it would exclude the truth: {bounds:?}");
    let (lower_ns, upper_ns) = bounds[4].unwrap();
    assert!(lower_ns <= -30_000_000 && -30_000_000 <= upper_ns, "{bounds:?}");
    assert_eq!(bounds[5], None, "nothing follows the last one");
    assert!(captured.followed[0].events.iter().any(|event| event.what == SyncChange::Step));
    // Also where only the bound was looked at, the truth is within it: the fourth request was sent after the clock was set.
    for point in track() {
        let Some((lower_ns, upper_ns)) = point.bound_ns else { continue };
        let truth_ns = if point.at.realtime.as_ns() < EPOCH + 4 * S { 0 } else { -30_000_000 };
        assert!(lower_ns <= truth_ns && truth_ns <= upper_ns, "{point:?}");
    }
}

#[test]
fn requests_of_other_machines_are_none_of_this_clock() {
    let mut network = Network { are_requests_received: true, ..Network::new() };
    network.announce(EPOCH);
    network.exchanges(1, 3);
    let captured = network.exchanges.finish();
    assert_eq!(captured.offsets, 0);
    assert!(notes(&captured).contains("3 requests are of other machines"), "{}", notes(&captured));
}

#[test]
fn domains_and_masters_are_followed_each_by_itself_and_a_change_is_an_event() {
    let mut network = Network::new();
    network.announce(EPOCH);
    network.exchanges(1, 3);
    network.domain = 24;
    network.announce(EPOCH + 10 * S);
    network.exchanges(11, 3);
    network.domain = 0;
    network.master = 2;
    network.announce(EPOCH + 20 * S);
    network.exchanges(21, 3);
    let captured = network.exchanges.finish();
    let names: Vec<String> = captured.followed.iter().map(|one| one.parts[0].source.name()).collect();
    assert_eq!(
        names,
        [
            "capture 000000.fffe.000001-1 domain 0",
            "capture 000000.fffe.000001-1 domain 24",
            "capture 000000.fffe.000002-1 domain 0"
        ]
    );
    let changes: Vec<&str> = captured.followed[2].events.iter().map(|event| event.detail.as_str()).collect();
    assert_eq!(changes, ["master 000000.fffe.000001-1 to master 000000.fffe.000002-1"]);
    assert_eq!(captured.followed[2].events[0].what, SyncChange::Reference);
    assert!(captured.followed[1].events.is_empty(), "another domain is no change");
}

#[test]
fn a_master_that_never_says_its_time_scale_gives_no_offset() {
    let mut network = Network::new();
    network.exchanges(1, 3);
    let captured = network.exchanges.finish();
    assert_eq!((captured.followed.len(), captured.offsets), (0, 0));
    assert!(notes(&captured).contains("TAI or UTC is not known"), "{}", notes(&captured));
}

#[test]
fn another_time_scale_forgets_both_sides() {
    let mut network = Network { tai_s: 36, ..Network::new() };
    network.announce(EPOCH);
    network.exchanges(1, 3);
    network.tai_s = 37;
    network.announce(EPOCH + 10 * S);
    network.exchanges(11, 3);
    let captured = network.exchanges.finish();
    assert!(captured.contradictions.is_empty(), "{:?}", captured.contradictions);
    let events: Vec<SyncChange> = captured.followed[0].events.iter().map(|event| event.what).collect();
    assert_eq!(events, [SyncChange::TimeScale]);
    let of = |part: usize| captured.followed[0].parts[part].series[0].taken();
    assert_eq!((captured.followed[0].parts.len(), of(0), of(1)), (2, 3, 3), "nothing is put together over it");
}

#[test]
fn stamps_that_exclude_each_other_again_and_again_are_no_steps() {
    let mut network = Network::new();
    network.announce(EPOCH);
    for number in 0..12_u16 {
        network.offset_ns = if number % 2 == 0 { 0 } else { 30_000_000 };
        network.exchange(EPOCH + i64::from(number + 1) * S, number, 10_000, 10_000);
    }
    let captured = network.exchanges.finish();
    assert_eq!(captured.contradictions.len(), 1, "{:?}", captured.contradictions);
    // A request that is answered before it was sent cannot be, whatever the clock did.
    let mut network = Network::new();
    network.announce(EPOCH);
    network.exchange(EPOCH + S, 1, 10_000, -200_000);
    network.exchange(EPOCH + 2 * S, 2, 10_000, -200_000);
    let captured = network.exchanges.finish();
    assert_eq!(captured.contradictions.len(), 1, "{:?}", captured.contradictions);
}

#[test]
fn without_directions_each_requester_is_a_source_of_its_own_and_none_has_a_bound() {
    let mut network = Network { knows_direction: false, ..Network::new() };
    network.announce(EPOCH);
    network.exchanges(1, 3);
    network.requester = 8;
    network.exchanges(11, 3);
    let captured = network.exchanges.finish();
    assert_eq!(captured.followed.len(), 2);
    for followed in &captured.followed {
        assert!(matches!(followed.parts[0].source.bound, HardBound::Missing { .. }));
        assert!(!followed.parts[0].series[0].judged);
    }
}

#[test]
fn peer_delay_and_what_a_master_sends_give_no_offset() {
    let mut network = Network::new();
    let request = network.message(0x2, 9, 1, 0, 0, &[0; 20]);
    network.captured(EPOCH, true, &request);
    let sync = network.message(0x0, 9, 1, 0, 0, &network.stamp(EPOCH));
    network.captured(EPOCH, true, &sync);
    let captured = network.exchanges.finish();
    assert_eq!(captured.offsets, 0);
    let notes = notes(&captured);
    assert!(notes.contains("1 messages are of the peer-to-peer") && notes.contains("as master or server"), "{notes}");
}
