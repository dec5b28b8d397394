//! The end of a guest's console output, for error messages, and known faults of the emulator in it.

use std::fs;
use std::path::Path;

/// How much of the console's end is shown (bytes).
const SHOWN: usize = 1_500;

/// Text to append to an error: the path of the console's file and its last lines.
pub(crate) fn end_of_console(path: &Path) -> String {
    describe_end(path, &format!("its console ({})", path.display()))
}

/// The same for a console whose file is deleted afterwards, so without its path.
pub(crate) fn end_of_passing_console(path: &Path) -> String {
    describe_end(path, "its console")
}

/// The kernel's message about a breakpoint that nobody has set.
const STRAY_BREAKPOINT: &str = "int3: 0000 [#1]";

/// Detects a known fault of the emulator in a guest's console: it executed a breakpoint that the kernel had already
/// removed. A kernel places breakpoints over code that it changes while other CPUs may run it, for example to enable
/// trace points. QEMU before 8.1 may still execute the old breakpoint if it emulates several processors; see
/// <http://www.uwsg.indiana.edu/hypermail/linux/kernel/2307.0/03869.html>.
pub(crate) fn emulator_fault(console: &str) -> Option<String> {
    let line = console.lines().find(|line| line.contains(STRAY_BREAKPOINT))?;
    Some(format!(
        "the emulator executed a breakpoint that the kernel had removed, a fault of QEMU before 8.1 ({})",
        line.trim()
    ))
}

/// The whole console output so far.
pub(crate) fn read_whole(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

fn describe_end(path: &Path, called: &str) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let end = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(SHOWN)..]).into_owned();
    if end.trim().is_empty() {
        "; its console is empty".to_owned()
    } else {
        format!("; {called} ends with:\n{}", end.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::emulator_fault;

    #[test]
    fn only_a_stray_breakpoint_is_a_fault_of_the_emulator() {
        let stray =
            "[   61.1] Oops: int3: 0000 [#1] PREEMPT_RT SMP NOPTI\r\n[   61.2] RIP: 0010:__hrtimer_run_queues\r\n";
        let fault = emulator_fault(stray).unwrap();
        assert!(fault.contains("(["), "{fault}");
        assert!(fault.contains("Oops: int3: 0000 [#1] PREEMPT_RT SMP NOPTI)"), "{fault}");
        for own in [
            "",
            "[   61.1] Oops: general protection fault: 0000 [#1] PREEMPT_RT SMP NOPTI",
            "[   61.1] Kernel panic - not syncing: sysrq triggered crash",
        ] {
            assert_eq!(emulator_fault(own), None, "{own}");
        }
    }
}
