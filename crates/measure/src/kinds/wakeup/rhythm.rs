//! Looks for rhythms among the late wake-ups of a finished run.

use analysis::rhythm::{LateThread, LateWakeup, ScanInput, scan, with_causes};
use record::{Record, RhythmScan};

use super::plan::Plan;
use crate::collect::Collected;
use crate::surroundings;

/// Up to this multiple of the median a wake-up is not late, whatever share of them it stands out from.
const BODY_MEDIANS: f64 = 1.5;
/// The share of the wake-ups that is not late, but for what lies beyond the next bound.
const BODY_SHARE: f64 = 0.99;
/// Beyond this multiple of the median a wake-up is late, however many are: a delay of 2 ms every 41 ms hits more than one in a
/// hundred wake-ups at 1 kHz, and is no part of the body for that.
const LATE_MEDIANS: f64 = 4.0;

/// Up to this latency (ns) a wake-up is not late.
fn end_of_body(all: &record::Histogram) -> u64 {
    let median_ns = units::approx_f64(all.quantile_ns(0.5).unwrap_or(0));
    let [least_ns, most_ns] = [BODY_MEDIANS, LATE_MEDIANS].map(|times| units::round_u64(times * median_ns));
    all.quantile_ns(BODY_SHARE).unwrap_or(0).clamp(least_ns, most_ns)
}

/// The late wake-ups of each thread on CLOCK_MONOTONIC, and from where on they are complete (ns).
pub(super) struct LateWakeups {
    threads: Vec<LateThread>,
    complete_above_ns: u64,
}

impl LateWakeups {
    /// Takes them out of what the drain collected; the measured clock is ahead of the monotonic one by `ahead_ns`.
    pub(super) fn take(plan: &Plan, collected: &mut [Collected], ahead_ns: i64) -> Self {
        let complete_above_ns = collected.iter().map(|thread| thread.late_above_ns).max().unwrap_or(0);
        let threads = plan.threads.iter().zip(collected).map(|(thread, collected)| LateThread {
            cpu: thread.cpu,
            interval_ns: thread.interval_ns,
            wakeups: std::mem::take(&mut collected.late)
                .into_iter()
                .map(|late| LateWakeup { scheduled_ns: late.scheduled_ns.saturating_sub(ahead_ns), ..late })
                .collect(),
        });
        Self { threads: threads.collect(), complete_above_ns }
    }

    /// The rhythms of the run.
    pub(super) fn scan(&self, plan: &Plan, record: &Record) -> RhythmScan {
        let mut all = record::Histogram::new();
        record.series.iter().for_each(|series| all.merge(&series.histogram));
        let (started, ended) = (record.manifest().started, record.manifest().ended);
        let body_ns = self.complete_above_ns.max(end_of_body(&all));
        let smi = units::total(record.series.iter().filter_map(|series| series.counters.smi));
        let is_real_time = |thread: &record::Effective| thread.priority > 0;
        let all_real_time = record.manifest().effective.iter().all(is_real_time);
        let mut found = scan(&ScanInput {
            threads: &self.threads,
            started_ns: started.monotonic.as_ns(),
            ended_ns: ended.monotonic.as_ns(),
            realtime_offset_ns: started.realtime.as_ns().saturating_sub(started.monotonic.as_ns()),
            body_ns,
            deadline_ns: plan.config.deadline.map(units::Ns::unsigned),
            jittered: plan.config.jitter.is_some(),
            surroundings: &surroundings::read(all_real_time, smi, &plan.measured),
        });
        if let Some(explanation) = record.explanation() {
            with_causes(&mut found, explanation, started.monotonic.as_ns());
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_delays_of_more_than_one_in_a_hundred_wake_ups_are_late() {
        let mut all = record::Histogram::new();
        all.record_n(7_800, 3_900);
        all.record_n(1_408_000, 51);
        assert!((31_000..31_500).contains(&end_of_body(&all)), "{}", end_of_body(&all));
        // A wide body ends where one in a hundred lies beyond it.
        let mut wide = record::Histogram::new();
        (0..1_000).for_each(|n| wide.record_n(10_000 + 20 * n, 1));
        assert!((29_000..30_000).contains(&end_of_body(&wide)));
        assert_eq!(end_of_body(&record::Histogram::new()), 0);
    }
}
