//! Nodes that act together, their witnesses and sweeps, for readers without scripts.

use std::fmt::Write as _;

use summary::together::{PulseRow, ScenarioColumn};
use units::format;

use super::escape;
use super::table::{self, Column};
use crate::exact::Exact;
use crate::view::{LeadRowView, ShiftFiguresView, ShiftPairView, ShiftView, SweepView, TogetherView};

/// Writes what witnesses saw, what sweeps came to, and both beside what others published.
pub(super) fn plain_together(page: &mut String, together: &TogetherView) {
    for shift in &together.shifts {
        plain_shift(page, shift);
    }
    for sweep in &together.sweeps {
        plain_sweep(page, sweep);
    }
    page.push_str("<section><h2>Beside what others have published</h2>\n");
    rows(page, "Shift between nodes, without its sign", &together.shift_rows);
    let _ = writeln!(page, "<p>Published: {}.</p>", escape(&together.rows_source));
    if !together.own_rows.is_empty() {
        rows(page, "What the nodes say of themselves: no shift", &together.own_rows);
    }
    columns(page, "Cost of setting and clearing a line", &together.costs);
    columns(page, "Shift between nodes by scenario", &together.apart);
    if !together.costs.is_empty() || !together.apart.is_empty() {
        let _ = writeln!(page, "<p>Published: {}.</p>", escape(&together.columns_source));
    }
    page.push_str("</section>\n");
}

fn sentence(page: &mut String, words: &str) {
    let _ = writeln!(page, "<p>{}.</p>", escape(words.trim_end_matches('.')));
}

fn latency(ns: f64) -> String {
    format::latency(units::round_i64(ns))
}

fn plain_shift(page: &mut String, shift: &ShiftView) {
    let is_invalid = !shift.contradictions.is_empty();
    let doubt = if is_invalid { " (invalid: not a result)" } else { "" };
    let _ = writeln!(page, "<section><h2>Shift by a witness: {}{doubt}</h2>", escape(&shift.name));
    for contradiction in &shift.contradictions {
        sentence(page, contradiction);
    }
    sentence(page, &shift.about);
    if !is_invalid {
        sentence(page, &shift.sentence);
    }
    let head = [
        Column::Words("node"),
        Column::Figures("orders"),
        Column::Figures("min"),
        Column::Figures("mean"),
        Column::Figures("sd"),
        Column::Figures("max"),
        Column::Figures("worst"),
        Column::Figures("at"),
    ];
    let row = |pair: &ShiftPairView| {
        let figures = pair.figures.as_ref();
        let of = |value: fn(&ShiftFiguresView) -> f64| figures.map(|figures| latency(value(figures)));
        vec![
            Some(format!("{} against {}", pair.second, pair.first)),
            figures.map(|figures| format::count(figures.orders.as_u64())),
            of(|figures| figures.min_ns),
            of(|figures| figures.mean_ns),
            of(|figures| figures.sd_ns),
            of(|figures| figures.max_ns),
            of(|figures| figures.worst_ns),
            figures.map(|figures| format!("{} {}", pair.counted, format::count(figures.worst_order.as_u64()))),
        ]
    };
    table::plain(page, &head, shift.pairs.iter().map(row));
    for pair in shift.pairs.iter().filter(|pair| pair.figures.is_some()) {
        let _ = writeln!(
            page,
            "<p>{} against {}: {}.</p>",
            escape(&pair.second),
            escape(&pair.first),
            escape(&pair.paired)
        );
        let exactness = pair.figures.iter().map(|figures| &figures.exactness);
        for words in pair.not_matched.iter().chain(exactness).chain(&pair.not_split) {
            sentence(page, words);
        }
        if !pair.parts.is_empty() {
            let head = [
                Column::Words("mean shift by"),
                Column::Figures("likely"),
                Column::Figures("at least"),
                Column::Figures("at most"),
            ];
            let rows = pair.parts.iter().map(|part| {
                let figures = [part.likely_ns, part.lower_ns, part.upper_ns].map(|ns| Some(latency(ns)));
                [vec![Some(part.words.clone())], figures.to_vec()].concat()
            });
            table::plain(page, &head, rows);
        }
    }
    page.push_str("</section>\n");
}

