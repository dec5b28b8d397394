//! Boots the deterministic guests of a calibration, and collects the evidence that [`crate::calibrate`] judges.
//!
//! Each guest has one CPU whose clock counts instructions, so the host's timing does not affect it. Its first process
//! runs [`GUEST_SCRIPT`], sends the results to the host, and powers off.

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

/// Time of the guest's battery-backed clock at power-on, for each seed: the main cause of differences between boots.
/// Two of them are next to a leap day and to the end of 32-bit seconds.
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
    /// Index in [`SEEDS`].
    pub seed: usize,
    /// Idle or under load.
    pub condition: Condition,
}

impl Boot {
    /// The name of the boot, such as `idle-0`.
    #[must_use]
    pub fn name(self) -> String {
        let condition = match self.condition {
            Condition::Idle => "idle",
            Condition::Load => "load",
        };
        format!("{condition}-{}", self.seed)
    }

    /// Parses the name of a boot; `None` if it is not one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let (condition, seed) = name.split_once('-')?;
        let condition = match condition {
            "idle" => Condition::Idle,
            "load" => Condition::Load,
            _ => return None,
        };
        Some(Self { seed: seed.parse().ok()?, condition })
    }

    /// The boots idle and under load for the first `seeds` seeds. Those under load take longer and come first, so that
    /// the end does not wait for a single long one.
    #[must_use]
    pub fn all(seeds: usize) -> Vec<Self> {
        let boots = |condition| (0..seeds.min(SEEDS.len())).map(move |seed| Self { seed, condition });
        boots(Condition::Load).chain(boots(Condition::Idle)).collect()
    }
}

/// Why a calibration failed.
#[derive(Debug, thiserror::Error)]
pub enum CalibratorError {
    /// The guest could not be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// QEMU or another program is missing or does not start.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A folder or thread could not be made.
    #[error("the calibration's folder: {0}")]
    Folder(#[from] io::Error),
    /// A guest did not run to its regular end.
    #[error("boot {boot}: {what}")]
    Guest {
        /// Name of the boot.
        boot: String,
        /// How it ended, with the end of its console.
        what: String,
    },
    /// The evidence that it left is incomplete.
    #[error("boot {boot}: {error}")]
    Evidence {
        /// Name of the boot.
        boot: String,
        /// What is missing or invalid.
        error: EvidenceError,
    },
    /// It was stopped on request.
    #[error("stopped before it had finished; nothing is left running")]
    Stopped,
}

/// How a boot ended.
type Ended = (Boot, Result<(Evidence, Duration), CalibratorError>);

/// Prepares the guest of a calibration. `punctual` is the program to calibrate; the guest's initramfs is written into
/// `folder`.
///
/// # Errors
/// If a package, the kernel's headers or the compiler is not available.
pub fn guest(
    cache: &Cache,
    punctual: &Path,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<KernelBoot, PrepareError> {
    // This guest needs no agent: it does its job during setup and powers off.
    let job = format!("mkdir /dev/shm/out && cd /dev/shm/out && {{\n{GUEST_SCRIPT}\n}} >job.log 2>&1");
    // Raw mode: a terminal in its default mode would change the bytes.
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
    prepare_kernel(cache, &node, KernelName::Rt612, &[], punctual, folder, progress)
}

/// Runs boots, `at_once` of them in parallel. Each keeps its files in a folder below `folder`. `progress` is called
/// with each finished boot and how long it took. Stops soon after `stop` is set.
///
/// # Errors
/// If a boot fails; none is left running then.
pub fn run(
    guest: &KernelBoot,
    boots: &[Boot],
    at_once: usize,
    folder: &Path,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Boot, Duration),
) -> Result<Vec<Evidence>, CalibratorError> {
    let open = Mutex::new(boots.iter().copied().collect::<VecDeque<Boot>>());
    let (done, all_done) = mpsc::channel();
    // The first failure ends the others.
    let give_up = AtomicBool::new(false);
    let work = |done: mpsc::Sender<Ended>| {
        let is_over = || stop.load(Ordering::Acquire) || give_up.load(Ordering::Acquire);
        loop {
            // In a separate statement: within the loop's head the lock would be held during the whole boot.
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
                    progress(boot, took);
                    found.push(evidence);
                }
                // Boots that were stopped because of the first failure have nothing to add.
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
/// If the folder cannot be read, contains no such boot, or the evidence of one is incomplete.
pub fn kept(folder: &Path) -> Result<Vec<Evidence>, CalibratorError> {
    let mut names: Vec<(String, PathBuf)> = fs::read_dir(folder)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", folder.display())))?
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect();
    names.sort();
    let mut found = Vec::new();
    for (name, path) in names {
        let Some(boot) = Boot::from_name(&name) else { continue };
        let evidence = Evidence::read(&path, &name, boot.condition);
        found.push(evidence.map_err(|error| CalibratorError::Evidence { boot: name, error })?);
    }
    if found.is_empty() {
        let what = format!("{} has no folder idle-N or load-N from a calibration", folder.display());
        return Err(io::Error::other(what).into());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_boots_can_be_parsed() {
        let boots = Boot::all(4);
        assert_eq!(boots.len(), 8);
        for boot in &boots {
            assert_eq!(Boot::from_name(&boot.name()), Some(*boot));
        }
        assert_eq!((Boot::from_name("busy-1"), Boot::from_name("idle"), Boot::from_name("idle-x")), (None, None, None));
        assert_eq!(Boot::all(100).len(), 2 * SEEDS.len());
    }

    #[test]
    fn a_folder_without_evidence_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(kept(folder.path()).unwrap_err().to_string().contains("has no folder idle-N"));
        fs::create_dir(folder.path().join("idle-0")).unwrap();
        let error = kept(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("boot idle-0: cyclictest.txt"), "{error}");
    }
}
