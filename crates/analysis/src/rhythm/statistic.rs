//! How far events keep one phase of a period, and how probable that is by chance.
//!
//! The null is the run's own: each period keeps the pattern of its events, and what is drawn by chance is where in the
//! period that pattern begins. Bursts, pauses and a rate that changes over the run are therefore no rhythm.

use crate::float;

/// How often each statistic is computed at a frequency: with these numbers of harmonics.
pub(super) const HARMONICS: [usize; 3] = [1, 4, 12];
const MOST_HARMONICS: usize = 12;
/// With several harmonics, fewer periods with events than these leave the chi-squared distribution.
const LEAST_CELLS: [usize; 3] = [8, 40, 120];
/// Parts of the period into which events may fall together.
const WIDTHS: [f64; 6] = [1.0 / 512.0, 1.0 / 128.0, 1.0 / 48.0, 1.0 / 20.0, 1.0 / 8.0, 1.0 / 3.0];

/// What the events say of one frequency.
#[derive(Clone, Copy, Debug)]
pub(super) struct Concentration {
    /// Natural logarithm of the probability by chance at this frequency alone.
    pub(super) log_p: f64,
    /// The sum over the harmonics, each normalized by what its own periods vary.
    pub(super) power: f64,
}

/// One moment with what it weighs among those of its period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// From the start of what is scanned (ns).
    pub(super) at_ns: f64,
    /// The latency (ns): the worst of a period stands for it.
    pub(super) latency_ns: u64,
}

/// Looks at one frequency (1/ns); `points` ascend.
pub(super) fn concentration(points: &[Point], frequency: f64, harmonics: usize) -> Concentration {
    let harmonics = harmonics.min(MOST_HARMONICS);
    let mut sums = [(0.0, 0.0); MOST_HARMONICS];
    let mut variances = [0.0; MOST_HARMONICS];
    let mut cell_sums = [(0.0, 0.0); MOST_HARMONICS];
    let mut phases: Vec<f64> = Vec::with_capacity(points.len());
    let (mut cell, mut cell_worst_ns) = (f64::NEG_INFINITY, 0);
    let mut close = |cell_sums: &mut [(f64, f64); MOST_HARMONICS]| {
        for k in 0..harmonics {
            let (re, im) = std::mem::take(&mut cell_sums[k]);
            sums[k].0 += re;
            sums[k].1 += im;
            variances[k] += re * re + im * im;
        }
    };
    for point in points {
        let turns = point.at_ns * frequency;
        let (whole, phase) = (turns.floor(), turns - turns.floor());
        // Whole turns are compared as what they are: integers.
        if whole > cell {
            close(&mut cell_sums);
            (cell, cell_worst_ns) = (whole, 0);
            phases.push(phase);
        }
        if point.latency_ns >= cell_worst_ns {
            cell_worst_ns = point.latency_ns;
            if let Some(last) = phases.last_mut() {
                *last = phase;
            }
        }
        let (sin, cos) = (std::f64::consts::TAU * phase).sin_cos();
        let (mut re, mut im) = (cos, sin);
        for sum in cell_sums.iter_mut().take(harmonics) {
            sum.0 += re;
            sum.1 += im;
            (re, im) = (re * cos - im * sin, re * sin + im * cos);
        }
    }
    close(&mut cell_sums);
    let each = |k: usize| 2.0 * (sums[k].0 * sums[k].0 + sums[k].1 * sums[k].1) / f64::max(variances[k], 1e-9);
    let mut log_p = together(&mut phases);
    let mut power = 0.0;
    let mut taken = 0;
    for (at, &wanted) in HARMONICS.iter().enumerate().filter(|(_, wanted)| **wanted <= harmonics) {
        power += (taken..wanted).map(each).sum::<f64>();
        taken = wanted;
        if phases.len() >= LEAST_CELLS[at] {
            log_p = log_p.min(log_chi_squared_above(power, wanted));
        }
    }
    // The best of the four is taken.
    Concentration { log_p: (log_p + 4.0_f64.ln()).min(0.0), power }
}

/// The probability that so many of these phases, drawn evenly, lie within one part of the period: a bound.
fn together(phases: &mut [f64]) -> f64 {
    phases.sort_unstable_by(f64::total_cmp);
    let count = phases.len();
    if count < 3 {
        return 0.0;
    }
    let mut least = 0.0_f64;
    for width in WIDTHS {
        let most = most_within(phases, width);
        let (others, found) = (float(count - 1), float(most - 1));
        // Each phase can be the first of them; and a narrower part is met by more of the frequencies nearby.
        let log_p = float(count).ln() - width.ln() + log_binomial_above(others, found, width);
        least = least.min(log_p + float(WIDTHS.len()).ln());
    }
    least
}

