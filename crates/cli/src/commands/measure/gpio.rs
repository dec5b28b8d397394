//! `punctual measure gpio`.

use record::{GpioRequest, Request, RunRequest};

use super::claim::ClaimArgs;
use crate::begin::AnywayArgs;
use crate::destination::OutputArgs;
use crate::exit::Exit;
use crate::session::{Asked, LabelArgs, carry_out};

#[derive(clap::Args)]
pub(crate) struct GpioArgs {
    /// The line that is switched: its chip, and its number or name. What hangs on it is switched too
    #[arg(long, value_name = "CHIP/LINE")]
    line: String,
    /// The line's low level is the active one; it begins and ends at the other
    #[arg(long)]
    active_low: bool,
    /// Writes of each kind: up and down, up, down
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    samples: u64,
    /// The CPU to measure on [default: the highest isolated one, else the highest]
    #[arg(long, visible_alias = "cpus", value_name = "CPU")]
    cpu: Option<u32>,
    /// Measure as SCHED_FIFO with this priority [default: SCHED_OTHER]
    #[arg(long, alias = "prio", value_name = "P")]
    priority: Option<u32>,
    #[command(flatten)]
    anyway: AnywayArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    label: LabelArgs,
}

impl GpioArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let Self { line, active_low, samples, cpu, priority, anyway, output, label } = self;
        let config = GpioRequest { line: line.into(), active_low, samples, cpu, priority };
        let request = RunRequest { request: Request::Gpio(config), load: None, partner: Vec::new() };
        carry_out(request, Asked { anyway, output, label: &label.label, claim: &ClaimArgs::default() })
    }
}
