//! What is held of one stream of a node, for [`farm::stream::take`].
//!
//! Shown pieces stand in `piece`, or packed in `pack`; a pack is taken apart before a piece of it is changed. Places in chains are kept,
//! and compared, by their first six bytes; that after the last piece is kept whole, since the hub signs it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use farm::monitor::{BootId, ContentKind, SentAt};
use farm::stream::{
    Base, Body, ContentHash, Head, Held, Item, MOST_LACKING, PLACE_BYTES, Place as ChainPlace, Span, StreamId,
};
use rusqlite::{Connection, OptionalExtension as _, Row as SqlRow, params};

use super::boot_clock::{keep_clock_span, keep_relation, own_relation};
use super::fault::Fault;
use super::packs;
use crate::batch::{KeptContent, KeptEntry, Kind};
use crate::cast::{WithSign, WithoutSign};
use crate::coding::SHORT_HASH_BYTES;
use crate::placing::{ClockSpan, Relation, SPAN_NS};

/// An hour of a boot (ns).
pub(super) const HOUR_NS: i64 = 3_600 * 1_000_000_000;

/// What is kept of a place in a chain.
pub(super) type ShortHash = [u8; SHORT_HASH_BYTES];

/// The beginning of a place.
pub(super) fn short(hash: ChainPlace) -> ShortHash {
    let mut short = [0; SHORT_HASH_BYTES];
    short.copy_from_slice(&hash.0[..SHORT_HASH_BYTES]);
    short
}

/// A place of which the beginning alone is kept: what all are compared as.
pub(super) fn shortened(short: ShortHash) -> ChainPlace {
    let mut hash = [0; PLACE_BYTES];
    hash[..SHORT_HASH_BYTES].copy_from_slice(&short);
    ChainPlace(hash)
}

/// A piece as it stands in `piece`, or with the place before it in `aside`.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) span: Span,
    pub(super) after: ShortHash,
    /// Places within it, where several sequences were merged.
    pub(super) within: Vec<ShortHash>,
    pub(super) kind: Kind,
    pub(super) boot: Option<i64>,
    pub(super) content: Option<i64>,
    pub(super) start_ns: i64,
    pub(super) length_ns: u64,
    pub(super) worst_ns: Option<i64>,
    pub(super) body: Vec<u8>,
}

/// Its columns in both tables, as [`Piece::read`] takes them.
pub(super) const COLUMNS: &str = "first, last, after, kind, boot, content, start_ns, length_ns, worst_ns, body";

impl Piece {
    /// One that says nothing itself.
    pub(super) const fn bare(span: Span, after: ShortHash, kind: Kind) -> Self {
        let (boot, content, worst_ns) = (None, None, None);
        let within = Vec::new();
        Self { span, after, within, kind, boot, content, start_ns: 0, length_ns: 0, worst_ns, body: Vec::new() }
    }

    /// Its places as the store has them.
    fn places(&self) -> Vec<u8> {
        places_to_bytes(&self.within, self.after)
    }

    /// Of a row with [`COLUMNS`].
    pub(super) fn read(row: &SqlRow<'_>) -> Result<Self, Fault> {
        let (within, after) = places_from_bytes(row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?)?;
        Ok(Self {
            span: span(row.get(0)?, row.get(1)?)?,
            after,
            within,
            kind: Kind::from_number(row.get(3)?).ok_or(Fault::Damaged("a kind of piece is unknown"))?,
            boot: row.get(4)?,
            content: row.get(5)?,
            start_ns: row.get(6)?,
            length_ns: row.get::<_, i64>(7)?.without_sign(),
            worst_ns: row.get(8)?,
            body: row.get(9)?,
        })
    }
}

/// Places within a piece and the one after it, as the store has them: one after the other.
pub(super) fn places_to_bytes(within: &[ShortHash], after: ShortHash) -> Vec<u8> {
    within.iter().chain([&after]).flatten().copied().collect()
}

