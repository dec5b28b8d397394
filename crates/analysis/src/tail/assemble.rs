//! From records to the document.

use record::{Measurement, Record, Sampling, ValidityState};
use units::format::{latency, span};
use units::{approx_f64, round_u64};

use super::answer::{When, answer, model_free_chance};
use super::blocks::Blocks;
use super::by_cause::{Asked, ByCauses};
use super::claim::{Claim, ClaimAnswer};
use super::document::{
    Curve, Expectation, Fit, FitSummary, Maxima, Observed, Stationarity, TAIL_SCHEMA, TAIL_VERSION, Tail, TailMethod,
    TailRun, WorstBasis, WorstCase,
};
use super::falling::Falling;
use super::heavy::shape_bounds;
use super::judge::{Effort, Judgment};
use super::prediction::{Expected, Prediction};
use super::refusal::{Refusal, RefusalCode};
use super::resample::Fits;
use super::span::{DAY_NS, YEAR_NS};
use super::{clocks, gev, gpd, latencies, words};
use crate::float;

/// Points of the picture's curve.
const CURVE: i32 = 24;
/// Maxima that the picture shows.
const SEEN: usize = 200;

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct TailOptions {
    /// Times to come (ns, above 0); none are an hour, a day and a year, and ten times the run where that is shorter.
    pub horizons_ns: Vec<u64>,
    /// The part of outcomes that an interval shall hold (0.5 to 0.99).
    pub level: f64,
    /// How often to resample.
    pub resamples: u32,
    /// Where the random numbers begin.
    pub seed: u64,
    /// A claim to answer.
    pub claim: Option<Claim>,
    /// The latency by its two points; absent for the first one that the runs have.
    pub latency: Option<String>,
}

impl Default for TailOptions {
    fn default() -> Self {
        Self { horizons_ns: Vec::new(), level: 0.9, resamples: 2_000, seed: 1, claim: None, latency: None }
    }
}

/// Why nothing can be asked of some runs at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TailError {
    /// No run was given.
    #[error("there is no run: name at least one record")]
    NoRun,
    /// Runs of different measurements, or of one that has no worst case.
    #[error(
        "{0} is a run of '{1}': a tail is predicted from runs of one measurement; {kinds} have one",
        kinds = record::names_of_kinds(|kind| !kind.predicted.is_empty())
    )]
    Measurement(String, &'static str),
    /// Runs of several machines.
    #[error("{a} was taken on {a_node}, {b} on {b_node}: a tail is predicted for one machine; name only its runs")]
    Nodes {
        /// Label of one run.
        a: String,
        /// Machine of that run.
        a_node: String,
        /// Label of another run.
        b: String,
        /// The other machine.
        b_node: String,
    },
    /// Runs under different loads.
    #[error(
        "{a} ran under the load '{a_load}', {b} under '{b_load}': a tail is predicted for one condition; name only its runs"
    )]
    Loads {
        /// Label of one run.
        a: String,
        /// What else ran.
        a_load: String,
        /// Label of another run.
        b: String,
        /// What else ran then.
        b_load: String,
    },
    /// A latency that a run does not have.
    #[error("{run} has no latency '{wanted}': name one of {has}")]
    Latency {
        /// Label of the run.
        run: String,
        /// What was asked for.
        wanted: String,
        /// What it has.
        has: String,
    },
    /// The same run twice.
    #[error("the run {0} is named twice: it would count as two")]
    Twice(String),
}