/// The most of the sorted `phases` (0 to 1) within a part of that width, around the end of the period too.
fn most_within(phases: &[f64], width: f64) -> usize {
    let (mut to, mut most) = (0, 0);
    for from in 0..phases.len() {
        let last = phases[from] + width;
        while to < from + phases.len() && phases[to % phases.len()] + float(to / phases.len()) <= last {
            to += 1;
        }
        most = most.max(to - from);
    }
    most
}

/// Bound of the logarithm of the probability of `found` or more of `others` trials that each succeed with `share`
/// (Chernoff).
#[must_use]
pub fn log_binomial_above(others: f64, found: f64, share: f64) -> f64 {
    let seen = found / others;
    if seen <= share {
        return 0.0;
    }
    let term = |seen: f64, share: f64| if seen > 0.0 { seen * (seen / share).ln() } else { 0.0 };
    -others * (term(seen, share) + term(1.0 - seen, 1.0 - share))
}

/// Logarithm of the probability that a chi-squared number of `2 * harmonics` degrees of freedom exceeds `value`.
pub(super) fn log_chi_squared_above(value: f64, harmonics: usize) -> f64 {
    let half = value / 2.0;
    // The finite sum for an even number of degrees, scaled by its last term.
    let (mut term, mut sum) = (1.0, 1.0);
    for k in (1..harmonics).rev() {
        term *= float(k) / half.max(1e-12);
        sum += term;
    }
    let log_last = float(harmonics - 1) * half.max(1e-12).ln() - (1..harmonics).map(|k| float(k).ln()).sum::<f64>();
    (sum.ln() + log_last - half).min(0.0)
}

/// Where most of the points lie together: the part of the period that is least probable by chance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Its middle (0 to 1).
    pub(super) middle: f64,
    /// Its width (0 to 1).
    pub(super) width: f64,
}

/// The part of the period in which the points lie together; at least `least_width` wide.
pub(super) fn part(points: &[Point], frequency: f64, least_width: f64) -> Part {
    let mut phases: Vec<f64> = points.iter().map(|point| (point.at_ns * frequency).rem_euclid(1.0)).collect();
    phases.sort_unstable_by(f64::total_cmp);
    let count = float(phases.len());
    let mut best = (0.0, 0.5, 1.0_f64);
    for width in WIDTHS.into_iter().map(|width| width.max(least_width)).filter(|width| *width < 0.5) {
        let most = most_within(&phases, width);
        let log_p = log_binomial_above(count, float(most), width);
        if log_p < best.0 {
            let from = (0..phases.len()).find(|&from| {
                let last = phases[(from + most - 1) % phases.len()] + float((from + most - 1) / phases.len());
                last - phases[from] <= width
            });
            let middle = from.map_or(0.5, |from| {
                let last = phases[(from + most - 1) % phases.len()] + float((from + most - 1) / phases.len());
                (phases[from] + last) / 2.0
            });
            best = (log_p, middle.rem_euclid(1.0), width);
        }
    }
    Part { middle: best.1, width: best.2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chi_squared_tail_is_the_known_one() {
        for (value, harmonics, expected) in
            [(2.0, 1, 0.367_879_44_f64), (13.815_51, 1, 0.001), (20.0, 4, 0.010_336_05), (51.178_6, 12, 0.001)]
        {
            let found = log_chi_squared_above(value, harmonics).exp();
            assert!((found - expected).abs() < 1e-4 * expected, "{value} {harmonics}: {found}");
        }
        assert!(log_chi_squared_above(0.0, 12) <= 0.0);
    }

    #[test]
    fn phases_are_counted_around_the_end_of_the_period() {
        assert_eq!(most_within(&[0.01, 0.02, 0.5, 0.98, 0.99], 0.05), 4);
        assert_eq!(most_within(&[0.1, 0.3, 0.5], 0.05), 1);
        assert_eq!(most_within(&[0.1; 7], 0.05), 7);
        let at = |phase: f64| Point { at_ns: phase, latency_ns: 1 };
        let found = part(&[at(0.01), at(1.02), at(2.5), at(2.98), at(3.99)], 1.0, 0.06);
        assert!((found.middle - 0.0).abs() < 0.01 || (found.middle - 1.0).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn a_burst_is_one_witness() {
        // A hundred events within one period of three, and one in each of the others.
        let mut points: Vec<Point> =
            (0..100_u32).map(|n| Point { at_ns: f64::from(n) * 1e-4, latency_ns: 1 }).collect();
        points.extend([Point { at_ns: 1.5, latency_ns: 1 }, Point { at_ns: 2.8, latency_ns: 1 }]);
        assert!(concentration(&points, 1.0, 12).log_p > -1.0);
        let steady: Vec<Point> = (0..100_u32).map(|n| Point { at_ns: f64::from(n), latency_ns: 1 }).collect();
        assert!(concentration(&steady, 1.0, 12).log_p < -80.0);
    }
}
