//! The load that a request asks for: found before anything starts, started before the measurement is armed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use measure::Machine;
use measure::load::{LoadCpus, LoadError, LoadSpec, PartChoice, RunningLoad, choose_cpus};
use record::LoadRequest;
use units::{CpuSet, Ns};

use crate::error::RunError;
use crate::surroundings::Surroundings;

/// Intervals of the record for each turn of a load's part.
const INTERVALS_OF_A_TURN: i64 = 20;
/// Schedules that such an interval has at the least.
const LEAST_SCHEDULES: i64 = 10;
/// How long a load of the user's own is tried out.
const TRIAL: Duration = Duration::from_millis(400);

/// A built-in load, or that of a file.
///
/// # Errors
/// Where there is no such load, or its file cannot be read or is none.
pub fn load_by_name(name: &str) -> Result<LoadSpec, RunError> {
    if let Some(spec) = LoadSpec::built_in(name) {
        return Ok(spec);
    }
    if !name.contains(['/', '.']) {
        if name == "none" {
            return Err(RunError::usage(
                "this needs a load: name one of those that 'punctual load list' lists, or a load file",
            ));
        }
        let known: Vec<_> = LoadSpec::built_in_names().collect();
        return Err(RunError::usage(format!(
            "there is no load '{name}': {} and none are built in; a file's name has a dot or a slash, and a command of your \
             own is given by --load-cmd",
            known.join(", ")
        )));
    }
    let reading = format!("cannot read the load file {name}");
    let text = fs::read_to_string(name).map_err(|error| RunError::usage(error).while_doing(&reading))?;
    LoadSpec::parse(&text).map_err(|error| RunError::usage(error).while_doing(&format!("in {name}")))
}

/// The length of an interval of a run of this length, where the parts of its load take turns: short enough that the intervals
/// in which the turn passes on are few. `None` where they do not.
pub(crate) fn turns_interval(load: &LoadRequest, length: Ns, interval: Ns) -> Option<Ns> {
    if !load.rotate {
        return None;
    }
    let spec = load_by_name(load.name.as_deref()?).ok()?;
    let parts = spec.part.iter().filter(|part| !load.without.contains(&part.name)).count();
    let windows = i64::try_from(parts).ok()?.saturating_add(1);
    let wanted = length.0 / windows / INTERVALS_OF_A_TURN;
    Some(Ns(wanted.max(interval.0.saturating_mul(LEAST_SCHEDULES))))
}

/// A load that can be started.
#[derive(Clone, Debug)]
pub(crate) struct PreparedLoad {
    spec: LoadSpec,
    parts: PartChoice,
    cpus: CpuSet,
}

impl PreparedLoad {
    /// Finds it, with its parts and CPUs, before anything is started.
    ///
    /// # Errors
    /// Where there is no such load, or nothing of it is left, or no CPU is left for it.
    pub(crate) fn find(request: &LoadRequest, measured: &CpuSet, machine: &Machine) -> Result<Self, RunError> {
        let LoadRequest { name, command, cpus, without, rotate } = request;
        let spec = match command {
            Some(command) if command.trim().is_empty() => {
                return Err(RunError::usage(
                    "--load-cmd names no command; write for example --load-cmd 'ping -f localhost'",
                ));
            }
            Some(command) => LoadSpec::from_command(command),
            None => load_by_name(name.as_deref().unwrap_or("none"))?,
        };
        spec.check_has_parts(without).map_err(RunError::usage)?;
        if *rotate && spec.part.is_empty() {
            return Err(RunError::usage(format!(
                "--rotate needs a load that is made of parts, such as --load hard; '{}' is not",
                spec.name
            )));
        }
        if spec.part.iter().all(|part| without.contains(&part.name)) && !spec.part.is_empty() {
            return Err(RunError::usage(format!("--without leaves nothing of the load '{}'", spec.name)));
        }
        let wanted = match cpus {
            Some(cpus) => cpus.parse().map_err(|why| RunError::usage(why).while_doing("the load's cpus"))?,
            None => LoadCpus::Default,
        };
        let cpus = choose_cpus(&wanted, measured, machine).map_err(RunError::usage)?;
        Ok(Self { spec, parts: PartChoice { without: without.clone(), rotate: *rotate }, cpus })
    }

    /// Whether its parts take turns.
    pub(crate) const fn takes_turns(&self) -> bool {
        self.parts.rotate
    }

