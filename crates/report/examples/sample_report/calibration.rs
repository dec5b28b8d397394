//! Two synthetic calibrations: one that passes and one that fails.

use report::{
    CalibrationCheckView, CalibrationMissedView, CalibrationOutcomeView, CalibrationRowView, CalibrationView,
};

/// Injected delays of one kind and length.
struct Plan {
    measurement: &'static str,
    kind: &'static str,
    length_us: i64,
    condition: &'static str,
    count: i64,
    /// The smallest difference between reading and truth (ns).
    from_ns: i64,
    /// The largest difference exceeds the smallest by this (ns).
    spread_ns: i64,
    bound_ns: (i64, i64, i64),
}

const fn plan(
    measurement: &'static str,
    kind: &'static str,
    length_us: i64,
    condition: &'static str,
    differences: (i64, i64),
    bound_ns: (i64, i64, i64),
) -> Plan {
    let (from_ns, spread_ns) = differences;
    Plan { measurement, kind, length_us, condition, count: 40, from_ns, spread_ns, bound_ns }
}

const IDLE: (i64, i64, i64) = (-1_000, 5_000, 20_000);
const LOAD: (i64, i64, i64) = (-3_000, 10_000, 20_000);
const TICK: (i64, i64, i64) = (-3_000, 15_000, 20_000);

const PLANS: [Plan; 11] = [
    plan("wakeup", "irqs-off", 20, "idle", (-40, 400), IDLE),
    plan("wakeup", "irqs-off", 20, "load", (-40, 5_000), LOAD),
    plan("wakeup", "irqs-off", 1_000, "idle", (50, 3_000), IDLE),
    plan("wakeup", "irqs-off", 1_000, "load", (60, 9_000), LOAD),
    plan("wakeup", "irqs-off", 5_000, "idle", (3_000, 3_000), TICK),
    plan("wakeup", "irqs-off", 5_000, "load", (4_000, 7_000), TICK),
    plan("wakeup", "hog", 20_000, "idle", (2_900, 1_200), TICK),
    plan("wakeup", "hog", 20_000, "load", (2_950, 4_000), TICK),
    plan("noise", "irqs-off", 20, "idle", (2_150, 20), (0, 4_900, 38_000)),
    plan("noise", "irqs-off", 5_000, "idle", (8_000, 3_000), (0, 13_000, 38_000)),
    plan("noise", "hog", 2_000, "idle", (24_000, 900), (0, 36_000, 38_000)),
];

fn rows() -> Vec<CalibrationRowView> {
    PLANS.iter().flat_map(|plan| (0..plan.count).map(move |at| row(plan, at))).collect()
}

fn row(plan: &Plan, at: i64) -> CalibrationRowView {
    let truth_ns = plan.length_us * 1_000 - 10_000;
    // Most differences are small, as in reality.
    let difference_ns = plan.from_ns + plan.spread_ns * (at * 17 % 40).pow(3) / 64_000;
    let (least_ns, most_ns, exception_ns) = plan.bound_ns;
    let missed = truth_ns / 200_000;
    CalibrationRowView {
        boot: format!("{}-{}", plan.condition, at / 10),
        condition: plan.condition.to_owned(),
        measurement: plan.measurement.to_owned(),
        kind: plan.kind.to_owned(),
        asked_length_ns: (plan.length_us * 1_000).into(),
        truth_ns: truth_ns.into(),
        baseline_ns: 7_900_i64.into(),
        reading_ns: Some((truth_ns + 7_900 + difference_ns).into()),
        difference_ns: Some(difference_ns.into()),
        least_ns: least_ns.into(),
        most_ns: most_ns.into(),
        exception_ns: exception_ns.into(),
        missed: (plan.measurement == "wakeup").then(|| CalibrationMissedView {
            reading: missed.into(),
            least: missed.into(),
            most: missed.into(),
        }),
        outcome: CalibrationOutcomeView::Within,
    }
}

fn check(boot: &str, name: &str, holds: bool, found: &str) -> CalibrationCheckView {
    CalibrationCheckView { boot: boot.to_owned(), name: name.to_owned(), holds, found: found.to_owned() }
}

fn calibration(passes: bool, rows: Vec<CalibrationRowView>, checks: Vec<CalibrationCheckView>) -> CalibrationView {
    CalibrationView {
        tool: "punctual 0.1.0".to_owned(),
        machine: "one emulated CPU whose clock counts instructions, Linux 6.12.9-rt-amd64".to_owned(),
        passes,
        rows,
        checks,
    }
}

fn checks() -> Vec<CalibrationCheckView> {
    (0..4)
        .flat_map(|seed| {
            let boot = format!("idle-{seed}");
            [
                check(&boot, "quiet: the mean equals cyclictest's within 1 us", true, "7 912 ns against 7 908 ns"),
                check(&boot, "irqs-off: samples and missed periods add up to the plan", true, "18 001 of 18 001"),
                check(&boot, "controls: nothing is felt", true, "worst 17.6 us"),
                check(&boot, "step forwards: named, and the run is invalid", true, "123 456 000 ns"),
            ]
        })
        .chain([check("", "wakeup: 99 % within bounds", true, "319 of 320: 160 of 160 idle, 159 of 160 under load")])
        .collect()
}

/// A calibration with one exception, as real ones have.
pub(crate) fn passes() -> CalibrationView {
    let mut rows = rows();
    beyond(&mut rows[130], 990_000, 11_200, CalibrationOutcomeView::Exception);
    calibration(true, rows, checks())
}

/// A calibration that fails: two wrong readings, three delays that were not found, and a check that does not hold.
pub(crate) fn fails() -> CalibrationView {
    let mut rows = rows();
    beyond(&mut rows[83], 990_000, -4_100, CalibrationOutcomeView::Outside);
    beyond(&mut rows[210], 4_990_000, 31_000, CalibrationOutcomeView::Outside);
    for row in &mut rows[3..6] {
        (row.reading_ns, row.difference_ns, row.missed) = (None, None, None);
        row.outcome = CalibrationOutcomeView::NotFound;
    }
    let mut checks = checks();
    checks[1] = check(
        "idle-0",
        "irqs-off: samples and missed periods add up to the plan",
        false,
        "17 999 of 18 001: two schedules are neither",
    );
    calibration(false, rows, checks)
}

fn beyond(row: &mut CalibrationRowView, truth_ns: i64, difference_ns: i64, outcome: CalibrationOutcomeView) {
    row.reading_ns = Some((truth_ns + 7_900 + difference_ns).into());
    row.difference_ns = Some(difference_ns.into());
    row.outcome = outcome;
}
