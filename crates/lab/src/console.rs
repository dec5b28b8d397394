//! The end of a guest's console, for whoever asks why it did not do what it should.

use std::fs;
use std::path::Path;

/// How much is shown (bytes).
const SHOWN: usize = 1_500;

/// Words that follow a reason: where the console's file is and how it ends.
pub(crate) fn end_of_console(path: &Path) -> String {
    in_words(path, &format!("its console ({})", path.display()))
}

/// The same of a console whose file does not stay.
pub(crate) fn end_of_passing_console(path: &Path) -> String {
    in_words(path, "its console")
}

fn in_words(path: &Path, called: &str) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let end = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(SHOWN)..]).into_owned();
    if end.trim().is_empty() {
        "; its console is empty".to_owned()
    } else {
        format!("; {called} ends with:\n{}", end.trim_end())
    }
}
