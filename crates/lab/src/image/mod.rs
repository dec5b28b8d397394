//! The first file system of a guest: an archive of exactly the files that it needs.

mod cpio;
mod libraries;
mod modules;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

pub use libraries::Libraries;
pub(crate) use libraries::Program;
pub use modules::{ModuleError, Modules};

/// What stands at a path of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    /// A file of the host, with its mode bits.
    Copy(PathBuf, u32),
    /// These bytes, with these mode bits.
    Bytes(Vec<u8>, u32),
    Link(String),
    /// A character device.
    Device(u32, u32),
}

/// A tree of files, to be written as one archive.
#[derive(Clone, Debug, Default)]
pub struct Image {
    entries: BTreeMap<String, Entry>,
}

impl Image {
    /// With the folders that every system has, and the console that the kernel opens for its first process.
    #[must_use]
    pub fn new() -> Self {
        let mut image = Self::default();
        for folder in ["bin", "dev", "etc", "lib", "proc", "root", "run", "sys", "tmp", "usr/bin", "var/tmp"] {
            image.add_folder(folder);
        }
        // Where older programs look for it.
        image.add_link("var/run", "/run");
        image.add("dev/console", Entry::Device(5, 1));
        image
    }

    /// A folder, with those above it.
    pub fn add_folder(&mut self, path: &str) {
        self.add(path, Entry::Folder);
    }

    /// A copy of a file of the host, executable for everybody.
    pub fn add_program(&mut self, path: &str, from: &Path) {
        self.add(path, Entry::Copy(from.to_owned(), 0o755));
    }

    /// A copy of a file of the host.
    pub fn add_copy(&mut self, path: &str, from: &Path) {
        self.add(path, Entry::Copy(from.to_owned(), 0o644));
    }

    /// A file with this content.
    pub fn add_bytes(&mut self, path: &str, bytes: impl Into<Vec<u8>>, mode: u32) {
        self.add(path, Entry::Bytes(bytes.into(), mode));
    }

    /// A symbolic link.
    pub fn add_link(&mut self, path: &str, to: &str) {
        self.add(path, Entry::Link(to.to_owned()));
    }

    /// Whether something stands at a path.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.entries.contains_key(path.trim_start_matches('/'))
    }

    fn add(&mut self, path: &str, entry: Entry) {
        let path = path.trim_matches('/');
        for (at, _) in path.match_indices('/') {
            self.entries.entry(path[..at].to_owned()).or_insert(Entry::Folder);
        }
        self.entries.insert(path.to_owned(), entry);
    }

    /// Writes the archive.
    ///
    /// # Errors
    /// Where a file of the host cannot be read, or the archive not be written.
    pub fn write(&self, to: &Path) -> io::Result<()> {
        let mut archive = cpio::Archive::new(BufWriter::new(fs::File::create(to)?));
        for (path, entry) in &self.entries {
            match entry {
                Entry::Folder => archive.folder(path)?,
                Entry::Link(target) => archive.link(path, target)?,
                Entry::Device(major, minor) => archive.device(path, *major, *minor)?,
                Entry::Bytes(bytes, mode) => archive.file(path, *mode, bytes)?,
                Entry::Copy(from, mode) => {
                    let bytes = fs::read(from)
                        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", from.display())))?;
                    archive.file(path, *mode, &bytes)?;
                }
            }
        }
        archive.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_before_what_is_in_them() {
        let mut image = Image::default();
        image.add_bytes("/etc/deep/er/file", "x", 0o644);
        let paths: Vec<&String> = image.entries.keys().collect();
        assert_eq!(paths, ["etc", "etc/deep", "etc/deep/er", "etc/deep/er/file"]);
        assert!(image.has("/etc/deep") && !image.has("/etc/other"));
    }
}
