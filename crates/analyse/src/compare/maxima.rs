//! Worst cases, compared by the maxima of repetitions.
//!
//! One maximum says nothing of how the next would come out, and no resampling of it can: a bootstrap never draws a value
//! beyond the largest that was seen, so its interval for a maximum is wrong at any number of samples (Bickel and Freedman,
//! "Some Asymptotic Theory for the Bootstrap", 1981). What can be compared is how the maxima of repetitions rank.

use super::exchange::smallest_p;
use super::verdict::level_text;

/// Schedules per unit may differ between the sides by this factor: a maximum of more is larger by that alone.
const MOST_UNEVEN: f64 = 1.1;
/// More repetitions than this are not proposed.
const MOST_PROPOSED: usize = 1_000;

/// The middle of some values, 0 where there are none.
pub(super) fn median(values: &[u64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let at = |place: usize| sorted.get(place).map_or(0.0, |&value| units::approx_f64(value));
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { at(half) } else { f64::midpoint(at(half.saturating_sub(1)), at(half)) }
}

/// Whether maxima of units with so many schedules may be held against each other.
pub(super) fn comparable(a_schedules: &[u64], b_schedules: &[u64]) -> bool {
    let (a, b) = (median(a_schedules), median(b_schedules));
    a > 0.0 && b > 0.0 && (a / b).max(b / a) <= MOST_UNEVEN
}

/// How many more units each side needs before a p-value of at most `level` is possible; 0 where it is.
pub(super) fn more_needed(of_a: usize, of_b: usize, level: f64) -> usize {
    (0..MOST_PROPOSED).find(|more| smallest_p(of_a + more, of_b + more) <= level).unwrap_or(MOST_PROPOSED)
}

/// What to say where the units are too few: `None` where they are enough.
pub(super) fn too_few(of_a: usize, of_b: usize, level: f64, what: &str) -> Option<String> {
    let more = more_needed(of_a, of_b, level);
    (more > 0).then(|| {
        format!(
            "with {of_a} and {of_b} {what} no p below {} (two-sided) is possible: the smallest is {:.2}; {more} more on \
             each side would allow it",
            level_text(level),
            smallest_p(of_a, of_b)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_and_three_can_show_nothing_and_four_and_four_can() {
        assert_eq!(more_needed(3, 3, 0.05), 1);
        assert_eq!(more_needed(4, 4, 0.05), 0);
        assert_eq!(more_needed(1, 1, 0.05), 3);
        assert_eq!(more_needed(4, 4, 0.01), 1);
        let said = too_few(3, 3, 0.05, "repetitions").unwrap();
        assert!(said.starts_with("with 3 and 3 repetitions no p below 0.05 (two-sided) is possible"), "{said}");
        assert!(said.contains("1 more on each side would allow it"), "{said}");
        assert_eq!(too_few(4, 4, 0.05, "repetitions"), None);
    }

    #[test]
    fn maxima_of_unequal_numbers_of_schedules_are_not_compared() {
        assert!(comparable(&[1_000, 1_005], &[1_050]));
        assert!(!comparable(&[1_000, 1_000], &[1_200, 1_200]));
        assert!(!comparable(&[], &[1]));
    }

    #[test]
    fn medians() {
        assert_eq!(
            [median(&[3, 1, 2]), median(&[4, 1, 2, 3]), median(&[])].map(|median| units::round_u64(median * 10.0)),
            [20, 25, 0]
        );
    }
}
