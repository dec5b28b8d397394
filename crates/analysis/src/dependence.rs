//! How much neighboring pieces of a run are alike, and how long a block has to be for that not to matter.

use crate::float;

/// Alike beyond this, pieces of a run are one piece.
const MOST_ALIKE: f64 = 0.97;
/// The part of the variance of a block's mean that blocks may leave out, where the correlation falls by one factor a step.
const LEFT_OUT: f64 = 0.25;
/// The same, from the correlations of all steps.
const LEFT_OUT_OF_ALL: f64 = 0.2;
/// More than this is never put back: blocks that miss more are too few for any conclusion.
const MOST_LEFT_OUT: f64 = 0.5;
/// Correlations are summed up to this many correlation times (Sokal, "Monte Carlo Methods in Statistical Mechanics", 1989).
const WINDOW: f64 = 3.0;

/// What is known of how alike pieces are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dependence {
    /// The correlation of neighboring pieces, 0 to 1.
    pub(crate) correlation: f64,
    /// Pieces to a block.
    pub(crate) block_pieces: usize,
    /// The part of the variance that blocks leave out all the same, 0 to [`MOST_LEFT_OUT`].
    pub(crate) left_out: f64,
    /// How many pieces carry as much information as one independent piece: 1 + 2 Σ r(k), at least 1.
    pub(crate) time_pieces: f64,
}

/// From a number for each piece of several runs, each about its own mean.
///
/// The mean of a block of L pieces lacks about D / L of the variance that it would need to stand for an endless run, where
/// D = 2 Σ k r(k) / (1 + 2 Σ r(k)) and r(k) is the correlation of pieces k steps apart (Künsch, Annals of Statistics 17,
/// 1989). Two estimates of D are made, and the longer block is taken, since too short a block finds differences that are not
/// there: from the first step alone, as if the correlation fell by one factor a step, which is steady; and from all steps
/// up to the first that is not positive (Geyer, "Practical Markov Chain Monte Carlo", 1992), which sees what is slow and
/// hidden by the noise of short pieces.
pub(crate) fn dependence(runs: &[Vec<f64>]) -> Dependence {
    let alone = Dependence { correlation: 0.0, block_pieces: 1, left_out: 0.0, time_pieces: 1.0 };
    let runs: Vec<Vec<f64>> = runs.iter().filter(|run| run.len() > 2).map(|run| centered(run)).collect();
    let pieces: usize = runs.iter().map(Vec::len).sum();
    let variance = covariance(&runs, 0);
    if variance <= 0.0 {
        return alone;
    }
    let of_a_run = float(pieces) / float(runs.len());
    let raw = |step| covariance(&runs, step) / variance;
    // Marriott and Pope's correction for the mean being the run's own (Biometrika 41, 1954).
    let first = if of_a_run > 6.0 { (of_a_run * raw(1) + 1.0) / (of_a_run - 3.0) } else { raw(1) };
    let first = first.clamp(0.0, MOST_ALIKE);
    let by_factor = 2.0 * first / (1.0 - first * first);
    let (by_all, time) = missing(&raw, of_a_run);
    let wanted = (by_factor / LEFT_OUT).max(by_all / LEFT_OUT_OF_ALL);
    let block_pieces = usize::try_from(units::round_u64(wanted)).unwrap_or(usize::MAX).max(1);
    let left_out = (by_factor.max(by_all) / float(block_pieces)).min(MOST_LEFT_OUT);
    let time_pieces = time.max((1.0 + first) / (1.0 - first));
    Dependence { correlation: first, block_pieces, left_out, time_pieces }
}

/// D from the correlations of all steps, and the correlation time. The correlations of short runs are too small by about
/// the correlation time over the run's length: the time is estimated, and once more with that put back.
fn missing(raw: &dyn Fn(usize) -> f64, of_a_run: f64) -> (f64, f64) {
    let half = usize::try_from(units::round_u64(of_a_run / 2.0)).unwrap_or(0);
    let sums = |put_back: f64| {
        let (mut time, mut weighted) = (1.0, 0.0);
        for step in 1..half {
            let steps = float(step);
            let correlation = raw(step) * of_a_run / (of_a_run - steps) + put_back;
            if correlation <= 0.0 || steps >= WINDOW * time {
                break;
            }
            time += 2.0 * correlation;
            weighted += 2.0 * steps * correlation;
        }
        (time, weighted)
    };
    let (time, _) = sums(0.0);
    let (time, weighted) = sums(time / of_a_run);
    (weighted / time, time)
}

fn centered(run: &[f64]) -> Vec<f64> {
    let mean = run.iter().sum::<f64>() / float(run.len());
    run.iter().map(|value| value - mean).collect()
}

/// The sum over all pairs that many steps apart.
fn covariance(runs: &[Vec<f64>], step: usize) -> f64 {
    let of_run = |run: &Vec<f64>| run.iter().zip(run.iter().skip(step)).map(|(one, other)| one * other).sum::<f64>();
    runs.iter().map(of_run).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rise_is_one_piece_and_an_alternation_many() {
        let rising: Vec<f64> = (0..60).map(f64::from).collect();
        let found = dependence(&[rising]);
        assert!(found.correlation > 0.9 && found.block_pieces > 30, "{found:?}");
        let alternating: Vec<f64> = (0..60).map(|i| f64::from(i % 2)).collect();
        assert_eq!(
            dependence(&[alternating]),
            Dependence { correlation: 0.0, block_pieces: 1, left_out: 0.0, time_pieces: 1.0 }
        );
        assert_eq!(dependence(&[vec![3.0; 60], Vec::new()]).block_pieces, 1);
    }

    #[test]
    fn a_slow_wave_below_noise_is_seen() {
        // A wave of twenty pieces, and noise of the same size that alternates in no order.
        let noise = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 16) / 65_536.0 - 0.5;
        let wave: Vec<f64> =
            (0..120).map(|i| 0.5 * (f64::from(i) / 20.0 * std::f64::consts::TAU).sin() + noise(i)).collect();
        let found = dependence(&[wave]);
        assert!(found.block_pieces >= 8, "{found:?}");
    }
}
