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
mod document;
mod irq;
mod isolation;
mod kernel;
mod memory;
mod net;
mod power;
mod published;
mod rule;
mod sched;
mod services;
mod tasks;
#[cfg(test)]
mod tests;
mod topology;
mod virt;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Profile;

pub use document::markdown;
pub use published::{CATALOGUE_SCHEMA, Explanations, Findings, SCHEMA, SCHEMA_VERSION};
pub use rule::Rule;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The machine cannot be expected to act on time, or a setting that was asked for is not in force.
    Problem,
    /// Latency suffers under conditions that are likely.
    Warning,
    /// Worth knowing: a choice with a price, or a condition that is rare.
    Note,
}

impl Severity {
    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What was read, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The file, parameter or question to a driver.
    pub source: String,
    /// What it said.
    pub value: String,
}

/// Something about a node that stands in the way of acting on time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The finding's name, for `punctual explain`.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// What was found, in one line.
    pub title: String,
    /// What was read and where.
    pub evidence: Vec<Evidence>,
    /// Why it matters.
    pub why: String,
    /// How to change it, one step or alternative per entry.
    pub remedy: Vec<String>,
}

/// Every rule; among findings of equal severity the earlier one is the more pressing.
pub static CATALOGUE: &[&Rule] = &[
    // Asked for and not in force, or contradictory: whoever set these believes something that is not so.
    &isolation::NOT_EFFECTIVE,
    &isolation::NOHZ_FULL_NOT_EFFECTIVE,
    &isolation::NOHZ_OFF,
    &isolation::PARTITION_INVALID,
    &isolation::WITHOUT_DOMAIN,
    &irq::BOOT_AFFINITY,
    &irq::ARRIVALS,
    &isolation::EVERY_CPU,
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
    &services::TWO_TIME_SERVICES,
    &services::TUNED_PROFILE,
    &virt::STEAL,
    &virt::GUEST,
    &sched::NUMA_BALANCING,
    &memory::HUGE_PAGES,
    &memory::SWAP,
    &memory::MERGING,
    &memory::LOW,
    &net::COALESCING,
    &net::ENERGY_EFFICIENT,
    &net::DEFERRED,
    &net::NO_HARDWARE_STAMPS,
    // Choices and their price.
    &isolation::NONE_SET_APART,
    &irq::THREADIRQS,
    &irq::THREAD_PRIORITIES,
    &sched::THROTTLING,
    &sched::NMI_WATCHDOG,
    &power::LATENCY_REQUEST,
    &power::IDLE_POLL,
    &power::BOOST,
    &power::CAPPED,
    &services::POWER_PROFILES,
    &topology::SMT,
    &topology::CORES_DIFFER,
    &boot::SKEW_TICK,
    &kernel::KFENCE_KEYS,
    &sched::AUTOGROUP,
    &virt::MITIGATIONS,
];

/// Audits a profile: most severe first, and the same profile always gives the same list.
#[must_use]
pub fn check(profile: &Profile) -> Vec<Finding> {
    let mut findings: Vec<Finding> = CATALOGUE.iter().filter_map(|rule| rule.apply(profile)).collect();
    // The sort is stable, so the catalogue's order ranks within a severity.
    findings.sort_by_key(|finding| finding.severity);
    findings
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

/// The rules whose names resemble what somebody typed, closest first, at most three.
#[must_use]
pub fn resembling(typed: &str) -> Vec<&'static Rule> {
    let typed = typed.trim().to_ascii_lowercase();
    let mut close: Vec<(usize, &Rule)> = CATALOGUE
        .iter()
        .filter_map(|rule| {
            let distance = edit_distance(&typed, rule.id);
            let shares_a_word =
                rule.id.split('-').any(|word| word.len() > 2 && typed.split('-').any(|part| part == word));
            // A third of the letters wrong is still a slip of the keyboard.
            (distance * 3 <= rule.id.len() || shares_a_word || (typed.len() > 2 && rule.id.contains(&typed)))
                .then_some((distance, *rule))
        })
        .collect();
    close.sort_by_key(|(distance, _)| *distance);
    close.into_iter().take(3).map(|(_, rule)| rule).collect()
}

/// Letters to insert, delete or replace (Levenshtein), in one row of memory.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The rule behind a finding.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    CATALOGUE.iter().copied().find(|rule| rule.id == id)
}
