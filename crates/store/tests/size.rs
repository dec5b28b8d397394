//! What a store takes at rest.

use farm::monitor::{Cause, MonitorEntry, SYNCHRONIZED, SYSTEM_CLOCK, SourceInterval};
use store::{Quotas, Store};
use units::Random;

use super::support::{CONDITION, Fresh, Kept, Sender, maintain_all};

const CPUS: usize = 8;
/// A node's days as of a machine: some 20 us, some periods missed, one of a hundred intervals with its cause, or each.
fn send_days(store: &mut dyn Store, node: &mut Sender, random: &mut Random, (days, of_all): (usize, bool)) {
    for _ in 0..days * 288 {
        let maxima: Vec<i64> =
            (0..CPUS).map(|_| 12_000 + i64::try_from(random.below(16_000) + random.below(16_000)).unwrap()).collect();
        let mut interval = node.interval_under(CONDITION, &maxima);
        let bound_ns = Some(3_000_000 + u64::try_from(random.below(2_000_000)).unwrap());
        let (source, state) = (SYSTEM_CLOCK.to_owned(), SYNCHRONIZED.to_owned());
        interval.sources = vec![SourceInterval { source, bound_ns, state, ..SourceInterval::default() }];
        for cpu in &mut interval.cpus {
            let figures = cpu.valid.as_mut().unwrap();
            figures.maximum_at_ns = u64::try_from(random.below(300_000)).unwrap() * 1_000_000;
            figures.samples -= u64::try_from(random.below(2)).unwrap();
            if random.below(100) == 0 {
                figures.missed_periods = 1;
            }
            if of_all || random.below(100) == 0 {
                // As on a machine: one cause is the usual one, and some others come now and then.
                let number = [0, 0, 0, 0, 0, 0, 1, 1, 2, 3 + random.below(9)][random.below(10)];
                figures.cause = Some(Cause {
                    class: ["interrupt", "thread", "idle-exit"][number % 3].to_owned(),
                    name: format!("eth0 (interrupt {})", 40 + number),
                    is_shown: true,
                    covers_percent: Some(u8::try_from(50 + random.below(51)).unwrap()),
                });
            }
        }
        node.append(&MonitorEntry::Interval(interval));
    }
    node.send_all(store, node.now());
}

/// Hundredths of a byte that a CPU and interval takes at rest.
fn hundredths(fresh: &Fresh, of_all: bool) -> u64 {
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
    send_days(&mut *store, &mut node, &mut random, (days, of_all));
    100 * (size(&mut *store) - empty) / u64::try_from(days * 288 * CPUS).unwrap()
}

pub(crate) fn a_cpu_and_interval_takes_at_most_eight_bytes_at_rest(fresh: &Fresh) {
    let taken = hundredths(fresh, false);
    assert!(taken <= 800, "{taken} hundredths of a byte");
}

pub(crate) fn with_the_cause_of_each_it_takes_at_most_ten(fresh: &Fresh) {
    let taken = hundredths(fresh, true);
    assert!(taken <= 1_000, "{taken} hundredths of a byte");
}
