//! Strangers that send nonsense over connections that they keep, beside nodes that do what they always do.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use farm::monitor::Purpose;
use units::Random;

use super::{CPUS, Figures, LoadArgs, SEED, Times, in_ms, key_of, make_hub, per_second, start_hub, store_of};
use crate::client::{self, NodeClient};
use crate::clock::now_wall_ns;
use crate::nodes::MadeNode;
use crate::processes::HubProgram;
use crate::truth::{SLOT_NS, Truth};

/// Strangers, each with a connection.
const STRANGERS: usize = 64;
/// Nodes beside them.
const NODES: u64 = 10;
/// How often a node sends.
const EVERY: Duration = Duration::from_millis(200);

/// What one stranger sends, of each sort of nonsense one.
fn nonsense(random: &mut Random, stranger: &MadeNode, hub: farm::monitor::HubKey) -> Vec<Vec<u8>> {
    let junk: Vec<u8> = (0..200).map(|_| u8::try_from(random.below(256)).unwrap_or(0)).collect();
    let mut unsigned = stranger.signed(Purpose::Batch, hub, b"{}".to_vec());
    if let Some(last) = unsigned.last_mut() {
        *last ^= 1;
    }
    vec![junk, b"punctual-signed 1 batch".to_vec(), unsigned, stranger.signed(Purpose::Batch, hub, b"{}".to_vec())]
}

pub(super) fn measure(
    args: &LoadArgs,
    program: &HubProgram,
    folder: &Path,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    make_hub(program, folder)?;
    let slots = args.seconds * 10;
    let first_utc_ns = now_wall_ns() - i64::try_from(slots).unwrap_or(0) * SLOT_NS;
    let made =
        |node| MadeNode::new(Truth { seed: SEED, node, cpus: CPUS, first_utc_ns, are_maxima_apart: false }, 1, 0);
    let mut nodes = (0..NODES).map(made).collect::<anyhow::Result<Vec<_>>>()?;
    {
        let mut store = store_of(&folder.join("hub"))?;
        nodes.iter().try_for_each(|node| node.enrol(&mut store, now_wall_ns()))?;
    }
    let hub = start_hub(program, folder)?;
    let (config, key) = (client::tls(hub.fingerprint)?, key_of(&hub)?);
    let (is_over, count, strange) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let until = Instant::now() + Duration::from_secs(args.seconds);
    let mut times = Times::default();
    let began = Instant::now();
    std::thread::scope(|scope| -> anyhow::Result<()> {
        for number in 0..STRANGERS {
            let (config, is_over, count, strange) = (&config, &is_over, &count, &strange);
            scope.spawn(move || -> anyhow::Result<()> {
                let stranger = made(NODES + u64::try_from(number)?)?;
                let all = nonsense(&mut Random::new(u64::try_from(number)?), &stranger, key);
                let mut client = NodeClient::connect(hub.agents, config)?;
                for message in all.iter().cycle() {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let answer = client.post("/v1/batch", message)?;
                    count.fetch_add(1, Ordering::Relaxed);
                    // A refusal, and nothing else.
                    strange.fetch_add(u64::from(!(400..500).contains(&answer.status)), Ordering::Relaxed);
                }
                Ok(())
            });
        }
        let honest: Vec<_> = nodes
            .iter_mut()
            .map(|node| {
                let config = &config;
                scope.spawn(move || -> anyhow::Result<Vec<Duration>> {
                    let mut client = NodeClient::connect(hub.agents, config)?;
                    client.prove(node, key)?;
                    let mut times = Vec::new();
                    while Instant::now() < until {
                        let message = node.message(key, 1)?;
                        let began = Instant::now();
                        let answer = client.post("/v1/batch", &message)?;
                        anyhow::ensure!(
                            answer.status == 200,
                            "a node was answered {}: {}",
                            answer.status,
                            answer.text()
                        );
                        times.push(began.elapsed());
                        std::thread::sleep(EVERY);
                    }
                    Ok(times)
                })
            })
            .collect();
        let joined: Vec<_> = honest.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        for one in joined {
            times.0.extend(one.map_err(|_| anyhow!("a thread of a node died"))??);
        }
        Ok(())
    })?;
    let rate = per_second(count.load(Ordering::Relaxed), began.elapsed());
    figures.with_target(
        &format!("nonsense over {STRANGERS} connections that are kept"),
        &format!("{rate}/s"),
        ">= 10000/s",
        rate >= 10_000,
    );
    let longest = times.longest();
    figures.with_target(
        "  nodes beside it are answered within, 99 of 100 and all",
        &format!("{}, {}", in_ms(times.of_thousand(990)), in_ms(longest)),
        "<= 1000 ms",
        longest <= Duration::from_secs(1),
    );
    let strange = strange.load(Ordering::Relaxed);
    if strange > 0 {
        figures.wrong(format!("{strange} pieces of nonsense were answered by something else than a refusal"));
    }
    Ok(())
}
