//! Two groups of runs side by side: how much they differ, how sure that is, and what is not known.
//!
//! The samples of a run are not independent: what delays one wake-up delays the next. Whole intervals of a run are drawn
//! again or exchanged, blocks of them where neighbours are alike, and whole runs where there are several; never samples.
//! Why and after whom stands with each step and in `docs/decisions/0007-what-a-comparison-may-claim.md`.

mod context;
mod document;
mod exchange;
mod maxima;
mod pieces;
mod profiles;
mod reach;
mod resample;
mod table;
#[cfg(test)]
mod tests;
mod verdict;
mod words;

use std::ops::Range;

use record::{Histogram, Measurement, Record, ValidityState};
use units::approx_f64;

use crate::{dependence, float};

pub use context::ContextDifference;
pub use document::{
    COMPARISON_SCHEMA, COMPARISON_VERSION, Comparison, ComparisonState, ComparisonVerdict, DifferenceInterval,
    GroupSummary, Method, QuantityComparison, Reach, RunSummary, Unit, WorstComparison,
};

pub use profiles::{ProfileDifferences, SettingDifference, profile_differences};

use exchange::{Exchange, Units};
use pieces::{Piece, Run};
use resample::{Side, Spread};
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
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self { level: 0.05, resamples: 10_000, seed: 1, wanted_ns: None }
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
    #[error("runs of '{0}' cannot be compared yet: wakeup and noise can")]
    Unsupported(&'static str),
    /// The same run on both sides.
    #[error("the run {0} stands on both sides: a run compared with itself says nothing")]
    SameRun(String),
}

/// The shares that stand in the table.
const SHARES: [(&str, f64); 5] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];
/// Fewer samples beyond a quantile than this say little more than the maximum.
const LEAST_BEYOND: f64 = 9.999;

/// Compares two groups of runs of one measurement.
///
/// # Errors
/// Where a group is empty, the measurements differ or cannot be compared, or a run stands on both sides.
pub fn compare(a: &Group<'_>, b: &Group<'_>, options: &CompareOptions) -> Result<Comparison, CompareError> {
    let measurement = common_measurement(a, b)?;
    let latency = match measurement {
        Measurement::Wakeup => "scheduled_to_woke",
        Measurement::Noise => "left_to_resumed",
        Measurement::App => "runnable_to_running",
        Measurement::Clock => return Err(CompareError::Unsupported(measurement.name())),
    };
    let cut = Cut::of(a, b, latency);
    let summaries = [(a, &cut.runs[0]), (b, &cut.runs[1])].map(|(group, runs)| summary(group, runs, latency));
    let whole = [a, b].map(|group| all_samples(group, latency));
    let mut rows = rows(&whole);
    if measurement == Measurement::Noise {
        rows.splice(0..0, stolen(&cut));
    }
    let quantities: Vec<Quantity> = rows.iter().map(|row| row.quantity).collect();
    let judged = judge(&cut, &quantities, options);
    let quantity = |(place, row): (usize, &Row)| quantity_comparison(row, &judged, place);
    let quantities: Vec<QuantityComparison> = rows.iter().enumerate().map(quantity).collect();
    let worst_chance = judged.exchange.as_ref().filter(|_| judged.worst_judged).and_then(|e| e.chances.last().copied());
    let worst = worst(&cut, &judged, worst_chance, options.level);
    // All rows share the level; by how much depends on how alike they are, and this is the worst (Bonferroni).
    let shared_level = options.level / (float(rows.len()) + 1.0);
    let reach = rows
        .iter()
        .zip(&judged.spreads)
        .filter(|(row, _)| REACH_OF.contains(&row.name))
        .filter_map(|(row, spread)| {
            let wanted_ns = options.wanted_ns.map(approx_f64);
            reach::reach(row.name, row.a_ns, spread.as_ref()?.error_ns, wanted_ns, shared_level)
        })
        .collect();
    let [a_summary, b_summary] = summaries;
    let smallest_p = judged.exchange.as_ref().map_or(1.0, |exchange| exchange.smallest_p);
    let verdict = verdict::verdict(&verdict::Judged {
        a: &a_summary,
        b: &b_summary,
        quantities: &quantities,
        worst: &worst,
        worst_direction: worst_chance.map_or(0, |chance| chance.direction),
        unit: cut.unit,
        units: judged.units,
        smallest_p,
        level: options.level,
    });
    let context = context::differences(&a.runs, &b.runs);
    let mut comparison = Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        version: COMPARISON_VERSION,
        measurement,
        latency: latency.to_owned(),
        verdict,
        notes: notes(&cut, &[&a_summary, &b_summary], judged.units, &context),
        a: a_summary,
        b: b_summary,
        quantities,
        worst,
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
            smallest_p,
        },
        reach,
        context,
        profiles: None,
    };
    if comparison.verdict.state == ComparisonState::Invalid {
        withdraw(&mut comparison);
    }
    Ok(comparison)
}

