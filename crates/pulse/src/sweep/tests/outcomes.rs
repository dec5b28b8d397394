//! Which outcomes can be.

use super::*;

const RUN: OrderRun = OrderRun { number: 7, cycle_ns: MS, lead_ns: 200 * US, orders: 10_000 };

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
    assert!(refused(&|outcome| outcome.nodes.clear()).contains("number of nodes"));
    assert!(refused(&|outcome| outcome.nodes[0].lost = 1).contains("make those"));
    assert!(refused(&|outcome| outcome.nodes[0].late = 2).contains("make those"));
    assert!(refused(&|outcome| outcome.nodes[0].lost = 3).contains("make those"));
    assert!(refused(&|outcome| outcome.nodes[0].worst_ns = None).contains("make those"));
}

/// Three nodes, of which the second one is slower and loses one order in a hundred at a cycle of 1 ms.
#[test]
fn a_sweep_of_three_nodes_names_the_one_that_fails() {
    let plan = SweepPlan { cycles_ns: vec![MS, 2 * MS], max_miss: 1e-3, explore_ns: 10 * S, nodes: 3, ..plan() };
    let mut sweep = Sweep::new(plan).unwrap();
    while let Some(run) = sweep.next().run().copied() {
        let lost = if run.cycle_ns == MS { run.orders / 100 } else { 0 };
        let node = |lost, us: u64| NodeCount { lost, late: 0, worst_ns: Some(us * US) };
        let nodes = vec![node(0, 129), node(lost, 279), node(0, 90)];
        // Each by itself, ten seconds long as the run is.
        let scattered = Burst { misses: 1, span_ns: 0 };
        let shown = outcome(&run, run.orders, 279 * US, (lost, 0));
        let shown = Outcome { nodes, bursts: lost, longest_burst: (lost > 0).then_some(scattered), ..shown };
        sweep.take(&shown).unwrap();
    }
    let Step::Done(conclusion) = sweep.next() else { panic!("not ended") };
    let Answer::Loses(failure) = &conclusion.cycles[0].answer else { panic!("{conclusion:?}") };
    assert_eq!(failure.nodes.iter().map(|node| node.lost).collect::<Vec<_>>(), [0, failure.lost, 0]);
    assert!(failure.miss_rate_at_least > 0.005 && failure.miss_rate_at_least < 0.01, "{failure:?}");
    let Answer::Holds(claim) = &conclusion.cycles[1].answer else { panic!("{conclusion:?}") };
    assert_eq!((claim.lead_ns, claim.needed.worst_ns), (289 * US, 279 * US));
    let worst: Vec<Option<u64>> = claim.nodes.iter().map(|node| node.worst_ns).collect();
    assert_eq!(worst, [Some(129 * US), Some(279 * US), Some(90 * US)]);
}
