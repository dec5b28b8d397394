//! Counters of what lies below the kernel (firmware, heat, hypervisor), read so that two readings enclose a late sample closely.
//!
//! Stolen time and heat are read at every look, since that disturbs nobody. The count of system management interrupts is each
//! CPU's own, and reading it interrupts that CPU: at every look it is read on a CPU that is not measured, and on a
//! measured one only after an outlier. The first stands for the second as long as both have counted the same since the start,
//! which shows that these interrupts reach all CPUs equally; else only the time since the last outlier is known.

use std::collections::{BTreeMap, VecDeque};

use analysis::cause::{Around, BelowKernel, Usual, chance_by_rate};
use kernel::clock::{KernelClock, now_ns};
use units::{ClockId, CpuSet};

use super::counters::heat;
use crate::witness::{NS_PER_TICK, SmiCounters, Stat};

/// Readings that are kept of each counter, of which there are fifty a second.
const KEPT: usize = 128;

/// One counter: its last readings, and how far it usually moves.
#[derive(Clone, Debug, Default)]
struct Counter {
    /// When (ns, CLOCK_MONOTONIC), and the count.
    readings: VecDeque<(i64, u64)>,
    usual: Usual,
}

impl Counter {
    /// Takes a reading in; `is_quiet` says that no sample is known to be late since the one before.
    fn take(&mut self, time_ns: i64, count: u64, is_quiet: bool) {
        if let Some((_, before)) = self.readings.back().filter(|_| is_quiet) {
            self.usual.look(count.saturating_sub(*before));
        }
        if self.readings.len() == KEPT {
            self.readings.pop_front();
        }
        self.readings.push_back((time_ns, count));
    }

    /// By how far it moved from the last reading before a moment (ns) to the newest one.
    fn since(&self, moment_ns: i64) -> Option<Around> {
        let (newest_ns, newest) = *self.readings.back()?;
        let at = self.readings.iter().rposition(|(time_ns, _)| *time_ns <= moment_ns).unwrap_or(0);
        let (oldest_ns, oldest) = *self.readings.get(at)?;
        let looks = u64::try_from(self.readings.len() - 1 - at).unwrap_or(u64::MAX);
        let count = newest.saturating_sub(oldest);
        let chance = self.usual.chance(count, looks);
        Some(Around { count, window_ns: newest_ns.saturating_sub(oldest_ns), chance })
    }
}

/// What counts system management interrupts; a test answers by itself.
trait CountSmis {
    /// Prepares the count of a CPU.
    fn open(&mut self, cpu: u32);
    /// What a CPU has counted so far; `None` where nothing counts.
    fn count(&self, cpu: u32) -> Option<u32>;
}

impl CountSmis for SmiCounters {
    fn open(&mut self, cpu: u32) {
        Self::open(self, cpu);
    }

    fn count(&self, cpu: u32) -> Option<u32> {
        Self::count(self, cpu)
    }
}

/// The count of system management interrupts of each measured CPU.
#[derive(Debug)]
struct Smis<C> {
    counters: C,
    /// A CPU that is not measured, with its count at the start.
    reference: Option<(u32, u32)>,
    /// Its readings, counted from the start.
    looks: Counter,
    /// By measured CPU: the count at the start.
    start: BTreeMap<u32, u32>,
    /// By measured CPU: when it was asked last, and the count.
    asked: BTreeMap<u32, (i64, u32)>,
    /// What was counted between earlier questions, and in how long (ns).
    elsewhere: (u64, i64),
}

impl<C: CountSmis> Smis<C> {
    fn new(mut counters: C, measured: &CpuSet, others: &CpuSet, now_ns: i64) -> Self {
        let mut first_count = |cpu: u32| {
            counters.open(cpu);
            Some((cpu, counters.count(cpu)?))
        };
        let start: BTreeMap<u32, u32> = measured.iter().filter_map(&mut first_count).collect();
        let mut unmeasured = others.iter().filter(|cpu| !measured.contains(*cpu));
        // Where nothing counts those of the measured CPUs no other is asked.
        let reference = if start.is_empty() { None } else { unmeasured.find_map(&mut first_count) };
        Self {
            counters,
            reference,
            looks: Counter::default(),
            asked: start.iter().map(|(cpu, count)| (*cpu, (now_ns, *count))).collect(),
            start,
            elsewhere: (0, 0),
        }
    }

    fn look(&mut self, now_ns: i64, is_quiet: bool) {
        if let Some((cpu, start)) = self.reference {
            if let Some(count) = self.counters.count(cpu) {
                self.looks.take(now_ns, u64::from(count.wrapping_sub(start)), is_quiet);
            }
        }
    }

