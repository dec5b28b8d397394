//! What a node keeps of its streams, on a disk: segments that are only appended to, one flush an interval.
//!
//! A folder `g0000000N` has a generation of segments: what they say in their order is what is kept. Where that takes half of the room,
//! what is kept is written anew, merged as far as it has to be, as the next generation; the folder gets its name when it is whole, and
//! the one before it goes. So both fit into the room, and a kill at any moment leaves one of them.

mod kept;
mod load;
pub mod segment;
#[cfg(test)]
mod tests;
mod writing;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use farm::monitor::{BatchBody, MonitorEntry, RawEntry};
use farm::stream::{
    Acknowledgments, Base, Body, Common, Entry as _, GoneReason, Item, KEEP_ACKNOWLEDGED_S, KeptStream, Mark, Marked,
    NodeKey, Place, Span, Spool, StreamId,
};

use self::kept::{Kept, Shelf, Text, segment_path, with_text};
use self::segment::{EarlierLine, ItemLine, Line};
use self::writing::{GENERATION, Segment, generation_path, newest_generation};

/// Damaged segments that are set aside, at most.
const MOST_ASIDE: usize = 4;

/// How much is kept, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolLimits {
    /// Room on the disk (bytes).
    pub bytes: u64,
    /// What was acknowledged stays so long after that (s of the agent's running time), for a hub that is restored from a backup.
    pub keep_acknowledged_s: u64,
}

impl SpoolLimits {
    /// Of so much room, with seven days for what was acknowledged.
    #[must_use]
    pub const fn of_bytes(bytes: u64) -> Self {
        Self { bytes, keep_acknowledged_s: KEEP_ACKNOWLEDGED_S }
    }

    /// A segment ends at this length (bytes).
    const fn segment_bytes(self) -> u64 {
        self.bytes / 16
    }
}

/// What a start found of earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Where damaged segments were set aside to; the sequences that stood in their damaged lines are gone.
    pub set_aside: Vec<PathBuf>,
    /// Bytes that no flush had finished, and that were never sent.
    pub cut_bytes: u64,
}

/// What the disk refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep what was measured in {}: {error}", path.display())]
pub struct SpoolError {
    /// The spool's folder.
    pub path: PathBuf,
    /// The kernel's reason.
    pub error: io::Error,
}

fn batch_body(stream: StreamId, base: Base, items: Vec<Item<RawEntry>>) -> BatchBody {
    BatchBody { stream, base, items, version: env!("CARGO_PKG_VERSION").to_owned(), sent: None }
}

/// A line that is not on the disk yet.
enum Unwritten {
    Item { stream: StreamId, item: Item<Kept> },
    Line(Line),
}

/// What a node keeps of its streams.
pub struct DiskSpool {
    folder: PathBuf,
    node: NodeKey,
    limits: SpoolLimits,
    spool: Spool<Kept>,
    generation: u64,
    shelf: Arc<Shelf>,
    writing: Option<Segment>,
    last_segment: u32,
    total_bytes: u64,
    /// How many of them there were when all was written anew: where nothing can be merged, that is not done with each flush.
    rewritten_bytes: u64,
    unwritten: Vec<Unwritten>,
    current: Option<StreamId>,
    began: Instant,
    age_before_s: u64,
    acknowledged: Acknowledgments,
}

impl std::fmt::Debug for DiskSpool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiskSpool").field("folder", &self.folder).field("node", &self.node).finish_non_exhaustive()
    }
}

impl DiskSpool {
    /// Opens what is kept in a folder, which is made where it is missing.
    ///
    /// # Errors
    /// Where the disk refuses.
    pub fn open(folder: &Path, node: NodeKey, limits: SpoolLimits) -> Result<(Self, Found), SpoolError> {
        let failed = |error| SpoolError { path: folder.to_owned(), error };
        fs::create_dir_all(folder).map_err(failed)?;
        let generation = newest_generation(folder).map_err(failed)?;
        let own = generation_path(folder, generation);
        fs::create_dir_all(&own).map_err(failed)?;
        let shelf = Shelf::new(own.clone());
        let loaded = load::load(&own, &node, &shelf).map_err(failed)?;
        let mut spool = Self {
            folder: folder.to_owned(),
            node,
            limits,
            spool: Spool::restore(node, loaded.epoch, loaded.streams),
            generation,
            shelf,
            writing: None,
            last_segment: loaded.last_segment,
            total_bytes: loaded.total_bytes,
            rewritten_bytes: 0,
            unwritten: Vec::new(),
            current: None,
            began: Instant::now(),
            age_before_s: loaded.age_s,
            acknowledged: Acknowledgments::restore(loaded.acknowledged),
        };
        let mut found = Found { cut_bytes: loaded.cut_bytes, ..Found::default() };
        if !loaded.damaged.is_empty() {
            found.set_aside = spool.set_aside(&loaded.damaged).map_err(failed)?;
            spool.rewrite()?;
        }
        Ok((spool, found))
    }

