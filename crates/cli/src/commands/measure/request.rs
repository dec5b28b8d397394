//! `punctual measure request`: what a file asks for, of whatever kind, as a campaign asks for its runs.

use std::io::Read as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use record::{Request, RunRequest};

use super::{clock, noise, sync, wakeup};
use crate::begin::AnywayArgs;
use crate::exit::Exit;
use crate::loads::LoadArgs;
use crate::session::{LabelArgs, OutputArgs};

#[derive(clap::Args)]
pub(crate) struct RequestArgs {
    /// A file with the request as JSON, as docs/schema/run-request-1.json describes it; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    anyway: AnywayArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    label: LabelArgs,
}

impl RequestArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let shown = self.file.display().to_string();
        let text = if shown == "-" {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text).context("cannot read standard input")?
        } else {
            std::fs::read_to_string(&self.file).with_context(|| format!("cannot read {shown}"))?
        };
        let RunRequest { request, load, partner } =
            RunRequest::from_json(&text).with_context(|| format!("in {shown}"))?;
        let load = LoadArgs::from_request(load)?;
        match request {
            Request::Wakeup(request) => {
                wakeup::carry_out(request, (&load, self.anyway), self.output, &self.label.label)
            }
            Request::Noise(request) => noise::carry_out(&request, (&load, self.anyway), self.output, &self.label.label),
            Request::Clock(_) if load.is_any() => {
                bail!("in {shown}: the cost of reading clocks is measured without a load")
            }
            Request::Clock(request) => clock::carry_out(&request, self.anyway, self.output, &self.label.label),
            Request::Sync(_) if load.is_any() => {
                bail!("in {shown}: clocks are compared without a load of their own; start it beside")
            }
            Request::Sync(request) => sync::carry_out(&request, self.output, &self.label.label),
            Request::Packet(request) => {
                // The request was checked: it has a partner, and no load.
                let partner = partner.with_context(|| format!("in {shown}: a partner is missing"))?;
                crate::commands::packet::carry_out(&request, &partner, self.anyway, (self.output, &self.label.label))
            }
            Request::App(request) => {
                crate::commands::app::carry_out(&request, (&load, self.anyway), self.output, &self.label.label)
            }
        }
    }
}
