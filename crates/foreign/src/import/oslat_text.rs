//! oslat's text.
//!
//! ```text
//!         Core:  0 1
//! Counter Freq:  2298 2298 (Mhz)
//!     001 (us):  107234521 103092856
//!     032 (us):  1141 1442 (including overflows)
//!      Minimum:  1 1 (us)
//!      Average:  1.002 1.002 (us)
//!      Maximum:  44116 50423 (us)
//!     Duration:  3.312 3.312 (sec)
//! ```

use record::{Measurement, ReasonCode};

use super::oslat_json::{self, OneCore};
use super::source::Imported;
use super::tally::Mean;
use super::text::{fraction, lines, number, numbers};
use super::{Form, ImportFormat, Options, Reader};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "oslat-text",
    what: "oslat's text",
    is_distinct: true,
    reader: Reader::Text { recognize, read, form: Form::Summary },
};

fn recognize(text: &str) -> bool {
    // rt-tests before 2.0 has "CPU Freq:".
    text.contains("Freq:") && text.contains("Core:") && text.contains("(us):")
}

#[derive(Debug, Default)]
struct Columns {
    cores: Vec<u64>,
    bins: Vec<(u64, Vec<u64>)>,
    /// The last row that was read says that it holds all longer ones too.
    has_last_bin: bool,
    min: Vec<u64>,
    max: Vec<u64>,
    /// What versions before 2.0 print beside.
    spread: Vec<u64>,
    mean: Vec<f64>,
    duration_s: Vec<f64>,
}

fn read(text: &str, _options: Options) -> Result<Imported, ForeignError> {
    let mut columns = Columns::default();
    let mut imported = Imported::from_program("oslat", Measurement::Noise);
    for (line, row) in lines(text) {
        if let Some(version) = row.strip_prefix("oslat V ") {
            imported.tool_version(version);
        }
        let Some((key, values)) = row.split_once(':') else { continue };
        let is_last_bin = values.contains("including overflows");
        // The unit follows the values, in brackets.
        let values = values.split('(').next().unwrap_or_default().trim();
        let fractions = |what: &str| {
            values.split_ascii_whitespace().map(|word| fraction(word, line, what)).collect::<Result<Vec<_>, _>>()
        };
        match key {
            "Core" => {
                if !columns.cores.is_empty() {
                    return Err(ForeignError::Line {
                        line,
                        what: "a second table begins: put each into its own file".to_owned(),
                    });
                }
                columns.cores = numbers(values, line, "a core")?;
            }
            "Minimum" => columns.min = numbers(values, line, "a minimum")?,
            "Maximum" => columns.max = numbers(values, line, "a maximum")?,
            "Max-Min" => columns.spread = numbers(values, line, "a difference")?,
            "Average" => columns.mean = fractions("a mean")?,
            "Duration" => columns.duration_s = fractions("a duration")?,
            "Thread priority" => priority(&mut imported, values),
            _ => {
                if let Some(value) = key.strip_suffix(" (us)") {
                    columns.has_last_bin = is_last_bin;
                    columns.bins.push((number(value, line, "a bin")?, numbers(values, line, "a count")?));
                }
            }
        }
    }
    finish(imported, &columns)
}

/// Reads `SCHED_FIFO:1`, or `default`.
fn priority(imported: &mut Imported, text: &str) {
    if let Some((policy, priority)) = text.strip_prefix("SCHED_").and_then(|rest| rest.split_once(':')) {
        imported.requested().policy = policy.to_ascii_lowercase();
        imported.requested().priority = priority.parse().unwrap_or(0);
    }
}

fn finish(mut imported: Imported, columns: &Columns) -> Result<Imported, ForeignError> {
    let cores = columns.cores.len();
    if cores == 0 || columns.bins.is_empty() {
        return Err(ForeignError::NoResult("no line 'Core:' with a core, or no line '001 (us):'".to_owned()));
    }
    let short = columns.bins.iter().map(|(value, counts)| (format!("{value:03} (us)"), counts.len()));
    let short = short.chain([("Minimum".to_owned(), columns.min.len()), ("Maximum".to_owned(), columns.max.len())]);
    if let Some((what, found)) = short.into_iter().find(|(_, found)| *found != cores) {
        return Err(ForeignError::Text(format!(
            "{cores} cores, but {found} values in '{what}': was the file cut off?"
        )));
    }
    // Every row is printed, empty ones too.
    let rows = columns.bins.iter().map(|(value, _)| *value);
    if let Some((place, row)) = (1_u64..).zip(rows).find(|(place, row)| place != row) {
        let what =
            format!("the row '{place:03} (us)' is missing, '{row:03} (us)' stands in its place: was a part left out?");
        return Err(ForeignError::Text(what));
    }
    if !columns.has_last_bin {
        imported.reason(
            ReasonCode::SamplesDropped,
            "the last row does not say that it includes overflows: the row that does was left out, with its samples",
        );
    }
    oslat_json::about(&mut imported);
    imported.lacks("the command line");
    if let Some(longest) = columns.duration_s.iter().copied().reduce(f64::max).filter(|seconds| *seconds < 1e9) {
        imported.lasted(i64::try_from(units::round_u64(longest * 1e9)).unwrap_or(i64::MAX));
    }
    for (at, core) in columns.cores.iter().enumerate() {
        let cpu = u32::try_from(*core).ok().filter(|cpu| *cpu < 8_192);
        let (min, max) = (columns.min[at], columns.max[at]);
        if let Some(spread) = columns.spread.get(at).filter(|spread| max.checked_sub(min) != Some(**spread)) {
            imported.reason(
                ReasonCode::SourceContradicts,
                format!("CPU {core}: its maximum {max} less its minimum {min} is not {spread}, as it states"),
            );
        }
        let core = OneCore {
            cpu: cpu.ok_or_else(|| ForeignError::Text(format!("there is no core {core}")))?,
            thread: u32::try_from(at).unwrap_or(u32::MAX),
            min,
            max,
            duration_s: columns.duration_s.get(at).copied(),
        };
        let bins = columns.bins.iter().map(|(value, counts)| (*value, counts[at])).collect();
        oslat_json::add(&mut imported, core, bins, columns.mean.get(at).map(|mean| Mean::rounded(*mean, 3)))?;
    }
    Ok(imported)
}
