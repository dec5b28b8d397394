//! File systems: how much space they have, and that what was written is on the disk.

use std::io;
use std::path::Path;

/// Bytes that an ordinary user may still write where `path` is (`statvfs(3)`).
///
/// # Errors
/// Where it does not exist.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let about = rustix::fs::statvfs(path)?;
    Ok(about.f_bavail.saturating_mul(about.f_frsize))
}

/// Brings everything that was written, by anyone, to the disks (`sync(2)`).
pub fn sync() {
    rustix::fs::sync();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_some_or_none_but_no_nonsense() {
        let free = free_bytes(&std::env::temp_dir()).unwrap();
        assert!(free < 1 << 60, "{free}");
        assert!(free_bytes(Path::new("/nowhere")).is_err());
    }
}
