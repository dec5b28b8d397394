//! Takes the samples over from the rings and makes histograms, intervals, rows and worst samples of them.
//!
//! It runs on the housekeeping CPUs as SCHED_OTHER; the rings hold ten seconds of samples for when it gets no CPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use analyse::{Row, StallRules, StallTotals, StallTracker};
use record::{Histogram, HistogramRecorder, Interval, Moment, WorstSample};

use super::arm::{Worker, WorkerShared};
use super::plan::Plan;
use crate::clock_watch::ClockWatch;
use crate::linear::{LinearHistogram, SampleTap};
use crate::live::{LiveThread, Shown};
use crate::ring::Pair;
use crate::stop::Stop;
use crate::worst::Worst;

/// Time between two looks at the rings.
const PERIOD: Duration = Duration::from_millis(50);
/// Between two looks at where the threads run.
const AFFINITY_PERIOD: Duration = Duration::from_secs(1);
/// Between two live views.
const SHOW_PERIOD: Duration = Duration::from_millis(200);
/// How long after its end a thread may take to end.
const GRACE: Duration = Duration::from_secs(3);
/// Corrected samples that are added for one stall: a stepped clock can swallow schedules without end.
const MAX_CORRECTIONS: u64 = 1_000_000;

/// The samples of one thread, accumulated.
#[derive(Debug)]
pub(crate) struct Accumulated {
    pub(crate) total: Histogram,
    pub(crate) below_zero: Histogram,
    pub(crate) swallowed: Histogram,
    pub(crate) corrections_left_out: u64,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) stalls: StallTotals,
    pub(crate) rows: Vec<Row>,
    pub(crate) worst: Vec<WorstSample>,
    pub(crate) max_at: Option<Moment>,
    pub(crate) samples: u64,
    pub(crate) linear: Option<LinearHistogram>,
}

/// What the drain saw.
#[derive(Debug)]
pub(crate) struct Drained {
    pub(crate) threads: Vec<Accumulated>,
    pub(crate) clocks: ClockWatch,
    pub(crate) highest_fill: usize,
    /// Threads that ran elsewhere than they were pinned to, in words.
    pub(crate) moved: Vec<String>,
    /// Threads that did not end.
    pub(crate) stuck: Vec<u32>,
}

struct Accumulator {
    shared: Arc<WorkerShared>,
    tid: u32,
    first_ns: i64,
    interval_maximum_ns: u64,
    interval_end_ns: i64,
    total: HistogramRecorder,
    current: HistogramRecorder,
    current_missed: u64,
    tracker: StallTracker,
    worst: Worst,
    last_ns: i64,
    tap: Option<SampleTap>,
    out: Accumulated,
}

impl Accumulator {
    fn new(shared: &Arc<WorkerShared>, tid: u32, plan: &Plan, first_ns: i64, tap: Option<SampleTap>) -> Self {
        let interval_ns = shared.plan.interval_ns;
        let rules = StallRules {
            interval_ns,
            deadline_ns: plan.config.deadline.map_or(interval_ns, units::Ns::unsigned),
            recovered_within_ns: plan.config.recovered_within.map_or(interval_ns, units::Ns::unsigned),
        };
        Self {
            shared: Arc::clone(shared),
            tid,
            first_ns,
            interval_maximum_ns: plan.interval_maximum_ns,
            interval_end_ns: first_ns.saturating_add_unsigned(plan.interval_maximum_ns),
            total: HistogramRecorder::new(),
            current: HistogramRecorder::new(),
            current_missed: 0,
            tracker: StallTracker::new(rules),
            worst: Worst::new(),
            last_ns: 0,
            tap,
            out: Accumulated {
                total: Histogram::new(),
                below_zero: Histogram::new(),
                swallowed: Histogram::new(),
                corrections_left_out: 0,
                intervals: Vec::new(),
                stalls: StallTotals::default(),
                rows: Vec::new(),
                worst: Vec::new(),
                max_at: None,
                samples: 0,
                linear: plan.config.linear_bins.map(LinearHistogram::new),
            },
        }
    }

