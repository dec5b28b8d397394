//! Run after run, until all is measured or somebody ends it; then the machine is as it was.

use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use campaign::journal::{self, Event};
use campaign::{Campaign, Layout, Phase, Visit};
use record::{Live, Record, ValidityState};
use run::Stop;
use units::Ns;

use crate::guard::Guard;
use crate::one_run::{Ended, OneRun, Sees};
use crate::{Folder, FolderError, Next, RunError, SetUp, Setting, SettingError, Watcher, folder};

/// Attempts of a run that turns out invalid.
const MOST_ATTEMPTS: usize = 2;
/// A visit that was begun so often without a run that was over ends the campaign: it may be what takes the machine down.
const MOST_BEGINNINGS: u32 = 4;
/// Between two looks at whether somebody wants it to end.
const PERIOD: Duration = Duration::from_millis(50);

/// How conducting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conducted {
    /// All is measured, or the stop rule ended it.
    Ended,
    /// Somebody ended it; it can be resumed.
    Stopped,
    /// The machine starts again now; the campaign then goes on by itself.
    Restarting,
}

/// Why a campaign cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ConductError {
    /// The campaign's folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The settings of a visit.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A run gave no record.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Nothing would revert the settings if this process is killed.
    #[error("cannot start the guard")]
    Guard(#[source] io::Error),
    /// The levels of a visit ask for a run that there is not.
    #[error("{0}")]
    Request(String),
    /// The folder's two files are of different campaigns.
    #[error("the journal and the campaign's file differ")]
    Differ,
    /// The machine would have to start again.
    #[error("this machine cannot be rebooted from here")]
    NoRestart,
    /// The reboot was refused.
    #[error("the machine cannot be rebooted")]
    Restart(#[source] io::Error),
    /// After an error, the settings could not be reverted either.
    #[error("and the machine is not as it was: {restoring}")]
    NotAsItWas {
        /// Why they could not be.
        restoring: SettingError,
        /// What had ended the campaign.
        #[source]
        error: Box<ConductError>,
    },
}

/// What carries a campaign out.
pub struct Conductor<'a> {
    /// Where it is kept.
    pub folder: &'a mut Folder,
    /// The machine that it sets up.
    pub setting: &'a mut Setting,
    /// Whether somebody wants it to end.
    pub stop: &'a Stop,
    /// Who is notified of the progress.
    pub watcher: &'a dyn Watcher,
    /// This program: it measures, guards and is what a restarted machine goes on with.
    pub program: &'a Path,
    /// How the machine is rebooted; `None` if that is left to a person.
    pub restart: Option<&'a dyn Fn() -> io::Result<()>>,
}

impl std::fmt::Debug for Conductor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conductor").field("folder", &self.folder.path).finish_non_exhaustive()
    }
}

