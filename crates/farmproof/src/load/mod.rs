//! `punctual-farmproof load`: how fast a hub is, beside the nodes that load it, with each figure's target beside it.

mod fleet;
mod made;
mod nonsense;
mod sending;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use terminal::output;

use crate::hubs::{key_of, make_hub, start_hub, store_of};
use crate::processes::{HubProcess, HubProgram};

/// Load a hub, and print how fast it is, each figure with its target
///
/// Ends with 1 where something that was acknowledged is not there. A figure that misses its target is marked as that, and decides nothing:
/// it is this machine's, beside all else that runs on it.
#[derive(clap::Args)]
pub(crate) struct LoadArgs {
    /// Nodes that are connected at once and send one interval after the other
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    nodes: u64,
    /// Intervals that each of them sends so
    #[arg(long, value_name = "N", default_value_t = 40)]
    requests: u64,
    /// Days that each of them then sends at once
    #[arg(long, value_name = "N", default_value_t = 2)]
    catch_up_days: u64,
    /// Nodes of the large store
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    fleet_nodes: u64,
    /// Days of the large store; of 112 a node's whole page is drawn
    #[arg(long, value_name = "N", default_value_t = 30)]
    fleet_days: u64,
    /// Seconds of each part that is measured for a while
    #[arg(long, value_name = "S", default_value_t = 10)]
    seconds: u64,
    /// One part alone: sending, nonsense or fleet
    #[arg(long, value_name = "PART")]
    only: Option<String>,
    /// The hub's program [default: the same code in this program]
    #[arg(long, value_name = "FILE")]
    hub: Option<PathBuf>,
    /// Where large stores are kept once they are made
    #[arg(long, value_name = "DIR", default_value = "target/farm-cache")]
    cache: PathBuf,
}

/// CPUs of a node.
const CPUS: u32 = 8;
/// Where all random numbers begin: the same nodes each time, so that a store that was made once is theirs.
const SEED: u64 = 1;

/// Figures as they come.
#[derive(Default)]
pub(super) struct Figures {
    missed: usize,
    wrong: Vec<String>,
}

impl Figures {
    /// Prints a figure that has a target.
    pub(super) fn with_target(&mut self, what: &str, found: &str, target: &str, is_kept: bool) {
        self.missed += usize::from(!is_kept);
        let word = if is_kept { "kept" } else { "MISSED" };
        output::data(&format!("{what:<58} {found:>14}   {target:<14} {word}\n"));
    }

    /// Prints one that has none.
    pub(super) fn plain(&self, what: &str, found: &str) {
        output::data(&format!("{what:<58} {found:>14}\n"));
    }

    /// Something is not as it was acknowledged.
    pub(super) fn wrong(&mut self, what: String) {
        output::data(&format!("WRONG {what}\n"));
        self.wrong.push(what);
    }
}

impl LoadArgs {
    /// Prints all figures; whether what was acknowledged is there.
    pub(crate) fn run(self) -> anyhow::Result<bool> {
        let parts = ["sending", "nonsense", "fleet"];
        if let Some(only) = self.only.as_deref().filter(|only| !parts.contains(only)) {
            anyhow::bail!("'{only}' is no part: {}", parts.join(", "));
        }
        let wanted = |part: &str| self.only.as_deref().is_none_or(|only| only == part);
        // Connections are files.
        let _ = kernel::process::raise_file_limit();
        let program = HubProgram::new(self.hub.clone())?;
        let mut figures = Figures::default();
        let began = Instant::now();
        let folder = std::env::temp_dir().join(format!("punctual-farm-load-{}", std::process::id()));
        if wanted("sending") {
            let folder = folder.join("sending");
            sending::measure(&self, &program, &folder, &mut figures)?;
        }
        if wanted("nonsense") {
            let folder = folder.join("nonsense");
            nonsense::measure(&self, &program, &folder, &mut figures)?;
        }
        if wanted("fleet") {
            fleet::measure(&self, &program, &mut figures)?;
        }
        let _ = std::fs::remove_dir_all(&folder);
        output::data(&format!(
            "farm-load: {} s, {} targets missed, {} wrong\n",
            began.elapsed().as_secs(),
            figures.missed,
            figures.wrong.len()
        ));
        Ok(figures.wrong.is_empty())
    }
}

/// Memory of a process (bytes): what it has now, and the most that it had.
fn resident_bytes(hub: &HubProcess) -> anyhow::Result<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{}/status", hub.process.id()))?;
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()
    };
    let (now, most) = (of("VmRSS:"), of("VmHWM:"));
    Ok((now.context("no memory")? << 10, most.context("no memory")? << 10))
}

/// What so many of something in a time are in a second.
fn per_second(count: u64, time: Duration) -> u64 {
    let rate = u128::from(count) * 1_000_000 / time.as_micros().max(1);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Times, for their quantiles.
#[derive(Debug, Default)]
struct Times(Vec<Duration>);

impl Times {
    /// The time within which so many of a thousand are.
    fn of_thousand(&mut self, share: usize) -> Duration {
        self.0.sort_unstable();
        let at = (self.0.len() * share).div_ceil(1_000).saturating_sub(1);
        self.0.get(at.min(self.0.len().saturating_sub(1))).copied().unwrap_or_default()
    }

    fn longest(&self) -> Duration {
        self.0.iter().max().copied().unwrap_or_default()
    }
}

/// A time in milliseconds, as people read it.
fn in_ms(time: Duration) -> String {
    format!("{}.{} ms", time.as_millis(), time.subsec_micros() / 100 % 10)
}
