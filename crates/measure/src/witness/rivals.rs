//! Threads of other programs that outrank the measuring threads: looked for before, during and after a run.
//!
//! The order of the kernel's scheduling classes is stop, deadline, real-time, fair (kernel/sched/sched.h): every
//! SCHED_DEADLINE thread runs before every SCHED_FIFO one. The stop class holds the kernel's own `migration/N` threads
//! alone. The kernel's threads are part of the machine that is measured, and are no rivals.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use kernel::sched::{Attributes, Policy, policy_name};
use units::CpuSet;

use crate::task_stat::{TaskStat, numbers_in, read_short};
use units::format::span;

/// The kernel's own threads carry this flag (PF_KTHREAD, include/linux/sched.h).
const PF_KTHREAD: u64 = 0x0020_0000;
/// More thread numbers than this since the last look are not tried one by one: `/proc` is walked instead.
const MOST_NEW: u32 = 16_384;
/// After so many looks `/proc` is walked again, for changes that the numbers did not show.
const LOOKS_PER_WALK: u64 = 60;
/// Rivals that a record names.
const NAMED: usize = 5;

/// What a measuring thread is, where it comes to who runs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// SCHED_DEADLINE: another such thread runs first where its deadline is nearer.
    Deadline,
    /// SCHED_FIFO or SCHED_RR with this priority (1 to 99).
    RealTime(u32),
    /// SCHED_OTHER: every real-time thread runs first.
    Fair,
}

impl From<Policy> for Rank {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Deadline { .. } => Self::Deadline,
            Policy::Fifo(priority) | Policy::RoundRobin(priority) => Self::RealTime(priority),
            Policy::Other => Self::Fair,
        }
    }
}

impl Rank {
    /// Whether a thread with these attributes can run first. Of equal priority it can: a FIFO thread runs until it sleeps.
    fn is_outranked_by(self, attributes: &Attributes) -> bool {
        let priority = attributes.scheduling.priority;
        match (attributes.scheduling.policy, self) {
            (6, _) => true,
            (1 | 2, Self::RealTime(own)) => priority >= own,
            (1 | 2, Self::Fair) => true,
            _ => false,
        }
    }
}

/// A thread of another program that outranks a measuring thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rival {
    /// Its kernel id.
    pub(crate) tid: u32,
    /// Name of the thread.
    pub(crate) name: String,
    /// Its policy by the kernel's number (include/uapi/linux/sched.h).
    pub(crate) policy_number: u32,
    /// Its real-time priority; 0 for SCHED_DEADLINE.
    pub(crate) priority: u32,
    /// CPU time in each period (ns); 0 but for SCHED_DEADLINE.
    runtime_ns: u64,
    /// The period (ns); 0 but for SCHED_DEADLINE.
    period_ns: u64,
    /// CPUs that it may run on.
    cpus: CpuSet,
}

impl Rival {
    /// A FIFO thread.
    #[cfg(test)]
    pub(crate) fn of(name: &str, tid: u32, priority: u32, cpus: &CpuSet) -> Self {
        let (name, cpus) = (name.to_owned(), cpus.clone());
        Self { tid, name, policy_number: 1, priority, runtime_ns: 0, period_ns: 0, cpus }
    }

    /// Its name with how it is scheduled and where it may run.
    pub(crate) fn text(&self) -> String {
        let Self { tid, name, priority, cpus, .. } = self;
        let policy = policy_name(self.policy_number);
        let rank = match self.policy_number {
            6 => format!("{policy}, {} of every {}", span(self.runtime_ns), span(self.period_ns)),
            _ => format!("{policy} {priority}"),
        };
        let word = if cpus.len() == 1 { "CPU" } else { "CPUs" };
        format!("{name} ({rank}, {word} {cpus}, thread {tid})")
    }
}

/// What is asked of the kernel; a test answers by itself.
pub(super) trait Tasks {
    /// The numbers of all threads.
    fn walk(&mut self) -> Vec<u32>;
    /// The number that was given to the newest thread.
    fn newest(&mut self) -> Option<u32>;
    /// How a thread is scheduled; `None` where there is none of that number.
    fn attributes(&mut self, tid: u32) -> Option<Attributes>;
    /// Its name, whether it is the kernel's or our own, and the CPUs that it may run on.
    fn details(&mut self, tid: u32) -> Option<Details>;
}

#[derive(Clone, Debug)]
pub(super) struct Details {
    name: String,
    is_kernel: bool,
    is_own: bool,
    cpus: CpuSet,
}

/// The tasks of the running machine.
#[derive(Debug)]
pub(super) struct Live;

impl Tasks for Live {
    fn walk(&mut self) -> Vec<u32> {
        numbers_in("/proc").into_iter().flat_map(|process| numbers_in(&format!("/proc/{process}/task"))).collect()
    }

