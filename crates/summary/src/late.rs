//! What made wake-ups late, over several runs: the one count that ranking, sentences and tables draw.
//!
//! All shares have one denominator: every wake-up beyond the limit in every valid run, whether its cause was looked for or not.
//! Each of these is counted once: with the cause that was found for it, as examined without a cause, or as not explained. So
//! the shares add up to 100 %. Nothing is extrapolated from the samples that were explained to those that were not: the
//! explained ones are the worst of their time, and not a sample of all.

use std::path::Path;

use record::{CauseClass, CauseTotal, Certainty, ExplainedSample, Explanation, Owner, Record, Series};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::approx_f64;

use crate::percent::percentages;

/// A run whose late samples are counted.
#[derive(Clone, Debug)]
pub struct LateRun<'a> {
    /// The run; invalid ones are left out by the caller.
    pub record: &'a Record,
    /// The condition of the run, to follow a count: `idle`, `under load 'paper'`.
    pub when: &'a str,
    /// Samples above this latency (ns) are counted; `None` counts the samples whose cause was looked for.
    pub limit_ns: Option<u64>,
}

/// What made wake-ups late, with the count of each cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LateCauses {
    /// The number of samples that the counts below add up to.
    pub total: u64,
    /// The causes that were found, the one with the most samples first.
    pub known: Vec<LateCause>,
    /// Samples that were examined without finding a cause.
    pub unknown: LateCount,
    /// Samples whose cause was not looked for, or of which nothing was recorded.
    pub not_explained: LateCount,
    /// The cause of the worst sample of all runs; absent if there is no sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<WorstCause>,
}

/// Some of the late samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LateCount {
    /// Number of samples.
    pub samples: u64,
    /// Share of the total in whole percent; those of all counts add up to 100. 0 and 100 stand for "less than one" and "more
    /// than 99" if not exact.
    pub percent: u64,
    /// The worst latency of these samples (ns); absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_ns: Option<i64>,
    /// Number of samples in each run that has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<CountInRun>,
}

/// The late samples of one cause in one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountInRun {
    /// The condition of the run: `idle`, `under load 'paper'`.
    pub when: String,
    /// Number of samples.
    pub samples: u64,
}

/// A cause that was found for late samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LateCause {
    /// Class of the cause.
    pub class: CauseClass,
    /// Name of the interrupt, the thread, the function or the idle state; empty if there is none.
    pub name: String,
    /// Whose thread it is, if the cause is a thread.
    pub owner: Owner,
    /// Certainty of the cause: the lowest of all its samples.
    pub certainty: Certainty,
    /// How many samples it made late.
    pub count: LateCount,
    /// What to change to avoid this cause.
    #[serde(default)]
    pub remedy: String,
    /// Name of a finding of `check` that has more about the cause; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
}

impl LateCause {
    /// The cause in words: `interrupt: eth0 (interrupt 126)`.
    #[must_use]
    pub fn words(&self) -> String {
        self.class.with_name(&self.name)
    }
}

/// What is known of the cause of the worst sample of all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorstCause {
    /// The latency of the sample (ns).
    pub latency_ns: i64,
    /// Whether its cause was found.
    pub state: WorstState,
    /// The cause in words; absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// Whether the cause of the worst sample was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorstState {
    /// The recorded events show the cause.
    Shown,
    /// The cause is likely.
    Likely,
    /// The sample was examined, and no cause was found.
    Unknown,
    /// The run looked for causes, and nothing was recorded of this sample.
    NotRecorded,
    /// The run did not look for causes.
    NotLookedFor,
}

impl WorstCause {
    /// What is known, to follow the latency: "cause interrupt: eth0 (interrupt 24), shown", "cause unknown".
    #[must_use]
    pub fn words(&self) -> String {
        let cause = self.cause.as_deref().unwrap_or_default();
        match self.state {
            WorstState::Shown => format!("cause {cause}, shown"),
            WorstState::Likely => format!("cause {cause}, likely"),
            WorstState::Unknown => "cause unknown".to_owned(),
            WorstState::NotRecorded => "cause unknown: nothing was recorded of it".to_owned(),
            WorstState::NotLookedFor => "cause not looked for".to_owned(),
        }
    }

