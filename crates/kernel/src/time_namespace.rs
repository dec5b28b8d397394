//! The time namespace of this process: how far its clocks are ahead of the machine's.
//!
//! In a time namespace (a container that CRIU has restored, `unshare --time`) CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW and
//! CLOCK_BOOTTIME are shifted for system calls and `/proc`. The kernel's own records (its trace, its log) are not.
//! Sources: time_namespaces(7), kernel/time/namespace.c.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// How far this process's clocks are ahead of the kernel's own (ns); 0 outside of a time namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeNamespace {
    /// Of CLOCK_MONOTONIC and CLOCK_MONOTONIC_RAW.
    pub monotonic_ns: i64,
    /// Of CLOCK_BOOTTIME.
    pub boottime_ns: i64,
}

impl TimeNamespace {
    /// That of this process, read once: no thread of a process with several can leave its time namespace.
    #[must_use]
    pub fn own() -> Self {
        static OWN: OnceLock<TimeNamespace> = OnceLock::new();
        *OWN.get_or_init(|| Self::read(Path::new("/proc")))
    }

    fn read(proc: &Path) -> Self {
        let own = proc.join("self");
        let link = |process: &Path, name: &str| fs::read_link(process.join("ns").join(name)).ok();
        let Some(time) = link(&own, "time") else { return Self::default() };
        // The file describes the namespace of children that are yet to be made. Where this is another one than our own, whoever
        // made us has ours.
        let describes = |process: &Path| link(process, "time_for_children").as_ref() == Some(&time);
        let mut described = describes(&own).then_some(own);
        if described.is_none() {
            let others = fs::read_dir(proc).into_iter().flatten().flatten().map(|entry| entry.path());
            described = others.into_iter().find(|path| describes(path));
        }
        let text = described.and_then(|path| fs::read_to_string(path.join("timens_offsets")).ok());
        text.map_or_else(Self::default, |text| Self::parse(&text))
    }

    /// From the text of `/proc/PID/timens_offsets`: each line a clock, whole seconds and nanoseconds.
    fn parse(text: &str) -> Self {
        let offset_ns = |clock: &str| {
            let mut words = text
                .lines()
                .map(str::split_ascii_whitespace)
                .find_map(|mut words| (words.next() == Some(clock)).then_some(words))?;
            let (seconds, within_ns): (i64, i64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            seconds.checked_mul(1_000_000_000)?.checked_add(within_ns)
        };
        Self { monotonic_ns: offset_ns("monotonic").unwrap_or(0), boottime_ns: offset_ns("boottime").unwrap_or(0) }
    }

    /// A time of the kernel's own monotonic clock, on this process's (ns).
    #[inline]
    #[must_use]
    pub const fn from_kernel_ns(self, kernel_ns: u64) -> u64 {
        kernel_ns.saturating_add_signed(self.monotonic_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offsets_are_read_with_their_signs() {
        let text = "monotonic     1000000       250\nboottime      -2000000         0\n";
        let read = TimeNamespace::parse(text);
        let expected = TimeNamespace { monotonic_ns: 1_000_000_000_000_250, boottime_ns: -2_000_000_000_000_000 };
        assert_eq!(read, expected);
        assert_eq!(read.from_kernel_ns(5), 1_000_000_000_000_255);
        assert_eq!(TimeNamespace::parse("monotonic 9223372036854775807 0\nboottime x y\n"), TimeNamespace::default());
        assert_eq!(TimeNamespace::parse(""), TimeNamespace::default());
    }

    #[test]
    fn the_namespace_is_the_own_one_and_not_that_of_children_to_come() {
        let proc = tempfile::tempdir().unwrap();
        let process = |name: &str, time: &str, for_children: &str, offsets: &str| {
            let ns = proc.path().join(name).join("ns");
            fs::create_dir_all(&ns).unwrap();
            std::os::unix::fs::symlink(time, ns.join("time")).unwrap();
            std::os::unix::fs::symlink(for_children, ns.join("time_for_children")).unwrap();
            fs::write(proc.path().join(name).join("timens_offsets"), offsets).unwrap();
        };
        assert_eq!(TimeNamespace::read(proc.path()), TimeNamespace::default(), "a kernel without time namespaces");
        process("self", "time:[7]", "time:[8]", "monotonic 80 0\n");
        assert_eq!(TimeNamespace::read(proc.path()), TimeNamespace::default());
        process("1", "time:[5]", "time:[5]", "monotonic 50 0\n");
        process("2", "time:[7]", "time:[7]", "monotonic 70 0\n");
        assert_eq!(TimeNamespace::read(proc.path()).monotonic_ns, 70_000_000_000);
    }
}
