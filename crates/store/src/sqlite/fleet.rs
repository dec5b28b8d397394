//! The page of all nodes: what it shows of each is kept, and computed again where something has arrived since.

use std::sync::Arc;

use farm::monitor::{BootId, GapReason};
use farm::stream::NodeKey;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::fault::Fault;
use super::known::{Known, KnownNode};
use super::summary::{DAY_NS, KeptBeyond, Latest, Summary};
use crate::{AgainstItself, FleetRow, Node, NodeState};

/// Intervals of the same condition from which on a node is held against its own history: a day.
const ENOUGH: u64 = 288;
/// The usual length of an interval (ns): five minutes.
const INTERVAL_NS: u64 = 300 * 1_000_000_000;
/// A node is silent, or behind, after two intervals and this (ns): a minute for the way.
const GRACE_NS: u64 = 60 * 1_000_000_000;

/// All nodes that are not revoked.
pub(super) fn fleet(db: &Connection, known: &Known, now_wall_ns: i64) -> Result<Vec<FleetRow>, Fault> {
    let mut find = db.prepare_cached("SELECT id, changed FROM node WHERE revoked_wall_ns IS NULL ORDER BY name")?;
    let mut nodes = find.query([])?;
    let mut rows = Vec::new();
    while let Some(node) = nodes.next()? {
        rows.push(row(&*known.node(db, node.get(0)?, node.get(1)?)?, now_wall_ns));
    }
    Ok(rows)
}

/// One node, unless it was revoked.
pub(super) fn one(db: &Connection, known: &Known, key: NodeKey, now_wall_ns: i64) -> Result<Option<FleetRow>, Fault> {
    let mut find = db.prepare_cached("SELECT id, changed FROM node WHERE key = ?1 AND revoked_wall_ns IS NULL")?;
    let found: Option<(i64, i64)> = find.query_row([key.0], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    found.map(|(id, changed)| Ok(row(&*known.node(db, id, changed)?, now_wall_ns))).transpose()
}

/// What another release has kept is computed again, little by little.
pub(super) fn forget_other_forms(db: &Connection) -> Result<(), Fault> {
    let begins = Summary::begins();
    let mut find = db.prepare("SELECT node FROM summary WHERE substr(body, 1, length(?1)) <> ?1")?;
    let nodes: Vec<i64> = find.query_map([begins], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for node in nodes {
        db.prepare_cached("UPDATE node SET summarized = 0 WHERE id = ?1")?.execute([node])?;
    }
    Ok(())
}

/// Keeps what the page shows of nodes that have changed; of how many.
pub(super) fn renew(db: &Connection, known: &Known, most: usize) -> Result<usize, Fault> {
    let nodes: Vec<(i64, i64)> = {
        let mut find = db.prepare_cached("SELECT id, changed FROM node WHERE summarized <> changed LIMIT ?1")?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let found = find.query_map([most], |row| Ok((row.get(0)?, row.get(1)?)))?;
        found.collect::<Result<_, _>>()?
    };
    let mut keep = db.prepare_cached("INSERT OR REPLACE INTO summary (node, changed, body) VALUES (?1, ?2, ?3)")?;
    let mut tell = db.prepare_cached("UPDATE node SET summarized = ?2 WHERE id = ?1")?;
    for (node, changed) in &nodes {
        keep.execute(params![node, changed, known.node(db, *node, *changed)?.summary.to_json()?])?;
        tell.execute([node, changed])?;
    }
    Ok(nodes.len())
}

fn row(known: &KnownNode, now_wall_ns: i64) -> FleetRow {
    let KnownNode { node, summary: of, maxima_ns, half_hours_ns, .. } = known;
    let day_ago_ns = now_wall_ns.saturating_sub(DAY_NS);
    // What cannot be placed was measured before something of the node last arrived.
    let is_recent = |beyond: &&KeptBeyond| match beyond.at() {
        Some(at) => at.utc_ns.saturating_add_unsigned(at.error_ns) >= day_ago_ns,
        None => node.seen_wall_ns.is_some_and(|seen_ns| seen_ns >= day_ago_ns),
    };
    FleetRow {
        state: state(node, of, now_wall_ns),
        condition: of.condition,
        limit_ns: of.limit_ns,
        latest: of.maximum.clone().map(Into::into),
        measured_until: of.measured_until.map(Into::into),
        day: of.day.clone().map(Into::into),
        beyond: of.beyond.iter().find(is_recent).cloned().map(Into::into),
        ever: of.ever.clone().map(Into::into),
        maxima_ns: maxima_ns.clone(),
        half_hours_ns: half_hours_ns.clone(),
        against_itself: (of.intervals >= ENOUGH)
            .then_some(AgainstItself { intervals: of.intervals, as_large: of.as_large }),
        profile: of.profile,
        isolated_and_not_monitored: of.isolated.clone(),
        sources: of.sources.clone(),
        node: Arc::clone(node),
    }
}

/// What a node does. What it has announced counts before its silence, and silence before its last words.
fn state(node: &Node, of: &Summary, now_wall_ns: i64) -> NodeState {
    if node.retired_wall_ns.is_some() {
        return NodeState::Retired;
    }
    let Some(seen_wall_ns) = node.seen_wall_ns else { return NodeState::Waiting };
    let patience_ns = of.interval_ns.unwrap_or(INTERVAL_NS).saturating_mul(2).saturating_add(GRACE_NS);
    let is_long_ago = |wall_ns: i64| {
        let since_ns = u64::try_from(now_wall_ns.saturating_sub(wall_ns)).unwrap_or(0);
        since_ns > patience_ns
    };
    if is_long_ago(seen_wall_ns) && !matches!(of.latest, Latest::End { .. }) {
        return NodeState::Silent { since_wall_ns: seen_wall_ns };
    }
    match &of.latest {
        Latest::Gap(GapReason::NoPriority) => NodeState::NoPriority,
        Latest::Gap(why) => NodeState::NotMonitored { why: why.clone() },
        Latest::Measured { spoiled } => match (of.measured_until.map(crate::Placed::from), spoiled) {
            (Some(until), _) if is_long_ago(until.utc_ns.saturating_add_unsigned(until.error_ns)) => {
                NodeState::Behind { measured_until: until }
            }
            (_, Some(reasons)) => NodeState::Invalid { reasons: reasons.clone() },
            (_, None) => NodeState::Monitoring,
        },
        Latest::Begun => NodeState::Waiting,
        Latest::End { why, at } => NodeState::Stopped { why: why.clone(), at: at.map(Into::into) },
    }
}

/// The name of a boot.
pub(super) fn boot_name(db: &Connection, boot: i64) -> Result<BootId, Fault> {
    let mut find = db.prepare_cached("SELECT name FROM boot WHERE id = ?1")?;
    Ok(BootId(find.query_row([boot], |row| row.get(0))?))
}
