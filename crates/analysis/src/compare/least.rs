//! How many repetitions a question takes before any answer is possible.
//!
//! Of all ways to deal n and n runs to two sides, C(2 n, n), one puts all the higher ones on the side of B, and one on that
//! of A. No test of runs has a smaller p-value than these ways are of all. Where several rows are judged together, each may
//! have extreme ways of its own, and all of them count against a row that differs alone.

use distrs::Normal;
use record::Measurement;

use super::exchange::{smallest_one_sided_p, smallest_p, ways};
use super::gate::{GateKind, GatePart};
use super::verdict::level_text;
use super::{BODY, float};

/// More repetitions than this are not proposed.
const MOST_PROPOSED: u32 = 1_000;
/// Up to so many repetitions the ways to deal runs out are counted; beyond, their number is as good as normal.
const MOST_COUNTED: usize = 40;

/// The rows that the body is judged by: quantiles and the mean, and of noise what is stolen in a second.
#[must_use]
pub fn body_rows(measurement: Measurement) -> usize {
    1 + BODY.len() + usize::from(measurement.kind().sampling.counts_by_time())
}

/// The least repetitions of each side with which a verdict at this level can show that worst cases (or rates beyond a
/// deadline) differ: all of one side are then higher than all of the other.
#[must_use]
pub fn least_runs_for_worst_case(level: f64) -> u32 {
    least_runs(2, level)
}

/// The least repetitions of each side with which a verdict at this level can show a row of the body that differs alone, in each run:
/// the other rows and the worst case have two extreme ways each. It does where the row differs by more than the runs of a side do.
#[must_use]
pub fn least_runs_for_body(level: f64, measurement: Measurement) -> u32 {
    least_runs(2 * (body_rows(measurement) + 1), level)
}

/// The least repetitions of each side with which a gate at this level can see what it asks for.
#[must_use]
pub fn least_runs_for_gate(kind: GateKind, part: GatePart, level: f64, measurement: Measurement) -> u32 {
    least_runs(against(kind, part, measurement), level)
}

/// Of all pairs of a run of each side, how many have to be ordered alike before a verdict at this level shows that worst
/// cases differ: of n and n runs `(n², n²)` where all are apart. Absent where even that shows nothing.
#[must_use]
pub fn pairs_to_show(repetitions: u32, level: f64) -> Option<(u64, u64)> {
    let n = usize::try_from(repetitions).ok()?;
    if n > MOST_COUNTED {
        // Mean n² / 2 and variance n² (2 n + 1) / 12; half a pair, since pairs are whole.
        let (pairs, runs) = (u64::from(repetitions) * u64::from(repetitions), f64::from(repetitions));
        let deviation = runs * ((2.0 * runs + 1.0) / 12.0).sqrt();
        let most_turned = runs * runs / 2.0 + Normal::ppf(level / 2.0, 0.0, 1.0) * deviation - 0.5;
        return Some((pairs - units::round_u64(most_turned.floor()).min(pairs), pairs));
    }
    let all = ways(2 * n, n);
    let mut up_to = 0.0;
    let mut most_turned = None;
    for (turned, count) in (0_u64..).zip(rank_sums(n)) {
        up_to += count;
        if 2.0 * up_to / all > level {
            break;
        }
        most_turned = Some(turned);
    }
    let pairs = (n * n) as u64;
    Some((pairs.saturating_sub(most_turned?), pairs))
}

/// In how many ways n runs of 2 n have 0, 1, 2, … pairs turned round (Mann and Whitney, 1947).
fn rank_sums(n: usize) -> Vec<f64> {
    // ways[k][u]: k runs chosen so far, u others were passed by those chosen after them.
    let mut ways = vec![vec![0.0; n * n + 1]; n + 1];
    ways[0][0] = 1.0;
    for place in 0..2 * n {
        for chosen in (0..n.min(place + 1)).rev() {
            let passed = place - chosen;
            if passed > n {
                continue;
            }
            for turned in (0..=n * n - passed.min(n * n)).rev() {
                ways[chosen + 1][turned + passed] += ways[chosen][turned];
            }
        }
    }
    ways.pop().unwrap_or_default()
}

/// Extreme ways that count against what a gate asks for. That one row is worse is sought in all of them; that none is has to
/// be shown of each by itself (Berger, "Multiparameter Hypothesis Testing and Acceptance Sampling", 1982).
fn against(kind: GateKind, part: GatePart, measurement: Measurement) -> usize {
    match (kind, part) {
        (GateKind::FailOnWorse, GatePart::Body) => body_rows(measurement),
        (GateKind::PassOnNotWorse, GatePart::Body) | (_, GatePart::WorstCase) => 1,
    }
}

