//! Whether what a counter counted around a sample can stand there by accident.
//!
//! A counter that moved while a sample was late says something only where its two readings enclose the sample closely, or
//! where it moves so seldom that it would hardly have done so by accident. What moves all the time is no evidence.

use std::collections::BTreeMap;

use units::approx_f64;

/// With less than this chance a counter moves by accident as far as it did (0 to 1); then what it counts is *likely* the cause.
pub const BY_ACCIDENT: f64 = 0.05;

/// What a counter counted between the two readings that enclose a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Around {
    /// By how much it moved, in its own unit.
    pub count: u64,
    /// Between the two readings (ns).
    pub window_ns: i64,
    /// The chance that it moves as far in such a time by accident (0 to 1).
    pub chance: f64,
}

impl Around {
    /// Whether it moved, and would hardly have done so by accident.
    #[must_use]
    pub fn is_telling(&self) -> bool {
        self.count > 0 && self.chance < BY_ACCIDENT
    }
}

/// How far a counter moves between two looks where nothing is late.
#[derive(Clone, Debug, Default)]
pub struct Usual {
    looks: u64,
    /// By how far it moved: the number of looks.
    moved: BTreeMap<u64, u64>,
}

impl Usual {
    /// Takes in by how far it moved between two looks without a late sample.
    pub fn look(&mut self, count: u64) {
        self.looks += 1;
        if count > 0 {
            *self.moved.entry(count).or_default() += 1;
        }
    }

    /// The chance that it moves by `count` or more within `looks` looks by accident (0 to 1).
    ///
    /// Whatever moves so far in several looks moves in one of them by its share at least. The chance of that in one look is
    /// estimated as (looks with it + 1) / (looks + 2), which is large as long as little was seen.
    #[must_use]
    pub fn chance(&self, count: u64, looks: u64) -> f64 {
        let share = count.div_ceil(looks.max(1)).max(1);
        let as_far = units::total(self.moved.range(share..).map(|(_, looks)| *looks));
        (approx_f64(as_far + 1) / approx_f64(self.looks + 2) * approx_f64(looks.max(1))).min(1.0)
    }
}

/// The chance that something that came `count` times in `observed_ns` comes at least once in `window_ns` by accident (0 to 1).
#[must_use]
pub fn chance_by_rate(count: u64, observed_ns: i64, window_ns: i64) -> f64 {
    let observed = approx_f64(observed_ns.max(1).unsigned_abs());
    let expected = approx_f64(count + 1) / observed * approx_f64(window_ns.max(0).unsigned_abs());
    -(-expected).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_all_the_time_is_no_evidence_and_what_hardly_ever_moves_is() {
        let mut usual = Usual::default();
        assert!(usual.chance(1, 1) >= 0.5, "nothing is known yet");
        for look in 0..1_000_u64 {
            usual.look(u64::from(look % 10 == 0) * 10);
        }
        assert!((0.09..0.11).contains(&usual.chance(10, 1)));
        assert!(usual.chance(20, 1) < 0.002, "twice as far as ever");
        assert!(usual.chance(20, 2) > 0.15, "the same in two looks");
        assert!(usual.chance(1, 100) >= 1.0);
    }

    #[test]
    fn over_minutes_something_that_comes_each_minute_is_there_by_accident() {
        const S: i64 = 1_000_000_000;
        assert!(chance_by_rate(10, 600 * S, 60 * S) > 0.6);
        assert!(chance_by_rate(0, 600 * S, 3 * S) < BY_ACCIDENT);
        assert!(chance_by_rate(0, 0, 3 * S) > 0.99, "nothing is known yet");
    }
}
