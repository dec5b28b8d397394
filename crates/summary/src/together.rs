//! What is said of several runs of nodes that act together, beside what others have published: the table of shifts, what the nodes say of
//! themselves, and the columns of the paper's figures 9 and 10.

use record::{Figure, LatencyRole, PacketFlow, PulseRun, Record, Series};
use schemars::JsonSchema;
use serde::Serialize;
use units::approx_f64;
use units::format::{count, microseconds, span};

use crate::label;
use crate::packet::{path_of, series_of};
use crate::published::{OSIE, OSIE_PULSES, PAPER_COSTS, PAPER_SHIFTS, PublishedColumn, PublishedPulses};
use crate::run::Figures;
use crate::shift::{ShiftFigures, ShiftPair, ShiftSummary, WitnessVerdict};
use crate::sweep::SweepDocument;

/// What a witness said, with the name that it bears among others.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedShift {
    /// Its name: the label of its run, or the name of its file.
    pub name: String,
    /// What the witness said.
    pub shift: ShiftSummary,
}

/// What a sweep came to, with the name that it bears among others.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedSweep {
    /// Its name: that of its folder or file.
    pub name: String,
    /// What it came to.
    pub document: SweepDocument,
}

/// A row of the table of nodes that act together, in words; times in us.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PulseRow {
    /// Whose it is: the name of the run, or of who published it.
    pub source: String,
    /// Whether somebody else has published it.
    pub published: bool,
    /// What least, greatest and mean are of.
    pub of: String,
    /// How long it took.
    pub duration: Option<String>,
    /// The way of the orders.
    pub path: Option<String>,
    /// From one order to the next (us).
    pub interval: String,
    /// How long after its schedule each order was to be carried out (us).
    pub lead: String,
    /// The least (us).
    pub min: Option<String>,
    /// The greatest (us).
    pub max: Option<String>,
    /// The mean (us).
    pub mean: Option<String>,
    /// What was missed: "3 of 120 000". Schedules that any node missed in the row of a shift, orders in that of one node; `None` if the
    /// number is not known.
    pub missed: Option<String>,
    /// Whether its run or its witness is invalid: no result.
    pub invalid: bool,
}

/// A column of a figure that shows scenarios side by side.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ScenarioColumn {
    /// The scenario: the name of its run.
    pub name: String,
    /// What it is of, in a few words.
    pub about: String,
    /// The least (ns); null where the figure has none.
    pub min_ns: Option<f64>,
    /// The mean (ns), with its sign.
    pub mean_ns: Option<f64>,
    /// The standard deviation (ns).
    pub sd_ns: Option<f64>,
    /// The greatest, to either side (ns).
    pub max_ns: Option<f64>,
    /// Values that it is of, in words; null if that is not known.
    pub samples: Option<String>,
    /// Whether somebody else has published it.
    pub published: bool,
    /// Whether it is no result.
    pub invalid: bool,
}

/// How far apart nodes switched, by a witness: OSIE's table of shifts between pulses, ours before theirs.
#[must_use]
pub fn shift_rows(shifts: &[NamedShift]) -> Vec<PulseRow> {
    let ours = shifts.iter().flat_map(|named| named.shift.pairs.iter().map(move |pair| shift_row(named, pair)));
    ours.chain(OSIE_PULSES.iter().map(published_row)).collect()
}

/// What nodes say of themselves: how late each acted on its own clock, and the lead that its orders needed. It is of the runs of orders,
/// but for those of a sweep that confirmed nothing.
#[must_use]
pub fn own_rows(runs: &[Record], sweeps: &[NamedSweep]) -> Vec<PulseRow> {
    let of_sweep = |record: &Record| {
        sweeps.iter().find_map(|sweep| {
            let of = sweep.document.runs.iter().find(|run| run.record == record.id)?;
            let confirms = |claim| sweep.document.confirming(claim).is_some_and(|run| run.record == record.id);
            Some((&*sweep.name, sweep.document.conclusion.claims().any(confirms), of))
        })
    };
    let mut rows = Vec::new();
    for record in runs {
        let Some(run) = record.pulses() else { continue };
        match of_sweep(record) {
            None => rows.extend(rows_of_run(record, run, label(record))),
            Some((name, true, _)) => rows.extend(rows_of_run(record, run, &format!("{name}, confirmed"))),
            Some((_, false, _)) => {}
        }
    }
    rows
}

