//! `punctual measure gpio`.

use record::{AnswerRequest, GpioRequest, PolicyChoice, Request, ResponseRequest, RunEnd, RunLength, RunRequest};
use units::Ns;

use super::claim::ClaimArgs;
use crate::begin::AnywayArgs;
use crate::destination::OutputArgs;
use crate::exit::Exit;
use crate::loads::LoadArgs;
use crate::session::{Asked, LabelArgs, carry_out};

/// Writes of each kind where nothing is asked.
const WRITES: u64 = 1_000_000;

#[derive(clap::Args)]
pub(crate) struct GpioArgs {
    /// The line that is switched: its chip, and its number or name. What hangs on it is switched too
    #[arg(long, value_name = "CHIP/LINE", required_unless_present_any = ["loop_back", "answer"])]
    line: Option<String>,
    /// Two lines that a wire joins: measure the response to an edge, from the write of OUT to the thread that waits for IN
    #[arg(long, num_args = 2, value_names = ["OUT", "IN"], conflicts_with = "line")]
    loop_back: Option<Vec<String>>,
    /// Two lines that go to a board which makes edges: answer each falling edge of IN by a rising one of OUT
    #[arg(long, num_args = 2, value_names = ["IN", "OUT"], conflicts_with_all = ["line", "loop_back", "active_low", "acting_cpu"])]
    answer: Option<Vec<String>>,
    /// The low level is the active one; the line begins and ends at the other
    #[arg(long)]
    active_low: bool,
    /// Writes of each kind (up and down, up, down) [default: 1000000]; with --loop-back or --answer the number of edges
    #[arg(long, alias = "loops", value_name = "N")]
    samples: Option<u64>,
    /// The CPU to measure on [default: the highest isolated one, else the highest]
    #[arg(long, visible_alias = "cpus", value_name = "CPU")]
    cpu: Option<u32>,
    /// Measure as SCHED_FIFO with this priority [default: SCHED_OTHER; with --loop-back or --answer 98]
    #[arg(long, alias = "prio", value_name = "P")]
    priority: Option<u32>,
    #[command(flatten)]
    response: ResponseArgs,
    #[command(flatten)]
    witness: WitnessArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    anyway: AnywayArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    label: LabelArgs,
}

/// What only a run with `--answer` has.
#[derive(clap::Args)]
#[command(next_help_heading = "With --answer")]
struct WitnessArgs {
    /// The board that makes the edges and stamps the answers, running latmon: its address, or `announced` for the first that
    /// announces itself [default: somebody else makes the edges]
    #[arg(long, value_name = "HOST[:PORT]|announced", requires = "answer")]
    witness: Option<String>,
    /// What the witness adds to each latency itself, calibrated with both of its pins connected
    #[arg(long, value_name = "D", requires = "witness")]
    witness_cost: Option<Ns>,
}

/// What only a run with `--loop-back` or `--answer` has.
#[derive(clap::Args)]
#[command(next_help_heading = "With --loop-back or --answer")]
struct ResponseArgs {
    /// With --loop-back, the CPU of the thread that makes the edges [default: another than the measured one, where there is one]
    #[arg(long, value_name = "CPU", conflicts_with = "line")]
    acting_cpu: Option<u32>,
    /// Scheduling policy of the measuring threads [default: fifo]
    #[arg(long, value_enum, conflicts_with = "line")]
    policy: Option<PolicyName>,
    /// Time from one edge to the next; of a witness from its answer to the next one [default: 1ms]
    #[arg(long, alias = "period", value_name = "D", conflicts_with = "line")]
    interval: Option<Ns>,
    /// How long to measure [default: 60s]; `unlimited` measures until Ctrl-C
    #[arg(long, visible_alias = "time", value_name = "D", conflicts_with_all = ["line", "samples"])]
    duration: Option<RunLength>,
    /// The limit that no response may exceed; exit 1 where one does
    #[arg(long, value_name = "D", conflicts_with = "line")]
    deadline: Option<Ns>,
    /// Length of an interval of the record, each with a maximum and a histogram of its own
    /// [default: the shorter of 5m and a 60th of the duration]
    #[arg(long, value_name = "D", conflicts_with = "line")]
    interval_maximum: Option<Ns>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PolicyName {
    Fifo,
    Rr,
    Other,
}

impl ResponseArgs {
    fn policy(&self) -> PolicyChoice {
        match self.policy {
            None | Some(PolicyName::Fifo) => PolicyChoice::Fifo,
            Some(PolicyName::Rr) => PolicyChoice::RoundRobin,
            Some(PolicyName::Other) => PolicyChoice::Other,
        }
    }

    fn end(&self, samples: Option<u64>, default: RunEnd) -> RunEnd {
        match (self.duration, samples) {
            (Some(RunLength::Unlimited), _) => RunEnd::WhenTold,
            (Some(RunLength::For(duration)), _) => RunEnd::After(duration),
            (None, Some(samples)) => RunEnd::Samples(samples),
            (None, None) => default,
        }
    }
}

impl GpioArgs {
    fn config(&self) -> Request {
        let Self { line, loop_back, answer, active_low, samples, cpu, priority, response, witness, .. } = self;
        let (active_low, cpu) = (*active_low, *cpu);
        let default = ResponseRequest::default();
        let (policy, priority_of_threads) = (response.policy(), priority.unwrap_or(default.priority));
        let (interval, end) = (response.interval.unwrap_or(default.interval), response.end(*samples, default.end));
        let (deadline, interval_maximum) = (response.deadline, response.interval_maximum);
        if let Some([output, input]) = loop_back.as_deref() {
            return Request::Response(ResponseRequest {
                output: output.as_str().into(),
                input: input.as_str().into(),
                active_low,
                cpu,
                acting_cpu: response.acting_cpu,
                policy,
                priority: priority_of_threads,
                interval,
                end,
                deadline,
                interval_maximum,
            });
        }
        if let Some([input, output]) = answer.as_deref() {
            return Request::Answer(AnswerRequest {
                input: input.as_str().into(),
                output: output.as_str().into(),
                witness: witness.witness.as_deref().map(Into::into),
                witness_cost: witness.witness_cost,
                cpu,
                policy,
                priority: priority_of_threads,
                interval,
                end,
                deadline,
                interval_maximum,
            });
        }
        let (line, samples) = (line.clone().unwrap_or_default().into(), samples.unwrap_or(WRITES));
        Request::Gpio(GpioRequest { line, active_low, samples, cpu, priority: *priority })
    }

    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let request = RunRequest { request: self.config(), load: self.load.request()?, partner: Vec::new() };
        let Self { anyway, output, label, .. } = self;
        carry_out(request, Asked { anyway, output, label: &label.label, claim: &ClaimArgs::default() })
    }
}
