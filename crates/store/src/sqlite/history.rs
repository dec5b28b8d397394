//! What is read of one node: its history, histograms and contents.

use std::collections::BTreeMap;
use std::ops::Range;

use farm::monitor::{ContentKind, GapReason, MonitorEntry};
use farm::stream::{ContentHash, NodeKey};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::between::between;
use super::fault::Fault;
use super::fleet::boot_name;
use super::held::number_of_content;
use super::people;
use super::summary::DAY_NS;
use super::tiers::{Coarse, cells, intervals};
use crate::cast::WithoutSign;
use crate::coding::{decompress, histograms_from_bytes};
use crate::drawing::{Drawn, draw};
use crate::placing::{ClockSpan, Relation, Relations};
use crate::{Content, ContentAt, GapSpan, GapWhy, History, HistoryAsked, SpanHistogram, Tier};

/// The most bytes of a content: twice what an entry may have.
const MOST_CONTENT_BYTES: u64 = 4 << 20;
/// Nodes whose history goes on in each other's, at most.
const MOST_REPLACED: usize = 64;
/// Cells before a stretch that may reach into it: an interval that was merged is longer than a cell.
const CELLS_BEFORE: i64 = 24;

/// All that is known of a boot's time in UTC.
pub(super) fn relations(db: &Connection, boot: i64) -> Result<Relations, Fault> {
    let mut find = db.prepare_cached("SELECT boot_ns, utc_ns, error_ns, is_own FROM relation WHERE boot = ?1")?;
    let mut rows = find.query([boot])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let error_ns = row.get::<_, i64>(2)?.without_sign();
        found.push(Relation { boot_ns: row.get(0)?, utc_ns: row.get(1)?, error_ns, is_own: row.get(3)? });
    }
    let mut find =
        db.prepare_cached("SELECT span, lowest_ns, highest_ns, is_broken FROM clock_span WHERE boot = ?1")?;
    let spans = find.query_map([boot], |row| {
        Ok((row.get(0)?, ClockSpan { lowest_ns: row.get(1)?, highest_ns: row.get(2)?, is_broken: row.get(3)? }))
    })?;
    let spans: Vec<(i64, ClockSpan)> = spans.collect::<Result<_, _>>()?;
    Ok(Relations::new(found, spans, suspends(db, boot)?))
}

/// When the suspends of a boot began, that are known (ns, CLOCK_BOOTTIME).
fn suspends(db: &Connection, boot: i64) -> Result<Vec<i64>, Fault> {
    let mut find = db.prepare_cached("SELECT start_ns, body FROM event WHERE boot = ?1 AND kind = 6")?;
    let mut rows = find.query([boot])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let body = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        if matches!(serde_json::from_slice(body)?, MonitorEntry::Gap { why: GapReason::Suspended, .. }) {
            found.push(row.get(0)?);
        }
    }
    Ok(found)
}

/// The boots of a node, and of those whose history goes on in its.
fn boots(db: &Connection, node: NodeKey) -> Result<Vec<i64>, Fault> {
    Ok(boots_of_nodes(db, node)?.into_iter().flatten().collect())
}

