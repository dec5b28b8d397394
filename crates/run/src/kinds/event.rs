//! The hand-over from one thread to another.

use measure::Machine;
use measure::event::{self, EventPlan};
use record::{EventRequest, Record};
use units::format;

use super::{About, Threads};
use crate::error::RunError;
use crate::prepared::Beside;
use crate::surroundings::Surroundings;

#[derive(Debug)]
pub(super) struct Planned(EventPlan);

impl Planned {
    pub(super) fn new(request: EventRequest, machine: &Machine) -> Result<Self, RunError> {
        EventPlan::new(request, machine).map(Self).map_err(RunError::usage)
    }
}

impl super::Planned for Planned {
    fn about(&self) -> About {
        let Self(plan) = self;
        let interval = format::span(plan.request.interval.0);
        About {
            measured: plan.measured.clone(),
            housekeeping: plan.housekeeping.clone(),
            policy: Some(plan.policy()),
            length_ns: plan.length.duration_ns,
            heading: format!("{} on CPU {} every {interval}", plan.request.means, plan.measured),
            hands_on: true,
            tells_turns: false,
            no_load: None,
            measures_cost_first: false,
        }
    }

    fn measure(self: Box<Self>, _: &Surroundings<'_>, beside: Beside<'_>) -> Result<Record, RunError> {
        let Beside { context, stop, watch, sink, .. } = beside;
        event::measure(&self.0, context, stop, &mut Threads { watch }, sink)
            .map_err(|error| RunError::failed(error).while_doing("cannot start measuring"))
    }
}
