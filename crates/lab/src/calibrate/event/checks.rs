//! Checks beside the rows: counters, order of the readings, the waking call's own latency, and that nothing else is late.

use super::{About, INTERVAL_NS, median_ns, overlaps};
use crate::calibrate::check::{QUIET_ABOVE_BASELINE_NS, format_ns};
use crate::calibrate::{Check, Row};

impl About<'_> {
    /// All checks of one run; `rows` are its own.
    pub(super) fn checks(&self, rows: &[Row], checks: &mut Vec<Check>) {
        let mut check = |name: &str, (holds, found): (bool, String)| {
            checks.push(Check { boot: self.name.clone(), name: name.to_owned(), holds, found });
        };
        check("every schedule is counted once", self.counts());
        check("missed periods are those that the delays swallowed", self.missed(rows));
        check("the readings lie around the delay", self.order());
        check("nothing else is late, also where the waker was", self.others());
        check("the waking call contains the delays", self.waking_calls(rows));
    }

    fn counts(&self) -> (bool, String) {
        let record = &self.run.run.record;
        let (Some(woke), Some(returned)) = (self.woke(), self.returned()) else {
            return (false, format!("{} series", record.series.len()));
        };
        let Some(totals) = woke.hand_overs() else { return (false, "no totals".to_owned()) };
        let counters = &woke.counters;
        // Schedules at the start and at the end are both included.
        let planned = record.manifest().requested.duration_ns.map(|ns| ns / INTERVAL_NS.unsigned_abs() + 1);
        let whole = Some(totals.schedules) == planned
            && totals.schedules == counters.samples + counters.missed_periods + totals.found_nobody
            && totals.found_nobody == 0
            && totals.spurious == 0
            && counters.dropped + woke.spoiled.samples == 0
            && [&woke.histogram, &returned.histogram].iter().all(|histogram| histogram.count() == counters.samples)
            && !record.validity.is_invalid();
        let found = format!(
            "{} schedules: {} samples, {} missed, {} found nobody",
            totals.schedules, counters.samples, counters.missed_periods, totals.found_nobody
        );
        (whole, found)
    }

    /// Missed periods of the whole run: those of the rows, and those that a late waker slept through.
    fn missed(&self, rows: &[Row]) -> (bool, String) {
        let of_rows = rows.iter().map(|row| row.truth_ns / INTERVAL_NS);
        let before = self.run.before.iter().map(|delay| (delay.true_end_ns - delay.true_start_ns) / INTERVAL_NS);
        let expected: i64 = of_rows.chain(before).sum();
        let found = self.woke().map_or(0, |series| series.counters.missed_periods);
        (i64::try_from(found) == Ok(expected), format!("{found} of {expected}"))
    }

    /// The instrument's first reading comes before the waking call and its second one after it, so both lie outside of each
    /// delay: an error that all hand-overs have is in the baseline too, and only this shows it.
    fn order(&self) -> (bool, String) {
        let mut least_ns: Option<[i64; 2]> = None;
        for delay in &self.run.run.truth {
            let Some(sample) = self.sample_around(delay) else { continue };
            let before_ns = delay.true_start_ns - sample.from.at.monotonic.as_ns();
            let after_ns = sample.to.at.monotonic.as_ns() - delay.true_end_ns;
            let [least_before_ns, least_after_ns] = least_ns.unwrap_or([i64::MAX; 2]);
            least_ns = Some([before_ns.min(least_before_ns), after_ns.min(least_after_ns)]);
        }
        let [before_ns, after_ns] = least_ns.map_or([None; 2], |least_ns| least_ns.map(Some));
        let holds = least_ns.is_some_and(|least_ns| least_ns.iter().all(|ns| *ns > 0));
        (holds, format!("at least {} before, {} after", format_ns(before_ns), format_ns(after_ns)))
    }

    fn others(&self) -> (bool, String) {
        let truth = &self.run.run.truth;
        let others = self.run.run.record.worst.iter().filter(|sample| !truth.iter().any(|of| overlaps(sample, of)));
        let longest_ns = others.map(|sample| sample.latency_ns).max();
        let limit_ns = self.woke().map_or(0, median_ns) + QUIET_ABOVE_BASELINE_NS;
        (longest_ns.is_some_and(|ns| ns <= limit_ns), format!("longest {}", format_ns(longest_ns)))
    }

    /// The record keeps no single samples of this latency, so its longest ones are compared with the delays in the order of
    /// their lengths; a bin of the histogram is as exact as it is narrow.
    fn waking_calls(&self, rows: &[Row]) -> (bool, String) {
        let Some(returned) = self.returned() else { return (false, "no series".to_owned()) };
        let baseline_ns = median_ns(returned);
        let mut expected: Vec<&Row> = rows.iter().collect();
        expected.sort_by_key(|row| std::cmp::Reverse(row.truth_ns));
        let mut longest = returned.histogram.bins_from_highest().flat_map(|bin| {
            let ends = [bin.from_ns, bin.to_ns].map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
            std::iter::repeat_n(ends, usize::try_from(bin.count).unwrap_or(usize::MAX))
        });
        let mut faults = Vec::new();
        for row in &expected {
            let Some([from_ns, to_ns]) = longest.next() else { break };
            let expected_ns = row.truth_ns + baseline_ns;
            if to_ns < expected_ns + row.bound.least_ns || from_ns > expected_ns + row.bound.exception_ns {
                faults.push(format!("{from_ns} to {to_ns} ns for {expected_ns}"));
            }
        }
        let next_ns = longest.next().map(|[from_ns, _]| from_ns);
        if next_ns.is_none_or(|ns| ns > baseline_ns + QUIET_ABOVE_BASELINE_NS) {
            faults.push(format!("the longest other one is {}", format_ns(next_ns)));
        }
        let found = format!("{} of {}", expected.len().saturating_sub(faults.len()), expected.len());
        let found = if faults.is_empty() { found } else { format!("{found}: {}", faults.join("; ")) };
        (faults.is_empty() && !expected.is_empty(), found)
    }
}
