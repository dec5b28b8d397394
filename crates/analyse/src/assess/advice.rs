//! What to change, ranked by how many of the samples beyond the deadline a change would remove.
//!
//! Causes that were shown come before likely ones, and those before findings about settings that no measurement supports.
//! A cause found in too few samples is not ranked. If the deadline holds, samples beyond half of it count instead: there is
//! advice only while the margin is small.

use std::path::Path;

use record::{CauseClass, CauseTotal, Certainty, Explanation, Owner, Reason, ReasonCode, Record, ValidityState};
use units::{approx_f64, format};

use super::part::{Judged, Part, above};
use super::relevance::{Seen, findings_about};
use super::{AssessmentInput, latency, lowered, span};
use crate::cause::{self, IdleStates, remedy};
use crate::rhythm::log_binomial_above;
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
pub(super) fn changes(answer: Answer, input: &AssessmentInput<'_>, runs: &[Judged<'_>]) -> Vec<Change> {
    let limit = Limit::for_answer(answer, input.deadline_ns);
    let mut ranked: Vec<Change> = by_cause(&limit, input, runs);
    ranked.extend(idle_states(&limit, input));
    let rank = |change: &Change| (change.sureness, std::cmp::Reverse(order(change.removes_share_of_beyond)));
    ranked.sort_by_key(|change| (rank(change), std::cmp::Reverse(change.worst_ns)));
    let mut changes: Vec<Change> =
        permission(runs).into_iter().chain(validity_fixes(answer, input)).chain(ranked).collect();
    let seen = Seen::from_runs(&limit, input, runs);
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

/// The latency beyond which a sample counts for advice: the deadline, or half of it.
pub(super) struct Limit {
    pub(super) ns: u64,
    /// The limit in words, to follow "beyond".
    pub(super) words: String,
    is_deadline: bool,
}

impl Limit {
    fn for_answer(answer: Answer, deadline_ns: u64) -> Self {
        match answer {
            Answer::DoesNotHold => Self { ns: deadline_ns, words: span(deadline_ns), is_deadline: true },
            Answer::Holds | Answer::CannotBeTold => {
                let words = format!("half of {}", span(deadline_ns));
                Self { ns: deadline_ns / 2, words, is_deadline: false }
            }
        }
    }

    /// The number of explained samples of a cause beyond the limit.
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
        // Records without a histogram for each cause still list the worst samples of all causes one by one.
        let has_cause = |sample: &&record::ExplainedSample| {
            (sample.class, &sample.name, sample.owner) == (cause.class, &cause.name, cause.owner)
        };
        let is_beyond = |sample: &&record::ExplainedSample| u64::try_from(sample.latency_ns).unwrap_or(0) > self.ns;
        let kept = explanation.samples.iter().filter(has_cause).filter(is_beyond).count();
        u64::try_from(kept).unwrap_or(u64::MAX)
    }

    /// The number of explained samples beyond the limit, for all causes together.
    pub(super) fn beyond_in_all(&self, explanation: &Explanation) -> u64 {
        units::total(explanation.causes.iter().map(|cause| self.beyond(cause, explanation)))
    }
}

