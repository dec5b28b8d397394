//! What spoiled a part of a run: from when to when, and what it was.

use kernel::clock::{KernelClock, now_ns};
use record::{Reason, ReasonCode};
use units::ClockId;

/// A time in which something spoiled what was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spoil {
    /// Its beginning (ns on the measured clock).
    pub(crate) from_ns: i64,
    /// Its end (ns on the measured clock, inclusive).
    pub(crate) to_ns: i64,
    /// When it was noticed (ns, CLOCK_MONOTONIC): with the kind of its reason this is the same at every look, however the measured
    /// clock is corrected meanwhile.
    pub(crate) noticed_ns: i64,
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

/// Samples that a thread's ring had no room for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses {
    dropped: u64,
    spoils: Vec<Spoil>,
}

impl Losses {
    /// Notes what was lost between two looks (ns on the measured clock).
    pub(crate) fn look(&mut self, dropped: u64, (from_ns, to_ns): (i64, i64), started_ns: i64) {
        let lost = dropped.saturating_sub(std::mem::replace(&mut self.dropped, dropped));
        if lost > 0 {
            let into_run = units::format::span(to_ns.saturating_sub(started_ns));
            let detail = format!("{} samples found no place {into_run} into the run", units::format::count(lost));
            let reason = Reason { code: ReasonCode::SamplesDropped, detail };
            let noticed_ns = now_ns(KernelClock::from(ClockId::Monotonic));
            self.spoils.push(Spoil { from_ns, to_ns, noticed_ns, reason });
        }
    }

    /// The times in which something was lost.
    pub(crate) fn spoils(&self) -> &[Spoil] {
        &self.spoils
    }

    /// What ended before a moment (ns on the measured clock) is settled: a ring that is too small all the time must not fill the
    /// memory.
    pub(crate) fn forget_before(&mut self, settled_ns: i64) {
        self.spoils.retain(|spoil| spoil.to_ns >= settled_ns);
    }
}
