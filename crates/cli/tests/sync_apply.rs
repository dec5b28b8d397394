//! `punctual sync` as a user meets it, on a tree of files that stands for a machine: plan, apply, verify, take back.
#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::{code, run, said, stdout};
use tempfile::TempDir;

/// A machine with Debian's chrony running, and linuxptp installed.
struct Tree(TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        for (path, text) in [
            ("sys/devices/system/cpu/online", "0-3\n"),
            ("sys/class/net/eth0/operstate", "up\n"),
            ("usr/sbin/ptp4l", ""),
            ("usr/sbin/phc2sys", ""),
            ("usr/sbin/chronyd", ""),
            ("proc/700/comm", "chronyd\n"),
            ("proc/700/cgroup", "0::/system.slice/chrony.service\n"),
            // Its helper is of the same service.
            ("proc/701/comm", "chronyd\n"),
            ("proc/701/cgroup", "0::/system.slice/chrony.service\n"),
            ("proc/sys/kernel/random/boot_id", "0aa0\n"),
            ("punctual/services/chrony.service", "active\n"),
            ("etc/chrony/chrony.conf", "pool 2.debian.pool.ntp.org iburst\n"),
        ] {
            let path = tree.at(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        tree
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn sync(&self, words: &[&str]) -> Output {
        run(&[&["sync", "--root", self.0.path().to_str().unwrap()], words].concat())
    }

    /// Every file with its content, but for the journal, for services that do not run and are not known any more, and for the
    /// kernel's 0 s of TAI less UTC.
    fn files(&self) -> BTreeMap<PathBuf, String> {
        fn add(folder: &Path, files: &mut BTreeMap<PathBuf, String>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    add(&path, files);
                } else {
                    let text = fs::read_to_string(&path).unwrap();
                    files.insert(path, text);
                }
            }
        }
        let mut files = BTreeMap::new();
        add(self.0.path(), &mut files);
        files.retain(|path, text| {
            let is_ended = path.to_string_lossy().contains("services/punctual-") && text == "inactive\n";
            let is_tai_unset = path.ends_with("punctual/tai-less-utc") && text == "0\n";
            !is_ended && !is_tai_unset && !path.starts_with(self.at("var/lib/punctual"))
        });
        files
    }
}

/// Both streams: a plan's conflicts are its result, an error is not.
fn printed(done: &Output) -> String {
    stdout(done) + &said(done)
}

const FOLLOW: [&str; 5] = ["--profile", "ptp-udp", "-i", "eth0", "--priority=30"];

#[test]
fn what_is_applied_is_verified_and_taken_back_exactly() {
    let tree = Tree::new();
    let before = tree.files();
    let planned = tree.sync(&[&["plan"], &FOLLOW[..]].concat());
    assert_eq!(code(&planned), 0, "{}", said(&planned));
    for expected in ["chrony.service", "active -> inactive", "+ time_stamping software", "CPUSchedulingPriority=30"] {
        assert!(stdout(&planned).contains(expected), "{expected}: {}", stdout(&planned));
    }
    assert!(printed(&planned).contains("stamped in software"), "{}", printed(&planned));
    assert_eq!(tree.files(), before, "a plan touches nothing");

    let applied = tree.sync(&[&["apply"], &FOLLOW[..]].concat());
    assert_eq!(code(&applied), 0, "{}", said(&applied));
    assert!(said(&applied).contains("'punctual sync revert' reverts it"));
    let standing = |path: &str| fs::read_to_string(tree.at(path)).unwrap();
    assert_eq!(standing("punctual/services/chrony.service"), "inactive\n");
    assert_eq!(standing("punctual/services/punctual-ptp4l.service"), "active\n");
    assert!(standing("run/punctual/time/ptp4l.conf").ends_with("[eth0]\n"));
    assert_eq!(standing("etc/chrony/chrony.conf"), before[&tree.at("etc/chrony/chrony.conf")], "it is the user's");
    assert_eq!(code(&tree.sync(&["verify"])), 0);
    assert!(stdout(&tree.sync(&["status"])).contains("chrony"));

    // The same once more is nothing to do; another one is in the way of this one.
    assert!(said(&tree.sync(&[&["apply"], &FOLLOW[..]].concat())).contains("nothing to change"));
    let other = tree.sync(&["apply", "--profile", "gptp", "-i", "eth0"]);
    assert_eq!(code(&other), 2);
    assert!(printed(&other).contains("earlier intent"), "{}", printed(&other));

    // Somebody starts chrony again beside it.
    fs::write(tree.at("punctual/services/chrony.service"), "active\n").unwrap();
    let verified = tree.sync(&["verify"]);
    assert_eq!(code(&verified), 1);
    assert!(stdout(&verified).contains("CHANGED"), "{}", stdout(&verified));
    fs::write(tree.at("punctual/services/chrony.service"), "inactive\n").unwrap();

    let reverted = tree.sync(&["revert"]);
    assert_eq!(code(&reverted), 0, "{}", said(&reverted));
    assert_eq!(tree.files(), before);
    assert!(!tree.at("run/punctual/time").exists(), "its folder is gone with its last file");
}

