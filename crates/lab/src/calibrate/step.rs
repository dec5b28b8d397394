//! Steps of CLOCK_REALTIME: a run on that clock must report them and keep their intervals apart; a run on CLOCK_MONOTONIC
//! must not be affected.

use record::{ReasonCode, SpoiledInterval};

use super::check::{WALL_ERROR_NS, format_ns, shows_nothing};
use super::{Check, Evidence, INTERVAL_NS, StepRun};

/// Largest error of a step's size (ns): it is found by comparing two clocks, and reading both takes at most this long,
/// an interrupt in between included.
const STEP_ERROR_NS: i64 = 20_000;
/// How soon a step must be noticed (ns). The kernel wakes the drain when the clock is set, but the drain reads the
/// clocks a little later. Samples in between may still have the old wall time.
const NOTICED_WITHIN_NS: i64 = 20_000_000;

/// All checks about clock steps in one boot.
pub(super) fn checks(boot: &Evidence, baseline_ns: i64, checks: &mut Vec<Check>) {
    for (name, run) in
        [("monotonic", &boot.step_monotonic), ("forwards", &boot.step_forwards), ("backwards", &boot.step_backwards)]
    {
        wall_times(boot, name, run, checks);
    }
    for (name, run) in [("forwards", &boot.step_forwards), ("backwards", &boot.step_backwards)] {
        reported(boot, name, run, checks);
    }
    forwards(boot, baseline_ns, checks);
    let monotonic = &boot.step_monotonic;
    checks.push(Check::for_boot(
        boot,
        "step-monotonic: not noticed",
        !monotonic.record.validity.has(ReasonCode::ClockStepped) && shows_nothing(boot, &monotonic.record, baseline_ns),
        format!("longest {}", format_ns(monotonic.record.worst.first().map(|worst| worst.latency_ns))),
    ));
}

/// Checks that the record keeps the time of the step apart, and that alone, and reports its size and time.
fn reported(boot: &Evidence, name: &str, run: &StepRun, checks: &mut Vec<Check>) {
    let truth = &run.truth;
    let steps = &run.record.manifest().clock_steps;
    let found = match steps.as_slice() {
        [step] => {
            let error_ns = step.step_ns - truth.step_ns;
            let late_ns = step.noticed.monotonic.as_ns() - truth.before.monotonic.as_ns();
            let holds = error_ns.abs() <= STEP_ERROR_NS && (0..=NOTICED_WITHIN_NS).contains(&late_ns);
            (holds, format!("{error_ns:+} ns from the truth, noticed after {late_ns} ns"))
        }
        other => (false, format!("{} steps", other.len())),
    };
    checks.push(Check::for_boot(boot, format!("step-{name}: by how much and when"), found.0, found.1));
    let validity = &run.record.validity;
    let stretches: Vec<_> = run.record.series.iter().flat_map(|series| series.spoiled.stretches()).collect();
    let is_of_step = |one: &SpoiledInterval| one.reasons.iter().all(|reason| reason.code == ReasonCode::ClockStepped);
    checks.push(Check::for_boot(
        boot,
        format!("step-{name}: its intervals are kept apart"),
        matches!(&stretches[..], [one] if is_of_step(one)) && validity.has(ReasonCode::IntervalsSpoiled),
        format!("{} stretches, {}", stretches.len(), validity.state().word()),
    ));
}

/// Checks that samples before a step have the old wall time, and samples after it the new one.
fn wall_times(boot: &Evidence, name: &str, run: &StepRun, checks: &mut Vec<Check>) {
    let truth = &run.truth;
    let (mut before, mut after, mut worst_ns) = (0, 0, 0);
    for at in run.record.worst.iter().flat_map(|sample| [sample.from.at, sample.to.at]) {
        let reference = if at.monotonic.as_ns() <= truth.before.monotonic.as_ns() {
            before += 1;
            truth.before
        } else if at.monotonic.as_ns() > truth.after.monotonic.as_ns() + NOTICED_WITHIN_NS {
            after += 1;
            truth.after
        } else {
            continue;
        };
        let error_ns =
            (at.realtime.as_ns() - at.monotonic.as_ns()) - (reference.realtime.as_ns() - reference.monotonic.as_ns());
        if error_ns.abs() > i64::abs(worst_ns) {
            worst_ns = error_ns;
        }
    }
    checks.push(Check::for_boot(
        boot,
        format!("step-{name}: wall times before and after"),
        before + after > 0 && worst_ns.abs() <= WALL_ERROR_NS,
        format!("{before} before, {after} after, at most {worst_ns:+} ns off"),
    ));
}

/// Checks that a step forwards makes one sample late: that of the first schedule after the step, by the skipped time.
///
/// The kernel may leave the timer at the moment for which it was programmed, up to one interval later. The injector
/// does not know when between its two readings the clock was set: a schedule between them may still have been on time.
fn forwards(boot: &Evidence, baseline_ns: i64, checks: &mut Vec<Check>) {
    let run = &boot.step_forwards;
    let spoiled = run.record.series.iter().flat_map(|series| &series.spoiled.intervals);
    let Some((worst_ns, at)) = spoiled.filter_map(|one| one.worst_ns.zip(one.worst_at)).max_by_key(|(ns, _)| *ns)
    else {
        checks.push(Check::for_boot(boot, "step-forwards: one late sample", false, "no sample"));
        return;
    };
    let scheduled_ns = at.realtime.as_ns() - worst_ns;
    let truth_ns = run.truth.before.realtime.as_ns() + run.truth.step_ns - scheduled_ns;
    let difference_ns = worst_ns - truth_ns;
    let latest_ns = run.truth.after.monotonic.as_ns() - run.truth.before.monotonic.as_ns() + INTERVAL_NS;
    let is_next = (0..=latest_ns).contains(&(scheduled_ns - run.truth.before.realtime.as_ns()));
    checks.push(Check::for_boot(
        boot,
        "step-forwards: one late sample",
        is_next && (0..=latest_ns + baseline_ns + STEP_ERROR_NS).contains(&difference_ns),
        format!("{worst_ns} ns, {difference_ns:+} from the truth"),
    ));
    // What stands has nothing of it.
    let stands_ns = run.record.worst.first().map_or(0, |worst| worst.latency_ns);
    checks.push(Check::for_boot(
        boot,
        "step-forwards: no other number has it",
        stands_ns < run.truth.step_ns / 2,
        format!("the worst that stands is {stands_ns} ns late"),
    ));
}