/// The worst case to be expected, out of the runs of one machine under one condition.
///
/// # Errors
/// Where there is no run, or the runs are of different measurements, machines or loads, or one is named twice.
pub fn tail(records: &[&Record], options: &TailOptions) -> Result<Tail, TailError> {
    let mut records = records.to_vec();
    records.sort_by_key(|record| record.manifest().started.realtime.as_ns());
    let (measurement, latency_name) = check_one_condition(&records, options.latency.as_deref())?;
    let blocks = Blocks::from_records(&records, latency_name);
    let effort = Effort { resamples: options.resamples, seed: options.seed };
    let clock_error = clocks::error(&records, latency_name);
    let judgment = Judgment::new(&blocks, invalid(&records).or_else(|| clocks::refusal(clock_error)), &effort);
    let (worst_ns, samples) = worst(&records, latency_name);
    let prediction = judgment.prediction(1.0);
    let mut horizons_ns = options.horizons_ns.clone();
    if horizons_ns.is_empty() {
        horizons_ns = usual(blocks.measured_ns());
    }
    horizons_ns.sort_unstable();
    horizons_ns.dedup();
    let of_order = judgment.refusals.iter().find(|refusal| refusal.code.is_of_order());
    let observed = observed(&judgment, worst_ns, samples);
    let causes = ByCauses::new(&records, latency_name, effort).filter(|_| of_order.is_none());
    let mut most = WorstCase { low_ns: 0.0, typical_ns: 0.0, high_ns: 0.0 };
    let answered = |&horizon_ns: &u64| {
        let outlook = judgment.outlook(prediction.as_ref(), horizon_ns, options.level);
        let chance = model_free_chance(observed.measured_ns, horizon_ns.max(observed.interval_ns));
        let chance = of_order.is_none().then(|| (chance * 1e6).round() / 1e6);
        let mut one = expectation(horizon_ns, outlook, chance);
        let by_cause = causes.as_ref().filter(|_| one.worst.is_none());
        let by_cause = by_cause.and_then(|all| all.expected(horizon_ns, observed.measured_ns, options.level));
        if let Some(worst) = by_cause {
            (one.worst, one.basis, one.refusal) = (Some(worst), Some(WorstBasis::Causes), None);
        }
        // A longer time is never better, whatever answers it.
        if let Some(worst) = &mut one.worst {
            worst.low_ns = worst.low_ns.max(most.low_ns);
            worst.typical_ns = worst.typical_ns.max(most.typical_ns);
            worst.high_ns = worst.high_ns.max(most.high_ns);
            most = *worst;
        }
        one
    };
    let expectations: Vec<Expectation> = horizons_ns.iter().map(answered).collect();
    let asked = Asked { horizons_ns: &horizons_ns, level: options.level, effort };
    let by_cause = causes.as_ref().map(|causes| causes.document(&blocks, &expectations, asked));
    let stationarity = stationarity(&judgment);
    let fits = fits(&judgment);
    let ask = |claim| answer(&judgment, worst_ns.unwrap_or(0), claim, When::Once, options.level);
    let claim = options.claim.map(|claim| clocks::answer(clock_error, claim, ask));
    let longest_ns = horizons_ns.iter().chain(options.claim.iter().map(|claim| &claim.horizon_ns)).copied().max();
    Ok(Tail {
        schema: TAIL_SCHEMA.to_owned(),
        version: TAIL_VERSION,
        measurement,
        latency: latency_name.to_owned(),
        node: records.first().map_or_else(String::new, |record| record.manifest().node.hostname.clone()),
        sentence: words::sentence(&expectations, &judgment.refusals, &observed, options.level),
        model_free: words::model_free(&observed, of_order, &horizons_ns),
        runs: records.iter().map(|record| run(record, latency_name)).collect(),
        stationarity,
        curve: curve(&judgment, prediction.as_ref(), longest_ns.unwrap_or(0), options.level),
        maxima: Maxima {
            start_ns: judgment.blocks.blocks.iter().map(|block| block.start_ns).collect(),
            max_ns: judgment.blocks.blocks.iter().map(|block| block.max_ns).collect(),
            length_ns: judgment.blocks.block_ns,
        },
        notes: clocks::note(clock_error)
            .into_iter()
            .chain(notes(&records, latency_name, &observed, fits.as_ref()))
            .collect(),
        fits,
        observed,
        expectations,
        by_cause,
        claim,
        method: TailMethod {
            level: options.level,
            resamples: options.resamples,
            seed: options.seed,
            block_neighbors: judgment.neighbors() as u64,
        },
        refusals: judgment.refusals,
    })
}

/// What people ask of, and what even a short run can be good for.
fn usual(measured_ns: u64) -> Vec<u64> {
    const HOUR_NS: u64 = DAY_NS / 24;
    const MINUTE_NS: u64 = HOUR_NS / 60;
    let times = measured_ns.saturating_mul(10);
    // In whole minutes, where it has any: nobody asks of 5 min 3 s.
    let near = if times > MINUTE_NS { times - times % MINUTE_NS } else { times };
    let mut horizons_ns = vec![HOUR_NS, DAY_NS, YEAR_NS];
    if (1..HOUR_NS).contains(&near) {
        horizons_ns.insert(0, near);
    }
    horizons_ns
}