/// Of invalid runs the numbers stand to be looked at, but nothing may look like a conclusion from them.
fn withdraw(comparison: &mut Comparison) {
    for row in &mut comparison.quantities {
        (row.interval, row.p, row.p_together) = (None, None, None);
    }
    (comparison.worst.p, comparison.worst.p_together) = (None, None);
    "not compared: a run is invalid".clone_into(&mut comparison.worst.note);
    comparison.reach.clear();
}

/// The rows for which it is told what could have been seen.
const REACH_OF: [&str; 3] = ["stolen in 1 s", "mean", "p99"];

fn common_measurement<'a>(a: &Group<'a>, b: &Group<'a>) -> Result<Measurement, CompareError> {
    let of_group = |group: &Group<'a>| group.runs.first().copied().ok_or(CompareError::NoRun(group.name.clone()));
    let (one, _) = (of_group(a)?, of_group(b)?);
    if let Some(other) = a.runs.iter().chain(&b.runs).find(|run| run.measurement != one.measurement) {
        return Err(CompareError::Measurements {
            a: one.id.clone(),
            a_kind: one.measurement.name(),
            b: other.id.clone(),
            b_kind: other.measurement.name(),
        });
    }
    // An import may carry no name.
    if let Some(same) = a.runs.iter().find(|run| !run.id.is_empty() && b.runs.iter().any(|other| other.id == run.id)) {
        return Err(CompareError::SameRun(same.id.clone()));
    }
    Ok(one.measurement)
}

/// Both groups cut into pieces.
struct Cut {
    runs: [Vec<Run>; 2],
    piece_ns: u64,
    unit: Unit,
}

impl Cut {
    fn of(a: &Group<'_>, b: &Group<'_>, latency: &str) -> Self {
        let cut =
            |group: &Group<'_>| -> Vec<Run> { group.runs.iter().map(|record| Run::of(record, latency)).collect() };
        let (mut a, mut b) = (cut(a), cut(b));
        let unit = if a.len() > 1 || b.len() > 1 { Unit::Run } else { Unit::Block };
        let piece_ns = pieces::cut_alike(&mut [&mut a, &mut b]);
        let mut cut = Self { runs: [a, b], piece_ns, unit };
        while table::cells(&cut.pieces()) > table::MOST_CELLS
            && cut.runs.iter().flatten().any(|run| run.pieces.len() > 1)
        {
            cut.runs.iter_mut().flatten().for_each(|run| run.merge_neighbours(2));
            cut.piece_ns = cut.piece_ns.saturating_mul(2);
        }
        cut
    }

    /// All pieces, A's first.
    fn pieces(&self) -> Vec<&Piece> {
        self.runs.iter().flatten().flat_map(|run| &run.pieces).collect()
    }

    fn sides(&self) -> [Side; 2] {
        let mut start = 0;
        [0, 1].map(|of| {
            let mut own = 0;
            let runs: Vec<Range<usize>> = self.runs[of]
                .iter()
                .map(|run| {
                    let range = own..own + run.pieces.len();
                    own = range.end;
                    range
                })
                .collect();
            let columns = start..start + own;
            start = columns.end;
            Side { columns, runs }
        })
    }
}

