//! The worst case of a short horizon, from spans of the same length within the runs. Without a model, the answer never
//! exceeds the worst sample.

use std::collections::VecDeque;

use units::{approx_f64, round_u64};

use super::blocks::Blocks;
use super::prediction::Expected;
use crate::float;

/// If there are more pieces than this, neighbors are joined first.
const MOST_PIECES: usize = 16_384;

/// What to predict from the spans that were seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct HorizonQuestion {
    /// Length of a span (ns).
    pub(super) horizon_ns: u64,
    /// Time over which neighboring intervals are correlated (ns).
    pub(super) alike_ns: f64,
    /// The share of outcomes that the interval should contain (0 to 1).
    pub(super) level: f64,
}

/// The interval of the worst case of a horizon (ns) from all spans of that length within the runs; `None` if there are
/// too few.
///
/// The next of N exchangeable values is below the k-th lowest of them with a chance of k / (N + 1). Each end of the
/// interval leaves out half of what it may leave out on that side; this holds the level from N = 4 / (1 - level) - 1
/// on. It is the same for all lengths, so that a longer horizon never has a better worst case. A horizon shorter than
/// an interval gets the upper end of a whole interval, which it cannot exceed. Its lower end is the smallest sample of
/// all, since the order within an interval is not known.
pub(super) fn worst_of_spans(whole: &Blocks, question: HorizonQuestion) -> Option<Expected> {
    let pieces = whole.pieces(MOST_PIECES);
    let count: usize = pieces.iter().map(Vec::len).sum();
    let piece_ns = approx_f64(whole.measured_ns()) / float(count.max(1));
    if count == 0 || piece_ns <= 0.0 {
        return None;
    }
    let horizon_ns = approx_f64(question.horizon_ns);
    let at_once = usize::try_from(round_u64((horizon_ns / piece_ns - 1e-6).ceil())).unwrap_or(usize::MAX).max(1);
    let mut worst: Vec<u64> = pieces.iter().flat_map(|run| greatest(run, at_once)).collect();
    worst.sort_unstable();
    // Overlapping or correlated spans contain less information than independent ones.
    let correlated = (question.alike_ns / piece_ns - 1.0).max(0.0);
    let independent = float(count) / (float(at_once) + correlated);
    let outside = (1.0 - question.level) / 4.0;
    if worst.is_empty() || (independent + 1.0) * outside < 1.0 - 1e-9 {
        return None;
    }
    let at = |share: f64| {
        let place = usize::try_from(round_u64(share * float(worst.len() - 1))).unwrap_or(0);
        approx_f64(worst.get(place).copied().unwrap_or(0))
    };
    let (mut low, typical, high) = (at(outside), at(0.5), at(1.0 - outside));
    if horizon_ns < piece_ns * (1.0 - 1e-6) {
        low = approx_f64(whole.blocks.iter().map(|block| block.least_ns).min().unwrap_or(0)).min(low);
    }
    Some(Expected { low, typical, high, each: [[low, typical, high]; 2] })
}

/// The maximum of each `at_once` consecutive values (a sliding window).
fn greatest(run: &[u64], at_once: usize) -> Vec<u64> {
    let mut falling: VecDeque<usize> = VecDeque::new();
    let mut all = Vec::with_capacity(run.len().saturating_sub(at_once) + 1);
    for (at, value) in run.iter().enumerate() {
        while falling.back().is_some_and(|&last| run[last] <= *value) {
            falling.pop_back();
        }
        falling.push_back(at);
        if falling.front().is_some_and(|&first| first + at_once <= at) {
            falling.pop_front();
        }
        if at + 1 >= at_once {
            all.extend(falling.front().map(|&first| run[first]));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::blocks::Block;
    use super::*;
    use units::Random;

    #[test]
    fn the_maximum_of_each_window_is_found() {
        assert_eq!(greatest(&[3, 1, 4, 1, 5, 2, 2], 3), [4, 4, 5, 5, 5]);
        assert_eq!(greatest(&[3, 1], 1), [3, 1]);
        assert!(greatest(&[3, 1], 3).is_empty());
    }

    #[test]
    fn intervals_from_seen_spans_hold_as_often_as_stated() {
        let (mut held, mut all) = (0, 0);
        for seed in 0..400_u64 {
            let mut random = Random::new(seed);
            let block = |_| {
                let max_ns = 20_000 + random.below(9_000) as u64;
                Block { length_ns: 60, samples: 1, max_ns, least_ns: 9, highest: vec![(max_ns, 1)], ..Block::default() }
            };
            let drawn: Vec<Block> = (0..210).map(block).collect();
            let (first, next) = drawn.split_at(200);
            let blocks = Blocks::from_runs(vec![first.to_vec()]);
            for minutes in [1, 3, 5_usize] {
                let horizon_ns = 60 * minutes as u64;
                let found =
                    worst_of_spans(&blocks, HorizonQuestion { horizon_ns, alike_ns: 60.0, level: 0.9 }).unwrap();
                let came = next.iter().take(minutes).map(|block| approx_f64(block.max_ns)).fold(0.0, f64::max);
                all += 1;
                held += u32::from((found.low..=found.high).contains(&came));
            }
        }
        assert!(held * 100 >= all * 90, "{held} of {all}");
    }

    #[test]
    fn too_few_spans_give_no_answer_and_a_part_of_an_interval_is_bounded_by_the_interval() {
        let block = |max_ns: u64| Block { length_ns: 60, samples: 2, max_ns, least_ns: 7, ..Block::default() };
        let blocks = Blocks::from_runs(vec![(0..120).map(|at| block(20 + at)).collect()]);
        let predicted =
            |horizon_ns: u64| worst_of_spans(&blocks, HorizonQuestion { horizon_ns, alike_ns: 60.0, level: 0.9 });
        assert_eq!(predicted(60 * 4), None);
        assert!(predicted(60 * 3).is_some());
        let (part, whole) = (predicted(1).unwrap(), predicted(60).unwrap());
        assert_eq!((part.high.to_bits(), part.low.to_bits()), (whole.high.to_bits(), 7.0_f64.to_bits()));
    }
}
