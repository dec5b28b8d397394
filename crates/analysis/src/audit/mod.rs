//! The audit of a program: mistakes in how it is written that can be seen from outside while it runs.
//!
//! A rule is one [`Rule`] value in a file of its own, registered by one line of [`CATALOGUE`], whose order also ranks
//! findings of equal severity. A rule judges only what was seen: a lock that no thread waited for, or memory
//! that the C library already had in its heap where its calls could not be counted, leaves no trace.

mod observed;
mod rules;
#[cfg(test)]
mod tests;
mod unasked;

use profile::catalogue::{self, Catalogue, Look};
use record::Finding;

pub use self::observed::{
    CLOCK_REALTIME, Detail, ObservedAllocations, ObservedCall, ObservedFaults, ObservedLoop, ObservedProcess,
    ObservedProgram, ObservedThread, Target, Use,
};
pub use self::unasked::not_looked_for;

/// A rule of the audit of a program.
pub type Rule = catalogue::Rule<Look<ObservedProgram>>;

const HEAD: &str = "# Findings about programs\n\n\
<!-- Generated from the catalogue in crates/analysis/src/audit; a test keeps it up to date. -->\n\n\
What the audit of `punctual app` can find, in the order of the catalogue, which also ranks findings of equal severity.\n\
`punctual explain ID` prints one of these.\n\n\
A *problem* means that the program cannot be expected to act on time.\n\
A *warning* means that its latency suffers under conditions that are likely.\n\
A *note* is worth knowing.\n\n\
*Checked against* names the releases of Linux whose sources and documents the facts were compared with.\n";

/// Every rule about a program; of findings with equal severity, the earlier one is more urgent.
pub static CATALOGUE: Catalogue<ObservedProgram> = Catalogue {
    head: HEAD,
    rules: &[
        &rules::no_real_time::RULE,
        &rules::memory_not_locked::RULE,
        &rules::allocation::RULE,
        &rules::heap::RULE,
        &rules::blocking::RULE,
        &rules::logging::RULE,
        &rules::files::RULE,
        &rules::creation::RULE,
        &rules::lock_inheritance::RULE,
        &rules::page_faults::RULE,
        &rules::stack_growth::RULE,
        &rules::relative_sleep::RULE,
        &rules::realtime_clock::RULE,
        &rules::top_priority::RULE,
        &rules::helper_threads::RULE,
        &rules::no_loop::RULE,
        &rules::unknown_calls::RULE,
    ],
};

/// Audits a program. The findings are sorted by severity, and equal input gives an equal list.
#[must_use]
pub fn audit(seen: &ObservedProgram) -> Vec<Finding> {
    CATALOGUE.audit(seen)
}
