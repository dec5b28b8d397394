//! Draws the conclusion of `assess` from its runs.

use record::{ReasonCode, Record, ValidityState};
use units::format;

use crate::{Answer, Assessment, Change, cause};

/// How much better the held run must be before idle states are named: by this factor and by this time.
const HELD_FACTOR: f64 = 1.3;
const HELD_GAIN_NS: u64 = 3_000;
/// Changes that are named; the findings hold the rest.
const NAMED_CHANGES: usize = 3;

/// What the conclusion is drawn from.
#[derive(Clone, Debug)]
pub struct AssessmentInput<'a> {
    /// The limit (ns).
    pub deadline_ns: u64,
    /// Wake-ups with nothing else to do.
    pub idle: &'a Record,
    /// Wake-ups with nothing else to do and idle states held off, where that was possible.
    pub held: Option<&'a Record>,
    /// Wake-ups under load, or why there are none.
    pub loaded: Result<&'a Record, &'a str>,
    /// Gaps of a thread that never sleeps.
    pub noise: Option<&'a Record>,
    /// What the findings would change, the most severe first.
    pub changes: Vec<Change>,
}

/// One run held against the deadline.
struct Judged<'a> {
    record: &'a Record,
    when: String,
    worst_ns: u64,
    cpu: Option<u32>,
    samples: u64,
    beyond: u64,
    missed: u64,
    typical_ns: u64,
}

impl<'a> Judged<'a> {
    fn of(record: &'a Record, when: String, deadline_ns: u64) -> Option<Self> {
        let (worst_ns, cpu) = record.worst_of_all()?;
        let mut all = record::Histogram::new();
        record.series.iter().for_each(|series| all.merge(&series.histogram));
        Some(Self {
            record,
            when,
            worst_ns,
            cpu,
            samples: record.samples(),
            beyond: units::total(record.series.iter().map(|series| series.histogram.count_above(deadline_ns))),
            missed: units::total(record.series.iter().map(|series| series.counters.missed_periods)),
            typical_ns: all.quantile_ns(0.999).unwrap_or(0),
        })
    }

    fn line(&self) -> String {
        let place = self.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
        let mut text = format!(
            "{}: worst {}{place}, 99.9 % within {}, of {} wake-ups",
            capitalised(&self.when),
            latency(self.worst_ns),
            latency(self.typical_ns),
            format::count(self.samples)
        );
        if self.beyond > 0 {
            text.push_str(&format!("; {} beyond the deadline", format::count(self.beyond)));
        }
        if self.missed > 0 {
            text.push_str(&format!(", {} periods missed", format::count(self.missed)));
        }
        text.push('.');
        text
    }
}

fn latency(ns: u64) -> String {
    format::latency(i64::try_from(ns).unwrap_or(i64::MAX))
}

