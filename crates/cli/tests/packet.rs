//! `punctual listen` and `packet send` as two programs, over the loopback interface.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::listening::Listening;
use crate::support::{code, eventually, eventually_measures, said, signal, stdout, thread_of};
use packet::dialog::Message;
use record::{ReasonCode, Record, VerdictState};

fn read(path: &Path) -> Record {
    Record::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn both_programs_write_the_same_record_and_a_limit_is_judged_with_the_error() {
    let mut listening = Listening::start("127.0.0.1", &["--once"]);
    let output = listening.send(&["-s", "300", "-i", "2ms", "--limit", "10s", "--no-sync"]).output().unwrap();
    let (sent, listened) = (read(&listening.sent()), read(&listening.listened()));
    let verdict = sent.verdict.as_ref().unwrap();
    // A machine too busy to send half of them in time is no failure of the verdict.
    let was_too_busy = verdict.reason.contains("too little was measured");
    let expected = if was_too_busy { (3, VerdictState::CannotTell) } else { (0, VerdictState::Holds) };
    assert_eq!((code(&output), verdict.state), expected, "{}: {verdict:?}, {:?}", said(&output), sent.validity);
    assert_eq!(listening.child.wait().unwrap().code(), Some(expected.0));
    assert_eq!(sent, listened);
    let flow = &sent.packets().unwrap().flows[0];
    assert_eq!((flow.sent, flow.lost), (flow.arrived, Some(0)), "{flow:?}");
    assert!(sent.packets().unwrap().explanations.is_empty(), "nobody asked for explanations");
    assert!(sent.nodes.iter().any(|node| node.name.ends_with("(partner)")), "one host name, two nodes");
    let text = stdout(&output);
    for words in ["sent_to_received", "transmitted_to_arrived", "0 lost", "Clock of"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Nothing takes no time.
    let mut listening = Listening::start("127.0.0.1", &["--once"]);
    let output = listening.send(&["-s", "50", "-i", "2ms", "--limit", "1ns", "--direction", "from"]).output().unwrap();
    assert!([1, 3].contains(&code(&output)), "{}", said(&output));
    listening.child.wait().unwrap();
    let record = read(&listening.sent());
    assert!(record.validity.has(ReasonCode::NoTimeService), "it was wanted, and none was followed");
    assert_ne!(record.verdict.unwrap().state, VerdictState::Holds);
}

#[test]
fn without_the_right_token_nothing_is_measured() {
    let listening = Listening::start("127.0.0.1", &[]);
    let other = Listening::start("127.0.0.1", &[]);
    std::fs::copy(other.token(), listening.token()).unwrap();
    let output = listening.send(&["-s", "10"]).output().unwrap();
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(said(&output).contains("another run"), "{}", said(&output));
    std::fs::write(listening.token(), "PUNCTUAL1abc").unwrap();
    let output = listening.send(&["-s", "10"]).output().unwrap();
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(!listening.sent().exists());
    std::fs::remove_file(listening.token()).unwrap();
    let output = listening.send(&["-s", "10"]).output().unwrap();
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(said(&output).contains("copy it from the node that listens"), "{}", said(&output));
}

#[test]
fn a_policy_decides_over_which_interface_packets_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.toml");
    let file = policy.to_str().unwrap();
    for (interface, expected) in [("eth77", 2), ("lo", 0)] {
        std::fs::write(&policy, format!("interfaces = [\"{interface}\"]\n")).unwrap();
        let listening = Listening::start("127.0.0.1", &["--policy", file]);
        let output = listening.send(&["-s", "50", "--no-sync"]).output().unwrap();
        assert_eq!(code(&output), expected, "{interface}: {}", said(&output));
        assert!(expected == 0 || said(&output).contains("eth77"), "{}", said(&output));
    }
}

#[test]
fn what_the_listening_thread_refuses_reaches_the_sender() {
    // A receiver that asks without a pause, and is real-time: it would never sleep.
    let listening = Listening::start("127.0.0.1", &["--sched-priority", "98", "--anyway"]);
    let output = listening.send(&["-s", "50", "-i", "100us", "--receive", "poll", "--no-sync"]).output().unwrap();
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(
        said(&output).contains("the node that listens refuses: a receiver that asks without a pause"),
        "{}",
        said(&output)
    );
}

#[test]
fn what_the_other_node_cannot_do_is_said_on_both() {
    let mut listening = Listening::start("127.0.0.1", &["--once"]);
    let output = listening.send(&["--path", "l2", "-s", "10"]).output().unwrap();
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(said(&output).contains("use --path udp"), "{}", said(&output));
    // It was neither killed nor lost.
    assert_eq!(listening.child.wait().unwrap().code(), Some(2));
    assert!(listening.said().contains("before it asked for anything"), "{}", listening.said());
}

#[test]
fn while_a_partner_is_served_others_are_told_so_at_once() {
    let listening = Listening::start("127.0.0.1", &[]);
    let mut first = listening.send(&["-D", "6s", "--no-sync"]);
    let first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("the first is served", || listening.said().contains("measures packets"));
    let second = listening.send(&["-s", "10"]).output().unwrap();
    assert_eq!(code(&second), 2, "{}", said(&second));
    assert!(said(&second).contains("serves another partner"), "{}", said(&second));
    // The first one's run is not disturbed.
    let first = first.wait_with_output().unwrap();
    assert!(first.status.success());
    assert_eq!(read(&listening.sent()).nodes.iter().count(), 2);
    // And the next one is served.
    std::fs::remove_file(listening.sent()).unwrap();
    let third = listening.send(&["-s", "10", "--no-sync"]).output().unwrap();
    assert_eq!(code(&third), 0, "{}", said(&third));
}

#[test]
fn a_listening_program_that_is_ended_before_a_partner_came_says_whether_that_was_what_it_was_for() {
    for (more, expected) in [(&["--once"][..], 2), (&[], 0)] {
        let mut listening = Listening::start("127.0.0.1", more);
        signal(&listening.child, "TERM");
        assert_eq!(listening.child.wait().unwrap().code(), Some(expected));
        assert_eq!(listening.said().contains("nothing was measured"), expected == 2, "{}", listening.said());
        assert!(!listening.listened().exists());
    }
}

#[test]
fn a_partner_that_never_asks_for_anything_is_given_up_with_words() {
    let mut listening = Listening::start("127.0.0.1", &["--once"]);
    let to = std::fs::read_to_string(listening.folder.path().join("to")).unwrap();
    let port = to.rsplit_once(':').unwrap().1.parse().unwrap();
    let token = peer::read_token(&listening.token()).unwrap();
    let mut channel = peer::connect("127.0.0.1", port, &token, Duration::from_secs(10)).unwrap();
    // It is there, and says nothing, until the other end has had enough.
    eventually("the listening program gives it up", || channel.receive::<Message>(Duration::ZERO).is_err());
    assert_eq!(listening.child.wait().unwrap().code(), Some(2));
    assert!(listening.said().contains("asked for nothing within 10 s"), "{}", listening.said());
}

#[test]
fn a_file_that_cannot_be_written_is_named_before_anybody_can_connect() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(["listen", "--on", "127.0.0.1", "--sched-priority", "other", "--token-file"]).arg(&token);
    let output = command.args(["--once", "-o"]).arg(folder.path().join("missing/record.json")).output().unwrap();
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(said(&output).contains("missing"), "{}", said(&output));
    assert!(!token.exists(), "nobody was to come");
}

