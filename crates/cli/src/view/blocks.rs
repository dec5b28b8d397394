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
    drawn(&counts)
}

/// Counts as blocks, the height the logarithm of the count.
fn drawn(counts: &[u64]) -> String {
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

/// Magnitudes over time, each with its place from 0 to `span`, in so many columns: the height of each is the greatest in it. Nothing is a
/// space, and any magnitude is visible.
#[cfg(feature = "packet")]
pub(crate) fn over_time(points: &[(u64, u64)], span: u64, width: usize) -> String {
    let columns = u128::try_from(width).unwrap_or(1);
    let mut greatest: Vec<Option<u64>> = vec![None; width];
    for (place, magnitude) in points {
        let column = u128::from(*place) * columns / (u128::from(span) + 1);
        let column = usize::try_from(column).unwrap_or(usize::MAX);
        if let Some(greatest) = greatest.get_mut(column) {
            *greatest = (*greatest).max(Some(*magnitude));
        }
    }
    let highest = greatest.iter().flatten().copied().max().unwrap_or(0).max(1);
    let block = |magnitude: u64| {
        let height = u128::from(magnitude) * 7 / u128::from(highest);
        BLOCKS[usize::try_from(height).unwrap_or(0).min(7)]
    };
    greatest.into_iter().map(|magnitude| magnitude.map_or(' ', block)).collect()
}

/// Differences from a period stand evenly below this, and by their logarithm above (ns).
const EVEN_BELOW_NS: f64 = 1_000.0;

/// Bins of distances about a period, `half` columns for each side of it with a `|` between: sooner to the left, later
/// to the right, both logarithmic and of one scale. A column from which on they are late by half a period or more is a
/// `×` where it has any.
pub(crate) fn about(bins: &[Bin], period_ns: u64, half: usize) -> String {
    let columns = approx_f64(u64::try_from(half).unwrap_or(1));
    let far = |ns: u64| (1.0 + approx_f64(ns) / EVEN_BELOW_NS).ln();
    let furthest = bins.iter().map(|bin| bin.from_ns.abs_diff(period_ns).max(bin.to_ns.abs_diff(period_ns))).max();
    let Some(scale) = furthest.map(|ns| far(ns.max(1))).filter(|_| half > 0) else { return String::new() };
    let mut counts = vec![0_u64; 2 * half];
    let mut late = vec![false; 2 * half];
    for bin in bins {
        let at_ns = bin.from_ns.midpoint(bin.to_ns);
        let place = units::round_u64((far(at_ns.abs_diff(period_ns)) / scale * columns - 0.5).max(0.0));
        let place = usize::try_from(place).unwrap_or(0).min(half - 1);
        let column = if at_ns < period_ns { half - 1 - place } else { half + place };
        counts[column] = counts[column].saturating_add(bin.count);
        late[column] |= bin.count > 0 && bin.from_ns.saturating_sub(period_ns) >= period_ns / 2;
    }
    let mut line: Vec<char> = drawn(&counts).chars().collect();
    line.iter_mut().zip(late).filter(|(_, late)| *late).for_each(|(block, _)| *block = '×');
    line.insert(half, '|');
    line.into_iter().collect()
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
    fn what_is_late_by_half_a_period_is_marked_on_its_side() {
        let bin = |at, count| Bin { from_ns: at, to_ns: at, count };
        let line: Vec<char> =
            about(&[bin(998_000, 5), bin(1_000_000, 900), bin(1_499_000, 7), bin(3_100_000, 1)], 1_000_000, 12)
                .chars()
                .collect();
        assert_eq!((line.len(), line[12]), (25, '|'));
        assert_eq!((line[13], line[24]), ('█', '×'), "{line:?}");
        assert!(line[..12].iter().any(|c| *c != ' ') && line[0] == ' ', "one scale for both sides: {line:?}");
        assert_eq!(line.iter().filter(|c| **c == '×').count(), 1, "{line:?}");
    }

    #[cfg(feature = "packet")]
    #[test]
    fn the_greatest_of_each_stretch_of_time_is_drawn() {
        assert_eq!(over_time(&[(0, 10), (10, 80), (29, 20), (99, 40)], 99, 10), "▁█▂      ▄");
        assert_eq!(over_time(&[(0, 0), (50, 0)], 99, 2), "▁▁");
        assert_eq!(over_time(&[(0, u64::MAX)], u64::MAX, 3), "█  ");
        assert_eq!(over_time(&[], 9, 0), "");
    }

    #[test]
    fn odd_ranges_draw_nothing() {
        assert_eq!(about(&[], 1_000, 10), "");
        assert_eq!(about(&[Bin { from_ns: u64::MAX, to_ns: u64::MAX, count: 1 }], u64::MAX, 1), " |█");
        assert_eq!(about(&[Bin { from_ns: 5, to_ns: 5, count: 1 }], 0, 0), "");
        assert_eq!(histogram(&[], 5, 5, 10), "");
        assert_eq!(histogram(&[], 1, 9, 0), "");
    }
}