    /// Begins a stream, which entries are written to from now on. Its number was drawn at random just now.
    pub fn begin(&mut self, stream: StreamId) {
        self.spool.begin(stream);
        self.current = Some(stream);
        self.note_stream(stream);
    }

    /// Writes an entry to the stream that was begun last: its sequence, once [`flush`](Self::flush) has brought it to the disk. `None`
    /// before the first stream, or for an entry that is not allowed.
    pub fn append(&mut self, entry: &MonitorEntry) -> Option<u64> {
        let begun = self.current?;
        let raw = RawEntry::new(entry).ok()?;
        let bytes = raw.bytes();
        let kept = Kept::new(&raw.clone(), Text::Held(raw), self.age_s(), &self.shelf)?;
        let (_, before) = self.spool.state(begun)?.end;
        let (stream, sequence) = self.spool.append(kept.clone())?;
        if stream != begun {
            // Another history goes on in the stream: this is the first entry of its branch.
            self.current = Some(stream);
            self.note_stream(stream);
        }
        let (span, after) = (Span::one(sequence), before.then(&bytes));
        let item = Item { span, before, after, within: Vec::new(), body: Body::Full(kept) };
        self.unwritten.push(Unwritten::Item { stream, item });
        Some(sequence)
    }

    /// Brings what was appended to the disk, and makes room where that is short. What the disk refuses is kept in memory, and tried
    /// again with the next flush.
    ///
    /// # Errors
    /// Where it refuses.
    pub fn flush(&mut self) -> Result<(), SpoolError> {
        if !self.unwritten.is_empty() {
            self.write_unwritten()?;
            self.sync()?;
        }
        let has_grown = self.total_bytes > self.rewritten_bytes + self.limits.segment_bytes();
        if self.total_bytes > self.limits.bytes / 2 && has_grown {
            self.remove_old();
            self.make_room();
            self.rewrite()?;
        }
        Ok(())
    }

    /// What is sent next: at most so many entries of about so many bytes, at least one. Only what is on the disk is sent.
    ///
    /// # Errors
    /// Where what is damaged cannot be set aside.
    pub fn batch(&mut self, most_items: usize, most_bytes: usize) -> Result<Option<BatchBody>, SpoolError> {
        loop {
            let Some(batch) = self.spool.batch(most_items) else { return Ok(None) };
            let (mut items, mut bytes, mut is_damaged) = (Vec::new(), 0, false);
            for Item { span, before, after, within, body } in batch.items {
                if body.full().is_some_and(|kept| !kept.is_written()) {
                    break;
                }
                let Some(body) = with_text(&body) else {
                    is_damaged = true;
                    break;
                };
                bytes += body.full().map_or(0, |raw| raw.0.get().len()) + 300;
                if bytes > most_bytes && !items.is_empty() {
                    break;
                }
                items.push(Item { span, before, after, within, body });
            }
            if is_damaged && items.is_empty() {
                // It was whole when it was written: now its sequences are gone, and said to be.
                self.rewrite()?;
                continue;
            }
            return Ok((!items.is_empty()).then(|| batch_body(batch.stream, batch.base, items)));
        }
    }

    /// What is asked where nothing is to be sent, [`Spool::question`].
    #[must_use]
    pub fn question(&self, turn: usize) -> Option<BatchBody> {
        self.spool.question(turn).map(|question| batch_body(question.stream, question.base, Vec::new()))
    }

