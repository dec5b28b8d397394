//! Reads the recorders after outliers, and concludes. It runs where the drain runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use analysis::cause::{self, BelowKernel, Evidence, Late, Receiver, Surroundings, Thread, Totals};
use flight::ring::Slot;
use kernel::sched::Policy;
use record::{CauseTotal, ExplainedSample, ExplainingCost, Explanation, ReceiveMode};
use units::{ClockId, CpuSet};

use super::below::Below;
use super::counters::Counters;
use super::names::Names;
use super::recorder::{Caught, Recorder};
use super::watch::Watched;
use crate::clock_watch::ClockWatch;
use crate::interval_sink::CUT_SHORT;
use record::{EvidenceSource, ExplainRequest};

/// So many worst samples of each thread are followed where no threshold is given.
pub(crate) const FOLLOWED: usize = 8;
/// Of each thread and interval so many explained samples have room where the worst of each interval are wanted: each of them was later
/// than all before it in its interval, and of a million samples in a random order fourteen are.
const OF_EACH_INTERVAL: usize = 64;
/// Intervals from here on are long enough to read names of functions at their ends (ns): that takes long.
const NAMES_FROM_NS: u64 = 10_000_000_000;
/// A threshold that follows is set after so many samples.
const LEAST_SAMPLES: u64 = 100;

/// What the latencies of a measuring thread begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// The time for which it asked to be woken.
    Timer,
    /// The kernel's stamp of a packet, which any CPU may have taken; how the thread waits for packets.
    Arrival(ReceiveMode),
}

/// A measuring thread, as the explainer knows it.
#[derive(Clone, Debug)]
pub(crate) struct Followed {
    pub(crate) thread: u32,
    pub(crate) begin: Begin,
    /// Absent where it may run on any.
    pub(crate) cpu: Option<u32>,
    /// Between two of its schedules (ns); absent where they come at random.
    pub(crate) interval_ns: Option<i64>,
    pub(crate) own: Thread,
    pub(crate) watched: Arc<Watched>,
}

impl Followed {
    /// The CPU that it woke on at the outlier that waits.
    pub(super) fn woke_on(&self) -> u32 {
        self.cpu.unwrap_or_else(|| self.watched.cpu.load(Ordering::Relaxed))
    }

    /// The CPU whose recorder is enough for it; `None` where those of all CPUs are needed.
    fn recorded_on(&self) -> Option<u32> {
        self.cpu.filter(|_| self.begin == Begin::Timer)
    }
}

/// An explained sample whose interval is not settled.
#[derive(Debug)]
struct Waiting {
    /// When its thread was to wake (ns on the measured clock).
    scheduled_ns: i64,
    sample: ExplainedSample,
    place: BelowKernel,
}

/// Explains outliers while a run goes.
#[derive(Debug)]
pub(crate) struct Explainer {
    recorder: Arc<Recorder>,
    config: ExplainRequest,
    threads: Vec<Followed>,
    /// The CPUs of these threads, as far as they are pinned; else all that are recorded.
    measured: CpuSet,
    names: Names,
    totals: Totals,
    /// Explained samples of which it is not known yet whether the interval that they are in stands; `None` where it is not asked.
    waiting: Option<Vec<Waiting>>,
    /// Outliers of intervals that do not stand.
    apart: u64,
    /// What is counted of firmware, heat and the hypervisor.
    below: Below,
    /// Read every time where there is nothing else.
    counters: Option<Counters>,
    /// By CPU: since when its recorder writes again (ns, CLOCK_MONOTONIC).
    armed_ns: BTreeMap<u32, i64>,
}

impl Explainer {
    /// Causes are counted with how many of their samples exceed `deadline_ns`, where one is stated.
    pub(crate) fn new(
        recorder: Arc<Recorder>,
        config: ExplainRequest,
        threads: Vec<Followed>,
        deadline_ns: Option<u64>,
    ) -> Self {
        let totals = Totals::with_deadline(deadline_ns);
        let more = if config.each_interval { OF_EACH_INTERVAL * threads.len() } else { 0 };
        let pinned: Option<CpuSet> = threads.iter().map(|of| of.cpu).collect();
        let measured = pinned.unwrap_or_else(|| recorder.cpus().clone());
        Self {
            counters: (recorder.source() == EvidenceSource::Counters).then(|| Counters::new(&threads)),
            below: Below::new(&measured),
            measured,
            recorder,
            config,
            threads,
            names: Names::default(),
            totals: totals.keeping_more(more),
            waiting: None,
            apart: 0,
            armed_ns: BTreeMap::new(),
        }
    }

