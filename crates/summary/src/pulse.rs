//! What is said of nodes that act together: what became of their orders, how late each acted, and the lead that they needed.

use record::{ActsBy, LatencyRole, OrderCounts, PacketFlow, PulseNode, PulseRun, Record, Series};
use serde::Serialize;
use units::format::{count, count_of, latency, latency_at_least, latency_at_most, span, span_at_least};

use crate::packet::{DelayRow, row, series_of};
use crate::run::Figures;

/// What is said of nodes that act together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PulseSummary {
    /// What was ordered, as a sentence without its full stop: "vm ordered 2 nodes every 1 ms to act 800 us after …".
    pub ordered: String,
    /// The nodes that act, in the order of the record.
    pub nodes: Vec<ActingNode>,
    /// What became of the schedules, as a sentence without its full stop.
    pub trials: String,
    /// How often misses come, as a sentence without its full stop: what a rate of single orders does not say.
    pub bursts: String,
    /// How far from each other any two nodes acted, as a sentence without its full stop; `None` where that is not known.
    pub apart: Option<String>,
}

/// What is said of a node that acts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActingNode {
    /// Name of the node.
    pub node: String,
    /// What it switches: "valve (gpiochip0/17, active high)"; "none: nothing is switched".
    pub output: String,
    /// What became of its orders.
    pub orders: OrderCounts,
    /// From the ordered time to the act, what switching takes, and the lead that orders needed: those of which there is an order.
    pub rows: Vec<DelayRow>,
    /// The lead that its orders needed beside the one that they had, as a sentence without its full stop; `None` if none arrived.
    pub needed: Option<String>,
    /// How far from the ordered time its edges lie, as a sentence without its full stop; `None` if it did not act.
    pub within: Option<String>,
}

/// What is said of nodes that act together; `None` if the run is of another kind.
#[must_use]
pub fn summary(record: &Record) -> Option<PulseSummary> {
    let run = record.pulses()?;
    let server = &record.nodes.first().name;
    Some(PulseSummary {
        ordered: ordered(run, server_of(run).unwrap_or(server)),
        nodes: run.nodes.iter().map(|node| acting(node, run, record)).collect(),
        trials: trials(run),
        bursts: bursts(record, run),
        apart: apart(run),
    })
}

/// The node that orders, as the flows have it.
fn server_of(run: &PulseRun) -> Option<&str> {
    run.packets.flows.first().map(|flow| &*flow.from).filter(|name| !name.is_empty())
}

fn ordered(run: &PulseRun, server: &str) -> String {
    let nodes = match run.nodes.len() {
        1 => "1 node".to_owned(),
        number => format!("{number} nodes"),
    };
    let by = match run.by {
        ActsBy::Service => "each by its own clock",
        ActsBy::Exchange => "each by the server's clock, as the exchange with it shows it",
    };
    format!(
        "{server} ordered {nodes} every {} to act {} after the schedule, {by}; later than {} is a miss",
        span(run.interval_ns),
        span(run.lead_ns),
        span(run.tolerance_ns)
    )
}

fn acting(node: &PulseNode, run: &PulseRun, record: &Record) -> ActingNode {
    let kind = record.measurement.kind();
    let flow = PacketFlow { flow: node.flow, ..PacketFlow::default() };
    let of = |name: &str| series_of(record, &flow, name).filter(|series| series.taken() > 0);
    // The way of the order to the node stands with its packets.
    let own = kind.latencies.iter().filter(|latency| OWN.contains(&latency.role));
    let rows = own.filter_map(|latency| Some(row(latency.words, of(latency.name)?, record))).collect();
    let output = match (&*node.output, &node.output_words) {
        (record::NO_OUTPUT, _) => "none: nothing is switched".to_owned(),
        (name, Some(words)) => format!("{name} ({words})"),
        (name, None) => name.to_owned(),
    };
    ActingNode {
        node: node.node.clone(),
        output,
        orders: node.orders,
        rows,
        needed: kind
            .by_role(LatencyRole::NeededLead)
            .and_then(|latency| of(latency.name))
            .map(|series| needed(node, series, run, record)),
        within: within(node),
    }
}

/// What is the node's own of an order.
const OWN: [LatencyRole; 3] = [LatencyRole::OrderedAct, LatencyRole::OutputCost, LatencyRole::NeededLead];
/// The chance with which the statement about bursts is wrong.
const ONE_IN_A_HUNDRED: f64 = 0.01;

fn needed(node: &PulseNode, series: &Series, run: &PulseRun, record: &Record) -> String {
    let figures = Figures::of(&series.histogram, series.below_zero.as_ref());
    let worst = series.worst_ns(record.sign(series)).map_or_else(String::new, latency);
    let most = figures.quantile_ns(0.999).map_or_else(String::new, |ns| format!(", {} for 99.9 %", latency(ns)));
    // Of those that did not come to its thread nothing is known.
    let which = if node.orders.unknown > 0 { "that it told of" } else { "that reached its thread" };
    format!("the orders {which} needed a lead of up to {worst}{most}; they had {}", span(run.lead_ns))
}

