//! Batches are taken.

use farm::stream::{
    Base, Common, Held as _, Item, NodeKey, Place as ChainPlace, StreamId, Taken, common as common_places, may_branch,
    take,
};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::fault::Fault;
use super::held::{Stream, short, shortened};
use crate::cast::{WithSign, WithoutSign};
use crate::{Arriving, BatchError, Committed, Quotas};

/// A day (ns).
const DAY_NS: i64 = 86_400 * 1_000_000_000;

/// Why a batch is not taken: all is well with the store, or not.
enum NotTaken {
    Refused(BatchError),
    Fault(Fault),
}

impl<F: Into<Fault>> From<F> for NotTaken {
    fn from(fault: F) -> Self {
        Self::Fault(fault.into())
    }
}

/// Takes batches; nothing of a refused one stays.
pub(super) fn take_batches(
    db: &Connection,
    arriving: &[Arriving],
    quotas: &Quotas,
) -> Result<Vec<Result<Committed, BatchError>>, Fault> {
    let one = |arriving| {
        db.prepare_cached("SAVEPOINT batch")?.execute([])?;
        let taken = take_batch(db, arriving, quotas);
        let (answer, stays) = match taken {
            Ok((committed, stays)) => (Ok(committed), stays),
            Err(NotTaken::Refused(refused)) => (Err(refused), false),
            Err(NotTaken::Fault(fault)) => return Err(fault),
        };
        if !stays {
            db.prepare_cached("ROLLBACK TO batch")?.execute([])?;
        }
        db.prepare_cached("RELEASE batch")?.execute([])?;
        Ok(answer)
    };
    arriving.iter().map(one).collect()
}

/// A node's row, as far as it matters here.
struct Sender {
    id: i64,
    day: i64,
    streams: u64,
    entries: u64,
    bytes: u64,
}

impl Sender {
    fn find(db: &Connection, arriving: &Arriving) -> Result<Self, NotTaken> {
        let mut find = db.prepare_cached(
            "SELECT id, revoked_wall_ns, quota_day, quota_streams, quota_entries, quota_bytes FROM node WHERE key = ?1",
        )?;
        let row = find.query_row([arriving.node.0], |row| {
            let count = |column: usize| row.get::<_, i64>(column).map(WithoutSign::without_sign);
            let sender =
                Self { id: row.get(0)?, day: row.get(2)?, streams: count(3)?, entries: count(4)?, bytes: count(5)? };
            Ok((sender, row.get::<_, Option<i64>>(1)?.is_some()))
        });
        let (sender, is_revoked) = row.optional()?.ok_or(NotTaken::Refused(BatchError::NotEnrolled))?;
        if is_revoked {
            return Err(NotTaken::Refused(BatchError::Revoked));
        }
        let day = arriving.received_wall_ns.div_euclid(DAY_NS);
        Ok(if sender.day == day { sender } else { Self { day, streams: 0, entries: 0, bytes: 0, ..sender } })
    }

    fn count(&mut self, arriving: &Arriving, is_new: bool, quotas: &Quotas) -> Result<(), NotTaken> {
        self.streams = self.streams.saturating_add(u64::from(is_new));
        self.entries = self.entries.saturating_add(u64::try_from(arriving.batch.items.len()).unwrap_or(u64::MAX));
        self.bytes = self.bytes.saturating_add(arriving.batch.bytes);
        let all = [
            ("streams", self.streams, quotas.streams),
            ("entries", self.entries, quotas.entries),
            ("bytes", self.bytes, quotas.bytes),
        ];
        match all.into_iter().find(|(_, found, most)| found > most) {
            Some((what, found, most)) => Err(NotTaken::Refused(BatchError::Quota { what, found, most })),
            None => Ok(()),
        }
    }

    fn keep(&self, db: &Connection, arriving: &Arriving) -> Result<(), Fault> {
        let mut keep = db.prepare_cached(
            "UPDATE node SET seen_wall_ns = max(coalesce(seen_wall_ns, ?2), ?2), version = ?3, changed = changed + 1,
                 quota_day = ?4, quota_streams = ?5, quota_entries = ?6, quota_bytes = ?7
             WHERE id = ?1",
        )?;
        keep.execute(params![
            self.id,
            arriving.received_wall_ns,
            arriving.batch.version,
            self.day,
            self.streams.with_sign(),
            self.entries.with_sign(),
            self.bytes.with_sign(),
        ])?;
        Ok(())
    }
}

