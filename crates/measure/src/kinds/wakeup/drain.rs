//! Takes the samples over from the rings and makes histograms, intervals, rows and worst samples of them.
//!
//! It runs on the housekeeping CPUs as SCHED_OTHER; the rings hold ten seconds of samples for when it gets no CPU.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use analysis::StallRules;
use analysis::rhythm::KEPT_WAKEUPS;
use record::{ExplainingCost, Explanation, Histogram, LiveDetail, LiveSeries, Moment, Record};
use units::ClockId;

use super::arm::Worker;
use super::plan::{Plan, ThreadPlan};
use crate::clock_watch::ClockWatch;
use crate::collect::{Collected, Collector, Keeping, MOST_KEPT};
use crate::crew::give_up::{GRACE, GiveUp};
use crate::decider::Decider;
use crate::explain::{Explainer, FOLLOWED, Known, PartsCollector};
use crate::interval_sink::{FinishedIntervals, IntervalSink};
use crate::judge::ClockFacts;
use crate::linear::{EqualBins, LinearBins, LinearHistogram, SampleTap};
use crate::live::Shown;
use crate::ring::Pair;
use crate::spoil::{Losses, Spoil};
use crate::stop::Stop;
use crate::witness::{LookoutObservations, Measuring, ThrottleWatch};

/// Time between two looks at the rings.
const PERIOD: Duration = Duration::from_millis(100);
/// The same where outliers are explained: until one is read, the next is not recorded.
const EXPLAINING_PERIOD: Duration = Duration::from_millis(20);
/// Between two looks at what latency is typical, which does not change so fast and takes long to find.
const TYPICAL_PERIOD: Duration = Duration::from_secs(1);
/// Between two looks at what may have spoiled intervals.
const SETTLE_PERIOD: Duration = Duration::from_millis(250);
/// Between two live views.
const SHOW_PERIOD: Duration = Duration::from_millis(200);
/// What the drain saw.
pub(crate) struct Drained {
    /// Closed: no sample comes any more, and the last intervals wait to be settled.
    collectors: Vec<Collector>,
    /// What was lost of each thread's samples.
    losses: Vec<Losses>,
    ended_ns: i64,
    /// One for each thread, where equal bins were asked.
    pub(crate) linear: Vec<LinearHistogram>,
    pub(crate) clocks: ClockWatch,
    pub(crate) highest_fill: usize,
    /// Threads that did not end.
    pub(crate) stuck: Vec<u32>,
    pub(crate) explainer: Option<Explainer>,
    /// One for each thread whose wake-ups' parts are recorded.
    pub(crate) parts: Vec<Option<PartsCollector>>,
    /// Whether the kernel stopped measuring threads to leave others some time.
    pub(crate) throttle: ThrottleWatch,
}

impl Drained {
    /// What stands of each thread, now that all is known that can have spoiled it.
    pub(crate) fn settle(&mut self, plan: &Plan, seen: &LookoutObservations, started: Moment) -> Vec<Collected> {
        let mut collectors = std::mem::take(&mut self.collectors);
        let spoils = spoils(plan, seen, &self.clocks, started, &collectors);
        for (thread, losses) in collectors.iter_mut().zip(&self.losses) {
            thread.settle(i64::MAX, &[&spoils[..], losses.spoils()].concat());
        }
        if let Some(explainer) = &mut self.explainer {
            settle_explained(explainer, &collectors);
        }
        settle_parts(&mut self.parts, &collectors);
        collectors.into_iter().map(|thread| thread.finish(self.ended_ns)).collect()
    }
}

/// Counts what was explained of the intervals that are settled and stand.
fn settle_explained(explainer: &mut Explainer, threads: &[Collector]) {
    let until_ns = threads.iter().map(Collector::settled_until_ns).min().unwrap_or(i64::MAX);
    let is_spoiled = |thread: u32, at_ns: i64| {
        usize::try_from(thread).ok().and_then(|at| threads.get(at)).is_some_and(|thread| thread.is_spoiled_at(at_ns))
    };
    explainer.settle(until_ns, &is_spoiled);
}