    /// Samples wait until [`settle`](Self::settle) says whether the intervals that they are in stand.
    pub(crate) fn judged_later(self) -> Self {
        Self { waiting: Some(Vec::new()), ..self }
    }

    /// Counts the samples that wait and were scheduled before `until_ns` (on the measured clock), but for those that
    /// `is_spoiled` says of, by the thread's number and that moment.
    pub(crate) fn settle(&mut self, until_ns: i64, is_spoiled: &dyn Fn(u32, i64) -> bool) {
        let Some(waiting) = &mut self.waiting else { return };
        let mut rest = Vec::new();
        for one in std::mem::take(waiting) {
            if one.scheduled_ns >= until_ns {
                rest.push(one);
            } else if is_spoiled(one.sample.thread, one.scheduled_ns) {
                self.apart += 1;
            } else {
                self.totals.add(one.sample, one.place);
            }
        }
        self.waiting = Some(rest);
    }

    fn count(&mut self, scheduled_ns: i64, sample: ExplainedSample, place: BelowKernel) {
        match &mut self.waiting {
            Some(waiting) => waiting.push(Waiting { scheduled_ns, sample, place }),
            None => self.totals.add(sample, place),
        }
    }

    /// Arms the recorders.
    pub(crate) fn begin(&mut self) {
        self.recorder.begin(&self.threads.iter().map(|of| of.own.tid).collect::<Vec<_>>());
        for of in self.threads.clone() {
            self.follow_functions_of(&of);
            self.arm(&of);
        }
    }

    /// The CPUs that a thread may be on.
    fn cpus_of(&self, of: &Followed) -> Vec<u32> {
        of.recorded_on().map_or_else(|| self.recorder.cpus().iter().collect(), |cpu| vec![cpu])
    }

    fn follow_functions_of(&self, of: &Followed) {
        // No timer is looked for where a packet begins it.
        let above_ns = match of.begin {
            Begin::Timer => of.watched.above_ns.load(Ordering::Relaxed),
            Begin::Arrival(_) => i64::MAX,
        };
        for cpu in self.cpus_of(of) {
            self.recorder.follow_functions_above(cpu, above_ns);
        }
    }

    /// Records again, where this thread had stopped it.
    fn arm(&mut self, of: &Followed) {
        let cpus = self.cpus_of(of);
        cpus.iter().for_each(|cpu| self.recorder.arm(*cpu));
        let now_ns = kernel::clock::now_ns(ClockId::Monotonic.into());
        self.armed_ns.extend(cpus.iter().map(|cpu| (*cpu, now_ns)));
        if let Some(taken) = self.recorder.taken(of.recorded_on()) {
            taken.store(false, Ordering::Release);
        }
    }

    /// What was recorded around a sample: of the thread's CPU, or of all that it may have been on.
    fn caught(&self, of: &Followed, from_ns: i64) -> BTreeMap<u32, Caught> {
        let of_cpu = |cpu: u32| {
            let caught = self.recorder.caught(cpu, from_ns)?;
            let armed_ns = self.armed_ns.get(&cpu).filter(|_| self.recorder.stops());
            Some((cpu, caught.since(armed_ns.copied().unwrap_or(i64::MIN), from_ns)))
        };
        self.cpus_of(of).into_iter().filter_map(of_cpu).collect()
    }

