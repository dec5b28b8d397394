//! `punctual-farmproof kill --power`: a hub on an emulated machine whose disk's writes are logged, and what is on the disk after a power
//! cut at random moments.
//!
//! A hub that is killed leaves everything that it wrote in the kernel's memory, and the kernel brings it to the disk. A power cut takes
//! that, and what was in the disk's cache. So the log is replayed up to a moment: all that was flushed is there, and of the rest
//! anything may be there ([`cut`]). An acknowledgement is known with the length of the log when it was heard ([`sending`]): whatever
//! disk is made of that length or a greater one has to have what was acknowledged ([`held`]).
//!
//! Not shown: writes that the disk had not yet answered when a flush began count as flushed, since the log has the order in which they
//! were asked for.

mod acts;
mod cut;
mod held;
mod machine;
mod sending;
mod write_log;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use farm::Token;
use farm::monitor::HubKey;
use farm::stream::NodeKey;
use terminal::output;
use units::Random;

use self::acts::{Acting, Done};
use self::cut::Left;
use self::held::{Looked, Run};
use self::machine::{HubMachine, Prepared, WHOLE_BYTES};
use self::sending::{Sending, Shared, Told, What};
use self::write_log::{Entry, WriteLog};
use crate::client::{self, NodeClient};
use crate::clock::now_wall_ns;
use crate::kill::CPUS;
use crate::nodes::MadeNode;
use crate::processes::HubProgram;
use crate::truth::{SLOT_NS, Truth};

/// Slots before now in which the nodes' time begins.
const SLOTS_BEFORE: i64 = 30_000;
/// Disks that one machine is started with after the cuts.
const DISKS_AT_ONCE: usize = 10;
/// Of ten cuts so many are exactly when something was acknowledged, or a few writes later.
const AT_ACKNOWLEDGEMENTS: usize = 4;
/// How many writes later, at most.
const WRITES_LATER: usize = 9;
/// Of ten cuts so many are just before a flush.
const BEFORE_FLUSHES: usize = 4;
/// Of so many flushes it is that before which the most writes wait.
const DRAWN_FLUSHES: usize = 12;
/// Of so many cuts one is while the hub starts for the first time, one just when it serves, and one when a command has ended while
/// nobody sent.
const OF_SPECIAL: usize = 12;
/// How many lines of what is wrong are printed of each cut.
const MOST_WRONG: usize = 3;

/// What is wanted.
pub(super) struct Power<'a> {
    pub(super) cuts: usize,
    pub(super) nodes: u64,
    pub(super) seconds: u64,
    pub(super) seed: u64,
    pub(super) hub: Option<&'a Path>,
    pub(super) folder: &'a Path,
}

fn say(began: Instant, what: &str) {
    let ms = began.elapsed().as_millis();
    output::data(&format!("{:>4}.{:03} s  {what}\n", ms / 1_000, ms % 1_000));
}

