//! Makes samples and missed periods of what both threads of each pair wrote down.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::handover::HandOver;
use record::{HandOverTotals, LiveSeries, Record};

use super::pair::Running;
use super::plan::{EventPlan, PairPlan};
use crate::clock_watch::ClockWatch;
use crate::collect::Collector;
use crate::crew::drain::{Collecting, CollectorPlan, Draining, Look, Looked, Taken, live_thread, settle_thread};
use crate::crew::{Run, Watching};
use crate::ring::{Pair, Ring, Slot};
use crate::spoil::{Losses, Spoil};
use crate::timetable::Timetable;

/// What was made of one pair's hand-overs.
pub(super) struct HandOvers {
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

impl HandOvers {
    pub(super) fn new(plan: &EventPlan, pair: &PairPlan, start_ns: i64, is_handed_on: bool) -> Self {
        let first_ns = start_ns.saturating_add(pair.first_offset_ns);
        let table = Timetable { first_ns, interval_ns: plan.length.interval_ns, offsets: Arc::from([0]) };
        let (length, thread, cpu) = (&plan.length, pair.pair, pair.cpus.woken);
        let collectors = CollectorPlan { length, thread, cpu, start_ns, is_handed_on };
        Self {
            woke: collectors.judged_by(&table, plan.request.deadline),
            returned: collectors.beside(),
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
        settle_thread([&mut self.woke, &mut self.returned], &mut self.losses, until_ns, spoils);
    }
}

impl Collecting for Vec<HandOvers> {
    fn collectors(&mut self) -> Vec<&mut Collector> {
        let (mut woke, returned): (Vec<_>, Vec<_>) = self.iter_mut().map(|of| (&mut of.woke, &mut of.returned)).unzip();
        woke.extend(returned);
        woke
    }

    fn worst_waits(&self) -> Vec<(i64, i64)> {
        self.iter().flat_map(|of| of.woke.worst_waits()).collect()
    }

    fn settle(&mut self, until_ns: i64, spoils: &[Spoil]) {
        self.iter_mut().for_each(|of| of.settle(until_ns, spoils));
    }
}

/// The pairs of a run, with what is made of what they write down.
pub(super) struct Pairs<'a, H> {
    run: &'a Run<'a, EventPlan>,
    running: &'a [Running<H>],
    start_ns: i64,
    pub(super) of: Vec<HandOvers>,
}

impl<'a, H: HandOver> Pairs<'a, H> {
    /// Of a run whose first schedule is at `start_ns`; the flag says whether somebody takes its intervals over.
    pub(super) fn new(
        run: &'a Run<'a, EventPlan>,
        running: &'a [Running<H>],
        start_ns: i64,
        is_handed_on: bool,
    ) -> Self {
        let of = running.iter().map(|pair| HandOvers::new(run.plan, &pair.plan, start_ns, is_handed_on)).collect();
        Self { run, running, start_ns, of }
    }
}

impl<H: HandOver> Draining for Pairs<'_, H> {
    type Of = Vec<HandOvers>;

    fn is_finished(&self) -> bool {
        self.running.iter().all(Running::is_finished)
    }

    fn end(&self) {
        self.running.iter().for_each(Running::end);
    }

    fn release(&self, all: bool) {
        let waits_in_vain = |pair: &&Running<H>| all || pair.waker.is_finished() && !pair.sleeper.is_finished();
        self.running.iter().filter(waits_in_vain).for_each(Running::release);
    }

    fn take(&mut self, Look { since_ns, now_ns, clocks }: Look<'_>) -> Taken {
        let mut taken = Taken::default();
        for (of, pair) in self.of.iter_mut().zip(self.running) {
            let shared = &pair.shared;
            of.dropped = shared.returned.dropped().saturating_add(shared.woke.dropped());
            of.losses.look(of.dropped, (since_ns, now_ns), self.start_ns);
            let before = of.handed;
            of.take(&shared.returned, &shared.woke, clocks);
            taken.most = taken.most.max(of.handed - before);
            taken.long.push(of.woke.take_long());
        }
        taken
    }

    fn of(&mut self) -> &mut Vec<HandOvers> {
        &mut self.of
    }

    fn live(&self) -> Vec<LiveSeries> {
        let plan = self.run.plan;
        let series = |(of, pair): (&HandOvers, &Running<H>)| {
            live_thread((pair.sleeper.tid, plan.policy()), &plan.length, pair.plan.place(), &of.woke)
        };
        self.of.iter().zip(self.running).map(series).collect()
    }

    fn so_far(&self, looked: &Looked<'_>, watching: &Watching) -> Record {
        super::finish::so_far(self.run, self.running, &self.of, looked, watching)
    }
}
