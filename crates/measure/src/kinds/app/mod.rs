//! The user's own program: the latencies of its threads, from the kernel's events of scheduling, and an audit of how it
//! is written.
//!
//! `runnable_to_running` is from `sched_waking` to the `sched_switch` that gives the thread a CPU.
//! `scheduled_to_returned` is from the moment that the timer was set for whose function made the thread runnable
//! (`hrtimer_start`, `hrtimer_expire_entry`) to the return of the system call in which the thread waited, which is what a
//! program that measures itself sees, without its own reading of the clock.
//! Nothing is injected into the program. Limits: SCHED_DEADLINE threads that wait by `sched_yield` have no wake-ups; a
//! signal's handler that interrupts a thread that runs is not seen; what happens without a system call, a fault or a switch
//! leaves no trace.

mod cost;
mod cycle;
mod finish;
mod follow;
mod heap;
mod host;
mod program;
mod samples;
mod source;
mod telling;
#[cfg(test)]
mod tests;
mod thread;
mod timers;

use std::path::Path;
use std::time::{Duration, Instant};

use kernel::tracefs::Tracefs;
use record::{AppRequest, AppTarget, LiveDetail, LiveSeries, Place, Record};
use units::{ClockId, CpuSet, Ns, format};

use self::follow::Followed;
use self::heap::{HeapEnd, HeapWatch};
use self::host::Live;
use self::program::Program;
use self::samples::Frame;
use self::source::Source;
pub use self::source::SourceError;
use self::telling::Telling;
use self::thread::{Around, Thread};
use self::timers::Offsets;
use crate::clock_watch::{ClockWatch, moment_now};
use crate::collect::Keeping;
use crate::context::RunContext;
use crate::crew::Watching;
use crate::interval_sink::{CUT_SHORT, IntervalSink};
use crate::live::Observer;
use crate::machine::Machine;
use crate::stop::Stop;
use crate::witness::{MemoryLock, Orders, StopLimits};

/// Between two looks at the buffers: what comes up is asked about while it is young, and later less costly.
const PERIOD: Duration = Duration::from_millis(200);
/// The same at first, when programs set themselves up.
const PERIOD_AT_FIRST: Duration = Duration::from_millis(50);
const AT_FIRST: Duration = Duration::from_secs(2);
/// Between two looks at the memory of the followed processes.
const MEMORY_PERIOD: Duration = Duration::from_millis(500);
/// Shorter runs would be over before anything was read.
const SHORTEST: Ns = Ns::from_ms(100);
/// The longest interval of a record unless set, as for every measurement (5 min).
const LONGEST_INTERVAL_NS: u64 = 300_000_000_000;
/// The interval of a run of unknown length (ns).
const INTERVAL_OF_UNKNOWN_NS: u64 = 1_000_000_000;
/// Intervals of a run of known length.
const INTERVALS: u64 = 60;
/// Where there would be so many intervals in a run of unknown length, neighbors become one: a record so far has all of them.
const MOST_INTERVALS: u64 = 240;

/// Why a program cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The trace is out of reach.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// There is no such process.
    #[error(
        "there is no process {0}; a process in a container has another number here: ps -e, or /proc/PID/status, NSpid"
    )]
    NoProcess(u32),
    /// This program itself runs in a container.
    #[error(
        "this program counts processes as its container does, and the kernel's trace counts them as the machine does: run it outside of the container, where the program's threads can be seen too"
    )]
    InContainer,
    /// The program could not be started.
    #[error("cannot start '{command}': {error}")]
    Start {
        /// The command line.
        command: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// The duration is too short to follow a program.
    #[error("a duration of {0} is too short to follow a program: take at least {SHORTEST}")]
    TooShort(Ns),
    /// A limit or interval that is none.
    #[error("{what} of {value} makes no sense: it must be above 0")]
    NotAbove0 {
        /// Name of the option.
        what: &'static str,
        /// The value that was given.
        value: Ns,
    },
}

/// Whether what is asked makes sense.
fn check(request: &AppRequest) -> Result<(), AppError> {
    if let Some(duration) = request.duration.filter(|duration| *duration < SHORTEST) {
        return Err(AppError::TooShort(duration));
    }
    for (what, value) in [("a deadline", request.deadline), ("an interval of maxima", request.interval_maximum)] {
        if let Some(value) = value.filter(|value| *value <= Ns::ZERO) {
            return Err(AppError::NotAbove0 { what, value });
        }
    }
    Ok(())
}

fn interval_maximum_ns(request: &AppRequest) -> u64 {
    match (request.interval_maximum, request.duration) {
        (Some(interval), _) => interval.unsigned(),
        (None, Some(duration)) => (duration.unsigned() / INTERVALS).clamp(10_000_000, LONGEST_INTERVAL_NS),
        (None, None) => INTERVAL_OF_UNKNOWN_NS,
    }
}