/// What became of a batch, and whether anything of it stays.
fn take_batch(db: &Connection, arriving: &Arriving, quotas: &Quotas) -> Result<(Committed, bool), NotTaken> {
    let batch = &arriving.batch;
    let too_large = batch.items.iter().map(|item| item.span.last()).find(|last| i64::try_from(*last).is_err());
    if let Some(found) = too_large {
        return Err(NotTaken::Refused(BatchError::Sequence { found }));
    }
    let mut sender = Sender::find(db, arriving)?;
    let held = Stream::find(db, sender.id, batch.stream)?;
    let is_new = held.is_none();
    sender.count(arriving, is_new, quotas)?;
    let mut held = match held {
        Some(held) => held,
        None => match begin(db, arriving, sender.id)? {
            Some(held) => held,
            // Nothing that it parts from is held: the node goes on in the stream itself.
            None => {
                let Base { sequence, place, .. } = batch.base;
                return Ok((Committed { taken: Taken::NotConnected, sequence, hash: place, lacks: Vec::new() }, false));
            }
        },
    };
    if held.base() != (batch.base.sequence, shortened(short(batch.base.place))) {
        return Err(NotTaken::Refused(BatchError::Base));
    }
    // Places are compared as they are kept.
    let item = |item: &Item<_>| Item {
        span: item.span,
        before: shortened(short(item.before)),
        after: shortened(short(item.after)),
        within: item.within.iter().map(|place| shortened(short(*place))).collect(),
        body: item.body.clone(),
    };
    let taken = take(&mut held, batch.items.iter().map(item))?;
    let lacks = held.gone()?;
    let (sequence, hash) =
        held.finish(&batch.items, (batch.sent.as_ref(), arriving.received_wall_ns, arriving.round_trip_ns))?;
    // Nothing is kept of a stream that does not fit from its beginning.
    let stays = taken == Taken::All || !is_new || sequence > batch.base.sequence;
    if stays {
        sender.keep(db, arriving)?;
    }
    Ok((Committed { taken, sequence, hash, lacks }, stays))
}

/// A stream of which nothing is held yet; `None` where it is a branch of which the store does not hold another history.
fn begin<'a>(db: &'a Connection, arriving: &Arriving, node: i64) -> Result<Option<Stream<'a>>, NotTaken> {
    let batch = &arriving.batch;
    if !batch.base.fits(&arriving.node, batch.stream, &batch.first_place.unwrap_or(batch.base.place)) {
        return if batch.first_place.is_some() || batch.base.branch_of.is_none() {
            Err(NotTaken::Refused(BatchError::Base))
        } else {
            Ok(None)
        };
    }
    if let Some(of) = batch.base.branch_of {
        let Some(next) = batch.first_place else { return Ok(None) };
        let Some(of) = Stream::find(db, node, of)? else { return Ok(None) };
        if !may_branch(&of, &batch.base, &shortened(short(next)))? {
            return Ok(None);
        }
    }
    Ok(Some(Stream::begin(db, node, batch.stream, &batch.base)?))
}

/// What a node's places of a stream and the store have in common.
pub(super) fn common(
    db: &Connection,
    node: NodeKey,
    stream: StreamId,
    places: &[(u64, ChainPlace)],
) -> Result<Common, Fault> {
    let of = ChainPlace::of_places(places);
    let nothing = Common { sequence: 0, end: 0, of };
    let mut find = db.prepare_cached("SELECT id FROM node WHERE key = ?1")?;
    let Some(id) = find.query_row([node.0], |row| row.get(0)).optional()? else { return Ok(nothing) };
    let Some(held) = Stream::find(db, id, stream)? else { return Ok(nothing) };
    let kept: Vec<(u64, ChainPlace)> = places
        .iter()
        .filter(|(sequence, _)| i64::try_from(*sequence).is_ok())
        .map(|(sequence, place)| (*sequence, shortened(short(*place))))
        .collect();
    // The question is named by its places as they were asked.
    Ok(Common { of, ..common_places(&held, &kept)? })
}
