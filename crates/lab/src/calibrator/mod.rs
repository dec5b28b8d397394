//! Boots the deterministic guests of a calibration, and collects the evidence that [`crate::calibrate`] judges.
//!
//! Each guest has one CPU whose clock counts instructions, so nothing that the host does shows in it; it runs
//! [`GUEST_SCRIPT`] as the last thing that its first process does, hands over what that left, and switches off.

mod boot;

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use crate::cache::Cache;
use crate::calibrate::{Condition, Evidence, EvidenceError, GUEST_SCRIPT};
use crate::prepare::{KernelBoot, PrepareError, prepare_kernel};
use crate::scenario::{KernelName, Node};
use crate::tool::ToolError;

/// What each seed's guest shows on its battery-backed clock when it is switched on: the main cause of differences
/// between boots. The last two lie next to a leap day and to the end of 32-bit seconds.
pub const SEEDS: [&str; 6] = [
    "2026-01-01T00:00:00",
    "2027-03-15T12:34:56",
    "2030-07-31T23:59:50",
    "2038-01-19T03:13:50",
    "2028-02-28T23:59:30",
    "2026-06-30T06:07:08",
];

/// One boot of a calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boot {
    /// Its place in [`SEEDS`].
    pub seed: usize,
    /// What else runs in it.
    pub condition: Condition,
}

impl Boot {
    /// A word for it: `idle-0`.
    #[must_use]
    pub fn name(self) -> String {
        let condition = match self.condition {
            Condition::Idle => "idle",
            Condition::Load => "load",
        };
        format!("{condition}-{}", self.seed)
    }

    /// The boot of a word; `None` where it names none.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let (condition, seed) = name.split_once('-')?;
        let condition = match condition {
            "idle" => Condition::Idle,
            "load" => Condition::Load,
            _ => return None,
        };
        Some(Self { seed: seed.parse().ok()?, condition })
    }

    /// Idle and under load for each of the first `seeds` seeds, the long ones first, so that none is waited for alone.
    #[must_use]
    pub fn all(seeds: usize) -> Vec<Self> {
        let of = |condition| (0..seeds.min(SEEDS.len())).map(move |seed| Self { seed, condition });
        of(Condition::Load).chain(of(Condition::Idle)).collect()
    }
}

