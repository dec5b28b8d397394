//! `punctual measure noise`.

use anyhow::{Context as _, bail};
use measure::noise::{self, NoisePlan};
use measure::{IntervalSink, Machine, Stop};
use record::NoiseRequest;
use units::{CpuSet, Ns};

use crate::begin::AnywayArgs;
use crate::exit::Exit;
use crate::loads::LoadArgs;
use crate::session::{self, LabelArgs, OutputArgs};
use crate::view::{live::LiveTerminal, result};

#[derive(clap::Args)]
pub(crate) struct NoiseArgs {
    /// CPUs to measure, one thread each [default: the isolated ones, else all]
    #[arg(long, aliases = ["cpu", "affinity"], value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// How long to measure
    #[arg(long, visible_alias = "time", value_name = "D", default_value = "10s")]
    duration: Ns,
    /// Gaps below this are not counted
    #[arg(long, value_name = "D", default_value = "1us")]
    threshold: Ns,
    /// Measure as SCHED_FIFO with this priority, with at least one CPU left out [default: SCHED_OTHER]
    #[arg(long, alias = "prio", value_name = "P")]
    priority: Option<u32>,
    /// The limit that no gap may exceed; exit 1 where one does
    #[arg(long, value_name = "D")]
    deadline: Option<Ns>,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    anyway: AnywayArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    label: LabelArgs,
}

impl NoiseArgs {
    pub(super) fn config(&self) -> NoiseRequest {
        NoiseRequest {
            cpus: self.cpus.clone(),
            duration: self.duration,
            threshold: self.threshold,
            priority: self.priority,
            deadline: self.deadline,
        }
    }

    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let config = self.config();
        carry_out(&config, (&self.load, self.anyway), self.output, &self.label.label)
    }
}

/// Carries a request out, under a load.
pub(crate) fn carry_out(
    request: &NoiseRequest,
    (load, anyway): (&LoadArgs, AnywayArgs),
    output: OutputArgs,
    label: &str,
) -> anyhow::Result<Exit> {
    let machine = Machine::read();
    let plan = NoisePlan::new(request, &machine)?;
    let load = load.prepare(&plan.cpus, &machine)?;
    if load.as_ref().is_some_and(|load| matches!(load.rotate_over(Some(plan.duration_ns)), Ok(Some(_)))) {
        bail!("--rotate attributes wake-ups to parts of the load: it is for 'measure wakeup' and 'app'");
    }
    let mut destination = output.prepare()?;
    anyway.check_policy(plan.policy())?;
    let stop = Stop::on_signals().context("cannot handle signals")?;
    let mut load = load.map(|load| load.start(anyway)).transpose()?;
    destination.grow(&plan.housekeeping)?;
    if let Some(load) = &mut load {
        load.begin_window(None);
    }
    let mut record = measure_with_progress(&plan, &stop, label, destination.sink())?;
    if let Some(load) = load {
        load.finish_into(&mut record);
    }
    destination.deliver(&record, |colour| result::table(&record, colour))
}

/// Measures with a bar on the terminal, and hands intervals on as they end.
pub(crate) fn measure_with_progress(
    plan: &NoisePlan,
    stop: &Stop,
    label: &str,
    sink: Option<&dyn IntervalSink>,
) -> anyhow::Result<record::Record> {
    let mut live = LiveTerminal::with_head(&format!("noise  CPU {}", plan.cpus), Some(plan.duration_ns));
    let record =
        noise::measure(plan, &session::context(label), stop, &mut live, sink).context("cannot start measuring")?;
    live.finish();
    Ok(record)
}