/// What the statistics say.
struct Outcome {
    spreads: Vec<Option<Spread>>,
    exchange: Option<Exchange>,
    worst_judged: bool,
    units: [usize; 2],
    block: usize,
    correlation: f64,
    /// The maximum of each unit, A's and B's.
    maxima_ns: [Vec<u64>; 2],
}

fn judge(cut: &Cut, quantities: &[Quantity], options: &CompareOptions) -> Outcome {
    let pieces = cut.pieces();
    let table = Table::of(&pieces);
    let sides = cut.sides();
    let level = |piece: &&Piece| match quantities.first() {
        Some(Quantity::InASecond) => Table::of(&[*piece]).value(Quantity::InASecond, &(0..1), &[1.0]),
        _ => piece.histogram.mean_ns(),
    };
    let means = |run: &Run| run.pieces.iter().filter_map(|piece| level(&piece)).collect::<Vec<f64>>();
    let means: Vec<Vec<f64>> = cut.runs.iter().flatten().map(means).collect();
    let mut dependence = dependence::dependence(&means);
    // A block is no longer than the shortest run.
    let shortest = means.iter().map(Vec::len).min().unwrap_or(1).max(1);
    dependence.block_pieces = dependence.block_pieces.min(shortest);
    let dependence::Dependence { correlation, block_pieces: block, .. } = dependence;
    let groups: [Vec<Range<usize>>; 2] = [0, 1].map(|of| units_of(&sides[of], cut.unit, block));
    let units = [groups[0].len(), groups[1].len()];
    let maxima_ns = [0, 1].map(|of| maxima_of(&groups[of], &pieces));
    let schedules = [0, 1].map(|of| schedules_of(&groups[of], &pieces));
    let worst_judged = maxima::comparable(&schedules[0], &schedules[1]);
    if quantities.is_empty() || units.contains(&0) {
        let spreads = vec![None; quantities.len()];
        return Outcome { spreads, exchange: None, worst_judged: false, units, block, correlation, maxima_ns };
    }
    let spreads = resample::spreads(&table, [&sides[0], &sides[1]], quantities, &dependence, options);
    let grouped = table.grouped(&groups.concat());
    let maxima: Vec<u64> = if worst_judged { maxima_ns.concat() } else { Vec::new() };
    let of_units = Units { table: &grouped, of_a: units[0], all: units[0] + units[1], maxima_ns: &maxima };
    // Another part of the sequence than the resamples drew.
    let deals = exchange::deals(options.resamples, options.level);
    let exchange = exchange::exchange(&of_units, quantities, deals, !options.seed);
    Outcome { spreads, exchange: Some(exchange), worst_judged, units, block, correlation, maxima_ns }
}

/// The columns of each unit: a run, or a block of about equally many pieces.
fn units_of(side: &Side, unit: Unit, block: usize) -> Vec<Range<usize>> {
    let shift = |range: &Range<usize>| range.start + side.columns.start..range.end + side.columns.start;
    match unit {
        Unit::Run => side.runs.iter().map(shift).collect(),
        Unit::Block => {
            let pieces = side.columns.len();
            let blocks = (pieces / block).max(usize::from(pieces > 0));
            (0..blocks)
                .map(|at| side.columns.start + pieces * at / blocks..side.columns.start + pieces * (at + 1) / blocks)
                .collect()
        }
    }
}

/// The maximum of each unit (ns).
fn maxima_of(groups: &[Range<usize>], pieces: &[&Piece]) -> Vec<u64> {
    let of_unit = |unit: &[&Piece]| unit.iter().filter_map(|piece| piece.histogram.max_ns()).max().unwrap_or(0);
    groups.iter().map(|group| of_unit(pieces.get(group.clone()).unwrap_or_default())).collect()
}

