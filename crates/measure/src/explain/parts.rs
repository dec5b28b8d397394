//! Every wake-up in its parts: the measuring thread writes them down, the drain makes histograms of them.

use std::sync::atomic::{AtomicI64, Ordering};

use record::{HistogramRecorder, PartHistogram};

use crate::ring::{Pair, Ring, RingWriter};

/// The parts by their two points, in the order of time.
const NAMES: [&str; 4] = ["scheduled_to_timer", "timer_to_runnable", "runnable_to_running", "running_to_woke"];

/// A ring for the parts of as many wake-ups as the ring of samples has places; each takes two pairs.
pub(crate) fn parts_ring(slots: usize) -> Ring {
    Ring::new(2 * slots)
}

/// The measuring thread's end. Nothing here allocates, locks, formats, logs or faults.
#[derive(Debug)]
pub(crate) struct PartsWriter<'a> {
    /// When its timer fired, when it was made runnable, when it was switched to (ns, CLOCK_MONOTONIC).
    pub(crate) wake_up: [&'a AtomicI64; 3],
    pub(crate) ring: RingWriter<'a>,
}

impl PartsWriter<'_> {
    /// Writes the four parts of a wake-up down. A moment that belongs to an earlier wake-up makes one of them negative.
    #[inline(always)]
    pub(crate) fn push(&mut self, scheduled_ns: i64, woke_ns: i64) {
        let [timer_ns, runnable_ns, running_ns] = self.wake_up.map(|at| at.load(Ordering::Relaxed));
        self.ring.push(Pair {
            first_ns: timer_ns.wrapping_sub(scheduled_ns),
            second_ns: runnable_ns.wrapping_sub(timer_ns),
        });
        self.ring
            .push(Pair { first_ns: running_ns.wrapping_sub(runnable_ns), second_ns: woke_ns.wrapping_sub(running_ns) });
    }
}

/// The drain's end: one for each thread.
#[derive(Debug, Default)]
pub(crate) struct PartsCollector {
    histograms: [HistogramRecorder; 4],
    /// The first half of a wake-up whose second half had not come when the ring was read.
    half: Option<Pair>,
    /// Wake-ups whose parts were all recorded.
    pub(crate) seen: u64,
}

impl PartsCollector {
    /// Takes over what waits in a ring. Where pairs were dropped, halves of different wake-ups would meet: nothing more is
    /// taken then.
    pub(crate) fn drain(&mut self, ring: &Ring) {
        ring.drain(|slots| {
            if ring.dropped() == 0 {
                slots.iter().for_each(|slot| self.take(slot.pair()));
            }
        });
    }

    fn take(&mut self, pair: Pair) {
        let Some(first) = self.half.take() else {
            self.half = Some(pair);
            return;
        };
        let parts = [first.first_ns, first.second_ns, pair.first_ns, pair.second_ns].map(u64::try_from);
        let [Ok(timer), Ok(runnable), Ok(running), Ok(woke)] = parts else { return };
        self.seen += 1;
        for (histogram, ns) in self.histograms.iter_mut().zip([timer, runnable, running, woke]) {
            histogram.record(ns);
        }
    }

    /// The parts of a thread on a CPU.
    pub(crate) fn finish(&self, thread: u32, cpu: u32) -> Vec<PartHistogram> {
        let of_part = |(name, histogram): (&str, &HistogramRecorder)| PartHistogram {
            name: name.to_owned(),
            thread,
            cpu,
            histogram: histogram.snapshot(),
        };
        NAMES.into_iter().zip(&self.histograms).map(of_part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wake-ups by when they were scheduled, their timer fired, they were made runnable, switched to, and woke.
    fn collected(wake_ups: &[[i64; 5]]) -> PartsCollector {
        let ring = parts_ring(64);
        let moments = [AtomicI64::new(0), AtomicI64::new(0), AtomicI64::new(0)];
        let [timer, runnable, running] = &moments;
        let mut writer = PartsWriter { wake_up: [timer, runnable, running], ring: ring.writer() };
        let mut collector = PartsCollector::default();
        for &[scheduled_ns, timer_ns, runnable_ns, running_ns, woke_ns] in wake_ups {
            timer.store(timer_ns, Ordering::Relaxed);
            runnable.store(runnable_ns, Ordering::Relaxed);
            running.store(running_ns, Ordering::Relaxed);
            writer.push(scheduled_ns, woke_ns);
            collector.drain(&ring);
        }
        collector
    }

    #[test]
    fn the_parts_of_a_wake_up_add_up_to_its_latency() {
        let parts = collected(&[[1_000, 1_700, 1_900, 4_000, 4_600]]);
        assert_eq!(parts.seen, 1);
        let all: Vec<(String, Option<u64>)> =
            parts.finish(0, 2).into_iter().map(|part| (part.name, part.histogram.max_ns())).collect();
        assert_eq!(all.iter().map(|(_, ns)| ns.unwrap()).collect::<Vec<_>>(), [700, 200, 2_100, 600]);
        assert_eq!(all.iter().map(|(_, ns)| ns.unwrap()).sum::<u64>(), 4_600 - 1_000);
        assert_eq!(all[0].0, "scheduled_to_timer");
    }

    #[test]
    fn a_moment_of_an_earlier_wake_up_is_no_part() {
        // The timer, the wake-up and the switch of the wake-up before; the switch alone; all of them fresh.
        let stale = [
            [2_000, 1_700, 1_900, 4_000, 4_600],
            [5_000, 5_100, 5_200, 4_000, 5_400],
            [9_000, 9_100, 9_200, 9_300, 9_400],
        ];
        assert_eq!(collected(&stale).seen, 1);
    }

    #[test]
    fn a_ring_that_is_read_between_two_halves_loses_nothing() {
        let mut collector = PartsCollector::default();
        collector.take(Pair { first_ns: 1, second_ns: 2 });
        assert_eq!(collector.seen, 0);
        collector.take(Pair { first_ns: 3, second_ns: 4 });
        assert_eq!(collector.seen, 1);
    }
}
