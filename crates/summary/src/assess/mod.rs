//! Draws the conclusion of `assess` from its parts.
//!
//! One wake-up beyond the deadline in any valid part means that the deadline does not hold. It holds only if every requested part
//! took place, is valid, measured enough, and measured the same CPUs. Otherwise the answer is "cannot be told".

mod advice;
mod claim;
mod document;
mod late;
mod part;
mod relevance;
mod trust;

use units::format::{self, latency, span};

pub use self::document::{
    ASSESSMENT_SCHEMA, ASSESSMENT_VERSION, AssessmentDocument, AssessmentError, AssessmentPart, AssessmentValidity,
    Figures, LateWakeups, PartCause, PartName, PartReason, PlaceFigures,
};
pub use self::late::{is_line_of_causes, late_causes};
use self::part::Judged;
pub use self::part::Part;
use crate::{Answer, Assessment, Change};
use analysis::cause::Surroundings;

/// The inputs of [`assess`]: the parts that were measured, the findings of `check`, and the machine.
#[derive(Clone, Debug, Default)]
pub struct AssessmentInput<'a> {
    /// The latency that no wake-up may exceed (ns).
    pub deadline_ns: u64,
    /// Wake-ups on an otherwise idle machine.
    pub idle: Part<'a>,
    /// Wake-ups on an otherwise idle machine with idle states disabled; not requested if the machine does not allow that.
    pub held: Part<'a>,
    /// Wake-ups under load.
    pub loaded: Part<'a>,
    /// Gaps in the run time of a thread that never sleeps.
    pub noise: Part<'a>,
    /// What the findings of `check` would change, the most severe first.
    pub changes: Vec<Change>,
    /// The properties of the machine that decide which advice applies.
    pub surroundings: Surroundings,
}

impl<'a> AssessmentInput<'a> {
    /// The parts whose wake-ups are compared with the deadline, with their names for sentences.
    fn judged(&self) -> Vec<Judged<'a>> {
        let load = self.loaded.record().and_then(|record| record.manifest().load.title());
        let load = load.unwrap_or_else(|| "''".to_owned());
        let parts = [
            (self.idle, "idle".to_owned()),
            (self.held, "with idle states disabled".to_owned()),
            (self.loaded, format!("under load {load}")),
        ];
        let judged = |(part, when): (Part<'a>, String)| Some(Judged::new(part.record()?, when, self.deadline_ns));
        parts.into_iter().filter_map(judged).collect()
    }
}

/// Draws the conclusion of an assessment from its parts, with lines for people and advice.
#[must_use]
pub fn assess(input: &AssessmentInput<'_>) -> Assessment {
    let runs = input.judged();
    let answer = answer(input, &runs);
    let counted = late::Counted::new(answer, input.deadline_ns, &runs);
    let sentence = sentence(answer, input, &runs, &counted);
    let mut lines: Vec<String> = runs.iter().filter_map(Judged::line).collect();
    if let Part::Missing(why) = input.loaded {
        lines.push(format!("Under load: not measured, because {why}."));
    }
    lines.push(late::line(answer, &runs, input.noise.record(), &counted));
    lines.push(trust::line(&runs));
    let changes = advice::changes(answer, input, &runs, &counted);
    Assessment { deadline_ns: input.deadline_ns, answer, sentence, lines, changes, claim: None }
}

/// Decides the answer.
fn answer(input: &AssessmentInput<'_>, runs: &[Judged<'_>]) -> Answer {
    let mut valid = runs.iter().filter(|run| !run.record.validity.is_invalid());
    if valid.clone().any(|run| run.beyond > 0 && run.worst.is_some()) {
        return Answer::DoesNotHold;
    }
    let was_measured = valid.any(|run| run.worst.is_some());
    if was_measured && part::obstacles(input, runs).is_empty() { Answer::Holds } else { Answer::CannotBeTold }
}

/// The sentence that gives the answer, with what is known of the cause of the worst wake-up.
fn sentence(answer: Answer, input: &AssessmentInput<'_>, runs: &[Judged<'_>], counted: &late::Counted) -> String {
    let what = runs
        .first()
        .map_or_else(|| "this machine".to_owned(), |run| format!("CPU {}", run.record.manifest().requested.cpus));
    let limit = span(input.deadline_ns);
    let valid = || runs.iter().filter(|run| !run.record.validity.is_invalid());
    let worst = valid().filter_map(|run| Some((run, run.worst?))).max_by_key(|(_, (worst_ns, _))| *worst_ns);
    let samples = format::count(units::total(valid().map(|run| run.samples)));
    let cause = counted.worst();
    let obstacles = part::obstacles(input, runs);
    let Some((run, (worst_ns, place))) = worst else {
        let why = if obstacles.is_empty() { "no wake-up was measured".to_owned() } else { obstacles.join("; ") };
        return format!("Cannot be told whether {what} holds {limit}: {why}.");
    };
    let (worst, when) = (latency(worst_ns), &run.when);
    match answer {
        Answer::DoesNotHold => format!(
            "Does not hold {limit} on {what}: worst wake-up {worst}{} {when}{cause}; {} of {samples} beyond it{}.",
            place.clause(),
            format::count(units::total(valid().map(|run| run.beyond))),
            counted.without_cause()
        ),
        Answer::Holds => format!("Holds {limit} on {what}: worst of {samples} wake-ups {worst} {when}{cause}."),
        Answer::CannotBeTold => format!(
            "Cannot be told whether {what} holds {limit}: {}. Of {samples} wake-ups that were measured none is beyond it, the \
             worst is {worst} {when}{cause}.",
            obstacles.join("; ")
        ),
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn lowered(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

#[cfg(test)]
mod tests;
