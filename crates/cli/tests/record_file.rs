//! The file of a record while its run goes on: what a kill, a full disk and a second run leave of it.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use crate::support::{Running, code, eventually, punctual, run, said, signal, stdout};
use record::{ReasonCode, Record};
use units::Random;

/// A run of unknown length whose intervals are short.
fn endless(file: &Path) -> Child {
    let file = file.to_str().unwrap();
    let line =
        ["measure", "wakeup", "--policy", "other", "--duration", "unlimited", "--interval-maximum", "20ms", "-o", file];
    punctual(&line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The record as a reader of the file sees it; `None` where there is no file yet.
fn read(file: &Path) -> Option<Record> {
    let text = fs::read_to_string(file).ok()?;
    Some(Record::from_json(&text).unwrap_or_else(|error| panic!("{error}\n{text}")))
}

fn intervals(record: &Record) -> usize {
    record.series.iter().map(|series| series.intervals.len()).min().unwrap()
}

#[test]
fn a_run_that_is_killed_at_any_moment_leaves_what_its_file_held_before() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let mut random = Random::new(17);
    for _ in 0..20 {
        let _ = fs::remove_file(&file);
        let mut child = endless(&file);
        let wanted = 1 + random.below(12);
        let mut seen = 0;
        // Each look is one of a reader at any moment: it has a whole record.
        eventually("so many intervals", || {
            seen = read(&file).map_or(0, |record| intervals(&record));
            seen >= wanted
        });
        std::thread::sleep(std::time::Duration::from_micros(random.below(20_000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let left = read(&file).unwrap();
        assert!(intervals(&left) >= seen, "{} of {seen} intervals", intervals(&left));
        assert!(left.validity.has(ReasonCode::InterruptedEarly), "{:?}", left.validity);
        for series in &left.series {
            let offsets = series.intervals.iter().map(|interval| interval.start_offset_ns / 20_000_000);
            assert!(offsets.eq(0..series.intervals.len() as u64), "no interval is missing between two");
            let counted: u64 = series.intervals.iter().map(|interval| interval.histogram.count()).sum();
            assert_eq!((counted, counted), (series.counters.samples, series.histogram.count()));
            assert_eq!(series.counters.minor_faults, None, "what only the thread can say is not made up");
        }
        let worst = left.worst.iter().map(|worst| worst.latency_ns).max().unwrap();
        assert_eq!(worst, left.worst_of_all().unwrap().0, "the worst are of the intervals that are there");
    }
    // What a killed run leaves beside its file is gone with the next one.
    assert!(fs::read_dir(folder.path()).unwrap().count() <= 2);
    let file = file.to_str().unwrap();
    let output = run(&["measure", "wakeup", "--policy", "other", "--duration", "100ms", "--force", "-o", file]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{}", said(&output));
}

#[test]
fn a_run_of_unknown_length_has_all_its_intervals_in_its_file_and_on_stdout() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let line =
        ["measure", "wakeup", "--policy", "other", "--duration", "unlimited", "--interval-maximum", "20ms", "-o"];
    let child = Running::start(&line, &[file.to_str().unwrap()]);
    eventually("five intervals", || read(&file).is_some_and(|record| intervals(&record) >= 5));
    // While it goes on nobody else writes its file.
    let other =
        ["measure", "wakeup", "--policy", "other", "--duration", "100ms", "--force", "-o", file.to_str().unwrap()];
    let second = run(&other);
    assert_eq!(code(&second), 2, "{}", said(&second));
    assert!(said(&second).contains("another run of punctual is writing"), "{}", said(&second));
    signal(&child, "INT");
    let output = child.output();
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(stdout(&output), text);
    let record = Record::from_json(&text).unwrap();
    for series in &record.series {
        let counted: u64 = series.intervals.iter().map(|interval| interval.histogram.count()).sum();
        assert!(
            series.intervals.len() >= 5 && counted == series.histogram.count() && counted == series.counters.samples
        );
        assert!(series.counters.minor_faults.is_some(), "it ended by itself");
    }
    assert_eq!(Record::from_json(&record.to_json()).unwrap(), record);
    let (validity, intervals) = (text.find("\n  \"validity\":").unwrap(), text.find("\n  \"intervals\":").unwrap());
    assert!(validity < intervals, "what people look for first stands first in a finished file");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_is_there_is_replaced_by_force_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    fs::write(&file, "a night's run").unwrap();
    let path = file.to_str().unwrap();
    for line in [
        &["measure", "wakeup", "--policy", "other", "--duration", "200ms", "-o", path][..],
        &["measure", "clock", "--samples", "1000", "-o", path],
        &["measure", "noise", "--duration", "200ms", "-o", path],
        &["app", "--cmd", "true", "-o", path],
        &["packet", "send", "--to", "127.0.0.1:1", "--token", "PUNCTUAL1abc", "-o", path],
    ] {
        let refused = run(line);
        assert_eq!(code(&refused), 2, "{line:?}: {}", said(&refused));
        assert!(line[0] == "packet" || said(&refused).contains("is there already"), "{}", said(&refused));
        assert_eq!(fs::read_to_string(&file).unwrap(), "a night's run");
    }
    let line = ["measure", "clock", "--samples", "1000", "-o", path];
    assert_eq!(code(&run(&[&line[..], &["--force"]].concat())), 0);
    assert!(read(&file).is_some());
    assert_eq!(code(&run(&["measure", "clock", "--samples", "1000", "-o", "/dev/null"])), 0, "no file is lost by it");
    assert_eq!(code(&run(&["measure", "clock", "--force"])), 2, "there is nothing to replace");
}
