//! What a store takes at rest.

use farm::monitor::MonitorEntry;
use store::{Quotas, Store};
use units::Random;

use super::support::{CONDITION, Fresh, Kept, Sender, maintain_all};

const CPUS: usize = 8;

/// A node's days as of a machine: some 20 us, some periods missed, one of a hundred intervals with its cause.
fn send_days(store: &mut dyn Store, node: &mut Sender, random: &mut Random, days: usize) {
    for _ in 0..days * 288 {
        let maxima: Vec<i64> =
            (0..CPUS).map(|_| 12_000 + i64::try_from(random.below(16_000) + random.below(16_000)).unwrap()).collect();
        let mut interval = node.interval_under(CONDITION, &maxima);
        let bound_ns = Some(3_000_000 + u64::try_from(random.below(2_000_000)).unwrap());
        let (source, state) = ("system".to_owned(), "synchronized".to_owned());
        interval.sources = vec![farm::monitor::SourceInterval { source, bound_ns, state }];
        for cpu in &mut interval.cpus {
            let figures = cpu.valid.as_mut().unwrap();
            figures.maximum_at_ns = u64::try_from(random.below(300_000)).unwrap() * 1_000_000;
            figures.samples -= u64::try_from(random.below(2)).unwrap();
            if random.below(100) == 0 {
                figures.missed_periods = 1;
                figures.cause = Some(format!("interrupt {} of eth0", 40 + random.below(4)));
            }
        }
        node.append(&MonitorEntry::Interval(interval));
    }
    node.send_all(store, node.now());
}

pub(crate) fn a_cpu_and_interval_takes_at_most_eight_bytes_at_rest(fresh: &Fresh) {
    let Kept { mut store, folder } = fresh(Quotas { entries: u64::MAX, bytes: u64::MAX, ..Quotas::default() });
    let mut random = Random::new(2);
    let size = |store: &mut dyn Store| {
        maintain_all(store);
        // What is in no page of a copy is none at rest.
        let copy = folder.path().join(format!("copy-{}", store.epoch().unwrap()));
        store.back_up(&copy).unwrap();
        store.raise_epoch(0, &super::support::by(0)).unwrap();
        std::fs::metadata(copy).unwrap().len()
    };
    let mut node = Sender::enrolled(&mut *store, 1);
    let days = 30;
    // Each table has a page of its own, whatever is in it.
    let empty = size(&mut *store);
    send_days(&mut *store, &mut node, &mut random, days);
    let bytes = size(&mut *store) - empty;
    let intervals = u64::try_from(days * 288 * CPUS).unwrap();
    assert!(bytes <= 8 * intervals, "{bytes} bytes for {intervals}: {} hundredths each", 100 * bytes / intervals);
}
