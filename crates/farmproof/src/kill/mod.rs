//! `punctual-farmproof kill`: a hub and agents that are killed at random moments, and what is kept of what they measured.

mod check;
mod node;
mod power;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use agent::State;
use anyhow::{Context as _, ensure};
use farm::Token;
use farm::stream::NodeKey;
use terminal::output;
use units::Random;

pub(crate) use node::NodeArgs;

use self::power::Power;
use crate::clock::{now_wall_ns, some_seed};
use crate::journal::Noted;
use crate::processes::{Bound, HubProcess, HubProgram, StartingHub, own_program};
use crate::truth::{SLOT_NS, Truth};

/// CPUs of a simulated node.
const CPUS: u32 = 4;
/// How long the nodes may take to bring everything to the hub when nothing is killed any more: a sender that failed several times waits.
const QUIET_WITHIN: Duration = Duration::from_secs(180);
/// How long after a kill what the hub had answered may still be on its way into the nodes' journals.
const ANSWERS_ARRIVE: Duration = Duration::from_millis(80);
/// Of ten kills so many are of the hub, about.
const OF_HUB: usize = 4;

/// Kill a hub and agents at random moments, and hold what the hub has in the end against what was measured
///
/// After each kill of the hub all that it had acknowledged has to be on its disk. In the end, when nothing is killed any more, it has to
/// have every maximum with its moment and its counts, and nothing twice. Ends with 1 where it does not.
///
/// With --power nothing is killed: the hub has its folder on the disk of an emulated machine, and what it acknowledged has to be there
/// after a power cut at any moment.
#[derive(clap::Args)]
pub(crate) struct KillArgs {
    /// Kills, of the hub and of agents; with --power: moments of a power cut
    #[arg(long, value_name = "N", default_value_t = 50)]
    kills: usize,
    /// Agents [default: 20, with --power 8]
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,
    /// Cut the power of an emulated machine with the hub on it instead
    #[arg(long, conflicts_with = "between_ms")]
    power: bool,
    /// With --power: how long the machine is on while nodes send (s)
    #[arg(long, value_name = "S", default_value_t = 90, requires = "power")]
    seconds: u64,
    /// Time from one kill to the next, on average (ms)
    #[arg(long, value_name = "MS", default_value_t = 2_500)]
    between_ms: u64,
    /// Where the random numbers begin; the same seed draws the same kills [default: another one each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The hub's program [default: the same code in this program]
    #[arg(long, value_name = "FILE")]
    hub: Option<PathBuf>,
    /// An empty folder to work in, which stays [default: one that goes where all is well]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// A simulated node.
struct Node {
    truth: Truth,
    key: NodeKey,
    /// Of the agent's code: its key, enrolment and spool.
    state: PathBuf,
    process: Bound,
}

impl Node {
    fn journal(state: &Path) -> PathBuf {
        state.join("journal")
    }

    fn noted(&self) -> anyhow::Result<Noted> {
        Noted::read(&Self::journal(&self.state)).with_context(|| self.state.display().to_string())
    }
}

fn start_node(truth: &Truth, state: &Path) -> anyhow::Result<Bound> {
    let mut command = Command::new(own_program()?);
    command.arg("node").arg("--state").arg(state);
    for (option, value) in [("--seed", truth.seed), ("--number", truth.node), ("--cpus", u64::from(truth.cpus))] {
        command.arg(option).arg(value.to_string());
    }
    command.arg("--first-utc-ns").arg(truth.first_utc_ns.to_string());
    Bound::start(&mut command, &state.join("log"))
}

/// All that runs, and where.
struct Farm {
    folder: PathBuf,
    program: HubProgram,
    hub: Option<HubProcess>,
    at: (std::net::SocketAddr, std::net::SocketAddr),
    nodes: Vec<Node>,
    random: Random,
    began: Instant,
}

/// How many kills there were of what.
#[derive(Default)]
struct Kills {
    hub: usize,
    nodes: usize,
}

impl KillArgs {
    /// Prints each kill and what came of all; whether everything was as it was measured.
    pub(crate) fn run(self) -> anyhow::Result<bool> {
        let nodes = self.nodes.unwrap_or(if self.power { 8 } else { 20 });
        ensure!(nodes > 0 && self.kills > 0, "at least one agent and one kill are needed");
        let seed = self.seed.unwrap_or_else(some_seed);
        let own = std::env::temp_dir().join(format!("punctual-farm-kill-{}", std::process::id()));
        let folder = self.folder.clone().unwrap_or_else(|| own.clone());
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let is_empty = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?.next().is_none();
        ensure!(is_empty, "{} is not empty: name another folder (--folder)", folder.display());
        let (kills, place) = (self.kills, folder.display());
        let what = if self.power { "power cuts" } else { "kills" };
        output::data(&format!("seed {seed}, {nodes} agents, {kills} {what}, in {place}\n"));
        let is_well = if self.power {
            let (seconds, hub) = (self.seconds, self.hub.as_deref());
            Power { cuts: kills, nodes, seconds, seed, hub, folder: &folder }.run()?
        } else {
            self.kill_processes(&folder, seed, nodes)?
        };
        if is_well && self.folder.is_none() {
            // What cannot be removed is of no interest.
            let _ = std::fs::remove_dir_all(&own);
        }
        Ok(is_well)
    }

