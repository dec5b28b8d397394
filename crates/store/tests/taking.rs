//! Batches.

use farm::monitor::{ContentKind, RawEntry};
use farm::stream::{ContentHash, GoneReason, Item, NodeKey, Span, StreamId, Taken};
use store::{BatchError, Change, HistoryAsked, Quotas};

use super::support::{CONDITION, Fresh, INTERVAL, Kept, NOW, S, Sender, by};

pub(crate) fn a_batch_is_answered_with_the_end_of_what_is_held(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    node.begin();
    (0..5).for_each(|at| node.interval(&[at, 7]));
    let all = node.body(100).unwrap();
    let first = node.body(2).unwrap();
    let committed = store.take_batch(&node.arriving(&first, NOW + 1)).unwrap();
    let end = |items: &[Item<RawEntry>]| items.last().map(|item| (item.span.last(), item.after)).unwrap();
    assert_eq!((committed.taken, (committed.sequence, committed.hash)), (Taken::All, end(&first.items)));
    // All of it, what is held once more.
    let committed = store.take_batch(&node.arriving(&all, NOW + 2)).unwrap();
    assert_eq!((committed.taken, (committed.sequence, committed.hash)), (Taken::All, end(&all.items)));
    // What is older is held.
    let committed = store.take_batch(&node.arriving(&first, NOW + 1)).unwrap();
    assert_eq!((committed.taken, (committed.sequence, committed.hash)), (Taken::All, end(&all.items)));
    let seen = store.node(node.key).unwrap().unwrap();
    assert_eq!((seen.seen_wall_ns, seen.version.as_str()), (Some(NOW + 2), "0.1.0"));
    // What comes too early waits at the node.
    node.interval(&[1, 1]);
    let last = node.body(100).unwrap().items.pop().unwrap();
    node.restart();
    node.interval(&[1, 1]);
    let stream = StreamId { start: 9, random: 9 };
    let base = farm::stream::Base::of_start(&node.key, stream);
    let ahead = farm::monitor::BatchBody { stream, base, items: vec![last], ..all.clone() };
    let committed = store.take_batch(&node.arriving(&ahead, NOW + 3)).unwrap();
    let origin = base.place;
    assert_eq!((committed.taken, committed.sequence, committed.hash), (Taken::NotConnected, 0, origin));
    assert_eq!(store.node(node.key).unwrap().unwrap().seen_wall_ns, Some(NOW + 2), "nothing of it was taken");
}

pub(crate) fn nothing_of_a_refused_batch_stays_and_others_are_taken(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas { entries: 3, ..Quotas::default() });
    let mut nodes: Vec<Sender> = (1..=4).map(|number| Sender::enrolled(&mut *store, number)).collect();
    nodes.push(Sender::new(NodeKey([9; 32])));
    for node in &mut nodes {
        (0..3).for_each(|at| node.interval(&[at]));
    }
    nodes[1].interval(&[4]);
    store.change_node(nodes[2].key, &Change::Revoked, &by(NOW)).unwrap();
    // A sequence that no stream comes to.
    let mut beyond = nodes[3].body(1).unwrap();
    let span = Span::new(1, u64::MAX).unwrap();
    beyond.items[0] = Item { span, body: farm::stream::Body::Gone(GoneReason::Damaged), ..beyond.items[0].clone() };
    let mut arriving: Vec<_> = nodes.iter().map(|node| node.arriving(&node.body(100).unwrap(), NOW)).collect();
    arriving[3] = nodes[3].arriving(&beyond, NOW);
    let answers = store.take_batches(&arriving).unwrap();
    assert_eq!(answers[0].as_ref().unwrap().sequence, 3);
    assert!(matches!(answers[1], Err(BatchError::Quota { what: "entries", found: 4, most: 3 })));
    assert!(matches!(answers[2], Err(BatchError::Revoked)));
    assert!(matches!(answers[3], Err(BatchError::Sequence { found: u64::MAX })));
    assert!(matches!(answers[4], Err(BatchError::NotEnrolled)));
    let asked = HistoryAsked { from_utc_ns: NOW, to_utc_ns: NOW + 86_400 * S, most_points: 1_000 };
    assert_eq!(store.history(nodes[0].key, &asked).unwrap().cpus[0].points.len(), 3);
    for node in &nodes[1..4] {
        assert!(store.history(node.key, &asked).unwrap().cpus.is_empty());
    }
    // A smaller one is within the quota.
    let smaller = nodes[1].arriving(&nodes[1].body(3).unwrap(), NOW);
    assert_eq!(store.take_batch(&smaller).unwrap().sequence, 3);
}

