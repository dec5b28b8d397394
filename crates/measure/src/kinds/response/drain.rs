//! Makes samples and missed periods of what both threads wrote down.

use std::sync::Arc;

use record::{EdgeTotals, LiveSeries, Record};

use super::matching::{Matching, Outcome};
use super::plan::ResponsePlan;
use super::threads::Running;
use crate::clock_watch::ClockWatch;
use crate::collect::Collector;
use crate::crew::drain::{Collecting, CollectorPlan, Draining, Look, Looked, Taken, live_thread, settle_thread};
use crate::crew::{Run, Watching};
use crate::ring::{Pair, Ring, Slot};
use crate::spoil::{Losses, Spoil};
use crate::timetable::Timetable;
use crate::wire::Wire;

/// What was made of the edges.
pub(super) struct Edges {
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

impl Edges {
    pub(super) fn new(plan: &ResponsePlan, start_ns: i64, is_handed_on: bool) -> Self {
        let length = &plan.length;
        let table = Timetable { first_ns: start_ns, interval_ns: length.interval_ns, offsets: Arc::from([0]) };
        let collectors = CollectorPlan { length, thread: 0, cpu: plan.cpu, start_ns, is_handed_on };
        Self {
            whole: collectors.judged_by(&table, plan.request.deadline),
            to_event: collectors.beside(),
            from_event: collectors.beside(),
            returned: collectors.beside(),
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
}

impl Collecting for Edges {
    fn collectors(&mut self) -> Vec<&mut Collector> {
        self.each().into()
    }

    fn worst_waits(&self) -> Vec<(i64, i64)> {
        self.whole.worst_waits().collect()
    }

    fn settle(&mut self, until_ns: i64, spoils: &[Spoil]) {
        let Self { whole, to_event, from_event, returned, losses, .. } = self;
        settle_thread([whole, to_event, from_event, returned], losses, until_ns, spoils);
    }
}

/// Both threads of a run, with what is made of what they write down.
pub(super) struct Wired<'a, W> {
    run: &'a Run<'a, ResponsePlan>,
    running: &'a Running<W>,
    start_ns: i64,
    pub(super) of: Edges,
}

impl<'a, W: Wire> Wired<'a, W> {
    /// Of a run whose first schedule is at `start_ns`; the flag says whether somebody takes its intervals over.
    pub(super) fn new(
        run: &'a Run<'a, ResponsePlan>,
        running: &'a Running<W>,
        start_ns: i64,
        is_handed_on: bool,
    ) -> Self {
        Self { run, running, start_ns, of: Edges::new(run.plan, start_ns, is_handed_on) }
    }
}

impl<W: Wire> Draining for Wired<'_, W> {
    type Of = Edges;

    fn is_finished(&self) -> bool {
        self.running.is_finished()
    }

    fn end(&self) {
        self.running.end();
    }

    fn release(&self, all: bool) {
        if all || self.running.acting.is_finished() {
            self.running.release();
        }
    }

    fn take(&mut self, Look { since_ns, now_ns, clocks }: Look<'_>) -> Taken {
        let (shared, of) = (&self.running.shared, &mut self.of);
        of.dropped = (shared.acted.dropped(), shared.woke.dropped());
        of.losses.look(of.dropped.0.saturating_add(of.dropped.1), (since_ns, now_ns), self.start_ns);
        let before = of.totals.edges;
        of.take(&shared.acted, &shared.woke, clocks);
        Taken { most: of.totals.edges - before, long: vec![of.whole.take_long()] }
    }

    fn of(&mut self) -> &mut Edges {
        &mut self.of
    }

    fn live(&self) -> Vec<LiveSeries> {
        let plan = self.run.plan;
        let member = (self.running.waiting.tid, plan.policy());
        vec![live_thread(member, &plan.length, plan.place(), &self.of.whole)]
    }

    fn so_far(&self, looked: &Looked<'_>, watching: &Watching) -> Record {
        super::finish::so_far(self.run, self.running, &self.of, looked, watching)
    }
}
