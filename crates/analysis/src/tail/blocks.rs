//! The maxima of intervals, and their highest samples, out of the records of one node.
//!
//! All measuring threads of a run are taken together: what is asked is the worst case of the machine. Intervals of several
//! runs follow each other as if nothing lay between; no block of neighbors crosses from one run to the next.

use std::collections::BTreeMap;
use std::ops::Range;

use record::{Interval, Record, Sign};
use units::{approx_f64, round_u64};

use crate::float;

/// Highest samples of an interval that are looked at. A threshold that three samples of an interval exceed on average is
/// exceeded by more than this only where they come in a burst, of which more add no information.
pub(super) const HIGHEST: u64 = 24;
/// More blocks than this are merged with their neighbors before anything is looked at: more add no information.
const MOST: usize = 1_024;
/// The fits go by about this many blocks, or by four times the root of all where that is more: longer maxima follow the limit
/// law better, and are less alike.
const FITTED: f64 = 64.0;
/// An interval shorter than this part of the others joins the one before it.
const LEAST_LAST: f64 = 0.9;

/// One interval of a run over all its threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Block {
    /// Its start in measured time: runs follow each other without a gap (ns).
    pub(super) start_ns: u64,
    pub(super) length_ns: u64,
    pub(super) samples: u64,
    pub(super) max_ns: u64,
    /// Its least sample (ns).
    pub(super) least_ns: u64,
    /// Its highest samples, descending: value (ns) and how many; at most [`HIGHEST`] in all.
    pub(super) highest: Vec<(u64, u64)>,
}

impl Block {
    fn take(&mut self, values: impl Iterator<Item = (u64, u64)>) {
        self.highest.extend(values);
        self.highest.sort_unstable_by(|a, b| b.cmp(a));
        let mut left = HIGHEST;
        self.highest.retain_mut(|(_, count)| {
            *count = (*count).min(left);
            left -= *count;
            *count > 0
        });
        self.max_ns = self.max_ns.max(self.highest.first().map_or(0, |(value, _)| *value));
    }

    fn join(&mut self, other: Self) {
        self.length_ns = self.length_ns.saturating_add(other.length_ns);
        self.least_ns = if self.samples == 0 { other.least_ns } else { self.least_ns.min(other.least_ns) };
        self.samples = self.samples.saturating_add(other.samples);
        self.take(other.highest.into_iter());
    }
}

/// Blocks of about equal length, in the order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Blocks {
    pub(super) blocks: Vec<Block>,
    /// Those of each run.
    pub(super) runs: Vec<Range<usize>>,
    /// The length that half of them do not exceed (ns).
    pub(super) block_ns: u64,
}

impl Blocks {
    /// The intervals of `records`, in their order; of runs whose intervals differ, those of the longest.
    pub(super) fn from_records(records: &[&Record], latency: &str) -> Self {
        let mut runs: Vec<Vec<Block>> = records.iter().map(|record| blocks_of_run(record, latency)).collect();
        let wanted_ns = runs.iter().map(|run| typical_ns(run)).max().unwrap_or(0);
        for run in &mut runs {
            *run = joined_to(std::mem::take(run), wanted_ns);
        }
        Self::from_runs(runs)
    }

    /// The first `whole` intervals of each thread of a run that still goes on.
    pub(super) fn from_threads(threads: &[&[Interval]], whole: usize, sign: Sign) -> Self {
        let intervals = threads.iter().flat_map(|intervals| intervals.iter().take(whole));
        Self::from_runs(vec![blocks_of_intervals(intervals, sign)])
    }

    pub(super) fn from_runs(runs: Vec<Vec<Block>>) -> Self {
        let mut all = Self::default();
        let mut start_ns = 0_u64;
        for run in runs.into_iter().filter(|run| !run.is_empty()) {
            let first = all.blocks.len();
            for mut block in run {
                block.start_ns = start_ns;
                start_ns = start_ns.saturating_add(block.length_ns);
                all.blocks.push(block);
            }
            all.runs.push(first..all.blocks.len());
        }
        all.block_ns = typical_ns(&all.blocks);
        all
    }

    /// At most [`MOST`] blocks: as many neighbors of a run at once as that takes.
    pub(super) fn at_most(&self) -> Self {
        self.merged(self.blocks.len().div_ceil(MOST))
    }

    /// The blocks that the fits go by, and how many of these each is made of.
    pub(super) fn fitted(&self) -> (Self, usize) {
        let blocks = float(self.blocks.len());
        let at_once =
            usize::try_from(round_u64((blocks / FITTED.max(4.0 * blocks.sqrt())).floor())).unwrap_or(1).max(1);
        (self.merged(at_once), at_once)
    }

