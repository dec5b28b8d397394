//! The calibration of hand-overs between threads: `measure event` against delays inside the waking call.
//!
//! In the deterministic guest the kernel module `punctual_inject` delays whoever wakes a given thread, before it is made
//! runnable, and logs when it did. If that thread is the woken one of a pair, the delay is a part of the hand-over: the
//! waker is inside its waking call, and the woken thread cannot run. Both latencies have to contain it. If it is the
//! waker, the delay ends before the waker runs, so before the hand-over begins: no latency may contain it.
//!
//! Which of the two it is does not depend on any reading of the instrument's. Pure.

mod checks;
mod evidence;

pub use evidence::{EventEvidence, EventRun};
use record::{Series, WorstSample};

use super::bound::Bound;
use super::{Calibration, Condition, Missed, Row, RowVerdict};
use crate::injection::Delay;

/// The guest's shell script. `LOAD` is 0 or 1, and `SEED` is a small number that differs in each boot. It leaves the
/// files that [`EventEvidence::read`] reads.
pub const EVENT_GUEST_SCRIPT: &str = include_str!("guest.sh");

/// Name of the measurement in these rows.
const MEASUREMENT: &str = "event";
/// Time from one hand-over of the guest's runs to the next (ns): no divisor of a tick, so that the delays fall at many
/// moments between two ticks. The lengths of the delays are no multiples of it, so that the number of periods that each
/// swallows does not depend on how long a hand-over takes.
const INTERVAL_NS: i64 = 1_100_000;

/// Compares what the guests found with what was injected.
#[must_use]
pub fn calibrate_event(boots: &[EventEvidence]) -> Calibration {
    let (mut rows, mut checks) = (Vec::new(), Vec::new());
    for boot in boots {
        for run in &boot.runs {
            let about = About { name: format!("{} {}", boot.boot, run.means), condition: boot.condition, run };
            let found = about.rows();
            about.checks(&found, &mut checks);
            rows.extend(found);
        }
    }
    checks.push(super::mostly_within(MEASUREMENT, &rows));
    let first = boots.first().and_then(|boot| boot.runs.first()).map(|run| &run.run.record);
    Calibration::new(first, rows, checks)
}

/// One run, and where it is from.
struct About<'a> {
    /// Name of the boot with the means of hand-over.
    name: String,
    condition: Condition,
    run: &'a EventRun,
}

impl About<'_> {
    /// One row for each delay inside a waking call.
    fn rows(&self) -> Vec<Row> {
        let baseline_ns = self.woke().map_or(0, median_ns);
        self.run.run.truth.iter().map(|delay| self.row(delay, baseline_ns)).collect()
    }

    fn row(&self, delay: &Delay, baseline_ns: i64) -> Row {
        let bound = Bound::for_hand_over(self.condition, delay);
        let truth_ns = delay.true_end_ns - delay.true_start_ns;
        let expected_ns = truth_ns + baseline_ns;
        let sample = self.sample_around(delay);
        let difference_ns = sample.map(|sample| sample.latency_ns - expected_ns);
        let missed = sample.map(|sample| Missed {
            reading: i64::try_from(sample.missed_periods).unwrap_or(i64::MAX),
            least: (expected_ns + bound.least_ns).div_euclid(INTERVAL_NS),
            most: (expected_ns + bound.exception_ns).div_euclid(INTERVAL_NS),
        });
        let is_miscounted = missed.is_some_and(|missed| missed.reading < missed.least || missed.reading > missed.most);
        Row {
            boot: self.name.clone(),
            condition: self.condition,
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
            verdict: if is_miscounted { RowVerdict::Outside } else { bound.judge(difference_ns) },
        }
    }

    /// The hand-over that overlaps a delay. Any overlap counts, so that one that is wrongly shorter than the delay is found
    /// too.
    fn sample_around(&self, delay: &Delay) -> Option<&WorstSample> {
        let overlapping = self.run.run.record.worst.iter().filter(|sample| overlaps(sample, delay));
        overlapping.max_by_key(|sample| sample.latency_ns)
    }

    /// The latency that is judged: until the woken thread ran.
    fn woke(&self) -> Option<&Series> {
        self.run.run.record.series.iter().find(|series| series.judged)
    }

    /// What the waking call took: on one CPU until the woken thread waited again.
    fn returned(&self) -> Option<&Series> {
        self.run.run.record.series.iter().find(|series| !series.judged)
    }
}

/// Whether a sample's time and that of a delay have a moment in common.
fn overlaps(sample: &WorstSample, delay: &Delay) -> bool {
    sample.from.at.monotonic.as_ns() < delay.true_end_ns && sample.to.at.monotonic.as_ns() > delay.true_start_ns
}

/// Median of a series (ns); nearly all of its hand-overs had nothing injected.
fn median_ns(series: &Series) -> i64 {
    series.histogram.quantile_ns(0.5).and_then(|ns| i64::try_from(ns).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
