//! How sure, how long: what each run says of the time to come, made for drawing.

use analyse::tail::{
    ByCause, Claim, ClaimAnswer, ClaimState, Tail, TailOptions, WorstBasis, latencies, span_words, tail,
};
use record::{Figure, Record};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Exact;

/// Resamples for a page, which has to be written at once; `punctual tail` takes more.
const RESAMPLES: u32 = 1_000;

/// What one run says of the time to come.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TailView {
    /// The run's unique name.
    pub run: String,
    /// Its label.
    pub label: String,
    /// What the run foretells, or why it foretells nothing.
    pub sentence: String,
    /// What is known without any model.
    pub model_free: String,
    /// Whether nothing speaks against the process's having stayed the same.
    pub stationary: bool,
    /// The same in a sentence.
    pub stationarity: String,
    /// Where the maxima change most, in measured time (ns); absent where no change is shown.
    pub change_ns: Option<Exact>,
    /// All that speaks against any answer, the gravest first.
    pub refusals: Vec<String>,
    /// Each time that was asked for.
    pub expectations: Vec<ExpectationView>,
    /// What causes say of it; absent where the run was not explained.
    pub by_cause: Option<ByCauseView>,
    /// The answer to a claim.
    pub claim: Option<ClaimView>,
    /// The part of outcomes that an interval holds (0 to 1).
    pub level: f64,
    /// How it was judged.
    pub how: String,
    /// What a reader has to know beside the numbers.
    pub notes: Vec<String>,
    /// Interval maxima in the order of time.
    pub maxima: MaximaView,
    /// The worst case by the time to come; no points where it is refused.
    pub curve: CurveView,
    /// Maxima that were seen, by how long it takes to see one as large.
    pub seen: SeenView,
}

/// The worst case of one time to come.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExpectationView {
    /// The time (ns).
    pub horizon_ns: Exact,
    /// The time in words.
    pub horizon: String,
    /// The lower end of the interval (ns); absent where it is refused.
    pub low_ns: Option<f64>,
    /// The middle (ns).
    pub typical_ns: Option<f64>,
    /// The upper end (ns).
    pub high_ns: Option<f64>,
    /// The chance that it exceeds the worst that was seen, at the most and without any model (0 to 1).
    pub model_free_chance: Option<f64>,
    /// What the answer goes by, in a few words; absent where it is refused.
    pub basis: Option<String>,
    /// Whether only the upper end is known, since the time is shorter than the run's intervals.
    pub only_bound: bool,
    /// Why there is no answer.
    pub refusal: Option<String>,
}

/// The causes of what lies above a level, and what would be left without them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ByCauseView {
    /// What removing a cause would buy, in a sentence, or why that cannot be told.
    pub sentence: String,
    /// Above this nearly every sample has its cause (ns).
    pub complete_above_ns: Exact,
    /// The causes, the one with the worst sample first.
    pub causes: Vec<CauseTailView>,
}

/// One cause.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CauseTailView {
    /// In words.
    pub cause: String,
    /// Its samples above the level.
    pub samples: Exact,
    /// How often it comes in a day: the ends of a 90 % interval.
    pub per_day_low: f64,
    /// The upper end.
    pub per_day_high: f64,
    /// The worst of them (ns).
    pub worst_ns: Exact,
    /// The worst that would be left without it and those before it (ns); absent where that cannot be told.
    pub left_ns: Option<Exact>,
}

/// The answer to a claim.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClaimView {
    /// In a word: `shown`, `broken`, …
    pub word: String,
    /// Whether it is shown.
    pub shown: bool,
    /// In a sentence.
    pub sentence: String,
    /// The limit (ns).
    pub limit_ns: Exact,
    /// The time to come (ns).
    pub horizon_ns: Exact,
}

/// Interval maxima in the order of time, columns of equal length.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct MaximaView {
    /// Start of each, in measured time (ns).
    pub start_ns: Vec<Exact>,
    /// The maximum of each (ns).
    pub max_ns: Vec<Exact>,
    /// The length of one (ns).
    pub length_ns: Exact,
    /// Start of equal parts of the run (ns).
    pub part_start_ns: Vec<Exact>,
    /// The median maximum of each part (ns).
    pub part_median_ns: Vec<f64>,
}