    /// Kills the hub and agents as processes of this machine; whether everything was as it was measured.
    fn kill_processes(&self, folder: &Path, seed: u64, nodes: u64) -> anyhow::Result<bool> {
        let mut farm = Farm::start(folder, HubProgram::new(self.hub.clone())?, seed, nodes)?;
        let (kills, mut wrong) = farm.kill(self.kills, Duration::from_millis(self.between_ms))?;
        let quiet = Instant::now();
        farm.bring_all_in()?;
        let quiet = quiet.elapsed();
        let found = check::all(&farm.store_copy("end")?, &farm.checked_in_the_end()?)?;
        wrong.extend(found.wrong);
        for line in wrong.iter().take(20) {
            output::data(&format!("WRONG {line}\n"));
        }
        let took = farm.began.elapsed();
        drop(farm);
        let verdict = if wrong.is_empty() {
            "every maximum as measured, nothing twice".to_owned()
        } else {
            format!("{} WRONG; all of it is in {}", wrong.len(), folder.display())
        };
        output::data(&format!(
            "farm-kill: {} agents, {} kills of the hub and {} of agents, {} intervals ({} of them merged), {} gaps, {} hours of \
             histograms, all there after {} s of quiet, {} s in all, seed {seed}: {verdict}\n",
            nodes,
            kills.hub,
            kills.nodes,
            found.intervals,
            found.merged,
            found.gaps,
            found.histograms,
            quiet.as_secs(),
            took.as_secs(),
        ));
        Ok(wrong.is_empty())
    }
}

impl Farm {
    /// A hub that serves, and nodes that are enrolled at it and write.
    fn start(folder: &Path, program: HubProgram, seed: u64, nodes: u64) -> anyhow::Result<Self> {
        let hub_folder = folder.join("hub");
        let hub = StartingHub::start(&program, &hub_folder, &folder.join("hub.log"), None)?.ready()?;
        let first_utc_ns = (now_wall_ns() / SLOT_NS - 30_000) * SLOT_NS;
        let mut all = Vec::new();
        for number in 0..nodes {
            let enrolled =
                program.command(&hub_folder).args(["enrol", "--name", &format!("node-{number}")]).output()?;
            ensure!(enrolled.status.success(), "no token: {}", String::from_utf8_lossy(&enrolled.stderr));
            let token: Token = String::from_utf8_lossy(&enrolled.stdout).trim().parse().context("a token is none")?;
            let state = folder.join(format!("node-{number}"));
            let opened = State::open(&state)?;
            agent::enrol(&opened, &[hub.agents.to_string()], &token, &format!("node-{number}"))?;
            let key = opened.identity()?.context("a node has no key")?.public();
            let truth = Truth { seed, node: number, cpus: CPUS, first_utc_ns, are_maxima_apart: true };
            all.push(Node { truth, key, process: start_node(&truth, &state)?, state });
        }
        let at = (hub.agents, hub.people);
        let (folder, random, began) = (folder.to_owned(), Random::new(seed), Instant::now());
        Ok(Self { folder, program, hub: Some(hub), at, nodes: all, random, began })
    }

    fn hub_folder(&self) -> PathBuf {
        self.folder.join("hub")
    }

    fn say(&self, number: usize, what: &str) {
        let ms = self.began.elapsed().as_millis();
        output::data(&format!("kill {number:>3}  {:>4}.{:03} s  {what}\n", ms / 1_000, ms % 1_000));
    }

    fn pause(&mut self, at_most: Duration) {
        let share = u32::try_from(self.random.below(1_000)).unwrap_or(0);
        std::thread::sleep(at_most / 1_000 * share);
    }

    fn start_hub(&self) -> anyhow::Result<StartingHub> {
        StartingHub::start(&self.program, &self.hub_folder(), &self.folder.join("hub.log"), Some(self.at))
    }

