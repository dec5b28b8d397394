//! The kernel's detectors of lock-ups, whose switches change by being read.
//!
//! `soft_watchdog` and `nmi_watchdog` switch one detector each, `watchdog` both. A switch shows whether its detector runs, and
//! reading it sets it to what it shows (kernel/watchdog.c, `proc_watchdog_common`): whoever reads `watchdog` while both are off has
//! switched it off, and a 1 in `soft_watchdog` starts nothing any more.

const EACH: [&str; 2] = ["/proc/sys/kernel/soft_watchdog", "/proc/sys/kernel/nmi_watchdog"];
const BOTH: &str = "/proc/sys/kernel/watchdog";

/// The switch that has to be written after `path`, without a reading in between, for `text` to have its effect.
pub(super) fn follows(path: &str, text: &str) -> Option<&'static str> {
    (EACH.contains(&path) && text.trim() == "1").then_some(BOTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCHES: [&str; 3] = [EACH[0], EACH[1], BOTH];

    /// The kernel's side of the three switches.
    #[derive(Clone, Copy, Debug)]
    struct Kernel {
        set: [bool; 3],
        has_nmi: bool,
        runs: [bool; 2],
    }

    impl Kernel {
        fn reconfigure(&mut self) {
            self.runs = [self.set[2] && self.set[0], self.set[2] && self.set[1] && self.has_nmi];
        }

        fn read(&mut self, switch: usize) -> bool {
            self.set[switch] = if switch == 2 { self.runs[0] || self.runs[1] } else { self.runs[switch] };
            self.set[switch]
        }

        fn write(&mut self, switch: usize, on: bool) {
            if std::mem::replace(&mut self.set[switch], on) != on {
                self.reconfigure();
            }
        }

        /// As this program writes.
        fn order(&mut self, switch: usize, on: bool) {
            self.write(switch, on);
            if let Some(other) = follows(SWITCHES[switch], if on { "1" } else { "0" }) {
                self.write(SWITCHES.iter().position(|path| *path == other).unwrap(), true);
            }
        }

        fn shown(mut self) -> [bool; 2] {
            [self.read(0), self.read(1)]
        }
    }

    /// Everything that others may read, in any order, up to four times.
    fn readings() -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new()];
        let mut last = all.clone();
        for _ in 0..4 {
            last = last.iter().flat_map(|before| (0..3).map(|next| [&before[..], &[next]].concat())).collect();
            all.extend(last.clone());
        }
        all
    }

    #[test]
    fn whoever_reads_what_in_between_each_detector_is_as_before() {
        let mut tried = 0;
        for has_nmi in [false, true] {
            for bits in 0..8 {
                let mut start =
                    Kernel { set: [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0], has_nmi, runs: [false; 2] };
                start.reconfigure();
                for switches in [&[0][..], &[1], &[0, 1], &[1, 0]] {
                    for readings in readings() {
                        let mut kernel = start;
                        // A plan knows what it reads, and changes what differs.
                        let before = [kernel.read(0), kernel.read(1)];
                        let changed: Vec<usize> = switches.iter().copied().filter(|switch| before[*switch]).collect();
                        for (place, switch) in changed.iter().enumerate() {
                            kernel.order(*switch, false);
                            if place == 0 {
                                readings.iter().for_each(|read| _ = kernel.read(*read));
                            }
                        }
                        readings.iter().for_each(|read| _ = kernel.read(*read));
                        for switch in changed.iter().rev() {
                            kernel.order(*switch, true);
                            assert!(kernel.read(*switch), "{start:?} {switches:?} {readings:?}");
                        }
                        assert_eq!(kernel.shown(), before, "{start:?} {switches:?} {readings:?}");
                        tried += 1;
                    }
                }
            }
        }
        assert_eq!(tried, 2 * 8 * 4 * 121);
    }
}
