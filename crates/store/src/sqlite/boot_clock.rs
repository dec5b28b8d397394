//! What is kept of where a boot's times lie in UTC.

use farm::monitor::WallTime;
use rusqlite::{Connection, OptionalExtension as _, Row as SqlRow, params};

use super::fault::Fault;
use crate::cast::{WithSign as _, WithoutSign as _};
use crate::placing::{ClockSpan, Relation, SPAN_NS};

/// What a node's own clock says, where something kept it right.
pub(super) fn own_relation(boot_ns: i64, wall: &WallTime) -> Option<Relation> {
    // A kernel that says that its clock is right says how far it may be off.
    let error_ns = wall.error_ns.filter(|_| wall.is_synchronized)?;
    Some(Relation { boot_ns, utc_ns: wall.ns, error_ns, is_own: true })
}

/// Keeps what is known of a boot's time, where it is better than what is kept of the same hours.
pub(super) fn keep_relation(db: &Connection, boot: i64, relation: &Relation) -> Result<(), Fault> {
    let span = relation.boot_ns.div_euclid(SPAN_NS);
    let key = params![boot, relation.is_own, span];
    let mut find = db.prepare_cached(
        "SELECT boot_ns, utc_ns, error_ns FROM relation WHERE boot = ?1 AND is_own = ?2 AND span = ?3",
    )?;
    let kept = find.query_row(key, |row| {
        let error_ns = row.get::<_, i64>(2)?.without_sign();
        Ok(Relation { boot_ns: row.get(0)?, utc_ns: row.get(1)?, error_ns, is_own: relation.is_own })
    });
    let kept = kept.optional()?;
    let best = kept.map_or(*relation, |kept| kept.better(*relation));
    if kept != Some(best) {
        let mut put = db.prepare_cached(
            "INSERT OR REPLACE INTO relation (boot, is_own, span, boot_ns, utc_ns, error_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        let error_ns = best.error_ns.with_sign();
        put.execute(params![boot, best.is_own, span, best.boot_ns, best.utc_ns, error_ns])?;
    }
    Ok(())
}

/// Keeps what a clock said in six hours of a boot, beside what is kept of it.
pub(super) fn keep_clock_span(db: &Connection, (boot, span): (i64, i64), said: ClockSpan) -> Result<(), Fault> {
    let mut find =
        db.prepare_cached("SELECT lowest_ns, highest_ns, is_broken FROM clock_span WHERE boot = ?1 AND span = ?2")?;
    let read =
        |row: &SqlRow<'_>| Ok(ClockSpan { lowest_ns: row.get(0)?, highest_ns: row.get(1)?, is_broken: row.get(2)? });
    let kept = find.query_row([boot, span], read).optional()?;
    let both = kept.map_or(said, |kept| kept.and(said));
    if kept != Some(both) {
        let mut put = db.prepare_cached(
            "INSERT OR REPLACE INTO clock_span (boot, span, lowest_ns, highest_ns, is_broken) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        put.execute(params![boot, span, both.lowest_ns, both.highest_ns, both.is_broken])?;
    }
    Ok(())
}
