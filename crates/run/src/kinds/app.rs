//! The user's own program.

use measure::Machine;
use measure::app::{self, AppError};
use record::{AppRequest, AppTarget, Record};
use units::{CpuSet, Ns};

use super::{About, Threads};
use crate::error::RunError;
use crate::prepared::Beside;
use crate::surroundings::Surroundings;

/// What the period of a program is taken for before it is known: an interval of the record has to hold several.
pub(super) const USUAL_PERIOD: Ns = Ns::from_ms(1);

#[derive(Debug)]
pub(super) struct Planned {
    request: AppRequest,
    housekeeping: CpuSet,
}

impl Planned {
    pub(super) fn new(mut request: AppRequest, turns: Option<Ns>, machine: &Machine) -> Self {
        request.interval_maximum = request.interval_maximum.or(turns);
        Self { request, housekeeping: machine.allowed.intersection(&machine.online) }
    }

    fn name(&self) -> String {
        match &self.request.target {
            AppTarget::Command { command } => command.to_string(),
            AppTarget::Process { pid } => format!("process {pid}"),
        }
    }
}

impl super::Planned for Planned {
    fn about(&self) -> About {
        About {
            measured: CpuSet::new(),
            housekeeping: self.housekeeping.clone(),
            policy: None,
            length_ns: self.request.duration.map(Ns::unsigned),
            heading: self.name(),
            hands_on: true,
            tells_turns: true,
            no_load: None,
            measures_cost_first: false,
        }
    }

    fn measure(self: Box<Self>, surroundings: &Surroundings<'_>, beside: Beside<'_>) -> Result<Record, RunError> {
        let Beside { context, stop, watch, sink, .. } = beside;
        let Surroundings { machine, own_program, .. } = surroundings;
        let record = app::measure(&self.request, own_program, machine, context, stop, &mut Threads { watch }, sink)
            .map_err(|error| match error {
                AppError::Source(_) | AppError::InContainer => RunError::failed(error),
                _ => RunError::usage(error),
            })?;
        match not_run(&record) {
            Some(how) => Err(RunError::usage(format!(
                "'{}' could not be run ({how}), as the shell says above: correct it, or install what it names",
                self.name()
            ))),
            None => Ok(record),
        }
    }
}

/// How the shell ended that did not find the program, or may not run it (POSIX, 2.8.2); `None` of a program that ran.
fn not_run(record: &Record) -> Option<&str> {
    const SHELL_GAVE_UP: [&str; 2] = ["exit status 126", "exit status 127"];
    let app = record.app().filter(|app| app.command.is_some())?;
    // What ran for longer, and ends with such a status, has been followed.
    let is_at_once = record.measured_ns() < Ns::from_s(1).unsigned();
    app.ended.as_deref().filter(|how| is_at_once && SHELL_GAVE_UP.contains(how))
}
