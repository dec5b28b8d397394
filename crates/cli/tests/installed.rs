//! What a package installs beside the program: completions and manual pages.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::{code, run, said};

const COMMANDS: [&str; 9] =
    ["assess", "check", "completions", "cyclictest", "explain", "man", "measure", "profile", "report"];

#[test]
fn each_shell_s_script_knows_every_command_and_its_options() {
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&["completions", shell]);
        let script = String::from_utf8(output.stdout.clone()).unwrap();
        assert_eq!((code(&output), said(&output).as_str()), (0, ""), "{shell}");
        for word in COMMANDS.iter().chain(&["wakeup", "hold-dma-latency"]) {
            assert!(script.contains(word), "{shell} lacks {word}");
        }
    }
    assert_eq!(code(&run(&["completions", "cmd.exe"])), 2);
}

/// Bash is there wherever the tests run; it reads the script without running it.
#[test]
fn bash_can_read_its_script() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("punctual");
    fs::write(&script, run(&["completions", "bash"]).stdout).unwrap();
    let read = Command::new("bash").arg("-n").arg(&script).output().unwrap();
    assert!(read.status.success() && read.stderr.is_empty(), "{read:?}");
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("share/man1");
    let output = run(&["man", dir.to_str().unwrap()]);
    assert_eq!((code(&output), output.stdout.len()), (0, 0), "{}", said(&output));
    let page = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    let pages: BTreeSet<String> =
        fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    for command in COMMANDS {
        assert!(pages.contains(&format!("punctual-{command}.1")), "{command}: {pages:?}");
    }
    assert!(page("punctual-measure-wakeup.1").contains("hold\\-dma\\-latency"));
    assert!(page("punctual.1").starts_with(".ie") && page("punctual.1").contains(".TH punctual 1"));

    let in_the_way = run(&["man", "/dev/null/man1"]);
    assert_eq!(code(&in_the_way), 2);
    assert!(said(&in_the_way).contains("/dev/null/man1"), "{}", said(&in_the_way));
}

/// Runs `make` at the top of the sources with the program that was built for these tests.
fn make(target: &str, destination: &Path) -> Output {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new("make");
    command.current_dir(top).args(["--no-print-directory", target, "PREFIX=/opt/rt"]);
    command.arg(format!("DESTDIR={}", destination.display()));
    command.arg(format!("BINARY={}", env!("CARGO_BIN_EXE_punctual")));
    // This test may itself run below `make`.
    command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    command.output().unwrap()
}

/// The files below a folder, by their paths from there.
fn files_below(top: &Path) -> BTreeSet<String> {
    let mut folders = vec![top.to_owned()];
    let mut files = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                files.insert(entry.path().strip_prefix(top).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    files
}

#[test]
fn make_install_puts_its_files_at_the_usual_places_and_uninstall_removes_them_alone() {
    let (folder, pages) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run(&["man", pages.path().to_str().unwrap()]);
    let mut expected: BTreeSet<String> =
        files_below(pages.path()).iter().map(|page| format!("opt/rt/share/man/man1/{page}")).collect();
    for file in [
        "bin/punctual",
        "share/bash-completion/completions/punctual",
        "share/zsh/site-functions/_punctual",
        "share/fish/vendor_completions.d/punctual.fish",
    ] {
        expected.insert(format!("opt/rt/{file}"));
    }
    let installed = make("install", folder.path());
    assert!(installed.status.success(), "{}", said(&installed));
    assert_eq!(files_below(folder.path()), expected);
    let version = Command::new(folder.path().join("opt/rt/bin/punctual")).arg("--version").output().unwrap();
    assert!(version.status.success(), "{version:?}");

    let others = folder.path().join("opt/rt/share/man/man1/other.1");
    fs::write(&others, "").unwrap();
    let removed = make("uninstall", folder.path());
    assert!(removed.status.success(), "{}", said(&removed));
    assert_eq!(files_below(folder.path()), BTreeSet::from(["opt/rt/share/man/man1/other.1".to_owned()]));
}

#[test]
fn make_install_without_a_program_names_the_remedy() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    let install = |variables: &[(&str, &str)]| {
        let mut command = Command::new(top.join("scripts/install"));
        command.arg("install").env("DESTDIR", folder.path()).envs(variables.iter().copied()).output().unwrap()
    };
    let missing = install(&[("BINARY", "/no/such/program")]);
    assert_eq!(code(&missing), 2);
    assert!(said(&missing).contains("make build"), "{}", said(&missing));
    let relative = install(&[("BINARY", env!("CARGO_BIN_EXE_punctual")), ("PREFIX", "here")]);
    assert_eq!(code(&relative), 2);
    assert!(said(&relative).contains("absolute"), "{}", said(&relative));
    assert!(files_below(folder.path()).is_empty());
}
