//! The invariants of ARCHITECTURE.md that can be read off the source tree.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All Rust files below a folder.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The source without comments and without what follows `#[cfg(test)]`, which stands last in our files.
fn product_code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or("");
    product.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

fn crates() -> Vec<String> {
    fs::read_dir(root().join("crates")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

/// The lower a number, the purer.
fn rank(layer: &str) -> usize {
    ["pure", "kernel", "engine", "edge"].iter().position(|known| *known == layer).unwrap()
}

#[test]
fn crates_depend_downwards_only() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let layer_of = |name: &str| {
        let package = packages.iter().find(|package| package["name"] == name)?;
        let layer = package["metadata"]["punctual"]["layer"].as_str();
        Some(rank(layer.unwrap_or_else(|| panic!("{name} names no layer in [package.metadata.punctual]"))))
    };
    let mut arrows = 0;
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let own = layer_of(name).unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            // Tests may use what the product may not.
            if dependency["kind"] == "dev" {
                continue;
            }
            let on = dependency["name"].as_str().unwrap();
            if let Some(layer) = layer_of(on) {
                arrows += 1;
                assert!(layer <= own, "{name} depends upwards on {on}");
            }
            assert!(on != "anyhow" || own == rank("edge"), "{name} uses anyhow, which is for the edge");
        }
    }
    assert!(arrows > 10, "the table was read");
}

#[test]
fn only_the_kernel_crate_is_unsafe() {
    for name in crates().iter().filter(|name| *name != "kernel") {
        let entry = ["lib.rs", "main.rs"].map(|file| root().join("crates").join(name).join("src").join(file));
        let entry = entry.iter().find(|path| path.exists()).unwrap();
        let text = fs::read_to_string(entry).unwrap();
        assert!(text.contains("#![forbid(unsafe_code)]"), "{} does not forbid unsafe code", entry.display());
    }
    for path in rust_files(&root().join("crates/kernel/src")) {
        let text = fs::read_to_string(&path).unwrap();
        let blocks = text.lines().filter(|line| line.contains("unsafe {")).count();
        let reasons = text.matches("SAFETY:").count();
        assert!(reasons >= blocks, "{}: {blocks} unsafe blocks, {reasons} reasons", path.display());
    }
}

#[test]
fn pure_crates_do_no_io() {
    for name in ["units", "record", "profile", "trace", "analyse", "knobs", "campaign", "corpus", "foreign"] {
        for path in rust_files(&root().join("crates").join(name).join("src")) {
            let code = product_code(&path);
            for word in ["std::fs", "std::net", "std::process", "std::thread", "std::env", "Instant::now", "SystemTime"]
            {
                let own_tests = path.components().any(|part| part.as_os_str() == "tests");
                assert!(own_tests || !code.contains(word), "{} uses {word}", path.display());
            }
        }
    }
}

#[test]
fn hot_loops_use_no_forbidden_word() {
    let loops: Vec<PathBuf> = rust_files(&root().join("crates/measure/src"))
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| name == "hot.rs"))
        .collect();
    assert_eq!(loops.len(), 3, "each measurement has its hot.rs");
    for path in loops {
        let code = product_code(&path);
        for word in [
            "Box",
            "Vec",
            "String",
            "format!",
            "println",
            "eprintln",
            "write!",
            "panic!",
            "unwrap",
            "expect(",
            "Mutex",
            "RwLock",
            "HashMap",
            "BTreeMap",
            ".clone()",
            "to_owned",
            "to_string",
            "collect(",
            "log::",
            "std::fs",
            "thread::",
            "lock()",
        ] {
            assert!(!code.contains(word), "{} contains '{word}'", path.display());
        }
    }
}

#[test]
fn rooms_stay_small() {
    for name in crates() {
        for path in rust_files(&root().join("crates").join(&name)) {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            assert!(lines <= 600, "{} has {lines} lines: is there a seam?", path.display());
        }
    }
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut named = 0;
    for line in text.lines().filter(|line| line.starts_with("**Invariant:**")) {
        let spans: Vec<&str> = line.split('`').skip(1).step_by(2).filter(|span| span.contains(".rs")).collect();
        for span in spans {
            let (file, test) = span.split_once(": ").unwrap_or((span, ""));
            let path = root().join("crates").join(file);
            let source = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{} is gone", path.display()));
            assert!(test.is_empty() || source.contains(&format!("fn {test}(")), "{file} has no test {test}");
            named += 1;
        }
    }
    assert!(named >= 8, "the page was read");
}
