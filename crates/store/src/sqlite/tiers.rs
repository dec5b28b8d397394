//! Hours and days are computed again where their intervals have changed; and what else is done beside.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rusqlite::{Connection, params};

use super::fault::Fault;
use super::fleet;
use super::held::HOUR_NS;
use super::known::Known;
use super::packs;
use crate::Maintained;
use crate::coding::{Row, rows_from_bytes, rows_to_bytes};
use crate::tier::combined;

/// What the page of all nodes shows of a node takes as long to compute as so many hours.
const SUMMARY_COSTS: usize = 8;
/// Hours of a day.
const HOURS: i64 = 24;
/// Rows of a boot by their condition's number.
pub(super) type Rows = Vec<(i64, Row)>;
/// Cells of a tier by their number and condition.
pub(super) type Cells = BTreeMap<(i64, i64), Row>;

/// A tier above the intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coarse {
    Hours,
    Days,
}

impl Coarse {
    /// How long a cell is (ns).
    pub(super) const fn cell_ns(self) -> i64 {
        match self {
            Self::Hours => HOUR_NS,
            Self::Days => HOURS * HOUR_NS,
        }
    }

    fn combined<'a>(self, rows: impl IntoIterator<Item = &'a Row>, number: i64) -> Option<Row> {
        combined(rows, number.saturating_mul(self.cell_ns()), self.cell_ns().unsigned_abs())
    }
}