/// Counts the parts of the wake-ups of the intervals that are settled and stand.
fn settle_parts(parts: &mut [Option<PartsCollector>], threads: &[Collector]) {
    for (parts, thread) in parts.iter_mut().zip(threads) {
        if let Some(parts) = parts {
            parts.settle(thread.settled_until_ns(), &|start_ns| thread.is_spoiled_at(start_ns));
        }
    }
}

/// What spoiled the time of all threads, as far as it is known.
fn spoils(
    plan: &Plan,
    seen: &LookoutObservations,
    clocks: &ClockWatch,
    started: Moment,
    threads: &[Collector],
) -> Vec<Spoil> {
    let clock = plan.config.clock;
    let waits: Vec<(i64, i64)> = threads.iter().flat_map(Collector::worst_waits).collect();
    let of_machine = seen.spoils(started.monotonic.as_ns(), &waits).into_iter();
    let mut all: Vec<Spoil> = of_machine.map(|spoil| spoil.ahead_by(clocks.measured_less_monotonic_ns())).collect();
    if clock.can_step() {
        let facts = ClockFacts { name: clock.to_string(), steps: clocks.steps(), started };
        all.extend(facts.spoils(clocks.stepped_at_ns()));
    }
    all
}

/// What a run that goes on has come to.
pub(crate) struct SoFar<'a> {
    /// What each thread has up to the end of its last finished interval.
    pub(crate) threads: Vec<Collected>,
    pub(crate) clocks: &'a ClockWatch,
    pub(crate) throttle: &'a ThrottleWatch,
    pub(crate) highest_fill: usize,
    pub(crate) watchdog_fired: bool,
}

/// Who takes finished intervals over, and who makes the record of what was measured until then.
#[derive(Clone, Copy)]
pub(crate) struct HandOn<'a> {
    pub(crate) sink: &'a dyn IntervalSink,
    pub(crate) record: &'a (dyn Fn(SoFar<'_>) -> Record + Sync),
}

/// What the drain is given.
pub(crate) struct Drain<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) workers: &'a [Worker],
    /// No schedule after this (ns on the measured clock); lowered to end the run.
    pub(crate) last_schedule_ns: &'a AtomicI64,
    pub(crate) stop: &'a Stop,
    pub(crate) shown: &'a Shown,
    /// Whether the live view wants bins.
    pub(crate) show_bins: bool,
    /// Bins of equal width that are filled beside.
    pub(crate) equal_bins: Option<LinearBins>,
    pub(crate) start_ns: i64,
    /// From now to the start of the run.
    pub(crate) wait: Duration,
    pub(crate) tap: Option<&'a SampleTap>,
    /// Who can end the run before its time.
    pub(crate) decider: Option<&'a dyn Decider>,
    pub(crate) explainer: Option<Explainer>,
    /// Where finished intervals go before the end.
    pub(crate) hand_on: Option<HandOn<'a>>,
    /// What explaining costs, where that was measured.
    pub(crate) cost: Option<ExplainingCost>,
    /// Whether somebody wants to know before the end which intervals stand, and the lookout says until when it has seen all.
    pub(crate) settles_early: bool,
    /// What the lookout has seen until now.
    pub(crate) seen: &'a (dyn Fn() -> LookoutObservations + Sync),
    /// When the run began.
    pub(crate) started: Moment,
}

