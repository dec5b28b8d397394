//! The invariants of ARCHITECTURE.md that can be read off the source tree.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::collections::BTreeSet;
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

/// The crates by layer, as ARCHITECTURE.md lists them: layer and name, in the order in which they may depend on each other.
fn layers() -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let list = text.split("## Layers\n\n```\n").nth(1).unwrap().split("```").next().unwrap();
    let mut layers = Vec::new();
    for line in list.lines().filter(|line| !line.starts_with("web ")) {
        let mut columns = line.split("  ").filter(|column| !column.is_empty());
        let (layer, names) = (columns.next().unwrap().trim(), columns.next().unwrap());
        layers.extend(names.split(',').map(|name| (layer.to_owned(), name.trim().to_owned())));
    }
    layers
}

fn crates_of(layer: &str) -> Vec<String> {
    layers().into_iter().filter(|(of, _)| of == layer).map(|(_, name)| name).collect()
}

#[test]
fn crates_depend_on_those_before_them_alone() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    // What only tests use stands elsewhere, and has no layer.
    let is_product = |package: &&serde_json::Value| package["metadata"]["punctual"]["layer"].is_string();
    let packages: Vec<&serde_json::Value> = packages.iter().filter(is_product).collect();
    let layers = layers();
    let folder_of = |package: &serde_json::Value| {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        manifest.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
    };
    let place = |name: &str| {
        layers.iter().position(|(_, known)| known == name).unwrap_or_else(|| panic!("ARCHITECTURE.md lists no {name}"))
    };
    let folder_by_name =
        |name: &str| packages.iter().find(|package| package["name"] == name).map(|package| folder_of(package));
    let mut arrows = 0;
    for package in &packages {
        let own = folder_of(package);
        let (layer, _) = &layers[place(&own)];
        assert_eq!(package["metadata"]["punctual"]["layer"].as_str(), Some(layer.as_str()), "the layer of {own}");
        for dependency in package["dependencies"].as_array().unwrap() {
            // Tests may use what the product may not.
            if dependency["kind"] == "dev" {
                continue;
            }
            let on = dependency["name"].as_str().unwrap();
            if let Some(on) = folder_by_name(on) {
                assert!(on != "measure" || own == "run", "{own} measures by itself; runs are made by `run` alone");
                arrows += 1;
                assert!(place(&on) < place(&own), "{own} depends on {on}, which is not before it in ARCHITECTURE.md");
            }
            assert!(on != "anyhow" || layer == "edge", "{own} uses anyhow, which is for the edge");
            assert!(on != "tokio" || layer == "edge", "{own} uses tokio, and async code is for the edge");
        }
    }
    assert!(arrows > 10, "the packages were read");
    assert_eq!(layers.len(), packages.len(), "each crate has its place in the list");
    assert_eq!(layers.len(), crates().len(), "each crate names its layer in [package.metadata.punctual]");
}

/// Whether a future is waited for; a field's name may begin with the same letters.
fn awaits(code: &str) -> bool {
    let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.split(".await").skip(1).any(|rest| !rest.starts_with(is_of_name))
}