    /// Looks at every thread; `typical_ns` and the worst few of each are the drain's to know.
    pub(crate) fn look(&mut self, clocks: &ClockWatch, known: &[Known]) {
        let waits = |of: &&Followed| of.watched.waits.load(Ordering::Acquire);
        let late: CpuSet = self.threads.iter().filter(waits).map(Followed::woke_on).collect();
        self.below.look(&late);
        if let Some(counters) = &mut self.counters {
            counters.look(&self.threads);
        }
        for (of, known) in self.threads.clone().iter().zip(known) {
            if of.watched.waits.load(Ordering::Acquire) {
                let (scheduled_ns, woke_ns) =
                    (of.watched.scheduled_ns.load(Ordering::Relaxed), of.watched.woke_ns.load(Ordering::Relaxed));
                let (scheduled, woke) = (clocks.moment(scheduled_ns), clocks.moment(woke_ns));
                // An outlier that came while the counters were being read waits for the next reading.
                if self.counters.as_ref().is_some_and(|counters| !counters.reach(woke.monotonic.as_ns())) {
                    continue;
                }
                let cpu = of.woke_on();
                // Where recording goes on meanwhile, the next outlier need not wait until this one is read: after minutes
                // without one that takes as long as the kernel's buffer is large.
                let goes_on = self.recorder.records() && !self.recorder.stops();
                if goes_on {
                    of.watched.waits.store(false, Ordering::Release);
                }
                let caught = self.caught(of, scheduled.monotonic.as_ns() - cause::LEAD_NS);
                let late = Late {
                    thread: of.thread,
                    cpu,
                    scheduled,
                    woke,
                    scheduled_ns,
                    latency_ns: woke_ns - scheduled_ns,
                    typical_ns: known.typical_ns,
                    interval_ns: of.interval_ns,
                    own: of.own.clone(),
                };
                // Before it is looked through: names may have to be read for it.
                self.arm(of);
                if !goes_on {
                    of.watched.waits.store(false, Ordering::Release);
                }
                self.read(of, &late, caught);
            }
            if self.config.above.is_none() && known.samples >= LEAST_SAMPLES {
                let worst_ns = if self.config.each_interval { known.worst_of_open_ns } else { known.worst_above_ns };
                let above_ns = worst_ns.max(2 * known.typical_ns);
                of.watched.above_ns.store(above_ns, Ordering::Relaxed);
                self.follow_functions_of(of);
            }
        }
    }

    fn read(&mut self, of: &Followed, late: &Late, caught: BTreeMap<u32, Caught>) {
        let place = self.below.around(late.cpu, late.scheduled.monotonic.as_ns(), late.woke.monotonic.as_ns());
        if let Some(counters) = &self.counters {
            let counted = counters.around(of, late.scheduled.monotonic.as_ns());
            self.count(late.scheduled_ns, cause::explain_by_counters(late, &counted, place), place);
        } else {
            let mut by_cpu = BTreeMap::new();
            for (cpu, Caught { slots, overwritten, late_timers }) in caught {
                let of_slot = |(slot, stack): &(Slot, Vec<u64>)| {
                    [Names::late_tick(slot), Some(self.names.event(cpu, slot, stack))]
                };
                let events = slots.iter().flat_map(of_slot).flatten().collect();
                let own_switches = self.recorder.records_own_switches();
                by_cpu.insert(cpu, Evidence { events, overwritten, late_timers, own_switches, legs: Vec::new() });
            }
            let explained = match of.begin {
                Begin::Timer => cause::explain(late, &Evidence::along_path(late, by_cpu), place),
                Begin::Arrival(mode) => {
                    let wakings = self.recorder.records_wakings();
                    let receiver = Receiver { mode, is_pinned: of.cpu.is_some(), wakings };
                    cause::explain_arrival(late, receiver, by_cpu, place)
                }
            };
            self.count(late.scheduled_ns, explained, place);
        }
    }

    /// What the run knows while it goes on: the causes of what is settled, with the worst few samples. Names of functions that take
    /// long to look up are, where the run's intervals are long enough for it.
    pub(crate) fn so_far(
        &mut self,
        counters: impl Fn(u32) -> Option<record::Counters>,
        interval_maximum_ns: u64,
    ) -> Explanation {
        let explained = self.totals.explained();
        // Where those of each interval are wanted, what is handed on is not handed on again.
        let totals = if self.config.each_interval { self.totals.take() } else { self.totals.clone() };
        let (mut causes, mut samples) = totals.finish(counters);
        if self.config.each_interval {
            // Threads come and go in a run without an end, and their numbers are used again.
            self.names.forget_threads();
        } else {
            samples.truncate(FOLLOWED);
        }
        if interval_maximum_ns >= NAMES_FROM_NS {
            self.names.fill_in(&mut texts(&mut causes, &mut samples));
            cause::join_alike(&mut causes);
        } else {
            self.names.fill_in_known(&mut texts(&mut causes, &mut samples));
        }
        let missing = [self.recorder.missing(), vec![format!("what to change: {CUT_SHORT}")]].concat();
        Explanation { missing, causes, samples, explained, ..self.looked_at() }
    }

    /// How samples were looked at, and how many.
    fn looked_at(&self) -> Explanation {
        let sum = |of: fn(&Watched) -> u64| units::total(self.threads.iter().map(|thread| of(&thread.watched)));
        Explanation {
            sources: vec![self.recorder.source_words()],
            missing: self.recorder.missing(),
            above_ns: self.config.above.map(units::Ns::unsigned),
            outliers: sum(|watched| watched.outliers.load(Ordering::Relaxed)).saturating_sub(self.apart),
            not_recorded: sum(|watched| watched.not_recorded.load(Ordering::Relaxed)),
            ..Explanation::default()
        }
    }

