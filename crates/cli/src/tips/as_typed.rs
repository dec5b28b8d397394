//! The user's own spelling in errors: options have aliases, and `wakeup` stands for `measure wakeup`.

use std::ffi::OsString;

use clap::{Command, CommandFactory as _};

/// What errors name otherwise than the user typed it: the name in errors, and the user's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spelling(Vec<(String, String)>);

impl Spelling {
    /// Reads which aliases stand in the line that was typed. An option that stands there by its own name as well keeps it.
    pub(crate) fn from_line(typed: &[OsString]) -> Self {
        let typed: Vec<&str> =
            typed.iter().skip(1).map_while(|word| word.to_str()).take_while(|word| *word != "--").collect();
        let has = |name: &str| {
            let option = format!("--{name}");
            typed.iter().any(|word| word.split('=').next() == Some(option.as_str()))
        };
        let mut command = crate::Cli::command();
        let mut pairs = Vec::new();
        let mut names = typed.iter().take_while(|word| !word.starts_with('-')).copied().peekable();
        if names.peek().is_some_and(|first| crate::grammar::stands_alone(first)) {
            let kind = names.peek().copied().unwrap_or_default();
            pairs.push((format!("punctual measure {kind}"), format!("punctual {kind}")));
            command = subcommand(&command, "measure").unwrap_or(command);
        }
        while let Some(next) = names.next().and_then(|name| subcommand(&command, name)) {
            command = next;
        }
        for argument in command.get_arguments() {
            let Some(own) = argument.get_long().filter(|own| !has(own)) else { continue };
            let alias = argument.get_all_aliases().into_iter().flatten().find(|alias| has(alias));
            pairs.extend(alias.map(|alias| (format!("--{own}"), format!("--{alias}"))));
        }
        Self(pairs)
    }

    /// A text of ours with the user's words in it.
    pub(crate) fn apply(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (own, typed)| with_word(&text, own, typed))
    }
}

fn subcommand(command: &Command, name: &str) -> Option<Command> {
    command.find_subcommand(name).cloned()
}

/// The text with another word in place of `word`, where it is a whole one.
fn with_word(text: &str, word: &str, other: &str) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, from) = rest.split_at(at);
        let after = &from[word.len()..];
        let goes_on = after.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '-');
        changed.push_str(before);
        changed.push_str(if goes_on { word } else { other });
        rest = after;
    }
    changed + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(line: &str, text: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Spelling::from_line(&words).apply(text)
    }

    #[test]
    fn errors_name_what_was_typed() {
        let text = "lengthen --duration or --durations; usage: punctual measure wakeup";
        assert_eq!(
            spelled("punctual wakeup --time 1us", text),
            "lengthen --time or --durations; usage: punctual wakeup"
        );
        assert_eq!(spelled("punctual measure wakeup --duration=1us", text), text);
        assert_eq!(spelled("punctual wakeup --prio=1", "--priority is 1"), "--prio is 1");
        assert_eq!(spelled("punctual assess --duration 1s", "--time is short"), "--duration is short");
        assert_eq!(spelled("punctual app -- ./mine --time 3", "--duration"), "--duration", "the program's own option");
        assert_eq!(spelled("punctual frobnicate", text), text);
    }
}
