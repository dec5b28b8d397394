//! Text in HTML: whatever others wrote is text there, and nothing else.

use std::fmt;

/// A text of others in a page or in an attribute between double quotes: markup is escaped, and what steers terminals, turns the
/// direction of text or cannot be seen is shown by its number.
pub(super) struct Text<'a>(pub &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = units::printable::line(self.0);
        let mut rest = &*text;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
            let (before, from) = rest.split_at(at);
            let mut letters = from.chars();
            let escaped = match letters.next() {
                Some('&') => "&amp;",
                Some('<') => "&lt;",
                Some('>') => "&gt;",
                Some('"') => "&quot;",
                _ => "&#39;",
            };
            write!(f, "{before}{escaped}")?;
            rest = letters.as_str();
        }
        f.write_str(rest)
    }
}

/// A part of an address: what is no letter, digit or one of `-._~` by its bytes' numbers.
pub(super) struct InUrl<'a>(pub &'a str);

impl fmt::Display for InUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                write!(f, "{}", char::from(byte))?;
            } else {
                write!(f, "%{byte:02X}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markup_and_what_steers_terminals_is_text() {
        assert_eq!(Text("<script>alert('&\")").to_string(), "&lt;script&gt;alert(&#39;&amp;&quot;)");
        assert_eq!(Text("a\u{1b}[31m\u{202e}b\n").to_string(), "a\\u001b[31m\\u202eb\\u000a");
        assert_eq!(InUrl("a b&c=/é").to_string(), "a%20b%26c%3D%2F%C3%A9");
    }

    proptest! {
        #[test]
        fn no_text_opens_a_tag_or_ends_an_attribute(text in any::<String>()) {
            let shown = Text(&text).to_string();
            let is_marked = shown.contains(['<', '>', '"', '\'', '\u{1b}']);
            prop_assert!(!is_marked);
            prop_assert!(InUrl(&text).to_string().is_ascii());
        }
    }
}
