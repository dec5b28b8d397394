//! Boots the guests that calibrate readings of clocks.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::boot::{self, GuestBoot};
use super::{CalibratorError, SEEDS, folders_in, node, side_by_side};
use crate::cache::Cache;
use crate::calibrate::sync::{SYNC_GUEST_SCRIPT, SyncEvidence};
use crate::packages::Suite;
use crate::prepare::{KernelBoot, prepare_kernel};
use crate::program::Programs;
use crate::scenario::KernelName;

/// How the folder of a boot is called, before the number of its seed.
const NAME: &str = "sync-";

/// One boot: its seed decides the clocks' errors, how ptp4l sends its messages, and which release of linuxptp it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncBoot {
    /// Index in [`SEEDS`].
    pub seed: usize,
}

impl SyncBoot {
    /// The boots for the first `seeds` seeds.
    #[must_use]
    pub fn all(seeds: usize) -> Vec<Self> {
        (0..seeds.min(SEEDS.len())).map(|seed| Self { seed }).collect()
    }

    /// The name of the boot, such as `sync-0`.
    #[must_use]
    pub fn name(self) -> String {
        format!("{NAME}{}", self.seed)
    }

    /// The release that its linuxptp is from: both in turn, each with both transports in four boots.
    #[must_use]
    pub const fn packages_from(self) -> Suite {
        if self.seed / 2 % 2 == 0 { Suite::Bookworm } else { Suite::Trixie }
    }
}

/// Prepares the guests and runs boots, `at_once` of them in parallel. `punctual` is the program to calibrate. Each boot
/// keeps its files in a folder below `folder`. `note` is called with what is going on. Stops soon after `stop` is set.
///
/// # Errors
/// If a guest cannot be prepared or a boot fails; none is left running then.
pub fn run_sync(
    cache: &Cache,
    punctual: &Path,
    boots: &[SyncBoot],
    at_once: usize,
    folder: &Path,
    stop: &AtomicBool,
    note: &mut dyn FnMut(&str),
) -> Result<Vec<SyncEvidence>, CalibratorError> {
    let programs = Programs { punctual: punctual.to_owned(), proof: None, others: Vec::new() };
    let mut guests: BTreeMap<Suite, KernelBoot> = BTreeMap::new();
    std::fs::create_dir_all(folder)?;
    for boot in boots {
        let from = boot.packages_from();
        if let Entry::Vacant(place) = guests.entry(from) {
            let name = format!("calibrate-sync-{}", from.name());
            let node = node(&name, SYNC_GUEST_SCRIPT, &["linuxptp", "iproute2"], "punctual_time", from);
            place.insert(prepare_kernel(cache, &node, KernelName::Rt612, &[], &programs, folder, note)?);
        }
    }
    let one = |boot: SyncBoot, is_over: &dyn Fn() -> bool| {
        let guest = guests.get(&boot.packages_from()).ok_or_else(|| io::Error::other("the guest was not prepared"))?;
        let about = GuestBoot { name: boot.name(), epoch: SEEDS[boot.seed], variables: format!("SEED={}", boot.seed) };
        let folder = folder.join(boot.name());
        let took = boot::run(guest, &about, &folder, is_over)?;
        Ok((read(&folder, &boot.name())?, took))
    };
    let mut done = 0;
    let mut found = side_by_side(boots, at_once, stop, &one, &mut |boot: SyncBoot, took: Duration| {
        done += 1;
        note(&format!("{}: done in {} s ({done} of {})", boot.name(), took.as_secs(), boots.len()));
    })?;
    found.sort_by(|a, b| a.boot.cmp(&b.boot));
    Ok(found)
}

fn read(folder: &Path, boot: &str) -> Result<SyncEvidence, CalibratorError> {
    SyncEvidence::read(folder, boot).map_err(|error| CalibratorError::SyncEvidence { boot: boot.to_owned(), error })
}

/// Reads the evidence of earlier boots, from a folder that [`run_sync`] filled; empty if it has none.
///
/// # Errors
/// If the folder cannot be read, or the evidence of one boot is incomplete.
pub fn kept_sync(folder: &Path) -> Result<Vec<SyncEvidence>, CalibratorError> {
    let folders = folders_in(folder)?;
    let is_boot = |name: &str| name.strip_prefix(NAME).is_some_and(|seed| seed.parse::<usize>().is_ok());
    folders.iter().filter(|(name, _)| is_boot(name)).map(|(name, path)| read(path, name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_boots_have_both_releases_and_names() {
        let boots = SyncBoot::all(4);
        assert_eq!(boots.iter().map(|boot| boot.name()).collect::<Vec<_>>(), ["sync-0", "sync-1", "sync-2", "sync-3"]);
        let releases: Vec<Suite> = boots.iter().map(|boot| boot.packages_from()).collect();
        assert_eq!(releases, [Suite::Bookworm, Suite::Bookworm, Suite::Trixie, Suite::Trixie]);
        assert_eq!(SyncBoot::all(100).len(), SEEDS.len());
    }

    #[test]
    fn a_folder_without_such_boots_has_none_and_an_incomplete_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("idle-0")).unwrap();
        assert_eq!(kept_sync(folder.path()).unwrap(), []);
        std::fs::create_dir(folder.path().join("sync-3")).unwrap();
        let error = kept_sync(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("boot sync-3: rates of the calibration's guest cannot be read"), "{error}");
    }
}
