//! The view of a campaign: its document, and all conditions of each figure as curves of one plot.

use campaign::result::{AnswerState, CampaignResult, Figure, ResultState, RunLine};
use record::{Record, ValidityState};
use serde_json::Value;
use summary::run::ReasonSummary;

use crate::exact::Instant;
use crate::page::CampaignInput;
use crate::view::{CampaignReasonView, CampaignView, HeadlineState, HeadlineView, ReasonView, RunView};
use crate::{merge, run};

pub(crate) fn view(input: &CampaignInput) -> CampaignView {
    let document = &input.result;
    let first = document.runs.iter().find_map(|line| input.records.get(&line.file));
    CampaignView {
        document: document.clone(),
        tables: summary::campaign::tables(document),
        began: document.began_ns.map(Instant),
        time_zone: first.and_then(|record| record.manifest().time_zone.clone()),
        distributions: document.figures.iter().map(|figure| distribution(input, figure)).collect(),
        reasons: reasons(input),
        run_reasons: document.runs.iter().map(|line| run_reasons(line, input)).collect(),
    }
}

fn is_usable(line: &RunLine) -> bool {
    line.validity != ValidityState::Invalid && line.unusable.is_none()
}

/// The curves of a figure. Like its bars, they exclude the confirmation runs of the winners.
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
    together.manifest_mut().requested.deadline_ns = None;
    together.worst = Vec::new();
    together.rows = Vec::new();
    together.series = (0_u32..)
        .zip(&groups)
        .map(|(thread, (_, runs))| {
            let is_drawn = |series: &record::Series| series.name == figure.series && series.variant == figure.variant;
            merge::series(&figure.series, &figure.variant, thread, runs.iter().flat_map(|run| &run.series), is_drawn)
        })
        .collect();
    let mut plot = run::run(&together);
    for (series, (condition, _)) in plot.series.iter_mut().zip(&groups) {
        (*condition).clone_into(&mut series.lane);
    }
    // The manifest would be that of only one of many runs.
    plot.manifest = Value::Null;
    Some(plot)
}

