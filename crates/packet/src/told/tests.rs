//! A half that is told in pieces, cut after every one of them.

use record::{
    ClockRelation, Histogram, Interval, Manifest, Measurement, Moment, Node, PacketFlow, PacketRun, Place, PulseNode,
    PulseRun, Series,
};

use super::*;

/// A half after so many intervals, with the last ones of them.
fn half(told: usize, until: usize, is_of_orders: bool) -> Record {
    let measurement = if is_of_orders { Measurement::Pulse } else { Measurement::Packet };
    let mut record = Record::empty("of-a".to_owned(), measurement, Manifest::default());
    for (name, of) in [("scheduled_to_sent", 1), ("sent_to_received", 2)] {
        let mut series = Series { name: name.to_owned(), place: Place::thread(of, None), ..Series::default() };
        for at in 0..until {
            let number = u64::try_from(at).unwrap();
            let mut histogram = Histogram::new();
            histogram.record_n(1_000 * u64::from(of) + number, 3);
            series.histogram.merge(&histogram);
            if at >= told {
                let start_offset_ns = number * 100;
                series.intervals.push(Interval { start_offset_ns, length_ns: 100, histogram, ..Interval::default() });
            }
        }
        record.series.push(series);
    }
    // Courses grow; when they are long their neighbors are joined, and all before is another one.
    let length = until * 3;
    let joined = 1 + length / 16;
    let point = |at: usize| i64::try_from(at * joined).unwrap();
    let track = (0..length / joined).map(|at| TrackPoint::bound_alone(Moment::default(), (point(at), point(at) + 1)));
    let track: Vec<TrackPoint> = track.collect();
    let over_time =
        (0..length / joined).map(|at| FlowInterval { sent: at as u64, ..FlowInterval::default() }).collect();
    // One begins late.
    let other = ClockRelation { track: track[..track.len() / 2].to_vec(), ..ClockRelation::default() };
    let clocks = [ClockRelation { track, ..ClockRelation::default() }].into_iter().chain((until > 4).then_some(other));
    let packets = PacketRun {
        flows: vec![PacketFlow { over_time, ..PacketFlow::default() }],
        clocks: clocks.collect(),
        ..PacketRun::default()
    };
    record.detail = if is_of_orders {
        // The last number changes until the next one begins.
        let numbers = format!("{}{}", "abc".repeat(until), until % 3);
        let node =
            PulseNode { kept: Some(numbers), too_late: (until > 6).then(|| "AA".to_owned()), ..PulseNode::default() };
        Detail::Pulse(PulseRun { packets, nodes: vec![node], ..PulseRun::default() })
    } else {
        Detail::Packet(packets)
    };
    let node = record.nodes.first().clone();
    let role = if is_of_orders { "node" } else { "partner" };
    record.nodes = Node { role: role.to_owned(), ..node }.into();
    record.with_node_named()
}

fn without_intervals(record: &Record) -> Record {
    let mut record = record.clone();
    record.series.iter_mut().for_each(|series| series.intervals.clear());
    record
}

/// What the partner knows: the half so far, and all intervals that it was told of.
fn heard(fold: &mut Fold, update: Record) {
    fold.take(RunEvent::Intervals { record: Box::new(update) });
}

fn next(teller: &mut Teller) -> Option<Piece> {
    let piece = teller.piece().cloned();
    teller.went();
    piece
}

