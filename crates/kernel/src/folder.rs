//! Names in a folder without an allocation for each: `/proc` has one for every process, and is read during runs.

use std::io;
use std::mem::MaybeUninit;

use rustix::fs::{CWD, Mode, OFlags, RawDir};

/// Bytes that one system call may fill with names.
const BUFFER_BYTES: usize = 4_096;

/// Calls `take` with each name in a folder but `.` and `..`, in the kernel's order (`getdents64(2)`).
///
/// # Errors
/// Where the folder cannot be opened or read on; names until then have been taken.
pub fn for_each_name(path: &str, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
    let mut entries = RawDir::new(folder, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            take(name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_is_taken_once_also_where_one_call_does_not_return_them_all() {
        let folder = tempfile::tempdir().unwrap();
        let names: BTreeSet<String> = (0..500).map(|n| format!("{n:0>60}")).collect();
        names.iter().for_each(|name| std::fs::write(folder.path().join(name), "").unwrap());
        let mut taken = Vec::new();
        for_each_name(folder.path().to_str().unwrap(), |name| {
            taken.push(String::from_utf8(name.to_vec()).unwrap());
        })
        .unwrap();
        assert_eq!(taken.len(), names.len());
        assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), names);
    }

    #[test]
    fn a_folder_that_is_none_is_an_error() {
        assert!(for_each_name("/nowhere", |_| ()).is_err());
        assert!(for_each_name("/proc/self/stat", |_| ()).is_err());
    }
}
