//! Periods among the late wake-ups, on a terminal: a line each.

use record::Record;
use terminal::wrap;

/// What was found, which known periods the sampling hides, and what was scanned; nothing where no scan was asked for.
pub(crate) fn text(record: &Record) -> String {
    let Some(said) = summary::rhythm::summary(record) else { return String::new() };
    let found = said.rhythms.iter().map(|rhythm| format!("Rhythm: {rhythm}"));
    let hidden = said.hidden.iter().map(|hidden| format!("Hidden: {hidden}"));
    let lines = found.chain(hidden).chain([said.scanned.clone()]);
    lines.fold(String::from("\n"), |text, line| text + &wrap::paragraph(&line, "  ", wrap::width()))
}
