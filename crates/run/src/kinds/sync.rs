//! How far clocks are apart.

use measure::Machine;
use measure::sync::{self, SyncError};
use record::{Record, SourceChoice, SyncRequest};
use units::{CpuSet, Ns};

use super::About;
use crate::error::RunError;
use crate::prepared::Beside;
use crate::surroundings::Surroundings;

#[derive(Debug)]
pub(super) struct Planned {
    request: SyncRequest,
    housekeeping: CpuSet,
}

impl Planned {
    pub(super) fn new(request: SyncRequest, machine: &Machine) -> Result<Self, RunError> {
        if request.source == SourceChoice::Kernel && request.limit.is_some() {
            return Err(RunError::usage(
                "the kernel has no offset of its own to hold against --limit: leave --source out, or name ptp, chrony or phc",
            ));
        }
        Ok(Self { request, housekeeping: machine.housekeeping(&machine.isolated) })
    }
}

impl super::Planned for Planned {
    fn about(&self) -> About {
        About {
            measured: CpuSet::new(),
            housekeeping: self.housekeeping.clone(),
            policy: None,
            length_ns: self.request.duration.limit().map(Ns::unsigned),
            heading: String::new(),
            hands_on: true,
            tells_turns: false,
            no_load: Some("clocks are compared without a load of their own; start it beside"),
            measures_cost_first: false,
        }
    }

    fn measure(self: Box<Self>, surroundings: &Surroundings<'_>, beside: Beside<'_>) -> Result<Record, RunError> {
        let Beside { context, stop, watch, sink, .. } = beside;
        watch.begins();
        sync::measure(&self.request, surroundings.machine, context, stop, &mut |so_far| watch.live(so_far), sink)
            .map_err(|error| match error {
                SyncError::Wait(_) => RunError::failed(error),
                _ => RunError::usage(error),
            })
    }
}
