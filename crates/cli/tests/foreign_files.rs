//! Other programs' results and folders, named wherever records are taken.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::bench::copy_of;
use crate::support::synthetic::{synthetic, write};
use crate::support::{code, fixtures, run, said, stdout};

fn fixture(name: &str) -> PathBuf {
    fixtures().join("foreign").join(name)
}

/// Copies a fixture to a file of a folder, which is made.
fn copied(name: &str, file: &Path) -> String {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::copy(fixture(name), file).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Text in one line, whatever its width was.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn other_programs_texts_are_imported_where_records_are_taken_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let a = copied("cyclictest-histogram.txt", &folder.path().join("a/night.txt"));
    let b = copied("cyclictest-histfile.txt", &folder.path().join("b/night.txt"));
    let page = folder.path().join("page.html").to_str().unwrap().to_owned();
    for (line, exit) in [
        (vec!["compare", &a, &b], 0),
        (vec!["tail", &a], 3),
        (vec!["report", &a, &b, "-o", &page], 0),
        (vec!["export", &a, &b, "--format", "csv"], 0),
    ] {
        let output = run(&line);
        assert_eq!(code(&output), exit, "{line:?}: {}", said(&output));
        let words = said(&output);
        assert!(words.contains("imported as cyclictest-histogram of cyclictest, taken to be in us"), "{words}");
        assert!(words.contains("it lacks the order in time, missed periods"), "{words}");
    }
    // Two files of one name are two runs of different names.
    let html = fs::read_to_string(page).unwrap();
    assert!(html.contains("night.txt (a)") && html.contains("night.txt (b)"), "the page distinguishes them");
    let table = stdout(&run(&["compare", &a, &b]));
    assert!(table.contains("a/night.txt") && table.contains("b/night.txt"), "{table}");
    // The same text twice is one run.
    let output = run(&["compare", &a, &a]);
    assert!(code(&output) == 2 && said(&output).contains("night.txt stands on both sides"), "{}", said(&output));
}

#[test]
fn what_a_source_cannot_answer_is_named_and_no_zero_is_printed() {
    let text = fixture("cyclictest-histogram.txt");
    let text = text.to_str().unwrap();
    let output = run(&["tail", text, "--claim", "100us for 1 day at 99%"]);
    let words = one_line(&stdout(&output));
    assert_eq!(code(&output), 3, "{words}");
    assert!(words.contains("the worst of 1 000 samples is 238 us"), "{words}");
    assert!(words.contains("the order in time is missing"), "{words}");
    assert!(!words.contains("0 ns saw") && !words.contains(" 0 samples") && !words.contains("worth 0"), "{words}");
    let json: serde_json::Value = serde_json::from_str(&stdout(&run(&["tail", text, "--json"]))).unwrap();
    let observed = json["observed"].as_object().unwrap();
    assert_eq!((&observed["samples"], &observed["worst_ns"]), (&1_000.into(), &238_000.into()));
    assert!(!observed.contains_key("measured_ns") && !observed.contains_key("independent_samples"), "{observed:?}");
    assert!(json.get("stationarity").is_none(), "nobody knows");

    let other = fixture("cyclictest-quiet.txt");
    let words = one_line(&stdout(&run(&["compare", other.to_str().unwrap(), text])));
    assert!(words.contains("their order in time is missing") && words.contains("Longer runs"), "{words}");
    assert!(words.contains("One side does not state interval, priority"), "an unknown priority is not 0: {words}");

    let output = run(&["tail", "rehearse", text]);
    assert_eq!(code(&output), 3, "{}", said(&output));
    assert!(stdout(&output).contains("the order in time is missing"), "{}", stdout(&output));
}

