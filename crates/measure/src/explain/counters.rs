//! What the kernel counts, read every time that the drain looks: the only evidence where nothing can be recorded.

use std::collections::{BTreeMap, VecDeque};

use analysis::cause::{Counted, Seldom, Thread};
use kernel::clock::{KernelClock, now_ns};
use profile::irq::Interrupts;
use units::{ClockId, CpuSet};

use super::explainer::Followed;
use crate::task_stat::TaskStat;
use crate::witness::{Rank, Rival, find_rivals};

/// Readings that are kept: what is later than they reach back is explained by the oldest.
const KEPT: usize = 64;
/// Threads whose running time is read, at most.
const MOST_RIVALS: usize = 64;
/// Threads are looked for again after so many looks.
const LOOKS_PER_SEARCH: u64 = 250;

/// The counters at one moment.
#[derive(Debug)]
struct Reading {
    /// Right before it (ns, CLOCK_MONOTONIC).
    time_ns: i64,
    /// By number of the measuring thread: how long it was ready and waited (ns), and its page faults.
    own: BTreeMap<u32, (Option<u64>, Option<u64>)>,
    /// By kernel id: how long a thread has run (ns).
    ran_ns: BTreeMap<u32, u64>,
    /// By CPU and name.
    came: BTreeMap<u32, BTreeMap<String, u64>>,
}

/// Follows the counters of the measured CPUs.
#[derive(Debug)]
pub(super) struct Counters {
    measured: CpuSet,
    /// The kernel's priority of the measuring thread that is easiest to outrank; less is more.
    own_prio: i32,
    rivals: Vec<Thread>,
    readings: VecDeque<Reading>,
    looks: u64,
    /// Rates of rare events by CPU.
    seldom: BTreeMap<u32, Seldom>,
}

impl Counters {
    pub(super) fn new(threads: &[Followed]) -> Self {
        Self {
            measured: threads.iter().map(Followed::woke_on).collect(),
            own_prio: threads.iter().map(|of| of.own.prio).max().unwrap_or(120),
            rivals: Vec::new(),
            readings: VecDeque::new(),
            looks: 0,
            seldom: BTreeMap::new(),
        }
    }

    /// Reads all counters once.
    pub(super) fn look(&mut self, threads: &[Followed]) {
        if self.looks % LOOKS_PER_SEARCH == 0 {
            self.rivals = self.search();
        }
        self.looks += 1;
        let reading = self.read(threads);
        if let Some(before) = self.readings.back() {
            let is_late = |cpu: u32| {
                threads
                    .iter()
                    .any(|of| of.woke_on() == cpu && of.watched.waits.load(std::sync::atomic::Ordering::Acquire))
            };
            // Only events that come while nothing is late show how often they coincide by chance.
            for cpu in self.measured.iter().filter(|&cpu| !is_late(cpu)) {
                let came = difference(before, &reading, cpu);
                self.seldom.entry(cpu).or_default().look(came.iter().map(|(name, count)| (*name, *count)));
            }
        }
        if self.readings.len() == KEPT {
            self.readings.pop_front();
        }
        self.readings.push_back(reading);
    }

    /// Whether the last reading began after that moment (ns, CLOCK_MONOTONIC), so that it counts what happened before.
    pub(super) fn reach(&self, moment_ns: i64) -> bool {
        self.readings.back().is_some_and(|reading| reading.time_ns >= moment_ns)
    }

