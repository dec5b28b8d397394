//! The modules of a crate are a tree: what a module uses does not use it. Computed from the `crate::` and `super::` paths of the
//! sources, with what the root of a crate exports under a shorter name taken for what it is.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Crates whose modules use each other in a circle, with the number of modules that stand in one. The numbers may only shrink,
/// and a crate without a circle leaves the list for good.
const KNOWN_CIRCLES: &[(&str, usize)] = &[
    ("campaign", 3),
    ("cli", 9),
    ("codecs", 2),
    ("guest", 4),
    ("histogram", 3),
    ("knobs", 9),
    ("lab", 4),
    ("measure", 3),
    ("profile", 2),
    ("record", 4),
    ("run", 2),
    ("sync", 2),
];

/// Which module uses which others.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// The root of a crate itself, where it defines something that its modules use.
const ROOT: &str = "(root)";

fn crates_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// The modules that a source declares for its tests alone, in files of their own.
fn modules_for_tests(text: &str) -> Vec<&str> {
    let declared = text.split("#[cfg(test)]\nmod ").skip(1).filter_map(|rest| rest.lines().next()?.strip_suffix(';'));
    declared.collect()
}

/// The source without comments and without its tests, which stand last in our files.
fn product_code(text: &str) -> String {
    let without = modules_for_tests(text)
        .into_iter()
        .fold(text.to_owned(), |text, name| text.replace(&format!("#[cfg(test)]\nmod {name};\n"), ""));
    let product = without.split("#[cfg(test)]\nmod ").next().unwrap_or("");
    product.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// The files of a crate with the paths of their modules: `html/top.rs` is `[html, top]`, the root is empty.
fn modules(folder: &Path, above: &[String]) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        // Tests may look at everything.
        if name == "tests" || name.ends_with("_tests") {
            continue;
        }
        let below = [above, std::slice::from_ref(&name)].concat();
        if path.is_dir() {
            found.extend(modules(&path, &below));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let is_folder_s_own = name == "mod" || (above.is_empty() && (name == "lib" || name == "main"));
            let module = if is_folder_s_own { above.to_vec() } else { below };
            found.push((module, product_code(&fs::read_to_string(&path).unwrap())));
        }
    }
    found
}

/// The name at the beginning of a text; empty where it begins with none.
fn name_at(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    &text[..end]
}

/// The paths of a tree of `use`, each as its names: `a::{b, c::D as E}` is `[a, b]` and `[a, c, D, as E]`.
fn paths(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim_start();
    let Some(inside) = tree.strip_prefix('{') else {
        let name = name_at(tree);
        let rest = &tree[name.len()..];
        if let Some(below) = rest.strip_prefix("::") {
            return paths(below).into_iter().map(|path| [vec![name.to_owned()], path].concat()).collect();
        }
        let other = rest.trim_start().strip_prefix("as ").map(|other| format!("as {}", name_at(other.trim_start())));
        return vec![[name.to_owned()].into_iter().chain(other).collect()];
    };
    let (mut depth, mut from, mut all) = (0_u32, 0, Vec::new());
    for (at, letter) in inside.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                let one = inside[from..at].trim();
                if !one.is_empty() {
                    all.extend(paths(one));
                }
                from = at + 1;
                if letter == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    all
}

/// The paths after each word such as `crate::` in a source.
fn paths_after<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = Vec<String>> + 'a {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':' || letter == '$';
    code.match_indices(word)
        .filter(move |(at, _)| !code[..*at].ends_with(is_part))
        .flat_map(move |(at, _)| paths(&code[at + word.len()..]))
}

