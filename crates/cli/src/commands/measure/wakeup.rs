//! `punctual measure wakeup`.

use std::path::Path;

use anyhow::{Context as _, bail};
use measure::load::RunningLoad;
use measure::wakeup::{Armed, Beside, Plan};
use measure::{Decider, IntervalSink, Machine, Stop};
use record::{End, EvidenceSource, ExplainRequest, Placement, PolicyChoice, WakeupRequest};
use units::{ClockId, CpuSet, Ns};

use super::claim::{ClaimArgs, Sure};
use crate::begin::AnywayArgs;
use crate::exit::Exit;
use crate::loads::{LoadArgs, PreparedLoad};
use crate::names;
use crate::run_length::RunLength;
use crate::session::{self, LabelArgs, OutputArgs};
use crate::view::{live::LiveTerminal, result};
use terminal::output;

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
            (Some(RunLength::Unlimited), _) => End::WhenTold,
            (Some(RunLength::For(duration)), _) => End::After(duration),
            (None, Some(samples)) => End::Samples(samples),
            (None, None) => End::After(Ns::from_s(60)),
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
        let mut request = WakeupRequest {
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
            interval_maximum: self
                .interval_maximum
                .or_else(|| self.claim.interval_maximum(self.duration.and_then(RunLength::limit), self.interval)),
            hold_dma_latency_us: self.hold_dma_latency.0,
            breaktrace: self.breaktrace,
            explain: self.explain.then_some(ExplainRequest {
                above: self.above,
                source: self.explain_by.map(SourceName::source),
                events_are_dear: false,
                parts: self.parts || (!self.no_parts && self.interval >= measure::PARTS_FROM),
            }),
            jitter: self.jitter.then(|| self.jitter_seed.unwrap_or_else(seed_of_now)),
            ..WakeupRequest::default()
        };
        if request.interval_maximum.is_none() {
            let turns = |length| self.load.interval_maximum(length, self.interval);
            request.interval_maximum = length(&request).and_then(turns);
        }
        request
    }

    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if self.runtime.is_some() && self.policy != PolicyName::Deadline {
            bail!("--runtime is for --policy deadline alone");
        }
        let request = self.config();
        carry_out_until(request, (&self.load, self.anyway), self.output, &self.label.label, &self.claim)
    }
}

/// Carries a request out, under a load.
pub(crate) fn carry_out(
    mut request: WakeupRequest,
    (load, anyway): (&LoadArgs, AnywayArgs),
    output: OutputArgs,
    label: &str,
) -> anyhow::Result<Exit> {
    if request.interval_maximum.is_none() {
        request.interval_maximum = length(&request).and_then(|length| load.interval_maximum(length, request.interval));
    }
    carry_out_until(request, (load, anyway), output, label, &ClaimArgs::default())
}

/// How long a run is to last, where that is known.
fn length(request: &WakeupRequest) -> Option<Ns> {
    match request.end {
        End::After(length) => Some(length),
        End::Samples(samples) => i64::try_from(samples).ok().map(|n| Ns(n.saturating_mul(request.interval.0))),
        End::WhenTold => None,
    }
}

fn carry_out_until(
    request: WakeupRequest,
    (load, anyway): (&LoadArgs, AnywayArgs),
    output: OutputArgs,
    label: &str,
    claim: &ClaimArgs,
) -> anyhow::Result<Exit> {
    let machine = Machine::read();
    let plan = Plan::new(request, &machine)?;
    let load = load.prepare(&plan.measured, &machine)?;
    let mut destination = output.prepare()?;
    anyway.check_policy(plan.threads[0].policy)?;
    let stop = Stop::on_signals().context("cannot handle signals")?;
    let rotate_over = load.as_ref().map(|load| load.rotate_over(plan.duration_ns)).transpose()?.flatten();
    let load = load.map(|load| load.start(anyway)).transpose()?.map(|load| (load, rotate_over));
    destination.grow(&plan.housekeeping)?;
    if plan.config.explain.is_some() {
        output::note("first what explaining costs: four short runs, without, with, with, without");
    }
    let sure = claim.sure();
    let cost = Cost::Measured(&machine);
    let mut record = measure_until(plan, cost, load, &stop, label, (sure.as_ref(), destination.sink()))?;
    record.manifest_mut().ended_because = sure.as_ref().and_then(Sure::decided);
    // It was judged before it was known that the claim ended it, as one that was cut short.
    if let Some(deadline_ns) = record.verdict.as_ref().map(|verdict| verdict.deadline_ns) {
        record.verdict = Some(analyse::verdict(&record, deadline_ns));
    }
    let file = destination.file().map(Path::to_owned);
    let exit = destination.deliver(&record, |colour| result::table_of_file(&record, file.as_deref(), colour))?;
    claim.conclude(&record, sure.as_ref(), exit)
}

/// A seed that differs from run to run.
fn seed_of_now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // Below 2^53, so that every reader of the record sees the same number.
    u64::from(since.subsec_nanos()) ^ (since.as_secs() << 20 & ((1 << 52) - 1))
}

/// Measures with a live view on the terminal, under a load where one is given.
pub(crate) fn measure_with_progress(
    plan: Plan,
    cost: Cost<'_>,
    load: Option<(PreparedLoad, AnywayArgs)>,
    stop: &Stop,
    label: &str,
) -> anyhow::Result<record::Record> {
    let rotate_over = load.as_ref().map(|(load, _)| load.rotate_over(plan.duration_ns)).transpose()?.flatten();
    let load = load.map(|(load, anyway)| load.start(anyway)).transpose()?.map(|load| (load, rotate_over));
    measure_until(plan, cost, load, stop, label, (None, None))
}

/// The same, no longer than it takes to decide a claim, and with the intervals handed on as they end; under a load that runs,
/// whose parts take turns where a length is given with it (ns).
fn measure_until(
    plan: Plan,
    cost: Cost<'_>,
    mut load: Option<(RunningLoad, Option<u64>)>,
    stop: &Stop,
    label: &str,
    (sure, sink): (Option<&Sure>, Option<&dyn IntervalSink>),
) -> anyhow::Result<record::Record> {
    let name = if label.is_empty() { "wakeup".to_owned() } else { format!("wakeup {label}") };
    let cost = cost.measure_cost(&plan, stop);
    let mut live = LiveTerminal::new(&name, &plan);
    let armed = Armed::new(plan, stop)?.with_cost(cost);
    let show_bins = live.is_shown();
    if let Some((load, rotate_over)) = &mut load {
        load.begin_window(*rotate_over);
    }
    let context = session::context(label);
    let beside = Beside { show_bins, decider: sure.map(|sure| sure as &dyn Decider), sink, ..Beside::default() };
    let mut record = armed.run(&context, stop, &mut live, beside).record;
    live.finish();
    if let Some((load, _)) = load {
        load.finish_into(&mut record);
    }
    Ok(record)
}

/// Where the cost of explaining comes from.
pub(crate) enum Cost<'a> {
    /// From short runs right before the run, beside its load, where explaining is asked for.
    Measured(&'a Machine),
    /// From an earlier run.
    Known(Option<record::ExplainingCost>),
}

impl Cost<'_> {
    fn measure_cost(self, plan: &Plan, stop: &Stop) -> Option<record::ExplainingCost> {
        plan.config.explain?;
        match self {
            Self::Measured(machine) => measure::measure_cost(&plan.config, machine, stop),
            Self::Known(cost) => cost,
        }
    }
}
