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

/// Whether the files where `path` is are in memory alone: tmpfs or ramfs (include/uapi/linux/magic.h).
///
/// # Errors
/// Where it does not exist.
pub fn is_in_memory(path: &Path) -> io::Result<bool> {
    const TMPFS_MAGIC: i128 = 0x0102_1994;
    const RAMFS_MAGIC: i128 = 0x8584_58f6;
    // Its type differs by architecture, in width and sign; the magic numbers have 32 bits.
    let kind = i128::from(rustix::fs::statfs(path)?.f_type) & 0xffff_ffff;
    Ok(kind == TMPFS_MAGIC || kind == RAMFS_MAGIC)
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

    #[test]
    fn files_in_memory_are_told_from_those_on_a_disk() {
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
        for line in mounts.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            if ["tmpfs", "ext4"].contains(&fields[2]) {
                if let Ok(in_memory) = is_in_memory(Path::new(fields[1])) {
                    assert_eq!(in_memory, fields[2] == "tmpfs", "{line}");
                }
            }
        }
        assert!(is_in_memory(Path::new("/nowhere")).is_err());
    }
}
