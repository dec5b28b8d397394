//! What a run of orders came to, by its record.

use record::{LatencyRole, PulseNode, PulseRun, Record, Series};

use super::outcome::{Burst, NeededLead, NodeCount, Outcome};

/// Why a run shows nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoOutcome {
    /// It is of another kind.
    #[error("it is no run of orders")]
    Kind,
    /// It is invalid.
    #[error("the run is invalid: {0}")]
    Invalid(String),
    /// Nobody knows what became of some orders.
    #[error("what became of {0} orders is not known, since what a node did is missing")]
    Unknown(u64),
}

impl Outcome {
    /// What the run with a number came to. An order that was not carried out in time for another reason than that it came too late
    /// counts as lost: no lead would have mended it.
    ///
    /// # Errors
    /// Where the run shows nothing.
    pub fn of_record(record: &Record, number: u32) -> Result<Self, NoOutcome> {
        let run = record.pulses().ok_or(NoOutcome::Kind)?;
        if record.validity.is_invalid() {
            let why = record.validity.reasons().first().map_or_else(String::new, |reason| reason.detail.clone());
            return Err(NoOutcome::Invalid(why));
        }
        let trials = &run.trials;
        if trials.unknown > 0 {
            return Err(NoOutcome::Unknown(trials.unknown));
        }
        let (orders, late) = (trials.scheduled, trials.too_late);
        let lost = trials.missed.saturating_sub(late);
        let nodes = run.nodes.iter().map(|node| node_count(record, node)).collect();
        Ok(Self {
            number,
            orders,
            lost,
            late,
            needed: (lost < orders).then(|| needed(record, run, late)).flatten(),
            bursts: trials.bursts,
            longest_burst: (trials.longest_burst > 0)
                .then_some(Burst { misses: trials.longest_burst, span_ns: trials.longest_burst_ns }),
            nodes,
            took_ns: orders.saturating_mul(run.interval_ns),
        })
    }
}

fn series<'a>(record: &'a Record, node: &PulseNode) -> Option<&'a Series> {
    let name = record.measurement.kind().by_role(LatencyRole::NeededLead)?.name;
    let is_of = |series: &&Series| {
        series.name == name && matches!(series.place, record::Place::Flow { flow, .. } if flow == node.flow)
    };
    record.series.iter().find(is_of).filter(|series| series.taken() > 0)
}

fn positive(ns: i64) -> u64 {
    u64::try_from(ns).unwrap_or(0)
}

fn worst_ns(record: &Record, node: &PulseNode) -> Option<u64> {
    series(record, node).and_then(|series| series.worst_ns(record.sign(series))).map(positive)
}

fn node_count(record: &Record, node: &PulseNode) -> NodeCount {
    let orders = &node.orders;
    let late = orders.too_late;
    // One that was still on its way at the end was not carried out in time either: as a schedule it counts as missed.
    let lost = orders.scheduled.saturating_sub(orders.kept()).saturating_sub(late);
    let worst_ns = worst_ns(record, node).filter(|_| lost < orders.scheduled);
    NodeCount { lost, late, worst_ns }
}

/// What the schedules needed: of each the most that a node needed. Which nodes' orders were of one schedule the series do not
/// tell. At most a share of each node's orders is above a quantile of its own, and so at most the sum of these shares of the
/// schedules: with that many nodes, the quantile of each is taken so much higher.
fn needed(record: &Record, run: &PulseRun, late: u64) -> Option<NeededLead> {
    let nodes = units::approx_f64(u64::try_from(run.nodes.len()).unwrap_or(1).max(1));
    let most = |share: f64| {
        let share = 1.0 - (1.0 - share) / nodes;
        let all = run.nodes.iter().filter_map(|node| series(record, node)?.quantile_ns(share));
        all.map(positive).max().unwrap_or(0)
    };
    let worst_ns = run.nodes.iter().filter_map(|node| worst_ns(record, node)).max()?;
    // An order that was too late needed more than the lead, by definition; one that needed more and is none of those was of a
    // schedule that another node lost, and says nothing here.
    let worst_ns = if late > 0 { worst_ns.max(run.lead_ns.saturating_add(1)) } else { worst_ns.min(run.lead_ns) };
    let p999_ns = most(0.999).min(worst_ns);
    let p99_ns = most(0.99).min(p999_ns);
    Some(NeededLead { p50_ns: most(0.5).min(p99_ns), p99_ns, p999_ns, worst_ns })
}

