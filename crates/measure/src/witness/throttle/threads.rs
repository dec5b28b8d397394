//! Who used a CPU: the real-time threads of the machine and what they ran, as `/proc` has it.

use std::collections::BTreeMap;
use std::sync::Arc;

use kernel::clock::{KernelClock, now_ns};
use units::{ClockId, CpuSet};

use super::judge::CpuUse;
use crate::kernel_text::Numbers;
use crate::task_stat::{TaskStat, ThreadFiles, numbers_in};
use crate::witness::{NS_PER_TICK, Stat};

/// SCHED_DEADLINE (include/uapi/linux/sched.h).
const DEADLINE: u32 = 6;

/// The field of `/proc/TID/stat` with the CPU that a thread ran on last.
const LAST_CPU: usize = 39;

/// A thread of a real-time class at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RealTimeThread {
    pub(super) name: String,
    /// By the kernel's number.
    pub(super) policy: u32,
    pub(super) priority: u32,
    /// CPUs that it may run on.
    pub(super) cpus: CpuSet,
    /// The CPU that it ran on last.
    pub(super) last_cpu: u32,
    /// When it was made (ns since boot, in ticks of 10 ms).
    pub(super) made_ns: u64,
    /// How long it has run (ns).
    pub(super) ran_ns: u64,
}

impl RealTimeThread {
    /// Whether what it ran lately was on that CPU, as far as can be known.
    fn ran_on(&self, cpu: u32) -> bool {
        self.cpus.contains(cpu) && (self.cpus.len() == 1 || self.last_cpu == cpu)
    }

    fn outranks(&self, priority: u32) -> bool {
        self.policy == DEADLINE || self.priority >= priority
    }

    fn describe(&self, tid: u32) -> String {
        format!("{} ({} {}, thread {tid})", self.name, kernel::sched::policy_name(self.policy), self.priority)
    }
}

/// All real-time threads at one moment, and what the CPUs had done until then.
#[derive(Clone, Debug, Default)]
pub(super) struct Scan {
    /// Time of the scan (ns, CLOCK_MONOTONIC).
    pub(super) at_ns: i64,
    /// Time since boot at the scan (ns, CLOCK_BOOTTIME).
    pub(super) since_boot_ns: u64,
    /// By their numbers; scans share what they know of a thread that did not run between them.
    pub(super) threads: BTreeMap<u32, Arc<RealTimeThread>>,
    pub(super) stat: Option<Stat>,
}

/// A real-time thread from its `/proc/PID/task/TID/stat`; `None` for any other.
fn parse_stat(text: &str) -> Option<RealTimeThread> {
    let stat = TaskStat::parse(text)?;
    let (priority, policy): (u32, u32) = (stat.number(40)?, stat.number(41)?);
    is_real_time(policy, priority).then_some(())?;
    Some(RealTimeThread {
        name: stat.name.to_owned(),
        policy,
        priority,
        cpus: CpuSet::new(),
        last_cpu: stat.number(LAST_CPU)?,
        made_ns: made_ns(&stat)?,
        ran_ns: 0,
    })
}

/// `/proc/PID/schedstat`: time on the CPU (ns), time ready and waiting (ns), times that it got the CPU. All three are 0
/// where the kernel does not count (CONFIG_SCHED_INFO).
pub(super) fn parse_schedstat(text: &[u8]) -> Option<(u64, u64)> {
    let mut numbers = Numbers::of(text);
    let (ran_ns, waited_ns, times) = (numbers.next()??, numbers.next()??, numbers.next()??);
    (times > 0).then_some((ran_ns, waited_ns))
}

/// How long a thread has run (ns), 0 where it never ran or the kernel does not count; `None` where it has ended.
fn ran_ns(files: &mut ThreadFiles, tid: u32) -> Option<u64> {
    let text = files.read_bytes(tid, "schedstat").ok()?;
    Some(parse_schedstat(text).map_or(0, |(ran_ns, _)| ran_ns))
}

/// When a thread was made (ns since boot, in ticks of 10 ms).
fn made_ns(stat: &TaskStat<'_>) -> Option<u64> {
    Some(stat.number::<u64>(22)?.saturating_mul(NS_PER_TICK))
}

