//! What the acting thread tells the guard of its output, and what the guard makes of it. Used in the loop that acts.

use std::sync::atomic::{AtomicI64, Ordering};

use kernel::shared_words::SharedWords;

/// How long after the time at which the output is to be safe the guard makes it so (ns): the acting thread may be late.
pub(crate) const GRACE_NS: i64 = 20_000_000;
/// A guard that has not looked for so long is gone, stopped or starved (ns): then the acting thread makes the output safe itself.
/// The kernel keeps real-time threads from running for 50 ms of each second at most; with what the acting thread waits, it is far
/// below 100 ms.
const SILENT_NS: i64 = 60_000_000;
/// The words of the shared memory.
const SAFE_BY: usize = 0;
const INTERVENED: usize = 1;
const LOOKED: usize = 2;
const UNWATCHED: usize = 3;
/// The output is safe, as far as the acting thread knows.
const SAFE: i64 = 0;

/// What both processes know.
#[derive(Debug)]
pub(crate) struct GuardState(pub(crate) SharedWords);

impl GuardState {
    fn word(&self, number: usize) -> &AtomicI64 {
        &self.0.words()[number]
    }

    /// The output is about to become active, until a moment (ns, CLOCK_MONOTONIC): said before it is switched, so that there is no
    /// moment at which it is active and the guard does not know.
    #[inline(always)]
    pub(crate) fn becomes_active(&self, until_ns: i64) {
        self.word(SAFE_BY).store(until_ns.saturating_add(GRACE_NS).max(SAFE + 1), Ordering::SeqCst);
    }

    /// The output is safe again: said after it was switched.
    #[inline(always)]
    pub(crate) fn is_safe(&self) {
        self.word(SAFE_BY).store(SAFE, Ordering::SeqCst);
    }

    /// Whether the guard is to make the output safe now.
    pub(crate) fn is_overdue(&self, now_ns: i64) -> bool {
        let safe_by_ns = self.word(SAFE_BY).load(Ordering::SeqCst);
        safe_by_ns != SAFE && now_ns > safe_by_ns
    }

    /// The guard has made it safe, while the acting thread lives.
    pub(crate) fn intervened(&self) {
        self.word(INTERVENED).fetch_add(1, Ordering::Relaxed);
    }

    /// How often it has.
    pub(crate) fn interventions(&self) -> u64 {
        self.word(INTERVENED).load(Ordering::Relaxed).unsigned_abs()
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
