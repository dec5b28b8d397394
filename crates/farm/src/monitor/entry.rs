//! What a monitored node writes into its stream. An entry stands by itself: it names its boot and its condition, since it may be read
//! without those before it.
//!
//! Times are of CLOCK_BOOTTIME, which goes on through a suspend and is never set. What a wall clock said stands beside them and proves
//! nothing. Fields that a program does not know it leaves out.

use histogram::Histogram;
use serde::{Deserialize, Serialize};

use super::cause::{Cause, MOST_CAUSE_CLASS, MOST_CAUSE_NAME};
use super::source::{SourceInterval, sources_of_both};
use crate::stream::{ContentHash, Place, StreamId};

/// The most bytes of a text in an entry.
pub const MOST_TEXT: usize = 1_024;
/// The most CPUs, sources or reasons in one entry.
const MOST_LISTED: usize = 8_192;
/// The longest stretch of an entry (ns): 100 years.
pub(super) const MOST_LENGTH_NS: u64 = 100 * 365 * 86_400 * 1_000_000_000;

/// Why an entry is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not allowed in a stream: {0}")]
pub struct NotAllowed(String);

impl NotAllowed {
    pub(crate) fn new(why: &impl ToString) -> Self {
        // A reader's error may quote what was sent.
        let mut why = units::printable::line(&why.to_string()).into_owned();
        let end = (0..=why.len().min(200)).rev().find(|at| why.is_char_boundary(*at)).unwrap_or(0);
        why.truncate(end);
        Self(why)
    }
}

/// A start of the kernel, by the number that it drew (/proc/sys/kernel/random/boot_id). Copies of a running machine share it, and
/// containers have their host's: it proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BootId(pub String);

/// What a content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContentKind {
    /// What figures were measured under: kind, interval, priority, policy, clock, limit, load and CPUs, as JSON. Unlike is never compared.
    Condition,
    /// All that was read of the machine, as JSON.
    Profile,
    /// Whether causes of the worst wake-ups are sought, and what that costs, as JSON ([`Explaining`](super::Explaining)).
    Explaining,
}

/// What a wall clock said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WallTime {
    /// CLOCK_REALTIME (ns since 1970).
    pub ns: i64,
    /// Whether something kept that clock right (`STA_UNSYNC` is clear, adjtimex(2)).
    pub is_synchronized: bool,
    /// The kernel's bound of its error (ns; `maxerror`, adjtimex(2)), where it is synchronized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_ns: Option<u64>,
}

/// A stretch of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LeftTimes {
    /// The boot that its times are counted in.
    pub boot: BootId,
    /// When it begins (ns, CLOCK_BOOTTIME).
    pub start_ns: i64,
    /// How long it is (ns).
    pub length_ns: u64,
    /// What the wall clock said as it began, absent where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<WallTime>,
}

impl LeftTimes {
    /// When it ends (ns, CLOCK_BOOTTIME).
    #[must_use]
    pub fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add_unsigned(self.length_ns)
    }

    /// Whether the other one begins where this one ends.
    #[must_use]
    pub fn goes_on_in(&self, later: &Self) -> bool {
        self.boot == later.boot && self.end_ns() == later.start_ns
    }

    /// Both as one.
    fn with(&self, later: &Self) -> Self {
        Self { length_ns: self.length_ns.saturating_add(later.length_ns), ..self.clone() }
    }
}

/// What was measured of one CPU in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Figures {
    /// The exact largest latency (ns); below zero where a clock was stepped.
    pub maximum_ns: i64,
    /// When it ended (ns after the interval began).
    pub maximum_at_ns: u64,
    /// Wake-ups.
    pub samples: u64,
    /// Schedules that were swallowed.
    pub missed_periods: u64,
    /// Wake-ups later than the limit.
    pub beyond_limit: u64,
    /// What made the largest one late; absent where nobody looked for it. Where it was sought and not found it is
    /// [unknown](Cause::is_unknown).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

