//! What made the worst samples late, for readers without scripts.

use std::fmt::Write as _;

use record::{Explanation, Record};
use units::format;

use super::escape;
use summary::explanation::{cost, coverage, sentence, words};
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
        let _ = writeln!(page, "<h3>{}{doubt}</h3>\n<p>{}</p>", escape(&label), escape(&sentence(run, explanation)));
        causes(page, explanation);
        samples(page, explanation);
        if let Some(line) = cost(explanation) {
            let _ = writeln!(page, "<p>{}</p>", escape(&line));
        }
        for missing in &explanation.missing {
            let _ = writeln!(page, "<p>Missing evidence: {}</p>", escape(missing));
        }
    }
    page.push_str("</section>\n");
}

/// A run's own explanation, and those of the receivers of its nodes, each with its heading.
fn explanations(run: &Record) -> impl Iterator<Item = (&Record, String, &Explanation)> {
    let own = run.explanation().map(|explanation| (run, run.label.clone(), explanation));
    let nodes = run.packets().map_or(&[][..], |packets| &packets.explanations);
    let of_node = move |node| (run, format!("{}: {}", run.label, explained_words(node)), &node.explanation);
    own.into_iter().chain(nodes.iter().map(of_node))
}

fn causes(page: &mut String, explanation: &Explanation) {
    if explanation.outliers == 0 || explanation.sources.is_empty() {
        return;
    }
    let _ = writeln!(page, "<p>{}</p>", escape(&coverage(explanation)));
    if explanation.causes.is_empty() {
        return;
    }
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>cause</th><th>how sure</th><th class=\"number\">samples</th>\
         <th class=\"number\">worst</th><th class=\"number\">took</th><th>what to change</th></tr></thead><tbody>\n",
    );
    for cause in &explanation.causes {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td class=\"number\">{} of {}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td>{}</td></tr>",
            escape(&words(cause.class, &cause.name)),
            cause.certainty.word(),
            format::count(cause.samples),
            format::count(explanation.explained),
            format::latency(cause.worst_ns),
            format::latency(cause.took_ns),
            escape(&cause.remedy)
        );
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
