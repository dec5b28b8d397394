//! Files of the kernel's, and words in them.

use super::PlaceKind;

/// A file that one writes as a whole.
pub(super) struct Attribute<'a> {
    pub(super) path: &'a str,
}

impl<'a> PlaceKind<'a> for Attribute<'a> {
    fn path(&self) -> &'a str {
        self.path
    }
}

/// One word of a file that holds a set of words.
pub(super) struct Word<'a> {
    pub(super) path: &'a str,
    pub(super) word: &'a str,
}

impl<'a> PlaceKind<'a> for Word<'a> {
    fn path(&self) -> &'a str {
        self.path
    }

    fn by(&self) -> Option<String> {
        Some(self.word.to_owned())
    }
}
