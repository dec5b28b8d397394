//! The loop that takes what the threads of a run wrote down over from their rings, for kinds that have nothing else to look at
//! meanwhile.
//!
//! It runs in the controller, on the housekeeping CPUs as SCHED_OTHER; the rings hold ten seconds for when it gets no CPU.

use std::time::{Duration, Instant};

use analysis::StallRules;
use kernel::sched::Policy;
use record::{Live, LiveDetail, LiveSeries, Place, Record};
use units::ClockId;

use super::give_up::{GRACE, GiveUp};
use super::plan::Length;
use super::{Run, Watching, now_ns};
use crate::clock_watch::ClockWatch;
use crate::collect::{Collector, Keeping, MOST_KEPT};
use crate::interval_sink::{FinishedIntervals, IntervalSink};
use crate::live::Observer;
use crate::ring::Pair;
use crate::spoil::{Losses, Spoil};
use crate::timetable::Timetable;
use crate::witness::{Grant, LookoutObservations, Measuring, ThrottleWatch};

/// Between two looks at the rings.
const PERIOD: Duration = Duration::from_millis(100);

/// The clock of all stamps of kinds that are drained here.
pub(crate) const CLOCK: ClockId = ClockId::Monotonic;

/// What was made of what the threads of a run wrote down.
pub(crate) trait Collecting {
    /// The collectors in the order of the record's series.
    fn collectors(&mut self) -> Vec<&mut Collector>;

    /// The waits of the worst samples of what is judged, from and to (ns).
    fn worst_waits(&self) -> Vec<(i64, i64)>;

    /// Decides about the intervals that ended by `until_ns`.
    fn settle(&mut self, until_ns: i64, spoils: &[Spoil]);
}

/// The threads of a run, with what is made of what they write down.
pub(crate) trait Draining {
    /// What is made of it.
    type Of: Collecting;

    /// Whether all threads have ended.
    fn is_finished(&self) -> bool;

    /// Ends the loops that follow a timetable, which then end the others, and the waiting of threads that have not begun.
    fn end(&self);

    /// Ends the waits of threads that wait for one which has ended, or of all.
    fn release(&self, all: bool);

    /// Takes over what was written down.
    fn take(&mut self, looked: Look<'_>) -> Taken;

    /// What was made of it until now.
    fn of(&mut self) -> &mut Self::Of;

    /// What the view shows while it goes on.
    fn live(&self) -> Vec<LiveSeries>;

    /// The record of a run that still goes on, judged as if it had been cut short now.
    fn so_far(&self, looked: &Looked<'_>, watching: &Watching) -> Record;
}

/// A look at the rings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look<'a> {
    /// The look before (ns).
    pub(crate) since_ns: i64,
    /// This one (ns).
    pub(crate) now_ns: i64,
    /// How the clocks go.
    pub(crate) clocks: &'a ClockWatch,
}

/// What was taken over in one look.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// The most samples of one ring.
    pub(crate) most: u64,
    /// The long waits of each measured thread.
    pub(crate) long: Vec<Vec<Pair>>,
}

/// What was looked at beside the samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looked<'a> {
    pub(crate) throttle: &'a ThrottleWatch,
    pub(crate) clocks: &'a ClockWatch,
    pub(crate) highest_fill: u64,
}

/// What the loop saw.
pub(crate) struct Drained<T> {
    pub(crate) of: T,
    pub(crate) throttle: ThrottleWatch,
    pub(crate) clocks: ClockWatch,
    pub(crate) highest_fill: u64,
}

impl<T> Drained<T> {
    /// What was looked at beside the samples.
    pub(crate) const fn looked(&self) -> Looked<'_> {
        Looked { throttle: &self.throttle, clocks: &self.clocks, highest_fill: self.highest_fill }
    }

    /// With something else made of the samples.
    pub(crate) fn map<U>(self, make: impl FnOnce(T) -> U) -> Drained<U> {
        let Self { of, throttle, clocks, highest_fill } = self;
        Drained { of: make(of), throttle, clocks, highest_fill }
    }
}

/// Drains the rings of a run until its threads have ended, or are stuck.
pub(crate) struct Drain<'a, P, T> {
    run: &'a Run<'a, P>,
    length: Length,
    /// How long a thread may take to come round to its end.
    last_turn: Duration,
    drained: Drained<T>,
}

impl<'a, P, T: Draining> Drain<'a, P, T> {
    /// Of threads whose waits, on these CPUs, are measured.
    pub(crate) fn new(run: &'a Run<'a, P>, length: Length, last_turn: Duration, measured: &[Measuring], of: T) -> Self {
        let mut throttle = ThrottleWatch::begin(measured);
        throttle.run_begins();
        let drained = Drained { of, throttle, clocks: ClockWatch::new(CLOCK), highest_fill: 0 };
        Self { run, length, last_turn, drained }
    }

