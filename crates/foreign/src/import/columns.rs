//! Bare columns, as OSADL's latency plots are made of: microseconds, then one count for each CPU.
//!
//! Nothing tells minimum, mean, maximum, or what lay beyond the last row: the usual recipe drops these lines.

use record::{Measurement, Place, ReasonCode, Series};

use super::cyclictest_histogram::Table;
use super::cyclictest_text;
use super::source::Imported;
use super::tally::Tally;
use super::text::{head, lines};
use super::{ImportFormat, Options};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "columns",
    what: "columns of a latency plot, as OSADL's: microseconds, then one count for each CPU",
    recognise,
    read,
};

fn is_comment(row: &str) -> bool {
    row.is_empty() || row.starts_with('#')
}

fn recognise(text: &str) -> bool {
    let head = head(text);
    // The last line of the head may be cut.
    let whole = if head.len() < text.len() { head.rsplit_once('\n').map_or("", |(whole, _)| whole) } else { head };
    let mut table = Table::default();
    lines(whole).filter(|(_, row)| !is_comment(row)).all(|(line, row)| table.row(&row, line).is_ok())
        && table.rows.len() > 1
}

fn read(text: &str, options: Options) -> Result<Imported, ForeignError> {
    let mut table = Table::default();
    for (line, row) in lines(text).filter(|(_, row)| !is_comment(row)) {
        table.row(&row, line)?;
    }
    let Some((last, _)) = table.rows.last() else {
        return Err(ForeignError::NoResult("no row of a value and its counts".to_owned()));
    };
    let mut imported = Imported::by("cyclictest or alike", Measurement::Wakeup);
    let shortest = table.rows.iter().find(|(_, counts)| counts.iter().any(|count| *count > 0)).map(|(value, _)| *value);
    let unit_ns = cyclictest_text::unit(&mut imported, options, shortest)?;
    imported.reason(
        ReasonCode::MaximumUnknown,
        format!("the table ends at {last}, and nothing tells how many samples lay beyond it, or how far"),
    );
    imported.lacks_below(unit_ns);
    imported.lacks("the program that measured, its version and its command line");
    imported.lacks("the interval and the priority");
    imported.lacks("which CPU each column is: they are numbered from 0");
    for at in 0..table.columns() {
        let cpu = u32::try_from(at).unwrap_or(u32::MAX);
        let tally = Tally { bins: table.column(at), ..Tally::of(format!("CPU {cpu}"), unit_ns) };
        let series =
            Series { name: "scheduled_to_woke".to_owned(), place: Place::thread(cpu, Some(cpu)), ..Series::default() };
        imported.add(series, tally)?;
    }
    Ok(imported)
}
