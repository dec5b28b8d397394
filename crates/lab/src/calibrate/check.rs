//! Checks beside the rows: baseline, counters, controls, wall time.

use record::{Record, Series};
use serde::{Deserialize, Serialize};

use super::bound::Condition;
use super::{Evidence, INTERVAL_NS, Run};

/// How far cyclictest's mean in the same boot may differ from ours (ns).
const BASELINE_ERROR_NS: i64 = 1_000;
/// Latest allowed wake-up of the idle guest with nothing injected (ns).
const QUIET_IDLE_NS: i64 = 20_000;
/// Latest allowed wake-up under load, and latest hand-over, with nothing injected, above the baseline (ns): what an exception
/// may add.
pub(super) const QUIET_ABOVE_BASELINE_NS: i64 = 20_000;
/// Largest error between readings of two clocks by a thread that the instrument may preempt in between (ns).
pub(super) const WALL_ERROR_NS: i64 = 50_000;
/// The number of worst samples that a record keeps.
const KEPT_WORST: usize = 64;

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Name of the boot; empty for a check over all boots.
    pub boot: String,
    /// What was checked.
    pub name: String,
    /// Whether the check holds.
    pub holds: bool,
    /// What was found.
    pub found: String,
}

impl Check {
    pub(super) fn for_boot(boot: &Evidence, name: impl Into<String>, holds: bool, found: impl Into<String>) -> Self {
        Self { boot: boot.boot.clone(), name: name.into(), holds, found: found.into() }
    }

    pub(super) fn for_all(name: impl Into<String>, holds: bool, found: impl Into<String>) -> Self {
        Self { boot: String::new(), name: name.into(), holds, found: found.into() }
    }
}

/// The baseline of a boot (ns): the median wake-up with nothing injected. Checks that the mean equals cyclictest's.
pub(super) fn baseline(boot: &Evidence, checks: &mut Vec<Check>) -> i64 {
    let histogram = boot.quiet.series.first().map(|series| &series.histogram);
    let median_ns = histogram.and_then(|of| of.quantile_ns(0.5)).and_then(|ns| i64::try_from(ns).ok());
    let mean_ns = histogram.filter(|of| !of.is_empty()).and_then(|of| i64::try_from(of.sum_ns() / of.count()).ok());
    let theirs_ns = boot.cyclictest.mean_ns;
    checks.push(Check::for_boot(
        boot,
        "quiet: the mean equals cyclictest's within 1 us",
        mean_ns.is_some_and(|ours_ns| (ours_ns - theirs_ns).abs() <= BASELINE_ERROR_NS),
        format!("{} against {theirs_ns} ns", format_ns(mean_ns)),
    ));
    median_ns.unwrap_or(0)
}

/// Checks that each wake-up record is consistent in itself and with its plan.
pub(super) fn records(boot: &Evidence, checks: &mut Vec<Check>) {
    for (name, record) in boot.wakeup_records() {
        let faults = match record.series.as_slice() {
            [series] => record_faults(record, series),
            other => vec![format!("{} series", other.len())],
        };
        let found = if faults.is_empty() { "all agree".to_owned() } else { faults.join("; ") };
        checks.push(Check::for_boot(boot, format!("{name}: counts and maxima agree"), faults.is_empty(), found));
    }
}