pub(crate) fn another_history_is_told_and_its_common_end_found(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    (0..4).for_each(|at| node.interval(&[at]));
    node.send_all(&mut *store, NOW);
    // A snapshot of the node goes on otherwise.
    let mut copy = Sender::new(node.key);
    copy.spool = node.spool.clone();
    (10..12).for_each(|at| node.interval(&[at]));
    (20..23).for_each(|at| copy.interval(&[at]));
    let of_copy = copy.body(100).unwrap();
    node.send_all(&mut *store, NOW);
    let committed = store.take_batch(&copy.arriving(&of_copy, NOW)).unwrap();
    assert_eq!((committed.taken, committed.sequence), (Taken::Diverged, 6));
    copy.take(of_copy.stream, &committed);
    let places = copy.spool.places(of_copy.stream);
    let common = store.common(node.key, of_copy.stream, &places).unwrap();
    assert_eq!((common.sequence, common.end), (4, 6));
    assert_eq!(store.common(NodeKey([3; 32]), of_copy.stream, &places).unwrap().end, 0);
    assert_eq!(store.common(node.key, StreamId { start: 5, random: 5 }, &places).unwrap().end, 0);
    copy.spool.divert(of_copy.stream, &common, 1).unwrap();
    copy.send_all(&mut *store, NOW);
    let asked = HistoryAsked { from_utc_ns: NOW, to_utc_ns: NOW + 86_400 * S, most_points: 1_000 };
    let history = store.history(node.key, &asked).unwrap();
    let mut maxima: Vec<i64> = history.cpus[0].points.iter().filter_map(|point| point.maximum_ns).collect();
    maxima.sort_unstable();
    assert_eq!(maxima, [0, 1, 2, 3, 10, 11, 20, 21, 22], "both are kept");
}

pub(crate) fn quotas_are_for_a_day(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas { streams: 2, entries: 100, bytes: 1 << 20 });
    let mut node = Sender::enrolled(&mut *store, 1);
    let mut last = None;
    for at in 0..3 {
        node.interval(&[at]);
        let body = node.body(100).unwrap();
        let answer = store.take_batch(&node.arriving(&body, NOW + at));
        match (at, answer) {
            (0 | 1, Ok(committed)) => node.take(body.stream, &committed),
            (2, Err(BatchError::Quota { what: "streams", found: 3, most: 2 })) => last = Some(body),
            (_, other) => panic!("{at}: {other:?}"),
        }
        node.restart();
    }
    let last = last.unwrap();
    assert!(store.take_batch(&node.arriving(&last, NOW + 86_400 * S - 1)).is_err());
    assert!(store.take_batch(&node.arriving(&last, NOW + 86_400 * S)).is_ok());
}

pub(crate) fn what_is_not_known_is_kept_and_a_content_read_back(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    let raw = serde_json::value::RawValue::from_string(r#"{"entry": "weather", "rain": 3}"#.to_owned()).unwrap();
    node.spool.append(RawEntry(raw));
    let profile = format!(r#"{{"kernel": "{}"}}"#, "6.12-rt ".repeat(1_000));
    node.content(ContentKind::Profile, &profile);
    node.interval(&[5]);
    // A condition may come after what it is of.
    assert_eq!(store.content(ContentHash::of(CONDITION)).unwrap(), None);
    node.content(ContentKind::Condition, CONDITION);
    node.next_ns += INTERVAL;
    node.content(ContentKind::Profile, "{}");
    node.send_all(&mut *store, NOW);
    let content = store.content(ContentHash::of(&profile)).unwrap().unwrap();
    assert_eq!((content.kind, content.text), (ContentKind::Profile, profile.clone()));
    assert_eq!(store.content(ContentHash::of(CONDITION)).unwrap().unwrap().text, CONDITION);
    let named: Vec<ContentHash> = store.contents(node.key).unwrap().into_iter().map(|content| content.hash).collect();
    assert_eq!(named, [ContentHash::of(&profile), ContentHash::of(CONDITION), ContentHash::of("{}")]);
    let first = &store.contents(node.key).unwrap()[0];
    assert_eq!(first.since.unwrap().utc_ns, NOW + 17 * S + 5);
}