/// Which top-level modules of a crate use which others; what is inside of one is its own affair.
fn uses(folder: &Path) -> Uses {
    let source = folder.join("src");
    let text = ["lib.rs", "main.rs"].iter().find_map(|file| fs::read_to_string(source.join(file)).ok()).unwrap();
    let for_tests = modules_for_tests(&text);
    let is_of_product = |path: &[String]| path.first().is_none_or(|top| !for_tests.contains(&top.as_str()));
    let files: Vec<_> = modules(&source, &[]).into_iter().filter(|(path, _)| is_of_product(path)).collect();
    let top: BTreeSet<String> = files.iter().filter_map(|(module, _)| module.first().cloned()).collect();
    let root: String = files.iter().filter(|(module, _)| module.is_empty()).map(|(_, code)| code.as_str()).collect();
    // What the root imports has a second name there: `crate::View` for `crate::view::View`.
    let mut by_name: BTreeMap<String, String> = BTreeMap::new();
    let mut rest = String::new();
    for statement in root.split_inclusive(';') {
        let Some((before, tree)) = statement.split_once("use ") else {
            if !statement.contains("mod ") {
                rest.push_str(statement);
            }
            continue;
        };
        rest.push_str(before);
        let tree = tree.trim_start_matches("crate::").trim_start_matches("self::").trim_end_matches(';');
        for path in paths(tree).into_iter().filter(|path| path.len() > 1 && top.contains(&path[0])) {
            let last = path.last().unwrap();
            by_name.insert(last.strip_prefix("as ").unwrap_or(last).to_owned(), path[0].clone());
        }
    }
    let resolve = |name: &String| {
        if top.contains(name) { Some(name.clone()) } else { by_name.get(name).cloned() }
    };
    let mut uses: Uses = top.iter().map(|module| (module.clone(), BTreeSet::new())).collect();
    for (module, code) in files.iter().filter(|(module, _)| !module.is_empty()) {
        let up = "super::".repeat(module.len());
        for path in paths_after(code, "crate::").chain(paths_after(code, &up)) {
            let Some(name) = path.first().filter(|name| !name.is_empty() && *name != "super") else { continue };
            let used = resolve(name).unwrap_or_else(|| ROOT.to_owned());
            if used != module[0] {
                uses.get_mut(&module[0]).unwrap().insert(used);
            }
        }
    }
    let words: BTreeSet<&str> = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
    uses.insert(ROOT.to_owned(), words.iter().filter_map(|word| resolve(&(*word).to_owned())).collect());
    uses
}

/// The modules that stand in a circle: those that use themselves, by way of others.
fn in_circles(uses: &Uses) -> Vec<String> {
    let reaches_itself = |module: &&String| {
        let mut seen: BTreeSet<&String> = BTreeSet::new();
        let mut next: Vec<&String> = uses[*module].iter().collect();
        while let Some(one) = next.pop() {
            if seen.insert(one) {
                next.extend(uses.get(one).into_iter().flatten());
            }
        }
        seen.contains(module)
    };
    uses.keys().filter(reaches_itself).cloned().collect()
}

#[test]
fn modules_of_a_crate_use_each_other_in_no_circle() {
    let mut wrong = Vec::new();
    for entry in fs::read_dir(crates_folder()).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let found = in_circles(&uses(&folder));
        let known = KNOWN_CIRCLES.iter().find(|(of, _)| *of == name).map_or(0, |(_, modules)| *modules);
        if found.len() != known {
            wrong.push(format!("{name}: {} in a circle, {known} are known: {}", found.len(), found.join(", ")));
        }
    }
    wrong.sort();
    assert!(
        wrong.is_empty(),
        "use what stands below, or lower the number in KNOWN_CIRCLES where a circle was opened:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn a_circle_is_found_by_whatever_name_a_module_is_used() {
    let folder = std::env::temp_dir().join(format!("punctual-circles-{}", std::process::id()));
    let write = |file: &str, text: &str| {
        let path = folder.join("src").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "lib.rs",
        "mod a;\nmod b;\nmod c;\nmod d;\n\npub use b::{Shown as View, Other};\n\npub struct Input(c::Kind);\n",
    );
    write("a.rs", "use crate::{View, c::{self, Kind}};\n// crate::d is a comment\n");
    write("b.rs", "use super::d;\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n");
    write("c.rs", "pub struct Kind;\n");
    write("d/mod.rs", "mod e;\n");
    write("d/e.rs", "use super::Nothing;\nuse super::super::a::Thing;\n");
    let found = uses(&folder);
    let of = |module: &str| found[module].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(
        (of("a"), of("b"), of("c"), of("d"), of(ROOT)),
        (vec!["b", "c"], vec!["d"], vec![], vec!["a"], vec!["c"])
    );
    assert_eq!(in_circles(&found), ["a", "b", "d"]);
    write("c.rs", "use crate::Input;\npub struct Kind;\n");
    assert_eq!(in_circles(&uses(&folder)), [ROOT, "a", "b", "c", "d"], "by way of the root");
    fs::remove_dir_all(folder).unwrap();
}