    /// Takes what a hub says of a stream, whose signature was looked at.
    ///
    /// # Errors
    /// Where the disk refuses to keep it; it is known in memory all the same.
    pub fn take_mark(&mut self, mark: &Mark) -> Result<Marked, SpoolError> {
        let epoch = self.spool.epoch();
        let marked = self.spool.take_mark(mark);
        if epoch != self.spool.epoch() {
            self.acknowledged.forget();
        }
        let is_news = self.note_acknowledged(mark.stream);
        match marked {
            Marked::OldHub | Marked::Unknown => {}
            Marked::Committed | Marked::Diverged if epoch == self.spool.epoch() => {
                self.note_stream(mark.stream);
                if is_news {
                    self.unwritten.push(Unwritten::Line(self.acknowledged_line()));
                }
                self.write_unwritten()?;
            }
            _ => self.rewrite()?,
        }
        Ok(marked)
    }

    /// Takes notice of the life of the hub in which this node was enrolled: marks of an earlier one are refused from the first on.
    ///
    /// # Errors
    /// Where the disk refuses to keep it; it is known in memory all the same.
    pub fn know_epoch(&mut self, epoch: u64) -> Result<(), SpoolError> {
        if epoch <= self.spool.epoch() {
            return Ok(());
        }
        self.spool.know_epoch(epoch);
        self.acknowledged.forget();
        self.rewrite()
    }

    /// Whether something is known that was not.
    fn note_acknowledged(&mut self, stream: StreamId) -> bool {
        let Some((_, marked)) = self.spool.marks().find(|(of, _)| *of == stream) else { return false };
        self.acknowledged.take(stream, marked, self.age_s(), self.limits.keep_acknowledged_s)
    }

    fn acknowledged_line(&self) -> Line {
        Line::Acknowledged(self.acknowledged.known().to_vec())
    }

    /// A stream that has diverged, with all places in its chain.
    #[must_use]
    pub fn diverged(&self) -> Option<(StreamId, Vec<(u64, Place)>)> {
        let stream = self.spool.diverged().next()?;
        Some((stream, self.spool.places(stream)))
    }

    /// The hub has a stream up to `common` and goes on otherwise: what is here after that goes on in a stream of its own.
    ///
    /// # Errors
    /// Where the disk refuses.
    pub fn divert(&mut self, stream: StreamId, found: &Common, epoch: u64) -> Result<Option<StreamId>, SpoolError> {
        // What is damaged has to be known as such: the chain goes on over the texts.
        self.rewrite()?;
        let new = self.spool.divert(stream, found, epoch);
        if self.current == Some(stream) && new.is_some() {
            self.current = new;
        }
        self.rewrite()?;
        Ok(new)
    }

    /// Where each stream ends that is kept, from the oldest on: its last sequence, and the place in the chain after it.
    pub fn ends(&self) -> impl Iterator<Item = (StreamId, (u64, Place))> {
        self.spool.marks().filter_map(|(stream, _)| Some((stream, self.spool.state(stream)?.end)))
    }