fn span(ns: u64) -> String {
    format::span(i64::try_from(ns).unwrap_or(i64::MAX))
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn lowered(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// Concludes.
#[must_use]
pub fn assess(input: &AssessmentInput<'_>) -> Assessment {
    let deadline_ns = input.deadline_ns;
    let idle = Judged::of(input.idle, "idle".to_owned(), deadline_ns);
    let loaded = input
        .loaded
        .ok()
        .and_then(|record| Judged::of(record, format!("under load '{}'", record.manifest.load.name), deadline_ns));
    let runs: Vec<&Judged<'_>> = idle.iter().chain(&loaded).collect();
    let invalid = runs.iter().find(|run| run.record.validity.is_invalid());
    let cpus = &input.idle.manifest.requested.cpus;
    let limit = span(deadline_ns);
    let worst = runs.iter().max_by_key(|run| run.worst_ns);

    let (answer, sentence) = match (invalid, worst) {
        (Some(run), _) => {
            let why = run.record.validity.reasons().first().map_or("", |reason| reason.code.info().meaning);
            let sentence = format!(
                "Cannot be told whether CPU {cpus} holds {limit}: the run {} is invalid. {}",
                run.when,
                why.trim()
            );
            (Answer::CannotBeTold, sentence)
        }
        (None, None) => {
            (Answer::CannotBeTold, format!("Cannot be told whether CPU {cpus} holds {limit}: no wake-up was measured."))
        }
        (None, Some(worst)) if worst.beyond > 0 => {
            let place = worst.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
            let beyond = units::total(runs.iter().map(|run| run.beyond));
            let samples = units::total(runs.iter().map(|run| run.samples));
            let sentence = format!(
                "Does not hold {limit} on CPU {cpus}: worst wake-up {}{place} {}, {} of {} beyond it.",
                latency(worst.worst_ns),
                worst.when,
                format::count(beyond),
                format::count(samples)
            );
            (Answer::DoesNotHold, sentence)
        }
        (None, Some(worst)) => match input.loaded {
            Err(why) => (
                Answer::CannotBeTold,
                format!(
                    "Cannot be told whether CPU {cpus} holds {limit} under load: {why}. Idle it does, with a worst of {}.",
                    latency(worst.worst_ns)
                ),
            ),
            Ok(_) => {
                let samples = units::total(runs.iter().map(|run| run.samples));
                let sentence = format!(
                    "Holds {limit} on CPU {cpus}: worst of {} wake-ups {} {}.",
                    format::count(samples),
                    latency(worst.worst_ns),
                    worst.when
                );
                (Answer::Holds, sentence)
            }
        },
    };

    let mut lines: Vec<String> = runs.iter().map(|run| run.line()).collect();
    if let Err(why) = input.loaded {
        lines.push(format!("Under load: not measured, because {why}."));
    }
    let idle_states = idle.as_ref().zip(input.held).and_then(|(idle, held)| idle_states(idle, held, deadline_ns));
    lines.push(spoilers(&runs, input.noise));
    lines.push(trust(&runs));

    let mut changes = Vec::new();
    changes.extend(permission(&runs));
    changes.extend(idle_states);
    // What was seen at work comes before what could be.
    if let Some(worst) = worst.filter(|run| !run.record.validity.is_invalid()) {
        changes
            .extend(worst.record.explanation.as_ref().and_then(|explanation| cause::change(explanation, &worst.when)));
    }
    // A named change is not named twice, by measurement and by finding.
    let measured: Vec<Option<String>> = changes.iter().map(|change| change.finding.clone()).collect();
    changes.extend(
        input.changes.iter().filter(|change| change.finding.is_none() || !measured.contains(&change.finding)).cloned(),
    );
    changes.truncate(NAMED_CHANGES);
    Assessment { deadline_ns, answer, sentence, lines, changes, claim: None }
}

/// What the machine itself says took time away.
fn spoilers(runs: &[&Judged<'_>], noise: Option<&Record>) -> String {
    let mut parts = Vec::new();
    let counters = || runs.iter().flat_map(|run| &run.record.series).map(|series| &series.counters);
    let steal_ns = units::total(counters().filter_map(|counters| counters.steal_ns));
    if steal_ns > 0 {
        parts.push(format!("the hypervisor took {} away from the measured CPUs", span(steal_ns)));
    }
    let smi = units::total(counters().filter_map(|counters| counters.smi));
    if smi > 0 {
        parts.push(format!("firmware interrupted {} times (SMI)", format::count(smi)));
    }
    let explained = |run: &&Judged<'_>| cause::clause(run.record.explanation.as_ref()?, &run.when);
    parts.extend(runs.iter().filter_map(explained));
    parts.extend(runs.iter().filter_map(|run| crate::rhythm::clause(run.record, &run.when)));
    if let Some((gap_ns, cpu)) = noise.and_then(Record::worst_of_all) {
        let place = cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
        parts.push(format!("a thread that never sleeps was kept waiting for up to {}{place}", latency(gap_ns)));
    }
    if parts.is_empty() {
        return "What spoils it: nothing was seen that took time away.".to_owned();
    }
    format!("What spoils it: {}.", parts.join("; "))
}

/// How far the numbers can be trusted, in one line.
fn trust(runs: &[&Judged<'_>]) -> String {
    let state = runs.iter().map(|run| run.record.validity.state()).max().unwrap_or(ValidityState::Invalid);
    let mut reasons: Vec<ReasonCode> = Vec::new();
    for reason in runs.iter().flat_map(|run| run.record.validity.reasons()) {
        if reason.code.info().state == state && !reasons.contains(&reason.code) {
            reasons.push(reason.code);
        }
    }
    let measured_ns = runs
        .iter()
        .map(|run| &run.record.manifest)
        .map(|manifest| manifest.ended.monotonic_ns.saturating_sub(manifest.started.monotonic_ns))
        .fold(0, i64::saturating_add);
    let why = reasons
        .iter()
        .map(|code| lowered(code.info().meaning.trim().trim_end_matches('.')))
        .collect::<Vec<_>>()
        .join("; ");
    let caveat = if why.is_empty() { String::new() } else { format!(" ({why})") };
    format!(
        "Trust: {}{caveat}. It speaks of the {} that were measured, not of days.",
        state.word(),
        format::span(measured_ns)
    )
}

/// Real-time priority comes before everything else.
fn permission(runs: &[&Judged<'_>]) -> Option<Change> {
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
        finding: None,
    })
}

/// Idle states, where holding them off was seen to help.
fn idle_states(idle: &Judged<'_>, held: &Record, deadline_ns: u64) -> Option<Change> {
    if held.validity.is_invalid() || idle.record.validity.is_invalid() {
        return None;
    }
    let held = Judged::of(held, "held".to_owned(), deadline_ns)?;
    let helps = units::approx_f64(idle.typical_ns) > HELD_FACTOR * units::approx_f64(held.typical_ns)
        && idle.typical_ns.saturating_sub(held.typical_ns) > HELD_GAIN_NS;
    helps.then(|| Change {
        title: "Keep the CPUs out of deep idle states".to_owned(),
        why: format!(
            "measured here: 99.9 % of wake-ups came within {} with idle states held off, within {} without (one run each, one after the other: repeat before relying on it)",
            latency(held.typical_ns),
            latency(idle.typical_ns)
        ),
        how: vec![
            "hold /dev/cpu_dma_latency at 0 while the application runs, or disable single states under /sys/devices/system/cpu/cpu*/cpuidle".to_owned(),
        ],
        finding: Some("deep-idle-states".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use record::{LoadManifest, Measurement, Series, Validity};

    use super::*;
    use crate::tests_support::record_of;

    fn loaded(latencies_ns: &[u64]) -> Record {
        let mut record = record_of(Measurement::Wakeup, latencies_ns);
        record.manifest.load = LoadManifest { name: "paper".to_owned(), ..LoadManifest::default() };
        record
    }

    fn check(idle: &Record, load: Result<&Record, &str>, expected: Answer, part: &str) -> Assessment {
        let input =
            AssessmentInput { deadline_ns: 100_000, idle, held: None, loaded: load, noise: None, changes: Vec::new() };
        let assessment = assess(&input);
        assert_eq!(assessment.answer, expected, "{}", assessment.sentence);
        assert!(assessment.sentence.contains(part), "{}", assessment.sentence);
        assessment
    }

    #[test]
    fn the_worst_of_both_runs_decides() {
        let quiet = record_of(Measurement::Wakeup, &[5_000, 41_800]);
        check(&quiet, Ok(&loaded(&[9_000, 99_000])), Answer::Holds, "99.0 us under load 'paper'");
        check(&quiet, Ok(&loaded(&[9_000, 100_001])), Answer::DoesNotHold, "100 us on CPU 2 under load");
        check(&loaded(&[300_000]), Ok(&loaded(&[5_000])), Answer::DoesNotHold, "300 us");
    }

    #[test]
    fn nothing_invalid_reads_as_holding_or_as_broken() {
        let mut broken = loaded(&[900_000]);
        broken.validity.add(ReasonCode::LoadNotAchieved, "nothing ran");
        let quiet = record_of(Measurement::Wakeup, &[5_000]);
        check(&quiet, Ok(&broken), Answer::CannotBeTold, "is invalid");
        let empty = Record { series: vec![Series::default()], ..quiet.clone() };
        check(&empty, Err("x"), Answer::CannotBeTold, "no wake-up");
    }

    #[test]
    fn numbers_out_of_a_file_can_be_anything() {
        let mut odd = loaded(&[900_000]);
        (odd.manifest.started.monotonic_ns, odd.manifest.ended.monotonic_ns) = (i64::MIN, i64::MAX);
        odd.series[0].counters.steal_ns = Some(u64::MAX);
        odd.series[0].counters.smi = Some(u64::MAX);
        check(&odd, Ok(&odd), Answer::DoesNotHold, "900 us");
    }

    #[test]
    fn without_load_only_a_failure_can_be_told() {
        let why = "stress-ng is not installed";
        check(&record_of(Measurement::Wakeup, &[5_000]), Err(why), Answer::CannotBeTold, why);
        check(&record_of(Measurement::Wakeup, &[500_000]), Err(why), Answer::DoesNotHold, "500 us");
    }

    #[test]
    fn a_missing_right_is_the_first_change_and_idle_states_need_a_gain() {
        let mut idle = record_of(Measurement::Wakeup, &[80_000; 20]);
        let held = record_of(Measurement::Wakeup, &[5_000; 20]);
        let load = loaded(&[5_000]);
        let mut input = AssessmentInput {
            deadline_ns: 100_000,
            idle: &idle,
            held: Some(&held),
            loaded: Ok(&load),
            noise: None,
            changes: vec![],
        };
        assert_eq!(assess(&input).changes[0].finding.as_deref(), Some("deep-idle-states"));
        input.held = Some(&idle);
        assert!(assess(&input).changes.is_empty());
        idle.validity = Validity::default();
        idle.validity.add(ReasonCode::SchedulingNotGranted, "EPERM");
        let input = AssessmentInput {
            idle: &idle,
            held: Some(&held),
            loaded: Ok(&load),
            noise: None,
            changes: vec![],
            deadline_ns: 1,
        };
        assert!(assess(&input).changes[0].how[0].contains("setcap"));
    }
}