    /// The cause of the worst sample of a run; `None` if the run has no sample.
    #[must_use]
    pub fn of(record: &Record) -> Option<Self> {
        let (latency_ns, place) = record.worst_of_all()?;
        let without = |state| Some(Self { latency_ns, state, cause: None });
        let Some(explanation) = record.explanation() else { return without(WorstState::NotLookedFor) };
        let is_it = |sample: &&ExplainedSample| {
            sample.latency_ns == latency_ns && place.thread_number().is_none_or(|thread| thread == sample.thread)
        };
        let Some(sample) = explanation.samples.iter().find(is_it) else {
            return without(WorstState::NotRecorded);
        };
        if sample.class == CauseClass::Unknown {
            return without(WorstState::Unknown);
        }
        let state = match sample.certainty {
            Certainty::Shown => WorstState::Shown,
            Certainty::Likely => WorstState::Likely,
            Certainty::Unknown => return without(WorstState::Unknown),
        };
        Some(Self { latency_ns, state, cause: Some(sample.class.with_name(&sample.name)) })
    }
}

/// The number of samples of a run above a latency (ns), of the series to which a deadline applies.
#[must_use]
pub fn samples_above(record: &Record, limit_ns: u64) -> u64 {
    let judged = record.series.iter().filter(|series| series.judged);
    units::total(judged.map(|series: &Series| series.judged_samples(record.sign(series)).count_above(limit_ns)))
}

/// The number of explained samples of a cause above a latency (ns).
///
/// Records without a histogram for each cause still list the worst samples of all causes one by one: those are counted then,
/// which can be too few, and never too many.
#[must_use]
pub fn cause_above(cause: &CauseTotal, explanation: &Explanation, limit_ns: u64) -> u64 {
    if u64::try_from(cause.worst_ns).unwrap_or(0) <= limit_ns {
        return 0;
    }
    if !cause.latencies.is_empty() {
        return cause.latencies.count_above(limit_ns);
    }
    if explanation.above_ns.is_some_and(|above_ns| above_ns >= limit_ns) {
        return cause.samples;
    }
    let is_of_cause = |sample: &&ExplainedSample| {
        (sample.class, &sample.name, sample.owner) == (cause.class, &cause.name, cause.owner)
            && u64::try_from(sample.latency_ns).is_ok_and(|ns| ns > limit_ns)
    };
    u64::try_from(explanation.samples.iter().filter(is_of_cause).count()).unwrap_or(u64::MAX)
}

/// The explained samples of each cause of a run, in the order of the record: those above the limit, or all without one.
/// Together they are at most as many as the run has samples above the limit.
#[must_use]
pub fn causes_above(record: &Record, limit_ns: Option<u64>) -> Vec<u64> {
    let Some(explanation) = record.explanation() else { return Vec::new() };
    let Some(limit_ns) = limit_ns else {
        return explanation.causes.iter().map(|cause| cause.samples).collect();
    };
    let counts = explanation.causes.iter().map(|cause| count_of(cause, record, explanation, limit_ns));
    at_most(counts, samples_above(record, limit_ns))
}

/// The same for an explanation of `beyond` samples above the limit (ns); `None` if the record cannot give them, because it kept
/// only the worst samples and no histogram of each cause.
#[must_use]
pub fn explained_above(explanation: &Explanation, limit_ns: u64, beyond: u64) -> Option<Vec<u64>> {
    let is_above = |ns: i64| u64::try_from(ns).is_ok_and(|ns| ns > limit_ns);
    let is_counted = |cause: &CauseTotal| !cause.latencies.is_empty() || !is_above(cause.worst_ns);
    let are_all_kept = u64::try_from(explanation.samples.len()).is_ok_and(|kept| kept >= explanation.explained);
    let is_complete = explanation.causes.iter().all(is_counted)
        || explanation.above_ns.is_some_and(|above_ns| above_ns >= limit_ns)
        || are_all_kept
        || explanation.samples.last().is_some_and(|sample| !is_above(sample.latency_ns));
    let counts = explanation.causes.iter().map(|cause| cause_above(cause, explanation, limit_ns));
    is_complete.then(|| at_most(counts, beyond))
}

/// Counts whose sum is at most `left`: the samples of several causes can share the limit's bin of the histogram, of which a run
/// counts one at most.
fn at_most(counts: impl Iterator<Item = u64>, mut left: u64) -> Vec<u64> {
    let mut take = |count: u64| {
        let taken = count.min(left);
        left -= taken;
        taken
    };
    counts.map(&mut take).collect()
}

