//! The catalogue as a document.

use std::fmt::Write as _;

use super::{CATALOGUE, Rule, severity_word};

const HEAD: &str = "# Findings about programs\n\n\
<!-- Generated from the catalogue in crates/analyse/src/audit; a test keeps it up to date. -->\n\n\
What the audit of `punctual app` can find, in the order of the catalogue, which also ranks findings of equal severity.\n\
`punctual explain ID` prints one of these.\n\n\
A *problem* means that the program cannot be expected to act on time.\n\
A *warning* means that its latency suffers under conditions that are likely.\n\
A *note* is worth knowing.\n";

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
        let _ = write!(text, "\n## {}\n\n**{}** ({})\n", rule.id, rule.title, severities(rule));
        for (label, part) in rule.parts() {
            let _ = write!(text, "\n*{label}:* {}\n", part.replace(". ", ".\n"));
        }
        text.push_str("\n*Sources:*\n\n");
        for source in rule.sources {
            let _ = writeln!(text, "- {source}");
        }
    }
    text
}

fn severities(rule: &Rule) -> String {
    rule.severities.iter().map(|severity| severity_word(*severity)).collect::<Vec<_>>().join(" or ")
}
