//! The loop of the thread that answers. Nothing here allocates, locks, formats, logs or faults; a tidy test reads this file for words
//! that would.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kernel::clock::{KernelClock, now_ns};
use kernel::gpio::Waited;

use crate::crew::MOST_FAILURES;
use crate::ring::{Pair, RingWriter};
use crate::wire::{Wire, errno_of};

/// All that the loop touches, prepared beforehand.
pub(super) struct AnswerLoop<'a, W> {
    pub(super) wire: &'a W,
    pub(super) clock: KernelClock,
    /// No edge is answered after this many.
    pub(super) most: u64,
    /// The number of the edge before, by which those are counted that the kernel had no room for.
    pub(super) last_number: u32,
    /// Edges that were answered, for who looks on.
    pub(super) answered: &'a AtomicU64,
    /// Edges that the kernel had no room for, for who looks on.
    pub(super) overflowed: &'a AtomicU64,
    /// Once this is set, and a wait has ended, the loop does.
    pub(super) is_over: &'a AtomicBool,
    /// The kernel's stamp of each edge, and when the thread was awake.
    pub(super) woke: RingWriter<'a>,
    /// The same stamp, and when the output was high.
    pub(super) done: RingWriter<'a>,
    /// It fires after seconds without sleep.
    pub(super) watchdog: &'a AtomicBool,
}

/// What the loop counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AnswerCounts {
    /// Edges that it answered.
    pub(super) edges: u64,
    /// The number of the last edge.
    pub(super) last_number: u32,
    pub(super) interrupted_waits: u64,
    /// The kernel's number of the error for which a write failed and the loop ended; 0 for none.
    pub(super) failed_errno: i32,
}

impl<W: Wire> AnswerLoop<'_, W> {
    /// Waits for each edge, answers it, and writes down when it was awake and when the answer was given. The output is low again
    /// right after that: a witness stamps the edge.
    #[inline(never)]
    pub(super) fn run(self) -> AnswerCounts {
        let Self { wire, clock, most, last_number, answered, overflowed, is_over, mut woke, mut done, watchdog } = self;
        let mut counts = AnswerCounts { last_number, ..AnswerCounts::default() };
        while counts.edges < most {
            let waited = wire.wait(-1);
            let woke_ns = now_ns(clock);
            match waited {
                Ok(Waited::Edge(edge)) => {
                    let written = wire.set(true);
                    let done_ns = now_ns(clock);
                    let lowered = wire.set(false);
                    woke.push(Pair { first_ns: edge.at_ns, second_ns: woke_ns });
                    done.push(Pair { first_ns: edge.at_ns, second_ns: done_ns });
                    let lacking = edge.number.wrapping_sub(counts.last_number).saturating_sub(1);
                    if lacking > 0 {
                        overflowed.fetch_add(u64::from(lacking), Ordering::Relaxed);
                    }
                    counts.last_number = edge.number;
                    counts.edges += 1;
                    answered.fetch_add(1, Ordering::Relaxed);
                    if let Err(error) = written.and(lowered) {
                        counts.failed_errno = errno_of(&error);
                        break;
                    }
                }
                Ok(Waited::Nothing) => {}
                Err(_) => {
                    counts.interrupted_waits += 1;
                    if counts.interrupted_waits > MOST_FAILURES || watchdog.load(Ordering::Relaxed) {
                        break;
                    }
                }
            }
            // Edges that keep coming must not keep the loop.
            if is_over.load(Ordering::Acquire) {
                break;
            }
        }
        counts
    }
}
