//! What is said of the causes of a run's worst samples: in a sentence, as shares, and what explaining cost.

use record::{CauseClass, CauseTotal, Certainty, ExplainedSample, Explanation, Histogram, Record, WakeupParts};
use serde::Serialize;
use units::format::{self, latency, span};

use crate::late::explained_above;
use crate::percent;

/// What is said of the causes of a run's worst samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplanationSummary {
    /// What made most of them late and how certain that is, or why nothing is known.
    pub sentence: String,
    /// How many are explained, and why others are not, as a sentence; `None` if there was nothing to explain.
    pub coverage: Option<String>,
    /// What to change first.
    pub change: Option<FirstChange>,
    /// Samples by their causes: the examined ones, and those above the deadline.
    pub shares: Vec<Share>,
    /// The causes summed over the run, in the order of the record.
    pub causes: Vec<CauseRow>,
    /// Every wake-up in its parts; `None` if they were not recorded.
    pub parts: Option<PartsTable>,
    /// What explaining cost, as a clause; `None` if it was not measured.
    pub cost: Option<String>,
    /// What could not be seen, and what it takes.
    pub missing: Vec<String>,
}

/// A cause summed over a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CauseRow {
    /// The cause in words: `interrupt: eth0 (interrupt 126)`.
    pub cause: String,
    /// Certainty of the cause: the lowest of all its samples.
    pub certainty: Certainty,
    /// How many samples, in words: "12 of 1 234".
    pub samples: String,
    /// The worst latency of its samples (ns).
    pub worst_ns: i64,
    /// The time that it took in all samples together (ns).
    pub took_ns: u64,
    /// What to change about it; empty if nothing is known.
    pub remedy: String,
    /// Name of a finding of `check` that has more about it.
    pub finding: Option<String>,
}

/// Every wake-up of a run in its parts, over all threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartsTable {
    /// How many wake-ups, and of how many the parts are missing, as sentences.
    pub sentence: String,
    /// One row for each part, in the order in which a wake-up passes them.
    pub rows: Vec<PartRow>,
}

/// One part of all wake-ups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartRow {
    /// The part, named by its two points.
    pub name: String,
    /// What lies between the points, in a few words.
    pub words: String,
    /// Median (ns); `None` if the part was not recorded.
    pub median_ns: Option<u64>,
    /// The value that 99.9 % do not exceed (ns); `None` if fewer than ten are above it.
    pub p99_9_ns: Option<u64>,
    /// Exact maximum (ns); `None` if the part was not recorded.
    pub max_ns: Option<u64>,
}

/// What is said of the causes of a run's worst samples; `None` if the run looked for none.
#[must_use]
pub fn summary(record: &Record) -> Option<ExplanationSummary> {
    record.explanation().map(|explanation| summary_of(record, explanation))
}

/// The same of one of the explanations of a record; a run between nodes has one for each.
#[must_use]
pub fn summary_of(record: &Record, explanation: &Explanation) -> ExplanationSummary {
    let was_examined = explanation.outliers > 0 && !explanation.sources.is_empty();
    ExplanationSummary {
        sentence: sentence(record, explanation),
        coverage: was_examined.then(|| coverage(explanation)),
        change: change(record, explanation),
        shares: shares(record, explanation),
        causes: causes(explanation),
        parts: explanation.parts.as_ref().map(|all| parts(record, all)),
        cost: cost(explanation),
        missing: explanation.missing.clone(),
    }
}

/// The causes of an explanation, summed over the run, in the order of the record.
#[must_use]
pub fn causes(explanation: &Explanation) -> Vec<CauseRow> {
    let row = |cause: &CauseTotal| CauseRow {
        cause: words(cause.class, &cause.name),
        certainty: cause.certainty,
        samples: format!("{} of {}", format::count(cause.samples), format::count(explanation.explained)),
        worst_ns: cause.worst_ns,
        took_ns: cause.took_ns,
        remedy: cause.remedy.clone(),
        finding: cause.finding.clone(),
    };
    explanation.causes.iter().map(row).collect()
}

