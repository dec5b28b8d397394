//! Something that one thread does over and over, as fast as it can, and how long each time takes: what kinds share that measure what a
//! call costs.

use std::cell::Cell;
use std::io;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use kernel::clock::KernelClock;
use kernel::sched::Policy;
use record::{
    Counters, HistogramRecorder, Measurement, Moment, Place, Record, Request, Requested, Series, SeriesDetail,
};
use units::{ClockId, CpuSet};

use crate::clock_watch::{ClockWatch, moment_now};
use crate::context::RunContext;
use crate::crew::plan::highest_cpu;
use crate::crew::{Ground, GroundPlan, Meter, Metered, Order, Report, WatchEvidence, Watching, Work, now_ns, serve};
use crate::judge::{ClockFacts, Facts, Stops, ThreadEnd, ThreadFacts, judge};
use crate::machine::Machine;
use crate::ring::Pair;
use crate::stop::Stop;
use crate::witness::{Grant, LEAST_STOP_NS, Measuring, Orders, RequestedScheduling, ThrottleWatch};

/// The fewest repetitions that can be asked for: a block of the kinds whose blocks are the largest.
const LEAST_SAMPLES: u64 = 1_000;
/// More than anybody waits for.
const MOST_SAMPLES: u64 = 10_000_000_000;
/// Looks at the clocks, and words of the progress, come after so many blocks.
const BLOCKS_A_LOOK: u64 = 100;
/// A real-time measuring thread sleeps this often, and for so long: the watchdog takes no long run for one that hangs, and
/// ordinary threads get far more of its CPU (13 %) than the throttle and the fair server would take for them (5 %), as the
/// kernel sets these: so a wait of it is not taken for a stop by them.
const REST_EVERY: Duration = Duration::from_millis(400);
const REST: Duration = Duration::from_millis(60);

/// Why nothing can be measured.
#[derive(Debug, thiserror::Error)]
pub enum RepeatedError {
    /// Too few or too many repetitions.
    #[error("{0} samples: ask for 1000 to 10000000000")]
    Samples(u64),
    /// A CPU that cannot be used.
    #[error("CPU {cpu} cannot be measured: usable are {usable}")]
    Cpu {
        /// What was asked.
        cpu: u32,
        /// What there is.
        usable: CpuSet,
    },
    /// A priority out of range.
    #[error("priority {0} is out of range: real-time priorities are 1 to 99")]
    Priority(u32),
    /// No thread could be started.
    #[error("cannot start the measuring thread: {0}")]
    Thread(io::Error),
    /// What was repeated failed.
    #[error("{0}")]
    Failed(io::Error),
}

/// Repeats something once for each place, and puts down how long that took (ns). It neither allocates nor locks.
type Fill<'a> = Box<dyn FnMut(&mut [i64]) -> io::Result<()> + Send + 'a>;
/// Finds out what else is to be known; it is given what sleeps where that is due.
type Detail<'a> = Box<dyn FnMut(&dyn Fn()) -> SeriesDetail + Send + 'a>;

/// What is repeated, for one series.
pub(crate) struct Repeated<'a> {
    /// The latency that each repetition is.
    pub(crate) name: &'static str,
    /// Which of several of that name.
    pub(crate) variant: String,
    /// The loop.
    pub(crate) fill: Fill<'a>,
    /// What comes after the last of them.
    pub(crate) detail: Detail<'a>,
}

/// How it is repeated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// The kind of measurement.
    pub(crate) measurement: Measurement,
    /// Name of the measuring thread, of at most 15 bytes.
    pub(crate) thread: &'static str,
    /// The CPU.
    pub(crate) cpu: u32,
    /// Real-time priority under SCHED_FIFO; `None`: SCHED_OTHER.
    pub(crate) priority: Option<u32>,
    /// Repetitions of each series.
    pub(crate) samples: u64,
    /// Repetitions between two looks at the stop flag.
    pub(crate) block: u64,
    /// A clock that is read and can be stepped.
    pub(crate) steppable: Option<ClockId>,
    /// What a run that was ended early lacks.
    pub(crate) if_cut: &'static str,
}

