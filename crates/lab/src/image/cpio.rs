//! The cpio archive of format "newc" that Linux unpacks as its initramfs
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use std::io::{self, Write};

const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

/// An archive that is being written.
pub(super) struct Archive<W> {
    to: W,
    entries: u32,
}

impl<W: Write> Archive<W> {
    pub(super) fn new(to: W) -> Self {
        Self { to, entries: 0 }
    }

    pub(super) fn folder(&mut self, path: &str) -> io::Result<()> {
        self.entry(path, FOLDER | 0o755, &[], (0, 0))
    }

    pub(super) fn file(&mut self, path: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
        self.entry(path, FILE | mode, bytes, (0, 0))
    }

    pub(super) fn link(&mut self, path: &str, to: &str) -> io::Result<()> {
        self.entry(path, LINK | 0o777, to.as_bytes(), (0, 0))
    }

    pub(super) fn device(&mut self, path: &str, major: u32, minor: u32) -> io::Result<()> {
        self.entry(path, CHARACTER_DEVICE | 0o600, &[], (major, minor))
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.entry("TRAILER!!!", 0, &[], (0, 0))?;
        self.to.flush()
    }

    fn entry(&mut self, path: &str, mode: u32, bytes: &[u8], device: (u32, u32)) -> io::Result<()> {
        self.entries += 1;
        let too_long = |_| io::Error::other(format!("{path} is too long for the archive"));
        let size = u32::try_from(bytes.len()).map_err(too_long)?;
        let name_size = u32::try_from(path.len() + 1).map_err(too_long)?;
        // All times are zero, so that equal content gives an equal archive.
        let fields =
            [self.entries, mode, 0, 0, 1, 0, size, 0, 0, device.0, device.1, name_size, 0].map(|n| format!("{n:08x}"));
        let head = format!("070701{}{path}\0", fields.concat());
        self.to.write_all(head.as_bytes())?;
        self.pad(head.len())?;
        self.to.write_all(bytes)?;
        self.pad(bytes.len())
    }

    /// Pads to a multiple of four bytes.
    fn pad(&mut self, written: usize) -> io::Result<()> {
        self.to.write_all(&[0; 3][..(4 - written % 4) % 4])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_the_format_of_the_kernel() {
        let mut bytes = Vec::new();
        let mut archive = Archive::new(&mut bytes);
        archive.folder("dev").unwrap();
        archive.device("dev/console", 5, 1).unwrap();
        archive.file("hello", 0o755, b"world").unwrap();
        archive.finish().unwrap();
        // Each entry: magic, thirteen fields of eight digits, name with closing NUL, content; both padded to four
        // bytes.
        let mut at = 0;
        let mut seen = Vec::new();
        while at < bytes.len() {
            assert_eq!(&bytes[at..at + 6], b"070701");
            let field = |n: usize| {
                let text = std::str::from_utf8(&bytes[at + 6 + 8 * n..at + 14 + 8 * n]).unwrap();
                usize::from_str_radix(text, 16).unwrap()
            };
            let (mode, size, major, minor, name_size) = (field(1), field(6), field(9), field(10), field(11));
            let name = std::str::from_utf8(&bytes[at + 110..at + 110 + name_size - 1]).unwrap().to_owned();
            let content = (at + 110 + name_size).next_multiple_of(4);
            seen.push((name, mode, (major, minor), bytes[content..content + size].to_vec()));
            at = (content + size).next_multiple_of(4);
        }
        assert_eq!(
            seen,
            [
                ("dev".to_owned(), 0o040_755, (0, 0), vec![]),
                ("dev/console".to_owned(), 0o020_600, (5, 1), vec![]),
                ("hello".to_owned(), 0o100_755, (0, 0), b"world".to_vec()),
                ("TRAILER!!!".to_owned(), 0, (0, 0), vec![]),
            ]
        );
    }
}
