//! Whether the kernel stopped the measuring threads on purpose, to leave ordinary threads some time.
//!
//! It looks from a housekeeping CPU, and reads nothing that interrupts a measured one: what `/proc` has of the
//! measuring threads a few times a second, of other real-time threads twice a second, and the whole of `/proc` only
//! after a long wait. `clock` has nobody on another CPU: its thread looks itself, between its readings.
//! Stops below 1 ms are not looked for. Of a thread without a CPU of its own nobody knows on which CPU it waited, and so
//! not who used that up: only stops of a limit's full length are found, and they are *likely*.

mod judge;
mod limits;
mod threads;

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use record::{Reason, ReasonCode, Validity};
use units::{CpuSet, format};

pub(crate) use self::judge::Judgment as ThrottleJudgment;
use self::judge::{CpuUse, Judgment, Wait, judge_all};
use self::limits::{GroupBudget, Limit, Settings, parse_has_group_budgets, parse_release};
use self::threads::{Scan, ScanBuffers, parse_schedstat};
use super::bandwidth::folders_of;
use super::lookout::unseen_rivals;
use crate::ring::Pair;
use crate::task_stat::ThreadFiles;

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
/// Scans that are kept, and how far apart all but the last are at least (ns): more than two periods of a second together.
const KEPT_SCANS: usize = 12;
const KEPT_APART_NS: i64 = 200_000_000;

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

/// What was found on one CPU, or of threads that no CPU is named for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tally {
    shown: u64,
    shown_ns: u64,
    likely: u64,
    likely_ns: u64,
    /// What made those that were shown, in words.
    shown_by: Vec<String>,
    /// What likely made the others, in words.
    likely_by: Vec<String>,
    most: Option<String>,
}

/// Follows the measuring threads of a run.
#[derive(Debug)]
pub(crate) struct ThrottleWatch {
    settings: Settings,
    /// The CPUs that real-time measuring threads are pinned to.
    measured: CpuSet,
    threads: Vec<Followed>,
    scans: VecDeque<Scan>,
    buffers: ScanBuffers,
    read_at_ns: i64,
    search_at_ns: i64,
    search_pause_ns: i64,
    /// Whether threads of others may be hidden, one that outranks the measuring threads among them.
    may_hide: bool,
    /// By CPU; `None` for threads that no CPU is named for.
    tallies: BTreeMap<Option<u32>, Tally>,
}

/// Reads what may stop the threads of a process, by its folder in `/proc`.
fn read_settings(process: &str) -> Settings {
    let number = |path: &Path| crate::kernel_text::read(path).ok()?.trim().parse::<i64>().ok();
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
    // Where lockdown closes them, each attempt would be a line in the kernel's log.
    let is_closed = kernel::refusal::by_lockdown(Path::new(folder)).is_some();
    let cpus = (!is_closed)
        .then(|| fs::read_dir(folder))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_prefix("cpu")?.parse().ok());
    let release = crate::kernel_text::read(profile::paths::RELEASE).unwrap_or_default();
    let groups: Vec<GroupBudget> = folders_of(Path::new("/"), process).into_iter().filter_map(budget).collect();
    let config = || crate::kernel_text::read(format!("/boot/config-{}", release.trim())).ok();
    Settings {
        release: parse_release(&release),
        runtime_us: setting("sched_rt_runtime_us"),
        period_us: setting("sched_rt_period_us"),
        has_group_budgets: if groups.is_empty() {
            config().as_deref().map(parse_has_group_budgets)
        } else {
            Some(true)
        },
        groups,
        fair_servers: cpus.filter_map(server).collect(),
    }
}

/// The limits that may stop the real-time threads of another program, of which the kernel's events say how long they were
/// ready and waited.
#[derive(Debug)]
pub(crate) struct StopLimits(Vec<Limit>);

impl StopLimits {
    /// Reads those of a process that runs, by its number; its threads are taken to be in its control group.
    pub(crate) fn read_process(pid: u32) -> Self {
        Self(read_settings(&pid.to_string()).limits_of_any_cpu())
    }

