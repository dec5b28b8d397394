//! cyclictest's command line: getopt's grammar, cyclictest's names and meanings.
//!
//! What getopt_long takes is taken: bundled short options (`-mSq`), attached and separate values (`-i200`, `-i 200`),
//! unique beginnings of long names (`--dur 5`), and values that may be left away (`-a`, `-a1`, `-a 1`).
//! What cyclictest lets pass without effect (words that are no option, unknown policies) is an error here.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use lexopt::Arg;
use units::{ClockId, CpuSet, Ns};

/// The most bins of `-h`, as in the original.
const MAX_BINS: usize = 1_000_000;

/// A choice of CPUs, resolved against those that are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cpus {
    /// Each that this process may use.
    Available,
    /// The CPUs of this list.
    Listed(CpuSet),
    /// All but these.
    Except(CpuSet),
}

/// How many threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Threads {
    /// As many as this.
    Count(u32),
    /// One for each CPU that this process may use.
    EachCpu,
}

/// The policy that was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolicyName {
    Other,
    Batch,
    Idle,
    Fifo,
    RoundRobin,
}

impl PolicyName {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Batch => "batch",
            Self::Idle => "idle",
            Self::Fifo => "fifo",
            Self::RoundRobin => "rr",
        }
    }
}

/// What to do about `/dev/cpu_dma_latency`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DmaLatency {
    /// Hold this many microseconds.
    Hold(u32),
    /// `--laptop`: leave it alone to save the battery.
    Laptop,
    /// `--default-system`: leave it alone to see the system as it is.
    DefaultSystem,
}

/// Where the threads' first schedules lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Alignment {
    /// Evenly spread over the interval.
    #[default]
    Spread,
    /// `--aligned`: all from one start, each next thread this much later (us).
    Aligned(u64),
    /// `--secaligned`: all from this much after a full second (us).
    Second(u64),
}

/// The command line, read but not yet held against a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) affinity: Cpus,
    pub(super) alignment: Alignment,
    /// In units of the output (us, ns with `-N`).
    pub(super) break_above: Option<u64>,
    pub(super) trace_mark: bool,
    pub(super) clock: ClockId,
    pub(super) distance_us: Option<u64>,
    pub(super) dma_latency: DmaLatency,
    pub(super) duration: Option<Ns>,
    pub(super) histogram_bins: Option<usize>,
    pub(super) histogram_summary: bool,
    pub(super) histogram_file: Option<PathBuf>,
    pub(super) interval_us: u64,
    pub(super) json_file: Option<PathBuf>,
    pub(super) loops: Option<u64>,
    pub(super) main_affinity: Option<Cpus>,
    pub(super) lock_memory: bool,
    pub(super) refresh_on_max: bool,
    pub(super) nanoseconds: bool,
    pub(super) priority: u32,
    pub(super) priority_spread: bool,
    /// `None` where none was named.
    pub(super) policy: Option<PolicyName>,
    pub(super) quiet: bool,
    pub(super) threads: Threads,
    pub(super) verbose: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            affinity: Cpus::Available,
            alignment: Alignment::Spread,
            break_above: None,
            trace_mark: false,
            clock: ClockId::Monotonic,
            distance_us: None,
            dma_latency: DmaLatency::Hold(0),
            duration: None,
            histogram_bins: None,
            histogram_summary: false,
            histogram_file: None,
            interval_us: 1_000,
            json_file: None,
            loops: None,
            main_affinity: None,
            lock_memory: false,
            refresh_on_max: false,
            nanoseconds: false,
            priority: 0,
            priority_spread: false,
            policy: None,
            quiet: false,
            threads: Threads::Count(1),
            verbose: false,
        }
    }
}

