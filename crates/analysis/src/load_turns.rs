//! Which part of a load made the wake-ups late, where the parts took turns.
//!
//! The record holds the samples of each interval and the windows in which certain parts ran. An interval counts for a
//! window where all of it lies inside, to the latest wake-up. The others, in which the turn passed on, are kept apart:
//! so every number here is exact, and every sample is in one of them.

use record::{Interval, LoadWindow, Record, Sign};
use units::format::{self, latency, span};

/// What was seen while certain parts of the load ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadTurn {
    /// The part, `all together`, or `while the turn passed on`.
    pub name: String,
    /// Time that the result covers (ns): the longest that one measuring thread saw of it.
    pub observed_ns: u64,
    /// Samples of all measuring threads.
    pub samples: u64,
    /// The worst latency (ns); absent where there is no sample.
    pub worst_ns: Option<u64>,
    /// The CPU on which it happened; absent where the thread was not pinned.
    pub worst_cpu: Option<u32>,
    /// Samples beyond the deadline; absent where none was stated.
    pub beyond: Option<u64>,
    /// Schedules that late wake-ups swallowed.
    pub missed_periods: u64,
}

/// The turns of a load's parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadTurns {
    /// In the order of time.
    pub turns: Vec<LoadTurn>,
    /// The intervals in which the turn passed on.
    pub between: LoadTurn,
    /// What is to be concluded, in whole sentences.
    pub sentences: Vec<String>,
}

/// Sums up the turns of a run; `None` where its load's parts took none.
#[must_use]
pub fn load_turns(record: &Record) -> Option<LoadTurns> {
    let windows = &record.manifest().load.windows;
    // Gaps of a loop that never sleeps are no wake-ups.
    if windows.is_empty() || !record.measurement.kind().figure.is_of_latencies() {
        return None;
    }
    let started_ns = record.manifest().started.monotonic.as_ns();
    let deadline_ns = record.manifest().requested.deadline_ns;
    let empty = |name: String| LoadTurn {
        name,
        observed_ns: 0,
        samples: 0,
        worst_ns: None,
        worst_cpu: None,
        beyond: deadline_ns.map(|_| 0),
        missed_periods: 0,
    };
    let mut turns: Vec<LoadTurn> = windows.iter().map(|window| empty(name(window))).collect();
    let mut between = empty("while the turn passed on".to_owned());
    for series in &record.series {
        let mut observed_ns = vec![0_u64; turns.len()];
        let mut observed_between_ns = 0_u64;
        for interval in &series.intervals {
            let inside = windows.iter().position(|window| lies_inside(interval, started_ns, window));
            let (turn, observed) = match inside {
                Some(index) => (&mut turns[index], &mut observed_ns[index]),
                None => (&mut between, &mut observed_between_ns),
            };
            *observed = observed.saturating_add(interval.length_ns);
            turn.add(interval, record.sign(series), series.place.cpu(), deadline_ns);
        }
        for (turn, observed_ns) in turns.iter_mut().zip(observed_ns) {
            turn.observed_ns = turn.observed_ns.max(observed_ns);
        }
        between.observed_ns = between.observed_ns.max(observed_between_ns);
    }
    let sentences = sentences(record, &turns, &between);
    Some(LoadTurns { turns, between, sentences })
}

fn name(window: &LoadWindow) -> String {
    match window.parts.as_slice() {
        [part] => part.clone(),
        _ => "all together".to_owned(),
    }
}

/// Whether all that happened in an interval, to its latest wake-up, was inside a window.
fn lies_inside(interval: &Interval, started_ns: i64, window: &LoadWindow) -> bool {
    let start_ns = started_ns.saturating_add_unsigned(interval.start_offset_ns);
    let end_ns = start_ns.saturating_add_unsigned(interval.length_ns);
    // The last schedule of the interval can have been served so much later.
    let latest_ns = end_ns.saturating_add_unsigned(interval.histogram.max_ns().unwrap_or(0));
    window.start_monotonic_ns <= start_ns && latest_ns <= window.end_monotonic_ns
}

