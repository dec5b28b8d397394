//! The result of a campaign.

mod document;
mod figures;
mod headline;
mod rehearsal;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use analysis::compare::{
    CompareError, CompareOptions, Comparison, ComparisonState, Group, PartState, WorstComparison, compare,
    least_runs_for_worst_case,
};
use record::Record;
use units::approx_f64;

pub use document::{
    Answer, AnswerState, Bar, CampaignResult, ConditionResult, Figure, RESULT_SCHEMA, RESULT_VERSION, ResultState,
    RunLine,
};

pub use rehearsal::{Rehearsal, RehearsalError, rehearse};

use crate::journal::State;
use crate::{Campaign, Layout, Phase, Visit};

/// Everything that a campaign's result is computed from.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The campaign as its file describes it.
    pub campaign: &'a Campaign,
    /// The state after its journal.
    pub state: &'a State,
    /// The records of the runs that count, by (visit, measurement).
    pub records: &'a BTreeMap<(usize, usize), &'a Record>,
    /// Number of resamples in each comparison.
    pub resamples: u32,
}

impl Campaign {
    /// Number of comparisons that share the probability of a false alarm: each condition with the baseline, and the
    /// winners together with it, for each compared measurement.
    #[must_use]
    pub fn comparisons(&self) -> usize {
        let each = self.conditions().len() - 1 + usize::from(self.confirm.is_some());
        let compared = self.measurement.iter().filter(|one| one.is_compared()).count();
        (each * compared).max(1)
    }

    /// The probability of a false alarm in each single comparison (Bonferroni: the total, divided by their number).
    #[must_use]
    pub fn level_each(&self) -> f64 {
        self.false_alarms / approx_f64(self.comparisons() as u64)
    }

    /// Least number of repetitions of each condition with which a difference can be shown: with this many, one of worst
    /// cases is shown if every run of one side is worse than every run of the other. With fewer, none can be shown.
    #[must_use]
    pub fn least_repetitions(&self) -> u32 {
        least_runs_for_worst_case(self.level_each())
    }
}