fn within(node: &PulseNode) -> Option<String> {
    let returned_ns = node.ordered_to_returned_max_ns?;
    let Some((within_ns, (lower_ns, upper_ns))) = node.within_ns().zip(node.clock_ahead_ns) else {
        return Some(
            "how far its acts lie from the ordered time is not known: its clock was not compared with the server's"
                .to_owned(),
        );
    };
    // Of the edge that ends a pulse there is no figure.
    let (what, verb) = match &*node.output {
        record::NO_OUTPUT => ("an edge that begins a pulse", "would lie"),
        _ => ("the edge that begins each pulse", "lies"),
    };
    // Of orders that it did not tell of, whatever it did is not in these figures.
    let told = if node.orders.unknown > 0 { "as far as it told, " } else { "" };
    Some(format!(
        "{told}{what} {verb} within {} of the ordered time on the server's clock: up to {} after it on the clock that the node acts by, \
         which is {} to {} ahead of the server's",
        latency_at_most(within_ns),
        latency_at_most(returned_ns),
        latency_at_least(lower_ns),
        latency_at_most(upper_ns)
    ))
}

fn apart(run: &PulseRun) -> Option<String> {
    if run.nodes.len() < 2 {
        return None;
    }
    let mut within = run.nodes.iter().map(PulseNode::within_ns).collect::<Option<Vec<u64>>>()?;
    within.sort_unstable_by_key(|ns| std::cmp::Reverse(*ns));
    let both_ns = within.iter().take(2).fold(0, |sum: u64, ns| sum.saturating_add(*ns));
    let two = if run.nodes.len() == 2 { "both nodes" } else { "any two nodes" };
    let carried = if run.nodes.iter().any(|node| node.orders.unknown > 0) {
        "are known to have carried an order out"
    } else {
        "carried an order out"
    };
    Some(format!(
        "where {two} {carried}, they acted within {} of each other: the sum of what each leaves open",
        latency_at_most(both_ns)
    ))
}

fn trials(run: &PulseRun) -> String {
    let trials = &run.trials;
    let (all, are) = if run.nodes.len() == 1 { ("The node", "is") } else { ("All nodes", "are") };
    let (kept, missed) = (count(trials.kept), count(trials.missed));
    let of = count_of(trials.scheduled, "schedule", "schedules");
    match (trials.kept, trials.unknown) {
        (_, 0) => format!("{all} acted in time at {kept} of {of}, {missed} missed"),
        (0, unknown) => format!(
            "Of {of} {missed} are known to be missed; of the other {} nothing is known, since what a node did is missing",
            count(unknown)
        ),
        (_, unknown) => format!(
            "{all} {are} known to have acted in time at {kept} of {of}, and {missed} to be missed; of the other {} nothing is \
             known, since a node did not tell of them",
            count(unknown)
        ),
    }
}

/// Misses that are less than a second apart are one burst. How rare bursts are, only the time says, and not the number of orders.
pub(crate) fn bursts(record: &Record, run: &PulseRun) -> String {
    let trials = &run.trials;
    let time_ns = run.interval_ns.saturating_mul(trials.scheduled);
    let known = if trials.unknown > 0 { "misses that are known" } else { "misses" };
    match (trials.bursts, trials.missed) {
        (_, 0) if trials.unknown > 0 => "How often misses come is not known".to_owned(),
        (_, 0) => format!(
            "No miss in {}: misses that come together, less than 1 s apart, are rarer than one such burst in {} (99 % sure), and no \
             more is known of them{}",
            span(time_ns),
            span_at_least(::pulse::sweep::burst_interval_ns(time_ns, ONE_IN_A_HUNDRED)),
            load(record)
        ),
        (_, 1) if trials.unknown > 0 => format!("One miss is known{}", load(record)),
        (_, 1) => format!("There was one miss{}", load(record)),
        (1, missed) => format!(
            "The {known} are one burst of {}, each less than 1 s after the one before{}",
            count(missed),
            load(record)
        ),
        (bursts, _) => format!(
            "The {known} come in {} bursts, in each of which one follows another within 1 s; the longest has {}{}",
            count(bursts),
            count(trials.longest_burst),
            load(record)
        ),
    }
}

fn load(record: &Record) -> String {
    match &*record.manifest().load.name {
        "" | "none" => "; no load was started".to_owned(),
        name => format!("; the load was {name}"),
    }
}

/// The counts of a node for a table: in time, late, and what was not carried out.
#[must_use]
pub const fn counts(orders: &OrderCounts) -> [u64; 9] {
    let OrderCounts { scheduled, skipped, lost, too_late, refused, dropped, unknown, beyond, .. } = *orders;
    [scheduled, orders.kept(), beyond, too_late, lost, skipped, refused, dropped, unknown]
}

