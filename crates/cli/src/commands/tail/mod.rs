//! `punctual tail`: how sure, how long.

mod rehearse;
mod show;

use std::path::PathBuf;

use analysis::tail::{self, Claim, ClaimState, TailOptions, parse_span};
use anyhow::Context as _;
use record::ValidityState;

use crate::exit::Exit;
use crate::records::{self, Condition, RecordArgs};
use terminal::output;
use terminal::wrap;

pub(crate) use show::answer;

/// Predict how bad it can get: the worst case of a future time span, how sure that is, and whether a claim is shown
///
/// Names records of one machine under one condition. From the maxima of their intervals: whether the process stays the same,
/// and then an interval that holds the worst case of an hour, a day, a year, 90 times of 100. Where that would be unsound it is
/// refused, with the reason, and with how many more hours would help.
/// Times that the run holds many of are answered by what was seen. Where the runs were explained (--explain --above), also what
/// would be left without a cause.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct TailArgs {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    of: OfRecords,
}

#[derive(clap::Subcommand)]
enum What {
    Rehearse(rehearse::RehearseArgs),
}

#[derive(clap::Args)]
struct OfRecords {
    /// Records of one machine under one condition, other programs' results, or folders of them
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
    #[command(flatten)]
    read: RecordArgs,
    /// Take the runs with this label out of folders: 'idle', 'under load'
    #[arg(long)]
    label: Option<String>,
    /// Answer this claim: "100us for 1 day at 99%"
    #[arg(long, value_name = "TEXT")]
    claim: Option<Claim>,
    /// The latency to predict [default: of a followed program scheduled_to_returned where it has that, else
    /// runnable_to_running; all other runs have one]
    #[arg(long, value_name = "NAME")]
    latency: Option<String>,
    /// Future time spans, for example 12h,1w [default: 1h,1d,1y, and ten times the run where that is less than an hour]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_span)]
    horizon: Vec<u64>,
    /// How often to resample
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(200..=100_000))]
    resamples: u32,
    /// Where the random numbers begin; the same seed gives the same output
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print also how the answer was computed, and what else would have to change for one
    #[arg(short, long)]
    verbose: bool,
    /// Print the answer as JSON (schema punctual/tail)
    #[arg(long)]
    json: bool,
}

impl TailArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self.what {
            Some(What::Rehearse(args)) => args.run(),
            None => self.of.run(),
        }
    }
}

impl OfRecords {
    fn run(self) -> anyhow::Result<Exit> {
        let condition = Condition {
            label: self.label.as_deref(),
            is_measured: &|run| !run.measurement.kind().predicted.is_empty(),
            without: format!(
                "of a measurement whose worst case can be predicted: {}",
                record::names_of_kinds(|kind| !kind.predicted.is_empty())
            ),
            choice: "--label: {}",
        };
        let runs = records::by_start(self.read.of_condition(&self.records, &condition)?);
        let options = TailOptions {
            horizons_ns: self.horizon,
            resamples: self.resamples,
            seed: self.seed,
            claim: self.claim,
            latency: self.latency,
            ..TailOptions::default()
        };
        let tail = tail::tail(&runs.iter().collect::<Vec<_>>(), &options)?;
        let text = if self.json {
            serde_json::to_string_pretty(&tail).context("cannot write the answer as JSON")? + "\n"
        } else {
            show::show(&tail, self.verbose, wrap::width(), output::color_stdout())
        };
        output::data(&text);
        records::warn_of_invalid(&runs);
        Ok(exit_of(&tail))
    }
}

/// The exit code of a claim's answer; without a claim whether there is any answer.
fn exit_of(tail: &tail::Tail) -> Exit {
    if tail.runs.iter().any(|run| run.validity == ValidityState::Invalid) {
        return Exit::Invalid;
    }
    match &tail.claim {
        Some(claim) => exit_of_claim(claim.state),
        None if tail.expectations.iter().any(|one| one.worst.is_some()) => Exit::Holds,
        None => Exit::Invalid,
    }
}

/// How a command ends that was asked for a claim.
pub(crate) const fn exit_of_claim(state: ClaimState) -> Exit {
    match state {
        ClaimState::Shown => Exit::Holds,
        ClaimState::Broken => Exit::Broken,
        ClaimState::NeedsMore | ClaimState::NotShown | ClaimState::CannotBeTold => Exit::Invalid,
    }
}
