//! The node's side: what it keeps of its streams, what it sends next, and what a hub's mark means to it.
//!
//! Nothing is removed before a hub has signed that it holds it, and what was acknowledged stays for days all the same, for a hub that is
//! restored from a backup. Bodies may be elsewhere: what stands here of each is small.

use std::collections::VecDeque;

use super::{Base, Body, Common, Entry, GoneReason, Item, NodeKey, Place, Says, Span, StreamId};

/// What a hub has signed: all of a stream up to there is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The stream.
    pub stream: StreamId,
    /// The last sequence that is committed; 0 for none.
    pub sequence: u64,
    /// The place in the chain after it.
    pub hash: Place,
    /// Which life of the hub says so: it is raised when a hub is restored from a backup, and never falls.
    pub epoch: u64,
    /// Stretches up to there of which it was told that they are gone, at most [`MOST_LACKING`](super::MOST_LACKING): a copy of the node
    /// may have them.
    pub lacks: Vec<Span>,
}

/// What a mark meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// It is of no stream that is kept.
    Unknown,
    /// It is of an earlier life of the hub: an old one has woken up. Nothing was changed.
    OldHub,
    /// All up to there is committed.
    Committed,
    /// The hub holds less than it has acknowledged, or a place that is no end of a piece here: it is sent again from there.
    SendAgain,
    /// The hub holds another history of this stream: [`Spool::places`] finds out from where on, and [`Spool::divert`] goes on.
    Diverged,
}

/// What a node sends of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch<B> {
    /// The stream.
    pub stream: StreamId,
    /// Where it begins.
    pub base: Base,
    /// What follows on each other, from the last mark on.
    pub items: Vec<Item<B>>,
}

impl<B> Batch<B> {
    /// The place after the first sequence of the stream, where the batch begins there.
    #[must_use]
    pub fn first_place(&self) -> Option<Place> {
        let first = self.items.first().filter(|item| item.span.before() == self.base.sequence)?;
        first.head().place(self.base.sequence + 1)
    }
}

/// One stream, as far as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stream<B> {
    pub(super) id: StreamId,
    pub(super) base: Base,
    /// What precedes the first item that is kept: its last sequence and the place after it.
    pub(super) removed: (u64, Place),
    /// Places before that, the latest [`MOST_PLACES`] of them, by which the end of what a restored hub has in common is found.
    pub(super) earlier: VecDeque<(u64, Place)>,
    pub(super) items: VecDeque<Item<B>>,
    /// The last sequence that a hub of this epoch has acknowledged.
    pub(super) marked: u64,
    /// Whether its hub's history was found to be another one, and it waits for the end of what they have in common.
    pub(super) has_diverged: bool,
    /// Whether that was found: what the hub has after the end of this one is another history's.
    pub(super) is_closed: bool,
    /// What was merged across the end of what they have in common; the branch has its later part.
    pub(super) split: Option<Item<B>>,
    /// Stretches of which the hub has been told that they are gone.
    pub(super) lacking: Vec<Span>,
    /// How often they are still offered.
    pub(super) offers: u8,
}

/// Places of a stream that are kept of what was removed: of two weeks of intervals of five minutes.
const MOST_PLACES: usize = 4_096;

/// How often a stretch is offered that a hub says to lack, in one life of it: messages are lost, and it may have no use for it.
const MOST_OFFERS: u8 = 32;

/// What a node keeps of its streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spool<B> {
    node: NodeKey,
    /// The latest life of the hub that was seen.
    pub(super) epoch: u64,
    /// From the oldest to the one that is written.
    pub(super) streams: Vec<Stream<B>>,
}

impl<B: Entry + Clone> Spool<B> {
    /// Without any stream.
    #[must_use]
    pub const fn new(node: NodeKey) -> Self {
        Self { node, epoch: 0, streams: Vec::new() }
    }

    /// Begins a stream, which entries are written to from now on. Its number was drawn at random just now.
    pub fn begin(&mut self, id: StreamId) {
        self.streams.push(Stream::new(id, Base::of_start(&self.node, id), VecDeque::new()));
    }

