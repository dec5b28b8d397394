//! Two groups of runs side by side: how much they differ, how sure that is, and what is not known.
//!
//! The samples of a run are not independent: what delays one wake-up delays the next. Whole intervals of a run are drawn
//! again or exchanged, blocks of them where neighbors are alike, and whole runs where there are several; never samples.
//! Why and after whom stands with each step and in `docs/decisions/0007-what-a-comparison-may-claim.md`.

mod clock_error;
mod context;
mod decisive;
mod document;
mod exchange;
mod gate;
mod judge;
mod least;
mod lost;
mod notes;
mod pieces;
mod reach;
mod resample;
mod resolution;
mod signed;
mod sources;
mod table;
#[cfg(test)]
mod tests;
mod verdict;
mod words;

use std::borrow::Cow;
use std::collections::BTreeSet;

use record::{Histogram, Measurement, Record, ValidityState};
use units::approx_f64;

use crate::float;

pub use context::ContextDifference;
pub use document::{
    COMPARISON_SCHEMA, COMPARISON_VERSION, Comparison, ComparisonState, ComparisonVerdict, DifferenceInterval,
    GroupSummary, Method, PartState, QuantityComparison, RateComparison, Reach, RunSummary, SignedComparison,
    SignedRange, SignedState, Unit, WorstComparison,
};
pub use gate::{Gate, GateAnswer, GateKind, GatePart, GateResult, GateSize, gate};
pub use least::{body_rows, least_runs_for_body, least_runs_for_gate, least_runs_for_worst_case, pairs_to_show};
pub use profile::differences::{ProfileDifferences, SettingDifference, profile_differences};
pub use sources::compared;
pub use verdict::{RATE_ROW, WORST_CASE_ROW};

use judge::{Cut, Outcome};
use notes::{notes, reason};
use pieces::Run;
use resolution::Steps;
use table::{Quantity, Table};

/// Runs that were taken under one condition.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// What people call it.
    pub name: String,
    /// Its runs: repetitions of one measurement.
    pub runs: Vec<&'a Record>,
}

/// How to compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompareOptions {
    /// The probability of seeing a difference where there is none, over all rows together (above 0, at most 0.5).
    pub level: f64,
    /// How often to resample.
    pub resamples: u32,
    /// Where the random numbers begin.
    pub seed: u64,
    /// The difference that somebody wants to see (ns); 5 % of A where absent.
    pub wanted_ns: Option<u64>,
    /// The change of the body that counts (ns): one below it never outweighs the worst case. Where absent, 1 us or a tenth
    /// of A's median, whichever is larger.
    pub margin_ns: Option<u64>,
    /// The deadline (ns): how often it was exceeded decides in the place of the worst case. Where absent, that of the
    /// records, if all state the same one.
    pub deadline_ns: Option<u64>,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self { level: 0.05, resamples: 10_000, seed: 1, wanted_ns: None, margin_ns: None, deadline_ns: None }
    }
}

/// Why two groups cannot be compared at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// A group without a run.
    #[error("group {0} holds no run: name at least one record for each side")]
    NoRun(String),
    /// Runs of different measurements.
    #[error(
        "{a} is a run of '{a_kind}', {b} one of '{b_kind}': only runs of one measurement can be compared; name them \
         one by one"
    )]
    Measurements {
        /// A run of A.
        a: String,
        /// What it measured.
        a_kind: &'static str,
        /// A run of another measurement.
        b: String,
        /// What that measured.
        b_kind: &'static str,
    },
    /// A measurement that cannot be compared.
    #[error("runs of '{0}' cannot be compared: {kinds} can", kinds = record::names_of_kinds(|kind| kind.compared.is_some()))]
    Unsupported(&'static str),
    /// Runs without a latency that all of them have.
    #[error(
        "{a} has the latency {a_has}, {b} has {b_has}: these end at different points (docs/glossary.md), so comparing them \
         says nothing of the machines"
    )]
    Latencies {
        /// Label of one of the two runs.
        a: String,
        /// Its latencies by their two points.
        a_has: String,
        /// Label of the other run.
        b: String,
        /// The latencies of that run.
        b_has: String,
    },
    /// The same run on both sides.
    #[error("the run {0} stands on both sides: a run compared with itself says nothing")]
    SameRun(String),
    /// The same run twice on one side.
    #[error("the run {0} stands twice on one side: a repetition is a run of its own")]
    RepeatedRun(String),
}

