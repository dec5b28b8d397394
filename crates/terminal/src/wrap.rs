//! Prose in lines of the terminal's width.

use std::fmt::Write as _;

/// Columns if the width is unknown, and the most that prose uses.
const COLUMNS: usize = 100;
/// How much deeper the later lines of a hanging paragraph stand.
const HANG: &str = "    ";
/// Narrower than this, lines are broken by the terminal rather than by us.
const LEAST_COLUMNS: usize = 40;

/// Columns for prose on stdout.
pub fn width() -> usize {
    columns_of(&std::io::stdout()).map_or(COLUMNS, |columns| columns.clamp(LEAST_COLUMNS, COLUMNS))
}

/// Columns that a row of a table may take on stdout: all that the terminal has, or that `COLUMNS` states. A
/// pipe or a file has no edge of its own, so that one row stays one line there.
pub fn row_width() -> usize {
    columns_of(&std::io::stdout()).map_or(usize::MAX, |columns| columns.max(LEAST_COLUMNS))
}

/// The same on stderr.
pub fn row_width_of_stderr() -> usize {
    columns_of(&std::io::stderr()).map_or(usize::MAX, |columns| columns.max(LEAST_COLUMNS))
}

/// Columns that a stream has: what `COLUMNS` says, as people set it for a pipe or against a terminal that is wrong about its
/// width, else those of the terminal; `None` where neither is known.
fn columns_of(stream: &(impl std::os::fd::AsFd + std::io::IsTerminal)) -> Option<usize> {
    let size = || stream.is_terminal().then(|| terminal_size::terminal_size_of(stream)).flatten();
    let setting = std::env::var("COLUMNS").ok();
    set_columns(setting.as_deref()).or_else(|| size().map(|(terminal_size::Width(columns), _)| usize::from(columns)))
}

/// The number of columns that a setting states; `None` where it states none.
fn set_columns(setting: Option<&str>) -> Option<usize> {
    setting?.trim().parse().ok().filter(|columns| *columns > 0)
}

/// Breaks at blanks; a longer word stays whole.
pub fn lines(text: &str, width: usize) -> Vec<String> {
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
pub fn paragraph(text: &str, indent: &str, width: usize) -> String {
    lines(text, width.saturating_sub(indent.chars().count())).iter().fold(String::new(), |mut all, line| {
        // Writing to a string does not fail.
        let _ = writeln!(all, "{indent}{line}");
        all
    })
}

/// A paragraph behind `lead`, whose further lines begin where its first one does.
pub fn after_lead(lead: &str, text: &str, width: usize) -> String {
    let indent = lead.chars().count();
    let mut all = String::new();
    for (number, line) in lines(text, width.saturating_sub(indent)).iter().enumerate() {
        // Writing to a string does not fail.
        let _ = if number == 0 { writeln!(all, "{lead}{line}") } else { writeln!(all, "{:indent$}{line}", "") };
    }
    all
}

/// A paragraph whose later lines hang four columns deeper than its first; what fits in one line stays as it is.
pub fn hanging(text: &str, indent: &str, width: usize) -> String {
    if !text.contains('\n') && indent.chars().count() + text.chars().count() <= width {
        return format!("{indent}{text}\n");
    }
    let room = width.saturating_sub(indent.chars().count() + HANG.len());
    lines(text, room).iter().enumerate().fold(String::new(), |mut all, (number, line)| {
        let hang = if number == 0 { "" } else { HANG };
        // Writing to a string does not fail.
        let _ = writeln!(all, "{indent}{hang}{line}");
        all
    })
}

/// An entry of a list: a name in a column, and what it means beside it, or below it where little room is left.
pub fn entry(name: &str, columns: usize, meaning: &str, width: usize) -> String {
    const LEAST_BESIDE: usize = 36;
    let room = width.saturating_sub(columns + 2);
    if room < LEAST_BESIDE && columns + 2 + meaning.chars().count() > width {
        return format!("{name}\n{}", paragraph(meaning, HANG, width));
    }
    let beside = paragraph(meaning, &" ".repeat(columns + 2), width);
    format!("{name:<columns$}  {}", beside.trim_start())
}

/// Text as it is, but that each line that does not fit is broken between words, as a terminal would not.
pub fn between_words(text: &str, width: usize) -> String {
    let line = |line: &str| {
        if line.chars().count() <= width {
            return line.to_owned();
        }
        let depth = line.chars().take_while(|c| *c == ' ').count();
        hanging(line.trim_start(), &" ".repeat(depth), width).trim_end().to_owned()
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_broken_between_words_and_the_rest_stays() {
        let text = "x = [ 1,  2 ]\n  because: one two three four\n";
        assert_eq!(between_words(text, usize::MAX), text);
        assert_eq!(between_words(text, 24), "x = [ 1,  2 ]\n  because: one two\n      three four\n");
        assert_eq!(hanging("aa bb cc", "  ", 9), "  aa\n      bb\n      cc\n");
    }

    #[test]
    fn a_meaning_stands_beside_its_name_where_there_is_room() {
        assert_eq!(entry("swap", 6, "pages go to a disk", usize::MAX), "swap    pages go to a disk\n");
        let long = "memory may be swapped out, and comes back late";
        assert_eq!(entry("swap", 6, long, 46), "swap    memory may be swapped out, and comes\n        back late\n");
        assert_eq!(entry("swap", 6, long, 40), "swap\n    memory may be swapped out, and comes\n    back late\n");
    }

    #[test]
    fn a_setting_of_the_columns_counts_where_it_is_a_number_above_zero() {
        assert_eq!(set_columns(Some("40")), Some(40));
        for none in [None, Some(""), Some("0"), Some("wide"), Some("-3")] {
            assert_eq!(set_columns(none), None, "{none:?}");
        }
    }

    #[test]
    fn wraps_at_blanks() {
        assert_eq!(lines("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(lines("longword x", 4), ["longword", "x"]);
        assert_eq!(lines("", 4), [""]);
        assert_eq!(lines("1\u{202f}000 x", 6), ["1\u{202f}000", "x"], "thousands stay together");
    }
}
