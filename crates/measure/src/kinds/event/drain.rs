//! Takes what both threads of each pair wrote down over from their rings, and makes samples and missed periods of it.
//!
//! It runs in the controller, on the housekeeping CPUs as SCHED_OTHER; the rings hold ten seconds for when it gets no CPU.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use analysis::StallRules;
use kernel::handover::HandOver;
use record::{HandOverTotals, Live, LiveDetail, LiveSeries, Place};
use units::Ns;

use super::finish::{Looked, Run};
use super::pair::{CLOCK, Running};
use super::plan::{EventPlan, PairPlan};
use crate::clock_watch::ClockWatch;
use crate::collect::{Collector, Keeping, MOST_KEPT};
use crate::crew::{Watching, now_ns};
use crate::interval_sink::{FinishedIntervals, IntervalSink};
use crate::live::Observer;
use crate::ring::{Pair, Ring, Slot};
use crate::spoil::{Losses, Spoil};
use crate::timetable::Timetable;
use crate::witness::{LookoutObservations, Measuring, ThrottleWatch};

/// Between two looks at the rings.
const PERIOD: Duration = Duration::from_millis(100);
/// How long after its end a pair may take to end.
const GRACE: Duration = Duration::from_secs(3);

/// What was made of one pair's hand-overs.
pub(super) struct Collecting {
    pub(super) woke: Collector,
    pub(super) returned: Collector,
    /// When each hand-over is due, by which missed schedules are counted.
    table: Timetable,
    /// What the waker wrote down and the sleeper did not yet, and the other way round.
    calls: VecDeque<Pair>,
    wakes: VecDeque<Pair>,
    /// Hand-overs that were made, whatever became of them.
    handed: u64,
    /// Of these, those that found nobody asleep.
    found_nobody: u64,
    /// What found no place in the two rings.
    dropped: u64,
    losses: Losses,
}

impl Collecting {
    pub(super) fn new(plan: &EventPlan, pair: &PairPlan, start_ns: i64, is_handed_on: bool) -> Self {
        let first_ns = start_ns.saturating_add(pair.first_offset_ns);
        let interval_ns = plan.interval_ns.unsigned_abs();
        let table = Timetable { first_ns, interval_ns: plan.interval_ns, offsets: Arc::from([0]) };
        let rules = StallRules {
            // A hand-over is a little later than its schedule, so that a shorter latency can swallow the next one.
            interval_ns: table.shortest_ns().unsigned_abs().max(1),
            deadline_ns: plan.request.deadline.map_or(interval_ns, Ns::unsigned),
            recovered_within_ns: interval_ns,
        };
        let keeping = match (plan.duration_ns, is_handed_on) {
            (Some(_), _) => Keeping::All,
            (None, true) => Keeping::None,
            (None, false) => Keeping::Merged(MOST_KEPT),
        };
        let collector = |rules| {
            Collector::new(pair.pair, Some(pair.cpus.woken), start_ns, plan.interval_maximum_ns, rules)
                .keeping(keeping, is_handed_on)
                .judged_later()
        };
        Self {
            woke: collector(Some(rules)).with_timetable(Some(table.clone())),
            returned: collector(None),
            table,
            calls: VecDeque::new(),
            wakes: VecDeque::new(),
            handed: 0,
            found_nobody: 0,
            dropped: 0,
            losses: Losses::default(),
        }
    }

    /// Takes over what both wrote down. A hand-over is a sample of both latencies, or of none.
    pub(super) fn take(&mut self, calls: &Ring, wakes: &Ring, clocks: &ClockWatch) {
        calls.drain(|slots| self.calls.extend(slots.iter().map(Slot::pair)));
        wakes.drain(|slots| self.wakes.extend(slots.iter().map(Slot::pair)));
        while let (Some(call), Some(wake)) = (self.calls.front().copied(), self.wakes.front().copied()) {
            if call.first_ns <= wake.first_ns {
                self.calls.pop_front();
            }
            if wake.first_ns <= call.first_ns {
                self.wakes.pop_front();
            }
            if call.first_ns == wake.first_ns {
                self.hand_over(call, wake.second_ns, clocks);
            } else if self.dropped > 0 {
                // The other half found no place; that is counted there.
                self.handed += 1;
            }
        }
    }