/// The schedules of each unit, taken or missed: what its maximum is the greatest of.
fn schedules_of(groups: &[Range<usize>], pieces: &[&Piece]) -> Vec<u64> {
    let of_unit = |unit: &[&Piece]| units::total(unit.iter().map(|piece| piece.schedules()));
    groups.iter().map(|group| of_unit(pieces.get(group.clone()).unwrap_or_default())).collect()
}

/// One row of the table before it is judged.
struct Row {
    name: &'static str,
    share: Option<f64>,
    quantity: Quantity,
    a_ns: f64,
    b_ns: f64,
}

/// Mean, and the quantiles that both sides have samples for.
fn rows([a, b]: &[Histogram; 2]) -> Vec<Row> {
    let (Some(a_mean), Some(b_mean)) = (a.mean_ns(), b.mean_ns()) else { return Vec::new() };
    let mean = Row { name: "mean", share: None, quantity: Quantity::Mean, a_ns: a_mean, b_ns: b_mean };
    let fewest = approx_f64(a.count().min(b.count()));
    let supported = SHARES.into_iter().filter(|(_, share)| *share <= 0.5 || (1.0 - share) * fewest >= LEAST_BEYOND);
    let quantiles = supported.filter_map(|(name, share)| {
        Some(Row {
            name,
            share: Some(share),
            quantity: Quantity::Quantile(share),
            a_ns: approx_f64(a.quantile_ns(share)?),
            b_ns: approx_f64(b.quantile_ns(share)?),
        })
    });
    std::iter::once(mean).chain(quantiles).collect()
}

/// What a CPU loses in each second: how long gaps are tells little without how many there are.
fn stolen(cut: &Cut) -> Option<Row> {
    let table = Table::of(&cut.pieces());
    let [a, b] =
        cut.sides().map(|side| table.value(Quantity::InASecond, &side.columns, &vec![1.0; side.columns.len()]));
    Some(Row { name: "stolen in 1 s", share: None, quantity: Quantity::InASecond, a_ns: a?, b_ns: b? })
}

fn quantity_comparison(row: &Row, judged: &Outcome, place: usize) -> QuantityComparison {
    let difference_ns = row.b_ns - row.a_ns;
    let chance = judged.exchange.as_ref().and_then(|exchange| exchange.chances.get(place));
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
        p_together: chance.map(|chance| chance.p_together),
    }
}

fn worst(cut: &Cut, judged: &Outcome, chance: Option<exchange::Chance>, level: f64) -> WorstComparison {
    let [a, b] = judged.maxima_ns.clone();
    let what = match cut.unit {
        Unit::Run => "repetitions",
        Unit::Block => "pieces of one run each",
    };
    let note = if let Some(too_few) = maxima::too_few(a.len(), b.len(), level, what) {
        too_few
    } else if chance.is_none() {
        format!("not compared: the {what} of one side hold more schedules, and their maxima are larger by that alone")
    } else {
        match cut.unit {
            Unit::Run => "by the ranks of the maxima of repetitions".to_owned(),
            Unit::Block => {
                "by the ranks of the maxima of pieces of the one run on each side: these are not repetitions".to_owned()
            }
        }
    };
    let (a_median_ns, b_median_ns) = (maxima::median(&a), maxima::median(&b));
    WorstComparison {
        unit: cut.unit,
        a_median_ns,
        b_median_ns,
        median_difference_ns: b_median_ns - a_median_ns,
        median_difference_percent: percent_of(a_median_ns, b_median_ns - a_median_ns),
        a_maxima_ns: a,
        b_maxima_ns: b,
        p: chance.map(|chance| chance.p),
        p_together: chance.map(|chance| chance.p_together),
        note,
    }
}

fn all_samples(group: &Group<'_>, latency: &str) -> Histogram {
    let mut all = Histogram::new();
    let series = group.runs.iter().flat_map(|run| &run.series).filter(|series| series.name == latency);
    series.for_each(|series| all.merge(&series.histogram));
    all
}

