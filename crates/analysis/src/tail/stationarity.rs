//! Whether the maxima of a run come from one stationary process, and how strongly neighbors are correlated.
//!
//! All tests use normal scores of the ranks, so that a heavy tail neither hides a change nor looks like one.

use distrs::Normal;

use super::blocks::Blocks;
use crate::dependence::{self, Dependence};
use crate::float;

/// Significance level below which a change is shown.
pub(super) const LEVEL: f64 = 0.01;
/// Upper bound for the correlation of neighbors; with a stronger one they show nothing about a change.
const MOST_CORRELATED: f64 = 0.9;
/// Share of the highest maxima, whose order in time is tested separately.
const HIGHEST: f64 = 0.2;
/// Number of equal parts of a run whose medians are reported.
const PARTS: usize = 12;
/// A periodic disturbance needs this many periods within the run before its effect is known.
pub(super) const LEAST_TURNS: usize = 10;

/// What the order of the maxima in time shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Order {
    pub(super) dependence: Dependence,
    /// Number of independent blocks with the same information.
    pub(super) independent: f64,
    /// The chance that the maxima of a stationary process wander as far as all maxima do.
    pub(super) level_p: f64,
    /// The same for the highest maxima.
    pub(super) highest_p: f64,
    /// Index of the first block after the point where the maxima change most.
    pub(super) change: usize,
    /// Whether the maxima are higher after that point.
    pub(super) rises: bool,
    /// Number of periods of a periodic disturbance within the run; `None` if none is shown.
    pub(super) turns: Option<usize>,
    /// Number of groups of neighbors among the highest maxima, and the number of these maxima.
    pub(super) clusters: (usize, usize),
    /// Medians of equal parts of the run: index of the first block, and the median (ns).
    pub(super) parts: Vec<(usize, f64)>,
}

/// Tests the order of the maxima in time.
pub(super) fn order(blocks: &Blocks) -> Order {
    let maxima = blocks.maxima();
    let scores = normal_scores(&maxima);
    let scores_by_run: Vec<Vec<f64>> =
        blocks.runs.iter().map(|run| scores.get(run.clone()).unwrap_or_default().to_vec()).collect();
    let dependence = dependence::dependence(&scores_by_run);
    let all = wander(&scores);
    let highest = wander(&highest(&maxima));
    Order {
        independent: float(maxima.len()) / dependence.time_pieces,
        dependence,
        level_p: all.p,
        highest_p: highest.p,
        change: if all.p <= highest.p { all.change } else { highest.change },
        rises: if all.p <= highest.p { all.rises } else { highest.rises },
        turns: turns(&scores),
        clusters: clusters(&maxima),
        parts: parts(&maxima),
    }
}

/// The chance that the values of a stationary process wander as far as these do.
pub(super) fn change_p(values: &[f64]) -> f64 {
    wander(&normal_scores(values)).p
}

/// The normal score of each value's rank; equal values share the mean of their ranks.
pub(super) fn normal_scores(values: &[f64]) -> Vec<f64> {
    let mut by_size: Vec<usize> = (0..values.len()).collect();
    by_size.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut scores = vec![0.0; values.len()];
    let mut first = 0;
    while first < by_size.len() {
        let value = values[by_size[first]];
        let equal = by_size[first..].iter().take_while(|&&at| values[at].total_cmp(&value).is_eq()).count();
        let place = float(first) + (float(equal) + 1.0) / 2.0;
        let score = Normal::ppf((place - 0.375) / (float(values.len()) + 0.25), 0.0, 1.0);
        by_size[first..first + equal].iter().for_each(|&at| scores[at] = score);
        first += equal;
    }
    scores
}

/// 1 for each of the highest maxima, 0 for the others.
fn highest(maxima: &[f64]) -> Vec<f64> {
    let mut sorted = maxima.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let from = units::round_u64(float(sorted.len()) * (1.0 - HIGHEST));
    let limit = sorted.get(usize::try_from(from).unwrap_or(0)).copied().unwrap_or(f64::INFINITY);
    maxima.iter().map(|&value| f64::from(u8::from(value >= limit))).collect()
}

/// The result of a range test of the cumulative sum.
struct Wander {
    p: f64,
    change: usize,
    rises: bool,
}