    /// Writes an entry to the stream that was begun last, or to its branch where another history goes on in it: the stream, and the
    /// entry's sequence; `None` before the first stream.
    pub fn append(&mut self, entry: B) -> Option<(StreamId, u64)> {
        let last = self.streams.last_mut()?;
        if last.is_closed {
            // Another history goes on in it.
            let (sequence, place) = last.end();
            let base = Base { sequence, place, branch_of: Some(last.id) };
            let branch = base.branch(&place.then(&entry.bytes()))?;
            self.streams.push(Stream::new(branch, base, VecDeque::new()));
        }
        self.streams.last_mut().map(|stream| (stream.id, stream.append(entry)))
    }

    /// What is sent next: of the oldest stream that has something, at most so many items.
    #[must_use]
    pub fn batch(&self, most: usize) -> Option<Batch<B>> {
        if let Some((stream, items)) = self.streams.iter().find_map(|stream| Some((stream, stream.lacking_items()?))) {
            return Some(stream.batch(items.take(most)));
        }
        let stream = self.streams.iter().find(|stream| !stream.has_diverged && stream.end().0 > stream.marked)?;
        Some(stream.batch(stream.items.iter().filter(|item| item.span.first() > stream.marked).take(most)))
    }

    /// What is asked where nothing is to be sent: the hub answers with its mark of a stream, by which it is seen when it was restored
    /// from a backup, or has lost what it acknowledged in another way. Each turn asks about another one of the streams of which
    /// something was acknowledged, from the latest on. `None` where there is none: nothing can be lost, and the hub would begin a stream
    /// that may never get an entry.
    #[must_use]
    pub fn question(&self, turn: usize) -> Option<Batch<B>> {
        let acknowledged = || self.streams.iter().rev().filter(|stream| stream.marked > stream.base.sequence);
        let at = turn.checked_rem(acknowledged().count())?;
        acknowledged().nth(at).map(|stream| stream.batch(std::iter::empty()))
    }

    /// The latest life of the hub that was seen.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Takes what a hub says of a stream, whose signature was looked at.
    pub fn take_mark(&mut self, mark: &Mark) -> Marked {
        if mark.epoch < self.epoch {
            return Marked::OldHub;
        }
        self.see_epoch(mark.epoch);
        self.stream_mut(mark.stream).map_or(Marked::Unknown, |stream| {
            stream.offers = stream.offers.saturating_sub(u8::from(!stream.lacking.is_empty()));
            stream.lacking.clone_from(&mark.lacks);
            stream.take_mark(mark.sequence, mark.hash)
        })
    }

    /// All places in the chain of a stream that has diverged, for the hub to find the last one that it has too.
    #[must_use]
    pub fn places(&self, id: StreamId) -> Vec<(u64, Place)> {
        let Some(stream) = self.streams.iter().find(|stream| stream.id == id) else { return Vec::new() };
        let mut places: Vec<(u64, Place)> = stream.earlier.iter().copied().collect();
        places.push(stream.removed);
        for item in &stream.items {
            places.extend(item.head().places().skip(1));
        }
        places
    }

    /// Streams that wait for the end of what they and the hub have in common.
    pub fn diverged(&self) -> impl Iterator<Item = StreamId> {
        self.streams.iter().filter(|stream| stream.has_diverged).map(|stream| stream.id)
    }

