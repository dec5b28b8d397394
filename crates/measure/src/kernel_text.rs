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

/// The numbers of a line, separated by blanks: `None` for a word that is none, the largest number for one that is too large. They are
/// read several times a second during a run: each byte is looked at once.
pub(crate) struct Numbers<'a>(&'a [u8]);

/// So many digits never overflow.
const SHORT: usize = 19;

impl<'a> Numbers<'a> {
    /// Those of a line.
    pub(crate) const fn of(line: &'a [u8]) -> Self {
        Self(line)
    }
}

impl Iterator for Numbers<'_> {
    type Item = Option<u64>;

    #[inline]
    fn next(&mut self) -> Option<Option<u64>> {
        let text = self.0.trim_ascii_start();
        let (mut value, mut is_number, mut end) = (0_u64, true, 0);
        for byte in text.iter().take_while(|byte| !byte.is_ascii_whitespace()) {
            let digit = byte.wrapping_sub(b'0');
            is_number &= digit <= 9;
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            end += 1;
        }
        let (word, rest) = text.split_at(end);
        self.0 = rest;
        if end > SHORT {
            let digits = word.iter().map(|byte| u64::from(byte.wrapping_sub(b'0')));
            value = digits.fold(0, |value: u64, digit| value.saturating_mul(10).saturating_add(digit));
        }
        (end > 0).then_some(is_number.then_some(value))
    }
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

    #[test]
    fn numbers_are_read_word_by_word() {
        let read = |text: &str| Numbers::of(text.as_bytes()).collect::<Vec<_>>();
        assert_eq!(read("  10 0\t x7 -1 \n"), [Some(10), Some(0), None, None]);
        assert_eq!(
            read(&format!("{} 1{0} 00000000000000000000012", u64::MAX)),
            [Some(u64::MAX), Some(u64::MAX), Some(12)]
        );
        assert_eq!(read("9999999999999999999"), [Some(9_999_999_999_999_999_999)]);
        assert_eq!(read(""), []);
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