impl LoadTurn {
    fn add(&mut self, interval: &Interval, sign: Sign, cpu: Option<u32>, deadline_ns: Option<u64>) {
        let histogram = interval.judged_samples(sign);
        self.samples = self.samples.saturating_add(histogram.count());
        self.missed_periods = self.missed_periods.saturating_add(interval.missed_periods);
        if let Some((beyond, deadline_ns)) = self.beyond.as_mut().zip(deadline_ns) {
            *beyond = beyond.saturating_add(histogram.count_above(deadline_ns));
        }
        if histogram.max_ns() > self.worst_ns {
            (self.worst_ns, self.worst_cpu) = (histogram.max_ns(), cpu);
        }
    }
}

fn sentences(record: &Record, turns: &[LoadTurn], between: &LoadTurn) -> Vec<String> {
    if record.validity.is_invalid() {
        return vec!["It is unknown which part makes it late: the run is invalid.".to_owned()];
    }
    let mut sentences = Vec::new();
    let without: Vec<&str> = turns.iter().filter(|turn| turn.samples == 0).map(|turn| turn.name.as_str()).collect();
    let Some((worst, worst_ns)) =
        turns.iter().filter_map(|turn| Some((turn, turn.worst_ns?))).max_by_key(|(_, worst_ns)| *worst_ns)
    else {
        return vec!["It is unknown which part makes it late: no turn was long enough for a sample.".to_owned()];
    };
    let place = worst.worst_cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    if between.worst_ns > Some(worst_ns) {
        sentences.push(format!(
            "The latest wake-up, {}, came while the turn passed on, and cannot be attributed to one part.",
            latency(between.worst_ns.unwrap_or(0))
        ));
    }
    sentences.push(format!("Latest in a turn: {}{place} with {}.", latency(worst_ns), worst.name));
    if let Some(deadline_ns) = record.manifest().requested.deadline_ns {
        let beyond: Vec<String> = turns
            .iter()
            .filter(|turn| turn.beyond > Some(0))
            .map(|turn| format!("{} ({})", turn.name, format::count(turn.beyond.unwrap_or(0))))
            .collect();
        let limit = span(deadline_ns);
        let passed_on = between.beyond.filter(|&count| count > 0).map_or_else(String::new, |count| {
            format!(" {} beyond it came while the turn passed on.", format::count(count))
        });
        sentences.push(if beyond.is_empty() {
            format!("No wake-up was beyond {limit} in any turn.{passed_on}")
        } else {
            format!("Wake-ups beyond {limit} came with: {}.{passed_on}", beyond.join(", "))
        });
    }
    if !without.is_empty() {
        sentences.push(format!("Without a sample, and therefore unknown: {}.", without.join(", ")));
    }
    let shortest_ns = turns.iter().filter(|turn| turn.samples > 0).map(|turn| turn.observed_ns).min().unwrap_or(0);
    sentences.push(format!(
        "Each had one turn, of {} at the least: what comes less often than that is not seen, and a rare one may have \
         fallen into any turn.",
        span(shortest_ns)
    ));
    sentences
}

#[cfg(test)]
mod tests {
    use record::{HistogramRecorder, Measurement, ReasonCode};
    use units::Timestamp;

    use super::*;
    use samples::record_of;

    const MS: u64 = 1_000_000;

    fn interval(start_ms: u64, latencies_ns: &[u64]) -> Interval {
        let mut recorder = HistogramRecorder::new();
        latencies_ns.iter().for_each(|latency_ns| recorder.record(*latency_ns));
        Interval {
            start_offset_ns: start_ms * MS,
            length_ns: 10 * MS,
            missed_periods: 1,
            histogram: recorder.snapshot(),
            ..Interval::default()
        }
    }

    fn window(parts: &[&str], from_ms: i64, to_ms: i64) -> LoadWindow {
        LoadWindow {
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            start_monotonic_ns: 1_000_000_000 + from_ms * 1_000_000,
            end_monotonic_ns: 1_000_000_000 + to_ms * 1_000_000,
            ..LoadWindow::default()
        }
    }

    /// Three windows: to 30.5 ms, to 61 ms, to the end; intervals of 10 ms.
    fn record(intervals: Vec<Interval>) -> Record {
        let mut record = record_of(Measurement::Wakeup, &[1]);
        record.manifest_mut().started.monotonic = Timestamp::from_ns(1_000_000_000);
        record.manifest_mut().requested.deadline_ns = Some(100_000);
        record.manifest_mut().load.windows =
            vec![window(&["memory"], -5, 30), window(&["network"], 31, 61), window(&["memory", "network"], 61, 200)];
        record.series[0].intervals = intervals;
        record
    }

