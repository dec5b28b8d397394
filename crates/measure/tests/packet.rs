//! Two halves of a run in one process, over the loopback interface: what becomes of packets that others send, double or
//! forge, and of a partner that is gone. Both halves have the same clock, so the truth about its offset is known: 0.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::net::{SocketAddr, UdpSocket};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use measure::packet::{Dialog, Ends, NodeThreads, PartnerGone, Role, Setup, follow, lead, wants_half};
use measure::{IntervalSink, Machine, RunContext, Stop};
use packet::dialog::{Endpoints, Message};
use packet::header::{HEADER_BYTES, Header, Purpose, Session};
use packet::stamps::EarlierStamps;
use record::{
    Fold, HardwareMode, Interval, PacketDirection, PacketFlow, PacketRequest, ReasonCode, ReceiveMode, Record, RunEnd,
    Series, Told, ValidityState,
};
use units::Ns;

const SESSION: Session = Session { number: 0x1234_5678_9abc_def0, key: [7; 16] };

/// One side of a conversation within this process.
struct Talk {
    say: Option<Sender<Message>>,
    hear: Receiver<Message>,
    /// Hangs up after so many messages of its own.
    hangs_up_after: Option<usize>,
    /// Whether the record of the other half is damaged on its way.
    damages_halves: bool,
    /// Ends the run after a time, as a user would.
    stops_after: Option<Duration>,
    /// The same once both sides have heard of the other half.
    stops_once_both_heard: bool,
    /// Hangs up once the other side has heard of this half.
    hangs_up_once_heard: bool,
    /// Tellings that the other side has heard, and those that it told.
    heard: (u32, u32),
    began: Instant,
}

impl Talk {
    fn new(say: Sender<Message>, hear: Receiver<Message>) -> Self {
        Self {
            say: Some(say),
            hear,
            hangs_up_after: None,
            damages_halves: false,
            stops_after: None,
            stops_once_both_heard: false,
            hangs_up_once_heard: false,
            heard: (0, 0),
            began: Instant::now(),
        }
    }
}

fn gone() -> PartnerGone {
    PartnerGone("the other half hung up".to_owned())
}

impl Dialog for Talk {
    fn say(&mut self, message: &Message) -> Result<(), PartnerGone> {
        if self.hangs_up_after == Some(0) {
            self.say = None;
        }
        self.hangs_up_after = self.hangs_up_after.map(|left| left.saturating_sub(1));
        self.say.as_ref().ok_or_else(gone)?.send(message.clone()).map_err(|_| gone())
    }

    fn offer(&mut self, message: &Message) -> Result<bool, PartnerGone> {
        self.say(message).map(|()| true)
    }

