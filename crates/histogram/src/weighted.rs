//! The innermost loop of a comparison, here because this crate is compiled for speed.

/// The sum of counts, each as often as its weight says; where one list is longer, its rest is left out. In four sums that do not
/// wait for each other.
#[must_use]
pub fn weighted_sum(counts: &[f64], weights: &[f64]) -> f64 {
    let length = counts.len().min(weights.len());
    let (counts, weights) = (counts[..length].chunks_exact(4), weights[..length].chunks_exact(4));
    let rest: f64 = counts.remainder().iter().zip(weights.remainder()).map(|(count, weight)| count * weight).sum();
    let mut sums = [0.0; 4];
    for (count, weight) in counts.zip(weights) {
        for lane in 0..4 {
            sums[lane] += count[lane] * weight[lane];
        }
    }
    rest + sums.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_is_taken_as_often_as_its_weight_says() {
        for length in 0..11_u32 {
            let counts: Vec<f64> = (0..length).map(f64::from).collect();
            let weights: Vec<f64> = (0..length).map(|place| f64::from(place % 3)).collect();
            let sum: u32 = (0..length).map(|place| place * (place % 3)).sum();
            assert!((weighted_sum(&counts, &weights) - f64::from(sum)).abs() < 1e-9, "{length}");
        }
        assert!((weighted_sum(&[2.0; 9], &[3.0; 5]) - 30.0).abs() < 1e-9);
    }
}
