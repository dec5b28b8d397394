//! Makes entries of what was measured, and brings them to the disk: by a thread of its own, since a disk may take longer than the
//! measurement can wait.

mod group;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use farm::monitor::{
    Cause, ContentKind, ContentOf, Explaining, GapReason, Interval as MonitorInterval, LeftTimes, MonitorEntry,
};
use farm::stream::ContentHash;
use kernel::supervisor::Supervisor;
use record::{Interval, Moment, Record, SpoiledInterval};

use self::group::{Groups, Hour};
use crate::clocks::{Clocks, Look};
use crate::open_file::{Idle, OpenFile};
use crate::settings::Settings;
use crate::signals::Signals;
use crate::sources::Sources;
use crate::spool::DiskSpool;
use crate::state::State;
use crate::status::Status;

/// Between two looks at the clocks.
const LOOK_PERIOD: Duration = Duration::from_secs(1);
/// Between two readings of the machine.
const PROFILE_PERIOD: Duration = Duration::from_secs(3_600);
/// A status is written at least so often, so that one sees that the agent lives.
const STATUS_PERIOD: Duration = Duration::from_secs(30);

/// What is known of the run that intervals are of.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunFacts {
    /// When it began.
    pub(crate) started: Moment,
    /// The CPU of each series.
    pub(crate) cpus: Vec<Option<u32>>,
    /// Codes of what spoils all of it.
    pub(crate) spoils: Vec<String>,
    /// Wake-ups whose causes were sought since the last intervals ended.
    pub(crate) explained: Vec<Explained>,
}

/// A wake-up whose cause was sought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Explained {
    /// Its CPU.
    pub(crate) cpu: u32,
    /// The latency (ns).
    pub(crate) latency_ns: i64,
    /// When the thread woke (ns, CLOCK_MONOTONIC).
    pub(crate) woke_ns: i64,
    /// What was found.
    pub(crate) cause: Cause,
}

/// What the keeper is told.
#[derive(Debug)]
pub(crate) enum News {
    /// A run begins under a condition (JSON); whether it looks for causes.
    Begins { condition: String, cpus: Vec<u32>, explaining: Explaining },
    /// Intervals have ended and stand.
    Ended(Vec<(usize, Interval)>, RunFacts),
    /// Intervals have ended and were spoiled.
    Spoiled(Vec<(usize, SpoiledInterval)>, RunFacts),
    /// Intervals that have not ended, as far as they have come.
    Open(Vec<(usize, Interval)>, Moment),
    /// The run has ended.
    RunEnded(Box<Record>),
    /// Nothing was monitored, until now (ns, CLOCK_BOOTTIME).
    Gap { why: GapReason, start_ns: i64, doing: String },
    /// Nothing is measured, and whoever measures waits on purpose.
    Waits,
    /// The agent ends.
    Stops,
}

/// The keeping thread.
pub(crate) struct Keeper {
    pub(crate) state: State,
    pub(crate) spool: Arc<Mutex<DiskSpool>>,
    pub(crate) signals: Arc<Signals>,
    pub(crate) settings: Settings,
    pub(crate) clocks: Clocks,
    pub(crate) sources: Sources,
    pub(crate) status: Status,
    /// The condition of the present run, and its entry.
    pub(crate) condition: Option<(ContentHash, MonitorEntry)>,
    pub(crate) work: Work,
    /// Hears of each news: that it comes shows that the measurement goes on, and that it is taken that this thread does.
    pub(crate) supervisor: Supervisor,
}

/// What has not become an entry yet.
#[derive(Debug, Default)]
pub(crate) struct Work {
    groups: Groups,
    hour: Option<Hour>,
    cpus: Vec<Option<u32>>,
    profile: Option<(Instant, String)>,
    /// What was written of whether causes are sought.
    explaining: Option<ContentHash>,
    told: Option<(Instant, Status)>,
    /// Since when nothing is monitored (ns, CLOCK_BOOTTIME), where that is so.
    idle_since_ns: Option<i64>,
}

impl Keeper {
    /// Keeps until the agent ends.
    pub(crate) fn run(mut self, news: &Receiver<News>) -> Self {
        self.supervisor.is_ready();
        self.read_profile();
        loop {
            let (news, is_over) = match news.recv_timeout(LOOK_PERIOD) {
                Ok(News::Stops) | Err(RecvTimeoutError::Disconnected) => (None, true),
                Ok(news) => (Some(news), false),
                Err(RecvTimeoutError::Timeout) => (None, false),
            };
            self.look();
            if let Some(news) = news {
                self.take(news);
                self.supervisor.still_works();
            }
            self.enter_groups(is_over);
            if is_over {
                self.supervisor.ends();
                self.enter_hour();
                let at_ns = Look::now().boottime_ns;
                let boot = self.clocks.boot().clone();
                self.append(&MonitorEntry::End { boot, at_ns, why: GapReason::Stopped });
                self.status.doing = "ended".to_owned();
                self.flush();
                OpenFile::remove(&self.state.open_interval());
                self.tell(true);
                return self;
            }
            if self.work.profile.as_ref().is_none_or(|(read, _)| read.elapsed() >= PROFILE_PERIOD) {
                self.read_profile();
            }
            self.tell(false);
        }
    }