#[test]
fn nothing_below_the_edge_is_async() {
    assert!(awaits("one.await?") && awaits("one.await") && !awaits("ending.awaited.is_some()"));
    let below = layers().into_iter().filter(|(layer, _)| layer != "edge");
    for path in below.flat_map(|(_, name)| rust_files(&root().join("crates").join(name).join("src"))) {
        let code = product_code(&path);
        assert!(
            ["async fn", "async move", "async {"].iter().all(|word| !code.contains(word)) && !awaits(&code),
            "{} is async",
            path.display()
        );
    }
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
    let pure = crates_of("pure");
    assert!(pure.len() >= 10, "the list was read");
    for name in pure {
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

/// Files below a folder with such an ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found
}

/// Where a line asks which kind of measurement something is of, in Rust or in TypeScript.
fn asks_for_a_kind(line: &str) -> bool {
    let by_name = record::KINDS.iter().any(|kind| {
        let name = format!("\"{}\"", kind.name);
        let asked = [format!("== {name}"), format!("!= {name}"), format!("{name} =>"), format!("case {name}:")];
        asked.iter().any(|words| line.contains(words.as_str()))
    });
    let variant = |(at, path): (usize, &str)| {
        let (before, after) = (line[..at].trim_end(), &line[at + path.len()..]);
        let after = after.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric()).trim_start();
        let before = before.trim_end_matches("record::").trim_end();
        let is_pattern = after.starts_with("=>") || after.starts_with('|') || before.ends_with('|');
        is_pattern || before.ends_with("==") || before.ends_with("!=") || after.starts_with("==")
    };
    // A request that is taken apart, and not made.
    let taken_apart = |(at, path): (usize, &str)| {
        let after = line[at + path.len()..].trim_start_matches(|letter: char| letter.is_ascii_alphanumeric());
        let is_kind = record::KINDS.iter().any(|kind| line[at + path.len()..].to_lowercase().starts_with(kind.name));
        let is_own = line[..at].chars().next_back().is_none_or(|letter| !letter.is_ascii_alphanumeric());
        let pattern = after.starts_with('(').then(|| after.split_once(')').map_or("", |(_, rest)| rest).trim_start());
        let is_pattern = pattern.is_some_and(|rest| {
            let rest = rest.trim_start_matches(')').trim_start();
            rest.starts_with("=>") || rest.starts_with("if ") || rest.starts_with('|') || rest.starts_with("= ")
        });
        is_kind && is_own && is_pattern
    };
    by_name || line.match_indices("Measurement::").any(variant) || line.match_indices("Request::").any(taken_apart)
}

/// Where a line names a latency of the table: what reads records asks the table for its role, its words and its parts.
fn names_a_latency(line: &str) -> bool {
    let latencies = record::KINDS.iter().flat_map(|kind| kind.latencies);
    latencies.into_iter().any(|latency| line.contains(&format!("\"{}\"", latency.name)))
}

#[test]
fn what_judges_or_shows_records_names_no_latency() {
    assert!(names_a_latency("    (\"sent_to_transmitted\", \"driver\"),"));
    let rust = ["analysis", "campaign", "report", "summary", "cli"]
        .into_iter()
        .flat_map(|name| rust_files(&root().join("crates").join(name).join("src")));
    let web = [".ts", ".tsx"].into_iter().flat_map(|ending| files(&root().join("web/src"), ending));
    let mut found = Vec::new();
    for path in rust.chain(web) {
        let text = path.to_string_lossy();
        // What is made for tests, and what is made from the table.
        if text.contains("/tests")
            || text.contains("/sample")
            || text.contains("/generated/")
            || text.ends_with("tests.rs")
        {
            continue;
        }
        let code = product_code(&path);
        let lines = code.lines().filter(|line| names_a_latency(line));
        found.extend(lines.map(|line| format!("{text}: {}", line.trim())));
    }
    assert!(found.is_empty(), "ask the table in crates/record/src/kind/table.rs instead:\n{}", found.join("\n"));
}

#[test]
fn nothing_outside_of_record_asks_which_kind_a_measurement_is_of() {
    for line in [
        "    Measurement::Noise => 1,",
        "if run.measurement == record::Measurement::App {",
        "matches!(kind, Measurement::Wakeup | Measurement::App)",
        "if (run.measurement === \"noise\") {",
        "    \"clock\" => true,",
        "            Request::Packet(request) => 1,",
        "if matches!(asked, Some(Request::App(ref request)) if request.from_wake_up) {",
        "    if let Request::Wakeup(wakeup) = &mut request {",
    ] {
        assert!(asks_for_a_kind(line), "{line}");
    }
    assert!(
        !asks_for_a_kind("measurement: Measurement::Noise,")
            && !asks_for_a_kind("Measurement::Noise(args) => args.run(),")
            && !asks_for_a_kind(
                "let asked = RunRequest { request: Request::Noise(noise), load: None, partner: Vec::new() };"
            )
            && !asks_for_a_kind("            Request::Run(options) => run(&options),")
    );
    let mut found = Vec::new();
    let rust = crates()
        .into_iter()
        // `run` and `farm` make of each kind what they carry out and what may be asked.
        .filter(|name| !["record", "run", "farm"].contains(&name.as_str()))
        .flat_map(|name| rust_files(&root().join("crates").join(name).join("src")));
    let web = [".ts", ".tsx"].into_iter().flat_map(|ending| files(&root().join("web/src"), ending));
    for path in rust.chain(web) {
        let code = product_code(&path);
        let is_test = path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs");
        let lines = code.lines().filter(|line| !is_test && asks_for_a_kind(line));
        found.extend(lines.map(|line| format!("{}: {}", path.display(), line.trim())));
    }
    assert!(found.is_empty(), "ask the table in crates/record/src/kind/table.rs instead:\n{}", found.join("\n"));
}