#[test]
fn a_program_that_waits_for_a_greeting_ends_at_once_when_it_is_told_to() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listening = Listening::start("127.0.0.1", &[]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(["packet", "send", "--sched-priority", "other", "--to", &silent.local_addr().unwrap().to_string()]);
    let mut sending = command.arg("--token-file").arg(listening.token()).stderr(Stdio::null()).spawn().unwrap();
    // It has connected, and nobody says anything.
    let connection = silent.accept().unwrap();
    let began = Instant::now();
    // Not SIGINT: a program started in the background by a script has inherited to ignore it.
    signal(&sending, "TERM");
    assert!(!sending.wait().unwrap().success());
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    drop(connection);
}

#[test]
fn a_launch_time_that_nothing_honors_is_refused_by_the_node_that_sends() {
    for direction in ["to", "from"] {
        let listening = Listening::start("127.0.0.1", &[]);
        let words = ["-s", "10", "--launch-time", "500us", "--direction", direction];
        let output = listening.send(&words).output().unwrap();
        assert_eq!(code(&output), 2, "{}", said(&output));
        assert!(said(&output).contains("no queueing discipline holds packets back"), "{}", said(&output));
        assert_eq!(said(&output).contains("the node that listens refuses"), direction == "from", "{}", said(&output));
    }
}

