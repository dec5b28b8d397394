//! What one thread does over and over, and what that costs: reading clocks, writing a GPIO line.

use kernel::sched::Policy;
use measure::clock::ClockError;
use measure::gpio::GpioError;
use measure::{Machine, RepeatedError};
use record::{ClockRequest, GpioRequest, Live, Record};
use units::CpuSet;

use super::About;
use crate::error::RunError;
use crate::prepared::Beside;
use crate::surroundings::Surroundings;

/// It knows its share and not its time: a view shows it as if it were a run of a second.
const WHOLE_NS: u64 = 1_000_000_000;

/// What is repeated.
#[derive(Debug)]
enum What {
    Clock(ClockRequest),
    Gpio(GpioRequest),
}

#[derive(Debug)]
pub(super) struct Planned {
    what: What,
    measured: CpuSet,
    housekeeping: CpuSet,
    priority: Option<u32>,
}

impl Planned {
    pub(super) fn of_clock(request: ClockRequest, machine: &Machine) -> Self {
        Self::new(request.cpu, request.priority, What::Clock(request), machine)
    }

    pub(super) fn of_gpio(request: GpioRequest, machine: &Machine) -> Self {
        Self::new(request.cpu, request.priority, What::Gpio(request), machine)
    }

    fn new(cpu: Option<u32>, priority: Option<u32>, what: What, machine: &Machine) -> Self {
        let measured: CpuSet = cpu.into_iter().collect();
        Self { what, housekeeping: machine.housekeeping(&measured), measured, priority }
    }
}

impl super::Planned for Planned {
    fn about(&self) -> About {
        let (heading, no_load) = match &self.what {
            What::Clock(_) => {
                ("cost of reading".to_owned(), Some("the cost of reading clocks is measured without a load"))
            }
            What::Gpio(request) => (format!("cost of writing {}", request.line), None),
        };
        About {
            measured: self.measured.clone(),
            housekeeping: self.housekeeping.clone(),
            // One that is out of range is no priority, and is refused as that.
            policy: self.priority.filter(|priority| (1..=99).contains(priority)).map(Policy::Fifo),
            length_ns: Some(WHOLE_NS),
            heading,
            hands_on: false,
            tells_turns: false,
            no_load,
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
        let machine = surroundings.machine;
        match &self.what {
            What::Clock(request) => {
                measure::clock::measure(request, machine, context, stop, &mut shown).map_err(|error| match error {
                    ClockError::Repeated(error) => of_repeated(error),
                    error @ ClockError::Unknown { .. } => RunError::usage(error),
                })
            }
            What::Gpio(request) => {
                measure::gpio::measure(request, machine, context, stop, &mut shown).map_err(|error| match error {
                    GpioError::Repeated(error) => of_repeated(error),
                    error @ GpioError::Line(_) => RunError::usage(error),
                })
            }
        }
    }
}

/// What the machine refused is a failure; what could not be asked for is the user's to change.
fn of_repeated(error: RepeatedError) -> RunError {
    match error {
        RepeatedError::Thread(_) | RepeatedError::Failed(_) => RunError::failed(error),
        _ => RunError::usage(error),
    }
}
