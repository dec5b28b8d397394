//! `rtla timerlat hist` and `rtla osnoise hist`.
//!
//! ```text
//! # RTLA timerlat histogram
//! # Time unit is microseconds (us)
//! # Duration:   0 00:10:00
//! Index   IRQ-000   Thr-000   IRQ-001   Thr-001
//! 0        276489         0    206089         0
//! over:         0         0         0         0
//! count:   600002    600002    600002    600002
//! min:          0         1         0         1
//! avg:          0         5         0         5
//! max:         16        36        15        58
//! ```
//! Newer versions add the sums of all CPUs after `ALL:`. The output does not contain the width of a bin (`-b`).

use record::{Measurement, Place, ReasonCode, Series};

use super::cyclictest_histogram::Table;
use super::rtla;
use super::source::Imported;
use super::tally::{Mean, Tally};
use super::text::{fraction, head, lines, number, quoted};
use super::{Form, ImportFormat, Options, Reader, Unit};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "rtla-hist",
    what: "rtla timerlat hist and rtla osnoise hist",
    is_distinct: true,
    reader: Reader::Text { recognize, read, form: Form::Summary },
};

fn recognize(text: &str) -> bool {
    let head = head(text);
    // A prompt or a mark may stand before it.
    ["# RTLA timerlat histogram", "# RTLA osnoise histogram"].iter().any(|mark| head.contains(mark))
}

/// A column heading: `IRQ-000`, `Thr-012`, `Usr-003`, `CPU-001`.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// The latency, named by its two points.
    name: &'static str,
    cpu: u32,
}

/// What osnoise measures, by its two points.
const NOISE: &str = "left_to_resumed";

#[derive(Debug, Default)]
struct Summary {
    over: Vec<Option<u64>>,
    count: Vec<Option<u64>>,
    min: Vec<Option<u64>>,
    max: Vec<Option<u64>>,
    avg: Vec<Option<Mean>>,
}

fn read(text: &str, options: Options) -> Result<Imported, ForeignError> {
    let mut table = Table::default();
    let mut summary = Summary::default();
    let mut columns: Option<Vec<Column>> = None;
    let mut unit = options.unit;
    let mut duration_ns = None;
    let mut remarks = Vec::new();
    let mut sums = false;
    for (line, row) in lines(text) {
        let first = row.split_ascii_whitespace().next().unwrap_or_default();
        if let Some(comment) = row.strip_prefix('#') {
            let comment = comment.trim();
            if comment.starts_with("Time unit is") {
                unit = rtla::unit(comment).or(unit);
            } else if let Some(rest) = comment.strip_prefix("Duration:") {
                duration_ns = rtla::duration_ns(rest);
            }
        } else if first == "Index" {
            if columns.is_some() {
                return Err(ForeignError::Line {
                    line,
                    what: "a second histogram begins: put each into its own file".to_owned(),
                });
            }
            columns =
                Some(row.split_ascii_whitespace().skip(1).map(|word| column(word, line)).collect::<Result<_, _>>()?);
        } else if first == "ALL:" {
            sums = true;
        } else if !sums && row.starts_with(|c: char| c.is_ascii_digit()) {
            table.add_row(&row, line)?;
        } else if sums || !summary.take(first, &row, line)? {
            // The lines after the sums repeat them; only remarks matter here.
            remarks.push(row);
        }
    }
    let columns = columns.filter(|columns| !columns.is_empty()).ok_or_else(|| {
        ForeignError::NoResult("no line 'Index   IRQ-000   Thr-000 …' with at least one CPU".to_owned())
    })?;
    if !table.rows.is_empty() && table.columns() != columns.len() {
        let what = format!(
            "{} counts in a row, but {} column headings: each row must begin with its index",
            table.columns(),
            columns.len()
        );
        return Err(ForeignError::Text(what));
    }
    summary.check(columns.len())?;
    // The columns say what was measured; what stands before them may have been lost.
    let is_noise = columns.iter().all(|column| column.name == NOISE);
    if !is_noise && columns.iter().any(|column| column.name == NOISE) {
        return Err(ForeignError::Text("columns of timerlat and of osnoise side by side".to_owned()));
    }
    let mut imported = Imported::from_program("rtla", if is_noise { Measurement::Noise } else { Measurement::Wakeup });
    remarks.iter().for_each(|row| rtla::remark(&mut imported, row));
    let unit = rtla::unit_or_assumed(&mut imported, unit);
    finish(imported, &columns, &table, &summary, unit, duration_ns)
}

