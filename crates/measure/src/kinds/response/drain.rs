//! Takes what both threads wrote down over from their rings, and makes samples and missed periods of it.
//!
//! It runs in the controller, on the housekeeping CPUs as SCHED_OTHER; the rings hold ten seconds for when it gets no CPU.

use std::sync::Arc;
use std::time::{Duration, Instant};

use analysis::StallRules;
use record::{EdgeTotals, Live, LiveDetail, LiveSeries};
use units::Ns;

use super::finish::{Looked, Run};
use super::matching::{Matching, Outcome};
use super::plan::ResponsePlan;
use super::threads::{CLOCK, Running};
use super::wire::Wire;
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
/// How long after its end a run may take to end, beyond the wait for its last edge.
const GRACE: Duration = Duration::from_secs(3);

/// What was made of the edges.
pub(super) struct Collecting {
    /// From the write to the waiting thread: what is judged.
    pub(super) whole: Collector,
    /// From the write to the kernel's stamp.
    pub(super) to_event: Collector,
    /// From there to the waiting thread.
    pub(super) from_event: Collector,
    /// What the write took.
    pub(super) returned: Collector,
    /// When each edge is due, by which missed schedules are counted.
    table: Timetable,
    matching: Matching,
    totals: EdgeTotals,
    /// Edges and events that found no place in their rings.
    dropped: (u64, u64),
    losses: Losses,
}

impl Collecting {
    pub(super) fn new(plan: &ResponsePlan, start_ns: i64, is_handed_on: bool) -> Self {
        let interval_ns = plan.interval_ns.unsigned_abs();
        let table = Timetable { first_ns: start_ns, interval_ns: plan.interval_ns, offsets: Arc::from([0]) };
        let rules = StallRules {
            // An edge is a little later than its schedule, so that a shorter latency can swallow the next one.
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
            Collector::new(0, Some(plan.cpu), start_ns, plan.interval_maximum_ns, rules)
                .keeping(keeping, is_handed_on)
                .judged_later()
        };
        Self {
            whole: collector(Some(rules)).with_timetable(Some(table.clone())),
            to_event: collector(None),
            from_event: collector(None),
            returned: collector(None),
            table,
            matching: Matching::new(start_ns),
            totals: EdgeTotals::default(),
            dropped: (0, 0),
            losses: Losses::default(),
        }
    }

    /// Takes over what both wrote down. The edges come first: of all that are known then the waiting thread has written its events
    /// down, save that of the last one and of those that were given up.
    pub(super) fn take(&mut self, acted: &Ring, woke: &Ring, clocks: &ClockWatch) {
        acted.drain(|slots| slots.iter().map(Slot::pair).for_each(|edge| self.matching.add_edge(edge)));
        woke.drain(|slots| slots.iter().map(Slot::pair).for_each(|event| self.matching.add_event(event)));
        self.settle_outcomes(clocks);
    }

    fn settle_outcomes(&mut self, clocks: &ClockWatch) {
        while let Some(outcome) = self.matching.next_outcome() {
            match outcome {
                Outcome::Response { edge, event_ns, woke_ns } => {
                    self.count_edge(edge);
                    match woke_ns {
                        Some(woke_ns) => self.sample(edge, event_ns, woke_ns, clocks),
                        None => self.totals.found_awake += 1,
                    }
                }
                Outcome::Lost { edge } => {
                    self.count_edge(edge);
                    self.totals.lost += 1;
                }
                Outcome::Extra => self.totals.extra += 1,
            }
        }
    }

    /// The schedules before an edge that neither it nor another one is of were missed.
    fn count_edge(&mut self, edge: Pair) {
        let turn = u64::try_from(self.table.turn_of(edge.first_ns)).unwrap_or(0);
        self.whole.missed_by_now(turn.saturating_sub(self.totals.edges));
        self.totals.edges += 1;
    }

    fn sample(&mut self, edge: Pair, event_ns: i64, woke_ns: i64, clocks: &ClockWatch) {
        self.whole.take(Pair { second_ns: woke_ns, ..edge }, clocks);
        self.to_event.take(Pair { second_ns: event_ns, ..edge }, clocks);
        self.from_event.take(Pair { first_ns: event_ns, second_ns: woke_ns }, clocks);
        self.returned.take(edge, clocks);
    }

    /// The end, with the schedules that came up while the acting thread ran: those without an edge were missed.
    pub(super) fn end(&mut self, schedules: u64, ended_ns: i64, clocks: &ClockWatch) {
        self.matching.end();
        self.settle_outcomes(clocks);
        self.whole.missed_by_now(schedules.saturating_sub(self.totals.edges));
        self.each().into_iter().for_each(|of| of.end(ended_ns));
    }

    /// What was counted beside the samples, without what only the threads can count. What found no place in a ring makes its
    /// counterpart neither lost nor extra.
    pub(super) fn totals(&self) -> EdgeTotals {
        let (edges, events) = self.dropped;
        EdgeTotals {
            lost: self.totals.lost.saturating_sub(events),
            extra: self.totals.extra.saturating_sub(edges),
            ..self.totals
        }
    }

    fn each(&mut self) -> [&mut Collector; 4] {
        [&mut self.whole, &mut self.to_event, &mut self.from_event, &mut self.returned]
    }

