//! The page of all nodes: what it shows of each is kept, and computed again where something has arrived since.

use std::collections::HashMap;

use farm::monitor::{BootId, GapReason, MonitorEntry};
use farm::stream::ContentHash;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

use super::fault::Fault;
use super::history::{relations, text_of};
use super::people;
use crate::batch::Kind;
use crate::coding::{Row, numbers_from_bytes, rows_from_bytes};
use crate::{AgainstItself, FleetRow, LatestMaximum, Node, NodeState, Placed};

/// Maxima in a row's sparkline.
const SPARKLINE: usize = 48;
/// Intervals of the same condition from which on a node is held against its own history: a day.
const ENOUGH: u64 = 288;
/// Streams that are looked through for the latest intervals: a node may have restarted often.
const MOST_STREAMS: i64 = 64;
/// The usual length of an interval (ns): five minutes.
const INTERVAL_NS: u64 = 300 * 1_000_000_000;
/// A node is silent when nothing has come for two intervals and this (ns): a minute for the way.
const GRACE_NS: u64 = 60 * 1_000_000_000;

/// What a node's latest entry says of what it does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Latest {
    #[default]
    Begun,
    Measured {
        /// Codes of what spoiled a CPU wholly; absent where all CPUs have something that stands.
        spoiled: Option<Vec<String>>,
    },
    Gap(GapReason),
    End {
        why: GapReason,
        at_utc_ns: Option<i64>,
        error_ns: u64,
        is_own: bool,
    },
}

/// What is kept of a node for the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Summary {
    latest: Latest,
    interval_ns: Option<u64>,
    condition: Option<ContentHash>,
    limit_ns: Option<u64>,
    maximum_ns: Option<i64>,
    cpu: u32,
    cause: Option<String>,
    at_utc_ns: Option<i64>,
    error_ns: u64,
    is_own: bool,
    ever_ns: Option<i64>,
    maxima_ns: Vec<Option<i64>>,
    intervals: u64,
    as_large: u64,
    profile: Option<ContentHash>,
    isolated: Vec<u32>,
}

/// The part of a condition that is read here.
#[derive(Deserialize)]
struct Limit {
    #[serde(rename = "limit-ns", alias = "limit_ns")]
    limit_ns: Option<u64>,
}

/// All nodes that are not revoked.
pub(super) fn fleet(db: &Connection, now_wall_ns: i64) -> Result<Vec<FleetRow>, Fault> {
    let mut kept: HashMap<i64, String> = HashMap::new();
    {
        let mut find = db.prepare_cached("SELECT id, summary FROM node WHERE summary IS NOT NULL")?;
        let mut rows = find.query([])?;
        while let Some(row) = rows.next()? {
            kept.insert(row.get(0)?, row.get(1)?);
        }
    }
    let mut rows = Vec::new();
    for (id, node) in people::nodes(db)? {
        if node.revoked_wall_ns.is_none() {
            let summary = match kept.get(&id) {
                Some(text) => serde_json::from_str(text)?,
                None => summary(db, id)?,
            };
            rows.push(row(node, summary, now_wall_ns));
        }
    }
    Ok(rows)
}

/// Computes what the page shows of nodes of which something has arrived; of how many.
pub(super) fn renew(db: &Connection, most: usize) -> Result<usize, Fault> {
    let nodes: Vec<i64> = {
        let mut find = db.prepare_cached("SELECT id FROM node WHERE summary IS NULL LIMIT ?1")?;
        let found = find.query_map([i64::try_from(most).unwrap_or(i64::MAX)], |row| row.get(0))?;
        found.collect::<Result<_, _>>()?
    };
    let mut keep = db.prepare_cached("UPDATE node SET summary = ?2 WHERE id = ?1")?;
    for node in &nodes {
        keep.execute(params![node, serde_json::to_string(&summary(db, *node)?)?])?;
    }
    Ok(nodes.len())
}

