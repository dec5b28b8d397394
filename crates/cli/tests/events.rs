//! `measure request --events`: what becomes of a run, told to whoever reads it.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Stdio};

use record::{Fold, Record, RefusalClass, RunEvent};

use crate::support::followed::can_follow;
use crate::support::ptp4l::Ptp4l;
use crate::support::{eventually, eventually_measures, punctual, signal};

/// The program, about to tell of a run of this request, whose record goes to a file too.
fn asked(request: &str, folder: &Path, more: &[&str]) -> Child {
    let file = folder.join("request.json");
    std::fs::write(&file, request).unwrap();
    punctual(&["measure", "request", "--events", "--anyway", "--label", "told", "-o"])
        .args([folder.join("run.json"), file])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn file_of(folder: &Path) -> Record {
    Record::from_json(&std::fs::read_to_string(folder.join("run.json")).unwrap()).unwrap()
}

/// All that was told, and whether at each moment the file held what was told until then.
fn told(child: &mut Child, folder: &Path) -> Vec<RunEvent> {
    let mut events = Vec::new();
    let mut fold = Fold::default();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event = RunEvent::from_line(&line.unwrap()).unwrap();
        fold.take(event.clone());
        if let (RunEvent::Intervals { .. } | RunEvent::SoFar { .. }, Some(so_far)) = (&event, fold.record()) {
            // It was written before, and by now it may hold more. The thread that writes it may be a little behind.
            let has_it = || {
                std::fs::read_to_string(folder.join("run.json")).is_ok_and(|text| {
                    let file = Record::from_json(&text).unwrap();
                    let counts = |record: &Record| record.series.iter().map(|one| one.intervals.len()).sum::<usize>();
                    file.id == so_far.id && counts(&file) >= counts(so_far)
                })
            };
            eventually("an interval in the file", has_it);
        }
        events.push(event);
    }
    child.wait().unwrap();
    events
}

fn folded(events: &[RunEvent]) -> Fold {
    let mut fold = Fold::default();
    events.iter().cloned().for_each(|event| fold.take(event));
    fold
}

#[test]
fn the_record_of_each_kind_is_the_fold_of_its_events() {
    let ptp4l = Ptp4l::start(0);
    let sync = format!(
        "{{\"kind\": \"sync\", \"source\": \"ptp\", \"duration\": \"3s\", \"ptp-socket\": {:?}, \"ptp-events\": {:?}}}",
        ptp4l.path("management"),
        ptp4l.path("events")
    );
    let kinds = [
        (r#"{"kind": "wakeup", "end": {"after": "4s"}, "interval": "2ms"}"#.to_owned(), (true, false)),
        (r#"{"kind": "noise", "duration": "4s"}"#.to_owned(), (true, false)),
        (r#"{"kind": "event", "means": "pipe", "end": {"after": "4s"}, "interval": "2ms"}"#.to_owned(), (true, false)),
        (r#"{"kind": "clock", "samples": 1000}"#.to_owned(), (false, false)),
        (r#"{"kind": "app", "target": {"command": {"command": "sleep 3"}}}"#.to_owned(), (false, can_follow())),
        (sync, (true, false)),
    ];
    for (request, has_told) in kinds {
        let folder = tempfile::tempdir().unwrap();
        let mut child = asked(&format!("{{\"request\": {request}}}"), folder.path(), &[]);
        let events = told(&mut child, folder.path());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let started = events.iter().filter(|event| matches!(event, RunEvent::Started { .. })).count();
        assert!(matches!(events.first(), Some(RunEvent::Started { label, .. }) if label == "told"), "{said}");
        assert!(matches!(events.last(), Some(RunEvent::Finished { .. })) && started == 1, "{said}");
        let has_intervals = events.iter().any(|event| matches!(event, RunEvent::Intervals { .. }));
        let has_so_far = events.iter().any(|event| matches!(event, RunEvent::SoFar { .. }));
        assert_eq!((has_intervals, has_so_far), has_told, "{request}: {said}");
        assert_eq!(folded(&events).record(), Some(&file_of(folder.path())), "{request}");
    }
}

#[test]
fn what_is_refused_says_so_on_the_stream_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = asked(r#"{"request": {"kind": "noise"}, "load": {"name": "nobody-has-it"}}"#, folder.path(), &[]);
    let events = told(&mut child, folder.path());
    let [RunEvent::Refused { class: RefusalClass::Usage, why }] = events.as_slice() else { panic!("{events:?}") };
    assert!(why.contains("nobody-has-it"), "{why}");
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn a_run_that_is_killed_has_told_what_its_file_holds() {
    let folder = tempfile::tempdir().unwrap();
    let request =
        r#"{"request": {"kind": "wakeup", "end": "when-told", "interval": "2ms", "interval-maximum": "100ms"}}"#;
    let mut child = asked(request, folder.path(), &[]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (mut fold, mut intervals) = (Fold::default(), 0);
    while intervals < 5 {
        let event = RunEvent::from_line(&lines.next().unwrap().unwrap()).unwrap();
        intervals += usize::from(matches!(event, RunEvent::Intervals { .. }));
        fold.take(event);
    }
    signal(&child, "KILL");
    child.wait().unwrap();
    // What was on its way; the last line may be cut.
    for line in lines.map_while(Result::ok) {
        if let Ok(event) = RunEvent::from_line(&line) {
            fold.take(event);
        }
    }
    let (told, file) = (fold.record().unwrap(), file_of(folder.path()));
    assert!(!fold.is_finished() && told.id == file.id);
    for (told, file) in told.series.iter().zip(&file.series) {
        let both = told.intervals.len().min(file.intervals.len());
        assert!(both >= 3 && told.intervals[..both] == file.intervals[..both], "{told:?} {file:?}");
    }
}

#[test]
fn a_reader_that_stops_or_goes_away_costs_no_sample() {
    let request =
        r#"{"request": {"kind": "wakeup", "end": {"after": "4s"}, "interval": "1ms", "interval-maximum": "20ms"}}"#;
    for goes_away in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = asked(request, folder.path(), &[]);
        eventually_measures(&child);
        let file = if goes_away {
            drop(child.stdout.take());
            child.wait().unwrap();
            file_of(folder.path())
        } else {
            // The pipe is full long before the end: 200 intervals are megabytes.
            eventually("the end of the run", || {
                std::fs::read_to_string(folder.path().join("run.json")).is_ok_and(|text| {
                    !Record::from_json(&text).unwrap().validity.has(record::ReasonCode::InterruptedEarly)
                })
            });
            let events = told(&mut child, folder.path());
            let fold = folded(&events);
            assert!(fold.is_finished());
            let kept: usize = fold.record().unwrap().series.iter().map(|series| series.intervals.len()).sum();
            let all: usize = file_of(folder.path()).series.iter().map(|series| series.intervals.len()).sum();
            assert!(kept == all || fold.missing() > 0, "{kept} of {all}");
            file_of(folder.path())
        };
        assert!(!file.validity.has(record::ReasonCode::SamplesDropped), "{:?}", file.validity);
        let accounted: u64 = file.series.iter().map(|one| one.taken() + one.counters.missed_periods).sum();
        let asked = 4_000 * u64::try_from(file.series.len()).unwrap();
        assert!(accounted >= asked - asked / 100, "{accounted} of {asked}");
    }
}
