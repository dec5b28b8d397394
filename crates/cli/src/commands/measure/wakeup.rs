//! `punctual measure wakeup`.

use anyhow::bail;
use record::{EvidenceSource, ExplainRequest, Placement, PolicyChoice, Request, RunEnd, RunRequest, WakeupRequest};
use units::{ClockId, CpuSet, Ns};

use super::claim::ClaimArgs;
use crate::begin::AnywayArgs;
use crate::destination::OutputArgs;
use crate::exit::Exit;
use crate::loads::LoadArgs;
use crate::names;
use crate::session::{Asked, LabelArgs, carry_out};
use record::RunLength;

#[derive(clap::Args)]
pub(crate) struct WakeupArgs {
    /// CPUs to measure, one thread each, for example 2-3 or 0,4 [default: the isolated ones, else all]
    #[arg(long, aliases = ["cpu", "affinity"], value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// Pin no thread to a CPU, as --policy deadline does by itself: one thread, or as many as --threads says
    #[arg(long, conflicts_with = "cpus")]
    unpinned: bool,
    /// Measuring threads [default: one a CPU]; more than CPUs go round again
    #[arg(long, value_name = "N")]
    threads: Option<u32>,
    /// Real-time priority, 1 to 99
    #[arg(long, alias = "prio", value_name = "P", default_value_t = 98)]
    priority: u32,
    /// Scheduling policy
    #[arg(long, value_enum, default_value_t = PolicyName::Fifo)]
    policy: PolicyName,
    /// CPU time in each interval with --policy deadline [default: a tenth of the interval]
    #[arg(long, value_name = "D")]
    runtime: Option<Ns>,
    /// Time from one schedule to the next
    #[arg(long, alias = "period", value_name = "D", default_value_t = record::DEFAULT_INTERVAL)]
    interval: Ns,
    /// Start at the next multiple of this on the clock, for example 1s; the schedules are then known beforehand
    /// [default: start at once]
    #[arg(long, value_name = "D")]
    align_to: Option<Ns>,
    /// Put each schedule at random within its interval, so that nothing periodic hides behind the interval
    #[arg(long)]
    jitter: bool,
    /// Where the random places of --jitter begin [default: another one for each run; it stands in the record]
    #[arg(long, value_name = "N", requires = "jitter")]
    jitter_seed: Option<u64>,
    /// How long to measure [default: 60s]; `unlimited` measures until Ctrl-C
    #[arg(long, visible_alias = "time", value_name = "D", conflicts_with = "samples")]
    duration: Option<RunLength>,
    /// How many samples of each thread to take
    #[arg(long, alias = "loops", value_name = "N")]
    samples: Option<u64>,
    /// The clock to sleep on
    #[arg(long, value_name = "CLOCK", default_value = "monotonic", value_parser = names::sleeping_clock())]
    clock: ClockId,
    /// The limit that no latency may exceed; exit 1 where one does
    #[arg(long, value_name = "D")]
    deadline: Option<Ns>,
    /// A latency below this ends the recovery from a stall [default: the interval]
    #[arg(long, value_name = "D")]
    recovered_within: Option<Ns>,
    /// Length of an interval of the record, each with a maximum and a histogram of its own
    /// [default: the shorter of 5m and a 60th of the duration]
    #[arg(long, value_name = "D")]
    interval_maximum: Option<Ns>,
    /// Begin intervals at multiples of their length on UTC, so that those of several runs and machines are of the same times
    #[arg(long)]
    intervals_on_utc: bool,
    /// Keep the CPUs out of idle states that take longer than this to leave (us), or `none`
    #[arg(long, value_name = "US|none", default_value = "none")]
    hold_dma_latency: HoldDmaLatency,
    /// Stop at the first latency above this, and mark and stop the kernel's trace
    #[arg(long, value_name = "D")]
    breaktrace: Option<Ns>,
    /// Find out what made the worst samples late, by small programs in the kernel (root, or CAP_BPF and CAP_PERFMON);
    /// where it takes none by its trace, else by its counters
    #[arg(long)]
    explain: bool,
    /// Take the evidence from this, and nothing better [default: the best that there is]
    #[arg(long, value_name = "SOURCE", requires = "explain")]
    explain_by: Option<SourceName>,
    /// Explain the samples above this [default: the worst few of each thread]
    #[arg(long, value_name = "D", requires = "explain")]
    above: Option<Ns>,
    /// Record every wake-up in its parts, also at short intervals: from the schedule to the timer, until the thread can run,
    /// until it runs, until it is back in its own code [default: at intervals of 500us and more]
    #[arg(long, requires = "explain", conflicts_with = "no_parts")]
    parts: bool,
    /// Record no parts
    #[arg(long, requires = "explain")]
    no_parts: bool,
    #[command(flatten)]
    claim: ClaimArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    anyway: AnywayArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    label: LabelArgs,
}

