//! What `punctual tune` tells boot loaders: one machine of `fixtures/boot` for each, with its intent and the agreed plan.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn machines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/boot")
}

/// All files below a folder, with their content.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(content(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    files
}

/// A copy of a machine that may be changed.
struct Bench {
    machine: tempfile::TempDir,
}

impl Bench {
    fn new(name: &str) -> Self {
        let machine = tempfile::tempdir().unwrap();
        let from = machines().join(name);
        for (path, bytes) in content(&from).into_iter().filter(|(path, _)| !path.ends_with("plan.txt")) {
            let path = machine.path().join(path.strip_prefix(&from).unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        Self { machine }
    }

    fn tune(&self, args: &[&str]) -> Output {
        let root = self.machine.path().to_str().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(["tune", "--root", root]).args(args).env("NO_COLOR", "1").output().unwrap()
    }

    fn with_intent(&self, command: &str) -> Output {
        self.tune(&[command, self.at("intent.toml").to_str().unwrap()])
    }

    fn at(&self, path: &str) -> PathBuf {
        self.machine.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    /// All but our journal.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let of_ours = self.at("var");
        content(self.machine.path()).into_iter().filter(|(path, _)| !path.starts_with(&of_ours)).collect()
    }

    /// What is said where a plan is refused.
    fn refused(&self) -> String {
        let output = self.with_intent("plan");
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        said(&output)
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn names() -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(machines()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// `PUNCTUAL_UPDATE=1` writes the plans anew, to be looked at before they are committed.
#[test]
fn every_boot_loader_has_the_plan_that_was_agreed() {
    for name in names() {
        let bench = Bench::new(&name);
        let made = said(&bench.with_intent("plan"));
        let agreed = machines().join(&name).join("plan.txt");
        if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
            fs::write(&agreed, &made).unwrap();
        }
        let agreed = fs::read_to_string(&agreed).unwrap_or_default();
        assert!(agreed == made, "{name}: the plan is another than agreed:\n{made}");
    }
}

#[test]
fn what_is_told_to_a_boot_loader_waits_for_the_next_start_and_goes_byte_for_byte() {
    for name in names() {
        let bench = Bench::new(&name);
        let before = bench.files();
        let applied = bench.with_intent("apply");
        assert!(applied.status.success(), "{name}: {}", said(&applied));
        assert_ne!(bench.files(), before, "{name}");
        let verified = bench.tune(&["verify"]);
        assert!(verified.status.success(), "{name}: {}", said(&verified));
        assert!(said(&verified).contains("pending   boot.parameters"), "{name}: {}", said(&verified));
        // The same intent again, also as the service manager would apply it: there is nothing to do.
        let again = bench.with_intent("apply");
        assert!(said(&again).contains("nothing to change"), "{name}: {}", said(&again));
        // Another one in its place is made of what the user had, and not of ours.
        let applied_files = bench.files();
        bench.write("other.toml", "[boot]\nskew_tick = 1\n");
        let other = bench.tune(&["apply", bench.at("other.toml").to_str().unwrap()]);
        assert!(other.status.success(), "{name}: {}", said(&other));
        let more: Vec<u8> = bench.files().into_values().flatten().collect();
        let more = String::from_utf8_lossy(&more).into_owned();
        assert!(more.contains(" skew_tick=1") && !more.contains("isolcpus=managed"), "{name}");
        assert!(bench.tune(&["revert"]).status.success());
        fs::remove_file(bench.at("other.toml")).unwrap();
        assert_eq!(bench.files(), before, "{name}");
        assert_ne!(applied_files, before);
    }
}

/// The machine starts again as its boot loader was told.
#[test]
fn after_the_next_start_it_is_in_force() {
    const OURS: &str = "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1 threadirqs";
    for name in names() {
        let bench = Bench::new(&name);
        assert!(bench.with_intent("apply").status.success(), "{name}");
        let cmdline = bench.read("proc/cmdline");
        bench.write("proc/cmdline", &format!("{} {OURS}\n", cmdline.trim_end()));
        if name == "grub" {
            let verified = said(&bench.tune(&["verify"]));
            assert!(verified.contains("pending   boot.parameters"), "the kernel is not the chosen one: {verified}");
            bench.write("proc/sys/kernel/osrelease", "6.1.0-28-rt-amd64\n");
        }
        if name == "systemd-boot" {
            let verified = said(&bench.tune(&["verify"]));
            assert!(verified.contains("pending   boot.default-entry"), "{verified}");
            let default = bench.at(DEFAULT_ENTRY);
            fs::copy(default, bench.at(SELECTED_ENTRY)).unwrap();
        }
        let verified = said(&bench.tune(&["verify"]));
        assert!(!verified.contains("pending") && verified.contains("in force  boot.parameters"), "{name}: {verified}");
        // Now that the machine runs with it, the same intent still wants nothing new.
        let again = said(&bench.with_intent("apply"));
        assert!(again.contains("nothing to change"), "{name}: {again}");
    }
}

const DEFAULT_ENTRY: &str = "sys/firmware/efi/efivars/LoaderEntryDefault-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
const SELECTED_ENTRY: &str = "sys/firmware/efi/efivars/LoaderEntrySelected-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