    fn spool(&self) -> MutexGuard<'_, DiskSpool> {
        self.spool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, entry: &MonitorEntry) {
        self.spool().append(entry);
    }

    /// Brings to the disk what was appended.
    fn flush(&mut self) {
        let flushed = self.spool().flush();
        let failed = flushed.err().map(|error| error.to_string());
        match (&self.status.disk_error, &failed) {
            (before, Some(error)) if before.as_ref() != Some(error) => {
                self.signals.say(format!("{error}; it stays in memory, and the hub gets it when it could be written"));
            }
            (Some(_), None) => self.signals.say("what was measured is on the disk again".to_owned()),
            _ => {}
        }
        self.status.disk_error = failed;
        self.signals.has_news();
    }

    fn look(&mut self) {
        let look = Look::now();
        self.sources.look(&look, self.clocks.step(&look));
        if let Some(slept) = self.clocks.take(look) {
            let times = LeftTimes {
                boot: self.clocks.boot().clone(),
                start_ns: slept.start_ns,
                length_ns: slept.length_ns,
                wall: None,
            };
            self.append(&MonitorEntry::Gap { times, why: GapReason::Suspended, cpus: Vec::new() });
            self.flush();
        }
    }

    fn take(&mut self, news: News) {
        match news {
            News::Begins { condition, cpus, explaining } => {
                self.tell_explaining(explaining);
                self.begins(&condition, &cpus);
            }
            News::Ended(intervals, run) => {
                let limit_ns = self.settings.limit.map(units::Ns::unsigned);
                self.work.groups.ended(intervals, &run, (&self.clocks, limit_ns));
                self.work.cpus = run.cpus;
            }
            News::Spoiled(intervals, run) => {
                self.work.groups.spoiled(intervals, &run, &self.clocks);
                self.work.cpus = run.cpus;
            }
            News::Open(open, started) => self.write_open(open, started),
            News::RunEnded(record) => {
                let run = RunFacts::of(&record);
                let rest = |(number, series): (usize, &record::Series)| {
                    series.spoiled.intervals.iter().cloned().map(move |one| (number, one)).collect::<Vec<_>>()
                };
                let rest: Vec<_> = record.series.iter().enumerate().flat_map(rest).collect();
                self.work.groups.spoiled(rest, &run, &self.clocks);
                self.enter_groups(true);
                self.enter_hour();
                self.work.groups = Groups::default();
                self.flush();
                self.is_idle_since(Look::now().boottime_ns, None);
            }
            News::Gap { why, start_ns, doing } => {
                let length_ns = u64::try_from(Look::now().boottime_ns - start_ns).unwrap_or(0);
                let times = LeftTimes { boot: self.clocks.boot().clone(), start_ns, length_ns, wall: None };
                self.append(&MonitorEntry::Gap { times, why, cpus: Vec::new() });
                self.status.doing = doing;
                self.flush();
                self.is_idle_since(start_ns.saturating_add_unsigned(length_ns), None);
            }
            News::Waits => {
                let since_ns = self.work.idle_since_ns.unwrap_or_else(|| Look::now().boottime_ns);
                self.is_idle_since(since_ns, Some(GapReason::Measuring));
            }
            News::Stops => {}
        }
    }

    /// Writes down since when nothing is monitored, so that the next start can tell of it after a kill.
    fn is_idle_since(&mut self, since_ns: i64, why: Option<GapReason>) {
        self.work.idle_since_ns = Some(since_ns);
        let idle = Idle { boot: self.clocks.boot().clone(), since_ns, why };
        OpenFile::write_idle(&self.state.open_interval(), idle, Look::now().boottime_ns);
    }

    fn begins(&mut self, condition: &str, cpus: &[u32]) {
        let hash = ContentHash::of(condition);
        if self.condition.as_ref().is_none_or(|(known, _)| *known != hash) {
            let entry = self.content(ContentKind::Condition, condition.to_owned());
            self.append(&entry);
            self.condition = Some((hash, entry));
        }
        self.work.groups.begins(cpus);
        self.sources.begins();
        let cpus = units::CpuSet::from_iter(cpus.iter().copied());
        self.status.doing = format!("monitors CPU {cpus}");
        self.flush();
    }

    /// Enters whether causes are sought, where that has changed.
    fn tell_explaining(&mut self, explaining: Explaining) {
        let text = serde_json::to_string(&explaining).unwrap_or_default();
        let hash = ContentHash::of(&text);
        if self.work.explaining.replace(hash) != Some(hash) {
            self.append(&self.content(ContentKind::Explaining, text));
        }
        self.status.explaining = Some(explaining);
    }

    fn content(&self, kind: ContentKind, text: String) -> MonitorEntry {
        let since_ns = Look::now().boottime_ns;
        MonitorEntry::Content(ContentOf { kind, text, since_ns, boot: self.clocks.boot().clone() })
    }

    /// Reads the machine, and writes what was read where its configuration has changed.
    fn read_profile(&mut self) {
        let (profile, _) = host::read_profile(&host::Root::live());
        let hash = profile.hash();
        let known = self.work.profile.replace((Instant::now(), hash.clone())).map(|(_, hash)| hash);
        let path = self.profile_path();
        let now = format!("{} {hash}", self.clocks.boot().0);
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        if known.as_ref() == Some(&hash) || written.trim() == now {
            return;
        }
        let Ok(text) = serde_json::to_string(&profile) else { return };
        let entry = self.content(ContentKind::Profile, text);
        self.append(&entry);
        self.flush();
        if self.status.disk_error.is_none() {
            let _ = crate::state::replace_without_flush(&path, now.as_bytes());
        }
    }

    fn profile_path(&self) -> PathBuf {
        self.state.spool().join("profile")
    }

    /// Enters the intervals of which all CPUs are known, or that waited long enough for the others.
    fn enter_groups(&mut self, all_of_them: bool) {
        let Some((condition, _)) = self.condition.clone() else { return };
        let mut is_any = false;
        while let Some(group) = self.work.groups.next(all_of_them) {
            let hour = Hour::of(&group);
            if self.work.hour.as_ref().is_some_and(|open| !open.goes_on_in(&hour)) {
                self.enter_hour();
            }
            let sources = group.sources(&self.sources);
            self.append(&MonitorEntry::Interval(MonitorInterval { sources, ..group.interval(condition) }));
            match &mut self.work.hour {
                Some(open) => open.add(hour),
                None => self.work.hour = Some(hour),
            }
            is_any = true;
        }
        if is_any {
            self.flush();
        }
    }

    /// Enters the histograms of the hour that is open.
    fn enter_hour(&mut self) {
        let condition = self.condition.as_ref().map(|(hash, _)| *hash);
        if let Some((hour, condition)) = self.work.hour.take().zip(condition) {
            if let Some(histograms) = hour.histograms(condition) {
                self.append(&MonitorEntry::Histograms(histograms));
            }
        }
    }

    /// Writes the open intervals, and those that wait for some of their CPUs.
    fn write_open(&self, open: Vec<(usize, Interval)>, started: Moment) {
        let Some((condition, entry)) = &self.condition else { return };
        let now = Look::now();
        let limit_ns = self.settings.limit.map(units::Ns::unsigned);
        let mut groups = self.work.groups.waiting();
        let run = RunFacts { started, cpus: self.work.groups.cpus(), ..RunFacts::default() };
        groups.ended(open, &run, (&self.clocks, limit_ns));
        let mut intervals: Vec<MonitorInterval> = Vec::new();
        while let Some(group) = groups.next(true) {
            let sources = group.sources(&self.sources);
            intervals.push(MonitorInterval { sources, ..group.until(now.boottime_ns).interval(*condition) });
        }
        if !intervals.is_empty() {
            OpenFile::write(&self.state.open_interval(), &intervals, Some(entry), now.boottime_ns);
        }
    }

    /// Says how the agent is, where that has changed, or it is time.
    pub(crate) fn tell(&mut self, now: bool) {
        {
            let spool = self.spool.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((stream, acknowledged)) = spool.current() {
                (self.status.stream, self.status.acknowledged) = (Some(stream), acknowledged);
            }
            (self.status.entries, self.status.waiting) = spool.counts();
        }
        self.status.sender = self.signals.status();
        let is_known =
            self.work.told.as_ref().is_some_and(|(at, told)| *told == self.status && at.elapsed() < STATUS_PERIOD);
        if now || !is_known {
            self.work.told = Some((Instant::now(), self.status.clone()));
            self.state.tell_status(&Status { written_boottime_ns: Look::now().boottime_ns, ..self.status.clone() });
        }
    }
}