/// The quantiles that the body is judged by, with its mean.
const BODY: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
/// Neither the body nor the worst case: it stands in the table and decides nothing.
const BEYOND_BODY: (&str, f64) = ("p99.99", 0.9999);
/// Fewer samples beyond a quantile than this say little more than the maximum.
const LEAST_BEYOND: f64 = 9.999;

/// Compares two groups of runs of one measurement.
///
/// # Errors
/// Where a group is empty, the measurements differ or cannot be compared, or a run stands on both sides.
pub fn compare(a: &Group<'_>, b: &Group<'_>, options: &CompareOptions) -> Result<Comparison, CompareError> {
    let measurement = common_measurement(a, b)?;
    let latency = latency_of(measurement, &[a, b])?;
    let all: Vec<&Record> = a.runs.iter().chain(&b.runs).copied().collect();
    let place = sources::common(&all, latency);
    let note = sources::note([&a.runs, &b.runs], latency, place.as_ref());
    let narrowed: Vec<Cow<'_, Record>> = all.iter().map(|run| compared(run, latency, place.as_ref())).collect();
    let (of_a, of_b) = narrowed.split_at(a.runs.len());
    let [a, b] = [(a, of_a), (b, of_b)]
        .map(|(group, runs)| Group { name: group.name.clone(), runs: runs.iter().map(AsRef::as_ref).collect() });
    let steps = Steps::of([&a.runs, &b.runs], latency);
    let on_grid = [&a, &b].map(|group| steps.alike(&group.runs, latency));
    let [grid_a, grid_b] = [(&a, &on_grid[0]), (&b, &on_grid[1])]
        .map(|(group, runs)| Group { name: group.name.clone(), runs: runs.iter().map(AsRef::as_ref).collect() });
    let summaries = [&a, &b].map(|group| {
        let runs: Vec<Run> = group.runs.iter().map(|run| Run::from_record(run, latency, None)).collect();
        summary(group, &runs, latency)
    });
    let mut comparison = compare_series(&grid_a, &grid_b, summaries, options, measurement, latency, steps);
    comparison.place = place;
    comparison.notes.splice(0..0, note);
    Ok(comparison)
}

