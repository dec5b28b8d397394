//! Monitors: a measurement without an end, begun anew whenever it ends.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender as NewsSender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use farm::monitor::{BootId, Explaining, GapReason, MonitorEntry, StreamBegin};
use farm::stream::StreamId;
use kernel::supervisor::Supervisor;
use record::{
    Interval, Live, Moment, Placement, PolicyChoice, Record, Request, RunEnd, RunRequest, SpoiledInterval,
    WakeupRequest,
};
use run::{Anyway, Beside, Class, IntervalSink, Machine, Prepared, RunContext, RunError, Stop, Surroundings, Watch};
use serde::Serialize;
use units::{ClockId, CpuSet, Ns};

use crate::clocks::{Clocks, Look};
use crate::explaining;
use crate::facts;
use crate::guests::Guests;
use crate::keeper::{Keeper, News, RunFacts, Work};
use crate::key::random;
use crate::open_file::{Idle, OpenFile, entries_left};
use crate::sender::{Sender, join_within};
use crate::settings::Settings;
use crate::signals::Signals;
use crate::sources::{Services, Sources};
use crate::spool::{DiskSpool, SpoolError, SpoolLimits};
use crate::state::{State, StateError};
use crate::status::Status;

/// The longest time between two looks at the open interval: a kill loses no more than this of it.
const LOOKS_EVERY: Duration = Duration::from_secs(2);
/// How long the agent waits before it tries a run again that could not be made.
const TRY_AGAIN: Duration = Duration::from_secs(10);
/// Between two looks at the measurements that the agent has left its CPUs to.
const LOOKS_FOR_GUESTS: Duration = Duration::from_millis(500);
/// How long it waits for the hub when it ends.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Why the agent ended.
#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    /// Its own folder.
    #[error(transparent)]
    State(#[from] StateError),
    /// Its spool cannot be opened, read or written.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// What is to be measured cannot be.
    #[error("nothing can be monitored: {0}")]
    Run(String),
    /// A thread could not be started, or the hub's part of its set-up is wrong.
    #[error("the agent cannot start: {0}")]
    Start(String),
}

/// What the agent is given by the program that it is part of.
pub struct Program<'a> {
    /// This program's own file.
    pub own_program: PathBuf,
    /// Ends the monitoring once it is told to end early (SIGINT, SIGTERM).
    pub stop: &'a Stop,
    /// Says something to people: what begins, what is wrong.
    pub note: &'a (dyn Fn(&str) + Sync),
}

impl std::fmt::Debug for Program<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("own_program", &self.own_program).finish_non_exhaustive()
    }
}

/// What figures were measured under. Unlike is never compared.
#[derive(Serialize)]
struct Condition<'a> {
    kind: &'static str,
    interval_ns: u64,
    policy: &'static str,
    priority: u32,
    clock: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_ns: Option<u64>,
    interval_maximum_ns: u64,
    load: &'static str,
    cpus: &'a str,
    /// By what causes are sought beside; absent where they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    explained_by: Option<&'a str>,
}

