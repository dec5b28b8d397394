//! The document of an assessment: `assessment.json`, and what `punctual assess --json` prints. Everything that a program needs
//! is a number or a fixed word; the sentences are for people.

use std::collections::BTreeMap;

use record::{
    CauseClass, Certainty, Deciding, Histogram, NotObservable, Place, Reason, ReasonCode, Record, Series,
    ValidityState, Verdict, VerdictState,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

use super::part::{Judged, Part};
use super::{AssessmentInput, late_causes};
use crate::late::{LateCauses, causes_above};
use crate::{Answer, Assessment, Change};
use analysis::tail::ClaimAnswer;

/// The name of the schema of `assessment.json`.
pub const ASSESSMENT_SCHEMA: &str = "punctual/assessment";
/// The version of that schema that this program writes.
pub const ASSESSMENT_VERSION: u32 = 2;

/// The conclusion of an assessment with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssessmentDocument {
    /// Name of the schema: `punctual/assessment`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// The verdict on the deadline, in the form and the words of a record's verdict. Its numbers cover the wake-ups of all
    /// parts that are not invalid.
    pub verdict: Verdict,
    /// The part with the worst wake-up of `verdict.deciding`; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_in: Option<PartName>,
    /// Host name of the machine.
    pub node: String,
    /// Release of its kernel.
    pub kernel_release: String,
    /// The measured CPUs, as a list: `0-1`.
    pub cpus: CpuSet,
    /// How far the numbers can be trusted: the worst of all parts, with each reason.
    pub validity: AssessmentValidity,
    /// The parts in the order in which they were measured; those that were requested and did not take place, too.
    pub parts: Vec<AssessmentPart>,
    /// The wake-ups of all valid parts beyond the deadline by their causes. If none is beyond the deadline, those beyond half of
    /// it; if there are none of these either, those whose cause was looked for. Absent in documents of earlier programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<LateWakeups>,
    /// What to change, the most promising first.
    pub changes: Vec<Change>,
    /// The answer to a claim about future latency, from the run under load; absent if no claim was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimAnswer>,
    /// The conclusion in one sentence, for people.
    pub sentence: String,
    /// Lines under the sentence, for people: each part, what makes wake-ups late, how far the numbers can be trusted.
    pub lines: Vec<String>,
    /// The folder with the records; only on stdout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The page; only on stdout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

/// The late wake-ups of an assessment by their causes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LateWakeups {
    /// What is counted, in words: `wake-ups beyond 100 us`.
    pub of: String,
    /// The counts; their fields are at the same level as `of`.
    #[serde(flatten)]
    pub causes: LateCauses,
}

/// A part of an assessment. Its record stands in the folder under the same name: `under-load.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartName {
    /// Wake-ups on an otherwise idle machine.
    Idle,
    /// Wake-ups on an otherwise idle machine with idle states disabled.
    IdleStatesDisabled,
    /// Wake-ups under load.
    UnderLoad,
    /// Gaps in the run time of a thread that never sleeps.
    Noise,
}

/// How far the numbers of an assessment can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssessmentValidity {
    /// The worst state of all parts.
    pub state: ValidityState,
    /// Each reason with what was seen, the worst first.
    pub reasons: Vec<PartReason>,
}

/// A reason why parts are degraded or invalid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartReason {
    /// The state of a part with this reason.
    pub state: ValidityState,
    /// The reason's name, as in `docs/validity.md`.
    pub code: ReasonCode,
    /// What was seen, with numbers and places.
    pub detail: String,
    /// What to do about it.
    pub remedy: String,
    /// The parts in which exactly this was seen.
    pub parts: Vec<PartName>,
}