/// Compares the series of one latency, whatever their places.
fn compare_series(
    a: &Group<'_>,
    b: &Group<'_>,
    summaries: [GroupSummary; 2],
    options: &CompareOptions,
    measurement: Measurement,
    latency: &'static str,
    steps: Steps,
) -> Comparison {
    let deadline_ns = deadline_of(a, b, options, measurement);
    let cut = Cut::new(a, b, latency, deadline_ns);
    let whole = [a, b].map(|group| all_samples(group, latency));
    let rows = rows(&whole, &cut, measurement);
    let deadline = judge::Deadline { ns: deadline_ns, are_missed_counted: are_missed_counted(&[a, b], latency) };
    let judged = judge::judge(&cut, &rows, measurement, deadline, options);
    let quantity = |(place, row): (usize, &Row)| quantity_comparison(row, &judged, place);
    let quantities: Vec<QuantityComparison> = rows.iter().enumerate().map(quantity).collect();
    let worst = worst(&cut, &judged, options.level);
    // All rows share the level; by how much depends on how alike they are, and this is the worst (Bonferroni).
    let shared_level = options.level / (float(rows.len()) + 1.0);
    let reach = rows
        .iter()
        .zip(&judged.spreads)
        .filter(|(row, _)| REACH_OF.contains(&row.name))
        // By so few units a row of the body that differs alone is not shown, however much.
        .filter(|_| least::can_show_body(judged.units, options.level, measurement))
        .filter_map(|(row, spread)| {
            let wanted_ns = options.wanted_ns.map(approx_f64);
            let error_ns = spread.as_ref()?.error_ns;
            reach::reach(row.name, row.a_ns, error_ns, wanted_ns, shared_level, steps.limit_ns())
        })
        .collect();
    let [mut a_summary, mut b_summary] = summaries;
    for (summary, runs) in [(&mut a_summary, &cut.runs[0]), (&mut b_summary, &cut.runs[1])] {
        summary.runs.iter_mut().zip(runs).for_each(|(run, cut)| run.pieces = cut.pieces.len() as u64);
    }
    let margin_ns = judge::margin_ns(options, whole[0].quantile_ns(0.5)).max(steps.limit_ns());
    let signed = signed::compare(&cut, margin_ns, options);
    let clock_errors_ns = [a, b].map(|group| clock_error::error_ns(&group.runs, latency));
    // What decides is shown only if it is shown however the errors of the clocks went.
    let decided =
        |judged: &Outcome| judged.decisive.filter(|chance| chance.is_shown(options.level)).map(|it| it.direction);
    let direction = decided(&judged).filter(|_| clock_errors_ns.iter().any(|ns| *ns > 0.0 && ns.is_finite()));
    let holds_against_clocks = direction.is_none_or(|direction| {
        let against = clock_error::Against::claim(direction, [a, b], latency);
        let [a, b] = against.groups();
        let cut = Cut::new(&a, &b, latency, deadline_ns);
        let rows = self::rows(&[&a, &b].map(|group| all_samples(group, latency)), &cut, measurement);
        decided(&judge::judge(&cut, &rows, measurement, deadline, options)) == Some(direction)
    });
    let direction = decided(&judged).filter(|_| steps.limit_ns() > 0.0);
    let holds_against_steps = direction.is_none_or(|direction| {
        let against = resolution::Against::claim(direction, [a, b], latency, steps);
        let [a, b] = against.groups();
        let cut = Cut::new(&a, &b, latency, deadline_ns);
        let rows = self::rows(&[&a, &b].map(|group| all_samples(group, latency)), &cut, measurement);
        decided(&judge::judge(&cut, &rows, measurement, deadline, options)) == Some(direction)
    });
    let verdict = verdict::verdict(&verdict::Judged {
        measurement,
        a: &a_summary,
        b: &b_summary,
        rows: &rows,
        quantities: &quantities,
        worst: &worst,
        outcome: &judged,
        unit: cut.unit,
        has_intervals: [a, b].iter().flat_map(|group| &group.runs).any(|run| has_intervals(run)),
        margin_ns,
        clock_error_ns: clock_errors_ns.iter().sum(),
        holds_against_clocks,
        step_ns: steps.limit_ns(),
        holds_against_steps,
        level: options.level,
    });
    let verdict = match &signed {
        Some(signed) => signed::complete(verdict, signed),
        None => verdict,
    };
    let context = context::differences(&a.runs, &b.runs);
    let mut comparison = Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        version: COMPARISON_VERSION,
        measurement,
        latency: latency.to_owned(),
        verdict,
        notes: {
            let known = notes(&cut, &[a, b], &[&a_summary, &b_summary], &judged, &context, options.level);
            let lost = lost::note(&a.runs, &b.runs, latency);
            clock_error::note(clock_errors_ns).into_iter().chain(steps.note()).chain(lost).chain(known).collect()
        },
        a: a_summary,
        b: b_summary,
        quantities,
        worst,
        place: None,
        signed,
        method: Method {
            level: options.level,
            resamples: options.resamples,
            seed: options.seed,
            unit: cut.unit,
            a_units: judged.units[0] as u64,
            b_units: judged.units[1] as u64,
            piece_ns: cut.piece_ns,
            block_pieces: judged.block as u64,
            correlation: (judged.correlation * 1_000.0).round() / 1_000.0,
            smallest_p: judged.smallest_p,
            margin_ns: tenth(margin_ns),
            step_ns: steps.limit_ns(),
        },
        reach,
        context,
        profiles: None,
        gates: Vec::new(),
    };
    if comparison.verdict.state == ComparisonState::Invalid {
        withdraw(&mut comparison);
    }
    comparison
}

/// Of invalid runs the numbers stand to be looked at, but nothing may look like a conclusion from them.
fn withdraw(comparison: &mut Comparison) {
    let signed = comparison.signed.iter_mut().flat_map(|signed| &mut signed.quantities);
    for row in comparison.quantities.iter_mut().chain(signed) {
        (row.interval, row.p, row.p_together) = (None, None, None);
    }
    (comparison.worst.p, comparison.worst.p_together) = (None, None);
    if let Some(rate) = &mut comparison.worst.rate {
        (rate.p, rate.p_together) = (None, None);
    }
    "not compared: a run is invalid".clone_into(&mut comparison.worst.note);
    if let Some(signed) = &mut comparison.signed {
        (signed.state, signed.text) = (SignedState::CannotTell, "not compared: a run is invalid".to_owned());
    }
    comparison.reach.clear();
}