/// Places within a piece, and the one after it.
pub(super) fn places_from_bytes(bytes: &[u8]) -> Result<(Vec<ShortHash>, ShortHash), Fault> {
    let damaged = || Fault::Damaged("the places of a piece");
    let place = |place: &[u8]| place.try_into().map_err(|_| damaged());
    let mut within: Vec<ShortHash> = bytes.chunks(SHORT_HASH_BYTES).map(place).collect::<Result<_, Fault>>()?;
    let after = within.pop().ok_or_else(damaged)?;
    Ok((within, after))
}

/// A span as the store has it.
pub(super) fn span(first: i64, last: i64) -> Result<Span, Fault> {
    Span::new(first.without_sign(), last.without_sign())
        .ok_or(Fault::Damaged("a stretch of a stream ends before it begins"))
}

/// A sequence as the store has it: those of batches are below 2^63.
pub(super) fn number(sequence: u64) -> i64 {
    sequence.with_sign()
}

/// What is held of one stream.
pub(super) struct Stream<'a> {
    db: &'a Connection,
    node: i64,
    id: i64,
    base: (u64, ChainPlace),
    end: (u64, ChainPlace),
    /// The whole place after the end.
    end_hash: ChainPlace,
    boots: HashMap<BootId, i64>,
    contents: HashMap<ContentHash, i64>,
    stale: BTreeSet<(i64, i64)>,
    relations: BTreeMap<(i64, i64), Relation>,
    clock_spans: BTreeMap<(i64, i64), ClockSpan>,
    loose: i64,
}

impl<'a> Stream<'a> {
    /// The stream of a node, where something of it is held.
    pub(super) fn find(db: &'a Connection, node: i64, id: StreamId) -> Result<Option<Self>, Fault> {
        let mut find = db.prepare_cached(
            "SELECT id, last, after, loose, base_sequence, base_place FROM stream WHERE node = ?1 AND start = ?2 AND random = ?3",
        )?;
        let row = find.query_row(params![node, id.start.with_sign(), id.random.with_sign()], |row| {
            let base = (row.get::<_, i64>(4)?.without_sign(), ChainPlace(row.get(5)?));
            let end = (row.get::<_, i64>(1)?.without_sign(), ChainPlace(row.get(2)?));
            Ok(Self::new(db, (node, row.get(0)?), base, end, row.get(3)?))
        });
        Ok(row.optional()?)
    }

    /// A stream of which nothing is held.
    pub(super) fn begin(db: &'a Connection, node: i64, id: StreamId, base: &Base) -> Result<Self, Fault> {
        let mut add = db.prepare_cached(
            "INSERT INTO stream (node, start, random, base_sequence, base_place, last, after, seen_wall_ns)
             VALUES (?1, ?2, ?3, ?4, ?5, ?4, ?5, 0)",
        )?;
        add.execute(params![node, id.start.with_sign(), id.random.with_sign(), number(base.sequence), base.place.0])?;
        let begin = (base.sequence, base.place);
        Ok(Self::new(db, (node, db.last_insert_rowid()), begin, begin, 0))
    }

    fn new(
        db: &'a Connection,
        (node, id): (i64, i64),
        base: (u64, ChainPlace),
        end: (u64, ChainPlace),
        loose: i64,
    ) -> Self {
        Self {
            db,
            node,
            id,
            base: (base.0, shortened(short(base.1))),
            end: (end.0, shortened(short(end.1))),
            end_hash: end.1,
            boots: HashMap::new(),
            contents: HashMap::new(),
            stale: BTreeSet::new(),
            relations: BTreeMap::new(),
            clock_spans: BTreeMap::new(),
            loose,
        }
    }

    /// Where it begins, as places are compared here.
    pub(super) const fn base(&self) -> (u64, ChainPlace) {
        self.base
    }