/// The worst case by the time to come, columns of equal length.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct CurveView {
    /// Times to come (ns), ascending.
    pub horizon_ns: Vec<Exact>,
    /// The lower end of each interval (ns).
    pub low_ns: Vec<f64>,
    /// The middle (ns).
    pub typical_ns: Vec<f64>,
    /// The upper end (ns).
    pub high_ns: Vec<f64>,
}

/// Maxima that were seen, columns of equal length.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SeenView {
    /// How long it takes to see one as large (ns), ascending.
    pub horizon_ns: Vec<Exact>,
    /// The maximum (ns).
    pub max_ns: Vec<Exact>,
}

/// Of each latency of each wake-up run and of each followed program, those under load first, since worst cases live there;
/// the claim is the one of the run under load.
pub(crate) fn views(runs: &[Record], answered: Option<&ClaimAnswer>) -> Vec<TailView> {
    let has_wakeups = |run: &&Record| run.measurement.kind().figure == Figure::Wakeups;
    let mut wakeups: Vec<&Record> = runs.iter().filter(has_wakeups).collect();
    let is_loaded = |run: &Record| !matches!(run.manifest().load.name.as_str(), "" | "none");
    wakeups.sort_by_key(|run| !is_loaded(run));
    let views = |run: &&Record| {
        let claim = answered.filter(|_| is_loaded(run)).map(|answer| answer.claim);
        latencies(run).into_iter().filter_map(|latency| view(run, latency, claim)).collect::<Vec<_>>()
    };
    wakeups.iter().flat_map(views).collect()
}

fn view(run: &Record, latency: &str, claim: Option<Claim>) -> Option<TailView> {
    let latency = Some(latency.to_owned());
    let options = TailOptions { resamples: RESAMPLES, claim, latency, ..TailOptions::default() };
    let told = tail(&[run], &options).ok()?;
    let of = if run.label.is_empty() { run.measurement.name() } else { run.label.as_str() };
    // Of a kind with two latencies readers have to know which one an answer is of.
    let label = if run.measurement.kind().predicted.len() > 1 {
        format!("{of}, {}", told.latency.replace('_', " "))
    } else {
        of.to_owned()
    };
    let how = told.how();
    let Tail { stationarity, maxima, curve, expectations, .. } = told;
    let exact = |values: &[u64]| values.iter().map(|&value| Exact::from(value)).collect();
    let expectation = |one: &analyse::tail::Expectation| ExpectationView {
        horizon_ns: one.horizon_ns.into(),
        horizon: span_words(one.horizon_ns),
        low_ns: one.worst.map(|worst| worst.low_ns),
        typical_ns: one.worst.map(|worst| worst.typical_ns),
        high_ns: one.worst.map(|worst| worst.high_ns),
        model_free_chance: one.model_free_chance,
        basis: one.basis.map(|basis| basis.word().to_owned()),
        only_bound: one.basis == Some(WorstBasis::Interval),
        refusal: one.refusal.as_ref().map(analyse::tail::Refusal::words),
    };
    Some(TailView {
        run: run.id.clone(),
        label,
        sentence: told.sentence,
        model_free: told.model_free,
        stationary: stationarity.stationary,
        stationarity: stationarity.sentence,
        change_ns: stationarity.change_ns.map(Exact::from),
        refusals: told.refusals.iter().map(analyse::tail::Refusal::words).collect(),
        expectations: expectations.iter().map(expectation).collect(),
        by_cause: told.by_cause.as_ref().map(by_cause),
        claim: told.claim.map(|answer| ClaimView {
            word: answer.state.word().to_owned(),
            shown: answer.state == ClaimState::Shown,
            sentence: match answer.state {
                // The conclusion above it told why.
                ClaimState::CannotBeTold => format!("{}, for the reason above.", answer.claim),
                _ => answer.sentence,
            },
            limit_ns: answer.claim.limit_ns.into(),
            horizon_ns: answer.claim.horizon_ns.into(),
        }),
        level: told.method.level,
        how,
        notes: told.notes,
        maxima: MaximaView {
            start_ns: exact(&maxima.start_ns),
            max_ns: exact(&maxima.max_ns),
            length_ns: maxima.length_ns.into(),
            part_start_ns: exact(&stationarity.part_start_ns),
            part_median_ns: stationarity.part_median_ns,
        },
        seen: SeenView { horizon_ns: exact(&curve.seen_horizon_ns), max_ns: exact(&curve.seen_max_ns) },
        curve: CurveView {
            horizon_ns: exact(&curve.horizon_ns),
            low_ns: curve.low_ns,
            typical_ns: curve.typical_ns,
            high_ns: curve.high_ns,
        },
    })
}