/// What is told and when pieces go is drawn; the partner hears of each piece at once, or says so late.
fn run(seed: u64, cut_after: usize, is_of_orders: bool) -> bool {
    let half = |told, until| half(told, until, is_of_orders);
    let mut random = units::Random::new(seed);
    let (mut teller, mut hearer, mut known) = (Teller::default(), Hearer::default(), Fold::default());
    let (mut states, mut until, mut pieces) = (Vec::<Record>::new(), 0, 0);
    let mut is_unsaid = false;
    while until < 12 {
        match random.below(4) {
            0 => {
                let next = until + 1 + random.below(2);
                let state = half(until, next);
                states.push(without_intervals(&state));
                teller.tell(state);
                until = next;
            }
            1 if is_unsaid => {
                teller.was_heard();
                is_unsaid = false;
            }
            _ => {
                let Some(piece) = next(&mut teller) else { continue };
                assert!(piece.text.len() <= PIECE_BYTES);
                if let Some(update) = hearer.hear(&piece).unwrap() {
                    heard(&mut known, update);
                    assert!(!is_unsaid, "one at a time");
                    is_unsaid = true;
                }
                pieces += 1;
                if pieces == cut_after {
                    break;
                }
            }
        }
    }
    // Killed here: what the partner has is the half as it was when it was told, with each of its intervals once.
    if let Some(known) = known.record() {
        let state = states.iter().find(|state| **state == without_intervals(known)).expect("the half as it was once");
        for (series, then) in known.series.iter().zip(&state.series) {
            let mut sum = Histogram::new();
            series.intervals.iter().for_each(|one| sum.merge(&one.histogram));
            assert_eq!(sum, then.histogram, "the intervals are those of the whole");
        }
    }
    // Ended in order here: the rest comes, once.
    let last = half(until, until);
    let rest = teller.rest(last.clone());
    heard(&mut known, rest);
    let whole = known.into_record().unwrap();
    for (series, truth) in whole.series.iter().zip(&half(0, until).series) {
        assert_eq!(series.intervals, truth.intervals);
        assert_eq!(series.histogram, truth.histogram);
    }
    assert_eq!(whole.detail, last.detail);
    pieces < cut_after
}

#[test]
fn each_interval_arrives_once_wherever_the_telling_is_cut() {
    for is_of_orders in [false, true] {
        let pieces: usize =
            (0..60).filter_map(|seed| (1..).find(|cut_after| run(seed, *cut_after, is_of_orders))).sum();
        assert!(pieces > 600, "{pieces} pieces");
    }
}

#[test]
fn the_next_telling_waits_until_the_one_before_was_heard_and_is_the_newest_then() {
    let (mut teller, mut hearer) = (Teller::default(), Hearer::default());
    let mut hear = |teller: &mut Teller| -> Vec<Record> {
        std::iter::from_fn(|| next(teller)).filter_map(|piece| hearer.hear(&piece).unwrap()).collect()
    };
    teller.tell(half(0, 1, false));
    assert_eq!(hear(&mut teller).len(), 1);
    teller.tell(half(1, 2, false));
    teller.tell(half(2, 4, false));
    assert!(hear(&mut teller).is_empty(), "the partner has not said that it heard the first");
    teller.was_heard();
    let [told] = &hear(&mut teller)[..] else { panic!("one telling of all that waits") };
    assert_eq!(told.series[0].intervals.iter().map(|one| one.start_offset_ns).collect::<Vec<_>>(), [100, 200, 300]);
}

#[test]
fn what_cannot_be_read_is_refused_and_harms_nothing() {
    let mut teller = Teller::default();
    teller.tell(half(0, 3, false));
    let pieces: Vec<Piece> = std::iter::from_fn(|| next(&mut teller)).collect();
    let mut hearer = Hearer::default();
    let last = |text: &str| Piece { text: text.to_owned(), is_last: true };
    let encoded = |text: &str| BASE64.encode(packed(text));
    for bad in ["%", "AAAA", &encoded("no line"), &encoded("1 2\n{}"), &encoded("x\n{}")] {
        assert!(hearer.hear(&last(bad)).is_err(), "{bad}");
    }
    // It refers to more of what was told before than there was.
    let record = half(0, 3, false).to_json();
    assert!(matches!(hearer.hear(&last(&encoded(&format!("7 0\n{record}")))), Err(ToldError::Kept)));
    let heard: Vec<Record> = pieces.iter().filter_map(|piece| hearer.hear(piece).unwrap()).collect();
    assert_eq!(heard.len(), 1);
    // Small as it is, it would fill the memory.
    let bomb = packed(&" ".repeat(usize::try_from(MOST_UNPACKED_BYTES).unwrap() + 9));
    assert!(matches!(hearer.hear(&last(&BASE64.encode(bomb))), Err(ToldError::Long)));
    let endless = Piece { text: "A".repeat(MOST_BYTES + 1), is_last: false };
    assert!(matches!(hearer.hear(&endless), Err(ToldError::Long)));
}