/// Every wake-up of a run in its parts, over all threads.
#[must_use]
pub fn parts(record: &Record, parts: &WakeupParts) -> PartsTable {
    let recorded = parts.over_all_threads();
    let kind = record.measurement.kind();
    let rows = kind.explained.into_iter().flat_map(|whole| kind.parts_of(whole)).map(|part| {
        let all = recorded.iter().find(|(known, _)| *known == part.name).map(|(_, all)| all);
        PartRow {
            name: part.name.to_owned(),
            words: part.words.to_owned(),
            median_ns: all.and_then(|all| all.quantile_ns(0.5)),
            p99_9_ns: all.and_then(|all| all.stated_quantile_ns(0.999)),
            max_ns: all.and_then(Histogram::max_ns),
        }
    });
    let not_seen = match parts.not_seen {
        0 => String::new(),
        not_seen => format!(" The parts of {} more were not recorded.", format::count(not_seen)),
    };
    PartsTable { sentence: format!("{} wake-ups.{not_seen}", format::count(parts.seen)), rows: rows.collect() }
}

/// What to change first about the causes of late samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FirstChange {
    /// What to change.
    pub remedy: String,
    /// Name of a finding of `check` that has more about it; `None` if there is none.
    pub finding: Option<String>,
}

/// Samples by their causes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// What is counted, in words: "samples above the deadline of 100 us".
    pub of: String,
    /// The number of samples that all parts add up to.
    pub total: u64,
    /// The samples of each cause, in the order of the record.
    pub causes: Vec<SharePart>,
    /// Samples of which nothing is known.
    pub not_explained: SharePart,
}

/// Some of the samples of a [`Share`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SharePart {
    /// Number of samples.
    pub samples: u64,
    /// The share of the total in words: "19 %", "<1 %". In whole percent, those of all parts add up to 100.
    pub percent: String,
}

/// The shares of the examined samples, and of those above the deadline if their causes are known.
#[must_use]
pub fn shares(record: &Record, explanation: &Explanation) -> Vec<Share> {
    if explanation.outliers == 0 || explanation.sources.is_empty() {
        return Vec::new();
    }
    let causes: Vec<u64> = explanation.causes.iter().map(|cause| cause.samples).collect();
    let mut shares = vec![share(explanation.looked_at(), explanation.outliers, &causes)];
    let late = beyond(record, explanation);
    let is_the_same = record.verdict.as_ref().is_some_and(|verdict| explanation.above_ns == Some(verdict.deadline_ns));
    if let Some(Basis { of, total, causes, .. }) = late.filter(|_| !is_the_same) {
        shares.push(share(of, total, &causes));
    }
    shares
}

fn share(of: String, total: u64, causes: &[u64]) -> Share {
    let sum = units::total(causes.iter().copied());
    // Keep the total at least as large as the sum, so that the difference cannot be negative.
    let total = total.max(sum);
    let counts: Vec<u64> = causes.iter().copied().chain([total - sum]).collect();
    let mut parts: Vec<SharePart> = percent::percentages(&counts)
        .into_iter()
        .zip(&counts)
        .map(|(percent, &samples)| SharePart { samples, percent: percent::words(percent, samples, total) })
        .collect();
    let not_explained = parts.pop().unwrap_or_else(|| SharePart { samples: 0, percent: percent::words(0, 0, 0) });
    Share { of, total, causes: parts, not_explained }
}

/// A cause in words: "interrupt: eth0 (interrupt 126)", "softirq NET_RX".
#[must_use]
pub fn words(class: CauseClass, name: &str) -> String {
    class.with_name(name)
}

/// The samples that the sentence is about: those above the deadline if their causes are in the record, or else all
/// explained samples.
struct Basis {
    of: String,
    total: u64,
    causes: Vec<u64>,
    /// Further samples of which nothing is known.
    unknown: u64,
}