    /// What was counted around a sample of a thread that was to wake at `scheduled_ns` (CLOCK_MONOTONIC).
    pub(super) fn around(&self, of: &Followed, scheduled_ns: i64) -> Counted {
        let Some(after) = self.readings.back() else { return Counted::default() };
        let at = self.readings.iter().rposition(|reading| reading.time_ns <= scheduled_ns).unwrap_or(0);
        let before = &self.readings[at];
        let own = |reading: &Reading| reading.own.get(&of.thread).copied().unwrap_or((None, None));
        let waits = |reading: &Reading| own(reading).0;
        let grown = |to: Option<u64>, from: Option<u64>| Some(to?.saturating_sub(from?));
        let looks = u64::try_from(self.readings.len() - 1 - at).unwrap_or(1).max(1);
        let waited_ns = grown(waits(after), waits(before));
        let usual_ns = self.usual_wait_ns(of.thread).map(|ns| ns * looks);
        let ran = self.rivals.iter().filter_map(|rival| {
            let ran_ns = after.ran_ns.get(&rival.tid)?.saturating_sub(*before.ran_ns.get(&rival.tid)?);
            (ran_ns > 0).then(|| (rival.clone(), ran_ns))
        });
        let came = difference(before, after, of.woke_on());
        let seldom = self.seldom.get(&of.woke_on());
        Counted {
            window_ns: after.time_ns - before.time_ns,
            waited_ns: waited_ns.map(|ns| ns.saturating_sub(usual_ns.unwrap_or(0))),
            faults: grown(own(after).1, own(before).1),
            ran: ran.collect(),
            seldom: seldom.and_then(|of| of.coincidence(came.iter().map(|(name, count)| (*name, *count)))),
        }
    }

    /// The median over the kept looks (ns).
    fn usual_wait_ns(&self, thread: u32) -> Option<u64> {
        let waits = |reading: &Reading| reading.own.get(&thread).and_then(|own| own.0);
        let pairs = self.readings.iter().zip(self.readings.iter().skip(1));
        let mut all: Vec<u64> = pairs.filter_map(|(one, next)| waits(next)?.checked_sub(waits(one)?)).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied()
    }

    fn search(&self) -> Vec<Thread> {
        let rank = match u32::try_from(99 - self.own_prio) {
            Ok(priority) if priority > 99 => Rank::Deadline,
            Ok(priority) if priority > 0 => Rank::RealTime(priority),
            _ => Rank::Fair,
        };
        let found = find_rivals(&self.measured, rank, true);
        let thread = |rival: Rival| Thread {
            tid: rival.tid,
            name: rival.name,
            // As the kernel counts: SCHED_DEADLINE stands above every real-time priority.
            prio: if rival.policy_number == 6 { -1 } else { 99 - i32::try_from(rival.priority).unwrap_or(0) },
            policy: rival.policy_number,
            owner: crate::load::owner_of(rival.tid),
        };
        found.into_iter().take(MOST_RIVALS).map(thread).collect()
    }

    fn read(&self, threads: &[Followed]) -> Reading {
        let time_ns = now_ns(KernelClock::from(ClockId::Monotonic));
        let text = |path: String| crate::kernel_text::read(path).ok();
        let own = threads.iter().map(|of| {
            let folder = format!("/proc/self/task/{}", of.own.tid);
            let waited_ns = text(format!("{folder}/schedstat")).and_then(|text| field(&text, 1));
            let faults = text(format!("{folder}/stat")).and_then(|text| faults(&text));
            (of.thread, (waited_ns, faults))
        });
        let ran = self.rivals.iter().filter_map(|rival| {
            let ran_ns = field(&text(format!("/proc/{}/schedstat", rival.tid))?, 0)?;
            Some((rival.tid, ran_ns))
        });
        let interrupts = profile::irq::parse_interrupts(&text("/proc/interrupts".to_owned()).unwrap_or_default());
        let softirqs = softirqs(&text("/proc/softirqs".to_owned()).unwrap_or_default());
        let came = threads.iter().map(|of| (of.woke_on(), arrivals(&interrupts, &softirqs, of.woke_on()))).collect();
        Reading { time_ns, own: own.collect(), ran_ns: ran.collect(), came }
    }
}

/// What came on a CPU between two readings, with what did not.
fn difference<'a>(before: &Reading, after: &'a Reading, cpu: u32) -> Vec<(&'a str, u64)> {
    let Some(now) = after.came.get(&cpu) else { return Vec::new() };
    let then = before.came.get(&cpu);
    now.iter()
        .map(|(name, count)| {
            let old = then.and_then(|of| of.get(name)).copied().unwrap_or(0);
            (name.as_str(), count.saturating_sub(old))
        })
        .collect()
}

