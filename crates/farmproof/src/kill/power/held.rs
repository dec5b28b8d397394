//! What a hub's disk has after a power cut, held against what the hub had told by then.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use farm::Token;
use farm::monitor::{HubKey, Refused, RefusedBody};
use farm::stream::StreamId;
use hub::apart::{self, Event};
use store::{Quotas, Read as _, Sqlite};

use super::sending::{Made, Told, What, enrolment};
use crate::client::{self, NodeClient};
use crate::clock::now_wall_ns;
use crate::journal::Noted;
use crate::kill::check::{self, Checked};
use crate::kill::node::Room;
use crate::nodes::mark;
use crate::processes::{HubProgram, StartingHub};

/// The most items of a batch that is sent after the cut.
const MOST_ITEMS: usize = 500;
/// The log of enrolments and revocations, in the hub's folder.
const APART_LOG: &str = "keep-apart/nodes.log";

/// What is known of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Promise {
    is_enrolled: bool,
    is_revoked: bool,
    /// Whether somebody has asked for its revocation, answered or not.
    may_be_revoked: bool,
    /// All up to there is acknowledged.
    committed: u64,
    /// The first end that was sent after the cut: the disk cannot have it.
    not_sent_yet: Option<u64>,
}

/// What a hub had told until a power cut.
pub(super) fn promises(told: &[Told], nodes: usize, cut: u64) -> Promises {
    let mut all = vec![Promise::default(); nodes];
    for Told { node, what, asked_at, told_at } in told {
        let Some(promise) = all.get_mut(*node) else { continue };
        let is_told = *told_at <= cut;
        match what {
            What::Enrolled => promise.is_enrolled |= is_told,
            What::Revoked => {
                promise.is_revoked |= is_told;
                promise.may_be_revoked |= *asked_at <= cut;
            }
            What::Committed(sequence) if is_told => promise.committed = promise.committed.max(*sequence),
            What::Committed(sequence) if *asked_at >= cut => {
                let first = promise.not_sent_yet.map_or(*sequence, |first| first.min(*sequence));
                promise.not_sent_yet = Some(first);
            }
            What::Committed(_) => {}
        }
    }
    Promises(all)
}

/// What a hub had told of each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Promises(Vec<Promise>);

impl Promises {
    /// Entries that were acknowledged.
    pub(super) fn committed(&self) -> u64 {
        units::total(self.0.iter().map(|promise| promise.committed))
    }

    fn is_anything(&self) -> bool {
        self.0.iter().any(|promise| promise.is_enrolled)
    }
}

/// A backup that a command has made.
#[derive(Clone, Debug)]
pub(super) struct Backup {
    /// Its file, from the disk's root on.
    pub(super) file: PathBuf,
    /// Entries in the log of writes when it was begun.
    pub(super) asked_at: u64,
    /// Entries in the log when the command had ended.
    pub(super) told_at: u64,
}

/// A link for a browser: an empty file in the hub's folder, which is there as long as it is good.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// Its file's name.
    pub(super) name: String,
    /// Entries in the log of writes when it was printed.
    pub(super) made_at: u64,
    /// Entries in the log when it was asked to end it, and when the command had ended; `None` where nobody has.
    pub(super) ended: Option<(u64, u64)>,
}

impl Link {
    /// Whether its file has to be there after a cut; `None` where it may be there or not.
    fn is_there(&self, cut: u64) -> Option<bool> {
        match self.ended {
            Some((_, told_at)) if told_at <= cut => Some(false),
            Some((asked_at, _)) if asked_at <= cut => None,
            _ => (self.made_at <= cut).then_some(true),
        }
    }
}

/// All that is known of the run.
pub(super) struct Run {
    pub(super) nodes: Vec<Made>,
    pub(super) tokens: Vec<Token>,
    pub(super) told: Vec<Told>,
    pub(super) backups: Vec<Backup>,
    pub(super) links: Vec<Link>,
    /// Entries in the log of writes when commands had ended while nobody sent.
    pub(super) quiet: Vec<u64>,
    pub(super) hub: HubKey,
    /// SHA-256 of the certificate of the agents' port.
    pub(super) fingerprint: [u8; 32],
    /// Entries in the log of writes when the hub served for the first time, and when the tokens were printed.
    pub(super) served_at: u64,
    pub(super) tokens_at: u64,
}

