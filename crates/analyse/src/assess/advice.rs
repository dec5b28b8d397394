//! What to change, ranked by what the deadline needs: how many of the samples beyond it a change would remove.
//!
//! Causes that were shown come before likely ones, and those before findings about settings that nothing measured speaks for.
//! What rests on too few samples does not rank. Where the deadline holds, samples beyond half of it count instead: there is
//! advice while the margin is small, and none where it is not.

use std::path::Path;

use record::{CauseClass, CauseTotal, Certainty, Explanation, Owner, Reason, ReasonCode, Record, ValidityState};
use units::{approx_f64, format};

use super::part::{Judged, Part, above};
use super::relevance::{Seen, findings_about};
use super::{AssessmentInput, latency, lowered, span};
use crate::cause::{self, IdleStates, remedy};
use crate::rhythm::log_binomial_above;
use crate::{Answer, Change};

/// Changes that are named; the findings hold the rest.
const NAMED_CHANGES: usize = 3;
/// A cause has to have been found in so many of the samples that count, or in all of them where there are fewer.
const LEAST_EXPLAINED: u64 = 3;
/// To compare two runs by the share of their samples beyond a limit, one needs so many beyond it,
const LEAST_BEYOND: u64 = 10;
/// each so many samples,
const LEAST_COMPARED: u64 = 10_000;
/// the share has to be so many times smaller in the other,
const LEAST_FACTOR: f64 = 2.0;
/// and chance alone has to divide them as unequally between two equal runs more rarely than this. Late samples come in bursts, so
/// that chance divides them more unequally than is reckoned here: hence no larger number.
const BY_CHANCE: f64 = 0.001;

/// What to change, the most promising first.
pub(super) fn changes(answer: Answer, input: &AssessmentInput<'_>, runs: &[Judged<'_>]) -> Vec<Change> {
    let limit = Limit::of(answer, input.deadline_ns);
    let mut ranked: Vec<Change> = by_cause(&limit, input, runs);
    ranked.extend(idle_states(&limit, input));
    let rank = |change: &Change| (change.sureness, std::cmp::Reverse(order(change.removes_share_of_beyond)));
    ranked.sort_by_key(|change| (rank(change), std::cmp::Reverse(change.worst_ns)));
    let mut changes: Vec<Change> = permission(runs).into_iter().chain(mending(answer, input)).chain(ranked).collect();
    let seen = Seen::of(&limit, input, runs);
    // A named change is not named twice, by measurement and by finding.
    for change in input.changes.iter().filter(|change| seen.makes_relevant(change.finding.as_deref())) {
        if change.finding.is_none() || changes.iter().all(|named| named.finding != change.finding) {
            changes.push(change.clone());
        }
    }
    changes.truncate(NAMED_CHANGES);
    changes
}

/// A share (0 to 1) as a number that can be ordered.
fn order(share: Option<f64>) -> u64 {
    units::round_u64(share.unwrap_or(0.0) * 1e9)
}

/// Beyond what a sample counts for advice.
pub(super) struct Limit {
    /// The latency (ns).
    pub(super) ns: u64,
    /// In words, as behind "beyond".
    pub(super) words: String,
    is_deadline: bool,
}

impl Limit {
    fn of(answer: Answer, deadline_ns: u64) -> Self {
        match answer {
            Answer::DoesNotHold => Self { ns: deadline_ns, words: span(deadline_ns), is_deadline: true },
            Answer::Holds | Answer::CannotBeTold => {
                let words = format!("half of {}", span(deadline_ns));
                Self { ns: deadline_ns / 2, words, is_deadline: false }
            }
        }
    }

    /// Explained samples of a cause beyond it.
    pub(super) fn beyond(&self, cause: &CauseTotal, explanation: &Explanation) -> u64 {
        if u64::try_from(cause.worst_ns).unwrap_or(0) <= self.ns {
            return 0;
        }
        if let Some(beyond) = cause.beyond_deadline.filter(|_| self.is_deadline) {
            return beyond;
        }
        if !cause.latencies.is_empty() {
            return cause.latencies.count_above(self.ns);
        }
        // Where their latencies were not kept, the worst samples of all causes were, one by one.
        let is_of = |sample: &&record::ExplainedSample| {
            (sample.class, &sample.name, sample.owner) == (cause.class, &cause.name, cause.owner)
        };
        let is_beyond = |sample: &&record::ExplainedSample| u64::try_from(sample.latency_ns).unwrap_or(0) > self.ns;
        let kept = explanation.samples.iter().filter(is_of).filter(is_beyond).count();
        u64::try_from(kept).unwrap_or(u64::MAX)
    }

    /// Explained samples beyond it, whatever their cause.
    pub(super) fn beyond_in_all(&self, explanation: &Explanation) -> u64 {
        units::total(explanation.causes.iter().map(|cause| self.beyond(cause, explanation)))
    }
}

