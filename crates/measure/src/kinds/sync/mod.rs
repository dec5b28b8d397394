//! How far clocks are apart: every source of time that this machine has, followed at once.
//!
//! Nothing here steers a clock or changes a service. One ordinary thread off the isolated CPUs waits for what the sources say,
//! and looks a few times a second at what has to be asked for. What follows from it is computed by the pure crate `sync`.

mod chrony;
mod clockbound;
mod discipline;
mod fbclock;
mod hardware;
mod linuxptp;
mod live;
mod shared_memory;
mod source;
mod system_clock;
mod vmclock;

use std::time::{Duration, Instant};

use ::sync::follow::{Part, SeriesName};
use kernel::wait::Readable;
use record::{
    Detail, Interval, Live, Moment, Place, Record, Request, Requested, SourceChoice, SyncChange, SyncEvent,
    SyncRequest, SyncRun, Told,
};
use units::format::span;
use units::{ClockId, Ns};

pub use self::chrony::AddressError;
pub use self::linuxptp::{RECEIVER_COMMAND, receive};
use self::source::{NotFollowed, Source};
use self::system_clock::SystemClock;
use crate::clock_watch::{SuspendWatch, moment_now};
use crate::clocks;
use crate::context::RunContext;
use crate::interval_sink::{CUT_SHORT, IntervalSink, hand_on_the_rest};
use crate::machine::Machine;
use crate::stop::{Stop, ended_after};

/// From one look to the next.
const LOOK: Duration = Duration::from_millis(250);
/// Looks for one at which services are looked for that were started meanwhile.
const FIND_EVERY: u32 = 8;
/// How long answers are waited for at the end of a run.
const CONFIRM: Duration = Duration::from_millis(100);
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
    /// What was looked for and not found or refused.
    missing: Vec<NotFollowed>,
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
            Err(why) => sources.missing.push(NotFollowed::there(why).named(request.names(choice))),
        }
    }
    // Whatever is followed is void once the machine was moved.
    match vmclock::HostClock::find(started, interval_ns) {
        Ok(found) => sources.all.extend(found.map(|one| Box::new(one) as Box<dyn Source>)),
        Err(why) => sources.missing.push(NotFollowed::there(why)),
    }
    if wanted(request.source, SourceChoice::Phc) {
        let (found, refused) = hardware::all(started, interval_ns, request.source == SourceChoice::Phc);
        if found.is_empty() && refused.is_empty() {
            let words = "this machine has no PTP hardware clock (/sys/class/ptp)".to_owned();
            sources.missing.push(NotFollowed::absent(words));
        }
        let is_named = request.names(SourceChoice::Phc);
        sources.missing.extend(refused.into_iter().map(|why| NotFollowed::there(why).named(is_named)));
        sources.all.extend(found.into_iter().map(|one| Box::new(one) as Box<dyn Source>));
    }
    if wanted(request.source, SourceChoice::Kernel) {
        sources.all.push(Box::new(discipline::KernelClock::begin(started, interval_ns)));
    }
    Ok(sources)
}

/// Follows the sources of time, and makes the record; `observe` sees them a few times a second, `sink` gets the intervals as
/// they end.
///
/// # Errors
/// Where the request is out of range.
pub fn measure(
    request: &SyncRequest,
    machine: &Machine,
    context: &RunContext,
    stop: &Stop,
    observe: &mut dyn FnMut(&Live),
    sink: Option<&dyn IntervalSink>,
) -> Result<Record, SyncError> {
    check(request)?;
    let duration_ns = request.duration.limit().map(Ns::unsigned);
    let interval_ns = duration_ns.map_or(MOST_INTERVAL_NS, |ns| (ns / 60).clamp(LEAST_INTERVAL_NS, MOST_INTERVAL_NS));
    let before = kernel::sched::affinity_of(0).unwrap_or_default();
    // Never on an isolated CPU: somebody measures there, or relies on it.
    let _ = kernel::sched::set_affinity(0, &machine.housekeeping(&machine.isolated));
    let started = moment_now();
    let Sources { all, missing } = find(request, started, interval_ns)?;
    let mut run = Run::begin(request, context, started, duration_ns, interval_ns, Sources { all, missing });
    let followed = run.follow(stop, observe, sink);
    let ended = moment_now();
    let _ = kernel::sched::set_affinity(0, &before);
    followed?;
    // Also fixes the place of series that began after the last look.
    run.hand_on(ended);
    let elapsed_ns = ended.monotonic.since(started.monotonic).0;
    let ended_early = stop.ended_early().then(|| ended_after(elapsed_ns, duration_ns));
    let record = run.record(ended, Part::Until(ended), ended_early);
    match sink.filter(|_| duration_ns.is_none()) {
        // All of them are in the file, also those that were joined here since they had become many.
        Some(sink) => {
            let mut record = run.told.untold(record);
            hand_on_the_rest(&mut record, sink);
            Ok(record)
        }
        None => Ok(record),
    }
}

