//! Whether the kernel stopped the measuring threads on purpose, to leave ordinary threads some time.
//!
//! It looks from a housekeeping CPU, and reads nothing that interrupts a measured one: what `/proc` has of the
//! measuring threads a few times a second, of other real-time threads twice a second, and the whole of `/proc` only
//! after a long wait. Stops below 1 ms are not looked for.

mod judge;
mod limits;
mod threads;

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use record::{Reason, ReasonCode, Validity};
use units::{CpuSet, format};

pub(crate) use self::judge::Judgement as ThrottleJudgement;
use self::judge::{CpuUse, Judgement, Wait, judge_all};
use self::limits::{GroupBudget, Limit, Settings, parse_release};
use self::threads::{Scan, parse_schedstat};
use super::bandwidth::own_folders;
use crate::ring::Pair;

/// Waits from here on are looked at (ns).
pub(crate) const LEAST_STOP_NS: i64 = 1_000_000;
/// Between two readings of what the measuring threads waited (ns).
const READING_NS: i64 = 250_000_000;
/// Between two looks at the known real-time threads (ns), and the same where there are many of them.
const SCAN_NS: i64 = 500_000_000;
const SCAN_MANY_NS: i64 = 1_000_000_000;
const MANY_THREADS: usize = 128;
/// Between two looks through all threads (ns): at first, and at most, where they keep finding nothing.
const SEARCH_NS: i64 = 250_000_000;
const SEARCH_MOST_NS: i64 = 16_000_000_000;
/// Scans that are kept: more than two periods of a second.
const KEPT_SCANS: usize = 12;

/// A measuring thread, as far as a throttle is concerned with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measuring {
    /// Its kernel id.
    pub(crate) tid: u32,
    /// The CPU that it is pinned to; `None` where it may move.
    pub(crate) cpu: Option<u32>,
    /// Its real-time priority; 0 for policies that no limit of real-time threads concerns.
    pub(crate) priority: u32,
}

#[derive(Debug)]
struct Followed {
    of: Measuring,
    /// Whether the kernel counts what it waits.
    is_counted: bool,
    /// Ready and waiting at the last reading (ns); `None` where the kernel does not count, or the thread has ended.
    waited_ns: Option<u64>,
    /// What it waits between two readings without anything long (ns): the lesser of the last two.
    usual_ns: u64,
    /// What it waited up to the last reading, where that had nothing long (ns): a thread can have come out of a long wait
    /// between the look at its samples and the reading.
    last_quiet_ns: u64,
}

impl Followed {
    /// What the kernel counted since the reading before the last, less what is usual (ns).
    fn take_reading(&mut self, now_ns: Option<u64>, is_quiet: bool) -> Option<u64> {
        let before_ns = std::mem::replace(&mut self.waited_ns, now_ns);
        let grown_ns = now_ns?.checked_sub(before_ns?)?;
        let carried_ns = std::mem::replace(&mut self.last_quiet_ns, if is_quiet { grown_ns } else { 0 });
        let counted_ns = (grown_ns + carried_ns).saturating_sub(2 * self.usual_ns);
        if is_quiet {
            self.usual_ns = grown_ns.min(carried_ns);
        }
        Some(counted_ns)
    }
}

/// What was found on one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tally {
    shown: u64,
    shown_ns: u64,
    likely: u64,
    likely_ns: u64,
    limits: Vec<String>,
    most: Option<String>,
}

/// Follows the measuring threads of a run.
#[derive(Debug)]
pub(crate) struct ThrottleWatch {
    settings: Settings,
    measured: CpuSet,
    threads: Vec<Followed>,
    scans: VecDeque<Scan>,
    read_at_ns: i64,
    search_at_ns: i64,
    search_pause_ns: i64,
    tallies: BTreeMap<u32, Tally>,
}

fn read_settings() -> Settings {
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<i64>().ok();
    let setting = |name: &str| number(Path::new(&format!("/proc/sys/kernel/{name}")));
    let budget = |folder: PathBuf| {
        Some(GroupBudget {
            runtime_us: number(&folder.join("cpu.rt_runtime_us"))?,
            period_us: number(&folder.join("cpu.rt_period_us"))?,
            path: folder.display().to_string(),
        })
    };
    let folder = profile::paths::FAIR_SERVER;
    let server = |cpu: u32| {
        let value = |file: &str| u64::try_from(number(Path::new(&format!("{folder}/cpu{cpu}/{file}")))?).ok();
        Some((cpu, (value("runtime")?, value("period")?)))
    };
    let cpus = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_prefix("cpu")?.parse().ok());
    Settings {
        release: fs::read_to_string(profile::paths::RELEASE).ok().and_then(|text| parse_release(&text)),
        runtime_us: setting("sched_rt_runtime_us"),
        period_us: setting("sched_rt_period_us"),
        groups: own_folders(Path::new("/")).into_iter().filter_map(budget).collect(),
        fair_servers: cpus.filter_map(server).collect(),
    }
}

