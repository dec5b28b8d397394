//! `punctual-farmproof fuzz`: nodes and strangers that send what they like, and people that ask for what they like.
//!
//! Held is: no answer above 499 but a refusal that says to come again; the hub lives, and no thread of it has died; a node beside that does
//! what it always does has everything acknowledged, and everything is there; and what is answered to people has the form that its
//! description states.

mod form;
mod hostile;
mod reading;
mod schemathesis;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use farm::monitor::HubKey;
use store::Read as _;
use terminal::output;
use units::Random;

use crate::client::{self, Answer, NodeClient, PersonClient};
use crate::clock::{now_wall_ns, some_seed};
use crate::hubs::{key_of, make_hub, start_hub, store_of};
use crate::nodes::{MadeNode, mark};
use crate::processes::{HubProcess, HubProgram};
use crate::truth::{SLOT_NS, Truth};

/// Nodes that are enrolled and hostile.
const HOSTILE: u64 = 6;
/// Nodes that are not enrolled, and hostile.
const STRANGERS: u64 = 2;
/// Who reads.
const READERS: u64 = 2;
/// How often the honest node sends.
const EVERY: Duration = Duration::from_millis(100);
/// How long the honest node waits where the hub is busy.
const BUSY_WAIT: Duration = Duration::from_millis(200);

/// Let hostile nodes, strangers and readers at a hub, and hold that it does what it always does
#[derive(clap::Args)]
pub(crate) struct FuzzArgs {
    /// Seconds
    #[arg(long, value_name = "S", default_value_t = 60)]
    seconds: u64,
    /// Where the random numbers begin [default: another one each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The hub's program [default: the same code in this program]
    #[arg(long, value_name = "FILE")]
    hub: Option<PathBuf>,
    /// The program schemathesis, which asks for another minute what the hub's description allows and what it does not
    #[arg(long, value_name = "FILE")]
    schemathesis: Option<PathBuf>,
}

/// What was seen, by all threads together.
#[derive(Default)]
struct Seen {
    is_over: AtomicBool,
    sent: AtomicU64,
    /// Messages of enrolled nodes that were taken.
    taken: AtomicU64,
    asked: AtomicU64,
    busy: AtomicU64,
    wrong: Mutex<Vec<String>>,
}

impl Seen {
    fn wrong(&self, what: String) {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner).push(what);
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Holds an answer against what any answer is; `what` tells what was asked.
    fn look(&self, answer: &Answer, what: impl FnOnce() -> String) {
        let is_busy = answer.status == 503 && answer.text().contains("\"busy\"");
        self.busy.fetch_add(u64::from(is_busy), Ordering::Relaxed);
        if answer.status >= 500 && !is_busy {
            self.wrong(format!("answered {}: {}\n{}", answer.status, answer.text(), what()));
        }
    }
}

impl FuzzArgs {
    /// Prints what was seen; whether all was as it has to be.
    pub(crate) fn run(self) -> anyhow::Result<bool> {
        let seed = self.seed.unwrap_or_else(some_seed);
        output::data(&format!("seed {seed}, {} s\n", self.seconds));
        let program = HubProgram::new(self.hub.clone())?;
        let folder = std::env::temp_dir().join(format!("punctual-farm-fuzz-{}", std::process::id()));
        make_hub(&program, &folder)?;
        let slots = self.seconds * 10 + 100;
        let first_utc_ns = now_wall_ns() - i64::try_from(slots)? * SLOT_NS;
        let made = |node| MadeNode::new(Truth { seed, node, cpus: 4, first_utc_ns, are_maxima_apart: true }, 1, 0);
        {
            let mut store = store_of(&folder.join("hub"))?;
            (0..=HOSTILE).try_for_each(|node| made(node)?.enrol(&mut store, now_wall_ns()))?;
        }
        let mut hub = start_hub(&program, &folder)?;
        let key = key_of(&hub)?;
        let seen = Seen::default();
        let until = Instant::now() + Duration::from_secs(self.seconds);
        let (honest, acknowledged) = std::thread::scope(|scope| -> anyhow::Result<_> {
            let (seen, hub) = (&seen, &hub);
            let mut threads = Vec::new();
            for number in 1..=HOSTILE + STRANGERS {
                let node = made(number)?;
                threads.push(scope.spawn(move || hostile::send(node, hub, key, Random::new(seed ^ number), seen)));
            }
            for number in 0..READERS {
                let nodes = [made(0)?.key, made(1)?.key];
                threads.push(
                    scope.spawn(move || reading::read(hub.people, nodes, Random::new(seed ^ number << 32), seen)),
                );
            }
            let honest = send_honestly(made(0)?, hub, key, until, seen);
            seen.is_over.store(true, Ordering::Relaxed);
            for thread in threads {
                thread.join().map_err(|_| anyhow!("a thread died"))??;
            }
            honest
        })?;
        if let Some(program) = self.schemathesis.filter(|_| hub.process.ended().is_none()) {
            let wrong = schemathesis::ask(&program, hub.people, honest.key, seed, &folder)?;
            output::data(&format!("schemathesis: {}\n", if wrong.is_some() { "WRONG" } else { "nothing wrong" }));
            wrong.into_iter().for_each(|wrong| seen.wrong(wrong));
        }
        if let Some(status) = hub.process.ended() {
            seen.wrong(format!("the hub has ended: {status}"));
        }
        hub.process.kill();
        check_log(&folder, &seen)?;
        check_store(&folder, &honest, &seen)?;
        let wrong = seen.wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
        wrong.iter().for_each(|line| output::data(&format!("WRONG {line}\n")));
        let verdict = if wrong.is_empty() { "nothing wrong".to_owned() } else { format!("{} WRONG", wrong.len()) };
        output::data(&format!(
            "farm-fuzz: {} messages of hostile nodes and strangers ({} of them taken), {} askings of people, {} told to come again, an \
             honest node's {acknowledged} batches all there, seed {seed}: {verdict}\n",
            seen.sent.into_inner(),
            seen.taken.into_inner(),
            seen.asked.into_inner(),
            seen.busy.into_inner(),
        ));
        if wrong.is_empty() {
            // What cannot be removed is of no interest.
            let _ = std::fs::remove_dir_all(&folder);
        } else {
            output::data(&format!("all of it is in {}\n", folder.display()));
        }
        Ok(wrong.is_empty())
    }
}

