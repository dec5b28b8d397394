//! Stores and nodes to test with.

use farm::monitor::{
    BatchBody, BootId, ContentKind, ContentOf, CpuInterval, Figures, GapReason, Interval, LeftTimes, MonitorEntry,
    RawEntry, SentAt, StreamBegin, WallTime,
};
use farm::stream::{ContentHash, Mark, NodeKey, Spool, StreamId};
use store::{Arriving, By, Committed, Enrolling, NewToken, Quotas, ReadyBatch, SecretHash, Sqlite, Store};

/// A second (ns).
pub(crate) const S: i64 = 1_000_000_000;
/// Five minutes (ns).
pub(crate) const INTERVAL: i64 = 300 * S;
/// The hub's clock when tests begin: a midnight.
pub(crate) const NOW: i64 = 20_000 * 86_400 * S;
/// The condition of most intervals.
pub(crate) const CONDITION: &str = r#"{"kind": "wakeup", "interval-ns": 1000000, "limit-ns": 100000}"#;

/// How a fresh store of an implementation is made.
pub(crate) type Fresh = dyn Fn(Quotas) -> Kept;

/// A store, with the folder that it lies in.
pub(crate) struct Kept {
    pub(crate) store: Box<dyn Store>,
    pub(crate) folder: tempfile::TempDir,
}

/// A fresh store in SQLite.
pub(crate) fn fresh_sqlite(quotas: Quotas) -> Kept {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&folder.path().join("hub.db"), quotas, NOW).unwrap();
    Kept { store: Box::new(store), folder }
}

pub(crate) fn by(at_wall_ns: i64) -> By {
    By { who: "root".to_owned(), at_wall_ns }
}

/// A node with its spool.
pub(crate) struct Sender {
    pub(crate) key: NodeKey,
    pub(crate) spool: Spool<RawEntry>,
    pub(crate) stream: StreamId,
    pub(crate) boot: String,
    /// When the next entry begins (ns, CLOCK_BOOTTIME).
    pub(crate) next_ns: i64,
    /// UTC at CLOCK_BOOTTIME 0, where its clock is right.
    pub(crate) utc_ns: Option<i64>,
}

impl Sender {
    /// A node that was enrolled, with a stream that was begun.
    pub(crate) fn enrolled(store: &mut dyn Store, number: u8) -> Self {
        let key = NodeKey([number; 32]);
        let secret = SecretHash::of(&[number]);
        store.add_token(secret, &NewToken::default(), &by(NOW)).unwrap();
        let name = format!("node-{number:03}");
        store.enrol(&Enrolling { node: key, secret, name, version: "0.1.0".to_owned(), at_wall_ns: NOW }).unwrap();
        Self::new(key)
    }

    /// A node with a stream that was begun.
    pub(crate) fn new(key: NodeKey) -> Self {
        let mut sender = Self {
            key,
            spool: Spool::new(key),
            stream: StreamId { start: 0, random: 0 },
            boot: "boot-1".to_owned(),
            next_ns: 17 * S + 5,
            utc_ns: Some(NOW),
        };
        sender.restart();
        sender
    }