fn arrivals(interrupts: &Interrupts, softirqs: &[(String, Vec<u64>)], cpu: u32) -> BTreeMap<String, u64> {
    let of = |counts: &BTreeMap<u32, u64>| counts.get(&cpu).copied().unwrap_or(0);
    let lines = interrupts
        .lines
        .iter()
        .map(|line| (format!("{} (interrupt {})", users(line), line.number), of(&line.arrived_counts)));
    let architecture = interrupts.architecture.iter().map(|line| {
        let name = if line.description.is_empty() { &line.label } else { &line.description };
        (name.clone(), of(&line.arrived_counts))
    });
    let softirqs = softirqs.iter().map(|(name, counts)| {
        let count = usize::try_from(cpu).ok().and_then(|cpu| counts.get(cpu)).copied().unwrap_or(0);
        (format!("softirq {name}"), count)
    });
    lines.chain(architecture).chain(softirqs).collect()
}

fn users(line: &profile::irq::Irq) -> String {
    if line.actions.is_empty() { "device".to_owned() } else { line.actions.join(", ") }
}

/// `/proc/softirqs`: a head, then a name and a count for each possible CPU.
fn softirqs(text: &str) -> Vec<(String, Vec<u64>)> {
    let line = |line: &str| {
        let (name, counts) = line.split_once(':')?;
        let counts = counts.split_ascii_whitespace().map_while(|count| count.parse().ok()).collect();
        Some((name.trim().to_owned(), counts))
    };
    text.lines().skip(1).filter_map(line).collect()
}

/// `/proc/PID/schedstat`: time on the CPU (ns), time ready and waiting (ns), times that it got the CPU.
fn field(schedstat: &str, number: usize) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(number)?.parse().ok()
}

/// Fields 10 and 12 of `/proc/PID/stat`: page faults served from memory, and from a disk.
fn faults(stat: &str) -> Option<u64> {
    let stat = TaskStat::parse(stat)?;
    Some(stat.number::<u64>(10)?.saturating_add(stat.number(12)?))
}

/// How often a CPU was slowed down because it was hot, itself or its package; `None` where nobody counts.
pub(super) fn heat(cpu: u32) -> Option<u64> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle");
    let count = |name: &str| crate::kernel_text::read(format!("{folder}/{name}")).ok()?.trim().parse::<u64>().ok();
    match (count("core_throttle_count"), count("package_throttle_count")) {
        (None, None) => None,
        (core, package) => Some(core.unwrap_or(0).saturating_add(package.unwrap_or(0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_in_their_places() {
        assert_eq!(field("905 377 4\n", 1), Some(377));
        assert_eq!(field("", 1), None);
        let stat = "123 (od)d (name) S 1 2 3 4 5 6 10 11 12 13 14 15";
        assert_eq!(faults(stat), Some(10 + 12));
        let text = "                    CPU0       CPU1\n          HI:          1          2\n      NET_RX:   3   40\n";
        assert_eq!(softirqs(text), [("HI".to_owned(), vec![1, 2]), ("NET_RX".to_owned(), vec![3, 40])]);
    }

    #[test]
    fn what_came_is_told_by_name_and_cpu() {
        let text = "           CPU0       CPU1\n 24:          1          5  IO-APIC   5-edge      eth0\n\
                    LOC:      41995      46264   Local timer interrupts\n";
        let interrupts = profile::irq::parse_interrupts(text);
        let came = arrivals(&interrupts, &[("NET_RX".to_owned(), vec![3, 40])], 1);
        let named: Vec<(&str, u64)> = came.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        assert!(named.contains(&("Local timer interrupts", 46_264)) && named.contains(&("softirq NET_RX", 40)));
        assert!(named.iter().any(|(name, count)| *name == "eth0 (interrupt 24)" && *count == 5), "{named:?}");
    }
}
