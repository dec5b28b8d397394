//! Exports contain the same samples as the record, checked with the readers of each format.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use foreign::{Options, Unit};
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use proptest::prelude::*;
use record::{
    Counters, Detail, Direction, Histogram, HistogramRecorder, Interval, KINDS, Kind, Manifest, PacketFlow, PacketRun,
    Place, Record, Series, Uncertainty,
};

/// A record with the given samples of each thread; the rest comes from an import.
fn record_of(threads: &[Vec<u64>]) -> Record {
    let frame = "T: 0 (12) P:80 I:1000 C:      1 Min:      5 Act:    5 Avg:    5 Max:       5\n";
    let mut record = foreign::import(frame.as_bytes(), None, Options { unit: Some(Unit::Us), ..Options::default() })
        .unwrap()
        .into_record("round trip");
    record.series = threads
        .iter()
        .zip(0..)
        .map(|(values, thread)| Series {
            name: "scheduled_to_woke".to_owned(),
            place: Place::thread(thread, None),
            histogram: histogram_of(values),
            ..Series::default()
        })
        .collect();
    record
}

fn histogram_of(values: &[u64]) -> Histogram {
    let mut recorder = HistogramRecorder::new();
    values.iter().for_each(|value| recorder.record(*value));
    recorder.snapshot()
}

