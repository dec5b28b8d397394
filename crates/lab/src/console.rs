//! The end of a guest's console, for whoever asks why it did not do what it should.

use std::fs;
use std::path::Path;

/// How much is shown (bytes).
const SHOWN: usize = 1_500;

/// Words that follow a reason: where the console's file is and how it ends.
pub(crate) fn end_of_console(path: &Path) -> String {
    in_words(path, &format!("its console ({})", path.display()))
}

/// The same of a console whose file does not stay.
pub(crate) fn end_of_passing_console(path: &Path) -> String {
    in_words(path, "its console")
}

/// How the kernel tells of a breakpoint that nobody has set.
const STRAY_BREAKPOINT: &str = "int3: 0000 [#1]";

/// What the emulator did to a guest, by what that said last: it ran a breakpoint that the kernel had taken away already.
/// A kernel puts one in the place of code that it changes while others may run it, as it does to switch trace points on
/// and off; QEMU before 8.1 may run it still, where it emulates several processors (told of in
/// <http://www.uwsg.indiana.edu/hypermail/linux/kernel/2307.0/03869.html>).
pub(crate) fn emulator_fault(console: &str) -> Option<String> {
    let line = console.lines().find(|line| line.contains(STRAY_BREAKPOINT))?;
    Some(format!(
        "the emulator ran a breakpoint that the kernel had taken away, a fault of QEMU before 8.1 ({})",
        line.trim()
    ))
}

/// What has come on a console so far.
pub(crate) fn whole(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

fn in_words(path: &Path, called: &str) -> String {
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
    fn a_stray_breakpoint_is_the_emulator_s_and_no_other_oops_is() {
        let stray =
            "[   61.1] Oops: int3: 0000 [#1] PREEMPT_RT SMP NOPTI\r\n[   61.2] RIP: 0010:__hrtimer_run_queues\r\n";
        let said = emulator_fault(stray).unwrap();
        assert!(said.contains("(["), "{said}");
        assert!(said.contains("Oops: int3: 0000 [#1] PREEMPT_RT SMP NOPTI)"), "{said}");
        for own in [
            "",
            "[   61.1] Oops: general protection fault: 0000 [#1] PREEMPT_RT SMP NOPTI",
            "[   61.1] Kernel panic - not syncing: sysrq triggered crash",
        ] {
            assert_eq!(emulator_fault(own), None, "{own}");
        }
    }
}
