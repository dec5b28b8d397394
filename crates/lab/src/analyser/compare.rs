//! Which pulses of two nodes belong together, and how far they are apart. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use units::approx_f64_i64;

use super::LABELS;
use super::trace::{Log, Pulse};

/// Pulses farther apart than this do not belong together, unless another window is asked for (ns).
pub const DEFAULT_WINDOW_NS: i64 = 500_000_000;

/// How many pairs a slope is drawn through, at most: the work grows with the square.
const MAX_SLOPE_POINTS: usize = 500;

/// Two pulses that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// Their label.
    pub label: u8,
    /// When node a raised its line (ns of the host's CLOCK_REALTIME).
    pub a_ns: i64,
    /// How much later node b did (ns; negative where earlier).
    pub shift_ns: i64,
}

/// What became of one node's pulses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeResult {
    /// All of them.
    pub pulses: usize,
    /// Without partner, though both nodes pulsed before and after it.
    pub unmatched: usize,
    /// Set aside, since another one of its label was nearer than two windows.
    pub ambiguous: usize,
    /// Writes to its port that were no part of a pulse.
    pub other_writes: usize,
    /// From pulse to pulse by the host's clock (ns): the median slope over all pairs of the node's own pulses (Theil and
    /// Sen), by their labels, so that late and lost ones do not matter; absent below two pulses.
    pub period_ns: Option<f64>,
}

/// How much later node b acts than node a.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shift {
    /// The median, of an even number the lower one (ns).
    pub median_ns: i64,
    /// The least (ns).
    pub min_ns: i64,
    /// The most (ns).
    pub max_ns: i64,
}

/// Two nodes' pulses side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// How far apart two pulses may be that belong together (ns).
    pub window_ns: i64,
    /// Those that do, in the order in which node a raised them.
    pub pairs: Vec<Pair>,
    /// Node a's.
    pub a: NodeResult,
    /// Node b's.
    pub b: NodeResult,
}

/// Puts two nodes' pulses side by side, by the rule of [the module](super).
#[must_use]
pub fn compare(a: &Log, b: &Log, window_ns: i64) -> Comparison {
    let window_ns = window_ns.max(0);
    let (labelled_a, ambiguous_a) = by_label(&a.pulses, window_ns);
    let (labelled_b, ambiguous_b) = by_label(&b.pulses, window_ns);
    let mut pairs = Vec::new();
    for (label, times_a) in &labelled_a {
        let Some(times_b) = labelled_b.get(label) else { continue };
        for &a_ns in times_a {
            let Some(b_ns) = nearest(times_b, a_ns) else { continue };
            let shift_ns = b_ns.saturating_sub(a_ns);
            if nearest(times_a, b_ns) == Some(a_ns) && shift_ns.saturating_abs() <= window_ns {
                pairs.push(Pair { label: *label, a_ns, shift_ns });
            }
        }
    }
    pairs.sort_by_key(|pair| pair.a_ns);
    let common = span(&labelled_a).zip(span(&labelled_b)).map(|(a, b)| (a.0.max(b.0), a.1.min(b.1)));
    let node = |log: &Log, labelled: &Labelled, ambiguous, partnered: &BTreeSet<(u8, i64)>| {
        let inside = |at_ns: i64| common.is_some_and(|(first, last)| (first..=last).contains(&at_ns));
        let all = labelled.iter().flat_map(|(label, times)| times.iter().map(|at_ns| (*label, *at_ns)));
        NodeResult {
            pulses: log.pulses.len(),
            unmatched: all.filter(|pulse| inside(pulse.1) && !partnered.contains(pulse)).count(),
            ambiguous,
            other_writes: log.other_writes,
            period_ns: period_ns(&log.pulses),
        }
    };
    let partnered_a = pairs.iter().map(|pair| (pair.label, pair.a_ns)).collect();
    let partnered_b = pairs.iter().map(|pair| (pair.label, pair.a_ns.saturating_add(pair.shift_ns))).collect();
    Comparison {
        window_ns,
        a: node(a, &labelled_a, ambiguous_a, &partnered_a),
        b: node(b, &labelled_b, ambiguous_b, &partnered_b),
        pairs,
    }
}