/// What one part measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssessmentPart {
    /// Which part this is.
    pub part: PartName,
    /// Why the part did not take place; absent if it did. All fields below are absent or empty then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Unique identifier of the run, as in its record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What else ran: `hard`, `paper`, …; absent if nothing was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// CPUs that the load used on average; absent if nothing was started, or if that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_cpus_used: Option<f64>,
    /// CPUs that other programs and interrupts used on average, without this program and the load; absent if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_cpus_used: Option<f64>,
    /// From the first schedule to the end (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// How far this run can be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validity: Option<ValidityState>,
    /// Disturbances that could not be observed on this machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_observable: Vec<NotObservable>,
    /// All places together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<Figures>,
    /// Each place by itself: a measuring thread with its CPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlaceFigures>,
    /// The causes of the late samples that were explained, as in the record; empty if none was looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<PartCause>,
}

/// The numbers of some samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// Number of samples.
    pub samples: u64,
    /// Samples beyond the deadline; absent if the deadline does not apply, as to gaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_deadline: Option<u64>,
    /// Schedules that late wake-ups skipped; absent if there are no schedules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed_periods: Option<u64>,
    /// Exact smallest sample (ns); absent without samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<u64>,
    /// Mean (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    /// Exact largest sample (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// Quantiles (ns) by their percentage (`p99_9`), if at least ten samples are above; the median always.
    pub quantiles_ns: BTreeMap<String, u64>,
}

/// The numbers of one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceFigures {
    /// Where the samples were taken.
    pub place: Place,
    /// Their numbers; its fields are at the same level as `place`.
    #[serde(flatten)]
    pub figures: Figures,
}

/// A cause of late samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartCause {
    /// Class of the cause.
    pub class: CauseClass,
    /// Name of the interrupt, the thread, the function or the idle state; empty if there is none.
    pub name: String,
    /// How certain the cause is.
    pub certainty: Certainty,
    /// Explained samples with this cause.
    pub samples: u64,
    /// Those of them that exceeded the deadline; absent if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_deadline: Option<u64>,
    /// The worst latency of these samples (ns).
    pub worst_ns: i64,
}

/// Why a text is not an assessment.
#[derive(Debug, thiserror::Error)]
pub enum AssessmentError {
    /// The text is not JSON, or does not have the form of an assessment.
    #[error("not an assessment: {0}")]
    Form(#[from] serde_json::Error),
    /// The text has another schema.
    #[error("its schema is '{0}', not '{ASSESSMENT_SCHEMA}'")]
    Schema(String),
    /// A version wrote it that was never released.
    #[error(
        "it has schema version {0}, which no release has written, and this program reads from {ASSESSMENT_VERSION} on: assess again"
    )]
    Unreleased(u32),
    /// A later version of this program wrote it.
    #[error(
        "it has schema version {0}, and this program reads versions up to {ASSESSMENT_VERSION}: use a newer punctual"
    )]
    Newer(u32),
}

#[derive(Deserialize)]
struct Head {
    schema: String,
    version: u32,
}

impl Assessment {
    /// Reads `assessment.json`.
    ///
    /// # Errors
    /// If the text is no assessment, or one of another version.
    pub fn from_json(text: &str) -> Result<Self, AssessmentError> {
        let head: Head = serde_json::from_str(text)?;
        if head.schema != ASSESSMENT_SCHEMA {
            return Err(AssessmentError::Schema(head.schema));
        }
        if head.version > ASSESSMENT_VERSION {
            return Err(AssessmentError::Newer(head.version));
        }
        if head.version < ASSESSMENT_VERSION {
            return Err(AssessmentError::Unreleased(head.version));
        }
        let document: AssessmentDocument = serde_json::from_str(text)?;
        let AssessmentDocument { verdict, sentence, lines, changes, claim, .. } = document;
        let answer = Answer::from(verdict.state);
        Ok(Self { deadline_ns: verdict.deadline_ns, answer, sentence, lines, changes, claim })
    }
}

