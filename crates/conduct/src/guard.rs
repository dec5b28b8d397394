//! The guard: a process of its own that takes a campaign's settings back where the campaign is killed.

use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use host::{Root, RootError};

use crate::{Folder, FolderError, Setting, SettingError};

/// The word by which this program starts itself as one.
pub const GUARD_COMMAND: &str = "campaign-guard";
/// What says that nothing is left to do.
const DISMISSED: &[u8] = b"done";
/// The kernel lets go of locks when their holder is wholly gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a guard could not take the settings back.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// It was started without a folder.
    #[error("it takes the folder of a campaign")]
    NoFolder,
    /// The machine's files.
    #[error(transparent)]
    Root(#[from] RootError),
    /// Who started it cannot be heard.
    #[error("it cannot hear the campaign: {0}")]
    Input(#[from] io::Error),
    /// The campaign's folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The settings could not be reverted.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// A guard that waits; when this is dropped without [`dismiss`](Self::dismiss), it reverts the settings.
#[derive(Debug)]
pub struct Guard {
    child: Child,
    input: Option<ChildStdin>,
}

impl Guard {
    pub(crate) fn start(program: &Path, folder: &Path, root: &Root) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg(GUARD_COMMAND).arg(folder);
        if !root.is_live() {
            command.arg(root.prefix());
        }
        // A group of its own: Ctrl-C is for the campaign, which then restores everything itself.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        Ok(Self { child, input })
    }

    /// Ends the guard: everything is reverted, or is to stay.
    pub(crate) fn dismiss(&mut self) {
        if let Some(mut input) = self.input.take() {
            // Where it is gone already, there is nothing to end.
            let _ = io::Write::write_all(&mut input, DISMISSED);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.input.take());
    }
}

/// What a guard does: it waits for the campaign's end, and reverts its settings if it did not. `words` are the arguments after
/// [`GUARD_COMMAND`]; `warn` is called with what stays. Returns the folder if something was reverted.
///
/// # Errors
/// If the settings could not be reverted.
pub fn wait(
    mut words: impl Iterator<Item = std::ffi::OsString>,
    warn: &dyn Fn(&str),
) -> Result<Option<PathBuf>, GuardError> {
    let folder = words.next().ok_or(GuardError::NoFolder)?;
    let root = match words.next() {
        Some(tree) => Root::tree(Path::new(&tree))?,
        None => Root::live(),
    };
    let mut said = Vec::new();
    io::stdin().lock().read_to_end(&mut said)?;
    if said == DISMISSED {
        return Ok(None);
    }
    let since = Instant::now();
    loop {
        match restore(Path::new(&folder), &root, warn) {
            Err(_) if since.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(200)),
            other => return other,
        }
    }
}

fn restore(folder: &Path, root: &Root, warn: &dyn Fn(&str)) -> Result<Option<PathBuf>, GuardError> {
    let mut folder = Folder::open(folder)?;
    if folder.held.state.transactions.is_empty() {
        return Ok(None);
    }
    Setting::open(root)?.take_back(&mut folder, true, warn)?;
    Ok(Some(folder.path))
}
