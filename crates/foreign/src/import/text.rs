//! Lines and numbers of foreign texts, with errors that say where.

use std::borrow::Cow;

use crate::error::ForeignError;

/// The most of a foreign text that an error repeats.
const MAX_QUOTED: usize = 60;

/// How far into a text a format looks for its marks; progress bars and other output may stand before.
const HEAD_BYTES: usize = 64 << 10;

/// A piece of foreign text as an error may repeat it.
pub(super) fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_QUOTED).map(|c| if c.is_control() { '?' } else { c }).collect();
    if text.chars().nth(MAX_QUOTED).is_some() {
        shown.push('…');
    }
    shown
}

/// The beginning of a text, cut at a character.
pub(super) fn head(text: &str) -> &str {
    let mut end = text.len().min(HEAD_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The lines with their numbers, from 1, without what moves a terminal's cursor.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, without_escapes(line)))
}

/// A line without the escape sequences by which programs redraw a table, and trimmed.
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
        // ESC [ numbers letter: ECMA-48's control sequences.
        if letters.next() == Some('[') {
            letters.by_ref().find(|c| ('@'..='~').contains(c));
        }
    }
    Cow::Owned(plain.trim().to_owned())
}

/// A number of a line.
pub(super) fn number(word: &str, line: usize, what: &str) -> Result<u64, ForeignError> {
    // Digits alone: Rust's own parser takes a plus too.
    word.parse().ok().filter(|_| word.as_bytes()[0].is_ascii_digit()).ok_or_else(|| ForeignError::Line {
        line,
        what: format!("{what} is '{}', not a whole number from 0", quoted(word)),
    })
}

/// A number with a fraction.
pub(super) fn fraction(word: &str, line: usize, what: &str) -> Result<f64, ForeignError> {
    word.parse()
        .ok()
        .filter(|value: &f64| value.is_finite() && *value >= 0.0)
        .ok_or_else(|| ForeignError::Line { line, what: format!("{what} is '{}', not a number from 0", quoted(word)) })
}

/// All words of a row as numbers.
pub(super) fn numbers(row: &str, line: usize, what: &str) -> Result<Vec<u64>, ForeignError> {
    row.split_ascii_whitespace().map(|word| number(word, line, what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_a_cursor_is_left_out() {
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
