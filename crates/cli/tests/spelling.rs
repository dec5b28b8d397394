//! One spelling: words that American and British English write differently have the American form.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};

/// The beginnings of British forms, each cut in two so that this file has none of them.
const BRITISH: &[(&str, &str)] = &[
    ("col", "our"),
    ("neighb", "our"),
    ("behavi", "our"),
    ("hon", "our"),
    ("fav", "our"),
    ("lab", "elled"),
    ("canc", "elled"),
    ("cent", "red"),
    ("cent", "re "),
    ("recogn", "is"),
    ("optim", "is"),
    ("initial", "is"),
    ("synchron", "is"),
    ("normal", "is"),
    ("summar", "is"),
    ("serial", "is"),
    ("emphas", "ise"),
    ("anal", "yse"),
    ("judg", "ement"),
    ("lear", "nt"),
    ("artef", "act"),
];

/// Where such a form is a name that others have given, or the word of another language than English.
const OTHERS: &[&str] =
    &["aria-", "Not synchron", "\"unsynchron", "How to optim", "optimism", "optimist", "optimistic"];

/// Where the project's own words stand.
const PLACES: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Makefile",
    "README.md",
    "bench",
    "crates",
    "docs",
    "examples",
    "scripts",
    "web/src",
    "web/test",
];

/// What is not of our own words: outputs of other programs, the bundle with its libraries.
const FOREIGN: &[&str] = &["fixtures", "viewer", "shots", "images"];

fn texts(path: &Path, found: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        found.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !FOREIGN.contains(&name.as_str()) {
            texts(&path, found);
        }
    }
}

/// The British form in a line, if there is one.
fn british(line: &str) -> Option<String> {
    if OTHERS.iter().any(|of_others| line.contains(of_others)) {
        return None;
    }
    let line = line.to_lowercase();
    BRITISH.iter().map(|(first, second)| format!("{first}{second}")).find(|form| line.contains(form.as_str()))
}

#[test]
fn words_have_their_american_form() {
    assert!(british(&format!("its Neighb{}s", "our")).is_some() && british("its neighbors").is_none());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut all = Vec::new();
    PLACES.iter().for_each(|place| texts(&root.join(place), &mut all));
    assert!(all.len() > 900, "{} files", all.len());
    let mut found = Vec::new();
    for path in all {
        // Pictures and compressed files have no words.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for (number, line) in text.lines().enumerate() {
            if let Some(form) = british(line) {
                found.push(format!("{}:{}: {form}", path.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "write the American form:\n{}", found.join("\n"));
}