fn reasons(input: &CampaignInput) -> Vec<CampaignReasonView> {
    let mut all: Vec<CampaignReasonView> = Vec::new();
    let mut seen: Vec<Vec<&str>> = Vec::new();
    let records = input.result.runs.iter().filter_map(|line| input.records.get(&line.file));
    for reason in records.flat_map(|record| record.validity.reasons()) {
        let one = ReasonView::from(ReasonSummary::from(reason));
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

fn run_reasons(line: &RunLine, input: &CampaignInput) -> Vec<String> {
    let reasons = input.records.get(&line.file).map_or(&[][..], |record| record.validity.reasons());
    let described = reasons.iter().map(|reason| {
        let code = ReasonSummary::from(reason).code;
        if reason.detail.is_empty() { code } else { format!("{code}: {}", reason.detail) }
    });
    line.unusable.iter().cloned().chain(described).collect()
}

pub(crate) fn headline(result: &CampaignResult) -> HeadlineView {
    let any = |state| result.answers.iter().any(|answer| answer.state == state);
    let (helps, harms, trade) = (any(AnswerState::Helps), any(AnswerState::Harms), any(AnswerState::Trade));
    let (helps_body, harms_body) = (any(AnswerState::HelpsBody), any(AnswerState::HarmsBody));
    let nothing = any(AnswerState::NoDifferenceShown) || any(AnswerState::NotBeyondMargin);
    let (state, word) = if result.conditions.iter().all(|condition| condition.measured == 0) {
        (HeadlineState::Empty, "Nothing measured yet")
    } else if result.state == ResultState::Running {
        (HeadlineState::CannotTell, "Not complete yet")
    } else if (helps || helps_body) && result.is_confirmed() == Some(false) {
        (HeadlineState::CannotTell, "Not confirmed")
    } else if helps && (harms || trade) {
        (HeadlineState::Holds, "Something helps, something harms")
    } else if helps {
        (HeadlineState::Holds, "Something helps")
    } else if harms {
        (HeadlineState::Broken, "Something harms")
    } else if trade {
        (HeadlineState::CannotTell, "A trade: worst case against body")
    } else if harms_body {
        (HeadlineState::Broken, "Something harms the body")
    } else if helps_body {
        (HeadlineState::NoDeadline, "Something helps the body")
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use campaign::result::{Answer, Bar, ConditionResult};
    use record::{Histogram, ReasonCode, Validity};

    use super::*;
    use crate::{Exact, Generated, Page, ReportInput, render_html};
    use samples::run_of;

    fn line(file: &str, condition: &str) -> RunLine {
        RunLine {
            number: 1,
            condition: condition.to_owned(),
            is_confirmation: false,
            measurement: "idle".to_owned(),
            file: file.to_owned(),
            validity: ValidityState::Valid,
            unusable: None,
            attempts: 1,
        }
    }

    fn bar(condition: &str) -> Bar {
        Bar {
            condition: condition.to_owned(),
            runs: 1,
            samples: 1,
            min_ns: -3,
            mean_ns: 2.0,
            sd_ns: None,
            max_ns: 3,
            maxima_ns: vec![3],
        }
    }

    fn answer(state: AnswerState) -> Answer {
        Answer {
            condition: "<b>".to_owned(),
            place: 1,
            measurement: "idle".to_owned(),
            state,
            sentence: "s".to_owned(),
            is_set_apart: None,
            comparison: None,
        }
    }

    fn result(runs: Vec<RunLine>) -> CampaignResult {
        let condition = ConditionResult {
            name: "a".to_owned(),
            is_baseline: true,
            is_winners_together: false,
            planned: 2,
            measured: 1,
            unusable: 0,
            degraded: 0,
            changed: Vec::new(),
            refused: Vec::new(),
        };
        CampaignResult {
            schema: String::new(),
            version: 1,
            name: "n".to_owned(),
            about: String::new(),
            node: String::new(),
            state: ResultState::Complete,
            headline: "The sentence.".to_owned(),
            lines: vec!["a line".to_owned()],
            seed: 0,
            repetitions: 2,
            false_alarms: 0.01,
            comparisons: 1,
            level_each: 0.01,
            least_repetitions: 6,
            least_repetitions_body: 7,
            began_ns: Some(i64::MAX),
            restarts: 0,
            conditions: vec![condition],
            figures: vec![Figure {
                title: "Idle".to_owned(),
                measurement: "idle".to_owned(),
                series: "scheduled_to_woke".to_owned(),
                variant: String::new(),
                bars: vec![bar("a"), bar("b")],
            }],
            answers: Vec::new(),
            confirmation: Vec::new(),
            runs,
            notes: Vec::new(),
        }
    }

    /// Two runs of a, one of b, and one run of each sort that a figure must exclude.
    fn input() -> CampaignInput {
        let mut throttled = Validity::default();
        throttled.add(ReasonCode::RtThrottled, "CPU 1");
        let mut negative = run_of("b1", &[30], Validity::default());
        let mut below = Histogram::new();
        below.record_n(9, 4);
        negative.series[0].below_zero = Some(below);
        let runs = [
            (line("a1", "a"), run_of("a1", &[10, 11], Validity::default())),
            (line("a2", "a"), run_of("a2", &[12], Validity::default())),
            (line("b1", "b"), negative),
            (RunLine { validity: ValidityState::Invalid, ..line("a3", "a") }, run_of("a3", &[999], throttled)),
            (
                RunLine { unusable: Some("changed".to_owned()), ..line("a4", "a") },
                run_of("a4", &[999], Validity::default()),
            ),
            (RunLine { is_confirmation: true, ..line("a5", "a") }, run_of("a5", &[999], Validity::default())),
            (RunLine { measurement: "busy".to_owned(), ..line("a6", "a") }, run_of("a6", &[999], Validity::default())),
        ];
        let records = runs.iter().map(|(line, record)| (line.file.clone(), record.clone())).collect();
        CampaignInput { result: result(runs.into_iter().map(|(line, _)| line).collect()), records }
    }

    #[test]
    fn a_curve_contains_exactly_the_usable_runs_of_its_condition() {
        let view = view(&input());
        let plot = view.distributions[0].as_ref().unwrap();
        let drawn: Vec<(&str, Exact, Option<Exact>)> =
            plot.series.iter().map(|one| (one.lane.as_str(), one.histogram.count, one.histogram.max_ns)).collect();
        let exact = |n: u64| Exact::from(n);
        assert_eq!(drawn, [("a", exact(3), Some(exact(12))), ("b", exact(1), Some(exact(30)))]);
        assert_eq!(plot.series[1].below_zero.as_ref().map(|below| below.count), Some(exact(4)));
        assert_eq!(plot.state, crate::StateView::Valid, "an invalid run is not part of it");
    }

    #[test]
    fn every_unused_run_has_its_reasons() {
        let view = view(&input());
        let reasons: Vec<String> = view.run_reasons.iter().map(|reasons| reasons.join("; ")).collect();
        assert_eq!(reasons, ["", "", "", "rt-throttled: CPU 1", "changed", "", ""]);
        assert_eq!((view.reasons.len(), view.reasons[0].runs), (1, 1));
    }

    #[test]
    fn without_records_the_numbers_are_still_shown() {
        let view = view(&CampaignInput { records: BTreeMap::new(), ..input() });
        assert!(view.distributions[0].is_none());
        assert_eq!((view.document.figures[0].bars.len(), view.run_reasons.len()), (2, 7));
    }

    #[test]
    fn the_headline_claims_no_more_than_was_shown() {
        use AnswerState::{Harms, Helps, HelpsBody, NoDifferenceShown, NotBeyondMargin, NotMeasured, Trade};
        use HeadlineState::{Broken, CannotTell, Holds, NoDeadline};
        let headline_of = |states: &[AnswerState], confirmation: &[AnswerState], state| {
            let all = |states: &[AnswerState]| states.iter().map(|state| answer(*state)).collect();
            let (answers, confirmation) = (all(states), all(confirmation));
            let headline = headline(&CampaignResult { answers, confirmation, state, ..result(Vec::new()) });
            (headline.state, headline.word)
        };
        let complete = |states: &[AnswerState]| headline_of(states, &[], ResultState::Complete);
        assert_eq!(complete(&[Helps, NoDifferenceShown]), (Holds, "Something helps".to_owned()));
        assert_eq!(complete(&[Harms, Helps]).1, "Something helps, something harms");
        assert_eq!(complete(&[Harms, NoDifferenceShown]), (Broken, "Something harms".to_owned()));
        assert_eq!(complete(&[Trade]), (CannotTell, "A trade: worst case against body".to_owned()));
        assert_eq!(complete(&[HelpsBody, NotBeyondMargin]), (NoDeadline, "Something helps the body".to_owned()));
        assert_eq!(complete(&[NotBeyondMargin]), (NoDeadline, "No difference shown".to_owned()));
        assert_eq!(complete(&[NoDifferenceShown, NotMeasured]), (NoDeadline, "No difference shown".to_owned()));
        assert_eq!(complete(&[NotMeasured]).0, CannotTell);
        assert_eq!(complete(&[]), (NoDeadline, "Measured".to_owned()));
        assert_eq!(headline_of(&[Helps], &[NoDifferenceShown], ResultState::Complete).1, "Not confirmed");
        assert_eq!(headline_of(&[Helps], &[Helps], ResultState::StoppedEarly).0, Holds);
        assert_eq!(headline_of(&[Helps], &[], ResultState::Running), (CannotTell, "Not complete yet".to_owned()));
        let mut nothing = result(Vec::new());
        nothing.conditions[0].measured = 0;
        assert_eq!(headline(&nothing).state, HeadlineState::Empty);
    }

    #[test]
    fn the_plain_page_shows_answers_and_figures() {
        let mut input = input();
        input.result.answers = vec![answer(AnswerState::Harms)];
        let page = Page::Campaign(Box::new(input));
        let page = render_html(&ReportInput { title: "t".to_owned(), page, generated: Generated::default() });
        let plain = page.split("<script").next().unwrap();
        assert!(plain.contains("<td>&lt;b&gt;</td><td>idle</td><td>HARMS</td>"), "{plain}");
        assert!(plain.contains("<td class=\"number\">-3 ns</td>"), "the smallest is below zero");
        assert!(page.contains("\"began\":\"9223372036854775807\""), "a time keeps all its digits");
    }
}
