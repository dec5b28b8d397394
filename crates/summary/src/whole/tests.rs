//! A summary of a record and one of its columns are equal but for what columns lack, and each of these is lacking.

use std::collections::BTreeSet;

use record::{
    AppRun, AppThread, Counters, Detail, Explanation, Histogram, KINDS, LoadManifest, Measurement, MissedRow, Moment,
    NoiseTotals, Origin, Place, ReasonCode, RhythmScan, Series, SeriesDetail, SpoiledInterval, Uncertainty,
    Unobservable, Unplaced, Validity, ValidityState, WorstSample,
};
use serde_json::Value;

use super::*;

/// The paths at which two summaries differ. Of lists of another length the list itself differs, of an absent field the field.
fn differences(record: &Value, columns: &Value, path: &str, found: &mut BTreeSet<String>) {
    match (record, columns) {
        (Value::Object(one), Value::Object(other)) => {
            for (key, field) in one {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                differences(field, &other[key], &path, found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (one, other) in one.iter().zip(other) {
                differences(one, other, &format!("{path}[]"), found);
            }
        }
        _ if record == columns => {}
        _ => {
            found.insert(path.to_owned());
        }
    }
}

fn differences_of(record: &Record) -> BTreeSet<String> {
    let json = |summary: &Summary| serde_json::to_value(summary).unwrap();
    let columns = Summary::of_columns(&Columns::of_record(record)).unwrap();
    let mut found = BTreeSet::new();
    differences(&json(&Summary::of_record(record)), &json(&columns), "", &mut found);
    found
}

/// A field that columns lack stands for all that is below it.
fn lack_of(path: &str) -> Option<&'static Lack> {
    let is_below = |field: &str| path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    COLUMNS_LACK.iter().find(|lack| is_below(lack.field))
}

fn sound(code: Option<ReasonCode>) -> Validity {
    let mut validity = Validity::default();
    if let Some(code) = code {
        validity.add(code, "CPU 2, 3 times");
    }
    validity
}

/// A run of wake-ups that has all that a run can have.
fn full() -> Record {
    let at = |ns| Moment { monotonic: units::Timestamp::from_ns(ns), realtime: units::Timestamp::from_ns(ns) };
    let mut record = samples::run_of(
        "full",
        &[[5_000; 20_000].as_slice(), &[90_000, 2_991_000]].concat(),
        sound(Some(ReasonCode::RtThrottled)),
    );
    record.validity.add_not_observable(Unobservable::FirmwareInterruptions, "no counter of them");
    record.manifest_mut().ended.monotonic = units::Timestamp::from_ns(10_000_000_000);
    record.manifest_mut().load = LoadManifest { name: "hard".to_owned(), ..LoadManifest::default() };
    let series = &mut record.series[0];
    series.counters = Counters { missed_periods: 9_000, ..Counters::default() };
    series.corrected = Some(series.histogram.clone());
    series.max_at = Some(at(7));
    series.spoiled.add(SpoiledInterval {
        start_offset_ns: 0,
        length_ns: 1_000_000_000,
        samples: 5,
        missed_periods: 0,
        worst_ns: Some(9_000_000),
        worst_at: None,
        reasons: Vec::new(),
    });
    // A second thread on the same CPU.
    let other = Series { place: Place::thread(1, Some(1)), ..series.clone() };
    record.series.push(other);
    record.verdict = Some(analysis::verdict(&record, 100_000));
    record.worst = vec![WorstSample { latency_ns: 2_991_000, ..WorstSample::default() }];
    record.rows = vec![MissedRow {
        node: String::new(),
        place: Place::thread(0, Some(1)),
        first_scheduled: at(1),
        periods: 15,
        missed_periods: 14,
        worst_ns: 2_991_000,
        recovery_ns: Some(3_000_000),
    }];
    record.late_samples.explanation =
        Some(Explanation { sources: vec!["trace points".to_owned()], ..Explanation::default() });
    record.late_samples.rhythm = Some(RhythmScan::default());
    record
}

/// Records of every kind, and of every form that a series can have.
fn records() -> Vec<Record> {
    let mut gaps = samples::record_of(Measurement::Noise, &[900, 14_000]);
    gaps.series[0].detail =
        SeriesDetail::Gaps(NoiseTotals { observed_ns: 1_000_000_000, stolen_ns: 14_900, ..NoiseTotals::default() });
    let mut readings = samples::record_of(Measurement::Clock, &[20, 21, 25]);
    readings.series[0].detail = SeriesDetail::Readings { block_mean_median_ns: 21.3 };
    readings.series[0].variant = "monotonic vdso".to_owned();
    let mut writes = samples::record_of(Measurement::Gpio, &[900, 1_100]);
    writes.series[0].variant = "up and down".to_owned();
    let mut program = samples::record_of(Measurement::App, &[5_000, 70_000]);
    program.detail = Detail::Program(AppRun { threads: vec![AppThread::default()], ..AppRun::default() });
    let mut imported = samples::record_of(Measurement::Wakeup, &[5_000]);
    imported.manifest_mut().origin =
        Origin::Imported { format: "hist".to_owned(), lacks: vec!["when the maximum was taken".to_owned()] };
    let mut histogram = Histogram::new();
    (1..2_000_u64).for_each(|ns| histogram.record_n(ns * 977, ns % 7 + 1));
    histogram.add_unplaced(Unplaced { count: 4, from_ns: 1_000_000 });
    imported.series[0].histogram = histogram;
    let mut unknown = samples::packets(&[4_000, 9_000], 3_000, 2, sound(None));
    unknown.series[1].uncertainty = Some(Uncertainty::UNKNOWN);
    let mut silent = full();
    silent.series.push(Series { place: Place::thread(2, Some(3)), ..Series::default() });
    vec![
        full(),
        silent,
        samples::run(sound(None)),
        gaps,
        readings,
        writes,
        program,
        samples::hand_overs(&[4_000, 9_000], sound(None)),
        samples::answers(&[12_000, 9_000], |_| ()),
        samples::responses(&[12_000, 9_000], 1, sound(Some(ReasonCode::EdgesLost))),
        imported,
        samples::offsets(&[-11_753, -81, 105, 887], Some((-37_347, 15_223)), sound(Some(ReasonCode::SyncLost))),
        samples::packets(&[-2_000, 4_000, 9_000], 3_000, 1, sound(None)),
        unknown,
        samples::pulses(|_| ()),
    ]
}

#[test]
fn a_summary_of_columns_is_that_of_the_record_but_for_what_is_listed() {
    let mut lacking: BTreeSet<&str> = BTreeSet::new();
    let records = records();
    let kinds: BTreeSet<&str> = records.iter().map(|record| record.measurement.name()).collect();
    assert_eq!(kinds.len(), KINDS.len(), "a record of every kind: {kinds:?}");
    for record in &records {
        for path in differences_of(record) {
            let Some(lack) = lack_of(&path) else {
                panic!("{}: {path} differs, and nothing says that columns lack it", record.measurement.name())
            };
            lacking.insert(lack.field);
        }
    }
    let listed: BTreeSet<&str> = COLUMNS_LACK.iter().map(|lack| lack.field).collect();
    assert_eq!(listed, lacking, "what is listed is lacking in some record");
}

#[test]
fn columns_keep_the_exact_range_the_quantiles_the_signs_and_the_reasons() {
    for record in records() {
        let columns = Summary::of_columns(&Columns::of_record(&record)).unwrap();
        let of_record = Summary::of_record(&record);
        assert_eq!(
            (columns.validity.state, &columns.validity.reasons),
            (of_record.validity.state, &of_record.validity.reasons)
        );
        assert_eq!(columns.validity.invalid_because, of_record.validity.invalid_because);
        let taken = of_record.series.iter().filter(|series| series.figures.samples > 0);
        for (one, other) in taken.zip(&columns.series) {
            let kept = |series: &SeriesSummary| {
                let Figures { samples, lowest_ns, quantiles, highest_ns, .. } = series.figures.clone();
                (series.lane.clone(), series.title.clone(), samples, lowest_ns, quantiles, highest_ns)
            };
            assert_eq!(kept(one), kept(other), "{}", record.measurement.name());
        }
    }
}

#[test]
fn columns_judge_of_two_tellers_the_one_that_the_record_judges() {
    for is_lost in [false, true] {
        let mut record = samples::answers(&[20_000; 10], |_| ());
        if is_lost {
            record.validity.add(ReasonCode::WitnessLost, "it closed the connection");
            record.series.iter_mut().for_each(|one| one.judged = one.name == "event_to_answered");
        }
        let judged = |summary: &Summary| {
            let judged = summary.series.iter().filter(|one| one.judged);
            judged.map(|one| one.name.clone()).collect::<Vec<String>>()
        };
        let columns = Summary::of_columns(&Columns::of_record(&record)).unwrap();
        assert_eq!(judged(&columns), judged(&Summary::of_record(&record)), "{is_lost}");
    }
}

#[test]
fn nothing_that_columns_lack_is_invented() {
    let columns = Summary::of_columns(&Columns::of_record(&full())).unwrap();
    assert_eq!((&columns.verdict, &columns.coverage, &columns.missed), (&None, &None, &None));
    assert!(columns.series.iter().all(|series| series.missed_periods.is_none() && series.figures.mean_ns.is_none()));
    assert_eq!(columns.validity.state, ValidityState::Invalid, "validity is never dropped");
    let unknown = Columns {
        run: crate::columns::ColumnRun { measurement: "telepathy".to_owned(), ..Columns::of_record(&full()).run },
        series: Vec::new(),
    };
    assert_eq!(Summary::of_columns(&unknown), None);
}
