//! Makes samples of what the thread that answers wrote down.

use std::collections::VecDeque;

use record::{LiveSeries, Record};

use super::plan::AnswerPlan;
use super::threads::Running;
use crate::clock_watch::ClockWatch;
use crate::collect::Collector;
use crate::crew::drain::{Collecting, CollectorPlan, Draining, Look, Looked, Taken, live_thread, settle_thread};
use crate::crew::{Run, Watching};
use crate::ring::{Pair, Ring, Slot};
use crate::spoil::{Losses, Spoil};
use crate::wire::Wire;

/// What was made of the answers.
pub(super) struct Answers {
    /// From the kernel's stamp of the edge to the answer: what is judged.
    pub(super) whole: Collector,
    /// From the kernel's stamp to the thread.
    pub(super) woke: Collector,
    /// From there to the answer.
    pub(super) done: Collector,
    /// Edges of which one half is not here yet.
    wakes: VecDeque<Pair>,
    answers: VecDeque<Pair>,
    taken: u64,
    dropped: u64,
    losses: Losses,
}

impl Answers {
    pub(super) fn new(plan: &AnswerPlan, start_ns: i64, is_handed_on: bool) -> Self {
        let collectors = CollectorPlan { length: &plan.length, thread: 0, cpu: plan.cpu, start_ns, is_handed_on };
        Self {
            whole: collectors.beside(),
            woke: collectors.beside(),
            done: collectors.beside(),
            wakes: VecDeque::new(),
            answers: VecDeque::new(),
            taken: 0,
            dropped: 0,
            losses: Losses::default(),
        }
    }

    /// Takes over what was written down. An answer is a sample of all latencies, or of none.
    pub(super) fn take(&mut self, woke: &Ring, done: &Ring, clocks: &ClockWatch) {
        woke.drain(|slots| self.wakes.extend(slots.iter().map(Slot::pair)));
        done.drain(|slots| self.answers.extend(slots.iter().map(Slot::pair)));
        while let (Some(wake), Some(answer)) = (self.wakes.front().copied(), self.answers.front().copied()) {
            if wake.first_ns <= answer.first_ns {
                self.wakes.pop_front();
            }
            if answer.first_ns <= wake.first_ns {
                self.answers.pop_front();
            }
            if wake.first_ns == answer.first_ns {
                self.taken += 1;
                self.whole.take(answer, clocks);
                self.woke.take(wake, clocks);
                self.done.take(Pair { first_ns: wake.second_ns, second_ns: answer.second_ns }, clocks);
            }
        }
    }

    pub(super) fn end(&mut self, ended_ns: i64) {
        self.each().into_iter().for_each(|of| of.end(ended_ns));
    }

    fn each(&mut self) -> [&mut Collector; 3] {
        [&mut self.whole, &mut self.woke, &mut self.done]
    }
}

impl Collecting for Answers {
    fn collectors(&mut self) -> Vec<&mut Collector> {
        self.each().into()
    }

    fn worst_waits(&self) -> Vec<(i64, i64)> {
        self.whole.worst_waits().collect()
    }

    fn settle(&mut self, until_ns: i64, spoils: &[Spoil]) {
        let Self { whole, woke, done, losses, .. } = self;
        settle_thread([whole, woke, done], losses, until_ns, spoils);
    }
}

/// The threads of a run, with what is made of what they write down.
pub(super) struct Answered<'a, W> {
    run: &'a Run<'a, AnswerPlan>,
    running: &'a Running<W>,
    start_ns: i64,
    pub(super) of: Answers,
}

impl<'a, W: Wire> Answered<'a, W> {
    /// Of a run that begins at `start_ns`; the flag says whether somebody takes its intervals over.
    pub(super) fn new(
        run: &'a Run<'a, AnswerPlan>,
        running: &'a Running<W>,
        start_ns: i64,
        is_handed_on: bool,
    ) -> Self {
        Self { run, running, start_ns, of: Answers::new(run.plan, start_ns, is_handed_on) }
    }
}

impl<W: Wire> Draining for Answered<'_, W> {
    type Of = Answers;

    fn is_finished(&self) -> bool {
        self.running.is_finished()
    }

    fn end(&self) {
        self.running.end();
    }

    fn release(&self, all: bool) {
        if all {
            self.running.release();
        }
        // Nobody answers any more: the witness is to know.
        if self.running.answering.is_finished() {
            self.running.end();
        }
    }

    fn take(&mut self, Look { since_ns, now_ns, clocks }: Look<'_>) -> Taken {
        let (shared, of) = (&self.running.shared, &mut self.of);
        of.dropped = shared.dropped();
        of.losses.look(of.dropped, (since_ns, now_ns), self.start_ns);
        let before = of.taken;
        of.take(&shared.woke, &shared.done, clocks);
        Taken { most: of.taken - before, long: vec![of.whole.take_long()] }
    }

    fn of(&mut self) -> &mut Answers {
        &mut self.of
    }

    fn live(&self) -> Vec<LiveSeries> {
        let plan = self.run.plan;
        let member = (self.running.answering.tid, plan.policy());
        vec![live_thread(member, &plan.length, plan.place(), &self.of.whole)]
    }

    fn so_far(&self, looked: &Looked<'_>, watching: &Watching) -> Record {
        super::finish::so_far(self.run, self.running, &self.of, looked, watching)
    }
}

#[cfg(test)]
mod tests {
    use record::{AnswerRequest, PolicyChoice, RunEnd};
    use units::Ns;

    use super::*;
    use crate::crew::drain::CLOCK;
    use crate::machine::Machine;

    #[test]
    fn an_edge_that_lacks_a_half_is_no_sample_and_gets_none_of_another_edge() {
        let machine = Machine::read();
        let request = AnswerRequest {
            cpu: machine.usable().first(),
            policy: PolicyChoice::Other,
            end: RunEnd::After(Ns::from_s(1)),
            ..AnswerRequest::default()
        };
        let plan = AnswerPlan::new(request, &machine).unwrap();
        let mut of = Answers::new(&plan, 0, false);
        let (woke, done) = (Ring::new(64), Ring::new(64));
        let (mut woken, mut answered) = (woke.writer(), done.writer());
        for edge in 1..=20 {
            let first_ns = edge * 1_000_000;
            if edge != 4 {
                woken.push(Pair { first_ns, second_ns: first_ns + 2_000 });
            }
            if !(9..=10).contains(&edge) {
                answered.push(Pair { first_ns, second_ns: first_ns + 5_000 });
            }
        }
        of.take(&woke, &done, &ClockWatch::new(CLOCK));
        assert_eq!(of.taken, 17);
        of.end(30_000_000);
        of.settle(i64::MAX, &[]);
        let figures = [of.whole, of.woke, of.done].map(|of| {
            let total = of.finish(30_000_000).total;
            (total.count(), total.min_ns(), total.max_ns())
        });
        assert_eq!(figures, [5_000, 2_000, 3_000].map(|ns| (17, Some(ns), Some(ns))));
    }
}
