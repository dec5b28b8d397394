//! What came of a campaign.

mod document;
mod figures;
mod headline;
mod rehearsal;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use analyse::compare::{
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

/// All that a campaign's result is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Its file.
    pub campaign: &'a Campaign,
    /// Its journal.
    pub state: &'a State,
    /// The records of the runs that count, by visit and measurement.
    pub records: &'a BTreeMap<(usize, usize), &'a Record>,
    /// How often to resample in each comparison.
    pub resamples: u32,
}

impl Campaign {
    /// How many comparisons share the probability of a false alarm: each condition with the first, for each measurement,
    /// and the winners together.
    #[must_use]
    pub fn comparisons(&self) -> usize {
        let each = self.conditions().len() - 1 + usize::from(self.confirm.is_some());
        let compared = self.measurement.iter().filter(|one| one.is_compared()).count();
        (each * compared).max(1)
    }

    /// The probability of a false alarm of each comparison, so that all together keep theirs (Bonferroni).
    #[must_use]
    pub fn level_each(&self) -> f64 {
        self.false_alarms / approx_f64(self.comparisons() as u64)
    }

    /// With fewer repetitions of each condition no difference can be shown, however great; with so many one of worst cases
    /// can, where all are apart.
    #[must_use]
    pub fn least_repetitions(&self) -> u32 {
        least_runs_for_worst_case(self.level_each())
    }
}

impl Evidence<'_> {
    /// What came of it, so far.
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
        result.state = self.state_of(&layout);
        result.notes = self.notes(&result);
        headline::write(&mut result);
        result
    }

    fn state_of(&self, layout: &Layout) -> ResultState {
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
    fn of(&self, layout: &Layout, phase: Phase, condition: usize, measurement: usize) -> Vec<&Record> {
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

    /// A condition against the first; nothing for measurements that are not compared.
    fn answer(&self, layout: &Layout, phase: Phase, condition: usize, measurement: usize) -> Option<Answer> {
        let campaign = self.campaign;
        campaign.measurement.get(measurement).filter(|one| one.is_compared())?;
        let name = |place: usize| layout.conditions.get(place).map_or_else(String::new, |one| campaign.name_of(one));
        let group = |place: usize| Group { name: name(place), runs: self.of(layout, phase, place, measurement) };
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
            "nothing else was set for it than for the first condition: the machine was so already, or refused it"
                .clone_into(&mut answer.sentence);
        }
        if a.runs.len() < 2 || b.runs.len() < 2 {
            // Pieces of one run each would be compared, which tells runs apart and not conditions.
            let (of_a, of_b) = (a.runs.len(), b.runs.len());
            answer.sentence = format!("{of_a} and {of_b} runs: how much repetitions differ is not known yet");
            return Some(answer);
        }
        let options = CompareOptions {
            level: campaign.level_each(),
            resamples: self.resamples,
            seed: u64::from(campaign.seed) + 1,
            wanted_ns: None,
            margin_ns: campaign.margin.map(|margin| margin.0.unsigned()),
            // That of the runs, where all state one.
            deadline_ns: None,
        };
        match compare(&a, &b, &options) {
            Ok(comparison) => {
                answer.state = state_of(&comparison);
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

    /// Whether other settings were changed for a condition than for the first; unknown before both were visited, and
    /// nothing to ask where its levels set the same.
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
                "Left out, since they do not mean what was asked: {}. Where a condition itself makes runs invalid, what is \
                 left is better than it was.",
                each.join("; ")
            ));
        }
        let compared = result.answers.iter().any(|answer| answer.comparison.is_some());
        let sight = self.campaign.sight().filter(|_| compared);
        if let Some(sight) = sight.filter(|sight| !sight.sees_worst_case()) {
            notes.push(format!(
                "With {} repetitions no difference can be shown, however great, where {} comparisons together may \
                 raise a false alarm once in {:.0}: that takes at least {} repetitions.",
                sight.repetitions,
                result.comparisons,
                1.0 / result.false_alarms,
                sight.least_for_worst_case
            ));
        } else if let Some(sight) = sight.filter(|sight| !sight.sees_body()) {
            notes.push(format!(
                "With {} repetitions a mean or quantile that differs alone may not be shown, however great: that takes at \
                 least {}.",
                sight.repetitions, sight.least_for_body
            ));
        }
        let trades = result.answers.iter().any(|answer| answer.state == AnswerState::Trade);
        if trades && self.campaign.confirm.is_some() {
            notes.push(
                "A TRADE is not measured again with the winners: whether its gain is worth its price is for you to say."
                    .to_owned(),
            );
        }
        notes
    }

    /// The conditions that helped, at most one of each factor, by their places.
    #[must_use]
    pub fn winners(&self) -> Vec<usize> {
        let layout = self.campaign.layout(None);
        let answers = self.answers(&layout);
        let mut best: BTreeMap<usize, (usize, f64)> = BTreeMap::new();
        for (place, condition) in layout.conditions.iter().enumerate().skip(1) {
            let of_place = || answers.iter().filter(move |answer| answer.place == place as u64);
            if !wins(&of_place().map(|answer| answer.state).collect::<Vec<_>>()) {
                continue;
            }
            let Some(factor) = condition.levels.iter().position(|level| *level != 0) else { continue };
            let gain = of_place().filter_map(|answer| answer.comparison.as_ref()).map(gain).sum::<f64>();
            if best.get(&factor).is_none_or(|(_, known)| gain > *known) {
                best.insert(factor, (place, gain));
            }
        }
        best.into_values().map(|(place, _)| place).collect()
    }
}

