//! The top of a page for readers without scripts, and the bursts of missed periods.

use std::fmt::Write as _;

use record::Record;
use summary::label;
use summary::run::Burst;
use units::format;

use super::escape;
use crate::view::{HeadlineState, LateCausesView, View};

/// How many bursts are listed; the page's data contain all.
const SHOWN_BURSTS: usize = 12;

/// The dash of a value that does not exist.
const NONE: &str = "\u{2013}";

const fn state_name(state: HeadlineState) -> &'static str {
    match state {
        HeadlineState::Holds => "holds",
        HeadlineState::Broken => "broken",
        HeadlineState::CannotTell => "cannot-tell",
        HeadlineState::NoDeadline => "no-deadline",
        HeadlineState::Empty => "empty",
    }
}

/// Writes the answer, the conditions under which it was found, the sums, what makes it late, and the lines under the sentence.
pub(super) fn plain_top(page: &mut String, view: &View) {
    let headline = &view.headline;
    let _ = writeln!(
        page,
        "<section class=\"verdict {}\">\n<h2 class=\"word\">{}</h2>\n<p class=\"sentence\">{}</p>",
        state_name(headline.state),
        escape(&headline.word),
        escape(&headline.sentence)
    );
    if !view.conditions.is_empty() {
        page.push_str("<dl class=\"about\">\n");
        for condition in &view.conditions {
            let value = condition.value.as_deref().unwrap_or("not known");
            let _ = writeln!(page, "<div><dt>{}</dt><dd>{}</dd></div>", escape(&condition.name), escape(value));
        }
        page.push_str("</dl>\n");
    }
    let results = view.page.results();
    if let Some(totals) = results.and_then(|results| results.totals.as_ref()) {
        let _ = writeln!(page, "<p class=\"totals\">{}</p>", escape(&totals.sentence));
    }
    if let Some(causes) = results.and_then(|results| results.late_causes.as_ref()) {
        plain_causes(page, causes);
    }
    if !headline.lines.is_empty() {
        page.push_str("<div class=\"lines\">\n");
        headline.lines.iter().for_each(|line| {
            let _ = writeln!(page, "<p class=\"under\">{}</p>", escape(line));
        });
        page.push_str("</div>\n");
    }
    page.push_str("</section>\n");
}

fn count(value: crate::exact::Exact) -> String {
    format::count(value.as_u64())
}

fn plain_causes(page: &mut String, causes: &LateCausesView) {
    let _ = writeln!(
        page,
        "<div class=\"late\"><h3>{}</h3>\n<div class=\"scroll\"><table><thead><tr><th>cause</th><th class=\"number\">share of {}</th>\
         <th class=\"number\">worst</th><th>how sure</th><th>what to do</th></tr></thead><tbody>",
        escape(&causes.heading),
        count(causes.total)
    );
    for row in &causes.rows {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td class=\"number\">{} ({})</td><td class=\"number\">{}</td><td>{}</td><td>{}</td></tr>",
            escape(&row.cause),
            escape(&row.percent),
            count(row.samples),
            row.worst_ns.map_or_else(|| NONE.to_owned(), |worst_ns| format::latency(worst_ns.as_u64())),
            row.certainty.map_or(NONE, record::Certainty::word),
            row.remedy.as_deref().map_or_else(|| NONE.to_owned(), escape)
        );
    }
    let notes: String = causes.notes.iter().map(|note| format!(" {note}")).collect();
    let note = format!("Shares are of {} {}.{notes}", count(causes.total), causes.of);
    let _ = writeln!(page, "</tbody></table></div>\n<p class=\"note\">{}</p></div>", escape(&note));
}

