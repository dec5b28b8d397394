//! Predicted worst cases on the plain page.

use std::fmt::Write as _;

use summary::tail::{CauseRow, ExpectationRow};

use super::escape;
use super::table::{self, Column};
use crate::view::TailView;

/// Writes what each run predicts; nothing if there is none that could.
pub(super) fn plain_tails(page: &mut String, tails: &[&TailView]) {
    if tails.is_empty() {
        return;
    }
    page.push_str("<section><h2>How sure, how long</h2>\n");
    for tail in tails {
        let _ = writeln!(page, "<p><b>{}</b>: {}</p>", escape(&tail.label), escape(&tail.sentence));
        if let Some(claim) = &tail.claim {
            let _ = writeln!(page, "<p><b>Claim: {}.</b> {}</p>", escape(&claim.word), escape(&claim.sentence));
        }
        expectations(page, tail);
        causes(page, tail);
        let _ = writeln!(page, "<p>{}</p>", escape(&tail.model_free));
    }
    page.push_str("</section>\n");
}

fn expectations(page: &mut String, tail: &TailView) {
    let rows = tail.expectations.iter().map(|one| one.words.clone());
    let rows: Vec<ExpectationRow> = rows.filter(|row| row.interval.is_some() || row.refusal.is_some()).collect();
    if rows.iter().all(|row| row.interval.is_none()) {
        // The sentence says why.
        return;
    }
    let columns = [
        Column::Words("within"),
        Column::Figures("typical worst"),
        Column::Figures(&tail.interval),
        Column::Figures("beyond the worst seen"),
        Column::Words("by, or why not"),
    ];
    let row = |ExpectationRow { within, typical, interval, beyond_worst_seen, by, refusal }| {
        vec![Some(within), typical, interval, beyond_worst_seen, refusal.or(by)]
    };
    table::plain(page, &columns, rows.into_iter().map(row));
}

fn causes(page: &mut String, tail: &TailView) {
    let Some(by_cause) = &tail.by_cause else { return };
    let _ = writeln!(
        page,
        "<p>{}</p>\n<p>Causes of the samples above {}:</p>",
        escape(&by_cause.sentence),
        escape(&by_cause.table.above)
    );
    let columns = [
        Column::Words("cause"),
        Column::Figures("samples"),
        Column::Figures("times a day (90 %)"),
        Column::Figures("worst"),
        Column::Figures("worst left without it"),
    ];
    let row = |CauseRow { cause, samples, times_a_day, worst, worst_left }| {
        vec![Some(cause), Some(samples), Some(times_a_day), Some(worst), worst_left]
    };
    table::plain(page, &columns, by_cause.table.rows.iter().cloned().map(row));
}
