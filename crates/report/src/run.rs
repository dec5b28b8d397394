//! Converts a run of a record to the view: its series, its intervals, its worst samples and its bursts.

use std::borrow::Cow;

use record::{Histogram, Interval, Moment, Record, Series, Sign, ValidityState, VerdictState};
use serde::Serialize;
use serde_json::Value;
use summary::label;
use summary::run::{Burst, Figures, ReasonSummary, SeriesSummary, SpoiledRow, WorstSummary};

use crate::coarse::{Resolution, bin_from_ns, coarse_bins};
use crate::exact::{Exact, Instant, safe_integers};
use crate::view::{
    Bins, FiguresView, HeadlineState, HeatView, HistogramView, IntervalsView, MomentView, QuantileView, ReasonView,
    RowView, RunView, SeriesView, SpoiledView, StateView, VerdictView, WorstView,
};

pub(crate) fn run(record: &Record) -> RunView {
    let manifest = &record.manifest();
    let started = manifest.started;
    let validity = summary::run::validity(record);
    let table = summary::run::series(record);
    let spoiled = summary::run::spoiled(record);
    RunView {
        id: record.id.clone(),
        measurement: record.measurement.name().to_owned(),
        label: label(record).to_owned(),
        loaded: !matches!(manifest.load.name.as_str(), "" | "none"),
        node: manifest.node.hostname.clone(),
        state: state(validity.state),
        reasons: validity.reasons.into_iter().map(ReasonView::from).collect(),
        invalid_because: validity.invalid_because,
        lacks: validity.lacks,
        not_observable: validity.not_observable,
        verdict: summary::run::verdict(record).map(|verdict| VerdictView {
            state: match verdict.state {
                VerdictState::Holds => HeadlineState::Holds,
                VerdictState::Broken => HeadlineState::Broken,
                VerdictState::CannotTell => HeadlineState::CannotTell,
            },
            reason: verdict.sentence(),
            beyond: verdict.beyond.map(Into::into),
        }),
        started_realtime_ns: Instant(started.realtime.as_ns()),
        duration_ns: manifest.measured_ns().into(),
        time_zone: manifest.time_zone.clone(),
        deadline_ns: record
            .verdict
            .as_ref()
            .map(|verdict| verdict.deadline_ns)
            .or(manifest.requested.deadline_ns)
            .map(Exact::from),
        interval_ns: manifest.requested.interval_ns.map(Exact::from),
        samples: record.samples().into(),
        series: record.series.iter().zip(table).map(|(one, summary)| series(one, summary, record)).collect(),
        worst: summary::run::worst(record).into_iter().map(|one| worst(one, record)).collect(),
        rows: summary::run::bursts(record).into_iter().map(|one| row(one, record)).collect(),
        spoiled_not_kept: spoiled.not_kept,
        // Only pages of runs show these. Other pages merge many runs, and would embed timelines that they do not draw.
        explanation: None,
        rhythm: None,
        program: None,
        sync: None,
        packets: None,
        pulses: None,
        answers: None,
        load: None,
        manifest: safe_integers(&json_of(manifest)),
    }
}

/// When the run started on a node: times of different nodes are read on different clocks. That of the leading node if the
/// run has no node of that name.
pub(crate) fn started_on(record: &Record, node: &str) -> Moment {
    let found = record.nodes.iter().find(|one| one.name == node);
    found.map_or(record.manifest().started, |node| node.manifest.started)
}

impl From<ReasonSummary> for ReasonView {
    fn from(reason: ReasonSummary) -> Self {
        let ReasonSummary { code, state: of, meaning, remedy, detail, .. } = reason;
        Self { code, state: state(of), meaning, remedy, detail }
    }
}

pub(crate) const fn state(validity: ValidityState) -> StateView {
    match validity {
        ValidityState::Valid => StateView::Valid,
        ValidityState::Degraded => StateView::Degraded,
        ValidityState::Invalid => StateView::Invalid,
    }
}

fn json_of(value: &impl Serialize) -> Value {
    // Every type of a record has a JSON form. If one failed nevertheless, the page would still show the rest.
    serde_json::to_value(value).unwrap_or(Value::Null)
}

pub(crate) fn moment(at: Moment, started: Moment) -> MomentView {
    MomentView {
        offset_ns: at.monotonic.as_ns().saturating_sub(started.monotonic.as_ns()).into(),
        realtime_ns: Instant(at.realtime.as_ns()),
    }
}

/// The counters that an import can have. All others are 0 in its record although they are unknown.
const COUNTED_BY_OTHERS: [&str; 2] = ["samples", "smi"];