/// Monitors until it is stopped.
///
/// # Errors
/// Where another agent works in the same folder, the disk refuses at the start, or the node's settings ask for what cannot be.
pub fn monitor(state: State, settings: &Settings, program: &Program<'_>) -> Result<(), MonitorError> {
    kernel::memory::keep_little();
    let _lock = state.lock()?;
    let identity = Arc::new(state.identity()?.ok_or(StateError::NotEnrolled)?);
    let for_sender = state.clone();
    // Before anything of this start is written.
    state.enrolment()?.ok_or(StateError::NotEnrolled)?;
    let limits = SpoolLimits::of_bytes(settings.spool_bytes);
    let (mut spool, found) = DiskSpool::open(&state.spool(), identity.public(), limits)?;
    for path in &found.set_aside {
        (program.note)(&format!("a damaged segment of the spool was set aside: {}", path.display()));
    }
    let random = random().ok_or(StateError::NoRandomness)?;
    let stream = StreamId { start: state.count_start()?, random };
    let machine = Machine::read();
    let monitored = monitored_cpus(settings, &machine);
    if monitored.is_empty() {
        let why = "all CPUs are isolated: name those to monitor ('cpus' in the agent's settings)";
        return Err(MonitorError::Run(why.to_owned()));
    }
    let first = Look::now();
    let keeps_ns = settings.interval_maximum.0.saturating_add(120_000_000_000);
    let clocks = Clocks::new(facts::boot(), keeps_ns, first);
    let (_, _, _, host) = kernel::process::system_names();
    begin_stream(&mut spool, stream, &clocks, (&host, &machine, &monitored));
    let open = state.open_interval();
    for entry in entries_left(&open, &spool, (clocks.boot(), first.boottime_ns)) {
        spool.append(&entry);
    }
    spool.flush()?;
    // Until a run has begun: before it stands what looking for causes costs.
    let idle = Idle { boot: clocks.boot().clone(), since_ns: first.boottime_ns, why: None };
    OpenFile::write_idle(&open, idle, first.boottime_ns);

    let status = Status {
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        boot: clocks.boot().0.clone(),
        doing: "starts".to_owned(),
        set_aside: found.set_aside.iter().map(|path| path.display().to_string()).collect(),
        ..Status::default()
    };
    let services = Services::default();
    let decided = (state.explaining(), clocks.boot().clone());
    let (spool, signals) = (Arc::new(Mutex::new(spool)), Arc::new(Signals::default()));
    let (news, received) = channel();
    let supervisor = Supervisor::from_environment().map_err(|error| {
        MonitorError::Start(format!("the service manager at NOTIFY_SOCKET cannot be reached: {error}"))
    })?;
    let work = Work::default();
    let keeper = Keeper {
        state,
        spool: Arc::clone(&spool),
        signals: Arc::clone(&signals),
        settings: settings.clone(),
        sources: Sources::new(services.clone(), keeps_ns),
        clocks,
        status,
        condition: None,
        work,
        supervisor,
    };
    let interval = Duration::from_nanos(settings.interval_maximum.unsigned());
    let sender = Sender::new(for_sender, identity, spool, Arc::clone(&signals), interval)
        .map_err(|error| MonitorError::Start(error.to_string()))?;
    let housekeeping = machine.housekeeping(&monitored);
    let keeping = spawn("punctual-keeper", housekeeping.clone(), move || keeper.run(&received))?;
    let listener = sender.listener();
    let sending = spawn("punctual-sender", housekeeping.clone(), move || sender.run())?;
    // It ends with the program: what it waits for is on its way for minutes.
    let _listening = spawn("punctual-listener", housekeeping, move || listener.run())?;
    let ended = measure_always((settings, &monitored), (&decided, &services), (program, &signals), &news);
    // Whoever cannot hear it has ended already.
    let _ = news.send(News::Stops);
    let keeper = keeping.join();
    signals.is_over();
    join_within(sending, LAST_WORDS);
    if let Ok(mut keeper) = keeper {
        // With what was acknowledged last.
        keeper.tell(true);
    }
    ended
}

fn spawn<T: Send + 'static>(
    name: &str,
    housekeeping: CpuSet,
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<std::thread::JoinHandle<T>, MonitorError> {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        // It runs wherever it may where those are not given.
        let _ = kernel::sched::set_affinity(0, &housekeeping);
        job()
    });
    started.map_err(|error| MonitorError::Start(format!("no thread is to be had: {error}")))
}

/// The CPUs that are monitored: those that the node's file names, or all that are not isolated.
fn monitored_cpus(settings: &Settings, machine: &Machine) -> CpuSet {
    let usable = machine.allowed.intersection(&machine.online);
    settings.cpus.clone().unwrap_or_else(|| usable.difference(&machine.isolated))
}

fn begin_stream(
    spool: &mut DiskSpool,
    stream: StreamId,
    clocks: &Clocks,
    (host, machine, monitored): (&str, &Machine, &CpuSet),
) {
    let end = |(stream, (sequence, hash))| farm::monitor::StreamEnd { stream, sequence, hash };
    let begin = StreamBegin {
        boot: clocks.boot().clone(),
        start_ns: Look::now().boottime_ns,
        wall: Some(Look::now().wall),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: units::printable::line(host).chars().take(255).collect(),
        hardware: facts::hardware(),
        earlier: spool.ends().map(end).collect(),
        isolated_and_not_monitored: machine.isolated.difference(monitored).iter().collect(),
    };
    spool.begin(stream);
    spool.append(&MonitorEntry::Begin(begin));
}

