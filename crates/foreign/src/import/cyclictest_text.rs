//! cyclictest's table of threads: printed once at the end with `-q`, redrawn during the run without it.
//!
//! ```text
//! T: 0 (27977) P:80 I:1000 C:    500 Min:     30 Act:   37 Avg:   59 Max:     166
//! ```
//! The text does not state its unit: microseconds, or nanoseconds with `-N`. A thread without samples has a minimum of
//! 1000000.

use std::collections::BTreeMap;

use record::{Measurement, Place, ReasonCode, Series};
use units::format;

use super::source::Imported;
use super::tally::{Mean, Tally};
use super::text::{head, lines, number, only_widens, quoted};
use super::{Form, ImportFormat, Options, Reader, Unit};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "cyclictest-text",
    what: "cyclictest's table of threads, -q or redrawn",
    is_distinct: true,
    reader: Reader::Text { recognize, read, form: Form::Summary },
};

/// A shortest latency from this number on cannot be in microseconds: no machine is that slow. A smaller number cannot be in
/// nanoseconds: reading a clock and returning from a system call take longer.
const UNCLEAR_FROM: u64 = 500;

/// The reason for a text with `# Break value: 123`, which cyclictest writes when `-b` ended the run.
pub(super) const BROKE: &str = "a latency above the requested limit ended it, as requested";

/// What a table lacks that ends with its last row.
pub(super) const NO_END: &str = "a mark of its end: rows that were cut off after the last one would not be missed";

fn recognize(text: &str) -> bool {
    lines(head(text)).any(|(line, row)| row.starts_with("T:") && Status::parse(&row, line).is_ok())
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Status {
    thread: u32,
    tid: u64,
    priority: u32,
    pub(super) interval_ns: u64,
    cycles: u64,
    min: u64,
    avg: u64,
    max: u64,
    smi: Option<u64>,
}

impl Status {
    /// How many cycles were not printed of a thread whose samples were, in ascending order; and where this line contradicts them.
    pub(super) fn against(&self, place: &str, samples: &[u64]) -> (u64, Option<String>) {
        let (Some(min), Some(max)) = (samples.first(), samples.last()) else { return (0, None) };
        let printed = samples.len() as u64;
        let missing = self.cycles.saturating_sub(printed);
        // What was not printed can only have widened the range.
        let fits =
            if missing == 0 { (self.min, self.max) == (*min, *max) } else { self.min <= *min && self.max >= *max };
        let what = format!(
            "{place}: it states {} cycles from {} to {}, but prints {printed} samples from {min} to {max}",
            self.cycles, self.min, self.max
        );
        (missing, (!fits || printed > self.cycles).then_some(what))
    }

    fn parse(row: &str, line: usize) -> Result<Self, ForeignError> {
        let field = |key: &str| -> Result<u64, ForeignError> {
            let start = row.find(key).ok_or_else(|| ForeignError::Line {
                line,
                what: format!("no '{key}' in '{}': was the file cut off?", quoted(row)),
            })?;
            let word = row[start + key.len()..].split_ascii_whitespace().next().unwrap_or_default();
            number(word, line, key)
        };
        let small = |key: &str| -> Result<u32, ForeignError> {
            let value = field(key)?;
            u32::try_from(value).map_err(|_| ForeignError::Line { line, what: format!("{key} is {value}") })
        };
        let interval_us = field(" I:")?;
        Ok(Self {
            thread: small("T:")?,
            tid: tid(row, line)?,
            priority: small(" P:")?,
            interval_ns: interval_us.checked_mul(1_000).ok_or_else(|| ForeignError::Line {
                line,
                what: format!("the interval is {interval_us} us, more than 64 bits of nanoseconds can hold"),
            })?,
            cycles: field(" C:")?,
            min: field(" Min:")?,
            avg: field(" Avg:")?,
            max: field(" Max:")?,
            smi: if row.contains(" SMI:") { Some(field(" SMI:")?) } else { None },
        })
    }
}

/// The kernel's thread ID, in brackets.
fn tid(row: &str, line: usize) -> Result<u64, ForeignError> {
    let inner = row.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(inner, _)| inner.trim());
    number(inner, line, "the thread ID in brackets")
}

/// The last line of each thread, by thread number.
pub(super) type Statuses = BTreeMap<u32, Status>;