impl Evidence<'_> {
    /// The result so far.
    #[must_use]
    pub fn conclude(&self) -> CampaignResult {
        let campaign = self.campaign;
        let layout = campaign.layout(self.state.winners.as_deref());
        let answers = self.answers(&layout);
        let confirmation = self.confirmation(&layout);
        let conditions = self.conditions(&layout);
        let mut result = CampaignResult {
            schema: RESULT_SCHEMA.to_owned(),
            version: RESULT_VERSION,
            name: campaign.name.clone(),
            about: campaign.about.clone(),
            node: self.records.values().next().map_or_else(String::new, |run| run.manifest().node.hostname.clone()),
            state: ResultState::Running,
            headline: String::new(),
            lines: Vec::new(),
            seed: campaign.seed,
            repetitions: campaign.repetitions,
            false_alarms: campaign.false_alarms,
            comparisons: campaign.comparisons() as u64,
            level_each: campaign.level_each(),
            least_repetitions: campaign.least_repetitions(),
            least_repetitions_body: campaign.sight().map_or(0, |sight| sight.least_for_body),
            began_ns: self.state.began_ns,
            restarts: self.state.restarts,
            conditions,
            figures: self.figures(&layout),
            answers,
            confirmation,
            runs: self.runs(&layout),
            notes: Vec::new(),
        };
        result.state = self.progress(&layout);
        result.notes = self.notes(&result);
        headline::write(&mut result);
        result
    }

    fn progress(&self, layout: &Layout) -> ResultState {
        let all = layout.visits.len() * self.campaign.measurement.len();
        let done = layout.visits.iter().flat_map(|visit| {
            (0..self.campaign.measurement.len()).filter(|place| self.state.counted(visit.number, *place).is_some())
        });
        match &self.state.enough {
            Some(_) => ResultState::StoppedEarly,
            None if self.state.is_ended && done.count() == all => ResultState::Complete,
            None => ResultState::Running,
        }
    }

    /// The usable runs of a condition.
    fn usable_runs(&self, layout: &Layout, phase: Phase, condition: usize, measurement: usize) -> Vec<&Record> {
        let visits = layout.visits.iter().filter(|visit| visit.phase == phase && visit.condition == condition);
        visits.filter_map(|visit| self.usable(visit, measurement)).collect()
    }

    fn usable(&self, visit: &Visit, measurement: usize) -> Option<&Record> {
        self.state.counted(visit.number, measurement).filter(|ran| ran.is_usable())?;
        self.records.get(&(visit.number, measurement)).copied()
    }

    fn answers(&self, layout: &Layout) -> Vec<Answer> {
        let others = 1..self.campaign.conditions().len();
        let pairs = others.flat_map(|condition| (0..self.campaign.measurement.len()).map(move |one| (condition, one)));
        pairs.filter_map(|(condition, one)| self.answer(layout, Phase::Main, condition, one)).collect()
    }

    fn confirmation(&self, layout: &Layout) -> Vec<Answer> {
        let Some(together) = layout.together else { return Vec::new() };
        let all = 0..self.campaign.measurement.len();
        all.filter_map(|one| self.answer(layout, Phase::Confirmation, together, one)).collect()
    }

    /// A condition compared with the baseline; `None` for measurements that are not compared.
    fn answer(&self, layout: &Layout, phase: Phase, condition: usize, measurement: usize) -> Option<Answer> {
        let campaign = self.campaign;
        campaign.measurement.get(measurement).filter(|one| one.is_compared())?;
        let name = |place: usize| layout.conditions.get(place).map_or_else(String::new, |one| campaign.name_of(one));
        let group =
            |place: usize| Group { name: name(place), runs: self.usable_runs(layout, phase, place, measurement) };
        let (a, b) = (group(0), group(condition));
        let mut answer = Answer {
            condition: name(condition),
            place: condition as u64,
            measurement: campaign.measurement.get(measurement)?.name.clone(),
            state: AnswerState::NotMeasured,
            sentence: String::new(),
            is_set_apart: self.is_set_apart(layout, phase, condition),
            comparison: None,
        };
        if answer.is_set_apart == Some(false) && condition != 0 {
            "no other settings than for the first condition: the machine was already set so, or refused the change"
                .clone_into(&mut answer.sentence);
        }
        if a.runs.len() < 2 || b.runs.len() < 2 {
            // With one run per side only pieces of runs could be compared, which distinguishes runs, not conditions.
            let (runs_a, runs_b) = (a.runs.len(), b.runs.len());
            answer.sentence = format!("{runs_a} and {runs_b} runs: how much repetitions differ is not known yet");
            return Some(answer);
        }
        let options = CompareOptions {
            level: campaign.level_each(),
            resamples: self.resamples,
            seed: u64::from(campaign.seed) + 1,
            wanted_ns: None,
            margin_ns: campaign.margin.map(|margin| margin.0.unsigned()),
            // Taken from the runs, if all of them state one.
            deadline_ns: None,
        };
        match compare(&a, &b, &options) {
            Ok(comparison) => {
                answer.state = answer_state(&comparison);
                let said = std::mem::take(&mut answer.sentence);
                answer.sentence = if said.is_empty() {
                    comparison.verdict.reason.clone()
                } else {
                    format!("{} ({said})", comparison.verdict.reason)
                };
                answer.comparison = Some(comparison);
            }
            Err(CompareError::Unsupported(_)) => return None,
            Err(error) => answer.sentence = format!("not compared: {error}"),
        }
        Some(answer)
    }

    /// Whether the settings changed for a condition differ from those changed for the baseline. `None` before both were
    /// visited, or if the levels ask for the same settings.
    fn is_set_apart(&self, layout: &Layout, phase: Phase, condition: usize) -> Option<bool> {
        let intent = |place: usize| layout.conditions.get(place).and_then(|one| self.campaign.intent_of(one).ok());
        if intent(condition) == intent(0) {
            return None;
        }
        let changed = |place: usize| {
            let visits = layout.visits.iter().filter(|visit| visit.phase == phase && visit.condition == place);
            visits.filter_map(|visit| self.state.ready.get(&visit.number)).map(|(changed, _)| changed).next_back()
        };
        Some(changed(condition)? != changed(0)?)
    }

    fn conditions(&self, layout: &Layout) -> Vec<ConditionResult> {
        let one = |(place, condition): (usize, &crate::Condition)| {
            let visits = || layout.visits.iter().filter(move |visit| visit.condition == place);
            let counted = || {
                let places = 0..self.campaign.measurement.len();
                visits()
                    .flat_map(move |visit| places.clone().filter_map(move |one| self.state.counted(visit.number, one)))
            };
            let ready = visits().filter_map(|visit| self.state.ready.get(&visit.number)).next_back();
            let (changed, refused) = ready.cloned().unwrap_or_default();
            ConditionResult {
                name: self.campaign.name_of(condition),
                is_baseline: place == 0,
                is_winners_together: layout.together == Some(place) && place >= self.campaign.conditions().len(),
                planned: (visits().count() * self.campaign.measurement.len()) as u64,
                measured: counted().count() as u64,
                unusable: counted().filter(|ran| !ran.is_usable()).count() as u64,
                degraded: counted().filter(|ran| ran.validity == record::ValidityState::Degraded).count() as u64,
                changed,
                refused,
            }
        };
        layout.conditions.iter().enumerate().map(one).collect()
    }

    fn runs(&self, layout: &Layout) -> Vec<RunLine> {
        let mut lines = Vec::new();
        for visit in &layout.visits {
            for (place, measurement) in self.campaign.measurement.iter().enumerate() {
                let Some(ran) = self.state.counted(visit.number, place) else { continue };
                let attempts = self.state.ran.get(&(visit.number, place)).map_or(0, Vec::len);
                lines.push(RunLine {
                    number: visit.number as u64 + 1,
                    condition: layout
                        .conditions
                        .get(visit.condition)
                        .map_or_else(String::new, |condition| self.campaign.name_of(condition)),
                    is_confirmation: visit.phase == Phase::Confirmation,
                    measurement: measurement.name.clone(),
                    file: ran.file.clone(),
                    validity: ran.validity,
                    unusable: ran.unusable.clone(),
                    attempts: attempts as u64,
                });
            }
        }
        lines
    }

    fn notes(&self, result: &CampaignResult) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for left_out in &self.campaign.left_out {
            notes.push(format!("Left out on this machine: {left_out}."));
        }
        if let Some(why) = &self.state.enough {
            notes.push(format!("Ended early: {why}."));
        }
        let most = result.conditions.iter().map(|one| one.unusable).max().unwrap_or(0);
        if most > 0 {
            let each: Vec<String> = result
                .conditions
                .iter()
                .filter(|one| one.unusable > 0)
                .map(|one| format!("{} of {} of {}", one.unusable, one.measured, one.name))
                .collect();
            notes.push(format!(
                "Left out, since the runs are invalid or their settings changed: {}. If a condition itself makes runs \
                   invalid, the remaining runs look better than the condition is.",
                each.join("; ")
            ));
        }
        let compared = result.answers.iter().any(|answer| answer.comparison.is_some());
        let sight = self.campaign.sight().filter(|_| compared);
        if let Some(sight) = sight.filter(|sight| !sight.sees_worst_case()) {
            notes.push(format!(
                "With {} repetitions no difference can be shown, however large, if {} comparisons together may raise a \
                  false alarm once in {:.0} campaigns: that takes at least {} repetitions.",
                sight.repetitions,
                result.comparisons,
                1.0 / result.false_alarms,
                sight.least_for_worst_case
            ));
        } else if let Some(sight) = sight.filter(|sight| !sight.sees_body()) {
            notes.push(format!(
                  "With {} repetitions a single mean or quantile that differs may not be shown, however large: that takes \
                   at least {}.",
                sight.repetitions, sight.least_for_body
            ));
        }
        let trades = result.answers.iter().any(|answer| answer.state == AnswerState::Trade);
        if trades && self.campaign.confirm.is_some() {
            notes.push(
                "A TRADE is not measured again with the winners: you decide whether its gain is worth its price."
                    .to_owned(),
            );
        }
        notes
    }

    /// Indices of the conditions that helped, at most one for each factor.
    #[must_use]
    pub fn winners(&self) -> Vec<usize> {
        let layout = self.campaign.layout(None);
        let answers = self.answers(&layout);
        let mut best: BTreeMap<usize, (usize, f64)> = BTreeMap::new();
        for (place, condition) in layout.conditions.iter().enumerate().skip(1) {
            let its_answers = || answers.iter().filter(move |answer| answer.place == place as u64);
            if !wins(&its_answers().map(|answer| answer.state).collect::<Vec<_>>()) {
                continue;
            }
            let Some(factor) = condition.levels.iter().position(|level| *level != 0) else { continue };
            let gain = its_answers().filter_map(|answer| answer.comparison.as_ref()).map(gain).sum::<f64>();
            if best.get(&factor).is_none_or(|(_, known)| gain > *known) {
                best.insert(factor, (place, gain));
            }
        }
        best.into_values().map(|(place, _)| place).collect()
    }
}

