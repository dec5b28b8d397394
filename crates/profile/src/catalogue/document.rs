//! A catalogue as a document.

use std::fmt::Write as _;

use super::Explanation;

/// The whole catalogue in Markdown, `head` at its top.
pub(super) fn markdown(head: &str, explanations: &[Explanation]) -> String {
    let mut text = head.to_owned();
    text.push_str("\n| id | finding | severity |\n|---|---|---|\n");
    for one in explanations {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| [{0}](#{0}) | {1} | {2} |", one.id, one.title, one.severity_words());
    }
    for one in explanations {
        section(&mut text, one);
    }
    text
}

fn section(text: &mut String, one: &Explanation) {
    let _ = write!(text, "\n## {}\n\n**{}** ({})\n", one.id, one.title, one.severity_words());
    for (label, part) in one.parts() {
        let _ = write!(text, "\n*{label}:* {}\n", one_sentence_per_line(part));
    }
    let _ = write!(text, "\n*Checked against:* {}.\n", one.checked);
    text.push_str("\n*Sources:*\n\n");
    for source in one.sources {
        let _ = writeln!(text, "- {source}");
    }
}

fn one_sentence_per_line(text: &str) -> String {
    text.replace(". ", ".\n")
}
