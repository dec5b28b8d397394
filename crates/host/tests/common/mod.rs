//! The fixtures, and throw-away copies of them.

#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};

use host::{Root, read_profile};
use profile::{ProbeIssue, Profile};

pub(crate) fn read(path: &Path) -> (Profile, Vec<ProbeIssue>) {
    read_profile(&Root::tree(path).unwrap())
}

pub(crate) fn profile(host: &str) -> Profile {
    read(&fixtures::host(host)).0
}

/// A copy of a fixture that a test may spoil.
pub(crate) fn copy(host: &str) -> tempfile::TempDir {
    let target = tempfile::tempdir().unwrap();
    copy_folder(&fixtures::host(host), target.path());
    target
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Writes a file of such a copy.
pub(crate) fn write(tree: &Path, path: &str, text: &str) {
    let place = tree.join(path);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, text).unwrap();
}

/// All files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                waiting.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}