/// Compares the range of the cumulative sum of deviations from the mean with the range of a Brownian bridge (Lo,
/// "Long-Term Memory in Stock Market Prices", Econometrica 59, 1991). The long-run variance follows from the
/// correlation at lag 1 (Andrews and Monahan, Econometrica 60, 1992), so that correlation alone raises no alarm.
fn wander(values: &[f64]) -> Wander {
    let n = float(values.len());
    let mean = values.iter().sum::<f64>() / n.max(1.0);
    let centered: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let sum_of = |step: usize| centered.iter().zip(centered.iter().skip(step)).map(|(a, b)| a * b).sum::<f64>();
    let variance = sum_of(0) / n.max(1.0);
    if variance <= 0.0 || values.len() < 8 {
        return Wander { p: 1.0, change: 0, rises: false };
    }
    let raw = sum_of(1) / n / variance;
    let correlation = ((n * raw + 1.0) / (n - 3.0)).clamp(-0.5, MOST_CORRELATED);
    let long_run = variance * (1.0 + correlation) / (1.0 - correlation);
    let (mut sum, mut low, mut high) = (0.0_f64, (0.0_f64, 0), (0.0_f64, 0));
    for (value, place) in centered.iter().zip(1..) {
        sum += value;
        if sum < low.0 {
            low = (sum, place);
        }
        if sum > high.0 {
            high = (sum, place);
        }
    }
    let range = (high.0 - low.0) / (n * long_run).sqrt();
    let (change, rises) = if -low.0 > high.0 { (low.1, true) } else { (high.1, false) };
    Wander { p: beyond_range(range), change, rises }
}

/// The chance that the range of a Brownian bridge exceeds `range` (Kuiper, 1960).
pub(super) fn beyond_range(range: f64) -> f64 {
    if range < 0.4 {
        return 1.0;
    }
    let term = |step: f64| {
        let square = step * step * range * range;
        2.0 * (4.0 * square - 1.0) * (-2.0 * square).exp()
    };
    (1..=20).map(|step| term(f64::from(step))).sum::<f64>().clamp(0.0, 1.0)
}

/// Number of periods of the strongest periodic disturbance within the run, if it is significant: Fisher's test of the
/// largest ordinate of the periodogram ("Tests of significance in harmonic analysis", 1929). Each ordinate is divided
/// by what the correlation of neighbors alone would give.
fn turns(scores: &[f64]) -> Option<usize> {
    let n = scores.len();
    if n < 20 {
        return None;
    }
    let mean = scores.iter().sum::<f64>() / float(n);
    let centered: Vec<f64> = scores.iter().map(|score| score - mean).collect();
    let power = centered.iter().map(|value| value * value).sum::<f64>();
    let raw =
        centered.iter().zip(centered.iter().skip(1)).map(|(a, b)| a * b).sum::<f64>() / power.max(f64::MIN_POSITIVE);
    let correlation = raw.clamp(0.0, MOST_CORRELATED);
    let step = std::f64::consts::TAU / float(n);
    let circle: Vec<(f64, f64)> = (0..n).map(|at| (step * float(at)).sin_cos()).collect();
    let parts = (n - 1) / 2;
    let ordinates: Vec<f64> = (1..=parts)
        .map(|turns| {
            let (mut sine, mut cosine) = (0.0, 0.0);
            for (value, at) in centered.iter().zip(0..) {
                let (s, c) = circle[at * turns % n];
                sine += value * s;
                cosine += value * c;
            }
            let expected = 1.0 / (1.0 - 2.0 * correlation * (step * float(turns)).cos() + correlation * correlation);
            (sine * sine + cosine * cosine) / expected
        })
        .collect();
    let sum: f64 = ordinates.iter().sum();
    let (at, greatest) = ordinates.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
    let p = float(parts) * (1.0 - greatest / sum.max(f64::MIN_POSITIVE)).powf(float(parts) - 1.0);
    (p < LEVEL).then_some(at + 1)
}

/// The number of groups among the highest tenth of the maxima, and the number of these maxima. Maxima at most three
/// blocks apart belong to one group.
fn clusters(maxima: &[f64]) -> (usize, usize) {
    let mut by_size: Vec<usize> = (0..maxima.len()).collect();
    by_size.sort_by(|&a, &b| maxima[b].total_cmp(&maxima[a]));
    by_size.truncate((maxima.len() / 10).max(4));
    by_size.sort_unstable();
    let apart = by_size.windows(2).filter(|pair| pair[1] - pair[0] > 3).count();
    (apart + usize::from(!by_size.is_empty()), by_size.len())
}

/// For equal parts of the run, the index of the first block and the median maximum (ns).
fn parts(maxima: &[f64]) -> Vec<(usize, f64)> {
    let parts = PARTS.min(maxima.len());
    (0..parts)
        .map(|part| {
            let first = maxima.len() * part / parts;
            let mut own = maxima[first..maxima.len() * (part + 1) / parts].to_vec();
            own.sort_unstable_by(f64::total_cmp);
            (first, own.get(own.len() / 2).copied().unwrap_or(0.0))
        })
        .collect()
}
