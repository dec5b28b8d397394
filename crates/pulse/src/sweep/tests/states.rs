//! Which step follows which.

use super::*;

/// Takes the run that is next with a worst lead that was needed and so many misses, and returns it.
fn take(sweep: &mut Sweep, worst_ns: u64, misses: (u64, u64)) -> Step {
    let step = sweep.next().clone();
    let run = *step.run().unwrap();
    sweep.take(&outcome(&run, run.orders, worst_ns, misses)).unwrap();
    step
}

#[test]
fn a_cycle_is_explored_twice_and_confirmed_with_a_raised_lead_until_one_holds() {
    let mut sweep = Sweep::new(SweepPlan { cycles_ns: vec![MS, 500 * US], ..plan() }).unwrap();
    // The shortest cycle first, in whatever order they were given.
    let first = take(&mut sweep, 290_400, (0, 0));
    let run = OrderRun { number: 1, cycle_ns: 500 * US, lead_ns: 10 * MS, orders: 120_000 };
    assert_eq!(first, Step::Explore { run, phase: Phase::Longest });
    let second = take(&mut sweep, 285 * US, (0, 0));
    let run = OrderRun { number: 2, cycle_ns: 500 * US, lead_ns: 301 * US, orders: 120_000 };
    assert_eq!(second, Step::Explore { run, phase: Phase::Alone });
    let Step::Confirm { run, alpha_spent } = take(&mut sweep, 350 * US, (0, 2)) else { panic!() };
    assert_eq!((run.lead_ns, run.orders), (301 * US, 529_832));
    assert!((alpha_spent - 0.005).abs() < 1e-12);
    // Half of what is left, and so ln 2 / 1e-5 orders more.
    let Step::Confirm { run, alpha_spent } = take(&mut sweep, 355 * US, (0, 0)) else { panic!() };
    assert_eq!((run.lead_ns, run.orders), (360 * US, 599_147));
    assert!((alpha_spent - 0.0025).abs() < 1e-12);
    // The next cycle begins anew, and its attempt takes the next part.
    take(&mut sweep, 100 * US, (0, 0));
    take(&mut sweep, 100 * US, (0, 0));
    let Step::Confirm { run, alpha_spent } = take(&mut sweep, 100 * US, (1, 0)) else { panic!() };
    assert_eq!((run.cycle_ns, run.lead_ns), (MS, 110 * US));
    assert!((alpha_spent - 0.00125).abs() < 1e-12);
    let Step::Done(conclusion) = sweep.next() else { panic!("{:?}", sweep.next()) };
    let Answer::Holds(claim) = &conclusion.cycles[0].answer else { panic!("{conclusion:?}") };
    assert_eq!((claim.lead_ns, claim.orders, claim.time_ns), (360 * US, 599_147, 599_147 * 500 * US));
    assert_eq!(claim.burst_interval_ns / S, 50);
    assert_eq!(claim.longest_burst, Some(Burst { misses: 2, span_ns: 500 * US }));
    assert!((claim.miss_rate_below_in_bursts - 2e-5).abs() < 1e-9, "{claim:?}");
    assert_eq!(claim.load, "stress");
    // A single loss fails the cycle, and is not more than it is.
    let Answer::Loses(failure) = &conclusion.cycles[1].answer else { panic!("{conclusion:?}") };
    assert!(failure.is_of_attempt && !failure.is_shown_worse && failure.lost == 1);
    assert!((conclusion.alpha_spent - 0.00875).abs() < 1e-12);
}

#[test]
fn what_it_takes_is_known_beforehand() {
    let sweep = Sweep::new(plan()).unwrap();
    let forecast = sweep.forecast();
    let first = forecast.cycles[0];
    assert_eq!((first.cycle_ns, first.explore_ns), (250 * US, 120 * S));
    assert_eq!((first.confirm_orders, first.confirm_ns / S), (529_832, 132));
    assert!((first.fails_though_ten_times_better - 0.4113).abs() < 1e-3);
    let last = forecast.cycles[3];
    assert_eq!((last.confirm_orders, last.confirm_ns / S), (737_776, 1_475));
    // 45 minutes and four times two minutes of explorations.
    assert_eq!(forecast.total_ns / S, 480 + 132 + 299 + 668 + 1_475 + 2);
}