    /// Describes those of a thread's waits (ns) that have the length of a stop; `None` where there are none.
    pub(crate) fn likely_stops(&self, waits_ns: &[u64]) -> Option<String> {
        let mut tally = Tally::default();
        for &length_ns in waits_ns {
            let wait = Wait { length_ns, waited_ns: Some(length_ns) };
            if let Some((judgment, by)) = judge_all(wait, &self.0, None) {
                tally.add(judgment, length_ns, &by, None);
            }
        }
        tally.likely_in_words()
    }
}

/// Keeps a scan: in place of the last where that follows the one before it closely, however often one looks.
fn keep(scans: &mut VecDeque<Scan>, scan: Scan) {
    if let [.., before, last] = scans.make_contiguous() {
        if last.at_ns - before.at_ns < KEPT_APART_NS {
            scans.pop_back();
        }
    }
    if scans.len() == KEPT_SCANS {
        scans.pop_front();
    }
    scans.push_back(scan);
}

fn waited_ns(files: &mut ThreadFiles, tid: u32) -> Option<u64> {
    parse_schedstat(files.read_bytes(tid, "schedstat").ok()?).map(|(_, waited_ns)| waited_ns)
}

impl ThrottleWatch {
    /// Begins to follow them; to be called before the run, since it looks through all threads of the machine.
    pub(crate) fn begin(threads: &[Measuring]) -> Self {
        let any_real_time = threads.iter().any(|of| of.priority > 0);
        let measured = threads.iter().filter(|of| of.priority > 0).filter_map(|of| of.cpu).collect::<CpuSet>();
        let mut buffers = ScanBuffers::default();
        let mut follow = |of: &Measuring| {
            let waited_ns = waited_ns(&mut buffers.threads, of.tid);
            Followed { of: *of, is_counted: waited_ns.is_some(), waited_ns, usual_ns: 0, last_quiet_ns: 0 }
        };
        let followed = threads.iter().map(&mut follow).collect();
        let scans =
            if measured.is_empty() { VecDeque::new() } else { [Scan::read_all(&measured, &mut buffers)].into() };
        Self {
            settings: if any_real_time { read_settings("self") } else { Settings::default() },
            threads: followed,
            may_hide: any_real_time && unseen_rivals().is_some(),
            read_at_ns: 0,
            search_at_ns: 0,
            search_pause_ns: SEARCH_NS,
            tallies: BTreeMap::new(),
            measured,
            scans,
            buffers,
        }
    }

    /// Looks at the known threads again: until the run begins the measuring ones use nothing, which is no sign that they do not
    /// use their CPUs up.
    pub(crate) fn run_begins(&mut self) {
        if let Some(last) = self.scans.pop_back() {
            self.scans = [last.again(&self.measured, &mut self.buffers)].into();
        }
    }

    /// Whether no measuring thread can be stopped.
    fn is_idle(&self) -> bool {
        self.threads.iter().all(|thread| thread.of.priority == 0)
    }

    /// Looks at what the threads waited for long since the last look: for each thread by its place, in the order of
    /// time. Says of each wait what it was.
    pub(crate) fn look(&mut self, now_ns: i64, long: &[Vec<Pair>]) -> Vec<Vec<Judgment>> {
        let any = long.iter().any(|waits| !waits.is_empty());
        if self.is_idle() || !(any || now_ns - self.read_at_ns >= READING_NS) {
            return long.iter().map(|waits| vec![Judgment::Other; waits.len()]).collect();
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
            let scan = last.again(&self.measured, &mut self.buffers);
            self.keep(scan);
        }
    }

    fn keep(&mut self, scan: Scan) {
        keep(&mut self.scans, scan);
    }

    /// What the kernel counted of a thread since the last reading, less what is usual; `None` where it does not count.
    fn read_waited(&mut self, at: usize, is_quiet: bool) -> Option<u64> {
        let thread = &mut self.threads[at];
        if thread.of.priority == 0 {
            return None;
        }
        let now_ns = waited_ns(&mut self.buffers.threads, thread.of.tid);
        thread.take_reading(now_ns, is_quiet)
    }

