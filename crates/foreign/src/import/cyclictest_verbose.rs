//! The output of cyclictest's `-v`: each sample on its own line, `thread: cycle: latency`.
//!
//! cyclictest passes samples to its printing thread through a buffer, which is overwritten when that thread is late.
//! A missing cycle number therefore means a lost sample.
//!
//! The lines `Thread 0 Interval: 1500` state the interval of the thread *after* it: cyclictest adds the distance between
//! threads (`-d`, 500 us unless told otherwise) before it prints. The table of threads at the end, if there is one, states
//! each thread's own.

use std::collections::BTreeMap;

use record::{Interval, Measurement, Place, ReasonCode, Series};
use units::format;

use super::cyclictest_text::{self, Statuses};
use super::source::Imported;
use super::tally::Tally;
use super::text::{head, lines, number};
use super::{Form, ImportFormat, Options, Reader};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "cyclictest-verbose",
    what: "cyclictest -v, each sample on its own line",
    is_distinct: false,
    reader: Reader::Text { recognize, read, form: Form::Moments },
};

fn recognize(text: &str) -> bool {
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
    /// The interval after the distance to the next thread was added (ns).
    with_distance_ns: Option<u64>,
    interval_ns: Option<u64>,
    /// Each sample with its cycle, in the order of time.
    values: Vec<(u64, u64)>,
    next_cycle: u64,
    lost: u64,
}

fn read(text: &str, options: Options) -> Result<Imported, ForeignError> {
    let mut threads: BTreeMap<u32, Thread> = BTreeMap::new();
    let mut statuses = Statuses::new();
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
            thread.values.push((cycle, number(value, line, "the latency")?));
        } else if let Some(rest) = row.strip_prefix("Thread ") {
            about_thread(&mut threads, rest, line)?;
        } else if row.starts_with("T:") {
            cyclictest_text::take(&mut statuses, &row, line)?;
        }
    }
    find_intervals(&mut threads, &statuses);
    threads.retain(|_, thread| !thread.values.is_empty());
    if threads.is_empty() {
        return Err(ForeignError::NoResult("no line 'thread: cycle: latency'".to_owned()));
    }
    let mut imported = Imported::from_program("cyclictest", Measurement::Wakeup);
    let shortest = threads.values().flat_map(|thread| thread.values.iter().map(|(_, value)| *value)).min();
    let unit_ns = cyclictest_text::unit(&mut imported, options, shortest)?;
    cyclictest_text::about(&mut imported, &Statuses::new(), unit_ns);
    imported.requested().interval_ns = threads.values().next().and_then(|first| first.interval_ns);
    let longest_ns = threads.values().filter_map(Thread::lasted_ns).max();
    if let Some(longest_ns) = longest_ns.and_then(|ns| i64::try_from(ns).ok()) {
        imported.lasted(longest_ns);
    } else {
        imported.lacks("the interval: it states only the one after the distance to the next thread was added");
    }
    cyclictest_text::missing_threads(&mut imported, threads.keys().copied());
    for (number, thread) in threads {
        let place = thread.cpu.map_or_else(|| format!("thread {number}"), |cpu| format!("CPU {cpu}"));
        let mut values: Vec<u64> = thread.values.iter().map(|(_, value)| *value).collect();
        values.sort_unstable();
        let bins = values.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)).collect();
        let stated = statuses.get(&number).map(|status| status.against(&place, &values));
        let (missing, contradiction) = stated.unwrap_or((thread.lost, None));
        if missing.max(thread.lost) > 0 {
            let missing = format::count(missing.max(thread.lost));
            imported.reason(
                ReasonCode::SamplesDropped,
                format!("{place}: {missing} cycles were not printed; the worst one may be among them"),
            );
        }
        if let Some(contradiction) = contradiction {
            imported.reason(ReasonCode::SourceContradicts, contradiction);
        }
        let intervals = thread.intervals(unit_ns, longest_ns);
        let series = Series {
            name: "scheduled_to_woke".to_owned(),
            place: Place::thread(number, thread.cpu),
            interval_ns: thread.interval_ns,
            intervals,
            ..Series::default()
        };
        imported.add(series, Tally { bins, ..Tally::new(place, unit_ns) })?;
    }
    Ok(imported)
}

/// So many pieces a run is cut into, as our own runs are.
const PIECES: u64 = 60;
/// No piece is longer (ns).
const LONGEST_PIECE_NS: u64 = 300_000_000_000;

/// Each thread's own interval: from the table of threads, or else from what was printed of the threads before it.
fn find_intervals(threads: &mut BTreeMap<u32, Thread>, statuses: &Statuses) {
    let printed: BTreeMap<u32, u64> =
        threads.iter().filter_map(|(number, thread)| Some((*number, thread.with_distance_ns?))).collect();
    let of_first = || {
        let (first, second) = (printed.get(&0)?, printed.get(&1)?);
        first.checked_sub(second.checked_sub(*first)?)
    };
    for (number, thread) in threads {
        let of_table = statuses.get(number).map(|status| status.interval_ns);
        let before = || number.checked_sub(1).map_or_else(of_first, |before| printed.get(&before).copied());
        thread.interval_ns = of_table.or_else(before).filter(|interval_ns| *interval_ns > 0);
    }
}

impl Thread {
    /// From its first schedule to the end of its last cycle (ns).
    fn lasted_ns(&self) -> Option<u64> {
        self.next_cycle.checked_mul(self.interval_ns?)
    }

    /// Its samples in pieces of the whole run's time; none where that is not known.
    fn intervals(&self, unit_ns: u64, longest_ns: Option<u64>) -> Vec<Interval> {
        let (Some(interval_ns), Some(longest_ns)) = (self.interval_ns, longest_ns) else { return Vec::new() };
        let length_ns = longest_ns.div_ceil(PIECES).clamp(interval_ns, LONGEST_PIECE_NS.max(interval_ns));
        let mut pieces: Vec<Interval> = Vec::new();
        for &(cycle, value) in &self.values {
            let start_offset_ns = cycle.saturating_mul(interval_ns) / length_ns * length_ns;
            if pieces.last().is_none_or(|last| last.start_offset_ns != start_offset_ns) {
                let length_ns = length_ns.min(longest_ns.saturating_sub(start_offset_ns));
                pieces.push(Interval { start_offset_ns, length_ns, ..Interval::default() });
            }
            if let Some(piece) = pieces.last_mut() {
                piece.histogram.record_n(value.saturating_mul(unit_ns), 1);
            }
        }
        pieces
    }
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
        thread.with_distance_ns = number(interval, line, "the interval")?.checked_mul(1_000);
    }
    Ok(())
}
