//! The generator behind every fate of a frame: written here, so that a recorded seed means the same in each version.

use units::approx_f64;

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
#[derive(Clone, Debug)]
pub(super) struct Generator {
    state: u64,
}

impl Generator {
    /// The stream of that number under a seed; streams of one seed are independent of each other.
    pub(super) fn of_stream(seed: u64, stream: u64) -> Self {
        let mixed = Self { state: seed }.next();
        let state = Self { state: mixed.wrapping_add(stream) }.next();
        Self { state }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// True with that probability (0 never, 1 always).
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        // 53 bits are what a double holds exactly; the quotient is below 1.
        const SCALE: f64 = 9_007_199_254_740_992.0;
        approx_f64(self.next() >> 11) / SCALE < probability
    }

    /// Evenly spread over 0 to `largest`, both included.
    pub(super) fn up_to(&mut self, largest: u64) -> u64 {
        let spread = (u128::from(self.next()) * (u128::from(largest) + 1)) >> 64;
        // The product's upper half is at most `largest`.
        u64::try_from(spread).unwrap_or(largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_reference() {
        // The first three for seed 1234567, as the authors' C program gives them.
        let mut generator = Generator { state: 1_234_567 };
        let numbers = [generator.next(), generator.next(), generator.next()];
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn streams_differ_and_repeat() {
        let of = |seed, stream| Generator::of_stream(seed, stream).next();
        assert_eq!(of(1, 2), of(1, 2));
        assert_ne!(of(1, 2), of(1, 3));
        assert_ne!(of(1, 2), of(2, 2));
        assert_ne!(of(1, 2), of(2, 1));
    }

    #[test]
    fn bounds_are_reached_and_kept() {
        let mut generator = Generator::of_stream(3, 0);
        let mut seen = [0; 4];
        for _ in 0..4_000 {
            seen[usize::try_from(generator.up_to(3)).unwrap()] += 1;
            assert!(generator.happens(1.0) && !generator.happens(0.0));
        }
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
        assert_eq!(generator.up_to(0), 0);
    }
}
