//! How often a span as long as a claim's horizon exceeds its limit. Bursts of exceedances are counted in the run, and
//! the count is tested in both directions.
//!
//! A claim allows a rate of exceeding bursts. The test is a mixture of sequential probability ratios. With N bursts,
//! where the claim allows `mean`, the ratio for a process m times as frequent is m^N exp(-(m - 1) mean). Its
//! expectation stays at 1 or below for m above 1 if the claim is true, and for m below 1 if it is false. The same holds
//! for any mixture of such ratios. Such a process ever exceeds 1 / a with a chance of at most a (Ville 1939; Robbins,
//! Annals of Mathematical Statistics 41, 1970), however often and whenever it is tested. So the same test can be used
//! for a finished run and for a run that ends as soon as its claim is decided.

use std::sync::LazyLock;

use units::approx_f64;

use super::blocks::Blocks;
use super::claim::Claim;
use crate::dependence::dependence;

/// Upper bound of the chance that a true claim is ever called broken.
pub(super) const WRONG_BROKEN: f64 = 0.01;
/// Upper bound of the chance that a false claim is ever called shown: half of it for the count, half for the fits.
pub(super) const WRONG_SHOWN: f64 = 0.01;
/// If there are more pieces than this, neighbors are joined before bursts are counted.
const MOST_PIECES: usize = 16_384;
/// With fewer pieces than this, the length of a burst is unknown; it may be a quarter of them.
const FEW_PIECES: usize = 40;
/// Number of higher rates that are tested against the allowed one, as powers of the square root of two.
const MOST_MULTIPLES: u32 = 40;
/// Lower rates that are tested, as parts of the allowed one, with their weights. No exceedance at all is the most usual
/// alternative.
const PARTS: [(f64, f64); 5] = [(0.0, 0.5), (0.125, 0.125), (0.25, 0.125), (0.5, 0.125), (0.71, 0.125)];

/// The exceedances of a claim's limit within a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exceedances {
    /// Intervals with a sample beyond the limit.
    pub(super) intervals: u64,
    /// Number of bursts of such intervals; an interval within the burst length from the first one belongs to the burst.
    pub(super) bursts: u64,
    /// The length of a burst (number of intervals, at least 1).
    burst_pieces: usize,
    /// Mean number of bursts that the claim allows within the measured time.
    allowed: f64,
    /// Mean number of exceeding intervals that the claim allows, if a burst that began earlier may extend into the horizon.
    allowed_intervals: f64,
    /// The horizon as a multiple of the measured time; the second value adds the length of a burst.
    times: [f64; 2],
}

impl Exceedances {
    /// Counts the exceedances. `alike_ns` is the time over which neighboring intervals are correlated.
    pub(super) fn new(whole: &Blocks, claim: Claim, alike_ns: f64) -> Self {
        let pieces = whole.pieces(MOST_PIECES);
        let beyond: Vec<Vec<f64>> = pieces
            .iter()
            .map(|run| run.iter().map(|&max| f64::from(u8::from(max > claim.limit_ns))).collect())
            .collect();
        let count: usize = beyond.iter().map(Vec::len).sum();
        let known = dependence(&beyond).time_pieces;
        let mut burst_pieces = usize::try_from(units::round_u64(known.ceil())).unwrap_or(usize::MAX).max(1);
        if count < FEW_PIECES {
            burst_pieces = burst_pieces.max(count.div_ceil(4));
        }
        let (mut intervals, mut bursts) = (0, 0);
        for run in &beyond {
            let mut burst_end = 0;
            for (at, _) in run.iter().enumerate().filter(|(_, beyond)| **beyond > 0.0) {
                intervals += 1;
                if at >= burst_end {
                    bursts += 1;
                    burst_end = at + burst_pieces;
                }
            }
        }
        let measured_ns = approx_f64(whole.measured_ns()).max(1.0);
        let piece_ns = measured_ns / crate::float(count.max(1));
        let horizon_ns = approx_f64(claim.horizon_ns);
        // A claim is shown for whole intervals, and including a burst that began before the horizon and extends into it.
        let reached_ns = horizon_ns.max(piece_ns) + (alike_ns - piece_ns).max(0.0);
        let times = [horizon_ns / measured_ns, reached_ns / measured_ns];
        let allowed = times.map(|times| -claim.confidence.ln() / times);
        Self { intervals, bursts, burst_pieces, allowed: allowed[0], allowed_intervals: allowed[1], times }
    }