impl Plan {
    /// The CPU that is meant: the one that was asked for, else the isolated one with the highest number, else the highest.
    pub(crate) fn cpu(asked: Option<u32>, machine: &Machine) -> Result<u32, RepeatedError> {
        let usable = machine.usable();
        let cpu = asked.or_else(|| highest_cpu(machine)).unwrap_or(0);
        if usable.contains(cpu) { Ok(cpu) } else { Err(RepeatedError::Cpu { cpu, usable }) }
    }

    /// Refuses what cannot be.
    pub(crate) fn check(&self) -> Result<(), RepeatedError> {
        if !(LEAST_SAMPLES..=MOST_SAMPLES).contains(&self.samples) {
            return Err(RepeatedError::Samples(self.samples));
        }
        self.priority
            .filter(|priority| !(1..=99).contains(priority))
            .map_or(Ok(()), |of| Err(RepeatedError::Priority(of)))
    }
}

/// Repeats each in turn, and makes the record; `progress` hears the share done (0 to 1).
///
/// # Errors
/// Where nothing can be measured as asked, or what is repeated fails.
pub(crate) fn measure(
    plan: Plan,
    all: Vec<Repeated<'_>>,
    request: Request,
    (machine, context, stop): (&Machine, &RunContext, &Stop),
    progress: &mut (dyn FnMut(f64) + Send),
) -> Result<Record, RepeatedError> {
    plan.check()?;
    let cpus = CpuSet::from_iter([plan.cpu]);
    let housekeeping = machine.housekeeping(&cpus);
    let ground = Ground::take(GroundPlan {
        clock: ClockId::Monotonic,
        cpu: Some(plan.cpu),
        housekeeping: &housekeeping,
        lock_memory: true,
        real_time: plan.priority.is_some(),
    });
    let run = Run { plan, stop, rested: Cell::new(Instant::now()) };
    let policy = plan.priority.map_or(Policy::Other, Policy::Fifo);
    let wanted = RequestedScheduling { thread: 0, policy, cpu: Some(plan.cpu) };
    let (arrive, arrived) = sync_channel(1);
    let (orders, wait) = channel();
    thread::scope(|scope| {
        let job = move || serve(Job { run, all, progress }, wanted, &arrive, &wait);
        let thread = thread::Builder::new().name(plan.thread.to_owned());
        let measuring = thread.spawn_scoped(scope, job).map_err(RepeatedError::Thread)?;
        let Ok((_, grant)) = arrived.recv() else {
            let panic = measuring.join().err().unwrap_or_else(|| Box::new("the measuring thread ended"));
            std::panic::resume_unwind(panic)
        };
        let watching = Watching::begin(
            &cpus,
            Orders {
                housekeeping,
                // It waits for the measuring thread, and does nothing else.
                controller: None,
                // An interrupted ordinary thread makes a reading long, whatever interrupted it; the other readings hold.
                ranked: if policy == Policy::Other {
                    Vec::new()
                } else {
                    Orders::ranked(std::slice::from_ref(&grant), &cpus)
                },
                measured: cpus.clone(),
                grants: vec![grant.clone()],
                memory: ground.memory(),
                held_idle_limit_us: None,
                has_times: false,
                is_published: false,
            },
        );
        let started = moment_now();
        // It waits for this order, and ends with its readings.
        let _ = orders.send(Order::BeginAt(now_ns(ClockId::Monotonic)));
        let report = measuring.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let evidence = watching.end();
        let Some(report) = report else { unreachable!("it was started") };
        if let Some(error) = report.counts.failed {
            return Err(RepeatedError::Failed(error));
        }
        let finish = Finish { plan, context, stop, ground: &ground, grant: &grant, started };
        Ok(finish.record(request, report, evidence))
    })
}

