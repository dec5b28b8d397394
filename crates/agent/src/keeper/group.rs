//! Intervals of several CPUs that are of the same time, and the histograms of an hour.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use farm::monitor::{
    BootId, CpuHistogram, CpuInterval, Figures, Histograms, Interval as MonitorInterval, LeftTimes, SourceInterval,
    WallTime,
};
use farm::stream::ContentHash;
use histogram::Histogram;
use record::{Interval, Moment, ReasonCode, Sign, SpoiledInterval};

use super::{Explained, RunFacts, code_text};
use crate::clocks::Clocks;
use crate::sources::Sources;

/// How long the interval of one CPU waits for those of the others.
const TOGETHER_WITHIN: Duration = Duration::from_secs(4);
/// An hour (ns).
const HOUR_NS: i64 = 3_600_000_000_000;

/// An interval with all its CPUs.
#[derive(Clone, Debug)]
pub(super) struct Group {
    times: LeftTimes,
    cpus: BTreeMap<u32, CpuInterval>,
    /// What stands, by CPU.
    histograms: BTreeMap<u32, Histogram>,
    /// When the worst that stands was, by CPU (ns, CLOCK_MONOTONIC).
    worst_at_ns: BTreeMap<u32, i64>,
    /// When it begins and ends (ns, CLOCK_MONOTONIC).
    begins_ns: i64,
    ends_ns: i64,
    since: Instant,
}

/// Intervals of which not all CPUs have come.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// CPUs that are monitored.
    expected: Vec<u32>,
    /// By their offset from the run's first schedule.
    waiting: BTreeMap<u64, Group>,
    /// Offsets of those that were taken: a record names spoiled ones again at its end.
    taken_until: Option<u64>,
    /// Wake-ups whose causes were sought, of intervals that were not taken yet: their CPUs may end an interval one after the other.
    explained: Vec<Explained>,
}

impl Groups {
    /// A run begins.
    pub(super) fn begins(&mut self, cpus: &[u32]) {
        *self = Self { expected: cpus.to_vec(), ..Self::default() };
    }

    /// Those that wait, apart.
    pub(super) fn waiting(&self) -> Self {
        self.clone()
    }

    /// The CPU of each series.
    pub(super) fn cpus(&self) -> Vec<Option<u32>> {
        self.expected.iter().copied().map(Some).collect()
    }

    fn cpu(
        &mut self,
        (offset_ns, length_ns): (u64, u64),
        cpu: u32,
        run: &RunFacts,
        clocks: &Clocks,
    ) -> Option<(&mut Group, i64)> {
        if self.taken_until.is_some_and(|taken| offset_ns <= taken) {
            return None;
        }
        let group =
            self.waiting.entry(offset_ns).or_insert_with(|| Group::new(offset_ns, length_ns, run.started, clocks));
        group.cpus.entry(cpu).or_insert_with(|| CpuInterval { cpu, ..CpuInterval::default() });
        let start_ns = group.times.start_ns;
        Some((group, start_ns))
    }

    /// Takes intervals that stand, unless the whole run is spoiled.
    pub(super) fn ended(
        &mut self,
        intervals: Vec<(usize, Interval)>,
        run: &RunFacts,
        (clocks, limit_ns): (&Clocks, Option<u64>),
    ) {
        self.explained.extend_from_slice(&run.explained);
        for (number, interval) in intervals {
            let Some(cpu) = run.cpus.get(number).copied().flatten() else { continue };
            let times = (interval.start_offset_ns, interval.length_ns);
            let Some((group, start_ns)) = self.cpu(times, cpu, run, clocks) else { continue };
            let Some(one) = group.cpus.get_mut(&cpu) else { continue };
            // In the middle of a stall of several intervals nothing woke up: that is no maximum of 0.
            let Some(maximum_ns) = interval.worst_ns(Sign::NotNegative) else {
                one.reasons = vec![code_text(ReasonCode::NoSamples)];
                continue;
            };
            let figures = Figures {
                maximum_ns,
                maximum_at_ns: after_ns(start_ns, interval.max_at, clocks),
                samples: interval.taken(),
                missed_periods: interval.missed_periods,
                beyond_limit: limit_ns.map_or(0, |limit_ns| interval.histogram.count_above(limit_ns)),
                cause: None,
            };
            if run.spoils.is_empty() {
                one.valid = Some(figures);
                group.histograms.insert(cpu, interval.histogram);
                group.worst_at_ns.extend(interval.max_at.map(|at| (cpu, at.monotonic.as_ns())));
            } else {
                one.spoiled = Some(figures);
                one.reasons.clone_from(&run.spoils);
            }
        }
    }

