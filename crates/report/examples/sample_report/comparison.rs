//! Comparisons of synthetic runs.

use analysis::compare::{self, CompareOptions, Group};
use profile::Profile;
use record::{ReasonCode, Record, Validity};
use report::ComparisonInput;

use crate::plan;
use crate::synthetic::{LOADED, Plan, Shape, wakeup};

/// Repetitions of one condition, each with its own seed and a slightly different mode.
fn runs(shape: Shape, count: u64, first_seed: u64) -> Vec<Record> {
    (0..count)
        .map(|at| {
            let seed = first_seed + at;
            let mode_us = shape.mode_us * (1.0 + 0.004 * units::approx_f64(at));
            let stalls = if seed % 3 == 0 { vec![(1, 0.4, 60 + 7 * at)] } else { Vec::new() };
            let shape = Shape { mode_us, ..shape };
            let mut run = wakeup(&Plan { shape, seed, stalls, ..plan("under paper load", 2) }, Validity::default());
            run.id = format!("run-{seed}");
            run
        })
        .collect()
}

/// # Panics
/// Never: both groups contain runs of the same measurement.
fn input(a: Vec<Record>, b: Vec<Record>) -> ComparisonInput {
    let comparison =
        compare::compare(&group("6.12.43-rt12", &a), &group("6.12.48-rt13", &b), &CompareOptions::default());
    ComparisonInput { comparison: comparison.expect("runs of one measurement can be compared"), a, b }
}

fn group<'a>(name: &str, runs: &'a [Record]) -> Group<'a> {
    Group { name: name.to_owned(), runs: runs.iter().collect() }
}

/// A new kernel with later wake-ups and another configuration.
pub(crate) fn worse() -> ComparisonInput {
    let slower = Shape { mode_us: 7.1, tail_us: 3.4, ..LOADED };
    let mut a = runs(LOADED, 5, 21);
    for run in &mut a {
        run.manifest_mut().node.kernel_release = "6.12.43-rt12".to_owned();
    }
    let mut input = input(a, runs(slower, 5, 31));
    let mut before = Profile::default();
    before.kernel.config = [("CONFIG_HZ", "250"), ("CONFIG_E1000E", "y"), ("CONFIG_PREEMPT_RT", "y")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    before.sched.rt_runtime_us = Some(-1);
    let mut after = before.clone();
    after.kernel.config.insert("CONFIG_E1000E".to_owned(), "m".to_owned());
    after.kernel.config.insert("CONFIG_HZ".to_owned(), "1000".to_owned());
    after.sched.rt_runtime_us = Some(950_000);
    input.comparison.profiles = Some(compare::profile_differences(&before, &after));
    input
}

/// One run in each group: the result is about these runs, not about the settings.
pub(crate) fn single_runs() -> ComparisonInput {
    let faster = Shape { mode_us: 5.6, ..LOADED };
    input(runs(LOADED, 1, 41), runs(faster, 1, 51))
}

/// Too few repetitions for any verdict.
pub(crate) fn too_few() -> ComparisonInput {
    input(runs(LOADED, 3, 61), runs(LOADED, 3, 71))
}

/// A run that lost its priority.
pub(crate) fn invalid() -> ComparisonInput {
    let mut b = runs(LOADED, 4, 91);
    b[2].validity.add(ReasonCode::RtThrottled, "CPU 1, 3 times");
    input(runs(LOADED, 4, 81), b)
}

/// Clocks that are equally far from their reference, and on opposite sides of it: the pages must not show them alike.
pub(crate) fn clocks() -> ComparisonInput {
    input(vec![crate::clocks::about("behind", -50_000.0, 1)], vec![crate::clocks::about("ahead", 50_000.0, 2)])
}
