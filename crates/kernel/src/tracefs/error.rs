//! Why the kernel's trace cannot be had.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What stands in the way, and the way round it.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The kernel has it, and nobody has mounted it.
    #[error("tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing")]
    NotMounted,
    /// The kernel does not have it.
    #[error("this kernel has no tracefs: it is built without CONFIG_EVENT_TRACING")]
    NotBuilt,
    /// The right is missing.
    #[error(
        "no permission to use {}: run as root, or give the binary the capability (setcap cap_dac_override,cap_sys_nice,cap_ipc_lock+ep punctual), or let a group of yours in (mount -o remount,gid=GROUP /sys/kernel/tracing)",
        path.display()
    )]
    Denied {
        /// What was refused.
        path: PathBuf,
    },
    /// The kernel is locked down.
    #[error("the kernel is locked down (confidentiality), which forbids tracing: /sys/kernel/security/lockdown")]
    LockedDown,
    /// An event is not there.
    #[error("this kernel has no event {event}: it is built without {option}")]
    EventMissing {
        /// Folder of the instance.
        event: String,
        /// What would give it.
        option: &'static str,
    },
    /// Any other error of the system.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path that was used.
        path: PathBuf,
        /// What the kernel said.
        error: io::Error,
    },
}

impl TraceError {
    /// From what the kernel said of `path`.
    pub(super) fn from_io(path: &Path, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied if is_locked_down() => Self::LockedDown,
            io::ErrorKind::PermissionDenied => Self::Denied { path: path.to_owned() },
            _ => Self::Io { path: path.to_owned(), error },
        }
    }
}

fn is_locked_down() -> bool {
    fs::read_to_string("/sys/kernel/security/lockdown").is_ok_and(|text| text.contains("[confidentiality]"))
}

/// The option that gives an event.
pub(super) fn option_of(event: &str) -> &'static str {
    match event.split('/').next() {
        Some("raw_syscalls") => "CONFIG_FTRACE_SYSCALLS",
        Some("exceptions") => "the architecture's events of page faults",
        _ => "CONFIG_EVENT_TRACING, or an older version of it",
    }
}
