//! How the program speaks: data on stdout, everything else on stderr, meaning never by colour alone.

use std::io::{self, IsTerminal as _, Write as _};

use crate::view::wrap;

/// Prints an error with its causes, one line each.
pub(crate) fn error(error: &anyhow::Error) {
    error_in(error, str::to_owned);
}

/// The same with other words in it, which `spelled` puts there.
pub(crate) fn error_in(error: &anyhow::Error, spelled: impl Fn(&str) -> String) {
    let mut stderr = io::stderr().lock();
    // With stderr closed, nobody can be informed.
    let width = wrap::row_width_of_stderr();
    let plain = wrap::between_words(&spelled(&format!("error: {error}")), width);
    let painted = paint(stderr.is_terminal(), "1;31", "error:");
    let _ = writeln!(stderr, "{}", plain.replacen("error:", &painted, 1));
    for cause in error.chain().skip(1) {
        let _ = writeln!(stderr, "{}", wrap::between_words(&spelled(&format!("  because: {cause}")), width));
    }
}

/// Prints one line of data to stdout; a closed pipe ends the program quietly as `head` expects.
pub(crate) fn data(text: &str) {
    bytes(text.as_bytes());
}

/// Writes data that need not be text to stdout, as [`data`] does.
pub(crate) fn bytes(bytes: &[u8]) {
    if io::stdout().lock().write_all(bytes).and_then(|()| io::stdout().flush()).is_err() {
        std::process::exit(exit_code_of_closed_pipe());
    }
}

/// Whether stdout is shown to a person.
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

const fn exit_code_of_closed_pipe() -> i32 {
    // As if killed by SIGPIPE, which shells know.
    141
}

/// Whether stdout shall carry colour: a terminal that knows it, and NO_COLOR unset or empty.
pub(crate) fn colour_stdout() -> bool {
    io::stdout().is_terminal() && may_colour()
}

/// Whether a stream is a terminal on which lines can be drawn over, as a progress bar does.
pub(crate) fn draws_on(stream: &impl io::IsTerminal) -> bool {
    stream.is_terminal() && !is_dumb()
}

fn may_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && !is_dumb()
}

/// A terminal that knows no escape codes, as an editor's or a serial console's.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// `text` in the given SGR style where `enabled` (and NO_COLOR or a dumb terminal does not forbid it), else plain.
pub(crate) fn paint(enabled: bool, sgr: &str, text: &str) -> String {
    if enabled && may_colour() { format!("\u{1b}[{sgr}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// One line of advice on stderr.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", wrap::between_words(text, wrap::row_width_of_stderr()));
}

/// Something that a person should know, on stderr.
pub(crate) fn warning(text: &str) {
    let mut stderr = io::stderr().lock();
    let plain = wrap::between_words(&format!("warning: {text}"), wrap::row_width_of_stderr());
    let painted = paint(stderr.is_terminal(), "1;33", "warning:");
    let _ = writeln!(stderr, "{}", plain.replacen("warning:", &painted, 1));
}
