//! Nodes catch up: what was measured while the hub was away arrives all at once. Prints how fast it is taken, and what it takes at rest.
//!
//! `cargo run --release -p punctual-store --example catch_up -- NODES DAYS FOLDER`
#![allow(clippy::unwrap_used, reason = "an example ends where something fails")]

use std::path::Path;
use std::time::{Duration, Instant};

use farm::monitor::{
    BatchBody, BootId, Cause, CpuInterval, Figures, Interval, LeftTimes, MonitorEntry, RawEntry, SYNCHRONIZED,
    SYSTEM_CLOCK, SourceInterval, WallTime,
};
use farm::stream::{ContentHash, Mark, NodeKey, Spool, StreamId};
use store::{Arriving, By, Enrolling, NewToken, Quotas, Read as _, ReadyBatch, SecretHash, Sqlite, Store as _};
use units::Random;

const S: i64 = 1_000_000_000;
const INTERVAL: i64 = 300 * S;
const NOW: i64 = 20_000 * 86_400 * S;
const CPUS: u32 = 8;
/// Batches of a commit.
const GROUP: usize = 16;

fn interval(random: &mut Random, number: i64) -> Interval {
    let start_ns = 11 * S + number * INTERVAL;
    let mut below = |bound: usize| u64::try_from(random.below(bound)).unwrap();
    let wall = WallTime { ns: NOW + start_ns, is_synchronized: true, error_ns: Some(3_000_000 + below(1_000_000)) };
    let bound_ns = wall.error_ns;
    let mut cpu = |cpu| {
        let figures = Figures {
            maximum_ns: i64::try_from(12_000 + below(16_000) + below(16_000)).unwrap(),
            maximum_at_ns: below(300_000) * 1_000_000,
            samples: 300_000 - below(2),
            missed_periods: u64::from(below(100) == 0),
            beyond_limit: 0,
            cause: (below(100) == 0).then(|| Cause {
                class: "interrupt".to_owned(),
                name: format!("eth0 (interrupt {})", 40 + below(4)),
                is_shown: true,
                covers_percent: Some(90),
            }),
        };
        CpuInterval { cpu, valid: Some(figures), ..CpuInterval::default() }
    };
    Interval {
        times: LeftTimes {
            boot: BootId("boot".to_owned()),
            start_ns,
            length_ns: INTERVAL.unsigned_abs(),
            wall: Some(wall),
        },
        condition: ContentHash::of("{}"),
        made_of: 1,
        cut_short: None,
        cpus: (0..CPUS).map(&mut cpu).collect(),
        sources: vec![SourceInterval {
            source: SYSTEM_CLOCK.to_owned(),
            bound_ns,
            state: SYNCHRONIZED.to_owned(),
            ..SourceInterval::default()
        }],
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, nodes, days, folder] = &arguments[..] else { panic!("NODES DAYS FOLDER are expected") };
    let (nodes, days): (usize, i64) = (nodes.parse().unwrap(), days.parse().unwrap());
    let path = Path::new(folder).join("hub.db");
    let mut store = Sqlite::open(&path, Quotas { streams: u64::MAX, entries: u64::MAX, bytes: u64::MAX }, NOW).unwrap();
    let mut random = Random::new(1);
    let mut spools: Vec<(NodeKey, Spool<RawEntry>, StreamId)> = Vec::new();
    for number in 0..nodes {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&number.to_le_bytes());
        let (node, secret) = (NodeKey(key), SecretHash::of(&key));
        let by = By { who: "example".to_owned(), at_wall_ns: NOW };
        store.add_token(secret, &NewToken::default(), &by).unwrap();
        let (name, version) = (format!("node-{number}"), "0.1.0".to_owned());
        store.enrol(&Enrolling { node, secret, name, version, at_wall_ns: NOW }).unwrap();
        let (mut spool, id) = (Spool::new(node), StreamId { start: 1, random: random.next() });
        spool.begin(id);
        spools.push((node, spool, id));
    }
    let (mut reading, mut taking, mut maintaining) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for day in 0..days {
        for group in spools.chunks_mut(GROUP) {
            let mut arriving = Vec::new();
            for (node, spool, id) in &mut *group {
                for number in day * 288..(day + 1) * 288 {
                    spool.append(RawEntry::new(&MonitorEntry::Interval(interval(&mut random, number))).unwrap());
                }
                let items = spool.batch(288).unwrap().items;
                let json = serde_json::to_vec(&BatchBody {
                    stream: *id,
                    base: farm::stream::Base::of_start(node, *id),
                    items,
                    version: "0.1.0".to_owned(),
                    sent: None,
                })
                .unwrap();
                let begin = Instant::now();
                let batch = ReadyBatch::new(&BatchBody::from_json(&json).unwrap()).unwrap();
                reading += begin.elapsed();
                let received_wall_ns = NOW + days * 288 * INTERVAL;
                arriving.push(Arriving { node: *node, batch, received_wall_ns, round_trip_ns: 1_000_000 });
            }
            let begin = Instant::now();
            let answers = store.take_batches(&arriving).unwrap();
            taking += begin.elapsed();
            for ((_, spool, id), answer) in group.iter_mut().zip(answers) {
                let committed = answer.unwrap();
                spool.take_mark(&Mark {
                    stream: *id,
                    sequence: committed.sequence,
                    hash: committed.hash,
                    epoch: 1,
                    lacks: Vec::new(),
                });
                spool.remove(*id, committed.sequence);
            }
            let begin = Instant::now();
            store.maintain(2_000, NOW).unwrap();
            maintaining += begin.elapsed();
        }
    }
    let begin = Instant::now();
    while store.maintain(10_000, NOW).unwrap().is_more {}
    maintaining += begin.elapsed();
    let begin = Instant::now();
    let rows = store.fleet(NOW).unwrap().len();
    let fleet = begin.elapsed();
    // One more interval of each: nothing of what the page shows is computed yet.
    let mut arriving = Vec::new();
    for (node, spool, id) in &mut spools {
        spool.append(RawEntry::new(&MonitorEntry::Interval(interval(&mut random, days * 288))).unwrap());
        let (items, base) = (spool.batch(1).unwrap().items, farm::stream::Base::of_start(node, *id));
        let batch =
            ReadyBatch::new(&BatchBody { stream: *id, base, items, version: "0.1.0".to_owned(), sent: None }).unwrap();
        let received_wall_ns = NOW + (days * 288 + 1) * INTERVAL;
        arriving.push(Arriving { node: *node, batch, received_wall_ns, round_trip_ns: 1_000_000 });
    }
    store.take_batches(&arriving).unwrap();
    let begin = Instant::now();
    store.fleet(NOW).unwrap();
    let fresh = begin.elapsed();
    let copy = Path::new(folder).join("copy.db");
    store.back_up(&copy).unwrap();
    let bytes = std::fs::metadata(&copy).unwrap().len();
    let intervals = u64::try_from(nodes).unwrap() * days.unsigned_abs() * 288;
    let rate = |time: Duration| u128::from(intervals) * 1_000_000 / time.as_micros().max(1);
    println!("{intervals} node-intervals of {CPUS} CPUs");
    println!("read: {}/s in one thread, any number of which may read", rate(reading));
    println!("taken, durable: {}/s; {} batches of 288 a commit", rate(taking), GROUP);
    println!("packed, with hours and days: {}/s", rate(maintaining));
    println!("both by the one writer: {}/s", rate(taking + maintaining));
    println!(
        "at rest: {bytes} bytes, {} hundredths of a byte a CPU and interval",
        bytes * 100 / intervals / u64::from(CPUS)
    );
    println!("fleet of {rows}: {} us; right after an interval of each: {} us", fleet.as_micros(), fresh.as_micros());
}
