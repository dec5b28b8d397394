//! Texts of the kernel, as in `/proc` and `/sys`.

use std::io;
use std::path::Path;

/// Reads a text of the kernel. A name in it can be cut inside a character: what is no UTF-8 is replaced, and costs nothing beside it.
///
/// # Errors
/// Where the file cannot be read.
pub(crate) fn read(path: impl AsRef<Path>) -> io::Result<String> {
    std::fs::read(path).map(lossy)
}

/// Bytes as text; what is no UTF-8 is replaced.
pub(crate) fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn an_odd_byte_costs_no_more_than_itself() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("stat");
        std::fs::write(&file, b"9001 (rt\xe5\x88\xb6\xe3) S 1\n").unwrap();
        let text = read(&file).unwrap();
        let stat = crate::task_stat::TaskStat::parse(&text).unwrap();
        assert_eq!((stat.name, stat.state(), stat.number(4)), ("rt\u{5236}\u{fffd}", Some("S"), Some(1)));
    }

    fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, all);
            } else {
                all.push(path);
            }
        }
    }

    /// A reader that refuses a whole file for one byte loses findings: this crate has one reader of the kernel's texts.
    #[test]
    fn nothing_else_reads_files_as_text() {
        let mut all = Vec::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut all);
        assert!(all.len() > 50);
        let forbidden = concat!("fs::read_to_", "string(");
        for path in all {
            let text = std::fs::read_to_string(&path).unwrap();
            let product = text.split("#[cfg(test)]").next().unwrap();
            let is_test = path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs");
            // A damaged record is refused, and never mended.
            let is_record = path.ends_with("read_record.rs");
            assert!(is_test || is_record || !product.contains(forbidden), "{}", path.display());
        }
    }
}
