//! The README's commands, run as they stand there, only shorter; and the links of all documents.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::support::{code, fixtures, may_be_real_time, said};
use record::Record;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// The lines of the blocks marked `sh`, without what follows a `#`.
fn block_commands(document: &str) -> Vec<String> {
    let (mut commands, mut is_inside) = (Vec::new(), false);
    for line in document.lines() {
        if line.starts_with("```") {
            is_inside = line == "```sh";
        } else if is_inside {
            commands.extend(line.split('#').next().map(|command| command.trim().to_owned()).filter(|c| !c.is_empty()));
        }
    }
    commands
}

/// What the table *You know, you type* says to type.
fn table_commands(document: &str) -> Vec<String> {
    let table = document.split("## You know, you type").nth(1).unwrap().split("\n## ").next().unwrap();
    let cells = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").nth(1));
    cells.filter_map(|cell| Some(cell.strip_prefix('`')?.strip_suffix('`')?.to_owned())).collect()
}

/// Times as a test has them, in place of those of the README.
const SHORTER: &[(&str, &str)] = &[
    ("-D 1h", "-D 1"),
    ("--time 10m", "--time 1s"),
    ("--time 5m", "--time 1s"),
    ("--time 1m", "--time 5s"),
    ("--time 10s", "--time 1s"),
];

/// Runs a line in a folder, with the program in the path.
fn typed(folder: &Path, line: &str) -> Output {
    let mut line = SHORTER.iter().fold(line.to_owned(), |line, (long, short)| line.replace(long, short));
    let asks_for_priority = ["punctual wakeup", "punctual assess"].iter().any(|start| line.starts_with(start));
    if asks_for_priority && !may_be_real_time() {
        line.push_str(" --anyway");
    }
    let program = Path::new(env!("CARGO_BIN_EXE_punctual")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).current_dir(folder).env("PATH", path).env("NO_COLOR", "1").stdin(Stdio::null());
    shell.output().unwrap()
}

/// The files that the commands read and that no earlier one of them makes.
fn write_files(folder: &Path) {
    let foreign = fixtures().join("foreign");
    for (name, source) in [
        ("night.txt", "cyclictest-histogram.txt"),
        ("before.txt", "cyclictest-histogram.txt"),
        ("after.txt", "cyclictest-quiet.txt"),
        ("clocks.log", "linuxptp-journal.txt"),
    ] {
        fs::copy(foreign.join(source), folder.join(name)).unwrap();
    }
    fs::write(folder.join("program"), "#!/bin/sh\nsleep 1\n").unwrap();
    let status = Command::new("chmod").args(["+x", "program"]).current_dir(folder).status().unwrap();
    assert!(status.success());
    for group in ["old", "new"] {
        fs::create_dir(folder.join(group)).unwrap();
    }
}

/// The other runs of both groups: copies of the one that was measured, each with an identity of its own.
fn write_groups(folder: &Path) {
    let measured = Record::from_json(&fs::read_to_string(folder.join("new/1.json")).unwrap()).unwrap();
    for (number, file) in ["new/2.json", "new/3.json", "old/1.json", "old/2.json", "old/3.json"].iter().enumerate() {
        let copy = Record { id: format!("{}-{number}", measured.id), ..measured.clone() };
        fs::write(folder.join(file), copy.to_json()).unwrap();
    }
}

/// A line was run: there is a verdict, or a result that is invalid on a machine such as this.
fn check(folder: &Path, line: &str) {
    let output = typed(folder, line);
    let needs_trace = line.starts_with("punctual app");
    if code(&output) == 2 && needs_trace && said(&output).contains("tracefs") {
        eprintln!("not run, the kernel's trace cannot be had here: {line}");
        return;
    }
    if line.starts_with("punctual tune plan") && code(&output) == 2 && said(&output).contains("revert") {
        eprintln!("not run, another plan is in force on this machine: {line}");
        return;
    }
    assert!([0, 1, 3].contains(&code(&output)), "{line}: exit code {}\n{}", code(&output), said(&output));
    assert!(!output.stdout.is_empty() || line.contains(" -o "), "{line} printed nothing\n{}", said(&output));
}

#[test]
fn what_the_readme_says_to_type_works() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let commands = table_commands(&readme());
    assert!(commands.len() >= 14, "{commands:?}");
    for line in commands {
        // A virtual machine takes minutes and packages: `scripts/lab` boots this one.
        if line == "punctual lab up rt-basic" {
            let listed = crate::support::stdout(&crate::support::run(&["lab", "show"]));
            assert!(listed.contains("rt-basic"), "{listed}");
            continue;
        }
        check(folder.path(), &line);
    }
    assert!(folder.path().join("run.json").exists() && folder.path().join("night.html").exists());
}

#[test]
fn the_blocks_of_commands_work() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let commands = block_commands(&readme());
    assert!(commands.iter().any(|line| line == "make run") && commands.iter().any(|line| line == "make test"));
    for line in commands {
        if let Some(target) = line.strip_prefix("make ") {
            assert!(makefile.contains(&format!("\n{target}: ##")), "the Makefile has no target '{target}'");
            continue;
        }
        if line.contains("--a old --b new") {
            write_groups(folder.path());
        }
        check(folder.path(), &line);
    }
}

/// The files that a document refers to, relative to itself.
fn links(document: &str) -> BTreeSet<String> {
    let targets = document.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let sources = document.split("src").skip(1).filter_map(|rest| rest.split('"').nth(1));
    let is_file = |target: &&str| !target.contains("://") && !target.starts_with('#') && target.contains(['.', '/']);
    let of_document = targets.filter(is_file).map(|target| target.split('#').next().unwrap_or_default().to_owned());
    of_document.chain(sources.filter(|name| name.ends_with(".png")).map(str::to_owned)).collect()
}

#[test]
fn every_link_of_a_document_leads_somewhere() {
    let mut documents = vec![root().join("README.md"), root().join("ARCHITECTURE.md"), root().join("CHANGELOG.md")];
    for folder in ["docs", "docs/decisions"] {
        let files = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        documents.extend(files.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    let mut count = 0;
    for document in documents {
        let folder = document.parent().unwrap();
        for link in links(&fs::read_to_string(&document).unwrap()) {
            assert!(folder.join(&link).exists(), "{} refers to {link}, which does not exist", document.display());
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
}

#[test]
fn the_readme_is_two_screens() {
    let text = readme();
    let words = text.split_whitespace().count();
    assert!(words < 1_600 && text.lines().count() < 125, "{words} words, {} lines", text.lines().count());
}

/// The bench is not run by tests: what it tells the program is looked at, so that a word that changed does not stop it in silence.
#[test]
fn the_program_understands_what_the_bench_tells_it() {
    for (bench, sections) in [("bench/packets", 8), ("bench/pulse", 5)] {
        let program = root().join(bench);
        let looked =
            Command::new(program).args(["--check", "--punctual", env!("CARGO_BIN_EXE_punctual")]).output().unwrap();
        assert_eq!(code(&looked), 0, "{}", said(&looked));
        assert_eq!(String::from_utf8_lossy(&looked.stdout), format!("{sections} sections understood\n"), "{bench}");
    }
}
