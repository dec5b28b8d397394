use proptest::prelude::*;
use units::{Random, approx_f64_i64, round_i64};

use super::*;

/// From one reading to the next (ns).
const EVERY_NS: i64 = 250_000_000;
const ERROR_NS: i64 = 200;
/// Years before the uncorrected clock.
const EPOCH_NS: i64 = -94_672_800_000_000_000;

/// A stretch of time in which the interface's clock is linear.
#[derive(Clone, Copy)]
struct Linear {
    raw_ns: i64,
    /// The clock less the uncorrected one, without the epoch (ns).
    ahead_ns: f64,
    rate_ppb: i64,
}

/// An interface's clock that is known at each moment.
struct World {
    random: Random,
    oscillator_ppb: i64,
    linear: Vec<Linear>,
}

impl World {
    fn new(seed: u64, oscillator_ppb: i64) -> Self {
        let first = Linear { raw_ns: 0, ahead_ns: 0.0, rate_ppb: oscillator_ppb };
        Self { random: Random::new(seed), oscillator_ppb, linear: vec![first] }
    }

    fn below(&mut self, limit: i64) -> i64 {
        i64::try_from(self.random.below(usize::try_from(limit).unwrap())).unwrap()
    }

    fn at(&self, raw_ns: i64) -> (f64, i64) {
        let found = self.linear.iter().rev().find(|one| one.raw_ns <= raw_ns).unwrap();
        let passed = approx_f64_i64(raw_ns - found.raw_ns);
        (found.ahead_ns + passed * approx_f64_i64(found.rate_ppb) / 1e9, found.rate_ppb)
    }

    /// What the clock shows.
    fn clock_ns(&self, raw_ns: i64) -> i64 {
        EPOCH_NS + raw_ns + round_i64(self.at(raw_ns).0)
    }

    fn correct(&mut self, raw_ns: i64, correction_ppb: i64) {
        let (ahead_ns, _) = self.at(raw_ns);
        self.linear.push(Linear { raw_ns, ahead_ns, rate_ppb: self.oscillator_ppb + correction_ppb });
    }

    fn step(&mut self, raw_ns: i64, by_ns: i64) {
        let (ahead_ns, rate_ppb) = self.at(raw_ns);
        self.linear.push(Linear { raw_ns, ahead_ns: ahead_ns + approx_f64_i64(by_ns), rate_ppb });
    }

    /// A reading that is as wrong as it says.
    fn reading(&mut self, raw_ns: i64) -> HardwareReading {
        let wrong_ns = self.below(2 * ERROR_NS + 1) - ERROR_NS;
        let correction_ppb = self.at(raw_ns).1 - self.oscillator_ppb;
        HardwareReading { raw_ns, clock_ns: self.clock_ns(raw_ns) + wrong_ns, error_ns: ERROR_NS, correction_ppb }
    }

    /// The scale after so many readings.
    fn scale(&mut self, readings: i64) -> HardwareScale {
        let mut scale = HardwareScale::default();
        for number in 0..=readings {
            let late_ns = self.below(EVERY_NS / 10);
            let reading = self.reading(number * EVERY_NS + late_ns);
            scale.take(reading);
        }
        scale
    }
}

/// Stamps at many moments: how many were converted, how far the worst is from the truth, less its error, and the largest error.
fn check(world: &World, scale: &HardwareScale, moments: impl Iterator<Item = i64>) -> (usize, i64, i64) {
    let (mut converted, mut beyond_ns, mut widest_ns) = (0, i64::MIN, 0);
    for raw_ns in moments {
        // The kernel's stamp of the packet is somewhat earlier.
        let Some(found) = scale.uncorrected(world.clock_ns(raw_ns), raw_ns - 3_000) else { continue };
        converted += 1;
        beyond_ns = beyond_ns.max((found.ns - raw_ns).abs() - found.error_ns);
        widest_ns = widest_ns.max(found.error_ns);
    }
    (converted, beyond_ns, widest_ns)
}