    /// Takes intervals that something spoiled.
    pub(super) fn spoiled(&mut self, intervals: Vec<(usize, SpoiledInterval)>, run: &RunFacts, clocks: &Clocks) {
        self.explained.extend_from_slice(&run.explained);
        for (number, interval) in intervals {
            let Some(cpu) = run.cpus.get(number).copied().flatten() else { continue };
            let times = (interval.start_offset_ns, interval.length_ns);
            let Some((group, start_ns)) = self.cpu(times, cpu, run, clocks) else { continue };
            let Some(one) = group.cpus.get_mut(&cpu) else { continue };
            one.spoiled = interval.worst_ns.map(|maximum_ns| Figures {
                maximum_ns,
                maximum_at_ns: after_ns(start_ns, interval.worst_at, clocks),
                samples: interval.samples,
                missed_periods: interval.missed_periods,
                ..Figures::default()
            });
            let mut reasons: Vec<String> = interval.reasons.iter().map(|reason| code_text(reason.code)).collect();
            reasons.sort();
            reasons.dedup();
            one.reasons = reasons;
        }
    }

    /// The earliest of which all CPUs have come, that waited long enough, or that a later one shows to be over; any with
    /// `all_of_them`.
    pub(super) fn next(&mut self, all_of_them: bool) -> Option<Group> {
        let (offset_ns, group) = self.waiting.first_key_value()?;
        let offset_ns = *offset_ns;
        let is_whole = self.expected.iter().all(|cpu| group.cpus.contains_key(cpu));
        if !(all_of_them || is_whole || group.since.elapsed() >= TOGETHER_WITHIN) {
            return None;
        }
        self.taken_until = Some(offset_ns);
        let mut group = self.waiting.remove(&offset_ns)?;
        group.take_causes(&self.explained);
        self.explained.retain(|sample| sample.woke_ns >= group.ends_ns);
        Some(group)
    }
}

/// When a maximum was, after its interval began (ns).
fn after_ns(start_ns: i64, at: Option<Moment>, clocks: &Clocks) -> u64 {
    at.map_or(0, |at| u64::try_from(clocks.boottime_ns(at.monotonic.as_ns()) - start_ns).unwrap_or(0))
}

impl Group {
    fn new(offset_ns: u64, length_ns: u64, started: Moment, clocks: &Clocks) -> Self {
        let from_ns = started.monotonic.as_ns().saturating_add_unsigned(offset_ns);
        let (start_ns, end_ns) =
            (clocks.boottime_ns(from_ns), clocks.boottime_ns(from_ns.saturating_add_unsigned(length_ns)));
        let times = LeftTimes {
            boot: clocks.boot().clone(),
            start_ns,
            length_ns: u64::try_from(end_ns - start_ns).unwrap_or(length_ns),
            wall: clocks.wall(from_ns),
        };
        Self {
            times,
            cpus: BTreeMap::new(),
            histograms: BTreeMap::new(),
            worst_at_ns: BTreeMap::new(),
            begins_ns: from_ns,
            ends_ns: from_ns.saturating_add_unsigned(length_ns),
            since: Instant::now(),
        }
    }

    /// Gives the worst of each CPU the cause that was found of it, and of no other wake-up.
    fn take_causes(&mut self, explained: &[Explained]) {
        for (cpu, one) in &mut self.cpus {
            let Some((figures, at_ns)) = one.valid.as_mut().zip(self.worst_at_ns.get(cpu)) else { continue };
            let is_it = |sample: &&Explained| {
                (sample.cpu, sample.latency_ns, sample.woke_ns) == (*cpu, figures.maximum_ns, *at_ns)
            };
            figures.cause = explained.iter().find(is_it).map(|sample| sample.cause.clone());
        }
    }

    /// The worst of each source of time in it.
    pub(super) fn sources(&self, sources: &Sources) -> Vec<SourceInterval> {
        sources.worst(self.begins_ns, self.ends_ns)
    }

    /// As far as it has come at a time (ns, CLOCK_BOOTTIME), where it has not ended by then.
    pub(super) fn until(mut self, now_ns: i64) -> Self {
        let until_now_ns = u64::try_from(now_ns - self.times.start_ns).unwrap_or(0);
        self.times.length_ns = self.times.length_ns.min(until_now_ns);
        self
    }

    /// As it stands in an entry.
    pub(super) fn interval(self, condition: ContentHash) -> MonitorInterval {
        MonitorInterval {
            times: self.times,
            condition,
            made_of: 1,
            cut_short: None,
            cpus: self.cpus.into_values().collect(),
            sources: Vec::new(),
        }
    }
}

/// The histograms of an hour, as far as it has come.
#[derive(Clone, Debug)]
pub(super) struct Hour {
    boot: BootId,
    start_ns: i64,
    end_ns: i64,
    wall: Option<WallTime>,
    /// Hours since 1970 on the wall clock; since the boot where nobody looked at that.
    number: i64,
    cpus: BTreeMap<u32, Histogram>,
}

impl Hour {
    /// Of one interval.
    pub(super) fn of(group: &Group) -> Self {
        let LeftTimes { boot, start_ns, wall, .. } = group.times.clone();
        let number = wall.as_ref().map_or(start_ns, |wall| wall.ns).div_euclid(HOUR_NS);
        Self { boot, start_ns, end_ns: group.times.end_ns(), wall, number, cpus: group.histograms.clone() }
    }