    #[inline]
    fn take(&mut self, pair: Pair, clocks: &ClockWatch) {
        while pair.first_ns >= self.interval_end_ns {
            self.close_interval(self.interval_maximum_ns);
        }
        let latency_ns = pair.second_ns - pair.first_ns;
        self.last_ns = latency_ns;
        match u64::try_from(latency_ns) {
            Ok(latency) => self.current.record(latency),
            Err(_) => self.out.below_zero.record_n(latency_ns.unsigned_abs(), 1),
        }
        let missed = self.tracker.sample(pair.first_ns, pair.second_ns);
        if latency_ns > self.worst.above_ns || missed > 0 {
            self.notable(pair, latency_ns, missed, clocks);
        }
        if let Some(linear) = &mut self.out.linear {
            linear.record(latency_ns);
        }
        if let Some(tap) = &self.tap {
            tap.send(self.shared.plan.thread, self.out.samples, latency_ns);
        }
        self.out.samples += 1;
    }

    #[cold]
    fn notable(&mut self, pair: Pair, latency_ns: i64, missed: u64, clocks: &ClockWatch) {
        self.current_missed += missed;
        let interval_ns = self.shared.plan.interval_ns;
        let corrections = missed.min(MAX_CORRECTIONS);
        self.out.corrections_left_out += missed - corrections;
        for swallowed in 1..=corrections {
            self.out.swallowed.record_n(latency_ns.unsigned_abs() - swallowed * interval_ns, 1);
        }
        if latency_ns > self.worst.above_ns {
            self.worst.keep(WorstSample {
                thread: self.shared.plan.thread,
                cpu: self.shared.plan.cpu,
                latency_ns,
                sample: self.out.samples,
                missed_periods: missed,
                scheduled: clocks.moment(pair.first_ns),
                woke: clocks.moment(pair.second_ns),
            });
        }
    }

    fn close_interval(&mut self, length_ns: u64) {
        let start = self.interval_end_ns.saturating_sub_unsigned(self.interval_maximum_ns);
        let start_offset_ns = u64::try_from(start - self.first_ns).unwrap_or(0);
        // An interval without any sample (a long stall, a stepped clock) is kept as an empty one: time does not shrink.
        if self.out.intervals.len() < MAX_INTERVALS {
            self.out.intervals.push(Interval {
                start_offset_ns,
                length_ns,
                missed_periods: self.current_missed,
                histogram: self.current.snapshot(),
            });
            self.interval_end_ns = self.interval_end_ns.saturating_add_unsigned(self.interval_maximum_ns);
        } else {
            // Beyond all that was planned for, as after a clock step of years: what follows is one last interval.
            self.interval_end_ns = i64::MAX;
        }
        self.total.merge(&self.current);
        self.current.clear();
        self.current_missed = 0;
    }

    fn finish(mut self, ended_ns: i64) -> Accumulated {
        if !self.current.is_empty() {
            let start = self.interval_end_ns.saturating_sub_unsigned(self.interval_maximum_ns);
            let length = u64::try_from(ended_ns.saturating_sub(start)).unwrap_or(0).min(self.interval_maximum_ns);
            self.close_interval(length);
        }
        self.out.total = self.total.snapshot();
        (self.out.stalls, self.out.rows) = self.tracker.finish();
        self.out.worst = self.worst.into_sorted();
        self.out.max_at = self.out.worst.first().map(|worst| worst.woke);
        self.out
    }

    fn live(&self) -> LiveThread {
        let (total, current) = (&self.total, &self.current);
        let count = (total.count() + current.count()).max(1);
        let sum_ns = total.sum_ns() + current.sum_ns();
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min().unwrap_or(0);
        LiveThread {
            thread: self.shared.plan.thread,
            tid: self.tid,
            priority: self.shared.plan.policy.priority(),
            cpu: self.shared.plan.cpu,
            interval_ns: self.shared.plan.interval_ns,
            samples: self.out.samples,
            last_ns: self.last_ns,
            min_ns: least(total.min_ns(), current.min_ns()),
            mean_ns: units::approx_f64(sum_ns) / units::approx_f64(count),
            max_ns: total.max_ns().max(current.max_ns()).unwrap_or(0),
            missed_periods: self.tracker.totals().missed_periods,
        }
    }
}

/// More intervals than any plan that memory bounds.
const MAX_INTERVALS: usize = 1_000_000;

/// What the drain is given.
pub(crate) struct Drain<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) workers: &'a [Worker],
    pub(crate) engine_stop: &'a AtomicBool,
    pub(crate) stop: &'a Stop,
    pub(crate) shown: &'a Shown,
    /// Whether the live view wants bins.
    pub(crate) show_bins: bool,
    pub(crate) start_ns: i64,
    pub(crate) tap: Option<SampleTap>,
}

