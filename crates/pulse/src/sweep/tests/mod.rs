//! Simulated nodes, and what sweeps of them come to.

mod adversary;
mod choice;
mod outcomes;
mod safety;
mod states;

use units::Random;

use super::*;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;
const MARGIN_NS: u64 = 10 * US;

/// The sweep of the command's description, with time enough for every attempt.
fn plan() -> SweepPlan {
    SweepPlan {
        cycles_ns: vec![250 * US, 500 * US, MS, 2 * MS],
        max_miss: 1e-5,
        confidence: 0.99,
        margin_ns: MARGIN_NS,
        max_lead_ns: 10 * MS,
        explore_ns: 60 * S,
        budget_ns: 900_000 * S,
        nodes: 1,
        load: "stress".to_owned(),
    }
}

/// Nodes that are ordered by a sweep.
trait Nodes {
    /// What a run comes to.
    fn carry_out(&mut self, step: &Step, random: &mut Random) -> Outcome;

    /// Whether what a run came to cannot be looked at, so that it is carried out again.
    fn is_hidden(&self, _: &Outcome, _: &mut Random) -> bool {
        false
    }
}

/// Carries a sweep out to its end.
fn carried_out(plan: SweepPlan, nodes: &mut impl Nodes, seed: u64) -> Conclusion {
    let mut random = Random::new(seed);
    let mut sweep = Sweep::new(plan).unwrap();
    for _ in 0..10_000 {
        if let Step::Done(conclusion) = sweep.next() {
            return conclusion.as_ref().clone();
        }
        let outcome = nodes.carry_out(sweep.next(), &mut random);
        if nodes.is_hidden(&outcome, &mut random) {
            sweep.discard(outcome.took_ns);
        } else {
            sweep.take(&outcome).unwrap();
        }
    }
    panic!("it never ends: {sweep:?}");
}

/// A run of so many orders whose worst needed so much; `lost` and `late` of them came in one burst.
fn outcome(run: &OrderRun, orders: u64, worst_ns: u64, (lost, late): (u64, u64)) -> Outcome {
    let needed = (lost < orders).then(|| NeededLead {
        p50_ns: (worst_ns / 2).min(run.lead_ns),
        p99_ns: (worst_ns / 2).min(run.lead_ns),
        p999_ns: (worst_ns / 2).min(run.lead_ns),
        worst_ns,
    });
    let misses = lost + late;
    let span_ns = misses.saturating_sub(1) * run.cycle_ns;
    Outcome {
        number: run.number,
        orders,
        lost,
        late,
        needed,
        bursts: u64::from(misses > 0),
        longest_burst: (misses > 0).then_some(Burst { misses, span_ns }),
        nodes: vec![NodeCount { lost, late, worst_ns: needed.map(|needed| needed.worst_ns) }],
        took_ns: orders * run.cycle_ns,
    }
}

/// Which order is the first for which something of this probability happens, from 1 on.
fn first(probability: f64, random: &mut Random) -> u64 {
    if probability <= 0.0 {
        return u64::MAX;
    }
    units::round_u64((random.unit().ln() / (-probability).ln_1p()).ceil()).max(1)
}

/// For how many of so many orders something of this probability happens. Of many thousands it is what is expected, whose spread does
/// not matter here.
fn count(probability: f64, orders: u64, random: &mut Random) -> u64 {
    let expected = units::round_u64(units::approx_f64(orders) * probability);
    if expected > 1_000 {
        return expected;
    }
    let (mut found, mut at) = (0, first(probability, random));
    while at <= orders {
        found += 1;
        at = at.saturating_add(first(probability, random));
    }
    found
}

/// Nodes that need a lead with an exponential tail, which ends at a worst case.
#[derive(Clone, Copy, Debug)]
struct Bounded {
    base_ns: u64,
    worst_ns: u64,
    /// How often an order needs the worst case.
    worst_rate: f64,
    /// How often an order is lost.
    loss: f64,
}

impl Bounded {
    fn scale_ns(&self) -> f64 {
        units::approx_f64(self.worst_ns - self.base_ns) / -self.worst_rate.ln()
    }

    /// How often an order needs more than this.
    fn beyond(&self, lead_ns: u64) -> f64 {
        if lead_ns >= self.worst_ns {
            return 0.0;
        }
        (-units::approx_f64(lead_ns.saturating_sub(self.base_ns)) / self.scale_ns()).exp()
    }

    /// What one order needs that needs more than `from_ns`; with a probability of 1 that is all of them.
    fn draw_ns(&self, from_ns: u64, beyond: f64) -> u64 {
        let more = units::round_u64(-beyond.ln() * self.scale_ns());
        from_ns.max(self.base_ns).saturating_add(more).min(self.worst_ns)
    }

    /// The worst of so many orders.
    fn worst_of_ns(&self, orders: u64, random: &mut Random) -> u64 {
        self.draw_ns(0, -(random.unit().ln() / units::approx_f64(orders)).exp_m1())
    }
}

impl Nodes for Bounded {
    fn carry_out(&mut self, step: &Step, random: &mut Random) -> Outcome {
        let run = step.run().unwrap();
        if matches!(step, Step::Explore { .. }) {
            let lost = count(self.loss, run.orders, random);
            let worst_ns = self.worst_of_ns(run.orders - lost.min(run.orders - 1), random);
            return outcome(run, run.orders, worst_ns, (lost, u64::from(lost < run.orders && worst_ns > run.lead_ns)));
        }
        let late_at = first(self.beyond(run.lead_ns), random);
        let lost_at = first(self.loss, random);
        let end = run.orders.min(late_at).min(lost_at);
        let in_time_ns = self.worst_of_ns(end, random).min(run.lead_ns);
        match (end == lost_at, end == late_at) {
            (true, _) => outcome(run, end, in_time_ns, (1, 0)),
            (_, true) => {
                let late_ns = self.draw_ns(run.lead_ns, random.unit()).max(run.lead_ns + 1);
                outcome(run, end, late_ns, (0, 1))
            }
            _ => outcome(run, end, in_time_ns, (0, 0)),
        }
    }
}