fn placed(utc_ns: Option<i64>, error_ns: u64, is_own: bool) -> Option<Placed> {
    let by = if is_own { crate::PlacedBy::OwnClock } else { crate::PlacedBy::Receipt };
    utc_ns.map(|utc_ns| Placed { utc_ns, error_ns, by })
}

fn row(node: Node, of: Summary, now_wall_ns: i64) -> FleetRow {
    let beyond = |maximum_ns: i64| {
        let limit_ns = i64::try_from(of.limit_ns?).ok()?;
        u64::try_from(maximum_ns.checked_sub(limit_ns)?).ok().filter(|beyond| *beyond > 0)
    };
    FleetRow {
        state: state(&node, &of, now_wall_ns),
        condition: of.condition,
        limit_ns: of.limit_ns,
        beyond_limit_ns: of.maximum_ns.and_then(beyond),
        latest: of.maximum_ns.map(|maximum_ns| LatestMaximum {
            maximum_ns,
            cpu: of.cpu,
            at: placed(of.at_utc_ns, of.error_ns, of.is_own),
            cause: of.cause,
        }),
        ever_ns: of.ever_ns,
        maxima_ns: of.maxima_ns,
        against_itself: (of.intervals >= ENOUGH)
            .then_some(AgainstItself { intervals: of.intervals, as_large: of.as_large }),
        profile: of.profile,
        isolated_and_not_monitored: of.isolated,
        node,
    }
}

/// What a node does. What it has announced counts before its silence, and silence before its last words.
fn state(node: &Node, of: &Summary, now_wall_ns: i64) -> NodeState {
    if node.retired_wall_ns.is_some() {
        return NodeState::Retired;
    }
    let Some(seen_wall_ns) = node.seen_wall_ns else { return NodeState::Waiting };
    if let Latest::End { why, at_utc_ns, error_ns, is_own } = &of.latest {
        return NodeState::Stopped { why: why.clone(), at: placed(*at_utc_ns, *error_ns, *is_own) };
    }
    let patience_ns = of.interval_ns.unwrap_or(INTERVAL_NS).saturating_mul(2).saturating_add(GRACE_NS);
    let silent_ns = u64::try_from(now_wall_ns.saturating_sub(seen_wall_ns)).unwrap_or(0);
    if silent_ns > patience_ns {
        return NodeState::Silent { since_wall_ns: seen_wall_ns };
    }
    match &of.latest {
        Latest::Gap(GapReason::NoPriority) => NodeState::NoPriority,
        Latest::Gap(why) => NodeState::NotMonitored { why: why.clone() },
        Latest::Measured { spoiled: Some(reasons) } => NodeState::Invalid { reasons: reasons.clone() },
        Latest::Measured { spoiled: None } => NodeState::Monitoring,
        Latest::Begun | Latest::End { .. } => NodeState::Waiting,
    }
}

