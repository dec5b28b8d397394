//! `punctual measure noise`.

use record::{NoiseRequest, Request, RunLength, RunRequest};
use units::{CpuSet, Ns};

use super::claim::ClaimArgs;
use crate::begin::AnywayArgs;
use crate::destination::OutputArgs;
use crate::exit::Exit;
use crate::loads::LoadArgs;
use crate::session::{Asked, LabelArgs, carry_out};

#[derive(clap::Args)]
pub(crate) struct NoiseArgs {
    /// CPUs to measure, one thread each [default: the isolated ones, else all]
    #[arg(long, aliases = ["cpu", "affinity"], value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// How long to measure; `unlimited` measures until Ctrl-C
    #[arg(long, visible_alias = "time", value_name = "D", default_value = "10s")]
    duration: RunLength,
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
        let request =
            RunRequest { request: Request::Noise(self.config()), load: self.load.request()?, partner: Vec::new() };
        let Self { anyway, output, label, .. } = self;
        carry_out(request, Asked { anyway, output, label: &label.label, claim: &ClaimArgs::default() })
    }
}
