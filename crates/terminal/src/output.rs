//! How a program speaks: data on stdout, everything else on stderr, meaning never by color alone.

use std::borrow::Cow;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use units::printable;

use crate::wrap;

/// Prints an error with its causes, one line each.
pub fn error(error: &anyhow::Error) {
    error_in(error, str::to_owned);
}

/// The same with other words in it, which `spelled` puts there.
pub fn error_in(error: &anyhow::Error, spelled: impl Fn(&str) -> String) {
    let mut said = chain(error).into_iter();
    let first = said.next().unwrap_or_default();
    message(&spelled(&format!("error: {first}")), Some(("error:", "1;31")));
    for cause in said {
        message(&spelled(&format!("  because: {cause}")), None);
    }
}

/// An error and its causes, without those that the one before ends with: many errors quote what they come from.
fn chain(error: &anyhow::Error) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for cause in error.chain() {
        let cause = cause.to_string().trim_end().to_owned();
        if !said.last().is_some_and(|last| last.ends_with(&cause)) {
            said.push(cause);
        }
    }
    said
}

/// Ends the program as an error about its usage does, or after the help that was asked for.
pub fn usage(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    if printable::lines(&text) == text {
        error.exit();
    }
    // It quotes what was typed, which a script may have from anywhere.
    message(text.trim_end(), None);
    std::process::exit(error.exit_code())
}

/// Prints a message of one or more lines on stderr, its first word painted. A line after the first is indented, so that a
/// name with a line break cannot forge a message.
fn message(text: &str, painted: Option<(&str, &str)>) {
    let mut stderr = io::stderr().lock();
    let mut all = String::new();
    for (number, line) in printable::lines(text).split('\n').enumerate() {
        let indent = if number == 0 || line.is_empty() || line.starts_with(' ') { "" } else { "  " };
        all.push_str(if number == 0 { "" } else { "\n" });
        all.push_str(indent);
        all.push_str(line);
    }
    let mut all = wrap::between_words(&all, wrap::row_width_of_stderr());
    if let Some((word, style)) = painted.filter(|_| stderr.is_terminal() && may_color()) {
        all = all.replacen(word, &format!("\u{1b}[{style}m{word}\u{1b}[0m"), 1);
    }
    // With stderr closed, nobody can be informed.
    let _ = writeln!(stderr, "{all}");
}

/// Prints text to stdout; a closed pipe ends the program quietly as `head` expects.
///
/// This is the one place where text of others becomes visible: whatever in it could steer a terminal is shown by its
/// number, but for what [`steering`] wrote. In a JSON document that is the same document.
pub fn data(text: &str) {
    write(harmless(text).as_bytes());
}

/// Prints text to stdout for whoever reads it: what serves others goes on where nobody does.
pub fn announce(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(harmless(text).as_bytes()).and_then(|()| stdout.flush());
}

/// Writes data that need not be text to stdout, as [`data`] does: as they are, unless a person looks at them.
pub fn bytes(bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) if stdout_is_terminal() => data(text),
        _ => write(bytes),
    }
}

fn write(bytes: &[u8]) {
    if io::stdout().lock().write_all(bytes).and_then(|()| io::stdout().flush()).is_err() {
        std::process::exit(exit_code_of_closed_pipe());
    }
}

/// A control sequence of our own for stdout: `steering("1A")` moves the cursor up by one line. Its mark is drawn at random
/// for each process, so that no text of others can have it.
pub fn steering(sequence: &str) -> String {
    format!("{}{sequence}", mark())
}

fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| format!("\u{1b}<{:016x}>", RandomState::new().hash_one(std::process::id())))
}

/// Text as it may go to a terminal.
fn harmless(text: &str) -> String {
    let parts: Vec<Cow<'_, str>> = text.split(mark()).map(printable::lines).collect();
    parts.join("\u{1b}[")
}

/// Text of several lines for a terminal that somebody else draws on, as a progress bar does.
pub fn shown(text: &str) -> String {
    printable::lines(text).into_owned()
}

/// Whether a person asked for details that a result leaves out otherwise.
static IS_VERBOSE: AtomicBool = AtomicBool::new(false);

/// Sets for the rest of the process whether results come with their details.
pub fn set_verbose(is_verbose: bool) {
    IS_VERBOSE.store(is_verbose, Ordering::Relaxed);
}

/// Whether results come with their details.
pub fn is_verbose() -> bool {
    IS_VERBOSE.load(Ordering::Relaxed)
}

/// Whether stdout is shown to a person.
pub fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

const fn exit_code_of_closed_pipe() -> i32 {
    // As if killed by SIGPIPE, which shells know.
    141
}

/// Whether stdout shall carry color: a terminal that knows it, and NO_COLOR unset or empty.
pub fn color_stdout() -> bool {
    io::stdout().is_terminal() && may_color()
}

/// Whether a stream is a terminal on which lines can be drawn over, as a progress bar does.
pub fn draws_on(stream: &impl io::IsTerminal) -> bool {
    stream.is_terminal() && !is_dumb()
}

fn may_color() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && !is_dumb()
}

/// A terminal that knows no escape codes, as an editor's or a serial console's.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// `text` in the given SGR style where `enabled` (and NO_COLOR or a dumb terminal does not forbid it), else plain. For
/// [`data`] alone.
pub fn paint(enabled: bool, sgr: &str, text: &str) -> String {
    if enabled && may_color() {
        format!("{}{text}{}", steering(&format!("{sgr}m")), steering("0m"))
    } else {
        text.to_owned()
    }
}

/// One line of advice on stderr.
pub fn note(text: &str) {
    message(text, None);
}

/// Something that a person should know, on stderr.
pub fn warning(text: &str) {
    message(&format!("warning: {text}"), Some(("warning:", "1;33")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_error_has_quoted_is_not_said_again() {
        let of = |error: anyhow::Error, contexts: &[&'static str]| {
            chain(&contexts.iter().fold(error, |error, context| error.context(*context)))
        };
        let form = || anyhow::anyhow!("line 1\n  no end\n");
        assert_eq!(
            of(form(), &["not a campaign: line 1\n  no end\n", "x.toml"]),
            ["x.toml", "not a campaign: line 1\n  no end"]
        );
        assert_eq!(of(form(), &["x.toml"]), ["x.toml", "line 1\n  no end"]);
    }

    #[test]
    fn nothing_but_our_own_sequences_reaches_a_terminal() {
        let own = format!("{}{}", steering("2A"), "row \u{1b}[2J\u{9b}2J\u{202e}\r\n");
        assert_eq!(harmless(&own), "\u{1b}[2Arow \\u001b[2J\\u009b2J\\u202e\\u000d\n");
        let forged = "\u{1b}<0000000000000000>31mred";
        assert_eq!(harmless(forged), forged.replace('\u{1b}', "\\u001b"));
        let json = "{\"name\":\"a\u{9b}b\u{7f}\"}";
        let read: serde_json::Value = serde_json::from_str(&harmless(json)).unwrap();
        assert_eq!(read["name"], "a\u{9b}b\u{7f}", "a document keeps its meaning");
    }
}