/// What a command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Run(Box<Options>),
    Help,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flag {
    Affinity,
    Aligned,
    BreakTrace,
    Clock,
    DefaultSystem,
    Distance,
    Duration,
    Help,
    Histogram,
    HistogramOfAll,
    HistogramFile,
    Interval,
    Json,
    Laptop,
    Latency,
    Loops,
    MainAffinity,
    LockMemory,
    RefreshOnMax,
    SecAligned,
    Nanoseconds,
    /// Once chose clock_nanosleep, which now is the only way; scripts still carry it.
    Nanosleep,
    Policy,
    Priority,
    PrioritySpread,
    Quiet,
    Smp,
    Threads,
    TraceMark,
    /// Everything is flushed as it is written.
    Unbuffered,
    Verbose,
    /// cyclictest has it, this command does not; why.
    Absent(&'static str),
}

const NO_SHORT: char = '\0';

/// Every option: its letter, its name, what it is.
const FLAGS: &[(char, &str, Flag)] = &[
    ('a', "affinity", Flag::Affinity),
    ('A', "aligned", Flag::Aligned),
    ('b', "breaktrace", Flag::BreakTrace),
    ('c', "clock", Flag::Clock),
    (NO_SHORT, "default-system", Flag::DefaultSystem),
    ('d', "distance", Flag::Distance),
    ('D', "duration", Flag::Duration),
    (NO_SHORT, "help", Flag::Help),
    ('h', "histogram", Flag::Histogram),
    ('H', "histofall", Flag::HistogramOfAll),
    (NO_SHORT, "histfile", Flag::HistogramFile),
    ('i', "interval", Flag::Interval),
    (NO_SHORT, "json", Flag::Json),
    (NO_SHORT, "laptop", Flag::Laptop),
    (NO_SHORT, "latency", Flag::Latency),
    ('l', "loops", Flag::Loops),
    (NO_SHORT, "mainaffinity", Flag::MainAffinity),
    ('m', "mlockall", Flag::LockMemory),
    ('M', "refresh_on_max", Flag::RefreshOnMax),
    ('N', "nsecs", Flag::Nanoseconds),
    ('n', "nanosleep", Flag::Nanosleep),
    (NO_SHORT, "policy", Flag::Policy),
    ('p', "priority", Flag::Priority),
    (NO_SHORT, "priospread", Flag::PrioritySpread),
    ('q', "quiet", Flag::Quiet),
    (NO_SHORT, "secaligned", Flag::SecAligned),
    ('S', "smp", Flag::Smp),
    ('t', "threads", Flag::Threads),
    (NO_SHORT, "tracemark", Flag::TraceMark),
    ('u', "unbuffered", Flag::Unbuffered),
    ('v', "verbose", Flag::Verbose),
    (NO_SHORT, "dbg_cyclictest", Flag::Absent("there is no cyclictest in it to debug")),
    ('F', "fifo", Flag::Absent("read the live lines from standard output")),
    ('o', "oscope", Flag::Absent("-v prints every sample; thin them out afterwards")),
    ('r', "relative", Flag::Absent("relative timers drift, so their latencies are not those of a schedule")),
    ('R', "resolution", Flag::Absent("the record of 'punctual measure wakeup' states the timer resolution")),
    (NO_SHORT, "smi", Flag::Absent("the record of 'punctual measure wakeup' counts SMIs")),
    (NO_SHORT, "spike", Flag::Absent("the record of 'punctual measure wakeup' keeps the worst samples")),
    (NO_SHORT, "spike-nodes", Flag::Absent("the record of 'punctual measure wakeup' keeps the worst samples")),
    ('s', "system", Flag::Absent("only clock_nanosleep with absolute times is measured")),
    ('x', "posix_timers", Flag::Absent("only clock_nanosleep with absolute times is measured")),
];

/// Reads the words after `punctual cyclictest`.
pub(super) fn parse(words: impl IntoIterator<Item = OsString>) -> anyhow::Result<Request> {
    let mut parser = lexopt::Parser::from_args(words);
    let mut options = Options::default();
    while let Some(arg) = parser.next()? {
        let (flag, spelling) = match arg {
            Arg::Short(letter) => (by_letter(letter)?, format!("-{letter}")),
            Arg::Long(name) => {
                let (name, flag) = by_name(name)?;
                (flag, format!("--{name}"))
            }
            Arg::Value(word) => {
                bail!("'{}' is no option, and cyclictest takes nothing else", word.to_string_lossy())
            }
        };
        if flag == Flag::Help {
            return Ok(Request::Help);
        }
        apply(&mut options, flag, &spelling, &mut parser).with_context(|| format!("option {spelling}"))?;
    }
    Ok(Request::Run(Box::new(options)))
}

fn by_letter(letter: char) -> anyhow::Result<Flag> {
    let found = FLAGS.iter().find(|(short, _, _)| *short == letter && letter != NO_SHORT);
    found.map(|(_, _, flag)| *flag).ok_or_else(|| anyhow!("unknown option -{letter}: see punctual cyclictest --help"))
}

/// A long name, or a beginning that only one has.
fn by_name(name: &str) -> anyhow::Result<(&'static str, Flag)> {
    let exact = FLAGS.iter().find(|(_, long, _)| *long == name);
    let beginning: Vec<_> = FLAGS.iter().filter(|(_, long, _)| long.starts_with(name)).collect();
    match (exact, beginning.as_slice()) {
        (Some((_, long, flag)), _) | (None, [(_, long, flag)]) => Ok((long, *flag)),
        (None, []) => bail!("unknown option --{name}: see punctual cyclictest --help"),
        (None, several) => {
            let names: Vec<_> = several.iter().map(|(_, long, _)| format!("--{long}")).collect();
            bail!("--{name} could be any of {}: write more of it", names.join(", "))
        }
    }
}

fn apply(options: &mut Options, flag: Flag, spelling: &str, parser: &mut lexopt::Parser) -> anyhow::Result<()> {
    match flag {
        Flag::Affinity => options.affinity = optional(parser)?.map_or(Ok(Cpus::Available), |text| cpus(&text))?,
        Flag::Aligned => options.alignment = alignment(options.alignment, Alignment::Aligned(offset_us(parser)?))?,
        Flag::SecAligned => options.alignment = alignment(options.alignment, Alignment::Second(offset_us(parser)?))?,
        Flag::BreakTrace => options.break_above = Some(number(parser)?).filter(|&limit| limit > 0),
        Flag::Clock => {
            options.clock = match number(parser)? {
                0_u32 => ClockId::Monotonic,
                1 => ClockId::Realtime,
                other => bail!("{other} is not a clock: 0 is CLOCK_MONOTONIC, 1 is CLOCK_REALTIME"),
            }
        }
        Flag::DefaultSystem => options.dma_latency = DmaLatency::DefaultSystem,
        Flag::Distance => options.distance_us = Some(number(parser)?),
        Flag::Duration => options.duration = duration(&text(parser)?)?,
        Flag::Histogram => options.histogram_bins = Some(bins(number(parser)?)?),
        Flag::HistogramOfAll => {
            options.histogram_bins = Some(bins(number(parser)?)?);
            options.histogram_summary = true;
        }
        Flag::HistogramFile => options.histogram_file = Some(PathBuf::from(parser.value()?)),
        Flag::Interval => options.interval_us = number(parser)?,
        Flag::Json => options.json_file = Some(PathBuf::from(parser.value()?)),
        Flag::Laptop => options.dma_latency = DmaLatency::Laptop,
        Flag::Latency => options.dma_latency = DmaLatency::Hold(number(parser)?),
        Flag::Loops => options.loops = Some(number(parser)?).filter(|&loops| loops > 0),
        Flag::MainAffinity => options.main_affinity = Some(cpus(&text(parser)?)?),
        Flag::LockMemory => options.lock_memory = true,
        Flag::RefreshOnMax => options.refresh_on_max = true,
        Flag::Nanoseconds => options.nanoseconds = true,
        Flag::Policy => options.policy = Some(policy(&text(parser)?)?),
        Flag::Priority => {
            options.priority = number(parser)?;
            if options.priority > 99 {
                bail!("priority {} is out of range: 1 to 99 are real-time, 0 is none", options.priority);
            }
        }
        Flag::PrioritySpread => options.priority_spread = true,
        Flag::Quiet => options.quiet = true,
        Flag::Smp => (options.affinity, options.threads) = (Cpus::Available, Threads::EachCpu),
        Flag::Threads => {
            options.threads = match optional(parser)?.map(|text| parsed::<u32>(&text)).transpose()? {
                None | Some(0) => Threads::EachCpu,
                Some(count) => Threads::Count(count),
            }
        }
        Flag::TraceMark => options.trace_mark = true,
        Flag::Verbose => options.verbose = true,
        Flag::Nanosleep | Flag::Unbuffered | Flag::Help => {}
        Flag::Absent(why) => bail!("cyclictest has {spelling}, punctual has not: {why}"),
    }
    Ok(())
}

fn text(parser: &mut lexopt::Parser) -> anyhow::Result<String> {
    utf8(parser.value()?)
}

fn utf8(word: OsString) -> anyhow::Result<String> {
    word.into_string().map_err(|word| anyhow!("'{}' is not text", word.to_string_lossy()))
}

/// A value that may be left away: attached, or the next word where it looks like one.
fn optional(parser: &mut lexopt::Parser) -> anyhow::Result<Option<String>> {
    let attached = parser.optional_value();
    let word = match attached {
        Some(word) => Some(word),
        None => parser.try_raw_args().and_then(|mut rest| {
            rest.next_if(|word| {
                word.to_str().is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit() || c == '!') || w == "all")
            })
        }),
    };
    word.map(utf8).transpose()
}