/// [`cause_above`], or where a record kept neither histogram nor samples of the cause, the count that it took for its deadline.
fn count_of(cause: &CauseTotal, record: &Record, explanation: &Explanation, limit_ns: u64) -> u64 {
    let counted = cause_above(cause, explanation, limit_ns);
    let is_bare = cause.latencies.is_empty() && counted == 0 && u64::try_from(cause.worst_ns).unwrap_or(0) > limit_ns;
    // What is beyond the deadline is beyond each smaller limit too.
    let is_smaller = record.manifest().requested.deadline_ns.is_none_or(|deadline_ns| limit_ns <= deadline_ns);
    if is_bare && is_smaller { cause.beyond_deadline.unwrap_or(0) } else { counted }
}

/// Counts one cause or another over the runs.
#[derive(Default)]
struct Sum {
    samples: u64,
    worst_ns: Option<i64>,
    runs: Vec<CountInRun>,
}

impl Sum {
    fn add(&mut self, samples: u64, worst_ns: Option<i64>, when: &str) {
        if samples == 0 {
            return;
        }
        self.samples = self.samples.saturating_add(samples);
        self.worst_ns = self.worst_ns.max(worst_ns);
        match self.runs.iter_mut().find(|run| run.when == when) {
            Some(run) => run.samples = run.samples.saturating_add(samples),
            None => self.runs.push(CountInRun { when: when.to_owned(), samples }),
        }
    }

    fn finish(self, percent: u64) -> LateCount {
        LateCount { samples: self.samples, percent, worst_ns: self.worst_ns, runs: self.runs }
    }
}

/// A cause over all runs.
struct Known<'a> {
    cause: &'a CauseTotal,
    owner: Owner,
    certainty: Certainty,
    sum: Sum,
}

impl LateCauses {
    /// Counts the late samples of these runs by their causes.
    #[must_use]
    pub fn over(runs: &[LateRun<'_>]) -> Self {
        let mut known: Vec<Known<'_>> = Vec::new();
        let (mut unknown, mut not_explained) = (Sum::default(), Sum::default());
        for run in runs {
            let counts = causes_above(run.record, run.limit_ns);
            let explained = units::total(counts.iter().copied());
            if let Some(limit_ns) = run.limit_ns {
                not_explained.add(samples_above(run.record, limit_ns).saturating_sub(explained), None, run.when);
            }
            let causes = run.record.explanation().map_or(&[][..], |explanation| &explanation.causes);
            for (cause, samples) in causes.iter().zip(counts).filter(|(_, samples)| *samples > 0) {
                if cause.class == CauseClass::Unknown || cause.certainty == Certainty::Unknown {
                    unknown.add(samples, Some(cause.worst_ns), run.when);
                    continue;
                }
                let owner = owner_of(cause, run.record);
                let is_same = |one: &Known<'_>| {
                    (one.cause.class, &one.cause.name, one.owner) == (cause.class, &cause.name, owner)
                };
                let at = known.iter().position(is_same).unwrap_or_else(|| {
                    known.push(Known { cause, owner, certainty: cause.certainty, sum: Sum::default() });
                    known.len() - 1
                });
                let one = &mut known[at];
                one.certainty = one.certainty.max(cause.certainty);
                one.sum.add(samples, Some(cause.worst_ns), run.when);
            }
        }
        known.sort_by_key(|one| {
            (std::cmp::Reverse(one.sum.samples), one.certainty, std::cmp::Reverse(one.sum.worst_ns))
        });
        let counts: Vec<u64> =
            known.iter().map(|one| one.sum.samples).chain([unknown.samples, not_explained.samples]).collect();
        let mut percents = percentages(&counts).into_iter();
        let mut next = || percents.next().unwrap_or(0);
        let known = known
            .into_iter()
            .map(|one| LateCause {
                class: one.cause.class,
                name: one.cause.name.clone(),
                owner: one.owner,
                certainty: one.certainty,
                count: one.sum.finish(next()),
                remedy: one.cause.remedy.clone(),
                finding: one.cause.finding.clone(),
            })
            .collect();
        let worst = runs.iter().filter_map(|run| WorstCause::of(run.record));
        Self {
            total: units::total(counts),
            known,
            unknown: unknown.finish(next()),
            not_explained: not_explained.finish(next()),
            worst: worst.max_by_key(|worst| worst.latency_ns.unsigned_abs()),
        }
    }

