//! The table of a run's series: for each its samples, its exact range and its missed periods.

use record::{Histogram, Moment, Quantile, Record, Sampling, Series};
use serde::Serialize;
use units::{approx_f64, format};

/// The samples of one latency at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesSummary {
    /// The latency, named by its two points: `scheduled_to_woke`.
    pub name: String,
    /// Distinguishes series of the same name and place; empty if there is only one.
    pub variant: String,
    /// Label that is unique among the series of the same latency: `CPU 3`, or `CPU 3, thread 1` if threads share a CPU; with the
    /// latency in words if another latency has the same place.
    pub lane: String,
    /// Name and place: `scheduled_to_woke, CPU 3`.
    pub title: String,
    /// Whether a deadline applies to this latency; one that stands beside it is not what the run is judged by.
    pub judged: bool,
    /// The measured CPU.
    pub cpu: Option<u32>,
    /// Number of the thread, from 0; `None` if the place is no thread.
    pub thread: Option<u32>,
    /// The figures of every sample as it was measured.
    pub figures: Figures,
    /// The same with one sample more for each schedule that a late wake-up skipped; `None` if none was skipped.
    pub corrected: Option<Figures>,
    /// Schedules that late wake-ups skipped; `None` if the samples follow no schedule, or if the source did not count them.
    pub missed_periods: Option<u64>,
    /// When the maximum was taken; `None` if it is not known.
    pub max_at: Option<Moment>,
    /// Bounds on the error of each sample, in words; `None` if both points are readings of one clock.
    pub error: Option<String>,
    /// What gaps took from a thread that never sleeps; `None` for other kinds.
    pub gaps: Option<GapFigures>,
    /// Median of the means of all blocks of 1,000 clock readings, in words with a tenth of a nanosecond; `None` for other kinds.
    pub mean_of_blocks: Option<String>,
}

/// The figures of some samples with their signs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Number of samples, including those below zero.
    pub samples: u64,
    /// Exact lowest sample (ns); `None` if there are none.
    pub lowest_ns: Option<i64>,
    /// Mean (ns), to a hundredth; `None` if there are no samples, or if the source did not give the value of each.
    pub mean_ns: Option<f64>,
    /// Population standard deviation (ns), to a hundredth; `None` as for the mean.
    pub sd_ns: Option<f64>,
    /// The quantiles with at least ten samples above them, and the median: share (0 to 1) and value (ns).
    pub quantiles: Vec<(f64, i64)>,
    /// Exact highest sample (ns); `None` if there are none.
    pub highest_ns: Option<i64>,
}

/// What gaps took from a thread that never sleeps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GapFigures {
    /// Gaps in a second, in words; `None` if it is not known how long was observed, or if not all gaps were counted.
    pub per_second: Option<String>,
    /// The share of the time that they took, in words: "0.012 %"; `None` if it is not known.
    pub stolen: Option<String>,
}

/// The series of a run in the order of the record.
#[must_use]
pub fn series(record: &Record) -> Vec<SeriesSummary> {
    record.series.iter().map(|one| summary_of(one, record)).collect()
}

fn summary_of(series: &Series, record: &Record) -> SeriesSummary {
    let all = &record.series;
    let title = match (series.place.cpu(), series.variant.is_empty()) {
        (None, false) => format!("{}, {}", series.name, series.variant),
        _ => format!("{}, {}", series.name, place_of(series, all)),
    };
    // A maximum that is none stands nowhere without that.
    let title = match series.judged {
        true if !record.at_least().is_empty() => format!("{title} (max: a lower bound)"),
        _ => title,
    };
    SeriesSummary {
        name: series.name.clone(),
        variant: series.variant.clone(),
        lane: lane(series, all),
        title,
        judged: series.judged,
        cpu: series.place.cpu(),
        thread: series.place.thread_number(),
        figures: Figures::of(&series.histogram, series.below_zero.as_ref()),
        corrected: series.corrected.as_ref().map(|corrected| Figures::of(corrected, None)),
        missed_periods: missed_periods(series, record),
        max_at: series.max_at,
        error: series.uncertainty.map(record::Uncertainty::in_words),
        gaps: gaps(series, record),
        mean_of_blocks: series.block_mean_median_ns().map(|ns| format!("{ns:.1} ns")),
    }
}

/// The schedules that late wake-ups of a series skipped; `None` if its samples follow no schedule of which that could be said, or
/// if the source of an import did not count them.
pub(crate) fn missed_periods(series: &Series, record: &Record) -> Option<u64> {
    let missed = series.counters.missed_periods;
    let sampling = record.measurement.kind().sampling;
    // Of a followed program, some threads and some latencies have no schedule that is known.
    let follows_schedule = match sampling {
        Sampling::Schedules => true,
        Sampling::Program => series.interval_ns.is_some(),
        Sampling::Disturbances
        | Sampling::Repetitions
        | Sampling::Comparisons
        | Sampling::Packets
        | Sampling::Edges => false,
    };
    (!record.manifest().is_imported() && (follows_schedule || missed > 0)).then_some(missed)
}

