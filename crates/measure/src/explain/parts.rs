//! Every wake-up in its parts: the measuring thread writes them down, the drain makes histograms of them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};

use record::{Histogram, HistogramRecorder, PartHistogram};

use crate::ring::{Pair, Ring, RingWriter, Slot};

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

/// The parts of the wake-ups of an interval.
#[derive(Debug)]
struct OfInterval {
    /// The beginning of the interval (ns on the measured clock).
    start_ns: i64,
    histograms: [Histogram; 4],
    seen: u64,
}

/// The drain's end: one for each thread.
#[derive(Debug, Default)]
pub(crate) struct PartsCollector {
    /// Those of the interval that is open.
    histograms: [HistogramRecorder; 4],
    open_seen: u64,
    /// Wake-ups that the ring held so far.
    taken: u64,
    /// Halves of wake-ups whose samples the collector of samples has not seen yet, so that their intervals are not known.
    halves: VecDeque<Pair>,
    /// How many wake-ups there were when an interval ended, and when that had begun, where not all of them came yet.
    ends: VecDeque<IntervalEnd>,
    /// Intervals of which it is not known yet whether they stand.
    waiting: VecDeque<OfInterval>,
    /// Those of the intervals that stand.
    total: [Histogram; 4],
    /// Wake-ups whose parts were all recorded, of the intervals that stand.
    pub(crate) seen: u64,
}

/// The end of an interval, as the collector of samples knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntervalEnd {
    /// Samples until then, since the run began.
    pub(crate) samples: u64,
    /// The beginning of the interval (ns on the measured clock).
    pub(crate) start_ns: i64,
}

impl PartsCollector {
    /// Takes over what waits in a ring. Where pairs were dropped, halves of different wake-ups would meet: nothing more is
    /// taken then.
    /// `ends` are the intervals that ended since the last call; the collector of samples has seen `samples`.
    pub(crate) fn drain(&mut self, ring: &Ring, ends: Vec<IntervalEnd>, samples: u64) {
        ring.drain(|slots| {
            if ring.dropped() == 0 {
                self.halves.extend(slots.iter().map(Slot::pair));
            }
        });
        self.ends.extend(ends);
        while self.taken < samples && self.halves.len() >= 2 {
            self.close_intervals();
            if let Some((first, second)) = self.halves.pop_front().zip(self.halves.pop_front()) {
                self.taken += 1;
                self.take(first, second);
            }
        }
        self.close_intervals();
    }

    /// Closes the intervals of which all wake-ups came.
    fn close_intervals(&mut self) {
        while self.ends.front().is_some_and(|end| end.samples <= self.taken) {
            let Some(end) = self.ends.pop_front() else { return };
            let histograms = self.histograms.each_mut().map(HistogramRecorder::take);
            let seen = std::mem::take(&mut self.open_seen);
            self.waiting.push_back(OfInterval { start_ns: end.start_ns, histograms, seen });
        }
    }

    /// Nothing comes any more: what is there of the first interval that is not whole closes it.
    pub(crate) fn end(&mut self) {
        self.close_intervals();
        if let Some(end) = self.ends.drain(..).next() {
            let histograms = self.histograms.each_mut().map(HistogramRecorder::take);
            self.waiting.push_back(OfInterval { start_ns: end.start_ns, histograms, seen: self.open_seen });
        }
    }

    /// Decides about the intervals that began before `until_ns` (on the measured clock).
    pub(crate) fn settle(&mut self, until_ns: i64, is_spoiled: &dyn Fn(i64) -> bool) {
        while self.waiting.front().is_some_and(|of| of.start_ns < until_ns) {
            let Some(of) = self.waiting.pop_front() else { return };
            if !is_spoiled(of.start_ns) {
                self.seen += of.seen;
                self.total.iter_mut().zip(&of.histograms).for_each(|(total, one)| total.merge(one));
            }
        }
    }

    fn take(&mut self, first: Pair, pair: Pair) {
        let parts = [first.first_ns, first.second_ns, pair.first_ns, pair.second_ns].map(u64::try_from);
        let [Ok(timer), Ok(runnable), Ok(running), Ok(woke)] = parts else { return };
        self.open_seen += 1;
        for (histogram, ns) in self.histograms.iter_mut().zip([timer, runnable, running, woke]) {
            histogram.record(ns);
        }
    }

    /// The parts of a thread on a CPU.
    pub(crate) fn finish(&self, thread: u32, cpu: u32) -> Vec<PartHistogram> {
        let of_part = |(name, histogram): (&str, &Histogram)| PartHistogram {
            name: name.to_owned(),
            thread,
            cpu,
            histogram: histogram.clone(),
        };
        NAMES.into_iter().zip(&self.total).map(of_part).collect()
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
        for (samples, &[scheduled_ns, timer_ns, runnable_ns, running_ns, woke_ns]) in (1..).zip(wake_ups) {
            timer.store(timer_ns, Ordering::Relaxed);
            runnable.store(runnable_ns, Ordering::Relaxed);
            running.store(running_ns, Ordering::Relaxed);
            writer.push(scheduled_ns, woke_ns);
            // Each is an interval by itself, and the last stands too.
            collector.drain(&ring, vec![IntervalEnd { samples, start_ns: scheduled_ns }], samples);
        }
        collector.settle(i64::MAX, &|_| false);
        collector
    }

    #[test]
    fn those_of_a_spoiled_interval_are_in_no_number_whenever_they_come() {
        let ring = parts_ring(64);
        let moments = [AtomicI64::new(0), AtomicI64::new(0), AtomicI64::new(0)];
        let mut writer = PartsWriter { wake_up: [&moments[0], &moments[1], &moments[2]], ring: ring.writer() };
        let mut collector = PartsCollector::default();
        let end = |samples: u64| IntervalEnd { samples, start_ns: i64::try_from(samples).unwrap() * 1_000 };
        for wake_up in 0..30_i64 {
            // Of the second ten each part is a hundred times as long.
            let by = if (10..20).contains(&wake_up) { 100 } else { 1 };
            for (moment, ns) in moments.iter().zip([10, 20, 30]) {
                moment.store(wake_up * 1_000 + ns * by, Ordering::Relaxed);
            }
            writer.push(wake_up * 1_000, wake_up * 1_000 + 40 * by);
        }
        // The parts are there before the samples are: only what the collector of samples has seen is taken.
        collector.drain(&ring, vec![end(10)], 15);
        assert_eq!((collector.taken, collector.waiting.len()), (15, 1));
        collector.drain(&ring, vec![end(20), end(30)], 30);
        collector.settle(20_001, &|start_ns| start_ns == 20_000);
        assert_eq!((collector.seen, collector.waiting.len()), (10, 1));
        collector.settle(i64::MAX, &|start_ns| start_ns == 20_000);
        let parts = collector.finish(0, 2);
        assert_eq!(collector.seen, 20);
        assert!(
            parts.iter().all(|part| part.histogram.count() == 20 && part.histogram.max_ns() == Some(10)),
            "{parts:?}"
        );
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
        let ring = Ring::new(8);
        let (mut writer, mut collector) = (ring.writer(), PartsCollector::default());
        writer.push(Pair { first_ns: 1, second_ns: 2 });
        collector.drain(&ring, Vec::new(), 1);
        assert_eq!((collector.taken, collector.open_seen), (0, 0));
        writer.push(Pair { first_ns: 3, second_ns: 4 });
        collector.drain(&ring, Vec::new(), 1);
        assert_eq!((collector.taken, collector.open_seen), (1, 1));
    }
}