impl AssessmentDocument {
    /// The document of a conclusion that was drawn from these parts.
    #[must_use]
    pub fn new(assessment: &Assessment, input: &AssessmentInput<'_>) -> Self {
        let parts = [
            (PartName::Idle, input.idle, true),
            (PartName::IdleStatesDisabled, input.held, true),
            (PartName::UnderLoad, input.loaded, true),
            (PartName::Noise, input.noise, false),
        ];
        let records = || parts.iter().filter_map(|(name, part, is_judged)| Some((*name, part.record()?, *is_judged)));
        let (deciding, worst_in) = deciding(input, records()).unzip();
        let first = records().next().map(|(_, record, _)| record.manifest());
        Self {
            schema: ASSESSMENT_SCHEMA.to_owned(),
            version: ASSESSMENT_VERSION,
            verdict: Verdict {
                deadline_ns: assessment.deadline_ns,
                state: assessment.answer.into(),
                deciding,
                reason: assessment.sentence.clone(),
            },
            worst_in,
            node: first.map_or_else(String::new, |manifest| manifest.node.hostname.clone()),
            kernel_release: first.map_or_else(String::new, |manifest| manifest.node.kernel_release.clone()),
            cpus: first.map_or_else(CpuSet::default, |manifest| manifest.requested.cpus.clone()),
            validity: validity(records().map(|(name, record, _)| (name, record))),
            parts: parts
                .iter()
                .filter_map(|(name, part, is_judged)| summary(*name, *part, *is_judged, input))
                .collect(),
            late: late_wakeups(assessment.answer, input),
            changes: assessment.changes.clone(),
            claim: assessment.claim.clone(),
            sentence: assessment.sentence.clone(),
            lines: assessment.lines.clone(),
            folder: None,
            report: None,
        }
    }
}

/// The late wake-ups of all valid judged parts by their causes; `None` if no such part is valid.
fn late_wakeups(answer: Answer, input: &AssessmentInput<'_>) -> Option<LateWakeups> {
    let runs = input.judged();
    let valid = runs.iter().filter(|run| !run.record.validity.is_invalid());
    let valid: Vec<(&Record, &str)> = valid.map(|run| (run.record, run.when.as_str())).collect();
    let (causes, of) = late_causes(answer, input.deadline_ns, &valid);
    (!valid.is_empty()).then_some(LateWakeups { of, causes })
}