    /// The hub of this epoch has this stream up to `found` and goes on otherwise: what is here after that goes on as a branch. Where
    /// another copy of this node does the same, it is the same branch. Nothing happens to a stream that does not wait for it, or where
    /// the answer is to another question than [`places`](Self::places) asks now: the node may have been set back since. Where the hub
    /// held nothing after `found` when it answered, it is sent again.
    pub fn divert(&mut self, id: StreamId, found: &Common, epoch: u64) -> Option<StreamId> {
        let at = self.streams.iter().position(|stream| stream.id == id && stream.has_diverged)?;
        if found.of != Place::of_places(&self.places(id)) {
            return None;
        }
        if epoch != self.epoch {
            // Of a later life nothing is known yet, and so not that it has another history.
            self.see_epoch(epoch);
            return None;
        }
        let stream = &mut self.streams[at];
        if found.end <= found.sequence {
            (stream.has_diverged, stream.marked) = (false, stream.removed.0);
            return None;
        }
        // Of what was removed so long ago that its places are gone nothing can be said any more.
        let oldest = stream.earlier.front().map_or(stream.removed.0, |(sequence, _)| *sequence);
        let common = found.sequence.max(oldest);
        let base = Base { sequence: common, place: stream.place(common)?, branch_of: Some(id) };
        let next = stream.place(common + 1);
        stream.restore_removed_after(common);
        let kept = stream.items.iter().take_while(|item| item.span.last() <= common).count();
        let mut after = stream.items.split_off(kept);
        (stream.has_diverged, stream.is_closed) = (false, true);
        // The hub is asked once more for it, since it may have been told that something of it is gone.
        stream.marked = stream.removed.0;
        if let Some(first) = after.front_mut().filter(|first| first.span.first() <= common) {
            stream.split = Some(first.clone());
            first.begin_after(common, base.place);
        }
        let branch = base.branch(&next?)?;
        if self.streams.iter().all(|stream| stream.id != branch) {
            self.streams.insert(at + 1, Stream::new(branch, base, after));
        }
        Some(branch)
    }

    /// Takes notice of a life of the hub that is known by something else than a mark: a node was enrolled in it. An earlier one is
    /// refused from now on.
    pub fn know_epoch(&mut self, epoch: u64) {
        self.see_epoch(epoch);
    }

    /// Takes notice of a later life of the hub: nothing is known yet of what it holds. Branches are one with their streams again, since
    /// the history that they part from may be gone with the earlier life, and a copy of this node may go on in the stream itself.
    fn see_epoch(&mut self, epoch: u64) {
        if epoch <= self.epoch {
            return;
        }
        self.epoch = epoch;
        for at in (0..self.streams.len()).rev() {
            let Some(of) = self.streams[at].base.branch_of else { continue };
            if self.streams.iter().any(|stream| stream.id == of) {
                let branch = self.streams.remove(at);
                if let Some(stream) = self.stream_mut(of) {
                    stream.rejoin(branch);
                }
            }
        }
        for stream in &mut self.streams {
            (stream.marked, stream.offers, stream.has_diverged) = (stream.removed.0, MOST_OFFERS, false);
        }
    }

    /// Makes some room without losing a worst case: the oldest entry that says nothing of one is emptied, or else two neighbors
    /// become one. Returns whether it made any.
    pub fn make_room(&mut self) -> bool {
        let may_be_emptied = |item: &Item<B>| item.body.full().is_some_and(Entry::may_be_emptied);
        for stream in &mut self.streams {
            if let Some(item) = stream.items.iter_mut().find(|item| may_be_emptied(item)) {
                item.body = Body::Emptied;
                return true;
            }
        }
        self.streams.iter_mut().any(Stream::merge_two)
    }

    /// Removes what was acknowledged, up to this sequence of a stream, and streams of which nothing is left but the last one. What the
    /// hub said to lack stays as long as it is offered.
    pub fn remove(&mut self, id: StreamId, through: u64) {
        let last = self.streams.last().map(|stream| stream.id);
        if let Some(stream) = self.stream_mut(id) {
            let through = through.min(stream.marked);
            let goes = |stream: &Stream<B>| {
                stream.items.front().is_some_and(|item| item.span.last() <= through && !stream.is_offered(item))
            };
            while goes(stream) {
                stream.remove_first();
            }
        }
        let branched: Vec<StreamId> = self.streams.iter().filter_map(|stream| stream.base.branch_of).collect();
        let is_needed =
            |stream: &Stream<B>| stream.has_diverged || branched.contains(&stream.id) || Some(stream.id) == last;
        self.streams.retain(|stream| !stream.items.is_empty() || is_needed(stream));
    }

    /// What is kept of each stream, from the oldest on.
    pub fn items(&self) -> impl Iterator<Item = (StreamId, &Item<B>)> {
        self.streams.iter().flat_map(|stream| stream.items.iter().map(move |item| (stream.id, item)))
    }

    /// Stretches of a stream that the hub has said to lack.
    pub fn lacking(&self, id: StreamId) -> impl Iterator<Item = Span> {
        self.streams.iter().filter(move |stream| stream.id == id).flat_map(|stream| stream.lacking.iter().copied())
    }