impl Power<'_> {
    /// Prints each cut and what came of all; whether everything was there.
    pub(super) fn run(&self) -> anyhow::Result<bool> {
        let began = Instant::now();
        let folder = self.folder;
        let (empty, image, log) = (folder.join("empty"), folder.join("disk"), folder.join("writes"));
        let prepared = machine::prepare(folder, self.hub)?;
        machine::make_disk(&empty)?;
        copy(&empty, &image)?;
        say(began, "starting the hub's machine");
        let machine = HubMachine::start(&prepared, folder, &image, &log)?;
        let run = self.record(machine, began)?;
        let log = WriteLog::open(&log)?;
        let acknowledged = held::promises(&run.told, run.nodes.len(), u64::MAX).committed();
        let flushes = log.entries.iter().filter(|entry| entry.is_flush).count();
        let written = log.entries.len();
        say(
            began,
            &format!("power off; {written} writes, {flushes} of them flushes, {acknowledged} entries acknowledged"),
        );
        let cuts = self.draw(&run, &log.entries);
        let mut all = All { prepared, run, log, program: HubProgram::new(self.hub.map(Path::to_owned))?, began };
        let found = all.look(folder, &empty, &cuts, &mut Random::new(self.seed ^ 1))?;
        let verdict = match (found.lost, found.wrong) {
            (0, 0) => "0 lost".to_owned(),
            (lost, wrong) => format!("{lost} LOST, {wrong} WRONG; all of it is in {}", folder.display()),
        };
        output::data(&format!(
            "farm-kill: {} power cuts, {acknowledged} acknowledged, {verdict} ({} nodes, {written} writes; {} of them in doubt at a cut, \
             {} on the disk, {} torn; {} backups restored, {} s in all, seed {})\n",
            cuts.len(),
            self.nodes,
            found.in_doubt,
            found.kept - found.torn,
            found.torn,
            found.backups,
            began.elapsed().as_secs(),
            self.seed,
        ));
        Ok(found.wrong == 0)
    }

    /// Lets nodes send and commands run for a while, and notes all that is told; then the power is cut for good.
    fn record(&self, mut machine: HubMachine, began: Instant) -> anyhow::Result<Run> {
        let fingerprint = machine.start_hub()?;
        let served_at = machine.position.now()?;
        let config = client::tls(fingerprint)?;
        let hub = hub_key(&machine, &config)?;
        // Not earlier: what the first start does not bring to the disk itself stays in memory.
        machine.keep_disk_busy()?;
        say(began, "the hub serves");
        let names: String = (0..self.nodes).map(|number| format!("node-{number}\\n")).collect();
        machine.run(&format!("printf '{names}' >/tmp/names"))?;
        let printed = machine.hub("enrol --names /tmp/names")?;
        let tokens_at = machine.position.now()?;
        let token = |line: &str| -> anyhow::Result<Token> {
            let token = line.split('\t').nth(1).context("a line without a token")?;
            token.parse().context("a token is none")
        };
        let tokens = printed.lines().map(token).collect::<anyhow::Result<Vec<_>>>()?;
        ensure!(tokens.len() as u64 == self.nodes, "{} tokens of {}", tokens.len(), self.nodes);
        let shared = Arc::new(Shared::new(machine.agents, config, hub, machine.position.clone()));
        let first_utc_ns = (now_wall_ns() / SLOT_NS - SLOTS_BEFORE) * SLOT_NS;
        let mut sending = Vec::new();
        for (number, token) in tokens.iter().enumerate() {
            let truth =
                Truth { seed: self.seed, node: number as u64, cpus: CPUS, first_utc_ns, are_maxima_apart: true };
            // They are enrolled one after the other, over half of the time.
            let after = Duration::from_millis(self.seconds * 500 * number as u64 / self.nodes);
            let node = MadeNode::new(truth, 1, 0)?;
            sending.push(Sending::start(node, token.clone(), after, number, &shared)?);
        }
        let being_revoked = sending.iter().map(|sending| Arc::clone(&sending.is_being_revoked)).collect();
        let mut acting = Acting::new(&mut machine, &shared, being_revoked, self.seed, began);
        let acted = acting.while_nodes_send(Duration::from_secs(self.seconds));
        // However that ended, nobody sends any more.
        shared.end();
        let joined = |sending: Sending| sending.thread.join().map_err(|_| anyhow!("the thread of a node died"))?;
        let nodes = sending.into_iter().map(joined).collect::<anyhow::Result<Vec<_>>>();
        acted?;
        let nodes = nodes?;
        acting.in_quiet()?;
        let Done { backups, links, quiet } = acting.done();
        machine.cut_power()?;
        let told = shared.told();
        Ok(Run { nodes, tokens, told, backups, links, quiet, hub, fingerprint, served_at, tokens_at })
    }

    /// The moments of the cuts, as numbers of writes, in their order.
    fn draw(&self, run: &Run, entries: &[Entry]) -> Vec<usize> {
        let mut random = Random::new(self.seed ^ 2);
        let written = entries.len();
        let at = |position: u64| usize::try_from(position).unwrap_or(written);
        let flushes: Vec<usize> =
            (0..written).filter(|at| entries.get(*at).is_some_and(|entry| entry.is_flush)).collect();
        let is_batch = |told: &&Told| matches!(told.what, What::Committed(_));
        let (batches, others): (Vec<&Told>, Vec<&Told>) = run.told.iter().partition(is_batch);
        let batches: Vec<u64> = batches.iter().map(|told| told.told_at).collect();
        let ended = run.links.iter().filter_map(|link| link.ended);
        let others: Vec<u64> =
            others.iter().map(|told| told.told_at).chain(ended.map(|(_, told_at)| told_at)).collect();
        let mut one = |number: usize| {
            let later = random.below(WRITES_LATER + 1);
            match number % OF_SPECIAL {
                0 => return random.below(at(run.served_at) + 1),
                1 => return at(run.served_at) + later,
                2 => {
                    let told = run.quiet.get(random.below(run.quiet.len()));
                    return told.map_or(0, |told_at| at(*told_at)) + random.below(2);
                }
                _ => {}
            }
            let of_ten = random.below(10);
            if of_ten < AT_ACKNOWLEDGEMENTS {
                // Of batches there are many more than of everything else.
                let told = if random.below(2) == 0 { &batches } else { &others };
                return told.get(random.below(told.len())).map_or(0, |told_at| at(*told_at)) + later;
            }
            if of_ten < AT_ACKNOWLEDGEMENTS + BEFORE_FLUSHES {
                let drawn = (0..DRAWN_FLUSHES).filter_map(|_| flushes.get(random.below(flushes.len())).copied());
                return drawn.max_by_key(|at| at - cut::certain(entries, *at)).unwrap_or(written);
            }
            random.below(written + 1)
        };
        let mut cuts: Vec<usize> = (0..self.cuts).map(|number| one(number).min(written)).collect();
        cuts.sort_unstable();
        cuts
    }
}