/// Writes the bursts of missed periods of all runs, worst first; nothing if there are none.
pub(super) fn plain_bursts(page: &mut String, runs: &[Record]) {
    let mut all: Vec<(&Record, Burst)> =
        runs.iter().flat_map(|run| summary::run::bursts(run).into_iter().map(move |row| (run, row))).collect();
    if all.is_empty() {
        return;
    }
    all.sort_by_key(|(run, row)| (run.validity.is_invalid(), std::cmp::Reverse((row.missed_periods, row.worst_ns))));
    page.push_str(
        "<section><h2>Bursts of late wake-ups</h2><div class=\"scroll\"><table><thead><tr><th class=\"number\">worst</th>\
         <th class=\"number\">periods</th><th class=\"number\">missed</th><th class=\"number\">recovered after</th>\
         <th>series</th><th>run</th></tr></thead><tbody>\n",
    );
    for (run, row) in all.iter().take(SHOWN_BURSTS) {
        let recovery = row.recovery.as_deref().unwrap_or(NONE);
        let doubt = if run.validity.is_invalid() { " (invalid)" } else { "" };
        let _ = writeln!(
            page,
            "<tr><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{recovery}</td><td>{}</td><td>{}{doubt}</td></tr>",
            format::latency(row.worst_ns),
            format::count(row.periods),
            if row.missed_periods == 0 { NONE.to_owned() } else { format::count(row.missed_periods) },
            escape(&row.place.to_string()),
            escape(label(run))
        );
    }
    page.push_str("</tbody></table></div>\n");
    let more = all.len().saturating_sub(SHOWN_BURSTS);
    if more > 0 {
        let _ = writeln!(page, "<p>{more} more bursts are shown if scripts are enabled.</p>");
    }
    page.push_str("</section>\n");
}

/// Writes the intervals of all runs that something spoiled; nothing if there are none.
pub(super) fn plain_spoiled(page: &mut String, runs: &[Record]) {
    let all: Vec<_> =
        runs.iter().map(|run| (run, summary::run::spoiled(run))).filter(|(_, it)| it.intervals > 0).collect();
    if all.is_empty() {
        return;
    }
    page.push_str(
        "<section><h2>Spoiled intervals</h2><p>They are in none of the other numbers.</p>\
         <div class=\"scroll\"><table><thead><tr><th>run</th><th>series</th><th class=\"number\">from</th>\
         <th class=\"number\">length</th><th class=\"number\">samples</th><th class=\"number\">worst</th>\
         <th class=\"number\">missed</th><th>why</th></tr></thead><tbody>\n",
    );
    for (run, row) in all.iter().flat_map(|(run, spoiled)| spoiled.rows.iter().map(move |row| (run, row))) {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
            escape(label(run)),
            escape(&row.lane),
            format::span(row.start_offset_ns),
            format::span(row.length_ns),
            format::count(row.samples),
            row.worst.as_deref().unwrap_or(NONE),
            format::count(row.missed_periods),
            escape(&row.why)
        );
    }
    page.push_str("</tbody></table></div>\n");
    for sentence in all.iter().filter_map(|(_, spoiled)| spoiled.not_kept.as_ref()) {
        let _ = writeln!(page, "<p>{sentence}</p>");
    }
    page.push_str("</section>\n");
}

#[cfg(test)]
mod tests {
    use record::{MissedRow, Place, Validity};

    use super::*;

    #[test]
    fn bursts_stand_worst_first_and_say_nothing_of_recovery_where_nothing_was_missed() {
        let row = |missed_periods, worst_ns, recovery_ns| MissedRow {
            node: String::new(),
            place: Place::thread(0, Some(0)),
            first_scheduled: record::Moment::default(),
            periods: missed_periods + 1,
            missed_periods,
            worst_ns,
            recovery_ns,
        };
        let mut calm = samples::run_of("calm", &[5_000], Validity::default());
        calm.label = "calm".to_owned();
        calm.rows = vec![row(0, 900_000, None)];
        let mut late = samples::run_of("late", &[5_000], Validity::default());
        late.rows = (0..20).map(|at| row(1 + at, 2_000_000, None)).collect();
        let mut page = String::new();
        plain_bursts(&mut page, &[calm.clone(), late]);
        assert!(page.find("<td class=\"number\">21</td>").is_some(), "the largest of all runs: {page}");
        assert!(!page.contains("calm"), "it is beyond the first dozen: {page}");
        assert!(page.contains("9 more bursts"), "{page}");
        page.clear();
        plain_bursts(&mut page, &[calm]);
        assert!(!page.contains("not within the run"), "{page}");
    }
}
