//! A histogram in one line of block characters.

use record::Bin;
use units::approx_f64;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Bins over a logarithmic axis from `low_ns` to `high_ns`, the height the logarithm of the count; an empty column is
/// a space and any sample is visible.
pub(crate) fn histogram(bins: &[Bin], low_ns: u64, high_ns: u64, width: usize) -> String {
    let (low, high) = (approx_f64(low_ns.max(1)).ln(), approx_f64(high_ns.max(2)).ln());
    if width == 0 || high <= low {
        return String::new();
    }
    let columns = u64::try_from(width).unwrap_or(1);
    let mut counts = vec![0_u64; width];
    for bin in bins {
        let place = (approx_f64(bin.to_ns.max(1)).ln() - low) / (high - low) * approx_f64(columns);
        let column = usize::try_from(units::round_u64((place - 0.5).max(0.0)).min(columns - 1)).unwrap_or(0);
        counts[column] = counts[column].saturating_add(bin.count);
    }
    let tallest = approx_f64(counts.iter().copied().max().unwrap_or(0).max(1)).ln_1p();
    counts
        .iter()
        .map(|&count| {
            if count == 0 {
                return ' ';
            }
            let height = approx_f64(count).ln_1p() / tallest * 7.0;
            BLOCKS[usize::try_from(units::round_u64(height)).unwrap_or(0).min(7)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_spike_stays_visible_beside_a_million() {
        let bin = |at, count| Bin { from_ns: at, to_ns: at, count };
        let line = histogram(&[bin(1_000, 1_000_000), bin(1_000_000, 1)], 1_000, 1_000_000, 10);
        assert_eq!(line.chars().count(), 10);
        assert_eq!((line.chars().next(), line.chars().last()), (Some('█'), Some('▁')));
        assert!(line.chars().skip(1).take(8).all(|c| c == ' '));
    }

    #[test]
    fn odd_ranges_draw_nothing() {
        assert_eq!(histogram(&[], 5, 5, 10), "");
        assert_eq!(histogram(&[], 1, 9, 0), "");
    }
}
