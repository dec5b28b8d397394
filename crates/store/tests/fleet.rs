//! The page of all nodes.

use farm::monitor::{ContentKind, GapReason, MonitorEntry};
use store::{AgainstItself, Change, FleetRow, NodeState, PlacedBy, Quotas, Store};

use super::support::{CONDITION, Fresh, INTERVAL, Kept, NOW, S, Sender, by, maintain_all};

fn row(store: &dyn Store, node: &Sender, now_wall_ns: i64) -> FleetRow {
    let mut rows = store.fleet(now_wall_ns).unwrap();
    rows.retain(|row| row.node.key == node.key);
    rows.pop().unwrap()
}

pub(crate) fn a_node_s_state_is_what_it_said_last(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    assert_eq!(row(&*store, &node, NOW).state, NodeState::Waiting);
    node.begin();
    node.send_all(&mut *store, NOW);
    assert_eq!(row(&*store, &node, NOW).state, NodeState::Waiting);
    assert_eq!(row(&*store, &node, NOW).isolated_and_not_monitored, [7]);

    let now = NOW + INTERVAL;
    node.interval(&[5, 9, 9]);
    node.send_all(&mut *store, now);
    assert_eq!(row(&*store, &node, now).state, NodeState::Monitoring);
    assert_eq!(row(&*store, &node, now + 2 * INTERVAL + 60 * S).state, NodeState::Monitoring);
    let silent = row(&*store, &node, now + 2 * INTERVAL + 61 * S).state;
    assert_eq!(silent, NodeState::Silent { since_wall_ns: now });
    let until = row(&*store, &node, now).measured_until.unwrap();
    assert_eq!(until.utc_ns, NOW + node.next_ns);
    let latest = row(&*store, &node, now).latest.unwrap();
    assert_eq!((latest.maximum_ns, latest.cpu, latest.at.unwrap().by), (9, 1, PlacedBy::OwnClock));

    let mut spoiled = node.interval_under(CONDITION, &[5, 9]);
    spoiled.cpus[1].spoiled = spoiled.cpus[1].valid.take();
    spoiled.cpus[1].reasons = vec!["stopped".to_owned()];
    node.append(&MonitorEntry::Interval(spoiled));
    node.send_all(&mut *store, now);
    assert_eq!(row(&*store, &node, now).state, NodeState::Invalid { reasons: vec!["stopped".to_owned()] });

    node.gap(GapReason::Measuring, INTERVAL);
    // A content says nothing of what it does.
    node.content(ContentKind::Profile, "{}");
    node.send_all(&mut *store, now);
    assert_eq!(row(&*store, &node, now).state, NodeState::NotMonitored { why: GapReason::Measuring });
    assert!(row(&*store, &node, now).profile.is_some());
    node.gap(GapReason::NoPriority, INTERVAL);
    node.send_all(&mut *store, now);
    assert_eq!(row(&*store, &node, now).state, NodeState::NoPriority);

    let times = node.interval_under(CONDITION, &[]).times;
    node.append(&MonitorEntry::Gap { times, why: GapReason::Measuring, cpus: vec![1] });
    node.interval(&[5, 9]);
    let times = node.interval_under(CONDITION, &[]).times;
    node.append(&MonitorEntry::Gap { times, why: GapReason::Measuring, cpus: vec![1] });
    node.send_all(&mut *store, now);
    assert_eq!(row(&*store, &node, now).state, NodeState::Monitoring, "a gap of one CPU is not the node's");

    let (boot, at_ns) = (farm::monitor::BootId(node.boot.clone()), node.next_ns);
    node.append(&MonitorEntry::End { boot, at_ns, why: GapReason::Stopped });
    node.send_all(&mut *store, now);
    let NodeState::Stopped { why, at } = row(&*store, &node, now + 9 * INTERVAL).state else { panic!("not stopped") };
    assert_eq!((why, at.unwrap().utc_ns), (GapReason::Stopped, NOW + at_ns));

    // It starts again.
    node.restart();
    node.begin();
    node.send_all(&mut *store, now + 1);
    assert_eq!(row(&*store, &node, now + 1).state, NodeState::Waiting);
    node.gap(GapReason::Killed, INTERVAL);
    node.interval(&[3]);
    node.send_all(&mut *store, now + 1);
    let after = row(&*store, &node, now + 1);
    assert_eq!(after.state, NodeState::Monitoring);
    assert_eq!(after.maxima_ns, [Some(9), Some(5), Some(9), Some(3)], "of both streams, in their order");
    maintain_all(&mut *store);
    assert_eq!(row(&*store, &node, now + 1), after, "kept or computed, it is the same");

    store.change_node(node.key, &Change::Retired, &by(now)).unwrap();
    assert_eq!(row(&*store, &node, now).state, NodeState::Retired);
    store.change_node(node.key, &Change::Revoked, &by(now)).unwrap();
    assert!(store.fleet(now).unwrap().is_empty());
}

