//! When a node was stopped, or off: between what is known last and the next start of its agent.
//!
//! Within a boot it is the end that the agent announced; a start that nothing announced follows on a gap that the agent itself enters.
//! Between two boots it is what nothing was said of. Nothing is said of the time after the last that is known: that is the node's state.

use farm::monitor::{GapReason, MonitorEntry};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::fault::Fault;
use super::history::relations;
use crate::batch::Kind;
use crate::placing::Relations;
use crate::{GapSpan, GapWhy};

/// What is known of a boot, in its own time (ns, CLOCK_BOOTTIME).
struct Known {
    boot: i64,
    relations: Relations,
    /// When the agent started, in ascending order.
    begins: Vec<i64>,
    /// When it announced its end, and why.
    ends: Vec<(i64, GapReason)>,
    /// The last moment of which anything is known.
    last_ns: i64,
}

/// The gaps between the starts of a node's agent, by its boots.
pub(super) fn between(db: &Connection, boots: &[i64]) -> Result<Vec<GapSpan>, Fault> {
    let mut all = Vec::new();
    for boot in boots {
        all.extend(known(db, *boot)?);
    }
    let mut gaps = Vec::new();
    for of in &all {
        for (end_ns, why) in &of.ends {
            // Measured on after its end was announced, it did not end.
            let Some(begin_ns) = of.begins.iter().find(|begin_ns| *begin_ns >= end_ns) else { continue };
            let Some((start, end)) = of.relations.place(*end_ns).zip(of.relations.place(*begin_ns)) else { continue };
            gaps.extend(gap(start.utc_ns, end.utc_ns, GapWhy::Said(why.clone())));
        }
    }
    let mut placed: Vec<(i64, i64, &Known)> = Vec::new();
    for of in &all {
        let first_ns = of.begins.first().and_then(|first_ns| of.relations.place(*first_ns));
        if let Some((first, last)) = first_ns.zip(of.relations.place(of.last_ns)) {
            placed.push((first.utc_ns, last.utc_ns, of));
        }
    }
    placed.sort_by_key(|(first_utc_ns, _, of)| (*first_utc_ns, of.boot));
    // A copy of a machine runs beside it: what one of them does is no gap of the other one.
    let mut until_utc_ns = i64::MIN;
    for pair in placed.windows(2) {
        let [(_, last_utc_ns, of), (next_utc_ns, _, next)] = pair else { continue };
        until_utc_ns = until_utc_ns.max(*last_utc_ns);
        if until_utc_ns > *last_utc_ns {
            continue;
        }
        // A boot that has no place in time may have been between these.
        let is_between = |boot: i64| boot > of.boot.min(next.boot) && boot < of.boot.max(next.boot);
        let may_lack_a_boot =
            boots.iter().any(|boot| is_between(*boot) && !placed.iter().any(|(.., of)| of.boot == *boot));
        let said = of.ends.iter().find(|(end_ns, _)| *end_ns >= of.last_ns).map(|(_, why)| why.clone());
        let why = match said {
            Some(why) => GapWhy::Said(why),
            None if may_lack_a_boot || ends_with_a_loss(db, of.boot)? => GapWhy::Unknown,
            None => GapWhy::NoWord,
        };
        gaps.extend(gap(*last_utc_ns, *next_utc_ns, why));
    }
    Ok(gaps)
}

/// A gap of all CPUs; `None` where it would have no length.
fn gap(start_utc_ns: i64, end_utc_ns: i64, why: GapWhy) -> Option<GapSpan> {
    let length_ns = u64::try_from(end_utc_ns.saturating_sub(start_utc_ns)).ok().filter(|ns| *ns > 0)?;
    Some(GapSpan { start_utc_ns, length_ns, why, cpus: Vec::new() })
}

/// What is known of a boot; `None` where no start of an agent is.
fn known(db: &Connection, boot: i64) -> Result<Option<Known>, Fault> {
    let mut find = db.prepare_cached(
        "SELECT kind, start_ns, length_ns, body FROM event WHERE boot = ?1 AND kind IN (6, 7, 8) ORDER BY kind, start_ns",
    )?;
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    let mut last_ns = i64::MIN;
    let mut rows = find.query([boot])?;
    while let Some(row) = rows.next()? {
        let (start_ns, length_ns): (i64, i64) = (row.get(1)?, row.get(2)?);
        last_ns = last_ns.max(start_ns.saturating_add(length_ns));
        match Kind::from_number(row.get(0)?) {
            Some(Kind::Begin) => begins.push(start_ns),
            Some(Kind::End) => {
                let body = row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?;
                if let MonitorEntry::End { why, .. } = serde_json::from_slice(body)? {
                    ends.push((start_ns, why));
                }
            }
            _ => {}
        }
    }
    if begins.is_empty() {
        return Ok(None);
    }
    for sql in [
        "SELECT MAX(end_ns) FROM pack WHERE boot = ?1",
        "SELECT MAX(start_ns + length_ns) FROM piece WHERE kind = 3 AND boot = ?1",
    ] {
        let end_ns: Option<i64> = db.prepare_cached(sql)?.query_row([boot], |row| row.get(0))?;
        last_ns = last_ns.max(end_ns.unwrap_or(i64::MIN));
    }
    Ok(Some(Known { boot, relations: relations(db, boot)?, begins, ends, last_ns }))
}

/// Whether a stream of the boot ends with something that was lost, which may have said why.
fn ends_with_a_loss(db: &Connection, boot: i64) -> Result<bool, Fault> {
    let mut find = db.prepare_cached("SELECT DISTINCT stream FROM event WHERE boot = ?1")?;
    let streams: Vec<i64> = find.query_map([boot], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut find = db.prepare_cached("SELECT kind FROM piece WHERE stream = ?1 ORDER BY first DESC LIMIT 1")?;
    for stream in streams {
        let kind: Option<u8> = find.query_row(params![stream], |row| row.get(0)).optional()?;
        if matches!(kind.and_then(Kind::from_number), Some(Kind::Damaged | Kind::Removed)) {
            return Ok(true);
        }
    }
    Ok(false)
}
