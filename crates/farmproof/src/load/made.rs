//! A large store, made once: some nodes by their batches, as any hub takes them, and the others as copies of their rows.
//!
//! By batches alone 10,000 nodes with 30 days take an hour. Copied are rows of all tables that name a node, a boot or a stream, with their
//! numbers moved on; so the tables are known here, and a column that is new is named by a test that makes a small store.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use rusqlite::{Connection, params};
use store::{Arriving, ReadyBatch, Store as _};
use terminal::output;

use super::{CPUS, LoadArgs, SEED, make_hub, store_of};
use crate::clock::now_wall_ns;
use crate::nodes::{MadeNode, key};
use crate::processes::HubProgram;
use crate::truth::{SLOT_NS, Truth};

/// Nodes that are made by batches; of fewer all are.
const BY_BATCHES: u64 = 40;
/// Slots of a day.
const DAY_SLOTS: u64 = 288;
/// Written when a store is whole.
const WHOLE: &str = "whole";
/// Tables with their columns by which rows are copied: those that are numbers of nodes (n), boots (b) and streams (s), and those that are
/// as they are.
const COPIED: [(&str, &str, &str, &str); 10] = [
    ("boot", "id b, node n", "name", "node"),
    ("stream", "id s, node n", "start, random, base_sequence, base_place, last, after, seen_wall_ns, loose", "node"),
    ("relation", "boot b", "is_own, span, boot_ns, utc_ns, error_ns", "boot"),
    ("piece", "stream s, boot b", "first, last, after, kind, content, start_ns, length_ns, worst_ns, body", "stream"),
    ("pack", "stream s, boot b", "first, last, heads, content, start_ns, end_ns, rows, worsts", "stream"),
    ("event", "stream s, boot b", "first, kind, content, start_ns, length_ns, body", "stream"),
    ("summary", "node n", "changed, body", "node"),
    ("clock_span", "boot b", "span, lowest_ns, highest_ns, is_broken", "boot"),
    ("day_histogram", "boot b", "number, content, start_ns, end_ns, hours, body", "boot"),
    ("cell", "boot b", "number, content, worst_ns, day, hours", "boot"),
];

/// The truth of a node of the large store.
pub(super) fn truth(node: u64, first_utc_ns: i64) -> Truth {
    Truth { seed: SEED, node, cpus: CPUS, first_utc_ns, are_maxima_apart: false }
}

/// The folder of a store with so many nodes and days, which is made where it is not there.
pub(super) fn store(args: &LoadArgs, program: &HubProgram) -> anyhow::Result<PathBuf> {
    let folder = args.cache.join(format!("{}-nodes-{}-days", args.fleet_nodes, args.fleet_days));
    if folder.join(WHOLE).exists() {
        return Ok(folder);
    }
    // One that was not finished.
    let _ = std::fs::remove_dir_all(&folder);
    make_hub(program, &folder)?;
    let began = Instant::now();
    output::note(&format!("making a store of {} nodes and {} days, once", args.fleet_nodes, args.fleet_days));
    let by_batches = args.fleet_nodes.min(BY_BATCHES);
    make_by_batches(args, &folder, by_batches)?;
    copy(&folder.join("hub/store.sqlite"), by_batches, args.fleet_nodes)?;
    output::note(&format!("made in {} s", began.elapsed().as_secs()));
    std::fs::write(folder.join(WHOLE), b"")?;
    Ok(folder)
}

fn make_by_batches(args: &LoadArgs, folder: &Path, count: u64) -> anyhow::Result<()> {
    let mut store = store_of(&folder.join("hub"))?;
    let now_wall_ns = now_wall_ns();
    let slots = i64::try_from(args.fleet_days * DAY_SLOTS)?;
    let first_utc_ns = now_wall_ns - slots * SLOT_NS;
    for number in 0..count {
        let mut node = MadeNode::new(truth(number, first_utc_ns), 1, 0)?;
        node.enrol(&mut store, now_wall_ns)?;
        for _ in 0..args.fleet_days {
            let batch = ReadyBatch::new(&node.batch(DAY_SLOTS)?)?;
            store.take_batch(&Arriving {
                node: node.key,
                batch,
                received_wall_ns: now_wall_ns,
                round_trip_ns: 1_000_000,
            })?;
        }
        if number % 10 == 9 {
            output::note(&format!("  {} of {count} nodes by batches", number + 1));
        }
    }
    while store.maintain(20_000, now_wall_ns)?.is_more {}
    Ok(())
}