/// What a run looks at between its readings.
struct Watches {
    clocks: ClockWatch,
    throttle: ThrottleWatch,
}

impl Watches {
    /// Looks at what the measuring thread waited for between two readings, and at who uses its CPU.
    fn look_at_throttle(&mut self, long: Vec<Pair>) {
        let now_ns = kernel::clock::now_ns(KernelClock::from(ClockId::Monotonic));
        let _ = self.throttle.look(now_ns, &[long]);
    }
}

/// The readings that a limit of the kernel's on real-time threads can have made long: a single stop is one of them, however
/// long the run. Of a pair only the length counts.
fn long_waits(readings_ns: &[i64]) -> impl Iterator<Item = Pair> + '_ {
    readings_ns.iter().filter(|ns| **ns >= LEAST_STOP_NS).map(|&ns| Pair { first_ns: 0, second_ns: ns })
}

struct Run<'a> {
    plan: Plan,
    stop: &'a Stop,
    /// When a real-time measuring thread last slept.
    rested: Cell<Instant>,
}

/// What the measuring thread is born with.
struct Job<'a, 'p> {
    run: Run<'a>,
    all: Vec<Repeated<'a>>,
    progress: &'p mut (dyn FnMut(f64) + Send),
}

/// What the measuring thread made.
struct Readings {
    series: Vec<Series>,
    watches: Watches,
    /// Why it ended before its time.
    failed: Option<io::Error>,
}

impl Work for Job<'_, '_> {
    type Counts = Readings;

    fn clock(&self) -> ClockId {
        ClockId::Monotonic
    }

    // Each series warms its own loop up.
    fn warm_up(&mut self, _: Meter) {}

    fn measure(self, _: i64, meter: Meter) -> Metered<Readings> {
        // It writes its readings down itself, between the blocks of them that are timed.
        meter.around(|| self.run.all(self.all, self.progress))
    }
}

