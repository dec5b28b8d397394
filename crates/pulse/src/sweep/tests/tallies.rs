//! How schedules are counted.

use proptest::prelude::*;

use super::*;

const RUN: OrderRun = OrderRun { number: 7, cycle_ns: MS, lead_ns: 200 * US, orders: 10_000 };

const fn armed(us: u64) -> BoardShown {
    BoardShown::Armed { needed_ns: us * US }
}

#[test]
fn a_schedule_is_missed_if_any_board_misses_it() {
    let mut tally = Tally::new(&RUN, 2);
    assert_eq!(tally.take(MS, &[armed(150), armed(200)]), Ok(Trial::InTime));
    assert_eq!(tally.take(2 * MS, &[armed(201), armed(150)]), Ok(Trial::Late));
    // No lead mends it, whatever the other board needed.
    assert_eq!(tally.take(3 * MS, &[BoardShown::Lost, armed(900)]), Ok(Trial::Lost));
    assert_eq!(tally.take(3 * MS, &[armed(1), armed(1)]), Err(TallyError::Backwards(3 * MS)));
    assert_eq!(tally.take(4 * MS, &[armed(1)]), Err(TallyError::Boards { boards: 2, got: 1 }));
    let outcome = tally.finish(3 * MS);
    assert_eq!((outcome.number, outcome.orders, outcome.lost, outcome.late), (7, 3, 1, 1));
    assert_eq!(outcome.needed.unwrap().worst_ns, 201 * US);
    let board = |lost, late, us: u64| BoardCount { lost, late, worst_ns: Some(us * US) };
    assert_eq!(outcome.boards, [board(1, 1, 201), board(0, 1, 900)]);
    assert_eq!(outcome.check(&RUN, 2), Ok(()));
}

#[test]
fn misses_less_than_a_second_apart_are_one_burst() {
    let mut tally = Tally::new(&RUN, 1);
    // Each 999 ms from the one before: one burst. The next one is a second after it, and another.
    for at_ms in [1_000, 1_999, 2_998, 3_998, 3_999] {
        tally.take(at_ms * MS, &[BoardShown::Lost]).unwrap();
    }
    tally.take(5_000 * MS, &[armed(1)]).unwrap();
    let outcome = tally.finish(5 * S);
    assert_eq!(outcome.bursts, 2);
    assert_eq!(outcome.longest_burst, Some(Burst { misses: 3, span_ns: 1_998 * MS }));
}

#[test]
fn quantiles_are_those_of_the_slowest_board() {
    let mut tally = Tally::new(&OrderRun { lead_ns: 5 * MS, ..RUN }, 2);
    for order in 1..=1_000 {
        tally.take(order * MS, &[armed(order), armed(10)]).unwrap();
    }
    let needed = tally.finish(S).needed.unwrap();
    assert_eq!(needed.worst_ns, MS);
    let is_near = |ns: u64, us: u64| ns.abs_diff(us * US) <= us * 3;
    assert!(is_near(needed.p50_ns, 500) && is_near(needed.p99_ns, 990) && is_near(needed.p999_ns, 999), "{needed:?}");
}