/// Parses and stores a line; the last line of each thread is its result.
pub(super) fn take(statuses: &mut Statuses, row: &str, line: usize) -> Result<(), ForeignError> {
    let status = Status::parse(row, line)?;
    match statuses.insert(status.thread, status) {
        // The thread ID is 0 until the thread runs.
        Some(earlier) if earlier.tid != 0 && status.tid != earlier.tid => Err(ForeignError::Line {
            line,
            what: format!(
                "thread {} had the ID {} and now has {}: two runs? Put each into its own file",
                status.thread, earlier.tid, status.tid
            ),
        }),
        Some(earlier) if status.cycles < earlier.cycles => Err(ForeignError::Line {
            line,
            what: format!(
                "thread {} goes back from cycle {} to {}: two runs? Put each into its own file",
                status.thread, earlier.cycles, status.cycles
            ),
        }),
        Some(earlier) => {
            let place = format!("thread {}", status.thread);
            only_widens(line, &place, (earlier.min, earlier.max), (status.min, status.max))
        }
        None => Ok(()),
    }
}

/// Threads are numbered from 0: one that is missing was lost on the way.
pub(super) fn missing_threads(imported: &mut Imported, numbers: impl Iterator<Item = u32>) {
    let found: std::collections::BTreeSet<u32> = numbers.collect();
    let wanted = found.last().map_or(0, |last| u64::from(*last) + 1);
    let missing = wanted - found.len() as u64;
    if missing > 0 {
        imported.reason(
            ReasonCode::SourceContradicts,
            format!("its threads are numbered up to {}, and {missing} of them are missing", wanted - 1),
        );
    }
}

/// The unit (ns) of a text that does not state it: the user's, or else microseconds, which degrades the record.
pub(super) fn unit(imported: &mut Imported, options: Options, shortest: Option<u64>) -> Result<u64, ForeignError> {
    if let Some(unit) = options.unit {
        // The unit may have been stated for several files, of which this one has another.
        return match shortest {
            Some(shortest) if unit == Unit::Ns && (1..UNCLEAR_FROM).contains(&shortest) => {
                Err(ForeignError::UnitImpossible { shortest: format::latency(shortest) })
            }
            _ => Ok(unit.ns()),
        };
    }
    if let Some(shortest) = shortest.filter(|shortest| *shortest >= UNCLEAR_FROM) {
        return Err(ForeignError::UnitUnclear {
            program: "cyclictest",
            shortest: format::latency(shortest.saturating_mul(1_000)),
        });
    }
    imported
        .reason(ReasonCode::UnitAssumed, "microseconds, cyclictest's default; with its option -N they are nanoseconds");
    Ok(Unit::Us.ns())
}

/// Sets what the table says about the whole run.
pub(super) fn about(imported: &mut Imported, statuses: &Statuses, unit_ns: u64) {
    imported.lacks_fractions(unit_ns);
    imported.lacks("the command line and the version");
    match statuses.values().next() {
        Some(first) => {
            let requested = imported.requested();
            requested.interval_ns = Some(first.interval_ns);
            requested.priority = first.priority;
        }
        None => imported.lacks("the interval and the priority"),
    }
}

fn read(text: &str, options: Options) -> Result<Imported, ForeignError> {
    let mut statuses = Statuses::new();
    let mut policy = None;
    let mut broke = false;
    for (line, row) in lines(text) {
        if row.starts_with("T:") {
            take(&mut statuses, &row, line)?;
        } else if let Some(rest) = row.strip_prefix("policy: ") {
            policy = rest.split(':').next().map(str::to_owned);
        } else if row.starts_with("# Break value:") {
            broke = true;
        }
    }
    if statuses.is_empty() {
        return Err(ForeignError::NoResult("no line 'T: 0 (…) P:… I:… C:… Min:… Act:… Avg:… Max:…'".to_owned()));
    }
    let mut imported = Imported::from_program("cyclictest", Measurement::Wakeup);
    let shortest = statuses.values().filter(|status| status.cycles > 0).map(|status| status.min).min();
    let unit_ns = unit(&mut imported, options, shortest)?;
    about(&mut imported, &statuses, unit_ns);
    imported.lacks("on which CPU each thread ran");
    imported.lacks("the distribution: it contains only minimum, mean, maximum and count");
    imported.requested().policy = policy.unwrap_or_default();
    if broke {
        imported.reason(ReasonCode::InterruptedEarly, BROKE);
    }
    missing_threads(&mut imported, statuses.keys().copied());
    imported.lacks(NO_END);
    for status in statuses.into_values() {
        let tally = Tally {
            count: Some(status.cycles),
            min: Some(status.min),
            max: Some(status.max),
            mean: Some(Mean::truncated(status.avg)),
            ..Tally::new(format!("thread {}", status.thread), unit_ns)
        };
        let mut series = Series {
            name: "scheduled_to_woke".to_owned(),
            place: Place::thread(status.thread, None),
            interval_ns: Some(status.interval_ns),
            ..Series::default()
        };
        series.counters.smi = status.smi;
        imported.add(series, tally)?;
    }
    Ok(imported)
}
