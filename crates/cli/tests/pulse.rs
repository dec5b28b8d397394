//! `punctual listen` on several nodes and `pulse send`, as programs of one machine, whose clocks are one: over the loopback
//! interface.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::support::listening::Listening;
use crate::support::{code, eventually, said, signal, stdout};
use record::{ActsBy, OrderCounts, PulseRun, ReasonCode, Record, VerdictState};

/// Nodes that act, each with a name of its own.
fn nodes(names: &[&str], more: &[&str]) -> Vec<Listening> {
    names.iter().map(|name| Listening::start("127.0.0.1", &[&["--once", "--name", name], more].concat())).collect()
}

/// A command that orders them.
fn order(nodes: &[Listening], more: &[&str]) -> (Command, PathBuf) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(["pulse", "send", "--sched-priority", "other", "--no-sync"]);
    for node in nodes {
        command.arg("--to").arg(format!("{}={}", node.to(), node.token().display()));
    }
    let file = nodes[0].sent();
    command.arg("-o").arg(&file).args(more);
    (command, file)
}

/// A run that something comes to while it goes on, and its record. A run that had not begun by then has none: the next one has longer.
fn disturbed(
    names: &[&str],
    more: &[&str],
    disturb: impl Fn(&mut [Listening], &mut std::process::Child),
) -> (Vec<Listening>, Record) {
    for turn in 0..5 {
        let mut nodes = nodes(names, &[]);
        let (mut command, file) = order(&nodes, &[&["-i", "2ms", "--lead", "30ms"], more].concat());
        let quiet = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut server = quiet.spawn().unwrap();
        eventually("it was ordered", || nodes[0].said().contains("orders acts"));
        std::thread::sleep(Duration::from_millis(500 << turn));
        disturb(&mut nodes, &mut server);
        let record = std::fs::read_to_string(&file).ok().and_then(|text| Record::from_json(&text).ok());
        let has_begun = |record: &Record| pulses(record).nodes.iter().any(|node| node.orders.scheduled > 10);
        if let Some(record) = record.filter(has_begun) {
            return (nodes, record);
        }
    }
    panic!("no run had begun after 8 s");
}