/// The half that the sending program saves where the listening one is ended by a signal in the middle of the run, and how
/// long that takes. That the other half is missing is said on stderr too.
fn half_after(name: &str, direction: &str) -> (Duration, Record) {
    // A signal that comes before the run has begun, or right after, leaves nothing to look at.
    let half = (1..=5).find_map(|seconds| half_of(Duration::from_secs(seconds), name, direction));
    half.expect("a hundred packets within 5 s")
}

/// The same, so long after the threads that measure are there; `None` where no hundred packets had passed.
fn half_of(wait: Duration, name: &str, direction: &str) -> Option<(Duration, Record)> {
    let listening = Listening::start("127.0.0.1", &["--once"]);
    let sending = listening
        .send(&["-D", "60s", "-i", "1ms", "--no-sync", "--direction", direction])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually_measures(&sending);
    std::thread::sleep(wait);
    signal(&listening.child, name);
    let since = Instant::now();
    let output = sending.wait_with_output().unwrap();
    let took = since.elapsed();
    let record = listening.sent().exists().then(|| read(&listening.sent()))?;
    let words = if record.nodes.iter().count() == 1 { "this node's half alone" } else { "before it was lost" };
    assert!(said(&output).contains(words), "{}", said(&output));
    let flow = &record.packets().unwrap().flows[0];
    (flow.sent.or(flow.arrived) > Some(100)).then_some((took, record))
}

#[test]
fn a_partner_that_is_killed_or_stopped_costs_its_half_alone() {
    let (took, record) = half_after("KILL", "from");
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert!(record.validity.has(ReasonCode::PartnerLost), "{:?}", record.validity);
    let flow = &record.packets().unwrap().flows[0];
    assert_eq!((flow.sent, flow.lost), (None, None), "only the dead program knew");
    assert!(flow.arrived.is_some(), "{flow:?}");
    let (took, record) = half_after("STOP", "to");
    // Four seconds of silence, and what ending takes.
    assert!(took < Duration::from_secs(9), "{took:?}");
    assert!(record.validity.has(ReasonCode::PartnerLost), "{:?}", record.validity);
    assert!(record.packets().unwrap().flows[0].sent.is_some());
}

#[test]
fn a_run_with_long_intervals_ends_at_once_and_blames_no_other_thread() {
    for direction in ["to", "from", "both"] {
        // One signal that comes before the run has begun ends it without a record.
        let ended = (1..=5).find_map(|seconds| ended_after(Duration::from_secs(seconds), direction));
        let (took, record) = ended.expect("a run that begins within 5 s");
        assert!(took < Duration::from_secs(5), "{direction}: {took:?}");
        let codes = [ReasonCode::ThreadStuck, ReasonCode::PartnerLost];
        assert!(!codes.iter().any(|code| record.validity.has(*code)), "{direction}: {:?}", record.validity);
        assert!(record.validity.has(ReasonCode::InterruptedEarly), "{:?}", record.validity);
    }
}

