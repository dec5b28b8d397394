//! The columns of a run: what an export to CSV or Parquet holds of it, one row per bin.
//!
//! The exports write the columns of [`COLUMNS`], each of them from a [`ColumnSeries`], and a summary can be made of them
//! ([`Summary::of_columns`](crate::Summary::of_columns)). So what a table in a database keeps of a run and what is said of it are
//! the same numbers.

mod record;

use ::record::{
    Direction, Histogram, Node, Origin, PacketFlow, Place, Reason, Record, Series, Uncertainty, ValidityState,
};
use serde::{Deserialize, Serialize};

/// What an export holds of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// The description of the run.
    pub run: ColumnRun,
    /// The series that have a sample, each with its rows.
    pub series: Vec<ColumnSeries>,
}

/// The description of a run, which the metadata of a Parquet file has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnRun {
    /// The schema of the record: `punctual/record`.
    pub schema: String,
    /// Version of that schema.
    pub version: u32,
    /// Unique identifier of the run.
    pub id: String,
    /// The label of the run; empty if it has none.
    pub label: String,
    /// The kind of measurement.
    pub measurement: String,
    /// `punctual`, or the format from which the run was imported.
    pub origin: String,
    /// How far the run can be trusted: `valid`, `degraded`, `invalid`.
    pub validity: ValidityState,
    /// The reasons for that, the worst first.
    pub reasons: Vec<Reason>,
    /// Host name of the leading node.
    pub node: String,
    /// Release of its kernel.
    pub kernel_release: String,
    /// Version of its kernel, as the kernel itself says it.
    pub kernel_version: String,
    /// Its architecture.
    pub machine: String,
    /// The command that made the run.
    pub command: Vec<String>,
}

/// The values of the columns about a series, which are equal in all of its rows, with these rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnSeries {
    /// Unique identifier of the run.
    pub run: String,
    /// The label of the run; empty if it has none.
    pub label: String,
    /// Host name of the node; of several nodes, the name by which the run tells them apart.
    pub node: String,
    /// The kind of measurement.
    pub measurement: String,
    /// How far the run can be trusted: `valid`, `degraded`, `invalid`.
    pub validity: String,
    /// The latency, named by its two points.
    pub series: String,
    /// Distinguishes series of the same name and place; empty if there is only one.
    pub variant: String,
    /// The measured CPU; of a pair of threads that of the woken one.
    pub cpu: Option<u32>,
    /// Number of the thread, or of the pair of threads, from 0.
    pub thread: Option<u32>,
    /// The CPU of the thread that wakes the other one of a pair.
    pub waker_cpu: Option<u32>,
    /// Number of the flow of packets, from 0.
    pub flow: Option<u32>,
    /// Direction of the packets, as seen by the node: `sent`, `received`, `round-trip`.
    pub direction: Option<String>,
    /// The queue of the network interface.
    pub queue: Option<u32>,
    /// Name of the node that sends the packets.
    pub from_node: Option<String>,
    /// Name of the node that receives the packets.
    pub to_node: Option<String>,
    /// The port of a time service, or the chip of a line.
    pub port: Option<String>,
    /// The PTP domain of the port.
    pub domain: Option<u32>,
    /// How far the true values can be below the samples (ns); absent if both points are of one clock, or if nobody knows a bound.
    pub error_below_ns: Option<u64>,
    /// How far the true values can be above the samples (ns); absent as the other side.
    pub error_above_ns: Option<u64>,
    /// How far values scatter that have one true value (ns).
    pub error_spread_ns: Option<u64>,
    /// Packets that were lost; of `ordered_to_acted` orders that were not carried out, for whatever reason.
    pub lost: Option<u64>,
    /// One row per bin, in ascending order.
    pub rows: Vec<ColumnRow>,
}

/// One row: a range of values and the number of samples in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnRow {
    /// What the range is of.
    pub kind: RowKind,
    /// The lowest value of the range (ns), by its magnitude. That of the first row is the exact minimum.
    pub from_ns: u64,
    /// The highest value of the range (ns), by its magnitude. That of the last row is the exact maximum.
    pub to_ns: u64,
    /// Number of samples.
    pub count: u64,
}

/// What the range of a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A bin of the samples from zero on.
    Bin,
    /// A bin of the samples below zero, by their magnitude.
    BelowZero,
    /// Samples of which only the range is known.
    Unplaced,
}

