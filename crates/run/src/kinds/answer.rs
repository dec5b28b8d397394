//! The answer to an edge that somebody else makes.

use measure::Machine;
use measure::answer::{self, AnswerError, AnswerPlan};
use record::{AnswerRequest, Record};
use units::CpuSet;

use super::{About, Threads};
use crate::error::RunError;
use crate::prepared::Beside;
use crate::surroundings::Surroundings;

#[derive(Debug)]
pub(super) struct Planned(AnswerPlan);

impl Planned {
    pub(super) fn new(request: AnswerRequest, machine: &Machine) -> Result<Self, RunError> {
        AnswerPlan::new(request, machine).map(Self).map_err(RunError::usage)
    }
}

impl super::Planned for Planned {
    fn about(&self) -> About {
        let Self(plan) = self;
        let (output, input) = (&plan.request.output, &plan.request.input);
        let whose =
            plan.request.witness.as_ref().map_or_else(String::new, |witness| format!(", beside the witness {witness}"));
        About {
            measured: CpuSet::from_iter([plan.cpu]),
            housekeeping: plan.housekeeping.clone(),
            policy: Some(plan.policy()),
            length_ns: plan.length.duration_ns,
            heading: format!("answers of CPU {} to {input} by {output}{whose}", plan.cpu),
            hands_on: true,
            tells_turns: false,
            no_load: None,
            measures_cost_first: false,
        }
    }

    fn measure(self: Box<Self>, _: &Surroundings<'_>, beside: Beside<'_>) -> Result<Record, RunError> {
        let Beside { context, stop, watch, sink, .. } = beside;
        answer::measure(&self.0, context, stop, &mut Threads { watch }, sink).map_err(|error| match error {
            AnswerError::Arm(_) | AnswerError::Conductor(_) => {
                RunError::failed(error).while_doing("cannot start measuring")
            }
            AnswerError::Line(_) | AnswerError::Witness(_) => RunError::usage(error),
        })
    }
}
