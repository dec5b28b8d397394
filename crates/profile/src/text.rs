//! The small readers that most files under `/proc` and `/sys` need: one value, one line.

/// The text without the final newline and blanks; `None` where nothing is left.
#[must_use]
pub fn line(text: &str) -> Option<String> {
    // Device trees end their strings in a NUL.
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

/// Only those lines of a text that a capture keeps.
pub(crate) fn lines_where(text: &str, keep: impl Fn(&str) -> bool) -> String {
    text.lines().filter(|line| keep(line)).flat_map(|line| [line, "\n"]).collect()
}

/// One decimal number that fills the text.
#[must_use]
pub fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// One signed decimal number that fills the text.
#[must_use]
pub fn signed(text: &str) -> Option<i64> {
    text.trim().parse().ok()
}

/// A switch: `0`/`1`, `N`/`Y`, `off`/`on`; any other number counts as on.
#[must_use]
pub fn switch(text: &str) -> Option<bool> {
    match text.trim() {
        "0" | "N" | "n" | "off" => Some(false),
        "Y" | "y" | "on" => Some(true),
        other => other.parse::<u64>().ok().map(|value| value != 0),
    }
}

/// The chosen word of a list such as `always [madvise] never` or `none voluntary (full)`.
#[must_use]
pub fn chosen(text: &str) -> Option<String> {
    text.split_whitespace().find_map(|word| {
        let inner = word
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .or_else(|| word.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')))?;
        (!inner.is_empty()).then(|| inner.to_owned())
    })
}

/// The words of a one-line list.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The value of `key: value` or `key=value`, first occurrence, key compared exactly.
#[must_use]
pub fn keyed<'a>(text: &'a str, separator: char, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(separator)?;
        (name.trim() == key).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_values() {
        assert_eq!(line(" a b\n"), Some("a b".to_owned()));
        assert_eq!(line("Olimex A20\0"), Some("Olimex A20".to_owned()));
        assert_eq!(line("\n"), None);
        assert_eq!(number("12\n"), Some(12));
        assert_eq!(number("-1"), None);
        assert_eq!(signed("-1\n"), Some(-1));
        assert_eq!(switch("Y\n"), Some(true));
        assert_eq!(switch("2"), Some(true));
        assert_eq!(switch("?"), None);
        assert_eq!(chosen("always [madvise] never\n").as_deref(), Some("madvise"));
        assert_eq!(chosen("none voluntary (full) lazy").as_deref(), Some("full"));
        assert_eq!(chosen("none"), None);
        assert_eq!(keyed("a: 1\nb:\t2\n", ':', "b"), Some("2"));
    }
}