fn export(record: &Record, format: &str) -> String {
    let bytes = foreign::export(std::slice::from_ref(record), foreign::export_format(format).unwrap()).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn read_back(text: &str) -> Record {
    foreign::import(text.as_bytes(), None, Options { unit: Some(Unit::Us), ..Options::default() })
        .unwrap()
        .into_record("back")
}

/// Samples of each whole microsecond: a bin counts at its upper end, the minimum at its exact value.
fn by_us(histogram: &Histogram) -> Vec<(u64, u64)> {
    let mut all = std::collections::BTreeMap::new();
    for bin in histogram.bins() {
        let first = u64::from(Some(bin.from_ns) == histogram.min_ns());
        *all.entry(bin.from_ns / 1_000).or_insert(0) += first;
        *all.entry(bin.to_ns / 1_000).or_insert(0) += bin.count - first;
    }
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_cyclictest_export_is_imported_unchanged(threads in proptest::collection::vec(
        proptest::collection::vec(prop_oneof![0_u64..100_000, 0_u64..2_500_000], 1..200), 1..4)) {
        let record = record_of(&threads);
        let text = export(&record, "cyclictest");
        let again = read_back(&text);
        prop_assert!(!again.validity.has(record::ReasonCode::SourceContradicts), "{:?}", again.validity);
        prop_assert_eq!(again.series.len(), record.series.len());
        for (ours, theirs) in record.series.iter().zip(&again.series) {
            prop_assert_eq!(by_us(&ours.histogram), by_us(&theirs.histogram));
            prop_assert_eq!(ours.histogram.max_ns().map(|ns| ns / 1_000), theirs.histogram.max_ns().map(|ns| ns / 1_000));
            prop_assert_eq!(ours.histogram.min_ns().map(|ns| ns / 1_000), theirs.histogram.min_ns().map(|ns| ns / 1_000));
        }
        // The values are whole microseconds now, so a second export changes nothing.
        prop_assert_eq!(export(&again, "cyclictest"), text);
    }

    #[test]
    fn samples_above_the_table_are_kept(values in proptest::collection::vec(99_000_000_u64..5_000_000_000, 1..50)) {
        let record = record_of(&[values]);
        let again = read_back(&export(&record, "cyclictest"));
        let (ours, theirs) = (&record.series[0].histogram, &again.series[0].histogram);
        prop_assert_eq!((theirs.count(), theirs.max_ns()), (ours.count(), ours.max_ns().map(|ns| ns / 1_000 * 1_000)));
        prop_assert!(!again.validity.has(record::ReasonCode::SourceContradicts), "{:?}", again.validity);
    }

    #[test]
    fn hdrhistogram_s_own_reader_finds_every_sample(
        threads in proptest::collection::vec(proptest::collection::vec(0_u64..5_000_000_000, 1..100), 1..4)) {
        let mut record = record_of(&threads);
        // The first series has two intervals.
        let (front, back) = threads[0].split_at(threads[0].len() / 2);
        record.series[0].intervals = vec![
            Interval { length_ns: 1_500_000_000, histogram: histogram_of(front), ..Interval::default() },
            Interval { start_offset_ns: 1_500_000_000, length_ns: 500_000_000, histogram: histogram_of(back), ..Interval::default() },
        ];
        let text = export(&record, "hdr");
        let mut whole = std::collections::BTreeMap::<String, hdrhistogram::Histogram<u64>>::new();
        let mut lines = 0;
        for entry in IntervalLogIterator::new(text.as_bytes()) {
            let entry = entry.unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
            if let LogEntry::Interval(interval) = entry {
                lines += 1;
                let mut reader = hdrhistogram::serialization::Deserializer::new();
                let bytes = base64_of(interval.encoded_histogram());
                let histogram: hdrhistogram::Histogram<u64> = reader.deserialize(&mut bytes.as_slice()).unwrap();
                let tag = interval.tag().unwrap().as_str().to_owned();
                let sum = whole.entry(tag).or_insert_with(|| hdrhistogram::Histogram::new(3).unwrap());
                sum.add(histogram).unwrap();
            }
        }
        prop_assert_eq!(lines, threads.len() + 1);
        for (series, theirs) in record.series.iter().zip(whole.values()) {
            let bins: Vec<(u64, u64)> = theirs
                .iter_recorded()
                .map(|bin| (theirs.lowest_equivalent(bin.value_iterated_to()), bin.count_at_value()))
                .collect();
            let ours: Vec<(u64, u64)> =
                series.histogram.bins().map(|bin| (theirs.lowest_equivalent(bin.from_ns), bin.count)).collect();
            prop_assert_eq!(ours, bins);
        }
    }

    #[test]
    fn csv_has_every_sample(threads in proptest::collection::vec(proptest::collection::vec(0_u64..5_000_000_000, 1..100), 1..4)) {
        let text = export(&record_of(&threads), "csv");
        let head: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        let at = |name: &str| head.iter().position(|column| *column == name).unwrap();
        let mut counted = vec![0; threads.len()];
        for row in text.lines().skip(1) {
            let cells: Vec<&str> = row.split(',').collect();
            prop_assert_eq!(cells.len(), head.len());
            let thread: usize = cells[at("thread")].parse().unwrap();
            counted[thread] += cells[at("count")].parse::<usize>().unwrap();
        }
        prop_assert_eq!(counted, threads.iter().map(Vec::len).collect::<Vec<_>>());
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "\\PC{0,300}", which in 0..foreign::IMPORTS.len()) {
        let _ = foreign::import(text.as_bytes(), None, Options::default());
        let _ = foreign::import(text.as_bytes(), Some(&foreign::IMPORTS[which]), Options::default());
    }
}

/// Decodes the histogram of a line, which the crate's iterator leaves encoded.
fn base64_of(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

#[test]
fn unknown_values_are_null_in_the_json_summary() {
    let record = record_of(&[vec![5_000; 2_000]]);
    let rows: serde_json::Value = serde_json::from_str(&export(&record, "json")).unwrap();
    let row = &rows[0];
    assert_eq!((row["samples"].as_u64(), row["max_ns"].as_u64()), (Some(2_000), Some(5_000)));
    assert_eq!(row["p99_ns"].as_u64(), Some(5_000));
    assert!(row["p9999_ns"].is_null(), "2000 samples are too few for it");
    assert!(row["missed_periods"].is_null(), "they were not counted");
    assert!(row["started_realtime_ns"].is_null(), "the source does not contain it");
    assert_eq!(row["validity"], "degraded");
}

#[test]
fn records_that_a_format_cannot_hold_are_refused() {
    let record = record_of(&[vec![5]]);
    let cyclictest = foreign::export_format("cyclictest").unwrap();
    let error = foreign::export(&[record.clone(), record.clone()], cyclictest).unwrap_err().to_string();
    assert!(error.contains("one run, and 2 were given"), "{error}");
    let mut noise = record.clone();
    noise.measurement = record::Measurement::Noise;
    let error = foreign::export(&[noise], cyclictest).unwrap_err().to_string();
    assert!(error.contains("of noise"), "{error}");
    let mut negative = record;
    negative.series[0].below_zero = Some(histogram_of(&[3]));
    let error = foreign::export(&[negative], cyclictest).unwrap_err().to_string();
    assert!(error.contains("below zero"), "{error}");
    assert!(foreign::export_format("xlsx").unwrap_err().to_string().contains("cyclictest, hdr, csv, parquet, json"));
}

/// Every latency of a kind, at a place of each form: what a record of it can have, and more.
fn record_of_kind(kind: &Kind) -> Record {
    let mut record = Record::empty("every-kind".to_owned(), kind.measurement, Manifest::default());
    let flow = |direction| Place::Flow { flow: 3, direction, queue: Some(1) };
    let places = [
        Place::thread(0, Some(2)),
        Place::thread(1, None),
        Place::Pair { cpu: 2, waker_cpu: 1, pair: 0 },
        flow(Direction::Sent),
        flow(Direction::Received),
        flow(Direction::RoundTrip),
        Place::Port { port: "eth0".to_owned(), domain: Some(4) },
        Place::Line { chip: "gpiochip0".to_owned(), line: 7 },
    ];
    for latency in kind.latencies {
        for place in &places {
            record.series.push(Series {
                name: latency.name.to_owned(),
                place: place.clone(),
                histogram: histogram_of(&[5_000, 5_000, 70_000]),
                uncertainty: Some(Uncertainty { below_ns: 11, above_ns: u64::MAX, spread_ns: None }),
                counters: Counters { lost: Some(9), ..Counters::default() },
                ..Series::default()
            });
        }
    }
    if kind.needs_partner() {
        let flow =
            PacketFlow { flow: 3, from: "a".to_owned(), to: "b".to_owned(), sent: Some(40), ..PacketFlow::default() };
        record.detail = Detail::Packet(PacketRun { flows: vec![flow], ..PacketRun::default() });
    }
    record
}

/// What a format cannot hold is refused with words; what it holds is all there.
#[test]
fn every_kind_of_measurement_is_exported_in_every_format_or_refused_with_words() {
    let mut packets = 0;
    for kind in KINDS {
        let record = record_of_kind(kind);
        let series = record.series.len();
        assert!(series > 0, "{}", kind.name);
        for format in foreign::EXPORTS {
            let what = format!("{} as {}", kind.name, format.name);
            let written = foreign::export(std::slice::from_ref(&record), format);
            match (format.name, written) {
                ("cyclictest", Ok(_)) => assert_eq!(kind.compared, Some("scheduled_to_woke"), "{what}"),
                ("cyclictest", Err(error)) => {
                    assert!(
                        error.to_string().contains(kind.name) && error.to_string().contains("use csv"),
                        "{what}: {error}"
                    );
                }
                ("json", Ok(bytes)) => {
                    let rows: Vec<serde_json::Value> = serde_json::from_slice(&bytes).unwrap();
                    assert_eq!(rows.len(), series, "{what}");
                    for (row, series) in rows.iter().zip(&record.series) {
                        assert_eq!(
                            (&row["error_below_ns"], &row["error_above_ns"]),
                            (&11.into(), &serde_json::Value::Null)
                        );
                        assert_eq!((&row["lost"], &row["samples"]), (&9.into(), &3.into()), "{what}");
                        let is_flow = matches!(series.place, Place::Flow { .. });
                        assert_eq!((row["flow"] == 3, row["direction"].is_string()), (is_flow, is_flow), "{what}");
                        assert_eq!(row["thread"].is_null(), series.place.thread_number().is_none(), "{what}");
                        packets += usize::from(row["packets"]["sent"] == 40 && row["packets"]["arrived"].is_null());
                    }
                }
                ("csv", Ok(bytes)) => {
                    let text = String::from_utf8(bytes).unwrap();
                    assert_eq!(text.lines().count(), 1 + 2 * series, "{what}");
                    let columns = text.lines().next().unwrap().split(',').count();
                    assert!(text.lines().all(|line| line.split(',').count() == columns), "{what}");
                }
                ("parquet", Ok(bytes)) => assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{what}"),
                ("hdr", Ok(bytes)) => {
                    assert_eq!(String::from_utf8(bytes).unwrap().matches("\nTag=").count(), series, "{what}");
                }
                (_, Err(error)) => panic!("{what}: {error}"),
                (other, Ok(_)) => panic!("a new format, {other}: say here what it holds"),
            }
        }
    }
    assert!(packets > 0, "no series of a flow says what became of its packets");
}