/// What removing a cause would do, over all parts.
struct Effect<'a> {
    cause: &'a CauseTotal,
    owner: Owner,
    certainty: Certainty,
    /// Explained samples of it beyond the limit.
    found: u64,
    /// Of so many explained beyond it, in the parts that it was found in.
    of: u64,
    /// About how many samples beyond the limit it stands for.
    removes: f64,
    worst_ns: u64,
    when: Vec<&'a str>,
}

/// One change for each cause, in any order.
fn by_cause(limit: &Limit, input: &AssessmentInput<'_>, runs: &[Judged<'_>]) -> Vec<Change> {
    let valid = || runs.iter().filter(|run| !run.record.validity.is_invalid());
    let above_all = units::total(valid().map(|run| above(run.record, limit.ns)));
    let mut effects: Vec<Effect<'_>> = Vec::new();
    for run in valid() {
        let Some(explanation) = run.record.explanation() else { continue };
        let of = limit.beyond_in_all(explanation);
        for cause in explanation.causes.iter().filter(|cause| cause.certainty != Certainty::Unknown) {
            let found = limit.beyond(cause, explanation);
            let owner = owner_of(cause, run.record);
            if found == 0 || owner == Owner::Instrument {
                continue;
            }
            let removes = approx_f64(above(run.record, limit.ns)) * approx_f64(found) / approx_f64(of.max(1));
            let worst_ns = u64::try_from(cause.worst_ns).unwrap_or(0);
            let is_same = |effect: &&mut Effect<'_>| {
                (effect.cause.class, &effect.cause.name, effect.owner) == (cause.class, &cause.name, owner)
            };
            match effects.iter_mut().find(is_same) {
                Some(effect) => {
                    effect.certainty = effect.certainty.max(cause.certainty);
                    effect.found = effect.found.saturating_add(found);
                    effect.of = effect.of.saturating_add(of);
                    effect.removes += removes;
                    effect.worst_ns = effect.worst_ns.max(worst_ns);
                    effect.when.push(&run.when);
                }
                None => effects.push(Effect {
                    cause,
                    owner,
                    certainty: cause.certainty,
                    found,
                    of,
                    removes,
                    worst_ns,
                    when: vec![&run.when],
                }),
            }
        }
    }
    let ranks = |effect: &Effect<'_>| effect.found >= LEAST_EXPLAINED.min(above_all.max(1));
    let parts =
        if runs.iter().all(|run| !run.record.validity.is_invalid()) { "every part" } else { "every valid part" };
    effects.into_iter().filter(ranks).map(|effect| change(limit, input, &effect, (above_all, parts))).collect()
}

/// `beyond` are all samples beyond the limit, and the parts that they are of, in words.
fn change(limit: &Limit, input: &AssessmentInput<'_>, effect: &Effect<'_>, beyond: (u64, &str)) -> Change {
    let (above_all, parts) = beyond;
    let share = (effect.removes / approx_f64(above_all.max(1))).min(1.0);
    let remedy = remedy(effect.cause.class, &effect.cause.name, effect.owner, &input.surroundings);
    Change {
        title: format!("Act on what made the worst late: {}", cause::words(effect.cause)),
        why: format!(
            "measured here: {} it is the cause ({}) of {} of the {} wake-ups beyond {} that were looked at, of up to {}; \
             of all {} beyond it, in {parts}, about {} % would be gone without it",
            effect.when.join(" and "),
            effect.certainty.word(),
            format::count(effect.found),
            format::count(effect.of),
            limit.words,
            latency(effect.worst_ns),
            format::count(above_all),
            percent(share)
        ),
        how: vec![remedy.words],
        finding: remedy.finding.map(str::to_owned),
        removes_share_of_beyond: Some(share),
        worst_ns: Some(effect.worst_ns),
        sureness: Some(effect.certainty),
        basis_samples: Some(effect.found),
    }
}

/// A share in whole hundredths, one at the least where there is any.
fn percent(share: f64) -> u64 {
    units::round_u64(share * 100.0).max(u64::from(share > 0.0))
}

/// Whose the thread of a cause is: as recorded, or by the names of the load's programs, whose threads can have ended before they
/// were asked about. This program's own live as long as the run does; others with their names are another measurement's.
fn owner_of(cause: &CauseTotal, record: &Record) -> Owner {
    let is_thread = matches!(
        cause.class,
        CauseClass::Thread | CauseClass::InterruptsOff | CauseClass::PreemptionOff | CauseClass::Throttle
    );
    if !cause.owner.is_other() || !is_thread {
        return cause.owner;
    }
    // Policy and priority stand behind the thread's name.
    let thread = cause.name.rsplit_once(" (").map_or(cause.name.as_str(), |(thread, _)| thread);
    let of_load = |command: &Vec<String>| {
        let program = command.first().and_then(|path| Path::new(path).file_name()).and_then(|name| name.to_str());
        program.is_some_and(|program| is_thread_of(program, thread))
    };
    if record.manifest().load.commands.iter().any(of_load) { Owner::Load } else { Owner::Other }
}