#[test]
fn latencies_of_other_programs_are_compared_where_they_end_at_one_point() {
    let [hist, top, woke] = ["rtla-timerlat-hist.txt", "rtla-timerlat-top.txt", "cyclictest.json"].map(fixture);
    let [hist, top, woke] = [&hist, &top, &woke].map(|file| file.to_str().unwrap());
    let output = run(&["compare", hist, top]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let table = one_line(&stdout(&output));
    assert!(table.contains("scheduled_to_thread") && table.contains("1 200 004"), "{table}");
    let output = run(&["compare", hist, woke]);
    assert_eq!(code(&output), 2);
    assert!(said(&output).contains("cyclictest.json has scheduled_to_woke"), "{}", said(&output));
}

#[test]
fn a_unit_is_stated_for_files_that_need_it_and_refused_for_those_that_cannot_have_it() {
    let [ns, us] = ["cyclictest-quiet-ns.txt", "cyclictest-quiet.txt"].map(fixture);
    let [ns, us] = [&ns, &us].map(|file| file.to_str().unwrap());
    let output = run(&["tail", ns]);
    assert!(code(&output) == 2 && said(&output).contains("--unit ns"), "{}", said(&output));
    let output = run(&["tail", ns, "--unit", "ns"]);
    assert!(code(&output) == 3 && one_line(&stdout(&output)).contains("samples is 178 us"), "{}", stdout(&output));
    // Microseconds read as nanoseconds would be a thousand times too good.
    let output = run(&["compare", ns, us, "--unit", "ns"]);
    assert_eq!(code(&output), 2);
    let words = said(&output);
    assert!(words.contains("cyclictest-quiet.txt cannot be imported") && words.contains("one by one"), "{words}");
}

#[test]
fn an_import_that_is_kept_nowhere_says_so() {
    let text = fixture("cyclictest.json");
    let text = text.to_str().unwrap();
    assert!(said(&run(&["import", text])).contains("nothing was kept: -o FILE"));
    assert!(!said(&run(&["import", text, "--json"])).contains("nothing was kept"));
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("r.json").to_str().unwrap().to_owned();
    assert!(!said(&run(&["import", text, "-o", &out])).contains("nothing was kept"));
}

#[test]
fn an_invalid_run_has_reason_and_remedy_on_stderr_with_json_and_without() {
    let columns = fixture("osadl-columns.txt");
    for line in [vec!["import"], vec!["import", "--json"], vec!["tail"], vec!["tail", "--json"]] {
        let output = run(&[line, vec![columns.to_str().unwrap()]].concat());
        assert_eq!(code(&output), 3, "{}", said(&output));
        let words = said(&output);
        assert!(words.contains("is invalid: ") && words.contains("the table ends at 59"), "{words}");
        assert!(words.contains("remedy: import the output with its summary lines"), "{words}");
    }
}

#[test]
fn a_folder_says_what_is_taken_and_what_is_skipped_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(folder.path(), "one", &synthetic("one", 3, 1_000_000_000, 20, |bits| 9_000 + bits % 900));
    copied("cyclictest.json", &path("theirs.json"));
    copied("osadl-columns.txt", &path("numbers.txt"));
    fs::write(path("notes.txt"), "a sentence").unwrap();
    fs::write(path("profile.json"), "{\"schema\":\"punctual/profile\",\"version\":1}").unwrap();
    fs::write(path("image"), [0_u8; 100]).unwrap();
    fs::write(path("nothing"), "").unwrap();
    fs::create_dir(path("below")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap();
    assert!(pipe.success());
    let page = path("page.html").to_str().unwrap().to_owned();
    for pages in ["", "page.html (pages)"] {
        // The second time the page itself lies there.
        let output = run(&["report", folder.path().to_str().unwrap(), "-o", &page]);
        let words = said(&output);
        assert_eq!(code(&output), 0, "{words}");
        for part in [
            ": 2 records; skipped: ",
            "numbers.txt (bare numbers",
            "profile.json (other documents of punctual)",
            "nothing (empty)",
            "pipe (no regular files)",
            "below (folders: name them",
            "image, notes.txt (neither records nor of a known format)",
            "theirs.json: imported as cyclictest-json",
            pages,
        ] {
            assert!(words.contains(part), "{part} in {words}");
        }
    }
    let output = run(&["report", path("below").to_str().unwrap(), "-o", &page]);
    assert!(code(&output) == 2 && said(&output).contains("there is no record in"), "{}", said(&output));
}

#[test]
fn a_damaged_record_in_a_folder_is_an_error_and_no_gate_passes_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let side = |name: &str, first: u64| {
        fs::create_dir(path(name)).unwrap();
        for run in first..first + 4 {
            let one = synthetic(&format!("{run:02}"), 3, 1_000_000_000, 20, |bits| 9_000 + (bits + run) % 900);
            write(&path(name), &run.to_string(), &one);
        }
    };
    side("a", 1);
    side("b", 5);
    let [a, b] = ["a", "b"].map(|name| path(name).to_str().unwrap().to_owned());
    let gate = ["compare", "--a", &a, "--b", &b, "--fail-on", "worse:20us"];
    let page = path("page.html").to_str().unwrap().to_owned();
    assert_eq!(code(&run(&gate)), 0, "{}", said(&run(&gate)));
    let last = path("b").join("8.json");
    let whole = fs::read_to_string(&last).unwrap();
    let newer = whole.replace("\"version\": 2", "\"version\": 9");
    for (name, content, why) in [
        ("8.json", &whole[..whole.len() - 50], "EOF while parsing"),
        ("8.json", "", "it holds nothing"),
        ("8.json", "\0\0\0", "it holds nothing"),
        ("8.json", newer.as_str(), "it has schema version 9"),
        // Without the name of a record its beginning shows that it is one.
        ("8.bak", &whole[..whole.len() / 2], "EOF while parsing"),
    ] {
        fs::remove_file(&last).ok();
        fs::write(path("b").join(name), content).unwrap();
        for line in [gate.to_vec(), vec!["tail", &b], vec!["report", &b, "-o", &page]] {
            let output = run(&line);
            assert_eq!(code(&output), 2, "{line:?} of {name}: {}", said(&output));
            let words = said(&output);
            assert!(words.contains(&format!("{name}: ")) && words.contains(why), "{why} in {words}");
            assert!(words.contains("move it out of the folder"), "{words}");
            assert!(stdout(&output).is_empty(), "no conclusion is printed: {}", stdout(&output));
        }
    }
    // What writes left behind when they were killed holds a run that is elsewhere.
    fs::rename(path("b").join("8.bak"), path("b").join("8.json.77.part")).unwrap();
    let output = run(&gate);
    assert!(said(&output).contains("8.json.77.part (unfinished files)"), "{}", said(&output));
}

