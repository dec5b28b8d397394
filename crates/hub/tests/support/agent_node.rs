//! A node with the agent's own folder, spool and client; only its measurement is made up.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use agent::{DiskSpool, SendError, SpoolLimits, State, send_once};
use farm::monitor::WallTime;
use farm::stream::{NodeKey, StreamId};
use farm::{SECRET_BYTES, Secret, Token};
use store::{HistoryAsked, Read};

use super::{INTERVAL_NS, TestHub, beginning, interval, now_ns};

/// A node.
pub(crate) struct AgentNode {
    pub(crate) state: State,
    pub(crate) spool: Arc<Mutex<DiskSpool>>,
    pub(crate) key: NodeKey,
    /// The maxima of all its intervals, in their order (ns).
    pub(crate) truth: Vec<i64>,
    utc_ns: i64,
    _place: tempfile::TempDir,
}

impl AgentNode {
    /// Enrolled at a hub by a token's secret, with the addresses that it tries in turn.
    pub(crate) fn enrolled(hub: &TestHub, secret: &str, name: &str, addresses: &[SocketAddr]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let state = State::open(&place.path().join("state")).unwrap();
        let key = state.identity_or_new().unwrap().public();
        // 32 bytes as digits have the form of a key.
        let secret: [u8; SECRET_BYTES] = secret.parse::<NodeKey>().unwrap().0;
        let token = Token::new(hub.running().hub.keys.agents.fingerprint(), Secret::new(secret));
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        agent::enrol(&state, &addresses, &token, name).unwrap();
        let (spool, _) = DiskSpool::open(&state.spool(), key, SpoolLimits::of_bytes(16 << 20)).unwrap();
        let utc_ns = now_ns() - 86_400 * 1_000_000_000;
        let spool = Arc::new(Mutex::new(spool));
        let node = Self { state, spool, key, truth: Vec::new(), utc_ns, _place: place };
        node.begin(1);
        node
    }

    /// Begins a stream.
    fn begin(&self, start: u64) {
        let mut spool = self.spool.lock().unwrap();
        spool.begin(StreamId { start, random: u64::from_le_bytes(self.key.0[..8].try_into().unwrap()) });
        let start_ns = self.next_ns();
        for entry in beginning("host", start_ns, self.wall(start_ns)) {
            spool.append(&entry).unwrap();
        }
    }

    /// When the next interval begins (ns, CLOCK_BOOTTIME).
    fn next_ns(&self) -> i64 {
        i64::try_from(INTERVAL_NS).unwrap() * i64::try_from(self.truth.len()).unwrap()
    }

    fn wall(&self, at_ns: i64) -> Option<WallTime> {
        Some(WallTime { ns: self.utc_ns + at_ns, is_synchronized: true, error_ns: Some(1_000) })
    }

    /// Measures an interval, and brings it to the disk.
    pub(crate) fn measure(&mut self, maximum_ns: i64) {
        let start_ns = self.next_ns();
        let entry = interval(start_ns, self.wall(start_ns), &[maximum_ns], None);
        let mut spool = self.spool.lock().unwrap();
        spool.append(&entry).unwrap();
        spool.flush().unwrap();
        self.truth.push(maximum_ns);
    }

    /// Sends all that waits, as the agent does by itself.
    pub(crate) fn send(&self) -> Result<(), SendError> {
        send_once(&self.state, &self.spool)
    }

    /// The agent is started again from its disk, and begins a stream.
    pub(crate) fn restart(&mut self) {
        let (spool, _) = DiskSpool::open(&self.state.spool(), self.key, SpoolLimits::of_bytes(16 << 20)).unwrap();
        *self.spool.lock().unwrap() = spool;
        self.begin(2);
    }

    /// The agent is started again, and its spool is gone.
    pub(crate) fn restart_without_spool(&mut self) {
        std::fs::remove_dir_all(self.state.spool()).unwrap();
        self.restart();
    }

    /// What a hub has of it: the maximum of each interval, and how many wake-ups are counted.
    pub(crate) fn held_by(&self, store: &impl Read) -> (Vec<i64>, u64) {
        let to_utc_ns = self.utc_ns + 10 * 86_400 * 1_000_000_000;
        let asked = HistoryAsked { from_utc_ns: self.utc_ns, to_utc_ns, most_points: 10_000 };
        let history = store.history(self.key, &asked).unwrap();
        let points = history.cpus.first().map(|cpu| &cpu.points[..]).unwrap_or_default();
        (points.iter().filter_map(|point| point.maximum_ns).collect(), points.iter().map(|point| point.samples).sum())
    }

    /// A hub has every interval, once.
    pub(crate) fn check_held_by(&self, store: &impl Read) {
        let samples = 300_000 * self.truth.len() as u64;
        assert_eq!(self.held_by(store), (self.truth.clone(), samples));
    }
}
