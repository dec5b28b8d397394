//! Properties of predictions that hold for every run.

use proptest::prelude::*;

use crate::tail::blocks::{Block, Blocks};
use crate::tail::judge::{Effort, Judgment};
use crate::tail::simulate::{Kind, Length, process};
use units::Random;

const EFFORT: Effort = Effort { resamples: 200, seed: 1 };

/// The same blocks with every latency multiplied by `factor` and then increased by `shift_ns`.
fn moved(blocks: &Blocks, factor: u64, shift_ns: u64) -> Blocks {
    let mut blocks = blocks.clone();
    for block in &mut blocks.blocks {
        block.max_ns = block.max_ns * factor + shift_ns;
        block.highest.iter_mut().for_each(|(value, _)| *value = *value * factor + shift_ns);
    }
    blocks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn predictions_scale_and_shift_with_the_latencies(seed in 0_u64..200, factor in 1_u64..50, shift_ns in 0_u64..1_000_000) {
        let process = process(Kind::Exponential, Length::Times(1), seed);
        let (plain, other) = (&process.whole, moved(&process.whole, factor, shift_ns));
        let (one, two) = (Judgment::new(plain, None, &EFFORT), Judgment::new(&other, None, &EFFORT));
        let codes = |judged: &Judgment| judged.refusals.iter().map(|refusal| refusal.code).collect::<Vec<_>>();
        prop_assert_eq!(codes(&one), codes(&two));
        let horizon_ns = plain.measured_ns() * 9;
        if let (Some(a), Some(b)) = (one.prediction(1.0), two.prediction(1.0)) {
            if let (Ok(a), Ok(b)) = (one.expected(&a, horizon_ns, 0.9), two.expected(&b, horizon_ns, 0.9)) {
                let (factor, shift) = (units::approx_f64(factor), units::approx_f64(shift_ns));
                for (a, b) in [(a.low, b.low), (a.typical, b.typical), (a.high, b.high)] {
                    prop_assert!((a * factor + shift - b).abs() <= 1e-4 * b, "{} {}", a * factor + shift, b);
                }
                prop_assert!(a.low <= a.typical && a.typical <= a.high);
            }
        }
    }

    #[test]
    fn a_longer_horizon_never_has_a_better_worst_case(seed in 0_u64..200) {
        let process = process(Kind::Bounded, Length::Times(1), seed);
        let judged = Judgment::new(&process.whole, None, &EFFORT);
        if let Some(prediction) = judged.prediction(1.0) {
            let each = [1.0, 5.0, 50.0, 500.0].map(|blocks| prediction.expected(blocks, 0.9));
            for pair in each.windows(2) {
                prop_assert!(pair[0].high <= pair[1].high + 1.0 && pair[0].low <= pair[1].low + 1.0);
            }
            let limit = each[1].high;
            prop_assert!(prediction.chance_beyond(limit, 5.0) <= prediction.chance_beyond(limit, 50.0) + 1e-9);
            prop_assert!(prediction.chance_beyond(limit, 5.0) <= 0.051, "5 % lie above a 90 % interval");
        }
    }

    #[test]
    fn odd_blocks_are_judged_without_a_panic(
        values in proptest::collection::vec((any::<u64>(), any::<u64>(), 0_u64..4), 0..120), length_ns in any::<u64>(), cut in 0_usize..120,
    ) {
        let block = |&(value, count, kind): &(u64, u64, u64)| {
            let value = match kind { 0 => 0, 1 => value, 2 => value % 7, _ => u64::MAX };
            Block { length_ns, samples: count, max_ns: value, highest: vec![(value, count.clamp(1, 24))], ..Block::default() }
        };
        let blocks: Vec<Block> = values.iter().map(block).collect();
        let (first, second) = blocks.split_at(cut.min(blocks.len()));
        let judged = Judgment::new(&Blocks::from_runs(vec![first.to_vec(), second.to_vec()]), None, &EFFORT);
        if let Some(prediction) = judged.prediction(1.0) {
            let _ = judged.expected(&prediction, 1, 0.9);
            let _ = judged.expected(&prediction, u64::MAX, 0.9);
        }
    }
}

/// Delays with a uniform distribution up to a maximum. The fits end at the maximum. The answer reaches a little beyond
/// it, since another delay may add to it. The delays are recognized as one distribution.
#[test]
fn a_tail_with_an_abrupt_end_is_predicted_with_a_margin_above() {
    let most_ns = 30_000.0;
    let mut answered = 0;
    for seed in 0..10 {
        let mut random = Random::new(seed);
        let block = |_| {
            let mut values: Vec<u64> = (0..12).map(|_| units::round_u64(10_000.0 + 20_000.0 * random.unit())).collect();
            values.sort_unstable_by(|a, b| b.cmp(a));
            let highest: Vec<(u64, u64)> = values.iter().map(|&value| (value, 1)).collect();
            Block { length_ns: 1_000_000, samples: 12, max_ns: values[0], highest, ..Block::default() }
        };
        let blocks = Blocks::from_runs(vec![(0..120).map(block).collect()]);
        let judged = Judgment::new(&blocks, None, &EFFORT);
        let prediction = judged.prediction(1.0).unwrap_or_else(|| panic!("{:?}", judged.refusals));
        let Ok(expected) = judged.expected(&prediction, blocks.measured_ns() * 9, 0.9) else { continue };
        answered += 1;
        assert!(expected.low <= most_ns, "{expected:?}");
        assert!((most_ns + 1_000.0..most_ns + 6_000.0).contains(&expected.high), "{expected:?}");
    }
    assert!(answered >= 8, "{answered} of 10 answered");
}

#[test]
fn an_unchanging_process_is_called_changed_no_more_often_than_the_level_allows() {
    // Neighbors with a correlation of 0 (independent values) and of 0.5 (the sum of two consecutive values).
    for (correlated, bound) in [(false, 14), (true, 20)] {
        let alarms = (0..400_u64)
            .filter(|&seed| {
                let mut random = Random::new(seed ^ 0xabcd_0000);
                let mut last = random.below(1_000_000);
                let blocks = (0..120).map(|_| {
                    let next = random.below(1_000_000);
                    let value = if correlated { next + last } else { next };
                    last = next;
                    let max_ns = value as u64;
                    Block { length_ns: 1_000, samples: 1, max_ns, highest: vec![(max_ns, 1)], ..Block::default() }
                });
                let order = crate::tail::stationarity::order(&Blocks::from_runs(vec![blocks.collect()]));
                order.level_p < 0.01 || order.highest_p < 0.01
            })
            .count();
        println!("correlated {correlated}: {alarms} of 400");
        assert!(alarms <= bound, "{alarms} of 400");
    }
}
