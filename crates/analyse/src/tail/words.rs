//! A tail in words, the same on a terminal and on a page.

use units::{approx_f64, format};

use super::answer::model_free_chance;
use super::claim::percent;
use super::document::{Expectation, Observed, Stationarity, Tail, WorstBasis};
use super::refusal::Refusal;
use super::span::span_words;
use units::format::{latency, span};

/// The conclusion: of the longest time that was answered, else why there is none.
pub(super) fn sentence(expectations: &[Expectation], refusals: &[Refusal], observed: &Observed, level: f64) -> String {
    let answered = expectations.iter().rev().find_map(|one| Some((one.horizon_ns, one.worst?, one.basis?)));
    let seen = format!("{} saw {}", span(observed.measured_ns), latency(approx_f64(observed.worst_ns)));
    if let Some((horizon_ns, worst, basis)) = answered {
        let too_far = expectations.iter().rev().find_map(|one| {
            let refusal = one.refusal.as_ref()?;
            Some(format!(" For {} it cannot be told: {}", span_words(one.horizon_ns), refusal.words()))
        });
        let by = match basis {
            WorstBasis::Interval => {
                return format!(
                    "Within {} the worst will not exceed {}, {} times of 100; {seen}. What is shorter than an interval of {} \
                     cannot be told finer.{}",
                    span_words(horizon_ns),
                    latency(worst.high_ns),
                    percent(level),
                    span(observed.interval_ns),
                    too_far.unwrap_or_default()
                );
            }
            WorstBasis::Fit => "",
            WorstBasis::Seen => " (by all such times within the run)",
            WorstBasis::Causes => " (by the rate and size of each cause)",
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
    format!("How bad it can get cannot be told: {seen}. {why}").trim_end().to_owned()
}

/// What no misses in so many samples bound.
pub(super) fn model_free(observed: &Observed, of_order: Option<&Refusal>, horizons: &[u64]) -> String {
    let seen = format!(
        "Without a model: none of {} samples, as good as {} independent ones, exceeded {}",
        format::count(observed.samples),
        format::count(units::round_u64(observed.independent_samples)),
        latency(approx_f64(observed.worst_ns))
    );
    if of_order.is_some() {
        return format!("{seen}; but that bounds nothing while the time to come need not be like the time measured.");
    }
    let chances = horizons.iter().map(|&horizon_ns| {
        let chance = model_free_chance(observed.measured_ns, horizon_ns.max(observed.interval_ns));
        format!("{} % in {}", percent(chance), span_words(horizon_ns))
    });
    // The rule of three, without its rounding.
    let share = 1.0 - 0.05_f64.powf(1.0 / observed.independent_samples.max(1.0));
    format!(
        "{seen}, so with 95 % confidence at most one in {} does; if nothing changes, it is exceeded with a chance of at most \
         {}.",
        format::count(units::round_u64((1.0 / share).floor())),
        chances.collect::<Vec<_>>().join(", ")
    )
}

pub(super) fn stationarity(of: &Stationarity, speaks_against: Option<&Refusal>, intervals: u64) -> String {
    if let Some(refusal) = speaks_against {
        return refusal.reason.clone();
    }
    let alike = if of.correlation < 0.05 {
        "neighbours are not alike".to_owned()
    } else {
        format!("neighbours are alike by {:.2}", of.correlation)
    };
    let turns = of.turns.map_or_else(String::new, |turns| format!("; something comes back {turns} times within it"));
    format!(
        "Over {} intervals no change is shown (p {:.2}); {alike}{turns}.",
        format::count(intervals),
        of.p.min(of.highest_p)
    )
}

impl Tail {
    /// How it was judged, in a line.
    #[must_use]
    pub fn how(&self) -> String {
        let method = &self.method;
        let Some(fits) = &self.fits else {
            return "Nothing was fitted.".to_owned();
        };
        if fits.above_body {
            return format!(
                "GPD of {} peaks over {}, shape {:.2}, and of those over a higher threshold, shape {:.2}, in {} blocks of {}; \
                 L-moments, {} resamples in blocks of {}, seed {}.",
                format::count(fits.peaks),
                latency(fits.gpd.location_ns),
                fits.gpd.shape,
                fits.gev.shape,
                format::count(fits.blocks),
                span(fits.block_ns),
                format::count(method.resamples.into()),
                method.block_neighbours,
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
            method.block_neighbours,
            method.seed
        )
    }
}
