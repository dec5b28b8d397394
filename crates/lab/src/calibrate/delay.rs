//! Wake-ups delayed by an injection: compares reading and truth.

use record::WorstSample;

use super::bound::Bound;
use super::{Evidence, INTERVAL_NS, Missed, Row, RowVerdict, Run};
use crate::injection::Delay;

/// Name of the measurement in these rows.
pub(super) const MEASUREMENT: &str = "wakeup";

/// Adds one row for each injection of the run that covers an expected wake-up.
pub(super) fn rows(boot: &Evidence, run: &Run, baseline_ns: i64, rows: &mut Vec<Row>) {
    let mut free_from_ns = i64::MIN;
    for delay in &run.truth {
        // Schedules that an earlier injection covered were missed: no wake-up is expected there.
        let from_ns = delay.true_start_ns.max(free_from_ns);
        let wake_ns = first_wake_ns(from_ns);
        let truth_ns = delay.true_end_ns - wake_ns;
        if truth_ns < 0 {
            // It began after one wake-up and ended before the next: rightly invisible.
            continue;
        }
        free_from_ns = delay.true_end_ns;
        let sample = run.record.worst.iter().find(|sample| sample.from.at.monotonic.as_ns() == wake_ns);
        rows.push(row(boot, delay, truth_ns, baseline_ns, sample));
    }
}

/// The first expected wake-up at or after a moment: schedules are multiples of the interval.
pub(super) fn first_wake_ns(from_ns: i64) -> i64 {
    let past_ns = from_ns.rem_euclid(INTERVAL_NS);
    if past_ns == 0 { from_ns } else { from_ns + INTERVAL_NS - past_ns }
}

fn row(boot: &Evidence, delay: &Delay, truth_ns: i64, baseline_ns: i64, sample: Option<&WorstSample>) -> Row {
    let bound = Bound::for_wakeup(boot.condition, delay);
    let expected_ns = truth_ns + baseline_ns;
    let difference_ns = sample.map(|sample| sample.latency_ns - expected_ns);
    let missed = sample.map(|sample| Missed {
        reading: i64::try_from(sample.missed_periods).unwrap_or(i64::MAX),
        least: (expected_ns + bound.least_ns).div_euclid(INTERVAL_NS),
        most: (expected_ns + bound.exception_ns).div_euclid(INTERVAL_NS),
    });
    let miscounted = missed.is_some_and(|missed| missed.reading < missed.least || missed.reading > missed.most);
    let verdict = if miscounted { RowVerdict::Outside } else { bound.judge(difference_ns) };
    Row {
        boot: boot.boot.clone(),
        condition: boot.condition,
        measurement: MEASUREMENT.to_owned(),
        kind: delay.kind,
        asked_length_ns: delay.asked_length_ns,
        true_start_ns: delay.true_start_ns,
        truth_ns,
        baseline_ns,
        reading_ns: sample.map(|sample| sample.latency_ns),
        difference_ns,
        bound,
        missed,
        verdict,
    }
}
