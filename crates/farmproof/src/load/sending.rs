//! Nodes that are connected at once and send: one interval after the other, and days at once.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use farm::monitor::HubKey;
use rusqlite::{Connection, OpenFlags};
use rustls::ClientConfig;
use store::{Read as _, Store as _};
use terminal::output;

use super::{
    CPUS, Figures, LoadArgs, SEED, Times, in_ms, key_of, make_hub, per_second, resident_bytes, start_hub, store_of,
};
use crate::client::{self, Answer, NodeClient};
use crate::clock::now_wall_ns;
use crate::hubs::cpu_time_us;
use crate::nodes::{MadeNode, mark};
use crate::processes::{HubProcess, HubProgram};
use crate::truth::{SLOT_NS, Truth};

/// Intervals of a batch of many: a day.
const DAY_SLOTS: u64 = 288;
/// Nodes that catch up at the same moment: more of them would be told to wait, since their messages have no room.
const AT_ONCE: usize = 32;
/// The least stack of a thread that keeps a connection (bytes).
const STACK_BYTES: usize = 256 * 1024;
/// How long a node waits that a busy hub has told to.
const BUSY_WAIT: Duration = Duration::from_millis(200);
/// Room of an acknowledged message.
const MOST_KEPT: usize = 4;

/// A node with what it sends.
struct Sender {
    node: MadeNode,
    messages: Vec<Vec<u8>>,
    client: NodeClient,
    agents: SocketAddr,
    config: Arc<ClientConfig>,
}

impl Sender {
    /// Sends a message; over a new connection where the hub has ended one that was silent for long.
    fn post(&mut self, message: &[u8], hub: HubKey) -> anyhow::Result<Answer> {
        if let Ok(answer) = self.client.post("/v1/batch", message) {
            return Ok(answer);
        }
        self.client = NodeClient::connect(self.agents, &self.config).context("a node cannot connect")?;
        self.client.prove(&self.node, hub)?;
        self.client.post("/v1/batch", message).context("the hub does not answer")
    }
}

/// What came of sending.
struct Sent {
    took: Duration,
    times: Times,
    busy: u64,
    /// Time of CPUs that the hub used meanwhile (us): what it is on a machine where others run too.
    cpu_us: u64,
}

pub(super) fn measure(
    args: &LoadArgs,
    program: &HubProgram,
    folder: &Path,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    make_hub(program, folder)?;
    let days = args.catch_up_days;
    let slots = args.requests + days * DAY_SLOTS;
    let first_utc_ns = now_wall_ns() - i64::try_from(slots).unwrap_or(0) * SLOT_NS;
    let mut nodes = Vec::new();
    {
        let mut store = store_of(&folder.join("hub"))?;
        for number in 0..args.nodes {
            let node = MadeNode::new(
                Truth { seed: SEED, node: number, cpus: CPUS, first_utc_ns, are_maxima_apart: false },
                1,
                0,
            )?;
            node.enrol(&mut store, now_wall_ns())?;
            nodes.push(node);
        }
    }
    let mut hub = start_hub(program, folder)?;
    let (config, key) = (client::tls(hub.fingerprint)?, key_of(&hub)?);
    output::data(&format!(
        "{} nodes of {CPUS} CPUs, each with a connection; messages are signed before the time is taken\n",
        args.nodes
    ));
    let all = connect(nodes, &hub, &config, (key, args.requests, 1))?;
    let (mut nodes, sent) = send(all, &hub, key, usize::MAX)?;
    tell_requests(&hub, nodes.len(), args, sent, figures)?;
    if days > 0 {
        let all = connect(nodes, &hub, &config, (key, days, DAY_SLOTS))?;
        let (after, sent) = send(all, &hub, key, AT_ONCE)?;
        nodes = after;
        tell_catch_up(&hub, folder, args, &sent, figures)?;
    }
    // Without any chance to tidy up: what was acknowledged is there.
    hub.process.kill();
    let store = store_of(&folder.join("hub"))?;
    for node in &nodes {
        let (sequence, place) = node.end;
        let held = store.common(node.key, node.stream, &[(sequence, place)])?;
        if (held.sequence, held.end) != (sequence, sequence) {
            figures.wrong(format!("node {}: acknowledged up to {sequence}, held up to {}", node.truth.node, held.end));
        }
    }
    Ok(())
}

