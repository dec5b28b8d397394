//! What else differs between two groups than the change that somebody made on purpose.

use record::{Effective, Record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::format;

/// One thing that differs between the groups, or inside one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextDifference {
    /// What differs: `node`, `kernel`, `load`, …
    pub field: String,
    /// Its values in A; several where A's own runs differ.
    pub a: Vec<String>,
    /// Its values in B.
    pub b: Vec<String>,
}

type Field = (&'static str, fn(&Record) -> String);

/// What can make two runs differ, the gravest first; a new field is one line.
const FIELDS: &[Field] = &[
    ("node", |run| run.manifest.node.hostname.clone()),
    ("architecture", |run| run.manifest.node.machine.clone()),
    ("kernel", |run| run.manifest.node.kernel_release.clone()),
    ("kernel build", |run| run.manifest.node.kernel_version.clone()),
    ("load", |run| run.manifest.load.name.clone()),
    ("load commands", |run| {
        run.manifest.load.commands.iter().map(|command| command.join(" ")).collect::<Vec<_>>().join("; ")
    }),
    ("load CPUs", |run| run.manifest.load.cpus.to_string()),
    ("load program", |run| {
        run.manifest.load.program.as_ref().map_or_else(String::new, |tool| format!("{} {}", tool.name, tool.version))
    }),
    ("interval", |run| span(run.manifest.requested.interval_ns)),
    ("priority", priority),
    ("measured CPUs", |run| run.manifest.requested.cpus.to_string()),
    ("online CPUs", |run| run.manifest.node.online_cpus.to_string()),
    ("measuring threads", |run| run.manifest.requested.threads.to_string()),
    ("/dev/cpu_dma_latency held", |run| microseconds(run.manifest.dma_latency.held_us)),
    ("/dev/cpu_dma_latency in effect", |run| microseconds(run.manifest.dma_latency.effective_us)),
    ("clock", |run| {
        let name = serde_json::to_value(run.manifest.requested.clock).ok();
        name.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
    }),
    ("clock source", |run| run.manifest.instrument.clocksource.clone().unwrap_or_default()),
    ("threshold", |run| span(run.manifest.requested.threshold_ns)),
    ("duration", |run| span(run.manifest.requested.duration_ns)),
    ("profile", |run| {
        run.manifest.profile_sha256.as_ref().map_or_else(String::new, |hash| hash.chars().take(12).collect())
    }),
    ("tool", |run| format!("{} {}", run.manifest.tool.name, run.manifest.tool.version)),
    ("command", |run| run.manifest.command.join(" ")),
];

/// Whether a difference of this field alone can make one: all but how long was measured, and by which words.
pub(super) fn is_grave(field: &str) -> bool {
    !["duration", "profile", "tool", "command"].contains(&field)
}

fn priority(run: &Record) -> String {
    let granted = |effective: &Effective| format!("{} {}", effective.policy, effective.priority);
    let mut all: Vec<String> = run.manifest.effective.iter().map(granted).collect();
    if all.is_empty() {
        all.push(format!("{} {}", run.manifest.requested.policy, run.manifest.requested.priority));
    }
    all.sort();
    all.dedup();
    all.join(", ")
}

fn span(ns: Option<u64>) -> String {
    ns.map_or_else(String::new, |ns| format::span(i64::try_from(ns).unwrap_or(i64::MAX)))
}

fn microseconds(us: Option<u32>) -> String {
    us.map_or_else(|| "not".to_owned(), |us| format!("{us} us"))
}

/// The loads where they differ between the groups: no worst case under one says anything of the other.
pub(super) fn different_loads(a: &[&Record], b: &[&Record]) -> Option<String> {
    let fields = ["load", "load commands"];
    let found = differences(a, b).into_iter().find(|one| fields.contains(&one.field.as_str()))?;
    let shown = |values: &[String]| values.iter().map(|value| format!("'{value}'")).collect::<Vec<_>>().join(", ");
    Some(format!("{} of A, {} of B", shown(&found.a), shown(&found.b)))
}

/// Everything that differs between the groups or inside one of them, the gravest first.
pub(super) fn differences(a: &[&Record], b: &[&Record]) -> Vec<ContextDifference> {
    let values = |runs: &[&Record], value: fn(&Record) -> String| {
        let mut values: Vec<String> = runs.iter().map(|run| value(run)).collect();
        values.sort();
        values.dedup();
        values
    };
    FIELDS
        .iter()
        .filter_map(|&(field, value)| {
            let (a, b) = (values(a, value), values(b, value));
            (a != b || a.len() > 1).then(|| ContextDifference { field: field.to_owned(), a, b })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use record::Measurement;

    use super::*;
    use crate::tests_support::record_of;

    #[test]
    fn another_machine_is_named_before_another_command() {
        let a = record_of(Measurement::Wakeup, &[1]);
        let mut b = a.clone();
        b.manifest.command = vec!["punctual".to_owned(), "measure".to_owned()];
        b.manifest.node.hostname = "press-7".to_owned();
        b.manifest.dma_latency.held_us = Some(0);
        let found = differences(&[&a], &[&b]);
        let fields: Vec<&str> = found.iter().map(|difference| difference.field.as_str()).collect();
        assert_eq!(fields, ["node", "/dev/cpu_dma_latency held", "command"]);
        assert_eq!((found[1].a.as_slice(), found[1].b.as_slice()), (&["not".to_owned()][..], &["0 us".to_owned()][..]));
        assert_eq!(differences(&[&a], &[&a]), []);
        let inside = differences(&[&a, &b], &[&a, &b]);
        assert_eq!(inside[0].a.len(), 2, "runs of one group that differ are told too");
    }
}
