//! What to change, ranked by how many of the samples beyond the deadline a change would remove.
//!
//! The counts are those of [`LateCauses`], which the table and the sentences draw too, and the rank is the share that it states:
//! the largest first. How certain a cause is stands beside it, and decides between equal shares. A cause found in too few samples is
//! not ranked. Findings about settings that no measurement supports come last. If the deadline holds, samples beyond half of it
//! count instead: there is advice only while the margin is small.

use analysis::cause::{DEEP_EXIT_US, IdleStates, remedy};
use analysis::rhythm::log_binomial_above;
use record::{CauseClass, Certainty, Owner, Reason, ReasonCode, Record, ValidityState};
use units::{approx_f64, format};

use super::late::{Counted, Limit};
use super::part::{Judged, Part};
use super::relevance::{CauseEvidence, findings_about};
use super::{AssessmentInput, latency, lowered};
use crate::late::{CountInRun, LateCause, LateCauses, LateRun, samples_above};
use crate::{Answer, Change};

/// The number of changes that are listed; the findings of `check` hold the rest.
const NAMED_CHANGES: usize = 3;
/// A cause has to be found in at least this many of the samples beyond the limit, or in all of them if there are fewer.
const LEAST_EXPLAINED: u64 = 3;
/// Two runs are compared by the share of their samples beyond a limit only if one has at least this many beyond it.
const LEAST_BEYOND: u64 = 10;
/// Each of the two runs needs at least this many samples.
const LEAST_COMPARED: u64 = 10_000;
/// The share has to be at least this many times smaller in the other run.
const LEAST_FACTOR: f64 = 2.0;
/// The probability that chance divides the samples this unequally between two equal runs has to be below this level.
/// Late samples come in bursts, so chance divides them more unequally than the binomial model says: hence the strict level.
const BY_CHANCE: f64 = 0.001;

/// The changes to recommend, the most promising first.
pub(super) fn changes(
    answer: Answer,
    input: &AssessmentInput<'_>,
    runs: &[Judged<'_>],
    counted: &Counted,
) -> Vec<Change> {
    let mut ranked = by_cause(input, runs, counted);
    if let Some(change) = idle_states(input, counted) {
        // The comparison of two runs covers what the exit from idle states was seen to do.
        ranked.retain(|other| other.finding != change.finding);
        ranked.push(change);
    }
    ranked.sort_by_key(|change| {
        let share = std::cmp::Reverse(order(change.removes_share_of_beyond));
        (share, change.sureness, std::cmp::Reverse(change.worst_ns))
    });
    // How far the order can be wrong stands once, with the first.
    let not_explained = &counted.causes.not_explained;
    if let Some(first) = ranked.first_mut().filter(|_| not_explained.samples > 0) {
        first.why.push_str(&format!("; {} are not explained", counted.causes.percent(not_explained)));
    }
    let mut changes: Vec<Change> =
        permission(runs).into_iter().chain(validity_fixes(answer, input)).chain(ranked).collect();
    let seen = CauseEvidence::from_runs(counted, input, runs);
    // A change that a measurement already recommends is not listed again for its finding.
    for change in input.changes.iter().filter(|change| seen.makes_relevant(change.finding.as_deref())) {
        if change.finding.is_none() || changes.iter().all(|named| named.finding != change.finding) {
            changes.push(change.clone());
        }
    }
    changes.truncate(NAMED_CHANGES);
    changes
}

/// A share (0 to 1) as an integer sort key; an unknown share is 0.
fn order(share: Option<f64>) -> u64 {
    units::round_u64(share.unwrap_or(0.0) * 1e9)
}

/// One change for each cause that was found often enough, the most frequent first. Two causes never count one sample, so their
/// shares add up.
fn by_cause(input: &AssessmentInput<'_>, runs: &[Judged<'_>], counted: &Counted) -> Vec<Change> {
    let is_one = runs.iter().filter(|run| !run.record.validity.is_invalid()).count() <= 1;
    let ranks = |cause: &&LateCause| {
        cause.owner != Owner::Instrument && cause.count.samples >= LEAST_EXPLAINED.min(counted.causes.total.max(1))
    };
    counted.causes.known.iter().filter(ranks).map(|cause| change(input, cause, counted, is_one)).collect()
}

