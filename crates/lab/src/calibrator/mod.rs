//! Boots the deterministic guests of a calibration, and collects the evidence that [`crate::calibrate`] judges.
//!
//! Each guest has one CPU whose clock counts instructions, so the host's timing does not affect it. Its first process
//! runs [`GUEST_SCRIPT`], sends the results to the host, and powers off.

mod boot;
mod event;
mod sync;

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

pub use self::event::{event_guest, kept_event, run_event};
pub use self::sync::{SyncBoot, kept_sync, run_sync};

use self::boot::GuestBoot;
use crate::cache::Cache;
use crate::calibrate::sync::SyncEvidenceError;
use crate::calibrate::{Condition, Evidence, EvidenceError, GUEST_SCRIPT};
use crate::packages::Suite;
use crate::prepare::{KernelBoot, PrepareError, prepare_kernel};
use crate::program::Programs;
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
    /// The evidence of a calibration of readings of clocks is incomplete.
    #[error("boot {boot}: {error}")]
    SyncEvidence {
        /// Name of the boot.
        boot: String,
        /// What is missing or invalid.
        error: SyncEvidenceError,
    },
    /// It was stopped on request.
    #[error("stopped before it had finished; nothing is left running")]
    Stopped,
}

/// Prepares the guest of a calibration. `programs` are the one to calibrate and the injectors; the guest's initramfs is written into
/// `folder`.
///
/// # Errors
/// If a package, the kernel's headers or the compiler is not available.
pub fn guest(
    cache: &Cache,
    programs: &Programs,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<KernelBoot, PrepareError> {
    let node =
        Node { proof: true, ..node("calibrate", GUEST_SCRIPT, &["rt-tests"], "punctual_inject", Suite::Bookworm) };
    prepare_kernel(cache, &node, KernelName::Rt612, &[], programs, folder, progress)
}

/// A guest without an agent: it runs the script during its setup, hands over what is in the script's folder, and powers
/// off.
fn node(name: &str, script: &str, packages: &[&str], module: &str, packages_from: Suite) -> Node {
    let job = format!("mkdir /dev/shm/out && cd /dev/shm/out && {{\n{script}\n}} >job.log 2>&1");
    // Raw mode: a terminal in its default mode would change the bytes.
    let hand_over = "stty -F /dev/ttyS1 raw -echo && tar cz -C /dev/shm/out . >/dev/shm/out.tgz && \
        cat /dev/shm/out.tgz >/dev/ttyS1";
    Node {
        name: name.to_owned(),
        kernel: Some(KernelName::Rt612),
        disk: None,
        cpus: 1,
        memory_mib: boot::MEMORY_MIB,
        boot: String::new(),
        packages: packages.iter().map(|package| (*package).to_owned()).collect(),
        packages_from,
        modules: vec![module.to_owned()],
        setup: vec![job, hand_over.to_owned(), "poweroff -f".to_owned()],
        epoch: None,
        frequency_offset_ppm: None,
        analyzer: false,
        trace: Vec::new(),
        deterministic: false,
        host_ports: Vec::new(),
        proof: false,
    }
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
    let one = |boot: Boot, is_over: &dyn Fn() -> bool| {
        let load = u8::from(boot.condition == Condition::Load);
        let about = GuestBoot {
            name: boot.name(),
            epoch: SEEDS[boot.seed],
            variables: format!("LOAD={load} SEED={}", boot.seed),
        };
        let folder = folder.join(boot.name());
        let took = boot::run(guest, &about, &folder, is_over)?;
        let evidence = Evidence::read(&folder, &boot.name(), boot.condition);
        let evidence = evidence.map_err(|error| CalibratorError::Evidence { boot: boot.name(), error })?;
        Ok((evidence, took))
    };
    let mut found = side_by_side(boots, at_once, stop, &one, progress)?;
    found.sort_by(|a, b| a.boot.cmp(&b.boot));
    Ok(found)
}

/// What one boot left and how long it took; `is_over` says when it has to end early.
type OneBoot<'a, B, T> = dyn Fn(B, &dyn Fn() -> bool) -> Ended<T> + Sync + 'a;

/// How a boot ended.
type Ended<T> = Result<(T, Duration), CalibratorError>;

/// Runs boots, `at_once` of them in parallel; the first failure ends the others.
fn side_by_side<B: Copy + Send, T: Send>(
    boots: &[B],
    at_once: usize,
    stop: &AtomicBool,
    one: &OneBoot<'_, B, T>,
    progress: &mut dyn FnMut(B, Duration),
) -> Result<Vec<T>, CalibratorError> {
    let open = Mutex::new(boots.iter().copied().collect::<VecDeque<B>>());
    let (done, all_done) = mpsc::channel();
    let give_up = AtomicBool::new(false);
    let work = &|done: mpsc::Sender<(B, Ended<T>)>| {
        let is_over = || stop.load(Ordering::Acquire) || give_up.load(Ordering::Acquire);
        loop {
            // In a separate statement: within the loop's head the lock would be held during the whole boot.
            let next = open.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(boot) = next else { return };
            let result = one(boot, &is_over);
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
    Ok(found)
}

/// Reads the evidence of earlier boots, from a folder that [`run`] filled; empty if it has none.
///
/// # Errors
/// If the folder cannot be read, or the evidence of one boot is incomplete.
pub fn kept(folder: &Path) -> Result<Vec<Evidence>, CalibratorError> {
    let mut found = Vec::new();
    for (name, path) in folders_in(folder)? {
        let Some(boot) = Boot::from_name(&name) else { continue };
        let evidence = Evidence::read(&path, &name, boot.condition);
        found.push(evidence.map_err(|error| CalibratorError::Evidence { boot: name, error })?);
    }
    Ok(found)
}

/// Names and paths of what is in a folder, ordered by name.
fn folders_in(folder: &Path) -> Result<Vec<(String, PathBuf)>, CalibratorError> {
    let mut names: Vec<(String, PathBuf)> = fs::read_dir(folder)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", folder.display())))?
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect();
    names.sort();
    Ok(names)
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
    fn a_folder_without_boots_has_none_and_an_incomplete_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(kept(folder.path()).unwrap(), []);
        fs::create_dir(folder.path().join("idle-0")).unwrap();
        let error = kept(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("boot idle-0: cyclictest.txt"), "{error}");
    }
}
