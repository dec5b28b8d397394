//! The one table of columns of the flat forms: CSV and Parquet write all of it, the JSON summary those that are about a series.
//!
//! A column is a function of what it is about. Whether it can be absent is its type, so that no writer can have another number
//! of values than of rows.

use record::{Direction, Node, PacketFlow, Place, Record, Series, Uncertainty};

use super::rows::Row;

/// A column about a run and a series: equal in all rows of the series.
#[derive(Clone, Copy)]
pub(super) enum OfSeries {
    Text(for<'a> fn(&'a Record, &'a Series) -> &'a str),
    /// A word that not every place has.
    OptionalText(for<'a> fn(&'a Record, &'a Series) -> Option<&'a str>),
    /// A number of 32 bits that not every place has.
    Small(fn(&Record, &Series) -> Option<u32>),
    /// A number of 64 bits that is not always known.
    Number(fn(&Record, &Series) -> Option<u64>),
}

/// A column about a row.
#[derive(Clone, Copy)]
pub(super) enum OfRow {
    Text(fn(&Row) -> &'static str),
    Number(fn(&Row) -> u64),
}

/// What a column is about.
#[derive(Clone, Copy)]
pub(super) enum Of {
    Series(OfSeries),
    Row(OfRow),
}

/// A column: its name, with the unit at its end, and its content.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) of: Of,
}

const fn of_series(name: &'static str, of: OfSeries) -> Column {
    Column { name, of: Of::Series(of) }
}

const fn of_row(name: &'static str, of: OfRow) -> Column {
    Column { name, of: Of::Row(of) }
}

/// All columns. New ones are added at the end: some readers go by position.
pub(super) const COLUMNS: [Column; 24] = [
    of_series("run", OfSeries::Text(|record, _| &record.id)),
    of_series("label", OfSeries::Text(|record, _| &record.label)),
    of_series("node", OfSeries::Text(node_name)),
    of_series("measurement", OfSeries::Text(|record, _| record.measurement.name())),
    of_series("validity", OfSeries::Text(|record, _| record.validity.state().word())),
    of_series("series", OfSeries::Text(|_, series| &series.name)),
    of_series("variant", OfSeries::Text(|_, series| &series.variant)),
    of_series("cpu", OfSeries::Small(|_, series| series.place.cpu())),
    of_series("thread", OfSeries::Small(|_, series| series.place.thread_number())),
    of_row("kind", OfRow::Text(|row| row.kind)),
    of_row("from_ns", OfRow::Number(|row| row.from_ns)),
    of_row("to_ns", OfRow::Number(|row| row.to_ns)),
    of_row("count", OfRow::Number(|row| row.count)),
    of_series("flow", OfSeries::Small(|_, series| flow_number(series))),
    of_series("direction", OfSeries::OptionalText(direction)),
    of_series("queue", OfSeries::Small(|_, series| queue(series))),
    of_series("from_node", OfSeries::OptionalText(|record, series| flow(record, series).map(|flow| &*flow.from))),
    of_series("to_node", OfSeries::OptionalText(|record, series| flow(record, series).map(|flow| &*flow.to))),
    of_series("port", OfSeries::OptionalText(port)),
    of_series("domain", OfSeries::Small(|_, series| domain(series))),
    of_series("error_below_ns", OfSeries::Number(|_, series| bound(series, |error| error.below_ns))),
    of_series("error_above_ns", OfSeries::Number(|_, series| bound(series, |error| error.above_ns))),
    of_series("error_spread_ns", OfSeries::Number(|_, series| series.uncertainty.and_then(|error| error.spread_ns))),
    of_series("lost", OfSeries::Number(|_, series| series.counters.lost)),
];

/// The columns about a series alone.
pub(super) fn of_each_series() -> impl Iterator<Item = (&'static str, OfSeries)> {
    COLUMNS.iter().filter_map(|column| match column.of {
        Of::Series(of) => Some((column.name, of)),
        Of::Row(_) => None,
    })
}

/// The node of a series: the only one, or the one of the name.
pub(super) fn node<'a>(record: &'a Record, series: &Series) -> &'a Node {
    record.nodes.iter().find(|node| node.name == series.node).unwrap_or_else(|| record.nodes.first())
}

/// Where several nodes took part, the name by which the run tells them apart: two can have one host name.
fn node_name<'a>(record: &'a Record, series: &'a Series) -> &'a str {
    let node = node(record, series);
    if record.nodes.iter().count() > 1 { &node.name } else { &node.manifest.node.hostname }
}

const fn flow_number(series: &Series) -> Option<u32> {
    match &series.place {
        Place::Flow { flow, .. } => Some(*flow),
        _ => None,
    }
}

const fn queue(series: &Series) -> Option<u32> {
    match &series.place {
        Place::Flow { queue, .. } => *queue,
        _ => None,
    }
}

/// As the record has it.
fn direction<'a>(_: &'a Record, series: &'a Series) -> Option<&'a str> {
    match &series.place {
        Place::Flow { direction, .. } => Some(match direction {
            Direction::Sent => "sent",
            Direction::Received => "received",
            Direction::RoundTrip => "round-trip",
        }),
        _ => None,
    }
}

fn port<'a>(_: &'a Record, series: &'a Series) -> Option<&'a str> {
    match &series.place {
        Place::Port { port, .. } => Some(port),
        Place::Line { chip, .. } => Some(chip),
        _ => None,
    }
}

fn domain(series: &Series) -> Option<u32> {
    match &series.place {
        Place::Port { domain, .. } => domain.map(u32::from),
        _ => None,
    }
}

/// The flow of a series.
pub(super) fn flow<'a>(record: &'a Record, series: &Series) -> Option<&'a PacketFlow> {
    let number = flow_number(series)?;
    record.packets()?.flows.iter().find(|flow| flow.flow == number)
}

/// A bound on the error; `None` if both points were read from one clock, and if nobody knows a bound.
fn bound(series: &Series, of: fn(&Uncertainty) -> u64) -> Option<u64> {
    series.uncertainty.as_ref().map(of).filter(|ns| *ns != u64::MAX)
}