    fn settle(&mut self, until_ns: i64, spoils: &[Spoil]) {
        let all = [spoils, self.losses.spoils()].concat();
        self.each().into_iter().for_each(|of| of.settle(until_ns, &all));
        let settled_ns = self.each().map(|of| of.settled_until_ns()).into_iter().min().unwrap_or(i64::MAX);
        self.losses.forget_before(settled_ns);
    }
}

/// What the drain saw.
pub(super) struct Drained {
    pub(super) of: Collecting,
    pub(super) throttle: ThrottleWatch,
    pub(super) clocks: ClockWatch,
    pub(super) highest_fill: u64,
}

impl Drained {
    /// Decides about the intervals that ended by `until_ns`, by what is known to have spoiled any.
    pub(super) fn settle(&mut self, seen: &LookoutObservations, started_ns: i64, until_ns: i64) {
        let waits: Vec<(i64, i64)> = self.of.whole.worst_waits().collect();
        self.of.settle(until_ns, &seen.spoils(started_ns, &waits));
    }

    /// The collectors in the order of the record's series.
    pub(super) fn collectors(&mut self) -> impl Iterator<Item = &mut Collector> {
        self.of.each().into_iter()
    }
}

/// Drains until both threads have ended, or are stuck.
pub(super) struct Drain<'a, W> {
    run: &'a Run<'a>,
    running: &'a Running<W>,
    start_ns: i64,
    drained: Drained,
}

impl<'a, W: Wire> Drain<'a, W> {
    /// For a run whose first schedule is at `start_ns`; the flag says whether somebody takes its intervals over.
    pub(super) fn new(run: &'a Run<'a>, running: &'a Running<W>, start_ns: i64, is_handed_on: bool) -> Self {
        let granted = running.waiting.grant.effective(false);
        let is_limited = matches!(granted.policy.as_str(), "fifo" | "rr");
        let mut throttle = ThrottleWatch::begin(&[Measuring {
            tid: running.waiting.tid,
            cpu: Some(run.plan.cpu),
            priority: if is_limited { granted.priority } else { 0 },
        }]);
        throttle.run_begins();
        let drained = Drained {
            of: Collecting::new(run.plan, start_ns, is_handed_on),
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
        let last_edge = Duration::from_nanos(plan.lost_after_ns.unsigned_abs() + plan.interval_ns.unsigned_abs());
        let mut intervals = FinishedIntervals::default();
        let mut drained_ns = now_ns(CLOCK);
        let began = Instant::now();
        // Edges that are given up make a number of them take longer.
        let ends_by_time = matches!(plan.request.end, record::RunEnd::After(_));
        let known_ns = plan.duration_ns.filter(|_| ends_by_time);
        let mut give_up_at = known_ns.map(|ns| began + Duration::from_nanos(ns) + last_edge + GRACE);
        let mut is_told = false;
        loop {
            let is_finished = self.running.is_finished();
            self.look(&mut drained_ns);
            if is_finished {
                return self.drained;
            }
            if self.running.acting.is_finished() {
                self.running.release();
            }
            if settles_early && self.drained.collectors().any(|of| of.has_unsettled()) {
                let seen = watching.seen_so_far();
                self.drained.settle(&seen, self.run.started.monotonic.as_ns(), seen.looked_until_ns());
            }
            if let Some(sink) = sink {
                intervals.collect(self.drained.collectors());
                if intervals.are_due(4) {
                    let looked = Looked::of(&self.drained);
                    intervals.hand_to(sink, self.run.so_far(self.running, &self.drained, &looked, watching));
                }
            }
            if !is_told && (self.run.stop.ended_early() || self.run.stop.watchdog_fired()) {
                is_told = true;
                self.running.end();
                give_up_at = Some(Instant::now() + GRACE + last_edge);
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
        self.running.end();
        let until = Instant::now() + GRACE;
        while Instant::now() < until && !self.running.is_finished() {
            std::thread::sleep(PERIOD);
            self.running.release();
        }
        self.look(drained_ns);
    }

    fn look(&mut self, drained_ns: &mut i64) {
        let Self { running, start_ns, drained, .. } = self;
        drained.clocks.look();
        let looked_ns = now_ns(CLOCK);
        let since_ns = std::mem::replace(drained_ns, looked_ns);
        let (shared, of) = (&running.shared, &mut drained.of);
        of.dropped = (shared.acted.dropped(), shared.woke.dropped());
        of.losses.look(of.dropped.0.saturating_add(of.dropped.1), (since_ns, looked_ns), *start_ns);
        let before = of.totals.edges;
        of.take(&shared.acted, &shared.woke, &drained.clocks);
        drained.highest_fill = drained.highest_fill.max(of.totals.edges - before);
        drained.throttle.look(looked_ns, &[of.whole.take_long()]);
    }

    fn live(&self, elapsed: Duration) -> Live {
        let plan = self.run.plan;
        let series = LiveSeries {
            place: plan.place(),
            detail: LiveDetail::Thread {
                tid: self.running.waiting.tid,
                priority: plan.policy().priority(),
                interval_ns: plan.interval_ns.unsigned_abs(),
            },
            ..self.drained.of.whole.live()
        };
        Live {
            elapsed_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            duration_ns: plan.duration_ns,
            series: vec![series],
            bins: Vec::new(),
        }
    }
}