fn waited_ns(tid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).ok()?;
    parse_schedstat(&text).map(|(_, waited_ns)| waited_ns)
}

impl ThrottleWatch {
    /// Begins to follow them; to be called before the run, since it looks through all threads of the machine.
    pub(crate) fn begin(threads: &[Measuring]) -> Self {
        let real_time = threads.iter().filter(|of| of.priority > 0);
        let measured = real_time.clone().filter_map(|of| of.cpu).collect::<CpuSet>();
        let follow = |of: &Measuring| {
            let waited_ns = waited_ns(of.tid);
            Followed { of: *of, is_counted: waited_ns.is_some(), waited_ns, usual_ns: 0, last_quiet_ns: 0 }
        };
        let scans = if measured.is_empty() { VecDeque::new() } else { [Scan::of_all(&measured)].into() };
        Self {
            settings: if measured.is_empty() { Settings::default() } else { read_settings() },
            threads: threads.iter().map(follow).collect(),
            read_at_ns: 0,
            search_at_ns: 0,
            search_pause_ns: SEARCH_NS,
            tallies: BTreeMap::new(),
            measured,
            scans,
        }
    }

    /// Whether no measuring thread can be stopped.
    fn is_idle(&self) -> bool {
        self.measured.is_empty()
    }

    /// Looks at what the threads waited for long since the last look: for each thread by its place, in the order of
    /// time. Says of each wait what it was.
    pub(crate) fn look(&mut self, now_ns: i64, long: &[Vec<Pair>]) -> Vec<Vec<Judgement>> {
        let any = long.iter().any(|waits| !waits.is_empty());
        if self.is_idle() || !(any || now_ns - self.read_at_ns >= READING_NS) {
            return long.iter().map(|waits| vec![Judgement::Other; waits.len()]).collect();
        }
        self.read_at_ns = now_ns;
        self.scan_known(now_ns);
        (0..self.threads.len())
            .map(|at| {
                let waits = long.get(at).map(Vec::as_slice).unwrap_or_default();
                let counted_ns = self.read_waited(at, waits.is_empty());
                self.judge(now_ns, at, waits, counted_ns)
            })
            .collect()
    }

    fn scan_known(&mut self, now_ns: i64) {
        let Some(last) = self.scans.back() else { return };
        let pause_ns = if last.threads.len() > MANY_THREADS { SCAN_MANY_NS } else { SCAN_NS };
        if now_ns - last.at_ns >= pause_ns {
            let scan = last.again(&self.measured);
            self.keep(scan);
        }
    }

    fn keep(&mut self, scan: Scan) {
        if self.scans.len() == KEPT_SCANS {
            self.scans.pop_front();
        }
        self.scans.push_back(scan);
    }

    /// What the kernel counted of a thread since the last reading, less what is usual; `None` where it does not count.
    fn read_waited(&mut self, at: usize, is_quiet: bool) -> Option<u64> {
        let thread = &mut self.threads[at];
        if thread.of.priority == 0 {
            return None;
        }
        let now_ns = waited_ns(thread.of.tid);
        thread.take_reading(now_ns, is_quiet)
    }

    fn judge(&mut self, now_ns: i64, at: usize, waits: &[Pair], mut counted_ns: Option<u64>) -> Vec<Judgement> {
        let of = self.threads[at].of;
        let mut judgements = vec![Judgement::Other; waits.len()];
        let Some(cpu) = of.cpu.filter(|_| of.priority > 0) else { return judgements };
        let limits = self.settings.limits(cpu);
        let Some(longest_ns) = limits.iter().map(|limit| limit.longest_stop_ns).max() else { return judgements };
        let length_ns = |pair: &Pair| u64::try_from(pair.second_ns.saturating_sub(pair.first_ns)).unwrap_or(0);
        // The longest first: what the kernel counted has to cover them all.
        let mut order: Vec<usize> = (0..waits.len()).collect();
        order.sort_by_key(|&wait| std::cmp::Reverse(length_ns(&waits[wait])));
        for place in order {
            let wait = Wait { length_ns: length_ns(&waits[place]), waited_ns: counted_ns };
            let is_counted = counted_ns.is_none_or(|ns| ns >= wait.length_ns - wait.length_ns / 5);
            if !is_counted || wait.length_ns > longest_ns.saturating_mul(2) {
                continue;
            }
            let used = self.use_around(now_ns, &limits, of, cpu);
            if let Some((judgement, by)) = judge_all(wait, &limits, used.as_ref()) {
                judgements[place] = judgement;
                self.count(cpu, judgement, wait.length_ns, &by, used);
            }
            counted_ns = counted_ns.map(|ns| ns.saturating_sub(wait.length_ns));
        }
        judgements
    }

