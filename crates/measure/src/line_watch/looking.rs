//! The thread that reads the levels of watched lines, again and again.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use kernel::clock::{KernelClock, Schedule, sleep_until};
use kernel::sched::{Policy, set_least_timer_slack, set_policy};
use units::ClockId;

use super::looks::{FirstLook, LookedChange};
use super::now_ns;

/// Above all that has no real-time priority, and below the kernel's threads of interrupts: these stamp edges on some chips.
const PRIORITY: u32 = 49;
/// From the end of a look to the next one, at least and at most (ns).
const REST_NS: (i64, i64) = (20_000, 50_000_000);
/// In between so many times what a look takes, so that others have four fifths of the CPU: with less, nodes that run on the same one
/// cannot keep their connection.
const RESTS: i64 = 4;
/// What a look takes is the least of so many: one that was kept from the CPU meanwhile says nothing of that.
const LAST_LOOKS: usize = 4;
/// Levels that could not be read for so long will not be (ns). Before that a look that fails is none, and only makes the bound larger.
const FAILING_NS: i64 = 1_000_000_000;

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
    has_failed: AtomicBool,
}

/// How the looks ended.
pub(super) struct LooksEnded {
    /// When the last look at any of the lines began (ns, CLOCK_MONOTONIC).
    pub(super) last_ns: i64,
    /// Why it was the last one, where it was before its time.
    pub(super) failed: Option<io::Error>,
}

/// How long looks take.
#[derive(Debug, Default)]
struct Cost {
    last_ns: [i64; LAST_LOOKS],
    looks: usize,
}

impl Cost {
    /// Takes over how long a look took; how long the rest after it is.
    fn rest_ns(&mut self, took_ns: i64) -> i64 {
        self.last_ns[self.looks % LAST_LOOKS] = took_ns;
        self.looks += 1;
        let least_ns = self.last_ns.iter().take(self.looks).min().copied().unwrap_or(took_ns);
        RESTS.saturating_mul(least_ns).clamp(REST_NS.0, REST_NS.1)
    }
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
    /// Its number, and which of all lines each of its own is.
    chip: usize,
    lines: &'a [usize],
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

    /// Whether the levels cannot be read any more.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Looks until that is to end, and once more then: `chips` has the lines of each, of so many in all, and `read` their levels as bits;
    /// `begun` is handed the first look at each line. The thread that looks takes that one
    /// too: whatever kept it from beginning, no pulse lies between its first look and its second that is not between two looks.
    pub(super) fn run(
        &self,
        how: Looks,
        (chips, lines): (&[&[usize]], usize),
        read: impl Fn(usize) -> io::Result<u64>,
        begun: impl FnOnce(io::Result<Vec<FirstLook>>),
    ) -> LooksEnded {
        if how == Looks::Resting {
            set_least_timer_slack();
            // Where it is refused looks are farther apart, and the bound that they give is larger.
            let _ = set_policy(Policy::Fifo(PRIORITY));
        }
        let mut lasts = Vec::new();
        let mut first = vec![FirstLook { is_high: false, began_ns: 0 }; lines];
        let mut due_ns = now_ns();
        for (chip, of_chip) in chips.iter().enumerate() {
            let began_ns = now_ns();
            let bits = match read(chip) {
                Ok(bits) => bits,
                Err(error) => {
                    begun(Err(error));
                    return LooksEnded { last_ns: began_ns, failed: None };
                }
            };
            for (bit, line) in of_chip.iter().enumerate() {
                if let Some(first) = first.get_mut(*line) {
                    *first = FirstLook { is_high: bits >> bit & 1 == 1, began_ns };
                }
            }
            lasts.push(LastLook { chip, lines: of_chip, bits, began_ns });
        }
        begun(Ok(first));
        let failed = self.go_on(how, &mut lasts, &read, &mut due_ns).err();
        if failed.is_some() {
            self.has_failed.store(true, Ordering::Release);
        }
        LooksEnded { last_ns: lasts.iter().map(|last| last.began_ns).min().unwrap_or(due_ns), failed }
    }