    /// Whether the claim is broken; for a true claim this ever happens with a chance of at most [`WRONG_BROKEN`].
    pub(super) fn is_broken(&self) -> bool {
        above(approx_f64(self.bursts), self.allowed) >= -WRONG_BROKEN.ln()
    }

    /// Whether the count alone shows the claim; for a false claim this ever happens with a chance of at most half of
    /// [`WRONG_SHOWN`].
    pub(super) fn is_shown(&self) -> bool {
        below(approx_f64(self.intervals), self.allowed_intervals) >= -(WRONG_SHOWN / 2.0).ln()
    }

    /// Whether there were more bursts than the claim allows, even if not significantly more.
    pub(super) fn is_above(&self) -> bool {
        approx_f64(self.bursts) > self.allowed
    }

    /// The length of a burst, as a number of intervals.
    pub(super) const fn burst_pieces(&self) -> usize {
        self.burst_pieces
    }

    /// The chance that the horizon exceeds the limit: the lower end of the deciding interval, the counted chance, the upper end.
    pub(super) fn chances(&self) -> [f64; 3] {
        let (bursts, intervals) = (approx_f64(self.bursts), approx_f64(self.intervals));
        // Both tests become less significant toward the count itself.
        let low = edge(0.0, bursts, |mean| above(bursts, mean) >= -WRONG_BROKEN.ln());
        let most = 20.0 + 4.0 * intervals;
        let high = edge(most, intervals, |mean| below(intervals, mean) >= -(WRONG_SHOWN / 2.0).ln());
        let chance = |mean: f64, times: f64| -(-mean * times).exp_m1();
        [chance(low, self.times[0]), chance(bursts, self.times[0]), chance(high, self.times[1])]
    }

    /// How many times as long the run has to be until the count decides, if bursts continue at the same rate. The claim
    /// is then shown if they are rarer than allowed, otherwise broken.
    pub(super) fn times_longer(&self) -> Option<f64> {
        let mut times = 1.0;
        while times < 1e7 {
            let longer =
                Self { allowed: self.allowed * times, allowed_intervals: self.allowed_intervals * times, ..*self };
            let decided = if self.is_above() {
                above(approx_f64(self.bursts) * times, longer.allowed) >= -WRONG_BROKEN.ln()
            } else {
                below(approx_f64(self.intervals) * times, longer.allowed_intervals) >= -(WRONG_SHOWN / 2.0).ln()
            };
            if decided {
                return Some(times);
            }
            times *= 1.02;
        }
        None
    }
}

/// A multiple of the mean that is looked for.
struct Multiple {
    /// Its natural logarithm.
    ln: f64,
    /// What it is above 1.
    more: f64,
    /// The natural logarithm of its weight. The sum of the weights 1 / (k (k + 1)) is less than 1.
    ln_weight: f64,
}

/// Half an octave apart.
static MULTIPLES: LazyLock<Vec<Multiple>> = LazyLock::new(|| {
    (1..=MOST_MULTIPLES)
        .map(|step| {
            let ln = f64::from(step) * std::f64::consts::LN_2 / 2.0;
            Multiple { ln, more: ln.exp_m1(), ln_weight: -(f64::from(step) * f64::from(step + 1)).ln() }
        })
        .collect()
});

/// Logarithm of the evidence that the true number of bursts is above `mean`.
fn above(bursts: f64, mean: f64) -> f64 {
    ln_sum(MULTIPLES.iter().map(|multiple| bursts * multiple.ln - multiple.more * mean + multiple.ln_weight))
}

/// Logarithm of the evidence that the true number of exceeding intervals is below `mean`.
fn below(count: f64, mean: f64) -> f64 {
    let each = PARTS.iter().map(|(part, weight)| {
        let of_count = if count > 0.0 { count * part.ln() } else { 0.0 };
        of_count + (1.0 - part) * mean + weight.ln()
    });
    ln_sum(each)
}

/// What adds nothing to a sum of numbers of which the largest is 1 (natural logarithm): its exponential is no normal number.
const NOTHING_LN: f64 = -700.0;

/// Logarithm of the sum of the exponentials of `each`, without overflow.
fn ln_sum(each: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = each.clone().fold(f64::NEG_INFINITY, f64::max);
    if !most.is_finite() {
        return most;
    }
    let parts = each.map(|one| one - most).filter(|less| *less > NOTHING_LN);
    most + parts.map(f64::exp).sum::<f64>().ln()
}

