//! Shares in whole percent that add up to 100.

/// The share of each count in whole percent (largest remainders): they add up to 100 unless all counts are 0, and a larger
/// count never has the smaller percentage.
pub(crate) fn percentages(counts: &[u64]) -> Vec<u64> {
    let total: u128 = counts.iter().map(|count| u128::from(*count)).sum();
    if total == 0 {
        return vec![0; counts.len()];
    }
    let exact = |count: u64| u128::from(count) * 100;
    let mut percents: Vec<u64> =
        counts.iter().map(|count| u64::try_from(exact(*count) / total).unwrap_or(100)).collect();
    let mut by_remainder: Vec<usize> = (0..counts.len()).collect();
    by_remainder.sort_by_key(|at| std::cmp::Reverse((exact(counts[*at]) % total, counts[*at])));
    let left = 100 - percents.iter().sum::<u64>();
    for at in by_remainder.into_iter().take(usize::try_from(left).unwrap_or(0)) {
        percents[at] += 1;
    }
    percents
}

/// A percentage in words. What is not nothing is not called 0 %, and what is not all is not called 100 %.
pub(crate) fn words(percent: u64, samples: u64, total: u64) -> String {
    match percent {
        0 if samples > 0 => "<1 %".to_owned(),
        100.. if samples < total => ">99 %".to_owned(),
        percent => format!("{percent} %"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn percentages_add_up_to_a_hundred_and_keep_the_order(counts in prop::collection::vec(0_u64..5_000, 1..12)) {
            let percents = percentages(&counts);
            let any = counts.iter().any(|count| *count > 0);
            prop_assert_eq!(percents.iter().sum::<u64>(), if any { 100 } else { 0 });
            let total: u64 = counts.iter().sum();
            for (count, percent) in counts.iter().zip(&percents) {
                // Within one percent of the exact share.
                prop_assert!((percent * total).abs_diff(count * 100) < total.max(1));
                for (other, its) in counts.iter().zip(&percents) {
                    prop_assert!(count <= other || percent >= its);
                }
            }
        }
    }

    #[test]
    fn little_is_not_nothing_and_most_is_not_all() {
        let counts = [9_999, 1];
        let percents = percentages(&counts);
        assert_eq!((words(percents[0], 9_999, 10_000), words(percents[1], 1, 10_000)), (">99 %".into(), "<1 %".into()));
        assert_eq!(words(100, 5, 5), "100 %");
        assert_eq!(percentages(&[u64::MAX, u64::MAX]), [50, 50]);
    }
}
