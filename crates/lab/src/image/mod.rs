//! The initramfs of a guest: an archive of exactly the files that it needs.

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

/// A file of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    /// A copy of a file of the host, with these mode bits.
    Copy(PathBuf, u32),
    /// A file with this content and these mode bits.
    Bytes(Vec<u8>, u32),
    Link(String),
    /// A character device with major and minor number.
    Device(u32, u32),
}

/// The files of an initramfs, to be written as one archive.
#[derive(Clone, Debug, Default)]
pub struct Image {
    entries: BTreeMap<String, Entry>,
}

impl Image {
    /// An image with the usual folders, and the console that the kernel opens for its first process.
    #[must_use]
    pub fn new() -> Self {
        let mut image = Self::default();
        for folder in ["bin", "dev", "etc", "lib", "proc", "root", "run", "sys", "tmp", "usr/bin", "var/tmp"] {
            image.add_folder(folder);
        }
        // Older programs expect /run there.
        image.add_link("var/run", "/run");
        image.add("dev/console", Entry::Device(5, 1));
        image
    }

    /// Adds a folder, with its parents.
    pub fn add_folder(&mut self, path: &str) {
        self.add(path, Entry::Folder);
    }

    /// Adds a copy of a file of the host, executable for everybody (mode 755).
    pub fn add_program(&mut self, path: &str, from: &Path) {
        self.add(path, Entry::Copy(from.to_owned(), 0o755));
    }

    /// Adds a copy of a file of the host (mode 644).
    pub fn add_copy(&mut self, path: &str, from: &Path) {
        self.add(path, Entry::Copy(from.to_owned(), 0o644));
    }

    /// Adds a file with this content.
    pub fn add_bytes(&mut self, path: &str, bytes: impl Into<Vec<u8>>, mode: u32) {
        self.add(path, Entry::Bytes(bytes.into(), mode));
    }

    /// Adds a symbolic link.
    pub fn add_link(&mut self, path: &str, to: &str) {
        self.add(path, Entry::Link(to.to_owned()));
    }

    /// Whether the image has a file at this path.
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

    /// Writes the archive to a file.
    ///
    /// # Errors
    /// If a file of the host cannot be read, or the archive cannot be written.
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
    fn folders_precede_their_content() {
        let mut image = Image::default();
        image.add_bytes("/etc/deep/er/file", "x", 0o644);
        let paths: Vec<&String> = image.entries.keys().collect();
        assert_eq!(paths, ["etc", "etc/deep", "etc/deep/er", "etc/deep/er/file"]);
        assert!(image.has("/etc/deep") && !image.has("/etc/other"));
    }
}
