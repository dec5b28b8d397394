//! Run after run, until all is measured or somebody ends it; then the machine is as it was.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use campaign::journal::{self, Event};
use campaign::{Campaign, Layout, Phase, Visit};
use host::Root;
use measure::Stop;
use record::{Record, ValidityState};
use units::Ns;

use super::child::{self, Ended};
use super::folder::{self, Folder};
use super::guard::Guard;
use super::progress::{self, Progress};
use super::setting::{self, SetUp, Setting};
use crate::output;

/// Attempts of a run that turns out invalid.
const MOST_ATTEMPTS: usize = 2;
/// A visit that was begun so often without a run that was over ends the campaign: it may be what takes the machine down.
const MOST_BEGINNINGS: u32 = 4;
/// Between two looks at whether somebody wants it to end.
const PERIOD: Duration = Duration::from_millis(50);

/// How conducting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conducted {
    /// All is measured, or the stop rule ended it.
    Ended,
    /// Somebody ended it; it can be resumed.
    Stopped,
    /// The machine starts again now; the campaign then goes on by itself.
    Restarting,
}

pub(super) struct Conductor<'a> {
    pub(super) folder: &'a mut Folder,
    pub(super) setting: &'a mut Setting,
    pub(super) stop: &'a Stop,
    /// The machine that it sets up.
    pub(super) root: &'a Root,
    /// How the machine is started anew; nothing where it is left to a person.
    pub(super) restart: Option<&'a dyn Fn() -> anyhow::Result<()>>,
}

