//! Whether the kernel is locked down, as it is with Secure Boot, and what it then refuses to everybody (kernel_lockdown(7)).
//!
//! Each attempt at what is forbidden is a line in the kernel's log, so this is asked before anything is tried.

use std::fs;
use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::OnceLock;

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// Where securityfs is mounted, if it is.
const FILE: &str = "/sys/kernel/security/lockdown";

/// How much is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lockdown {
    /// Nothing, or nobody can tell.
    None,
    /// What could change the running kernel: files of debugfs that can be written, `/dev/mem`, writing to registers of
    /// the processor (MSRs), modules without a signature.
    Integrity,
    /// Also what could read its memory: tracefs, perf, kprobes, BPF programs that read the kernel.
    Confidentiality,
}

impl Lockdown {
    /// From the text of the kernel's file, `none [integrity] confidentiality`.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let chosen = text.split_ascii_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
        match chosen? {
            "none" => Some(Self::None),
            "integrity" => Some(Self::Integrity),
            "confidentiality" => Some(Self::Confidentiality),
            _ => None,
        }
    }

    /// The kernel's word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Integrity => "integrity",
            Self::Confidentiality => "confidentiality",
        }
    }
}

/// What the kernel's file says; `None` where it has no such file, or this process may not look. It is read once: what is
/// locked stays locked until the machine starts again.
#[must_use]
pub fn text() -> Option<&'static str> {
    static TEXT: OnceLock<Option<String>> = OnceLock::new();
    TEXT.get_or_init(|| fs::read_to_string(FILE).ok().or_else(unmounted)).as_deref()
}

/// How far the running kernel is locked down.
#[must_use]
pub fn level() -> Lockdown {
    text().and_then(Lockdown::from_text).unwrap_or(Lockdown::None)
}

/// An error where what the given level forbids would be tried, with the reason; nothing is tried.
///
/// # Errors
/// `PermissionDenied` if the kernel is locked down so far.
pub fn check(forbidden_from: Lockdown) -> io::Result<()> {
    match refused(level(), forbidden_from) {
        None => Ok(()),
        Some(why) => Err(io::Error::new(io::ErrorKind::PermissionDenied, why)),
    }
}

/// Why something is refused that is forbidden from this level on; `None` where lockdown does not forbid it.
#[must_use]
pub fn reason(forbidden_from: Lockdown) -> Option<String> {
    refused(level(), forbidden_from)
}

fn refused(level: Lockdown, forbidden_from: Lockdown) -> Option<String> {
    (level >= forbidden_from && level > Lockdown::None)
        .then(|| format!("the kernel is locked down ({}) and refuses it to root as well", level.word()))
}

/// The same by a mount of this process's own, which nobody else sees and which ends here (Linux 5.2, CAP_SYS_ADMIN).
fn unmounted() -> Option<String> {
    let context = fsopen("securityfs", FsOpenFlags::FSOPEN_CLOEXEC).ok()?;
    fsconfig_create(&context).ok()?;
    let attributes =
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes).ok()?;
    fs::read_to_string(format!("/proc/self/fd/{}/lockdown", mount.as_raw_fd())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_counts_and_what_is_unknown_forbids_nothing() {
        assert_eq!(Lockdown::from_text("none [integrity] confidentiality\n"), Some(Lockdown::Integrity));
        assert_eq!(Lockdown::from_text("[none] integrity confidentiality\n"), Some(Lockdown::None));
        assert_eq!(Lockdown::from_text("none integrity [confidentiality]\n"), Some(Lockdown::Confidentiality));
        assert_eq!(Lockdown::from_text("none integrity"), None);
        let (integrity, most) = (Lockdown::Integrity, Lockdown::Confidentiality);
        assert!(refused(integrity, integrity).is_some_and(|why| why.contains("(integrity)")));
        assert!(refused(integrity, most).is_none() && refused(most, integrity).is_some());
        assert!(refused(Lockdown::None, integrity).is_none());
    }

    #[test]
    fn what_is_read_without_a_mount_is_what_the_mounted_file_says() {
        // Where securityfs is mounted and this process may mount it too, both are the same file.
        if let (Ok(mounted), Some(own)) = (fs::read_to_string(FILE), unmounted()) {
            assert_eq!(mounted, own);
        }
    }
}
