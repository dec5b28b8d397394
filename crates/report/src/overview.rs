//! The overview of a page of many runs: groups with a color and a mark each, and one line for each run, worst first.
//!
//! The worst case decides: groups and runs stand in its order, and nothing here is a mean. An invalid run is listed with its
//! reason and without its numbers.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use record::{HardBound, Histogram, Record, Verdict, VerdictState};
use units::format;

use crate::conditions::{kernel_release, machine};
use crate::exact::Instant;
use crate::page::Page;
use crate::page::Results;
use crate::view::{
    BasisView, GroupView, HeadlineState, HistogramView, OverviewView, RunRowView, StateView, TallyView, WorstOfView,
};
use crate::{calendar, run};
use summary::are_many;

/// Up to so many runs are drawn one by one in the overview; of more, the groups are.
const MOST_DRAWN_SINGLY: usize = 12;
/// So many groups have a color and a mark of their own.
const DISTINGUISHED: usize = 8;
/// The quantile that a conclusion is based on besides the worst sample, if there are enough samples.
const QUANTILE: f64 = 0.9999;

/// The overview of a page; `None` if it has few runs, or a conclusion about them.
pub(crate) fn view(page: &Page) -> Option<OverviewView> {
    let results = page.results().filter(|results| page.assessment().is_none() && are_many(&results.runs))?;
    let runs = &results.runs;
    let (groups, grouped_by) = grouped(results);
    let worst_first = |at: &usize| {
        let run = &runs[*at];
        (run.validity.is_invalid(), Reverse(rank(run)), *at)
    };
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(worst_first);
    let keys = keys(runs);
    let views = group_views(runs, &groups, &keys);
    let group_of: BTreeMap<&str, u32> = (0..).zip(&views).map(|(at, group)| (group.name.as_str(), at)).collect();
    let rows = order.iter().map(|&at| {
        let name = &groups[at];
        let is_drawn = runs.len() <= MOST_DRAWN_SINGLY && !runs[at].validity.is_invalid();
        RunRowView {
            key: keys[at].clone(),
            run: u32::try_from(at).unwrap_or(u32::MAX),
            group: group_of.get(name.as_str()).copied().unwrap_or(0),
            histogram: is_drawn.then(|| histogram(std::iter::once(&runs[at]))).flatten(),
            ..row(&runs[at], name, &keys[at])
        }
    });
    let rows = rows.collect();
    Some(OverviewView { grouped_by, tally: tally(runs), groups: views, rows })
}

/// By what the worst first is ordered: the magnitude of the worst sample. Runs without one are the last.
fn rank(run: &Record) -> Option<u64> {
    worst(run).map(|(worst_ns, _)| worst_ns.unsigned_abs())
}

/// The worst sample of a run (ns) and its place: of what a deadline can apply to, or of everything if it applies to nothing.
fn worst(run: &Record) -> Option<(i64, String)> {
    if let Some((worst_ns, place)) = run.worst_of_all() {
        let bound = if run.at_least().is_empty() { "" } else { " (a lower bound)" };
        return Some((worst_ns, format!("{place}{bound}")));
    }
    let all = run.series.iter().filter_map(|series| Some((series.worst_ns(run.sign(series))?, series)));
    let (worst_ns, series) = all.max_by_key(|(worst_ns, _)| worst_ns.unsigned_abs())?;
    Some((worst_ns, if series.variant.is_empty() { series.place.to_string() } else { series.variant.clone() }))
}

/// Identifiers that are unique on the page.
fn keys(runs: &[Record]) -> Vec<String> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let key =
        |run: &'_ Record, number: usize| if number == 1 { run.id.clone() } else { format!("{}~{number}", run.id) };
    runs.iter()
        .map(|run| {
            let number = seen.entry(&run.id).or_default();
            *number += 1;
            key(run, *number)
        })
        .collect()
}