    fn judge(&mut self, now_ns: i64, at: usize, waits: &[Pair], mut counted_ns: Option<u64>) -> Vec<Judgment> {
        let of = self.threads[at].of;
        let mut judgments = vec![Judgment::Other; waits.len()];
        if of.priority == 0 {
            return judgments;
        }
        let limits = of.cpu.map_or_else(|| self.settings.limits_of_any_cpu(), |cpu| self.settings.limits(cpu));
        let Some(longest_ns) = limits.iter().map(|limit| limit.longest_stop_ns).max() else { return judgments };
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
            let used = of.cpu.and_then(|cpu| self.use_around(now_ns, &limits, of, cpu));
            if let Some((judgment, by)) = judge_all(wait, &limits, used.as_ref()) {
                judgments[place] = judgment;
                // Stops come again with each period: the next is looked at as closely as this one.
                self.search_pause_ns = SEARCH_NS;
                self.search_at_ns = self.search_at_ns.min(self.read_at_ns + SEARCH_NS);
                self.tallies.entry(of.cpu).or_default().add(judgment, wait.length_ns, &by, used);
            }
            counted_ns = counted_ns.map(|ns| ns.saturating_sub(wait.length_ns));
        }
        judgments
    }

    /// Who used the CPU in the period up to now.
    fn use_around(&mut self, now_ns: i64, limits: &[Limit], of: Measuring, cpu: u32) -> Option<CpuUse> {
        if now_ns >= self.search_at_ns {
            let scan = Scan::read_all(&self.measured, &mut self.buffers);
            self.keep(scan);
            self.search_at_ns = now_ns + self.search_pause_ns;
            self.search_pause_ns = self.search_pause_ns.saturating_mul(2).min(SEARCH_MOST_NS);
        } else if let Some(last) = self.scans.back().filter(|last| last.at_ns < now_ns) {
            let scan = last.again(&self.measured, &mut self.buffers);
            self.keep(scan);
        }
        let after = self.scans.back()?;
        let period_ns = limits.iter().map(|limit| limit.period_ns).max().unwrap_or(0);
        // A little less: looks come a little sooner or later than stops.
        let from_ns = after.at_ns.saturating_sub_unsigned(period_ns - period_ns / 32);
        let before = self.scans.iter().rev().find(|scan| scan.at_ns <= from_ns).or(self.scans.front())?;
        (before.at_ns < after.at_ns)
            .then(|| CpuUse { is_partial: self.may_hide, ..after.use_since(before, cpu, of.tid, of.priority) })
    }

    /// Adds what it means for a run whose number the stops spoil.
    pub(crate) fn judge_run(&self, validity: &mut Validity) {
        for reason in self.tallies.iter().filter_map(|(cpu, tally)| tally.reason(*cpu)) {
            validity.add(reason.code, reason.detail);
        }
        self.judge_evidence(validity);
    }

    /// Adds that no stop can be shown, where the kernel does not count how long threads wait.
    fn judge_evidence(&self, validity: &mut Validity) {
        // Of a thread without a CPU none can be shown anyway, and a stop of the full length is found without the count.
        let is_uncounted = |thread: &Followed| thread.of.priority == 0 || !thread.is_counted;
        if !self.measured.is_empty() && self.threads.iter().all(is_uncounted) {
            let detail = "unreadable here: stops of real-time threads by the kernel (CONFIG_SCHED_INFO)";
            validity.add(ReasonCode::EvidenceMissing, detail);
        }
    }

    /// Adds what it means for numbers from which the stops that were shown are left out, and no others.
    pub(crate) fn judge_kept_apart(&self, validity: &mut Validity) {
        for (cpu, tally) in &self.tallies {
            let shown = tally.shown_in_words().map(|words| (ReasonCode::ThrottleKeptApart, words));
            let likely = tally.likely_in_words().map(|words| (ReasonCode::RtThrottleLikely, words));
            for (code, words) in shown.into_iter().chain(likely) {
                validity.add(code, format!("{}: {words}", whose(*cpu)));
            }
        }
        self.judge_evidence(validity);
    }
}

