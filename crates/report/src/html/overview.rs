//! The overview of many runs for readers without scripts: a table of the groups, and the runs of each group, worst first.

use std::fmt::Write as _;

use units::format;

use super::escape;
use crate::Exact;
use crate::view::{GroupView, OverviewView, RunRowView, StateView, WorstOfView};

/// The dash of a value that does not exist.
const NONE: &str = "\u{2013}";

/// Writes the groups and their runs.
pub(super) fn plain_overview(page: &mut String, overview: &OverviewView) {
    let _ = writeln!(
        page,
        "<section><h2>Groups</h2><p class=\"note\">By {}, worst first. Invalid runs are in no number.</p>\
         <div class=\"scroll\"><table><thead><tr><th>group</th><th>runs</th><th class=\"number\">samples</th>\
         <th class=\"number\">worst</th><th>where</th><th>run</th><th class=\"number\">missed</th></tr></thead><tbody>",
        escape(&overview.grouped_by)
    );
    for group in &overview.groups {
        plain_group(page, group, overview);
    }
    page.push_str(
        "</tbody></table></div></section>\n<section><h2>Runs</h2>\n<div class=\"scroll many\"><table><thead><tr><th>run</th>\
         <th>node</th><th>kernel</th><th>start (UTC)</th><th>kind</th><th>load</th><th class=\"number\">worst</th><th>where</th>\
         <th class=\"number\">p99.99</th><th class=\"number\">missed</th><th>verdict</th><th>validity</th></tr></thead>\n",
    );
    for (at, group) in (0_u32..).zip(&overview.groups) {
        let _ = writeln!(
            page,
            "<tbody><tr class=\"of-group\"><td colspan=\"12\"><b>{}</b> {}</td></tr>",
            escape(&group.name),
            escape(&group.tally_words)
        );
        overview.rows.iter().filter(|row| row.group == at).for_each(|row| plain_row(page, row));
        page.push_str("</tbody>\n");
    }
    page.push_str("</table></div></section>\n");
}

/// The place on the page of the details of a run.
pub(super) fn anchor(row: &RunRowView) -> String {
    format!("run-{}", row.run + 1)
}

fn plain_group(page: &mut String, group: &GroupView, overview: &OverviewView) {
    let worst = group.worst.as_ref();
    let row = worst.and_then(|worst| overview.rows.iter().find(|row| row.key == worst.run));
    let _ = writeln!(
        page,
        "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td><td>{}</td>\
         <td class=\"number\">{}</td></tr>",
        escape(&group.name),
        escape(&group.tally_words),
        format::count(group.samples.as_u64()),
        worst.map_or_else(|| NONE.to_owned(), latency),
        worst.map_or_else(|| NONE.to_owned(), |worst| escape(&worst.place)),
        row.map_or_else(|| NONE.to_owned(), |row| format!("<a href=\"#{}\">{}</a>", anchor(row), escape(&row.name))),
        count(group.missed_periods)
    );
}

fn plain_row(page: &mut String, row: &RunRowView) {
    let known = |text: Option<&String>| text.map_or_else(|| NONE.to_owned(), |text| escape(text));
    let worst = row.worst.as_ref();
    let basis = row.basis.as_ref().map_or_else(
        || NONE.to_owned(),
        |basis| {
            let name = if basis.name == "p99.99" { String::new() } else { format!("{} ", escape(&basis.name)) };
            format!("{name}{}", format::latency(basis.value_ns.as_u64()))
        },
    );
    let class = if row.state == StateView::Invalid { "invalid" } else { "" };
    let _ = writeln!(
        page,
        "<tr class=\"{class}\"><td><a href=\"#{}\">{}</a></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td class=\"number\">{}</td><td>{}</td><td class=\"number\">{basis}</td><td class=\"number\">{}</td><td>{}</td>\
         <td>{}</td></tr>",
        anchor(row),
        escape(&row.name),
        known(row.node.as_ref()),
        known(row.kernel.as_ref()),
        known(row.started_utc.as_ref()),
        escape(&row.measurement),
        known(row.load.as_ref()),
        match (worst, row.state) {
            (Some(worst), _) => latency(worst),
            (None, StateView::Invalid) => "no result".to_owned(),
            (None, _) => NONE.to_owned(),
        },
        worst.map_or_else(|| NONE.to_owned(), |worst| escape(&worst.place)),
        count(row.missed_periods),
        escape(&row.verdict_words),
        escape(&row.validity)
    );
}

fn latency(worst: &WorstOfView) -> String {
    worst.latency_ns.latency()
}

fn count(value: Option<Exact>) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| format::count(value.as_u64()))
}
