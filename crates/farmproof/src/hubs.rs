//! A hub with a folder of its own, for those that load it.

use std::path::Path;

use anyhow::Context as _;
use farm::monitor::HubKey;
use store::{Quotas, Sqlite};

use crate::client::PersonClient;
use crate::clock::now_wall_ns;
use crate::processes::{HubProcess, HubProgram, StartingHub};

/// The store of a hub that does not serve.
pub(crate) fn store_of(folder: &Path) -> anyhow::Result<Sqlite> {
    Ok(Sqlite::open(&folder.join("store.sqlite"), unlimited(), now_wall_ns())?)
}

/// As much as a node likes.
const fn unlimited() -> Quotas {
    Quotas { streams: u64::MAX, entries: u64::MAX, bytes: u64::MAX }
}

/// A folder in which a hub has made its keys and its empty store.
pub(crate) fn make_hub(program: &HubProgram, folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut hub = start_hub(program, folder)?;
    hub.process.kill();
    Ok(())
}

/// Starts a hub whose folder is `hub` in this one.
pub(crate) fn start_hub(program: &HubProgram, folder: &Path) -> anyhow::Result<HubProcess> {
    StartingHub::start(program, &folder.join("hub"), &folder.join("hub.log"), None)?.ready()
}

/// The key of a hub, as it says it itself.
pub(crate) fn key_of(hub: &HubProcess) -> anyhow::Result<HubKey> {
    let status = PersonClient::connect(hub.people)?.get("/api/v1/status")?;
    let status: serde_json::Value = serde_json::from_slice(&status.body)?;
    let key = status.get("hub").and_then(|key| key.as_str()).context("the hub says no key")?;
    Ok(HubKey(key.parse::<farm::stream::NodeKey>()?.0))
}

/// Time that a hub's threads have used on CPUs (us).
pub(crate) fn cpu_time_us(hub: &HubProcess) -> anyhow::Result<u64> {
    let mut all_ns = 0;
    for thread in std::fs::read_dir(format!("/proc/{}/task", hub.process.id()))? {
        let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        all_ns += text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).context("no time of a thread")?;
    }
    Ok(all_ns / 1_000)
}
