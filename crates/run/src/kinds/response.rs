//! The response to an edge of a GPIO line.

use measure::Machine;
use measure::response::{self, ResponseError, ResponsePlan};
use record::{Record, ResponseRequest};
use units::{CpuSet, format};

use super::{About, Threads};
use crate::error::RunError;
use crate::prepared::Beside;
use crate::surroundings::Surroundings;

#[derive(Debug)]
pub(super) struct Planned(ResponsePlan);

impl Planned {
    pub(super) fn new(request: ResponseRequest, machine: &Machine) -> Result<Self, RunError> {
        ResponsePlan::new(request, machine).map(Self).map_err(RunError::usage)
    }
}

impl super::Planned for Planned {
    fn about(&self) -> About {
        let Self(plan) = self;
        let interval = format::span(plan.request.interval.0);
        let (output, input) = (&plan.request.output, &plan.request.input);
        About {
            measured: CpuSet::from_iter([plan.cpu]),
            housekeeping: plan.housekeeping.clone(),
            policy: Some(plan.policy()),
            length_ns: plan.length.duration_ns,
            heading: format!("response of CPU {} to {input}, joined with {output}, every {interval}", plan.cpu),
            hands_on: true,
            tells_turns: false,
            no_load: None,
            measures_cost_first: false,
        }
    }

    fn measure(self: Box<Self>, _: &Surroundings<'_>, beside: Beside<'_>) -> Result<Record, RunError> {
        let Beside { context, stop, watch, sink, .. } = beside;
        response::measure(&self.0, context, stop, &mut Threads { watch }, sink).map_err(|error| match error {
            ResponseError::Arm(_) => RunError::failed(error).while_doing("cannot start measuring"),
            ResponseError::Write(_) => RunError::failed(error),
            ResponseError::Line(_) | ResponseError::NotJoined { .. } | ResponseError::NoEvents { .. } => {
                RunError::usage(error)
            }
        })
    }
}