    /// Looks again and again, until the end.
    fn go_on(
        &self,
        how: Looks,
        lasts: &mut [LastLook<'_>],
        read: &impl Fn(usize) -> io::Result<u64>,
        due_ns: &mut i64,
    ) -> io::Result<()> {
        let (mut cost, mut seen) = (Cost::default(), Vec::new());
        loop {
            let is_last = self.is_over.load(Ordering::Acquire);
            for last in &mut *lasts {
                let began_ns = now_ns();
                match read(last.chip) {
                    Ok(bits) => {
                        last.add_changes(bits, &mut seen);
                        (last.bits, last.began_ns) = (bits, began_ns);
                    }
                    Err(error) if began_ns.saturating_sub(last.began_ns) > FAILING_NS => {
                        self.hand_over(&mut seen, true);
                        return Err(error);
                    }
                    Err(_) => {}
                }
            }
            self.hand_over(&mut seen, is_last);
            if is_last {
                return Ok(());
            }
            if how == Looks::Resting {
                let now_ns = now_ns();
                *due_ns = now_ns + cost.rest_ns(now_ns - *due_ns);
                // A signal that ends it only makes the next look earlier.
                let _ = sleep_until(KernelClock::from(ClockId::Monotonic), &Schedule::at_ns(*due_ns));
            }
        }
    }

    /// Hands over what was seen, if nobody takes the rest just now: the thread that does so has no real-time priority, and is not waited
    /// for but at the end.
    fn hand_over(&self, seen: &mut Vec<LookedChange>, is_last: bool) {
        if seen.is_empty() {
            return;
        }
        match self.changes.try_lock() {
            Ok(mut changes) => changes.append(seen),
            Err(_) if is_last => self.changes.lock().unwrap_or_else(PoisonError::into_inner).append(seen),
            Err(_) => {}
        }
    }
}

impl LastLook<'_> {
    /// What a look with these levels shows.
    fn add_changes(&self, bits: u64, seen: &mut Vec<LookedChange>) {
        for (bit, line) in self.lines.iter().enumerate().filter(|(bit, _)| (bits ^ self.bits) >> bit & 1 == 1) {
            let is_high = bits >> bit & 1 == 1;
            seen.push(LookedChange { line: *line, is_high, after_ns: self.began_ns });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// What comes of readings of one chip with the lines 1 and 0, and no error behind them.
    fn looked(readings: &[Option<u64>]) -> (Vec<FirstLook>, Vec<LookedChange>, LooksEnded, Looking) {
        let (looking, number, first) = (Looking::default(), AtomicUsize::new(0), Mutex::new(Vec::new()));
        let read = |_: usize| {
            let number = number.fetch_add(1, Ordering::Relaxed);
            if number + 2 >= readings.len() {
                looking.end();
            }
            let reading = readings.get(number).or(readings.last()).copied().flatten();
            reading.ok_or_else(|| io::Error::from_raw_os_error(5))
        };
        let begun = |looks: io::Result<Vec<FirstLook>>| *first.lock().unwrap() = looks.unwrap();
        let ended = looking.run(Looks::Spinning, (&[&[1, 0]], 2), read, begun);
        let changes = looking.take();
        (first.into_inner().unwrap(), changes, ended, looking)
    }

    /// Of a pulse that was there already and is over by the second reading both levels are seen.
    #[test]
    fn the_first_look_is_the_one_before_the_second() {
        let (first, changes, ended, _) = looked(&[Some(1), Some(0), Some(2), Some(2)]);
        assert_eq!((first[1].is_high, first[0].is_high, ended.failed.is_none()), (true, false, true));
        let changed: Vec<(usize, bool)> = changes.iter().map(|one| (one.line, one.is_high)).collect();
        assert_eq!(changed, [(1, false), (0, true)]);
        assert_eq!(changes[0].after_ns, first[1].began_ns);
        assert!(changes[1].after_ns > changes[0].after_ns && ended.last_ns > changes[1].after_ns);
    }

    #[test]
    fn a_reading_that_fails_is_no_look_and_ends_nothing() {
        let (first, changes, ended, looking) = looked(&[Some(0), None, None, Some(1), Some(1)]);
        assert!(ended.failed.is_none() && !looking.has_failed());
        assert_eq!(
            (changes.len(), changes[0].after_ns),
            (1, first[1].began_ns),
            "the last look that showed the level before"
        );
    }

    #[test]
    fn readings_that_fail_for_long_end_the_looks_and_what_they_saw_is_kept() {
        let looking = Looking::default();
        let number = AtomicUsize::new(0);
        let read = |_: usize| match number.fetch_add(1, Ordering::Relaxed) {
            0 => Ok(0),
            1 => Ok(1),
            _ => Err(io::Error::from_raw_os_error(19)),
        };
        let ended = looking.run(Looks::Spinning, (&[&[0]], 1), read, |_| ());
        assert!(looking.has_failed() && ended.failed.is_some());
        let changes = looking.take();
        assert_eq!(changes.len(), 1);
        assert!(ended.last_ns > changes[0].after_ns);
    }

    #[test]
    fn looks_have_a_fifth_of_a_cpu_however_long_they_take() {
        for took_ns in [1_000, 30_000, 640_000, 1_000_000, 12_000_000] {
            let mut cost = Cost::default();
            let rest_ns = (0..10).map(|_| cost.rest_ns(took_ns)).min().unwrap();
            assert!(took_ns * 5 <= took_ns + rest_ns, "{took_ns}: {rest_ns}");
        }
    }

    #[test]
    fn a_look_that_was_kept_from_the_cpu_does_not_make_the_next_ones_rare() {
        let mut cost = Cost::default();
        let rests = [10_000, 10_000, 9_000_000, 10_000].map(|took_ns| cost.rest_ns(took_ns));
        assert_eq!(rests, [40_000; 4]);
    }
}