/// Whether a condition with these answers, one for each measurement, is measured again. A worst case that is worse anywhere
/// bars it, and so does a trade. A body that is worse elsewhere bars what helps bodies alone, since the worst case decides.
fn wins(states: &[AnswerState]) -> bool {
    let any = |state| states.contains(&state);
    if any(AnswerState::Harms) || any(AnswerState::Trade) {
        return false;
    }
    any(AnswerState::Helps) || (any(AnswerState::HelpsBody) && !any(AnswerState::HarmsBody))
}

/// Which of two levels that help is taken: one that helps the worst case before one that helps the body alone, then by how
/// much of A's worst case (or rate beyond the deadline), or of its mean, is gone.
fn gain(comparison: &Comparison) -> f64 {
    let mean = comparison.quantities.iter().find(|row| row.name == "mean").and_then(|row| row.difference_percent);
    match comparison.verdict.worst_case {
        PartState::Better => 1_000.0 + removed_percent(&comparison.worst),
        PartState::Worse | PartState::NotBeyondMargin | PartState::NotShown | PartState::CannotTell => {
            -mean.unwrap_or(0.0)
        }
    }
}

/// How much of what decides is gone (per cent of A's).
fn removed_percent(worst: &WorstComparison) -> f64 {
    let Some(rate) = &worst.rate else { return -worst.median_difference_percent.unwrap_or(0.0) };
    let share = |beyond: &[u64], exposure: &[u64]| {
        let sum = |values: &[u64]| approx_f64(units::total(values.iter().copied()));
        sum(beyond) / sum(exposure).max(1.0)
    };
    let (a, b) = (share(&rate.a_beyond, &rate.a_exposure), share(&rate.b_beyond, &rate.b_exposure));
    if a > 0.0 { (1.0 - b / a) * 100.0 } else { 0.0 }
}

const fn state_of(comparison: &Comparison) -> AnswerState {
    match comparison.verdict.state {
        ComparisonState::Worse => AnswerState::Harms,
        ComparisonState::Better => AnswerState::Helps,
        ComparisonState::Trade => AnswerState::Trade,
        ComparisonState::WorseBody => AnswerState::HarmsBody,
        ComparisonState::BetterBody => AnswerState::HelpsBody,
        ComparisonState::NotBeyondMargin => AnswerState::NotBeyondMargin,
        ComparisonState::NoDifferenceShown => AnswerState::NoDifferenceShown,
        ComparisonState::Invalid => AnswerState::NotMeasured,
    }
}
