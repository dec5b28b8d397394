//! Random numbers of the switch, drawn from a seed. A recorded seed means the same in every version.

use units::Random;

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub(super) struct Generator(Random);

impl Generator {
    /// The stream with this number of a seed; the streams of one seed are independent of each other.
    pub(super) fn for_stream(seed: u64, stream: u64) -> Self {
        let mixed = Random::new(seed).next();
        Self(Random::new(Random::new(mixed.wrapping_add(stream)).next()))
    }

    /// True with this probability (0 never, 1 always).
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        self.0.unit() < probability
    }

    /// Uniformly distributed from 0 to `largest`, both included.
    pub(super) fn up_to(&mut self, largest: u64) -> u64 {
        let spread = (u128::from(self.0.next()) * (u128::from(largest) + 1)) >> 64;
        // The product's upper half is at most `largest`.
        u64::try_from(spread).unwrap_or(largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_repeat() {
        let first = |seed, stream| Generator::for_stream(seed, stream).0.next();
        assert_eq!(first(1, 2), first(1, 2));
        assert_ne!(first(1, 2), first(1, 3));
        assert_ne!(first(1, 2), first(2, 2));
        assert_ne!(first(1, 2), first(2, 1));
    }

    #[test]
    fn bounds_are_reached_and_kept() {
        let mut generator = Generator::for_stream(3, 0);
        let mut seen = [0; 4];
        for _ in 0..4_000 {
            seen[usize::try_from(generator.up_to(3)).unwrap()] += 1;
            assert!(generator.happens(1.0) && !generator.happens(0.0));
        }
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
        assert_eq!(generator.up_to(0), 0);
    }
}
