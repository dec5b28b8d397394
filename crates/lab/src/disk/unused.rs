//! Images that nothing has asked for in a long time leave the cache: each new version of a package makes a new one.

use std::fs::{self, FileTimes};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use kernel::file_lock::FileLock;

/// After this without a use an image may go; longer than a lab that was forgotten runs.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// Whose time is that of the last use.
const MARK: &str = "used";

/// Notes that an image is used now.
pub(super) fn mark(image: &Path) -> io::Result<()> {
    fs::File::create(image.join(MARK))?.set_times(FileTimes::new().set_modified(SystemTime::now()))
}

/// Removes from a folder of images those that were marked long ago. One without a mark is about to be used, or being made.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let image = entry?.path();
        let Ok(marked) = fs::metadata(image.join(MARK)).and_then(|about| about.modified()) else { continue };
        // A clock that was set back makes none old.
        if marked.elapsed().is_ok_and(|ago| ago > KEPT) {
            let lock = format!("{}.lock", image.display());
            if let Some(_held) = FileLock::take(Path::new(&lock))? {
                // The lock's file stays: another process may wait for it.
                fs::remove_dir_all(&image)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_used_long_ago_goes() {
        let folder = tempfile::tempdir().unwrap();
        let image = |name: &str, ago: Option<Duration>| {
            let image = folder.path().join(name);
            fs::create_dir(&image).unwrap();
            fs::write(image.join("disk"), "x").unwrap();
            if let Some(ago) = ago {
                mark(&image).unwrap();
                let then = FileTimes::new().set_modified(SystemTime::now() - ago);
                fs::File::options().write(true).open(image.join(MARK)).unwrap().set_times(then).unwrap();
            }
            image
        };
        let day = Duration::from_secs(24 * 3600);
        let (old, held) = (image("old", Some(31 * day)), image("held", Some(31 * day)));
        let again = image("again", Some(31 * day));
        mark(&again).unwrap();
        let kept = [image("new", Some(29 * day)), image("unfinished", None), held, again];
        let lock = FileLock::wait(&folder.path().join("held.lock")).unwrap();
        remove(folder.path()).unwrap();
        assert!(!old.exists());
        assert!(kept.iter().all(|image| image.join("disk").exists()));
        drop(lock);
        remove(folder.path()).unwrap();
        assert!(!kept[2].exists(), "let go of");
    }
}
