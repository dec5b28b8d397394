//! What the page of all nodes shows of one of them.

use std::collections::BTreeMap;

use farm::monitor::{Cause, Figures, GapReason, MonitorEntry, SourceInterval};
use farm::stream::ContentHash;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

use super::fault::Fault;
use super::history::{relations, text_of};
use super::tiers::{Coarse, cells};
use crate::batch::Kind;
use crate::cast::WithoutSign as _;
use crate::coding::{Row, RowCpu, numbers_from_bytes, rows_from_bytes};
use crate::placing::Relations;
use crate::{Beyond, Maximum, Placed, PlacedBy};

/// Which form of summary this release keeps: another one's is computed again.
const FORM: u32 = 4;
/// Maxima in a row's sparkline.
const SPARKLINE: usize = 48;
/// Streams that are looked through for the latest intervals: a node may have restarted often.
const MOST_STREAMS: i64 = 64;
/// Boots that are looked through for the intervals of a day: the same.
const MOST_BOOTS: i64 = 64;
/// A day (ns).
pub(super) const DAY_NS: i64 = 86_400 * 1_000_000_000;

/// What a node's latest entry says of what it does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Latest {
    #[default]
    Begun,
    Measured {
        /// Codes of what spoiled a CPU wholly; absent where all CPUs have something that stands.
        spoiled: Option<Vec<String>>,
    },
    Gap(GapReason),
    End {
        why: GapReason,
        at: Option<KeptPlace>,
    },
}

/// A moment in UTC, as it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptPlace {
    utc_ns: i64,
    error_ns: u64,
    is_own: bool,
}

/// A largest latency, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptMaximum {
    maximum_ns: i64,
    cpu: u32,
    at: Option<KeptPlace>,
    cause: Option<Cause>,
}

/// An interval that was beyond its limit, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptBeyond {
    by_ns: u64,
    limit_ns: u64,
    maximum: KeptMaximum,
    is_latest: bool,
}

/// What is kept of a node for the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Summary {
    form: u32,
    pub(super) latest: Latest,
    pub(super) interval_ns: Option<u64>,
    pub(super) condition: Option<ContentHash>,
    pub(super) limit_ns: Option<u64>,
    pub(super) maximum: Option<KeptMaximum>,
    pub(super) measured_until: Option<KeptPlace>,
    pub(super) day: Option<KeptMaximum>,
    /// The furthest first, and behind it what was later and less far: what is told when the first is a day old.
    pub(super) beyond: Vec<KeptBeyond>,
    pub(super) ever: Option<KeptMaximum>,
    pub(super) maxima_ns: Vec<Option<i64>>,
    pub(super) half_hours_ns: Vec<Option<i64>>,
    pub(super) intervals: u64,
    pub(super) as_large: u64,
    pub(super) profile: Option<ContentHash>,
    pub(super) isolated: Vec<u32>,
    pub(super) sources: Vec<SourceInterval>,
    /// Whether it names a condition that has not come. One that comes by another node changes nothing of this one's own: such a summary
    /// is good for nobody who reads later.
    pub(super) lacks_condition: bool,
}

/// The part of a condition that is read here.
#[derive(Deserialize)]
struct Limit {
    #[serde(rename = "limit-ns", alias = "limit_ns")]
    limit_ns: Option<u64>,
}

/// An interval with what it was measured under.
struct Measured<'a> {
    boot: i64,
    content: i64,
    row: &'a Row,
}

impl From<Placed> for KeptPlace {
    fn from(at: Placed) -> Self {
        Self { utc_ns: at.utc_ns, error_ns: at.error_ns, is_own: at.by == PlacedBy::OwnClock }
    }
}

impl From<KeptPlace> for Placed {
    fn from(at: KeptPlace) -> Self {
        let by = if at.is_own { PlacedBy::OwnClock } else { PlacedBy::Receipt };
        Self { utc_ns: at.utc_ns, error_ns: at.error_ns, by }
    }
}

impl From<KeptMaximum> for Maximum {
    fn from(of: KeptMaximum) -> Self {
        Self { maximum_ns: of.maximum_ns, cpu: of.cpu, at: of.at.map(Into::into), cause: of.cause }
    }
}

impl From<KeptBeyond> for Beyond {
    fn from(of: KeptBeyond) -> Self {
        let KeptBeyond { by_ns, limit_ns, maximum, is_latest } = of;
        Self { by_ns, limit_ns, maximum: maximum.into(), is_latest }
    }
}