/// The offset that `--aligned` and `--secaligned` may carry (us).
fn offset_us(parser: &mut lexopt::Parser) -> anyhow::Result<u64> {
    optional(parser)?.map_or(Ok(0), |text| parsed(&text))
}

/// One alignment or the other, as in the original; the same again replaces the earlier.
fn alignment(before: Alignment, now: Alignment) -> anyhow::Result<Alignment> {
    if before != Alignment::Spread && std::mem::discriminant(&before) != std::mem::discriminant(&now) {
        bail!("--aligned and --secaligned exclude each other");
    }
    Ok(now)
}

fn number<T: std::str::FromStr>(parser: &mut lexopt::Parser) -> anyhow::Result<T> {
    parsed(&text(parser)?)
}

/// A whole number; spaces around it are what scripts leave that put `-h 200` into one word.
fn parsed<T: std::str::FromStr>(text: &str) -> anyhow::Result<T> {
    text.trim().parse().map_err(|_| anyhow!("'{text}' is not a whole number in range"))
}

fn bins(bins: usize) -> anyhow::Result<usize> {
    if bins == 0 {
        bail!("a histogram of 0 bins shows nothing: name the largest latency to be tracked");
    }
    Ok(bins.min(MAX_BINS))
}

/// Seconds, or minutes, hours or days; nothing where there is no end.
fn duration(text: &str) -> anyhow::Result<Option<Ns>> {
    let trimmed = text.trim();
    let digits = trimmed.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let seconds_each: i64 = match &trimmed[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        unit => bail!("'{unit}' in '{text}' is no unit: s, m, h and d are"),
    };
    let count: i64 = parsed(digits)?;
    let ns = count.checked_mul(seconds_each).and_then(|s| s.checked_mul(1_000_000_000)).filter(|&ns| ns >= 0);
    let ns = ns.ok_or_else(|| anyhow!("'{text}' is out of range: a run lasts up to 292 years"))?;
    Ok(Some(Ns(ns)).filter(|&ns| ns > Ns::ZERO))
}