/// What was found on a disk.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// Entries that were acknowledged and are not there.
    pub(super) lost: u64,
    /// Whether a backup was restored.
    pub(super) has_backup: bool,
    /// All that is wrong, each in one line.
    pub(super) wrong: Vec<String>,
}

fn open(folder: &Path) -> anyhow::Result<Sqlite> {
    Ok(Sqlite::open(&folder.join("store.sqlite"), Quotas::default(), now_wall_ns())?)
}

impl Run {
    /// Looks at the files of a disk after a power cut; what cannot be looked at is wrong too.
    pub(super) fn look(&self, files: &Path, cut: u64, program: &HubProgram) -> Looked {
        let mut looked = Looked::default();
        if let Err(error) = self.look_at(files, cut, program, &mut looked) {
            looked.wrong.push(format!("{error:#}"));
        }
        looked
    }

    fn look_at(&self, files: &Path, cut: u64, program: &HubProgram, looked: &mut Looked) -> anyhow::Result<()> {
        let folder = files.join("hub");
        let promises = promises(&self.told, self.nodes.len(), cut);
        if self.served_at <= cut || folder.join("store.sqlite").exists() {
            self.check_store(&folder, &promises, cut, looked).context("the store")?;
        }
        if promises.is_anything() {
            self.check_log(&folder, &promises, looked)?;
        }
        for link in &self.links {
            let file = folder.join("links").join(&link.name);
            if link.is_there(cut).is_some_and(|expected| file.exists() != expected) {
                let what = if file.exists() { "was ended, and is good" } else { "was printed, and is none" };
                looked.wrong.push(format!("a link for a browser {what}"));
            }
        }
        let made = self.backups.iter().rfind(|backup| backup.told_at <= cut);
        if let Some(backup) = made {
            self.restore(files, backup, program, looked).context("a backup that was reported")?;
            looked.has_backup = true;
        }
        self.serve(&folder, &promises, cut, program, looked)
    }

    /// The store is whole, and has what was acknowledged, each once and as it was measured, and nothing of after the cut.
    fn check_store(&self, folder: &Path, promises: &Promises, cut: u64, looked: &mut Looked) -> anyhow::Result<()> {
        let path = folder.join("store.sqlite");
        if std::fs::metadata(&path).is_ok_and(|found| found.len() == 0) && self.served_at > cut {
            // The first start was cut off before it had made the tables.
            return Ok(());
        }
        if self.served_at <= cut {
            Sqlite::check(&path)?;
        }
        let store = open(folder)?;
        for (number, (made, promise)) in self.nodes.iter().zip(&promises.0).enumerate() {
            let (node, stream) = (&made.node, made.node.stream);
            let held = store.common(node.key, stream, &[])?.end;
            if held < promise.committed {
                looked.lost += promise.committed - held;
                let committed = promise.committed;
                looked.wrong.push(format!("node {number}: acknowledged up to {committed}, held up to {held}"));
            }
            if promise.not_sent_yet.is_some_and(|first| held >= first) {
                looked.wrong.push(format!("node {number}: held up to {held}, which was sent after the cut"));
            }
            match store.node(node.key)? {
                None if promise.is_enrolled => {
                    looked.wrong.push(format!("node {number} was told that it is enrolled, and is unknown"));
                }
                Some(found) if promise.is_revoked && found.revoked_wall_ns.is_none() => {
                    looked.wrong.push(format!("node {number} was revoked, and is not"));
                }
                _ => {}
            }
        }
        let tokens = store.tokens()?.len();
        if self.tokens_at <= cut && tokens != self.tokens.len() {
            looked.wrong.push(format!("{tokens} tokens, and {} were printed", self.tokens.len()));
        }
        drop(store);
        let known = |number: usize| promises.0.get(number).is_some_and(|promise| promise.committed > 0);
        let checked = self.checked(known, |number| promises.0.get(number).map_or(0, |promise| promise.committed));
        looked.wrong.extend(check::all(&path, &checked)?.wrong);
        Ok(())
    }