fn summary(group: &Group<'_>, cut: &[Run], latency: &str) -> GroupSummary {
    let all = all_samples(group, latency);
    let run = |(at, record): (usize, &&Record)| {
        let one = all_samples(&Group { name: String::new(), runs: vec![record] }, latency);
        let (started, ended) = (record.manifest.started.monotonic_ns, record.manifest.ended.monotonic_ns);
        RunSummary {
            id: record.id.clone(),
            node: record.manifest.node.hostname.clone(),
            label: record.label.clone(),
            validity: record.validity.state(),
            reasons: record.validity.reasons().iter().map(reason).collect(),
            samples: one.count(),
            missed_periods: missed(record, latency),
            max_ns: one.max_ns().unwrap_or(0),
            duration_ns: u64::try_from(ended.saturating_sub(started)).unwrap_or(0),
            pieces: cut.get(at).map_or(0, |run| run.pieces.len() as u64),
        }
    };
    GroupSummary {
        name: group.name.clone(),
        validity: group.runs.iter().map(|run| run.validity.state()).max().unwrap_or(ValidityState::Valid),
        runs: group.runs.iter().enumerate().map(run).collect(),
        samples: all.count(),
        missed_periods: group.runs.iter().map(|run| missed(run, latency)).sum(),
        min_ns: all.min_ns().unwrap_or(0),
        max_ns: all.max_ns().unwrap_or(0),
        sd_ns: all.sd_ns().map(tenth),
    }
}

fn reason(reason: &record::Reason) -> String {
    let meaning = reason.code.info().meaning.trim().trim_end_matches('.');
    if reason.detail.is_empty() { meaning.to_owned() } else { format!("{meaning}: {}", reason.detail) }
}

/// `None` where the program that measured does not count them.
fn missed(record: &Record, latency: &str) -> Option<u64> {
    let series = record.series.iter().filter(|series| series.name == latency);
    let is_counted = matches!(record.manifest.origin, record::Origin::Punctual);
    is_counted.then(|| units::total(series.map(|series| series.counters.missed_periods)))
}

/// What a reader has to know beside the numbers.
fn notes(cut: &Cut, groups: &[&GroupSummary; 2], units: [usize; 2], context: &[ContextDifference]) -> Vec<String> {
    let mut notes = Vec::new();
    let grave: Vec<&str> =
        context.iter().map(|one| one.field.as_str()).filter(|field| context::is_grave(field)).collect();
    if !grave.is_empty() {
        notes.push(format!("A and B differ in {}: whatever is shown can come of that.", grave.join(", ")));
    }
    notes.push(match cut.unit {
        Unit::Block => format!(
            "One run on each side, cut into {} and {} pieces: this speaks of these two runs. How much repetitions of one \
             setting differ was not measured; take at least 4 of each to speak of the settings.",
            units[0], units[1]
        ),
        Unit::Run => {
            "Samples are not independent, so whole runs and whole intervals of them were drawn again and exchanged.".to_owned()
        }
    });
    for (group, letter) in groups.iter().zip(["A", "B"]) {
        let degraded = group.runs.iter().filter(|run| run.validity == ValidityState::Degraded).count();
        if degraded > 0 {
            let first = group.runs.iter().find_map(|run| run.reasons.first()).map_or("", String::as_str);
            notes.push(format!("{letter}: {degraded} of {} runs degraded ({first}).", group.runs.len()));
        }
    }
    if groups.iter().any(|group| group.missed_periods.is_some_and(|missed| missed > 0)) {
        notes.push(
            "Late wake-ups swallowed periods: each counts as one sample here, so that mean and quantiles say less of long \
             stalls than of short ones."
                .to_owned(),
        );
    }
    notes
}

/// In per cent with two decimals.
fn percent_of(whole: f64, part: f64) -> Option<f64> {
    (whole > 0.0).then(|| (part / whole * 10_000.0).round() / 100.0)
}

/// To a tenth of a nanosecond: more digits say nothing.
fn tenth(ns: f64) -> f64 {
    (ns * 10.0).round() / 10.0
}
