//! What made the worst samples late, for readers without scripts.

use std::fmt::Write as _;

use record::{Explanation, Record};
use units::format;

use super::escape;
use summary::explanation::{ExplanationSummary, summary_of, words};
use summary::label;
use summary::packet::explained_words;

/// How many samples are listed with their evidence; the page's data contain all.
const SHOWN_SAMPLES: usize = 12;

/// Writes the explanations; nothing if no run has one.
pub(super) fn plain_explanations(page: &mut String, runs: &[Record]) {
    let explained: Vec<(&Record, String, &Explanation)> = runs.iter().flat_map(explanations).collect();
    if explained.is_empty() {
        return;
    }
    page.push_str("<section><h2>What made the worst late</h2>\n");
    for (run, label, explanation) in explained {
        let doubt = if run.validity.is_invalid() { " (invalid: not a result)" } else { "" };
        let said = summary_of(run, explanation);
        let _ = writeln!(page, "<h3>{}{doubt}</h3>\n<p>{}</p>", escape(&label), escape(&said.sentence));
        causes(page, &said);
        samples(page, explanation);
        parts(page, &said);
        if let Some(cost) = &said.cost {
            let _ = writeln!(page, "<p>Cost of explaining: {}.</p>", escape(cost));
        }
        for missing in &said.missing {
            let _ = writeln!(page, "<p>Missing evidence: {}</p>", escape(missing));
        }
    }
    page.push_str("</section>\n");
}

/// A run's own explanation, and those of the receivers of its nodes, each with its heading.
fn explanations(run: &Record) -> impl Iterator<Item = (&Record, String, &Explanation)> {
    let own = run.explanation().map(|explanation| (run, label(run).to_owned(), explanation));
    let nodes = run.packets().map_or(&[][..], |packets| &packets.explanations);
    let of_node = move |node| (run, format!("{}: {}", label(run), explained_words(node)), &node.explanation);
    own.into_iter().chain(nodes.iter().map(of_node))
}

fn causes(page: &mut String, said: &ExplanationSummary) {
    let Some(coverage) = &said.coverage else { return };
    let _ = writeln!(page, "<p>{}</p>", escape(coverage));
    if said.causes.is_empty() {
        return;
    }
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>cause</th><th>how sure</th><th class=\"number\">samples</th>\
         <th class=\"number\">worst</th><th class=\"number\">took</th><th>what to change</th></tr></thead><tbody>\n",
    );
    for row in &said.causes {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td>{}</td></tr>",
            escape(&row.cause),
            row.certainty.word(),
            row.samples,
            format::latency(row.worst_ns),
            format::latency(row.took_ns),
            escape(&row.remedy)
        );
    }
    page.push_str("</tbody></table></div>\n");
}

/// Every wake-up in its parts; nothing if they were not recorded.
fn parts(page: &mut String, said: &ExplanationSummary) {
    let Some(parts) = &said.parts else { return };
    let _ = writeln!(
        page,
        "<p>Each wake-up in its parts: {}</p><div class=\"scroll\"><table><thead><tr><th>part</th><th class=\"number\">median</th>\
         <th class=\"number\">p99.9</th><th class=\"number\">max</th></tr></thead><tbody>",
        escape(&parts.sentence)
    );
    for row in &parts.rows {
        let cells = [row.median_ns, row.p99_9_ns, row.max_ns].map(|ns| {
            let text = ns.map_or_else(|| "\u{2013}".to_owned(), format::latency);
            format!("<td class=\"number\">{text}</td>")
        });
        let _ = writeln!(page, "<tr><td>{}</td>{}</tr>", escape(&row.words), cells.concat());
    }
    page.push_str("</tbody></table></div>\n");
}

fn samples(page: &mut String, explanation: &Explanation) {
    if explanation.samples.is_empty() {
        return;
    }
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th class=\"number\">latency</th><th>CPU</th><th>cause</th>\
         <th>how sure</th><th>evidence</th></tr></thead><tbody>\n",
    );
    for sample in explanation.samples.iter().take(SHOWN_SAMPLES) {
        let _ = writeln!(
            page,
            "<tr><td class=\"number\">{}</td><td>CPU {}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            format::latency(sample.latency_ns),
            sample.cpu,
            escape(&words(sample.class, &sample.name)),
            sample.certainty.word(),
            escape(&sample.evidence)
        );
    }
    page.push_str("</tbody></table></div>\n");
    let more = explanation.samples.len().saturating_sub(SHOWN_SAMPLES);
    if more > 0 {
        let _ = writeln!(page, "<p>{more} more samples, and the timelines, are shown if scripts are enabled.</p>");
    }
}
