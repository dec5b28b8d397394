//! `punctual packet`: delays of packets between two nodes.

mod send;

use record::{EvidenceSource, ExplainRequest, HardwareMode, ReasonCode, Record};
use units::Ns;

pub(crate) use self::send::{carry_out, path};
use crate::exit::Exit;
use terminal::output;

/// Measure how long packets take from a program on one node to a program on another, with what the clocks allow as the error
///
/// One node listens and prints the command for the other one, with a token: 'punctual listen --on ADDRESS'.
/// Both get the record of the run, with the halves of both nodes.
#[derive(clap::Args)]
pub(crate) struct PacketArgs {
    #[command(subcommand)]
    command: PacketCommand,
}

#[derive(clap::Subcommand)]
enum PacketCommand {
    Send(Box<send::SendArgs>),
}

impl PacketArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            PacketCommand::Send(args) => args.run(),
        }
    }
}

/// The threads of this node: which CPU, and how urgent.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ThreadArgs {
    /// CPU of this node's sending and receiving threads [default: the first isolated one, else any]
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// Real-time priority of these threads (SCHED_FIFO, 1 to 99), or 'other' for none
    #[arg(long, value_name = "N", default_value = "98", value_parser = sched_priority)]
    sched_priority: SchedPriority,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SchedPriority(Option<u32>);

fn sched_priority(text: &str) -> Result<SchedPriority, String> {
    match text.parse() {
        _ if text == "other" => Ok(SchedPriority(None)),
        Ok(priority @ 1..=99) => Ok(SchedPriority(Some(priority))),
        _ => Err(format!("'{text}' is no priority: 1 to 99, or 'other'")),
    }
}

impl ThreadArgs {
    pub(crate) const fn choice(&self) -> (Option<u32>, Option<u32>) {
        (self.cpu, self.sched_priority.0)
    }

    pub(crate) fn policy(&self) -> kernel::sched::Policy {
        self.sched_priority.0.map_or(kernel::sched::Policy::Other, kernel::sched::Policy::Fifo)
    }
}

/// Whether this node uses the stamps of its network interface.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct StampArgs {
    /// Also split the way by the stamps of this node's network interface, which has a clock of its own
    #[arg(long, value_name = "WHICH", default_value = "off", value_parser = hardware_stamps())]
    pub(crate) hardware_stamps: HardwareMode,
}

fn hardware_stamps() -> impl clap::builder::TypedValueParser<Value = HardwareMode> {
    names([
        ("off", "no", HardwareMode::Off),
        ("auto", "those that it takes anyway, set so by a time service or by hwtstamp_ctl", HardwareMode::Auto),
        ("on", "an interface that takes none is set to for the run, and back afterwards", HardwareMode::On),
    ])
}

/// A parser of one of a few names, each with its help.
pub(crate) fn names<T: Clone + Send + Sync + 'static, const N: usize>(
    all: [(&'static str, &'static str, T); N],
) -> impl clap::builder::TypedValueParser<Value = T> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
    let shown: Vec<PossibleValue> = all.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help)).collect();
    PossibleValuesParser::new(shown).try_map(move |typed| {
        let found = all.iter().find(|(name, ..)| *name == typed);
        found.map(|(_, _, value)| value.clone()).ok_or("unknown name")
    })
}

/// Whether this node explains its own late packets. The partner is not asked, and cannot ask for it.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct ExplainArgs {
    /// Find out why this node's program had packets late that its kernel already had, by small programs in the kernel (root, or
    /// CAP_BPF and CAP_PERFMON); where it takes none by its trace. The record of both nodes says it; the other node's own
    /// --explain is its user's choice
    #[arg(long)]
    explain: bool,
    /// Take the evidence from this, and nothing better [default: the best that there is]
    #[arg(long, value_name = "SOURCE", requires = "explain")]
    explain_by: Option<SourceName>,
    /// Explain the packets that reach the program more than this after the kernel [default: the worst few]
    #[arg(long, value_name = "D", requires = "explain")]
    above: Option<Ns>,
}

/// A source of evidence, as users name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SourceName {
    /// Programs of our own at the kernel's trace points
    Programs,
    /// The kernel's events, in a trace instance of our own
    Events,
}

impl ExplainArgs {
    pub(crate) fn request(self) -> Option<ExplainRequest> {
        let source = self.explain_by.map(|name| match name {
            SourceName::Programs => EvidenceSource::Programs,
            SourceName::Events => EvidenceSource::Events,
        });
        self.explain.then_some(ExplainRequest { above: self.above, source, ..ExplainRequest::default() })
    }
}

/// Says what takes a while before anybody is connected; none of it is part of a run.
pub(crate) fn say_cost_comes_first() {
    output::note("first what explaining costs: four short runs over loopback, without, with, with, without");
}

/// Says on stderr that the other half is missing, or not whole, and why: the record says it too, and may go to a file alone.
pub(crate) fn warn_of_loss(record: &Record) {
    if let Some(lost) = record.validity.reasons().iter().find(|reason| reason.code == ReasonCode::PartnerLost) {
        let what = match record.nodes.iter().count() {
            1 => "this node's half alone, since the partner was lost",
            _ => "of the other node what it had told of its half before it was lost",
        };
        output::warning(&format!("the record has {what}: {}", lost.detail));
    }
}
