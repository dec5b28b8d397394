//! How a comparison looks on a terminal: one screen, the verdict last.

use std::fmt::Write as _;

use analysis::compare::{
    Comparison, ComparisonState, ContextDifference, DifferenceInterval, GateAnswer, GroupSummary, SettingDifference,
    SignedComparison, WorstComparison,
};
use units::format::{self, latency};

use terminal::output;
use terminal::table::Table;
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
    groups(&mut text, comparison);
    text.push('\n');
    if !comparison.context.is_empty() {
        text.push_str("What else differs:\n");
        for difference in &comparison.context {
            text.push_str(&wrap::paragraph(&context(difference), "  ", width));
        }
        text.push('\n');
    }
    if !comparison.quantities.is_empty() {
        text.push_str(&rows(comparison).render());
        // Of too few runs the lines above the table said so.
        if !comparison.has_too_few_runs() {
            text.push_str(&wrap::paragraph(&format!("Worst cases: {}.", comparison.worst.note), "  ", width));
        }
        text.push('\n');
        if let Some(by_sign) = &comparison.signed {
            text.push_str("  The rows above are distances from zero, either way. With their sign:\n");
            text.push_str(&signed_rows(comparison, by_sign).render());
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

fn groups(text: &mut String, comparison: &Comparison) {
    let mut table = Table::new(&["", "runs", "samples", "time", "missed", ""]);
    for (letter, group) in [("A", &comparison.a), ("B", &comparison.b)] {
        let time = units::total(group.runs.iter().map(|run| run.duration_ns));
        table.row(vec![
            format!("{letter}  {}", group.name),
            format::count(group.runs.len() as u64),
            format::count(group.samples),
            if time == 0 { "-".to_owned() } else { format::span(time) },
            group.missed_periods.map_or_else(|| "-".to_owned(), format::count),
            group.validity.word().to_owned(),
        ]);
    }
    text.push_str(&table.render());
}

fn rows(comparison: &Comparison) -> Table {
    let interval = format!("{} % interval", tidy((1.0 - comparison.method.level) * 100.0));
    let mut table = Table::new(&[comparison.latency.as_str(), "A", "B", "B - A", "", &interval, "p", ""]);
    for row in &comparison.quantities {
        table.row(vec![
            row.name.clone(),
            latency(row.a_ns),
            latency(row.b_ns),
            signed(row.difference_ns),
            percent(row.difference_percent),
            row.interval.map_or_else(|| "-".to_owned(), bounds),
            chance(comparison, row.p_together),
            mark(comparison, &row.name),
        ]);
    }
    let known = |ns: Option<f64>, words: fn(f64) -> String| ns.map_or_else(|| "-".to_owned(), words);
    let WorstComparison { median_difference_ns, median_difference_percent, p_together, .. } = &comparison.worst;
    table.row(vec![
        "median of maxima".to_owned(),
        known(comparison.worst.a_median_ns, latency),
        known(comparison.worst.b_median_ns, latency),
        known(*median_difference_ns, signed),
        percent(*median_difference_percent),
        "-".to_owned(),
        chance(comparison, *p_together),
        mark(comparison, "worst case"),
    ]);
    if let Some(rate) = &comparison.worst.rate {
        let sum = |counts: &[u64]| units::total(counts.iter().copied());
        let share = |beyond: &[u64], exposure: &[u64]| {
            if comparison.measurement.kind().sampling.counts_by_time() {
                return format::count(sum(beyond));
            }
            format!("{} of {}", format::count(sum(beyond)), format::count(sum(exposure)))
        };
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let part = rate.part_ns.map_or_else(String::new, |ns| format!(", first {}", format::span(signed(ns))));
        table.row(vec![
            format!("beyond {}{part}", latency(signed(rate.deadline_ns))),
            share(&rate.a_beyond, &rate.a_exposure),
            share(&rate.b_beyond, &rate.b_exposure),
            String::new(),
            String::new(),
            "-".to_owned(),
            chance(comparison, rate.p_together),
            mark(comparison, "beyond the deadline"),
        ]);
    }
    let max = |group: &GroupSummary| known(group.max_ns.map(units::approx_f64), latency);
    table.row(vec!["worst of all".to_owned(), max(&comparison.a), max(&comparison.b)]);
    table
}

/// Where the samples lie.
fn signed_rows(comparison: &Comparison, by_sign: &SignedComparison) -> Table {
    let interval = format!("{} % interval", tidy((1.0 - comparison.method.level) * 100.0));
    let mut table = Table::new(&["with sign", "A", "B", "B - A", &interval, "p"]);
    for row in &by_sign.quantities {
        table.row(vec![
            row.name.clone(),
            signed(row.a_ns),
            signed(row.b_ns),
            signed(row.difference_ns),
            row.interval.map_or_else(|| "-".to_owned(), bounds),
            chance(comparison, row.p_together),
        ]);
    }
    let ns = |ns: i64| signed(units::approx_f64_i64(ns));
    table.row(vec!["lowest".to_owned(), ns(by_sign.a.lowest_ns), ns(by_sign.b.lowest_ns)]);
    table.row(vec!["highest".to_owned(), ns(by_sign.a.highest_ns), ns(by_sign.b.highest_ns)]);
    table
}

fn mark(comparison: &Comparison, name: &str) -> String {
    let within = |names: &[String]| names.iter().any(|other| other == name);
    if within(&comparison.verdict.worse) {
        "worse".to_owned()
    } else if within(&comparison.verdict.better) {
        "better".to_owned()
    } else {
        String::new()
    }
}

fn signed(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "-" } else { "+" }, latency(ns.abs()))
}

fn percent(percent: Option<f64>) -> String {
    percent.map_or_else(String::new, |percent| format!("{percent:+.1} %"))
}

fn bounds(DifferenceInterval { low_ns, high_ns }: DifferenceInterval) -> String {
    format!("{} to {}", signed(low_ns), signed(high_ns))
}

/// A probability, where any could have been below the level: with too few runs it says nothing.
fn chance(comparison: &Comparison, p_together: Option<f64>) -> String {
    p_together.filter(|_| !comparison.has_too_few_runs()).map_or_else(|| "-".to_owned(), p)
}

fn p(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// A number without a fraction that is nothing.
fn tidy(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
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
