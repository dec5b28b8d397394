//! `measure request --on`: a run that another node carries out, told while it goes on.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use record::{Fold, Record, RunEvent};

use crate::support::listening::Listening;
use crate::support::{code, eventually, punctual, said, signal, stdout};

const GAPS: &str = r#"{"request": {"kind": "noise", "duration": "300ms"}}"#;

/// Asks that node for a run.
fn ask(of: &Listening, request: &str, more: &[&str]) -> Command {
    let file = of.folder.path().join("request.json");
    std::fs::write(&file, request).unwrap();
    let mut command = punctual(&["measure", "request", "--on", &format!("{}={}", of.to(), of.token().display())]);
    command.arg(file).args(more);
    command
}

fn asked(of: &Listening, request: &str, more: &[&str]) -> Output {
    ask(of, request, more).output().unwrap()
}

fn file(of: &Listening) -> PathBuf {
    of.folder.path().join("run.json")
}

fn read(path: &Path) -> Record {
    Record::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn another_node_carries_a_run_out_and_tells_all_of_it() {
    let mut listening = Listening::start("127.0.0.1", &["--once", "--anyway"]);
    let run = file(&listening);
    let request = r#"{"request": {"kind": "wakeup", "policy": "other", "interval": "1ms", "end": {"after": "2s"},
        "interval-maximum": "100ms", "placement": "unpinned"}}"#;
    let output = asked(&listening, request, &["--events", "--label", "there", "-o", run.to_str().unwrap()]);
    assert!([0, 3].contains(&code(&output)), "{}", said(&output));
    let events: Vec<RunEvent> = stdout(&output).lines().map(|line| RunEvent::from_line(line).unwrap()).collect();
    assert!(
        matches!(events.first(), Some(RunEvent::Started { label, .. }) if label == "there"),
        "{:?}",
        events.first()
    );
    let intervals = events.iter().filter(|event| matches!(event, RunEvent::Intervals { .. })).count();
    let live = events.iter().filter(|event| matches!(event, RunEvent::Live { .. })).count();
    assert!(intervals > 0 && live > 0, "{intervals} {live}");
    let mut fold = Fold::default();
    events.into_iter().for_each(|event| fold.take(event));
    let (told, kept) = (fold.into_record().unwrap(), read(&run));
    assert_eq!((told.label.as_str(), told.samples()), ("there", kept.samples()));
    assert!(told.series[0].intervals.len() > 10 && told == kept);
    // The node that measured has the same, but for its own label.
    listening.child.wait().unwrap();
    let theirs = read(&listening.listened());
    assert_eq!((theirs.label.as_str(), theirs.samples()), ("", kept.samples()));
}

#[test]
fn a_load_has_to_be_allowed_by_the_node() {
    let loaded = r#"{"request": {"kind": "noise", "duration": "300ms"}, "load": {"name": "paper"}}"#;
    let listening = Listening::start("127.0.0.1", &["--anyway"]);
    let output = asked(&listening, loaded, &[]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(said(&output).contains("does not allow 'load' jobs"), "{}", said(&output));
    // It serves the next one.
    let output = asked(&listening, GAPS, &["--json"]);
    assert!([0, 3].contains(&code(&output)), "{}", said(&output));
    assert_eq!(Record::from_json(&stdout(&output)).unwrap().measurement.name(), "noise");
    let policy = listening.folder.path().join("policy.toml");
    std::fs::write(&policy, "allow = [\"measurement\", \"load\"]\n").unwrap();
    let allowing = Listening::start("127.0.0.1", &["--anyway", "--policy", policy.to_str().unwrap()]);
    let output = asked(&allowing, loaded, &["--json"]);
    assert!([0, 3].contains(&code(&output)), "{}", said(&output));
    assert!(Record::from_json(&stdout(&output)).unwrap().manifest().load.achieved.is_some());
}

#[test]
fn what_only_the_user_of_the_node_may_say_is_refused_before_anybody_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let request = folder.path().join("request.json");
    for (text, wanted) in [
        (r#"{"request": {"kind": "wakeup", "breaktrace": "50us"}}"#, "breaktrace"),
        (r#"{"request": {"kind": "noise"}, "load": {"command": "reboot"}}"#, "runs a command"),
        (r#"{"request": {"kind": "app", "target": {"process": {"pid": 1}}}}"#, "'app' cannot be asked"),
    ] {
        std::fs::write(&request, text).unwrap();
        let output =
            punctual(&["measure", "request", "--on", "nowhere.invalid=/nowhere"]).arg(&request).output().unwrap();
        assert_eq!(code(&output), 2, "{}", said(&output));
        assert!(said(&output).contains(wanted), "{wanted}: {}", said(&output));
    }
}

#[test]
fn what_the_node_refuses_is_an_event_and_an_exit_code() {
    let listening = Listening::start("127.0.0.1", &[]);
    let output = asked(&listening, r#"{"request": {"kind": "noise", "cpus": "4000"}}"#, &["--events"]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    let last = stdout(&output).lines().last().map(|line| RunEvent::from_line(line).unwrap());
    assert!(matches!(last, Some(RunEvent::Refused { ref why, .. }) if why.contains("4000")), "{last:?}");
}

#[test]
fn a_node_that_is_gone_leaves_a_run_that_was_begun_and_is_lost() {
    // One whose first interval has not ended, and one that has told of some.
    for (interval_maximum, has_told) in [("1h", false), ("100ms", true)] {
        let endless = format!(
            r#"{{"request": {{"kind": "wakeup", "policy": "other", "interval": "1ms", "end": "when-told",
            "interval-maximum": "{interval_maximum}", "placement": "unpinned"}}}}"#
        );
        let mut listening = Listening::start("127.0.0.1", &["--anyway"]);
        let run = file(&listening);
        let events = listening.folder.path().join("events");
        let mut command = ask(&listening, &endless, &["--events", "-o", run.to_str().unwrap()]);
        let asking = command.stdout(std::fs::File::create(&events).unwrap()).stderr(Stdio::piped()).spawn().unwrap();
        let told = || -> Vec<RunEvent> {
            let text = std::fs::read_to_string(&events).unwrap();
            text.lines().filter_map(|line| RunEvent::from_line(line).ok()).collect()
        };
        eventually("the run goes on", || {
            told().iter().any(|event| match event {
                RunEvent::Live { .. } => !has_told,
                RunEvent::Intervals { .. } => has_told,
                _ => false,
            })
        });
        listening.child.kill().unwrap();
        let output = asking.wait_with_output().unwrap();
        let events = told();
        let refused = events.iter().any(|event| matches!(event, RunEvent::Refused { .. }));
        let finished = events.iter().any(|event| matches!(event, RunEvent::Finished { .. }));
        assert!(matches!(events.first(), Some(RunEvent::Started { .. })) && !refused && !finished, "{events:?}");
        assert!(matches!(events.last(), Some(RunEvent::Lost { .. })), "{:?}", events.last());
        let lost = if has_told { "what was told until then" } else { "what became of it is not known here" };
        assert!(said(&output).contains(lost), "{}", said(&output));
        let mut fold = Fold::default();
        events.into_iter().for_each(|event| fold.take(event));
        assert!(!fold.is_finished());
        match fold.into_record() {
            Some(record) => assert_eq!(read(&run).samples(), record.samples()),
            None => assert!(code(&output) == 2 && !has_told, "{}", said(&output)),
        }
    }
}

