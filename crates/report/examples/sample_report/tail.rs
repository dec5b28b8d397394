//! Runs from which worst cases can be predicted, and runs from which they cannot.

use analysis::tail::Claim;
use record::{Histogram, Record, Validity};
use summary::{Answer, Assessment};
use units::round_u64;

use crate::synthetic::{LOADED, Plan, wakeup};
use units::Random;

/// Twelve hours in intervals of five minutes, with an exponential tail. Each interval is worse than the one before it by
/// `drift_ns`.
fn run(label: &'static str, load: &'static str, drift_ns: u64) -> Record {
    let plan = Plan {
        label,
        load,
        cpus: 2,
        duration_s: 12 * 3_600,
        interval_us: 1_000,
        intervals: 144,
        shape: LOADED,
        deadline_us: 100,
        stalls: Vec::new(),
        starts_after_s: 0,
        seed: 31 + u64::from(load != "none"),
    };
    let mut record = wakeup(&plan, Validity::default());
    let mut random = Random::new(plan.seed);
    for series in &mut record.series {
        let mut all = Histogram::new();
        for (number, interval) in (0_u64..).zip(&mut series.intervals) {
            let mut histogram = Histogram::new();
            for _ in 0..400 {
                let away = -2_500.0 * (1.0 - random.unit()).ln();
                histogram.record_n(20_000 + number * drift_ns + round_u64(away), 1);
            }
            histogram.record_n(9_000, 299_600);
            all.merge(&histogram);
            interval.histogram = histogram;
        }
        series.counters.samples = all.count();
        series.histogram = all;
    }
    let worst_ns = record.worst_of_all().map_or(0, |(worst, _)| worst);
    record.worst.truncate(1);
    record.worst.iter_mut().for_each(|worst| worst.latency_ns = worst_ns);
    record.verdict = Some(analysis::verdict(&record, 100_000));
    record
}

/// An assessment with a claim that is shown.
pub(crate) fn shown() -> (Assessment, Vec<Record>) {
    assessed(0, "100us for 1 day at 99%")
}

/// An assessment whose run under load drifts, so that predictions are refused.
pub(crate) fn refused() -> (Assessment, Vec<Record>) {
    assessed(60, "100us for 1 day at 99%")
}

fn assessed(drift_ns: u64, claim: &str) -> (Assessment, Vec<Record>) {
    let runs = vec![run("idle", "none", 0), run("under load", "paper", drift_ns)];
    let mut assessment = Assessment {
        deadline_ns: 100_000,
        answer: Answer::Holds,
        sentence: "Holds 100 us on CPU 0-1.".to_owned(),
        lines: Vec::new(),
        changes: Vec::new(),
        claim: None,
    };
    if let Ok(claim) = claim.parse::<Claim>() {
        assessment.answer_claim(claim, Ok(&runs[1]));
    }
    (assessment, runs)
}
