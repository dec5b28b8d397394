//! `rtla osnoise top` and `rtla hwnoise`: one row per CPU, redrawn during the run; the last row of each CPU is its result.
//!
//! ```text
//!                                         Operating System Noise
//! duration:   0 00:01:00 | time is in us
//! CPU Period       Runtime        Noise  % CPU Aval   Max Noise   Max Single          HW          NMI
//!   0 #59         53100000       304896    99.42580        6978           56         549            0
//! ```
//! The longest single noise of each CPU is the only sample in it.

use record::{Measurement, NoiseTotals, Place, ReasonCode, Series, SeriesDetail};

use super::cyclictest_text::NO_END;
use super::rtla;
use super::source::Imported;
use super::tally::Tally;
use super::text::{head, lines, number};
use super::{Form, ImportFormat, Options, Reader, Unit};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "rtla-osnoise-top",
    what: "rtla osnoise top and rtla hwnoise, best with -q",
    is_distinct: true,
    reader: Reader::Text { recognize, read, form: Form::Summary },
};

fn recognize(text: &str) -> bool {
    let head = head(text);
    head.contains("Max Single") && head.contains("% CPU Aval")
}

#[derive(Debug)]
struct Row {
    cpu: u32,
    runtime: u64,
    noise: u64,
    longest: u64,
}

fn read(text: &str, _options: Options) -> Result<Imported, ForeignError> {
    let mut rows: Vec<Row> = Vec::new();
    let mut duration_ns = None;
    let mut imported = Imported::from_program("rtla", Measurement::Noise);
    for (line, row) in lines(text) {
        if let Some(rest) = row.strip_prefix("duration:") {
            duration_ns = rtla::duration_ns(rest).or(duration_ns);
        } else if let Some(read) = parse_row(&row, line)? {
            match rows.iter_mut().find(|earlier| earlier.cpu == read.cpu) {
                Some(earlier) => {
                    for (what, was, is) in [
                        ("runtime", earlier.runtime, read.runtime),
                        ("noise", earlier.noise, read.noise),
                        ("longest single noise", earlier.longest, read.longest),
                    ] {
                        if is < was {
                            let cpu = read.cpu;
                            let what = format!(
                                "CPU {cpu}: its {what} falls from {was} to {is}, which no run does: two runs? Put each into its own file"
                            );
                            return Err(ForeignError::Line { line, what });
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
        return Err(ForeignError::NoResult("no row ' CPU #PERIOD RUNTIME NOISE …'".to_owned()));
    }
    rtla::about(&mut imported, Unit::Us, rtla::OSNOISE_LACKS);
    imported.lacks(NO_END);
    imported.lacks("the single gaps: it contains only the longest gap of each CPU, and the sum of all");
    if let Some(duration_ns) = duration_ns {
        imported.lasted(duration_ns);
    }
    imported.reason(ReasonCode::ValuesUnknown, "the longest gap of each CPU is the only one whose length is known");
    rows.sort_unstable_by_key(|row| row.cpu);
    for row in rows {
        imported.requested().cpus.insert(row.cpu);
        if row.longest > row.noise {
            imported.reason(
                ReasonCode::SourceContradicts,
                format!(
                    "CPU {}: its longest noise of {} us exceeds the sum of all, {} us",
                    row.cpu, row.longest, row.noise
                ),
            );
        }
        let ns = |us: u64| us.saturating_mul(1_000);
        let noise = NoiseTotals { observed_ns: ns(row.runtime), stolen_ns: ns(row.noise), ..NoiseTotals::default() };
        let series = Series {
            name: "left_to_resumed".to_owned(),
            place: Place::thread(row.cpu, Some(row.cpu)),
            detail: SeriesDetail::Gaps(noise),
            ..Series::default()
        };
        let bins = if row.longest > 0 { vec![(row.longest, 1)] } else { Vec::new() };
        imported.add(series, Tally { bins, ..Tally::new(format!("CPU {}", row.cpu), Unit::Us.ns()) })?;
    }
    Ok(imported)
}

/// Parses the row of a CPU; `None` if the line is something else.
fn parse_row(row: &str, line: usize) -> Result<Option<Row>, ForeignError> {
    let mut words = row.split_ascii_whitespace();
    let (Some(cpu), Some(period)) = (words.next(), words.next()) else { return Ok(None) };
    if !cpu.starts_with(|c: char| c.is_ascii_digit()) || !period.starts_with('#') {
        return Ok(None);
    }
    let mut next = |what: &str| {
        let word = words
            .next()
            .ok_or_else(|| ForeignError::Line { line, what: format!("{what} is missing: was the file cut off?") })?;
        Ok::<&str, ForeignError>(word)
    };
    let runtime = number(next("the runtime")?, line, "the runtime")?;
    let noise = number(next("the noise")?, line, "the noise")?;
    let _available = next("the share of the CPU")?;
    let _longest_period = next("the greatest noise of a period")?;
    let longest = number(next("the longest single noise")?, line, "the longest single noise")?;
    Ok(Some(Row { cpu: rtla::cpu(cpu, line)?, runtime, noise, longest }))
}
