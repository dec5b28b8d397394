//! Batches drawn at random, held against a plain model in memory.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::path::{Path, PathBuf};

use farm::monitor::{
    BatchBody, Cause, CpuInterval, GapReason, Histograms, Interval, MonitorEntry, RawEntry, SourceInterval,
    sources_of_both,
};
use farm::stream::{Base, Head, Held, Item, Place, Says, Span, take};
use store::{HistoryAsked, Quotas, Sqlite, Store, Tier};
use units::Random;

use super::support::{CONDITION, Fresh, INTERVAL, Kept, NOW, Sender, maintain_all};

/// What a hub holds of one stream, in memory.
#[derive(Clone)]
struct Memory {
    base: Base,
    shown: BTreeMap<u64, Item<RawEntry>>,
    aside: Vec<Item<RawEntry>>,
    /// What was read of entries, by where they stand.
    read: RefCell<HashMap<(Span, Place), MonitorEntry>>,
}

impl Held for Memory {
    type Entry = RawEntry;
    type Error = Infallible;

    fn end(&self) -> Result<(u64, Place), Infallible> {
        Ok(self
            .shown
            .values()
            .next_back()
            .map_or((self.base.sequence, self.base.place), |item| (item.span.last(), item.after)))
    }

    fn shown(&self, over: Span) -> Result<Vec<Head>, Infallible> {
        Ok(self.shown.values().filter(|item| item.span.overlaps(over)).map(Item::head).collect())
    }

    fn aside(&self, within: Span) -> Result<Vec<Head>, Infallible> {
        Ok(self.aside.iter().filter(|item| within.contains(item.span)).map(Item::head).collect())
    }

    fn show(&mut self, item: Item<RawEntry>) -> Result<(), Infallible> {
        self.shown.insert(item.span.first(), item);
        Ok(())
    }

    fn put_aside(&mut self, item: Item<RawEntry>) -> Result<(), Infallible> {
        self.aside.push(item);
        Ok(())
    }

    fn hide(&mut self, shown: &Head) -> Result<(), Infallible> {
        let item = self.shown.remove(&shown.span.first()).unwrap();
        if !self.aside.contains(&item) {
            self.aside.push(item);
        }
        Ok(())
    }

    fn return_aside(&mut self, aside: &Head) -> Result<(), Infallible> {
        let at = self.aside.iter().position(|item| item.head() == *aside).unwrap();
        let item = self.aside.swap_remove(at);
        self.show(item)
    }

    fn gone(&self) -> Result<Vec<Span>, Infallible> {
        Ok(self.shown.values().filter(|item| item.body.says() == Says::Gone).map(|item| item.span).rev().collect())
    }

    fn cut(&mut self, shown: &Head, left: &[Head]) -> Result<(), Infallible> {
        assert!(shown.says < Says::Full);
        let item = self.shown.remove(&shown.span.first()).unwrap();
        left.iter().cloned().try_for_each(|Head { span, before, after, within, .. }| {
            self.show(Item { span, before, after, within, body: item.body.clone() })
        })
    }

    fn remove(&mut self, shown: &Head) -> Result<(), Infallible> {
        self.shown.remove(&shown.span.first()).unwrap();
        Ok(())
    }
}

/// What of an interval and CPU is compared: CPU, start, maximum, its moment, its cause, what was spoiled, samples.
type Seen = (u32, i64, Option<i64>, Option<i64>, Option<Cause>, Option<i64>, u64);
/// What of an interval and source of time is compared: start, and all that is known.
type SeenSource = (i64, SourceInterval);

impl Memory {
    fn intervals(&self) -> impl Iterator<Item = Interval> {
        let mut read = self.read.borrow_mut();
        let mut interval = |item: &Item<RawEntry>| {
            let raw = item.body.full()?;
            match read.entry((item.span, item.after)).or_insert_with(|| raw.entry().unwrap()) {
                MonitorEntry::Interval(interval) => Some(interval.clone()),
                _ => None,
            }
        };
        self.shown.values().filter_map(&mut interval).collect::<Vec<_>>().into_iter()
    }

    fn seen(&self) -> BTreeSet<Seen> {
        let of = |interval: Interval| {
            let start_ns = NOW + interval.times.start_ns;
            interval.cpus.into_iter().map(move |cpu: CpuInterval| {
                let moment = |at_ns: u64| start_ns + i64::try_from(at_ns / 1_000_000 * 1_000_000).unwrap();
                let valid = cpu.valid.as_ref();
                (
                    cpu.cpu,
                    start_ns,
                    valid.map(|figures| figures.maximum_ns),
                    valid.map(|figures| moment(figures.maximum_at_ns)),
                    valid.and_then(|figures| figures.cause.clone()),
                    cpu.spoiled.map(|figures| figures.maximum_ns),
                    valid.map_or(0, |figures| figures.samples),
                )
            })
        };
        self.intervals().flat_map(of).collect()
    }

