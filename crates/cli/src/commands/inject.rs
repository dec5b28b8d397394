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
    /// Take a CPU as SCHED_FIFO for a known time
    Hog {
        /// The CPU to take
        #[arg(long, value_name = "N", default_value_t = 0)]
        cpu: u32,
        /// Real-time priority, 1 to 99
        #[arg(long, value_name = "P", default_value_t = 99)]
        priority: u32,
        /// When, in nanoseconds of CLOCK_MONOTONIC
        #[arg(long, value_name = "NS")]
        at: i64,
        /// For how long
        #[arg(long, value_name = "D")]
        length: Ns,
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

impl InjectArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let injection: Injection = match self.fault {
            Fault::Hog { cpu, priority, at, length } => {
                hog(&HogPlan { cpu, priority, start_ns: at, length_ns: length.0 })
            }
            Fault::ClockStep { at, by } => step_clock(&ClockStepPlan { at_ns: at, step_ns: by.0 }),
        }
        .context("nothing was injected")?;
        let mut line = serde_json::to_string(&injection)?;
        line.push('\n');
        output::data(&line);
        Ok(Exit::Holds)
    }
}