fn basis(record: &Record, explanation: &Explanation) -> Basis {
    beyond(record, explanation).filter(|basis| basis.causes.iter().any(|&samples| samples > 0)).unwrap_or_else(|| {
        Basis {
            of: "explained samples".to_owned(),
            total: explanation.explained,
            causes: explanation.causes.iter().map(|cause| cause.samples).collect(),
            unknown: explanation.outliers.saturating_sub(explanation.explained),
        }
    })
}

impl Basis {
    /// The cause with the most samples; among equals the one with the worst sample.
    fn largest<'a>(
        &self,
        causes: &'a [CauseTotal],
        is_wanted: impl Fn(&CauseTotal) -> bool,
    ) -> Option<(&'a CauseTotal, u64)> {
        let all = causes.iter().zip(self.causes.iter().copied());
        all.filter(|(cause, samples)| *samples > 0 && is_wanted(cause))
            .max_by_key(|(cause, samples)| (*samples, cause.worst_ns))
    }
}

fn is_known(cause: &CauseTotal) -> bool {
    cause.class != CauseClass::Unknown
}

/// What to change first: the remedy for the largest known cause other than the instrument itself.
#[must_use]
pub fn change(record: &Record, explanation: &Explanation) -> Option<FirstChange> {
    let basis = basis(record, explanation);
    let is_foreign = |cause: &CauseTotal| is_known(cause) && cause.owner != record::Owner::Instrument;
    let largest =
        basis.largest(&explanation.causes, is_foreign).or_else(|| basis.largest(&explanation.causes, |_| true));
    largest.map(|(cause, _)| FirstChange { remedy: cause.remedy.clone(), finding: cause.finding.clone() })
}

/// What made most of the worst samples late and how certain that is, or why nothing is known.
#[must_use]
pub fn sentence(record: &Record, explanation: &Explanation) -> String {
    let looked_at = explanation.looked_at();
    let basis = basis(record, explanation);
    let Some((first, samples)) = basis.largest(&explanation.causes, |_| true) else {
        return match (explanation.sources.is_empty(), explanation.outliers) {
            (true, _) => "No evidence was available, so the causes of the worst samples are unknown.".to_owned(),
            (false, 0) => format!("There were no {looked_at}, so there is nothing to explain."),
            (false, outliers) => format!(
                "None of {} {looked_at} was recorded in time, so their causes are unknown.",
                format::count(outliers)
            ),
        };
    };
    let stands_out = samples > 1 || basis.total <= 1;
    let mut text = part(&basis, samples);
    if stands_out && is_known(first) {
        text.push_str(&format!(": {}, {}.", words(first.class, &first.name), how_certain(first.certainty)));
    } else if stands_out {
        text.push_str(": cause unknown.");
        if let Some((known, samples)) = basis.largest(&explanation.causes, is_known) {
            let count = format::count(samples);
            let cause = words(known.class, &known.name);
            text.push_str(&format!(" The largest known cause, {count}: {cause}, {}.", how_certain(known.certainty)));
        }
    }
    if let Some(worst) = explanation.samples.first().filter(|_| basis.total > 1) {
        match worst_not_recorded(record, worst) {
            None => text.push_str(&format!(" The worst, {} on CPU {}", latency(worst.latency_ns), worst.cpu)),
            Some(worst_ns) => text.push_str(&format!(
                " Nothing was recorded of the worst, {}. The worst that was explained, {} on CPU {}",
                latency(worst_ns),
                latency(worst.latency_ns),
                worst.cpu
            )),
        }
        if worst.class == CauseClass::Unknown {
            text.push_str(", is not explained.");
        } else if stands_out && (worst.class, &worst.name) == (first.class, &first.name) {
            text.push_str(", is one of them.");
        } else {
            text.push_str(&format!(": {}, {}.", words(worst.class, &worst.name), how_certain(worst.certainty)));
        }
    }
    if basis.unknown > 0 {
        text.push_str(&format!(" Nothing is known about {} others.", format::count(basis.unknown)));
    }
    text
}

