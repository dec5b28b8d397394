//! The audit: what in a profile spoils acting on time, which settings contradict each other, and what to do.
//!
//! A rule is one [`Rule`] value: its identity, its long explanation and the function that looks at a profile, side by
//! side, so that no finding can lack its explanation. The rules lie in one file per theme and are registered in
//! [`CATALOGUE`], one line each; that order also ranks findings of equal severity.
//!
//! What is unknown stays unknown: a rule may fire only on values that were read, and shows them as evidence.
//! Rules judge settings, not measurements: whether a setting hurts on this machine is for the measurements to show.

mod boot;
mod clock;
mod irq;
mod isolation;
mod kernel;
mod memory;
mod net;
mod power;
mod ptp;
mod published;
mod rule;
mod sched;
mod services;
mod tasks;
#[cfg(test)]
mod tests;
mod time;
mod topology;
mod virt;

use crate::Profile;
use crate::catalogue::{self, Catalogue, Look};

pub use published::{CATALOGUE_SCHEMA, Explanations, Findings, SCHEMA, SCHEMA_VERSION};
pub use record::{Evidence, Finding, Severity};

/// A rule of the audit of a machine.
pub type Rule = catalogue::Rule<Look<Profile>>;

const HEAD: &str = "# Findings\n\n\
<!-- Generated from the catalogue in crates/profile/src/check; a test keeps it up to date. -->\n\n\
What `punctual check` can find, in the order of the catalogue, which also ranks findings of equal severity.\n\
`punctual explain ID` prints one of these.\n\n\
A *problem* means that the machine cannot be expected to act on time, or that a setting that was asked for is not in \
force.\n\
A *warning* means that latency suffers under conditions that are likely.\n\
A *note* is worth knowing: a choice with a price, or a condition that is rare.\n\n\
*Checked against* names the releases of Linux whose sources and documents the facts were compared with. What changed \
between them is stated with the release that changed it.\n";

/// Every rule about a machine; among findings of equal severity the earlier one is the more pressing.
pub static CATALOGUE: Catalogue<Profile> = Catalogue {
    head: HEAD,
    rules: &[
        // Asked for and not in force, or contradictory: the user believes something that is not so.
        &isolation::NOT_EFFECTIVE,
        &isolation::NOHZ_FULL_NOT_EFFECTIVE,
        &isolation::NOHZ_OFF,
        &isolation::PARTITION_INVALID,
        &isolation::WITHOUT_DOMAIN,
        &irq::BOOT_AFFINITY,
        &irq::ARRIVALS,
        &isolation::EVERY_CPU,
        &ptp::STAMPS_MISSING,
        // The kernel.
        &kernel::PREEMPTION,
        &kernel::HIGH_RESOLUTION,
        &clock::SOURCE,
        &clock::TSC_REJECTED,
        &kernel::RT_GROUPS,
        &kernel::DEBUG,
        &kernel::PREEMPT_IGNORED,
        // Boot parameters.
        &boot::UNREADABLE,
        &boot::ABSENT_CPUS,
        &boot::DUPLICATES,
        &boot::IDLE_LIMIT_IGNORED,
        // Frequencies and idle states: the most common cause of tens of microseconds.
        &power::DEEP_IDLE,
        &power::GOVERNORS_DIFFER,
        &power::GOVERNOR,
        &power::THROTTLED,
        // What still reaches isolated CPUs.
        &irq::AIMED,
        &irq::DEFAULT_AFFINITY,
        &irq::BALANCER,
        &topology::SIBLING,
        &tasks::ORDINARY_ON_ISOLATED,
        &isolation::WORK_QUEUES,
        &isolation::NOHZ_FULL_UNISOLATED,
        &isolation::RCU_NOT_BUILT_IN,
        &isolation::RCU_CALLBACKS,
        &isolation::WATCHDOG,
        &sched::FAIR_SERVER,
        &net::STEERING,
        &topology::BOOT_CPU,
        &topology::OFFLINE,
        &tasks::KERNEL_ON_ISOLATED,
        &tasks::ROAMING,
        &isolation::TICK,
        &sched::TIMER_MIGRATION,
        &memory::STATISTICS,
        // Who else competes.
        &tasks::TOP_PRIORITY,
        &services::PTP_ORDINARY,
        &time::TWO_TIME_SERVICES,
        &time::TAI_AS_UTC,
        &time::STEPS,
        &time::TAI_OFFSET,
        &ptp::TWO_DISCIPLINE,
        &ptp::UNDISCIPLINED,
        &ptp::NEIGHBOR_DELAY,
        &ptp::NOT_CAPABLE,
        &ptp::SOFTWARE_STAMPS,
        &services::TUNED_PROFILE,
        &virt::STEAL,
        &virt::GUEST,
        &sched::CPU_QUOTA,
        &sched::NUMA_BALANCING,
        &memory::HUGE_PAGES,
        &memory::SWAP,
        &memory::MERGING,
        &memory::LOCKED_PAGES_MOVE,
        &memory::LOW,
        &net::COALESCING,
        &net::ENERGY_EFFICIENT,
        &net::DEFERRED,
        &net::NO_HARDWARE_STAMPS,
        // Choices and their price.
        &isolation::NONE_ISOLATED,
        &irq::THREADIRQS,
        &irq::THREAD_PRIORITIES,
        &sched::THROTTLING,
        &sched::NMI_WATCHDOG,
        &power::LATENCY_REQUEST,
        &power::IDLE_POLL,
        &power::BOOST,
        &power::CAPPED,
        &services::POWER_PROFILES,
        &time::LEAP_SECOND,
        &time::HOST_SETS_CLOCK,
        &topology::SMT,
        &topology::CORES_DIFFER,
        &boot::SKEW_TICK,
        &kernel::KFENCE_KEYS,
        &sched::AUTOGROUP,
        &virt::MITIGATIONS,
    ],
};

/// Audits a profile: most severe first, and the same profile always gives the same list.
#[must_use]
pub fn check(profile: &Profile) -> Vec<Finding> {
    CATALOGUE.audit(profile)
}

/// How many findings there are of each severity, and the first of them, in a sentence.
#[must_use]
pub fn summary(findings: &[Finding]) -> String {
    let Some(first) = findings.first() else { return "nothing found".to_owned() };
    let counts: Vec<String> = [Severity::Problem, Severity::Warning, Severity::Note]
        .into_iter()
        .map(|severity| (severity, findings.iter().filter(|finding| finding.severity == severity).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(severity, count)| format!("{count} {severity}{}", if count == 1 { "" } else { "s" }))
        .collect();
    format!("{}; most pressing: {} [{}]", counts.join(", "), first.title, first.id)
}

/// The rule behind a finding.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    CATALOGUE.rule(id)
}
