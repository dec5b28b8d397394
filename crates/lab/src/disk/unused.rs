//! Removes images from the cache that have not been used for a long time: each new version of a package makes a new
//! image.

use std::fs::{self, FileTimes};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use kernel::file_lock::FileLock;

/// An image unused for this long may be deleted; no forgotten lab runs that long.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// The file whose modification time is the time of the last use.
const MARK: &str = "used";

/// Marks an image as used now.
pub(super) fn mark(image: &Path) -> io::Result<()> {
    fs::File::create(image.join(MARK))?.set_times(FileTimes::new().set_modified(SystemTime::now()))
}

/// Removes images that were marked longer than [`KEPT`] ago. An image without a mark is being made or about to be used.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let image = entry?.path();
        let Ok(marked) = fs::metadata(image.join(MARK)).and_then(|about| about.modified()) else { continue };
        // If the clock was set back, the elapsed time is an error, and the image stays.
        if marked.elapsed().is_ok_and(|ago| ago > KEPT) {
            let lock = format!("{}.lock", image.display());
            if let Some(_held) = FileLock::take(Path::new(&lock))? {
                // Keep the lock file: another process may wait for it.
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
    fn only_images_unused_for_long_are_removed() {
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
        assert!(!kept[2].exists(), "after its lock was released");
    }
}