/// The run's worst latency (ns) if it is not that of the worst explained sample. A packet's delay is longer than the part of it
/// that is explained.
fn worst_not_recorded(record: &Record, worst: &ExplainedSample) -> Option<i64> {
    let (worst_ns, _) = record.worst_of_all().filter(|_| record.packets().is_none())?;
    (worst_ns > worst.latency_ns).then_some(worst_ns)
}

/// How large a part `samples` are of the basis, as the beginning of a sentence.
fn part(basis: &Basis, samples: u64) -> String {
    let Basis { of, total, .. } = basis;
    let (samples_text, total_text) = (format::count(samples), format::count(*total));
    match samples.saturating_mul(2) {
        _ if *total == 1 => format!("The one {}", of.replacen("samples", "sample", 1)),
        _ if samples == *total => format!("All {samples_text} {of}"),
        twice if twice > *total => format!("Most of the {of}, {samples_text} of {total_text}"),
        _ if samples == 1 => format!("No cause stands out among the {total_text} {of}."),
        _ => format!("No cause accounts for most of the {of}; the largest part, {samples_text} of {total_text}"),
    }
}

const fn how_certain(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Shown => "shown by the recorded events",
        Certainty::Likely => "likely, but not shown",
        Certainty::Unknown => "without evidence",
    }
}

/// How many of the examined samples are explained, and why others are not, in a sentence.
#[must_use]
pub fn coverage(explanation: &Explanation) -> String {
    let mut text = format!(
        "{} of {} {} are explained",
        format::count(explanation.explained),
        format::count(explanation.outliers),
        explanation.looked_at()
    );
    if explanation.not_recorded > 0 {
        text.push_str(&format!(
            "; {} came while an earlier one was being read, and nothing is known about them",
            format::count(explanation.not_recorded)
        ));
    }
    text.push('.');
    text
}

/// The cost of explaining, as a clause to follow what it is of; `None` if it was not measured.
#[must_use]
pub fn cost(explanation: &Explanation) -> Option<String> {
    let cost = explanation.cost.as_ref()?;
    let mean = |ns: f64| latency(units::round_u64(ns.max(0.0)));
    let is_significant = cost.mean_with_ns - cost.mean_without_ns > cost.mean_differs_ns;
    Some(format!(
        "median {} without and {} with it, mean {} and {}, measured before the run with {} samples each; equal measurements \
         differ by {}, so {}",
        latency(cost.median_without_ns),
        latency(cost.median_with_ns),
        mean(cost.mean_without_ns),
        mean(cost.mean_with_ns),
        format::count(cost.samples),
        mean(cost.mean_differs_ns),
        if is_significant { "the cost is more than chance" } else { "the cost cannot be distinguished from chance" }
    ))
}

/// The samples above the deadline; `None` if there are none, or if the record does not have their causes.
fn beyond(record: &Record, explanation: &Explanation) -> Option<Basis> {
    // A limit on packets is one on their whole delay, of which a node explains a part.
    let verdict = record.verdict.as_ref().filter(|_| record.packets().is_none())?;
    let total = verdict.deciding.as_ref().filter(|deciding| deciding.beyond > 0)?.beyond;
    let causes = explained_above(explanation, verdict.deadline_ns, total)?;
    let of = format!("samples above the deadline of {}", span(verdict.deadline_ns));
    let unknown = total.saturating_sub(causes.iter().sum());
    Some(Basis { of, total, causes, unknown })
}

/// How many stretches of the timeline are not drawn because the record has only the longest; `None` if there are none.
#[must_use]
pub fn left_out(stretches: u64) -> Option<String> {
    match stretches {
        0 => None,
        1 => Some("1 shorter stretch was not kept in the record and is not drawn.".to_owned()),
        many => {
            Some(format!("{} shorter stretches were not kept in the record and are not drawn.", format::count(many)))
        }
    }
}