/// The point between `decides` and `open` at which `decided` stops being true (bisection).
fn edge(mut decides: f64, mut open: f64, decided: impl Fn(f64) -> bool) -> f64 {
    if !decided(decides) {
        return decides;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(decides, open);
        if decided(middle) {
            decides = middle;
        } else {
            open = middle;
        }
    }
    decides
}

#[cfg(test)]
mod tests {
    use super::super::blocks::Block;
    use super::*;
    use units::Random;

    const DAY_NS: u64 = 86_400_000_000_000;

    fn run(beyond: impl Iterator<Item = bool>) -> Blocks {
        let block = |beyond: bool| {
            let max_ns = if beyond { 50_000 } else { 20_000 };
            Block { length_ns: DAY_NS, samples: 1, max_ns, highest: vec![(max_ns, 1)], ..Block::default() }
        };
        Blocks::from_runs(vec![beyond.map(block).collect()])
    }

    fn count(beyond: impl Iterator<Item = bool>, claim: &str) -> Exceedances {
        let blocks = run(beyond);
        Exceedances::new(&blocks, claim.parse().unwrap(), approx_f64(DAY_NS))
    }

    #[test]
    fn one_exceedance_in_a_year_does_not_break_a_claim_that_allows_one_day_in_a_hundred() {
        let one = count((0..365).map(|day| day == 100), "42us for 1 day at 99%");
        assert_eq!((one.intervals, one.bursts), (1, 1));
        assert!(!one.is_broken() && !one.is_shown() && !one.is_above(), "{one:?}");
        let [low, seen, high] = one.chances();
        assert!(low < 0.002 && (seen - 0.0027).abs() < 1e-4 && high > 0.01 && high < 0.05, "{low} {seen} {high}");
        // At a rate of one a year, a run of some years would show the claim.
        assert!((3.0..9.0).contains(&one.times_longer().unwrap()), "{:?}", one.times_longer());
        // Exceedances on twenty days of the year break the claim.
        assert!(count((0..365).map(|day| day % 18 == 3), "42us for 1 day at 99%").is_broken());
        // Without an exceedance, the count shows the claim after about 600 days, and not after 450.
        assert!(count((0..620).map(|_| false), "42us for 1 day at 99%").is_shown());
        assert!(!count((0..450).map(|_| false), "42us for 1 day at 99%").is_shown());
    }

    #[test]
    fn a_burst_counts_once_however_many_intervals_it_fills() {
        let burst = count((0..365).map(|day| (100..112).contains(&day)), "42us for 1 day at 99%");
        assert_eq!(burst.intervals, 12);
        assert!(burst.bursts <= 2 && burst.burst_pieces() >= 6, "{burst:?}");
        assert!(!burst.is_broken());
        let apart = count((0..365).map(|day| day % 30 == 7), "42us for 1 day at 99%");
        assert_eq!((apart.intervals, apart.bursts), (12, 12));
        // If all intervals exceed the limit, they do not count as one burst.
        assert!(count((0..365).map(|_| true), "42us for 1 day at 99%").is_broken());
    }

    /// The test runs after each interval of 1,000 runs with exactly the allowed rate. At most 1 in 100 may ever be
    /// called broken, and at most 1 in 200 may ever be called shown by the count.
    #[test]
    fn repeated_tests_are_wrong_no_more_often_than_stated() {
        let wrong = |rate: f64, decided: &dyn Fn(f64, f64) -> bool| {
            let runs = (0..1_000_u64).filter(|&seed| {
                let mut random = Random::new(seed ^ 0x51ed_0000);
                let mut count = 0.0;
                (1..=2_000_u32).any(|at| {
                    count += f64::from(u8::from(random.unit() < rate * 0.05));
                    decided(count, f64::from(at) * 0.05)
                })
            });
            runs.count()
        };
        let broken = wrong(1.0, &|count, mean| above(count, mean) >= -WRONG_BROKEN.ln());
        let shown = wrong(1.0, &|count, mean| below(count, mean) >= -(WRONG_SHOWN / 2.0).ln());
        println!("broken {broken}, shown {shown} of 1000");
        // 10 and 5 are allowed; more than 20 and 13 have a chance of 0.1 %.
        assert!(broken <= 20 && shown <= 13, "broken {broken}, shown {shown} of 1000");
        // Rates that differ clearly from the allowed one are decided correctly.
        assert!(wrong(3.0, &|count, mean| above(count, mean) >= -WRONG_BROKEN.ln()) >= 990);
        assert!(wrong(0.2, &|count, mean| below(count, mean) >= -(WRONG_SHOWN / 2.0).ln()) >= 990);
    }
}
