//! `/proc/stat`: what each CPU did (Documentation/filesystems/proc.rst, 1.7).

use std::collections::BTreeMap;
use std::time::Duration;

use crate::kernel_text::Numbers;
use crate::task_stat::fill;

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
        Self::read_by(&mut Vec::new())
    }

    /// The same, where the text is read into memory that is there.
    #[must_use]
    pub(crate) fn read_by(bytes: &mut Vec<u8>) -> Option<Self> {
        let filled = fill("/proc/stat", bytes).ok()?;
        Self::parse(bytes.get(..filled)?)
    }

    /// Reads the text of `/proc/stat`; `None` where no CPU stands in it.
    #[must_use]
    pub(crate) fn parse(text: impl AsRef<[u8]>) -> Option<Self> {
        let mut stat = Self::default();
        let mut rest = text.as_ref();
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or_default();
            let Some(blank) = line.iter().position(|byte| *byte == b' ') else { continue };
            let (name, numbers) = line.split_at(blank);
            // The line of the interrupts has a number for each of them, of which only their sum is read.
            let mut numbers = Numbers::of(numbers);
            match name {
                b"intr" => stat.interrupts = numbers.next()?.unwrap_or(0),
                b"ctxt" => stat.context_switches = numbers.next()?.unwrap_or(0),
                b"processes" => stat.forks = numbers.next()?.unwrap_or(0),
                [b'c', b'p', b'u', number @ ..] => {
                    let Some(cpu) = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok()) else {
                        continue;
                    };
                    // Guest times are inside user and nice. What an old kernel does not write is 0.
                    let [user, nice, system, idle, iowait, irq, softirq, steal] =
                        std::array::from_fn(|_| numbers.next().flatten().unwrap_or(0));
                    let busy = [user, nice, system, irq, softirq].into_iter().fold(0_u64, u64::saturating_add);
                    stat.cpus.insert(cpu, CpuTicks { busy, idle: idle.saturating_add(iowait), steal });
                }
                _ => {}
            }
        }
        (!stat.cpus.is_empty()).then_some(stat)
    }

    /// CPU time that others than this process used on all CPUs since `earlier`, in CPUs, where this process used `own_ns` in
    /// that time. The kernel may count busy time by looking at each tick (CONFIG_TICK_CPU_ACCOUNTING): of a thread that sleeps
    /// for most of the time it then counts too little, and the result is 0 rather than below.
    #[must_use]
    pub(crate) fn used_by_others(&self, earlier: &Self, own_ns: u64, elapsed: Duration) -> f64 {
        let busy = self.cpus.iter().filter_map(|(cpu, now)| Some(now.busy.saturating_sub(earlier.cpus.get(cpu)?.busy)));
        let busy_ns = busy.fold(0_u64, u64::saturating_add).saturating_mul(NS_PER_TICK);
        units::approx_f64(busy_ns.saturating_sub(own_ns)) / 1e9 / elapsed.as_secs_f64().max(1e-9)
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

    #[test]
    fn what_others_used_is_all_that_was_busy_without_our_own() {
        let earlier = Stat::parse("cpu0 10 0 0 100 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n").unwrap();
        let later = Stat::parse("cpu0 110 0 50 170 0 0 0 9\ncpu1 40 0 0 10 0 0 10 0\n").unwrap();
        // 2 s busy in 4 s, of which 0.4 s were our own.
        let used = later.used_by_others(&earlier, 400_000_000, Duration::from_secs(4));
        assert!((used - 0.4).abs() < 1e-9, "{used}");
        assert!(later.used_by_others(&earlier, u64::MAX, Duration::from_secs(4)).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn odd_text_is_no_panic(text in "(cpu[0-9]{0,3}|intr|ctxt|.{0,5})( [0-9]{1,20}){0,12}\n.{0,40}") {
            let _ = Stat::parse(text).map(|stat| stat.busy_since(&stat));
        }
    }
}