    fn hear(&mut self, within: Duration) -> Result<Option<Message>, PartnerGone> {
        let have_both = self.stops_once_both_heard && self.heard.0 > 0 && self.heard.1 > 0;
        if have_both || self.stops_after.is_some_and(|after| self.began.elapsed() > after) {
            (self.stops_once_both_heard, self.stops_after) = (false, None);
            self.say(&Message::Stop { why: "it has seen enough".to_owned() })?;
            return Ok(Some(Message::Stop { why: "it has seen enough".to_owned() }));
        }
        match self.hear.recv_timeout(within) {
            Ok(Message::Half { .. }) if self.damages_halves => Ok(Some(Message::Half { record: "{}".to_owned() })),
            Ok(message) => {
                self.heard.0 += u32::from(message == Message::Heard);
                self.heard.1 += u32::from(matches!(&message, Message::Told { piece } if piece.is_last));
                if self.hangs_up_once_heard && self.heard.0 > 0 {
                    self.say = None;
                }
                Ok(Some(message))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
        }
    }
}

fn talk() -> (Talk, Talk) {
    let ((say_a, hear_a), (say_b, hear_b)) = (channel(), channel());
    (Talk::new(say_a, hear_b), Talk::new(say_b, hear_a))
}

fn request(change: impl FnOnce(&mut PacketRequest)) -> PacketRequest {
    let mut request = PacketRequest {
        interval: Ns::from_ms(2),
        end: RunEnd::Samples(150),
        sched_priority: None,
        sync: false,
        ..PacketRequest::default()
    };
    change(&mut request);
    request
}

/// Both records, and what the test did in between with the endpoints of both.
fn run(
    request: &PacketRequest,
    address: &str,
    talks: (Talk, Talk),
    meanwhile: impl FnOnce(&Endpoints, &Endpoints),
) -> (Record, Record) {
    run_aimed(request, address, talks, |_| {}, meanwhile)
}

/// As [`run`]; `aim` changes where each half takes the other one to be.
fn run_aimed(
    request: &PacketRequest,
    address: &str,
    talks: (Talk, Talk),
    aim: impl Fn(&mut Endpoints),
    meanwhile: impl FnOnce(&Endpoints, &Endpoints),
) -> (Record, Record) {
    run_handed_on(request, address, (talks, [None, None]), aim, meanwhile)
}

/// As [`run_aimed`]; each node with who takes its intervals, where somebody does.
fn run_handed_on(
    request: &PacketRequest,
    address: &str,
    ((mut a, mut b), sinks): ((Talk, Talk), [Option<&dyn IntervalSink>; 2]),
    aim: impl Fn(&mut Endpoints),
    meanwhile: impl FnOnce(&Endpoints, &Endpoints),
) -> (Record, Record) {
    let local: SocketAddr = address.parse().unwrap();
    let (machine, context, stop) = (Machine::read(), RunContext::default(), Stop::new());
    let setup = |role, node, sink| Setup {
        request,
        role,
        threads: NodeThreads { cpu: None, sched_priority: request.sched_priority },
        session: SESSION,
        node,
        machine: &machine,
        context: &context,
        stop: &stop,
        sink,
        explain: None,
    };
    let [ends_a, ends_b] = [Role::Initiator, Role::Partner]
        .map(|role| Ends::open(request, role, request.hardware_stamps, local, local).unwrap());
    let [wants_a, wants_b] = sinks.map(|sink| wants_half(sink, request.end));
    let (mut at_a, mut at_b) = (ends_a.endpoints("a", wants_a), ends_b.endpoints("b", wants_b));
    aim(&mut at_a);
    aim(&mut at_b);
    std::thread::scope(|scope| {
        let (setup_a, setup_b) = (setup(Role::Initiator, "a", sinks[0]), setup(Role::Partner, "b", sinks[1]));
        let (at_a, at_b) = (&at_a, &at_b);
        let leading = scope.spawn(move || lead(&setup_a, ends_a, at_b, &mut a, &mut |_| {}).unwrap());
        let following = scope.spawn(move || follow(&setup_b, ends_b, at_a, &mut b, &mut |_| {}).unwrap());
        meanwhile(at_a, at_b);
        (leading.join().unwrap(), following.join().unwrap())
    })
}

/// Keeps what is handed on as a file or a stream of events would.
#[derive(Default)]
struct Kept(Mutex<(Told, Fold)>);

impl IntervalSink for Kept {
    fn take(&self, intervals: Vec<(usize, Interval)>, so_far: Record) {
        let (told, fold) = &mut *self.0.lock().unwrap();
        fold.take(told.intervals(&intervals, so_far));
    }

    fn replace(&self, so_far: Record) {
        self.0.lock().unwrap().1.take(record::RunEvent::SoFar { record: Box::new(so_far) });
    }
}

impl Kept {
    fn so_far(&self) -> Option<Record> {
        self.0.lock().unwrap().1.record().cloned()
    }

