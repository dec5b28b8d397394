//! What the acting thread tells the guard of its output, and what the guard makes of it. Used in the loop that acts.

use std::sync::atomic::{AtomicI64, Ordering};

use kernel::shared_words::SharedWords;

/// How long after the time at which the output is to be safe the guard makes it so (ns): the acting thread may be late.
pub(crate) const GRACE_NS: i64 = 20_000_000;
/// A guard that has not looked for so long is gone, stopped or starved (ns): then the acting thread makes the output safe itself.
/// The kernel keeps real-time threads from running for 50 ms of each second at most; with what the acting thread waits, it is far
/// below 100 ms.
///
/// Of an acting thread that has not run for so long while the output is active the guard takes the same: it makes the output safe,
/// however long that may be active. So it is safe wherever either of both is lost, unless the other one is lost within that time.
pub(crate) const SILENT_NS: i64 = 60_000_000;
/// The words of the shared memory.
const SAFE_BY: usize = 0;
const INTERVENED: usize = 1;
const LOOKED: usize = 2;
const UNWATCHED: usize = 3;
const ALIVE: usize = 4;
const FAILED: usize = 5;
/// The output is safe, as far as the acting thread knows.
const SAFE: i64 = 0;

/// What both processes know.
#[derive(Debug)]
pub(crate) struct GuardState(pub(crate) SharedWords);

impl GuardState {
    fn word(&self, number: usize) -> &AtomicI64 {
        &self.0.words()[number]
    }

    /// The output is about to become active now, until a moment (ns, CLOCK_MONOTONIC): said before it is switched, so that there is no
    /// moment at which it is active and the guard does not know.
    #[inline(always)]
    pub(crate) fn becomes_active(&self, now_ns: i64, until_ns: i64) {
        self.lives(now_ns);
        self.word(SAFE_BY).store(until_ns.saturating_add(GRACE_NS).max(SAFE + 1), Ordering::SeqCst);
    }

    /// The acting thread runs (ns, CLOCK_MONOTONIC): said at each look while the output is active.
    #[inline(always)]
    pub(crate) fn lives(&self, now_ns: i64) {
        self.word(ALIVE).store(now_ns, Ordering::SeqCst);
    }

    /// The output is safe again: said after it was switched.
    #[inline(always)]
    pub(crate) fn is_safe(&self) {
        self.word(SAFE_BY).store(SAFE, Ordering::SeqCst);
    }

    /// Whether the guard is to make the output safe now, since its time is over or the acting thread does not run; then in which pulse,
    /// by when that was to be over.
    pub(crate) fn overdue(&self, now_ns: i64) -> Option<i64> {
        // In this order: who says that it becomes active says first that it lives.
        let safe_by_ns = self.word(SAFE_BY).load(Ordering::SeqCst);
        let alive_ns = self.word(ALIVE).load(Ordering::SeqCst);
        let is_overdue = now_ns > safe_by_ns || now_ns - alive_ns > SILENT_NS;
        (safe_by_ns != SAFE && is_overdue).then_some(safe_by_ns)
    }

    /// The guard was to make it safe in one more pulse, and has, or the driver did not.
    pub(crate) fn intervened(&self, is_made_safe: bool) {
        self.word(if is_made_safe { INTERVENED } else { FAILED }).fetch_add(1, Ordering::Relaxed);
    }

    /// In how many pulses it has.
    pub(crate) fn interventions(&self) -> u64 {
        self.word(INTERVENED).load(Ordering::Relaxed).unsigned_abs()
    }

    /// In how many pulses it was to and could not, at least at first.
    pub(crate) fn failures(&self) -> u64 {
        self.word(FAILED).load(Ordering::Relaxed).unsigned_abs()
    }

    /// The guard looked (ns, CLOCK_MONOTONIC).
    pub(crate) fn looked(&self, now_ns: i64) {
        self.word(LOOKED).store(now_ns, Ordering::Relaxed);
    }

    /// Whether the guard has looked lately. Where it has not, the acting thread switches nothing any more, and this is the reason.
    #[inline(always)]
    pub(crate) fn is_watched(&self, now_ns: i64) -> bool {
        let silent_ns = now_ns - self.word(LOOKED).load(Ordering::Relaxed);
        if silent_ns > SILENT_NS {
            self.word(UNWATCHED).store(silent_ns, Ordering::Relaxed);
        }
        silent_ns <= SILENT_NS
    }

    /// How long the guard had not looked when the acting thread gave up (ns); `None` if it did not.
    pub(crate) fn unwatched_ns(&self) -> Option<i64> {
        Some(self.word(UNWATCHED).load(Ordering::Relaxed)).filter(|silent_ns| *silent_ns != 0)
    }
}

#[cfg(test)]
mod model;
