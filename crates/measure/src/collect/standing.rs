//! The intervals of one thread that stand, and those that something spoiled.
//!
//! An interval that has ended waits here until it is known whether something spoiled it. Only then are its samples added to
//! those of the run, or kept apart from them.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use analysis::{Row, StallTotals, keep_longest};
use record::{Histogram, Interval, Reason, ReasonCode, Sign, Spoiled, SpoiledInterval, Uncertainty};

use super::Keeping;
use super::collected::Collected;
use crate::spoil::Spoil;
use crate::worst::{KeptSample, Worst};

/// Intervals that a run of unknown length keeps in memory where nobody takes them over; beyond, neighbors become one.
pub(crate) const MOST_KEPT: u64 = 4_096;

/// Waits of spoiled intervals that are kept, so that a stop of several intervals has one length.
const SPOILED_WAITS: usize = 16;

/// Two intervals each made one.
pub(crate) fn neighbors_merged(intervals: &[Interval]) -> Vec<Interval> {
    let one = |pair: &[Interval]| match pair {
        [first, second] => first.followed_by(second),
        [alone, ..] => alone.clone(),
        [] => Interval::default(),
    };
    intervals.chunks(2).map(one).collect()
}

/// An interval that has ended, with what was kept of its samples.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended {
    pub(super) interval: Interval,
    /// When it was (ns on the measured clock).
    pub(super) at_ns: Range<i64>,
    /// One sample for each swallowed schedule.
    pub(super) swallowed: Histogram,
    pub(super) corrections_left_out: u64,
    pub(super) stalls: StallTotals,
    pub(super) rows: Vec<Row>,
    pub(super) worst: Vec<KeptSample>,
}

/// What the intervals of a thread add up to.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    keeping: Keeping,
    /// Of which it is not known yet whether they stand, in the order of time.
    waiting: VecDeque<Ended>,
    total: Histogram,
    below_zero: Histogram,
    swallowed: Histogram,
    corrections_left_out: u64,
    stalls: StallTotals,
    rows: Vec<Row>,
    worst: Worst,
    intervals: Vec<Interval>,
    /// Those that were not handed on yet; `None` where nobody takes them.
    fresh: Option<Vec<Interval>>,
    /// Those that were spoiled and not handed on yet; empty where nobody takes intervals.
    fresh_spoiled: Vec<SpoiledInterval>,
    /// The widest error of a sample.
    uncertainty: Option<Uncertainty>,
    spoiled: Spoiled,
    /// All intervals that ended by then are settled (ns on the measured clock).
    settled_ns: Option<i64>,
    /// When what spoiled a time was noticed, and its kind, as far as it is known.
    known: BTreeSet<(i64, ReasonCode)>,
    known_too_late: Vec<Reason>,
    /// The worst wait of each of the last intervals that were spoiled.
    spoiled_waits: VecDeque<KeptSample>,
    /// The beginning of the first interval (ns on the measured clock).
    first_ns: i64,
    /// When each interval was that was spoiled (ns on the measured clock), the last few.
    spoiled_at_ns: Vec<Range<i64>>,
    /// The samples of all intervals that were spoiled.
    apart: Interval,
}

impl Standing {
    pub(super) fn new() -> Self {
        Self {
            keeping: Keeping::All,
            waiting: VecDeque::new(),
            total: Histogram::new(),
            below_zero: Histogram::new(),
            swallowed: Histogram::new(),
            corrections_left_out: 0,
            stalls: StallTotals::default(),
            rows: Vec::new(),
            worst: Worst::new(),
            intervals: Vec::new(),
            fresh: None,
            fresh_spoiled: Vec::new(),
            uncertainty: None,
            spoiled: Spoiled::default(),
            settled_ns: None,
            known: BTreeSet::new(),
            known_too_late: Vec::new(),
            spoiled_waits: VecDeque::new(),
            first_ns: i64::MIN,
            spoiled_at_ns: Vec::new(),
            apart: Interval::default(),
        }
    }

    pub(super) fn keeping(&mut self, keeping: Keeping, are_handed_on: bool) {
        self.keeping = keeping;
        self.fresh = are_handed_on.then(Vec::new);
    }

    /// A sample has to exceed this to be among the worst (ns).
    pub(super) const fn worst_above_ns(&self) -> i64 {
        self.worst.above_ns
    }

    /// The least of the worst `n` that are not known to be spoiled, with `open` those of the interval that has not ended (ns);
    /// `None` where there are fewer.
    pub(super) fn nth_worst_ns(&self, n: usize, open: &Worst) -> Option<i64> {
        let mut all = self.worst.clone();
        self.unsettled_worst().chain(open.iter()).for_each(|sample| all.keep(*sample));
        all.nth_ns(n)
    }