/// The numbers that the verdict rests on: of all judged parts that are not invalid.
fn deciding<'a>(
    input: &AssessmentInput<'_>,
    records: impl Iterator<Item = (PartName, &'a Record, bool)>,
) -> Option<(Deciding, PartName)> {
    let valid: Vec<(PartName, Judged<'_>)> = records
        .filter(|(_, record, is_judged)| *is_judged && !record.validity.is_invalid())
        .map(|(name, record, _)| (name, Judged::new(record, String::new(), input.deadline_ns)))
        .collect();
    let worst = |(name, run): &(PartName, Judged<'a>)| Some((*name, run.worst?));
    let (name, (worst_ns, place)) = valid.iter().filter_map(worst).max_by_key(|(_, (worst_ns, _))| *worst_ns)?;
    let sum = |number: fn(&Judged<'_>) -> u64| units::total(valid.iter().map(|(_, run)| number(run)));
    let deciding = Deciding {
        worst_ns: i64::try_from(worst_ns).unwrap_or(i64::MAX),
        place: place.clone(),
        samples: sum(|run| run.samples),
        beyond: sum(|run| run.beyond),
        missed_periods: sum(|run| run.missed),
    };
    Some((deciding, name))
}

/// Each reason of the parts once, the worst first.
fn validity<'a>(records: impl Iterator<Item = (PartName, &'a Record)>) -> AssessmentValidity {
    let mut state = None;
    let mut reasons: Vec<PartReason> = Vec::new();
    for (name, record) in records {
        state = state.max(Some(record.validity.state()));
        for Reason { code, detail } in record.validity.reasons() {
            match reasons.iter_mut().find(|reason| (reason.code, &reason.detail) == (*code, detail)) {
                Some(reason) => reason.parts.push(name),
                None => reasons.push(PartReason {
                    state: code.info().state,
                    code: *code,
                    detail: detail.clone(),
                    remedy: code.info().remedy.to_owned(),
                    parts: vec![name],
                }),
            }
        }
    }
    reasons.sort_by_key(|reason| (std::cmp::Reverse(reason.state), reason.code));
    // Without a single run there is nothing to be trusted.
    AssessmentValidity { state: state.unwrap_or(ValidityState::Invalid), reasons }
}

/// A part that was requested; `None` for one that was not.
fn summary(name: PartName, part: Part<'_>, is_judged: bool, input: &AssessmentInput<'_>) -> Option<AssessmentPart> {
    let empty = AssessmentPart {
        part: name,
        missing: None,
        run: None,
        load: None,
        load_cpus_used: None,
        others_cpus_used: None,
        duration_ns: None,
        validity: None,
        not_observable: Vec::new(),
        all: None,
        places: Vec::new(),
        causes: Vec::new(),
    };
    let record = match part {
        Part::NotAsked => return None,
        Part::Missing(why) => return Some(AssessmentPart { missing: Some(why.to_owned()), ..empty }),
        Part::Measured(record) => record,
    };
    let deadline_ns = is_judged.then_some(input.deadline_ns);
    let series: Vec<&Series> = record.series.iter().filter(|series| series.judged || !is_judged).collect();
    let load = &record.manifest().load;
    let beyond = deadline_ns.map(|limit_ns| causes_above(record, Some(limit_ns)));
    let cause = |(at, cause): (usize, &record::CauseTotal)| PartCause {
        class: cause.class,
        name: cause.name.clone(),
        certainty: cause.certainty,
        samples: cause.samples,
        beyond_deadline: beyond.as_ref().and_then(|counts| counts.get(at).copied()),
        worst_ns: cause.worst_ns,
    };
    Some(AssessmentPart {
        run: Some(record.id.clone()),
        load: Some(load.name.clone()).filter(|name| !matches!(name.as_str(), "" | "none")),
        load_cpus_used: load.achieved.as_ref().map(|achieved| achieved.cpu_used),
        others_cpus_used: record.manifest().others_cpu_used,
        duration_ns: Some(record.measured_ns()),
        validity: Some(record.validity.state()),
        not_observable: record.validity.not_observable().to_vec(),
        all: Some(figures(record, &series, deadline_ns)),
        places: series
            .iter()
            .map(|one| PlaceFigures { place: one.place.clone(), figures: figures(record, &[one], deadline_ns) })
            .collect(),
        causes: record
            .explanation()
            .map_or_else(Vec::new, |found| found.causes.iter().enumerate().map(cause).collect()),
        ..empty
    })
}

fn figures(record: &Record, series: &[&Series], deadline_ns: Option<u64>) -> Figures {
    let mut all = Histogram::new();
    series.iter().for_each(|series| all.merge(&series.judged_samples(record.sign(series))));
    // Counted as the verdict counts: each series by itself.
    let beyond =
        |limit_ns| units::total(series.iter().map(|one| one.judged_samples(record.sign(one)).count_above(limit_ns)));
    let missed = units::total(series.iter().map(|series| series.counters.missed_periods));
    Figures {
        samples: all.count(),
        beyond_deadline: deadline_ns.map(beyond),
        missed_periods: deadline_ns.map(|_| missed),
        min_ns: all.min_ns(),
        mean_ns: all.mean_ns().map(|ns| (ns * 10.0).round() / 10.0),
        max_ns: all.max_ns(),
        quantiles_ns: all.quantiles_by_name(),
    }
}

impl From<Answer> for VerdictState {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Holds => Self::Holds,
            Answer::DoesNotHold => Self::Broken,
            Answer::CannotBeTold => Self::CannotTell,
        }
    }
}

impl From<VerdictState> for Answer {
    fn from(state: VerdictState) -> Self {
        match state {
            VerdictState::Holds => Self::Holds,
            VerdictState::Broken => Self::DoesNotHold,
            VerdictState::CannotTell => Self::CannotBeTold,
        }
    }
}

