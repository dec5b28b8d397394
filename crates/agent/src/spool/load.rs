//! Reads what an earlier start of the agent left.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use farm::stream::{Acknowledgment, Base, Body, GoneReason, Item, KeptStream, NodeKey, Place, StreamId, StreamState};

use super::kept::{Kept, Shelf, Text, segment_path};
use super::segment::{self, EarlierLine, ItemLine, Line, Placed};

/// A segment is no longer than this by far: what is, is damaged.
const MOST_SEGMENT_BYTES: u64 = 64 << 20;

/// What was found.
pub(super) struct Loaded {
    pub(super) epoch: u64,
    pub(super) streams: Vec<KeptStream<Kept>>,
    /// Segments with damaged lines.
    pub(super) damaged: Vec<PathBuf>,
    /// Bytes at the end of the last segment that no flush had finished.
    pub(super) cut_bytes: u64,
    pub(super) last_segment: u32,
    pub(super) total_bytes: u64,
    pub(super) age_s: u64,
    pub(super) acknowledged: Vec<Acknowledgment>,
}

#[derive(Default)]
struct Streams {
    /// In the order in which they were first named.
    order: Vec<StreamId>,
    states: BTreeMap<StreamId, StreamState>,
    earlier: BTreeMap<StreamId, Vec<(u64, Place)>>,
    splits: BTreeMap<StreamId, Item<Kept>>,
    items: BTreeMap<StreamId, Vec<Item<Kept>>>,
}

impl Streams {
    fn know(&mut self, stream: StreamId) {
        if !self.order.contains(&stream) {
            self.order.push(stream);
        }
    }

    fn take(&mut self, line: ItemLine, text: Text, shelf: &Arc<Shelf>) {
        self.know(line.stream);
        let items = self.items.entry(line.stream).or_default();
        let item = item(line, text, shelf);
        if items.last().is_none_or(|last| last.span.last() <= item.span.before()) {
            items.push(item);
        }
    }

    fn kept(mut self, node: &NodeKey) -> Vec<KeptStream<Kept>> {
        let stream = |id: &StreamId| {
            let mut items = self.items.remove(id).unwrap_or_default();
            let known = self.states.get(id).copied();
            // Without any line of its own it is known from its first item on.
            let removed = known.map(|state| state.removed).or_else(|| {
                let first = items.first()?;
                Some((first.span.before(), first.before))
            })?;
            items.retain(|item| item.span.before() >= removed.0);
            let end = items.last().map_or(removed, |last| (last.span.last(), last.after));
            let unknown = StreamState {
                id: *id,
                base: Base::of_start(node, *id),
                removed,
                marked: removed.0,
                has_diverged: false,
                is_closed: false,
                end,
            };
            Some(KeptStream {
                state: known.unwrap_or(unknown),
                earlier: self.earlier.remove(id).unwrap_or_default(),
                items,
                split: self.splits.remove(id),
            })
        };
        self.order.iter().filter_map(stream).collect()
    }
}

fn item(line: ItemLine, text: Text, shelf: &Arc<Shelf>) -> Item<Kept> {
    let ItemLine { age_s, item, .. } = line;
    let Item { span, before, after, within, body } = item;
    let body = match body {
        Body::Full(raw) => match Kept::new(&raw, text, age_s, shelf) {
            Some(kept) => Body::Full(kept),
            // Of a newer agent, and not allowed by this one: it is not sent, and its place in the chain stays.
            None => Body::Gone(GoneReason::Damaged),
        },
        Body::Emptied => Body::Emptied,
        Body::Gone(why) => Body::Gone(why),
    };
    Item { span, before, after, within, body }
}

/// Reads the segments of a folder.
pub(super) fn load(folder: &Path, node: &NodeKey, shelf: &Arc<Shelf>) -> io::Result<Loaded> {
    let mut numbers: Vec<u32> = fs::read_dir(folder)?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".log")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    let mut loaded = Loaded {
        epoch: 0,
        streams: Vec::new(),
        damaged: Vec::new(),
        cut_bytes: 0,
        last_segment: numbers.last().copied().unwrap_or(0),
        total_bytes: 0,
        age_s: 0,
        acknowledged: Vec::new(),
    };
    let mut streams = Streams::default();
    for number in numbers {
        let path = segment_path(folder, number);
        let bytes = read(&path)?;
        let found = segment::parse(&bytes);
        let is_last = number == loaded.last_segment;
        let (whole, unfinished) = bytes.split_at(usize::try_from(found.good_bytes).unwrap_or(bytes.len()));
        if is_last && !unfinished.is_empty() {
            // What no flush has finished was never sent.
            loaded.cut_bytes = unfinished.len() as u64;
            let file = File::options().write(true).open(&path)?;
            file.set_len(found.good_bytes)?;
            file.sync_data()?;
        }
        if segment::parse(if is_last { whole } else { &bytes }).damaged > 0 {
            loaded.damaged.push(path);
        }
        loaded.total_bytes += found.good_bytes;
        for Placed { line, offset, length } in found.lines {
            match line {
                Line::Epoch(epoch) => loaded.epoch = loaded.epoch.max(epoch),
                Line::Stream(state) => {
                    streams.know(state.id);
                    streams.states.insert(state.id, state);
                }
                Line::Earlier(EarlierLine { stream, places }) => {
                    streams.earlier.insert(stream, places);
                }
                Line::Split(line) => {
                    let text = Text::OnDisk { segment: number, offset, length };
                    streams.splits.insert(line.stream, item(line, text, shelf));
                }
                Line::Acknowledged(all) => {
                    loaded.age_s = all.iter().map(|one| one.age_s).fold(loaded.age_s, u64::max);
                    loaded.acknowledged = all;
                }
                Line::Item(line) => {
                    loaded.age_s = loaded.age_s.max(line.age_s);
                    streams.take(line, Text::OnDisk { segment: number, offset, length }, shelf);
                }
            }
        }
    }
    loaded.streams = streams.kept(node);
    Ok(loaded)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_SEGMENT_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
