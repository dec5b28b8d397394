//! A half of a run on its way to the other node while the run goes on, so that each node has both halves, whoever is killed.
//!
//! What a half has come to is told whenever some of its intervals have ended: the record so far, with these intervals. It goes over
//! the same network as the measured packets, so it goes in small pieces, one at a time, and the next telling waits until the
//! partner has heard the one before. What has a course over the whole run (the offset of the clocks, the arrivals, which orders were
//! carried out) is long, and is told as far as it is new.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use record::{Detail, FlowInterval, Fold, Record, RecordError, RunEvent, TrackPoint};
use serde::{Deserialize, Serialize};

/// Bytes of a half in one message: with what is around them about as long as a short packet, so that a measured one which meets it on
/// the way waits 60 us at 100 Mbit/s, and 6 us at 1 Gbit/s.
const PIECE_BYTES: usize = 480;
/// The most bytes of one telling, before they are unpacked.
const MOST_BYTES: usize = 16 << 20;
/// The most bytes of one telling once they are unpacked.
const MOST_UNPACKED_BYTES: u64 = 128 << 20;

/// Why what a partner told of its half cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ToldError {
    /// It is too long.
    #[error("it is longer than {MOST_BYTES} bytes, or than {MOST_UNPACKED_BYTES} unpacked")]
    Long,
    /// It is not packed as it should be.
    #[error("it cannot be unpacked: {0}")]
    Packing(String),
    /// It is not preceded by how much of what was told before still stands.
    #[error("it does not say what of that before it still stands")]
    Kept,
    /// It is no record.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// A piece of what is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Piece {
    /// Packed and encoded.
    pub text: String,
    /// Whether the telling is complete with it.
    pub is_last: bool,
}

/// What of a record has a course over the whole run: each list only grows at its end, save where neighbors are joined.
#[derive(Clone, Debug, Default, PartialEq)]
struct Courses {
    arrivals: Vec<Vec<FlowInterval>>,
    tracks: Vec<Vec<TrackPoint>>,
    /// The numbers of orders, as texts of which nearly nothing changes before their end; empty where there is none.
    numbers: Vec<Vec<u8>>,
}

/// The lists of a record that are courses, where they stand.
#[derive(Default)]
struct Lists<'a> {
    arrivals: Vec<&'a mut Vec<FlowInterval>>,
    tracks: Vec<&'a mut Vec<TrackPoint>>,
    numbers: Vec<&'a mut Option<String>>,
}

impl Courses {
    /// Takes them out of a record.
    fn take(record: &mut Record) -> Self {
        let Lists { arrivals, tracks, numbers } = lists(record);
        Self {
            arrivals: arrivals.into_iter().map(std::mem::take).collect(),
            tracks: tracks.into_iter().map(std::mem::take).collect(),
            numbers: numbers.into_iter().map(|text| text.take().unwrap_or_default().into_bytes()).collect(),
        }
    }

    /// Puts them back.
    fn put(self, record: &mut Record) {
        let Lists { arrivals, tracks, numbers } = lists(record);
        arrivals.into_iter().zip(self.arrivals).for_each(|(list, of)| *list = of);
        tracks.into_iter().zip(self.tracks).for_each(|(list, of)| *list = of);
        // What is no text any more is no set of numbers either, and is refused as that.
        let text = |of: Vec<u8>| (!of.is_empty()).then(|| String::from_utf8_lossy(&of).into_owned());
        numbers.into_iter().zip(self.numbers).for_each(|(list, of)| *list = text(of));
    }

    /// What is new in comparison with those before, and how many elements of each of those still stand.
    fn since(&self, before: &Self) -> (Self, Vec<usize>) {
        let (arrivals, kept_arrivals) = fresh(&self.arrivals, &before.arrivals);
        let (tracks, kept_tracks) = fresh(&self.tracks, &before.tracks);
        let (numbers, kept_numbers) = fresh(&self.numbers, &before.numbers);
        (Self { arrivals, tracks, numbers }, [kept_arrivals, kept_tracks, kept_numbers].concat())
    }

    /// Those before, as far as they still stand, and these after them.
    fn after(self, before: &Self, kept: &[usize]) -> Option<Self> {
        let (of_arrivals, others) = kept.split_at_checked(self.arrivals.len())?;
        let (of_tracks, of_numbers) = others.split_at_checked(self.tracks.len())?;
        Some(Self {
            arrivals: whole(self.arrivals, &before.arrivals, of_arrivals)?,
            tracks: whole(self.tracks, &before.tracks, of_tracks)?,
            numbers: whole(self.numbers, &before.numbers, of_numbers)?,
        })
    }
}

fn lists(record: &mut Record) -> Lists<'_> {
    let (run, nodes) = match &mut record.detail {
        Detail::Packet(run) => (run, &mut [][..]),
        Detail::Pulse(run) => (&mut run.packets, &mut run.nodes[..]),
        _ => return Lists::default(),
    };
    let clocks = run.clocks.iter_mut().map(|relation| &mut relation.track);
    let sources = run.services.iter_mut().flat_map(|node| &mut node.run.sources).map(|source| &mut source.track);
    Lists {
        arrivals: run.flows.iter_mut().map(|flow| &mut flow.over_time).collect(),
        tracks: clocks.chain(sources).collect(),
        numbers: nodes.iter_mut().flat_map(|node| [&mut node.kept, &mut node.too_late]).collect(),
    }
}

fn fresh<T: PartialEq + Clone>(now: &[Vec<T>], before: &[Vec<T>]) -> (Vec<Vec<T>>, Vec<usize>) {
    let of_list = |(at, list): (usize, &Vec<T>)| {
        let before = before.get(at).map_or(&[][..], Vec::as_slice);
        let kept = list.iter().zip(before).take_while(|(now, before)| now == before).count();
        (list[kept..].to_vec(), kept)
    };
    now.iter().enumerate().map(of_list).unzip()
}