#[test]
fn a_sweep_without_time_says_what_it_did_not_find_out() {
    let needed = SweepError::Budget { needed_ns: 252_458 * MS, budget_ns: 252 * S };
    assert_eq!(Sweep::new(SweepPlan { budget_ns: 252 * S, ..plan() }).err(), Some(needed.clone()));
    // What is needed reads as more than what is allowed, with what to do about it.
    let said = needed.to_string();
    assert!(said.contains("takes 253 s") && said.contains("252 s are allowed") && said.contains("--budget"), "{said}");
    // Enough for the first attempt, which fails.
    let mut sweep = Sweep::new(SweepPlan { budget_ns: 300 * S, ..plan() }).unwrap();
    take(&mut sweep, 100 * US, (0, 0));
    take(&mut sweep, 100 * US, (0, 0));
    take(&mut sweep, 130 * US, (0, 1));
    let Step::Done(conclusion) = sweep.next() else { panic!("{:?}", sweep.next()) };
    let left_ns = 300 * S - 252_458 * MS;
    for (cycle, lead_ns) in conclusion.cycles.iter().zip([Some(140 * US), None, None, None]) {
        let Answer::OutOfTime { needed_ns, left_ns: left, lead_ns: tried_ns } = cycle.answer else {
            panic!("{cycle:?}")
        };
        assert!(needed_ns > left && left == left_ns && tried_ns == lead_ns, "{cycle:?}");
    }
    assert_eq!(conclusion.spent_ns, 252_458 * MS);
}

#[test]
fn orders_that_were_taken_already_are_not_fresh() {
    let mut sweep = Sweep::new(plan()).unwrap();
    let run = *sweep.next().run().unwrap();
    let explored = outcome(&run, run.orders, 200 * US, (0, 0));
    sweep.take(&explored).unwrap();
    assert_eq!(sweep.take(&explored), Err(OutcomeError::WrongRun { asked: 2, got: 1 }));
    take(&mut sweep, 200 * US, (0, 0));
    // An attempt that was ended without a miss shows nothing, and does not end it.
    let step = sweep.next().clone();
    let run = *step.run().unwrap();
    let ended = outcome(&run, run.orders - 1, 200 * US, (0, 0));
    assert_eq!(sweep.take(&ended), Err(OutcomeError::Incomplete { orders: 529_831, asked: 529_832 }));
    assert_eq!(*sweep.next(), step);
    // Carried out again it takes a part of the chance anew, and so more orders.
    sweep.discard(run.time_ns());
    let Step::Confirm { run: again, alpha_spent } = *sweep.next() else { panic!("{:?}", sweep.next()) };
    assert_eq!((again.number, again.lead_ns, again.orders), (run.number + 1, run.lead_ns, 599_147));
    assert!((alpha_spent - 0.0025).abs() < 1e-12, "{alpha_spent}");
    assert_eq!(
        sweep.take(&outcome(&run, run.orders, 200 * US, (0, 0))),
        Err(OutcomeError::WrongRun { asked: 4, got: 3 })
    );
    let run = again;
    // One with a miss ends it.
    sweep.take(&outcome(&run, 17, 260 * US, (0, 1))).unwrap();
    assert_eq!(sweep.next().run().unwrap().lead_ns, 270 * US);
}

#[test]
fn what_was_confirmed_before_a_sweep_was_ended_stands() {
    let mut sweep = Sweep::new(plan()).unwrap();
    (0..3).for_each(|_| drop(take(&mut sweep, 200 * US, (0, 0))));
    take(&mut sweep, 300 * US, (0, 0));
    sweep.stop("a node could not be reached");
    let Step::Done(conclusion) = sweep.next() else { panic!("{:?}", sweep.next()) };
    assert_eq!(conclusion.claims().map(|claim| claim.cycle_ns).collect::<Vec<_>>(), [250 * US]);
    let leads: Vec<_> = conclusion.cycles[1..]
        .iter()
        .map(|cycle| match &cycle.answer {
            Answer::Stopped { why, lead_ns } if why == "a node could not be reached" => {
                (cycle.explored.len(), *lead_ns)
            }
            answer => panic!("{answer:?}"),
        })
        .collect();
    assert_eq!(leads, [(1, Some(310 * US)), (0, None), (0, None)]);
    // Nothing more is asked for.
    let ended = sweep.next().clone();
    sweep.stop("again");
    sweep.discard(1);
    assert_eq!(*sweep.next(), ended);
}

#[test]
fn what_cannot_be_swept_is_refused() {
    let refused = |change: fn(&mut SweepPlan)| {
        let mut changed = plan();
        change(&mut changed);
        Sweep::new(changed).err()
    };
    assert_eq!(refused(|_| ()), None);
    assert_eq!(refused(|plan| plan.cycles_ns.clear()), Some(SweepError::Cycles(0)));
    assert_eq!(refused(|plan| plan.cycles_ns.push(0)), Some(SweepError::Cycle(0)));
    assert_eq!(refused(|plan| plan.cycles_ns.push(u64::MAX)), Some(SweepError::Cycle(u64::MAX)));
    assert_eq!(refused(|plan| plan.cycles_ns.push(MS)), Some(SweepError::Twice(MS)));
    assert_eq!(refused(|plan| plan.max_miss = 0.0), Some(SweepError::MaxMiss(0.0)));
    assert!(matches!(refused(|plan| plan.max_miss = f64::NAN), Some(SweepError::MaxMiss(_))));
    assert_eq!(refused(|plan| plan.confidence = 1.0), Some(SweepError::Confidence(1.0)));
    assert!(matches!(refused(|plan| plan.margin_ns = 0), Some(SweepError::Lead { .. })));
    assert!(matches!(refused(|plan| plan.max_lead_ns = 10 * US), Some(SweepError::Lead { .. })));
    assert!(matches!(refused(|plan| plan.max_lead_ns = u64::MAX), Some(SweepError::Lead { .. })));
    assert_eq!(refused(|plan| plan.nodes = 0), Some(SweepError::Nodes(0)));
    assert_eq!(refused(|plan| plan.explore_ns = u64::MAX), Some(SweepError::Explore(u64::MAX)));
    assert_eq!(refused(|plan| plan.budget_ns = u64::MAX), Some(SweepError::Time(u64::MAX)));
}

