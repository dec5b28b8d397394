//! Whole files on a disk, and texts in variables of the firmware's.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use kernel::immutable::set_immutable;
use kernel::whole_file::{self, sync_folder, unfinished};
use knobs::boot::efi;
use knobs::{Order, Reading, Value};

use super::{Access, Files, read_text};

/// A file: there with a content, or not.
pub(super) struct WholeFile<'a> {
    pub(super) path: &'a str,
}

impl Access for WholeFile<'_> {
    fn read(&self, files: &Files) -> Reading {
        match read_text(&files.locate(self.path)) {
            Ok(text) => Reading::Is(Value::Text(text)),
            Err(Reading::Missing) => Reading::Is(Value::Absent),
            Err(failed) => failed,
        }
    }

    fn write(&self, files: &Files, order: &Order) -> io::Result<()> {
        let value = order.value();
        let path = files.locate(self.path);
        let Value::Text(text) = value else { return remove(files, self.path, &path) };
        replace(&files.resolve(&path)?, text)
    }

    fn tidy(&self, files: &Files) {
        let path = files.locate(self.path);
        let _ = fs::remove_file(unfinished(&files.resolve(&path).unwrap_or(path)));
    }
}

fn remove(files: &Files, name: &str, path: &Path) -> io::Result<()> {
    let _ = fs::remove_file(unfinished(path));
    fs::remove_file(path)?;
    sync_folder(path)?;
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    if knobs::is_own_folder(folder) {
        // One in which others have put something stays.
        let _ = fs::remove_dir(files.locate(folder));
    }
    Ok(())
}

/// A text in a variable: there, or not.
pub(super) struct EfiString<'a> {
    pub(super) path: &'a str,
}

impl Access for EfiString<'_> {
    fn read(&self, files: &Files) -> Reading {
        let path = files.locate(self.path);
        match fs::read(&path) {
            // A file that was made and not written: the firmware has no such variable yet.
            Ok(bytes) if bytes.is_empty() => Reading::Is(Value::Absent),
            Ok(bytes) => match efi::decode(&bytes) {
                Some(text) => Reading::Is(Value::Text(text)),
                None => Reading::Failed("it holds more than a text, which could not be restored".to_owned()),
            },
            // Where a folder for them is, a variable that is not there is one that is not set.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let has_variables = path.parent().is_some_and(Path::is_dir);
                if has_variables { Reading::Is(Value::Absent) } else { Reading::Missing }
            }
            Err(error) => Reading::Failed(error.to_string()),
        }
    }

    /// It takes its attributes and its value in one write; where it is, the kernel guards it.
    fn write(&self, files: &Files, order: &Order) -> io::Result<()> {
        let value = order.value();
        let path = files.locate(self.path);
        let Value::Text(text) = value else {
            set_immutable(&path, false)?;
            return fs::remove_file(&path);
        };
        let was_guarded = path.exists() && set_immutable(&path, false)?;
        let written = write_at_once(&path, &efi::encode(text));
        if was_guarded {
            set_immutable(&path, true)?;
        }
        written
    }

    fn tidy(&self, files: &Files) {
        let path = files.locate(self.path);
        if fs::metadata(&path).is_ok_and(|file| file.len() == 0) {
            let _ = set_immutable(&path, false).and_then(|_| fs::remove_file(&path));
        }
    }
}

/// In one write, as the firmware wants it.
fn write_at_once(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Never cut short before: efivarfs would have no variable then.
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    file.write_all(bytes)?;
    // In a tree of files, where a shorter value does not take the longer one's place by itself.
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if file.metadata()?.len() > length { file.set_len(length) } else { Ok(()) }
}

/// The whole file or none of it, with its folder where there is none.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    whole_file::replace(path, &unfinished(path), |file| file.write_all(text.as_bytes()))
}
