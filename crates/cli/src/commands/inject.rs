//! `punctual inject`: makes a known fault in a machine under test and logs the truth, for the lab's calibration.

use anyhow::Context as _;
use lab::inject::{ClockStepPlan, HogPlan, Injection, hog, step_clock};
use units::Ns;

use crate::exit::Exit;
use crate::output;

#[derive(clap::Args)]
pub(crate) struct InjectArgs {
    #[command(subcommand)]
    fault: Fault,
}

#[derive(clap::Subcommand)]
enum Fault {
    /// Take a CPU as SCHED_FIFO for known times
    Hog {
        /// The CPU to take
        #[arg(long, value_name = "N", default_value_t = 0)]
        cpu: u32,
        /// Real-time priority, 1 to 99
        #[arg(long, value_name = "P", default_value_t = 99)]
        priority: u32,
        /// When, in nanoseconds of CLOCK_MONOTONIC, and for how long, for example 60000000000:2ms; each 50 ms or more
        /// after the end of the one before
        #[arg(value_name = "NS:D", required = true)]
        times: Vec<HogTime>,
    },
    /// Move the realtime clock
    ClockStep {
        /// When, in nanoseconds of CLOCK_MONOTONIC
        #[arg(long, value_name = "NS")]
        at: i64,
        /// By how much; backwards with a minus sign
        #[arg(long, value_name = "D", allow_hyphen_values = true)]
        by: Ns,
    },
}

/// A moment and a length.
#[derive(Clone, Copy)]
struct HogTime {
    start_ns: i64,
    length: Ns,
}

impl std::str::FromStr for HogTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (at, length) =
            text.split_once(':').ok_or_else(|| format!("'{text}' has no colon: write 60000000000:2ms"))?;
        let start_ns = at.parse().map_err(|_| format!("'{at}' is not a number of nanoseconds"))?;
        Ok(Self { start_ns, length: length.parse().map_err(|error: units::DurationError| error.to_string())? })
    }
}

impl InjectArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        // Printed at the end: a console would be busy with the first while the second is made.
        let injections: Vec<Injection> = match self.fault {
            Fault::Hog { cpu, priority, times } => times
                .iter()
                .map(|time| hog(&HogPlan { cpu, priority, start_ns: time.start_ns, length_ns: time.length.0 }))
                .collect::<Result<_, _>>(),
            Fault::ClockStep { at, by } => {
                step_clock(&ClockStepPlan { at_ns: at, step_ns: by.0 }).map(|step| vec![step])
            }
        }
        .context("not all was injected")?;
        for injection in &injections {
            output::data(&format!("{}\n", serde_json::to_string(injection)?));
        }
        Ok(Exit::Holds)
    }
}