/// The moments of each label, in order.
type Labelled = BTreeMap<u8, Vec<i64>>;

/// The first and the last moment.
fn span(labelled: &Labelled) -> Option<(i64, i64)> {
    let all = || labelled.values().flatten().copied();
    all().min().zip(all().max())
}

/// The moments of each label in order, without those that could be taken for each other, and how many these are.
fn by_label(pulses: &[Pulse], window_ns: i64) -> (Labelled, usize) {
    let mut labelled = Labelled::new();
    for pulse in pulses {
        labelled.entry(pulse.label).or_default().push(pulse.at_ns);
    }
    let mut ambiguous = 0;
    for times in labelled.values_mut() {
        times.sort_unstable();
        let close = |one: i64, other: i64| other.saturating_sub(one) <= window_ns.saturating_mul(2);
        let clear: Vec<i64> = (0..times.len())
            .filter(|&place| {
                let before = place.checked_sub(1).is_some_and(|before| close(times[before], times[place]));
                let after = times.get(place + 1).is_some_and(|after| close(times[place], *after));
                !before && !after
            })
            .map(|place| times[place])
            .collect();
        ambiguous += times.len() - clear.len();
        *times = clear;
    }
    labelled.retain(|_, times| !times.is_empty());
    (labelled, ambiguous)
}

/// The nearest of some moments in order; of two as near the earlier one.
fn nearest(times: &[i64], at_ns: i64) -> Option<i64> {
    let after = times.partition_point(|time| *time < at_ns);
    let candidates = [after.checked_sub(1), Some(after)].into_iter().flatten().filter_map(|place| times.get(place));
    candidates.copied().min_by_key(|time| time.saturating_sub(at_ns).saturating_abs())
}

impl Comparison {
    /// How far the nodes are apart; `None` without a pair.
    #[must_use]
    pub fn shift(&self) -> Option<Shift> {
        let mut shifts: Vec<i64> = self.pairs.iter().map(|pair| pair.shift_ns).collect();
        shifts.sort_unstable();
        let median_ns = *shifts.get(shifts.len().checked_sub(1)? / 2)?;
        Some(Shift { median_ns, min_ns: *shifts.first()?, max_ns: *shifts.last()? })
    }

    /// By how much the shift grows with time (ppm): the median slope over all pairs of pairs (Theil and Sen), which up
    /// to 29 % of late pulses do not move. Where node b's clock is slow by 100 ppm against node a's, this is 100; absent
    /// below two pairs.
    #[must_use]
    pub fn drift_ppm(&self) -> Option<f64> {
        let points = self.pairs.iter().map(|pair| (pair.a_ns, pair.shift_ns));
        median_slope(points.collect()).map(|slope| slope * 1e6)
    }
}

/// From pulse to pulse (ns): their labels count them, modulo 128.
fn period_ns(pulses: &[Pulse]) -> Option<f64> {
    let mut number: i64 = 0;
    let mut before: Option<u8> = None;
    let mut points = Vec::new();
    for pulse in pulses {
        if let Some(before) = before {
            number += i64::from((pulse.label + LABELS - before) % LABELS);
        }
        before = Some(pulse.label);
        points.push((number, pulse.at_ns));
    }
    median_slope(points)
}

/// The median of the slopes between any two points that do not stand above each other.
fn median_slope(points: Vec<(i64, i64)>) -> Option<f64> {
    let step = points.len().div_ceil(MAX_SLOPE_POINTS).max(1);
    let points: Vec<(i64, i64)> = points.into_iter().step_by(step).collect();
    let mut slopes = Vec::new();
    for (place, one) in points.iter().enumerate() {
        for other in &points[place + 1..] {
            let (across, up) = (other.0.saturating_sub(one.0), other.1.saturating_sub(one.1));
            if across != 0 {
                slopes.push(approx_f64_i64(up) / approx_f64_i64(across));
            }
        }
    }
    slopes.sort_by(f64::total_cmp);
    slopes.get(slopes.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests;
