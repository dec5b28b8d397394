//! The discrete Fourier transform of a train of events: a radix-2 transform in place.

use crate::float;

/// A transform of one size, with its factors computed once.
#[derive(Debug)]
pub(super) struct Fourier {
    /// The factors of all stages, from the smallest to the largest, so that each stage reads them in order.
    factors: Vec<(f64, f64)>,
    size: usize,
}

impl Fourier {
    /// For a power of two, 2 or more.
    pub(super) fn new(size: usize) -> Self {
        let mut factors = Vec::with_capacity(size);
        let mut half = 1;
        while half < size {
            factors.extend((0..half).map(|k| {
                let (sin, cos) = (-std::f64::consts::PI * float(k) / float(half)).sin_cos();
                (cos, sin)
            }));
            half *= 2;
        }
        Self { factors, size }
    }

    pub(super) const fn size(&self) -> usize {
        self.size
    }

    /// Transforms `data`, whose length is the size, in place.
    pub(super) fn transform(&self, data: &mut [(f64, f64)]) {
        let bits = self.size.trailing_zeros();
        for i in 0..self.size {
            let j = i.reverse_bits() >> (usize::BITS - bits);
            if i < j {
                data.swap(i, j);
            }
        }
        let mut half = 1;
        while half < self.size {
            let factors = &self.factors[half - 1..2 * half - 1];
            for block in data.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((a, b), w) in low.iter_mut().zip(high).zip(factors) {
                    let turned = (b.0 * w.0 - b.1 * w.1, b.0 * w.1 + b.1 * w.0);
                    *b = (a.0 - turned.0, a.1 - turned.1);
                    *a = (a.0 + turned.0, a.1 + turned.1);
                }
            }
            half *= 2;
        }
    }
}

/// The power of two real trains, the one in the real and the other in the imaginary parts of what was transformed, at
/// the frequencies from 0 to half the size.
pub(super) fn powers(transformed: &[(f64, f64)]) -> [Vec<f64>; 2] {
    let size = transformed.len();
    let mut powers = [Vec::with_capacity(size / 2), Vec::with_capacity(size / 2)];
    for k in 0..size / 2 {
        let (a, b) = (transformed[k], transformed[(size - k) % size]);
        let (even, odd) = ((a.0 + b.0, a.1 - b.1), (a.1 + b.1, b.0 - a.0));
        powers[0].push((even.0 * even.0 + even.1 * even.1) / 4.0);
        powers[1].push((odd.0 * odd.0 + odd.1 * odd.1) / 4.0);
    }
    powers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_transform_by_its_definition() {
        let size = 64;
        let mut random = units::Random::new(7);
        let data: Vec<(f64, f64)> = (0..size).map(|_| (random.unit(), random.unit())).collect();
        let mut fast = data.clone();
        Fourier::new(size).transform(&mut fast);
        let power = |k: usize, part: fn(&(f64, f64)) -> f64| {
            let (mut re, mut im) = (0.0, 0.0);
            for (n, value) in data.iter().enumerate() {
                let (sin, cos) = (-std::f64::consts::TAU * float(k * n % size) / float(size)).sin_cos();
                (re, im) = (re + part(value) * cos, im + part(value) * sin);
            }
            re * re + im * im
        };
        let found = powers(&fast);
        for (k, (first, second)) in found[0].iter().zip(&found[1]).enumerate() {
            assert!((first - power(k, |value| value.0)).abs() < 1e-9, "{k}");
            assert!((second - power(k, |value| value.1)).abs() < 1e-9, "{k}");
        }
    }
}
