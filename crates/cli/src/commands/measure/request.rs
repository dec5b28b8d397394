//! `punctual measure request`: what a file asks for, of whatever kind, as a campaign asks for its runs.

use std::io::Read as _;
use std::path::PathBuf;

use anyhow::Context as _;
#[cfg(not(feature = "packet"))]
use anyhow::bail;
use record::{RefusalClass, RunEvent, RunRequest};
use run::{Class, RunError};
use terminal::output;

use super::claim::ClaimArgs;
use crate::begin::AnywayArgs;
use crate::destination::OutputArgs;
use crate::exit::Exit;
use crate::session::{Asked, LabelArgs, carry_out};

#[derive(clap::Args)]
pub(crate) struct RequestArgs {
    /// A file with the request as JSON, as docs/schema/run-request-1.json describes it; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print what becomes of the run as it goes on, a line of JSON each, as docs/schema/run-event-1.json describes it; what was
    /// told until then is a record at every moment
    #[arg(long, conflicts_with = "json")]
    events: bool,
    /// Have another node carry it out, where 'punctual listen' runs: its address or name, and the file with its token
    #[cfg(feature = "packet")]
    #[arg(long, value_name = "HOST[:PORT]=TOKENFILE", conflicts_with = "anyway")]
    on: Option<crate::other_node::OtherNode>,
    #[command(flatten)]
    anyway: AnywayArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    label: LabelArgs,
}

impl RequestArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let tells = self.events;
        self.measure().inspect_err(|error| {
            if tells {
                let class = match error.downcast_ref::<RunError>().map(RunError::class) {
                    Some(Class::Refused) => RefusalClass::Refused,
                    Some(Class::Failed) => RefusalClass::Failed,
                    Some(Class::Usage) | None => RefusalClass::Usage,
                };
                output::data(&RunEvent::Refused { class, why: format!("{error:#}") }.to_line());
            }
        })
    }

    fn measure(mut self) -> anyhow::Result<Exit> {
        if self.events {
            self.output = self.output.with_events();
        }
        let shown = self.file.display().to_string();
        let text = if shown == "-" {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text).context("cannot read standard input")?
        } else {
            std::fs::read_to_string(&self.file).with_context(|| format!("cannot read {shown}"))?
        };
        let shown = if shown == "-" { "the request on standard input".to_owned() } else { shown };
        let whole = RunRequest::from_json(&text).with_context(|| format!("in {shown}"))?;
        #[cfg(feature = "packet")]
        if let Some(elsewhere) = &self.on {
            return elsewhere.measure(&whole, self.output, &self.label.label).with_context(|| format!("in {shown}"));
        }
        let Self { anyway, output, label, .. } = self;
        if whole.kind().needs_partner() {
            #[cfg(feature = "packet")]
            return crate::commands::packet::carry_out(whole, anyway, output, &label.label)
                .with_context(|| format!("in {shown}"));
            #[cfg(not(feature = "packet"))]
            bail!(
                "in {shown}: this program was built for a first verdict, without measurements between two nodes: \
                 'make build' makes the whole one"
            );
        }
        let asked = Asked { anyway, output, label: &label.label, claim: &ClaimArgs::default() };
        carry_out(whole, asked).with_context(|| format!("in {shown}"))
    }
}
