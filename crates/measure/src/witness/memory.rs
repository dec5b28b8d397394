//! Whether the memory of this process is locked: read back from the kernel, whatever `mlockall` returned.

use record::{Reason, ReasonCode};

/// Flags of mappings that the kernel never locks (`VM_SPECIAL` in include/linux/mm.h, and huge pages, which stay anyway):
/// `io` and `pf` device memory, `de` not expandable, `mm` mixed, `ht` huge pages.
const NEVER_LOCKED: [&str; 5] = ["io", "pf", "de", "mm", "ht"];

/// What was asked about memory, and what `mlockall` returned.
#[derive(Clone, Debug)]
pub(crate) struct MemoryLock {
    wanted: bool,
    refused: Option<String>,
}

impl MemoryLock {
    /// Locks all memory of this process, present and future, where that is wanted.
    pub(crate) fn take(wanted: bool) -> Self {
        let refused = wanted.then(kernel::memory::lock_on_fault).and_then(Result::err).map(|error| error.to_string());
        Self { wanted, refused }
    }

    /// Reads back whether all memory is locked, and says why not where it was wanted. Call it when all threads exist.
    pub(crate) fn read_back(&self) -> (bool, Option<Reason>) {
        let read = |file: &str| crate::kernel_text::read(format!("/proc/self/{file}")).unwrap_or_default();
        let state = State::from_smaps(&read("smaps")).or_else(|| State::from_status(&read("status")));
        self.judge(state)
    }

    fn judge(&self, state: Option<State>) -> (bool, Option<Reason>) {
        let (locked, why) = match (state, &self.refused) {
            (Some(State::Locked), None) => (true, None),
            (Some(State::Locked), Some(refused)) => (false, Some(format!("new memory is not locked: {refused}"))),
            (Some(State::Unlocked(_)) | None, Some(refused)) => (false, Some(refused.clone())),
            (Some(State::Unlocked(what)), None) => (false, Some(what)),
            (None, None) => (false, Some("/proc/self/smaps and /proc/self/status do not say".to_owned())),
        };
        let reason = why.filter(|_| self.wanted).map(|detail| Reason { code: ReasonCode::MemoryNotLocked, detail });
        (locked, reason)
    }
}

/// What the kernel says.
#[derive(Debug, PartialEq, Eq)]
enum State {
    Locked,
    /// What is not locked, in words.
    Unlocked(String),
}

impl State {
    /// By the flags of each mapping (CONFIG_PROC_PAGE_MONITOR); `None` where the text has none.
    fn from_smaps(text: &str) -> Option<Self> {
        let (mut mapping, mut any) = ("", false);
        for line in text.lines() {
            if let Some(flags) = line.strip_prefix("VmFlags:") {
                any = true;
                let has = |flag: &str| flags.split_ascii_whitespace().any(|one| one == flag);
                // The kernel's own page of old system calls, which belongs to no process.
                let is_gate = mapping.ends_with("[vsyscall]") || mapping.ends_with("[vectors]");
                if !has("lo") && !is_gate && !NEVER_LOCKED.into_iter().any(has) {
                    let of = mapping.split_ascii_whitespace().nth(5).unwrap_or("anonymous memory");
                    return Some(Self::Unlocked(format!("/proc/self/smaps: {of} is not locked")));
                }
            } else if line.split_ascii_whitespace().next().is_some_and(|first| !first.ends_with(':')) {
                mapping = line;
            }
        }
        any.then_some(Self::Locked)
    }

    /// By the sums of the process: less exact, since it does not say which memory is locked.
    fn from_status(text: &str) -> Option<Self> {
        let kib = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
        };
        let (locked, resident) = (kib("VmLck")?, kib("VmRSS")?);
        if locked >= resident {
            return Some(Self::Locked);
        }
        Some(Self::Unlocked(format!("/proc/self/status: {locked} KiB are locked of {resident} KiB in memory")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKED: &str = "\
55e0c0000000-55e0c0001000 r-xp 00000000 08:01 12 /bin/punctual
Size:                  4 kB
VmFlags: rd ex mr mw me lo
7ffd0000-7ffd1000 rw-p 00000000 00:00 0
VmFlags: rd wr mr mw me ac lo
7ffd1000-7ffd2000 r--p 00000000 00:00 0                                  [vvar]
VmFlags: rd mr pf io de dd
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
VmFlags: ex
";

    #[test]
    fn one_mapping_that_is_not_locked_decides() {
        assert_eq!(State::from_smaps(LOCKED), Some(State::Locked));
        let check = |from: &str, to: &str, what: &str| {
            let state = State::from_smaps(&LOCKED.replace(from, to));
            assert_eq!(state, Some(State::Unlocked(format!("/proc/self/smaps: {what} is not locked"))));
        };
        check("ac lo", "ac", "anonymous memory");
        check("me lo", "me", "/bin/punctual");
        check("ex\n", "ex lo\n7ffe-7fff rw-p 00 00:00 0 [stack]\nVmFlags: rd\n", "[stack]");
        assert_eq!(State::from_smaps("7ffe-7fff rw-p 00 00:00 0 [stack]\nSize: 4 kB\n"), None);
    }

    #[test]
    fn without_flags_the_sums_decide() {
        assert_eq!(State::from_status("VmLck:\t 900 kB\nVmRSS:\t 800 kB\n"), Some(State::Locked));
        assert!(matches!(State::from_status("VmLck:\t 0 kB\nVmRSS:\t 800 kB\n"), Some(State::Unlocked(_))));
        assert_eq!(State::from_status("VmRSS:\t 800 kB\n"), None);
    }

    #[test]
    fn nothing_is_locked_that_was_refused_or_cannot_be_read() {
        let lock = |refused: Option<&str>| MemoryLock { wanted: true, refused: refused.map(str::to_owned) };
        assert_eq!(lock(None).judge(Some(State::Locked)), (true, None));
        for (lock, state) in [
            (lock(Some("EPERM")), Some(State::Unlocked("all".to_owned()))),
            (lock(Some("EPERM")), Some(State::Locked)),
            (lock(None), Some(State::Unlocked("all".to_owned()))),
            (lock(None), None),
        ] {
            let (locked, reason) = lock.judge(state);
            assert!(!locked && reason.is_some_and(|reason| reason.code == ReasonCode::MemoryNotLocked));
        }
        let unwanted = MemoryLock { wanted: false, refused: None };
        assert_eq!(unwanted.judge(Some(State::Unlocked("all".to_owned()))), (false, None));
    }
}