#[test]
fn a_run_that_dies_on_the_other_node_was_begun_and_is_lost() {
    let endless = r#"{"request": {"kind": "wakeup", "policy": "other", "interval": "1ms", "end": "when-told",
        "interval-maximum": "1h", "placement": "unpinned"}}"#;
    let listening = Listening::start("127.0.0.1", &["--anyway"]);
    let events = listening.folder.path().join("events");
    let mut command = ask(&listening, endless, &["--events"]);
    let asking = command.stdout(std::fs::File::create(&events).unwrap()).stderr(Stdio::piped()).spawn().unwrap();
    let told = || -> Vec<RunEvent> {
        let text = std::fs::read_to_string(&events).unwrap();
        text.lines().filter_map(|line| RunEvent::from_line(line).ok()).collect()
    };
    eventually("the run goes on", || told().iter().any(|event| matches!(event, RunEvent::Live { .. })));
    let threads = std::fs::read_dir(format!("/proc/{}/task", listening.child.id())).unwrap();
    let children = threads.map(|thread| std::fs::read_to_string(thread.unwrap().path().join("children")).unwrap());
    let runs: Vec<String> =
        children.flat_map(|of| of.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert!(Command::new("kill").args(["-KILL", &runs[0]]).status().unwrap().success());
    let output = asking.wait_with_output().unwrap();
    let events = told();
    let refused = events.iter().any(|event| matches!(event, RunEvent::Refused { .. }));
    assert!(!refused && matches!(events.last(), Some(RunEvent::Lost { .. })), "{events:?}");
    assert!(code(&output) == 2 && said(&output).contains("without its record"), "{}", said(&output));
}

#[test]
fn ended_on_either_side_there_is_a_record_until_then() {
    let endless = r#"{"request": {"kind": "wakeup", "policy": "other", "interval": "1ms", "end": "when-told",
        "interval-maximum": "100ms", "placement": "unpinned"}}"#;
    let listening = Listening::start("127.0.0.1", &["--anyway"]);
    let run = file(&listening);
    let begin = || {
        let _ = std::fs::remove_file(&run);
        let mut command = ask(&listening, endless, &["-o", run.to_str().unwrap()]);
        let asking = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        eventually("an interval has come", || {
            std::fs::read_to_string(&run)
                .is_ok_and(|text| Record::from_json(&text).is_ok_and(|record| record.samples() > 0))
        });
        asking
    };
    let mut asking = begin();
    signal(&asking, "INT");
    assert!([0, 3].contains(&asking.wait().unwrap().code().unwrap()));
    assert!(read(&run).series[0].intervals.len() > 1);
    // Killed, it leaves what it has, and the node ends a run that nobody waits for.
    let mut asking = begin();
    asking.kill().unwrap();
    asking.wait().unwrap();
    assert!(read(&run).samples() > 0);
    eventually("the node has noticed", || listening.said().contains("with punctual"));
    // A node that is gone costs what comes after.
    let mut listening = Listening::start("127.0.0.1", &["--anyway"]);
    let run = file(&listening);
    let asking = ask(&listening, endless, &["-o", run.to_str().unwrap(), "--json"]);
    let asking = { asking }.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("an interval has come", || {
        run.is_file() && std::fs::metadata(&run).unwrap().len() > 0 && {
            Record::from_json(&std::fs::read_to_string(&run).unwrap()).is_ok_and(|record| record.samples() > 0)
        }
    });
    listening.child.kill().unwrap();
    let output = asking.wait_with_output().unwrap();
    assert!([0, 3].contains(&code(&output)), "{}", said(&output));
    assert!(said(&output).contains("what was told until then"), "{}", said(&output));
    assert!(Record::from_json(&stdout(&output)).unwrap().samples() > 0);
    let listening = Listening::start("127.0.0.1", &["--anyway"]);
    let output = asked(&listening, GAPS, &["--json"]);
    assert!([0, 3].contains(&code(&output)), "{}", said(&output));
}
