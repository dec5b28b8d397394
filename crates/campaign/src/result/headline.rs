//! The headline of a result: the answer in one sentence, and the lines below it.

use super::document::{Answer, AnswerState, CampaignResult, ResultState};

/// Fills in the headline and the lines below it.
pub(super) fn write(result: &mut CampaignResult) {
    let mut lines = Vec::new();
    let single =
        result.figures.iter().map(|figure| &figure.measurement).collect::<std::collections::BTreeSet<_>>().len() <= 1;
    for answer in result.answers.iter().filter(|answer| is_shown(answer)) {
        lines.push(line(answer, single));
    }
    let nothing: Vec<String> = named(&result.answers, |state| state == AnswerState::NoDifferenceShown);
    if !nothing.is_empty() {
        lines.push(format!("No difference shown: {}.", nothing.join(", ")));
    }
    let unknown = result.answers.iter().filter(|answer| answer.state == AnswerState::NotMeasured);
    let unknown: Vec<String> =
        unknown.map(|answer| format!("{}{}", answer.condition, measurement_suffix(answer, single))).collect();
    if !unknown.is_empty() {
        lines.push(format!("Cannot be told: {}.", unknown.join(", ")));
    }
    for answer in &result.confirmation {
        lines.push(format!("The winners together, measured again: {}", line(answer, single)));
    }
    result.headline = headline(result);
    result.lines = lines;
}

const fn is_shown(answer: &Answer) -> bool {
    !matches!(answer.state, AnswerState::NoDifferenceShown | AnswerState::NotMeasured)
}

fn line(answer: &Answer, single: bool) -> String {
    format!("{}{} {}: {}", answer.condition, measurement_suffix(answer, single), answer.state.word(), answer.sentence)
}

/// The name of the measurement in parentheses, if there are several measurements.
fn measurement_suffix(answer: &Answer, single: bool) -> String {
    if single { String::new() } else { format!(" ({})", answer.measurement) }
}

fn named(answers: &[Answer], is_it: impl Fn(AnswerState) -> bool) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for answer in answers.iter().filter(|answer| is_it(answer.state)) {
        if !names.contains(&answer.condition) {
            names.push(answer.condition.clone());
        }
    }
    names
}

fn headline(result: &CampaignResult) -> String {
    let measured: u64 = result.conditions.iter().map(|one| one.measured).sum();
    let planned: u64 = result.conditions.iter().map(|one| one.planned).sum();
    if measured == 0 {
        return "Nothing has been measured yet.".to_owned();
    }
    let so_far = match result.state {
        ResultState::Running => format!(" So far: {measured} of {planned} runs."),
        ResultState::StoppedEarly => format!(" Ended early, after {measured} of {planned} runs."),
        ResultState::Complete => String::new(),
    };
    if result.answers.is_empty() {
        return format!(
            "{measured} runs of {} conditions; nothing in them is compared.{so_far}",
            result.conditions.len()
        );
    }
    let of = |state| named(&result.answers, |one| one == state);
    let parts: Vec<String> = [
        (of(AnswerState::Helps), "help", "helps"),
        (of(AnswerState::Harms), "harm", "harms"),
        (of(AnswerState::Trade), "trade the worst case against the body", "trades the worst case against the body"),
        (of(AnswerState::HelpsBody), "help the body alone", "helps the body alone"),
        (of(AnswerState::HarmsBody), "harm the body alone", "harms the body alone"),
        (
            of(AnswerState::NotBeyondMargin),
            "differ, but are not shown to exceed the margin",
            "differs, but is not shown to exceed the margin",
        ),
    ]
    .into_iter()
    .filter(|(names, ..)| !names.is_empty())
    .map(|(names, many, one)| format!("{} {}", in_a_row(&names), if names.len() == 1 { one } else { many }))
    .collect();
    let mut sentence = if parts.is_empty() {
        nothing_shown(&of(AnswerState::NoDifferenceShown), &of(AnswerState::NotMeasured))
    } else {
        format!("{}.", parts.join("; "))
    };
    sentence += match result.is_confirmed() {
        Some(true) => " Measured again together, the winners help.",
        Some(false) => " Measured again together, the winners do NOT show the improvement that they showed alone.",
        None => "",
    };
    sentence + &so_far
}

/// The headline if no difference is shown: a comparison without a difference is not the same as no comparison.
fn nothing_shown(compared: &[String], unknown: &[String]) -> String {
    let unknown: Vec<&String> = unknown.iter().filter(|name| !compared.contains(name)).collect();
    let shown = match (compared.len(), unknown.len()) {
        (0, _) => String::new(),
        (1, _) => "No difference is shown by the one condition compared.".to_owned(),
        (many, _) => format!("No difference is shown by any of {many} conditions."),
    };
    match unknown.len() {
        0 => shown,
        1 => format!("{shown} Nothing can be concluded about 1 condition.").trim_start().to_owned(),
        some => format!("{shown} Nothing can be concluded about {some} conditions.").trim_start().to_owned(),
    }
}

fn in_a_row(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