    /// Writes down what was noted while a batch was taken; the end by then, with its whole place.
    pub(super) fn finish(
        mut self,
        items: &[Item<KeptEntry>],
        (sent, received_wall_ns, round_trip_ns): (Option<&SentAt>, i64, u64),
    ) -> Result<(u64, ChainPlace), Fault> {
        let is_end =
            |item: &&Item<KeptEntry>| item.span.last() == self.end.0 && shortened(short(item.after)) == self.end.1;
        if let Some(item) = items.iter().find(is_end) {
            self.end_hash = item.after;
        }
        if shortened(short(self.end_hash)) != self.end.1 {
            return Err(Fault::Damaged("the end of a stream is none of its places"));
        }
        let mut update = self.db.prepare_cached(
            "UPDATE stream SET last = ?2, after = ?3, seen_wall_ns = max(seen_wall_ns, ?4), loose = ?5 WHERE id = ?1",
        )?;
        update.execute(params![self.id, number(self.end.0), self.end_hash.0, received_wall_ns, self.loose])?;
        // Of the boot in which it was sent alone: how long entries of earlier ones have waited nobody knows.
        if let Some(sent) = sent {
            let boot = self.boot(&sent.boot)?;
            let error_ns = round_trip_ns;
            let receipt = Relation { boot_ns: sent.at_ns, utc_ns: received_wall_ns, error_ns, is_own: false };
            keep_relation(self.db, boot, &receipt)?;
        }
        for ((boot, _), relation) in &self.relations {
            keep_relation(self.db, *boot, relation)?;
        }
        for ((boot, span), said) in &self.clock_spans {
            keep_clock_span(self.db, (*boot, *span), *said)?;
        }
        let mut stale = self.db.prepare_cached("INSERT OR IGNORE INTO stale (boot, number) VALUES (?1, ?2)")?;
        for (boot, hour) in &self.stale {
            stale.execute([boot, hour])?;
        }
        Ok((self.end.0, self.end_hash))
    }

    fn boot(&mut self, name: &BootId) -> Result<i64, Fault> {
        if let Some(id) = self.boots.get(name) {
            return Ok(*id);
        }
        let mut find = self.db.prepare_cached("SELECT id FROM boot WHERE node = ?1 AND name = ?2")?;
        let id = match find.query_row(params![self.node, name.0], |row| row.get(0)).optional()? {
            Some(id) => id,
            None => {
                let mut add = self.db.prepare_cached("INSERT INTO boot (node, name) VALUES (?1, ?2)")?;
                add.execute(params![self.node, name.0])?;
                self.db.last_insert_rowid()
            }
        };
        self.boots.insert(name.clone(), id);
        Ok(id)
    }

    fn content(&mut self, hash: ContentHash, is_content: Option<&KeptContent>) -> Result<i64, Fault> {
        if let Some(id) = self.contents.get(&hash).filter(|_| is_content.is_none()) {
            return Ok(*id);
        }
        let mut name = self.db.prepare_cached("INSERT OR IGNORE INTO content (hash) VALUES (?1)")?;
        name.execute([hash.0])?;
        if let Some(content) = is_content {
            let mut fill = self.db.prepare_cached(
                "UPDATE content SET kind = ?2, compressed = ?3 WHERE hash = ?1 AND compressed IS NULL",
            )?;
            fill.execute(params![hash.0, number_of_content(content.kind), content.compressed])?;
        }
        let mut find = self.db.prepare_cached("SELECT id FROM content WHERE hash = ?1")?;
        let id = find.query_row([hash.0], |row| row.get(0))?;
        self.contents.insert(hash, id);
        Ok(id)
    }

