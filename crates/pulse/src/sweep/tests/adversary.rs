//! Nodes that make it hard.

use proptest::prelude::*;

use super::*;

/// Nodes whose runs are made by a function.
struct By<F>(F);

impl<F: FnMut(&Step, &mut Random) -> Outcome> Nodes for By<F> {
    fn carry_out(&mut self, step: &Step, random: &mut Random) -> Outcome {
        (self.0)(step, random)
    }
}

/// A run of which every order needs the same.
fn constant(step: &Step, needed_ns: u64) -> Outcome {
    let run = step.run().unwrap();
    if needed_ns <= run.lead_ns {
        return outcome(run, run.orders, needed_ns, (0, 0));
    }
    let orders = if matches!(step, Step::Confirm { .. }) { 1 } else { run.orders };
    outcome(run, orders, needed_ns, (0, orders))
}

#[test]
fn each_cycle_has_a_lead_of_its_own() {
    // The longer the cycle, the longer the node has slept; and at 250 us it does not come to rest.
    let needed_ns = |cycle_ns: u64| match cycle_ns {
        250_000 => 900 * US,
        500_000 => 150 * US,
        1_000_000 => 120 * US,
        _ => 300 * US,
    };
    let conclusion = carried_out(
        plan(),
        &mut By(|step: &Step, _: &mut Random| {
            let cycle_ns = step.run().unwrap().cycle_ns;
            constant(step, needed_ns(cycle_ns))
        }),
        1,
    );
    let leads: Vec<(u64, u64)> = conclusion.claims().map(|claim| (claim.cycle_ns, claim.lead_ns)).collect();
    assert_eq!(leads, [(250 * US, 910 * US), (500 * US, 160 * US), (MS, 130 * US), (2 * MS, 310 * US)]);
    assert_eq!(conclusion.shortest_cycle().unwrap().cycle_ns, 250 * US);
    assert_eq!(conclusion.shortest_lead().unwrap().cycle_ns, MS);
    assert!(conclusion.alpha_spent < conclusion.alpha);
}

