//! `punctual-proof conclusions`: runs the corpus of conclusions, cases whose truth is known.

use std::fmt::Write as _;

use anyhow::Context as _;
use corpus::{CaseRow, Command, Options, Table as Corpus};
use indicatif::{ProgressBar, ProgressStyle};
use terminal::table::Table;
use terminal::{output, wrap};
use units::format;

/// Draw runs from processes whose truth is known, and hold what the commands conclude against it
///
/// Prints for each command how many conclusions were right, wrong and refused. Ends with 1 where a promise of docs/SPEC.md is
/// not kept: at most 1 % wrong, false alarms and missed outcomes within the stated level, at least 90 % of what can be
/// answered answered rightly.
#[derive(clap::Args)]
pub(crate) struct ConclusionsArgs {
    /// Draws of each command, spread over its cases
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    draws: u64,
    /// Where the random numbers begin; the same seed gives the same table
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// One command alone: assess, measure, compare, tail or campaign
    #[arg(long, value_name = "COMMAND", value_parser = command)]
    only: Option<Command>,
    /// Print each case with a sentence of it
    #[arg(long)]
    cases: bool,
    /// Print the table as JSON (schema punctual/conclusions)
    #[arg(long)]
    json: bool,
}

fn command(text: &str) -> Result<Command, String> {
    let found = Command::ALL.into_iter().find(|command| command.name() == text);
    found.ok_or_else(|| format!("one of {}", Command::ALL.map(Command::name).join(", ")))
}

impl ConclusionsArgs {
    /// Prints the table; whether every promise is kept.
    pub(crate) fn run(self) -> anyhow::Result<bool> {
        let options = Options { seed: self.seed, draws: self.draws, only: self.only };
        // On stderr, and nothing where that is no terminal.
        let bar = ProgressBar::new(0);
        bar.set_style(ProgressStyle::with_template("  {wide_bar} case {pos} of {len}, {eta} left")?);
        let corpus = corpus::run(&options, |done, all| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        });
        bar.finish_and_clear();
        let broken = corpus.broken_promises();
        let text = if self.json {
            serde_json::to_string_pretty(&corpus).context("cannot write the table as JSON")? + "\n"
        } else {
            show(&corpus, &broken, self.cases, wrap::width())
        };
        output::data(&text);
        Ok(broken.is_empty())
    }
}

fn show(corpus: &Corpus, broken: &[String], cases: bool, width: usize) -> String {
    let head = [
        "command",
        "cases",
        "draws",
        "right",
        "refused",
        "wrong",
        "beyond level",
        "allowed",
        "can be answered",
        "answered",
    ];
    let mut table = Table::new(&head);
    for row in &corpus.commands {
        table.row(vec![
            row.command.name().to_owned(),
            format::count(row.cases),
            format::count(row.draws),
            format::count(row.right),
            format::count(row.refused),
            format::count(row.wrong),
            format::count(row.beyond_level),
            format!("{:.0}", row.expected_beyond_level),
            format::count(row.answerable),
            format::count(row.answered),
        ]);
    }
    let mut text = format!("Conclusions held against the truth (seed {}):\n\n{}", corpus.seed, table.render());
    if cases {
        corpus.cases.iter().for_each(|case| show_case(&mut text, case, width));
    } else {
        let wrong: Vec<&CaseRow> = corpus.cases.iter().filter(|case| !case.wrong.is_empty()).collect();
        if !wrong.is_empty() {
            text.push_str("\nCases with wrong conclusions:\n");
            wrong.iter().for_each(|case| show_case(&mut text, case, width));
        }
    }
    text.push('\n');
    if broken.is_empty() {
        text.push_str("Every promise is kept.\n");
    }
    for what in broken {
        text.push_str(&wrap::paragraph(&format!("NOT KEPT: {what}."), "", width));
    }
    text
}

fn show_case(text: &mut String, case: &CaseRow, width: usize) {
    let _ = writeln!(text);
    let wrong: Vec<String> = case.wrong.iter().map(|(fault, count)| format!("{count} {}", fault.words())).collect();
    let wrong = if wrong.is_empty() { "none wrong".to_owned() } else { wrong.join(", ") };
    let line = format!(
        "{}: {} ({} drawn: {} right, {} refused, {wrong})",
        case.command.name(),
        case.name,
        case.draws,
        case.right,
        case.refused
    );
    text.push_str(&wrap::paragraph(&line, "  ", width));
    text.push_str(&wrap::paragraph(&format!("\"{}\"", case.sentence), "    ", width));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_that_is_not_kept_is_said_last_and_the_wrong_cases_before_it() {
        let options = Options { seed: 1, draws: 1, only: Some(Command::Measure) };
        let mut corpus = corpus::run(&options, |_, _| {});
        let kept = show(&corpus, &corpus.broken_promises(), false, 100);
        assert!(kept.ends_with("\nEvery promise is kept.\n") && !kept.contains("wrong conclusions:"), "{kept}");
        for row in &mut corpus.commands {
            row.right -= 1;
            row.wrong += 1;
        }
        corpus.cases[0].right -= 1;
        corpus.cases[0].wrong.insert(corpus::Fault::FalseShown, 1);
        let broken = corpus.broken_promises();
        assert!(!broken.is_empty());
        let shown = show(&corpus, &broken, false, 100);
        assert!(shown.contains("Cases with wrong conclusions:") && shown.contains("NOT KEPT: "), "{shown}");
        assert!(!shown.contains("Every promise is kept"), "{shown}");
    }
}