/// Why there is no calibration.
#[derive(Debug, thiserror::Error)]
pub enum CalibratorError {
    /// The guest could not be made.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// QEMU or another program is missing or does not start.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A folder or thread could not be made.
    #[error("the calibration's folder: {0}")]
    Folder(#[from] io::Error),
    /// A guest did not end as it must.
    #[error("boot {boot}: {what}")]
    Guest {
        /// Which.
        boot: String,
        /// How, with the end of its console.
        what: String,
    },
    /// What it left is no evidence.
    #[error("boot {boot}: {error}")]
    Evidence {
        /// Which.
        boot: String,
        /// What is missing.
        error: EvidenceError,
    },
    /// It was told to stop.
    #[error("stopped before it was done; nothing is left running")]
    Stopped,
}

/// How a boot ended.
type Ended = (Boot, Result<(Evidence, Duration), CalibratorError>);

/// The guest of a calibration with `punctual`, the program that is calibrated; its first file system goes into `folder`.
///
/// # Errors
/// Where a package, the kernel's headers or the compiler cannot be had.
pub fn guest(
    cache: &Cache,
    punctual: &Path,
    folder: &Path,
    told: &mut dyn FnMut(&str),
) -> Result<KernelBoot, PrepareError> {
    // Nobody speaks with this guest: it does its job before the agent would start, and ends.
    let job = format!("mkdir /dev/shm/out && cd /dev/shm/out && {{\n{GUEST_SCRIPT}\n}} >job.log 2>&1");
    // A terminal would change the bytes.
    let hand_over = "stty -F /dev/ttyS1 raw -echo && tar cz -C /dev/shm/out . >/dev/shm/out.tgz && \
        cat /dev/shm/out.tgz >/dev/ttyS1";
    let node = Node {
        name: "calibrate".to_owned(),
        kernel: Some(KernelName::Rt612),
        disk: None,
        cpus: 1,
        memory_mib: boot::MEMORY_MIB,
        boot: String::new(),
        packages: vec!["rt-tests".to_owned()],
        modules: vec!["punctual_inject".to_owned()],
        setup: vec![job, hand_over.to_owned(), "poweroff -f".to_owned()],
        epoch: None,
        frequency_offset_ppm: None,
        analyser: false,
        deterministic: false,
    };
    prepare_kernel(cache, &node, KernelName::Rt612, &[], punctual, folder, told)
}

/// Runs boots, `at_once` of them side by side, each in a folder below `folder` that keeps what it left; `told` is called
/// with each that is done and how long it took. Stops soon after `stop` is set.
///
/// # Errors
/// Where one does not come to its end; none is left running then.
pub fn run(
    guest: &KernelBoot,
    boots: &[Boot],
    at_once: usize,
    folder: &Path,
    stop: &AtomicBool,
    told: &mut dyn FnMut(Boot, Duration),
) -> Result<Vec<Evidence>, CalibratorError> {
    let open = Mutex::new(boots.iter().copied().collect::<VecDeque<Boot>>());
    let (done, all_done) = mpsc::channel();
    // The first failure ends the others.
    let give_up = AtomicBool::new(false);
    let work = |done: mpsc::Sender<Ended>| {
        let is_over = || stop.load(Ordering::Acquire) || give_up.load(Ordering::Acquire);
        loop {
            // A statement of its own: in the loop's head the lock would be held as long as the boot takes.
            let next = open.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(boot) = next else { return };
            let result = boot::run(guest, boot, &folder.join(boot.name()), &is_over);
            if result.is_err() {
                give_up.store(true, Ordering::Release);
            }
            if done.send((boot, result)).is_err() || is_over() {
                return;
            }
        }
    };
    let mut found = Vec::new();
    thread::scope(|scope| -> Result<(), CalibratorError> {
        for _ in 0..at_once.max(1) {
            let done = done.clone();
            thread::Builder::new().name("calibrate".to_owned()).spawn_scoped(scope, move || work(done))?;
        }
        drop(done);
        let mut failure = None;
        for (boot, result) in all_done {
            match result {
                Ok((evidence, took)) => {
                    told(boot, took);
                    found.push(evidence);
                }
                // Those that were given up because of the first say nothing new.
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(()), Err)
    })?;
    found.sort_by(|a, b| a.boot.cmp(&b.boot));
    Ok(found)
}

/// Reads the evidence of earlier boots, from a folder that [`run`] filled.
///
/// # Errors
/// Where the folder cannot be read or holds no such boot, or one lacks something.
pub fn kept(folder: &Path) -> Result<Vec<Evidence>, CalibratorError> {
    let mut names: Vec<(String, PathBuf)> = fs::read_dir(folder)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", folder.display())))?
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect();
    names.sort();
    let mut found = Vec::new();
    for (name, path) in names {
        let Some(boot) = Boot::of_name(&name) else { continue };
        let evidence = Evidence::read(&path, &name, boot.condition);
        found.push(evidence.map_err(|error| CalibratorError::Evidence { boot: name, error })?);
    }
    if found.is_empty() {
        let what = format!("{} has no folder idle-N or load-N of a calibration", folder.display());
        return Err(io::Error::other(what).into());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boots_have_names_that_read_back() {
        let boots = Boot::all(4);
        assert_eq!(boots.len(), 8);
        for boot in &boots {
            assert_eq!(Boot::of_name(&boot.name()), Some(*boot));
        }
        assert_eq!((Boot::of_name("busy-1"), Boot::of_name("idle"), Boot::of_name("idle-x")), (None, None, None));
        assert_eq!(Boot::all(100).len(), 2 * SEEDS.len());
    }

    #[test]
    fn a_folder_without_evidence_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(kept(folder.path()).unwrap_err().to_string().contains("has no folder idle-N"));
        fs::create_dir(folder.path().join("idle-0")).unwrap();
        let error = kept(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("boot idle-0: cyclictest.txt"), "{error}");
    }
}