/// A property by which runs without a label are grouped; empty if it is not known.
type Property = (&'static str, fn(&Record) -> String);

/// The properties by which runs without a label are grouped, where they differ in them.
const PROPERTIES: [Property; 4] = [
    ("node", |run| machine(run).unwrap_or_default()),
    ("kernel", |run| kernel_release(run).unwrap_or_default()),
    ("load", |run| load(run).map_or_else(String::new, |load| format!("load {load}"))),
    ("kind", |run| run.measurement.name().to_owned()),
];

/// The name of the group of each run, and what the runs are grouped by, in words.
fn grouped(results: &Results) -> (Vec<String>, String) {
    let runs = &results.runs;
    let labels: Vec<Option<&str>> =
        runs.iter().enumerate().map(|(at, _)| results.label_of(at).filter(|label| !label.is_empty())).collect();
    let unlabeled: Vec<&Record> =
        runs.iter().zip(&labels).filter(|(_, label)| label.is_none()).map(|(run, _)| run).collect();
    let differs = |(_, of): &&Property| unlabeled.iter().any(|run| of(run) != of(unlabeled[0]));
    let differing: Vec<&Property> = PROPERTIES.iter().filter(differs).collect();
    let are_all_labeled = unlabeled.is_empty();
    let is_any_labeled = unlabeled.len() < runs.len();
    let name = |(run, label): (&Record, &Option<&str>)| {
        let Some(label) = label else {
            let parts: Vec<String> = differing.iter().map(|(_, of)| of(run)).filter(|part| !part.is_empty()).collect();
            return match (parts.is_empty(), is_any_labeled) {
                (true, true) => "no label".to_owned(),
                (true, false) => run.measurement.name().to_owned(),
                (false, true) => format!("no label: {}", parts.join(", ")),
                (false, false) => parts.join(", "),
            };
        };
        // Samples of different kinds cannot be in one histogram.
        let is_same =
            |(other, of): (&Record, &Option<&str>)| *of == Some(*label) && other.measurement != run.measurement;
        if runs.iter().zip(&labels).any(is_same) {
            format!("{label}, {}", run.measurement.name())
        } else {
            (*label).to_owned()
        }
    };
    let names = runs.iter().zip(&labels).map(name).collect();
    let words: Vec<&str> = differing.iter().map(|(word, _)| *word).collect();
    let by = match (are_all_labeled, is_any_labeled) {
        (true, _) => "label".to_owned(),
        (false, true) if words.is_empty() => "label".to_owned(),
        (false, true) => format!("label, or without one by {}", joined(&words)),
        (false, false) if words.is_empty() => "kind".to_owned(),
        (false, false) => joined(&words),
    };
    (names, by)
}

fn joined(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// The groups, worst first, with slots for as many as can be told apart. A slot goes by when its group began, so that it
/// stays the same while runs are added.
fn group_views(runs: &[Record], names: &[String], keys: &[String]) -> Vec<GroupView> {
    let mut places: Vec<(&str, Vec<usize>)> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        match places.iter_mut().find(|(known, _)| known == name) {
            Some((_, own)) => own.push(at),
            None => places.push((name, vec![at])),
        }
    }
    let is_result = |at: &&usize| !runs[**at].validity.is_invalid();
    let worst_of = |own: &[usize]| own.iter().filter(is_result).filter_map(|&at| Some((rank(&runs[at])?, at))).max();
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&group| {
        let own = &places[group].1;
        (own.iter().all(|at| !is_result(&at)), Reverse(worst_of(own).map(|(rank, _)| rank)), group)
    });
    let mut distinguished: Vec<usize> = order.iter().copied().take(DISTINGUISHED).collect();
    distinguished.sort_unstable();
    let view = |&group: &usize| {
        let (name, own) = &places[group];
        let all: Vec<&Record> = own.iter().map(|&at| &runs[at]).collect();
        let valid = || all.iter().copied().filter(|run| !run.validity.is_invalid());
        let tally = tally(all.iter().copied());
        GroupView {
            name: (*name).to_owned(),
            slot: distinguished.iter().position(|one| *one == group).and_then(|slot| u32::try_from(slot).ok()),
            what: all.first().map_or("samples", |run| run.measurement.kind().samples).to_owned(),
            tally,
            tally_words: words(&tally),
            samples: units::total(valid().map(Record::samples)).into(),
            missed_periods: valid().filter_map(missed_periods).reduce(u64::saturating_add).map(Into::into),
            worst: worst_of(own).and_then(|(_, at)| worst_view(&runs[at], &keys[at])),
            histogram: histogram(valid()),
        }
    };
    order.iter().map(view).collect()
}

