//! Nodes that are enrolled at the hub in the guest and send, and what the hub has told them, each with the moment in the log of writes.

use std::fs::File;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use farm::Token;
use farm::monitor::{EnrolledBody, EnrolmentBody, HubKey, Purpose, RawEntry, Refused, RefusedBody};
use farm::stream::{ContentHash, Item};
use rustls::ClientConfig;
use units::Random;

use super::write_log;
use crate::client::{Answer, NodeClient};
use crate::nodes::{MadeNode, answered, mark};

/// How long the hub may be away, with its emulated machine: it is restarted again and again.
const AWAY_AT_MOST: Duration = Duration::from_secs(90);
/// How long a node waits that found no hub, or a busy one.
const TRY_AGAIN: Duration = Duration::from_millis(200);
/// The longest time from one batch to the next.
const MOST_BETWEEN_MS: usize = 400;
/// The most slots of a batch.
const MOST_SLOTS: usize = 4;

/// What the hub told somebody, so that it has to be so after every later power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The node is enrolled.
    Enrolled,
    /// All up to this sequence is committed.
    Committed(u64),
    /// The node is revoked.
    Revoked,
}

/// Something that the hub told of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// Number of the node.
    pub(super) node: usize,
    pub(super) what: What,
    /// Entries in the log of writes when it was first asked for: a disk of before cannot have it.
    pub(super) asked_at: u64,
    /// Entries in the log when it was answered: a disk of any later moment has to have it.
    pub(super) told_at: u64,
}

/// How far a log has come that is being written.
#[derive(Clone, Debug)]
pub(super) struct Position(Arc<File>);

impl Position {
    pub(super) fn of(log: File) -> Self {
        Self(Arc::new(log))
    }

    /// Entries that are known to be in the log. It is stated with every flush before that is done; what a hub answers after a flush is
    /// heard later.
    pub(super) fn now(&self) -> anyhow::Result<u64> {
        Ok(write_log::head(&self.0)?.entries)
    }
}

/// What all nodes share.
pub(super) struct Shared {
    pub(super) agents: SocketAddr,
    pub(super) config: Arc<ClientConfig>,
    pub(super) hub: HubKey,
    pub(super) position: Position,
    is_over: AtomicBool,
    told: Mutex<Vec<Told>>,
}

