//! The segment that is written, and the folders of generations.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::kept::segment_path;
use super::segment::{self, HEAD, Line};

/// Generations are named by so many digits.
pub(super) const GENERATION: &str = "g";

/// The segment that is written.
pub(super) struct Segment {
    pub(super) file: File,
    pub(super) number: u32,
    pub(super) bytes: u64,
}

impl Segment {
    pub(super) fn create(folder: &Path, number: u32, heads: &[Line]) -> io::Result<Self> {
        let path = segment_path(folder, number);
        let file = File::create(&path)?;
        let mut segment = Self { file, number, bytes: 0 };
        segment.write_bytes(HEAD.as_bytes())?;
        for line in heads {
            segment.write(line)?;
        }
        kernel::whole_file::sync_folder(&path)?;
        Ok(segment)
    }

    /// Writes a line: where it begins, and how long it is. What the disk took of one that it did not take whole is given back.
    pub(super) fn write(&mut self, line: &Line) -> io::Result<(u64, u32)> {
        let bytes = segment::text(line)?;
        let offset = self.bytes;
        self.write_bytes(&bytes)?;
        Ok((offset, u32::try_from(bytes.len()).unwrap_or(u32::MAX)))
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        use std::os::unix::fs::FileExt as _;
        if let Err(error) = self.file.write_all_at(bytes, self.bytes) {
            let _ = self.file.set_len(self.bytes);
            return Err(error);
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

pub(super) fn generation_path(folder: &Path, generation: u64) -> PathBuf {
    folder.join(format!("{GENERATION}{generation:08}"))
}

/// The newest generation that is whole; the others are removed. 1 where there is none.
pub(super) fn newest_generation(folder: &Path) -> io::Result<u64> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(number) = name.strip_prefix(GENERATION) else { continue };
        match number.parse::<u64>() {
            Ok(number) => found.push(number),
            Err(_) if number.ends_with(".part") => fs::remove_dir_all(entry.path())?,
            Err(_) => {}
        }
    }
    let newest = found.iter().copied().max().unwrap_or(1);
    for old in found.into_iter().filter(|number| *number < newest) {
        fs::remove_dir_all(generation_path(folder, old))?;
    }
    Ok(newest)
}