impl Drain<'_> {
    /// Drains until every thread has ended, or is stuck.
    pub(crate) fn run(mut self) -> Drained {
        // First: it looks through all threads of the machine, for which there is time before the first schedule.
        let mut throttle = ThrottleWatch::begin(&self.workers.iter().map(measuring).collect::<Vec<_>>());
        let mut clocks = ClockWatch::new(self.plan.config.clock);
        let mut threads: Vec<Collector> = self.workers.iter().map(|worker| self.collector(worker, &clocks)).collect();
        let mut taps: Vec<Tap<'_>> = self.workers.iter().map(|worker| Tap::new(&self, worker)).collect();
        let mut parts: Vec<Option<PartsCollector>> =
            self.workers.iter().map(|worker| worker.shared.parts.as_ref().map(|_| PartsCollector::default())).collect();
        let began = Instant::now();
        let (mut looked_at, mut shown_at, mut seen_at) = (began, began, began);
        let last_turn = Duration::from_nanos(self.longest_interval_ns());
        let mut give_up = GiveUp::new(began + self.wait, self.plan.config.end, self.plan.duration_ns, last_turn);
        let (mut stop_sent, mut decided) = (false, false);
        let mut highest_fill = 0;
        let mut finished_intervals = FinishedIntervals::default();
        let mut losses: Vec<Losses> = self.workers.iter().map(|_| Losses::default()).collect();
        let mut settled_at = began;
        let mut drained_ns = self.measured_now_ns();
        let mut explainer = self.explainer.take();
        let mut typical_ns: Vec<Option<i64>> = vec![None; threads.len()];
        if let Some(explainer) = &mut explainer {
            explainer.begin();
        }
        loop {
            let finished = self.workers.iter().all(|worker| worker.member.is_finished());
            let steps = clocks.steps().len();
            clocks.look();
            let now_ns = self.measured_now_ns();
            if clocks.steps().len() > steps {
                threads.iter_mut().for_each(|thread| thread.utc_changed(clocks.utc_ahead_ns(), now_ns));
            }
            let since_ns = std::mem::replace(&mut drained_ns, now_ns).min(now_ns);
            for (losses, worker) in losses.iter_mut().zip(self.workers) {
                losses.look(worker.shared.ring.dropped(), (since_ns, now_ns), self.start_ns);
            }
            let mut taken = 0;
            for ((thread, tap), worker) in threads.iter_mut().zip(&mut taps).zip(self.workers) {
                let ring = &worker.shared.ring;
                let drained = ring.drain(|slots| {
                    // The choice is made once for many samples: nobody else pays for what older tools need.
                    if tap.is_open() {
                        slots.iter().for_each(|slot| tap.take(slot.pair()));
                    }
                    thread.take_all(slots, &clocks);
                });
                taken = taken.max(drained);
            }
            highest_fill = highest_fill.max(taken);
            self.drain_parts(&mut parts, &mut threads);
            let long: Vec<_> = threads.iter_mut().map(Collector::take_long).collect();
            throttle.look(kernel::clock::now_ns(ClockId::Monotonic.into()), &long);
            if let Some(explainer) = &mut explainer {
                let known: Vec<Known> = threads
                    .iter()
                    .zip(&typical_ns)
                    .zip(self.workers)
                    .filter(|(_, worker)| worker.shared.watched.is_some())
                    .map(|((thread, typical_ns), _)| thread.known(FOLLOWED, *typical_ns))
                    .collect();
                explainer.look(&clocks, &known);
            }
            if finished {
                break;
            }
            if settled_at.elapsed() >= SETTLE_PERIOD {
                settled_at = Instant::now();
                self.settle(&mut threads, &mut losses, &clocks, explainer.as_mut(), &mut parts);
            }
            if let Some(to) = self.hand_on {
                finished_intervals.collect(threads.iter_mut());
                if finished_intervals.are_due(threads.len()) {
                    let so_far = SoFar {
                        threads: threads.iter().map(Collector::collected).collect(),
                        clocks: &clocks,
                        throttle: &throttle,
                        highest_fill,
                        watchdog_fired: self.stop.watchdog_fired(),
                    };
                    self.hand(to, &mut finished_intervals, so_far, explainer.as_mut());
                }
            }
            let now = Instant::now();
            give_up.took(u64::try_from(taken).unwrap_or(u64::MAX), now);
            let looks = self.hand_on.and_then(|to| to.sink.looks_every().map(|every| (to.sink, every)));
            if let Some((sink, _)) = looks.filter(|(_, every)| now.duration_since(seen_at) >= *every) {
                seen_at = now;
                let open = |(number, thread): (usize, &Collector)| {
                    thread.open().into_iter().map(move |interval| (number, interval))
                };
                sink.look(threads.iter().enumerate().flat_map(open).collect(), self.started);
            }
            let any_broke_off =
                self.plan.config.breaktrace.is_some() && self.workers.iter().any(|worker| worker.member.is_finished());
            if !stop_sent && (decided || self.stop.ended_early() || self.stop.watchdog_fired() || any_broke_off) {
                stop_sent = true;
                self.end_all();
                give_up.told(now);
            }
            if give_up.is_due(now) {
                // One more word to those that can still hear it, then the record is made without them.
                self.end_all();
                std::thread::sleep(GRACE);
                break;
            }
            if explainer.is_some() && now.duration_since(looked_at) >= TYPICAL_PERIOD {
                looked_at = now;
                typical_ns = threads.iter().map(|thread| Some(thread.known(FOLLOWED, None).typical_ns)).collect();
            }
            if now.duration_since(shown_at) >= SHOW_PERIOD {
                shown_at = now;
                decided = decided || self.has_enough(&threads);
                self.show(&threads, now.duration_since(began));
            }
            clocks.sleep(if explainer.is_some() { EXPLAINING_PERIOD } else { PERIOD });
        }
        self.show(&threads, began.elapsed());
        let stuck = self.workers.iter().filter(|w| !w.member.is_finished()).map(|w| w.shared.plan.thread).collect();
        let ended_ns = self.measured_now_ns();
        threads.iter_mut().for_each(|thread| thread.end(ended_ns));
        self.drain_parts(&mut parts, &mut threads);
        parts.iter_mut().flatten().for_each(PartsCollector::end);
        let counted = taps.into_iter().filter_map(|tap| tap.linear);
        let linear = threads.iter().filter_map(Collector::linear).chain(counted).collect();
        let collectors = threads;
        Drained { linear, collectors, losses, ended_ns, clocks, highest_fill, stuck, explainer, parts, throttle }
    }

    fn measured_now_ns(&self) -> i64 {
        kernel::clock::now_ns(self.plan.config.clock.into())
    }

    /// Decides about the intervals that have ended, as far as all is known that can have spoiled them.
    fn settle(
        &self,
        threads: &mut [Collector],
        losses: &mut [Losses],
        clocks: &ClockWatch,
        explainer: Option<&mut Explainer>,
        parts: &mut [Option<PartsCollector>],
    ) {
        if !self.settles_early || !threads.iter().any(Collector::has_unsettled) {
            return;
        }
        let seen = (self.seen)();
        let until_ns = seen.looked_until_ns().saturating_add(clocks.measured_less_monotonic_ns());
        let spoils = spoils(self.plan, &seen, clocks, self.started, threads);
        for (thread, losses) in threads.iter_mut().zip(losses) {
            thread.settle(until_ns, &[&spoils[..], losses.spoils()].concat());
            losses.forget_before(thread.settled_until_ns());
        }
        if let Some(explainer) = explainer {
            settle_explained(explainer, threads);
        }
        settle_parts(parts, threads);
    }

    /// Takes over what the threads wrote down of the parts of their wake-ups, once their samples are taken.
    fn drain_parts(&self, parts: &mut [Option<PartsCollector>], threads: &mut [Collector]) {
        for ((parts, thread), worker) in parts.iter_mut().zip(threads).zip(self.workers) {
            if let Some((parts, ring)) = parts.as_mut().zip(worker.shared.parts.as_ref()) {
                let (ends, samples) = thread.take_ends();
                parts.drain(ring, ends, samples);
            }
        }
    }

    /// Hands finished intervals on, with the record of what was measured until then.
    fn hand(
        &self,
        to: HandOn<'_>,
        intervals: &mut FinishedIntervals,
        so_far: SoFar<'_>,
        explainer: Option<&mut Explainer>,
    ) {
        let mut record = (to.record)(so_far);
        if let Some(explainer) = explainer {
            let counters = |thread| record.counters_of_thread(thread);
            let explained = explainer.so_far(counters, self.plan.interval_maximum_ns);
            let explanation = Explanation { cost: self.cost.clone(), ..explained };
            crate::explain::judge(&explanation, &mut record.validity);
            record.late_samples.explanation = Some(explanation);
        }
        intervals.hand_to(to.sink, record);
    }

    /// Ends the loops, and the waiting of those that have not begun.
    fn end_all(&self) {
        self.last_schedule_ns.store(i64::MIN, Ordering::Release);
        self.workers.iter().for_each(|worker| worker.member.call_off());
    }

    fn longest_interval_ns(&self) -> u64 {
        self.plan.threads.iter().map(|thread| thread.interval_ns).max().unwrap_or(0)
    }

    fn collector(&self, worker: &Worker, clocks: &ClockWatch) -> Collector {
        let collector = collector(self.plan, &worker.shared.plan, self.start_ns, self.equal_bins);
        collector
            .keeping(self.keeping(), self.hand_on.is_some())
            .judged_later()
            .noting_ends(worker.shared.parts.is_some())
            .on_utc(self.plan.config.intervals_on_utc.then(|| clocks.utc_ahead_ns()))
    }

    /// Which intervals stay in memory: all of them if the plan says how many there will be, for the finished record.
    fn keeping(&self) -> Keeping {
        match (self.plan.duration_ns, self.hand_on) {
            // Who decides looks at all of them.
            _ if self.decider.is_some() => Keeping::All,
            (Some(_), _) => Keeping::All,
            (None, Some(_)) => Keeping::None,
            (None, None) => Keeping::Merged(MOST_KEPT),
        }
    }

    fn has_enough(&self, threads: &[Collector]) -> bool {
        let Some(decider) = self.decider else { return false };
        let finished: Vec<_> = threads.iter().map(Collector::finished).collect();
        let worst_ns = threads.iter().map(|thread| thread.live().max_ns()).max().unwrap_or(0);
        decider.look(&finished, worst_ns)
    }

    fn show(&self, threads: &[Collector], elapsed: Duration) {
        self.shown.publish(|view| {
            view.elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
            view.duration_ns = self.plan.duration_ns;
            view.series = threads
                .iter()
                .zip(self.workers)
                .map(|(thread, worker)| LiveSeries {
                    detail: LiveDetail::Thread {
                        tid: worker.member.tid,
                        priority: worker.shared.plan.policy.priority(),
                        interval_ns: worker.shared.plan.interval_ns,
                    },
                    ..thread.live()
                })
                .collect();
            if self.show_bins {
                let mut all = Histogram::new();
                threads.iter().for_each(|thread| all.merge(&thread.histogram()));
                view.bins = all.bins().collect();
            }
        });
    }
}

