//! Gaps of the loop that never sleeps around an injection: compares reading and truth.

use super::bound::{Bound, QuietNoise};
use super::{Check, Evidence, NoiseEvidence, Row};

/// Name of the measurement in these rows.
pub(super) const MEASUREMENT: &str = "noise";

/// Adds one row for each injection of the run.
pub(super) fn rows(boot: &Evidence, noise: &NoiseEvidence, rows: &mut Vec<Row>, checks: &mut Vec<Check>) {
    let Some(quiet) = quiet_noise(boot, noise) else {
        checks.push(Check::for_boot(boot, "noise: the quiet run has gaps", false, "none"));
        return;
    };
    for delay in &noise.run.truth {
        let bound = Bound::for_noise(delay, &quiet);
        let truth_ns = delay.true_end_ns - delay.true_start_ns;
        // Any overlap counts, so that a gap that is wrongly shorter than the injection is found too.
        let overlapping = noise.run.record.worst.iter().filter(|gap| {
            gap.from.at.monotonic.as_ns() < delay.true_end_ns && gap.to.at.monotonic.as_ns() > delay.true_start_ns
        });
        let around = overlapping.max_by_key(|gap| gap.latency_ns);
        let difference_ns = around.map(|gap| gap.latency_ns - truth_ns);
        rows.push(Row {
            boot: boot.boot.clone(),
            condition: boot.condition,
            measurement: MEASUREMENT.to_owned(),
            kind: delay.kind,
            asked_length_ns: delay.asked_length_ns,
            true_start_ns: delay.true_start_ns,
            truth_ns,
            baseline_ns: 0,
            reading_ns: around.map(|gap| gap.latency_ns),
            difference_ns,
            bound,
            missed: None,
            verdict: bound.judge(difference_ns),
        });
    }
    totals(boot, noise, checks);
}

/// Checks that the total stolen time is at least what was injected, and that the samples add up to it.
fn totals(boot: &Evidence, noise: &NoiseEvidence, checks: &mut Vec<Check>) {
    let injected_ns: i64 = noise.run.truth.iter().map(|delay| delay.true_end_ns - delay.true_start_ns).sum();
    let stolen_ns: u64 = noise.run.record.series.iter().filter_map(record::Series::gaps).map(|n| n.stolen_ns).sum();
    let sum_ns: u64 = noise.run.record.series.iter().map(|series| series.histogram.sum_ns()).sum();
    checks.push(Check::for_boot(
        boot,
        "noise: the gaps add up, to no less than was injected",
        stolen_ns == sum_ns && i64::try_from(stolen_ns).is_ok_and(|stolen_ns| stolen_ns >= injected_ns),
        format!("{stolen_ns} ns stolen, {sum_ns} in the histogram, {injected_ns} injected"),
    ));
}

fn quiet_noise(boot: &Evidence, noise: &NoiseEvidence) -> Option<QuietNoise> {
    let gaps = &noise.quiet.series.first()?.histogram;
    let wakeups = &boot.quiet.series.first()?.histogram;
    let ns = |value: Option<u64>| value.and_then(|ns| i64::try_from(ns).ok());
    Some(QuietNoise {
        shortest_gap_ns: ns(gaps.min_ns())?,
        ordinary_gap_ns: ns(gaps.quantile_ns(0.9))?,
        longest_gap_ns: ns(gaps.max_ns())?,
        late_wakeup_ns: ns(wakeups.quantile_ns(0.99))?,
    })
}