    fn sources(&self) -> Vec<SeenSource> {
        let of = |interval: Interval| {
            let start_ns = NOW + interval.times.start_ns;
            interval.sources.into_iter().map(move |source| (start_ns, source))
        };
        let mut all: Vec<SeenSource> = self.intervals().flat_map(of).collect();
        all.sort_by(|one, other| (&one.1.source, one.0).cmp(&(&other.1.source, other.0)));
        all
    }
}

/// The same of a store.
fn sources(store: &dyn Store, node: &Sender) -> Vec<SeenSource> {
    let asked = HistoryAsked { from_utc_ns: NOW, to_utc_ns: NOW + 10_000 * INTERVAL, most_points: 10_000 };
    let all = store.history(node.key, &asked).unwrap().sources.into_iter().flat_map(|of| of.points);
    all.map(|point| (point.start_utc_ns, point.worst)).collect()
}

/// The worst of each source in all of it, by hours or days.
fn worst_sources(store: &dyn Store, node: &Sender, days: i64) -> Vec<SourceInterval> {
    let asked = HistoryAsked { from_utc_ns: NOW - INTERVAL, to_utc_ns: NOW + days * 288 * INTERVAL, most_points: 1 };
    let all = store.history(node.key, &asked).unwrap().sources;
    all.into_iter().flat_map(|of| of.points).map(|point| point.worst).collect()
}

fn seen(store: &dyn Store, node: &Sender) -> BTreeSet<Seen> {
    let asked = HistoryAsked { from_utc_ns: NOW, to_utc_ns: NOW + 10_000 * INTERVAL, most_points: 10_000 };
    let history = store.history(node.key, &asked).unwrap();
    assert_eq!((history.tier, history.not_placed), (Tier::Intervals, 0));
    let mut count = 0;
    let mut all = BTreeSet::new();
    for cpu in history.cpus {
        for point in cpu.points {
            let store::Point { start_utc_ns, maximum_ns, maximum_utc_ns, cause, spoiled_ns, samples, .. } = point;
            all.insert((cpu.cpu, start_utc_ns, maximum_ns, maximum_utc_ns, cause, spoiled_ns, samples));
            count += 1;
        }
    }
    assert_eq!(all.len(), count, "nothing is there twice");
    all
}

/// Of a CPU: samples, and the largest latency with its cause.
type Total = BTreeMap<u32, (u64, Option<(i64, Option<Cause>)>)>;

/// What all of it adds up to by hours, or by days, in the fewest points.
fn totals(store: &dyn Store, node: &Sender, days: i64) -> Total {
    let to_utc_ns = NOW + days * 288 * INTERVAL;
    let asked = HistoryAsked { from_utc_ns: NOW - INTERVAL, to_utc_ns, most_points: 50 };
    let history = store.history(node.key, &asked).unwrap();
    assert_eq!(history.tier, if days > 20 { Tier::Days } else { Tier::Hours });
    let total = |points: &[store::Point]| {
        let worst = points.iter().filter_map(|point| Some((point.maximum_ns?, point.cause.clone())));
        (points.iter().map(|point| point.samples).sum(), worst.max_by_key(|(maximum_ns, _)| *maximum_ns))
    };
    history.cpus.iter().map(|cpu| (cpu.cpu, total(&cpu.points))).collect()
}

fn total(seen: &BTreeSet<Seen>) -> Total {
    let mut total = Total::new();
    for (cpu, _, maximum_ns, _, cause, _, samples) in seen {
        let of = total.entry(*cpu).or_default();
        of.0 += samples;
        // Each maximum is another one.
        if *maximum_ns > of.1.as_ref().map(|(maximum_ns, _)| *maximum_ns) {
            of.1 = maximum_ns.map(|maximum_ns| (maximum_ns, cause.clone()));
        }
    }
    total
}

/// Most have none; some were sought and not found.
fn draw_cause(random: &mut Random) -> Option<Cause> {
    let (class, name) =
        [("interrupt", "eth0 (interrupt 44)"), ("thread", "<script>alert(1)</script>"), ("unknown", "")]
            .get(random.below(6))?;
    let covers_percent = (random.below(2) == 0).then(|| u8::try_from(10 * random.below(11)).unwrap());
    Some(Cause { class: (*class).to_owned(), name: (*name).to_owned(), is_shown: random.below(2) == 0, covers_percent })
}

