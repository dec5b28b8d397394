//! What the steps of a source allow a comparison to claim.
//!
//! A sample is known to the step that its source counted in: cyclictest's to a microsecond, a table of rtla's to the width of its
//! bins. Two sources with unlike steps, or unlike rounding, give unlike numbers of one and the same distribution. So both sides
//! are brought to one grid with one rounding first, the finest that the steps of all runs divide; then equal distributions are
//! equal numbers again. A difference of the numbers is one of the truth to within a step of that grid, and none that is not
//! larger is claimed.

use std::borrow::Cow;
use std::collections::BTreeSet;

use record::{Histogram, Record, Rounding, Series, Unplaced};
use units::format;

use super::{Group, clock_error};

/// The steps that the samples of two groups were counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Steps {
    /// The coarsest of each side (ns); 1 where samples are counted to the nanosecond.
    pub(super) of_sides_ns: [u64; 2],
    /// The step of the grid that both sides are brought to (ns).
    pub(super) common_ns: u64,
    /// Whether there is anything to bring together.
    are_unlike: bool,
}

impl Steps {
    pub(super) fn of(groups: [&[&Record]; 2], latency: &str) -> Self {
        let kinds = groups.map(|runs| {
            let series =
                runs.iter().flat_map(|run| run.series.iter().filter(|one| one.name == latency && one.taken() > 0));
            series.map(|one| (one.resolution_ns.unwrap_or(1).max(1), one.rounding)).collect::<BTreeSet<_>>()
        });
        let coarsest = |kinds: &BTreeSet<(u64, Rounding)>| kinds.iter().map(|(step_ns, _)| *step_ns).max().unwrap_or(1);
        let all: BTreeSet<(u64, Rounding)> = kinds.iter().flatten().copied().collect();
        Self {
            of_sides_ns: [coarsest(&kinds[0]), coarsest(&kinds[1])],
            common_ns: all.iter().fold(1, |common, (step_ns, _)| least_common_multiple(common, *step_ns)),
            are_unlike: all.len() > 1,
        }
    }

    /// The step as it limits what is claimed (ns); 0 where samples are counted to the nanosecond.
    pub(super) fn limit_ns(self) -> f64 {
        if self.common_ns > 1 { units::approx_f64(self.common_ns) } else { 0.0 }
    }

    /// The runs on the common grid.
    pub(super) fn alike<'a>(self, runs: &[&'a Record], latency: &str) -> Vec<Cow<'a, Record>> {
        if !self.are_unlike {
            return runs.iter().map(|run| Cow::Borrowed(*run)).collect();
        }
        let on_grid = |run: &&'a Record| {
            let mut run = (*run).clone();
            run.series.iter_mut().filter(|one| one.name == latency).for_each(|one| put_on_grid(one, self.common_ns));
            Cow::Owned(run)
        };
        runs.iter().map(on_grid).collect()
    }

    /// The sentence about it; `None` where all samples are counted to the nanosecond.
    pub(super) fn note(self) -> Option<String> {
        let words = |ns: u64| format::latency(ns);
        let [a, b] = self.of_sides_ns.map(words);
        let common = words(self.common_ns);
        if self.common_ns <= 1 {
            return None;
        }
        let claim = format!("a difference up to {common} can come of that alone, and is not shown");
        Some(if self.are_unlike {
            format!(
                "The samples of A are known to {a}, those of B to {b}: both are compared in steps of {common}, rounded down; {claim}."
            )
        } else {
            format!("The samples are known to {common}: {claim}.")
        })
    }
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A coarser grid claims less: one that is too coarse to be told is as coarse as can be.
const fn least_common_multiple(a: u64, b: u64) -> u64 {
    (a / greatest_common_divisor(a, b)).saturating_mul(b)
}

fn put_on_grid(series: &mut Series, step_ns: u64) {
    let (own_ns, rounding) = (series.resolution_ns.unwrap_or(1).max(1), series.rounding);
    let put = |histogram: &mut Histogram| *histogram = on_grid(histogram, own_ns, rounding, step_ns, false);
    let put_below = |histogram: &mut Histogram| *histogram = on_grid(histogram, own_ns, rounding, step_ns, true);
    put(&mut series.histogram);
    series.below_zero.iter_mut().for_each(put_below);
    series.corrected.iter_mut().for_each(put);
    for interval in &mut series.intervals {
        put(&mut interval.histogram);
        interval.below_zero.iter_mut().for_each(put_below);
    }
    (series.resolution_ns, series.rounding) = (Some(step_ns), Rounding::Down);
}