impl Run<'_> {
    /// Whether the run has to end before its time.
    fn is_over(&self) -> bool {
        self.stop.ended_early() || self.stop.watchdog_fired()
    }

    /// Sleeps where that is due, or wanted `at_once`; whether it did. An ordinary thread need not.
    fn rest(&self, at_once: bool) -> bool {
        let is_due = self.plan.priority.is_some() && (at_once || self.rested.get().elapsed() >= REST_EVERY);
        if is_due {
            thread::sleep(REST);
            self.rested.set(Instant::now());
        }
        is_due
    }

    /// All repetitions that were asked for.
    fn all(&self, all: Vec<Repeated<'_>>, progress: &mut (dyn FnMut(f64) + Send)) -> Readings {
        let throttle = ThrottleWatch::begin(&[Measuring {
            tid: kernel::sched::thread_id(),
            cpu: Some(self.plan.cpu),
            priority: self.plan.priority.unwrap_or(0),
        }]);
        self.rested.set(Instant::now());
        let mut watches = Watches { clocks: ClockWatch::new(ClockId::Realtime), throttle };
        let mut series = Vec::new();
        let total = u64::try_from(all.len()).unwrap_or(1).max(1) * self.plan.samples;
        let mut done = 0;
        let mut failed = None;
        for repeated in all {
            let one = self.one(repeated, &mut watches, &mut |more| {
                done += more;
                progress(units::approx_f64(done) / units::approx_f64(total));
            });
            match one {
                Ok(one) => series.push(one),
                Err(error) => failed = Some(error),
            }
            if failed.is_some() || self.is_over() {
                break;
            }
        }
        Readings { series, watches, failed }
    }

    fn one(&self, mut of: Repeated<'_>, watches: &mut Watches, progress: &mut dyn FnMut(u64)) -> io::Result<Series> {
        let mut recorder = HistogramRecorder::new();
        let mut below_zero = record::Histogram::new();
        let mut block = vec![0_i64; usize::try_from(self.plan.block).unwrap_or(1_000)];
        (of.fill)(&mut block)?;
        let mut left = self.plan.samples;
        let (mut blocks, mut told) = (0, left);
        let mut long = Vec::new();
        while left > 0 && !self.is_over() {
            // To look takes long too, so that the watchdog wants a sleep before it.
            if self.rest(!long.is_empty()) {
                watches.look_at_throttle(std::mem::take(&mut long));
                // What the sleep and the look made cold is no part of what is measured.
                (of.fill)(&mut block)?;
            }
            let count = left.min(self.plan.block);
            let block = &mut block[..usize::try_from(count).unwrap_or(0)];
            kernel::hot_section::enter(|| (of.fill)(block))?;
            if self.plan.priority.is_some() {
                long.extend(long_waits(block));
            }
            for &mut ns in block {
                match u64::try_from(ns) {
                    Ok(ns) => recorder.record(ns),
                    // A clock stepped between two readings of it.
                    Err(_) => below_zero.record_n(ns.unsigned_abs(), 1),
                }
            }
            left -= count;
            blocks += 1;
            if blocks % BLOCKS_A_LOOK == 0 || left == 0 {
                watches.clocks.look();
                progress(told - left);
                told = left;
            }
        }
        if !long.is_empty() {
            watches.look_at_throttle(long);
        }
        let detail = (of.detail)(&|| {
            self.rest(false);
        });
        Ok(Series {
            name: of.name.to_owned(),
            variant: of.variant,
            place: Place::thread(0, Some(self.plan.cpu)),
            judged: false,
            histogram: recorder.snapshot(),
            below_zero: (!below_zero.is_empty()).then_some(below_zero),
            counters: Counters { samples: self.plan.samples - left, ..Counters::default() },
            detail,
            ..Series::default()
        })
    }
}

/// What stays the same from the start of a run to its record.
struct Finish<'a> {
    plan: Plan,
    context: &'a RunContext,
    stop: &'a Stop,
    ground: &'a Ground,
    grant: &'a Grant,
    started: Moment,
}

