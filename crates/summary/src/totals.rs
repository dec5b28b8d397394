//! The sums over several runs. Sentences, tiles and tables take their numbers from here, so that no two of them differ.

use analysis::verdict;
use record::{Place, Record, Series};
use units::format;

use crate::measured::Measured;

/// The sums over some runs that are not invalid.
#[derive(Clone, Debug)]
pub struct Totals<'a> {
    /// What the samples are called: `wake-ups`.
    pub what: &'static str,
    /// Number of samples to which a deadline applies.
    pub samples: u64,
    /// Samples above the deadline of their run; `None` if no run has one.
    pub beyond: Option<u64>,
    /// How much of the runs stands, together (ns).
    pub observed_ns: u64,
    /// Schedules that late wake-ups skipped; `None` if no source counted them.
    pub missed_periods: Option<u64>,
    /// Number of runs that the sums cover.
    pub runs: u64,
    /// Number of runs that are invalid and left out.
    pub invalid_runs: u64,
    /// The run with the worst sample (ns), and the place of that sample; `None` without samples.
    pub worst: Option<(&'a Record, i64, &'a Place)>,
}

impl<'a> Totals<'a> {
    /// The sums over the given runs with the deadline of each (ns). Invalid runs are counted and otherwise left out.
    #[must_use]
    pub fn over(runs: impl IntoIterator<Item = (&'a Record, Option<u64>)>) -> Self {
        let (invalid, valid): (Vec<_>, Vec<_>) = runs.into_iter().partition(|(run, _)| run.validity.is_invalid());
        let records = || valid.iter().map(|(run, _)| *run);
        let mut names: Vec<&'static str> = records().map(|run| run.measurement.kind().samples).collect();
        names.dedup();
        let beyond = |(run, deadline_ns): &(&Record, Option<u64>)| {
            Some(verdict(run, (*deadline_ns)?).deciding.map_or(0, |deciding| deciding.beyond))
        };
        let counted: Vec<&'a Record> = records().filter(|run| !run.manifest().is_imported()).collect();
        let judged = |run: &'a Record| run.series.iter().filter(|series| series.judged);
        let missed = |run: &&'a Record| units::total(judged(run).map(|series| series.counters.missed_periods));
        let worst = records().filter_map(|run| run.worst_of_all().map(|(worst_ns, place)| (run, worst_ns, place)));
        Self {
            what: if let [what] = names[..] { what } else { "samples" },
            samples: units::total(records().map(judged_samples)),
            beyond: valid.iter().filter_map(beyond).reduce(u64::saturating_add),
            observed_ns: units::total(records().map(Record::standing_ns)),
            missed_periods: (!counted.is_empty()).then(|| units::total(counted.iter().map(missed))),
            runs: valid.len() as u64,
            invalid_runs: invalid.len() as u64,
            worst: worst.max_by_key(|(_, worst_ns, _)| worst_ns.unsigned_abs()),
        }
    }
}

/// The number of samples of a run to which a deadline applies.
#[must_use]
pub fn judged_samples(run: &Record) -> u64 {
    units::total(run.series.iter().filter(|series| series.judged).map(Series::taken))
}

/// The sums over all runs of wake-ups; `None` if no such run is valid.
#[must_use]
pub fn of_wakeups<'a>(measured: &Measured<'a>) -> Option<Totals<'a>> {
    let runs = measured.wakeups().map(|run| (run, measured.deadline_ns(run)));
    Some(Totals::over(runs)).filter(|totals| totals.runs > 0)
}

impl Totals<'_> {
    /// The sums in one line: "4 800 530 wake-ups in 20 min, 7 beyond the deadline, 34 periods missed."
    #[must_use]
    pub fn words(&self) -> String {
        let mut text = format!("{} {}", format::count(self.samples), self.what);
        if self.observed_ns > 0 {
            text.push_str(&format!(" in {}", format::span(self.observed_ns)));
        }
        if let Some(beyond) = self.beyond {
            text.push_str(&format!(", {} beyond the deadline", format::count(beyond)));
        }
        match self.missed_periods {
            Some(missed) => text.push_str(&format!(", {} periods missed", format::count(missed))),
            None => text.push_str(", missed periods not counted by the source"),
        }
        match self.invalid_runs {
            0 => {}
            1 => text.push_str(", without 1 invalid run"),
            more => text.push_str(&format!(", without {more} invalid runs")),
        }
        text.push('.');
        text
    }
}
