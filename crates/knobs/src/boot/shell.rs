//! Assignments in a file of a shell's, as `/etc/default/grub`: just enough to know what a user has set.
//!
//! Such a file is a program; what is asked of it here is only whether a name is given a value at the beginning of a
//! command, and which text stands there, with quotes, backslashes, continued lines and comments as a shell takes them
//! (POSIX.1-2017, Shell Command Language, 2.2 and 2.3). Nothing is expanded: `$NAME` stays as it is written.

/// One assignment `NAME=value` of a shell file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Name of the variable.
    pub name: String,
    /// Its value, without quotes.
    pub value: String,
    /// Whether what stood there before is added to, by `NAME+=` or by naming itself.
    pub adds: bool,
}

/// All assignments, in their order.
#[must_use]
pub fn assignments(text: &str) -> Vec<Assignment> {
    let mut found = Vec::new();
    let mut chars = text.chars().peekable();
    let mut at_start = true;
    let mut word = String::new();
    // Where the word's first `=` that is not quoted stands.
    let mut equals: Option<usize> = None;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') => {}
                Some('\r') if chars.peek() == Some(&'\n') => {
                    chars.next();
                }
                Some(other) => word.push(other),
                None => word.push('\\'),
            },
            '\'' => word.extend(chars.by_ref().take_while(|&c| c != '\'')),
            '"' => {
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => match chars.next() {
                            Some('\n') => {}
                            Some(other @ ('"' | '\\' | '$' | '`')) => word.push(other),
                            Some(other) => word.extend(['\\', other]),
                            None => {}
                        },
                        other => word.push(other),
                    }
                }
            }
            '#' if word.is_empty() && equals.is_none() => while chars.next_if(|&c| c != '\n').is_some() {},
            c if c.is_whitespace() || matches!(c, ';' | '&' | '|') => {
                let is_assignment = at_start && finish(&mut found, &word, equals);
                let had_word = !word.is_empty();
                word.clear();
                equals = None;
                if c == '\n' || matches!(c, ';' | '&' | '|') {
                    at_start = true;
                } else if had_word && !is_assignment {
                    at_start = false;
                }
            }
            '=' if equals.is_none() => {
                equals = Some(word.len());
                word.push('=');
            }
            c => word.push(c),
        }
    }
    if at_start {
        finish(&mut found, &word, equals);
    }
    found
}

/// Takes a word that assigns.
fn finish(found: &mut Vec<Assignment>, word: &str, equals: Option<usize>) -> bool {
    let Some((name, value)) = equals.map(|at| (&word[..at], &word[at + 1..])) else { return false };
    let (name, is_more) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name {
        let adds = is_more || value.contains(&format!("${name}")) || value.contains(&format!("${{{name}"));
        found.push(Assignment { name: name.to_owned(), value: value.to_owned(), adds });
    }
    is_name
}

/// The last value that a text gives to a name.
#[must_use]
pub fn value(text: &str, name: &str) -> Option<String> {
    assignments(text).into_iter().rfind(|assignment| assignment.name == name).map(|assignment| assignment.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String, bool)> {
        assignments(text).into_iter().map(|one| (one.name, one.value, one.adds)).collect()
    }

    fn pair(name: &str, value: &str, adds: bool) -> (String, String, bool) {
        (name.to_owned(), value.to_owned(), adds)
    }

    #[test]
    fn as_a_shell_takes_them() {
        assert_eq!(pairs("A=1"), [pair("A", "1", false)]);
        assert_eq!(
            pairs("A='x y' # A=2\n#A=3\nB=\"x \\\"y\\\" $A\"\n"),
            [pair("A", "x y", false), pair("B", "x \"y\" $A", false)]
        );
        assert_eq!(pairs("A=\"isolcpus=1 \\\n nohz=on\"\r\n"), [pair("A", "isolcpus=1  nohz=on", false)]);
        assert_eq!(
            pairs("A=a\\\nb\nexport C=1\n  D=4;E=5\n"),
            [pair("A", "ab", false), pair("D", "4", false), pair("E", "5", false)]
        );
        assert_eq!(
            pairs("A=\"$A more\"\nA+=\" x\"\nA=\"${A} y\"\nA=\"${A:-z}\""),
            [pair("A", "$A more", true), pair("A", " x", true), pair("A", "${A} y", true), pair("A", "${A:-z}", true)]
        );
        assert_eq!(pairs("1A=2\nif x=1\n'A'B=\"un"), [pair("AB", "un", false)]);
        assert_eq!(value("A=1\nA=2\nB=3", "A"), Some("2".to_owned()));
        assert_eq!(value("A=1", "B"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_an_answer(text in ".{0,80}") {
            let _ = assignments(&text);
        }

        #[test]
        fn what_is_quoted_is_read_back(value in "[a-z0-9=,. \"$#;\\\\-]{0,40}") {
            let text = format!("# c\nNAME='{value}'\nOTHER=1\n");
            proptest::prop_assert_eq!(super::value(&text, "NAME"), Some(value));
        }
    }
}
