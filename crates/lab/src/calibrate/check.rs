//! What has to hold beside the rows: baseline, counting, controls, wall time.

use record::{ReasonCode, Record, Series};
use serde::{Deserialize, Serialize};

use super::bound::Condition;
use super::{Evidence, INTERVAL_NS, Run};

/// How far the mean of cyclictest in the same boot may lie from ours (ns).
const BASELINE_ERROR_NS: i64 = 1_000;
/// With nothing injected no wake-up of the idle guest is later than this (ns).
const QUIET_IDLE_NS: i64 = 20_000;
/// Under load none is later than the baseline by what an exception may add (ns).
const QUIET_LOAD_ABOVE_BASELINE_NS: i64 = 20_000;
/// Two readings of two clocks by a thread that the instrument may preempt between them lie this far apart (ns).
pub(super) const WALL_ERROR_NS: i64 = 50_000;
/// As many worst samples as a record keeps.
const KEPT_WORST: usize = 64;

/// Something that had to hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// In which boot; empty for all together.
    pub boot: String,
    /// What.
    pub name: String,
    /// Whether it does.
    pub holds: bool,
    /// What was found.
    pub found: String,
}

impl Check {
    pub(super) fn of(boot: &Evidence, name: impl Into<String>, holds: bool, found: impl Into<String>) -> Self {
        Self { boot: boot.boot.clone(), name: name.into(), holds, found: found.into() }
    }

    pub(super) fn of_all(name: impl Into<String>, holds: bool, found: impl Into<String>) -> Self {
        Self { boot: String::new(), name: name.into(), holds, found: found.into() }
    }
}

/// The boot's own plain wake-up (ns): the median with nothing injected; its mean has to equal cyclictest's.
pub(super) fn baseline(boot: &Evidence, checks: &mut Vec<Check>) -> i64 {
    let histogram = boot.quiet.series.first().map(|series| &series.histogram);
    let median_ns = histogram.and_then(|of| of.quantile_ns(0.5)).and_then(|ns| i64::try_from(ns).ok());
    let mean_ns = histogram.filter(|of| !of.is_empty()).and_then(|of| i64::try_from(of.sum_ns() / of.count()).ok());
    let theirs_ns = boot.cyclictest.mean_ns;
    checks.push(Check::of(
        boot,
        "quiet: the mean equals cyclictest's within 1 us",
        mean_ns.is_some_and(|ours_ns| (ours_ns - theirs_ns).abs() <= BASELINE_ERROR_NS),
        format!("{} against {theirs_ns} ns", in_ns(mean_ns)),
    ));
    median_ns.unwrap_or(0)
}

/// Each wake-up record agrees with itself and with its plan.
pub(super) fn records(boot: &Evidence, checks: &mut Vec<Check>) {
    for (name, record) in boot.wakeup_records() {
        let faults = match record.series.as_slice() {
            [series] => record_faults(record, series),
            other => vec![format!("{} series", other.len())],
        };
        let found = if faults.is_empty() { "all agree".to_owned() } else { faults.join("; ") };
        checks.push(Check::of(boot, format!("{name}: counts and maxima agree"), faults.is_empty(), found));
    }
}

fn record_faults(record: &Record, series: &Series) -> Vec<String> {
    let mut faults = Vec::new();
    let counters = &series.counters;
    let interval_ns = INTERVAL_NS.unsigned_abs();
    // The first schedule is at 0, and the last at the end: both stand.
    let schedules = record.manifest().requested.duration_ns.map(|ns| ns / interval_ns + 1);
    let taken = counters.samples + counters.missed_periods;
    if schedules != Some(taken) {
        let plan = schedules.map_or_else(|| "an unknown number".to_owned(), |schedules| schedules.to_string());
        faults.push(format!("{taken} schedules taken or missed of {plan}"));
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
    // Where fewer are late than are kept, all that missed something are among those kept.
    let missed: u64 = late.iter().map(|sample| sample.missed_periods).sum();
    if late.len() < KEPT_WORST && missed != counters.missed_periods {
        faults.push(format!("{missed} periods missed by the worst samples, {} in all", counters.missed_periods));
    }
    let of_intervals: u64 = series.intervals.iter().map(|interval| interval.missed_periods).sum();
    if of_intervals != counters.missed_periods {
        faults.push(format!("{of_intervals} periods missed in the intervals, {} in all", counters.missed_periods));
    }
    let corrected = series.corrected.as_ref().map_or(counters.samples, record::Histogram::count);
    if corrected != taken {
        faults.push(format!("{corrected} samples in the corrected view of {taken}"));
    }
    let worst_ns = record.worst.first().map(|sample| sample.latency_ns.unsigned_abs());
    let of_intervals_ns = series.intervals.iter().filter_map(|interval| interval.histogram.max_ns()).max();
    for (whose, max_ns) in [("the worst sample", worst_ns), ("the intervals", of_intervals_ns)] {
        if max_ns != series.histogram.max_ns() {
            let [of_all, theirs] =
                [series.histogram.max_ns(), max_ns].map(|ns| in_ns(ns.and_then(|ns| ns.try_into().ok())));
            faults.push(format!("the maximum is {of_all}, that of {whose} {theirs}"));
        }
    }
    let expected_invalid = record.validity.has(ReasonCode::ClockStepped);
    if record.validity.is_invalid() != expected_invalid {
        let details: Vec<&str> = record.validity.reasons().iter().map(|reason| reason.detail.as_str()).collect();
        faults.push(format!("invalid where it should not be, or the other way round: {}", details.join(", ")));
    }
    faults
}

/// A number that may be missing, in words.
pub(super) fn in_ns(value: Option<i64>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |ns| format!("{ns} ns"))
}

/// What a real-time thread must not feel, it does not.
pub(super) fn controls(boot: &Evidence, baseline_ns: i64, checks: &mut Vec<Check>) {
    for (name, record) in [
        ("quiet: nothing injected shows nothing", &boot.quiet),
        ("controls: a hog below it and softirqs show nothing", &boot.controls.record),
    ] {
        let found = record.worst.first().map(|sample| sample.latency_ns);
        checks.push(Check::of(
            boot,
            name,
            shows_nothing(boot, record, baseline_ns),
            format!("longest {}", in_ns(found)),
        ));
    }
}

/// Whether no wake-up was later than one is with nothing injected.
pub(super) fn shows_nothing(boot: &Evidence, record: &Record, baseline_ns: i64) -> bool {
    let limit_ns = match boot.condition {
        Condition::Idle => QUIET_IDLE_NS,
        Condition::Load => baseline_ns + QUIET_LOAD_ABOVE_BASELINE_NS,
    };
    record.worst.first().is_some_and(|sample| sample.latency_ns <= limit_ns)
}

/// The wall time of the worst sample, against what somebody else read of both clocks earlier in the boot.
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
    checks.push(Check::of(
        boot,
        format!("{name}: wall time of the worst sample"),
        worst_ns.is_some_and(|ns| ns.abs() <= WALL_ERROR_NS),
        format!("{} off", in_ns(worst_ns)),
    ));
}