/// The CPU that a thread ran on last; `None` where it has ended, or is another one that got its number.
fn last_cpu(files: &mut ThreadFiles, tid: u32, before: &RealTimeThread) -> Option<u32> {
    let stat = TaskStat::parse(files.read(tid, "stat").ok()?)?;
    (made_ns(&stat)? == before.made_ns).then(|| stat.number(LAST_CPU))?
}

/// Whether this policy, by the kernel's number, is of a real-time class.
fn is_real_time(policy: u32, priority: u32) -> bool {
    priority > 0 || policy == DEADLINE
}

/// What scans read into: memory that is made once.
#[derive(Debug, Default)]
pub(super) struct ScanBuffers {
    pub(super) threads: ThreadFiles,
    stat: Vec<u8>,
}

impl Scan {
    fn begin(buffers: &mut ScanBuffers) -> Self {
        let clock = |id| now_ns(KernelClock::from(id));
        Self {
            at_ns: clock(ClockId::Monotonic),
            since_boot_ns: u64::try_from(clock(ClockId::Boottime)).unwrap_or(0),
            threads: BTreeMap::new(),
            stat: Stat::read_by(&mut buffers.stat),
        }
    }

    /// Reads all that is known of a thread.
    fn read_thread(&mut self, files: &mut ThreadFiles, tid: u32, measured: &CpuSet) {
        let Some(mut thread) = files.read(tid, "stat").ok().and_then(parse_stat) else { return };
        let Ok(cpus) = kernel::sched::affinity_of(tid) else { return };
        if cpus.intersection(measured).is_empty() {
            return;
        }
        thread.cpus = cpus;
        thread.ran_ns = ran_ns(files, tid).unwrap_or(0);
        self.threads.insert(tid, Arc::new(thread));
    }

    /// Reads what can have changed of a thread that ran since: its policy and its CPUs, by one system call each, and the CPU that it
    /// ran on, unless it can run on one alone.
    fn read_again(
        &mut self,
        files: &mut ThreadFiles,
        tid: u32,
        before: &RealTimeThread,
        ran_ns: u64,
        measured: &CpuSet,
    ) {
        let (attributes, cpus) = (kernel::sched::attributes_of(tid), kernel::sched::affinity_of(tid));
        let (Ok(attributes), Ok(cpus)) = (attributes, cpus) else { return };
        let (policy, priority) = (attributes.scheduling.policy, attributes.scheduling.priority);
        let only = cpus.first().filter(|_| cpus.len() == 1);
        let last_cpu = only.or_else(|| last_cpu(files, tid, before)).filter(|_| ran_ns >= before.ran_ns);
        let Some(last_cpu) = last_cpu else { return self.read_thread(files, tid, measured) };
        if is_real_time(policy, priority) && !cpus.intersection(measured).is_empty() {
            let thread = RealTimeThread { policy, priority, cpus, last_cpu, ran_ns, ..before.clone() };
            self.threads.insert(tid, Arc::new(thread));
        }
    }

    /// Looks through all threads of the machine for those that may run on a measured CPU.
    pub(super) fn read_all(measured: &CpuSet, buffers: &mut ScanBuffers) -> Self {
        let mut scan = Self::begin(buffers);
        for process in numbers_in("/proc") {
            for tid in numbers_in(&format!("/proc/{process}/task")) {
                // One system call costs far less than the thread's text.
                let scheduling = kernel::sched::attributes_of(tid).map(|attributes| attributes.scheduling);
                if scheduling.is_ok_and(|scheduling| is_real_time(scheduling.policy, scheduling.priority)) {
                    scan.read_thread(&mut buffers.threads, tid, measured);
                }
            }
        }
        scan
    }

    /// The same threads again, which costs little.
    pub(super) fn again(&self, measured: &CpuSet, buffers: &mut ScanBuffers) -> Self {
        let mut scan = Self::begin(buffers);
        for (tid, before) in &self.threads {
            let Some(ran_ns) = ran_ns(&mut buffers.threads, *tid) else { continue };
            // One that has not run since used nothing up, whatever else of it has changed.
            if ran_ns == before.ran_ns {
                scan.threads.insert(*tid, Arc::clone(before));
            } else {
                scan.read_again(&mut buffers.threads, *tid, before, ran_ns, measured);
            }
        }
        scan
    }