    /// The agent starts again.
    pub(crate) fn restart(&mut self) {
        let start = self.stream.start + 1;
        self.stream = StreamId { start, random: start.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
        self.spool.begin(self.stream);
    }

    fn wall(&self, boot_ns: i64) -> Option<WallTime> {
        let utc_ns = self.utc_ns?;
        Some(WallTime { ns: utc_ns + boot_ns, is_synchronized: true, error_ns: Some(1_000) })
    }

    fn times(&mut self, length_ns: i64) -> LeftTimes {
        let start_ns = self.next_ns;
        self.next_ns += length_ns;
        let length_ns = length_ns.unsigned_abs();
        LeftTimes { boot: BootId(self.boot.clone()), start_ns, length_ns, wall: self.wall(start_ns) }
    }

    pub(crate) fn append(&mut self, entry: &MonitorEntry) {
        self.spool.append(RawEntry::new(entry).unwrap());
    }

    pub(crate) fn begin(&mut self) {
        let begin = StreamBegin {
            boot: BootId(self.boot.clone()),
            start_ns: self.next_ns,
            wall: self.wall(self.next_ns),
            version: "0.1.0".to_owned(),
            host: "host".to_owned(),
            hardware: Vec::new(),
            earlier: Vec::new(),
            isolated_and_not_monitored: vec![7],
        };
        self.append(&MonitorEntry::Begin(begin));
    }

    pub(crate) fn content(&mut self, kind: ContentKind, text: &str) {
        let (boot, since_ns) = (BootId(self.boot.clone()), self.next_ns);
        self.append(&MonitorEntry::Content(ContentOf { kind, text: text.to_owned(), since_ns, boot }));
    }

    /// An interval with the maximum of each CPU.
    pub(crate) fn interval_under(&mut self, condition: &str, maxima_ns: &[i64]) -> Interval {
        let times = self.times(INTERVAL);
        let figures = |maximum_ns: i64| Figures {
            maximum_ns,
            maximum_at_ns: maximum_ns.unsigned_abs() % 300_000 * 1_000_000,
            samples: 300_000,
            ..Figures::default()
        };
        let cpu = |(cpu, maximum_ns): (u32, &i64)| CpuInterval {
            cpu,
            valid: Some(figures(*maximum_ns)),
            ..CpuInterval::default()
        };
        Interval {
            times,
            condition: ContentHash::of(condition),
            made_of: 1,
            cut_short: None,
            cpus: (0..).zip(maxima_ns).map(cpu).collect(),
            sources: Vec::new(),
        }
    }

    pub(crate) fn interval(&mut self, maxima_ns: &[i64]) {
        let interval = self.interval_under(CONDITION, maxima_ns);
        self.append(&MonitorEntry::Interval(interval));
    }

    pub(crate) fn gap(&mut self, why: GapReason, length_ns: i64) {
        let times = self.times(length_ns);
        self.append(&MonitorEntry::Gap { times, why, cpus: Vec::new() });
    }

    /// The moment by its clock.
    pub(crate) fn sent(&self) -> SentAt {
        SentAt { boot: BootId(self.boot.clone()), at_ns: self.next_ns }
    }

    /// What is sent next, at most so many items.
    pub(crate) fn body(&self, most: usize) -> Option<BatchBody> {
        let batch = self.spool.batch(most)?;
        Some(BatchBody {
            stream: batch.stream,
            base: batch.base,
            items: batch.items,
            version: "0.1.0".to_owned(),
            sent: Some(self.sent()),
        })
    }

    pub(crate) fn arriving(&self, body: &BatchBody, received_wall_ns: i64) -> Arriving {
        let json = serde_json::to_vec(body).unwrap();
        let batch = ReadyBatch::new(&BatchBody::from_json(&json).unwrap()).unwrap();
        Arriving { node: self.key, batch, received_wall_ns, round_trip_ns: 1_000_000 }
    }

    /// Takes the hub's answer.
    pub(crate) fn take(&mut self, stream: StreamId, committed: &Committed) {
        let mark = Mark {
            stream,
            sequence: committed.sequence,
            hash: committed.hash,
            epoch: 1,
            lacks: committed.lacks.clone(),
        };
        self.spool.take_mark(&mark);
    }

    /// Sends all that is left.
    pub(crate) fn send_all(&mut self, store: &mut dyn Store, received_wall_ns: i64) {
        while let Some(body) = self.body(1_000) {
            let committed = store.take_batch(&self.arriving(&body, received_wall_ns)).unwrap();
            self.take(body.stream, &committed);
        }
    }

    /// The hub's clock by now, where it is right and the node's boot began at [`NOW`].
    pub(crate) fn now(&self) -> i64 {
        NOW + self.next_ns
    }
}

/// Does all that is left to do.
pub(crate) fn maintain_all(store: &mut dyn Store) {
    while store.maintain(1_000, NOW).unwrap().is_more {}
}
