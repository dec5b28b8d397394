//! One direction of a link: decides what happens to each frame that enters it. Pure.

use serde::{Deserialize, Serialize};

use super::impairment::Impairment;
use super::random::Generator;

/// How long a frame that was chosen for reordering waits at most to be overtaken (ns); then it is delivered late, in
/// its original order.
pub const REORDER_HOLD_NS: i64 = 10_000_000;

/// How many frames, copies included, may be in transit in one direction of a link: more than 20 ms of the shortest
/// frames at 100 Mbit/s. It bounds the memory that a flood can use.
pub const MAX_WAITING_FRAMES: u64 = 4_096;

/// Counters of the frames in one direction of a link.
///
/// Always `entered + duplicated == dropped + overflowed + left + waiting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectionCounters {
    /// Frames that entered.
    pub entered: u64,
    /// Frames dropped as configured.
    pub dropped: u64,
    /// Copies made as configured.
    pub duplicated: u64,
    /// Frames overtaken by a later frame as configured.
    pub reordered: u64,
    /// Frames chosen for reordering without a later frame in time: delivered [`REORDER_HOLD_NS`] late instead.
    pub held_in_vain: u64,
    /// Frames lost because [`MAX_WAITING_FRAMES`] were in transit.
    pub overflowed: u64,
    /// Frames that left at the other end, copies included.
    pub left: u64,
    /// Frames still in transit, copies included.
    pub waiting: u64,
    /// Frames of other flows than the one that is impaired, which passed at once.
    #[serde(default)]
    pub spared: u64,
}

/// A position in the switch's queue: the due time (ns), and the sequence number of frames due at the same time.
pub(super) type Place = (i64, u64);

/// What happens to a frame that is not lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fate {
    /// When it is due, unless it is held (ns, on the caller's clock).
    pub(super) due_ns: i64,
    /// 1, or 2 if it is duplicated.
    pub(super) copies: u8,
    /// Whether it waits to be overtaken, at most until [`REORDER_HOLD_NS`] after its due time.
    pub(super) held: bool,
    /// Whether it belongs to another flow than the one that is impaired, and overtakes nothing that is held.
    pub(super) spared: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Direction {
    impairment: Impairment,
    generator: Generator,
    last_due_ns: i64,
    /// The same of the frames of other flows than the one that is impaired: they do not wait for its frames.
    last_spared_ns: i64,
    held: Vec<Place>,
    pub(super) counters: DirectionCounters,
}

impl Direction {
    pub(super) fn new(impairment: Impairment, generator: Generator) -> Self {
        Self {
            impairment,
            generator,
            last_due_ns: i64::MIN,
            last_spared_ns: i64::MIN,
            held: Vec::new(),
            counters: DirectionCounters::default(),
        }
    }

    /// Changes the impairment from the next frame on; the random stream continues.
    pub(super) fn set(&mut self, impairment: Impairment) {
        self.impairment = impairment;
    }

    /// Decides about a frame that enters at `at_ns`; `None` if it is lost, which is counted.
    pub(super) fn enter(&mut self, frame: &[u8], at_ns: i64) -> Option<Fate> {
        let Impairment { delay, jitter, drop, duplicate, reorder, only } = self.impairment;
        if only.is_some_and(|flow| !flow.has(frame)) {
            return self.spare(at_ns);
        }
        // Always draw all four numbers, so that one setting does not affect the others: a scenario with jitter added
        // loses the same frames.
        let dropped = self.generator.happens(drop);
        let duplicated = self.generator.happens(duplicate);
        let held = self.generator.happens(reorder);
        let jitter_ns = self.generator.up_to(jitter.unsigned());

        self.counters.entered += 1;
        if dropped {
            self.counters.dropped += 1;
            return None;
        }
        if self.counters.waiting >= MAX_WAITING_FRAMES {
            self.counters.overflowed += 1;
            return None;
        }
        let copies = if duplicated { 2 } else { 1 };
        self.counters.duplicated += u64::from(duplicated);
        self.counters.waiting += u64::from(copies);
        // Both are at most a minute, so only a clock near its end would saturate.
        let own_ns = at_ns.saturating_add(delay.0).saturating_add(i64::try_from(jitter_ns).unwrap_or(jitter.0));
        let due_ns = own_ns.max(self.last_due_ns);
        self.last_due_ns = due_ns;
        Some(Fate { due_ns, copies, held, spared: false })
    }

    /// A frame of another flow than the one that is impaired. It draws no random number, so that the same frames of that
    /// flow have the same fate whatever passes beside them.
    fn spare(&mut self, at_ns: i64) -> Option<Fate> {
        self.counters.entered += 1;
        if self.counters.waiting >= MAX_WAITING_FRAMES {
            self.counters.overflowed += 1;
            return None;
        }
        self.counters.spared += 1;
        self.counters.waiting += 1;
        self.last_spared_ns = at_ns.max(self.last_spared_ns);
        Some(Fate { due_ns: self.last_spared_ns, copies: 1, held: false, spared: true })
    }

    /// Records that the frame at this position is held.
    pub(super) fn hold(&mut self, place: Place) {
        self.held.push(place);
    }

    /// Releases the held frames that a frame due at `due_ns` overtakes; returns their positions, oldest first.
    pub(super) fn overtake(&mut self, due_ns: i64) -> Vec<Place> {
        let (overtaken, waiting): (Vec<_>, Vec<_>) = self.held.iter().partition(|(until_ns, _)| *until_ns >= due_ns);
        self.held = waiting;
        self.counters.reordered += u64::try_from(overtaken.len()).unwrap_or(u64::MAX);
        overtaken
    }

    /// Counts a frame that leaves, and whether it was held in vain.
    pub(super) fn leave(&mut self, place: Place, copies: u8) {
        self.counters.waiting -= u64::from(copies);
        self.counters.left += u64::from(copies);
        if let Some(index) = self.held.iter().position(|held| *held == place) {
            self.held.remove(index);
            self.counters.held_in_vain += 1;
        }
    }
}