    /// As many neighbors of a run at once; a rest of fewer at a run's end is left out.
    fn merged(&self, at_once: usize) -> Self {
        if at_once <= 1 {
            return self.clone();
        }
        let of_run = |run: &Range<usize>| {
            let blocks = self.blocks.get(run.clone()).unwrap_or_default();
            blocks.chunks_exact(at_once).filter_map(joined).collect()
        };
        Self::from_runs(self.runs.iter().map(of_run).collect())
    }

    /// The maxima (ns) of each run, of at most about `most` pieces in all: neighbors are joined until it is so.
    pub(super) fn pieces(&self, most: usize) -> Vec<Vec<u64>> {
        let at_once = self.blocks.len().div_ceil(most.max(1)).max(1);
        let of_run = |run: &Range<usize>| {
            let blocks = self.blocks.get(run.clone()).unwrap_or_default();
            let joined = blocks.chunks(at_once).map(|few| few.iter().map(|block| block.max_ns).max().unwrap_or(0));
            joined.collect()
        };
        self.runs.iter().map(of_run).collect()
    }

    /// The first blocks, of about this part of the measured time.
    pub(super) fn first(&self, blocks: usize) -> Self {
        let runs = self.runs.iter().map(|run| run.start.min(blocks)..run.end.min(blocks)).filter(|run| !run.is_empty());
        Self {
            blocks: self.blocks.iter().take(blocks).cloned().collect(),
            runs: runs.collect(),
            block_ns: self.block_ns,
        }
    }

    /// The maxima (ns), in the order of time.
    pub(super) fn maxima(&self) -> Vec<f64> {
        self.blocks.iter().map(|block| approx_f64(block.max_ns)).collect()
    }

    pub(super) fn measured_ns(&self) -> u64 {
        units::total(self.blocks.iter().map(|block| block.length_ns))
    }

    pub(super) fn samples(&self) -> u64 {
        units::total(self.blocks.iter().map(|block| block.samples))
    }
}

fn joined(neighbors: &[Block]) -> Option<Block> {
    let (first, rest) = neighbors.split_first()?;
    let mut block = first.clone();
    rest.iter().for_each(|other| block.join(other.clone()));
    Some(block)
}

fn blocks_of_run(record: &Record, latency: &str) -> Vec<Block> {
    let series = record.series.iter().filter(|one| one.name == latency);
    let sign = record.measurement.kind().sign(latency);
    let mut blocks = blocks_of_intervals(series.flat_map(|series| &series.intervals), sign);
    if !record.measurement.kind().sampling.is_quiet_without_samples() {
        // An interval without a wake-up says nothing of how late one was.
        blocks.retain(|block| block.samples > 0);
    }
    let wanted_ns = typical_ns(&blocks);
    joined_to(blocks, wanted_ns)
}

fn blocks_of_intervals<'a>(intervals: impl Iterator<Item = &'a Interval>, sign: Sign) -> Vec<Block> {
    let mut by_start: BTreeMap<u64, Block> = BTreeMap::new();
    for interval in intervals {
        let block = by_start.entry(interval.start_offset_ns).or_default();
        block.length_ns = block.length_ns.max(interval.length_ns);
        let samples = interval.judged_samples(sign);
        if let Some(least_ns) = samples.min_ns() {
            block.least_ns = if block.samples == 0 { least_ns } else { block.least_ns.min(least_ns) };
        }
        block.samples = block.samples.saturating_add(samples.count());
        let mut left = HIGHEST;
        let mut first = samples.max_ns();
        let highest = samples.bins_from_highest().map_while(|bin| {
            let count = bin.count.min(left);
            left -= count;
            // Only the maximum is known exactly; of the others the middle of their bin.
            (count > 0).then(|| (first.take().unwrap_or(u64::midpoint(bin.from_ns, bin.to_ns)), count))
        });
        block.take(highest.collect::<Vec<_>>().into_iter());
    }
    by_start.into_values().collect()
}

fn typical_ns(blocks: &[Block]) -> u64 {
    let mut lengths: Vec<u64> = blocks.iter().map(|block| block.length_ns).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or(0)
}

/// Joins neighbors until each is about as long as wanted; a rest that is shorter joins the last, so that nothing is lost.
fn joined_to(blocks: Vec<Block>, wanted_ns: u64) -> Vec<Block> {
    let enough = approx_f64(wanted_ns) * LEAST_LAST;
    let mut longer: Vec<Block> = Vec::new();
    for block in blocks {
        match longer.last_mut() {
            Some(last) if approx_f64(last.length_ns) < enough => last.join(block),
            _ => longer.push(block),
        }
    }
    let is_short = longer.last().is_some_and(|last| approx_f64(last.length_ns) < enough);
    if is_short && longer.len() > 1 {
        if let Some((last, before)) = longer.pop().zip(longer.last_mut()) {
            before.join(last);
        }
    }
    longer
}