/// The key of the hub, as it says it itself to nodes.
fn hub_key(machine: &HubMachine, config: &Arc<rustls::ClientConfig>) -> anyhow::Result<HubKey> {
    let answer = NodeClient::connect(machine.agents, config)?.get("/v1/hub")?;
    let about: serde_json::Value = serde_json::from_slice(&answer.body)?;
    let key = about.get("hub").and_then(|key| key.as_str()).context("the hub says no key")?;
    Ok(HubKey(key.parse::<NodeKey>()?.0))
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let copied = File::open(from).and_then(|from| cut::copy_sparse(&from, &File::create(to)?));
    copied.with_context(|| to.display().to_string())
}

/// What all cuts together showed.
#[derive(Default)]
struct Found {
    lost: u64,
    backups: usize,
    /// Writes since the last flush, how many of these left something on the disk, and how many of these were torn.
    in_doubt: usize,
    kept: usize,
    torn: usize,
    wrong: usize,
}

/// What is needed to look at the disks.
struct All {
    prepared: Prepared,
    run: Run,
    log: WriteLog,
    program: HubProgram,
    began: Instant,
}

impl All {
    /// Makes the disk of each cut, lets a machine mount it, and looks at what is on it.
    fn look(&mut self, folder: &Path, empty: &Path, cuts: &[usize], random: &mut Random) -> anyhow::Result<Found> {
        let mut found = Found::default();
        // Everything that is certain, which grows from cut to cut.
        let certain_path = folder.join("certain");
        copy(empty, &certain_path)?;
        let certain = File::options().read(true).write(true).open(&certain_path)?;
        let mut applied = 0;
        for (group, cuts) in cuts.chunks(DISKS_AT_ONCE).enumerate() {
            let mut disks = Vec::new();
            for (number, at) in (group * DISKS_AT_ONCE..).zip(cuts) {
                let since = cut::certain(&self.log.entries, *at);
                for entry in applied..since {
                    cut::apply(&self.log, entry, &certain)?;
                }
                applied = applied.max(since);
                let image = folder.join(format!("cut-{number}.disk"));
                let file = File::options().read(true).write(true).create(true).truncate(true).open(&image)?;
                cut::copy_sparse(&certain, &file)?;
                let tear_sectors = WHOLE_BYTES / u64::from(self.log.sector_bytes);
                let left = cut::left(&self.log.entries, since..*at, tear_sectors, random);
                for left in &left {
                    cut::apply_part(&self.log, left, &file)?;
                }
                let is_torn = |left: &&Left| !left.is_whole(&self.log.entries);
                let (kept, torn) = (left.len(), left.iter().filter(is_torn).count());
                let in_doubt = self.log.entries.iter().take(*at).skip(since).filter(|entry| entry.sectors > 0).count();
                found.in_doubt += in_doubt;
                found.kept += kept;
                found.torn += torn;
                let text = format!("write {at}, {in_doubt} in doubt, {} on the disk, {torn} torn", kept - torn);
                disks.push((number, *at, text, image, folder.join(format!("cut-{number}"))));
            }
            let files: Vec<(PathBuf, PathBuf)> =
                disks.iter().map(|(.., image, files)| (image.clone(), files.clone())).collect();
            say(self.began, &format!("a machine mounts {} disks after a power cut each", files.len()));
            let fetched = machine::fetch(&self.prepared, folder, &files)?;
            for ((number, at, text, image, files), fetched) in disks.into_iter().zip(fetched) {
                self.look_at_one(number, at, &text, (&image, &files), fetched, &mut found);
            }
        }
        Ok(found)
    }

    fn look_at_one(
        &self,
        number: usize,
        at: usize,
        text: &str,
        (image, files): (&Path, &Path),
        fetched: anyhow::Result<()>,
        found: &mut Found,
    ) {
        let cut = u64::try_from(at).unwrap_or(u64::MAX);
        let looked = match fetched {
            Ok(()) => self.run.look(files, cut, &self.program),
            Err(error) => Looked { wrong: vec![format!("{error:#}")], ..Looked::default() },
        };
        let committed = held::promises(&self.run.told, self.run.nodes.len(), cut).committed();
        let outcome = if looked.wrong.is_empty() { "all there" } else { "WRONG" };
        say(self.began, &format!("cut {:>3} at {text}: {committed} entries acknowledged, {outcome}", number + 1));
        for line in looked.wrong.iter().take(MOST_WRONG) {
            output::data(&format!("WRONG cut {}: {line}\n", number + 1));
        }
        found.lost += looked.lost;
        found.wrong += looked.wrong.len();
        found.backups += usize::from(looked.has_backup);
        if looked.wrong.is_empty() {
            // What cannot be removed is of no interest.
            let _ = std::fs::remove_dir_all(files);
            let _ = std::fs::remove_file(image);
        }
    }
}