    /// Who used a CPU since an earlier scan, as the thread `own` of that priority sees it.
    pub(super) fn use_since(&self, earlier: &Self, cpu: u32, own: u32, priority: u32) -> CpuUse {
        let ran_ns = |tid: &u32, thread: &RealTimeThread| match earlier.threads.get(tid) {
            Some(before) => thread.ran_ns.saturating_sub(before.ran_ns),
            // All that a younger thread ran lies in between; of an older one nobody knows.
            None if thread.made_ns.saturating_add(NS_PER_TICK) >= earlier.since_boot_ns => thread.ran_ns,
            None => 0,
        };
        let mut used =
            CpuUse { window_ns: u64::try_from(self.at_ns - earlier.at_ns).unwrap_or(0), ..CpuUse::default() };
        let mut most = (0, None);
        for (tid, thread) in self.threads.iter().filter(|(_, thread)| thread.ran_on(cpu)) {
            let ns = ran_ns(tid, thread);
            used.real_time_ns += ns;
            if *tid == own {
                used.own_ns = ns;
                continue;
            }
            if thread.outranks(priority) {
                used.outranking_ns += ns;
            }
            if ns > most.0 {
                most = (ns, Some(thread.describe(*tid)));
            }
        }
        let may_outrank = |(tid, thread): &(&u32, &Arc<RealTimeThread>)| {
            **tid != own && thread.outranks(priority) && thread.cpus.contains(cpu)
        };
        used.may_outrank_ns =
            units::total(self.threads.iter().filter(may_outrank).map(|(tid, thread)| ran_ns(tid, thread)));
        used.most = most.1.filter(|_| most.0 > used.real_time_ns / 2);
        let ticks = |scan: &Self| scan.stat.as_ref().and_then(|stat| stat.cpus.get(&cpu).copied());
        if let (Some(then), Some(now)) = (ticks(earlier), ticks(self)) {
            used.busy_ns = Some(now.busy.saturating_sub(then.busy).saturating_mul(NS_PER_TICK));
            used.stolen_ns = Some(now.steal.saturating_sub(then.steal).saturating_mul(NS_PER_TICK));
        }
        let has_gone = |(tid, thread): (&u32, &Arc<RealTimeThread>)| {
            *tid != own && thread.outranks(priority) && thread.cpus.contains(cpu) && !self.threads.contains_key(tid)
        };
        let forks = |scan: &Self| scan.stat.as_ref().map(|stat| stat.forks);
        used.may_have_ended =
            forks(self).is_none() || forks(self) != forks(earlier) || earlier.threads.iter().any(has_gone);
        used
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    fn thread(priority: u32, cpus: &str, last_cpu: u32, made_ms: u64, ran_ms: u64) -> RealTimeThread {
        RealTimeThread {
            name: "hog".to_owned(),
            policy: 1,
            priority,
            cpus: cpus.parse().unwrap(),
            last_cpu,
            made_ns: made_ms * MS,
            ran_ns: ran_ms * MS,
        }
    }

    fn scan(at_ms: i64, threads: &[(u32, RealTimeThread)]) -> Scan {
        Scan {
            at_ns: at_ms * 1_000_000,
            since_boot_ns: u64::try_from(at_ms).unwrap() * MS,
            threads: threads.iter().cloned().map(|(tid, thread)| (tid, Arc::new(thread))).collect(),
            stat: None,
        }
    }

    /// On CPU 1, for thread 7 of priority 80: real-time and outranking time (ms).
    fn check(before: &[(u32, RealTimeThread)], after: &[(u32, RealTimeThread)], expected: (u64, u64)) -> CpuUse {
        let used = scan(6_000, after).use_since(&scan(5_000, before), 1, 7, 80);
        assert_eq!((used.real_time_ns / MS, used.outranking_ns / MS), expected);
        used
    }

    #[test]
    fn only_what_ran_on_this_cpu_counts() {
        let used = check(&[(9, thread(10, "1", 1, 0, 100))], &[(9, thread(10, "1", 1, 0, 1_050))], (950, 0));
        assert_eq!(used.most.as_deref(), Some("hog (fifo 10, thread 9)"));
        check(&[(9, thread(10, "0", 0, 0, 100))], &[(9, thread(10, "0", 0, 0, 1_050))], (0, 0));
        check(&[(9, thread(10, "0-3", 2, 0, 100))], &[(9, thread(10, "0-3", 2, 0, 1_050))], (0, 0));
        let elsewhere = check(&[(9, thread(90, "0-3", 2, 0, 100))], &[(9, thread(90, "0-3", 2, 0, 150))], (0, 0));
        assert_eq!(elsewhere.may_outrank_ns, 50 * MS, "it may have been here before");
        check(&[(9, thread(90, "0-3", 1, 0, 100))], &[(9, thread(90, "0-3", 1, 0, 150))], (50, 50));
    }

    #[test]
    fn the_measuring_thread_does_not_outrank_itself_and_a_deadline_thread_always_does() {
        let used = check(&[(7, thread(80, "1", 1, 0, 0))], &[(7, thread(80, "1", 1, 0, 940))], (940, 0));
        assert_eq!((used.most, used.own_ns, used.may_outrank_ns), (None, 940 * MS, 0));
        let deadline = |ran_ms| RealTimeThread { policy: DEADLINE, ..thread(0, "0-3", 1, 0, ran_ms) };
        check(&[(9, deadline(10))], &[(9, deadline(30))], (20, 20));
    }

    #[test]
    fn only_younger_threads_are_known_to_have_come_later() {
        check(&[], &[(9, thread(10, "1", 1, 5_100, 800))], (800, 0));
        check(&[], &[(9, thread(10, "1", 1, 1_000, 800))], (0, 0));
    }

    #[test]
    fn a_thread_that_outranks_may_have_ended_where_any_was_made_or_one_is_gone() {
        let hog = |priority| vec![(9, thread(priority, "1", 1, 0, 100))];
        let check = |forks: [u64; 2], before: &[(u32, RealTimeThread)], expected: bool| {
            let at =
                |at_ms, threads, forks| Scan { stat: Some(Stat { forks, ..Stat::default() }), ..scan(at_ms, threads) };
            let used = at(6_000, &[], forks[1]).use_since(&at(5_000, before, forks[0]), 1, 7, 80);
            assert_eq!(used.may_have_ended, expected, "{forks:?}, {before:?}");
        };
        check([400, 400], &[], false);
        check([400, 401], &[], true);
        check([400, 400], &hog(99), true);
        check([400, 400], &hog(10), false);
        assert!(scan(6_000, &[]).use_since(&scan(5_000, &[]), 1, 7, 80).may_have_ended, "nobody counts");
    }

    #[test]
    fn a_number_that_another_thread_has_got_is_not_the_thread_that_was_seen() {
        let (mut files, own) = (ThreadFiles::default(), std::process::id());
        let text = files.read(own, "stat").unwrap().to_owned();
        let made_ns = made_ns(&TaskStat::parse(&text).unwrap()).unwrap();
        let seen = RealTimeThread { made_ns, ..thread(10, "0-3", 0, 0, 0) };
        let cpus = kernel::sched::affinity_of(own).unwrap();
        assert!(cpus.contains(last_cpu(&mut files, own, &seen).unwrap()));
        let other = RealTimeThread { made_ns: made_ns + NS_PER_TICK, ..seen };
        assert_eq!(last_cpu(&mut files, own, &other), None);
        assert_eq!(last_cpu(&mut files, u32::MAX, &other), None);
    }

    #[test]
    fn what_the_kernel_does_not_count_is_unknown() {
        assert_eq!(parse_schedstat(b"905 377 4\n"), Some((905, 377)));
        assert_eq!(parse_schedstat(b"0 0 0\n"), None);
        assert_eq!(parse_schedstat(b""), None);
    }

    #[test]
    fn only_real_time_threads_are_read() {
        let stat = |priority: u32, policy: u32| {
            let between = "0 ".repeat(40 - 4);
            parse_stat(&format!("9 (hog) R {between}{priority} {policy} 0"))
        };
        assert_eq!(stat(0, 0), None);
        let hog = stat(10, 1).unwrap();
        assert_eq!((hog.name.as_str(), hog.priority, hog.policy), ("hog", 10, 1));
        assert!(stat(0, DEADLINE).is_some());
    }

    proptest! {
        #[test]
        fn odd_text_is_no_panic(text in ".{0,120}") {
            let _ = (parse_stat(&text), parse_schedstat(text.as_bytes()));
        }
    }
}
