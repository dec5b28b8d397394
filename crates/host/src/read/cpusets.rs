//! Control groups that confine or partition CPUs.

use profile::cpuset::{CgroupMounts, Cpuset, parse_mounts, parse_partition, reduce_mounts};
use profile::{IssueReason, paths, text};
use units::CpuSet;

use crate::source::Source;

/// A machine full of containers mounts thousands of file systems.
const MOUNTS_MAX_BYTES: u64 = 8 * 1024 * 1024;
/// More groups than a container host has in use; beyond it, only those already found are reported.
const GROUPS_MAX: usize = 4096;

pub(crate) fn mounts(source: &Source<'_>) -> CgroupMounts {
    let text = source.reduced(paths::MOUNTS, MOUNTS_MAX_BYTES, reduce_mounts);
    text.as_deref().map(parse_mounts).unwrap_or_default()
}

pub(crate) fn cpusets(source: &Source<'_>, mounts: &CgroupMounts, online: Option<&CpuSet>) -> Vec<Cpuset> {
    let mut found = Vec::new();
    if let Some(top) = &mounts.v2 {
        walk(source, top, &mut |path| {
            let (set, has_controller) = version_2(source, path);
            found.extend(set);
            // The top has no `cpuset.cpus`; below it, a group without the controller has no child with it.
            has_controller || path == top
        });
    }
    if let Some(top) = &mounts.v1_cpuset {
        walk(source, top, &mut |path| {
            let set = version_1(source, path);
            let limits = set.cpus.as_ref().is_some_and(|cpus| online.is_none_or(|online| !online.is_subset(cpus)));
            if path == top || limits || set.sched_load_balance == Some(false) || set.cpu_exclusive == Some(true) {
                found.push(set);
            }
            true
        });
    }
    found
}

/// Visits a group and, where the visitor says so, the groups below it.
fn walk(source: &Source<'_>, top: &str, visit: &mut dyn FnMut(&str) -> bool) {
    let mut waiting = vec![top.to_owned()];
    let mut count = 0;
    while let Some(path) = waiting.pop() {
        if count == GROUPS_MAX {
            source.issue(top, IssueReason::TooLarge, format!("only {GROUPS_MAX} of its control groups were read"));
            return;
        }
        count += 1;
        if visit(&path) {
            let children = source.folders(&path, |_| true);
            waiting.extend(children.into_iter().rev().map(|name| format!("{path}/{name}")));
        }
    }
}

/// A group of version 2 where it matters, and whether the group has the controller at all.
fn version_2(source: &Source<'_>, path: &str) -> (Option<Cpuset>, bool) {
    let set = |file: &str| cpus(source, &format!("{path}/{file}"));
    let Some(asked) = source.text(&format!("{path}/cpuset.cpus")) else { return (None, false) };
    let cpus: Option<CpuSet> = asked.trim().parse().ok().filter(|cpus: &CpuSet| !cpus.is_empty());
    if cpus.is_none() && !asked.trim().is_empty() {
        source.odd(&format!("{path}/cpuset.cpus"));
    }
    let partition = source.value(&format!("{path}/cpuset.cpus.partition"), text::line);
    let is_member = partition.as_deref().and_then(parse_partition).is_none_or(|state| state.kind == "member");
    if cpus.is_none() && is_member {
        return (None, true);
    }
    let found = Cpuset {
        version: 2,
        path: path.to_owned(),
        cpus,
        effective_cpus: set("cpuset.cpus.effective"),
        exclusive_cpus: set("cpuset.cpus.exclusive.effective"),
        partition,
        ..Cpuset::default()
    };
    (Some(found), true)
}

fn version_1(source: &Source<'_>, path: &str) -> Cpuset {
    // A mount with `noprefix`, as the old cpuset file system, leaves the prefix out.
    let either = |file: &str| {
        let prefixed = format!("{path}/cpuset.{file}");
        if source.text(&prefixed).is_some() { prefixed } else { format!("{path}/{file}") }
    };
    Cpuset {
        version: 1,
        path: path.to_owned(),
        cpus: cpus(source, &either("cpus")),
        effective_cpus: cpus(source, &either("effective_cpus")),
        cpu_exclusive: source.value(&either("cpu_exclusive"), text::switch),
        sched_load_balance: source.value(&either("sched_load_balance"), text::switch),
        ..Cpuset::default()
    }
}

/// A set of CPUs; an empty file says nothing.
fn cpus(source: &Source<'_>, path: &str) -> Option<CpuSet> {
    source.value(path, |text| text.trim().parse::<CpuSet>().ok()).filter(|cpus| !cpus.is_empty())
}
