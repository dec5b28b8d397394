use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn line(pulses: &[(u64, i64)]) -> Vec<NumberedPulse> {
    pulses.iter().map(|(number, start_ps)| NumberedPulse { number: *number, start_ps: *start_ps }).collect()
}

#[test]
fn a_shift_is_the_second_line_less_the_first_one_order_by_order() {
    let first = line(&[(3, 0), (10, 10_000), (11, 20_000), (13, 40_000), (14, 50_000), (20, 110_000)]);
    let second = line(&[(10, 11_000), (12, 31_000), (13, 37_000), (14, 50_000), (15, 60_000), (16, 70_000)]);
    let shift = Shift::between(&first, &second, CaptureError { resolution_ps: Some(40), rate_ppb: Some(0) }).unwrap();
    assert_eq!((shift.count, shift.min_ps, shift.max_ps, shift.error_ps), (3, -3_000, 1_000, Some(40)));
    assert!((shift.mean_ps + 2_000.0 / 3.0).abs() < 1e-9);
    assert_eq!(shift.farthest, ShiftOfOrder { number: 13, at_ps: 40_000, shift_ps: -3_000 });
    assert_eq!((shift.only_first, shift.only_second, shift.neither, shift.outside), (1, 1, 0, [2, 2]));
    assert_eq!((shift.later.count(), shift.later.max_ns(), shift.earlier.max_ns()), (2, Some(1), Some(3)));
    assert_eq!(shift.blocks.len(), 3);
    // 1 000, -3 000 and 0: without their signs, and how they scatter.
    assert_eq!((shift.nearest_ps, shift.span_ps), (0, 40_000));
    assert!((shift.mean_distance_ps - 4_000.0 / 3.0).abs() < 1e-9, "{shift:?}");
    let squares: f64 = [1_000.0_f64, -3_000.0, 0.0].iter().map(|ps| (ps + 2_000.0 / 3.0).powi(2)).sum();
    assert!((shift.deviation_ps - (squares / 3.0).sqrt()).abs() < 1e-9, "{shift:?}");
}

#[test]
fn lines_without_a_common_order_have_no_shift() {
    assert_eq!(Shift::between(&line(&[(1, 0), (3, 9)]), &line(&[(2, 0), (4, 9)]), CaptureError::default()), None);
    assert_eq!(Shift::between(&line(&[(1, 0)]), &[], CaptureError::default()), None);
    assert_eq!(
        Shift::between(&line(&[(1, 5)]), &line(&[(1, 7)]), CaptureError::default()).map(|shift| shift.max_ps),
        Some(2)
    );
}

#[test]
fn blocks_are_at_most_a_thousand_and_of_a_plain_length() {
    for (span_ps, block_ps) in
        [(0, 1), (999, 1), (1_000, 2), (3_600_000_000_000_000, 5_000_000_000_000), (4_999, 5), (5_000, 10)]
    {
        assert_eq!(block_length_ps(span_ps), block_ps, "{span_ps}");
    }
    assert!(block_length_ps(i64::MAX) >= i64::MAX / 1_000);
}

#[test]
fn the_error_of_a_shift_has_the_capture_s_resolution_and_what_its_clock_gains_or_loses_meanwhile() {
    let error_ps = |rate_ppb: Option<i64>, shift_ps: i64| {
        CaptureError { resolution_ps: Some(10_000), rate_ppb }.of_shift_ps(shift_ps)
    };
    assert_eq!(error_ps(Some(0), 50_300_000), Some(10_000));
    // 50 ppm of 20 ms are 1 us; 1 % of 49.8 us are 498 ns.
    assert_eq!(error_ps(Some(-50_000), 20_000_000_000), Some(1_010_000));
    assert_eq!(error_ps(Some(-10_000_000), -49_800_000), Some(508_000));
    assert_eq!(error_ps(None, 100_000_000), Some(2_010_000), "unknown: 2 %");
    assert_eq!(error_ps(Some(i64::MIN), i64::MIN), Some(i64::MAX));
    assert_eq!(CaptureError { resolution_ps: None, rate_ppb: Some(0) }.of_shift_ps(1), None);
    // The shift that is farthest from none has the largest.
    let (first, second) = (line(&[(0, 0), (1, 1_000_000_000)]), line(&[(0, 1_000_000), (1, 980_000_000)]));
    let shift =
        Shift::between(&first, &second, CaptureError { resolution_ps: Some(5), rate_ppb: Some(1_000_000) }).unwrap();
    assert_eq!((shift.farthest.shift_ps, shift.error_ps), (-20_000_000, Some(20_005)));
}

#[test]
fn the_capture_s_rate_is_that_of_its_numbers() {
    let pulses = line(&[(5, 100), (1_005, 100 + 1_000_130_000)]);
    assert_eq!(capture_rate_ppb(&pulses, 1_000_000), Some(130_000));
    assert_eq!(capture_rate_ppb(&pulses[..1], 1_000_000), None);
}

fn pulses() -> impl Strategy<Value = Vec<(u64, i64)>> {
    let one = prop_oneof![3 => Just(None), 10 => (-900_000..900_000_i64).prop_map(Some)];
    prop::collection::vec(one, 0..400).prop_map(|all| {
        let shown = all
            .into_iter()
            .zip(0_u64..)
            .filter_map(|(off, number)| Some((number, i64::try_from(number).ok()? * 2_000_000 + off?)));
        shown.collect()
    })
}

proptest! {
    /// Against a map of numbers: each order is in exactly one count, nothing is lost in the blocks or the histograms.
    #[test]
    fn each_order_is_counted_once(first in pulses(), second in pulses()) {
        let [ours, theirs] = [&first, &second].map(|line| line.iter().copied().collect::<BTreeMap<u64, i64>>());
        let shifts: Vec<(u64, i64)> = ours.iter().filter_map(|(number, at)| Some((*number, theirs.get(number)? - at))).collect();
        let found = Shift::between(&line(&first), &line(&second), CaptureError::default());
        let Some(shift) = found else {
            prop_assert!(shifts.is_empty());
            return Ok(());
        };
        prop_assert_eq!(shift.count, shifts.len() as u64);
        prop_assert_eq!(shift.min_ps, shifts.iter().map(|one| one.1).min().unwrap());
        prop_assert_eq!(shift.max_ps, shifts.iter().map(|one| one.1).max().unwrap());
        let mean = units::approx_f64_i64(shifts.iter().map(|one| one.1).sum()) / units::approx_f64(shift.count);
        prop_assert!((shift.mean_ps - mean).abs() < 1e-3);
        prop_assert_eq!(shift.farthest.shift_ps.abs(), shifts.iter().map(|one| one.1.abs()).max().unwrap());
        prop_assert!(shifts.contains(&(shift.farthest.number, shift.farthest.shift_ps)));
        let orders = shifts.last().unwrap().0 - shifts[0].0 + 1;
        prop_assert_eq!(shift.count + shift.only_first + shift.only_second + shift.neither, orders);
        prop_assert_eq!(shift.count + shift.only_first + shift.outside[0], first.len() as u64);
        prop_assert_eq!(shift.count + shift.only_second + shift.outside[1], second.len() as u64);
        prop_assert_eq!(shift.blocks.iter().map(|block| block.count).sum::<u64>(), shift.count);
        prop_assert!(shift.blocks.len() <= 1_000 && shift.blocks.windows(2).all(|pair| pair[0].from_ps < pair[1].from_ps));
        prop_assert_eq!(shift.blocks.iter().map(|block| block.max_ps).max(), Some(shift.max_ps));
        prop_assert_eq!(shift.later.count() + shift.earlier.count(), shift.count);
    }
}