/// What collects the samples of a thread, as the plan wants them.
pub(super) fn collector(plan: &Plan, thread: &ThreadPlan, start_ns: i64, equal_bins: Option<LinearBins>) -> Collector {
    let config = &plan.config;
    let timetable = thread.timetable(start_ns);
    let shortest_ns = timetable.as_ref().and_then(|table| u64::try_from(table.shortest_ns()).ok());
    let rules = StallRules {
        interval_ns: shortest_ns.unwrap_or(thread.interval_ns),
        deadline_ns: config.deadline.map_or(thread.interval_ns, units::Ns::unsigned),
        recovered_within_ns: config.recovered_within.map_or(thread.interval_ns, units::Ns::unsigned),
    };
    Collector::new(thread.thread, thread.cpu, start_ns, plan.interval_maximum_ns, Some(rules))
        .with_timetable(timetable)
        .with_equal_bins(equal_bins.and_then(EqualBins::new))
        .keeping_late(if config.scan_rhythms { KEPT_WAKEUPS / plan.threads.len().max(1) } else { 0 })
}

/// What looks at each sample of a thread before it is collected, for output in the form of older tools.
struct Tap<'a> {
    thread: u32,
    samples: u64,
    linear: Option<LinearHistogram>,
    sink: Option<&'a SampleTap>,
}

impl<'a> Tap<'a> {
    fn new(drain: &Drain<'a>, worker: &Worker) -> Self {
        let counted = drain.equal_bins.filter(|bins| EqualBins::new(*bins).is_none());
        let linear = counted.map(LinearHistogram::new);
        Self { thread: worker.shared.plan.thread, samples: 0, linear, sink: drain.tap }
    }

    fn is_open(&self) -> bool {
        self.linear.is_some() || self.sink.is_some()
    }

    fn take(&mut self, pair: Pair) {
        let latency_ns = pair.second_ns - pair.first_ns;
        if let Some(linear) = &mut self.linear {
            linear.record(latency_ns);
        }
        if let Some(sink) = self.sink {
            sink.send(self.thread, self.samples, latency_ns);
        }
        self.samples += 1;
    }
}

/// What a limit of real-time threads has to know of a measuring thread.
fn measuring(worker: &Worker) -> Measuring {
    let granted = worker.member.grant.effective(false);
    let is_limited = matches!(granted.policy.as_str(), "fifo" | "rr");
    Measuring {
        tid: worker.member.tid,
        cpu: worker.shared.plan.cpu,
        priority: if is_limited { granted.priority } else { 0 },
    }
}
