//! What QEMU itself says of a node's emulated devices: a witness that shares nothing with the guest.
//!
//! QEMU has thousands of points in its devices at which it can write a line (docs/devel/tracing.rst of its sources). A node's `trace`
//! names some of them, and the lab keeps their lines, each with the host's time of day in microseconds:
//! `PID@SECONDS.MICROSECONDS:EVENT TEXT`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scenario::Node;
use crate::tool::{self, ToolError};

/// The file in which QEMU writes a node's events.
pub(crate) fn log_path(folder: &Path, node: &str) -> PathBuf {
    folder.join(format!("{node}.trace"))
}

/// Why a node's events cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// QEMU could not be asked which events it has.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// This QEMU does not have an event: its log would stay empty, as if nothing had happened.
    #[error("node {node}: {qemu} has no event '{event}' to trace; '{qemu} -trace help' lists those that it has")]
    NoEvent {
        /// Name of the node.
        node: String,
        /// The QEMU program.
        qemu: &'static str,
        /// The name that it does not know.
        event: String,
    },
    /// The node does not exist, or its scenario names no events.
    #[error("node {node} of lab {lab} is not traced: there is no such node, or the scenario lacks 'trace' for it")]
    NotTraced {
        /// Name of the lab.
        lab: String,
        /// Name of the node.
        node: String,
    },
    /// The log cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// Path of the log.
        path: PathBuf,
        /// The underlying error.
        error: io::Error,
    },
}

/// Refuses events that the node's QEMU does not have: it would only warn of them.
///
/// # Errors
/// For the first of them, or if QEMU does not start.
pub fn check(node: &Node) -> Result<(), TraceError> {
    if node.trace.is_empty() {
        return Ok(());
    }
    let qemu = node.architecture().machine().qemu;
    let listed = tool::run(Command::new(qemu).args(["-trace", "help"]), "listing what it can trace")?.stdout;
    unknown(&node.trace, &String::from_utf8_lossy(&listed))
        .map_or(Ok(()), |event| Err(TraceError::NoEvent { node: node.name.clone(), qemu, event: event.to_owned() }))
}

/// The first of some events that is not in QEMU's list.
fn unknown<'a>(events: &'a [String], listed: &str) -> Option<&'a str> {
    let listed: BTreeSet<&str> = listed.lines().map(str::trim).collect();
    events.iter().map(String::as_str).find(|event| !listed.contains(event))
}

/// What QEMU wrote of a node since its lab was started, up to the end of its last whole line; `folder` is the lab's.
///
/// # Errors
/// If the node is not traced, or its log cannot be read.
pub fn log(lab: &str, folder: &Path, node: &str) -> Result<Vec<u8>, TraceError> {
    let path = log_path(folder, node);
    // A node of the lab whose name ends alike cannot be meant: names have no dots.
    if !path.exists() {
        return Err(TraceError::NotTraced { lab: lab.to_owned(), node: node.to_owned() });
    }
    let mut bytes = fs::read(&path).map_err(|error| TraceError::File { path, error })?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    bytes.truncate(whole);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_qemu_does_not_have_is_found() {
        let events = ["pl061_read", "pl061_set_output"].map(str::to_owned);
        assert_eq!(unknown(&events, "pl061_read\npl061_set_output\npl061_write\n"), None);
        assert_eq!(unknown(&events, "pl061_read\npl061_set_output_level\n"), Some("pl061_set_output"));
        assert_eq!(unknown(&events, ""), Some("pl061_read"));
    }
}
