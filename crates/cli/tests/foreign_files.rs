//! Other programs' results and folders, named wherever records are taken.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::bench::{copy, copy_of};
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
            "profile.json (documents of punctual that are no records)",
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
fn a_record_of_another_version_is_refused_with_what_to_do() {
    let campaign = copy_of(&fixtures().join("campaign"));
    let path = |name: &str| campaign.path().join(name).to_str().unwrap().to_owned();
    let [sound, other] = ["runs/0001-wakeup.json", "runs/0002-wakeup.json"].map(path);
    let text = fs::read_to_string(&other).unwrap();
    for (version, words) in [("3", "use a newer punctual"), ("1", "no release has written")] {
        fs::write(&other, text.replacen("\"version\": 2", &format!("\"version\": {version}"), 1)).unwrap();
        for command in
            [["compare", &sound, &other].as_slice(), &["tail", &other], &["report", &other, "-o", &path("p.html")]]
        {
            let output = run(command);
            assert_eq!(code(&output), 2, "{command:?}");
            assert!(said(&output).contains(words), "{}", said(&output));
        }
    }
}

#[test]
fn a_campaign_is_a_folder_of_records_and_an_assessment_takes_no_other_programs_files() {
    let campaign = copy_of(&fixtures().join("campaign"));
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
        "{\"schema\":\"punctual/assessment\",\"version\":2,\"node\":\"\",\"kernel_release\":\"\",\"cpus\":\"0\",\"parts\":[],
        \"validity\":{\"state\":\"valid\",\"reasons\":[]},
        \"verdict\":{\"deadline_ns\":1,\"state\":\"broken\",\"reason\":\"\"},
        \"sentence\":\"Does not hold 1 ns.\",\"lines\":[],\"changes\":[]}",
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
    assert!(fs::read_to_string(page).unwrap().contains("Does not hold 1 ns."));
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

/// What steers a terminal, turns text round, hides, or breaks a line. No control of C0 but ESC, BEL and line breaks, as a JSON
/// fixture and a file name have to hold it too.
const HOSTILE: &str = "x\u{1b}[2J\u{7}\u{9b}31m\u{7f}\u{202e}\u{2066}y\nFORGED\rz";

fn assert_harmless(what: &str, output: &std::process::Output) {
    for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let text = String::from_utf8_lossy(bytes);
        let odd = text.chars().find(|c| units::printable::is_unprintable(*c) && !matches!(c, '\n' | '\t'));
        assert_eq!(odd, None, "{what}: {stream}: {text:?}");
        let forged = text.lines().find(|line| line.starts_with("FORGED"));
        assert_eq!(forged, None, "{what}: {stream}: {text}");
    }
}

