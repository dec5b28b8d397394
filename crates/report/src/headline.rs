//! The headline of a page: that of its runs, of its comparison, of its campaign or of its calibration.

use summary::Headline;
use units::format;

use crate::page::Page;
use crate::view::{CalibrationOutcomeView, CalibrationView, HeadlineState, HeadlineView};
use crate::{campaign, comparison, together};

pub(crate) fn headline(page: &Page) -> HeadlineView {
    match page {
        Page::Calibration(calibration) => calibration_headline(calibration),
        Page::Comparison(input) => comparison::headline(&input.comparison),
        Page::Campaign(input) => campaign::headline(&input.result),
        Page::Together(input) => together::headline(input),
        Page::Runs(_) | Page::Assessment(..) | Page::Program(_) => {
            let measured = summary::Measured { assessment: page.assessment(), runs: page.runs() };
            let Headline { state, word, sentence, lines, deadline_ns } = summary::headline(&measured);
            HeadlineView { state, word, sentence, lines, deadline_ns: deadline_ns.map(Into::into) }
        }
    }
}

fn calibration_headline(calibration: &CalibrationView) -> HeadlineView {
    let count = |outcome| calibration.rows.iter().filter(|row| row.outcome == outcome).count();
    let (within, exceptions) = (count(CalibrationOutcomeView::Within), count(CalibrationOutcomeView::Exception));
    let injected = calibration.rows.len();
    let found = injected - count(CalibrationOutcomeView::NotFound);
    let held = calibration.checks.iter().filter(|check| check.holds).count();
    let (state, word) = if calibration.passes {
        (HeadlineState::Holds, "Calibrated")
    } else {
        (HeadlineState::Broken, "Not calibrated")
    };
    HeadlineView {
        state,
        word: word.to_owned(),
        sentence: format!(
            "{} found {} of {} known delays, {} of them within their bounds.",
            calibration.tool,
            format::count(found as u64),
            format::count(injected as u64),
            format::count(within as u64)
        ),
        lines: vec![
            format!(
                "Above a bound, but by no more than a colliding tick explains: {exceptions}, each listed. Wrong or not \
                 found: {}. {held} of {} checks of counts, clocks, baseline and controls hold.",
                injected - within - exceptions,
                calibration.checks.len()
            ),
            format!("Machine: {}.", calibration.machine),
        ],
        deadline_ns: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_that_fails_is_never_called_calibrated() {
        let row = |outcome| crate::CalibrationRowView {
            boot: "idle-0".to_owned(),
            condition: "idle".to_owned(),
            measurement: "wakeup".to_owned(),
            kind: "irqs-off".to_owned(),
            asked_length_ns: 20_000_i64.into(),
            truth_ns: 10_000_i64.into(),
            baseline_ns: 8_000_i64.into(),
            reading_ns: None,
            difference_ns: None,
            least_ns: (-1_000_i64).into(),
            most_ns: 5_000_i64.into(),
            exception_ns: 20_000_i64.into(),
            missed: None,
            outcome,
        };
        let calibration = |passes, outcome| CalibrationView {
            tool: "punctual 0.1.0".to_owned(),
            machine: "Linux".to_owned(),
            passes,
            rows: vec![row(CalibrationOutcomeView::Within), row(outcome)],
            checks: Vec::new(),
        };
        let headline_of = |view| headline(&Page::Calibration(view));
        let bad = headline_of(calibration(false, CalibrationOutcomeView::NotFound));
        assert_eq!((bad.state, bad.word.as_str()), (HeadlineState::Broken, "Not calibrated"));
        assert!(bad.sentence.contains("found 1 of 2 known delays"), "{}", bad.sentence);
        let good = headline_of(calibration(true, CalibrationOutcomeView::Exception));
        assert_eq!((good.state, good.word.as_str()), (HeadlineState::Holds, "Calibrated"));
        assert!(good.lines[0].contains("explains: 1, each"), "{}", good.lines[0]);
    }
}