fn record_faults(record: &Record, series: &Series) -> Vec<String> {
    let mut faults = Vec::new();
    let counters = &series.counters;
    let interval_ns = INTERVAL_NS.unsigned_abs();
    // Schedules at the start and at the end are both included.
    let schedules = record.manifest().requested.duration_ns.map(|ns| ns / interval_ns + 1);
    let taken = counters.samples + counters.missed_periods;
    let with_spoiled = taken + series.spoiled.samples + series.spoiled.missed_periods;
    if schedules != Some(with_spoiled) {
        let plan = schedules.map_or_else(|| "an unknown number".to_owned(), |schedules| schedules.to_string());
        faults.push(format!("{with_spoiled} schedules taken or missed of {plan}"));
    }
    if counters.dropped > 0 || counters.samples != series.histogram.count() {
        faults.push(format!("{} samples, {} in the histogram", counters.samples, series.histogram.count()));
    }
    let late: Vec<_> = record.worst.iter().filter(|sample| sample.latency_ns >= INTERVAL_NS).collect();
    for sample in &late {
        if sample.missed_periods != sample.latency_ns.unsigned_abs() / interval_ns {
            faults.push(format!("a sample of {} ns missed {}", sample.latency_ns, sample.missed_periods));
        }
    }
    // If fewer are late than the record keeps, it keeps all that missed periods.
    let missed: u64 = late.iter().map(|sample| sample.missed_periods).sum();
    if late.len() < KEPT_WORST && missed != counters.missed_periods {
        faults.push(format!("{missed} periods missed by the worst samples, {} in all", counters.missed_periods));
    }
    let in_intervals: u64 = series.intervals.iter().map(|interval| interval.missed_periods).sum();
    if in_intervals != counters.missed_periods {
        faults.push(format!("{in_intervals} periods missed in the intervals, {} in all", counters.missed_periods));
    }
    let corrected = series.corrected.as_ref().map_or(counters.samples, record::Histogram::count);
    if corrected != taken {
        faults.push(format!("{corrected} samples in the corrected view of {taken}"));
    }
    let worst_ns = record.worst.first().map(|sample| sample.latency_ns.unsigned_abs());
    let in_intervals_ns = series.intervals.iter().filter_map(|interval| interval.histogram.max_ns()).max();
    for (whose, max_ns) in [("the worst sample", worst_ns), ("the intervals", in_intervals_ns)] {
        if max_ns != series.histogram.max_ns() {
            let [of_all, theirs] =
                [series.histogram.max_ns(), max_ns].map(|ns| format_ns(ns.and_then(|ns| ns.try_into().ok())));
            faults.push(format!("the maximum is {of_all}, that of {whose} {theirs}"));
        }
    }
    if record.validity.is_invalid() {
        let details: Vec<&str> = record.validity.reasons().iter().map(|reason| reason.detail.as_str()).collect();
        faults.push(format!("invalid where it should not be: {}", details.join(", ")));
    }
    faults
}

/// Formats a number of nanoseconds that may be missing.
pub(super) fn format_ns(value: Option<i64>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |ns| format!("{ns} ns"))
}

/// Checks that what must not delay a real-time thread does not delay it.
pub(super) fn controls(boot: &Evidence, baseline_ns: i64, checks: &mut Vec<Check>) {
    for (name, record) in [
        ("quiet: nothing injected shows nothing", &boot.quiet),
        ("controls: a hog below it and softirqs show nothing", &boot.controls.record),
    ] {
        let found = record.worst.first().map(|sample| sample.latency_ns);
        checks.push(Check::for_boot(
            boot,
            name,
            shows_nothing(boot, record, baseline_ns),
            format!("longest {}", format_ns(found)),
        ));
    }
}

/// Whether no wake-up was later than is normal with nothing injected.
pub(super) fn shows_nothing(boot: &Evidence, record: &Record, baseline_ns: i64) -> bool {
    let limit_ns = match boot.condition {
        Condition::Idle => QUIET_IDLE_NS,
        Condition::Load => baseline_ns + QUIET_ABOVE_BASELINE_NS,
    };
    record.worst.first().is_some_and(|sample| sample.latency_ns <= limit_ns)
}

/// Checks the wall time of the worst sample against an independent reading of both clocks earlier in the boot.
pub(super) fn wall_time(boot: &Evidence, name: &str, run: &Run, checks: &mut Vec<Check>) {
    let distance_ns = boot.epoch.before.realtime.as_ns() - boot.epoch.before.monotonic.as_ns();
    let errors: Vec<i64> = run
        .record
        .worst
        .first()
        .map(|worst| {
            [worst.from.at, worst.to.at].map(|at| at.realtime.as_ns() - at.monotonic.as_ns() - distance_ns).to_vec()
        })
        .unwrap_or_default();
    let worst_ns = errors.iter().copied().max_by_key(|ns| ns.abs());
    checks.push(Check::for_boot(
        boot,
        format!("{name}: wall time of the worst sample"),
        worst_ns.is_some_and(|ns| ns.abs() <= WALL_ERROR_NS),
        format!("{} off", format_ns(worst_ns)),
    ));
}
