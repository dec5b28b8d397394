//! cyclictest's histogram: on stdout by `-h` or `-H`, or in the file of `--histfile`.
//!
//! ```text
//! # Histogram
//! 000000 000000 000000
//! 000054 000011 000016
//! # Total: 000000296 000000380
//! # Min Latencies: 00034 00027
//! # Avg Latencies: 00060 00053
//! # Max Latencies: 02270 00233
//! # Histogram Overflows: 00204 00120
//! ```
//! The lines `# Thread 0:` list the numbers of the cycles that overflowed, not their values. `-H` adds a column with the
//! sum of all threads to rows, totals, maxima and overflows, but not to minima and means.

use record::{Measurement, Place, ReasonCode, Series};

use super::cyclictest_text::{self, Statuses};
use super::source::Imported;
use super::tally::{Mean, Tally};
use super::text::{lines, number, numbers};
use super::{Form, ImportFormat, Options, Reader};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "cyclictest-histogram",
    what: "cyclictest -h or -H on stdout, or --histfile's file",
    is_distinct: true,
    reader: Reader::Text { recognize, read, form: Form::Summary },
};

fn recognize(text: &str) -> bool {
    text.contains("# Max Latencies:") && text.contains("# Min Latencies:")
}

/// A table of counts: one row per value, one column per thread.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) rows: Vec<(u64, Vec<u64>)>,
}

impl Table {
    /// Parses and adds a row; the first row determines the number of columns.
    pub(super) fn add_row(&mut self, row: &str, line: usize) -> Result<(), ForeignError> {
        let wrong = |what: String| Err(ForeignError::Line { line, what });
        let (value, counts) = row.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((row, ""));
        let value = number(value, line, "the row's latency")?;
        let counts = numbers(counts, line, "a count")?;
        if counts.is_empty() {
            return wrong(format!("the row of {value} has no count"));
        }
        if let Some((last, earlier)) = self.rows.last() {
            if value <= *last {
                return wrong(format!(
                    "the row of {value} follows that of {last}: a second histogram? Put each into its own file"
                ));
            }
            if counts.len() != earlier.len() {
                return wrong(format!(
                    "{} counts, but {} in the rows above: was the file cut off?",
                    counts.len(),
                    earlier.len()
                ));
            }
        }
        self.rows.push((value, counts));
        Ok(())
    }

    pub(super) fn columns(&self) -> usize {
        self.rows.first().map_or(0, |(_, counts)| counts.len())
    }

    /// The non-empty bins of a column.
    pub(super) fn column(&self, at: usize) -> Vec<(u64, u64)> {
        self.rows.iter().map(|(value, counts)| (*value, counts[at])).filter(|(_, samples)| *samples > 0).collect()
    }

    /// The value after the last row.
    pub(super) fn end(&self) -> Option<u64> {
        self.rows.last().map(|(value, _)| value.saturating_add(1))
    }
}

#[derive(Debug, Default)]
struct Summary {
    total: Vec<u64>,
    min: Vec<u64>,
    avg: Vec<u64>,
    max: Vec<u64>,
    overflows: Option<Vec<u64>>,
    smis: Option<Vec<u64>>,
    broke: bool,
}

fn read(text: &str, options: Options) -> Result<Imported, ForeignError> {
    let mut table = Table::default();
    let mut summary = Summary::default();
    let mut statuses = Statuses::new();
    for (line, row) in lines(text) {
        if row.starts_with(|c: char| c.is_ascii_digit()) {
            table.add_row(&row, line)?;
        } else if let Some(comment) = row.strip_prefix('#') {
            summary.take(comment.trim_start(), line)?;
        } else if row.starts_with("T:") {
            cyclictest_text::take(&mut statuses, &row, line)?;
        }
    }
    let threads = summary.min.len();
    let with_sum = threads > 1 && table.columns() == threads + 1;
    for (what, found) in [
        ("counts in the rows", table.columns()),
        ("totals", summary.total.len()),
        ("maxima", summary.max.len()),
        ("overflows", summary.overflows.as_ref().map_or(threads, Vec::len)),
    ] {
        if found != threads && !(with_sum && found == threads + 1) && found > 0 {
            return Err(ForeignError::Text(format!("{threads} minima, but {found} {what}: was the file cut off?")));
        }
    }
    if summary.overflows.as_ref().is_some_and(Vec::is_empty) || summary.smis.as_ref().is_some_and(Vec::is_empty) {
        return Err(ForeignError::Text("a line of its summary has no number: was the file cut off?".to_owned()));
    }
    if threads == 0 || summary.max.len() < threads || table.rows.is_empty() {
        return Err(ForeignError::NoResult("no row of a histogram, or no minima and maxima after it".to_owned()));
    }

    let mut imported = Imported::from_program("cyclictest", Measurement::Wakeup);
    let shortest = (0..threads).filter(|at| !table.column(*at).is_empty()).map(|at| summary.min[at]).min();
    let unit_ns = cyclictest_text::unit(&mut imported, options, shortest)?;
    cyclictest_text::about(&mut imported, &statuses, unit_ns);
    imported.lacks("on which CPU each thread ran");
    if summary.broke {
        imported.reason(ReasonCode::InterruptedEarly, cyclictest_text::BROKE);
    }
    let overflow = |at: usize| summary.overflows.as_ref().map(|all| all[at]);
    for at in 0..threads {
        let tally = Tally {
            bins: table.column(at),
            // cyclictest's total counts only the rows of the table, without the overflows.
            count: summary.total.get(at).map(|placed| placed.saturating_add(overflow(at).unwrap_or(0))),
            beyond: overflow(at),
            table_end: table.end(),
            min: summary.min.get(at).copied(),
            max: summary.max.get(at).copied(),
            mean: summary.avg.get(at).map(|mean| Mean::truncated(*mean)),
            ..Tally::new(format!("thread {at}"), unit_ns)
        };
        let thread = u32::try_from(at).unwrap_or(u32::MAX);
        let interval_ns = statuses.get(&thread).map(|status| status.interval_ns);
        let mut series = Series {
            name: "scheduled_to_woke".to_owned(),
            place: Place::thread(thread, None),
            interval_ns,
            ..Series::default()
        };
        series.counters.smi = summary.smis.as_ref().and_then(|all| all.get(at)).copied();
        imported.add(series, tally)?;
    }
    Ok(imported)
}

impl Summary {
    fn take(&mut self, comment: &str, line: usize) -> Result<(), ForeignError> {
        let Some((key, values)) = comment.split_once(':') else { return Ok(()) };
        let place = match key {
            "Total" => &mut self.total,
            "Min Latencies" => &mut self.min,
            "Avg Latencies" => &mut self.avg,
            "Max Latencies" => &mut self.max,
            "Histogram Overflows" => self.overflows.get_or_insert_default(),
            "SMIs" => self.smis.get_or_insert_default(),
            "Break value" => {
                self.broke = true;
                return Ok(());
            }
            _ => return Ok(()),
        };
        if !place.is_empty() {
            return Err(ForeignError::Line {
                line,
                what: format!("a second '# {key}': two runs? Put each into its own file"),
            });
        }
        *place = numbers(values, line, &format!("a value of '{key}'"))?;
        Ok(())
    }
}