impl Figures {
    /// Those of two stretches, the second of which begins `later_by_ns` after the first.
    fn with(&self, later: &Self, later_by_ns: u64) -> Self {
        let is_worse = later.maximum_ns > self.maximum_ns;
        Self {
            maximum_ns: self.maximum_ns.max(later.maximum_ns),
            maximum_at_ns: if is_worse { later.maximum_at_ns.saturating_add(later_by_ns) } else { self.maximum_at_ns },
            samples: self.samples.saturating_add(later.samples),
            missed_periods: self.missed_periods.saturating_add(later.missed_periods),
            beyond_limit: self.beyond_limit.saturating_add(later.beyond_limit),
            cause: if is_worse { later.cause.clone() } else { self.cause.clone() },
        }
    }

    /// Those of two stretches of which either may have none.
    fn of_both(first: Option<&Self>, later: Option<&Self>, later_by_ns: u64) -> Option<Self> {
        match (first, later) {
            (Some(first), Some(later)) => Some(first.with(later, later_by_ns)),
            (Some(first), None) => Some(first.clone()),
            (None, Some(later)) => {
                Some(Self { maximum_at_ns: later.maximum_at_ns.saturating_add(later_by_ns), ..later.clone() })
            }
            (None, None) => None,
        }
    }

    fn without_counts(&self) -> Self {
        Self { samples: 0, missed_periods: 0, beyond_limit: 0, ..self.clone() }
    }
}

/// One CPU in an interval: what stands and what was spoiled, apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct CpuInterval {
    /// The CPU, by the kernel's number.
    pub cpu: u32,
    /// What stands; absent where nothing was measured or all of it was spoiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid: Option<Figures>,
    /// What something spoiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spoiled: Option<Figures>,
    /// Codes of the reasons, as in a record (docs/validity.md).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// The figures of one CPU that count or do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuFigures<'a> {
    /// The CPU, by the kernel's number.
    pub cpu: u32,
    /// Its figures.
    pub figures: &'a Figures,
    /// Whether they stand.
    pub is_valid: bool,
}

/// An interval of monitoring: the worst of each CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Interval {
    /// When it was.
    #[serde(flatten)]
    pub times: LeftTimes,
    /// What it was measured under.
    pub condition: ContentHash,
    /// Intervals that it is made of: 1, or more where room was short.
    #[serde(default = "one")]
    pub made_of: u64,
    /// Why it is shorter than the others, where it is: the agent was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<GapReason>,
    /// Each CPU, in ascending order.
    pub cpus: Vec<CpuInterval>,
    /// Time sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceInterval>,
}

const fn one() -> u64 {
    1
}

impl Interval {
    /// All figures, those that stand and those that do not.
    pub fn figures(&self) -> impl Iterator<Item = CpuFigures<'_>> {
        self.cpus.iter().flat_map(|cpu| {
            let of = move |figures, is_valid| CpuFigures { cpu: cpu.cpu, figures, is_valid };
            let valid = cpu.valid.as_ref().map(|figures| of(figures, true));
            valid.into_iter().chain(cpu.spoiled.as_ref().map(|figures| of(figures, false)))
        })
    }

    /// Both as one, where the other one goes on without a gap under the same condition.
    fn merged(&self, later: &Self) -> Option<Self> {
        let is_alike = self.condition == later.condition
            && self.cut_short.is_none()
            && later.cut_short.is_none()
            && self.times.goes_on_in(&later.times)
            && self.cpus.iter().map(|cpu| cpu.cpu).eq(later.cpus.iter().map(|cpu| cpu.cpu));
        if !is_alike {
            return None;
        }
        let by_ns = self.times.length_ns;
        let cpu = |(first, later): (&CpuInterval, &CpuInterval)| CpuInterval {
            cpu: first.cpu,
            valid: Figures::of_both(first.valid.as_ref(), later.valid.as_ref(), by_ns),
            spoiled: Figures::of_both(first.spoiled.as_ref(), later.spoiled.as_ref(), by_ns),
            reasons: all_of(&first.reasons, &later.reasons),
        };
        Some(Self {
            times: self.times.with(&later.times),
            condition: self.condition,
            made_of: self.made_of.saturating_add(later.made_of),
            cut_short: None,
            cpus: self.cpus.iter().zip(&later.cpus).map(cpu).collect(),
            sources: sources_of_both(&self.sources, &later.sources),
        })
    }
}