fn summary(db: &Connection, node: i64) -> Result<Summary, Fault> {
    let mut of = Summary::default();
    let mut streams = db.prepare_cached(
        "SELECT id FROM stream WHERE node = ?1 ORDER BY seen_wall_ns DESC, start DESC, random DESC LIMIT ?2",
    )?;
    let streams: Vec<i64> =
        streams.query_map(params![node, MOST_STREAMS], |row| row.get(0))?.collect::<Result<_, _>>()?;
    if let Some(latest) = streams.first() {
        read_latest(db, *latest, &mut of)?;
    }
    let mut latest_interval = None;
    for stream in &streams {
        if of.maxima_ns.len() >= SPARKLINE {
            break;
        }
        let mut find = db.prepare_cached(
            "SELECT worst_ns, boot, content, body FROM piece WHERE stream = ?1 AND kind = 3 ORDER BY first DESC LIMIT ?2",
        )?;
        let left = i64::try_from(SPARKLINE - of.maxima_ns.len()).unwrap_or(0);
        let mut rows = find.query(params![stream, left])?;
        while let Some(row) = rows.next()? {
            of.maxima_ns.push(row.get(0)?);
            if latest_interval.is_none() {
                latest_interval = Some((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, row.get::<_, Vec<u8>>(3)?));
            }
        }
    }
    of.maxima_ns.reverse();
    if let Some((boot, condition, body)) = latest_interval {
        let row = rows_from_bytes(&body)?.into_iter().next().ok_or(Fault::Damaged("an interval is empty"))?;
        read_interval(db, node, (boot, condition), &row, &mut of)?;
    }
    of.ever_ns = ever(db, node)?;
    let mut find = db.prepare_cached(
        "SELECT content.hash FROM event JOIN stream ON stream.id = event.stream JOIN content ON content.id = event.content
         WHERE stream.node = ?1 AND event.kind = 5 AND content.kind = 2
         ORDER BY stream.start DESC, stream.random DESC, event.first DESC LIMIT 1",
    )?;
    of.profile = find.query_row([node], |row| row.get(0)).optional()?.map(ContentHash);
    let mut find = db.prepare_cached(
        "SELECT event.body FROM event JOIN stream ON stream.id = event.stream
         WHERE stream.node = ?1 AND event.kind = 7 ORDER BY stream.start DESC, stream.random DESC, event.first DESC LIMIT 1",
    )?;
    let begin: Option<Vec<u8>> = find.query_row([node], |row| row.get(0)).optional()?;
    if let Some(MonitorEntry::Begin(begin)) = begin.map(|body| serde_json::from_slice(&body)).transpose()? {
        of.isolated = begin.isolated_and_not_monitored;
    }
    Ok(of)
}

