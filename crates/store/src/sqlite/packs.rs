//! Packs: pieces that follow on each other in one row, their intervals each written by its difference to the one before.

use farm::stream::{Says, Span};
use rusqlite::{Connection, params};

use super::fault::Fault;
use super::held::{COLUMNS, Piece, insert_loose, number, span};
use crate::batch::Kind;
use crate::coding::{
    PackedHead, Row, heads_from_bytes, heads_to_bytes, numbers_to_bytes, rows_from_bytes, rows_to_bytes,
};

/// The most pieces of a pack: two days. Of fewer more is lost at the ends of pages; of more a reader of few has to read many.
const MOST: usize = 576;
/// The last pieces of a stream that stay as they are: a day, which the page of all nodes shows.
const LEFT_LOOSE: i64 = 288;
/// A stream is packed when it has so many pieces that are not.
pub(super) const WORTH_PACKING: i64 = 576 + LEFT_LOOSE;

/// A pack as it stands.
struct Pack {
    id: i64,
    first: u64,
    heads: Vec<PackedHead>,
    boot: Option<i64>,
    content: Option<i64>,
    rows: Vec<u8>,
}

impl Pack {
    /// Its pieces, without what they say.
    fn pieces(&self) -> Result<Vec<Piece>, Fault> {
        let mut first = self.first;
        let piece = |head: &PackedHead| {
            let last = first.checked_add(head.count - 1);
            let span = last.and_then(|last| Span::new(first, last)).ok_or(Fault::Damaged("a pack has no such span"))?;
            first = span.last().saturating_add(1);
            let kind = Kind::from_number(head.kind).ok_or(Fault::Damaged("a kind of piece is unknown"))?;
            Ok(Piece { within: head.within.clone(), ..Piece::bare(span, head.after, kind) })
        };
        self.heads.iter().map(piece).collect()
    }
}

fn over(db: &Connection, stream: i64, over: Span) -> Result<Vec<Pack>, Fault> {
    let mut find = db.prepare_cached(
        "SELECT id, first, last, heads, boot, content, rows FROM pack WHERE stream = ?1 AND first <= ?2 ORDER BY first DESC",
    )?;
    let mut rows = find.query(params![stream, number(over.last())])?;
    let mut packs = Vec::new();
    while let Some(row) = rows.next()? {
        let whole = span(row.get(1)?, row.get(2)?)?;
        if !whole.overlaps(over) {
            break;
        }
        packs.push(Pack {
            id: row.get(0)?,
            first: whole.first(),
            heads: heads_from_bytes(row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?)?,
            boot: row.get(4)?,
            content: row.get(5)?,
            rows: row.get(6)?,
        });
    }
    Ok(packs)
}

/// The packed pieces that have a sequence in common with a span.
pub(super) fn heads(db: &Connection, stream: i64, span: Span) -> Result<Vec<Piece>, Fault> {
    let mut found = Vec::new();
    for pack in over(db, stream, span)? {
        found.extend(pack.pieces()?.into_iter().filter(|piece| piece.span.overlaps(span)));
    }
    Ok(found)
}

/// Takes the packs apart that have a sequence in common with a span; how many pieces are loose since.
pub(super) fn take_apart(db: &Connection, stream: i64, span: Span) -> Result<i64, Fault> {
    let mut loose = 0;
    for pack in over(db, stream, span)? {
        let mut rows = rows_from_bytes(&pack.rows)?.into_iter();
        for plain in pack.pieces()? {
            let piece = if plain.kind == Kind::Interval {
                let row = rows.next().ok_or(Fault::Damaged("a pack lacks an interval"))?;
                Piece {
                    boot: pack.boot,
                    content: pack.content,
                    start_ns: row.start_ns,
                    length_ns: row.length_ns,
                    worst_ns: row.worst().map(|(_, figures)| figures.maximum_ns),
                    body: rows_to_bytes(std::slice::from_ref(&row)),
                    ..plain
                }
            } else {
                plain
            };
            insert_loose(db, stream, &piece)?;
            loose += 1;
        }
        db.prepare_cached("DELETE FROM pack WHERE id = ?1")?.execute([pack.id])?;
    }
    Ok(loose)
}

/// Packs what may be packed of a stream; how many pieces.
pub(super) fn pack(db: &Connection, stream: i64) -> Result<usize, Fault> {
    let loose: i64 =
        db.prepare_cached("SELECT count(*) FROM piece WHERE stream = ?1")?.query_row([stream], |row| row.get(0))?;
    let mut pieces = Vec::new();
    {
        let sql = format!("SELECT {COLUMNS} FROM piece WHERE stream = ?1 ORDER BY first LIMIT ?2");
        let mut find = db.prepare_cached(&sql)?;
        let mut rows = find.query(params![stream, (loose - LEFT_LOOSE).max(0)])?;
        while let Some(row) = rows.next()? {
            pieces.push(Piece::read(row)?);
        }
    }
    let mut packed = 0;
    let mut left = &pieces[..];
    while !left.is_empty() {
        let (run, rest) = left.split_at(run_length(left));
        put_pack(db, stream, run)?;
        packed += run.len();
        left = rest;
    }
    let mut update = db.prepare_cached("UPDATE stream SET loose = ?2 WHERE id = ?1")?;
    update.execute(params![stream, loose - i64::try_from(packed).unwrap_or(0)])?;
    Ok(packed)
}

/// How many pieces from the first on follow on each other, with intervals of one boot and one condition.
fn run_length(pieces: &[Piece]) -> usize {
    let mut of = None;
    let mut next = pieces.first().map_or(1, |piece| piece.span.first());
    let goes_on = |piece: &&Piece| {
        // What is gone stays loose: a mark names it.
        let is_next = piece.span.first() == next && piece.kind.says() > Says::Gone;
        next = piece.span.last().saturating_add(1);
        let is_same = piece.kind != Kind::Interval
            || *of.get_or_insert((piece.boot, piece.content)) == (piece.boot, piece.content);
        is_next && is_same
    };
    pieces.iter().take(MOST).take_while(goes_on).count().max(1)
}

fn put_pack(db: &Connection, stream: i64, run: &[Piece]) -> Result<(), Fault> {
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(()) };
    let mut rows: Vec<Row> = Vec::new();
    let mut heads = Vec::new();
    let (mut boot, mut content) = (None, None);
    for piece in run {
        let (count, within) = (piece.span.count(), piece.within.clone());
        heads.push(PackedHead { count, after: piece.after, within, kind: piece.kind.number() });
        if piece.kind == Kind::Interval {
            rows.extend(rows_from_bytes(&piece.body)?);
            (boot, content) = (piece.boot, piece.content);
        }
    }
    let worsts: Vec<i64> = rows.iter().filter_map(|row| row.worst().map(|(_, figures)| figures.maximum_ns)).collect();
    let mut delete = db.prepare_cached("DELETE FROM piece WHERE stream = ?1 AND first BETWEEN ?2 AND ?3")?;
    delete.execute(params![stream, number(first.span.first()), number(last.span.first())])?;
    let mut add = db.prepare_cached(
        "INSERT INTO pack (stream, first, last, heads, boot, content, start_ns, end_ns, rows, worsts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    add.execute(params![
        stream,
        number(first.span.first()),
        number(last.span.last()),
        heads_to_bytes(&heads),
        boot,
        content,
        rows.iter().map(|row| row.start_ns).min().unwrap_or(0),
        rows.iter().map(Row::end_ns).max().unwrap_or(0),
        rows_to_bytes(&rows),
        numbers_to_bytes(&worsts),
    ])?;
    Ok(())
}
