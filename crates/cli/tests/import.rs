//! Other programs' results through the program: read, shown, and written again.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::path::{Path, PathBuf};

use crate::support::{code, fixtures, punctual, run, said, stdout};
use record::{Origin, Record};

fn fixture(name: &str) -> PathBuf {
    fixtures().join("foreign").join(name)
}

/// Imports a fixture to a file of `dir`.
fn imported(dir: &Path, name: &str) -> PathBuf {
    let out = dir.join(format!("{name}.record.json"));
    let done = run(&["import", fixture(name).to_str().unwrap(), "-o", out.to_str().unwrap()]);
    assert!(matches!(done.status.code(), Some(0 | 3)), "{name}: {}", said(&done));
    out
}

/// A format for each of the endings that people write, and a clear word for any other.
#[test]
fn an_export_knows_its_format_by_the_ending_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let record = fixtures().join("calibration/idle/quiet.json");
    let record = record.to_str().unwrap();
    for (name, begins) in [
        ("x.csv", &b"run,label,"[..]),
        ("x.JSON", b"["),
        ("x.hlog", b"#"),
        ("x.hist", b"#"),
        ("x.txt", b"#"),
        #[cfg(feature = "parquet")]
        ("x.parquet", b"PAR1"),
    ] {
        let output = run(&["export", record, "-o", &at(name)]);
        assert_eq!(code(&output), 0, "{name}: {}", said(&output));
        let content = std::fs::read(at(name)).unwrap();
        assert!(content.starts_with(begins), "{name}: {:?}", String::from_utf8_lossy(&content[..40]));
    }
    // A stated format counts whatever the name is.
    assert_eq!(code(&run(&["export", record, "--format", "csv", "-o", &at("x.data")])), 0);
    for name in ["x.xlsx", "x"] {
        let output = run(&["export", record, "-o", &at(name)]);
        let said = said(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(code(&output), 2, "{said}");
        for known in [".csv", ".json", ".parquet", ".hlog", ".hist", "--format"] {
            assert!(said.contains(known), "{known}: {said}");
        }
        assert!(!Path::new(&at(name)).exists(), "nothing is written");
    }
}