fn worst_view(run: &Record, key: &str) -> Option<WorstOfView> {
    worst(run).map(|(worst_ns, place)| WorstOfView { latency_ns: worst_ns.into(), place, run: key.to_owned() })
}

/// All samples of runs to which a deadline can apply; `None` if it can apply to none.
fn samples<'a>(runs: impl Iterator<Item = &'a Record>) -> Option<(Histogram, u64)> {
    let (mut all, mut unit_ns, mut is_any) = (Histogram::new(), 1, false);
    for run in runs {
        for series in run.series.iter().filter(|series| series.judged) {
            all.merge(&series.judged_samples(run.sign(series)));
            unit_ns = unit_ns.max(series.resolution_ns.unwrap_or(1));
            is_any = true;
        }
    }
    is_any.then_some((all, unit_ns))
}

fn histogram<'a>(runs: impl Iterator<Item = &'a Record>) -> Option<HistogramView> {
    samples(runs).filter(|(all, _)| !all.is_empty()).map(|(all, unit_ns)| run::histogram(&all, unit_ns))
}

/// The number that the conclusion of a run is based on besides its worst sample.
fn basis(run: &Record) -> Option<BasisView> {
    // What is judged of clocks is the bound of their error.
    let bounds = run.sync().into_iter().flat_map(|sync| &sync.sources).filter_map(|source| match source.bound {
        HardBound::Stated { lowest_ns, highest_ns, .. } => {
            Some(lowest_ns.unsigned_abs().max(highest_ns.unsigned_abs()))
        }
        HardBound::Missing { .. } => None,
    });
    if let Some(bound_ns) = bounds.max() {
        return Some(BasisView { name: "bound".to_owned(), value_ns: bound_ns.into() });
    }
    let (all, _) = samples(std::iter::once(run))?;
    let quantile = all.quantiles().into_iter().rfind(|quantile| quantile.share <= QUANTILE)?;
    let percent = (quantile.share * 1e6).round() / 1e4;
    Some(BasisView { name: format!("p{percent}"), value_ns: quantile.value_ns.into() })
}

/// Schedules that late wake-ups of a run skipped; `None` if it has no periods, or if the source of an import did not count.
fn missed_periods(run: &Record) -> Option<u64> {
    let missed = units::total(run.series.iter().map(|series| series.counters.missed_periods));
    let has_periods = run.measurement.kind().sampling.has_periods() || missed > 0;
    (has_periods && !run.manifest().is_imported()).then_some(missed)
}

fn load(run: &Record) -> Option<String> {
    let name = &run.manifest().load.name;
    (!name.is_empty()).then(|| name.clone())
}

/// The verdict of a run about its deadline, judged anew as the headline's is.
fn judged(run: &Record) -> Option<Verdict> {
    run.verdict.as_ref().map(|verdict| analysis::verdict(run, verdict.deadline_ns))
}

fn verdict_state(run: &Record, verdict: Option<&Verdict>) -> HeadlineState {
    match verdict.map(|verdict| verdict.state) {
        None => HeadlineState::NoDeadline,
        Some(_) if run.validity.is_invalid() => HeadlineState::CannotTell,
        Some(VerdictState::CannotTell) => HeadlineState::CannotTell,
        Some(VerdictState::Broken) => HeadlineState::Broken,
        Some(VerdictState::Holds) => HeadlineState::Holds,
    }
}

fn row(run: &Record, group: &str, key: &str) -> RunRowView {
    let is_result = !run.validity.is_invalid();
    let verdict = judged(run);
    let state = verdict_state(run, verdict.as_ref());
    let limit = verdict.as_ref().map_or_else(String::new, |verdict| format::span(verdict.deadline_ns));
    let beyond = verdict.as_ref().and_then(|verdict| verdict.deciding.as_ref()).map_or(0, |deciding| deciding.beyond);
    RunRowView {
        key: String::new(),
        run: 0,
        group: 0,
        name: name_within(run, group),
        node: machine(run),
        kernel: kernel_release(run),
        started_realtime_ns: Instant(run.manifest().started.realtime.as_ns()),
        started_utc: calendar::minute(run.manifest().started.realtime.as_ns()),
        measurement: run.measurement.name().to_owned(),
        load: load(run),
        worst: is_result.then(|| worst_view(run, key)).flatten(),
        basis: is_result.then(|| basis(run)).flatten(),
        samples: run.samples().into(),
        missed_periods: missed_periods(run).filter(|_| is_result).map(Into::into),
        state: run::state(run.validity.state()),
        validity: validity(run),
        verdict: state,
        verdict_words: match state {
            HeadlineState::Holds => format!("holds {limit}"),
            HeadlineState::Broken if beyond > 0 => format!("{} beyond {limit}", format::count(beyond)),
            HeadlineState::Broken => format!("does not hold {limit}"),
            HeadlineState::CannotTell => "cannot be told".to_owned(),
            HeadlineState::NoDeadline | HeadlineState::Empty => "no limit".to_owned(),
        },
        histogram: None,
    }
}

