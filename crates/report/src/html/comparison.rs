//! A comparison on the plain page.

use std::fmt::Write as _;

use analysis::compare::Comparison;
use summary::comparison::{ComparedRow, ComparedRows, GroupRow, tables};

use super::escape;
use super::table::{self, Column};

/// Writes both groups, and their quantities side by side.
pub(super) fn plain_comparison(page: &mut String, comparison: &Comparison) {
    let tables = tables(comparison);
    let _ = writeln!(page, "<section><h2>A: {}, B: {}</h2>", escape(&comparison.a.name), escape(&comparison.b.name));
    groups(page, tables.groups);
    if !tables.side_by_side.rows.is_empty() {
        compared(page, tables.side_by_side);
        // Of too few runs the summary above said so.
        if !comparison.has_too_few_runs() {
            let _ = writeln!(page, "<p>Worst cases: {}.</p>", escape(&comparison.worst.note));
        }
    }
    if let Some(with_sign) = tables.with_sign {
        page.push_str("<p>These are distances from zero, either way. With their sign:</p>\n");
        compared(page, with_sign);
    }
    if let Some(rate) = &comparison.worst.rate {
        let deadline = units::format::latency(rate.deadline_ns);
        let _ = writeln!(page, "<p>Beyond {deadline}: {}.</p>", escape(&rate.text));
    }
    page.push_str("</section>\n");
}

fn groups(page: &mut String, groups: Vec<GroupRow>) {
    let columns = [
        Column::Words(""),
        Column::Words("group"),
        Column::Words("validity"),
        Column::Figures("runs"),
        Column::Figures("samples"),
        Column::Figures("time"),
        Column::Figures("missed periods"),
        Column::Figures("worst"),
    ];
    let row = |GroupRow { letter, name, validity, runs, samples, time, missed, worst }| {
        vec![Some(letter), Some(name), Some(validity), Some(runs), Some(samples), time, missed, worst]
    };
    table::plain(page, &columns, groups.into_iter().map(row));
}

fn compared(page: &mut String, compared: ComparedRows) {
    let ComparedRows { of, interval, is_judged, rows } = compared;
    let judged = |column: Column<'static>| is_judged.then_some(column);
    let columns = [
        Some(Column::Words(&of)),
        judged(Column::Words("shown")),
        Some(Column::Figures("A")),
        Some(Column::Figures("B")),
        Some(Column::Figures("B - A")),
        judged(Column::Figures("in %")),
        Some(Column::Figures(&interval)),
        Some(Column::Figures("p")),
    ];
    let row = |ComparedRow { name, a, b, difference, percent, interval, p, shown }| {
        let judged = |cell: Option<String>| is_judged.then_some(cell);
        let shown = Some(shown.unwrap_or_default());
        let cells = [
            Some(Some(name)),
            judged(shown),
            Some(a),
            Some(b),
            Some(difference),
            judged(percent),
            Some(interval),
            Some(p),
        ];
        cells.into_iter().flatten().collect()
    };
    let columns: Vec<Column<'_>> = columns.into_iter().flatten().collect();
    table::plain(page, &columns, rows.into_iter().map(row));
}