    /// Kills this many times; how often whom, and what was wrong by then.
    fn kill(&mut self, kills: usize, between: Duration) -> anyhow::Result<(Kills, Vec<String>)> {
        let (mut done, mut wrong) = (Kills::default(), Vec::new());
        while done.hub + done.nodes < kills {
            self.pause(between * 2);
            if self.random.below(10) >= OF_HUB {
                done.nodes += 1;
                self.kill_node(done.hub + done.nodes)?;
                continue;
            }
            let Some(mut hub) = self.hub.take() else { continue };
            hub.process.kill();
            done.hub += 1;
            wrong.extend(self.look_after_kill(done.hub + done.nodes, "hub")?);
            // A hub that is away for long lets what waits be merged.
            let away = if self.random.below(10) == 0 { between * 3 } else { between / 2 };
            self.pause(away);
            while done.hub + done.nodes < kills && self.random.below(3) == 0 {
                if self.random.below(2) == 0 {
                    done.nodes += 1;
                    self.kill_node(done.hub + done.nodes)?;
                } else {
                    let starting = self.start_hub()?;
                    self.pause(Duration::from_millis(150));
                    starting.kill();
                    done.hub += 1;
                    wrong.extend(self.look_after_kill(done.hub + done.nodes, "hub as it starts")?);
                }
            }
            self.hub = Some(self.start_hub()?.ready()?);
        }
        Ok((done, wrong))
    }

    fn kill_node(&mut self, number: usize) -> anyhow::Result<()> {
        let at = self.random.below(self.nodes.len());
        let Some(node) = self.nodes.get_mut(at) else { return Ok(()) };
        if let Some(status) = node.process.ended() {
            anyhow::bail!(
                "the process of a node ended by itself ({status}): {} says why",
                node.state.join("log").display()
            );
        }
        node.process.kill();
        let (truth, state) = (node.truth, node.state.clone());
        self.say(number, &format!("node {at}"));
        self.pause(Duration::from_millis(300));
        let process = start_node(&truth, &state)?;
        if let Some(node) = self.nodes.get_mut(at) {
            node.process = process;
        }
        Ok(())
    }

    /// All that nodes know to be acknowledged has to be on the disk of the hub that was killed.
    fn look_after_kill(&self, number: usize, what: &str) -> anyhow::Result<Vec<String>> {
        std::thread::sleep(ANSWERS_ARRIVE);
        let copy = self.store_copy("kill")?;
        let (acknowledged, wrong) = check::acknowledged(&copy, &self.checked()?)?;
        let outcome = if wrong.is_empty() { "all of them on its disk" } else { "NOT all of them on its disk" };
        self.say(number, &format!("{what}; {acknowledged} entries acknowledged, {outcome}"));
        Ok(wrong.into_iter().map(|line| format!("after kill {number}: {line}")).collect())
    }

    /// A copy of the store as it lies on the disk: what looks at it changes nothing for the hub.
    fn store_copy(&self, name: &str) -> anyhow::Result<PathBuf> {
        let copy = self.folder.join(format!("store-{name}"));
        // Of an earlier kill.
        let _ = std::fs::remove_dir_all(&copy);
        std::fs::create_dir(&copy)?;
        for file in ["store.sqlite", "store.sqlite-wal"] {
            let from = self.hub_folder().join(file);
            if from.exists() {
                std::fs::copy(&from, copy.join(file)).with_context(|| from.display().to_string())?;
            }
        }
        Ok(copy.join("store.sqlite"))
    }

    fn checked(&self) -> anyhow::Result<Vec<check::Checked>> {
        let checked = |node: &Node| {
            let (truth, key) = (node.truth, node.key);
            Ok(check::Checked { truth, key, noted: node.noted()?, room: node::room(truth.node), ends: BTreeMap::new() })
        };
        self.nodes.iter().map(checked).collect()
    }

    /// The same when no node runs any more: with the ends of their streams.
    fn checked_in_the_end(&self) -> anyhow::Result<Vec<check::Checked>> {
        let mut all = self.checked()?;
        for (node, checked) in self.nodes.iter().zip(&mut all) {
            checked.ends = check::spool_ends(&node.state, node.key)?;
        }
        Ok(all)
    }

    /// Lets the nodes write no more, and waits until each has everything acknowledged; then the hub is killed a last time.
    fn bring_all_in(&mut self) -> anyhow::Result<()> {
        let until = Instant::now() + QUIET_WITHIN;
        for node in &self.nodes {
            std::fs::write(node.state.join(node::QUIET), b"")?;
        }
        for node in &mut self.nodes {
            let status = loop {
                if let Some(status) = node.process.ended() {
                    break status;
                }
                ensure!(
                    Instant::now() < until,
                    "node {} has not brought everything to the hub within {} s: {} and its status say why",
                    node.truth.node,
                    QUIET_WITHIN.as_secs(),
                    node.state.join("log").display(),
                );
                std::thread::sleep(Duration::from_millis(20));
            };
            ensure!(
                status.success(),
                "node {} ended with {status}: {}",
                node.truth.node,
                node.state.join("log").display()
            );
        }
        if let Some(mut hub) = self.hub.take() {
            hub.process.kill();
        }
        Ok(())
    }
}