/// The worst of a latency (ns), `None` without a sample of it, and its samples; of a run of another program's, whose latency has
/// another name, those of all.
fn worst(records: &[&Record], latency: &str) -> (Option<u64>, u64) {
    let series = || records.iter().flat_map(|record| record.series.iter().map(|one| (record.sign(one), one)));
    let is_named = series().any(|(_, one)| one.name == latency);
    let of_it = series().filter(|(_, one)| !is_named || one.name == latency);
    let worst_ns = of_it.clone().filter_map(|(sign, one)| one.judged_samples(sign).max_ns()).max();
    (worst_ns, units::total(of_it.map(|(_, one)| one.taken())))
}

/// Judges blocks that are still being measured.
pub(super) fn so_far(blocks: &Blocks, resamples: u32) -> Judgment {
    Judgment::new(blocks, None, &Effort { resamples, seed: 1 })
}

/// Answers a claim of them.
pub(super) fn answered(judgment: &Judgment, worst_ns: u64, claim: Claim, when: When) -> ClaimAnswer {
    answer(judgment, worst_ns, claim, when, TailOptions::default().level)
}

pub(super) fn check_one_condition(
    records: &[&Record],
    wanted: Option<&str>,
) -> Result<(Measurement, &'static str), TailError> {
    let first = records.first().ok_or(TailError::NoRun)?;
    if first.measurement.kind().predicted.is_empty() {
        return Err(TailError::Measurement(name(first), first.measurement.name()));
    }
    for (number, other) in (1..).zip(records.iter().skip(1)) {
        if other.measurement != first.measurement {
            return Err(TailError::Measurement(name(other), other.measurement.name()));
        }
        let nodes = [first, other].map(|record| record.manifest().node.hostname.clone());
        if nodes[0] != nodes[1] {
            let nodes = nodes.map(|node| if node.is_empty() { "an unknown machine".to_owned() } else { node });
            let [a_node, b_node] = nodes;
            return Err(TailError::Nodes { a: name(first), a_node, b: name(other), b_node });
        }
        let loads = [first, other].map(|record| record.manifest().load.name.clone());
        if loads[0] != loads[1] {
            let [a_load, b_load] = loads;
            return Err(TailError::Loads { a: name(first), a_load, b: name(other), b_load });
        }
        if records.iter().take(number).any(|earlier| !earlier.id.is_empty() && earlier.id == other.id) {
            return Err(TailError::Twice(name(other)));
        }
    }
    // Of several runs all must have it.
    let has = |name: &str| records.iter().all(|record| latencies(record).contains(&name));
    let latency = latencies(first).into_iter().find(|name| wanted.map_or_else(|| has(name), |wanted| *name == wanted));
    let lacking = || TailError::Latency {
        run: name(first),
        wanted: wanted.unwrap_or("the same as the others").to_owned(),
        has: latencies(first).join(", "),
    };
    let latency = latency.ok_or_else(lacking)?;
    match records.iter().find(|record| !latencies(record).contains(&latency)) {
        Some(other) => {
            Err(TailError::Latency { run: name(other), wanted: latency.to_owned(), has: latencies(other).join(", ") })
        }
        None => Ok((first.measurement, latency)),
    }
}

/// The name of a run in an error: its unique identifier, or of an import, where that says nothing, its label.
fn name(record: &Record) -> String {
    let label = Some(&record.label).filter(|label| record.manifest().is_imported() && !label.is_empty());
    label.unwrap_or(&record.id).clone()
}

fn invalid(records: &[&Record]) -> Option<Refusal> {
    let run = records.iter().find(|record| record.validity.is_invalid())?;
    let reason = run.validity.reasons().first();
    Some(Refusal {
        code: RefusalCode::InvalidRun,
        reason: format!(
            "The run {} is invalid. {}",
            run.id,
            reason.map_or("", |reason| reason.code.info().meaning).trim()
        ),
        more_ns: None,
        remedy: reason.map_or_else(
            || "Measure again.".to_owned(),
            |reason| format!("Remedy: {}; more hours would not help.", reason.code.info().remedy),
        ),
    })
}

