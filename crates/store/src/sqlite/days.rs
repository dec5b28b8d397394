//! Histograms of hours become those of days when they are old. Maxima stay with their intervals for ever.
//!
//! An hour is in its own row or in its day's, and changes from the one to the other in one transaction: so it is counted once, however
//! late it comes.

use std::collections::BTreeMap;

use histogram::Histogram;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::fault::Fault;
use super::history::relations;
use super::summary::DAY_NS;
use crate::coding::{histograms_from_bytes, histograms_to_bytes};

/// Histograms of hours are kept so long after their day has ended (ns): 112 days.
const HOURLY_NS: i64 = 112 * DAY_NS;
/// Boots that are looked at in one go.
const BOOTS: usize = 16;

/// The histograms of a part of a boot's day.
#[derive(Default)]
struct Day {
    start_ns: i64,
    end_ns: i64,
    hours: i64,
    cpus: BTreeMap<u32, Histogram>,
}

impl Day {
    fn add(&mut self, (start_ns, end_ns, hours): (i64, i64, i64), body: &[u8]) -> Result<(), Fault> {
        (self.start_ns, self.end_ns) =
            if self.hours == 0 { (start_ns, end_ns) } else { (self.start_ns.min(start_ns), self.end_ns.max(end_ns)) };
        self.hours += hours;
        for (cpu, histogram) in histograms_from_bytes(body)? {
            self.cpus.entry(cpu).or_default().merge(&histogram);
        }
        Ok(())
    }
}

/// Looks at some boots that have histograms of hours, and puts those that are old together; how many hours, and the last boot that was
/// looked at. The next look goes on behind that one.
pub(super) fn renew(db: &Connection, after: i64, now_wall_ns: i64, most: usize) -> Result<(usize, i64), Fault> {
    let old_utc_ns = now_wall_ns.saturating_sub(HOURLY_NS);
    let mut next = db.prepare_cached(
        "SELECT min(boot) FROM event INDEXED BY event_hourly WHERE kind = 4 AND length(body) > 0 AND boot > ?1",
    )?;
    let (mut boot, mut merged) = (after, 0);
    for _ in 0..BOOTS {
        if merged >= most {
            break;
        }
        let Some(found) = next.query_row([boot], |row| row.get::<_, Option<i64>>(0))? else { return Ok((merged, 0)) };
        boot = found;
        merged += renew_boot(db, boot, old_utc_ns, most)?;
    }
    Ok((merged, boot))
}

/// Hours of one boot, from the oldest on: whole days at a time.
fn renew_boot(db: &Connection, boot: i64, old_utc_ns: i64, most: usize) -> Result<usize, Fault> {
    let relations = relations(db, boot)?;
    let mut find = db.prepare_cached(
        "SELECT min(start_ns) FROM event INDEXED BY event_hourly WHERE kind = 4 AND length(body) > 0 AND boot = ?1 AND start_ns >= ?2",
    )?;
    let (mut from_ns, mut merged) = (i64::MIN, 0);
    while merged < most {
        let Some(first_ns) = find.query_row([boot, from_ns], |row| row.get::<_, Option<i64>>(0))? else { break };
        let number = first_ns.div_euclid(DAY_NS);
        let end_ns = number.saturating_add(1).saturating_mul(DAY_NS);
        // Of what cannot be placed nobody knows how old it is.
        let is_old =
            relations.place(end_ns).is_some_and(|end| end.utc_ns.saturating_add_unsigned(end.error_ns) < old_utc_ns);
        if !is_old {
            break;
        }
        merged += put_together(db, boot, number)?;
        from_ns = end_ns;
    }
    Ok(merged)
}

/// Puts the hours of a boot's day together; how many.
fn put_together(db: &Connection, boot: i64, number: i64) -> Result<usize, Fault> {
    let mut days: BTreeMap<i64, Day> = BTreeMap::new();
    let mut hours: Vec<(i64, i64)> = Vec::new();
    {
        let mut find = db.prepare_cached(
            "SELECT stream, first, content, start_ns, length_ns, body FROM event INDEXED BY event_hourly
             WHERE kind = 4 AND length(body) > 0 AND boot = ?1 AND start_ns >= ?2 AND start_ns < ?3",
        )?;
        let start_ns = number.saturating_mul(DAY_NS);
        let mut rows = find.query(params![boot, start_ns, start_ns.saturating_add(DAY_NS)])?;
        while let Some(row) = rows.next()? {
            hours.push((row.get(0)?, row.get(1)?));
            let start_ns: i64 = row.get(3)?;
            let span = (start_ns, start_ns.saturating_add(row.get(4)?), 1);
            let body = row.get_ref(5)?.as_blob().map_err(rusqlite::Error::from)?;
            days.entry(row.get(2)?).or_default().add(span, body)?;
        }
    }
    for (content, mut day) in days {
        let key = params![boot, number, content];
        let mut find = db.prepare_cached(
            "SELECT start_ns, end_ns, hours, body FROM day_histogram WHERE boot = ?1 AND number = ?2 AND content = ?3",
        )?;
        let before =
            find.query_row(key, |row| Ok(((row.get(0)?, row.get(1)?, row.get(2)?), row.get::<_, Vec<u8>>(3)?)));
        // Hours of the day that came later than the others.
        if let Some((span, body)) = before.optional()? {
            day.add(span, &body)?;
        }
        let cpus: Vec<(u32, &Histogram)> = day.cpus.iter().map(|(cpu, histogram)| (*cpu, histogram)).collect();
        let mut put = db.prepare_cached(
            "INSERT OR REPLACE INTO day_histogram (boot, number, content, start_ns, end_ns, hours, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        let Day { start_ns, end_ns, hours, .. } = day;
        put.execute(params![boot, number, content, start_ns, end_ns, hours, histograms_to_bytes(&cpus)])?;
    }
    let mut empty = db.prepare_cached("UPDATE event SET body = x'' WHERE stream = ?1 AND first = ?2")?;
    for (stream, first) in &hours {
        empty.execute([stream, first])?;
    }
    Ok(hours.len())
}
