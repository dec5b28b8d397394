//! Puts records of wake-up runs together that nobody measured: whoever simulates one draws its intervals and late samples, and what
//! is alike in all of them is made here.

use record::{
    Counters, Effective, Histogram, Interval, LoadManifest, Manifest, Moment, Place, Requested, Series, WorstSample,
};
use units::{ClockId, CpuSet, Ns};

/// A run of pinned threads of SCHED_FIFO, one on each CPU.
#[derive(Clone, Copy, Debug)]
pub struct SyntheticRun<'a> {
    /// When it begins.
    pub started: Moment,
    /// The first measured CPU; the others follow it.
    pub first_cpu: u32,
    /// Number of measured CPUs, at least 1.
    pub cpus: u32,
    /// Kernel id of the first thread; the others follow it.
    pub first_tid: u32,
    /// Period of the wake-ups (ns, at least 1).
    pub interval_ns: u64,
    /// Requested duration (ns).
    pub asked_ns: u64,
    /// Actual duration (ns).
    pub took_ns: u64,
    /// Deadline (ns).
    pub deadline_ns: Option<u64>,
    /// The name of the load, or `none`.
    pub load: &'a str,
}

impl SyntheticRun<'_> {
    /// The moment so long after the start (ns).
    #[must_use]
    pub fn moment(&self, offset_ns: u64) -> Moment {
        self.started.plus(Ns(i64::try_from(offset_ns).unwrap_or(i64::MAX)))
    }

    /// Where a thread measures, by its number from 0.
    #[must_use]
    pub fn place(&self, thread: u32) -> Place {
        Place::thread(thread, Some(self.first_cpu + thread))
    }

    /// The measured CPUs.
    #[must_use]
    pub fn measured_cpus(&self) -> CpuSet {
        (self.first_cpu..self.first_cpu + self.cpus).collect()
    }

    /// What was asked for and granted, and when it was measured.
    #[must_use]
    pub fn manifest(&self) -> Manifest {
        let cpus = self.measured_cpus();
        let effective = |thread| Effective {
            thread,
            tid: self.first_tid + thread,
            policy: "fifo".to_owned(),
            priority: 98,
            affinity: [self.first_cpu + thread].into_iter().collect(),
            memory_locked: true,
        };
        Manifest {
            started: self.started,
            ended: self.moment(self.took_ns),
            requested: Requested {
                cpus,
                threads: self.cpus,
                policy: "fifo".to_owned(),
                priority: 98,
                pinned: true,
                clock: Some(ClockId::Monotonic),
                interval_ns: Some(self.interval_ns),
                duration_ns: Some(self.asked_ns),
                deadline_ns: self.deadline_ns,
                ..Requested::default()
            },
            effective: (0..self.cpus).map(effective).collect(),
            load: LoadManifest { name: self.load.to_owned(), ..LoadManifest::default() },
            ..Manifest::default()
        }
    }

    /// The latencies of a thread, all of them in these intervals. A sample is late beyond the deadline, or without one beyond the
    /// period.
    #[must_use]
    pub fn series(&self, thread: u32, intervals: Vec<Interval>) -> Series {
        let mut series = Series {
            name: "scheduled_to_woke".to_owned(),
            place: self.place(thread),
            interval_ns: Some(self.interval_ns),
            ..Series::default()
        };
        replace_intervals(&mut series, intervals);
        series.counters = Counters {
            samples: series.histogram.count(),
            missed_periods: series.intervals.iter().map(|interval| interval.missed_periods).sum(),
            late_samples: series.histogram.count_above(self.deadline_ns.unwrap_or(self.interval_ns)),
            ..Counters::default()
        };
        series
    }

    /// A late wake-up of a thread that was scheduled so long after the start (ns).
    #[must_use]
    pub fn worst_sample(&self, thread: u32, at_ns: u64, latency_ns: u64) -> WorstSample {
        WorstSample {
            place: self.place(thread),
            latency_ns: i64::try_from(latency_ns).unwrap_or(i64::MAX),
            sample: at_ns / self.interval_ns,
            missed_periods: latency_ns / self.interval_ns,
            name: "scheduled_to_woke".to_owned(),
            from: self.moment(at_ns).into(),
            to: self.moment(at_ns + latency_ns).into(),
            ..WorstSample::default()
        }
    }
}

/// Replaces the intervals of a series, and its samples by theirs; its counters stay.
pub fn replace_intervals(series: &mut Series, intervals: Vec<Interval>) {
    series.histogram = Histogram::new();
    intervals.iter().for_each(|interval| series.histogram.merge(&interval.histogram));
    series.intervals = intervals;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_what_its_intervals_are() {
        let run = SyntheticRun {
            started: Moment::default(),
            first_cpu: 2,
            cpus: 2,
            first_tid: 100,
            interval_ns: 1_000,
            asked_ns: 20_000,
            took_ns: 20_000,
            deadline_ns: None,
            load: "none",
        };
        let interval = |start_offset_ns, latency_ns, missed_periods| {
            let mut histogram = Histogram::new();
            histogram.record_n(latency_ns, 5);
            Interval { start_offset_ns, length_ns: 10_000, missed_periods, histogram, ..Interval::default() }
        };
        let series = run.series(1, vec![interval(0, 400, 0), interval(10_000, 2_500, 2)]);
        let Counters { samples, missed_periods, late_samples, .. } = series.counters;
        assert_eq!((samples, missed_periods, late_samples, series.intervals.len()), (10, 2, 5, 2));
        assert_eq!((series.histogram.max_ns(), series.place.cpu()), (Some(2_500), Some(3)));
        let manifest = run.manifest();
        assert_eq!((manifest.effective.len(), manifest.effective[1].tid), (2, 101));
        assert_eq!(manifest.ended.monotonic.since(manifest.started.monotonic), Ns(20_000));
    }
}