/// Each number by itself, in an outcome that is possible otherwise: 5 misses of 1,000 orders in two bursts, the longer of 4.
#[test]
fn what_cannot_be_is_refused_with_what_contradicts_it() {
    let good = || Outcome {
        bursts: 2,
        longest_burst: Some(Burst { misses: 4, span_ns: 3 * MS }),
        ..outcome(&RUN, 1_000, 300 * US, (2, 3))
    };
    assert_eq!(good().check(&RUN, 1), Ok(()));
    let refused = |change: &dyn Fn(&mut Outcome)| {
        let mut changed = good();
        change(&mut changed);
        let Err(OutcomeError::Contradiction(what)) = changed.check(&RUN, 1) else { panic!("taken: {changed:?}") };
        what
    };
    let is_burst = |misses: u64, span_ns: u64| {
        refused(&|outcome| outcome.longest_burst = Some(Burst { misses, span_ns })).contains("bursts")
    };
    assert!(refused(&|outcome| outcome.orders = 0).contains("no order"));
    assert!(refused(&|outcome| outcome.orders = 10_001).contains("more orders"));
    assert!(refused(&|outcome| outcome.late = 999).contains("more misses"));
    assert!(refused(&|outcome| outcome.lost = u64::MAX).contains("more misses"));
    assert!(refused(&|outcome| outcome.needed = None).contains("lost orders alone"));
    assert!(refused(&|outcome| outcome.needed.as_mut().unwrap().p50_ns = MS).contains("quantile"));
    assert!(refused(&|outcome| outcome.needed.as_mut().unwrap().worst_ns = 200 * US).contains("late"));
    assert!(refused(&|outcome| outcome.late = 0).contains("late"));
    assert!(refused(&|outcome| outcome.longest_burst = None).contains("bursts"));
    assert!(refused(&|outcome| outcome.bursts = 1).contains("bursts"));
    assert!(refused(&|outcome| outcome.bursts = 3).contains("bursts"));
    // More or fewer misses than there are, and a burst that is too short for its misses or longer than the run.
    assert!(is_burst(5, 4 * MS) && is_burst(2, MS) && is_burst(0, 0) && is_burst(4, 2 * MS) && is_burst(4, 1_000 * MS));
    assert!(refused(&|outcome| outcome.boards.clear()).contains("number of boards"));
    assert!(refused(&|outcome| outcome.boards[0].lost = 1).contains("make those"));
    assert!(refused(&|outcome| outcome.boards[0].late = 2).contains("make those"));
    assert!(refused(&|outcome| outcome.boards[0].lost = 3).contains("make those"));
    assert!(refused(&|outcome| outcome.boards[0].worst_ns = None).contains("make those"));
}

/// From orders to the conclusion, order by order: three boards, of which the second is slower and loses one order in a hundred of
/// cycles of 1 ms.
#[test]
fn a_sweep_of_three_boards_names_the_one_that_fails() {
    let mut random = Random::new(5);
    let mut sweep =
        Sweep::new(SweepPlan { cycles_ns: vec![MS, 2 * MS], max_miss: 1e-3, explore_ns: 10 * S, boards: 3, ..plan() })
            .unwrap();
    while let Some(run) = sweep.next().run().copied() {
        let mut tally = Tally::new(&run, 3);
        for order in 1..=run.orders {
            let is_lost = run.cycle_ns == MS && random.unit() < 0.01;
            let second = if is_lost { BoardShown::Lost } else { armed(250 + random.next() % 30) };
            tally.take(order * run.cycle_ns, &[armed(100 + random.next() % 30), second, armed(90)]).unwrap();
        }
        sweep.take(&tally.finish(run.time_ns())).unwrap();
    }
    let Step::Done(conclusion) = sweep.next() else { panic!("not ended") };
    let Answer::Loses(failure) = &conclusion.cycles[0].answer else { panic!("{conclusion:?}") };
    assert_eq!(failure.boards.iter().map(|board| board.lost).collect::<Vec<_>>(), [0, failure.lost, 0]);
    assert!(failure.miss_rate_at_least > 0.005 && failure.miss_rate_at_least < 0.01, "{failure:?}");
    let Answer::Holds(claim) = &conclusion.cycles[1].answer else { panic!("{conclusion:?}") };
    assert_eq!((claim.lead_ns, claim.needed.worst_ns), (289 * US, 279 * US));
    let worst: Vec<Option<u64>> = claim.boards.iter().map(|board| board.worst_ns).collect();
    assert_eq!(worst, [Some(129 * US), Some(279 * US), Some(90 * US)]);
}

proptest! {
    /// Whatever boards do, their count is one that a sweep takes.
    #[test]
    fn every_count_is_possible(
        shown in prop::collection::vec(prop::array::uniform3(prop_oneof![
            4 => (0_u64..400).prop_map(armed),
            1 => Just(BoardShown::Lost),
            1 => any::<u64>().prop_map(|needed_ns| BoardShown::Armed { needed_ns }),
        ]), 1..200),
    ) {
        let mut tally = Tally::new(&RUN, 3);
        let mut misses = 0;
        for (order, boards) in (1_u64..).zip(&shown) {
            misses += u64::from(tally.take(order * RUN.cycle_ns, boards) != Ok(Trial::InTime));
        }
        let outcome = tally.finish(S);
        prop_assert_eq!(outcome.misses(), misses);
        prop_assert_eq!(outcome.check(&RUN, 3), Ok(()), "{:?}", outcome);
        let more = Outcome { late: outcome.late + outcome.orders, ..outcome };
        prop_assert!(more.check(&RUN, 3).is_err());
    }
}
