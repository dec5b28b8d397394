//! Splits text into lines and parses numbers, with errors that name the line.

use std::borrow::Cow;

use crate::error::ForeignError;

/// How many characters of an imported text an error quotes at most.
const MAX_QUOTED: usize = 60;

/// How many bytes of a text are searched for the marks of a format; progress bars and other output may precede them.
const HEAD_BYTES: usize = 64 << 10;

/// Prepares a piece of an imported text for quoting in an error: shortened, and without control characters.
pub(super) fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_QUOTED).map(|c| if c.is_control() { '?' } else { c }).collect();
    if text.chars().nth(MAX_QUOTED).is_some() {
        shown.push('…');
    }
    shown
}

/// The beginning of a text, cut at a character boundary.
pub(super) fn head(text: &str) -> &str {
    let mut end = text.len().min(HEAD_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The lines with their numbers, from 1, without terminal escape sequences.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, without_escapes(line)))
}

/// Trims a line, and removes the escape sequences with which programs redraw a table.
fn without_escapes(line: &str) -> Cow<'_, str> {
    if !line.as_bytes().contains(&0x1b) {
        return Cow::Borrowed(line.trim());
    }
    let mut plain = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
            continue;
        }
        // Control sequences of ECMA-48 are: ESC [ numbers letter.
        if letters.next() == Some('[') {
            letters.by_ref().find(|c| ('@'..='~').contains(c));
        }
    }
    Cow::Owned(plain.trim().to_owned())
}

/// Parses a whole number; `what` names it in an error.
pub(super) fn number(word: &str, line: usize, what: &str) -> Result<u64, ForeignError> {
    // Accept only digits; Rust's parser also accepts a leading plus.
    word.parse().ok().filter(|_| word.as_bytes()[0].is_ascii_digit()).ok_or_else(|| ForeignError::Line {
        line,
        what: format!("{what} is '{}', not a whole number of at least 0", quoted(word)),
    })
}

/// Parses a number that may have a fraction; `what` names it in an error.
pub(super) fn fraction(word: &str, line: usize, what: &str) -> Result<f64, ForeignError> {
    word.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0).ok_or_else(|| ForeignError::Line {
        line,
        what: format!("{what} is '{}', not a number of at least 0", quoted(word)),
    })
}

/// Parses all words of a row as whole numbers.
pub(super) fn numbers(row: &str, line: usize, what: &str) -> Result<Vec<u64>, ForeignError> {
    row.split_ascii_whitespace().map(|word| number(word, line, what)).collect()
}

/// Checks minimum and maximum of two moments of one run: the range of what was seen only widens.
pub(super) fn only_widens(
    line: usize,
    place: &str,
    (min, max): (u64, u64),
    (later_min, later_max): (u64, u64),
) -> Result<(), ForeignError> {
    let goes = if later_max < max {
        format!("maximum falls from {max} to {later_max}")
    } else if later_min > min {
        format!("minimum rises from {min} to {later_min}")
    } else {
        return Ok(());
    };
    let what = format!("{place}: its {goes}, which no run does: two runs? Put each into its own file");
    Err(ForeignError::Line { line, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_removed() {
        let text = "\u{1b}[2AT: 0 (12) P:80\u{1b}[K \r\nplain\n";
        let lines: Vec<_> = lines(text).collect();
        assert_eq!(lines, [(1, Cow::Borrowed("T: 0 (12) P:80")), (2, Cow::Borrowed("plain"))]);
        assert_eq!(without_escapes("a\u{1b}"), "a");
    }

    #[test]
    fn an_error_names_line_and_word_and_stays_short() {
        let error = number(&"x".repeat(5_000), 7, "the cycle count").unwrap_err().to_string();
        assert!(error.starts_with("line 7: the cycle count is 'xxx") && error.len() < 300, "{error}");
        for word in ["+5", "-5", "", "5.0", "99999999999999999999"] {
            assert!(number(word, 1, "n").is_err(), "{word}");
        }
    }
}
