//! The output of cyclictest's `-v`: each sample on its own line, `thread: cycle: latency`.
//!
//! cyclictest passes samples to its printing thread through a buffer, which is overwritten when that thread is late.
//! A missing cycle number therefore means a lost sample.

use std::collections::BTreeMap;

use record::{Measurement, Place, ReasonCode, Series};
use units::format;

use super::cyclictest_text::{self, Statuses};
use super::source::Imported;
use super::tally::Tally;
use super::text::{head, lines, number};
use super::{ImportFormat, Options, Reader};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "cyclictest-verbose",
    what: "cyclictest -v, each sample on its own line",
    is_distinct: false,
    reader: Reader::Text { recognise, read },
};

fn recognise(text: &str) -> bool {
    lines(head(text))
        .any(|(_, row)| sample(&row).is_some_and(|words| words.iter().all(|word| word.parse::<u64>().is_ok())))
}

/// Splits the line of a sample into thread, cycle and latency; `None` if the line is something else.
fn sample(row: &str) -> Option<[&str; 3]> {
    if !row.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut words = row.split(':').map(str::trim);
    let three = [words.next()?, words.next()?, words.next()?];
    words.next().is_none().then_some(three)
}

#[derive(Debug, Default)]
struct Thread {
    cpu: Option<u32>,
    interval_ns: Option<u64>,
    values: Vec<u64>,
    next_cycle: u64,
    lost: u64,
}

fn read(text: &str, options: Options) -> Result<Imported, ForeignError> {
    let mut threads: BTreeMap<u32, Thread> = BTreeMap::new();
    for (line, row) in lines(text) {
        if let Some([thread, cycle, value]) = sample(&row) {
            let number_of_thread = number(thread, line, "the thread")?;
            let thread = thread_of(&mut threads, number_of_thread, line)?;
            let cycle = number(cycle, line, "the cycle")?;
            if cycle < thread.next_cycle {
                let what = format!(
                    "thread {number_of_thread} goes back to cycle {cycle}: two runs? Put each into its own file"
                );
                return Err(ForeignError::Line { line, what });
            }
            thread.lost = thread.lost.saturating_add(cycle - thread.next_cycle);
            thread.next_cycle = cycle.saturating_add(1);
            thread.values.push(number(value, line, "the latency")?);
        } else if let Some(rest) = row.strip_prefix("Thread ") {
            about_thread(&mut threads, rest, line)?;
        }
    }
    threads.retain(|_, thread| !thread.values.is_empty());
    if threads.is_empty() {
        return Err(ForeignError::NoResult("no line 'thread: cycle: latency'".to_owned()));
    }
    let mut imported = Imported::from_program("cyclictest", Measurement::Wakeup);
    let shortest = threads.values().flat_map(|thread| thread.values.iter().copied()).min();
    let unit_ns = cyclictest_text::unit(&mut imported, options, shortest)?;
    cyclictest_text::about(&mut imported, &Statuses::new(), unit_ns);
    imported.requested().interval_ns = threads.values().next().and_then(|first| first.interval_ns);
    for (number, mut thread) in threads {
        let place = thread.cpu.map_or_else(|| format!("thread {number}"), |cpu| format!("CPU {cpu}"));
        if thread.lost > 0 {
            imported.reason(
                ReasonCode::SamplesDropped,
                format!(
                    "{place}: {} cycles were not printed; the worst one may be among them",
                    format::count(thread.lost)
                ),
            );
        }
        thread.values.sort_unstable();
        let bins = thread.values.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)).collect();
        let series = Series {
            name: "scheduled_to_woke".to_owned(),
            place: Place::thread(number, thread.cpu),
            interval_ns: thread.interval_ns,
            ..Series::default()
        };
        imported.add(series, Tally { bins, ..Tally::new(place, unit_ns) })?;
    }
    Ok(imported)
}

fn thread_of(threads: &mut BTreeMap<u32, Thread>, number: u64, line: usize) -> Result<&mut Thread, ForeignError> {
    let number =
        u32::try_from(number).map_err(|_| ForeignError::Line { line, what: format!("there is no thread {number}") })?;
    Ok(threads.entry(number).or_default())
}

/// Reads `Thread 0 using cpu 0.` and `Thread 0 Interval: 1500`.
fn about_thread(threads: &mut BTreeMap<u32, Thread>, rest: &str, line: usize) -> Result<(), ForeignError> {
    let Some((thread, fact)) = rest.split_once(' ') else { return Ok(()) };
    let Ok(thread) = thread.parse() else { return Ok(()) };
    let thread = thread_of(threads, thread, line)?;
    if let Some(cpu) = fact.strip_prefix("using cpu ") {
        thread.cpu = cpu.trim_end_matches('.').parse().ok();
    } else if let Some(interval) = fact.strip_prefix("Interval: ") {
        thread.interval_ns = number(interval, line, "the interval")?.checked_mul(1_000);
    }
    Ok(())
}