/// The kinds of measurement, other than `own`, whose insides a line of code names, or any kind at all where it is of none.
fn other_kinds(line: &str, own: Option<&str>) -> bool {
    line.match_indices("kinds::").any(|(at, path)| {
        let is_of_path = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
        let rest = &line[at + path.len()..];
        let named = rest.split(|letter| !is_of_path(letter)).next().unwrap_or_default();
        let kind = named.split("::").next().unwrap_or_default();
        // A kind that is run beside another one is called by its name: `kinds::sync::measure(…)`.
        let is_called = named.matches("::").count() == 1 && rest[named.len()..].starts_with('(');
        own.is_none_or(|own| own != kind && !is_called)
    })
}

#[test]
fn no_kind_of_measurement_sees_the_insides_of_another_and_what_is_shared_sees_none() {
    assert!(other_kinds("use crate::kinds::sync::hardware::Reading;", Some("packet")));
    assert!(
        other_kinds("use crate::kinds::sync;", Some("packet")) && other_kinds("crate::kinds::sync::measure()", None)
    );
    assert!(!other_kinds("crate::kinds::sync::measure(&request)", Some("packet")));
    assert!(!other_kinds("use crate::kinds::packet::pause::sleep_looking;", Some("packet")));
    let source = root().join("crates/measure/src");
    let mut seen = BTreeSet::new();
    for path in rust_files(&source).into_iter().filter(|path| *path != source.join("lib.rs")) {
        let inside = path.strip_prefix(source.join("kinds")).ok().and_then(|path| path.iter().next()?.to_str());
        seen.extend(inside.map(str::to_owned));
        let code = product_code(&path);
        let found = code.lines().find(|line| other_kinds(line, inside));
        assert!(found.is_none(), "{}: {}", path.display(), found.unwrap_or_default());
    }
    let kinds: BTreeSet<String> = record::KINDS.iter().map(|kind| kind.name.to_owned()).collect();
    seen.remove("mod.rs");
    assert_eq!(seen, kinds, "a folder for each kind");
}

#[test]
fn hot_loops_use_no_forbidden_word() {
    let loops: Vec<PathBuf> = rust_files(&root().join("crates/measure/src"))
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| name == "hot.rs"))
        .collect();
    assert!(!loops.is_empty(), "the folder was read");
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
fn every_file_of_tests_is_part_of_a_test_program() {
    let mut seen = 0;
    for folder in crates().into_iter().map(|name| root().join("crates").join(name)) {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        // Otherwise each file is a program by itself.
        if !manifest.contains("autotests = false") {
            continue;
        }
        let suite = fs::read_to_string(folder.join("tests/suite.rs")).unwrap();
        for entry in fs::read_dir(folder.join("tests")).unwrap() {
            let path = entry.unwrap().path();
            let holds_code = path.is_file() || path.join("mod.rs").exists();
            let name = path.file_stem().unwrap().to_str().unwrap();
            if !holds_code || name == "suite" {
                continue;
            }
            let runs = suite.lines().any(|line| line == format!("mod {name};"))
                || manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
            assert!(runs, "{} is in no test program: name it in tests/suite.rs", path.display());
            seen += 1;
        }
    }
    assert!(seen > 50, "the folders were read");
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