impl Drain<'_> {
    /// Drains until every thread has ended, or is stuck.
    pub(crate) fn run(self) -> Drained {
        let mut clocks = ClockWatch::new(self.plan.config.clock);
        let mut threads: Vec<Accumulator> = self
            .workers
            .iter()
            .map(|worker| {
                Accumulator::new(&worker.shared, worker.effective.tid, self.plan, self.start_ns, self.tap.clone())
            })
            .collect();
        let began = Instant::now();
        let (mut looked_at, mut shown_at) = (began, began);
        let mut give_up_at = self.plan.duration_ns.map(|ns| began + Duration::from_nanos(ns) + GRACE);
        let mut stop_sent = false;
        let mut moved = Vec::new();
        let mut highest_fill = 0;
        loop {
            let finished = self.workers.iter().all(|worker| worker.handle.is_finished());
            clocks.look();
            for thread in &mut threads {
                let shared = Arc::clone(&thread.shared);
                highest_fill = highest_fill.max(shared.ring.drain(|pair| thread.take(pair, &clocks)));
            }
            if finished {
                break;
            }
            let now = Instant::now();
            let any_broke_off =
                self.plan.config.breaktrace.is_some() && self.workers.iter().any(|w| w.handle.is_finished());
            if !stop_sent && (self.stop.ended_early() || self.stop.watchdog_fired() || any_broke_off) {
                stop_sent = true;
                self.engine_stop.store(true, Ordering::Release);
                give_up_at = Some(now + GRACE + Duration::from_nanos(self.longest_interval_ns()));
            }
            if give_up_at.is_some_and(|at| now > at) {
                // One more word to those that can still hear it, then the record is made without them.
                self.engine_stop.store(true, Ordering::Release);
                std::thread::sleep(GRACE);
                break;
            }
            if now.duration_since(looked_at) >= AFFINITY_PERIOD && moved.len() < 16 {
                looked_at = now;
                moved.extend(self.workers.iter().filter_map(moved_away));
            }
            if now.duration_since(shown_at) >= SHOW_PERIOD {
                shown_at = now;
                self.show(&threads, began.elapsed());
            }
            std::thread::sleep(PERIOD);
        }
        self.show(&threads, began.elapsed());
        let stuck = self.workers.iter().filter(|w| !w.handle.is_finished()).map(|w| w.shared.plan.thread).collect();
        let ended_ns = kernel::clock::now_ns(self.plan.config.clock.into());
        Drained {
            threads: threads.into_iter().map(|t| t.finish(ended_ns)).collect(),
            clocks,
            highest_fill,
            moved,
            stuck,
        }
    }

    fn longest_interval_ns(&self) -> u64 {
        self.plan.threads.iter().map(|thread| thread.interval_ns).max().unwrap_or(0)
    }

    fn show(&self, threads: &[Accumulator], elapsed: Duration) {
        self.shown.publish(|view| {
            view.elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
            view.duration_ns = self.plan.duration_ns;
            view.threads = threads.iter().map(Accumulator::live).collect();
            if self.show_bins {
                let mut all = Histogram::new();
                for thread in threads {
                    all.merge(&thread.total.snapshot());
                    all.merge(&thread.current.snapshot());
                }
                view.bins = all.bins().collect();
            }
        });
    }
}

/// Where a pinned thread may now run elsewhere (its CPU went offline, somebody moved it), in words.
fn moved_away(worker: &Worker) -> Option<String> {
    let cpu = worker.shared.plan.cpu?;
    let affinity = kernel::sched::affinity_of(worker.effective.tid).ok()?;
    // A thread that was never let onto its CPU is told of already.
    if affinity == worker.effective.affinity || (affinity.len() == 1 && affinity.contains(cpu)) {
        return None;
    }
    let online =
        std::fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|t| t.parse::<units::CpuSet>().ok());
    let why = match online {
        Some(online) if !online.contains(cpu) => format!("CPU {cpu} went offline"),
        _ => "somebody changed its affinity".to_owned(),
    };
    Some(format!("thread {} left CPU {cpu} for {affinity}: {why}", worker.shared.plan.thread))
}