impl RowKind {
    /// The word in the column.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Bin => "bin",
            Self::BelowZero => "below-zero",
            Self::Unplaced => "unplaced",
        }
    }

    /// The kind of a word in the column; `None` if no export writes it.
    #[must_use]
    pub fn by_word(word: &str) -> Option<Self> {
        [Self::Bin, Self::BelowZero, Self::Unplaced].into_iter().find(|kind| kind.word() == word)
    }
}

/// A column about a run and a series: equal in all rows of the series. Whether it can be absent is its type, so that no writer can
/// have another number of values than of rows.
#[derive(Clone, Copy, Debug)]
pub enum OfSeries {
    /// A text that every series has.
    Text(fn(&ColumnSeries) -> &str),
    /// A word that not every place has.
    OptionalText(fn(&ColumnSeries) -> Option<&str>),
    /// A number of 32 bits that not every place has.
    Small(fn(&ColumnSeries) -> Option<u32>),
    /// A number of 64 bits that is not always known.
    Number(fn(&ColumnSeries) -> Option<u64>),
}

/// A column about a row.
#[derive(Clone, Copy, Debug)]
pub enum OfRow {
    /// A word.
    Text(fn(&ColumnRow) -> &'static str),
    /// A number of 64 bits.
    Number(fn(&ColumnRow) -> u64),
}

/// What a column is about.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// About the series.
    Series(OfSeries),
    /// About the row.
    Row(OfRow),
}

/// A column of the exports.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name, with the unit at its end.
    pub name: &'static str,
    /// Its content.
    pub of: Of,
}

const fn of_series(name: &'static str, of: OfSeries) -> Column {
    Column { name, of: Of::Series(of) }
}

const fn of_row(name: &'static str, of: OfRow) -> Column {
    Column { name, of: Of::Row(of) }
}

/// All columns. New ones are added at the end: some readers go by position.
pub const COLUMNS: [Column; 25] = [
    of_series("run", OfSeries::Text(|series| &series.run)),
    of_series("label", OfSeries::Text(|series| &series.label)),
    of_series("node", OfSeries::Text(|series| &series.node)),
    of_series("measurement", OfSeries::Text(|series| &series.measurement)),
    of_series("validity", OfSeries::Text(|series| &series.validity)),
    of_series("series", OfSeries::Text(|series| &series.series)),
    of_series("variant", OfSeries::Text(|series| &series.variant)),
    of_series("cpu", OfSeries::Small(|series| series.cpu)),
    of_series("thread", OfSeries::Small(|series| series.thread)),
    of_series("waker_cpu", OfSeries::Small(|series| series.waker_cpu)),
    of_row("kind", OfRow::Text(|row| row.kind.word())),
    of_row("from_ns", OfRow::Number(|row| row.from_ns)),
    of_row("to_ns", OfRow::Number(|row| row.to_ns)),
    of_row("count", OfRow::Number(|row| row.count)),
    of_series("flow", OfSeries::Small(|series| series.flow)),
    of_series("direction", OfSeries::OptionalText(|series| series.direction.as_deref())),
    of_series("queue", OfSeries::Small(|series| series.queue)),
    of_series("from_node", OfSeries::OptionalText(|series| series.from_node.as_deref())),
    of_series("to_node", OfSeries::OptionalText(|series| series.to_node.as_deref())),
    of_series("port", OfSeries::OptionalText(|series| series.port.as_deref())),
    of_series("domain", OfSeries::Small(|series| series.domain)),
    of_series("error_below_ns", OfSeries::Number(|series| series.error_below_ns)),
    of_series("error_above_ns", OfSeries::Number(|series| series.error_above_ns)),
    of_series("error_spread_ns", OfSeries::Number(|series| series.error_spread_ns)),
    of_series("lost", OfSeries::Number(|series| series.lost)),
];

/// The columns about a series alone.
pub fn of_each_series() -> impl Iterator<Item = (&'static str, OfSeries)> {
    COLUMNS.iter().filter_map(|column| match column.of {
        Of::Series(of) => Some((column.name, of)),
        Of::Row(_) => None,
    })
}

impl Columns {
    /// What an export holds of a record. A series without samples has no row, and is in no export.
    #[must_use]
    pub fn of_record(record: &Record) -> Self {
        let series = record.series.iter().map(|series| ColumnSeries::of(record, series));
        Self { run: ColumnRun::of(record), series: series.filter(|series| !series.rows.is_empty()).collect() }
    }
}