    fn newest(&mut self) -> Option<u32> {
        // The last field (Documentation/filesystems/proc.rst, 1.8).
        read_short("/proc/loadavg").ok()?.split_ascii_whitespace().last()?.parse().ok()
    }

    fn attributes(&mut self, tid: u32) -> Option<Attributes> {
        kernel::sched::attributes_of(tid).ok()
    }

    fn details(&mut self, tid: u32) -> Option<Details> {
        let text = read_short(&format!("/proc/{tid}/stat")).ok()?;
        let stat = TaskStat::parse(&text)?;
        let is_kernel = stat.number::<u64>(9)? & PF_KTHREAD != 0;
        let is_own = fs::exists(format!("/proc/self/task/{tid}")).unwrap_or(false);
        let cpus = kernel::sched::affinity_of(tid).ok()?;
        Some(Details { name: stat.name.to_owned(), is_kernel, is_own, cpus })
    }
}

/// What a thread is to those that are measured.
enum Judged {
    /// It outranks one of them.
    Rival(Rival),
    /// It outranks none as it is now, or has ended.
    NotNow,
    /// It is the kernel's or our own, and so none for as long as it lives.
    Never,
}

/// Whether a thread outranks one of `ranked`, threads with the CPUs that each may run on.
fn rival(
    tasks: &mut dyn Tasks,
    tid: u32,
    attributes: Attributes,
    ranked: &[(CpuSet, Rank)],
    with_kernel: bool,
) -> Judged {
    // The stop class shows itself as SCHED_FIFO 99, and outranks SCHED_DEADLINE too.
    let may_be_stop_class = with_kernel && attributes.scheduling.policy == 1 && attributes.scheduling.priority == 99;
    // What is asked of every thread of the machine has to be cheap: one system call.
    if !may_be_stop_class && !ranked.iter().any(|(_, rank)| rank.is_outranked_by(&attributes)) {
        return Judged::NotNow;
    }
    let Some(Details { name, is_kernel, is_own, cpus }) = tasks.details(tid) else { return Judged::NotNow };
    let is_stop_class = may_be_stop_class && is_kernel && name.starts_with("migration/");
    let meets = |own: &CpuSet, rank: Rank| {
        (is_stop_class || rank.is_outranked_by(&attributes)) && !own.intersection(&cpus).is_empty()
    };
    if is_own || (is_kernel && !with_kernel) {
        return Judged::Never;
    }
    if !ranked.iter().any(|(own, rank)| meets(own, *rank)) {
        return Judged::NotNow;
    }
    let Attributes { scheduling, runtime_ns, period_ns } = attributes;
    let (policy_number, priority) = (scheduling.policy, scheduling.priority);
    Judged::Rival(Rival { tid, name, policy_number, priority, runtime_ns, period_ns, cpus })
}

/// Those that outrank a thread of this rank on a measured CPU now; the kernel's own threads only if they are asked for.
pub(crate) fn find(measured: &CpuSet, rank: Rank, with_kernel: bool) -> Vec<Rival> {
    let ranked = [(measured.clone(), rank)];
    let all = Live.walk().into_iter().filter_map(|tid| Some((tid, Live.attributes(tid)?)));
    let rivals = all.filter_map(|(tid, attributes)| match rival(&mut Live, tid, attributes, &ranked, with_kernel) {
        Judged::Rival(rival) => Some(rival),
        Judged::NotNow | Judged::Never => None,
    });
    rivals.collect()
}

/// When a rival was there (ns, CLOCK_MONOTONIC).
#[derive(Clone, Debug)]
struct Presence {
    rival: Rival,
    first_ns: i64,
    last_ns: i64,
    /// At how many looks it was there.
    looks: u64,
}

/// Looks for rivals again and again. A look asks one system call of each thread that is known, and of each number that
/// was given to a thread since the last look; what came and went between two looks is not seen.
#[derive(Debug)]
pub(super) struct RivalWatch<T> {
    tasks: T,
    ranked: Vec<(CpuSet, Rank)>,
    known: BTreeSet<u32>,
    /// Of those, the kernel's threads and our own, which are no rivals whatever their class; read again with each walk.
    passed_over: BTreeSet<u32>,
    newest: Option<u32>,
    looks: u64,
    found: BTreeMap<u32, Presence>,
}

impl<T: Tasks> RivalWatch<T> {
    pub(super) fn new(tasks: T, ranked: Vec<(CpuSet, Rank)>) -> Self {
        Self {
            tasks,
            ranked,
            known: BTreeSet::new(),
            passed_over: BTreeSet::new(),
            newest: None,
            looks: 0,
            found: BTreeMap::new(),
        }
    }

