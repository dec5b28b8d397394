//! What the kernel knows of the system clock; of a tree of files, `punctual/tai-less-utc` there holds it.

use std::fs;
use std::io;

use knobs::{Order, Reading, Value};

use super::{Access, Files};

/// Stands for the kernel in a tree of files.
const NOTED: &str = "/punctual/tai-less-utc";

/// TAI less UTC (s).
pub(super) struct TaiOffset;

impl Access for TaiOffset {
    fn read(&self, files: &Files) -> Reading {
        if !files.is_live() {
            // A kernel that nobody has told of TAI has 0.
            let text = fs::read_to_string(files.locate(NOTED)).unwrap_or_else(|_| "0".to_owned());
            return Reading::Is(Value::text(text.trim()));
        }
        match kernel::discipline::read() {
            Ok(read) => Reading::Is(Value::Text(read.tai_less_utc_s.to_string())),
            Err(error) => Reading::Failed(error.to_string()),
        }
    }

    fn write(&self, files: &Files, order: &Order) -> io::Result<()> {
        let value = order.value();
        let Value::Text(wanted) = value else { return Ok(()) };
        if !files.is_live() {
            let path = files.locate(NOTED);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            return fs::write(path, format!("{wanted}\n"));
        }
        let seconds = wanted.trim().parse();
        kernel::discipline::set_tai_less_utc(
            seconds.map_err(|_| io::Error::other(format!("'{wanted}' is no 0 to 255 s")))?,
        )
    }
}
