//! What reading a clock costs: tests 1 and 2 of Gutiérrez et al. (ACM TECS).
//!
//! Test 1 reads one clock twice (`read_to_read`). Test 2 reads a clock between two readings of a reference
//! (`reference_to_reference`), both ways round. Each by the C library, which uses the vDSO where there is one, and by
//! a real system call. Beside the single readings, whole blocks of 1,000 are timed, since a single reading is no finer
//! than the clock's own resolution.

mod hot;

use std::cell::Cell;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use kernel::clock::KernelClock;
use kernel::sched::Policy;
use record::{
    ClockRequest, Counters, HistogramRecorder, Measurement, Moment, Place, Record, Request, Requested, Series,
    SeriesDetail,
};
use units::{ClockId, ClockName, CpuSet, approx_f64_i64};

use self::hot::{Pairing, Path};
use crate::clock_watch::{ClockWatch, moment_now};
use crate::context::RunContext;
use crate::crew::{Ground, GroundPlan, Meter, Metered, Order, Report, WatchEvidence, Watching, Work, now_ns, serve};
use crate::judge::{ClockFacts, Facts, Stops, ThreadEnd, ThreadFacts, judge};
use crate::machine::Machine;
use crate::ring::Pair;
use crate::stop::Stop;
use crate::witness::{Grant, LEAST_STOP_NS, Measuring, Orders, RequestedScheduling, ThrottleWatch};

/// Readings between two looks at the stop flag, and in one timed block.
const BLOCK: u64 = 1_000;
/// Blocks that are timed as a whole.
const MAX_TIMED_BLOCKS: u64 = 1_000;
/// More readings than anybody waits for: about an hour by system call.
const MAX_SAMPLES: u64 = 10_000_000_000;
/// A real-time measuring thread sleeps this often, and for so long: the watchdog takes no long run for one that hangs, and
/// ordinary threads get far more of its CPU (13 %) than the throttle and the fair server would take for them (5 %), as the
/// kernel sets these: so a wait of it is not taken for a stop by them.
const REST_EVERY: Duration = Duration::from_millis(400);
const REST: Duration = Duration::from_millis(60);

/// Why clocks cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    /// Too few or too many readings.
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
    /// A clock that this kernel lacks.
    #[error("this kernel does not know the clock {clock}: {error}")]
    Unknown {
        /// What was asked.
        clock: ClockId,
        /// The kernel's reason.
        error: std::io::Error,
    },
    /// No thread could be started.
    #[error("cannot start the measuring thread: {0}")]
    Thread(std::io::Error),
}