impl KeptBeyond {
    /// When its largest latency was, where it can be placed.
    pub(super) fn at(&self) -> Option<Placed> {
        self.maximum.at.map(Into::into)
    }
}

impl KeptMaximum {
    fn new(relations: &Relations, row: &Row, cpu: &RowCpu, figures: &Figures) -> Self {
        let at_ns = row.start_ns.saturating_add_unsigned(figures.maximum_at_ns);
        Self {
            maximum_ns: figures.maximum_ns,
            cpu: cpu.cpu,
            at: relations.place(at_ns).map(Into::into),
            cause: figures.cause.clone(),
        }
    }

    /// The largest latency that stands of a row.
    fn of(relations: &Relations, row: &Row) -> Option<Self> {
        row.worst().map(|(cpu, figures)| Self::new(relations, row, cpu, figures))
    }
}

impl Summary {
    /// Reads one that was kept; `None` where another release kept it.
    pub(super) fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str::<Self>(text).ok().filter(|summary| summary.form == FORM)
    }

    /// How one begins that is read.
    pub(super) fn begins() -> String {
        format!("{{\"form\":{FORM},")
    }

    pub(super) fn to_json(&self) -> Result<String, Fault> {
        Ok(serde_json::to_string(self)?)
    }
}

/// Computes what the page shows of a node.
pub(super) fn summary(db: &Connection, node: i64) -> Result<Summary, Fault> {
    let mut of = Summary { form: FORM, ..Summary::default() };
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
        let latest = Measured { boot, content: condition, row: &row };
        read_interval(db, node, &latest, &mut of)?;
        read_day(db, node, &latest, &mut of)?;
    }
    of.ever = ever(db, node)?;
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
                    let at = relations(db, row.get(3)?)?.place(at_ns).map(Into::into);
                    of.latest = Latest::End { why, at };
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
    let spoiled: Vec<&RowCpu> = row.cpus.iter().filter(|cpu| cpu.valid.is_none()).collect();
    if spoiled.is_empty() && !row.cpus.is_empty() {
        return Latest::Measured { spoiled: None };
    }
    let reasons: std::collections::BTreeSet<&String> = spoiled.iter().flat_map(|cpu| &cpu.reasons).collect();
    Latest::Measured { spoiled: Some(reasons.into_iter().cloned().collect()) }
}

/// A condition, as far as it matters here.
#[derive(Clone, Copy)]
struct Condition {
    hash: ContentHash,
    has_come: bool,
    /// One that has not come, or is no such document, has none.
    limit_ns: Option<u64>,
}

