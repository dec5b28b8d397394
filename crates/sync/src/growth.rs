//! By how much an offset would grow if nobody corrected the clock any more.
//!
//! What is added to an offset between two moments has two parts: the corrections that the clock got, which are measured against
//! one that nobody corrects, and what the oscillator did. Without the first, and at the rate that was in force when the
//! corrections would have ended, the offset would have become another one: how far that is from the offset of the moment is the
//! growth, as a clock in holdover shows it. The jitter of the offsets themselves is in it.

use record::GrowthPoint;

/// The times after which the growth is looked at (ns).
const HORIZONS_NS: [i64; 5] = [1_000_000_000, 10_000_000_000, 100_000_000_000, 1_000_000_000_000, 10_000_000_000_000];
/// Starting moments within one such time.
const STARTS: i64 = 8;
/// Growths below which the largest says little.
const LEAST_COUNT: u64 = 8;

/// How a clock is steered at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steering {
    /// The clock less one that nobody corrects (ns); where that one began does not matter.
    pub less_uncorrected_ns: i64,
    /// The correction of its rate that is in force (parts per billion).
    pub frequency_ppb: f64,
}

/// A moment at which the corrections could have ended.
#[derive(Clone, Copy, Debug)]
struct Start {
    at_ns: i64,
    /// The offset without all corrections.
    uncorrected_ns: i64,
    frequency_ppb: f64,
}

#[derive(Clone, Debug, Default)]
struct Horizon {
    starts: std::collections::VecDeque<Start>,
    largest_ns: f64,
    count: u64,
}

/// Follows the growth after each of a few times, in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    horizons: [Horizon; HORIZONS_NS.len()],
}

impl Growth {
    /// Takes an offset (ns) at a moment (ns, of a clock that nobody sets), with how the clock was steered then.
    pub fn take(&mut self, at_ns: i64, offset_ns: i64, steering: Steering) {
        let uncorrected_ns = offset_ns.saturating_sub(steering.less_uncorrected_ns);
        for (horizon, &length_ns) in self.horizons.iter_mut().zip(&HORIZONS_NS) {
            while let Some(start) = horizon.starts.front().filter(|start| at_ns - start.at_ns >= length_ns) {
                let elapsed_ns = at_ns - start.at_ns;
                // After a gap it would be the growth of another time.
                if elapsed_ns <= length_ns + length_ns / 4 {
                    let drifted_ns = units::approx_f64_i64(uncorrected_ns.saturating_sub(start.uncorrected_ns));
                    let held_ns = start.frequency_ppb * units::approx_f64_i64(elapsed_ns) / 1e9;
                    horizon.largest_ns = horizon.largest_ns.max((drifted_ns + held_ns).abs());
                    horizon.count += 1;
                }
                horizon.starts.pop_front();
            }
            let is_due = horizon.starts.back().is_none_or(|last| at_ns - last.at_ns >= length_ns / STARTS);
            if is_due {
                horizon.starts.push_back(Start { at_ns, uncorrected_ns, frequency_ppb: steering.frequency_ppb });
            }
        }
    }

    /// Forgets what would be growth across a moment at which the clock was set or the reference changed.
    pub fn interrupt(&mut self) {
        self.horizons.iter_mut().for_each(|horizon| horizon.starts.clear());
    }

    /// The largest growth after each time, shortest first; those of which too little is known are left out.
    #[must_use]
    pub fn points(&self) -> Vec<GrowthPoint> {
        let known = self.horizons.iter().zip(&HORIZONS_NS).filter(|(horizon, _)| horizon.count >= LEAST_COUNT);
        known
            .map(|(horizon, length_ns)| GrowthPoint {
                after_ns: length_ns.unsigned_abs(),
                largest_ns: units::round_u64(horizon.largest_ns),
                count: horizon.count,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    /// An oscillator that is `fast_ppb` too fast, and a servo that holds the offset at 0 by exactly that correction.
    fn steered(fast_ppb: i64, servo_ppb: impl Fn(i64) -> i64, seconds: i64) -> Vec<GrowthPoint> {
        let mut growth = Growth::default();
        let (mut corrected_ns, mut drift_ns) = (0, 0);
        for second in 0..seconds {
            let frequency_ppb = servo_ppb(second);
            let steering =
                Steering { less_uncorrected_ns: corrected_ns, frequency_ppb: units::approx_f64_i64(frequency_ppb) };
            growth.take(second * S, corrected_ns + drift_ns, steering);
            corrected_ns += frequency_ppb;
            drift_ns += fast_ppb;
        }
        growth.points()
    }

    #[test]
    fn a_servo_that_knows_the_rate_loses_nothing_without_it() {
        let points = steered(5_000, |_| -5_000, 300);
        assert_eq!(
            points.iter().map(|point| point.after_ns).collect::<Vec<_>>(),
            [1, 10, 100].map(|s| s * S.unsigned_abs())
        );
        assert!(points.iter().all(|point| point.largest_ns == 0), "{points:?}");
    }

    #[test]
    fn a_rate_that_is_wrong_by_some_parts_per_billion_grows_with_time() {
        // It is right on average, and at each moment wrong by 300 parts per billion to one side or the other.
        let points = steered(5_000, |second| if second % 2 == 0 { -4_700 } else { -5_300 }, 300);
        let after = |s: u64| points.iter().find(|point| point.after_ns == s * S.unsigned_abs()).unwrap().largest_ns;
        assert_eq!((after(1), after(10), after(100)), (300, 3_000, 30_000));
    }

    #[test]
    fn nothing_is_compared_across_a_gap_or_a_step() {
        let steering = Steering { less_uncorrected_ns: 0, frequency_ppb: 0.0 };
        for breaks_off in [false, true] {
            let mut growth = Growth::default();
            for second in 0..100 {
                growth.take(second * S, 0, steering);
            }
            if breaks_off {
                growth.interrupt();
            }
            let later = if breaks_off { 100 } else { 100_000 };
            for second in 0..100 {
                growth.take((later + second) * S, 7_000_000, steering);
            }
            assert!(growth.points().iter().all(|point| point.largest_ns == 0), "{:?}", growth.points());
        }
    }
}
