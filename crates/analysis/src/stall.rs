//! Stall-honest counting: what a late wake-up swallowed, how long the row was, when the thread was back in time.

use std::cmp::Reverse;

/// How many rows are kept: the longest.
pub const KEPT_ROWS: usize = 64;

/// What counts as late, and as recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallRules {
    /// Time from one schedule to the next (ns, above 0).
    pub interval_ns: u64,
    /// A latency above this is late (ns).
    pub deadline_ns: u64,
    /// A wake-up with a latency below this ends the recovery (ns).
    pub recovered_within_ns: u64,
}

/// A run of consecutive periods missed or late beyond the deadline, on the measured clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The first late schedule (ns on the measured clock).
    pub first_scheduled_ns: i64,
    /// Late wake-ups and swallowed schedules.
    pub periods: u64,
    /// Of these, swallowed schedules.
    pub missed_periods: u64,
    /// The worst latency in it (ns).
    pub worst_ns: i64,
    /// From the first missed schedule to the first wake-up within `recovered_within_ns`; `None` where nothing was
    /// missed or the run ended before.
    pub recovery_ns: Option<u64>,
}

/// Follows one thread's samples in the order of time.
#[derive(Clone, Debug)]
pub struct StallTracker {
    rules: StallRules,
    /// The lowest of the limits, so that the common sample costs one comparison.
    quiet_below_ns: u64,
    open: Option<Open>,
    totals: StallTotals,
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    row: Row,
    first_missed_ns: Option<i64>,
    row_ended: bool,
}

/// Sums over a whole run, or a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallTotals {
    /// The sum of floor(latency / interval).
    pub missed_periods: u64,
    /// Samples beyond the deadline.
    pub late_samples: u64,
    /// Number of bursts of missed periods.
    pub rows: u64,
    /// The longest row, in periods.
    pub longest_row_periods: u64,
    /// The longest recovery (ns).
    pub longest_recovery_ns: u64,
}

impl StallTotals {
    /// Adds those of another part of the run.
    pub fn add(&mut self, other: &Self) {
        self.missed_periods = self.missed_periods.saturating_add(other.missed_periods);
        self.late_samples = self.late_samples.saturating_add(other.late_samples);
        self.rows = self.rows.saturating_add(other.rows);
        self.longest_row_periods = self.longest_row_periods.max(other.longest_row_periods);
        self.longest_recovery_ns = self.longest_recovery_ns.max(other.longest_recovery_ns);
    }
}

/// Keeps the longest of the rows, longest first.
pub fn keep_longest(rows: &mut Vec<Row>) {
    rows.sort_by_key(|row| Reverse((row.periods, row.worst_ns)));
    rows.truncate(KEPT_ROWS);
}

impl StallTracker {
    /// For a thread that wakes every `rules.interval_ns`.
    #[must_use]
    pub fn new(rules: StallRules) -> Self {
        Self {
            rules,
            quiet_below_ns: rules.deadline_ns.saturating_add(1).min(rules.interval_ns).min(rules.recovered_within_ns),
            open: None,
            totals: StallTotals::default(),
            rows: Vec::with_capacity(2 * KEPT_ROWS),
        }
    }

    /// Below this latency (ns) a sample changes nothing and need not be shown to [`sample`](Self::sample); 0 while a row
    /// is open.
    #[must_use]
    pub fn quiet_below_ns(&self) -> u64 {
        if self.open.is_none() { self.quiet_below_ns } else { 0 }
    }

    /// Takes one sample, returns the schedules that it swallowed: floor(latency / interval).
    pub fn sample(&mut self, scheduled_ns: i64, woke_ns: i64) -> u64 {
        let latency_ns = u64::try_from(woke_ns.saturating_sub(scheduled_ns)).unwrap_or(0);
        if latency_ns < self.quiet_below_ns() {
            return 0;
        }
        let next_ns = scheduled_ns.checked_add_unsigned(self.rules.interval_ns);
        self.sample_of(scheduled_ns, woke_ns, latency_ns / self.rules.interval_ns, next_ns)
    }