fn plain_sweep(page: &mut String, sweep: &SweepView) {
    let _ = writeln!(page, "<section><h2>Smallest lead: {}</h2>", escape(&sweep.name));
    sentence(page, &sweep.sentence);
    for cycle in &sweep.cycles {
        sentence(page, &cycle.sentence);
    }
    let head = [
        Column::Words("cycle"),
        Column::Words("run"),
        Column::Figures("lead given"),
        Column::Figures("orders"),
        Column::Figures("missed"),
        Column::Figures("needed: median"),
        Column::Figures("99 %"),
        Column::Figures("99.9 %"),
        Column::Figures("worst"),
    ];
    let known = |ns: Option<Exact>| ns.map(|ns| format::latency(ns.as_u64()));
    let leads = sweep.cycles.iter().flat_map(|cycle| cycle.leads.iter().map(move |lead| (cycle.cycle_ns, lead)));
    let row = |(cycle_ns, lead): (Exact, &LeadRowView)| {
        vec![
            Some(format::span(cycle_ns.as_u64())),
            Some(lead.words.clone()),
            Some(format::span(lead.lead_ns.as_u64())),
            Some(format::count(lead.orders.as_u64())),
            Some(format::count(lead.missed.as_u64())),
            known(lead.p50_ns),
            known(lead.p99_ns),
            known(lead.p99_9_ns),
            known(lead.worst_ns),
        ]
    };
    table::plain(page, &head, leads.map(row));
    page.push_str("</section>\n");
}

fn rows(page: &mut String, title: &str, rows: &[PulseRow]) {
    let _ = writeln!(page, "<h3>{}</h3>", escape(title));
    let head = [
        Column::Words("source"),
        Column::Words("min, max and avg are of"),
        Column::Words("duration"),
        Column::Words("path"),
        Column::Figures("interval (us)"),
        Column::Figures("delay (us)"),
        Column::Figures("min (us)"),
        Column::Figures("max (us)"),
        Column::Figures("avg (us)"),
        Column::Figures("missed"),
    ];
    let row = |row: &PulseRow| {
        let doubt = match (row.published, row.invalid) {
            (true, _) => " (published)",
            (_, true) => " (invalid: not a result)",
            _ => "",
        };
        vec![
            Some(format!("{}{doubt}", row.source)),
            Some(row.of.clone()),
            row.duration.clone(),
            row.path.clone(),
            Some(row.interval.clone()),
            Some(row.lead.clone()),
            row.min.clone(),
            row.max.clone(),
            row.mean.clone(),
            row.missed.clone(),
        ]
    };
    table::plain(page, &head, rows.iter().map(row));
}

fn columns(page: &mut String, title: &str, columns: &[ScenarioColumn]) {
    if columns.is_empty() {
        return;
    }
    let _ = writeln!(page, "<h3>{}</h3>", escape(title));
    let head = [
        Column::Words("scenario"),
        Column::Words("of"),
        Column::Figures("values"),
        Column::Figures("min"),
        Column::Figures("mean"),
        Column::Figures("sd"),
        Column::Figures("max"),
    ];
    let row = |column: &ScenarioColumn| {
        let doubt = if column.invalid { " (invalid: not a result)" } else { "" };
        vec![
            Some(format!("{}{doubt}", column.name)),
            Some(column.about.clone()),
            column.samples.clone(),
            column.min_ns.map(latency),
            column.mean_ns.map(latency),
            column.sd_ns.map(latency),
            column.max_ns.map(latency),
        ]
    };
    table::plain(page, &head, columns.iter().map(row));
}
