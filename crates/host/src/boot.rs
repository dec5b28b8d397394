//! Reads the configuration files of boot loaders.
//!
//! They are no part of a profile, and a capture keeps none of them: what stands there can be a password.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use crate::root::Root;

/// Longer than any menu that a program has made of hundreds of kernels.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The paths that a pattern names, below the root; `*` stands for any text within a name that does not begin with a dot.
#[must_use]
pub fn matching_files(root: &Root, pattern: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for part in pattern.trim_start_matches('/').split('/') {
        found = found.into_iter().flat_map(|folder| matching_names(root, &folder, part)).collect();
    }
    found
}

fn matching_names(root: &Root, folder: &str, part: &str) -> Vec<String> {
    let Some((start, end)) = part.split_once('*') else {
        let path = format!("{folder}/{part}");
        return if root.locate(&path).exists() { vec![path] } else { Vec::new() };
    };
    let Ok(entries) = fs::read_dir(root.locate(folder)) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_meant = |name: &String| {
        name.len() >= start.len() + end.len()
            && name.starts_with(start)
            && name.ends_with(end)
            && !name.starts_with('.')
    };
    let mut paths: Vec<String> = names.filter(is_meant).map(|name| format!("{folder}/{name}")).collect();
    paths.sort_unstable();
    paths
}

/// What a file holds.
///
/// # Errors
/// With the reason, where it cannot be read.
pub fn read_file(root: &Root, path: &str) -> Result<Vec<u8>, String> {
    let read = |path: &Path| -> std::io::Result<Vec<u8>> {
        if !fs::metadata(path)?.is_file() {
            return Err(std::io::Error::other("it is no file"));
        }
        let mut bytes = Vec::new();
        fs::File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(std::io::Error::other(format!("it is longer than {MAX_BYTES} bytes")));
        }
        Ok(bytes)
    };
    read(&root.locate(path)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_what_is_there_and_a_long_or_strange_file_is_told() {
        let tree = tempfile::tempdir().unwrap();
        for file in ["proc/cmdline", "etc/a.d/2.cfg", "etc/a.d/1.cfg", "etc/a.d/.3.cfg", "etc/a.d/4.cfg.bak"] {
            fs::create_dir_all(tree.path().join(file).parent().unwrap()).unwrap();
            fs::write(tree.path().join(file), "x").unwrap();
        }
        let root = Root::tree(tree.path()).unwrap();
        assert_eq!(matching_files(&root, "/etc/a.d/*.cfg"), ["/etc/a.d/1.cfg", "/etc/a.d/2.cfg"]);
        assert_eq!(matching_files(&root, "/*/cmdline"), ["/proc/cmdline"]);
        assert!(matching_files(&root, "/etc/b.d/*.cfg").is_empty() && matching_files(&root, "/none").is_empty());
        assert_eq!(read_file(&root, "/proc/cmdline"), Ok(b"x".to_vec()));
        assert!(read_file(&root, "/etc").unwrap_err().contains("no file"));
        fs::File::create(tree.path().join("long")).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert!(read_file(&root, "/long").unwrap_err().contains("longer"));
    }
}