/// The rows for which the smallest detectable difference is stated.
const REACH_OF: [&str; 3] = [STOLEN, "mean", "p99"];
/// What the row of stolen time is called.
const STOLEN: &str = "stolen in 1 s";

fn common_measurement<'a>(a: &Group<'a>, b: &Group<'a>) -> Result<Measurement, CompareError> {
    let of_group = |group: &Group<'a>| group.runs.first().copied().ok_or(CompareError::NoRun(group.name.clone()));
    let (one, _) = (of_group(a)?, of_group(b)?);
    if let Some(other) = a.runs.iter().chain(&b.runs).find(|run| run.measurement != one.measurement) {
        return Err(CompareError::Measurements {
            a: name(one),
            a_kind: one.measurement.name(),
            b: name(other),
            b_kind: other.measurement.name(),
        });
    }
    // An import may carry no name.
    if let Some(same) = a.runs.iter().find(|run| !run.id.is_empty() && b.runs.iter().any(|other| other.id == run.id)) {
        return Err(CompareError::SameRun(name(same)));
    }
    for group in [a, b] {
        let mut named = group.runs.iter().enumerate().filter(|(_, run)| !run.id.is_empty());
        if let Some((_, twice)) = named.find(|(at, run)| group.runs[..*at].iter().any(|other| other.id == run.id)) {
            return Err(CompareError::RepeatedRun(name(twice)));
        }
    }
    Ok(one.measurement)
}

