//! The control groups of this process that hold the `cpu` controller.

use std::fs;
use std::path::{Path, PathBuf};

/// Where version 1's `cpu` controller is mounted, by whom mounts it.
const VERSION_1: [&str; 3] = ["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/cpuacct,cpu"];
/// Where version 2 is mounted: alone, or beside version 1.
const VERSION_2: [&str; 2] = ["sys/fs/cgroup", "sys/fs/cgroup/unified"];

/// A folder of a control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Its path below the mount, `/` for the root group.
    pub(super) path: String,
    /// The folder with its files.
    pub(super) folder: PathBuf,
}

/// A path with those above it, the root first; none for a group outside what this process can see.
fn with_ancestors(path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if parts.contains(&"..") {
        return Vec::new();
    }
    (0..=parts.len()).map(|count| format!("/{}", parts[..count].join("/"))).collect()
}

/// This process's group and the groups above it, the root first, in the hierarchy that holds the `cpu` controller;
/// `root` is `/`, but in tests.
pub(super) fn own_cpu_groups(root: &Path) -> Vec<Group> {
    let text = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let path_of = |is_wanted: &dyn Fn(&str) -> bool| {
        text.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            is_wanted(controllers).then(|| path.to_owned())
        })
    };
    let version_1 = path_of(&|controllers| controllers.split(',').any(|one| one == "cpu"));
    let version_2 = path_of(&str::is_empty);
    let groups = |path: &str, mount: &str| -> Vec<Group> {
        let group = |path: String| Group { folder: root.join(mount).join(path.trim_start_matches('/')), path };
        with_ancestors(path).into_iter().map(group).collect()
    };
    if let Some(path) = version_1 {
        let mount = VERSION_1.into_iter().find(|mount| root.join(mount).join("cpu.cfs_quota_us").exists());
        return mount.map(|mount| groups(&path, mount)).unwrap_or_default();
    }
    let Some(path) = version_2 else { return Vec::new() };
    let mount = VERSION_2.into_iter().find(|mount| root.join(mount).join("cgroup.controllers").exists());
    mount.map(|mount| groups(&path, mount)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_with_the_controller_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |path: &str, text: &str| {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        };
        let paths = || own_cpu_groups(root).into_iter().map(|group| group.path).collect::<Vec<_>>();
        assert!(paths().is_empty(), "nothing mounted");
        write("proc/self/cgroup", "0::/system.slice/run-7.scope\n");
        write("sys/fs/cgroup/cgroup.controllers", "cpu io\n");
        assert_eq!(paths(), ["/", "/system.slice", "/system.slice/run-7.scope"]);
        write("proc/self/cgroup", "4:memory:/a\n1:cpu,cpuacct:/b\n0::/c\n");
        write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
        assert_eq!(paths(), ["/", "/b"]);
        assert_eq!(own_cpu_groups(root)[1].folder, root.join("sys/fs/cgroup/cpu,cpuacct/b"));
        write("proc/self/cgroup", "1:cpu:/../outside\n");
        assert!(paths().is_empty(), "a group outside this namespace cannot be seen");
    }
}