    /// Whether a later interval is of the same hour, by both clocks: one that stands still or is set ends it.
    pub(super) fn goes_on_in(&self, later: &Self) -> bool {
        self.number == later.number && later.end_ns - self.start_ns <= HOUR_NS
    }

    pub(super) fn add(&mut self, later: Self) {
        self.end_ns = later.end_ns;
        for (cpu, histogram) in later.cpus {
            self.cpus.entry(cpu).or_default().merge(&histogram);
        }
    }

    /// As they stand in an entry; `None` where nothing stands.
    pub(super) fn histograms(self, condition: ContentHash) -> Option<Histograms> {
        let cpus: Vec<CpuHistogram> = self
            .cpus
            .into_iter()
            .filter(|(_, histogram)| !histogram.is_empty())
            .map(|(cpu, histogram)| CpuHistogram { cpu, histogram })
            .collect();
        let length_ns = u64::try_from(self.end_ns - self.start_ns).unwrap_or(0);
        let times = LeftTimes { boot: self.boot, start_ns: self.start_ns, length_ns, wall: self.wall };
        (!cpus.is_empty()).then_some(Histograms { times, condition, cpus })
    }
}

#[cfg(test)]
mod tests {
    use record::Histogram;

    use super::*;
    use crate::clocks::Look;

    #[test]
    fn an_interval_in_which_nothing_woke_up_has_no_maximum() {
        let clocks = Clocks::new(BootId("boot".to_owned()), 1, Look::now());
        let run = RunFacts { cpus: vec![Some(3)], ..RunFacts::default() };
        let mut groups = Groups::default();
        groups.begins(&[3]);
        let of = |number: u64, samples: u64| {
            let mut histogram = Histogram::new();
            histogram.record_n(7_000, samples);
            let (start_offset_ns, length_ns) = (number * 5_000, 5_000);
            (0, Interval { start_offset_ns, length_ns, histogram, ..Interval::default() })
        };
        // A stall from the first into the third.
        groups.ended(vec![of(0, 4), of(1, 0), of(2, 9)], &run, (&clocks, None));
        let mut next = || {
            let interval = groups.next(false).unwrap().interval(ContentHash::of("{}"));
            interval.cpus.into_iter().next().unwrap()
        };
        assert_eq!(next().valid.map(|figures| (figures.maximum_ns, figures.samples)), Some((7_000, 4)));
        let empty = next();
        assert_eq!((empty.valid, empty.spoiled, empty.reasons), (None, None, vec!["no-samples".to_owned()]));
        assert_eq!(next().valid.map(|figures| figures.samples), Some(9));
    }
    #[test]
    fn the_worst_of_each_cpu_has_its_own_cause_whenever_that_comes_and_no_other_has_it() {
        let clocks = Clocks::new(BootId("boot".to_owned()), 1, Look::now());
        let at = |ns: i64| Moment { monotonic: units::Timestamp::from_ns(ns), ..Moment::default() };
        let explained = |cpu, latency_ns, woke_ns, name: &str| Explained {
            cpu,
            latency_ns,
            woke_ns,
            cause: farm::monitor::Cause { name: name.to_owned(), ..farm::monitor::Cause::default() },
        };
        let of = |series: usize, number: u64, worst_ns: u64, at_ns: i64| {
            let mut histogram = Histogram::new();
            histogram.record_n(worst_ns, 1);
            let (start_offset_ns, length_ns) = (number * 5_000, 5_000);
            let max_at = Some(at(at_ns));
            (series, Interval { start_offset_ns, length_ns, histogram, max_at, ..Interval::default() })
        };
        let mut groups = Groups::default();
        groups.begins(&[0, 1]);
        let facts = |explained| RunFacts { cpus: vec![Some(0), Some(1)], explained, ..RunFacts::default() };
        // CPU 0 ends first; what was found of its worst comes with CPU 1's interval, and something of the next interval too.
        let first = facts(vec![explained(0, 600, 900, "earlier and less late")]);
        groups.ended(vec![of(0, 0, 700, 1_000)], &first, (&clocks, None));
        let second = facts(vec![
            explained(0, 700, 1_000, "of CPU 0"),
            explained(1, 700, 1_000, "of another CPU at the same moment"),
            explained(1, 800, 7_000, "of the next interval"),
        ]);
        groups.ended(vec![of(1, 0, 800, 2_000)], &second, (&clocks, None));
        let causes = |groups: &mut Groups| -> Vec<Option<String>> {
            let interval = groups.next(false).unwrap().interval(ContentHash::of("{}"));
            interval.cpus.into_iter().map(|cpu| cpu.valid.unwrap().cause.map(|cause| cause.name)).collect()
        };
        assert_eq!(causes(&mut groups), [Some("of CPU 0".to_owned()), None]);
        assert_eq!(groups.explained.len(), 1, "what can be of no interval any more is forgotten");
        groups.ended(vec![of(0, 1, 5, 6_000), of(1, 1, 800, 7_000)], &facts(Vec::new()), (&clocks, None));
        assert_eq!(causes(&mut groups), [None, Some("of the next interval".to_owned())]);
        assert_eq!(groups.explained, []);
    }
}
