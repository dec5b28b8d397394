//! What people type before they have read the help: the kinds of measurement without 'measure', and 'measure' without a kind.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, BufRead, IsTerminal as _};

use clap::{Command, CommandFactory as _};

use terminal::output;

/// Why no command could be made of the words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoKind(String);

impl NoKind {
    /// What to say of it.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// The command line in its full form; asks a person at a terminal for what is missing.
///
/// # Errors
/// Where `measure` has no kind, and there is nobody to ask.
pub(crate) fn completed(words: Vec<OsString>) -> Result<Vec<OsString>, NoKind> {
    let words = spelled_out(words);
    if !lacks_kind(&words) {
        return Ok(words);
    }
    let kinds = kinds();
    let chosen = if io::stdin().is_terminal() && io::stderr().is_terminal() {
        output::note(question(&kinds).trim_end());
        answer(&mut io::stdin().lock(), &kinds)
    } else {
        None
    };
    match chosen {
        Some(kind) => Ok(inserted(words, 2, kind)),
        None => Err(NoKind(without_kind(&words, &kinds))),
    }
}

/// The words with 'measure' before a kind that stands alone, and cyclictest's own help in place of an empty one.
fn spelled_out(words: Vec<OsString>) -> Vec<OsString> {
    let word = |at: usize| words.get(at).and_then(|word| word.to_str()).unwrap_or_default();
    if stands_alone(word(1)) {
        return inserted(words, 1, "measure");
    }
    if word(1) == "help" && stands_alone(word(2)) {
        return inserted(words, 2, "measure");
    }
    if word(1) == "help" && word(2) == "cyclictest" {
        return [&words[..1], &["cyclictest".into(), "--help".into()]].concat();
    }
    words
}

/// Whether a word is a kind that `measure` measures, and no command: `punctual wakeup` is `punctual measure wakeup`.
pub(crate) fn stands_alone(word: &str) -> bool {
    record::Measurement::by_name(word).is_some()
        && crate::Cli::command().find_subcommand(word).is_none()
        && kinds().iter().any(|(kind, _)| kind == word)
}

fn inserted(mut words: Vec<OsString>, at: usize, word: &str) -> Vec<OsString> {
    words.insert(at, word.into());
    words
}

/// Whether `measure` is followed by options, or by nothing.
fn lacks_kind(words: &[OsString]) -> bool {
    let word = |at: usize| words.get(at).and_then(|word| word.to_str());
    word(1) == Some("measure")
        && word(2).is_none_or(|next| next.starts_with('-') && !matches!(next, "-h" | "--help" | "-V" | "--version"))
}

/// The kinds of measurement with what each of them measures.
fn kinds() -> Vec<(String, String)> {
    let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    let command = crate::Cli::command();
    let measure = command.find_subcommand("measure");
    measure
        .into_iter()
        .flat_map(Command::get_subcommands)
        .filter(|kind| kind.get_name() != "help")
        .map(|kind| (kind.get_name().to_owned(), about(kind)))
        .collect()
}

fn question(kinds: &[(String, String)]) -> String {
    let mut text = "Measure what?\n".to_owned();
    for (number, (name, about)) in (1..).zip(kinds) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {number}  {name:<8} {about}");
    }
    text.push_str("Number or name, then Enter (Enter alone: 1):");
    text
}

/// The kind that a person chooses; `None` at the end of the input, or for an answer that names no kind.
fn answer<'a>(input: &mut impl BufRead, kinds: &'a [(String, String)]) -> Option<&'a str> {
    let mut line = String::new();
    if input.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let line = if line.trim().is_empty() { "1" } else { line.trim() };
    let by_number = line.parse::<usize>().ok().and_then(|number| kinds.get(number.checked_sub(1)?));
    let by_name = || kinds.iter().find(|(name, _)| name == line);
    by_number.or_else(by_name).map(|(name, _)| name.as_str())
}

/// What is missing, which kinds there are, and the line with the first of them put in.
fn without_kind(words: &[OsString], kinds: &[(String, String)]) -> String {
    let mut text = "'measure' needs to know what to measure:\n".to_owned();
    for (name, about) in kinds {
        let _ = writeln!(text, "  {name:<8} {about}");
    }
    // A kind that stands further back is the one that was meant, where it is no value of an option.
    let typed: Vec<String> = words.iter().skip(2).map(|word| word.to_string_lossy().into_owned()).collect();
    let meant = kinds.iter().map(|(name, _)| name.as_str()).find(|name| typed.iter().any(|word| word == name));
    let kind = meant.unwrap_or("wakeup");
    let rest: Vec<&str> = typed.iter().map(String::as_str).filter(|word| Some(*word) != meant).collect();
    let line = [&["punctual", "measure", kind], rest.as_slice()].concat().join(" ");
    let _ = write!(text, "write it right after 'measure', for example: {line}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn kinds_stand_alone_and_help_finds_them() {
        let check = |typed: &str, full: &str| assert_eq!(spelled_out(words(typed)), words(full), "{typed}");
        check("punctual wakeup --cpus 1", "punctual measure wakeup --cpus 1");
        check("punctual noise", "punctual measure noise");
        check("punctual help clock", "punctual help measure clock");
        check("punctual help cyclictest", "punctual cyclictest --help");
        check("punctual measure wakeup", "punctual measure wakeup");
        check("punctual report noise", "punctual report noise");
        // Each of those that `measure` lists, but a request, which is of any kind.
        for (kind, _) in kinds().iter().filter(|(kind, _)| kind != "request") {
            let is_command = crate::Cli::command().find_subcommand(kind).is_some();
            assert!(
                is_command || spelled_out(words(&format!("punctual {kind}"))).len() == 3,
                "{kind} stands not alone"
            );
        }
    }

    #[test]
    fn a_missing_kind_is_noticed_and_help_is_not() {
        let check = |line: &str, lacks| assert_eq!(lacks_kind(&words(line)), lacks, "{line}");
        check("punctual measure", true);
        check("punctual measure --cpus 1", true);
        check("punctual measure --help", false);
        check("punctual measure wakeup --cpus 1", false);
        check("punctual measure wakup", false);
        check("punctual assess --cpus 1", false);
    }

    #[test]
    fn an_answer_is_a_number_or_a_name_and_anything_else_is_none() {
        let kinds = kinds();
        let check = |typed: &str, kind| assert_eq!(answer(&mut typed.as_bytes(), &kinds), kind, "{typed:?}");
        check("\n", Some("wakeup"));
        check("3\n", Some("noise"));
        check(" clock \n", Some("clock"));
        check("0\n", None);
        check("9\n", None);
        check("cyclictest\n", None);
        check("", None);
        assert!(question(&kinds).contains("  1  wakeup   Timer wake-up latency"), "{}", question(&kinds));
    }

    #[test]
    fn the_line_that_would_have_been_right_is_shown() {
        let shown = |line: &str| without_kind(&words(line), &kinds());
        assert!(shown("punctual measure --cpus 1").ends_with("punctual measure wakeup --cpus 1"));
        assert!(shown("punctual measure --cpus 1 noise").ends_with("punctual measure noise --cpus 1"));
    }
}