fn by_cause(told: &ByCause) -> ByCauseView {
    let cause = |cause: &analyse::tail::CauseTail| {
        let words = cause.words();
        let left = told.without.iter().find(|without| without.causes.last() == Some(&words));
        CauseTailView {
            samples: cause.samples.into(),
            per_day_low: cause.per_day[0],
            per_day_high: cause.per_day[2],
            worst_ns: cause.worst_ns.into(),
            left_ns: left.map(|left| left.worst_left_ns.into()),
            cause: words,
        }
    };
    ByCauseView {
        sentence: told.sentence.clone(),
        complete_above_ns: told.complete_above_ns.into(),
        causes: told.causes.iter().map(cause).collect(),
    }
}

#[cfg(test)]
mod tests {
    use record::{Histogram, Interval, Measurement, Series, Validity};

    use super::*;

    /// A run of two hours of a followed program; `names` are its latencies.
    fn followed(names: &[&str]) -> Record {
        let mut record = crate::sample::run(Validity::default());
        record.measurement = Measurement::App;
        record.label = "motor".to_owned();
        let series = |name: &str| {
            let mut series = Series { name: name.to_owned(), ..Series::default() };
            let mut step = name.len() as u64;
            for number in 0..120_u64 {
                let mut histogram = Histogram::new();
                for _ in 0..50 {
                    step = step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let share = (units::approx_f64(step >> 33) + 1.0) / 2_147_483_649.0;
                    histogram.record_n(units::round_u64(20_000.0 - 2_000.0 * share.ln()), 1);
                }
                series.histogram.merge(&histogram);
                let length_ns = 60_000_000_000;
                series.intervals.push(Interval {
                    start_offset_ns: number * length_ns,
                    length_ns,
                    missed_periods: 0,
                    histogram,
                    ..Interval::default()
                });
            }
            series
        };
        record.series = names.iter().map(|name| series(name)).collect();
        record
    }

    #[test]
    fn a_followed_program_is_told_of_by_each_latency_that_it_has() {
        let told = views(&[followed(&["runnable_to_running", "scheduled_to_returned"])], None);
        let labels: Vec<&str> = told.iter().map(|view| view.label.as_str()).collect();
        assert_eq!(labels, ["motor, scheduled to returned", "motor, runnable to running"]);
        for view in &told {
            assert!(view.sentence.starts_with("Within 1 "), "{}", view.sentence);
            assert!(!view.curve.horizon_ns.is_empty() && !view.maxima.max_ns.is_empty());
        }
        let told = views(&[followed(&["runnable_to_running"])], None);
        assert_eq!(told.len(), 1);
        // Without intervals it says why there is no answer, and does not go without a word.
        let mut short = followed(&["runnable_to_running"]);
        short.series[0].intervals.clear();
        let told = views(&[short], None);
        assert!(told[0].sentence.starts_with("How bad it can get cannot be told"), "{}", told[0].sentence);
    }

    #[test]
    fn a_measurement_without_a_worst_case_of_wake_ups_has_none() {
        let mut record = followed(&["scheduled_to_woke"]);
        record.measurement = Measurement::Clock;
        assert!(views(&[record], None).is_empty());
    }
}
