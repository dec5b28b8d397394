//! A program's system calls have numbers that are not known here.

use super::{Checked, Evidence, Found, ObservedProgram, Rule, Severity};

/// Reports that a program's system calls could not be named, so that the rules about calls cannot judge it.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-unknown-calls",
    title: "A program's system calls have numbers that are not known here",
    severities: &[Severity::Note],
    what: "The program's file is of a binary interface whose numbers this audit does not know (x32, an architecture of its own), or could not be read.",
    why: "The program's calls were not judged. That the audit reports nothing about them does not mean that they are harmless. Latencies and preemptions are measured without them.",
    see: "file $(readlink /proc/PID/exe).",
    change: "Let punctual run with the right to read /proc/PID/exe (root), or build the program for the machine's own interface.",
    price: "None.",
    checked: Checked::Independent("the limits of this audit"),
    sources: &["Documentation/process/adding-syscalls.rst"],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    let unknown = seen.processes.iter().filter(|process| !process.calls_known);
    let evidence = unknown
        .map(|process| Evidence::new(format!("process {} ({})", process.name, process.pid), "unknown"))
        .collect();
    Found::note("System calls of a program could not be judged").by(evidence)
}
