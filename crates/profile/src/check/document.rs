//! The catalogue as a document.

use std::fmt::Write as _;

use super::{CATALOGUE, Rule, Severity};

const HEAD: &str = "# Findings\n\n\
<!-- Generated from the catalogue in crates/profile/src/check; a test keeps it up to date. -->\n\n\
What `punctual check` can find, in the order of the catalogue, which also ranks findings of equal severity.\n\
`punctual explain ID` prints one of these.\n\n\
A *problem* means that the machine cannot be expected to act on time, or that a setting that was asked for is not in \
force.\n\
A *warning* means that latency suffers under conditions that are likely.\n\
A *note* is worth knowing: a choice with a price, or a condition that is rare.\n";

/// The whole catalogue in Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut text = HEAD.to_owned();
    text.push_str("\n| id | finding | severity |\n|---|---|---|\n");
    for rule in CATALOGUE {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| [{0}](#{0}) | {1} | {2} |", rule.id, rule.title, severities(rule));
    }
    for rule in CATALOGUE {
        section(&mut text, rule);
    }
    text
}

fn section(text: &mut String, rule: &Rule) {
    let _ = write!(text, "\n## {}\n\n**{}** ({})\n", rule.id, rule.title, severities(rule));
    for (label, part) in rule.parts() {
        let _ = write!(text, "\n*{label}:* {}\n", one_sentence_per_line(part));
    }
    text.push_str("\n*Sources:*\n\n");
    for source in rule.sources {
        let _ = writeln!(text, "- {source}");
    }
}

fn severities(rule: &Rule) -> String {
    rule.severities.iter().map(|severity| Severity::as_str(*severity)).collect::<Vec<_>>().join(" or ")
}

impl Rule {
    /// The parts of the long explanation with their headings.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, &'static str); 5] {
        [
            ("What it is", self.what),
            ("Why it matters", self.why),
            ("How to see it", self.see),
            ("How to change it", self.change),
            ("Price", self.price),
        ]
    }
}

fn one_sentence_per_line(text: &str) -> String {
    text.replace(". ", ".\n")
}
