//! What people read of a large store, while its nodes send.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};

use super::{Figures, LoadArgs, SEED, Times, in_ms, key_of, made, per_second, resident_bytes, start_hub};
use crate::client::{self, NodeClient, PersonClient};
use crate::clock::now_wall_ns;
use crate::nodes::{MadeNode, key};
use crate::processes::HubProgram;
use crate::truth::SLOT_NS;

/// Connections that nodes share here: what is measured is the pages.
const CONNECTIONS: u64 = 8;
/// How often a node sends, in a farm (s).
const INTERVAL_S: u64 = 300;
/// The longest time from one message of a connection to its next.
const MOST_BETWEEN: Duration = Duration::from_secs(1);
/// Askings of a page, at least.
const LEAST_ASKED: usize = 10;
/// The most bytes of the page's script when it is compressed.
const MOST_SCRIPT_BYTES: usize = 150_000;

pub(super) fn measure(args: &LoadArgs, program: &HubProgram, figures: &mut Figures) -> anyhow::Result<()> {
    let folder = made::store(args, program)?;
    tell_rest(args, &folder, figures)?;
    let began = Instant::now();
    let hub = start_hub(program, &folder)?;
    figures.plain("  start of the hub", &in_ms(began.elapsed()));
    let (config, hub_key) = (client::tls(hub.fingerprint)?, key_of(&hub)?);
    let began = Instant::now();
    ask(&hub, "/")?;
    figures.plain("  first page of all nodes after the start", &in_ms(began.elapsed()));
    let node = key(SEED, args.fleet_nodes / 2)?;
    let (is_over, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let start = now_wall_ns().unsigned_abs() / 1_000_000_000;
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let mut sending = Vec::new();
        for number in 0..CONNECTIONS.min(args.fleet_nodes) {
            let (config, is_over, sent) = (&config, &is_over, &sent);
            sending.push(scope.spawn(move || -> anyhow::Result<()> {
                let mut client = NodeClient::connect(hub.agents, config)?;
                // As many in a second as 300 s have them all; in a small farm they send more often.
                let between = Duration::from_millis(INTERVAL_S * 1_000 * CONNECTIONS / args.fleet_nodes.max(1));
                let between = between.min(MOST_BETWEEN);
                let mut next = number;
                while !is_over.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    let mut node = MadeNode::new(made::truth(next, now_wall_ns() - SLOT_NS), start, 0)?;
                    let message = node.message(hub_key, 1)?;
                    let answer = client.post("/v1/batch", &message)?;
                    ensure!(answer.status == 200, "a node was answered {}: {}", answer.status, answer.text());
                    sent.fetch_add(1, Ordering::Relaxed);
                    next = (next + CONNECTIONS) % args.fleet_nodes;
                    std::thread::sleep(between.saturating_sub(began.elapsed()));
                }
                Ok(())
            }));
        }
        let began = Instant::now();
        let pages = [
            ("  page of all nodes", "/".to_owned(), Some(100)),
            ("  page of a node, 112 days", format!("/nodes/{node}?last=112d"), Some(30)),
            ("  page of a node, 7 days", format!("/nodes/{node}"), None),
            ("  document of all nodes", "/api/v1/fleet".to_owned(), None),
            ("  document of a node", format!("/api/v1/nodes/{node}"), None),
            ("  document of how the hub does", "/api/v1/status".to_owned(), None),
        ];
        let asked = pages.into_iter().try_for_each(|(what, path, most_ms)| {
            let (mut times, bytes) = ask_often(&hub, &path, Duration::from_secs(args.seconds))?;
            let far = times.of_thousand(990);
            let found = format!("{}, {}", in_ms(times.of_thousand(500)), in_ms(far));
            let what = format!("{what}, half and 99 of 100 ({} KB)", bytes / 1_000);
            match most_ms {
                Some(most_ms) => {
                    figures.with_target(
                        &what,
                        &found,
                        &format!("<= {most_ms} ms"),
                        far <= Duration::from_millis(most_ms),
                    );
                }
                None => figures.plain(&what, &found),
            }
            Ok::<_, anyhow::Error>(())
        });
        is_over.store(true, Ordering::Relaxed);
        for one in sending {
            one.join().map_err(|_| anyhow!("a thread of nodes died"))??;
        }
        figures.plain(
            "  nodes that sent beside",
            &format!("{}/s", per_second(sent.load(Ordering::Relaxed), began.elapsed())),
        );
        asked
    })?;
    let script = crate::nodes::deflated(&ask(&hub, "/fresh.js")?)?.len();
    figures.with_target(
        "  script of a page, compressed",
        &format!("{script} bytes"),
        "<= 150 KB",
        script <= MOST_SCRIPT_BYTES,
    );
    let (now, most) = resident_bytes(&hub)?;
    figures.plain("  memory of the hub, now and most", &format!("{}, {} MB", now / 1_000_000, most / 1_000_000));
    Ok(())
}

fn ask(hub: &crate::processes::HubProcess, path: &str) -> anyhow::Result<Vec<u8>> {
    let answer = PersonClient::connect(hub.people)?.get(path)?;
    ensure!(answer.status == 200, "{path} is answered {}: {}", answer.status, answer.text());
    Ok(answer.body)
}

/// Asks for a page again and again, as one person who waits for each.
fn ask_often(hub: &crate::processes::HubProcess, path: &str, time: Duration) -> anyhow::Result<(Times, usize)> {
    let mut client = PersonClient::connect(hub.people)?;
    let (mut times, mut bytes) = (Times::default(), 0);
    let until = Instant::now() + time;
    while Instant::now() < until || times.0.len() < LEAST_ASKED {
        let began = Instant::now();
        let answer = client.get(path)?;
        times.0.push(began.elapsed());
        ensure!(answer.status == 200, "{path} is answered {}: {}", answer.status, answer.text());
        bytes = answer.body.len();
        // Nodes have sent meanwhile.
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok((times, bytes))
}

/// What the store takes.
fn tell_rest(args: &LoadArgs, folder: &Path, figures: &mut Figures) -> anyhow::Result<()> {
    let bytes = std::fs::metadata(folder.join("hub/store.sqlite"))?.len();
    let cells = args.fleet_nodes * args.fleet_days * 288 * u64::from(super::CPUS);
    let hundredths = bytes * 100 / cells.max(1);
    figures.with_target(
        &format!(
            "{} nodes of {} CPUs, {} days: at rest, a CPU and interval",
            args.fleet_nodes,
            super::CPUS,
            args.fleet_days
        ),
        &format!("{}.{:02} bytes", hundredths / 100, hundredths % 100),
        "<= 8 bytes",
        hundredths <= 800,
    );
    figures.plain("  in all", &format!("{} MB", bytes / 1_000_000));
    for nodes in [100_u64, 10_000] {
        // Of what this store takes, in a year.
        let year = u128::from(nodes) * u128::from(bytes) * 365 / u128::from(args.fleet_nodes * args.fleet_days).max(1);
        figures
            .plain(&format!("  {nodes} nodes in a year, without histograms"), &format!("{} GB", year / 1_000_000_000));
    }
    Ok(())
}