    /// What a CPU counted around a sample that was to begin at `moment_ns`.
    fn around(&mut self, cpu: u32, moment_ns: i64, now_ns: i64) -> Option<Around> {
        let count = self.counters.count(cpu)?;
        let (asked_ns, before) = self.asked.insert(cpu, (now_ns, count))?;
        let since_asked = u64::from(count.wrapping_sub(before));
        let window_ns = now_ns.saturating_sub(asked_ns);
        let (counted, observed_ns) = self.elsewhere;
        self.elsewhere = (counted.saturating_add(since_asked), observed_ns.saturating_add(window_ns));
        if since_asked == 0 {
            return Some(Around { count: 0, window_ns, chance: 1.0 });
        }
        let since_start = u64::from(count.wrapping_sub(*self.start.get(&cpu)?));
        self.look(now_ns, false);
        let is_alike = self.looks.readings.back().is_some_and(|(_, of_reference)| *of_reference == since_start);
        let encloses =
            |close: &Around| now_ns.saturating_sub(close.window_ns) <= moment_ns && close.window_ns < window_ns;
        if let Some(close) = self.looks.since(moment_ns).filter(|close| is_alike && encloses(close)) {
            return Some(close);
        }
        Some(Around { count: since_asked, window_ns, chance: chance_by_rate(counted, observed_ns, window_ns) })
    }
}

/// Follows these counters of the measured CPUs.
#[derive(Debug)]
pub(super) struct Below {
    measured: CpuSet,
    is_virtual: bool,
    steal: BTreeMap<u32, Counter>,
    heat: BTreeMap<u32, Counter>,
    smis: Smis<SmiCounters>,
    /// When the last look began (ns, CLOCK_MONOTONIC).
    newest_ns: i64,
}

impl Below {
    pub(super) fn new(measured: &CpuSet) -> Self {
        let others = kernel::sched::affinity_of(0).unwrap_or_default();
        let now_ns = now_ns(KernelClock::from(ClockId::Monotonic));
        let mut below = Self {
            measured: measured.clone(),
            is_virtual: host::virtual_machine(&host::Root::live()).is_some(),
            steal: BTreeMap::new(),
            // What has no such counter is not asked for it again.
            heat: measured.iter().filter(|cpu| heat(*cpu).is_some()).map(|cpu| (cpu, Counter::default())).collect(),
            smis: Smis::new(SmiCounters::new(), measured, &others, now_ns),
            newest_ns: now_ns,
        };
        below.look(&CpuSet::new());
        below
    }

    /// Reads all that can be read without disturbing a measured CPU; on `late` ones a sample waits to be explained.
    pub(super) fn look(&mut self, late: &CpuSet) {
        let now_ns = now_ns(KernelClock::from(ClockId::Monotonic));
        self.newest_ns = now_ns;
        if let Some(stat) = Stat::read() {
            for cpu in self.measured.iter() {
                if let Some(ticks) = stat.cpus.get(&cpu) {
                    let steal_ns = ticks.steal.saturating_mul(NS_PER_TICK);
                    self.steal.entry(cpu).or_default().take(now_ns, steal_ns, !late.contains(cpu));
                }
            }
        }
        for (cpu, counter) in &mut self.heat {
            if let Some(count) = heat(*cpu) {
                counter.take(now_ns, count, !late.contains(*cpu));
            }
        }
        self.smis.look(now_ns, late.is_empty());
    }

