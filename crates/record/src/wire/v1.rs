//! Reads records of version 1, which punctual 0.1.0 wrote. They have a single node. Series are identified by CPU and
//! thread and contain their own intervals. Worst samples have the times when they were scheduled and when they woke.

use serde::Deserialize;

use crate::series::SeriesDetail;
use crate::{
    AppRun, Counters, Deciding, Detail, Explanation, Histogram, Interval, LateSamples, MEASURED, Manifest, Measurement,
    MissedRow, Moment, Node, NoiseTotals, Place, Record, RecordError, RhythmScan, Series, Validity, Verdict,
    VerdictState, WorstSample,
};

#[derive(Deserialize)]
struct RecordV1 {
    id: String,
    measurement: Measurement,
    #[serde(default)]
    label: String,
    validity: Validity,
    verdict: Option<VerdictV1>,
    manifest: Manifest,
    series: Vec<SeriesV1>,
    #[serde(default)]
    worst: Vec<WorstV1>,
    #[serde(default)]
    rows: Vec<RowV1>,
    explanation: Option<Explanation>,
    rhythm: Option<RhythmScan>,
    app: Option<AppRun>,
}

#[derive(Deserialize)]
struct VerdictV1 {
    deadline_ns: u64,
    state: VerdictState,
    deciding: Option<DecidingV1>,
    reason: String,
}

#[derive(Deserialize)]
struct DecidingV1 {
    worst_ns: i64,
    cpu: Option<u32>,
    samples: u64,
    beyond: u64,
    missed_periods: u64,
}

#[derive(Deserialize)]
struct SeriesV1 {
    name: String,
    #[serde(default)]
    variant: String,
    cpu: Option<u32>,
    thread: u32,
    interval_ns: Option<u64>,
    histogram: Histogram,
    below_zero: Option<Histogram>,
    corrected: Option<Histogram>,
    #[serde(default)]
    intervals: Vec<IntervalV1>,
    counters: Counters,
    max_at: Option<Moment>,
    block_mean_median_ns: Option<f64>,
    noise: Option<NoiseTotals>,
}

#[derive(Deserialize)]
struct IntervalV1 {
    start_offset_ns: u64,
    length_ns: u64,
    missed_periods: u64,
    histogram: Histogram,
}

#[derive(Deserialize)]
struct WorstV1 {
    thread: u32,
    cpu: Option<u32>,
    latency_ns: i64,
    sample: u64,
    missed_periods: u64,
    scheduled: Moment,
    woke: Moment,
}

#[derive(Deserialize)]
struct RowV1 {
    thread: u32,
    cpu: Option<u32>,
    first_scheduled: Moment,
    periods: u64,
    missed_periods: u64,
    worst_ns: i64,
    recovery_ns: Option<u64>,
}

pub(super) fn read(text: &str) -> Result<Record, RecordError> {
    let old: RecordV1 = serde_json::from_str(text).map_err(RecordError::Form)?;
    let kind = old.measurement.kind();
    let series: Vec<Series> = old.series.into_iter().map(|one| one.into_series(|name| kind.judges(name))).collect();
    let verdict = old.verdict.map(|verdict| verdict.into_verdict(&series));
    let worst = old.worst.into_iter().map(|one| one.into_worst(&series)).collect();
    let detail = match (old.app, old.explanation, old.rhythm) {
        (Some(app), ..) => Detail::Program(app),
        (None, None, None) => Detail::None,
        (None, explanation, rhythm) => Detail::LateSamples(LateSamples { explanation, rhythm }),
    };
    let record = Record {
        id: old.id,
        measurement: old.measurement,
        label: old.label,
        validity: old.validity,
        verdict,
        nodes: Node::alone(MEASURED, old.manifest).into(),
        series,
        worst,
        rows: old.rows.into_iter().map(RowV1::into_row).collect(),
        detail,
    };
    Ok(record.with_node_named())
}

impl VerdictV1 {
    fn into_verdict(self, series: &[Series]) -> Verdict {
        let has_it = |it: &DecidingV1, one: &&Series| {
            let max_ns = one.histogram.max_ns().and_then(|ns| i64::try_from(ns).ok());
            one.place.cpu() == it.cpu && max_ns == Some(it.worst_ns)
        };
        let place_of = |it: &DecidingV1| series.iter().find(|one| has_it(it, one)).map(|one| one.place.clone());
        let deciding = self.deciding.map(|it| Deciding {
            place: place_of(&it).unwrap_or_else(|| Place::thread(0, it.cpu)),
            worst_ns: it.worst_ns,
            samples: it.samples,
            beyond: it.beyond,
            missed_periods: it.missed_periods,
        });
        Verdict { deadline_ns: self.deadline_ns, state: self.state, deciding, reason: self.reason }
    }
}

impl SeriesV1 {
    fn into_series(self, is_judged: impl Fn(&str) -> bool) -> Series {
        let detail = match (self.noise, self.block_mean_median_ns) {
            (Some(totals), _) => SeriesDetail::Gaps(totals),
            (None, Some(block_mean_median_ns)) => SeriesDetail::Readings { block_mean_median_ns },
            (None, None) => SeriesDetail::None,
        };
        let interval = |it: IntervalV1| Interval {
            start_offset_ns: it.start_offset_ns,
            length_ns: it.length_ns,
            missed_periods: it.missed_periods,
            histogram: it.histogram,
            below_zero: None,
            uncertainty: None,
        };
        Series {
            node: String::new(),
            place: Place::thread(self.thread, self.cpu),
            judged: is_judged(&self.name),
            name: self.name,
            variant: self.variant,
            interval_ns: self.interval_ns,
            histogram: self.histogram,
            below_zero: self.below_zero,
            corrected: self.corrected,
            uncertainty: None,
            resolution_ns: None,
            rounding: crate::Rounding::Down,
            counters: self.counters,
            max_at: self.max_at,
            detail,
            intervals: self.intervals.into_iter().map(interval).collect(),
        }
    }
}

impl WorstV1 {
    fn into_worst(self, series: &[Series]) -> WorstSample {
        let place = Place::thread(self.thread, self.cpu);
        // Version 1 does not name the latency. If there are several, take the first whose maximum is not below the sample.
        let of_place = || series.iter().filter(|one| one.place == place);
        let holds = |one: &&Series| {
            one.histogram
                .max_ns()
                .is_some_and(|max_ns| i64::try_from(max_ns).is_ok_and(|max_ns| max_ns >= self.latency_ns))
        };
        let name =
            of_place().find(holds).or_else(|| of_place().next()).map_or_else(String::new, |one| one.name.clone());
        WorstSample {
            node: String::new(),
            place,
            name,
            latency_ns: self.latency_ns,
            besides: Vec::new(),
            sample: self.sample,
            missed_periods: self.missed_periods,
            from: self.scheduled.into(),
            to: self.woke.into(),
        }
    }
}

impl RowV1 {
    fn into_row(self) -> MissedRow {
        MissedRow {
            node: String::new(),
            place: Place::thread(self.thread, self.cpu),
            first_scheduled: self.first_scheduled,
            periods: self.periods,
            missed_periods: self.missed_periods,
            worst_ns: self.worst_ns,
            recovery_ns: self.recovery_ns,
        }
    }
}
