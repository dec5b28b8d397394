//! A process and all its descendants, found by their parents in `/proc`.

use std::collections::BTreeMap;
use std::fs;

use record::Owner;

use crate::task_stat::{TaskStat, numbers_in};

/// The fields of `/proc/PID/stat` that are needed of a process (Documentation/filesystems/proc.rst, table 1-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProcessStat {
    parent: u32,
    /// Ended, yet not waited for.
    zombie: bool,
    /// CPU time of itself, in clock ticks.
    own_ticks: u64,
    /// CPU time of the children that it waited for, in clock ticks.
    waited_ticks: u64,
}

fn parse(text: &str) -> Option<ProcessStat> {
    let stat = TaskStat::parse(text)?;
    let ticks = |field: usize| stat.number::<u64>(field);
    Some(ProcessStat {
        parent: stat.number(4)?,
        zombie: matches!(stat.state()?, "Z" | "X"),
        own_ticks: ticks(14)?.saturating_add(ticks(15)?),
        waited_ticks: ticks(16)?.saturating_add(ticks(17)?),
    })
}

/// All processes below `root`, without it, that have not ended.
pub(crate) fn descendants(root: u32) -> Vec<u32> {
    Processes::read().below(root)
}

/// The processes of this machine at one moment.
pub(crate) struct Processes(BTreeMap<u32, ProcessStat>);

impl Processes {
    pub(crate) fn read() -> Self {
        Self(
            numbers_in("/proc")
                .into_iter()
                .filter_map(|pid| Some((pid, parse(&crate::kernel_text::read(format!("/proc/{pid}/stat")).ok()?)?)))
                .collect(),
        )
    }

    /// All processes below `root`, without it, that have not ended.
    pub(crate) fn below(&self, root: u32) -> Vec<u32> {
        let mut found = vec![root];
        let mut next = 0;
        while let Some(&parent) = found.get(next) {
            next += 1;
            found.extend(self.0.iter().filter(|(_, stat)| stat.parent == parent && !stat.zombie).map(|(pid, _)| *pid));
        }
        found.remove(0);
        found
    }

    /// What a process and its descendants have used.
    pub(crate) fn usage_of_family(&self, root: u32) -> TreeUsage {
        let mut usage = self.usage_below(root);
        usage.ticks = usage.ticks.saturating_add(self.0.get(&root).map_or(0, |stat| stat.own_ticks));
        usage.processes = usage.processes.saturating_add(1);
        usage.io_bytes = usage.io_bytes.saturating_add(io_of(root).unwrap_or(0));
        usage
    }

    fn usage_below(&self, root: u32) -> TreeUsage {
        let below = self.below(root);
        let alive =
            below.iter().filter_map(|pid| self.0.get(pid)).map(|stat| stat.own_ticks.saturating_add(stat.waited_ticks));
        let ticks = alive.chain(self.0.get(&root).map(|stat| stat.waited_ticks)).sum();
        let io_bytes = below.iter().filter_map(|pid| io_of(*pid)).sum();
        TreeUsage { processes: below.len(), ticks, io_bytes }
    }
}

/// Whose a thread is: of the load, which is below this process, or of this process itself; what has ended is not known.
pub(crate) fn owner_of(tid: u32) -> Owner {
    let own = std::process::id();
    if fs::exists(format!("/proc/self/task/{tid}")).unwrap_or(false) {
        return Owner::Instrument;
    }
    let parent = |pid: u32| Some(parse(&crate::kernel_text::read(format!("/proc/{pid}/stat")).ok()?)?.parent);
    // A thread's own folder shows the parent of its process.
    let mut ancestors = std::iter::successors(parent(tid), |&pid| (pid > 1).then(|| parent(pid)).flatten());
    if ancestors.any(|pid| pid == own) { Owner::Load } else { Owner::Other }
}

/// What the descendants of a process have used, also those that have ended; the process itself does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeUsage {
    /// Processes below the root.
    pub(crate) processes: usize,
    /// CPU time, in clock ticks.
    pub(crate) ticks: u64,
    /// Bytes read and written by system calls; 0 where unreadable.
    pub(crate) io_bytes: u64,
}

impl TreeUsage {
    pub(crate) fn read(root: u32) -> Self {
        Processes::read().usage_below(root)
    }
}

fn io_of(pid: u32) -> Option<u64> {
    io_bytes(&crate::kernel_text::read(format!("/proc/{pid}/io")).ok()?)
}

/// Context switches of a process's first thread (`/proc/PID/status`).
pub(crate) fn context_switches(pid: u32) -> Option<u64> {
    Some(switches(&crate::kernel_text::read(format!("/proc/{pid}/status")).ok()?))
}

fn switches(text: &str) -> u64 {
    let numbers = text.lines().filter_map(|line| {
        let number = line.strip_prefix("voluntary_ctxt_switches:");
        number.or_else(|| line.strip_prefix("nonvoluntary_ctxt_switches:"))?.trim().parse::<u64>().ok()
    });
    units::total(numbers)
}

fn io_bytes(text: &str) -> Option<u64> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse::<u64>().ok();
    Some(field("rchar:")?.saturating_add(field("wchar:")?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn threads_of_this_process_and_of_what_it_started_are_told_from_others() {
        assert_eq!(owner_of(std::process::id()), Owner::Instrument);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(owner_of(child.id()), Owner::Load);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(owner_of(1), Owner::Other);
        assert_eq!(owner_of(u32::MAX), Owner::Other, "no thread has this number");
    }

    #[test]
    fn a_family_is_found_whatever_its_names() {
        let line = |pid: u32, parent: u32, state: &str| {
            let stat = format!("{pid} (a) b) {state} {parent} 1 1 0 -1 0 0 0 0 0 10 20 3 4 20 0 1 0 5 0");
            (pid, parse(&stat).unwrap())
        };
        let all = Processes(BTreeMap::from([
            line(10, 1, "S"),
            line(11, 10, "R"),
            line(12, 11, "T"),
            line(13, 10, "Z"),
            line(14, 2, "S"),
        ]));
        assert_eq!(all.below(10), [11, 12]);
        assert_eq!((all.0[&10].own_ticks, all.0[&10].waited_ticks), (30, 7));
        let (below, family) = (all.usage_below(10), all.usage_of_family(10));
        assert_eq!((below.ticks, family.ticks), (2 * 37 + 7, 3 * 37), "of the root too");
    }

    #[test]
    fn reads_io() {
        assert_eq!(io_bytes("rchar: 5\nwchar: 7\nsyscr: 1\n"), Some(12));
        assert_eq!(io_bytes("rchar: x\n"), None);
        assert_eq!(switches("Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t7\n"), 12);
    }

    proptest! {
        #[test]
        fn odd_text_is_no_panic(text in ".{0,80}") {
            let _ = parse(&text);
            let _ = io_bytes(&text);
            let _ = switches(&text);
        }
    }
}
