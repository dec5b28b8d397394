//! Where this process reaches tracefs: a mount that is there, or one of its own that has no place in the file system.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::error::{NoMount, TraceError, is_locked_down};

/// Its own place, where systemd and others mount it.
const USUAL: &str = "/sys/kernel/tracing";
/// The older place, inside debugfs. The kernel mounts tracefs there as soon as somebody looks, and that mount stays: it is
/// the last to be tried.
const INSIDE_DEBUGFS: &str = "/sys/kernel/debug/tracing";
/// The root's path, while the mount of our own is open as this descriptor.
const DESCRIPTORS: &str = "/proc/self/fd";

/// The root folder of tracefs, as this process reaches it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) root: PathBuf,
    /// The mount of our own, which ends with its last holder.
    _mount: Option<Arc<OwnedFd>>,
}

impl Place {
    /// A mounted tracefs, or else a mount of our own.
    ///
    /// # Errors
    /// Where neither can be had, with the reason.
    pub(super) fn find() -> Result<Self, TraceError> {
        if is_locked_down() {
            return Err(TraceError::LockedDown);
        }
        let mut denied = None;
        let mounted = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        for root in std::iter::once(PathBuf::from(USUAL)).chain(places_in(&mounted)) {
            match Self::at(root, None) {
                Ok(place) => return Ok(place),
                Err(error @ (TraceError::Denied { .. } | TraceError::LockedDown)) => {
                    denied.get_or_insert(error);
                }
                Err(_) => {}
            }
        }
        if let Some(denied) = denied {
            return Err(denied);
        }
        let refused = match detached() {
            Ok(mount) => {
                let root = Path::new(DESCRIPTORS).join(mount.as_raw_fd().to_string());
                return Self::at(root, Some(mount));
            }
            Err(Errno::NODEV) => return Err(TraceError::NotBuilt),
            Err(errno) => refusal(errno),
        };
        Self::at(PathBuf::from(INSIDE_DEBUGFS), None).map_err(|error| match error {
            TraceError::Io { .. } if is_built() => TraceError::NotMounted { refused },
            TraceError::Io { .. } => TraceError::NotBuilt,
            // Who may not look into debugfs does not know whether anything is there.
            _ => TraceError::NotMounted { refused },
        })
    }

    fn at(root: PathBuf, mount: Option<OwnedFd>) -> Result<Self, TraceError> {
        let instances = root.join("instances");
        match fs::metadata(&instances) {
            Ok(_) => Ok(Self { root, _mount: mount.map(Arc::new) }),
            Err(error) => Err(TraceError::from_io(&root, error)),
        }
    }
}

/// Mounts tracefs without a place: nobody else sees it, and it ends when the last descriptor in it is closed, however the
/// process ends. From Linux 5.2 on.
fn detached() -> Result<OwnedFd, Errno> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC,
    )
}

/// Why the kernel refused a mount of our own.
fn refusal(errno: Errno) -> NoMount {
    match errno {
        Errno::NOSYS => NoMount::OldKernel,
        Errno::PERM | Errno::ACCESS if is_in_user_namespace() => NoMount::UserNamespace,
        Errno::PERM | Errno::ACCESS if rustix::process::geteuid().is_root() => NoMount::NoCapability,
        Errno::PERM | Errno::ACCESS => NoMount::NoRight,
        errno => NoMount::Other(io::Error::from(errno)),
    }
}

/// Whether the users of this process are not those of the machine (`/proc/self/uid_map`: user_namespaces(7)).
fn is_in_user_namespace() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    !map.is_empty() && map.split_ascii_whitespace().ne(["0", "0", "4294967295"])
}

fn is_built() -> bool {
    fs::read_to_string("/proc/filesystems").is_ok_and(|text| text.lines().any(|line| line.ends_with("\ttracefs")))
}

/// The places where tracefs is mounted, from the text of `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
fn places_in(mountinfo: &str) -> impl Iterator<Item = PathBuf> {
    mountinfo.lines().filter_map(|line| {
        let (mount, source) = line.split_once(" - ")?;
        let is_tracefs = source.split(' ').next() == Some("tracefs");
        let place = mount.split(' ').nth(4).filter(|_| is_tracefs)?;
        Some(PathBuf::from(unescaped(place)))
    })
}

/// Blanks, tabs, line ends and backslashes stand there as octal numbers.
fn unescaped(place: &str) -> String {
    [(r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")]
        .iter()
        .fold(place.to_owned(), |text, (escape, meant)| text.replace(escape, meant))
}

/// The path as a person may read it: the number of a descriptor says nothing.
pub(super) fn readable(path: &Path) -> PathBuf {
    match path.strip_prefix(DESCRIPTORS) {
        Ok(inside) => Path::new("tracefs").join(inside.components().skip(1).collect::<PathBuf>()),
        Err(_) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mount_of_tracefs_is_a_place() {
        let text = "\
            22 1 0:21 / /sys rw,nosuid shared:2 - sysfs sysfs rw\n\
            30 22 0:12 / /sys/kernel/tracing rw,nosuid shared:9 - tracefs tracefs rw\n\
            31 22 0:12 / /mnt/my\\040trace rw - tracefs none rw\n\
            32 22 0:13 / /mnt/tracefs rw - tmpfs tracefs rw\n";
        let places: Vec<PathBuf> = places_in(text).collect();
        assert_eq!(places, [Path::new("/sys/kernel/tracing"), Path::new("/mnt/my trace")]);
    }

    #[test]
    fn descriptors_are_not_shown() {
        assert_eq!(readable(Path::new("/proc/self/fd/7/instances/x")), Path::new("tracefs/instances/x"));
        assert_eq!(readable(Path::new("/sys/kernel/tracing/x")), Path::new("/sys/kernel/tracing/x"));
    }

    /// A mount of our own works where tracefs is mounted too, so this is shown on every machine with the right.
    #[test]
    fn a_mount_of_our_own_has_no_place_and_leaves_nothing() {
        let before = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mount = match detached() {
            Ok(mount) => mount,
            Err(errno) => {
                println!("not shown here: {}", refusal(errno));
                return;
            }
        };
        let root = Path::new(DESCRIPTORS).join(mount.as_raw_fd().to_string());
        let place = Place::at(root, Some(mount)).unwrap();
        assert!(place.root.join("events/sched/sched_switch/format").exists());
        // Other threads reach it by the same path.
        let root = place.root.clone();
        assert!(std::thread::spawn(move || root.join("trace_marker").exists()).join().unwrap());
        let during = fs::read_to_string("/proc/self/mountinfo").unwrap();
        drop(place);
        let after = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert_eq!((&during, &after), (&before, &before), "no mount is seen, during the use or after it");
    }
}
