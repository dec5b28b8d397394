//! Converts records to the view.

use std::borrow::Cow;

use analyse::tail::ClaimAnswer;
use record::{
    Histogram, Interval, MissedRow, Moment, Origin, Reason, Record, Series, Sign, SpoiledInterval, ValidityState,
    VerdictState, WorstSample,
};
use serde::Serialize;
use serde_json::Value;
use summary::{Assessment, is_line_of_causes};

use crate::coarse::{Resolution, bin_from_ns, coarse_bins};
use crate::exact::safe_integers;
use crate::headline::headline;
use crate::view::{
    AssessmentView, Bins, ChangeView, GeneratedView, HeadlineState, HeatView, HistogramView, IntervalsView, MomentView,
    PageView, QuantileView, ReasonView, ResultsView, RowView, RunView, SCHEMA, SeriesView, SpoiledView, StateView,
    VERSION, VerdictView, View, WorstView,
};
use crate::{
    Exact, Instant, Page, ReportInput, Results, campaign, comparison, conditions, explanation, late, load, overview,
    packet, program, rhythm, sync, tail, totals,
};

pub(crate) fn view(input: &ReportInput) -> View {
    let mut headline = headline(&input.page);
    let page = page(&input.page, headline.state);
    // The table of causes stands in the place of the sentence about them.
    let has_causes = page.results().is_some_and(|results| results.late_causes.is_some());
    if has_causes || headline.state == HeadlineState::Holds {
        headline.lines.retain(|line| !is_line_of_causes(line));
    }
    View {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        title: input.title.clone(),
        generated: GeneratedView {
            tool: format!("{} {}", input.generated.tool.name, input.generated.tool.version).trim().to_owned(),
            realtime_ns: Instant(input.generated.realtime_ns),
            time_zone: input.generated.time_zone.clone(),
        },
        headline,
        conditions: conditions::of_page(&input.page),
        page,
    }
}

fn page(page: &Page, state: HeadlineState) -> PageView {
    let results = |measured, claim| results(page, measured, claim, state);
    match page {
        Page::Runs(measured) => PageView::Runs { results: results(measured, None) },
        Page::Program(measured) => PageView::Program { results: results(measured, None) },
        Page::Assessment(concluded, measured) => {
            let results = results(measured, concluded.claim.as_ref());
            PageView::Assessment { assessment: assessment(concluded), results }
        }
        Page::Comparison(input) => PageView::Comparison { comparison: comparison::view(input).map(Box::new) },
        Page::Campaign(input) => PageView::Campaign { campaign: Box::new(campaign::view(input)) },
        Page::Calibration(calibration) => PageView::Calibration { calibration: calibration.clone() },
    }
}

fn assessment(assessment: &Assessment) -> AssessmentView {
    let change = |change: &summary::Change| ChangeView {
        title: change.title.clone(),
        why: change.why.clone(),
        how: change.how.clone(),
        finding: change.finding.clone(),
        removes_share_of_beyond: change.removes_share_of_beyond,
        worst_ns: change.worst_ns.map(Exact::from),
        sureness: change.sureness.map(|sureness| sureness.word().to_owned()),
        basis_samples: change.basis_samples.map(Exact::from),
    };
    AssessmentView {
        changes_heading: assessment.changes_heading().to_owned(),
        changes: assessment.changes.iter().map(change).collect(),
    }
}

fn results(page: &Page, results: &Results, claim: Option<&ClaimAnswer>, state: HeadlineState) -> ResultsView {
    let runs = results.runs.iter().map(|record| RunView {
        explanation: explanation::view(record),
        rhythm: rhythm::view(record),
        program: program::view(record),
        sync: sync::view(record),
        packets: packet::view(record),
        load: load::view(record),
        ..run(record)
    });
    ResultsView {
        overview: overview::view(page),
        runs: runs.collect(),
        totals: totals::view(page),
        late_causes: late::view(page, state),
        tails: tail::views(&results.runs, claim),
        findings: results.findings.clone(),
        profile: results.profile.as_ref().map(safe_integers),
    }
}