fn shift_row(named: &NamedShift, pair: &ShiftPair) -> PulseRow {
    let NamedShift { name, shift } = named;
    let figures = pair.figures.as_ref();
    let us = |of: fn(&ShiftFigures) -> f64| figures.map(|figures| in_us(of(figures) / 1_000.0));
    PulseRow {
        source: name.clone(),
        published: false,
        of: format!("shift of {} against {}, by the witness", pair.second, pair.first),
        duration: figures.map(|figures| span(figures.span_ps / 1_000)),
        path: shift.path.clone(),
        interval: microseconds(shift.interval_ns),
        lead: microseconds(shift.lead_ns),
        min: us(|figures| units::approx_f64_i64(figures.nearest_ps)),
        max: us(|figures| units::approx_f64_i64(figures.worst_ps.saturating_abs())),
        mean: us(|figures| figures.mean_distance_ps),
        missed: missed(shift.missed, shift.scheduled, shift.unknown),
        invalid: shift.verdict == WitnessVerdict::Invalid,
    }
}

fn published_row(row: &PublishedPulses) -> PulseRow {
    let &PublishedPulses { duration_ns, path, interval_ns, lead_ns, min_ns, max_ns, mean_ns, missed } = row;
    PulseRow {
        source: OSIE.to_owned(),
        published: true,
        of: "shift between two boards, by a logic analyzer".to_owned(),
        duration: Some(span(duration_ns)),
        path: Some(path.to_owned()),
        interval: microseconds(interval_ns),
        lead: microseconds(lead_ns),
        min: Some(in_us(approx_f64(min_ns))),
        max: Some(in_us(approx_f64(max_ns))),
        mean: Some(in_us(approx_f64(mean_ns))),
        missed: missed.map(count),
        invalid: false,
    }
}

/// "3 of 120 000"; `None` if it is not known of all.
fn missed(missed: u64, scheduled: u64, unknown: u64) -> Option<String> {
    (unknown == 0).then(|| format!("{} of {}", count(missed), count(scheduled)))
}

fn rows_of_run(record: &Record, run: &PulseRun, name: &str) -> Vec<PulseRow> {
    let kind = record.measurement.kind();
    let roles = [LatencyRole::OrderedAct, LatencyRole::NeededLead];
    let latencies = || roles.iter().filter_map(|role| kind.by_role(*role));
    let of_node = |node: &record::PulseNode| {
        let flow = PacketFlow { flow: node.flow, ..PacketFlow::default() };
        let path = run.packets.flows.iter().find(|one| one.flow == node.flow).and_then(|flow| path_of(flow).0);
        let node_name = node.node.clone();
        let row = move |latency: &record::Latency| {
            let series = series_of(record, &flow, latency.name).filter(|series| series.taken() > 0)?;
            let figures = Figures::of(&series.histogram, series.below_zero.as_ref());

            Some(PulseRow {
                source: name.to_owned(),
                published: false,
                of: format!("{node_name}: {}", latency.words),
                duration: Some(span(run.interval_ns.saturating_mul(run.trials.scheduled))),
                path: path.clone(),
                interval: microseconds(run.interval_ns),
                lead: microseconds(run.lead_ns),
                min: figures.lowest_ns.map(|ns| in_us(units::approx_f64_i64(ns))),
                max: series.worst_ns(record.sign(series)).map(|ns| in_us(units::approx_f64_i64(ns))),
                mean: figures.mean_ns.map(in_us),
                // A row of one node has its own misses: another one's may be many.
                missed: missed(node.orders.missed(), node.orders.scheduled, node.orders.unknown),
                invalid: record.validity.is_invalid(),
            })
        };
        latencies().filter_map(row).collect::<Vec<PulseRow>>()
    };
    run.nodes.iter().flat_map(of_node).collect()
}

