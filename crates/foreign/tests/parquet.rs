//! Parquet files hold the rows of the CSV with types, and the description of the runs.
#![cfg(feature = "parquet")]
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use bytes::Bytes;
use foreign::{Options, Unit};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};
use proptest::prelude::*;
use record::{Counters, Direction, Histogram, Place, ReasonCode, Record, Series, Uncertainty, Unplaced};

const HEAD: &str = "run,label,node,measurement,validity,series,variant,cpu,thread,waker_cpu,kind,from_ns,to_ns,count,flow,direction,queue,\
                    from_node,to_node,port,domain,error_below_ns,error_above_ns,error_spread_ns,lost";

fn frame() -> Record {
    let text = "T: 0 (12) P:80 I:1000 C:      1 Min:      5 Act:    5 Avg:    5 Max:       5\n";
    let mut record = foreign::import(text.as_bytes(), None, Options { unit: Some(Unit::Us), ..Options::default() })
        .unwrap()
        .into_record("night");
    record.manifest_mut().node.hostname = "board-7".to_owned();
    record
}

fn histogram_of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|value| histogram.record_n(*value, 1));
    histogram
}

fn export(records: &[Record], format: &str) -> Vec<u8> {
    foreign::export(records, foreign::export_format(format).unwrap()).unwrap()
}

fn reader(bytes: Vec<u8>) -> SerializedFileReader<Bytes> {
    SerializedFileReader::new(Bytes::from(bytes)).unwrap()
}

/// A row in the form of the CSV.
fn cells(row: &Row) -> String {
    let cells: Vec<String> = row
        .get_column_iter()
        .map(|(_, field)| match field {
            Field::Str(text) => text.clone(),
            Field::UInt(number) => number.to_string(),
            Field::ULong(number) => number.to_string(),
            Field::Null => String::new(),
            other => panic!("a column of another type: {other:?}"),
        })
        .collect();
    cells.join(",")
}

fn rows(bytes: Vec<u8>) -> Vec<String> {
    reader(bytes).get_row_iter(None).unwrap().map(|row| cells(&row.unwrap())).collect()
}

fn any_place() -> impl Strategy<Value = Place> {
    let direction = prop_oneof![Just(Direction::Sent), Just(Direction::Received), Just(Direction::RoundTrip)];
    let queue = proptest::option::of(any::<u32>());
    prop_oneof![
        (any::<u32>(), proptest::option::of(any::<u32>())).prop_map(|(thread, cpu)| Place::thread(thread, cpu)),
        (any::<u32>(), any::<u32>(), any::<u32>()).prop_map(|(cpu, waker_cpu, pair)| Place::Pair {
            cpu,
            waker_cpu,
            pair
        }),
        (any::<u32>(), direction, queue).prop_map(|(flow, direction, queue)| Place::Flow { flow, direction, queue }),
        ("[a-z0-9/]{1,9}", proptest::option::of(any::<u8>())).prop_map(|(port, domain)| Place::Port { port, domain }),
        ("[a-z0-9/]{1,9}", any::<u32>()).prop_map(|(chip, line)| Place::Line { chip, line }),
    ]
}

