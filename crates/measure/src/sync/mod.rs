//! How far clocks are apart: every source of time that this machine has, followed at once.
//!
//! Nothing here steers a clock or changes a service. One ordinary thread off the isolated CPUs waits for what the sources say,
//! and looks a few times a second at what has to be asked for. What follows from it is computed by the pure crate `sync`.

mod chrony;
mod clockbound;
mod clocks;
mod discipline;
mod fbclock;
mod hardware;
mod judge;
mod linuxptp;
mod live;
mod shared_memory;
mod source;
mod vmclock;

use std::time::{Duration, Instant};

use kernel::wait::Readable;
use record::{Detail, Moment, Record, Request, Requested, SourceChoice, SyncRequest, SyncRun};
use units::format::span;
use units::{ClockId, Ns};

pub use self::chrony::AddressError;
pub use self::linuxptp::{RECEIVER_COMMAND, receive};
pub use self::live::{LiveSource, LiveSync};
use self::source::Source;
use crate::clock_watch::{SuspendWatch, moment_now};
use crate::context::RunContext;
use crate::machine::Machine;
use crate::stop::Stop;

/// From one look to the next.
const LOOK: Duration = Duration::from_millis(250);
/// From one view for a person to the next.
const VIEW: Duration = Duration::from_millis(500);
const LEAST_DURATION: Ns = Ns::from_ms(100);
const MOST_DURATION: Ns = Ns::from_s(400 * 86_400);
/// The bounds of min(5 minutes, duration / 60), the length of an interval.
const LEAST_INTERVAL_NS: u64 = 1_000_000;
const MOST_INTERVAL_NS: u64 = 300_000_000_000;
const MOST_DRIFT_PPB: u32 = 100_000_000;

/// Why clocks cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// A duration out of range.
    #[error("a duration of {0} is out of range: 100 ms to 400 days")]
    Duration(String),
    /// A drift out of range.
    #[error("a largest drift of {0} ppb is out of range: 1 to 100000000 (10 %)")]
    Drift(u32),
    /// A limit of nothing.
    #[error("a limit of {0} is out of range: it has to be above 0")]
    Limit(String),
    /// An address that is none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The kernel refused to wait for the sources' sockets.
    #[error("cannot wait for the sources: {0}")]
    Wait(std::io::Error),
}

/// What is followed, and what could not be.
struct Sources {
    all: Vec<Box<dyn Source>>,
    /// What was looked for and not found or refused, in words.
    missing: Vec<String>,
}

fn wanted(choice: SourceChoice, source: SourceChoice) -> bool {
    choice == SourceChoice::Auto || choice == source
}

/// Every source that was asked for and is there.
fn find(request: &SyncRequest, started: Moment, interval_ns: u64) -> Result<Sources, SyncError> {
    let mut sources = Sources { all: Vec::new(), missing: Vec::new() };
    if wanted(request.source, SourceChoice::Ptp) {
        let (socket, events) = (request.ptp_socket.as_deref(), request.ptp_events.as_deref());
        let found = linuxptp::all(socket, events, request.max_drift_ppb, (started, interval_ns));
        sources.all.extend(found.into_iter().map(|one| Box::new(one) as Box<dyn Source>));
    }
    if wanted(request.source, SourceChoice::Chrony) {
        let chrony = chrony::Chrony::begin(request.chrony_address.as_deref(), started, interval_ns)?;
        sources.all.push(Box::new(chrony));
    }
    let memories = [
        (SourceChoice::Clockbound, clockbound::Daemon::may_run(request.clockbound_memory.as_deref())),
        (SourceChoice::Fbclock, fbclock::Daemon::may_run(request.fbclock_memory.as_deref())),
    ];
    for (choice, may_run) in memories {
        // Where nothing of the daemon's is there, nobody who asked for all of them misses it.
        if request.source != choice && !(request.source == SourceChoice::Auto && may_run) {
            continue;
        }
        let found = if choice == SourceChoice::Clockbound {
            let path = request.clockbound_memory.as_deref();
            clockbound::Daemon::find(path, started, interval_ns).map(|one| Box::new(one) as Box<dyn Source>)
        } else {
            let path = request.fbclock_memory.as_deref();
            fbclock::Daemon::find(path, started, interval_ns).map(|one| Box::new(one) as Box<dyn Source>)
        };
        match found {
            Ok(one) => sources.all.push(one),
            Err(why) => sources.missing.push(why),
        }
    }
    // Whatever is followed is void once the machine was moved.
    match vmclock::HostClock::find(started, interval_ns) {
        Ok(found) => sources.all.extend(found.map(|one| Box::new(one) as Box<dyn Source>)),
        Err(why) => sources.missing.push(why),
    }
    if wanted(request.source, SourceChoice::Phc) {
        let (found, refused) = hardware::all(started, interval_ns, request.source == SourceChoice::Phc);
        if found.is_empty() && refused.is_empty() {
            sources.missing.push("this machine has no PTP hardware clock (/sys/class/ptp)".to_owned());
        }
        sources.missing.extend(refused);
        sources.all.extend(found.into_iter().map(|one| Box::new(one) as Box<dyn Source>));
    }
    if wanted(request.source, SourceChoice::Kernel) {
        sources.all.push(Box::new(discipline::KernelClock::begin(started, interval_ns)));
    }
    Ok(sources)
}