/// The change that acts on a cause.
fn change(input: &AssessmentInput<'_>, cause: &LateCause, counted: &Counted, is_one_run: bool) -> Change {
    let causes = &counted.causes;
    let remedy = remedy(cause.class, &cause.name, cause.owner, &input.surroundings);
    let worst_ns = cause.count.worst_ns.map(|ns| u64::try_from(ns).unwrap_or(0));
    let up_to = worst_ns.map_or_else(String::new, |ns| format!(", of up to {}", latency(ns)));
    let runs = if is_one_run { String::new() } else { format!(" ({})", in_runs(&cause.count.runs)) };
    Change {
        title: format!("Act on what made wake-ups late: {}", cause.words()),
        why: format!(
            "measured here: it is the cause ({}) of {} of the {} wake-ups beyond {}, {}{up_to}{runs}",
            cause.certainty.word(),
            format::count(cause.count.samples),
            format::count(causes.total),
            counted.limit.words,
            causes.percent(&cause.count),
        ),
        how: vec![remedy.words],
        finding: remedy.finding.map(str::to_owned),
        removes_share_of_beyond: Some(causes.share(cause.count.samples)),
        worst_ns,
        sureness: Some(cause.certainty),
        basis_samples: Some(cause.count.samples),
    }
}

/// How many samples lie in which run: "12 idle, 30 under load 'paper'".
fn in_runs(runs: &[CountInRun]) -> String {
    let each: Vec<String> = runs.iter().map(|run| format!("{} {}", format::count(run.samples), run.when)).collect();
    each.join(", ")
}

/// A share (0 to 1) in whole percent, at least 1 unless it is zero.
fn percent(share: f64) -> u64 {
    units::round_u64(share * 100.0).max(u64::from(share > 0.0))
}