    fn ten(latency_of: impl Fn(u64) -> u64) -> Vec<Interval> {
        (0..10).map(|n| interval(n * 10, &[5_000, latency_of(n)])).collect()
    }

    #[test]
    fn every_sample_is_in_one_turn_or_between() {
        let record = record(ten(|n| 10_000 + n));
        let seen = load_turns(&record).unwrap();
        let names: Vec<&str> = seen.turns.iter().map(|turn| turn.name.as_str()).collect();
        assert_eq!(names, ["memory", "network", "all together"]);
        // 20 to 30 ms ends with the window, its latest wake-up after it; 30 to 40 begins before the next one has begun.
        let samples: Vec<u64> = seen.turns.iter().map(|turn| turn.samples).collect();
        assert_eq!((samples, seen.between.samples), (vec![4, 4, 6], 6));
        assert_eq!(seen.turns.iter().map(|turn| turn.missed_periods).sum::<u64>() + seen.between.missed_periods, 10);
        assert_eq!(seen.turns[1].observed_ns, 20 * MS);
    }

    #[test]
    fn the_worst_of_a_turn_is_exact_and_named() {
        let seen = load_turns(&record(ten(|n| if n == 4 { 412_345 } else { 9_000 }))).unwrap();
        assert_eq!(
            (seen.turns[1].worst_ns, seen.turns[1].worst_cpu, seen.turns[1].beyond),
            (Some(412_345), Some(2), Some(1))
        );
        assert_eq!(seen.turns[0].beyond, Some(0));
        assert!(seen.sentences[0].contains("on CPU 2 with network"), "{:?}", seen.sentences);
        assert!(
            seen.sentences[1].contains("network (1)") && !seen.sentences[1].contains("memory"),
            "{:?}",
            seen.sentences
        );
    }

    #[test]
    fn what_came_while_the_turn_passed_on_is_nobodys() {
        let seen = load_turns(&record(ten(|n| if n == 3 { 900_000 } else { 9_000 }))).unwrap();
        assert_eq!(seen.between.worst_ns, Some(900_000));
        assert!(seen.turns.iter().all(|turn| turn.beyond == Some(0)));
        assert!(seen.sentences[0].contains("while the turn passed on"), "{:?}", seen.sentences);
        assert!(
            seen.sentences[2].ends_with("in any turn. 1 beyond it came while the turn passed on."),
            "{:?}",
            seen.sentences
        );
    }

    #[test]
    fn a_wake_up_that_reaches_into_the_next_turn_is_nobodys() {
        // Scheduled in the first turn, served 12 ms later in the second.
        let seen = load_turns(&record(ten(|n| if n == 1 { 12 * MS } else { 9_000 }))).unwrap();
        assert_eq!(seen.between.worst_ns, Some(12 * MS));
    }

    #[test]
    fn nothing_is_told_without_turns_of_an_invalid_run_or_of_empty_turns() {
        assert_eq!(load_turns(&record_of(Measurement::Wakeup, &[1])), None);
        let noise = Record { measurement: Measurement::Noise, ..record(ten(|_| 9_000)) };
        assert_eq!(load_turns(&noise), None);
        let mut invalid = record(ten(|_| 9_000));
        invalid.validity.add(ReasonCode::LoadNotAchieved, "nothing ran");
        assert!(load_turns(&invalid).unwrap().sentences[0].starts_with("It is unknown"));
        let none = load_turns(&record(Vec::new())).unwrap();
        assert!(none.sentences[0].starts_with("It is unknown"), "{:?}", none.sentences);
        let some = load_turns(&record(vec![interval(0, &[5_000])])).unwrap();
        assert!(some.sentences.iter().any(|text| text.contains("network, all together")), "{:?}", some.sentences);
    }

    #[test]
    fn numbers_out_of_a_file_can_be_anything() {
        let mut odd = record(ten(|_| u64::MAX));
        odd.manifest_mut().started.monotonic = Timestamp::from_ns(i64::MAX);
        odd.manifest_mut().load.windows[0].start_monotonic_ns = i64::MIN;
        odd.series[0].intervals[0].length_ns = u64::MAX;
        assert!(load_turns(&odd).is_some());
    }
}