fn finish(
    mut imported: Imported,
    columns: &[Column],
    table: &Table,
    summary: &Summary,
    unit: Unit,
    duration_ns: Option<i64>,
) -> Result<Imported, ForeignError> {
    let noise = columns.iter().any(|column| column.name == NOISE);
    rtla::about(&mut imported, unit, if noise { rtla::OSNOISE_LACKS } else { rtla::TIMERLAT_LACKS });
    if let Some(duration_ns) = duration_ns {
        imported.lasted(duration_ns);
    }
    let widest = width(&table.rows);
    if widest > 1 {
        imported.lacks(format!(
            "values finer than its bins, which are {widest} units wide: samples count at the upper end"
        ));
    }
    if summary.max.is_empty() {
        imported.lacks("count, minimum, mean and maximum: it has no summary");
        imported.reason(
            ReasonCode::MaximumUnknown,
            "it has no summary: it was cut off, or --no-summary left it out; samples above its last row would not be seen",
        );
    }
    if noise && widest > 1 && !table.rows.is_empty() {
        imported.reason(
            ReasonCode::ValuesUnknown,
            format!("minimum and maximum are the lower ends of bins {widest} units wide: the true maximum can be up to that much higher"),
        );
    }
    let mut bins_once = false;
    for (at, column) in columns.iter().enumerate() {
        let of_column = |values: &[Option<u64>]| values.get(at).copied().flatten();
        let bins = if table.rows.is_empty() { Vec::new() } else { table.column(at) };
        let (beyond, max) = (of_column(&summary.over), of_column(&summary.max));
        // A single row gives no width; the bin must be wide enough to contain the maximum.
        let step = match (bins.last(), max) {
            (Some((last, _)), Some(max)) if beyond.unwrap_or(0) == 0 && max > *last && bins.len() == 1 => {
                widest.max(max - last + 1)
            }
            _ => widest,
        };
        let stated = summary.avg.get(at).copied().flatten();
        let once = stated.is_some_and(|mean| noise && counts_bins_once(&bins, mean));
        // With wide bins, osnoise prints the mean of their lower ends, which is too low.
        let mean = stated.filter(|_| !(once || noise && widest > 1));
        bins_once |= once;
        let tally = Tally {
            step,
            bins,
            count: of_column(&summary.count),
            beyond,
            min: of_column(&summary.min),
            max,
            mean,
            ..Tally::new(format!("CPU {}, {}", column.cpu, column.name), unit.ns())
        };
        imported.requested().cpus.insert(column.cpu);
        let series = Series {
            name: column.name.to_owned(),
            place: Place::thread(column.cpu, Some(column.cpu)),
            ..Series::default()
        };
        imported.add(series, tally)?;
    }
    if bins_once {
        imported.lacks("the mean: this version of rtla osnoise adds each bin only once, however many samples it holds; the mean of the bins is used instead");
    }
    Ok(imported)
}

/// Whether a mean has the error of older versions of rtla osnoise, which add the value of each bin only once and divide by
/// the number of samples (`osnoise_hist_update_multiple` until early 2023).
fn counts_bins_once(bins: &[(u64, u64)], mean: Mean) -> bool {
    let samples = units::approx_f64(units::total(bins.iter().map(|bin| bin.1)));
    let once = units::approx_f64(units::total(bins.iter().map(|bin| bin.0))) / samples.max(1.0);
    let each: f64 =
        bins.iter().map(|bin| units::approx_f64(bin.0) * units::approx_f64(bin.1)).sum::<f64>() / samples.max(1.0);
    (once - mean.value).abs() <= mean.above && each - mean.value > mean.above
}

fn column(word: &str, line: usize) -> Result<Column, ForeignError> {
    let wrong = || ForeignError::Line { line, what: format!("'{}' is not a known column heading", quoted(word)) };
    let (kind, cpu) = word.split_once('-').ok_or_else(wrong)?;
    let name = match kind {
        "IRQ" => "scheduled_to_irq",
        "Thr" => "scheduled_to_thread",
        "Usr" => "scheduled_to_user_return",
        "CPU" => NOISE,
        _ => return Err(wrong()),
    };
    Ok(Column { name, cpu: rtla::cpu(cpu, line)? })
}

/// The width of the bins: the greatest common divisor of all row values.
fn width(rows: &[(u64, Vec<u64>)]) -> u64 {
    let gcd = rows.iter().fold(0, |width, (value, _)| greatest_common_divisor(width, *value));
    gcd.max(1)
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Summary {
    /// Checks that it is whole: rtla prints all of these lines, or none.
    fn check(&self, columns: usize) -> Result<(), ForeignError> {
        let lines = [
            ("over:", self.over.len()),
            ("count:", self.count.len()),
            ("min:", self.min.len()),
            ("avg:", self.avg.len()),
            ("max:", self.max.len()),
        ];
        if lines.iter().all(|(_, values)| *values == 0) {
            return Ok(());
        }
        lines.iter().find(|(_, values)| *values != columns).map_or(Ok(()), |(name, values)| {
            let what = format!("{columns} column headings, but {values} values in '{name}': was the file cut off?");
            Err(ForeignError::Text(what))
        })
    }

    /// Reads a line of the summary; returns `false` if the line is something else.
    fn take(&mut self, first: &str, row: &str, line: usize) -> Result<bool, ForeignError> {
        let words = || row.split_ascii_whitespace().skip(1);
        // A column without samples has `-` instead of numbers.
        let some = |word: &str| if word == "-" { Ok(None) } else { number(word, line, first).map(Some) };
        let place = match first {
            "over:" => &mut self.over,
            "count:" => &mut self.count,
            "min:" => &mut self.min,
            "max:" => &mut self.max,
            "avg:" => {
                self.avg = words()
                    .map(|word| match word.split_once('.') {
                        _ if word == "-" => Ok(None),
                        Some((_, digits)) => fraction(word, line, first)
                            .map(|mean| Some(Mean::rounded(mean, i32::try_from(digits.len()).unwrap_or(0)))),
                        None => number(word, line, first).map(|mean| Some(Mean::truncated(mean))),
                    })
                    .collect::<Result<_, _>>()?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        if !place.is_empty() {
            let what = format!("a second '{first}': two runs? Put each into its own file");
            return Err(ForeignError::Line { line, what });
        }
        *place = words().map(some).collect::<Result<_, _>>()?;
        Ok(true)
    }
}