fn gaps(series: &Series, record: &Record) -> Option<GapFigures> {
    let is_imported = record.manifest().is_imported();
    record.measurement.kind().sampling.counts_by_time().then(|| {
        let totals = series.gaps().copied().unwrap_or_default();
        let observed = (totals.observed_ns > 0).then(|| approx_f64(totals.observed_ns));
        // An import may know its time and not the sum of its gaps, or not all of them.
        let stolen = observed.filter(|_| !is_imported || totals.stolen_ns > 0);
        let rate = observed.filter(|_| !is_imported || totals.stolen_ns == 0);
        GapFigures {
            per_second: rate.map(|ns| format!("{:.0}", approx_f64(series.histogram.count()) * 1e9 / ns)),
            stolen: stolen.map(|ns| format!("{:.3} %", approx_f64(totals.stolen_ns) / ns * 100.0)),
        }
    })
}

impl Figures {
    /// The figures of samples from zero on, and of those below zero by their magnitude.
    #[must_use]
    pub fn of(above: &Histogram, below: Option<&Histogram>) -> Self {
        let hundredth = |value: f64| (value * 100.0).round() / 100.0;
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let Some(below) = below.filter(|below| !below.is_empty()) else {
            let quantile = |one: Quantile| (one.share, signed(one.value_ns));
            return Self {
                samples: above.count(),
                lowest_ns: above.min_ns().map(signed),
                mean_ns: above.mean_ns().map(hundredth),
                sd_ns: above.sd_ns().map(hundredth),
                quantiles: above.quantiles().into_iter().map(quantile).collect(),
                highest_ns: above.max_ns().map(signed),
            };
        };
        let samples = above.count().saturating_add(below.count());
        // Of both sides together: the sums of the values and of their squares add up.
        let sums = |side: &Histogram| match (side.mean_ns(), side.sd_ns()) {
            (Some(mean), Some(sd)) => {
                Some((mean * approx_f64(side.count()), (sd * sd + mean * mean) * approx_f64(side.count())))
            }
            _ if side.is_empty() => Some((0.0, 0.0)),
            _ => None,
        };
        let moments = sums(above).zip(sums(below)).map(|((above, above2), (under, under2))| {
            let mean = (above - under) / approx_f64(samples);
            (mean, ((above2 + under2) / approx_f64(samples) - mean * mean).max(0.0).sqrt())
        });
        let both = Series { histogram: above.clone(), below_zero: Some(below.clone()), ..Series::default() };
        let is_stated = |share: f64| share <= 0.5 || (1.0 - share) * approx_f64(samples) >= 9.999;
        let quantile = |share: f64| both.quantile_ns(share).filter(|_| is_stated(share)).map(|ns| (share, ns));
        Self {
            samples,
            lowest_ns: below.max_ns().map(|ns| -signed(ns)),
            mean_ns: moments.map(|(mean, _)| hundredth(mean)),
            sd_ns: moments.map(|(_, sd)| hundredth(sd)),
            quantiles: [0.5, 0.9, 0.99, 0.999, 0.9999, 0.999_99, 0.999_999].into_iter().filter_map(quantile).collect(),
            highest_ns: above.max_ns().map(signed).or_else(|| below.min_ns().map(|ns| -signed(ns))),
        }
    }

    /// The value that a share of the samples (0 to 1) does not exceed (ns); `None` if fewer than ten samples are above it.
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> Option<i64> {
        self.quantiles.iter().find(|(known, _)| (known - share).abs() < 1e-9).map(|(_, ns)| *ns)
    }

    /// The mean in whole nanoseconds, as tables state it; `None` as for the mean.
    #[must_use]
    pub fn mean_whole_ns(&self) -> Option<i64> {
        let magnitude = |ns: f64| i64::try_from(units::round_u64(ns.abs())).unwrap_or(i64::MAX);
        self.mean_ns.map(|ns| if ns < 0.0 { -magnitude(ns) } else { magnitude(ns) })
    }
}

/// The place of a series with what tells it apart from others of its latency.
fn place_of(series: &Series, all: &[Series]) -> String {
    let mut place = series.place.to_string();
    if !series.variant.is_empty() {
        place = format!("{place}, {}", series.variant);
    }
    let shared = all.iter().any(|other| {
        other.place != series.place
            && other.node == series.node
            && other.name == series.name
            && other.place.to_string() == series.place.to_string()
            && other.variant == series.variant
    });
    if let Some(thread) = series.place.thread_number().filter(|_| shared) {
        place = format!("{place}, thread {thread}");
    }
    place
}