fn cpus(text: &str) -> anyhow::Result<Cpus> {
    let text = text.trim();
    if text == "all" {
        return Ok(Cpus::Available);
    }
    let (list, except) = text.strip_prefix('!').map_or((text, false), |rest| (rest, true));
    let set: CpuSet = list.parse()?;
    if set.is_empty() {
        bail!("the list of CPUs is empty: name at least one, for example -a 1");
    }
    Ok(if except { Cpus::Except(set) } else { Cpus::Listed(set) })
}

fn policy(text: &str) -> anyhow::Result<PolicyName> {
    Ok(match text {
        "other" | "normal" => PolicyName::Other,
        "batch" => PolicyName::Batch,
        "idle" => PolicyName::Idle,
        "fifo" => PolicyName::Fifo,
        "rr" => PolicyName::RoundRobin,
        _ => bail!("'{text}' is not a policy: other, normal, batch, idle, fifo and rr are"),
    })
}

/// Every option that is taken, by its letter and its name.
#[cfg(test)]
pub(super) fn accepted() -> impl Iterator<Item = (Option<char>, String)> {
    let taken = FLAGS.iter().filter(|(_, _, flag)| !matches!(flag, Flag::Absent(_)));
    taken.map(|(letter, name, _)| (Some(*letter).filter(|letter| *letter != NO_SHORT), (*name).to_owned()))
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