/// What the label of a run adds to the name of its group or of its kind: `7` of `idle (7)`.
fn name_within(run: &Record, group: &str) -> String {
    let within = |name: &str| Some(run.label.strip_prefix(name)?.strip_prefix(" (")?.strip_suffix(')')?.to_owned());
    // The group of a label with several kinds is named after both.
    let label = group.strip_suffix(run.measurement.name()).and_then(|rest| rest.strip_suffix(", "));
    if run.label == group || Some(run.label.as_str()) == label {
        return "1".to_owned();
    }
    let short = within(group).or_else(|| within(label?)).or_else(|| within(run.measurement.name()));
    short.unwrap_or_else(|| if run.label.is_empty() { run.measurement.name().to_owned() } else { run.label.clone() })
}

/// The state of a run in words with its first reason.
fn validity(run: &Record) -> String {
    let state = run::state(run.validity.state());
    let reasons = summary::run::validity(run).reasons;
    let Some(first) = reasons.first() else { return word(state).to_owned() };
    let reason = first.code.replace('-', " ");
    let more = match reasons.len() {
        1 => String::new(),
        all => format!(", +{}", all - 1),
    };
    format!("{}: {reason}{more}", word(state))
}

const fn word(state: StateView) -> &'static str {
    match state {
        StateView::Valid => "valid",
        StateView::Degraded => "degraded",
        StateView::Invalid => "invalid",
    }
}

fn tally<'a>(runs: impl IntoIterator<Item = &'a Record>) -> TallyView {
    let mut tally = TallyView::default();
    for run in runs {
        tally.runs += 1;
        *match verdict_state(run, judged(run).as_ref()) {
            HeadlineState::Holds => &mut tally.holds,
            HeadlineState::Broken => &mut tally.broken,
            HeadlineState::CannotTell => &mut tally.cannot_tell,
            HeadlineState::NoDeadline | HeadlineState::Empty => &mut tally.not_judged,
        } += 1;
        match run::state(run.validity.state()) {
            StateView::Valid => {}
            StateView::Degraded => tally.degraded += 1,
            StateView::Invalid => tally.invalid += 1,
        }
    }
    tally
}

/// The tally in words, the bad before the good: `10 runs: 2 broken, 7 hold, 1 cannot be told; 1 invalid`.
fn words(tally: &TallyView) -> String {
    let count = |number: u32| format::count(u64::from(number));
    let runs = if tally.runs == 1 { "1 run".to_owned() } else { format!("{} runs", count(tally.runs)) };
    let verdicts = [
        (tally.broken, "broken", "broken"),
        // Those that are invalid are named as that.
        (tally.cannot_tell.saturating_sub(tally.invalid), "cannot be told", "cannot be told"),
        (tally.holds, "holds", "hold"),
    ];
    let states = [(tally.invalid, "invalid", "invalid"), (tally.degraded, "degraded", "degraded")];
    let named = |all: &[(u32, &str, &str)]| -> Vec<String> {
        let some = all.iter().filter(|(number, ..)| *number > 0);
        some.map(|(number, one, many)| format!("{} {}", count(*number), if *number == 1 { one } else { many }))
            .collect()
    };
    let parts: Vec<String> =
        [named(&verdicts), named(&states)].iter().filter(|all| !all.is_empty()).map(|all| all.join(", ")).collect();
    if parts.is_empty() { runs } else { format!("{runs}: {}", parts.join("; ")) }
}

#[cfg(test)]
mod tests;