    fn whole(self, finished: Record) -> Record {
        let (told, mut fold) = self.0.into_inner().unwrap();
        fold.take(told.finished(finished));
        fold.into_record().unwrap()
    }
}

fn flow(record: &Record, number: u32) -> &PacketFlow {
    record.packets().unwrap().flows.iter().find(|flow| flow.flow == number).unwrap()
}

fn taken(record: &Record, name: &str) -> u64 {
    record.series.iter().filter(|series| series.name == name).map(Series::taken).sum()
}

#[test]
fn a_run_without_stamps_of_interfaces_goes_on_and_says_why_there_are_none() {
    let wanted = request(|request| request.hardware_stamps = HardwareMode::Auto);
    let (record, _) = run(&wanted, "127.0.0.1:0", talk(), |_, _| {});
    let run = record.packets().unwrap();
    let nodes: Vec<&str> = run.hardware.iter().map(|one| one.node.as_str()).collect();
    assert_eq!(nodes, ["a", "b"]);
    for one in &run.hardware {
        let said = one.in_words();
        assert!(!one.sent && !one.received && said.contains("within this machine"), "{said}");
    }
    let flow = flow(&record, 0);
    assert_eq!((flow.without_hw_transmitted, flow.without_hw_arrived), (0, 0), "nobody stamps");
    assert_eq!(taken(&record, "hw_transmitted_to_hw_arrived"), 0);
    assert!(taken(&record, "transmitted_to_arrived") > 0);
}

#[test]
fn both_nodes_get_one_record_with_both_halves() {
    let (one, other) = run(&request(|_| {}), "127.0.0.1:0", talk(), |_, _| {});
    for record in [&one, &other] {
        let flow = flow(record, 0);
        let sent = flow.sent.unwrap();
        assert_eq!(sent + flow.skipped.unwrap(), 150, "every schedule is sent or skipped");
        assert_eq!((flow.arrived, flow.lost), (Some(sent), Some(0)), "{flow:?}");
        assert_eq!((flow.foreign, flow.forged, flow.doubled, flow.reordered), (0, 0, 0, 0), "{flow:?}");
        assert_eq!((flow.from.as_str(), flow.to.as_str()), ("a", "b"));
        assert_eq!(taken(record, "sent_to_received"), sent);
        assert_eq!(taken(record, "scheduled_to_sent"), sent);
        // The loopback interface stamps both ways.
        assert_eq!((flow.without_transmitted, flow.without_arrived), (0, 0), "{flow:?}");
        assert_eq!(taken(record, "transmitted_to_arrived"), sent);
        let names: Vec<&str> = record.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(Record::from_json(&record.to_json()).unwrap(), *record);
    }
    assert_eq!(one, other);
}

/// Samples of all intervals of a series, and of the series.
fn in_intervals(record: &Record, name: &str) -> (u64, u64) {
    let of_series = record.series.iter().filter(|series| series.name == name);
    (of_series.flat_map(|series| &series.intervals).map(Interval::taken).sum(), taken(record, name))
}

#[test]
fn what_is_handed_on_of_both_halves_is_the_record() {
    for (end, direction) in
        [(RunEnd::After(Ns::from_s(60)), PacketDirection::Both), (RunEnd::WhenTold, PacketDirection::To)]
    {
        let (kept_a, kept_b) = (Kept::default(), Kept::default());
        let wanted = request(|one| (one.end, one.direction, one.interval) = (end, direction, Ns::from_ms(10)));
        let (mut a, b) = talk();
        match end {
            // The first of its intervals takes five minutes.
            RunEnd::WhenTold => a.stops_after = Some(Duration::from_secs(1)),
            _ => a.stops_once_both_heard = true,
        }
        let sinks: [Option<&dyn IntervalSink>; 2] = [Some(&kept_a), Some(&kept_b)];
        let (one, other) = run_handed_on(&wanted, "127.0.0.1:0", ((a, b), sinks), |_| {}, |_, _| {});
        assert_eq!(
            one.series.iter().map(Series::taken).collect::<Vec<_>>(),
            other.series.iter().map(Series::taken).collect::<Vec<_>>()
        );
        for (kept, record) in [(kept_a, one), (kept_b, other)] {
            let so_far = kept.so_far().unwrap();
            assert_eq!(so_far.nodes.iter().count(), 2, "both halves");
            // Those of a run that may go on for ever are in its file alone.
            assert_eq!(record.series.iter().all(|series| series.intervals.is_empty()), end == RunEnd::WhenTold);
            let keeps = end != RunEnd::WhenTold;
            let whole = kept.whole(record.clone());
            if keeps {
                assert_eq!(whole, record);
            }
            for name in ["scheduled_to_sent", "sent_to_received", "transmitted_to_arrived", "asked_to_answered"] {
                let (of_intervals, of_series) = in_intervals(&whole, name);
                assert!(of_intervals == of_series && of_series > 0, "{name}: {of_intervals} of {of_series}");
            }
        }
    }
}

#[test]
fn a_partner_that_is_gone_leaves_what_it_told_of_its_half() {
    // It sends and receives; after a few of its messages, less than one telling, or once it was heard, nothing comes any more.
    for hangs_up_after in [Some(20), None] {
        let kept = Kept::default();
        let wanted = request(|one| {
            (one.end, one.direction, one.interval) =
                (RunEnd::After(Ns::from_s(60)), PacketDirection::Both, Ns::from_ms(10));
        });
        let (a, mut b) = talk();
        (b.hangs_up_after, b.hangs_up_once_heard) = (hangs_up_after, hangs_up_after.is_none());
        let (own, _) = run_handed_on(&wanted, "127.0.0.1:0", ((a, b), [Some(&kept), None]), |_| {}, |_, _| {});
        assert!(own.validity.has(ReasonCode::PartnerLost), "{:?}", own.validity);
        let so_far = kept.so_far().unwrap();
        for record in [&so_far, &own] {
            assert_eq!(Record::from_json(&record.to_json()).unwrap(), *record);
            let (of_intervals, of_series) = in_intervals(record, "sent_to_received");
            assert_eq!(of_intervals, of_series, "{hangs_up_after:?}");
            let of_partner = |series: &&Series| series.node == "b" && series.name == "sent_to_received";
            let its = record.series.iter().find(of_partner);
            assert!(its.is_none_or(|series| series.taken() > 0));
            assert_eq!(its.is_some(), hangs_up_after.is_none(), "{:?}", record.validity);
        }
        // How many packets were lost is known of none: neither half has counted to its end.
        assert!(own.packets().unwrap().flows.iter().all(|flow| flow.lost.is_none()));
    }
}

#[test]
fn the_bound_on_the_clocks_contains_the_truth_and_so_does_the_error_of_every_delay() {
    let (record, _) = run(&request(|_| {}), "127.0.0.1:0", talk(), |_, _| {});
    let clocks = &record.packets().unwrap().clocks;
    assert_eq!(clocks.len(), 2, "each node compares its clock");
    for relation in clocks {
        assert!(relation.exchanges > 10, "{}", relation.exchanges);
        for point in &relation.track {
            let (lower_ns, upper_ns) = point.bound_ns.unwrap();
            assert!(lower_ns <= 0 && 0 <= upper_ns, "{lower_ns} to {upper_ns}");
        }
    }
    let series = record.series.iter().find(|series| series.name == "sent_to_received").unwrap();
    let uncertainty = series.uncertainty.unwrap();
    assert!(uncertainty.below_ns > 0 && uncertainty.above_ns > 0);
    assert!(series.intervals.iter().filter(|one| one.taken() > 0).all(|one| one.uncertainty.is_some()));
    // A packet takes time: whatever is computed, what is left of it within the error is above zero.
    let least_ns = series.histogram.min_ns().map_or(0, |ns| i64::try_from(ns + uncertainty.above_ns).unwrap());
    assert!(least_ns > 0);
}

#[test]
fn the_partner_sends_and_both_send_over_ipv6_too() {
    let (record, _) = run(&request(|one| one.direction = PacketDirection::From), "127.0.0.1:0", talk(), |_, _| {});
    assert_eq!(record.packets().unwrap().flows.len(), 1);
    assert_eq!((flow(&record, 1).from.as_str(), flow(&record, 1).lost), ("b", Some(0)));
    let (record, _) = run(&request(|one| one.direction = PacketDirection::Both), "[::1]:0", talk(), |_, _| {});
    assert_eq!(record.packets().unwrap().flows.len(), 2);
    for number in [0, 1] {
        assert_eq!(flow(&record, number).lost, Some(0));
        assert!(flow(&record, number).arrived.unwrap() > 100);
    }
}

#[test]
fn a_receiver_that_follows_the_schedule_or_polls_takes_them_all() {
    for mode in [ReceiveMode::Schedule, ReceiveMode::Poll] {
        let (record, _) = run(&request(|one| one.receive = mode), "127.0.0.1:0", talk(), |_, _| {});
        let flow = flow(&record, 0);
        assert_eq!((flow.arrived, flow.lost), (flow.sent, Some(0)), "{mode:?}");
    }
}

fn packet(session: &Session, sequence: u64) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    let header = Header {
        purpose: Purpose::Measured,
        flow: 0,
        sequence,
        sent_before: 0,
        sent_ns: 0,
        earlier: EarlierStamps::default(),
    };
    header.write(session, &mut bytes);
    bytes
}

