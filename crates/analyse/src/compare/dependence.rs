//! How much neighbouring pieces of a run are alike, and how long a block has to be for that not to matter.

use super::float;

/// Alike beyond this, pieces of a run are one piece.
const MOST_ALIKE: f64 = 0.97;
/// The part of the variance of a block's mean that blocks of this length may leave out: what stands between blocks.
const LEFT_OUT: f64 = 0.25;

/// The correlation of neighbouring pieces, 0 where they are not alike, from several runs, each about its own mean.
///
/// The estimate from short runs is too small; it is corrected by Marriott and Pope's formula (Biometrika 41, 1954),
/// E(r) = f - (1 + 3 f) / n, where n is the pieces of a run.
pub(super) fn correlation(runs: &[Vec<f64>]) -> f64 {
    let (mut variance, mut covariance, mut pieces, mut counted) = (0.0, 0.0, 0_usize, 0_usize);
    for run in runs.iter().filter(|run| run.len() > 2) {
        let mean = run.iter().sum::<f64>() / float(run.len());
        variance += run.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        covariance += run.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        pieces += run.len();
        counted += 1;
    }
    if variance <= 0.0 || counted == 0 {
        return 0.0;
    }
    let raw = covariance / variance;
    let of_a_run = float(pieces) / float(counted);
    let corrected = if of_a_run > 6.0 { (of_a_run * raw + 1.0) / (of_a_run - 3.0) } else { raw };
    corrected.clamp(0.0, MOST_ALIKE)
}

/// Pieces to a block.
///
/// Where the correlation falls by the same factor with each step (an autoregressive process of first order), the mean of a
/// block of L pieces lacks about 2 f / ((1 - f²) L) of the variance that an endless run would give it (Box, Jenkins and
/// Reinsel, "Time Series Analysis", section 2.1). The block is as long as keeps that below [`LEFT_OUT`].
pub(super) fn block_pieces(correlation: f64) -> usize {
    let wanted = 2.0 * correlation / (1.0 - correlation * correlation) / LEFT_OUT;
    usize::try_from(units::round_u64(wanted)).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_pieces_stand_alone_and_alike_ones_together() {
        assert_eq!(block_pieces(0.0), 1);
        assert_eq!(block_pieces(0.1), 1);
        assert_eq!(block_pieces(0.5), 5);
        assert!(block_pieces(MOST_ALIKE) > 100);
    }

    #[test]
    fn a_steady_rise_is_seen_and_an_alternation_is_not_taken_for_one() {
        let rising: Vec<f64> = (0..60).map(f64::from).collect();
        assert!(correlation(&[rising]) > 0.9);
        let alternating: Vec<f64> = (0..60).map(|i| f64::from(i % 2)).collect();
        assert!(correlation(&[alternating]) < 1e-9);
        assert!(correlation(&[vec![3.0; 60], Vec::new()]) < 1e-9);
    }
}