/// What stays the same from the start of a run to its record.
struct Ground<'a> {
    config: &'a AppRequest,
    cpus: CpuSet,
    pid: u32,
    event_ns: Option<u64>,
    return_ns: Option<u64>,
    /// What may stop the program's real-time threads, read as the run began.
    limits: StopLimits,
    started: record::Moment,
}

/// What a run brought in until now, for the record.
struct Run<'a> {
    ground: &'a Ground<'a>,
    followed: &'a Followed,
    heap: &'a HeapEnd,
    clocks: &'a ClockWatch,
    events: u64,
    lost: u64,
    own_ns: u64,
    missing: &'a [trace::EventKind],
    ended: Option<&'a str>,
    /// Why it is over before its time, where it is.
    ended_early: Option<String>,
    ended_at: record::Moment,
}

/// Follows a program, and makes the record. `own` is this program's own file, which guards one that is started. `sink` is told the
/// record so far while the run goes on.
///
/// # Errors
/// Where the trace cannot be had, or the program not be found or started; nothing of either is left then.
pub fn measure(
    config: &AppRequest,
    own: &Path,
    machine: &Machine,
    context: &RunContext,
    stop: &Stop,
    observer: &mut dyn Observer,
    sink: Option<&dyn IntervalSink>,
) -> Result<Record, AppError> {
    check(config)?;
    if !kernel::tracefs::counts_like_the_trace() {
        return Err(AppError::InContainer);
    }
    let tracefs = Tracefs::find().map_err(SourceError::from)?;
    tracefs.remove_leftovers().map_err(SourceError::from)?;
    let cpus = machine.present.intersection(&machine.online);
    let mut source = Source::new(&tracefs, &cpus, source::BUFFERS_KIB)?;
    let event_ns = source.has(trace::EventKind::Enter).then(|| cost::event_ns(&tracefs)).transpose()?;
    let has_calls = source.has(trace::EventKind::Enter);
    let way_back = if has_calls { cost::way_back(&tracefs, &cpus)? } else { cost::WayBack::default() };
    let return_ns = way_back.return_ns;
    let mut program = match &config.target {
        AppTarget::Command { command } => Some(
            Program::start(command, &machine.allowed, own)
                .map_err(|error| AppError::Start { command: command.to_string(), error })?,
        ),
        AppTarget::Process { .. } => None,
    };
    let pid = match (&config.target, &program) {
        (AppTarget::Process { pid }, _) => *pid,
        (AppTarget::Command { .. }, program) => program.as_ref().map_or(0, |program| program.pid),
    };
    let limits = StopLimits::read_process(pid);
    let mut clocks = ClockWatch::new(ClockId::Monotonic);
    let watching = Watching::begin(
        &cpus,
        Orders {
            housekeeping: machine.usable(),
            controller: Some(kernel::sched::thread_id()),
            // The threads are the program's: what they are granted and who preempts them is in the kernel's events.
            measured: CpuSet::new(),
            grants: Vec::new(),
            ranked: Vec::new(),
            memory: MemoryLock::take(false),
            held_idle_limit_us: None,
            has_times: false,
            is_published: false,
        },
    );
    observer.begins();
    let started = moment_now();
    let frame = Frame {
        first_ns: started.monotonic.as_ns(),
        interval_maximum_ns: interval_maximum_ns(config),
        keeping: if config.duration.is_some() { Keeping::All } else { Keeping::Merged(MOST_INTERVALS) },
        deadline_ns: config.deadline.map(Ns::unsigned),
        return_ns: return_ns.unwrap_or(0),
        sleep_function: way_back.sleep_function,
    };
    let ground = Ground { config, cpus, pid, event_ns, return_ns, limits, started };
    let mut followed = Followed::new(frame);
    let mut host = Live;
    let mut heap = HeapWatch::new();
    take_in(pid, &source, &mut followed)?;
    source.begin()?;
    // Threads that were made between the first look and the beginning; from here on the kernel adds them.
    take_in(pid, &source, &mut followed)?;
    if let Some(program) = &program {
        program
            .release()
            .map_err(|error| AppError::Start { command: format!("the process {}", program.pid), error })?;
    }
    let own_before_ns = own_ns();
    let began = Instant::now();
    let mut memory_read = Instant::now();
    let mut telling = sink.map(|sink| Telling::new(sink, frame.interval_maximum_ns));
    let mut ended = None;
    loop {
        clocks.sleep(if began.elapsed() < AT_FIRST { PERIOD_AT_FIRST } else { PERIOD });
        let is_over = config.duration.is_some_and(|duration| began.elapsed() >= duration.to_std());
        ended = ended.or_else(|| has_ended(pid, program.as_mut(), &followed));
        let last = is_over || ended.is_some() || stop.ended_early();
        if last {
            source.end();
        }
        clocks.look();
        let reads_memory = last || memory_read.elapsed() >= MEMORY_PERIOD;
        take(&mut source, &mut followed, &clocks, &mut host, last)?;
        heap.look(&mut followed, |thread| is_meant(config, thread));
        followed.ask(&mut host, &clocks, reads_memory);
        if reads_memory {
            memory_read = Instant::now();
        }
        if last {
            break;
        }
        observer.observe(&view(&followed, began.elapsed(), config.duration));
        if let Some(telling) = &mut telling {
            telling.look(began.elapsed(), || {
                let evidence = watching.so_far();
                let run = Run {
                    ground: &ground,
                    followed: &followed,
                    heap: &heap.so_far(),
                    clocks: &clocks,
                    events: source.events(),
                    lost: source.lost(),
                    own_ns: own_ns().saturating_sub(own_before_ns),
                    missing: &source.missing,
                    ended: None,
                    ended_early: Some(CUT_SHORT.to_owned()),
                    ended_at: moment_now(),
                };
                run.record(&evidence, context)
            });
        }
    }
    let ended_at = moment_now();
    let own_ns = own_ns().saturating_sub(own_before_ns);
    let heap = heap.end(&mut followed);
    followed.sort_faults(&mut host, true);
    let lost = source.lost();
    let (events, missing) = (source.events(), source.missing.clone());
    // The instance goes before the program is ended: its end is nobody's measurement.
    drop(source);
    drop(program);
    let evidence = watching.end();
    let run = Run {
        ended_early: ground.ended_early(ended_at, stop.ended_early(), ended.as_deref()),
        ground: &ground,
        followed: &followed,
        heap: &heap,
        clocks: &clocks,
        events,
        lost,
        own_ns,
        missing: &missing,
        ended: ended.as_deref(),
        ended_at,
    };
    Ok(run.record(&evidence, context))
}

