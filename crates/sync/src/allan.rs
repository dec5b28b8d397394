//! Allan deviation of offsets as they come, in memory that grows with the logarithm of their number.

use record::AllanPoint;

/// Averaging times, each twice as long as the one before.
const MOST_LEVELS: usize = 40;
/// Second differences below which a deviation says little.
const LEAST_COUNT: u64 = 8;

/// Every 2^level-th offset.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// The last two offsets of this level with their times (ns), the older first.
    held: [Option<(i64, i64)>; 2],
    /// Whether the next offset of the level below belongs to this one.
    takes_next: bool,
    /// Sum of the squared second differences (ns²), of the averaging times (ns), and how many.
    squares: f64,
    elapsed_ns: f64,
    count: u64,
}

/// Computes the Allan deviation of offsets (IEEE 1139, with non-overlapping samples of the phase): half the mean square of the
/// second differences of the offset, by the averaging time.
#[derive(Clone, Debug, Default)]
pub struct Allan {
    levels: Vec<Level>,
}

impl Allan {
    /// Takes the next offset: when it was taken, by a clock that is not corrected, and its value (both ns).
    pub fn take(&mut self, at_ns: i64, offset_ns: i64) {
        let mut next = Some((at_ns, offset_ns));
        for index in 0..MOST_LEVELS {
            let Some(taken) = next else { return };
            if self.levels.len() == index {
                self.levels.push(Level { takes_next: true, ..Level::default() });
            }
            let level = &mut self.levels[index];
            level.take(taken);
            // Every second one goes on.
            let takes_next = level.takes_next;
            level.takes_next = !takes_next;
            next = takes_next.then_some(taken);
        }
    }

    /// Forgets what would be differences across a moment at which the clock was set or the reference changed.
    pub fn interrupt(&mut self) {
        for level in &mut self.levels {
            level.held = [None; 2];
        }
    }

    /// The deviations by averaging time, shortest first; those of which too little is known are left out.
    #[must_use]
    pub fn points(&self) -> Vec<AllanPoint> {
        self.levels.iter().filter(|level| level.count >= LEAST_COUNT).map(Level::point).collect()
    }
}

impl Level {
    fn take(&mut self, (at_ns, offset_ns): (i64, i64)) {
        if let [Some((first_ns, first)), Some((second_ns, second))] = self.held {
            let (before_ns, after_ns) = (second_ns.saturating_sub(first_ns), at_ns.saturating_sub(second_ns));
            // Offsets that are missing, or far from evenly spaced, make no second difference.
            if before_ns > 0 && after_ns > 0 && after_ns / 3 * 2 <= before_ns && before_ns / 3 * 2 <= after_ns {
                let float = units::approx_f64_i64;
                // The rates before and after, so that a spacing that is a little uneven is no error of its own.
                let rate = |ns: i64, span_ns: i64| float(ns) / float(span_ns);
                let tau_ns = (float(before_ns) + float(after_ns)) / 2.0;
                let difference_ns = (rate(offset_ns.saturating_sub(second), after_ns)
                    - rate(second.saturating_sub(first), before_ns))
                    * tau_ns;
                self.squares += difference_ns * difference_ns;
                self.elapsed_ns += tau_ns;
                self.count += 1;
            }
        }
        self.held = [self.held[1], Some((at_ns, offset_ns))];
    }

    fn point(&self) -> AllanPoint {
        let count = units::approx_f64(self.count);
        let tau_ns = self.elapsed_ns / count;
        let deviation = (self.squares / count / 2.0).sqrt() / tau_ns;
        AllanPoint { averaging_ns: units::round_u64(tau_ns), deviation, count: self.count }
    }
}

#[cfg(test)]
mod tests {
    use units::Random;

    use super::*;

    const S: i64 = 1_000_000_000;

    /// White noise of the phase with standard deviation s has a deviation of sqrt(3) s / tau.
    #[test]
    fn white_noise_of_the_phase_falls_with_the_averaging_time() {
        let (mut allan, mut random) = (Allan::default(), Random::new(3));
        let count = 40_000;
        for at in 0..count {
            // Twelve uniform numbers have a variance of 1.
            let normal: f64 = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
            #[allow(clippy::cast_possible_truncation, reason = "a few hundred")]
            allan.take(at * S, (normal * 100.0).round() as i64);
        }
        let points = allan.points();
        assert!(points.len() > 8, "{points:?}");
        for point in points.iter().filter(|point| point.count > 300) {
            let tau_s = units::approx_f64(point.averaging_ns) / 1e9;
            let expected = 3.0_f64.sqrt() * 100e-9 / tau_s;
            assert!((point.deviation / expected - 1.0).abs() < 0.15, "{point:?}, expected {expected}");
        }
        let second = &points[1];
        assert_eq!(second.averaging_ns, 2_000_000_000);
    }

    #[test]
    fn a_constant_rate_is_no_deviation_and_a_gap_is_no_difference() {
        let mut allan = Allan::default();
        for at in 0..100 {
            allan.take(at * S, at * 5_000);
        }
        assert!(allan.points().iter().all(|point| point.deviation < 1e-15), "{:?}", allan.points());
        let before = allan.points()[0].count;
        allan.interrupt();
        allan.take(200 * S, 90_000_000);
        allan.take(201 * S, 90_005_000);
        assert_eq!(allan.points()[0].count, before);
        allan.take(202 * S, 90_010_000);
        assert_eq!(allan.points()[0].count, before + 1);
        // Half a minute is missing.
        allan.take(232 * S, 0);
        assert_eq!(allan.points()[0].count, before + 1);
    }

    #[test]
    fn few_offsets_have_no_deviation() {
        let mut allan = Allan::default();
        for at in 0..9 {
            allan.take(at * S, 0);
        }
        assert!(allan.points().is_empty());
    }
}
