//! How close the confirmed lead is to the one that is needed.

use super::*;

/// How many of so many sweeps confirm, at every cycle, a lead that suffices for the worst case and is at most 20 us longer.
fn close(nodes: Bounded, sweeps: u64) -> u64 {
    let is_close = |seed: &u64| {
        let conclusion = carried_out(plan(), &mut nodes.clone(), *seed);
        let good = nodes.worst_ns..=nodes.worst_ns + 20 * US;
        conclusion.claims().count() == 4 && conclusion.claims().all(|claim| good.contains(&claim.lead_ns))
    };
    units::total((0..sweeps).filter(is_close).map(|_| 1))
}

/// 19 of 20, at all four cycles at once, for worst cases that come once in a thousand to once in a hundred thousand orders.
#[test]
fn the_lead_suffices_and_is_at_most_20_us_too_long() {
    for worst_rate in [1e-3, 1e-4, 1e-5] {
        for worst_ns in [150 * US, 400 * US, 3 * MS] {
            let nodes = Bounded { base_ns: 100 * US, worst_ns, worst_rate, loss: 0.0 };
            let found = close(nodes, 400);
            assert!(found >= 380, "{found} of 400: {nodes:?}");
        }
    }
}

/// A worst case that explorations do not see is found by attempts: the first fails, and the lead is raised.
#[test]
fn a_worst_case_that_explorations_do_not_see_is_found_by_attempts() {
    let nodes = Bounded { base_ns: 100 * US, worst_ns: 3 * MS, worst_rate: 1e-5, loss: 0.0 };
    let plan = || SweepPlan { cycles_ns: vec![500 * US], explore_ns: S, ..plan() };
    let (mut found, mut raised) = (0, 0);
    for seed in 0..400 {
        let conclusion = carried_out(plan(), &mut nodes.clone(), seed);
        raised += conclusion.cycles[0].attempts.len() - 1;
        let good = nodes.worst_ns..=nodes.worst_ns + 20 * US;
        found += u64::from(conclusion.shortest_cycle().is_some_and(|claim| good.contains(&claim.lead_ns)));
    }
    // With explorations of a second only some attempts more are needed, and rarely more than there are.
    assert!(found >= 380, "{found} of 400");
    assert!(raised >= 400, "{raised}");
}

/// The limit of what a sweep can find: a worst case that comes once in ten million orders is mostly not seen. Then the lead is too
/// short for it, and what is claimed is true all the same: fewer than 1e-5 need more.
#[test]
fn a_worst_case_that_is_rarer_than_what_is_allowed_is_not_found() {
    let nodes = Bounded { base_ns: 100 * US, worst_ns: 3 * MS, worst_rate: 1e-7, loss: 0.0 };
    let mut wrong = 0;
    for seed in 0..400 {
        let conclusion = carried_out(plan(), &mut nodes.clone(), seed);
        wrong += u64::from(conclusion.claims().any(|claim| nodes.beyond(claim.lead_ns) > 1e-5));
    }
    assert!(close(nodes, 400) < 200);
    assert!(wrong <= 10, "{wrong} of 400");
}