/// The pointers of all strings of a document.
fn strings(value: &serde_json::Value, at: &str, found: &mut Vec<String>) {
    match value {
        serde_json::Value::String(_) => found.push(at.to_owned()),
        serde_json::Value::Array(all) => {
            for (place, one) in all.iter().enumerate() {
                strings(one, &format!("{at}/{place}"), found);
            }
        }
        serde_json::Value::Object(all) => {
            for (name, one) in all {
                strings(one, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        _ => {}
    }
}

/// A record in which every text that may be any text is hostile; with how many those are.
fn hostile_record(fixture: &str, id: &str) -> (String, usize) {
    let text = fs::read_to_string(fixtures().join("calibration").join(fixture)).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut pointers = Vec::new();
    strings(&document, "", &mut pointers);
    let mut count = 0;
    for pointer in pointers {
        let before = document.pointer(&pointer).unwrap().clone();
        *document.pointer_mut(&pointer).unwrap() = HOSTILE.into();
        if record::Record::from_json(&document.to_string()).is_ok() {
            count += 1;
        } else {
            *document.pointer_mut(&pointer).unwrap() = before;
        }
    }
    document["id"] = format!("{id}{HOSTILE}").into();
    (document.to_string(), count)
}

#[test]
fn nothing_of_a_foreign_record_or_name_reaches_the_terminal_as_it_is() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let hostile = |name: &str| at(&format!("{name}{HOSTILE}"));
    for (kind, fixture) in [("wakeup", "idle/hog.json"), ("noise", "idle/noise.json"), ("sync", "sync/ptp-step.json")] {
        let mut files = Vec::new();
        for side in ["a", "b"] {
            let (text, count) = hostile_record(fixture, side);
            assert!(count > 10, "{fixture}: only {count} texts of it are free");
            let file = hostile(&format!("{kind}-{side}"));
            fs::write(&file, text).unwrap();
            files.push(file);
        }
        let [a, b] = [files[0].as_str(), files[1].as_str()];
        let page = hostile("page");
        for line in [
            &["report", a, b, "-o", &page][..],
            &["explain", a],
            &["tail", a],
            &["tail", a, "--json"],
            &["compare", a, b],
            &["compare", a, b, "-v", "--json"],
            &["export", a, "--format", "csv"],
            &["export", a, "--format", "json"],
            &["export", a, "--format", "hdr"],
            &["export", a, "--format", "cyclictest"],
            &["import", a],
            &["measure", "request", a],
            &["campaign", "rehearse", "which-knob", "--runs", a],
        ] {
            assert_harmless(&format!("{kind} {:?}", &line[..1]), &run(line));
        }
        // The page too: its plain text, and the data that the viewer shows.
        let html = fs::read_to_string(&page).unwrap();
        assert!(!html.contains(['\u{202e}', '\u{9b}', '\u{1b}', '\u{7f}']), "{kind}");
        let (_, data) = html.split_once("id=\"data\">").unwrap();
        let (data, _) = data.split_once("</script>").unwrap();
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        let mut pointers = Vec::new();
        strings(&data, "", &mut pointers);
        for pointer in pointers {
            let text = data.pointer(&pointer).and_then(serde_json::Value::as_str).unwrap();
            let odd = text.chars().find(|c| units::printable::is_unprintable(*c) && !matches!(c, '\n' | '\t'));
            assert_eq!(odd, None, "{kind}: {pointer}: {text:?}");
        }
    }
    assert_harmless("a folder", &run(&["compare", "--a", folder.path().to_str().unwrap(), "--b", &at("none")]));
    assert_harmless("report of a folder", &run(&["report", folder.path().to_str().unwrap(), "-o", &at("all.html")]));
    // Words that name nothing, in every place that quotes what was typed.
    for line in [
        &[HOSTILE][..],
        &["measure", HOSTILE],
        &["wakeup", "--cpus", HOSTILE],
        &["wakeup", "--time", HOSTILE],
        &["wakeup", "--load", HOSTILE],
        &[&format!("--{HOSTILE}")],
        &["report", HOSTILE],
        &["explain", HOSTILE],
        &["import", HOSTILE],
        &["check", "--root", HOSTILE],
        &["profile", "--root", HOSTILE],
        &["load", "show", HOSTILE],
        &["load", "check", HOSTILE],
        &["campaign", "show", HOSTILE],
        &["campaign", "run", "which-knob", "--factor", HOSTILE],
        &["campaign", "report", HOSTILE],
        &["tune", "plan", HOSTILE],
        &["tune", "plan", "--set", HOSTILE],
        &["sync", "plan", "--profile", "gptp", "-i", HOSTILE],
        &["packet", "send", "--to", HOSTILE, "--token-file", HOSTILE],
        &["cyclictest", HOSTILE],
        &["app", "--pid", HOSTILE],
        &["export", HOSTILE, "-o", &at("x.csv")],
        &["completions", HOSTILE],
        &["man", "/dev/null/x\u{1b}[2J"],
    ] {
        assert_harmless(&format!("{line:?}"), &run(line));
    }
    // A first word that is no text at all.
    let odd = std::ffi::OsStr::from_bytes(b"x\xff\x1b[2J");
    let output = crate::support::punctual(&[]).arg(odd).output().unwrap();
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert_harmless("no text", &output);
}

#[test]
fn nothing_of_a_foreign_machine_reaches_the_terminal_as_it_is() {
    let tree = copy("server-two-sockets");
    let root = tree.path().to_str().unwrap();
    let mut hostile = 0;
    // Every text of a name in the tree: of the host, of tasks, of drivers and governors.
    let mut open = vec![tree.path().to_owned()];
    while let Some(place) = open.pop() {
        for entry in fs::read_dir(place).unwrap().flatten() {
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let is_word = text.trim().chars().any(char::is_alphabetic) && text.lines().count() == 1;
                if is_word {
                    hostile += 1;
                    fs::write(&path, format!("{}{HOSTILE}\n", text.trim_end())).unwrap();
                }
            }
        }
    }
    assert!(hostile > 20, "only {hostile} files were made hostile");
    for line in [
        &["check", "--root", root][..],
        &["check", "--root", root, "--json"],
        &["profile", "--root", root],
        &["profile", "--root", root, "--json"],
        &["tune", "plan", "--root", root],
        &["tune", "knobs", "--root", root],
        &["tune", "status", "--root", root],
        &["campaign", "check", "which-knob", "--root", root],
    ] {
        assert_harmless(&format!("{:?}", &line[..2]), &run(line));
    }
}