#[test]
fn a_campaign_is_a_folder_of_records_and_an_assessment_takes_no_other_programs_files() {
    let campaign = copy_of(&fixtures().join("kept/0.1.0/campaign"));
    let path = campaign.path().to_str().unwrap();
    let output = run(&["tail", path]);
    assert_eq!(code(&output), 2, "two conditions are no one process");
    assert!(said(&output).contains("--label: 'priority=97', 'priority=98'"), "{}", said(&output));
    let output = run(&["tail", path, "--label", "priority=97"]);
    assert!(matches!(code(&output), 0 | 3), "{}", said(&output));
    let words = said(&output);
    assert!(words.contains(": 1 record; 1 other was not asked for; skipped: campaign.toml, journal.jsonl"), "{words}");
    let page = campaign.path().join("p.html").to_str().unwrap().to_owned();
    let output = run(&["report", path, "-o", &page]);
    assert!(code(&output) == 0 && said(&output).contains(": 2 records; "), "{}", said(&output));
    let assessment = tempfile::tempdir().unwrap();
    write(assessment.path(), "idle", &synthetic("idle", 3, 1_000_000_000, 20, |bits| 9_000 + bits % 900));
    fs::write(
        assessment.path().join("assessment.json"),
        "{\"schema\":\"punctual/assessment\",\"version\":1,\"deadline_ns\":1,
        \"answer\":\"does-not-hold\",\"sentence\":\"Does not hold 1 ns.\",\"lines\":[],\"changes\":[]}",
    )
    .unwrap();
    copied("cyclictest.json", &assessment.path().join("theirs.json"));
    copied("oslat.txt", &assessment.path().join("theirs.txt"));
    let page = assessment.path().join("p.html").to_str().unwrap().to_owned();
    let output = run(&["report", assessment.path().to_str().unwrap(), "-o", &page]);
    let words = said(&output);
    assert_eq!(code(&output), 0, "{words}");
    assert!(
        words.contains(": 1 record; skipped: ") && words.contains("theirs.json, theirs.txt (beside an assessment)"),
        "{words}"
    );
    assert!(fs::read_to_string(page).unwrap().contains("Does not hold 1 ns."), "version 1 of the assessment is read");
}

#[test]
fn a_thousand_records_of_one_name_are_a_thousand_runs() {
    let folder = tempfile::tempdir().unwrap();
    let record = synthetic("thousand", 1, 1_000_000_000, 20, |bits| 9_000 + bits % 900);
    let mut paths = Vec::new();
    for night in 0..1_000 {
        let mut one = record.clone();
        one.id = format!("{night:016x}-wakeup-1");
        let nights = folder.path().join(format!("{night:03}"));
        fs::create_dir(&nights).unwrap();
        paths.push(write(&nights, "run", &one).to_str().unwrap().to_owned());
        write(folder.path(), &format!("all-{night:03}"), &one);
    }
    let line: Vec<&str> = ["export", "--format", "json"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    for output in [run(&line), run(&["export", "--format", "json", folder.path().to_str().unwrap()])] {
        assert_eq!(code(&output), 0, "{}", said(&output));
        let rows: Vec<serde_json::Value> = serde_json::from_str(&stdout(&output)).unwrap();
        let labels: std::collections::BTreeSet<&str> = rows.iter().map(|row| row["label"].as_str().unwrap()).collect();
        assert_eq!((rows.len(), labels.len()), (1_000, 1_000), "each has a name of its own");
        assert!(labels.contains("wakeup (042)") || labels.contains("wakeup (all-042.json)"), "{:?}", labels.first());
    }
}