    /// The nodes as they are checked: those of which something is known to be held, whole up to a sequence.
    fn checked(&self, is_known: impl Fn(usize) -> bool, whole_up_to: impl Fn(usize) -> u64) -> Vec<Checked> {
        let one = |(number, made): (usize, &Made)| {
            let (node, up_to) = (&made.node, whole_up_to(number));
            let whole = made.slots.iter().filter(|(_, last)| *last <= up_to).map(|(slot, _)| *slot).collect();
            let noted = Noted {
                begun: made.slots.iter().map(|(slot, _)| *slot).collect(),
                whole,
                boots: BTreeSet::from([0]),
                ..Noted::default()
            };
            Checked { truth: node.truth, key: node.key, noted, room: Room::Enough, ends: BTreeMap::new() }
        };
        self.nodes.iter().enumerate().filter(|(number, _)| is_known(*number)).map(one).collect()
    }

    /// The log kept apart has each enrolment and revocation that was told.
    fn check_log(&self, folder: &Path, promises: &Promises, looked: &mut Looked) -> anyhow::Result<()> {
        let found = apart::read(&folder.join(APART_LOG), self.hub)?.context("the log kept apart is gone")?;
        if !found.damaged.is_empty() {
            looked.wrong.push(format!("lines {:?} of the log kept apart are damaged", found.damaged));
        }
        for (number, (made, promise)) in self.nodes.iter().zip(&promises.0).enumerate() {
            let (mut is_enrolled, mut is_revoked) = (false, false);
            for line in &found.lines {
                match &line.event {
                    Event::Enrolled { node, .. } => is_enrolled |= *node == made.node.key,
                    Event::Revoked { node, .. } => is_revoked |= *node == made.node.key,
                    Event::Life { .. } | Event::Alive => {}
                }
            }
            if (promise.is_enrolled && !is_enrolled) || (promise.is_revoked && !is_revoked) {
                looked.wrong.push(format!("node {number}: the log kept apart lacks its enrolment or revocation"));
            }
        }
        Ok(())
    }

