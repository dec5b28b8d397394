//! The discrete Fourier transform of a train of events: in place, two stages of a radix-2 transform at a time.

use crate::float;

type Complex = (f64, f64);

/// A transform of one size, with its factors computed once.
#[derive(Debug)]
pub(super) struct Fourier {
    /// For each pass after the first, by the length of a quarter of its blocks: what the second, third and fourth quarter are
    /// turned by, place after place, so that a pass reads them in order.
    passes: Vec<(usize, Vec<[Complex; 3]>)>,
    size: usize,
}

impl Fourier {
    /// For a power of two, 4 or more.
    pub(super) fn new(size: usize) -> Self {
        let mut passes = Vec::new();
        let mut quarter = if size.trailing_zeros() % 2 == 0 { 4 } else { 2 };
        while 4 * quarter <= size {
            let factor = |turns: f64| {
                let (sin, cos) = (-std::f64::consts::TAU * turns).sin_cos();
                (cos, sin)
            };
            let at = |k: usize| float(k) / float(4 * quarter);
            passes.push((
                quarter,
                (0..quarter).map(|k| [factor(2.0 * at(k)), factor(at(k)), factor(3.0 * at(k))]).collect(),
            ));
            quarter *= 4;
        }
        Self { passes, size }
    }

    pub(super) const fn size(&self) -> usize {
        self.size
    }

    /// Transforms `data`, whose length is the size, in place.
    pub(super) fn transform(&self, data: &mut [Complex]) {
        let bits = self.size.trailing_zeros();
        for i in 0..self.size {
            let j = i.reverse_bits() >> (usize::BITS - bits);
            if i < j {
                data.swap(i, j);
            }
        }
        // Nothing is turned in the first pass, which takes one stage where their number is odd.
        if bits % 2 == 0 {
            for block in data.chunks_exact_mut(4) {
                if let [a, b, c, d] = block {
                    (*a, *b, *c, *d) = of_four(*a, *b, *c, *d);
                }
            }
        } else {
            for block in data.chunks_exact_mut(2) {
                if let [a, b] = block {
                    (*a, *b) = (plus(*a, *b), minus(*a, *b));
                }
            }
        }
        for (quarter, factors) in &self.passes {
            for block in data.chunks_exact_mut(4 * quarter) {
                let (low, high) = block.split_at_mut(2 * quarter);
                let (first, second) = low.split_at_mut(*quarter);
                let (third, fourth) = high.split_at_mut(*quarter);
                let quarters = first.iter_mut().zip(second).zip(third.iter_mut().zip(fourth));
                for (((a, b), (c, d)), [of_b, of_c, of_d]) in quarters.zip(factors) {
                    (*a, *b, *c, *d) = of_four(*a, times(*b, *of_b), times(*c, *of_c), times(*d, *of_d));
                }
            }
        }
    }
}

const fn plus(a: Complex, b: Complex) -> Complex {
    (a.0 + b.0, a.1 + b.1)
}

const fn minus(a: Complex, b: Complex) -> Complex {
    (a.0 - b.0, a.1 - b.1)
}

const fn times(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

/// The transform of four values, in the order of reversed bits.
const fn of_four(a: Complex, b: Complex, c: Complex, d: Complex) -> (Complex, Complex, Complex, Complex) {
    let (even, odd) = (plus(a, b), minus(a, b));
    let (sum, difference) = (plus(c, d), minus(c, d));
    // A quarter of a turn, backwards.
    let turned = (difference.1, -difference.0);
    (plus(even, sum), plus(odd, turned), minus(even, sum), minus(odd, turned))
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
        for size in [4, 8, 64, 128] {
            check(size);
        }
    }

    fn check(size: usize) {
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
            assert!((first - power(k, |value| value.0)).abs() < 1e-9, "{k} of {size}");
            assert!((second - power(k, |value| value.1)).abs() < 1e-9, "{k} of {size}");
        }
    }
}
