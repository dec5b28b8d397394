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
    if let (Some(_), Some(why)) = (&load, about.no_load) {
        return Err(RunError::usage(why));
    }
    let load = load.map(|load| PreparedLoad::find(&load, &about.measured, surroundings.machine)).transpose()?;
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use measure::Machine;
    use record::{ClockRequest, LoadRequest, NoiseRequest, Request};
    use units::Ns;

    use super::*;
    use crate::{Anyway, Unseen};

    fn with_surroundings<T>(take: impl FnOnce(&Surroundings<'_>) -> T) -> T {
        let (machine, own_program) = (Machine::read(), Path::new("/nowhere"));
        let anyway = Anyway { is_wanted: false, warn: &|_| () };
        take(&Surroundings { machine: &machine, own_program, anyway })
    }

    #[test]
    fn a_measurement_says_once_that_it_begins() {
        let gaps = NoiseRequest { duration: Ns::from_ms(100), ..NoiseRequest::default() };
        let clocks = ClockRequest { samples: 1_000, ..ClockRequest::default() };
        for request in [Request::Noise(gaps), Request::Clock(clocks)] {
            let begun = with_surroundings(|surroundings| {
                let planned = kinds::plan(request, None, Explaining::MeasuredFirst, surroundings.machine).unwrap();
                let (context, stop, mut begun) = (RunContext::default(), Stop::new(), 0);
                let beside = Beside { context: &context, stop: &stop, watch: &mut Unseen, sink: None, decider: None };
                let record = planned.measure(surroundings, beside, &mut || begun += 1).unwrap();
                assert!(record.samples() > 0 || record.measurement.name() == "noise", "{record:?}");
                begun
            });
            assert_eq!(begun, 1);
        }
    }

    #[test]
    fn a_load_that_a_kind_does_not_take_is_refused_before_it_is_looked_for() {
        let load = LoadRequest { name: Some("nobody-has-it".to_owned()), ..LoadRequest::default() };
        let request = RunRequest { request: Request::Clock(ClockRequest::default()), load: Some(load), partner: None };
        let refused = with_surroundings(|here| prepare(request, Explaining::MeasuredFirst, here).unwrap_err());
        assert!(refused.to_string().contains("without a load"), "{refused}");
    }
}
