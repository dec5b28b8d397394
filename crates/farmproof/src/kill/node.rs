//! A simulated node: the agent's own spool and sender, and what writes to the spool what the seed says.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent::{DiskSpool, Sender, Signals, SpoolLimits, State};
use anyhow::{Context as _, anyhow, ensure};
use farm::stream::StreamId;
use units::Random;

use super::Node;
use crate::clock::now_wall_ns;
use crate::journal::{Journal, Noted};
use crate::truth::{Boot, Truth};

/// The file in a node's folder by which it is told to write no more, and to end when all is acknowledged.
pub(super) const QUIET: &str = "quiet";
/// How often there are news, for the sender: it sends at once.
const NEWS_EVERY: Duration = Duration::from_millis(100);
/// The longest time from one slot to the next.
const MOST_BETWEEN_MS: usize = 80;

/// How much room a node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// As much as it needs.
    Enough,
    /// As little as an agent may have: all is written anew again and again, and neighbors are merged while the hub is away.
    Little,
    /// The same, and what was acknowledged is removed after some seconds.
    LittleAndForgets,
}

/// Each third node has another room.
pub(super) const fn room(number: u64) -> Room {
    match number % 3 {
        0 => Room::Enough,
        1 => Room::Little,
        _ => Room::LittleAndForgets,
    }
}

impl Room {
    const fn limits(self) -> SpoolLimits {
        let limits = SpoolLimits::of_bytes(match self {
            Self::Enough => 64 << 20,
            Self::Little | Self::LittleAndForgets => 256 << 10,
        });
        match self {
            Self::LittleAndForgets => SpoolLimits { keep_acknowledged_s: 5, ..limits },
            Self::Enough | Self::Little => limits,
        }
    }
}

/// What one node of `kill` is: started by it alone
#[derive(clap::Args)]
pub(crate) struct NodeArgs {
    /// The agent's folder, with its key and enrolment
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Where all random numbers begin
    #[arg(long)]
    seed: u64,
    /// Number of the node
    #[arg(long)]
    number: u64,
    /// CPUs that it has
    #[arg(long)]
    cpus: u32,
    /// When its first slot begins (ns since 1970)
    #[arg(long, allow_negative_numbers = true)]
    first_utc_ns: i64,
}

impl NodeArgs {
    /// Writes until it is killed, or told to be quiet.
    pub(crate) fn run(self) -> anyhow::Result<bool> {
        let Self { state: folder, seed, number, cpus, first_utc_ns } = self;
        let truth = Truth { seed, node: number, cpus, first_utc_ns, are_maxima_apart: true };
        let state = State::open(&folder)?;
        let _lock = state.lock()?;
        let identity = Arc::new(state.identity()?.context("no key")?);
        let (mut spool, found) = DiskSpool::open(&state.spool(), identity.public(), room(number).limits())?;
        // A kill leaves what was written: only a disk damages lines.
        ensure!(found.set_aside.is_empty(), "a kill has damaged the spool: {:?}", found.set_aside);
        let path = Node::journal(&folder);
        let noted = Noted::read(&path)?;
        let mut journal = Journal::open(&path)?;
        let mut random = Random::new(truth.seed ^ now_wall_ns().unsigned_abs());
        let mut slot = noted.begun.last().map_or(0, |last| last + 1);
        let boot = match noted.boot {
            Some(boot) if random.below(4) > 0 => boot,
            earlier => {
                let boot = Boot { number: earlier.map_or(1, |boot| boot.number + 1), first_slot: slot };
                journal.boots(&boot)?;
                boot
            }
        };
        spool.begin(StreamId { start: state.count_start()?, random: random.next() });
        for entry in truth.begin(slot, &boot) {
            spool.append(&entry).context("an entry is not allowed")?;
        }
        spool.flush()?;
        let (spool, signals) = (Arc::new(Mutex::new(spool)), Arc::new(Signals::default()));
        let sender = Sender::new(state.clone(), identity, Arc::clone(&spool), Arc::clone(&signals), NEWS_EVERY)?;
        let sending = std::thread::Builder::new().name("sender".to_owned()).spawn(move || sender.run())?;
        let quiet = folder.join(QUIET);
        loop {
            let is_quiet = quiet.exists();
            let current = {
                let mut spool = spool.lock().unwrap_or_else(PoisonError::into_inner);
                if !is_quiet {
                    journal.writes(slot)?;
                    for entry in truth.entries(slot, &boot) {
                        spool.append(&entry).context("an entry is not allowed")?;
                    }
                    spool.flush()?;
                    journal.wrote(slot)?;
                    slot += 1;
                }
                if is_quiet && spool.counts().1 == 0 {
                    break;
                }
                spool.current()
            };
            if let Some((stream, acknowledged)) = current {
                journal.acknowledged(stream, acknowledged)?;
            }
            signals.has_news();
            let pause_ms = if is_quiet { 20 } else { random.below(MOST_BETWEEN_MS) };
            std::thread::sleep(Duration::from_millis(u64::try_from(pause_ms).unwrap_or(0)));
        }
        signals.is_over();
        sending.join().map_err(|_| anyhow!("the sender died"))?;
        Ok(true)
    }
}
