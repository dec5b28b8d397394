//! What a package installs beside the program: completions and manual pages.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{code, run, said};

const COMMANDS: [&str; 10] =
    ["assess", "check", "completions", "cyclictest", "explain", "load", "man", "measure", "profile", "report"];
/// Names that are values: a finding, a scenario, a campaign, a load, a clock, and an option of cyclictest's.
const NAMES: [&str; 6] = ["kernel-not-realtime", "rt-basic", "which-knob", "osadl", "boottime", "secaligned"];

#[test]
fn each_shell_s_script_knows_every_command_and_its_options() {
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&["completions", shell]);
        let script = String::from_utf8(output.stdout.clone()).unwrap();
        assert_eq!((code(&output), said(&output).as_str()), (0, ""), "{shell}");
        for word in COMMANDS.iter().chain(&["wakeup", "hold-dma-latency"]).chain(&NAMES) {
            assert!(script.contains(word), "{shell} lacks {word}");
        }
    }
    assert_eq!(code(&run(&["completions", "cmd.exe"])), 2);
}

/// What bash offers after these words.
fn completed(words: &[&str]) -> Vec<String> {
    let script = String::from_utf8(run(&["completions", "bash"]).stdout).unwrap();
    let list: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let last = words.len() - 1;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("punctual");
    fs::write(&file, script).unwrap();
    let ask = format!(
        ". {}\nCOMP_WORDS=({})\nCOMP_CWORD={last}\n_punctual punctual '{}' '{}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
        file.display(),
        list.join(" "),
        words[last],
        words[last - 1]
    );
    let output = Command::new("bash").arg("-c").arg(ask).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_names() {
    for (words, name) in [
        (&["punctual", "explain", "kernel-n"][..], "kernel-not-realtime"),
        (&["punctual", "lab", "up", "rt-b"], "rt-basic"),
        (&["punctual", "campaign", "run", "which"], "which-knob"),
        (&["punctual", "load", "show", "os"], "osadl"),
        (&["punctual", "assess", "--load", "pa"], "paper"),
        (&["punctual", "measure", "wakeup", "--clock", "boo"], "boottime"),
        (&["punctual", "cyclictest", "--seca"], "--secaligned"),
        (&["punctual", "tune", "plan", "--iso"], "--isolate"),
    ] {
        assert!(completed(words).contains(&name.to_owned()), "{words:?}: {:?}", completed(words));
    }
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

    for name in &pages {
        let text = page(name);
        let at = |heading: &str| text.find(heading).unwrap_or_else(|| panic!("{name} lacks {heading}"));
        let places = [".SH NAME", ".SH SYNOPSIS", ".SH \"EXIT STATUS\"", ".SH EXAMPLES", ".SH \"SEE ALSO\""].map(at);
        assert!(places.is_sorted(), "{name}: {places:?}");
        assert!(!text.contains(".SH EXTRA"), "{name}");
    }
    let cyclictest = page("punctual-cyclictest.1");
    for part in ["\\-\\-secaligned", "\\-\\-histogram", "\\-m", ".SH SCHEDULE", "the kernel did not let it begin"] {
        assert!(cyclictest.contains(part), "{part}: {cyclictest}");
    }
    assert!(page("punctual-check.1").contains("at least one problem was found"));
    let assess = page("punctual-assess.1");
    assert!(assess.contains(".SH LOADS") && assess.contains("3 CPU workers at 25 %"), "{assess}");

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
    if cfg!(feature = "agent") {
        expected.insert("opt/rt/lib/systemd/system/punctual-agent.service".to_owned());
    }
    let installed = make("install", folder.path());
    assert!(installed.status.success(), "{}", said(&installed));
    assert_eq!(files_below(folder.path()), expected);
    let version = Command::new(folder.path().join("opt/rt/bin/punctual")).arg("--version").output().unwrap();
    assert!(version.status.success(), "{version:?}");
    if cfg!(feature = "agent") {
        let unit = fs::read_to_string(folder.path().join("opt/rt/lib/systemd/system/punctual-agent.service")).unwrap();
        assert!(unit.contains("\nExecStart=/opt/rt/bin/punctual agent run\n"), "{unit}");
    }

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
