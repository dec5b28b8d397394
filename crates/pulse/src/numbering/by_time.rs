//! Which pulses of two lines belong together if neither of them has numbers.

use super::{NumberedPulse, moment, time};
use crate::edges::Pulse;

/// Why two lines cannot be paired by the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairingError {
    /// The pulses of an order may be as far apart as those of two orders.
    #[error(
        "pulses of one order may be {} apart, by what is known of the nodes, and orders come each {}: that has to be more than twice as \
         much to pair pulses by time; have them marked (--mark)",
        time(*apart_ps),
        time(*interval_ps)
    )]
    Apart {
        /// How far apart the pulses of one order may be (ps).
        apart_ps: i64,
        /// The time from order to order (ps).
        interval_ps: i64,
    },
    /// Two pulses of one line are near a pulse of the other one.
    #[error(
        "two pulses of one line are near one of the other at {}: which of them belongs to it cannot be told by time alone",
        moment(*at_ps)
    )]
    Ambiguous {
        /// The moment of the earlier of the two (ps).
        at_ps: i64,
    },
    /// No two pulses are near each other.
    #[error("no pulse of one line is within {} of one of the other", time(*apart_ps))]
    None {
        /// How far apart the pulses of one order may be (ps).
        apart_ps: i64,
    },
}

/// Pairs the pulses of two lines, in the order of time, that are up to `apart_ps` apart: that much, by what is known of the nodes'
/// clocks and delays, the pulses of one order can be apart at most. It has to be less than half the interval, by 3 %, since the
/// capture's clock may be off by 2 %. The numbers are no numbers of orders: they count the orders of which a pulse was seen, from 0 on.
///
/// Nothing is guessed: if a pulse has two that it may belong to, anywhere in the capture, no pulse is paired. What this cannot see is
/// a shift that is larger than `apart_ps` after all.
///
/// # Errors
/// If the pulses of neighboring orders could be taken for those of one, or are.
pub fn pair_by_time(
    lines: [&[Pulse]; 2],
    interval_ps: i64,
    apart_ps: i64,
) -> Result<[Vec<NumberedPulse>; 2], PairingError> {
    let doubled = i128::from(apart_ps.max(0)) * 2 * 100;
    if doubled >= i128::from(interval_ps) * 97 {
        return Err(PairingError::Apart { apart_ps, interval_ps });
    }
    let [mut one, mut other] = lines.map(|line| line.iter().map(|pulse| pulse.start_ps).peekable());
    let mut paired = lines.map(|line| Vec::with_capacity(line.len()));
    let (mut number, mut pairs) = (0, 0_u64);
    loop {
        let next = [one.peek().copied(), other.peek().copied()];
        let is_near = |a: i64, b: i64| a.abs_diff(b) <= apart_ps.unsigned_abs();
        let takes = match next {
            [None, None] => break,
            [Some(_), None] => [true, false],
            [None, Some(_)] => [false, true],
            [Some(a), Some(b)] if is_near(a, b) => [true, true],
            [Some(a), Some(b)] => [a < b, b < a],
        };
        let taken = [takes[0].then(|| one.next()).flatten(), takes[1].then(|| other.next()).flatten()];
        for (paired, start_ps) in paired.iter_mut().zip(taken) {
            paired.extend(start_ps.map(|start_ps| NumberedPulse { number, start_ps }));
        }
        if let [Some(a), Some(b)] = taken {
            pairs += 1;
            let is_ambiguous =
                one.peek().is_some_and(|next| is_near(*next, b)) || other.peek().is_some_and(|next| is_near(a, *next));
            if is_ambiguous {
                return Err(PairingError::Ambiguous { at_ps: a.min(b) });
            }
        }
        number += 1;
    }
    if pairs == 0 { Err(PairingError::None { apart_ps }) } else { Ok(paired) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(starts: &[i64]) -> Vec<Pulse> {
        starts.iter().map(|start_ps| Pulse { start_ps: *start_ps, width_ps: 10 }).collect()
    }

    fn pair(a: &[i64], b: &[i64], apart_ps: i64) -> Result<[Vec<(u64, i64)>; 2], PairingError> {
        let paired = pair_by_time([&line(a), &line(b)], 1_000, apart_ps)?;
        Ok(paired.map(|line| line.iter().map(|pulse| (pulse.number, pulse.start_ps)).collect()))
    }

    #[test]
    fn pulses_near_each_other_are_a_pair_and_others_stand_alone() {
        let [a, b] = pair(&[0, 1_000, 3_000, 4_000], &[300, 2_310, 3_290, 5_300], 400).unwrap();
        assert_eq!(a, [(0, 0), (1, 1_000), (3, 3_000), (4, 4_000)]);
        assert_eq!(b, [(0, 300), (2, 2_310), (3, 3_290), (5, 5_300)]);
    }

    #[test]
    fn what_is_ambiguous_is_refused() {
        assert_eq!(pair(&[0], &[0], 485), Err(PairingError::Apart { apart_ps: 485, interval_ps: 1_000 }));
        assert!(pair(&[0], &[0], 484).is_ok());
        assert_eq!(pair(&[0, 1_000], &[-300, 200], 400), Err(PairingError::Ambiguous { at_ps: -300 }));
        assert_eq!(pair(&[0, 350], &[10], 400), Err(PairingError::Ambiguous { at_ps: 0 }));
        assert_eq!(pair(&[0], &[500], 400), Err(PairingError::None { apart_ps: 400 }));
        assert_eq!(pair(&[], &[], 400), Err(PairingError::None { apart_ps: 400 }));
    }

    proptest! {
        /// Whatever is lost of two lines whose shift is within the bound, each pair is of one order.
        #[test]
        fn pairs_are_of_one_order(seed in any::<u64>(), shift in -380_i64..380, lost in 0_usize..60) {
            let mut random = units::Random::new(seed);
            let mut draw = |shift: i64| -> Vec<(i64, i64)> {
                (0..300).filter_map(|order| {
                    let jitter = i64::try_from(random.below(20)).unwrap() - 10;
                    (random.below(100) >= lost).then(|| (order * 1_000 + shift + jitter, order))
                }).collect()
            };
            let (a, b) = (draw(0), draw(shift));
            let starts = |line: &[(i64, i64)]| line.iter().map(|one| one.0).collect::<Vec<_>>();
            let Ok([one, other]) = pair(&starts(&a), &starts(&b), 400) else { return Ok(()) };
            let numbers: std::collections::BTreeMap<u64, i64> = one.iter().zip(&a).map(|(pulse, truth)| (pulse.0, truth.1)).collect();
            for (pulse, truth) in other.iter().zip(&b) {
                prop_assert!(numbers.get(&pulse.0).is_none_or(|order| *order == truth.1));
            }
            let common = a.iter().filter(|one| b.iter().any(|other| other.1 == one.1)).count();
            prop_assert_eq!(other.iter().filter(|pulse| numbers.contains_key(&pulse.0)).count(), common);
        }
    }
}