/// Numbers of packets that somebody else sends first: so many that a busy machine does not skip them all.
const COPIED: std::ops::Range<u64> = 20..150;

#[test]
fn foreign_forged_and_doubled_packets_are_counted_apart_and_make_no_delay() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (record, _) = run(&request(|_| {}), "127.0.0.1:0", talk(), |_, at_b| {
        let to = ("127.0.0.1", at_b.data_port.unwrap());
        for number in 0..20 {
            socket.send_to(b"what is this?", to).unwrap();
            // Of another session, of this one without its key, and one that is genuine: the copy of a packet to come.
            socket.send_to(&packet(&Session { number: 1, ..SESSION }, number), to).unwrap();
            socket.send_to(&packet(&Session { key: [8; 16], ..SESSION }, number), to).unwrap();
        }
        for number in COPIED {
            socket.send_to(&packet(&SESSION, number), to).unwrap();
        }
    });
    let flow = flow(&record, 0);
    assert_eq!((flow.foreign, flow.forged), (40, 20), "{flow:?}");
    // The genuine ones came first, so what was sent under their numbers are the copies; what a busy machine skipped is none.
    let (sent, arrived) = (flow.sent.unwrap(), flow.arrived.unwrap());
    let skipped = arrived - sent;
    assert!(skipped <= flow.skipped.unwrap(), "{flow:?}");
    assert_eq!(flow.doubled + skipped, COPIED.end - COPIED.start, "{flow:?}");
    assert!(flow.doubled > 0, "{flow:?}");
    assert_eq!(taken(&record, "sent_to_received"), arrived);
}