    /// How many entries are kept, and how many of them wait for the hub.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        let marks: Vec<(StreamId, u64)> = self.spool.marks().collect();
        let is_acknowledged = |stream, last| marks.iter().any(|(of, marked)| *of == stream && last <= *marked);
        self.spool.items().fold((0, 0), |(all, waiting), (stream, item)| {
            (all + 1, waiting + u64::from(!is_acknowledged(stream, item.span.last())))
        })
    }

    /// The stream that is written, and the last sequence of it that is acknowledged.
    #[must_use]
    pub fn current(&self) -> Option<(StreamId, u64)> {
        let stream = self.current?;
        self.spool.marks().find(|(of, _)| *of == stream)
    }

    /// The latest life of the hub that was seen.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.spool.epoch()
    }

    /// Whether an interval of a boot that began then (ns, CLOCK_BOOTTIME) is among what is kept.
    #[must_use]
    pub fn has_interval(&self, boot: &farm::monitor::BootId, start_ns: i64) -> bool {
        let is_it = |kept: &Kept| {
            kept.interval_start_ns() == Some(start_ns)
                && kept.raw().and_then(|raw| raw.entry().ok()).is_some_and(
                    |entry| matches!(entry, MonitorEntry::Interval(interval) if interval.times.boot == *boot),
                )
        };
        self.spool.items().any(|(_, item)| item.body.full().is_some_and(is_it))
    }

    /// How long the agent has run, all starts together (s).
    fn age_s(&self) -> u64 {
        self.age_before_s.saturating_add(self.began.elapsed().as_secs())
    }

    fn note_stream(&mut self, stream: StreamId) {
        if let Some(state) = self.spool.state(stream) {
            self.unwritten.push(Unwritten::Line(Line::Stream(state)));
        }
    }

    /// Removes what was acknowledged long ago.
    fn remove_old(&mut self) {
        let through = self.acknowledged.long_ago(self.age_s(), self.limits.keep_acknowledged_s);
        through.into_iter().for_each(|(stream, last)| self.spool.remove(stream, last));
        let kept: Vec<StreamId> = self.spool.marks().map(|(stream, _)| stream).collect();
        self.acknowledged.retain(|stream| kept.contains(&stream));
    }

    fn kept_bytes(&self) -> u64 {
        /// A line without a text.
        const EMPTY: u64 = 320;
        units::total(self.spool.items().map(|(_, item)| item.body.full().map_or(EMPTY, Kept::bytes_on_disk)))
    }

    /// Merges until what is kept takes three eighths of the room, or nothing can be merged.
    fn make_room(&mut self) {
        while self.kept_bytes() > self.limits.bytes / 8 * 3 {
            // Several at once: to look at all of them takes a while.
            if !(0..64).all(|_| self.spool.make_room()) {
                return;
            }
        }
    }

    fn write_unwritten(&mut self) -> Result<(), SpoolError> {
        while let Some(first) = self.unwritten.first() {
            let line = match first {
                Unwritten::Line(line) => line.clone(),
                Unwritten::Item { stream, item } => match item_line(*stream, item) {
                    Some(line) => line,
                    None => {
                        self.unwritten.remove(0);
                        continue;
                    }
                },
            };
            let (segment, offset, length) = self.write(&line)?;
            if let Unwritten::Item { item, .. } = self.unwritten.remove(0) {
                if let Body::Full(kept) = item.body {
                    kept.is_at(Text::OnDisk { segment, offset, length });
                }
            }
        }
        Ok(())
    }

    /// Writes a line: the segment, where it begins, and how long it is.
    fn write(&mut self, line: &Line) -> Result<(u32, u64, u32), SpoolError> {
        let folder = generation_path(&self.folder, self.generation);
        if self.writing.as_ref().is_some_and(|segment| segment.bytes >= self.limits.segment_bytes()) {
            self.sync()?;
            self.writing = None;
        }
        let failed = |error| SpoolError { path: folder.clone(), error };
        let mut segment = match self.writing.take() {
            Some(segment) => segment,
            None => {
                let heads: Vec<Line> = self.heads().collect();
                let segment = Segment::create(&folder, self.last_segment + 1, &heads).map_err(failed)?;
                self.last_segment = segment.number;
                self.total_bytes += segment.bytes;
                segment
            }
        };
        let written = segment.write(line);
        let number = segment.number;
        self.writing = Some(segment);
        let (offset, length) = written.map_err(failed)?;
        self.total_bytes += u64::from(length);
        Ok((number, offset, length))
    }

    fn sync(&self) -> Result<(), SpoolError> {
        let failed = |error| SpoolError { path: self.folder.clone(), error };
        self.writing.as_ref().map_or(Ok(()), |segment| segment.file.sync_data().map_err(failed))
    }

    /// What stands at the head of each segment: how far each stream is.
    fn heads(&self) -> impl Iterator<Item = Line> {
        let streams = self.spool.marks().filter_map(|(stream, _)| self.spool.state(stream).map(Line::Stream));
        let acknowledged = Some(self.acknowledged_line()).filter(|_| !self.acknowledged.known().is_empty());
        std::iter::once(Line::Epoch(self.spool.epoch())).chain(streams).chain(acknowledged)
    }

    /// Writes all that is kept anew; what cannot be read is gone from then on.
    fn rewrite(&mut self) -> Result<(), SpoolError> {
        let next = self.generation + 1;
        let (part, path) =
            (self.folder.join(format!("{GENERATION}{next:08}.part")), generation_path(&self.folder, next));
        let written = self.write_generation(&part);
        let failed = |error| SpoolError { path: self.folder.clone(), error };
        let renamed = written.and_then(|written| {
            fs::rename(&part, &path)?;
            kernel::whole_file::sync_folder(&path)?;
            Ok(written)
        });
        let Generation { streams, places, last, total_bytes } = match renamed {
            Ok(written) => written,
            Err(error) => {
                // It may not exist.
                let _ = fs::remove_dir_all(&part);
                return Err(failed(error));
            }
        };
        self.shelf.move_to(path);
        for (kept, place) in places {
            kept.is_at(place);
        }
        let old = generation_path(&self.folder, self.generation);
        self.spool = Spool::restore(self.node, self.spool.epoch(), streams);
        (self.generation, self.last_segment, self.total_bytes, self.writing) = (next, last, total_bytes, None);
        self.rewritten_bytes = total_bytes;
        self.unwritten.clear();
        // A next start removes what cannot be removed now.
        let _ = fs::remove_dir_all(old);
        Ok(())
    }

    fn write_generation(&self, part: &Path) -> io::Result<Generation> {
        // One that was cut short.
        let _ = fs::remove_dir_all(part);
        fs::create_dir(part)?;
        let mut streams: Vec<KeptStream<Kept>> = self.spool.kept().collect();
        let heads: Vec<Line> = self.heads().collect();
        let mut segment = Segment::create(part, 1, &heads)?;
        let (mut places, mut total_bytes) = (Vec::new(), 0);
        for KeptStream { state, earlier, split, .. } in &streams {
            if !earlier.is_empty() {
                segment.write(&Line::Earlier(EarlierLine { stream: state.id, places: earlier.clone() }))?;
            }
            let Some((split, Line::Item(line))) =
                split.as_ref().and_then(|split| Some((split, item_line(state.id, split)?)))
            else {
                continue;
            };
            let (offset, length) = segment.write(&Line::Split(line))?;
            if let Body::Full(kept) = &split.body {
                places.push((kept.clone(), Text::OnDisk { segment: segment.number, offset, length }));
            }
        }
        for stream in &mut streams {
            for item in &mut stream.items {
                let line = item_line(stream.state.id, item).or_else(|| {
                    item.body = Body::Gone(GoneReason::Damaged);
                    item_line(stream.state.id, item)
                });
                let Some(line) = line else { continue };
                if segment.bytes >= self.limits.segment_bytes() {
                    segment.file.sync_data()?;
                    total_bytes += segment.bytes;
                    segment = Segment::create(part, segment.number + 1, &heads)?;
                }
                let (offset, length) = segment.write(&line)?;
                if let Body::Full(kept) = &item.body {
                    places.push((kept.clone(), Text::OnDisk { segment: segment.number, offset, length }));
                }
            }
        }
        segment.file.sync_data()?;
        kernel::whole_file::sync_folder(&segment_path(part, segment.number))?;
        Ok(Generation { streams, places, last: segment.number, total_bytes: total_bytes + segment.bytes })
    }

    /// Copies damaged segments to a place of their own, before what is whole is written anew.
    fn set_aside(&self, damaged: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
        let folder = self.folder.join("damaged");
        fs::create_dir_all(&folder)?;
        let mut aside = Vec::new();
        for path in damaged.iter().take(MOST_ASIDE) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let to = folder.join(format!("{GENERATION}{:08}-{name}", self.generation));
            // Its whole lines are read from where it is until they are written anew.
            fs::copy(path, &to)?;
            aside.push(to);
        }
        let mut all: Vec<PathBuf> = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        all.sort();
        let too_many = all.len().saturating_sub(MOST_ASIDE);
        for path in all.iter().take(too_many) {
            fs::remove_file(path)?;
        }
        Ok(aside)
    }
}

/// What was written as a generation.
struct Generation {
    streams: Vec<KeptStream<Kept>>,
    places: Vec<(Kept, Text)>,
    last: u32,
    total_bytes: u64,
}

fn item_line(stream: StreamId, item: &Item<Kept>) -> Option<Line> {
    let Item { span, before, after, within, body } = item;
    let age_s = body.full().map_or(0, |kept| kept.age_s);
    let body = with_text(body)?;
    Some(Line::Item(ItemLine {
        stream,
        age_s,
        item: Item { span: *span, before: *before, after: *after, within: within.clone(), body },
    }))
}
