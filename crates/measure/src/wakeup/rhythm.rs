//! Looks for rhythms among the late wake-ups of a finished run.

use analyse::rhythm::{LateThread, LateWakeup, ScanInput, scan, with_causes};
use record::{Record, RhythmScan};

use super::plan::Plan;
use crate::collect::Collected;
use crate::surroundings;

/// Up to this multiple of the median a wake-up is not late, whatever share of them it stands out from.
const BODY_MEDIANS: f64 = 1.5;
/// The share of the wake-ups that is not late.
const BODY_SHARE: f64 = 0.99;

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
        let median_ns = units::approx_f64(all.quantile_ns(0.5).unwrap_or(0));
        let (started, ended) = (record.manifest.started, record.manifest.ended);
        let body_ns = self
            .complete_above_ns
            .max(all.quantile_ns(BODY_SHARE).unwrap_or(0))
            .max(units::round_u64(BODY_MEDIANS * median_ns));
        let smi = units::total(record.series.iter().filter_map(|series| series.counters.smi));
        let is_real_time = record.manifest.effective.iter().all(|thread| thread.priority > 0);
        let mut found = scan(&ScanInput {
            threads: &self.threads,
            started_ns: started.monotonic_ns,
            ended_ns: ended.monotonic_ns,
            realtime_offset_ns: started.realtime_ns.saturating_sub(started.monotonic_ns),
            body_ns,
            deadline_ns: plan.config.deadline.map(units::Ns::unsigned),
            jittered: plan.config.jitter.is_some(),
            surroundings: &surroundings::read(is_real_time, smi),
        });
        if let Some(explanation) = &record.explanation {
            with_causes(&mut found, explanation, started.monotonic_ns);
        }
        found
    }
}