/// The intervals of a boot that have a moment in common with a stretch of it, by their time.
pub(super) fn intervals(db: &Connection, boot: i64, during: &Range<i64>) -> Result<Rows, Fault> {
    let is_during = |row: &Row| row.start_ns < during.end && row.end_ns() > during.start;
    let mut found = Rows::new();
    let mut find =
        db.prepare_cached("SELECT content, rows FROM pack WHERE boot = ?1 AND end_ns > ?2 AND start_ns < ?3")?;
    let mut rows = find.query(params![boot, during.start, during.end])?;
    while let Some(row) = rows.next()? {
        let content: i64 = row.get(0)?;
        let packed = rows_from_bytes(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
        found.extend(packed.into_iter().filter(is_during).map(|row| (content, row)));
    }
    let mut find = db.prepare_cached(
        "SELECT content, body FROM piece WHERE kind = 3 AND boot = ?1 AND start_ns < ?2 AND start_ns + length_ns > ?3",
    )?;
    let mut rows = find.query(params![boot, during.end, during.start])?;
    while let Some(row) = rows.next()? {
        let content: i64 = row.get(0)?;
        let one = rows_from_bytes(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
        found.extend(one.into_iter().filter(is_during).map(|row| (content, row)));
    }
    found.sort_by_key(|(content, row)| (row.start_ns, row.length_ns, *content));
    Ok(found)
}

/// Hours of a boot, computed of intervals that begin in them.
fn compute_hours(db: &Connection, boot: i64, hours: &BTreeSet<i64>) -> Result<Cells, Fault> {
    let (Some(first), Some(last)) = (hours.first(), hours.last()) else { return Ok(Cells::new()) };
    let during = first.saturating_mul(HOUR_NS)..last.saturating_add(1).saturating_mul(HOUR_NS);
    let mut of: BTreeMap<(i64, i64), Vec<Row>> = BTreeMap::new();
    for (content, row) in intervals(db, boot, &during)? {
        let hour = row.start_ns.div_euclid(HOUR_NS);
        if hours.contains(&hour) {
            of.entry((hour, content)).or_default().push(row);
        }
    }
    let cell = |(key, rows): ((i64, i64), Vec<Row>)| Coarse::Hours.combined(&rows, key.0).map(|cell| (key, cell));
    Ok(of.into_iter().filter_map(cell).collect())
}

/// Days of a boot, computed of hours.
fn compute_days(hours: &Cells) -> Cells {
    let mut of: BTreeMap<(i64, i64), Vec<&Row>> = BTreeMap::new();
    for ((hour, content), row) in hours {
        of.entry((hour.div_euclid(HOURS), *content)).or_default().push(row);
    }
    let cell = |(key, rows): ((i64, i64), Vec<&Row>)| Coarse::Days.combined(rows, key.0).map(|cell| (key, cell));
    of.into_iter().filter_map(cell).collect()
}

/// The kept cells of days.
fn stored(db: &Connection, boot: i64, tier: Coarse, days: &Range<i64>) -> Result<Cells, Fault> {
    let column = if tier == Coarse::Hours { "hours" } else { "day" };
    let sql = format!("SELECT content, {column} FROM cell WHERE boot = ?1 AND number >= ?2 AND number < ?3");
    let mut find = db.prepare_cached(&sql)?;
    let mut rows = find.query(params![boot, days.start, days.end])?;
    let mut found = Cells::new();
    while let Some(row) = rows.next()? {
        let content = row.get(0)?;
        let body = rows_from_bytes(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
        found.extend(body.into_iter().map(|cell| ((cell.start_ns.div_euclid(tier.cell_ns()), content), cell)));
    }
    Ok(found)
}

fn stale(db: &Connection, boot: i64, hours: &Range<i64>) -> Result<BTreeSet<i64>, Fault> {
    let mut find = db.prepare_cached("SELECT number FROM stale WHERE boot = ?1 AND number >= ?2 AND number < ?3")?;
    let found = find.query_map(params![boot, hours.start, hours.end], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// The cells of a boot with these numbers, as they are now: what is stale is computed.
pub(super) fn cells(db: &Connection, boot: i64, tier: Coarse, numbers: &Range<i64>) -> Result<Cells, Fault> {
    if tier == Coarse::Hours {
        let stale = stale(db, boot, numbers)?;
        let days = numbers.start.div_euclid(HOURS)..numbers.end.div_euclid(HOURS).saturating_add(1);
        let mut cells = stored(db, boot, tier, &days)?;
        cells.retain(|(hour, _), _| numbers.contains(hour) && !stale.contains(hour));
        cells.extend(compute_hours(db, boot, &stale)?);
        return Ok(cells);
    }
    let hours_of = |day: i64| day.saturating_mul(HOURS)..day.saturating_add(1).saturating_mul(HOURS);
    let all = hours_of(numbers.start).start..hours_of(numbers.end).start;
    let days: BTreeSet<i64> = stale(db, boot, &all)?.into_iter().map(|hour| hour.div_euclid(HOURS)).collect();
    let mut found = stored(db, boot, tier, numbers)?;
    found.retain(|(day, _), _| !days.contains(day));
    for day in days {
        found.extend(compute_days(&cells(db, boot, Coarse::Hours, &hours_of(day))?));
    }
    Ok(found)
}

/// Keeps a day with its hours.
fn put(db: &Connection, boot: i64, day: i64, hours: &Cells) -> Result<(), Fault> {
    db.prepare_cached("DELETE FROM cell WHERE boot = ?1 AND number = ?2")?.execute([boot, day])?;
    let mut add = db.prepare_cached(
        "INSERT INTO cell (boot, number, content, worst_ns, day, hours) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for ((day, content), cell) in compute_days(hours) {
        let worst_ns = cell.worst().map(|(_, figures)| figures.maximum_ns);
        let hours: Vec<Row> =
            hours.iter().filter(|((_, of), _)| *of == content).map(|(_, hour)| hour.clone()).collect();
        add.execute(params![boot, day, content, worst_ns, rows_to_bytes(&[cell]), rows_to_bytes(&hours)])?;
    }
    Ok(())
}

/// Computes days of which hours are stale again; how many hours and days.
fn renew(db: &Connection, most: usize) -> Result<usize, Fault> {
    let mut days: BTreeMap<(i64, i64), usize> = BTreeMap::new();
    {
        let mut find = db.prepare_cached("SELECT boot, number FROM stale ORDER BY boot, number LIMIT ?1")?;
        let mut rows = find.query([i64::try_from(most).unwrap_or(i64::MAX)])?;
        while let Some(row) = rows.next()? {
            let (boot, hour): (i64, i64) = (row.get(0)?, row.get(1)?);
            *days.entry((boot, hour.div_euclid(HOURS))).or_default() += 1;
        }
    }
    let renewed = days.values().sum::<usize>() + days.len();
    for (boot, day) in days.into_keys() {
        let all = day.saturating_mul(HOURS)..day.saturating_add(1).saturating_mul(HOURS);
        put(db, boot, day, &cells(db, boot, Coarse::Hours, &all)?)?;
        let mut fresh = db.prepare_cached("DELETE FROM stale WHERE boot = ?1 AND number >= ?2 AND number < ?3")?;
        fresh.execute(params![boot, all.start, all.end])?;
    }
    Ok(renewed)
}

/// Does a little of what is left to do.
pub(super) fn maintain(db: &Connection, known: &Known, most: usize) -> Result<Maintained, Fault> {
    let cells = renew(db, most)?;
    let mut packed = 0;
    let streams: Vec<i64> = {
        let mut find = db.prepare_cached("SELECT id FROM stream WHERE loose >= ?1 LIMIT ?2")?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let found = find.query_map(params![packs::WORTH_PACKING, most], |row| row.get(0))?;
        found.collect::<Result<_, _>>()?
    };
    for stream in &streams {
        if packed >= most {
            break;
        }
        packed += packs::pack(db, *stream)?;
    }
    let most_summaries = most.div_ceil(SUMMARY_COSTS);
    let summaries = fleet::renew(db, known, most_summaries)?;
    let is_more = cells >= most || packed >= most || summaries >= most_summaries;
    Ok(Maintained { cells, packed, merged: 0, is_more })
}