/// Two sources, one of which comes and goes; bounds of whole microseconds, as they are kept.
fn draw_sources(random: &mut Random) -> Vec<SourceInterval> {
    let mut source = |name: &str| SourceInterval {
        source: name.to_owned(),
        bound_ns: (random.below(9) > 0).then(|| 1_000 * u64::try_from(random.below(5_000)).unwrap()),
        state: ["locked", "locked", "holdover", "lost", "unknown"][random.below(5)].to_owned(),
        steps: u64::from(random.below(20) == 0),
        largest_step_ns: 0,
    };
    let mut all = vec![source("chronyd"), source("system clock")];
    for source in &mut all {
        source.largest_step_ns = if source.steps > 0 { -3_000_000 } else { 0 };
    }
    if random.below(3) == 0 {
        all.remove(0);
    }
    all
}

/// A node's entries: intervals of two conditions, gaps, histograms, spoiled figures; each maximum is another one.
fn write(node: &mut Sender, random: &mut Random, count: usize) {
    let mut maximum_ns = 10_000;
    for at in 0..count {
        let mut next = || {
            maximum_ns += 1;
            maximum_ns * if random.below(30) == 0 { 7 } else { 1 }
        };
        let maxima = [next(), next(), next()];
        let condition = if at / 40 % 3 == 1 { "{}" } else { CONDITION };
        let mut interval = node.interval_under(condition, &maxima);
        for cpu in &mut interval.cpus {
            cpu.valid.as_mut().unwrap().cause = draw_cause(random);
        }
        interval.sources = draw_sources(random);
        if random.below(9) == 0 {
            let cpu = &mut interval.cpus[1];
            cpu.reasons.push("stopped".to_owned());
            cpu.spoiled = if random.below(2) == 0 { cpu.valid.take() } else { cpu.valid.clone() };
        }
        node.append(&MonitorEntry::Interval(interval));
        match random.below(25) {
            0 => node.gap(GapReason::Measuring, INTERVAL / 3),
            1 | 2 => {
                let times = node.interval_under(condition, &[]).times;
                let of = Histograms { times, condition: farm::stream::ContentHash::of(condition), cpus: Vec::new() };
                node.append(&MonitorEntry::Histograms(of));
            }
            _ => {}
        }
    }
}

/// Batches of the same stream in many forms: fine, merged, cut, from anywhere on.
fn draw_batches(node: &Sender, random: &mut Random, bodies: usize) -> Vec<BatchBody> {
    let mut spool = node.spool.clone();
    let mut all: Vec<BatchBody> = Vec::new();
    for _ in 0..bodies {
        for _ in 0..random.below(20) {
            spool.make_room();
        }
        let items: Vec<Item<RawEntry>> = spool.items().map(|(_, item)| item.clone()).collect();
        let from = if random.below(3) == 0 { 0 } else { random.below(items.len()) };
        let most = if random.below(4) == 0 { items.len() } else { 30 };
        let count = 1 + random.below(most);
        let items: Vec<_> = items.into_iter().skip(from).take(count).collect();
        all.push(BatchBody {
            stream: node.stream,
            base: Base::of_start(&node.key, node.stream),
            items,
            version: String::new(),
            sent: Some(node.sent()),
        });
    }
    all
}

/// What was sent to the middle of pieces that were merged then: of each the fine part, and the whole.
fn cut_by_merging(node: &Sender, fine: &BatchBody, random: &mut Random) -> Vec<BatchBody> {
    let mut spool = node.spool.clone();
    for _ in 0..2 * fine.items.len() {
        spool.make_room();
    }
    let merged: Vec<Item<RawEntry>> = spool.items().map(|(_, item)| item.clone()).collect();
    let mut all = Vec::new();
    for item in merged.into_iter().filter(|item| item.span.count() >= 8) {
        let middle = item.span.before() + 1 + u64::try_from(random.below(7)).unwrap();
        let fine_items = fine.items[..usize::try_from(middle).unwrap()].to_vec();
        let from = fine_items.len().saturating_sub(50 + random.below(100));
        all.push(BatchBody { items: fine_items[from..].to_vec(), ..fine.clone() });
        all.push(BatchBody { items: vec![item], ..fine.clone() });
    }
    all
}

/// All that a seed says; how much of it there was of what matters: pieces aside, and hours that were computed.
/// Opens the store of a file.
type Open = dyn Fn(&Path) -> Box<dyn Store>;

