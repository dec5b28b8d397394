//! Runs of two nodes that act when a third one orders it: as it should be, and with orders that were missed.

use pulse::sweep::OrderRun;
use record::{Detail, Histogram, OrderCounts, PulseRun, ReasonCode, Record, Validity};
use units::format::span;
use units::{Ns, Random, Timestamp, round_u64};

use crate::synthetic::START_REALTIME_NS;

const ORDERS: u64 = 120_000;
const NAMES: [(&str, &str); 3] = [("a", "line-1"), ("b", "press-1"), ("c", "press-2")];

fn renamed(name: &mut String) {
    if let Some((_, better)) = NAMES.iter().find(|(plain, _)| name == plain) {
        *name = (*better).to_owned();
    }
}

/// Draws a latency: a usual value, a spread, and some that take long.
fn drawn(random: &mut Random, typical_ns: f64, tail_ns: f64, count: u64) -> Histogram {
    let mut histogram = Histogram::new();
    for number in 0..count / 20 {
        let long = if number % 400 == 7 { -tail_ns * (1.0 - random.unit()).ln() } else { 0.0 };
        let ns = typical_ns * (0.9 + 0.3 * random.unit() * random.unit()) + long;
        histogram.record_n(round_u64(ns), if long > 0.0 { 1 } else { 20 });
    }
    histogram
}

fn run(label: &str, seed: u64, change: impl FnOnce(&mut PulseRun)) -> Record {
    let mut record = samples::pulses(|run| {
        run.trials.scheduled = ORDERS;
        run.trials.kept = ORDERS;
        for node in &mut run.nodes {
            node.ordered_to_returned_max_ns = Some(51_000);
            node.orders = OrderCounts { scheduled: ORDERS, acted: ORDERS, ..OrderCounts::default() };
        }
        change(run);
    });
    label.clone_into(&mut record.label);
    record.id = format!("2026-03-02T08-00-00Z-{label}");
    let mut random = Random::new(seed);
    for series in &mut record.series {
        let (typical_ns, tail_ns) = match &*series.name {
            "ordered_to_acted" => (42.0, 9_000.0),
            "acted_to_returned" => (1_430.0, 2_000.0),
            "scheduled_to_armed" => (96_000.0, 40_000.0),
            _ => (61_000.0, 38_000.0),
        };
        series.histogram = drawn(&mut random, typical_ns, tail_ns, ORDERS);
        renamed(&mut series.node);
    }
    let mut nodes: Vec<record::Node> = record.nodes.clone().into();
    for node in &mut nodes {
        renamed(&mut node.name);
        renamed(&mut node.manifest.node.hostname);
        node.manifest.started.realtime = Timestamp::from_ns(START_REALTIME_NS);
        node.manifest.ended = node.manifest.started.plus(Ns::from_s(120));
        node.manifest.requested.interval_ns = Some(1_000_000);
    }
    record.nodes = record::Nodes::try_from(nodes).expect("three names");
    if let Detail::Pulse(run) = &mut record.detail {
        run.nodes.iter_mut().for_each(|node| renamed(&mut node.node));
        for flow in &mut run.packets.flows {
            renamed(&mut flow.from);
            renamed(&mut flow.to);
        }
    }
    record.validity = Validity::default();
    record.verdict = Some(analysis::verdict(&record, 100_000));
    record
}

/// Both act on every order, under a label.
pub(crate) fn labeled(label: &str) -> Record {
    run(label, 79, |_| ())
}

/// A run of a sweep: `loses` orders that no lead mends, or `fails` by one order that needed more than its lead.
pub(crate) fn of_sweep(number: u32, ordered: &OrderRun, confirms: bool, loses: bool, fails: bool) -> Record {
    let word = if confirms { "confirm" } else { "explore" };
    let label = format!("{word} {} {}", span(ordered.cycle_ns), span(ordered.lead_ns));
    let orders = ordered.orders;
    let lost = if loses { orders / 50 } else { 0 };
    let too_late = u64::from(fails);
    let mut record = run(&label, u64::from(number), |run| {
        (run.interval_ns, run.lead_ns) = (ordered.cycle_ns, ordered.lead_ns);
        for node in &mut run.nodes {
            node.orders = OrderCounts { scheduled: orders, acted: orders, ..OrderCounts::default() };
        }
        let acted = orders - lost - too_late;
        run.nodes[1].orders = OrderCounts { scheduled: orders, acted, lost, too_late, ..OrderCounts::default() };
        run.trials =
            record::PulseTrials { scheduled: orders, kept: acted, missed: lost + too_late, too_late, ..run.trials };
        if lost + too_late > 0 {
            (run.trials.bursts, run.trials.longest_burst) = (1, lost + too_late);
            run.trials.longest_burst_ns = (lost + too_late - 1) * ordered.cycle_ns;
        }
    });
    record.id = format!("{}-{number}", record.id);
    let mut random = Random::new(u64::from(number) + 500);
    for series in &mut record.series {
        if series.name != "scheduled_to_armed" {
            continue;
        }
        let mut histogram = Histogram::new();
        let most_ns = if fails { ordered.lead_ns } else { ordered.lead_ns.min(252_000) };
        for (bin, count) in drawn(&mut random, 118_000.0, 19_000.0, orders).bins().map(|bin| (bin.from_ns, bin.count)) {
            histogram.record_n(bin.min(most_ns), count);
        }
        if fails && series.node == "press-2" {
            histogram.record_n(ordered.lead_ns + 31_000, 1);
        }
        series.histogram = histogram;
    }
    record
}

/// Both act on every order.
pub(crate) fn together() -> Record {
    run("acting together", 77, |_| ())
}

/// One of them misses some.
pub(crate) fn missed() -> Record {
    let mut record = run("with losses", 78, |run| {
        run.nodes[1].orders = OrderCounts {
            scheduled: ORDERS,
            acted: ORDERS - 430,
            lost: 371,
            too_late: 59,
            beyond: 12,
            ..OrderCounts::default()
        };
        run.packets.flows[1].arrived = Some(629);
        run.packets.flows[1].lost = Some(371);
        (run.trials.kept, run.trials.missed, run.trials.bursts, run.trials.longest_burst) = (ORDERS - 442, 442, 4, 371);
    });
    record.validity.add(ReasonCode::VirtualMachine, "KVM");
    record
}