fn all_of(first: &[String], later: &[String]) -> Vec<String> {
    let mut all = first.to_vec();
    all.extend(later.iter().filter(|reason| !first.contains(reason)).cloned());
    all
}

/// The wake-ups of one CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CpuHistogram {
    /// The CPU, by the kernel's number.
    pub cpu: u32,
    /// What stands of them.
    pub histogram: Histogram,
}

/// The histograms of an hour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Histograms {
    /// When it was.
    #[serde(flatten)]
    pub times: LeftTimes,
    /// What they were measured under.
    pub condition: ContentHash,
    /// Each CPU, in ascending order.
    pub cpus: Vec<CpuHistogram>,
}

/// Why nothing was monitored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GapReason {
    /// The agent was killed, or the power failed.
    Killed,
    /// The agent was stopped in order.
    Stopped,
    /// The machine was suspended.
    Suspended,
    /// A measurement of punctual had the CPUs.
    Measuring,
    /// The priority was refused.
    NoPriority,
    /// Another reason, of a newer agent, in its words.
    #[serde(untagged)]
    Other(String),
}

/// What the first entry of a stream says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StreamBegin {
    /// The boot that its times are counted in.
    pub boot: BootId,
    /// When the agent started (ns, CLOCK_BOOTTIME).
    pub start_ns: i64,
    /// What the wall clock said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<WallTime>,
    /// Version of the agent.
    pub version: String,
    /// What the machine is called.
    pub host: String,
    /// What distinguishes this machine from a copy of its disk: serial numbers, MAC addresses, in words.
    #[serde(default)]
    pub hardware: Vec<String>,
    /// Where the node's earlier streams ended, as far as it keeps them.
    #[serde(default)]
    pub earlier: Vec<StreamEnd>,
    /// CPUs that are isolated and that nobody monitors.
    #[serde(default)]
    pub isolated_and_not_monitored: Vec<u32>,
}

/// Where a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StreamEnd {
    /// The stream, by the number and the random part of its start.
    pub stream: StreamId,
    /// Its last sequence.
    pub sequence: u64,
    /// The place in the chain after it.
    pub hash: Place,
}

/// A content that entries name by its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ContentOf {
    /// What it is.
    pub kind: ContentKind,
    /// The content.
    pub text: String,
    /// Since when it holds (ns, CLOCK_BOOTTIME).
    pub since_ns: i64,
    /// The boot that its times are counted in.
    pub boot: BootId,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "entry")]
pub enum MonitorEntry {
    /// A stream begins.
    Begin(StreamBegin),
    /// The worst of an interval.
    Interval(Interval),
    /// The histograms of an hour.
    Histograms(Histograms),
    /// A content.
    Content(ContentOf),
    /// Nothing was monitored.
    Gap {
        /// When.
        #[serde(flatten)]
        times: LeftTimes,
        /// Why.
        why: GapReason,
        /// Which CPUs; all of them where none is named.
        #[serde(default)]
        cpus: Vec<u32>,
    },
    /// The agent ends in order: it is silent from here on purpose.
    End {
        /// The boot that its times are counted in.
        boot: BootId,
        /// When (ns, CLOCK_BOOTTIME).
        at_ns: i64,
        /// Why.
        why: GapReason,
    },
    /// An entry of a newer agent: it is kept, and not shown.
    #[serde(other)]
    Unknown,
}

impl MonitorEntry {
    /// Reads one, and looks at its bounds.
    ///
    /// # Errors
    /// Where it is none, or beyond a bound, with which.
    pub fn from_json(json: &str) -> Result<Self, NotAllowed> {
        let entry: Self = serde_json::from_str(json).map_err(|error| NotAllowed::new(&error))?;
        entry.check()?;
        Ok(entry)
    }