/// A source of evidence, as users name it.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SourceName {
    /// Programs of our own at the kernel's trace points
    Programs,
    /// The kernel's events, in a trace instance of our own
    Events,
    /// What the kernel counts
    Counters,
}

impl SourceName {
    fn source(self) -> EvidenceSource {
        match self {
            Self::Programs => EvidenceSource::Programs,
            Self::Events => EvidenceSource::Events,
            Self::Counters => EvidenceSource::Counters,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PolicyName {
    Fifo,
    Rr,
    Other,
    Deadline,
}

/// A number of microseconds, or nothing.
#[derive(Clone, Copy)]
struct HoldDmaLatency(Option<u32>);

impl std::str::FromStr for HoldDmaLatency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        let number = text.strip_suffix("us").unwrap_or(text);
        match number.parse() {
            Ok(us) if us <= 2_000_000_000 => Ok(Self(Some(us))),
            _ => Err(format!("'{text}' is neither 'none' nor a number of microseconds up to 2000000000")),
        }
    }
}

impl WakeupArgs {
    pub(super) fn config(&self) -> WakeupRequest {
        let end = match (self.duration, self.samples) {
            (Some(RunLength::Unlimited), _) => RunEnd::WhenTold,
            (Some(RunLength::For(duration)), _) => RunEnd::After(duration),
            (None, Some(samples)) => RunEnd::Samples(samples),
            (None, None) => RunEnd::After(Ns::from_s(60)),
        };
        let policy = match self.policy {
            PolicyName::Fifo => PolicyChoice::Fifo,
            PolicyName::Rr => PolicyChoice::RoundRobin,
            PolicyName::Other => PolicyChoice::Other,
            PolicyName::Deadline => {
                PolicyChoice::Deadline { runtime: self.runtime.unwrap_or(Ns(self.interval.0 / 10)) }
            }
        };
        let placement = match (&self.cpus, self.policy) {
            (Some(cpus), _) => Placement::Pinned(cpus.clone()),
            (None, PolicyName::Deadline) => Placement::Unpinned,
            (None, _) if self.unpinned => Placement::Unpinned,
            (None, _) => Placement::Default,
        };
        WakeupRequest {
            placement,
            threads: self.threads,
            policy,
            priority: self.priority,
            interval: self.interval,
            align_to: self.align_to,
            end,
            clock: self.clock,
            deadline: self.deadline,
            recovered_within: self.recovered_within,
            interval_maximum: self.interval_maximum,
            until_sure: self.claim.until_sure(),
            intervals_on_utc: self.intervals_on_utc,
            hold_dma_latency_us: self.hold_dma_latency.0,
            breaktrace: self.breaktrace,
            explain: self.explain.then_some(ExplainRequest {
                above: self.above,
                source: self.explain_by.map(SourceName::source),
                events_are_dear: false,
                each_interval: false,
                parts: self.parts || (!self.no_parts && self.interval >= run::PARTS_FROM),
            }),
            jitter: self.jitter.then(|| self.jitter_seed.unwrap_or_else(seed_of_now)),
            ..WakeupRequest::default()
        }
    }

    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if self.runtime.is_some() && self.policy != PolicyName::Deadline {
            bail!("--runtime is for --policy deadline alone");
        }
        let request =
            RunRequest { request: Request::Wakeup(self.config()), load: self.load.request()?, partner: Vec::new() };
        let Self { anyway, output, label, claim, .. } = self;
        carry_out(request, Asked { anyway, output, label: &label.label, claim: &claim })
    }
}

/// A seed that differs from run to run.
fn seed_of_now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // Below 2^53, so that every reader of the record sees the same number.
    u64::from(since.subsec_nanos()) ^ (since.as_secs() << 20 & ((1 << 52) - 1))
}