fn condition_of(db: &Connection, content: i64) -> Result<Condition, Fault> {
    let mut find = db.prepare_cached("SELECT hash, compressed FROM content WHERE id = ?1")?;
    let (hash, compressed): ([u8; 32], Option<Vec<u8>>) =
        find.query_row([content], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let text = compressed.map(|compressed| text_of(&compressed)).transpose()?;
    let has_come = text.is_some();
    let limit_ns = text.and_then(|text| serde_json::from_str::<Limit>(&text).ok()?.limit_ns);
    Ok(Condition { hash: ContentHash(hash), has_come, limit_ns })
}

/// The latest interval, and how unusual it is for the node.
fn read_interval(db: &Connection, node: i64, latest: &Measured<'_>, of: &mut Summary) -> Result<(), Fault> {
    let (row, condition) = (latest.row, latest.content);
    of.interval_ns = Some(row.length_ns);
    of.sources.clone_from(&row.sources);
    let named = condition_of(db, condition)?;
    (of.condition, of.limit_ns) = (Some(named.hash), named.limit_ns);
    of.lacks_condition |= !named.has_come;
    let relations = relations(db, latest.boot)?;
    of.measured_until = relations.place(row.end_ns()).map(Into::into);
    let Some((cpu, figures)) = row.worst() else { return Ok(()) };
    of.maximum = Some(KeptMaximum::new(&relations, row, cpu, figures));
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

/// The largest latency of the day that ends with the latest interval, and what of it was furthest beyond its limit. Of equal ones the
/// latest counts.
fn read_day(db: &Connection, node: i64, latest: &Measured<'_>, of: &mut Summary) -> Result<(), Fault> {
    let mut boots = db.prepare_cached("SELECT id FROM boot WHERE node = ?1 ORDER BY id DESC LIMIT ?2")?;
    let boots: Vec<i64> = boots.query_map(params![node, MOST_BOOTS], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut half_hours = HalfHours::default();
    let mut conditions = Conditions::default();
    for boot in boots {
        let relations = relations(db, boot)?;
        // Without an end: where the node's clock was set back, what it measured before lies later.
        let from_ns = match of.measured_until {
            Some(until) => {
                let since = relations.may_lie_in(until.utc_ns.saturating_sub(DAY_NS), i64::MAX);
                since.map(|(from_ns, _)| from_ns)
            }
            // Nothing is known of the time of other boots then.
            None => (boot == latest.boot).then(|| latest.row.end_ns().saturating_sub(DAY_NS)),
        };
        let Some(from_ns) = from_ns else { continue };
        each_worst(db, boot, from_ns, |one, row| {
            let before_end_ns = |boot_ns: i64| match of.measured_until {
                Some(until) => relations.place(boot_ns).map(|at| until.utc_ns.saturating_sub(at.utc_ns)),
                None => Some(latest.row.end_ns().saturating_sub(boot_ns)),
            };
            if let (Some(from_ns), Some(to_ns)) = (before_end_ns(one.start_ns), before_end_ns(one.end_ns)) {
                half_hours.add(from_ns, to_ns, one.worst_ns);
            }
            let named = conditions.of(db, one.content)?;
            of.lacks_condition |= !named.has_come;
            let beyond = named.limit_ns.and_then(|limit_ns| Some((limit_ns, beyond(one.worst_ns, limit_ns)?)));
            let is_largest = of.day.as_ref().is_none_or(|known| one.worst_ns >= known.maximum_ns);
            if beyond.is_none() && !is_largest {
                return Ok(());
            }
            // Only those that may be told are read whole.
            let Some(maximum) = KeptMaximum::of(&relations, &row()?) else { return Ok(()) };
            let moment = |of: &KeptMaximum| of.at.map(|at| at.utc_ns);
            if let Some((limit_ns, by_ns)) = beyond {
                let is_latest = boot == latest.boot && one.start_ns == latest.row.start_ns;
                of.beyond.push(KeptBeyond { by_ns, limit_ns, maximum: maximum.clone(), is_latest });
            }
            let key = |of: &KeptMaximum| (of.maximum_ns, moment(of));
            if of.day.as_ref().is_none_or(|known| key(&maximum) >= key(known)) {
                of.day = Some(maximum);
            }
            Ok(())
        })?;
    }
    of.half_hours_ns = half_hours.0.to_vec();
    let moment = |of: &KeptBeyond| of.maximum.at.map(|at| at.utc_ns);
    // As they were read where the times are unknown: the latest last.
    of.beyond.reverse();
    of.beyond.sort_by_key(|of| std::cmp::Reverse((of.by_ns, moment(of))));
    let mut latest = None;
    of.beyond.retain(|of| {
        let is_later = latest.is_none_or(|latest| moment(of) > latest);
        if is_later {
            latest = Some(moment(of));
        }
        is_later
    });
    Ok(())
}

/// Reads the whole of an interval.
type WholeRow<'a> = dyn Fn() -> Result<Row, Fault> + 'a;

/// What is known of an interval without reading it whole.
struct Worst {
    content: i64,
    start_ns: i64,
    end_ns: i64,
    worst_ns: i64,
}

/// Calls `take` with each interval of a boot that ends after a moment of it and has something that stands, by their time as far as
/// they are packed alike; with it comes what reads the whole of it.
fn each_worst(
    db: &Connection,
    boot: i64,
    from_ns: i64,
    mut take: impl FnMut(&Worst, &WholeRow<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut find =
        db.prepare_cached("SELECT content, rows FROM pack WHERE boot = ?1 AND end_ns > ?2 ORDER BY start_ns")?;
    let mut packs = find.query(params![boot, from_ns])?;
    while let Some(pack) = packs.next()? {
        let content = pack.get(0)?;
        let rows = rows_from_bytes(pack.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
        for row in rows.into_iter().filter(|row| row.end_ns() > from_ns) {
            let Some(worst_ns) = row.worst().map(|(_, figures)| figures.maximum_ns) else { continue };
            let (start_ns, end_ns) = (row.start_ns, row.end_ns());
            take(&Worst { content, start_ns, end_ns, worst_ns }, &|| Ok(row.clone()))?;
        }
    }
    let mut find = db.prepare_cached(
        "SELECT content, start_ns, length_ns, worst_ns, body FROM piece
         WHERE kind = 3 AND boot = ?1 AND start_ns + length_ns > ?2 AND worst_ns IS NOT NULL ORDER BY start_ns",
    )?;
    let mut pieces = find.query(params![boot, from_ns])?;
    while let Some(piece) = pieces.next()? {
        let start_ns: i64 = piece.get(1)?;
        let end_ns = start_ns.saturating_add_unsigned(piece.get::<_, i64>(2)?.without_sign());
        let body = piece.get_ref(4)?.as_blob().map_err(rusqlite::Error::from)?;
        let row = || rows_from_bytes(body)?.into_iter().next().ok_or(Fault::Damaged("an interval is empty"));
        take(&Worst { content: piece.get(0)?, start_ns, end_ns, worst_ns: piece.get(3)? }, &row)?;
    }
    Ok(())
}

/// Conditions, each read once.
#[derive(Default)]
struct Conditions(BTreeMap<i64, Condition>);

impl Conditions {
    fn of(&mut self, db: &Connection, content: i64) -> Result<Condition, Fault> {
        if let Some(condition) = self.0.get(&content) {
            return Ok(*condition);
        }
        let condition = condition_of(db, content)?;
        self.0.insert(content, condition);
        Ok(condition)
    }
}

/// By how much a latency is beyond a limit (ns), where it is.
fn beyond(maximum_ns: i64, limit_ns: u64) -> Option<u64> {
    let by_ns = maximum_ns.checked_sub(i64::try_from(limit_ns).ok()?)?;
    u64::try_from(by_ns).ok().filter(|by_ns| *by_ns > 0)
}

/// The largest latency of each half hour of a day (ns), the latest last.
struct HalfHours([Option<i64>; 48]);

impl Default for HalfHours {
    fn default() -> Self {
        Self([None; 48])
    }
}

impl HalfHours {
    /// A stretch that began so long before the day's end, and ended so long before it (ns).
    fn add(&mut self, from_ns: i64, to_ns: i64, maximum_ns: i64) {
        const HALF_HOUR_NS: i64 = 1_800 * 1_000_000_000;
        // What ends where a half hour begins is none of it.
        let first = self.0.len().saturating_sub(1).saturating_sub(number(from_ns.saturating_sub(1), HALF_HOUR_NS));
        let last = self.0.len().saturating_sub(1).saturating_sub(number(to_ns, HALF_HOUR_NS));
        for half_hour in self.0.iter_mut().take(last + 1).skip(first) {
            *half_hour = (*half_hour).max(Some(maximum_ns));
        }
    }
}

/// How many whole steps a time is long; none where it is below 0.
fn number(time_ns: i64, step_ns: i64) -> usize {
    usize::try_from(time_ns.max(0) / step_ns).unwrap_or(usize::MAX)
}

/// The largest latency of all time that stands.
fn ever(db: &Connection, node: i64) -> Result<Option<KeptMaximum>, Fault> {
    let mut rows: Vec<(i64, Row)> = Vec::new();
    {
        let mut days = db.prepare_cached(
            "SELECT boot, day FROM cell WHERE worst_ns IS NOT NULL AND boot IN (SELECT id FROM boot WHERE node = ?1)
             ORDER BY worst_ns DESC LIMIT 1",
        )?;
        let mut found = days.query([node])?;
        while let Some(row) = found.next()? {
            let boot = row.get(0)?;
            let day = rows_from_bytes(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
            rows.extend(day.into_iter().map(|row| (boot, row)));
        }
    }
    // What is not in a day yet.
    let mut stale =
        db.prepare_cached("SELECT boot, number FROM stale WHERE boot IN (SELECT id FROM boot WHERE node = ?1)")?;
    let mut found = stale.query([node])?;
    while let Some(row) = found.next()? {
        let (boot, hour): (i64, i64) = (row.get(0)?, row.get(1)?);
        let hours = cells(db, boot, Coarse::Hours, &(hour..hour.saturating_add(1)))?;
        rows.extend(hours.into_values().map(|row| (boot, row)));
    }
    let worst = |(_, row): &(i64, Row)| row.worst().map(|(_, figures)| figures.maximum_ns);
    let Some((boot, row)) = rows.into_iter().max_by_key(worst) else { return Ok(None) };
    Ok(KeptMaximum::of(&relations(db, boot)?, &row))
}
