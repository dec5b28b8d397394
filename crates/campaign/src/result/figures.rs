//! Maximum, minimum, mean and standard deviation of all conditions side by side, as papers show them.

use record::{Histogram, Record, Series};
use units::approx_f64;

use super::{Bar, Evidence, Figure};
use crate::{Layout, Phase};

impl Evidence<'_> {
    pub(super) fn figures(&self, layout: &Layout) -> Vec<Figure> {
        let mut figures = Vec::new();
        for (place, measurement) in self.campaign.measurement.iter().enumerate() {
            let runs = |condition| self.usable_runs(layout, Phase::Main, condition, place);
            let groups: Vec<Vec<&Record>> = (0..self.campaign.conditions().len()).map(runs).collect();
            for (series, variant) in kinds(groups.iter().flatten().copied()) {
                let is_it = |one: &&Series| one.name == series && one.variant == variant;
                let bars = layout
                    .conditions
                    .iter()
                    .zip(&groups)
                    .filter_map(|(condition, runs)| bar(self.campaign.name_of(condition), runs, &is_it));
                let title = measurement.title.as_ref().unwrap_or(&measurement.name);
                figures.push(Figure {
                    title: if variant.is_empty() { title.clone() } else { format!("{title}: {variant}") },
                    measurement: measurement.name.clone(),
                    bars: bars.collect(),
                    series,
                    variant,
                });
            }
        }
        figures
    }
}

/// The (name, variant) pairs of all series, in the order in which they first appear.
fn kinds<'a>(runs: impl Iterator<Item = &'a Record>) -> Vec<(String, String)> {
    let mut kinds: Vec<(String, String)> = Vec::new();
    for series in runs.flat_map(|run| &run.series) {
        if kinds.iter().all(|(name, variant)| *name != series.name || *variant != series.variant) {
            kinds.push((series.name.clone(), series.variant.clone()));
        }
    }
    kinds
}

fn bar(condition: String, runs: &[&Record], is_it: &dyn Fn(&&Series) -> bool) -> Option<Bar> {
    let (mut above, mut below) = (Histogram::new(), Histogram::new());
    let mut maxima_ns = Vec::new();
    for run in runs {
        let mut largest = None;
        for series in run.series.iter().filter(is_it) {
            above.merge(&series.histogram);
            if let Some(negative) = &series.below_zero {
                below.merge(negative);
            }
            largest = largest.max(largest_ns(&series.histogram, series.below_zero.as_ref()));
        }
        maxima_ns.extend(largest);
    }
    let samples = above.count().checked_add(below.count()).filter(|count| *count > 0)?;
    let mean_ns = (mean_of(&above) * approx_f64(above.count()) - mean_of(&below) * approx_f64(below.count()))
        / approx_f64(samples);
    Some(Bar {
        condition,
        runs: maxima_ns.len() as u64,
        samples,
        min_ns: smallest_ns(&above, &below)?,
        mean_ns,
        sd_ns: sd_ns(&above, &below, mean_ns),
        max_ns: largest_ns(&above, Some(&below))?,
        maxima_ns,
    })
}

fn mean_of(histogram: &Histogram) -> f64 {
    histogram.mean_ns().unwrap_or(0.0)
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

fn largest_ns(above: &Histogram, below: Option<&Histogram>) -> Option<i64> {
    above.max_ns().map(signed).or_else(|| below.and_then(Histogram::min_ns).map(|ns| -signed(ns)))
}

fn smallest_ns(above: &Histogram, below: &Histogram) -> Option<i64> {
    below.max_ns().map(|ns| -signed(ns)).or_else(|| above.min_ns().map(signed))
}

/// Standard deviation of both histograms together, from the second moments about zero (ns).
fn sd_ns(above: &Histogram, below: &Histogram, mean_ns: f64) -> Option<f64> {
    let mut squares = 0.0;
    for histogram in [above, below].into_iter().filter(|histogram| !histogram.is_empty()) {
        let (sd, mean) = (histogram.sd_ns()?, histogram.mean_ns()?);
        squares += (sd * sd + mean * mean) * approx_f64(histogram.count());
    }
    let count = approx_f64(above.count().saturating_add(below.count()));
    if below.is_empty() {
        // The histogram's own formula avoids the difference of two large numbers.
        return above.sd_ns();
    }
    Some((squares / count - mean_ns * mean_ns).max(0.0).sqrt())
}
