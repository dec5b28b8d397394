//! A memory control group with a limit, of either version, for the part of a load that makes the kernel reclaim pages.
//!
//! Pressure stays inside it: what the kernel takes back are the pages of the group's own processes, and what it ends
//! when it finds none are these processes (Documentation/admin-guide/cgroup-v2.rst, Memory;
//! Documentation/admin-guide/cgroup-v1/memory.rst).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kernel::control_file;

/// How long the kernel may take to notice that the last process of a group is gone.
const EMPTY_WITHIN: Duration = Duration::from_secs(1);

/// Where the kernel's memory control groups are.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hierarchy {
    version: Version,
    mount: PathBuf,
    /// This process's own group.
    own: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    const fn limit(self) -> &'static str {
        match self {
            Self::One => "memory.limit_in_bytes",
            Self::Two => "memory.max",
        }
    }

    const fn used(self) -> &'static str {
        match self {
            Self::One => "memory.usage_in_bytes",
            Self::Two => "memory.current",
        }
    }

    /// The field of `memory.stat` that counts reclaimed pages; version 1 counts only pages that left the group.
    const fn reclaimed(self) -> &'static str {
        match self {
            Self::One => "pgpgout",
            Self::Two => "pgscan",
        }
    }
}

impl Hierarchy {
    fn find() -> Option<Self> {
        Self::parse(
            &crate::kernel_text::read("/proc/self/mounts").ok()?,
            &crate::kernel_text::read("/proc/self/cgroup").ok()?,
        )
    }

    /// From the texts of `/proc/self/mounts` and `/proc/self/cgroup`. Where both versions are mounted, memory belongs to
    /// version 1 if it is mounted there.
    fn parse(mounts: &str, groups: &str) -> Option<Self> {
        let of = |version: Version| {
            let mount = mounts.lines().find_map(|line| {
                let fields: Vec<&str> = line.split(' ').collect();
                let (folder, kind, options) = (fields.get(1)?, fields.get(2)?, fields.get(3)?);
                let fits = match version {
                    Version::One => *kind == "cgroup" && options.split(',').any(|option| option == "memory"),
                    Version::Two => *kind == "cgroup2",
                };
                fits.then(|| PathBuf::from(folder))
            })?;
            let path = groups.lines().find_map(|line| {
                let mut fields = line.splitn(3, ':');
                let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
                let fits = match version {
                    Version::One => controllers.split(',').any(|controller| controller == "memory"),
                    Version::Two => number == "0" && controllers.is_empty(),
                };
                fits.then(|| path.trim_start_matches('/').to_owned())
            })?;
            let own = mount.join(path);
            Some(Self { version, mount, own })
        };
        of(Version::One).or_else(|| of(Version::Two))
    }

    /// Groups below which a new one can be made, in the order in which they are tried.
    fn parents(&self) -> Vec<PathBuf> {
        let up = self.own.ancestors().take_while(|folder| folder.starts_with(&self.mount)).map(Path::to_owned);
        match self.version {
            // Below one's own, so that its limits hold too.
            Version::One => up.collect(),
            // A group with processes of its own has no groups with memory below it: beside the own one, and up.
            Version::Two => up.skip(usize::from(self.own != self.mount)).collect(),
        }
    }
}

/// What the limits of this process's own memory groups still leave (bytes); `None` where no limit is known.
pub(super) fn left_in_own_groups() -> Option<u64> {
    let hierarchy = Hierarchy::find()?;
    let groups = hierarchy.own.ancestors().take_while(|folder| folder.starts_with(&hierarchy.mount));
    groups.filter_map(|group| left_in(group, hierarchy.version)).min()
}

fn left_in(group: &Path, version: Version) -> Option<u64> {
    let number = |name: &str| crate::kernel_text::read(group.join(name)).ok()?.trim().parse::<u64>().ok();
    // Version 1 writes "no limit" as a number near the largest; version 2 as the word max, which is no number.
    Some(number(version.limit())?.saturating_sub(number(version.used())?))
}

/// A group that was made here; gone with this value, once its processes are.
#[derive(Debug)]
pub(super) struct MemoryGroup {
    folder: PathBuf,
    version: Version,
}

impl MemoryGroup {
    /// Makes a group whose processes may have so much memory together.
    ///
    /// # Errors
    /// In words, where there are no memory control groups, or none can be made.
    pub(super) fn make(limit_bytes: u64) -> Result<Self, String> {
        let hierarchy = Hierarchy::find().ok_or("this kernel has no memory control groups, or they are not mounted")?;
        let mut first = None;
        for parent in hierarchy.parents() {
            match Self::make_below(&parent, hierarchy.version, limit_bytes) {
                Ok(group) => return Ok(group),
                Err(error) => {
                    first
                        .get_or_insert(format!("no memory control group can be made in {}: {error}", parent.display()));
                }
            }
        }
        Err(first.unwrap_or_else(|| "this process is in no memory control group".to_owned()))
    }

