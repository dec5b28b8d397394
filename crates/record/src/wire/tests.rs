//! Reading of files of other versions, and rejection of truncated, edited or contradictory ones.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use serde_json::{Value, json};

use super::*;
use crate::{Manifest, Place, Uncertainty};

/// A run of two nodes, with everything that a file can hold.
fn two_node_record() -> Record {
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
            max_at: Some(Moment::default().plus(units::Ns(7))),
        }],
        ..Series::default()
    };
    let port = Place::Port { port: "eth0".to_owned(), domain: Some(0) };
    record.series = vec![series("left", Place::thread(0, Some(2))), series("right", port)];
    record
}

fn refused(change: impl FnOnce(&mut Value), part: &str) {
    let mut json = serde_json::to_value(two_node_record()).unwrap();
    change(&mut json);
    let error = Record::from_json(&json.to_string()).unwrap_err().to_string();
    assert!(error.contains(part), "{error}");
}

#[test]
fn a_record_survives_a_round_trip() {
    let record = two_node_record();
    assert_eq!(Record::from_json(&record.to_json()).unwrap(), record);
    assert_eq!(serde_json::from_str::<Record>(&record.to_json()).unwrap(), record);
}

#[test]
fn a_file_that_contradicts_itself_is_refused_with_the_place() {
    refused(
        |file| file["version"] = json!(3),
        "schema version 3, and this program reads versions up to 2: use a newer punctual",
    );
    refused(
        |file| file["intervals"][0]["parts"][1]["name"] = json!("woke_to_slept"),
        "intervals[0] is of 'woke_to_slept' at ",
    );
    refused(|file| file["series"][1]["node"] = json!("middle"), "series name a node 'middle'");
    refused(|file| file["nodes"][1]["name"] = json!("left"), "two nodes of the run are called 'left'");
    refused(|file| file["nodes"] = json!([]), "no node took part");
    refused(
        |file| file["nodes"][0]["role"] = json!("sender"),
        "node 'left' has the role 'sender', but the roles of 'wakeup' are: measured",
    );
    refused(
        |file| {
            let mut earlier = file["intervals"][0].clone();
            earlier["start_offset_ns"] = json!(5);
            file["intervals"].as_array_mut().unwrap().insert(0, earlier);
        },
        "intervals[1] begins before the one before it",
    );
    refused(
        |file| {
            let mut shorter = file["intervals"][0].clone();
            shorter["length_ns"] = json!(0);
            file["intervals"].as_array_mut().unwrap().insert(1, shorter);
        },
        "intervals[1] begins before the one before it, or with it and is shorter",
    );
    refused(|file| file["nodes"][0]["clocks"]["read"] = json!(["sundial"]), "'sundial' is not a clock");
}

#[test]
fn a_file_that_is_truncated_anywhere_is_refused() {
    let text = two_node_record().to_json();
    // Only white space follows the last brace.
    for length in 0..text.trim_end().len() {
        if text.is_char_boundary(length) {
            assert!(Record::from_json(&text[..length]).is_err(), "cut after {length}");
        }
    }
}

/// As if the version before this one had called the label a title: what is read of it is what it meant.
#[test]
fn a_record_of_an_earlier_version_is_brought_up_to_date_step_by_step() {
    let renamed = |file: &mut Value| {
        let title = file["title"].take();
        file["label"] = title;
    };
    let upgrades = [Upgrade { from: VERSION - 1, to_next: renamed }, Upgrade { from: VERSION - 2, to_next: |_| () }];
    let mut record = two_node_record();
    "idle".clone_into(&mut record.label);
    let mut old = serde_json::to_value(&record).unwrap();
    old["title"] = old["label"].take();
    for version in [VERSION - 1, VERSION - 2] {
        old["version"] = json!(version);
        let text = old.to_string();
        assert_eq!(read_with(&text, &upgrades).unwrap(), record, "from {version}");
        let refused = Record::from_json(&text).unwrap_err().to_string();
        assert!(refused.contains(&format!("schema version {version}, which no release has written")), "{refused}");
        assert!(read_with(&text, &upgrades[1..]).is_err(), "a step that is missing is no step");
    }
}
