//! How a comparison looks on a terminal: one screen, the verdict last.

use std::fmt::Write as _;

use analysis::compare::{Comparison, ComparisonState, ContextDifference, GateAnswer, SettingDifference};
use summary::comparison::{self, ComparedRows, GroupRow};

use terminal::output;
use terminal::table::{Table, known};
use terminal::wrap;

/// Values of one field that are named; more are counted.
const SHOWN_VALUES: usize = 3;
/// Settings that are named.
const SHOWN_SETTINGS: usize = 12;

/// `is_verbose` adds how it was judged, and what could have been seen where something was.
pub(super) fn show(comparison: &Comparison, is_verbose: bool, width: usize, color: bool) -> String {
    let mut text = String::new();
    // What is in the files, and what that shows, before any table.
    let first = [comparison.description(), comparison.standing()];
    for line in first.iter().flatten() {
        text.push_str(&wrap::paragraph(line, "", width));
    }
    if first.iter().any(Option::is_some) {
        text.push('\n');
    }
    let tables = comparison::tables(comparison);
    text.push_str(&groups(&tables.groups).render());
    text.push('\n');
    if !comparison.context.is_empty() {
        text.push_str("What else differs:\n");
        for difference in &comparison.context {
            text.push_str(&wrap::paragraph(&context(difference), "  ", width));
        }
        text.push('\n');
    }
    if !tables.side_by_side.rows.is_empty() {
        text.push_str(&rows(&tables.side_by_side).render());
        // Of too few runs the lines above the table said so.
        if !comparison.has_too_few_runs() {
            text.push_str(&wrap::paragraph(&format!("Worst cases: {}.", comparison.worst.note), "  ", width));
        }
        text.push('\n');
        if let Some(with_sign) = &tables.with_sign {
            text.push_str("  The rows above are distances from zero, either way. With their sign:\n");
            text.push_str(&rows(with_sign).render());
            text.push('\n');
        }
    }
    if let Some(differences) = &comparison.profiles {
        settings(&mut text, "Settings of the machines", &differences.settings, width);
        settings(&mut text, "Kernel configuration", &differences.kernel_config, width);
    }
    let style = match comparison.verdict.state {
        ComparisonState::Worse | ComparisonState::WorseBody | ComparisonState::Invalid => "1;31",
        ComparisonState::Better => "1;32",
        ComparisonState::Trade => "1;33",
        ComparisonState::BetterBody
        | ComparisonState::NotBeyondMargin
        | ComparisonState::NoDifferenceShown
        | ComparisonState::Elsewhere => "1",
    };
    // What the verdict rests on, and then the verdict, where the eye rests.
    let nothing = comparison.verdict.state == ComparisonState::NoDifferenceShown && !comparison.has_too_few_runs();
    let reach = if is_verbose || nothing { comparison.reach_sentences() } else { Vec::new() };
    let how = is_verbose.then(|| comparison.how());
    for line in comparison.notes.iter().cloned().chain(reach).chain(how) {
        text.push_str(&wrap::paragraph(&line, "", width));
    }
    let _ = writeln!(text, "\n{}", output::paint(color, style, &comparison.word().to_uppercase()));
    text.push_str(&wrap::paragraph(&comparison.verdict.reason, "", width));
    for gate in &comparison.gates {
        let style = match gate.answer {
            GateAnswer::Holds => "1;32",
            GateAnswer::Broken => "1;31",
            GateAnswer::CannotTell => "1;33",
        };
        let answer = output::paint(color, style, &gate.answer.to_string().to_uppercase());
        text.push_str(&wrap::paragraph(&format!("{}: {answer}. {}.", gate.question, gate.reason), "", width));
    }
    text
}

/// The first of them: the rest is in the JSON document and in the report.
fn settings(text: &mut String, title: &str, differences: &[SettingDifference], width: usize) {
    if differences.is_empty() {
        return;
    }
    let _ = writeln!(text, "{title} ({}):", differences.len());
    for difference in differences.iter().take(SHOWN_SETTINGS) {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let line = format!("{}: {} -> {}", difference.name, value(&difference.a), value(&difference.b));
        text.push_str(&wrap::paragraph(&line, "  ", width));
    }
    if let Some(more) = differences.len().checked_sub(SHOWN_SETTINGS).filter(|&more| more > 0) {
        let _ = writeln!(text, "  and {more} more: --json or --report list all");
    }
    text.push('\n');
}

fn groups(groups: &[GroupRow]) -> Table {
    let mut table = Table::new(&["", "runs", "samples", "time", "missed", "worst", ""]);
    for group in groups {
        let [time, missed, worst] = [&group.time, &group.missed, &group.worst].map(|cell| known(cell.as_deref()));
        let name = format!("{}  {}", group.letter, group.name);
        let (runs, samples) = (group.runs.clone(), group.samples.clone());
        table.row(vec![name, runs, samples, time, missed, worst, group.validity.clone()]);
    }
    table
}

fn rows(compared: &ComparedRows) -> Table {
    let ComparedRows { of, interval, is_judged, rows } = compared;
    let mut table = if *is_judged {
        Table::new(&[of, "A", "B", "B - A", "", interval, "p", ""])
    } else {
        Table::new(&[of, "A", "B", "B - A", interval, "p"])
    };
    for row in rows {
        let [a, b, difference, interval, p] =
            [&row.a, &row.b, &row.difference, &row.interval, &row.p].map(|cell| known(cell.as_deref()));
        let [percent, shown] = [&row.percent, &row.shown].map(|cell| cell.clone().unwrap_or_default());
        let name = row.name.clone();
        table.row(if *is_judged {
            vec![name, a, b, difference, percent, interval, p, shown]
        } else {
            vec![name, a, b, difference, interval, p]
        });
    }
    table
}

fn context(difference: &ContextDifference) -> String {
    if let ([a], [b], "command") = (difference.a.as_slice(), difference.b.as_slice(), difference.field.as_str()) {
        if !a.is_empty() && !b.is_empty() {
            return format!("command: {}", words_apart(a, b));
        }
    }
    let values = |values: &[String]| {
        let value = |value: &String| if value.is_empty() { "-".to_owned() } else { value.clone() };
        let mut shown = values.iter().take(SHOWN_VALUES).map(value).collect::<Vec<_>>().join(" | ");
        if values.len() > SHOWN_VALUES {
            let _ = write!(shown, " and {} more", values.len() - SHOWN_VALUES);
        }
        shown
    };
    format!("{}: {} -> {}", difference.field, values(&difference.a), values(&difference.b))
}

/// Two command lines by the words that are not the same in both, behind `…` where words before them are.
fn words_apart(a: &str, b: &str) -> String {
    let [a, b] = [a, b].map(|line| line.split(' ').collect::<Vec<_>>());
    let before = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[before..], &b[before..]);
    let after = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let dots = if before > 0 { "… " } else { "" };
    let [a, b] = [a, b].map(|words| words[..words.len() - after].join(" "));
    format!("{dots}{a} -> {dots}{b}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_command_lines_only_what_is_not_the_same_is_shown() {
        let check = |a, b, expected| assert_eq!(words_apart(a, b), expected);
        check("p wakeup --cpus 1 --time 5s", "p wakeup --cpus 2 --time 5s", "… 1 -> … 2");
        check("p wakeup", "p wakeup --priority 97", "…  -> … --priority 97");
        check("p wakeup -a -a", "p wakeup -a", "… -a -> … ");
        check("x wakeup", "y wakeup", "x -> y");
    }
}