    /// A backup that was reported is whole, and has all that had been acknowledged when it was begun.
    fn restore(&self, files: &Path, backup: &Backup, program: &HubProgram, looked: &mut Looked) -> anyhow::Result<()> {
        let folder = files.join("restored");
        let restored = program.command(&folder).arg("restore").arg(files.join(&backup.file)).output()?;
        anyhow::ensure!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr).trim());
        let store = open(&folder)?;
        let promises = promises(&self.told, self.nodes.len(), backup.asked_at);
        for (number, (made, promise)) in self.nodes.iter().zip(&promises.0).enumerate() {
            let held = store.common(made.node.key, made.node.stream, &[])?.end;
            if held < promise.committed {
                let (file, committed) = (backup.file.display(), promise.committed);
                looked.wrong.push(format!("{file}, node {number}: held up to {held}, acknowledged before {committed}"));
            }
        }
        Ok(())
    }

    /// The hub starts as the hub that it was; its nodes go on where they were acknowledged, and in the end it has all that they made.
    fn serve(
        &self,
        folder: &Path,
        promises: &Promises,
        cut: u64,
        program: &HubProgram,
        looked: &mut Looked,
    ) -> anyhow::Result<()> {
        let mut log = folder.to_owned();
        log.set_extension("log");
        let mut hub = StartingHub::start(program, folder, &log, None)?.ready().context("the hub does not start")?;
        if self.served_at > cut {
            // Nobody knew it yet.
            return Ok(());
        }
        anyhow::ensure!(hub.fingerprint == self.fingerprint, "the hub has another certificate than before the cut");
        let config = client::tls(hub.fingerprint)?;
        let mut ended = BTreeMap::new();
        for (number, (made, promise)) in self.nodes.iter().zip(&promises.0).enumerate() {
            let mut client = NodeClient::connect(hub.agents, &config).context("a node cannot connect")?;
            let token = self.tokens.get(number).filter(|_| self.tokens_at <= cut && !promise.may_be_revoked);
            match self.go_on(&mut client, made, *promise, token) {
                Ok(Some(end)) => drop(ended.insert(number, end)),
                Ok(None) => {}
                Err(error) => looked.wrong.push(format!("node {number}, after the hub's start: {error:#}")),
            }
        }
        hub.process.kill();
        let mut checked = self.checked(
            |number| ended.contains_key(&number),
            |number| ended.get(&number).map_or(0, |(_, (sequence, _))| *sequence),
        );
        for node in &mut checked {
            let end = ended.values().find(|(of, _)| self.node_of(*of) == Some(node.key));
            node.ends = end.map(|(stream, end)| (*stream, *end)).into_iter().collect();
        }
        let found = check::all(&folder.join("store.sqlite"), &checked)?;
        looked.wrong.extend(found.wrong.into_iter().map(|wrong| format!("after the nodes went on: {wrong}")));
        Ok(())
    }

    fn node_of(&self, stream: StreamId) -> Option<farm::stream::NodeKey> {
        self.nodes.iter().map(|made| &made.node).find(|node| node.stream == stream).map(|node| node.key)
    }

    /// A node goes on: where it is not known to be enrolled it asks for that with its token (`None`: it has none that must be good), and
    /// sends all that was not acknowledged. The end of its stream; `None` of one that is, or may be, revoked, or has no token.
    fn go_on(
        &self,
        client: &mut NodeClient,
        made: &Made,
        promise: Promise,
        token: Option<&Token>,
    ) -> anyhow::Result<Option<(StreamId, (u64, farm::stream::Place))>> {
        let node = &made.node;
        if promise.may_be_revoked && !promise.is_revoked {
            return Ok(None);
        }
        if !promise.is_enrolled {
            let Some(token) = token else { return Ok(None) };
            let answer = client.post("/v1/enrol", &enrolment(node, token, self.hub)?)?;
            anyhow::ensure!(answer.status == 200, "its token is refused ({}): {}", answer.status, answer.text());
        }
        let first = made.items.iter().position(|item| item.span.first() > promise.committed);
        let rest = first.and_then(|first| made.items.get(first..)).unwrap_or_default();
        let mut end = None;
        // Where nothing is left to send it asks for the mark.
        let parts = rest.chunks(MOST_ITEMS).chain(rest.is_empty().then_some(rest));
        for part in parts {
            let message = node.signed_batch(self.hub, &node.batch_of(part.to_vec()))?;
            let answer = client.post("/v1/batch", &message)?;
            if promise.is_revoked {
                let refused = serde_json::from_slice::<RefusedBody>(&answer.body).map(|body| body.refused);
                anyhow::ensure!(refused.is_ok_and(|word| word == Refused::Revoked), "revoked, and {}", answer.status);
                return Ok(None);
            }
            anyhow::ensure!(answer.status == 200, "refused ({}): {}", answer.status, answer.text());
            let mark = mark(&answer.body, self.hub, node.key)?;
            end = Some((mark.sequence, mark.hash));
        }
        anyhow::ensure!(end == Some(node.end), "acknowledged {end:?}, and its stream ends with {:?}", node.end);
        Ok(Some((node.stream, node.end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_there_from_when_it_is_printed_until_it_is_asked_to_end() {
        let link = |ended| Link { name: String::new(), made_at: 10, ended };
        let at = |ended, cuts: [u64; 5]| cuts.map(|cut| link(ended).is_there(cut));
        let (there, gone) = (Some(true), Some(false));
        assert_eq!(at(Some((20, 25)), [9, 10, 19, 20, 25]), [None, there, there, None, gone]);
        assert_eq!(at(None, [0, 9, 10, 20, 99]), [None, None, there, there, there]);
    }

    #[test]
    fn what_was_told_by_a_cut_is_promised_and_what_was_asked_later_cannot_be_there() {
        let told = |node, what, asked_at, told_at| Told { node, what, asked_at, told_at };
        let all = [
            told(0, What::Enrolled, 10, 12),
            told(0, What::Committed(3), 20, 25),
            told(0, What::Committed(5), 30, 36),
            told(0, What::Committed(9), 40, 45),
            told(1, What::Enrolled, 20, 28),
            told(1, What::Revoked, 33, 41),
        ];
        let at = |cut| promises(&all, 2, cut).0;
        let none = Promise::default();
        assert_eq!(at(11), [Promise { not_sent_yet: Some(3), ..none }, none]);
        let enrolled = Promise { is_enrolled: true, ..none };
        // Exactly when it was told.
        assert_eq!(at(25)[0], Promise { committed: 3, not_sent_yet: Some(5), ..enrolled });
        // The batch up to 5 was sent before the cut and answered after it: it may be there or not.
        assert_eq!(
            at(35),
            [Promise { committed: 3, not_sent_yet: Some(9), ..enrolled }, Promise { may_be_revoked: true, ..enrolled }]
        );
        assert_eq!(
            at(45),
            [Promise { committed: 9, ..enrolled }, Promise { is_revoked: true, may_be_revoked: true, ..enrolled }]
        );
        assert_eq!(promises(&all, 2, 45).committed(), 9);
    }
}