/// A run while it goes on.
struct Run<'a> {
    request: &'a SyncRequest,
    context: &'a RunContext,
    started: Moment,
    /// How long; `None`: until it is ended.
    duration_ns: Option<u64>,
    interval_ns: u64,
    /// What was looked for and not found or refused.
    missing: Vec<NotFollowed>,
    suspends: SuspendWatch,
    sources: Vec<Box<dyn Source>>,
    system_clock: SystemClock,
    /// What became of the system clock where no source noticed it.
    events: Vec<SyncEvent>,
    /// The series in the order in which they first had an interval: the number of the source and the name of the series. A
    /// record keeps that order, since intervals that were handed on name their series by its place in it.
    order: Vec<(usize, SeriesName)>,
    /// What was handed on.
    told: Told,
}

impl<'a> Run<'a> {
    fn begin(
        request: &'a SyncRequest,
        context: &'a RunContext,
        started: Moment,
        duration_ns: Option<u64>,
        interval_ns: u64,
        Sources { all, missing }: Sources,
    ) -> Self {
        Self {
            request,
            context,
            started,
            duration_ns,
            interval_ns,
            missing,
            suspends: SuspendWatch::new(),
            sources: all,
            system_clock: SystemClock::begin(),
            events: Vec::new(),
            order: Vec::new(),
            told: Told::default(),
        }
    }

    /// Looks at all sources, at the system clock, and now and then for services that were started meanwhile.
    fn look(&mut self, now: &clocks::Now, finds: bool) {
        if finds {
            self.find_again();
        }
        for source in &mut self.sources {
            source.look(now);
        }
        self.look_at_system_clock(now);
    }

    /// Follows every ptp4l that was started since, unless one was named.
    fn find_again(&mut self) {
        let is_named = self.request.ptp_socket.is_some() || self.request.ptp_events.is_some();
        if is_named || !wanted(self.request.source, SourceChoice::Ptp) {
            return;
        }
        for found in linuxptp::running() {
            let is_followed = self.sources.iter().any(|source| source.process() == found.pid);
            if !is_followed && !self.sources.iter_mut().any(|source| source.meets(&found)) {
                let begun = (self.started, self.interval_ns);
                self.sources.push(Box::new(linuxptp::Ptp::begin_late(found, self.request.max_drift_ppb, begun)));
            }
        }
    }

    fn look_at_system_clock(&mut self, now: &clocks::Now) {
        let Some(words) = self.system_clock.look(now.realtime) else { return };
        // One that follows it by its own stamps has said so, with the stamps that are void.
        if !self.sources.iter().any(|source| source.sees_system_clock()) && self.events.len() < SyncRun::MOST_EVENTS {
            let place = Place::Port { port: "system clock".to_owned(), domain: None };
            self.events.push(SyncEvent { at: now.moment, place, what: SyncChange::Step, detail: words });
        }
        for source in &mut self.sources {
            source.system_clock_was_set(now.moment);
        }
    }