impl ColumnRun {
    /// The description of the run of a record.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let manifest = record.manifest();
        Self {
            schema: ::record::SCHEMA.to_owned(),
            version: ::record::VERSION,
            id: record.id.clone(),
            label: record.label.clone(),
            measurement: record.measurement.name().to_owned(),
            origin: match &manifest.origin {
                Origin::Punctual => "punctual".to_owned(),
                Origin::Imported { format, .. } => format.clone(),
            },
            validity: record.validity.state(),
            reasons: record.validity.reasons().to_vec(),
            node: manifest.node.hostname.clone(),
            kernel_release: manifest.node.kernel_release.clone(),
            kernel_version: manifest.node.kernel_version.clone(),
            machine: manifest.node.machine.clone(),
            command: manifest.command.clone(),
        }
    }
}

impl ColumnSeries {
    /// A series of a record with its rows.
    #[must_use]
    pub fn of(record: &Record, series: &Series) -> Self {
        Self { rows: rows(series).collect(), ..Self::without_rows(record, series) }
    }

    /// The columns about a series of a record alone.
    #[must_use]
    pub fn without_rows(record: &Record, series: &Series) -> Self {
        let node = node(record, series);
        // Where several nodes took part, the name by which the run tells them apart: two can have one host name.
        let node = if record.nodes.iter().count() > 1 { &node.name } else { &node.manifest.node.hostname };
        let flow = flow(record, series);
        let error = |of: fn(&Uncertainty) -> u64| series.uncertainty.as_ref().map(of).filter(|ns| *ns != u64::MAX);
        let mut columns = Self {
            run: record.id.clone(),
            label: record.label.clone(),
            node: node.clone(),
            measurement: record.measurement.name().to_owned(),
            validity: record.validity.state().word().to_owned(),
            series: series.name.clone(),
            variant: series.variant.clone(),
            from_node: flow.map(|flow| flow.from.clone()),
            to_node: flow.map(|flow| flow.to.clone()),
            error_below_ns: error(|error| error.below_ns),
            error_above_ns: error(|error| error.above_ns),
            error_spread_ns: series.uncertainty.and_then(|error| error.spread_ns),
            lost: series.counters.lost,
            ..Self::default()
        };
        match &series.place {
            Place::Thread { cpu, thread } => (columns.cpu, columns.thread) = (*cpu, Some(*thread)),
            Place::Pair { cpu, waker_cpu, pair } => {
                (columns.cpu, columns.thread, columns.waker_cpu) = (Some(*cpu), Some(*pair), Some(*waker_cpu));
            }
            Place::Flow { flow, direction, queue } => {
                columns.flow = Some(*flow);
                columns.direction = Some(direction_word(*direction).to_owned());
                columns.queue = *queue;
            }
            Place::Port { port, domain } => {
                (columns.port, columns.domain) = (Some(port.clone()), domain.map(u32::from));
            }
            Place::Line { chip, .. } => columns.port = Some(chip.clone()),
        }
        columns
    }
}

/// A direction as records have it.
const fn direction_word(direction: Direction) -> &'static str {
    match direction {
        Direction::Sent => "sent",
        Direction::Received => "received",
        Direction::RoundTrip => "round-trip",
    }
}

/// The node of a series: the only one, or the one of the name.
#[must_use]
pub fn node<'a>(record: &'a Record, series: &Series) -> &'a Node {
    record.nodes.iter().find(|node| node.name == series.node).unwrap_or_else(|| record.nodes.first())
}

/// The flow of a series; `None` if it is of no packets.
#[must_use]
pub fn flow<'a>(record: &'a Record, series: &Series) -> Option<&'a PacketFlow> {
    let number = crate::packet::flow_number(&series.place)?;
    record.packets()?.flows.iter().find(|flow| flow.flow == number)
}

/// The rows of all samples of a series.
fn rows(series: &Series) -> impl Iterator<Item = ColumnRow> + '_ {
    let below = series.below_zero.iter().flat_map(|below| histogram_rows(RowKind::BelowZero, below));
    histogram_rows(RowKind::Bin, &series.histogram).chain(below)
}

fn histogram_rows<'a>(kind: RowKind, histogram: &'a Histogram) -> impl Iterator<Item = ColumnRow> + 'a {
    let bins =
        histogram.bins().map(move |bin| ColumnRow { kind, from_ns: bin.from_ns, to_ns: bin.to_ns, count: bin.count });
    let unplaced = histogram.unplaced().zip(histogram.max_ns()).map(|(unplaced, max_ns)| ColumnRow {
        kind: RowKind::Unplaced,
        from_ns: unplaced.from_ns,
        to_ns: max_ns,
        count: unplaced.count,
    });
    bins.chain(unplaced)
}
