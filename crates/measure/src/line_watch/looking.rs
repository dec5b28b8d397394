//! The thread that reads the levels of watched lines, again and again.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use kernel::clock::{KernelClock, Schedule, sleep_until};
use kernel::sched::{Policy, set_least_timer_slack, set_policy};
use units::ClockId;

use super::looks::{FirstLook, LookedChange};
use super::{OfChip, now_ns};

/// Above all that has no real-time priority, and below the kernel's threads of interrupts: these stamp edges on some chips.
const PRIORITY: u32 = 49;
/// From the end of a look to the next one, at least and at most (ns).
const REST_NS: (i64, i64) = (20_000, 500_000);
/// In between so many times what the look before took, so that others have four fifths of the CPU: with less, nodes that run on the
/// same one cannot keep their connection.
const RESTS: i64 = 4;

/// How the levels are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looks {
    /// At short distances, with real-time priority where that is allowed.
    Resting,
    /// Without a pause, which takes a CPU.
    Spinning,
}

/// What the thread has seen and nobody has taken yet.
#[derive(Default)]
pub(super) struct Looking {
    changes: Mutex<Vec<LookedChange>>,
    is_over: AtomicBool,
}

/// Ends the looks with its owner.
pub(super) struct EndWith<'a>(&'a Looking);

impl Drop for EndWith<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What is known of a chip.
struct LastLook<'a> {
    chip: &'a OfChip,
    bits: u64,
    began_ns: i64,
}

impl Looking {
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    pub(super) const fn end_with(&self) -> EndWith<'_> {
        EndWith(self)
    }

    /// What it has seen since this was called last.
    pub(super) fn take(&self) -> Vec<LookedChange> {
        std::mem::take(&mut *self.changes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks until that is to end, and once more then. When the last look at any of the lines began (ns, CLOCK_MONOTONIC).
    ///
    /// # Errors
    /// Where a driver cannot read its lines.
    pub(super) fn run(&self, how: Looks, chips: &[OfChip], first: &[FirstLook]) -> io::Result<i64> {
        if how == Looks::Resting {
            set_least_timer_slack();
            // Where it is refused looks are farther apart, and the bound that they give is larger.
            let _ = set_policy(Policy::Fifo(PRIORITY));
        }
        let mut due_ns = now_ns();
        let first_of = |line: &usize| first.get(*line).copied();
        let mut lasts: Vec<LastLook<'_>> = chips
            .iter()
            .map(|chip| {
                let of_line =
                    |(bit, line): (usize, &usize)| first_of(line).map_or(0, |first| u64::from(first.is_high) << bit);
                let bits = chip.lines.iter().enumerate().map(of_line).sum();
                let began_ns = chip.lines.iter().filter_map(first_of).map(|first| first.began_ns).min().unwrap_or(0);
                LastLook { chip, bits, began_ns }
            })
            .collect();
        loop {
            let is_last = self.is_over.load(Ordering::Acquire);
            for last in &mut lasts {
                let began_ns = now_ns();
                let bits = last.chip.watched.level_bits()?;
                if bits != last.bits {
                    self.add(last, bits);
                }
                (last.bits, last.began_ns) = (bits, began_ns);
            }
            if is_last {
                return Ok(lasts.iter().map(|last| last.began_ns).min().unwrap_or(0));
            }
            if how == Looks::Resting {
                let now_ns = now_ns();
                due_ns = now_ns + (RESTS * (now_ns - due_ns)).clamp(REST_NS.0, REST_NS.1);
                // A signal that ends it only makes the next look earlier.
                let _ = sleep_until(KernelClock::from(ClockId::Monotonic), &Schedule::at_ns(due_ns));
            }
        }
    }

    fn add(&self, last: &LastLook<'_>, bits: u64) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        for (bit, line) in last.chip.lines.iter().enumerate().filter(|(bit, _)| (bits ^ last.bits) >> bit & 1 == 1) {
            let is_high = bits >> bit & 1 == 1;
            changes.push(LookedChange { line: *line, is_high, after_ns: last.began_ns });
        }
    }
}
