//! `punctual explain`: the long text behind a finding, or the causes of a record's worst samples.

use std::fmt::Write as _;
use std::path::Path;

use ::profile::catalogue::{Explanation, resembling};
use ::profile::check::{self, Explanations};
use analysis::audit;
use anyhow::{Context as _, anyhow, bail};

use crate::exit::Exit;
use crate::view::explanation;
use crate::{names, records};
use terminal::output;
use terminal::wrap;

/// Explain a finding of `check` or of `app` at length, or what made the worst samples of a record late
///
/// Of a record of `measure wakeup --explain`, or of packets with `--explain`, it lists the worst samples with their causes and what to change; with
/// `--sample N` it draws the timeline of one.
/// An explanation says what it is, why it costs latency, how to see it, how to change it, and what the change costs.
#[derive(clap::Args)]
pub(crate) struct ExplainArgs {
    /// The finding's name, as `punctual check` prints it in brackets, or the file of a record; without it, all findings
    /// are listed
    #[arg(value_name = "FINDING|RECORD", value_parser = names::finding(), hide_possible_values = true)]
    finding: Option<String>,
    /// Draw the timeline of this one of the record's worst samples, the worst of which is 1
    #[arg(long, value_name = "N", requires = "finding")]
    sample: Option<usize>,
    /// Print the explanation of a finding as JSON (schema punctual/catalogue)
    #[arg(long, conflicts_with = "sample")]
    json: bool,
}

impl ExplainArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if let Some(file) = self.finding.as_deref().filter(|word| self.sample.is_some() || is_file(word)) {
            if self.json {
                bail!("{file} is a record, which is JSON itself: what is known of the causes stands in .explanation");
            }
            output::data(&of_record(Path::new(file), self.sample)?);
            return Ok(Exit::Holds);
        }
        let wanted = self.finding.as_deref().map(find).transpose()?;
        let text = match (self.json, wanted) {
            (true, wanted) => {
                let explanations = Explanations::new(wanted.map_or_else(all, |one| vec![one]));
                serde_json::to_string_pretty(&explanations).context("cannot write the explanation as JSON")? + "\n"
            }
            (false, Some(one)) => explain(&one, wrap::width()),
            (false, None) => list(),
        };
        output::data(&text);
        Ok(Exit::Holds)
    }
}

/// Whether a word names a file, and not a finding.
fn is_file(word: &str) -> bool {
    word.contains(['/', '.']) || Path::new(word).exists()
}

/// What a record knows of the causes of its worst samples, or the timeline of one of them.
fn of_record(file: &Path, sample: Option<usize>) -> anyhow::Result<String> {
    let record = records::RecordArgs::default().read(&[file.to_owned()], |_, record| explanation::has_any(record))?;
    let record = match record.as_slice() {
        [one] => &one.record,
        [] => bail!("{} holds no record of explained samples", file.display()),
        many => {
            let files: Vec<String> = many.iter().map(|found| found.file.display().to_string()).collect();
            bail!("{} holds several records: name one of {}", file.display(), files.join(", "));
        }
    };
    records::warn_of_invalid([record]);
    let text = match sample {
        Some(number) => explanation::of_sample(record, number, file),
        None => explanation::of_record(record, file),
    };
    text.with_context(|| format!("{} cannot be explained", file.display()))
}

/// The explanation of every finding, of machines first and then of programs.
pub(crate) fn all() -> Vec<Explanation> {
    check::CATALOGUE.explanations().chain(audit::CATALOGUE.explanations()).collect()
}

fn find(typed: &str) -> anyhow::Result<Explanation> {
    let all = all();
    if let Some(one) = all.iter().find(|one| one.id == typed.trim()) {
        return Ok(*one);
    }
    let close = resembling(typed, all.iter().map(|one| one.id));
    Err(if close.is_empty() {
        anyhow!("there is no finding '{typed}'; `punctual explain` lists all")
    } else {
        anyhow!("there is no finding '{typed}'; did you mean {}? `punctual explain` lists all", close.join(" or "))
    })
}

fn list() -> String {
    let all = all();
    let columns = all.iter().map(|one| one.id.len()).max().unwrap_or(0);
    all.iter().fold(String::new(), |mut text, one| {
        text.push_str(&wrap::entry(one.id, columns, one.title, wrap::row_width()));
        text
    })
}

fn explain(one: &Explanation, width: usize) -> String {
    let mut text = wrap::paragraph(&format!("{} ({})", one.title, one.severity_words()), "", width);
    let _ = writeln!(text, "[{}]", one.id);
    for (label, part) in one.parts() {
        let _ = write!(text, "\n{label}\n{}", wrap::paragraph(part, "  ", width));
    }
    let _ = write!(text, "\nChecked against\n{}", wrap::paragraph(&format!("{}.", one.checked), "  ", width));
    text.push_str("\nSources\n");
    for source in one.sources {
        text.push_str(&wrap::paragraph(source, "  ", width));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_explanation_has_its_parts_within_the_width() {
        for one in all() {
            let text = explain(&one, 80);
            for heading in [
                "What it is",
                "Why it matters",
                "How to see it",
                "How to change it",
                "Price",
                "Checked against",
                "Sources",
            ] {
                assert!(text.contains(&format!("\n{heading}\n")), "{text}");
            }
            let is_breakable = |line: &&str| line.trim().contains(' ');
            assert!(text.lines().filter(is_breakable).all(|line| line.chars().count() <= 80), "{text}");
        }
    }

    #[test]
    fn the_list_names_every_finding_once() {
        assert_eq!(list().lines().count(), check::CATALOGUE.rules.len() + audit::CATALOGUE.rules.len());
        assert!(list().contains("kernel-not-realtime") && list().contains("app-logging-in-loop"));
    }

    #[test]
    fn unknown_names_get_near_ones() {
        let error = find("kernel-realtime").map(|rule| rule.id).unwrap_err().to_string();
        assert!(error.contains("kernel-not-realtime"), "{error}");
        let error = find("app-loging-in-loop").map(|one| one.id).unwrap_err().to_string();
        assert!(error.contains("app-logging-in-loop"), "{error}");
        let error = find("xyzzy").map(|rule| rule.id).unwrap_err().to_string();
        assert!(!error.contains("did you mean"), "{error}");
        assert_eq!(find(" swap ").map(|rule| rule.id).ok(), Some("swap"));
    }
}