fn whole<T: Clone>(fresh: Vec<Vec<T>>, before: &[Vec<T>], kept: &[usize]) -> Option<Vec<Vec<T>>> {
    if fresh.len() != kept.len() {
        return None;
    }
    let of_list = |(at, (list, kept)): (usize, (Vec<T>, &usize))| {
        let before = before.get(at).map_or(&[][..], Vec::as_slice);
        let mut whole = before.get(..*kept)?.to_vec();
        whole.extend(list);
        Some(whole)
    };
    fresh.into_iter().zip(kept).enumerate().map(of_list).collect()
}

/// Tells the partner of this node's half.
#[derive(Debug, Default)]
pub struct Teller {
    /// What was not begun to be told.
    waiting: Fold,
    /// What is being told, until its last piece is on its way.
    telling: Option<Record>,
    pieces: VecDeque<Piece>,
    /// The courses as they were told.
    courses: Courses,
    /// Whether the partner has not said yet that it heard the last telling.
    is_awaited: bool,
}

impl Teller {
    /// Takes the half so far, with the intervals that have ended since the last call.
    pub fn tell(&mut self, so_far: Record) {
        self.waiting.take(RunEvent::Intervals { record: Box::new(so_far) });
    }

    /// The partner has heard what was told last.
    pub fn was_heard(&mut self) {
        self.is_awaited = false;
    }

    /// The next piece, until it [went](Self::went); `None` where nothing is to be told now.
    pub fn piece(&mut self) -> Option<&Piece> {
        if self.pieces.is_empty() && !self.is_awaited {
            let record = std::mem::take(&mut self.waiting).into_record()?;
            self.pieces = self.pack(record.clone());
            self.telling = Some(record);
            self.is_awaited = true;
        }
        self.pieces.front()
    }

    /// The piece is on its way.
    pub fn went(&mut self) {
        if self.pieces.pop_front().is_some_and(|piece| piece.is_last) {
            self.telling = None;
        }
    }

    fn pack(&mut self, mut record: Record) -> VecDeque<Piece> {
        let courses = Courses::take(&mut record);
        let (fresh, kept) = courses.since(&self.courses);
        self.courses = courses;
        fresh.put(&mut record);
        let kept: Vec<String> = kept.iter().map(usize::to_string).collect();
        let packed = packed(&format!("{}\n{}", kept.join(" "), record.to_json()));
        let text = BASE64.encode(packed);
        let mut pieces: VecDeque<Piece> = VecDeque::new();
        let mut rest = &*text;
        while !rest.is_empty() {
            // Base64 has one byte a character.
            let (piece, others) = rest.split_at(rest.len().min(PIECE_BYTES));
            pieces.push_back(Piece { text: piece.to_owned(), is_last: others.is_empty() });
            rest = others;
        }
        pieces
    }

    /// This node's half at its end as the partner is to have it: with all intervals that were not told completely, and no others.
    #[must_use]
    pub fn rest(self, mut finished: Record) -> Record {
        finished.series.iter_mut().for_each(|series| series.intervals.clear());
        let mut fold = Fold::default();
        let left = self.telling.into_iter().chain(self.waiting.into_record()).chain([finished]);
        left.for_each(|record| fold.take(RunEvent::Intervals { record: Box::new(record) }));
        fold.into_record().unwrap_or_else(|| unreachable!("the last one was taken"))
    }
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    written.unwrap_or_else(|error| unreachable!("memory takes all that is written: {error}"))
}

/// Hears what the partner tells of its half.
#[derive(Debug, Default)]
pub struct Hearer {
    text: String,
    courses: Courses,
}

impl Hearer {
    /// Takes the next piece. With the last one of a telling it gives the partner's half so far, with the intervals that it told
    /// of.
    ///
    /// # Errors
    /// Where it cannot be read; what was told before stands.
    pub fn hear(&mut self, piece: &Piece) -> Result<Option<Record>, ToldError> {
        if self.text.len().saturating_add(piece.text.len()) > MOST_BYTES {
            self.text = String::new();
            return Err(ToldError::Long);
        }
        self.text.push_str(&piece.text);
        if !piece.is_last {
            return Ok(None);
        }
        let text = unpacked(&std::mem::take(&mut self.text))?;
        let (kept, record) = text.split_once('\n').ok_or(ToldError::Kept)?;
        let kept: Result<Vec<usize>, _> = kept.split_whitespace().map(str::parse).collect();
        let mut record = Record::from_json(record)?;
        let fresh = Courses::take(&mut record);
        let courses = fresh.after(&self.courses, &kept.map_err(|_| ToldError::Kept)?).ok_or(ToldError::Kept)?;
        self.courses.clone_from(&courses);
        courses.put(&mut record);
        Ok(Some(record))
    }
}

fn unpacked(text: &str) -> Result<String, ToldError> {
    let bytes = BASE64.decode(text).map_err(|error| ToldError::Packing(error.to_string()))?;
    let mut unpacked = String::new();
    let read = ZlibDecoder::new(&*bytes).take(MOST_UNPACKED_BYTES + 1).read_to_string(&mut unpacked);
    match read {
        Ok(read) if u64::try_from(read).unwrap_or(u64::MAX) > MOST_UNPACKED_BYTES => Err(ToldError::Long),
        Ok(_) => Ok(unpacked),
        Err(error) => Err(ToldError::Packing(error.to_string())),
    }
}

#[cfg(test)]
mod tests;