#[test]
fn one_stall_does_not_show_that_a_cycle_is_worse_than_allowed() {
    let mut sweep = Sweep::new(SweepPlan { cycles_ns: vec![500 * US], ..plan() }).unwrap();
    // 20 orders that are lost together end no exploration, though 20 by themselves would.
    take(&mut sweep, 290 * US, (20, 0));
    assert!(matches!(sweep.next(), Step::Explore { run, .. } if run.number == 2), "{:?}", sweep.next());
    take(&mut sweep, 290 * US, (0, 0));
    take(&mut sweep, 290 * US, (24, 0));
    let Step::Done(conclusion) = sweep.next() else { panic!("{:?}", sweep.next()) };
    let Answer::Loses(failure) = &conclusion.cycles[0].answer else { panic!("{conclusion:?}") };
    assert_eq!((failure.orders, failure.lost, failure.assumed_burst_misses), (529_832, 24, 24));
    assert!(failure.miss_rate_at_least > 2e-5 && failure.miss_rate_at_least_in_bursts < 1e-6, "{failure:?}");
    assert!(!failure.is_shown_worse);
    assert_eq!(conclusion.verdict(), SweepVerdict::CannotTell);
}

#[test]
fn a_lead_is_too_short_only_where_the_largest_one_was_tried() {
    let mut sweep = Sweep::new(SweepPlan { cycles_ns: vec![500 * US], ..plan() }).unwrap();
    take(&mut sweep, 300 * US, (0, 0));
    take(&mut sweep, 300 * US, (0, 0));
    // A stall of 12 ms: 24 orders need more than the 310 us that they had, four of them more than the largest lead, 10 ms.
    let Step::Confirm { run, .. } = take(&mut sweep, 12 * MS, (0, 24)) else { panic!("{sweep:?}") };
    assert_eq!(run.lead_ns, 310 * US);
    let Step::Confirm { run, .. } = take(&mut sweep, 12 * MS, (0, 4)) else { panic!("{sweep:?}") };
    assert_eq!(run.lead_ns, 10 * MS);
    let Step::Done(conclusion) = sweep.next() else { panic!("{:?}", sweep.next()) };
    let Answer::TooLate(failure) = &conclusion.cycles[0].answer else { panic!("{conclusion:?}") };
    assert_eq!((failure.lead_ns, failure.late, failure.worst_ns), (10 * MS, 4, Some(12 * MS)));
    assert!(!failure.is_shown_worse, "{failure:?}");
}

#[test]
fn a_sweep_is_broken_only_where_every_cycle_is_shown_to_fail() {
    let verdict = |cycles_ns: Vec<u64>, misses: &[(u64, u64)], is_ended: bool| {
        let mut sweep = Sweep::new(SweepPlan { cycles_ns, ..plan() }).unwrap();
        for (lost, late) in misses {
            let worst_ns = if *late > 0 { 11 * MS } else { 100 * US };
            take(&mut sweep, worst_ns, (*lost, *late));
        }
        if is_ended {
            sweep.stop("it was ended");
        }
        let Step::Done(conclusion) = sweep.next() else { panic!("{:?}", sweep.next()) };
        conclusion.verdict()
    };
    let (kept, lost, late) = ([(0, 0); 3], [(60_000, 0)], [(0, 60_000)]);
    let one_lost = [(0, 0), (0, 0), (1, 0)];
    assert_eq!(verdict(vec![MS], &kept, false), SweepVerdict::Holds);
    assert_eq!(verdict(vec![MS], &lost, false), SweepVerdict::Broken);
    assert_eq!(verdict(vec![MS], &late, false), SweepVerdict::Broken);
    // One that is lost shows nothing of what is allowed, and leaves open whether a lead suffices.
    assert_eq!(verdict(vec![MS], &one_lost, false), SweepVerdict::CannotTell);
    let both = |first: &[(u64, u64)], second: &[(u64, u64)]| [first, second].concat();
    assert_eq!(verdict(vec![MS, 2 * MS], &both(&[(30_000, 0)], &one_lost), false), SweepVerdict::CannotTell);
    assert_eq!(verdict(vec![MS, 2 * MS], &both(&one_lost, &kept), false), SweepVerdict::Holds);
    // What was ended is not what was asked for.
    assert_eq!(verdict(vec![MS, 2 * MS], &kept, true), SweepVerdict::CannotTell);
}