#[test]
fn no_lead_is_raised_for_a_loss() {
    let mut nodes = Bounded { base_ns: 100 * US, worst_ns: 150 * US, worst_rate: 1e-3, loss: 0.0 };
    assert_eq!(carried_out(plan(), &mut nodes.clone(), 1).claims().count(), 4);
    // One in ten million: each cycle fails with a chance of some 5 %, by loss and never by its lead.
    nodes.loss = 1e-7;
    let mut lost = 0;
    for seed in 0..300 {
        for cycle in carried_out(plan(), &mut nodes.clone(), seed).cycles {
            match cycle.answer {
                Answer::Holds(claim) => assert_eq!(claim.lead_ns, 160 * US),
                Answer::Loses(failure) => {
                    lost += 1;
                    assert!(failure.is_of_attempt && failure.lost == 1 && failure.late == 0, "{failure:?}");
                    assert_eq!(cycle.attempts.len(), 1);
                    assert!(failure.miss_rate_at_least > 0.0);
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!((30..120).contains(&lost), "{lost} of 1200");
    // A fifth: the explorations alone show it, and nothing is spent on attempts.
    nodes.loss = 0.2;
    let conclusion = carried_out(plan(), &mut nodes, 1);
    assert!(conclusion.alpha_spent <= 0.0);
    for cycle in &conclusion.cycles {
        let Answer::Loses(failure) = &cycle.answer else { panic!("{cycle:?}") };
        assert!(failure.is_shown_worse && !failure.is_of_attempt);
        assert!(failure.miss_rate_at_least > 0.19 && failure.miss_rate_at_least < 0.2, "{failure:?}");
        assert!(cycle.attempts.is_empty() && cycle.explored.len() == 1);
    }
}

/// Nodes whose thread spins for the last 150 us before each moment: an order that arrives then is taken after it.
fn spinning(step: &Step) -> Outcome {
    let run = step.run().unwrap();
    let (arrives_ns, spins_ns, takes_ns) = (180 * US, 150 * US, 20 * US);
    let earlier_ns = (1..).map_while(|before: u64| run.lead_ns.checked_sub(before * run.cycle_ns)).filter(|ns| *ns > 0);
    let met_ns = earlier_ns.filter(|due_ns| (*due_ns - (*due_ns).min(spins_ns)..=*due_ns).contains(&arrives_ns)).max();
    let needed_ns = met_ns.unwrap_or(arrives_ns) + takes_ns;
    let mut outcome = constant(step, needed_ns);
    outcome.needed = outcome.needed.map(|_| NeededLead {
        p50_ns: needed_ns,
        p99_ns: needed_ns,
        p999_ns: needed_ns,
        worst_ns: needed_ns,
    });
    outcome
}

#[test]
fn phases_that_differ_are_named() {
    let spinning = |cycle_ns: u64, max_lead_ns: u64| {
        let plan = SweepPlan { cycles_ns: vec![cycle_ns], max_lead_ns, ..plan() };
        carried_out(plan, &mut By(|step: &Step, _: &mut Random| spinning(step)), 1).cycles.remove(0)
    };
    // Earlier orders come due at 300 us in the first exploration, when an order that arrives at 180 us is taken late. The lead
    // of 320 us that it suggests is shorter than the cycle: no earlier order waits, and 200 us are enough.
    let cycle = spinning(MS, 10_300 * US);
    assert_eq!(cycle.explored[0].needed.unwrap().p50_ns, 320 * US);
    assert_eq!(cycle.explored[1].phase, Phase::Alone);
    assert_eq!(cycle.phase_difference.unwrap().p50_ns, -120 * i64::try_from(US).unwrap());
    assert!(matches!(cycle.answer, Answer::Holds(ref claim) if claim.lead_ns == 210 * US), "{cycle:?}");
    // At a cycle of 190 us one always waits. The second exploration lets the earlier one come due when the new one arrives,
    // or if that was so in the first one, half a cycle away.
    for max_lead_ns in [5_000 * US, 5_040 * US, 5_080 * US, 5_120 * US] {
        let cycle = spinning(190 * US, max_lead_ns);
        assert!(matches!(cycle.explored[1].phase, Phase::Meeting | Phase::Apart), "{cycle:?}");
        let needed: Vec<u64> = cycle.explored.iter().map(|explored| explored.needed.unwrap().worst_ns).collect();
        let is_named = cycle.phase_difference.is_some();
        assert_eq!(is_named, needed[0].abs_diff(needed[1]) >= MARGIN_NS, "{cycle:?}");
        let Answer::Holds(claim) = &cycle.answer else { panic!("{cycle:?}") };
        assert!(claim.lead_ns >= 210 * US && claim.needed.worst_ns <= claim.lead_ns);
    }
    // One that comes due at 340 us is too far away to be spun for at 180 us; one at 200 us is not.
    let cycle = spinning(190 * US, 5_090 * US);
    assert_eq!(cycle.explored[1].phase, Phase::Meeting);
    assert_eq!(cycle.explored[1].lead_ns % (190 * US), 10 * US);
    let difference = cycle.phase_difference.unwrap();
    assert_eq!((difference.p50_ns, difference.worst_ns), (20_000, 20_000));
    // One that comes due at 290 us is met already, so that the other phase is half a cycle away.
    let cycle = spinning(190 * US, 5_040 * US);
    assert_eq!((cycle.explored[1].phase, cycle.explored[1].lead_ns), (Phase::Apart, 4_945 * US));
    assert_eq!(cycle.phase_difference.unwrap().p50_ns, -95_000);
    // Nodes to which earlier orders do not matter.
    let same = carried_out(plan(), &mut By(|step: &Step, _: &mut Random| constant(step, 700 * US)), 1);
    assert!(same.cycles.iter().all(|cycle| cycle.phase_difference.is_none() && cycle.explored.len() == 2));
}

#[test]
fn a_worst_case_that_drifts_is_not_settled_and_one_that_ends_is_found() {
    let drifting = |step_ns: u64, ends_after: u64| {
        let mut runs = 0;
        let plan = SweepPlan { cycles_ns: vec![500 * US], ..plan() };
        let nodes = |step: &Step, _: &mut Random| {
            runs = ends_after.min(runs + 1);
            constant(step, 200 * US + runs * step_ns)
        };
        carried_out(plan, &mut By(nodes), 1).cycles.remove(0).answer
    };
    let Answer::Unsettled { first_lead_ns, last_lead_ns, worst_ns, raised } = drifting(15 * US, u64::MAX) else {
        panic!("it settles");
    };
    assert!(first_lead_ns < last_lead_ns && last_lead_ns < worst_ns && raised == 8);
    assert!(matches!(drifting(15 * US, 6), Answer::Holds(claim) if claim.lead_ns == 300 * US));
    assert!(matches!(drifting(US, u64::MAX), Answer::Holds(_)));
    // Until the largest lead is passed.
    assert!(matches!(drifting(2 * MS, u64::MAX), Answer::TooLate(failure) if failure.worst_ns > Some(10 * MS)));
}

#[test]
fn where_nothing_can_hold_explorations_say_so() {
    let late = carried_out(plan(), &mut By(|step: &Step, _: &mut Random| constant(step, 50 * MS)), 1);
    for cycle in &late.cycles {
        let Answer::TooLate(failure) = &cycle.answer else { panic!("{cycle:?}") };
        assert!(failure.is_shown_worse && failure.worst_ns == Some(50 * MS) && failure.lost == 0);
    }
    let all_lost = |step: &Step, _: &mut Random| {
        let run = step.run().unwrap();
        outcome(run, run.orders, 0, (run.orders, 0))
    };
    let lost = carried_out(plan(), &mut By(all_lost), 1);
    assert!(
        lost.cycles.iter().all(|cycle| matches!(&cycle.answer, Answer::Loses(failure) if failure.worst_ns.is_none()))
    );
    assert!(late.alpha_spent + lost.alpha_spent <= 0.0 && lost.shortest_lead().is_none());
}

fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..4, 0_u64..2_000_000, Just(240_000), Just(529_832), any::<u64>()]
}

prop_compose! {
    fn any_outcome()(
        number in 0_u32..12,
        numbers in prop::array::uniform12(any_number()),
        is_needed in any::<bool>(),
        is_burst in any::<bool>(),
        nodes in 0_usize..3,
    ) -> Outcome {
        let [orders, lost, late, p50_ns, p99_ns, p999_ns, worst_ns, bursts, misses, span_ns, node, took_ns] = numbers;
        Outcome {
            number,
            orders,
            lost,
            late,
            needed: is_needed.then_some(NeededLead { p50_ns, p99_ns, p999_ns, worst_ns }),
            bursts,
            longest_burst: is_burst.then_some(Burst { misses, span_ns }),
            nodes: vec![NodeCount { lost: node, late, worst_ns: is_needed.then_some(worst_ns) }; nodes],
            took_ns,
        }
    }
}

proptest! {
    /// Whatever is taken, nothing panics; what is refused changes nothing; and the sweep ends, within its budget and its chance of a
    /// wrong claim.
    #[test]
    fn nonsense_is_refused_and_every_sweep_ends(
        nonsense in prop::collection::vec(any_outcome(), 1..60),
        seed in any::<u64>(),
        log_max_miss in -5.0_f64..-1.0,
        times in 10_u64..200,
    ) {
        let plan = SweepPlan { max_miss: 10_f64.powf(log_max_miss), explore_ns: S, ..plan() };
        let first = Sweep::new(plan.clone()).unwrap().forecast().cycles[0];
        let budget_ns = (first.explore_ns + first.confirm_ns) / 10 * times + 10;
        let mut sweep = Sweep::new(SweepPlan { budget_ns, ..plan }).unwrap();
        let mut random = Random::new(seed);
        let (mut nonsense, mut taken) = (nonsense.into_iter(), 0);
        loop {
            if let Some(outcome) = nonsense.next() {
                let before = sweep.next().clone();
                match sweep.take(&outcome) {
                    Ok(()) => taken += 1,
                    Err(_) => prop_assert_eq!(&before, sweep.next()),
                }
            }
            let Some(run) = sweep.next().run().copied() else { break };
            let worst_ns = run.lead_ns / 2 + random.next() % run.lead_ns;
            let late = u64::from(worst_ns > run.lead_ns);
            let orders = if late > 0 { 1 + random.next() % run.orders } else { run.orders };
            let orders = orders.max(run.orders.min(LEAST_EXPLORED));
            prop_assert_eq!(sweep.take(&outcome(&run, orders, worst_ns, (0, late))), Ok(()));
        }
        let Step::Done(conclusion) = sweep.next().clone() else { panic!("not ended") };
        prop_assert_eq!(conclusion.cycles.len(), 4);
        prop_assert!(conclusion.alpha_spent < conclusion.alpha);
        // Only an outcome that says that it took longer than its orders can exceed it.
        prop_assert!(taken > 0 || conclusion.spent_ns <= budget_ns);
        prop_assert_eq!(sweep.take(&outcome(&OrderRun { number: 1, cycle_ns: US, lead_ns: 1, orders: 1 }, 1, 0, (0, 0))),
            Err(OutcomeError::Ended));
    }
}