    /// How far each stream is acknowledged.
    pub fn marks(&self) -> impl Iterator<Item = (StreamId, u64)> {
        self.streams.iter().map(|stream| (stream.id, stream.marked))
    }

    fn stream_mut(&mut self, id: StreamId) -> Option<&mut Stream<B>> {
        self.streams.iter_mut().find(|stream| stream.id == id)
    }
}

impl<B: Entry + Clone> Stream<B> {
    pub(super) fn new(id: StreamId, base: Base, items: VecDeque<Item<B>>) -> Self {
        let (removed, marked, earlier) = ((base.sequence, base.place), base.sequence, VecDeque::new());
        let (has_diverged, is_closed) = (false, false);
        let (split, lacking) = (None, Vec::new());
        let offers = MOST_OFFERS;
        Self { id, base, removed, earlier, items, marked, has_diverged, is_closed, split, lacking, offers }
    }

    /// Whether an item is offered to a hub that lacks it.
    fn is_offered(&self, item: &Item<B>) -> bool {
        self.offers > 0 && item.body.says() == Says::Full && self.lacking.iter().any(|span| span.overlaps(item.span))
    }

    fn remove_first(&mut self) {
        let Some(item) = self.items.pop_front() else { return };
        let places = item.head();
        self.earlier.extend(places.places().filter(|(sequence, _)| *sequence < item.span.last()));
        let too_many = self.earlier.len().saturating_sub(MOST_PLACES);
        self.earlier.drain(..too_many);
        self.removed = (item.span.last(), item.after);
    }

    /// What was removed after a sequence whose place is known is gone, and is said to be.
    fn restore_removed_after(&mut self, sequence: u64) {
        let (Some(span), Some(place)) = (Span::new(sequence + 1, self.removed.0), self.place(sequence)) else { return };
        let within: Vec<Place> = (span.first()..span.last()).filter_map(|sequence| self.place(sequence)).collect();
        let is_known = within.len() as u64 == span.count() - 1;
        let within = if is_known { within } else { Vec::new() };
        let body = Body::Gone(GoneReason::Removed);
        self.items.push_front(Item { span, before: place, after: self.removed.1, within, body });
        self.earlier.retain(|(earlier, _)| *earlier < sequence);
        self.removed = (sequence, place);
    }

    /// Goes on with what its branch has.
    fn rejoin(&mut self, mut branch: Self) {
        if let Some(whole) = self.split.take() {
            let is_part = |first: &Item<B>| whole.span.contains(first.span);
            while branch.items.front().is_some_and(is_part) {
                branch.items.pop_front();
            }
            if branch.removed.0 <= whole.span.last() {
                self.items.push_back(whole);
            }
        }
        let (end, before) = self.end();
        match Span::new(end + 1, branch.removed.0) {
            Some(_) if self.items.is_empty() => self.removed = branch.removed,
            Some(span) => {
                let body = Body::Gone(GoneReason::Removed);
                self.items.push_back(Item { span, before, after: branch.removed.1, within: Vec::new(), body });
            }
            None => {}
        }
        self.items.append(&mut branch.items);
        self.is_closed = branch.is_closed;
        self.split = branch.split;
    }

