//! What is said of the time between the starts of a node's agent.

use farm::monitor::{BatchBody, BootId, GapReason, MonitorEntry, RawEntry};
use farm::stream::{Base, Item};
use store::{GapWhy, HistoryAsked, Quotas, Store};
use units::Random;

use super::support::{Fresh, INTERVAL, Kept, NOW, S, Sender, maintain_all};

/// How an agent's stream ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// It announces it.
    Announced,
    /// It is killed; the next one of the same boot enters the time since.
    Killed,
}

/// Gaps: when each begins and ends (ns since `NOW`), and why.
type Gaps = Vec<(i64, i64, GapWhy)>;

fn gaps(store: &dyn Store, node: &Sender) -> Gaps {
    let asked = HistoryAsked { from_utc_ns: NOW - INTERVAL, to_utc_ns: NOW + 10_000 * INTERVAL, most_points: 10_000 };
    let history = store.history(node.key, &asked).unwrap();
    let intervals: Vec<(i64, i64)> = history
        .cpus
        .iter()
        .flat_map(|cpu| &cpu.points)
        .map(|point| {
            let start_ns = point.start_utc_ns - NOW;
            (start_ns, start_ns + i64::try_from(point.length_ns).unwrap())
        })
        .collect();
    let of = |gap: store::GapSpan| {
        let start_ns = gap.start_utc_ns - NOW;
        (start_ns, start_ns + i64::try_from(gap.length_ns).unwrap(), gap.why)
    };
    let gaps: Gaps = history.gaps.into_iter().map(of).collect();
    for (start_ns, end_ns, why) in &gaps {
        let is_within = |(from_ns, to_ns): &&(i64, i64)| *from_ns < *end_ns && *to_ns > *start_ns;
        assert_eq!(intervals.iter().find(is_within), None, "measured in a gap of {start_ns} to {end_ns}: {why:?}");
    }
    gaps
}

/// A node of some boots, each with some starts of its agent; what is to be said of the time between them.
fn write(node: &mut Sender, random: &mut Random) -> Gaps {
    let mut expected = Gaps::new();
    // Where the last stream ended (ns since NOW), and how.
    let mut last: Option<(i64, Ends)> = None;
    for boot in 0..1 + random.below(4) {
        if boot > 0 {
            // CLOCK_BOOTTIME begins anew.
            let utc_ns = node.utc_ns.unwrap() + node.next_ns;
            node.boot = format!("boot-{}", boot + 1);
            node.next_ns = 20 * S;
            node.utc_ns = Some(utc_ns + i64::try_from(random.below(5)).unwrap() * INTERVAL + 7 * S);
        }
        let starts = 1 + random.below(3);
        for start in 0..starts {
            if boot > 0 || start > 0 {
                node.restart();
            }
            let waits_ns = i64::try_from(random.below(3)).unwrap() * 60 * S;
            let killed_ns = (start > 0 && last.is_some_and(|(_, how)| how == Ends::Killed)).then_some(node.next_ns);
            node.next_ns += waits_ns;
            node.begin();
            let begins_ns = node.next_ns + node.utc_ns.unwrap() - NOW;
            match last {
                Some((since_ns, Ends::Announced)) => {
                    expected.push((since_ns, begins_ns, GapWhy::Said(GapReason::Stopped)));
                }
                Some((since_ns, Ends::Killed)) if start == 0 => expected.push((since_ns, begins_ns, GapWhy::NoWord)),
                Some((since_ns, Ends::Killed)) => expected.push((since_ns, begins_ns, GapWhy::Said(GapReason::Killed))),
                None => {}
            }
            if let Some(since_ns) = killed_ns.filter(|_| waits_ns > 0) {
                let now_ns = std::mem::replace(&mut node.next_ns, since_ns);
                node.gap(GapReason::Killed, waits_ns);
                assert_eq!(node.next_ns, now_ns);
            }
            for _ in 0..1 + random.below(3) {
                node.interval(&[9_000]);
            }
            let ends = if random.below(2) == 0 { Ends::Announced } else { Ends::Killed };
            if ends == Ends::Announced {
                let (boot, at_ns) = (BootId(node.boot.clone()), node.next_ns);
                node.append(&MonitorEntry::End { boot, at_ns, why: GapReason::Stopped });
            }
            last = Some((node.next_ns + node.utc_ns.unwrap() - NOW, ends));
        }
    }
    expected.retain(|(start_ns, end_ns, _)| end_ns > start_ns);
    expected
}

pub(crate) fn the_time_between_starts_is_told_by_what_the_node_announced_in_any_order(fresh: &Fresh) {
    let mut seen = [0, 0, 0];
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let Kept { mut store, folder: _folder } = fresh(Quotas::default());
        let mut node = Sender::enrolled(&mut *store, 1);
        let expected = write(&mut node, &mut random);
        // Streams arrive in any order.
        let mut bodies: Vec<BatchBody> = Vec::new();
        for (stream, item) in node.spool.items() {
            let item: Item<RawEntry> = item.clone();
            match bodies.iter_mut().find(|body| body.stream == stream) {
                Some(body) => body.items.push(item),
                None => bodies.push(BatchBody {
                    stream,
                    base: Base::of_start(&node.key, stream),
                    items: vec![item],
                    version: String::new(),
                    sent: Some(node.sent()),
                }),
            }
        }
        while !bodies.is_empty() {
            let body = bodies.swap_remove(random.below(bodies.len()));
            let received = node.utc_ns.unwrap() + node.next_ns;
            store.take_batch(&node.arriving(&body, received)).unwrap();
            // Whatever has come, nothing that was measured lies in a gap.
            gaps(&*store, &node);
            if random.below(3) == 0 {
                maintain_all(&mut *store);
            }
        }
        assert_eq!(gaps(&*store, &node), expected, "seed {seed}");
        for (.., why) in expected {
            match why {
                GapWhy::Said(GapReason::Stopped) => seen[0] += 1,
                GapWhy::NoWord => seen[1] += 1,
                _ => seen[2] += 1,
            }
        }
    }
    assert!(seen.into_iter().all(|count| count > 15), "what was drawn exercises it: {seen:?}");
}

pub(crate) fn a_boot_without_a_place_in_time_leaves_the_gap_unknown(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    node.begin();
    node.interval(&[1]);
    node.send_all(&mut *store, node.now());
    // Its clock says a time of years to come, which nobody believes.
    let next_boot = |node: &mut Sender, boot: &str, utc_ns: i64| {
        node.restart();
        node.boot = boot.to_owned();
        (node.next_ns, node.utc_ns) = (S, Some(utc_ns));
        node.begin();
        node.interval(&[1]);
    };
    next_boot(&mut node, "boot-2", NOW + 4_000 * 288 * INTERVAL);
    node.send_all(&mut *store, NOW + 3 * INTERVAL);
    next_boot(&mut node, "boot-3", NOW + 9 * INTERVAL);
    node.send_all(&mut *store, NOW + 12 * INTERVAL);
    let whys: Vec<GapWhy> = gaps(&*store, &node).into_iter().map(|(.., why)| why).collect();
    assert_eq!(whys, [GapWhy::Unknown]);
}