/// The estimated effect of removing one cause, over all parts of the assessment.
struct Effect<'a> {
    cause: &'a CauseTotal,
    owner: Owner,
    certainty: Certainty,
    /// Explained samples beyond the limit with this cause.
    found: u64,
    /// All explained samples beyond the limit in the parts where the cause was found.
    explained: u64,
    /// The estimated number of samples beyond the limit that have this cause, explained or not.
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
        let explained = limit.beyond_in_all(explanation);
        for cause in explanation.causes.iter().filter(|cause| cause.certainty != Certainty::Unknown) {
            let found = limit.beyond(cause, explanation);
            let owner = owner_of(cause, run.record);
            if found == 0 || owner == Owner::Instrument {
                continue;
            }
            let removes = approx_f64(above(run.record, limit.ns)) * approx_f64(found) / approx_f64(explained.max(1));
            let worst_ns = u64::try_from(cause.worst_ns).unwrap_or(0);
            let is_same = |effect: &&mut Effect<'_>| {
                (effect.cause.class, &effect.cause.name, effect.owner) == (cause.class, &cause.name, owner)
            };
            match effects.iter_mut().find(is_same) {
                Some(effect) => {
                    effect.certainty = effect.certainty.max(cause.certainty);
                    effect.found = effect.found.saturating_add(found);
                    effect.explained = effect.explained.saturating_add(explained);
                    effect.removes += removes;
                    effect.worst_ns = effect.worst_ns.max(worst_ns);
                    effect.when.push(&run.when);
                }
                None => effects.push(Effect {
                    cause,
                    owner,
                    certainty: cause.certainty,
                    found,
                    explained,
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

/// The change that acts on a cause. `beyond`: the number of all samples beyond the limit, and the parts that it covers, in words.
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
            format::count(effect.explained),
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

/// A share (0 to 1) in whole percent, at least 1 unless it is zero.
fn percent(share: f64) -> u64 {
    units::round_u64(share * 100.0).max(u64::from(share > 0.0))
}

/// The owner of a cause's thread: as recorded, or found by the names of the load's programs, because threads of the load can end
/// before they are looked up. Threads of this program live as long as the run; others with the same names are another run's.
fn owner_of(cause: &CauseTotal, record: &Record) -> Owner {
    let is_thread = matches!(
        cause.class,
        CauseClass::Thread | CauseClass::InterruptsOff | CauseClass::PreemptionOff | CauseClass::Throttle
    );
    if !cause.owner.is_other() || !is_thread {
        return cause.owner;
    }
    // The cause's name is the thread's name followed by " (policy priority)".
    let thread = cause.name.rsplit_once(" (").map_or(cause.name.as_str(), |(thread, _)| thread);
    let started_thread = |command: &Vec<String>| {
        let program = command.first().and_then(|path| Path::new(path).file_name()).and_then(|name| name.to_str());
        program.is_some_and(|program| is_thread_of(program, thread))
    };
    if record.manifest().load.commands.iter().any(started_thread) { Owner::Load } else { Owner::Other }
}

/// Bytes of a thread's name that the kernel keeps (`TASK_COMM_LEN` in include/linux/sched.h, less the terminating zero).
const THREAD_NAME_BYTES: usize = 15;

/// Whether a thread has the name of a load's program, as truncated by the kernel. stress-ng renames its workers.
fn is_thread_of(program: &str, thread: &str) -> bool {
    let kept = &program.as_bytes()[..program.len().min(THREAD_NAME_BYTES)];
    (!kept.is_empty() && kept == thread.as_bytes()) || (program == "stress-ng" && thread.starts_with("stress-ng-"))
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
fn idle_states(limit: &Limit, input: &AssessmentInput<'_>) -> Option<Change> {
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
    let (above_idle, above_held) = (above(idle, limit.ns), above(held, limit.ns));
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

/// Whether a bound in /dev/cpu_dma_latency kept the CPUs out of deep idle states during a run.
pub(super) fn was_limited(record: &Record) -> bool {
    record.manifest().dma_latency.effective_us.is_some_and(|us| u64::from(us) <= cause::DEEP_EXIT_US)
}

/// The estimated number of an idle run's samples beyond the limit that have no known cause other than idle states.
fn open_to_idle_states(limit: &Limit, idle: &Record, above_idle: u64) -> f64 {
    let Some(explanation) = idle.explanation() else { return approx_f64(above_idle) };
    let explained = limit.beyond_in_all(explanation);
    if explained == 0 {
        return approx_f64(above_idle);
    }
    let is_open = |cause: &&CauseTotal| matches!(cause.class, CauseClass::Unknown | CauseClass::IdleExit);
    let open = units::total(explanation.causes.iter().filter(is_open).map(|cause| limit.beyond(cause, explanation)));
    approx_f64(above_idle) * approx_f64(open) / approx_f64(explained)
}

/// The steal time of a run's measured CPUs as a share of the run's length (0 to 1).
fn steal_share(record: &Record) -> f64 {
    let steal_ns = units::total(record.series.iter().filter_map(|series| series.counters.steal_ns));
    approx_f64(steal_ns) / approx_f64(record.measured_ns().max(1))
}