proptest! {
    #[test]
    fn the_error_of_a_converted_stamp_contains_the_truth_while_the_clock_is_steered(
        seed in any::<u64>(), oscillator_ppb in -1_000_000_i64..1_000_000, largest_ppb in 1_i64..100_000,
    ) {
        let mut world = World::new(seed, oscillator_ppb);
        // One correction between two readings, at any moment.
        for number in 0..24 {
            let at_ns = number * EVERY_NS + EVERY_NS / 10 + world.below(EVERY_NS * 9 / 10);
            let correction_ppb = world.below(2 * largest_ppb) - largest_ppb;
            world.correct(at_ns, correction_ppb);
        }
        let scale = world.scale(24);
        let (converted, beyond_ns, _) = check(&world, &scale, (200..5_800).map(|ms| ms * 1_000_000 + 777));
        prop_assert!(converted > 5_000, "{converted}");
        prop_assert!(beyond_ns <= 0, "{beyond_ns} ns beyond the error");
    }

    #[test]
    fn across_a_step_a_stamp_is_right_within_its_error_or_not_converted(
        seed in any::<u64>(), oscillator_ppb in -1_000_000_i64..1_000_000, is_back in any::<bool>(),
        magnitude in 1_700_i64..10_000, digits in 0_u32..8,
    ) {
        let mut world = World::new(seed, oscillator_ppb);
        let step_ns = magnitude * 10_i64.pow(digits) * if is_back { -1 } else { 1 };
        let at_ns = 2_000_000_000 + world.below(EVERY_NS);
        world.step(at_ns, step_ns);
        let scale = world.scale(24);
        let (converted, beyond_ns, _) = check(&world, &scale, (300..5_700).map(|ms| ms * 1_000_000 + 333));
        // A second around the step at most is given up.
        prop_assert!(converted > 4_300, "{converted}");
        prop_assert!(beyond_ns <= 0, "{beyond_ns} ns beyond the error, after a step by {step_ns} ns");
    }
}

#[test]
fn a_steady_clock_of_another_epoch_and_rate_is_known_nearly_as_well_as_it_is_read() {
    // The error of a reading, and one part per million of half of the time between two.
    let most_ns = ERROR_NS + 150 + 4;
    for oscillator_ppb in [0, -1_000_000, 1_000_000] {
        let mut world = World::new(7, oscillator_ppb);
        let scale = world.scale(24);
        let (converted, beyond_ns, widest_ns) = check(&world, &scale, (200..5_800).map(|ms| ms * 1_000_000));
        assert_eq!(converted, 5_600);
        assert!(beyond_ns <= 0 && widest_ns <= most_ns, "{beyond_ns}, {widest_ns} at {oscillator_ppb} ppb");
    }
}

#[test]
fn a_step_is_named_and_what_lies_outside_of_the_readings_is_unknown() {
    let mut world = World::new(1, 20_000);
    world.step(1_100_000_000, 37_000_000_000);
    let mut scale = HardwareScale::default();
    assert_eq!(scale.uncorrected(EPOCH_NS, 0), None);
    let mut steps = Vec::new();
    for number in 0..12 {
        let reading = world.reading(number * EVERY_NS);
        steps.extend(scale.take(reading).map(|by_ns| (number, by_ns / 1_000_000)));
        // The same reading again says nothing.
        assert_eq!(scale.take(reading), None);
    }
    assert_eq!(steps, [(5, 37_000)]);
    let known = |raw_ns: i64| scale.uncorrected(world.clock_ns(raw_ns), raw_ns).is_some();
    assert!(known(800_000_000) && known(1_500_000_000));
    // Before the step's readings, between them, and after the last one; and a stamp of another time than the kernel's.
    assert!(!known(990_000_000) && !known(1_099_000_000) && !known(1_200_000_000) && !known(2_800_000_000));
    assert_eq!(scale.uncorrected(world.clock_ns(1_500_000_000), 1_800_000_000), None);
    assert!(scale.is_settled(2_700_000_000) && !scale.is_settled(2_740_000_000));
    // Of the first stretch nothing is known until the second one shows that the clock went straight.
    let mut scale = HardwareScale::default();
    for (number, is_settled) in [(20, false), (21, false), (22, true)] {
        scale.take(world.reading(number * EVERY_NS));
        assert_eq!(scale.is_settled(20 * EVERY_NS + 5_000_000), is_settled, "{number}");
    }
}