    /// What the run knows; `counters` are those that the record has of each thread, by its number.
    pub(crate) fn finish(
        mut self,
        cost: Option<ExplainingCost>,
        counters: impl Fn(u32) -> Option<record::Counters>,
    ) -> Explanation {
        self.settle(i64::MAX, &|_, _| false);
        let looked_at = self.looked_at();
        let explained = self.totals.explained();
        let (mut causes, mut samples) = self.totals.finish(counters);
        self.names.fill_in(&mut texts(&mut causes, &mut samples));
        cause::join_alike(&mut causes);
        if self.config.each_interval {
            // Nobody asks what to change, and whoever waits for the CPUs waits for this.
            return Explanation { cost, explained, causes, samples, ..looked_at };
        }
        // Now that nothing is measured any more.
        let (profile, _) = host::read_profile(&host::Root::live());
        cause::put_remedies(&mut causes, &Surroundings::from_profile(&profile, &self.measured));
        Explanation { cost, explained, causes, samples, ..looked_at }
    }
}

/// What the drain knows of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    pub(crate) samples: u64,
    /// The median so far (ns).
    pub(crate) typical_ns: i64,
    /// The least of the worst few so far (ns).
    pub(crate) worst_above_ns: i64,
    /// The worst of the interval that has not ended (ns); 0 where it has none.
    pub(crate) worst_of_open_ns: i64,
}

/// A policy as the kernel counts: its number, and its priority, where less is more.
pub(crate) fn kernel_priority(policy: Policy) -> (u32, i32) {
    let real_time = |priority: u32| 99 - i32::try_from(priority).unwrap_or(0);
    match policy {
        Policy::Fifo(priority) => (1, real_time(priority)),
        Policy::RoundRobin(priority) => (2, real_time(priority)),
        Policy::Deadline { .. } => (6, -1),
        Policy::Other => (0, 120),
    }
}

/// Everywhere that a function's name can stand.
fn texts<'a>(causes: &'a mut [CauseTotal], samples: &'a mut [ExplainedSample]) -> Vec<&'a mut String> {
    let mut all: Vec<&mut String> = causes.iter_mut().map(|cause| &mut cause.name).collect();
    for sample in samples {
        all.extend([&mut sample.name, &mut sample.evidence]);
        all.extend(sample.parts.iter_mut().map(|part| &mut part.name));
        all.extend(sample.timeline.iter_mut().map(|segment| &mut segment.name));
        all.extend(sample.stack.iter_mut());
    }
    all
}

#[cfg(test)]
mod tests {
    use units::Ns;

    use super::super::recorder::Threads;
    use super::*;

    /// The threshold of a thread after a look at what is known of it (ns).
    fn threshold_ns(config: ExplainRequest, known: Known) -> i64 {
        let config = ExplainRequest { source: Some(EvidenceSource::Counters), ..config };
        let threads = Threads { real_time: true, may_move: false, share_cpus: false, wakings: false };
        let cpus: CpuSet = [0].into_iter().collect();
        let recorder = Arc::new(Recorder::new(&cpus, threads, ClockId::Monotonic, config));
        let watched = Arc::new(Watched::new(5));
        let own = Thread { tid: std::process::id(), ..Thread::default() };
        let interval_ns = Some(Ns::from_ms(1).0);
        let followed =
            Followed { thread: 0, begin: Begin::Timer, cpu: Some(0), interval_ns, own, watched: Arc::clone(&watched) };
        let mut explainer = Explainer::new(recorder, config, vec![followed], None);
        explainer.look(&ClockWatch::new(ClockId::Monotonic), &[known]);
        watched.above_ns.load(Ordering::Relaxed)
    }

    #[test]
    fn of_each_interval_the_worst_is_followed_and_of_a_run_its_worst_few() {
        let known = Known { samples: 1_000, typical_ns: 10, worst_above_ns: 900, worst_of_open_ns: 50 };
        let run = ExplainRequest::default();
        let each = ExplainRequest { each_interval: true, ..run };
        assert_eq!(threshold_ns(run, known), 900);
        assert_eq!(threshold_ns(each, known), 50);
        // A new interval begins with what is twice as late as usual.
        assert_eq!(threshold_ns(each, Known { worst_of_open_ns: 0, ..known }), 20);
        let above = ExplainRequest { above: Some(Ns(7)), ..each };
        assert_eq!(threshold_ns(above, known), 5, "a threshold that was asked for is left alone");
    }
}