fn read(path: &std::path::Path) -> Record {
    Record::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn pulses(record: &Record) -> &PulseRun {
    record.pulses().unwrap()
}

/// How many samples a node's series has: as many as its intervals together.
fn taken(record: &Record, flow: u32, name: &str) -> u64 {
    let place = record::Place::Flow { flow, direction: record::Direction::Received, queue: None };
    let series = record.series.iter().find(|one| one.name == name && one.place == place).unwrap();
    assert_eq!(series.intervals.iter().map(record::Interval::taken).sum::<u64>(), series.taken(), "{name}");
    series.taken()
}

/// Whether each order is counted once.
fn are_counted(orders: &OrderCounts, scheduled: u64) -> bool {
    let OrderCounts { skipped, acted, lost, too_late, refused, dropped, unknown, .. } = *orders;
    orders.scheduled == scheduled && skipped + acted + lost + too_late + refused + dropped + unknown == scheduled
}

#[test]
fn two_nodes_act_on_orders_and_each_order_is_counted_once_by_either_clock() {
    for by in [ActsBy::Service, ActsBy::Exchange] {
        let mut nodes = nodes(&["one", "two"], &[]);
        let more = ["-s", "400", "-i", "2ms", "--lead", "30ms", "--tolerance", "900ms", "--by", by.name()];
        let (mut command, file) = order(&nodes, &more);
        let output = command.output().unwrap();
        assert!([0, 1, 3].contains(&code(&output)), "{}", said(&output));
        nodes.iter_mut().for_each(|node| assert!(node.child.wait().unwrap().code().is_some()));
        let record = read(&file);
        let names: Vec<&str> = record.nodes.iter().map(|node| &*node.name).collect();
        assert_eq!((names.len(), &names[1..]), (3, &["one", "two"][..]));
        assert_eq!(record.nodes.iter().map(|node| &*node.role).collect::<Vec<_>>(), ["server", "node", "node"]);
        let run = pulses(&record);
        assert_eq!(run.by, by);
        for (node, at) in run.nodes.iter().zip(&nodes) {
            assert!(are_counted(&node.orders, 400), "{:?}", node.orders);
            assert_eq!(node.orders.unknown, 0);
            assert!(node.arming_ns.is_some_and(|ns| ns > 0 && ns < 1_000_000_000), "{node:?}");
            assert!(node.within_ns().is_some(), "{node:?}");
            // The node's own record says the same of it, but for what the server never sent.
            let its = read(&at.listened());
            let sent =
                OrderCounts { scheduled: node.orders.scheduled - node.orders.skipped, skipped: 0, ..node.orders };
            let said: Vec<_> = pulses(&its).nodes.iter().map(|one| (&one.node, one.orders)).collect();
            assert!(said == [(&node.node, sent)] || said == [(&node.node, node.orders)], "{said:?}, {:?}", node.orders);
        }
        // All clocks are one: the truth is 0, and no exchange excludes it.
        assert_eq!(run.packets.clocks.len(), 4);
        for clocks in &run.packets.clocks {
            for (lower_ns, upper_ns) in clocks.track.iter().filter_map(|point| point.bound_ns) {
                assert!(lower_ns <= 0 && 0 <= upper_ns, "{lower_ns} to {upper_ns}");
            }
        }
        let trials = &run.trials;
        assert_eq!((trials.scheduled, trials.kept + trials.missed), (400, 400), "{trials:?}");
        let acted = |name: &str| {
            let of = record.series.iter().filter(|series| series.name == name);
            of.map(record::Series::taken).collect::<Vec<_>>()
        };
        let expected: Vec<u64> = run.nodes.iter().map(|node| node.orders.acted).collect();
        assert_eq!(acted("ordered_to_acted"), expected);
        assert_eq!(acted("acted_to_returned"), expected);
        // No act is early, on the clock that it was done by.
        for series in record.series.iter().filter(|series| series.name == "ordered_to_acted") {
            assert!(series.below_zero.is_none(), "{series:?}");
        }
        let text = stdout(&output);
        for words in
            ["ordered 2 nodes every 2 ms to act 30 ms after the schedule", "in time", "the lead that the order needed"]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}

#[test]
fn an_order_that_comes_too_late_is_not_carried_out_and_breaks_the_run() {
    let nodes = nodes(&["one"], &[]);
    // No packet comes within a microsecond.
    let (mut command, file) = order(&nodes, &["-s", "100", "-i", "2ms", "--lead", "1us"]);
    let output = command.output().unwrap();
    let record = read(&file);
    let orders = pulses(&record).nodes[0].orders;
    assert!(are_counted(&orders, 100) && orders.acted == 0 && orders.too_late > 0, "{orders:?}");
    assert_eq!(code(&output), 1, "{}", said(&output));
    let verdict = record.verdict.as_ref().unwrap();
    assert_eq!(verdict.state, VerdictState::Broken, "{verdict:?}");
    assert!(verdict.reason.starts_with("none of 100 orders was carried out"), "{verdict:?}");
    assert!(stdout(&output).contains("does not hold"), "{}", stdout(&output));
    // What they needed is known all the same.
    let needed = record.series.iter().find(|series| series.name == "scheduled_to_armed").unwrap();
    assert_eq!(needed.taken(), orders.too_late);
}

#[test]
fn of_a_node_that_is_killed_its_orders_are_unknown_and_the_other_s_stand() {
    let (_nodes, record) = disturbed(&["one", "two"], &["--time", "6s", "--tolerance", "900ms"], |nodes, server| {
        nodes[1].child.kill().unwrap();
        assert_ne!(server.wait().unwrap().code(), Some(0));
    });
    assert!(record.validity.has(ReasonCode::PartnerLost), "{:?}", record.validity);
    let run = pulses(&record);
    assert!(run.nodes.iter().all(|node| are_counted(&node.orders, node.orders.scheduled)), "{:?}", run.nodes);
    assert_eq!(run.nodes[0].orders.unknown, 0, "{:?}", run.nodes[0]);
    let orders = run.nodes[1].orders;
    assert!(are_counted(&orders, orders.scheduled) && orders.unknown > 0 && orders.lost == 0, "{orders:?}");
    assert_eq!(run.trials.kept + run.trials.missed + run.trials.unknown, run.trials.scheduled, "{:?}", run.trials);
    assert!(run.trials.unknown > 0 && run.trials.kept <= orders.acted, "{:?}", run.trials);
    assert_ne!(record.verdict.unwrap().state, VerdictState::Holds);
}

#[test]
fn what_the_nodes_told_until_then_is_in_the_file_of_a_server_that_is_killed_and_of_one_that_lost_a_node() {
    for is_server in [true, false] {
        let mut nodes = nodes(&["one", "two"], &[]);
        let more = ["-i", "2ms", "--lead", "30ms", "--time", "60s", "--tolerance", "900ms"];
        let (mut command, file) = order(&nodes, &more);
        let quiet = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut server = quiet.spawn().unwrap();
        let of_all = |record: &Record| pulses(record).nodes.iter().all(|node| node.orders.acted > 100);
        eventually("orders of both nodes in the file", || {
            std::fs::read_to_string(&file)
                .is_ok_and(|text| Record::from_json(&text).is_ok_and(|record| of_all(&record)))
        });
        if is_server {
            server.kill().unwrap();
        } else {
            nodes[1].child.kill().unwrap();
            eventually("the run without it", || nodes[1].child.try_wait().unwrap().is_some());
            std::thread::sleep(Duration::from_millis(200));
            signal(&server, "INT");
        }
        server.wait().unwrap();
        let record = read(&file);
        assert!(record.validity.has(ReasonCode::InterruptedEarly), "{:?}", record.validity);
        assert_eq!(record.validity.has(ReasonCode::PartnerLost), !is_server, "{:?}", record.validity);
        let run = pulses(&record);
        for node in &run.nodes {
            assert!(are_counted(&node.orders, node.orders.scheduled) && node.orders.lost == 0, "{node:?}");
            assert!(node.orders.acted > 100 && node.kept.is_none() && node.known_below.is_none(), "{node:?}");
            let taken = |name: &str| taken(&record, node.flow, name);
            let (acted, armed) = (taken("ordered_to_acted"), taken("scheduled_to_armed"));
            assert!(acted > 0 && acted <= node.orders.acted && armed > 0, "{node:?}");
        }
        let of_second = run.nodes[1].orders;
        assert!(of_second.unknown > 0, "what it did afterwards nobody knows: {of_second:?}");
        assert_eq!(run.trials.kept + run.trials.missed + run.trials.unknown, run.trials.scheduled, "{:?}", run.trials);
        assert!(run.trials.kept > 0 && run.trials.kept <= of_second.acted, "{:?}", run.trials);
    }
}

#[test]
fn a_run_that_is_ended_early_counts_what_was_scheduled_until_then() {
    // Without an end the intervals are in the file alone.
    for time in ["60s", "unlimited"] {
        let (_nodes, record) = disturbed(&["one", "two"], &["--time", time], |_, server| {
            signal(server, "INT");
            server.wait().unwrap();
        });
        assert!(record.validity.has(ReasonCode::InterruptedEarly), "{:?}", record.validity);
        for node in &pulses(&record).nodes {
            let orders = node.orders;
            assert!(are_counted(&orders, orders.scheduled) && orders.unknown == 0, "{orders:?}");
            assert!(orders.scheduled > 10 && orders.scheduled < 20_000, "{orders:?}");
            assert_eq!(taken(&record, node.flow, "ordered_to_acted"), orders.acted, "{orders:?}");
        }
    }
}

#[test]
fn an_output_that_the_policy_does_not_name_is_refused_and_so_is_what_cannot_be_ordered() {
    let refused = |more: &[&str], words: &str| {
        let nodes = nodes(&["one"], &[]);
        let (mut command, file) = order(&nodes, more);
        let output = command.output().unwrap();
        assert_eq!(code(&output), 2, "{}", said(&output));
        assert!(said(&output).contains(words), "{words}: {}", said(&output));
        assert!(!file.exists());
    };
    refused(&["--output-name", "valve"], "does not allow 'output' jobs");
    refused(&["--lead", "11s"], "the lead of 11s is out of range");
    refused(&["--lead", "100ms", "--interval", "1ms"], "101 orders would wait at once");
    refused(&["--width", "1ms", "--interval", "1ms"], "at most 900us");
    refused(&["--shape", "square", "--width", "1us"], "leave the width out");
    refused(&["--mark", "1000", "--width", "400us"], "--mark");
    refused(&["--size", "79"], "80 to 65507");
    refused(&["--spin", "1ms"], "the spin of 1ms");
    // Two nodes of one name could not be told apart.
    let nodes = nodes(&["one", "one"], &[]);
    let (mut command, _) = order(&nodes, &["-s", "10"]);
    let output = command.output().unwrap();
    assert!(said(&output).contains("two nodes of this run are called one"), "{}", said(&output));
    for node in &nodes {
        eventually("it heard why", || node.said().contains("two nodes of this run are called one"));
    }
}

#[test]
fn a_request_with_a_list_of_partners_is_carried_out() {
    let nodes = nodes(&["one", "two"], &[]);
    let partner = |node: &Listening| serde_json::json!({"to": node.to(), "token-file": node.token()});
    let request = serde_json::json!({
        "request": {"kind": "pulse", "interval": "2ms", "lead": "30ms", "end": {"samples": 50}, "sched-priority": null, "sync": false},
        "partner": nodes.iter().map(partner).collect::<Vec<_>>(),
    });
    let file = nodes[0].folder.path().join("request.json");
    std::fs::write(&file, request.to_string()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["measure", "request"])
        .arg(&file)
        .arg("-o")
        .arg(nodes[0].sent())
        .output()
        .unwrap();
    let record = read(&nodes[0].sent());
    assert_eq!(pulses(&record).nodes.len(), 2, "{}", said(&output));
    assert_eq!(pulses(&record).trials.scheduled, 50);
}

/// Nodes that serve one run after the other.
fn staying(names: &[&str]) -> Vec<Listening> {
    names.iter().map(|name| Listening::start("127.0.0.1", &["--name", name])).collect()
}

/// A sweep that keeps what it comes to in a folder, and prints it.
fn sweeping(nodes: &[Listening], more: &[&str], folder: &std::path::Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(["pulse", "sweep", "--sched-priority", "other", "--no-sync", "--max-miss", "0.1", "--explore", "2s"]);
    command.args(["--max-lead", "120ms", "--margin", "1ms", "--tolerance", "900ms", "--load", "tests"]);
    for node in nodes {
        command.arg("--to").arg(format!("{}={}", node.to(), node.token().display()));
    }
    command.args(more).arg("--json").arg("-o").arg(folder);
    command
}

#[test]
fn a_sweep_whose_node_is_lost_says_what_it_had_shown() {
    let mut nodes = staying(&["one", "two"]);
    let folder = tempfile::tempdir().unwrap();
    let said_to = folder.path().join("said");
    let sweep = folder.path().join("night");
    let mut command = sweeping(&nodes, &["--interval", "2ms,4ms"], &sweep);
    let mut child =
        command.stdout(std::process::Stdio::null()).stderr(std::fs::File::create(&said_to).unwrap()).spawn().unwrap();
    eventually("the second run", || std::fs::read_to_string(&said_to).unwrap().contains("run 2:"));
    nodes[1].child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{}", std::fs::read_to_string(&said_to).unwrap());
    let kept = std::fs::read_to_string(sweep.join("sweep.json")).unwrap();
    let document = summary::sweep::SweepDocument::from_json(&kept).unwrap();
    let cycles = &document.conclusion.cycles;
    assert_eq!(cycles.iter().map(|cycle| cycle.cycle_ns).collect::<Vec<_>>(), [2_000_000, 4_000_000]);
    let why = |cycle: &pulse::sweep::CycleConclusion| match &cycle.answer {
        pulse::sweep::Answer::Stopped { why, .. } => why.clone(),
        answer => panic!("{answer:?}"),
    };
    assert!(cycles.iter().map(why).all(|why| why.contains("did not take place")), "{cycles:?}");
    assert!(!cycles[0].explored.is_empty() && cycles[1].explored.is_empty(), "{cycles:?}");
    assert!(document.sentence.contains("the sweep was ended, since run"), "{}", document.sentence);
}

#[test]
fn a_sweep_whose_records_cannot_be_written_goes_on_and_says_what_it_shows() {
    let nodes = staying(&["one", "two"]);
    let folder = tempfile::tempdir().unwrap();
    let sweep = folder.path().join("night");
    let [said_to, printed_to] = ["said", "printed"].map(|name| folder.path().join(name));
    let mut command = sweeping(&nodes, &["--interval", "2ms"], &sweep);
    command.env("XDG_STATE_HOME", folder.path().join("state"));
    let mut child = command
        .stdout(std::fs::File::create(&printed_to).unwrap())
        .stderr(std::fs::File::create(&said_to).unwrap())
        .spawn()
        .unwrap();
    let said = || std::fs::read_to_string(&said_to).unwrap();
    eventually("the first run", || said().contains("run 1:"));
    std::fs::remove_dir_all(&sweep).unwrap();
    let ended = child.wait().unwrap().code();
    assert!(ended.is_some_and(|code| [0, 1, 3].contains(&code)), "{}", said());
    let printed = std::fs::read_to_string(&printed_to).unwrap();
    let document = summary::sweep::SweepDocument::from_json(&printed).unwrap();
    assert!(!document.runs.is_empty() && document.runs.iter().all(|run| run.file.is_none()), "{document:?}");
    let stopped = |cycle: &pulse::sweep::CycleConclusion| matches!(cycle.answer, pulse::sweep::Answer::Stopped { .. });
    assert!(!document.conclusion.cycles.iter().any(stopped), "{document:?}");
    // Each record is in a place that took it.
    let kept = std::fs::read_dir(folder.path().join("state/punctual")).unwrap().count();
    assert_eq!(kept, document.runs.len() + 1, "{}", said());
}

#[test]
fn what_a_sweep_came_to_is_kept_with_its_runs_and_stands_on_the_page() {
    let nodes = staying(&["one", "two"]);
    let folder = tempfile::tempdir().unwrap();
    let sweep = folder.path().join("night");
    let output = sweeping(&nodes, &["--interval", "2ms"], &sweep).output().unwrap();
    // Whether a lead holds is the machine's affair.
    assert!([0, 1, 3].contains(&code(&output)), "{}", said(&output));
    let kept = std::fs::read_to_string(sweep.join("sweep.json")).unwrap();
    let document = summary::sweep::SweepDocument::from_json(&kept).unwrap();
    assert_eq!(kept.trim(), stdout(&output).trim());
    // Two explorations and a confirmation; a machine that is busy elsewhere may skip more than is allowed in the first.
    assert!(document.runs.len() >= if code(&output) == 0 { 3 } else { 1 }, "{document:?}");
    for run in &document.runs {
        let record = read(&sweep.join(run.file.as_ref().unwrap()));
        assert_eq!((&record.id, pulses(&record).lead_ns), (&run.record, run.lead_ns));
        assert!(run.file.as_ref().unwrap().ends_with(&format!("{}.json", run.step.word())), "{run:?}");
    }
    let claims: Vec<u64> = document.conclusion.claims().map(|claim| claim.lead_ns).collect();
    assert_eq!(claims.len(), usize::from(code(&output) == 0));
    let confirming = document.conclusion.claims().filter_map(|claim| document.confirming(claim));
    assert_eq!(confirming.map(|run| run.lead_ns).collect::<Vec<_>>(), claims);

    let page = folder.path().join("page.html");
    let made =
        Command::new(env!("CARGO_BIN_EXE_punctual")).arg("report").arg(&sweep).arg("-o").arg(&page).output().unwrap();
    assert_eq!(code(&made), 0, "{}", said(&made));
    let html = std::fs::read_to_string(&page).unwrap();
    let data = html.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let of_page = &data["page"]["together"]["sweeps"][0];
    assert_eq!((&of_page["name"], &of_page["sentence"]), (&"night".into(), &document.sentence.clone().into()));
    let cycle = &of_page["cycles"][0];
    assert_eq!(cycle["lead_ns"].as_u64(), claims.first().copied());
    assert_eq!(cycle["runs"].as_array().unwrap().len(), document.runs.len());
    let own = data["page"]["together"]["own_rows"].as_array().unwrap();
    assert_eq!(own.len(), 4 * claims.len(), "two nodes and two latencies of what was confirmed: {own:?}");

    // A second sweep does not write over it.
    let again = sweeping(&nodes, &["--interval", "2ms"], &sweep).output().unwrap();
    assert!(code(&again) == 2 && said(&again).contains("has a sweep in it already"), "{}", said(&again));
    assert_eq!(std::fs::read_to_string(sweep.join("sweep.json")).unwrap(), kept);
}
