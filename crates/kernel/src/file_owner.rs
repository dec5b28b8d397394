//! In whose name files are made: for the superuser, who changes what a service keeps without taking it from the service's user.

use std::io;

use rustix::thread::{capabilities, set_capabilities};

/// Asks for a user or group number and changes nothing (setfsuid(2)).
const ASK: u32 = u32::MAX;

/// Files that the calling thread makes from now on, and threads that it starts, belong to that user and group. Its rights stay
/// as they are.
///
/// # Errors
/// Where the kernel refuses, as it does everybody but the superuser.
pub fn make_files_of(user: u32, group: u32) -> io::Result<()> {
    // Whoever is no longer the superuser by this number loses the rights over files (capabilities(7)).
    let rights = capabilities(None)?;
    // SAFETY: both calls take a number and change nothing of the memory.
    unsafe {
        libc::setfsgid(group);
        libc::setfsuid(user);
    }
    set_capabilities(None, rights)?;
    // They say nothing of a refusal.
    // SAFETY: as above.
    let group_now = unsafe { libc::setfsgid(ASK) };
    if maker_of_files() == user && u32::from_ne_bytes(group_now.to_ne_bytes()) == group {
        Ok(())
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

/// The number of the user whom files that the calling thread makes belong to.
#[must_use]
pub fn maker_of_files() -> u32 {
    // SAFETY: the call takes a number and changes nothing of the memory.
    let user = unsafe { libc::setfsuid(ASK) };
    u32::from_ne_bytes(user.to_ne_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    const NOBODY: u32 = 65_534;

    #[test]
    fn the_superuser_makes_files_of_another_where_that_one_may_not_go() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let thread = std::thread::spawn(move || {
            let own = maker_of_files();
            assert_eq!(own, crate::process::effective_user());
            if own != 0 {
                assert!(make_files_of(NOBODY, NOBODY).is_err(), "nobody else may");
                assert_eq!(maker_of_files(), own);
                return;
            }
            make_files_of(NOBODY, NOBODY).unwrap();
            // A folder of the superuser's, closed to others.
            fs::write(&file, "x").unwrap();
            let made = fs::metadata(&file).unwrap();
            assert_eq!((made.uid(), made.gid()), (NOBODY, NOBODY));
        });
        thread.join().unwrap();
        assert_eq!(maker_of_files(), crate::process::effective_user(), "other threads are not concerned");
    }
}
