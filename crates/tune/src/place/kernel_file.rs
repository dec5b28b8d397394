//! Files of the kernel's, of which each write is one order, and words in them.

use std::io;

use kernel::control_file;
use knobs::{Reading, Value};

use super::{Access, Files, read_text};

/// A file as a whole.
pub(super) struct Attribute<'a> {
    pub(super) path: &'a str,
}

impl Access for Attribute<'_> {
    fn read(&self, files: &Files) -> Reading {
        match read_text(&files.locate(self.path)) {
            Ok(text) => Reading::Is(Value::text(text.trim_end_matches('\n'))),
            Err(reading) => reading,
        }
    }

    fn write(&self, files: &Files, value: &Value) -> io::Result<()> {
        match value {
            Value::Text(text) => control_file::write(&files.locate(self.path), text),
            Value::Absent => Ok(()),
        }
    }
}

/// One word of a file that holds a set of words.
pub(super) struct Word<'a> {
    pub(super) path: &'a str,
    pub(super) word: &'a str,
}

impl Access for Word<'_> {
    fn read(&self, files: &Files) -> Reading {
        match read_text(&files.locate(self.path)) {
            Ok(text) if text.split_ascii_whitespace().any(|found| found == self.word) => {
                Reading::Is(Value::text(self.word))
            }
            Ok(_) => Reading::Is(Value::Absent),
            Err(reading) => reading,
        }
    }

    fn write(&self, files: &Files, value: &Value) -> io::Result<()> {
        let sign = if *value == Value::Absent { '-' } else { '+' };
        control_file::write(&files.locate(self.path), &format!("{sign}{}", self.word))
    }
}
