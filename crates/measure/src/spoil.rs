//! What spoiled a part of a run: from when to when, and what it was.

use record::Reason;

/// A time in which something spoiled what was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spoil {
    /// Its beginning (ns on the measured clock).
    pub(crate) from_ns: i64,
    /// Its end (ns on the measured clock, inclusive).
    pub(crate) to_ns: i64,
    /// What it was.
    pub(crate) reason: Reason,
}

impl Spoil {
    /// Whether it took place between two moments, the second exclusive (ns on the measured clock).
    pub(crate) const fn touches(&self, from_ns: i64, to_ns: i64) -> bool {
        self.from_ns < to_ns && self.to_ns >= from_ns
    }

    /// The same on another clock, which is ahead of this one.
    pub(crate) fn ahead_by(self, ns: i64) -> Self {
        Self { from_ns: self.from_ns.saturating_add(ns), to_ns: self.to_ns.saturating_add(ns), ..self }
    }
}
