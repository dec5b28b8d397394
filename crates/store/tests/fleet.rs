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
    assert_eq!((before.against_itself, before.beyond_limit_ns), (None, None), "287 earlier ones are too few");
    assert_eq!((before.limit_ns, before.ever_ns, before.maxima_ns.len()), (Some(100_000), Some(20_287), 48));

    // Intervals of another condition count for nothing here.
    let other = node.interval_under("{}", &[900_000]);
    node.append(&MonitorEntry::Interval(other));
    (0..500).for_each(|_| node.interval(&[150_000, 1_000]));
    node.interval(&[120_000, 150_000]);
    node.send_all(&mut *store, NOW);
    let check = |store: &dyn Store| {
        let now = row(store, &node, NOW);
        let latest = now.latest.unwrap();
        assert_eq!((latest.maximum_ns, latest.cpu, now.beyond_limit_ns), (150_000, 1, Some(50_000)));
        assert_eq!(now.against_itself, Some(AgainstItself { intervals: 788, as_large: 500 }));
        assert_eq!(now.ever_ns, Some(900_000));
    };
    check(&*store);
    // Packed, and with its days.
    maintain_all(&mut *store);
    assert_eq!(store.maintain(1_000).unwrap(), store::Maintained::default(), "nothing is left to do");
    check(&*store);
}