    /// A piece of an item, with what it names.
    fn piece(&mut self, item: Item<KeptEntry>) -> Result<Piece, Fault> {
        let within: Vec<ShortHash> = item.within.iter().copied().map(short).collect();
        let entry = match item.body {
            Body::Full(entry) => entry,
            body => {
                let kind = match body {
                    Body::Gone(reason) => Kind::of_gone(reason),
                    Body::Full(_) | Body::Emptied => Kind::Emptied,
                };
                return Ok(Piece { within, ..Piece::bare(item.span, short(item.after), kind) });
            }
        };
        let boot = entry.boot.as_ref().map(|boot| self.boot(boot)).transpose()?;
        let content = match (&entry.content, entry.condition) {
            (Some(content), _) => Some(self.content(content.hash, Some(content))?),
            (None, Some(condition)) => Some(self.content(condition, None)?),
            (None, None) => None,
        };
        if let Some(boot) = boot {
            let key = (boot, entry.start_ns.div_euclid(SPAN_NS));
            let own = entry.wall.and_then(|wall| own_relation(entry.start_ns, &wall));
            if let Some(own) = own {
                self.relations.entry(key).and_modify(|kept| *kept = kept.better(own)).or_insert(own);
            }
            if entry.kind.tells_time() {
                let said = own.map_or(ClockSpan::broken(), |own| ClockSpan::right(own.offset_ns(), own.error_ns));
                self.clock_spans.entry(key).and_modify(|span| *span = span.and(said)).or_insert(said);
            }
        }
        Ok(Piece {
            span: item.span,
            after: short(item.after),
            within,
            kind: entry.kind,
            boot,
            content,
            start_ns: entry.start_ns,
            length_ns: entry.length_ns,
            worst_ns: entry.worst_ns,
            body: entry.body,
        })
    }

    /// The place after a sequence that is the last of a shown piece, or before the stream.
    fn place_after(&self, last: u64) -> Result<ChainPlace, Fault> {
        let Some(span) = Span::new(last, last).filter(|_| last > self.base.0) else { return Ok(self.base.1) };
        let mut find = self.db.prepare_cached(
            "SELECT after, last FROM piece WHERE stream = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1",
        )?;
        let mut rows = find.query(params![self.id, number(last)])?;
        let loose = match rows.next()? {
            Some(row) if row.get::<_, i64>(1)? == number(last) => {
                Some(places_from_bytes(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?)?.1)
            }
            _ => None,
        };
        let after = match loose {
            Some(after) => Some(after),
            None => packs::heads(self.db, self.id, span)?
                .pop()
                .filter(|piece| piece.span.last() == last)
                .map(|piece| piece.after),
        };
        after.map(shortened).ok_or(Fault::Damaged("a stream is not whole"))
    }

    fn mark_stale(&mut self, piece: &Piece) {
        if let (Kind::Interval, Some(boot)) = (piece.kind, piece.boot) {
            self.stale.insert((boot, piece.start_ns.div_euclid(HOUR_NS)));
        }
    }

    fn insert(&mut self, piece: &Piece) -> Result<(), Fault> {
        self.mark_stale(piece);
        self.loose += 1;
        if piece.span.last() >= self.end.0 {
            self.end = (piece.span.last(), shortened(piece.after));
        }
        insert_piece(self.db, self.id, piece)
    }

    fn delete(&mut self, span: Span) -> Result<Piece, Fault> {
        self.loose += packs::take_apart(self.db, self.id, span)?;
        let sql = format!("SELECT {COLUMNS} FROM piece WHERE stream = ?1 AND first = ?2");
        let mut find = self.db.prepare_cached(&sql)?;
        let mut rows = find.query(params![self.id, number(span.first())])?;
        let mut piece = Piece::read(rows.next()?.ok_or(Fault::Damaged("a piece is gone"))?)?;
        drop(rows);
        self.mark_stale(&piece);
        self.loose -= 1;
        let mut delete = self.db.prepare_cached("DELETE FROM piece WHERE stream = ?1 AND first = ?2")?;
        delete.execute(params![self.id, number(span.first())])?;
        if is_event(piece.kind) {
            let key = params![self.id, number(span.first())];
            let mut find = self.db.prepare_cached(
                "SELECT boot, content, start_ns, length_ns, body FROM event WHERE stream = ?1 AND first = ?2",
            )?;
            (piece.boot, piece.content, piece.start_ns, piece.length_ns, piece.body) = find.query_row(key, |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, i64>(3)?.without_sign(), row.get(4)?))
            })?;
            self.db.prepare_cached("DELETE FROM event WHERE stream = ?1 AND first = ?2")?.execute(key)?;
        }
        Ok(piece)
    }

    fn insert_aside(&mut self, before: ShortHash, piece: &Piece) -> Result<(), Fault> {
        let sql = format!(
            "INSERT INTO aside (stream, before, {COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
        );
        self.db.prepare_cached(&sql)?.execute(params![
            self.id,
            before,
            number(piece.span.first()),
            number(piece.span.last()),
            piece.places(),
            piece.kind.number(),
            piece.boot,
            piece.content,
            piece.start_ns,
            piece.length_ns.with_sign(),
            piece.worst_ns,
            piece.body,
        ])?;
        Ok(())
    }
}