impl Conductor<'_> {
    /// Goes on where the journal ends. Whatever comes of it, the machine is as it was, or the error says what is not.
    ///
    /// # Errors
    /// Where a visit cannot be set up, a run cannot be made, or the machine cannot be made as it was.
    pub fn conduct(&mut self) -> Result<Conducted, ConductError> {
        let began = Event::Begin {
            version: journal::VERSION,
            realtime_ns: now_ns(),
            boot_id: self.setting.boot_id().to_owned(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
        };
        self.folder.note(began)?;
        let mut guard =
            Guard::start(self.program, &self.folder.path, self.setting.root()).map_err(ConductError::Guard)?;
        let conducted = match self.all_visits() {
            Ok(Conducted::Restarting) => self.reboot(&mut guard),
            other => other,
        };
        if matches!(conducted, Ok(Conducted::Restarting)) {
            return conducted;
        }
        let restored = self.setting.take_back(self.folder, true, &|text| self.watcher.warns(text));
        if restored.is_ok() {
            guard.dismiss();
        }
        match (conducted, restored) {
            (Ok(conducted), Ok(())) => {
                if conducted == Conducted::Ended {
                    self.folder.note(Event::End)?;
                }
                Ok(conducted)
            }
            (Err(error), Ok(())) => Err(error),
            (Ok(_), Err(error)) => Err(error.into()),
            (Err(error), Err(restoring)) => Err(ConductError::NotAsItWas { restoring, error: Box::new(error) }),
        }
    }

    /// Whether what the machine runs is not what its boot loader says now.
    #[must_use]
    pub fn wants_restart(&self) -> bool {
        self.folder.held.state.needs_restart(self.setting.boot_id())
    }

    fn campaign(&self) -> &Campaign {
        &self.folder.held.campaign
    }

    fn layout(&self) -> Layout {
        self.campaign().layout(self.folder.held.state.winners.as_deref())
    }

    fn all_visits(&mut self) -> Result<Conducted, ConductError> {
        let conducted = self.visit_after_visit();
        self.watcher.ends();
        conducted
    }

    fn visit_after_visit(&mut self) -> Result<Conducted, ConductError> {
        let mut layout = self.layout();
        let begun = Instant::now();
        let mut next = 0;
        loop {
            let Some(visit) = layout.visits.get(next).cloned() else {
                if self.name_winners()? {
                    layout = self.layout();
                    continue;
                }
                return Ok(Conducted::Ended);
            };
            next += 1;
            if self.is_done(&visit) {
                continue;
            }
            if self.stop.ended_early() {
                return Ok(Conducted::Stopped);
            }
            if let Some(why) = self.enough(&visit, &layout, begun.elapsed()) {
                self.watcher.warns(&why);
                self.folder.note(Event::Enough { why })?;
                return Ok(Conducted::Ended);
            }
            match self.visit(&visit, &layout) {
                Ok(Visited::Done) => {}
                Ok(Visited::Stopped) => return Ok(Conducted::Stopped),
                Ok(Visited::Restart) => return Ok(Conducted::Restarting),
                Err(_) if self.stop.ended_early() => return Ok(Conducted::Stopped),
                Err(error) => return Err(error),
            }
        }
    }

    /// Reboots the machine, and has the campaign continue then.
    fn reboot(&mut self, guard: &mut Guard) -> Result<Conducted, ConductError> {
        let restart = self.restart.ok_or(ConductError::NoRestart)?;
        self.setting.come_back(self.folder, self.program)?;
        // A guard that outlived this process on the way down would revert what the machine is rebooted for.
        guard.dismiss();
        restart().map_err(ConductError::Restart)?;
        Ok(Conducted::Restarting)
    }

    fn planned(&self, layout: &Layout) -> u64 {
        (layout.visits.len() * self.campaign().measurement.len()) as u64
    }

    fn is_done(&self, visit: &Visit) -> bool {
        let mut all = 0..self.campaign().measurement.len();
        all.all(|one| self.folder.held.state.is_done(visit.number, one, MOST_ATTEMPTS))
    }

    /// Once the first part is over: whether there is a second.
    fn name_winners(&mut self) -> Result<bool, ConductError> {
        let state = &self.folder.held.state;
        if self.campaign().confirm.is_none() || state.winners.is_some() || state.enough.is_some() {
            return Ok(false);
        }
        let records = folder::records(&self.folder.path, &self.folder.held)?;
        let conditions = folder::evidence(&self.folder.held, &folder::borrowed(&records)).winners();
        let is_any = !conditions.is_empty();
        self.folder.note(Event::Winners { conditions })?;
        Ok(is_any)
    }

    /// Why no further visit begins.
    fn enough(&self, visit: &Visit, layout: &Layout, elapsed: Duration) -> Option<String> {
        let held = &self.folder.held;
        if let Some(why) = &held.state.enough {
            return Some(why.clone());
        }
        let in_a_row = held.state.unusable_in_a_row();
        if in_a_row >= held.campaign.stop.invalid_in_a_row as usize {
            return Some(format!("{in_a_row} runs in a row do not mean what was asked: see what makes them so"));
        }
        if held.state.begun_without_run >= MOST_BEGINNINGS {
            let of = layout.conditions.get(visit.condition).map_or_else(String::new, |one| held.campaign.name_of(one));
            return Some(format!(
                "visit {} ({of}) was begun {MOST_BEGINNINGS} times and no run of it was ever over",
                visit.number + 1
            ));
        }
        let after = held.campaign.stop.after?;
        let mut past = held.state.ran.values().flatten().map(|ran| ran.lasted_ns);
        // What earlier processes took is known by their runs alone.
        let spent = elapsed.max(Duration::from_nanos(units::total(&mut past)));
        let in_block = |other: &&Visit| other.phase == visit.phase && other.repetition == visit.repetition;
        let begins_one = layout.visits.iter().find(in_block).is_some_and(|first| first.number == visit.number);
        let block = Layout { visits: layout.visits.iter().filter(in_block).cloned().collect(), ..layout.clone() };
        let takes = held.campaign.time_left(&block, &held.state);
        (begins_one && spent + takes > after.0.to_std()).then(|| {
            format!(
                "another repetition would take until after {}, which is when it was to stop",
                units::format::span(after.0.0)
            )
        })
    }

    fn visit(&mut self, visit: &Visit, layout: &Layout) -> Result<Visited, ConductError> {
        let what = self.in_words(visit, layout);
        let warn = |text: &str| self.watcher.warns(text);
        if let SetUp::Restart = self.setting.set_up(self.folder, visit.number, visit.condition, &warn)? {
            return Ok(Visited::Restart);
        }
        if !self.wait(self.campaign().warm_up) {
            return Ok(Visited::Stopped);
        }
        for measurement in 0..self.campaign().measurement.len() {
            while !self.folder.held.state.is_done(visit.number, measurement, MOST_ATTEMPTS) {
                if !self.run(visit, measurement, layout, &what)? {
                    return Ok(Visited::Stopped);
                }
            }
        }
        Ok(Visited::Done)
    }

    /// One run; `false` where somebody ended it.
    fn run(&mut self, visit: &Visit, measurement: usize, layout: &Layout, what: &str) -> Result<bool, ConductError> {
        let campaign = self.campaign();
        let one = campaign.measurement.get(measurement).ok_or(ConductError::Differ)?;
        let is_one_of_several = campaign.measurement.len() > 1;
        let what = if is_one_of_several { format!("{what}, {}", one.name) } else { what.to_owned() };
        let left = campaign.time_left(layout, &self.folder.held.state);
        let done = self.folder.held.state.ran.len() as u64;
        self.watcher.begins(&Next { done, all: self.planned(layout), what: &what, left });
        let condition = layout.conditions.get(visit.condition).ok_or(ConductError::Differ)?;
        let levels =
            campaign.factor.iter().zip(&condition.levels).filter_map(|(factor, level)| factor.level.get(*level));
        // By which 'punctual compare --label-a' finds it among the others of its folder.
        let name = campaign.name_of(condition);
        let file = self.folder.run_file(visit.number, measurement);
        let one_run = OneRun {
            program: self.program,
            request: &one.at(levels).map_err(ConductError::Request)?,
            label: &if is_one_of_several { format!("{name}, {}", one.name) } else { name },
            file: &self.folder.path.join(&file),
            said: &self.folder.last_run(),
        };
        let (record, lasted) =
            match one_run.measure(self.stop, &mut WatchedRun { watcher: self.watcher, what: &what, left })? {
                Ended::Measured(record, lasted) => (record, lasted),
                Ended::Stopped => return Ok(false),
            };
        let unusable = self.setting.not_in_force(self.folder)?.map(|what| format!("after the run {what}"));
        if let Some(why) = unusable.clone().or_else(|| why_invalid(&record)) {
            self.watcher.warns(&format!("{what}: not used: {why}"));
        }
        self.folder.note(Event::Ran {
            visit: visit.number,
            measurement,
            file,
            validity: record.validity.state(),
            lasted_ns: u64::try_from(lasted.as_nanos()).unwrap_or(u64::MAX),
            unusable,
        })?;
        Ok(true)
    }

    fn in_words(&self, visit: &Visit, layout: &Layout) -> String {
        let campaign = self.campaign();
        let name = layout.conditions.get(visit.condition).map_or_else(String::new, |one| campaign.name_of(one));
        let part = if visit.phase == Phase::Confirmation { "confirmation " } else { "repetition " };
        format!("{part}{}, {name}", visit.repetition + 1)
    }

    /// Waits; `false` where somebody ends it meanwhile.
    fn wait(&self, time: Ns) -> bool {
        let until = Instant::now() + time.to_std();
        while Instant::now() < until {
            if self.stop.ended_early() {
                return false;
            }
            thread::sleep(PERIOD.min(until.saturating_duration_since(Instant::now())));
        }
        !self.stop.ended_early()
    }
}

/// A run as those see it who are notified of the campaign.
struct WatchedRun<'a> {
    watcher: &'a dyn Watcher,
    what: &'a str,
    /// The time that the campaign still took when the run began.
    left: Duration,
}

impl Sees for WatchedRun<'_> {
    fn goes_on(&mut self, lasted: Duration, live: Option<&Live>) {
        self.watcher.goes_on(self.what, self.left.saturating_sub(lasted), live);
    }

    fn warns(&mut self, text: &str) {
        self.watcher.warns(&format!("{}: {text}", self.what));
    }
}

enum Visited {
    Done,
    Stopped,
    Restart,
}

fn why_invalid(record: &Record) -> Option<String> {
    let first = record.validity.reasons().first();
    (record.validity.state() == ValidityState::Invalid)
        .then(|| first.map_or_else(|| "it is invalid".to_owned(), |reason| reason.detail.clone()))
}

fn now_ns() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}