    /// The same where schedules are not at equal distances: this one swallowed `missed` of them, of which the first was
    /// at `next_ns`. The interval of the rules is then the shortest distance.
    pub fn sample_of(&mut self, scheduled_ns: i64, woke_ns: i64, missed: u64, next_ns: Option<i64>) -> u64 {
        let latency_ns = u64::try_from(woke_ns.saturating_sub(scheduled_ns)).unwrap_or(0);
        let late = u64::from(latency_ns > self.rules.deadline_ns);
        self.totals.missed_periods = self.totals.missed_periods.saturating_add(missed);
        self.totals.late_samples += late;
        if let Some(open) = &mut self.open {
            if open.row.recovery_ns.is_none() && latency_ns < self.rules.recovered_within_ns {
                let first_missed_ns = open.first_missed_ns;
                open.row.recovery_ns =
                    first_missed_ns.and_then(|first| u64::try_from(woke_ns.saturating_sub(first)).ok());
            }
            open.row_ended |= missed == 0 && late == 0;
            let waits = open.first_missed_ns.is_some() && open.row.recovery_ns.is_none();
            if open.row_ended && (!waits || missed + late > 0) {
                self.close();
            }
        }
        if missed + late > 0 {
            let open = self.open.get_or_insert(Open {
                row: Row {
                    first_scheduled_ns: scheduled_ns,
                    periods: 0,
                    missed_periods: 0,
                    worst_ns: i64::MIN,
                    recovery_ns: None,
                },
                first_missed_ns: None,
                row_ended: false,
            });
            open.row.periods = open.row.periods.saturating_add(missed + late);
            open.row.missed_periods = open.row.missed_periods.saturating_add(missed);
            open.row.worst_ns = open.row.worst_ns.max(woke_ns.saturating_sub(scheduled_ns));
            if missed > 0 && open.first_missed_ns.is_none() {
                open.first_missed_ns = next_ns;
            }
        }
        missed
    }

    fn close(&mut self) {
        let Some(Open { row, .. }) = self.open.take() else { return };
        self.totals.rows += 1;
        self.totals.longest_row_periods = self.totals.longest_row_periods.max(row.periods);
        self.totals.longest_recovery_ns = self.totals.longest_recovery_ns.max(row.recovery_ns.unwrap_or(0));
        self.rows.push(row);
        // Sorted once for every 64 new ones: a machine in trouble has thousands.
        if self.rows.len() == 2 * KEPT_ROWS {
            keep_longest(&mut self.rows);
        }
    }

    /// Takes out what was counted since the last call, and the rows that ended since then, longest first. A row that is still
    /// open is taken once it has ended; what was counted of its samples is taken with these.
    pub fn take(&mut self) -> (StallTotals, Vec<Row>) {
        keep_longest(&mut self.rows);
        (std::mem::take(&mut self.totals), self.rows.drain(..).collect())
    }

    /// Ends the row that is open: no sample comes any more.
    pub fn end(&mut self) {
        self.close();
    }