/// One run after the other, until it is stopped.
fn measure_always(
    (settings, monitored): (&Settings, &CpuSet),
    (decided, services): (&(PathBuf, BootId), &Services),
    (program, signals): (&Program<'_>, &Signals),
    news: &NewsSender<News>,
) -> Result<(), MonitorError> {
    let mut idle_since_ns = Look::now().boottime_ns;
    let mut guests = Guests::listen(monitored);
    let mut said = String::new();
    let say = || signals.take_said().iter().for_each(|said| (program.note)(said));
    while !program.stop.ended_early() {
        say();
        if guests.are_there() {
            guests.has_left();
            tell(news, News::Waits)?;
            wait(LOOKS_FOR_GUESTS, program.stop);
            if !guests.are_there() || program.stop.ended_early() {
                let doing = "left the CPUs to a measurement".to_owned();
                tell(news, News::Gap { why: GapReason::Measuring, start_ns: idle_since_ns, doing })?;
                idle_since_ns = Look::now().boottime_ns;
            }
            continue;
        }
        let machine = Machine::read();
        let anyway = Anyway { is_wanted: false, warn: &|_| () };
        let surroundings = Surroundings { machine: &machine, own_program: &program.own_program, anyway, part: None };
        let failed = match prepare(request(settings, monitored), settings, decided, (&surroundings, program.stop)) {
            Ok((prepared, explaining)) => {
                let cpus: Vec<u32> = monitored.iter().collect();
                let condition = condition(settings, monitored, &explaining);
                tell(news, News::Begins { condition, cpus, explaining })?;
                (program.note)(&format!("monitors {}", prepared.about().heading));
                said.clear();
                let sink = Sink::new(news.clone(), settings.interval_maximum);
                let mut watch = Watching { asked: program.stop, sink: &sink, guests: &mut guests, say: &say };
                let context = RunContext { label: "monitoring".to_owned(), ..RunContext::default() };
                let beside =
                    Beside { sink: Some(&sink), gives_way: true, ..Beside::new(&context, &sink.stop, &mut watch) };
                let stop = Stop::new();
                let ended = std::thread::scope(|scope| {
                    let follow = || services.follow(&machine, &program.own_program, &stop);
                    // Without a thread nothing is known of the services of time.
                    let _ = std::thread::Builder::new().name("punctual-clocks".to_owned()).spawn_scoped(scope, follow);
                    let ended = prepared.run(&surroundings, beside);
                    stop.end_early();
                    ended
                });
                idle_since_ns = Look::now().boottime_ns;
                match ended {
                    Ok(record) => {
                        tell(news, News::RunEnded(Box::new(record)))?;
                        None
                    }
                    Err(error) => Some(error),
                }
            }
            Err(error) if error.class() == Class::Usage => return Err(MonitorError::Run(in_words(&error))),
            Err(error) => Some(error),
        };
        if program.stop.watchdog_fired() {
            let why = "the kernel's watchdog stopped a measuring thread: lengthen 'interval' in the agent's settings";
            return Err(MonitorError::Run(why.to_owned()));
        }
        let Some(error) = failed else { continue };
        let why = in_words(&error);
        if said != why {
            (program.note)(&format!("nothing is monitored now: {why}"));
            said.clone_from(&why);
        }
        wait(TRY_AGAIN, program.stop);
        let reason = match error.class() {
            Class::Refused => GapReason::NoPriority,
            Class::Usage | Class::Failed => GapReason::Other(why.chars().take(200).collect()),
        };
        let doing = format!("does not monitor: {why}");
        tell(news, News::Gap { why: reason, start_ns: idle_since_ns, doing })?;
        idle_since_ns = Look::now().boottime_ns;
    }
    Ok(())
}

/// Prepares a run, and decides whether it looks for causes: not before it is known that the run can be made.
fn prepare(
    request: WakeupRequest,
    settings: &Settings,
    (path, boot): &(PathBuf, BootId),
    (surroundings, stop): (&Surroundings<'_>, &Stop),
) -> Result<(Prepared, Explaining), RunError> {
    let prepare = |request: WakeupRequest| {
        let request = RunRequest { request: Request::Wakeup(request), load: None, partner: Vec::new() };
        run::prepare(request, run::Explaining::Known(None), surroundings)
    };
    let plain = prepare(request.clone())?;
    let explaining = explaining::decide(settings.explain, &request, (path, boot), (surroundings.machine, stop));
    match explaining::request(&explaining) {
        Some(explain) => Ok((prepare(WakeupRequest { explain: Some(explain), ..request })?, explaining)),
        None => Ok((plain, explaining)),
    }
}

/// Tells the keeping thread something. Without it nothing would be kept of what is measured.
fn tell(news: &NewsSender<News>, what: News) -> Result<(), MonitorError> {
    let gone =
        |_| MonitorError::Start("the thread that keeps what is measured has ended; its last words say why".to_owned());
    news.send(what).map_err(gone)
}

fn in_words(error: &RunError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(next) = source {
        text = format!("{text}: {next}");
        source = next.source();
    }
    text.lines().next().unwrap_or_default().to_owned()
}

fn wait(time: Duration, stop: &Stop) {
    let until = Instant::now() + time;
    while Instant::now() < until && !stop.ended_early() {
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn request(settings: &Settings, monitored: &CpuSet) -> WakeupRequest {
    WakeupRequest {
        placement: Placement::Pinned(monitored.clone()),
        policy: PolicyChoice::Fifo,
        priority: settings.priority,
        interval: settings.interval,
        end: RunEnd::WhenTold,
        clock: ClockId::Monotonic,
        interval_maximum: Some(settings.interval_maximum),
        intervals_on_utc: true,
        scan_rhythms: false,
        ..WakeupRequest::default()
    }
}

fn condition(settings: &Settings, monitored: &CpuSet, explaining: &Explaining) -> String {
    let condition = Condition {
        kind: "wakeup",
        interval_ns: settings.interval.unsigned(),
        policy: "fifo",
        priority: settings.priority,
        clock: "monotonic",
        limit_ns: settings.limit.map(Ns::unsigned),
        interval_maximum_ns: settings.interval_maximum.unsigned(),
        load: "idle or the user's own",
        cpus: &monitored.to_string(),
        explained_by: explaining.source.as_deref(),
    };
    serde_json::to_string(&condition).unwrap_or_default()
}

/// Takes the intervals of a run over, and passes them on: the measurement's own thread calls it.
struct Sink {
    news: Mutex<NewsSender<News>>,
    looks_every: Duration,
    /// Ends the run.
    stop: Stop,
    is_spoiled: AtomicBool,
}

impl Sink {
    fn new(news: NewsSender<News>, interval_maximum: Ns) -> Self {
        let looks_every = LOOKS_EVERY.min(Duration::from_nanos(interval_maximum.unsigned()) / 4);
        Self { news: Mutex::new(news), looks_every, stop: Stop::new(), is_spoiled: AtomicBool::new(false) }
    }

    fn tell(&self, news: News) {
        // The keeper ends after the measurement. One that is gone before ends it, and whoever began it says why.
        if self.news.lock().unwrap_or_else(PoisonError::into_inner).send(news).is_err() {
            self.stop.end_early();
        }
    }

    /// What is known of the run. One that something spoiled as a whole ends, so that what comes after is not spoiled with it.
    fn facts(&self, so_far: &Record) -> RunFacts {
        let facts = RunFacts::of(so_far);
        if !facts.spoils.is_empty() && !self.is_spoiled.swap(true, Ordering::AcqRel) {
            self.stop.end_early();
        }
        facts
    }
}

impl IntervalSink for Sink {
    fn take(&self, intervals: Vec<(usize, Interval)>, so_far: Record) {
        let facts = self.facts(&so_far);
        self.tell(News::Ended(intervals, facts));
    }

    /// Wake-ups are never told anew.
    fn replace(&self, _: Record) {}

    fn take_spoiled(&self, spoiled: Vec<(usize, SpoiledInterval)>, so_far: &Record) {
        let facts = self.facts(so_far);
        self.tell(News::Spoiled(spoiled, facts));
    }

    fn looks_every(&self) -> Option<Duration> {
        Some(self.looks_every)
    }

    fn look(&self, open: Vec<(usize, Interval)>, started: Moment) {
        self.tell(News::Open(open, started));
    }
}

/// Ends the run when the agent is to end.
struct Watching<'a> {
    asked: &'a Stop,
    sink: &'a Sink,
    guests: &'a mut Guests,
    /// Says what other threads have to say.
    say: &'a (dyn Fn() + Sync),
}

impl Watch for Watching<'_> {
    fn live(&mut self, _: &Live) {
        (self.say)();
        if self.asked.ended_early() || self.asked.watchdog_fired() || self.guests.are_there() {
            self.sink.stop.end_early();
        }
    }
}
