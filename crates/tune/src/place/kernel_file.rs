//! Files of the kernel's, of which each write is one order, and words in them.

use std::fs;
use std::io;
use std::path::Path;

use kernel::control_file;
use knobs::{Order, Reading, Value};

use super::{Access, Files, read_text, watchdogs};

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

    fn write(&self, files: &Files, order: &Order) -> io::Result<()> {
        let Value::Text(text) = order.value() else { return Ok(()) };
        let path = files.locate(self.path);
        if files.is_live() {
            control_file::write(&path, text)?;
            return watchdogs::follows(self.path, text)
                .map_or(Ok(()), |other| control_file::write(Path::new(other), text));
        }
        // A tree of files stands for the kernel: it refuses and shows what the kernel would.
        let stood = fs::read_to_string(&path)?;
        let shown = order.form().answer(&stood, text).map_err(io::Error::other)?;
        control_file::write(&path, &shown)
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

    fn write(&self, files: &Files, order: &Order) -> io::Result<()> {
        let value = order.value();
        let sign = if *value == Value::Absent { '-' } else { '+' };
        control_file::write(&files.locate(self.path), &format!("{sign}{}", self.word))
    }
}
