//! Nodes that are simulated within this process: a key from the seed, a stream, and messages as an agent makes them.

use std::io::Write as _;

use anyhow::Context as _;
use farm::monitor::{
    BatchBody, Envelope, HubKey, LeftTimes, MarkBody, MonitorEntry, Purpose, RawEntry, SIGNATURE_BYTES, SentAt,
};
use farm::stream::{Base, Body, Entry as _, Item, NodeKey, Place, Span, StreamId};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::de::DeserializeOwned;
use store::{By, Enrolling, NewToken, SecretHash, Store};
use units::Random;

use crate::truth::{Boot, Truth};

/// Messages from this length on are compressed, as an agent does (bytes).
const COMPRESSED_FROM: usize = 1_024;

/// A node.
pub(crate) struct MadeNode {
    pub(crate) truth: Truth,
    pair: Ed25519KeyPair,
    pub(crate) key: NodeKey,
    pub(crate) stream: StreamId,
    /// The last sequence that was made, and the place after it.
    pub(crate) end: (u64, Place),
    /// The slot that is made next.
    pub(crate) next_slot: u64,
    boot: Boot,
}

fn bytes(mut random: Random) -> [u8; 32] {
    let mut all = [0; 32];
    for part in all.chunks_exact_mut(8) {
        part.copy_from_slice(&random.next().to_le_bytes());
    }
    all
}

/// The key pair of a node: the same seed and number have the same.
fn pair(seed: u64, number: u64) -> anyhow::Result<Ed25519KeyPair> {
    let seed = bytes(Random::new(Random::new(seed).next() ^ number));
    Ed25519KeyPair::from_seed_unchecked(&seed).ok().context("no key of a seed")
}

/// The public key of a node.
pub(crate) fn key(seed: u64, number: u64) -> anyhow::Result<NodeKey> {
    let pair = pair(seed, number)?;
    Ok(NodeKey(pair.public_key().as_ref().try_into().context("a key of another length")?))
}

impl MadeNode {
    /// A node whose agent starts for the `start`th time, just before a slot.
    pub(crate) fn new(truth: Truth, start: u64, slot: u64) -> anyhow::Result<Self> {
        let pair = pair(truth.seed, truth.node)?;
        let key = NodeKey(pair.public_key().as_ref().try_into().context("a key of another length")?);
        let random = Random::new(truth.seed ^ truth.node.rotate_left(32) ^ start).next();
        let stream = StreamId { start, random };
        let end = (0, Place::origin(&key, stream));
        Ok(Self { truth, pair, key, stream, end, next_slot: slot, boot: Boot { number: start, first_slot: slot } })
    }

    /// Enrols it without any way over the network.
    pub(crate) fn enrol(&self, store: &mut dyn Store, at_wall_ns: i64) -> anyhow::Result<()> {
        let secret = SecretHash::of(&self.key.0);
        store.add_token(secret, &NewToken::default(), &By { who: "farmproof".to_owned(), at_wall_ns })?;
        let (name, version) = (format!("node-{:05}", self.truth.node), env!("CARGO_PKG_VERSION").to_owned());
        store.enrol(&Enrolling { node: self.key, secret, name, version, at_wall_ns })?;
        Ok(())
    }

    fn item(&mut self, entry: &MonitorEntry) -> anyhow::Result<Item<RawEntry>> {
        Ok(self.item_of(RawEntry::new(entry)?))
    }

    /// The next item, whatever text its entry has.
    pub(crate) fn item_of(&mut self, raw: RawEntry) -> Item<RawEntry> {
        let (sequence, before) = self.end;
        let after = before.then(&raw.bytes());
        self.end = (sequence + 1, after);
        Item { span: Span::one(sequence + 1), before, after, within: Vec::new(), body: Body::Full(raw) }
    }

    /// The moment by its clock.
    pub(crate) fn sent(&self) -> SentAt {
        let LeftTimes { boot, start_ns, .. } = self.truth.times(self.next_slot, &self.boot);
        SentAt { boot, at_ns: start_ns }
    }

    /// The next batch, of so many slots; the first one begins the stream.
    pub(crate) fn batch(&mut self, slots: u64) -> anyhow::Result<BatchBody> {
        let mut items = Vec::new();
        if self.end.0 == 0 {
            for entry in self.truth.begin(self.next_slot, &self.boot.clone()) {
                items.push(self.item(&entry)?);
            }
        }
        for _ in 0..slots {
            let interval = self.truth.interval(self.next_slot, &self.boot);
            items.push(self.item(&MonitorEntry::Interval(interval))?);
            self.next_slot += 1;
        }
        Ok(self.batch_of(items))
    }

    /// The items of the next slot, with gaps and histograms as an agent writes them; the first ones begin the stream.
    pub(crate) fn slot_items(&mut self) -> anyhow::Result<Vec<Item<RawEntry>>> {
        let slot = self.next_slot;
        let begin = if self.end.0 == 0 { self.truth.begin(slot, &self.boot).to_vec() } else { Vec::new() };
        self.next_slot += 1;
        begin.iter().chain(&self.truth.entries(slot, &self.boot)).map(|entry| self.item(entry)).collect()
    }

    /// A batch of items that follow on each other.
    pub(crate) fn batch_of(&self, items: Vec<Item<RawEntry>>) -> BatchBody {
        let base = Base::of_start(&self.key, self.stream);
        BatchBody {
            stream: self.stream,
            base,
            items,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sent: Some(self.sent()),
        }
    }

    /// A message as it is sent.
    pub(crate) fn signed(&self, purpose: Purpose, hub: HubKey, message: Vec<u8>) -> Vec<u8> {
        let sign = |bytes: &[u8]| {
            let mut signature = [0; SIGNATURE_BYTES];
            signature.copy_from_slice(self.pair.sign(bytes).as_ref());
            signature
        };
        Envelope::sign(purpose, self.key, hub, message, sign).to_bytes()
    }

    /// The next batch as it is sent.
    pub(crate) fn message(&mut self, hub: HubKey, slots: u64) -> anyhow::Result<Vec<u8>> {
        let batch = self.batch(slots)?;
        self.signed_batch(hub, &batch)
    }

    /// A batch as it is sent.
    pub(crate) fn signed_batch(&self, hub: HubKey, batch: &BatchBody) -> anyhow::Result<Vec<u8>> {
        let json = serde_json::to_vec(batch)?;
        let message = if json.len() < COMPRESSED_FROM { json } else { deflated(&json)? };
        Ok(self.signed(Purpose::Batch, hub, message))
    }
}

/// Bytes as an agent compresses them.
pub(crate) fn deflated(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// What a hub has acknowledged, where it has signed that.
pub(crate) fn mark(answer: &[u8], hub: HubKey, node: NodeKey) -> anyhow::Result<MarkBody> {
    answered(answer, Purpose::Mark, hub, node)
}

/// What a hub has answered to a node, where it has signed that.
pub(crate) fn answered<T: DeserializeOwned>(
    answer: &[u8],
    purpose: Purpose,
    hub: HubKey,
    node: NodeKey,
) -> anyhow::Result<T> {
    let envelope = Envelope::from_bytes(answer, purpose)?;
    anyhow::ensure!(envelope.node == node, "an answer to another node");
    let is_signed = |key: &[u8; 32], bytes: &[u8], signature: &[u8; SIGNATURE_BYTES]| {
        UnparsedPublicKey::new(&ED25519, key).verify(bytes, signature).is_ok()
    };
    Ok(serde_json::from_slice(envelope.verify(hub, is_signed)?)?)
}