    /// The record of a part of the run, at a moment.
    fn record(&self, until: Moment, part: Part, ended_early: Option<String>) -> Record {
        let requested = Requested {
            policy: "other".to_owned(),
            clock: Some(ClockId::Realtime),
            duration_ns: self.duration_ns,
            deadline_ns: self.request.limit.and_then(|limit| u64::try_from(limit.0).ok()),
            interval_maximum_ns: Some(self.interval_ns),
            ..Requested::default()
        };
        let mut record = self.context.record(Request::Sync(self.request.clone()), requested, self.started, until);
        let mut run = SyncRun { max_drift_ppb: self.request.max_drift_ppb, ..SyncRun::default() };
        run.events.clone_from(&self.events);
        let (mut missing, mut contradictions, mut series) = (self.missing.clone(), Vec::new(), Vec::new());
        let mut named = Vec::new();
        for (number, source) in self.sources.iter().enumerate() {
            let is_named = source.kind().is_some_and(|kind| self.request.names(kind));
            let followed = match source.so_far(part) {
                Ok(followed) => followed,
                Err(why) => {
                    missing.push(why.named(is_named));
                    continue;
                }
            };
            let place = followed.place().cloned();
            contradictions
                .extend(followed.contradiction.zip(place.as_ref()).map(|(at, place)| (place.to_string(), at)));
            named.extend(place.filter(|_| is_named));
            run.events.extend(followed.events);
            run.events_left_out += followed.events_left_out;
            for (stretch, part) in followed.parts.into_iter().enumerate() {
                run.sources.push(part.source);
                series.extend(part.series.into_iter().map(|one| (number, stretch, one)));
            }
        }
        run.events.sort_by_key(|event| event.at.monotonic.as_ns());
        series.sort_by_key(|(number, stretch, one)| {
            let is_it =
                |(source, (of, name)): &(usize, SeriesName)| source == number && of == stretch && *name == one.name;
            self.order.iter().position(is_it).unwrap_or(usize::MAX)
        });
        record.series = series.into_iter().map(|(.., one)| one).collect();
        let offsets = units::total(
            record.series.iter().filter(|one| one.name == ::sync::follow::OFFSET).map(record::Series::taken),
        );
        let there = missing.iter().filter(|one| !one.is_absent || one.is_named);
        run.not_followed = there.map(|one| one.words.clone()).collect();
        let silent: Vec<String> = missing.iter().filter(|one| one.is_named).map(|one| one.words.clone()).collect();
        record.validity = ::sync::judge::judge(&::sync::judge::Facts {
            run: &run,
            started: self.started,
            offsets,
            contradictions: &contradictions,
            suspended_ns: self.suspends.suspended_ns(),
            ended_early,
            named: &named,
            silent: &silent,
            no_source: no_source(self.request.source, offsets, &missing),
        });
        record.detail = Detail::Sync(run);
        let mut record = record.with_node_named();
        if let Some(limit_ns) = record.manifest().requested.deadline_ns {
            record.verdict = Some(analysis::verdict(&record, limit_ns));
        }
        record
    }

    /// The intervals that ended, in the order of time, each with the number of its series.
    fn hand_on(&mut self, at: Moment) -> Vec<(usize, Interval)> {
        let mut fresh = Vec::new();
        for (number, source) in self.sources.iter_mut().enumerate() {
            for (name, interval) in source.hand_on(at) {
                let known = self.order.iter().position(|one| *one == (number, name));
                let place = known.unwrap_or_else(|| {
                    self.order.push((number, name));
                    self.order.len() - 1
                });
                fresh.push((place, interval));
            }
        }
        fresh.sort_by_key(|(place, interval)| (interval.start_offset_ns, interval.length_ns, *place));
        fresh
    }

    fn follow(
        &mut self,
        stop: &Stop,
        observe: &mut dyn FnMut(&Live),
        sink: Option<&dyn IntervalSink>,
    ) -> Result<(), SyncError> {
        let began = Instant::now();
        let end = self.duration_ns.map(|ns| began + Duration::from_nanos(ns));
        let (mut next_look, mut next_view, mut looks) = (began, began, 0_u32);
        loop {
            let now = Instant::now();
            if now >= next_look {
                let read = clocks::now();
                looks = looks.wrapping_add(1);
                self.look(&read, looks % FIND_EVERY == 0);
                let fresh = self.hand_on(read.moment);
                if let (Some(sink), false) = (sink, fresh.is_empty()) {
                    let so_far = self.record(read.moment, Part::Finished, Some(CUT_SHORT.to_owned()));
                    self.told.note(&fresh, &so_far);
                    sink.take(fresh, so_far);
                }
                next_look = now + LOOK;
            }
            if now >= next_view {
                let elapsed_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
                observe(&Live {
                    elapsed_ns,
                    duration_ns: self.duration_ns,
                    series: self.sources.iter().map(|source| source.live().series()).collect(),
                    bins: Vec::new(),
                });
                next_view = now + VIEW;
            }
            if end.is_some_and(|end| now >= end) || stop.ended_early() {
                return self.confirm();
            }
            let until = end.map_or(next_look, |end| next_look.min(end)).saturating_duration_since(Instant::now());
            for place in ready_within(&self.sources, until)? {
                self.sources[place].take();
            }
        }
    }