    /// The worst samples of each interval that waits, and the worst of each that was spoiled of late.
    pub(super) fn recent_worst(&self) -> impl Iterator<Item = &KeptSample> {
        self.unsettled_worst().chain(&self.spoiled_waits)
    }

    fn unsettled_worst(&self) -> impl Iterator<Item = &KeptSample> {
        self.waiting.iter().flat_map(|ended| &ended.worst)
    }

    /// Takes an interval that has ended.
    pub(super) fn add(&mut self, ended: Ended) {
        self.waiting.push_back(ended);
    }

    /// The beginning of the first interval that waits (ns on the measured clock); `None` where none does.
    pub(super) fn settled_until_ns(&self) -> Option<i64> {
        self.waiting.front().map(|ended| ended.at_ns.start)
    }

    /// Decides about the intervals that ended by `until_ns`: nothing else than these can have spoiled them. Returns whether
    /// there were any.
    pub(super) fn settle(&mut self, until_ns: i64, spoils: &[Spoil]) -> bool {
        let mut any = false;
        for spoil in spoils {
            let is_new = self.known.insert((spoil.noticed_ns, spoil.reason.code));
            let (first_ns, until_ns) = (self.first_ns, self.settled_ns.unwrap_or(i64::MIN));
            if is_new && spoil.touches(first_ns, until_ns) && !self.is_all_spoiled(spoil) {
                self.known_too_late.push(spoil.reason.clone());
            }
        }
        while self.waiting.front().is_some_and(|ended| ended.at_ns.end <= until_ns) {
            let Some(ended) = self.waiting.pop_front() else { break };
            any = true;
            let Range { start, end } = ended.at_ns;
            self.first_ns = if self.settled_ns.is_none() { start } else { self.first_ns };
            self.settled_ns = Some(end);
            let mut reasons: Vec<Reason> = Vec::new();
            for spoil in spoils.iter().filter(|spoil| spoil.touches(start, end)) {
                if !reasons.contains(&spoil.reason) {
                    reasons.push(spoil.reason.clone());
                }
            }
            if reasons.is_empty() { self.stands(ended) } else { self.is_spoiled(ended, reasons) }
        }
        any
    }

    /// Takes out the rows that something spoiled: they are counted where they end, which may be after the interval in which they
    /// were.
    fn without_spoiled_rows(&self, ended: &mut Ended) {
        let all = ended.rows.len();
        let is_spoiled = |row: &Row| {
            let until_ns = row.first_scheduled_ns.saturating_add(row.worst_ns);
            self.spoiled_at_ns.iter().any(|at| row.first_scheduled_ns < at.end && until_ns >= at.start)
        };
        ended.rows.retain(|row| !is_spoiled(row));
        if ended.rows.len() < all {
            let of = |figure: fn(&Row) -> u64| ended.rows.iter().map(figure).max().unwrap_or(0);
            ended.stalls.rows = ended.stalls.rows.saturating_sub((all - ended.rows.len()) as u64);
            ended.stalls.longest_row_periods = of(|row| row.periods);
            ended.stalls.longest_recovery_ns = of(|row| row.recovery_ns.unwrap_or(0));
        }
    }

    fn stands(&mut self, mut ended: Ended) {
        self.without_spoiled_rows(&mut ended);
        self.total.merge(&ended.interval.histogram);
        if let Some(below_zero) = &ended.interval.below_zero {
            self.below_zero.merge(below_zero);
        }
        self.swallowed.merge(&ended.swallowed);
        self.corrections_left_out = self.corrections_left_out.saturating_add(ended.corrections_left_out);
        self.stalls.add(&ended.stalls);
        self.rows.extend(ended.rows);
        keep_longest(&mut self.rows);
        ended.worst.into_iter().for_each(|sample| self.worst.keep(sample));
        self.uncertainty = match (self.uncertainty, ended.interval.uncertainty) {
            (Some(all), Some(one)) => Some(all.widest(one)),
            (all, one) => all.or(one),
        };
        match &mut self.fresh {
            Some(fresh) if self.keeping == Keeping::None => {
                fresh.push(ended.interval);
                return;
            }
            Some(fresh) => fresh.push(ended.interval.clone()),
            None => {}
        }
        self.intervals.push(ended.interval);
        if matches!(self.keeping, Keeping::Merged(most) if self.intervals.len() as u64 >= most) {
            self.merge_neighbors();
        }
    }

