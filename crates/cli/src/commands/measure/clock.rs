//! `punctual measure clock`.

use anyhow::{Context as _, bail};
use kernel::sched::Policy;
use measure::clock::{self};
use measure::{LiveView, Machine, Observer as _, Stop};
use record::ClockRequest;
use units::ClockId;

use crate::begin::AnywayArgs;
use crate::exit::Exit;
use crate::names;
use crate::session::{self, LabelArgs, OutputArgs};
use crate::view::{live::LiveTerminal, result};

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
        carry_out(&config, self.anyway, self.output, &self.label.label)
    }
}

/// Carries a request out.
pub(crate) fn carry_out(
    request: &ClockRequest,
    anyway: AnywayArgs,
    output: OutputArgs,
    label: &str,
) -> anyhow::Result<Exit> {
    let destination = output.prepare()?;
    // One that is out of range is no priority, and is refused as that below.
    if let Some(priority) = request.priority.filter(|priority| (1..=99).contains(priority)) {
        anyway.check_policy(Policy::Fifo(priority))?;
    }
    let stop = Stop::on_signals().context("cannot handle signals")?;
    let record = measure_with_progress(request, &Machine::read(), &stop, label)?;
    destination.deliver(&record, |colour| result::table(&record, colour))
}

/// Measures with a bar on the terminal.
pub(crate) fn measure_with_progress(
    config: &ClockRequest,
    machine: &Machine,
    stop: &Stop,
    label: &str,
) -> anyhow::Result<record::Record> {
    // The bar counts thousandths, shown as if a run of a second.
    const WHOLE: u64 = 1_000_000_000;
    let mut live = LiveTerminal::with_head("clock  cost of reading", Some(WHOLE));
    let record = clock::measure(config, machine, &session::context(label), stop, &mut |share| {
        let elapsed_ns = units::round_u64(share * units::approx_f64(WHOLE));
        live.observe(&LiveView { elapsed_ns, duration_ns: Some(WHOLE), ..LiveView::default() });
    })?;
    live.finish();
    Ok(record)
}