/// Measures, and makes the record; `progress` hears the share done (0 to 1).
///
/// # Errors
/// Where nothing can be measured as asked.
pub fn measure(
    config: &ClockRequest,
    machine: &Machine,
    context: &RunContext,
    stop: &Stop,
    progress: &mut (dyn FnMut(f64) + Send),
) -> Result<Record, ClockError> {
    let usable = machine.allowed.intersection(&machine.online);
    let cpu =
        config.cpu.or_else(|| machine.isolated.intersection(&usable).last()).or_else(|| usable.last()).unwrap_or(0);
    if !usable.contains(cpu) {
        return Err(ClockError::Cpu { cpu, usable });
    }
    if !(BLOCK..=MAX_SAMPLES).contains(&config.samples) {
        return Err(ClockError::Samples(config.samples));
    }
    if let Some(priority) = config.priority.filter(|priority| !(1..=99).contains(priority)) {
        return Err(ClockError::Priority(priority));
    }
    for &clock in config.clocks.iter().chain(config.pairs.iter().flat_map(|(a, b)| [a, b])) {
        kernel::clock::resolution_ns(KernelClock::from(clock)).map_err(|error| ClockError::Unknown { clock, error })?;
    }
    let cpus = CpuSet::from_iter([cpu]);
    let housekeeping = machine.housekeeping(&cpus);
    let ground = Ground::take(GroundPlan {
        clock: ClockId::Monotonic,
        cpu: Some(cpu),
        housekeeping: &housekeeping,
        lock_memory: true,
        real_time: config.priority.is_some(),
    });
    let run = Run { config, cpu, stop, rested: Cell::new(Instant::now()) };
    let policy = config.priority.map_or(Policy::Other, Policy::Fifo);
    let wanted = RequestedScheduling { thread: 0, policy, cpu: Some(cpu) };
    let (arrive, arrived) = sync_channel(1);
    let (orders, wait) = channel();
    thread::scope(|scope| {
        let job = move || serve(Job { run, progress }, wanted, &arrive, &wait);
        let thread = thread::Builder::new().name("punctual-clock".to_owned());
        let measuring = thread.spawn_scoped(scope, job).map_err(ClockError::Thread)?;
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
        let finish = Finish { config, cpu, context, stop, ground: &ground, grant: &grant, started };
        Ok(finish.record(report, evidence))
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
    config: &'a ClockRequest,
    stop: &'a Stop,
    cpu: u32,
    /// When a real-time measuring thread last slept.
    rested: Cell<Instant>,
}

/// What the measuring thread is born with.
struct Job<'a, 'p> {
    run: Run<'a>,
    progress: &'p mut (dyn FnMut(f64) + Send),
}

/// What the measuring thread made.
struct Readings {
    series: Vec<Series>,
    watches: Watches,
}

impl Work for Job<'_, '_> {
    type Counts = Readings;

    fn clock(&self) -> ClockId {
        ClockId::Monotonic
    }

    // Each kind of reading warms its own loop up.
    fn warm_up(&mut self, _: Meter) {}

    fn measure(self, _: i64, meter: Meter) -> Metered<Readings> {
        // It writes its readings down itself, between the blocks of them that are timed.
        meter.around(|| self.run.all(self.progress))
    }
}

impl Run<'_> {
    /// Whether the run has to end before its time.
    fn is_over(&self) -> bool {
        self.stop.ended_early() || self.stop.watchdog_fired()
    }

    /// Sleeps where that is due, or wanted `at_once`; whether it did. An ordinary thread need not.
    fn rest(&self, at_once: bool) -> bool {
        let is_due = self.config.priority.is_some() && (at_once || self.rested.get().elapsed() >= REST_EVERY);
        if is_due {
            thread::sleep(REST);
            self.rested.set(Instant::now());
        }
        is_due
    }

    /// All readings that were asked for.
    fn all(&self, progress: &mut (dyn FnMut(f64) + Send)) -> Readings {
        let throttle = ThrottleWatch::begin(&[Measuring {
            tid: kernel::sched::thread_id(),
            cpu: Some(self.cpu),
            priority: self.config.priority.unwrap_or(0),
        }]);
        self.rested.set(Instant::now());
        let mut watches = Watches { clocks: ClockWatch::new(ClockId::Realtime), throttle };
        let kinds = self.kinds();
        let mut series = Vec::new();
        let total = u64::try_from(kinds.len()).unwrap_or(1).max(1) * self.config.samples;
        let mut done = 0;
        for (name, variant, pairing, path) in kinds {
            let one = self.one(name, variant, pairing, path, &mut watches, &mut |more| {
                done += more;
                progress(units::approx_f64(done) / units::approx_f64(total));
            });
            series.push(one);
            if self.is_over() {
                break;
            }
        }
        Readings { series, watches }
    }

    fn kinds(&self) -> Vec<(&'static str, String, Pairing, Path)> {
        let mut kinds = Vec::new();
        for path in [Path::Library, Path::Syscall] {
            for &clock in &self.config.clocks {
                kinds.push(("read_to_read", format!("{clock} {}", path.name()), Pairing::Alone(clock.into()), path));
            }
            for &(clock, reference) in &self.config.pairs {
                for (inner, outer) in [(clock, reference), (reference, clock)] {
                    let variant = format!("{inner} between two {outer} {}", path.name());
                    let pairing = Pairing::Between { inner: inner.into(), outer: outer.into() };
                    kinds.push(("reference_to_reference", variant, pairing, path));
                }
            }
        }
        kinds
    }

    fn one(
        &self,
        name: &'static str,
        variant: String,
        pairing: Pairing,
        path: Path,
        watches: &mut Watches,
        progress: &mut dyn FnMut(u64),
    ) -> Series {
        let mut recorder = HistogramRecorder::new();
        let mut below_zero = record::Histogram::new();
        let mut block = vec![0_i64; usize::try_from(BLOCK).unwrap_or(1_000)];
        hot::readings(pairing, path, &mut block);
        let mut left = self.config.samples;
        let mut long = Vec::new();
        while left > 0 && !self.is_over() {
            // To look takes long too, so that the watchdog wants a sleep before it.
            if self.rest(!long.is_empty()) {
                watches.look_at_throttle(std::mem::take(&mut long));
                // What the sleep and the look made cold is no part of what a reading costs.
                hot::readings(pairing, path, &mut block);
            }
            let count = left.min(BLOCK);
            let block = &mut block[..usize::try_from(count).unwrap_or(0)];
            kernel::hot_section::enter(|| hot::readings(pairing, path, block));
            if self.config.priority.is_some() {
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
            if left % (100 * BLOCK) < BLOCK {
                watches.clocks.look();
                progress(count + 99 * BLOCK.min(self.config.samples / 100));
            }
        }
        if !long.is_empty() {
            watches.look_at_throttle(long);
        }
        let detail = match pairing {
            Pairing::Alone(clock) => SeriesDetail::Readings { block_mean_median_ns: self.timed_blocks(clock, path) },
            Pairing::Between { .. } => SeriesDetail::None,
        };
        Series {
            name: name.to_owned(),
            variant,
            place: Place::thread(0, Some(self.cpu)),
            judged: false,
            histogram: recorder.snapshot(),
            below_zero: (!below_zero.is_empty()).then_some(below_zero),
            counters: Counters { samples: self.config.samples - left, ..Counters::default() },
            detail,
            ..Series::default()
        }
    }

    /// Median over blocks of the mean of 1,000 readings without anything between them (ns).
    fn timed_blocks(&self, clock: KernelClock, path: Path) -> f64 {
        let blocks = (self.config.samples / BLOCK).clamp(1, MAX_TIMED_BLOCKS);
        let timed = |_: u64| {
            self.rest(false);
            hot::timed_block(clock, path, BLOCK)
        };
        let mut totals: Vec<i64> = (0..blocks).map(timed).collect();
        totals.sort_unstable();
        approx_f64_i64(totals[totals.len() / 2]) / units::approx_f64(BLOCK)
    }
}

/// What stays the same from the start of a run to its record.
struct Finish<'a> {
    config: &'a ClockRequest,
    cpu: u32,
    context: &'a RunContext,
    stop: &'a Stop,
    ground: &'a Ground,
    grant: &'a Grant,
    started: Moment,
}

impl Finish<'_> {
    /// The clocks that are read, each once.
    fn clock_names(&self) -> Vec<ClockName> {
        let mut names: Vec<ClockName> = Vec::new();
        let pairs = self.config.pairs.iter().flat_map(|(clock, reference)| [*clock, *reference]);
        for name in self.config.clocks.iter().copied().chain(pairs).map(ClockName::from) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn record(&self, report: Report<Readings>, evidence: WatchEvidence) -> Record {
        let WatchEvidence { witnessed, mut seen } = evidence;
        seen.compare_end(self.grant, report.at_end.as_ref());
        let migrations = report.migrations();
        let Readings { series, watches: Watches { clocks, throttle } } = report.counts;
        let asked = self.config.clocks.iter().chain(self.config.pairs.iter().flat_map(|(a, b)| [a, b]));
        let steppable = asked.into_iter().find(|clock| clock.can_step());
        let is_cut = self.stop.ended_early() || self.stop.watchdog_fired();
        let validity = judge(&Facts {
            measurement: Measurement::Clock,
            witnessed: &witnessed,
            seen: &seen,
            stops: Stops::Spoil(&throttle),
            threads: &[ThreadFacts {
                place: format!("CPU {}", self.cpu),
                end: ThreadEnd::Whole,
                taken: Some(units::total(series.iter().map(Series::taken))),
                dropped: 0,
                // It writes its readings down itself, between the blocks of them that are timed.
                faults: None,
                migrations,
                lacks: None,
            }],
            clock: steppable.map(|clock| ClockFacts {
                name: clock.to_string(),
                steps: clocks.steps(),
                started: self.started,
            }),
            watchdog_fired: self.stop.watchdog_fired(),
            ended_early: is_cut.then(|| "some clocks have fewer readings than asked, or none".to_owned()),
            worst: &[],
        });
        let policy = if self.config.priority.is_some() { "fifo" } else { "other" };
        let requested = Requested {
            cpus: CpuSet::from_iter([self.cpu]),
            threads: 1,
            policy: policy.to_owned(),
            priority: self.config.priority.unwrap_or(0),
            pinned: true,
            samples: Some(self.config.samples),
            ..Requested::default()
        };
        let request = Request::Clock(self.config.clone());
        let mut record = self.context.record(request, requested, self.started, moment_now());
        record.validity = validity;
        record.series = series;
        record.nodes.first_mut().clocks.read = self.clock_names();
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

    #[test]
    fn every_reading_asked_for_is_in_the_record() {
        let config = ClockRequest { samples: 3_500, ..ClockRequest::default() };
        let record = measure(&config, &Machine::read(), &RunContext::default(), &Stop::new(), &mut |_| {}).unwrap();
        // Two paths, each two clocks alone and one pair both ways round.
        assert_eq!(record.series.len(), 8);
        for series in &record.series {
            let below = series.below_zero.as_ref().map_or(0, record::Histogram::count);
            assert_eq!(series.histogram.count() + below, 3_500, "{}", series.variant);
        }
        let alone = record.series.iter().filter(|series| series.name == "read_to_read");
        assert!(alone.into_iter().all(|series| series.block_mean_median_ns().is_some_and(|ns| ns > 0.0)));
    }

    #[test]
    fn a_real_time_thread_sleeps_now_and_then_and_an_ordinary_one_need_not() {
        let stop = Stop::new();
        let long_ago = Instant::now().checked_sub(REST_EVERY).unwrap();
        for (priority, expected) in [(Some(50), [true, false]), (None, [false, false])] {
            let config = ClockRequest { priority, ..ClockRequest::default() };
            let rested = Cell::new(long_ago);
            let run = Run { config: &config, cpu: 0, stop: &stop, rested };
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

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let try_with = |change: fn(&mut ClockRequest)| {
            let mut config = ClockRequest { samples: 1_000, ..ClockRequest::default() };
            change(&mut config);
            measure(&config, &Machine::read(), &RunContext::default(), &Stop::new(), &mut |_| {}).map(|_| ())
        };
        assert!(matches!(try_with(|c| c.samples = 999), Err(ClockError::Samples(999))));
        assert!(matches!(try_with(|c| c.cpu = Some(30_000)), Err(ClockError::Cpu { .. })));
        assert!(matches!(try_with(|c| c.priority = Some(100)), Err(ClockError::Priority(100))));
    }
}