impl RunFacts {
    /// What a record says of its run.
    pub(crate) fn of(record: &Record) -> Self {
        use record::{ReasonCode, Spoils, ValidityState};
        let spoils_all = |code: ReasonCode| {
            let info = code.info();
            // Those that are of the number of intervals say nothing of one of them.
            info.state == ValidityState::Invalid
                && info.spoils == Spoils::Run
                && !matches!(code, ReasonCode::MostIntervalsSpoiled | ReasonCode::NoSamples)
        };
        let reasons = record.validity.reasons().iter().map(|reason| reason.code);
        Self {
            started: record.manifest().started,
            cpus: record.series.iter().map(|series| series.place.cpu()).collect(),
            spoils: reasons.filter(|code| spoils_all(*code)).map(code_text).collect(),
            explained: record.late_samples.explanation.iter().flat_map(|of| &of.samples).map(Explained::of).collect(),
        }
    }
}

impl Explained {
    fn of(sample: &record::ExplainedSample) -> Self {
        Self {
            cpu: sample.cpu,
            latency_ns: sample.latency_ns,
            woke_ns: sample.woke.monotonic.as_ns(),
            cause: Cause::of_sample(sample),
        }
    }
}

/// A reason as a record has it.
pub(crate) fn code_text(code: record::ReasonCode) -> String {
    match serde_json::to_value(code) {
        Ok(serde_json::Value::String(text)) => text,
        _ => format!("{code:?}"),
    }
}
