//! CPUs that a partition of cgroup v2 keeps from all threads outside of it (Documentation/admin-guide/cgroup-v2.rst,
//! `cpuset.cpus.partition`), or an exclusive group of cgroup v1 where all others are in another one
//! (Documentation/admin-guide/cgroup-v1/cpusets.rst): a thread that shall measure one has to join.
//!
//! Of version 2, only a threaded partition is of use, since the program's other threads have to stay outside.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kernel::control_file;
use units::CpuSet;

/// Where cgroup v2 is mounted: alone, or beside cgroup v1.
const ROOTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// Where cgroup v1 has the controller `cpuset`.
const ROOT_V1: &str = "/sys/fs/cgroup/cpuset";

/// A partition that threads may join.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Partition {
    folder: PathBuf,
    cpus: CpuSet,
}

/// Groups that are looked at, so that a machine full of containers costs little.
const MOST_GROUPS: usize = 4_096;

/// The threaded partitions below a root of cgroup v2, the outer ones first. Only threaded groups are looked into: a thread joins no
/// group below another domain than that of its process.
fn partitions(root: &Path) -> Vec<Partition> {
    let (mut found, mut waiting) = (Vec::new(), VecDeque::from([root.to_owned()]));
    let mut looked = 0;
    while let Some(above) = waiting.pop_front() {
        let mut folders: Vec<PathBuf> =
            fs::read_dir(&above).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        folders.sort_unstable();
        for folder in folders {
            let text = |name: &str| crate::kernel_text::read(folder.join(name)).ok();
            if text("cgroup.type").is_none_or(|kind| kind.trim() != "threaded") {
                continue;
            }
            looked += 1;
            if looked > MOST_GROUPS {
                return found;
            }
            let is_valid =
                text("cpuset.cpus.partition").is_some_and(|kind| ["isolated", "root"].contains(&kind.trim()));
            let cpus = text("cpuset.cpus.effective").and_then(|cpus| cpus.parse().ok());
            if let (true, Some(cpus)) = (is_valid, cpus) {
                found.push(Partition { folder: folder.clone(), cpus });
            }
            waiting.push_back(folder);
        }
    }
    found
}

/// The groups of cgroup v1 right below a root that have CPUs for themselves alone.
fn exclusive_groups(root: &Path) -> Vec<Partition> {
    let folders = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    let read = |folder: PathBuf| {
        let text = |name: &str| crate::kernel_text::read(folder.join(name)).ok();
        let is_exclusive = text("cpuset.cpu_exclusive")?.trim() == "1";
        let cpus = text("cpuset.cpus")?.parse().ok()?;
        is_exclusive.then_some(Partition { folder, cpus })
    };
    folders.filter_map(read).collect()
}

/// CPUs that the calling process can have its threads join partitions for.
pub(crate) fn joinable_cpus() -> CpuSet {
    let may_join = |partition: &Partition, file: &str| {
        fs::OpenOptions::new().write(true).open(partition.folder.join(file)).is_ok()
    };
    let all = ROOTS.iter().flat_map(|root| partitions(Path::new(root)));
    let all = all.filter(|partition| may_join(partition, "cgroup.threads"));
    let old = exclusive_groups(Path::new(ROOT_V1)).into_iter().filter(|group| may_join(group, "tasks"));
    all.chain(old).fold(CpuSet::new(), |cpus, partition| cpus.union(&partition.cpus))
}

/// Pins the calling thread to one CPU; where its cpuset lacks that CPU, by joining the partition that has it.
///
/// # Errors
/// Where the kernel refuses.
pub(crate) fn pin(cpu: u32) -> io::Result<()> {
    let one = CpuSet::from_iter([cpu]);
    let Err(refused) = kernel::sched::set_affinity(0, &one) else { return Ok(()) };
    for root in ROOTS.iter().map(Path::new) {
        let mut partitions = partitions(root).into_iter();
        match partitions.find(|partition| partition.cpus.contains(cpu)) {
            Some(partition) => join(root, &partition.folder)?,
            // It may be in one that it joined for another CPU.
            None if leave(root).is_err() => continue,
            None => {}
        }
        if kernel::sched::set_affinity(0, &one).is_ok() {
            return Ok(());
        }
    }
    let groups = exclusive_groups(Path::new(ROOT_V1));
    if let Some(group) = groups.iter().find(|group| group.cpus.contains(cpu)) {
        control_file::write(&group.folder.join("tasks"), "0")?;
        return kernel::sched::set_affinity(0, &one);
    }
    Err(refused)
}

/// Moves the calling thread back to the root's group; fails where no cgroup v2 is mounted there.
fn leave(root: &Path) -> io::Result<()> {
    control_file::write(&root.join("cgroup.threads"), "0")
}

/// Moves the calling thread, `0` in these files.
fn join(root: &Path, folder: &Path) -> io::Result<()> {
    let threads = folder.join("cgroup.threads");
    match control_file::write(&threads, "0") {
        // A thread can go only where its process's domain is: that of the root, here.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            control_file::write(&root.join("cgroup.procs"), "0").and_then(|()| control_file::write(&threads, "0"))
        }
        joined => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_cgroup_is_mounted_no_file_is_made() {
        // With cgroup v1, /sys/fs/cgroup is a tmpfs: a file made there would stay.
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("group");
        fs::create_dir(&group).unwrap();
        leave(root.path()).unwrap_err();
        join(root.path(), &group).unwrap_err();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "only the folder of this test");
        assert_eq!(fs::read_dir(&group).unwrap().count(), 0);
    }

    #[test]
    fn only_valid_threaded_partitions_count() {
        let root = tempfile::tempdir().unwrap();
        let make = |name: &str, kind: &str, partition: &str, cpus: &str| {
            let folder = root.path().join(name);
            fs::create_dir(&folder).unwrap();
            for (file, text) in
                [("cgroup.type", kind), ("cpuset.cpus.partition", partition), ("cpuset.cpus.effective", cpus)]
            {
                fs::write(folder.join(file), format!("{text}\n")).unwrap();
            }
        };
        make("ours", "threaded", "isolated", "2-3");
        make("whole", "domain", "isolated", "4");
        make("refused", "threaded", "isolated invalid (Cpu list in cpuset.cpus not exclusive)", "5");
        make("plain", "threaded", "member", "0-1");
        make("plain/inner", "threaded", "isolated", "1");
        make("whole/inner", "threaded", "isolated", "4");
        let found = partitions(root.path());
        let partition =
            |name: &str, cpus: &str| Partition { folder: root.path().join(name), cpus: cpus.parse().unwrap() };
        assert_eq!(found, [partition("ours", "2-3"), partition("plain/inner", "1")], "also below the first level");
        let old = root.path().join("old");
        fs::create_dir(&old).unwrap();
        fs::write(old.join("cpuset.cpus"), "3\n").unwrap();
        fs::write(old.join("cpuset.cpu_exclusive"), "0\n").unwrap();
        assert_eq!(exclusive_groups(root.path()), []);
        fs::write(old.join("cpuset.cpu_exclusive"), "1\n").unwrap();
        assert_eq!(exclusive_groups(root.path()), [Partition { folder: old, cpus: "3".parse().unwrap() }]);
        assert!(partitions(&root.path().join("nowhere")).is_empty());
    }
}