impl Conductor<'_> {
    /// Goes on where the journal ends. Whatever comes of it, the machine is as it was, or the error says what is not.
    pub(super) fn conduct(&mut self) -> anyhow::Result<Conducted> {
        let began = Event::Begin {
            version: journal::VERSION,
            realtime_ns: now_ns(),
            boot_id: self.setting.boot_id(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
        };
        self.folder.note(began)?;
        let mut guard = Guard::start(&self.folder.path, self.root).context("cannot start the guard")?;
        let conducted = match self.all_visits() {
            Ok(Conducted::Restarting) => self.start_anew(&mut guard),
            other => other,
        };
        if matches!(conducted, Ok(Conducted::Restarting)) {
            return conducted;
        }
        let restored = self.setting.take_back(self.folder, true);
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
            (Ok(_), Err(error)) => Err(error),
            (Err(error), Err(restoring)) => {
                Err(error.context(format!("and the machine is not as it was: {restoring:#}")))
            }
        }
    }

    /// Whether what the machine runs is not what its boot loader says now.
    pub(super) fn wants_restart(&self) -> bool {
        self.folder.held.state.needs_restart(&self.setting.boot_id())
    }

    fn campaign(&self) -> &Campaign {
        &self.folder.held.campaign
    }

    fn layout(&self) -> Layout {
        self.campaign().layout(self.folder.held.state.winners.as_deref())
    }

    fn all_visits(&mut self) -> anyhow::Result<Conducted> {
        let restarts = setting::restarts(self.campaign());
        let mut layout = self.layout();
        let progress = Progress::new(self.planned(&layout));
        let begun = Instant::now();
        let mut next = 0;
        let conducted = loop {
            let Some(visit) = layout.visits.get(next).cloned() else {
                if self.name_winners()? {
                    layout = self.layout();
                    continue;
                }
                break Conducted::Ended;
            };
            next += 1;
            if self.is_done(&visit) {
                continue;
            }
            if self.stop.ended_early() {
                break Conducted::Stopped;
            }
            if let Some(why) = self.enough(&visit, &layout, begun.elapsed(), restarts) {
                progress.warn(&why);
                self.folder.note(Event::Enough { why })?;
                break Conducted::Ended;
            }
            match self.visit(&visit, &layout, &progress, restarts) {
                Ok(Visited::Done) => {}
                Ok(Visited::Stopped) => break Conducted::Stopped,
                Ok(Visited::Restart) => break Conducted::Restarting,
                Err(_) if self.stop.ended_early() => break Conducted::Stopped,
                Err(error) => {
                    progress.finish();
                    return Err(error);
                }
            }
        };
        progress.finish();
        Ok(conducted)
    }

    /// Has the machine start again, and the campaign go on then.
    fn start_anew(&mut self, guard: &mut Guard) -> anyhow::Result<Conducted> {
        let Some(restart) = self.restart else { bail!("nobody can start this machine anew from here") };
        self.setting.come_back(self.folder)?;
        // A guard that outlived this process on the way down would take back what the machine is started for.
        guard.dismiss();
        restart()?;
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
    fn name_winners(&mut self) -> anyhow::Result<bool> {
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
    fn enough(&self, visit: &Visit, layout: &Layout, elapsed: Duration, restarts: bool) -> Option<String> {
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
        let takes = progress::left(&held.campaign, &block, &held.state, restarts);
        (begins_one && spent + takes > after.0.to_std()).then(|| {
            format!(
                "another repetition would take until after {}, which is when it was to stop",
                units::format::span(after.0.0)
            )
        })
    }

    fn visit(
        &mut self,
        visit: &Visit,
        layout: &Layout,
        progress: &Progress,
        restarts: bool,
    ) -> anyhow::Result<Visited> {
        let what = self.in_words(visit, layout);
        if let SetUp::Restart = self.setting.set_up(self.folder, visit.number, visit.condition)? {
            return Ok(Visited::Restart);
        }
        if !self.wait(self.campaign().warm_up) {
            return Ok(Visited::Stopped);
        }
        for measurement in 0..self.campaign().measurement.len() {
            while !self.folder.held.state.is_done(visit.number, measurement, MOST_ATTEMPTS) {
                if !self.run(visit, measurement, layout, &what, progress, restarts)? {
                    return Ok(Visited::Stopped);
                }
            }
        }
        Ok(Visited::Done)
    }

    /// One run; `false` where somebody ended it.
    fn run(
        &mut self,
        visit: &Visit,
        measurement: usize,
        layout: &Layout,
        what: &str,
        progress: &Progress,
        restarts: bool,
    ) -> anyhow::Result<bool> {
        let campaign = self.campaign();
        let one = campaign.measurement.get(measurement).context("the journal and the campaign's file differ")?;
        let what = if campaign.measurement.len() > 1 { format!("{what}, {}", one.name) } else { what.to_owned() };
        let left = progress::left(campaign, layout, &self.folder.held.state, restarts);
        let done = self.folder.held.state.ran.len() as u64;
        progress.begins(done, self.planned(layout), &what, left);
        let condition = layout.conditions.get(visit.condition).context("the journal and the campaign's file differ")?;
        let levels =
            campaign.factor.iter().zip(&condition.levels).filter_map(|(factor, level)| factor.level.get(*level));
        let what_to_measure = one.at(levels).map_err(anyhow::Error::msg)?;
        // By which 'punctual compare --label-a' finds it among the others of its folder.
        let name = campaign.name_of(condition);
        let label = if campaign.measurement.len() > 1 { format!("{name}, {}", one.name) } else { name };
        let name = self.folder.run_file(visit.number, measurement);
        let file = self.folder.path.join(&name);
        let said = self.folder.path.join("last-run.txt");
        let mut ticks = |elapsed: Duration| progress.ticks(&what, left.saturating_sub(elapsed));
        let (record, lasted) = match child::measure(&what_to_measure, &label, &file, &said, self.stop, &mut ticks)? {
            Ended::Measured(record, lasted) => (record, lasted),
            Ended::Stopped => return Ok(false),
        };
        let unusable = self.setting.not_in_force(self.folder)?.map(|what| format!("after the run {what}"));
        if let Some(why) = unusable.clone().or_else(|| why_invalid(&record)) {
            progress.warn(&format!("{what}: not used: {why}"));
        }
        self.folder.note(Event::Ran {
            visit: visit.number,
            measurement,
            file: name,
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

/// Takes away what only a running campaign needs.
pub(super) fn tidy(folder: &Path) {
    // It may never have been made.
    let _ = fs::remove_file(folder.join("last-run.txt"));
    output::note(&format!("the records are in {}", folder.display()));
}
