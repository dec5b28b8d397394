//! `/proc/stat`: what each CPU did (Documentation/filesystems/proc.rst, 1.7).

use std::collections::BTreeMap;

/// One clock tick of user space (ns): USER_HZ is 100 on every architecture that we run on.
pub(crate) const NS_PER_TICK: u64 = 10_000_000;

/// Times of one CPU since boot, in clock ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    /// Neither idle nor waiting for I/O nor stolen.
    pub(crate) busy: u64,
    /// Idle, also while waiting for I/O.
    pub(crate) idle: u64,
    /// Taken by the hypervisor.
    pub(crate) steal: u64,
}

/// The parts of `/proc/stat` that a run needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    /// By CPU number.
    pub(crate) cpus: BTreeMap<u32, CpuTicks>,
    /// Interrupts since boot.
    pub(crate) interrupts: u64,
    /// Context switches since boot.
    pub(crate) context_switches: u64,
    /// Processes and threads that were made since boot.
    pub(crate) forks: u64,
}

impl Stat {
    /// Reads this machine's.
    #[must_use]
    pub(crate) fn read() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// Reads the text of `/proc/stat`; `None` where no CPU stands in it.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut stat = Self::default();
        for line in text.lines() {
            let mut fields = line.split_ascii_whitespace();
            let Some(name) = fields.next() else { continue };
            let mut numbers = fields.map(|field| field.parse::<u64>().unwrap_or(0));
            match name {
                "intr" => stat.interrupts = numbers.next()?,
                "ctxt" => stat.context_switches = numbers.next()?,
                "processes" => stat.forks = numbers.next()?,
                _ => {
                    if let Some(cpu) = name.strip_prefix("cpu").and_then(|number| number.parse().ok()) {
                        // user nice system idle iowait irq softirq steal; guest times are inside user and nice.
                        let n: Vec<u64> = numbers.take(8).collect();
                        let at = |i: usize| n.get(i).copied().unwrap_or(0);
                        let busy = [0, 1, 2, 5, 6].into_iter().fold(0_u64, |sum, i| sum.saturating_add(at(i)));
                        let idle = at(3).saturating_add(at(4));
                        stat.cpus.insert(cpu, CpuTicks { busy, idle, steal: at(7) });
                    }
                }
            }
        }
        (!stat.cpus.is_empty()).then_some(stat)
    }

    /// Busy share of each CPU since `earlier` (0 to 1).
    #[must_use]
    pub(crate) fn busy_since(&self, earlier: &Self) -> BTreeMap<u32, f64> {
        self.cpus
            .iter()
            .filter_map(|(cpu, now)| {
                let then = earlier.cpus.get(cpu)?;
                let busy = now.busy.saturating_sub(then.busy);
                // Idle time can run backwards by a tick on a tickless CPU.
                let all = busy + now.idle.saturating_sub(then.idle) + now.steal.saturating_sub(then.steal);
                (all > 0).then(|| (*cpu, units::approx_f64(busy) / units::approx_f64(all)))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_the_kernel_s_text() {
        let text = "cpu  10 1 5 100 3 2 4 9 0 0\ncpu0 10 1 5 100 3 2 4 9 0 0\nintr 1234 5 6\nctxt 77\nbtime 1\nprocesses 421\n";
        let stat = Stat::parse(text).unwrap();
        assert_eq!(stat.cpus, BTreeMap::from([(0, CpuTicks { busy: 22, idle: 103, steal: 9 })]));
        assert_eq!((stat.interrupts, stat.context_switches, stat.forks), (1234, 77, 421));
    }

    #[test]
    fn shares_are_of_the_time_between() {
        let earlier = Stat::parse("cpu0 10 0 0 100 0 0 0 0\n").unwrap();
        let later = Stat::parse("cpu0 40 0 0 170 0 0 0 0\n").unwrap();
        assert!((later.busy_since(&earlier)[&0] - 0.3).abs() < 1e-9);
        assert!(later.busy_since(&later).is_empty());
    }

    proptest! {
        #[test]
        fn odd_text_is_no_panic(text in "(cpu[0-9]{0,3}|intr|ctxt|.{0,5})( [0-9]{1,20}){0,12}\n.{0,40}") {
            let _ = Stat::parse(&text).map(|stat| stat.busy_since(&stat));
        }
    }
}