    fn batch<'b>(&'b self, items: impl Iterator<Item = &'b Item<B>>) -> Batch<B> {
        Batch { stream: self.id, base: self.base, items: items.cloned().collect() }
    }

    /// The place after a sequence, where it is known.
    fn place(&self, sequence: u64) -> Option<Place> {
        let of_items = || self.items.iter().find_map(|item| item.head().place(sequence));
        let earlier = || self.earlier.iter().find(|(earlier, _)| *earlier == sequence).map(|(_, place)| *place);
        if sequence == self.removed.0 { Some(self.removed.1) } else { of_items().or_else(earlier) }
    }

    /// What is here of the first stretch that the hub lacks, where something is; it is of what was acknowledged.
    fn lacking_items(&self) -> Option<impl Iterator<Item = &Item<B>>> {
        let is_sent = |item: &&Item<B>| item.span.last() <= self.marked;
        let is_here = |span: &Span| {
            let full = self.items.iter().filter(is_sent).filter(|item| item.body.says() == Says::Full);
            full.into_iter().any(|item| span.overlaps(item.span))
        };
        let lacking = self.lacking.iter().copied().find(|span| self.offers > 0 && is_here(span))?;
        Some(self.items.iter().filter(move |item| item.span.last() <= self.marked && lacking.overlaps(item.span)))
    }

    /// Its last sequence, and the place after it.
    pub(super) fn end(&self) -> (u64, Place) {
        self.items.back().map_or(self.removed, |item| (item.span.last(), item.after))
    }

    fn append(&mut self, entry: B) -> u64 {
        let (sequence, before) = self.end();
        let (span, after) = (Span::one(sequence + 1), before.then(&entry.bytes()));
        let body = Body::Full(entry);
        self.items.push_back(Item { span, before, after, within: Vec::new(), body });
        sequence + 1
    }

    fn take_mark(&mut self, sequence: u64, hash: Place) -> Marked {
        let (end, _) = self.end();
        if self.is_closed && sequence >= end {
            // What they have in common ends here, and was compared when it was found.
            self.marked = end;
            return Marked::Committed;
        }
        if self.has_diverged || sequence > end {
            self.has_diverged = true;
            return Marked::Diverged;
        }
        if sequence < self.base.sequence {
            return Marked::Unknown;
        }
        if sequence < self.removed.0 {
            // A hub that was restored to before what is kept here.
            if self.place(sequence).is_some_and(|place| place != hash) {
                self.has_diverged = true;
                return Marked::Diverged;
            }
            if self.place(sequence).is_none() {
                self.earlier.clear();
                self.earlier.push_back((sequence, hash));
            }
            self.restore_removed_after(sequence);
            self.marked = sequence;
            return Marked::SendAgain;
        }
        let item = self.items.iter().find(|item| item.span.last() >= sequence).filter(|_| sequence > self.removed.0);
        let is_same = match item {
            Some(item) if item.span.last() == sequence => item.after == hash,
            // Merged meanwhile, or gone: the hub takes it as a whole.
            Some(item) if item.head().place(sequence).is_none_or(|place| place == hash) => {
                self.marked = item.span.before();
                return Marked::SendAgain;
            }
            Some(_) => false,
            None => self.removed == (sequence, hash),
        };
        if !is_same {
            self.has_diverged = true;
            return Marked::Diverged;
        }
        let has_less = sequence < self.marked;
        self.marked = sequence;
        if has_less { Marked::SendAgain } else { Marked::Committed }
    }

    /// Makes the oldest two neighbors one that can be.
    fn merge_two(&mut self) -> bool {
        for at in 1..self.items.len() {
            let (first, second) = (&self.items[at - 1], &self.items[at]);
            let Some(span) = first.span.parent().filter(|_| first.span.count() == second.span.count()) else {
                continue;
            };
            if span != (second.span.parent().unwrap_or(second.span)) || first.span.last() == self.marked {
                continue;
            }
            let body = match (&first.body, &second.body) {
                (Body::Full(one), Body::Full(other)) => one.merged(other).map(Body::Full),
                (Body::Full(one), Body::Emptied) | (Body::Emptied, Body::Full(one)) => Some(Body::Full(one.clone())),
                (Body::Emptied, Body::Emptied) => Some(Body::Emptied),
                (Body::Gone(_), _) | (_, Body::Gone(_)) => None,
            };
            if let Some(body) = body {
                let within = [&first.within[..], &[first.after], &second.within].concat();
                let merged = Item { span, before: first.before, after: second.after, within, body };
                self.items.remove(at);
                self.items[at - 1] = merged;
                return true;
            }
        }
        false
    }
}

impl<B: Entry> Item<B> {
    /// Leaves out what is up to a sequence within it: the largest stays as it is, and nothing is counted.
    fn begin_after(&mut self, sequence: u64, place: Place) {
        let Some(span) = Span::new(sequence + 1, self.span.last()) else { return };
        let left_out = usize::try_from(sequence - self.span.before()).unwrap_or(usize::MAX);
        self.within = self.within.split_off(left_out.min(self.within.len()));
        (self.span, self.before) = (span, place);
        if let Body::Full(entry) = &mut self.body {
            *entry = entry.without_counts();
        }
    }
}