/// What the last pieces of a stream say: a gap of some CPUs, contents and histograms say nothing of what the node does.
fn read_latest(db: &Connection, stream: i64, of: &mut Summary) -> Result<(), Fault> {
    let mut find = db.prepare_cached(
        "SELECT piece.kind, piece.body, event.body, event.boot, event.start_ns FROM piece
         LEFT JOIN event ON event.stream = piece.stream AND event.first = piece.first
         WHERE piece.stream = ?1 ORDER BY piece.first DESC",
    )?;
    let mut rows = find.query([stream])?;
    while let Some(row) = rows.next()? {
        let Some(kind) = Kind::from_number(row.get(0)?) else { continue };
        let entry = || -> Result<MonitorEntry, Fault> {
            Ok(serde_json::from_slice(row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?)?)
        };
        match kind {
            Kind::Interval => {
                let body = rows_from_bytes(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
                of.latest = body.first().map_or(Latest::Begun, measured);
                return Ok(());
            }
            Kind::Gap => {
                if let MonitorEntry::Gap { why, cpus, .. } = entry()? {
                    if cpus.is_empty() {
                        of.latest = Latest::Gap(why);
                        return Ok(());
                    }
                }
            }
            Kind::End => {
                if let MonitorEntry::End { why, at_ns, .. } = entry()? {
                    let at = relations(db, row.get(3)?)?.place(at_ns);
                    of.latest = Latest::End {
                        why,
                        at_utc_ns: at.map(|at| at.utc_ns),
                        error_ns: at.map_or(0, |at| at.error_ns),
                        is_own: at.is_some_and(|at| at.by == crate::PlacedBy::OwnClock),
                    };
                    return Ok(());
                }
            }
            Kind::Begin => return Ok(()),
            _ => {}
        }
    }
    Ok(())
}

fn measured(row: &Row) -> Latest {
    let spoiled: Vec<&crate::coding::RowCpu> = row.cpus.iter().filter(|cpu| cpu.valid.is_none()).collect();
    if spoiled.is_empty() && !row.cpus.is_empty() {
        return Latest::Measured { spoiled: None };
    }
    let reasons: std::collections::BTreeSet<&String> = spoiled.iter().flat_map(|cpu| &cpu.reasons).collect();
    Latest::Measured { spoiled: Some(reasons.into_iter().cloned().collect()) }
}

fn read_interval(
    db: &Connection,
    node: i64,
    (boot, condition): (i64, i64),
    row: &Row,
    of: &mut Summary,
) -> Result<(), Fault> {
    of.interval_ns = Some(row.length_ns);
    let mut find = db.prepare_cached("SELECT hash, compressed FROM content WHERE id = ?1")?;
    let (hash, compressed): ([u8; 32], Option<Vec<u8>>) =
        find.query_row([condition], |row| Ok((row.get(0)?, row.get(1)?)))?;
    of.condition = Some(ContentHash(hash));
    if let Some(compressed) = compressed {
        // A condition that is no such document has no limit.
        of.limit_ns = serde_json::from_str::<Limit>(&text_of(&compressed)?).ok().and_then(|limit| limit.limit_ns);
    }
    let Some((cpu, figures)) = row.worst() else { return Ok(()) };
    of.maximum_ns = Some(figures.maximum_ns);
    of.cpu = cpu.cpu;
    of.cause.clone_from(&figures.cause);
    let at = relations(db, boot)?.place(row.start_ns.saturating_add_unsigned(figures.maximum_at_ns));
    of.at_utc_ns = at.map(|at| at.utc_ns);
    of.error_ns = at.map_or(0, |at| at.error_ns);
    of.is_own = at.is_some_and(|at| at.by == crate::PlacedBy::OwnClock);
    let mut count = |worst_ns: i64| {
        of.intervals += 1;
        of.as_large += u64::from(worst_ns >= figures.maximum_ns);
    };
    let mut find = db.prepare_cached(
        "SELECT worsts FROM pack WHERE content = ?2 AND boot IN (SELECT id FROM boot WHERE node = ?1)",
    )?;
    let mut rows = find.query(params![node, condition])?;
    while let Some(row) = rows.next()? {
        numbers_from_bytes(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?)?.into_iter().for_each(&mut count);
    }
    let mut find = db.prepare_cached(
        "SELECT worst_ns FROM piece WHERE kind = 3 AND content = ?2 AND worst_ns IS NOT NULL
             AND boot IN (SELECT id FROM boot WHERE node = ?1)",
    )?;
    let mut rows = find.query(params![node, condition])?;
    while let Some(row) = rows.next()? {
        count(row.get(0)?);
    }
    // Itself.
    of.intervals = of.intervals.saturating_sub(1);
    of.as_large = of.as_large.saturating_sub(1);
    Ok(())
}

/// The largest latency of all time that stands (ns).
fn ever(db: &Connection, node: i64) -> Result<Option<i64>, Fault> {
    let mut days =
        db.prepare_cached("SELECT max(worst_ns) FROM cell WHERE boot IN (SELECT id FROM boot WHERE node = ?1)")?;
    let of_days: Option<i64> = days.query_row([node], |row| row.get(0))?;
    // What is not in a day yet.
    let mut stale =
        db.prepare_cached("SELECT boot, number FROM stale WHERE boot IN (SELECT id FROM boot WHERE node = ?1)")?;
    let mut rows = stale.query([node])?;
    let mut ever = of_days;
    while let Some(row) = rows.next()? {
        let hour: i64 = row.get(1)?;
        let cells = super::tiers::cells(db, row.get(0)?, super::tiers::Coarse::Hours, &(hour..hour.saturating_add(1)))?;
        ever = cells.values().filter_map(|cell| cell.worst().map(|(_, figures)| figures.maximum_ns)).chain(ever).max();
    }
    Ok(ever)
}

/// The name of a boot.
pub(super) fn boot_name(db: &Connection, boot: i64) -> Result<BootId, Fault> {
    let mut find = db.prepare_cached("SELECT name FROM boot WHERE id = ?1")?;
    Ok(BootId(find.query_row([boot], |row| row.get(0))?))
}
