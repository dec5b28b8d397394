//! The configuration files of boot loaders that a machine has.

use std::collections::BTreeMap;

use super::Refusal;

/// Files by their paths; what is not here is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BootFiles {
    files: BTreeMap<String, Content>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    /// It is there; nobody asked what it holds.
    There,
    /// What it holds.
    Bytes(Vec<u8>),
    /// It is there and cannot be read, and why.
    Unreadable(String),
}

impl BootFiles {
    /// Adds one that is there, whatever it holds.
    pub fn add(&mut self, path: impl Into<String>) {
        self.files.entry(path.into()).or_insert(Content::There);
    }

    /// Adds one with what came of reading it.
    pub fn add_read(&mut self, path: impl Into<String>, read: Result<Vec<u8>, String>) {
        let content = read.map_or_else(Content::Unreadable, Content::Bytes);
        self.files.insert(path.into(), content);
    }

    /// Whether it is there.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// What it holds, where it is there and could be read.
    #[must_use]
    pub fn bytes(&self, path: &str) -> Option<&[u8]> {
        match self.files.get(path) {
            Some(Content::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// Its text, where it is there and is one.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.bytes(path).and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// Its text, which is needed.
    pub(super) fn need(&self, path: &str) -> Result<&str, Refusal> {
        let why = match self.files.get(path) {
            None => format!("{path} is not there"),
            Some(Content::There) => format!("{path} was not read"),
            Some(Content::Unreadable(why)) => format!("{path} cannot be read: {why}"),
            Some(Content::Bytes(bytes)) => match std::str::from_utf8(bytes) {
                Ok(text) => return Ok(text),
                Err(error) => format!("{path} is no text: byte {} is not UTF-8", error.valid_up_to()),
            },
        };
        Err(Refusal::new(why, "settings are changed by root; look at that file"))
    }

    /// The paths that begin and end so, in the order of their bytes.
    pub fn matching<'a>(&'a self, start: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
        let all = self.files.range(start.to_owned()..).map(|(path, _)| path.as_str());
        all.take_while(move |path| path.starts_with(start)).filter(move |path| path.ends_with(end))
    }

    /// The releases of the kernels that can be chosen: those with an image and with modules.
    #[must_use]
    pub fn kernels(&self) -> Vec<&str> {
        let images = self.matching(KERNEL_IMAGE, "").filter_map(|path| path.strip_prefix(KERNEL_IMAGE));
        images.filter(|release| self.has(&format!("{KERNEL_MODULES}{release}"))).collect()
    }
}

const KERNEL_IMAGE: &str = "/boot/vmlinuz-";
const KERNEL_MODULES: &str = "/lib/modules/";

/// Where kernels are looked for.
pub(super) const KERNELS: &[&str] = &["/boot/vmlinuz-*", "/lib/modules/*"];

/// Which of the two that a kernel needs it has.
pub(super) fn kernel_parts(files: &BootFiles, release: &str) -> (bool, bool) {
    (files.has(&format!("{KERNEL_IMAGE}{release}")), files.has(&format!("{KERNEL_MODULES}{release}")))
}