    /// Looks; nothing is done where there is nobody to outrank.
    pub(super) fn look(&mut self, now_ns: i64) {
        if self.ranked.is_empty() {
            return;
        }
        self.learn_numbers();
        self.looks += 1;
        let Self { tasks, ranked, known, passed_over, found, looks, .. } = self;
        known.retain(|&tid| {
            let Some(attributes) = tasks.attributes(tid) else { return false };
            if passed_over.contains(&tid) {
                return true;
            }
            let rival = match rival(tasks, tid, attributes, ranked, false) {
                Judged::Rival(rival) => rival,
                Judged::Never => {
                    passed_over.insert(tid);
                    return true;
                }
                Judged::NotNow => return true,
            };
            let seen = found.entry(tid).or_insert_with(|| Presence {
                rival: rival.clone(),
                first_ns: now_ns,
                last_ns: now_ns,
                looks: 0,
            });
            *seen = Presence { rival, last_ns: now_ns, looks: seen.looks + 1, ..*seen };
            debug_assert!(seen.looks <= *looks);
            true
        });
    }

    /// Numbers are given in turn, and after the highest from the lowest again (kernel/pid.c): what lies between the
    /// newest of the last look and the newest now is all that came.
    fn learn_numbers(&mut self) {
        let newest = self.tasks.newest();
        let new = match (self.newest, newest) {
            (Some(last), Some(now)) if now >= last && now - last <= MOST_NEW => Some(last + 1..=now),
            _ => None,
        };
        self.newest = newest;
        match new.filter(|_| self.looks % LOOKS_PER_WALK != 0) {
            Some(new) => self.known.extend(new),
            None => {
                self.passed_over.clear();
                self.known.extend(self.tasks.walk());
            }
        }
    }