    /// Ends the run; the kept rows are the longest, longest first.
    #[must_use]
    pub fn finish(mut self) -> (StallTotals, Vec<Row>) {
        self.end();
        self.take()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const US: i64 = 1_000;
    const RULES: StallRules = StallRules { interval_ns: 200_000, deadline_ns: 100_000, recovered_within_ns: 200_000 };

    /// Feeds latencies as a thread that skips swallowed schedules would see them.
    fn run(rules: StallRules, latencies_us: &[i64]) -> (StallTotals, Vec<Row>) {
        let mut tracker = StallTracker::new(rules);
        let mut scheduled = 0;
        for &latency in latencies_us {
            let missed = tracker.sample(scheduled, scheduled + latency * US);
            scheduled += (i64::try_from(missed).unwrap() + 1) * i64::try_from(rules.interval_ns).unwrap();
        }
        tracker.finish()
    }

    #[test]
    fn a_quiet_run_has_no_rows() {
        assert_eq!(run(RULES, &[5, 7, 99, 100]), (StallTotals::default(), vec![]));
    }

    #[test]
    fn twenty_milliseconds_at_200_us_are_100_missed_periods_in_one_row() {
        let (totals, rows) = run(RULES, &[5, 20_000, 40, 5]);
        assert_eq!((totals.missed_periods, totals.late_samples, totals.rows), (100, 1, 1));
        // Scheduled at 200 us, first missed at 400 us, next schedule 20 400 us, woke 40 us later.
        assert_eq!(
            rows,
            [Row {
                first_scheduled_ns: 200 * US,
                periods: 101,
                missed_periods: 100,
                worst_ns: 20_000 * US,
                recovery_ns: Some(20_040_000)
            }]
        );
    }

    #[test]
    fn late_without_missing_is_a_row_without_recovery() {
        let (totals, rows) = run(RULES, &[5, 150, 160, 5, 150, 5]);
        assert_eq!((totals.rows, totals.longest_row_periods, totals.missed_periods), (2, 2, 0));
        assert!(rows.iter().all(|row| row.recovery_ns.is_none()));
    }

    #[test]
    fn recovery_waits_for_the_stated_bound() {
        let strict = StallRules { recovered_within_ns: 10_000, ..RULES };
        let (_, rows) = run(strict, &[450, 50, 50, 5]);
        // Missed 200 and 400; schedules 600, 800, 1000 wake late by 50, 50, 5: recovered at 1005, counted from 200.
        assert_eq!((rows.len(), rows[0].periods, rows[0].recovery_ns), (1, 3, Some(805_000)));
    }

    #[test]
    fn a_run_that_ends_in_a_stall_keeps_the_row() {
        let (totals, rows) = run(RULES, &[5, 1_000]);
        assert_eq!((totals.rows, rows[0].missed_periods, rows[0].recovery_ns), (1, 5, None));
    }

    #[test]
    fn without_lateness_a_swallowed_schedule_still_counts() {
        let lenient = StallRules { deadline_ns: 1_000_000, ..RULES };
        let (totals, rows) = run(lenient, &[450, 5]);
        assert_eq!((totals.late_samples, totals.missed_periods, rows[0].periods), (0, 2, 2));
    }

    #[test]
    fn a_clock_that_goes_mad_overflows_nothing() {
        let finest = StallRules { interval_ns: 1, deadline_ns: 0, recovered_within_ns: 1 };
        let mut tracker = StallTracker::new(finest);
        for (scheduled, woke) in [(0, i64::MAX), (0, i64::MAX), (i64::MIN, i64::MAX), (i64::MAX, i64::MIN)] {
            tracker.sample(scheduled, woke);
        }
        let (totals, rows) = tracker.finish();
        assert_eq!((totals.missed_periods, totals.late_samples, rows.len()), (u64::MAX, 3, 1));
        assert_eq!((rows[0].periods, rows[0].worst_ns), (u64::MAX, i64::MAX));
    }

    proptest! {
        #[test]
        fn every_schedule_is_either_taken_or_missed(latencies in proptest::collection::vec(0_i64..5_000, 1..200)) {
            let mut tracker = StallTracker::new(RULES);
            let (mut scheduled, mut taken) = (0_i64, 0_u64);
            for latency in latencies {
                let missed = tracker.sample(scheduled, scheduled + latency * US);
                taken += 1;
                scheduled += (i64::try_from(missed).unwrap() + 1) * 200 * US;
            }
            let (totals, _) = tracker.finish();
            prop_assert_eq!(u64::try_from(scheduled / (200 * US)).unwrap(), taken + totals.missed_periods);
        }
    }
}