    fn hand_over(&mut self, call: Pair, woke_ns: i64, clocks: &ClockWatch) {
        let turn = u64::try_from(self.table.turn_of(call.first_ns)).unwrap_or(0);
        self.woke.missed_by_now(turn.saturating_sub(self.handed));
        self.handed += 1;
        if call.second_ns < 0 || woke_ns < 0 {
            self.found_nobody += 1;
        } else {
            self.woke.take(Pair { second_ns: woke_ns, ..call }, clocks);
            self.returned.take(call, clocks);
        }
    }

    /// The end, with the schedules that came up while the waker ran: those without a hand-over that was taken were missed.
    pub(super) fn end(&mut self, schedules: u64, ended_ns: i64) {
        self.woke.missed_by_now(schedules.saturating_sub(self.handed));
        self.woke.end(ended_ns);
        self.returned.end(ended_ns);
    }

    /// What was counted beside the samples, without what only the threads can count.
    pub(super) fn totals(&self) -> HandOverTotals {
        HandOverTotals {
            schedules: self.handed.saturating_add(self.woke.live().missed_periods),
            found_nobody: self.found_nobody,
            ..HandOverTotals::default()
        }
    }

    fn settle(&mut self, until_ns: i64, spoils: &[Spoil]) {
        let all = [spoils, self.losses.spoils()].concat();
        self.woke.settle(until_ns, &all);
        self.returned.settle(until_ns, &all);
        self.losses.forget_before(self.woke.settled_until_ns().min(self.returned.settled_until_ns()));
    }
}

/// What the drain saw.
pub(super) struct Drained {
    pub(super) pairs: Vec<Collecting>,
    pub(super) throttle: ThrottleWatch,
    pub(super) clocks: ClockWatch,
    pub(super) highest_fill: usize,
}

impl Drained {
    /// Decides about the intervals that ended by `until_ns`, by what is known to have spoiled any.
    pub(super) fn settle(&mut self, seen: &LookoutObservations, started_ns: i64, until_ns: i64) {
        let waits: Vec<(i64, i64)> = self.pairs.iter().flat_map(|of| of.woke.worst_waits()).collect();
        let spoils = seen.spoils(started_ns, &waits);
        self.pairs.iter_mut().for_each(|of| of.settle(until_ns, &spoils));
    }

    /// The collectors in the order of the record's series.
    pub(super) fn collectors(&mut self) -> impl Iterator<Item = &mut Collector> {
        let (woke, returned): (Vec<_>, Vec<_>) =
            self.pairs.iter_mut().map(|of| (&mut of.woke, &mut of.returned)).unzip();
        woke.into_iter().chain(returned)
    }
}

/// Drains until all has ended, or is stuck.
pub(super) struct Drain<'a, H> {
    run: &'a Run<'a>,
    running: &'a [Running<H>],
    start_ns: i64,
    drained: Drained,
}

impl<'a, H: HandOver> Drain<'a, H> {
    /// For a run whose first schedule is at `start_ns`; the flag says whether somebody takes its intervals over.
    pub(super) fn new(run: &'a Run<'a>, running: &'a [Running<H>], start_ns: i64, is_handed_on: bool) -> Self {
        let mut throttle = ThrottleWatch::begin(&running.iter().map(measuring).collect::<Vec<_>>());
        throttle.run_begins();
        let collecting = |pair: &Running<H>| Collecting::new(run.plan, &pair.plan, start_ns, is_handed_on);
        let drained = Drained {
            pairs: running.iter().map(collecting).collect(),
            throttle,
            clocks: ClockWatch::new(CLOCK),
            highest_fill: 0,
        };
        Self { run, running, start_ns, drained }
    }

