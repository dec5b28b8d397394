//! Why the kernel refuses something to this process, in words that fit who it is: root is never told to be root.

use std::fs;
use std::io;
use std::path::Path;

use crate::lockdown::{self, Lockdown};

/// A refusal, and what helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why, in words that can follow "since".
    pub why: String,
    /// What to do.
    pub remedy: String,
}

/// Capabilities that settings and readings of the machine need, by their numbers (include/uapi/linux/capability.h).
const NEEDED: [(u32, &str); 7] = [
    (1, "DAC_OVERRIDE"),
    (12, "NET_ADMIN"),
    (14, "IPC_LOCK"),
    (17, "SYS_RAWIO"),
    (21, "SYS_ADMIN"),
    (23, "SYS_NICE"),
    (38, "PERFMON"),
];
/// The kernel's files that lockdown closes from integrity on, and from confidentiality on.
const CLOSED: [(&str, &str, Lockdown); 2] = [
    ("/sys/kernel/debug/", "debugfs", Lockdown::Integrity),
    ("/sys/kernel/tracing/", "the trace", Lockdown::Confidentiality),
];

/// The process that asks for a right: its user, its capabilities and its namespaces decide what it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asker {
    is_root: bool,
    is_in_user_namespace: bool,
    /// Those of [`NEEDED`] that are missing.
    lacks: Vec<&'static str>,
}

impl Asker {
    fn this_process() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        Self::from_texts(&status, &map)
    }

    fn from_texts(status: &str, uid_map: &str) -> Self {
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let effective_user = field("Uid").and_then(|ids| ids.split_ascii_whitespace().nth(1));
        let capabilities = field("CapEff").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        let lacks = |mask: u64| {
            NEEDED.iter().filter(|(number, _)| mask >> number & 1 == 0).map(|(_, name)| *name).collect::<Vec<_>>()
        };
        Self {
            is_root: effective_user == Some("0"),
            is_in_user_namespace: !uid_map.is_empty() && uid_map.split_ascii_whitespace().ne(["0", "0", "4294967295"]),
            lacks: capabilities.map(lacks).unwrap_or_default(),
        }
    }
}

/// Why this process was refused, from the error that it got at a path of the machine's.
#[must_use]
pub fn explain(path: &Path, error: &io::Error) -> Refusal {
    refusal(path, error, &Asker::this_process(), lockdown::level())
}

/// Why a file cannot be written, found out without writing to it; `None` where it can, as far as that can be known, or is
/// not there.
#[must_use]
pub fn of_writing(path: &Path) -> Option<Refusal> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    match accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS) {
        Err(errno @ (rustix::io::Errno::ROFS | rustix::io::Errno::ACCESS | rustix::io::Errno::PERM)) => {
            Some(explain(path, &io::Error::from(errno)))
        }
        _ => None,
    }
}

/// Why a file is closed to everybody, found out without opening it: each attempt would be a line in the kernel's log.
#[must_use]
pub fn by_lockdown(path: &Path) -> Option<Refusal> {
    closed(path, lockdown::level())
}

fn closed(path: &Path, level: Lockdown) -> Option<Refusal> {
    let path = path.to_str()?;
    let (_, name, from) = CLOSED.iter().find(|(folder, ..)| path.starts_with(folder))?;
    (level >= *from).then(|| Refusal {
        why: format!("the kernel is locked down ({}), which closes {name} to root as well", level.word()),
        remedy:
            "start it without lockdown: without 'lockdown=' among the boot parameters, and with Secure Boot off where \
                 that locks it"
                .to_owned(),
    })
}

fn refusal(path: &Path, error: &io::Error, asker: &Asker, level: Lockdown) -> Refusal {
    let said = |why: &str, remedy: &str| Refusal { why: format!("{why} ({error})"), remedy: remedy.to_owned() };
    if let Some(closed) = closed(path, level) {
        return closed;
    }
    if error.kind() == io::ErrorKind::ReadOnlyFilesystem {
        return said(
            "it is mounted read-only, as in a container",
            "run this outside of the container, or give the container that file system to write to",
        );
    }
    if error.kind() != io::ErrorKind::PermissionDenied {
        return said("the kernel does not allow it", "see what the error means there; leave out what asks for it");
    }
    if !asker.is_root {
        return said("this user may not", "run it as root");
    }
    if asker.is_in_user_namespace {
        return said(
            "root of a user namespace, as in a rootless container, is not root of the machine",
            "run this outside of the container, as the machine's root",
        );
    }
    if !asker.lacks.is_empty() {
        let lacks: Vec<String> = asker.lacks.iter().map(|name| format!("CAP_{name}")).collect();
        let add: Vec<String> = asker.lacks.iter().map(|name| format!("--cap-add={name}")).collect();
        return Refusal {
            why: format!("this root lacks {}, as in a container ({error})", lacks.join(", ")),
            remedy: format!("run this outside of the container, or start it with the right to it: {}", add.join(" ")),
        };
    }
    said(
        "this is root with all capabilities, so a security module, the driver or the kernel's lockdown forbids it",
        "'dmesg' may say which; leave out what asks for it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = "         0          0 4294967295\n";

    fn status(user: u32, capabilities: &str) -> String {
        format!("Name:\tx\nUid:\t{user}\t{user}\t{user}\t{user}\nCapEff:\t{capabilities}\n")
    }

    #[test]
    fn root_is_never_told_to_be_root() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let path = Path::new("/proc/sys/kernel/sched_rt_runtime_us");
        let of = |status: &str, map: &str| refusal(path, &denied, &Asker::from_texts(status, map), Lockdown::None);
        assert_eq!(of(&status(1000, "0"), MACHINE).remedy, "run it as root");
        for (capabilities, map, word) in [
            ("000001ffffffffff", MACHINE, "security module"),
            // What Docker leaves to a container's root.
            ("00000000a80425fb", MACHINE, "CAP_SYS_ADMIN"),
            ("000001ffffffffff", "0 100000 65536\n", "user namespace"),
        ] {
            let Refusal { why, remedy } = of(&status(0, capabilities), map);
            assert!(why.contains(word) && !remedy.contains("as root"), "{why}; {remedy}");
        }
        assert!(of(&status(0, "00000000a80425fb"), MACHINE).remedy.contains("--cap-add=SYS_ADMIN"));
    }

    #[test]
    fn lockdown_is_told_from_a_missing_right() {
        let denied = io::Error::from_raw_os_error(1);
        let root = Asker::from_texts(&status(0, "000001ffffffffff"), MACHINE);
        let of = |path: &str, level| refusal(Path::new(path), &denied, &root, level);
        let server = "/sys/kernel/debug/sched/fair_server/cpu0/runtime";
        assert!(of(server, Lockdown::Integrity).why.contains("locked down (integrity)"));
        assert!(!of("/proc/sys/vm/swappiness", Lockdown::Confidentiality).why.contains("locked down ("));
        assert!(closed(Path::new("/sys/kernel/tracing/trace"), Lockdown::Integrity).is_none());
        assert!(closed(Path::new("/sys/kernel/tracing/trace"), Lockdown::Confidentiality).is_some());
        let read_only = io::Error::from(io::ErrorKind::ReadOnlyFilesystem);
        assert!(refusal(Path::new("/sys/x"), &read_only, &root, Lockdown::None).why.contains("read-only"));
    }

    #[test]
    fn a_file_that_can_be_written_is_not_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "x").unwrap();
        assert_eq!(of_writing(&path), None);
        assert_eq!(of_writing(&folder.path().join("none")), None, "what is missing is no refusal");
    }
}