#[test]
fn an_import_is_shown_with_what_it_lacks() {
    let done = run(&["import", fixture("cyclictest-histogram.txt").to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let table = stdout(&done);
    assert!(table.contains("238 us") && table.contains("degraded"), "{table}");
    assert!(table.contains("The source does not contain:") && table.contains("- missed periods:"), "{table}");
    let missed = table.lines().find(|line| line.trim_start().starts_with("thread 0")).unwrap();
    assert!(missed.ends_with('-'), "nobody counted missed periods: {missed}");
}

#[test]
fn json_is_the_record_and_stdin_is_read() {
    let file = std::fs::File::open(fixture("cyclictest.json")).unwrap();
    let done = punctual(&["import", "-", "--json", "--label", "night"]).stdin(file).output().unwrap();
    let record = Record::from_json(&stdout(&done)).unwrap();
    assert_eq!((record.label.as_str(), record.samples()), ("night", 1_000));
    assert!(matches!(&record.manifest().origin, Origin::Imported { format, .. } if format == "cyclictest-json"));
}

#[test]
fn a_maximum_that_nobody_knows_ends_with_3() {
    let done = run(&["import", fixture("osadl-columns.txt").to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(3), "{}", stdout(&done));
    assert!(stdout(&done).contains("invalid"));
}

#[test]
fn what_cannot_be_read_says_why_and_ends_with_2() {
    for (args, part) in [
        (vec!["import", "/dev/null"], "not recognized"),
        (vec!["import", "/no/such/file"], "/no/such/file"),
        (vec!["import", "/dev/null", "--format", "perf"], "cyclictest-json"),
        (vec!["import", "/dev/null", "--format", "oslat-text"], "no line 'Core:'"),
    ] {
        let done = run(&args);
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        assert!(said(&done).contains(part), "{args:?}: {}", said(&done));
    }
    let ns = fixture("cyclictest-quiet-ns.txt");
    let done = run(&["import", ns.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(2));
    assert!(said(&done).contains("--unit ns"), "{}", said(&done));
    assert_eq!(run(&["import", ns.to_str().unwrap(), "--unit", "ns"]).status.code(), Some(0));
}

#[test]
fn a_report_of_imports_shows_what_they_lack_and_invents_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let record = imported(dir.path(), "cyclictest-histogram.txt");
    let page = dir.path().join("report.html");
    let done = run(&["report", record.to_str().unwrap(), "-o", page.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("cyclictest-histogram.txt: read from cyclictest-histogram of cyclictest"), "the plain page");
    assert!(html.contains("<li>missed periods: a late wake-up counts as one sample"), "the plain page lists it");
    assert!(html.contains("\"lacks\":[\"fractions of 1.0"), "the viewer's data lists it");
    assert!(!html.contains("\"missed_periods\":0"), "a count that nobody made is absent, not 0");
    assert!(html.contains("<td class=\"number\">-</td></tr>"), "and a dash on the plain page");
    assert!(html.contains("\"unplaced\":200"), "samples of which only the range is known");
}

#[test]
fn every_form_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let record = imported(dir.path(), "cyclictest.json");
    let oslat = imported(dir.path(), "oslat.txt");
    for (format, part) in [
        ("cyclictest", "# Max Latencies: 00091 01401"),
        ("hdr", "#[Histogram log format version 1.3]"),
        ("csv", "kind,from_ns,to_ns,count"),
        ("json", "\"max_ns\": 1401000"),
    ] {
        let done = run(&["export", record.to_str().unwrap(), "--format", format]);
        assert_eq!(done.status.code(), Some(0), "{format}: {}", said(&done));
        assert!(stdout(&done).contains(part), "{format}: {}", stdout(&done));
    }
    let columns = run(&["export", record.to_str().unwrap(), "--format", "parquet"]);
    if cfg!(feature = "parquet") {
        assert_eq!(columns.status.code(), Some(0), "{}", said(&columns));
        assert!(columns.stdout.starts_with(b"PAR1") && columns.stdout.ends_with(b"PAR1"), "a pipe gets every byte");
    } else {
        assert_eq!(columns.status.code(), Some(2));
        assert!(said(&columns).contains("use csv"), "{}", said(&columns));
    }
    let out = dir.path().join("both.csv");
    let done = run(&[
        "export",
        record.to_str().unwrap(),
        oslat.to_str().unwrap(),
        "--format",
        "csv",
        "-o",
        out.to_str().unwrap(),
    ]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let csv = std::fs::read_to_string(out).unwrap();
    assert!(csv.contains("left_to_resumed") && csv.contains("scheduled_to_woke"), "several records in one file");
    let done = run(&["export", oslat.to_str().unwrap(), "--format", "cyclictest"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(said(&done).contains("of noise"), "{}", said(&done));
}

#[test]
fn an_exported_histogram_is_imported_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let record = imported(dir.path(), "cyclictest-histfile.txt");
    let written = dir.path().join("again.txt");
    run(&["export", record.to_str().unwrap(), "--format", "cyclictest", "-o", written.to_str().unwrap()]);
    let exported = std::fs::read_to_string(written).unwrap();
    let original = std::fs::read_to_string(fixture("cyclictest-histfile.txt")).unwrap();
    // The numbers of the cycles beyond the table are the only thing that a record does not hold.
    let comparable = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| !line.is_empty() && !line.starts_with("# Thread"))
            .map(|line| line.trim_end().to_owned())
            .collect()
    };
    assert_eq!(comparable(&exported), comparable(&original));
}

#[test]
fn a_table_of_isochron_is_reported_and_compared_without_a_claim_that_its_clocks_do_not_carry() {
    let dir = tempfile::tempdir().unwrap();
    let table = fixture("isochron-hardware.csv");
    let done = run(&["import", table.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let shown = stdout(&done);
    let whole = shown.lines().find(|line| line.contains("woke_to_received")).unwrap();
    assert!(whole.trim_end().ends_with("not known"), "{whole}");
    let at_one_node = shown.lines().find(|line| line.trim_start().starts_with("arrived_to_received")).unwrap();
    assert!(at_one_node.trim_end().ends_with('-'), "one clock has no such error: {at_one_node}");
    assert!(shown.contains("20 sent, 18 arrived, 2 lost"), "{shown}");
    assert!(shown.contains("a packet every 1 ms, the size is not known"), "{shown}");
    assert!(shown.contains("how far the clocks of the nodes were apart"), "{shown}");

    let page = dir.path().join("page.html");
    let done = run(&["report", table.to_str().unwrap(), "-o", page.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(said(&done).contains("it lacks the error of the nodes' clocks"), "{}", said(&done));
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("took 123 us (its error is not known) from the sender's wake-up to the receiving program"));
    assert!(html.contains("; 2 were lost. No limit was stated"));
    assert!(!html.contains("18446744073709551615"), "no number stands for what is not known");

    // The same table with each arrival 20 us earlier.
    let faster: String = std::fs::read_to_string(&table).unwrap().lines().map(|line| earlier(line) + "\n").collect();
    let other = dir.path().join("faster.csv");
    std::fs::write(&other, faster).unwrap();
    let done = run(&["compare", table.to_str().unwrap(), other.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let compared = stdout(&done);
    assert!(compared.contains("Nothing is known of the error of the nodes' clocks on either side"), "{compared}");
    assert!(!compared.contains("BETTER") && !compared.contains("WORSE"), "{compared}");

    let apart = fixture("isochron-apart.csv");
    let done = run(&["import", apart.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(said(&done).contains("--printf-args"), "{}", said(&done));
    let done = run(&["import", apart.to_str().unwrap(), "--printf-args", "TR"]);
    assert_eq!(done.status.code(), Some(3), "{}", said(&done));
    assert!(stdout(&done).contains("the clocks were at least 1.5 us apart"), "{}", stdout(&done));
    let done = run(&["import", apart.to_str().unwrap(), "--printf-args", "TX"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(said(&done).contains("isochron has no variable 'X'"), "{}", said(&done));
    let binary = dir.path().join("isochron.dat");
    std::fs::write(&binary, b"ISOCHRON\x00\x00\x00\x04\xff\xfe").unwrap();
    for command in ["import", "report"] {
        let done = run(&[command, binary.to_str().unwrap()]);
        assert_eq!(done.status.code(), Some(2), "{command}");
        assert!(said(&done).contains("isochron's own binary file, which isochron turns into text"), "{}", said(&done));
    }
}

/// A row of a table of isochron whose last column is 20 us less, where it holds a time.
fn earlier(row: &str) -> String {
    let (rest, last) = row.rsplit_once(',').unwrap();
    match last.parse::<u64>() {
        Ok(ns) if ns > 0 => format!("{rest},{}", ns - 20_000),
        _ => row.to_owned(),
    }
}