    /// Who used the CPU in the period up to now.
    fn use_around(&mut self, now_ns: i64, limits: &[Limit], of: Measuring, cpu: u32) -> Option<CpuUse> {
        if now_ns >= self.search_at_ns {
            let scan = Scan::of_all(&self.measured);
            self.keep(scan);
            self.search_at_ns = now_ns + self.search_pause_ns;
            self.search_pause_ns = self.search_pause_ns.saturating_mul(2).min(SEARCH_MOST_NS);
        } else if let Some(last) = self.scans.back().filter(|last| last.at_ns < now_ns) {
            let scan = last.again(&self.measured);
            self.keep(scan);
        }
        let after = self.scans.back()?;
        let period_ns = limits.iter().map(|limit| limit.period_ns).max().unwrap_or(0);
        // A little less: looks come a little sooner or later than stops.
        let from_ns = after.at_ns.saturating_sub_unsigned(period_ns - period_ns / 32);
        let before = self.scans.iter().rev().find(|scan| scan.at_ns <= from_ns).or(self.scans.front())?;
        (before.at_ns < after.at_ns).then(|| after.use_since(before, cpu, of.tid, of.priority))
    }

    fn count(&mut self, cpu: u32, judgement: Judgement, length_ns: u64, by: &[&Limit], used: Option<CpuUse>) {
        // Stops come again with each period: the next is looked at as closely as this one.
        self.search_pause_ns = SEARCH_NS;
        self.search_at_ns = self.search_at_ns.min(self.read_at_ns + SEARCH_NS);
        let tally = self.tallies.entry(cpu).or_default();
        if judgement == Judgement::Shown {
            tally.shown += 1;
            tally.shown_ns += length_ns;
            if let Some(used) = used {
                tally.most = tally.most.take().or(used.most);
            }
        } else {
            tally.likely += 1;
            tally.likely_ns += length_ns;
        }
        for limit in by {
            let words = limit.describe();
            if !tally.limits.contains(&words) {
                tally.limits.push(words);
            }
        }
    }

    /// Looks once at the end of a run in which nobody looked: what the threads waited in all is taken for one stop in
    /// each period.
    pub(crate) fn look_back(&mut self, from_ns: i64, until_ns: i64) {
        let long: Vec<Vec<Pair>> = (0..self.threads.len()).map(|at| self.stops_in(at, from_ns, until_ns)).collect();
        self.look(until_ns, &long);
    }

    fn stops_in(&self, at: usize, from_ns: i64, until_ns: i64) -> Vec<Pair> {
        let Followed { of, waited_ns: before_ns, .. } = &self.threads[at];
        let limits = of.cpu.map(|cpu| self.settings.limits(cpu)).unwrap_or_default();
        let (Some(period_ns), Some(before_ns), Some(after_ns)) =
            (limits.iter().map(|limit| limit.period_ns).max(), before_ns, waited_ns(of.tid))
        else {
            return Vec::new();
        };
        let waited_ns = i64::try_from(after_ns.saturating_sub(*before_ns)).unwrap_or(i64::MAX);
        let periods = (until_ns - from_ns) / i64::try_from(period_ns).unwrap_or(i64::MAX).max(1);
        let length_ns = waited_ns / periods.max(1);
        if length_ns < LEAST_STOP_NS {
            return Vec::new();
        }
        (0..periods.max(1)).map(|_| Pair { first_ns: from_ns, second_ns: from_ns + length_ns }).collect()
    }

    /// Adds what it means for a run whose number the stops spoil.
    pub(crate) fn judge_run(&self, validity: &mut Validity) {
        for reason in self.tallies.iter().filter_map(|(cpu, tally)| tally.reason(*cpu)) {
            validity.add(reason.code, reason.detail);
        }
        self.judge_evidence(validity);
    }