/// The latency that runs of a measurement are compared by.
///
/// Runs that were imported may have other latencies of the same kind; then the longest one that all have is compared.
fn latency_of(measurement: Measurement, groups: &[&Group<'_>; 2]) -> Result<&'static str, CompareError> {
    let compared = measurement.kind().compared.ok_or_else(|| CompareError::Unsupported(measurement.name()))?;
    let runs = || groups.iter().flat_map(|group| &group.runs);
    let has = |run: &Record, name: &str| run.series.iter().any(|series| series.name == name);
    if runs().all(|run| !run.manifest().is_imported() || has(run, compared)) {
        return Ok(compared);
    }
    if let Some(common) = measurement.kind().imported.iter().copied().find(|name| runs().all(|run| has(run, name))) {
        return Ok(common);
    }
    let names = |run: &Record| {
        let names: BTreeSet<&str> = run.series.iter().map(|series| series.name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.into_iter().collect::<Vec<_>>().join(", ") }
    };
    let mut all: Vec<(String, &Record)> = runs().map(|run| (names(run), *run)).collect();
    all.dedup_by(|one, other| one.0 == other.0);
    match all.as_slice() {
        [(a_has, a), (b_has, b), ..] => {
            Err(CompareError::Latencies { a: name(a), a_has: a_has.clone(), b: name(b), b_has: b_has.clone() })
        }
        _ => Ok(compared),
    }
}

/// The name of a run in an error: its unique identifier, or of an import, where that says nothing, its label.
fn name(run: &Record) -> String {
    let label = Some(&run.label).filter(|label| run.manifest().is_imported() && !label.is_empty());
    label.unwrap_or(&run.id).clone()
}

/// The deadline that a rate is counted by: the one asked for, or the one that all runs state.
fn deadline_of(a: &Group<'_>, b: &Group<'_>, options: &CompareOptions, measurement: Measurement) -> Option<u64> {
    let stated = || {
        let mut all = a.runs.iter().chain(&b.runs).map(|run| run.manifest().requested.deadline_ns);
        let first = all.next().flatten().filter(|_| measurement.kind().states_deadline_of_compared())?;
        all.all(|other| other == Some(first)).then_some(first)
    };
    options.deadline_ns.or_else(stated).filter(|&deadline_ns| deadline_ns > 0)
}

/// Whether every run counts the periods that late wake-ups swallowed, and how late each of these was follows from them.
fn are_missed_counted(groups: &[&Group<'_>], latency: &str) -> bool {
    groups.iter().flat_map(|group| &group.runs).all(|run| {
        let mut series = run.series.iter().filter(|series| series.name == latency);
        matches!(run.manifest().origin, record::Origin::Punctual)
            && run.measurement.kind().sampling.can_skip_schedules()
            && series.all(|series| series.counters.missed_periods == 0 || pieces::interval_of(run, series).is_some())
    })
}

/// One row of the table before it is judged.
struct Row {
    name: &'static str,
    share: Option<f64>,
    quantity: Quantity,
    /// Whether the body is judged by it.
    is_body: bool,
    a_ns: f64,
    b_ns: f64,
}

/// Mean, and the quantiles that both sides have samples for; of noise first what is stolen, which a CPU without a gap has too.
fn rows([a, b]: &[Histogram; 2], cut: &Cut, measurement: Measurement) -> Vec<Row> {
    let mean = a.mean_ns().zip(b.mean_ns()).map(|(a_ns, b_ns)| Row {
        name: "mean",
        share: None,
        quantity: Quantity::Mean,
        is_body: true,
        a_ns,
        b_ns,
    });
    let fewest = approx_f64(a.count().min(b.count()));
    let all = BODY.into_iter().map(|quantile| (quantile, true)).chain([(BEYOND_BODY, false)]);
    let supported = all.filter(|((_, share), _)| *share <= 0.5 || (1.0 - share) * fewest >= LEAST_BEYOND);
    let quantiles = supported.filter_map(|((name, share), is_body)| {
        Some(Row {
            name,
            share: Some(share),
            quantity: Quantity::Quantile(share),
            is_body,
            a_ns: approx_f64(a.quantile_ns(share)?),
            b_ns: approx_f64(b.quantile_ns(share)?),
        })
    });
    let stolen = measurement.kind().sampling.counts_by_time().then(|| stolen(cut)).flatten();
    stolen.into_iter().chain(mean).chain(quantiles).collect()
}

/// What a CPU loses in each second: the length of gaps means little without their number.
fn stolen(cut: &Cut) -> Option<Row> {
    let table = Table::from_pieces(&cut.pieces());
    let [a, b] =
        cut.sides().map(|side| table.value(Quantity::InASecond, &side.columns, &vec![1.0; side.columns.len()]));
    Some(Row { name: STOLEN, share: None, quantity: Quantity::InASecond, is_body: true, a_ns: a?, b_ns: b? })
}

fn quantity_comparison(row: &Row, judged: &Outcome, place: usize) -> QuantityComparison {
    let difference_ns = row.b_ns - row.a_ns;
    let chance = judged.chances.get(place);
    QuantityComparison {
        name: row.name.to_owned(),
        share: row.share,
        a_ns: tenth(row.a_ns),
        b_ns: tenth(row.b_ns),
        difference_ns: tenth(difference_ns),
        difference_percent: percent_of(row.a_ns, difference_ns),
        interval: judged.spreads.get(place).copied().flatten().map(|spread| DifferenceInterval {
            low_ns: tenth(difference_ns + spread.below_ns),
            high_ns: tenth(difference_ns + spread.above_ns),
        }),
        p: chance.map(|chance| chance.p),
        p_together: chance.and_then(|chance| chance.p_together),
    }
}

fn worst(cut: &Cut, judged: &Outcome, level: f64) -> WorstComparison {
    let [a, b] = judged.maxima.maxima_ns.clone();
    let what = match cut.unit {
        Unit::Run => "repetitions",
        Unit::Block => "pieces of one run each",
    };
    let mut note = if let Some(too_few) = least::too_few(a.len(), b.len(), level, what) {
        too_few
    } else if let Some(problem) = &judged.maxima.problem {
        format!("not compared: {problem}")
    } else {
        match cut.unit {
            Unit::Run => "by the ranks of the maxima of repetitions".to_owned(),
            Unit::Block => {
                "by the ranks of the maxima of pieces of the one run on each side: these are not repetitions".to_owned()
            }
        }
    };
    if let Some(part_ns) = judged.maxima.part_ns {
        let part = units::format::span(part_ns);
        note += &format!("; the runs are unequally long, and each counts by its first {part}");
    }
    let shown = judged.worst.filter(|chance| chance.p <= level);
    let contradiction = shown.and_then(|chance| judged.maxima.contradiction(chance.direction));
    if let Some(contradiction) = &contradiction {
        note += &format!("; {contradiction}");
    }
    let [a_median_ns, b_median_ns] = [&a, &b].map(|maxima| (!maxima.is_empty()).then(|| decisive::median(maxima)));
    let median_difference_ns = a_median_ns.zip(b_median_ns).map(|(a_ns, b_ns)| b_ns - a_ns);
    WorstComparison {
        unit: cut.unit,
        a_median_ns,
        b_median_ns,
        median_difference_ns,
        median_difference_percent: a_median_ns.zip(median_difference_ns).and_then(|(a_ns, ns)| percent_of(a_ns, ns)),
        a_maxima_ns: a,
        b_maxima_ns: b,
        p: judged.worst.map(|chance| chance.p),
        p_together: judged.worst.and_then(|chance| chance.p_together),
        is_contradictory: contradiction.is_some(),
        rate: judged.rates.as_ref().map(|rates| rate(rates, judged)),
        note,
    }
}

fn rate(rates: &decisive::Rates, judged: &Outcome) -> RateComparison {
    RateComparison {
        deadline_ns: rates.deadline_ns,
        a_beyond: rates.beyond[0].clone(),
        a_exposure: rates.exposure[0].clone(),
        b_beyond: rates.beyond[1].clone(),
        b_exposure: rates.exposure[1].clone(),
        missed_beyond: rates.missed_beyond,
        part_ns: rates.part_ns,
        text: format!("A {}, B {}{}", rates.text(0), rates.text(1), rates.part_text()),
        p: judged.decisive.map(|chance| chance.p),
        p_together: judged.decisive.and_then(|chance| chance.p_together),
    }
}

/// Samples of a run.
fn samples_of(run: &Record, latency: &str) -> u64 {
    let series = run.series.iter().filter(|series| series.name == latency);
    units::total(series.map(record::Series::taken))
}

fn all_samples(group: &Group<'_>, latency: &str) -> Histogram {
    let mut all = Histogram::new();
    for run in &group.runs {
        let series = run.series.iter().filter(|series| series.name == latency);
        series.for_each(|series| all.merge(&series.judged_samples(run.sign(series))));
    }
    all
}

fn summary(group: &Group<'_>, cut: &[Run], latency: &str) -> GroupSummary {
    let all = all_samples(group, latency);
    let run = |(at, record): (usize, &&Record)| {
        let one = all_samples(&Group { name: String::new(), runs: vec![record] }, latency);
        RunSummary {
            id: record.id.clone(),
            node: record.manifest().node.hostname.clone(),
            label: record.label.clone(),
            validity: record.validity.state(),
            reasons: record.validity.reasons().iter().map(reason).collect(),
            samples: one.count(),
            missed_periods: missed(record, latency),
            max_ns: one.max_ns(),
            duration_ns: record.standing_ns(),
            pieces: cut.get(at).map_or(0, |run| run.pieces.len() as u64),
        }
    };
    GroupSummary {
        name: group.name.clone(),
        validity: group.runs.iter().map(|run| run.validity.state()).max().unwrap_or(ValidityState::Valid),
        runs: group.runs.iter().enumerate().map(run).collect(),
        samples: all.count(),
        missed_periods: group.runs.iter().map(|run| missed(run, latency)).sum(),
        min_ns: all.min_ns(),
        max_ns: all.max_ns(),
        sd_ns: all.sd_ns().map(tenth),
    }
}

/// `None` where the program that measured does not count them, or where there are no periods to miss.
fn missed(record: &Record, latency: &str) -> Option<u64> {
    let series = record.series.iter().filter(|series| series.name == latency);
    let is_counted = matches!(record.manifest().origin, record::Origin::Punctual)
        && record.measurement.kind().sampling.has_periods();
    is_counted.then(|| units::total(series.map(|series| series.counters.missed_periods)))
}

fn has_intervals(run: &Record) -> bool {
    run.series.iter().any(|series| !series.intervals.is_empty())
}

/// In per cent with two decimals.
fn percent_of(whole: f64, part: f64) -> Option<f64> {
    (whole > 0.0).then(|| (part / whole * 10_000.0).round() / 100.0)
}

/// To a tenth of a nanosecond: more digits say nothing.
fn tenth(ns: f64) -> f64 {
    (ns * 10.0).round() / 10.0
}
