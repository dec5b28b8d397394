//! Captured machines that `punctual tune` may change.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::run;

/// All files below a folder, with their content.
pub(crate) fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(content(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
    files
}

/// A copy of a captured machine that may be changed.
pub(crate) fn copy(host: &str) -> tempfile::TempDir {
    copy_of(&fixtures::host(host))
}

/// A copy of a folder, in one of its own.
pub(crate) fn copy_of(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for (path, bytes) in content(from) {
        let path = to.path().join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    to
}

/// A machine to be changed, and the intent for it.
pub(crate) struct Bench {
    pub(crate) machine: tempfile::TempDir,
    pub(crate) intent: PathBuf,
}

impl Bench {
    pub(crate) fn new(host: &str, intent: &str) -> Self {
        let machine = copy(host);
        let path = machine.path().join("intent.toml");
        fs::write(&path, intent).unwrap();
        Self { machine, intent: path }
    }

    pub(crate) fn tune(&self, args: &[&str]) -> Output {
        let root = self.machine.path().to_str().unwrap();
        run(&[&["tune", "--root", root], args].concat())
    }

    pub(crate) fn with_intent(&self, command: &str) -> Output {
        self.tune(&[command, self.intent.to_str().unwrap()])
    }

    /// Its settings: all but our journal.
    pub(crate) fn settings(&self) -> BTreeMap<PathBuf, String> {
        let of_ours = self.machine.path().join("var");
        let files = content(self.machine.path()).into_iter().filter(|(path, _)| !path.starts_with(&of_ours));
        files.map(|(path, bytes)| (path, String::from_utf8_lossy(&bytes).trim_end().to_owned())).collect()
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.machine.path().join(path)
    }
}

impl Drop for Bench {
    /// A test that fails leaves no process behind.
    fn drop(&mut self) {
        if self.at("run/punctual/latency-holder").exists() {
            self.tune(&["revert", "--force"]);
        }
    }
}
