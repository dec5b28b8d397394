//! Files by which the kernel is controlled: those of `/proc`, `/sys`, control groups and trace instances.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

/// Writes a text to a file of the kernel's, in one write.
///
/// It never makes a file. Where a file system of the kernel's is not mounted as expected (with control groups of version 1,
/// `/sys/fs/cgroup` is a plain tmpfs), making one would succeed, change no setting, and stay behind.
///
/// # Errors
/// Where there is no such file ([`io::ErrorKind::NotFound`]), or the kernel refuses the text.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    // Without a byte there is no write, and what stood there would stay: an empty line empties it.
    let text = if text.is_empty() { "\n" } else { text };
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_an_error_and_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cgroup.threads");
        assert_eq!(write(&path, "0").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!path.exists());
        std::fs::write(&path, "1234\n").unwrap();
        write(&path, "0").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "0");
        write(&path, "").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "\n", "an empty list of CPUs is an order, too");
    }
}