    /// Looks at the bounds of an entry that was read.
    pub(super) fn check(&self) -> Result<(), NotAllowed> {
        let within = |what: &str, found: usize, most: usize| {
            if found <= most { Ok(()) } else { Err(NotAllowed::new(&format!("{what}: {found}, and at most {most}"))) }
        };
        let times = |times: &LeftTimes| {
            within("bytes of a boot's name", times.boot.0.len(), 64)?;
            if times.length_ns > MOST_LENGTH_NS {
                return Err(NotAllowed::new(&format!("a length of {} ns", times.length_ns)));
            }
            Ok(())
        };
        let ascend = |cpus: &mut dyn Iterator<Item = u32>| {
            let cpus: Vec<u32> = cpus.collect();
            within("CPUs", cpus.len(), MOST_LISTED)?;
            if cpus.windows(2).all(|two| two[0] < two[1]) {
                return Ok(());
            }
            Err(NotAllowed::new(&"CPUs that do not ascend"))
        };
        match self {
            Self::Begin(begin) => {
                within("streams", begin.earlier.len(), MOST_LISTED)?;
                within("facts of the hardware", begin.hardware.len(), 256)?;
                let mut texts = [&begin.boot.0, &begin.version, &begin.host].into_iter().chain(&begin.hardware);
                texts.try_for_each(|text| within("bytes of a text", text.len(), MOST_TEXT))
            }
            Self::Interval(interval) => {
                times(&interval.times)?;
                ascend(&mut interval.cpus.iter().map(|cpu| cpu.cpu))?;
                within("sources", interval.sources.len(), 64)?;
                for cpu in &interval.cpus {
                    within("reasons", cpu.reasons.len(), 64)?;
                    for cause in cpu.valid.iter().chain(&cpu.spoiled).filter_map(|figures| figures.cause.as_ref()) {
                        within("bytes of a cause's class", cause.class.len(), MOST_CAUSE_CLASS)?;
                        within("bytes of a cause's name", cause.name.len(), MOST_CAUSE_NAME)?;
                        within("percent of a latency", cause.covers_percent.unwrap_or(0).into(), 100)?;
                    }
                    for text in &cpu.reasons {
                        within("bytes of a text", text.len(), MOST_TEXT)?;
                    }
                }
                let mut names: Vec<&String> = interval.sources.iter().map(|source| &source.source).collect();
                names.sort();
                if names.windows(2).any(|two| two[0] == two[1]) {
                    return Err(NotAllowed::new(&"a source of time that is named twice"));
                }
                let mut texts = interval.sources.iter().flat_map(|source| [&source.source, &source.state]);
                texts.try_for_each(|text| within("bytes of a text", text.len(), MOST_TEXT))
            }
            Self::Histograms(histograms) => {
                times(&histograms.times)?;
                ascend(&mut histograms.cpus.iter().map(|cpu| cpu.cpu))
            }
            Self::Content(content) => within("bytes of a content", content.text.len(), 2 << 20),
            Self::Gap { times: of, cpus, why } => {
                times(of)?;
                ascend(&mut cpus.iter().copied())?;
                match why {
                    GapReason::Other(text) => within("bytes of a text", text.len(), MOST_TEXT),
                    _ => Ok(()),
                }
            }
            Self::End { boot, .. } => within("bytes of a boot's name", boot.0.len(), 64),
            Self::Unknown => Ok(()),
        }
    }

    /// Both as one, where nothing is mixed that must not be ([`Interval`]s alone).
    #[must_use]
    pub fn merged(&self, later: &Self) -> Option<Self> {
        match (self, later) {
            (Self::Interval(first), Self::Interval(later)) => first.merged(later).map(Self::Interval),
            _ => None,
        }
    }

    /// Whether it says nothing of a worst case.
    #[must_use]
    pub const fn may_be_emptied(&self) -> bool {
        matches!(self, Self::Histograms(_))
    }

    /// The same with maxima and without counts.
    #[must_use]
    pub fn without_counts(&self) -> Self {
        match self {
            Self::Interval(interval) => {
                let mut interval = interval.clone();
                for cpu in &mut interval.cpus {
                    cpu.valid = cpu.valid.as_ref().map(Figures::without_counts);
                    cpu.spoiled = cpu.spoiled.as_ref().map(Figures::without_counts);
                }
                interval.sources.iter_mut().for_each(|source| source.steps = 0);
                Self::Interval(interval)
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