#[test]
fn the_kernel_is_told_of_tai_and_forgets_it_again() {
    let tree = Tree::new();
    let before = tree.files();
    let noted = || fs::read_to_string(tree.at("punctual/tai-less-utc")).unwrap_or_default();
    // Without a list of leap seconds nothing is made up.
    let planned = tree.sync(&[&["plan"], &FOLLOW[..]].concat());
    assert!(printed(&planned).contains("TAI less UTC is not known"), "{}", printed(&planned));
    assert!(!stdout(&planned).contains("utc_offset"), "{}", stdout(&planned));

    let with_tai = [&FOLLOW[..], &["--tai-less-utc", "37"]].concat();
    let planned = tree.sync(&[&["plan"], &with_tai[..]].concat());
    for expected in ["time.tai-less-utc", "0 -> 37", "CLOCK_TAI less CLOCK_REALTIME (adjtimex)", "+ utc_offset 37"] {
        assert!(stdout(&planned).contains(expected), "{expected}: {}", stdout(&planned));
    }
    assert_eq!(code(&tree.sync(&[&["apply"], &with_tai[..]].concat())), 0);
    assert_eq!(noted(), "37\n");
    let verified = tree.sync(&["verify", "--all"]);
    assert!(stdout(&verified).contains("in force  time.tai-less-utc"), "{}", stdout(&verified));

    // A grand master that states another: linuxptp has set that, and it is left.
    fs::write(tree.at("punctual/tai-less-utc"), "38\n").unwrap();
    let verified = tree.sync(&["verify"]);
    assert!(code(&verified) == 1 && stdout(&verified).contains("it is 38, 37 was applied"), "{}", stdout(&verified));
    fs::write(tree.at("punctual/tai-less-utc"), "37\n").unwrap();

    let reverted = tree.sync(&["revert"]);
    assert_eq!(code(&reverted), 0, "{}", said(&reverted));
    assert_eq!((noted().as_str(), tree.files()), ("0\n", before));
    let wrong = tree.sync(&["plan", "--profile", "ntp", "--server", "a", "--tai-less-utc", "300"]);
    assert!(code(&wrong) == 2 && said(&wrong).contains("0..=255"), "{}", said(&wrong));
}

#[test]
fn tune_takes_the_same_part_of_an_intent_and_keeps_its_own_journal() {
    let tree = Tree::new();
    let before = tree.files();
    let intent = tree.0.path().join("intent.toml");
    fs::write(&intent, "[time]\nprofile = \"ptp-udp\"\nrole = \"master\"\ninterfaces = [\"eth0\"]\n").unwrap();
    let path = intent.to_str().unwrap();
    let root = tree.0.path().to_str().unwrap();
    assert_eq!(code(&run(&["tune", "--root", root, "apply", path])), 0);
    // A grand master gives the time of its own clock, which chrony may steer.
    assert_eq!(fs::read_to_string(tree.at("punctual/services/chrony.service")).unwrap(), "active\n");
    for command in ["revert", "status", "verify"] {
        let asked = tree.sync(&[command]);
        let expected = "nothing is applied by 'punctual sync'; 'punctual tune' has applied 3 changes, time services among them, \
                        which 'punctual tune revert' reverts";
        assert!(code(&asked) == 0 && said(&asked).contains(expected), "{command}: {}", said(&asked));
    }
    assert_eq!(code(&run(&["tune", "--root", root, "revert"])), 0);
    assert!(said(&tree.sync(&["revert"])).ends_with("nothing is applied by 'punctual sync'\n"));
    // The other way round.
    assert_eq!(code(&tree.sync(&["apply", path])), 0);
    let asked = run(&["tune", "--root", root, "revert"]);
    assert!(said(&asked).contains("which 'punctual sync revert' reverts"), "{}", said(&asked));
    assert_eq!(code(&tree.sync(&["revert"])), 0);
    fs::remove_file(&intent).unwrap();
    assert_eq!(tree.files(), before);
    fs::write(&intent, "[knob]\n\"vm.swappiness\" = 10\n").unwrap();
    let without = tree.sync(&["plan", path]);
    assert!(code(&without) == 2 && said(&without).contains("has no part [time]"), "{}", said(&without));
}

#[test]
fn what_is_missing_is_asked_for() {
    let tree = Tree::new();
    for (words, expected) in [
        (&["plan"][..], "name the protocol by --profile (gptp, ptp-udp, ptp-ethernet, ntp)"),
        (&["plan", "--profile", "gptp"], "choose among eth0"),
        (&["plan", "--profile", "ntp"], "needs a server"),
        (&["plan", "--profile", "irig"], "possible values: gptp, ptp-udp, ptp-ethernet, ntp"),
        (&["--source", "chrony"], "punctual measure sync"),
        (&["measure"], "punctual measure sync"),
    ] {
        let done = tree.sync(words);
        assert_eq!(code(&done), 2, "{words:?}");
        assert!(printed(&done).contains(expected), "{words:?}: {}", printed(&done));
    }
}
