//! Time stolen from a thread that never sleeps.

use measure::Machine;
use measure::noise::{self, NoisePlan};
use record::{NoiseRequest, Record};

use super::{About, Threads};
use crate::error::RunError;
use crate::prepared::Beside;
use crate::surroundings::Surroundings;

#[derive(Debug)]
pub(super) struct Planned(NoisePlan);

impl Planned {
    pub(super) fn new(request: &NoiseRequest, machine: &Machine) -> Result<Self, RunError> {
        NoisePlan::new(request, machine).map(Self).map_err(RunError::usage)
    }
}

impl super::Planned for Planned {
    fn about(&self) -> About {
        let Self(plan) = self;
        About {
            measured: plan.cpus.clone(),
            housekeeping: plan.housekeeping.clone(),
            policy: Some(plan.policy()),
            length_ns: plan.duration_ns,
            heading: format!("CPU {}", plan.cpus),
            hands_on: true,
            tells_turns: false,
            no_load: None,
            measures_cost_first: false,
        }
    }

    fn measure(self: Box<Self>, _: &Surroundings<'_>, beside: Beside<'_>) -> Result<Record, RunError> {
        let Beside { context, stop, watch, sink, .. } = beside;
        noise::measure(&self.0, context, stop, &mut Threads { watch }, sink)
            .map_err(|error| RunError::failed(error).while_doing("cannot start measuring"))
    }
}