    /// Until the end; with a sink it also hands on what ends.
    pub(crate) fn run(
        mut self,
        observer: &mut dyn Observer,
        sink: Option<&dyn IntervalSink>,
        watching: &Watching,
    ) -> Drained<T> {
        let settles_early = sink.is_some() || self.length.duration_ns.is_none();
        let mut intervals = FinishedIntervals::default();
        let mut drained_ns = now_ns(CLOCK);
        let began = Instant::now();
        let mut give_up = GiveUp::new(began, self.length.end, self.length.duration_ns, self.last_turn);
        let mut is_told = false;
        loop {
            let is_finished = self.drained.of.is_finished();
            give_up.took(self.look(&mut drained_ns), Instant::now());
            if is_finished {
                return self.drained;
            }
            self.drained.of.release(false);
            if settles_early && self.drained.of.of().collectors().iter().any(|of| of.has_unsettled()) {
                let seen = watching.seen_so_far();
                settle(self.drained.of.of(), &seen, self.run.started_ns(), seen.looked_until_ns());
            }
            if let Some(sink) = sink {
                let collectors = self.drained.of.of().collectors();
                let series = collectors.len();
                intervals.collect(collectors.into_iter());
                if intervals.are_due(series) {
                    intervals.hand_to(sink, self.drained.of.so_far(&self.drained.looked(), watching));
                }
            }
            if !is_told && (self.run.stop.ended_early() || self.run.stop.watchdog_fired()) {
                is_told = true;
                self.drained.of.end();
                give_up.told(Instant::now());
            }
            if give_up.is_due(Instant::now()) {
                self.go_on_without(&mut drained_ns);
                return self.drained;
            }
            observer.observe(&Live {
                elapsed_ns: u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX),
                duration_ns: self.length.duration_ns,
                series: self.drained.of.live(),
                bins: Vec::new(),
            });
            self.drained.clocks.sleep(PERIOD);
        }
    }

    /// One more word to those that can still hear it, then the record is made without them.
    fn go_on_without(&mut self, drained_ns: &mut i64) {
        self.drained.of.end();
        let until = Instant::now() + GRACE;
        while Instant::now() < until && !self.drained.of.is_finished() {
            std::thread::sleep(PERIOD);
            // Those whose counterpart is alive are released too by now: it had its time.
            self.drained.of.release(true);
        }
        self.look(drained_ns);
    }

    /// Looks at the rings once; how many samples there were.
    fn look(&mut self, drained_ns: &mut i64) -> u64 {
        let Drained { of, throttle, clocks, highest_fill } = &mut self.drained;
        clocks.look();
        let now_ns = now_ns(CLOCK);
        let since_ns = std::mem::replace(drained_ns, now_ns);
        let taken = of.take(Look { since_ns, now_ns, clocks });
        *highest_fill = (*highest_fill).max(taken.most);
        throttle.look(now_ns, &taken.long);
        taken.most
    }
}

/// Decides about the intervals that ended by `until_ns`, by what is known to have spoiled any.
pub(crate) fn settle(of: &mut impl Collecting, seen: &LookoutObservations, started_ns: i64, until_ns: i64) {
    let spoils = seen.spoils(started_ns, &of.worst_waits());
    of.settle(until_ns, &spoils);
}

/// The same of the collectors of one thread, whose ring has losses of its own.
pub(crate) fn settle_thread<const N: usize>(
    of: [&mut Collector; N],
    losses: &mut Losses,
    until_ns: i64,
    spoils: &[Spoil],
) {
    let all = [spoils, losses.spoils()].concat();
    let settled_ns = of.map(|of| {
        of.settle(until_ns, &all);
        of.settled_until_ns()
    });
    losses.forget_before(settled_ns.into_iter().min().unwrap_or(i64::MAX));
}

/// What the view shows of a thread while the run goes on.
pub(crate) fn live_thread(member: (u32, Policy), length: &Length, place: Place, judged: &Collector) -> LiveSeries {
    let (tid, policy) = member;
    let interval_ns = length.interval_ns.unsigned_abs();
    LiveSeries { place, detail: LiveDetail::Thread { tid, priority: policy.priority(), interval_ns }, ..judged.live() }
}

/// How the collectors of one thread are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CollectorPlan<'a> {
    pub(crate) length: &'a Length,
    /// Number of the thread, from 0.
    pub(crate) thread: u32,
    /// The CPU that the thread is pinned to.
    pub(crate) cpu: u32,
    /// When the run begins (ns).
    pub(crate) start_ns: i64,
    /// Whether somebody takes its intervals over.
    pub(crate) is_handed_on: bool,
}

impl CollectorPlan<'_> {
    /// For a latency beside the one that is judged.
    pub(crate) fn beside(&self) -> Collector {
        self.of(None)
    }

    /// For the latency that is judged, of samples that are due by a table.
    pub(crate) fn judged_by(&self, table: &Timetable, deadline: Option<units::Ns>) -> Collector {
        let interval_ns = self.length.interval_ns.unsigned_abs();
        let rules = StallRules {
            // A sample begins a little later than its schedule, so that a shorter latency can swallow the next one.
            interval_ns: table.shortest_ns().unsigned_abs().max(1),
            deadline_ns: deadline.map_or(interval_ns, units::Ns::unsigned),
            recovered_within_ns: interval_ns,
        };
        self.of(Some(rules)).with_timetable(Some(table.clone()))
    }

    fn of(&self, rules: Option<StallRules>) -> Collector {
        let keeping = match (self.length.duration_ns, self.is_handed_on) {
            (Some(_), _) => Keeping::All,
            (None, true) => Keeping::None,
            (None, false) => Keeping::Merged(MOST_KEPT),
        };
        Collector::new(self.thread, Some(self.cpu), self.start_ns, self.length.interval_maximum_ns, rules)
            .keeping(keeping, self.is_handed_on)
            .judged_later()
    }
}

/// What a limit of real-time threads has to know of a measured thread.
pub(crate) fn measuring(tid: u32, cpu: u32, grant: &Grant) -> Measuring {
    let granted = grant.effective(false);
    let is_limited = matches!(granted.policy.as_str(), "fifo" | "rr");
    Measuring { tid, cpu: Some(cpu), priority: if is_limited { granted.priority } else { 0 } }
}