impl Ground<'_> {
    /// Why the run ended before its time, where it did.
    fn ended_early(&self, ended_at: record::Moment, interrupted: bool, ended: Option<&str>) -> Option<String> {
        let after = format::span(ended_at.monotonic.since(self.started.monotonic).0);
        if interrupted {
            return Some(format!("after {after}, by a signal"));
        }
        let (how, duration) = ended.zip(self.config.duration)?;
        (!self.config.may_end).then(|| format!("the program ended after {after} of {duration}: {how}"))
    }
}

/// Whether the run is about a thread, as far as threads were named.
fn is_meant(config: &AppRequest, thread: &Thread) -> bool {
    config.threads.is_empty() || config.threads.iter().any(|wanted| thread.is_called(wanted))
}

/// Follows the threads that a process has now.
fn take_in(pid: u32, source: &Source, followed: &mut Followed) -> Result<(), AppError> {
    let threads = host::threads_of(pid).map_err(|_| AppError::NoProcess(pid))?;
    let tids: Vec<u32> = threads.iter().map(|(tid, _)| *tid).collect();
    source.follow(&tids)?;
    for (tid, name) in threads {
        followed.add(tid, pid, name, &mut Live);
    }
    Ok(())
}

/// How the program ended, where it has.
fn has_ended(pid: u32, program: Option<&mut Program>, followed: &Followed) -> Option<String> {
    match program {
        Some(program) => program.ended().map(str::to_owned),
        // Its children may go on after it.
        None if followed.is_empty() || host::threads_of(pid).is_err() && followed.is_empty() => {
            Some("its last thread ended".to_owned())
        }
        None => None,
    }
}

fn take(
    source: &mut Source,
    followed: &mut Followed,
    clocks: &ClockWatch,
    host: &mut Live,
    last: bool,
) -> Result<(), AppError> {
    let mut around = Around { offsets: Offsets::now(clocks), host };
    let now_ns = u64::try_from(kernel::clock::now_ns(ClockId::Monotonic.into())).unwrap_or(0);
    Ok(source.take(now_ns, last, |cpu, event| followed.event(cpu, event, &mut around))?)
}

fn view(followed: &Followed, elapsed: Duration, duration: Option<Ns>) -> record::Live {
    let any_real_time = followed.threads.iter().any(|thread| thread.real_time);
    let shown = followed.threads.iter().filter(|thread| !thread.ended && (thread.real_time || !any_real_time));
    record::Live {
        elapsed_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
        duration_ns: duration.map(Ns::unsigned),
        series: (0_u32..)
            .zip(shown)
            .filter_map(|(number, thread)| {
                let live = thread.cycle.live().or_else(|| thread.run.live()).filter(|live| live.samples > 0)?;
                let detail = LiveDetail::Thread { tid: thread.tid, priority: thread.scheduling().1, interval_ns: 0 };
                Some(LiveSeries { place: Place::thread(number, live.place.cpu()), detail, ..live })
            })
            .collect(),
        bins: Vec::new(),
    }
}

/// CPU time of the calling thread (ns; Documentation/scheduler/sched-stats.rst).
fn own_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_ascii_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}