/// Follows the sources of time, and makes the record; `observe` sees them a few times a second.
///
/// # Errors
/// Where the request is out of range.
pub fn measure(
    request: &SyncRequest,
    machine: &Machine,
    context: &RunContext,
    stop: &Stop,
    observe: &mut dyn FnMut(&LiveSync),
) -> Result<Record, SyncError> {
    check(request)?;
    let duration_ns = u64::try_from(request.duration.0).unwrap_or(0);
    let interval_ns = (duration_ns / 60).clamp(LEAST_INTERVAL_NS, MOST_INTERVAL_NS);
    let before = kernel::sched::affinity_of(0).unwrap_or_default();
    // Never on an isolated CPU: somebody measures there, or relies on it.
    let _ = kernel::sched::set_affinity(0, &machine.housekeeping(&machine.isolated));
    let (started, suspends) = (moment_now(), SuspendWatch::new());
    let Sources { mut all, mut missing } = find(request, started, interval_ns)?;
    let followed = follow(&mut all, duration_ns, stop, observe);
    let ended = moment_now();
    let suspended_ns = suspends.suspended_ns();
    let _ = kernel::sched::set_affinity(0, &before);
    followed?;

    let requested = Requested {
        policy: "other".to_owned(),
        clock: Some(ClockId::Realtime),
        duration_ns: Some(duration_ns),
        deadline_ns: request.limit.and_then(|limit| u64::try_from(limit.0).ok()),
        interval_maximum_ns: Some(interval_ns),
        ..Requested::default()
    };
    let mut record = context.record(Request::Sync(request.clone()), requested, started, ended);
    let mut run = SyncRun { max_drift_ppb: request.max_drift_ppb, ..SyncRun::default() };
    let mut contradictions = Vec::new();
    for source in all {
        let followed = match source.finish(ended) {
            Ok(followed) => followed,
            Err(why) => {
                missing.push(why);
                continue;
            }
        };
        contradictions.extend(followed.contradiction.map(|at| (followed.source.place.to_string(), at)));
        run.sources.push(followed.source);
        run.events.extend(followed.events);
        run.events_left_out += followed.events_left_out;
        record.series.extend(followed.series);
    }
    run.events.sort_by_key(|event| event.at.monotonic.as_ns());
    let offsets =
        units::total(record.series.iter().filter(|one| one.name == sync::follow::OFFSET).map(record::Series::taken));
    let elapsed = ended.monotonic.since(started.monotonic).0;
    record.validity = judge::judge(&judge::Facts {
        run: &run,
        started,
        offsets,
        contradictions: &contradictions,
        suspended_ns,
        ended_early: stop.ended_early().then(|| format!("after {} of {}", span(elapsed), span(duration_ns))),
        no_source: no_source(request.source, offsets, &missing),
    });
    record.detail = Detail::Sync(run);
    let mut record = record.with_node_named();
    if let Some(limit_ns) = record.manifest().requested.deadline_ns {
        record.verdict = Some(analyse::verdict(&record, limit_ns));
    }
    Ok(record)
}

fn check(request: &SyncRequest) -> Result<(), SyncError> {
    if !(LEAST_DURATION..=MOST_DURATION).contains(&request.duration) {
        return Err(SyncError::Duration(span(request.duration.0)));
    }
    if !(1..=MOST_DRIFT_PPB).contains(&request.max_drift_ppb) {
        return Err(SyncError::Drift(request.max_drift_ppb));
    }
    match request.limit {
        Some(limit) if limit.0 <= 0 => Err(SyncError::Limit(span(limit.0))),
        _ => Ok(()),
    }
}

/// Why there is no offset, where no source that could show one was found.
fn no_source(choice: SourceChoice, offsets: u64, missing: &[String]) -> Option<String> {
    (offsets == 0 && (!missing.is_empty() || choice == SourceChoice::Kernel)).then(|| {
        if choice == SourceChoice::Kernel {
            "the kernel passes on what a time service stated, and has no offset of its own".to_owned()
        } else {
            missing.join("; ")
        }
    })
}

fn follow(
    sources: &mut [Box<dyn Source>],
    duration_ns: u64,
    stop: &Stop,
    observe: &mut dyn FnMut(&LiveSync),
) -> Result<(), SyncError> {
    let began = Instant::now();
    let end = began + Duration::from_nanos(duration_ns);
    let (mut next_look, mut next_view) = (began, began);
    loop {
        let now = Instant::now();
        if now >= next_look {
            let read = clocks::now();
            for source in sources.iter_mut() {
                source.look(&read);
            }
            next_look = now + LOOK;
        }
        if now >= next_view {
            let elapsed_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            observe(&LiveSync { elapsed_ns, sources: sources.iter().map(|source| source.live()).collect() });
            next_view = now + VIEW;
        }
        if now >= end || stop.ended_early() {
            return Ok(());
        }
        let until = next_look.min(end).saturating_duration_since(Instant::now());
        let ready: Vec<usize> = {
            let of: Vec<(usize, _)> = sources
                .iter()
                .enumerate()
                .flat_map(|(place, source)| source.descriptors().into_iter().map(move |fd| (place, fd)))
                .collect();
            let mut readable = Readable::new(of.iter().map(|(_, fd)| *fd));
            readable.wait(i64::try_from(until.as_nanos()).unwrap_or(i64::MAX)).map_err(SyncError::Wait)?;
            let mut ready: Vec<usize> = readable.ready().map(|at| of[at].0).collect();
            ready.dedup();
            ready
        };
        for place in ready {
            sources[place].take();
        }
    }
}
