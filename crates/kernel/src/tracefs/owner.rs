//! The owner of an instance: its name says which process made it, so that a later start recognizes what was left behind.

use std::fs;

use crate::time_namespace::TimeNamespace;

/// What all names of ours begin with.
const PREFIX: &str = "punctual";
/// The number of the name space in which the kernel itself counts processes (include/linux/proc_ns.h,
/// `PROC_PID_INIT_INO`).
const FIRST_NAME_SPACE: u64 = 0xEFFF_FFFC;

/// A process, for good: numbers of processes come round again, with another start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// The name space in which `pid` counts.
    name_space: u64,
    pid: u32,
    /// When it began (clock ticks of 10 ms since boot, on the kernel's own clock).
    start: u64,
}

impl Owner {
    /// The calling process as owner.
    pub(super) fn this() -> Self {
        let pid = std::process::id();
        Self { name_space: name_space().unwrap_or(0), pid, start: start_of(pid).unwrap_or(0) }
    }

    /// The name of its `number`th instance.
    pub(super) fn name(&self, number: u32) -> String {
        format!("{PREFIX}-{}-{}-{}-{number}", self.name_space, self.pid, self.start)
    }

    /// From an instance's name; `None` for those of anybody else.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let numbers = name.strip_prefix(PREFIX)?.strip_prefix('-')?;
        let numbers: Vec<u64> = numbers.split('-').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        let [name_space, pid, start, _] = numbers[..] else { return None };
        Some(Self { name_space, pid: u32::try_from(pid).ok()?, start })
    }

    /// Whether it has certainly ended: it counted among the processes that we see, and is not among them.
    pub(super) fn is_gone(&self) -> bool {
        // A time namespace shifts what is read by what need not be whole ticks.
        let is_it = |start: u64| start.abs_diff(self.start) <= 1;
        name_space() == Some(self.name_space) && !start_of(self.pid).is_some_and(is_it)
    }
}

fn name_space() -> Option<u64> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

/// Whether this process counts processes as the kernel's trace does, which knows no containers.
#[must_use]
pub fn counts_like_the_trace() -> bool {
    name_space().is_none_or(|number| number == FIRST_NAME_SPACE)
}

/// Nanoseconds of a clock tick as `/proc` counts them (`USER_HZ`, 100 on every machine that we build for).
const TICK_NS: i64 = 10_000_000;

/// Field 22 of `/proc/PID/stat` (clock ticks since boot), without what the reader's time namespace adds to it: others look from
/// outside.
fn start_of(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and can hold any character.
    let shown: u64 = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().nth(22 - 3)?.parse().ok()?;
    shown.checked_add_signed(-(TimeNamespace::own().boottime_ns.div_euclid(TICK_NS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_not_gone_and_one_with_another_start_is() {
        let owner = Owner::this();
        assert_eq!(Owner::from_name(&owner.name(3)), Some(owner));
        assert!(!owner.is_gone());
        assert!(Owner { start: owner.start + 2, ..owner }.is_gone());
        // Elsewhere somebody may live under that number.
        assert!(!Owner { start: owner.start + 2, name_space: owner.name_space + 1, ..owner }.is_gone());
    }

    #[test]
    fn names_of_others_are_nobody_s() {
        for name in [
            "",
            "punctual",
            "punctual-1-2-3",
            "punctual-1-2-3-4-5",
            "punctual-1-x-3-4",
            "my-punctual-1-2-3-4",
            "osnoise",
        ] {
            assert_eq!(Owner::from_name(name), None, "{name}");
        }
    }
}