/// The same node by node.
fn boots_of_nodes(db: &Connection, node: NodeKey) -> Result<Vec<Vec<i64>>, Fault> {
    let mut found = Vec::new();
    let mut next = Some(node);
    for _ in 0..MOST_REPLACED {
        let Some((id, node)) = next.map(|key| people::node(db, key)).transpose()?.flatten() else { break };
        let mut find = db.prepare_cached("SELECT id FROM boot WHERE node = ?1 ORDER BY id")?;
        found.push(find.query_map([id], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?);
        next = node.replaces;
    }
    Ok(found)
}

/// Conditions by their numbers.
fn hash_of(db: &Connection, content: i64) -> Result<ContentHash, Fault> {
    let mut find = db.prepare_cached("SELECT hash FROM content WHERE id = ?1")?;
    Ok(ContentHash(find.query_row([content], |row| row.get(0))?))
}

/// The tier that fits: the finest of which not many more than the points are read.
const fn tier_of(asked: &HistoryAsked) -> Tier {
    const INTERVAL_NS: u64 = 300 * 1_000_000_000;
    let length_ns = asked.to_utc_ns.saturating_sub(asked.from_utc_ns).unsigned_abs();
    // Reading is no reason to take hours where twice as many intervals as points are there.
    let most = (asked.most_points as u64).saturating_mul(2);
    if length_ns / INTERVAL_NS <= most {
        Tier::Intervals
    } else if length_ns / (12 * INTERVAL_NS) <= most {
        Tier::Hours
    } else {
        Tier::Days
    }
}

pub(super) fn history(db: &Connection, node: NodeKey, asked: &HistoryAsked) -> Result<History, Fault> {
    let tier = tier_of(asked);
    let mut drawn = Vec::new();
    let mut gaps = Vec::new();
    let mut conditions: BTreeMap<i64, ContentHash> = BTreeMap::new();
    let mut not_placed = 0;
    for boot in boots(db, node)? {
        let relations = relations(db, boot)?;
        let Some((from_ns, to_ns)) = relations.may_lie_in(asked.from_utc_ns, asked.to_utc_ns) else { continue };
        let rows = match tier {
            Tier::Intervals => intervals(db, boot, &(from_ns..to_ns))?,
            Tier::Hours => of_cells(db, boot, Coarse::Hours, &(from_ns..to_ns))?,
            Tier::Days => of_cells(db, boot, Coarse::Days, &(from_ns..to_ns))?,
        };
        for (content, row) in rows {
            let condition = match conditions.get(&content) {
                Some(hash) => *hash,
                None => {
                    let hash = hash_of(db, content)?;
                    conditions.insert(content, hash);
                    hash
                }
            };
            match relations.place(row.start_ns) {
                Some(start) => drawn.push(Drawn { start, condition, row }),
                None => not_placed += row.made_of,
            }
        }
        gaps.extend(gaps_of(db, boot, &relations, &(from_ns..to_ns))?);
    }
    for boots in boots_of_nodes(db, node)? {
        gaps.extend(between(db, &boots)?);
    }
    gaps.retain(|gap| {
        gap.start_utc_ns < asked.to_utc_ns
            && gap.start_utc_ns.saturating_add_unsigned(gap.length_ns) > asked.from_utc_ns
    });
    gaps.sort_by_key(|gap| (gap.start_utc_ns, gap.length_ns));
    let (cpus, sources) = draw(drawn, asked);
    Ok(History { tier, cpus, sources, gaps, not_placed })
}

fn of_cells(db: &Connection, boot: i64, tier: Coarse, during: &Range<i64>) -> Result<super::tiers::Rows, Fault> {
    let number = |ns: i64| ns.div_euclid(tier.cell_ns());
    let numbers = number(during.start).saturating_sub(CELLS_BEFORE)..number(during.end).saturating_add(1);
    Ok(cells(db, boot, tier, &numbers)?.into_iter().map(|((_, content), row)| (content, row)).collect())
}

fn gaps_of(db: &Connection, boot: i64, relations: &Relations, during: &Range<i64>) -> Result<Vec<GapSpan>, Fault> {
    let mut find = db.prepare_cached(
        "SELECT start_ns, length_ns, body FROM event WHERE boot = ?1 AND kind = 6 AND start_ns < ?2 AND start_ns + length_ns > ?3",
    )?;
    let mut rows = find.query(params![boot, during.end, during.start])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let body = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        let MonitorEntry::Gap { why, cpus, .. } = serde_json::from_slice(body)? else { continue };
        let Some(start) = relations.place(row.get(0)?) else { continue };
        let length_ns = row.get::<_, i64>(1)?.without_sign();
        found.push(GapSpan { start_utc_ns: start.utc_ns, length_ns, why: GapWhy::Said(why), cpus });
    }
    Ok(found)
}