    /// Waits a moment for the answers that confirm what was shown last.
    fn confirm(&mut self) -> Result<(), SyncError> {
        let end = Instant::now() + CONFIRM;
        let read = clocks::now();
        for source in &mut self.sources {
            source.look(&read);
        }
        while self.sources.iter().any(|source| source.is_waiting()) {
            let rest = end.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                break;
            }
            for place in ready_within(&self.sources, rest)? {
                self.sources[place].take();
            }
        }
        Ok(())
    }
}

/// The sources that say something within a time.
fn ready_within(sources: &[Box<dyn Source>], within: Duration) -> Result<Vec<usize>, SyncError> {
    let of: Vec<(usize, _)> = sources
        .iter()
        .enumerate()
        .flat_map(|(place, source)| source.descriptors().into_iter().map(move |fd| (place, fd)))
        .collect();
    let mut readable = Readable::new(of.iter().map(|(_, fd)| *fd));
    readable.wait(i64::try_from(within.as_nanos()).unwrap_or(i64::MAX)).map_err(SyncError::Wait)?;
    let mut ready: Vec<usize> = readable.ready().map(|at| of[at].0).collect();
    ready.dedup();
    Ok(ready)
}

fn check(request: &SyncRequest) -> Result<(), SyncError> {
    if let Some(duration) = request.duration.limit().filter(|one| !(LEAST_DURATION..=MOST_DURATION).contains(one)) {
        return Err(SyncError::Duration(span(duration.0)));
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
fn no_source(choice: SourceChoice, offsets: u64, missing: &[NotFollowed]) -> Option<String> {
    (offsets == 0 && (!missing.is_empty() || choice == SourceChoice::Kernel)).then(|| {
        if choice == SourceChoice::Kernel {
            "the kernel passes on what a time service stated, and has no offset of its own".to_owned()
        } else {
            missing.iter().map(|one| one.words.as_str()).collect::<Vec<_>>().join("; ")
        }
    })
}

#[cfg(test)]
mod tests {
    use std::os::fd::BorrowedFd;

    use ::sync::bound::ClockReading;
    use ::sync::follow::{About, DELAY, Followed, Follower, OFFSET, Shown};
    use record::{Place, ReasonCode, SyncService};
    use units::Timestamp;

    use super::live::LiveSource;
    use super::*;

    /// A source that shows an offset in the seconds that are stated.
    struct Scripted(Follower);

    impl Source for Scripted {
        fn kind(&self) -> Option<SourceChoice> {
            Some(SourceChoice::Chrony)
        }

        fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
            Vec::new()
        }

        fn take(&mut self) {}

        fn look(&mut self, _: &clocks::Now) {}

        fn live(&self) -> LiveSource {
            LiveSource::default()
        }

        fn hand_on(&mut self, at: Moment) -> Vec<(SeriesName, Interval)> {
            self.0.hand_on(at)
        }

        fn so_far(&self, part: Part) -> Result<Followed, NotFollowed> {
            Ok(self.0.so_far(part))
        }
    }

    fn at_s(seconds: i64) -> Moment {
        Moment { monotonic: Timestamp::from_ns(0), realtime: Timestamp::from_ns(0) }.plus(Ns::from_s(seconds))
    }

    fn scripted(port: &str, shown_at_s: &[i64]) -> Box<dyn Source> {
        let about = About {
            service: SyncService::Linuxptp,
            place: Place::Port { port: port.to_owned(), domain: None },
            clock: Some(ClockId::Realtime.into()),
            trusts: String::new(),
            is_judged: true,
            without_bound: String::new(),
        };
        let mut follower = Follower::new(about, at_s(0), 10_000_000_000);
        for &second in shown_at_s {
            follower.offset(at_s(second), Shown { offset_ns: 5, delay_ns: Some(9), frequency_ppb: None }, None);
        }
        Box::new(Scripted(follower))
    }

    #[test]
    fn an_interval_names_its_series_by_the_place_that_it_has_in_every_record_of_the_run() {
        let request = SyncRequest::default();
        let context = RunContext::default();
        // The first one has its first offset after the second one.
        let all = vec![scripted("late", &[15]), scripted("early", &[5, 15])];
        let sources = Sources { all, missing: Vec::new() };
        let mut run = Run::begin(&request, &context, at_s(0), Some(60_000_000_000), 10_000_000_000, sources);
        let names = |run: &Run<'_>, at: i64| -> Vec<String> {
            let record = run.record(at_s(at), Part::Until(at_s(at)), None);
            record.series.iter().map(|series| format!("{} {}", series.place, series.name)).collect()
        };
        let mut places = |at: i64| run.hand_on(at_s(at)).into_iter().map(|(place, _)| place).collect::<Vec<_>>();
        assert_eq!(places(12), [0, 1]);
        assert_eq!(places(25), [0, 1, 2, 3], "those of the one that began first stay the first");
        let expected = [("early", OFFSET), ("early", DELAY), ("late", OFFSET), ("late", DELAY)];
        let names = names(&run, 25);
        for ((place, name), found) in expected.iter().zip(&names) {
            assert!(found.contains(place) && found.ends_with(name), "{names:?}");
        }
    }

    /// A look at which the system clock is `ahead_ns` ahead of where it would be, without any correction.
    fn seen_at(seconds: i64, ahead_ns: i64) -> clocks::Now {
        let realtime = ClockReading {
            raw_ns: seconds * 1_000_000_000,
            clock_ns: seconds * 1_000_000_000 + ahead_ns,
            error_ns: 200,
        };
        clocks::Now { moment: at_s(seconds), realtime }
    }

    #[test]
    fn a_step_of_the_system_clock_is_an_event_with_its_moment_and_makes_the_run_invalid() {
        let (request, context) = (SyncRequest::default(), RunContext::default());
        let sources = Sources { all: vec![scripted("chronyd", &[5, 15])], missing: Vec::new() };
        let mut run = Run::begin(&request, &context, at_s(0), Some(60_000_000_000), 10_000_000_000, sources);
        for second in 1..=20 {
            run.look_at_system_clock(&seen_at(second, if second < 12 { 0 } else { -300_000_000 }));
        }
        let record = run.record(at_s(20), Part::Until(at_s(20)), None);
        let events = &record.sync().unwrap().events;
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!((events[0].at, events[0].what), (at_s(12), SyncChange::Step));
        assert_eq!(events[0].place.to_string(), "system clock");
        let reasons = record.validity.reasons();
        let step = reasons.iter().find(|reason| reason.code == ReasonCode::ClockStepped).unwrap();
        assert!(step.detail.contains("set by -300") && step.detail.contains("12 s into the run"), "{}", step.detail);
    }

    #[test]
    fn a_source_that_is_there_and_cannot_be_followed_stands_in_the_record_beside_those_that_can() {
        let (request, context) = (SyncRequest::default(), RunContext::default());
        let missing = vec![
            NotFollowed::absent("no ptp4l runs".to_owned()),
            NotFollowed::there("ptp4l (process 7) does not answer: Permission denied".to_owned()),
        ];
        let sources = Sources { all: vec![scripted("chronyd", &[5])], missing };
        let run = Run::begin(&request, &context, at_s(0), Some(60_000_000_000), 10_000_000_000, sources);
        let record = run.record(at_s(9), Part::Until(at_s(9)), None);
        let not_followed = &record.sync().unwrap().not_followed;
        assert_eq!(*not_followed, ["ptp4l (process 7) does not answer: Permission denied"]);
        assert!(record.validity.reasons().iter().all(|reason| reason.code != ReasonCode::NoSamples));
    }
}