    fn is_spoiled(&mut self, ended: Ended, reasons: Vec<Reason>) {
        let Ended { interval, at_ns, worst, .. } = ended;
        let worst = worst.into_iter().next();
        if let Some(worst) = worst {
            if self.spoiled_waits.len() == SPOILED_WAITS {
                self.spoiled_waits.pop_front();
            }
            self.spoiled_waits.push_back(worst);
        }
        let spoiled = SpoiledInterval {
            start_offset_ns: interval.start_offset_ns,
            length_ns: interval.length_ns,
            samples: interval.taken(),
            missed_periods: interval.missed_periods,
            worst_ns: interval.worst_ns(Sign::NotNegative),
            worst_at: interval.max_at,
            reasons,
        };
        if self.fresh.is_some() {
            self.fresh_spoiled.push(spoiled.clone());
        }
        self.spoiled.add(spoiled);
        if self.spoiled_at_ns.len() == Spoiled::MOST {
            self.spoiled_at_ns.remove(0);
        }
        self.spoiled_at_ns.push(at_ns);
        self.apart.histogram.merge(&interval.histogram);
        if let Some(below_zero) = &interval.below_zero {
            self.apart.below_zero.get_or_insert_default().merge(below_zero);
        }
    }

    /// Makes two intervals one, now; the caller makes those that come as long.
    fn merge_neighbors(&mut self) {
        self.intervals = neighbors_merged(&self.intervals);
    }

    /// The intervals that stand, as far as they are kept.
    pub(super) fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Those of them that were not handed on yet.
    pub(super) fn hand_on(&mut self) -> Vec<Interval> {
        self.fresh.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Those that were spoiled and not handed on yet.
    pub(super) fn hand_on_spoiled(&mut self) -> Vec<SpoiledInterval> {
        std::mem::take(&mut self.fresh_spoiled)
    }

    /// The intervals of which it is not known yet whether they stand.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = &Interval> {
        self.waiting.iter().map(|ended| &ended.interval)
    }

    /// Whether all intervals that are settled and that a spoil touches were spoiled.
    fn is_all_spoiled(&self, spoil: &Spoil) -> bool {
        let until_ns = self.settled_ns.unwrap_or(i64::MIN).saturating_sub(1).min(spoil.to_ns);
        let mut from_ns = spoil.from_ns.max(self.first_ns);
        while from_ns <= until_ns {
            let Some(at) = self.spoiled_at_ns.iter().find(|at| at.contains(&from_ns)) else { return false };
            from_ns = at.end;
        }
        true
    }

    /// Whether a moment (ns on the measured clock) lies in an interval that was spoiled.
    pub(super) fn is_spoiled_at(&self, at_ns: i64) -> bool {
        self.spoiled_at_ns.iter().any(|at| at.contains(&at_ns))
    }

    /// All intervals that are not known to be spoiled, those that wait too.
    pub(super) fn histograms(&self) -> impl Iterator<Item = &Histogram> {
        std::iter::once(&self.total).chain(self.waiting.iter().map(|ended| &ended.interval.histogram))
    }

    /// All samples of intervals that have ended, the spoiled ones too, and how many were below zero.
    pub(super) fn everything(&self) -> (Histogram, u64) {
        let mut all = self.apart.histogram.clone();
        self.histograms().for_each(|one| all.merge(one));
        let waiting = self.waiting.iter().filter_map(|ended| ended.interval.below_zero.as_ref());
        let below = waiting.chain(self.apart.below_zero.as_ref()).chain([&self.below_zero]);
        (all, units::total(below.map(Histogram::count)))
    }

    /// What stands so far, without the intervals themselves.
    pub(super) fn collected(&self) -> Collected {
        let worst = self.worst.sorted();
        Collected {
            total: self.total.clone(),
            below_zero: self.below_zero.clone(),
            swallowed: self.swallowed.clone(),
            corrections_left_out: self.corrections_left_out,
            stalls: self.stalls,
            rows: self.rows.clone(),
            uncertainty: self.uncertainty,
            max_at: worst.first().map(|worst| worst.to),
            worst,
            samples: self.total.count().saturating_add(self.below_zero.count()),
            spoiled: self.spoiled.clone(),
            known_too_late: self.known_too_late.clone(),
            ..Collected::default()
        }
    }

    /// The intervals that stand and are kept; where none is kept, those that were not handed on.
    pub(super) fn into_intervals(self) -> Vec<Interval> {
        if self.keeping == Keeping::None { self.fresh.unwrap_or_default() } else { self.intervals }
    }
}
