//! Findings on a terminal, of a machine or of a program: severity and title, then what belongs to it beside labels.

use std::fmt::Write as _;

use record::{Finding, Severity};

use terminal::output;
use terminal::wrap;

/// Columns of the severity, which the longest word decides.
const SEVERITY_COLUMNS: usize = 9;
/// Columns of the labels below it.
const LABEL_COLUMNS: usize = 8;
/// On narrower terminals the labels begin further to the left, so that the text keeps more than half of the columns.
const NARROW_BELOW: usize = 60;
const NARROW_INDENT: usize = 2;

/// The severity, and the title with the finding's name.
pub(crate) fn head(text: &mut String, finding: &Finding, width: usize, color: bool) {
    let style = match finding.severity {
        Severity::Problem => "1;31",
        Severity::Warning => "1;33",
        Severity::Note => "1;36",
    };
    let word = format!("{:<SEVERITY_COLUMNS$}", finding.severity.as_str().to_uppercase());
    let head = format!("{}  [{}]", finding.title, finding.id);
    for (position, line) in wrap::lines(&head, width.saturating_sub(SEVERITY_COLUMNS)).iter().enumerate() {
        let start = if position == 0 { output::paint(color, style, &word) } else { " ".repeat(SEVERITY_COLUMNS) };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{start}{line}");
    }
}

/// What was read or seen, and where, one reading per paragraph.
pub(crate) fn readings(finding: &Finding) -> impl Iterator<Item = String> + '_ {
    finding.evidence.iter().map(|evidence| format!("{}: {}", evidence.source, evidence.value))
}

/// Paragraphs beside a label, which stands at the first line only.
pub(crate) fn labeled(text: &mut String, label: &str, paragraphs: impl Iterator<Item = String>, width: usize) {
    let margin = if width < NARROW_BELOW { NARROW_INDENT } else { SEVERITY_COLUMNS };
    let indent = margin + LABEL_COLUMNS;
    let mut label = label;
    for paragraph in paragraphs {
        for (position, line) in wrap::lines(&paragraph, width.saturating_sub(indent + 2)).iter().enumerate() {
            // A line that continues hangs, so that several paragraphs of one label stay apart.
            let hang = if position == 0 { "" } else { "  " };
            let _ = writeln!(text, "{:margin$}{label:<LABEL_COLUMNS$}{hang}{line}", "");
            label = "";
        }
    }
}
