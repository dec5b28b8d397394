//! Worst cases by their causes: above which level every late sample has its cause, how often each comes and how large it is,
//! and what would be left without it.
//!
//! Explanations cover late samples only. So all of this holds above a level alone, which is found by counting: of what the
//! histograms hold above it, at most one in twenty has no explanation. Those few, and those whose cause is not known, are a
//! cause of their own, which nobody can remove.

use record::{CauseClass, Certainty, Explanation, Histogram, Record};
use units::approx_f64;

use super::blocks::{Block, Blocks};
use super::document::cause_words;

/// Of the samples above the level, the part that may have no explanation.
const MOST_UNEXPLAINED: f64 = 0.05;

/// A cause with what is known of its samples.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    pub(super) class: CauseClass,
    pub(super) name: String,
    pub(super) certainty: Certainty,
    /// Its samples above the level.
    pub(super) sizes: Histogram,
}

impl Cause {
    pub(super) fn is_known(&self) -> bool {
        self.certainty != Certainty::Unknown && self.class != CauseClass::Unknown
    }

    pub(super) fn worst_ns(&self) -> u64 {
        self.sizes.max_ns().unwrap_or(0)
    }

    /// As in a sentence.
    pub(super) fn words(&self) -> String {
        cause_words(self.class, &self.name, self.certainty)
    }
}

/// Which cause each late sample has.
#[derive(Clone, Debug)]
pub(super) struct Attribution {
    /// Every sample above this has its cause, or is counted as unknown (ns).
    pub(super) above_ns: u64,
    /// Whether that is the level which explanations were asked for above, so that all below is ordinary.
    pub(super) is_as_asked: bool,
    /// The causes, the one with the worst sample first.
    pub(super) causes: Vec<Cause>,
}

impl Attribution {
    /// Of all runs; `None` where one of them was not explained, or not even its worst sample was.
    pub(super) fn from_records(records: &[&Record], latency: &str) -> Option<Self> {
        let explanations: Vec<&Explanation> =
            records.iter().map(|record| record.explanation()).collect::<Option<_>>()?;
        let mut all = Histogram::new();
        let series = records.iter().flat_map(|record| &record.series).filter(|series| series.name == latency);
        series.for_each(|series| all.merge(&series.histogram));
        let mut causes: Vec<Cause> = Vec::new();
        explanations.iter().for_each(|explanation| take(&mut causes, explanation));
        let asked: Option<Vec<u64>> = explanations.iter().map(|explanation| explanation.above_ns).collect();
        let asked_ns = asked.and_then(|all| all.into_iter().max());
        let above_ns = complete_above(&all, &causes, asked_ns.unwrap_or(0))?;
        let mut unknown = unexplained(&all, &causes, above_ns);
        causes.iter_mut().for_each(|cause| cause.sizes = part_above(&cause.sizes, above_ns));
        causes.iter().filter(|cause| !cause.is_known()).for_each(|cause| unknown.merge(&cause.sizes));
        causes.retain(|cause| cause.is_known() && !cause.sizes.is_empty());
        if !unknown.is_empty() {
            let (class, certainty) = (CauseClass::Unknown, Certainty::Unknown);
            causes.push(Cause { class, name: String::new(), certainty, sizes: unknown });
        }
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.worst_ns()));
        let is_as_asked = asked_ns.is_some_and(|asked_ns| above_ns <= asked_ns);
        (!causes.is_empty()).then_some(Self { above_ns, is_as_asked, causes })
    }
}

/// Takes in the causes of one run: all their samples, or those that are kept with their timelines in records that hold no
/// more.
fn take(causes: &mut Vec<Cause>, explanation: &Explanation) {
    for total in &explanation.causes {
        let mut sizes = total.latencies.clone();
        if sizes.is_empty() {
            let own = explanation.samples.iter().filter(|one| one.class == total.class && one.name == total.name);
            own.for_each(|one| sizes.record_n(u64::try_from(one.latency_ns).unwrap_or(0), 1));
        }
        match causes.iter_mut().find(|cause| cause.class == total.class && cause.name == total.name) {
            Some(cause) => {
                cause.sizes.merge(&sizes);
                cause.certainty = cause.certainty.max(total.certainty);
            }
            None => {
                let (class, certainty) = (total.class, total.certainty);
                causes.push(Cause { class, name: total.name.clone(), certainty, sizes });
            }
        }
    }
}

/// The lowest level above which nearly all samples are explained (ns); `None` where not even the worst is.
fn complete_above(all: &Histogram, causes: &[Cause], asked_ns: u64) -> Option<u64> {
    let (mut seen, mut level) = (0, None);
    for bin in all.bins_from_highest() {
        if bin.to_ns <= asked_ns {
            break;
        }
        seen += bin.count;
        let below = bin.from_ns.saturating_sub(1);
        let explained = units::total(causes.iter().map(|cause| cause.sizes.count_above(below))).min(seen);
        if approx_f64(seen - explained) > MOST_UNEXPLAINED * approx_f64(seen) {
            break;
        }
        level = Some(below.max(asked_ns));
    }
    // Between the level that was asked for and the next sample above it there is nothing.
    let rest = all.count_above(asked_ns);
    level.map(|level| if asked_ns > 0 && rest == seen { asked_ns } else { level })
}

/// Samples above a level that no explanation covers, by the bins that hold more than was explained.
fn unexplained(all: &Histogram, causes: &[Cause], above_ns: u64) -> Histogram {
    let mut unknown = Histogram::new();
    for bin in all.bins_from_highest().take_while(|bin| bin.from_ns > above_ns) {
        let below = bin.from_ns.saturating_sub(1);
        let of = |cause: &Cause| cause.sizes.count_above(below) - cause.sizes.count_above(bin.to_ns);
        let explained = units::total(causes.iter().map(of));
        unknown.record_n(bin.to_ns, bin.count.saturating_sub(explained));
    }
    unknown
}

fn part_above(sizes: &Histogram, above_ns: u64) -> Histogram {
    let mut part = Histogram::new();
    let mut most = sizes.max_ns();
    for bin in sizes.bins_from_highest().take_while(|bin| bin.to_ns > above_ns) {
        // The greatest is known exactly.
        if let Some(most_ns) = most.take() {
            part.record_n(most_ns, 1);
            part.record_n(u64::midpoint(bin.from_ns, bin.to_ns).min(most_ns), bin.count - 1);
        } else {
            part.record_n(u64::midpoint(bin.from_ns, bin.to_ns), bin.count);
        }
    }
    part
}

impl Blocks {
    /// What is left of each block without its samples above a level; `None` where a block holds so many of them that the next
    /// lower one is not known.
    pub(super) fn below(&self, level_ns: u64) -> Option<Self> {
        let below = |block: &Block| {
            let highest: Vec<(u64, u64)> =
                block.highest.iter().filter(|(value, _)| *value <= level_ns).copied().collect();
            let max_ns = highest.first().map(|(value, _)| *value)?;
            let removed = units::total(block.highest.iter().map(|(_, count)| *count))
                - units::total(highest.iter().map(|(_, count)| *count));
            Some(Block { max_ns, samples: block.samples.saturating_sub(removed), highest, ..block.clone() })
        };
        let blocks = self.blocks.iter().map(below).collect::<Option<_>>()?;
        Some(Self { blocks, runs: self.runs.clone(), block_ns: self.block_ns })
    }
}