pub(crate) fn run(record: &Record) -> RunView {
    let manifest = &record.manifest();
    let started = manifest.started;
    RunView {
        id: record.id.clone(),
        measurement: record.measurement.name().to_owned(),
        label: if record.label.is_empty() { record.measurement.name().to_owned() } else { record.label.clone() },
        loaded: !matches!(manifest.load.name.as_str(), "" | "none"),
        node: manifest.node.hostname.clone(),
        state: state(record.validity.state()),
        reasons: record.validity.reasons().iter().map(reason).collect(),
        lacks: match &manifest.origin {
            Origin::Punctual => Vec::new(),
            Origin::Imported { lacks, .. } => lacks.clone(),
        },
        not_observable: record.validity.not_observable().iter().map(|not| not.detail.clone()).collect(),
        verdict: record.verdict.as_ref().map(|verdict| VerdictView {
            state: match verdict.state {
                // The run may have been found invalid after its verdict was stored.
                _ if record.validity.is_invalid() => HeadlineState::CannotTell,
                VerdictState::Holds => HeadlineState::Holds,
                VerdictState::Broken => HeadlineState::Broken,
                VerdictState::CannotTell => HeadlineState::CannotTell,
            },
            reason: verdict.reason.clone(),
            beyond: verdict.deciding.as_ref().map(|deciding| deciding.beyond.into()),
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
        series: record.series.iter().map(|one| series(one, record)).collect(),
        worst: record.worst.iter().map(|sample| worst(sample, started_on(record, &sample.node))).collect(),
        rows: record.rows.iter().map(|one| row(one, started_on(record, &one.node))).collect(),
        // Only pages of runs show these. Other pages merge many runs, and would embed timelines that they do not draw.
        explanation: None,
        rhythm: None,
        program: None,
        sync: None,
        packets: None,
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

pub(crate) fn reason(reason: &Reason) -> ReasonView {
    let info = reason.code.info();
    ReasonView {
        code: name_of(&reason.code),
        state: state(info.state),
        meaning: info.meaning.trim().to_owned(),
        remedy: info.remedy.to_owned(),
        detail: reason.detail.clone(),
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

/// The name that serde gives to a plain enum value.
pub(crate) fn name_of(value: &impl Serialize) -> String {
    json_of(value).as_str().unwrap_or_default().to_owned()
}

pub(crate) fn moment(at: Moment, started: Moment) -> MomentView {
    MomentView {
        offset_ns: at.monotonic.as_ns().saturating_sub(started.monotonic.as_ns()).into(),
        realtime_ns: Instant(at.realtime.as_ns()),
    }
}

/// The label of a series, unique among `all` series of its run with the same name.
fn lane(series: &Series, all: &[Series]) -> String {
    let mut lane = series.place.to_string();
    if !series.variant.is_empty() {
        lane = format!("{lane}, {}", series.variant);
    }
    // A thread of a followed program has two latencies, and a CPU of rtla's up to three.
    let is_one_of_several =
        |other: &Series| other.place == series.place && other.node == series.node && other.name != series.name;
    if all.iter().any(is_one_of_several) {
        lane = format!("{lane}, {}", series.name.replace('_', " "));
    }
    let shared = all.iter().any(|other| {
        other.place != series.place
            && other.node == series.node
            && other.name == series.name
            && other.place.to_string() == series.place.to_string()
            && other.variant == series.variant
    });
    if let Some(thread) = series.place.thread_number().filter(|_| shared) {
        lane = format!("{lane}, thread {thread}");
    }
    // In a run of several nodes, the same place can occur on more than one node.
    if all.iter().any(|other| other.node != series.node) { format!("{}, {lane}", series.node) } else { lane }
}

/// The counters that an import can have. All others are 0 in its record although they are unknown.
const COUNTED_BY_OTHERS: [&str; 2] = ["samples", "smi"];

fn series(series: &Series, record: &Record) -> SeriesView {
    let (all, started) = (&record.series, started_on(record, &series.node));
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
        name: series.name.clone(),
        lane: lane(series, all),
        variant: series.variant.clone(),
        cpu: series.place.cpu(),
        thread: series.place.thread_number(),
        samples: series.taken().into(),
        histogram: histogram(&drawn(series, record.sign(series)), unit_ns),
        below_zero: series.below_zero.as_ref().map(|below| histogram(below, unit_ns)),
        corrected: series.corrected.as_ref().map(|corrected| histogram(corrected, unit_ns)),
        intervals: intervals(&series.intervals, record.sign(series)),
        spoiled: series.spoiled.stretches().iter().map(spoiled).collect(),
        counters,
        max_at: series.max_at.map(|at| moment(at, started)),
        block_mean_median_ns: series.block_mean_median_ns(),
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

fn spoiled(interval: &SpoiledInterval) -> SpoiledView {
    SpoiledView {
        start_offset_ns: interval.start_offset_ns.into(),
        length_ns: interval.length_ns.into(),
        samples: interval.samples.into(),
        worst: interval.worst_ns.map(units::format::latency),
        missed_periods: interval.missed_periods.into(),
        why: interval.reasons.iter().map(|reason| reason.detail.as_str()).collect::<Vec<_>>().join("; "),
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

fn worst(sample: &WorstSample, started: Moment) -> WorstView {
    WorstView {
        place: sample.place.to_string(),
        cpu: sample.place.cpu(),
        thread: sample.place.thread_number(),
        latency_ns: sample.latency_ns.into(),
        sample: sample.sample.into(),
        missed_periods: sample.missed_periods.into(),
        from: moment(sample.from.at, started),
    }
}

fn row(row: &MissedRow, started: Moment) -> RowView {
    RowView {
        place: row.place.to_string(),
        cpu: row.place.cpu(),
        thread: row.place.thread_number(),
        first_scheduled: moment(row.first_scheduled, started),
        periods: row.periods.into(),
        missed_periods: row.missed_periods.into(),
        worst_ns: row.worst_ns.into(),
        recovery_ns: row.recovery_ns.map(Exact::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Place;

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
}
