//! When the record so far is told, while a program is followed.
//!
//! Threads come, change their policy and go, so that which of them count is known at the end alone: no interval of a thread can be
//! handed on for good, as other measurements do. The whole record so far is told instead, each time in the place of the one before.

use std::time::{Duration, Instant};

use record::Record;

use crate::interval_sink::IntervalSink;

/// Between two times, at least: each is written to a disk as a whole.
const SHORTEST: Duration = Duration::from_secs(5);
/// What a kill may take of a long run.
const LONGEST: Duration = Duration::from_secs(60);
/// The first one comes no earlier: many programs are over by then.
const FIRST: Duration = Duration::from_secs(1);
/// A record is told at most so often as part of the run so far: what a kill takes of a short run is little, too.
const PART: u32 = 60;
/// Making one takes at most one part of so many of the thread that reads the events.
const LEAST_PAUSES: u32 = 100;

/// Tells the record so far, each time in the place of the one before.
pub(super) struct Telling<'a> {
    sink: &'a dyn IntervalSink,
    /// When the next one is due, after the beginning.
    next: Duration,
}

impl<'a> Telling<'a> {
    /// The first one is due once an interval of a run of such intervals (ns) has ended.
    pub(super) fn new(sink: &'a dyn IntervalSink, interval_maximum_ns: u64) -> Self {
        Self { sink, next: Duration::from_nanos(interval_maximum_ns).clamp(FIRST, LONGEST) }
    }

    /// Tells what `so_far` makes, where one is due so long after the beginning.
    pub(super) fn look(&mut self, elapsed: Duration, so_far: impl FnOnce() -> Record) {
        if elapsed < self.next {
            return;
        }
        let began = Instant::now();
        self.sink.replace(so_far());
        self.next = elapsed + pause(elapsed, began.elapsed());
    }
}

/// How long until the next one, of a run that has lasted so long, where making one took `cost`.
fn pause(elapsed: Duration, cost: Duration) -> Duration {
    (elapsed / PART).clamp(SHORTEST, LONGEST).max(cost.saturating_mul(LEAST_PAUSES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_loses_a_minute_at_most_and_pays_a_hundredth() {
        let (second, cheap) = (Duration::from_secs(1), Duration::from_millis(5));
        assert_eq!(pause(second, cheap), SHORTEST);
        assert_eq!(pause(second * 1_200, cheap), second * 20);
        assert_eq!(pause(second * 86_400, cheap), LONGEST);
        assert_eq!(pause(second * 86_400, second * 2), second * 200);
    }
}
