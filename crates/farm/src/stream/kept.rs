//! What a node keeps of its streams as it stands on a disk, or in another place that outlives a process.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::spool::Stream;
use super::{Base, Body, Entry, GoneReason, Item, NodeKey, Place, Span, Spool, StreamId};

/// One stream as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptStream<B> {
    /// How far it is.
    pub state: StreamState,
    /// Places before what was removed, each with its sequence, as far as they are kept.
    pub earlier: Vec<(u64, Place)>,
    /// What is kept of it, in its order.
    pub items: Vec<Item<B>>,
    /// What was merged across the end of what it and the hub have in common, where it is closed.
    pub split: Option<Item<B>>,
}

/// How far a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StreamState {
    /// Its name.
    pub id: StreamId,
    /// Where it begins.
    pub base: Base,
    /// The last sequence that was removed, that of the base for none, and the place in the chain after it.
    pub removed: (u64, Place),
    /// The last sequence that a hub of this epoch has acknowledged.
    pub marked: u64,
    /// Whether it waits for the end of what it and the hub have in common.
    pub has_diverged: bool,
    /// Whether that was found, so that a branch goes on.
    pub is_closed: bool,
    /// Its last sequence, and the place in the chain after it.
    pub end: (u64, Place),
}

impl<B: Entry + Clone> Spool<B> {
    /// As it was kept: the latest life of the hub that was seen, and the streams from the oldest on. What is missing between two
    /// items of a stream, or up to its end, was lost with the file that had it: its sequences are gone, and the places around them
    /// stand.
    #[must_use]
    pub fn restore(node: NodeKey, epoch: u64, kept: Vec<KeptStream<B>>) -> Self {
        let mut spool = Self::new(node);
        spool.epoch = epoch;
        spool.streams = kept.into_iter().map(stream).collect();
        spool
    }

    /// All of it, for [`restore`](Self::restore).
    pub fn kept(&self) -> impl Iterator<Item = KeptStream<B>> {
        self.streams.iter().map(|stream| KeptStream {
            state: stream.state(),
            earlier: stream.earlier.iter().copied().collect(),
            items: stream.items.iter().cloned().collect(),
            split: stream.split.clone(),
        })
    }

    /// How far a stream is; `None` where nothing of it is kept.
    #[must_use]
    pub fn state(&self, id: StreamId) -> Option<StreamState> {
        self.streams.iter().find(|stream| stream.id == id).map(Stream::state)
    }
}

fn stream<B: Entry + Clone>(kept: KeptStream<B>) -> Stream<B> {
    let KeptStream { state, earlier, items: found, split } = kept;
    let StreamState { id, base, removed, marked, has_diverged, is_closed, end: was_end } = state;
    let lost =
        |span, before, after| Item { span, before, after, within: Vec::new(), body: Body::Gone(GoneReason::Damaged) };
    let (mut items, mut end) = (VecDeque::with_capacity(found.len()), removed);
    for item in found {
        if let Some(span) = Span::new(end.0 + 1, item.span.before()) {
            items.push_back(lost(span, end.1, item.before));
        }
        if item.span.before() >= end.0 {
            end = (item.span.last(), item.after);
            items.push_back(item);
        }
    }
    if let Some(span) = Span::new(end.0 + 1, was_end.0) {
        items.push_back(lost(span, end.1, was_end.1));
        end = was_end;
    }
    Stream {
        removed,
        earlier: earlier.into(),
        marked: marked.clamp(removed.0, end.0.max(removed.0)),
        has_diverged,
        is_closed,
        split,
        ..Stream::new(id, base, items)
    }
}

impl<B: Entry + Clone> Stream<B> {
    fn state(&self) -> StreamState {
        let Self { id, base, removed, marked, has_diverged, is_closed, .. } = *self;
        StreamState { id, base, removed, marked, has_diverged, is_closed, end: self.end() }
    }
}