pub(crate) fn a_maximum_beyond_its_limit_is_told_and_ranked_against_the_node_s_own(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    node.content(ContentKind::Condition, CONDITION);
    (0..288).for_each(|at| node.interval(&[20_000 + at, 1_000]));
    node.send_all(&mut *store, NOW);
    let before = row(&*store, &node, NOW);
    assert_eq!((before.against_itself, before.beyond), (None, None), "287 earlier ones are too few");
    let ever_ns = before.ever.map(|ever| ever.maximum_ns);
    assert_eq!((before.limit_ns, ever_ns, before.maxima_ns.len()), (Some(100_000), Some(20_287), 48));

    // Intervals of another condition count for nothing here.
    let other = node.interval_under("{}", &[900_000]);
    node.append(&MonitorEntry::Interval(other));
    (0..500).for_each(|_| node.interval(&[150_000, 1_000]));
    node.interval(&[120_000, 150_000]);
    node.send_all(&mut *store, NOW);
    let check = |store: &dyn Store| {
        let now = row(store, &node, NOW);
        let latest = now.latest.unwrap();
        let beyond = now.beyond.unwrap();
        assert_eq!((latest.maximum_ns, latest.cpu, beyond.by_ns), (150_000, 1, 50_000));
        assert_eq!((beyond.limit_ns, beyond.is_latest, beyond.maximum), (100_000, true, latest));
        assert_eq!(now.against_itself, Some(AgainstItself { intervals: 788, as_large: 500 }));
        // That of another condition is longer ago than a day.
        assert_eq!((now.ever.unwrap().maximum_ns, now.day.unwrap().maximum_ns), (900_000, 150_000));
    };
    check(&*store);
    // Packed, and with its days.
    maintain_all(&mut *store);
    assert_eq!(store.maintain(1_000, NOW).unwrap(), store::Maintained::default(), "nothing is left to do");
    check(&*store);
}

/// What happened at night is told in the morning, whatever came since; and not for ever.
pub(crate) fn a_maximum_beyond_its_limit_is_told_for_a_day(fresh: &Fresh) {
    const DAY: i64 = 288 * INTERVAL;
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    let first_ns = node.next_ns;
    node.content(ContentKind::Condition, CONDITION);
    node.interval(&[20_000, 101_000]);
    node.interval(&[7_000, 130_000]);
    // Beyond by more, and within a limit of its own.
    let other = node.interval_under(r#"{"limit-ns": 400000}"#, &[300_000]);
    node.append(&MonitorEntry::Interval(other));
    (0..100).for_each(|_| node.interval(&[9_000, 9_500]));
    let now = NOW + node.next_ns;
    node.send_all(&mut *store, now);
    let night = row(&*store, &node, now);
    let beyond = night.beyond.clone().unwrap();
    assert_eq!((beyond.by_ns, beyond.maximum.maximum_ns, beyond.is_latest), (30_000, 130_000, false));
    let at_ns = beyond.maximum.at.unwrap().utc_ns - NOW - first_ns;
    assert!((INTERVAL..2 * INTERVAL).contains(&at_ns), "{at_ns}");
    assert_eq!(night.day.as_ref().map(|day| day.maximum_ns), Some(300_000));
    // 103 intervals are eight hours and 35 minutes: the first half hour has the first interval alone.
    let mut half_hours = vec![None; 30];
    half_hours.extend([Some(101_000), Some(300_000)]);
    half_hours.resize(48, Some(9_500));
    assert_eq!(night.half_hours_ns, half_hours);
    maintain_all(&mut *store);
    assert_eq!(row(&*store, &node, now), night, "packed, kept or computed, it is the same");

    // The agent starts again, the machine too, and stops: it is true all the same.
    node.restart();
    "boot-2".clone_into(&mut node.boot);
    node.begin();
    node.send_all(&mut *store, now);
    assert_eq!(row(&*store, &node, now).state, NodeState::Waiting);
    assert_eq!(row(&*store, &node, now).beyond, night.beyond);
    node.interval(&[4_000]);
    node.send_all(&mut *store, NOW + node.next_ns);
    let booted = row(&*store, &node, now);
    assert_eq!((booted.beyond, booted.day), (night.beyond.clone(), night.day));

    // Silent for so long, it is no longer the last day; and the same where intervals went on.
    let end = NOW + first_ns + 2 * INTERVAL + DAY;
    assert!(row(&*store, &node, end - INTERVAL - S).beyond.is_some());
    assert_eq!(row(&*store, &node, end + S).beyond, None);
    // What was later and less far is told when the furthest is a day old.
    node.interval(&[105_000]);
    node.send_all(&mut *store, NOW + node.next_ns);
    let by_ns = |store: &dyn Store, now: i64| row(store, &node, now).beyond.map(|beyond| beyond.by_ns);
    assert_eq!(by_ns(&*store, end - INTERVAL - S), Some(30_000));
    assert_eq!(by_ns(&*store, end + S), Some(5_000));
    (0..300).for_each(|_| node.interval(&[4_000]));
    node.send_all(&mut *store, NOW + node.next_ns);
    let morning = row(&*store, &node, NOW + node.next_ns);
    assert_eq!((morning.state, morning.beyond), (NodeState::Monitoring, None));
    let kept = (morning.day.unwrap().maximum_ns, morning.ever.unwrap().maximum_ns);
    assert_eq!(kept, (4_000, 300_000));
}

/// What a node sends that was measured while the hub was away is not how it does now.
pub(crate) fn a_node_that_catches_up_is_not_monitoring(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    node.begin();
    (0..12).for_each(|_| node.interval(&[5_000]));
    let measured = NOW + node.next_ns;
    let patience = 2 * INTERVAL + 60 * S;
    node.send_all(&mut *store, measured + patience + S);
    let NodeState::Behind { measured_until } = row(&*store, &node, measured + patience + S).state else {
        panic!("it is not behind")
    };
    assert_eq!(measured_until.utc_ns, measured);
    assert_eq!(row(&*store, &node, measured + patience).state, NodeState::Monitoring);
    (0..3).for_each(|_| node.interval(&[5_000]));
    node.send_all(&mut *store, measured + patience + 2 * S);
    assert_eq!(row(&*store, &node, measured + patience + 2 * S).state, NodeState::Monitoring);
}
