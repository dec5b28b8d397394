//! Files that nothing may change, as the kernel marks the variables of the firmware's in efivarfs so that no careless
//! `rm` breaks a machine (chattr(1), `i`; ioctl_iflags(2)).

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::IFlags;
use rustix::io::Errno;

/// Marks a file so, or takes the mark away; whether it was there before. A file system without such marks has none.
///
/// # Errors
/// Where the file is not there, or the mark may not be changed.
pub fn set_immutable(path: &Path, is_immutable: bool) -> io::Result<bool> {
    let file = File::open(path)?;
    let flags = match rustix::fs::ioctl_getflags(&file) {
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => return Ok(false),
        flags => flags?,
    };
    let was = flags.contains(IFlags::IMMUTABLE);
    if was != is_immutable {
        let mut flags = flags;
        flags.set(IFlags::IMMUTABLE, is_immutable);
        rustix::fs::ioctl_setflags(&file, flags)?;
    }
    Ok(was)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_file_has_no_such_mark() {
        assert!(!set_immutable(Path::new("/proc/self/status"), false).unwrap());
        assert!(set_immutable(Path::new("/nowhere"), false).is_err());
        let path = std::env::temp_dir().join(format!("punctual-immutable-{}", std::process::id()));
        std::fs::write(&path, "x").unwrap();
        let was = set_immutable(&path, false);
        std::fs::remove_file(&path).unwrap();
        assert!(!was.unwrap());
    }
}
