//! What writing a GPIO line costs: t1, up, down, t2, as in test 4 of Gutiérrez et al. (ACM TECS), and each of the two writes alone.
//!
//! The edge itself lies somewhere between the two readings: where, a program cannot see.

mod hot;

use std::io;

use kernel::clock::KernelClock;
use kernel::gpio::{Chip, OutputLine};
use record::{GpioRequest, Measurement, Record, Request, SeriesDetail};
use units::{ClockId, ClockName};

use self::hot::Writes;
use crate::context::RunContext;
use crate::machine::Machine;
use crate::repeated::{self, Plan, Repeated, RepeatedError};
use crate::stop::Stop;

/// Writes between two looks at the stop flag: of a chip behind a slow bus each takes a millisecond.
const BLOCK: u64 = 100;
/// What the kernel tells others of who uses the line.
const CONSUMER: &str = "punctual";

/// Why a line cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum GpioError {
    /// As for all that is repeated.
    #[error(transparent)]
    Repeated(#[from] RepeatedError),
    /// It names no line.
    #[error("'{0}' is not CHIP/LINE: name a chip and a line by its number or its name, for example gpiochip0/17")]
    Form(String),
    /// The chip cannot be opened.
    #[error("GPIO chip {chip}: {error}{there}")]
    Chip {
        /// What was asked.
        chip: String,
        /// The reason.
        error: io::Error,
        /// What there is, with what to do.
        there: String,
    },
    /// The chip has no such line.
    #[error("{chip} has no line '{line}': its lines are 0 to {last}, by number or by name")]
    Line {
        /// The chip.
        chip: String,
        /// What was asked.
        line: String,
        /// The highest.
        last: u32,
    },
    /// Somebody else has the line.
    #[error("line {line} of {chip} is used by {consumer}: release it there, or name another one")]
    Used {
        /// The chip.
        chip: String,
        /// The line.
        line: u32,
        /// Who, as the kernel names it.
        consumer: String,
    },
    /// The kernel refuses the line.
    #[error("line {line} of {chip} cannot be an output: {error}")]
    Refused {
        /// The chip.
        chip: String,
        /// The line.
        line: u32,
        /// The kernel's reason.
        error: io::Error,
    },
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
    let line = take(config)?;
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

/// Takes the line that was asked for, as an output that is inactive.
fn take(config: &GpioRequest) -> Result<OutputLine, GpioError> {
    let (chip, line) = config
        .line
        .rsplit_once('/')
        .filter(|(chip, line)| !chip.is_empty() && !line.is_empty())
        .ok_or_else(|| GpioError::Form(config.line.to_string()))?;
    let chip = Chip::open(chip).map_err(|error| GpioError::Chip {
        chip: chip.to_owned(),
        there: what_there_is(&error),
        error,
    })?;
    let number = number_of(&chip, line)?;
    let (name, refused) =
        (chip.name.clone(), |error| GpioError::Refused { chip: chip.name.clone(), line: number, error });
    let known = chip.line(number).map_err(refused)?;
    if known.is_used {
        let consumer = if known.consumer.is_empty() { "somebody who gives no name".to_owned() } else { known.consumer };
        return Err(GpioError::Used { chip: name, line: number, consumer });
    }
    chip.output(number, config.active_low, CONSUMER).map_err(refused)
}

/// A line by its number, or by the name that the board gives it.
fn number_of(chip: &Chip, line: &str) -> Result<u32, GpioError> {
    let by_number = line.parse::<u32>().ok().filter(|number| *number < chip.lines);
    let by_name = || (0..chip.lines).find(|number| chip.line(*number).is_ok_and(|known| known.name == line));
    by_number.or_else(by_name).ok_or_else(|| GpioError::Line {
        chip: chip.name.clone(),
        line: line.to_owned(),
        last: chip.lines.saturating_sub(1),
    })
}

/// What this machine has, and what would help, as the end of a sentence.
fn what_there_is(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::PermissionDenied {
        return ": be in the group that owns it ('gpio' on most boards), or root".to_owned();
    }
    match Chip::names().as_slice() {
        [] => "; this machine's kernel has no GPIO chip".to_owned(),
        names => format!("; this machine has {}", names.join(", ")),
    }
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
