//! The sums over the runs of a page. Sentences, tiles and tables take their numbers from here, so that no two of them differ.

use analyse::verdict;
use record::{Figure, Place, Record, Series};

use crate::Page;
use crate::view::TotalsView;

/// The sums over some runs that are not invalid.
#[derive(Clone, Debug)]
pub(crate) struct Totals<'a> {
    /// What the samples are called: `wake-ups`.
    pub(crate) what: &'static str,
    /// Number of samples to which a deadline applies.
    pub(crate) samples: u64,
    /// Samples above the deadline of their run; `None` if no run has one.
    pub(crate) beyond: Option<u64>,
    /// How much of the runs stands, together (ns).
    pub(crate) observed_ns: u64,
    /// Schedules that late wake-ups skipped; `None` if no source counted them.
    pub(crate) missed_periods: Option<u64>,
    /// Number of runs that the sums cover.
    pub(crate) runs: u64,
    /// Number of runs that are invalid and left out.
    pub(crate) invalid_runs: u64,
    /// The run with the worst sample (ns), and the place of that sample; `None` without samples.
    pub(crate) worst: Option<(&'a Record, i64, &'a Place)>,
}

impl<'a> Totals<'a> {
    /// The sums over the given runs with the deadline of each (ns). Invalid runs are counted and otherwise left out.
    pub(crate) fn over(runs: impl IntoIterator<Item = (&'a Record, Option<u64>)>) -> Self {
        let (invalid, valid): (Vec<_>, Vec<_>) = runs.into_iter().partition(|(run, _)| run.validity.is_invalid());
        let records = || valid.iter().map(|(run, _)| *run);
        let mut names: Vec<&'static str> = records().map(|run| run.measurement.kind().samples).collect();
        names.dedup();
        let beyond = |(run, deadline_ns): &(&Record, Option<u64>)| {
            Some(verdict(run, (*deadline_ns)?).deciding.map_or(0, |deciding| deciding.beyond))
        };
        let counted: Vec<&Record> = records().filter(|run| !run.manifest().is_imported()).collect();
        let missed = |run: &&Record| units::total(run.series.iter().map(|series| series.counters.missed_periods));
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
pub(crate) fn judged_samples(run: &Record) -> u64 {
    units::total(run.series.iter().filter(|series| series.judged).map(Series::taken))
}

/// The deadline of a run on this page (ns): that of the assessment, or its own.
pub(crate) fn deadline_ns(page: &Page, run: &Record) -> Option<u64> {
    page.assessment()
        .map(|assessment| assessment.deadline_ns)
        .or_else(|| run.verdict.as_ref().map(|verdict| verdict.deadline_ns))
        .or(run.manifest().requested.deadline_ns)
}

/// The sums over all runs of wake-ups of a page; `None` if no such run is valid.
pub(crate) fn of_page(page: &Page) -> Option<Totals<'_>> {
    let wakeups = page.runs().iter().filter(|run| run.measurement.kind().figure == Figure::Wakeups);
    Some(Totals::over(wakeups.map(|run| (run, deadline_ns(page, run))))).filter(|totals| totals.runs > 0)
}

pub(crate) fn view(page: &Page) -> Option<TotalsView> {
    of_page(page).map(|totals| TotalsView {
        what: totals.what.to_owned(),
        samples: totals.samples.into(),
        beyond: totals.beyond.map(Into::into),
        observed_ns: totals.observed_ns.into(),
        missed_periods: totals.missed_periods.map(Into::into),
        runs: totals.runs.into(),
        invalid_runs: totals.invalid_runs.into(),
    })
}
