//! Pairs the pulses of two nodes and computes how far they are apart. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use units::approx_f64_i64;

use super::LABELS;
use super::trace::{Log, Pulse};

/// Default window (ns): pulses farther apart than the window are not paired.
pub const DEFAULT_WINDOW_NS: i64 = 500_000_000;

/// A pulse of node a and the matching pulse of node b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// Label of both pulses (0 to 127).
    pub label: u8,
    /// When node a raised its line (ns of the host's CLOCK_REALTIME).
    pub a_ns: i64,
    /// How much later node b raised its line (ns; negative: earlier).
    pub shift_ns: i64,
}

/// Counts of one node's pulses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeResult {
    /// Number of all pulses.
    pub pulses: usize,
    /// Pulses without a partner, although both nodes pulsed before and after.
    pub unmatched: usize,
    /// Pulses left out because another one with the same label was nearer than two windows.
    pub ambiguous: usize,
    /// Writes to its port that were not part of a pulse.
    pub other_writes: usize,
    /// Time from pulse to pulse on the host's clock (ns), if no clock was stepped meanwhile. It is the slope of the
    /// closest line below all pulses' moments, since a pulse can be late but never early; absent with fewer than two
    /// pulses.
    pub period_ns: Option<f64>,
}

/// How much later node b acts than node a.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shift {
    /// Median (ns); for an even number the lower of the two middle values.
    pub median_ns: i64,
    /// Smallest shift (ns).
    pub min_ns: i64,
    /// Largest shift (ns).
    pub max_ns: i64,
}

/// Comparison of two nodes' pulses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// How far apart two paired pulses may be (ns).
    pub window_ns: i64,
    /// The pairs, in the order in which node a raised its line.
    pub pairs: Vec<Pair>,
    /// Counts of node a.
    pub a: NodeResult,
    /// Counts of node b.
    pub b: NodeResult,
}

/// Compares two nodes' pulses by the rule of [the module](super).
#[must_use]
pub fn compare(a: &Log, b: &Log, window_ns: i64) -> Comparison {
    let window_ns = window_ns.max(0);
    let (labeled_a, ambiguous_a) = by_label(&a.pulses, window_ns);
    let (labeled_b, ambiguous_b) = by_label(&b.pulses, window_ns);
    let mut pairs = Vec::new();
    for (label, times_a) in &labeled_a {
        let Some(times_b) = labeled_b.get(label) else { continue };
        for &a_ns in times_a {
            let Some(b_ns) = nearest(times_b, a_ns) else { continue };
            let shift_ns = b_ns.saturating_sub(a_ns);
            if nearest(times_a, b_ns) == Some(a_ns) && shift_ns.saturating_abs() <= window_ns {
                pairs.push(Pair { label: *label, a_ns, shift_ns });
            }
        }
    }
    pairs.sort_by_key(|pair| pair.a_ns);
    let common = span(&labeled_a).zip(span(&labeled_b)).map(|(a, b)| (a.0.max(b.0), a.1.min(b.1)));
    let node = |log: &Log, labeled: &Labeled, ambiguous, partnered: &BTreeSet<(u8, i64)>| {
        let inside = |at_ns: i64| common.is_some_and(|(first, last)| (first..=last).contains(&at_ns));
        let all = labeled.iter().flat_map(|(label, times)| times.iter().map(|at_ns| (*label, *at_ns)));
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
        a: node(a, &labeled_a, ambiguous_a, &partnered_a),
        b: node(b, &labeled_b, ambiguous_b, &partnered_b),
        pairs,
    }
}

/// The moments (ns) of each label, in ascending order.
type Labeled = BTreeMap<u8, Vec<i64>>;

/// The first and the last moment.
fn span(labeled: &Labeled) -> Option<(i64, i64)> {
    let all = || labeled.values().flatten().copied();
    all().min().zip(all().max())
}