    /// Until the end; with a sink it also hands on what ends.
    pub(super) fn run(
        mut self,
        observer: &mut dyn Observer,
        sink: Option<&dyn IntervalSink>,
        watching: &Watching,
    ) -> Drained {
        let plan = self.run.plan;
        let settles_early = sink.is_some() || plan.duration_ns.is_none();
        let mut intervals = FinishedIntervals::default();
        let mut drained_ns = now_ns(CLOCK);
        let began = Instant::now();
        let mut give_up_at = plan.duration_ns.map(|ns| began + Duration::from_nanos(ns) + GRACE);
        let mut is_told = false;
        loop {
            let is_finished = self.running.iter().all(Running::is_finished);
            self.look(&mut drained_ns);
            if is_finished {
                return self.drained;
            }
            for pair in self.running.iter().filter(|pair| pair.waker.is_finished() && !pair.sleeper.is_finished()) {
                pair.release();
            }
            if settles_early && self.drained.collectors().any(|of| of.has_unsettled()) {
                let seen = watching.seen_so_far();
                self.drained.settle(&seen, self.run.started.monotonic.as_ns(), seen.looked_until_ns());
            }
            if let Some(sink) = sink {
                intervals.collect(self.drained.collectors());
                if intervals.are_due(2 * self.running.len()) {
                    let looked = Looked::of(&self.drained);
                    intervals.hand_to(sink, self.run.so_far(self.running, &self.drained, &looked, watching));
                }
            }
            if !is_told && (self.run.stop.ended_early() || self.run.stop.watchdog_fired()) {
                is_told = true;
                self.running.iter().for_each(Running::end);
                let interval = Duration::from_nanos(plan.interval_ns.unsigned_abs());
                give_up_at = Some(Instant::now() + GRACE + interval);
            }
            if give_up_at.is_some_and(|at| Instant::now() > at) {
                self.give_up(&mut drained_ns);
                return self.drained;
            }
            observer.observe(&self.live(began.elapsed()));
            self.drained.clocks.sleep(PERIOD);
        }
    }

    /// One more word to those that can still hear it, then the record is made without them.
    fn give_up(&mut self, drained_ns: &mut i64) {
        self.running.iter().for_each(Running::end);
        let until = Instant::now() + GRACE;
        while Instant::now() < until && !self.running.iter().all(Running::is_finished) {
            std::thread::sleep(PERIOD);
            // Whose waker is alive is released too by now: it had its time.
            self.running.iter().for_each(Running::release);
        }
        self.look(drained_ns);
    }

    fn look(&mut self, drained_ns: &mut i64) {
        let Self { running, start_ns, drained, .. } = self;
        drained.clocks.look();
        let looked_ns = now_ns(CLOCK);
        let since_ns = std::mem::replace(drained_ns, looked_ns);
        let mut long = Vec::with_capacity(running.len());
        for (of, pair) in drained.pairs.iter_mut().zip(*running) {
            let shared = &pair.shared;
            of.dropped = shared.returned.dropped().saturating_add(shared.woke.dropped());
            of.losses.look(of.dropped, (since_ns, looked_ns), *start_ns);
            let before = of.handed;
            of.take(&shared.returned, &shared.woke, &drained.clocks);
            let taken = usize::try_from(of.handed - before).unwrap_or(usize::MAX);
            drained.highest_fill = drained.highest_fill.max(taken);
            long.push(of.woke.take_long());
        }
        drained.throttle.look(looked_ns, &long);
    }

    fn live(&self, elapsed: Duration) -> Live {
        let plan = self.run.plan;
        let series = self.drained.pairs.iter().zip(self.running).map(|(of, pair)| LiveSeries {
            place: pair.plan.place(),
            detail: LiveDetail::Thread {
                tid: pair.sleeper.tid,
                priority: plan.policy().priority(),
                interval_ns: plan.interval_ns.unsigned_abs(),
            },
            ..of.woke.live()
        });
        Live {
            elapsed_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            duration_ns: plan.duration_ns,
            series: series.collect(),
            bins: Vec::new(),
        }
    }
}

/// What a limit of real-time threads has to know of a woken thread.
fn measuring<H>(pair: &Running<H>) -> Measuring {
    let granted = pair.sleeper.grant.effective(false);
    let is_limited = matches!(granted.policy.as_str(), "fifo" | "rr");
    Measuring {
        tid: pair.sleeper.tid,
        cpu: Some(pair.plan.cpus.woken),
        priority: if is_limited { granted.priority } else { 0 },
    }
}

/// The place of a pair, as the end of a sentence about one of its threads.
pub(super) fn thread_at(place: &Place, role: &str) -> String {
    format!("the {role} thread{}", place.clause())
}
