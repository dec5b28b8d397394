//! Bare columns, from which OSADL's latency plots are made: microseconds, then one count for each CPU.
//!
//! Minimum, mean, maximum and the samples above the last row are unknown: the usual recipe removes these lines.

use record::{Measurement, Place, ReasonCode, Series};

use super::cyclictest_histogram::Table;
use super::cyclictest_text;
use super::source::Imported;
use super::tally::Tally;
use super::text::{head, lines};
use super::{Form, ImportFormat, Options, Reader};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "columns",
    what: "columns of a latency plot, as used by OSADL: microseconds, then one count for each CPU",
    is_distinct: false,
    reader: Reader::Text { recognize, read, form: Form::Summary },
};

fn is_comment(row: &str) -> bool {
    row.is_empty() || row.starts_with('#')
}

fn recognize(text: &str) -> bool {
    let head = head(text);
    // The last line of the head may be incomplete.
    let whole = if head.len() < text.len() { head.rsplit_once('\n').map_or("", |(whole, _)| whole) } else { head };
    let mut table = Table::default();
    lines(whole).filter(|(_, row)| !is_comment(row)).all(|(line, row)| table.add_row(&row, line).is_ok())
        && table.rows.len() > 1
}

fn read(text: &str, options: Options) -> Result<Imported, ForeignError> {
    let mut table = Table::default();
    for (line, row) in lines(text).filter(|(_, row)| !is_comment(row)) {
        table.add_row(&row, line)?;
    }
    let Some((last, _)) = table.rows.last() else {
        return Err(ForeignError::NoResult("no row of a value and its counts".to_owned()));
    };
    let mut imported = Imported::from_program("cyclictest or similar", Measurement::Wakeup);
    let shortest = table.rows.iter().find(|(_, counts)| counts.iter().any(|count| *count > 0)).map(|(value, _)| *value);
    let unit_ns = cyclictest_text::unit(&mut imported, options, shortest)?;
    imported.reason(
        ReasonCode::MaximumUnknown,
        format!("the table ends at {last}; number and values of the samples above it are unknown"),
    );
    imported.lacks_fractions(unit_ns);
    imported.lacks("the program that measured, its version and its command line");
    imported.lacks("the interval and the priority");
    imported.lacks("the CPU of each column: the columns are numbered from 0 instead");
    for at in 0..table.columns() {
        let cpu = u32::try_from(at).unwrap_or(u32::MAX);
        let tally = Tally { bins: table.column(at), ..Tally::new(format!("CPU {cpu}"), unit_ns) };
        let series =
            Series { name: "scheduled_to_woke".to_owned(), place: Place::thread(cpu, Some(cpu)), ..Series::default() };
        imported.add(series, tally)?;
    }
    Ok(imported)
}