/// A histogram with every sample at the beginning of the step that it lies in; of magnitudes below zero at its end.
fn on_grid(histogram: &Histogram, own_ns: u64, rounding: Rounding, step_ns: u64, is_below: bool) -> Histogram {
    let cell_ns = |ns: u64| {
        // What was rounded up lies before the value that stands for it.
        let lies_at_ns = if rounding == Rounding::Up { ns.saturating_sub(1) } else { ns };
        if is_below { lies_at_ns.div_ceil(step_ns).saturating_mul(step_ns) } else { lies_at_ns / step_ns * step_ns }
    };
    let mut on_grid = Histogram::new();
    let (min_ns, max_ns) = (histogram.min_ns(), histogram.max_ns());
    let mut placed_ns = 0_u64;
    let mut place = |ns: u64, count: u64| {
        on_grid.record_n(cell_ns(ns), count);
        placed_ns = placed_ns.saturating_add(ns.saturating_mul(count));
    };
    for bin in histogram.bins() {
        let mut count = bin.count;
        // The extremes are known to the nanosecond.
        for end_ns in
            [max_ns.filter(|ns| *ns == bin.to_ns), min_ns.filter(|ns| *ns == bin.from_ns)].into_iter().flatten()
        {
            place(end_ns, 1.min(count));
            count -= 1.min(count);
        }
        // The value that the source counted, where it is a multiple of its step.
        let multiple_ns = bin.to_ns / own_ns * own_ns;
        if own_ns > 1 {
            let is_known = multiple_ns >= bin.from_ns;
            place(if is_known { multiple_ns } else { u64::midpoint(bin.from_ns, bin.to_ns) }, count);
            continue;
        }
        // A bin over the edge between two steps has its part in each.
        let width_ns = u128::from(bin.to_ns - bin.from_ns) + 1;
        let (mut from_ns, mut given) = (bin.from_ns, 0);
        while given < count {
            let end_ns = (from_ns / step_ns).saturating_add(1).saturating_mul(step_ns).min(bin.to_ns.saturating_add(1));
            let part = u128::from(count) * u128::from(end_ns - bin.from_ns) + width_ns / 2;
            let until = u64::try_from(part / width_ns).unwrap_or(count);
            let until = if end_ns > bin.to_ns { count } else { until.min(count) };
            place(from_ns, until - given);
            (from_ns, given) = (end_ns, until);
        }
    }
    if let Some(unplaced) = histogram.unplaced() {
        let sum_ns = on_grid.sum_ns().saturating_add(histogram.sum_ns().saturating_sub(placed_ns));
        on_grid.add_unplaced(Unplaced { count: unplaced.count, from_ns: cell_ns(unplaced.from_ns) });
        on_grid.set_sum_ns(sum_ns);
    }
    on_grid
}

/// Two groups as they were if the steps had been against a claim: A's samples, or B's, later by a step.
pub(super) struct Against {
    runs: [Vec<Record>; 2],
}

impl Against {
    /// Against the claim that B is above A (`1`), or below (`-1`).
    pub(super) fn claim(direction: i8, groups: [&Group<'_>; 2], latency: &str, steps: Steps) -> Self {
        let later = usize::from(direction < 0);
        let by_ns = i64::try_from(steps.common_ns).unwrap_or(i64::MAX);
        let all = |side: usize| -> Vec<Record> {
            let moved = |run: &&Record| {
                let mut run = (*run).clone();
                if side == later {
                    clock_error::move_all(&mut run, latency, by_ns);
                }
                run
            };
            groups[side].runs.iter().map(moved).collect()
        };
        Self { runs: [all(0), all(1)] }
    }

    pub(super) fn groups(&self) -> [Group<'_>; 2] {
        [0, 1].map(|side| Group { name: String::new(), runs: self.runs[side].iter().collect() })
    }
}
