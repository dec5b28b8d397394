//! `rtla timerlat top`: one row per CPU, redrawn during the run; the last row of each CPU is its result.
//!
//! ```text
//!                                      Timer Latency
//!   0 00:00:12   |          IRQ Timer Latency (us)        |         Thread Timer Latency (us)
//! CPU COUNT      |      cur       min       avg       max |      cur       min       avg       max
//!   1 #12322     |        0         0         1        15 |       10         3         9        31
//! ```
//! With `-u` a third group follows. Rows and sums of all CPUs after `ALL` are ignored.

use record::{Measurement, Place, Series};

use super::cyclictest_text::NO_END;
use super::rtla;
use super::source::Imported;
use super::tally::{Mean, Tally};
use super::text::{head, lines, number, only_widens};
use super::{Form, ImportFormat, Options, Reader};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "rtla-timerlat-top",
    what: "rtla timerlat top, best with -q",
    is_distinct: true,
    reader: Reader::Text { recognize, read, form: Form::Summary },
};

/// The latencies of the groups, in the order of the columns.
const NAMES: [&str; 3] = ["scheduled_to_irq", "scheduled_to_thread", "scheduled_to_user_return"];

fn recognize(text: &str) -> bool {
    head(text).contains("IRQ Timer Latency (")
}

/// Minimum, mean and maximum; `None` if there were no samples.
type Group = Option<[u64; 3]>;

#[derive(Debug)]
struct Row {
    cpu: u32,
    count: u64,
    groups: Vec<Group>,
}

fn read(text: &str, options: Options) -> Result<Imported, ForeignError> {
    let mut rows: Vec<Row> = Vec::new();
    let mut unit = options.unit;
    let mut duration_ns = None;
    let mut imported = Imported::from_program("rtla", Measurement::Wakeup);
    for (line, row) in lines(text) {
        if row.contains("IRQ Timer Latency (") {
            unit = rtla::unit(&row).or(unit);
            duration_ns = row.split('|').next().and_then(rtla::duration_ns).or(duration_ns);
        } else if let Some(read) = parse_row(&row, line)? {
            match rows.iter_mut().find(|earlier| earlier.cpu == read.cpu) {
                Some(earlier) if read.count < earlier.count => {
                    let what = format!(
                        "CPU {} goes back from {} samples to {}: two runs? Put each into its own file",
                        read.cpu, earlier.count, read.count
                    );
                    return Err(ForeignError::Line { line, what });
                }
                Some(earlier) => {
                    for (at, (was, is)) in earlier.groups.iter().zip(&read.groups).enumerate() {
                        let place = || format!("CPU {}, {}", read.cpu, NAMES.get(at).unwrap_or(&"a group"));
                        match (was, is) {
                            (Some([min, _, max]), Some([later_min, _, later_max])) => {
                                only_widens(line, &place(), (*min, *max), (*later_min, *later_max))?;
                            }
                            (Some(_), None) => {
                                let what =
                                    format!("{}: its samples are gone: two runs? Put each into its own file", place());
                                return Err(ForeignError::Line { line, what });
                            }
                            (None, _) => {}
                        }
                    }
                    *earlier = read;
                }
                None => rows.push(read),
            }
        } else {
            rtla::remark(&mut imported, &row);
        }
    }
    if rows.is_empty() {
        return Err(ForeignError::NoResult("no row ' CPU #COUNT | cur min avg max | …'".to_owned()));
    }
    let unit = rtla::unit_or_assumed(&mut imported, unit);
    rtla::about(&mut imported, unit, rtla::TIMERLAT_LACKS);
    imported.lacks("the distribution: it contains only minimum, mean, maximum and count");
    imported.lacks(NO_END);
    imported.lacks("the count of the thread's own latencies: that of the interrupts is used instead");
    if let Some(duration_ns) = duration_ns {
        imported.lasted(duration_ns);
    }
    rows.sort_unstable_by_key(|row| row.cpu);
    for row in rows {
        imported.requested().cpus.insert(row.cpu);
        for (name, group) in NAMES.iter().zip(&row.groups) {
            let Some([min, avg, max]) = *group else { continue };
            let tally = Tally {
                // The count is that of the interrupts; a thread may have a sample although no interrupt was counted.
                count: Some(row.count.max(1)),
                min: Some(min),
                max: Some(max),
                mean: Some(Mean::truncated(avg)),
                ..Tally::new(format!("CPU {}, {name}", row.cpu), unit.ns())
            };
            let tally = if min < max && row.count < 2 { Tally { count: Some(2), ..tally } } else { tally };
            let series =
                Series { name: (*name).to_owned(), place: Place::thread(row.cpu, Some(row.cpu)), ..Series::default() };
            imported.add(series, tally)?;
        }
    }
    if imported.is_empty() {
        return Err(ForeignError::NoResult("no CPU has samples".to_owned()));
    }
    Ok(imported)
}

/// Parses the row of a CPU; `None` if the line is something else.
fn parse_row(row: &str, line: usize) -> Result<Option<Row>, ForeignError> {
    let mut parts = row.split('|');
    let Some((cpu, count)) = parts.next().and_then(|head| head.split_once('#')) else { return Ok(None) };
    if !cpu.trim().starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(None);
    }
    let groups = parts.map(|part| group(part, line)).collect::<Result<Vec<_>, _>>()?;
    if groups.len() < 2 {
        return Err(ForeignError::Line {
            line,
            what: "fewer than two groups of latencies: was the file cut off?".to_owned(),
        });
    }
    Ok(Some(Row { cpu: rtla::cpu(cpu.trim(), line)?, count: number(count.trim(), line, "the count")?, groups }))
}

/// Parses `cur min avg max`; anything after them, such as a manual annotation, is ignored.
fn group(part: &str, line: usize) -> Result<Group, ForeignError> {
    let mut words = part.split_ascii_whitespace();
    let _current = words.next();
    let mut values = [0; 3];
    for value in &mut values {
        match words.next() {
            Some("-") => return Ok(None),
            Some(word) => *value = number(word, line, "a latency")?,
            None => {
                return Err(ForeignError::Line {
                    line,
                    what: "a group lacks one of 'cur min avg max': was the file cut off?".to_owned(),
                });
            }
        }
    }
    Ok(Some(values))
}
