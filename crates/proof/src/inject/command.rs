//! `punctual-proof inject`: makes a known fault in a machine under test and logs the truth, for the lab's calibration.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use lab::injection::Injection;
use terminal::output;
use units::{ClockId, Ns};

use super::clock_step::{ClockStepPlan, step_clock};
use super::delays::{DelaysPlan, MODULE_FOLDER, delays};
use super::explained::{Explained, explained};
use super::hog::{HogPlan, hog};
use super::pulse::{PulsePlan, pulse};

/// Make a known fault in a machine of the lab and print when it truly was; or judge what was read of one
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
        /// Time of the step, in nanoseconds of CLOCK_MONOTONIC, and for how long, for example 60000000000:2ms; each 50 ms or more
        /// after the end of the one before
        #[arg(value_name = "NS:D", required = true)]
        times: Vec<HogTime>,
    },
    /// Have the lab's kernel module hold a CPU for random lengths whose tail is known, each from just before a multiple
    /// of an interval of CLOCK_MONOTONIC
    Delays {
        /// The CPU to hold
        #[arg(long, value_name = "N", default_value_t = 0)]
        cpu: u32,
        /// Time between delays; a run with the same `--align-to` has an expected wake at each
        #[arg(long, value_name = "D", default_value = "20ms")]
        every: Ns,
        /// How long before the multiple each delay begins
        #[arg(long, value_name = "D", default_value = "10us")]
        lead: Ns,
        /// The shortest delay
        #[arg(long, value_name = "D", default_value = "10us")]
        least: Ns,
        /// The scale of the generalized Pareto distribution that is added
        #[arg(long, value_name = "D", default_value = "5us")]
        scale: Ns,
        /// Its shape: -1 is uniform up to the scale, 0 exponential, above 0 a tail that falls by a power; below 1
        #[arg(long, value_name = "X", default_value_t = 0.0, allow_hyphen_values = true)]
        shape: f64,
        /// Number of delays
        #[arg(long, value_name = "N")]
        count: u64,
        /// Where the random numbers begin
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
    },
    /// Compare the causes that a record names with what was injected
    Judge {
        /// The record of a run with `--explain`
        record: std::path::PathBuf,
        /// What an injector printed, or the module's log
        truth: std::path::PathBuf,
    },
    /// Move the realtime clock
    ClockStep {
        /// Time of the step, in nanoseconds of CLOCK_MONOTONIC
        #[arg(long, value_name = "NS")]
        at: i64,
        /// Size of the step; backwards with a minus sign
        #[arg(long, value_name = "D", allow_hyphen_values = true)]
        by: Ns,
    },
    /// Raise line 0 of the parallel port at multiples of an interval of this machine's clock
    Pulse {
        /// The clock that is read
        #[arg(long, value_name = "CLOCK", default_value = "realtime")]
        clock: ClockId,
        /// Time between pulses
        #[arg(long, value_name = "D", default_value = "100ms")]
        interval: Ns,
        /// Raise each pulse later by this
        #[arg(long, value_name = "D", default_value = "0ns")]
        offset: Ns,
        /// Only each second one is later
        #[arg(long)]
        alternate: bool,
        /// Leave out those that would be later than this
        #[arg(long, value_name = "D")]
        tolerance: Option<Ns>,
        /// How many, those left out included
        #[arg(long, value_name = "N")]
        count: u64,
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
    /// Injects, or judges; whether all was named rightly.
    pub(crate) fn run(self) -> anyhow::Result<bool> {
        match self.fault {
            Fault::Hog { cpu, priority, times } => {
                let one =
                    |time: &HogTime| hog(&HogPlan { cpu, priority, start_ns: time.start_ns, length_ns: time.length.0 });
                let injections: Result<Vec<Injection>, _> = times.iter().map(one).collect();
                print(&injections.context("not all was injected")?)
            }
            Fault::Delays { cpu, every, lead, least, scale, shape, count, seed } => {
                let (every_ns, lead_ns) = (every.0, lead.0);
                let (least_ns, scale_ns) = (least.0, scale.0);
                let plan = DelaysPlan { cpu, every_ns, lead_ns, least_ns, scale_ns, shape, count, seed };
                print(&delays(&plan, Path::new(MODULE_FOLDER)).context("not all was injected")?)
            }
            Fault::Judge { record, truth } => judge(&record, &truth),
            Fault::ClockStep { at, by } => {
                let step = step_clock(&ClockStepPlan { at_ns: at, step_ns: by.0 });
                print(&[step.context("not all was injected")?])
            }
            Fault::Pulse { clock, interval, offset, alternate, tolerance, count } => {
                let (interval_ns, offset_ns, tolerance_ns) = (interval.0, offset.0, tolerance.map(|ns| ns.0));
                let plan = PulsePlan { clock, interval_ns, offset_ns, alternate, tolerance_ns, count };
                print(&pulse(&plan).context("not all was injected")?)
            }
        }
    }
}

/// Prints the truth, a line each. At the end: a console would be busy with the first while the second is made.
fn print(injections: &[impl serde::Serialize]) -> anyhow::Result<bool> {
    for injection in injections {
        output::data(&format!("{}\n", serde_json::to_string(injection)?));
    }
    Ok(true)
}

/// Prints what was named rightly, and each that was not.
fn judge(record: &Path, truth: &Path) -> anyhow::Result<bool> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| path.display().to_string());
    let record = record::Record::from_json(&read(record)?)?;
    let truth = Injection::from_log(&read(truth)?)?;
    let explained = explained(&record, &truth);
    for wrong in &explained.wrong {
        output::data(&format!("WRONG {wrong}\n"));
    }
    for (name, samples) in &explained.others {
        output::data(&format!("of its own: {samples} x {name}\n"));
    }
    let Explained { injected, right, unknown, .. } = &explained;
    if *unknown > 0 {
        output::data(&format!("{unknown} said to be unknown\n"));
    }
    output::data(&format!("{right} of {injected} injections named rightly\n"));
    Ok(right == injected && explained.wrong.is_empty())
}