/// The headings of [`counts`].
pub const CELLS: [&str; 9] =
    ["orders", "in time", "late", "too late", "lost", "skipped", "refused", "dropped", "unknown"];

#[cfg(test)]
mod tests {
    use samples::pulses;

    use super::*;

    #[test]
    fn what_each_node_leaves_open_is_said_with_its_parts() {
        let summary = summary(&pulses(|_| ())).unwrap();
        assert_eq!(
            summary.ordered,
            "a ordered 2 nodes every 1 ms to act 800 us after the schedule, each by its own clock; later than 100 us is a miss"
        );
        assert_eq!(summary.trials, "All nodes acted in time at 1\u{202f}000 of 1\u{202f}000 schedules, 0 missed");
        let node = &summary.nodes[0];
        assert_eq!(node.output, "valve (gpiochip0/17, active high)");
        let rows: Vec<&str> = node.rows.iter().map(|row| &*row.name).collect();
        assert_eq!(rows, ["ordered_to_acted", "acted_to_returned", "scheduled_to_armed"]);
        let within = node.within.as_ref().unwrap();
        assert!(
            within.starts_with("the edge that begins each pulse lies within 31.0 us of the ordered time"),
            "{within}"
        );
        assert!(summary.apart.as_ref().unwrap().contains("within 62.0 us of each other"), "{:?}", summary.apart);
        let needed = node.needed.as_ref().unwrap();
        assert!(needed.starts_with("the orders that reached its thread needed a lead of up to 310 us"), "{needed}");
        assert!(needed.ends_with("; they had 800 us"), "{needed}");
    }

    #[test]
    fn what_bounds_is_rounded_to_its_safe_side_and_what_is_one_is_said_of_one() {
        let of = |change: fn(&mut PulseRun)| summary(&pulses(change)).unwrap();
        let odd = of(|run| {
            for node in &mut run.nodes {
                (node.ordered_to_returned_max_ns, node.clock_ahead_ns) = (Some(30_010), Some((-1_060, 2_010)));
            }
        });
        let within = odd.nodes[0].within.as_ref().unwrap();
        for words in ["lies within 31.1 us of", "up to 30.1 us after", "which is -1.1 us to 2.1 us ahead"] {
            assert!(within.contains(words), "{words}: {within}");
        }
        assert!(odd.apart.as_ref().unwrap().contains("within 62.2 us of"), "{:?}", odd.apart);
        // 1 s without a miss, divided by ln(100): 217.147 ms.
        assert!(odd.bursts.contains("one such burst in 217.1 ms"), "{}", odd.bursts);
        let one = of(|run| {
            (run.trials.kept, run.trials.missed, run.trials.bursts, run.trials.longest_burst) = (999, 1, 1, 1);
        });
        assert_eq!(one.bursts, "There was one miss; no load was started");
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let of = |change: fn(&mut PulseRun)| summary(&pulses(change)).unwrap();
        let without = of(|run| run.nodes[1].clock_ahead_ns = None);
        assert_eq!(without.apart, None);
        assert!(without.nodes[1].within.as_ref().unwrap().contains("is not known"));
        let silent = of(|run| (run.trials.kept, run.trials.unknown) = (0, 1_000));
        assert!(
            silent.trials.contains("of the other 1\u{202f}000 nothing is known") && silent.bursts.contains("not known"),
            "{silent:?}"
        );
        // One node told of a part of its orders and was lost.
        let part = of(|run| {
            (run.trials.kept, run.trials.unknown) = (400, 600);
            (run.nodes[1].orders.acted, run.nodes[1].orders.unknown) = (400, 600);
        });
        assert_eq!(
            part.trials,
            "All nodes are known to have acted in time at 400 of 1\u{202f}000 schedules, and 0 to be missed; of the other 600 nothing \
             is known, since a node did not tell of them"
        );
        let [whole, lost] = &part.nodes[..] else { panic!("{part:?}") };
        let words = |node: &ActingNode| [node.within.clone(), node.needed.clone()].map(Option::unwrap);
        assert!(!words(whole).iter().any(|words| words.contains("told")), "{whole:?}");
        assert!(words(lost).iter().all(|words| words.contains("told")), "{lost:?}");
        assert!(part.apart.as_ref().unwrap().contains("are known to have"), "{:?}", part.apart);
        let bursts = of(|run| {
            (run.trials.kept, run.trials.missed, run.trials.bursts, run.trials.longest_burst) = (990, 10, 2, 9);
        });
        assert!(bursts.bursts.contains("2 bursts") && bursts.bursts.contains("the longest has 9"), "{}", bursts.bursts);
        let one = of(|run| {
            (run.trials.kept, run.trials.missed, run.trials.bursts, run.trials.longest_burst) = (900, 100, 1, 100);
        });
        assert!(one.bursts.contains("one burst of 100"), "{}", one.bursts);
    }
}