fn any_series() -> impl Strategy<Value = Series> {
    let values = || proptest::collection::vec(prop_oneof![0_u64..10_000_000, 0..=u64::MAX / 4], 0..60);
    let error = (any::<u64>(), any::<u64>(), proptest::option::of(any::<u64>()))
        .prop_map(|(below_ns, above_ns, spread_ns)| Uncertainty { below_ns, above_ns, spread_ns });
    let lost_and_error = (proptest::option::of(any::<u64>()), proptest::option::of(error));
    (any_place(), lost_and_error, values(), values(), 0_u64..5, "[a-z ]{0,12}").prop_map(
        |(place, (lost, uncertainty), values, below, unplaced, variant)| {
            let mut histogram = histogram_of(&values);
            histogram.add_unplaced(Unplaced { count: unplaced, from_ns: 1_000_000 });
            let below_zero = (!below.is_empty()).then(|| histogram_of(&below));
            Series {
                name: "scheduled_to_woke".to_owned(),
                variant,
                place,
                counters: Counters { lost, ..Counters::default() },
                uncertainty,
                histogram,
                below_zero,
                ..Series::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_rows_equal_those_of_the_csv(runs in proptest::collection::vec(proptest::collection::vec(any_series(), 0..4), 1..4)) {
        let records: Vec<Record> = runs.into_iter().map(|series| Record { series, ..frame() }).collect();
        let csv = String::from_utf8(export(&records, "csv")).unwrap();
        let expected: Vec<&str> = csv.lines().skip(1).collect();
        prop_assert_eq!(rows(export(&records, "parquet")), expected);

        let counted: u128 = reader(export(&records, "parquet"))
            .get_row_iter(None)
            .unwrap()
            .map(|row| match row.unwrap().get_column_iter().find(|(name, _)| *name == "count") {
                Some((_, Field::ULong(count))) => u128::from(*count),
                other => panic!("no column has the counts: {other:?}"),
            })
            .sum();
        let taken: u128 = records
            .iter()
            .flat_map(|record| &record.series)
            .map(|s| u128::from(s.histogram.count()) + s.below_zero.as_ref().map_or(0, |below| u128::from(below.count())))
            .sum();
        prop_assert_eq!(counted, taken);
    }
}

#[test]
fn names_types_and_units_are_in_the_schema() {
    let file = reader(export(&[frame()], "parquet"));
    let schema = file.metadata().file_metadata().schema_descr();
    let names: Vec<&str> = schema.columns().iter().map(|column| column.name()).collect();
    assert_eq!(names.join(","), HEAD);
    let mut text = Vec::new();
    parquet::schema::printer::print_schema(&mut text, schema.root_schema());
    let text = String::from_utf8(text).unwrap();
    for line in [
        "REQUIRED BYTE_ARRAY validity (STRING);",
        "OPTIONAL INT32 cpu (INTEGER(32,false));",
        "REQUIRED INT64 to_ns (INTEGER(64,false));",
        // Only threads have one.
        "OPTIONAL INT32 thread (INTEGER(32,false));",
        "OPTIONAL BYTE_ARRAY direction (STRING);",
        "OPTIONAL INT64 error_above_ns (INTEGER(64,false));",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn texts_are_unchanged() {
    // Unlike in CSV, neither a formula nor a comma needs an escape.
    let label = "=1+1, \"night\"\nsecond";
    let record = Record { label: label.to_owned(), ..frame() };
    let row = reader(export(&[record], "parquet")).get_row_iter(None).unwrap().next().unwrap().unwrap();
    assert!(row.get_column_iter().any(|(_, field)| *field == Field::Str(label.to_owned())));
}

#[test]
fn the_metadata_describes_the_runs() {
    let mut invalid = frame();
    invalid.validity.add(ReasonCode::RtThrottled, "CPU 3, 50 ms");
    invalid.manifest_mut().command = vec!["punctual".to_owned(), "measure".to_owned(), "a b".to_owned()];
    invalid.manifest_mut().node.kernel_release = "6.12.48+deb13-rt-amd64".to_owned();
    // A run without samples has no rows, but is still in the metadata.
    invalid.series.clear();
    let file = reader(export(&[frame(), invalid], "parquet"));
    assert_eq!(file.metadata().file_metadata().num_rows(), 1);
    let pairs = file.metadata().file_metadata().key_value_metadata().unwrap();
    let runs = pairs.iter().find(|pair| pair.key == "punctual.runs").unwrap().value.as_deref().unwrap();
    let runs: serde_json::Value = serde_json::from_str(runs).unwrap();
    assert_eq!(runs.as_array().unwrap().len(), 2);
    let run = &runs[1];
    for (key, value) in [
        ("schema", "punctual/record"),
        ("label", "night"),
        ("validity", "invalid"),
        ("node", "board-7"),
        ("kernel_release", "6.12.48+deb13-rt-amd64"),
        ("origin", "cyclictest-text"),
    ] {
        assert_eq!(run[key], value, "{key}");
    }
    assert_eq!((run["version"].as_u64(), &run["command"][2]), (Some(2), &"a b".into()));
    assert!(!run["id"].as_str().unwrap().is_empty());
    let reasons = run["reasons"].as_array().unwrap();
    let throttled = reasons.iter().find(|reason| reason["code"] == "rt-throttled").unwrap();
    assert_eq!(throttled["detail"], "CPU 3, 50 ms");
}

#[test]
fn a_record_without_samples_has_no_rows() {
    let record = Record { series: Vec::new(), ..frame() };
    assert!(rows(export(&[record], "parquet")).is_empty());
}
