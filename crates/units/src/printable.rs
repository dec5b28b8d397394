//! Text of others, made harmless for a terminal and for the eye.
//!
//! Names of hosts, threads, interfaces and files, notes of records, and errors that quote them may hold anything: sequences
//! that steer a terminal, characters that reverse the direction of a line, or line breaks that forge a line of ours. Each
//! such character is shown by its number as JSON writes it (`\u001b`), so that a JSON document keeps its meaning.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character steers a terminal, changes the direction of text, or cannot be seen at all.
///
/// The controls C0 and C1, DEL, separators of lines and paragraphs, marks and overrides of direction, and characters without
/// width that only hide or tag others. Joiners are none of these, as scripts need them.
#[must_use]
pub fn is_unprintable(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Text for one line: every unprintable character is shown by its number, line breaks and tabulators included.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    shown(text, is_unprintable)
}

/// Text of several lines: as [`line`], but for line feeds and tabulators.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    shown(text, |letter| is_unprintable(letter) && !matches!(letter, '\n' | '\t'))
}

fn shown(text: &str, is_hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut all = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_hidden(letter) { push_number(&mut all, letter, "\\") } else { all.push(letter) }
    }
    Cow::Owned(all)
}

/// Writes a character as JSON's escape sequences, each behind `mark`.
fn push_number(all: &mut String, letter: char, mark: &str) {
    for unit in letter.encode_utf16(&mut [0; 2]) {
        // Writing to a string does not fail.
        let _ = write!(all, "{mark}u{unit:04x}");
    }
}

/// A JSON document whose strings are all as [`line`] shows them: the string `a` ESC becomes the string `a\u001b` of seven
/// letters. Text that is no JSON stays without effect on a terminal, and may become other text that is no JSON.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    json_without(text, is_unprintable)
}

/// The same with strings of several lines, as [`lines`] shows them.
#[must_use]
pub fn json_lines(text: &str) -> Cow<'_, str> {
    json_without(text, |letter| is_unprintable(letter) && !matches!(letter, '\n' | '\t'))
}

fn json_without(text: &str, is_hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte != b'\\' && byte < 0x7f;
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut all = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = match letter {
            '\\' => escape(&mut all, rest, &is_hidden),
            _ if is_hidden(letter) && !matches!(letter, '\n' | '\r' | '\t') => {
                push_number(&mut all, letter, "\\\\");
                letter.len_utf8()
            }
            _ => {
                all.push(letter);
                letter.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    if all == text { Cow::Borrowed(text) } else { Cow::Owned(all) }
}

/// Copies the escape sequence at the beginning of `rest`, or one that shows it where it is of an unprintable character;
/// returns its length in bytes.
fn escape(all: &mut String, rest: &str, is_hidden: &impl Fn(char) -> bool) -> usize {
    let unit = |at: usize| {
        let digits = rest.get(at..at + 6)?.strip_prefix("\\u").filter(|digits| !digits.starts_with('+'))?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (letter, length) = match rest.as_bytes().get(1) {
        Some(b'b') => (Some('\u{8}'), 2),
        Some(b'f') => (Some('\u{c}'), 2),
        Some(b'n') => (Some('\n'), 2),
        Some(b'r') => (Some('\r'), 2),
        Some(b't') => (Some('\t'), 2),
        Some(b'u') => {
            let units: Vec<u16> = [unit(0), unit(6)].into_iter().map_while(|unit| unit).collect();
            match char::decode_utf16(units).next() {
                Some(Ok(letter)) => (Some(letter), 6 * letter.len_utf16()),
                _ => (None, 2),
            }
        }
        Some(byte) if byte.is_ascii_graphic() => (None, 2),
        _ => (None, 1),
    };
    match letter.filter(|letter| is_hidden(*letter)) {
        Some(letter) => push_number(all, letter, "\\\\"),
        None => all.push_str(rest.get(..length).unwrap_or(rest)),
    }
    length
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_steers_a_terminal_or_the_eye_is_shown_by_its_number() {
        assert_eq!(line("rt\u{1b}[2J\u{7}\u{9b}31m\u{7f}"), r"rt\u001b[2J\u0007\u009b31m\u007f");
        assert_eq!(line("gpj.\u{202e}exe\u{2066}\u{200f}"), r"gpj.\u202eexe\u2066\u200f");
        assert_eq!(line("two\r\nlines"), r"two\u000d\u000alines");
        assert_eq!(lines("two\r\nlines\tmore"), "two\\u000d\nlines\tmore");
        assert_eq!(line("\u{e0041}"), r"\udb40\udc41");
        for plain in ["µs, 1\u{202f}000, ▁▂█ × … “x”", "नमस्ते", "a\u{200d}b", ""] {
            assert_eq!(line(plain), plain);
        }
    }

    #[test]
    fn a_document_keeps_its_form_and_its_strings_become_lines() {
        let document = "{\n\t\"a\\u001b[2J\": \"x\\ny\\\"\\\\n\\u0041\\ud83d\\ude00\u{9b}\"}\r\n";
        let shown = json(document);
        let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(value, serde_json::json!({r"a\u001b[2J": "x\\u000ay\"\\nA😀\\u009b"}));
        assert_eq!(json(&shown), shown, "what is harmless stays");
        assert_eq!(json_lines("[\"a\\nb\\u001b\"]"), "[\"a\\nb\\\\u001b\"]");
    }

    proptest! {
        #[test]
        fn any_string_of_a_document_becomes_its_line(
            text in prop::collection::vec(prop_oneof![any::<char>(), Just('\\'), Just('"'), Just('\u{1b}'), Just('u')], 0..20)
        ) {
            let text: String = text.into_iter().collect();
            let document = serde_json::to_string(&[&text]).unwrap();
            let read: Vec<String> = serde_json::from_str(&json(&document)).unwrap();
            prop_assert_eq!(read.concat(), line(&text));
        }

        #[test]
        fn no_text_makes_it_print_what_it_must_not(text in ".*", cut in 0_usize..40) {
            let text = format!("{text}\\u00");
            let text: String = text.chars().skip(cut).collect();
            for shown in [line(&text), json(&text.replace(['\n', '\r', '\t'], ""))] {
                prop_assert!(!shown.chars().any(is_unprintable), "{:?}", shown);
            }
        }
    }
}
