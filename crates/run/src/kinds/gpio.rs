//! What writing a GPIO line costs.

use kernel::sched::Policy;
use measure::gpio::{self, GpioError};
use measure::{Machine, RepeatedError};
use record::{GpioRequest, Live, Record};
use units::CpuSet;

use super::About;
use crate::error::RunError;
use crate::prepared::Beside;
use crate::surroundings::Surroundings;

/// It knows its share and not its time: a view shows it as if it were a run of a second.
const WHOLE_NS: u64 = 1_000_000_000;

#[derive(Debug)]
pub(super) struct Planned {
    request: GpioRequest,
    housekeeping: CpuSet,
}

impl Planned {
    pub(super) fn new(request: GpioRequest, machine: &Machine) -> Self {
        let housekeeping = machine.housekeeping(&request.cpu.into_iter().collect());
        Self { request, housekeeping }
    }
}

impl super::Planned for Planned {
    fn about(&self) -> About {
        About {
            measured: self.request.cpu.into_iter().collect(),
            housekeeping: self.housekeeping.clone(),
            // One that is out of range is no priority, and is refused as that.
            policy: self.request.priority.filter(|priority| (1..=99).contains(priority)).map(Policy::Fifo),
            length_ns: Some(WHOLE_NS),
            heading: format!("cost of writing {}", self.request.line),
            hands_on: false,
            tells_turns: false,
            no_load: None,
            measures_cost_first: false,
        }
    }

    fn measure(self: Box<Self>, surroundings: &Surroundings<'_>, beside: Beside<'_>) -> Result<Record, RunError> {
        let Beside { context, stop, watch, .. } = beside;
        watch.begins();
        let mut shown = |share: f64| {
            let elapsed_ns = units::round_u64(share * units::approx_f64(WHOLE_NS));
            watch.live(&Live { elapsed_ns, duration_ns: Some(WHOLE_NS), ..Live::default() });
        };
        gpio::measure(&self.request, surroundings.machine, context, stop, &mut shown).map_err(|error| match error {
            GpioError::Repeated(RepeatedError::Thread(_) | RepeatedError::Failed(_)) => RunError::failed(error),
            _ => RunError::usage(error),
        })
    }
}
