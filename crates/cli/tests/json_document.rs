//! The commands of `docs/json.md`, run as they stand there: the document and the program cannot drift apart.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::synthetic::synthetic;
use crate::support::{fixtures, said};
use record::{Place, ReasonCode, Record};
use summary::{AssessmentDocument, AssessmentInput, Part, assess};

const DEADLINE_NS: u64 = 100_000;

/// A command of the document with what it prints; `None` if the document shows nothing.
struct Example {
    command: String,
    prints: Option<String>,
}

/// The blocks marked `sh`, each with the block marked `text` that follows it. Blocks marked `console` are not run.
fn examples(document: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let mut block: Option<(String, String)> = None;
    let mut is_after_command = false;
    for line in document.lines() {
        match (&mut block, line.strip_prefix("```")) {
            (None, Some(kind)) => block = Some((kind.trim().to_owned(), String::new())),
            (Some(_), Some(_)) => {
                let (kind, text) = block.take().unwrap();
                match kind.as_str() {
                    "sh" => found.push(Example { command: text, prints: None }),
                    "text" if is_after_command => found.last_mut().unwrap().prints = Some(text),
                    "console" => {}
                    other => panic!("docs/json.md has a block of kind '{other}' that this test does not run"),
                }
                is_after_command = kind == "sh";
            }
            (Some((_, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

/// A run of two CPUs that exceeds the deadline once, on CPU 1.
fn run_of_two_cpus() -> Record {
    let mut record =
        synthetic("json", 6, 10_000_000_000, 10_000, |bits| 12_000 + bits % 9_000 + bits % 7 * (bits % 900));
    let mut second = record.series[0].clone();
    record.series[0].place = Place::thread(0, Some(0));
    second.place = Place::thread(1, Some(1));
    second.intervals[3].histogram.record_n(184_321, 1);
    second.histogram.record_n(184_321, 1);
    record.series.push(second);
    for series in &mut record.series {
        series.counters.samples = series.histogram.count();
    }
    record.series[1].counters.missed_periods = 2;
    record.verdict = Some(analysis::verdict(&record, DEADLINE_NS));
    record
}

/// The files that the document's first block makes by measuring.
fn write_files(folder: &Path) {
    let run = run_of_two_cpus();
    fs::write(folder.join("run.json"), run.to_json()).unwrap();
    let idle = synthetic("idle", 2, 10_000_000_000, 10_000, |bits| 11_000 + bits % 8_000);
    let mut loaded = run;
    loaded.validity.add(ReasonCode::VirtualMachine, "/proc/cpuinfo: flags has hypervisor");
    let input = AssessmentInput {
        deadline_ns: DEADLINE_NS,
        idle: Part::Measured(&idle),
        loaded: Part::Measured(&loaded),
        ..AssessmentInput::default()
    };
    let document = AssessmentDocument::new(&assess(&input), &input);
    fs::write(folder.join("assessment.json"), serde_json::to_string_pretty(&document).unwrap()).unwrap();
}

fn shell(folder: &Path, command: &str) -> Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_punctual")).parent().unwrap();
    // The system's own python3 is the one that Debian's python3-pandas is installed for.
    let path = format!("{}:/usr/bin:/bin:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    Command::new("sh").args(["-euc", command]).current_dir(folder).env("PATH", path).output().unwrap()
}

/// What an example needs beside punctual, with the line that shows whether it is there.
const NEEDS: [(&str, &str); 3] =
    [("jq ", "jq --version"), ("gnuplot ", "gnuplot --version"), ("python3 ", "python3 -c 'import pandas'")];

#[test]
fn every_command_of_the_document_prints_what_stands_there() {
    let file = fixtures().join("../docs/json.md");
    let document = fs::read_to_string(&file).unwrap();
    let all = examples(&document);
    let count = |word: &str| all.iter().filter(|example| example.command.contains(word)).count();
    assert!(count("jq ") >= 5 && count("pandas") >= 1 && count("gnuplot ") >= 1, "{} examples", all.len());
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let mut renewed = document.clone();
    for Example { command, prints } in &all {
        let lacking =
            NEEDS.iter().find(|(word, check)| command.contains(word) && !shell(folder.path(), check).status.success());
        if let Some((word, _)) = lacking {
            // Past the test's own capture: whoever runs it has to see this.
            let first = command.lines().next().unwrap_or_default();
            let program = word.trim();
            writeln!(
                std::io::stderr(),
                "NOT RUN, {program} is not installed ('scripts/setup test' installs it): {first}"
            )
            .unwrap();
            continue;
        }
        let output = shell(folder.path(), command);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{command}\nstdout: {printed}\nstderr: {}", said(&output));
        if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
            if let Some(prints) = prints {
                renewed = renewed.replacen(
                    &format!("{command}```\n\n```text\n{prints}"),
                    &format!("{command}```\n\n```text\n{printed}"),
                    1,
                );
            }
        } else if let Some(prints) = prints {
            assert_eq!(
                &printed, prints,
                "{command}\nrenew with PUNCTUAL_UPDATE=1 cargo test -p punctual --test json_document"
            );
        }
        if command.contains("run.svg") {
            let picture = fs::read_to_string(folder.path().join("run.svg")).unwrap();
            assert!(picture.contains("CPU 1") && picture.matches("<use").count() > 100, "an empty plot:\n{picture}");
        }
    }
    if renewed != document {
        fs::write(file, renewed).unwrap();
    }
}

/// The words of the verdicts are those of the document, and no key of any document has a dot.
#[test]
fn keys_have_no_dots_and_verdicts_have_the_documents_words() {
    fn keys(value: &serde_json::Value, all: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(map) => map.iter().for_each(|(key, value)| {
                all.push(key.clone());
                keys(value, all);
            }),
            serde_json::Value::Array(list) => list.iter().for_each(|value| keys(value, all)),
            _ => {}
        }
    }
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let punctual = |arguments: &str| {
        let output = shell(folder.path(), &format!("punctual {arguments} || true"));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let foreign = fixtures().join("foreign/cyclictest.json");
    let documents = [
        punctual("tail run.json --json --claim '100us for 1 day at 99%'"),
        punctual(&format!("import {} --json", foreign.display())),
        punctual("export run.json --format json"),
        serde_json::from_str(&fs::read_to_string(folder.path().join("run.json")).unwrap()).unwrap(),
        serde_json::from_str(&fs::read_to_string(folder.path().join("assessment.json")).unwrap()).unwrap(),
    ];
    for document in &documents {
        let mut all = Vec::new();
        keys(document, &mut all);
        let dotted: Vec<&String> = all.iter().filter(|key| key.contains('.')).collect();
        assert!(all.len() > 10 && dotted.is_empty(), "{dotted:?}");
    }
    let [.., record, assessment] = &documents;
    assert_eq!((&record["verdict"]["state"], &assessment["verdict"]["state"]), (&"broken".into(), &"broken".into()));
    assert_eq!(record["series"][0]["histogram"]["quantiles_ns"]["p99_9"], documents[2][0]["p99_9_ns"]);
}