#[cfg(test)]
mod tests {
    use record::Measurement;

    use super::*;
    use crate::assess;
    use samples::record_of;

    #[test]
    fn the_document_has_the_numbers_of_the_sentence_and_is_read_back() {
        let idle = record_of(Measurement::Wakeup, &[5_000, 6_000]);
        let mut loaded = record_of(Measurement::Wakeup, &[7_000, 250_000, 300_000]);
        loaded.validity.add(ReasonCode::VirtualMachine, "kvm");
        let why = "no such device";
        let input = AssessmentInput {
            deadline_ns: 100_000,
            idle: Part::Measured(&idle),
            loaded: Part::Measured(&loaded),
            noise: Part::Missing(why),
            ..AssessmentInput::default()
        };
        let assessment = assess(&input);
        let document = AssessmentDocument::new(&assessment, &input);
        let deciding = document.verdict.deciding.as_ref().unwrap();
        assert_eq!(document.verdict.state, VerdictState::Broken);
        assert_eq!((deciding.worst_ns, deciding.samples, deciding.beyond), (300_000, 5, 2));
        assert_eq!(document.worst_in, Some(PartName::UnderLoad));
        let parts: Vec<PartName> = document.parts.iter().map(|part| part.part).collect();
        assert_eq!(parts, [PartName::Idle, PartName::UnderLoad, PartName::Noise]);
        let all = document.parts[1].all.as_ref().unwrap();
        assert_eq!((all.samples, all.beyond_deadline, all.max_ns), (3, Some(2), Some(300_000)));
        assert_eq!(document.parts[2].missing.as_deref(), Some(why));
        let reason = document.validity.reasons.iter().find(|reason| reason.code == ReasonCode::VirtualMachine).unwrap();
        assert_eq!(reason.parts, [PartName::UnderLoad]);
        let text = serde_json::to_string(&document).unwrap();
        assert!(text.contains("\"verdict\":{\"deadline_ns\":100000,\"state\":\"broken\""), "{text}");
        assert_eq!(Assessment::from_json(&text).unwrap(), assessment);
        assert_eq!(serde_json::from_str::<AssessmentDocument>(&text).unwrap(), document);
    }

    #[test]
    fn an_invalid_part_is_in_no_number_of_the_verdict() {
        let idle = record_of(Measurement::Wakeup, &[5_000]);
        let mut loaded = record_of(Measurement::Wakeup, &[900_000]);
        loaded.validity.add(ReasonCode::LoadNotAchieved, "nothing ran");
        let input = AssessmentInput {
            deadline_ns: 100_000,
            idle: Part::Measured(&idle),
            loaded: Part::Measured(&loaded),
            ..AssessmentInput::default()
        };
        let document = AssessmentDocument::new(&assess(&input), &input);
        let deciding = document.verdict.deciding.as_ref().unwrap();
        assert_eq!((document.verdict.state, deciding.worst_ns), (VerdictState::CannotTell, 5_000));
        assert_eq!(document.validity.state, ValidityState::Invalid);
        assert_eq!(document.validity.reasons[0].code, ReasonCode::LoadNotAchieved);
        assert!(document.validity.reasons[0].remedy.contains("choose a load that this machine can run"));
    }

    #[test]
    fn what_another_version_or_program_wrote_is_refused_with_what_to_do() {
        let refused = |schema: &str, version: u32| {
            let text = format!("{{\"schema\":\"{schema}\",\"version\":{version}}}");
            Assessment::from_json(&text).unwrap_err().to_string()
        };
        assert!(refused(ASSESSMENT_SCHEMA, ASSESSMENT_VERSION - 1).contains("no release has written"));
        assert!(refused(ASSESSMENT_SCHEMA, ASSESSMENT_VERSION + 1).contains("a newer punctual"));
        assert!(refused("punctual/tail", 1).contains("punctual/tail"));
    }
}
