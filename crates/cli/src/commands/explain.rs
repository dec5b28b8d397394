//! `punctual explain`: the long text behind a finding.

use std::fmt::Write as _;

use ::profile::check::{CATALOGUE, CATALOGUE_SCHEMA, Explanations, Rule, SCHEMA_VERSION, Severity, resembling, rule};
use analyse::audit;
use anyhow::{Context as _, anyhow};

use crate::exit::Exit;
use crate::output;
use crate::view::wrap;

/// Explain a finding of `check` or of `app` at length, or list all there are
///
/// An explanation says what it is, why it costs latency, how to see it, how to change it, and what the change costs.
#[derive(clap::Args)]
pub(crate) struct ExplainArgs {
    /// The finding's name, as `punctual check` prints it in brackets; without it, all are listed
    #[arg(value_name = "FINDING")]
    finding: Option<String>,
    /// Print the explanation as JSON (schema punctual/catalogue)
    #[arg(long)]
    json: bool,
}

impl ExplainArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if let Some(rule) = self.finding.as_deref().and_then(|id| audit::rule(id.trim())) {
            output::data(&of_a_program(rule, self.json)?);
            return Ok(Exit::Holds);
        }
        let wanted = self.finding.as_deref().map(find).transpose()?;
        let text = match (self.json, wanted) {
            (true, wanted) => {
                let explanations = wanted.map_or_else(Explanations::all, |rule| Explanations::of(vec![rule]));
                serde_json::to_string_pretty(&explanations).context("cannot write the explanation as JSON")? + "\n"
            }
            (false, Some(rule)) => explain(rule, wrap::width()),
            (false, None) => list(),
        };
        output::data(&text);
        Ok(Exit::Holds)
    }
}

fn find(id: &str) -> anyhow::Result<&'static Rule> {
    rule(id.trim()).ok_or_else(|| {
        let close: Vec<&str> = resembling(id).iter().map(|rule| rule.id).collect();
        if close.is_empty() {
            anyhow!("there is no finding '{id}'; `punctual explain` lists all")
        } else {
            anyhow!("there is no finding '{id}'; did you mean {}? `punctual explain` lists all", close.join(" or "))
        }
    })
}

fn list() -> String {
    let of_programs = audit::CATALOGUE.iter().map(|rule| (rule.id, rule.title));
    let all: Vec<(&str, &str)> = CATALOGUE.iter().map(|rule| (rule.id, rule.title)).chain(of_programs).collect();
    let columns = all.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
    all.iter().fold(String::new(), |mut text, (id, title)| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{id:<columns$}  {title}");
        text
    })
}

/// The explanation of a finding about a program.
fn of_a_program(rule: &audit::Rule, json: bool) -> anyhow::Result<String> {
    if json {
        let value = serde_json::json!({
            "schema": CATALOGUE_SCHEMA,
            "version": SCHEMA_VERSION,
            "findings": [rule],
        });
        return Ok(serde_json::to_string_pretty(&value).context("cannot write the explanation as JSON")? + "\n");
    }
    let severities: Vec<&str> = rule.severities.iter().map(|severity| audit::severity_word(*severity)).collect();
    Ok(text(rule.title, &severities, rule.id, &rule.parts(), rule.sources, wrap::width()))
}

fn explain(rule: &Rule, width: usize) -> String {
    let severities: Vec<&str> = rule.severities.iter().map(|severity| Severity::as_str(*severity)).collect();
    text(rule.title, &severities, rule.id, &rule.parts(), rule.sources, width)
}

fn text(title: &str, severities: &[&str], id: &str, parts: &[(&str, &str)], sources: &[&str], width: usize) -> String {
    let mut text = wrap::paragraph(&format!("{title} ({})", severities.join(" or ")), "", width);
    let _ = writeln!(text, "[{id}]");
    for (label, part) in parts {
        let _ = write!(text, "\n{label}\n{}", wrap::paragraph(part, "  ", width));
    }
    text.push_str("\nSources\n");
    for source in sources {
        text.push_str(&wrap::paragraph(source, "  ", width));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_explanation_has_its_parts_within_the_width() {
        for rule in CATALOGUE {
            let text = explain(rule, 80);
            for heading in ["What it is", "Why it matters", "How to see it", "How to change it", "Price", "Sources"] {
                assert!(text.contains(&format!("\n{heading}\n")), "{text}");
            }
            let is_breakable = |line: &&str| line.trim().contains(' ');
            assert!(text.lines().filter(is_breakable).all(|line| line.chars().count() <= 80), "{text}");
        }
    }

    #[test]
    fn the_list_names_every_finding_once() {
        assert_eq!(list().lines().count(), CATALOGUE.len() + audit::CATALOGUE.len());
        assert!(list().contains("kernel-not-realtime"));
    }

    #[test]
    fn unknown_names_get_near_ones() {
        let error = find("kernel-realtime").map(|rule| rule.id).unwrap_err().to_string();
        assert!(error.contains("kernel-not-realtime"), "{error}");
        let error = find("xyzzy").map(|rule| rule.id).unwrap_err().to_string();
        assert!(!error.contains("did you mean"), "{error}");
        assert_eq!(find(" swap ").map(|rule| rule.id).ok(), Some("swap"));
    }
}
