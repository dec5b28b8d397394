//! What every command's help and manual page say besides its options: exit codes, examples, where to read on.
//!
//! This is the one table of exit codes: help, manual pages and the README are made of it or held to it by tests.

#[cfg(feature = "agent")]
mod agents;
mod machines;
#[cfg(feature = "packet")]
mod nodes;
mod results;

/// An exit code and when a command ends with it.
pub(crate) type ExitRow = (&'static str, &'static str);

/// The manual page of one command: exit codes, examples, where to read on.
pub(crate) struct Page {
    /// The words of the command after `punctual`; empty for the program itself.
    pub(crate) command: &'static str,
    /// Its exit codes, ascending.
    pub(crate) exits: &'static [ExitRow],
    /// Command lines, each with what it does.
    pub(crate) examples: &'static [(&'static str, &'static str)],
    /// Commands and documents to read on.
    pub(crate) see: &'static [&'static str],
}

/// What exit codes mean in general; the README has the same sentence.
pub(crate) const IN_GENERAL: &str = "Exit codes: 0 what was asked holds, or nothing was asked; 1 it is broken: a limit, a claim, a \
gate, or a setting that `check` calls a problem; 2 wrong usage or configuration, and nothing was measured; 3 the result is \
invalid or decides nothing, or a run was refused at its start because it would be invalid. 3 outranks 1. `cyclictest` keeps \
cyclictest's own codes, `lab exec` and `lab ssh` those of the command that they run. `punctual COMMAND --help` lists each \
command's own.";

const DONE: ExitRow = ("0", "it is done");
const USAGE: ExitRow = ("2", "wrong usage, or a file or place that cannot be used");
const SIMPLE: &[ExitRow] = &[DONE, USAGE];
const AS_COMMAND: &[ExitRow] = &[("0-3", "as the command's own help says")];

/// Every command that has a manual page.
pub(crate) fn all() -> impl Iterator<Item = &'static Page> {
    let pages = results::PAGES.iter().chain(machines::PAGES);
    #[cfg(feature = "packet")]
    let pages = pages.chain(nodes::PAGES);
    #[cfg(feature = "agent")]
    let pages = pages.chain(agents::PAGES);
    pages
}

/// The page of a command.
pub(crate) fn find(command: &str) -> Option<&'static Page> {
    all().find(|page| page.command == command)
}
