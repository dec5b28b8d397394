//! Prose in lines of the terminal's width.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

/// Columns if the width is unknown, and the most that prose uses.
const COLUMNS: usize = 100;
/// Narrower than this, lines are broken by the terminal rather than by us.
const LEAST_COLUMNS: usize = 40;

/// Columns for prose on stdout.
pub(crate) fn width() -> usize {
    let terminal = std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    terminal.map_or(COLUMNS, |(terminal_size::Width(columns), _)| usize::from(columns).clamp(LEAST_COLUMNS, COLUMNS))
}

/// Breaks at blanks; a longer word stays whole.
pub(crate) fn lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    // A no-break space inside a number is no blank.
    for word in text.split_ascii_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += length;
        }
    }
    lines
}

/// A paragraph, every line behind `indent`.
pub(crate) fn paragraph(text: &str, indent: &str, width: usize) -> String {
    lines(text, width.saturating_sub(indent.chars().count())).iter().fold(String::new(), |mut all, line| {
        // Writing to a string does not fail.
        let _ = writeln!(all, "{indent}{line}");
        all
    })
}

/// A paragraph behind `lead`, whose further lines begin where its first one does.
pub(crate) fn hanging(lead: &str, text: &str, width: usize) -> String {
    let indent = lead.chars().count();
    let mut all = String::new();
    for (number, line) in lines(text, width.saturating_sub(indent)).iter().enumerate() {
        // Writing to a string does not fail.
        let _ = if number == 0 { writeln!(all, "{lead}{line}") } else { writeln!(all, "{:indent$}{line}", "") };
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_at_blanks() {
        assert_eq!(lines("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(lines("longword x", 4), ["longword", "x"]);
        assert_eq!(lines("", 4), [""]);
        assert_eq!(lines("1\u{202f}000 x", 6), ["1\u{202f}000", "x"], "thousands stay together");
    }
}