fn series(series: &Series, summary: SeriesSummary, record: &Record) -> SeriesView {
    let started = started_on(record, &series.node);
    let sign = record.sign(series);
    let drawn = drawn(series, sign);
    let imported = record.manifest().is_imported();
    let unit_ns = series.resolution_ns.unwrap_or(1).max(1);
    let counters = match json_of(&series.counters) {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(name, _)| !imported || COUNTED_BY_OTHERS.contains(&name.as_str()))
            .filter_map(|(name, value)| value.as_u64().map(|n| (name, Exact::from(n))))
            .collect(),
        _ => std::collections::BTreeMap::new(),
    };
    SeriesView {
        name: summary.name,
        lane: summary.lane.clone(),
        variant: summary.variant,
        judged: summary.judged,
        place: series.place.to_string(),
        cpu: summary.cpu,
        thread: summary.thread,
        figures: figures(if sign == Sign::Magnitude { Figures::of(&drawn, None) } else { summary.figures }),
        missed_periods: summary.missed_periods.map(Into::into),
        histogram: histogram(&drawn, unit_ns),
        below_zero: series.below_zero.as_ref().map(|below| histogram(below, unit_ns)),
        corrected: series.corrected.as_ref().map(|corrected| histogram(corrected, unit_ns)),
        intervals: intervals(&series.intervals, sign),
        spoiled: summary::run::spoiled_rows(series, &summary.lane).into_iter().map(spoiled).collect(),
        counters,
        max_at: summary.max_at.map(|at| moment(at, started)),
        mean_of_blocks: summary.mean_of_blocks,
        stolen: summary.gaps.and_then(|gaps| gaps.stolen),
    }
}

fn figures(figures: Figures) -> FiguresView {
    FiguresView {
        samples: figures.samples.into(),
        lowest_ns: figures.lowest_ns.map(Into::into),
        mean_ns: figures.mean_ns,
        sd_ns: figures.sd_ns,
        quantiles: figures
            .quantiles
            .into_iter()
            .map(|(share, value_ns)| QuantileView { share, value_ns: value_ns.into() })
            .collect(),
        highest_ns: figures.highest_ns.map(Into::into),
    }
}

/// The samples to draw: their magnitudes, if a deadline applies to the magnitude.
fn drawn(series: &Series, sign: Sign) -> Cow<'_, Histogram> {
    if sign == Sign::Magnitude { series.judged_samples(sign) } else { Cow::Borrowed(&series.histogram) }
}

/// The view of a histogram. `unit_ns` is 1, or the width of the bins in which an import's source counted.
pub(crate) fn histogram(histogram: &Histogram, unit_ns: u64) -> HistogramView {
    let hundredth = |value: f64| (value * 100.0).round() / 100.0;
    let mut bins = Bins { unit_ns: unit_ns.into(), ..Bins::default() };
    for (index, count) in coarse_bins(histogram, Resolution::PLOT, unit_ns) {
        bins.from_ns.push(bin_from_ns(index, Resolution::PLOT).saturating_mul(unit_ns).into());
        bins.count.push(count.into());
    }
    HistogramView {
        count: histogram.count().into(),
        unplaced: histogram.unplaced().map(|unplaced| unplaced.count.into()),
        unplaced_from_ns: histogram.unplaced().map(|unplaced| unplaced.from_ns.into()),
        min_ns: histogram.min_ns().map(Exact::from),
        max_ns: histogram.max_ns().map(Exact::from),
        mean_ns: histogram.mean_ns().map(hundredth),
        sd_ns: histogram.sd_ns().map(hundredth),
        quantiles: histogram
            .quantiles()
            .into_iter()
            .map(|quantile| QuantileView { share: quantile.share, value_ns: quantile.value_ns.into() })
            .collect(),
        bins,
    }
}

fn spoiled(row: SpoiledRow) -> SpoiledView {
    SpoiledView {
        start_offset_ns: row.start_offset_ns.into(),
        length_ns: row.length_ns.into(),
        samples: row.samples.into(),
        worst: row.worst,
        missed_periods: row.missed_periods.into(),
        why: row.why,
    }
}

fn intervals(intervals: &[Interval], sign: Sign) -> IntervalsView {
    let mut view = IntervalsView::default();
    for interval in intervals {
        view.start_offset_ns.push(interval.start_offset_ns.into());
        view.length_ns.push(interval.length_ns.into());
        let samples = interval.judged_samples(sign);
        view.max_ns.push(samples.max_ns().map(Exact::from));
        view.count.push(interval.taken().into());
        view.missed_periods.push(interval.missed_periods.into());
        push_heat(&mut view.heat, &samples);
    }
    view
}

fn push_heat(heat: &mut HeatView, histogram: &Histogram) {
    let bins = coarse_bins(histogram, Resolution::HEAT, 1);
    heat.bin.push(bins.keys().copied().collect());
    heat.count.push(bins.values().map(|&count| Exact::from(count)).collect());
}

fn worst(sample: WorstSummary, record: &Record) -> WorstView {
    WorstView {
        place: sample.place.to_string(),
        cpu: sample.place.cpu(),
        thread: sample.place.thread_number(),
        latency_ns: sample.latency_ns.into(),
        sample: sample.sample.into(),
        missed_periods: sample.missed_periods.into(),
        from: moment(sample.from, started_on(record, &sample.node)),
        cause: sample.cause,
    }
}

fn row(burst: Burst, record: &Record) -> RowView {
    RowView {
        place: burst.place.to_string(),
        cpu: burst.place.cpu(),
        thread: burst.place.thread_number(),
        first_scheduled: moment(burst.first_scheduled, started_on(record, &burst.node)),
        periods: burst.periods.into(),
        missed_periods: burst.missed_periods.into(),
        worst_ns: burst.worst_ns.into(),
        recovery_ns: burst.recovery_ns.map(Exact::from),
        recovery: burst.recovery,
    }
}