    /// Adds that no stop can be shown, where the kernel does not count how long threads wait.
    pub(crate) fn judge_evidence(&self, validity: &mut Validity) {
        let is_uncounted = |thread: &Followed| thread.of.priority == 0 || !thread.is_counted;
        if !self.is_idle() && self.threads.iter().all(is_uncounted) {
            let detail = "unreadable here: stops of real-time threads by the kernel (CONFIG_SCHED_INFO)";
            validity.add(ReasonCode::EvidenceMissing, detail);
        }
    }

    /// What was found on a CPU, in words.
    pub(crate) fn describe(&self, cpu: u32) -> Option<String> {
        let tally = self.tallies.get(&cpu)?;
        let parts = [tally.shown_in_words(), tally.likely_in_words()];
        Some(parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
    }
}

impl Tally {
    fn shown_in_words(&self) -> Option<String> {
        let most = self.most.as_ref().map_or("real-time threads", String::as_str);
        let stops = stops_in_words(self.shown, self.shown_ns);
        (self.shown > 0).then(|| format!("{stops}, by {}; {most} used the CPU up", self.limits.join(", or ")))
    }

    fn likely_in_words(&self) -> Option<String> {
        let stops = stops_in_words(self.likely, self.likely_ns);
        (self.likely > 0).then(|| {
            format!(
                "{stops}, likely by {}: of its length, but who used the CPU up was not seen",
                self.limits.join(", or ")
            )
        })
    }

    fn reason(&self, cpu: u32) -> Option<Reason> {
        let of = |code, words: String| Reason { code, detail: format!("CPU {cpu}: {words}") };
        let shown = self.shown_in_words().map(|words| of(ReasonCode::RtThrottled, words));
        shown.or_else(|| self.likely_in_words().map(|words| of(ReasonCode::RtThrottleLikely, words)))
    }
}

fn stops_in_words(count: u64, ns: u64) -> String {
    let all = format::span(i64::try_from(ns).unwrap_or(i64::MAX));
    if count == 1 { format!("one stop of {all}") } else { format!("{count} stops, {all} in all") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn followed() -> Followed {
        let of = Measuring { tid: 1, cpu: Some(1), priority: 80 };
        Followed { of, is_counted: true, waited_ns: Some(0), usual_ns: 0, last_quiet_ns: 0 }
    }

    #[test]
    fn what_a_thread_usually_waits_is_no_part_of_a_long_wait() {
        let mut thread = followed();
        for reading in 1..=4 {
            let _ = thread.take_reading(Some(reading * 3 * MS), true);
        }
        assert_eq!(thread.take_reading(Some(15 * MS + 53 * MS), false), Some(53 * MS));
        assert_eq!(thread.take_reading(Some(18 * MS + 53 * MS), true), Some(0));
    }

    #[test]
    fn a_wait_that_ended_between_the_look_and_the_reading_is_counted_with_the_next() {
        let mut thread = followed();
        for reading in 1..=4 {
            let _ = thread.take_reading(Some(reading * MS), true);
        }
        let _ = thread.take_reading(Some(5 * MS + 53 * MS), true);
        assert_eq!(thread.take_reading(Some(6 * MS + 53 * MS), false), Some(53 * MS));
    }

    #[test]
    fn a_thread_that_has_ended_says_nothing() {
        let mut thread = followed();
        assert_eq!(thread.take_reading(None, false), None);
        assert_eq!(thread.take_reading(Some(5), false), None);
    }

    #[test]
    fn each_cpu_has_its_reason_and_the_shown_outranks_the_likely() {
        let tally = Tally {
            shown: 2,
            shown_ns: 105 * MS,
            likely: 1,
            likely_ns: 50 * MS,
            limits: vec!["the fair server (up to 50 ms in each 1 s)".to_owned()],
            most: Some("hog (fifo 10, thread 9)".to_owned()),
        };
        let reason = tally.reason(1).unwrap();
        assert_eq!(reason.code, ReasonCode::RtThrottled);
        assert_eq!(
            reason.detail,
            "CPU 1: 2 stops, 105 ms in all, by the fair server (up to 50 ms in each 1 s); hog (fifo 10, thread 9) used \
             the CPU up"
        );
        let likely = Tally { shown: 0, ..tally }.reason(1).unwrap();
        assert_eq!(likely.code, ReasonCode::RtThrottleLikely);
        assert_eq!(Tally::default().reason(1), None);
    }
}