/// Makes the messages of all nodes, so many of so many slots each, and connects them then: a connection that is silent for long ends.
fn connect(
    nodes: Vec<MadeNode>,
    hub: &HubProcess,
    config: &Arc<ClientConfig>,
    (key, count, slots): (HubKey, u64, u64),
) -> anyhow::Result<Vec<Sender>> {
    let with_messages = |mut node: MadeNode| {
        let messages = (0..count).map(|_| node.message(key, slots)).collect::<anyhow::Result<Vec<_>>>()?;
        Ok((node, messages))
    };
    let made = nodes.into_iter().map(with_messages).collect::<anyhow::Result<Vec<_>>>()?;
    let sender = |(node, messages): (MadeNode, Vec<Vec<u8>>)| {
        let mut client = NodeClient::connect(hub.agents, config).context("a node cannot connect")?;
        client.prove(&node, key)?;
        Ok(Sender { node, messages, client, agents: hub.agents, config: Arc::clone(config) })
    };
    made.into_iter().map(sender).collect()
}

/// Sends all messages of all nodes, so many nodes at the same moment; each waits for its answer before it sends the next one.
fn send(senders: Vec<Sender>, hub: &HubProcess, key: HubKey, at_once: usize) -> anyhow::Result<(Vec<MadeNode>, Sent)> {
    let begins = Arc::new(Barrier::new(senders.len() + 1));
    let gate = Arc::new(Gate::new(at_once));
    let busy = Arc::new(AtomicU64::new(0));
    let mut threads = Vec::new();
    for mut sender in senders {
        let (begins, gate, busy) = (Arc::clone(&begins), Arc::clone(&gate), Arc::clone(&busy));
        let work = move || -> anyhow::Result<(MadeNode, Vec<Duration>, Instant)> {
            begins.wait();
            let mut times = Vec::with_capacity(sender.messages.len());
            let mut answers = Vec::with_capacity(MOST_KEPT);
            for message in std::mem::take(&mut sender.messages) {
                let passed = gate.pass();
                let began = Instant::now();
                loop {
                    let answer = sender.post(&message, key)?;
                    match answer.status {
                        200 => answers.push(answer.body),
                        503 => {
                            busy.fetch_add(1, Ordering::Relaxed);
                            std::thread::sleep(BUSY_WAIT);
                            continue;
                        }
                        status => anyhow::bail!("answered {status}: {}", String::from_utf8_lossy(&answer.body)),
                    }
                    break;
                }
                times.push(began.elapsed());
                drop(passed);
            }
            let ended = Instant::now();
            // What was answered is looked at when nobody's time is taken.
            let last = answers.pop().context("nothing was answered")?;
            let mark = mark(&last, key, sender.node.key)?;
            let (sequence, place) = sender.node.end;
            anyhow::ensure!(
                (mark.sequence, mark.hash) == (sequence, place),
                "acknowledged {} of {sequence}",
                mark.sequence
            );
            Ok((sender.node, times, ended))
        };
        threads.push(std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work)?);
    }
    let before_us = cpu_time_us(hub)?;
    begins.wait();
    let began = Instant::now();
    let (mut nodes, mut times, mut ended) = (Vec::new(), Vec::new(), began);
    for thread in threads {
        let (node, of, at) = thread.join().map_err(|_| anyhow!("a thread of a node died"))??;
        nodes.push(node);
        times.extend(of);
        ended = ended.max(at);
    }
    let (busy, cpu_us) = (busy.load(Ordering::Relaxed), cpu_time_us(hub)? - before_us);
    Ok((nodes, Sent { took: ended - began, times: Times(times), busy, cpu_us }))
}

/// Lets so many through at once.
struct Gate {
    inside: Mutex<usize>,
    most: usize,
    is_free: std::sync::Condvar,
}

/// Who is inside, until it is dropped.
struct Passed<'a>(&'a Gate);