/// `open`: backups are made, and some become the store.
fn run(fresh: &Fresh, seed: u64, open: Option<&Open>) -> (usize, usize) {
    let mut random = Random::new(seed);
    let Kept { mut store, folder } = fresh(Quotas { entries: u64::MAX, bytes: u64::MAX, ..Quotas::default() });
    let mut node = Sender::enrolled(&mut *store, 1);
    let count = if seed == 0 { 700 } else { 40 + random.below(40) };
    write(&mut node, &mut random, count);
    let base = Base::of_start(&node.key, node.stream);
    let mut memory = Memory { base, shown: BTreeMap::new(), aside: Vec::new(), read: RefCell::default() };
    let mut batches = draw_batches(&node, &mut random, 16);
    let fine = node.body(4_000).unwrap();
    // Half of the stream as it was written; what is drawn comes over it.
    let half = BatchBody { items: fine.items[..fine.items.len() / 2].to_vec(), ..fine.clone() };
    batches.push(half);
    let mut queue: Vec<BatchBody> = Vec::new();
    for batch in batches {
        // Doubled, and out of order.
        for _ in 0..=random.below(2) {
            queue.insert(random.below(queue.len() + 1), batch.clone());
        }
    }
    // All of a long stream is read but now and then: that takes its time.
    let is_long = count > 200;
    let (mut aside, mut cells) = (0, 0);
    let mut backups: Vec<(PathBuf, Memory)> = Vec::new();
    let cut = if is_long { Vec::new() } else { cut_by_merging(&node, &fine, &mut random) };
    for (at, batch) in cut.iter().chain(&queue).chain([&fine]).enumerate() {
        let expected = take(&mut memory, batch.items.clone());
        let Ok(expected) = expected;
        let committed = store.take_batch(&node.arriving(batch, node.now())).unwrap();
        let (sequence, hash) = memory.end().unwrap();
        assert_eq!(
            (committed.taken, committed.sequence, committed.hash),
            (expected, sequence, hash),
            "seed {seed}, {at}"
        );
        aside = aside.max(memory.aside.len());
        if random.below(2) == 0 {
            cells += store.maintain(1 + random.below(300), NOW).unwrap().cells;
        }
        if let Some(open) = open {
            if random.below(3) == 0 {
                let path = folder.path().join(format!("backup-{at}"));
                store.back_up(&path).unwrap();
                Sqlite::check(&path).unwrap();
                backups.push((path, memory.clone()));
            }
            if random.below(3) == 0 && !backups.is_empty() {
                let (path, then) = backups.swap_remove(random.below(backups.len()));
                store = open(&path);
                memory = then;
            }
        }
        if is_long && random.below(8) > 0 {
            continue;
        }
        let model = memory.seen();
        assert_eq!(seen(&*store, &node), model, "seed {seed}, batch {at}");
        assert_eq!(totals(&*store, &node, 4), total(&model), "hours, seed {seed}, batch {at}");
        assert_eq!(totals(&*store, &node, 30), total(&model), "days, seed {seed}, batch {at}");
        let model = memory.sources();
        assert_eq!(sources(&*store, &node), model, "sources, seed {seed}, batch {at}");
        let worst =
            memory.intervals().map(|interval| interval.sources).reduce(|one, other| sources_of_both(&one, &other));
        let worst = worst.unwrap_or_default();
        assert_eq!(worst_sources(&*store, &node, 4), worst, "sources by hours or days, seed {seed}, batch {at}");
    }
    if open.is_some() {
        // The last restore may have been to before it.
        let _ = take(&mut memory, fine.items.clone());
        store.take_batch(&node.arriving(&fine, node.now())).unwrap();
    }
    // All of the finest came: each maximum once, with all its counts.
    let truth: BTreeSet<i64> = memory.seen().iter().filter_map(|(_, _, maximum_ns, ..)| *maximum_ns).collect();
    let written = fine.items.iter().filter_map(|item| match item.body.full()?.entry().unwrap() {
        MonitorEntry::Interval(interval) => Some(interval),
        _ => None,
    });
    let written: BTreeSet<i64> =
        written.flat_map(|interval| interval.cpus).filter_map(|cpu| Some(cpu.valid?.maximum_ns)).collect();
    assert_eq!(truth, written, "seed {seed}");
    maintain_all(&mut *store);
    assert_eq!(seen(&*store, &node), memory.seen(), "seed {seed}");
    (aside, cells)
}

pub(crate) fn whatever_arrives_in_whatever_order_the_model_holds_the_same(fresh: &Fresh) {
    let (mut aside, mut cells) = (0, 0);
    for seed in 0..14 {
        let (more_aside, more_cells) = run(fresh, seed, None);
        aside += more_aside;
        cells += more_cells;
    }
    assert!(aside > 40 && cells > 100, "what was drawn exercises it: {aside} pieces aside, {cells} cells");
}

#[test]
fn a_store_goes_on_from_any_of_its_backups_as_the_model_does() {
    let quotas = Quotas { entries: u64::MAX, bytes: u64::MAX, ..Quotas::default() };
    let open = move |path: &Path| -> Box<dyn Store> { Box::new(Sqlite::open(path, quotas, NOW).unwrap()) };
    for seed in 20..25 {
        run(&super::support::fresh_sqlite, seed, Some(&open));
    }
}
