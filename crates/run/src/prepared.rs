//! What every run goes through, whatever its kind: planned, under its load, to its record.

use measure::{Decider, IntervalSink, RunContext, Stop};
use record::{Record, RunRequest};

use crate::error::RunError;
use crate::kinds::{self, About, Explaining, Planned};
use crate::load::PreparedLoad;
use crate::surroundings::{Surroundings, Watch};

/// What goes beside a run.
pub struct Beside<'a> {
    /// What the manifest says of the caller.
    pub context: &'a RunContext,
    /// Ends it early.
    pub stop: &'a Stop,
    /// Sees it while it goes on.
    pub watch: &'a mut dyn Watch,
    /// Takes its intervals over as they end; kinds that have none hand none on ([`About::hands_on`]).
    pub sink: Option<&'a dyn IntervalSink>,
    /// Ends it as soon as it has seen enough; kinds without `until` take no notice.
    pub decider: Option<&'a dyn Decider>,
}

/// A run that can begin.
#[derive(Debug)]
pub struct Prepared {
    planned: Box<dyn Planned>,
    about: About,
    load: Option<PreparedLoad>,
    rotate_over_ns: Option<u64>,
}

/// Plans a run, and refuses what can be refused before anything starts.
///
/// # Errors
/// Where this machine cannot carry the request out, its load is not there, or the run would be invalid and is not wanted all
/// the same.
pub fn prepare(
    request: RunRequest,
    explaining: Explaining,
    surroundings: &Surroundings<'_>,
) -> Result<Prepared, RunError> {
    let RunRequest { request, load, .. } = request;
    let length_and_interval = kinds::length_and_interval(&request);
    let turns = load
        .as_ref()
        .zip(length_and_interval)
        .and_then(|(load, (length, interval))| crate::load::turns_interval(load, length, interval));
    let planned = kinds::plan(request, turns, explaining, surroundings.machine)?;
    let about = planned.about();
    let load = load.map(|load| PreparedLoad::find(&load, &about.measured, surroundings.machine)).transpose()?;
    if load.is_some() {
        if let Some(why) = about.no_load {
            return Err(RunError::usage(why));
        }
    }
    if load.as_ref().is_some_and(PreparedLoad::takes_turns) && !about.tells_turns {
        return Err(RunError::usage(
            "--rotate attributes wake-ups to parts of the load: it is for 'measure wakeup' and 'app'",
        ));
    }
    let rotate_over_ns = load.as_ref().map(|load| load.rotate_over(about.length_ns)).transpose()?.flatten();
    if let Some(policy) = about.policy {
        surroundings.anyway.check_policy(policy)?;
    }
    Ok(Prepared { planned, about, load, rotate_over_ns })
}

impl Prepared {
    /// What is known of it before it begins.
    #[must_use]
    pub const fn about(&self) -> &About {
        &self.about
    }

    /// Finds out whether its load can be started, long before it is ([`PreparedLoad::try_out`]).
    ///
    /// # Errors
    /// Where it cannot.
    pub fn try_load(&self, surroundings: &Surroundings<'_>) -> Result<(), RunError> {
        self.load.as_ref().map_or(Ok(()), |load| load.try_out(surroundings))
    }

    /// The load as a heading names it; `None` where it has none.
    #[must_use]
    pub fn load_title(&self) -> Option<String> {
        self.load.as_ref().map(PreparedLoad::title)
    }

    /// Starts the load, arms the measurement, opens the load's window as it begins, and makes the record.
    ///
    /// # Errors
    /// Where the load or the measurement cannot be started.
    pub fn run(self, surroundings: &Surroundings<'_>, beside: Beside<'_>) -> Result<Record, RunError> {
        let Self { planned, load, rotate_over_ns, .. } = self;
        let mut load = load.map(|load| load.start(surroundings)).transpose()?;
        let mut begins = || {
            if let Some(load) = &mut load {
                load.begin_window(rotate_over_ns);
            }
        };
        let mut record = planned.measure(surroundings, beside, &mut begins)?;
        if let Some(load) = load {
            load.finish_into(&mut record);
        }
        Ok(record)
    }
}