/// The change that grants real-time priority, if a run was refused it. It comes before all other changes.
fn permission(runs: &[Judged<'_>]) -> Option<Change> {
    let reason = runs
        .iter()
        .flat_map(|run| run.record.validity.reasons())
        .find(|reason| reason.code == ReasonCode::SchedulingNotGranted)?;
    Some(Change {
        title: "Give punctual the right to real-time priority".to_owned(),
        why: reason.detail.clone(),
        how: vec![
            "sudo setcap cap_sys_nice,cap_ipc_lock+ep \"$(command -v punctual)\"".to_owned(),
            "or run it as root".to_owned(),
        ],
        ..Change::default()
    })
}

/// If the answer is unknown, the changes that make the invalid parts valid: the remedy of each reason, and the findings of `check`
/// about it.
fn validity_fixes(answer: Answer, input: &AssessmentInput<'_>) -> Vec<Change> {
    if answer != Answer::CannotBeTold {
        return Vec::new();
    }
    let parts = [input.idle, input.held, input.loaded, input.noise];
    let mut reasons: Vec<&Reason> = Vec::new();
    for reason in parts.into_iter().filter_map(Part::record).flat_map(|record| record.validity.reasons()) {
        let is_new = reasons.iter().all(|other| other.code != reason.code);
        if is_new && reason.code.info().state == ValidityState::Invalid {
            reasons.push(reason);
        }
    }
    let mut changes: Vec<Change> = Vec::new();
    for reason in reasons {
        let about = findings_about(reason.code);
        let is_about = |change: &&Change| change.finding.as_deref().is_some_and(|finding| about.contains(&finding));
        let is_named = |change: &&Change| changes.iter().any(|named| named.finding == change.finding);
        let found: Vec<Change> =
            input.changes.iter().filter(is_about).filter(|change| !is_named(change)).cloned().collect();
        // `permission` has already put the remedy of a refused priority first.
        if reason.code != ReasonCode::SchedulingNotGranted {
            let info = reason.code.info();
            changes.push(Change {
                title: "Make the run valid".to_owned(),
                why: format!("{}: {}", lowered(info.meaning.trim().trim_end_matches('.')), reason.detail),
                how: vec![info.remedy.to_owned()],
                finding: about.first().filter(|_| found.is_empty()).map(|finding| (*finding).to_owned()),
                ..Change::default()
            });
        }
        changes.extend(found);
    }
    changes
}

/// The change that disables deep idle states, if so few samples were beyond the limit without them that chance hardly explains it.
///
/// Its share counts only samples that no other cause accounts for, so that it and the shares of other causes add up to 100 % at
/// most.
fn idle_states(input: &AssessmentInput<'_>, counted: &Counted) -> Option<Change> {
    let limit = &counted.limit;
    let (idle, held) = (input.idle.record()?, input.held.record()?);
    let is_usable = |record: &Record| {
        !record.validity.is_invalid() && record.shortfall().is_none() && record.samples() >= LEAST_COMPARED
    };
    if input.surroundings.idle_states == IdleStates::Disabled
        || was_limited(idle)
        || !is_usable(idle)
        || !is_usable(held)
    {
        return None;
    }
    // If the host took much more time in one run than in the other, the difference is not due to idle states.
    if steal_share(idle) > LEAST_FACTOR * steal_share(held) {
        return None;
    }
    let (above_idle, above_held) = (samples_above(idle, limit.ns), samples_above(held, limit.ns));
    let rate = |above: u64, record: &Record| approx_f64(above) / approx_f64(record.samples().max(1));
    let (rate_idle, rate_held) = (rate(above_idle, idle), rate(above_held, held));
    if above_idle < LEAST_BEYOND || rate_idle < LEAST_FACTOR * rate_held {
        return None;
    }
    // If the runs were equal, a sample beyond the limit would be in the idle run with the probability of its share of all samples.
    let idle_share = approx_f64(idle.samples()) / approx_f64(idle.samples().saturating_add(held.samples()));
    let above_both = approx_f64(above_idle.saturating_add(above_held));
    if log_binomial_above(above_both, approx_f64(above_idle), idle_share) > BY_CHANCE.ln() {
        return None;
    }
    let gone = units::round_u64((1.0 - rate_held / rate_idle) * approx_f64(above_idle));
    let removes = gone.min(open_to_idle_states(limit, idle));
    let share = counted.causes.share(removes);
    (removes >= LEAST_BEYOND).then(|| Change {
        title: "Keep the CPUs out of deep idle states".to_owned(),
        why: format!(
            "measured here: {} of {} idle wake-ups were beyond {}, {} of {} with idle states disabled; that would remove about \
             {} % of all {} beyond it (an estimate from one run each: repeat before relying on it)",
            format::count(above_idle),
            format::count(idle.samples()),
            limit.words,
            format::count(above_held),
            format::count(held.samples()),
            percent(share),
            format::count(counted.causes.total)
        ),
        how: vec![
            "hold /dev/cpu_dma_latency at 0 while the application runs, or disable single states under /sys/devices/system/cpu/cpu*/cpuidle".to_owned(),
        ],
        finding: Some("deep-idle-states".to_owned()),
        removes_share_of_beyond: Some(share),
        worst_ns: idle.worst_of_all().map(|(worst_ns, _)| worst_ns.unsigned_abs()),
        sureness: Some(Certainty::Likely),
        basis_samples: Some(above_idle),
    })
}

/// Whether a bound in /dev/cpu_dma_latency kept the CPUs out of deep idle states during a run.
pub(super) fn was_limited(record: &Record) -> bool {
    record.manifest().dma_latency.effective_us.is_some_and(|us| u64::from(us) <= DEEP_EXIT_US)
}

/// The number of an idle run's samples beyond the limit for which no cause was found other than the exit from an idle state.
fn open_to_idle_states(limit: &Limit, idle: &Record) -> u64 {
    let run = LateRun { record: idle, when: "", limit_ns: Some(limit.ns) };
    let causes = LateCauses::over(&[run]);
    let others = causes.known.iter().filter(|cause| cause.class != CauseClass::IdleExit);
    causes.total.saturating_sub(units::total(others.map(|cause| cause.count.samples)))
}

/// The steal time of a run's measured CPUs as a share of the run's length (0 to 1).
fn steal_share(record: &Record) -> f64 {
    let steal_ns = units::total(record.series.iter().filter_map(|series| series.counters.steal_ns));
    approx_f64(steal_ns) / approx_f64(record.measured_ns().max(1))
}