fn run(record: &Record, latency: &str) -> TailRun {
    let manifest = &record.manifest();
    let intervals = record.series.iter().filter(|series| series.name == latency).map(|series| series.intervals.len());
    TailRun {
        id: record.id.clone(),
        label: record.label.clone(),
        validity: record.validity.state(),
        duration_ns: manifest.measured_ns(),
        intervals: intervals.max().unwrap_or(0) as u64,
    }
}

fn observed(judgment: &Judgment, worst_ns: Option<u64>, in_whole: u64) -> Observed {
    let blocks = &judgment.blocks;
    let count = float(blocks.blocks.len());
    let independent = judgment.order.as_ref().map_or(0.0, |order| order.independent);
    let extremal_index = judgment.fits.as_ref().map_or(1.0, |(center, _)| center.extremal_index);
    let mut samples = blocks.samples();
    if blocks.blocks.is_empty() {
        samples = in_whole;
    }
    Observed {
        measured_ns: blocks.measured_ns(),
        intervals: blocks.blocks.len() as u64,
        interval_ns: blocks.block_ns,
        worst_ns,
        samples,
        independent_intervals: tenth(independent),
        independent_samples: (approx_f64(samples) * extremal_index * independent / count.max(1.0)).round(),
        extremal_index: thousandth(extremal_index),
    }
}

fn stationarity(judgment: &Judgment) -> Stationarity {
    let Some(order) = &judgment.order else {
        let sentence = "Unknown: the order in time is missing.".to_owned();
        return Stationarity { sentence, ..Stationarity::default() };
    };
    let speaks_against = judgment.refusals.iter().find(|refusal| {
        matches!(refusal.code, RefusalCode::NotStationary | RefusalCode::TooFewTurns | RefusalCode::IsolatedCluster)
    });
    let start_of = |block: usize| judgment.blocks.blocks.get(block).map_or(0, |block| block.start_ns);
    let changed = speaks_against.is_some_and(|refusal| refusal.code == RefusalCode::NotStationary);
    let mut stationarity = Stationarity {
        stationary: speaks_against.is_none(),
        sentence: String::new(),
        p: thousandth(order.level_p),
        highest_p: thousandth(order.highest_p),
        correlation: thousandth(order.dependence.correlation),
        change_ns: changed.then(|| start_of(order.change)),
        turns: order.turns.map(|turns| turns as u64),
        part_start_ns: order.parts.iter().map(|(first, _)| start_of(*first)).collect(),
        part_median_ns: order.parts.iter().map(|(_, median)| *median).collect(),
    };
    stationarity.sentence = words::stationarity(&stationarity, speaks_against, judgment.blocks.blocks.len() as u64);
    stationarity
}

/// The worst case of a future time span in the document's form.
pub(super) fn expectation(
    horizon_ns: u64,
    outlook: Result<(Expected, WorstBasis), Refusal>,
    model_free_chance: Option<f64>,
) -> Expectation {
    let (worst, basis, refusal) = match outlook {
        Ok((expected, basis)) => (Some(worst_case(expected)), Some(basis), None),
        Err(refusal) => (None, None, Some(refusal)),
    };
    Expectation { horizon_ns, worst, basis, refusal, model_free_chance }
}

pub(super) fn worst_case(expected: Expected) -> WorstCase {
    WorstCase { low_ns: tenth(expected.low), typical_ns: tenth(expected.typical), high_ns: tenth(expected.high) }
}

fn fits(judgment: &Judgment) -> Option<FitSummary> {
    let (center, resamples) = judgment.fits.as_ref()?;
    let sample = judgment.sample.as_ref()?;
    let fit = |tail: &Falling, shape: fn(&Fits) -> f64| {
        let (low, high) = shape_bounds(resamples, shape);
        Fit { shape_low: Some(thousandth(low)), shape_high: Some(thousandth(high)), ..plain(tail) }
    };
    let maxima = judgment.fitted.maxima();
    let above_body = center.is_above_body;
    let gpd_start = (center.gpd.scale, center.gpd.shape);
    let gpd_likelihood = gpd::by_likelihood(&sample.excesses(), gpd_start)
        .map(|(scale, shape)| plain(&Falling { location: sample.threshold, scale, shape, rate: 1.0 }));
    Some(FitSummary {
        gev: fit(&if above_body { center.gev.for_maxima() } else { center.gev }, |fits| fits.gev.shape),
        gpd: fit(&center.gpd, |fits| fits.gpd.shape),
        gev_likelihood: gev::by_likelihood(&maxima, &center.gev).map(|tail| plain(&tail)).filter(|_| !above_body),
        gpd_likelihood,
        above_body,
        blocks: judgment.fitted.blocks.len() as u64,
        block_ns: judgment.fitted.block_ns,
        peaks: round_u64(sample.peaks()),
    })
}

