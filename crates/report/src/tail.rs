//! The view of predicted worst cases ("How sure, how long"), made for drawing.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

use analysis::tail::{Claim, ClaimAnswer, ClaimState, Tail, TailOptions, latencies, tail};
use record::Record;

use crate::exact::Exact;
use crate::view::{ByCauseView, ClaimView, CurveView, ExpectationView, MaximaView, SeenView, TailView};

/// Number of resamples for a page, which must be written quickly; `punctual tail` uses more.
const RESAMPLES: u32 = 1_000;

/// The predictions of each latency of each wake-up run and followed program, those under load first, because worst cases
/// occur there. The answered claim is added to the runs under load.
pub(crate) fn views(runs: &[Record], answered: Option<&ClaimAnswer>) -> Vec<TailView> {
    let has_wakeups = |run: &&Record| run.measurement.kind().figure.is_of_latencies();
    let mut wakeups: Vec<&Record> = runs.iter().filter(has_wakeups).collect();
    let is_loaded = |run: &Record| !matches!(run.manifest().load.name.as_str(), "" | "none");
    wakeups.sort_by_key(|run| !is_loaded(run));
    let views = |run: &&Record| {
        let claim = answered.filter(|_| is_loaded(run)).map(|answer| answer.claim);
        latencies(run).into_iter().filter_map(|latency| view(run, latency, claim)).collect::<Vec<_>>()
    };
    on_all_cpus(&wakeups, &views).into_iter().flatten().collect()
}

/// Applies `of` to each, in order, on as many CPUs as this program may use: fifty predictions take seconds of one.
fn on_all_cpus<T: Sync, R: Send>(all: &[T], of: &(impl Fn(&T) -> R + Sync)) -> Vec<R> {
    let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let work = || {
        let place = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|place| *place < all.len());
        std::iter::from_fn(place).map(|place| (place, of(&all[place]))).collect::<Vec<_>>()
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..cpus.min(all.len())).map(|_| scope.spawn(work)).collect();
        let own = work();
        let joined = others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.fold(own, |mut done, more| {
            done.extend(more);
            done
        })
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

fn view(run: &Record, latency: &str, claim: Option<Claim>) -> Option<TailView> {
    let latency = Some(latency.to_owned());
    let options = TailOptions { resamples: RESAMPLES, claim, latency, ..TailOptions::default() };
    let prediction = tail(&[run], &options).ok()?;
    let name = if run.label.is_empty() { run.measurement.name() } else { run.label.as_str() };
    // If the kind has several latencies, the label must name the one that is predicted.
    let label = if run.measurement.kind().predicted.len() > 1 {
        format!("{name}, {}", prediction.latency.replace('_', " "))
    } else {
        name.to_owned()
    };
    let how = prediction.how();
    let tables = summary::tail::tables(&prediction);
    let Tail { stationarity, maxima, curve, expectations, by_cause, .. } = prediction;
    let exact = |values: &[u64]| values.iter().map(|&value| Exact::from(value)).collect();
    let expectations = expectations.iter().zip(tables.expectations).map(|(one, words)| ExpectationView {
        horizon_ns: one.horizon_ns.into(),
        low_ns: one.worst.map(|worst| worst.low_ns),
        typical_ns: one.worst.map(|worst| worst.typical_ns),
        high_ns: one.worst.map(|worst| worst.high_ns),
        words,
    });
    Some(TailView {
        run: run.id.clone(),
        label,
        sentence: prediction.sentence,
        model_free: prediction.model_free,
        stationary: stationarity.stationary,
        stationarity: stationarity.sentence,
        change_ns: stationarity.change_ns.map(Exact::from),
        refusals: prediction.refusals.iter().map(analysis::tail::Refusal::words).collect(),
        expectations: expectations.collect(),
        by_cause: by_cause.zip(tables.causes).map(|(one, table)| ByCauseView { sentence: one.sentence, table }),
        interval: tables.interval,
        claim: prediction.claim.map(|answer| ClaimView {
            word: answer.state.word().to_owned(),
            shown: answer.state == ClaimState::Shown,
            sentence: match answer.state {
                // The page shows the reason above the claim already.
                ClaimState::CannotBeTold => format!("{}, for the reason above.", answer.claim),
                _ => answer.sentence,
            },
            limit_ns: answer.claim.limit_ns.into(),
            horizon_ns: answer.claim.horizon_ns.into(),
        }),
        level: prediction.method.level,
        how,
        notes: prediction.notes,
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

#[cfg(test)]
mod tests {
    use record::{Histogram, Interval, Measurement, Series, Validity};

    use super::*;

    /// A two-hour run of a followed program with the given latencies.
    fn followed(names: &[&str]) -> Record {
        let mut record = samples::run(Validity::default());
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
    fn each_latency_of_a_followed_program_has_its_own_prediction() {
        let both = views(&[followed(&["runnable_to_running", "scheduled_to_returned"])], None);
        let labels: Vec<&str> = both.iter().map(|view| view.label.as_str()).collect();
        assert_eq!(labels, ["motor, scheduled to returned", "motor, runnable to running"]);
        for view in &both {
            assert!(view.sentence.starts_with("Within 1 "), "{}", view.sentence);
            assert!(!view.curve.horizon_ns.is_empty() && !view.maxima.max_ns.is_empty());
        }
        let one = views(&[followed(&["runnable_to_running"])], None);
        assert_eq!(one.len(), 1);
        // Without intervals there is no prediction, but the view states the reason.
        let mut short = followed(&["runnable_to_running"]);
        short.series[0].intervals.clear();
        let refused = views(&[short], None);
        assert!(refused[0].sentence.starts_with("The worst case cannot be predicted"), "{}", refused[0].sentence);
    }

    #[test]
    fn a_kind_without_wake_ups_has_no_predictions() {
        let mut record = followed(&["scheduled_to_woke"]);
        record.measurement = Measurement::Clock;
        assert!(views(&[record], None).is_empty());
    }
}