impl Gate {
    const fn new(most: usize) -> Self {
        Self { inside: Mutex::new(0), most, is_free: std::sync::Condvar::new() }
    }

    fn pass(&self) -> Passed<'_> {
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |inside: &mut usize| *inside >= self.most;
        let mut inside = self.is_free.wait_while(inside, is_full).unwrap_or_else(PoisonError::into_inner);
        *inside += 1;
        Passed(self)
    }
}

impl Drop for Passed<'_> {
    fn drop(&mut self) {
        *self.0.inside.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.is_free.notify_one();
    }
}

fn tell_requests(
    hub: &HubProcess,
    connections: usize,
    args: &LoadArgs,
    mut sent: Sent,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let requests = args.nodes * args.requests;
    let rate = per_second(requests, sent.took);
    figures.with_target(
        &format!("requests, signed, durable before answered, {connections} connections"),
        &format!("{rate}/s"),
        ">= 4000/s",
        rate >= 4_000,
    );
    let (middle, far) = (sent.times.of_thousand(500), sent.times.of_thousand(990));
    figures.plain("  answered within, half and 99 of 100", &format!("{}, {}", in_ms(middle), in_ms(far)));
    figures.plain("  told to wait", &format!("{}", sent.busy));
    figures.plain("  CPU time of the hub for each", &in_us(sent.cpu_us, requests));
    let (now, most) = resident_bytes(hub)?;
    figures.with_target(
        "  memory of the hub with all of them connected, now and most",
        &format!("{}, {} MB", now / 1_000_000, most / 1_000_000),
        "<= 150 MB",
        most <= 150_000_000,
    );
    Ok(())
}

fn tell_catch_up(
    hub: &HubProcess,
    folder: &Path,
    args: &LoadArgs,
    sent: &Sent,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let intervals = args.nodes * args.catch_up_days * DAY_SLOTS;
    let rate = per_second(intervals, sent.took);
    figures.with_target(
        &format!("intervals of a node in catch-up, a day a message, {AT_ONCE} at once"),
        &format!("{rate}/s"),
        ">= 40000/s",
        rate >= 40_000,
    );
    figures.plain("  CPU time of the hub for each", &in_us(sent.cpu_us, intervals));
    figures.plain("  told to wait", &format!("{}", sent.busy));
    let began = Instant::now();
    let is_done = wait_until_done(&folder.join("hub/store.sqlite"))?;
    let both = sent.took + began.elapsed();
    figures.plain(
        if is_done { "  with hours, days and packs" } else { "  with hours, days and packs: not done in a minute" },
        &format!("{}/s", per_second(intervals, both)),
    );
    let (now, most) = resident_bytes(hub)?;
    figures.plain("  memory of the hub, now and most", &format!("{}, {} MB", now / 1_000_000, most / 1_000_000));
    let copy = folder.join("copy.sqlite");
    store_of(&folder.join("hub"))?.back_up(&copy)?;
    let bytes = std::fs::metadata(&copy)?.len();
    let cells = args.nodes * (args.catch_up_days * DAY_SLOTS + args.requests) * u64::from(CPUS);
    let hundredths = bytes * 100 / cells.max(1);
    figures.plain(
        &format!("  at rest after {} days, a day of which is loose, a CPU and interval", args.catch_up_days),
        &format!("{}.{:02} bytes", hundredths / 100, hundredths % 100),
    );
    Ok(())
}

/// Waits until nothing is left to do in a store, a minute at most; whether it is.
fn wait_until_done(path: &Path) -> anyhow::Result<bool> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let until = Instant::now() + Duration::from_secs(60);
    let sql = "SELECT (SELECT count(*) FROM stale) + (SELECT count(*) FROM node WHERE summarized <> changed)";
    while Instant::now() < until {
        if db.query_row(sql, [], |row| row.get::<_, i64>(0))? == 0 {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(false)
}

/// A time for each of so many, as people read it.
fn in_us(all_us: u64, count: u64) -> String {
    let tenths = all_us * 10 / count.max(1);
    format!("{}.{} us", tenths / 10, tenths % 10)
}