fn plain(tail: &Falling) -> Fit {
    Fit {
        location_ns: tenth(tail.location),
        scale_ns: tenth(tail.scale),
        shape: thousandth(tail.shape),
        shape_low: None,
        shape_high: None,
    }
}

/// The picture's curve, up to the longest time that was asked for and can be answered.
fn curve(judgment: &Judgment, prediction: Option<&Prediction>, longest_ns: u64, level: f64) -> Curve {
    let mut curve = Curve::default();
    let blocks = &judgment.blocks;
    let mut maxima: Vec<u64> = blocks.blocks.iter().map(|block| block.max_ns).collect();
    maxima.sort_unstable_by_key(|&max| std::cmp::Reverse(max));
    let count = float(maxima.len());
    for (max_ns, place) in maxima.into_iter().take(SEEN).zip(0..) {
        // Gringorten's plotting positions (Journal of Geophysical Research 68, 1963).
        let return_blocks = (count + 0.12) / (float(place) + 1.0 - 0.44);
        curve.seen_horizon_ns.push(round_u64(return_blocks * approx_f64(blocks.block_ns)));
        curve.seen_max_ns.push(max_ns);
    }
    curve.seen_horizon_ns.reverse();
    curve.seen_max_ns.reverse();
    let Some(prediction) = prediction else { return curve };
    let from = approx_f64(blocks.block_ns).max(1.0);
    let to = approx_f64(longest_ns.max(blocks.measured_ns()));
    for step in 0..=CURVE {
        let horizon_ns = round_u64(from * (to / from).powf(f64::from(step) / f64::from(CURVE)));
        let Ok((expected, _)) = judgment.outlook(Some(prediction), horizon_ns, level) else { break };
        curve.horizon_ns.push(horizon_ns);
        curve.low_ns.push(tenth(expected.low));
        curve.typical_ns.push(tenth(expected.typical));
        curve.high_ns.push(tenth(expected.high));
    }
    curve
}

fn notes(records: &[&Record], latency_name: &str, observed: &Observed, fits: Option<&FitSummary>) -> Vec<String> {
    let mut notes = vec!["What never occurred in the run cannot be predicted.".to_owned()];
    if records.iter().any(|record| record.measurement.kind().sampling == Sampling::Program) {
        notes.push(format!("Of {latency_name}, of all followed threads that have it together."));
    }
    let degraded = records.iter().filter(|record| record.validity.state() == ValidityState::Degraded).count();
    if degraded > 0 {
        let whose = if records.len() == 1 { "The run is".to_owned() } else { format!("{degraded} runs are") };
        notes.push(format!("{whose} degraded: what is said of the time to come is of the machine as it was measured."));
    }
    let mut profiles: Vec<_> = records.iter().map(|record| &record.manifest().profile_sha256).collect();
    profiles.sort();
    profiles.dedup();
    if profiles.len() > 1 {
        notes.push("The runs were taken with different configurations of the machine.".to_owned());
    }
    let in_blocks = observed.worst_ns.unwrap_or(0);
    let series = records.iter().flat_map(|record| record.series.iter().map(|one| (record.sign(one), one)));
    let of_latency = series.filter(|(_, series)| series.name == latency_name);
    let maxima =
        of_latency.flat_map(|(sign, series)| series.intervals.iter().filter_map(move |one| one.worst_ns(sign)));
    let most = maxima.map(i64::unsigned_abs).max().unwrap_or(0);
    if most < in_blocks && observed.intervals > 0 {
        notes.push(format!("The worst, {}, stands in no interval.", latency(in_blocks)));
    }
    if let Some(fits) = fits.filter(|fits| fits.above_body) {
        notes.push(format!(
            "Only what lies above {} was fitted: all maxima together are of several kinds.",
            latency(fits.gpd.location_ns)
        ));
    }
    if records.len() > 1 {
        notes.push(format!(
            "{} runs, {} in all, as if nothing lay between them.",
            records.len(),
            span(observed.measured_ns)
        ));
    }
    notes
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn thousandth(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}