impl Finish<'_> {
    fn record(&self, request: Request, report: Report<Readings>, evidence: WatchEvidence) -> Record {
        let WatchEvidence { witnessed, mut seen } = evidence;
        seen.compare_end(self.grant, report.at_end.as_ref());
        let migrations = report.migrations();
        let Readings { series, watches: Watches { clocks, throttle }, .. } = report.counts;
        let plan = &self.plan;
        let is_cut = self.stop.ended_early() || self.stop.watchdog_fired();
        let validity = judge(&Facts {
            measurement: plan.measurement,
            witnessed: &witnessed,
            seen: &seen,
            stops: Stops::Spoil(&throttle),
            threads: &[ThreadFacts {
                place: format!("CPU {}", plan.cpu),
                end: ThreadEnd::Whole,
                taken: Some(units::total(series.iter().map(Series::taken))),
                dropped: 0,
                // It writes its readings down itself, between the blocks of them that are timed.
                faults: None,
                migrations,
                lacks: None,
            }],
            clock: plan.steppable.map(|clock| ClockFacts {
                name: clock.to_string(),
                steps: clocks.steps(),
                started: self.started,
            }),
            watchdog_fired: self.stop.watchdog_fired(),
            ended_early: is_cut.then(|| plan.if_cut.to_owned()),
            worst: &[],
        });
        let policy = if plan.priority.is_some() { "fifo" } else { "other" };
        let requested = Requested {
            cpus: CpuSet::from_iter([plan.cpu]),
            threads: 1,
            policy: policy.to_owned(),
            priority: plan.priority.unwrap_or(0),
            pinned: true,
            samples: Some(plan.samples),
            ..Requested::default()
        };
        let mut record = self.context.record(request, requested, self.started, moment_now());
        record.validity = validity;
        record.series = series;
        let manifest = record.manifest_mut();
        manifest.effective = vec![self.grant.effective(seen.memory_locked)];
        manifest.instrument = self.ground.instrument();
        manifest.others_cpu_used = witnessed.others_cpu_used;
        manifest.clock_steps = clocks.steps().to_vec();
        seen.describe(manifest);
        record.with_node_named()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan {
        measurement: Measurement::Clock,
        thread: "punctual-test",
        cpu: 0,
        priority: None,
        samples: 3_500,
        block: 1_000,
        steppable: None,
        if_cut: "",
    };

    fn of(fill: impl FnMut(&mut [i64]) -> io::Result<()> + Send + 'static) -> Vec<Repeated<'static>> {
        let detail = |_: &dyn Fn()| SeriesDetail::None;
        vec![Repeated { name: "read_to_read", variant: String::new(), fill: Box::new(fill), detail: Box::new(detail) }]
    }

    fn run(plan: Plan, all: Vec<Repeated<'_>>) -> Result<Record, RepeatedError> {
        let request = Request::Clock(record::ClockRequest::default());
        measure(plan, all, request, (&Machine::read(), &RunContext::default(), &Stop::new()), &mut |_| {})
    }

    #[test]
    fn each_repetition_that_was_asked_for_is_in_the_record_and_no_other() {
        let mut turn = 0;
        // The first block only warms up.
        let fill = move |out: &mut [i64]| {
            out.fill(if turn == 0 { 900_000 } else { 70 + turn });
            turn += 1;
            Ok(())
        };
        let record = run(PLAN, of(fill)).unwrap();
        let histogram = &record.series[0].histogram;
        assert_eq!((histogram.count(), histogram.min_ns(), histogram.max_ns()), (3_500, Some(71), Some(74)));
    }

    #[test]
    fn what_fails_ends_the_run_with_its_reason() {
        let mut left = 2;
        let fill = move |_: &mut [i64]| {
            left -= 1;
            if left > 0 { Ok(()) } else { Err(io::Error::other("the chip is gone")) }
        };
        assert_eq!(run(PLAN, of(fill)).unwrap_err().to_string(), "the chip is gone");
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let try_with = |plan: Plan| run(plan, of(|_| Ok(()))).map(drop);
        assert!(matches!(try_with(Plan { samples: 999, ..PLAN }), Err(RepeatedError::Samples(999))));
        assert!(matches!(try_with(Plan { priority: Some(100), ..PLAN }), Err(RepeatedError::Priority(100))));
        assert!(matches!(Plan::cpu(Some(30_000), &Machine::read()), Err(RepeatedError::Cpu { cpu: 30_000, .. })));
    }

    #[test]
    fn a_real_time_thread_sleeps_now_and_then_and_an_ordinary_one_need_not() {
        let stop = Stop::new();
        let long_ago = Instant::now().checked_sub(REST_EVERY).unwrap();
        for (priority, expected) in [(Some(50), [true, false]), (None, [false, false])] {
            let run = Run { plan: Plan { priority, ..PLAN }, stop: &stop, rested: Cell::new(long_ago) };
            assert_eq!([run.rest(false), run.rest(false)], expected);
            assert_eq!(run.rest(true), priority.is_some(), "before a look");
        }
        assert!(
            REST * 9 > REST_EVERY,
            "ordinary threads get twice their 5 %, so that nothing stops the thread for them"
        );
    }

    #[test]
    fn one_stop_is_long_in_however_many_readings() {
        let mut readings_ns = vec![25; 1_000];
        assert_eq!(long_waits(&readings_ns).count(), 0);
        readings_ns[700] = 50_300_000;
        let long: Vec<Pair> = long_waits(&readings_ns).collect();
        assert_eq!(long, [Pair { first_ns: 0, second_ns: 50_300_000 }]);
    }
}
