//! The sentences of a prediction; terminal and web page print the same ones.

use units::{approx_f64, format};

use super::answer::model_free_chance;
use super::claim::percent;
use super::document::{Expectation, Observed, Stationarity, Tail, WorstBasis};
use super::refusal::Refusal;
use super::span::span_words;
use units::format::{latency, span};

/// The conclusion about the longest horizon that has an answer, or the reason why none has one.
pub(super) fn sentence(expectations: &[Expectation], refusals: &[Refusal], observed: &Observed, level: f64) -> String {
    let answered = expectations.iter().rev().find_map(|one| Some((one.horizon_ns, one.worst?, one.basis?)));
    let seen = if observed.intervals == 0 {
        // Without intervals nothing says how long it took to see the worst.
        worst_of_samples(observed)
    } else {
        format!("{} saw {}", span(observed.measured_ns), worst_words(observed))
    };
    if let Some((horizon_ns, worst, basis)) = answered {
        let too_far = expectations.iter().rev().find_map(|one| {
            let refusal = one.refusal.as_ref()?;
            Some(format!(" For {} there is no answer: {}", span_words(one.horizon_ns), refusal.words()))
        });
        let by = match basis {
            WorstBasis::Interval => {
                return format!(
                    "Within {} the worst will not exceed {}, {} times of 100; {seen}. Nothing finer is known within \
                     an interval of {}.{}",
                    span_words(horizon_ns),
                    latency(worst.high_ns),
                    percent(level),
                    span(observed.interval_ns),
                    too_far.unwrap_or_default()
                );
            }
            WorstBasis::Fit => "",
            WorstBasis::Seen => " (from all spans of that length in the run)",
            WorstBasis::Causes => " (from the rate and size of each cause)",
        };
        return format!(
            "Within {} the worst will lie between {} and {}, {} times of 100, typically at {}{by}; {seen}.{}",
            span_words(horizon_ns),
            latency(worst.low_ns),
            latency(worst.high_ns),
            percent(level),
            latency(worst.typical_ns),
            too_far.unwrap_or_default()
        );
    }
    let refusal = refusals.first().or_else(|| expectations.iter().find_map(|one| one.refusal.as_ref()));
    let why = refusal.map_or_else(String::new, Refusal::words);
    format!("The worst case cannot be predicted: {seen}. {why}").trim_end().to_owned()
}

fn worst_of_samples(observed: &Observed) -> String {
    let (1.., Some(_)) = (observed.samples, observed.worst_ns) else {
        return "there is not a single sample".to_owned();
    };
    let samples = if observed.samples == 1 { "sample" } else { "samples" };
    format!("the worst of {} {samples} is {}", format::count(observed.samples), worst_words(observed))
}

/// The worst, or that there was none.
fn worst_words(observed: &Observed) -> String {
    observed.worst_ns.map_or_else(|| "no sample".to_owned(), |ns| latency(approx_f64(ns)))
}

/// The bound that follows without a model, because no sample exceeded the worst one.
pub(super) fn model_free(observed: &Observed, order_refusal: Option<&Refusal>, horizons: &[u64]) -> String {
    if observed.samples == 0 {
        return format!("Without a model nothing follows either: {}.", worst_of_samples(observed));
    }
    if observed.intervals == 0 {
        return format!(
            "Without a model nothing follows either: {}, but how many independent samples these are worth is unknown, since \
             the order in time is missing.",
            worst_of_samples(observed)
        );
    }
    let seen = format!(
        "Without a model: none of {} samples, worth {} independent ones, exceeded {}",
        format::count(observed.samples),
        format::count(units::round_u64(observed.independent_samples)),
        worst_words(observed)
    );
    if order_refusal.is_some() {
        return format!("{seen}; but that gives no bound, because the future may differ from the time measured.");
    }
    let chances = horizons.iter().map(|&horizon_ns| {
        let chance = model_free_chance(observed.measured_ns, horizon_ns.max(observed.interval_ns));
        format!("{} % in {}", percent(chance), span_words(horizon_ns))
    });
    // The exact form of the rule of three.
    let share = 1.0 - 0.05_f64.powf(1.0 / observed.independent_samples.max(1.0));
    format!(
        "{seen}, so with 95 % confidence at most one in {} does. If nothing changes, the chance that it is \
         exceeded is at most {}.",
        format::count(units::round_u64((1.0 / share).floor())),
        chances.collect::<Vec<_>>().join(", ")
    )
}

/// Whether the process stayed the same, in a sentence.
pub(super) fn stationarity(stationarity: &Stationarity, refusal: Option<&Refusal>, intervals: u64) -> String {
    if let Some(refusal) = refusal {
        return refusal.reason.clone();
    }
    let correlation = if stationarity.correlation < 0.05 {
        "neighboring intervals are not correlated".to_owned()
    } else {
        format!("the correlation of neighboring intervals is {:.2}", stationarity.correlation)
    };
    let turns = stationarity
        .turns
        .map_or_else(String::new, |turns| format!("; a periodic disturbance repeats {turns} times within them"));
    format!(
        "Over {} intervals no change is shown (p {:.2}); {correlation}{turns}.",
        format::count(intervals),
        stationarity.p.min(stationarity.highest_p)
    )
}

impl Tail {
    /// The fits and the resampling behind the prediction, in one sentence.
    #[must_use]
    pub fn how(&self) -> String {
        let method = &self.method;
        let Some(fits) = &self.fits else {
            return "Nothing was fitted.".to_owned();
        };
        if fits.above_body {
            return format!(
                "GPD of {} peaks over {}, shape {:.2}, and of those above a higher threshold, shape {:.2}, in {} blocks \
                 of {}; L-moments, {} resamples in blocks of {}, seed {}.",
                format::count(fits.peaks),
                latency(fits.gpd.location_ns),
                fits.gpd.shape,
                fits.gev.shape,
                format::count(fits.blocks),
                span(fits.block_ns),
                format::count(method.resamples.into()),
                method.block_neighbors,
                method.seed
            );
        }
        format!(
            "GEV of {} maxima of {} each, shape {:.2}; GPD of {} peaks, shape {:.2}; L-moments, {} resamples in blocks of {}, \
             seed {}.",
            format::count(fits.blocks),
            span(fits.block_ns),
            fits.gev.shape,
            format::count(fits.peaks),
            fits.gpd.shape,
            format::count(method.resamples.into()),
            method.block_neighbors,
            method.seed
        )
    }
}
