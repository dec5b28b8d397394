//! What writing a GPIO line costs: t1, up, down, t2, as in test 4 of Gutiérrez et al. (ACM TECS), and each of the two writes alone.
//!
//! The edge itself lies somewhere between the two readings: where, a program cannot see.

mod hot;

use kernel::clock::KernelClock;
use record::{GpioRequest, Measurement, Record, Request, SeriesDetail};
use units::{ClockId, ClockName};

use self::hot::Writes;
use crate::context::RunContext;
use crate::gpio_line::{LineError, take_output};
use crate::machine::Machine;
use crate::repeated::{self, Plan, Repeated, RepeatedError};
use crate::stop::Stop;

/// Writes between two looks at the stop flag: of a chip behind a slow bus each takes a millisecond.
const BLOCK: u64 = 100;

/// Why a line cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum GpioError {
    /// As for all that is repeated.
    #[error(transparent)]
    Repeated(#[from] RepeatedError),
    /// The line cannot be had.
    #[error(transparent)]
    Line(#[from] LineError),
}

/// Measures, and makes the record; `progress` hears the share done (0 to 1). The line is inactive afterwards.
///
/// # Errors
/// Where nothing can be measured as asked, or the chip fails meanwhile.
pub fn measure(
    config: &GpioRequest,
    machine: &Machine,
    context: &RunContext,
    stop: &Stop,
    progress: &mut (dyn FnMut(f64) + Send),
) -> Result<Record, GpioError> {
    let plan = Plan {
        measurement: Measurement::Gpio,
        thread: "punctual-gpio",
        cpu: Plan::cpu(config.cpu, machine)?,
        priority: config.priority,
        samples: config.samples,
        block: BLOCK,
        steppable: None,
        if_cut: "some series have fewer writes than asked, or none",
    };
    // What can be refused without touching the line comes first.
    plan.check()?;
    let line = take_output(&config.line, config.active_low)?;
    let clock = ClockId::Monotonic;
    let of = |variant: &str, which: Writes| {
        let line = &line;
        Repeated {
            name: "acted_to_returned",
            variant: variant.to_owned(),
            fill: Box::new(move |out: &mut [i64]| hot::writes(line, which, KernelClock::from(clock), out)),
            detail: Box::new(|_: &dyn Fn()| SeriesDetail::None),
        }
    };
    let all = vec![of("up and down", Writes::Both), of("up", Writes::Up), of("down", Writes::Down)];
    let request = Request::Gpio(config.clone());
    let mut record = repeated::measure(plan, all, request, (machine, context, stop), progress)?;
    record.nodes.first_mut().clocks.read = vec![ClockName::from(clock)];
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str, change: impl FnOnce(&mut GpioRequest)) -> String {
        let mut config = GpioRequest { line: line.into(), samples: 1_000, ..GpioRequest::default() };
        change(&mut config);
        measure(&config, &Machine::read(), &RunContext::default(), &Stop::new(), &mut |_| {}).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_line_is_refused_with_what_one_is() {
        for wrong in ["", "gpiochip0", "gpiochip0/", "/3"] {
            assert!(refused(wrong, |_| ()).contains("is not CHIP/LINE"), "{wrong}");
        }
        let said = refused("gpiochip4096/3", |_| ());
        assert!(said.starts_with("GPIO chip gpiochip4096: No such file") && said.contains("; this machine"), "{said}");
        assert!(refused("/dev/null/3", |_| ()).contains("it is no GPIO chip"));
        // The line is not touched for a run that cannot be.
        assert!(refused("gpiochip4096/3", |config| config.samples = 10).contains("ask for 1000"));
    }
}
