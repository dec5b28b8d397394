//! Logs and captures of time services, named wherever records are taken.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::path::Path;

use crate::support::{code, fixtures, run, said, stdout};

fn fixture(name: &str) -> String {
    fixtures().join("foreign").join(name).to_str().unwrap().to_owned()
}

/// A log of ptp4l with an offset a second and a port that is a slave all the time.
fn log(file: &Path, seconds: u64, offset_ns: i64) -> String {
    let mut text = String::from("ptp4l[99.000]: port 1 (eth0): UNCALIBRATED to SLAVE on MASTER_CLOCK_SELECTED\n");
    for second in 0..seconds {
        let jitter_ns = i64::try_from(second * 7_919 % 61).unwrap() - 30;
        let offset_ns = offset_ns + jitter_ns;
        text.push_str(&format!("ptp4l[{}.000]: master offset {offset_ns} s2 freq +12 path delay 800\n", 100 + second));
    }
    fs::write(file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn an_import_shows_each_source_with_what_it_lacks() {
    let output = run(&["import", &fixture("capture-any.pcap")]);
    let table = stdout(&output);
    assert_eq!(code(&output), 0, "{table}{}", said(&output));
    assert!(table.contains("that stamped the capture"), "{table}");
    assert!(table.contains("hard bound") && table.contains("The source does not contain:"), "{table}");
    // A log with a step, a fault and another master is invalid.
    let output = run(&["import", &fixture("linuxptp-journal.txt")]);
    assert_eq!(code(&output), 3, "{}", said(&output));
    assert!(stdout(&output).contains("phc2sys CLOCK_REALTIME"), "{}", stdout(&output));
    // One that is no log is refused, and what it could have been is said.
    let output = run(&["import", &fixture("capture-any.pcap"), "--format", "linuxptp-log"]);
    assert_eq!(code(&output), 2);
    assert!(said(&output).contains("no offset, summary or state"), "{}", said(&output));
}

#[test]
fn reports_and_comparisons_take_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (a, b) = (log(&file("a.log"), 300, 5), log(&file("b.log"), 300, 900));
    let page = file("page.html").to_str().unwrap().to_owned();
    let output = run(&["report", &a, &b, &fixture("capture-any.pcap"), "-o", &page]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let words = said(&output);
    assert!(words.contains("imported as linuxptp-log of ptp4l; it lacks suspends and unmentioned steps"), "{words}");
    let html = fs::read_to_string(&page).unwrap();
    for part in ["ptp4l eth0", "raw time stamps", "that stamped the capture"] {
        assert!(html.contains(part), "{part}");
    }
    let output = run(&["compare", &a, &b]);
    assert!([0, 1, 3].contains(&code(&output)), "{}", said(&output));
    assert!(!stdout(&output).is_empty());
}

#[test]
fn a_log_comes_from_stdin_too() {
    use std::io::Write as _;
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["import", "-", "--json"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let text = fs::read(fixture("linuxptp-offsets.txt")).unwrap();
    child.stdin.take().unwrap().write_all(&text).unwrap();
    let output = child.wait_with_output().unwrap();
    let record = record::Record::from_json(&String::from_utf8(output.stdout).unwrap()).unwrap();
    assert_eq!(record.label, "imported");
    assert_eq!(record.sync().unwrap().sources.len(), 1);
}
