//! One direction of a link: decides what becomes of each frame that enters it. Pure.

use serde::{Deserialize, Serialize};

use super::impairment::Impairment;
use super::random::Generator;

/// How long a frame that was chosen to be reordered waits to be overtaken, at most; then it goes on late, in its old
/// place in the order (ns).
pub const REORDER_HOLD_NS: i64 = 10_000_000;

/// How many frames may be under way in one direction of a link, copies counted: more than 20 ms of the shortest
/// frames at 100 Mbit/s, and a bound to the memory that a flood can take.
pub const MAX_WAITING_FRAMES: u64 = 4_096;

/// What became of the frames in one direction of a link.
///
/// Always `entered + duplicated == dropped + overflowed + left + waiting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectionCounters {
    /// Frames that came in.
    pub entered: u64,
    /// Lost as asked.
    pub dropped: u64,
    /// Copies made as asked.
    pub duplicated: u64,
    /// Overtaken by a later frame as asked.
    pub reordered: u64,
    /// Chosen to be overtaken, but no frame came in time: late by [`REORDER_HOLD_NS`] instead.
    pub held_in_vain: u64,
    /// Lost because [`MAX_WAITING_FRAMES`] were under way.
    pub overflowed: u64,
    /// Came out at the other end, copies counted.
    pub left: u64,
    /// Still under way, copies counted.
    pub waiting: u64,
}

/// A place in the switch's queue: when it is due (ns), and which of those due together comes first.
pub(super) type Place = (i64, u64);

/// What becomes of a frame that was not lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fate {
    /// When it arrives, unless it is held (ns, on the caller's clock).
    pub(super) due_ns: i64,
    /// 2 where it is duplicated.
    pub(super) copies: u8,
    /// Whether it waits to be overtaken, until [`REORDER_HOLD_NS`] after it would have been due.
    pub(super) held: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Direction {
    impairment: Impairment,
    generator: Generator,
    last_due_ns: i64,
    held: Vec<Place>,
    pub(super) counters: DirectionCounters,
}

impl Direction {
    pub(super) fn new(impairment: Impairment, generator: Generator) -> Self {
        Self { impairment, generator, last_due_ns: i64::MIN, held: Vec::new(), counters: DirectionCounters::default() }
    }

    /// From the next frame on it is like this; what it draws goes on.
    pub(super) fn set(&mut self, impairment: Impairment) {
        self.impairment = impairment;
    }

    /// Decides about a frame that enters at `at_ns`; `None` where it is lost, which is counted.
    pub(super) fn enter(&mut self, at_ns: i64) -> Option<Fate> {
        let Impairment { delay, jitter, drop, duplicate, reorder } = self.impairment;
        // All four are drawn for every frame, so that the fate of the hundredth does not hang on what the others were
        // like: a scenario with jitter added loses the same frames.
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
        // The check of an impairment holds both below a minute, so only a clock near its end would saturate.
        let own_ns = at_ns.saturating_add(delay.0).saturating_add(i64::try_from(jitter_ns).unwrap_or(jitter.0));
        let due_ns = own_ns.max(self.last_due_ns);
        self.last_due_ns = due_ns;
        Some(Fate { due_ns, copies, held })
    }

    /// Remembers where a held frame waits.
    pub(super) fn hold(&mut self, place: Place) {
        self.held.push(place);
    }

    /// The held frames that one due at `due_ns` overtakes, oldest first; they are held no longer.
    pub(super) fn overtake(&mut self, due_ns: i64) -> Vec<Place> {
        let (overtaken, waiting): (Vec<_>, Vec<_>) = self.held.iter().partition(|(until_ns, _)| *until_ns >= due_ns);
        self.held = waiting;
        self.counters.reordered += u64::try_from(overtaken.len()).unwrap_or(u64::MAX);
        overtaken
    }

    /// Counts a frame that comes out, and tells whether it was held in vain.
    pub(super) fn leave(&mut self, place: Place, copies: u8) {
        self.counters.waiting -= u64::from(copies);
        self.counters.left += u64::from(copies);
        if let Some(index) = self.held.iter().position(|held| *held == place) {
            self.held.remove(index);
            self.counters.held_in_vain += 1;
        }
    }
}