/// Sends one interval after the other, each acknowledged; the node by then, and how many.
fn send_honestly(
    mut node: MadeNode,
    hub: &HubProcess,
    key: HubKey,
    until: Instant,
    seen: &Seen,
) -> anyhow::Result<(MadeNode, u64)> {
    let config = client::tls(hub.fingerprint)?;
    let mut client = NodeClient::connect(hub.agents, &config)?;
    let mut count = 0;
    while Instant::now() < until && !seen.is_over() {
        let message = node.message(key, 1)?;
        loop {
            let answer = client.post("/v1/batch", &message)?;
            seen.look(&answer, || "an honest node's batch".to_owned());
            if answer.status == 503 {
                std::thread::sleep(BUSY_WAIT);
                continue;
            }
            ensure!(answer.status == 200, "an honest node is answered {}: {}", answer.status, answer.text());
            let mark = mark(&answer.body, key, node.key)?;
            if (mark.sequence, mark.hash) != node.end {
                seen.wrong(format!("an honest node has sent up to {}, acknowledged is {}", node.end.0, mark.sequence));
            }
            break;
        }
        count += 1;
        std::thread::sleep(EVERY);
    }
    Ok((node, count))
}

/// A thread that died says so in the log, and so does a hub that was killed for its memory by nobody but us.
fn check_log(folder: &Path, seen: &Seen) -> anyhow::Result<()> {
    let log = std::fs::read_to_string(folder.join("hub.log"))?;
    for line in log.lines().filter(|line| line.contains("panicked") || line.contains("damaged")) {
        seen.wrong(format!("the hub's log says: {line}"));
    }
    Ok(())
}

/// All of the honest node is there, all of the store can be read, and what is left to do is done.
fn check_store(folder: &Path, honest: &MadeNode, seen: &Seen) -> anyhow::Result<()> {
    use store::Store as _;
    let mut store = store_of(&folder.join("hub"))?;
    let held = store.common(honest.key, honest.stream, &[honest.end])?;
    if (held.sequence, held.end) != (honest.end.0, honest.end.0) {
        seen.wrong(format!("the honest node's stream ends at {}, the hub's at {}", honest.end.0, held.end));
    }
    while store.maintain(10_000, now_wall_ns())?.is_more {}
    let everything = store::HistoryAsked { from_utc_ns: i64::MIN, to_utc_ns: i64::MAX, most_points: 1_000 };
    for row in store.fleet(now_wall_ns())? {
        store.history(row.node.key, &everything)?;
        store.contents(row.node.key)?;
        if row.node.key == honest.key {
            let slots = 0..honest.next_slot;
            let worst = slots.flat_map(|slot| (0..4).map(move |cpu| honest.truth.figures(slot, cpu).maximum_ns)).max();
            if row.ever.map(|ever| ever.maximum_ns) != worst {
                seen.wrong("the honest node's worst is another one".to_owned());
            }
        }
    }
    Ok(())
}

/// A person's connection that is made anew where the hub has ended it.
fn person(people: std::net::SocketAddr) -> anyhow::Result<PersonClient> {
    Ok(PersonClient::connect(people)?)
}