/// A time in us with its sign; below a microsecond with three decimals, since a latency of 42 ns is not none.
fn in_us(ns: f64) -> String {
    let whole_ns = units::round_u64(ns.abs());
    let magnitude = match whole_ns {
        0 => return "0".to_owned(),
        1..1_000 => format!("0.{whole_ns:03}"),
        _ => microseconds(whole_ns),
    };
    if ns < 0.0 { format!("-{magnitude}") } else { magnitude }
}

/// The cost of setting and clearing a line, of each run of `gpio`: the paper's figure 9, its own values last. Empty without a run.
#[must_use]
pub fn cost_columns(runs: &[Record]) -> Vec<ScenarioColumn> {
    let ours = runs.iter().filter(|run| run.measurement.kind().figure == Figure::Costs).flat_map(|run| {
        let cost = run.measurement.kind().by_role(LatencyRole::OutputCost).map(|latency| latency.name);
        let is_cost = move |series: &&Series| series.taken() > 0 && cost == Some(&*series.name);
        let named = run.series.iter().filter(is_cost);
        named.map(move |series| {
            let figures = Figures::of(&series.histogram, None);
            ScenarioColumn {
                name: format!("{}: {}", label(run), series.variant),
                about: "from the reading of the clock before to that after the write".to_owned(),
                min_ns: figures.lowest_ns.map(units::approx_f64_i64),
                mean_ns: figures.mean_ns,
                sd_ns: figures.sd_ns,
                max_ns: figures.highest_ns.map(units::approx_f64_i64),
                samples: Some(count(figures.samples)),
                published: false,
                invalid: run.validity.is_invalid(),
            }
        })
    });
    with_published(ours.collect(), &PAPER_COSTS)
}

/// How far apart nodes switched, a column for each node of each witness: the paper's figure 10, its own values last. Empty without one.
#[must_use]
pub fn shift_columns(shifts: &[NamedShift]) -> Vec<ScenarioColumn> {
    let ours = shifts.iter().flat_map(|NamedShift { name, shift }| {
        shift.pairs.iter().filter_map(move |pair| {
            let figures = pair.figures.as_ref()?;
            Some(ScenarioColumn {
                name: if shift.pairs.len() > 1 { format!("{name}: {}", pair.second) } else { name.clone() },
                about: format!("{} against {}", pair.second, pair.first),
                // As in the paper: a negative value only means that the second one came first.
                min_ns: None,
                mean_ns: Some(figures.mean_ps / 1_000.0),
                sd_ns: Some(figures.deviation_ps / 1_000.0),
                max_ns: Some(approx_f64(figures.worst_ps.unsigned_abs()) / 1_000.0),
                samples: Some(count(figures.orders)),
                published: false,
                invalid: shift.verdict == WitnessVerdict::Invalid,
            })
        })
    });
    with_published(ours.collect(), &PAPER_SHIFTS)
}

fn with_published(mut ours: Vec<ScenarioColumn>, published: &[PublishedColumn]) -> Vec<ScenarioColumn> {
    if !ours.is_empty() {
        ours.extend(published.iter().map(|one| ScenarioColumn {
            name: one.name.to_owned(),
            about: one.about.to_owned(),
            min_ns: one.min_ns.map(approx_f64),
            mean_ns: one.mean_ns.map(approx_f64),
            sd_ns: one.sd_ns.map(approx_f64),
            max_ns: one.max_ns.map(approx_f64),
            samples: None,
            published: true,
            invalid: false,
        }));
    }
    ours
}

#[cfg(test)]
mod tests;
