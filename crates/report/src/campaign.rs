//! A campaign as the page shows it: its document, and all conditions of each figure as curves of one plot.

use std::collections::BTreeMap;

use campaign::result::{AnswerState, CampaignResult, Figure, ResultState, RunLine};
use record::{Record, ValidityState};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::view::{HeadlineState, HeadlineView, ReasonView, RunView};
use crate::{Instant, assemble, merge};

/// What a page of a campaign is made of.
#[derive(Clone, Debug)]
pub struct CampaignInput {
    /// What came of it.
    pub result: CampaignResult,
    /// The records of its runs by their files as the document names them, which tells condition and measurement; those
    /// of runs that are not used as well, as far as they can be read.
    pub records: BTreeMap<String, Record>,
}

/// A campaign.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CampaignView {
    /// What `punctual campaign report --json` prints.
    pub document: CampaignResult,
    /// When it began.
    pub began: Option<Instant>,
    /// The node's time zone, an IANA name.
    pub time_zone: Option<String>,
    /// For each figure of the document all conditions in the order of its bars, each as one series with all samples of
    /// its usable runs; null where no record is known.
    pub distributions: Vec<Option<RunView>>,
    /// Why runs are not simply valid, the worst first, each once.
    pub reasons: Vec<CampaignReasonView>,
    /// For each run of the document why it is not simply valid.
    pub run_reasons: Vec<Vec<String>>,
}

/// Why some runs of a campaign are not simply valid.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CampaignReasonView {
    /// The reason, with what was seen first.
    pub reason: ReasonView,
    /// Runs that have it.
    pub runs: u64,
}

pub(crate) fn view(input: &CampaignInput) -> CampaignView {
    let document = &input.result;
    let first = document.runs.iter().find_map(|line| input.records.get(&line.file));
    CampaignView {
        document: document.clone(),
        began: document.began_ns.map(Instant),
        time_zone: first.and_then(|record| record.manifest.time_zone.clone()),
        distributions: document.figures.iter().map(|figure| distribution(input, figure)).collect(),
        reasons: reasons(input),
        run_reasons: document.runs.iter().map(|line| of_run(line, input)).collect(),
    }
}

fn is_usable(line: &RunLine) -> bool {
    line.validity != ValidityState::Invalid && line.unusable.is_none()
}

/// The curves of a figure. What was measured anew for the winners is no part of it, as it is none of its bars.
fn distribution(input: &CampaignInput, figure: &Figure) -> Option<RunView> {
    let lines = || {
        let of_figure = |line: &&RunLine| line.measurement == figure.measurement && !line.is_confirmation;
        input.result.runs.iter().filter(of_figure).filter(|line| is_usable(line))
    };
    let of_condition = |condition: &str| -> Vec<&Record> {
        lines().filter(|line| line.condition == condition).filter_map(|line| input.records.get(&line.file)).collect()
    };
    let groups: Vec<(&str, Vec<&Record>)> =
        figure.bars.iter().map(|bar| (bar.condition.as_str(), of_condition(&bar.condition))).collect();
    let mut together = (*groups.iter().find_map(|(_, runs)| runs.first())?).clone();
    together.validity = merge::validity(&groups);
    together.label.clone_from(&figure.title);
    together.verdict = None;
    together.manifest.requested.deadline_ns = None;
    together.worst = Vec::new();
    together.rows = Vec::new();
    together.series = (0_u32..)
        .zip(&groups)
        .map(|(thread, (_, runs))| {
            let is_it = |series: &record::Series| series.name == figure.series && series.variant == figure.variant;
            merge::series(&figure.series, &figure.variant, thread, runs.iter().flat_map(|run| &run.series), is_it)
        })
        .collect();
    let mut plot = assemble::run(&together);
    for (series, (condition, _)) in plot.series.iter_mut().zip(&groups) {
        (*condition).clone_into(&mut series.lane);
    }
    // It would be that of one run of many.
    plot.manifest = Value::Null;
    Some(plot)
}

fn reasons(input: &CampaignInput) -> Vec<CampaignReasonView> {
    let mut all: Vec<CampaignReasonView> = Vec::new();
    let mut seen: Vec<Vec<&str>> = Vec::new();
    let records = input.result.runs.iter().filter_map(|line| input.records.get(&line.file));
    for reason in records.flat_map(|record| record.validity.reasons()) {
        let one = assemble::reason(reason);
        if let Some(place) = all.iter().position(|known| known.reason.code == one.code) {
            all[place].runs += 1;
            if !seen[place].contains(&reason.detail.as_str()) {
                seen[place].push(&reason.detail);
            }
        } else {
            all.push(CampaignReasonView { reason: one, runs: 1 });
            seen.push(vec![&reason.detail]);
        }
    }
    for (one, details) in all.iter_mut().zip(&seen) {
        one.reason.detail = merge::some_of(details);
    }
    all.sort_by_key(|one| std::cmp::Reverse(one.reason.state));
    all
}

fn of_run(line: &RunLine, input: &CampaignInput) -> Vec<String> {
    let reasons = input.records.get(&line.file).map_or(&[][..], |record| record.validity.reasons());
    let told = reasons.iter().map(|reason| {
        let code = assemble::reason(reason).code;
        if reason.detail.is_empty() { code } else { format!("{code}: {}", reason.detail) }
    });
    line.unusable.iter().cloned().chain(told).collect()
}

pub(crate) fn headline(result: &CampaignResult) -> HeadlineView {
    let any = |state| result.answers.iter().any(|answer| answer.state == state);
    let (helps, harms, mixed) = (any(AnswerState::Helps), any(AnswerState::Harms), any(AnswerState::Mixed));
    let nothing = any(AnswerState::NoDifferenceShown);
    let is_unconfirmed = result
        .confirmation
        .iter()
        .any(|answer| !matches!(answer.state, AnswerState::Helps | AnswerState::NotMeasured));
    let (state, word) = if result.conditions.iter().all(|condition| condition.measured == 0) {
        (HeadlineState::Empty, "Nothing measured yet")
    } else if result.state == ResultState::Running {
        (HeadlineState::CannotTell, "Not complete yet")
    } else if helps && is_unconfirmed {
        (HeadlineState::CannotTell, "Not confirmed")
    } else if helps && (harms || mixed) {
        (HeadlineState::Holds, "Something helps, something harms")
    } else if helps {
        (HeadlineState::Holds, "Something helps")
    } else if harms {
        (HeadlineState::Broken, "Something harms")
    } else if mixed {
        (HeadlineState::CannotTell, "Helps in one, harms in another")
    } else if nothing {
        (HeadlineState::NoDeadline, "No difference shown")
    } else if result.answers.is_empty() {
        (HeadlineState::NoDeadline, "Measured")
    } else {
        (HeadlineState::CannotTell, "Cannot be told")
    };
    HeadlineView {
        state,
        word: word.to_owned(),
        sentence: result.headline.clone(),
        lines: result.lines.clone(),
        deadline_ns: None,
    }
}
