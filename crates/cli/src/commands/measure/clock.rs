//! `punctual measure clock`.

use anyhow::bail;
use record::{ClockRequest, Request, RunRequest};
use units::ClockId;

use super::claim::ClaimArgs;
use crate::begin::AnywayArgs;
use crate::destination::OutputArgs;
use crate::exit::Exit;
use crate::names;
use crate::session::{Asked, LabelArgs, carry_out};

#[derive(clap::Args)]
pub(crate) struct ClockArgs {
    /// Clocks to read alone
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "monotonic,realtime", value_parser = names::clock())]
    clocks: Vec<ClockId>,
    /// Pairs to read across, both ways round: CLOCK:REFERENCE
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "realtime:monotonic")]
    pairs: Vec<Pair>,
    /// Readings of each kind
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

#[derive(Clone, Copy)]
struct Pair(ClockId, ClockId);

impl std::str::FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (clock, reference) = text
            .split_once(':')
            .ok_or_else(|| format!("'{text}' is not CLOCK:REFERENCE, for example tai:monotonic"))?;
        Ok(Self(clock.parse()?, reference.parse()?))
    }
}

impl ClockArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if let Some(Pair(clock, _)) = self.pairs.iter().find(|Pair(clock, reference)| clock == reference) {
            bail!("the pair {clock}:{clock} is one clock: name two, or use --clocks {clock}");
        }
        let config = ClockRequest {
            clocks: self.clocks,
            pairs: self.pairs.iter().map(|Pair(clock, reference)| (*clock, *reference)).collect(),
            samples: self.samples,
            cpu: self.cpu,
            priority: self.priority,
        };
        let request = RunRequest { request: Request::Clock(config), load: None, partner: Vec::new() };
        let Self { anyway, output, label, .. } = self;
        carry_out(request, Asked { anyway, output, label: &label.label, claim: &ClaimArgs::default() })
    }
}