/// Whose waits a tally is of.
fn whose(cpu: Option<u32>) -> String {
    cpu.map_or_else(|| "threads that are pinned to no CPU".to_owned(), |cpu| format!("CPU {cpu}"))
}

impl Tally {
    fn add(&mut self, judgment: Judgment, length_ns: u64, by: &[&Limit], used: Option<CpuUse>) {
        let limits = if judgment == Judgment::Shown {
            self.shown += 1;
            self.shown_ns += length_ns;
            if let Some(used) = used {
                self.most = self.most.take().or(used.most);
            }
            &mut self.shown_by
        } else {
            self.likely += 1;
            self.likely_ns += length_ns;
            &mut self.likely_by
        };
        for limit in by {
            let words = limit.describe();
            if !limits.contains(&words) {
                limits.push(words);
            }
        }
    }

    fn shown_in_words(&self) -> Option<String> {
        let most = self.most.as_ref().map_or("real-time threads", String::as_str);
        let stops = stops_in_words(self.shown, self.shown_ns);
        (self.shown > 0).then(|| format!("{stops}, by {}; {most} used the CPU up", self.shown_by.join(", or ")))
    }

    fn likely_in_words(&self) -> Option<String> {
        let stops = stops_in_words(self.likely, self.likely_ns);
        (self.likely > 0).then(|| {
            format!("{stops}, likely by {}: that this was why could not be shown", self.likely_by.join(", or "))
        })
    }

    fn reason(&self, cpu: Option<u32>) -> Option<Reason> {
        let of = |code, words: String| Reason { code, detail: format!("{}: {words}", whose(cpu)) };
        let shown = self.shown_in_words().map(|words| of(ReasonCode::RtThrottled, words));
        shown.or_else(|| self.likely_in_words().map(|words| of(ReasonCode::RtThrottleLikely, words)))
    }
}

fn stops_in_words(count: u64, ns: u64) -> String {
    let all = format::span(ns);
    if count == 1 { format!("one stop of {all}") } else { format!("{count} stops, {all} in all") }
}

#[cfg(test)]
impl ThrottleWatch {
    /// One that found so many stops of 50 ms of a CPU.
    pub(crate) fn with_stops(cpu: u32, shown: u64, likely: u64) -> Self {
        let mut watch = Self::begin(&[]);
        let mut tally = Tally::default();
        let limit = Settings { release: Some((6, 1)), ..Settings::default() }.limits(cpu);
        let by: Vec<&Limit> = limit.iter().collect();
        (0..shown).for_each(|_| tally.add(Judgment::Shown, 50_000_000, &by, None));
        (0..likely).for_each(|_| tally.add(Judgment::Likely, 50_000_000, &by, None));
        watch.tallies.insert(Some(cpu), tally);
        watch
    }
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
    fn scans_of_two_periods_are_kept_however_often_one_looks() {
        for step_ms in [20, 90, 250, 500] {
            let mut scans = VecDeque::new();
            for at in 0..400 {
                keep(&mut scans, Scan { at_ns: at * step_ms * 1_000_000, ..Scan::default() });
            }
            let reach_ns = scans.back().unwrap().at_ns - scans.front().unwrap().at_ns;
            assert!(scans.len() <= KEPT_SCANS && reach_ns >= 2_000_000_000, "{step_ms} ms: {reach_ns} ns");
            assert_eq!(scans.back().unwrap().at_ns, 399 * step_ms * 1_000_000);
        }
    }