/// The moments of each label in ascending order, without the ambiguous ones, and how many are ambiguous.
fn by_label(pulses: &[Pulse], window_ns: i64) -> (Labeled, usize) {
    let mut labeled = Labeled::new();
    for pulse in pulses {
        labeled.entry(pulse.label).or_default().push(pulse.at_ns);
    }
    let mut ambiguous = 0;
    for times in labeled.values_mut() {
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
    labeled.retain(|_, times| !times.is_empty());
    (labeled, ambiguous)
}

/// The nearest of some moments in ascending order; of two equally near ones the earlier.
fn nearest(times: &[i64], at_ns: i64) -> Option<i64> {
    let after = times.partition_point(|time| *time < at_ns);
    let candidates = [after.checked_sub(1), Some(after)].into_iter().flatten().filter_map(|place| times.get(place));
    candidates.copied().min_by_key(|time| time.saturating_sub(at_ns).saturating_abs())
}

impl Comparison {
    /// How much later node b acts than node a; `None` without a pair.
    #[must_use]
    pub fn shift(&self) -> Option<Shift> {
        let mut shifts: Vec<i64> = self.pairs.iter().map(|pair| pair.shift_ns).collect();
        shifts.sort_unstable();
        Some(Shift { median_ns: median(&shifts)?, min_ns: *shifts.first()?, max_ns: *shifts.last()? })
    }

    /// How much more the pairs with an odd label are shifted than those with an even one (ns). It is the median
    /// difference between neighboring pairs, so that drift of the clocks cancels out. If every second pulse of node b
    /// is late by 5 ms on purpose (`punctual-proof inject pulse --alternate`), this is 5 ms. `None` if one kind is missing.
    #[must_use]
    pub fn alternation_ns(&self) -> Option<i64> {
        let is_odd = |pair: &Pair| pair.label % 2 == 1;
        let neighbors = self.pairs.windows(2).filter(|two| is_odd(&two[0]) != is_odd(&two[1]));
        let difference = |two: &[Pair]| {
            let (odd, even) = if is_odd(&two[0]) { (two[0], two[1]) } else { (two[1], two[0]) };
            odd.shift_ns.saturating_sub(even.shift_ns)
        };
        let mut differences: Vec<i64> = neighbors.map(difference).collect();
        differences.sort_unstable();
        median(&differences)
    }

    /// By how much node b's period is longer than node a's (ppm). If both pulse at the same interval, 100 means that
    /// node b's clock is slower than node a's by 100 ppm. `None` if a node has no period.
    #[must_use]
    pub fn drift_ppm(&self) -> Option<f64> {
        let (a_ns, b_ns) = self.a.period_ns.zip(self.b.period_ns)?;
        (a_ns > 0.0).then(|| (b_ns - a_ns) / a_ns * 1e6)
    }
}

/// The median of values in ascending order; for an even number the lower of the two middle values.
fn median(values: &[i64]) -> Option<i64> {
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// The time from pulse to pulse (ns); the labels number the pulses modulo 128.
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
    slope_below(&points)
}

/// The slope of the line below all points with the smallest sum of vertical distances to them: the edge of the lower
/// convex hull at the points' mean. Clock skew is estimated like this if delays can only be added (Moon, Skelly and
/// Towsley, "Estimation and Removal of Clock Skew from Network Delay Measurements", INFOCOM 1999). The points must be
/// in order.
fn slope_below(points: &[(i64, i64)]) -> Option<f64> {
    let mut hull: Vec<(i64, i64)> = Vec::new();
    for &point in points {
        if hull.last().is_some_and(|last| last.0 == point.0) {
            if hull.last().is_some_and(|last| last.1 <= point.1) {
                continue;
            }
            hull.pop();
        }
        while let [.., one, other] = hull.as_slice() {
            let across = |to: &(i64, i64)| i128::from(to.0) - i128::from(one.0);
            let up = |to: &(i64, i64)| i128::from(to.1) - i128::from(one.1);
            if up(other) * across(&point) < up(&point) * across(other) {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    let count = i128::try_from(points.len()).ok()?;
    let sum: i128 = points.iter().map(|point| i128::from(point.0)).sum();
    let edge = hull.windows(2).find(|edge| i128::from(edge[1].0) * count >= sum)?;
    let (across, up) = (edge[1].0.checked_sub(edge[0].0)?, edge[1].1.checked_sub(edge[0].1)?);
    Some(approx_f64_i64(up) / approx_f64_i64(across))
}

#[cfg(test)]
mod tests;