    /// Who was there and when, in words, the longest first; `None` where nobody was.
    pub(super) fn text(&self, started_ns: i64) -> Option<String> {
        let mut found: Vec<&Presence> = self.found.values().collect();
        found.sort_by_key(|seen| (std::cmp::Reverse(seen.looks), seen.rival.tid));
        let when = |seen: &Presence| {
            let into_run = |ns: i64| span(ns.saturating_sub(started_ns).max(0));
            match seen.looks {
                looks if looks == self.looks => "throughout".to_owned(),
                1 => format!("seen once, {} into the run", into_run(seen.last_ns)),
                _ => format!("seen from {} to {} into the run", into_run(seen.first_ns), into_run(seen.last_ns)),
            }
        };
        let mut each: Vec<String> =
            found.iter().take(NAMED).map(|seen| format!("{}, {}", seen.rival.text(), when(seen))).collect();
        if let Some(more) = found.len().checked_sub(NAMED).filter(|more| *more > 0) {
            each.push(format!("and {more} more"));
        }
        (!each.is_empty()).then(|| each.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use kernel::sched::Scheduling;

    use super::*;

    fn attributes(policy: u32, priority: u32) -> Attributes {
        let (runtime_ns, period_ns) = if policy == 6 { (2_000_000, 10_000_000) } else { (0, 0) };
        Attributes { scheduling: Scheduling { policy, priority, nice: 0 }, runtime_ns, period_ns }
    }

    /// A machine by its threads: number, policy, priority, CPUs, whether it is the kernel's.
    #[derive(Default)]
    struct Machine {
        threads: BTreeMap<u32, (u32, u32, &'static str, bool)>,
        newest: Option<u32>,
        walks: u32,
        /// How often details were asked of each.
        asked: BTreeMap<u32, u32>,
    }

    impl Tasks for Machine {
        fn walk(&mut self) -> Vec<u32> {
            self.walks += 1;
            self.threads.keys().copied().collect()
        }

        fn newest(&mut self) -> Option<u32> {
            self.newest
        }

        fn attributes(&mut self, tid: u32) -> Option<Attributes> {
            self.threads.get(&tid).map(|(policy, priority, ..)| attributes(*policy, *priority))
        }

        fn details(&mut self, tid: u32) -> Option<Details> {
            *self.asked.entry(tid).or_default() += 1;
            let (_, _, cpus, is_kernel) = self.threads.get(&tid)?;
            let (name, cpus) = (format!("t{tid}"), cpus.parse().unwrap());
            Some(Details { name, is_kernel: *is_kernel, is_own: tid == 1, cpus })
        }
    }

    fn watch(machine: Machine) -> RivalWatch<Machine> {
        let ranked = vec![("1".parse().unwrap(), Rank::RealTime(80)), ("2".parse().unwrap(), Rank::RealTime(50))];
        RivalWatch::new(machine, ranked)
    }

    #[test]
    fn who_runs_first_follows_from_class_and_priority() {
        let outranks = |rank: Rank| {
            let of = [(0, 0), (1, 49), (1, 50), (2, 51), (6, 0), (5, 0)];
            of.map(|(policy, priority)| rank.is_outranked_by(&attributes(policy, priority)))
        };
        assert_eq!(outranks(Rank::RealTime(50)), [false, false, true, true, true, false]);
        assert_eq!(outranks(Rank::Fair), [false, true, true, true, true, false]);
        assert_eq!(outranks(Rank::Deadline), [false, false, false, false, true, false]);
    }

    #[test]
    fn each_thread_is_held_against_those_on_its_own_cpus() {
        let threads = [
            (1, (1, 99, "0-3", false)),
            (2, (1, 60, "1", false)),
            (3, (1, 60, "2", false)),
            (4, (6, 0, "0-3", false)),
            (5, (6, 0, "0", false)),
            (6, (1, 99, "1", true)),
        ];
        let mut watch = watch(Machine { threads: threads.into(), ..Machine::default() });
        watch.look(5_000_000_000);
        let text = watch.text(5_000_000_000).unwrap();
        assert_eq!(
            text,
            "t3 (fifo 60, CPU 2, thread 3), throughout; \
             t4 (deadline, 2 ms of every 10 ms, CPUs 0-3, thread 4), throughout"
        );
    }

    #[test]
    fn what_comes_and_goes_is_found_with_its_times_without_a_walk() {
        const S: i64 = 1_000_000_000;
        let mut watch =
            watch(Machine { threads: [(10, (0, 0, "1", false))].into(), newest: Some(10), ..Machine::default() });
        watch.look(0);
        // One comes at 2 s and is gone at 5 s; another one has a policy of its own at 3 s alone.
        for second in 1..=5 {
            let threads = &mut watch.tasks.threads;
            match second {
                2 => {
                    threads.insert(14, (1, 90, "1", false));
                    watch.tasks.newest = Some(15);
                }
                3 => drop(threads.insert(10, (6, 0, "0-1", false))),
                4 => drop(threads.insert(10, (0, 0, "0-1", false))),
                5 => drop(threads.remove(&14)),
                _ => {}
            }
            watch.look(second * S);
        }
        assert_eq!(
            watch.text(S).unwrap(),
            "t14 (fifo 90, CPU 1, thread 14), seen from 1 s to 3 s into the run; \
             t10 (deadline, 2 ms of every 10 ms, CPUs 0-1, thread 10), seen once, 2 s into the run"
        );
        assert_eq!(watch.known.iter().copied().collect::<Vec<_>>(), [10]);
        assert_eq!(watch.tasks.walks, 1);
    }

    #[test]
    fn who_is_no_rival_by_its_kind_is_asked_of_once_until_the_next_walk() {
        let threads = [(1, (1, 99, "1", false)), (6, (1, 99, "1", true)), (7, (1, 99, "1", false))];
        let mut watch = watch(Machine { threads: threads.into(), newest: Some(7), ..Machine::default() });
        for second in 0..5 {
            watch.look(second);
        }
        assert_eq!(watch.tasks.asked, [(1, 1), (6, 1), (7, 5)].into());
        // Numbers began again: its number is another thread's now.
        watch.tasks.threads.insert(6, (1, 99, "1", false));
        watch.tasks.newest = Some(6);
        watch.look(6);
        assert!(watch.text(0).unwrap().contains("thread 6"));
    }

    #[test]
    fn numbers_that_begin_again_are_walked_for() {
        let mut watch =
            watch(Machine { threads: [(9, (0, 0, "1", false))].into(), newest: Some(32_000), ..Machine::default() });
        watch.look(0);
        watch.tasks.newest = Some(400);
        watch.tasks.threads.insert(399, (1, 99, "1", false));
        watch.look(1);
        assert!(watch.text(0).unwrap().starts_with("t399"));
        assert_eq!(watch.tasks.walks, 2);
    }

    #[test]
    fn nobody_is_looked_for_where_nobody_can_be_outranked() {
        let machine = Machine { threads: [(9, (6, 0, "1", false))].into(), ..Machine::default() };
        let mut watch = RivalWatch::new(machine, Vec::new());
        watch.look(0);
        assert_eq!((watch.text(0), watch.tasks.walks), (None, 0));
    }

    #[test]
    fn this_machine_s_threads_are_told_from_the_kernel_s() {
        let own = Live.details(kernel::sched::thread_id()).unwrap();
        assert!(own.is_own && !own.is_kernel);
        if let Some(kthreadd) = Live.details(2).filter(|thread| thread.name == "kthreadd") {
            assert!(kthreadd.is_kernel && !kthreadd.is_own);
        }
    }
}
