//! Boots the guests that calibrate hand-overs between threads.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::boot::{self, GuestBoot};
use super::{Boot, CalibratorError, SEEDS, folders_in, node, side_by_side};
use crate::cache::Cache;
use crate::calibrate::Condition;
use crate::calibrate::event::{EVENT_GUEST_SCRIPT, EventEvidence};
use crate::packages::Suite;
use crate::prepare::{KernelBoot, PrepareError, prepare_kernel};
use crate::program::Programs;
use crate::scenario::KernelName;

/// How the folder of a boot is called, before the name of the boot.
const NAME: &str = "event-";

/// Prepares the guest. `punctual` is the program to calibrate; the guest's initramfs is written into `folder`.
///
/// # Errors
/// If a package, the kernel's headers or the compiler is not available.
pub fn event_guest(
    cache: &Cache,
    punctual: &Path,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<KernelBoot, PrepareError> {
    let programs = Programs { punctual: punctual.to_owned(), proof: None, others: Vec::new() };
    let node = node("calibrate-event", EVENT_GUEST_SCRIPT, &[], "punctual_inject", Suite::Bookworm);
    prepare_kernel(cache, &node, KernelName::Rt612, &[], &programs, folder, progress)
}

/// Runs boots, `at_once` of them in parallel. Each keeps its files in a folder below `folder`. `progress` is called
/// with the name of each finished boot and how long it took. Stops soon after `stop` is set.
///
/// # Errors
/// If a boot fails; none is left running then.
pub fn run_event(
    guest: &KernelBoot,
    boots: &[Boot],
    at_once: usize,
    folder: &Path,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&str, Duration),
) -> Result<Vec<EventEvidence>, CalibratorError> {
    let one = |boot: Boot, is_over: &dyn Fn() -> bool| {
        let load = u8::from(boot.condition == Condition::Load);
        let name = folder_of(boot);
        let variables = format!("LOAD={load} SEED={}", boot.seed);
        let about = GuestBoot { name: name.clone(), epoch: SEEDS[boot.seed], variables };
        let folder = folder.join(&name);
        let took = boot::run(guest, &about, &folder, is_over)?;
        Ok((read(&folder, &name, boot.condition)?, took))
    };
    let mut found = side_by_side(boots, at_once, stop, &one, &mut |boot: Boot, took| progress(&folder_of(boot), took))?;
    found.sort_by(|a, b| a.boot.cmp(&b.boot));
    Ok(found)
}

/// Name of a boot's folder, such as `event-idle-0`.
fn folder_of(boot: Boot) -> String {
    format!("{NAME}{}", boot.name())
}

fn read(folder: &Path, boot: &str, condition: Condition) -> Result<EventEvidence, CalibratorError> {
    EventEvidence::read(folder, boot, condition)
        .map_err(|error| CalibratorError::Evidence { boot: boot.to_owned(), error })
}

/// Reads the evidence of earlier boots, from a folder that [`run_event`] filled; empty if it has none.
///
/// # Errors
/// If the folder cannot be read, or the evidence of one boot is incomplete.
pub fn kept_event(folder: &Path) -> Result<Vec<EventEvidence>, CalibratorError> {
    let mut found = Vec::new();
    for (name, path) in folders_in(folder)? {
        let Some(boot) = name.strip_prefix(NAME).and_then(Boot::from_name) else { continue };
        found.push(read(&path, &name, boot.condition)?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_such_boots_has_none_and_an_incomplete_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("idle-0")).unwrap();
        assert_eq!(kept_event(folder.path()).unwrap(), []);
        std::fs::create_dir(folder.path().join("event-load-3")).unwrap();
        let error = kept_event(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("boot event-load-3: eventfd.truth"), "{error}");
    }
}