    /// What was counted around a sample of this CPU that was to begin at `moment_ns` and ended at `end_ns` (CLOCK_MONOTONIC).
    pub(super) fn around(&mut self, cpu: u32, moment_ns: i64, end_ns: i64) -> BelowKernel {
        // A sample after the last reading needs another reading.
        if self.newest_ns < end_ns {
            self.look(&[cpu].into_iter().collect());
        }
        let now_ns = now_ns(KernelClock::from(ClockId::Monotonic));
        BelowKernel {
            is_virtual: self.is_virtual,
            has_smis: cfg!(any(target_arch = "x86", target_arch = "x86_64")),
            steal_ns: self.steal.get(&cpu).and_then(|counter| counter.since(moment_ns)),
            smi: self.smis.around(cpu, moment_ns, now_ns),
            heat: self.heat.get(&cpu).and_then(|counter| counter.since(moment_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const MS: i64 = 1_000_000;

    type Answer = fn(u32) -> Option<u32>;

    impl CountSmis for Answer {
        fn open(&mut self, _: u32) {}

        fn count(&self, cpu: u32) -> Option<u32> {
            (*self)(cpu)
        }
    }

    /// Begins at 0 ns.
    fn smis(answer: Answer, measured: &CpuSet, others: &CpuSet) -> Smis<Answer> {
        Smis::new(answer, measured, others, 0)
    }

    #[test]
    fn only_what_moved_between_the_readings_that_enclose_a_sample_counts() {
        let mut counter = Counter::default();
        for look in 0..100_i64 {
            counter.take(look * 20 * MS, u64::from(look >= 50), true);
        }
        let long_after = counter.since(1_970 * MS).unwrap();
        assert_eq!((long_after.count, long_after.window_ns), (0, 20 * MS));
        counter.take(2_000 * MS, 2, false);
        let right_then = counter.since(1_985 * MS).unwrap();
        assert_eq!((right_then.count, right_then.window_ns), (1, 20 * MS));
        assert!(right_then.is_telling(), "{right_then:?}");
    }

    #[test]
    fn what_moves_at_every_second_look_tells_nothing() {
        let mut counter = Counter::default();
        (0..1_000_i64).for_each(|look| counter.take(look * 20 * MS, look.unsigned_abs() / 2 * NS_PER_TICK, true));
        let around = counter.since(999 * 20 * MS - 1).unwrap();
        assert!(around.chance > 0.4 && !around.is_telling(), "{around:?}");
    }

    /// Firmware interrupts the measured CPU 1 and the other one, CPU 0; CPU 7 has a firmware of its own.
    static SHARED: AtomicU32 = AtomicU32::new(u32::MAX);

    fn cpus(numbers: &[u32]) -> CpuSet {
        numbers.iter().copied().collect()
    }

    #[test]
    fn an_smi_minutes_before_is_told_from_one_at_the_sample() {
        let mut smis = smis(|_| Some(SHARED.load(Ordering::Relaxed)), &cpus(&[1]), &cpus(&[0, 1]));
        let mut now_ns = 0;
        for look in 0..5_000_u32 {
            now_ns += 20 * MS;
            if look == 100 {
                SHARED.fetch_add(1, Ordering::Relaxed);
            }
            smis.look(now_ns, true);
        }
        // 98 s after the only one.
        let loose = smis.around(1, now_ns - 5 * MS, now_ns + 15 * MS).unwrap();
        assert_eq!(loose.count, 0, "{loose:?}");
        now_ns += 20 * MS;
        smis.look(now_ns, true);
        SHARED.fetch_add(1, Ordering::Relaxed);
        let close = smis.around(1, now_ns + 5 * MS, now_ns + 15 * MS).unwrap();
        assert!(close.count == 1 && close.window_ns == 15 * MS && close.is_telling(), "{close:?}");
    }

    #[test]
    fn without_another_cpu_only_a_rate_speaks() {
        static OWN: AtomicU32 = AtomicU32::new(0);
        let mut smis = smis(|_| Some(OWN.load(Ordering::Relaxed)), &cpus(&[1]), &cpus(&[1]));
        assert!(smis.reference.is_none());
        // One in each minute, asked each minute.
        let minute = 60_000 * MS;
        let last = (1..=10_i64).filter_map(|minutes| {
            OWN.fetch_add(1, Ordering::Relaxed);
            smis.around(1, minutes * minute - MS, minutes * minute)
        });
        let last = last.last().unwrap();
        assert!(last.count == 1 && last.window_ns == minute && !last.is_telling(), "{last:?}");
        OWN.fetch_add(1, Ordering::Relaxed);
        let soon = smis.around(1, 10 * minute, 10 * minute + 20 * MS).unwrap();
        assert!(soon.is_telling(), "asked right after the last question: {soon:?}");
    }

    #[test]
    fn a_reference_that_counts_otherwise_is_not_believed() {
        static OF_ONE: AtomicU32 = AtomicU32::new(0);
        let read = |cpu: u32| Some(if cpu == 1 { OF_ONE.load(Ordering::Relaxed) } else { 7 });
        let mut smis = smis(read, &cpus(&[1]), &cpus(&[0]));
        (1..=500_i64).for_each(|look| smis.look(look * 20 * MS, true));
        OF_ONE.fetch_add(1, Ordering::Relaxed);
        let around = smis.around(1, 9_990 * MS, 10_010 * MS).unwrap();
        assert_eq!((around.count, around.window_ns), (1, 10_010 * MS));
        assert!(!around.is_telling(), "{around:?}");
    }
}