#[cfg(test)]
mod tests {
    use record::{OrderCounts, ReasonCode};
    use samples::pulses;

    use super::*;
    use crate::sweep::{Step, Sweep, SweepPlan};

    fn plan() -> SweepPlan {
        SweepPlan {
            cycles_ns: vec![1_000_000],
            max_miss: 0.01,
            confidence: 0.99,
            margin_ns: 10_000,
            max_lead_ns: 800_000,
            explore_ns: 1_000_000_000,
            budget_ns: 60_000_000_000,
            nodes: 2,
            load: "none".to_owned(),
        }
    }

    #[test]
    fn what_a_run_shows_is_taken_by_a_sweep() {
        let mut sweep = Sweep::new(plan()).unwrap();
        let outcome = Outcome::of_record(&pulses(|_| ()), 1).unwrap();
        assert_eq!((outcome.orders, outcome.lost, outcome.late), (1_000, 0, 0));
        assert_eq!(outcome.needed.unwrap().worst_ns, 310_000);
        sweep.take(&outcome).unwrap();
        let Step::Explore { run, .. } = sweep.next() else { panic!("{:?}", sweep.next()) };
        assert_eq!(run.number, 2);
    }

    #[test]
    fn what_no_lead_mends_is_told_from_what_one_would() {
        let of = |change: fn(&mut PulseRun)| Outcome::of_record(&pulses(change), 1).unwrap();
        let late = of(|run| {
            run.nodes[0].orders = OrderCounts { scheduled: 1_000, acted: 997, too_late: 3, ..OrderCounts::default() };
            (run.trials.kept, run.trials.missed, run.trials.too_late) = (997, 3, 3);
            (run.trials.bursts, run.trials.longest_burst, run.trials.longest_burst_ns) = (1, 3, 2_000_000);
        });
        assert_eq!((late.lost, late.late, late.needed.unwrap().worst_ns), (0, 3, 800_001));
        assert_eq!((late.nodes[0].late, late.nodes[0].lost), (3, 0));
        Sweep::new(plan()).unwrap().take(&late).unwrap();
        let lost = of(|run| {
            run.nodes[1].orders =
                OrderCounts { scheduled: 1_000, acted: 998, lost: 1, beyond: 1, skipped: 1, ..OrderCounts::default() };
            (run.trials.kept, run.trials.missed) = (997, 3);
            (run.trials.bursts, run.trials.longest_burst) = (3, 1);
        });
        assert_eq!((lost.lost, lost.late, lost.nodes[1].lost), (3, 0, 3));
        Sweep::new(plan()).unwrap().take(&lost).unwrap();
    }

    #[test]
    fn an_order_that_was_on_its_way_at_the_end_counts_for_its_node_as_for_the_schedules() {
        let record = pulses(|run| {
            run.nodes[0].orders = OrderCounts { scheduled: 1_000, acted: 999, unknown: 1, ..OrderCounts::default() };
            (run.trials.kept, run.trials.missed) = (999, 1);
            (run.trials.bursts, run.trials.longest_burst) = (1, 1);
        });
        let outcome = Outcome::of_record(&record, 1).unwrap();
        assert_eq!((outcome.lost, outcome.nodes[0].lost, outcome.nodes[1].lost), (1, 1, 0));
        Sweep::new(plan()).unwrap().take(&outcome).unwrap();
    }

    #[test]
    fn a_run_that_shows_nothing_is_not_taken() {
        let unknown = pulses(|run| (run.trials.kept, run.trials.unknown) = (0, 1_000));
        assert_eq!(Outcome::of_record(&unknown, 1), Err(NoOutcome::Unknown(1_000)));
        let mut invalid = pulses(|_| ());
        invalid.validity.add(ReasonCode::ClockStepped, "it was set");
        assert_eq!(Outcome::of_record(&invalid, 1), Err(NoOutcome::Invalid("it was set".to_owned())));
    }
}