/// The label of a series, unique among `all` series of its run with the same name.
#[must_use]
pub fn lane(series: &Series, all: &[Series]) -> String {
    let mut lane = place_of(series, all);
    // A thread of a followed program has two latencies, and a CPU of rtla's up to three.
    let is_one_of_several =
        |other: &Series| other.place == series.place && other.node == series.node && other.name != series.name;
    if all.iter().any(is_one_of_several) {
        lane = format!("{lane}, {}", series.name.replace('_', " "));
    }
    // In a run of several nodes, the same place can occur on more than one node.
    if all.iter().any(|other| other.node != series.node) { format!("{}, {lane}", series.node) } else { lane }
}

/// Missed periods as a share of all from which on they are stated in words: the samples then speak for too few of them.
const STATED_MISSED: f64 = 0.01;

/// What it means that many periods were missed, as sentences; `None` where few were.
#[must_use]
pub fn stated_missed(record: &Record) -> Option<String> {
    let judged = || record.series.iter().filter(|series| series.judged);
    let missed = units::total(judged().filter_map(|series| missed_periods(series, record)));
    let all = missed.saturating_add(units::total(judged().map(Series::taken)));
    let share = approx_f64(missed) / approx_f64(all.max(1));
    (share >= STATED_MISSED).then(|| {
        format!(
            "{:.0} % of the periods were missed ({} of {}): a thread that wakes later than its next schedule takes one sample \
             and skips the schedules between. The samples above speak for the other {:.0} % alone.",
            share * 100.0,
            format::count(missed),
            format::count(all),
            100.0 - (share * 100.0).round()
        )
    })
}

#[cfg(test)]
mod tests {
    use record::{Counters, Manifest, Measurement, Origin, Place, Validity};

    use super::*;

    #[test]
    fn threads_that_share_a_cpu_have_different_labels() {
        let series = |cpu, thread| Series { place: Place::thread(thread, cpu), ..Series::default() };
        let all = [series(Some(1), 0), series(Some(1), 1), series(Some(2), 2), series(None, 3)];
        let lanes: Vec<String> = all.iter().map(|one| lane(one, &all)).collect();
        assert_eq!(lanes, ["CPU 1, thread 0", "CPU 1, thread 1", "CPU 2", "thread 3"]);
        // Two latencies at one place are two curves; under one label the page would show the maximum of one of them alone.
        let both = ["scheduled_to_irq", "scheduled_to_thread"]
            .map(|name| Series { name: name.to_owned(), ..series(Some(0), 0) });
        let lanes: Vec<String> = both.iter().map(|one| lane(one, &both)).collect();
        assert_eq!(lanes, ["CPU 0, scheduled to irq", "CPU 0, scheduled to thread"]);
    }

    #[test]
    fn a_large_share_of_missed_periods_is_stated_in_words() {
        let said = |samples, missed_periods| {
            let mut record = Record::empty(String::new(), Measurement::Wakeup, Manifest::default());
            let mut histogram = Histogram::new();
            if samples > 0 {
                histogram.record_n(5, samples);
            }
            let counters = Counters { samples, missed_periods, ..Counters::default() };
            record.series = vec![Series { counters, histogram, ..Series::default() }; 2];
            stated_missed(&record)
        };
        let many = said(63, 37).unwrap();
        assert!(many.contains("37 % of the periods were missed (74 of 200)"), "{many}");
        assert!(many.contains("other 63 % alone"), "{many}");
        assert_eq!(said(1_000, 9), None, "below one of a hundred");
        assert_eq!(said(0, 0), None);
    }

    #[test]
    fn samples_below_zero_are_in_every_figure() {
        let record = samples::offsets(&[-11_753, -81, 105, 887], Some((-37_347, 15_223)), Validity::default());
        let figures = &series(&record)[0].figures;
        assert_eq!((figures.samples, figures.lowest_ns, figures.highest_ns), (4, Some(-11_753), Some(887)));
        assert_eq!((figures.mean_ns, figures.mean_whole_ns()), (Some(-2_710.5), Some(-2_711)));
        assert!((figures.sd_ns.unwrap() - 5_230.4).abs() < 5.0, "{:?}", figures.sd_ns);
        assert_eq!(figures.quantiles, [(0.5, -81)], "of four samples nothing else is stated");
    }

    #[test]
    fn what_follows_no_schedule_misses_no_period_and_what_an_import_did_not_count_is_not_zero() {
        let missed = |measurement, interval_ns, imported: bool| {
            let mut record = samples::record_of(measurement, &[5_000]);
            record.series[0].interval_ns = interval_ns;
            if imported {
                record.manifest_mut().origin = Origin::Imported { format: "f".to_owned(), lacks: Vec::new() };
            }
            series(&record)[0].missed_periods
        };
        assert_eq!(missed(Measurement::Wakeup, None, false), Some(0));
        assert_eq!(missed(Measurement::Wakeup, None, true), None);
        assert_eq!(missed(Measurement::Noise, None, false), None);
        assert_eq!(missed(Measurement::App, None, false), None, "the latency has no schedule that is known");
        assert_eq!(missed(Measurement::App, Some(1_000_000), false), Some(0));
    }
}
