//! `punctual measure event`.

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use record::{CpuPair, EventMeans, EventRequest, PairPlacement, PolicyChoice, Request, RunEnd, RunLength, RunRequest};
use units::{CpuSet, Ns};

use super::claim::ClaimArgs;
use crate::begin::AnywayArgs;
use crate::destination::OutputArgs;
use crate::exit::Exit;
use crate::loads::LoadArgs;
use crate::session::{Asked, LabelArgs, carry_out};

#[derive(clap::Args)]
pub(crate) struct EventArgs {
    /// By what one thread wakes the other
    #[arg(long, aliases = ["means", "by"], value_name = "KIND", default_value = "eventfd", value_parser = means())]
    kind: EventMeans,
    /// CPUs to measure, a pair of threads on each, for example 2-3 or 0,4 [default: the isolated ones, else all]
    #[arg(long, aliases = ["cpu", "affinity"], value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// Two CPUs for one pair: the one of the thread that wakes, and the one of the thread that is woken, for example 1,2;
    /// again for another pair
    #[arg(long, alias = "across", value_name = "FROM,TO", conflicts_with = "cpus")]
    between: Vec<CpuPair>,
    /// Real-time priority of the woken thread, 2 to 99; its waker has one less
    #[arg(long, alias = "prio", value_name = "P", default_value_t = 98)]
    priority: u32,
    /// Scheduling policy of both threads
    #[arg(long, value_enum, default_value_t = PolicyName::Fifo)]
    policy: PolicyName,
    /// Time from one hand-over to the next
    #[arg(long, alias = "period", value_name = "D", default_value = "1ms")]
    interval: Ns,
    /// How long to measure [default: 60s]; `unlimited` measures until Ctrl-C
    #[arg(long, visible_alias = "time", value_name = "D", conflicts_with = "samples")]
    duration: Option<RunLength>,
    /// How many hand-overs of each pair to make
    #[arg(long, alias = "loops", value_name = "N")]
    samples: Option<u64>,
    /// The limit that no latency from the hand-over to the wake-up may exceed; exit 1 where one does
    #[arg(long, value_name = "D")]
    deadline: Option<Ns>,
    /// Length of an interval of the record, each with a maximum and a histogram of its own
    /// [default: the shorter of 5m and a 60th of the duration]
    #[arg(long, value_name = "D")]
    interval_maximum: Option<Ns>,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    anyway: AnywayArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    label: LabelArgs,
}

/// What `--kind` takes: the names of the table.
fn means() -> impl clap::builder::TypedValueParser<Value = EventMeans> {
    PossibleValuesParser::new(EventMeans::ALL.map(EventMeans::name)).try_map(|name| name.parse::<EventMeans>())
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PolicyName {
    Fifo,
    Rr,
    Other,
}

impl EventArgs {
    fn config(&self) -> EventRequest {
        EventRequest {
            means: self.kind,
            placement: match (&self.cpus, &self.between[..]) {
                (Some(cpus), _) => PairPlacement::Pinned(cpus.clone()),
                (None, []) => PairPlacement::Default,
                (None, pairs) => PairPlacement::Between(pairs.to_vec()),
            },
            policy: match self.policy {
                PolicyName::Fifo => PolicyChoice::Fifo,
                PolicyName::Rr => PolicyChoice::RoundRobin,
                PolicyName::Other => PolicyChoice::Other,
            },
            priority: self.priority,
            interval: self.interval,
            end: match (self.duration, self.samples) {
                (Some(RunLength::Unlimited), _) => RunEnd::WhenTold,
                (Some(RunLength::For(duration)), _) => RunEnd::After(duration),
                (None, Some(samples)) => RunEnd::Samples(samples),
                (None, None) => RunEnd::After(Ns::from_s(60)),
            },
            deadline: self.deadline,
            interval_maximum: self.interval_maximum,
        }
    }

    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let request =
            RunRequest { request: Request::Event(self.config()), load: self.load.request()?, partner: Vec::new() };
        let Self { anyway, output, label, .. } = self;
        carry_out(request, Asked { anyway, output, label: &label.label, claim: &ClaimArgs::default() })
    }
}