/// Whether a gate with these units can see what it asks for.
pub(super) fn can_see(kind: GateKind, part: GatePart, units: [usize; 2], level: f64, measurement: Measurement) -> bool {
    float(against(kind, part, measurement)) * smallest_one_sided_p(units[0], units[1]) <= level
}

/// Whether a verdict by these units can show a row of the body that differs alone, however much.
pub(super) fn can_show_body(units: [usize; 2], level: f64, measurement: Measurement) -> bool {
    let extreme_ways = 2 * (body_rows(measurement) + 1);
    float(extreme_ways) * smallest_one_sided_p(units[0], units[1]) <= level
}

fn least_runs(extreme_ways: usize, level: f64) -> u32 {
    let p = |n: u32| float(extreme_ways) / ways(2 * n as usize, n as usize);
    (1..MOST_PROPOSED).find(|&n| p(n) <= level).unwrap_or(MOST_PROPOSED)
}

/// What to say where the units are too few for a verdict: `None` where they are enough.
pub(super) fn too_few(of_a: usize, of_b: usize, level: f64, what: &str) -> Option<String> {
    (smallest_p(of_a, of_b) > level).then(|| {
        format!(
            "with {of_a} and {of_b} {what} no p below {} (two-sided) is possible: the smallest is {:.2}; take at least {} of \
             each for a verdict",
            level_text(level),
            smallest_p(of_a, of_b),
            least_runs_for_worst_case(level)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_and_three_can_show_nothing_and_four_and_four_can() {
        assert_eq!([0.05, 0.01, 0.005, 0.01 / 13.0].map(least_runs_for_worst_case), [4, 5, 6, 7]);
        let said = too_few(3, 3, 0.05, "repetitions").unwrap();
        assert!(said.starts_with("with 3 and 3 repetitions no p below 0.05 (two-sided) is possible"), "{said}");
        assert!(said.ends_with("take at least 4 of each for a verdict"), "{said}");
        assert_eq!(too_few(4, 4, 0.05, "repetitions"), None);
    }

    #[test]
    fn several_rows_take_more_repetitions_than_one() {
        // 12 / C(2 n, n): 12 / 252 = 0.048, 12 / 924 = 0.013, 12 / 3432 = 0.0035.
        let body = |level| least_runs_for_body(level, Measurement::Wakeup);
        assert_eq!([0.05, 0.01, 0.005].map(body), [5, 7, 7]);
        assert_eq!([4, 5].map(|n| can_show_body([n, n], 0.05, Measurement::Wakeup)), [false, true]);
        let (fail, pass) = (GateKind::FailOnWorse, GateKind::PassOnNotWorse);
        let gate = |kind, part| least_runs_for_gate(kind, part, 0.05, Measurement::Wakeup);
        assert_eq!((gate(fail, GatePart::WorstCase), gate(fail, GatePart::Body)), (3, 5));
        assert_eq!((gate(pass, GatePart::WorstCase), gate(pass, GatePart::Body)), (3, 3));
        let sees = |kind, part, units| can_see(kind, part, units, 0.05, Measurement::Wakeup);
        assert!(sees(fail, GatePart::WorstCase, [3, 3]) && sees(pass, GatePart::Body, [4, 4]));
        assert!(!sees(fail, GatePart::Body, [4, 4]) && !sees(fail, GatePart::WorstCase, [1, 8]));
    }

    #[test]
    fn pairs_follow_the_tables_of_mann_and_whitney() {
        // Two-sided 5 %: the critical values of U are 0 for 4 and 4, 2 for 5 and 5, 13 for 8 and 8, 23 for 10 and 10.
        let turned = |n, level| pairs_to_show(n, level).map(|(needed, of)| of - needed);
        assert_eq!([4, 5, 8, 10].map(|n| turned(n, 0.05)), [Some(0), Some(2), Some(13), Some(23)]);
        assert_eq!(turned(8, 0.01), Some(7));
        assert_eq!(pairs_to_show(3, 0.05), None);
        // The exact distribution of 60 and 60 runs has 1,426 turned pairs too.
        assert_eq!(pairs_to_show(60, 0.05), Some((2_174, 3_600)));
        let all: f64 = rank_sums(6).iter().sum();
        assert!((all - ways(12, 6)).abs() < 1e-9, "{all}");
    }
}