/// Whether a condition with these answers, one for each measurement, is a winner and is measured again.
///
/// A worse worst case in any measurement excludes it, and so does a trade. A worse body excludes a condition that only
/// helps bodies elsewhere, since the worst case decides.
fn wins(states: &[AnswerState]) -> bool {
    let any = |state| states.contains(&state);
    if any(AnswerState::Harms) || any(AnswerState::Trade) {
        return false;
    }
    any(AnswerState::Helps) || (any(AnswerState::HelpsBody) && !any(AnswerState::HarmsBody))
}

/// Ranks levels of one factor that help. A level that helps the worst case ranks above one that only helps the body;
/// among equals, the larger reduction of the worst case (or the rate beyond the deadline), or of the mean, ranks
/// higher.
fn gain(comparison: &Comparison) -> f64 {
    let mean = comparison.quantities.iter().find(|row| row.name == "mean").and_then(|row| row.difference_percent);
    match comparison.verdict.worst_case {
        PartState::Better => 1_000.0 + removed_percent(&comparison.worst),
        PartState::Worse | PartState::NotBeyondMargin | PartState::NotShown | PartState::CannotTell => {
            -mean.unwrap_or(0.0)
        }
    }
}

/// Reduction of the deciding quantity, the worst case or the rate beyond the deadline (percent of A's).
fn removed_percent(worst: &WorstComparison) -> f64 {
    let Some(rate) = &worst.rate else { return -worst.median_difference_percent.unwrap_or(0.0) };
    let share = |beyond: &[u64], exposure: &[u64]| {
        let sum = |values: &[u64]| approx_f64(units::total(values.iter().copied()));
        sum(beyond) / sum(exposure).max(1.0)
    };
    let (a, b) = (share(&rate.a_beyond, &rate.a_exposure), share(&rate.b_beyond, &rate.b_exposure));
    if a > 0.0 { (1.0 - b / a) * 100.0 } else { 0.0 }
}

const fn answer_state(comparison: &Comparison) -> AnswerState {
    match comparison.verdict.state {
        ComparisonState::Worse => AnswerState::Harms,
        ComparisonState::Better => AnswerState::Helps,
        ComparisonState::Trade => AnswerState::Trade,
        ComparisonState::WorseBody => AnswerState::HarmsBody,
        ComparisonState::BetterBody => AnswerState::HelpsBody,
        ComparisonState::NotBeyondMargin => AnswerState::NotBeyondMargin,
        // Neither nearer to zero nor farther from it: the reason says where the samples lie.
        ComparisonState::NoDifferenceShown | ComparisonState::Elsewhere => AnswerState::NoDifferenceShown,
        ComparisonState::Invalid => AnswerState::NotMeasured,
    }
}