/// Copies nodes until there are so many.
fn copy(path: &Path, from: u64, to: u64) -> anyhow::Result<()> {
    let mut db = Connection::open(path)?;
    // A store that is not finished is made anew.
    db.pragma_update(None, "synchronous", "off")?;
    check_columns(&db)?;
    let most = |db: &Connection, table: &str| -> anyhow::Result<i64> {
        Ok(db.query_row(&format!("SELECT coalesce(max(id), 0) FROM {table}"), [], |row| row.get(0))?)
    };
    let steps = [("n", most(&db, "node")?), ("b", most(&db, "boot")?), ("s", most(&db, "stream")?)];
    let nodes_apart = steps[0].1;
    let mut made = from;
    for turn in 1_i64.. {
        if made >= to {
            break;
        }
        let count = from.min(to - made);
        let change = db.transaction()?;
        for number in 0..count {
            let add = "INSERT INTO node (id, key, name, enrolled_wall_ns, seen_wall_ns, version, changed, summarized)
                       SELECT id + ?1, ?2, ?3, enrolled_wall_ns, seen_wall_ns, version, changed, summarized FROM node WHERE name = ?4";
            let name = format!("node-{:05}", made + number);
            let of = format!("node-{number:05}");
            let added = change.execute(add, params![turn * nodes_apart, key(SEED, made + number)?.0, name, of])?;
            ensure!(added == 1, "no node was copied");
        }
        // The first nodes have the lowest numbers.
        let names = format!("node-{:05}", count - 1);
        let last: i64 = change.query_row("SELECT id FROM node WHERE name = ?1", [names], |row| row.get(0))?;
        for (table, moved, kept, owner) in COPIED {
            let moved: Vec<(&str, &str)> = moved.split(", ").filter_map(|column| column.split_once(' ')).collect();
            let names: Vec<&str> = moved.iter().map(|(name, _)| *name).collect();
            let values: Vec<String> = moved
                .iter()
                .map(|(name, kind)| {
                    let apart = steps.iter().find(|(letter, _)| letter == kind).map_or(0, |(_, apart)| *apart);
                    format!("{name} + {}", turn * apart)
                })
                .collect();
            let of = match owner {
                "node" => format!("node <= {last}"),
                "boot" => format!("boot IN (SELECT id FROM boot WHERE node <= {last})"),
                _ => format!("stream IN (SELECT id FROM stream WHERE node <= {last})"),
            };
            let sql = format!(
                "INSERT INTO {table} ({}, {kept}) SELECT {}, {kept} FROM {table} WHERE {of}",
                names.join(", "),
                values.join(", ")
            );
            change.execute(&sql, []).with_context(|| format!("rows of {table}"))?;
        }
        change.commit()?;
        made += count;
        if turn % 10 == 0 {
            output::note(&format!("  {made} of {to} nodes"));
            db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
    }
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// Each column of a table that is copied is named above; an own number that nobody else names is none of them.
fn check_columns(db: &Connection) -> anyhow::Result<()> {
    for (table, moved, kept, _) in COPIED {
        let mut find = db.prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))?;
        let columns: Vec<String> = find.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let named: Vec<&str> =
            moved.split(", ").filter_map(|column| column.split(' ').next()).chain(kept.split(", ")).collect();
        let other: Vec<&String> =
            columns.iter().filter(|column| *column != "id" && !named.contains(&column.as_str())).collect();
        ensure!(other.is_empty(), "the table {table} has columns that are not copied: {other:?}");
    }
    Ok(())
}