/// Whether what a piece says stands in `event`.
pub(super) const fn is_event(kind: Kind) -> bool {
    matches!(kind, Kind::Histograms | Kind::Content | Kind::Gap | Kind::Begin | Kind::End | Kind::Unknown)
}

/// Writes a piece, and what it says where that stands elsewhere.
pub(super) fn insert_piece(db: &Connection, stream: i64, piece: &Piece) -> Result<(), Fault> {
    if !is_event(piece.kind) {
        return insert_loose(db, stream, piece);
    }
    let mut add = db.prepare_cached(
        "INSERT INTO event (stream, first, kind, boot, content, start_ns, length_ns, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    add.execute(params![
        stream,
        number(piece.span.first()),
        piece.kind.number(),
        piece.boot,
        piece.content,
        piece.start_ns,
        piece.length_ns.with_sign(),
        piece.body,
    ])?;
    let Piece { span, after, kind, .. } = *piece;
    insert_loose(db, stream, &Piece { within: piece.within.clone(), ..Piece::bare(span, after, kind) })
}

/// Writes a piece of which all that it says stands in the piece, or elsewhere already.
pub(super) fn insert_loose(db: &Connection, stream: i64, piece: &Piece) -> Result<(), Fault> {
    let sql = format!("INSERT INTO piece (stream, {COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
    db.prepare_cached(&sql)?.execute(params![
        stream,
        number(piece.span.first()),
        number(piece.span.last()),
        piece.places(),
        piece.kind.number(),
        piece.boot,
        piece.content,
        piece.start_ns,
        piece.length_ns.with_sign(),
        piece.worst_ns,
        piece.body,
    ])?;
    Ok(())
}

/// The number of a kind of content in the store.
pub(super) const fn number_of_content(kind: ContentKind) -> i64 {
    match kind {
        ContentKind::Condition => 1,
        ContentKind::Profile => 2,
        ContentKind::Explaining => 3,
    }
}

fn head_of(before: ChainPlace, piece: &Piece) -> Head {
    let within = piece.within.iter().copied().map(shortened).collect();
    Head { span: piece.span, before, after: shortened(piece.after), within, says: piece.kind.says() }
}

impl Held for Stream<'_> {
    type Entry = KeptEntry;
    type Error = Fault;

    fn end(&self) -> Result<(u64, ChainPlace), Fault> {
        Ok(self.end)
    }

    fn shown(&self, over: Span) -> Result<Vec<Head>, Fault> {
        let mut pieces = packs::heads(self.db, self.id, over)?;
        let mut find = self.db.prepare_cached(
            "SELECT first, last, after, kind FROM piece WHERE stream = ?1 AND first <= ?2 ORDER BY first DESC",
        )?;
        let mut rows = find.query(params![self.id, number(over.last())])?;
        while let Some(row) = rows.next()? {
            let span = span(row.get(0)?, row.get(1)?)?;
            if !span.overlaps(over) {
                break;
            }
            let kind = Kind::from_number(row.get(3)?).ok_or(Fault::Damaged("a kind of piece is unknown"))?;
            let (within, after) = places_from_bytes(row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?)?;
            pieces.push(Piece { within, ..Piece::bare(span, after, kind) });
        }
        pieces.sort_by_key(|piece| piece.span);
        let Some(first) = pieces.first() else { return Ok(Vec::new()) };
        let mut before = self.place_after(first.span.before())?;
        let mut heads = Vec::new();
        for piece in pieces {
            let head = head_of(before, &piece);
            before = head.after;
            heads.push(head);
        }
        Ok(heads)
    }

    fn aside(&self, within: Span) -> Result<Vec<Head>, Fault> {
        let mut find = self.db.prepare_cached(
            "SELECT first, last, before, after, kind FROM aside WHERE stream = ?1 AND first BETWEEN ?2 AND ?3 AND last <= ?3",
        )?;
        let mut rows = find.query(params![self.id, number(within.first()), number(within.last())])?;
        let mut heads = Vec::new();
        while let Some(row) = rows.next()? {
            let kind = Kind::from_number(row.get(4)?).ok_or(Fault::Damaged("a kind of piece is unknown"))?;
            let (within, after) = places_from_bytes(row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?)?;
            let piece = Piece { within, ..Piece::bare(span(row.get(0)?, row.get(1)?)?, after, kind) };
            heads.push(head_of(shortened(row.get(2)?), &piece));
        }
        Ok(heads)
    }

    fn show(&mut self, item: Item<KeptEntry>) -> Result<(), Fault> {
        let piece = self.piece(item)?;
        self.insert(&piece)
    }

    fn put_aside(&mut self, item: Item<KeptEntry>) -> Result<(), Fault> {
        let before = short(item.before);
        let piece = self.piece(item)?;
        self.insert_aside(before, &piece)
    }

    fn hide(&mut self, shown: &Head) -> Result<(), Fault> {
        let piece = self.delete(shown.span)?;
        if self.aside(shown.span)?.contains(shown) {
            return Ok(());
        }
        self.insert_aside(short(shown.before), &piece)
    }

    fn return_aside(&mut self, aside: &Head) -> Result<(), Fault> {
        let sql = format!(
            "SELECT {COLUMNS}, id FROM aside WHERE stream = ?1 AND first = ?2 AND last = ?3 AND before = ?4 AND after = ?5"
        );
        let mut find = self.db.prepare_cached(&sql)?;
        let (first, last) = (number(aside.span.first()), number(aside.span.last()));
        let within: Vec<ShortHash> = aside.within.iter().copied().map(short).collect();
        let places = places_to_bytes(&within, short(aside.after));
        let mut rows = find.query(params![self.id, first, last, short(aside.before), places])?;
        while let Some(row) = rows.next()? {
            let piece = Piece::read(row)?;
            if piece.kind.says() == aside.says {
                let id: i64 = row.get(10)?;
                drop(rows);
                self.db.prepare_cached("DELETE FROM aside WHERE id = ?1")?.execute([id])?;
                return self.insert(&piece);
            }
        }
        Err(Fault::Damaged("a piece that was aside is gone"))
    }

    fn gone(&self) -> Result<Vec<Span>, Fault> {
        let mut find = self.db.prepare_cached(
            "SELECT first, last FROM piece WHERE stream = ?1 AND kind IN (?2, ?3) ORDER BY first DESC LIMIT ?4",
        )?;
        let (damaged, removed) = (Kind::Damaged.number(), Kind::Removed.number());
        let most = i64::try_from(MOST_LACKING).unwrap_or(i64::MAX);
        let mut rows = find.query(params![self.id, damaged, removed, most])?;
        let mut spans = Vec::new();
        while let Some(row) = rows.next()? {
            spans.push(span(row.get(0)?, row.get(1)?)?);
        }
        Ok(spans)
    }

    fn cut(&mut self, shown: &Head, left: &[Head]) -> Result<(), Fault> {
        let piece = self.delete(shown.span)?;
        left.iter().try_for_each(|part| {
            let within = part.within.iter().copied().map(short).collect();
            self.insert(&Piece { span: part.span, after: short(part.after), within, ..piece.clone() })
        })
    }

    fn remove(&mut self, shown: &Head) -> Result<(), Fault> {
        self.delete(shown.span).map(|_| ())
    }
}
