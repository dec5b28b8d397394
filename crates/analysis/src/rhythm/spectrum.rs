//! Finds frequencies at which events may keep a phase: quickly, from binned moments. What it finds is looked at exactly
//! afterwards, so it may be wrong in both directions by a little.

use super::fourier::{Fourier, powers};
use super::statistic::{HARMONICS, log_chi_squared_above};
use crate::float;

/// The largest transform: what half a second has room for.
const MOST_SIZE: usize = 1 << 18;
/// Bins of the largest transform; the rest is padding, which makes the grid of frequencies finer.
pub(super) const MOST_BINS: usize = 163_840;
/// A period has to come back at least so often.
pub(super) const LEAST_TURNS: f64 = 3.0;
/// Frequencies whose power is typical for its neighbors are compared within blocks of this many.
const BLOCK: usize = 512;

/// A frequency to look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// The frequency (1/ns).
    pub(super) frequency: f64,
    /// The distance to the next frequency of the transform (1/ns).
    pub(super) step: f64,
    /// Harmonics that were summed.
    pub(super) harmonics: usize,
    /// Which of the two trains: 0 or 1.
    pub(super) train: usize,
    /// Natural logarithm of the probability by chance, roughly.
    pub(super) log_p: f64,
}

/// Transforms of the sizes that were used, and the memory for one.
#[derive(Debug, Default)]
pub(super) struct Transforms {
    known: Vec<Fourier>,
    data: Vec<(f64, f64)>,
}

impl Transforms {
    /// The best frequencies of each octave for two trains of moments (ns, from the start of the window), which lie in
    /// `bins` bins of `bin_ns`.
    pub(super) fn candidates(&mut self, trains: [&[f64]; 2], bin_ns: f64, bins: usize) -> Vec<Candidate> {
        let size = (bins + bins / 2).next_power_of_two().clamp(1 << 8, MOST_SIZE);
        if !self.known.iter().any(|fourier| fourier.size() == size) {
            self.known.push(Fourier::new(size));
        }
        let Some(fourier) = self.known.iter().find(|fourier| fourier.size() == size) else { return Vec::new() };
        self.data.clear();
        self.data.resize(size, (0.0, 0.0));
        for (train, moments) in trains.iter().enumerate() {
            for moment in *moments {
                let bin = usize::try_from(units::round_u64((moment / bin_ns).floor())).unwrap_or(0);
                if let Some(value) = self.data.get_mut(bin.min(bins)) {
                    if train == 0 { value.0 += 1.0 } else { value.1 += 1.0 }
                }
            }
        }
        fourier.transform(&mut self.data);
        let step = 1.0 / (float(size) * bin_ns);
        let first = LEAST_TURNS * float(size) / float(bins.max(1));
        let mut found = Vec::new();
        for (train, power) in powers(&self.data).iter_mut().enumerate() {
            whiten(power, trains[train].len());
            best_of_octaves::<1>(power, first, &mut |at, sum| found.push((train, 1, at, sum)));
            best_of_octaves::<4>(power, first, &mut |at, sum| found.push((train, 4, at, sum)));
            best_of_octaves::<12>(power, first, &mut |at, sum| found.push((train, 12, at, sum)));
        }
        debug_assert_eq!(HARMONICS, [1, 4, 12]);
        let candidate = |(train, harmonics, at, sum): (usize, usize, usize, f64)| Candidate {
            frequency: float(at) / float(harmonics) * step,
            step,
            harmonics,
            train,
            log_p: log_chi_squared_above(sum, harmonics),
        };
        found.into_iter().map(candidate).collect()
    }
}

/// Powers as multiples of what chance gives, of a mean of 2: where a whole block has more, as bursts have, less.
fn whiten(power: &mut [f64], events: usize) {
    let expected = float(events.max(1));
    let mut sorted = Vec::with_capacity(BLOCK);
    for block in power.chunks_mut(BLOCK) {
        sorted.clear();
        sorted.extend_from_slice(block);
        let middle = sorted.len() / 2;
        let (_, median, _) = sorted.select_nth_unstable_by(middle, f64::total_cmp);
        // The median of an exponential distribution is its mean times ln 2.
        let typical = expected.max(*median / std::f64::consts::LN_2);
        block.iter_mut().for_each(|value| *value *= 2.0 / typical);
    }
}

/// The largest sum of `K` harmonics within each octave. Places are counted in `K`-ths of the transform's step.
fn best_of_octaves<const K: usize>(power: &[f64], first: f64, take: &mut impl FnMut(usize, f64)) {
    let mut from = usize::try_from(units::round_u64(first * float(K))).unwrap_or(usize::MAX).max(K);
    // The highest harmonic stays below the end.
    let end = power.len() - 1;
    while from < end {
        let to = (2 * from).min(end);
        let mut best = (0, 0.0);
        for at in from..to {
            let mut sum = 0.0;
            for k in 1..=K {
                sum += power[(k * at + K / 2) / K];
            }
            if sum > best.1 {
                best = (at, sum);
            }
        }
        if best.0 > 0 {
            take(best.0, best.1);
        }
        from = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sharp_period_is_among_the_candidates() {
        let mut random = units::Random::new(3);
        let moments: Vec<f64> = (0..60_u32).map(|n| 41e6 * f64::from(n) + 5e6 + 1e5 * random.unit()).collect();
        let others: Vec<f64> = (0..500).map(|_| 2.5e9 * random.unit()).collect();
        let found = Transforms::default().candidates([&others, &moments], 200_000.0, 12_500);
        let hit = |candidate: &&Candidate| {
            let turns = candidate.frequency * 41e6;
            candidate.train == 1 && (turns - turns.round()).abs() < 0.02 && candidate.log_p < -40.0
        };
        assert!(found.iter().any(|candidate| hit(&candidate)), "{found:?}");
        assert!(found.iter().filter(|candidate| candidate.train == 0).all(|candidate| candidate.log_p > -20.0));
    }
}