pub(super) fn histograms(
    db: &Connection,
    node: NodeKey,
    (from_utc_ns, to_utc_ns): (i64, i64),
) -> Result<Vec<SpanHistogram>, Fault> {
    let mut found: BTreeMap<(u32, ContentHash), SpanHistogram> = BTreeMap::new();
    for boot in boots(db, node)? {
        let relations = relations(db, boot)?;
        let Some((from_ns, to_ns)) = relations.may_lie_in(from_utc_ns, to_utc_ns) else { continue };
        let mut find = db.prepare_cached(
            "SELECT start_ns, start_ns + length_ns, content, body, 1 FROM event
             WHERE boot = ?1 AND kind = 4 AND start_ns >= ?2 AND start_ns <= ?3 AND length(body) > 0
             UNION ALL
             SELECT start_ns, end_ns, content, body, hours FROM day_histogram
             WHERE boot = ?1 AND number >= ?4 AND start_ns >= ?2 AND start_ns <= ?3",
        )?;
        let mut rows = find.query(params![boot, from_ns, to_ns, from_ns.div_euclid(DAY_NS)])?;
        while let Some(row) = rows.next()? {
            let is_asked = |placed: &crate::Placed| (from_utc_ns..to_utc_ns).contains(&placed.utc_ns);
            let Some(start) = relations.place(row.get(0)?).filter(is_asked) else { continue };
            let length_ns = row.get::<_, i64>(1)?.saturating_sub(row.get(0)?);
            let end_utc_ns = start.utc_ns.saturating_add(length_ns);
            let hours = row.get::<_, i64>(4)?.without_sign();
            let condition = hash_of(db, row.get(2)?)?;
            let all = histograms_from_bytes(row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?)?;
            for (cpu, histogram) in all {
                let of = found.entry((cpu, condition)).or_insert_with(|| SpanHistogram {
                    cpu,
                    condition,
                    histogram: histogram::Histogram::new(),
                    hours: 0,
                    start_utc_ns: start.utc_ns,
                    end_utc_ns,
                });
                of.histogram.merge(&histogram);
                of.hours += hours;
                of.start_utc_ns = of.start_utc_ns.min(start.utc_ns);
                of.end_utc_ns = of.end_utc_ns.max(end_utc_ns);
            }
        }
    }
    Ok(found.into_values().collect())
}

fn kind_of(number: i64) -> Result<ContentKind, Fault> {
    let kind = [ContentKind::Condition, ContentKind::Profile, ContentKind::Explaining]
        .into_iter()
        .find(|kind| number_of_content(*kind) == number);
    kind.ok_or(Fault::Damaged("a kind of content is unknown"))
}

pub(super) fn contents(db: &Connection, node: NodeKey) -> Result<Vec<ContentAt>, Fault> {
    let mut found = Vec::new();
    for boot in boots(db, node)? {
        let (relations, name) = (relations(db, boot)?, boot_name(db, boot)?);
        let mut find = db.prepare_cached(
            "SELECT content.kind, content.hash, event.start_ns FROM event JOIN content ON content.id = event.content
             WHERE event.boot = ?1 AND event.kind = 5",
        )?;
        let mut rows = find.query([boot])?;
        while let Some(row) = rows.next()? {
            let since_ns = row.get(2)?;
            found.push(ContentAt {
                kind: kind_of(row.get(0)?)?,
                hash: ContentHash(row.get(1)?),
                boot: name.clone(),
                since_ns,
                since: relations.place(since_ns),
            });
        }
    }
    // What nobody can place comes first: it is old as a rule.
    found.sort_by(|one, other| {
        let key = |of: &ContentAt| (of.since.map(|at| at.utc_ns), of.boot.clone(), of.since_ns, of.hash);
        key(one).cmp(&key(other))
    });
    Ok(found)
}

/// The text of a content.
pub(super) fn text_of(compressed: &[u8]) -> Result<String, Fault> {
    let bytes = decompress(compressed, MOST_CONTENT_BYTES)?;
    String::from_utf8(bytes).map_err(|_| Fault::Damaged("a content is no text"))
}

pub(super) fn content(db: &Connection, hash: ContentHash) -> Result<Option<Content>, Fault> {
    let mut find =
        db.prepare_cached("SELECT kind, compressed FROM content WHERE hash = ?1 AND compressed IS NOT NULL")?;
    let found: Option<(i64, Vec<u8>)> = find.query_row([hash.0], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    found.map(|(kind, compressed)| Ok(Content { kind: kind_of(kind)?, text: text_of(&compressed)? })).transpose()
}