#[test]
fn a_partner_that_hangs_up_costs_its_own_half_alone() {
    let (mut a, b) = talk();
    // It says that it begins, and then nothing more: neither what it sent nor its half.
    a.hangs_up_after = Some(1);
    let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let request = request(|_| {});
    let (machine, context, stop) = (Machine::read(), RunContext::default(), Stop::new());
    let setup = |role, node| Setup {
        request: &request,
        role,
        threads: NodeThreads::default(),
        session: SESSION,
        node,
        machine: &machine,
        context: &context,
        stop: &stop,
        sink: None,
        explain: None,
    };
    let [ends_a, ends_b] = [Role::Initiator, Role::Partner]
        .map(|role| Ends::open(&request, role, HardwareMode::Off, local, local).unwrap());
    let (at_a, at_b) = (ends_a.endpoints("a", false), ends_b.endpoints("b", false));
    let began = Instant::now();
    let record = std::thread::scope(|scope| {
        let (setup_a, setup_b) = (setup(Role::Initiator, "a"), setup(Role::Partner, "b"));
        let (at_a, at_b) = (&at_a, &at_b);
        scope.spawn(move || lead(&setup_a, ends_a, at_b, &mut a, &mut |_| {}));
        let mut b = b;
        scope.spawn(move || follow(&setup_b, ends_b, at_a, &mut b, &mut |_| {}).unwrap()).join().unwrap()
    });
    // Nobody waits for the minute that a partner's half may take.
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(record.validity.has(ReasonCode::PartnerLost), "{:?}", record.validity);
    assert_eq!(ReasonCode::PartnerLost.info().state, ValidityState::Degraded);
    // Other work on this machine can spoil a run; a partner that is gone does not.
    let of_machine = [ReasonCode::SamplesDropped, ReasonCode::ClocksUnrelated, ReasonCode::ThreadStuck];
    let invalid: Vec<_> =
        record.validity.reasons().iter().filter(|r| r.code.info().state == ValidityState::Invalid).collect();
    assert!(invalid.iter().all(|reason| of_machine.contains(&reason.code)), "{invalid:?}");
    let flow = flow(&record, 0);
    assert_eq!((flow.sent, flow.lost), (None, None), "nobody knows how many were sent");
    assert!(flow.arrived.unwrap() > 0 && taken(&record, "sent_to_received") == flow.arrived.unwrap());
}

#[test]
fn a_half_that_cannot_be_read_costs_that_half_alone() {
    let (mut a, b) = talk();
    a.damages_halves = true;
    let (own, both) = run(&request(|_| {}), "127.0.0.1:0", (a, b), |_, _| {});
    assert!(own.validity.has(ReasonCode::PartnerLost), "{:?}", own.validity);
    assert!(flow(&own, 0).sent.unwrap() > 0);
    assert_eq!((flow(&own, 0).arrived, both.nodes.iter().count()), (None, 2));
}

#[test]
fn without_an_exchange_no_delay_is_stated_and_the_run_is_invalid() {
    // The exchange goes to a port at which nobody answers, as behind a firewall.
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap();
    let elsewhere = nobody.local_addr().unwrap().port();
    let (record, _) = run_aimed(&request(|_| {}), "127.0.0.1:0", talk(), |ends| ends.clock_port = elsewhere, |_, _| {});
    assert!(record.validity.has(ReasonCode::ClocksUnrelated), "{:?}", record.validity);
    assert!(record.validity.is_invalid());
    assert_eq!((taken(&record, "sent_to_received"), flow(&record, 0).lost), (0, Some(0)));
}

#[test]
fn that_no_time_service_was_followed_is_said_where_one_was_wanted() {
    for sync in [true, false] {
        let (record, _) = run(&request(|one| one.sync = sync), "127.0.0.1:0", talk(), |_, _| {});
        assert_eq!(record.validity.has(ReasonCode::NoTimeService), sync, "{:?}", record.validity);
    }
}
