//! Files that no run wrote: of later versions, cut, edited.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use serde_json::{Value, json};

use super::*;
use crate::{Manifest, Place, Uncertainty};

/// A run of two nodes, with all that version 2 has and version 1 had not.
fn whole() -> Record {
    let mut manifest = Manifest::default();
    manifest.node.hostname = "left".to_owned();
    let mut record = Record::empty("7".to_owned(), Measurement::Wakeup, manifest.clone());
    manifest.node.hostname = "right".to_owned();
    let second = crate::Node::alone(crate::MEASURED, manifest);
    record.nodes = Nodes::try_from(vec![record.nodes.first().clone(), second]).unwrap();
    let mut histogram = Histogram::new();
    histogram.record_n(5_000, 3);
    let mut below_zero = Histogram::new();
    below_zero.record_n(7_000, 1);
    let uncertainty = Some(Uncertainty { below_ns: 50, above_ns: 80, spread_ns: Some(20) });
    let series = |node: &str, place: Place| Series {
        node: node.to_owned(),
        place,
        name: "scheduled_to_woke".to_owned(),
        histogram: histogram.clone(),
        below_zero: Some(below_zero.clone()),
        uncertainty,
        intervals: vec![Interval {
            start_offset_ns: 0,
            length_ns: 1_000,
            missed_periods: 0,
            histogram: histogram.clone(),
            below_zero: Some(below_zero.clone()),
            uncertainty,
        }],
        ..Series::default()
    };
    let port = Place::Port { port: "eth0".to_owned(), domain: Some(0) };
    record.series = vec![series("left", Place::thread(0, Some(2))), series("right", port)];
    record
}

fn refused(change: impl FnOnce(&mut Value), part: &str) {
    let mut json = serde_json::to_value(whole()).unwrap();
    change(&mut json);
    let error = Record::from_json(&json.to_string()).unwrap_err().to_string();
    assert!(error.contains(part), "{error}");
}

#[test]
fn all_that_version_2_has_reads_back() {
    let record = whole();
    assert_eq!(Record::from_json(&record.to_json()).unwrap(), record);
    assert_eq!(serde_json::from_str::<Record>(&record.to_json()).unwrap(), record);
}

#[test]
fn a_file_that_contradicts_itself_is_refused_with_the_place() {
    refused(|file| file["version"] = json!(3), "schema version 3, this program reads up to 2: take a newer punctual");
    refused(
        |file| file["intervals"][0]["parts"][1]["series"] = json!(2),
        "intervals[0] is of series 2, of which there are 2",
    );
    refused(|file| file["series"][1]["node"] = json!("middle"), "series name a node 'middle'");
    refused(|file| file["nodes"][1]["name"] = json!("left"), "two nodes of the run are called 'left'");
    refused(|file| file["nodes"] = json!([]), "no node took part");
    refused(
        |file| file["nodes"][0]["role"] = json!("sender"),
        "node 'left' was 'sender', and nodes of 'wakeup' are: measured",
    );
    refused(
        |file| {
            let mut earlier = file["intervals"][0].clone();
            earlier["start_offset_ns"] = json!(5);
            file["intervals"].as_array_mut().unwrap().insert(0, earlier);
        },
        "intervals[1] begins before the one before it",
    );
    refused(|file| file["nodes"][0]["clocks"]["read"] = json!(["sundial"]), "'sundial' is not a clock");
}

#[test]
fn a_file_that_was_cut_anywhere_is_refused() {
    let text = whole().to_json();
    // Whatever stands behind the last brace is a blank.
    for length in 0..text.trim_end().len() {
        if text.is_char_boundary(length) {
            assert!(Record::from_json(&text[..length]).is_err(), "cut after {length}");
        }
    }
}

#[test]
fn of_version_1_is_what_its_fields_say() {
    let text = include_str!("../../tests/records/wakeup-1.json");
    let record = Record::from_json(text).unwrap();
    let old: Value = serde_json::from_str(text).unwrap();
    assert_eq!(record.nodes.first().name, old["manifest"]["node"]["hostname"].as_str().unwrap());
    for (series, old) in record.series.iter().zip(old["series"].as_array().unwrap()) {
        assert_eq!(series.intervals.len(), old["intervals"].as_array().unwrap().len());
        assert_eq!(series.place.cpu().map(u64::from), old["cpu"].as_u64());
        assert!(series.judged && series.node == record.nodes.first().name);
    }
    for (worst, old) in record.worst.iter().zip(old["worst"].as_array().unwrap()) {
        assert_eq!(worst.from.at.monotonic.as_ns(), old["scheduled"]["monotonic_ns"].as_i64().unwrap());
        assert_eq!(worst.to.at.realtime.as_ns(), old["woke"]["realtime_ns"].as_i64().unwrap());
        assert_eq!(worst.name, "scheduled_to_woke");
    }
    assert!(!record.series.is_empty() && !record.worst.is_empty());
}
