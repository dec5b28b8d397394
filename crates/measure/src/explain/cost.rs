//! What explaining costs, by four pieces of a run: without and with the recorder.

use record::{ExplainingCost, Histogram};
use units::approx_f64;

/// The cost by four pieces: without, with, with, without; `None` where one of them has no sample.
pub(crate) fn cost_of_pieces(pieces: &[Histogram; 4]) -> Option<ExplainingCost> {
    let [first, second, third, fourth] = pieces;
    let both = |one: &Histogram, other: &Histogram| {
        let mut both = one.clone();
        both.merge(other);
        both
    };
    let (without, with) = (both(first, fourth), both(second, third));
    let differ = |one: &Histogram, other: &Histogram| Some((one.mean_ns()? - other.mean_ns()?).abs());
    Some(ExplainingCost {
        median_without_ns: without.quantile_ns(0.5)?,
        median_with_ns: with.quantile_ns(0.5)?,
        mean_without_ns: without.mean_ns()?,
        mean_with_ns: with.mean_ns()?,
        mean_differs_ns: differ(first, fourth)?.max(differ(second, third)?),
        samples: (without.count() + with.count()) / 2,
    })
}

/// Whether it costs more than it may: a tenth of the median, or a microsecond of the mean beyond what equal pieces
/// differ by.
#[must_use]
pub(crate) fn is_dear(cost: &ExplainingCost) -> bool {
    let median_ns = approx_f64(cost.median_with_ns.saturating_sub(cost.median_without_ns));
    median_ns > 0.1 * approx_f64(cost.median_without_ns)
        || cost.mean_with_ns - cost.mean_without_ns > 1_000.0 + cost.mean_differs_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(latencies_ns: [u64; 4]) -> ExplainingCost {
        cost_of_pieces(&latencies_ns.map(|ns| {
            let mut histogram = Histogram::new();
            histogram.record_n(ns, 100);
            histogram
        }))
        .unwrap()
    }

    #[test]
    fn the_cost_is_with_less_without_and_what_equal_pieces_differ_by_is_told() {
        let cost = pieces([8_000, 8_400, 8_400, 8_000]);
        assert_eq!((cost.median_without_ns, cost.samples), (8_000, 200));
        assert!(cost.median_with_ns.abs_diff(8_400) < 10, "{cost:?}");
        assert!(!is_dear(&cost));
        assert!(is_dear(&pieces([8_000, 9_000, 9_000, 8_000])), "an eighth of the median");
        assert!(is_dear(&pieces([50_000, 52_000, 52_000, 50_000])), "two microseconds");
        // Where equal pieces differ as much, nothing is shown of the mean.
        assert!(!is_dear(&pieces([50_000, 52_000, 50_000, 48_000])));
    }
}
