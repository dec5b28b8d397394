//! Why the kernel's trace cannot be had.

use std::io;
use std::path::{Path, PathBuf};

use super::place::readable;
use crate::lockdown::{self, Lockdown};
use crate::refusal::{self, Refusal};

/// What helps somebody who is not root.
const FOR_USERS: &str = "run as root, or give the binary the capability (setcap cap_dac_override,cap_sys_nice,cap_ipc_lock+ep punctual), or let a group of yours in (mount -o remount,gid=GROUP /sys/kernel/tracing)";

/// What stands in the way, and the way round it.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The kernel has it, nobody has mounted it, and this process may not.
    #[error("tracefs is not mounted, and this process cannot mount it for itself: {refused}")]
    NotMounted {
        /// Why it cannot, and what helps.
        refused: NoMount,
    },
    /// The kernel does not have it.
    #[error("this kernel has no tracefs: it is built without CONFIG_EVENT_TRACING")]
    NotBuilt,
    /// The right is missing.
    #[error(
        "no permission to use {}: {}",
        path.display(),
        remedy
    )]
    Denied {
        /// What was refused.
        path: PathBuf,
        /// Why, if that is known, and what helps.
        remedy: String,
    },
    /// The kernel is locked down.
    #[error(
        "the kernel is locked down (confidentiality), which forbids tracing to root as well; lockdown=integrity allows it"
    )]
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

/// Why a process cannot mount tracefs for itself.
#[derive(Debug, thiserror::Error)]
pub enum NoMount {
    /// `fsopen` is missing.
    #[error("that takes Linux 5.2; mount it once, as root: mount -t tracefs tracefs /sys/kernel/tracing")]
    OldKernel,
    /// Root of a user namespace is not root of the machine.
    #[error(
        "its user namespace has no right to the machine's trace; run it outside of the container, as the machine's root"
    )]
    UserNamespace,
    /// The capability is missing.
    #[error(
        "that takes CAP_SYS_ADMIN; run as root, or mount it once, as root: mount -t tracefs tracefs /sys/kernel/tracing"
    )]
    NoRight,
    /// Root without that capability, as most containers have it.
    #[error(
        "this root lacks CAP_SYS_ADMIN, as in a container; run it outside of the container, or start that with --cap-add=SYS_ADMIN"
    )]
    NoCapability,
    /// Any other error of the system.
    #[error("{0}; mount it once, as root: mount -t tracefs tracefs /sys/kernel/tracing")]
    Other(io::Error),
}

impl TraceError {
    /// From what the kernel said of `path`.
    pub(super) fn from_io(path: &Path, error: io::Error) -> Self {
        let path = &readable(path);
        match error.kind() {
            io::ErrorKind::PermissionDenied if is_locked_down() => Self::LockedDown,
            io::ErrorKind::PermissionDenied => {
                let remedy = if rustix::process::geteuid().is_root() {
                    let Refusal { why, remedy } = refusal::explain(path, &error);
                    format!("{why}; {remedy}")
                } else {
                    FOR_USERS.to_owned()
                };
                Self::Denied { path: path.to_owned(), remedy }
            }
            _ => Self::Io { path: path.to_owned(), error },
        }
    }
}

/// Whether lockdown forbids tracing. It is asked before anything is opened: each refusal is a line in the kernel's log.
pub(super) fn is_locked_down() -> bool {
    lockdown::level() == Lockdown::Confidentiality
}

/// The option that gives an event.
pub(super) fn option_of(event: &str) -> &'static str {
    match event.split('/').next() {
        Some("raw_syscalls") => "CONFIG_FTRACE_SYSCALLS",
        Some("exceptions") => "the architecture's events of page faults",
        _ => "CONFIG_EVENT_TRACING, or an older version of it",
    }
}