/// How long a run with long intervals takes to end, and its record, where it is called off so long after its threads are
/// there; `None` where it had not begun.
fn ended_after(wait: Duration, direction: &str) -> Option<(Duration, Record)> {
    let listening = Listening::start("127.0.0.1", &["--once"]);
    let sending = listening
        .send(&["-D", "60s", "-i", "10s", "--no-sync", "--direction", direction, "--receive", "schedule"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let measuring = ["punctual-r", "punctual-s"];
    eventually("threads that measure", || measuring.iter().any(|name| thread_of(&sending, name).is_some()));
    std::thread::sleep(wait);
    signal(&sending, "TERM");
    let since = Instant::now();
    let output = sending.wait_with_output().unwrap();
    let took = since.elapsed();
    let has_begun = listening.sent().exists();
    assert!(has_begun || said(&output).contains("before"), "{}", said(&output));
    has_begun.then(|| (took, read(&listening.sent())))
}

#[test]
fn a_file_for_the_record_of_a_node_that_serves_one_run_after_the_other_is_refused() {
    for output in [&["-o", "/dev/null"][..], &["--json"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        let refused = command.args(["listen", "--on", "127.0.0.1"]).args(output).output().unwrap();
        assert_eq!(code(&refused), 2, "{}", said(&refused));
        assert!(said(&refused).contains("need --once"), "{}", said(&refused));
    }
}

#[test]
fn a_campaign_measures_packets_with_a_partner_that_keeps_listening() {
    let listening = Listening::start("127.0.0.1", &[]);
    let to = std::fs::read_to_string(listening.folder.path().join("to")).unwrap();
    let request = "request = { kind = \"packet\", end = { samples = 60 }, interval = \"2ms\", sync = false }";
    let file = format!(
        "name = \"c\"\nabout = \"a\"\nwarm-up = \"1ms\"\nrepetitions = 2\nseed = 3\n\
         [[measurement]]\nname = \"packets\"\n{request}\npartner = {{ to = \"{to}\", token-file = \"{}\" }}\n\
         [[factor]]\nname = \"receiver\"\n[[factor.level]]\nname = \"block\"\n[[factor.level]]\nname = \"poll\"\n\
         asked = {{ request = {{ receive = \"poll\" }} }}\n",
        listening.token().display()
    );
    let folder = listening.folder.path();
    std::fs::write(folder.join("c.toml"), &file).unwrap();
    let campaign = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.arg("campaign").args(words).current_dir(folder).env("NO_COLOR", "1").output().unwrap()
    };
    let mut output = campaign(&["run", "c.toml", "-o", "out", "--without-conclusion"]);
    // A machine that is too busy for one run can be asked to go on.
    for _ in 0..3 {
        if code(&output) == 2 && said(&output).contains("did not come up within") {
            output = campaign(&["resume", "out"]);
        }
    }
    assert_eq!(code(&output), 0, "{}", said(&output));
    let runs: Vec<_> = std::fs::read_dir(folder.join("out/runs")).unwrap().map(|one| one.unwrap().path()).collect();
    let records: Vec<Record> =
        runs.iter().filter(|path| path.extension().is_some_and(|end| end == "json")).map(|path| read(path)).collect();
    assert_eq!(records.len(), 4, "{runs:?}");
    for record in &records {
        assert_eq!(record.nodes.iter().count(), 2);
        assert!(record.packets().unwrap().flows[0].arrived > Some(0) || record.validity.is_invalid(), "{record:?}");
    }
    // Without a partner it is refused before anything is measured.
    let alone = file.lines().filter(|line| !line.starts_with("partner")).collect::<Vec<_>>().join("\n");
    std::fs::write(folder.join("alone.toml"), alone).unwrap();
    let refused = campaign(&["run", "alone.toml", "-o", "out-alone", "--without-conclusion"]);
    assert_eq!(code(&refused), 2, "{}", said(&refused));
    assert!(said(&refused).contains("punctual listen"), "{}", said(&refused));
}