impl Shared {
    pub(super) fn new(agents: SocketAddr, config: Arc<ClientConfig>, hub: HubKey, position: Position) -> Self {
        Self { agents, config, hub, position, is_over: AtomicBool::new(false), told: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, Vec<Told>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what was told just now.
    pub(super) fn note(&self, node: usize, what: What, asked_at: u64) -> anyhow::Result<()> {
        let told_at = self.position.now()?;
        self.held().push(Told { node, what, asked_at, told_at });
        Ok(())
    }

    /// Whether a node was told that it is enrolled.
    pub(super) fn is_enrolled(&self, node: usize) -> bool {
        self.held().iter().any(|told| told.node == node && told.what == What::Enrolled)
    }

    /// Entries that were acknowledged up to now.
    pub(super) fn committed(&self) -> u64 {
        let mut most = std::collections::BTreeMap::new();
        for told in self.held().iter() {
            if let What::Committed(sequence) = told.what {
                most.insert(told.node, sequence);
            }
        }
        units::total(most.into_values())
    }

    /// Lets the nodes end.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// All that was told.
    pub(super) fn told(&self) -> Vec<Told> {
        self.held().clone()
    }
}

/// What a node has made: all of it, whether it was acknowledged or not.
pub(super) struct Made {
    pub(super) node: MadeNode,
    pub(super) items: Vec<Item<RawEntry>>,
    /// Each slot with the sequence of its last entry.
    pub(super) slots: Vec<(u64, u64)>,
}

/// A node that sends.
pub(super) struct Sending {
    pub(super) is_being_revoked: Arc<AtomicBool>,
    pub(super) thread: JoinHandle<anyhow::Result<Made>>,
}

impl Sending {
    /// Lets a node ask for its enrolment after a while, and send from then on.
    pub(super) fn start(
        node: MadeNode,
        token: Token,
        after: Duration,
        number: usize,
        shared: &Arc<Shared>,
    ) -> anyhow::Result<Self> {
        let is_being_revoked = Arc::new(AtomicBool::new(false));
        let (shared, is_revoked) = (Arc::clone(shared), Arc::clone(&is_being_revoked));
        let work = move || Working { node, number, shared, is_revoked, client: None }.run(&token, after);
        let thread = std::thread::Builder::new().name(format!("node-{number}")).spawn(work)?;
        Ok(Self { is_being_revoked, thread })
    }
}

/// How a node asks to be enrolled by a token.
pub(super) fn enrolment(node: &MadeNode, token: &Token, hub: HubKey) -> anyhow::Result<Vec<u8>> {
    let asked = EnrolmentBody {
        secret: ContentHash(*token.secret().bytes()).to_string(),
        name: format!("node-{}", node.truth.node),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Ok(node.signed(Purpose::Enrolment, hub, serde_json::to_vec(&asked)?))
}

struct Working {
    node: MadeNode,
    number: usize,
    shared: Arc<Shared>,
    is_revoked: Arc<AtomicBool>,
    client: Option<NodeClient>,
}

impl Working {
    fn is_over(&self) -> bool {
        self.shared.is_over.load(Ordering::Acquire)
    }

    fn run(mut self, token: &Token, after: Duration) -> anyhow::Result<Made> {
        let mut random = Random::new(self.node.truth.seed ^ self.node.truth.node);
        let (mut items, mut slots): (Vec<Item<RawEntry>>, Vec<(u64, u64)>) = (Vec::new(), Vec::new());
        let began = Instant::now();
        while began.elapsed() < after && !self.is_over() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut goes_on = self.enrol(token)?;
        while goes_on && !self.is_over() {
            let first = items.len();
            for _ in 0..=random.below(MOST_SLOTS) {
                let slot = self.node.next_slot;
                items.extend(self.node.slot_items()?);
                slots.push((slot, self.node.end.0));
            }
            let batch = self.node.batch_of(items.get(first..).unwrap_or_default().to_vec());
            let message = self.node.signed_batch(self.shared.hub, &batch)?;
            let asked_at = self.shared.position.now()?;
            goes_on = match self.ask("/v1/batch", &message)? {
                Some(answer) => {
                    let mark = mark(&answer.body, self.shared.hub, self.node.key)?;
                    let end = self.node.end;
                    ensure!((mark.sequence, mark.hash) == end, "acknowledged {} of {}", mark.sequence, end.0);
                    self.shared.note(self.number, What::Committed(mark.sequence), asked_at)?;
                    true
                }
                None => false,
            };
            let pause_ms = random.below(MOST_BETWEEN_MS);
            std::thread::sleep(Duration::from_millis(u64::try_from(pause_ms).unwrap_or(0)));
        }
        Ok(Made { node: self.node, items, slots })
    }

    /// Whether the node was enrolled before all was over.
    fn enrol(&mut self, token: &Token) -> anyhow::Result<bool> {
        if self.is_over() {
            return Ok(false);
        }
        let message = enrolment(&self.node, token, self.shared.hub)?;
        let asked_at = self.shared.position.now()?;
        let Some(answer) = self.ask("/v1/enrol", &message)? else { return Ok(false) };
        let enrolled: EnrolledBody = answered(&answer.body, Purpose::Enrolled, self.shared.hub, self.node.key)?;
        ensure!(enrolled.node == self.node.key, "another node was enrolled in the place of node {}", self.number);
        self.shared.note(self.number, What::Enrolled, asked_at)?;
        Ok(true)
    }

    /// Asks until the hub takes it; `None` where all is over meanwhile, or the node is revoked.
    fn ask(&mut self, path: &str, message: &[u8]) -> anyhow::Result<Option<Answer>> {
        let began = Instant::now();
        let mut why = anyhow!("it was never asked");
        while began.elapsed() < AWAY_AT_MOST {
            if self.is_over() {
                return Ok(None);
            }
            match self.ask_once(path, message) {
                Ok(answer) if answer.status == 200 => return Ok(Some(answer)),
                Ok(answer) if answer.status == 503 => why = anyhow!("it is busy: {}", answer.text()),
                Ok(answer) => {
                    let refused = serde_json::from_slice(&answer.body).map(|body: RefusedBody| body.refused);
                    if self.is_revoked.load(Ordering::Acquire) && refused.is_ok_and(|word| word == Refused::Revoked) {
                        return Ok(None);
                    }
                    return Err(anyhow!("node {}: answered {}: {}", self.number, answer.status, answer.text()));
                }
                Err(error) => {
                    // It is being restarted: what it answered to nobody is asked again.
                    self.client = None;
                    why = error;
                }
            }
            std::thread::sleep(TRY_AGAIN);
        }
        Err(why).with_context(|| {
            format!("node {}: the hub has not answered within {} s", self.number, AWAY_AT_MOST.as_secs())
        })
    }

    fn ask_once(&mut self, path: &str, message: &[u8]) -> anyhow::Result<Answer> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => NodeClient::connect(self.shared.agents, &self.shared.config)?,
        };
        let answer = client.post(path, message)?;
        self.client = Some(client);
        Ok(answer)
    }
}
