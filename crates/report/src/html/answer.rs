//! Edges that were answered, for readers without scripts.

use std::fmt::Write as _;

use record::Record;
use summary::answer::{AnswerSummary, summary};
use summary::label;
use units::format;

use super::escape;

/// Writes what is said of answers, run by run; nothing if no run has any.
pub(super) fn plain_answers(page: &mut String, runs: &[Record]) {
    let runs: Vec<(&Record, AnswerSummary)> = runs.iter().filter_map(|run| Some((run, summary(run)?))).collect();
    if runs.is_empty() {
        return;
    }
    page.push_str("<section><h2>Edges that were answered</h2>\n");
    for (run, answers) in &runs {
        let doubt = if run.validity.is_invalid() { " (invalid: not a result)" } else { "" };
        let _ = writeln!(page, "<h3>{}{doubt}</h3>", escape(label(run)));
        for sentence in &answers.sentences {
            let _ = writeln!(page, "<p>{}</p>", escape(sentence));
        }
        seconds(page, run, answers);
    }
    page.push_str("</section>\n");
}

fn seconds(page: &mut String, run: &Record, answers: &AnswerSummary) {
    if answers.worst_seconds.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "<p>{}</p>\n<div class=\"scroll\"><table><thead><tr><th>at</th>\
         <th class=\"number\">answers</th><th class=\"number\">min</th><th class=\"number\">mean</th>\
         <th class=\"number\">max</th><th class=\"number\">overruns</th></tr></thead><tbody>",
        escape(&answers.shown)
    );
    let state = run.validity.state().word();
    for second in &answers.worst_seconds {
        let latency = |ns: Option<u64>| ns.map_or_else(|| "\u{2013}".to_owned(), format::latency);
        let _ = write!(page, "<tr class=\"{state}\"><td>{}</td>", escape(&second.at));
        let cells = [
            format::count(second.samples),
            latency(second.min_ns),
            latency(second.mean_ns),
            second.longest.clone(),
            format::count(second.overruns),
        ];
        cells.iter().for_each(|cell| {
            let _ = write!(page, "<td class=\"number\">{}</td>", escape(cell));
        });
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}