    #[test]
    fn each_cpu_has_its_reason_and_the_shown_outranks_the_likely() {
        let tally = Tally {
            shown: 2,
            shown_ns: 105 * MS,
            likely: 1,
            likely_ns: 50 * MS,
            shown_by: vec!["the fair server (up to 50 ms in each 1 s)".to_owned()],
            likely_by: vec!["the throttle".to_owned()],
            most: Some("hog (fifo 10, thread 9)".to_owned()),
        };
        let reason = tally.reason(Some(1)).unwrap();
        assert_eq!(reason.code, ReasonCode::RtThrottled);
        assert_eq!(
            reason.detail,
            "CPU 1: 2 stops, 105 ms in all, by the fair server (up to 50 ms in each 1 s); hog (fifo 10, thread 9) used \
             the CPU up"
        );
        let likely = Tally { shown: 0, ..tally }.reason(None).unwrap();
        assert_eq!(likely.code, ReasonCode::RtThrottleLikely);
        let words = "threads that are pinned to no CPU: one stop of 50 ms, likely by the throttle: ";
        assert!(likely.detail.starts_with(words), "{}", likely.detail);
        assert_eq!(Tally::default().reason(Some(1)), None);
    }

    /// What is said of one wait that the kernel counted whole, or not at all, of a FIFO thread on Linux 6.12.
    fn judged(cpu: Option<u32>, length_ms: u64, waited_ms: u64) -> Vec<(ReasonCode, String)> {
        let mut watch = ThrottleWatch::begin(&[]);
        watch.settings = Settings { release: Some((6, 12)), ..Settings::default() };
        watch.threads = vec![Followed { of: Measuring { tid: 1, cpu, priority: 80 }, ..followed() }];
        let wait = Pair { first_ns: 0, second_ns: i64::try_from(length_ms * MS).unwrap() };
        let _ = watch.judge(0, 0, &[wait], Some(waited_ms * MS));
        let mut validity = Validity::default();
        watch.judge_run(&mut validity);
        validity.reasons().iter().map(|reason| (reason.code, reason.detail.clone())).collect()
    }

    #[test]
    fn a_stop_of_a_thread_without_a_cpu_is_likely_at_its_full_length_and_nothing_below() {
        let found = judged(None, 51, 51);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, ReasonCode::RtThrottleLikely);
        let words = "threads that are pinned to no CPU: one stop of 51 ms, likely by the fair server";
        assert!(found[0].1.starts_with(words), "{found:?}");
        assert_eq!(judged(None, 20, 20), []);
        assert_eq!(judged(None, 51, 0), [], "its timer was late, or its CPU stood still");
        // The same on a CPU whose use nobody knows.
        assert_eq!(judged(Some(1), 51, 51)[0].0, ReasonCode::RtThrottleLikely);
    }

    #[test]
    fn waits_of_another_programs_threads_are_judged_by_their_length() {
        let settings = Settings { release: Some((6, 12)), ..Settings::default() };
        let limits = StopLimits(settings.limits_of_any_cpu());
        let words = limits.likely_stops(&[51 * MS, 3 * MS, 48 * MS, 400 * MS]).unwrap();
        assert!(words.starts_with("2 stops, 99 ms in all, likely by the fair server"), "{words}");
        assert_eq!(limits.likely_stops(&[3 * MS]), None);
        assert_eq!(limits.likely_stops(&[]), None);
    }

    #[test]
    fn a_stop_that_is_only_likely_is_not_said_to_be_kept_apart() {
        let judged = |tally: Tally| {
            let mut watch = ThrottleWatch::begin(&[]);
            watch.tallies.insert(Some(1), tally);
            let mut validity = Validity::default();
            watch.judge_kept_apart(&mut validity);
            validity.reasons().iter().map(|reason| reason.code).collect::<Vec<_>>()
        };
        let likely = Tally { likely: 1, likely_ns: 50 * MS, ..Tally::default() };
        assert_eq!(judged(Tally::default()), []);
        assert_eq!(judged(likely.clone()), [ReasonCode::RtThrottleLikely]);
        let both = Tally { shown: 1, shown_ns: 50 * MS, ..likely };
        assert_eq!(judged(both), [ReasonCode::RtThrottleLikely, ReasonCode::ThrottleKeptApart]);
    }
}
