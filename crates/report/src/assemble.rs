//! Puts the data of a page together.

use analysis::tail::ClaimAnswer;
use summary::{Assessment, Measured, is_line_of_causes, late_table};

use crate::exact::{Exact, Instant, safe_integers};
use crate::headline::headline;
use crate::page::{Page, ReportInput, Results};
use crate::view::{
    AssessmentView, ChangeView, GeneratedView, HeadlineState, LateCauseView, LateCausesView, PageView, ResultsView,
    RunView, SCHEMA, TotalsView, VERSION, View,
};
use crate::{
    answer, campaign, comparison, conditions, explanation, load, overview, packet, program, pulse, rhythm, run, sync,
    tail, together,
};

impl View {
    /// Assembles the data that the page embeds.
    #[must_use]
    pub fn new(input: &ReportInput) -> Self {
        view(input)
    }
}

fn view(input: &ReportInput) -> View {
    let mut headline = headline(&input.page);
    let page = page(&input.page, headline.state);
    // The table of causes stands in the place of the sentence about them.
    let has_causes = page.results().is_some_and(|results| results.late_causes.is_some());
    if has_causes || headline.state == HeadlineState::Holds {
        headline.lines.retain(|line| !is_line_of_causes(line));
    }
    View {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        title: input.title.clone(),
        generated: GeneratedView {
            tool: format!("{} {}", input.generated.tool.name, input.generated.tool.version).trim().to_owned(),
            realtime_ns: Instant(input.generated.realtime_ns),
            time_zone: input.generated.time_zone.clone(),
        },
        headline,
        conditions: conditions::of_page(&input.page),
        page,
    }
}

fn page(page: &Page, state: HeadlineState) -> PageView {
    let results = |measured, claim| results(page, measured, claim, state);
    match page {
        Page::Runs(measured) => PageView::Runs { results: results(measured, None) },
        Page::Program(measured) => PageView::Program { results: results(measured, None) },
        Page::Assessment(concluded, measured) => {
            let results = results(measured, concluded.claim.as_ref());
            PageView::Assessment { assessment: assessment(concluded), results }
        }
        Page::Together(input) => {
            PageView::Together { together: Box::new(together::view(input)), results: results(&input.results, None) }
        }
        Page::Comparison(input) => PageView::Comparison { comparison: comparison::view(input).map(Box::new) },
        Page::Campaign(input) => PageView::Campaign { campaign: Box::new(campaign::view(input)) },
        Page::Calibration(calibration) => PageView::Calibration { calibration: calibration.clone() },
    }
}

fn assessment(assessment: &Assessment) -> AssessmentView {
    let change = |change: &summary::Change| ChangeView {
        title: change.title.clone(),
        why: change.why.clone(),
        how: change.how.clone(),
        finding: change.finding.clone(),
        removes_share_of_beyond: change.removes_share_of_beyond,
        worst_ns: change.worst_ns.map(Exact::from),
        sureness: change.sureness.map(|sureness| sureness.word().to_owned()),
        basis_samples: change.basis_samples.map(Exact::from),
    };
    AssessmentView {
        changes_heading: assessment.changes_heading().to_owned(),
        changes: assessment.changes.iter().map(change).collect(),
    }
}

fn results(page: &Page, results: &Results, claim: Option<&ClaimAnswer>, state: HeadlineState) -> ResultsView {
    let runs = results.runs.iter().map(|record| RunView {
        explanation: explanation::view(record),
        rhythm: rhythm::view(record),
        program: program::view(record),
        sync: sync::view(record),
        packets: packet::view(record),
        pulses: pulse::view(record),
        answers: answer::view(record),
        load: load::view(record),
        ..run::run(record)
    });
    ResultsView {
        overview: overview::view(page),
        runs: runs.collect(),
        totals: page.measured().and_then(|measured| totals(&measured)),
        late_causes: page.measured().and_then(|measured| late_causes(&measured, state)),
        tails: tail::views(&results.runs, claim),
        findings: results.findings.clone(),
        profile: results.profile.as_ref().map(safe_integers),
    }
}

fn totals(measured: &Measured<'_>) -> Option<TotalsView> {
    summary::totals::of_wakeups(measured).map(|totals| TotalsView {
        what: totals.what.to_owned(),
        samples: totals.samples.into(),
        beyond: totals.beyond.map(Into::into),
        observed_ns: totals.observed_ns.into(),
        missed_periods: totals.missed_periods.map(Into::into),
        runs: totals.runs.into(),
        invalid_runs: totals.invalid_runs.into(),
        sentence: totals.words(),
    })
}

fn late_causes(measured: &Measured<'_>, state: HeadlineState) -> Option<LateCausesView> {
    let table = late_table(measured, state == HeadlineState::Holds)?;
    let rows = table.rows.into_iter().map(|row| LateCauseView {
        cause: row.cause,
        certainty: row.certainty,
        samples: row.samples.into(),
        share: row.share,
        percent: row.percent,
        worst_ns: row.worst_ns.map(Into::into),
        remedy: row.remedy,
        finding: row.finding,
    });
    Some(LateCausesView {
        heading: table.heading,
        of: table.of,
        total: table.total.into(),
        rows: rows.collect(),
        notes: table.notes,
    })
}