/// Bytes of a thread's name that the kernel keeps (`TASK_COMM_LEN`, include/linux/sched.h, less the end).
const THREAD_NAME_BYTES: usize = 15;

/// Whether a thread bears the name of a load's program, as far as the kernel keeps it. stress-ng renames its workers.
fn is_thread_of(program: &str, thread: &str) -> bool {
    let kept = &program.as_bytes()[..program.len().min(THREAD_NAME_BYTES)];
    (!kept.is_empty() && kept == thread.as_bytes()) || (program == "stress-ng" && thread.starts_with("stress-ng-"))
}

/// Real-time priority comes before everything else.
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

/// What makes invalid parts valid, where they may be why it cannot be told: what each of their reasons asks for, and the findings
/// of `check` that are about it.
fn mending(answer: Answer, input: &AssessmentInput<'_>) -> Vec<Change> {
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
        // What a refused priority asks for comes before everything else already (`permission`).
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

/// Idle states, where so many fewer samples were beyond the limit with them disabled that chance alone hardly explains it.
fn idle_states(limit: &Limit, input: &AssessmentInput<'_>) -> Option<Change> {
    let (idle, held) = (input.idle.record()?, input.held.record()?);
    let speaks = |record: &Record| {
        !record.validity.is_invalid() && record.shortfall().is_none() && record.samples() >= LEAST_COMPARED
    };
    if input.surroundings.idle_states == IdleStates::Disabled || was_limited(idle) || !speaks(idle) || !speaks(held) {
        return None;
    }
    // What the host took in one run and not in the other is no difference of idle states.
    if steal_share(idle) > LEAST_FACTOR * steal_share(held) {
        return None;
    }
    let (above_idle, above_held) = (above(idle, limit.ns), above(held, limit.ns));
    let rate = |above: u64, record: &Record| approx_f64(above) / approx_f64(record.samples().max(1));
    let (rate_idle, rate_held) = (rate(above_idle, idle), rate(above_held, held));
    if above_idle < LEAST_BEYOND || rate_idle < LEAST_FACTOR * rate_held {
        return None;
    }
    // Were the runs alike, each sample beyond the limit would fall into the idle one with its share of all samples.
    let idle_share = approx_f64(idle.samples()) / approx_f64(idle.samples().saturating_add(held.samples()));
    let above_both = approx_f64(above_idle.saturating_add(above_held));
    if log_binomial_above(above_both, approx_f64(above_idle), idle_share) > BY_CHANCE.ln() {
        return None;
    }
    let removes =
        ((1.0 - rate_held / rate_idle) * approx_f64(above_idle)).min(open_to_idle_states(limit, idle, above_idle));
    let others = input.loaded.record().filter(|record| !record.validity.is_invalid());
    let above_all = units::total([above_idle, above_held, others.map_or(0, |record| above(record, limit.ns))]);
    let share = removes / approx_f64(above_all.max(1));
    (units::round_u64(removes) >= LEAST_BEYOND).then(|| Change {
        title: "Keep the CPUs out of deep idle states".to_owned(),
        why: format!(
            "measured here: {} of {} idle wake-ups were beyond {}, {} of {} with idle states disabled; \
             that would remove about {} % of all that were beyond it (one run each, one after the other: repeat before relying on it)",
            format::count(above_idle),
            format::count(idle.samples()),
            limit.words,
            format::count(above_held),
            format::count(held.samples()),
            percent(share)
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

/// Whether a bound kept the CPUs out of deep idle states during a run.
pub(super) fn was_limited(record: &Record) -> bool {
    record.manifest().dma_latency.effective_us.is_some_and(|us| u64::from(us) <= cause::DEEP_EXIT_US)
}

/// How many of an idle run's samples beyond the limit no other cause is known for.
fn open_to_idle_states(limit: &Limit, idle: &Record, above_idle: u64) -> f64 {
    let Some(explanation) = idle.explanation() else { return approx_f64(above_idle) };
    let of = limit.beyond_in_all(explanation);
    if of == 0 {
        return approx_f64(above_idle);
    }
    let is_open = |cause: &&CauseTotal| matches!(cause.class, CauseClass::Unknown | CauseClass::IdleExit);
    let open = units::total(explanation.causes.iter().filter(is_open).map(|cause| limit.beyond(cause, explanation)));
    approx_f64(above_idle) * approx_f64(open) / approx_f64(of)
}

/// The share of its time that the host took from the measured CPUs of a run (0 to 1).
fn steal_share(record: &Record) -> f64 {
    let steal_ns = units::total(record.series.iter().filter_map(|series| series.counters.steal_ns));
    approx_f64(steal_ns) / approx_f64(record.measured_ns().max(1))
}