    /// The share of the total that some samples are (0 to 1).
    #[must_use]
    pub fn share(&self, samples: u64) -> f64 {
        (approx_f64(samples) / approx_f64(self.total.max(1))).min(1.0)
    }

    /// A share in words: "19 %", "<1 %", ">99 %".
    #[must_use]
    pub fn percent(&self, count: &LateCount) -> String {
        crate::percent::words(count.percent, count.samples, self.total)
    }

    /// The rows of a table with at most `named` causes by name, one for all other causes, and those without a cause. The
    /// samples of all rows add up to the total, and their percentages to 100.
    #[must_use]
    pub fn rows(&self, named: usize) -> Vec<LateRow<'_>> {
        // A last single cause takes no more room than the row that would stand for it.
        let named = if self.known.len() == named + 1 { self.known.len() } else { named.min(self.known.len()) };
        let (first, others) = self.known.split_at(named);
        let row = |what, count: LateCount, certainty, cause| {
            let percent = self.percent(&count);
            LateRow { what, share: self.share(count.samples), percent, count, certainty, cause }
        };
        let mut rows: Vec<LateRow<'_>> = first
            .iter()
            .map(|cause| row(cause.words(), cause.count.clone(), Some(cause.certainty), Some(cause)))
            .collect();
        if !others.is_empty() {
            let count = LateCount {
                samples: units::total(others.iter().map(|cause| cause.count.samples)),
                percent: units::total(others.iter().map(|cause| cause.count.percent)),
                worst_ns: others.iter().filter_map(|cause| cause.count.worst_ns).max(),
                runs: Vec::new(),
            };
            let certainty = others.iter().map(|cause| cause.certainty).max();
            rows.push(row(format!("{} other causes", others.len()), count, certainty, None));
        }
        if self.unknown.samples > 0 {
            rows.push(row("unknown".to_owned(), self.unknown.clone(), Some(Certainty::Unknown), None));
        }
        if self.not_explained.samples > 0 {
            rows.push(row("not explained".to_owned(), self.not_explained.clone(), None, None));
        }
        rows
    }
}

/// A row of a table of causes.
#[derive(Clone, Debug, PartialEq)]
pub struct LateRow<'a> {
    /// The cause in words, `unknown`, or `not explained`.
    pub what: String,
    /// Its samples.
    pub count: LateCount,
    /// Share of the total (0 to 1).
    pub share: f64,
    /// The share in words: "19 %".
    pub percent: String,
    /// Certainty of the cause; `None` for samples that were not examined.
    pub certainty: Option<Certainty>,
    /// The cause; `None` for a row of several causes or of none.
    pub cause: Option<&'a LateCause>,
}

/// The owner of a cause's thread: as recorded, or found by the names of the load's programs, because threads of the load can end
/// before they are looked up. Threads of this program live as long as the run; others with the same names are another run's.
fn owner_of(cause: &CauseTotal, record: &Record) -> Owner {
    let is_thread = matches!(
        cause.class,
        CauseClass::Thread | CauseClass::InterruptsOff | CauseClass::PreemptionOff | CauseClass::Throttle
    );
    if !cause.owner.is_other() || !is_thread {
        return cause.owner;
    }
    // The cause's name is the thread's name followed by " (policy priority)".
    let thread = cause.name.rsplit_once(" (").map_or(cause.name.as_str(), |(thread, _)| thread);
    let started_thread = |command: &Vec<String>| {
        let program = command.first().and_then(|path| Path::new(path).file_name()).and_then(|name| name.to_str());
        program.is_some_and(|program| is_thread_of(program, thread))
    };
    if record.manifest().load.commands.iter().any(started_thread) { Owner::Load } else { Owner::Other }
}

/// Bytes of a thread's name that the kernel keeps (`TASK_COMM_LEN` in include/linux/sched.h, less the terminating zero).
const THREAD_NAME_BYTES: usize = 15;

/// Whether a thread has the name of a load's program, as truncated by the kernel. stress-ng renames its workers.
fn is_thread_of(program: &str, thread: &str) -> bool {
    let kept = &program.as_bytes()[..program.len().min(THREAD_NAME_BYTES)];
    (!kept.is_empty() && kept == thread.as_bytes()) || (program == "stress-ng" && thread.starts_with("stress-ng-"))
}

#[cfg(test)]
mod tests;
