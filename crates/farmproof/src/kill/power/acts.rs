//! What is done on the hub's machine: restarts, and commands whose outcome has to outlive a power cut.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use farm::stream::NodeKey;
use hub::keys::{hexadecimal, sha256};
use units::Random;

use super::held::{Backup, Link};
use super::machine::{Ending, HubMachine};
use super::say;
use super::sending::{Shared, What};

/// What is done while nodes send.
#[derive(Clone, Copy, Debug)]
enum Act {
    Restart(Ending),
    Revoke,
    BackUp,
    /// Makes a link for a browser, or ends those that there are.
    Link,
}

/// Each of them is done before one is done again.
const ACTS: [Act; 7] = [
    Act::Restart(Ending::Orderly),
    Act::Restart(Ending::Killed),
    Act::Revoke,
    Act::BackUp,
    Act::Link,
    Act::Link,
    Act::Link,
];
/// So many links are made before all are ended.
const LINKS: usize = 2;
/// The longest time from one of them to the next.
const MOST_BETWEEN_MS: usize = 6_000;

/// What was done, and when.
#[derive(Default)]
pub(super) struct Done {
    pub(super) backups: Vec<Backup>,
    pub(super) links: Vec<Link>,
    /// Entries in the log of writes when commands had ended while nobody sent.
    pub(super) quiet: Vec<u64>,
}

/// Whoever does it.
pub(super) struct Acting<'a> {
    machine: &'a mut HubMachine,
    shared: &'a Shared,
    /// For each node whether somebody has asked for its revocation.
    being_revoked: Vec<Arc<AtomicBool>>,
    random: Random,
    began: Instant,
    done: Done,
}

impl<'a> Acting<'a> {
    pub(super) fn new(
        machine: &'a mut HubMachine,
        shared: &'a Shared,
        being_revoked: Vec<Arc<AtomicBool>>,
        seed: u64,
        began: Instant,
    ) -> Self {
        Self { machine, shared, being_revoked, random: Random::new(seed), began, done: Done::default() }
    }

    /// What was done.
    pub(super) fn done(self) -> Done {
        self.done
    }

    fn say(&self, what: &str) {
        say(self.began, &format!("{} entries acknowledged; {what}", self.shared.committed()));
    }

    /// Acts at random moments, for a while.
    pub(super) fn while_nodes_send(&mut self, time: Duration) -> anyhow::Result<()> {
        let until = Instant::now() + time;
        let mut acts = Vec::new();
        self.machine.run("mkdir /disk/backups")?;
        loop {
            let pause_ms = u64::try_from(self.random.below(MOST_BETWEEN_MS)).unwrap_or(0);
            std::thread::sleep(Duration::from_millis(pause_ms).min(until.saturating_duration_since(Instant::now())));
            if Instant::now() >= until {
                return Ok(());
            }
            if acts.is_empty() {
                acts = ACTS.to_vec();
            }
            match acts.swap_remove(self.random.below(acts.len())) {
                Act::Restart(ending) => self.restart(ending)?,
                Act::Revoke => {
                    let number = self.random.below(self.being_revoked.len());
                    let revoked = self.being_revoked.iter().filter(|flag| flag.load(Ordering::Acquire)).count();
                    if revoked < self.being_revoked.len() / 4 {
                        self.revoke(number)?;
                    }
                }
                Act::BackUp => self.back_up()?,
                Act::Link if self.good_links().count() < LINKS => self.make_link()?,
                Act::Link => self.end_links()?,
            }
        }
    }

    /// Carries the commands out while no node sends: what they do not bring to the disk themselves, nobody does for them.
    pub(super) fn in_quiet(&mut self) -> anyhow::Result<()> {
        let is_left = |number: &usize| {
            let flag = self.being_revoked.get(*number);
            flag.is_some_and(|flag| !flag.load(Ordering::Acquire)) && self.shared.is_enrolled(*number)
        };
        let left = (0..self.being_revoked.len()).find(is_left);
        self.quietly(Self::make_link)?;
        self.quietly(Self::back_up)?;
        self.quietly(Self::end_links)?;
        self.quietly(Self::make_link)?;
        self.quietly(Self::end_links)?;
        match left {
            Some(number) => self.quietly(|acting| acting.revoke(number)),
            None => Ok(()),
        }
    }

    fn quietly(&mut self, act: impl FnOnce(&mut Self) -> anyhow::Result<()>) -> anyhow::Result<()> {
        act(self)?;
        let told_at = self.shared.position.now()?;
        self.done.quiet.push(told_at);
        Ok(())
    }

    fn restart(&mut self, ending: Ending) -> anyhow::Result<()> {
        self.say(match ending {
            Ending::Orderly => "the hub is ended and started",
            Ending::Killed => "the hub is killed and started",
        });
        self.machine.restart_hub(ending)
    }

    /// Revokes a node, unless it is not enrolled, or was revoked.
    fn revoke(&mut self, number: usize) -> anyhow::Result<()> {
        let Some(flag) = self.being_revoked.get(number) else { return Ok(()) };
        if !self.shared.is_enrolled(number) || flag.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.say(&format!("node {number} is revoked"));
        let asked_at = self.shared.position.now()?;
        self.machine.hub(&format!("revoke node-{number}"))?;
        self.shared.note(number, What::Revoked, asked_at)
    }

    fn back_up(&mut self) -> anyhow::Result<()> {
        self.say("a backup is made");
        let file = PathBuf::from("backups").join(self.done.backups.len().to_string());
        let asked_at = self.shared.position.now()?;
        self.machine.hub(&format!("backup /disk/{}", file.display()))?;
        let told_at = self.shared.position.now()?;
        self.done.backups.push(Backup { file, asked_at, told_at });
        Ok(())
    }

    fn good_links(&self) -> impl Iterator<Item = &Link> {
        self.done.links.iter().filter(|link| link.ended.is_none())
    }

    fn make_link(&mut self) -> anyhow::Result<()> {
        self.say("a link is made");
        let printed = self.machine.hub("link")?;
        let made_at = self.shared.position.now()?;
        self.done.links.push(Link { name: link_name(&printed)?, made_at, ended: None });
        Ok(())
    }

    fn end_links(&mut self) -> anyhow::Result<()> {
        self.say("all links are ended");
        let asked_at = self.shared.position.now()?;
        self.machine.hub("link --end-all")?;
        let ended = Some((asked_at, self.shared.position.now()?));
        self.done.links.iter_mut().filter(|link| link.ended.is_none()).for_each(|link| link.ended = ended);
        Ok(())
    }
}

/// The name of the file of a link, as the command printed the link.
fn link_name(printed: &str) -> anyhow::Result<String> {
    let secret = printed.trim().rsplit('/').next().context("no link")?;
    let secret: NodeKey = secret.parse().with_context(|| format!("no link: {printed}"))?;
    Ok(hexadecimal(sha256(&secret.0)))
}