    fn make_below(parent: &Path, version: Version, limit_bytes: u64) -> io::Result<Self> {
        if version == Version::Two {
            let enabled = crate::kernel_text::read(parent.join("cgroup.subtree_control"))?;
            if !enabled.split_ascii_whitespace().any(|controller| controller == "memory") {
                // Not switched on here: that would change a group that is not ours.
                return Err(io::Error::other("memory is not in its cgroup.subtree_control"));
            }
        }
        let folder = parent.join(format!("punctual-load-{}", std::process::id()));
        fs::create_dir(&folder)?;
        let group = Self { folder, version };
        // Anything that fails from here on takes the folder away again.
        control_file::write(&group.folder.join(version.limit()), &limit_bytes.to_string())?;
        // Without swap, so that no page of the load's goes to a disk; a kernel without swap lacks the file.
        let _ = match version {
            Version::One => control_file::write(&group.folder.join("memory.swappiness"), "0"),
            Version::Two => control_file::write(&group.folder.join("memory.swap.max"), "0"),
        };
        let _ = group.processes()?;
        Ok(group)
    }

    /// The file by which a process joins.
    pub(super) fn processes(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.folder.join("cgroup.procs"))
    }

    /// Pages that were reclaimed since the group was made, and what that is called in this version.
    pub(super) fn reclaimed_pages(&self) -> Option<u64> {
        let text = crate::kernel_text::read(self.folder.join("memory.stat")).ok()?;
        field(&text, self.version.reclaimed())
    }

    /// What [`Self::reclaimed_pages`] counts, in words.
    pub(super) const fn counts(&self) -> &'static str {
        match self.version {
            Version::One => "pages that left the control group",
            Version::Two => "pages scanned for reclaim",
        }
    }
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let began = Instant::now();
        // Busy for as long as a process of it has not been waited for.
        while fs::remove_dir(&self.folder).is_err() && self.folder.exists() && began.elapsed() < EMPTY_WITHIN {
            kernel::process::reap_orphans();
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
    const V2: &str = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";

    #[test]
    fn memory_is_found_where_it_is_mounted() {
        let one = Hierarchy::parse(V1, "9:name=systemd:/\n4:memory:/a/b\n0::/\n").unwrap();
        assert_eq!((one.version, one.own.to_str().unwrap()), (Version::One, "/sys/fs/cgroup/memory/a/b"));
        assert_eq!(one.parents()[0], one.own);
        let two = Hierarchy::parse(V2, "0::/user.slice/user-0.slice/session-1.scope\n").unwrap();
        assert_eq!(two.version, Version::Two);
        let parents: Vec<String> = two.parents().iter().map(|folder| folder.display().to_string()).collect();
        let expected = ["/sys/fs/cgroup/user.slice/user-0.slice", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"];
        assert_eq!(parents, expected);
        let root = Hierarchy::parse(V2, "0::/\n").unwrap();
        assert_eq!(root.parents(), [PathBuf::from("/sys/fs/cgroup")]);
        assert_eq!(Hierarchy::parse("", "0::/\n"), None);
        assert_eq!(Hierarchy::parse(V2, "4:cpu:/\n"), None);
    }

    #[test]
    fn what_limits_leave_is_what_they_allow_less_what_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("memory.max", "max\n");
        write("memory.current", "1000\n");
        assert_eq!(left_in(folder.path(), Version::Two), None);
        write("memory.max", "5000\n");
        assert_eq!(left_in(folder.path(), Version::Two), Some(4000));
        write("memory.max", "500\n");
        assert_eq!(left_in(folder.path(), Version::Two), Some(0));
    }

    #[test]
    fn a_field_is_not_taken_for_another_that_begins_like_it() {
        let text = "pgscan_kswapd 5\npgscan 7\npgsteal 3\n";
        assert_eq!((field(text, "pgscan"), field(text, "pgste")), (Some(7), None));
    }

    #[test]
    fn without_memory_in_the_parents_groups_nothing_is_made_or_switched_on() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cgroup.subtree_control"), "cpu pids\n").unwrap();
        let error = MemoryGroup::make_below(folder.path(), Version::Two, 1 << 20).unwrap_err().to_string();
        assert!(error.contains("subtree_control"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
