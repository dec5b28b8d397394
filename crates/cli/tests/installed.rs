//! What a package installs beside the program: completions and manual pages.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

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