    /// The length of the run (ns) where the load's parts take turns in it.
    ///
    /// # Errors
    /// Where they do, and the run has no length.
    pub(crate) fn rotate_over(&self, length_ns: Option<u64>) -> Result<Option<u64>, RunError> {
        match (self.parts.rotate, length_ns) {
            (true, None) => Err(RunError::usage("--rotate shares the run's length out: give it one with --duration")),
            (true, length) => Ok(length),
            (false, _) => Ok(None),
        }
    }

    /// Starts it and waits until it has come up; names the parts that this machine does not let run. A load that has ended by
    /// itself until then is refused: the run would be invalid.
    ///
    /// # Errors
    /// Where it cannot be started, or has ended already.
    pub(crate) fn start(self, surroundings: &Surroundings<'_>) -> Result<RunningLoad, RunError> {
        let load =
            RunningLoad::start(self.spec, &self.parts.without, self.cpus, surroundings.own_program).map_err(classed)?;
        refuse_ended(&load, surroundings)?;
        for (part, why) in load.dropped_by_machine() {
            (surroundings.anyway.warn)(&format!("the load runs without its part '{part}': {why}"));
        }
        Ok(load)
    }

    /// Finds out whether it can be started, long before it is: a load of the user's own by starting it for a moment, one that is
    /// built in by looking for its programs, so that nothing of it disturbs what is measured before.
    ///
    /// # Errors
    /// Where it cannot.
    pub(crate) fn try_out(&self, surroundings: &Surroundings<'_>) -> Result<(), RunError> {
        let own_program: &Path = surroundings.own_program;
        let tried = if LoadSpec::built_in(&self.spec.name).is_some_and(|built_in| built_in == self.spec) {
            self.spec.check_programs().map(|()| None)
        } else {
            let (spec, cpus) = (self.spec.clone(), self.cpus.clone());
            RunningLoad::start_for(TRIAL, spec, &self.parts.without, cpus, own_program).map(Some)
        };
        match tried {
            Ok(Some(load)) => refuse_ended(&load, surroundings),
            Ok(None) => Ok(()),
            Err(error) if surroundings.anyway.is_wanted => {
                (surroundings.anyway.warn)(&error.to_string());
                Ok(())
            }
            Err(error) => Err(classed(error)),
        }
    }

    /// The load as a heading names it.
    pub(crate) fn title(&self) -> String {
        self.spec.title()
    }
}

/// What can be done about a load that cannot be started: something else be asked for or installed, or the machine looked at.
fn classed(error: LoadError) -> RunError {
    if error.is_of_the_machine() { RunError::failed(error) } else { RunError::usage(error) }
}

/// Refuses a load of which something has ended already.
fn refuse_ended(load: &RunningLoad, surroundings: &Surroundings<'_>) -> Result<(), RunError> {
    match load.ended_at_once() {
        // Wrong as it is written, whatever the machine; measured all the same only where that is wanted.
        Some(error) if !error.is_early_end() && !surroundings.anyway.is_wanted => Err(RunError::usage(error)),
        Some(error) => surroundings.anyway.refuse(
            error.to_string(),
            "name a load that runs until it is ended, for example --load-cmd 'while :; do COMMAND; done'",
        ),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Class;

    #[test]
    fn a_load_that_the_machine_cannot_start_is_no_wrong_request() {
        let of = |error| classed(error).class();
        assert_eq!(of(LoadError::Missing { program: "x".to_owned() }), Class::Usage);
        let error = std::io::Error::from(std::io::ErrorKind::OutOfMemory);
        assert_eq!(of(LoadError::Guard(error)), Class::Failed);
    }

    #[test]
    fn intervals_are_short_beside_the_turns_of_a_loads_parts() {
        let interval = |rotate, interval| {
            let load = LoadRequest { name: Some("hard".into()), rotate, ..LoadRequest::default() };
            turns_interval(&load, Ns::from_s(70), interval)
        };
        assert_eq!(interval(false, Ns::from_ms(1)), None);
        assert_eq!(interval(true, Ns::from_ms(1)), Some(Ns::from_ms(500)), "six parts and all together, each for 10 s");
        assert_eq!(interval(true, Ns::from_ms(200)), Some(Ns::from_s(2)), "ten schedules at the least");
    }
}
